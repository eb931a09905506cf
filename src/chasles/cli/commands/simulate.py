"""`chasles simulate`: a robot moves from its home to a goal under a controller."""

from __future__ import annotations

import math
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from chasles.cli.commands.tracking import joint_table
from chasles.cli.output import errors, results, say, show_json
from chasles.cli.values import configuration, joint_values, random_configuration, varied
from chasles.control import ComputedTorque, Controller, PDGravity
from chasles.errors import ArgumentError
from chasles.robot import Robot, load, require_plain_coordinates
from chasles.simulation import simulate as closed_loop
from chasles.trajectories import PointToPoint
from chasles.visual.summary import tracking_summary

if TYPE_CHECKING:
    from chasles.simulation.results import Run

_NATURAL_FREQUENCY = 20.0  # rad/s, under computed torque
_STIFF_FREQUENCY = 60.0  # rad/s, under PD control, whose feedback alone must make up for inertia and coupling
_SOFT = 0.01  # rad/s or m/s over which Coulomb friction changes its sign


class ControllerName(StrEnum):
    """Controllers that can be chosen."""

    computed_torque = "computed-torque"
    pd_gravity = "pd-gravity"


def simulate(
    robot: Annotated[
        str, typer.Argument(metavar="ROBOT", help="Name of a shipped robot, or a URDF, MJCF, TOML or SpaceLib file.")
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
    controller: Annotated[ControllerName, typer.Option(help="Control law.")] = ControllerName.computed_torque,
    kp: Annotated[
        str | None, typer.Option(help="Gain, 1/s²; of pd-gravity N m/rad [default: for 20 rad/s, pd-gravity 60 rad/s].")
    ] = None,
    kd: Annotated[
        str | None, typer.Option(help="Gain, 1/s; of pd-gravity N m s/rad [default: critical damping].")
    ] = None,
    ki: Annotated[
        str | None, typer.Option(help="Gain of computed-torque's integral action, 1/s³ [default: 0].")
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
    the robot as its file describes it.

    For example:

        chasles simulate panda --out panda.html

        chasles simulate puma560 --goal "0.5,1,-2,0,1,0" --duration 1.5 --payload 2 --ki 2000

        chasles simulate ur5 --controller pd-gravity --coulomb 1.5

        chasles simulate panda --runs 50 --vary payload.mass=0:5 --save runs.nc
    """
    model = load(robot)
    require_plain_coordinates(model, "this simulation")
    law = _controller(model, controller, kp, kd, ki, period)
    plant = _plant(model, payload, viscous, coulomb)
    target = _goal(model, goal, goal_random)
    values = _varied(plant, law, vary or [], runs)
    for path in (out, save):
        _check_writable(path)
    reference = PointToPoint(model.home, target, _duration(model, target) if duration is None else duration)

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
    if as_json:
        show_json([vars(row) for row in tracking_summary(run)])
        return
    count = math.prod(run["q"].shape[:-2])
    what = "1 run" if count == 1 else f"{count} runs"
    say(f"{what} of {reference.duration:.3g} s under {law.name}, in {wall_time:.2f} s\n")
    results().print(joint_table(run))
    for title, path in (("Samples", save), ("Report", report)):
        if path is not None:
            say(f"\n{title}: {path.absolute()}")


def _controller(
    model: Robot, name: ControllerName, kp: str | None, kd: str | None, ki: str | None, period: float
) -> Controller:
    frequency = _NATURAL_FREQUENCY
    if name is ControllerName.pd_gravity:
        if ki is not None:
            raise ArgumentError("--ki: the controller pd-gravity has no integral action; computed-torque has")
        inertia = np.asarray(model.mass_matrix(model.home)).diagonal()
        frequency = min(_STIFF_FREQUENCY, 0.1 / period) if period > 0.0 else _STIFF_FREQUENCY
    else:
        inertia = np.ones(model.n)  # the error's equation is that of a unit mass
    stiffness = inertia * frequency**2 if kp is None else joint_values(kp, "--kp", model)
    _not_negative(stiffness, "--kp")
    damping = 2.0 * np.sqrt(stiffness * inertia) if kd is None else joint_values(kd, "--kd", model)
    _not_negative(damping, "--kd")
    if name is ControllerName.pd_gravity:
        return PDGravity(model, kp=stiffness, kd=damping)
    integral = np.zeros(model.n) if ki is None else joint_values(ki, "--ki", model)
    _not_negative(integral, "--ki")
    return ComputedTorque(model, kp=stiffness, kd=damping, ki=integral)


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


def _not_negative(values: NDArray[np.float64], option: str) -> NDArray[np.float64]:
    if (values < 0.0).any():
        raise ArgumentError(f"{option}: no value may be negative, but one is {values.min():g}")
    return values


def _check_writable(path: Path | None) -> None:
    """Refuse before the long work what would fail after it."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        reason = "it is a folder" if path.is_dir() else "its folder does not exist"
        raise ArgumentError(f"{path} cannot be written: {reason}")


def _save(run: Run, path: Path) -> None:
    try:
        run.to_netcdf(path)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{path} cannot be written: {error}") from None
