"""One call of a control law: what it may read, and the memory whose parts it assigns for the next call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from chasles.engine.program.records import Memory, Record
from chasles.engine.program.scalar import Array, Real

#: Planned motion at one time: a `chasles.trajectories.Motion` or a ``PoseMotion``, as the law's `reference_kind` says.
PlannedMotion: TypeAlias = Any


class MotorReading(NamedTuple):
    """Motor sides of elastic joints: angles and speeds divided by the gear ratio, each (n,), rad and rad/s."""

    q: Array
    qd: Array


@dataclass(frozen=True, slots=True)
class Now:
    """Inputs of a control law at one call: numbers, or traced scalars while the law is compiled.

    Attributes
    ----------
    t
        Time, s.
    q, qd
        Measured positions (nq,) and velocities (n,).
    reference
        Planned motion at `t`: a `chasles.trajectories.Motion`, or a ``PoseMotion`` for laws that follow a frame.
    memory
        Named parts of the memory after the last call. Values assigned to them persist until the next call.
    period
        Time between two calls, s.
    schedule
        This call's row of the law's `schedule`, computed before the loop runs; None for laws without a schedule.
    wrench
        Wrench (m, f) of the environment, (6,), on the frame that the law measures, in the frame's axes; None if the law
        measures no wrench.
    motors
        Motor sides of elastic joints, for laws that measure them; otherwise None.

    Examples
    --------
    >>> import chasles as ch
    >>> def hold(now, *, kp=100.0, kd=20.0):
    ...     return kp * (now.reference.q - now.q) - kd * now.qd
    >>> run = ch.simulate(ch.load("planar2r"), hold, ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 1.0))
    """

    t: Real
    q: Array
    qd: Array
    reference: PlannedMotion
    memory: Record
    period: float
    schedule: Memory = None
    wrench: Array | None = None
    motors: MotorReading | None = None

    def of(self, part: str, **changes: Any) -> Now:
        """Return the inputs for an inner law whose memory is a part of this one's, with other attributes if given.

        >>> import numpy as np
        >>> outer = Now(0.0, np.zeros(1), np.zeros(1), None, Record(inner=Record(count=0.0)), 0.01)
        >>> outer.of("inner").memory.count += 1.0
        >>> outer.memory.inner.count
        1.0
        """
        return replace(self, memory=self.memory[part], **changes)
