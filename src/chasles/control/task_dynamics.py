"""The dynamics of a robot as seen at a frame: Khatib's operational space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.control.task_space import TaskMotion, TaskSpace
from chasles.engine.linear_solve import factor, inverse, solve
from chasles.geometry.elementary import Array


class TaskDynamics(NamedTuple):
    """Lambda a + mu + p = F for the acceleration a of a frame's components and the forces F on them, k of each.

    Attributes
    ----------
    Lambda
        Inertia that is felt at the frame, (..., k, k): kg, kg m, kg·m².
    mu, p
        Centrifugal and Coriolis forces, and the weight, (..., k), N·m and N.
    J_bar
        Dynamically consistent inverse of the Jacobian, (..., n, k): of all joint velocities that give the frame its
        own, those of the least kinetic energy.
    """

    Lambda: Array
    mu: Array
    p: Array
    J_bar: Array


def felt_inertia(M: Array, J: Array, damping: Any) -> tuple[Array, Array]:
    """Lambda (k, k) and M⁻¹ Jᵀ (n, k) of a mass matrix (n, n) and the selected rows of the Jacobian (k, n).

    Damping of J Jᵀ goes to J M⁻¹ Jᵀ in proportion to the traces of both. Lambda is symmetric, and M - Jᵀ Lambda J is
    positive semidefinite: a damper.
    """
    responses = solve(factor(M), J.T)
    mobility = J @ responses
    share = np.trace(mobility) / (np.trace(J @ J.T) + 1e-300)
    return inverse(factor(mobility + damping * share * np.eye(len(J)))), responses


def force_for(task: TaskSpace, M: Array, J: Array, acceleration: Array) -> Array:
    """Force (k,) on the selected components that accelerates them so, as far as they can be near singularities.

    What `TaskSpace.inverted` would achieve of the acceleration is given with the least energy. Of the damping Lambda
    gets a trace, that it exists in singular configurations too.
    """
    Lambda, _ = felt_inertia(M, J, 1e-8 * task.damping(J))
    return np.asarray(Lambda @ task.achievable(J, acceleration))


def task_dynamics(task: TaskSpace, q: Any, qd: Any) -> TaskDynamics:
    """Dynamics of a task's components at one state, of numbers or traced scalars."""
    frame: TaskMotion = task.motion(q, qd)
    J = task.select(frame.J)
    Lambda, responses = felt_inertia(task.robot.mass_matrix(q), J, task.damping(J))
    J_bar = responses @ Lambda
    mu = J_bar.T @ np.asarray(task.robot.coriolis_vector(q, qd)) - Lambda @ task.select(frame.drift)
    return TaskDynamics(Lambda, mu, J_bar.T @ np.asarray(task.robot.gravity_torque(q)), J_bar)
