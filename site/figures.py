"""Figures and computing pages inside pages of text, made by the pages' own Python blocks.

A comment in a page, on a line of its own after a block, shows what the block made: ``<!-- show: name -->``. The name is
that of a Plotly figure or of the path of a written page.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

PART = re.compile(r"^```python\n(?P<code>.*?)^```$|^<!-- show: (?P<name>\w+) -->$", re.MULTILINE | re.DOTALL)
HEIGHT = 480
#: Plots are drawn on white; beside dark text they are shown as negatives with their own hues.
DARK = "<style>@media (prefers-color-scheme: dark) { html { filter: invert(0.93) hue-rotate(180deg); } }</style>"


def show_figures(page: Path, folder: Path) -> None:
    """Run the Python blocks of a page, and put frames with what they made in place of its comments."""
    text = page.read_text(encoding="utf-8")
    if "<!-- show: " not in text:
        return
    folder.mkdir(exist_ok=True)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown: list[str] = []

    def part(match: re.Match[str]) -> str:
        if match["code"] is not None:
            exec(compile(statements(match["code"]), str(page), "exec"), namespace)
            return match[0]
        target = folder / f"{page.stem}-{len(shown) + 1}.html"
        title, height = _written(namespace[match["name"]], target)
        shown.append(title)
        place = os.path.relpath(target, page.parent).replace(os.sep, "/")
        style = f"width:100%;height:{height}px;border:0"
        return f'<iframe src="{place}" title="{title}" loading="lazy" style="{style}"></iframe>'

    with tempfile.TemporaryDirectory() as elsewhere, contextlib.chdir(elsewhere):
        page.write_text(PART.sub(part, text), encoding="utf-8")


def statements(code: str) -> str:
    """Return a block's statements, without prompts, results and the examples of a session that show errors."""
    if ">>>" not in code:
        return code
    return "".join(example.source for example in doctest.DocTestParser().get_examples(code) if not example.exc_msg)


def _library_style() -> Any:
    """Return the template of figures that the text makes by itself: fonts, colors and lines of the library's."""
    import plotly.graph_objects as go

    from chasles.visual.panels import COLORS, STYLE

    lines = {"gridcolor": "#e8edf1", "zerolinecolor": "#c3ccd4", "linecolor": "#c3ccd4"}
    space = {"backgroundcolor": "#ffffff", "gridcolor": "#dfe5ea", "zerolinecolor": "#c3ccd4"}
    style = STYLE | {"colorway": list(COLORS), "xaxis": lines, "yaxis": lines}
    style["scene"] = dict.fromkeys(("xaxis", "yaxis", "zaxis"), space)
    return go.layout.Template(layout=style)


def _written(thing: Any, target: Path) -> tuple[str, int]:
    """Write a figure or copy a page; return its title and its height in pixels."""
    if isinstance(thing, Path):
        shutil.copy(thing, target)
        return thing.stem.replace("_", " "), HEIGHT
    from plotly.offline import get_plotlyjs

    script = target.parent / "plotly.min.js"
    if not script.exists():
        script.write_text(get_plotlyjs(), encoding="utf-8")
    if thing.layout.height is None:  # else its maker has laid it out
        thing.update_layout(margin={"l": 60, "r": 20, "t": 60}, height=HEIGHT, template=_library_style())
    height = int(thing.layout.height)
    page = thing.to_html(include_plotlyjs=script.name, config={"responsive": True, "displayModeBar": False})
    page = page.replace("<head>", f"<head>{DARK}").replace("<body>", '<body style="margin:0;overflow:hidden">')
    target.write_text(page, encoding="utf-8")
    return str(thing.layout.title.text or "figure"), height
