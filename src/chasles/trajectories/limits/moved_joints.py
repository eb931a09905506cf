"""Joints that a trajectory moves on a robot: their limits and their motion, with those that loops move along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.inverse_kinematics.ranges import joint_limits
from chasles.trajectories.check_report import QUANTITIES
from chasles.trajectories.joint.closed import all_joints, on_manifold
from chasles.trajectories.joint.tangent import coordinates_of_velocities
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.motion import Floats
from chasles.trajectories.pieces import of_piece, piece_at

if TYPE_CHECKING:
    from chasles.robot.robot import Robot


#: Half the distance of the two torques whose difference is their rate, as a share of a piece of the motion. At its ends
#: the error is of this order; that of rounding is as small for pieces of milliseconds.
_NEARBY = 1e-6


class PathDerivatives(NamedTuple):
    """Derivatives by the place on a path: of the joints whose limits count, and of the robot's own velocities."""

    q: Floats
    """Configurations, (..., nq)."""
    tangent: Floats
    """First derivatives of these joints, (..., joints)."""
    curvature: Floats
    """Second derivatives of these joints."""
    rates: Floats
    """First derivatives (..., n), as `Robot` takes velocities."""
    rates_of_rates: Floats
    """Second derivatives (..., n)."""


class MovedJoints(JointTrajectory):
    """Motion of the joints whose limits count: those of the robot's velocities and, with loops, all joints.

    There is one position for each velocity. The vector part of a quaternion takes the places of the rotation, which has
    no limits; it jumps where the orientation does.

    Parameters
    ----------
    robot
        Robot that moves.
    trajectory
        Motion to check against limits.

    Examples
    --------
    >>> import chasles as ch
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint1"]}
    >>> arm = ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod)
    >>> MovedJoints(arm, ch.PointToPoint([0.3], [-0.2], duration=1.0)).names
    ('joint1', 'joint2')
    """

    def __init__(self, robot: Robot, trajectory: JointTrajectory) -> None:
        self.robot, self.trajectory = robot, on_manifold(robot, trajectory)
        self.knots, self.batch = trajectory.knots, trajectory.batch
        self.closed = bool(robot.description.loops)
        self._tree = robot.edit.without_loops() if self.closed else robot
        self._places = coordinates_of_velocities(self._tree)
        self.names = self._tree.velocity_names
        self.units = tuple(unit.removesuffix("/s") for unit in self._tree.description.velocity_units)

    @property
    def n(self) -> int:
        """Number of these joints' velocities."""
        return len(self._places)

    def derivatives(self, t: Floats) -> tuple[Any, Any, Any, Any]:
        """Positions and rates, each (..., n); the jerk of joints that loops move along is not computed: NaN."""
        q, velocity, acceleration, jerk = self.quantities(t, {}, {}, torques=False)
        return q, velocity, acceleration, jerk

    def quantities(
        self, t: Floats, parameters: Mapping[str, Floats], forces: Mapping[str, Floats], *, torques: bool
    ) -> list[Floats]:
        """Positions, velocities, accelerations, jerks and optionally torques at times (...)."""
        if not self.closed:
            q, *rates = self.trajectory.derivatives(t)
            load = [self._torques([q, *rates], parameters, forces)] if torques else []
            return [np.asarray(q[..., self._places]), *rates, *load]
        joints, jerk = all_joints(self.robot, self.trajectory, t), self.trajectory.derivatives(t)[3]
        spread = np.full(joints.velocity.shape, np.nan)
        spread[..., list(self.robot.description.independent_indices)] = jerk
        motion = [joints.q, joints.nu, joints.nu_rate]
        load = [self.driven(joints.q, self._torques(motion, parameters, forces))] if torques else []
        return [joints.q[..., self._places], joints.velocity, joints.acceleration, spread, *load]

    def torque_rates(self, t: Floats, parameters: Mapping[str, Floats], forces: Mapping[str, Floats]) -> Floats:
        """Rates of the torques at times (...), (..., joints), by differences inside the pieces of the motion."""
        knots = np.stack([self.knots[..., :-1], self.knots[..., 1:]], axis=-1)
        ends = of_piece(knots, piece_at(self.knots, t), self.knots.shape[:-1])
        reach = _NEARBY * (ends[..., 1] - ends[..., 0])
        middle = np.clip(t, ends[..., 0] + 2.0 * reach, ends[..., 1] - 2.0 * reach)  # friction may jump at the ends
        before, after = (
            self.quantities(middle + side * reach, parameters, forces, torques=True)[4] for side in (-1.0, 1.0)
        )
        return np.asarray((after - before) / (2.0 * reach[..., None]))

    def along(self, s: Floats) -> PathDerivatives:
        """Derivatives at places (...) of a path, which the trajectory's time stands for."""
        if self.closed:
            return PathDerivatives(*all_joints(self.robot, self.trajectory, s))
        q, tangent, curvature, _ = self.trajectory.derivatives(s)
        return PathDerivatives(q, tangent, curvature, tangent, curvature)

    def driven(self, q: Floats, tau: Floats) -> Floats:
        """Torques of these joints (..., joints) that act like generalised forces (..., n); with loops of the motors."""
        if not self.closed:
            return tau
        torques = np.zeros((*np.broadcast_shapes(q.shape[:-1], tau.shape[:-1]), self.n))
        torques[..., list(self.robot.description.actuated_indices)] = self.robot.loops.actuator_forces(q, tau)
        return torques

    def limits(self, *given: ArrayLike | None) -> tuple[Floats, Floats]:
        """Lower and upper limits, each (quantity, joints), from the robot's and the given magnitudes (n,)."""
        unlimited = np.full(self.n, np.inf)
        known = (self._tree.velocity_limits, unlimited, unlimited, self._tree.effort_limits, unlimited, unlimited)
        sizes = []
        for name, limit, of_robot in zip(QUANTITIES[1:], given, known, strict=True):
            size = of_robot if limit is None else unlimited.copy()
            if limit is not None:
                value = reals(limit, name.replace(" ", "_"), (self.robot.n,), broadcast=True, at_least=0, infinite=True)
                size[list(self.robot.description.independent_indices)] = value
            sizes.append(size)
        coordinates, ends = joint_limits(self._tree).places, (self._tree.lower_limits, self._tree.upper_limits)
        lower, upper = (
            np.where(coordinates >= 0, side[coordinates], end)
            for side, end in zip(ends, (-np.inf, np.inf), strict=True)
        )
        return np.stack([lower, *(-size for size in sizes)]), np.stack([upper, *sizes])

    def _torques(self, motion: list[Floats], parameters: Mapping[str, Floats], forces: Mapping[str, Floats]) -> Floats:
        tau = np.asarray(self.robot.inverse_dynamics(*motion[:3], vary=parameters, wrenches=forces))
        if np.isnan(tau).any():
            joint = self.robot.velocity_names[int(np.argwhere(np.isnan(tau))[0, -1])]
            raise ArgumentError(f"the torque of joint '{joint}' is not a number")
        return tau
