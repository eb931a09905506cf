"""The dynamics of a robot as seen at a frame: Khatib's operational space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.algorithms.linear_solve import factor, inverse, solve
from chasles.control.task_space import TaskMotion, TaskSpace
from chasles.geometry.elementary import Array


class TaskDynamics(NamedTuple):
    """Lambda a + mu + p = F for the acceleration a of a frame's components and the forces F on them, k of each.

    Attributes
    ----------
    Lambda
        Inertia that is felt at the frame, (..., k, k): kg, kg m, kg m².
    mu, p
        Centrifugal and Coriolis forces, and the weight, (..., k), N m and N.
    J_bar
        Dynamically consistent inverse of the Jacobian, (..., n, k): of all joint velocities that give the frame its
        own, those of the least kinetic energy.
    """

    Lambda: Array
    mu: Array
    p: Array
    J_bar: Array


def felt_inertia(task: TaskSpace, M: Array, J: Array) -> tuple[Array, Array]:
    """Lambda (k, k), damped near singular configurations, and M⁻¹ Jᵀ (n, k).

    They are those of a mass matrix (n, n) and the selected rows of the Jacobian (k, n). J M⁻¹ Jᵀ gets the damping of
    J Jᵀ in proportion to the traces of both.
    """
    responses = solve(factor(M), J.T)
    A = J @ responses
    share = np.trace(A) / (np.trace(J @ J.T) + 1e-300)
    return inverse(factor(A + task.damping(J) * share * np.eye(len(A)))), responses


def task_dynamics(task: TaskSpace, q: Any, qd: Any) -> TaskDynamics:
    """Dynamics of a task's components at one state, of numbers or traced scalars."""
    frame: TaskMotion = task.motion(q, qd)
    J = task.select(frame.J)
    Lambda, responses = felt_inertia(task, task.robot.mass_matrix(q), J)
    J_bar = responses @ Lambda
    mu = J_bar.T @ np.asarray(task.robot.coriolis_vector(q, qd)) - Lambda @ task.select(frame.drift)
    return TaskDynamics(Lambda, mu, J_bar.T @ np.asarray(task.robot.gravity_torque(q)), J_bar)
