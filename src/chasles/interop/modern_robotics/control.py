"""Robot control (chapter 11 of the book): the computed-torque controller and its simulation."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, import_extra
from chasles.base.writing import PAGE, write
from chasles.geometry.elementary import Array
from chasles.interop.modern_robotics.checked import numbers
from chasles.interop.modern_robotics.dynamics_trajectories import (
    initial_state,
    matrix,
    per_step,
    resolution,
    tip_rows,
)
from chasles.interop.modern_robotics.robot_cache import control_loop, open_chain

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def ComputedTorque(
    thetalist: ArrayLike,
    dthetalist: ArrayLike,
    eint: ArrayLike,
    g: ArrayLike,
    Mlist: ArrayLike,
    Glist: ArrayLike,
    Slist: ArrayLike,
    thetalistd: ArrayLike,
    dthetalistd: ArrayLike,
    ddthetalistd: ArrayLike,
    Kp: ArrayLike,
    Ki: ArrayLike,
    Kd: ArrayLike,
) -> Array:
    """Joint forces of the computed-torque controller.

    Parameters
    ----------
    thetalist, dthetalist
        Joint variables and velocities, shape (..., n).
    eint
        Time integral of the errors, shape (..., n).
    g
        Acceleration of gravity, m/s², shape (..., 3).
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).
    thetalistd, dthetalistd, ddthetalistd
        Desired joint variables, velocities and accelerations, shape (..., n).
    Kp, Ki, Kd
        Gains: numbers, or one for each joint, shape (..., n).

    Returns
    -------
    ndarray
        taulist, N·m (N for prismatic joints), shape (..., n).

    Raises
    ------
    ArgumentError
        See `InverseDynamics`.

    Notes
    -----
    As in the published package, the integral part is Ki (eint + e): the error of this instant is added as if it had
    lasted for a second, so that the proportional gain is Kp + Ki. The book's equation (11.35) has Ki eint, as
    `chasles.ComputedTorque` does.

    Examples
    --------
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 1, 0, 0, 0]]).T
    >>> robot = Mlist, [np.diag([1, 1, 4, 2, 2, 2])], Slist
    >>> ComputedTorque([0.3], [0], [0], [0, 0, 0], *robot, [0.4], [0], [0], Kp=100, Ki=0, Kd=20).round(12)
    array([40.])
    """
    chain = open_chain(Mlist, Glist, Slist, "ComputedTorque")
    gains = [_gains(K, chain.n, "ComputedTorque", name) for K, name in ((Kp, "Kp"), (Ki, "Ki"), (Kd, "Kd"))]
    tau: Array = chain.computed_torque(thetalist, dthetalist, eint, g, thetalistd, dthetalistd, ddthetalistd, *gains)
    return tau


def SimulateControl(
    thetalist: ArrayLike,
    dthetalist: ArrayLike,
    g: ArrayLike,
    Ftipmat: ArrayLike,
    Mlist: ArrayLike,
    Glist: ArrayLike,
    Slist: ArrayLike,
    thetamatd: ArrayLike,
    dthetamatd: ArrayLike,
    ddthetamatd: ArrayLike,
    gtilde: ArrayLike,
    Mtildelist: ArrayLike,
    Gtildelist: ArrayLike,
    Kp: ArrayLike,
    Ki: ArrayLike,
    Kd: ArrayLike,
    dt: float,
    intRes: int,
    *,
    plot: str | PathLike[str] | None = None,
) -> tuple[Array, Array]:
    """Motion of a robot under a computed-torque controller with a possibly inaccurate model.

    Parameters
    ----------
    thetalist, dthetalist
        Initial joint variables and velocities, shape (..., n).
    g
        Acceleration of gravity, m/s², shape (..., 3).
    Ftipmat
        Wrenches that the end-effector applies, in its frame, shape (..., N, 6); or the number 0 for none.
    Mlist, Glist, Slist
        The robot: shapes (n + 1, 4, 4), (n, 6, 6) and (6, n).
    thetamatd, dthetamatd, ddthetamatd
        Desired joint variables, velocities and accelerations, shape (..., N, n).
    gtilde, Mtildelist, Gtildelist
        The controller's values of g, Mlist and Glist.
    Kp, Ki, Kd
        Gains: numbers, or one for each joint, shape (..., n).
    dt
        Time between two rows of the trajectory, s.
    intRes
        Number of Euler steps per interval, at least 1.
    plot
        File for a page with a plot of joint variables, errors and joint forces, such as ``"tracking.html"``; it needs
        no display. It is for one run, not for a batch. Default: no plot. `plot_control` gives the figure itself.

    Returns
    -------
    taumat
        Joint forces that the controller commands at the start of each row's interval, shape (..., N, n).
    thetamat
        Joint variables at the end of each row's interval, shape (..., N, n).

    Raises
    ------
    ArgumentError
        See `ForwardDynamicsTrajectory`.
    MissingExtraError
        If a plot is wanted and Plotly is not installed.

    Notes
    -----
    The published package always opens a window if matplotlib is installed, and waits until it is closed. It draws the N
    instants over a time of N dt, so that both curves are misplaced, in random colours. It fails for Ftipmat = 0,
    although its documentation allows it.

    Examples
    --------
    >>> Mlist, Slist = np.array([np.eye(4), np.eye(4)]), np.array([[0, 0, 1, 0, 0, 0]]).T
    >>> Glist, desired, still = [np.diag([1, 1, 4, 2, 2, 2])], np.full((100, 1), 0.5), np.zeros((100, 1))
    >>> model = np.zeros(3), Mlist, Glist
    >>> taumat, thetamat = SimulateControl(
    ...     [0], [0], np.zeros(3), 0, Mlist, Glist, Slist, desired, still, still, *model, 100, 0, 20, 0.01, 4)
    >>> taumat[0], thetamat[-1].round(3)
    (array([200.]), array([0.5]))
    """
    function = "SimulateControl"
    plant = open_chain(Mlist, Glist, Slist, function)
    model = open_chain(Mtildelist, Gtildelist, Slist, f"{function} (Mtildelist, Gtildelist)")
    desired = matrix(thetamatd, plant.n, function, "thetamatd")
    N = desired.shape[-2]
    rates = matrix(dthetamatd, plant.n, function, "dthetamatd", N)
    accelerations = matrix(ddthetamatd, plant.n, function, "ddthetamatd", N)
    steps = resolution(intRes, function)
    start = initial_state(thetalist, dthetalist, plant.n, function)
    gains = [_gains(K, plant.n, function, name) for K, name in ((Kp, "Kp"), (Ki, "Ki"), (Kd, "Kd"))]
    rows = per_step([desired, rates, accelerations, tip_rows(Ftipmat, N, function)], steps, function)
    memory = np.zeros((*start.shape[:-1], 2 * plant.n + 1))
    simulation = control_loop(plant, model)
    last, theta, tau = simulation(np.concatenate([start, memory], axis=-1), rows, g, gtilde, *gains, dt, float(steps))
    thetamat = np.concatenate([theta[..., 1:, :], last[..., None, : plant.n]], axis=-2)
    if plot is not None:
        write(plot, plot_control(tau, thetamat, desired, dt).to_html(), PAGE)
    return tau, thetamat


def _gains(value: ArrayLike, n: int, function: str, name: str) -> NDArray[np.float64]:
    """One gain for each joint, shape (..., n), from a number or an array that broadcasts with the joints' errors."""
    gains = numbers(value, function, name)
    try:
        return np.broadcast_to(gains, np.broadcast_shapes(gains.shape, (n,)))
    except ValueError:
        raise ArgumentError(
            f"{function}: {name} must be a number or have shape (..., {n}), not {gains.shape}"
        ) from None


def plot_control(taumat: ArrayLike, thetamat: ArrayLike, thetamatd: ArrayLike, dt: float) -> Figure:
    """Plot actual and desired joint variables, errors, and joint forces of a simulated control.

    Row i of the results of `SimulateControl` belongs to the interval from i dt to (i + 1) dt: its joint forces to the
    start, its joint variables to the end. Each is drawn at its own time, for their common instants from dt to (N - 1)
    dt.

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
    arguments = zip(names, (taumat, thetamat, thetamatd), strict=True)
    tau, actual, desired = (numbers(value, "plot_control", name) for name, value in arguments)
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
