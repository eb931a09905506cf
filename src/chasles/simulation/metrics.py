"""How good a simulated motion was: errors, effort, energy, settling and overshoot, run by run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.geometry import angle_between_rotations
from chasles.mechanics.plain_coordinates import common_unit
from chasles.model import parse_toml
from chasles.robot.robot import Robot

if TYPE_CHECKING:
    import xarray

Floats = NDArray[np.float64]

#: Share of the travel within which a joint counts as settled.
_BAND = 0.02
#: The reference has arrived once it is within this share of its longest travel of the goal.
_ARRIVED = 1e-9
#: Samples per block: few enough to stay in the processor's cache.
_HELD = 20_000
#: Text of each metric, and its units for revolute and prismatic joints.
_JOINT_METRICS = {
    "rms_error": ("RMS tracking error", "rad", "m"),
    "peak_error": ("largest tracking error", "rad", "m"),
    "effort": ("integral of the squared torque", "N² m² s", "N² s"),
    "mean_torque": ("mean absolute torque", "N m", "N"),
    "peak_torque": ("largest absolute torque", "N m", "N"),
    "work": ("mechanical work of the torques", "J", "J"),
    "absolute_work": ("mechanical work without recuperation", "J", "J"),
    "settling_time": ("time to settle", "s", "s"),
    "overshoot": ("overshoot", "rad", "m"),
}
_TOOL_METRICS = {
    "rms_position_error": ("RMS tool position error", "m"),
    "peak_position_error": ("largest tool position error", "m"),
    "rms_rotation_error": ("RMS tool rotation error", "rad"),
    "peak_rotation_error": ("largest tool rotation error", "rad"),
}


def run_metrics(
    run: xarray.Dataset, *, frame: str | None = None, settling_band: ArrayLike | None = None
) -> xarray.Dataset:
    """Return measures of control performance; `Run.metrics` defines them."""
    import xarray

    batch = [dim for dim in run["tau"].dims if dim not in ("time", "joint")]
    times = np.asarray(run["time"].values, dtype=float)
    if times.size < 2:
        raise ArgumentError("metrics need a run of at least two samples")
    if not all(run.sizes[dim] for dim in batch):
        raise ArgumentError(f"metrics need at least one run, but {' and '.join(map(str, batch))} is empty")
    units = [str(unit) for unit in run["unit"].values] if "unit" in run.coords else ["rad"] * run.sizes["joint"]
    band = settling_band
    if band is not None:
        band = reals(band, "settling_band", (len(units),), broadcast=True, above=0.0, infinite=True)
    shape = [run.sizes[dim] for dim in batch]
    data = {
        name: _labelled(name, values.reshape((*shape, *values.shape[1:])), batch, units)
        for name, values in _metrics_of_runs(run, batch, times, frame, band).items()
    }
    known = {"time", "coordinate", "component", "element"}
    coordinates = {name: value for name, value in run.coords.items() if not known & set(value.dims)}
    attributes = {name: run.attrs[name] for name in ("robot", "controller", "reference") if name in run.attrs}
    return xarray.Dataset(data, coords=coordinates, attrs=attributes)


def _labelled(
    name: str, values: Floats, batch: list[Any], units: list[str]
) -> tuple[list[Any], Floats, dict[str, str]]:
    """Return a metric with its dimensions, and its text and unit; `units` are those of the joints' positions."""
    if name in _TOOL_METRICS:
        long_name, unit = _TOOL_METRICS[name]
        return batch, values, {"units": unit, "long_name": long_name}
    long_name, turning, sliding = _JOINT_METRICS[name]
    unit = common_unit([sliding if kind == "m" else turning for kind in units])
    return [*batch, "joint"], values, {"units": unit, "long_name": long_name}


def _metrics_of_runs(
    run: xarray.Dataset, batch: list[Any], times: Floats, frame: str | None, band: Floats | None
) -> dict[str, Floats]:
    """Return metrics (runs,) or (runs, n) by name, computed for as many runs at once as the cache holds."""
    names = ["q", "qd", "q_reference", "error", "pose_reference", "motor_position"]
    arrays = {name: _by_run(run, name, batch) for name in names if name in run}
    arrays["tau"] = _by_run(run, "tau_applied" if "tau_applied" in run else "tau", batch)
    robot = run_robot(run) if "robot_toml" in run.attrs else None
    at_once = max(1, _HELD // times.size)
    parts = [
        _part_metrics(
            robot, times, {name: array[first : first + at_once] for name, array in arrays.items()}, frame, band
        )
        for first in range(0, len(arrays["q"]), at_once)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _by_run(run: xarray.Dataset, name: str, batch: list[Any]) -> Floats:
    """Return a variable with all batch axes in one, which comes first, and time second."""
    values = np.asarray(run[name].transpose(*batch, "time", ...).values, dtype=float)
    return values.reshape(-1, *values.shape[len(batch) :])


def _part_metrics(
    robot: Robot | None, times: Floats, arrays: dict[str, Floats], frame: str | None, band: Floats | None
) -> dict[str, Floats]:
    """Return metrics (runs,) or (runs, n) of some runs; NaN for those that diverged."""
    poses = arrays.pop("pose_reference", None)
    # Numbers of a run that went beyond all bounds are no event of the caller's arithmetic.
    with np.errstate(all="ignore"):
        metrics = joint_metrics(times, **arrays, settling_band=band)
        if robot is not None:
            metrics |= tool_metrics(robot, arrays["q"], arrays.get("q_reference"), frame, pose_reference=poses)
    whole = np.isfinite(arrays["q"]).all(axis=(1, 2)) & np.isfinite(arrays["tau"]).all(axis=(1, 2))
    for values in metrics.values():
        values[~whole] = np.nan
    return metrics


def joint_metrics(
    times: Floats,
    *,
    q: Floats,
    qd: Floats | None = None,
    tau: Floats,
    q_reference: Floats | None = None,
    error: Floats | None = None,
    motor_position: Floats | None = None,
    settling_band: Floats | None = None,
) -> dict[str, Floats]:
    """Return metrics (..., n) of joint motions (..., time, n), by name; see `Run.metrics`.

    The torques do their work at the motors, whose positions elastic joints have of their own.

    Examples
    --------
    A joint that is 10 mrad behind all the time, under 2 N·m, on its way of 1 rad in 1 s:

    >>> t = np.linspace(0.0, 1.0, 101)
    >>> way = t[:, None]
    >>> of = joint_metrics(t, q=way - 0.01, tau=0.0 * way + 2.0, q_reference=way, error=0.0 * way + 0.01)
    >>> {name: float(of[name].round(9)[0]) for name in ("rms_error", "effort", "work", "overshoot")}
    {'rms_error': 0.01, 'effort': 4.0, 'work': 2.0, 'overshoot': 0.0}
    """
    steps, duration = np.diff(times)[:, None], times[-1] - times[0]
    held = tau[..., :-1, :]
    if q.shape[-1] == tau.shape[-1]:
        works = held * np.diff(q if motor_position is None else motor_position, axis=-2)
    else:
        works = held * steps * 0.5 * (np.asarray(qd)[..., :-1, :] + np.asarray(qd)[..., 1:, :])
    metrics = {}
    if error is not None:
        metrics["rms_error"] = np.sqrt(np.mean(error**2, axis=-2))
        metrics["peak_error"] = np.abs(error).max(axis=-2)
    metrics["effort"] = np.sum(held**2 * steps, axis=-2)
    metrics["mean_torque"] = np.sum(np.abs(held) * steps, axis=-2) / duration
    metrics["peak_torque"] = np.abs(tau).max(axis=-2)
    metrics["work"] = works.sum(axis=-2)
    metrics["absolute_work"] = np.abs(works).sum(axis=-2)
    if q_reference is not None and q.shape[-1] == tau.shape[-1]:
        metrics["settling_time"] = settling_times(times, q, q_reference, settling_band)
        metrics["overshoot"] = overshoots(q, q_reference)
    return metrics


def settling_times(times: Floats, q: Floats, q_reference: Floats, band: Floats | None = None) -> Floats:
    """Return the times (..., n) from the reference's arrival until each joint stays within a band about the goal, s.

    Parameters
    ----------
    times
        Shape (k,), s.
    q, q_reference
        Shape (..., k, n), rad. The goal is the reference's last place; it arrives when all its joints rest there.
    band
        Half its width, shape (n,), rad; default 2 % of the joint's way from its start to the goal.

    Returns
    -------
    ndarray
        0 for a joint that is within the band when the reference arrives and from then on; NaN if it is not within at
        the end, if the reference still moves at the end, or if there is neither a way to go nor a given band.

    Examples
    --------
    A step, and a response exp(-t), which is within 2 % after ln 50 = 3.912 s:

    >>> t = np.linspace(0.0, 10.0, 1001)[:, None]
    >>> settling_times(t[:, 0], 1.0 - np.exp(-t), 1.0 + 0.0 * t).round(2)
    array([3.92])
    """
    goal = q_reference[..., -1:, :]
    way = np.abs(goal - q_reference).max(axis=-2, keepdims=True)
    moving = (np.abs(q_reference - goal) > _ARRIVED * way.max(axis=-1, keepdims=True)).any(axis=-1)
    arrival = _after_last(moving)
    travel = np.abs(goal - q[..., :1, :])[..., 0, :]
    width = np.where(travel > 0.0, _BAND * travel, np.nan) if band is None else np.broadcast_to(band, travel.shape)
    outside = ~(np.abs(q - goal) <= width[..., None, :])
    inside_from = np.maximum(_after_last(np.moveaxis(outside, -1, -2)), arrival[..., None])
    last = len(times) - 1
    seen = (inside_from <= last) & (arrival[..., None] < last)
    times_inside = times[np.minimum(inside_from, last)] - times[np.minimum(arrival, last)][..., None]
    return np.where(seen, times_inside, np.nan)


def overshoots(q: Floats, q_reference: Floats) -> Floats:
    """Return the overshoot of each joint beyond the farthest position of its reference, (..., n), rad.

    Parameters
    ----------
    q, q_reference
        Shape (..., k, n), rad. The goal is the reference's last place, and the direction that from q's first place.

    Returns
    -------
    ndarray
        0 for a joint that never goes beyond; NaN for one that starts at the goal.

    Examples
    --------
    >>> q = np.array([[0.0], [0.8], [1.1], [1.0]])
    >>> overshoots(q, np.ones((4, 1))).round(12)
    array([0.1])
    """
    way = q_reference[..., -1, :] - q[..., 0, :]
    direction = np.where(way == 0.0, np.nan, np.sign(way))[..., None, :]
    farthest = (direction * q_reference).max(axis=-2)
    return np.asarray(np.maximum((direction * q).max(axis=-2) - farthest, 0.0))


def tool_metrics(
    robot: Robot,
    q: Floats,
    q_reference: Floats | None = None,
    frame: str | None = None,
    *,
    pose_reference: Floats | None = None,
) -> dict[str, Floats]:
    """Return errors (...) of a frame's pose along motions (..., time, nq), by forward kinematics, m and rad.

    Parameters
    ----------
    robot, frame
        The robot, and its frame, default the tool.
    q
        Configurations.
    q_reference, pose_reference
        The reference: configurations, or poses of the frame, (..., time, 4, 4).

    Examples
    --------
    >>> import chasles as ch
    >>> way = np.zeros((10, 2))
    >>> of = tool_metrics(ch.load("planar2r"), way + [0.0, 0.1], way)  # 0.25 m from the second joint to the tool
    >>> float(of["rms_rotation_error"].round(12)), float(of["peak_position_error"].round(6))  # 2 · 0.25 m · sin 0.05
    (0.1, 0.02499)
    """
    distance, angle = pose_errors(robot, q, q_reference, frame, pose_reference=pose_reference)
    return {
        "rms_position_error": np.sqrt(np.mean(distance**2, axis=-1)),
        "peak_position_error": distance.max(axis=-1),
        "rms_rotation_error": np.sqrt(np.mean(angle**2, axis=-1)),
        "peak_rotation_error": angle.max(axis=-1),
    }


def pose_errors(
    robot: Robot,
    q: Floats,
    q_reference: Floats | None = None,
    frame: str | None = None,
    *,
    pose_reference: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the distance (...), m, of a frame's origin from its reference, and the angle, rad; see `tool_metrics`."""
    options: dict[str, Any] = {} if frame is None else {"target": frame}
    T = robot.forward_kinematics(q, **options)
    if pose_reference is not None:
        T_reference = pose_reference
    elif q_reference is not None:
        T_reference = robot.forward_kinematics(q_reference, **options)
    else:
        raise ArgumentError("pose_errors needs q_reference or pose_reference")
    distance = np.linalg.norm(T[..., :3, 3] - T_reference[..., :3, 3], axis=-1)
    return distance, np.asarray(angle_between_rotations(T[..., :3, :3], T_reference[..., :3, :3]))


def run_robot(run: xarray.Dataset) -> Robot:
    """Return the robot that moved, from the description in the run's attributes."""
    return Robot(parse_toml(str(run.attrs["robot_toml"]), check=False))


def _after_last(condition: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the index after the last sample along the last axis at which a condition holds; 0 if it never does."""
    count = condition.shape[-1]
    last = np.where(condition.any(axis=-1), count - np.argmax(condition[..., ::-1], axis=-1), 0)
    return np.asarray(last, dtype=np.intp)
