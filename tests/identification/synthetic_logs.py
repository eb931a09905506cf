"""Logs of robots whose parameters are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

import chasles as ch
from chasles.identification import filtered_signals
from chasles.identification.equations import TorqueEquations, inertial_unknowns
from chasles.identification.estimation import estimate
from chasles.identification.intervals import with_intervals

FloatArray = NDArray[np.float64]


class Motion(NamedTuple):
    t: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray


def fourier_motion(
    n: int, duration: float = 20.0, rate: float = 100.0, *, seed: int = 0, size: float = 0.6, harmonics: int = 5
) -> Motion:
    """Sum of harmonics of 1/duration for each joint; exact derivatives."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / rate)
    w = 2.0 * np.pi / duration * np.arange(1, harmonics + 1)
    a, b = size * rng.normal(size=(2, n, harmonics)) / np.sqrt(np.arange(1, harmonics + 1))
    phase = t[:, None, None] * w
    s, c = np.sin(phase), np.cos(phase)
    return Motion(
        t,
        (a * s + b * c).sum(axis=2),
        (w * (a * c - b * s)).sum(axis=2),
        (-(w**2) * (a * s + b * c)).sum(axis=2),
    )


def coloured_noise(shape: tuple[int, int], deviation: float, memory: float, seed: int) -> FloatArray:
    """First-order autoregression with this coefficient, with the given standard deviation."""
    white = np.random.default_rng(seed).normal(size=(shape[0] + 500, shape[1]))
    return deviation * np.sqrt(1.0 - memory**2) * np.asarray(lfilter([1.0], [1.0, -memory], white, axis=0))[500:]


def table(motion: Motion, tau: FloatArray) -> dict[str, FloatArray]:
    return {"t": motion.t, "q": motion.q, "tau": tau}


def real_planar() -> ch.Robot:
    """A planar arm that differs from the shipped one, with friction."""
    arm = (
        ch.load("planar2r")
        .inertial.perturbed({"mass": 0.2, "inertia": 0.2}, seed=3)
        .with_payload(1.0, [0.05, 0.0, 0.0])
    )
    return arm.with_friction(viscous=[2.0, 0.8], coulomb=[3.0, 1.0], coulomb_velocity=[0.08, 0.08])


def real_arm(arm: ch.Robot) -> ch.Robot:
    """Arm that differs from a shipped one, with friction of a tenth of its torques."""
    real = arm.inertial.perturbed({"mass": 0.2, "inertia": 0.2}, seed=3)
    size = np.asarray(real.inverse_dynamics(*fourier_motion(arm.n, seed=1)[1:])).std(axis=0)
    friction = 0.1 * size + 0.1
    return real.with_friction(viscous=friction, coulomb=friction, coulomb_velocity=np.full(arm.n, 0.08))


def everyday_log(arm: ch.Robot, seed: int) -> dict[str, FloatArray]:
    """24 s inside the limits of an arm, with masses wrong by 30 %, friction, coloured noise and that of encoders."""
    rng = np.random.default_rng(seed)
    real = arm.inertial.perturbed({"mass": 0.3, "inertia": 0.3}, seed=seed)
    motion = fourier_motion(arm.n, 24.0, seed=seed, harmonics=7)
    lower, upper = np.maximum(arm.lower_limits, -np.pi), np.minimum(arm.upper_limits, np.pi)
    scale = np.minimum(0.35 * (upper - lower), 3.0) / np.ptp(motion.q, axis=0)
    middle = 0.5 * (motion.q.max(axis=0) + motion.q.min(axis=0))
    q, qd, qdd = 0.5 * (lower + upper) + scale * (motion.q - middle), scale * motion.qd, scale * motion.qdd
    load = np.asarray(real.inverse_dynamics(q, qd, qdd))
    size = load.std(axis=0)
    friction = rng.uniform(0.1, 0.3, arm.n) * size + 0.005 * size.max()
    tau = load + friction * (np.tanh(qd / (0.03 * np.abs(qd).max(axis=0))) + 0.1 * qd / qd.std(axis=0) + 0.05)
    tau = tau + 0.04 * tau.std(axis=0) * coloured_noise(tau.shape, 1.0, 0.9, seed)
    return {"t": motion.t, "q": q + 1e-5 * rng.normal(size=q.shape), "tau": tau}


def coverage(arm: ch.Robot, real: ch.Robot, count: int, memory: float, duration: float = 20.0) -> float:
    """Share of 95 % intervals that hold the truth in `count` logs with coloured noise of 3 % of the torques."""
    motion = fourier_motion(arm.n, duration, seed=1)
    tau = np.asarray(real.inverse_dynamics(motion.q, motion.qd, motion.qdd))
    base = real.inertial.base()
    truth = {name.replace("_friction", ""): value for name, value in zip(base.names, base.values, strict=True)}
    own = inertial_unknowns(arm, np.eye(arm.n))
    held = []
    for seed in range(count):
        noise = 0.03 * tau.std(axis=0) * coloured_noise(tau.shape, 1.0, memory, seed)
        equations = TorqueEquations(
            arm, own, filtered_signals(ch.Log(arm, table(motion, tau + noise)), 3.0), np.eye(arm.n)
        )
        found = estimate(arm, equations, equations.moving)
        for parameter in with_intervals(arm, found, equations)[0]:
            low, high = parameter.interval
            held.append(low < truth.get(parameter.name, 0.0) < high)
    return float(np.mean(held))
