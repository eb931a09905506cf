"""The book's Newton-Raphson iteration for inverse kinematics, as a program that repeats until it is done.

Source: Lynch and Park, Modern Robotics, section 6.2.2. Lanes of the solve kernel work on different goals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from chasles.engine import Function, sqrt, where
from chasles.geometry import relative_pose, transform_twist
from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.checked import book_program
from chasles.interop.modern_robotics.projections import TEST_TOLERANCE, DistanceToSE3
from chasles.interop.modern_robotics.pseudo_inverse import minimum_norm_solution
from chasles.interop.modern_robotics.rigid_body_motions import book_twist
from chasles.interop.modern_robotics.screw_chains import body_jacobian, body_pose, space_jacobian, space_pose

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

    def step(state: Array, axes: Array, M: Array, T: Array, eomg: Any, ev: Any) -> tuple[Array, Any]:
        theta = state[:n]
        twist, jacobian = linearized(axes, M, T, theta)
        # A comparison with NaN fails, so a NaN is never taken for a solution.
        reached = (_length(twist[:3]) <= eomg) & (_length(twist[3:]) <= ev) & (DistanceToSE3(T) < TEST_TOLERANCE)
        following = where(reached, theta, theta + minimum_norm_solution(jacobian, twist))
        return np.concatenate([following, theta]), where(reached, 1.0, 0.0)

    inputs = {"state": (2 * n,), axes_name: (6, n), "M": (4, 4), "T": (4, 4), "eomg": (), "ev": ()}
    return book_program(name, step, inputs, ["state_next", "done"], shape="solve")


def _length(vector: Array) -> Any:
    return sqrt(vector @ vector)
