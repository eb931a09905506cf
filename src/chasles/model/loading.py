"""Loading a robot: a shipped one by its name, or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chasles.base.errors import ModelError, UnknownNameError
from chasles.model.description import Description
from chasles.model.formats import read
from chasles.model.robots import shipped, shipped_path


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
        See `read`: of MJCF and of xacro files, a robot's SRDF file and one of its groups, and the model of an SDF
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
