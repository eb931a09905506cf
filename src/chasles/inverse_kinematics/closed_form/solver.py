"""Closed-form inverse kinematics of one robot: all branches of a target, each verified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace, where
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.closed_form.chain import Branch, Chain
from chasles.inverse_kinematics.closed_form.other_arms import FiveJoints, PlanarArm, ShoulderElbowWrist
from chasles.inverse_kinematics.closed_form.six_joints import SlidingArm, SphericalWrist, ThreeParallelAxes
from chasles.inverse_kinematics.damped_step import clamped
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.solution import Row, Solution
from chasles.inverse_kinematics.task import PoseWeights
from chasles.inverse_kinematics.verification import Verification

Family = SphericalWrist | SlidingArm | ThreeParallelAxes | FiveJoints | PlanarArm | ShoulderElbowWrist
FAMILIES: tuple[type[Family], ...] = (
    SphericalWrist,
    SlidingArm,
    ThreeParallelAxes,
    FiveJoints,
    PlanarArm,
    ShoulderElbowWrist,
)


class ClosedFormSolver:
    """Formulas for one frame.

    Parameters
    ----------
    frame
        Frame that is to reach the targets.
    task
        Components of the pose that count.

    Attributes
    ----------
    family
        The formulas, chosen by the axes of the chain and never by a robot's name; None where there are none for this
        robot and task.
    """

    def __init__(self, frame: RobotFrame, task: PoseWeights) -> None:
        self.n = frame.n
        self.chain = Chain.of(frame.tree, frame.target) if frame.nq == frame.n else None
        recognised = (family.recognise(self.chain) for family in FAMILIES) if self.chain is not None else ()
        family = next((arm for arm in recognised if arm is not None), None)
        enough = task.whole or (isinstance(family, PlanarArm) and len(family.links) == 2 and not task.rotations)
        self.family = family if enough else None
        self.verification = Verification(frame, task)
        self.middle = frame.ranges.middle
        self._functions: dict[str, Function] = {}

    def suffices(self, elbow_angle: Real) -> bool:
        """Return whether there are formulas, and all that they need is given."""
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
        if not self.redundant and elbow_angle is not None:
            raise ArgumentError("only seven joints with shoulder, elbow and wrist have an elbow angle")
        near = self.middle if near is None else near
        angle = [] if not self.redundant else [self.elbow_angle(near) if elbow_angle is None else elbow_angle]
        return Solution(self.function(select)(goals, near, tolerance, *angle))

    @cached_property
    def elbow_angle(self) -> Function:
        """Elbow angle (...) of configurations (..., n)."""
        family, chain = self.formulas
        if not isinstance(family, ShoulderElbowWrist):
            raise ArgumentError("only seven joints with shoulder, elbow and wrist have an elbow angle")
        coordinates = list(chain.coordinates)
        return Function(trace(lambda q: family.elbow_angle(q[coordinates]), {"q": (self.n,)}, name="elbow_angle"))

    def function(self, select: str) -> Function:
        """Return (T_world_goal, near, tolerance[, elbow_angle]) -> row of a `Solution`; all rows for ``"all"``."""
        kind = select if select in ("all", "best") else "nearest"
        compiled = self._functions.get(kind)
        if compiled is None:
            compiled = self._functions[kind] = self._function(kind)
        return compiled

    def _function(self, select: str) -> Function:
        layout = Row.layout(self.n)

        def all_branches(*arguments: Array) -> Array:
            return np.array([layout.join(row) for row in self._verified(*arguments)])

        def branch_with_margin(*arguments: Array) -> Array:
            return layout.join(self._chosen(arguments, lambda row: -row.limit_margin))

        def nearest_branch(*arguments: Array) -> Array:
            near = arguments[1]
            return layout.join(self._chosen(arguments, lambda row: (row.q - near) @ (row.q - near)))

        compute = {"all": all_branches, "best": branch_with_margin}.get(select, nearest_branch)
        inputs: dict[str, tuple[int, ...]] = {"T_world_goal": (4, 4), "near": (self.n,), "tolerance": (2,)}
        if self.redundant:
            inputs["elbow_angle"] = ()
        outputs = ["rows" if select == "all" else "row"]
        return Function(trace(compute, inputs, name=compute.__name__, outputs=outputs))

    def _verified(self, goal: Array, near: Array, tolerance: Array, *angle: Array) -> list[Row]:
        """Row of each branch."""
        family, chain = self.formulas
        ranges = self.verification.ranges
        branches: list[Branch] = family.branches(goal, near[list(chain.coordinates)], *angle)
        rows = []
        for number, branch in enumerate(branches):
            q = clamped(near, ranges.lower, ranges.upper)
            for k, position in zip(chain.coordinates, branch.positions, strict=True):
                q[k] = position
            verdict = self.verification(q, goal, tolerance, near)
            infinite = where(verdict.status > 0.0, 0.0, branch.free)
            rows.append(Row(*verdict, 0.0, 0.0, float(number), infinite))
        return rows

    def _chosen(self, arguments: tuple[Any, ...], penalty: Callable[[Row], Any]) -> Row:
        """The row with the smallest penalty among the successes, or with the smallest error if there is none."""

        def rank(row: Row) -> tuple[Any, Any]:
            failed = row.status > 0.0
            return where(failed, 1.0, 0.0), where(failed, row.angle + row.distance, penalty(row))

        chosen, *others = self._verified(*arguments)
        best = rank(chosen)
        for row in others:
            ranks = rank(row)
            better = (ranks[0] < best[0]) | ((ranks[0] <= best[0]) & (ranks[1] < best[1]))
            chosen = Row(*(where(better, new, old) for new, old in zip(row, chosen, strict=True)))
            best = where(better, ranks[0], best[0]), where(better, ranks[1], best[1])
        return chosen
