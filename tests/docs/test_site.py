"""The documentation site: one command builds it, its links lead somewhere, phones can read it, it needs no network."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.visual.browser import Browser, Tab
from tests.visual.conftest import browser  # noqa: F401

ROOT = Path(__file__).parents[2]
NARROW = 400

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Path:
    subprocess.run([sys.executable, "-W", "ignore", ROOT / "site" / "build.py"], check=True, capture_output=True)
    return ROOT / "build" / "site" / "html"


def pages(site: Path) -> list[Path]:
    """Pages of text; those of the gallery that compute are tested where they are made."""
    return [page for page in sorted(site.rglob("*.html")) if page.parent.name != "gallery" or page.name == "index.html"]


def test_links_lead_somewhere_and_nothing_is_fetched(site: Path) -> None:
    assert {"index.html", "reference/robot.html", "gallery/panda.html"} <= {
        str(page.relative_to(site)) for page in site.rglob("*.html")
    }
    for page in pages(site):
        if page.name == "404.html":  # its links are absolute, for a server
            continue
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="https?://', text), page
        for link in re.findall(r'(?:href|src)="([^"#?:]+)(?:#[^"]*)?"', text):
            assert (page.parent / link).exists(), f"{page.relative_to(site)} leads to {link}"


def test_the_reference_shows_signatures_and_examples(site: Path) -> None:
    text = re.sub(r"<[^>]*>", "", (site / "reference" / "robot.html").read_text(encoding="utf-8"))
    for words in (
        "Robot.inverse_dynamics",
        "Robot.from_dh",
        "qdd: ArrayLike",
        "arm.forward_kinematics([0.0, np.pi / 2])",
    ):
        assert words in text, words


def test_no_page_is_wider_than_a_phone(site: Path, browser: Browser) -> None:  # noqa: F811
    tab = Tab(browser, site / "index.html")
    tab.call("Emulation.setDeviceMetricsOverride", width=NARROW, height=800, deviceScaleFactor=1, mobile=True)
    for page in (page for page in pages(site) if "examples" not in page.parts):  # these are code alone
        tab.go(page)
        assert tab.ask("document.documentElement.scrollWidth") <= NARROW, page.name


def test_the_search_works_from_a_file(site: Path, browser: Browser) -> None:  # noqa: F811
    tab = Tab(browser, site / "index.html")
    tab.ask("document.querySelector('.md-search__button').click()")
    tab.call("Input.insertText", text="kinematic calibration")
    found = """new Promise((done) => {
        const roots = () => [document, ...[...document.querySelectorAll('*')].map((e) => e.shadowRoot).filter(Boolean)];
        const text = () => roots().map((root) => (root.body ?? root).textContent).join(' ');
        const look = () => /Calibration of the geometry/.test(text()) ? done(true) : setTimeout(look, 100);
        look();
    })"""
    assert tab.ask(found)
    assert tab.complaints() == []
