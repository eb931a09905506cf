"""`chasles study`: controllers compared over many runs with unknown payloads, friction and model errors."""

from __future__ import annotations

import math
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from chasles.base.errors import ArgumentError
from chasles.base.writing import PAGE, write
from chasles.cli.options import BrowserOption, JsonOption
from chasles.cli.output import add_row, errors, require_writable, results, say, show_json, table

if TYPE_CHECKING:
    from chasles.studies import Study
    from chasles.studies.results import StudyResults
    from chasles.studies.summaries import Quantiles, Summary


def study(
    name: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="Name of a shipped study (mazure, best, faults or predictive), or path of a TOML file.",
        ),
    ],
    folder: Annotated[Path | None, typer.Option(help="Folder for results and report [default: STUDY-results].")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Report to write [default: report.html in the folder].")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Number of runs of each controller on each robot [default: from the file].")
    ] = None,
    robots: Annotated[
        list[str] | None,
        typer.Option("--robot", metavar="TITLE", help="Title of a robot to simulate; may be repeated [default: all]."),
    ] = None,
    rates: Annotated[
        list[float] | None,
        typer.Option("--rate", metavar="HZ", help="Sample rate; may be repeated [default: from the file]."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes here [default: one per core].")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler, whose workers run the study.")
    ] = None,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune", help="Search each controller's gains on training draws first, as a [tuning] table does."
        ),
    ] = False,
    copy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Copy the study's TOML file to FILE for editing, and exit.")
    ] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print tables of all rates and delays in Markdown.")
    ] = False,
    show: BrowserOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare controllers over many runs with unknown payloads, friction and model errors.

    A TOML file defines robots and motions, controllers and gains, and the ranges of unknowns and sample rates. All
    controllers make the same runs, drawn with a seed. Results are a table and a report with plots and a summary.

    Results are stored as they are computed. An interrupted study continues with the same command, and a changed study
    simulates only the runs that the change concerns.

    For example:

        chasles study mazure

        chasles study mazure --runs 120 --robot Panda --rate 250 --open

        chasles study mazure --tune --robot "Mazure's arm"

        chasles study mazure --copy my-study.toml

        chasles study my-study.toml --scheduler tcp://192.168.0.10:8786
    """
    from chasles import studies
    from chasles.engine import get_threads

    if copy is not None:
        _copy(name, copy)
        return
    chosen = _chosen(studies.load(name), runs, robots, rates)
    if tune and chosen.tuning is None:
        chosen = chosen.replace(tuning=studies.Tuning())
    results_folder = folder if folder is not None else Path(f"{Path(name).stem}-results")
    report = out if out is not None else results_folder / "report.html"
    require_writable(out, PAGE)
    try:
        outcomes = chosen.run(
            results_folder, workers=get_threads() if workers is None else workers, scheduler=scheduler
        )
    except KeyboardInterrupt:
        errors.print(
            f"Interrupted. Finished runs are kept in {results_folder}; the same command continues.",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(130) from None
    written = outcomes.report(report)
    if as_json:
        show_json([_record(row) for row in outcomes.summaries()])
    elif as_markdown:
        for robot in chosen.robots:
            say(f"**{robot.title}**\n\n{outcomes.markdown(robot.title)}\n")
        say(f"In {outcomes.effort}." if outcomes.computed else "All from disk.")
    else:
        _show(outcomes)
        say(f"\nResults: {results_folder.absolute()}\nReport: {written}")
    if show:
        webbrowser.open(written.as_uri())


def _copy(name: str, target: Path) -> None:
    from chasles import studies

    source = Path(name) if name not in studies.shipped() and Path(name).is_file() else studies.shipped_path(name)
    if target.exists():
        raise ArgumentError(f"--copy: {target} exists already; choose another name")
    write(target, source.read_bytes(), (".toml",))
    say(f"{target.absolute()}\nEdit it and run: chasles study {target}")


def _chosen(study: Study, runs: int | None, robots: list[str] | None, rates: list[float] | None) -> Study:
    """Return the study with the chosen number of runs, robots and sample rates."""
    if runs is not None:
        study = study.replace(runs=runs)
    if rates:
        study = study.replace(rates=rates)
    return study.only(robots) if robots else study


def _show(outcomes: StudyResults) -> None:
    from chasles.base.findings import text
    from chasles.studies.findings import on_robot

    rows = outcomes.summaries()
    total = sum(row.runs for row in rows)
    new = "all from disk" if outcomes.computed == 0 else f"in {outcomes.effort}"
    say(f"{outcomes.study.title}: {total:,} runs, {new}\n")
    for robot in dict.fromkeys(row.robot for row in rows):
        results().print(_table(robot, outcomes.unit(robot), [row for row in rows if row.robot == robot]))
        say("")
    say(text(on_robot(outcomes.findings(), None)))


def _table(robot: str, unit: str, rows: list[Summary]) -> Table:
    summary = table(
        f"{robot}: median (5th … 95th percentile) of the runs",
        "controller",
        f">RMS joint error [m{unit}]",
        f">peak joint error [m{unit}]",
        ">RMS tool error [mm]",
        ">effort (planned = 1)",
        ">disk margin",
        ">slowest pole [1/s]",
        ">lost runs",
    )
    for row in rows:
        add_row(
            summary,
            row.controller,
            _spread(row.rms_error, 1e3),
            _number(row.peak_error.median, 1e3),
            _spread(row.rms_tool_error, 1e3),
            _number(row.effort.median, 1.0),
            row.shown_margin,
            row.shown_pole,
            f"{100.0 * row.lost:.1f} %" + (f", {100.0 * row.refused:.0f} % refused" if row.refused else ""),
        )
    return summary


def _spread(spread: Quantiles, scale: float) -> str:
    return f"{_number(spread.median, scale)} ({_number(spread.low, scale)} … {_number(spread.high, scale)})"


def _number(value: float, scale: float) -> str:
    return f"{scale * value:.3g}" if math.isfinite(value) else "∞"


def _record(row: Summary) -> dict[str, object]:
    """Return a summary as plain data."""
    from chasles.studies.summaries import Quantiles

    names = ("robot", "controller", "runs", "lost", "refused", "disk_margin", "slowest_pole")
    record: dict[str, object] = {name: getattr(row, name) for name in names}
    return record | {name: vars(value) for name, value in vars(row).items() if isinstance(value, Quantiles)}
