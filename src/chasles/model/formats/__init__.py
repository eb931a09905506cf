"""File formats and tables that describe robots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from chasles.errors import ArgumentError, ModelError, warn
from chasles.model.description import Description
from chasles.model.formats.dh import from_dh
from chasles.model.formats.files import read_bytes
from chasles.model.formats.mesh_files import mesh_path, missing_meshes
from chasles.model.formats.mjcf import MjcfWarning, from_mjcf, parse_mjcf
from chasles.model.formats.roboop import RoboopTable, from_roboop, parse_roboop_table, read_roboop_table
from chasles.model.formats.screws import from_screws
from chasles.model.formats.sdf import from_sdf, parse_sdf
from chasles.model.formats.spacelib import from_spacelib
from chasles.model.formats.srdf import EndEffector, Semantics, from_srdf, parse_srdf
from chasles.model.formats.to_dh import DHTable, to_dh, to_modified_dh
from chasles.model.formats.to_mjcf import to_mjcf
from chasles.model.formats.to_roboop import roboop_table, roboop_text, to_roboop
from chasles.model.formats.to_screws import ScrewTable, to_screws
from chasles.model.formats.to_toml import TomlForm, to_toml
from chasles.model.formats.to_urdf import to_urdf
from chasles.model.formats.toml import from_toml, parse_toml
from chasles.model.formats.urdf import from_urdf, parse_urdf
from chasles.model.formats.xacro import from_xacro
from chasles.model.formats.xml import MAX_BYTES, root_tag
from chasles.model.inertia import ModelWarning
from chasles.model.record import naming, shortened
from chasles.model.tools import with_tool_named

__all__ = [
    "DHTable",
    "EndEffector",
    "MjcfWarning",
    "RoboopTable",
    "ScrewTable",
    "Semantics",
    "TomlForm",
    "from_dh",
    "from_mjcf",
    "from_roboop",
    "from_screws",
    "from_sdf",
    "from_spacelib",
    "from_srdf",
    "from_toml",
    "from_urdf",
    "from_xacro",
    "mesh_path",
    "missing_meshes",
    "parse_mjcf",
    "parse_roboop_table",
    "parse_sdf",
    "parse_srdf",
    "parse_toml",
    "parse_urdf",
    "read",
    "read_roboop_table",
    "roboop_table",
    "roboop_text",
    "to_dh",
    "to_mjcf",
    "to_modified_dh",
    "to_roboop",
    "to_screws",
    "to_toml",
    "to_urdf",
]


def read(
    path: str | Path,
    *,
    tool: str = "",
    check: bool = True,
    trust: bool = False,
    arguments: Mapping[str, str] | None = None,
    packages: Mapping[str, str | Path] | None = None,
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

    Raises
    ------
    ModelError
        The file cannot be read or its suffix is not known; the message says which are.
    ArgumentError
        `arguments` or `packages` are given for a file that is not xacro.

    Examples
    --------
    >>> from chasles.model.robots import path
    >>> read(path("planar2r")).n
    2
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".xml":
        suffix = _format_of_xml(path)
    if suffix == ".xacro":
        description = from_xacro(path, arguments=arguments, packages=packages, check=check)
    elif arguments or packages:
        raise ArgumentError(f"{path}: only xacro files take `arguments` and `packages`")
    elif suffix == ".mjcf":
        description = from_mjcf(path, check=check, trust=trust)
    elif suffix in _READERS:
        description = _READERS[suffix](path, check=check)
    else:
        known = ", ".join(sorted([*_READERS, ".mjcf", ".xacro", ".xml"]))
        raise ModelError(f"{path}: files of type '{suffix}' cannot be read; supported: {known}")
    if tool:
        with naming(str(path)):
            return with_tool_named(description, tool)
    if check and len(description.possible_tools) > 1:
        others = ", ".join(f"'{name}'" for name in description.possible_tools[1:4])
        warn(
            f"robot '{description.name}': of {len(description.possible_tools)} possible tools '{description.tool}' is "
            f"the one that calls without target=… mean (others: {others}); choose one with load(…, tool=…)",
            ModelWarning,
        )
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
_READERS: dict[str, Callable[..., Description]] = {
    ".conf": from_roboop,
    ".dat": from_spacelib,
    ".sdf": from_sdf,
    ".toml": from_toml,
    ".urdf": from_urdf,
    ".world": from_sdf,
}
