"""Matrices that are no rotations, positions or velocities give NaN, in their sample only; nearly legal ones do not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import chasles.interop.spacelib as sl

POINT = [1.0, 2.0, 3.0, 1.0]
R = sl.cardantor([0.3, -0.7, 1.1], sl.X, sl.Y, sl.Z)
M = sl.cardantoM([0.3, -0.7, 1.1], sl.X, sl.Y, sl.Z, POINT)
W = sl.cardtoW([0.1, 0.2, 0.3], [1.0, -2.0, 0.5], POINT)
H = sl.cardtoH([0.1, 0.2, 0.3], [1.0, -2.0, 0.5], [0.3, 0.1, -0.4], POINT)

NO_ROTATIONS = {
    "reflection": np.diag([1.0, 1.0, -1.0]),
    "inversion": -np.eye(3),
    "scaled": 1.1 * R,
    "large": 1e200 * R,
    "null": np.zeros((3, 3)),
    "projection": np.diag([1.0, 1.0, 0.0]),
    "shear": np.eye(3) + 0.1 * np.eye(3, k=1),
    "a row of NaN": np.where(np.arange(3)[:, None] == 1, math.nan, R),
    "infinite": np.where(np.eye(3) > 0, math.inf, R),
}


@pytest.mark.parametrize("scale", [0.0, 0.5, 2.0, -3.0, math.nan])
def test_planes_whose_normal_is_no_unit_vector_give_nan(scale: float) -> None:
    """d and the foot of the perpendicular are those of n·x + d = 0 only where n has length 1."""
    pl = np.array([0.6, 0.0, 0.8, -2.0])
    assert sl.distpp(pl, POINT) == pytest.approx(0.6 * 1.0 + 0.8 * 3.0 - 2.0)
    assert np.isnan(sl.distpp(scale * pl, POINT))
    assert all(np.isnan(part).any() for part in sl.project(POINT, scale * pl))
    two = sl.distpp(np.stack([scale * pl, pl]), POINT)
    assert np.isnan(two).tolist() == [True, False]
    assert np.isfinite(sl.distpp(np.round(pl, 3), POINT))


def position(A: Any, last: Any = (0.0, 0.0, 0.0, 1.0)) -> np.ndarray[Any, Any]:
    m = np.zeros((4, 4))
    m[:3, :3], m[:3, 3], m[3] = A, POINT[:3], last
    return m


NO_POSITIONS = {name: position(A) for name, A in NO_ROTATIONS.items()} | {
    "last row null": position(R, (0, 0, 0, 0)),
    "last row of -1": position(R, (0, 0, 0, -1)),
    "projective": position(R, (0.1, 0, 0, 1)),
    "transposed": position(R).T,
}


def everything_is_nan(results: Any) -> bool:
    """Whether all results but return values and the fourth coordinates of points are NaN."""
    if isinstance(results, tuple):
        fields = getattr(results, "_fields", range(len(results)))
        return all(everything_is_nan(value) for name, value in zip(fields, results, strict=True) if name != "rv")
    array = np.asarray(results)
    return bool(np.isnan(array[:3] if array.shape == (4,) or array.shape == (4, 4) else array).all())


@pytest.mark.parametrize("A", NO_ROTATIONS.values(), ids=NO_ROTATIONS.keys())
def test_matrices_that_are_no_rotations(A: Any) -> None:
    assert everything_is_nan(sl.extract(A))
    assert everything_is_nan(sl.extract(position(A), 4))
    assert everything_is_nan(sl.rtocardan(A, 3, sl.Z, sl.X, sl.Z))
    batch = sl.extract(np.array([R, A, R]))
    assert np.isnan(batch.phi).tolist() == [False, True, False]


@pytest.mark.parametrize("m", NO_POSITIONS.values(), ids=NO_POSITIONS.keys())
def test_matrices_that_are_no_positions(m: Any) -> None:
    for result in (
        sl.mtoscrew(m),
        sl.Mtocardan(m, sl.X, sl.Y, sl.Z),
        sl.Mtoeul(m),
        sl.Wtocardan(m, W, sl.X, sl.Y, sl.Z),
        sl.Htonaut(m, W, H),
    ):
        assert everything_is_nan(result)
        assert result.rv == sl.NOTOK
    for result in (sl.invers(m), sl.trasf_mami(W, m), sl.trasf_miam(W, m), sl.trasf_miamit(sl.UNIT4, m)):
        assert np.isnan(result[:3]).all()


def test_a_transformation_of_contravariant_matrices_takes_any_matrix() -> None:
    """m A mᵗ needs no inverse, and is right for any m."""
    A, m = np.arange(16.0).reshape(4, 4), np.diag([2.0, 1.0, 1.0, -1.0])
    np.testing.assert_array_equal(sl.trasf_mamt4(A, m), m @ A @ m.T)
    np.testing.assert_array_equal(sl.trasf_mamt(A, m), m @ A @ m.T)


@pytest.mark.parametrize("place", [(1, 0), (0, 1), (2, 0), (1, 2), (0, 0), (3, 3), (3, 1)])
def test_matrices_that_are_no_velocities(place: tuple[int, int]) -> None:
    """An angular velocity in one of its two places would be halved."""
    wrong = W.copy()
    wrong[place] = 0.0 if W[place] else 1.0
    assert np.isnan(sl.WtoL(wrong)[:3]).any()
    assert np.isnan(sl.Wtovel(wrong).omega)
    found = sl.Wtocardan(M, wrong, sl.X, sl.Y, sl.Z)
    assert found.rv == sl.NOTOK
    assert np.isnan([found.qp1, found.qp2]).all()
    if place[0] < 3:
        wrong = H.copy()
        wrong[place] += 5.0
        found = sl.Htocardan(M, W, wrong, sl.X, sl.Y, sl.Z)
        assert found.rv == sl.NOTOK
        assert np.isnan([found.qpp1, found.qpp2]).all()


def test_an_acceleration_matrix_and_a_rate_are_both_taken_for_accelerations() -> None:
    rate = H - W @ W
    assert sl.Htocard(M, W, H).rv == sl.Htocard(M, W, rate).rv == sl.OK
    np.testing.assert_allclose(sl.Htocard(M, W, H).qpp1, sl.Htocard(M, W, rate).qpp1, rtol=1e-12)


def test_motions_that_cancel_are_legal() -> None:
    """What rounding leaves of opposite angular velocities is not skew to rounding; the linear velocity counts."""
    m = sl.cardtoM([0.4, 0.5, 0.6], [0.3, 0.2, 0.1, 1.0])
    there = sl.trasf_mami(sl.velacctoWH(sl.Rev, 10.0, 0.0).W, m)
    back = -sl.trasf_miam(sl.trasf_mami(there, m), m)
    back[:3, 3] = [1.0, 0.0, 0.0]
    total = there + back
    assert np.any(total[:3, :3] != -total[:3, :3].T)
    assert np.isfinite(sl.Wtovel(total).vel)
    rest = there - sl.trasf_miam(sl.trasf_mami(there, m), m)
    assert np.isfinite(sl.WtoL(rest)).all()


@pytest.mark.parametrize("u", [[0.0, 0.0, 1.1], [1.0, 1.0, 0.0], [1e-9, 0.0, 0.0], [math.nan, 0.0, 1.0]])
def test_vectors_that_are_no_unit_vectors(u: Any) -> None:
    assert np.isnan(sl.rotat(u, 0.3)).any()
    assert np.isnan(sl.screwtom(u, 0.3, 0.1, POINT)[:3]).any()
    assert np.isnan(sl.makeL(sl.Rev, u, 0.0, POINT)[:3]).any()
    np.testing.assert_array_equal(np.isnan(sl.rotat([u, [0.0, 0.0, 1.0]], 0.3)[1]), False)


def test_what_extract_and_mtoscrew_give_for_none_is_taken_back() -> None:
    """The null axis of the identity is legal: it turns nothing."""
    np.testing.assert_array_equal(sl.rotat(*sl.extract(np.eye(3))), np.eye(3))
    np.testing.assert_array_equal(sl.screwtom(*sl.mtoscrew(np.eye(4))[:4]), np.eye(4))


def test_origins() -> None:
    """The original refuses a fourth coordinate other than 1 in `rotat24` alone."""
    assert np.isnan(sl.rotat24(sl.Z, 0.3, [1.0, 2.0, 3.0, 0.0])[:3, 3]).all()
    np.testing.assert_array_equal(sl.rotat24(sl.Z, 0.0, POINT)[:, 3], POINT)


@pytest.mark.parametrize("digits", [3, 6, 12])
def test_matrices_that_have_been_printed_and_read_are_legal(digits: int) -> None:
    """The programs print three digits."""
    rng = np.random.default_rng(digits)
    for _ in range(200):
        m = sl.cardantoM(rng.uniform(-3, 3, size=3), sl.X, sl.Y, sl.Z, POINT).round(digits)
        velocity = sl.cardtoW(rng.normal(size=3), rng.normal(size=3), POINT).round(digits)
        screw = sl.mtoscrew(m)
        assert screw.rv == sl.OK
        # A screw is that of the nearest rotation, with an error of the digits that are missing.
        np.testing.assert_allclose(sl.screwtom(*screw[:4])[:3, :3], m[:3, :3], atol=5 * 10.0**-digits)
        assert np.isfinite(sl.Wtovel(velocity).vel)
        np.testing.assert_allclose(sl.invers(m) @ m, np.eye(4), atol=2e1 * 10.0**-digits)
