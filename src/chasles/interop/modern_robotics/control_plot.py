"""The plot that `SimulateControl` offers; no display is needed to make it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.errors import ArgumentError, import_extra
from chasles.interop.modern_robotics.checked import numbers


def plot_control(taumat: ArrayLike, thetamat: ArrayLike, thetamatd: ArrayLike, dt: float) -> Any:
    """Plot joint variables with what was desired, errors, and joint forces of a simulated control.

    Row i of the results of `SimulateControl` belongs to the interval from i dt to (i + 1) dt: its joint forces to the
    start, its joint variables to the end. Each is drawn where it belongs, at the instants from dt to (N - 1) dt that
    they have in common.

    Parameters
    ----------
    taumat, thetamat
        Results of `SimulateControl`, shape (N, n), N at least 2.
    thetamatd
        Desired joint variables, shape (N, n).
    dt
        Time between two rows, s.

    Returns
    -------
    plotly.graph_objects.Figure
        For a notebook, or for its ``write_html``.

    Raises
    ------
    MissingExtraError
        If Plotly or xarray is not installed.
    ArgumentError
        For a batch, or other shapes.

    Examples
    --------
    >>> figure = plot_control(np.zeros((3, 2)), np.zeros((3, 2)), np.ones((3, 2)), 0.1)
    >>> len(figure.data)  # of two joints: variable, desired variable, error, force
    8
    """
    xarray = import_extra("xarray", "plot", "plotting")
    from chasles.visual.figures import run_plot  # imports xarray, which the rest of this package does without

    names = "taumat", "thetamat", "thetamatd"
    given = zip(names, (taumat, thetamat, thetamatd), strict=True)
    tau, actual, desired = (numbers(value, "plot_control", name) for name, value in given)
    if actual.ndim != 2 or len(actual) < 2 or not tau.shape == actual.shape == desired.shape:
        shapes = f"{tau.shape}, {actual.shape} and {desired.shape}"
        raise ArgumentError(f"plot_control: {', '.join(names)} must have one shape (N, n), N at least 2, not {shapes}")
    q, reference = actual[:-1], desired[1:]
    variables = {"q": q, "q_reference": reference, "error": reference - q, "tau": tau[1:]}
    run = xarray.Dataset(
        {name: (("time", "joint"), values) for name, values in variables.items()},
        coords={
            "time": np.arange(1, len(actual)) * float(dt),
            "joint": [f"theta{index + 1}" for index in range(actual.shape[1])],
        },
    )
    return run_plot(run)
