"""File formats and tables that describe robots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chasles.errors import ModelError
from chasles.model.description import Description
from chasles.model.formats.dh import from_dh
from chasles.model.formats.files import read_bytes
from chasles.model.formats.mjcf import MjcfWarning, from_mjcf, parse_mjcf
from chasles.model.formats.screws import from_screws
from chasles.model.formats.spacelib import from_spacelib
from chasles.model.formats.to_dh import DHTable, to_dh, to_modified_dh
from chasles.model.formats.to_screws import ScrewTable, to_screws
from chasles.model.formats.to_toml import TomlForm, to_toml
from chasles.model.formats.to_urdf import to_urdf
from chasles.model.formats.toml import from_toml, parse_toml
from chasles.model.formats.urdf import from_urdf, parse_urdf
from chasles.model.formats.xml import MAX_BYTES, root_tag
from chasles.model.record import naming, shortened

__all__ = [
    "DHTable",
    "MjcfWarning",
    "ScrewTable",
    "TomlForm",
    "from_dh",
    "from_mjcf",
    "from_screws",
    "from_spacelib",
    "from_toml",
    "from_urdf",
    "parse_mjcf",
    "parse_toml",
    "parse_urdf",
    "read",
    "to_dh",
    "to_modified_dh",
    "to_screws",
    "to_toml",
    "to_urdf",
]


def read(path: str | Path, *, check: bool = True) -> Description:
    """Read a robot from a file, its format told by the suffix: `.urdf`, `.xml`, `.toml` or `.dat` (SpaceLib).

    Of an XML file the first element tells: ``<robot>`` for URDF, ``<mujoco>`` for MJCF.

    Parameters
    ----------
    path
        The file.
    check
        Whether to check that the inertias are physical.

    Raises
    ------
    ModelError
        The file cannot be read or its suffix is not known; the message says which are.

    Examples
    --------
    >>> from chasles.model.robots import path
    >>> read(path("planar2r")).n
    2
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _READERS:
        raise ModelError(f"{path}: files of type '{suffix}' cannot be read; supported: {', '.join(sorted(_READERS))}")
    return _READERS[suffix](path, check=check)


def _from_xml(path: str | Path, *, check: bool) -> Description:
    with naming(str(path)):
        tag = root_tag(read_bytes(path, MAX_BYTES))
        if tag not in _ROOTS:
            raise ModelError(
                f"the root element is <{shortened(tag)[1:-1]}>; <robot> (URDF) or <mujoco> (MJCF) can be read"
            )
    return _ROOTS[tag](path, check=check)


_ROOTS: dict[str, Callable[..., Description]] = {"robot": from_urdf, "mujoco": from_mjcf}
_READERS: dict[str, Callable[..., Description]] = {
    ".dat": from_spacelib,
    ".mjcf": from_mjcf,
    ".toml": from_toml,
    ".urdf": from_urdf,
    ".xml": _from_xml,
}
