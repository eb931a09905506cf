"""`chasles convert`: a robot in another file format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chasles.base.errors import ArgumentError
from chasles.base.writing import write
from chasles.cli.options import ForceOption, PackagesOption, RobotArgument, ToolOption, UncheckedOption
from chasles.cli.output import errors, say

if TYPE_CHECKING:
    from chasles.model import Description, Mesh, TomlForm


class Form(StrEnum):
    """Formats that can be written."""

    URDF = "urdf"
    MJCF = "mjcf"
    TOML = "toml"
    DH = "dh"
    MODIFIED_DH = "modified-dh"
    SCREWS = "screws"
    ROBOOP = "roboop"
    MODIFIED_ROBOOP = "modified-roboop"


def convert(
    robot: RobotArgument,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .urdf, .xml (MJCF), .conf (ROBOOP) or .toml (all other formats). `-` prints the text.",
        ),
    ],
    to: Annotated[
        Form | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="Format: **urdf**; **mjcf** (MuJoCo); **toml**, links and joints, exact to the last bit; **dh** or "
            "**modified-dh**, a Denavit-Hartenberg table; **screws**, screw axes; **roboop** or **modified-roboop**, "
            "a configuration file of ROBOOP. Default: by the ending of OUT.",
        ),
    ] = None,
    packages: PackagesOption = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    force: ForceOption = False,
) -> None:
    """Write a robot in another file format.

    The written robot has the same joint positions and torques. A format that cannot describe the robot is refused with
    the reason; a Denavit-Hartenberg table, for example, describes one chain of revolute and prismatic joints only.

    Meshes stay where they are, and the written file names them from its place. MJCF names them by absolute paths, and
    can have STL, OBJ and MSH files only; tables and ROBOOP have no shapes. The command lists what is left out.

    For example:

        chasles convert panda panda.toml --to modified-dh

        chasles convert robot.xml robot.urdf

        chasles convert puma560 - --to screws
    """
    form = to or _form(out)
    suffix = _SUFFIXES.get(form, ".toml")
    if str(out) != "-" and out.suffix.lower() != suffix:
        raise ArgumentError(f"OUT: '{out.name}' does not end with {suffix}, the ending of format {form}")

    from chasles.cli.values import loaded, package_folders

    folders = package_folders(packages)
    description = loaded(robot, folders, tool=tool, unchecked=unchecked).description
    if str(out) != "-" and form is not Form.MJCF:
        description = _with_meshes_seen_from(description, out.absolute().parent)
    text = written(description, form, folders)
    if form in _WITHOUT_SHAPES and (count := sum(len(link.visuals + link.collisions) for link in description.links)):
        errors.print(f"{count} shapes are left out: the format {form} has none.", soft_wrap=True)
    if str(out) == "-":
        say(text.rstrip("\n"))
        return
    if out.exists() and not force:
        raise ArgumentError(f"OUT: {out} exists already; --force replaces it")
    write(out, text)
    say(f"{out} written: {form}")


def written(description: Description, form: Form, packages: Mapping[str, Path] | None = None) -> str:
    """Return the text of a robot in a format; MJCF with its meshes, of these folders of packages.

    Examples
    --------
    >>> from chasles import model
    >>> written(model.load("planar2r"), Form.DH).count("[[dh]]")
    2
    """
    from chasles import model

    if form is Form.URDF:
        return model.to_urdf(description)
    if form is Form.MJCF:
        return model.to_mjcf(description, meshes=True, packages=packages)
    if form in (Form.ROBOOP, Form.MODIFIED_ROBOOP):
        return model.to_roboop(description, standard=form is Form.ROBOOP)
    forms: dict[Form, TomlForm] = {
        Form.TOML: "links",
        Form.DH: "dh",
        Form.MODIFIED_DH: "modified-dh",
        Form.SCREWS: "screws",
    }
    return model.to_toml(description, forms[form])


def _with_meshes_seen_from(description: Description, folder: Path) -> Description:
    """Return the robot with the meshes that it names relative to its own folder named relative to another."""
    from chasles.model.formats.mesh_files import with_meshes

    def seen(mesh: Mesh) -> Mesh:
        if not mesh.folder or "://" in mesh.file or Path(mesh.file).is_absolute():
            return mesh
        file = Path(os.path.relpath(Path(mesh.folder, mesh.file), folder)).as_posix()
        return mesh.replace(file=file, folder=str(folder))

    return with_meshes(description, seen)


_WITHOUT_SHAPES = (Form.DH, Form.MODIFIED_DH, Form.SCREWS, Form.ROBOOP, Form.MODIFIED_ROBOOP)
_SUFFIXES = {Form.URDF: ".urdf", Form.MJCF: ".xml", Form.ROBOOP: ".conf", Form.MODIFIED_ROBOOP: ".conf"}
_FORMS = {".urdf": Form.URDF, ".xml": Form.MJCF, ".toml": Form.TOML, ".conf": Form.ROBOOP}


def _form(out: Path) -> Form:
    form = _FORMS.get(out.suffix.lower())
    if form is None:
        suffixes = ", ".join(_FORMS)
        raise ArgumentError(f"OUT: '{out.name}' ends with none of {suffixes}; give the format with --to")
    return form
