"""Disturbance observer: torques that no model foresees are estimated from the momenta, and compensated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from chasles.arguments import POSITIVE, Bound, reals
from chasles.control.computed_torque import ComputedTorque
from chasles.control.controller import Controller
from chasles.control.floating_base import has_motors
from chasles.control.now import Now
from chasles.control.pid import saturated
from chasles.control.pole_design import PoleDesign
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine import exp, where
from chasles.engine.scalar import Array
from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.trajectories import JointTrajectory


class DisturbanceObserver(RobotController):
    """tau = inner law - compensation r, r' = bandwidth (d - r), for any controller and disturbance torque d.

    The momenta p = M qd change by p' = tau + Cᵀ qd - g - friction + d. What of their change the model does not explain
    is the disturbance, and r is what a filter of the given bandwidth lets through: r = bandwidth (p - p(0) - integral
    of tau + Cᵀ qd - g - friction + r). It needs no accelerations and no inverse of M. A constant disturbance is found
    exactly, with an error that decays as exp(-bandwidth t); that the model lacks a payload counts as a disturbance too.

    Source: De Luca and Mattone, "Actuator failure detection and isolation using generalized momenta", IEEE Int. Conf.
    Robotics and Automation, 2003; De Luca, Albu-Schaeffer, Haddadin and Hirzinger, "Collision detection and safe
    reaction with the DLR-III lightweight manipulator arm", IROS 2006. It needs to know a model and the torques that
    act: saturation at the
    model's effort limits is taken into account, that of smaller motors looks like a disturbance.

    Parameters
    ----------
    inner
        Controller whose torques are corrected; its gains are ``inner.kp``, ….
    robot
        Observer's model of the robot; default the inner controller's.
    bandwidth
        1/s, one number or one for each joint; well above that of the motion and below 1 / period.
    compensation
        Share of r that is compensated, one number or one for each joint: 1 all, 0 for observing only. At free joints,
        which have no motors, disturbances are observed only.

    Notes
    -----
    Sampled, r is filtered exactly for a disturbance that is constant over a period, so that every bandwidth is stable
    as an observer.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> controller = ch.control.DisturbanceObserver(ch.ComputedTorque(arm, kp=400.0, kd=40.0), bandwidth=50.0)
    >>> controller.name, list(controller.parameters)
    ('computed torque + disturbance observer', ['bandwidth', 'compensation', 'inner.kp', 'inner.kd', 'inner.ki'])
    """

    bounds: Mapping[str, Bound] = {"bandwidth": POSITIVE}
    bandwidth: Array
    compensation: Array
    inner: Controller

    def __init__(
        self,
        inner: Controller,
        robot: Robot | None = None,
        *,
        bandwidth: ArrayLike,
        compensation: ArrayLike = 1.0,
    ) -> None:
        inner = as_controller(inner)
        model = inner.robot if robot is None else robot
        if model is None:
            raise ArgumentError(f"give the observer a model: controller '{inner.name}' has none")
        own = {
            "bandwidth": reals(bandwidth, "bandwidth", (model.n,), broadcast=True),
            "compensation": reals(compensation, "compensation", (model.n,), broadcast=True) * has_motors(model),
        }
        memory: dict[str, Any] = {name: np.zeros(model.n) for name in ("disturbance", "momentum", "drift", "torque")}
        memory |= {"started": np.zeros(()), "inner": inner.memory}
        super().__init__(model, own, memory)
        self.inner = inner
        self.name = f"{inner.name} + disturbance observer"
        self.reference_kind = inner.reference_kind
        self.measured_wrench = inner.measured_wrench

    @classmethod
    def tuned(
        cls,
        robot: Robot,
        motion: JointTrajectory,
        period: float,
        *,
        frequency: float = 20.0,
        damping: float = 1.0,
        observer: float = 1.0,
        **further: Any,
    ) -> Self:
        """Return computed torque with an observer: the sampled loop has two poles as designed, and the observer's.

        Parameters
        ----------
        robot, motion, period
            Controller's model of the robot, planned motion, and sample period, s.
        frequency, damping
            Natural frequency, rad/s, lowered where the period is too long for it, and damping ratio of the error.
        observer
            Bandwidth of the observer as a multiple of the frequency.
        further
            Other parameters of the class, which replace those of the rule.

        Examples
        --------
        >>> import chasles as ch
        >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
        >>> law = ch.control.DisturbanceObserver.tuned(arm, motion, period=0.001, observer=2.0)
        >>> run = ch.simulate(arm.with_payload(1.0), law, motion, period=0.001)
        >>> bool(abs(run["error"]).isel(time=-1).max() < 0.01)
        True
        """
        design = PoleDesign(robot, motion, period, frequency, damping)
        gains = design.gains(design.attainable)
        inner = ComputedTorque(robot, kp=gains.kp, kd=gains.kd)
        return cls(inner, **({"bandwidth": observer * design.attainable} | further))

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements: disturbance, values of the last period, and the inner memory."""
        inner = self.inner.memory_names
        return (*self.memory_layout.names[: self.memory_layout.size - len(inner)], *inner)

    def law(self, now: Now) -> Any:
        """Return the inner law's torques less the compensated disturbance."""
        memory = now.memory
        momentum, drift = self.robot.momentum_and_drift(now.q, now.qd)
        explained = memory.torque + 0.5 * (memory.drift + drift)
        met = (momentum - memory.momentum) / now.period - explained
        decay = exp(-self.bandwidth * now.period)
        filtered = decay * memory.disturbance + (1.0 - decay) * met
        memory.disturbance = where(memory.started > 0.5, filtered, 0.0)
        tau = self.inner.law(now.of("inner")) - self.compensation * memory.disturbance
        memory.momentum, memory.drift, memory.started = momentum, drift, 1.0
        memory.torque = saturated(tau, self.robot.effort_limits)
        return tau

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"
