"""What a target asks of a frame: all of its pose, or some directions of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine import absolute, atan2, maximum, sqrt, where
from chasles.engine.program.scalar import Real
from chasles.engine.validators import choice
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.rotations import log_rotation

#: Tasks by name: which components (omega_x, omega_y, omega_z, v_x, v_y, v_z), in the axes of the target, count.
NAMED = {
    "pose": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    "position": (0.0, 0.0, 0.0, 1.0, 1.0, 1.0),
    "orientation": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    "direction": (1.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    "position and direction": (1.0, 1.0, 0.0, 1.0, 1.0, 1.0),
}
#: Largest `pose_defect` of a target: matrices printed with five digits are poses.
POSE_TOLERANCE = 1e-4
#: Targets farther away than this, m, are taken for infinite.
_FARTHEST = 1e100
#: Keeps the square root of the rotation error differentiable and its reciprocal finite at no error.
_TINY = 1e-40


class Error(NamedTuple):
    """From the frame to its target.

    Attributes
    ----------
    twist
        Weighted components that count, (m,): rotation vector and displacement that would take the frame to the target.
    jacobian
        Their change with the coordinates, (m, n).
    angle, distance
        Sizes of the unweighted components that count, rad and m.
    """

    twist: Array
    jacobian: Array
    angle: Any
    distance: Any


@dataclass(frozen=True, eq=False)
class PoseWeights:
    """Weights of the six components of the error, in the axes of the target; `of` gives one object for equal weights.

    Attributes
    ----------
    weights
        Weights of the rotations about, then of the displacements along the target's x, y, z; 0 where a component does
        not count.
    """

    weights: tuple[float, ...]

    @classmethod
    def of(cls, mask: str | ArrayLike | None) -> PoseWeights:
        """Return the task that a mask means: a name, six weights, or None for the whole pose."""
        if mask is None:
            return _WHOLE_POSE
        if isinstance(mask, str):
            choice(mask, "mask", NAMED)
            return _task(NAMED[mask])
        try:
            weights = np.asarray(mask, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        if weights.shape != (6,) or not np.isfinite(weights).all() or (weights < 0.0).any() or not weights.any():
            raise ArgumentError(
                "mask must be six weights (three rotations, then three displacements, in the target's axes), "
                f"not negative and not all zero, or one of {', '.join(map(repr, NAMED))}; not {mask!r}"
            )
        return _task(tuple(weights.tolist()))

    @property
    def whole(self) -> bool:
        """Whether the pose counts as it is."""
        return all(weight == 1.0 for weight in self.weights)

    @property
    def rotations(self) -> list[int]:
        """Axes of the rotations that count."""
        return [k for k in range(3) if self.weights[k]]

    @property
    def displacements(self) -> list[int]:
        """Axes of the displacements that count."""
        return [k for k in range(3) if self.weights[3 + k]]

    def error(self, T_world_goal: Array, motion: tuple[Array, Array], length: float) -> Error:
        """Error of a frame, from pose and world-aligned Jacobian; ``length`` (m) compares displacements with angles."""
        T_world_frame, J = motion
        R_goal, R = T_world_goal[:3, :3], T_world_frame[:3, :3]
        displacement = T_world_goal[:3, 3] - T_world_frame[:3, 3]
        if self.whole:
            rotation, angle = rotation_error(R_goal, R)
            twist = np.concatenate([rotation, displacement / length])
            rows = np.concatenate([J[:3], J[3:] / length])
            return Error(twist, rows, angle, norm(displacement))
        parts, rows_of, sizes = [], [], []
        for vector, jacobian, axes, weights, unit in (
            (self._rotation(R_goal, R), J[:3], self.rotations, self.weights[:3], 1.0),
            (displacement, J[3:], self.displacements, self.weights[3:], 1.0 / length),
        ):
            seen = (R_goal.T @ vector)[axes]
            scale = unit * np.array([weights[k] for k in axes])
            parts.append(scale * seen)
            rows_of.append(scale[:, None] * (R_goal.T @ jacobian)[axes])
            sizes.append(norm(seen))
        return Error(np.concatenate(parts), np.concatenate(rows_of), *sizes)

    def remaining(self, T_world_goal: Array, T_world_frame: Array) -> tuple[Any, Any]:
        """Angle (rad) and distance (m) of the components that count, between a frame and its target."""
        R_goal, R = T_world_goal[:3, :3], T_world_frame[:3, :3]
        displacement = T_world_goal[:3, 3] - T_world_frame[:3, 3]
        angle = rotation_error(R_goal, R)[1] if len(self.rotations) == 3 else 0.0
        if self.rotations and len(self.rotations) < 3:
            angle = norm((R_goal.T @ self._rotation(R_goal, R))[self.rotations])
        return angle, norm((R_goal.T @ displacement)[self.displacements])

    def _rotation(self, R_goal: Array, R: Array) -> Array:
        """Rotation vector in world axes that takes the frame to its goal."""
        if not self.rotations:
            return np.zeros(3)
        if len(self.rotations) == 3:
            return rotation_error(R_goal, R)[0]
        return log_rotation(
            R_goal @ R.T
        )  # half turns about an axis that does not count are solutions, and must be exact


@cache
def _task(weights: tuple[float, ...]) -> PoseWeights:
    return PoseWeights(weights)


_WHOLE_POSE = _task(NAMED["pose"])


@batched(T=(4, 4))
def pose_defect(T: Array) -> Real:
    """How far T (..., 4, 4) is from a pose: errors of RᵀR = I and of the last row; 2 for mirrors and infinite places.

    >>> pose_defect(np.eye(4))
    np.float64(0.0)
    """
    R = T[:3, :3]
    x, y, z = R.T
    errors = [*(R.T @ R - np.eye(3))[np.triu_indices(3)], *(T[3] - np.array([0.0, 0.0, 0.0, 1.0]))]
    proper = elementary.cross(x, y) @ z > 0.0
    for coordinate in T[:3, 3]:
        proper = proper & (absolute(coordinate) < _FARTHEST)
    return where(proper, 0.0, 2.0) + sum(absolute(e) for e in errors)


def rotation_error(R_goal: Array, R: Array) -> tuple[Array, Any]:
    """Rotation vector in world axes that takes R to R_goal, and its angle.

    At half a turn the axis is not defined; the vector is zero there, though the angle is not.
    """
    E = R_goal @ R.T
    sine_axis = 0.5 * np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    sine = norm(sine_axis)
    angle = atan2(sine, 0.5 * (E[0, 0] + E[1, 1] + E[2, 2] - 1.0))
    return (angle / sine) * sine_axis, angle


def norm(vector: Array) -> Real:
    """Length of a vector, 1e-20 at least."""
    if not len(vector):
        return 0.0
    return sqrt(maximum(vector @ vector, _TINY))


Kinematics = Callable[..., tuple[Array, Array]]
"""Pose of a frame and its world-aligned Jacobian at a configuration; on traced scalars."""
