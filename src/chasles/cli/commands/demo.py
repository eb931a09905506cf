"""`chasles demo`: two arms under control, and the speed of the kernels on this machine."""

from __future__ import annotations

import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from chasles.base.writing import PAGE
from chasles.cli.options import BrowserOption
from chasles.cli.output import errors, require_writable, results, say


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
    require_writable(out, PAGE)

    from chasles.cli.demonstration import ARMS, PAYLOAD, outcome_table, perform, speed_table
    from chasles.cli.speed import kernel_speeds
    from chasles.robot.robot import load
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
    console.print(outcome_table(outcomes))
    console.print()
    console.print(speed_table(speeds))
    say(f"\nReport: {report}\nDone in {time.perf_counter() - begin:.1f} s")
    if show:
        webbrowser.open(report.as_uri())
