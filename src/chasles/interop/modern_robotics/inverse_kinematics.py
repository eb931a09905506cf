"""Numerical inverse kinematics (chapter 6 of the book): the Newton-Raphson iteration of section 6.2.2.

The iteration is a program that repeats until it is done; lanes of the solve kernel work on different goals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine import Function, sqrt, where
from chasles.engine.linear.minimum_norm import minimum_norm
from chasles.engine.program.scalar import Real, Verdict
from chasles.geometry import relative_pose, transform_twist
from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.checked import book_program, lead_of, numbers
from chasles.interop.modern_robotics.projections import TEST_TOLERANCE, DistanceToSE3
from chasles.interop.modern_robotics.rigid_body_motions import book_twist
from chasles.interop.modern_robotics.screw_chains import (
    body_jacobian,
    body_pose,
    joint_count,
    space_jacobian,
    space_pose,
)

#: (screw axes, M, T, joint variables) -> (twist that would take the end-effector to T, Jacobian for such twists)
Linearization = Callable[[Array, Array, Array, Array], tuple[Array, Array]]


@lru_cache(maxsize=64)
def space_iteration(n: int) -> Function:
    """The iteration for n axes in the space frame; see `_iteration`."""
    return _iteration(n, "IKinSpace", "Slist", _in_space)


@lru_cache(maxsize=64)
def body_iteration(n: int) -> Function:
    """The iteration for n axes in the end-effector frame; see `_iteration`."""
    return _iteration(n, "IKinBody", "Blist", _in_body)


def _in_space(Slist: Array, M: Array, T: Array, thetalist: Array) -> tuple[Array, Array]:
    T_now = space_pose(M, Slist, thetalist)
    twist: Array = transform_twist(T_now, book_twist(relative_pose(T_now, T)))
    return twist, space_jacobian(Slist, thetalist)


def _in_body(Blist: Array, M: Array, T: Array, thetalist: Array) -> tuple[Array, Array]:
    T_now = body_pose(M, Blist, thetalist)
    return book_twist(relative_pose(T_now, T)), body_jacobian(Blist, thetalist)


def _iteration(n: int, name: str, axes_name: str, linearized: Linearization) -> Function:
    """Solve kernel: (state, axes, M, T, eomg, ev, evaluations) -> (state, evaluations made, done).

    The state holds the joint variables to look at and those that were looked at last, so that whatever ends the
    iteration, the second half is what the verdict ``done`` is about.
    """

    def step(state: Array, axes: Array, M: Array, T: Array, eomg: Real, ev: Real) -> tuple[Array, Any]:
        theta = state[:n]
        twist, jacobian = linearized(axes, M, T, theta)
        # A comparison with NaN fails, so a NaN is never taken for a solution.
        reached = (_length(twist[:3]) <= eomg) & (_length(twist[3:]) <= ev) & (DistanceToSE3(T) < TEST_TOLERANCE)
        following = where(reached, theta, theta + minimum_norm(jacobian, twist))
        return np.concatenate([following, theta]), where(reached, 1.0, 0.0)

    inputs = {"state": (2 * n,), axes_name: (6, n), "M": (4, 4), "T": (4, 4), "eomg": (), "ev": ()}
    return book_program(name, step, inputs, ["state_next", "done"], shape="solve")


def _length(vector: Array) -> Real:
    return sqrt(vector @ vector)


#: Steps after which the book gives up.
MAX_ITERATIONS = 20


def IKinBody(
    Blist: ArrayLike,
    M: ArrayLike,
    T: ArrayLike,
    thetalist0: ArrayLike,
    eomg: ArrayLike,
    ev: ArrayLike,
    *,
    maxiterations: int = MAX_ITERATIONS,
) -> tuple[Array, Verdict]:
    """Joint variables for a pose of the end-effector frame, from screw axes in that frame.

    Newton-Raphson steps with the pseudo-inverse of the body Jacobian, without joint limits: the original's iteration
    and stopping rule. For one that does not get stuck see `Robot.inverse_kinematics`.

    Parameters
    ----------
    Blist
        Screw axes of the joints in the end-effector frame at the home position, one a column, shape (..., 6, n).
    M
        Pose of the end-effector frame at the home position, shape (..., 4, 4).
    T
        Pose that is wanted, shape (..., 4, 4).
    thetalist0
        First guess, rad (m for prismatic joints), shape (..., n).
    eomg, ev
        Tolerances, rad and m, shape (...): lengths of the angular and linear part of the twist, in the end-effector
        frame, that would take the end-effector to T in a unit of time.
    maxiterations
        Most steps; fixed at 20 in the published package.

    Returns
    -------
    thetalist
        Shape (..., n), floats; what the iteration ended with if it did not succeed.
    success
        Whether thetalist satisfies both tolerances: a bool, or an array of shape (...). Never for a T that
        `TestIfSE3` refuses or that holds NaN.

    Raises
    ------
    ArgumentError
        For wrong shapes, or fewer joint variables than axes.

    Notes
    -----
    The published package reports success at once for a T with NaN, for some that are not poses, and for two in five at
    an angle of pi from the first guess, because its logarithm is wrong. It returns integers in thetalist0 as integers
    if no step is needed. Here singular values of the Jacobian count as zero below about 1e-12 of the largest; in the
    published package below 1e-15, so that close to a singularity its steps are of 1e12 rad and more, and meaningless.

    Examples
    --------
    >>> Blist = np.array([[0, 0, -1, 2, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0.1]]).T
    >>> M = [[-1, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]]
    >>> T = [[0, 1, 0, -5], [1, 0, 0, 4], [0, 0, -1, 1.6858], [0, 0, 0, 1]]
    >>> IKinBody(Blist, M, T, [1.5, 2.5, 3], 0.01, 0.001)
    (array([1.57073819, 2.999667 , 3.14153913]), True)
    """
    n = joint_count(Blist, "IKinBody", "Blist")
    return _solved("IKinBody", body_iteration(n), n, thetalist0, (Blist, M, T, eomg, ev), maxiterations)


def IKinSpace(
    Slist: ArrayLike,
    M: ArrayLike,
    T: ArrayLike,
    thetalist0: ArrayLike,
    eomg: ArrayLike,
    ev: ArrayLike,
    *,
    maxiterations: int = MAX_ITERATIONS,
) -> tuple[Array, Verdict]:
    """Joint variables for a pose of the end-effector frame, from screw axes in the space frame.

    Parameters
    ----------
    Slist
        Screw axes of the joints in the space frame at the home position, one a column, shape (..., 6, n).
    M, T, thetalist0, maxiterations
        See `IKinBody`.
    eomg, ev
        Tolerances, rad and m, shape (...), of the twist in the *space* frame, as in the published package. Its linear
        part is the velocity of the point that passes the origin: the end-effector may be as far as eomg times its
        distance from the origin plus ev away from T.

    Returns
    -------
    thetalist, success
        See `IKinBody`.

    Raises
    ------
    ArgumentError
        See `IKinBody`.

    Notes
    -----
    The defects of the published package that `IKinBody` names are mended here, too.

    Examples
    --------
    >>> Slist = np.array([[0, 0, 1, 4, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, -1, -6, 0, -0.1]]).T
    >>> M = [[-1, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1]]
    >>> T = [[0, 1, 0, -5], [1, 0, 0, 4], [0, 0, -1, 1.6858], [0, 0, 0, 1]]
    >>> IKinSpace(Slist, M, T, [1.5, 2.5, 3], 0.01, 0.001)
    (array([1.57073783, 2.99966384, 3.1415342 ]), True)
    """
    n = joint_count(Slist, "IKinSpace", "Slist")
    return _solved("IKinSpace", space_iteration(n), n, thetalist0, (Slist, M, T, eomg, ev), maxiterations)


def _solved(
    function: str, iteration: Function, n: int, thetalist0: ArrayLike, arguments: tuple[Any, ...], limit: int
) -> tuple[Array, Any]:
    if limit < 0:
        raise ArgumentError(f"{function}: maxiterations must not be negative, but is {limit!r}")
    guess = numbers(thetalist0, function, "thetalist0")
    lead_of(guess, (n,), function, "thetalist0")
    # Every step looks before it leaps: one look more than steps.
    state, _, converged = iteration(np.concatenate([guess, guess], axis=-1), *arguments, limit + 1.0)
    success = converged > 0.0
    return state[..., n:], success if success.ndim else bool(success)
