"""The pages say what is true: their Python runs, their results are right, their links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles import geometry
from chasles.interop import matrix_mechanics, spacelib
from chasles.model import parse_toml

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
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


def title(page: Path) -> str:
    return page.name


#: Pages whose computations take seconds; quicker ones cover most of what these call.
SLOW = {f"{number:02}-" for number in range(2, 12)}
SLOW |= {
    "serial-arms",
    "matrices",
    "identification",
    "control",
    "studies",
    "optimal-control",
    "optimisers",
    "trajectories",
}
SLOW |= {"stewart", "plant", "simulation", "view", "inverse-kinematics", "geometry", "planning", "closed_chains"}
RUN = [
    pytest.param(page, marks=[pytest.mark.slow] * any(page.name.startswith(start) for start in SLOW), id=title(page))
    for page in PAGES
    if blocks(page, "python")
]


@pytest.mark.parametrize("page", RUN)
def test_python_blocks_run_and_show_true_results(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with np.printoptions():  # a page chooses how its numbers are printed, and no other
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


def test_no_text_installs_from_a_package_index() -> None:
    """Before a first release, the name there may be another project's."""
    for path in [*PAGES, *(ROOT / "src").rglob("*.py")]:
        assert not re.search(r"pip install (-\S+ )*['\"]?chasles", path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize(
    ("pages", "module"), [("geometry.md", geometry), ("matrices.md", matrix_mechanics), ("spacelib*.md", spacelib)]
)
def test_pages_have_a_word_for_every_public_name(pages: str, module: ModuleType) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob(pages))
    assert set(module.__all__) <= set(re.findall(r"`(?:\w+\.)?(\w+)`", text))


def test_names_in_the_text_exist() -> None:
    """Every `ch.…` and `chasles.…` in the text of a page leads to something; so does every `arm.…`, of some arm."""
    arm, missing = ch.load("planar2r"), []
    for page in (page for page in PAGES if page.name != "CHANGELOG.md"):  # which names what was
        for code in re.findall(r"`([^`\n]+)`", _BLOCK.sub("", page.read_text(encoding="utf-8"))):
            for root, name in re.findall(r"(?<![\w./])(ch|chasles|arm)\.([A-Za-z_][\w.]*\w)(?![\w/])", code):
                if not exists(arm if root == "arm" else ch, name):
                    missing.append(f"{page.name}: {root}.{name}")
    assert not missing


def exists(root: object, dotted: str) -> bool:
    for name in dotted.split("."):
        if isinstance(root, ModuleType) and not hasattr(root, name) and find_spec(f"{root.__name__}.{name}"):
            importlib.import_module(f"{root.__name__}.{name}")
        if not hasattr(root, name):
            return False
        root = getattr(root, name)
    return True


def test_names_for_the_geometry_of_roboop_exist() -> None:
    section = (ROOT / "docs" / "roboop.md").read_text(encoding="utf-8").partition("### Geometry")[2].partition("\n#")[0]
    cells = [line.split("|")[2] for line in section.splitlines() if line.startswith("| `")]
    names = {name for cell in cells for name in re.findall(r"`(\w+)[(`]", cell)} - {"_motion"}
    assert len(names) > 20
    assert not {name for name in names if not hasattr(geometry, name)}


def test_toml_blocks_are_robots() -> None:
    """A block that begins with a frame or a shape goes on with the robot of the block before."""
    before = ""
    for block in blocks(ROOT / "docs" / "robot-file-format.md", "toml"):
        text = before + block.text if block.text.startswith(("[[frame]]", "[[visual]]")) else block.text
        assert parse_toml(text).n >= 1
        before = text


@pytest.mark.parametrize("wrong", [">>> x + 1\n3\n", ">>> x +\n", ">>> y\n1\n"])
def test_a_wrong_result_is_noticed(wrong: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```python\nx = 1\n```\n```python\n>>> x\n1\n```\ntext\n```python\n{wrong}```\n")
    with pytest.raises(AssertionError, match=r"page.md\", line 10"):
        run_python(page)


def test_dead_links_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading, here\n[one](nowhere.md) [two](#a-heading-here)\n```\n[no](link)\n```\n")
    assert links(page) == ["nowhere.md", "#a-heading-here"]
    assert anchors(page) == {"a-heading-here"}
