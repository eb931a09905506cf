"""The check of what subtracts and adds configurations as vectors."""

from __future__ import annotations

from chasles.errors import ArgumentError
from chasles.mechanics.described import Described


def require_plain_coordinates(robot: Described, what: str) -> None:
    """Refuse a robot whose configurations are not vectors, because it has spherical or free joints.

    Parameters
    ----------
    robot
        The robot.
    what
        What cannot take it, for the message.

    Raises
    ------
    ArgumentError
        It has joints with quaternions; the message names them.

    Examples
    --------
    >>> import chasles as ch
    >>> require_plain_coordinates(ch.load("planar2r").with_free_base(), "this method")
    Traceback (most recent call last):
        ...
    chasles.errors.ArgumentError: this method takes robots whose joints have one coordinate for each freedom; lock joint
    'base' of robot 'planar2r' first (robot.lock_joints)
    """
    names = [f"'{joint.name}'" for joint in robot.description.coordinates if joint.has_quaternion]
    if names:
        joints = f"joint {names[0]}" if len(names) == 1 else f"joints {', '.join(names)}"
        raise ArgumentError(
            f"{what} takes robots whose joints have one coordinate for each freedom; lock {joints} of robot "
            f"'{robot.name}' first (robot.lock_joints)"
        )
