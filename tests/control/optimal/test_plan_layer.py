"""Plans as layers of JAX and PyTorch: their gradients are those of `Plan.vjp`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from tests.control.optimal.robots import pendulum

import chasles as ch
from chasles.base.errors import ChaslesError
from chasles.control.optimal import Residual, residuals

GOALS = np.array([[0.3], [0.7]])
WEIGHTS = np.linspace(-1.0, 1.0, 8)[:, None]
MASS = {"payload.mass": 0.2}


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def swing() -> ch.OptimalControl:
    effort = Residual(lambda tau, share: share * tau, share=())
    return ch.OptimalControl(
        pendulum(),
        duration=1.0,
        nodes=8,
        running=[effort, residuals.velocity()],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits={"velocity": 2.0},
    )


def _expected(swing: ch.OptimalControl, goals: Any) -> dict[str, Any]:
    plan = swing.solve([0.0], goal=goals, share=1.1, vary=MASS)
    return plan.vjp(["goal", "share", "payload.mass"], torques=WEIGHTS, cost=0.5)


@pytest.mark.slow
def test_jax_differentiates_batches_and_maps(swing: ch.OptimalControl) -> None:
    layer = swing.to_jax(vary=["payload.mass"])

    def loss(goal: Any, share: Any, mass: Any) -> Any:
        plan = layer(np.zeros(1), goal=goal, share=share, **{"payload.mass": mass})
        return (WEIGHTS * plan.torques).sum() + 0.5 * plan.cost.sum()

    by_goal, by_share, by_mass = jax.jit(jax.grad(loss, (0, 1, 2)))(GOALS, 1.1, 0.2)
    expected = _expected(swing, GOALS)
    np.testing.assert_allclose(by_goal, expected["goal"], rtol=1e-12)
    np.testing.assert_allclose(by_share, expected["share"].sum(), rtol=1e-12)
    np.testing.assert_allclose(by_mass, expected["payload.mass"].sum(), rtol=1e-12)
    mapped = jax.vmap(jax.grad(loss, 1), (0, None, None))(GOALS, 1.1, 0.2)
    np.testing.assert_allclose(mapped, expected["share"], rtol=1e-9)


@pytest.mark.slow
def test_jax_is_told_what_is_not_optimal(swing: ch.OptimalControl) -> None:
    layer = swing.to_jax()
    assert layer([0.0], goal=[[0.3], [3.0]], share=1.0).success.tolist() == [1.0, 0.0]
    slope = jax.grad(lambda goal: layer([0.0], goal=goal, share=1.0).cost)
    assert np.isfinite(slope(np.array([0.3])))
    assert np.isnan(slope(np.array([3.0])))
    lost = jax.grad(lambda goal: (np.nan * layer([0.0], goal=goal, share=1.0).torques).sum())
    assert np.isnan(lost(np.array([0.3])))


def test_precision_is_that_of_the_arguments(swing: ch.OptimalControl) -> None:
    layer, goal = swing.to_jax(), jax.numpy.array([0.3], dtype="float32")
    start = jax.numpy.zeros(1, "float32")
    assert layer(start, start, goal=goal, share=1.0).torques.dtype == "float32"
    assert jax.grad(lambda goal: layer(start, start, goal=goal, share=1.0).cost)(goal).dtype == "float32"


def test_bad_input_is_refused(swing: ch.OptimalControl) -> None:
    layer = swing.to_jax()
    with pytest.raises(ChaslesError, match=r"goal has shape \(2,\); expected \(\.\.\., 1\)"):
        layer([0.0], goal=[0.3, 0.4], share=1.0)
    with pytest.raises(ChaslesError, match="Did you mean 'goal'"):
        layer([0.0], gaol=[0.3], share=1.0)
    with pytest.raises(TypeError, match="misses goal"):
        layer([0.0], share=1.0)
    with pytest.raises(ChaslesError, match=r"Did you mean 'payload\.mass'"):
        swing.to_jax(vary=["payload.mas"])


@pytest.mark.slow
def test_torch_differentiates_batches_and_maps(swing: ch.OptimalControl) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    layer = swing.to_torch(vary=["payload.mass"])
    goal, mass = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (GOALS, 0.2))
    plan = layer(torch.zeros(1, dtype=torch.float64), goal=goal, share=1.1, **{"payload.mass": mass})
    ((torch.tensor(WEIGHTS) * plan.torques).sum() + 0.5 * plan.cost.sum()).backward()
    expected = _expected(swing, GOALS)
    np.testing.assert_allclose(goal.grad, expected["goal"], rtol=1e-12)
    np.testing.assert_allclose(mass.grad, expected["payload.mass"].sum(), rtol=1e-12)

    def cost(goal: Any) -> Any:
        return layer(torch.zeros(1, dtype=torch.float64), goal=goal, share=1.1, **{"payload.mass": 0.2}).cost

    mapped = torch.func.vmap(torch.func.grad(cost))(torch.tensor(GOALS))
    alone = swing.solve([0.0], goal=GOALS, share=1.1, vary=MASS).vjp(["goal"], cost=1.0)["goal"]
    np.testing.assert_allclose(mapped, alone, rtol=1e-9)
    backward = torch.func.jacrev(cost)
    with pytest.raises(ChaslesError, match="has no derivative itself"):
        torch.func.jacrev(backward)(torch.tensor(GOALS[0]))
