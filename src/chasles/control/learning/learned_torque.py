"""A law with torques from a table added, as learning finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.now import Now, PlannedMotion
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine import Record
from chasles.engine.program.records import Layout, Memory
from chasles.engine.validators import reals
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]


class LearnedTorque(RobotController):
    """tau = inner law + v(t), with feed-forward torques v from a table.

    Between the times of the table v is linear; before and after it, the first or last row holds.

    Parameters
    ----------
    robot
        Robot whose joints are moved.
    inner
        Controller or function for the feedback; its gains are ``inner.kp``, ….
    times
        Times of the table, (k,), s, increasing.
    torques
        Torques v, (k, n), N·m (N); or (..., k, n), a table for each run of a batch.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> feedback = ch.control.PD(arm, kp=100.0, kd=20.0)
    >>> law = LearnedTorque(arm, feedback, times=[0.0, 1.0], torques=[[0.0, 0.0], [4.0, 1.0]])
    >>> law.schedule(np.array([0.5, 2.0]), None)["torque"]
    array([[2. , 0.5],
           [4. , 1. ]])
    """

    inner: Controller

    def __init__(
        self, robot: Robot, inner: Controller | Callable[..., Any], *, times: ArrayLike, torques: ArrayLike
    ) -> None:
        law = as_controller(inner)
        super().__init__(robot, {}, {"inner": law.memory})
        self.inner = law
        self.times: Floats = reals(times, "times", ("k",))
        self.torques: Floats = reals(torques, "torques", (..., len(self.times), robot.n))
        if not len(self.times) or np.any(np.diff(self.times) <= 0.0):
            raise ArgumentError("the times of learned torques must increase")
        self.name = f"{law.name} + learned torque"
        self.reference_kind, self.follows_reference = law.reference_kind, law.follows_reference
        self.measured_wrench, self.traceable = law.measured_wrench, law.traceable

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of runs that have torques of their own, or an inner law with schedules of its own."""
        return np.broadcast_shapes(self.torques.shape[:-2], self.inner.batch)

    def schedule(self, times: Floats, motion: PlannedMotion) -> Memory:
        """Return the torques v (..., k, n) of all calls, and the inner law's schedule."""
        columns = np.moveaxis(self.torques, -2, -1).reshape(-1, len(self.times))
        table = np.array([np.interp(times, self.times, column) for column in columns])
        torque = np.moveaxis(table.reshape(*self.torques.shape[:-2], self.robot.n, len(times)), -1, -2)
        if not self.inner.has_schedule:
            return Record(torque=torque)
        inner = self.inner.schedule(times, motion)
        if not self.batch:
            return Record(torque=torque, inner=inner)
        layout = Layout.of(inner)
        for _ in (*self.inner.batch, times):
            layout = layout.rows()
        rows = np.broadcast_to(layout.join(inner), (*self.batch, len(times), layout.size))
        return Record(torque=np.broadcast_to(torque, (*self.batch, *torque.shape[-2:])), inner=layout.split(rows))

    def law(self, now: Now) -> Any:
        """Return the inner law's torques with v added."""
        return self.inner.law(now.of("inner", schedule=now.schedule.get("inner"))) + now.schedule.torque

    @property
    def takes_over(self) -> bool:
        """Whether the inner law does."""
        return self.inner.takes_over

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the inner law for the torques tau."""
        self.inner.take_over(now.of("inner", schedule=now.schedule.get("inner")), tau - now.schedule.torque)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r}, {len(self.times)} times)"
