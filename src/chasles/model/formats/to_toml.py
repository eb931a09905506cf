"""Writing robots as TOML files, in each of the forms that `chasles.model.formats.toml` reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.description import Description, Frame
from chasles.model.formats.dh import INERTIA_KEYS
from chasles.model.formats.joint_columns import joint_columns
from chasles.model.formats.to_dh import DHTable, to_dh, to_modified_dh
from chasles.model.formats.to_screws import ScrewTable, to_screws
from chasles.model.formats.toml_shapes import shape_tables
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.loop import Loop
from chasles.model.placement import FloatArray
from chasles.model.record import shortened

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
TomlForm = Literal["links", "dh", "modified-dh", "screws"]


def to_toml(description: Description, form: TomlForm = "links", *, mesh_folders: bool = False) -> str:
    """Return the text of a TOML file of a robot.

    Parameters
    ----------
    description
        The robot.
    form
        "links": links and joints, which `parse_toml` reads back as an equal description, to the last bit. "dh",
        "modified-dh" or "screws": the table from `to_dh`, `to_modified_dh` or `to_screws`, without shapes.
    mesh_folders
        Whether meshes name the folder of their model, so that they are found from any folder on this machine.

    Raises
    ------
    ModelError
        No such table exists for the robot; the message says why.

    Examples
    --------
    >>> from chasles.model import load, parse_toml
    >>> robot = load("planar2r")
    >>> parse_toml(to_toml(robot)) == robot
    True
    >>> to_toml(robot, "dh").count("[[dh]]")
    2
    """
    if form == "links":
        return _links(description, mesh_folders)
    if form == "screws":
        return _screws(to_screws(description))
    if form in ("dh", "modified-dh"):
        return _dh(to_dh(description) if form == "dh" else to_modified_dh(description))
    raise ModelError(f"form must be 'links', 'dh', 'modified-dh' or 'screws', not {shortened(form)}")


def _links(description: Description, mesh_folders: bool) -> str:
    header = _header(description.name, description.source) | {"gravity": description.gravity}
    header |= _minimal(any(link.inertia.first_moment.any() for link in description.links), description.payload)
    header["base"] = _placement_table(description.T_world_base)
    header["tool"] = description.tool
    header["home"] = description.home
    header |= {
        key: getattr(description, key)
        for key in ("actuated", "independent", "disabled_pairs")
        if getattr(description, key)
    }
    parts = [_table("[robot]", header)]
    parts += [_table("[[link]]", {"name": link.name, **_inertia_table(link.inertia)}) for link in description.links]
    parts += [_table("[[joint]]", _joint_table(joint)) for joint in description.joints]
    parts += [_table("[[loop]]", _loop_table(loop)) for loop in description.loops]
    parts += [
        _table(heading, table)
        for link in description.links
        for heading, table in shape_tables(link, _placement_table, mesh_folders)
    ]
    return "\n".join([*parts, *_frames_and_payload(description.frames, description.payload)])


def _dh(table: DHTable) -> str:
    header = _header(table.name, table.source) | {"gravity": table.gravity, "base": _placement_table(table.base)}
    header |= _minimal(any("first_moment" in row for row in table.rows), table.payload)
    tool, frames = _tool_and_frames(table)
    parts = [_table("[robot]", header | tool)]
    heading = "[[dh]]" if table.convention == "standard" else "[[modified_dh]]"
    parts += [_table(heading, {key: value for key, value in row.items() if value != 0.0}) for row in table.rows]
    return "\n".join([*parts, *_frames_and_payload(frames, table.payload)])


def _screws(table: ScrewTable) -> str:
    header = _header(table.name, table.source) | {"gravity": table.gravity}
    header |= {"tool": table.tool, "home": table.home, "link_prefix": table.link_prefix}
    parts = [_table("[robot]", header)]
    screws = {"M": table.M, "Slist": table.Slist.T, "Mlist": table.Mlist, "Glist": table.Glist}
    parts.append(_table("[screws]", screws))
    parts += [_table("[[screws.joints]]", columns) for columns in table.joints]
    return "\n".join([*parts, *_frames_and_payload(table.frames, table.payload)])


def _tool_and_frames(table: DHTable) -> tuple[dict[str, Any], tuple[Frame, ...]]:
    header: dict[str, Any] = {"home": table.home, "link_prefix": table.link_prefix}
    if isinstance(table.tool, str):
        return {"tool": table.tool, **header}, table.frames
    tool = Frame("tool", f"{table.link_prefix}{len(table.rows)}", table.tool)
    return {"tool": "tool", **header}, (tool, *table.frames)


def _header(name: str, source: str) -> dict[str, Any]:
    return {"name": name, "source": source} if source else {"name": name}


def _minimal(has_first_moments: bool, payload: Inertia) -> dict[str, Any]:
    """Statement that bodies are minimal parameters, which no checks of physical inertias accept."""
    return {"inertial_parameters": "minimal"} if has_first_moments or payload.first_moment.any() else {}


def _frames_and_payload(frames: Iterable[Frame], payload: Inertia) -> list[str]:
    parts = []
    for frame in frames:
        placement = _placement_table(frame.T_link_frame)
        parts.append(_table("[[frame]]", {"name": frame.name, "link": frame.link, "placement": placement}))
    if payload != Inertia():
        parts.append(_table("[payload]", _inertia_table(payload)))
    return parts


def _inertia_table(inertia: Inertia) -> dict[str, Any]:
    values = (inertia.mass, inertia.center_of_mass, inertia.matrix, inertia.first_moment)
    return {key: value for key, value in zip(INERTIA_KEYS, values, strict=True) if np.asarray(value).any()}


def _joint_table(joint: Joint) -> dict[str, Any]:
    table: dict[str, Any] = {"name": joint.name, "kind": joint.kind, "parent": joint.parent, "child": joint.child}
    table["placement"] = _placement_table(joint.T_parent_joint)
    table["child_placement"] = _placement_table(joint.T_joint_child)
    if joint.axis.tolist() != [0.0, 0.0, 1.0]:
        table["axis"] = joint.axis
    if joint.kind == "universal":
        table["second_axis"] = joint.second_axis
    if joint.pitch:
        table["pitch"] = joint.pitch
    return table | joint_columns(joint)


def _loop_table(loop: Loop) -> dict[str, Any]:
    table: dict[str, Any] = {"name": loop.name, "kind": loop.kind, "first": loop.first, "second": loop.second}
    table["first_placement"] = _placement_table(loop.T_first_joint)
    table["second_placement"] = _placement_table(loop.T_second_joint)
    if loop.axis.tolist() != [0.0, 0.0, 1.0]:
        table["axis"] = loop.axis
    if loop.kind == "universal":
        table["second_axis"] = loop.second_axis
    return table | {key: getattr(loop, key) for key in ("pitch", "length", "tolerance") if getattr(loop, key)}


def _placement_table(T: FloatArray) -> dict[str, Any]:
    table: dict[str, Any] = {}
    if T[:3, 3].any():
        table["position"] = T[:3, 3]
    if (T[:3, :3] != np.eye(3)).any():
        table["rotation"] = T[:3, :3]
    return table


def _table(heading: str, table: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_value(value)}" for key, value in table.items() if not (isinstance(value, dict) and not value)]
    return "\n".join([heading, *lines, ""])


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, np.ndarray):
        if value.size > 16:
            return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
        return json.dumps(value.tolist())
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(float(value))
