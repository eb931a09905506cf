"""Results of a study as tables: plain text, Markdown, and labelled arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.base.errors import import_extra
from chasles.studies.measures import MEASURES
from chasles.studies.run_results import RunResults
from chasles.studies.summaries import StudyCase

if TYPE_CHECKING:
    import xarray


def text(results: RunResults) -> str:
    """Return one line for each robot and controller; see `StudyResults.__str__`."""
    rows = [("robot", "controller", "median error", "lost", "refused", "disk margin", "slowest pole, 1/s")]
    for row in results.summaries():
        error = f"{1e3 * row.rms_error.median:.3g} m{results.unit(row.robot)}"
        shares = f"{100.0 * row.lost:.3g} %", f"{100.0 * row.refused:.3g} %"
        rows.append((row.robot, row.controller, error, *shares, row.shown_margin, row.shown_pole))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def markdown(results: RunResults, robot: str) -> str:
    """Return a robot's cells as a table in Markdown; see `StudyResults.markdown`."""
    heads = [f"{rate:g} Hz{f', {delay:g} late' if delay else ''}" for rate, delay in results.study.factors.cells]
    ranks = results.ranks(robot)
    rows = [["controller", "rank", *heads], ["---"] * (len(heads) + 2)]
    for name in results.controllers(robot):
        rows.append([name, str(ranks[name]), *(_cell(case) for case in results.cells(robot, name))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(case: StudyCase) -> str:
    """Median with its interval, or that all is lost; margin and slowest pole."""
    if case.refusal or not case.runs:
        return "refused" if case.refusal else "–"
    error, lost = case.rms_error, case.lost.value
    shown = "lost"
    if lost < 1.0:
        low, middle, high = (_milli(value) for value in (error.low, error.value, error.high))
        shown = "∞" if math.isinf(error.value) else f"{middle} ({low}–{high})"
        shown += f", {100.0 * lost:.0f} %" if lost else ""
    if math.isnan(case.disk_margin):
        return shown
    return f"{shown}; {case.disk_margin:.2f}, {case.slowest_pole:.3g}".replace("-", "−")


def _milli(value: float) -> str:
    return f"{1e3 * value:.3g}" if math.isfinite(value) else "∞"


def dataset(results: RunResults) -> xarray.Dataset:
    """Return all numbers with the dimensions (robot, controller, run); see `StudyResults.to_dataset`."""
    import_extra("xarray", "data", "a labelled table of a study")
    import xarray

    robots = [robot.title for robot in results.study.robots]
    controllers = list(dict.fromkeys(choice.title for choice in results.study.controllers))
    data: dict[str, Any] = {}
    for name, (meaning, unit) in MEASURES.items():
        array = np.full((len(robots), len(controllers), len(results.runs)), np.nan)
        for (r, c), values in results.values.items():
            array[r, controllers.index(results.study.controllers[c].title)] = values[name]
        data[name] = (("robot", "controller", "run"), array, {"units": unit, "long_name": meaning})
    never = np.zeros(len(results.runs), dtype=np.bool_)
    beyond = np.array([results.beyond.get(number, never) for number in range(len(robots))])
    data["beyond_motors"] = ("robot", "run"), beyond, {"long_name": "no law can do the run"}
    coordinates: dict[str, Any] = {name: ("run", values) for name, values in results.runs.unknowns.items()}
    coordinates["rate"] = "run", results.runs.rate, {"units": "Hz"}
    coordinates["delay"] = "run", results.runs.delay, {"long_name": "delay in sample periods"}
    return xarray.Dataset(
        data,
        coords={"robot": robots, "controller": controllers, **coordinates},
        attrs={"title": results.study.title},
    )
