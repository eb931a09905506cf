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

from chasles.engine import Function, Layout, absolute, maximum, minimum, sqrt, trace, where
from chasles.engine.linear_solve import factor, solve
from chasles.geometry.elementary import Array, cross, pose, rotation_of, skew, translation_of
from chasles.parallel.kinematics import Geometry, jacobian, leg_lengths

#: Damping: this times the squared relative error, plus the least damping that keeps singular poses solvable.
DAMPING = 0.05
LEAST_DAMPING = 1e-12
#: Longest step, in radians or in sizes of the platform.
LONGEST_STEP = 0.5
_TINY = 1e-300


class SearchState(NamedTuple):
    """State of the search: pose (4, 4), and the largest error of a leg length at it."""

    T: Any
    error: Any


LAYOUT = Layout(SearchState((4, 4), ()))


@cache
def kernel() -> Function:
    """Return the solve kernel: (state, leg lengths, base, platform, size, tolerance) -> (state, done)."""

    def step(packed: Any, lengths: Array, base: Array, platform: Array, size: Any, tolerance: Any) -> tuple[Array, Any]:
        T = LAYOUT.split(packed).T
        R, p = orthonormal(rotation_of(T)), translation_of(T)
        geometry = Geometry(base, platform)
        error = lengths - leg_lengths(geometry, pose(R, p))
        largest = absolute(error[0])
        for value in error[1:]:
            largest = maximum(largest, absolute(value))
        done = largest <= tolerance
        J = jacobian(geometry, pose(R, p)) / np.array([size, size, size, 1.0, 1.0, 1.0])
        damping = DAMPING * (error @ error) / (size * size) + LEAST_DAMPING
        move = solve(factor(J.T @ J + damping * np.eye(6)), J.T @ error) / size
        move = move * minimum(1.0, LONGEST_STEP / sqrt(move @ move + _TINY))
        R_next = where(done, R, rotation_by(move[:3]) @ R)
        p_next = where(done, p, p + size * move[3:])
        return LAYOUT.join(SearchState(pose(R_next, p_next), largest)), where(done, 1.0, 0.0)

    inputs = {
        "state": (LAYOUT.size,), "lengths": (6,), "base": (6, 3), "platform": (6, 3), "size": (), "tolerance": (),
    }  # fmt: skip
    return Function(trace(step, inputs, name="nearest_pose", outputs=["state_next", "done"]), shape="solve")


def orthonormal(R: Array) -> Array:
    """Rotation (3, 3) near a matrix that almost is one, column after column (Gram and Schmidt)."""
    x = R[:, 0] / sqrt(R[:, 0] @ R[:, 0])
    y = R[:, 1] - (x @ R[:, 1]) * x
    y = y / sqrt(y @ y)
    return np.array([x, y, cross(x, y)]).T


def rotation_by(w: Array) -> Array:
    """Rotation (3, 3) about w by the angle 2 atan(|w| / 2): Cayley's map, |w| for small angles."""
    W = skew(w)
    return np.eye(3) + (W + 0.5 * (W @ W)) * (4.0 / (4.0 + w @ w))
