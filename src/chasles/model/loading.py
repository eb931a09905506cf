"""Loading a robot: a shipped one by its name, or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError, warn
from chasles.model.consistency import missing_rotors, several_tools
from chasles.model.description import Description
from chasles.model.formats import ReadFormat, endings, read
from chasles.model.inertia import ModelWarning
from chasles.model.record import naming
from chasles.model.robots import shipped, shipped_path
from chasles.model.tools import with_tool_named


def load(
    name_or_path: str | Path,
    *,
    format: ReadFormat | None = None,
    tool: str = "",
    check: bool = True,
    trust: bool = False,
    arguments: Mapping[str, str] | None = None,
    packages: Mapping[str, str | Path] | None = None,
    srdf: str | Path | None = None,
    group: str = "",
    model: str = "",
) -> Description:
    """Load a shipped robot by name, or a robot from a file.

    Parameters
    ----------
    name_or_path
        A name of `shipped()`, or the path of a URDF, xacro, SDF, MJCF, TOML, SpaceLib or ROBOOP file.
    format
        Format of the file, such as ``"urdf"``; default: from the suffix.
    tool
        Name of a link or frame as the default frame. Empty: as the file says, or as for a `Description`.
    check
        Whether to check that the inertias in a file are physically possible. Shipped robots keep their published
        values, even where these are not quite physical, and are not checked.
    trust
        Whether an MJCF model may open files outside its folder.
    arguments, packages
        Values of a xacro file's arguments, and folders of the ROS packages that it names; see `from_xacro`.
    srdf
        SRDF file of the robot; `chasles.clearance` ignores its disabled pairs of links; see `from_srdf`. Default: the
        file with the robot's file name and the suffix `.srdf`, if it exists.
    group
        Group of joints in the SRDF file. Joints outside the group are locked at home, and the group's tip is the tool.
    model
        Name of the model or section in an SDF or ROBOOP file with several robots.

    Raises
    ------
    UnknownNameError
        The name is neither a shipped robot nor a file.
    ModelError
        The file does not describe a robot, or its suffix is unknown; the message lists the known suffixes.
    ArgumentError
        `arguments` or `packages` are given for a file that is not xacro, `model` for one that is not SDF, or a `group`
        without an SRDF file.

    Examples
    --------
    >>> load("puma560").n
    6
    """
    path, is_shipped = _path(name_or_path, format is not None)
    options = {"trust": trust, "arguments": arguments, "packages": packages, "model": model}
    check = check and not is_shipped
    description = read(path, check=check, format=format, **{name: value for name, value in options.items() if value})
    companion = Path(path).with_suffix(".srdf") if srdf is None else Path(srdf)
    if srdf is not None or companion.is_file():
        description = _with_semantics(description, companion, group, tool, is_chosen=srdf is not None)
    elif group:
        raise ArgumentError(
            f"{path}: '{group}' is a group of an SRDF file, but {companion} does not exist; give srdf=…"
        )
    if tool:
        with naming(str(path)):
            description = with_tool_named(description, tool)
    if check:
        sentences = (() if group or tool else several_tools(description)) + missing_rotors(description)
        if sentences:
            warn(f"robot '{description.name}': {'; '.join(sentences)}", ModelWarning)
    return description


def _path(name_or_path: str | Path, is_file: bool) -> tuple[str | Path, bool]:
    """Path of a robot's file, and whether it is a shipped one."""
    if not is_file and name_or_path in shipped():
        return shipped_path(str(name_or_path)), True
    text = str(name_or_path)
    means_a_file = is_file or bool(Path(text).suffix) or "/" in text or "\\" in text
    # os.path answers False for texts that no path can be, where Path raises.
    if os.path.isfile(text) or (means_a_file and os.path.exists(text)):
        return text, False
    if means_a_file:
        raise ModelError(f"the robot file '{text}' does not exist; robots by name: {', '.join(shipped())}")
    raise UnknownNameError("robot", text, [*shipped(), f"or the path of a file that ends in {', '.join(endings())}"])


def _with_semantics(description: Description, srdf: Path, group: str, tool: str, *, is_chosen: bool) -> Description:
    """Add what an SRDF file says; one that nobody asked for, and that does not fit, is left out with a warning."""
    from chasles.model.formats.srdf import with_semantics

    try:
        return with_semantics(description, srdf, group=group, tool=tool, complete=is_chosen)
    except ModelError as error:
        if is_chosen or group:
            raise
        warn(f"the SRDF file beside the robot is not used: {error}", ModelWarning)
        return description
