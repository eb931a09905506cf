"""Disturbance observer: torques that no model foresees are estimated from the momenta, and compensated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.computed_torque import ComputedTorque
from chasles.control.controller import Controller
from chasles.control.floating_base import has_motors
from chasles.control.knowledge import Knowledge
from chasles.control.load_friction import load_friction
from chasles.control.now import Now
from chasles.control.pid import saturated
from chasles.control.pole_design import PoleDesign
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine import exp, where
from chasles.engine.program.scalar import Array
from chasles.engine.validators import POSITIVE, Bound, reals
from chasles.robot.robot import Robot


class DisturbanceObserver(RobotController):
    """tau = inner law - compensation r, r' = bandwidth (d - r), for any controller and disturbance torque d.

    The momenta p = M qd change by p' = tau + Cᵀ qd - g - friction + d. The change that the model does not explain is
    the disturbance, and r is its low-pass filtered estimate: r = bandwidth (p - p(0) - integral of tau + Cᵀ qd - g -
    friction + r). It needs no accelerations and no inverse of M. The estimate of a constant disturbance converges as
    exp(-bandwidth t). An unmodelled payload also counts as a disturbance.

    Source: De Luca and Mattone, "Actuator failure detection and isolation using generalized momenta", IEEE Int. Conf.
    Robotics and Automation, 2003; De Luca, Albu-Schaeffer, Haddadin and Hirzinger, "Collision detection and safe
    reaction with the DLR-III lightweight manipulator arm", IROS 2006. It requires a model and the torques that act.
    Saturation at the model's effort limits is taken into account; saturation of smaller motors appears as a
    disturbance.

    Parameters
    ----------
    robot
        Observer's model of the robot.
    inner
        Controller whose torques are corrected; its gains are ``inner.kp``, ….
    bandwidth
        Bandwidth, 1/s, a scalar or one value per joint; well above that of the motion and below 1 / period.
    compensation
        Fraction of r that is compensated, a scalar or one value per joint: 1 for all, 0 to observe only. Disturbances
        of free joints are observed only, because they have no motors.

    Notes
    -----
    The discrete filter is exact for a disturbance that is constant over a period, so that an observer that compensates
    nothing is stable for every bandwidth. Compensation makes a loop of it: a model that is too heavy takes the torques
    it has just sent for disturbances. With held torques, velocities measured without delay, slow inner laws, and one
    bandwidth and compensation 1 for all joints, the loop is stable if every eigenvalue of M_true⁻¹ M is below
    2 / (1 - exp(-bandwidth period)), from 2 for fast observers: models that are too light are then harmless.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> controller = ch.control.DisturbanceObserver(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), bandwidth=50.0)
    >>> controller.name, list(controller.parameters)
    ('computed torque + disturbance observer', ['bandwidth', 'compensation', 'inner.kp', 'inner.kd', 'inner.ki'])
    """

    bounds: Mapping[str, Bound] = {"bandwidth": POSITIVE}
    kind = "disturbance-observer"
    knows = Knowledge(learns="a slow disturbance", first_values="0")
    design_damping = 1.1
    bandwidth: Array
    compensation: Array
    inner: Controller

    def __init__(
        self,
        robot: Robot,
        inner: Controller,
        *,
        bandwidth: ArrayLike,
        compensation: ArrayLike = 1.0,
    ) -> None:
        inner = as_controller(inner)
        own = {
            "bandwidth": reals(bandwidth, "bandwidth", (robot.n,), broadcast=True),
            "compensation": reals(compensation, "compensation", (robot.n,), broadcast=True) * has_motors(robot),
        }
        memory: dict[str, Any] = {name: np.zeros(robot.n) for name in ("disturbance", "momentum", "drift", "torque")}
        memory |= {"started": np.zeros(()), "inner": inner.memory}
        super().__init__(robot, own, memory)
        self.inner = inner
        self.name = f"{inner.name} + disturbance observer"
        self.reference_kind = inner.reference_kind
        self.follows_reference = inner.follows_reference
        self.measured_wrench = inner.measured_wrench

    @classmethod
    def gains(
        cls,
        design: PoleDesign,
        *,
        observer: float = 1.0,
        kp: ArrayLike | None = None,
        kd: ArrayLike | None = None,
    ) -> dict[str, Any]:
        """Return computed torque with the designed poles or given gains, and a faster observer."""
        own = design.gains(design.attainable)
        inner = ComputedTorque(design.model, kp=own.kp if kp is None else kp, kd=own.kd if kd is None else kd)
        return {"inner": inner, "bandwidth": observer * design.attainable}

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements: disturbance, values of the last period, and the inner memory."""
        inner = self.inner.memory_names
        return (*self.memory_layout.names[: self.memory_layout.size - len(inner)], *inner)

    def law(self, now: Now) -> Any:
        """Return the inner law's torques less the compensated disturbance."""
        memory = now.memory
        momentum, drift = self.robot.regressors.momentum_and_drift(now.q, now.qd)
        unloaded = drift - load_friction(self.robot, now.q, now.qd, memory.torque)
        explained = memory.torque + 0.5 * (memory.drift + unloaded)
        met = (momentum - memory.momentum) / now.period - explained
        decay = exp(-self.bandwidth * now.period)
        filtered = decay * memory.disturbance + (1.0 - decay) * met
        memory.disturbance = where(memory.started > 0.5, filtered, 0.0)
        tau = self.inner.law(now.of("inner")) - self.compensation * memory.disturbance
        memory.torque = saturated(tau, self.robot.effort_limits)
        memory.drift = drift - load_friction(self.robot, now.q, now.qd, memory.torque)
        memory.momentum, memory.started = momentum, 1.0
        return tau

    @property
    def takes_over(self) -> bool:
        """Whether the inner law takes over, or disturbances of every joint are compensated."""
        return self.inner.takes_over or bool((self.compensation > 0.0).all())

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the inner law for the torques tau, or the estimate, as if it had been steady before."""
        if self.inner.takes_over:
            self.inner.take_over(now.of("inner"), tau)
            return
        layout = self.inner.memory_layout
        before = replace(now, memory=layout.split(layout.join(now.memory.inner)))
        memory, disturbance = now.memory, (self.inner.law(before) - tau) / self.compensation
        momentum, drift = self.robot.regressors.momentum_and_drift(now.q, now.qd)
        sent: Any = saturated(tau, self.robot.effort_limits)
        unloaded = drift - load_friction(self.robot, now.q, now.qd, sent)
        memory.disturbance, memory.torque, memory.drift, memory.started = disturbance, sent, unloaded, 1.0
        memory.momentum = momentum - now.period * (sent + unloaded + disturbance)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"
