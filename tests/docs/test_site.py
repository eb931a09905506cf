"""The documentation site: built by one command, its links lead somewhere, phones can read it, it needs no network.

Figures and computing pages stand in the text where a page's block made them, without complaints of the browser.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.visual.browser import Tab

from chasles.interop import mazure, modern_robotics, roboop, spacelib
from chasles.model import shipped

InATab = Callable[[Path], Tab]
ROOT = Path(__file__).parents[2]
NARROW = 400
LARGEST_PAGE = 2_000_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Path:
    subprocess.run([sys.executable, "-W", "ignore", ROOT / "site" / "build.py"], check=True, capture_output=True)
    return ROOT / "build" / "site" / "html"


def pages(site: Path) -> list[Path]:
    """Pages of text; those of the gallery that compute are tested where they are made."""
    computing = ("gallery", "figures")
    return [
        page for page in sorted(site.rglob("*.html")) if page.parent.name not in computing or page.name == "index.html"
    ]


def test_formulas_are_mathml_and_the_first_page_has_a_title(site: Path) -> None:
    count = 0
    for page in sorted((site / "course").glob("*.html")):
        text = re.sub(r"<(script|pre|code)\b.*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"\$|\\[a-z]+\b", text), page.name
        count += text.count("<math ")
    assert count > 30
    title = re.search("<title>(.*?)</title>", (site / "index.html").read_text(encoding="utf-8"))
    assert title is not None
    assert title[1].removesuffix(" - Chasles") not in ("", "Chasles")


def test_links_lead_somewhere_and_nothing_is_fetched(site: Path) -> None:
    assert {"index.html", "reference/robot.html", "gallery/panda.html"} <= {
        str(page.relative_to(site)) for page in site.rglob("*.html")
    }
    anchors = {
        page: set(re.findall(r'id="([^"]+)"', page.read_text(encoding="utf-8"))) for page in site.rglob("*.html")
    }
    for page in pages(site):
        if page.name == "404.html":  # its links are absolute, for a server
            continue
        text = page.read_text(encoding="utf-8")
        assert 'class="mermaid"' not in text, f"{page.name}: diagrams of Mermaid fetch a script"
        assert not re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="https?://', text), page
        if page.parent.name == "course":
            assert re.search(r'<p>More: <a href="\.\./', text), page
        for link, anchor in re.findall(r'(?:href|src)="([^"#?:]*)(?:#([^"]*))?"', text):
            target = (page.parent / link).resolve() if link else page
            assert target.exists(), f"{page.relative_to(site)} leads to {link}"
            known = not anchor or anchor.startswith("__") or anchor in anchors.get(target, {anchor})
            assert known, f"{page.relative_to(site)} leads to {link}#{anchor}"


def test_the_reference_shows_signatures_and_examples(site: Path) -> None:
    text = re.sub(r"<[^>]*>", "", (site / "reference" / "robot.html").read_text(encoding="utf-8"))
    for words in (
        "Robot.inverse_dynamics",
        "Robot.from_dh",
        "qdd: ArrayLike",
        "arm.forward_kinematics([0.0, np.pi / 2])",
    ):
        assert words in text, words


def test_names_in_the_reference_lead_to_what_they_name(site: Path) -> None:
    text = (site / "reference" / "robot.html").read_text(encoding="utf-8")
    assert '<a href="#robotinverse_dynamics">' in text or '<a href="robot.html#robotinverse_dynamics">' in text
    assert len(re.findall(r'<a href="[\w.]*#[^"]+"><code>', text)) > 50


def test_the_reference_has_every_routine_of_the_drop_in_packages(site: Path) -> None:
    for package in (modern_robotics, spacelib, roboop, mazure):
        page = site / "reference" / f"{package.__name__.removeprefix('chasles.')}.html"
        titles = set(re.findall(r'<h2 id="[^"]*">([\w.]+)', page.read_text(encoding="utf-8")))
        wanted = {name for name in package.__all__ if callable(getattr(package, name))}
        assert wanted <= titles, page.name


def test_chapters_and_lessons_show_what_their_blocks_make(site: Path, in_a_tab: InATab) -> None:
    """Every comment has become a frame; each frame's page fits a phone and draws without a complaint."""
    framed = set()
    for source in (ROOT / "docs").rglob("*.md"):
        wanted = len(re.findall(r"^<!-- show: \w+ -->$", source.read_text(encoding="utf-8"), re.MULTILINE))
        page = site / source.relative_to(ROOT / "docs").with_suffix(".html")
        frames = re.findall(r'<iframe src="([^"]*figures/[^"]+)"', page.read_text(encoding="utf-8"))
        assert len(frames) == wanted, page.name
        framed |= {(page.parent / frame).resolve() for frame in frames}
    assert framed == {page.resolve() for page in (site / "figures").glob("*.html")}
    chapters = {"screws", "matrices", "serial-arms", "mazure", "planning"}
    assert chapters <= {page.stem.rpartition("-")[0] for page in framed}
    tab = in_a_tab(site / "index.html")
    tab.call("Emulation.setDeviceMetricsOverride", width=NARROW, height=480, deviceScaleFactor=1, mobile=False)
    for page in sorted(framed):
        assert page.stat().st_size < LARGEST_PAGE
        tab.go(page)
        drawn = "new Promise(done => { const look = () => document.querySelector('canvas, .main-svg') ? done(true) : "
        assert tab.ask(drawn + "setTimeout(look, 50); look(); })"), page.name
        assert tab.ask("document.documentElement.scrollWidth") <= NARROW, page.name
    assert tab.complaints() == []


def test_gallery_cards_and_notebooks_can_be_had(site: Path) -> None:
    cards = [card for card in (site / "gallery").glob("*.html") if card.name != "index.html"]
    assert len(cards) >= len(shipped())
    assert max(card.stat().st_size for card in cards) < LARGEST_PAGE
    text = (site / "course.html").read_text(encoding="utf-8")
    linked = re.findall(r'href="([^"]+\.ipynb)"', text)
    assert len(linked) == 11
    assert all((site / link).exists() for link in linked)


def test_the_gallery_shows_pictures_that_lead_to_pages_that_move(site: Path, in_a_tab: InATab) -> None:
    tab = in_a_tab(site / "gallery" / "index.html")
    tab.ask("document.querySelectorAll('.card img').forEach((image) => { image.loading = 'eager'; })")
    widths = (
        "Promise.all([...document.querySelectorAll('.card img')].map(async (i) => (await i.decode(), i.naturalWidth)))"
    )
    assert tab.ask(widths) == [480] * len(shipped())
    assert sorted(
        tab.ask("[...document.querySelectorAll('.card')].map((card) => card.getAttribute('href'))")
    ) == sorted(f"{name}.html" for name in shipped())
    tab.go(site / "gallery" / "stewart.html")
    moved = """(async () => {
        const free = () => [...document.querySelectorAll(".panels input[type=range]")].find(slider => !slider.disabled);
        while (!free()) await new Promise(done => setTimeout(done, 20));
        const leg = free();
        const positions = () => [...document.querySelectorAll("input[type=range]")].map(slider => slider.value).join();
        const before = positions();
        leg.value = String(Number(leg.value) + 0.01 * (leg.max - leg.min));
        leg.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise(done => setTimeout(done, 200));
        return before !== positions();
    })()"""
    assert tab.ask(moved)


def test_no_page_is_wider_than_a_phone(site: Path, in_a_tab: InATab) -> None:
    tab = in_a_tab(site / "index.html")
    tab.call("Emulation.setDeviceMetricsOverride", width=NARROW, height=800, deviceScaleFactor=1, mobile=True)
    tab.call("Network.enable")
    tab.call("Network.setBlockedURLs", urls=["*search.js", "*/figures/*", "*/gallery/*.html"])  # they take the time
    reference = sorted((site / "reference").glob("*.html"), key=lambda page: page.stat().st_size)
    alike = set(reference[:-3])  # one template makes all, and the largest have the longest signatures and tables
    for page in pages(site):
        if page in alike or "examples" in page.parts or page.name == "404.html":  # code alone; style sheets of a server
            continue
        tab.go(page)
        assert tab.ask("document.documentElement.scrollWidth") <= NARROW, page.name


def test_the_search_works_from_a_file(site: Path, in_a_tab: InATab) -> None:
    """A query typed letter by letter stays in its box and finds what it says."""
    tab = in_a_tab(site / "index.html")
    tab.ask("document.querySelector('.md-search__button').click()")
    tab.ask("""{
        const roots = () => [...document.querySelectorAll('div')].map((e) => e.shadowRoot).filter(Boolean);
        window.box = () => roots().map((root) => root.querySelector('input')).find(Boolean);
        window.until = (condition) => new Promise((done) => {
            const look = () => condition() ? done(true) : setTimeout(look, 100);
            look();
        });
    }""")
    assert tab.ask("until(() => box())")
    tab.ask("box().focus()")
    query = "kinematic calibration"
    for k, letter in enumerate(query):
        tab.call("Input.insertText", text=letter)
        if k % 5 == 0:  # an answer arrives between two letters
            tab.ask("new Promise((done) => setTimeout(done, 300))")
        assert tab.ask("box().value") == query[: k + 1]
    assert tab.ask("until(() => /Calibration of the geometry/.test(box().getRootNode().textContent))")
    assert tab.ask("box().value") == query
    assert tab.complaints() == []
