"""A robot driven by the torques that its log holds, and held near the measured motion.

Under measured torques alone a simulation drifts off within seconds. A weak feedback to the measured positions,

    τ = τ_measured + M ω² (q_measured - q) + 2 M ω (q̇_measured - q̇)

with the inertia M that each motor feels, forgets what is older than 1/ω, as short windows would, and has no unknown
starts. The simulation is then the predictor of the prediction error method (L. Ljung, System Identification, 2nd ed.,
1999, chapters 4 and 7): errors of the model show as positions that differ, and no acceleration of the log is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.control import RobotController
from chasles.control.now import Now
from chasles.engine.program.scalar import Array
from chasles.identification.filtering import Signals
from chasles.identification.logs.log import Log
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot
from chasles.trajectories import CubicSpline, Motion

SHARE, LEAST = 1.0 / 3.0, 2.0
"""Bandwidth of the feedback, of the cut-off, which is five times that of the motion: a wider one carries the noise of
the positions into the simulation. Below 2 Hz gravity would be stiffer than the feedback in links shorter than 6 cm."""
CALLS = 30.0
"""Calls of the law in a period of its bandwidth: the hold then lags by 6°."""


class MeasuredTorques(RobotController):
    """tau = measured torques + Kp (q_ref - q) + Kd (qd_ref - qd), with the measured motion as reference.

    Parameters
    ----------
    robot
        Robot that was logged.
    time, effort
        Times from the beginning of the log and torques, shapes (k,) and (k, n).
    commanded
        Whether each torque acts from its sample to the next, as a command does; else they are measured at the samples.
    kp, kd
        Stiffness, N·m/rad, and damping, N·m·s/rad, shape (n,).
    """

    name = "measured torques"
    kp: Array
    kd: Array

    def __init__(self, robot: Robot, log: Log, commanded: bool, *, kp: FloatArray, kd: FloatArray) -> None:
        super().__init__(robot, {"kp": kp, "kd": kd})
        self._log, self._commanded = log, commanded

    def schedule(self, times: FloatArray, motion: Motion) -> FloatArray:
        """Return the torques in the middle of the time for which they act, (k, n)."""
        middle = times + 0.5 * (times[-1] - times[0]) / max(len(times) - 1, 1)
        columns = []
        for effort, delay in zip(self._log.effort.T, self._log.delay, strict=True):
            known = self._log.time - self._log.time[0] - delay
            held = effort[np.clip(np.searchsorted(known, middle) - 1, 0, None)]
            columns.append(held if self._commanded else np.interp(middle, known, effort))
        return np.stack(columns, axis=1)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        return now.schedule + self.kp * (now.reference.q - now.q) + self.kd * (now.reference.qd - now.qd)


class DrivenByLog(NamedTuple):
    """Law, reference and period with which a simulation does what was logged."""

    law: MeasuredTorques
    motion: CubicSpline
    period: float


def driven_by_log(robot: Robot, log: Log, signals: Signals, bandwidth: float | None, *, commanded: bool) -> DrivenByLog:
    """Drive a robot by its log.

    Parameters
    ----------
    robot
        Robot that was logged.
    log, signals
        Its log, and this filtered.
    bandwidth
        Bandwidth ω / 2π of the feedback, Hz; None for the default.
    commanded
        Whether each torque acts from its sample to the next.

    Raises
    ------
    ArgumentError
        If the log has gaps, or currents instead of torques.
    """
    if len(log.segments) > 1:
        raise ArgumentError(
            f"the log '{log.name}' has {len(log.segments) - 1} gaps in time, across which no torque is known: give a "
            "log without gaps"
        )
    if log.currents:
        raise ArgumentError(f"the log '{log.name}' has currents: declare drive_gains, which chasles.identify tells")
    mobility = np.diagonal(np.asarray(robot.inverse_mass_matrix(signals.configuration)), axis1=1, axis2=2)
    inertia, begin, step = 1.0 / mobility.mean(axis=0), float(log.time[0]), log.sample_period
    frequency = max(SHARE * signals.cutoff.frequency, LEAST) if bandwidth is None else bandwidth
    rate = 2.0 * np.pi * frequency
    law = MeasuredTorques(robot, log, commanded, kp=inertia * rate**2, kd=2.0 * inertia * rate)
    motion = CubicSpline(signals.time - begin, signals.q, boundary="natural")
    return DrivenByLog(law, motion, step / np.ceil(CALLS * frequency * step))
