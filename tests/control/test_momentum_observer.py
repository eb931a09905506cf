"""Momentum observer: a first-order lag of the external torque, alarms at the stated rate, and C code."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter
from tests.oracles.closed_machines import five_bar

import chasles as ch
from chasles.base.errors import ArgumentError, IdentificationError
from chasles.control import MomentumObserver
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


def drawn_residuals(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Autoregressions with the coefficient 0.8, of Gaussian, heavy-tailed or bounded noise."""
    draw = {
        "gaussian": rng.normal,
        "student": lambda size: rng.standard_t(5, size),
        "uniform": lambda size: rng.uniform(-1.0, 1.0, size),
    }[kind]
    noise = np.asarray(lfilter([1.0], [1.0, -0.8], draw(size=(count + 100, 2)), axis=0))
    return noise[100:] + np.array([0.1, -0.2])


@pytest.mark.parametrize("kind", ["gaussian", "student", "uniform"])
def test_false_alarms_on_unseen_records_come_at_the_stated_rate(kind: str) -> None:
    """Thresholds from 40 s, watched for 200 s more, 30 times; no distribution is known to the alarm."""
    observer, rng = MomentumObserver(ARM, bandwidth=50.0, period=0.01), np.random.default_rng(1)
    alarms, hours, intervals = 0, 0.0, []
    for _ in range(30):
        quiet = drawn_residuals(kind, 24_000, rng)
        alarm = observer.alarm(quiet[:4000], false_alarms_per_hour=60.0)
        alarms += alarm.episodes(alarm(quiet[4000:]))
        hours += 20_000 * 0.01 / 3600.0
        intervals.append(alarm.interval)
    assert 20.0 < alarms / hours < 120.0  # a third of what was asked to twice as many
    low, high = np.mean(intervals, axis=0)
    assert low < alarms / hours < high


def test_more_data_give_lower_thresholds_and_narrower_intervals() -> None:
    observer, rng = MomentumObserver(ARM, bandwidth=50.0, period=0.01), np.random.default_rng(2)
    quiet = drawn_residuals("gaussian", 60_000, rng)
    short, long = (observer.alarm(quiet[:count], false_alarms_per_hour=10.0) for count in (3000, 60_000))
    assert (long.threshold < short.threshold).all()
    assert long.interval[1] / long.interval[0] < 0.5 * short.interval[1] / short.interval[0]
    assert long.interval[0] < 10.0 < long.interval[1]


def reversing(seed: int, duration: float) -> tuple[MomentumObserver, np.ndarray, np.ndarray]:
    """Residuals of a motion whose friction near rest is larger than the model's, by chance at each reversal."""
    rng, period = np.random.default_rng(seed), 0.005
    motion = FourierMotion(
        [0.3, -0.4], [[0.5, 0.1, 0.2], [0.2, 0.3, 0.1]], [[0.1, 0.2, 0.0], [0.3, 0.1, 0.2]], period=5.3, repetitions=400
    )
    q, qd, qdd = motion(np.arange(0.0, duration, period))
    turns = np.cumsum(np.diff(np.sign(qd), axis=0, prepend=0.0) != 0.0, axis=0)
    level = np.take_along_axis(1.0 + 0.2 * rng.normal(size=(turns.max() + 1, 2)), turns, axis=0)
    dry = np.array([4.0, 1.5])
    friction = dry * level * np.tanh(qd / 0.02) * (1.0 + 0.8 * np.exp(-((qd / 0.1) ** 2)))
    tau = ch.load("planar2r").inverse_dynamics(q, qd, qdd) + friction + [0.3, 0.1] * rng.normal(size=qd.shape)
    model = ch.load("planar2r").with_friction(coulomb=dry, coulomb_velocity=0.1)
    observer = MomentumObserver(model, bandwidth=40.0, period=period)
    return observer, observer.residuals(q, qd, tau), np.asarray(qd)


@pytest.mark.slow
def test_thresholds_of_moving_joints_do_not_pay_for_reversals() -> None:
    alarms, hours = 0, 0.0
    for seed in range(2):
        observer, residuals, qd = reversing(seed, 90.0)
        alarm = observer.alarm(residuals, qd, false_alarms_per_hour=30.0)
        assert (alarm.moving < 0.8 * alarm.resting).all()
        assert (alarm.resting * alarm.deviation < [12.0, 5.0]).all()
        _, unseen, rates = reversing(100 + seed, 400.0)
        alarms += alarm.episodes(alarm(unseen, rates))
        hours += 400.0 / 3600.0
        pushed = unseen + np.array([0.0, 1.2 * (alarm.moving * alarm.deviation)[1]])
        assert alarm(pushed, rates).mean() > 0.5 > alarm(unseen, rates).mean()
        assert alarm(unseen).sum() <= alarm(unseen, rates).sum()  # without velocities the larger threshold holds
    assert 3.0 < alarms / hours < 60.0


def test_residuals_of_joints_that_rest_may_be_as_large_as_stiction() -> None:
    sharp = {"coulomb_velocity": 1e-6, "load_velocity": 1e-6}
    arm = ARM.with_friction(viscous=0.0, coulomb=[8.0, 2.0], load=0.2, **sharp)
    observer = MomentumObserver(arm, bandwidth=50.0, period=0.01)
    q = np.array([[0.3, -0.2], [1.0, 0.4]])
    slowly = np.full_like(q, 1e-4)
    up, down = (np.asarray(arm.inverse_dynamics(q, sign * slowly, 0.0 * q)) for sign in (1.0, -1.0))
    assert np.allclose(observer.stiction_band(q, 0.5 * (up + down)), 0.5 * (up - down), atol=1e-5)
    quiet = 0.3 * drawn_residuals("gaussian", 6000, np.random.default_rng(3))
    moves = np.tile([1.0, 1.0], (6000, 1))
    alarm = observer.alarm(quiet, moves)  # never near rest: stiction is the model's
    assert (alarm.resting * alarm.deviation > [7.999, 1.999]).all()
    assert (alarm.moving * alarm.deviation < 8.0).all()
    push = alarm.mean + np.array([0.9 * 8.0, 0.0])
    assert not alarm(push[None], 0.0 * moves[:1])
    assert alarm(push[None], moves[:1])


def test_an_identified_model_tells_how_far_residuals_may_be_off() -> None:
    t = np.arange(0.0, 20.0, 0.01)
    motion = FourierMotion([0.3, -0.4], [[0.5, 0.1], [0.2, 0.3]], [[0.1, 0.2], [0.3, 0.1]], period=4.0, repetitions=5)
    q, qd, qdd = (np.asarray(part) for part in motion(t))
    tau = np.asarray(ARM.inverse_dynamics(q, qd, qdd)) + 0.2 * np.random.default_rng(0).normal(size=q.shape)
    result = ch.identify(ARM, {"t": t, "q": q, "tau": tau})
    observer = MomentumObserver(result, bandwidth=30.0, period=0.01)
    assert observer.robot is result.model
    near, far = observer.model_deviation(q, qd), observer.model_deviation(q, 4.0 * qd)
    assert (near > 0.0).all()
    assert (far.mean(axis=0) > 2.0 * near.mean(axis=0)).all()
    quiet = observer.residuals(q, qd, tau)
    alarm = observer.alarm(quiet, qd, q=q)
    assert alarm(quiet, qd, near).sum() <= alarm(quiet, qd).sum()
    only = {"joint1.viscous": 0.3, "joint1.armature": 0.05}
    for name, deviation in only.items():
        names = list(result.names)
        covariance = np.zeros_like(result.covariance)
        covariance[names.index(name), names.index(name)] = deviation**2
        found = replace(result, covariance=covariance).torque_deviation(q, qd, qdd)
        driver = qd if name.endswith("viscous") else qdd
        assert np.allclose(found[:, 0], deviation * np.abs(driver[:, 0]))
        assert np.allclose(found[:, 1], 0.0)


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
