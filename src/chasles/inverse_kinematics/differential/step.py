"""One step of differential inverse kinematics: tasks and limits as a quadratic program."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.inverse_kinematics.differential.assembly import (
    SOLVED,
    UNSOUND,
    assembled,
    quadratic_cost,
    weighted_rows,
    with_active_bounds,
)
from chasles.inverse_kinematics.differential.limits import (
    CombinedLimit,
    ConfigurationLimit,
    FormulaLimit,
    Inequalities,
    Limit,
    RateBounds,
    VelocityLimit,
    common_bounds,
    joint_positions,
    no_inequalities,
)
from chasles.inverse_kinematics.differential.program import (
    Feasible,
    lexicographic_minimum,
    minimum,
    scaled_minimum,
)
from chasles.inverse_kinematics.differential.task import FormulaTask, Task
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.mechanics import Mechanics

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointRates:
    """Rates for a step.

    Attributes
    ----------
    qd
        Joint rates, (n,), rad/s (m/s for prismatic joints); of a free base angular velocity and velocity in its axes.
    bounds
        Lowest and highest rates that the limits leave to each joint.
    missed
        Number of combined limits that cannot be kept within these bounds.
    flag
        None, or DAQP's exit flag where it gave up.
    robot, q
        Robot and configuration (nq,) of the step.
    sides
        Side of the bound at which the search left each joint, (n,): -1 at the lower, 1 at the upper one, 0 between
        them. None where no joint is at one.
    """

    qd: Vector
    bounds: RateBounds
    missed: int
    flag: int | None
    robot: Mechanics
    q: Vector
    sides: Vector | None = None

    @property
    def active(self) -> NDArray[np.bool_]:
        """Joints whose rate stands at a bound, (n,)."""
        return np.asarray((self.qd <= self.bounds.lower) | (self.qd >= self.bounds.upper))

    @property
    def contradicted(self) -> NDArray[np.bool_]:
        """Joints at which limits contradict each other in this step, (n,).

        Their rate keeps the limits of higher priority: acceleration before velocity before position.
        """
        return np.asarray(self.bounds.contradicted > 0.0)

    @property
    def success(self) -> bool:
        """Whether all limits are kept and the program was solved."""
        return self.flag is None and not self.missed and not self.contradicted.any()

    @property
    def message(self) -> str:
        """The outcome in words."""
        gave_up = f"DAQP gave up (exit flag {self.flag}): not all tasks are followed"
        missed = f"{self.missed} combined limits cannot be kept within the limits of the joints"
        messages = [gave_up] if self.flag is not None else []
        messages += self._contradictions()
        messages += [missed] if self.missed else []
        return "; ".join(messages) or "solved"

    def _contradictions(self) -> list[str]:
        """Sentences about the joints at which limits contradict each other."""
        robot = self.robot
        (lower, upper, *_), position = joint_limits(robot), joint_positions(robot, self.q)
        beyond = np.maximum(lower - position, position - upper)
        sentences = []
        for joint in np.flatnonzero(self.contradicted):
            name, unit = robot.velocity_names[joint], robot.description.velocity_units[joint].removesuffix("/s")
            if beyond[joint] > 0.0:
                side = "upper" if position[joint] > upper[joint] else "lower"
                sentences.append(
                    f"{name} is {beyond[joint]:.3g} {unit} beyond its {side} position limit and returns as fast as "
                    "the other limits permit"
                )
            else:
                sentences.append(f"the limits contradict each other at {name}: it keeps those of higher priority")
        return sentences


def solve_rates(
    robot: Mechanics,
    q: ArrayLike,
    tasks: Sequence[Task] | Sequence[Sequence[Task]],
    dt: float,
    *,
    qd: ArrayLike | None = None,
    limits: Sequence[Limit | CombinedLimit] = (ConfigurationLimit(), VelocityLimit()),
    start: JointRates | None = None,
) -> JointRates:
    """Joint rates that do the tasks as well as their costs demand, within the limits.

    They minimise the sum of ``weight (J q̇ - b)²`` over all rows of all tasks, subject to bounds on q̇: by an active-set
    method in compiled code, and by the DAQP solver where limits combine joints or tasks have priorities. Follow them
    for dt, by ``q = robot.integrate(q, dt * rates.qd)``, and call again. For robots without spherical or free joints
    this is ``q + dt * rates.qd``.

    With lists of tasks instead of tasks, each list is a level of strict priority: the second one moves only what does
    not disturb the first, and so on. Costs then weigh the tasks of one level.

    A joint outside its position limits returns to them as fast as the limits of velocity and acceleration permit, while
    the other joints do the tasks as well as they can.

    Parameters
    ----------
    robot
        Robot whose joints move. A floating base moves as the other joints do.
    q
        Configuration, shape (nq,).
    tasks
        At least one; or lists of them, the most important first.
    dt
        Length of the step, s.
    qd
        Rates of the step before, shape (n,), for limits on accelerations; default at rest.
    limits
        Limits on the rates; default the robot's position and velocity limits.
    start
        Rates of the step before: the search for the active bounds begins with theirs. The result is the same.

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
    formulas: list[Any] = [*tasks]
    bounding: list[Any] = [*limits]
    if formulas and all(hasattr(part, "formula") for part in formulas + bounding):
        compiled = _compiled_rates(robot, q, formulas, dt, qd, bounding, start)
        if compiled is not None:
            return compiled
    levels = levels_of(tasks)
    position = reals(q, "q", (robot.nq,))
    rates = np.zeros(robot.n) if qd is None else reals(qd, "qd", (robot.n,))
    dt = real(dt, "dt", above=0)
    of_joints: list[Any] = [limit for limit in bounding if hasattr(limit, "bounds")]
    combined: list[Any] = [limit for limit in bounding if hasattr(limit, "inequalities")]
    bounds = common_bounds(of_joints, robot, position, rates, dt)
    feasible = Feasible(bounds.lower, bounds.upper, _inequalities(combined, robot, position, dt))
    if len(levels) == 1:
        least = minimum(*quadratic_cost(robot, position, levels[0]), feasible)
    else:
        least = lexicographic_minimum([weighted_rows(robot, position, level) for level in levels], feasible)
    return JointRates(least.x, bounds, least.missed.size, least.flag, robot, position, _sides(least.x, bounds))


def _compiled_rates(
    robot: Mechanics, q: ArrayLike, tasks: Sequence[FormulaTask], dt: float, qd: ArrayLike | None,
    limits: Sequence[FormulaLimit], start: JointRates | None,
) -> JointRates | None:  # fmt: skip
    """Rates by the program of tasks and limits that all are formulas; None where its numbers are not sound."""
    is_ready = isinstance(q, np.ndarray) and q.dtype == np.float64 and q.shape == (robot.nq,)
    position: Vector = np.array(q) if is_ready else reals(q, "q", (robot.nq,))
    rates = _at_rest(robot.n) if qd is None else reals(qd, "qd", (robot.n,))
    dt = dt if dt.__class__ is float and 0.0 < dt < inf else real(dt, "dt", above=0)
    ready = assembled(robot, position, rates, dt, tasks, limits, None if start is None else start.sides)
    if ready.status == UNSOUND:
        return None
    bounds = RateBounds(ready.lower, ready.upper, ready.contradicted)
    if ready.status == SOLVED:
        return JointRates(ready.x, bounds, 0, None, robot, position, ready.active)
    guessed = with_active_bounds(ready)
    if guessed is not None:
        x, active = guessed
        return JointRates(x, bounds, 0, None, robot, position, active)
    least = scaled_minimum(ready.H, ready.f, Feasible(ready.lower, ready.upper, no_inequalities(robot.n)))
    return JointRates(least.x, bounds, 0, least.flag, robot, position, _sides(least.x, bounds))


@cache
def _at_rest(n: int) -> Vector:
    return np.zeros(n)


def _sides(x: Vector, bounds: RateBounds) -> Vector:
    """Side of the bound at which each rate stands."""
    return np.asarray((x >= bounds.upper) * 1.0 - (x <= bounds.lower))


def levels_of(tasks: Sequence[Task] | Sequence[Sequence[Task]]) -> list[list[Task]]:
    """Lists of tasks, one for each level of priority."""
    given: list[Any] = list(tasks)
    nested = [isinstance(item, (list, tuple)) for item in given]
    if any(nested) and not all(nested):
        raise ArgumentError("tasks holds both tasks and lists of tasks; with priorities each level is a list")
    levels: list[list[Task]] = [list(level) for level in given] if any(nested) else [given]
    if not all(levels):
        raise ArgumentError("there is no task; to stand still is one: DampingTask()")
    for task in itertools.chain(*levels):
        if not callable(getattr(task, "equation", None)):
            raise ArgumentError(f"{task!r} is no task: it has no method equation(robot, q)")
    return levels


def _inequalities(limits: Sequence[CombinedLimit], robot: Mechanics, q: Vector, dt: float) -> Inequalities:
    """Inequalities of all limits, one below the other."""
    if not limits:
        return no_inequalities(robot.n)
    parts = [limit.inequalities(robot, q, dt) for limit in limits]
    A, lower, upper = (np.concatenate(part) for part in zip(*parts, strict=True))
    if not np.isfinite(A).all() or np.isnan([lower, upper]).any():
        raise ArgumentError("the inequalities of a limit are not finite")
    return Inequalities(A, lower, upper)
