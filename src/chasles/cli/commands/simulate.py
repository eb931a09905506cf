"""`chasles simulate`: a motion from home to a goal under a controller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import numpy as np
import typer
from numpy.typing import NDArray

from chasles.arguments import real
from chasles.cli.control_laws import frames_of_law, law_settings
from chasles.cli.experiment import Experiment
from chasles.cli.output import error_text, errors, joint_table, require_writable, results, say, show_json
from chasles.cli.standing import Standing
from chasles.cli.values import (
    JsonOption,
    PackagesOption,
    RobotArgument,
    ToolOption,
    UncheckedOption,
    configuration,
    joint_values,
    loaded,
    not_negative,
    numbers,
    package_folders,
    random_configuration,
    varied,
)
from chasles.control import Controller
from chasles.control.floating_base import is_floating
from chasles.errors import ArgumentError, import_extra
from chasles.robot import Robot, require_plain_coordinates
from chasles.simulation.limits import VelocityLimits
from chasles.simulation.metrics import pose_errors
from chasles.studies.controllers import KINDS
from chasles.visual.encoding import shown_unit
from chasles.visual.summary import peak, root_mean_square, tracking_summary
from chasles.writing import NETCDF, PAGE

if TYPE_CHECKING:
    from chasles.simulation.results import Run

_SMOOTHING = 0.01  # rad/s or m/s over which Coulomb friction changes its sign


#: Controllers: the kinds of studies.
ControllerName = StrEnum("ControllerName", {kind.replace("-", "_"): kind for kind in KINDS})  # type: ignore[misc]
#: What becomes of velocity limits.
VelocityChoice = StrEnum("VelocityChoice", {name: name for name in get_args(VelocityLimits)})  # type: ignore[misc]
_REPORT = VelocityChoice("report")
_COMPUTED_TORQUE = ControllerName("computed-torque")


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
        ControllerName, typer.Option(metavar="NAME", help="Control law, one of those listed above.")
    ] = _COMPUTED_TORQUE,
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
        VelocityChoice,
        typer.Option(
            metavar="CONDUCT",
            help="Velocity limits: report violations, stop (no drive torque beyond them), raise an error, or ignore.",
        ),
    ] = _REPORT,
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
    1 if a run diverges.

    A robot with a free base floats, or stands with --contact on level ground below its lowest foot; it then keeps its
    start unless a goal is given. Positions are those of the joints alone, or all coordinates, with the base's first.

    Control laws: pd, pd-gravity, pid, computed-torque, disturbance-observer, nominal-torque, time-varying-regulator,
    gain-scheduled-regulator, linear-quadratic-regulator, linear-quadratic-gaussian, lee-chung, slotine-li,
    composite-adaptive, model-reference-adaptive, natural-adaptive, sliding-mode. Laws of frames: operational-space,
    resolved-acceleration, impedance, whole-body-torque.

    For example:

        chasles simulate panda --out panda.html

        chasles simulate puma560 --goal "0.5,1,-2,0,1,0" --duration 1.5 --payload 2 --ki 2000

        chasles simulate ur5 --controller pd-gravity --coulomb 1.5

        chasles simulate panda --controller gain-scheduled-regulator --set frequency=15 --set update_period=0.05

        chasles simulate xarm6.urdf --motor-inertia 0.05 --waypoint "0.2,-0.3,-0.4,0,0.1,0" --velocity-limits raise

        chasles simulate panda --runs 50 --vary payload.mass=0:5 --save runs.nc

        chasles simulate panda --controller operational-space --target panda_link8 --set nullspace_stiffness=20

        chasles simulate satellite.urdf --free-base --gravity 0,0,0

        chasles simulate dog.urdf --free-base --contact lf_foot --contact rf_foot --contact lh_foot --contact rh_foot
    """
    folders = package_folders(packages)
    model = _model(loaded(robot, folders, tool=tool, unchecked=unchecked), free_base, gravity, motor_inertia)
    real(period, "--period", above=0.0)
    first = model.home if start is None else configuration(start, "--start", model)
    standing = _standing(model, contacts or [], first)
    if standing is not None:
        model = standing.robot
    robot_of_plant = _plant(model, payload, viscous, coulomb)
    plant = robot_of_plant if standing is None else standing.plant(robot_of_plant)
    through = [configuration(text, "--waypoint", model) for text in waypoints or []]
    stays = standing is not None and goal is None and goal_random is None and not through
    target = first if stays else _goal(model, goal, goal_random)
    times = _times(model, first, [*through, target], duration)
    gains = {name: text for name, text in (("kp", kp), ("kd", kd), ("ki", ki)) if text is not None}
    experiment = Experiment.of(
        model,
        plant,
        target,
        times[-1],
        through=through,
        times=times[:-1],
        start=first,
        supports=() if standing is None else standing.points,
        kind=controller.value,
        settings=law_settings(controller.value, gains, settings or [], targets or [], model),
        period=period,
    )
    law = experiment.controller
    values = _varied(plant.parameters, law, vary or [], runs)
    require_writable(out, PAGE)
    require_writable(save, NETCDF)

    with errors.status("simulating"):
        run, wall_time = experiment.simulate(
            substeps=substeps,
            integrator=integrator,
            vary=values or None,
            effort_limits=not no_effort_limits,
            velocity_limits=velocity_limits.value,
        )
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
    if as_json:
        show_json([vars(row) for row in tracking_summary(run)])
    else:
        count = math.prod(run["q"].shape[:-2])
        what = "1 run" if count == 1 else f"{count} runs"
        what += " that did not diverge," if diverged else ""
        say(f"{what} of {experiment.reference.duration:.3g} s under {law.name}, in {wall_time:.2f} s\n")
        results().print(joint_table(run))
        for frame in frames_of_law(controller.value, targets or []):
            say(f"\n{_frame_error(model, run, frame)}")
        for name, what in (
            ("saturation", "Time at the effort limits"),
            ("overspeed", "Time beyond the velocity limits"),
        ):
            joints = _beyond(run, name) if f"{name}_time" in run else ""
            if joints:
                say(f"\n{what}: {joints}")
        for title, path in (("Samples", save), ("Report", report)):
            if path is not None:
                say(f"\n{title}: {path.absolute()}")
    if diverged:
        raise typer.Exit(1)


def _model(robot: Robot, free_base: bool, gravity: str | None, motor_inertia: str | None) -> Robot:
    """Return the robot as the controller knows it."""
    if robot.description.loops:
        require_plain_coordinates(robot, "this simulation")
    if free_base:
        if any(joint.kind == "free" for joint in robot.description.joints):
            raise ArgumentError(f"--free-base: robot '{robot.name}' has a free joint already; leave the option away")
        world = "world" if "world" not in robot.frame_names else "the world"
        robot = robot.with_free_base(world=world)
    if gravity is not None:
        acceleration = numbers(gravity, "--gravity")
        if len(acceleration) != 3:
            raise ArgumentError(f"--gravity: expected 3 numbers, not {len(acceleration)}")
        robot = robot.with_gravity(acceleration)
    return _with_motor_inertia(robot, motor_inertia)


def _standing(model: Robot, contacts: list[str], q: NDArray[np.float64]) -> Standing | None:
    if not contacts:
        return None
    if not is_floating(model):
        raise ArgumentError(f"--contact: robot '{model.name}' stands on its fixed base; add --free-base")
    return Standing.of(model, contacts, q)


def _plant(model: Robot, payload: float, viscous: str | None, coulomb: str | None) -> Robot:
    plant = model
    if real(payload, "--payload", at_least=0.0):
        plant = plant.with_payload(payload)
    if viscous is not None:
        plant = plant.with_friction(viscous=not_negative(joint_values(viscous, "--viscous", model), "--viscous"))
    if coulomb is not None:
        friction = not_negative(joint_values(coulomb, "--coulomb", model), "--coulomb")
        plant = plant.with_friction(coulomb=friction, coulomb_velocity=_SMOOTHING)
    return plant


def _goal(model: Robot, goal: str | None, seed: int | None) -> NDArray[np.float64]:
    if goal is not None and seed is not None:
        raise ArgumentError("--goal and --goal-random exclude each other; give one of them")
    if goal is not None:
        return configuration(goal, "--goal", model)
    if seed is not None and seed < 0:
        raise ArgumentError(f"--goal-random: the seed {seed} is negative")
    return random_configuration(seed or 0, model)


def _with_motor_inertia(model: Robot, text: str | None) -> Robot:
    """Return the robot with this rotor inertia at each joint, seen behind its gear."""
    if text is None:
        return model
    inertia = not_negative(joint_values(text, "--motor-inertia", model), "--motor-inertia")
    places = {joint.name: model.description.velocity_places(joint.name) for joint in model.description.coordinates}
    return model.with_motor_inertia(
        {name: float(inertia[place.start]) for name, place in places.items() if place.stop - place.start == 1}
    )


def _times(
    model: Robot, first: NDArray[np.float64], goals: list[NDArray[np.float64]], duration: float | None
) -> list[float]:
    """Return the times at which configurations are reached, in the total duration if one is given."""
    starts = [first, *goals[:-1]]
    own = np.cumsum([_duration(model, start, goal) for start, goal in zip(starts, goals, strict=True)])
    times: list[float] = (own if duration is None else own * (duration / own[-1])).tolist()
    return times if duration is None else [*times[:-1], duration]


def _duration(model: Robot, start: NDArray[np.float64], goal: NDArray[np.float64]) -> float:
    """Return a duration that keeps half of the velocity limits; a quintic's peak speed is 15/8 of its mean speed."""
    limits = np.where(np.isfinite(model.velocity_limits) & (model.velocity_limits > 0), model.velocity_limits, 2.0)
    needed = float(np.max(15.0 / 8.0 * np.abs(model.difference(start, goal)) / (0.5 * limits), initial=0.0))
    return max(1.0, math.ceil(10.0 * needed) / 10.0)


def _varied(
    parameters: Mapping[str, tuple[int, ...]], law: Controller, texts: list[str], runs: int | None
) -> dict[str, NDArray[np.float64]]:
    shapes = {**parameters} | {f"controller.{name}": np.shape(value) for name, value in law.parameters.items()}
    values = varied(texts, runs)
    for name, value in values.items():
        shape = shapes.get(name, ())  # the simulation refuses names that do not exist
        if name.startswith("controller."):
            values[name] = np.broadcast_to(value[:, None], (len(value), *shape)).copy()
        elif shape:
            raise ArgumentError(f"--vary: '{name}' has the shape {shape}; only single numbers can be varied here")
    return values


def _frame_error(model: Robot, run: Run, frame: str) -> str:
    """Return a sentence about the position error of a frame, over all runs and samples."""
    distance, _ = pose_errors(model, run["q"].values, run["q_reference"].values, frame)
    rms, most = (error_text(value, "m") for value in (root_mean_square(distance), peak(distance)))
    return f"{'Tool' if frame == 'tool' else frame} position error: RMS {rms}, peak {most}"


def _beyond(run: Run, name: str) -> str:
    """Return the joints that were beyond a limit ("saturation" or "overspeed"), for how long, and by how much."""
    longest, excess = (
        run[f"{name}_{kind}"].values.reshape(-1, run.sizes["joint"]).max(axis=0) for kind in ("time", "excess")
    )
    units = (
        map(shown_unit, run["effort_unit"].values) if name == "saturation" else (f"{u}/s" for u in run["unit"].values)
    )
    joints = zip(run["joint"].values, longest, excess, units, strict=True)
    return ", ".join(f"{name} {time:.3g} s (by {most:.3g} {unit})" for name, time, most, unit in joints if time > 0.0)
