"""`robot.inverse_kinematics`: what users call."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.errors import ArgumentError
from chasles.inverse_kinematics.arguments import (
    MOST_ITERATIONS,
    MOST_SEEDS,
    MOST_STARTS,
    angles,
    configurations,
    name_among,
    targets,
    tolerance_pair,
    truth,
    whole_number,
)
from chasles.inverse_kinematics.closed_form.solver import ClosedFormSolver
from chasles.inverse_kinematics.numeric import NumericSolver, Search
from chasles.inverse_kinematics.objectives import OBJECTIVES
from chasles.inverse_kinematics.selection import SELECTIONS, Select, best_of
from chasles.inverse_kinematics.solution import Solution, every
from chasles.inverse_kinematics.task import Task
from chasles.mechanics import Mechanics, require_plain_coordinates

Method = Literal["auto", "closed form", "numeric"]
METHODS = ("auto", "closed form", "numeric")


class InverseKinematics:
    """Inverse kinematics of one robot; called as ``robot.inverse_kinematics(T, ...)``."""

    def __init__(self, robot: Mechanics) -> None:
        require_plain_coordinates(robot, "inverse kinematics")
        if robot.n == 0:
            raise ArgumentError(f"robot '{robot.name}' has no joints to move")
        self._robot = robot
        self._solvers: dict[Hashable, NumericSolver] = {}
        self._closed_forms: dict[Hashable, ClosedFormSolver] = {}

    def __call__(
        self,
        T_world_target: ArrayLike,
        q0: ArrayLike | None = None,
        *,
        target: str = "tool",
        mask: str | ArrayLike | None = None,
        limits: bool = True,
        tolerance: float | tuple[float, float] = 1e-6,
        max_iterations: int = 1000,
        method: Method = "auto",
        select: Select = "first",
        starts: int = 8,
        objective: str | None = None,
        posture: ArrayLike | None = None,
        elbow_angle: ArrayLike | None = None,
        seed: int = 0,
    ) -> Solution:
        """Joint positions that bring a frame of the robot to targets: ``robot.inverse_kinematics(T, q0)``.

        Where the robot's axes allow a closed form (see `family`), the branch nearest to ``q0`` is computed. Otherwise
        each target is searched by damped steps that respect the joint limits, from ``q0`` and then from starts spread
        evenly over the limits, until forward kinematics agrees with the target or the iterations are used up. Targets
        of a batch do not influence each other: alone or in company, each gives the same result.

        Parameters
        ----------
        T_world_target
            Poses, shape (..., 4, 4), m.
        q0
            Where to start, shape (..., n); moved into the limits. Default: the middle of the limits, zero where there
            are none. Joints that turn freely end within half a turn of it. Joints that do not move the frame stay
            there.
        target
            Name of the link or frame that is to reach the pose.
        mask
            What of the pose counts: ``"pose"`` (default), ``"position"``, ``"orientation"``, ``"direction"`` (of the
            z axis), ``"position and direction"``, or six weights of the rotations about and the displacements along
            the target's x, y and z.
        limits
            Whether the robot's joint limits hold.
        tolerance
            Largest distance (m) and angle (rad) of a solution, one number or (angle, distance), positive and finite.
        max_iterations
            Most iterations for a target, over all its starts; from 1 to 1,000,000,000.
        method
            ``"closed form"``, ``"numeric"``, or ``"auto"``: the closed form where there is one and nothing else is
            asked of redundant joints.
        select
            ``"first"`` solution found; of all branches, or of the solutions from several starts, the ``"nearest"`` to
            q0, or the ``"best"``, which is farthest from the joint limits, or ``"all"``, along one more axis at the
            end of the batch.
        starts
            Number of starts that a selection of numeric solutions compares, from 1 to 100,000.
        objective
            What a redundant robot does with its freedom: ``"center"`` (go to the middle of the limits),
            ``"manipulability"``, or ``"posture"`` (stay near the configuration ``posture``).
        posture
            What ``objective="posture"`` asks for, shape (..., n); default q0.
        elbow_angle
            Of seven joints with a shoulder and a wrist: where on its circle the elbow must be, shape (...), rad; see
            `elbow_angle`. Default: anywhere; with ``method="closed form"`` that of q0.
        seed
            Whole number below 2**64, not negative, that selects another sequence of starts.

        Returns
        -------
        Solution
            With the leading axes of the targets. Nothing in it is called a success that forward kinematics does not
            confirm.

        Raises
        ------
        ArgumentError
            If shapes or options do not fit, whether or not the solver that is chosen would use them. Targets that are
            no poses (NaN, no rotation) are no error: their status says so.
        UnknownNameError
            If there is no such frame, mask, selection or objective.

        Examples
        --------
        >>> import chasles as ch
        >>> import numpy as np
        >>> arm = ch.load("ur5")
        >>> T_world_tool = arm.forward_kinematics([0.3, -1.0, 1.5, -0.8, 0.5, 0.2])
        >>> solution = arm.inverse_kinematics(T_world_tool)
        >>> np.allclose(arm.forward_kinematics(solution.q), T_world_tool, atol=2e-6)
        True
        >>> T_world_tool[0, 3] += 2.0
        >>> print(arm.inverse_kinematics(T_world_tool))
        0 of 1 targets solved, after 100.0 iterations on average
        1: the target lies farther away than the stretched robot reaches; q comes closest
        """
        n = self._robot.n
        goals = targets(T_world_target)
        frame = self._frame(target)
        task = Task.of(mask)
        near = None if q0 is None else configurations(q0, n, "q0", goals)
        name_among(select, "selection", SELECTIONS)
        name_among(method, "method", METHODS)
        if objective is not None:
            name_among(objective, "objective", OBJECTIVES)
        if posture is not None:
            if objective != "posture":
                raise ArgumentError("a posture is followed only with objective='posture'")
            posture = configurations(posture, n, "posture", goals)
        if elbow_angle is not None:
            elbow_angle = angles(elbow_angle, "elbow_angle", goals)
        within_limits = truth(limits, "limits")
        allowed = tolerance_pair(tolerance)
        iterations = whole_number(max_iterations, 1, MOST_ITERATIONS, "max_iterations")
        count = whole_number(starts, 1, MOST_STARTS, "starts")
        sequence = whole_number(seed, 0, MOST_SEEDS - 1, "seed")

        closed = None
        if method != "numeric" and objective is None:
            closed = self._closed_form(frame, task, within_limits)
        if method == "closed form" or (closed and closed.suffices(elbow_angle)):
            if closed is None:
                raise ArgumentError("a closed form follows no objective; use method='numeric'")
            solution = closed.solve(goals, near, allowed, select, elbow_angle)
            if method == "closed form" or select == "all" or elbow_angle is not None or every(solution.success):
                return solution
        elif elbow_angle is not None:
            raise ArgumentError(
                "an elbow angle is for the closed form of seven joints with shoulder, elbow and wrist, the whole pose "
                "and no objective"
            )
        else:
            solution = None
        solver = self._solver(frame, task, within_limits, objective)
        ranges = solver.ranges
        begin = ranges.middle if near is None else ranges.inside(near)
        search = Search(
            q0=begin,
            near=ranges.middle if near is None else near,
            tolerance=allowed,
            max_iterations=iterations,
            shift=solver.first_shift if sequence == 0 else np.random.default_rng(sequence).random(n),
            posture=begin if posture is None else posture,
        )
        if solution is not None:  # what has no exact solution gets the closest configuration
            return solution.filled_by(lambda failed: solver.solve(*search.part(goals, failed)))
        if select == "first":
            return solver.solve(goals, search)
        several = search.spread(count, ranges)
        solutions = solver.solve(goals[..., None, :, :], several)
        return solutions if select == "all" else best_of(solutions, select, search.near)

    def family(self, target: str = "tool") -> str | None:
        """Kind of arm for which there is a closed form, in words; None where there is none.

        >>> import chasles as ch
        >>> ch.load("ur5").inverse_kinematics.family()
        'six joints, the second to fourth parallel'
        """
        family = self._closed_form(self._frame(target), Task.of(None), True).family
        return None if family is None else family.name

    def branches(self, target: str = "tool") -> tuple[str, ...]:
        """Names of the branches of the closed form, in the order of their numbers; none where there is none.

        The names tell branches apart; which side is left, or up, depends on how the robot's axes are directed.

        >>> import chasles as ch
        >>> ch.load("puma560").inverse_kinematics.branches()[5]
        'shoulder right, elbow up, wrist flipped'
        """
        family = self._closed_form(self._frame(target), Task.of(None), True).family
        return () if family is None else family.names

    def elbow_angle(self, q: ArrayLike, target: str = "tool") -> Any:
        """Elbow angle of configurations (..., 7): rad, about the line from shoulder to wrist.

        It is 0 where the elbow lies on the side of that line to which the first axis points (Kreutz-Delgado, Long and
        Seraji, 1992).

        >>> import chasles as ch
        >>> ch.load("iiwa14").inverse_kinematics.elbow_angle([0.0, 0.5, 0.0, -1.0, 0.0, 0.5, 0.0])
        np.float64(0.0)
        """
        return self._closed_form(self._frame(target), Task.of(None), True).elbow_angle(
            configurations(q, self._robot.n, "q")
        )

    def _closed_form(self, frame: str, task: Task, limits: bool) -> ClosedFormSolver:
        key = (frame, task, limits)
        if key not in self._closed_forms:
            self._closed_forms[key] = ClosedFormSolver(self._robot, frame, task, limits)
        return self._closed_forms[key]

    def _solver(self, frame: str, task: Task, limits: bool, objective: str | None) -> NumericSolver:
        key = (frame, task, limits, objective)
        if key not in self._solvers:
            self._solvers[key] = NumericSolver(self._robot, frame, task, limits, objective)
        return self._solvers[key]

    def _frame(self, target: str) -> str:
        names = self._robot.frame_names
        if isinstance(target, str) and target == "tool" and target not in names:
            return self._robot.description.tool
        name_among(target, "frame", names)
        return target

    def __repr__(self) -> str:
        return f"<inverse kinematics of robot '{self._robot.name}'>"
