"""`chasles view` and `chasles plot`: pages of a robot and of a run that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chasles.base.errors import ArgumentError, import_extra
from chasles.cli.options import (
    ForceOption,
    PackagesOption,
    RobotArgument,
    ToolOption,
    UncheckedOption,
    control_laws,
    law_names,
)
from chasles.cli.output import results, say


def view(
    robot: RobotArgument,
    output: Annotated[
        Path | None, typer.Option("--out", "--output", "-o", help="Write a self-contained page to this file instead.")
    ] = None,
    laws: Annotated[
        list[str] | None,
        typer.Option(
            "--law",
            metavar="LAW",
            help="Law of the page; may be repeated. Names: chasles laws [default: pd-gravity, computed-torque].",
            autocompletion=control_laws,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of all laws, as for `chasles simulate`; the page then has no bandwidths. May be repeated.",
        ),
    ] = None,
    goal: Annotated[
        str | None,
        typer.Option(help="Move from home to these joint positions, or random:SEED; the laws can follow the motion."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    packages: PackagesOption = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
) -> None:
    """Show a robot in the browser: move joints or tool, hold it under control laws, push it, see torques and errors.

    The page is served to this machine only (127.0.0.1), until it is closed or Ctrl-C is pressed. With **--out** the
    page is a file that works without Chasles and without a network.

    Meshes of package:// addresses are looked for in the folders of **--package**, around the robot's file, and in
    those of ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and GAZEBO_MODEL_PATH.

    For example:

        chasles view panda

        chasles view my_robot.urdf --out my_robot.html

        chasles view ur5e --law pid --law slotine-li --law operational-space

        chasles view puma560 --goal random:3 --law time-varying-regulator --out puma.html

        chasles view xarm6 --law impedance --set stiffness=400 --set damping=80 --set components=x,y,z
    """
    from chasles.base import verbs
    from chasles.cli import motions
    from chasles.cli.settings import Settings
    from chasles.cli.values import loaded, package_folders
    from chasles.engine.validators import choice
    from chasles.studies.controllers import check_settings, make_controller
    from chasles.trajectories import PointToPoint
    from chasles.visual.view.handed import PERIOD, moderate_motion
    from chasles.visual.view.live import LiveView
    from chasles.visual.view.loops import USUAL

    folders = package_folders(packages)
    arm = loaded(robot, folders, tool=tool, unchecked=unchecked)
    kinds = list(laws or USUAL)
    chosen = [Settings.of(settings or [], choice(kind, "control law", law_names())) for kind in kinds]
    for name in chosen[0].plant:
        raise ArgumentError(f"--set: '{name}' belongs to the plant, which the sliders of the page set")
    subjects = []
    if goal is not None:
        route = motions.route(arm, arm.home, [], goal, None)
        subjects = [PointToPoint(route.start, route.goal, route.times[-1])]
    options = {"browser": browser, "packages": folders, "laws": kinds}
    if settings:
        motion = subjects[0] if subjects else moderate_motion(arm)
        options["laws"] = [
            make_controller(law.kind, check_settings(law.kind, law.tuning([], arm)), arm, motion, PERIOD)
            for law in chosen
        ]
    page = verbs.view(arm, *subjects, path=output, **options)
    if not isinstance(page, LiveView):
        results().print(f"Written: {page}", markup=False, highlight=False, soft_wrap=True)
        return
    try:
        results().print(f"Open at {page.url}", markup=False, highlight=False, soft_wrap=True)
        results().print("Close the page or press Ctrl-C to stop.")
        page.wait()
    except KeyboardInterrupt:  # before waiting
        page.close()


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
