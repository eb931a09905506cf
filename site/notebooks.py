"""Notebooks of the course, made of the pages in ``docs/course``: ``python site/notebooks.py [folder]``.

Text becomes Markdown cells, Python blocks become code cells without outputs. Solutions stay folded in the pages, and
become cells of their own in the notebooks.
"""

from __future__ import annotations

import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LESSONS = Path(__file__).resolve().parents[1] / "docs" / "course"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FOLD = re.compile(r"^</?details>\n|^<summary>(.*?)</summary>\n|^<!-- show: .*\n", re.MULTILINE)
_LINK = re.compile(r"\]\(((?:\.\./)?[\w/-]+)\.md(#[\w-]+)?\)")


def write_notebooks(folder: Path) -> list[Path]:
    """Write a notebook for each lesson into a folder; return their paths."""
    import nbformat

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted(LESSONS.glob("*.md")):
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
        notebook.cells = list(_cells(page.read_text(encoding="utf-8")))
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"{page.stem[:2]}-{number}"  # the same at each run
        written.append(folder / f"{page.stem}.ipynb")
        nbformat.write(notebook, written[-1])
    return written


def _cells(text: str) -> Iterator[Any]:
    from nbformat.v4 import new_code_cell, new_markdown_cell

    place = 0
    for match in _BLOCK.finditer(text):
        if words := _words(text[place : match.start()]):
            yield new_markdown_cell(words)
        yield from map(new_code_cell, _parts(match[1]))
        place = match.end()
    if words := _words(text[place:]):
        yield new_markdown_cell(words)


def _parts(block: str) -> Iterator[str]:
    """Code of a block; a session in parts that each end with a result, since a cell shows its last one only."""
    if ">>>" not in block:
        yield block.rstrip()
        return
    part = ""
    for example in doctest.DocTestParser().get_examples(block):
        part += example.source
        if example.want:
            yield part.rstrip()
            part = ""
    if part:
        yield part.rstrip()


def _words(text: str) -> str:
    """Text of a cell: folds are open, links to other pages are plain."""
    return _LINK.sub("]", _FOLD.sub(lambda fold: f"**{fold[1]}**\n" if fold[1] else "", text)).strip()


if __name__ == "__main__":
    for path in write_notebooks(Path(sys.argv[1] if len(sys.argv) > 1 else "notebooks")):
        print(path)
