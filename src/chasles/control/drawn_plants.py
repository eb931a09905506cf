"""Loops of a law with drawn plants in simulation, for laws whose behaviour no linear margin bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control.controller import Controller
from chasles.control.frozen_law import LawFunction
from chasles.control.vertex_plants import Uncertainty
from chasles.robot.robot import Robot
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]

_DRAWN = 32  # plants
_REST = 0.5  # s, after the motion
_LONGEST_STEP = 0.008  # s, of the Runge-Kutta method
_LOST = 0.5  # rad or m, of one joint


def survives_drawn_plants(
    function: LawFunction,
    controller: Controller,
    robot: Robot,
    motion: JointTrajectory,
    unknown: Uncertainty,
    period: float,
    delay: float,
    margin: float,
) -> bool:
    """Return whether no joint errs by half a radian in closed loop with 32 plants drawn from what is unknown.

    Half of the plants have the largest payload at the edge of its ball, a quarter torques that are late by the jitter.
    The torque of each joint is multiplied by the largest or the least factor that the margin bears. Torques are held;
    velocities are differences of positions; limits do not act.
    """
    rng = np.random.default_rng(0)
    plants = unknown.drawn(robot, motion, _DRAWN, rng)
    heavier = rng.uniform(1.0 - unknown.model_error, 1.0 + unknown.model_error, (_DRAWN, 1))
    factors = ((2.0 + margin) / (2.0 - margin)) ** rng.choice([-1.0, 1.0], (_DRAWN, robot.n)) / heavier
    whole, share = np.divmod(delay + unknown.jitter * (np.arange(_DRAWN) % 8 > 5), 1.0)
    accelerate = robot.forward_dynamics.specialize(vary=tuple(plants))
    calls = math.ceil((motion.duration + _REST) / period)
    times = float(motion.start_time) + period * np.arange(calls + 1, dtype=np.float64)
    reference = motion(times)
    rows = controller.schedule(times, reference) if controller.has_schedule else None
    edges, older = np.unique([0.0, *share, 1.0]), whole.astype(np.intp)
    q = np.repeat(reference.q[:1], _DRAWN, axis=0)
    last, qd = q, np.repeat(reference.qd[:1], _DRAWN, axis=0)
    step = function.stepper(controller, _DRAWN, period, rows)
    start = robot.inverse_dynamics(*(part[0] for part in reference))
    sent = np.tile(start, (older.max() + 2, _DRAWN, 1))
    for k in range(calls):
        velocity = (q - last) / period if k else qd
        tau = step(k, times[k], q, velocity, np.concatenate([part[k] for part in reference]))
        sent, last = np.concatenate([tau[None], sent[:-1]]), q
        for low, high in pairwise(edges.tolist()):
            held = factors * sent[older + (low < share), np.arange(_DRAWN)]
            q, qd = _moved(accelerate, q, qd, (held, *plants.values()), (high - low) * period)
        if not np.abs(q - reference.q[k + 1]).max() < _LOST:
            return False
    return True


def _moved(
    acceleration: Callable[..., Any], q: Floats, qd: Floats, held: tuple[Any, ...], duration: float
) -> tuple[Floats, Floats]:
    """Return a state a while later, under inputs that are held, by the Runge-Kutta method of order four."""
    steps = math.ceil(duration / _LONGEST_STEP)
    h = duration / steps
    for _ in range(steps):
        v1, a1 = qd, acceleration(q, qd, *held)
        v2 = qd + 0.5 * h * a1
        a2 = acceleration(q + 0.5 * h * v1, v2, *held)
        v3 = qd + 0.5 * h * a2
        a3 = acceleration(q + 0.5 * h * v2, v3, *held)
        v4 = qd + h * a3
        a4 = acceleration(q + h * v3, v4, *held)
        q = q + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)
        qd = qd + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return q, qd
