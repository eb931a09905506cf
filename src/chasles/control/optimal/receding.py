"""What a receding horizon sees: torques on their way until a call's own torque acts, and the motion to follow ahead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.delayed_hold import pending_count
from chasles.robot.robot import Robot
from chasles.trajectories.motion import Motion

Floats = NDArray[np.float64]


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


def interpolated(robot: Robot, times: Floats, motion: Motion, wanted: Floats) -> Motion:
    """Return a motion sampled at the times of calls at others (...), by cubics; beyond the last call it rests.

    Between configurations that are no vectors the cubics are those of the displacement.
    """
    if len(times) == 1:
        q = np.broadcast_to(motion.q[0], (*wanted.shape, motion.q.shape[-1]))
        rest = np.zeros((*wanted.shape, robot.n))
        return Motion(q, rest, rest)
    period = (times[-1] - times[0]) / (len(times) - 1)
    place = np.clip((wanted - times[0]) / period, 0.0, len(times) - 1.0)
    first = np.minimum(place.astype(int), len(times) - 2)
    s = (place - first)[..., None]
    is_vector = robot.nq == robot.n
    displacements = motion.q[1:] - motion.q[:-1] if is_vector else robot.difference(motion.q[:-1], motion.q[1:])
    d = np.asarray(displacements)[first]
    v0, v1 = period * motion.qd[first], period * motion.qd[first + 1]
    a, b = v0 + v1 - 2.0 * d, 3.0 * d - 2.0 * v0 - v1
    away = ((a * s + b) * s + v0) * s
    q = motion.q[first] + away if is_vector else np.asarray(robot.integrate(motion.q[first], away))
    qd = ((3.0 * a * s + 2.0 * b) * s + v0) / period
    qdd = (1.0 - s) * motion.qdd[first] + s * motion.qdd[first + 1]
    over = (wanted > times[-1] + 1e-9 * period)[..., None]
    return Motion(q, np.where(over, 0.0, qd), np.where(over, 0.0, qdd))
