"""Screw axes of robots, as in Lynch and Park, Modern Robotics (chapters 4 and 8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.model.consistency import require_no_first_moments
from chasles.model.description import Description, Frame
from chasles.model.formats.joint_columns import joint_columns
from chasles.model.formats.serial_chain import frames_besides_links, serial_chain
from chasles.model.formats.single_freedoms import require_kinds, with_single_freedoms
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.placement import FloatArray, compose, homogeneous, inverse
from chasles.model.record import ArgumentRecord


@dataclass(frozen=True, eq=False)
class ScrewTable(ArgumentRecord):
    """Screw axes of a robot: the arguments of `from_screws`, so ``from_screws(**table)`` is the robot.

    Parameters
    ----------
    M
        Placement of the tool in the world at q = 0, (4, 4).
    Slist
        Screw axes in the world at q = 0, one a column, (6, n).
    Mlist
        Placements of each link frame in the one before at q = 0, (n + 1, 4, 4); the first in the world, the last is the
        tool in the last link. The link frames sit at the centres of mass.
    Glist
        Spatial inertias of the links, (n, 6, 6), angular part first.
    joints
        Name, limits, friction, motor and leader of each joint, as for `from_screws`.
    name, gravity, home, tool, payload, frames, link_prefix, source
        See `from_screws`.
    """

    M: NDArray[np.float64]
    Slist: NDArray[np.float64]
    Mlist: NDArray[np.float64]
    Glist: NDArray[np.float64]
    joints: tuple[dict[str, Any], ...]
    name: str = "robot"
    gravity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    home: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    tool: str = "tool"
    payload: Inertia = field(default_factory=Inertia)
    frames: tuple[Frame, ...] = ()
    link_prefix: str = "link"
    source: str = ""

    def __repr__(self) -> str:
        return f"<ScrewTable of '{self.name}': {len(self.joints)} joints>"

    def __str__(self) -> str:
        """Return the screw axes as text, one a line, in rad and m."""
        names = [joint["name"] for joint in self.joints]
        width = max(map(len, [*names, "joint"]))
        lines = [f"{'joint':{width}}" + "".join(f"{label:>11}" for label in ("wx", "wy", "wz", "vx", "vy", "vz"))]
        for name, screw in zip(names, self.Slist.T, strict=True):
            lines.append(f"{name:{width}}" + "".join(f"{value:11.6g}" for value in screw))
        return "\n".join(lines)


def to_screws(description: Description) -> ScrewTable:
    """Return the screw axes of a robot, and its links as Modern Robotics describes them.

    The screws describe the same motion for the same q. The space frame is the world. The links are the moving bodies:
    links joined by fixed joints become one inertia, in a frame at its centre of mass. Every link and frame of the robot
    is kept as a frame. The inertia of the base, which has no effect, is left out. Universal, cylindrical and planar
    joints become one screw for each degree of freedom.

    Raises
    ------
    ModelError
        No screws exist: the robot branches, or a joint is spherical or free. The message names the joints.

    Examples
    --------
    >>> from chasles.model import load
    >>> print(to_screws(load("planar2r")))
    joint          wx         wy         wz         vx         vy         vz
    joint1          0          0          1          0          0          0
    joint2          0          0          1          0       -0.5          0
    """
    what = "table of screws"
    require_no_first_moments(description, what)
    description = with_single_freedoms(description)
    require_kinds(description, ("revolute", "continuous", "prismatic", "helical", "fixed"), what)
    chain = serial_chain(description, what)
    T_body_link = [np.eye(4), *(homogeneous(p=body.inertia.center_of_mass) for body in chain.bodies[1:])]
    # The base link is the world itself.
    T_body_link[0] = inverse(description.T_world_base)
    T_world_body, T_world_link = description.T_world_base, np.eye(4)
    screws, steps, inertias, columns = [], [], [], []
    for index, joint in enumerate(chain.joints):
        body = chain.bodies[index + 1]
        T_world_joint = compose(T_world_body, joint.T_parent_joint)
        screws.append(_screw(joint, T_world_joint))
        T_world_body = compose(T_world_joint, joint.T_joint_child)
        T_body_body = compose(joint.T_parent_joint, joint.T_joint_child)
        steps.append(compose(inverse(T_body_link[index]), T_body_body, T_body_link[index + 1]))
        T_world_link = compose(T_world_link, steps[-1])
        inertias.append(_spatial_inertia(body.inertia))
        columns.append({"name": joint.name, "kind": joint.kind, **joint_columns(joint)})
    link_prefix, frames = frames_besides_links(chain, T_body_link)
    last = chain.bodies[-1]
    tool, T_link_tool = description.tool, np.eye(4)
    if tool in last.frames and (tool == "tool" or "tool" not in description.frame_names):
        T_link_tool = compose(inverse(T_body_link[-1]), last.frames[tool])
        frames, tool = tuple(frame for frame in frames if frame.name != "tool"), "tool"
    return ScrewTable(
        M=compose(T_world_link, T_link_tool),
        Slist=np.array(screws).reshape(-1, 6).T,
        Mlist=np.array([*steps, T_link_tool]),
        Glist=np.array(inertias).reshape(-1, 6, 6),
        joints=tuple(columns),
        name=description.name,
        gravity=description.gravity,
        home=description.home,
        tool=tool,
        payload=description.payload,
        frames=frames,
        link_prefix=link_prefix,
        source=description.source,
    )


def _screw(joint: Joint, T_world_joint: FloatArray) -> FloatArray:
    direction, p = T_world_joint[:3, :3] @ joint.axis, T_world_joint[:3, 3]
    if joint.kind == "prismatic":
        return np.concatenate([np.zeros(3), direction])
    return np.concatenate([direction, np.cross(p, direction) + joint.pitch * direction])


def _spatial_inertia(inertia: Inertia) -> FloatArray:
    G = np.zeros((6, 6))
    G[:3, :3] = inertia.matrix
    G[3:, 3:] = inertia.mass * np.eye(3)
    return G
