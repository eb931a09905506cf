from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.visual.browser import Browser, Tab

import chasles as ch


@pytest.fixture(scope="session")
def panda() -> ch.Robot:
    return ch.load("panda")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("chromium is not installed, so the scripts of pages are not executed")
    browser = Browser(chromium, tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def in_a_tab(browser: Browser) -> Iterator[Callable[[Path], Tab]]:
    """Load a page, until the test ends."""
    tabs: list[Tab] = []

    def load(page: Path) -> Tab:
        tabs.append(Tab(browser, page))
        return tabs[-1]

    yield load
    for tab in tabs:
        tab.close()
