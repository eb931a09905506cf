"""Small errors of a robot's geometry: where the joints on the way to a frame are, how they move it, what they share.

Each joint on the way has an error twist δ in its own frame, ``T_parent_joint exp(δ)``: six numbers for every kind of
joint, without the singularities of DH parameters (M. Hayati, "Robot arm geometric link parameter estimation", CDC
1983). Four of a revolute and two of a prismatic joint act for themselves; the others, a shift along the axis or a turn
about it that the neighbours can make as well, are found by rank and left out (L. J. Everett, M. Driels & B. W. Mooring,
"Kinematic modelling for robot calibration", ICRA 1987; R. He, Y. Zhao, S. Yang & S. Yang, "Kinematic-parameter
identification for serial-robot calibration based on POE formula", IEEE Trans. Robotics 26(3), 2010).

Joints may err in their own coordinates, too: gears give way to the weight, -c g(q), and an encoder that sits off its
axis reads s sin q + c cos q more or less (D. E. Whitney, C. A. Lozinski & J. M. Rourke, "Industrial robot forward
calibration method and results", ASME J. Dynamic Systems 108(1), 1986).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.geometry import adjoint, compose_poses, euler_angles_from_rotation, exp_pose, inverse_pose
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

Term = Literal["compliance", "eccentricity"]
TERMS: tuple[Term, ...] = get_args(Term)

COMPONENTS = ("rx", "ry", "rz", "x", "y", "z")
"""Components of an error twist: turns (rad) and shifts (m) about and along the axes of its frame."""
WEIGHED, BARELY = 200, 1e-9
"""Random configurations that show the torques of the weight, and the share of the largest that rounding leaves."""
COEFFICIENTS: dict[Term, tuple[str, ...]] = {"compliance": ("compliance",), "eccentricity": ("sine", "cosine")}
"""Coefficients of each term for a joint."""


class ChainPoses(NamedTuple):
    """Poses of a chain in N configurations.

    Attributes
    ----------
    T_world_frame, T_frame_joint
        Frame, (N, 4, 4), and each joint before it moves, (N, joints, 4, 4).
    deflections
        Error twists of the joints in their own frames for a unit of each coefficient, (N, 6 joints, coefficients).
    """

    T_world_frame: FloatArray
    T_frame_joint: FloatArray
    deflections: FloatArray


@dataclass(frozen=True, eq=False)
class ChainPlacements:
    """Placements of the joints that move a frame.

    Attributes
    ----------
    robot, frame
        The robot as its model has it, and the frame that they move.
    T_parent_joint
        Placement of each joint in its parent link by the joint's name, shape (4, 4).
    terms
        Errors of joint coordinates besides: ``"compliance"``, proportional to the torque of the weight, and
        ``"eccentricity"`` of encoders, a sine and a cosine of a revolute joint's angle.
    coefficients
        Their values, shape (coefficients,), joint by joint: rad (m) at the largest torque of the weight, and rad.
    """

    robot: Robot
    frame: str
    T_parent_joint: Mapping[str, FloatArray]
    terms: tuple[Term, ...] = ()
    coefficients: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, robot: Robot, frame: str, terms: tuple[Term, ...] = ()) -> ChainPlacements:
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
        found = cls(robot, frame, moving, terms)
        return replace(found, coefficients=np.zeros(len(found.coefficient_names)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the errors, six for each joint, and of the coefficients."""
        placed = tuple(f"{joint}.{component}" for joint in self.T_parent_joint for component in COMPONENTS)
        return placed + self.coefficient_names

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        """Names of the coefficients, joint by joint."""
        each = [name for term in self.terms for name in COEFFICIENTS[term]]
        return tuple(f"{joint}.{name}" for joint in self.T_parent_joint for name in each)

    @cached_property
    def largest_torques(self) -> FloatArray:
        """Largest torque of the weight on each coordinate, shape (n,); infinite where there is none."""
        q = self.robot.random_configuration(0, (WEIGHED,))
        largest = np.abs(np.asarray(self.robot.gravity_torque(q))).max(axis=0)
        return np.where(largest > BARELY * largest.max(initial=0.0), largest, np.inf)

    def deflections(self, q: FloatArray) -> FloatArray:
        """Error of each coordinate of the robot for a unit of each coefficient, shape (N, n, coefficients)."""
        names, units = list(self.robot.velocity_names), self.robot.description.coordinate_units
        places = [names.index(joint) for joint in self.T_parent_joint] if self.terms else []
        found = np.zeros((len(q), self.robot.n, len(self.coefficient_names)))
        shares = 0.0 * q
        if "compliance" in self.terms:
            shares = -np.asarray(self.robot.gravity_torque(q)) / self.largest_torques
        column = 0
        for place in places:
            turns = float(units[place] == "rad")
            of_terms = {
                "compliance": (shares[:, place],),
                "eccentricity": (turns * np.sin(q[:, place]), turns * np.cos(q[:, place])),
            }
            for term in self.terms:
                for values in of_terms[term]:
                    found[:, place, column] = values
                    column += 1
        return found

    def configuration(self, q: FloatArray) -> FloatArray:
        """Configurations in which the joints stand when they are measured at q, shape (N, n)."""
        return np.asarray(q + self.deflections(q) @ self.coefficients)

    @property
    def size(self) -> float:
        """Length of the joints' way to the frame at the home configuration, m: what a turn of 1 rad may shift."""
        origins = self.poses(self.robot.home[None])[1][0, :, :3, 3]
        return max(float(np.linalg.norm(origins, axis=1).max()), 1e-3)

    def poses(self, q: FloatArray) -> ChainPoses:
        """Poses of frame and joints in measured configurations (N, n)."""
        twists = self._twists(q)
        q = self.configuration(q) if self.terms else q
        T_world = np.asarray(self.robot.frame_poses(q, vary=self._values))
        T_world_frame = T_world[:, self._rows[0]]
        placements = np.stack(list(self.T_parent_joint.values()))
        T_world_joint = compose_poses(T_world[:, self._rows[1]], placements)
        T_frame_joint = np.asarray(compose_poses(inverse_pose(T_world_frame)[:, None], T_world_joint))
        return ChainPoses(T_world_frame, T_frame_joint, twists)

    def _twists(self, q: FloatArray) -> FloatArray:
        """Error twists of the joints for a unit of each coefficient, shape (N, 6 joints, coefficients)."""
        found = np.zeros((len(q), 6 * len(self.T_parent_joint), len(self.coefficient_names)))
        if not self.terms:
            return found
        of_coordinates, names = self.deflections(q), list(self.robot.velocity_names)
        for k, joint in enumerate(self.T_parent_joint):
            place = names.index(joint)
            first = 6 * k + (0 if self.robot.description.coordinate_units[place] == "rad" else 3)
            axis = self.robot.description.joint(joint).axis
            found[:, first : first + 3] = axis[:, None] * of_coordinates[:, place, None]
        return found

    def moved(self, errors: FloatArray) -> ChainPlacements:
        """Geometry after error twists, shape (6 joints,), and steps of the coefficients."""
        twists = 6 * len(self.T_parent_joint)
        steps = exp_pose(errors[:twists].reshape(-1, 6))
        placed = {
            name: np.asarray(compose_poses(T, step))
            for (name, T), step in zip(self.T_parent_joint.items(), steps, strict=True)
        }
        return replace(self, T_parent_joint=placed, coefficients=self.coefficients + errors[twists:])

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
