"""Code blocks and links of Markdown pages, and a way to run the Python ones."""

from __future__ import annotations

import doctest
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: As pytest does for the docstrings of the package.
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text and the number of the line before the text."""

    language: str
    text: str
    line: int


def blocks(page: Path, language: str) -> list[Block]:
    """Return the blocks of a page in a language, in order."""
    text = page.read_text(encoding="utf-8")
    found = (Block(m[1], m[2], text.count("\n", 0, m.start(2))) for m in _BLOCK.finditer(text))
    return [block for block in found if block.language == language]


def run_python(page: Path) -> None:
    """Run the Python blocks of a page in one namespace; compare the results of those with prompts."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        if ">>>" in block.text:
            _run_session(page, block, namespace)
        else:
            exec(compile("\n" * block.line + block.text, str(page), "exec"), namespace)


def _run_session(page: Path, block: Block, namespace: dict[str, Any]) -> None:
    session = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line)
    session.globs = namespace
    complaints: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(session, out=complaints.append, clear_globs=False)
    if complaints:
        raise AssertionError("".join(complaints))


def links(page: Path) -> list[str]:
    """Return the targets of a page's links, without those in code."""
    return _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", _BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
