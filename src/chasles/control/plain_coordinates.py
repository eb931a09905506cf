"""Controllers that subtract joint positions from one another."""

from __future__ import annotations

from chasles.errors import ArgumentError
from chasles.robot import Robot


def require_plain_coordinates(robot: Robot, controller: str) -> None:
    """Refuse a robot whose configurations are not vectors, because it has spherical or free joints.

    Raises
    ------
    ArgumentError
        If positions and velocities of the robot are not as many.
    """
    if robot.nq != robot.nv:
        raise ArgumentError(
            f"{controller} needs joints with one coordinate each; robot '{robot.name}' has {robot.nq} coordinates for "
            f"{robot.nv} velocities"
        )
