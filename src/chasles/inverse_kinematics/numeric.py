"""Inverse kinematics by iteration, for one robot, frame and task: prepare, iterate, judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.cached import cached_property
from chasles.engine import Function, minimum, trace, where
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.descent import STEPS, descent, start_of_descent
from chasles.inverse_kinematics.iteration import State, iteration, restart_direction
from chasles.inverse_kinematics.objectives import objective_of
from chasles.inverse_kinematics.ranges import Ranges, reach
from chasles.inverse_kinematics.solution import SOLVED, Residual, Solution, every, whole
from chasles.inverse_kinematics.task import Task
from chasles.inverse_kinematics.verification import Verdict, Verification
from chasles.mechanics import Mechanics
from chasles.model import build_tree

#: Iterations for a target that is known to be out of reach: enough to come close.
OUT_OF_REACH_ITERATIONS = 100.0
#: A robot whose joints all meet in a point still needs a unit of length, m.
_SMALLEST_LENGTH = 1e-3


@dataclass(eq=False, slots=True)
class Search:
    """How to search, for each target.

    Attributes
    ----------
    q0
        First starts, (..., n), within the limits.
    near
        Where turning joints should end, (..., n).
    tolerance
        Largest angle (rad) and distance (m) of a solution, (2,).
    max_iterations
        Most iterations for a target.
    shift
        What sets the sequence of starts apart from those of other seeds, (..., n).
    posture
        Configuration that a secondary objective may ask for, (..., n).
    """

    q0: NDArray[np.float64]
    near: NDArray[np.float64]
    tolerance: NDArray[np.float64]
    max_iterations: int
    shift: NDArray[np.float64]
    posture: NDArray[np.float64]

    def part(self, goals: NDArray[np.float64], chosen: NDArray[np.bool_]) -> tuple[NDArray[np.float64], Search]:
        """Some of the targets in a row, and the same search for them."""

        def own(values: NDArray[np.float64], axes: int) -> NDArray[np.float64]:
            return np.broadcast_to(values, chosen.shape + values.shape[values.ndim - axes :])[chosen]

        return own(goals, 2), replace(
            self, q0=own(self.q0, 1), near=own(self.near, 1), shift=own(self.shift, 1), posture=own(self.posture, 1)
        )

    def spread(self, starts: int, ranges: Ranges) -> Search:
        """The same search from several starts, along a new last batch axis: q0, and others spread over the ranges."""
        numbers = np.arange(starts)[:, None]
        direction = restart_direction(len(ranges.first))
        q0 = self.q0[..., None, :]
        first, span = ranges.starting(q0)
        others = first + span * np.modf(numbers * direction + self.shift)[0]
        return replace(
            self,
            q0=np.where(numbers == 0, q0, others),
            near=self.near[..., None, :],
            # Restarts lie off the starts, and off those of the other starts.
            shift=self.shift + (numbers / starts + 0.5) * direction,
            posture=self.posture[..., None, :],
        )


class NumericSolver:
    """The search for one robot, frame and task.

    Parameters
    ----------
    robot, target
        Whose frame is to reach the targets.
    task
        What counts.
    limits
        Whether joint limits hold.
    objective
        Name of the secondary objective, or None.
    """

    def __init__(self, robot: Mechanics, target: str, task: Task, limits: bool, objective: str | None) -> None:
        tree = build_tree(robot.description)
        self.n, self.task = robot.n, task
        self.first_shift = np.full(robot.n, 0.5)
        self.kinematics = robot.pose_and_jacobian.specialize(frame="world-aligned", target=target)
        _, stretched = reach(tree, target, Ranges.of(robot, target, True, 0.0))
        self.length = max(0.5 * stretched if np.isfinite(stretched) else 1.0, _SMALLEST_LENGTH)
        self.ranges = Ranges.of(robot, target, limits, self.length)
        forward_kinematics = robot.forward_kinematics.specialize(target=target)
        self.verification = Verification(forward_kinematics, task, self.ranges, *reach(tree, target, self.ranges))
        self.objective = objective_of(objective, robot, target, self.ranges)

    def solve(self, goals: NDArray[np.float64], search: Search) -> Solution:
        """Solve for targets (..., 4, 4)."""
        ranges = self.ranges
        first, span = ranges.starting(search.q0)
        start, clean, allowed = self.preparation(goals, search.q0, float(search.max_iterations))
        packed, iterations, done = self.search(
            start, clean, search.tolerance, ranges.lower, ranges.upper, first, span, search.shift, search.posture,
            allowed,
        )  # fmt: skip
        if not every(done):
            packed = self._settled(packed, done, clean)
        q, angle, distance, margin, status, restarts = self.verdict(packed, done, goals, search.tolerance, search.near)
        number = whole(status)
        return Solution(
            q=q,
            success=status == SOLVED,
            residual=Residual(distance, angle),
            iterations=whole(iterations),
            restarts=whole(restarts),
            limit_margin=margin,
            status=number,
            branch=0 * number - 1,
            infinite=status < 0.0,
        )

    def _settled(self, packed: Any, done: Any, goals: Any) -> Any:
        """States with the closest configurations of failed searches moved downhill to a minimum of the error."""
        failed = np.asarray(done <= 0.0)
        settled = np.array(packed)
        start = start_of_descent(settled[failed][..., self.n : 2 * self.n])
        goals = np.broadcast_to(goals, (*failed.shape, 4, 4))[failed]
        ended = self.descent(start, goals, self.ranges.lower, self.ranges.upper, STEPS)[0]
        settled[failed, self.n : 2 * self.n] = ended[..., : self.n]
        return settled

    @cached_property
    def descent(self) -> Function:
        """The solve kernel for targets without a solution; see `descent`."""
        return descent(self.kinematics, self.task, self.n, self.length)

    @cached_property
    def preparation(self) -> Function:
        """(T_world_goal, q0, max_iterations) -> (state, T_world_goal to search for, iterations allowed)."""

        def prepare(goal: Array, q0: Array, max_iterations: Any) -> tuple[Array, Array, Any]:
            valid = self.verification.is_pose(goal)
            far = self.verification.out_of_reach(goal)
            allowed = where(far, minimum(OUT_OF_REACH_ITERATIONS, max_iterations), max_iterations)
            return State.at(q0).packed(), where(valid, goal, np.eye(4)), where(valid, allowed, 1.0)

        inputs = {"T_world_goal": (4, 4), "q0": (self.n,), "max_iterations": ()}
        outputs = ["state", "T_world_goal", "allowed"]
        return Function(trace(prepare, inputs, name="prepare_inverse_kinematics", outputs=outputs))

    @cached_property
    def search(self) -> Function:
        """The solve kernel; see `iteration`."""
        return iteration(self.kinematics, self.task, self.n, self.length, self.objective)

    @cached_property
    def verdict(self) -> Function:
        """(state, done, T_world_goal, tolerance, near) -> (q, angle, distance, limit margin, status, restarts)."""

        def judge(packed: Array, done: Any, goal: Array, tolerance: Array, near: Array) -> tuple[Any, ...]:
            state = State.unpacked(packed, self.n)
            q = where(done > 0.0, state.q, state.closest)
            return *self.verification(q, goal, tolerance, near), state.restarts

        inputs = {"state": (2 * self.n + 4,), "done": (), "T_world_goal": (4, 4), "tolerance": (2,), "near": (self.n,)}
        outputs = [*Verdict._fields, "restarts"]
        return Function(trace(judge, inputs, name="judge_inverse_kinematics", outputs=outputs))
