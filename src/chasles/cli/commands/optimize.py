"""`chasles optimize`: the motion of least cost within limits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from chasles.base.errors import ArgumentError
from chasles.base.writing import PAGE, replacing
from chasles.cli.options import JsonOption, PackagesOption, ToolOption, UncheckedOption, shipped_robots
from chasles.cli.output import (
    add_row,
    errors,
    number,
    require_writable,
    results,
    say,
    say_wrapped,
    show_json,
    table,
)  # fmt: skip
from chasles.cli.signatures import takes

if TYPE_CHECKING:
    from chasles.cli.problem_file import Posed
    from chasles.control.optimal import Plan
    from chasles.control.optimal.errors import Errors
    from chasles.robot.robot import Robot

_SAVED = (".npz", ".csv")
#: Least number of steps, and longest step, s, of a reach.
_NODES, _STEP = 50, 0.04


@takes("control.optimal.problem:OptimalControl.solve", "iterations")
def optimize(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="TOML file of a problem, or a robot as for `chasles simulate`.",
            show_default=False,
            autocompletion=shipped_robots,
        ),
    ],
    goal: Annotated[
        str | None,
        typer.Option(help="Of a robot: joint positions at the end, or random:SEED [default: random:0]."),
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="Joint positions at the start [default: the file's, or home].")
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(help="Duration of the motion, s [default: the file's, or at half of the velocity limits]."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(help=f"Number of steps of equal length [default: the file's, or {_NODES} and {_STEP} s at most]."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="File to write: times, states, torques and gains (.npz), or a table without gains (.csv)."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Page to write, with plots and 3D motion.")] = None,
    packages: PackagesOption = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    as_json: JsonOption = False,
    **search: Any,
) -> None:
    """Find the motion of least cost within a robot's limits, its torques and its regulator.

    For a robot alone it is the motion of least effort from rest to rest: torques and velocities count relative to their
    limits, all limits hold, and friction that jumps at rest is smoothed over 0.1 rad/s (m/s). A free base is left where
    the motion ends. A file says what else is wanted:

        [problem]
        robot = "planar2r"
        duration = 1.0
        nodes = 50
        start = [0.0, 0.0]
        limits = ["position", "velocity", "torque"]

        [[running]]
        residual = "torque"
        weight = 0.01

        [[exact_end]]
        residual = "pose"
        at = [1.0, 0.5]

    Residuals are pose, position, velocity, torque, torque_rate, time and periodic, with weight, target and frame; the
    lists are running, final and exact_end. With duration = [0.2, 3.0] it is free between both. A table [limits] gives
    numbers, such as torque = 60.0 or torque_rate = 500.0. The exit code is 1 unless the motion is optimal.

    For example:

        chasles optimize ur5e --goal "0.5,-1.2,1.2,-1.6,-1.5,0.3" --duration 1.5

        chasles optimize panda --out reach.html --save reach.npz

        chasles optimize problem.toml --save motion.csv
    """
    from chasles.cli.problem_file import is_problem
    from chasles.cli.values import package_folders

    require_writable(out, PAGE)
    require_writable(save, _SAVED)
    folders = package_folders(packages)
    path = Path(problem)
    if is_problem(path):
        posed = _of_file(path, start, goal, duration, nodes, tool)
    else:
        posed = _of_robot(problem, start, goal, duration, nodes, {"tool": tool, "unchecked": unchecked}, folders)
    plan = _solved(posed, search)
    robot = posed.problem.robot
    written = _write(robot, plan, save, out, folders)
    if as_json:
        numbers = {"duration": float(plan.duration), "cost": float(plan.cost)}
        numbers |= {"reduced_gradient": float(plan.reduced_gradient), "iterations": int(plan.iterations)}
        show_json({"status": str(plan.status), **numbers, "findings": [finding.record for finding in plan.findings]})
    else:
        _show(robot, plan, written)
    if not plan.success:
        raise typer.Exit(1)


def _of_file(
    path: Path, start: str | None, goal: str | None, duration: float | None, nodes: int | None, tool: str
) -> Posed:
    from chasles.cli.problem_file import read_problem
    from chasles.cli.values import numbers

    if goal is not None:
        raise ArgumentError("--goal: the file says what is wanted; leave the option away")
    settings: dict[str, Any] = {"duration": duration, "nodes": nodes, "tool": tool or None}
    settings |= {"start": None if start is None else numbers(start, "--start")}
    return read_problem(path, **{name: value for name, value in settings.items() if value is not None})


def _of_robot(
    name: str,
    start: str | None,
    goal: str | None,
    duration: float | None,
    nodes: int | None,
    checks: dict[str, Any],
    folders: dict[str, Path],
) -> Posed:
    from chasles.cli import motions
    from chasles.cli.problem_file import reach
    from chasles.cli.values import configuration, loaded

    robot = loaded(name, folders, **checks)
    first = robot.home if start is None else configuration(start, "--start", robot)
    route = motions.route(robot, first, [], goal, duration)
    steps = max(_NODES, math.ceil(route.times[-1] / _STEP)) if nodes is None else nodes
    return reach(robot, first, route.goal, route.times[-1], steps)


def _solved(posed: Posed, search: dict[str, Any]) -> Plan:
    """Solve a problem, with a line that says how far it is."""
    with errors.status("compiling") as line:

        def watch(count: int, of: Errors) -> None:
            line.update(f"iteration {count}: violation {float(np.max(of.violation)):.1e}")

        return posed.problem.solve(posed.start, posed.velocity, guess=posed.guess, watch=watch, **search)


def _write(robot: Robot, plan: Plan, save: Path | None, out: Path | None, folders: dict[str, Path]) -> dict[str, Path]:
    """Write the files that are wanted; return them by title."""
    written = {}
    if save is not None:
        with replacing(save) as temporary:
            if save.name.lower().endswith(".npz"):
                np.savez_compressed(
                    temporary,
                    times=plan.knots,
                    states=plan.states,
                    torques=plan.torques,
                    gains=plan.gains,
                    cost=plan.cost,
                    status=str(plan.status),
                )
            else:
                _table_of(robot, plan, temporary)
        written["Motion"] = save
    if out is not None:
        from chasles.base import verbs

        written["Page"] = Path(str(verbs.view(robot, plan, path=out, browser=False, packages=folders)))
    return written


def _table_of(robot: Robot, plan: Plan, path: Path) -> None:
    """Write time, positions, velocities and the torques that are held from then on; at the end the last ones."""
    joints = robot.velocity_names
    named = (("q", robot.coordinate_names), ("qd", joints), ("tau", joints))
    heads = [f"{quantity}_{name}" for quantity, names in named for name in names]
    torques = np.concatenate([plan.torques, plan.torques[-1:]])
    rows = np.column_stack([plan.knots, plan.states, torques])
    header = ",".join(["time", *heads])
    np.savetxt(path, rows, fmt="%.9g", delimiter=",", header=header, comments="", encoding="utf-8")


def _show(robot: Robot, plan: Plan, written: dict[str, Path]) -> None:
    """Show what is known of a motion, and the extremes of each joint."""
    from chasles.control.optimal.coordinates import Coordinates

    say_wrapped(str(plan))
    say("")
    title = f"Motion over {plan.duration:.6g} s"
    rows = table(title, "joint", ">start", ">end", ">change", ">peak speed", ">peak torque", ">of its limit")
    q, qd = plan.states[:, : robot.nq], plan.states[:, robot.nq :]
    coordinates = Coordinates(robot)
    change = np.asarray(robot.difference(q[0], q[-1]))
    for k, name in enumerate(robot.velocity_names):
        peak = float(np.abs(plan.torques[:, k]).max())
        limit = float(robot.effort_limits[k])
        share = f"{100.0 * peak / limit:.0f} %" if 0.0 < limit < np.inf else "–"
        ends = [number(float(at)) for at in q[[0, -1], coordinates.places[k]]]
        shown = ends if coordinates.is_position[k] else ["–", "–"]
        moved = (number(float(x)) for x in (change[k], np.abs(qd[:, k]).max(), peak))
        add_row(rows, name, *shown, *moved, share)
    results().print(rows)
    for title, path in written.items():
        say(f"\n{title}: {path.absolute()}")
