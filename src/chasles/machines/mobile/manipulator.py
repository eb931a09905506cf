"""An arm on a wheeled base: poses, Jacobian and rates of the combination. Modern Robotics, section 13.5."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine.validators import real, reals
from chasles.geometry import adjoint, inverse_pose, rotation_z
from chasles.machines.mobile.planar_motion import moved
from chasles.machines.mobile.wheels import WheeledBase
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]


class MobileState(NamedTuple):
    """State of an arm on a base: heading and position of the base (3,), positions of the arm's joints and wheels."""

    base: FloatArray
    q: FloatArray
    wheels: FloatArray


class MobileManipulator(Sealed):
    """An arm on a wheeled base.

    Parameters
    ----------
    base
        The base.
    arm
        The arm; its base frame is placed by `T_base_arm`.
    T_base_arm
        Placement of the arm's base in that of the wheels, shape (4, 4); default the identity.
    height
        Height of the base's frame above the ground, m.

    Examples
    --------
    >>> import chasles as ch
    >>> base = WheeledBase.differential(half_track=0.2, radius=0.1)
    >>> robot = MobileManipulator(base, ch.load("panda"))
    >>> robot.jacobian(robot.arm.home).shape
    (6, 9)
    """

    def __init__(
        self, base: WheeledBase, arm: Robot, T_base_arm: ArrayLike | None = None, *, height: float = 0.0
    ) -> None:
        if not isinstance(base, WheeledBase) or not isinstance(arm, Robot):
            raise ArgumentError(f"a mobile manipulator is a WheeledBase and a Robot, not {base!r} and {arm!r}")
        self.base, self.arm = base, arm
        self.T_base_arm = reals(np.eye(4) if T_base_arm is None else T_base_arm, "T_base_arm", (4, 4))
        self.height = real(height, "height")

    def base_pose(self, configuration: ArrayLike) -> FloatArray:
        """Return the pose (..., 4, 4) of the base in the world for heading and position (φ, x, y), shape (..., 3)."""
        planar = reals(configuration, "configuration", (..., 3))
        T = np.zeros((*planar.shape[:-1], 4, 4))
        T[..., :3, :3] = rotation_z(planar[..., 0])
        T[..., :2, 3] = planar[..., 1:]
        T[..., 2, 3], T[..., 3, 3] = self.height, 1.0
        return T

    def forward_kinematics(self, configuration: ArrayLike, q: ArrayLike) -> FloatArray:
        """Return the pose (..., 4, 4) of the tool in the world.

        Parameters
        ----------
        configuration
            Heading and position (φ, x, y) of the base, shape (..., 3), rad and m.
        q
            Positions of the arm's joints, shape (..., n).
        """
        pose: FloatArray = self.base_pose(configuration) @ self.T_base_arm @ self.arm.forward_kinematics(q)
        return pose

    def jacobian(self, q: ArrayLike) -> FloatArray:
        """Return the body Jacobian of the tool for wheel speeds and joint rates, (..., 6, m + n) (13.37).

        The Jacobian does not depend on the pose of the base.

        Parameters
        ----------
        q
            Positions of the arm's joints, shape (..., n).
        """
        T_base_tool = self.T_base_arm @ self.arm.forward_kinematics(q)
        in_space = np.zeros((6, len(self.base.H)))
        in_space[2:5] = self.base.F
        of_wheels = adjoint(inverse_pose(T_base_tool)) @ in_space
        return np.concatenate([of_wheels, self.arm.jacobian(q, frame="body")], axis=-1)

    def moved(self, state: MobileState, wheel_speeds: ArrayLike, joint_rates: ArrayLike, time: float) -> MobileState:
        """Return the state after constant wheel speeds and joint rates, each within its limit.

        Parameters
        ----------
        state
            Initial state.
        wheel_speeds, joint_rates
            Commands, shapes (..., m) and (..., n), rad/s, clipped to the limits of the base's wheels and of the arm's
            joints.
        time
            Duration, s.
        """
        speeds = np.clip(
            reals(wheel_speeds, "wheel_speeds", (..., len(self.base.H))),
            -self.base.speed_limits,
            self.base.speed_limits,
        )
        limits = self.arm.velocity_limits
        rates = np.clip(reals(joint_rates, "joint_rates", (..., self.arm.n)), -limits, limits)
        base, q, wheels = MobileState(*state)
        return MobileState(
            np.asarray(moved(base, self.base.twist(speeds), time)),
            np.asarray(q) + time * rates,
            np.asarray(wheels) + time * speeds,
        )

    def __repr__(self) -> str:
        return f"MobileManipulator({self.base!r}, {self.arm!r})"
