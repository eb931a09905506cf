"""Composite adaptation: its theorem in continuous time, its filters, and the sampled law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from tests.control.adaptive.continuous_loops import Course, follow, kinetic_part, waves
from tests.control.sampled_loop import simulate

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import CompositeAdaptive
from chasles.control.adaptive.recursive_least_squares import unpacked

ARM = ch.load("planar2r").with_friction(viscous=0.3, coulomb=0.5, coulomb_velocity=0.2)
LOADED = ARM.with_payload(2.0, [0.05, 0.02, 0.0], np.diag([0.01, 0.02, 0.03]))
RATE, DAMPING, GAIN = 5.0, np.array([10.0, 6.0]), 2.0
MOTION = waves([[0.5, 0.4], [0.3, 0.2]], [[2.0, 3.0], [5.0, 3.7]])
TRUE = LOADED.inertial.base().values
M = len(TRUE)


def controller(model: ch.Robot = ARM, **options: Any) -> CompositeAdaptive:
    given = {"rate": RATE, "damping": DAMPING, "adaptation": GAIN, "bandwidth": 20.0, **options}
    return CompositeAdaptive(model, **given)


def gains(course: Course) -> np.ndarray:
    """P at every sample, (k, m, m)."""
    return GAIN * np.array([unpacked(row[-M * (M + 1) // 2 :], M) for row in course.memory])


def weighted_error(course: Course, P: np.ndarray) -> np.ndarray:
    """(theta - true)^T P^-1 (theta - true) / 2."""
    error = course.memory[:, :M] - TRUE
    return 0.5 * np.einsum("ki,ki->k", error, np.linalg.solve(P, error[..., None])[..., 0])


def kinetic(course: Course) -> np.ndarray:
    s = course.qd - course.wanted.qd - RATE * (course.wanted.q - course.q)
    return kinetic_part(LOADED, course.q, s)


def errors_of_prediction(course: Course, estimates: np.ndarray) -> np.ndarray:
    """W theta - y along a course of the law with base parameters, bandwidth 20."""
    P = np.array([LOADED.regressors.momentum(q, qd) for q, qd in zip(course.q, course.qd, strict=True)])
    W = 20.0 * P[:, :, LOADED.inertial.base().independent] - course.memory[:, M : 3 * M].reshape(-1, 2, M)
    error: np.ndarray = np.einsum("kij,kj->ki", W, estimates) - course.memory[:, 3 * M : 3 * M + 2]
    return error


@pytest.mark.slow
@pytest.mark.parametrize("prediction", [pytest.param(0.3, marks=pytest.mark.slow), 3.0])
def test_constant_gain(prediction: float) -> None:
    """V' = -s^T Kd s - prediction |W theta - y|^2: V never grows, and falls by just the integral."""
    course = follow(LOADED, controller(prediction=prediction), MOTION, 3.0, samples=12001)
    V = kinetic(course) + 0.5 * ((course.memory[:, :M] - TRUE) ** 2).sum(axis=1) / GAIN
    assert np.diff(V).max() <= 1e-9 * V[0]
    s = course.qd - course.wanted.qd - RATE * (course.wanted.q - course.q)
    of_prediction = prediction * (errors_of_prediction(course, course.memory[:, :M]) ** 2).sum(axis=1)
    assert abs(V[0] - V[-1] - simpson(s**2 @ DAMPING + of_prediction, x=course.t)) < 1e-6 * V[0]
    assert simpson(of_prediction, x=course.t) > 0.05 * V[0]


def test_bounded_gain_forgetting() -> None:
    """V never grows, the gain keeps its bound, and parameters and errors converge exponentially to the truth."""
    course = follow(LOADED, controller(forgetting=1.0, gain_limit=10.0), MOTION, 20.0)
    P = gains(course)
    V = kinetic(course) + weighted_error(course, P)
    assert np.diff(V).max() <= 1e-9 * V[0]
    assert (np.trace(P, axis1=1, axis2=2) <= 10.0 * M * GAIN * (1.0 + 1e-9)).all()
    assert np.linalg.eigvalsh(P).min() > 0.0
    quarter = len(V) // 4
    assert (V[quarter::quarter] / V[:-quarter:quarter]).max() < 0.05
    assert np.abs(course.memory[-1, :M] - TRUE).max() < 1e-6
    assert np.abs(course.q - course.wanted.q)[-20:].max() < 1e-8


def test_true_parameters_predict_the_torques_without_error() -> None:
    """Whatever the law does: the filtered regressor times the true parameters is the filtered torque."""
    course = follow(LOADED, controller(forgetting=1.0), MOTION, 3.0, q0=[0.2, -0.1])
    assert np.abs(course.q - course.wanted.q).max() > 0.09
    error = errors_of_prediction(course, np.broadcast_to(TRUE, (len(course.t), M)))
    assert np.abs(error).max() < 1e-7 * np.abs(course.memory[:, 3 * M : 3 * M + 2]).max()
    assert np.abs(errors_of_prediction(course, course.memory[:, :M])).max() > 1.0


def test_payload_is_found() -> None:
    course = follow(LOADED, controller(unknown="payload", forgetting=1.0), MOTION, 30.0)
    assert np.abs(course.memory[-1, :3] - [2.0, 0.1, 0.04]).max() < 1e-4


@pytest.mark.parametrize("options", [{}, {"forgetting": 2.0}])
def test_sampled_law(options: dict[str, Any]) -> None:
    law = CompositeAdaptive(
        ARM, rate=20.0, damping=40.0, adaptation=GAIN, bandwidth=50.0, prediction=10.0, unknown="payload", **options
    )
    run = simulate(LOADED, law, MOTION, duration=10.0, period=1e-3, q0=np.zeros(2), save_every=10)
    error = np.abs(run.q - np.array([MOTION(t).q for t in run.t]))
    assert error[-200:].max() < (0.1 if options else 0.5) * error[:200].max()
    if options:
        assert np.abs(run.memory[-1, :3] - [2.0, 0.1, 0.04]).max() < 2e-3


def test_error_of_the_sampled_filters_is_of_second_order() -> None:
    """A true model of a payload's arm predicts the torques but for the curvature of signals within a period."""
    errors = []
    for period in (4e-3, 2e-3):
        law = controller(LOADED, unknown="payload")
        run = simulate(LOADED, law, MOTION, duration=2.0, period=period, q0=np.zeros(2))
        m, n = 10, 2
        z = run.memory[:, m + n * m : m + n * m + n]
        momentum, drift = LOADED.regressors.momentum_and_drift(run.q, run.qd)
        now = 1.0 - (1.0 - np.exp(-20.0 * period)) / (20.0 * period)  # of a first-order hold before the filter
        y = now * (20.0 * momentum + drift) + z - 20.0 * momentum
        errors.append(np.abs(y[1:]).max())
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert errors[1] < 0.01


@pytest.mark.parametrize("prediction", [1.0, 1e6])
@pytest.mark.parametrize("forgetting", [None, 5.0])
def test_no_weight_makes_the_estimator_unstable(prediction: float, forgetting: float | None) -> None:
    law = controller(prediction=prediction, forgetting=forgetting, adaptation=10.0)
    run = simulate(LOADED, law, MOTION, duration=3.0, period=2e-3, q0=np.zeros(2), save_every=10)
    assert np.isfinite(run.memory).all()
    planned = np.array([MOTION(t).q for t in run.t])
    assert np.abs(run.q - planned)[-30:].max() < 5e-3


def test_memory_names_and_sizes() -> None:
    law = controller(forgetting=1.0)
    assert len(law.memory_names) == law.memory_layout.size == M + 2 * M + 2 + 1 + M * (M + 1) // 2
    assert law.memory_names[:M] == law.parameter_names
    assert law.memory_names[M] == "filter[0, 0]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 0.0}, "bandwidth is 0.0; it must be positive"),
        ({"prediction": [1.0, 2.0]}, "prediction"),
        ({"forgetting": -1.0}, "forgetting"),
        ({"forgetting": 1.0, "lower": -9.0}, "constant gain"),
        ({"forgetting": 1.0, "gain_limit": 0.5}, "gain_limit is 0.5; it must be at least 1"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        controller(**options)
