"""Arms with other numbers of joints: planar ones and SCARAs, five joints, and seven joints with an elbow angle."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from chasles.engine import atan2, cos, maximum, sin, sqrt
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross
from chasles.inverse_kinematics.closed_form.chain import PARALLEL, Branch, Chain, any_of
from chasles.inverse_kinematics.closed_form.six_joints import ELBOW, SHOULDER, WRIST, planar_arm
from chasles.inverse_kinematics.closed_form.subproblems import (
    Turn,
    orientations,
    perpendicular,
    turn_taking,
    turns_at_distance,
    turns_reaching,
)


class PlanarArm:
    """Two or three joints that turn about parallel axes, and at most one that slides along them: SCARAs, planar arms.

    With two revolute joints the position of the frame decides, and its orientation is what it is.
    """

    name = "joints about parallel axes"
    names = tuple(f"elbow {e}" for e in ELBOW)

    def __init__(self, chain: Chain) -> None:
        turning = [k for k in range(len(chain)) if not chain.slides[k]]
        self.axis = chain.axes[turning[0]]
        self.signs = chain.axes @ self.axis
        self.slides = chain.slides
        p_target = chain.T_world_target[:3, 3]
        points = [*(chain.points[k] for k in turning), p_target]
        self.first = points[0]
        self.links = [self._across(b - a) for a, b in pairwise(points)]
        self.height = self.axis @ p_target
        self.R_target = chain.T_world_target[:3, :3]

    @classmethod
    def recognise(cls, chain: Chain) -> PlanarArm | None:
        """Return the solver of a chain if it is of this kind."""
        turning = len(chain) - int(chain.slides.sum())
        if turning not in (2, 3) or chain.slides.sum() > 1 or not chain.parallel(*range(len(chain))):
            return None
        solver = cls(chain)
        upper, fore = solver.links[:2]
        return solver if min(upper @ upper, fore @ fore) > (PARALLEL * chain.size) ** 2 else None

    def branches(self, T_world_target: Array, near: Array) -> list[Branch]:
        """Joint positions of both branches."""
        p_target = T_world_target[:3, 3]
        R = T_world_target[:3, :3] @ self.R_target.T
        across = perpendicular(self.axis)
        total = turn_taking(across, R @ across, self.axis)
        reached = self._across(p_target - self.first)
        if len(self.links) == 3:
            reached = reached - total.forth(self.links[2])
        all_branches = []
        rise = self.axis @ p_target - self.height
        for arm in planar_arm(np.array([self.axis] * 3), self.links[0], self.links[1], reached, total):
            turns = iter(arm)
            moved = [rise if slide else next(turns).angle for slide in self.slides]
            positions = tuple(sign * value for sign, value in zip(self.signs, moved, strict=True))
            all_branches.append(Branch(positions, any_of(turn.free for turn in arm)))
        return all_branches

    def _across(self, vector: Array) -> Array:
        return np.asarray(vector - (self.axis @ vector) * self.axis)


class FiveJoints:
    """Five revolute joints, the second to fourth parallel, as ROBOOP's Rhino family.

    Only targets in a five-dimensional set can be reached; others fail the check by forward kinematics.
    """

    name = "five joints, the second to fourth parallel"
    names = tuple(f"shoulder {s}, elbow {e}" for s in SHOULDER for e in ELBOW)

    def __init__(self, chain: Chain) -> None:
        h, P = chain.axes, chain.points
        self.h = h
        self.p01, self.p12, self.p23, self.p34, self.p45 = P[0], P[1] - P[0], P[2] - P[1], P[3] - P[2], P[4] - P[3]
        self.p5T = chain.T_world_target[:3, 3] - P[4]
        self.R_5T = chain.T_world_target[:3, :3]

    @classmethod
    def recognise(cls, chain: Chain) -> FiveJoints | None:
        """Return the solver of a chain if it is of this kind."""
        if len(chain) != 5 or chain.slides.any() or not chain.parallel(1, 2, 3):
            return None
        return None if chain.parallel(0, 1) or chain.parallel(3, 4) else cls(chain)

    def branches(self, T_world_target: Array, near: Array) -> list[Branch]:
        """Joint positions of all four branches; those of ``near`` (5,) where any would do."""
        h = self.h
        R_05 = T_world_target[:3, :3] @ self.R_5T.T
        p_15 = T_world_target[:3, 3] - self.p01 - R_05 @ self.p5T
        height = h[1] @ (self.p12 + self.p23 + self.p34 + self.p45)
        all_branches = []
        for back in turns_reaching(h[1], p_15, -h[0], height):
            back = back.or_near(near[0])
            first = back.about(h[0])
            last = turn_taking(R_05.T @ first.forth(h[1]), h[1], h[4])
            total = turn_taking(h[4], back.forth(R_05 @ h[4]), h[1])
            reached = back.forth(p_15) - self.p12 - total.forth(self.p45)
            for arm in planar_arm(h[1:4], self.p23, self.p34, reached, total):
                all_branches.append(Branch.of(first, *arm, last))
        return all_branches


class ShoulderElbowWrist:
    """Seven revolute joints: axes 1 to 3 meet in a shoulder, axes 5 to 7 in a wrist, as of the KUKA iiwa.

    The elbow may lie anywhere on a circle about the line from shoulder to wrist. Its angle is measured about this line,
    from the half plane through it that the direction of the first axis points to (Kreutz-Delgado, Long and Seraji,
    Kinematic analysis of 7-DOF manipulators, 1992).
    """

    name = "seven joints with shoulder, elbow and wrist"
    names = tuple(f"elbow {e}, shoulder {s}, wrist {w}" for e in ELBOW for s in SHOULDER for w in WRIST)

    def __init__(self, chain: Chain, shoulder: Array, wrist: Array) -> None:
        self.h = chain.axes
        self.shoulder, self.wrist = shoulder, wrist
        self.upper, self.fore = chain.points[3] - shoulder, wrist - chain.points[3]
        self.p7T = chain.T_world_target[:3, 3] - wrist
        self.R_7T = chain.T_world_target[:3, :3]

    @classmethod
    def recognise(cls, chain: Chain) -> ShoulderElbowWrist | None:
        """Return the solver of a chain if it is of this kind."""
        if len(chain) != 7 or chain.slides.any():
            return None
        shoulder, wrist = chain.meeting(0, 1, 2), chain.meeting(4, 5, 6)
        if shoulder is None or wrist is None or any(chain.parallel(k, k + 1) for k in (0, 1, 4, 5)):
            return None
        return cls(chain, shoulder, wrist)

    def branches(self, T_world_target: Array, near: Array, elbow_angle: Real) -> list[Branch]:
        """Joint positions of all eight branches; those of ``near`` (7,) where any would do."""
        h = self.h
        R_07 = T_world_target[:3, :3] @ self.R_7T.T
        to_wrist = T_world_target[:3, 3] - self.shoulder - R_07 @ self.p7T
        along, sideways, upwards = self._frame(to_wrist, h[0])
        out = cos(elbow_angle) * sideways + sin(elbow_angle) * upwards
        world = np.array([along, out, cross(along, out)]).T
        all_branches = []
        for elbow in turns_at_distance(self.fore, -self.upper, h[3], to_wrist @ to_wrist):
            arm = np.array(self._frame(self.upper + elbow.forth(self.fore), self.upper)).T
            R_03 = world @ arm.T
            for shoulder in orientations(R_03, h[0], h[1], h[2], near[0]):
                R_47 = np.array([elbow.back(column) for column in (R_03.T @ R_07).T]).T
                for wrist in orientations(R_47, h[4], h[5], h[6], near[4]):
                    all_branches.append(Branch.of(*shoulder, elbow, *wrist))
        return all_branches

    def elbow_angle(self, q: Array) -> Any:
        """Angle of the elbow at joint positions (7,), rad."""
        turns = [Turn(axis, cos(position), sin(position)) for axis, position in zip(self.h, q, strict=True)]
        to_elbow, to_wrist = self.upper, self.upper + turns[3].forth(self.fore)
        for turn in reversed(turns[:3]):
            to_elbow, to_wrist = turn.forth(to_elbow), turn.forth(to_wrist)
        _, sideways, upwards = self._frame(to_wrist, self.h[0])
        return atan2(to_elbow @ upwards, to_elbow @ sideways)

    @staticmethod
    def _frame(along: Array, beside: Array) -> tuple[Array, Array, Array]:
        """Right-handed unit vectors: along a vector, towards another, and across both."""
        x = along / _length(along)
        across = beside - (beside @ x) * x
        y = across / _length(across)
        return x, y, cross(x, y)


def _length(vector: Array) -> Real:
    return sqrt(maximum(vector @ vector, 1e-40))
