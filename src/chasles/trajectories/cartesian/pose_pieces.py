"""Cartesian trajectories of pieces, each with a formula in the time since its knot."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program, trace
from chasles.engine.validators import reals
from chasles.geometry import elementary
from chasles.geometry.elementary import Array
from chasles.geometry.exponential_jacobians import right_jacobian_rotation, right_jacobian_rotation_rate
from chasles.geometry.projections import ROTATION
from chasles.geometry.rotations import exp_rotation
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.motion import PoseMotion
from chasles.trajectories.pieces import of_piece, piece_at


class PosePieces(CartesianTrajectory):
    """A motion of pieces between knots; the base of waypoints with blends and of splines.

    Attributes
    ----------
    knots
        Times at which the pieces meet, not decreasing, (k + 1,) or (*batch, k + 1), s.
    pieces
        Values of the pieces, each array (*batch, k, ...).
    """

    pieces: tuple[NDArray[np.float64], ...]

    @property
    @abstractmethod
    def formula(self) -> Function:
        """Formula (time since the knot, values of the piece) -> pose, twist and its rate."""

    @property
    def program(self) -> Program:
        """Program of one piece: (time since its knot, *values of the piece) -> (pose, twist, its rate)."""
        return self.formula.program

    def pose_motion(self, t: NDArray[np.float64]) -> PoseMotion:
        """Pose (..., 4, 4), twist and its rate (..., 6) at times (...)."""
        inside = np.clip(t, self.knots[..., 0], self.knots[..., -1])
        piece = piece_at(self.knots, inside)
        since = inside - of_piece(self.knots, piece, self.knots.shape[:-1])
        motion = PoseMotion(*self.formula(since, *(of_piece(part, piece, self.batch) for part in self.pieces)))
        resting = (t < self.knots[..., 0]) | (t > self.knots[..., -1])
        if np.any(resting):
            resting = np.broadcast_to(resting, motion.twist.shape[:-1])
            motion.twist[resting] = motion.acceleration[resting] = 0.0
        return motion

    def __repr__(self) -> str:
        batch = f"batch {self.batch} of " if self.batch else ""
        pieces = self.knots.shape[-1] - 1
        times = f"from {np.min(self.start_time):g} to {np.max(self.end_time):g} s"
        return f"<{batch}{type(self).__name__} of {pieces} piece{'s' * (pieces > 1)} {times}>"


class PiecewisePose(PosePieces):
    """Frame motion whose rotation vector and position are polynomials of time between knots.

    In piece i, with u = t - knots[i] and x(u) the sum of ``coefficients[..., i, j, :] u**j``, its rotation is
    ``rotations[..., i, :, :] @ exp_rotation(x[:3])`` and its origin x[3:]. A line with constant angular velocity is of
    order 1, a cubic spline of order 3.

    Parameters
    ----------
    knots
        Times, not decreasing, shape (k + 1,), s; or (*batch, k + 1) if each trajectory has its own times.
    rotations
        Reference rotation of each piece, shape (*batch, k, 3, 3).
    coefficients
        Shape (*batch, k, order + 1, 6): rotation vector, rad, and origin, m.

    Raises
    ------
    ArgumentError
        If shapes do not fit, knots decrease, a matrix is not a rotation, or a value is not finite.

    Examples
    --------
    >>> turning = np.zeros((1, 2, 6))
    >>> turning[0, 1] = [0.0, 0.0, 0.5, 0.1, 0.0, 0.0]  # per second
    >>> motion = PiecewisePose([0.0, 2.0], [np.eye(3)], turning)(1.0)
    >>> motion.twist
    array([0. , 0. , 0.5, 0.1, 0. , 0. ])
    >>> motion.pose[:2, 3]
    array([0.1, 0. ])
    """

    def __init__(self, knots: ArrayLike, rotations: ArrayLike, coefficients: ArrayLike) -> None:
        self.knots = reals(knots, "knots", (..., "k + 1"))
        self.rotations = reals(rotations, "rotations")
        self.coefficients = reals(coefficients, "coefficients")
        if self.knots.shape[-1] < 2 or not (np.diff(self.knots) >= 0.0).all():
            raise ArgumentError("knots must be two or more times that do not decrease, shape (..., k + 1)")
        count = self.knots.shape[-1] - 1
        if (
            self.coefficients.ndim < 3
            or self.coefficients.shape[-3::2] != (count, 6)
            or not self.coefficients.shape[-2]
        ):
            wanted = f"(..., {count}, order + 1, 6)"
            raise ArgumentError(f"coefficients must have shape {wanted}, not {self.coefficients.shape}")
        self.batch = self.coefficients.shape[:-3]
        for name, array, shape in (
            ("rotations", self.rotations, (*self.batch, count, 3, 3)),
            ("knots", self.knots, (*self.batch, count + 1) if self.knots.ndim > 1 else (count + 1,)),
            ("coefficients", self.coefficients, self.coefficients.shape),
        ):
            if array.shape != shape:
                raise ArgumentError(f"{name} must have shape {shape}, not {array.shape}")
            array.flags.writeable = False
        ROTATION.check(self.rotations, "rotations")
        self.pieces = (self.rotations, self.coefficients)

    @property
    def formula(self) -> Function:
        """Formula (time since the knot, reference rotation, coefficients) -> pose, twist and its rate."""
        return polynomial_pose(self.coefficients.shape[-2])


def polynomial(u: Any, coefficients: Array) -> tuple[Array, Array, Array]:
    """Sum of coefficients[j] u**j and its first two derivatives; a plain formula.

    >>> polynomial(2.0, np.array([[1.0], [3.0], [0.5]]))  # 1 + 3 u + u²/2
    (array([9.]), array([5.]), array([1.]))
    """
    rows, results = list(coefficients), []
    for _ in range(3):
        value: Any = np.zeros(coefficients.shape[-1])
        for row in reversed(rows):
            value = value * u + row
        results.append(value)
        rows = [power * row for power, row in enumerate(rows)][1:]
    return results[0], results[1], results[2]


def turning(vector: Array, rate: Array, second: Array) -> tuple[Array, Array]:
    """Angular velocity and acceleration, in the turning axes, from a rotation vector's derivatives; a plain formula.

    >>> turning(np.zeros(3), np.array([0.0, 0.0, 2.0]), np.zeros(3))[0]
    array([0., 0., 2.])
    """
    J = right_jacobian_rotation(vector)
    return J @ rate, J @ second + right_jacobian_rotation_rate(vector, rate) @ rate


@cache
def polynomial_pose(order: int) -> Function:
    """Formula (time since the knot, reference rotation, coefficients) -> pose, twist and its rate."""

    def evaluate(u: Array, R_reference: Array, coefficients: Array) -> tuple[Array, ...]:
        x, rate, second = polynomial(u, coefficients)
        R = R_reference @ exp_rotation(x[:3])
        omega, alpha = turning(x[:3], rate[:3], second[:3])
        twist, acceleration = np.concatenate([R @ omega, rate[3:]]), np.concatenate([R @ alpha, second[3:]])
        return elementary.pose(R, x[3:]), twist, acceleration

    inputs = {"u": (), "R_reference": (3, 3), "coefficients": (order, 6)}
    return Function(trace(evaluate, inputs, name="polynomial_pose", outputs=PoseMotion._fields))
