"""Parameters with given base parameters: dynamically equivalent, near, and, if wanted, those of possible bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from chasles import algorithms as alg
from chasles.algorithms import Grouping
from chasles.base.errors import ModelError
from chasles.geometry import (
    inertial_parameters_from_pseudo_inertia,
    is_physically_consistent,
    log_cholesky_from_pseudo_inertia,
    pseudo_inertia,
    pseudo_inertia_from_inertial_parameters,
    pseudo_inertia_from_log_cholesky,
)
from chasles.model import build_tree, inertial_parameters, load
from chasles.model.tree import Tree

ARMS = ("puma560", "scara", "panda", "ur5")


def parts(name: str) -> tuple[Tree, Grouping, Any]:
    tree = build_tree(load(name))
    return tree, alg.regroup(tree), inertial_parameters(tree)


def bodies(parameters: Any) -> Any:
    return pseudo_inertia_from_inertial_parameters(parameters[: 10 * (len(parameters) // 13)].reshape(-1, 10))


@pytest.mark.parametrize("name", ARMS)
def test_the_least_change(name: str) -> None:
    tree, grouping, pi = parts(name)
    base = grouping.matrix @ pi
    assert np.array_equal(alg.equivalent_parameters(pi, len(tree.bodies), grouping, base), pi)
    wanted = base + 0.1 * np.random.default_rng(0).normal(size=base.shape)
    found = alg.equivalent_parameters(pi, len(tree.bodies), grouping, wanted)
    assert np.abs(grouping.matrix @ found - wanted).max() < 1e-13
    masses = [10 * i for i in range(len(tree.bodies)) if 10 * i not in grouping.independent]
    assert np.array_equal(found[masses], pi[masses])
    # a smaller change would leave a part of it in the null space of what may change
    others = [k for k in range(len(pi)) if found[k] != pi[k]]
    change = (found - pi)[others]
    row_space = np.linalg.pinv(grouping.matrix[:, others]) @ grouping.matrix[:, others]
    assert np.abs(row_space @ change - change).max() < 1e-12


def test_massless_bodies_are_given_mass_where_they_need_it() -> None:
    tree, grouping, pi = parts("puma560")
    base = grouping.matrix @ pi
    found = alg.equivalent_parameters(np.zeros_like(pi), len(tree.bodies), grouping, base)
    assert np.abs(grouping.matrix @ found - base).max() < 1e-12
    inertial = found[: 10 * len(tree.bodies)].reshape(-1, 10)
    assert (inertial[:, 0] >= 0.0).all()
    assert not inertial[inertial[:, 0] == 0.0, 1:4].any()


@pytest.mark.parametrize("name", ARMS)
def test_possible_bodies(name: str) -> None:
    _, grouping, pi = parts(name)
    base = grouping.matrix @ pi
    wanted = base * (1.0 + 1e-3 * np.random.default_rng(0).uniform(-1.0, 1.0, base.shape))
    found = alg.consistent_parameters(pi, len(pi) // 13, grouping, wanted)
    assert np.abs(grouping.matrix @ found - wanted).max() < 1e-9 * np.abs(wanted).max()
    assert is_physically_consistent(bodies(found), 0.0).all()


def test_bodies_that_satisfy_already_stay() -> None:
    _, grouping, pi = parts("scara")
    found = alg.consistent_parameters(pi, len(pi) // 13, grouping, grouping.matrix @ pi)
    assert found == pytest.approx(pi, abs=1e-9)


def divergence(J: Any, reference: Any) -> float:
    ratio = np.linalg.solve(reference, J)
    return float(np.trace(ratio) - np.linalg.slogdet(ratio)[1])


@pytest.mark.parametrize("spread", [0.0, 20.0])
def test_the_least_divergence(spread: float) -> None:
    """The same minimum as a general optimiser finds in log-Cholesky parameters of one body."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(20, 3)) * [0.1, 0.2, 0.3]
    reference = pseudo_inertia(
        2.0, points.mean(0), 2.0 / 20 * np.sum([p @ p * np.eye(3) - np.outer(p, p) for p in points], 0)
    )
    pi = np.concatenate([inertial_parameters_from_pseudo_inertia(reference), np.zeros(3)])
    independent = (1, 2, 9)
    grouping = Grouping(independent, np.eye(13)[list(independent)])
    base = pi[list(independent)] * [1.5, -0.5, 1.2] + [0.05, 0.1, 0.0]
    covariance = np.diag([spread, 2 * spread, spread]) if spread else None
    found = alg.consistent_parameters(pi, len(pi) // 13, grouping, base, covariance)[:10]

    def cost(theta: Any) -> float:
        J = pseudo_inertia_from_log_cholesky(theta)
        excess = inertial_parameters_from_pseudo_inertia(J)[list(independent)] - base
        value = divergence(J, reference)
        return value + (0.5e3 * excess @ np.linalg.solve(covariance, excess) if spread else 0.0)

    def excess(theta: Any) -> Any:
        return (
            inertial_parameters_from_pseudo_inertia(pseudo_inertia_from_log_cholesky(theta))[list(independent)] - base
        )

    constraints = () if spread else {"type": "eq", "fun": excess}
    best = minimize(
        cost, log_cholesky_from_pseudo_inertia(reference), constraints=constraints, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert best.success
    ours = cost(log_cholesky_from_pseudo_inertia(pseudo_inertia_from_inertial_parameters(found)))
    assert ours <= best.fun + 1e-7
    assert found == pytest.approx(
        inertial_parameters_from_pseudo_inertia(pseudo_inertia_from_log_cholesky(best.x)), abs=2e-4
    )


def test_impossible_base_parameters() -> None:
    _, grouping, pi = parts("planar2r")
    base = grouping.matrix @ pi
    wanted = base.copy()
    wanted[5] = -1.0  # the moment of inertia of link2
    with pytest.raises(ModelError, match="no physically consistent bodies"):
        alg.consistent_parameters(pi, len(pi) // 13, grouping, wanted)
    found = alg.consistent_parameters(pi, len(pi) // 13, grouping, wanted, 0.01 * np.eye(len(base)))
    assert is_physically_consistent(bodies(found), 0.0).all()


def test_friction_and_armature_stay_positive_where_noise_says_otherwise() -> None:
    tree, grouping, pi = parts("panda")
    base = grouping.matrix @ pi
    count = 10 * len(tree.bodies)
    deviations = np.where(np.array(grouping.independent) >= count, -0.01, 0.0)
    found = alg.consistent_parameters(pi, len(pi) // 13, grouping, base + deviations, np.diag(np.full(len(base), 1e-4)))
    of_joints = found[count:].reshape(-1, 3)
    assert (of_joints >= 0.0).all()
    assert of_joints[:, :2].max() < 2e-3
    assert is_physically_consistent(bodies(found), 0.0).all()


def test_an_armature_yields_where_the_body_cannot() -> None:
    """Less than the armature about the axis of the first joint: it must have been too large."""
    _, grouping, pi = parts("puma560")
    base = grouping.matrix @ pi
    armature = pi[62]
    assert grouping.independent[0] == 7  # link1.Iyy, about the axis of the first joint
    wanted = base.copy()
    wanted[0] -= 0.5 * armature
    found = alg.consistent_parameters(pi, len(pi) // 13, grouping, wanted)
    assert 0.0 < found[62] < armature
    assert np.abs(grouping.matrix @ found - wanted).max() < 1e-8
