"""`chasles demo`: two arms under control, and the speed of the kernels on this machine."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from chasles.cli.commands.tracking import error_text
from chasles.cli.demonstration import ARMS, PAYLOAD, Outcome, perform
from chasles.cli.options import BrowserOption
from chasles.cli.output import add_row, errors, results, say, table
from chasles.cli.speed import KernelSpeed, kernel_speeds
from chasles.robot import load
from chasles.visual.summary import tracking_summary


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Report to write.")] = Path("chasles-demo.html"),
    show: BrowserOption = False,
    seconds: Annotated[float, typer.Option("--seconds", help="Simulated time of each motion, s.")] = 2.0,
    quick: Annotated[bool, typer.Option("--quick", help="Simulate 1 s only, and time the kernels roughly.")] = False,
) -> None:
    """Simulate two robots under computed-torque control, and write a report with plots and 3D motion.

    A PUMA 560 and a Franka Panda follow planned motions. Their controllers run at 1 kHz with a model that lacks the
    2 kg at the tool and the friction in the joints. The compiled kernels are then timed on this machine.

    For example:

        chasles demo

        chasles demo --out report.html --open
    """
    from chasles.visual.report import write_report

    begin = time.perf_counter()
    with errors.status("simulating") as status:
        outcomes = [perform(arm, 1.0 if quick else seconds) for arm in ARMS]
        status.update("writing the report")
        title = f"Computed torque with an unknown payload of {PAYLOAD:g} kg and unknown friction"
        report = write_report({outcome.arm.title: outcome.run for outcome in outcomes}, out, title=title)
        status.update("timing the kernels")
        speeds = kernel_speeds(load("panda"), effort=0.004 if quick else 0.04)
    console = results()
    console.print(_outcome_table(outcomes))
    console.print()
    console.print(_speed_table(speeds))
    say(f"\nReport: {report}\nDone in {time.perf_counter() - begin:.1f} s")
    if show:
        webbrowser.open(report.as_uri())


def _outcome_table(outcomes: list[Outcome]) -> Table:
    made = table(
        f"Computed torque at 1 kHz; its model lacks {PAYLOAD:g} kg at the tool and all friction",
        *(
            "robot",
            ">RMS error, worst joint",
            ">peak error",
            ">peak torque",
            ">simulated",
            ">first run",
            ">next run",
            ">× real time",
        ),
    )
    for outcome in outcomes:
        rows = tracking_summary(outcome.run)
        time_axis = outcome.run["time"].values
        simulated = float(time_axis[-1] - time_axis[0])
        add_row(
            made,
            outcome.arm.title,
            error_text(max(row.rms_error for row in rows), "rad"),
            error_text(max(row.peak_error for row in rows), "rad"),
            f"{max(row.peak_effort for row in rows):.1f} N·m",
            f"{simulated:.3g} s",
            f"{outcome.first_time:.2f} s",
            f"{1e3 * outcome.wall_time:.0f} ms",
            f"{simulated / outcome.wall_time:.0f}",
        )
    return made


def _speed_table(speeds: list[KernelSpeed]) -> Table:
    made = table(
        "Kernels of the Panda on this machine (float64; batch of 4,096 states; one thread)",
        *("computation", ">operations", ">per state in a batch", ">one call from Python"),
    )
    for speed in speeds:
        add_row(
            made, speed.title, f"{speed.operations:,}", f"{1e9 * speed.batched:.0f} ns", f"{1e6 * speed.single:.2f} µs"
        )
    return made
