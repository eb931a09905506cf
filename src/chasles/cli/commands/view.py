"""`chasles view` and `chasles plot`: pages of a robot and of a run that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chasles.base.errors import ArgumentError, import_extra
from chasles.cli.options import ForceOption, PackagesOption, RobotArgument, ToolOption, UncheckedOption
from chasles.cli.output import results, say


def view(
    robot: RobotArgument,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", "-o", help="Write a self-contained page to this file instead.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    packages: PackagesOption = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
) -> None:
    """Show a robot in the browser: move joints or tool, and see frames, torques and the velocity ellipsoid.

    The page is served to this machine only (127.0.0.1), until it is closed or Ctrl-C is pressed. With **--out** the
    page is a file that works without Chasles and without a network.

    Meshes of package:// addresses are looked for in the folders of **--package**, around the robot's file, and in
    those of ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and GAZEBO_MODEL_PATH.

    For example:

        chasles view panda

        chasles view my_robot.urdf --out my_robot.html
    """
    from chasles.cli.values import loaded, package_folders
    from chasles.visual.view.views import open_live, write_view

    folders = package_folders(packages)
    arm = loaded(robot, folders, tool=tool, unchecked=unchecked)
    if output is not None:
        page = write_view(arm, arm.home, output, None, packages=folders)
        results().print(f"Written: {page}", markup=False, highlight=False, soft_wrap=True)
        return
    live = open_live(arm, arm.home, None, browser, packages=folders)
    try:
        results().print(f"Open at {live.url}", markup=False, highlight=False, soft_wrap=True)
        results().print("Close the page or press Ctrl-C to stop.")
        live.wait()
    except KeyboardInterrupt:  # before waiting
        live.close()


def plot(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="NetCDF file of `chasles simulate --save`.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Page (.html) or table (.csv) to write [default: RUN.html].")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Plot a saved run: a page with plots and 3D motion, or all samples as a table.

    For example:

        chasles simulate panda --save run.nc

        chasles plot run.nc

        chasles plot run.nc --out run.csv
    """
    import_extra("netCDF4", "data", "chasles plot")
    from chasles.simulation.results import Run

    path = run.with_suffix(".html") if out is None else out
    if path.suffix.lower() not in (".html", ".csv"):
        raise ArgumentError(f"--out: '{path.name}' ends with neither .html nor .csv")
    if path.exists() and not force:
        raise ArgumentError(f"--out: {path} exists already; --force replaces it")
    try:
        saved = Run.open(run)
        saved["q"]
    except (OSError, ValueError, KeyError) as error:
        reason = getattr(error, "strerror", None) or "it is no run that `chasles simulate --save` has written"
        raise ArgumentError(f"RUN: {run} cannot be read: {reason}") from None
    written = saved.to_csv(path) if path.suffix.lower() == ".csv" else saved.report(path)
    say(f"Written: {written.absolute()}")
