"""Diagrams of energy balances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.base import verbs
from chasles.simulation.energy_audit import EnergyAudit
from chasles.visual.encoding import as_plotly, plot_text, typed_array
from chasles.visual.panels import COLORS, Panel, band, drawn_samples, legend_entry, line_style, panel_layout

if TYPE_CHECKING:
    import xarray

_SAMPLES = 2000
_SAMPLES_OF_BATCH = 300
_PANELS = (
    ("work", "source", "Work done on the plant", "J"),
    ("stored", "store", "Stored energy since the start", "J"),
    ("loss", "sink", "Energy lost", "J"),
    ("residual", None, "Residual: stored - work + loss", "J"),
)


@verbs.plot.register(EnergyAudit)
def energy_plot(audit: EnergyAudit) -> Any:
    """Plot an energy balance; see `EnergyAudit.plot`."""
    return as_plotly(energy_figure(audit.balance))


def energy_figure(balance: xarray.Dataset) -> dict[str, Any]:
    """Return the figure of `energy_plot` as Plotly's plain dictionaries.

    A click in the legend hides one part of the balance in all diagrams.
    """
    names = [str(name) for _, dim, _, _ in _PANELS if dim is not None for name in balance[dim].values if name != "none"]
    colored = list(dict.fromkeys([*names, "residual"]))
    times = balance["time"].values
    batch = balance["residual"].ndim > 1
    samples = drawn_samples(len(times), _SAMPLES_OF_BATCH if batch else _SAMPLES)
    data: list[dict[str, Any]] = []
    panels, named = [], set()
    for number, (variable, dim, title, unit) in enumerate(_PANELS):
        components = [str(name) for name in balance[dim].values] if dim is not None else ["residual"]
        panels.append(Panel(variable, title, unit, 1.0, tuple(range(len(components)))))
        for k, part in enumerate(components):
            if part == "none":
                continue
            power = balance[variable].isel({dim: k}) if dim is not None else balance[variable]
            values = power.transpose(..., "time").values.reshape(-1, len(times))[:, samples]
            color = COLORS[colored.index(part) % len(COLORS)]
            label = plot_text(part.replace("_", " "))
            style = line_style(panels[-1], number, label, colored.index(part), legend=part not in named)
            if batch:
                data.extend(band(style, times[samples], values, color))
                data.extend([legend_entry(style, color)] if part not in named else [])
            else:
                line = {"color": color, "width": 1.8}
                data.append(style | {"x": typed_array(times[samples]), "y": typed_array(values[0]), "line": line})
            named.add(part)
    ends = float(times[0]), float(np.asarray(times)[-1])
    return {"data": data, "layout": panel_layout(panels, *ends, columns=2)}
