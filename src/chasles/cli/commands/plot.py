"""`chasles plot`: a page of a run that was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chasles.cli.options import ForceOption
from chasles.cli.output import say
from chasles.errors import ArgumentError, import_extra


def plot(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="NetCDF file of `chasles simulate --save`.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Page (.html) or table (.csv) to write [default: RUN.html].")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Plot a saved run: a page with plots and 3D motion, or all samples as a table.

    For example:

        chasles simulate panda --save run.nc

        chasles plot run.nc

        chasles plot run.nc --out run.csv
    """
    import_extra("netCDF4", "data", "chasles plot")
    from chasles.simulation.results import Run

    path = run.with_suffix(".html") if out is None else out
    if path.suffix.lower() not in (".html", ".csv"):
        raise ArgumentError(f"--out: '{path.name}' ends with neither .html nor .csv")
    if path.exists() and not force:
        raise ArgumentError(f"--out: {path} exists already; --force replaces it")
    try:
        saved = Run.open(run)
        saved["q"]
    except (OSError, ValueError, KeyError) as error:
        reason = getattr(error, "strerror", None) or "it is no run that `chasles simulate --save` has written"
        raise ArgumentError(f"RUN: {run} cannot be read: {reason}") from None
    written = saved.to_csv(path) if path.suffix.lower() == ".csv" else saved.report(path)
    say(f"Written: {written.absolute()}")
