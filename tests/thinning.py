"""Values of a parametrized test of which the default run takes every few and the slow run the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thinned(values: Iterable[Any], keep: int = 2, ids: Iterable[str] | None = None) -> list[Any]:
    """Return test parameters: every `keep`-th value and the last stay in the default run, the others are `slow`.

    The gate runs both. It is for values between which the code takes no other branch: the default run still meets both
    ends and the middle.
    """
    listed = list(values)
    names = [None] * len(listed) if ids is None else list(ids)
    return [
        pytest.param(value, id=name, marks=[pytest.mark.slow] if k % keep and k != len(listed) - 1 else [])
        for k, (value, name) in enumerate(zip(listed, names, strict=True))
    ]
