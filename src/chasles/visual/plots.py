"""Interactive plots for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chasles.errors import MissingExtraError
from chasles.visual.figures import tracking_figure

if TYPE_CHECKING:
    import xarray


def plot(run: xarray.Dataset) -> Any:
    """Plot joint positions, tracking errors and torques of a run.

    Parameters
    ----------
    run
        Result of `chasles.simulate`.

    Returns
    -------
    plotly.graph_objects.Figure
        Notebooks show it; one click on a joint's name hides that joint in all diagrams.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    ArgumentError
        The dataset is not the result of a simulation.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    >>> figure = plot(ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion))
    >>> figure.layout.annotations[2].text
    '<b>Torque</b>'
    """
    return as_plotly(tracking_figure(run))


def as_plotly(figure: dict[str, Any]) -> Any:
    """The figure of plotly that plain dictionaries describe.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    """
    try:
        from plotly.graph_objects import Figure
    except ImportError as error:
        raise MissingExtraError("plotly", "plot", "plotting") from error
    return Figure(figure)
