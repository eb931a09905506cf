"""Laws in plain Python: what they are given leaves a compiled loop, and their torques come into it.

Sensors, reference and all that is recorded are compiled over all runs at once; the law alone is called run by run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control import Controller
from chasles.control.now import MotorReading, Now
from chasles.engine.program.records import Record, Shapes
from chasles.simulation.closed_loop import ClosedLoop
from chasles.trajectories.motion import Motion, PoseMotion

Floats = NDArray[np.float64]


class OutsideLaw(Controller):
    """What stands in a compiled loop for a law that is called outside.

    Its memory is what that law is given at a call; its torques are the row of its schedule.

    Parameters
    ----------
    law
        The law outside.
    nq, n
        Numbers of coordinates and of velocities.
    poses
        Whether the reference is the motion of a frame.
    """

    def __init__(self, law: Controller, nq: int, n: int, *, poses: bool) -> None:
        self.name, self.reference_kind = law.name, law.reference_kind
        self.measured_wrench, self.measures_motors = law.measured_wrench, law.reads_motors
        shapes = ((4, 4), (6,), (6,)) if poses else ((nq,), (n,), (n,))
        parts = {"q": (nq,), "qd": (n,)} | {f"planned_{k}": shape for k, shape in enumerate(shapes)}
        parts |= {"wrench": (6,)} if law.measured_wrench is not None else {}
        parts |= {"motor_q": (n,), "motor_qd": (n,)} if law.reads_motors else {}
        self.memory = {name: np.zeros(shape) for name, shape in parts.items()}

    def law(self, now: Now) -> Any:
        """Note what is given, and return the torques from outside."""
        now.memory.q, now.memory.qd = now.q, now.qd
        for k, part in enumerate(now.reference):
            setattr(now.memory, f"planned_{k}", part)
        if now.wrench is not None:
            now.memory.wrench = now.wrench
        if now.motors is not None:
            now.memory.motor_q, now.memory.motor_qd = now.motors
        return now.schedule


@dataclass(frozen=True)
class _Torques:
    """Torques from outside as an input of a call, in place of a schedule."""

    n: int
    batch = ()

    @property
    def shapes(self) -> Shapes:
        """Shape of the torques."""
        return (self.n,)

    def rows(self, times: Floats, first: int) -> Floats:
        """Return no torques."""
        return np.zeros((times.size, self.n))


def with_outside_law(loop: ClosedLoop) -> ClosedLoop:
    """Return the loop in which `OutsideLaw` stands for the law; the memory of this is not recorded."""
    plant, poses = loop.plant, loop.reference.n is None
    law = OutsideLaw(loop.controller, plant.robot.nq, plant.n, poses=poses)
    further = {**loop.further, "schedule": _Torques(plant.n)}
    return replace(loop, controller=law, further=further, record_memory=False)


def given_outside(t: Any, noted: Record, memory: Any, loop: ClosedLoop, schedule: Any) -> Now:
    """Return what the law of a loop is given at a call of one run, by what `OutsideLaw` has noted."""
    motion = (PoseMotion if loop.reference.n is None else Motion)(*(noted[f"planned_{k}"] for k in range(3)))
    motors = MotorReading(noted.motor_q, noted.motor_qd) if "motor_q" in noted else None
    return Now(t, noted.q, noted.qd, motion, memory, loop.timing.period, schedule, noted.get("wrench"), motors)


def of_run(record: Mapping[str, Any], run: tuple[int, ...]) -> Record:
    """Return one run's part of a record of a batch."""
    return Record({name: np.asarray(part)[run] for name, part in record.items()})
