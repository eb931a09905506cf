"""Chapter 11 against the published package; the plot."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import Lists, close, no_plots, published, random_robot

import chasles.interop.modern_robotics as mr
from chasles.base.errors import ArgumentError

ROBOTS = [random_robot(20, 1, "helical"), random_robot(21, 2), random_robot(22, 3, offset=True)]
MODELS = [random_robot(30, 1, "helical"), random_robot(31, 2), random_robot(32, 3, offset=True)]
G, G_TILDE = np.array([1.0, -2.0, -9.81]), np.array([0.0, 0.5, -9.0])


@pytest.mark.slow
def test_random_torques() -> None:
    rng = np.random.default_rng(0)
    for call in range(1000):
        robot = ROBOTS[call % 3]
        n = robot.Slist.shape[1]
        state, desired, gains = rng.normal(size=(3, n)), rng.normal(size=(3, n)), rng.uniform(0.0, 30.0, 3)
        arguments = (*state, G, *robot, *desired, *gains)
        assert close(mr.ComputedTorque(*arguments), published.ComputedTorque(*arguments))


def simulation(rng: np.random.Generator, robot: Lists, model: Lists, N: int, intRes: int) -> tuple[Any, ...]:
    n = robot.Slist.shape[1]
    state, desired, Ftipmat = 0.3 * rng.normal(size=(2, n)), rng.normal(size=(3, N, n)), rng.normal(size=(N, 6))
    gains = rng.uniform(0.0, 20.0, 3)
    return (*state, G, Ftipmat, *robot, *desired, G_TILDE, model.Mlist, model.Glist, *gains, 0.005, intRes)


@pytest.mark.parametrize("calls", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_simulations(calls: int) -> None:
    rng = np.random.default_rng(1)
    with no_plots():
        for call in range(calls):
            joints = 0 if call % 3 else 1
            pair = ROBOTS[joints], MODELS[joints]
            arguments = simulation(rng, *pair, int(rng.integers(1, 3)), int(rng.integers(1, 3)))
            assert close(mr.SimulateControl(*arguments), published.SimulateControl(*arguments))


def test_a_longer_simulation() -> None:
    arguments = simulation(np.random.default_rng(2), ROBOTS[2], MODELS[2], 40, 3)
    with no_plots():
        assert close(mr.SimulateControl(*arguments), published.SimulateControl(*arguments))


def test_batches_and_gains_for_each_joint() -> None:
    robot, model, rng = ROBOTS[1], MODELS[1], np.random.default_rng(3)
    theta, desired = rng.normal(size=(4, 1, 2)), rng.normal(size=(3, 6, 2))
    still = np.zeros((6, 2))
    Kp = np.array([20.0, 40.0])

    def run(start: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = G_TILDE, model.Mlist, model.Glist, Kp, 0.0, [[5.0, 6.0]] if start.ndim > 1 else [5.0, 6.0]
        result: tuple[np.ndarray, np.ndarray] = mr.SimulateControl(
            start, np.zeros(2), G, 0, *robot, goal, still, still, *own, 0.01, 2
        )
        return result

    taumat, thetamat = run(theta, desired)
    assert taumat.shape == thetamat.shape == (4, 3, 6, 2)
    single = run(theta[3, 0], desired[2])
    np.testing.assert_array_equal(taumat[3, 2], single[0])
    np.testing.assert_array_equal(thetamat[3, 2], single[1])


def test_a_right_model_without_disturbance_follows_its_reference() -> None:
    robot, dt, N = ROBOTS[2], 1e-3, 400
    desired = mr.JointTrajectory(np.zeros(3), [0.5, -0.4, 0.3], dt * (N - 1), N, 5)
    rates = np.gradient(desired, dt, axis=0)
    accelerations = np.gradient(rates, dt, axis=0)
    model = G, robot.Mlist, robot.Glist
    _, theta = mr.SimulateControl(
        desired[0], rates[0], G, 0, *robot, desired, rates, accelerations, *model, 400.0, 0.0, 40.0, dt, 10
    )
    assert np.abs(theta[:-1] - desired[1:]).max() < 1e-3


def test_wrong_arguments() -> None:
    arguments = list(simulation(np.random.default_rng(4), ROBOTS[1], MODELS[1], 3, 1))
    with pytest.raises(
        ArgumentError, match=r"SimulateControl: ddthetamatd has shape \(2, 2\); expected \(\.\.\., 3, 2\)"
    ):
        mr.SimulateControl(*arguments[:9], arguments[9][:2], *arguments[10:])
    with pytest.raises(
        ArgumentError, match=r"SimulateControl: Kp must be a number or have shape \(\.\.\., 2\), not \(3,\)"
    ):
        mr.SimulateControl(*arguments[:13], np.ones(3), *arguments[14:])
    with pytest.raises(
        ArgumentError, match=r"Mtildelist, Gtildelist.*Glist has shape \(3, 6, 6\); expected \(2, 6, 6\)"
    ):
        mr.SimulateControl(*arguments[:12], np.zeros((3, 6, 6)), *arguments[13:])
    with pytest.raises(ArgumentError, match="intRes"):
        mr.SimulateControl(*arguments[:-1], 0)


def test_the_plot_is_a_page_and_needs_no_display(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    arguments = simulation(np.random.default_rng(5), ROBOTS[1], MODELS[1], 10, 2)
    page = tmp_path / "tracking.html"
    _, thetamat = mr.SimulateControl(*arguments, plot=page)
    text = page.read_text(encoding="utf-8")
    assert "Plotly.newPlot" in text
    assert len(set(re.findall(r"theta[12]", text))) == 2
    np.testing.assert_array_equal(thetamat, mr.SimulateControl(*arguments)[1])


def drawn(values: Any) -> np.ndarray:
    """Numbers of a figure, which may be packed."""
    packed = values if isinstance(values, dict) else values.item() if np.ndim(values) == 0 else None
    return np.asarray(values) if packed is None else np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])


def test_each_curve_stands_at_its_time() -> None:
    pytest.importorskip("plotly")
    thetamatd = np.arange(5.0)[:, None]  # desired at the start of the interval: at 0 dt, 1 dt, ...
    thetamat = np.arange(1.0, 6.0)[:, None]  # reached at its end: at 1 dt, 2 dt, ...
    figure = mr.plot_control(np.zeros((5, 1)), thetamat, thetamatd, 0.5)
    variable, desired, error, _ = figure.data
    np.testing.assert_array_equal(drawn(variable.x), [0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(drawn(variable.y), [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(drawn(desired.y), drawn(variable.y))
    assert not drawn(error.y).any()
    with pytest.raises(ArgumentError, match=r"must have one shape \(N, n\)"):
        mr.plot_control(np.zeros((2, 5, 1)), np.zeros((2, 5, 1)), np.zeros((2, 5, 1)), 0.5)
