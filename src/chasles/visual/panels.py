"""Panels of curves over time, stacked or in columns, as Plotly's plain dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.visual.encoding import typed_array

COLORS = ("#0f6fb4", "#e07b00", "#1f9d6b", "#b0468f", "#c2402f", "#7a68c9", "#8a6d3b", "#2aa7c4", "#6b7785", "#a3a300")
#: Layout that all figures share.
STYLE: dict[str, Any] = {
    "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": "#33414e"},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "#ffffff",
    "hovermode": "x unified",
    "hoverlabel": {"bgcolor": "rgba(255,255,255,0.94)", "bordercolor": "#d5dce3", "font": {"size": 12}},
}
QUIET: dict[str, Any] = {"hoverinfo": "skip", "hovertemplate": None, "showlegend": False}
_PANEL_HEIGHT = 230
_GAP = 46
_COLUMN_GAP = 0.09
#: Lines of one batch in one diagram.
MOST_LINES = 20


@dataclass(frozen=True)
class Panel:
    """Diagram of one variable's lines, in the unit that reads best.

    Attributes
    ----------
    variable
        Name of the variable, for the caller's use.
    title, unit
        Title above the panel, and unit at its axis.
    scale
        Factor from SI units to `unit`.
    lines
        Indices of the joints, or other components, that are shown.
    note
        Text after the title.
    """

    variable: str
    title: str
    unit: str
    scale: float
    lines: tuple[int, ...]
    note: str = ""


def axis_name(letter: str, number: int) -> str:
    """Return the name of a panel's axis.

    >>> axis_name("x", 0), axis_name("y", 1)
    ('x', 'y2')
    """
    return letter if number == 0 else f"{letter}{number + 1}"


def line_style(panel: Panel, number: int, name: str, group: int, *, legend: bool) -> dict[str, Any]:
    """Return the style that the traces of one line share; a click in the legend hides the line in all panels."""
    return {
        "name": name,
        "legendgroup": str(group),
        "xaxis": axis_name("x", number),
        "yaxis": axis_name("y", number),
        "type": "scatter",
        "mode": "lines",
        "showlegend": legend,
        "hovertemplate": "%{y:.4g} " + panel.unit,
    }


def dashed_line(style: dict[str, Any], x: Any, y: NDArray[np.float64], color: str) -> dict[str, Any]:
    """Return a dashed line, for a reference or a limit."""
    dashed = {"color": color, "width": 1.4, "dash": "dash"}
    return style | QUIET | {"x": x, "y": typed_array(y), "line": dashed, "opacity": 0.75}


def band(
    style: dict[str, Any], time: NDArray[np.float64], values: NDArray[np.float64], color: str
) -> list[dict[str, Any]]:
    """Return the range of a batch of values (b, k) over time (k,), and the lines of some of them."""
    some = values[shown_runs(len(values))]
    gap = np.full((len(some), 1), np.nan)
    lines = np.concatenate([some, gap], axis=1).ravel()
    times = typed_array(np.tile(np.append(time, np.nan), len(some)))
    lowest, highest = np.fmin.reduce(values), np.fmax.reduce(values)
    x = typed_array(time)
    clear, shade, thin = {"color": color, "width": 0}, color + "26", {"color": color, "width": 1}
    return [
        style | QUIET | {"x": x, "y": typed_array(lowest), "line": clear},
        style | QUIET | {"x": x, "y": typed_array(highest), "line": clear} | _filled(shade),
        style | {"x": times, "y": typed_array(lines), "line": thin, "opacity": 0.6, "showlegend": False},
    ]


def curves(
    style: dict[str, Any], time: NDArray[np.float64], values: NDArray[np.float64], color: str
) -> list[dict[str, Any]]:
    """Return values (b, k) over time (k,): one run as a line, several as range and lines, many as quantiles."""
    if len(values) == 1:
        return [style | {"x": typed_array(time), "y": typed_array(values[0]), "line": {"color": color, "width": 1.8}}]
    drawn = (band if len(values) <= MOST_LINES else quantile_bands)(style, time, values, color)
    return [*drawn, legend_entry(style, color)] if style["showlegend"] else drawn


def quantile_bands(
    style: dict[str, Any], time: NDArray[np.float64], values: NDArray[np.float64], color: str
) -> list[dict[str, Any]]:
    """Return the range, the band of 90 % and the median of values (b, k) of many runs over time (k,)."""
    x = typed_array(time)
    lowest, low, middle, high, highest = quantiles(values, (0.0, 0.05, 0.5, 0.95, 1.0))
    clear, line = {"color": color, "width": 0}, {"color": color, "width": 1.8}
    return [
        style | QUIET | {"x": x, "y": typed_array(lowest), "line": clear},
        style
        | QUIET
        | {"x": x, "y": typed_array(highest), "line": clear, "fill": "tonexty", "fillcolor": color + "1c"},
        style | QUIET | {"x": x, "y": typed_array(low), "line": clear},
        style | QUIET | {"x": x, "y": typed_array(high), "line": clear} | _filled(color + "38"),
        style | {"x": x, "y": typed_array(middle), "line": line, "showlegend": False},
    ]


def _filled(color: str) -> dict[str, Any]:
    """Return a line with the area filled down to the previous line."""
    return {"fill": "tonexty", "fillcolor": color}


def quantiles(values: NDArray[np.float64], shares: Sequence[float]) -> NDArray[np.float64]:
    """Return quantiles of finite values (b, ...) over the first axis, interpolated linearly; NaN where none is finite.

    Examples
    --------
    >>> quantiles(np.array([0.0, 1.0, np.nan, 4.0]), (0.0, 0.5, 0.75)).tolist()
    [0.0, 1.0, 2.5]
    """
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan), axis=0)  # NaN goes last
    count = np.isfinite(ordered).sum(axis=0)
    levels = []
    for share in shares:
        rank = share * np.maximum(count - 1, 0)
        below = np.floor(rank).astype(np.intp)
        above = np.minimum(below + 1, np.maximum(count - 1, 0))
        low, high = (np.take_along_axis(ordered, k[None], axis=0)[0] for k in (below, above))
        levels.append(low + (rank - below) * (high - low))
    return np.array(levels)


def legend_entry(style: dict[str, Any], color: str) -> dict[str, Any]:
    """Return a legend entry for lines that are too thin to have their own."""
    return style | {"x": [None], "y": [None], "line": {"color": color, "width": 2}}


def drawn_samples(count: int, limit: int) -> NDArray[np.intp]:
    """Return indices of evenly spaced samples, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(np.intp))


def shown_runs(count: int) -> NDArray[np.intp]:
    """Return indices of at most 20 evenly spaced runs, including the first and the last.

    Examples
    --------
    >>> shown_runs(3)
    array([0, 1, 2])
    """
    return drawn_samples(count, MOST_LINES)


def panel_layout(
    panels: Sequence[Panel], first: float, last: float, *, columns: int = 1, above: int = 0
) -> dict[str, Any]:
    """Return the layout of panels over one span of time, row by row.

    Parameters
    ----------
    panels
        Panels to place.
    first, last
        Span of time, s.
    columns
        Number of panels in a row.
    above
        Free height above the panels, pixels.
    """
    rows = -(-len(panels) // columns)
    inner = above + rows * _PANEL_HEIGHT + (rows - 1) * _GAP
    width = (1.0 - (columns - 1) * _COLUMN_GAP) / columns
    layout: dict[str, Any] = {
        "height": inner + 86,
        "margin": {"l": 64, "r": 16, "t": 30, "b": 56},
        **STYLE,
        "legend": {"groupclick": "togglegroup", "tracegroupgap": 2, "font": {"size": 12}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#b3bec8", "activecolor": "#0f6fb4"},
        "annotations": [],
    }
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        left = column * (width + _COLUMN_GAP)
        top = 1.0 - (above + row * (_PANEL_HEIGHT + _GAP)) / inner
        bottom = max(0.0, top - _PANEL_HEIGHT / inner)
        is_last = row == rows - 1
        lines = {"gridcolor": "#e8edf1", "zerolinecolor": "#c3ccd4", "linecolor": "#c3ccd4"}
        layout["xaxis" + axis_name("x", number)[1:]] = lines | {
            "anchor": axis_name("y", number),
            "domain": [left, left + width],
            "matches": "x" if number else None,
            "range": [first, last if last > first else first + 1.0],
            "showticklabels": is_last,
            "title": {"text": "time [s]"} if is_last else None,
            "hoverformat": ".3f",
        }
        layout["yaxis" + axis_name("y", number)[1:]] = lines | {
            "domain": [bottom, top],
            "anchor": axis_name("x", number),
            "exponentformat": "power",
        }
        text = f"<b>{panel.title}</b>" + (f" ({panel.note})" if panel.note else "")
        if columns > 1:  # between narrow panels an axis has no room for its title
            text += f" [{panel.unit}]"
        else:
            layout["yaxis" + axis_name("y", number)[1:]]["title"] = {"text": f"[{panel.unit}]", "standoff": 6}
        layout["annotations"].append(title_above(text, left, top))
    return layout


def title_above(text: str, left: float, top: float) -> dict[str, Any]:
    """Return the annotation above a panel, whose upper left corner is given as fractions of the page."""
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": left,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 3,
        "showarrow": False,
    }
