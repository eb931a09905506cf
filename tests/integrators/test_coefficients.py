"""Coefficients of the methods: order conditions by rooted trees, stability, continuous extensions."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.integrate import RK23, RK45

from chasles.integrators import INTEGRATORS, Rosenbrock, RungeKutta

RUNGE_KUTTA = [method for method in INTEGRATORS.values() if isinstance(method, RungeKutta)]
ROSENBROCK = [method for method in INTEGRATORS.values() if isinstance(method, Rosenbrock)]
METHODS: list[Any] = [*RUNGE_KUTTA, *ROSENBROCK]
PAIRS = [method for method in METHODS if method.embedded_order is not None]
#: A rooted tree is the sorted tuple of the trees on its root.
Tree = tuple[Any, ...]


@cache
def trees(order: int) -> list[Tree]:
    """Rooted trees with so many vertices: 1, 1, 2, 4, 9, 20, …"""

    def forests(vertices: int, largest: int) -> set[Tree]:
        if vertices == 0:
            return {()}
        return {
            tuple(sorted((tree, *rest), key=repr))
            for size in range(1, min(vertices, largest) + 1)
            for tree in trees(size)
            for rest in forests(vertices - size, size)
        }

    return sorted(forests(order - 1, order - 1), key=repr)


def vertices(tree: Tree) -> int:
    return 1 + sum(map(vertices, tree))


def density(tree: Tree) -> int:
    """γ(t): the product of the sizes of all subtrees (Hairer, Nørsett and Wanner, definition II.2.10)."""
    product = vertices(tree)
    for branch in tree:
        product *= density(branch)
    return product


class Coefficients(NamedTuple):
    """αᵢⱼ, βᵢⱼ = αᵢⱼ + γᵢⱼ, weights, weights of the embedded method, and rows of the interpolant, for stages h f."""

    alpha: np.ndarray
    beta: np.ndarray
    weights: np.ndarray
    embedded: np.ndarray | None
    interpolation: np.ndarray


def lower(rows: Any) -> np.ndarray:
    matrix = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix


def coefficients(method: Any) -> Coefficients:
    """Rosenbrock methods are transformed back from u = Γ k (Hairer and Wanner, IV.7.24)."""
    if isinstance(method, RungeKutta):
        alpha = lower(method.rows)
        back, beta = np.eye(method.stages), alpha
    else:
        back = np.linalg.inv(np.eye(method.stages) / method.gamma - lower(method.couplings))
        alpha = lower(method.rows) @ back
        beta = alpha + back
    weights = np.array(method.weights) @ back
    errors = None if method.error_weights is None else np.array(method.error_weights) @ back
    return Coefficients(alpha, beta, weights, None if errors is None else weights - errors, method.interpolation @ back)


def elementary_weights(c: Coefficients, tree: Tree) -> np.ndarray:
    """Φᵢ(t): β on the way to a vertex with one branch, α to one with several (Hairer and Wanner, IV.7.15)."""
    if not tree:
        return np.ones(len(c.weights))
    if len(tree) == 1:
        return c.beta @ elementary_weights(c, tree[0])
    product = np.ones(len(c.weights))
    for branch in tree:
        product = product * (c.alpha @ elementary_weights(c, branch))
    return product


def defect(c: Coefficients, weights: np.ndarray, order: int, theta: float = 1.0) -> float:
    """Largest violation of the conditions of an order: Σ bᵢ Φᵢ(t) = θᵖ / γ(t)."""
    return max(abs(weights @ elementary_weights(c, t) - theta**order / density(t)) for t in trees(order))


def name(method: Any) -> str:
    return str(method.name)


def test_the_trees_are_all() -> None:
    assert [len(trees(n)) for n in range(1, 7)] == [1, 1, 2, 4, 9, 20]


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_the_order_conditions_hold_up_to_the_order_and_not_beyond(method: Any) -> None:
    c = coefficients(method)
    for order in range(1, method.order + 1):
        assert defect(c, c.weights, order) < 3e-14, order
    assert defect(c, c.weights, method.order + 1) > 1e-4


@pytest.mark.parametrize("method", PAIRS, ids=name)
def test_the_embedded_method_has_its_order_and_no_other(method: Any) -> None:
    c = coefficients(method)
    assert c.embedded is not None
    for order in range(1, method.embedded_order + 1):
        assert defect(c, c.embedded, order) < 3e-14, order
    assert defect(c, c.embedded, method.embedded_order + 1) > 1e-4


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_the_nodes_are_the_sums_of_the_rows(method: Any) -> None:
    c = coefficients(method)
    np.testing.assert_allclose(c.alpha.sum(axis=1), method.nodes, atol=2e-14)
    if isinstance(method, Rosenbrock):
        np.testing.assert_allclose((c.beta - c.alpha).sum(axis=1), method.slopes, atol=2e-14)


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_the_interpolant_has_the_order_that_a_solution_between_needs(method: Any) -> None:
    """One less than the method's costs nothing: what is between the steps adds its error once (H. N. W., II.6)."""
    c = coefficients(method)
    np.testing.assert_allclose(c.interpolation.sum(axis=0), c.weights, atol=3e-14)
    for theta in (0.1, 0.5, 0.8):
        powers = theta ** np.arange(1, len(c.interpolation) + 1)
        weights, rounding = powers @ c.interpolation, 1e-15 * (powers @ np.abs(c.interpolation)).sum()
        for order in range(1, max(1, method.order - 1) + 1):
            assert defect(c, weights, order, theta) < max(3e-14, rounding), (order, theta)


@pytest.mark.parametrize("method", ROSENBROCK, ids=name)
def test_rosenbrock_methods_are_l_stable(method: Rosenbrock) -> None:
    """R(z) = 1 + z bᵀ (I - z B)⁻¹ 1 vanishes at infinity, and is within the unit circle on the imaginary axis.

    Its poles, at 1/γ, are on the right: so it is on the whole left half plane (Hairer and Wanner, IV.3).
    """
    c = coefficients(method)
    stages, one = np.eye(method.stages), np.ones(method.stages)
    for weights in (c.weights, *([] if c.embedded is None else [c.embedded])):
        assert abs(1.0 - weights @ np.linalg.solve(c.beta, one)) < 1e-13
    assert method.gamma > 0.0
    np.testing.assert_allclose(np.diag(c.beta), method.gamma)
    for y in np.logspace(-3, 6, 2000):
        assert abs(1.0 + 1j * y * c.weights @ np.linalg.solve(stages - 1j * y * c.beta, one)) <= 1.0 + 1e-12


@pytest.mark.parametrize("method", [method for method in ROSENBROCK if method.order > 1], ids=name)
def test_pairs_are_stiffly_accurate(method: Rosenbrock) -> None:
    """The last row of β is the weights, and the last node 1 (Hairer and Wanner, IV.15, definition 15.1)."""
    c = coefficients(method)
    np.testing.assert_allclose(c.beta[-1], c.weights, atol=2e-14)
    assert method.nodes[-1] == 1.0


@pytest.mark.parametrize(("method", "peer"), [("bogacki-shampine", RK23), ("dormand-prince", RK45)])
def test_pairs_are_those_of_scipy(method: str, peer: Any) -> None:
    own = INTEGRATORS[method]
    assert isinstance(own, RungeKutta)
    c, stages = coefficients(own), len(peer.B)
    np.testing.assert_array_equal(c.alpha[:stages, : peer.A.shape[1]], peer.A)
    np.testing.assert_array_equal(c.weights[:stages], peer.B)
    np.testing.assert_allclose(-np.array(own.error_weights), peer.E, atol=1e-17)
    np.testing.assert_allclose(c.interpolation, peer.P.T[: len(c.interpolation)], atol=1e-15)
