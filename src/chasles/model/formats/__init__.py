"""File formats and tables that describe robots; each imported when first read or written."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from chasles.base.errors import ArgumentError, ModelError
from chasles.engine.validators import choice
from chasles.model.description import Description
from chasles.model.formats.files import read_bytes
from chasles.model.formats.xml import MAX_BYTES, root_tag
from chasles.model.record import naming, shortened

__all__ = ["ReadFormat", "endings", "read"]

ReadFormat = Literal["urdf", "xacro", "sdf", "mjcf", "toml", "spacelib", "roboop"]
"""Formats from which robots are read: those of `_READERS` below."""


def read(path: str | Path, *, check: bool, format: ReadFormat | None = None, **options: Any) -> Description:
    """Read what a file says.

    Parameters
    ----------
    path
        The file.
    check
        Whether to check that the inertias are physical.
    format
        Format of the file. Default: what the suffix says, and of an `.xml` file the first element.
    options
        Options of `chasles.model.load` that are given; those that are for any format go to the reader that takes them.

    Raises
    ------
    ModelError
        The file cannot be read or its suffix is not known; the message says which are.
    ArgumentError
        An option is of another format.

    Examples
    --------
    >>> from chasles.model.robots import shipped_path
    >>> read(shipped_path("planar2r"), check=False).n
    2
    """
    reader = _reader(path, format)
    for formats, names in _OPTIONS_OF_FEW_FORMATS.items():
        if reader.format not in formats and not options.keys().isdisjoint(names):
            listed = " and ".join(f"`{name}`" for name in names)
            raise ArgumentError(f"{path}: only {' and '.join(formats)} files take {listed}")
    function = getattr(import_module(f"{__name__}.{reader.file}"), reader.function)
    taken = {name: value for name, value in options.items() if name in reader.options}
    description: Description = function(path, check=check, **taken)
    return description


def endings() -> list[str]:
    """Return the endings of files that can be read.

    Examples
    --------
    >>> endings()
    ['.conf', '.dat', '.mjcf', '.sdf', '.toml', '.urdf', '.world', '.xacro', '.xml']
    """
    return sorted([*_READERS, ".xml"])


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
    """How files of one format are read: the file and function here, and the options that it takes."""

    format: str
    file: str
    function: str
    options: tuple[str, ...] = ()


def _reader(path: str | Path, format: str | None) -> _Reader:
    if format is not None:
        readers = {reader.format.lower(): reader for reader in _READERS.values()}
        return readers[choice(format, "format of robot files", readers)]
    suffix = Path(path).suffix.lower()
    if suffix == ".xml":
        suffix = _format_of_xml(path)
    if suffix not in _READERS:
        raise ModelError(f"{path}: files of type '{suffix}' cannot be read; supported: {', '.join(endings())}")
    return _READERS[suffix]


_ROOTS = {"robot": ".urdf", "mujoco": ".mjcf", "sdf": ".sdf"}
_OPTIONS_OF_FEW_FORMATS = {("xacro",): ("arguments", "packages"), ("SDF", "ROBOOP"): ("model",)}
_SDF = _Reader("SDF", "sdf", "from_sdf", ("model",))
_READERS = {
    ".conf": _Reader("ROBOOP", "roboop", "from_roboop", ("model",)),
    ".dat": _Reader("SpaceLib", "spacelib", "from_spacelib"),
    ".mjcf": _Reader("MJCF", "mjcf", "from_mjcf", ("trust",)),
    ".sdf": _SDF,
    ".toml": _Reader("TOML", "toml", "from_toml"),
    ".urdf": _Reader("URDF", "urdf", "from_urdf"),
    ".world": _SDF,
    ".xacro": _Reader("xacro", "xacro", "from_xacro", ("arguments", "packages")),
}
