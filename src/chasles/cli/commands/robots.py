"""`chasles robots`: the shipped robots."""

from __future__ import annotations

from chasles import model
from chasles.cli.options import JsonOption
from chasles.cli.output import add_row, results, show_json, table


def robots(as_json: JsonOption = False) -> None:
    """List the shipped robots.

    A ROBOT argument is one of these names, or the path of a URDF, xacro, SDF, MJCF, TOML, ROBOOP or SpaceLib file.
    """
    shipped = {name: model.load(name) for name in model.shipped()}
    if as_json:
        show_json([{"name": name, "joints": robot.n, "source": robot.source} for name, robot in shipped.items()])
        return
    listing = table("Robots", "name", ">joints", "source")
    for name, robot in shipped.items():
        add_row(listing, name, str(robot.n), " ".join(robot.source.split()))
    results().print(listing)
