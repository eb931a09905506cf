"""Programs of a page beside the methods of `Robot`: searches, errors and ellipsoids of the tool, pieces of motions."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import Function, maximum, sqrt, trace
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.iteration import search
from chasles.inverse_kinematics.task import PoseWeights
from chasles.trajectories.joint.piecewise import polynomial
from chasles.trajectories.joint.spline_pieces import hermite_pieces

#: Masks of the tasks that dragging knows, by the name of their program.
TASKS = {"reach_pose": "pose", "reach_position": "position"}
#: Derivatives that the pieces of a motion have at their ends, positions included, by the name of their program.
PIECES = {"cubic_piece": 2, "quintic_piece": 3}


def searches(frame: RobotFrame) -> dict[str, Function]:
    """Return the searches of inverse kinematics, which move those degrees of freedom whose share ``moving`` is 1."""

    def motion(q: Array, moving: Array) -> tuple[Array, Array]:
        T, J = frame.motion(q)
        return T, J * moving

    return {
        name: search(motion, PoseWeights.of(mask), frame.steps, frame.length, parameters={"moving": (frame.n,)})
        for name, mask in TASKS.items()
    }


def velocity_ellipsoid(n: int) -> Function:
    """Return (J,) -> (lengths, axes): half axes of the tool's velocities at unit joint rates, longest first, as rows.

    Examples
    --------
    >>> J = np.zeros((6, 2))
    >>> J[3, 0], J[4, 1] = 1.0, 2.0
    >>> velocity_ellipsoid(2)(J)[0]
    array([2., 1., 0.])
    """

    def half_axes(J: Array) -> tuple[Any, Array]:
        squares, axes = np.linalg.eigh(J[3:] @ J[3:].T)
        return sqrt(maximum(squares[::-1], 0.0)), axes.T[::-1]

    return Function(trace(half_axes, {"J": (6, n)}, name="ellipsoid", outputs=["lengths", "axes"]))


def pose_error() -> Function:
    """Return (T, T_goal) -> (angle, distance) between two poses, rad and m.

    Examples
    --------
    >>> from chasles.geometry import pose, rotation_z
    >>> np.round(pose_error()(np.eye(4), pose(rotation_z(0.2), [0.3, 0.0, 0.4])), 12)
    array([0.2, 0.5])
    """
    task = PoseWeights.of(None)

    def remaining(T: Array, T_goal: Array) -> tuple[Any, Any]:
        return task.remaining(T_goal, T)

    return Function(trace(remaining, {"T": (4, 4), "T_goal": (4, 4)}, name="error", outputs=["angle", "distance"]))


def motion_pieces() -> dict[str, Function]:
    """Return the pieces of `HermiteSpline` for one coordinate: (u, h, start, end) -> (q, qd, qdd).

    u is the time since the beginning and h the length of the piece, s; start and end are position and velocity, with
    the acceleration for quintic pieces.

    Examples
    --------
    >>> q, qd, _ = motion_pieces()["quintic_piece"](1.0, 2.0, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    >>> float(q), float(qd)
    (0.5, 0.9375)
    """

    def piece(u: Real, h: Real, start: Array, end: Array) -> tuple[Any, ...]:
        powers = hermite_pieces(np.array([h]), *(list(side.reshape(-1, 1, 1)) for side in (start, end)))[0]
        return tuple(part[0] for part in polynomial(len(powers), 1)(u, powers)[:3])

    return {
        name: Function(
            trace(piece, {"u": (), "h": (), "start": (order,), "end": (order,)}, name=name, outputs=["q", "qd", "qdd"])
        )
        for name, order in PIECES.items()
    }
