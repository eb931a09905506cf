"""Computed-torque control, with integral action if wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.controller import gains
from chasles.robot import Robot
from chasles.trajectories import Motion


class ComputedTorque:
    """tau = ID(q, qd, qdd_ref + Kd (qd_ref - qd) + Kp (q_ref - q) + Ki ∫(q_ref - q) dt).

    The inverse dynamics ID of the model cancels the robot's own, so that each joint's error obeys a linear equation.
    Source: Lynch and Park, Modern Robotics, section 11.4, Motion Control with Torque or Force Inputs.

    Parameters
    ----------
    robot
        The model that the controller believes in; it may differ from the plant.
    kp, kd, ki
        Gains of the error's equation in 1/s², 1/s and 1/s³, one number or one for each joint. A natural frequency w and
        damping ratio z give ``kp = w**2``, ``kd = 2 * z * w``. Stable for ``ki < kp * kd``.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.ComputedTorque(ch.load("planar2r"), kp=400.0, kd=40.0)
    """

    name = "computed torque"

    def __init__(self, robot: Robot, *, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0) -> None:
        self.robot = robot
        self.parameters: Mapping[str, NDArray[np.float64]] = {
            "kp": gains(kp, robot.n, "kp"),
            "kd": gains(kd, robot.n, "kd"),
            "ki": gains(ki, robot.n, "ki"),
        }
        self.initial_state = np.zeros(robot.n)

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law; the memory is the integral of the error by the rectangle rule."""
        error = reference.q - q
        integral = state + period * error
        feedback = parameters["kd"] * (reference.qd - qd) + parameters["kp"] * error + parameters["ki"] * integral
        return self.robot.inverse_dynamics(q, qd, reference.qdd + feedback), integral

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value.tolist()}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.robot!r}, {numbers})"
