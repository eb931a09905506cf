"""Results of the search for gains, as a table and as curves."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.studies.results import StudyResults
from chasles.studies.settings import KNOBS
from chasles.studies.tuning import ranges_of
from chasles.visual.encoding import plot_text, typed_array
from chasles.visual.panels import COLORS, axis_name, title_above

_NEAR = 0.02  # of a range on its logarithmic scale: closer to its end a value is said to be there
_PANELS = {"torque_rate": "torque rate, planned = 1", "effort": "effort, planned = 1", "lost": "lost runs [%]"}
_HEIGHT = 250
_GAP = 78
_GRID = {"gridcolor": "#e8edf1", "zerolinecolor": "#e8edf1", "linecolor": "#c3ccd4"}


def tuning_table(results: StudyResults, robot: str) -> str:
    """Settings and gains of each controller at its best, at each rate and delay."""
    tuning = results.study.tuning
    assert tuning is not None
    pairs = results.study.factors.cells
    body = []
    for name in results.controllers(robot):
        cells = []
        for rate, delay in pairs:
            settings, ranges = results.tuned(robot, name, rate, delay), ranges_of(tuning, rate)
            texts = [_knob(knob, settings[knob], ranges[knob]) for knob in KNOBS if knob in settings]
            gains = results.tuned_gains(robot, name, rate, delay)
            texts += [f"{html.escape(gain)} {_values(value)}" for gain, value in gains.items()]
            cells.append(f"<td>{'<br>'.join(texts) or 'as given'}</td>")
        body.append(f"<tr><td>{html.escape(name)}</td>{''.join(cells)}</tr>")
    head = "".join(f"<th>{rate:g} Hz<br>delay {delay:g} T</th>" for rate, delay in pairs)
    return f"<table><thead><tr><th>controller</th>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def tuning_figure(results: StudyResults, robot: str) -> dict[str, Any]:
    """Pareto fronts of the median error against torque rate, effort and lost runs, a row for each rate and delay."""
    pairs = results.study.factors.cells
    titles = list(dict.fromkeys(choice.title for choice in results.study.controllers))
    inner = len(pairs) * _HEIGHT + (len(pairs) - 1) * _GAP
    unit = results.unit(robot)
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {
        "height": inner + 150,
        "margin": {"l": 56, "r": 12, "t": 92, "b": 58},
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": "#33414e"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "#ffffff",
        "legend": {"groupclick": "togglegroup", "orientation": "h", "x": 0, "y": 1.0 + 38.0 / inner},
        "annotations": [],
    }
    layout["legend"]["yanchor"] = "bottom"
    width = 0.28
    for row, (rate, delay) in enumerate(pairs):
        top = 1.0 - row * (_HEIGHT + _GAP) / inner
        for column, (against, label) in enumerate(_PANELS.items()):
            number, left = len(_PANELS) * row + column, column * (1.0 - width) / 2.0
            for name in results.controllers(robot):
                pareto = results.front(robot, name, rate, delay, against)
                group = titles.index(name)
                x = 100.0 * pareto.x if against == "lost" else pareto.x
                data.append(
                    {
                        "type": "scatter",
                        "mode": "lines+markers",
                        "name": plot_text(name),
                        "legendgroup": str(group),
                        "showlegend": number == 0,
                        "xaxis": axis_name("x", number),
                        "yaxis": axis_name("y", number),
                        "x": typed_array(x),
                        "y": typed_array(1e3 * pareto.error),
                        "line": {"color": COLORS[group % len(COLORS)], "width": 1.6, "shape": "hv"},
                        "marker": {"size": 5},
                        "hovertemplate": "%{x:.3g}, %{y:.3g}",
                    }
                )
            layout["xaxis" + axis_name("x", number)[1:]] = _GRID | {
                "anchor": axis_name("y", number),
                "domain": [left, left + width],
                "type": "linear" if against == "lost" else "log",
                "title": {"text": label, "standoff": 6, "font": {"size": 13}},
            }
            layout["yaxis" + axis_name("y", number)[1:]] = _GRID | {
                "anchor": axis_name("x", number),
                "domain": [max(0.0, top - _HEIGHT / inner), top],
                "type": "log",
                "tickformat": "~g",
                "title": {"text": f"[m{unit}]" if column == 0 else "", "standoff": 4, "font": {"size": 13}},
            }
            text = f"<b>{rate:g} Hz, delay {delay:g} T</b>" if column == 0 else ""
            layout["annotations"].append(title_above(text, left, top))
    return {"data": data, "layout": layout}


def _values(gains: NDArray[np.float64]) -> str:
    """Gains of all joints."""
    return ", ".join(f"{value:.3g}" for value in np.ravel(gains).tolist())


def _knob(name: str, value: float, ends: tuple[float, float]) -> str:
    """A setting, marked where it is at an end of its range."""
    low, high = ends
    share = (math.log(value) - math.log(low)) / math.log(high / low) if low < high else 0.5
    mark = " (least)" if share < _NEAR else " (most)" if share > 1.0 - _NEAR else ""
    return f'{name} {value:.3g}<span class="range">{mark}</span>'
