"""What a sensor of force and torque at a frame of the robot feels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.geometry.elementary import cross
from chasles.model import Description
from chasles.plant.equations import Acting, turned


def measured_wrench(description: Description, frame: str, T_world_frame: Any, acting: Mapping[str, Acting]) -> Any:
    """Wrench (m, f) of the environment on what is beyond a frame, about its origin and in its axes.

    Parameters
    ----------
    description
        The robot whose frame it is.
    frame, T_world_frame
        Where the sensor is, and its pose, shape (4, 4).
    acting
        Wrenches of the environment; those on the frame's link and the links that it carries are felt.

    Returns
    -------
    ndarray
        Shape (6,), N m and N. Weight and inertia of what is beyond the sensor are left out, as if compensated.
    """
    beyond = links_beyond(description, frame)
    total = np.zeros(6)
    for wrench in acting.values():
        if _link(description, wrench.frame) in beyond:
            moment, force = wrench.world[:3], wrench.world[3:]
            arm = wrench.T_world_frame[:3, 3] - T_world_frame[:3, 3]
            total = total + np.concatenate([moment + cross(arm, force), force])
    return turned(T_world_frame, total, back=True)


def links_beyond(description: Description, frame: str) -> set[str]:
    """Names of the link of a frame and of all links that it carries."""
    found = {_link(description, frame)}
    waiting = list(found)
    while waiting:
        parent = waiting.pop()
        children = {joint.child for joint in description.joints if joint.parent == parent} - found
        found |= children
        waiting += children
    return found


def _link(description: Description, frame: str) -> str:
    """Name of the link to which a frame is fixed; a link is its own."""
    name = description.tool if frame == "tool" and frame not in description.frame_names else frame
    return next((place.link for place in description.frames if place.name == name), name)
