"""A sampled loop over a whole motion as one linear map from added torques to positions, by sweeps over time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.controller import Controller
from chasles.control.linear_law import Velocity, closed_loops
from chasles.control.linear_loop import loop_along
from chasles.control.linear_model import transposed
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]


class LiftedLoop(NamedTuple):
    """x[k+1] = A[k] x[k] + B[k] v[k] from x[0] = 0, and its map P from torques v to the positions of x[1] … x[N].

    The state x holds δq (n,) first, then δq̇, the law's memory, and torques that are still to act.

    Attributes
    ----------
    A, B
        Shapes (N, m, m) and (N, m, n).
    """

    A: Floats
    B: Floats

    def positions(self, v: Floats) -> Floats:
        """Return P v, (N, n), of torques v (N, n)."""
        return accumulated(self.A, times_each(self.B, v))[:, : v.shape[-1]]

    def adjoint(self, e: Floats) -> Floats:
        """Return Pᵀ e, (N, n), of positions e (N, n)."""
        driving = np.zeros(self.A.shape[:2])
        driving[:, : e.shape[-1]] = e
        transitions = transposed(self.A[1:])[::-1]
        costates = accumulated(np.concatenate([transitions[:1] * 0.0, transitions]), driving[::-1])[::-1]
        return times_each(transposed(self.B), costates)


def lifted_loop(
    robot: Robot,
    controller: Controller,
    times: Floats,
    planned: Motion,
    *,
    period: float,
    delay: float,
    velocity: Velocity,
) -> LiftedLoop:
    """Linearise a law and a plant along a motion, and close their loop, with an input where the torques act."""
    loop = loop_along(robot, controller, times, planned, period, delay, velocity=velocity)
    A, B_late = closed_loops(*loop), loop.B_late
    states, n = B_late[0].shape[-2:]
    B = np.zeros((*A.shape[:2], n))
    B[:, :states] = B_late[0]
    if late := len(B_late) - 1:
        first = A.shape[-1] - late * n
        B[:, first : first + n] = np.eye(n)
        B[0, :states] = sum(part[0] for part in B_late)  # before the first torque has arrived, it is in force
        B[0, first:] = np.tile(np.eye(n), (late, 1))
    return LiftedLoop(A[:-1], B[:-1])


def accumulated(A: Floats, b: Floats) -> Floats:
    """Return x[1] … x[N] of x[k+1] = A[k] x[k] + b[k] from x[0] = 0.

    >>> accumulated(np.full((3, 1, 1), 2.0), np.ones((3, 1))).ravel()
    array([1., 3., 7.])
    """
    x = np.zeros(b.shape[-1])
    states = np.empty_like(b)
    for k in range(len(b)):
        x = states[k] = A[k] @ x + b[k]
    return states


def times_each(M: Floats, v: Floats) -> Floats:
    """Return the products M[k] v[k] of matrices (N, m, n) and vectors (N, n)."""
    return np.asarray((M @ v[..., None])[..., 0])
