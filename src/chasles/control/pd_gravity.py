"""PD control with gravity compensation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.controller import gains
from chasles.robot import Robot
from chasles.trajectories import Motion


class PDGravity:
    """tau = Kp (q_ref - q) + Kd (qd_ref - qd) + g(q).

    Source: Takegaki and Arimoto, "A new feedback method for dynamic control of manipulators", 1981. It needs to know
    the robot's gravity torques only.

    Parameters
    ----------
    robot
        The model that the controller believes in; it may differ from the plant.
    kp, kd
        Stiffness (N m/rad) and damping (N m s/rad), one number or one for each joint (sliding joints: N/m, N s/m).

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.PDGravity(ch.load("planar2r"), kp=400.0, kd=40.0)
    """

    name = "PD + gravity"

    def __init__(self, robot: Robot, *, kp: ArrayLike, kd: ArrayLike) -> None:
        self.robot = robot
        self.parameters: Mapping[str, NDArray[np.float64]] = {
            "kp": gains(kp, robot.n, "kp"),
            "kd": gains(kd, robot.n, "kd"),
        }
        self.initial_state = np.zeros(0)

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law; there is no memory."""
        feedback = parameters["kp"] * (reference.q - q) + parameters["kd"] * (reference.qd - qd)
        return feedback + self.robot.gravity_torque(q), state

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value.tolist()}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.robot!r}, {numbers})"
