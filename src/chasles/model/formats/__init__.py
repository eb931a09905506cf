"""File formats and tables that describe robots; all but URDF are imported when they are first read or written."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from chasles.base.errors import ArgumentError, ModelError, warn
from chasles.model.consistency import missing_rotors, several_tools
from chasles.model.description import Description
from chasles.model.formats.files import read_bytes
from chasles.model.formats.urdf import from_urdf
from chasles.model.formats.xml import MAX_BYTES, root_tag
from chasles.model.inertia import ModelWarning
from chasles.model.record import naming, shortened
from chasles.model.tools import with_tool_named

__all__ = ["read"]


def read(
    path: str | Path,
    *,
    tool: str = "",
    check: bool = True,
    trust: bool = False,
    arguments: Mapping[str, str] | None = None,
    packages: Mapping[str, str | Path] | None = None,
    srdf: str | Path | None = None,
    group: str = "",
    model: str = "",
) -> Description:
    """Read a robot from a file, its format told by the suffix.

    `.urdf`, `.xacro`, `.sdf`, `.mjcf`, `.toml`, `.dat` (SpaceLib), `.conf` (ROBOOP); of an `.xml` file the first
    element tells.

    Parameters
    ----------
    path
        The file.
    tool
        Default frame: name of a link or frame. Empty: as for a `Description`.
    check
        Whether to check that the inertias are physical.
    trust
        Whether an MJCF model may name files outside its folder.
    arguments, packages
        Values of a xacro file's arguments, and folders of the ROS packages that it names; see `from_xacro`.
    srdf
        SRDF file of the robot, whose disabled pairs of links `chasles.clearance` leaves out; see `from_srdf`. Default:
        the file with the robot's file name and the suffix `.srdf`, if there is one.
    group
        Group of joints of that file which alone move: the others are locked at home, and the group's tip is the tool.
    model
        Name of the model, of an SDF file that holds several.

    Raises
    ------
    ModelError
        The file cannot be read or its suffix is not known; the message says which are.
    ArgumentError
        `arguments` or `packages` are given for a file that is not xacro, `model` for one that is not SDF, or a `group`
        without an SRDF file.

    Examples
    --------
    >>> from chasles.model.robots import path
    >>> read(path("planar2r")).n
    2
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".xml":
        suffix = _format_of_xml(path)
    if model and suffix not in (".sdf", ".world"):
        raise ArgumentError(f"{path}: only SDF files take `model`")
    if suffix == ".xacro":
        from chasles.model.formats.xacro import from_xacro

        description = from_xacro(path, arguments=arguments, packages=packages, check=check)
    elif arguments or packages:
        raise ArgumentError(f"{path}: only xacro files take `arguments` and `packages`")
    elif suffix == ".mjcf":
        from chasles.model.formats.mjcf import from_mjcf

        description = from_mjcf(path, check=check, trust=trust)
    elif suffix == ".urdf":
        description = from_urdf(path, check=check)
    elif suffix in (".sdf", ".world"):
        from chasles.model.formats.sdf import from_sdf

        description = from_sdf(path, model=model, check=check)
    elif suffix in _READERS:
        file, reader = _READERS[suffix]
        description = getattr(import_module(f"{__name__}.{file}"), reader)(path, check=check)
    else:
        known = ", ".join(sorted([*_READERS, ".mjcf", ".sdf", ".urdf", ".world", ".xacro", ".xml"]))
        raise ModelError(f"{path}: files of type '{suffix}' cannot be read; supported: {known}")
    companion = Path(path).with_suffix(".srdf") if srdf is None else Path(srdf)
    if srdf is not None or companion.is_file():
        from chasles.model.formats.srdf import with_semantics

        try:
            description = with_semantics(description, companion, group=group, tool=tool, complete=srdf is not None)
        except ModelError as error:
            if srdf is not None or group:
                raise
            warn(f"the SRDF file beside the robot is not used: {error}", ModelWarning)
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


def _format_of_xml(path: str | Path) -> str:
    with naming(str(path)):
        tag = root_tag(read_bytes(path, MAX_BYTES))
        if tag not in _ROOTS:
            raise ModelError(
                f"the root element is <{shortened(tag)[1:-1]}>; <robot> (URDF), <mujoco> (MJCF) and <sdf> can be read"
            )
    return _ROOTS[tag]


_ROOTS = {"robot": ".urdf", "mujoco": ".mjcf", "sdf": ".sdf"}
#: File and function that read each kind of file.
_READERS = {
    ".conf": ("roboop", "from_roboop"),
    ".dat": ("spacelib", "from_spacelib"),
    ".toml": ("toml", "from_toml"),
}
