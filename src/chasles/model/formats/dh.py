"""Robots from Denavit-Hartenberg tables, standard and modified.

- Standard (Denavit and Hartenberg, 1955; Paul): ``T_(i-1)_i = Rz(theta) Tz(d) Tx(a) Rx(alpha)``.
- Modified (Craig, Introduction to Robotics, eq. 3.6): ``T_(i-1)_i = Rx(alpha) Tx(a) Rz(theta) Tz(d)``, where the row of
  joint i holds Craig's alpha_(i-1) and a_(i-1).

Both accept the extension of SpaceLib (User's Manual 2.2a, eq. 3.1), a translation b along the y axis after that along
x: ``Tx(a) Ty(b) Rx(alpha)`` stands in place of ``Tx(a) Rx(alpha)``. A frame may then sit off the common normal.

The position q of a joint adds to theta (revolute) or d (prismatic), and so does `offset`. The frame of link i is the DH
frame i: centres of mass and inertias are given in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ModelError
from chasles.geometry.elementary import rotation_x, rotation_z
from chasles.model.consistency import check_description
from chasles.model.description import STANDARD_GRAVITY, Description, Frame, Link
from chasles.model.formats.joint_columns import COLUMNS, joint_fields
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.numbers import frozen_array, number
from chasles.model.placement import FloatArray, compose, homogeneous
from chasles.model.record import check_keys, naming, shortened

GEOMETRY_KEYS = ("alpha", "a", "b", "d", "theta", "offset")
INERTIA_KEYS = ("mass", "center_of_mass", "inertia", "first_moment")
ROW_KEYS = (*GEOMETRY_KEYS, "kind", *INERTIA_KEYS, *COLUMNS)

Rows = Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]]


def from_dh(
    rows: Rows,
    *,
    convention: Literal["standard", "modified"] = "standard",
    name: str = "robot",
    base: ArrayLike | None = None,
    tool: ArrayLike | str | None = None,
    gravity: ArrayLike = STANDARD_GRAVITY,
    home: ArrayLike | None = None,
    payload: Inertia | None = None,
    frames: Sequence[Frame] = (),
    link_prefix: str = "link",
    source: str = "",
    check: bool = True,
) -> Description:
    """Make a serial robot from its Denavit-Hartenberg table.

    Parameters
    ----------
    rows
        One mapping for each joint, or one mapping from keys to columns. Keys, all optional: `alpha`, `theta` (rad),
        `a`, `b`, `d` (m); `offset`, added to the joint position; `kind`, "revolute" (default), "continuous" or
        "prismatic"; `limits`, a pair (lower, upper) or a `Limits` or its fields in a mapping; `mass` (kg),
        `center_of_mass` (3,) (m) and `inertia` about it, (3, 3) or its diagonal (3,) (kg·m²), in the link frame;
        `first_moment` (3,) (kg·m) of minimal parameters, see `Inertia`; `viscous_friction`, `coulomb_friction`,
        `coulomb_velocity` at the joint; `motor_inertia`, `gear_ratio`; `motor_viscous_friction`,
        `motor_coulomb_friction` on the motor side, which add to the joint's own friction times gear_ratio² and
        |gear_ratio|; `name` of the joint; `mimic`, a `Mimic` or its fields in a mapping, for a joint that follows
        another.
    convention
        "standard" or "modified".
    name, gravity, home, payload, source
        See `Description`.
    base
        Placement of frame 0 in the world, (4, 4).
    tool
        Placement of the frame "tool" in the last link, (4, 4); or the name of one of the links or `frames`, which is
        then the default frame.
    frames
        Additional frames, on links given by name.
    link_prefix
        Prefix of the link names; a number follows.
    check
        Whether to check that the inertias are physically possible.

    Returns
    -------
    Description
        With links link0 (the base) to link`n`, joints joint1 to joint`n` unless named, and, unless `tool` is a name,
        the frame "tool".

    Raises
    ------
    ModelError
        The message names the row and the reason.

    Examples
    --------
    >>> arm = from_dh([{"a": 0.5, "mass": 1.0}, {"a": 0.25, "mass": 0.5}])
    >>> arm.n, arm.frame_names
    (2, ('link0', 'link1', 'link2', 'tool'))
    """
    if convention not in ("standard", "modified"):
        raise ModelError(f"the DH convention must be 'standard' or 'modified', not {shortened(convention)}")
    _require_numbers(gravity, "gravity")
    links, joints = [Link(f"{link_prefix}0")], []
    for index, row in enumerate(_as_rows(rows), start=1):
        with naming(f"DH row {index}"):
            check_keys(row, ROW_KEYS, "a row")
            for key, value in row.items():
                _require_numbers(value, key)
            links.append(Link(f"{link_prefix}{index}", inertia_columns(row)))
            joints.append(_joint(row, convention, f"joint{index}", links[-2].name, links[-1].name))
    description = Description(
        name=name,
        links=tuple(links),
        joints=tuple(joints),
        frames=with_tool(frames, tool, links[-1].name),
        gravity=np.asarray(gravity),
        payload=payload or Inertia(),
        tool=tool if isinstance(tool, str) else "tool",
        T_world_base=np.eye(4) if base is None else np.asarray(base),
        home=home,
        source=source,
    )
    return check_description(description) if check else description


def with_tool(frames: Sequence[Frame], tool: ArrayLike | str | None, link: str) -> tuple[Frame, ...]:
    """Return the frame "tool" on a link, unless `tool` is the name of another, and then the other frames."""
    if isinstance(tool, str):
        return tuple(frames)
    return (Frame("tool", link, np.eye(4) if tool is None else np.asarray(tool)), *frames)


def is_symbolic(value: object) -> bool:
    """Return whether a value, or a part of it, has free SymPy symbols.

    Examples
    --------
    >>> import sympy
    >>> is_symbolic([0.0, sympy.Symbol("l1")]), is_symbolic([0.0, sympy.pi / 2])
    (True, False)
    """
    if getattr(value, "free_symbols", None):
        return True
    return np.iterable(value) and not isinstance(value, str | Mapping) and any(is_symbolic(part) for part in value)


def _require_numbers(value: object, name: str) -> None:
    if is_symbolic(value):
        raise ModelError(f"{name} is {value}; a Robot needs numbers, ch.SymbolicRobot.from_dh takes symbols")


def _as_rows(rows: Rows) -> list[Mapping[str, Any]]:
    if not isinstance(rows, Mapping):
        return list(rows)
    lengths = {key: len(column) for key, column in rows.items()}
    if len(set(lengths.values())) > 1:
        raise ModelError(f"the columns of a DH table must have equal lengths, not {lengths}")
    count = max(lengths.values(), default=0)
    return [{key: column[index] for key, column in rows.items()} for index in range(count)]


def _joint(row: Mapping[str, Any], convention: str, name: str, parent: str, child: str) -> Joint:
    kind = row.get("kind", "revolute")
    if kind not in ("revolute", "continuous", "prismatic"):
        raise ModelError(f"kind must be revolute, continuous or prismatic, not {shortened(kind)}")
    T_parent_joint, T_joint_child = dh_placements(row, convention)
    return Joint(
        kind=kind,
        parent=parent,
        child=child,
        T_parent_joint=T_parent_joint,
        T_joint_child=T_joint_child,
        **joint_fields(row, name),
    )


def dh_placements(row: Mapping[str, Any], convention: str) -> tuple[FloatArray, FloatArray]:
    """Return T_parent_joint and T_joint_child, (4, 4), of the joint in a row.

    Examples
    --------
    >>> dh_placements({"a": 0.5, "d": 0.1}, "modified")[0][:3, 3]
    array([0.5, 0. , 0.1])
    """
    alpha, a, b, d, theta, offset = (number(row.get(key, 0.0), key) for key in GEOMETRY_KEYS)
    along_x: FloatArray = homogeneous(rotation_x(alpha), [a, b, 0.0])
    if row.get("kind") == "prismatic":
        along_z = homogeneous(rotation_z(theta), [0.0, 0.0, d + offset])
    else:
        along_z = homogeneous(rotation_z(theta + offset), [0.0, 0.0, d])
    return (compose(along_x, along_z), np.eye(4)) if convention == "modified" else (along_z, along_x)


def inertia_columns(row: Mapping[str, Any]) -> Inertia:
    """Return the inertia that `INERTIA_KEYS` of a table give; its matrix may be written as its diagonal.

    Examples
    --------
    >>> inertia_columns({"mass": 2.0, "inertia": [0.1, 0.2, 0.3]}).matrix[1, 1]
    np.float64(0.2)
    """
    matrix = row.get("inertia", np.zeros((3, 3)))
    if np.iterable(matrix) and not any(np.iterable(line) for line in matrix):
        matrix = np.diag(frozen_array(matrix, (3,), "the diagonal of inertia"))
    center, moment = row.get("center_of_mass", np.zeros(3)), row.get("first_moment", np.zeros(3))
    return Inertia(row.get("mass", 0.0), center, matrix, moment)
