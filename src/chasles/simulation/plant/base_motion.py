"""Prescribed motion of a robot's base: a ship, a vehicle, another robot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Array, Real
from chasles.geometry.elementary import cross
from chasles.geometry.quaternion_rotations import quaternion_from_rotation, rotate_by_quaternion
from chasles.geometry.quaternions import conjugate_quaternion, multiply_quaternions, normalize_quaternion
from chasles.model import Description, Joint, Link
from chasles.simulation.plant.effect import Effect
from chasles.trajectories import CartesianTrajectory

Floats = NDArray[np.float64]

#: Coefficients of the base's motion through one period: six for each element of a quaternion and a position.
PATH_SIZE = 6 * 7
#: The polynomial of degree 5 in s = 0 … 1 with values, rates and second derivatives (h times, h² times) at both ends.
_HERMITE = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 0.5, 0, 0, 0],
        [-10, -6, -1.5, 10, -4, 0.5],
        [15, 8, 1.5, -15, 7, -1],
        [-6, -3, -0.5, 6, -3, 0.5],
    ]
)


class BaseState(NamedTuple):
    """Motion of the base at one time.

    Attributes
    ----------
    q
        Quaternion and position of the base in the world, (7,).
    v, v_dot
        Angular velocity and velocity of the base's origin in its own axes, (6,), rad/s and m/s, and their rates.
    """

    q: Array
    v: Any
    v_dot: Array


class BaseMotion(Effect):
    """Prescribed motion of the robot's base, regardless of the forces required.

    The trajectory is the pose of the robot's root link in the world and replaces ``T_world_base`` of the description.
    It acts on the robot through inertia and the direction of gravity. Controllers do not model it.

    Between two calls of the controller, the simulation interpolates the trajectory by polynomials of degree 5 that
    match its pose, velocity and acceleration at the calls.

    Parameters
    ----------
    trajectory
        Motion of the root link; a batch of trajectories is a batch of runs.

    Raises
    ------
    ArgumentError
        `trajectory` is not a Cartesian trajectory.

    Examples
    --------
    An arm that swings because its base moves:

    >>> import chasles as ch
    >>> line = ch.StraightLine(np.eye(4), [[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], duration=1.0)
    >>> arm = ch.load("planar2r")
    >>> hold = ch.PDGravity(arm, kp=400.0, kd=40.0)
    >>> rest = ch.PointToPoint([1.5, 0.0], [1.5, 0.0], duration=1.0)
    >>> run = ch.simulate(ch.Plant(arm, base=ch.BaseMotion(line)), hold, rest)
    >>> bool(abs(run.error).max() > 0.01)
    True
    """

    #: The link on which the base moves, and the joint that moves it.
    ground = "base_motion"

    def __init__(self, trajectory: CartesianTrajectory) -> None:
        if not isinstance(trajectory, CartesianTrajectory):
            raise ArgumentError(f"trajectory must be a CartesianTrajectory of the base, not {trajectory!r}")
        super().__init__("base", {})
        self.trajectory = trajectory

    def floating(self, description: Description) -> Description:
        """Return the robot on a free joint, whose coordinates come first."""
        joint = Joint(self.ground, "free", self.ground, description.root)
        return description.replace(
            links=(Link(self.ground), *description.links),
            joints=(joint, *description.joints),
            T_world_base=np.eye(4),
            home=np.concatenate([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], description.home]),
        )

    def paths(self, times: Floats, period: float) -> Floats:
        """Return coefficients (*batch, k, `PATH_SIZE`) of the motion through the periods that begin at `times` (k,)."""
        batch = self.trajectory.batch
        ends = []
        for t in (times, times + period):
            motion = self.trajectory(t.reshape(-1, *(1,) * len(batch)))
            pose, twist, rate = (np.moveaxis(np.asarray(part), 0, len(batch)) for part in motion)
            rotation = np.asarray(quaternion_from_rotation(pose[..., :3, :3]))
            omega, omega_dot = _pure(twist[..., :3]), _pure(rate[..., :3])
            rotation_rate = 0.5 * multiply_quaternions(omega, rotation)
            rotation_second = 0.5 * (
                multiply_quaternions(omega_dot, rotation) + multiply_quaternions(omega, rotation_rate)
            )
            position = (pose[..., :3, 3], twist[..., 3:], rate[..., 3:])
            pairs = zip((rotation, rotation_rate, rotation_second), position, strict=True)
            ends.append([np.concatenate(pair, axis=-1) for pair in pairs])
        same = np.sign(np.sum(ends[0][0][..., :4] * ends[1][0][..., :4], axis=-1, keepdims=True))
        for part in ends[1]:
            part[..., :4] *= same  # q and -q are the same rotation: take the short way
        scales = (1.0, period, period**2)
        known = np.stack([scale * part for end in ends for scale, part in zip(scales, end, strict=True)], axis=-2)
        return np.asarray((_HERMITE @ known).reshape(*known.shape[:-2], PATH_SIZE))

    @staticmethod
    def state(path: Array, share: Real, period: float) -> BaseState:
        """Return the motion at a fraction (0 to 1) of a period, from the coefficients of its path."""
        coefficients = path.reshape(6, 7)
        x, rate, second = coefficients[5], 0.0 * coefficients[5], 0.0 * coefficients[5]
        for coefficient in coefficients[4::-1]:
            second = second * share + 2.0 * rate
            rate = rate * share + x
            x = x * share + coefficient
        rate, second = rate / period, second / period**2
        # The interpolated quaternion is not quite of unit length; the base rotates by the normalized one.
        quaternion, quaternion_rate, quaternion_second = x[:4], rate[:4], second[:4]
        inverse = conjugate_quaternion(quaternion)
        square = quaternion @ quaternion
        omega = 2.0 * multiply_quaternions(inverse, quaternion_rate)[1:] / square
        growth = 2.0 * (quaternion @ quaternion_rate)
        omega_dot = (2.0 * multiply_quaternions(inverse, quaternion_second)[1:] - growth * omega) / square
        unit = normalize_quaternion(quaternion)
        to_base = conjugate_quaternion(unit)
        velocity = rotate_by_quaternion(to_base, rate[4:])
        acceleration = rotate_by_quaternion(to_base, second[4:]) - cross(omega, velocity)
        return BaseState(
            np.concatenate([unit, x[4:]]),
            np.concatenate([omega, velocity]),
            np.concatenate([omega_dot, acceleration]),
        )


def _pure(vector: Floats) -> Floats:
    return np.concatenate([np.zeros((*vector.shape[:-1], 1)), vector], axis=-1)
