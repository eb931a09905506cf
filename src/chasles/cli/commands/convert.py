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
    from chasles.model import Description, FileForm, Mesh, WrittenFormat


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


#: What each format is for `chasles.model.write`: the format of the file, and its form.
_WRITTEN: dict[Form, tuple[WrittenFormat, FileForm | None]] = {
    Form.URDF: ("urdf", None),
    Form.MJCF: ("mjcf", None),
    Form.TOML: ("toml", "links"),
    Form.DH: ("toml", "dh"),
    Form.MODIFIED_DH: ("toml", "modified-dh"),
    Form.SCREWS: ("toml", "screws"),
    Form.ROBOOP: ("roboop", "dh"),
    Form.MODIFIED_ROBOOP: ("roboop", "modified-dh"),
}


def convert(
    robot: RobotArgument,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .urdf, .xml or .mjcf (MJCF), .conf (ROBOOP), .toml (all others). `-` prints the text.",
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
    endings = [ending for ending, format in _formats().items() if format == _WRITTEN[form][0]]
    if str(out) != "-" and out.suffix.lower() not in endings:
        raise ArgumentError(f"OUT: '{out.name}' does not end with {' or '.join(endings)}, the ending of format {form}")

    from chasles.cli.values import loaded, package_folders

    folders = package_folders(packages)
    description = loaded(robot, folders, tool=tool, unchecked=unchecked).description
    if str(out) != "-" and form is not Form.MJCF:
        description = _with_meshes_seen_from(description, out.absolute().parent)
    text = written(description, form, folders)
    has_shapes = _WRITTEN[form][1] in (None, "links")  # tables have none
    if not has_shapes and (count := sum(len(link.visuals + link.collisions) for link in description.links)):
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

    format, file_form = _WRITTEN[form]
    if format == "mjcf":
        return model.write(description, format, meshes=True, packages=packages)
    return model.write(description, format, form=file_form)


def _with_meshes_seen_from(description: Description, folder: Path) -> Description:
    """Return the robot with the meshes that it names relative to its own folder named relative to another."""
    from chasles.model.formats.mesh_files import with_meshes

    def seen(mesh: Mesh) -> Mesh:
        if not mesh.folder or "://" in mesh.file or Path(mesh.file).is_absolute():
            return mesh
        file = Path(os.path.relpath(Path(mesh.folder, mesh.file), folder)).as_posix()
        return mesh.replace(file=file, folder=str(folder))

    return with_meshes(description, seen)


def _formats() -> dict[str, WrittenFormat]:
    """Return the format of files by their ending."""
    from chasles.model.formats.writing import ENDINGS

    return ENDINGS


def _form(out: Path) -> Form:
    """Return the format that the ending of a file says."""
    formats = _formats()
    if out.suffix.lower() not in formats:
        raise ArgumentError(f"OUT: '{out.name}' ends with none of {', '.join(formats)}; give the format with --to")
    return Form(formats[out.suffix.lower()])
