"""Linear systems: solve, minvers, pseudo_inv, linear and the steps of elimination."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import chasles
from chasles.base.errors import ArgumentError
from chasles.interop.spacelib.elimination import elimin, normalr, rmax, swabc, swabr
from chasles.interop.spacelib.linear_systems import (
    LinearSystem,
    linear,
    minvers,
    pseudo_inv,
    reduced_step_by_step,
    solve,
)

Array = np.ndarray[Any, Any]
EPS = float(np.finfo(float).eps)

# Table 4.2 of the manual and, as figure 4.3 shows it, what `linear` makes of it.
MANUAL = np.array([[1, 1, 1, 2, 1, 6], [0, 1, 1, 2, 1, 5], [0, 0, 2, 2, 1, 3], [0, 0, 2, 2, 1, 3]], dtype=float)
FIGURE = np.array([[1, 0, 0, 1, 0.5, 3.5], [0, 1, 0, 0, 0, 1], [0, 0, 1, -1, 0, -2], [0, 0, 0, 0, 0, 0]])


def reduced_by_hand(A: Array, b: Array) -> tuple[list[list[Fraction]], list[int], Fraction]:
    """Gauss–Jordan elimination with exact fractions: pivot is the largest element that is left, first row by row."""
    rows = [[Fraction(float(x)) for x in [*left, *right]] for left, right in zip(A, b, strict=True)]
    m, n = A.shape
    order = list(range(n))
    size = Fraction(0)
    for k in range(min(m, n)):
        size, i, j = max((abs(rows[i][j]), -i, -j) for i in range(k, m) for j in range(k, n))
        i, j = -i, -j
        if size == 0:
            break
        rows[k], rows[i] = rows[i], rows[k]
        order[k], order[j] = order[j], order[k]
        for row in rows:
            row[k], row[j] = row[j], row[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(m):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return rows, order, size


def solution(system: LinearSystem, n: int, free: Array) -> Array:
    """Return the solution with the given values of the free unknowns, as section 4.3.2 of the manual forms it."""
    x = np.empty(n)
    r = system.irank
    x[system.ivet[r:]] = free
    x[system.ivet[:r]] = system.H[:r, n] - system.H[:r, r:n] @ free
    return x


def assert_form(system: LinearSystem, m: int, n: int) -> None:
    """Check that a reduced matrix has the form of figure 4.2."""
    A, r = system.H[:m, :n], system.irank
    assert sorted(system.ivet) == list(range(n))
    np.testing.assert_array_equal(A[:r, :r], np.eye(r))
    np.testing.assert_array_equal(A[r:], 0.0)


class TestLinear:
    def test_figure_4_3(self) -> None:
        system = linear(MANUAL, 4, 6, 4, 5, 1, [-1])
        np.testing.assert_array_equal(system.H, FIGURE)
        np.testing.assert_array_equal(system.ivet, [3, 0, 2, 1, 4])
        assert system.irank == 3
        assert system.arm == 0.0

    @pytest.mark.parametrize(
        ("free", "expected"), [((0.0, 0.0), [1, 0, -2, 3.5, 0]), ((7.0, 4.0), [1, 7, 5, -5.5, 4])], ids=["0 0", "7 4"]
    )
    def test_solutions_of_section_4_3_2(self, free: tuple[float, float], expected: list[float]) -> None:
        system = linear(MANUAL, 4, 6, 4, 5)
        np.testing.assert_array_equal(system.ivet[3:], [1, 4])
        np.testing.assert_allclose(solution(system, 5, np.array(free)), expected, atol=1e-12)

    @pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (4, 4, 1), (3, 5, 2), (5, 3, 2), (6, 6, 3), (2, 7, 0)])
    def test_elimination_as_by_hand(self, m: int, n: int, k: int) -> None:
        rng = np.random.default_rng(m * 100 + n * 10 + k)
        for _ in range(5):
            H = rng.normal(size=(m, n + k))
            rows, order, size = reduced_by_hand(H[:, :n], H[:, n:])
            system = linear(H, m, n + k, m, n, k)
            np.testing.assert_array_equal(system.ivet, order)
            np.testing.assert_allclose(system.H, np.array(rows, dtype=float), rtol=1e-11, atol=1e-12)
            assert system.irank == min(m, n)
            assert system.arm == pytest.approx(float(size), rel=1e-11)

    @given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 5), st.integers(0, 2**32 - 1))
    def test_solutions_of_systems_of_any_rank(self, m: int, n: int, rank: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        r = min(m, n, rank)
        A = (rng.integers(-3, 4, (m, r)) @ rng.integers(-3, 4, (r, n))).astype(float)
        b = A @ rng.integers(-3, 4, n)
        system = linear(np.column_stack([A, b]), m, n + 1, m, n)
        assert system.irank == sympy.Matrix(A.astype(int)).rank()
        assert_form(system, m, n)
        np.testing.assert_allclose(system.H[system.irank :, n], 0.0, atol=1e-10)
        for free in (np.zeros(n - system.irank), rng.normal(size=n - system.irank)):
            np.testing.assert_allclose(A @ solution(system, n, free), b, atol=1e-9)

    @pytest.mark.parametrize(
        ("vpr", "main_variables"), [([-1], "first"), ([1], "first"), ([2, 0], "first"), ([1], "last"), ([0, 2], "last")]
    )
    def test_compiled_elimination_agrees_with_that_step_by_step(self, vpr: list[int], main_variables: Any) -> None:
        rng, last = np.random.default_rng(5), main_variables == "last"
        chosen = [variable for variable in vpr if variable >= 0]
        for m, n in ((4, 5), (5, 3)):
            systems = [
                *rng.normal(size=(40, m, n + 1)),
                *rng.integers(-2, 3, size=(40, m, n + 1)).astype(float),
                *(rng.normal(size=(40, m, 1)) * rng.normal(size=(40, 1, n + 1))),
                *(rng.integers(-1, 2, size=(40, m, n + 1)) * 10.0 ** rng.integers(-18, 3, size=(40, m, n + 1))),
            ]
            batch = linear(np.array(systems), m, n + 1, m, n, 1, vpr, main_variables=main_variables)
            for k, H in enumerate(systems):
                expected = reduced_step_by_step(H, m, n, 1, chosen, last)
                np.testing.assert_array_equal(batch.ivet[k], expected.ivet)
                assert batch.irank[k] == expected.irank
                np.testing.assert_array_equal(batch.H[k], expected.H)
                assert batch.arm[k] == expected.arm

    def test_a_system_without_solution_shows_it(self) -> None:
        system = linear([[1, 1, 1], [2, 2, 3]], 2, 3, 2, 2)
        assert system.irank == 1
        np.testing.assert_array_equal(system.H[1], [0.0, 0.0, -0.5])

    def test_overdetermined_and_consistent(self) -> None:
        A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        system = linear(np.column_stack([A, A @ [7.0, -1.0]]), 3, 3, 3, 2)
        x = np.empty(2)
        x[system.ivet] = system.H[:2, 2]
        np.testing.assert_allclose(x, [7.0, -1.0], rtol=1e-13)
        assert abs(system.H[2, 2]) < 1e-13

    def test_the_rank_is_counted_down_to_5_rows_times_the_precision(self) -> None:
        def system(small: float) -> LinearSystem:
            return linear([[2.0, 0.0, 1.0], [0.0, small, 1.0]], 2, 3, 2, 2)

        null = system(2.0 * 9.9 * EPS)
        assert null.irank == 1
        assert null.arm == 2.0 * 9.9 * EPS
        np.testing.assert_array_equal(null.H, [[1.0, 0.0, 0.5], [0.0, 0.0, 1.0]])
        full = system(2.0 * 10.1 * EPS)
        assert full.irank == 2
        np.testing.assert_array_equal(full.H[:, :2], np.eye(2))

    def test_null_matrix(self) -> None:
        system = linear(np.zeros((2, 3)), 2, 3, 2, 2)
        assert (system.irank, system.arm) == (0, 0.0)
        np.testing.assert_array_equal(system.ivet, [0, 1])

    @pytest.mark.parametrize(("m", "n"), [(0, 0), (0, 3), (3, 0)])
    def test_no_equations_or_no_unknowns(self, m: int, n: int) -> None:
        H = np.ones((m, n + 1))
        system = linear(H, m, n + 1, m, n)
        assert (system.irank, system.arm, system.ivet.tolist()) == (0, 0.0, list(range(n)))
        np.testing.assert_array_equal(system.H, H)

    def test_what_lies_beside_the_system_stays(self) -> None:
        H = np.full((6, 9), 7.0)
        H[:4, :6] = MANUAL
        system = linear(H, 6, 9, 4, 5)
        np.testing.assert_array_equal(system.H[:4, :6], FIGURE)
        np.testing.assert_array_equal(system.H[4:], 7.0)
        np.testing.assert_array_equal(system.H[:, 6:], 7.0)
        np.testing.assert_array_equal(H[:4, :6], MANUAL)

    def test_batches(self) -> None:
        rng = np.random.default_rng(5)
        H = rng.normal(size=(3, 1, 2, 3, 5))
        systems = linear(H, 3, 5, 3, 3, 2)
        assert systems.H.shape == H.shape
        assert systems.ivet.shape == (3, 1, 2, 3)
        assert systems.irank.shape == systems.arm.shape == (3, 1, 2)
        for index in np.ndindex(3, 1, 2):
            for all_of_them, one in zip(systems, linear(H[index], 3, 5, 3, 3, 2), strict=True):
                np.testing.assert_array_equal(all_of_them[index], one)
        empty = linear(np.zeros((0, 2, 3)), 2, 3, 2, 2)
        assert (empty.ivet.shape, empty.irank.shape) == ((0, 2), (0,))

    def test_nan_in_the_matrix_and_in_the_right_hand_side(self) -> None:
        H = np.array([MANUAL] * 3)
        H[0, 1, 1] = math.nan
        H[1, 1, 1] = math.inf
        system = linear(H, 4, 6, 4, 5)
        for n in (0, 1):
            assert np.isnan(system.H[n]).all()
            assert np.isnan(system.arm[n])
        np.testing.assert_array_equal(system.irank, [0, 0, 3])
        np.testing.assert_array_equal(system.H[2], FIGURE)
        side = MANUAL.copy()
        side[0, 5] = math.nan
        unknown = linear(side, 4, 6, 4, 5)
        assert unknown.irank == 3
        np.testing.assert_array_equal(unknown.H[:, :5], FIGURE[:, :5])

    @pytest.mark.parametrize("vpr", [[1, 4, -1], [4, 1], [0], [2, 3], [1, 3, 4]])
    def test_main_variables_come_first(self, vpr: list[int]) -> None:
        system = linear(MANUAL, 4, 6, 4, 5, 1, vpr)
        assert_form(system, 4, 5)
        chosen = {variable for variable in vpr if variable >= 0}
        first = len(chosen) if vpr != [1, 3, 4] else 2  # columns 1, 3 and 4 of the matrix have the rank 2
        assert np.linalg.matrix_rank(MANUAL[:, sorted(chosen)]) == first
        assert set(system.ivet[:first]) <= chosen
        for free in (np.zeros(2), np.array([0.5, -3.0])):
            np.testing.assert_allclose(MANUAL[:, :5] @ solution(system, 5, free), MANUAL[:, 5], atol=1e-12)

    @pytest.mark.parametrize("vpr", [[1, 4, -1], [4, 1], [3], [4, 3], [3, 4]])
    def test_main_variables_come_last_as_in_the_original_program(self, vpr: list[int]) -> None:
        system = linear(MANUAL, 4, 6, 4, 5, 1, vpr, main_variables="last")
        chosen = {variable for variable in vpr if variable >= 0}
        assert set(system.ivet[5 - len(chosen) :]) == chosen
        assert system.irank == 3
        assert_form(system, 4, 5)
        for free in (np.zeros(2), np.array([0.5, -3.0])):
            np.testing.assert_allclose(MANUAL[:, :5] @ solution(system, 5, free), MANUAL[:, 5], atol=1e-12)

    def test_equations_between_main_variables_are_left_over(self) -> None:
        system = linear(MANUAL, 4, 6, 4, 5, 1, [0], main_variables="last")
        assert system.irank == 2
        assert system.ivet[4] == 0
        np.testing.assert_array_equal(system.H[2:, :4], 0.0)
        left = system.H[2:, [4, 5]]
        assert np.abs(left).max() > 0.1
        np.testing.assert_allclose(left[:, 0] * 1.0, left[:, 1], atol=1e-13)  # a0 = 1

    @pytest.mark.parametrize("vpr", [[5], [0, 0], [-2], [0.5]])
    def test_main_variables_that_do_not_exist_are_told(self, vpr: list[Any]) -> None:
        with pytest.raises(ArgumentError, match="vpr"):
            linear(MANUAL, 4, 6, 4, 5, 1, vpr)

    def test_wrong_sizes_are_told(self) -> None:
        with pytest.raises(ArgumentError, match="linear: H has shape"):
            linear(MANUAL, 6, 4, 4, 5)
        with pytest.raises(ArgumentError, match="must hold 5 rows"):
            linear(MANUAL, 4, 6, 5, 5)
        with pytest.raises(ArgumentError, match="2 right-hand sides"):
            linear(MANUAL, 4, 6, 4, 5, 2)
        with pytest.raises(ArgumentError, match="main_variables"):
            linear(MANUAL, 4, 6, 4, 5, main_variables="middle")  # type: ignore[arg-type]

    @pytest.mark.parametrize("main_variables", ["first", "last"])
    def test_symbols(self, main_variables: Any) -> None:
        k, f = sympy.symbols("k f")
        H = np.array([[k, k, 1, f], [2 * k, 2 * k, 3, 0], [3 * k, 3 * k, 4, f]])
        system = linear(H, 3, 4, 3, 3, 1, [1], main_variables=main_variables)
        assert system.irank == 2
        assert sorted(system.ivet) == [0, 1, 2]
        assert (system.ivet[0] if main_variables == "first" else system.ivet[2]) == 1
        assert system.H[:2, :2].tolist() == [[1, 0], [0, 1]]
        free = sympy.Symbol("free")
        x = [None] * 3
        x[system.ivet[2]] = free
        for i in range(2):
            x[system.ivet[i]] = system.H[i, 3] - system.H[i, 2] * free
        assert all(sympy.simplify(row[:3] @ np.array(x) - row[3]) == 0 for row in H)
        assert not any(system.H[2])


class TestSolve:
    def test_regular_systems(self) -> None:
        rng = np.random.default_rng(6)
        A, x = rng.normal(size=(3, 1, 2, 6, 6)), rng.normal(size=(3, 1, 2, 6))
        result = solve(A, (A @ x[..., None])[..., 0], 6)
        np.testing.assert_allclose(result.x, x, rtol=1e-9, atol=1e-10)
        np.testing.assert_array_equal(result.rank, np.full((3, 1, 2), 6))

    def test_as_linear_finds_it(self) -> None:
        rng = np.random.default_rng(7)
        A, b = rng.normal(size=(5, 5)), rng.normal(size=5)
        system = linear(np.column_stack([A, b]), 5, 6, 5, 5)
        np.testing.assert_allclose(solve(A, b).x[system.ivet], system.H[:, 5], rtol=1e-10)

    def test_singular_nan_and_infinite_matrices_spoil_only_themselves(self) -> None:
        A = np.array([np.eye(2), np.ones((2, 2)), [[math.nan, 0], [0, 1]], [[1, 0], [0, math.inf]], np.zeros((2, 2))])
        x, rank = solve(A, [3.0, 4.0])
        np.testing.assert_array_equal(rank, [2, 1, 0, 0, 0])
        np.testing.assert_array_equal(x[0], [3.0, 4.0])
        assert np.isnan(x[1:]).all()
        Ai, rank = minvers(A)
        np.testing.assert_array_equal(rank, [2, 1, 0, 0, 0])
        np.testing.assert_array_equal(Ai[0], np.eye(2))
        assert np.isnan(Ai[1:]).all()

    def test_single_systems_have_plain_ranks(self) -> None:
        assert type(solve(np.eye(2), [1, 1]).rank) is int
        assert type(minvers(np.eye(2)).rank) is int
        assert type(pseudo_inv(np.eye(2)).rank) is int

    def test_nan_in_the_right_hand_side(self) -> None:
        x, rank = solve(np.eye(2), [[math.nan, 1.0], [1.0, 1.0]])
        assert np.isnan(x[0, 0])
        np.testing.assert_array_equal(x[1], [1.0, 1.0])
        np.testing.assert_array_equal(rank, [0, 2])

    def test_empty_systems(self) -> None:
        assert solve(np.zeros((0, 0)), np.zeros(0)).rank == 0
        assert solve(np.zeros((3, 0, 0)), np.zeros((3, 0))).x.shape == (3, 0)
        assert minvers(np.zeros((0, 0))).Ai.shape == (0, 0)
        assert solve(np.zeros((0, 2, 2)), np.zeros((0, 2))).x.shape == (0, 2)

    def test_ranks_of_badly_scaled_matrices(self) -> None:
        assert solve(np.diag([1e300, 1e290]), [1e300, 1e290]).x.tolist() == [1.0, 1.0]
        assert solve(np.diag([1e-300, 1e-290]), [1e-300, 1e-290]).rank == 2
        assert solve(np.diag([1.0, 1e-20]), [1.0, 1.0]).rank == 1

    def test_wrong_shapes_are_told(self) -> None:
        with pytest.raises(ArgumentError, match="solve: A has shape"):
            solve(np.zeros((2, 3)), [1, 2])
        with pytest.raises(ArgumentError, match="solve: b has shape"):
            solve(np.eye(2), [1, 2, 3])
        with pytest.raises(ArgumentError, match="minvers: A has shape"):
            minvers(np.eye(3), 4)

    def test_inverses(self) -> None:
        rng = np.random.default_rng(8)
        A = rng.normal(size=(4, 5, 5))
        np.testing.assert_allclose(minvers(A, 5).Ai @ A, np.broadcast_to(np.eye(5), (4, 5, 5)), atol=1e-10)

    def test_symbols(self) -> None:
        a, b, c, d = sympy.symbols("a b c d")
        A = np.array([[a, b], [c, d]])
        x, rank = solve(A, [a, c])
        assert rank == 2
        assert [sympy.simplify(e) for e in x] == [1, 0]
        Ai, rank = minvers(A)
        assert sympy.simplify(sympy.Matrix(Ai) * sympy.Matrix(A)) == sympy.eye(2)
        singular = np.array([[a, b], [2 * a, 2 * b]])
        assert minvers(singular).rank == solve(singular, [1, 1]).rank == 1
        assert np.isnan(solve(singular, [1, 1]).x).all()
        with pytest.raises(ArgumentError, match="one at a time"):
            minvers(np.array([A, A]))

    def test_ranks_cannot_be_traced(self) -> None:
        @chasles.function(A=(2, 2))
        def inverse(A: Any) -> Any:
            return minvers(A).Ai

        with pytest.raises(ArgumentError, match="rank of a matrix depends on its numbers"):
            inverse(np.eye(2))


class TestPseudoInverse:
    @given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 5), st.integers(0, 2**32 - 1))
    def test_conditions_of_penrose(self, m: int, n: int, rank: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        r = min(m, n, rank)
        A = (rng.integers(-3, 4, (m, r)) @ rng.integers(-3, 4, (r, n))).astype(float)
        Api, found = pseudo_inv(A, m, n)
        assert found == sympy.Matrix(A.astype(int)).rank()
        np.testing.assert_allclose(A @ Api @ A, A, atol=1e-10)
        np.testing.assert_allclose(Api @ A @ Api, Api, atol=1e-10)
        np.testing.assert_allclose(A @ Api, (A @ Api).T, atol=1e-11)
        np.testing.assert_allclose(Api @ A, (Api @ A).T, atol=1e-11)

    def test_the_rank_is_counted_down_to_1000_times_the_precision(self) -> None:
        assert pseudo_inv(np.diag([3.0, 3.0 * 990 * EPS])).rank == 1
        assert pseudo_inv(np.diag([3.0, 3.0 * 1010 * EPS])).rank == 2

    def test_batches_and_degenerate_matrices(self) -> None:
        A = np.zeros((3, 2, 3))
        A[1] = [[1, 2, 3], [2, 4, 6]]
        A[2, 0, 0] = math.nan
        Api, rank = pseudo_inv(A)
        np.testing.assert_array_equal(rank, [0, 1, 0])
        np.testing.assert_array_equal(Api[0], np.zeros((3, 2)))
        np.testing.assert_allclose(Api[1], np.linalg.pinv(A[1]), atol=1e-15)
        assert np.isnan(Api[2]).all()
        assert pseudo_inv(np.zeros((0, 3))).Api.shape == (3, 0)
        assert pseudo_inv(np.zeros((2, 0))).rank == 0
        with pytest.raises(ArgumentError, match="pseudo_inv"):
            pseudo_inv([1.0, 2.0])

    def test_symbols(self) -> None:
        k = sympy.Symbol("k", positive=True)
        Api, rank = pseudo_inv(np.array([[k, 0], [0, 0], [0, 2]]))
        assert rank == 2
        assert Api.tolist() == [[1 / k, 0, 0], [0, 0, sympy.Rational(1, 2)]]


class TestElimination:
    H = np.array([[1.0, 2.0, 3.0], [4.0, -8.0, 6.0]])

    def test_swaps(self) -> None:
        np.testing.assert_array_equal(swabr(self.H, 2, 3, 2, 0, 1), [[4, -8, 3], [1, 2, 6]])
        np.testing.assert_array_equal(swabr(self.H, 2, 3, 3, 1, 1), self.H)
        H, vet = swabc(self.H, 2, 3, 1, 0, 1, [7, 8, 9])
        np.testing.assert_array_equal(H, [[2, 1, 3], [4, -8, 6]])
        np.testing.assert_array_equal(vet, [8, 7, 9])

    def test_pivots(self) -> None:
        assert tuple(rmax(self.H, 2, 3, 0, 2, 0, 3)) == (1, 1, -8.0)
        assert tuple(rmax(self.H, 2, 3, 0, 1, 0, 2)) == (0, 1, 2.0)
        assert tuple(rmax(np.ones((2, 2)), 2, 2, 0, 2, 0, 2)) == (0, 0, 1.0)
        assert tuple(rmax(np.zeros((2, 2)), 2, 2, 0, 2, 0, 2)) == (0, 0, 0.0)
        assert tuple(rmax(self.H, 2, 3, 1, 1, 0, 3)) == (0, 0, 0.0)
        with pytest.raises(ArgumentError, match="rmax"):
            rmax(self.H, 2, 3, 2, 1, 0, 3)
        with pytest.raises(ArgumentError, match="rmax"):
            rmax(self.H, 2, 3, 0, 3, 0, 3)

    def test_a_column_is_eliminated_and_its_row_normalised(self) -> None:
        H = normalr(elimin(self.H, 2, 3, 2, 3, 1), 2, 3, 3, 1, -8.0)
        np.testing.assert_array_equal(H, [[1.0, 0.0, 4.5], [-0.5, 1.0, -0.75]])  # what is before the column stays
        np.testing.assert_array_equal(self.H[1], [4.0, -8.0, 6.0])

    def test_wrong_sizes_are_told(self) -> None:
        for call in (
            lambda: swabr(self.H, 2, 3, 3, 0, 2),
            lambda: swabr(self.H, 3, 2, 2, 0, 1),
            lambda: swabc(self.H, 2, 3, 2, 0, 3, [0, 1, 2]),
            lambda: swabc(self.H, 2, 3, 2, 0, 1, [0]),
            lambda: elimin(self.H, 2, 3, 2, 4, 0),
            lambda: normalr(np.zeros((2, 2, 2)), 2, 2, 2, 0, 1.0),
        ):
            with pytest.raises(ArgumentError):
                call()
