"""One attempt at a step whose length the error controls, as a program's straight line.

A run's state goes from attempt to attempt: time, step, what the control remembers, counters, status and y. Every run
has its own, so none waits for another, and what happens to one does not touch the others.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import absolute, maximum, where
from chasles.engine.program.scalar import Array, Real
from chasles.integrators.integrator import Integrator, RightHandSide, interpolant_of
from chasles.integrators.step_control import StepControl, relative_error

#: A step that would end this near before the end goes there.
_STRETCH = 1.01
#: Steps are too short when they are this many spacings of floating-point numbers at t, or this share of the way left.
_SPACINGS, _SHARE = 4.0 * np.finfo(float).eps, 1e-30


class IntegrationStatus(IntEnum):
    """What has become of a run."""

    RUNNING = 0
    ARRIVED = 1
    STEP_TOO_SHORT = 2
    NOT_FINITE = 3
    TOO_MANY_STEPS = 4


class Progress(NamedTuple):
    """State of a run between two attempts, all but y.

    Attributes
    ----------
    t
        Time that is reached.
    h
        Length of the next step, with its sign.
    before
        Error of the last accepted step, as a share of the tolerance.
    calm
        1 where the last attempt was accepted, 0 where it was not.
    steps, rejections
        Counts of attempts that were accepted and rejected.
    status
        See `IntegrationStatus`.
    """

    t: Any
    h: Any
    before: Any
    calm: Any
    steps: Any
    rejections: Any
    status: Any


class RunState(NamedTuple):
    """What goes from attempt to attempt: progress and y, (n,)."""

    progress: Progress
    y: Any


#: Shapes of `Progress`.
PROGRESS = Progress(*(() for _ in Progress._fields))


def attempt(
    integrator: Integrator,
    control: StepControl,
    f: RightHandSide,
    state: RunState,
    t_end: Real,
    rtol: Real,
    atol: Array,
    *,
    inside: bool,
) -> tuple[RunState, Any]:
    """Try one step towards t_end, of a run that is still running; on numbers or traced scalars.

    Parameters
    ----------
    integrator
        Method with an error estimate.
    control
        Step control.
    f
        Right-hand side.
    state
        Progress and y.
    t_end
        Time at which the run arrives.
    rtol, atol
        Relative tolerance, and absolute ones (n,).
    inside
        Whether states inside the steps are wanted, which must then be as accurate as the ends.

    Returns
    -------
    state, interpolant
        Next state of the run, and the step's interpolant, (d, n).
    """
    now, y = state
    running = now.status == IntegrationStatus.RUNNING
    left = t_end - now.t
    last = _STRETCH * absolute(now.h) >= absolute(left)
    h = where(last, left, now.h)
    step = integrator.step(f, now.t, y, h)
    error = relative_error(step.error, y, step.y, rtol, atol)
    if inside and step.interpolant_error is not None:
        error = maximum(error, relative_error(step.interpolant_error, y, step.y, rtol, atol))
    good = error <= 1.0
    factor = control.factor(error, now.before, good, now.calm > 0.0, integrator.embedded_order or 0)
    # A step that was cut to arrive says nothing against the longer one that was planned.
    planned = where(good & last & (absolute(factor * h) < absolute(now.h)), now.h, factor * h)
    too_short = absolute(planned) < maximum(_SPACINGS * absolute(now.t), _SHARE * absolute(left))
    failed = where(error < np.inf, float(IntegrationStatus.STEP_TOO_SHORT), float(IntegrationStatus.NOT_FINITE))
    status = where(
        good,
        where(last, float(IntegrationStatus.ARRIVED), 0.0),
        where(too_short, failed, float(IntegrationStatus.RUNNING)),
    )
    following = Progress(
        t=where(good, where(last, t_end, now.t + h), now.t),
        h=planned,
        before=where(good, error, now.before),
        calm=where(good, 1.0, 0.0),
        steps=now.steps + where(good, 1.0, 0.0),
        rejections=now.rejections + where(good, 0.0, 1.0),
        status=status,
    )
    moves = running & good
    state_next = RunState(
        Progress(*(where(running, new, old) for new, old in zip(following, now, strict=True))),
        np.array([where(moves, new, old) for new, old in zip(step.y, y, strict=True)]),
    )
    return state_next, interpolant_of(step, f, now.t, y, h)


def start(t: Real, h: NDArray[np.float64], y: NDArray[np.float64]) -> RunState:
    """States of runs before their first attempt, from the lengths (...) of their first steps and y (..., n)."""
    return RunState(Progress(t, h, 1.0, 1.0, 0.0, 0.0, float(IntegrationStatus.RUNNING)), y)
