"""The equations of several tasks as compiled programs: their sum as a quadratic cost, or row by row.

Where tasks and limits all are formulas, one program gives cost, bounds and the rates of least cost with a guess of the
bounds that are active, such as those of the step before. They are the solution if the guess was right; if not, further
guesses follow from it. Source of the guesses: Hintermüller, Ito and Kunisch, The primal-dual active set strategy as a
semismooth Newton method (2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, absolute, maximum, trace, where
from chasles.engine.linear.symmetric import factor, solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.differential.limits import FormulaLimit, RateBounds, intersection, precedence
from chasles.inverse_kinematics.differential.task import Equation, FormulaTask, Task
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.mechanics import Mechanics

Vector = NDArray[np.float64]
#: A trace of damping makes a program strictly convex where tasks leave joints free.
DAMPING = 1e-12
#: Status of an assembled step.
UNSOUND, BOUNDED, SOLVED = -1.0, 0.0, 1.0
#: Guesses of the active bounds before DAQP is asked.
_MOST_GUESSES = 12
#: A multiplier of this size, of a cost of curvature 1, has no sign.
_SIGN = 1e-12
_LARGEST = 1e300
_TINY = float(np.finfo(float).tiny)
#: Programs that a robot keeps; one that needs more of them forgets the first.
_MOST_PROGRAMS = 64


class QuadraticCost(NamedTuple):
    """Cost ½ q̇ᵀ H q̇ + fᵀ q̇ of tasks; the weighted squares of their rows up to a constant and a factor 1/2."""

    H: Vector
    f: Vector


class Assembled(NamedTuple):
    """A step as a quadratic program, and its solution if the guess of its active bounds was right.

    Attributes
    ----------
    x
        Rates of least cost with those bounds active, (n,).
    active
        Next guess of the active bounds, (n,): -1 at the lower, 1 at the upper one, 0 between them; None for no bound.
    status
        `SOLVED` where x is the solution, `BOUNDED` where it is not, `UNSOUND` where numbers are not finite or a limit
        contradicts itself.
    H, f
        Cost ½ xᵀ H x + fᵀ x, scaled and with a trace of damping; None where x is the solution without active bounds.
    lower, upper, contradicted
        See `RateBounds`.
    """

    x: Any
    active: Any
    status: Any
    H: Any
    f: Any
    lower: Any
    upper: Any
    contradicted: Any


def quadratic_cost(robot: Mechanics, q: Vector, tasks: Sequence[Task]) -> QuadraticCost:
    """Sum of the weighted squares of all rows of all tasks.

    Raises
    ------
    ArgumentError
        If the equation of a task is not finite.
    """
    compiled = [task for task in tasks if isinstance(task, FormulaTask)]
    H, f = np.zeros((robot.n, robot.n)), np.zeros(robot.n)
    if compiled:
        H, f = _program(robot, "cost", compiled)(q, *_numbers(robot, compiled))
        require_finite(robot, q, compiled, H, f)
    for task in tasks:
        if not isinstance(task, FormulaTask):
            J, b, weight = _finite(task, task.equation(robot, q))
            H = H + J.T @ (weight[:, None] * J)
            f = f - J.T @ (weight * b)
    return QuadraticCost(H, f)


def weighted_rows(robot: Mechanics, q: Vector, tasks: Sequence[Task]) -> tuple[Vector, Vector]:
    """Rows (m, n) and values (m,) of all tasks, one below the other, times the roots of their weights.

    Rows without weight are left out.

    Raises
    ------
    ArgumentError
        If the equation of a task is not finite.
    """
    compiled = [task for task in tasks if isinstance(task, FormulaTask)]
    equations: list[tuple[Task, Equation]] = []
    if compiled:
        parts = _program(robot, "rows", compiled)(q, *_numbers(robot, compiled))
        equations += [(task, Equation(*parts[3 * k : 3 * k + 3])) for k, task in enumerate(compiled)]
    equations += [(task, task.equation(robot, q)) for task in tasks if not isinstance(task, FormulaTask)]
    rows, values = [np.zeros((0, robot.n))], [np.zeros(0)]
    for task, equation in equations:
        J, b, weight = _finite(task, equation)
        counts = weight > 0.0
        root = np.sqrt(weight[counts])
        rows.append(root[:, None] * J[counts])
        values.append(root * b[counts])
    return np.concatenate(rows), np.concatenate(values)


def require_finite(robot: Mechanics, q: Vector, tasks: Sequence[Task], H: Vector, f: Vector) -> None:
    """Refuse a cost that is not finite, and name the task that is the reason."""
    if not (np.isfinite(f).all() and np.isfinite(H).all()):
        for task in tasks:
            _finite(task, task.equation(robot, q))


def _numbers(robot: Mechanics, tasks: Sequence[FormulaTask]) -> list[Vector]:
    return [number for task in tasks for number in task.numbers(robot)]


def _finite(task: Task, equation: Equation) -> Equation:
    if not np.isfinite(np.concatenate([np.ravel(part) for part in equation])).all():
        raise ArgumentError(f"the equation of {type(task).__name__} is not finite; look at its cost and gain")
    return equation


def assembled(
    robot: Mechanics,
    q: Vector,
    qd: Vector,
    dt: float,
    tasks: Sequence[FormulaTask],
    limits: Sequence[FormulaLimit],
    active: Vector | None = None,
) -> Assembled:
    """Cost, bounds and solution for a guess of the active bounds of a step whose tasks and limits all are formulas.

    Without a guess no bound is active: a shorter program, whose cost is not given out, is asked first.
    """
    parts: list[FormulaTask | FormulaLimit] = [*tasks, *limits]
    numbers = [number for part in parts for number in part.numbers(robot)]
    if active is None:
        x, status, lower, upper, contradicted = _program(robot, "free step", tasks, limits)(q, qd, dt, *numbers)
        if status != BOUNDED:
            return Assembled(x, None, status, None, None, lower, upper, contradicted)
        active = np.zeros(robot.n)
    return Assembled(*_program(robot, "step", tasks, limits)(q, qd, dt, active, *numbers))


def with_active_bounds(ready: Assembled) -> tuple[Vector, Vector] | None:
    """Solution of a step by further guesses of its active bounds, and these; None where they do not end."""
    H, f, lower, upper = ready.H, ready.f, ready.lower, ready.upper
    active = ready.active
    program = _guess_program(len(f))
    for _ in range(_MOST_GUESSES):
        x, active, optimal = program(H, f, lower, upper, active)
        if optimal:
            return x, active
    return None


class _Guess(NamedTuple):
    """Rates for a guess of the active bounds, the next guess, and whether the rates are the solution."""

    x: Any
    active: Any
    optimal: Any


def _guessed(H: Array, f: Array, lower: Array, upper: Array, active: Array) -> _Guess:
    """Rates of least cost with some bounds active; bounds with the wrong multiplier are released, broken ones added."""
    held = [(side < 0.0) | (side > 0.0) | (low >= high) for side, low, high in zip(active, lower, upper, strict=True)]
    fixed = np.array([where(hold, 1.0, 0.0) for hold in held])
    values = np.array([
        where(hold, where(side > 0.0, high, low), 0.0)
        for hold, side, low, high in zip(held, active, lower, upper, strict=True)
    ])  # fmt: skip
    free = 1.0 - fixed
    shifted = free * (f + H @ values) - values
    x = -np.asarray(solve(factor(free[:, None] * H * free + np.diag(fixed)), shifted))
    gradient = H @ x + f
    following, right = [], []
    for k, hold in enumerate(held):
        below, above = x[k] < lower[k], x[k] > upper[k]
        at_upper, pulled, pushed = active[k] > 0.0, gradient[k] > _SIGN, gradient[k] < -_SIGN
        released = hold & (lower[k] < upper[k]) & ((at_upper & pulled) | (~at_upper & pushed))
        broken = ~hold & (below | above)
        following.append(where(released, 0.0, where(hold, active[k], where(below, -1.0, where(above, 1.0, 0.0)))))
        right.append(~(released | broken))
    return _Guess(x, np.array(following), _all(right))


@cache
def _guess_program(n: int) -> Function:
    vector = (n,)
    shapes = {"H": (n, n), "f": vector, "lower": vector, "upper": vector, "active": vector}

    def guess(H: Array, f: Array, lower: Array, upper: Array, active: Array) -> _Guess:
        attempt = _guessed(H, f, lower, upper, active)
        return attempt._replace(optimal=where(attempt.optimal, 1.0, 0.0))

    return Function(trace(guess, shapes, name="rates_with_active_bounds"))


def _program(
    robot: Mechanics, kind: str, tasks: Sequence[FormulaTask], limits: Sequence[FormulaLimit] = ()
) -> Function:
    """Program of tasks and limits of these forms and of their numbers; traced once for each robot."""
    programs: dict[Any, Function] = robot.__dict__.setdefault("_programs_of_tasks", {})
    key = (kind, *[(type(task), task.form) for task in tasks], *map(type, limits))
    program = programs.get(key)
    if program is None:
        while len(programs) >= _MOST_PROGRAMS:
            programs.pop(next(iter(programs)), None)
        program = programs[key] = _traced(robot, kind, tasks, limits)
    return program


def _traced(robot: Mechanics, kind: str, tasks: Sequence[FormulaTask], limits: Sequence[FormulaLimit] = ()) -> Function:
    n = robot.n
    parts: list[FormulaTask | FormulaLimit] = [*tasks, *limits]
    shapes: dict[str, tuple[int, ...]] = {"q": (robot.nq,)}
    if "step" in kind:
        shapes |= {"qd": (n,), "dt": ()}
    if kind == "step":
        shapes |= {"active": (n,)}
    counts = [len(part.numbers(robot)) for part in parts]
    for place, part in enumerate(parts):
        shapes |= {f"part{place}_{k}": np.shape(number) for k, number in enumerate(part.numbers(robot))}

    def split(numbers: Sequence[Any]) -> list[Sequence[Any]]:
        ends = np.cumsum(counts)
        return [numbers[end - count : end] for end, count in zip(ends, counts, strict=True)]

    def equations(q: Array, numbers: Sequence[Any]) -> list[Equation]:
        return [task.formula(robot, q, *values) for task, values in zip(tasks, split(numbers), strict=False)]

    def rows(q: Array, *numbers: Array) -> tuple[Array, ...]:
        return tuple(np.asarray(part) for equation in equations(q, numbers) for part in equation)

    def cost(q: Array, *numbers: Array) -> QuadraticCost:
        lower: Any = np.zeros((n, n))  # triangle
        f: Any = np.zeros(n)
        for J, b, weight in equations(q, numbers):
            weighted = weight[:, None] * J
            lower = lower + np.array(
                [np.concatenate([J[:, i] @ weighted[:, : i + 1], np.zeros(n - 1 - i)]) for i in range(n)]
            )
            f = f - weighted.T @ b
        H = np.array([[lower[max(i, j), min(i, j)] for j in range(n)] for i in range(n)])
        return QuadraticCost(H, f)

    def problem(q: Array, qd: Array, dt: Real, numbers: Sequence[Any]) -> tuple[QuadraticCost, RateBounds, list[Any]]:
        """Cost and bounds of a step, and the conditions under which they are sound."""
        H, f = cost(q, *numbers)
        scale = 1.0 / reduce(maximum, H.diagonal(), _TINY)
        with_numbers = zip(limits, split(numbers)[len(tasks) :], strict=True)
        ordered = sorted(with_numbers, key=lambda limit_and_numbers: precedence(limit_and_numbers[0]))
        intervals = [_bounds_of_joint(robot, ordered, k, q, qd, dt) for k in range(n)]
        bounds = RateBounds(*(np.array(part) for part in zip(*map(intersection, intervals), strict=True)))
        sound = [low <= high for pairs in intervals for low, high in pairs]
        sound += [absolute(value) < _LARGEST for value in q]
        return QuadraticCost(scale * H + DAMPING * np.eye(n), scale * f), bounds, sound

    def status(x: Array, optimal: Any, sound: list[Any]) -> Any:
        sound = sound + [absolute(rate) < _LARGEST for rate in x]
        return where(_all(sound), where(optimal, SOLVED, BOUNDED), UNSOUND)

    def free_step(q: Array, qd: Array, dt: Real, *numbers: Array) -> tuple[Any, ...]:
        (H, f), (lower, upper, contradicted), sound = problem(q, qd, dt, numbers)
        x = -np.asarray(solve(factor(H), f))
        inside = [(low <= rate) & (rate <= high) for low, rate, high in zip(lower, x, upper, strict=True)]
        return x, status(x, _all(inside), sound), lower, upper, contradicted

    def step(q: Array, qd: Array, dt: Real, active: Array, *numbers: Array) -> Assembled:
        (H, f), (lower, upper, contradicted), sound = problem(q, qd, dt, numbers)
        x, following, optimal = _guessed(H, f, lower, upper, active)
        return Assembled(x, following, status(x, optimal, sound), H, f, lower, upper, contradicted)

    formula: Any = {"rows": rows, "cost": cost, "step": step, "free step": free_step}[kind]
    return Function(trace(formula, shapes, name=f"{kind.replace(' ', '_')}_of_tasks"))


def _bounds_of_joint(
    robot: Mechanics, limits: Sequence[tuple[FormulaLimit, Sequence[Any]]], k: int, q: Array, qd: Array, dt: Real
) -> list[tuple[Any, Any]]:
    """Lowest and highest rate of the degree of freedom k by each limit, of its numbers."""
    lower, upper, _, coordinates, _ = joint_limits(robot)
    position = q[coordinates[k]] if coordinates[k] >= 0 else 0.0
    intervals = []
    for limit, numbers in limits:
        of_joint = [number[k] if np.ndim(number) else number for number in numbers]
        intervals.append(limit.formula((lower[k], upper[k]), position, qd[k], dt, *of_joint))
    return intervals


def _all(conditions: Sequence[Any]) -> Any:
    return reduce(lambda first, second: first & second, conditions)
