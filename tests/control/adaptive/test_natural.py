"""Natural adaptation: estimates of possible bodies, and the theorem with Bregman's divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from tests.control.adaptive.continuous_loops import Course, follow, kinetic_part, waves
from tests.control.sampled_loop import simulate

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import ComputedTorque, NaturalAdaptive
from chasles.control.adaptive.natural import projected
from chasles.geometry import pseudo_inertia_from_inertial_parameters

BARE = ch.load("planar2r").with_friction(viscous=0.3, coulomb=0.5, coulomb_velocity=0.2)
ARM = BARE.with_payload(0.5, [0.0, 0.0, 0.01], 0.005 * np.eye(3))
LOADED = BARE.with_payload(2.5, [0.05, 0.02, 0.0], np.diag([0.02, 0.03, 0.04]))
SIX = ch.load("ur5").with_friction(viscous=1.0, coulomb=1.0, coulomb_velocity=0.2)
RATE, DAMPING = 5.0, np.array([10.0, 6.0])
MOTION = waves([[0.5, 0.4], [0.3, 0.2]], [[2.0, 3.0], [5.0, 3.7]])


def controller(**options: Any) -> NaturalAdaptive:
    given = {"rate": RATE, "damping": DAMPING, "adaptation": 3.0, "bodies": "payload"} | options
    return NaturalAdaptive(ARM, **given)


def divergence(estimate: np.ndarray, true: np.ndarray) -> np.ndarray:
    """log(det J / det true) + tr(J^-1 true) - 4 of every row's bodies, summed."""
    J = pseudo_inertia_from_inertial_parameters(estimate.reshape(len(estimate), -1, 10))
    right = pseudo_inertia_from_inertial_parameters(true.reshape(-1, 10))
    ratio = np.linalg.solve(J, np.broadcast_to(right, J.shape))
    each = np.trace(ratio, axis1=-2, axis2=-1) - 4.0 - np.linalg.slogdet(ratio)[1]
    result: np.ndarray = each.sum(axis=-1)
    return result


def sliding(course: Course) -> np.ndarray:
    s: np.ndarray = course.qd - course.wanted.qd - RATE * (course.wanted.q - course.q)
    return s


def smallest_eigenvalue(memory: np.ndarray) -> float:
    bodies = pseudo_inertia_from_inertial_parameters(memory.reshape(-1, 10))
    return float((np.linalg.eigvalsh(bodies)[:, 0] / np.trace(bodies, axis1=1, axis2=2)).min())


def true_payload() -> np.ndarray:
    return NaturalAdaptive(LOADED, rate=RATE, damping=DAMPING, adaptation=1.0, bodies="payload").memory["estimate"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "gain", [pytest.param(0.3, marks=pytest.mark.slow), pytest.param(3.0, marks=pytest.mark.slow), 30.0]
)
def test_lyapunov_function_never_grows(gain: float) -> None:
    course = follow(LOADED, controller(adaptation=gain), MOTION, 6.0, samples=36001 if gain > 10.0 else 12001)
    V = kinetic_part(LOADED, course.q, sliding(course)) + divergence(course.memory, true_payload()) / gain
    assert np.diff(V).max() <= 1e-8 * V[0]
    assert abs(V[0] - V[-1] - simpson(sliding(course) ** 2 @ DAMPING, x=course.t)) < 1e-5 * V[0]
    assert smallest_eigenvalue(course.memory) > 1e-6


@pytest.mark.slow
def test_all_bodies_of_six_joints() -> None:
    wrong = SIX.inertial.perturbed(0.2, seed=3, consistent=True)
    links = [name.removesuffix(".m") for name in SIX.inertial.names if name.endswith(".m")]
    law = NaturalAdaptive(SIX, rate=RATE, damping=[20.0, 20.0, 20.0, 5.0, 5.0, 5.0], adaptation=0.5, bodies=links)
    true = wrong.inertial.values[: 10 * len(links)]
    losses = SIX.inertial.values[10 * len(links) :]  # which natural adaptation takes for known
    exact = SIX.inertial.with_values(np.concatenate([true, losses]))
    motion = waves(np.full((1, 6), 0.4), [[2.0, 2.3, 2.7, 3.1, 3.5, 4.1]], SIX.home)
    course = follow(exact, law, motion, 2.0, rtol=1e-9, samples=101)
    V = kinetic_part(exact, course.q, sliding(course)) + divergence(course.memory, true) / 0.5
    assert np.diff(V).max() <= 1e-8 * V[0]
    assert V[-1] < V[0]
    assert smallest_eigenvalue(course.memory) > 0.0


def test_sampled_estimates_are_possible_whatever_the_gain() -> None:
    for gain in (1.0, 1e3, 1e5):
        run = simulate(LOADED, controller(adaptation=gain), MOTION, duration=0.2, period=5e-3, q0=np.array([0.5, -0.5]))
        assert smallest_eigenvalue(run.memory[np.isfinite(run.memory).all(axis=1)][:5]) > -1e-15


def test_sampled_law_beats_a_fixed_model() -> None:
    motion = ch.CubicSpline(np.linspace(0.0, 4.0, 9), 0.7 * np.random.default_rng(0).normal(size=(9, 2)))
    laws = (ComputedTorque(ARM, kp=400.0, kd=40.0), controller(rate=20.0, damping=40.0, adaptation=1.0))
    errors = [np.sqrt((ch.simulate(LOADED, law, motion).error ** 2).mean().item()) for law in laws]
    assert errors[1] < 0.1 * errors[0]


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="'payload' is not that of a body"):
        NaturalAdaptive(BARE, rate=5.0, damping=5.0, adaptation=1.0, bodies="payload")
    with pytest.raises(ArgumentError, match=r"initial has shape \(3,\); expected \(10,\)"):
        controller(initial=np.ones(3))
    with pytest.raises(UnknownNameError, match="link9"):
        controller(bodies=["link9"])
    with pytest.raises(ArgumentError, match="adaptation"):
        controller(adaptation=[1.0, 2.0])


def test_projection_keeps_the_bounds_and_never_leads_away_from_a_true_body() -> None:
    """D(true, projected) <= D(true, J) for random bodies of which the true ones keep the bounds."""
    rng = np.random.default_rng(0)
    moved = 0
    for _ in range(300):
        roots = rng.normal(size=(2, 4, 4))
        true, J = roots[0] @ roots[0].T, rng.uniform(0.5, 30.0) * roots[1] @ roots[1].T
        bounds = true.diagonal() * rng.uniform(1.0, 3.0, 4)
        nearest = np.array(projected(J, bounds), dtype=float)
        assert (nearest.diagonal() <= bounds * (1.0 + 1e-12)).all()
        assert np.linalg.eigvalsh(nearest)[0] > 0.0

        def away(X: np.ndarray, true: np.ndarray = true) -> float:
            ratio = np.linalg.solve(X, true)
            return float(np.trace(ratio) - 4.0 - np.linalg.slogdet(ratio)[1])

        assert away(nearest) <= away(J) + 1e-9 * away(J)
        moved += int(not np.array_equal(nearest, J))
    assert moved > 200


@pytest.mark.parametrize("excess", [10.0, 1e3, 1e6])
def test_gains_that_are_too_high_do_not_let_estimates_or_errors_grow(excess: float) -> None:
    model = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    fitting = NaturalAdaptive.tuned(model, motion, 1e-3, frequency=20.0)
    law = NaturalAdaptive.tuned(model, motion, 1e-3, frequency=20.0, adaptation=excess * fitting.adaptation)
    run = ch.simulate(model.with_payload(1.0), law, motion, duration=1.5, record=ch.Recording(memory=True))
    assert float(run.memory.sel(element="link2.m").max()) <= law.largest_mass[0] * (1.0 + 1e-12)
    assert smallest_eigenvalue(run.memory.values) > 0.0
    assert np.abs(run.error.values).max() < 0.05


def test_first_estimates_beyond_the_bounds_are_refused() -> None:
    with pytest.raises(ArgumentError, match="first estimates must be within largest_mass"):
        controller(largest_mass=0.1)
    with pytest.raises(ArgumentError, match=r"largest_radius\[0\] is 0.0; it must be positive"):
        controller(largest_radius=0.0)
