"""`chasles laws` and `chasles parameters`: the names that `chasles simulate` sets and varies."""

from __future__ import annotations

from chasles.cli.options import JsonOption, RobotArgument, ToolOption, UncheckedOption
from chasles.cli.output import add_row, results, say, show_json, table


def laws(as_json: JsonOption = False) -> None:
    """List the control laws with their settings, as `chasles simulate --law LAW --set NAME=VALUE` takes them.

    For example:

        chasles laws
    """
    from chasles.cli.settings import moves_frames
    from chasles.studies.controllers import KINDS, settings_of

    if as_json:
        show_json({kind: {"moves_frames": moves_frames(kind), "settings": settings_of(kind)} for kind in KINDS})
        return
    law_table = table("Control laws", "law", "leads", "settings")
    for kind in KINDS:
        add_row(law_table, kind, "frames" if moves_frames(kind) else "joints", ", ".join(settings_of(kind)))
    results().print(law_table)


def parameters(
    robot: RobotArgument, tool: ToolOption = "", unchecked: UncheckedOption = False, as_json: JsonOption = False
) -> None:
    """List what of a robot `chasles simulate` can set, and vary between runs.

    For example:

        chasles parameters panda
    """
    from chasles.cli.settings import PLANT_SETTINGS
    from chasles.cli.values import loaded

    shapes = loaded(robot, tool=tool, unchecked=unchecked).parameters
    if as_json:
        show_json({"settings": PLANT_SETTINGS, "parameters": shapes})
        return
    settings = table("Set by --set NAME=VALUE", "name", "value")
    for name, meaning in PLANT_SETTINGS.items():
        add_row(settings, name, meaning)
    results().print(settings)
    say("")
    parameter_table = table("Parameters, also for --vary NAME=FROM:TO where they are one number", "name", ">numbers")
    for name, shape in shapes.items():
        add_row(parameter_table, name, "×".join(map(str, shape)) or "1")
    results().print(parameter_table)
