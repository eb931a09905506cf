"""Disturbance observer: torques that no model foresees are estimated from the momenta, and compensated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import POSITIVE, Relation, reals
from chasles.control.computed_torque import ComputedTorque
from chasles.control.controller import Controller, as_controller
from chasles.control.floating_base import has_motors
from chasles.control.pid import saturated
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController
from chasles.engine import Record, exp, where
from chasles.engine.records import Memory
from chasles.engine.scalar import Array, Real
from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.motion import Motion, PoseMotion


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
        The controller whose torques are corrected; its gains keep their names.
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
    ('computed torque + disturbance observer', ['kp', 'kd', 'ki', 'bandwidth', 'compensation'])
    """

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
        both = set(own) & set(inner.parameters)
        if both:
            raise ArgumentError(f"controller '{inner.name}' has parameters of the observer's names: {sorted(both)}")
        memory = {name: np.zeros(model.n) for name in ("disturbance", "momentum", "drift", "torque")}
        memory |= {"started": np.zeros(()), "inner": inner.initial_state}
        self.bounds = {**inner.bounds, "bandwidth": POSITIVE}
        self.inner = inner
        super().__init__(model, {**inner.parameters, **own}, memory)
        self.name = f"{inner.name} + disturbance observer"
        self.reference_kind = inner.reference_kind
        self.measured_wrench = inner.measured_wrench

    def relations(self, parameters: Mapping[str, Any]) -> Iterable[Relation]:
        """What must hold between the parameters of the inner law."""
        return self.inner.relations(parameters)

    @property
    def has_schedule(self) -> bool:
        """Whether the inner law needs a schedule."""
        return self.inner.has_schedule

    def schedule(self, times: NDArray[np.float64], motion: Motion | PoseMotion) -> Memory:
        """Schedule of the inner law."""
        return self.inner.schedule(times, motion)

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

    def period_warning(self, period: float) -> str | None:
        """Warning of the inner law."""
        return self.inner.period_warning(period)

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements: disturbance, values of the last period, and the inner memory."""
        inner = self.inner.memory_names
        return (*self.memory_layout.names[: self.memory_layout.size - len(inner)], *inner)

    def law(
        self,
        t: Real,
        q: Array,
        qd: Array,
        reference: Motion | PoseMotion,
        state: Memory,
        parameters: Mapping[str, Any],
        period: float,
    ) -> tuple[Any, Any]:
        """Torques of the law, and the state for the next call."""
        momentum, drift = self.robot.momentum_and_drift(q, qd)
        explained = state.torque + 0.5 * (state.drift + drift)
        met = (momentum - state.momentum) / period - explained
        decay = exp(-parameters["bandwidth"] * period)
        filtered = decay * state.disturbance + (1.0 - decay) * met
        disturbance = where(state.started > 0.5, filtered, 0.0)
        tau, following = self.inner.law(t, q, qd, reference, state.inner, parameters, period)
        tau = tau - parameters["compensation"] * disturbance
        parts = {
            "disturbance": disturbance,
            "momentum": momentum,
            "drift": drift,
            "torque": saturated(tau, self.robot.effort_limits),
            "started": 1.0,
            "inner": following,
        }
        return tau, Record(parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"
