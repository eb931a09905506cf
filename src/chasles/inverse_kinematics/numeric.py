"""Inverse kinematics by iteration, for one frame and task: prepare, search, judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.engine import Function, minimum, trace, where
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.iteration import SearchState, closest_configurations, descent, restart_direction, search
from chasles.inverse_kinematics.objectives import objective_of
from chasles.inverse_kinematics.ranges import Ranges
from chasles.inverse_kinematics.solution import Row, Solution, all_true
from chasles.inverse_kinematics.task import PoseWeights
from chasles.inverse_kinematics.verification import Verification

#: Iterations for a target that is known to be out of reach: enough to come close.
OUT_OF_REACH_ITERATIONS = 100.0


@dataclass(eq=False, slots=True)
class Search:
    """Settings of the search, for each target.

    Attributes
    ----------
    q0
        First starts, (..., n), within the limits.
    near
        Configuration that revolute joints should end near, (..., n).
    tolerance
        Largest angle (rad) and distance (m) of a solution, (2,).
    max_iterations
        Most iterations for a target.
    shift
        Offset of the sequence of starts, different for each seed, (..., n).
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
    """The search for one frame and task.

    Parameters
    ----------
    frame
        Frame that is to reach the targets.
    task
        Components of the pose that count.
    objective
        Name of the secondary objective, or None.
    """

    def __init__(self, frame: RobotFrame, task: PoseWeights, objective: str | None) -> None:
        self.frame, self.task, self.ranges, self.nq = frame, task, frame.ranges, frame.nq
        self.first_shift = np.full(frame.nq, 0.5)
        self.verification = Verification(frame, task)
        self.objective = objective_of(objective, frame)

    def solve(self, goals: NDArray[np.float64], search: Search) -> Solution:
        """Solve for targets (..., 4, 4)."""
        ranges = self.ranges
        first, span = ranges.starting(search.q0)
        start, clean, allowed = self.preparation(goals, search.q0, float(search.max_iterations))
        state, iterations, done = self.search(
            start, clean, search.tolerance, ranges.lower, ranges.upper, first, span, search.shift, search.posture,
            allowed,
        )  # fmt: skip
        if not all_true(done):
            state = self._settled(state, done, clean)
        return Solution(self.verdict(state, iterations, done, goals, search.tolerance, search.near))

    def _settled(self, state: Any, done: Any, goals: Array) -> Any:
        """States with the closest configurations of failed searches moved downhill to a minimum of the error."""
        failed = np.asarray(done <= 0.0)
        settled, closest = np.array(state), SearchState.layout(self.nq).slices["closest"]
        goals = np.broadcast_to(goals, (*failed.shape, 4, 4))[failed]
        settled[failed, closest] = closest_configurations(
            self.descent, settled[failed][..., closest], goals, self.ranges.lower, self.ranges.upper
        )
        return settled

    @cached_property
    def descent(self) -> Function:
        """The solve kernel for targets without a solution; see `iteration.descent`."""
        return descent(self.frame.motion, self.task, self.frame.steps, self.frame.length)

    @cached_property
    def preparation(self) -> Function:
        """(T_world_goal, q0, max_iterations) -> (state, T_world_goal to search for, iterations allowed)."""

        def prepare(goal: Array, q0: Array, max_iterations: Any) -> tuple[Array, Array, Any]:
            valid = self.verification.is_pose(goal)
            far = self.verification.out_of_reach(goal)
            allowed = where(far, minimum(OUT_OF_REACH_ITERATIONS, max_iterations), max_iterations)
            return SearchState.at(q0), where(valid, goal, np.eye(4)), where(valid, allowed, 1.0)

        inputs = {"T_world_goal": (4, 4), "q0": (self.nq,), "max_iterations": ()}
        outputs = ["state", "T_world_goal", "allowed"]
        return Function(trace(prepare, inputs, name="prepare_inverse_kinematics", outputs=outputs))

    @cached_property
    def search(self) -> Function:
        """The solve kernel; see `iteration.search`."""
        return search(self.frame.motion, self.task, self.frame.steps, self.frame.length, self.objective)

    @cached_property
    def verdict(self) -> Function:
        """(state, iterations, done, T_world_goal, tolerance, near) -> row of a `Solution`."""
        layout, rows = SearchState.layout(self.nq), Row.layout(self.nq)

        def judge(packed: Array, iterations: Any, done: Any, goal: Array, tolerance: Array, near: Array) -> Array:
            state = layout.split(packed)
            q = where(done > 0.0, state.q, state.closest)
            verdict = self.verification(q, goal, tolerance, near)
            return rows.join(Row(*verdict, iterations, state.restarts, -1.0, 0.0))

        inputs = {
            "state": (layout.size,),
            "iterations": (),
            "done": (),
            "T_world_goal": (4, 4),
            "tolerance": (2,),
            "near": (self.nq,),
        }
        return Function(trace(judge, inputs, name="judge_inverse_kinematics", outputs=["row"]))
