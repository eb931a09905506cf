"""Positions of joints: the pose that each gives, a joint that stays at one, and the home configuration by joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ModelError
from chasles.geometry.elementary import rotation_taking_z_to, rotation_z
from chasles.model.description import Description
from chasles.model.joint import Joint
from chasles.model.numbers import frozen_array, unit_vector
from chasles.model.placement import FloatArray, compose, from_position_and_quaternion, homogeneous, tidy_rotation
from chasles.model.record import shortened

Vector = NDArray[np.float64]


def checked_position(joint: Joint, position: object) -> Vector:
    """Return the coordinates of a joint as an array, its quaternion made unit.

    Raises
    ------
    ModelError
        A wrong number of coordinates, one that is not a finite number, or a quaternion of zeros.

    Examples
    --------
    >>> checked_position(Joint("hip", "spherical", "body", "leg"), [2.0, 0.0, 0.0, 0.0])
    array([1., 0., 0., 0.])
    """
    names = joint.coordinate_names
    what = f"the position of joint {shortened(joint.name)}"
    try:
        given = np.atleast_1d(np.asarray(position)) if len(names) == 1 else np.asarray(position)
    except ValueError:  # rows of different lengths
        given = np.zeros(0)
    if given.shape != (len(names),):
        raise ModelError(
            f"{what} ({joint.kind}) must be {len(names)} numbers ({', '.join(names)}), not {shortened(position)}"
        )
    values = frozen_array(given, (len(names),), what)
    if not joint.has_quaternion:
        return values
    return np.concatenate([unit_vector(values[:4], 4, f"the quaternion in {what}"), values[4:]])


def motion(joint: Joint, position: Vector) -> FloatArray:
    """Pose (4, 4) of the moved joint frame in the joint frame.

    Examples
    --------
    >>> slide = Joint("slide", "prismatic", "base", "car", axis=[1.0, 0.0, 0.0])
    >>> motion(slide, np.array([0.5]))[:3, 3]
    array([0.5, 0. , 0. ])
    """
    if joint.has_quaternion:
        return from_position_and_quaternion(position[4:] if joint.kind == "free" else None, position[:4])
    T = np.eye(4)
    for freedom in joint.freedoms:
        value, R_z = position[freedom.velocity], rotation_taking_z_to(freedom.direction)
        turn = R_z @ rotation_z(freedom.angular * value) @ R_z.T
        T = compose(T, homogeneous(tidy_rotation(turn), freedom.pitch * value * freedom.direction))
    return T


def fixed_at(joint: Joint, position: Vector) -> Joint:
    """Return a fixed joint that holds the links where this one has them at a position.

    Examples
    --------
    >>> slide = Joint("slide", "prismatic", "base", "car", viscous_friction=2.0)
    >>> fixed_at(slide, np.array([0.5])).T_parent_joint[:3, 3]
    array([0. , 0. , 0.5])
    """
    T_parent_joint = compose(joint.T_parent_joint, motion(joint, position))
    return Joint(joint.name, "fixed", joint.parent, joint.child, T_parent_joint, joint.T_joint_child)


def home_positions(description: Description) -> dict[str, Vector]:
    """Position of every moving joint at home, those of followers included.

    Examples
    --------
    >>> from chasles.model import load
    >>> home_positions(load("planar2r"))
    {'joint1': array([0.]), 'joint2': array([0.])}
    """
    positions = {}
    for name, (driver, ratio, offset) in description.mimics.items():
        start = description.starts[driver][0]
        of_driver = description.home[start : start + len(description.joint(driver).coordinate_names)]
        positions[name] = of_driver if name == driver else ratio * of_driver + offset
    return positions


def at_home(description: Description, positions: Mapping[str, Vector]) -> Description:
    """Return a copy with these positions of the independent joints as its home.

    Examples
    --------
    >>> from chasles.model import load
    >>> at_home(load("planar2r"), {"joint2": np.array([0.5]), "joint1": np.array([0.1])}).home
    array([0.1, 0.5])
    """
    return description.replace(home=np.array([value for name in description.joint_names for value in positions[name]]))


def pose_at_home(description: Description, link: str) -> FloatArray:
    """Pose (4, 4) of a link in the world in the home configuration.

    Examples
    --------
    >>> from chasles.model import load
    >>> pose_at_home(load("planar2r"), "link2")[:3, 3]
    array([0.75, 0.  , 0.  ])
    """
    positions = home_positions(description)
    T = {description.root: description.T_world_base}
    for joint in description.ordered_joints:
        moved = fixed_at(joint, positions[joint.name]) if joint.moves else joint
        T[joint.child] = compose(T[joint.parent], moved.T_parent_joint, moved.T_joint_child)
    return T[link]
