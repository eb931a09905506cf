from __future__ import annotations

from tests.visual.conftest import browser, in_a_tab

__all__ = ["browser", "in_a_tab"]
