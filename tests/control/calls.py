"""One call of a law, as a loop makes it."""

from __future__ import annotations

from typing import Any

from chasles.control import Controller, Now


def called(
    law: Controller,
    q: Any,
    qd: Any,
    reference: Any,
    memory: Any = None,
    *,
    t: float = 0.0,
    period: float = 1e-3,
    schedule: Any = None,
    wrench: Any = None,
) -> tuple[Any, Any]:
    """Torques and the next memory, a record; on numbers or traced scalars, without the checks of `evaluate`."""
    layout = law.memory_layout
    parts = layout.split(layout.join(law.memory if memory is None else memory))
    now = Now(t, q, qd, reference, parts, period, schedule, wrench)
    return law.law(now), now.memory
