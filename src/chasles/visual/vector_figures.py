"""Figures for papers: the figures of `chasles.plot` drawn by Matplotlib, which writes PDF, SVG, EPS and PGF files."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentTypeError, import_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from plotly.graph_objects import Figure as PlotlyFigure

_DOTS = 72.0  # pixels of a figure's layout in an inch of paper
_HEIGHT, _WIDTH = 480.0, 700.0
_MOST_DOTS = 500  # drawn one by one; more of them are an image inside the drawing
_DASHES = {"dash": "--", "dot": ":", "dashdot": "-."}
_MARKS = {"circle": "o", "x": "x", "diamond": "D", "cross": "+", "square": "s", "circle-open": "o"}


def to_matplotlib(figure: PlotlyFigure) -> Figure:
    """Return a figure of `chasles.plot` as a Matplotlib figure.

    Lines, bands, maps, contours and paths in space are drawn; interactive features, such as hovering, are left out.

    Parameters
    ----------
    figure
        Plotly figure.

    Returns
    -------
    matplotlib.figure.Figure
        Figure; its method ``savefig`` writes files.

    Raises
    ------
    ArgumentTypeError
        The argument is not a figure.
    MissingExtraError
        Matplotlib is not installed.

    Examples
    --------
    >>> import chasles as ch
    >>> figure = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=2.0).plot()
    >>> len(ch.to_matplotlib(figure).axes)
    4
    """
    if not hasattr(figure, "to_dict") or not hasattr(figure, "layout"):
        raise ArgumentTypeError(f"to_matplotlib takes a figure of chasles.plot, not {type(figure).__name__}")
    pyplot_figure = import_extra("matplotlib.figure", "papers", "a figure for papers")
    content = figure.to_dict()
    layout = content["layout"]
    size = float(layout.get("width") or _WIDTH) / _DOTS, float(layout.get("height") or _HEIGHT) / _DOTS
    drawn: Figure = pyplot_figure.Figure(figsize=size)
    axes: dict[str, Any] = {}
    for trace in content["data"]:
        if trace.get("visible") in (False, "legendonly"):
            continue
        name = str(trace.get("scene") or "scene") if trace["type"] == "scatter3d" else str(trace.get("yaxis") or "y")
        if name not in axes:
            axes[name] = _axes(drawn, layout, name, trace)
        _draw(axes[name], trace, drawn)
    for first in list(axes.values())[:1]:
        if first.get_legend_handles_labels()[1]:
            first.legend(fontsize=8, loc="best")
    title = (layout.get("title") or {}).get("text")
    if title:
        drawn.suptitle(_plain(title))
    return drawn


def svg(figure: PlotlyFigure) -> str:
    """Return a figure as the text of an SVG file, drawn by Matplotlib."""
    content = io.StringIO()
    to_matplotlib(figure).savefig(content, format="svg", bbox_inches="tight")
    return content.getvalue()


def _axes(drawn: Any, layout: Mapping[str, Any], name: str, trace: Mapping[str, Any]) -> Any:
    """Return the axes of a panel, where the layout has it."""
    if name.startswith("scene"):
        domain = layout.get(name, {}).get("domain", {})
        axes = drawn.add_axes(_place(domain.get("x"), domain.get("y")), projection="3d")
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        axes.set_zlabel("z [m]")
        return axes
    x = layout.get("xaxis" + str(trace.get("xaxis") or "x")[1:], {})
    y = layout.get("yaxis" + name[1:], {})
    axes = drawn.add_axes(_place(x.get("domain"), y.get("domain")))
    axes.grid(True, color="#e8edf1", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, labelbottom=x.get("showticklabels") is not False)
    _set_axis(axes, "x", x)
    _set_axis(axes, "y", y)
    if y.get("scaleanchor"):
        axes.set_aspect("equal", adjustable="box")
    for note in layout.get("annotations") or ():
        panel = x.get("domain") or [0.0, 1.0], y.get("domain") or [0.0, 1.0]
        if note.get("xref") == "paper" and (note.get("x"), note.get("y")) == (panel[0][0], panel[1][1]):
            axes.set_title(_plain(note["text"]), fontsize=9, loc="left", fontweight="bold")
    return axes


def _set_axis(axes: Any, axis: str, layout: Mapping[str, Any]) -> None:
    """Set label, scale and range of the axis "x" or "y"."""
    is_logarithmic, ends = layout.get("type") == "log", layout.get("range")
    settings: dict[str, str | list[float]] = {"label": _plain((layout.get("title") or {}).get("text") or "")}
    if is_logarithmic:
        settings["scale"] = "log"
    if ends:
        settings["lim"] = [10.0**end for end in ends] if is_logarithmic else ends
    axes.set(**{f"{axis}{name}": value for name, value in settings.items()})
    getattr(axes, f"{axis}axis").label.set_fontsize(9)


def _place(x: Any, y: Any) -> list[float]:
    """Return left, bottom, width and height of axes: the domains within margins for labels."""
    (left, right), (bottom, top) = x or (0.0, 1.0), y or (0.0, 1.0)
    return [0.1 + 0.86 * left, 0.09 + 0.84 * bottom, 0.86 * (right - left), 0.84 * (top - bottom)]


def _draw(axes: Any, trace: Mapping[str, Any], drawn: Any) -> None:
    """Draw a trace of any known type on its axes."""
    match trace["type"]:
        case "scatter" | "scattergl":
            _draw_points(axes, trace, drawn, "xy")
        case "scatter3d":
            _draw_points(axes, trace, drawn, "xyz")
        case "heatmap":
            x, y, z = (numbers(trace[key]) for key in "xyz")
            alpha = _opacity(trace)
            image = axes.pcolormesh(x, y, z, shading="nearest", alpha=alpha, cmap="viridis", rasterized=True)
            if trace.get("showscale") is not False:
                drawn.colorbar(image, ax=axes, label=_bar(trace))
        case "contour":
            x, y, z = (numbers(trace[key]) for key in "xyz")
            start = (trace.get("contours") or {}).get("start", 0.0)
            color = _color((trace.get("line") or {}).get("color") or "#c2402f")
            axes.contour(x, y, z, levels=[start], colors=[color], linewidths=1.6)


def _draw_points(axes: Any, trace: Mapping[str, Any], drawn: Any, coordinates: str) -> None:
    """Draw dots whose colors are a scale, or a line with its filling."""
    where = [numbers(trace[key]) for key in coordinates]
    marker = trace.get("marker") or {}
    if "markers" in _mode(trace) and isinstance(marker.get("color"), Mapping | list | np.ndarray):
        colors = numbers(marker["color"])
        size = float(marker.get("size", 4)) ** 2
        style = {"linewidths": 0, "rasterized": colors.size > _MOST_DOTS}
        dots = axes.scatter(*where, c=colors, s=size, alpha=_opacity(trace), **style)
        drawn.colorbar(dots, ax=axes, shrink=0.6, label=_bar(marker))
    else:
        _draw_line(axes, trace, where)


def _draw_line(axes: Any, trace: Mapping[str, Any], where: list[NDArray[np.float64]]) -> None:
    line, marker = trace.get("line") or {}, trace.get("marker") or {}
    name = _plain(str(trace.get("name") or "")) if trace.get("showlegend") is not False else ""
    label = name or "_nolegend_"
    color = line.get("color") or marker.get("color") or "#0f6fb4"
    shade = _color(trace.get("fillcolor") or color)
    if trace.get("fill") == "toself":
        axes.fill(*where, color=shade, linewidth=0, label=label)
        return
    if trace.get("fill") == "tonexty" and axes.lines:
        axes.fill_between(where[0], axes.lines[-1].get_ydata(), where[1], color=shade, linewidth=0)
    style = {"linewidth": line.get("width", 1.4), "linestyle": _DASHES.get(line.get("dash", ""), "-")}
    if "lines" not in _mode(trace):
        style = {"linestyle": "", "marker": _MARKS.get(str(marker.get("symbol")), "o"), "markersize": 4}
    axes.plot(*where, color=_color(color), alpha=_opacity(trace), label=label, **style)


def _mode(trace: Mapping[str, Any]) -> str:
    return str(trace.get("mode") or "lines")


def _opacity(trace: Mapping[str, Any]) -> float:
    return float(trace.get("opacity") or 1.0)


def _bar(owner: Mapping[str, Any]) -> str:
    return _plain(((owner.get("colorbar") or {}).get("title") or {}).get("text") or "")


def _color(text: Any) -> Any:
    """Return a color as Matplotlib takes it: ``rgba(r, g, b, a)`` becomes numbers."""
    match = re.fullmatch(r"rgba?\(([^)]*)\)", str(text))
    if match is None:
        return text
    values = [float(part) for part in match[1].split(",")]
    return [value / 255.0 for value in values[:3]] + values[3:]


def _plain(text: str) -> str:
    """Return a text of Plotly without its tags; a dollar sign is no formula.

    >>> _plain("<b>Torque</b> &lt;x&gt;")
    'Torque <x>'
    """
    return html.unescape(re.sub(r"</?[a-zA-Z][^>]*>", "", text)).replace("$", r"\$")


def numbers(values: Any) -> NDArray[np.float64]:
    """Return the values of a trace, which may be one of Plotly's typed arrays.

    >>> numbers({"dtype": "f4", "bdata": "AACAPwAAAEA="})
    array([1., 2.])
    """
    if not isinstance(values, Mapping):
        return np.asarray(values, dtype=np.float64)
    flat = np.frombuffer(base64.b64decode(values["bdata"]), dtype="<" + values["dtype"]).astype(np.float64)
    shape = values.get("shape")
    return flat.reshape([int(size) for size in str(shape).split(",")]) if shape else flat
