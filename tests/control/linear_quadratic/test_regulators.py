"""Regulators in closed loop: costs as promised, stability, unknown payloads, estimates from encoders alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.control.calls import called
from tests.thinning import paired, thinned

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import (
    GainScheduledRegulator,
    LinearQuadraticGaussian,
    LinearQuadraticRegulator,
    NominalTorque,
    TimeVaryingRegulator,
)
from chasles.control.linear_quadratic import (
    RegulatorError,
    discrete_riccati,
    discretize,
    linear_model,
    stationary_kalman_gains,
)
from chasles.engine import Layout, Record
from chasles.model import Description, Inertia, Joint, Limits, Link
from chasles.simulation import SamplingWarning, SaturationWarning
from chasles.trajectories import Motion

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
REST = ch.PointToPoint([0.4, -0.3], [0.4, -0.3], duration=1.0)
PANDA = ch.load("panda")
FAST = ch.PointToPoint(PANDA.home, PANDA.home + np.array([0.8, 0.5, -0.5, 0.6, 0.5, -0.5, 0.5]), duration=1.0)


def sampled(motion: Any, period: float, duration: float = 1.0) -> tuple[np.ndarray, Motion]:
    times = period * np.arange(round(duration / period) + 1)
    return times, motion(times)


def rms(run: Any) -> float:
    return float(np.sqrt((run.error.values**2).mean()))


def at_rest(robot: ch.Robot, q: Any, period: float) -> tuple[np.ndarray, np.ndarray]:
    rest = np.zeros(robot.n)
    return discretize(*linear_model(robot, Motion(np.asarray(q), rest, rest)), period)


def loop_matrix(controller: Any, A: np.ndarray, B: np.ndarray, q: Any, period: float, row: np.ndarray) -> np.ndarray:
    """Matrix of plant and controller as one linear system; the law is linear about a pose, so units show it."""
    n, layout = B.shape[1], controller.memory_layout
    m = layout.size
    reference = Motion(np.asarray(q), np.zeros(n), np.zeros(n))

    def step(z: np.ndarray) -> np.ndarray:
        x, memory = z[: 2 * n], z[2 * n :]
        tau, following = called(
            controller,
            q + x[:n],
            x[n:],
            reference,
            layout.split(memory),
            period=period,
            schedule=row,
        )
        return np.concatenate([A @ x + B @ (tau - nothing), layout.join(following)])

    small = 1e-4  # so that no torque is beyond its limit
    nothing = np.zeros(n)
    nothing = (
        step(np.zeros(2 * n + m)) @ np.zeros((2 * n + m, n))
        + called(
            controller,
            np.asarray(q),
            np.zeros(n),
            reference,
            layout.split(np.zeros(m)),
            period=period,
            schedule=row,
        )[0]
    )
    return np.array([step(small * unit) / small for unit in np.eye(2 * n + m)]).T


@pytest.mark.parametrize("integral", [None, 0.01])
def test_a_small_deviation_of_the_arm_costs_what_the_cost_to_go_says(integral: float | None) -> None:
    period, small = 5e-3, np.array([3e-6, -2e-6, 1e-5, 2e-5])
    regulator = TimeVaryingRegulator(ARM, integral_error=integral)
    times, motion = sampled(REST, period)
    K, P = regulator.horizon(times, motion)
    run = ch.simulate(ARM, regulator, REST, period=period, start=ch.State(motion.q[0] + small[:2], small[2:]))
    x = np.concatenate([run.q - run.q_reference, run.qd], axis=1)
    if integral is not None:
        z = np.cumsum(np.vstack([np.zeros(2), period * x[:-1, :2]]), axis=0)
        x = np.hstack([x, z])
    u = run.tau.values - ARM.gravity_torque(motion.q[0])
    Q, R = regulator.weights
    steps = period * (np.einsum("ki,ij,kj->k", x, Q, x) + np.einsum("ki,ij,kj->k", u, R, u))
    # The last sample's cost and what follows it are in P_T, which is that of the next sample.
    start = np.concatenate([small, np.zeros(0 if integral is None else 2)])
    assert steps.sum() <= start @ P @ start * (1.0 + 1e-6)
    A, B = at_rest(ARM, motion.q[0], period)
    if integral is None:
        last = x[-1] @ discrete_riccati(A, B, period * Q, period * R).P @ x[-1]
        assert steps[:-1].sum() + last == pytest.approx(start @ P @ start, rel=1e-5)
    np.testing.assert_allclose(u, -np.einsum("kij,kj->ki", K, x), rtol=0.0, atol=1e-12 + 1e-7 * np.abs(u).max())


def test_gains_along_a_motion_are_stationary_where_it_rests() -> None:
    period = 2e-3
    times, motion = sampled(REST, period)
    K = TimeVaryingRegulator(ARM).horizon(times, motion).K
    expected = LinearQuadraticRegulator(ARM, motion.q[0], period=period).K
    np.testing.assert_allclose(K, np.broadcast_to(expected, K.shape), rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_the_terminal_weight_is_what_the_last_gain_sees() -> None:
    times, motion = sampled(MOTION, 1e-2)
    terminal = np.diag([1e3, 2e3, 10.0, 20.0])
    regulator = TimeVaryingRegulator(ARM, terminal=terminal)
    K = regulator.horizon(times, motion).K
    A, B = discretize(*linear_model(ARM, Motion(*(part[-1] for part in motion))), 1e-2)
    expected = np.linalg.solve(1e-2 * regulator.weights.R + B.T @ terminal @ B, B.T @ terminal @ A)
    np.testing.assert_allclose(K[-1], expected, rtol=1e-10)


def test_the_default_gains_hold_a_wrist_too_light_for_those_of_continuous_time() -> None:
    wrist = Joint("wrist", "revolute", "base", "hand", limits=Limits(effort=30.0))
    light = ch.Robot(
        Description("light", (Link("base"), Link("hand", Inertia(0.1, matrix=6e-4 * np.eye(3)))), (wrist,))
    )
    for period, stable in ((None, False), (1e-3, True)):
        A, B = at_rest(light, np.zeros(1), 1e-3)
        loop = A - B @ LinearQuadraticRegulator(light, period=period).K
        assert (np.abs(np.linalg.eigvals(loop)).max() < 1.0) == stable
    assert LinearQuadraticRegulator(light).period == 1e-3
    with pytest.warns(SamplingWarning, match=r"for calls every 1 ms and .* every 10 ms; give it period=0.01"):
        ch.simulate(light, LinearQuadraticRegulator(light), ch.PointToPoint([0.0], [0.0], duration=0.1), period=1e-2)


@pytest.mark.parametrize(("period", "integral"), paired([1e-3, 1.0 / 60.0], [None, 2e-3]))
def test_the_panda_at_its_home_is_stable(period: float, integral: float | None) -> None:
    regulator = LinearQuadraticRegulator(PANDA, period=period, integral_error=integral)
    A, B = at_rest(PANDA, PANDA.home, period)
    loop = loop_matrix(regulator, A, B, PANDA.home, period, np.zeros(0))
    assert np.abs(np.linalg.eigvals(loop)).max() < 1.0
    rest = ch.PointToPoint(PANDA.home, PANDA.home, duration=2.0)
    run = ch.simulate(PANDA, regulator, rest, period=period, start=PANDA.home + 0.05)
    assert float(np.abs(run.error.isel(time=-1)).max()) < 1e-5


@pytest.mark.parametrize("period", thinned([5e-4, 1e-3, 1.0 / 60.0]))
@pytest.mark.parametrize(
    "controller",
    [
        TimeVaryingRegulator(PANDA),
        TimeVaryingRegulator(PANDA, integral_error=2e-3),
        GainScheduledRegulator(PANDA, update_period=0.1),
        LinearQuadraticGaussian(PANDA),
    ],
    ids=["time-varying", "integral", "scheduled", "gaussian"],
)
def test_a_fast_motion_with_an_unknown_payload_is_followed_at_every_rate(controller: Any, period: float) -> None:
    run = ch.simulate(PANDA, controller, FAST, duration=1.5, period=period, vary={"payload.mass": [0.0, 2.0]})
    assert not np.isfinite(run.diverged_at).any()
    assert float(np.abs(run.error).max()) < 0.1
    assert float(np.abs(run.error.isel(run=0, time=-1)).max()) < 1e-4


def test_unknown_payloads_disturb_the_regulator_less_than_other_laws() -> None:
    """Than PD with gravity of the stiffness that the regulator's weights stand for, critically damped at home."""
    regulator, with_integral = TimeVaryingRegulator(PANDA), TimeVaryingRegulator(PANDA, integral_error=2e-3)
    Q, R = regulator.weights
    stiffness = np.sqrt(Q.diagonal()[:7] / R.diagonal())
    damping = 2.0 * np.sqrt(stiffness * PANDA.mass_matrix(PANDA.home).diagonal())
    pd = ch.PDGravity(PANDA, kp=stiffness, kd=damping)

    def error(controller: Any, masses: Any) -> float:
        return rms(ch.simulate(PANDA, controller, FAST, duration=1.5, vary={"payload.mass": masses}))

    masses = np.linspace(0.0, 3.0, 8)
    assert error(with_integral, masses) < 0.5 * error(pd, masses)
    assert error(regulator, masses) < 0.1 * error(NominalTorque(PANDA), masses)
    assert error(regulator, [0.0]) < 0.1 * error(pd, [0.0])  # what it knows of costs it nothing


@pytest.mark.parametrize("kind", [TimeVaryingRegulator, LinearQuadraticRegulator, LinearQuadraticGaussian])
def test_integral_action_removes_what_a_payload_leaves(kind: type) -> None:
    loaded, ends = ARM.with_payload(2.0), []
    for integral in (None, 2e-3):
        run = ch.simulate(loaded, kind(ARM, integral_error=integral), MOTION, duration=5.0, period=2e-3)
        ends.append(float(np.abs(run.error.isel(time=-1)).max()))
    assert ends[0] > 1e-3
    assert ends[1] < 1e-6


@pytest.mark.parametrize(
    "controller",
    [TimeVaryingRegulator(ARM), GainScheduledRegulator(ARM, update_period=0.1), LinearQuadraticGaussian(ARM)],
    ids=["time-varying", "scheduled", "gaussian"],
)
def test_held_torques_leave_the_plan_by_the_square_of_the_period(controller: Any) -> None:
    """The torque of the sample itself would leave it in proportion to the period."""
    errors = [
        rms(ch.simulate(ARM, controller, MOTION, period=h, integrator=ch.integrators.Steps("rk4", 4)))
        for h in (0.02, 0.01, 0.005)
    ]
    ratios = np.divide(errors[:-1], errors[1:])
    assert ((ratios > 3.4) & (ratios < 4.6)).all(), ratios


@pytest.mark.parametrize("kind", [TimeVaryingRegulator, LinearQuadraticRegulator, LinearQuadraticGaussian])
def test_integrals_wait_while_a_motor_is_at_its_limit(kind: type) -> None:
    """A step that saturates: the integral of the loop that does not wait makes it overshoot more."""
    joints = tuple(replace(joint, limits=Limits(effort=60.0)) for joint in ARM.description.joints)
    limited = ch.Robot(replace(ARM.description, joints=joints))
    hold = ch.PointToPoint([-1.5, 0.1], [-1.5, 0.1], duration=3.0)
    overshoot = {}
    for model in (limited, ARM):
        controller = kind(model, Q=[1e4, 1e4, 4.0, 4.0], R=0.01, integral_error=2e-3)
        motors = ch.Motors(limited, max_torque=60.0)
        run = ch.simulate(ch.Plant(ARM, motors=motors), controller, hold, period=2e-3, start=[-2.1, 0.1])
        overshoot[model is limited] = float(-run.error.values[:, 0].min())
    assert overshoot[True] < 0.7 * overshoot[False], overshoot


def test_the_filter_predicts_with_the_torques_that_limits_let_through() -> None:
    """On a linear plant the prediction is the motion itself, however far the plan is beyond the motor."""
    slide = Joint("slide", "prismatic", "base", "carriage", limits=Limits(effort=5.0))
    axis = ch.Robot(
        Description("axis", (Link("base"), Link("carriage", Inertia(2.0))), (slide,)).replace(gravity=[0.0] * 3)
    )
    plan = ch.PointToPoint([0.0], [1.0], duration=0.5)  # asks for 46 N
    with pytest.warns(SaturationWarning, match="80% of the time"):
        run = ch.simulate(axis, LinearQuadraticGaussian(axis), plan, period=2e-3, record=ch.Recording(memory=True))
    away = run["memory"].sel(element=["prediction[0]", "prediction[1]"]).values
    truth = np.concatenate([-run.error.values, run.qd.values - plan(run.time.values).qd], axis=-1)
    assert np.abs(truth[:, 0]).max() > 0.1
    np.testing.assert_allclose(away, truth, atol=1e-3 * np.abs(truth).max())


def test_scheduled_gains_are_the_stationary_ones_and_are_held() -> None:
    period = 1e-2
    times, motion = sampled(MOTION, period)
    rows = GainScheduledRegulator(ARM, update_period=0.2).schedule(times, motion)
    assert rows.shape == (101, 2, 5)
    tau = ARM.inverse_dynamics(*motion)
    np.testing.assert_allclose(rows[:-1, :, 0], 0.5 * (tau[1:] + tau[:-1]), rtol=1e-14)
    np.testing.assert_allclose(rows[-1, :, 0], tau[-1], rtol=1e-14)
    for k in range(101):
        np.testing.assert_array_equal(rows[k, :, 1:], rows[20 * (k // 20), :, 1:])
    for k in (0, 40, 100):
        A, B = discretize(*linear_model(ARM, Motion(*(part[k] for part in motion))), period)
        Q, R = GainScheduledRegulator(ARM, update_period=0.2).weights
        # The common factor of the period leaves the gains as they are.
        np.testing.assert_allclose(rows[k, :, 1:], discrete_riccati(A, B, Q, R).K, rtol=1e-9, atol=1e-9)


def test_scheduled_gains_are_interpolated_between_updates() -> None:
    times, motion = sampled(MOTION, 2e-2, duration=0.74)
    held = GainScheduledRegulator(ARM, update_period=0.2).schedule(times, motion)
    rows = GainScheduledRegulator(ARM, update_period=0.2, interpolate=True).schedule(times, motion)
    gains = rows[:, :, 1:]
    np.testing.assert_array_equal(gains[:31:10], held[:31:10, :, 1:])
    np.testing.assert_allclose(gains[5], 0.5 * (gains[0] + gains[10]), rtol=1e-13)
    assert np.abs(np.diff(gains, n=2, axis=0)[1:8]).max() < 1e-9
    every = GainScheduledRegulator(ARM, update_period=1e-9, interpolate=True).schedule(times, motion)
    np.testing.assert_array_equal(gains[-1], every[-1, :, 1:])  # the last call is an update, too
    # Faster updates come closer to updates at every call.
    fine = GainScheduledRegulator(ARM, update_period=0.04, interpolate=True).schedule(times, motion)
    assert np.abs(fine - every).max() < 0.2 * np.abs(rows - every).max()


@pytest.mark.parametrize("integral", [None, 0.01])
def test_filter_and_regulator_separate(integral: float | None) -> None:
    """The modes of the loop with estimate are those of the regulator and those of the filter of (δx, d)."""
    period, q = 1e-2, np.array([0.3, 0.8])
    controller = LinearQuadraticGaussian(ARM, q, integral_error=integral, torque_error=0.5, lasting_error=0.2)
    times = period * np.arange(3)
    rest = Motion(np.tile(q, (3, 1)), np.zeros((3, 2)), np.zeros((3, 2)))
    row = Record({name: part[1] for name, part in controller.schedule(times, rest).items()})
    A, B = at_rest(ARM, q, period)
    modes = np.linalg.eigvals(loop_matrix(controller, A, B, q, period, row))
    with_load = np.block([[A, B], [np.zeros((2, 4)), np.eye(2)]])
    C, W = np.eye(2, 6), np.zeros((6, 6))
    W[:4, :4], W[4:, 4:] = 0.25 * B @ B.T, 0.04 * np.eye(2)
    L = stationary_kalman_gains(with_load, C, W, 1e-8).L
    regulator = LinearQuadraticRegulator(ARM, q, integral_error=integral, period=period)
    regulated = np.linalg.eigvals(loop_matrix(regulator, A, B, q, period, np.zeros(0)))
    filtered = np.linalg.eigvals(with_load @ (np.eye(6) - L @ C))
    expected = np.concatenate([regulated, filtered])
    for mode in expected:
        assert np.abs(modes - mode).min() < 1e-6
    assert len(modes) == len(expected)
    assert np.abs(modes).max() < 1.0


def test_measured_velocities_are_not_used() -> None:
    times, motion = sampled(MOTION, 1e-2)
    controller = LinearQuadraticGaussian(ARM)
    row = Record({name: part[3] for name, part in controller.schedule(times, motion).items()})
    reference = Motion(*(part[3] for part in motion))
    state = Record(prediction=np.array([0.01, -0.02, 0.1, 0.2, 3.0, -1.0]), integral=np.zeros(0), pending=np.zeros(0))
    results = [
        called(controller, np.array([0.1, 0.2]), qd, reference, state, t=0.03, period=1e-2, schedule=row)
        for qd in (np.zeros(2), np.full(2, np.nan))
    ]
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1].prediction, results[1][1].prediction)


def test_the_estimate_finds_a_velocity_that_nobody_told_it() -> None:
    run = ch.simulate(ARM, LinearQuadraticGaussian(ARM), REST, period=1e-3, start=ch.State(qd=[0.5, -0.4]))
    assert float(np.abs(run.error).max()) < 0.05
    assert float(np.abs(run.error.isel(time=-1)).max()) < 1e-5


def test_a_lasting_load_leaves_no_error_of_the_velocities() -> None:
    """The estimate of an unknown weight is the weight, and the mass moves as the filter says, at 10 Hz."""
    lift = Joint("lift", "prismatic", "base", "carriage", axis=(0.0, 0.0, 1.0))
    hoist = ch.Robot(Description("hoist", (Link("base"), Link("carriage", Inertia(2.0))), (lift,)))
    plan = ch.PointToPoint([0.0], [0.5], duration=2.0)
    law = LinearQuadraticGaussian(hoist, integral_error=1.0, torque_error=0.05)
    wind = ch.ExternalWrench("wind", lambda t, p: np.array([0.0, 0.0, 0.0, 0.0, 0.0, -3.0]), axes="world")
    plant = ch.Plant(hoist, wrenches=[wind])
    run = ch.simulate(plant, law, plan, period=0.1, duration=4.0, record=ch.Recording(memory=True))
    position, velocity, load = (run["memory"].sel(element=f"prediction[{k}]").values for k in range(3))
    np.testing.assert_allclose(load[30:], -3.0, rtol=1e-3)
    np.testing.assert_allclose(velocity[30:], (run.qd.values - plan(run.time.values).qd)[30:, 0], atol=1e-4)
    np.testing.assert_allclose(position[30:], -run.error.values[30:, 0], atol=1e-4)


def test_simulations_compute_what_the_law_says() -> None:
    """Against a loop in Python."""
    period, controller = 1e-2, TimeVaryingRegulator(ARM, integral_error=0.01)
    run = ch.simulate(ARM.with_payload(1.0), controller, MOTION, period=period)
    times, motion = run.time.values, MOTION(run.time.values)
    rows = controller.schedule(times, motion)
    state = controller.memory
    for k in range(len(times)):
        reference = Motion(*(part[k] for part in motion))
        tau, state = called(
            controller,
            run.q.values[k],
            run.qd.values[k],
            reference,
            state,
            t=times[k],
            period=period,
            schedule=rows[k],
        )
        np.testing.assert_allclose(run.tau.values[k], tau, rtol=1e-9, atol=1e-9)


def test_a_batch_of_motions_has_a_schedule_for_each() -> None:
    times = 1e-2 * np.arange(50)
    goals = np.array([[1.0, 0.5], [-0.5, 0.2], [0.3, -0.9]])
    each = [ch.PointToPoint([0.0, 0.0], goal, duration=0.4)(times) for goal in goals]
    together = Motion(*(np.stack(parts) for parts in zip(*each, strict=True)))
    for controller in (
        TimeVaryingRegulator(ARM, integral_error=0.1),
        GainScheduledRegulator(ARM, update_period=0.1, interpolate=True),
        LinearQuadraticGaussian(ARM),
        LinearQuadraticGaussian(ARM, [0.1, 0.2]),
    ):
        rows = controller.schedule(times, together)
        for k, motion in enumerate(each):
            single = controller.schedule(times, motion)
            layout = Layout.of(single)
            one = layout.split(layout.join(rows)[k] if isinstance(rows, Record) else rows[k].ravel())
            np.testing.assert_allclose(layout.join(one), layout.join(single), rtol=1e-9, atol=1e-9)


def test_a_single_call_has_the_gain_of_continuous_time() -> None:
    motion = REST(np.zeros(1))
    expected = LinearQuadraticRegulator(ARM, motion.q[0], period=None).K
    for controller in (TimeVaryingRegulator(ARM), GainScheduledRegulator(ARM, update_period=0.1)):
        np.testing.assert_allclose(controller.schedule(np.zeros(1), motion)[0, :, 1:], expected, rtol=1e-9, atol=1e-9)


def test_what_cannot_be_is_refused() -> None:
    times, motion = sampled(MOTION, 0.1)
    with pytest.raises(ArgumentError, match="evenly spaced"):
        TimeVaryingRegulator(ARM).schedule(np.append(times[:-1], 2.0), motion)
    with pytest.raises(ArgumentError, match="at least two times"):
        TimeVaryingRegulator(ARM).horizon([0.0], REST(np.zeros(1)))
    with pytest.raises(ArgumentError, match="at least two calls"):
        LinearQuadraticGaussian(ARM).schedule(np.zeros(1), REST(np.zeros(1)))
    with pytest.raises(ArgumentError, match=r"q has shape|q\[0\] is nan"):
        LinearQuadraticRegulator(ARM, [0.0, 0.0, 0.0])
    with pytest.raises(ArgumentError, match=r"q has shape|q\[0\] is nan"):
        LinearQuadraticGaussian(ARM, [np.nan, 0.0])
    with pytest.raises(ArgumentError, match=r"update_period is .*; it must be positive"):
        GainScheduledRegulator(ARM, update_period=0.0)
    with pytest.raises(ArgumentError, match="terminal must be a number"):
        TimeVaryingRegulator(ARM, terminal=np.eye(6))
    with pytest.raises(ArgumentError, match=r"encoder_noise\[.\] is .*; it must be positive"):
        LinearQuadraticGaussian(ARM, encoder_noise=0.0)


def test_joints_that_may_drift_are_named() -> None:
    """Level, on a table without gravity, no weight of the second joint's angle: it may rest anywhere."""
    floating = ARM.with_gravity([0.0, 0.0, 0.0])
    with pytest.raises(RegulatorError, match=r"Q gives no weight to the mode of eigenvalue 0, .* state 1"):
        LinearQuadraticRegulator(floating, [0.0, 0.5], Q=[1.0, 0.0, 1.0, 1.0], period=None)
