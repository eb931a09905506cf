"""A frame of a robot as inverse kinematics sees it: its motion, the ranges of the joints, its reach and its size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine import Function
from chasles.engine.validators import choice
from chasles.inverse_kinematics.iteration import ConfigurationSteps
from chasles.inverse_kinematics.ranges import Ranges, reach
from chasles.mechanics import Mechanics
from chasles.model import Tree, build_tree

#: A robot whose joints all meet in a point still needs a unit of length, m.
_SMALLEST_LENGTH = 1e-3


class RobotFrame(Sealed):
    """One frame of a robot, with or without the robot's joint limits.

    Parameters
    ----------
    robot
        Robot whose joints move.
    target
        Name of the frame or link.
    limits
        Whether the robot's joint limits hold.
    """

    def __init__(self, robot: Mechanics, target: str, limits: bool) -> None:
        if robot.n == 0:
            raise ArgumentError(f"robot '{robot.name}' has no joints to move")
        choice(target, "frame", robot.frame_names)
        self.robot, self.target, self.limits, self.n, self.nq = robot, target, limits, robot.n, robot.nq

    @cached_property
    def tree(self) -> Tree:
        """Kinematic tree of the robot."""
        return build_tree(self.robot.description)

    @cached_property
    def steps(self) -> ConfigurationSteps:
        """Configurations of the robot and the steps between them."""
        return ConfigurationSteps.of(self.robot)

    @cached_property
    def pose(self) -> Function:
        """Pose (4, 4) of the frame at q."""
        return self.robot.forward_kinematics.specialize(target=self.target)

    @cached_property
    def motion(self) -> Function:
        """Pose (4, 4) and world-aligned Jacobian (6, n) of the frame at q."""
        return self.robot.pose_and_jacobian.specialize(frame="world-aligned", target=self.target)

    @cached_property
    def length(self) -> float:
        """Size of the robot, m: half its reach. Displacements are compared with angles in this unit."""
        _, stretched = reach(self.tree, self.target, Ranges.of(self.robot, self.target, True, 0.0))
        return max(0.5 * stretched if np.isfinite(stretched) else 1.0, _SMALLEST_LENGTH)

    @cached_property
    def ranges(self) -> Ranges:
        """Ranges of the joints: the limits, or where searches start if there are none."""
        return Ranges.of(self.robot, self.target, self.limits, self.length)

    @cached_property
    def reach(self) -> tuple[NDArray[np.float64], float]:
        """Centre (3,) and radius, m, of a ball in the world that the frame's origin cannot leave."""
        return reach(self.tree, self.target, self.ranges)
