"""Tables of reports, as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chasles.robot.robot import Robot
from chasles.visual.encoding import shown_unit
from chasles.visual.panels import quantiles
from chasles.visual.summary import JointTracking, joint_units, position_name, run_dims

if TYPE_CHECKING:
    import xarray

#: Metrics of whole runs: name, what to make of the joints' numbers (None: there are none), title.
_ROWS = (
    ("rms_error", np.max, "RMS error, joints"),
    ("peak_error", np.max, "peak error, joints"),
    ("rms_position_error", None, "RMS error, tool"),
    ("peak_position_error", None, "peak error, tool"),
    ("rms_rotation_error", None, "RMS rotation error, tool"),
    ("settling_time", np.max, "settling time"),
    ("work", np.sum, "work"),
    ("absolute_work", np.sum, "absolute work"),
)
_SHARES = {"minimum": 0.0, "median": 0.5, "95 %": 0.95, "maximum": 1.0}
_SMALL = {"rad": ("mrad", 1e3), "m": ("mm", 1e3), "s": ("ms", 1e3), "J": ("J", 1.0)}


def joint_table(rows: Sequence[JointTracking], robot: Robot | None, *, errors: bool = True) -> str:
    """Return a table of tracking errors and of efforts relative to their limits, per joint."""
    columns = {"joint": [breakable(position_name(row.joint)) for row in rows]}
    if errors:
        units, scales = [_SMALL[row.unit][0] for row in rows], [_SMALL[row.unit][1] for row in rows]
        for title, error in (("RMS error", "rms_error"), ("peak error", "peak_error")):
            values = [getattr(row, error) * scale for row, scale in zip(rows, scales, strict=True)]
            columns[title] = quantities(values, units)
    columns["peak torque"] = quantities([row.peak_effort for row in rows], [row.effort_unit for row in rows])
    if robot is not None and np.any(np.isfinite(robot.effort_limits) & (robot.effort_limits > 0.0)):
        columns["of limit"] = quantities(_used_shares(rows, robot), ["%"] * len(rows))
    return table(list(columns), list(zip(*columns.values(), strict=True)))


def _used_shares(rows: Sequence[JointTracking], robot: Robot) -> list[float]:
    """Return peak efforts relative to the joints' limits, %; NaN for joints without a limit or an effort."""
    limits = dict(zip(robot.velocity_names, robot.effort_limits, strict=True))
    shares = [100.0 * row.peak_effort / (limits.get(row.joint, 0.0) or np.nan) for row in rows]
    return [share or np.nan for share in shares]


def breakable(name: str) -> str:
    """Return a name as HTML that may be broken after its underscores and dots.

    >>> breakable("shoulder_pan")
    'shoulder_<wbr>pan'
    """
    return re.sub(r"(?<=[_.])", "<wbr>", html.escape(name))


def metrics_table(run: xarray.Dataset, metrics: xarray.Dataset) -> str:
    """Return a table of run metrics of the worst joint: one value, or minimum, median and maximum of a batch."""
    units = set(joint_units(run))
    count = int(np.prod([run.sizes[dim] for dim in run_dims(run)], dtype=int))
    body = []
    for name, joined, title in _ROWS:
        if name not in metrics or (name in ("rms_error", "peak_error") and len(units) > 1):
            continue
        values = metrics[name].values
        if joined is not None:
            values = joined(metrics[name].transpose(..., "joint").values, axis=-1)
        unit, scale = _SMALL[str(metrics[name].attrs["units"])]
        values = scale * np.asarray(values, dtype=float).reshape(-1)
        count_known = int(np.isfinite(values).sum())
        if count_known:
            title += f" ({count_known} of {count} runs)" if count_known < count else ""
            body.append([title, *(quantity(value, unit) for value in _columns(values))])
    if not body:
        return ""
    return table(["whole run"] + (list(_SHARES) if count > 1 else [""]), body)


def _columns(values: NDArray[np.float64]) -> list[float]:
    return list(values if values.size == 1 else quantiles(values, tuple(_SHARES.values())))


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells are HTML."""
    titles = "".join(f"<th>{title}</th>" for title in head)
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" for cells in body)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"


def quantity(value: float, unit: str) -> str:
    """Return a number with three digits or more and its unit; a dash if it is not finite.

    >>> quantity(1.2345, "mm")
    '1.23 <span class="unit">mm</span>'
    """
    return quantities([value], [unit])[0]


def quantities(values: Sequence[float], units: Sequence[str]) -> list[str]:
    """Return the cells of a column: of each unit the largest value has three digits or more, all others its decimals.

    >>> [cell.split(" <")[0] for cell in quantities([4.05, 16.674, 0.151], ["%", "%", "%"])]
    ['4.05', '16.67', '0.15']
    """
    sizes: dict[str, float] = {}
    for value, unit in zip(values, units, strict=True):
        if np.isfinite(value):
            sizes[unit] = max(abs(value), sizes.get(unit, 0.0))
    return [_cell(value, unit, sizes.get(unit, 0.0)) for value, unit in zip(values, units, strict=True)]


def _cell(value: float, unit: str, largest: float) -> str:
    """Return a number with the decimals of the largest of its column, and its unit."""
    if not np.isfinite(value):
        return "–"
    size = abs(value)
    decimals = 0 if largest >= 999.5 else 1 if largest >= 99.95 else 2 if largest >= 0.995 else 3
    least = 10.0**-decimals
    number = f"&lt; {least:.{decimals}f}" if 0.0 < size < 0.5 * least else f"{value:.{decimals}f}"
    return f'{number if size < 1e6 else f"{value:.3g}"} <span class="unit">{shown_unit(unit)}</span>'
