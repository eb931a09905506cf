"""Scalars, algebra, vectors, copies and the machine's precision, by SpaceLib's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import chasles
from chasles.base.errors import ArgumentError
from chasles.interop.spacelib import algebra, copies, matrices, scalars, vectors
from chasles.interop.spacelib.codes import Col, Row

SHAPES = [(), (1,), (3, 1, 2)]
NUMBERS = st.floats(-1e3, 1e3)


def random_matrices(rows: int, columns: int) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    return arrays(np.float64, (rows, columns), elements=NUMBERS)


def test_scalars_follow_the_header() -> None:
    x = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(scalars.aabs(x), [2.0, 0.0, 3.0])
    np.testing.assert_array_equal(scalars.sign(x), [-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(scalars.max(x, 0.5), [0.5, 0.5, 3.0])
    np.testing.assert_array_equal(scalars.min(x, 0.5), [-2.0, 0.0, 0.5])
    assert scalars.rad(180) == math.pi
    assert scalars.deg(math.pi / 2) == 90.0
    assert scalars.rad(np.degrees(0.7)) == pytest.approx(0.7, rel=1e-15)


def test_scalars_of_nan_are_nan() -> None:
    for function in (scalars.aabs, scalars.sign, scalars.rad, scalars.deg):
        assert np.isnan(function([math.nan, 1.0])).tolist() == [True, False], function
    for function in (scalars.max, scalars.min):
        assert np.isnan(function([math.nan, 1.0], [1.0, 1.0])).tolist() == [True, False], function


def test_precision_is_the_smallest_power_of_two_that_changes_1() -> None:
    e = scalars.dzerom()
    assert 1.0 + e != 1.0
    assert 1.0 + e / 2 == 1.0
    f = np.float32(scalars.fzerom())
    assert np.float32(1) + f != np.float32(1)
    assert np.float32(1) + f / np.float32(2) == np.float32(1)
    assert scalars.zerom() == e


@given(random_matrices(2, 3), random_matrices(3, 4))
def test_molt_is_the_product(A: np.ndarray[Any, Any], B: np.ndarray[Any, Any]) -> None:
    expected = [[math.fsum(A[i, k] * B[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    np.testing.assert_allclose(algebra.molt(A, B, 2, 3, 4), expected, rtol=1e-13, atol=1e-9)


@pytest.mark.parametrize("lead", SHAPES)
def test_macros_with_fixed_sizes_do_what_the_general_routines_do(lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    for size, product, total, difference, multiple, transpose, norm in (
        (3, "molt3", "sum3", "sub3", "rmolt3", "transp3", "norm3"),
        (4, "molt4", "sum4", "sub4", "rmolt4", "transp4", "norm4"),
    ):
        A, B = rng.normal(size=(2, *lead, size, size))
        r = rng.normal(size=lead)
        np.testing.assert_allclose(getattr(algebra, product)(A, B), algebra.molt(A, B, size, size, size), rtol=1e-13)
        np.testing.assert_array_equal(getattr(algebra, total)(A, B), algebra.sum(A, B, size, size))
        np.testing.assert_array_equal(getattr(algebra, difference)(A, B), algebra.sub(A, B, size, size))
        np.testing.assert_array_equal(getattr(algebra, multiple)(A, r), algebra.rmolt(A, r, size, size))
        np.testing.assert_array_equal(getattr(matrices, transpose)(A), matrices.transp(A, size, size))
        np.testing.assert_array_equal(getattr(matrices, norm)(A), matrices.norm(A, size, size))
        assert matrices.norm(A).shape == lead
        np.testing.assert_array_equal(matrices.norm(A), np.abs(A).max(axis=(-2, -1)))


def test_products_with_points_and_vectors() -> None:
    A = np.arange(16.0).reshape(4, 4)
    np.testing.assert_array_equal(algebra.moltp(A, [1, 2, 3, 1]), [11.0, 39.0, 67.0, 95.0])
    np.testing.assert_array_equal(algebra.moltmv3(A[:3, :3], [1, 0, -1]), [-2.0, -2.0, -2.0])
    np.testing.assert_array_equal(algebra.molt(A, [1, 2, 3, 1], 4, 4, 1), algebra.moltp(A, [1, 2, 3, 1]))
    np.testing.assert_array_equal(algebra.sumv([1, 2, 3], [1, 1, 1]), [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(algebra.subv([1, 2, 3], [1, 1, 1]), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(algebra.rmoltv([1, 2, 3], -2), [-2.0, -4.0, -6.0])


def test_matrices_of_one_column_may_be_vectors() -> None:
    v = np.arange(1.0, 7.0)
    np.testing.assert_array_equal(algebra.sum(v, v, 6, 1), 2 * v)
    np.testing.assert_array_equal(algebra.sub(v, v), 0 * v)
    np.testing.assert_array_equal(algebra.rmolt(v, 3.0, 6, 1), 3 * v)
    np.testing.assert_array_equal(matrices.transp(v, 6, 1), v[None])
    assert matrices.norm(-v, 6, 1) == 6.0


@given(arrays(np.float64, (2, 3), elements=NUMBERS), st.integers(3, 6))
def test_cross_products_to_matrices(ab: np.ndarray[Any, Any], dim: int) -> None:
    a, b = ab
    expected = np.zeros((dim, dim))
    expected[:3, :3] = np.outer(b, a) - np.outer(a, b)  # equation (3.22)
    np.testing.assert_allclose(matrices.crossvtom(a, b, dim), expected, atol=1e-9)
    A, B = _skew(a), _skew(b)
    np.testing.assert_allclose(A @ b, np.cross(a, b), atol=1e-9)
    np.testing.assert_allclose(matrices.crossMtoM(A, B, dim), expected, atol=1e-9)
    larger = np.full((5, 5), math.nan)
    larger[:3, :3] = A
    np.testing.assert_allclose(matrices.crossMtoM(larger, B, dim), expected, atol=1e-9)


def test_cross_products_in_batches() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 3, 1, 2, 3))
    result = matrices.crossvtom(a, b, dim=4)
    assert result.shape == (3, 1, 2, 4, 4)
    np.testing.assert_array_equal(result[..., 3, :], 0.0)
    np.testing.assert_allclose(result[..., 2, 1], np.cross(a, b)[..., 0], rtol=1e-14)
    np.testing.assert_allclose(matrices.crossMtoM(_skew(a), _skew(b), 4), result, atol=1e-14)


def _skew(v: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    return np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), (0, 1), (-2, -1))


def test_null_and_identity_matrices_are_new_each_time() -> None:
    matrices.clear3()[0, 0] = 1.0
    assert not matrices.clear3().any()
    np.testing.assert_array_equal(matrices.clear4(), matrices.clear(4, 4))
    np.testing.assert_array_equal(matrices.idmat3(), matrices.idmat(3))
    np.testing.assert_array_equal(matrices.idmat4(), np.eye(4))
    np.testing.assert_array_equal(vectors.clearv(), [0.0, 0.0, 0.0])
    assert matrices.norm(np.zeros((0, 3))) == 0.0
    assert matrices.clear(0, 2).shape == (0, 2)


def test_nan_stays_in_its_sample() -> None:
    A = np.ones((2, 3, 3))
    A[0, 1, 1] = math.nan
    for result in (matrices.norm(A), matrices.norm3(A), algebra.molt(A, A), algebra.molt3(A, A), algebra.rmolt(A, 2.0)):
        assert np.isnan(result[0]).any()
        assert np.isfinite(result[1]).all()
    unit, length = vectors.unitv([[math.nan, 0, 0], [3, 0, 0]])
    assert np.isnan(unit[0]).all()
    assert np.isnan(length[0])
    np.testing.assert_array_equal(unit[1], [1.0, 0.0, 0.0])
    assert np.isnan(vectors.mod([1.0, math.nan, 0.0]))


def test_wrong_sizes_are_told() -> None:
    with pytest.raises(ArgumentError, match=r"molt: A has shape \(2, 2\).*\(3, 3\)"):
        algebra.molt(np.eye(2), np.eye(3), 3, 3, 3)
    with pytest.raises(ArgumentError, match="molt: A has shape"):
        algebra.molt(np.eye(2), np.eye(3))
    with pytest.raises(ArgumentError, match="sum: A and B"):
        algebra.sum(np.eye(2), np.eye(3))
    with pytest.raises(ArgumentError, match="sub: B has shape"):
        algebra.sub(np.eye(2), np.eye(3), 2, 2)
    with pytest.raises(ArgumentError, match="norm: A has shape"):
        matrices.norm(3.0)
    with pytest.raises(ArgumentError, match="array of real numbers"):
        algebra.molt(np.eye(2) * 1j, np.eye(2))
    with pytest.raises(ArgumentError, match="dim"):
        matrices.crossvtom([1, 0, 0], [0, 1, 0], dim=2)
    with pytest.raises(ArgumentError, match="dot2: dim"):
        vectors.dot2([1, 2], [1, 2], 3)
    with pytest.raises(ArgumentError, match="dot2: a and b"):
        vectors.dot2([1, 2], [1, 2, 3])


@pytest.mark.parametrize("scale", [1.0, 1e-300, 1e300, 5e-324])
def test_lengths_neither_over_nor_underflow(scale: float) -> None:
    assert vectors.mod([0.0, 0.0, -scale]) == scale
    unit, length = vectors.unitv(np.array([3.0, 0.0, 4.0]) * scale)
    np.testing.assert_allclose(unit, [0.6, 0.0, 0.8], rtol=1e-15)
    assert length == pytest.approx(5.0 * scale, rel=1e-15)


def test_unit_vector_of_the_null_vector_is_null() -> None:
    unit, length = vectors.unitv([[0, 0, 0], [0, -2, 0]])
    np.testing.assert_array_equal(unit, [[0, 0, 0], [0, -1, 0]])
    np.testing.assert_array_equal(length, [0.0, 2.0])


@given(arrays(np.float64, 3, elements=NUMBERS))
def test_vector_undoes_unitv(v: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(vectors.vector(*vectors.unitv(v)), v, rtol=4e-16, atol=1e-300)


def test_vectors_against_numpy() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 5, 3))
    np.testing.assert_allclose(vectors.cross(a, b), np.cross(a, b), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(vectors.dot(a, b), np.einsum("ni,ni->n", a, b), rtol=1e-13)
    np.testing.assert_allclose(vectors.dot2(a, b), vectors.dot(a, b), rtol=1e-13)
    np.testing.assert_allclose(vectors.dot2(a, b, 2), a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1], rtol=1e-14)
    np.testing.assert_allclose(vectors.mod(a), np.linalg.norm(a, axis=-1), rtol=1e-15)


def test_rows_and_columns_are_counted_from_1() -> None:
    A = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(copies.mvcopy(A, 2, 3, 2, Row), [3.0, 4.0, 5.0])
    np.testing.assert_array_equal(copies.mvcopy(A, 2, 3, 3, Col), [2.0, 5.0])
    written = copies.vmcopy([9, 8], 2, 3, Col, A, 2, 3)
    np.testing.assert_array_equal(written, [[0, 1, 9], [3, 4, 8]])
    np.testing.assert_array_equal(A[:, 2], [2.0, 5.0])
    np.testing.assert_array_equal(copies.vmcopy([9, 8], 2, 1, Row, A), [[9, 8, 2], [3, 4, 5]])
    np.testing.assert_array_equal(copies.vmcopy([9, 8, 7], 1, 2, Row, A), [[0, 1, 2], [9, 4, 5]])


@pytest.mark.parametrize(("val", "type"), [(0, Row), (3, Row), (0, Col), (4, Col), (1, 2), (1, -1)])
def test_rows_and_columns_that_do_not_exist_are_told(val: int, type: int) -> None:
    A = np.zeros((2, 3))
    with pytest.raises(ArgumentError, match="mvcopy"):
        copies.mvcopy(A, 2, 3, val, type)
    with pytest.raises(ArgumentError, match="vmcopy"):
        copies.vmcopy([1, 2], 2, val, type, A)


def test_a_vector_too_long_for_the_matrix_is_told() -> None:
    with pytest.raises(ArgumentError, match="column 2 elements"):
        copies.vmcopy([1, 2, 3], 3, 1, Col, np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match="dim is 4"):
        copies.vmcopy([1, 2, 3], 4, 1, Row, np.zeros((5, 5)))


def test_copies_are_copies() -> None:
    A, v, P = np.eye(4), np.ones(3), np.ones(4)
    for original, copy in (
        (A, copies.mcopy(A, 4, 4)),
        (A, copies.mcopy4(A)),
        (A[:3, :3], copies.mcopy3(A[:3, :3])),
        (A[:3, :3], copies.mcopy43(A)),
        (v, copies.vcopy(v)),
        (P, copies.pcopy(P)),
    ):
        np.testing.assert_array_equal(copy, original)
        assert not np.shares_memory(copy, original)
    with pytest.raises(ArgumentError, match="pcopy: P1 must have 4"):
        copies.pcopy(v)
    with pytest.raises(ArgumentError, match="mcopy3"):
        copies.mcopy3(A)


def test_parts_of_matrices() -> None:
    A, B = np.arange(9.0).reshape(3, 3), -np.ones((4, 4))
    expected = B.copy()
    expected[:3, :3] = A
    np.testing.assert_array_equal(copies.mcopy34(A, B), expected)
    np.testing.assert_array_equal(copies.mcopy43(expected), A)
    np.testing.assert_array_equal(copies.mmcopy(A, B, 3, 4, 1, 2)[0], [0, 1, -1, -1])
    assert copies.mmcopy(np.zeros((5, 1, 3, 3)), np.ones((2, 4, 4)), 3, 4, 3, 3).shape == (5, 2, 4, 4)
    with pytest.raises(ArgumentError, match="mmcopy: A has shape"):
        copies.mmcopy(A, B, 3, 4, 4, 4)
    with pytest.raises(ArgumentError, match="mmcopy: B has shape"):
        copies.mmcopy(A, B, 3, 5, 3, 3)


def test_symbols_pass_through() -> None:
    x, y = sympy.symbols("x y", real=True)
    A = np.array([[x, 1], [0, y]])
    assert algebra.molt(A, A).tolist() == [[x**2, x + y], [0, y**2]]
    assert algebra.sum(A, A, 2, 2).tolist() == [[2 * x, 2], [0, 2 * y]]
    assert algebra.rmolt(A, x).tolist() == [[x**2, x], [0, x * y]]
    assert matrices.transp(A).tolist() == [[x, 0], [1, y]]
    assert matrices.norm(A).subs({x: -3, y: 2}) == 3
    assert sympy.simplify(vectors.mod([x, 0, 0]) - abs(x)).subs(x, -2) == 0
    assert copies.vmcopy([x, y], 2, 1, Row, np.zeros((2, 2))).tolist() == [[x, y], [0, 0]]
    assert copies.mcopy34(np.diag([x, y, x]), np.eye(4))[1, 1] == y
    c = matrices.crossvtom([x, 0, 0], [0, y, 0], dim=4)
    assert c[1, 0] == x * y
    assert c.shape == (4, 4)
    assert scalars.sign(sympy.Integer(-4)) == -1
    assert scalars.rad(x) == x / 180 * sympy.Float(math.pi)


def test_routines_can_be_traced() -> None:
    @chasles.function(A=(4, 4), P=(4,))
    def program(A: Any, P: Any) -> Any:
        B = copies.mcopy34(algebra.molt(A[:3, :3], A[:3, :3]), A)
        return matrices.norm(B) * algebra.moltp(B, P) + vectors.mod(P[:3])

    rng = np.random.default_rng(4)
    A, P = rng.normal(size=(5, 4, 4)), rng.normal(size=(5, 4))
    B = A.copy()
    B[:, :3, :3] = A[:, :3, :3] @ A[:, :3, :3]
    norm = np.abs(B).max(axis=(1, 2))[:, None]
    expected = norm * (B @ P[..., None])[..., 0] + np.linalg.norm(P[:, :3], axis=1)[:, None]
    np.testing.assert_allclose(program(A, P), expected, rtol=1e-12)
