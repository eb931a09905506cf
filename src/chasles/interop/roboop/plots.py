"""ROBOOP's pictures (gnugraph.h): `GNUcurve`, `Plot2d`, `Plot3d`, `Plot_file` and `set_plot2d`, `set_plot3d`.

ROBOOP writes files for gnuplot and waits for a key; here `gnuplot` returns a Plotly figure, which notebooks show and
``write_html`` saves. Commands for gnuplot (`addcommand`) are kept and not obeyed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, import_extra
from chasles.engine.validators import choice, reals
from chasles.interop.roboop.codes import (
    BOXES,
    DATAPOINTS,
    DOTS,
    IMPULSES,
    LINE_TYPES,
    LINES,
    LINESPOINTS,
    STEPS,
    one_based,
)
from chasles.interop.roboop.data_files import IO_matrix_file

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Vector = NDArray[np.float64]
#: How plotly draws what gnuplot has a style for.
_MODES = {LINES: "lines", DATAPOINTS: "markers", LINESPOINTS: "lines+markers", DOTS: "markers", STEPS: "lines"}


class GNUcurve:
    """A curve: x and y values (N,), a label, and a style such as LINES, DATAPOINTS or LINESPOINTS."""

    def __init__(self, x: ArrayLike = (), y: ArrayLike | None = None, label: str = "", LineType: str = LINES) -> None:
        self.x = reals(x, "x", ("N",))
        self.y = np.zeros_like(self.x) if y is None else reals(y, "y", self.x.shape)
        self.label, self.LineType = label, choice(LineType, "LineType", LINE_TYPES)

    def dump(self) -> None:
        """Print the points."""
        print(self.label)
        for x, y in zip(self.x.tolist(), self.y.tolist(), strict=True):
            print(x, y)


class Plot2d:
    """A plane diagram of curves.

    Examples
    --------
    >>> plot = Plot2d()
    >>> plot.settitle("free fall")
    >>> plot.addcurve([[0.0, 0.0], [1.0, -4.9]], "height", LINES)
    >>> plot.gnuplot().data[0].name
    'height'
    """

    def __init__(self) -> None:
        self.title = self.xlabel = self.ylabel = ""
        self.curves: list[GNUcurve] = []
        self.commands: list[str] = []

    def settitle(self, t: str) -> None:
        """Set the title."""
        self.title = t

    def setxlabel(self, t: str) -> None:
        """Set the label of the x axis."""
        self.xlabel = t

    def setylabel(self, t: str) -> None:
        """Set the label of the y axis."""
        self.ylabel = t

    def addcurve(self, data: ArrayLike, label: str = "", LineType: str = DATAPOINTS) -> None:
        """Add a curve of points, (N, 2)."""
        points = reals(data, "data", ("N", 2))
        self.curves.append(GNUcurve(points[:, 0], points[:, 1], label, LineType))

    def addcommand(self, gcom: str) -> None:
        """Keep a command for gnuplot."""
        self.commands.append(gcom)

    def dump(self) -> None:
        """Print title, labels and curves."""
        print(self.title, self.xlabel, self.ylabel, sep="\n")
        for curve in self.curves:
            curve.dump()

    def gnuplot(self) -> Figure:
        """Return the diagram, a ``plotly.graph_objects.Figure``."""
        figures = import_extra("plotly.graph_objects", "plot", "plotting")
        traces = [_trace(figures, curve) for curve in self.curves]
        axes = {"xaxis_title": self.xlabel, "yaxis_title": self.ylabel}
        return figures.Figure(traces, {"title": {"text": self.title}}).update_layout(**axes)


class Plot3d:
    """Curves in space: a matrix (N, 3 k) has the points of k curves, three columns for each.

    Examples
    --------
    >>> plot = Plot3d()
    >>> len(plot.gnuplot(np.zeros((5, 6))).data)
    2
    """

    def __init__(self) -> None:
        self.title = self.xlabel = self.ylabel = self.zlabel = ""

    def settitle(self, t: str) -> None:
        """Set the title."""
        self.title = t

    def setxlabel(self, t: str) -> None:
        """Set the label of the x axis."""
        self.xlabel = t

    def setylabel(self, t: str) -> None:
        """Set the label of the y axis."""
        self.ylabel = t

    def setzlabel(self, t: str) -> None:
        """Set the label of the z axis."""
        self.zlabel = t

    def gnuplot(self, xyz: ArrayLike) -> Figure:
        """Return the diagram of some curves, a ``plotly.graph_objects.Figure``."""
        points = reals(xyz, "xyz", ("N", "columns"))
        if not points.size or points.shape[1] % 3:
            raise ArgumentError(f"xyz has shape {points.shape}; expected three columns for each curve")
        figures = import_extra("plotly.graph_objects", "plot", "plotting")
        curves = np.split(points, points.shape[1] // 3, axis=1)
        traces = [figures.Scatter3d(x=c[:, 0], y=c[:, 1], z=c[:, 2], mode="lines") for c in curves]
        titles = {"xaxis_title": self.xlabel, "yaxis_title": self.ylabel, "zaxis_title": self.zlabel}
        return figures.Figure(traces, {"title": {"text": self.title}}).update_layout(scene=titles)


class Plot_file(IO_matrix_file, Plot2d):
    """Diagrams of the matrices that a file holds; see `IO_matrix_file`."""

    def __init__(self, filename: str | Path) -> None:
        IO_matrix_file.__init__(self, filename)
        Plot2d.__init__(self)

    def graph(
        self, title_graph: str, label: Sequence[str], x: int, y: int, x_start: int, y_start: int, y_end: int
    ) -> Figure:
        """Return the diagram of rows `y_start` to `y_end` of matrix `y` over row `x_start` of matrix `x`, from 1 on."""
        data, titles = self.read_all()
        across = data[one_based(x, len(data), "x") - 1]
        up = data[one_based(y, len(data), "y") - 1]
        last = one_based(y_end, len(up), "y_end")
        first = one_based(y_start, last, "y_start")
        row = across[one_based(x_start, len(across), "x_start") - 1]
        self.title, self.xlabel, self.ylabel = title_graph, titles[x - 1], titles[y - 1]
        self.curves = []
        for index, values in enumerate(up[first - 1 : last]):
            self.addcurve(np.column_stack([row, values]), label[index] if index < len(label) else "", LINES)
        return self.gnuplot()


def set_plot2d(
    title_graph: str,
    x_axis_title: str,
    y_axis_title: str,
    label: str | Sequence[str],
    LineType: str,
    xdata: ArrayLike,
    ydata: ArrayLike,
    start_y: int = 1,
    end_y: int | None = None,
) -> Figure:
    """Return the diagram of rows `start_y` to `end_y`, from 1 on, of `ydata` (rows, N) over `xdata` (N,).

    `label` has a name for each curve, or begins all of them.

    Examples
    --------
    >>> figure = set_plot2d("t", "x", "y", "q", LINES, [0.0, 1.0], [[0.0, 1.0], [2.0, 3.0]])
    >>> [trace.name for trace in figure.data]
    ['q1', 'q2']
    """
    x, y = reals(xdata, "xdata").ravel(), np.atleast_2d(reals(ydata, "ydata"))
    last = one_based(len(y) if end_y is None else end_y, len(y), "end_y")
    first = one_based(start_y, last, "start_y")
    plot = Plot2d()
    plot.title, plot.xlabel, plot.ylabel = title_graph, x_axis_title, y_axis_title
    if not isinstance(label, str) and len(label) != last - first + 1:
        raise ArgumentError(f"{last - first + 1} curves have {len(label)} labels")
    for index in range(first, last + 1):
        name = f"{label}{index}" if isinstance(label, str) else label[index - first]
        plot.curves.append(GNUcurve(x, y[index - 1], name, LineType))
    return plot.gnuplot()


def set_plot3d(xyz: ArrayLike, title_graph: str, x_axis_title: str, y_axis_title: str, z_axis_title: str) -> Figure:
    """Return the diagram of curves in space; see `Plot3d`."""
    plot = Plot3d()
    plot.title, plot.xlabel, plot.ylabel, plot.zlabel = title_graph, x_axis_title, y_axis_title, z_axis_title
    return plot.gnuplot(xyz)


def _trace(figures: Any, curve: GNUcurve) -> Any:
    if curve.LineType in (BOXES, IMPULSES):
        return figures.Bar(x=curve.x, y=curve.y, name=curve.label, width=None if curve.LineType == BOXES else 0.0)
    shape = {"shape": "hv"} if curve.LineType == STEPS else {}
    marker = {"size": 2} if curve.LineType == DOTS else {}
    return figures.Scatter(
        x=curve.x, y=curve.y, name=curve.label, mode=_MODES[curve.LineType], line=shape, marker=marker
    )
