"""Figures of runs as plotly's plain dictionaries: what notebooks show and reports embed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chasles.visual.encoding import plot_text, typed_array
from chasles.visual.panels import (
    COLORS,
    Panel,
    band,
    dashed_line,
    drawn_samples,
    legend_entry,
    line_style,
    panel_layout,
)
from chasles.visual.summary import by_run, joint_units, require_run

if TYPE_CHECKING:
    import xarray

_SAMPLES = 4000  # drawn of each line of a single run
_SAMPLES_OF_BATCH = 300


def tracking_figure(run: xarray.Dataset) -> dict[str, Any]:
    """Positions with their reference, tracking errors and torques over time, as a plotly figure in plain dictionaries.

    A batch shows the band between the lowest and the highest of all runs and the lines of some (see `shown_runs`).

    Parameters
    ----------
    run
        Result of `chasles.simulate`.

    Returns
    -------
    dict
        With "data" and "layout". One click on a joint's name in the legend hides it in all diagrams.

    Raises
    ------
    ArgumentError
        The dataset is no such result.
    """
    require_run(run)
    panels = _panels(joint_units(run))
    names = [plot_text(str(name)) for name in run["joint"].values]
    data: list[dict[str, Any]] = []
    for number, panel in enumerate(panels):
        lines = _batch_lines if by_run(run, "q").shape[0] > 1 else _single_lines
        for joint in panel.lines:
            style = line_style(panel, number, names[joint], joint, legend=panel.variable == "q")
            data.extend(lines(run, panel, joint, style, COLORS[joint % len(COLORS)]))
    return {"data": data, "layout": panel_layout(panels, float(run["time"].values[0]), float(run["time"].values[-1]))}


def _panels(units: Sequence[str]) -> list[Panel]:
    panels = []
    for variable, per_unit in (
        ("q", {"rad": ("Joint angle", "rad", 1.0), "m": ("Joint travel", "m", 1.0)}),
        ("error", {"rad": ("Tracking error", "mrad", 1e3), "m": ("Tracking error", "mm", 1e3)}),
        ("tau", {"rad": ("Torque", "N m", 1.0), "m": ("Force", "N", 1.0)}),
    ):
        for unit, (title, shown, scale) in per_unit.items():
            joints = tuple(k for k, own in enumerate(units) if own == unit)
            if joints:
                note = "reference dashed" if variable == "q" else ""
                panels.append(Panel(variable, title, shown, scale, joints, note))
    return panels


def _single_lines(
    run: xarray.Dataset, panel: Panel, joint: int, style: dict[str, Any], color: str
) -> list[dict[str, Any]]:
    samples = drawn_samples(run.sizes["time"], _SAMPLES)
    x = typed_array(run["time"].values[samples])
    y = by_run(run, panel.variable)[0, samples, joint] * panel.scale
    traces = [style | {"x": x, "y": typed_array(y), "line": {"color": color, "width": 1.8}}]
    if panel.variable == "q":
        reference = by_run(run, "q_reference")[0, samples, joint] * panel.scale
        traces.append(dashed_line(style, x, reference, color))
    return traces


def _batch_lines(
    run: xarray.Dataset, panel: Panel, joint: int, style: dict[str, Any], color: str
) -> list[dict[str, Any]]:
    samples = drawn_samples(run.sizes["time"], _SAMPLES_OF_BATCH)
    time = run["time"].values[samples]
    traces = band(style, time, by_run(run, panel.variable)[:, samples, joint] * panel.scale, color)
    if panel.variable == "q":
        reference = by_run(run, "q_reference")[:, samples, joint] * panel.scale
        if (reference == reference[0]).all():
            traces.append(dashed_line(style, typed_array(time), reference[0], color))
        traces.append(legend_entry(style, color))
    return traces
