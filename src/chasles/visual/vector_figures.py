"""Figures for papers: the figures of `chasles.plot` drawn by Matplotlib, which writes PDF, SVG, EPS and PGF files."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentTypeError, import_extra

_DOTS = 72.0  # pixels of a figure's layout in an inch of paper
_HEIGHT, _WIDTH = 480.0, 700.0
_MOST_DOTS = 500  # drawn one by one; more of them are an image inside the drawing
_DASHES = {"dash": "--", "dot": ":", "dashdot": "-."}
_MARKS = {"circle": "o", "x": "x", "diamond": "D", "cross": "+", "square": "s", "circle-open": "o"}


def to_matplotlib(figure: Any) -> Any:
    """Return a figure of `chasles.plot` as a Matplotlib figure.

    Lines, bands, maps, contours and paths in space are drawn; what only a screen can do, such as hovering, is left out.

    Parameters
    ----------
    figure
        Plotly figure.

    Returns
    -------
    matplotlib.figure.Figure
        Its method ``savefig`` writes files.

    Raises
    ------
    ArgumentTypeError
        The argument is no figure.
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
    drawn = pyplot_figure.Figure(figsize=size)
    axes: dict[str, Any] = {}
    for trace in content["data"]:
        if trace.get("visible") is False or trace.get("visible") == "legendonly":
            continue
        name = str(trace.get("scene") or "scene") if trace["type"] == "scatter3d" else str(trace.get("yaxis") or "y")
        if name not in axes:
            axes[name] = _axes(drawn, layout, name, trace)
        _draw(axes[name], trace, drawn)
    for name, one in axes.items():
        handles, labels = one.get_legend_handles_labels()
        if labels and name == next(iter(axes)):
            one.legend(handles, labels, fontsize=8, loc="best")
    title = (layout.get("title") or {}).get("text")
    if title:
        drawn.suptitle(_plain(title))
    return drawn


def svg(figure: Any) -> str:
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
    for axis, own in (("x", x), ("y", y)):
        getattr(axes, f"set_{axis}label")(_plain((own.get("title") or {}).get("text") or ""), fontsize=9)
        if own.get("type") == "log":
            getattr(axes, f"set_{axis}scale")("log")
        ends = own.get("range")
        if ends:
            powers = own.get("type") == "log"
            getattr(axes, f"set_{axis}lim")([10.0**end for end in ends] if powers else ends)
    if y.get("scaleanchor"):
        axes.set_aspect("equal", adjustable="box")
    for note in layout.get("annotations") or ():
        place = x.get("domain") or [0.0, 1.0], y.get("domain") or [0.0, 1.0]
        if note.get("xref") == "paper" and (note.get("x"), note.get("y")) == (place[0][0], place[1][1]):
            axes.set_title(_plain(note["text"]), fontsize=9, loc="left", fontweight="bold")
    return axes


def _place(x: Any, y: Any) -> list[float]:
    """Return left, bottom, width and height of axes: the domains within margins for labels."""
    (left, right), (bottom, top) = x or (0.0, 1.0), y or (0.0, 1.0)
    return [0.1 + 0.86 * left, 0.09 + 0.84 * bottom, 0.86 * (right - left), 0.84 * (top - bottom)]


def _draw(axes: Any, trace: Mapping[str, Any], drawn: Any) -> None:
    x, y, z = (None if trace.get(key) is None else numbers(trace[key]) for key in "xyz")
    name = _plain(str(trace.get("name") or "")) if trace.get("showlegend") is not False else ""
    label = name or "_nolegend_"
    line, marker = trace.get("line") or {}, trace.get("marker") or {}
    alpha = float(trace.get("opacity") or 1.0)
    match trace["type"]:
        case "scatter" | "scattergl" | "scatter3d":
            where = [x, y, z] if trace["type"] == "scatter3d" else [x, y]
            mode = str(trace.get("mode") or "lines")
            style = {"linewidth": line.get("width", 1.4), "linestyle": _DASHES.get(line.get("dash", ""), "-")}
            if "markers" in mode and isinstance(marker.get("color"), Mapping | list | np.ndarray):
                colors = numbers(marker["color"])
                size = float(marker.get("size", 4)) ** 2
                dots = axes.scatter(
                    *where, c=colors, s=size, alpha=alpha, linewidths=0, rasterized=colors.size > _MOST_DOTS
                )
                drawn.colorbar(dots, ax=axes, shrink=0.6, label=_bar(marker))
                return
            color = line.get("color") or marker.get("color") or "#0f6fb4"
            if trace.get("fill") == "toself":
                axes.fill(x, y, color=_color(trace.get("fillcolor") or color), linewidth=0, label=label)
                return
            if "lines" not in mode:
                style = {"linestyle": "", "marker": _MARKS.get(str(marker.get("symbol")), "o"), "markersize": 4}
            if trace.get("fill") == "tonexty" and axes.lines:
                before = axes.lines[-1]
                shade = _color(trace.get("fillcolor") or color)
                axes.fill_between(x, before.get_ydata(), y, color=shade, linewidth=0)
            axes.plot(*where, color=_color(color), alpha=alpha, label=label, **style)
        case "heatmap":
            image = axes.pcolormesh(x, y, z, shading="nearest", alpha=alpha, cmap="viridis", rasterized=True)
            if trace.get("showscale") is not False:
                drawn.colorbar(image, ax=axes, label=_bar(trace))
        case "contour":
            start = (trace.get("contours") or {}).get("start", 0.0)
            axes.contour(x, y, z, levels=[start], colors=[_color(line.get("color") or "#c2402f")], linewidths=1.6)


def _bar(owner: Mapping[str, Any]) -> str:
    return _plain(((owner.get("colorbar") or {}).get("title") or {}).get("text") or "")


def _color(text: Any) -> Any:
    """Return a color as Matplotlib takes it: ``rgba(r, g, b, a)`` becomes numbers."""
    parts = re.fullmatch(r"rgba?\(([^)]*)\)", str(text))
    if parts is None:
        return text
    values = [float(part) for part in parts[1].split(",")]
    return [value / 255.0 for value in values[:3]] + values[3:]


def _plain(text: str) -> str:
    """Return a text of Plotly without its tags; a dollar sign is no formula.

    >>> _plain("<b>Torque</b> &lt;x&gt;")
    'Torque <x>'
    """
    return html.unescape(re.sub(r"</?[a-zA-Z][^>]*>", "", text)).replace("$", r"\$")


def numbers(values: Any) -> NDArray[np.float64]:
    """Return numbers of a trace, which may be one of Plotly's typed arrays.

    >>> numbers({"dtype": "f4", "bdata": "AACAPwAAAEA="})
    array([1., 2.])
    """
    if not isinstance(values, Mapping):
        return np.asarray(values, dtype=np.float64)
    flat = np.frombuffer(base64.b64decode(values["bdata"]), dtype="<" + values["dtype"]).astype(np.float64)
    shape = values.get("shape")
    return flat.reshape([int(size) for size in str(shape).split(",")]) if shape else flat
