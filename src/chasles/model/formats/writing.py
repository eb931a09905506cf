"""Texts of robot files: one function for all formats."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice
from chasles.model.description import Description

WrittenFormat = Literal["urdf", "mjcf", "toml", "roboop"]
"""Formats in which robots are written."""
FileForm = Literal["links", "dh", "modified-dh", "screws"]
"""Ways in which a format that has several states the geometry."""

ENDINGS: dict[str, WrittenFormat] = {
    ".urdf": "urdf",
    ".xml": "mjcf",
    ".mjcf": "mjcf",
    ".toml": "toml",
    ".conf": "roboop",
}
"""Format of files by their suffix."""
_FORMS: dict[str, tuple[str, ...]] = {"toml": get_args(FileForm), "roboop": ("dh", "modified-dh")}


def write(
    description: Description,
    format: WrittenFormat,
    *,
    form: FileForm | None = None,
    meshes: bool = False,
    packages: Mapping[str, str | PathLike[str]] | None = None,
) -> str:
    """Return the text of a file that describes a robot.

    Parameters
    ----------
    description
        The robot.
    format
        ``"urdf"``, ``"mjcf"``, ``"toml"`` or ``"roboop"``.
    form
        How TOML and ROBOOP files state the geometry: by ``"links"`` (TOML, the default there), ``"dh"`` (the default of
        ROBOOP), ``"modified-dh"``, or ``"screws"`` (TOML).
    meshes, packages
        Whether to write the meshes in an MJCF file, and folders of the ROS packages that hold them; see `to_mjcf`.

    Returns
    -------
    str
        The text; see `to_urdf`, `to_mjcf`, `to_toml` and `to_roboop` for what each format can express.

    Raises
    ------
    UnknownNameError
        There is no such format or form.
    ArgumentError
        The format does not take an option.
    ModelError
        The format cannot describe the robot; the message says why.

    Examples
    --------
    >>> from chasles.model import load
    >>> write(load("planar2r"), "toml", form="dh").count("[[dh]]")
    2
    """
    choice(format, "format of robot files", get_args(WrittenFormat))
    if form is not None:
        if format not in _FORMS:
            raise ArgumentError(f"only TOML and ROBOOP files take `form`, not {format.upper()} files")
        choice(form, f"form of {format} files", _FORMS[format])
    if format != "mjcf" and (meshes or packages):
        raise ArgumentError(f"only MJCF files take `meshes` and `packages`, not {format} files")
    if format == "urdf":
        from chasles.model.formats.to_urdf import to_urdf

        return to_urdf(description)
    if format == "mjcf":
        from chasles.model.formats.to_mjcf import to_mjcf

        return to_mjcf(description, meshes=meshes, packages=packages)
    if format == "roboop":
        from chasles.model.formats.to_roboop import to_roboop

        return to_roboop(description, standard=form != "modified-dh")
    from chasles.model.formats.to_toml import to_toml

    return to_toml(description, form or "links")


def format_of(path: str | PathLike[str]) -> WrittenFormat:
    """Return the format that a file's suffix says.

    Raises
    ------
    ArgumentError
        No format in which robots are written has this suffix.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ENDINGS:
        raise ArgumentError(f"the file must end in {', '.join(ENDINGS)}, or `format` be given, not '{Path(path).name}'")
    return ENDINGS[suffix]
