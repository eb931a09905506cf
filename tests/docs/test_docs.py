"""The pages say what is true: their Python runs, their results are right, their links lead somewhere."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from chasles.model import parse_toml

from pages import ROOT, anchors, blocks, links, run_python

PAGES = [*sorted((ROOT / "docs").glob("*.md")), *(p for p in [ROOT / "README.md", ROOT / "CONTRIBUTING.md"] if p.exists())]


def title(page: Path) -> str:
    return page.name


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=title)
def test_python_blocks_run_and_show_true_results(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    import numpy as np

    with np.printoptions():  # pages choose how numbers are printed
        run_python(page)


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}, but there is no such heading"


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= set(links(index))


def test_toml_blocks_are_robots() -> None:
    """A block that begins with frames or a payload goes on with the robot of the block before."""
    before = ""
    for block in blocks(ROOT / "docs" / "robot-file-format.md", "toml"):
        text = before + block.text if block.text.startswith(("[[frame]]", "[payload]")) else block.text
        assert parse_toml(text).n >= 1
        before = text


def test_a_wrong_result_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\ntext\n```python\n>>> x + 1\n3\n\n```\n")
    with pytest.raises(AssertionError, match=r"Expected:\n\s+3\nGot:\n\s+2"):
        run_python(page)
    assert doctest.ELLIPSIS
