"""Pose of a Stewart-Gough platform with given leg lengths, by damped Newton steps from a guess.

The steps are those of Levenberg and Marquardt with damping in proportion to the squared error: careful far from a
solution, Newton's near it. Angles are weighed by the platform's size. The iteration runs as a *solve* kernel whose
geometry is an argument, so one kernel serves all platforms. Source of the damping: Sugihara, Solvability-unconcerned
inverse kinematics by the Levenberg-Marquardt method, IEEE Transactions on Robotics 27 (2011).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from chasles.engine import Function, Layout, absolute, maximum, sqrt, trace, where
from chasles.engine.linear.symmetric import factor, solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross, pose, rotation_of, skew, translation_of
from chasles.machines.parallel.kinematics import JointCenters, leg_vectors

#: Damping: this times the squared relative error, plus the least damping that keeps singular poses solvable.
DAMPING = 0.05
LEAST_DAMPING = 1e-12
#: Largest element of RᵀR - 1 at a solution; each step squares that of the guess (Newton and Schulz).
_SKEWNESS = 1e-13
#: Shorter legs than this, relative to the size, count as so long where the equations are scaled.
_SHORTEST = 1e-6


class PoseSearchState(NamedTuple):
    """State of the search: pose (4, 4), and the largest error of a leg length at it."""

    T: Any
    error: Any


LAYOUT = Layout(PoseSearchState((4, 4), ()))


@cache
def kernel() -> Function:
    """Return the solve kernel: (state, leg lengths, base, platform, size, tolerance) -> (state, done).

    The equations are (l² - d · d) / (2 l) = 0 with the leg vectors d. Where they hold, their derivatives are those of
    the lengths, and they need no roots.
    """

    def step(
        packed: Array, lengths: Array, base: Array, platform: Array, size: Real, tolerance: Real
    ) -> tuple[Array, Any]:
        T = LAYOUT.split(packed).T
        R, p = rotation_of(T), translation_of(T)
        skewness = R.T @ R - np.eye(3)
        legs = leg_vectors(JointCenters(base, platform), T)
        squares = np.array([d @ d for d in legs])
        missing = lengths * lengths - squares
        error = _largest(missing / (lengths + sqrt(squares)))
        converged = (error <= tolerance) & (_largest(skewness.ravel()) <= _SKEWNESS)
        scale = 1.0 / maximum(lengths, _SHORTEST * size)
        residual = 0.5 * scale * missing
        J = np.array(
            [np.concatenate([cross(R @ b, d) / size, d]) * s for b, d, s in zip(platform, legs, scale, strict=True)]
        )
        damping = DAMPING * (residual @ residual) / (size * size) + LEAST_DAMPING
        move = solve(factor(J.T @ J + damping * np.eye(6)), J.T @ residual)
        turned = rotation_by(move[:3] / size) @ (R - 0.5 * R @ skewness)
        R_next, p_next = where(converged, R, turned), where(converged, p, p + move[3:])
        return LAYOUT.join(PoseSearchState(pose(R_next, p_next), error)), where(converged, 1.0, 0.0)

    inputs = {
        "state": (LAYOUT.size,), "lengths": (6,), "base": (6, 3), "platform": (6, 3), "size": (), "tolerance": (),
    }  # fmt: skip
    return Function(trace(step, inputs, name="nearest_pose", outputs=["state_next", "done"]), shape="solve")


def _largest(values: Array) -> Real:
    """Largest absolute value."""
    largest = absolute(values[0])
    for value in values[1:]:
        largest = maximum(largest, absolute(value))
    return largest


def rotation_by(w: Array) -> Array:
    """Rotation (3, 3) about w by the angle 2 atan(|w| / 2): Cayley's map, |w| for small angles."""
    W = skew(w)
    return np.eye(3) + (W + 0.5 * (W @ W)) * (4.0 / (4.0 + w @ w))
