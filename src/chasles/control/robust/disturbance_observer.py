"""Disturbance observer: torques that no model foresees are estimated from the momenta, and compensated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.adaptive.memory import Layout
from chasles.control.controller import Controller, gains
from chasles.engine import exp, where
from chasles.errors import ArgumentError
from chasles.robot import Robot
from chasles.trajectories import Motion

#: What a loop serves to controllers that ask for it; asked for in the name of the inner controller.
_SERVICES = ("schedule", "measured_wrench", "reference_kind")


class DisturbanceObserver:
    """tau = inner law - compensation r, r' = bandwidth (d - r), for any controller and disturbance torque d.

    The momenta p = M qd change by p' = tau + Cᵀ qd - g - friction + d. What of their change the model does not explain
    is the disturbance, and r is what a filter of the given bandwidth lets through: r = bandwidth (p - p(0) - integral
    of tau + Cᵀ qd - g - friction + r). It needs no accelerations and no inverse of M. A constant disturbance is found
    exactly, with an error that decays as exp(-bandwidth t); that the model lacks a payload counts as a disturbance too.

    Source: De Luca and Mattone, "Actuator failure detection and isolation using generalized momenta", IEEE Int. Conf.
    Robotics and Automation, 2003; De Luca, Albu-Schaeffer, Haddadin and Hirzinger, "Collision detection and safe
    reaction with the DLR-III lightweight manipulator arm", IROS 2006. It needs to know a model and the torques that
    act: motors that saturate look like a disturbance.

    Parameters
    ----------
    inner
        The controller whose torques are corrected; its gains keep their names.
    robot
        The model that the observer believes in; default that of the inner controller.
    bandwidth
        1/s, one number or one for each joint; well above that of the motion and below 1 / period.
    compensation
        Share of r that is compensated, one number or one for each joint: 1 all, 0 for observing only.

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
        model = getattr(inner, "robot", None) if robot is None else robot
        if model is None:
            raise ArgumentError(f"give the observer a model: controller '{inner.name}' has none")
        own = {
            "bandwidth": gains(bandwidth, model.n, "bandwidth"),
            "compensation": gains(compensation, model.n, "compensation"),
        }
        if not (own["bandwidth"] > 0.0).all():
            raise ArgumentError(f"bandwidth must be positive, not {own['bandwidth'].tolist()}")
        both = set(own) & set(inner.parameters)
        if both:
            raise ArgumentError(f"controller '{inner.name}' has parameters of the observer's names: {sorted(both)}")
        self.inner = inner
        self.robot: Robot = model
        self.name = f"{inner.name} + disturbance observer"
        self.parameters: Mapping[str, NDArray[np.float64]] = {**inner.parameters, **own}
        each = (model.n,)
        observer = {"disturbance": each, "momentum": each, "drift": each, "torque": each, "started": (1,)}
        self._layout = Layout({**observer, "inner": inner.initial_state.shape})
        start = {name: np.zeros(shape) for name, shape in observer.items()}
        self.initial_state = self._layout.join(start | {"inner": inner.initial_state})

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements: disturbance, what is known of the last period, and the inner memory."""
        inner = self.inner.initial_state.size
        own = self._layout.names[: self._layout.size - inner]
        return (*own, *getattr(self.inner, "memory_names", self._layout.names[len(own) :]))

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law, and what the next call needs to know of this period."""
        memory = self._layout.split(state)
        momentum, drift = self.robot.momentum_and_drift(q, qd)
        explained = memory["torque"] + 0.5 * (memory["drift"] + drift)
        met = (momentum - memory["momentum"]) / period - explained
        decay = exp(-parameters["bandwidth"] * period)
        filtered = decay * memory["disturbance"] + (1.0 - decay) * met
        disturbance = where(memory["started"][0] > 0.5, filtered, 0.0)
        tau, following = self.inner.law(t, q, qd, reference, memory["inner"], parameters, period)
        tau = tau - parameters["compensation"] * disturbance
        parts = {
            "disturbance": disturbance,
            "momentum": momentum,
            "drift": drift,
            "torque": tau,
            "started": np.ones(1),
            "inner": following,
        }
        return tau, self._layout.join(parts)

    def __getattr__(self, name: str) -> Any:
        if name in _SERVICES:
            return getattr(self.__dict__["inner"], name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inner!r})"
