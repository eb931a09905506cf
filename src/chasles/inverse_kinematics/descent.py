"""Downhill from the closest configuration of a search that failed, to a minimum of the error.

Damping in proportion to the error, as in `iteration`, does not settle where an error remains. Here damping grows when a
step did not help and shrinks when it did (Marquardt, An algorithm for least-squares estimation of nonlinear parameters,
1963).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import Function, maximum, minimum, trace, where
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.damped_step import damped_step, free_joints
from chasles.inverse_kinematics.task import Kinematics, Task

STEPS = 100
_FIRST_DAMPING = 1e-2
_GROWTH, _SHRINKAGE = 4.0, 0.3
#: A minimum is reached when steps become shorter than this, rad.
_SHORT = 1e-8


def descent(kinematics: Kinematics, task: Task, n: int, length: float) -> Function:
    """Solve kernel: (q and damping (n + 1,), T_world_goal, lower, upper) -> (q and damping, done)."""

    def step(state: Array, goal: Array, lower: Array, upper: Array) -> tuple[Array, Any]:
        q, damping = state[:n], state[n]
        error = task.error(goal, kinematics(q), length)
        J = error.jacobian * free_joints(q, lower, upper, error.jacobian.T @ error.twist)
        trial = minimum(maximum(q + damped_step(J, error.twist, damping), lower), upper)
        new_error = task.error(goal, kinematics(trial), length)
        better = new_error.twist @ new_error.twist < error.twist @ error.twist
        moved = trial - q
        done = moved @ moved < _SHORT**2
        following = where(better, trial, q)
        return np.append(following, damping * where(better, _SHRINKAGE, _GROWTH)), where(done, 1.0, 0.0)

    inputs = {"state": (n + 1,), "T_world_goal": (4, 4), "lower": (n,), "upper": (n,)}
    return Function(trace(step, inputs, name="closest_configuration", outputs=["state_next", "done"]), shape="solve")


def start_of_descent(q: Array) -> Array:
    """State before the first step, from configurations (..., n)."""
    return np.concatenate([q, np.full((*q.shape[:-1], 1), _FIRST_DAMPING)], axis=-1)
