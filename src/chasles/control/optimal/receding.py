"""What a receding horizon carries from one call to the next: the motion a period later, and the state after a delay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.delayed_hold import pending_count
from chasles.control.optimal.step import HeldStep, Integrator
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]


class Horizon(NamedTuple):
    """A motion over the horizon with its regulator.

    Attributes
    ----------
    W
        Torques and states at the nodes, (N + 1, m + 2n).
    costates
        Costates of the nodes, (N + 1, 2n).
    gains
        Gains of the steps, (N, m, 2n).
    rows
        Slacks, excesses and multipliers of the rows at the nodes but the last, (N, 3, rows of a node).
    last_rows
        Those at the last node, (3, rows of that node).
    """

    W: Floats
    costates: Floats
    gains: Floats
    rows: Floats
    last_rows: Floats


def later(horizon: Horizon, share: float, step: HeldStep) -> Horizon:
    """Return the motion a share of a step later; beyond its end the last torques go on.

    Parameters
    ----------
    horizon
        The motion.
    share
        Time that has passed, in steps; it may be more than one.
    step
        Step of the dynamics.
    """
    m = horizon.gains.shape[1]
    whole, rest = int(share + 1e-9), max(0.0, share - int(share + 1e-9))
    W = horizon.W.copy()
    W[-1, :m] = W[-2, :m]
    for _ in range(whole + 1):
        W = np.concatenate([W, np.concatenate([W[-1, :m], step(W[-1, m:], W[-1, :m])])[None]])
    parts = [W]
    for part in (horizon.costates, horizon.gains, horizon.rows):
        parts.append(np.concatenate([part, np.repeat(part[-1:], whole + 1, axis=0)]))
    motion, costates, gains, rows = (_between(part, whole, rest, whole + 1) for part in parts)
    moved = Horizon(motion, costates, gains, rows, horizon.last_rows)
    moved.W[-1, :m] = 0.0
    return moved


def _between(part: Floats, first: int, rest: float, beyond: int) -> Floats:
    """Return the elements from `first` on, moved by a share of a step towards the following ones."""
    count = len(part) - beyond
    return np.asarray((1.0 - rest) * part[first : first + count] + rest * part[first + 1 : first + 1 + count])


class Held(NamedTuple):
    """Torques (n,) and the time for which they act, s."""

    tau: Floats
    span: float


def until_effect(pending: Floats, delay: float, period: float) -> list[Held]:
    """Torques that act from a call until the call's own torque does.

    Parameters
    ----------
    pending
        Torques that wait or act, the latest first, (late, n).
    delay
        Delay, sample periods.
    period
        Sample period, s.

    >>> [(held.tau.tolist(), held.span) for held in until_effect(np.array([[2.0], [1.0]]), 1.5, 0.1)]
    [([1.0], 0.05), ([2.0], 0.1)]
    """
    late = pending_count(delay)
    spans = [(delay - (late - 1)) * period] + [period] * (late - 1) if late else []
    return [Held(tau, span) for tau, span in zip(pending[::-1], spans, strict=True)]


def cut(acting: Sequence[Held], span: float) -> list[Held]:
    """Return what acts within a time.

    >>> [held.span for held in cut([Held(np.zeros(1), 0.25), Held(np.ones(1), 1.0)], 1.0)]
    [0.25, 0.75]
    """
    result: list[Held] = []
    for tau, length in acting:
        if span > 0.0:
            result.append(Held(tau, min(length, span)))
        span -= length
    return result


def moved(robot: Robot, x: Floats, acting: Sequence[Held], integrator: Integrator) -> Floats:
    """Return the state (2n,) after torques of all joints have acted one after the other."""
    everywhere = np.ones(robot.n, dtype=bool)
    for tau, span in acting:
        x = HeldStep(robot, everywhere, span, integrator)(x, tau)
    return x
