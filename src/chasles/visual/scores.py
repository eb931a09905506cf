"""Diagrams of a batch's errors over the varied parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.visual.encoding import plot_text, typed_array
from chasles.visual.panels import COLORS, Panel, axis_name, line_style, panel_layout
from chasles.visual.summary import joint_units, run_dims, varied

if TYPE_CHECKING:
    import xarray

_MOST_PARAMETERS = 3  # that have diagrams
_TOOL_COLOR = "#22303c"


def scores_figure(run: xarray.Dataset, metrics: xarray.Dataset) -> dict[str, Any] | None:
    """Return a figure of RMS joint and tool errors over each varied parameter, as plain dictionaries.

    Parameters
    ----------
    run, metrics
        A batch of runs and its `run_metrics`.

    Returns
    -------
    dict or None
        None if no scalar parameter varies.
    """
    parameters = varied_numbers(run)
    if not parameters:
        return None
    names = [*(plot_text(str(name)) for name in run["joint"].values), "tool"]
    tool = len(names) - 1
    panels: list[Panel] = []
    data: list[dict[str, Any]] = []
    for metric, title, unit, lines in _rows(joint_units(run), metrics):
        by_joint = "joint" in metrics[metric].dims
        values = (metrics[metric].transpose(..., "joint") if by_joint else metrics[metric]).values
        for count, (name, numbers) in enumerate(parameters.items()):
            panel = Panel(name, title, "mm" if unit == "m" else "mrad", 1e3, lines)
            order = np.argsort(numbers, kind="stable")
            mode = "lines+markers" if _is_line(run, numbers) else "markers"
            for k in lines:
                color = _TOOL_COLOR if k == tool else COLORS[k % len(COLORS)]
                y = panel.scale * values.reshape(numbers.size, -1)[order, k if by_joint else 0]
                data.append(
                    line_style(panel, len(panels), names[k], k, legend=count == 0)
                    | {"mode": mode, "hovertemplate": "%{y:.4g} " + panel.unit + " at %{x:.4g}"}
                    | {"x": typed_array(numbers[order]), "y": typed_array(y)}
                    | {"line": {"color": color, "width": 1.4}, "marker": {"color": color, "size": 5, "opacity": 0.75}}
                )
            panels.append(panel)
    layout = panel_layout(panels, 0.0, 1.0, columns=len(parameters)) | {"hovermode": "closest"}
    for number, panel in enumerate(panels):
        axis = layout["xaxis" + axis_name("x", number)[1:]]
        column, is_last = number % len(parameters), number >= len(panels) - len(parameters)
        axis.update(range=None, hoverformat=None, title={"text": plot_text(panel.variable)} if is_last else None)
        axis["matches"] = axis_name("x", column) if number != column else None
    return {"data": data, "layout": layout}


def _rows(units: Sequence[str], metrics: xarray.Dataset) -> list[tuple[str, str, str, tuple[int, ...]]]:
    """Return metric, title, unit and lines of each row of diagrams; the tool's line comes after the joints'."""
    rows = []
    if "rms_error" in metrics:
        for unit in dict.fromkeys(units):
            lines = tuple(joint for joint, other in enumerate(units) if other == unit)
            rows.append(("rms_error", "RMS tracking error", unit, lines))
    if "rms_position_error" in metrics:
        rows.append(("rms_position_error", "RMS tool position error", "m", (len(units),)))
    return rows


def varied_numbers(run: xarray.Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the first three scalar parameters that differ between the runs, each (runs,)."""
    numbers = {name: values for name, values in varied(run).items() if np.issubdtype(values.dtype, np.number)}
    differing = {name: values.astype(float) for name, values in numbers.items() if np.ptp(values) > 0.0}
    return dict(list(differing.items())[:_MOST_PARAMETERS])


def _is_line(run: xarray.Dataset, numbers: NDArray[np.float64]) -> bool:
    """Whether a line may join the points: nothing else varies, and each value belongs to one run."""
    coordinates = [name for name, value in run.coords.items() if set(run_dims(run)) & set(value.dims)]
    return len(coordinates) == 1 and len(np.unique(numbers)) == len(numbers)
