"""Tracking errors of a run, joint by joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError

if TYPE_CHECKING:
    import xarray

UNITS = {"unit": ("rad", "m"), "effort_unit": ("N m", "N")}
NEEDED = {"q": {"time"}, "tau": {"time", "joint"}}


@dataclass(frozen=True)
class JointTracking:
    """Tracking errors and effort of one joint, over all runs and samples.

    Attributes
    ----------
    joint
        Name of the joint.
    unit, effort_unit
        Units of errors and efforts: "rad" and "N m", or "m" and "N".
    rms_error, peak_error
        RMS and largest magnitude of the tracking error (reference minus position), in `unit`.
    peak_effort
        Largest absolute torque or force, in `effort_unit`.
    """

    joint: str
    unit: str
    effort_unit: str
    rms_error: float
    peak_error: float
    peak_effort: float


def require_run(run: xarray.Dataset) -> None:
    """Raise `ArgumentError` for a dataset that is not the result of a simulation.

    Raises
    ------
    ArgumentError
        A variable or a dimension is missing, or values, times, units or attributes are none of a simulation; the
        message names them.
    """
    reason = _missing(run)
    if reason is None:
        if run.sizes["time"] == 0 or run["q"].size == 0:
            raise ArgumentError("the result of the simulation is empty; there is nothing to show")
        reason = _wrong(run)
    if reason is not None:
        raise ArgumentError(f"not the result of a simulation: {reason}")


def _missing(run: xarray.Dataset) -> str | None:
    """Return which variable or dimension is missing."""
    for name, dims in NEEDED.items():
        if name not in run:
            return f"the dataset has no variable '{name}'"
        if not dims <= set(run[name].dims):
            return f"'{name}' has no dimensions {' and '.join(sorted(dims))}"
    if len(run["q"].dims) != len(run["tau"].dims):
        return f"'q' has the dimensions {', '.join(map(str, run['q'].dims))}, which lack that of the joints"
    return None


def _wrong(run: xarray.Dataset) -> str | None:
    """Say which values, times, units or attributes are none of a simulation."""
    for name, variable in run.data_vars.items():
        if {"time", "joint"} & set(variable.dims) and variable.dtype.kind not in "biuf":
            return f"'{name}' holds {variable.dtype}, not real numbers"
    time = run["time"].values
    if time.dtype.kind not in "iuf" or not np.isfinite(time).all() or not (np.diff(time) > 0.0).all():
        return "'time' must hold finite numbers that increase, in s"
    for name, allowed in UNITS.items():
        for joint, unit in zip(
            run["joint"].values, run.coords[name].values if name in run.coords else (), strict=False
        ):
            if str(unit) not in allowed:
                return f"'{name}' of joint '{joint}' is '{unit}'; it must be {' or '.join(map(repr, allowed))}"
    for name in ("period", "delay"):
        value = run.attrs.get(name, 0.0)
        if not isinstance(value, int | float | np.number) or not 0.0 <= value < np.inf:
            return f"the attribute '{name}' is {value!r}; it must be a number, in s"
    return None


def by_run(run: xarray.Dataset, name: str) -> NDArray[np.float64]:
    """Return a variable as an array (runs, time, joint), with all batch axes in one, of length 1 for a single run.

    The last axis is that of coordinates for positions of joints with several degrees of freedom; poses have two more
    axes.
    """
    runs = run_dims(run)
    values = run[name].transpose(*runs, "time", ...).values
    return np.asarray(values, dtype=np.float64).reshape(-1, *values.shape[len(runs) :])


def run_dims(run: xarray.Dataset) -> list[str]:
    """Return the names of the batch axes."""
    return [str(dim) for dim in run["tau"].dims if dim not in ("time", "joint")]


def joint_units(run: xarray.Dataset) -> list[str]:
    """Return "rad" or "m" for each joint."""
    return [str(unit) for unit in run["unit"].values] if "unit" in run.coords else ["rad"] * run.sizes["joint"]


def position_name(joint: str) -> str:
    """Return the name of the coordinate, or the rotation, that belongs to a velocity of a free or spherical joint.

    >>> position_name("base.vz"), position_name("base.wx"), position_name("elbow")
    ('base.z', 'base.rx', 'elbow')
    """
    owner, dot, velocity = joint.rpartition(".")
    if not dot or velocity not in ("wx", "wy", "wz", "vx", "vy", "vz"):
        return joint
    return f"{owner}.{'r' if velocity[0] == 'w' else ''}{velocity[1]}"


def tracking_summary(run: xarray.Dataset) -> list[JointTracking]:
    """Return tracking errors and efforts per joint.

    Parameters
    ----------
    run
        Result of `chasles.simulate`; samples that are not finite are ignored.

    Raises
    ------
    ArgumentError
        The dataset is not the result of a simulation.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    >>> run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion)
    >>> [row.unit for row in tracking_summary(run)]
    ['rad', 'rad']
    """
    require_run(run)
    unknown = np.full((1, run.sizes["joint"]), np.nan)  # of a run that followed a motion in space
    error = by_run(run, "error").reshape(-1, run.sizes["joint"]) if "error" in run else unknown
    effort = by_run(run, "tau").reshape(-1, run.sizes["joint"])
    return [
        JointTracking(
            joint=str(joint),
            unit=unit,
            effort_unit="N" if unit == "m" else "N m",
            rms_error=root_mean_square(error[:, k]),
            peak_error=peak(error[:, k]),
            peak_effort=peak(effort[:, k]),
        )
        for k, (joint, unit) in enumerate(zip(run["joint"].values, joint_units(run), strict=True))
    ]


def root_mean_square(values: NDArray[np.float64]) -> float:
    """Return the root mean square of the finite values; NaN without finite values."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite**2))) if finite.size else float("nan")


def peak(values: NDArray[np.float64]) -> float:
    """Return the largest absolute finite value; NaN without finite values."""
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if finite.size else float("nan")


def run_labels(run: xarray.Dataset) -> list[str]:
    """Return a name for each run of a batch, made of its varied parameters."""
    numbers = varied(run)
    count = int(np.prod([run.sizes[dim] for dim in run_dims(run)], dtype=int))
    labels = []
    for k in range(count):
        phrases = [f"{name} = {_shown(values[k])}" for name, values in numbers.items()]
        labels.append(", ".join(phrases) or (f"run {k}" if run_dims(run) else "run"))
    return labels


def varied(run: xarray.Dataset) -> dict[str, NDArray[np.generic]]:
    """Return the varied parameters by name, one value per run: scalars, and arrays with equal values for all joints."""
    dims = run_dims(run)
    shape = [run.sizes[dim] for dim in dims]
    values_of = {}
    for name, coordinate in run.coords.items():
        own_dims = [dim for dim in dims if dim in coordinate.dims]
        if not own_dims or "time" in coordinate.dims or coordinate.size == 0:
            continue
        values = coordinate.transpose(*own_dims, ...).values
        inner = values.reshape(*values.shape[: len(own_dims)], -1)
        if (inner == inner[..., :1]).all():
            placed = inner[..., 0].reshape([run.sizes[dim] if dim in own_dims else 1 for dim in dims])
            values_of[str(name)] = np.broadcast_to(placed, shape).ravel()
    return values_of


def _shown(value: np.generic) -> str:
    return f"{value:.4g}" if isinstance(value, np.floating) else str(value)
