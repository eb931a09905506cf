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
STYLE = "width:100%;height:480px;border:0"


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
        shown.append(_written(namespace[match["name"]], target))
        place = os.path.relpath(target, page.parent).replace(os.sep, "/")
        return f'<iframe src="{place}" title="{shown[-1]}" loading="lazy" style="{STYLE}"></iframe>'

    with tempfile.TemporaryDirectory() as elsewhere, contextlib.chdir(elsewhere):
        page.write_text(PART.sub(part, text), encoding="utf-8")


def statements(code: str) -> str:
    """Return a block's statements, without the prompts and results of a session."""
    if ">>>" not in code:
        return code
    return "".join(example.source for example in doctest.DocTestParser().get_examples(code))


def _written(thing: Any, target: Path) -> str:
    """Write a figure or copy a page; return its title."""
    if isinstance(thing, Path):
        shutil.copy(thing, target)
        return thing.stem.replace("_", " ")
    from plotly.offline import get_plotlyjs

    script = target.parent / "plotly.min.js"
    if not script.exists():
        script.write_text(get_plotlyjs(), encoding="utf-8")
    thing.update_layout(margin={"l": 50, "r": 20})
    thing.write_html(target, include_plotlyjs=script.name, config={"responsive": True, "displaylogo": False})
    return str(thing.layout.title.text or "figure")
