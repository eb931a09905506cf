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


def everyday_motion(arm: ch.Robot, seed: int, duration: float = 24.0) -> Motion:
    """Motion in the middle third of the limits of an arm, at most 3 rad wide."""
    motion = fourier_motion(arm.n, duration, seed=seed, harmonics=7)
    lower, upper = np.maximum(arm.lower_limits, -np.pi), np.minimum(arm.upper_limits, np.pi)
    scale = np.minimum(0.35 * (upper - lower), 3.0) / np.ptp(motion.q, axis=0)
    middle = 0.5 * (motion.q.max(axis=0) + motion.q.min(axis=0))
    q = 0.5 * (lower + upper) + scale * (motion.q - middle)
    return Motion(motion.t, q, scale * motion.qd, scale * motion.qdd)


def everyday_log(arm: ch.Robot, seed: int) -> dict[str, FloatArray]:
    """24 s inside the limits of an arm, with masses wrong by 30 %, friction, coloured noise and that of encoders."""
    rng = np.random.default_rng(seed)
    real = arm.inertial.perturbed({"mass": 0.3, "inertia": 0.3}, seed=seed)
    t, q, qd, qdd = everyday_motion(arm, seed)
    load = np.asarray(real.inverse_dynamics(q, qd, qdd))
    size = load.std(axis=0)
    friction = rng.uniform(0.1, 0.3, arm.n) * size + 0.005 * size.max()
    tau = load + friction * (np.tanh(qd / (0.03 * np.abs(qd).max(axis=0))) + 0.1 * qd / qd.std(axis=0) + 0.05)
    tau = tau + 0.04 * tau.std(axis=0) * coloured_noise(tau.shape, 1.0, 0.9, seed)
    return {"t": t, "q": q + 1e-5 * rng.normal(size=q.shape), "tau": tau}


def drawn_arm(arm: ch.Robot, motion: Motion, seed: int) -> ch.Robot:
    """Arm with masses wrong by 30 %, rotors that its description does not have, and friction drawn at random."""
    rng, n = np.random.default_rng(1000 + seed), arm.n
    real = arm.inertial.perturbed({"mass": 0.3, "inertia": 0.3}, seed=seed)
    size = np.asarray(real.inverse_dynamics(*motion[1:])).std(axis=0)
    size, top = np.maximum(size, 0.02 * size.max()), np.abs(motion.qd).max(axis=0)
    values = real.inertial.values
    values[-3 * n + 2 :: 3] += 0.3 * rng.uniform(0.2, 1.0, n) * size / motion.qdd.std(axis=0)
    return real.inertial.with_values(values).with_friction(
        viscous=rng.uniform(0.03, 0.2, n) * size / top,
        coulomb=rng.uniform(0.05, 0.3, n) * size,
        coulomb_velocity=np.exp(rng.uniform(np.log(0.02), np.log(0.15), n)) * top,
        load=rng.uniform(0.0, 0.15, n),
        load_velocity=0.05 * top,
        torque_offset=0.05 * rng.normal(size=n) * size,
        torque_sine=0.02 * rng.normal(size=n) * size,
        torque_cosine=0.02 * rng.normal(size=n) * size,
    )


def coverage(arm: ch.Robot, count: int, memory: float = 0.9) -> float:
    """Share of 95 % intervals that hold the truth in logs of `count` drawn arms, with coloured noise of 4 %.

    Each log has another truth: an interval allows for how far the truth may be from the prior, so it holds on the
    average over truths, not for the noise of one.
    """
    unknowns, held = inertial_unknowns(arm), []
    for seed in range(count):
        motion = everyday_motion(arm, seed)
        real = drawn_arm(arm, motion, seed)
        tau = np.asarray(real.inverse_dynamics(*motion[1:]))
        tau += 0.04 * tau.std(axis=0) * coloured_noise(tau.shape, 1.0, memory, seed)
        signals = filtered_signals(ch.Log(arm, table(motion, tau)))
        equations = TorqueEquations(arm, unknowns, signals)
        truth = dict(zip(unknowns.names, (unknowns.to_base @ unknowns.of(real)).tolist(), strict=True))
        for joint in real.description.joints:
            truth |= {
                f"{joint.name}.viscous": joint.viscous_friction,
                f"{joint.name}.coulomb": joint.coulomb_friction,
                f"{joint.name}.load": joint.load_friction,
                f"{joint.name}.offset": joint.torque_offset,
                f"{joint.name}.sine": joint.torque_sine,
                f"{joint.name}.cosine": joint.torque_cosine,
            }
        for parameter in with_intervals(arm, estimate(arm, equations, equations.moving), equations)[0]:
            low, high = parameter.interval
            held.append(low < truth.get(parameter.name, 0.0) < high)
    return float(np.mean(held))
