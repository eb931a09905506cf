"""Configurations in which several tasks are done at once: steps of differential inverse kinematics to their end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals, whole_number
from chasles.inverse_kinematics.differential.body_tasks import PostureTask
from chasles.inverse_kinematics.differential.limits import (
    CombinedLimit,
    ConfigurationLimit,
    Limit,
    VelocityLimit,
    joint_positions,
)
from chasles.inverse_kinematics.differential.step import levels_of, solve_rates
from chasles.inverse_kinematics.differential.task import FormulaTask, Task
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.mechanics import Mechanics

#: Longest step of a degree of freedom, rad or m.
_LONGEST = 0.5
#: Steps without a smaller error after which the search ends, and by how much an error must be smaller to count.
_PATIENCE, _PROGRESS = 15, 0.99
#: Share of the tolerance below which an error counts as zero and the search stops, so that success has a margin.
_DONE = 0.1
#: A joint this little beyond its limit, rad or m, stands at it.
_ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class TaskSolution:
    """A configuration for tasks, and how well it does them.

    Attributes
    ----------
    q
        Configuration, (nq,): the solution, or the closest one that was found.
    success
        Whether every task other than postures and damping, in all lists, is done within the tolerance, and all joints
        are within their limits. Where there are only postures and damping, all of them count.
    levels
        Outcome of each list of tasks, postures included: ``"done"`` within the tolerance, ``"converged"`` where further
        steps no longer lower its error without disturbing the lists above it, ``"unfinished"`` where max_iterations
        ended the search.
    errors
        Largest error of each task, rad or m, in the order of the tasks.
    iterations
        Number of steps.
    """

    q: NDArray[np.float64]
    success: bool
    levels: tuple[Literal["done", "converged", "unfinished"], ...]
    errors: tuple[float, ...]
    iterations: int


def solve_tasks(
    robot: Mechanics,
    tasks: Sequence[FormulaTask] | Sequence[Sequence[FormulaTask]],
    q0: ArrayLike | None = None,
    *,
    limits: Sequence[Limit | CombinedLimit] = (ConfigurationLimit(1.0),),
    tolerance: float = 1e-6,
    max_iterations: int = 200,
) -> TaskSolution:
    """Configuration in which several frames, the centre of mass and more are where tasks want them, at once.

    From q0, steps of `solve_rates` lead there: Gauss and Newton's method within the limits. It finds the solution
    nearest to where it starts, if there is one, and the least weighted error near there otherwise.
    With several lists it goes on while any list comes nearer to its goals and those above it stay as near as they are.

    Parameters
    ----------
    robot
        Robot whose joints move, a floating base included.
    tasks
        See `solve_rates`: tasks, or lists of tasks in order of strict priority.
    q0
        Configuration at the start, (nq,); default the robot's home.
    limits
        Limits on each step; default the position limits. A `ClearanceLimit` keeps bodies apart on the way.
    tolerance
        Largest error of a task that is done, rad and m.
    max_iterations
        Most steps.

    Raises
    ------
    MissingExtraError
        If DAQP is not installed.
    ArgumentError
        If shapes do not fit, numbers are not finite, or there is no task.

    Examples
    --------
    Both a place for the tool and one for the elbow of a seven-axis arm:

    >>> import chasles as ch
    >>> from chasles.inverse_kinematics import PositionTask
    >>> arm = ch.load("panda")
    >>> there = arm.home + 0.2
    >>> places = {name: arm.forward_kinematics(there, target=name)[:3, 3] for name in ("tool", "panda_link4")}
    >>> found = solve_tasks(arm, [PositionTask(place, name) for name, place in places.items()])
    >>> found.success, max(found.errors) < 1e-6
    (True, True)
    """
    levels: list[Any] = list(levels_of(tasks))
    all_tasks: list[Any] = [task for level in levels for task in level]
    for task in all_tasks:
        if not isinstance(task, FormulaTask):
            raise ArgumentError(f"{task!r} has no error: solve_tasks takes tasks with a formula")
    start = reals(robot.home if q0 is None else q0, "q0", (robot.nq,))
    tolerance = real(tolerance, "tolerance", above=0.0)
    most = whole_number(max_iterations, "max_iterations", 1, 1_000_000)
    counting = [task for task in all_tasks if _must_be_done(task)] or all_tasks
    judged = levels if len(levels) > 1 else [counting]
    dt = 1.0 / max([float(np.max(getattr(task, "gain", 0.0))) for task in all_tasks] + [1e-3])
    bounds = [*limits, VelocityLimit(_LONGEST / dt)]

    def step(q: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(robot.integrate(q, dt * solve_rates(robot, q, tasks, dt, limits=bounds).qd))

    def errors(q: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([max(_error(robot, task, q) for task in level) for level in judged])

    best, iterations, is_stuck = _searched(start, step, errors, tolerance, most)
    position, allowed = joint_positions(robot, best), joint_limits(robot)
    is_inside = bool(((position >= allowed.lower - _ROUNDING) & (position <= allowed.upper + _ROUNDING)).all())

    def is_done(level: Sequence[FormulaTask]) -> bool:
        return is_inside and all(_error(robot, task, best) <= tolerance for task in level)

    missed: Literal["converged", "unfinished"] = "converged" if is_stuck else "unfinished"
    return TaskSolution(
        q=best,
        success=is_done(counting),
        levels=tuple("done" if is_done(level) else missed for level in levels),
        errors=tuple(_error(robot, task, best) for task in all_tasks),
        iterations=iterations,
    )


def _searched(
    q: NDArray[np.float64],
    step: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    errors: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    tolerance: float,
    most: int,
) -> tuple[NDArray[np.float64], int, bool]:
    """Best configuration, number of steps, and whether they ended because none of the last ones improved it."""
    error, best, idle = errors(q), q, 0
    smallest = np.full_like(error, np.inf)
    for iteration in range(most + 1):
        idle += 1
        improved = _improved_level(error, smallest, tolerance)
        if improved is not None:
            best, idle, smallest[improved:] = q, 0, error[improved:]
        if (error <= _DONE * tolerance).all() or idle > _PATIENCE or iteration == most:
            break
        q = step(q)
        error = errors(q)
    return best, iteration, idle > _PATIENCE


def _improved_level(error: NDArray[np.float64], smallest: NDArray[np.float64], tolerance: float) -> int | None:
    """First level whose error is smaller than before, (levels,); None where one above it is larger than before."""
    for level, (now, before) in enumerate(zip(error, smallest, strict=True)):
        if before > _DONE * tolerance and now < _PROGRESS * before:
            return level
        if now > max(before / _PROGRESS, tolerance):
            return None
    return None


def _must_be_done(task: Task) -> bool:
    return hasattr(task, "gain") and not isinstance(task, PostureTask)


def _error(robot: Mechanics, task: Task, q: NDArray[np.float64]) -> float:
    """Largest error of a task's rows that count."""
    _, b, weight = task.equation(robot, q)
    gain = float(np.max(getattr(task, "gain", 1.0)))
    return float(np.abs(b[weight > 0.0]).max(initial=0.0)) / gain if gain else 0.0
