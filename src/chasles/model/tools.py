"""Robots with another tool frame."""

from __future__ import annotations

from itertools import count

from numpy.typing import ArrayLike

from chasles.base.errors import ModelError
from chasles.model.description import Description, Frame
from chasles.model.inertia import Inertia
from chasles.model.parameters import carrying
from chasles.model.placement import compose, frozen_placement
from chasles.model.record import shortened


def with_tool(
    description: Description, T_frame_tool: ArrayLike | None = None, *, frame: str | None = None, name: str = "tool"
) -> Description:
    """Make a copy with another tool frame.

    Parameters
    ----------
    description
        The robot. A payload stays where it is; it becomes a link.
    T_frame_tool
        Placement of the tool frame in the frame that carries it, shape (4, 4); default the identity.
    frame
        Name of the frame or link that carries the tool frame; default the present tool.
    name
        Name of the tool frame. A frame of this name is replaced, a link is not.

    Raises
    ------
    UnknownNameError
        There is no such frame.
    ModelError
        The placement is not a rigid transform, or a link has this name.

    Examples
    --------
    >>> from chasles.model import load
    >>> needle = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.12], [0.0, 0.0, 0.0, 1.0]]
    >>> arm = with_tool(load("iiwa14"), needle, frame="iiwa_link_7", name="needle")
    >>> arm.tool, arm.frame_names[-1]
    ('needle', 'needle')
    """
    place = description.frame(description.tool if frame is None else frame)
    if name in description.link_names:
        raise ModelError(f"the tool frame cannot be called {shortened(name)}: that is the name of a link")
    T = frozen_placement(T_frame_tool, "T_frame_tool")
    held = with_payload_held(description)
    others = tuple(other for other in held.frames if other.name != name)
    tool = Frame(name, place.link, compose(place.T_link_frame, T))
    return held.replace(frames=(*others, tool), tool=name)


def with_tool_named(description: Description, name: str) -> Description:
    """Make a copy whose tool is another of its frames; a payload stays where it is and becomes a link."""
    return description if name == description.tool else with_payload_held(description).replace(tool=name)


def with_payload_held(description: Description) -> Description:
    """Make a copy with the payload as a link at the tool, if there is one."""
    if description.payload == Inertia():
        return description
    plain = f"{description.tool}_payload"
    name = next(name for k in count(1) if (name := plain if k == 1 else f"{plain}_{k}") not in description.frame_names)
    return carrying(description, description.tool, description.payload, name).replace(payload=Inertia())
