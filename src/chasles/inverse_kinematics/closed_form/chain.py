"""The axes of a robot's chain, as they lie at joint positions zero."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import where
from chasles.geometry.elementary import rotation_z
from chasles.inverse_kinematics.closed_form.subproblems import Turn
from chasles.model import Tree
from chasles.model.tree import WORLD

Vector = NDArray[np.float64]
#: Axes count as parallel, or as meeting, when they are so up to this part of the robot's size.
PARALLEL = 1e-9


@dataclass(frozen=True, eq=False)
class Chain:
    """Joints from the world to a frame, and the frame, in the world's axes at joint positions zero.

    Attributes
    ----------
    axes
        Unit vectors along the joints' axes, (k, 3).
    points
        A point on each axis, (k, 3), m.
    slides
        Which joints slide instead of turning, (k,).
    coordinates
        Index of each joint in q, (k,).
    T_world_target
        Pose of the frame, (4, 4).
    size
        Largest distance between two of the points, m.
    """

    axes: Vector
    points: Vector
    slides: NDArray[np.bool_]
    coordinates: tuple[int, ...]
    T_world_target: Vector
    size: float

    @classmethod
    def of(cls, tree: Tree, target: str) -> Chain | None:
        """Chain of a frame; None if a joint of it is a screw, or several follow one coordinate."""
        placement = tree.frames[target]
        indices: list[int] = []
        index = placement.body
        while index != WORLD:
            indices.insert(0, index)
            index = tree.bodies[index].parent
        R, p = np.eye(3), np.zeros(3)
        axes, points = [], []
        for body in (tree.bodies[k] for k in indices):
            if abs(body.ratio) != 1.0 or (body.angular and body.pitch):
                return None
            p = p + R @ (body.p_parent_body + body.R_parent_body @ np.array([0.0, 0.0, body.pitch * body.offset]))
            R = R @ body.R_parent_body @ rotation_z(body.angular * body.offset)
            axes.append(body.ratio * R[:, 2])
            points.append(p)
        coordinates = tuple(tree.bodies[k].coordinate for k in indices)
        if not indices or len(set(coordinates)) < len(coordinates):
            return None
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = R @ placement.R_body_frame, p + R @ placement.p_body_frame
        all_points = np.array([*points, T[:3, 3]])
        size = float(np.linalg.norm(all_points[:, None] - all_points[None], axis=-1).max())
        slides = np.array([not tree.bodies[k].angular for k in indices])
        return cls(_tidy(np.array(axes)), _tidy(np.array(points)), slides, coordinates, T, max(size, 1e-6))

    def __len__(self) -> int:
        return len(self.axes)

    def parallel(self, *joints: int) -> bool:
        """Whether the axes of some joints are parallel."""
        first = self.axes[joints[0]]
        return all(np.linalg.norm(np.cross(first, self.axes[k])) < PARALLEL for k in joints[1:])

    def meeting(self, *joints: int) -> Vector | None:
        """Point in which the axes of some revolute joints meet; None if they do not, or all are parallel."""
        if self.slides[list(joints)].any() or self.parallel(*joints):
            return None
        # The point with the smallest sum of squared distances from the lines.
        across = [np.eye(3) - np.outer(self.axes[k], self.axes[k]) for k in joints]
        right = sum(A @ self.points[k] for A, k in zip(across, joints, strict=True))
        point = np.linalg.solve(np.asarray(sum(across)), np.asarray(right))
        distances = [np.linalg.norm(A @ (point - self.points[k])) for A, k in zip(across, joints, strict=True)]
        return _tidy(point) if max(distances) < PARALLEL * self.size else None


def _tidy(values: Vector) -> Vector:
    """Rounding errors of zeros and ones removed, so that they fold away."""
    nearest = np.round(values)
    return np.where(np.abs(values - nearest) < 1e-12, nearest, values) + 0.0


class Branch(NamedTuple):
    """One way to reach a target.

    Attributes
    ----------
    positions
        Joint positions, in the order of the chain.
    free
        1.0 where some of them may be changed together without moving the frame, else 0.0.
    """

    positions: tuple[Any, ...]
    free: Any

    @classmethod
    def of(cls, *turns: Turn) -> Branch:
        """Branch of one turn for each joint."""
        return cls(tuple(turn.angle for turn in turns), any_of(turn.free for turn in turns))


def any_of(conditions: Iterable[Any]) -> Any:
    """1.0 where one of some conditions holds, else 0.0."""
    return where(reduce(or_, conditions), 1.0, 0.0)
