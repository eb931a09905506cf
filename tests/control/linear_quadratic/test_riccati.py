"""The Riccati recursion: optimality, SciPy's algebraic solutions, machine code of every width, and abuse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg

from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import backward_riccati, discrete_riccati
from chasles.control.linear_quadratic.riccati import _recursion, joined_weights

SIZES = [(1, 1), (2, 1), (4, 2), (3, 5), (14, 7), (21, 7), (9, 8), (17, 3)]


class Problem(NamedTuple):
    A: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    terminal: np.ndarray
    N: np.ndarray


def definite(rng: np.random.Generator, size: int) -> np.ndarray:
    root = rng.normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


def problem(n: int, m: int, steps: int, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    joined = definite(rng, n + m)
    A = np.eye(n) + 0.3 * rng.normal(size=(steps, n, n))
    terminal = definite(rng, n)
    return Problem(A, rng.normal(size=(steps, n, m)), joined[m:, m:], joined[:m, :m], terminal, joined[m:, :m])


def cost(p: Problem, x: np.ndarray, u: np.ndarray) -> float:
    """What inputs u (S, m) from x on cost, step by step."""
    total = 0.0
    for A, B, u_k in zip(p.A, p.B, u, strict=True):
        total += x @ p.Q @ x + 2.0 * x @ p.N @ u_k + u_k @ p.R @ u_k
        x = A @ x + B @ u_k
    return float(total + x @ p.terminal @ x)


def plain_recursion(p: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Gains and costs-to-go step by step, as books have them."""
    P, gains, costs = p.terminal, [], [p.terminal]
    for A, B in zip(p.A[::-1], p.B[::-1], strict=True):
        K = np.linalg.solve(p.R + B.T @ P @ B, B.T @ P @ A + p.N.T)
        P = p.Q + A.T @ P @ A - (A.T @ P @ B + p.N) @ K
        gains.append(K)
        costs.append(P)
    return np.array(gains[::-1]), np.array(costs[::-1])


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_cost_to_go_is_what_the_regulator_costs_and_no_input_costs_less(n: int, m: int) -> None:
    p = problem(n, m, 12)
    K, P = backward_riccati(p.A, p.B, p.Q, p.R, p.terminal, N=p.N)
    rng = np.random.default_rng(1)
    start = rng.normal(size=n)
    x, inputs = start, []
    for A, B, gain in zip(p.A, p.B, K, strict=True):
        inputs.append(-gain @ x)
        x = A @ x + B @ inputs[-1]
    u = np.array(inputs)
    least = cost(p, start, u)
    assert least == pytest.approx(start @ P @ start, rel=1e-10)
    for _ in range(5):
        assert cost(p, start, u + 0.1 * rng.normal(size=u.shape)) > least


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_the_gains_solve_the_whole_least_squares_problem(n: int, m: int) -> None:
    """All inputs at once from the normal equations of the stacked problem: no recursion in the oracle."""
    p, steps = problem(n, m, 4, seed=3), 4
    K = backward_riccati(p.A, p.B, p.Q, p.R, p.terminal, N=p.N).K
    # Every x[k] and u[k] as linear functions of (x[0], u[0], …, u[S-1]).
    size = n + steps * m
    x = np.eye(n, size)
    H = np.zeros((size, size))
    for k in range(steps):
        u = np.eye(m, size, n + k * m)
        H += x.T @ p.Q @ x + x.T @ p.N @ u + u.T @ p.N.T @ x + u.T @ p.R @ u
        x = p.A[k] @ x + p.B[k] @ u
    H += x.T @ p.terminal @ x
    first = np.linalg.solve(H[n:, n:], H[n:, :n])[:m]
    np.testing.assert_allclose(K[0], first, rtol=0.0, atol=1e-9 * np.abs(first).max())


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_machine_code_and_numpy_agree(n: int, m: int) -> None:
    p = problem(n, m, 30, seed=5)
    K, P = plain_recursion(p)
    ours = backward_riccati(p.A, p.B, p.Q, p.R, p.terminal, N=p.N, every_cost=True)
    np.testing.assert_allclose(ours.K, K, rtol=0.0, atol=1e-11 * np.abs(K).max())
    np.testing.assert_allclose(ours.P, P, rtol=0.0, atol=1e-11 * np.abs(P).max())
    np.testing.assert_array_equal(ours.P, np.swapaxes(ours.P, -1, -2))
    np.testing.assert_array_equal(ours.P[-1], p.terminal)
    first = backward_riccati(p.A, p.B, p.Q, p.R, p.terminal, N=p.N)
    np.testing.assert_array_equal(first.P, ours.P[0])
    np.testing.assert_array_equal(first.K, ours.K)


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize(("n", "m"), [(3, 2), (14, 7), (30, 9), (36, 18)])
def test_machine_code_of_every_vector_width(monkeypatch: pytest.MonkeyPatch, lanes: int, n: int, m: int) -> None:
    machine = pytest.importorskip("chasles.engine.targets.native.machine")
    monkeypatch.setattr(machine, "lanes", lambda dtype: lanes)
    p = problem(n, m, 7, seed=7)
    weights = np.broadcast_to(joined_weights(p.Q, p.R, p.N, n, m), (7, n + m, n + m))
    K, P = plain_recursion(p)
    result = _recursion.__wrapped__(n, m, False)(p.A, p.B, weights, p.terminal)
    for ours, plain in zip(result, (K, P[0]), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=0.0, atol=1e-11 * np.abs(plain).max())


def test_without_a_compiler_numpy_steps_in(monkeypatch: pytest.MonkeyPatch) -> None:
    p = problem(4, 2, 10)
    ours = backward_riccati(p.A, p.B, p.Q, p.R, p.terminal)
    monkeypatch.setenv("CHASLES_JIT", "0")
    plain = backward_riccati(p.A, p.B, p.Q, p.R, p.terminal)
    np.testing.assert_allclose(ours.K, plain.K, rtol=0.0, atol=1e-12)
    with pytest.raises(ArgumentError, match="not positive definite at step 9"):
        backward_riccati(p.A, p.B, p.Q, np.broadcast_to(-1e6 * np.eye(2), (10, 2, 2)), p.terminal)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_batches_are_computed_sample_by_sample(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    A, B = np.eye(4) + 0.2 * rng.normal(size=(*shape, 6, 4, 4)), rng.normal(size=(*shape, 6, 4, 2))
    Q, R = np.array([definite(rng, 4) for _ in range(6)]), np.array([definite(rng, 2) for _ in range(6)])
    K, P = backward_riccati(A, B, Q, R, 2.0, every_cost=True)
    assert K.shape == (*shape, 6, 2, 4)
    assert P.shape == (*shape, 7, 4, 4)
    for place in np.ndindex(shape):
        single = backward_riccati(A[place], B[place], Q, R, 2.0 * np.eye(4), every_cost=True)
        np.testing.assert_array_equal(K[place], single.K)
        np.testing.assert_array_equal(P[place], single.P)


def test_arrays_may_lie_in_memory_in_any_way() -> None:
    p = problem(6, 3, 8)
    expected = backward_riccati(p.A, p.B, p.Q, p.R, p.terminal).K
    A, B = np.asfortranarray(p.A), np.repeat(p.B, 2, axis=-1)[..., ::2]
    np.testing.assert_array_equal(backward_riccati(A, B, p.Q.T, p.R, p.terminal).K, expected)
    reverse = backward_riccati(p.A[::-1][::-1].tolist(), p.B, p.Q, p.R, p.terminal)
    np.testing.assert_array_equal(reverse.K, expected)


def test_the_limit_is_scipys_algebraic_solution() -> None:
    p = problem(6, 2, 1, seed=4)
    A, B = np.broadcast_to(p.A[0], (400, 6, 6)), np.broadcast_to(p.B[0], (400, 6, 2))
    expected = scipy.linalg.solve_discrete_are(p.A[0], p.B[0], p.Q, p.R, s=p.N)
    K, P = backward_riccati(A, B, p.Q, p.R, p.terminal, N=p.N)
    np.testing.assert_allclose(P, expected, rtol=0.0, atol=1e-10 * np.abs(expected).max())
    stationary = discrete_riccati(p.A[0], p.B[0], p.Q, p.R, N=p.N)
    np.testing.assert_allclose(K[0], stationary.K, rtol=0.0, atol=1e-10 * np.abs(stationary.K).max())


def test_nan_gives_nan_in_its_sample_alone() -> None:
    rng = np.random.default_rng(0)
    A, B = np.broadcast_to(np.eye(3), (2, 5, 3, 3)).copy(), rng.normal(size=(2, 5, 3, 2))
    A[1, 2, 0, 0] = np.nan
    K, P = backward_riccati(A, B, 1.0, 1.0, 1.0)
    assert np.isfinite(K[0]).all()
    assert np.isfinite(P[0]).all()
    assert np.isfinite(K[1, 3:]).all()  # later in time, so computed before
    assert np.isnan(K[1, 0]).any()
    assert np.isnan(P[1]).any()


def test_a_horizon_without_steps_is_its_end() -> None:
    K, P = backward_riccati(np.zeros((0, 3, 3)), np.zeros((0, 3, 2)), 1.0, 1.0, 5.0)
    assert K.shape == (0, 2, 3)
    np.testing.assert_array_equal(P, 5.0 * np.eye(3))


def test_indefinite_weights_of_inputs_are_found_with_their_step() -> None:
    p = problem(3, 2, 10)
    R = np.broadcast_to(p.R, (10, 2, 2)).copy()
    R[6] -= 1e3 * np.eye(2)
    with pytest.raises(ArgumentError, match="R \\+ BᵀPB is not positive definite at step 6"):
        backward_riccati(p.A, p.B, p.Q, R, p.terminal)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": np.ones((10, 3, 2))}, "A must have shape"),
        ({"A": np.eye(3)}, r"A and B must have shapes \(..., S, n, n\)"),
        ({"B": np.ones((9, 3, 2))}, r"A and B must have shapes \(..., S, n, n\)"),
        ({"Q": np.eye(2)}, "Q must be a number"),
        ({"Q": np.ones((7, 3, 3))}, "weights are given for 7 steps, but A and B for 10"),
        ({"Q": np.ones((10, 4, 4))}, r"Q must have shape \(..., 3, 3\)"),
        ({"Q": np.broadcast_to(np.triu(np.ones((3, 3))), (10, 3, 3))}, "Q must be symmetric"),
        ({"R": -1.0}, "R must be positive definite"),
        ({"Q": np.ones((10, 3, 3)), "R": np.broadcast_to(np.eye(2), (9, 2, 2))}, "of Q, R and N do not broadcast"),
        ({"N": np.ones((2, 3))}, r"N must have shape \(..., 3, 2\)"),
        ({"terminal": [1.0, 1.0, -1.0]}, "terminal must be positive semidefinite"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, np.ndarray], message: str) -> None:
    given = problem(3, 2, 10)._asdict() | change
    with pytest.raises(ArgumentError, match=message):
        backward_riccati(**given)
