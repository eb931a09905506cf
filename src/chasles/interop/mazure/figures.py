"""A(t), B(t) and K(t) along a motion as a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control import GainScheduledRegulator, TimeVaryingRegulator
from chasles.control.linear_quadratic import linear_model
from chasles.engine.validators import real
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.visual.encoding import as_plotly, plot_text, typed_array
from chasles.visual.panels import COLORS, Panel, line_style, panel_layout

_COLUMNS = 2


def plot_matrices(
    robot: Robot,
    motion: JointTrajectory,
    period: float = 1.0 / 60.0,
    regulator: TimeVaryingRegulator | GainScheduledRegulator | None = None,
) -> Any:
    """Draw the lower half of A(t), B(t), and the gains K(t) of a regulator along a planned motion.

    Parameters
    ----------
    robot
        The model that is linearised.
    motion
        The planned motion.
    period
        Sample period, s; default that of the report's 60 Hz.
    regulator
        Regulator of the same model; default the stationary one of A(k) and B(k), solved anew at each sample, with the
        default weights.

    Returns
    -------
    plotly.graph_objects.Figure
        Notebooks show it.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> figure = plot_matrices(arm, ch.PointToPoint([-1.57, 0.0], [0.79, 1.57], 1.0))
    >>> [note.text for note in figure.layout.annotations][:3]
    ['<b>A, positions</b> [1/s²]', '<b>A, velocities</b> [1/s]', '<b>B</b> [1/(kg·m²)]']
    """
    step = real(period, "period", above=0.0)
    times = step * np.arange(round(float(motion.duration) / step) + 1, dtype=np.float64)
    planned = motion(times)
    chosen = GainScheduledRegulator(robot, update_period=step) if regulator is None else regulator
    gains = chosen.schedule(times, planned)[..., 1:]
    A, B = linear_model(robot, planned)
    n = robot.n
    drawn: list[tuple[str, str, str, NDArray[np.float64]]] = [
        ("A, positions", "1/s²", "A", A[:, n:, :n]),
        ("A, velocities", "1/s", "A", A[:, n:, n:]),
        ("B", "1/(kg·m²)", "B", B[:, n:]),
        ("K, positions", "N·m/rad", "K", gains[..., :n]),
        ("K, velocities", "N·m·s/rad", "K", gains[..., n : 2 * n]),
    ]
    if gains.shape[-1] > 2 * n:
        drawn.append(("K, integrals", "N·m/(rad·s)", "K", gains[..., 2 * n :]))
    panels = [Panel(title, title, unit, 1.0, tuple(range(n * n))) for title, unit, _, _ in drawn]
    data = []
    for number, (panel, (_, _, letter, values)) in enumerate(zip(panels, drawn, strict=True)):
        for line in panel.lines:
            row, column = divmod(line, n)
            style = line_style(panel, number, plot_text(f"{letter}[{row + 1}, {column + 1}]"), line, legend=False)
            color = {"color": COLORS[line % len(COLORS)], "width": 1.8}
            data.append(style | {"x": typed_array(times), "y": typed_array(values[:, row, column]), "line": color})
    layout = panel_layout(panels, 0.0, float(motion.duration), columns=_COLUMNS)
    return as_plotly({"data": data, "layout": layout})
