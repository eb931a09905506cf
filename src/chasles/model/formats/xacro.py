"""Robots from xacro, the macro language of ROS for URDF (https://github.com/ros/xacro).

The package `xacro` (an extra) expands the macros, in a process of its own: a xacro file is a program, which may take
any time and memory. That process has half a minute and 2 GB.

``$(find package)`` is a folder of that name that lies above the file, or beside a folder above it; else the package as
ROS finds it, if ROS is installed. Other files are included from wherever the macros say.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from chasles.base.errors import ArgumentError, MissingExtraError, ModelError
from chasles.base.packaged_files import folder_of
from chasles.model.description import Description
from chasles.model.formats.files import read_bytes
from chasles.model.formats.urdf import parse_urdf
from chasles.model.formats.xacro_process import PACKAGE
from chasles.model.formats.xml import MAX_BYTES

SECONDS = 30.0
_LONGEST_MESSAGE = 400


def from_xacro(
    path: str | Path,
    *,
    arguments: Mapping[str, str] | None = None,
    packages: Mapping[str, str | Path] | None = None,
    tool: str = "",
    check: bool = True,
) -> Description:
    """Read a robot from a xacro file.

    Parameters
    ----------
    path
        The file.
    arguments
        Values of the file's ``<xacro:arg>`` elements, by name.
    packages
        Folders of ROS packages, by name; needed only for those that are not found.
    tool, check
        See `from_urdf`.

    Raises
    ------
    MissingExtraError
        The package xacro is not installed.
    ModelError
        The macros cannot be expanded, or the result is not a robot; the message names the file and the reason.
    """
    text = expanded(path, arguments, packages)
    if b"<link" not in text:
        raise ModelError(f"{path}: expanded, it has no link: it only defines macros; load the file that calls them")
    folder = Path(path).absolute().parent
    return parse_urdf(text, file=f"{path} (expanded)", folder=folder, tool=tool, check=check)


def expanded(
    path: str | Path,
    arguments: Mapping[str, str] | None = None,
    packages: Mapping[str, str | Path] | None = None,
) -> bytes:
    """Return the URDF text that a xacro file expands to; arguments as for `from_xacro`."""
    if importlib.util.find_spec("xacro") is None:
        raise MissingExtraError("xacro", "ros", "reading xacro files")
    read_bytes(path, MAX_BYTES)  # a regular file, which can be read
    given = []
    for name, value in (arguments or {}).items():
        if not (isinstance(name, str) and isinstance(value, str | int | float)):
            raise ArgumentError(f"arguments of a xacro file are texts or numbers by name, not {name!r}: {value!r}")
        given.append(f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    for name, folder in (packages or {}).items():
        if not Path(folder).is_dir():
            raise ArgumentError(f"packages: the folder of '{name}' does not exist: {folder}")
        given.append(f"{PACKAGE}{name}={Path(folder).absolute()}")
    script = folder_of(__package__) / "xacro_process.py"
    # -P: the folder of the script holds modules called xml and toml
    command = [sys.executable, "-P", str(script), str(MAX_BYTES), str(Path(path).absolute()), *given]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ModelError(f"{path}: xacro did not end within {SECONDS:g} s") from None
    if ended.returncode != 0:
        reason = " ".join(ended.stderr.decode(errors="replace").split())[-_LONGEST_MESSAGE:]
        raise ModelError(f"{path}: xacro cannot expand it: {reason or f'it ended with status {ended.returncode}'}")
    return ended.stdout
