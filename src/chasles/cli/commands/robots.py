"""`chasles robots`: the robots that come with Chasles."""

from __future__ import annotations

from typing import Annotated

import typer

from chasles import model
from chasles.cli.output import add_row, results, show_json, table


def robots(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List the robots that come with Chasles.

    Wherever a command takes a ROBOT, it takes one of these names or the path of a URDF, xacro, SDF, MJCF, TOML or
    SpaceLib file.
    """
    shipped = {name: model.load(name) for name in model.shipped()}
    if as_json:
        show_json([{"name": name, "joints": robot.n, "source": robot.source} for name, robot in shipped.items()])
        return
    listing = table("Robots", "name", ">joints", "source")
    for name, robot in shipped.items():
        add_row(listing, name, str(robot.n), " ".join(robot.source.split()))
    results().print(listing)
