"""Denavit-Hartenberg tables of robots, standard and modified.

Both conventions describe the same lines: ``Z_i = Rz(theta_i) Tz(d_i)`` moves along the axis of joint i, and
``X_i = Tx(a_i) Rx(alpha_i)`` along the common normal from this axis to the next. A chain of joints is
``base Z_1 X_1 Z_2 X_2 ... Z_n tool``. The standard convention counts X_i to the row of joint i, the modified one to the
row of joint i + 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.model.description import Description, Frame
from chasles.model.formats.common_normals import (
    CommonNormal,
    DirectedLine,
    clean_angle,
    clean_length,
    common_normal,
    crosses,
    is_z_axis,
    line_of,
)
from chasles.model.formats.dh import dh_placements
from chasles.model.formats.exact_values import exact_values
from chasles.model.formats.joint_columns import joint_columns
from chasles.model.formats.serial_chain import ChainBody, SerialChain, frames_besides_links, moved, serial_chain
from chasles.model.formats.single_freedoms import require_kinds, with_single_freedoms
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.placement import FloatArray, compose, inverse
from chasles.model.record import ArgumentRecord, naming, shortened

Convention = Literal["standard", "modified"]


@dataclass(frozen=True, eq=False)
class DHTable(ArgumentRecord):
    """Denavit-Hartenberg parameters of a robot: the arguments of `from_dh`, so ``from_dh(**table)`` is the robot.

    Parameters
    ----------
    rows
        One mapping for each joint, with the keys of `from_dh`.
    convention, name, base, tool, gravity, home, payload, frames, link_prefix, source
        See `from_dh`.

    Examples
    --------
    >>> from chasles.model import load
    >>> print(to_dh(load("planar2r")))
    joint   kind      theta  d     a  alpha  offset
    joint1  revolute      0  0   0.5      0       0
    joint2  revolute      0  0  0.25      0       0
    """

    rows: tuple[dict[str, Any], ...]
    convention: Convention = "standard"
    name: str = "robot"
    base: NDArray[np.float64] = field(default_factory=lambda: np.eye(4))
    tool: NDArray[np.float64] | str = field(default_factory=lambda: np.eye(4))
    gravity: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    home: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    payload: Inertia = field(default_factory=Inertia)
    frames: tuple[Frame, ...] = ()
    link_prefix: str = "link"
    source: str = ""

    def _repr_html_(self) -> str:
        return str(verbs.to_html(self))

    def __repr__(self) -> str:
        return f"<DHTable of '{self.name}': {len(self.rows)} joints, {self.convention}>"

    def __str__(self) -> str:
        """Return the geometric parameters as text, in m and rad."""
        columns = ("theta", "d", "a", "alpha") if self.convention == "standard" else ("alpha", "a", "theta", "d")
        lines = [["joint", "kind", *columns, "offset"]]
        for row in self.rows:
            numbers = (f"{row.get(key, 0.0):.6g}" for key in (*columns, "offset"))
            lines.append([row["name"], row.get("kind", "revolute"), *numbers])
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place < 2 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )


def to_dh(description: Description) -> DHTable:
    """Return the standard Denavit-Hartenberg table of a robot.

    The table describes the same motion for the same q: the placement of the base, the offsets of the joints and the
    placement of the tool hold everything that the convention cannot express. The links are the moving bodies: links
    joined by fixed joints become one inertia, given in the DH frames. Every other link and frame of the robot is kept
    as a frame. The inertia of the base, which has no effect, is left out. Universal, cylindrical and planar joints
    become one row for each degree of freedom.

    Where the convention leaves a choice (parallel, coincident or intersecting axes, and the first and last frame),
    existing frames of the robot are used, so that a robot made from a table gives the same table again.

    Raises
    ------
    ModelError
        No table exists: the robot branches, a joint is helical, spherical or free, or two axes are so nearly parallel
        that their common normal is too far away. The message names the joints.

    Examples
    --------
    >>> from chasles.model import from_dh, load
    >>> robot = load("puma560")
    >>> table = to_dh(robot)
    >>> print(table)
    joint   kind      theta        d       a    alpha  offset
    joint1  revolute      0        0       0   1.5708       0
    joint2  revolute      0        0  0.4318        0       0
    joint3  revolute      0  0.15005  0.0203  -1.5708       0
    joint4  revolute      0   0.4318       0   1.5708       0
    joint5  revolute      0        0       0  -1.5708       0
    joint6  revolute      0        0       0        0       0
    >>> from_dh(**table, check=False).joints == robot.joints
    True
    """
    return _table(description, "standard")


def to_modified_dh(description: Description) -> DHTable:
    """Return the modified (Craig's) Denavit-Hartenberg table of a robot; see `to_dh`.

    Examples
    --------
    >>> from chasles.model import load
    >>> print(to_modified_dh(load("panda")))
    joint         kind        alpha        a  theta      d  offset
    panda_joint1  revolute        0        0      0  0.333       0
    panda_joint2  revolute  -1.5708        0      0      0       0
    panda_joint3  revolute   1.5708        0      0  0.316       0
    panda_joint4  revolute   1.5708   0.0825      0      0       0
    panda_joint5  revolute  -1.5708  -0.0825      0  0.384       0
    panda_joint6  revolute   1.5708        0      0      0       0
    panda_joint7  revolute   1.5708    0.088      0      0       0
    """
    return _table(description, "modified")


def _table(description: Description, convention: Convention) -> DHTable:
    what = f"{convention} DH table"
    description = with_single_freedoms(description)
    require_kinds(description, ("revolute", "continuous", "prismatic", "fixed"), what)
    chain = serial_chain(description, what)
    with naming(f"robot '{description.name}' has no {what}"):
        normals = list(_normals(chain, convention))
    T_body_dh = [normal.T_end if convention == "standard" else normal.T_start for normal in normals]
    rows = []
    for index, joint in enumerate(chain.joints):
        angle, distance = _along_axis(joint, normals[index], normals[index + 1])
        across = normals[index + 1] if convention == "standard" else normals[index]
        revolves = joint.kind != "prismatic"
        row = {"name": joint.name, "kind": joint.kind, "alpha": across.alpha, "a": across.a}
        row |= {"d": distance, "offset": angle} if revolves else {"theta": angle, "offset": distance}
        row |= _exact_geometry(row, joint, convention)
        inertia = moved(chain.bodies[index + 1].inertia, inverse(T_body_dh[index + 1]))
        rows.append(row | _inertia_columns(inertia) | joint_columns(joint))
    link_prefix, frames = frames_besides_links(chain, T_body_dh)
    last = chain.bodies[-1]
    tool: FloatArray | str = description.tool
    if description.tool in last.frames and (description.tool == "tool" or "tool" not in description.frame_names):
        tool = compose(inverse(T_body_dh[-1]), last.frames[description.tool])
        frames = tuple(frame for frame in frames if frame.name != "tool")
    return DHTable(
        rows=tuple(rows),
        convention=convention,
        name=description.name,
        base=compose(description.T_world_base, T_body_dh[0]),
        tool=tool,
        gravity=description.gravity,
        home=description.home,
        payload=description.payload,
        frames=frames,
        link_prefix=link_prefix,
        source=description.source,
    )


def _exact_geometry(row: dict[str, Any], joint: Joint, convention: Convention) -> dict[str, float]:
    """Geometry of a row, to the last bit that of the row from which the joint was made, if it was."""

    def placed(geometry: Mapping[str, float]) -> FloatArray:
        return np.array(dh_placements({"kind": row["kind"], **geometry}, convention))

    geometry: dict[str, float] = {key: row[key] for key in ("alpha", "a", "theta", "offset", "d") if key in row}
    return exact_values(geometry, placed, np.array([joint.T_parent_joint, joint.T_joint_child]))


def _normals(chain: SerialChain, convention: Convention) -> Iterator[CommonNormal]:
    """Common normals of the joint axes next to each body, in the frame of the body."""
    joints = chain.joints
    ends = [line_of(joint.T_parent_joint, joint.axis) for joint in joints]
    starts = [line_of(inverse(joint.T_joint_child), joint.axis) for joint in joints]
    first, *middle, last = chain.bodies
    normal = _end_normal(first, ends[0], free="start" if convention == "modified" else None, towards=np.eye(3)[0])
    yield normal
    for index, body in enumerate(middle):
        start, end = starts[index], ends[index + 1]
        wishes = [T for T in body.frames.values() if is_z_axis(T, end if convention == "standard" else start)]
        with naming(f"joints {shortened(joints[index].name)} and {shortened(joints[index + 1].name)}"):
            normal = common_normal(start, end, wishes, _carried(joints[index], normal))
        yield normal
    free: Literal["end"] | None = "end" if convention == "standard" else None
    yield _end_normal(last, starts[-1], free=free, towards=_carried(joints[-1], normal))


def _carried(joint: Joint, normal: CommonNormal) -> FloatArray:
    """Direction of the normal before a joint, in the body after it, at joint position zero."""
    T_child_parent = compose(inverse(joint.T_joint_child), inverse(joint.T_parent_joint))
    direction: FloatArray = T_child_parent[:3, :3] @ normal.T_end[:3, 0]
    return direction


def _end_normal(
    body: ChainBody, axis: DirectedLine, *, free: Literal["start", "end"] | None, towards: FloatArray
) -> CommonNormal:
    """Common normal of the first or last joint axis and the z axis of a frame of the body, best one that it has.

    The z axis may be another line than the joint axis at the `free` end of the normal only.
    """
    for T in body.frames.values():
        start = line_of(T) if free == "start" else axis
        end = line_of(T) if free == "end" else axis
        if (free or is_z_axis(T, axis)) and crosses(T, start) and crosses(T, end):
            return common_normal(start, end, [T])
    nearest = DirectedLine(axis.nearest(np.zeros(3)), axis.direction)
    return common_normal(nearest, nearest, towards=towards)


def _along_axis(joint: Joint, before: CommonNormal, after: CommonNormal) -> tuple[float, float]:
    """Angle and distance, at joint position zero, from one common normal to the next on the axis of a joint."""
    start = compose(inverse(joint.T_parent_joint), before.T_end)
    end = compose(joint.T_joint_child, after.T_start)
    x_start, x_end = start[:3, 0], end[:3, 0]
    angle = clean_angle(float(joint.axis @ np.cross(x_start, x_end)), float(x_start @ x_end))
    return angle, clean_length(float(joint.axis @ (end[:3, 3] - start[:3, 3])), start[:3, 3], end[:3, 3])


def _inertia_columns(inertia: Inertia) -> dict[str, Any]:
    if inertia.is_massless:
        return {}
    columns: dict[str, Any] = {
        "mass": inertia.mass,
        "center_of_mass": inertia.center_of_mass.tolist(),
        "inertia": inertia.matrix.tolist(),
    }
    if inertia.first_moment.any():
        columns["first_moment"] = inertia.first_moment.tolist()
    return columns
