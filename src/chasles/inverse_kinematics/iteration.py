"""The iteration for one target as a program: damped steps within limits, and a fresh start where they get stuck.

It runs as a *solve* kernel: lanes work on different targets, and a lane whose target is solved takes the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from chasles.engine import Function, floor, maximum, minimum, trace, where
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.damped_step import damped_step, free_joints
from chasles.inverse_kinematics.task import Kinematics, Task

#: Damping is this times the squared error, plus `LEAST_DAMPING`: far from the target steps are careful, close to it
#: they are Newton's. Found best, with the numbers below, over four arms and 20,000 random ones.
DAMPING = 0.05
LEAST_DAMPING = 1e-9
#: A start is given up after this many steps, or when after `PATIENCE` of them one does not reduce the squared error by
#: the factor `PROGRESS`.
LONGEST_START = 25
PATIENCE = 5
PROGRESS = 0.9
#: A secondary objective is followed until its steps are shorter than `SETTLED`, or for `LONGEST_START` steps; then come
#: up to `LAST_STEPS` for the target alone. It begins to count where the squared error falls below `NEAR`.
SETTLED = 1e-4
LAST_STEPS = 15
NEAR = 1e-2
_FAR = 1e9

Objective = Callable[[Array, dict[str, Array]], Array]
"""Direction (n,) in which a secondary objective would move the joints at q, given the arguments of the call."""


class State(NamedTuple):
    """What the iteration remembers.

    Attributes
    ----------
    q
        Configuration to look at, (n,).
    closest
        Configuration with the smallest error so far, (n,).
    smallest
        Its squared error.
    before
        Squared error of the step before.
    steps
        Steps since the last start.
    restarts
        Starts after the first.
    """

    q: Any
    closest: Any
    smallest: Any
    before: Any
    steps: Any
    restarts: Any

    @classmethod
    def at(cls, q: Array) -> State:
        """State before the first step, from configurations (..., n)."""
        zero = np.zeros(q.shape[:-1])
        return cls(q, q, zero + _FAR, zero + _FAR, zero, zero)

    @classmethod
    def unpacked(cls, packed: Any, n: int) -> State:
        """State from an array (..., 2 n + 4)."""
        return cls(packed[..., :n], packed[..., n : 2 * n], *(packed[..., 2 * n + k][()] for k in range(4)))

    def packed(self) -> Array:
        """State as an array (..., 2 n + 4)."""
        scalars = np.stack([np.asarray(x) for x in self[2:]], axis=-1)
        return np.concatenate([self.q, self.closest, scalars], axis=-1)


def restart_direction(n: int) -> Array:
    """Fractions of the joints' ranges by which each start differs from the one before.

    Starts k · direction modulo 1 fill the unit cube evenly, at every number of starts (Roberts, The unreasonable
    effectiveness of quasirandom sequences, 2018: powers of the root of x^(n+1) = x + 1).
    """
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (n + 1))
    return root ** -np.arange(1.0, n + 1.0)


def iteration(
    kinematics: Kinematics,
    task: Task,
    n: int,
    length: float,
    objective: Objective | None = None,
    parameters: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
) -> Function:
    """Solve kernel for one target after another.

    Parameters
    ----------
    kinematics
        Pose and world-aligned Jacobian of the frame at q (n,) and the parameters.
    task
        What counts of the error.
    n
        Number of coordinates.
    length
        Size of the robot, m: displacements are compared with angles in this unit.
    objective
        Secondary direction, or None.
    parameters
        Names and shapes of what else the kinematics take, so that one program serves a family of robots.

    Returns
    -------
    Function
        (state, T_world_goal, tolerance (angle, distance), lower, upper, first, span, shift, posture, *parameters)
        -> (state, done).
    """
    direction = restart_direction(n)

    def step(
        packed: Any, goal: Any, tolerance: Any, lower: Any, upper: Any, first: Any, span: Any, shift: Any, posture: Any,
        *values: Any,
    ) -> tuple[Any, Any]:  # fmt: skip
        state = State.unpacked(packed, n)
        q = state.q
        error = task.error(goal, kinematics(q, *values), length)
        cost = error.twist @ error.twist
        closer = cost < state.smallest
        descent = error.jacobian.T @ error.twist
        free = free_joints(q, lower, upper, descent)
        J = error.jacobian * free
        damping = DAMPING * cost + LEAST_DAMPING
        within = (error.angle <= tolerance[0]) & (error.distance <= tolerance[1])
        worn_out = state.steps >= LONGEST_START
        idle = (state.steps >= PATIENCE) & (cost > PROGRESS * state.before)
        if objective is None:
            dq = damped_step(J, error.twist, damping)
            done, stuck = within, worn_out | idle
        else:
            share = where(worn_out, 0.0, NEAR / (NEAR + cost))
            dq = damped_step(J, error.twist, damping, share * free * objective(q, {"posture": posture}))
            done = within & (worn_out | (dq @ dq <= SETTLED**2))
            stuck = (state.steps >= LONGEST_START + LAST_STEPS) | (idle & (cost > NEAR))
        give_up = stuck & ~within
        start = (state.restarts + 1.0) * direction + shift
        fresh = first + span * (start - floor(start))
        q_next = where(give_up, fresh, minimum(maximum(q + dq, lower), upper))
        following = State(
            where(done, q, q_next),
            where(closer, q, state.closest),
            where(closer, cost, state.smallest),
            where(give_up, _FAR, cost),
            where(give_up, 0.0, state.steps + 1.0),
            where(give_up, state.restarts + 1.0, state.restarts),
        )
        return following.packed(), where(done, 1.0, 0.0)

    vector = (n,)
    inputs = {
        "state": (2 * n + 4,),
        "T_world_goal": (4, 4),
        "tolerance": (2,),
        "lower": vector,
        "upper": vector,
        "first": vector,
        "span": vector,
        "shift": vector,
        "posture": vector,
        **parameters,
    }
    program = trace(step, inputs, name="inverse_kinematics", outputs=["state_next", "done"])
    return Function(program, shape="solve")
