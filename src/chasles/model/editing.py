"""Robots made of others."""

from __future__ import annotations

import numpy as np

from chasles.geometry.quaternion_rotations import quaternion_from_rotation
from chasles.model.description import Description, Link
from chasles.model.joint import Joint


def with_free_base(description: Description, *, joint: str = "base", world: str = "world") -> Description:
    """Make a copy whose root link moves freely in a new root link.

    Parameters
    ----------
    description
        The robot. In its home configuration the base stays where it is.
    joint, world
        Names of the free joint and of the new root link.

    Raises
    ------
    ModelError
        There is a joint or a link of that name already.

    Examples
    --------
    >>> from chasles.model import load
    >>> free = with_free_base(load("planar2r"))
    >>> free.nq, free.nv, free.root
    (9, 8, 'world')
    """
    T = description.T_world_base
    return description.replace(
        links=(Link(world), *description.links),
        joints=(Joint(joint, "free", world, description.root), *description.joints),
        T_world_base=np.eye(4),
        home=np.concatenate([quaternion_from_rotation(T[:3, :3]), T[:3, 3], description.home]),
    )
