"""Encoding of arrays, names and figures for Plotly and web pages."""

from __future__ import annotations

import base64
import html
import json
import uuid
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import MissingExtraError, import_extra
from chasles.visual.vector_figures import svg


def typed_array(values: ArrayLike) -> dict[str, str]:
    """Return an array as Plotly's JSON form of a typed array, in single precision, with NaN and infinity kept.

    Examples
    --------
    >>> typed_array([1.0, 2.0])
    {'dtype': 'f4', 'bdata': 'AACAPwAAAEA='}
    """
    with np.errstate(over="ignore", under="ignore"):
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

    Notebooks keep it as a picture too (with Matplotlib), which remains where they are exported to HTML.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    """
    return _figure_class(import_extra("plotly.graph_objects", "plot", "plotting").Figure)(figure)


@cache
def _figure_class(plotly_figure: type) -> Any:
    """Return the class of figures: Plotly's, which is shown by a bundle of forms in place of a renderer's choice."""

    class Figure(plotly_figure):  # type: ignore[misc]
        _ipython_display_ = None

        def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> dict[str, Any]:
            bundle = dict(super()._repr_mimebundle_(*arguments, **options) or {})
            bundle.setdefault("application/vnd.plotly.v1+json", self.to_plotly_json())
            with suppress(MissingExtraError):
                bundle["image/svg+xml"] = svg(self)
            return bundle

        def _repr_html_(self) -> str:
            element = str(super()._repr_html_())
            with suppress(MissingExtraError):
                return with_still(element, svg(self))
            return element

        def __reduce__(self) -> Any:
            return as_plotly, (self.to_dict(),)

    return Figure


def with_still(element: str, still: str) -> str:
    """Return an element with a picture that stands in its place until Plotly has drawn the figure.

    The element has no height until then: without a network Plotly never comes.
    """
    key = f"still-{uuid.uuid4().hex}"
    picture = still[still.index("<svg") :]
    script = (
        f'(() => {{ const look = setInterval(() => {{ const still = document.getElementById("{key}"); '
        'if (still && !still.parentElement.querySelector(".main-svg")) return; '
        "if (still) { still.nextElementSibling.style.height = 'auto'; still.remove(); } "
        "clearInterval(look); }, 200); })();"
    )
    folded = f'<div style="height:0;overflow:hidden">{element}</div>'
    return f'<div><div id="{key}">{picture}</div>{folded}<script>{script}</script></div>'


def shown_unit(unit: str) -> str:
    """Return a unit of a dataset as people write it.

    >>> shown_unit("N m"), shown_unit("kg m² s")
    ('N·m', 'kg·m²·s')
    """
    return unit.replace(" ", "·")
