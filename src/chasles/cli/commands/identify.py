"""`chasles identify`: a robot's dynamic parameters from a log of its motion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from chasles.base.errors import ArgumentError
from chasles.base.progress import is_watched, progress_bar
from chasles.base.writing import PAGE, ROBOT, path_to_write
from chasles.cli.options import JsonOption, ToolOption, UncheckedOption
from chasles.cli.output import add_row, number, require_writable, results, say, say_wrapped, show_json, table
from chasles.cli.signatures import takes

if TYPE_CHECKING:
    from chasles.identification import Identification, Log, WrenchIdentification
    from chasles.identification.estimation import Friction
    from chasles.identification.logs.columns import Unit
    from chasles.robot.robot import Robot

RobotOption = Annotated[
    str, typer.Option("--robot", "-r", help="Prior model: name of a shipped robot, or path of its file.")
]
LogArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="LOG…",
        help="CSV, NetCDF or Parquet files, a ROS bag, or the folder of a LeRobot data set. Files with the same "
        "columns are several logs; others are joined row by row.",
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="NAME=COLUMNS",
        help="Columns, if names do not tell them: q=NAME,NAME,… or effort='tau_{joint}'.",
    ),
]
UnitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--unit",
        metavar="NAME=UNIT",
        help="Unit of a quantity, or factor to SI units: q=deg, effort=A, q=deg,deg,mm, effort=-1.",
    ),
]
ReductionsOption = Annotated[
    str | None,
    typer.Option("--reductions", help="Gear reductions of the joints, if the log is of the motors."),
]
ZerosOption = Annotated[
    str | None,
    typer.Option("--zero-positions", help="Joint positions where those of the log are zero, rad or m: 0,-1.57,0."),
]
DelayOption = Annotated[
    str | None,
    typer.Option("--delay", help="Time by which the efforts lag behind the positions, s: one number or one per joint."),
]
ClockOption = Annotated[
    list[str] | None,
    typer.Option(
        "--clock",
        metavar="FAULT",
        help="Fault of the clock to repair, if the log shows it: jitter, drift, jumps or repeats; may be repeated.",
    ),
]
#: Options of the log that its Python class has, too.
takes_log = takes("identification.logs.log:Log", "sample_period")


@takes("identification.identify:identify", "cutoff", "bandwidth")
@takes_log
def identify_command(
    log: LogArgument,
    robot: RobotOption,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Identified robot to write: .toml or .urdf.")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Report to write, with plots and confidence intervals: .html.")
    ] = None,
    unseen: Annotated[
        Path | None, typer.Option("--unseen", help="Second log, for validation [default: left-out halves of LOG].")
    ] = None,
    columns: ColumnsOption = None,
    unit: UnitOption = None,
    reductions: ReductionsOption = None,
    zero_positions: ZerosOption = None,
    delay: DelayOption = None,
    clock: ClockOption = None,
    wrench: Annotated[
        list[str] | None,
        typer.Option(
            "--wrench",
            metavar="PLACE=COLUMNS",
            help="Columns of a measured wrench on a robot with a free base, which is then identified from these alone: "
            "0.3,-0.2,0=plate_{axis} for a force plate there, or foot=NAME,NAME,… (mx to fz); may be repeated.",
        ),
    ] = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Accept a log that contradicts the robot.")] = False,
    as_json: JsonOption = False,
    cutoff: float | None = None,
    bandwidth: float | None = None,
    **timing: Any,
) -> None:
    """Identify masses, inertias and friction from logs of positions and torques.

    Each half of the logs is predicted by a fit to the other one; the identified robot is fitted to all. With
    **--unseen**, the fit to all is validated on another log. TOML files hold the whole model. URDF holds viscous and
    Coulomb friction only: the model is fitted again with these, and its own errors are shown.

    With **--wrench**, bodies of a robot with a free base are identified from motion capture and force plates. Columns
    of q are named q_base.qw … q_base.z and q_JOINT, unless **--columns** says other names.

    For example:

        chasles identify log.csv --robot panda --out identified.toml --report identified.html

        chasles identify monday.csv tuesday.csv --robot panda --bandwidth 10

        chasles identify positions.csv currents.csv --robot arm.urdf --unit effort=A

        chasles identify gait.csv --robot walker.urdf --wrench "0,0,0=plate_{axis}"
    """
    require_writable(out, ROBOT)
    require_writable(report, PAGE)

    from chasles.base import verbs
    from chasles.cli.values import loaded
    from chasles.identification import identify

    arm = loaded(robot, tool=tool, unchecked=unchecked)
    if wrench:
        result_from_wrenches(arm, log, wrench, columns, cutoff, out, report, check=not force, as_json=as_json)
        return
    with progress_bar("identifying", 3, show=is_watched()) as advance:
        reading = (columns, unit, reductions, zero_positions, delay, clock)
        recorded = read_logs(log, arm, *reading, **timing)
        advance(1)
        second = None if unseen is None else read_log([unseen], arm, *reading, **timing)
        advance(1)
        is_urdf = out is not None and out.suffix.lower() == ".urdf"
        friction: Friction = "urdf" if is_urdf else "all"
        result = identify(
            arm, recorded, unseen=second, cutoff=cutoff, bandwidth=bandwidth, friction=friction, check=not force
        )
        advance(1)
    if as_json:
        show_json(_facts(result))
    else:
        _show(result)
        if is_urdf:
            say_wrapped(
                "The errors are those of the URDF file, which has viscous and Coulomb friction only; a TOML file has "
                "more."
            )
    if out is not None:
        write_robot(result.model, out)
        if not as_json:
            say_wrapped(_errors_of_file(result, out))
    if report is not None:
        verbs.report(result, report, f"Identification of {arm.name}")


def result_from_wrenches(
    robot: Robot, paths: Sequence[Path], wrenches: Sequence[str], columns: Sequence[str] | None, cutoff: float | None,
    out: Path | None, report: Path | None, *, check: bool, as_json: bool,
) -> None:  # fmt: skip
    """Identify a robot with a free base from its motion and measured wrenches, show the result and write it."""
    from chasles.base import verbs
    from chasles.identification import identify_from_wrenches, read_wrench_log
    from chasles.identification.logs.wrench_log import Place

    floating = robot if robot.nq != robot.n else robot.with_free_base()
    chosen = {name: _names(value) for name, value in _pairs(columns, "--columns").items()}
    places: dict[Place, str | list[str]] = {}
    for text, value in _pairs(wrenches, "--wrench").items():
        place: Place = text
        if text not in floating.frame_names:
            x, y, z = numbers_of(text, "--wrench", 3)
            place = (x, y, z)
        places[place] = _names(value)
    logs = [read_wrench_log(floating, path, places, columns=chosen) for path in paths]
    result = identify_from_wrenches(floating, logs, cutoff=cutoff, check=check)
    if as_json:
        show_json(
            {
                "robot": result.robot.name,
                "cutoff": result.cutoff.frequency,
                "masses": result.masses,
                "errors": result.training.relative(),
                "parameters": _told(result),
                "findings": [finding.record for finding in result.findings],
            }
        )
    else:
        say(result.summary())
    if out is not None:
        write_robot(result.model, out)
    if report is not None:
        verbs.report(result, report, f"Identification of {robot.name}")


def numbers_of(text: str, option: str, count: int) -> list[float]:
    """Return so many numbers of a text with commas."""
    from chasles.cli.values import numbers

    values = numbers(text, option)
    if len(values) != count:
        raise ArgumentError(f"{option}: expected a frame of the robot or {count} numbers, not '{text}'")
    return list(values)


def write_robot(robot: Robot, path: Path) -> None:
    """Write a robot as URDF or TOML, and say what other readers of the URDF do not see."""
    is_urdf = path.suffix.lower() == ".urdf"
    robot.save(path_to_write(path, ROBOT))
    if not is_urdf:
        return
    joints = [joint for joint in robot.description.joints if joint.motor_inertia > 0.0]
    if joints:
        rotors = ", ".join(f"{joint.name} {joint.motor_inertia * joint.gear_ratio**2:.3g}" for joint in joints)
        say_wrapped(
            f"URDF has no rotor inertias: {path.name} keeps them for Chasles, other readers leave them out, with the "
            f"torques that they need ({rotors}, at the joints). TOML and MJCF files have them."
        )


def _errors_of_file(result: Identification, path: Path) -> str:
    """Errors of the written file, read back as any reader of this package does, on the whole log."""
    from dataclasses import replace

    from chasles.robot.robot import load

    errors = replace(result, model=load(path, check=False)).predict(result.log).relative()
    columns = zip(result.robot.velocity_names, errors, result.log.measured, strict=True)
    shown = ", ".join(f"{name} {100 * error:.2g} %" for name, error, is_measured in columns if is_measured)
    return f"{path.name}, read back, predicts the whole log with these RMS errors while moving: {shown}"


def read_logs(paths: Sequence[Path], robot: Robot, *reading: Any, **timing: Any) -> list[Log]:
    """Read the logs of several files: one of each file if all have the same columns, one of all files if not."""
    from chasles.identification.logs.tables import read_table

    if len(paths) > 1 and all(path.exists() for path in paths):
        columns = [tuple(read_table(path)) for path in paths]
        if all(names == columns[0] for names in columns):
            return [read_log([path], robot, *reading, **timing) for path in paths]
    return [read_log(paths, robot, *reading, **timing)]


def read_log(
    paths: Sequence[Path],
    robot: Robot,
    columns: Sequence[str] | None,
    units: Sequence[str] | None,
    reductions: str | None,
    zero_positions: str | None,
    delay: str | None,
    clock: Sequence[str] | None,
    **timing: Any,
) -> Log:
    """Read the log that command-line options describe; `timing` is its sample period, where given."""
    from chasles.cli.values import joint_values, numbers
    from chasles.identification import Log
    from chasles.identification.logs.clock import known_faults

    for path in paths:
        if not path.exists():
            raise ArgumentError(f"the log '{path}' does not exist")
    source: Any = paths[0] if len(paths) == 1 else list(paths)
    chosen: dict[str, Any] = {
        name: value if name == "time" else _names(value) for name, value in _pairs(columns, "--columns").items()
    }
    return Log(
        robot,
        source,
        columns=chosen,
        units={name: _units(value) for name, value in _pairs(units, "--unit").items()},
        motor_from_joint=None if reductions is None else np.array(numbers(reductions, "--reductions")),
        zero_positions=0.0 if zero_positions is None else np.array(numbers(zero_positions, "--zero-positions")),
        delay=0.0 if delay is None else joint_values(delay, "--delay", robot),
        clock=known_faults(clock or ()),
        name=paths[0].name,
        **timing,
    )


def _names(text: str) -> str | list[str]:
    """Pattern of columns, or their names."""
    return text if "{" in text else [part.strip() for part in text.split(",")]


def _units(text: str) -> Unit | list[Unit]:
    """Units or factors of the joints, or one for all."""
    units: list[Unit] = []
    for part in text.split(","):
        try:
            units.append(float(part))
        except ValueError:
            units.append(part.strip())
    return units if len(units) > 1 else units[0]


def _pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ArgumentError(f"{option}: expected NAME=VALUE, not '{text}'")
        pairs[name.strip()] = value.strip()
    return pairs


def _show(result: Identification) -> None:
    from chasles.identification.identification import ERRORS

    say(f"{result.log!r}")
    say(str(result.log.columns))
    before, now = np.sum(list(result.masses.values()), axis=0)
    say(f"moving mass {number(now)} kg (prior {number(before)} kg)")
    rows = table(
        f"Unseen data below {number(result.band)} Hz: RMS effort while moving, RMS errors relative to it",
        *("joint", ">effort", *(f">{name}" for name in ERRORS)),
    )
    for one in result.unseen_errors():
        shares = (f"{100 * share:.1f} %" for share in one.shares)
        add_row(rows, one.joint, number(one.effort), *shares, number(one.largest), number(one.resting))
    results().print(rows)
    for finding in result.findings:
        say_wrapped(f"{finding.rule.weight}: {finding}")


def _facts(result: Identification) -> dict[str, Any]:
    errors = {
        f"{model} on {part}": {
            "moving": prediction.rms(),
            "resting": prediction.rms("resting"),
            "largest": prediction.largest(),
        }
        for (model, part), prediction in result.predictions.items()
    }
    return {
        "robot": result.robot.name,
        "joints": result.robot.velocity_names,
        "columns": {name: list(labels) for name, labels in result.log.columns.names.items()},
        "cutoff": result.signals.cutoff.frequency,
        "band": result.band,
        "masses": result.masses,
        "condition": result.condition,
        "noise": result.noise,
        "expected": result.expected,
        "rms_errors": errors,
        "parameters": _told(result),
        "findings": [finding.record for finding in result.findings],
    }


def _told(result: Identification | WrenchIdentification) -> list[dict[str, Any]]:
    return [
        {"name": p.name, "value": p.value, "interval": p.interval, "prior": p.prior, "determined": p.determined}
        for p in result.parameters
    ]
