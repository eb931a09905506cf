from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.visual.browser import Tab
from tests.visual.view_in_a_tab import ready

import chasles as ch
from chasles.visual.view.page import view_page

Opened = Callable[..., Tab]


@pytest.fixture
def shown(in_a_tab: Callable[[Path], Tab]) -> Callable[[Path], Tab]:
    """Open the file of a page until the test ends."""
    return lambda path: ready(in_a_tab(path))


@pytest.fixture
def opened(shown: Callable[[Path], Tab], tmp_path: Path) -> Opened:
    """Open the page of a robot."""

    def open_page(robot: ch.Robot, **options: Any) -> Tab:
        path = tmp_path / "view.html"
        path.write_text(view_page(robot, np.asarray(options.pop("q", robot.home)), title=robot.name, **options))
        return shown(path)

    return open_page
