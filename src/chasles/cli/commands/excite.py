"""`chasles excite`: a motion whose log tells a robot's parameters apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from chasles.cli.output import add_row, number, results, say, table
from chasles.cli.values import joint_values
from chasles.errors import writing
from chasles.identification import HalfSpace, excite
from chasles.robot import load


def excite_command(
    robot: Annotated[
        str,
        typer.Argument(
            metavar="ROBOT", help="Name of a shipped robot, or a URDF, xacro, SDF, MJCF, TOML or SpaceLib file."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write: times, q, qd and qdd.")],
    period: Annotated[float, typer.Option("--period", help="Duration of a period, s.")] = 10.0,
    repetitions: Annotated[int, typer.Option("--repetitions", help="Number of periods.")] = 3,
    harmonics: Annotated[int, typer.Option("--harmonics", help="Number of harmonics.")] = 5,
    rate: Annotated[float, typer.Option("--rate", help="Samples a second in the file.")] = 100.0,
    acceleration: Annotated[
        str | None, typer.Option("--acceleration", help="Largest accelerations, rad/s²: one number or one a joint.")
    ] = None,
    floor: Annotated[
        float | None, typer.Option("--floor", help="Height, m, that the tool and all links' origins stay above.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random starts.")] = 0,
) -> None:
    """Plan a motion for `chasles identify`: periodic, within all limits, at rest where it starts and ends.

    For example:

        chasles excite panda --out motion.csv --floor 0.1
    """
    arm = load(robot)
    limits = None if acceleration is None else joint_values(acceleration, "--acceleration", arm)
    frames = [*arm.description.link_names[2:], "tool"]
    regions = [] if floor is None else [HalfSpace(frame, (0.0, 0.0, -1.0), -floor) for frame in frames]
    plan = excite(
        arm,
        period=period,
        repetitions=repetitions,
        harmonics=harmonics,
        acceleration_limits=limits,
        regions=regions,
        seed=seed,
    )
    times, motion = plan.motion.sample(1.0 / rate)
    heads = [f"{quantity}_{name}" for quantity in ("q", "qd", "qdd") for name in arm.velocity_names]
    rows = np.column_stack([times, motion.q, motion.qd, motion.qdd])
    with writing(f"--out: {out}"):
        np.savetxt(
            out, rows, fmt="%.9g", delimiter=",", header=",".join(["time", *heads]), comments="", encoding="utf-8"
        )
    shown = table("Motion", "joint", ">start", ">lowest", ">highest", ">peak speed", ">peak acceleration")
    for k, name in enumerate(arm.velocity_names):
        q, qd, qdd = (np.asarray(part)[:, k] for part in motion)
        add_row(shown, name, *(number(x) for x in (q[0], q.min(), q.max(), np.abs(qd).max(), np.abs(qdd).max())))
    results().print(shown)
    say(f"{out} written: {len(times)} samples, {float(times[-1]):.4g} s. Condition number {plan.condition:.3g}.")
