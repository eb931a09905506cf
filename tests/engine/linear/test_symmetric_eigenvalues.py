"""Eigenvalues in programs against NumPy's, and their derivatives against perturbation theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace

ROUNDING = 40 * np.finfo(float).eps  # of a few sweeps, relative to the norm


def compiled(n: int) -> Function:
    return Function(trace(np.linalg.eigh, {"a": (n, n)}, outputs=["values", "vectors"]))


def matrices(n: int, count: int) -> dict[str, Any]:
    """Symmetric matrices of kinds that are hard in different ways, by their eigenvalues (count, n)."""
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(count, n, n)))[0]
    kinds = {
        "any": rng.normal(size=(count, n)),
        "graded": 10.0 ** -rng.uniform(0.0, 14.0, size=(count, n)),
        "nearly equal": 1.0 + 10.0 ** -rng.uniform(2.0, 16.0, size=(count, n)),
        "of rank 1": np.eye(n)[0] * rng.normal(size=(count, 1)),
        "large": 1e150 * rng.normal(size=(count, n)),
        "small": 1e-160 * rng.normal(size=(count, n)),
    }
    return {kind: (Q * values[:, None]) @ Q.swapaxes(-1, -2) for kind, values in kinds.items()}


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_values_are_those_of_numpy_and_vectors_an_orthonormal_basis(n: int) -> None:
    function = compiled(n)
    for kind, A in matrices(n, 300).items():
        A = 0.5 * (A + A.swapaxes(-1, -2))
        values, vectors = function(A)
        size = np.abs(A).max(axis=(-2, -1))[:, None]
        assert (np.abs(values - np.linalg.eigvalsh(A)) <= ROUNDING * size).all(), kind
        identity = vectors.swapaxes(-1, -2) @ vectors
        np.testing.assert_allclose(identity, np.broadcast_to(np.eye(n), A.shape), rtol=0.0, atol=ROUNDING)
        residual = np.abs(A @ vectors - vectors * values[:, None])
        assert (residual <= ROUNDING * size[..., None]).all(), kind


@pytest.mark.parametrize(
    "A", [np.zeros((3, 3)), np.eye(3), np.diag([3.0, 1.0, 2.0]), np.ones((3, 3)), np.diag([1.0, 1.0, 1.0]) + 1e-300]
)
def test_equal_eigenvalues_and_zeros(A: Any) -> None:
    values, vectors = compiled(3)(A)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(A @ vectors, vectors * values, rtol=0.0, atol=1e-15)


def test_only_the_lower_triangle_is_read() -> None:
    A = np.array([[2.0, 9.0, 9.0], [1.0, 3.0, 9.0], [0.5, -1.0, 4.0]])
    np.testing.assert_allclose(compiled(3)(A)[0], np.linalg.eigvalsh(A), rtol=1e-14)


@pytest.mark.parametrize(
    "A", [np.diag([1.0, 2.0, 5.0]), np.array([[2.0, 1.0, 0.3], [1.0, 3.0, -1.0], [0.3, -1.0, 0.0]])]
)
def test_derivatives_are_those_of_perturbation_theory(A: Any) -> None:
    function = compiled(3)
    values, vectors = function(A)
    rng = np.random.default_rng(0)
    B = rng.normal(size=(3, 3))
    B = B + B.T
    *_, changes, turns = function.jvp("a")(A, B)
    coupling = vectors.T @ B @ vectors
    np.testing.assert_allclose(changes, np.diag(coupling), atol=1e-13)
    gaps = values[None, :] - values[:, None] + np.eye(3)
    np.testing.assert_allclose(turns, vectors @ (coupling / gaps * (1.0 - np.eye(3))), atol=1e-13)


def test_what_a_trace_does_not_take_is_refused() -> None:
    for shape, message in (((5, 5), "up to 4 rows, not 5"), ((2, 3), r"one matrix \(n, n\), not \(2, 3\)")):
        with pytest.raises(ArgumentError, match=message):
            trace(np.linalg.eigvalsh, {"a": shape})
