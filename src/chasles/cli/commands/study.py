"""`chasles study`: controllers compared over many runs with payloads, friction and errors that they do not know of."""

from __future__ import annotations

import math
import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from chasles import studies
from chasles.cli.output import add_row, errors, require_writable, results, say, show_json, table
from chasles.engine import get_threads
from chasles.errors import ArgumentError
from chasles.studies.results import Spread, StudyResults, Summary


def study(
    name: Annotated[
        str, typer.Argument(metavar="STUDY", help="A study that comes with Chasles (mazure), or a TOML file.")
    ],
    folder: Annotated[
        Path | None, typer.Option(help="Where results and the report are kept [default: STUDY-results].")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write the report [default: report.html there].")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs of each controller on each robot, instead of the file's.")
    ] = None,
    robots: Annotated[
        list[str] | None, typer.Option("--robot", help="Only the robot with this title; may be repeated.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine [default: one for each core].")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers do the work.")
    ] = None,
    copy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the study's TOML file there, to be edited, and stop.")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, in SI units.")] = False,
) -> None:
    """Compare controllers over many runs with payloads, friction and model errors that they do not know of.

    A TOML file says which robots move how, which controllers drive them with which gains, and within which ranges the
    unknowns and the sample rates lie. Every controller makes the same runs, drawn with a seed. The results: a table
    here, and a report with curves and a summary in words.

    Results are stored while they come. An interrupted study goes on where it was; what is changed in the file is
    simulated anew, the rest is not.

    For example:

        chasles study mazure

        chasles study mazure --runs 120 --robot Panda --open

        chasles study mazure --copy my-study.toml

        chasles study my-study.toml --scheduler tcp://192.168.0.10:8786
    """
    if copy is not None:
        _copy(name, copy)
        return
    chosen = _chosen(studies.load(name), runs, robots)
    place = folder if folder is not None else Path(f"{Path(name).stem}-results")
    report = out if out is not None else place / "report.html"
    require_writable(out)
    begin = time.perf_counter()
    try:
        found = chosen.run(place, workers=workers or get_threads(), scheduler=scheduler)
    except KeyboardInterrupt:
        errors.print(
            f"Interrupted. What is done is kept in {place}; the same command goes on from there.",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(130) from None
    wall_time = time.perf_counter() - begin
    written = found.report(report)
    if as_json:
        show_json([_record(row) for row in found.summaries()])
    else:
        _show(found, wall_time)
        say(f"\nResults: {place.absolute()}\nReport: {written}")
    if show:
        webbrowser.open(written.as_uri())


def _copy(name: str, target: Path) -> None:
    source = Path(name) if name not in studies.shipped() and Path(name).is_file() else studies.shipped_path(name)
    try:
        with open(target, "x", encoding="utf-8") as file:
            file.write(source.read_text(encoding="utf-8"))
    except FileExistsError:
        raise ArgumentError(f"{target} exists already; choose another name") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{target} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    say(f"{target.absolute()}\nEdit it and run: chasles study {target}")


def _chosen(study: studies.Study, runs: int | None, robots: list[str] | None) -> studies.Study:
    """The study with fewer runs or robots."""
    if runs is not None:
        study = study.replace(runs=runs)
    return study.only(robots) if robots else study


def _show(found: StudyResults, wall_time: float) -> None:
    rows = found.summaries()
    total = sum(row.runs for row in rows)
    new = "all from disk" if found.computed == 0 else f"in {wall_time:.1f} s"
    say(f"{found.study.title}: {total:,} runs, {new}\n")
    for robot in dict.fromkeys(row.robot for row in rows):
        results().print(_table(robot, found.unit(robot), [row for row in rows if row.robot == robot]))
        say("")
    say(found.findings().overall)


def _table(robot: str, unit: str, rows: list[Summary]) -> Table:
    made = table(
        f"{robot}: medians, in brackets from 5 % to 95 % of the runs",
        "controller",
        f">RMS joint error [m{unit}]",
        f">largest [m{unit}]",
        ">RMS tool error [mm]",
        ">effort (planned = 1)",
        ">lost runs",
    )
    for row in rows:
        add_row(
            made,
            row.controller,
            _spread(row.rms_error, 1e3),
            _number(row.peak_error.median, 1e3),
            _spread(row.rms_tool_error, 1e3),
            _number(row.effort.median, 1.0),
            f"{100.0 * row.lost:.1f} %",
        )
    return made


def _spread(spread: Spread, scale: float) -> str:
    return f"{_number(spread.median, scale)} ({_number(spread.low, scale)} … {_number(spread.high, scale)})"


def _number(value: float, scale: float) -> str:
    return f"{scale * value:.3g}" if math.isfinite(value) else "∞"


def _record(row: Summary) -> dict[str, object]:
    """A summary as plain data."""
    record: dict[str, object] = {"robot": row.robot, "controller": row.controller, "runs": row.runs, "lost": row.lost}
    return record | {name: vars(value) for name, value in vars(row).items() if isinstance(value, Spread)}
