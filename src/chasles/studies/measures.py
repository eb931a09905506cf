"""Numbers that say how well a run went."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.inverse_kinematics.ranges import joint_limits
from chasles.mechanics.plain_coordinates import joint_units
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]

#: One number a run: name, meaning, unit.
MEASURES = {
    "rms_error": ("RMS of the joint errors over time and joints", "rad"),
    "peak_error": ("largest error of a joint", "rad"),
    "final_error": ("largest error of a joint at the end", "rad"),
    "rms_tool_error": ("RMS distance of the tool from its reference", "m"),
    "peak_tool_error": ("largest distance of the tool from its reference", "m"),
    "effort": ("RMS of the torques, relative to the planned motion's", ""),
    "torque_rate": ("RMS rate of the torques between samples, relative to the planned motion's", ""),
    "work": ("integral of the absolute power of the torques", "J"),
    "lost_at": ("time at which the run was lost, NaN if it was not", "s"),
}
#: One number a loop, from linear models: least disk margin of the frozen loops along the motion, real part of their
#: slowest pole, 1/s, positive if unstable, and growth of errors along the repeated motion, 1/s.
LOOP = ("disk_margin", "slowest_pole", "growth")
#: Moments from the start to the end of a run at which its profile is kept.
PROFILE = np.linspace(0.0, 1.0, 101)


def measure(robot: Robot, peak_torque: Floats, run: Any, lost_beyond: float) -> dict[str, Floats]:
    """Measure the runs of a batch.

    Joint errors are those of revolute joints, in rad; without revolute joints, those of prismatic joints, in m.
    Events between two recorded samples are not seen.

    Parameters
    ----------
    robot
        The robot as described.
    peak_torque
        Largest torques of the planned motion, shape (n,).
    run
        Result of `chasles.simulate` with one batch axis.
    lost_beyond
        Error from which on a run counts as lost, rad or m.

    Returns
    -------
    dict
        `MEASURES`, each of shape (runs,), and ``profile``, the largest joint error over time, of shape (runs, 101).
        Runs that were lost have infinite errors, for what they did later says nothing.
    """
    time = np.asarray(run["time"].values)
    q, reference = (np.asarray(run[name].values) for name in ("q", "q_reference"))
    tau, qd = np.asarray(run["tau"].values), np.asarray(run["qd"].values)
    error = np.abs(reference - q)[..., joint_limits(robot).places]
    units = np.array(joint_units(robot, robot.n))
    measured = units == "rad" if (units == "rad").any() else units == "m"
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.isfinite(q).all(axis=-1) & np.isfinite(qd).all(axis=-1) & np.isfinite(tau).all(axis=-1)
        has_left = ~finite | ~(error <= lost_beyond).all(axis=-1)
        lost = has_left.any(axis=-1)
        joint = error[..., measured]
        tool = _tool_distance(robot, np.where(lost[:, None, None], 0.0, q), reference)
        scale = _torque_scale(robot, peak_torque)
        planned = _planned_torque(robot, run, time) / scale
        effort = np.sqrt(_mean(time, np.where(lost[:, None], 0.0, ((tau / scale) ** 2).sum(axis=-1))))
        power = np.abs(np.where(lost[:, None, None], 0.0, tau * qd)).sum(axis=-1)
        measures = {
            "rms_error": np.sqrt(_mean(time, np.where(lost[:, None], 0.0, (joint**2).mean(axis=-1)))),
            "peak_error": joint.max(axis=(1, 2)),
            "final_error": joint[:, -1].max(axis=-1),
            "rms_tool_error": np.sqrt(_mean(time, tool**2)),
            "peak_tool_error": tool.max(axis=-1),
            "effort": effort / _size(np.sqrt(_mean(time, (planned**2).sum(axis=-1)))),
            "torque_rate": _rate(time, np.where(lost[:, None, None], 0.0, tau / scale)) / _size(_rate(time, planned)),
            "work": _mean(time, power) * (time[-1] - time[0]),
        }
    measures = {name: np.where(lost, np.inf, value) for name, value in measures.items()}
    measures["lost_at"] = np.where(lost, time[np.argmax(has_left, axis=-1)], np.nan)
    samples = np.searchsorted(time, time[0] + PROFILE * (time[-1] - time[0]) * (1.0 - 1e-12))
    after = np.logical_or.accumulate(has_left, axis=-1)[:, samples]
    measures["profile"] = np.where(after, np.inf, joint.max(axis=-1)[:, samples])
    return measures


def _mean(time: Floats, values: Floats) -> Floats:
    """Mean over time, by the trapezoidal rule."""
    mean: Floats = np.trapezoid(values, time, axis=-1) / (time[-1] - time[0])
    return mean


def _tool_distance(robot: Robot, q: Floats, reference: Floats) -> Floats:
    """Distance of the tool from where the reference puts it, by the described geometry."""
    p_world_tool = robot.forward_kinematics(q)[..., :3, 3]
    distance: Floats = np.linalg.norm(p_world_tool - robot.forward_kinematics(reference)[..., :3, 3], axis=-1)
    return distance


def _torque_scale(robot: Robot, peak_torque: Floats) -> Floats:
    """Return the units of torques of different joints that let their squares be added."""
    limits = robot.effort_limits
    if np.isfinite(limits).all() and (limits > 0.0).all():
        return limits
    units = np.array(joint_units(robot, robot.n))
    scale = np.ones(robot.n)
    for unit in set(units):
        largest = peak_torque[units == unit].max()
        scale[units == unit] = largest if largest > 0.0 else 1.0
    return scale


def _planned_torque(robot: Robot, run: Any, time: Floats) -> Floats:
    reference, rates = (np.asarray(run[name].values)[0] for name in ("q_reference", "qd_reference"))
    torque: Floats = robot.inverse_dynamics(reference, rates, np.gradient(rates, time, axis=0))
    return torque


def _rate(time: Floats, torque: Floats) -> Floats:
    """RMS over time of the rate at which torques (..., times, n) change from sample to sample."""
    rates = np.diff(torque, axis=-2) / np.diff(time)[:, None]
    return np.asarray(np.sqrt((rates**2).sum(axis=-1).mean(axis=-1)))


def _size(value: Floats) -> float:
    """A size to divide by: 1 for a motion that takes nothing."""
    return float(value) if value > 0.0 else 1.0
