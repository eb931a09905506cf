"""Description of a robot: links, joints, inertias, motors, frames; file formats; robots shipped with Chasles."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasles.base.errors import ModelError, UnknownNameError
from chasles.model.consistency import check_description, has_masses, inconsistencies, nearest_consistent
from chasles.model.cutting import sub_chain, sub_tree, without
from chasles.model.description import Description, Frame, Link
from chasles.model.editing import attach, renamed, with_free_base, with_loop
from chasles.model.formats import read
from chasles.model.freedoms import JointKind
from chasles.model.inertia import Inertia, InertiaWarning, ModelWarning
from chasles.model.inertial_parameters import (
    inertial_parameter_names,
    inertial_parameters,
    with_inertial_parameters,
)
from chasles.model.joint import Joint, Limits, Mimic
from chasles.model.locking import lock_joints, simplified
from chasles.model.loop import Loop, LoopKind
from chasles.model.nominal_bodies import with_nominal_bodies
from chasles.model.parameters import (
    parameter_shapes,
    parameter_value,
    with_friction,
    with_motor_inertia,
    with_payload,
    with_values,
)
from chasles.model.perturbation import perturbed_values
from chasles.model.robots import path as shipped_path
from chasles.model.robots import shipped
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Shape, Sphere
from chasles.model.tools import with_tool
from chasles.model.tree import LoopConstraint, MovingBody, Placement, Tree, build_tree, spanning_tree

if TYPE_CHECKING:
    from chasles.model.formats.dh import from_dh
    from chasles.model.formats.mesh_files import mesh_path, missing_meshes
    from chasles.model.formats.mjcf import MjcfWarning, from_mjcf, parse_mjcf
    from chasles.model.formats.roboop import from_roboop
    from chasles.model.formats.screws import from_screws
    from chasles.model.formats.sdf import from_sdf, parse_sdf
    from chasles.model.formats.spacelib import from_spacelib
    from chasles.model.formats.srdf import EndEffector, Semantics, from_srdf, parse_srdf
    from chasles.model.formats.to_dh import DHTable, to_dh, to_modified_dh
    from chasles.model.formats.to_mjcf import to_mjcf
    from chasles.model.formats.to_roboop import to_roboop
    from chasles.model.formats.to_screws import ScrewTable, to_screws
    from chasles.model.formats.to_toml import TomlForm, to_toml
    from chasles.model.formats.to_urdf import to_urdf
    from chasles.model.formats.toml import from_toml, parse_toml
    from chasles.model.formats.urdf import from_urdf, parse_urdf
    from chasles.model.formats.xacro import from_xacro

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "DHTable",
    "Description",
    "Ellipsoid",
    "EndEffector",
    "Frame",
    "Geometry",
    "Inertia",
    "InertiaWarning",
    "Joint",
    "JointKind",
    "Limits",
    "Link",
    "Loop",
    "LoopConstraint",
    "LoopKind",
    "Mesh",
    "Mimic",
    "MjcfWarning",
    "ModelWarning",
    "MovingBody",
    "Placement",
    "ScrewTable",
    "Semantics",
    "Shape",
    "Sphere",
    "TomlForm",
    "Tree",
    "attach",
    "build_tree",
    "check_description",
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
    "has_masses",
    "inconsistencies",
    "inertial_parameter_names",
    "inertial_parameters",
    "load",
    "lock_joints",
    "mesh_path",
    "missing_meshes",
    "nearest_consistent",
    "parameter_shapes",
    "parameter_value",
    "parse_mjcf",
    "parse_sdf",
    "parse_srdf",
    "parse_toml",
    "parse_urdf",
    "perturbed_values",
    "read",
    "renamed",
    "shipped",
    "shipped_path",
    "simplified",
    "spanning_tree",
    "sub_chain",
    "sub_tree",
    "to_dh",
    "to_mjcf",
    "to_modified_dh",
    "to_roboop",
    "to_screws",
    "to_toml",
    "to_urdf",
    "with_free_base",
    "with_friction",
    "with_inertial_parameters",
    "with_loop",
    "with_motor_inertia",
    "with_nominal_bodies",
    "with_payload",
    "with_tool",
    "with_values",
    "without",
]


#: Names that come with a format's file, imported when the first of them is used.
_OF_FORMATS = {
    "dh": ("from_dh",),
    "mesh_files": ("mesh_path", "missing_meshes"),
    "mjcf": ("MjcfWarning", "from_mjcf", "parse_mjcf"),
    "roboop": ("from_roboop",),
    "screws": ("from_screws",),
    "sdf": ("from_sdf", "parse_sdf"),
    "spacelib": ("from_spacelib",),
    "srdf": ("EndEffector", "Semantics", "from_srdf", "parse_srdf"),
    "to_dh": ("DHTable", "to_dh", "to_modified_dh"),
    "to_mjcf": ("to_mjcf",),
    "to_roboop": ("to_roboop",),
    "to_screws": ("ScrewTable", "to_screws"),
    "to_toml": ("TomlForm", "to_toml"),
    "to_urdf": ("to_urdf",),
    "toml": ("from_toml", "parse_toml"),
    "urdf": ("from_urdf", "parse_urdf"),
    "xacro": ("from_xacro",),
}
_FILES = {name: file for file, names in _OF_FORMATS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the format's file that a name comes from."""
    if name not in _FILES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"{__name__}.formats.{_FILES[name]}"), name)
    return value


def load(
    name_or_path: str | Path,
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
    """Read a robot by the name of a shipped one, or from a file.

    Parameters
    ----------
    name_or_path
        A name of `shipped()`, or the path of a URDF, xacro, SDF, MJCF, TOML, SpaceLib or ROBOOP file.
    tool
        Default frame: name of a link or frame. Empty: as the file says, or as for a `Description`.
    check
        Whether to check that the inertias in a file are physical. Shipped robots keep their published numbers, even
        where these are not quite physical, and are not checked.
    trust, arguments, packages, srdf, group, model
        As for `read`: of MJCF and of xacro files, a robot's SRDF file and one of its groups, and the model of an SDF
        file with several.

    Raises
    ------
    UnknownNameError
        It is neither a shipped robot nor a file.
    ModelError
        The file does not describe a robot.

    Examples
    --------
    >>> load("puma560").n
    6
    """
    reading: dict[str, Any] = {"tool": tool, "trust": trust, "arguments": arguments, "packages": packages}
    reading |= {"srdf": srdf, "group": group, "model": model}
    if name_or_path in shipped():
        return read(shipped_path(str(name_or_path)), check=False, **reading)
    text = str(name_or_path)
    means_a_file = bool(Path(text).suffix) or "/" in text or "\\" in text
    # os.path answers False for texts that no path can be, where Path raises.
    if os.path.isfile(text) or (means_a_file and os.path.exists(text)):
        return read(text, check=check, **reading)
    if means_a_file:
        raise ModelError(f"the robot file '{text}' does not exist; robots by name: {', '.join(shipped())}")
    raise UnknownNameError(
        "robot", text, [*shipped(), "or the path of a .urdf, .xacro, .sdf, .xml, .toml, .dat or .conf file"]
    )
