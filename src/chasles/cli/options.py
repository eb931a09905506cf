"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from chasles.model import shipped

RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT",
        help="Name of a shipped robot, or path of a URDF, xacro, SDF, MJCF, TOML, ROBOOP or SpaceLib file.",
        show_default=False,
        autocompletion=lambda incomplete: [name for name in shipped() if name.startswith(incomplete)],
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")]
BrowserOption = Annotated[bool, typer.Option("--open", help="Open the report in the browser.")]
ForceOption = Annotated[bool, typer.Option("--force", "-f", help="Replace an existing file.")]
