"""Torques of a body that a frame carries, linear in its ten inertial parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot


def payload_regressor(robot: Robot, frame: str, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
    """Torques of a unit of each inertial parameter of a body at a frame, shape (k, n, 10)."""
    columns, to_link = placement(robot, frame)
    return np.asarray(robot.regressors.torque(q, qd, qdd, columns=tuple(columns.tolist())) @ to_link)


def placement(robot: Robot, frame: str) -> tuple[NDArray[np.intp], FloatArray]:
    """Columns of the torque regressor that a body at a frame acts on, and the linear map from its parameters to these.

    Found from ten point-like and extended bodies, put there one by one.
    """
    rng = np.random.default_rng(0)
    own, there = [], []
    bare = robot.with_payload(0.0, frame=frame).inertial.values
    for _ in range(10):
        mass, center = rng.uniform(1.0, 3.0), rng.normal(size=3)
        spread = np.diag(rng.uniform(1.0, 2.0, 3))
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        moments = turn @ (np.trace(spread) * np.eye(3) - spread) @ turn.T
        moments = 0.5 * (moments + moments.T)
        about = moments + mass * ((center @ center) * np.eye(3) - np.outer(center, center))
        own.append(
            [mass, *(mass * center), about[0, 0], about[0, 1], about[0, 2], about[1, 1], about[1, 2], about[2, 2]]
        )
        there.append(robot.with_payload(mass, center, moments, frame=frame).inertial.values - bare)
    changes = np.array(there)
    columns = np.flatnonzero(np.abs(changes).max(axis=0) > 1e-9)
    first = 10 * (int(columns.min(initial=len(bare))) // 10)
    if columns.size == 0:
        raise ArgumentError(f"frame '{frame}' is fixed to the base: no torque tells what it carries")
    block = np.arange(first, first + 10, dtype=np.intp)
    return block, np.asarray(np.linalg.solve(np.array(own), changes[:, block]).T, dtype=np.float64)


def payload_frame(robot: Robot, frame: str | None) -> str:
    """Name of the frame that carries the payload; default the tool."""
    return robot.description.frame(robot.description.tool if frame is None else frame).name
