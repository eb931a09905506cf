"""The engine's tests use the machine code of users; batches are computed by wide code from the first on."""

from __future__ import annotations

import pytest

from chasles.engine.running import runner


@pytest.fixture(autouse=True)
def wide_code_for_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests that compare batches with single samples compare the two kinds of machine code."""
    monkeypatch.setattr(runner, "WORTH_WIDE", 0)


@pytest.fixture(autouse=True)
def code_of_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile as users do, not in the quick way of the other tests."""
    monkeypatch.setenv("CHASLES_QUICK_CODE", "0")
