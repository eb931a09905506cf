"""Frequency response of a sampled loop at one place of a motion, cut open at the torques."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.controller import Controller
from chasles.control.delayed_hold import MOST_DELAY
from chasles.control.linear_law import open_loop
from chasles.control.linear_loop import Side, Springs, call_times, loop_along
from chasles.engine.validators import real, whole_number
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

_DECADES = 4.0  # below the Nyquist frequency


class LoopResponse(NamedTuple):
    """Frequency response L of the loop of all joints: negative of the returned torques for torques sent.

    Attributes
    ----------
    frequency
        Shape (k,), rad/s, up to half the sample rate.
    response
        Complex, shape (k, n, n); L[j, j] is the loop of joint j alone with the other loops open.
    names
        Names of the joints.
    """

    frequency: NDArray[np.float64]
    response: NDArray[np.complex128]
    names: tuple[str, ...]

    def phase(self, joint: int) -> NDArray[np.float64]:
        """Phase of one joint's loop without jumps, rad, shape (k,), above -2π and at most 0 at the last crossover."""
        phase = np.unwrap(np.angle(self.response[:, joint, joint]))
        crossover = self._crossovers(joint)[-1:]
        at = phase[crossover[0]] if crossover.size else phase[-1]
        return np.asarray(phase - 2.0 * np.pi * np.ceil(at / (2.0 * np.pi)))

    def margins(self, joint: int) -> tuple[float, float]:
        """Gain margin (a factor) and phase margin (rad) of one joint's loop; infinite where there is no crossing."""
        size, lead = np.abs(self.response[:, joint, joint]), np.angle(-self.response[:, joint, joint])
        after = self._crossovers(joint)
        turns = np.flatnonzero((lead[:-1] > 0.0) & (lead[1:] <= 0.0) & (np.abs(np.diff(lead)) < np.pi))
        gains = [1.0 / float(size[k + 1]) for k in turns if size[k + 1] < 1.0]
        return min(gains, default=math.inf), min((float(lead[k]) for k in after), default=math.inf)

    def _crossovers(self, joint: int) -> NDArray[np.intp]:
        """Return the samples after which the magnitude falls below 1."""
        size = np.abs(self.response[:, joint, joint])
        return np.flatnonzero((size[:-1] >= 1.0) & (size[1:] < 1.0)) + 1


def loop_response(
    robot: Robot,
    controller: Controller,
    motion: JointTrajectory,
    *,
    period: float,
    delay: float = 0.0,
    time: float | None = None,
    samples: int = 400,
    elastic_joints: Springs | None = None,
    side: Side = "link",
) -> LoopResponse:
    """Linearise a sampled loop at one time of a motion and return its frequency response.

    Law, hold, delay, differentiated velocities and elastic joints are those of `loop_margins`. ``chasles.plot`` draws
    the response as Bode diagrams.

    Parameters
    ----------
    robot
        The plant.
    controller
        Traceable law for joint motions.
    motion
        The planned motion.
    period
        Sample period, s.
    delay
        Delay from a call to the effect of its torque, in sample periods.
    time
        Time at which the loop is frozen, s; default the middle of the motion.
    samples
        Number of frequencies.
    elastic_joints, side
        Springs in the plant's joints, and the side that the law measures; see `loop_margins`.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> response = ch.control.loop_response(arm, law, motion, period=0.001)
    >>> gain, phase = response.margins(0)
    >>> gain > 10.0, bool(60.0 < np.degrees(phase) < 90.0)
    (True, True)
    """
    step, late = real(period, "period", above=0.0), real(delay, "delay", at_least=0.0, at_most=MOST_DELAY)
    start, duration = float(motion.start_time), float(motion.duration)
    at = start + 0.5 * duration if time is None else real(time, "time", at_least=start, at_most=start + duration)
    times = call_times(motion, step)
    chosen = np.array([min(round((at - start) / step), len(times) - 1)])
    planned = on_manifold(robot, motion)(times)
    loop = loop_along(robot, controller, times, planned, step, late, elastic_joints=elastic_joints, side=side)
    angles = np.pi * np.logspace(-_DECADES, 0.0, whole_number(samples, "samples", 2, 1_000_000))
    L = open_loop(*loop, chosen, angles)[:, 0]
    return LoopResponse(angles / step, L, robot.velocity_names)
