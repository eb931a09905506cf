"""Robots from screw axes, as in Lynch and Park, Modern Robotics (chapters 4 and 8).

A screw axis is a twist (omega, v), angular part first, for one unit of joint position:

- omega a unit vector: the joint rotates; its pitch is ``h = omega · v`` (m/rad), revolute if h is zero, else helical;
- omega zero and v a unit vector: prismatic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ModelError
from chasles.geometry.elementary import rotation_taking_z_to
from chasles.model.consistency import check_description
from chasles.model.description import STANDARD_GRAVITY, Description, Frame, Link
from chasles.model.formats.joint_columns import COLUMNS, joint_fields
from chasles.model.freedoms import JointKind
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.numbers import frozen_array
from chasles.model.placement import FloatArray, compose, frozen_placement, homogeneous, inverse
from chasles.model.record import check_keys, naming, shortened


def from_screws(
    M: ArrayLike | None = None,
    Slist: ArrayLike | None = None,
    *,
    Blist: ArrayLike | None = None,
    Mlist: ArrayLike | None = None,
    Glist: ArrayLike | None = None,
    joints: Sequence[Mapping[str, Any]] | None = None,
    name: str = "robot",
    gravity: ArrayLike = STANDARD_GRAVITY,
    home: ArrayLike | None = None,
    tool: str = "tool",
    payload: Inertia | None = None,
    frames: Sequence[Frame] = (),
    link_prefix: str = "link",
    source: str = "",
    check: bool = True,
) -> Description:
    """Make a serial robot from its screw axes at the zero configuration.

    Parameters
    ----------
    M
        Placement of the tool in the base at the zero configuration, (4, 4). Default: the product of `Mlist`.
    Slist, Blist
        Screw axes in base or in tool coordinates, one a column, shape (6, n), as in Modern Robotics; give
        one of the two.
    Mlist
        Placements of each link frame in the one before at the zero configuration, shape (n + 1, 4, 4): from the base to
        the first link, ..., from the last link to the tool. Default: link frames that coincide with the base.
    Glist
        Spatial inertias of the links in their frames, whose origins are the centres of mass, shape (n, 6, 6), angular
        part first: ``diag(inertia, mass · 1)``. Default: no masses (kinematics only).
    joints
        One mapping of further properties for each joint, all optional: `name`, `limits`, `mimic`, `viscous_friction`,
        `coulomb_friction`, `coulomb_velocity`, `motor_inertia`, `gear_ratio`, as for `from_dh`, and `kind`, if it is
        "continuous".
    name, gravity, home, payload, source
        See `Description`.
    tool
        Name of the default frame: "tool", placed by `M`, or another link or frame.
    frames
        Additional frames, on links given by name.
    link_prefix
        Prefix of the link names; a number follows.
    check
        Whether to check that the inertias are physically possible.

    Returns
    -------
    Description
        With links link0 (the base) to link`n`, joints joint1 to joint`n` unless named, and, unless `tool` is another,
        the frame "tool".

    Raises
    ------
    ModelError
        The message names the argument, the index and the reason.

    Examples
    --------
    >>> import numpy as np
    >>> arm = from_screws(np.eye(4), Slist=[[0], [0], [1], [0], [0], [0.1]])
    >>> arm.joints[0].kind, arm.joints[0].pitch
    ('helical', 0.1)
    """
    if (Slist is None) == (Blist is None):
        raise ModelError("from_screws needs exactly one of Slist and Blist")
    label = "Slist" if Blist is None else "Blist"
    axes = frozen_array(Slist if Blist is None else Blist, (6, None), f"{label} (one screw axis a column)")
    n = axes.shape[1]
    T_base_links, T_base_tool = _link_frames(Mlist, n, M)
    inertias = [Inertia()] * n if Glist is None else _inertias(Glist, n)
    columns = _columns(joints, n)
    links, screw_joints = [Link(f"{link_prefix}0")], []
    for index in range(n):
        with naming(f"{label} column {index + 1}"):
            kind, pitch, T_screw = _axis_frame(axes[:, index])
        T_base_joint = T_screw if Blist is None else compose(T_base_tool, T_screw)
        links.append(Link(f"{link_prefix}{index + 1}", inertias[index]))
        with naming(f"joint {index + 1}"):
            wanted: JointKind = columns[index].get("kind", kind)
            if wanted != kind and (wanted, kind) != ("continuous", "revolute"):
                raise ModelError(f"kind is {shortened(wanted)}, but its screw is that of a {kind} joint")
            screw_joints.append(
                Joint(
                    kind=wanted,
                    parent=links[-2].name,
                    child=links[-1].name,
                    T_parent_joint=compose(inverse(T_base_links[index]), T_base_joint),
                    T_joint_child=compose(inverse(T_base_joint), T_base_links[index + 1]),
                    axis=np.array([0.0, 0.0, 1.0]),
                    pitch=pitch,
                    **joint_fields(columns[index], f"joint{index + 1}"),
                )
            )
    own_tool = [Frame("tool", links[-1].name, compose(inverse(T_base_links[n]), T_base_tool))] if tool == "tool" else []
    description = Description(
        name=name,
        links=tuple(links),
        joints=tuple(screw_joints),
        frames=(*own_tool, *frames),
        tool=tool,
        payload=payload or Inertia(),
        gravity=np.asarray(gravity),
        home=home,
        source=source,
    )
    return check_description(description) if check else description


def _columns(joints: Sequence[Mapping[str, Any]] | None, n: int) -> Sequence[Mapping[str, Any]]:
    """Fields of each joint besides its screw."""
    if joints is None:
        return [{}] * n
    if len(joints) != n:
        raise ModelError(f"joints must be {n} mappings, not {len(joints)}")
    for index, entries in enumerate(joints):
        with naming(f"joint {index + 1}"):
            check_keys(entries, ("kind", *COLUMNS), "an entry of joints")
    return joints


def _axis_frame(screw: FloatArray) -> tuple[JointKind, float, FloatArray]:
    """Kind and pitch of a joint, and a frame with z along the screw axis, at its point nearest the origin."""
    omega, v = screw[:3], screw[3:]
    if not omega.any():
        if abs(float(np.linalg.norm(v)) - 1.0) > 1e-6:
            raise ModelError("omega is zero, so v must be a unit vector (a prismatic joint)")
        return "prismatic", 0.0, homogeneous(rotation_taking_z_to(v / np.linalg.norm(v)))
    if abs(float(np.linalg.norm(omega)) - 1.0) > 1e-6:
        raise ModelError("omega must be a unit vector, or zero for a prismatic joint")
    omega = omega / np.linalg.norm(omega)
    point = np.cross(omega, v)
    pitch = float(omega @ v)
    # The dot product of a zero-pitch axis carries rounding of the size of its terms, and where the axis passes the
    # origin, the terms themselves are rounding of lengths of the order of a metre.
    if abs(pitch) <= 1e-12 * max(1.0, float(np.abs(omega) @ np.abs(v))):
        pitch = 0.0
    kind: JointKind = "helical" if pitch else "revolute"
    return kind, pitch, homogeneous(rotation_taking_z_to(omega), point)


def _link_frames(Mlist: ArrayLike | None, n: int, M: ArrayLike | None) -> tuple[list[FloatArray], FloatArray]:
    """Placements in the base, at the zero configuration, of link 0 to link n, and of the tool."""
    if Mlist is None:
        if M is None:
            raise ModelError("from_screws needs M or Mlist")
        return [np.eye(4)] * (n + 1), frozen_placement(M, "M")
    steps = frozen_array(Mlist, (n + 1, 4, 4), f"Mlist of {n} joints")
    frames = [np.eye(4)]
    for index in range(n + 1):
        frames.append(compose(frames[-1], frozen_placement(steps[index], f"Mlist[{index}]")))
    end = frames.pop()
    if M is None:
        return frames, end
    T_base_tool = frozen_placement(M, "M")
    if np.abs(end - T_base_tool).max() > 1e-6 * max(1.0, float(np.abs(T_base_tool).max())):
        raise ModelError("the product of Mlist differs from M: they place the tool differently")
    return frames, T_base_tool


def _inertias(Glist: ArrayLike, n: int) -> list[Inertia]:
    inertias = []
    for index, G in enumerate(frozen_array(Glist, (n, 6, 6), f"Glist of {n} joints")):
        mass = float(G[5, 5])
        expected = np.zeros((6, 6))
        expected[:3, :3] = G[:3, :3]
        expected[3:, 3:] = mass * np.eye(3)
        if (expected != G).any():
            raise ModelError(
                f"Glist[{index}] must be diag(inertia, mass · 1): its frame must sit at the centre of mass"
            )
        inertias.append(Inertia(mass, np.zeros(3), G[:3, :3]))
    return inertias
