"""Check for robots whose configurations are vectors: one independent coordinate, with one unit, for each joint."""

from __future__ import annotations

from collections.abc import Sequence

from chasles.base.errors import ArgumentError
from chasles.mechanics.described import Described


def require_plain_coordinates(robot: Described, what: str) -> None:
    """Raise an error if configurations are not vectors, because the robot has spherical or free joints, or loops.

    Parameters
    ----------
    robot
        The robot.
    what
        Name of the calling function, for the message.

    Raises
    ------
    ArgumentError
        The robot has joints with quaternions, or loops; the message names them.

    Examples
    --------
    >>> import chasles as ch
    >>> require_plain_coordinates(ch.load("planar2r").with_free_base(), "this method")
    Traceback (most recent call last):
        ...
    chasles.base.errors.ArgumentError: this method takes robots whose joints have one coordinate for each degree of
    freedom; lock joint 'base' of robot 'planar2r' first (robot.edit.lock)
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
            f"'{robot.name}' first (robot.edit.lock)"
        )


def independent_coordinates(robot: Described, what: str) -> list[int]:
    """Return the place in q of the coordinate of each independent joint velocity: all of them without loops.

    Parameters
    ----------
    robot
        The robot.
    what
        Name of the calling function, for the message.

    Raises
    ------
    ArgumentError
        An independent velocity is that of a joint with a quaternion, so it is the rate of no coordinate.

    Examples
    --------
    >>> import chasles as ch
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "actuated": ["joint2"]}
    >>> independent_coordinates(ch.load("planar2r").with_loop("rod", "rod", "link0", "tool", **rod), "this method")
    [1]
    """
    description = robot.description
    places = [description.coordinate_of_velocity[index] for index in description.independent_indices]
    if None in places:
        name = description.velocity_names[places.index(None)]
        raise ArgumentError(
            f"{what} takes robots whose independent joints have one coordinate for each degree of freedom, but "
            f"'{name}' of robot '{robot.name}' belongs to a quaternion; lock its joint first (robot.edit.lock)"
        )
    return [place for place in places if place is not None]


def joint_units(robot: Described | None, n: int) -> tuple[str, ...]:
    """Return the unit, "rad" or "m", of each joint's position; without a robot all joints are revolute.

    Raises
    ------
    ArgumentError
        The robot has another number of joints, or joints with quaternions.
    """
    if robot is not None and robot.description.loops and n == robot.n:  # of the independent joints
        return robot.description.displacement_units
    if robot is not None:
        require_plain_coordinates(robot, "a trajectory of joints")
    return position_units(robot, n)


def position_units(robot: Described | None, nq: int) -> tuple[str, ...]:
    """Return the unit of each coordinate, "rad", "m" or "" in a quaternion; without a robot all joints are revolute.

    Raises
    ------
    ArgumentError
        The robot has another number of coordinates.
    """
    if robot is None:
        return ("rad",) * nq
    if robot.nq != nq:
        what = "joints" if robot.nq == robot.n else "coordinates"
        raise ArgumentError(f"the trajectory moves {nq} {what}, but robot '{robot.name}' has {robot.nq}")
    return robot.description.coordinate_units


def common_unit(units: Sequence[str]) -> str:
    """Return the unit of a quantity of several joints, or a text with all units.

    >>> common_unit(["rad", "rad"]), common_unit(["rad", "m"])
    ('rad', 'rad, m by joint')
    """
    return units[0] if len(set(units)) == 1 else ", ".join(dict.fromkeys(units)) + " by joint"
