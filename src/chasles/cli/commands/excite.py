"""`chasles excite`: an exciting motion for parameter identification."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from chasles.base.writing import TABLE, replacing
from chasles.cli.options import RobotArgument, ToolOption, UncheckedOption
from chasles.cli.output import add_row, number, require_writable, results, say, say_wrapped, table
from chasles.cli.signatures import takes


@takes(
    "identification.excitation:excite",
    *("period", "harmonics", "floor", "starts", "time_limit", "seed"),
)
def excite_command(
    robot: RobotArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write: time, q, qd and qdd.")],
    acceleration: Annotated[
        str | None,
        typer.Option("--acceleration", help="Acceleration limits, rad/s²: one number or one per joint."),
    ] = None,
    repetitions: Annotated[int, typer.Option("--repetitions", help="Number of periods.")] = 3,
    rate: Annotated[float, typer.Option("--rate", help="Sample rate of the file, Hz.")] = 100.0,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", metavar="NAME", help="Base parameter, or link, that matters most; may be repeated."
        ),
    ] = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    **search: Any,
) -> None:
    """Plan a motion for `chasles identify`: periodic, within all limits, at rest at both ends.

    For example:

        chasles excite panda --out motion.csv --floor 0.1
    """
    require_writable(out, TABLE)

    from chasles.cli.values import joint_values, loaded
    from chasles.engine.validators import real
    from chasles.identification import excite

    real(rate, "--rate", above=0.0)
    arm = loaded(robot, tool=tool, unchecked=unchecked)
    limits = None if acceleration is None else joint_values(acceleration, "--acceleration", arm)
    plan = excite(arm, acceleration_limits=limits, repetitions=repetitions, parameters=parameters or (), **search)
    times, motion = plan.motion.sample(1.0 / rate)
    heads = [f"{quantity}_{name}" for quantity in ("q", "qd", "qdd") for name in arm.velocity_names]
    rows = np.column_stack([times, motion.q, motion.qd, motion.qdd])
    with replacing(out) as temporary:
        np.savetxt(
            temporary, rows, fmt="%.9g", delimiter=",", header=",".join(["time", *heads]), comments="", encoding="utf-8"
        )
    joint_rows = table("Motion", "joint", ">start", ">lowest", ">highest", ">peak speed", ">peak acceleration")
    for k, name in enumerate(arm.velocity_names):
        q, qd, qdd = (np.asarray(part)[:, k] for part in motion)
        add_row(joint_rows, name, *(number(x) for x in (q[0], q.min(), q.max(), np.abs(qd).max(), np.abs(qdd).max())))
    results().print(joint_rows)
    say(f"{out} written: {len(times)} samples, {float(times[-1]):.4g} s. Condition number {plan.condition:.3g}.")
    if plan.clearance > 0.0:
        say(f"Bodies stay {plan.clearance:.3g} m or more apart.")
    for finding in plan.findings:
        say_wrapped(f"{finding.rule.weight}: {finding}")
    if not plan.complete:
        say_wrapped(
            "The search ended at its time limit, before all starts were finished: a longer --time-limit may find a "
            "motion with a smaller condition number."
        )
