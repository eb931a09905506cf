"""Regulators that know their delay: their sampled model, their optimality, and what the knowledge is worth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import LinearQuadraticGaussian, TimeVaryingRegulator
from chasles.control.delayed_hold import delayed_hold
from chasles.control.linear_quadratic import frequency_weights
from chasles.control.linear_quadratic.along_motion import held_torques, sampled_model

PERIOD = 0.02
DELAYS = [0.0, 0.3, 1.0, 1.7, 2.0]


def slider() -> ch.Robot:
    """A mass of 2 kg on a rail: a linear plant."""
    return ch.Robot.from_dh([{"kind": "prismatic", "mass": 2.0}], gravity=(0.0, 0.0, 0.0), check=False)


@pytest.mark.parametrize("delay", DELAYS)
def test_the_sampled_model_is_what_the_simulation_does(delay: float) -> None:
    robot, still = slider(), ch.PointToPoint([0.0], [0.0], 1.0)
    weights = frequency_weights([[2.0]], 10.0)
    law = TimeVaryingRegulator(robot, Q=weights.Q, R=weights.R, delay=delay)
    run = ch.simulate(ch.Plant(robot, delay=delay * PERIOD), law, still, start=[0.1], period=PERIOD, duration=1.0)
    x = np.stack([run["q"].values[:, 0], run["qd"].values[:, 0]], axis=-1)
    u = run["tau"].values
    A, B_late = delayed_hold(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [0.5]]), PERIOD, delay)
    late = len(B_late) - 1
    for k in range(late, len(x) - 1):
        expected = A @ x[k] + sum(B @ u[k - i] for i, B in enumerate(B_late))
        np.testing.assert_allclose(x[k + 1], expected, rtol=1e-9, atol=1e-12)
    assert np.abs(x[-1]).max() < 1e-3


@pytest.mark.parametrize("delay", DELAYS)
def test_gains_solve_the_riccati_equation_of_all_states(delay: float) -> None:
    robot, still = slider(), ch.PointToPoint([0.0], [0.0], 1.0)
    Q, R = frequency_weights([[2.0]], 10.0, integral=1.0)
    times = PERIOD * np.arange(20)
    law = TimeVaryingRegulator(robot, Q=Q, R=R, delay=delay)
    A, B = (part[0] for part in sampled_model(robot, still(times), PERIOD, integral=True, delay=delay))
    whole = np.zeros_like(A)
    whole[:3, :3] = PERIOD * Q
    P = scipy.linalg.solve_discrete_are(A, B, whole, PERIOD * R)
    K = np.linalg.solve(PERIOD * R + B.T @ P @ B, B.T @ P @ A)
    for gains in law.horizon(times, still(times)).K:
        np.testing.assert_allclose(gains, K, rtol=1e-7)


def test_nominal_torques_are_those_of_the_time_at_which_they_act() -> None:
    robot, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    times = PERIOD * np.arange(51)
    exact = robot.inverse_dynamics(*motion(times))
    np.testing.assert_allclose(held_torques(robot, motion(times))[:-1], 0.5 * (exact[:-1] + exact[1:]), rtol=1e-13)
    late = held_torques(robot, motion(times), 2.0)
    np.testing.assert_allclose(late[:-3], 0.5 * (exact[2:-1] + exact[3:]), rtol=1e-13)
    np.testing.assert_array_equal(late[-1], exact[-1])
    halves = (
        robot.inverse_dynamics(*motion(times[:-2] + 0.5 * PERIOD)),
        robot.inverse_dynamics(*motion(times[:-2] + 1.5 * PERIOD)),
    )
    between = held_torques(robot, motion(times), 0.5)[:-2]
    np.testing.assert_allclose(between, 0.5 * (halves[0] + halves[1]), atol=2e-2 * np.abs(exact).max())


@pytest.mark.parametrize("kind", [TimeVaryingRegulator, LinearQuadraticGaussian])
def test_who_knows_the_delay_keeps_what_others_lose(kind: type[TimeVaryingRegulator | LinearQuadraticGaussian]) -> None:
    """Two periods of delay at 60 Hz, three poles at 20 rad/s, on Mazure's arm with a payload."""
    arm, motion, period = ch.load("planar2r"), ch.PointToPoint([-1.57, 0.0], [0.78, 1.57], 1.0), 1 / 60
    mean = arm.mass_matrix(motion(np.linspace(0.0, 1.0, 50)).q).mean(axis=0)
    Q, R = frequency_weights(mean, 20.0, integral=1.0)
    plant = arm.with_payload(1.0)
    errors = []
    for known in (0.0, 2.0):
        law = kind(arm, Q=Q, R=R, delay=known)
        with np.errstate(all="ignore"):
            run = simulate_quietly(plant, law, motion, period)
        errors.append(np.abs(run["error"].values).max())
    assert not errors[0] < 10.0
    assert errors[1] < 0.3


def simulate_quietly(plant: ch.Robot, law: ch.Controller, motion: ch.PointToPoint, period: float) -> ch.Run:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the other diverges, and says so
        return ch.simulate(ch.Plant(plant).with_drives(delay=2.0 * period), law, motion, period=period, duration=1.5)


def test_a_delay_must_be_one() -> None:
    arm = ch.load("planar2r")
    for wrong in (-0.5, 11.0, np.nan):
        with pytest.raises(ArgumentError, match="delay"):
            TimeVaryingRegulator(arm, delay=wrong)
        with pytest.raises(ArgumentError, match="delay"):
            LinearQuadraticGaussian(arm, delay=wrong)
