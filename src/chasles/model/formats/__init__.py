"""File formats and tables that describe robots; each imported when first read or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from chasles.base.errors import ArgumentError, ModelError, warn
from chasles.model.consistency import missing_rotors, several_tools
from chasles.model.description import Description
from chasles.model.formats.files import read_bytes
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
    >>> from chasles.model.robots import shipped_path
    >>> read(shipped_path("planar2r")).n
    2
    """
    suffix = Path(path).suffix.lower()
    reader = _reader(path, _format_of_xml(path) if suffix == ".xml" else suffix)
    options = {"trust": trust, "arguments": arguments, "packages": packages, "model": model}
    description = reader.read(path, check=check, **{name: value for name, value in options.items() if value})
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


def _format_of_xml(path: str | Path) -> str:
    with naming(str(path)):
        tag = root_tag(read_bytes(path, MAX_BYTES))
        if tag not in _ROOTS:
            raise ModelError(
                f"the root element is <{shortened(tag)[1:-1]}>; <robot> (URDF), <mujoco> (MJCF) and <sdf> can be read"
            )
    return _ROOTS[tag]


@dataclass(frozen=True)
class _Reader:
    """How files of one format are read."""

    format: str
    file: str
    function: str
    options: tuple[str, ...] = ()

    def read(self, path: str | Path, *, check: bool, **options: Any) -> Description:
        """Read a file with those of the options that the format takes; refuse those that are of another format."""
        for format, names in _OPTIONS_OF_ONE_FORMAT.items():
            if format != self.format and not options.keys().isdisjoint(names):
                raise ArgumentError(f"{path}: only {format} files take {' and '.join(f'`{name}`' for name in names)}")
        function = getattr(import_module(f"{__name__}.{self.file}"), self.function)
        taken = {name: value for name, value in options.items() if name in self.options}
        description: Description = function(path, check=check, **taken)
        return description


def _reader(path: str | Path, suffix: str) -> _Reader:
    if suffix not in _READERS:
        known = ", ".join(sorted([*_READERS, ".xml"]))
        raise ModelError(f"{path}: files of type '{suffix}' cannot be read; supported: {known}")
    return _READERS[suffix]


_ROOTS = {"robot": ".urdf", "mujoco": ".mjcf", "sdf": ".sdf"}
_OPTIONS_OF_ONE_FORMAT = {"xacro": ("arguments", "packages"), "SDF": ("model",)}
_SDF = _Reader("SDF", "sdf", "from_sdf", ("model",))
_READERS = {
    ".conf": _Reader("ROBOOP", "roboop", "from_roboop"),
    ".dat": _Reader("SpaceLib", "spacelib", "from_spacelib"),
    ".mjcf": _Reader("MJCF", "mjcf", "from_mjcf", ("trust",)),
    ".sdf": _SDF,
    ".toml": _Reader("TOML", "toml", "from_toml"),
    ".urdf": _Reader("URDF", "urdf", "from_urdf"),
    ".world": _SDF,
    ".xacro": _Reader("xacro", "xacro", "from_xacro", ("arguments", "packages")),
}
