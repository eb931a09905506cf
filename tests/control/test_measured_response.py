"""Responses from logs: closed forms, SciPy's spectra, several joints beside the predicted loop, coverage of circles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import LearnedTorque, loop_response, measured_response, orthogonal_multisines

PERIOD, MASS, KP, KD = 0.01, 2.0, 200.0, 40.0


def sledge() -> ch.Robot:
    return ch.Robot.from_dh([{"kind": "prismatic", "mass": MASS}], gravity=(0.0, 0.0, 0.0), check=False)


def logged(plant: Any, robot: ch.Robot, law: Any, r: np.ndarray, start: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Torques and positions of a loop at rest that is excited by r (samples, n)."""
    q = np.zeros(robot.n) if start is None else np.asarray(start)
    excited = LearnedTorque(robot, law, times=PERIOD * np.arange(len(r)), torques=r)
    rest = ch.PointToPoint(q, q, PERIOD * len(r))
    run = ch.simulate(plant, excited, rest, period=PERIOD)
    seen = run.q_measured if "q_measured" in run else run.q
    return run.tau.values[:-1], seen.values[:-1]


def true_responses(frequency: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(z) of a sampled mass under held forces, and L(z) = (kp + kd (z - 1) / (z h) …) from its own velocities."""
    z = np.exp(1j * frequency * PERIOD)
    position = 0.5 * PERIOD**2 / MASS * (z + 1.0) / (z - 1.0) ** 2
    return position, KP * position + KD * PERIOD / MASS / (z - 1.0)


def test_a_mass_is_measured_exactly_and_noise_is_covered() -> None:
    """Without noise to rounding; with encoder noise the circles of 90 % hold nine tenths of the true values."""
    robot, lines = sledge(), np.arange(1, 90)
    one = orthogonal_multisines(1, 200, lines, amplitude=5.0)[0]
    r = np.tile(one, (12, 1))
    law = ch.control.PD(robot, kp=KP, kd=KD)
    found = measured_response(r, *logged(robot, robot, law, r), period=PERIOD, segment=200, skip=1000)
    plant, loop = true_responses(found.frequency)
    np.testing.assert_allclose(found.frequency, 2.0 * np.pi * lines / 2.0)
    np.testing.assert_allclose(found.plant[:, 0, 0], plant, rtol=1e-6)
    np.testing.assert_allclose(found.loop[:, 0, 0], loop, rtol=1e-6)
    assert found.coherence.min() > 1.0 - 1e-9
    noisy = ch.Plant(robot, sensors=ch.Sensors(robot, position_noise=2e-4, velocity_noise=5e-3))
    found = measured_response(r, *logged(noisy, robot, law, r), period=PERIOD, segment=200, skip=600)
    circles = found.radius(0.9)
    for estimate, true, radius in ((found.loop, loop, circles[0]), (found.plant, plant, circles[1])):
        inside = np.abs(estimate[:, 0, 0] - true) < radius[:, 0, 0]
        assert 0.8 < inside.mean() < 0.98
    assert found.coherence[:40].min() > found.coherence[-20:].mean()  # encoder noise hides the small motions


def test_noise_is_averaged_as_in_scipy() -> None:
    """Cross spectra of Welch's method without overlap, for one joint, and their quotients."""
    robot = sledge()
    r = np.random.default_rng(3).normal(size=(4000, 1))
    tau, q = logged(robot, robot, ch.control.PD(robot, kp=KP, kd=KD), r)
    found = measured_response(r, tau, q, period=PERIOD, segment=200, window="hann")
    taper = 0.5 - 0.5 * np.cos(2.0 * np.pi * (np.arange(200) + 0.5) / 200)
    options: dict[str, Any] = {
        "fs": 1.0 / PERIOD,
        "window": taper,
        "nperseg": 200,
        "noverlap": 0,
        "detrend": "constant",
    }
    f, S_yr = scipy.signal.csd(r[:, 0], q[:, 0], **options)
    _, S_ur = scipy.signal.csd(r[:, 0], tau[:, 0], **options)
    _, coherence = scipy.signal.coherence(r[:, 0], q[:, 0], **options)
    np.testing.assert_allclose(found.frequency, 2.0 * np.pi * f[2:-1])  # the mean leaks into the lowest
    np.testing.assert_allclose(found.plant[:, 0, 0], (S_yr / S_ur)[2:-1], rtol=1e-9)
    np.testing.assert_allclose(found.coherence[:, 0], coherence[2:-1], rtol=1e-9)
    plant, _ = true_responses(found.frequency)
    close = np.abs(found.plant[:, 0, 0] - plant) < found.radius(0.99)[1][:, 0, 0]
    assert close.mean() > 0.85  # leakage besides


def test_coupled_joints_have_the_predicted_loop() -> None:
    """Two experiments with a planar arm, beside the loop of the linearised law and plant."""
    arm, start = ch.load("planar2r"), np.array([0.3, 0.8])
    law = ch.ComputedTorque(arm, kp=300.0, kd=30.0)
    sines = orthogonal_multisines(2, 200, [2, 3, 5, 8, 13, 21, 34, 55], amplitude=[0.05, 0.01])
    r = np.tile(sines, (1, 4, 1))
    plant = ch.Plant(arm, sensors=ch.Sensors(arm, velocity="differentiated"))
    tau, q = zip(*(logged(plant, arm, law, each, start) for each in r), strict=True)
    found = measured_response(r, tau, q, period=PERIOD, segment=200, skip=400)
    rest = ch.PointToPoint(start, start, 1.0)
    predicted = loop_response(arm, law, rest, period=PERIOD, samples=3000)
    for i, j in np.ndindex(2, 2):
        real, imaginary = (
            np.interp(found.frequency, predicted.frequency, part) for part in _parts(predicted.response[:, i, j])
        )
        size = np.abs(found.loop[:, i, j])
        np.testing.assert_array_less(np.abs(found.loop[:, i, j] - real - 1j * imaginary), 0.01 * size + 0.003)
    M = arm.mass_matrix(start)
    z = np.exp(1j * found.frequency * PERIOD)[:, None, None]
    fast = found.frequency > 80.0  # where inertia alone counts
    inertial = np.linalg.inv(M) * 0.5 * PERIOD**2 * (z + 1.0) / (z - 1.0) ** 2
    np.testing.assert_allclose(found.plant[fast], inertial[fast], atol=0.01 * np.abs(inertial[fast]).max())


def _parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return values.real, values.imag


def test_what_is_refused() -> None:
    r = np.random.default_rng(0).normal(size=(400, 2))
    with pytest.raises(ArgumentError, match="2 segments of 200 samples do not tell 2 joints from noise: give 3"):
        measured_response(r, r, r, period=0.01, segment=200)
    same = np.tile(r[:, :1], (1, 2))
    with pytest.raises(ArgumentError, match="no frequency is excited in all joints' directions"):
        measured_response(same, same, same, period=0.01, segment=100)
    with pytest.raises(ArgumentError, match="lines must be whole numbers from 1 to below"):
        orthogonal_multisines(2, 100, [1.5])
    with pytest.raises(ArgumentError, match="excitation has shape"):
        measured_response(r[:, 0], r[:, 0], r[:, 0], period=0.01, segment=100)
