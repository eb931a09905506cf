"""Regions that points of a robot's links must stay in while it moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot


@dataclass(frozen=True)
class Region:
    """Half-space in which a point of a link must stay: normal · p <= distance, in the world frame.

    Attributes
    ----------
    frame
        Name of the frame that carries the point p.
    normal
        Shape (3,).
    distance
        Distance from the world origin, m, for a normal of unit length.
    point
        Coordinates of p in the frame, shape (3,), m. Default: the frame's origin.

    Examples
    --------
    The elbow of an arm stays above a table:

    >>> Region("link3", (0.0, 0.0, -1.0), -0.05).distance
    -0.05
    """

    frame: str
    normal: tuple[float, float, float]
    distance: float
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @classmethod
    def box(
        cls, frame: str, lower: ArrayLike, upper: ArrayLike, point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    ) -> list[Region]:
        """Return the half-spaces of a box along the world axes; an infinite bound leaves its side open.

        Parameters
        ----------
        frame, point
            Frame that carries the point, and the point in it.
        lower, upper
            Corners, shape (3,), m, world frame.

        Examples
        --------
        >>> len(Region.box("tool", [-1.0, -1.0, 0.1], [1.0, 1.0, np.inf]))
        5
        """
        below, above = (reals(c, name, (3,), infinite=True) for name, c in (("lower", lower), ("upper", upper)))
        if not (below < above).all():
            raise ArgumentError(f"lower must be below upper, not {below.tolist()} and {above.tolist()}")
        sides = [*zip(-np.eye(3), -below, strict=True), *zip(np.eye(3), above, strict=True)]
        return [
            cls(frame, (float(x), float(y), float(z)), float(distance), point)
            for (x, y, z), distance in sides
            if np.isfinite(distance)
        ]

    def excess(self, robot: Robot, q: FloatArray) -> FloatArray:
        """Return the point's distance beyond the boundary, negative inside, (k,), for configurations (k, n)."""
        T = np.asarray(robot.forward_kinematics(q, target=self.frame))
        return np.asarray((T[:, :3, 3] + T[:, :3, :3] @ self.point) @ self.normal - self.distance)

    def slopes(self, robot: Robot, q: FloatArray) -> FloatArray:
        """Derivatives of `excess` by the joint positions, shape (k, n)."""
        T = np.asarray(robot.forward_kinematics(q, target=self.frame))
        J = np.asarray(robot.jacobian(q, frame="world-aligned", target=self.frame))
        arm = T[:, :3, :3] @ np.asarray(self.point)
        turning = np.cross(arm, np.asarray(self.normal))  # n · (ω × r) = ω · (r × n)
        return np.asarray(np.asarray(self.normal) @ J[:, 3:] + np.einsum("ki,kij->kj", turning, J[:, :3]))
