"""The verdict on a configuration, independent of how it was found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.engine import where
from chasles.engine.program.scalar import Truth
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.frame import RobotFrame
from chasles.inverse_kinematics.solution import Status
from chasles.inverse_kinematics.task import POSE_TOLERANCE, PoseWeights, norm, pose_defect


class Verdict(NamedTuple):
    """A configuration and how good it is: the first numbers of a `Row`."""

    q: Array
    angle: Any
    distance: Any
    limit_margin: Any
    status: Any


class Verification:
    """Comparison of the pose at q with a target, and of q with the limits; it can be traced.

    Parameters
    ----------
    frame
        Frame that is to reach the target.
    task
        Components of the pose that count.
    """

    def __init__(self, frame: RobotFrame, task: PoseWeights) -> None:
        self.forward_kinematics, self.ranges, self.task = frame.pose, frame.ranges, task
        self.centre, self.radius = frame.reach
        self.closes = bool(frame.robot.description.loops)
        self.normalize = frame.robot.normalize.specialize() if frame.nq > frame.n else None

    def __call__(self, q: Array, T_world_goal: Array, tolerance: Array, near: Array) -> Verdict:
        """Verdict on q (nq,), after whole turns that bring it into the limits and near to a configuration."""
        closed: Any = True
        if self.normalize is not None:
            normal = np.asarray(self.normalize(q))
            if self.closes:  # near a singularity, what a search found may not be found again
                closed = abs(normal @ normal) < np.inf
                normal = np.array([where(closed, new, old) for new, old in zip(normal, q, strict=True)])
            q = normal
        q = self.ranges.nearest_turn(q, near)
        angle, distance = self.task.remaining(T_world_goal, self.forward_kinematics(q))
        margin = self.ranges.margin(q)
        success = (angle <= tolerance[0]) & (distance <= tolerance[1]) & (margin >= 0.0) & closed
        failure = where(self.out_of_reach(T_world_goal), float(Status.OUT_OF_REACH), float(Status.NOT_FOUND))
        status = where(success, float(Status.SOLVED), failure)
        valid = self.is_pose(T_world_goal)
        known = where(valid, 0.0, np.nan)
        return Verdict(
            q + known,
            angle + known,
            distance + known,
            margin + known,
            where(valid, status, float(Status.INVALID_TARGET)),
        )

    def is_pose(self, T_world_goal: Array) -> Truth:
        """Whether a target is a pose."""
        return pose_defect(T_world_goal) <= POSE_TOLERANCE

    def out_of_reach(self, T_world_goal: Array) -> Truth:
        """Whether the stretched robot is too short for a target."""
        if len(self.task.displacements) < 3 or not np.isfinite(self.radius):
            return False
        return norm(T_world_goal[:3, 3] - self.centre) > self.radius * (1.0 + 1e-9)
