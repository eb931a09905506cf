"""Arguments and options that several commands have."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Annotated

import typer


@cache
def law_names() -> tuple[str, ...]:
    """Return the names of the control laws, read from their files: completion in a shell has no time for imports.

    Examples
    --------
    >>> "computed-torque" in law_names()
    True
    """
    files = sorted((Path(__file__).parents[1] / "control").rglob("*.py"))
    return tuple(name for file in files for name in re.findall(r'^    kind = "(.+)"$', file.read_text("utf-8"), re.M))


def control_laws(incomplete: str) -> list[str]:
    """Return the names of control laws that begin so."""
    return [name for name in law_names() if name.startswith(incomplete)]


def shipped_robots(incomplete: str) -> list[str]:
    """Return the names of shipped robots that begin so."""
    from chasles.model import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="Name of a shipped robot, or path of a URDF, xacro, SDF, MJCF, TOML, ROBOOP or SpaceLib file.",
        show_default=False,
        autocompletion=shipped_robots,
    ),
]
PackagesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--package",
        metavar="NAME=FOLDER",
        help="Folder of a ROS package that the robot's file names in package:// addresses; may be repeated.",
    ),
]
ToolOption = Annotated[
    str, typer.Option("--tool", metavar="FRAME", help="Link or frame that is the tool [default: the file's].")
]
UncheckedOption = Annotated[
    bool, typer.Option("--no-check", help="Accept masses and inertias that no body has, and skip warnings about them.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")]
BrowserOption = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Replace an existing file.")]
