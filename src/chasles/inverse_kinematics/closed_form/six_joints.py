"""Six joints: arms with a spherical wrist, whose third joint may be prismatic, and arms with three parallel axes.

With all axes taken at joint positions zero, R_ij is the product of the turns of joints i + 1 to j, p_ij leads from a
point of axis i to one of axis j, and the pose is

    R_06 = R_0T R_6Tᵀ,    p_16 = p_0T - p_01 - R_06 p_6T = R_01 (p_12 + R_12 (p_23 + R_23 (p_34 + …))).

Source of both decompositions: Elias and Wen, IK-Geo (2022), sections on a spherical wrist and on three parallel axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import maximum, sqrt
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.closed_form.chain import PARALLEL, Branch, Chain, any_of
from chasles.inverse_kinematics.closed_form.subproblems import (
    Turn,
    orientations,
    perpendicular,
    turn_taking,
    turns_at_distance,
    turns_meeting,
    turns_reaching,
)

SHOULDER, ELBOW, WRIST = ("left", "right"), ("up", "down"), ("straight", "flipped")
SLIDE = ("forward", "backward")


class SphericalWrist:
    """Axes 4, 5 and 6 meet in a point; axes 2 and 3 are parallel, or axes 1 and 2 meet.

    Most industrial robots, among them the PUMA family.
    """

    name = "six joints with a spherical wrist"
    names = tuple(f"shoulder {s}, elbow {e}, wrist {w}" for s in SHOULDER for e in ELBOW for w in WRIST)

    def __init__(self, chain: Chain, wrist: Array, shoulder: Array | None) -> None:
        h, P = chain.axes, chain.points
        self.h, self.wrist, self.shoulder = h, wrist, shoulder
        second = P[1] if shoulder is None else shoulder
        self.p01 = P[0] if shoulder is None else shoulder
        self.p12, self.p23, self.p34 = second - self.p01, P[2] - second, wrist - P[2]
        self.p6T = chain.T_world_target[:3, 3] - wrist
        self.R_6T = chain.T_world_target[:3, :3]

    @classmethod
    def recognise(cls, chain: Chain) -> SphericalWrist | None:
        """Return the solver of a chain if it is of this kind."""
        if len(chain) != 6 or chain.slides.any():
            return None
        wrist = chain.meeting(3, 4, 5)
        if wrist is None or chain.parallel(3, 4) or chain.parallel(4, 5):
            return None
        if chain.parallel(1, 2) and not chain.parallel(0, 1):
            return cls(chain, wrist, None)
        shoulder = chain.meeting(0, 1)
        return None if shoulder is None else cls(chain, wrist, shoulder)

    def branches(self, T_world_target: Array, near: Array) -> list[Branch]:
        """Joint positions of all eight branches; those of ``near`` (6,) where any would do."""
        h = self.h
        R_06 = T_world_target[:3, :3] @ self.R_6T.T
        p_16 = T_world_target[:3, 3] - self.p01 - R_06 @ self.p6T
        all_branches = []
        for turns in self._arm(p_16, near):
            R_36 = np.array([_back(turns, column) for column in R_06.T]).T
            for wrist in orientations(R_36, h[3], h[4], h[5], near[3]):
                all_branches.append(Branch.of(*turns, *wrist))
        return all_branches

    def _arm(self, p_16: Array, near: Array) -> list[tuple[Turn, Turn, Turn]]:
        """Turns of the first three joints that bring the wrist to its place."""
        h, arms = self.h, []
        if self.shoulder is None:
            height = h[1] @ (self.p12 + self.p23 + self.p34)
            for back in turns_reaching(h[1], p_16, -h[0], height):
                back = back.or_near(near[0])
                first = back.about(h[0])
                reached = back.forth(p_16) - self.p12
                for third in turns_at_distance(self.p34, -self.p23, h[2], reached @ reached):
                    arms.append((first, turn_taking(self.p23 + third.forth(self.p34), reached, h[1]), third))
            return arms
        for third in turns_at_distance(self.p34, -self.p23, h[2], p_16 @ p_16):
            pairs = turns_meeting(p_16, -h[0], self.p23 + third.forth(self.p34), h[1])
            arms += [(back.about(h[0]), second, third) for back, second in pairs]
        return [arms[0], arms[2], arms[1], arms[3]]


class SlidingArm:
    """Joint 3 is prismatic, axes 4, 5 and 6 meet in a point: the Stanford arm and its like.

    The slide is at right angles to axis 2, or axes 1 and 2 meet. With x the position of joint 3, the wrist is at
    ``p_16 = R_01 (p_12 + R_12 (p_2W + x h_3))`` (Paul, Robot Manipulators, 1981, section 3.3, solves the Stanford arm).
    """

    name = "six joints, the third prismatic, with a spherical wrist"
    names = tuple(f"shoulder {s}, slide {e}, wrist {w}" for s in SHOULDER for e in SLIDE for w in WRIST)

    def __init__(self, chain: Chain, wrist: Array, shoulder: Array | None) -> None:
        h, P = chain.axes, chain.points
        self.h, self.shoulder = h, shoulder
        second = P[1] if shoulder is None else shoulder
        self.p01 = P[0] if shoulder is None else shoulder
        self.p12, self.p2W = second - self.p01, wrist - second
        self.p6T = chain.T_world_target[:3, 3] - wrist
        self.R_6T = chain.T_world_target[:3, :3]

    @classmethod
    def recognise(cls, chain: Chain) -> SlidingArm | None:
        """Return the solver of a chain if it is of this kind."""
        if len(chain) != 6 or np.flatnonzero(chain.slides).tolist() != [2] or chain.parallel(0, 1):
            return None
        wrist = chain.meeting(3, 4, 5)
        if wrist is None or chain.parallel(3, 4) or chain.parallel(4, 5) or chain.parallel(1, 2):
            return None
        if abs(chain.axes[1] @ chain.axes[2]) < PARALLEL:
            return cls(chain, wrist, None)
        shoulder = chain.meeting(0, 1)
        return None if shoulder is None else cls(chain, wrist, shoulder)

    def branches(self, T_world_target: Array, near: Array) -> list[Branch]:
        """Joint positions of all eight branches; those of ``near`` (6,) where any would do."""
        h = self.h
        R_06 = T_world_target[:3, :3] @ self.R_6T.T
        p_16 = T_world_target[:3, 3] - self.p01 - R_06 @ self.p6T
        all_branches = []
        for first, second, slide in self._arm(p_16, near):
            R_36 = np.array([second.back(first.back(column)) for column in R_06.T]).T
            for fourth, fifth, sixth in orientations(R_36, h[3], h[4], h[5], near[3]):
                turns = (first, second, fourth, fifth, sixth)
                angles = [turn.angle for turn in turns]
                all_branches.append(Branch((*angles[:2], slide, *angles[2:]), any_of(turn.free for turn in turns)))
        return all_branches

    def _arm(self, p_16: Array, near: Array) -> list[tuple[Turn, Turn, Any]]:
        """Turns of joints 1 and 2 and position of joint 3 that bring the wrist to its place."""
        h, arms = self.h, []
        if self.shoulder is None:
            for back in turns_reaching(h[1], p_16, -h[0], h[1] @ (self.p12 + self.p2W)):
                back = back.or_near(near[0])
                reached = back.forth(p_16) - self.p12
                for slide in self._slides(reached @ reached):
                    second = turn_taking(self.p2W + slide * h[2], reached, h[1]).or_near(near[1])
                    arms.append((back.about(h[0]), second, slide))
            return arms
        for slide in self._slides(p_16 @ p_16):
            pairs = turns_meeting(p_16, -h[0], self.p2W + slide * h[2], h[1])
            arms += [(back.about(h[0]), second, slide) for back, second in pairs]
        return [arms[0], arms[2], arms[1], arms[3]]

    def _slides(self, squared_distance: Real) -> tuple[Any, Any]:
        """Both positions of joint 3 at which the wrist has a given distance from the point of axis 2."""
        along = self.h[2] @ self.p2W
        half = sqrt(maximum(along * along - self.p2W @ self.p2W + squared_distance, 0.0))
        return half - along, -half - along


class ThreeParallelAxes:
    """Axes 2, 3 and 4 are parallel, axes 5 and 6 meet.

    The arms of Universal Robots and their like, and ROBOOP's Schilling family.
    """

    name = "six joints, the second to fourth parallel"
    names = tuple(f"shoulder {s}, wrist {w}, elbow {e}" for s in SHOULDER for w in WRIST for e in ELBOW)

    def __init__(self, chain: Chain, wrist: Array) -> None:
        h, P = chain.axes, chain.points
        self.h = h
        self.p01, self.p12, self.p23, self.p34, self.p45 = P[0], P[1] - P[0], P[2] - P[1], P[3] - P[2], wrist - P[3]
        self.p6T = chain.T_world_target[:3, 3] - wrist
        self.R_6T = chain.T_world_target[:3, :3]

    @classmethod
    def recognise(cls, chain: Chain) -> ThreeParallelAxes | None:
        """Return the solver of a chain if it is of this kind."""
        if len(chain) != 6 or chain.slides.any() or not chain.parallel(1, 2, 3):
            return None
        wrist = chain.meeting(4, 5)
        if wrist is None or chain.parallel(0, 1) or chain.parallel(3, 4):
            return None
        return cls(chain, wrist)

    def branches(self, T_world_target: Array, near: Array) -> list[Branch]:
        """Joint positions of all eight branches; those of ``near`` (6,) where any would do."""
        h = self.h
        R_06 = T_world_target[:3, :3] @ self.R_6T.T
        p_16 = T_world_target[:3, 3] - self.p01 - R_06 @ self.p6T
        height = h[1] @ (self.p12 + self.p23 + self.p34 + self.p45)
        near_total = sum(np.sign(h[1] @ h[k]) * near[k] for k in (1, 2, 3))
        all_branches = []
        for back in turns_reaching(h[1], p_16, -h[0], height):
            back = back.or_near(near[0])
            first = back.about(h[0])
            R_16 = np.array([back.forth(column) for column in R_06.T]).T
            for fourth, fifth, sixth in orientations(R_16, h[1], h[4], h[5], near_total):
                # The fourth turn here is that of joints 2 to 4 together.
                reached = back.forth(p_16) - self.p12 - fourth.forth(self.p45)
                for arm in planar_arm(h[1:4], self.p23, self.p34, reached, fourth):
                    all_branches.append(Branch.of(first, *arm, fifth, sixth))
        return all_branches


def planar_arm(axes: Array, upper: Array, fore: Array, reached: Array, total: Turn) -> list[tuple[Turn, Turn, Turn]]:
    """Three turns about parallel axes, both ways: two links reach a point, the third turn makes up the total."""
    arms = []
    axis = axes[0]
    for elbow in turns_at_distance(fore, -upper, axis, reached @ reached):
        shoulder = turn_taking(upper + elbow.forth(fore), reached, axis)
        across = perpendicular(axis)
        last = turn_taking(across, elbow.back(shoulder.back(total.forth(across))), axis)
        arms.append((shoulder, elbow.along(axes[1]), last.along(axes[2])._replace(free=total.free)))
    return arms


def _back(turns: tuple[Turn, ...], vector: Array) -> Array:
    for turn in turns:
        vector = turn.back(vector)
    return vector
