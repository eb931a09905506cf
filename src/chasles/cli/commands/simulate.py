"""`chasles simulate`: a motion from home to a goal under a controller."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from chasles.base.errors import ArgumentError, import_extra
from chasles.base.writing import NETCDF, PAGE
from chasles.cli.options import JsonOption, PackagesOption, RobotArgument, ToolOption, UncheckedOption
from chasles.cli.output import errors, joint_table, require_writable, results, say, show_json
from chasles.visual.summary import tracking_summary

VelocityLimits = Literal["report", "stop", "raise"]


#: Kinds of controllers, as in studies: what importing them costs is too much for a shell that completes a name.
LAWS_OF_JOINTS = (
    "pd", "pd-gravity", "pid", "computed-torque", "disturbance-observer", "nominal-torque", "time-varying-regulator",
    "gain-scheduled-regulator", "linear-quadratic-regulator", "linear-quadratic-gaussian", "lee-chung", "slotine-li",
    "composite-adaptive", "model-reference-adaptive", "natural-adaptive", "sliding-mode",
)  # fmt: skip
LAWS_OF_FRAMES = ("operational-space", "resolved-acceleration", "impedance", "whole-body-torque")


def _control_laws(incomplete: str) -> list[str]:
    """Return the names of control laws that begin so."""
    return [name for name in LAWS_OF_JOINTS + LAWS_OF_FRAMES if name.startswith(incomplete)]


def simulate(
    robot: RobotArgument,
    goal: Annotated[
        str | None, typer.Option(help="Joint positions at the end, such as '0.1,0.2,-0.3'; rad, prismatic joints m.")
    ] = None,
    goal_random: Annotated[
        int | None, typer.Option(metavar="SEED", help="Seed of a random goal within the limits [default: 0].")
    ] = None,
    start: Annotated[str | None, typer.Option(help="Joint positions at the start [default: home].")] = None,
    waypoints: Annotated[
        list[str] | None,
        typer.Option("--waypoint", metavar="POSITIONS", help="Joint positions to pass on the way; may be repeated."),
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Duration of the motion, s [default: at half of the velocity limits].")
    ] = None,
    controller: Annotated[
        str,
        typer.Option(
            metavar="LAW",
            help=f"Control law: {', '.join(LAWS_OF_JOINTS)}. Laws of frames: {', '.join(LAWS_OF_FRAMES)}.",
            autocompletion=_control_laws,
        ),
    ] = "computed-torque",
    kp: Annotated[
        str | None,
        typer.Option(metavar="GAINS", help="Proportional gain, 1/s² or N·m/rad, by law [default: by frequency]."),
    ] = None,
    kd: Annotated[
        str | None,
        typer.Option(metavar="GAINS", help="Derivative gain, 1/s or N·m·s/rad, by law [default: by frequency]."),
    ] = None,
    ki: Annotated[str | None, typer.Option(metavar="GAINS", help="Integral gain, if the control law has one.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Setting of the control law; may be repeated."),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="FRAME", help="Frame that a law of frames moves; several for whole-body-torque."
        ),
    ] = None,
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
    gravity: Annotated[
        str | None, typer.Option(help="Acceleration of gravity, such as '0,0,0', m/s² [default: the file's].")
    ] = None,
    payload: Annotated[float, typer.Option(help="Payload at the tool, unknown to the controller, kg.")] = 0.0,
    viscous: Annotated[str | None, typer.Option(help="Viscous friction, unknown to the controller, N·m·s/rad.")] = None,
    coulomb: Annotated[str | None, typer.Option(help="Coulomb friction, unknown to the controller, N·m.")] = None,
    motor_inertia: Annotated[
        str | None,
        typer.Option(help="Rotor inertia at each joint, known to the controller, kg·m² [default: the file's]."),
    ] = None,
    no_effort_limits: Annotated[
        bool, typer.Option("--no-effort-limits", help="Let torques exceed the robot's effort limits.")
    ] = False,
    velocity_limits: Annotated[
        VelocityLimits,
        typer.Option(
            metavar="CONDUCT",
            help="Velocity limits: report violations, stop (no drive torque beyond them), or raise an error.",
        ),
    ] = "report",
    period: Annotated[float, typer.Option(help="Sample period of the controller, s.")] = 1e-3,
    substeps: Annotated[
        int | None, typer.Option(help="Integration steps per sample period [default: as the integrator needs].")
    ] = None,
    integrator: Annotated[
        str,
        typer.Option(help="automatic (rk4, or the implicit rodas5p for stiff plants), or the name of an integrator."),
    ] = "automatic",
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FROM:TO", help="Parameter that differs between runs; may be repeated."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Number of runs [default: 11 over a range].")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Report to write, with plots and 3D motion.")] = None,
    packages: PackagesOption = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    save: Annotated[Path | None, typer.Option(help="NetCDF file to write, with all samples.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a motion from home to a goal under a controller.

    With waypoints the motion is a quintic spline that passes through them. Gains and friction are one number for all
    joints, or one per joint, separated by commas. The controller's model is the robot as its file describes it. Gains
    that are not given follow from the settings frequency (rad/s), damping and integral, as in a study. The exit code is
    1 if a run diverges or ends farther from its goal than half of the way there.

    A robot with a free base floats, or stands with --contact on level ground below its lowest foot; it then keeps its
    start unless a goal is given. Positions are those of the joints alone, or all coordinates, with the base's first.

    For example:

        chasles simulate panda --out panda.html

        chasles simulate puma560 --goal "0.5,1,-2,0,1,0" --duration 1.5 --payload 2 --ki 2000

        chasles simulate ur5 --controller pid --motor-inertia 0.3 --coulomb 1.5

        chasles simulate panda --controller gain-scheduled-regulator --set frequency=15 --set update_period=0.05

        chasles simulate xarm6 --motor-inertia 0.05 --waypoint "0.2,-0.3,-0.4,0,0.1,0" --velocity-limits raise

        chasles simulate panda --controller disturbance-observer --runs 50 --vary payload.mass=0:3 --save runs.nc

        chasles simulate panda --controller operational-space --goal "0.5,0.2,0.3,-1.8,0.1,2,0.5"

        chasles simulate satellite.urdf --free-base --gravity 0,0,0

        chasles simulate dog.urdf --free-base --contact lf_foot --contact rf_foot --contact lh_foot --contact rh_foot
    """
    from chasles.cli import motions
    from chasles.cli.control_laws import frames_of_law, law_settings
    from chasles.cli.experiment import experiment
    from chasles.cli.values import configuration, loaded, package_folders
    from chasles.control.python_law import as_controller
    from chasles.engine.validators import choice, real
    from chasles.integrators import Steps
    from chasles.simulation.plant.plant import as_plant
    from chasles.simulation.simulate import simulated

    choice(controller, "control law", LAWS_OF_JOINTS + LAWS_OF_FRAMES)
    folders = package_folders(packages)
    model = motions.model_of(loaded(robot, folders, tool=tool, unchecked=unchecked), free_base, gravity, motor_inertia)
    real(period, "--period", above=0.0)
    first = model.home if start is None else configuration(start, "--start", model)
    standing = motions.standing(model, contacts or [], first)
    if standing is not None:
        model = standing.robot
    robot_of_plant = motions.plant_of(model, payload, viscous, coulomb)
    plant = robot_of_plant if standing is None else standing.plant(robot_of_plant)
    through = [configuration(text, "--waypoint", model) for text in waypoints or []]
    stays = standing is not None and goal is None and goal_random is None and not through
    target = first if stays else motions.goal_of(model, goal, goal_random)
    times = motions.times_of(model, first, [*through, target], duration)
    gains = {name: text for name, text in (("kp", kp), ("kd", kd), ("ki", ki)) if text is not None}
    setup = experiment(
        model,
        plant,
        target,
        times[-1],
        through=through,
        times=times[:-1],
        start=first,
        supports=() if standing is None else standing.points,
        kind=controller,
        settings=law_settings(controller, gains, settings or [], targets or [], model),
        period=period,
    )
    law, whole = as_controller(setup.law), as_plant(plant)
    values = motions.varied_values(whole.parameters, law, vary or [], runs)
    drives = whole.with_drives(effort_limits=not no_effort_limits, velocity_limits=velocity_limits == "stop")
    chosen = Steps("rk4" if integrator == "automatic" else integrator, substeps) if substeps is not None else integrator
    setup = replace(setup, plant=drives, integrator=chosen)
    require_writable(out, PAGE)
    require_writable(save, NETCDF)

    with errors.status("simulating"):
        begin = time.perf_counter()
        run = simulated(setup, values or None)
        wall_time = time.perf_counter() - begin
        if velocity_limits == "raise":
            run.require_limits()
    if save is not None:
        import_extra("netCDF4", "data", "--save")
        try:
            run.to_netcdf(save)
        except ArgumentError as error:
            raise ArgumentError(f"--save: {error}") from None
    report = None
    if out is not None:
        from chasles.visual.report import write_report

        report = write_report({model.name: run}, out, packages=folders)
    diverged = int(np.isfinite(run["diverged_at"].values).sum())
    if diverged == run["diverged_at"].size:
        raise typer.Exit(1)  # a warning has given the reason
    if diverged:
        kept = np.flatnonzero(~np.isfinite(run["diverged_at"].values))
        run = run.isel({run["diverged_at"].dims[0]: kept})
    frames = frames_of_law(controller, targets or [])
    if as_json:
        show_json([vars(row) for row in tracking_summary(run)])
    else:
        count = math.prod(run["q"].shape[:-2])
        what = "1 run" if count == 1 else f"{count} runs"
        what += " that did not diverge," if diverged else ""
        say(f"{what} of {setup.motion.duration:.3g} s under {law.name}, in {wall_time:.2f} s\n")
        title = "Joints, which this law does not lead to the reference" if frames else "Tracking"
        results().print(joint_table(run, title))
        for frame in frames:
            say(f"\n{motions.frame_error(model, run, frame)}")
        for name, what in (
            ("saturation", "Time at the effort limits"),
            ("overspeed", "Time beyond the velocity limits"),
        ):
            joints = motions.beyond_limits(run, name) if f"{name}_time" in run else ""
            if joints:
                say(f"\n{what}: {joints}")
        for title, path in (("Samples", save), ("Report", report)):
            if path is not None:
                say(f"\n{title}: {path.absolute()}")
    missed = motions.missed_goal(model, run, first, target, frames)
    if missed:
        errors.print(missed, style="red", markup=False, highlight=False, soft_wrap=True)
    if diverged or missed:
        raise typer.Exit(1)
