"""Digest of the computation of a control law."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.control.controller import Controller
from chasles.control.now import MotorReading, Now, PlannedMotion
from chasles.engine import Layout, Record
from chasles.engine.identity import ADVICE, UnidentifiedError, identity, identity_as_it_acts
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.trajectories.motion import Motion, PoseMotion


def law_identity(
    controller: Controller, nq: int, n: int, period: float, *, poses: bool = False, schedule: Shapes | None = None
) -> str:
    """Return the digest of a control law, equal in every process for laws that compute the same.

    A law of the library counts by its attributes. A law of a user's counts by the program of one call, in which gains
    and memory are arguments; one that cannot be traced counts by its ``version``.

    Parameters
    ----------
    controller
        The law.
    nq, n
        Numbers of coordinates and of velocities of the robot that it controls.
    period
        Time between two calls, s.
    poses
        Whether the reference is a motion of a frame instead of the joints.
    schedule
        Shapes of a call's part of the law's schedule, if it has one.

    Raises
    ------
    UnidentifiedError
        The law has no identity.

    Examples
    --------
    >>> from chasles.control.python_law import as_controller
    >>> def stiff(k):
    ...     return as_controller(lambda now: k * (now.reference.q - now.q))
    >>> first, again, other = (law_identity(stiff(k), 2, 2, 1e-3) for k in (2.0, 2.0, 3.0))
    >>> first == again, first == other
    (True, False)
    """
    if not controller.traceable:
        try:
            return identity(controller)
        except UnidentifiedError as error:
            raise UnidentifiedError(f"{error}; {ADVICE}") from None
    memory, gains = controller.memory_layout, {name: np.shape(part) for name, part in controller.parameters.items()}
    layout, row = Layout(gains), Layout({} if schedule is None else {"row": schedule})

    def law(
        t: Real,
        q: Array,
        qd: Array,
        planned: Record,
        state: Array,
        values: Array,
        rows: Array,
        wrench: Array,
        motors: Array,
    ) -> Any:
        planned_row = None if schedule is None else row.split(rows).row
        measured = None if controller.measured_wrench is None else wrench
        sides = MotorReading(*motors) if controller.reads_motors else None
        now = Now(t, q, qd, _motion(planned), memory.split(state), period, planned_row, measured, sides)
        tau = controller.with_values(layout.split(values)).law(now)
        return np.asarray(tau), memory.join(now.memory)

    reference: Shapes = {"q": (nq,), "qd": (n,), "qdd": (n,)}
    if poses:
        reference = {"upper": (3, 4), "twist": (6,), "acceleration": (6,)}
    inputs: dict[str, Shapes] = {"t": (), "q": (nq,), "qd": (n,), "planned": reference, "state": (memory.size,)}
    inputs |= {"values": (layout.size,), "rows": (row.size,), "wrench": (6,), "motors": (2, n)}
    computed = identity_as_it_acts(controller, law, inputs)
    return identity((computed, gains, memory.shapes, schedule, controller.measured_wrench, controller.reads_motors))


def _motion(planned: Record) -> PlannedMotion:
    if "q" in planned:
        return Motion(planned.q, planned.qd, planned.qdd)
    pose = np.concatenate([planned.upper, np.array([[0.0, 0.0, 0.0, 1.0]])])
    return PoseMotion(pose, planned.twist, planned.acceleration)
