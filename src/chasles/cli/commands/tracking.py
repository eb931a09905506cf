"""Tables of tracking errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table

from chasles.cli.output import add_row, number, table
from chasles.visual.encoding import shown_unit
from chasles.visual.summary import tracking_summary

if TYPE_CHECKING:
    import xarray


def joint_table(run: xarray.Dataset) -> Table:
    """Return a table of errors and efforts with one row per joint."""
    made = table("Tracking", "joint", ">RMS error", ">peak error", ">peak effort")
    for row in tracking_summary(run):
        add_row(
            made,
            row.joint,
            error_text(row.rms_error, row.unit),
            error_text(row.peak_error, row.unit),
            f"{number(row.peak_effort)} {shown_unit(row.effort_unit)}",
        )
    return made


def error_text(value: float, unit: str) -> str:
    """Return an error as text: in mrad with degrees, or in mm."""
    if not math.isfinite(value):
        return "–"
    return f"{1e3 * value:.3g} mm" if unit == "m" else f"{1e3 * value:.3g} mrad ({math.degrees(value):.2g}°)"
