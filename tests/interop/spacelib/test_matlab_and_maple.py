"""Axes counted from 1 in MATLAB and Maple, and what only they have; test_names.py is about their names."""

from __future__ import annotations

import inspect
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import chasles
from chasles.base.errors import ArgumentError
from chasles.interop import spacelib
from chasles.interop.spacelib import maple, matlab
from chasles.interop.spacelib.axis_codes import counted_from_1

Q, QP, QPP = np.array([0.3, -0.5, 0.7]), np.array([1.0, 2.0, -3.0]), np.array([-4.0, 0.5, 6.0])
P1, P2, P3 = ([1, 2, 3, 1], [4, 2, 3, 1], [1, 5, 4, 1])
M = spacelib.cardantoM(Q, 0, 1, 2, P1)
W = spacelib.cardantoW(Q, QP, 0, 1, 2, P1)
H = spacelib.cardantoH(Q, QP, QPP, 0, 1, 2, P1)
IJK = (0, 1, 2)

#: C's name, MATLAB's name, Maple's name, axes, and a call with them.
WITH_AXES: list[tuple[str, str, str, tuple[int, ...], Callable[..., Any]]] = [
    ("axis", "aaxis", "Axis", (1,), lambda f, a: f(a)),
    ("axis", "aaxis", "axis", (1,), lambda f, a: f(n=a)),
    ("rotat2", "rotat2", "rotat2", (0,), lambda f, a: f(a, 0.4)),
    ("rotat2", "rotat2", "rotat2", (3,), lambda f, a: f(a, 0.4, 4)),
    ("rotat24", "rotat24", "rotat24", (2,), lambda f, a: f(a, 0.4, P1)),
    ("rotat34", "rotat34", "rotat34", (1,), lambda f, a: f(q=0.4, a=a, O=P1)),
    ("traslat2", "traslat2", "traslat2", (2,), lambda f, a: f(a, 0.4)),
    ("traslat24", "traslat24", "traslat24", (0,), lambda f, a: f(a, 0.4, P1)),
    ("makeL2", "makel2", "makeL2", (1,), lambda f, a: f(spacelib.Rev, a, 0.1, P1)),
    ("velacctoWH2", "vactowh2", "velactoWH2", (0,), lambda f, a: f(spacelib.Rev, a, 2.0, 3.0)),
    ("velacctoWH3", "vactowh3", "velactoWH3", (2,), lambda f, a: f(spacelib.Pri, a, 2.0, 3.0, P1)),
    ("frameP", "framep", "frameP", (1, 2), lambda f, a1, a2: f(P1, P2, P3, a1, a2)),
    ("frame4P", "frame4p", "frame4P", (2, 0), lambda f, a1, a2: f(P1, P2, P3, a1, a2)),
    ("frameV", "framev", "frameV", (0, 2), lambda f, a1, a2: f(P1[:3], P2[:3], a1, a2)),
    ("frame4V", "frame4v", "frame4V", (1, 0), lambda f, a1, a2: f(P1, P2[:3], P3[:3], a1, a2)),
    ("cardantor", "cardator", "cardantoR", (2, 0, 2), lambda f, i, j, k: f(Q, i, j, k)),
    ("rtocardan", "rtocarda", "Rtocardan", IJK, lambda f, i, j, k: f(M, 4, i, j, k)),
    ("cardantoM", "cardatom", "cardantoM", IJK, lambda f, i, j, k: f(Q, i, j, k, P1)),
    ("Mtocardan", "mtocarda", "Mtocardan", IJK, lambda f, i, j, k: f(M, i, j, k)),
    ("cardantoW", "cardatow", "cardantoW", (2, 1, 0), lambda f, i, j, k: f(Q, QP, i, j, k, P1)),
    ("Wtocardan", "wtocarda", "Wtocardan", IJK, lambda f, i, j, k: f(M, W, i, j, k)),
    ("cardantoH", "cardatoh", "cardantoH", (1, 0, 2), lambda f, i, j, k: f(Q, QP, QPP, i, j, k, P1)),
    ("Htocardan", "htocarda", "Htocardan", IJK, lambda f, i, j, k: f(M, W, H, i, j, k)),
    ("cardanto_G", "cardatog", "cardantoG", IJK, lambda f, i, j, k: f(Q, QP, QPP, i, j, k)),
    ("cardanto_OMEGA", "cardtoom", "cardanto_omega", (0, 2, 1), lambda f, i, j, k: f(Q, QP, i, j, k)),
    ("cardanto_omega", "cardtome", "cardanto_OMEGA", (0, 2, 1), lambda f, i, j, k: f(Q, QP, i, j, k)),
    ("cardanto_OMEGAPTO", "cardompt", "cardanto_omegapto", IJK, lambda f, i, j, k: f(Q, QP, QPP, i, j, k)),
    ("cardantol", "cardatol", "cardantoL", (1, 2, 1), lambda f, i, j, k: f(Q, i, j, k)),
    ("cardantoWPROD", "cardtowp", "cardantoWPROD", IJK, lambda f, i, j, k: f(Q, i, j, k)),
    ("invA", "inva", "invA", IJK, lambda f, i, j, k: f(0.3, -0.5, 1, i, j, k)),
]


@pytest.mark.parametrize(
    ("original", "in_matlab", "in_maple", "axes", "call"), WITH_AXES, ids=lambda value: str(value)[:20]
)
def test_axes_are_counted_from_1(
    original: str, in_matlab: str, in_maple: str, axes: tuple[int, ...], call: Callable[..., Any]
) -> None:
    expected = call(getattr(spacelib, original), *axes)
    for module, name in ((matlab, in_matlab), (maple, in_maple)):
        routine = getattr(module, name)
        np.testing.assert_equal(call(routine, *(axis + 1 for axis in axes)), expected)
        assert routine.__name__ in (name, "axis")
        for position in range(len(axes)):
            for wrong in (0, 5, 1.5, "X"):
                codes: list[Any] = [axis + 1 for axis in axes]
                codes[position] = wrong
                with pytest.raises(ArgumentError, match=r"must be 1 \(X\)"):
                    call(routine, *codes)


@pytest.mark.parametrize(("module", "column"), [(matlab, 1), (maple, 2)], ids=["matlab", "maple"])
def test_every_routine_with_axes_is_among_those(module: Any, column: int) -> None:
    codes = {"a", "a1", "a2", "i", "j", "k", "n"}
    covered = {row[column] for row in WITH_AXES} | {"cardanto_OMEGAPTO"}  # Maple's own, by its vector
    for name, routine in vars(module).items():
        if name[0] == "_" or not (inspect.isroutine(routine) or hasattr(routine, "formula")):
            continue
        parameters = inspect.signature(getattr(routine, "formula", routine)).parameters.values()
        if (
            any(p.name in codes and p.annotation == "int" for p in parameters)
            and routine is not spacelib.norm_simm_skew
        ):
            assert name in covered, name


@pytest.mark.parametrize("module", [matlab, maple])
def test_routines_are_found_again_by_name(module: Any) -> None:
    routines = {name: value for name, value in vars(module).items() if name[0] != "_" and inspect.isroutine(value)}
    assert len(routines) > 20
    for routine in routines.values():
        assert pickle.loads(pickle.dumps(routine)) is routine


def test_codes_of_axes() -> None:
    for module in (matlab, maple):
        assert (module.X, module.Y, module.Z, module.U) == (1, 2, 3, 4)
        assert (module.Rev, module.Pri) == (spacelib.Rev, spacelib.Pri)
    assert matlab.rotat2.__doc__ is not None
    assert "1 (X), 2 (Y), 3 (Z) and 4 (U)" in matlab.rotat2.__doc__
    with pytest.raises(ValueError, match="is not in list"):
        counted_from_1(spacelib.rotat2, "b")


def test_capital_and_small_letters_change_places_in_maple() -> None:
    vector = maple.cardanto_omega(Q, QP, 1, 2, 3)
    np.testing.assert_array_equal(vector, spacelib.cardanto_OMEGA(Q, QP, 0, 1, 2))
    assert vector.shape == (3,)
    assert maple.cardanto_OMEGA(Q, QP, 1, 2, 3).shape == (3, 3)
    rate = maple.cardanto_omegapto(Q, QP, QPP, 1, 2, 3)
    matrix = maple.cardanto_OMEGAPTO(Q, QP, QPP, 1, 2, 3, 4)
    assert matrix.shape == (4, 4)
    np.testing.assert_array_equal(matrix[:3, :3] @ [1.0, 2.0, 3.0], np.cross(rate, [1.0, 2.0, 3.0]))


def test_maple_takes_symbols() -> None:
    q = sympy.Symbol("q", real=True)
    R = maple.rotat2(maple.X, q)
    assert maple.Mcheck(R)
    assert maple.Mcheck(maple.rotat24(maple.Z, q, [q, 1, 2, 1]))
    assert not maple.Mcheck(2 * R)
    assert not maple.Mcheck(np.diag([q / q, 1, -1]) * sympy.Integer(1))
    assert maple.Miszero(R @ R.T - np.eye(3, dtype=int))
    assert not maple.Miszero(R)
    assert maple.viszero([sympy.cos(q) ** 2 + sympy.sin(q) ** 2 - 1, 0])
    assert not maple.viszero([0, q])
    with pytest.raises(ArgumentError, match="one at a time"):
        maple.Mcheck(np.array([R, R]))
    with pytest.raises(ArgumentError, match="symbols"):
        maple.Mcheck2(R)


def test_checks_of_numbers() -> None:
    R = spacelib.cardantor(Q, 0, 1, 2)
    assert spacelib.Mcheck(R) is True
    assert spacelib.Mcheck(R + 1e-6) is False
    assert spacelib.Mcheck(R + 1e-6, tolerance=1e-5) is True
    assert spacelib.Mcheck(-R) is False
    assert spacelib.Mcheck(M) is True
    spoilt = np.array([M, M, M])
    spoilt[1, 3, 0] = 0.1
    spoilt[2, 0, 0] = math.nan
    np.testing.assert_array_equal(spacelib.Mcheck(spoilt), [True, False, False])
    assert spacelib.Mcheck2(1.1 * R) == pytest.approx(0.1 * math.sqrt(3.0), rel=1e-12)
    np.testing.assert_array_equal(spacelib.Miszero([NULL, np.eye(2), NULL + math.nan]), [True, False, False])
    assert spacelib.viszero([0.0, 1e-3], tolerance=1e-2) is True
    assert spacelib.viszero([0.0, 3e-16]) is False
    assert spacelib.viszero([]) is True
    for call in (lambda: spacelib.Mcheck(np.eye(5)), lambda: spacelib.Miszero([1.0]), lambda: spacelib.viszero(1.0)):
        with pytest.raises(ArgumentError):
            call()


NULL = np.zeros((2, 2))


def test_random_matrices() -> None:
    m = matlab.jrand(40, 30, -2.0, 5.0, rng=1)
    assert m.shape == (40, 30)
    assert -2.0 <= m.min() < -1.9
    assert 4.9 < m.max() < 5.0
    np.testing.assert_array_equal(m, matlab.jrand(40, 30, -2.0, 5.0, rng=np.random.default_rng(1)))
    assert (matlab.jrand(3, 3) != matlab.jrand(3, 3)).any()
    with pytest.raises(ArgumentError, match="in order"):
        matlab.jrand(1, 1, 2.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_nearest_orthogonal_matrix(n: int) -> None:
    rng = np.random.default_rng(n)
    A = rng.normal(size=(5, n, n))
    R = matlab.normal_g(A)
    np.testing.assert_allclose(R @ np.swapaxes(R, -2, -1), np.broadcast_to(np.eye(n), A.shape), atol=1e-13)
    S = np.swapaxes(R, -2, -1) @ A  # of the polar decomposition A = R S: symmetric and positive
    np.testing.assert_allclose(S, np.swapaxes(S, -2, -1), atol=1e-13)
    assert np.linalg.eigvalsh(S).min() > 0.0
    distance = np.linalg.norm(A - R, axis=(1, 2))
    for _ in range(20):
        other = np.linalg.qr(rng.normal(size=(n, n)))[0]
        assert np.all(np.linalg.norm(A - other, axis=(1, 2)) >= distance - 1e-12)


def test_nearest_orthogonal_matrix_of_degenerate_matrices() -> None:
    A = np.array([np.zeros((3, 3)), np.full((3, 3), math.nan), np.diag([2.0, -1.0, 1e-300])])
    R = matlab.normal_g(A)
    np.testing.assert_allclose(R[0] @ R[0].T, np.eye(3), atol=1e-15)
    assert np.isnan(R[1]).all()
    np.testing.assert_allclose(R[2], np.diag([1.0, -1.0, 1.0]), atol=1e-15)
    with pytest.raises(ArgumentError, match="normal_g"):
        matlab.normal_g(np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match="not symbols"):
        matlab.normal_g([[sympy.Symbol("x")]])


def test_remainders() -> None:
    for x, y in ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (6.0, 3.0), (0.3, 5.0)):
        assert maple.fmod(x, y) == math.fmod(x, y)
    assert np.isnan(maple.fmod([1.0, math.nan, 1.0], [0.0, 1.0, 2.0])).tolist() == [True, True, False]
    x = sympy.Symbol("x")
    assert maple.fmod(x, 2).subs(x, sympy.Rational(-15, 2)) == sympy.Rational(-3, 2)

    @chasles.function(x=(), y=())
    def remainder(x: Any, y: Any) -> Any:
        return maple.fmod(x, y)

    np.testing.assert_allclose(remainder([7.5, -7.5], [2.0, 2.0]), [1.5, -1.5], rtol=1e-15)


def test_small_routines() -> None:
    np.testing.assert_array_equal(maple.Origin, [0, 0, 0, 1])
    np.testing.assert_array_equal(maple.vect3(P1), P1[:3])
    np.testing.assert_array_equal(maple.eye(3), np.eye(3))
    np.testing.assert_array_equal(maple.nullM(2, 3), np.zeros((2, 3)))
    assert matlab.grad(math.pi) == 180.0
    with pytest.raises(ArgumentError, match="vect3"):
        maple.vect3([1, 2])
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 4.0])
    matrix = matlab.crosstom(a, b)
    np.testing.assert_allclose(matrix @ [1.0, 0.0, 2.0], np.cross(np.cross(a, b), [1.0, 0.0, 2.0]), rtol=1e-14)
    np.testing.assert_allclose(matlab.crosstom(spacelib.vtom3(a), spacelib.vtom3(b)), matrix, rtol=1e-14)
