"""The force-torque sensor at a frame of the robot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chasles.engine.program.scalar import Array
from chasles.geometry.elementary import cross
from chasles.model import Description
from chasles.simulation.plant.environment import Acting, rotated


def measured_wrench(description: Description, frame: str, T_world_frame: Array, acting: Mapping[str, Acting]) -> Array:
    """Return the wrench (m, f) of the environment on the links beyond a frame, about its origin in its axes.

    Parameters
    ----------
    description
        Robot with the frame.
    frame, T_world_frame
        Frame of the sensor, and its pose, shape (4, 4).
    acting
        Wrenches of the environment; the sensor measures those on the frame's link and on the links that it carries.

    Returns
    -------
    ndarray
        Shape (6,), N·m and N. Weight and inertia of the links beyond the sensor are left out, as if compensated.
    """
    beyond = links_beyond(description, frame)
    total = np.zeros(6)
    for wrench in acting.values():
        if _link(description, wrench.frame) in beyond:
            moment, force = wrench.world[:3], wrench.world[3:]
            arm = wrench.T_world_frame[:3, 3] - T_world_frame[:3, 3]
            total = total + np.concatenate([moment + cross(arm, force), force])
    return rotated(T_world_frame, total, back=True)


def links_beyond(description: Description, frame: str) -> set[str]:
    """Return the names of a frame's link and of all links that it carries."""
    beyond = {_link(description, frame)}
    waiting = list(beyond)
    while waiting:
        parent = waiting.pop()
        children = {joint.child for joint in description.joints if joint.parent == parent} - beyond
        beyond |= children
        waiting += children
    return beyond


def _link(description: Description, frame: str) -> str:
    """Return the name of the link to which a frame is fixed; the name of a link is returned as it is."""
    name = description.tool if frame == "tool" and frame not in description.frame_names else frame
    return next((place.link for place in description.frames if place.name == name), name)
