"""`chasles payload`: the payload of a robot, from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chasles.base.progress import is_watched, progress_bar
from chasles.base.writing import ROBOT
from chasles.cli.commands.identify import (
    ClockOption,
    ColumnsOption,
    DelayOption,
    LogArgument,
    ReductionsOption,
    UnitOption,
    ZerosOption,
    read_log,
    takes_log,
    write_robot,
)
from chasles.cli.options import JsonOption, ToolOption, UncheckedOption
from chasles.cli.output import require_writable, say, show_json
from chasles.cli.signatures import takes


@takes("identification.payload:identify_payload", "frame", "cutoff")
@takes_log
def payload_command(
    log: LogArgument,
    robot: Annotated[
        str,
        typer.Option("--robot", "-r", help="Robot without payload, if possible identified: a name or a file."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Robot with payload to write: .toml or .urdf.")
    ] = None,
    columns: ColumnsOption = None,
    unit: UnitOption = None,
    reductions: ReductionsOption = None,
    zero_positions: ZerosOption = None,
    delay: DelayOption = None,
    clock: ClockOption = None,
    tool: ToolOption = "",
    unchecked: UncheckedOption = False,
    as_json: JsonOption = False,
    frame: str | None = None,
    cutoff: float | None = None,
    **timing: Any,
) -> None:
    """Identify mass, centre of mass and inertia of a payload from a log of a motion with it.

    For example:

        chasles payload with_gripper.csv --robot identified.toml
    """
    require_writable(out, ROBOT)

    from chasles.cli.values import loaded
    from chasles.identification import identify_payload

    arm = loaded(robot, tool=tool, unchecked=unchecked)
    with progress_bar("identifying", 2, show=is_watched()) as advance:
        recorded = read_log(log, arm, columns, unit, reductions, zero_positions, delay, clock, **timing)
        advance(1)
        payload = identify_payload(arm, recorded, frame=frame, cutoff=cutoff)
        advance(1)
    if as_json:
        facts = {
            "frame": payload.frame,
            "mass": payload.mass,
            "mass_interval": payload.mass_interval,
            "center_of_mass": payload.center_of_mass,
            "center_error": payload.center_error,
            "inertia": payload.inertia,
            "inertia_error": payload.inertia_error,
            "findings": [finding.record for finding in payload.findings],
        }
        show_json(facts)
    else:
        say(payload.summary())
    if out is not None:
        write_robot(payload.attached(arm), out)
