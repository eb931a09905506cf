"""Torques of a body that a frame carries, linear in its ten inertial parameters."""

from __future__ import annotations

import numpy as np

from chasles.mechanics.carried_bodies import carried_columns
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot


def payload_regressor(robot: Robot, frame: str, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
    """Torques of a unit of each inertial parameter of a body at a frame, shape (k, n, 10)."""
    columns, to_link = carried_columns(robot.description, frame)
    return np.asarray(robot.regressors.torque(q, qd, qdd, columns=tuple(columns.tolist())) @ to_link)


def payload_frame(robot: Robot, frame: str | None) -> str:
    """Name of the frame that carries the payload; default the tool."""
    return robot.description.frame(robot.description.tool if frame is None else frame).name
