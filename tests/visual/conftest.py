from __future__ import annotations

import pytest

import chasles as ch


@pytest.fixture(scope="session")
def panda() -> ch.Robot:
    return ch.load("panda")
