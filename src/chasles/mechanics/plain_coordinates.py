"""Check for robots whose configurations are vectors: one independent coordinate, with one unit, for each joint."""

from __future__ import annotations

from collections.abc import Sequence

from chasles.errors import ArgumentError
from chasles.mechanics.described import Described


def require_plain_coordinates(robot: Described, what: str) -> None:
    """Refuse a robot whose configurations are not vectors, because it has spherical or free joints, or loops.

    Parameters
    ----------
    robot
        The robot.
    what
        What cannot take it, for the message.

    Raises
    ------
    ArgumentError
        It has joints with quaternions, or loops; the message names them.

    Examples
    --------
    >>> import chasles as ch
    >>> require_plain_coordinates(ch.load("planar2r").with_free_base(), "this method")
    Traceback (most recent call last):
        ...
    chasles.errors.ArgumentError: this method takes robots whose joints have one coordinate for each degree of freedom;
    lock joint 'base' of robot 'planar2r' first (robot.lock_joints)
    """
    if robot.description.loops:
        loop = robot.description.loops[0].name
        raise ArgumentError(
            f"{what} takes robots without loops, but loop '{loop}' closes robot '{robot.name}': its {robot.nq} "
            f"coordinates are not independent"
        )
    names = [f"'{joint.name}'" for joint in robot.description.coordinates if joint.has_quaternion]
    if names:
        joints = f"joint {names[0]}" if len(names) == 1 else f"joints {', '.join(names)}"
        raise ArgumentError(
            f"{what} takes robots whose joints have one coordinate for each degree of freedom; lock {joints} of robot "
            f"'{robot.name}' first (robot.lock_joints)"
        )


def joint_units(robot: Described | None, n: int) -> tuple[str, ...]:
    """Return the unit, "rad" or "m", of each joint's position; without a robot all joints are revolute.

    Raises
    ------
    ArgumentError
        The robot has another number of joints, or joints with quaternions.
    """
    if robot is None:
        return ("rad",) * n
    require_plain_coordinates(robot, "a trajectory of joints")
    if robot.n != n:
        raise ArgumentError(f"the trajectory moves {n} joints, but robot '{robot.name}' has {robot.n}")
    return robot.coordinate_units


def common_unit(units: Sequence[str]) -> str:
    """Return the unit of a quantity of several joints, or a text with all units.

    >>> common_unit(["rad", "rad"]), common_unit(["rad", "m"])
    ('rad', 'rad, m by joint')
    """
    return units[0] if len(set(units)) == 1 else ", ".join(dict.fromkeys(units)) + " by joint"
