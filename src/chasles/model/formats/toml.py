"""The project's own robot file: TOML, readable by people, exact to the last bit. See docs/robot-file-format.md.

A file has a table ``[robot]`` and one of

- ``[[dh]]`` or ``[[modified_dh]]``: one table for each row, with the keys of `from_dh`;
- ``[screws]``: the arguments of `from_screws`, with one screw axis a line;
- ``[[link]]`` and ``[[joint]]``: the fields of `Link` and `Joint`, written out.

``[[frame]]`` adds frames, ``[[loop]]`` loops, ``[[visual]]`` and ``[[collision]]`` shapes of links, and ``[payload]`` a
body at the tool. Unknown keys are errors. Units are SI and radians.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.consistency import check_description
from chasles.model.description import Description, Frame, Link
from chasles.model.formats.dh import INERTIA_KEYS, from_dh, inertia_columns
from chasles.model.formats.files import read_bytes
from chasles.model.formats.joint_columns import COLUMNS, joint_fields
from chasles.model.formats.screws import from_screws
from chasles.model.formats.toml_shapes import read_shape, with_shapes
from chasles.model.formats.urdf_origins import snapped_angle
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint
from chasles.model.loop import Loop
from chasles.model.numbers import LARGEST_DAMPING, LARGEST_NUMBER, WITHIN_BOUND, frozen_array
from chasles.model.placement import FloatArray, from_position_and_angles, homogeneous
from chasles.model.record import check_keys, naming, shortened
from chasles.model.shapes import Shape

MAX_BYTES = 500_000
MAX_DOTS = 50
MAX_TABLES = 2_000
BODIES = ("dh", "modified_dh", "screws", "link")
SHAPES = ("visual", "collision")
TABLES = ("robot", *BODIES, "joint", "frame", "loop", "payload", *SHAPES)
ROBOT_KEYS = (
    "name",
    "source",
    "gravity",
    "base",
    "tool",
    "home",
    "link_prefix",
    "actuated",
    "independent",
    "disabled_pairs",
    "inertial_parameters",
)
SCREW_KEYS = ("M", "Slist", "Blist", "Mlist", "Glist", "joints")
LINK_KEYS = ("name", *INERTIA_KEYS)
JOINT_KEYS = ("kind", "parent", "child", "placement", "child_placement", "axis", "second_axis", "pitch", *COLUMNS)
LOOP_KEYS = (
    *("name", "kind", "first", "second", "first_placement", "second_placement"),
    *("axis", "second_axis", "pitch", "length", "tolerance"),
)
FRAME_KEYS = ("name", "link", "placement")
PLACEMENT_KEYS = ("position", "rpy", "rotation")


def from_toml(path: str | Path, *, check: bool = True) -> Description:
    """Read a robot from a TOML file.

    Parameters
    ----------
    path
        The file.
    check
        Whether to check that the inertias are physically possible. Those of a robot with ``inertial_parameters =
        "minimal"`` are not checked.

    Raises
    ------
    ModelError
        The message names the file, the table and the reason.

    Examples
    --------
    >>> from chasles.model.robots import shipped_path
    >>> from_toml(shipped_path("stanford")).joints[2].kind
    'prismatic'
    """
    try:
        text = read_bytes(path, MAX_BYTES).decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    return parse_toml(text, file=str(path), folder=Path(path).absolute().parent, check=check)


def parse_toml(text: str, *, file: str = "TOML text", folder: str | Path = "", check: bool = True) -> Description:
    r"""Read a robot from the text of a TOML file; `file` is its name in messages, `folder` where its meshes are.

    Examples
    --------
    >>> parse_toml('[robot]\nname = "rod"\n[[dh]]\na = 0.5\n').frame_names
    ('link0', 'link1', 'tool')
    """
    with naming(file):
        # The standard reader takes quadratic time for a key of many parts.
        if any(piece.count(".") > MAX_DOTS for piece in re.split(r"[=,{\n]", text)):
            raise ModelError(f"not a robot file: a key of more than {MAX_DOTS} parts")
        import tomllib  # slow to import, and not needed for other files

        try:
            document = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"not TOML: {str(error)[:200] or 'nested too deep'}") from None
        check_keys(document, TABLES, "the file")
        _check_numbers(document, "")
        description = with_shapes(_description(document), {tag: _shapes(document, tag, str(folder)) for tag in SHAPES})
        stated = document.get("robot", {}).get("inertial_parameters", "physical")
        if stated not in ("physical", "minimal"):
            raise ModelError(f"[robot] inertial_parameters must be 'physical' or 'minimal', not {shortened(stated)}")
        return check_description(description) if check and stated == "physical" else description


def _check_numbers(value: Any, where: str) -> None:
    """Refuse truth values, numbers that are not finite (limits may be infinite) and absurdly large ones."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _check_numbers(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_numbers(item, f"{where}[{index}]")
    elif isinstance(value, bool):
        raise ModelError(f"{where[:200]} must not be a truth value")
    elif isinstance(value, (int, float)):
        if ".limits" in where:
            largest = math.inf
        else:
            largest = LARGEST_DAMPING if where.endswith(".viscous_friction") else LARGEST_NUMBER
        if not abs(value) <= largest:
            raise ModelError(f"{where[:200]} {WITHIN_BOUND}, not {shortened(value)}")


def _description(document: Mapping[str, Any]) -> Description:
    header = _header(document)
    plain = _bodies(document, header)
    frames = tuple(_frame(table, where) for table, where in _tables(document, "frame"))
    named = {frame.name for frame in frames}
    with naming("[payload]"):
        payload = _inertia(document.get("payload", {}), INERTIA_KEYS)
    with naming("[robot]"):
        return plain.replace(
            frames=(*(frame for frame in plain.frames if frame.name not in named), *frames),
            gravity=header.get("gravity", plain.gravity),
            T_world_base=_placement(header.get("base", {}), "base"),
            tool=header.get("tool", ""),
            home=header.get("home"),
            payload=payload,
            source=header.get("source", ""),
            loops=tuple(_loop(table, where) for table, where in _tables(document, "loop")),
            actuated=header.get("actuated", ()),
            independent=header.get("independent", ()),
            disabled_pairs=header.get("disabled_pairs", ()),
        )


def _header(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table [robot], its texts and lists checked."""
    header: Mapping[str, Any] = document.get("robot", {})
    check_keys(header, ROBOT_KEYS, "[robot]")
    for key, value in header.items():
        is_right, what = _KINDS.get(key, (None, ""))
        if is_right is not None and not is_right(value):
            raise ModelError(f"[robot] {key} must be {what}, not {shortened(value)}")
    return header


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_pairs(value: object) -> bool:
    return isinstance(value, list) and all(_are_names(pair) and len(pair) == 2 for pair in value)


_KINDS = {
    **dict.fromkeys(("name", "source", "tool", "link_prefix"), (_is_text, "text")),
    **dict.fromkeys(("actuated", "independent"), (_are_names, "a list of names")),
    "disabled_pairs": (_are_pairs, "a list of pairs of links"),
}


def _bodies(document: Mapping[str, Any], header: Mapping[str, Any]) -> Description:
    """Links and joints, in the one form that the file has, and the frame of the tool that a table implies."""
    forms = [key for key in BODIES if key in document]
    if len(forms) != 1:
        raise ModelError(
            f"the file must have exactly one of [[dh]], [[modified_dh]], [screws] and [[link]], not {forms or 'none'}"
        )
    form = forms[0]
    if "joint" in document and form != "link":
        raise ModelError(f"[[joint]] goes with [[link]] and cannot be combined with {form}")
    if "link_prefix" in header and form == "link":
        raise ModelError("[robot] link_prefix does not go with [[link]], where each link has its name")
    names = {key: header[key] for key in ("name", "link_prefix") if key in header}
    if form == "link":
        links = tuple(_link(table, where) for table, where in _tables(document, "link"))
        joints = tuple(_joint(table, where) for table, where in _tables(document, "joint"))
        return Description(name=header.get("name", "robot"), links=links, joints=joints)
    if form == "screws":
        return _from_screw_table(document["screws"], names)
    rows = [_with_snapped_angles(table) for table, _ in _tables(document, form)]
    return from_dh(rows, convention="standard" if form == "dh" else "modified", check=False, **names)


def _tables(document: Mapping[str, Any], key: str) -> list[tuple[Mapping[str, Any], str]]:
    """Return the tables of an array of tables, each with the words that name it in a message."""
    tables = document.get(key, [])
    if not isinstance(tables, list):
        raise ModelError(f"'{key}' must be written as an array of tables, [[{key}]]")
    if len(tables) > MAX_TABLES:
        raise ModelError(f"there are {len(tables)} [[{key}]] tables; at most {MAX_TABLES} are read")
    named = []
    for index, table in enumerate(tables, start=1):
        if not isinstance(table, Mapping):
            raise ModelError(f"'{key}' must be written as an array of tables, [[{key}]]")
        name = f" {shortened(table['name'])}" if "name" in table else ""
        named.append((table, f"[[{key}]] number {index}{name}"))
    return named


def _text(table: Mapping[str, Any], key: str) -> str:
    if key not in table:
        raise ModelError(f"'{key}' is missing")
    if not isinstance(table[key], str):
        raise ModelError(f"'{key}' must be text, not {shortened(table[key])}")
    return str(table[key])


def _link(table: Mapping[str, Any], where: str) -> Link:
    with naming(where):
        return Link(_text(table, "name"), _inertia(table, LINK_KEYS))


def _inertia(table: Mapping[str, Any], known: tuple[str, ...]) -> Inertia:
    check_keys(table, known, "the table")
    return inertia_columns(table)


def _joint(table: Mapping[str, Any], where: str) -> Joint:
    with naming(where):
        check_keys(table, JOINT_KEYS, "the table")
        kind: Any = _text(table, "kind")
        return Joint(
            kind=kind,
            parent=_text(table, "parent"),
            child=_text(table, "child"),
            T_parent_joint=_placement(table.get("placement", {}), "placement"),
            T_joint_child=_placement(table.get("child_placement", {}), "child_placement"),
            axis=table.get("axis", (0.0, 0.0, 1.0)),
            **{key: table[key] for key in ("second_axis", "pitch") if key in table},
            **joint_fields(table, _text(table, "name")),
        )


def _shapes(document: Mapping[str, Any], tag: str, folder: str) -> list[tuple[str, Shape]]:
    shapes = []
    for table, where in _tables(document, tag):
        with naming(where):
            shapes.append(read_shape(table, _placement(table.get("placement", {}), "placement"), folder))
    return shapes


def _loop(table: Mapping[str, Any], where: str) -> Loop:
    with naming(where):
        check_keys(table, LOOP_KEYS, "the table")
        kind: Any = _text(table, "kind")
        return Loop(
            name=_text(table, "name"),
            kind=kind,
            first=_text(table, "first"),
            second=_text(table, "second"),
            T_first_joint=_placement(table.get("first_placement", {}), "first_placement"),
            T_second_joint=_placement(table.get("second_placement", {}), "second_placement"),
            **{key: table[key] for key in ("axis", "second_axis", "pitch", "length", "tolerance") if key in table},
        )


def _frame(table: Mapping[str, Any], where: str) -> Frame:
    with naming(where):
        check_keys(table, FRAME_KEYS, "the table")
        return Frame(_text(table, "name"), _text(table, "link"), _placement(table.get("placement", {}), "placement"))


def _placement(table: Any, what: str) -> FloatArray:
    check_keys(table, PLACEMENT_KEYS, what)
    if "rpy" in table and "rotation" in table:
        raise ModelError(f"{what} has both rpy and rotation; give one")
    position = frozen_array(table.get("position", np.zeros(3)), (3,), f"{what}: position")
    if "rotation" in table:
        return homogeneous(frozen_array(table["rotation"], (3, 3), f"{what}: rotation"), position)
    angles = frozen_array(table.get("rpy", np.zeros(3)), (3,), f"{what}: rpy")
    return from_position_and_angles(position, [snapped_angle(float(angle)) for angle in angles])


def _with_snapped_angles(row: Mapping[str, Any]) -> dict[str, Any]:
    angles = ("alpha", "theta") if row.get("kind") == "prismatic" else ("alpha", "theta", "offset")
    return {
        key: snapped_angle(value) if key in angles and isinstance(value, float) else value for key, value in row.items()
    }


def _from_screw_table(table: Any, names: Mapping[str, Any]) -> Description:
    check_keys(table, SCREW_KEYS, "[screws]")
    with naming("[screws]"):
        lines = {
            key: frozen_array(table[key], (None, 6), f"{key} (one axis a line)").T
            for key in ("Slist", "Blist")
            if key in table
        }
        if not isinstance(table.get("joints", []), list):
            raise ModelError(f"joints must be a list with an entry for each joint, not {shortened(table['joints'])}")
        return from_screws(**{**table, **lines}, **names, check=False)
