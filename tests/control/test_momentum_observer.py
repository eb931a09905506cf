"""Momentum observer: a first-order lag of the external torque, alarms at the stated rate, and C code."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter
from tests.oracles.closed_machines import five_bar

import chasles as ch
from chasles.base.errors import ArgumentError, IdentificationError
from chasles.control import MomentumObserver
from chasles.control.momentum_observer import crossing_probability
from chasles.identification import FourierMotion

ARM = ch.load("planar2r").with_friction(viscous=0.5, coulomb=0.3, coulomb_velocity=0.1)
MOTION = FourierMotion([0.3, -0.4], [[0.5, 0.1], [0.2, 0.3]], [[0.1, 0.2], [0.3, 0.1]], period=4.0)
PERIOD = 0.0005
T = np.arange(0.0, 4.0, PERIOD)
Q, QD, QDD = MOTION(T)


def test_residual_is_the_external_torque_through_a_first_order_lag() -> None:
    """The external torque is integrated by the trapezoidal rule, and the residual step by step."""
    K = np.array([20.0, 40.0])
    push = np.where(T[:, None] > 1.0, [3.0, -1.0], 0.0)
    tau = np.asarray(ARM.inverse_dynamics(Q, QD, QDD)) - push
    found = MomentumObserver(ARM, bandwidth=K, period=PERIOD).residuals(Q, QD, tau)
    wanted = np.stack(
        [lfilter([0.5 * k * PERIOD] * 2, [1.0, k * PERIOD - 1.0], x) for k, x in zip(K, push.T, strict=True)], axis=1
    )
    assert np.abs(found - wanted).max() < 1e-3


def test_residuals_of_a_closed_chain_are_the_external_torques_of_its_motors() -> None:
    """A five-bar moves by integrated accelerations, pushed from 0.05 s on."""
    bars = ch.Robot(five_bar())
    push, period = np.array([0.7, -0.4]), 0.001
    q, qd = np.asarray(bars.home), np.zeros(2)
    rows = []
    for k in range(200):
        tau = np.asarray(bars.gravity_torque(q)) + np.array([0.3 * np.sin(0.01 * k), 0.2])
        rows.append((q, qd, tau))
        outside = push * (k >= 50)
        middle = qd + 0.5 * period * np.asarray(bars.forward_dynamics(q, qd, tau + outside))
        q_middle = np.asarray(bars.integrate(q, 0.5 * period * qd))
        qd = qd + period * np.asarray(bars.forward_dynamics(q_middle, middle, tau + outside))
        q = np.asarray(bars.integrate(q, period * middle))
    observer = MomentumObserver(bars, bandwidth=100.0, period=period, commanded=True)
    found = observer.residuals(*(np.array(part) for part in zip(*rows, strict=True)))
    assert np.abs(found[49]).max() < 1e-3
    assert np.abs(found[-1] - push).max() < 1e-3


@pytest.mark.parametrize("commanded", [False, True])
def test_motion_without_contact_leaves_little_at_long_periods(commanded: bool) -> None:
    """An error of second order in the period: 4 ms leave some hundredths of what Euler's rule leaves."""
    h, arm = 0.004, ARM.with_friction(viscous=0.5, coulomb=0.0)
    t = np.arange(0.0, 1.0, h)
    q, qd, qdd = (np.asarray(part) for part in MOTION(t))
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd))
    if commanded:  # the torques are held; a fine Runge-Kutta integration gives the motion

        def slope(x: np.ndarray, u: np.ndarray) -> np.ndarray:
            return np.concatenate([x[2:], arm.forward_dynamics(x[:2], x[2:], u)])

        x, states = np.concatenate([q[0], qd[0]]), []
        for u in tau:
            states.append(x)
            for step in [h / 4.0] * 4:
                k1 = slope(x, u)
                k2 = slope(x + 0.5 * step * k1, u)
                k3 = slope(x + 0.5 * step * k2, u)
                x = x + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + slope(x + step * k3, u))
        q, qd = np.hsplit(np.array(states), 2)
    observer = MomentumObserver(arm, bandwidth=20.0, period=h, commanded=commanded)
    assert np.abs(observer.residuals(q, qd, tau)).max() < 2e-3 * np.abs(tau).max()


def test_law_is_the_same_step_by_step() -> None:
    observer = MomentumObserver(ARM, bandwidth=30.0, period=PERIOD)
    tau = np.asarray(ARM.inverse_dynamics(Q, QD, QDD)) + 1.0
    integral, steps = observer.start(Q[0], QD[0], tau[0]), []
    for k in range(200):
        integral, residual = observer.law(integral, Q[k], QD[k], tau[k])
        steps.append(residual)
    assert np.allclose(steps, observer.residuals(Q[:200], QD[:200], tau[:200]), atol=1e-10)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_c_code_does_step_by_step_what_python_does(tmp_path: Path) -> None:
    observer = MomentumObserver(ARM, bandwidth=30.0, period=PERIOD)
    source, header = observer.law.to_c()
    (tmp_path / "momentum_observer.c").write_text(source)
    (tmp_path / "momentum_observer.h").write_text(header)
    flags = ["-std=c99", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, "momentum_observer.c", "-o", "observer.so", "-lm"], cwd=tmp_path, check=True)
    step = ctypes.CDLL(str(tmp_path / "observer.so")).momentum_observer
    push = np.where(T[:, None] > 1.0, [3.0, -1.0], 0.0)
    tau = np.asarray(ARM.inverse_dynamics(Q, QD, QDD)) - push
    integral, residual, found = observer.start(Q[0], QD[0], tau[0]), np.full(2, np.nan), []
    for row in zip(Q, QD, tau, strict=True):
        arrays = (integral, *map(np.ascontiguousarray, row), integral, residual)
        step(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        found.append(residual.copy())
    expected = observer.residuals(Q, QD, tau)
    assert np.abs(expected).max() > 2.0
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.9, 0.99])
def test_probability_of_a_crossing(correlation: float) -> None:
    """Beside two million samples of the process."""
    white = np.random.default_rng(0).normal(size=2_000_000)
    x = np.sqrt(1.0 - correlation**2) * lfilter([1.0], [1.0, -correlation], white)
    outside = np.abs(x) > 2.5
    counted = np.mean(outside[1:] & ~outside[:-1])
    assert abs(crossing_probability(2.5, correlation) / counted - 1.0) < 0.05


def test_alarms_come_at_the_stated_rate() -> None:
    observer = MomentumObserver(ARM, bandwidth=50.0, period=0.001)
    rho = 0.95
    white = np.random.default_rng(1).normal(size=(1_200_000, 2))
    quiet = 0.2 * np.sqrt(1.0 - rho**2) * lfilter([1.0], [1.0, -rho], white, axis=0) + [0.1, -0.2]
    alarm = observer.alarm(quiet[:200_000], false_alarms_per_hour=600.0)
    hit = alarm(quiet)
    count = int(np.sum(hit[1:] & ~hit[:-1]))
    assert 140 < count < 280
    assert alarm(quiet[0] + [0.0, 2.0])


def test_thresholds_allow_for_few_residuals() -> None:
    """Alarms from 500 residuals each, on average over 25 of them; without allowance they come half as often again."""
    observer, rho = MomentumObserver(ARM, bandwidth=50.0, period=0.01), 0.8
    white = np.random.default_rng(2).normal(size=(25, 8_000, 2))
    quiet = np.sqrt(1.0 - rho**2) * lfilter([1.0], [1.0, -rho], white, axis=1)[:, 100:]
    count = 0
    for series in quiet:
        hit = observer.alarm(series[:500], false_alarms_per_hour=400.0)(series[500:])
        count += int(np.sum(hit[1:] & ~hit[:-1]))
    hours = 25 * 7_400 * 0.01 / 3600.0
    assert 300.0 < count / hours < 500.0


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="too high for a period"):
        MomentumObserver(ARM, bandwidth=2000.0, period=0.001)
    observer = MomentumObserver(ARM, bandwidth=20.0, period=0.001)
    with pytest.raises(IdentificationError, match="too few"):
        observer.alarm(np.zeros((10, 2)))
    with pytest.raises(ArgumentError):
        observer.residuals(Q, QD[:10], QD)


def test_friction_of_the_load_is_no_push() -> None:
    # The same motion, pushed and not: friction of the load follows from the torques, whatever else acts.
    arm = ARM.with_friction(load=0.3, load_velocity=0.05, torque_offset=[2.0, -1.0], torque_cosine=[1.0, 0.5])
    period = 5e-4
    t = period * np.arange(1200)[:, None]
    w, q0 = np.array([3.0, 2.0]), np.array([0.3, 0.4])
    q, qd, qdd = q0 + 1.0 - np.cos(w * t), w * np.sin(w * t), w**2 * np.cos(w * t)
    observer = MomentumObserver(arm, bandwidth=50.0, period=period)
    push = np.tile([0.0, 0.0, 0.0, 0.0, 4.0, 0.0], (len(t), 1))
    free = arm.inverse_dynamics(q, qd, qdd)
    pushed = arm.inverse_dynamics(q, qd, qdd, wrenches={arm.description.tool: push})
    assert 0.3 * np.abs(free).max() > 5.0
    assert np.abs(observer.residuals(q, qd, free)).max() < 0.05
    J = arm.jacobian(q, frame="body")
    expected = np.einsum("kij,ki->kj", J, push)
    assert np.abs(observer.residuals(q, qd, pushed) - expected)[400:].max() < 0.3
    integral = observer.start(q[0], qd[0], free[0])
    for k in range(50):
        integral, residual = observer.law(integral, q[k], qd[k], free[k])
        assert np.abs(residual).max() < 0.05
