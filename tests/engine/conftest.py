"""Batches of these tests are computed by wide code from the first on, single samples by narrow code."""

from __future__ import annotations

import pytest

from chasles.engine import runner


@pytest.fixture(autouse=True)
def wide_code_for_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests that compare batches with single samples compare the two kinds of machine code."""
    monkeypatch.setattr(runner, "WORTH_WIDE", 0)
