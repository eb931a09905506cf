"""`chasles simulate`: a robot moves from its home to a goal under a controller."""

from __future__ import annotations

import math
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from chasles.arguments import real
from chasles.cli.commands.tracking import joint_table
from chasles.cli.output import errors, require_writable, results, say, show_json
from chasles.cli.values import configuration, joint_values, random_configuration, varied
from chasles.control import Controller
from chasles.errors import ArgumentError
from chasles.robot import Robot, load, require_plain_coordinates
from chasles.simulation import simulate as closed_loop
from chasles.studies.controllers import KINDS, check_settings, make_controller, settings_of
from chasles.trajectories import PointToPoint
from chasles.visual.summary import tracking_summary

if TYPE_CHECKING:
    from chasles.simulation.results import Run

_STIFF_FREQUENCY = 60.0  # rad/s, of laws whose feedback alone must make up for inertia and coupling
_FEEDBACK_ALONE = ("pd", "pd-gravity", "pid")
_SOFT = 0.01  # rad/s or m/s over which Coulomb friction changes its sign


#: Controllers that can be chosen: the kinds of studies.
ControllerName = StrEnum("ControllerName", {kind.replace("-", "_"): kind for kind in KINDS})  # type: ignore[misc]
_COMPUTED_TORQUE = ControllerName("computed-torque")


def simulate(
    robot: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT", help="Name of a shipped robot, or a URDF, xacro, SDF, MJCF, TOML or SpaceLib file."
        ),
    ],
    goal: Annotated[
        str | None, typer.Option(help="Joint positions at the end, such as '0.1,0.2,-0.3' (rad, prismatic joints m).")
    ] = None,
    goal_random: Annotated[
        int | None, typer.Option(metavar="SEED", help="A random goal within the limits [default: seed 0].")
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Time of the motion, s [default: half of the joints' highest speeds].")
    ] = None,
    controller: Annotated[ControllerName, typer.Option(help="Control law.")] = _COMPUTED_TORQUE,
    kp: Annotated[
        str | None, typer.Option(help="Gain; 1/s² for computed-torque, N m/rad for pd, pid [default: by frequency].")
    ] = None,
    kd: Annotated[
        str | None, typer.Option(help="Gain; 1/s for computed-torque, N m s/rad for pd, pid [default: by frequency].")
    ] = None,
    ki: Annotated[str | None, typer.Option(help="Gain of the integral action, for laws that have one.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the control law; may be repeated."),
    ] = None,
    payload: Annotated[float, typer.Option(help="Mass at the tool that the controller does not know, kg.")] = 0.0,
    viscous: Annotated[
        str | None, typer.Option(help="Viscous friction that the controller does not know, N m s/rad.")
    ] = None,
    coulomb: Annotated[
        str | None, typer.Option(help="Coulomb friction that the controller does not know, N m.")
    ] = None,
    period: Annotated[float, typer.Option(help="Period of the controller, s.")] = 1e-3,
    substeps: Annotated[
        int | None, typer.Option(help="Steps of a fixed length in a period [default: as the integrator needs].")
    ] = None,
    integrator: Annotated[
        str,
        typer.Option(help="automatic (rk4, or the implicit rodas5p where friction acts fast), or a name."),
    ] = "automatic",
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FROM:TO", help="A parameter that differs between the runs; may be repeated."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Number of runs [default: 11 over a range].")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write a report with plots and 3D.")] = None,
    save: Annotated[Path | None, typer.Option(help="Where to write all samples, as NetCDF (.nc).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, in SI units.")] = False,
) -> None:
    """Simulate a robot that moves from its home to a goal under a controller.

    Gains and friction are one number for all joints, or one for each, separated by commas. The controller's model is
    the robot as its file describes it. Gains that are not given follow from the settings frequency (rad/s), damping and
    integral, as in a study. The exit code is 1 if a run diverges.

    For example:

        chasles simulate panda --out panda.html

        chasles simulate puma560 --goal "0.5,1,-2,0,1,0" --duration 1.5 --payload 2 --ki 2000

        chasles simulate ur5 --controller pd-gravity --coulomb 1.5

        chasles simulate panda --controller gain-scheduled-regulator --set frequency=15 --set update_period=0.05

        chasles simulate panda --runs 50 --vary payload.mass=0:5 --save runs.nc
    """
    model = load(robot)
    require_plain_coordinates(model, "this simulation")
    real(period, "--period", above=0.0)
    plant = _plant(model, payload, viscous, coulomb)
    target = _goal(model, goal, goal_random)
    reference = PointToPoint(model.home, target, _duration(model, target) if duration is None else duration)
    gains = {name: text for name, text in (("kp", kp), ("kd", kd), ("ki", ki)) if text is not None}
    law = _controller(controller.value, gains, settings or [], model, reference, period)
    values = _varied(plant, law, vary or [], runs)
    for path in (out, save):
        require_writable(path)

    begin = time.perf_counter()
    with errors.status("simulating"):
        run = closed_loop(
            plant, law, reference, period=period, substeps=substeps, integrator=integrator, vary=values or None
        )
    wall_time = time.perf_counter() - begin
    if save is not None:
        _save(run, save)
    report = None
    if out is not None:
        from chasles.visual.report import write_report

        report = write_report({model.name: run}, out)
    diverged = int(np.isfinite(run["diverged_at"].values).sum())
    if diverged == run["diverged_at"].size:
        raise typer.Exit(1)  # the warning has said why, and there is nothing to tabulate
    if diverged:
        kept = np.flatnonzero(~np.isfinite(run["diverged_at"].values))
        run = run.isel({run["diverged_at"].dims[0]: kept})
    if as_json:
        show_json([vars(row) for row in tracking_summary(run)])
    else:
        count = math.prod(run["q"].shape[:-2])
        what = "1 run" if count == 1 else f"{count} runs"
        what += " that did not diverge," if diverged else ""
        say(f"{what} of {reference.duration:.3g} s under {law.name}, in {wall_time:.2f} s\n")
        results().print(joint_table(run))
        if "saturation_time" in run:
            say(f"\nAt the effort limits: {_saturated(run)}")
        for title, path in (("Samples", save), ("Report", report)):
            if path is not None:
                say(f"\n{title}: {path.absolute()}")
    if diverged:
        raise typer.Exit(1)


def _controller(
    kind: str, gains: dict[str, str], texts: list[str], model: Robot, reference: PointToPoint, period: float
) -> Controller:
    """Controller with the gains and settings that were given; all others by the rule of studies."""
    known = settings_of(kind)
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ArgumentError(f"--set: expected NAME=VALUE, not '{text}'; {kind} has {', '.join(known)}")
        settings[name.strip()] = _setting(value.strip())
    for name, text in gains.items():
        if name not in known:
            what = "integral action" if name == "ki" else f"gain {name}"
            raise ArgumentError(f"--{name}: the controller {kind} has no {what}; it has {', '.join(known) or 'none'}")
        settings[name] = _not_negative(joint_values(text, f"--{name}", model), f"--{name}")
    if kind in _FEEDBACK_ALONE:
        settings.setdefault("frequency", _STIFF_FREQUENCY)
    if "kp" in settings and "kd" in known and "kd" not in settings:  # critical damping
        alone = np.asarray(model.mass_matrix(model.home)).diagonal() if kind in _FEEDBACK_ALONE else np.ones(model.n)
        settings["kd"] = 2.0 * np.sqrt(np.asarray(settings["kp"]) * alone)
    law: Controller = make_controller(kind, check_settings(kind, settings), model, reference, period)
    return law


def _setting(text: str) -> Any:
    """Value of a setting: truth, number, several numbers, or a text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        return text
    return values[0] if len(values) == 1 else values


def _plant(model: Robot, payload: float, viscous: str | None, coulomb: str | None) -> Robot:
    plant = model
    if not (math.isfinite(payload) and payload >= 0.0):
        raise ArgumentError(f"--payload: the mass must not be negative or infinite, but is {payload:g} kg")
    if payload:
        plant = plant.with_payload(payload)
    if viscous is not None:
        plant = plant.with_friction(viscous=_not_negative(joint_values(viscous, "--viscous", model), "--viscous"))
    if coulomb is not None:
        friction = _not_negative(joint_values(coulomb, "--coulomb", model), "--coulomb")
        plant = plant.with_friction(coulomb=friction, coulomb_velocity=_SOFT)
    return plant


def _goal(model: Robot, goal: str | None, seed: int | None) -> NDArray[np.float64]:
    if goal is not None and seed is not None:
        raise ArgumentError("give --goal or --goal-random, not both")
    if goal is not None:
        return configuration(goal, "--goal", model)
    if seed is not None and seed < 0:
        raise ArgumentError(f"--goal-random: the seed must not be negative, but is {seed}")
    return random_configuration(seed or 0, model)


def _duration(model: Robot, goal: NDArray[np.float64]) -> float:
    """Time in which no joint exceeds half of its highest speed; a quintic's peak speed is 15/8 of its mean speed."""
    limits = np.where(np.isfinite(model.velocity_limits) & (model.velocity_limits > 0), model.velocity_limits, 2.0)
    needed = float(np.max(15.0 / 8.0 * np.abs(goal - model.home) / (0.5 * limits), initial=0.0))
    return max(1.0, math.ceil(10.0 * needed) / 10.0)


def _varied(plant: Robot, law: Controller, texts: list[str], runs: int | None) -> dict[str, NDArray[np.float64]]:
    shapes = plant.parameters | {f"controller.{name}": np.shape(value) for name, value in law.parameters.items()}
    values = varied(texts, runs)
    for name, value in values.items():
        shape = shapes.get(name, ())  # names that do not exist are simulate's to refuse
        if name.startswith("controller."):
            values[name] = np.broadcast_to(value[:, None], (len(value), *shape)).copy()
        elif shape:
            raise ArgumentError(f"--vary: only single numbers can be varied here; '{name}' has the shape {shape}")
    return values


def _saturated(run: Run) -> str:
    """Joints that stood at their effort limits, how long, and how far beyond the demanded torque was."""
    longest = run["saturation_time"].values.reshape(-1, run.sizes["joint"]).max(axis=0)
    excess = run["saturation_excess"].values.reshape(-1, run.sizes["joint"]).max(axis=0)
    joints = zip(run["joint"].values, longest, excess, run["effort_unit"].values, strict=True)
    return ", ".join(f"{name} {time:.3g} s (by {most:.3g} {unit})" for name, time, most, unit in joints if time > 0.0)


def _not_negative(values: NDArray[np.float64], option: str) -> NDArray[np.float64]:
    if (values < 0.0).any():
        raise ArgumentError(f"{option}: no value may be negative, but one is {values.min():g}")
    return values


def _save(run: Run, path: Path) -> None:
    try:
        run.to_netcdf(path)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{path} cannot be written: {error}") from None
