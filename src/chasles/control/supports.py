"""Frames on which a robot with a floating base stands, and the torques of its motors with their forces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.control.floating_base import has_motors, is_floating, without_base
from chasles.engine.linear.symmetric import factor, solve
from chasles.engine.validators import choice
from chasles.geometry.elementary import Array
from chasles.robot.robot import Robot

#: Keeps forces finite that the base does not determine, as a share of the largest element.
_DAMPING = 1e-10


class Supports(Sealed):
    """Contact points of a standing robot: the origins of frames.

    No motor moves a floating base. Where the robot stands, the forces f of the ground on its supports must give the
    base what its rows b of the equation of motion ask for, J_bᵀ f = τ_b; the motors then give τ_a - J_aᵀ f. The
    smallest such forces are taken. Three or more points that are not on a line carry every load; two points leave one
    moment out, which the base then does not get. Friction and the sign of the forces are not looked at: for these see
    `WholeBodyTorque`. Source: Righetti, Buchli, Mistry and Schaal, Inverse dynamics control of floating-base robots
    with external constraints: a unified view (2011).

    Parameters
    ----------
    robot
        The robot.
    frames
        Names of the frames; none for a robot with a fixed base, or one that flies.

    Raises
    ------
    UnknownNameError
        There is no such frame.
    ArgumentError
        The robot has no free joint, and needs no supports.

    Examples
    --------
    A table with an arm and four feet: the forces carry its weight, and no torque is left at the base.

    >>> import chasles as ch
    >>> table = ch.load("ur5").with_free_base()
    >>> supports = Supports(table, ["link1", "link3", "link5", "tool"])
    >>> supports.torques(table.home, np.zeros(12), np.zeros(12))[:6]
    array([0., 0., 0., 0., 0., 0.])
    """

    def __init__(self, robot: Robot, frames: Sequence[str]) -> None:
        names = [frames] if isinstance(frames, str) else list(frames)
        for name in names:
            choice(name, "frame", [*robot.frame_names, "tool"])
        if names and not is_floating(robot):
            raise ArgumentError(f"robot '{robot.name}' stands on its fixed base and needs no supports")
        self.robot, self.frames = robot, tuple(names)

    def torques(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Torques (n,) for wanted accelerations (n,), zero at free joints; of numbers or traced scalars."""
        return self.carried(q, self.robot.inverse_dynamics(q, qd, qdd))

    def carried(self, q: Array, tau: Array) -> Array:
        """Torques (n,) of the motors that do what tau (n,) would, with the forces of the supports at free joints.

        Without supports the joints are accelerated as tau would, and the base is not.
        """
        robot = self.robot
        if not is_floating(robot):
            return np.asarray(tau)
        if not self.frames:
            return without_base(robot, q, tau)
        motors = has_motors(robot)
        J = np.concatenate(
            [np.asarray(robot.jacobian(q, frame="world-aligned", target=name))[3:] for name in self.frames]
        )
        J_base, torques = J[:, ~motors], np.asarray(tau)
        gram = J_base.T @ J_base
        damping = _DAMPING * np.trace(gram) * np.eye(len(gram))
        forces = J_base @ np.asarray(solve(factor(gram + damping), torques[~motors]))
        torques = torques - J.T @ forces
        torques[~motors] = 0.0
        return np.asarray(torques)
