"""Inverse kinematics as a layer: derivatives of the solution of Newton's iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from scipy.linalg import expm

import chasles as ch


def _difference(f: Callable[[float], Any], h: float = 3e-4) -> Any:
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def _twist(rng: np.random.Generator) -> np.ndarray:
    turn = rng.normal(size=(3, 3))
    return np.concatenate([np.concatenate([turn - turn.T, rng.normal(size=(3, 1))], axis=1), np.zeros((1, 4))])


@pytest.mark.parametrize(
    ("name", "mask"),
    [
        ("planar2r", [0.0, 0.0, 0.0, 1.0, 1.0, 0.0]),
        ("planar2r", [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        pytest.param("ur5", None, marks=pytest.mark.slow),
        pytest.param("panda", "position and direction", marks=pytest.mark.slow),
    ],
)
def test_solutions_follow_targets_and_postures(name: str, mask: Any) -> None:
    rng, arm = np.random.default_rng(2), ch.load(name)
    q = arm.home + np.linspace(0.3, 0.9, arm.n)
    goal, direction, weights = arm.forward_kinematics(q + 0.1), _twist(rng), rng.normal(size=arm.n)
    newton = arm.inverse_kinematics.newton(mask=mask)
    names = [each.name for each in newton.program.inputs][1:]
    given = {"T_world_goal": goal, "posture": q + 0.05}

    def solved(**changed: Any) -> float:
        solution, _, done = newton(q, *({**given, **changed}[each] for each in names), 100)
        assert done
        return float(solution @ weights)

    adjoints = newton.vjp(wrt=names)(q, *(given[each] for each in names), 100, weights)
    by_name = dict(zip(names, adjoints if isinstance(adjoints, tuple) else [adjoints], strict=True))
    expected = _difference(lambda s: solved(T_world_goal=goal @ expm(s * direction)))
    np.testing.assert_allclose((by_name["T_world_goal"] * (goal @ direction)).sum(), expected, rtol=1e-7)
    if "posture" in names:
        along = rng.normal(size=arm.n)
        expected = _difference(lambda s: solved(posture=given["posture"] + s * along))
        np.testing.assert_allclose(by_name["posture"] @ along, expected, rtol=1e-7)


def test_the_nearest_solution_to_a_posture_is_stationary() -> None:
    """With a line as target, what is left of the way to the posture is across the solutions."""
    arm, posture, goal = ch.load("planar2r"), np.array([0.2, 0.9]), np.eye(4)
    goal[0, 3] = 0.5
    newton = arm.inverse_kinematics.newton(mask=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    q, _, done = newton(posture, goal, posture, 100)
    assert done
    J = arm.jacobian(q, frame="world-aligned")[3]
    np.testing.assert_allclose(arm.forward_kinematics(q)[0, 3], 0.5, atol=1e-12)
    missing = posture - q
    np.testing.assert_allclose(missing, J * (J @ missing) / (J @ J), atol=1e-9)


def test_what_is_not_reached_has_no_derivative() -> None:
    arm = ch.load("planar2r")
    newton = arm.inverse_kinematics.newton(mask=[0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    goals = np.array([arm.forward_kinematics([0.3, 0.6]), np.eye(4)])
    goals[1, 0, 3] = 9.0
    _, _, done = newton([0.2, 0.5], goals, 20)
    by_goal = newton.vjp(wrt="T_world_goal")([0.2, 0.5], goals, 20, np.ones(2))
    assert done.tolist() == [1.0, 0.0]
    assert np.isfinite(by_goal).all(axis=(1, 2)).tolist() == [True, False]


@pytest.mark.slow
def test_jax_differentiates_it_in_compiled_graphs() -> None:
    arm = ch.load("planar2r")
    newton = arm.inverse_kinematics.newton(mask=[0.0, 0.0, 0.0, 1.0, 1.0, 0.0]).to_jax()
    angles = np.array([[0.3, 0.6], [-0.5, 1.1]])
    goals = arm.forward_kinematics(angles)

    def elbow(x: Any, goal: Any) -> Any:
        return newton(angles.mean(axis=0), goal.at[:2, 3].set(x), 50)[0][1]

    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(jax.grad(elbow)))(goals[:, :2, 3], jax.numpy.asarray(goals))
    J = arm.jacobian(angles, frame="world-aligned")[:, 3:5]
    np.testing.assert_allclose(found, np.linalg.inv(J)[:, 1], rtol=1e-9)
