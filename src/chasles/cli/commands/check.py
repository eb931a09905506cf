"""`chasles check`: what is probably wrong in a robot's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from chasles.cli.options import JsonOption, PackagesOption, RobotArgument
from chasles.cli.output import say, say_wrapped, show_json

if TYPE_CHECKING:
    from chasles.model.robot_check import RobotCheck


def check(
    robot: RobotArgument,
    packages: PackagesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what is probably wrong in a robot's file: units, misspelt tags, impossible bodies, missing meshes.

    Each finding has a code, its place, a value, the reason of the limit that it passes, and a cure. Cautions are
    probable mistakes; notes are worth a look. Every format is checked; URDF and xacro files also tag by tag.

    The exit code is 0 if there are at most notes, 1 if there are cautions or the file is no robot, 2 if it cannot be
    opened.

    For example:

        chasles check my_robot.urdf

        chasles check my_robot.urdf --json
    """
    from chasles.cli.values import package_folders
    from chasles.model.robot_check import check_file

    robot_check = check_file(robot, packages=package_folders(packages))
    if as_json:
        show_json(
            {"robot": robot, "ok": robot_check.ok, "findings": [finding.record for finding in robot_check.findings]}
        )
    else:
        _show(robot_check)
    if not robot_check.ok:
        raise typer.Exit(1)


def _show(robot_check: RobotCheck) -> None:
    say(str(robot_check).partition("\n")[0])
    for finding in robot_check.findings:
        say("")
        say(f"{finding.rule.weight}: {finding.rule.code}")
        say_wrapped(f"  {finding}")
        say_wrapped(f"  Why: {finding.rule.because}.")
