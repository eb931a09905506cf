"""Small errors of a robot's geometry: where the joints on the way to a frame are, how they move it, what they share.

Each joint on the way has an error twist δ in its own frame, ``T_parent_joint exp(δ)``: six numbers for every kind of
joint, without the singularities of DH parameters (M. Hayati, "Robot arm geometric link parameter estimation", CDC
1983). Four of a revolute and two of a prismatic joint act for themselves; the others, a shift along the axis or a turn
about it that the neighbours can make as well, are found by rank and left out (L. J. Everett, M. Driels & B. W. Mooring,
"Kinematic modelling for robot calibration", ICRA 1987; R. He, Y. Zhao, S. Yang & S. Yang, "Kinematic-parameter
identification for serial-robot calibration based on POE formula", IEEE Trans. Robotics 26(3), 2010).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.geometry import adjoint, compose_poses, euler_angles_from_rotation, exp_pose, inverse_pose
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")
"""Components of an error twist: turns (rad) and shifts (m) about and along the axes of its frame."""


@dataclass(frozen=True, eq=False)
class ChainPlacements:
    """Placements of the joints that move a frame.

    Attributes
    ----------
    robot, frame
        The robot as its model has it, and the frame that they move.
    T_parent_joint
        Placement of each joint in its parent link by the joint's name, shape (4, 4).
    """

    robot: Robot
    frame: str
    T_parent_joint: Mapping[str, FloatArray]

    @classmethod
    def of(cls, robot: Robot, frame: str) -> ChainPlacements:
        """Geometry of the joints that move a frame of a robot."""
        description = robot.description
        by_child = {joint.child: joint for joint in description.joints}
        link, path = description.frame(frame).link, []
        while link in by_child:
            path.append(by_child[link])
            link = by_child[link].parent
        moving = {joint.name: joint.T_parent_joint for joint in reversed(path) if joint.moves}
        if not moving:
            raise ArgumentError(f"no joint moves the frame '{frame}': there is nothing to calibrate")
        return cls(robot, frame, moving)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the errors, six for each joint."""
        return tuple(f"{joint}.{component}" for joint in self.T_parent_joint for component in COMPONENTS)

    @property
    def size(self) -> float:
        """Length of the joints' way to the frame at the home configuration, m: what a turn of 1 rad may shift."""
        origins = self.poses(self.robot.home[None])[1][0, :, :3, 3]
        return max(float(np.linalg.norm(origins, axis=1).max()), 1e-3)

    def poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """T_world_frame (N, 4, 4) and, for each joint, T_frame_joint (N, joints, 4, 4) before the joint moves."""
        T_world = np.asarray(self.robot.frame_poses(q, vary=self._values))
        T_world_frame = T_world[:, self._rows[0]]
        placements = np.stack(list(self.T_parent_joint.values()))
        T_world_joint = compose_poses(T_world[:, self._rows[1]], placements)
        return T_world_frame, np.asarray(compose_poses(inverse_pose(T_world_frame)[:, None], T_world_joint))

    def moved(self, errors: FloatArray) -> ChainPlacements:
        """Geometry after error twists, shape (6 joints,)."""
        steps = exp_pose(errors.reshape(-1, 6))
        placed = {
            name: np.asarray(compose_poses(T, step))
            for (name, T), step in zip(self.T_parent_joint.items(), steps, strict=True)
        }
        return replace(self, T_parent_joint=placed)

    def corrected(self) -> Robot:
        """Robot with these placements."""
        description = self.robot.description
        joints = tuple(
            joint.replace(T_parent_joint=self.T_parent_joint[joint.name])
            if joint.name in self.T_parent_joint
            else joint
            for joint in description.joints
        )
        return Robot(description.replace(joints=joints))

    @cached_property
    def _values(self) -> dict[str, FloatArray]:
        """Placements as parameters of computations."""
        values = {}
        for name, T in self.T_parent_joint.items():
            values[f"joints.{name}.position"] = T[:3, 3]
            values[f"joints.{name}.roll_pitch_yaw"] = np.asarray(euler_angles_from_rotation(T[:3, :3], "xyz"))
        return values

    @cached_property
    def _rows(self) -> tuple[int, list[int]]:
        """Places of the frame and of the joints' parent links among the robot's frames."""
        frames, description = list(self.robot.frame_names), self.robot.description
        return frames.index(self.frame), [frames.index(description.joint(name).parent) for name in self.T_parent_joint]


def error_columns(T_marker_error: FloatArray) -> FloatArray:
    """Twists of the marker, in its own axes, of unit errors in other frames: (N, 6, 6 k) from (N, k, 4, 4)."""
    columns = np.asarray(adjoint(T_marker_error))
    return columns.transpose(0, 2, 1, 3).reshape(len(columns), 6, -1)
