"""A return value is OK only beside a result that is finite and does what it says, whatever the data are."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.thinning import thinned

import chasles.interop.spacelib as sl
from chasles.base.errors import ArgumentError
from chasles.geometry import distance_to_plane

Matrix = np.ndarray[Any, Any]
SEQUENCES = [s for s in itertools.product((sl.X, sl.Y, sl.Z), repeat=3) if s[0] != s[1] and s[1] != s[2]]
SAMPLES = 400
NASTY = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-310, 1e-200, 1e-17, 1e-8, 1e8, 1e200, 1.7e308, math.inf, math.nan])


def nasty(rng: np.random.Generator, *shape: int) -> Matrix:
    """Numbers of all sizes, null and not finite among ordinary ones."""
    ordinary = rng.normal(size=shape) * 10.0 ** rng.choice([0, 0, 0, -12, 12], size=shape)
    return np.where(rng.random(shape) < 0.15, rng.choice(NASTY, size=shape), ordinary)


def rotations(rng: np.random.Generator, n: int) -> Matrix:
    """Random rotations, some of them by a half turn, a quarter turn or nothing."""
    S = np.zeros((n, 3, 3))
    x, y, z = (lambda v: v / np.linalg.norm(v, axis=0))(rng.normal(size=(3, n)))
    S[:, 2, 1], S[:, 0, 2], S[:, 1, 0] = x, y, z
    S -= np.swapaxes(S, 1, 2)
    S[::5] = np.array([[0.0, 0, 1], [0, 0, 0], [-1, 0, 0]])
    phi = np.where(rng.random(n) < 0.4, rng.choice([0.0, math.pi / 2, math.pi], n), rng.uniform(-4, 4, n))
    return np.eye(3) + np.sin(phi)[:, None, None] * S + (1 - np.cos(phi))[:, None, None] * (S @ S)


def matrices_4(rng: np.random.Generator, n: int) -> Matrix:
    """Position matrices, a third of them legal; the others are reflected, scaled, singular, or have wild elements."""
    m = np.zeros((n, 4, 4))
    m[:, :3, :3], m[:, :3, 3], m[:, 3, 3] = rotations(rng, n), rng.normal(size=(n, 3)), 1.0
    m[1::6, 0] *= -1.0
    m[2::6] *= 10.0 ** rng.uniform(-200, 200, size=(len(m[2::6]), 1, 1))
    m[3::6, :, rng.integers(4)] = 0.0
    m[4::6] = nasty(rng, len(m[4::6]), 4, 4)
    return m


def velocities(rng: np.random.Generator, n: int) -> Matrix:
    """Velocity matrices, half of them legal."""
    W = np.zeros((n, 4, 4))
    W[:, :3, :] = rng.normal(size=(n, 3, 4)) * 10.0 ** rng.uniform(-3, 3, size=(n, 1, 1))
    W[:, :3, :3] -= np.swapaxes(W[:, :3, :3], 1, 2).copy()
    W[1::4] *= np.tri(4)  # the half below the diagonal alone
    W[3::4] = nasty(rng, len(W[3::4]), 4, 4)
    return W


def is_finite(*arrays: Any) -> Matrix:
    """Which samples are finite in all arrays."""
    return np.all([np.isfinite(a).reshape(len(a), -1).all(axis=1) for a in arrays], axis=0)


def assert_nearly(angular: Matrix, matrices: Matrix, allowed: Any = 0.0) -> None:
    """Assert that matrices have this skew part, up to the errors with which they are still legal."""
    errors = np.abs(angular - matrices[:, :3, :3]).max(axis=(1, 2))
    sizes = np.abs(matrices).max(axis=(1, 2))
    assert np.all(errors <= 0.011 * np.abs(matrices[:, :3, :3]).max(axis=(1, 2)) + 2e-11 * sizes + 1e-10 + allowed)


def skew(v: Matrix) -> Matrix:
    S = np.zeros((len(v), 3, 3))
    S[:, 2, 1], S[:, 0, 2], S[:, 1, 0] = v.T
    return S - np.swapaxes(S, 1, 2)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


class TestScrews:
    def test_mtoscrew(self, rng: np.random.Generator) -> None:
        Q = matrices_4(rng, SAMPLES)
        u, phi, h, P, rv = sl.mtoscrew(Q)
        ok = rv == sl.OK
        assert 50 < ok.sum() < 200
        assert is_finite(u, phi, h, P)[ok].all()
        np.testing.assert_allclose(sl.screwtom(u, phi, h, P)[ok], Q[ok], rtol=0.0, atol=1e-9)


class TestCardanAngles:
    @pytest.mark.parametrize("axes", thinned(SEQUENCES, keep=5))
    def test_angles_rates_and_accelerations(self, rng: np.random.Generator, axes: tuple[int, int, int]) -> None:
        m, W = matrices_4(rng, SAMPLES), velocities(rng, SAMPLES)[rng.permutation(SAMPLES)]
        H = velocities(rng, SAMPLES)[rng.permutation(SAMPLES)]
        q1, q2, rv = sl.Mtocardan(m, *axes)
        position_ok = rv == sl.OK
        assert is_finite(q1, q2)[position_ok].all()
        for q in (q1, q2):
            np.testing.assert_allclose(sl.cardantor(q, *axes)[position_ok], m[position_ok, :3, :3], atol=1e-12)

        *values, rv = sl.Wtocardan(m, W, *axes)
        ok = rv == sl.OK
        assert 10 < ok.sum() < SAMPLES / 2
        assert position_ok[ok].all()
        assert is_finite(*values)[ok].all()
        for q, qp in (values[::2], values[1::2]):
            assert_nearly(sl.cardanto_omega(q, qp, *axes)[ok], W[ok])

        *values, rv = sl.Htocardan(m, W, H, *axes)
        ok = rv == sl.OK
        assert 5 < ok.sum() < SAMPLES / 2
        assert is_finite(*values)[ok].all()
        for q, qp, qpp in (values[::2], values[1::2]):
            with np.errstate(over="ignore", invalid="ignore"):
                omega = sl.cardanto_omega(q, qp, *axes)[ok]
                squared, omegapto = omega @ omega, skew(sl.cardanto_OMEGAPTO(q, qp, qpp, *axes)[ok])
            assert_nearly(omegapto, H[ok], allowed=1e-6 * np.abs(squared).max(axis=(1, 2)))

    @pytest.mark.parametrize("axes", SEQUENCES)
    def test_inverse_of_a(self, rng: np.random.Generator, axes: tuple[int, int, int]) -> None:
        alpha, beta = np.where(rng.random((2, SAMPLES)) < 0.5, nasty(rng, 2, SAMPLES), rng.uniform(-4, 4, (2, SAMPLES)))
        beta[::9] = rng.choice([0.0, math.pi / 2, math.pi, -math.pi / 2], len(beta[::9]))
        sig = 1 if (axes[1] - axes[0]) % 3 == 1 else -1
        Ai, rv = sl.invA(alpha, beta, sig, *axes)
        ok = rv == sl.OK
        assert 50 < ok.sum() < SAMPLES - 20
        assert is_finite(Ai)[ok].all()
        A = sl.cardantol(np.stack([alpha[ok], beta[ok], np.zeros(ok.sum())], axis=1), *axes)
        np.testing.assert_allclose(Ai[ok] @ A, np.broadcast_to(np.eye(3), A.shape), atol=1e-7)


class TestNormalization:
    @pytest.mark.parametrize("size", [3, 4])
    def test_normal(self, rng: np.random.Generator, size: int) -> None:
        A = nasty(rng, SAMPLES, size, size)
        A[::3, :3, :3] = rng.normal(size=(len(A[::3]), 3, 3)) * 10.0 ** rng.uniform(-300, 300, (len(A[::3]), 1, 1))
        A[::4, 1] = A[::4, 0]  # singular
        A[:, 3:] = rng.normal(size=A[:, 3:].shape)
        A[:, :, 3:] = rng.normal(size=A[:, :, 3:].shape)
        R, rv = sl.normal(A)
        ok = rv == sl.OK
        assert ok.sum() > 80
        assert is_finite(R)[ok].all()
        assert not ok[::4].any()
        turn = R[ok, :3, :3]
        np.testing.assert_allclose(turn @ np.swapaxes(turn, 1, 2), np.broadcast_to(np.eye(3), turn.shape), atol=1e-10)

    @pytest.mark.parametrize("scale", [1e-300, 1e-110, 1e110, 1e300])
    def test_scale_does_not_matter(self, scale: float) -> None:
        A = np.array([[1.0, 0.2, -0.1], [0.3, 0.9, 0.4], [0.0, -0.5, 1.2]])
        assert sl.normal3(scale * A).rv == sl.OK
        np.testing.assert_allclose(sl.normal3(scale * A).R, sl.normal3(A).R, atol=1e-14)
        assert sl.normal3(scale * np.diag([1.0, 1.0, 1e-15])).rv == sl.NOTOK


def lines(rng: np.random.Generator, n: int) -> tuple[Matrix, Matrix]:
    P = np.concatenate([nasty(rng, n, 3), np.ones((n, 1))], axis=1)
    P[::2, :3] = rng.normal(size=(len(P[::2]), 3))
    dir = nasty(rng, n, 3)
    dir[::3] = rng.normal(size=(len(dir[::3]), 3))
    dir[1::11] = 0.0
    return P, dir


def planes(rng: np.random.Generator, n: int) -> Matrix:
    pl = nasty(rng, n, 4)
    pl[::3] = rng.normal(size=(len(pl[::3]), 4))
    pl[1::11, :3] = 0.0
    return pl


def left(pl: Matrix, P: Matrix) -> Matrix:
    """Left-hand sides of the equations of planes, whose normals have any length, at points."""
    return np.abs(distance_to_plane(P[..., :3], pl))


class TestLinesAndPlanes:
    def test_two_planes(self, rng: np.random.Generator) -> None:
        pl1, pl2 = planes(rng, SAMPLES), planes(rng, SAMPLES)
        (P, dir), rv = sl.inters2pl(pl1, pl2)
        ok = rv == sl.OK
        assert 50 < ok.sum() < SAMPLES - 50
        assert is_finite(P, dir)[ok].all()
        for pl in (pl1[ok], pl2[ok]):
            normal = pl[:, :3] / np.abs(pl[:, :3]).max(axis=1, keepdims=True)
            across = np.abs((normal * dir[ok]).sum(axis=1))
            assert np.all(across <= 1e-12)
            away = left(pl, P[ok])
            size = np.abs(P[ok, :3]).max(axis=1) + left(pl, np.asarray(sl.ORIGIN))
            assert np.all(away <= 1e-6 * size + 1e-300)

    @pytest.mark.parametrize("size", [1.0, 1e-290, 1e-150, 1e-30, 1e-6, 1e9, 1e150, 1e290])
    def test_parallel_planes_of_any_scale(self, rng: np.random.Generator, size: float) -> None:
        normal = rng.normal(size=(SAMPLES, 3)) * 10.0 ** rng.integers(-5, 6, size=(SAMPLES, 3))
        d1, d2 = nasty(rng, 2, SAMPLES, 1)
        other = rng.choice([-1.0, 1.0], size=(SAMPLES, 1)) * size * normal
        (P, dir), rv = sl.inters2pl(np.concatenate([normal, d1], axis=1), np.concatenate([other, d2], axis=1))
        assert np.all(rv == sl.NOTOK)
        assert np.isnan(P[:, :3]).all()
        assert np.isnan(dir).all()

    def test_line_and_plane(self, rng: np.random.Generator) -> None:
        (P, dir), pl = lines(rng, SAMPLES), planes(rng, SAMPLES)
        P[2::5, :3] = 0.0  # some in the plane z = 0, some parallel to it
        dir[2::5, 2] = 0.0
        pl[2::5] = [0.0, 0.0, 7.0, 0.0]
        pl[2::10, 3] = 1.0
        I, inttype = sl.interslpl((P, dir), pl)
        assert set(np.unique(inttype)) == {sl.NOTYPE, -1, 0, 1}
        assert is_finite(I)[inttype >= 0].all()
        assert np.isnan(I[inttype < 0, :3]).all()
        legal = np.isfinite(pl).all(axis=1) & np.isfinite(dir).all(axis=1) & np.isfinite(P).all(axis=1)
        degenerate = ~legal | ~pl[:, :3].any(axis=1) | ~dir.any(axis=1)
        assert np.all(inttype[degenerate] == sl.NOTYPE)
        one = inttype == 0
        away = left(pl[one], I[one])
        size = np.maximum(np.abs(I[one]), np.abs(P[one])).max(axis=1) / 4 + left(pl[one], np.asarray(sl.ORIGIN)) / 4
        assert np.all(away <= 1e-9 * size)

    def test_two_lines(self, rng: np.random.Generator) -> None:
        l1, l2 = lines(rng, SAMPLES), lines(rng, SAMPLES)
        l2[1][3::7] = -0.5 * l1[1][3::7]  # parallel
        l2[0][3::14] = l1[0][3::14]  # the same
        l2[0][4::7] = l1[0][4::7]  # they meet
        found = sl.intersection(l1, l2)
        assert set(np.unique(found.inttype)) == {sl.NOTYPE, -1, 0, 1, 2}
        apart = np.isin(found.inttype, (0, 1))
        assert is_finite(*found.lmindist, found.mindist, found.pl, found.I)[apart].all()
        parallel = found.inttype == 2
        assert is_finite(*found.lmindist, found.mindist, found.pl)[parallel].all()
        assert np.all(found.mindist[found.inttype == -1] == 0.0)
        undefined = found.inttype == sl.NOTYPE
        degenerate = ~is_finite(*l1, *l2) | ~l1[1].any(axis=1) | ~l2[1].any(axis=1)
        assert np.all(undefined[degenerate])
        # Straight from the definition: the common perpendicular of two skew lines.
        with np.errstate(over="ignore", invalid="ignore"):
            normal = np.cross(l1[1][apart], l2[1][apart])
        known = (
            np.isfinite(normal).all(axis=1) & (np.abs(normal).max(axis=1) > 1e-3) & (np.abs(normal).max(axis=1) < 1e3)
        )
        expected = np.abs(((l2[0] - l1[0])[apart, :3] * normal).sum(axis=1))[known] / np.linalg.norm(
            normal[known], axis=1
        )
        size = np.abs(np.concatenate([l1[0], l2[0], found.I], axis=1))[apart].max(axis=1)[known]
        assert np.all(np.abs(found.mindist[apart][known] - expected) <= 1e-9 * size)


class TestRanks:
    def test_solve_and_minvers(self, rng: np.random.Generator) -> None:
        A, b = nasty(rng, SAMPLES, 3, 3), nasty(rng, SAMPLES, 3)
        A[::3], b[::3] = rng.normal(size=A[::3].shape), rng.normal(size=b[::3].shape)
        A[1::6, 2] = 0.5 * A[1::6, 0]
        A[2::12] *= 1e-300
        x, rank = sl.solve(A, b)
        assert np.array_equal(rank == 3, is_finite(x))
        assert 100 < (rank == 3).sum() < SAMPLES
        ordinary = (rank == 3) & (np.arange(SAMPLES) % 3 == 0)
        np.testing.assert_allclose(np.einsum("nij,nj->ni", A, x)[ordinary], b[ordinary], rtol=0.0, atol=1e-9)
        Ai, rank = sl.minvers(A)
        assert np.array_equal(rank == 3, is_finite(Ai))
        assert np.all(rank[~is_finite(A)] == 0)

    def test_pseudo_inv(self, rng: np.random.Generator) -> None:
        A = nasty(rng, SAMPLES, 2, 3)
        A[::2] = rng.normal(size=A[::2].shape) * 10.0 ** rng.uniform(-310, 300, size=(len(A[::2]), 1, 1))
        Api, rank = sl.pseudo_inv(A)
        assert np.all(rank[~is_finite(Api)] == 0)
        assert np.all(is_finite(Api)[rank > 0])

    @pytest.mark.parametrize("size", [3, 12], ids=["compiled", "step by step"])
    def test_linear(self, rng: np.random.Generator, size: int) -> None:
        n = 60
        H = np.concatenate([nasty(rng, n, size, size), rng.normal(size=(n, size, 1))], axis=2)
        H[::2] = rng.normal(size=(n // 2, size, size + 1))
        H[1::7, :, 0] = H[1::7, :, 1]
        found = sl.linear(H, size, size + 1, size, size)
        solved = found.irank > 0
        assert 10 < solved.sum() < n
        assert is_finite(found.H[:, :, :size], found.arm)[solved].all()
        assert np.isnan(found.H[~solved & ~is_finite(H[:, :, :size])]).all()
        full = found.irank == size
        x = np.empty((n, size))
        np.put_along_axis(x, found.ivet, found.H[:, :, size], axis=1)
        ordinary = full & (np.arange(n) % 2 == 0)
        np.testing.assert_allclose(
            np.einsum("nij,nj->ni", H[:, :, :size], x)[ordinary], H[ordinary, :, size], atol=1e-8
        )


class TestDynamicEquilibrium:
    @pytest.mark.parametrize("choice", list(itertools.product((0, 1), repeat=6))[::9])
    def test_dyn_eq(self, rng: np.random.Generator, choice: tuple[int, ...]) -> None:
        p = np.concatenate([rng.normal(size=(SAMPLES, 5, 3)), np.ones((SAMPLES, 5, 1))], axis=2)
        J = np.swapaxes(p, 1, 2) @ p
        Wp = velocities(rng, SAMPLES)[rng.permutation(SAMPLES)]
        F = velocities(rng, SAMPLES)[rng.permutation(SAMPLES)]
        F[:, 3, :3] = np.where(rng.random((SAMPLES, 1)) < 0.5, -F[:, :3, 3], F[:, 3, :3])
        J[1::5] = nasty(rng, len(J[1::5]), 4, 4)
        J[2::5, 1, 3] *= 2.0
        J[3::25, 0, 0] = -1.0
        J[4::25] *= 1e250
        found = sl.dyn_eq(J, Wp, F, [choice, [1 - c for c in choice]])
        ok = found.rv == sl.OK
        assert 10 < ok.sum() < SAMPLES / 2
        assert is_finite(found.Wp, found.F)[ok].all()
        X = found.Wp[ok] @ J[ok]
        size = np.abs(X).max(axis=(1, 2), keepdims=True) / 2 + np.abs(found.F[ok]).max(axis=(1, 2), keepdims=True) / 2
        assert np.all(np.abs(X - np.swapaxes(X, 1, 2) - found.F[ok]) <= 1e-8 * size)
        places = [(2, 1), (0, 2), (1, 0), (0, 3), (1, 3), (2, 3)]
        for (i, j), unknown in zip(places, choice, strict=True):  # what was given has not been changed
            given, result = (F, found.F) if unknown else (Wp, found.Wp)
            for row, column in ((i, j), (j, i)) if j < 3 or unknown else ((i, j),):
                errors = np.abs(result[ok, row, column] - given[ok, row, column])
                assert np.all(errors <= 1e-9 * np.abs(given[ok]).max(axis=(1, 2)) + 1e-10)


def test_every_field_with_a_return_code_is_attacked_here() -> None:
    """Routines whose results have one; of `unitv` it is a length, of `rmax` an element."""
    calls: dict[str, Callable[[], Any]] = {
        "Mtocardan": lambda: sl.Mtocardan(np.eye(4), 0, 1, 2),
        "dyn_eq": lambda: sl.dyn_eq(np.eye(4), sl.NULL4, sl.NULL4, [[1] * 6, [0] * 6]),
        "inters2pl": lambda: sl.inters2pl([0, 0, 1, 0], [1, 0, 0, 0]),
        "invA": lambda: sl.invA(0.0, 0.0, 1, 0, 1, 2),
        "mtoscrew": lambda: sl.mtoscrew(np.eye(4)),
        "normal": lambda: sl.normal(np.eye(3)),
    }
    for name, call in calls.items():
        assert "rv" in call()._fields, name


@pytest.mark.parametrize("wrong", [np.diag([1.0, 1.0, 1.0, -1.0]), 2.0 * np.eye(4)])
def test_check_refuses_what_is_not_ok(wrong: Matrix) -> None:
    with pytest.raises(ArgumentError, match="pose"):
        sl.mtoscrew(wrong, check=True)
