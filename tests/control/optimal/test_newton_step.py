"""The backward pass and the elastic rows against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from chasles.control.optimal.backward_pass import Chain
from chasles.control.optimal.curvature import add_curvature
from chasles.control.optimal.elastic import Elastic, Kinds, central
from chasles.control.optimal.errors import Errors, judge, lower_barrier
from chasles.control.optimal.filter import shares
from chasles.control.optimal.saddle import descent_both_ways


def drawn_chain(seed: int, N: int, s: int, m: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(N + 1, m + s, m + s))
    H = np.swapaxes(roots, -1, -2) @ roots + 0.1 * np.eye(m + s)
    H[-1, :m], H[-1, :, :m] = 0.0, 0.0
    g = rng.normal(size=(N + 1, m + s))
    g[-1, :m] = 0.0
    return rng.normal(size=(N, s, s)), rng.normal(size=(N, s, m)), rng.normal(size=(N, s)), H, g


def dense_solution(
    A: np.ndarray, B: np.ndarray, d: np.ndarray, H: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve the optimality conditions as one linear system in (u_0, x_1, u_1, …, x_N) and the multipliers."""
    N, s, m = B.shape
    size = N * (m + s)
    u = [k * (m + s) + np.arange(m) for k in range(N)]
    x = [None, *(k * (m + s) + m + np.arange(s) for k in range(N))]
    Q, q, C, c = np.zeros((size, size)), np.zeros(size), np.zeros((N * s, size)), np.zeros(N * s)
    for k in range(N + 1):
        parts = ([(u[k], slice(0, m))] if k < N else []) + ([(x[k], slice(m, m + s))] if k else [])
        for i, a in parts:
            q[i] += g[k, a]
            for j, b in parts:
                Q[np.ix_(i, j)] += H[k, a, b]
    for k in range(N):
        rows = k * s + np.arange(s)
        C[np.ix_(rows, u[k])] = B[k]
        if k:
            C[np.ix_(rows, x[k])] = A[k]
        C[np.ix_(rows, x[k + 1])] = -np.eye(s)
        c[rows] = -d[k]
    solution = np.linalg.solve(np.block([[Q, C.T], [C, np.zeros((N * s, N * s))]]), np.concatenate([-q, c]))
    return solution[:size].reshape(N, m + s), solution[size:].reshape(N, s)


def joined(
    A: np.ndarray, B: np.ndarray, d: np.ndarray, H: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chain with one more state that is 1; of the weights of steps the upper triangles."""
    N, s, m = B.shape
    W = np.zeros((N + 1, m + s + 1, m + s + 1))
    W[:, :-1, :-1], W[:, :-1, -1], W[:, -1, :-1] = H, g, g
    return np.concatenate([B, A, d[..., None]], axis=2), np.triu(W[:-1]), W[-1, m:, m:]


def solved(
    transition: np.ndarray, weights: np.ndarray, terminal: np.ndarray, *, chosen: np.ndarray | None = None
) -> Chain:
    N, s, size = transition.shape
    chain = Chain(N, s, size - s - 1, chosen=chosen)
    chain.model["transition"][...], chain.weights[...], chain.terminal[...] = transition, weights, terminal
    chain.solve()
    return chain


def assert_solves(chain: Chain, drawn: tuple[np.ndarray, ...]) -> None:
    N, _, m = drawn[1].shape
    assert chain.has_minimum
    expected, multipliers = dense_solution(*drawn)
    computed = np.concatenate([chain.dW[:-1, :m], chain.dW[1:, m:]], axis=1)
    np.testing.assert_allclose(computed, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(chain.costates[1:], multipliers, atol=1e-9 * np.abs(multipliers).max())
    x = np.concatenate([chain.dW[:-1, m:], np.ones((N, 1))], axis=1)
    torques = -(chain.K @ x[..., None])[..., 0]
    np.testing.assert_allclose(torques, chain.dW[:-1, :m], atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(("N", "s", "m"), [(1, 1, 1), (5, 3, 2), (7, 4, 1), (3, 9, 5), (2, 8, 8)])
def test_the_backward_pass_solves_the_optimality_conditions(
    N: int, s: int, m: int, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plain:
        monkeypatch.setenv("CHASLES_JIT", "0")
    for seed in (11, 12):
        drawn = drawn_chain(seed, N, s, m)
        assert_solves(solved(*joined(*drawn)), drawn)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    ("N", "n", "m", "drift"), [(1, 1, 1, (0.0, 0.1)), (5, 3, 2, (0.2, 0.3)), (4, 7, 7, (0.5, 0.5))]
)
def test_positions_that_follow_from_velocities_have_no_rows(
    N: int, n: int, m: int, drift: tuple[float, float], plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plain:
        monkeypatch.setenv("CHASLES_JIT", "0")
    A, B, d, H, g = drawn_chain(31, N, 2 * n, m)
    gap = np.random.default_rng(5).normal(size=(N, n))
    p, v, (h1, h2) = slice(n), slice(n, 2 * n), drift
    A[:, p] = np.concatenate([np.eye(n), h1 * np.eye(n)], axis=1) + h2 * A[:, v]
    B[:, p], d[:, p] = h2 * B[:, v], gap + h2 * d[:, v]
    transition, weights, terminal = joined(A, B, d, H, g)
    chain = Chain(N, 2 * n, m, drift=drift)
    chain.model["transition"][...], chain.model["gap"][...] = transition[:, v], gap[..., None]
    chain.weights[...], chain.terminal[...] = weights, terminal
    chain.solve()
    assert_solves(chain, (A, B, d, H, g))
    np.testing.assert_allclose(chain.transitions(), transition, atol=1e-12)


@pytest.mark.parametrize(("N", "s", "m", "count"), [(1, 1, 1, 1), (5, 3, 2, 1), (7, 4, 1, 3), (4, 5, 2, 5)])
def test_directions_of_the_first_state_may_be_free(N: int, s: int, m: int, count: int) -> None:
    """Torques and what is free are the least squares of the cost over all motions; without curvature there is none."""
    A, B, d, H, g = drawn_chain(21, N, s, m)
    chosen = np.random.default_rng(22).normal(size=(s, count))

    def motion(free: np.ndarray) -> np.ndarray:
        x, w = chosen @ free[N * m :], np.zeros((N + 1, m + s))
        for k in range(N):
            w[k] = np.concatenate([free[k * m : (k + 1) * m], x])
            x = A[k] @ x + B[k] @ w[k, :m] + d[k]
        w[N, m:] = x
        return w

    begin = motion(np.zeros(N * m + count))
    moves = np.array([motion(unit) - begin for unit in np.eye(N * m + count)])
    stays = 1e-6 * np.diag(np.arange(N * m + count) >= N * m)  # the weight by which a free start stays
    hessian = np.einsum("ika,kab,jkb->ij", moves, H, moves) + stays
    expected = np.linalg.solve(hessian, -np.einsum("ika,ka->i", moves, np.einsum("kab,kb->ka", H, begin) + g))
    convex = joined(A, B, d, H.copy(), g)
    direction = chosen[:, 0] / (chosen[:, 0] @ chosen[:, 0])
    H[0, m:, m:] -= 2.0 * hessian[N * m, N * m] * np.outer(direction, direction)
    chain = solved(*convex, chosen=chosen)
    computed = np.append(chain.dW[:-1, :m], chain.dW[0, m:])
    expected = np.append(expected[: N * m], chosen @ expected[N * m :])
    np.testing.assert_allclose(computed, expected, atol=1e-9 * np.abs(expected).max())
    scale = np.abs(chain.costates).max() + np.abs(computed).max()
    np.testing.assert_allclose(chosen.T @ chain.costates[0], 0.0, atol=1e-5 * scale)
    curved = joined(A, B, d, H, g)
    assert [solved(*each).has_minimum for each in (convex, curved)] == [True, True]
    assert not solved(*curved, chosen=chosen).has_minimum


def test_negative_curvature_is_no_minimum() -> None:
    A, B, d, H, g = drawn_chain(3, 6, 4, 2)
    assert solved(*joined(A, B, d, H, g)).has_minimum
    H[2, :2, :2] -= 1e4 * np.eye(2)
    assert not solved(*joined(A, B, d, H, g)).has_minimum


def test_where_there_is_no_minimum_the_cost_goes_down_both_ways() -> None:
    """The motion obeys the steps from a start that is given, and its curvature is negative."""
    A, B, d, H, g = drawn_chain(3, 6, 4, 2)
    assert descent_both_ways(solved(*joined(A, B, d, H, g))) is None
    for k, element in ((2, 0), (4, 3), (6, 5)):  # a torque, a state, and a state at the end
        curved = H.copy()
        curved[k, element, element] -= 1e3
        moves = descent_both_ways(solved(*joined(A, B, d, curved, g)))
        assert moves is not None
        assert np.einsum("ka,kab,kb->", moves, curved, moves) < 0.0
        x, u = moves[:, 2:], moves[:-1, :2]
        np.testing.assert_allclose(x[0], 0.0)
        np.testing.assert_allclose(x[1:], np.einsum("kab,kb->ka", A, x[:-1]) + np.einsum("kab,kb->ka", B, u), atol=1e-9)


def test_the_central_path_satisfies_its_equations() -> None:
    r = np.concatenate([-np.logspace(-8, 3, 12), [0.0], np.logspace(-8, 3, 12)])
    for mu in (1e-9, 1e-4, 0.1):
        for price in (100.0, 1e5):
            a, b, z = central(r, mu, price, np.zeros(25, dtype=bool))
            np.testing.assert_allclose(a - b, r, rtol=1e-12, atol=1e-12)
            rounding = 2.0 * np.finfo(float).eps * price  # of z
            assert (np.abs(a * z - mu) <= rounding * a + 1e-12 * mu).all()
            assert (np.abs(b * (price - z) - mu) <= rounding * b + 1e-12 * mu).all()


def test_eliminated_rows_give_newtons_step() -> None:
    """D and e against Newton's method on the equations of the rows, all unknowns kept."""
    rng = np.random.default_rng(2)
    ends, rigid = np.array([False, False, True, True]), np.array([True, False, False, False])
    price, mu = 50.0, 0.2
    z = np.where(ends, rng.uniform(-40.0, 40.0, 4), rng.uniform(1.0, 40.0, 4))
    a, b = rng.uniform(0.1, 1.0, (2, 4))
    r, r_slope = rng.normal(size=4), rng.normal(size=4)  # rows change by r_slope
    b[rigid] = 0.0
    rows = Elastic(a, b, z, Kinds(ends, rigid), price)
    dz = rows.stiffness() * (rows.pull(r, mu) - r_slope)
    da, db = rows.step(dz, mu)
    p = np.where(ends, price, 0.0)
    proximal = 1e-8  # of D
    np.testing.assert_allclose(r + r_slope - (a + da) + (b + db) + proximal * dz, 0.0, atol=1e-12)
    np.testing.assert_allclose(a * (z + p) + da * (z + p) + a * dz, mu, rtol=1e-12)
    np.testing.assert_allclose((b * (price - z) + db * (price - z) - b * dz)[1:], mu, rtol=1e-12)
    assert db[0] == 0.0


def test_the_last_barrier_is_the_last_though_the_cost_changes_by_rounding() -> None:
    """What the barriers may add is a share of the cost, and the motion converges when they add less."""
    totals, sizes = np.zeros(Errors.SUMS + Errors.LARGEST), np.array([100.0, 40.0])
    totals[Errors.SUMS + 4] = -1e-12  # least product of a slack and its multiplier, negative
    for cost in (1.0, 0.3, 17.0):
        totals[4] = cost
        mu = float(lower_barrier(totals, sizes, 1e-9, 0.0)[0])
        totals[4] = cost * (1.0 - 1e-14)
        ends, *_ = judge(totals, sizes, mu, 100.0, 0.0, 10.0)
        assert ends == 1.0
        assert 80.0 * mu <= 1e-8 * cost
    assert lower_barrier(totals, sizes, 1e-3, 1e-4)[0] == 1e-4  # where it stays


def test_shifts_grow_until_there_is_a_minimum_and_begin_at_a_third_of_the_one_that_helped() -> None:
    """Wächter and Biegler, section 3.1: 1e-4, then 100 times as much; later a third, then 8 times as much."""
    shift, before, failures, sweeps = (np.zeros(()) for _ in range(4))
    shifts = []
    for gain in (np.nan, np.nan, 1.0, np.nan, np.nan, np.nan, 1.0):
        repeats, falls_back, asks, gives_up, added, following, before, failures, sweeps = add_curvature(
            gain, shift, before, failures, sweeps, 0.0
        )
        assert (repeats, falls_back, asks, gives_up) == (float(np.isnan(gain)), 0.0, 0.0, 0.0)
        assert not np.isnan(gain) or float(added) == pytest.approx(float(following) - float(shift))
        shift = following
        shifts.append(float(shift))
    np.testing.assert_allclose(shifts, [1e-4, 1e-2, 0.0, 1e-2 / 3, 8e-2 / 3, 64e-2 / 3, 0.0])
    assert (float(before), float(failures), float(sweeps)) == (pytest.approx(64e-2 / 3), 0.0, 5.0)
    for may_fall_back, flags in ((1.0, [0.0, 0.0, 1.0, 0.0]), (2.0, [0.0, 1.0, 0.0, 0.0])):
        asked = add_curvature(np.nan, 1e-2, 0.0, 2.0, 2.0, may_fall_back)
        assert [float(each) for each in asked[:4]] == flags


def test_a_step_turns_no_joint_further_than_a_bound_that_grows() -> None:
    """Slope, shares of the way to bounds, a rotation of 2 rad; without a bound the shares are those of the rows."""
    progress = np.array([-1.0, 1.1, 0.5, 2.0])
    share, of_multipliers, _, turn = (float(each) for each in shares(progress, 0.1, 0.5))
    assert (share, of_multipliers, turn) == (0.25, 1.0, 0.625)
    assert [float(each) for each in shares(progress, 0.1, np.inf)] == [pytest.approx(0.9), 1.0, 0.0, np.inf]
