"""Kinematics of chains of n joints from their screw axes, which are arguments like the joint variables.

So one program serves all robots with n joints, and batches of robots. It is the product of exponentials in the order
of the book's formulas (Lynch and Park, Modern Robotics, sections 4.1 and 5.1).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function
from chasles.geometry import compose_poses, exp_pose, transform_twist
from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.checked import book_program, numbers


def space_pose(M: Array, Slist: Array, thetalist: Array) -> Array:
    """Pose (4, 4) of the end-effector frame: e^[S1 θ1] ... e^[Sn θn] M."""
    T = M
    for S, theta in zip(Slist.T[::-1], thetalist[::-1], strict=True):
        T = compose_poses(exp_pose(S * theta), T)
    return T


def body_pose(M: Array, Blist: Array, thetalist: Array) -> Array:
    """Pose (4, 4) of the end-effector frame: M e^[B1 θ1] ... e^[Bn θn]."""
    T = M
    for B, theta in zip(Blist.T, thetalist, strict=True):
        T = compose_poses(T, exp_pose(B * theta))
    return T


def space_jacobian(Slist: Array, thetalist: Array) -> Array:
    """Space Jacobian (6, n): each axis where the joints before it have carried it."""
    T: Array = np.eye(4)
    columns = []
    for S, theta in zip(Slist.T, thetalist, strict=True):
        columns.append(transform_twist(T, S))
        T = compose_poses(T, exp_pose(S * theta))
    return np.array(columns).T


def body_jacobian(Blist: Array, thetalist: Array) -> Array:
    """Body Jacobian (6, n): each axis as seen from where the joints after it have carried the end-effector."""
    T: Array = np.eye(4)
    columns: list[Array] = []
    for B, theta in zip(Blist.T[::-1], thetalist[::-1], strict=True):
        columns.insert(0, transform_twist(T, B))
        T = compose_poses(T, exp_pose(B * -theta))
    return np.array(columns).T


class ScrewChains:
    """The compiled functions of all chains of n joints."""

    def __init__(self, n: int) -> None:
        self.n = n

    @cached_property
    def space_pose(self) -> Function:
        """(M, Slist, thetalist) -> T."""
        return self._program("FKinSpace", space_pose, {"M": (4, 4), "Slist": (6, self.n)})

    @cached_property
    def body_pose(self) -> Function:
        """(M, Blist, thetalist) -> T."""
        return self._program("FKinBody", body_pose, {"M": (4, 4), "Blist": (6, self.n)})

    @cached_property
    def space_jacobian(self) -> Function:
        """(Slist, thetalist) -> Js."""
        return self._program("JacobianSpace", space_jacobian, {"Slist": (6, self.n)})

    @cached_property
    def body_jacobian(self) -> Function:
        """(Blist, thetalist) -> Jb."""
        return self._program("JacobianBody", body_jacobian, {"Blist": (6, self.n)})

    def _program(self, name: str, formula: Callable[..., Any], inputs: dict[str, tuple[int, ...]]) -> Function:
        return book_program(name, formula, inputs | {"thetalist": (self.n,)})


@lru_cache(maxsize=64)
def screw_chains(n: int) -> ScrewChains:
    """The functions for n joints, made when they are first needed."""
    return ScrewChains(n)


def joint_count(axes: ArrayLike, function: str, name: str) -> int:
    """Number of screw axes, the columns of a matrix (..., 6, n)."""
    shape = axes.shape if isinstance(axes, np.ndarray) else numbers(axes, function, name).shape
    if len(shape) < 2 or shape[-2] != 6 or shape[-1] == 0:
        raise ArgumentError(f"{function}: {name} has shape {shape}; expected (..., 6, n) with one screw axis a column")
    return int(shape[-1])
