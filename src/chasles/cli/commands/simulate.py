"""`chasles simulate`: a motion from home to a goal under a control law."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from chasles.base.errors import ArgumentError, import_extra
from chasles.base.writing import NETCDF, PAGE
from chasles.cli.options import (
    JsonOption,
    PackagesOption,
    RobotArgument,
    ToolOption,
    UncheckedOption,
    control_laws,
    law_names,
)
from chasles.cli.output import errors, joint_table, require_writable, results, say, show_json
from chasles.cli.signatures import takes
from chasles.visual.summary import tracking_summary

if TYPE_CHECKING:
    from chasles.cli.motions import Route
    from chasles.cli.settings import Settings
    from chasles.cli.standing import GroundStance
    from chasles.integrators import Steps
    from chasles.robot.robot import Robot
    from chasles.simulation.plant.plant import Plant
    from chasles.simulation.results import Run


@takes(
    "simulation.simulate:simulate",
    "period",
    duration="Duration of the motion, s [default: at half of the velocity limits].",
    integrator="Integrator by name, such as rodas5p, or with steps a period, such as rk4:4 [default: automatic].",
)
def simulate(
    robot: RobotArgument,
    goal: Annotated[
        str | None,
        typer.Option(
            help="Joint positions at the end, such as '0.1,0.2,-0.3', rad, prismatic joints m; or random:SEED "
            "[default: random:0]."
        ),
    ] = None,
    start: Annotated[str | None, typer.Option(help="Joint positions at the start [default: home].")] = None,
    waypoints: Annotated[
        list[str] | None,
        typer.Option("--waypoint", metavar="POSITIONS", help="Joint positions to pass on the way; may be repeated."),
    ] = None,
    law: Annotated[
        str,
        typer.Option(
            metavar="LAW",
            help=f"Control law: {', '.join(law_names())}. `chasles laws` shows their settings.",
            autocompletion=control_laws,
        ),
    ] = "computed-torque",
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="FRAME", help="Frame that a law of frames moves; several for whole-body-torque."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of the law or of the plant; may be repeated. Names: chasles laws, chasles parameters ROBOT.",
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FROM:TO", help="Parameter that differs between runs; may be repeated."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Number of runs [default: 11 over a range].")] = None,
    free_base: Annotated[
        bool, typer.Option("--free-base", help="Let the base move freely in the world, without motors.")
    ] = False,
    contacts: Annotated[
        list[str] | None,
        typer.Option(
            "--contact",
            metavar="FRAME",
            help="Foot of a free base on the ground: a point, or a sole as FRAME=LENGTHxWIDTH; may be repeated.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Report to write, with plots and 3D motion.")] = None,
    packages: PackagesOption = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    save: Annotated[Path | None, typer.Option(help="NetCDF file to write, with all samples.")] = None,
    as_json: JsonOption = False,
    duration: float | None = None,
    period: float = 1e-3,
    integrator: str = "automatic",
) -> None:
    """Simulate a motion from home to a goal under a control law.

    With waypoints the motion is a quintic spline that passes through them. The law's model is the robot as its file
    describes it, with the gravity and the motor_inertia of **--set**; it does not know the payload and the friction set
    there. Gains and friction are one number for all joints, or one per joint, separated by commas. Gains that are not
    set follow from the settings frequency (rad/s), damping and integral, as in a study. The exit code is 1 if a run
    diverges or ends farther from its goal than half of the way there.

    A robot with a free base floats, or stands with --contact on level ground below its lowest foot; it then keeps its
    start unless a goal is given. Positions are those of the joints alone, or all coordinates, with the base's first.

    For example:

        chasles simulate panda --out panda.html

        chasles simulate puma560 --goal "0.5,1,-2,0,1,0" --duration 1.5 --set payload.mass=2 --set ki=2000

        chasles simulate ur5 --law pid --set motor_inertia=0.3 --set friction.coulomb=1.5

        chasles simulate panda --law gain-scheduled-regulator --set frequency=15 --set update_period=0.05

        chasles simulate xarm6 --set motor_inertia=0.05 --waypoint "0.2,-0.3,-0.4,0,0.1,0" --set velocity_limits=true

        chasles simulate panda --law disturbance-observer --runs 50 --vary payload.mass=0:3 --save runs.nc

        chasles simulate panda --law operational-space --goal "0.5,0.2,0.3,-1.8,0.1,2,0.5"

        chasles simulate satellite.urdf --free-base --set gravity=0,0,0

        chasles simulate dog.urdf --free-base --contact lf_foot --contact rf_foot --contact lh_foot --contact rh_foot
    """
    from chasles.cli import motions
    from chasles.cli.experiment import experiment
    from chasles.cli.settings import Settings
    from chasles.cli.values import configuration, loaded, package_folders
    from chasles.control.python_law import as_controller
    from chasles.engine.validators import choice, real
    from chasles.simulation.simulate import simulated

    choice(law, "control law", law_names())
    folders, chosen = package_folders(packages), Settings.of(settings or [], law)
    model = chosen.known_robot(motions.movable(loaded(robot, folders, tool=tool, unchecked=unchecked), free_base))
    real(period, "--period", above=0.0)
    first = model.home if start is None else configuration(start, "--start", model)
    standing = motions.standing(model, contacts or [], first)
    model = model if standing is None else standing.robot
    plant = _plant(chosen, model, standing)
    route = motions.route(model, first, waypoints or [], goal, duration, stands=standing is not None)
    setup = experiment(
        model,
        plant,
        route.goal,
        route.times[-1],
        through=route.through,
        times=route.times[:-1],
        start=first,
        supports=() if standing is None else standing.points,
        kind=law,
        settings=chosen.tuning(targets or [], model),
        period=period,
    )
    setup = replace(setup, integrator=_steps(integrator))
    varied = motions.varied_values(plant.parameters, as_controller(setup.law), vary or [], runs)
    values = chosen.constants(plant, varied) | varied
    require_writable(out, PAGE)
    require_writable(save, NETCDF)

    frames = motions.frames_of(law, targets)
    with errors.status("simulating"):
        begin = time.perf_counter()
        run = simulated(setup, values or None)
        wall_time = time.perf_counter() - begin
    written = _write(run, model.name, save, out, folders)
    finished = _without_diverged(run)
    if as_json:
        show_json([vars(row) for row in tracking_summary(finished)])
    else:
        conditions = f"of {setup.motion.duration:.3g} s under {as_controller(setup.law).name}, in {wall_time:.2f} s"
        _show(finished, model, frames, f"{_counted(finished, run)} {conditions}\n", written)
    reached = _reached(finished, model, route, frames)
    if finished is not run or not reached:
        raise typer.Exit(1)


def _plant(settings: Settings, model: Robot, standing: GroundStance | None) -> Plant:
    """Return what is simulated: the robot with the set payload and friction, on its feet, with the set drives."""
    from chasles.simulation.plant.plant import as_plant

    robot = settings.real_robot(model)
    return settings.drives(as_plant(robot if standing is None else standing.plant(robot)))


def _reached(run: Run, model: Robot, route: Route, frames: Sequence[str]) -> bool:
    """Whether all runs come near their goal; say what misses it."""
    from chasles.cli.motions import missed_goal

    missed = missed_goal(model, run, route, frames)
    if missed:
        errors.print(missed, style="red", markup=False, highlight=False, soft_wrap=True)
    return not missed


def _steps(text: str) -> str | Steps:
    """Return an integrator by name, with the steps that it takes in a period if they are given."""
    from chasles.cli.values import whole
    from chasles.integrators import Steps

    name, colon, count = text.partition(":")
    return Steps(name, whole(count, "--integrator")) if colon else text


def _write(run: Run, name: str, save: Path | None, out: Path | None, folders: dict[str, Path]) -> dict[str, Path]:
    """Write samples and report where they are wanted; return the files by title."""
    written = {}
    if save is not None:
        import_extra("netCDF4", "data", "--save")
        try:
            run.to_netcdf(save)
        except ArgumentError as error:
            raise ArgumentError(f"--save: {error}") from None
        written["Samples"] = save
    if out is not None:
        from chasles.visual.report import write_report

        written["Report"] = write_report({name: run}, out, packages=folders)
    return written


def _without_diverged(run: Run) -> Any:
    """Return the runs that did not diverge, all if none did; leave with exit code 1 if all did."""
    diverged = np.isfinite(run["diverged_at"].values)
    if diverged.all():
        raise typer.Exit(1)  # a warning has given the reason
    return run.isel({run["diverged_at"].dims[0]: np.flatnonzero(~diverged)}) if diverged.any() else run


def _counted(finished: Run, run: Run) -> str:
    count = math.prod(finished["q"].shape[:-2])
    return ("1 run" if count == 1 else f"{count} runs") + ("" if finished is run else " that did not diverge,")


def _show(run: Run, model: Robot, frames: Sequence[str], heading: str, written: dict[str, Path]) -> None:
    """Show tracking errors, the time that joints spend at their limits, and the written files."""
    from chasles.cli import motions

    say(heading)
    results().print(joint_table(run, "Joints, which this law does not lead to the reference" if frames else "Tracking"))
    for frame in frames:
        say(f"\n{motions.frame_error(model, run, frame)}")
    for name, title in (("saturation", "Time at the effort limits"), ("overspeed", "Time beyond the velocity limits")):
        joints = motions.beyond_limits(run, name) if f"{name}_time" in run else ""
        if joints:
            say(f"\n{title}: {joints}")
    for title, path in written.items():
        say(f"\n{title}: {path.absolute()}")
