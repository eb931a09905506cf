"""Motions of robots with a free base: the base along a path in space, the joints along one of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.geometry import inverse_pose, quaternion_from_rotation
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.joint.tangent import ManifoldTrajectory
from chasles.trajectories.joint.trajectory import JointTrajectory

if TYPE_CHECKING:
    from chasles.robot.robot import Robot


class FreeBaseTrajectory(ManifoldTrajectory):
    """Motion of a robot whose base follows a path in space while its joints move.

    Parameters
    ----------
    robot
        Robot with one free joint.
    base
        Motion of the link that the free joint moves, in the world.
    joints
        Motion of all other joints, in the order of the robot's coordinates, over the same time.

    Raises
    ------
    ArgumentError
        The robot does not have exactly one free joint, it has other joints with quaternions, `joints` has the wrong
        number of joints, a motion is a batch, or the two motions do not start and end together.

    Examples
    --------
    A base rises by 0.2 m while the arm moves; the torques are those that the motion takes, on the base too.

    >>> import chasles as ch
    >>> robot = ch.load("planar2r").with_free_base()
    >>> T_start = robot.forward_kinematics(robot.home, target="link0")
    >>> rise = ch.StraightLine(T_start, ch.geometry.pose(np.eye(3), [0.0, 0.0, 0.2]) @ T_start, duration=1.0)
    >>> motion = FreeBaseTrajectory(robot, rise, ch.PointToPoint(robot.home[7:], [0.4, -0.4], duration=1.0))
    >>> motion(0.5).q[4:7], motion(0.5).qd[3:6]
    (array([0. , 0. , 0.1]), array([0.   , 0.   , 0.375]))
    """

    def __init__(self, robot: Robot, base: CartesianTrajectory, joints: JointTrajectory) -> None:
        special = [joint for joint in robot.description.coordinates if joint.has_quaternion]
        if len(special) != 1 or special[0].kind != "free":
            raise ArgumentError(
                f"robot '{robot.name}' must have one free joint and no spherical one; its joints with quaternions are: "
                f"{', '.join(joint.name for joint in special) or 'none'}"
            )
        if joints.n != robot.n - 6:
            raise ArgumentError(
                f"joints moves {joints.n} joints, but robot '{robot.name}' has {robot.n - 6} besides its base"
            )
        if base.batch or joints.batch:
            raise ArgumentError("base and joints must be single motions, not batches")
        ends = [(float(motion.start_time), float(motion.end_time)) for motion in (base, joints)]
        if not np.allclose(ends[0], ends[1], rtol=1e-9, atol=0.0):
            raise ArgumentError(
                f"base moves from {ends[0][0]:g} to {ends[0][1]:g} s, joints from {ends[1][0]:g} to {ends[1][1]:g} s; "
                "they must start and end together"
            )
        self.robot, self.base, self.joints = robot, base, joints
        self.knots = np.union1d(base.knots, joints.knots)
        first, begin = robot.description.starts[special[0].name]
        of_base = [*range(first, first + 7)], [*range(begin, begin + 6)]
        self._own = of_base, (np.delete(np.arange(robot.nq), of_base[0]), np.delete(np.arange(robot.n), of_base[1]))
        self._T_child_joint = np.asarray(inverse_pose(special[0].T_joint_child))
        at_neutral = robot.forward_kinematics(robot.neutral, target=special[0].child) @ self._T_child_joint
        self._T_neutral_world = np.asarray(inverse_pose(at_neutral))

    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Configurations (..., nq); velocities, accelerations and jerks (..., n) in the tangent space.

        The jerk of the base is NaN: Cartesian trajectories do not give it.
        """
        child, twist, acceleration = self.base(t)
        joint = child @ self._T_child_joint
        arm = joint[..., :3, 3] - child[..., :3, 3]
        spin, turning = twist[..., :3], acceleration[..., :3]
        v_world = twist[..., 3:] + np.cross(spin, arm)
        a_world = acceleration[..., 3:] + np.cross(turning, arm) + np.cross(spin, np.cross(spin, arm))
        R_joint_world = np.swapaxes(joint[..., :3, :3], -1, -2)
        omega, v, alpha, a = (
            (R_joint_world @ vector[..., None])[..., 0] for vector in (spin, v_world, turning, a_world)
        )
        T = self._T_neutral_world @ joint
        of_base = (
            np.concatenate([quaternion_from_rotation(T[..., :3, :3]), T[..., :3, 3]], axis=-1),
            np.concatenate([omega, v], axis=-1),
            np.concatenate([alpha, a - np.cross(omega, v)], axis=-1),
            np.full((*omega.shape[:-1], 6), np.nan),
        )
        merged = []
        for order, (base, rest) in enumerate(zip(of_base, self.joints.derivatives(t), strict=True)):
            which = min(order, 1)
            whole = np.empty((*base.shape[:-1], self.robot.n if which else self.robot.nq))
            whole[..., self._own[0][which]], whole[..., self._own[1][which]] = base, rest
            merged.append(whole)
        return merged[0], merged[1], merged[2], merged[3]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of robot '{self.robot.name}', {self.start_time:g} to {self.end_time:g} s>"
