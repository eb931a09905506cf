"""Closed-form inverse kinematics of one robot: all branches of a target, each verified."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.cached import cached_property
from chasles.engine import Function, maximum, minimum, trace, where
from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.closed_form.chain import Branch, Chain
from chasles.inverse_kinematics.closed_form.families import Family, family_of
from chasles.inverse_kinematics.closed_form.other_arms import PlanarArm, ShoulderElbowWrist
from chasles.inverse_kinematics.ranges import Ranges, reach
from chasles.inverse_kinematics.solution import SOLVED, Residual, Solution, whole
from chasles.inverse_kinematics.task import Task
from chasles.inverse_kinematics.verification import Verdict, Verification
from chasles.mechanics import Mechanics
from chasles.model import build_tree


class ClosedFormSolver:
    """Formulas for one robot and frame.

    Parameters
    ----------
    robot, target
        Whose frame is to reach the targets.
    task
        What counts.
    limits
        Whether joint limits hold.

    Attributes
    ----------
    family
        The formulas; None where there are none for this robot and task.
    """

    def __init__(self, robot: Mechanics, target: str, task: Task, limits: bool) -> None:
        tree = build_tree(robot.description)
        self.n = robot.n
        self.chain = Chain.of(tree, target)
        family = family_of(self.chain)
        enough = task.whole or (isinstance(family, PlanarArm) and len(family.links) == 2 and not task.rotations)
        self.family = family if enough else None
        ranges = Ranges.of(robot, target, limits, 1.0)
        forward_kinematics = robot.forward_kinematics.specialize(target=target)
        self.verification = Verification(forward_kinematics, task, ranges, *reach(tree, target, ranges))

    def suffices(self, elbow_angle: Any) -> bool:
        """Whether there are formulas, and all that they need is given."""
        return self.family is not None and (elbow_angle is not None or not self.redundant)

    @property
    def redundant(self) -> bool:
        """Whether the elbow angle must be chosen."""
        return isinstance(self.family, ShoulderElbowWrist)

    @property
    def formulas(self) -> tuple[Family, Chain]:
        """Family and chain, where there are formulas."""
        if self.family is None or self.chain is None:
            raise ArgumentError("this robot has no closed form for this frame and mask; use method='numeric'")
        return self.family, self.chain

    def solve(
        self,
        goals: NDArray[np.float64],
        near: NDArray[np.float64] | None,
        tolerance: NDArray[np.float64],
        select: str,
        elbow_angle: NDArray[np.float64] | None,
    ) -> Solution:
        """Solve for targets (..., 4, 4); with ``select="all"`` the branches are one more axis of the result."""
        near = self.verification.ranges.middle if near is None else near
        arguments = [goals, near, tolerance]
        if self.redundant:
            arguments.append(self.elbow_angle(near) if elbow_angle is None else elbow_angle)
        elif elbow_angle is not None:
            raise ArgumentError("only seven joints with shoulder, elbow and wrist have an elbow angle")
        function = {"all": "all_branches", "best": "branch_with_margin"}.get(select, "nearest_branch")
        q, angle, distance, margin, status, branch, free = getattr(self, function)(*arguments)
        number = whole(status)
        nothing = 0 * number
        return Solution(
            q=q,
            success=status == SOLVED,
            residual=Residual(distance, angle),
            iterations=nothing,
            restarts=nothing,
            limit_margin=margin,
            status=number,
            branch=whole(branch),
            infinite=free > 0.0,
        )

    @cached_property
    def elbow_angle(self) -> Function:
        """Elbow angle (...) of configurations (..., n)."""
        family, chain = self.formulas
        if not isinstance(family, ShoulderElbowWrist):
            raise ArgumentError("only seven joints with shoulder, elbow and wrist have an elbow angle")
        coordinates = list(chain.coordinates)
        return Function(trace(lambda q: family.elbow_angle(q[coordinates]), {"q": (self.n,)}, name="elbow_angle"))

    @cached_property
    def all_branches(self) -> Function:
        """(T_world_goal, near, tolerance[, elbow_angle]) -> all branches, verified."""

        def compute(*arguments: Any) -> tuple[Any, ...]:
            rows = self._verified(*arguments)
            columns = [np.array([row[k] for row in rows]) for k in range(len(rows[0]))]
            return tuple(columns)

        return self._function(compute, "all_branches")

    @cached_property
    def nearest_branch(self) -> Function:
        """The branch that is nearest to a configuration."""
        return self._function(lambda *a: self._chosen(a, lambda v: (v.q - a[1]) @ (v.q - a[1])), "nearest_branch")

    @cached_property
    def branch_with_margin(self) -> Function:
        """The branch that is farthest from the limits."""
        return self._function(lambda *a: self._chosen(a, lambda v: -v.limit_margin), "branch_with_margin")

    def _function(self, compute: Any, name: str) -> Function:
        inputs: dict[str, tuple[int, ...]] = {"T_world_goal": (4, 4), "near": (self.n,), "tolerance": (2,)}
        if self.redundant:
            inputs["elbow_angle"] = ()
        return Function(trace(compute, inputs, name=name, outputs=[*Verdict._fields, "branch", "free"]))

    def _verified(self, goal: Array, near: Array, tolerance: Array, *angle: Any) -> list[tuple[Any, ...]]:
        """Verdict, number and freedom of each branch."""
        family, chain = self.formulas
        ranges = self.verification.ranges
        branches: list[Branch] = family.branches(goal, near[list(chain.coordinates)], *angle)
        rows = []
        for number, branch in enumerate(branches):
            q = list(minimum(maximum(near, ranges.lower), ranges.upper))
            for k, position in zip(chain.coordinates, branch.positions, strict=True):
                q[k] = position
            verdict = self.verification(np.array(q), goal, tolerance, near)
            rows.append((*verdict, float(number), where(verdict.status > 0.0, 0.0, branch.free)))
        return rows

    def _chosen(self, arguments: tuple[Any, ...], penalty: Any) -> tuple[Any, ...]:
        """The row with the smallest penalty among the successes, or with the smallest error if there is none."""
        chosen: tuple[Any, ...] = ()
        best: tuple[Any, Any] = (0.0, 0.0)
        for row in self._verified(*arguments):
            verdict = Verdict(*row[:-2])
            failed = verdict.status > 0.0
            own = where(failed, 1.0, 0.0), where(failed, verdict.angle + verdict.distance, penalty(verdict))
            if not chosen:
                chosen, best = row, own
                continue
            better = (own[0] < best[0]) | ((own[0] <= best[0]) & (own[1] < best[1]))
            chosen = tuple(where(better, new, old) for new, old in zip(row, chosen, strict=True))
            best = where(better, own[0], best[0]), where(better, own[1], best[1])
        return chosen
