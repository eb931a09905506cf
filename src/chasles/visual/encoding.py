"""Encoding of arrays, names and figures for Plotly and web pages."""

from __future__ import annotations

import base64
import html
import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.errors import import_extra


def typed_array(values: ArrayLike) -> dict[str, str]:
    """Return an array as Plotly's JSON form of a typed array, in single precision, with NaN and infinity kept.

    Examples
    --------
    >>> typed_array([1.0, 2.0])
    {'dtype': 'f4', 'bdata': 'AACAPwAAAEA='}
    """
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(values, dtype="<f4")
    encoded = {"dtype": "f4", "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    return encoded | ({"shape": ", ".join(map(str, array.shape))} if array.ndim > 1 else {})


def embedded_json(data: Any) -> str:
    r"""Return JSON text that is safe inside a script element, whatever names it holds.

    Examples
    --------
    >>> embedded_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def plot_text(name: str) -> str:
    """Escape a name for Plotly, which interprets a few HTML tags and %{...} patterns in texts.

    Examples
    --------
    >>> plot_text("<b>joint</b>")
    '&lt;b&gt;joint&lt;/b&gt;'
    """
    return html.escape(name, quote=False).replace("%{", "%&#123;")


def as_plotly(figure: dict[str, Any]) -> Any:
    """Return the Plotly figure that plain dictionaries describe.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    """
    return import_extra("plotly.graph_objects", "plot", "plotting").Figure(figure)


def shown_unit(unit: str) -> str:
    """Return a unit of a dataset as people write it.

    >>> shown_unit("N m"), shown_unit("kg m² s")
    ('N·m', 'kg·m²·s')
    """
    return unit.replace(" ", "·")
