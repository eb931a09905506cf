"""One step of differential inverse kinematics: tasks and limits as a quadratic program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import real, reals
from chasles.errors import ArgumentError, import_extra
from chasles.inverse_kinematics.differential.limits import (
    Bounds,
    ConfigurationLimit,
    Limit,
    VelocityLimit,
    common_bounds,
)
from chasles.inverse_kinematics.differential.tasks import Task
from chasles.inverse_kinematics.ranges import position_limits
from chasles.mechanics import Mechanics, require_plain_coordinates

Vector = NDArray[np.float64]
#: DAQP's exit flag, and its marks of bounds.
_SOLVED = 1
_BETWEEN, _EQUAL = 0, 5


@dataclass(frozen=True, eq=False)
class JointRates:
    """Rates for a step.

    Attributes
    ----------
    qd
        Joint rates, (n,), rad/s (m/s for prismatic joints).
    success
        Whether all limits are kept and the program was solved.
    message
        In words.
    active
        Joints whose rate stands at a bound, (n,).
    contradicted
        Joints at which limits contradict each other in this step, (n,). Their rate keeps the limits of higher
        priority: acceleration before velocity before position.
    """

    qd: Vector
    success: bool
    message: str
    active: NDArray[np.bool_]
    contradicted: NDArray[np.bool_]


def solve_rates(
    robot: Mechanics,
    q: ArrayLike,
    tasks: Sequence[Task],
    dt: float,
    *,
    qd: ArrayLike | None = None,
    limits: Sequence[Limit] = (ConfigurationLimit(), VelocityLimit()),
) -> JointRates:
    """Joint rates that do the tasks as well as their costs demand, within the limits.

    They minimise the sum of ``weight (J q̇ - b)²`` over all rows of all tasks, subject to bounds on q̇, by the DAQP
    solver. Follow them for dt and call again.

    A joint outside its position limits returns to them as fast as the limits of velocity and acceleration permit, while
    the other joints do the tasks as well as they can.

    Parameters
    ----------
    robot
        Robot whose joints move.
    q
        Joint positions, shape (n,).
    tasks
        At least one.
    dt
        Length of the step, s.
    qd
        Rates of the step before, shape (n,), for limits on accelerations; default at rest.
    limits
        What bounds the rates; default the robot's own limits of position and velocity.

    Returns
    -------
    JointRates
        With ``success`` false where limits contradict each other, for example because a joint is too far outside its
        position limits to return in one step; the message names these joints. The rates are to be followed even so.

    Raises
    ------
    MissingExtraError
        If DAQP is not installed.
    ArgumentError
        If shapes do not fit, numbers are not finite, or there is no task.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.inverse_kinematics import DampingTask, FrameTask, solve_rates
    >>> arm = ch.load("panda")
    >>> q = np.array(arm.home)
    >>> goal = arm.forward_kinematics(q + 0.05)
    >>> for _ in range(200):
    ...     q = q + 0.01 * solve_rates(arm, q, [FrameTask(goal), DampingTask(1e-4)], dt=0.01).qd
    >>> np.abs(arm.forward_kinematics(q) - goal).max() < 1e-4
    np.True_
    """
    daqp = import_extra("daqp", "qp", "differential inverse kinematics with limits")
    require_plain_coordinates(robot, "solve_rates")
    position = reals(q, "q", (robot.n,))
    rates = np.zeros(robot.n) if qd is None else reals(qd, "qd", (robot.n,))
    dt = real(dt, "dt", above=0)
    if not tasks:
        raise ArgumentError("there is no task; to stand still is one: DampingTask()")
    H, f = np.zeros((robot.n, robot.n)), np.zeros(robot.n)
    for task in tasks:
        J, b, weight = task.equation(robot, position)
        if not np.isfinite([b, weight]).all():
            raise ArgumentError(f"the equation of {type(task).__name__} is not finite; look at its cost and gain")
        H += J.T @ (weight[:, None] * J)
        f -= J.T @ (weight * b)
    scale = max(H.diagonal().max(), np.finfo(float).tiny)
    # A trace of damping makes the program strictly convex where tasks leave joints free.
    H, f = H / scale + 1e-12 * np.eye(robot.n), f / scale
    bounds = common_bounds(limits, robot, position, rates, dt)
    lower, upper = bounds.lower, bounds.upper
    sense = np.where(lower == upper, _EQUAL, _BETWEEN).astype(np.intc)
    found, _, flag, _ = daqp.solve(np.ascontiguousarray(H), f, np.zeros((0, robot.n)), upper, lower, sense)
    solved = flag == _SOLVED
    solution = np.clip(found if solved else np.zeros(robot.n), lower, upper)
    messages = [] if solved else [f"DAQP gave up (exit flag {flag}): the rates are the smallest within the limits"]
    messages += _contradictions(robot, position, bounds)
    return JointRates(
        solution,
        not messages,
        "; ".join(messages) or "solved",
        (solution <= lower) | (solution >= upper),
        bounds.contradicted,
    )


def _contradictions(robot: Mechanics, q: Vector, bounds: Bounds) -> list[str]:
    """Sentences about the joints at which limits contradict each other."""
    lower, upper = position_limits(robot)
    beyond = np.maximum(lower - q, q - upper)
    sentences = []
    for joint in np.flatnonzero(bounds.contradicted):
        name, unit = robot.coordinate_names[joint], robot.coordinate_units[joint]
        if beyond[joint] > 0.0:
            side = "upper" if q[joint] > upper[joint] else "lower"
            sentences.append(
                f"{name} is {beyond[joint]:.3g} {unit} beyond its {side} position limit and returns as fast as the "
                "other limits permit"
            )
        else:
            sentences.append(f"the limits contradict each other at {name}: it keeps those of higher priority")
    return sentences
