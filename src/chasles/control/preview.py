"""Preview of the nominal torque for any law: the mean over the period in which a torque acts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.delayed_hold import MOST_DELAY
from chasles.control.linear_quadratic.along_motion import held_torques
from chasles.control.now import Now
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.trajectories import Motion


class Previewed(RobotController):
    """tau = inner law - ID at the call + mean of ID over the period in which tau acts, ID the planned motion's torques.

    Torques are held from call to call, so those of the planned motion at the call lag by half a period. The regulators
    along a motion have this preview themselves; this wrapper gives it to every other law that compensates the torques
    of the planned motion. It requires the full dynamic model and the next planned states, before the motion only.

    Source: the trapezoidal rule for the mean of ID over a period; see `TimeVaryingRegulator`, which does the same.

    Parameters
    ----------
    robot
        Model of the robot.
    inner
        Controller or function for joint motions without a schedule of its own.
    delay
        Delay from a call to the effect of its torques that the preview knows, in sample periods.

    Raises
    ------
    ArgumentError
        The inner law follows a frame, or has a schedule.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = ch.control.NominalTorquePID.tuned(arm, motion, 0.05, frequency=8.0)
    >>> plain, previewed = (
    ...     abs(ch.simulate(arm, each, motion, period=0.05).error).max() for each in (law, Previewed(arm, law))
    ... )
    >>> bool(previewed < 0.3 * plain)
    True
    """

    inner: Controller

    def __init__(self, robot: Robot, inner: Controller | Callable[..., Any], *, delay: float = 0.0) -> None:
        law = as_controller(inner)
        if law.has_schedule:
            raise ArgumentError(f"'{law.name}' computes a schedule along the motion: leave out its preview")
        if law.reference_kind != "joint":
            raise ArgumentError(f"'{law.name}' follows a frame; the preview is that of joint motions")
        super().__init__(robot, {}, {"inner": law.memory})
        self.inner = law
        self.delay = real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
        self.name = f"{law.name}, previewed"
        self.follows_reference, self.traceable = law.follows_reference, law.traceable
        self.measured_wrench = law.measured_wrench

    def schedule(self, times: NDArray[np.float64], motion: Motion) -> NDArray[np.float64]:
        """Return what the mean torques of the planned motion add to those at the calls, (..., k, n)."""
        return np.asarray(held_torques(self.robot, motion, self.delay) - self.robot.inverse_dynamics(*motion))

    def settled_schedule(self, motion: Motion, period: float) -> NDArray[np.float64]:
        """Return zeros (k, n): at rest there is nothing to foresee."""
        return np.zeros(np.shape(motion.qd))

    def law(self, now: Now) -> Any:
        """Return the inner law's torques with the preview."""
        return self.inner.law(now.of("inner", schedule=None)) + now.schedule

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"
