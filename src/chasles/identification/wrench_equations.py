"""Equations of motion of a free base: linear in the parameters of all bodies, without joint torques.

The six rows that belong to the free joint have no motor. With the base's Jacobian J in the world's axes they are

    Y_b(q, q', q'') x = Jᵀ Σ (m_i + p_i × f_i, f_i),

where wrenches (m_i, f_i) act at places p_i. Here they are multiplied by J⁻ᵀ: in the axes in which wrenches are measured
their errors are stationary. They have the rank of all rows, so they tell all base parameters of the tree that a motion
excites. Source: G. Venture, K. Ayusawa & Y. Nakamura, "Identification of base parameters for legged
systems from their base link dynamics" (ICRA 2009); K. Ayusawa, G. Venture & Y. Nakamura, "Identifiability and
identification of inertial parameters using the underactuated base-link dynamics for legged multibody systems" (Int. J.
Robotics Research 33(3), 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline

from chasles.geometry import skew
from chasles.identification.equations import InertialUnknowns
from chasles.identification.filtering import (
    OVERSAMPLING,
    Cutoff,
    Signals,
    at_regular_times,
    choose_cutoff,
    low_pass,
    white_noise,
)
from chasles.identification.logs.wrench_log import Place, WrenchLog
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot


class WrenchEquations:
    """Columns and external wrenches of filtered logs: wrench ≈ columns @ parameters of the bodies.

    Moments are about the mean place of the base in each log.

    Parameters
    ----------
    robot
        Robot with a free base; only its geometry counts.
    unknowns
        Parameters of its bodies.
    logs
        Logs.
    cutoff
        Cut-off frequency of the filters.

    Attributes
    ----------
    signals
        Filtered logs; their efforts are external wrenches, shape (k, 6).
    columns, wrench
        Filtered columns and external wrenches (m, f), in the world's axes, at the kept samples, shapes (k, 6, 10
        bodies) and (k, 6).
    shifts
        Derivatives of the wrench by the coordinates of each place that is a point of the world, shape (k, 6, 3).
    time, segments
        Times of the kept samples, shape (k,), and slices of them without gaps.
    """

    def __init__(self, robot: Robot, unknowns: InertialUnknowns, logs: Sequence[WrenchLog], cutoff: Cutoff) -> None:
        self.signals, centers, shifts = _filtered(robot, logs, cutoff)
        signals, self.kept = self.signals, self.signals.kept()
        chosen = tuple(range(10 * unknowns.bodies))
        raw = np.asarray(robot.regressors.torque(signals.configuration, signals.qd, signals.qdd, columns=chosen))
        self.columns: FloatArray = signals.filter(_about(robot, signals, centers, raw[:, :6]))[self.kept]
        self.wrench: FloatArray = signals.effort[self.kept]
        self.shifts = {place: slopes[self.kept] for place, slopes in shifts.items()}
        self.time = signals.time[self.kept]
        self.segments = signals.kept_segments()


def cutoff_of(logs: Sequence[WrenchLog], cutoff: float | None) -> Cutoff:
    """Return a cut-off frequency, Hz, by default the highest that a log asks for."""
    if cutoff is not None:
        return Cutoff(cutoff)
    return max((choose_cutoff(log) for log in logs), key=lambda chosen: chosen.frequency)


def _about(robot: Robot, signals: Signals, centers: Sequence[FloatArray], on_base: FloatArray) -> FloatArray:
    """Wrenches about a centre of each log, in the world's axes, that act like forces (k, 6, p) of the free joint."""
    base = robot.description.coordinates[0].child
    J = np.asarray(robot.jacobian(signals.configuration, target=base, frame="space"))[:, :, :6]
    wrench = np.linalg.solve(np.swapaxes(J, 1, 2), on_base)
    for part, center in zip(signals.recordings, centers, strict=True):
        wrench[part, :3] -= np.cross(center, wrench[part, 3:], axisb=1, axisc=1)
    return np.asarray(wrench)


def _filtered(
    robot: Robot, logs: Sequence[WrenchLog], cutoff: Cutoff
) -> tuple[Signals, list[FloatArray], dict[Place, FloatArray]]:
    """Filter logs to one rate; their centres, and derivatives of the wrench by places that are points of the world."""
    period = max(log.sample_period for log in logs)
    rate, step = 1.0 / period, max(1, int(1.0 / (period * OVERSAMPLING * cutoff.frequency)))
    blocks: list[tuple[FloatArray, ...]] = []
    noise, centers, shifts = np.zeros(6), [], []
    base = robot.description.coordinates[0].child
    for log in logs:
        grid = np.arange(log.time[0], log.time[-1] + 1e-9 * period, period)

        def smooth(values: FloatArray, log: WrenchLog = log, grid: FloatArray = grid) -> FloatArray:
            return low_pass(at_regular_times(log.time, values, grid), cutoff.frequency, rate)[::step]

        time, configuration = grid[::step], np.asarray(robot.normalize(smooth(log.configuration)))
        centers.append(np.asarray(robot.forward_kinematics(configuration, target=base))[:, :3, 3].mean(axis=0))
        wrench, slopes = _external_wrench(robot, log, centers[-1])
        noise = np.maximum(noise, white_noise(at_regular_times(log.time, wrench, grid), cutoff.frequency, rate))
        rates = CubicSpline(time, configuration)(time, 1)
        qd = _velocities(robot, configuration, rates) if log.qd is None else smooth(log.qd)
        blocks.append((time, smooth(log.q), qd, CubicSpline(time, qd)(time, 1), configuration, smooth(wrench)))
        shifts.append({place: smooth(own) for place, own in slopes.items()})
    ends = np.cumsum([0, *(len(block[0]) for block in blocks)]).tolist()
    segments = tuple(slice(a, b) for a, b in pairwise(ends))
    time, q, qd, qdd, configuration, wrench = (np.concatenate(group) for group in zip(*blocks, strict=True))
    signals = Signals(
        robot, time, q, qd, qdd, configuration, wrench, moving=np.ones(wrench.shape, dtype=bool),
        saturated=np.zeros(wrench.shape, dtype=bool), segments=segments, recordings=segments, period=step * period,
        cutoff=cutoff, noise=noise, derivative="positions" if logs[0].qd is None else "measured velocities",
    )  # fmt: skip
    together = {place: np.zeros((len(time), 6, 3)) for own in shifts for place in own}
    for part, of_log in zip(segments, shifts, strict=True):
        for place, values in of_log.items():
            together[place][part] = values
    return signals, centers, together


def _external_wrench(robot: Robot, log: WrenchLog, center: FloatArray) -> tuple[FloatArray, dict[Place, FloatArray]]:
    """Wrench about a centre at the times of a log, (k, 6), and its derivatives by points of the world, (k, 6, 3).

    Centre and derivatives are in the world's axes.
    """
    total = np.zeros((len(log.time), 6))
    slopes: dict[Place, FloatArray] = {}
    for place, wrench in log.wrenches.items():
        moment, force = wrench[:, :3], wrench[:, 3:]
        if isinstance(place, str):
            points = np.asarray(robot.forward_kinematics(log.configuration, target=place))[:, :3, 3]
        else:
            points = np.broadcast_to(place, moment.shape)
            slopes[place] = np.concatenate([-np.asarray(skew(force)), np.zeros((len(force), 3, 3))], axis=1)
        total[:, :3] += moment + np.cross(points - center, force)
        total[:, 3:] += force
    return total, slopes


def _velocities(robot: Robot, configuration: FloatArray, rate: FloatArray) -> FloatArray:
    """Velocities (k, n) at which configurations (k, nq) change at these rates."""
    directions = np.asarray(robot.configuration_rate(configuration[:, None], np.eye(robot.n)))
    return np.asarray(np.einsum("kic,kc->ki", directions, rate) / np.sum(directions**2, axis=2))
