"""Degenerate rotations and motions: what the manual defines, and what is defined here where it is silent."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.thinning import thinned

import chasles.interop.spacelib as sl
from chasles.base.errors import ArgumentError

SEQUENCES = [s for s in itertools.product((sl.X, sl.Y, sl.Z), repeat=3) if s[0] != s[1] and s[1] != s[2]]
NAN = math.nan
POINT = [1.0, 2.0, 3.0, 1.0]
EXACT: dict[str, Any] = {"rtol": 0.0, "atol": 1e-15}


def rotation(angle: float, axis: Any) -> np.ndarray[Any, Any]:
    """Rotation by Rodrigues' formula, about an axis of any length."""
    x, y, z = np.asarray(axis) / math.hypot(*axis)
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * S + 2.0 * math.sin(0.5 * angle) ** 2 * (S @ S)


def position(R: Any, t: Any) -> np.ndarray[Any, Any]:
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = R, t
    return m


class TestRotationsAndScrews:
    def test_null_rotation_has_a_null_axis(self) -> None:
        u, phi = sl.extract(np.eye(3))
        assert phi == 0.0
        np.testing.assert_array_equal(u, np.zeros(3))

    @pytest.mark.parametrize("axis", [(1, 0, 0), (-0.6, 0.8, 0.0), (0.0, -1.0, 0.0), (0.48, -0.6, -0.64)])
    def test_half_turn_has_an_axis_with_its_largest_component_positive(self, axis: Any) -> None:
        R = 2.0 * np.outer(axis, axis) - np.eye(3)
        u, phi = sl.extract(R)
        expected = np.asarray(axis) * np.sign(axis[int(np.argmax(np.abs(axis)))])
        assert phi == pytest.approx(math.pi, rel=1e-15)
        np.testing.assert_allclose(u, expected, rtol=0.0, atol=2e-15)

    @pytest.mark.parametrize("phi", [1e-300, 1e-12, 1e-5, 1.0, math.pi - 1e-9])
    def test_axis_keeps_all_digits(self, phi: float) -> None:
        """The original loses four digits of u for angles below 1e-5."""
        axis = np.array([0.48, -0.6, 0.64])
        u, angle = sl.extract(rotation(phi, axis))
        assert angle == pytest.approx(phi, rel=1e-14)
        np.testing.assert_allclose(u, axis, rtol=0.0, atol=1e-14)

    def test_pure_translation(self) -> None:
        u, phi, h, P, rv = sl.mtoscrew(position(np.eye(3), [0.0, 3.0, -4.0]))
        assert (phi, rv) == (0.0, sl.OK)
        assert h == pytest.approx(5.0, rel=1e-15)
        np.testing.assert_allclose(u, [0.0, 0.6, -0.8], **EXACT)
        np.testing.assert_array_equal(P, sl.ORIGIN)

    @pytest.mark.parametrize("noise", [0.0, 1e-16, -3e-15])
    def test_identity_up_to_rounding(self, noise: float) -> None:
        Q = position(rotation(noise, [1.0, 2.0, 3.0]), [noise, 0.0, noise])
        u, phi, h, P, rv = sl.mtoscrew(Q)
        assert (phi, h, rv) == (0.0, 0.0, sl.NOTOK)
        np.testing.assert_array_equal(u, np.zeros(3))
        np.testing.assert_array_equal(P, sl.ORIGIN)

    def test_rotation_of_rounding_errors_is_a_pure_translation(self) -> None:
        u, phi, h, P, rv = sl.mtoscrew(position(rotation(5e-15, [0, 0, 1]), [1.0, 0.0, 0.0]))
        assert (phi, h, rv) == (0.0, 1.0, sl.OK)
        np.testing.assert_array_equal(u, [1.0, 0.0, 0.0])
        np.testing.assert_array_equal(P, sl.ORIGIN)

    @pytest.mark.parametrize("phi", [1e-12, 1e-6, 3.0, math.pi - 1e-7])
    def test_small_and_large_rotations_give_their_screw(self, phi: float) -> None:
        axis = np.array([0.48, -0.6, 0.64])
        P = np.array([0.3, 0.2, -0.1]) - (np.array([0.3, 0.2, -0.1]) @ axis) * axis
        R = rotation(phi, axis)
        turned = math.sin(phi) * np.cross(axis, P) - 2.0 * math.sin(phi / 2) ** 2 * P  # R P - P, for P across the axis
        found = sl.mtoscrew(position(R, 0.5 * axis - turned))
        np.testing.assert_allclose(found.u, axis, rtol=0.0, atol=1e-14)
        np.testing.assert_allclose(found.P[:3], P, rtol=0.0, atol=1e-15 / min(phi, 1.0) + 2e-15)
        assert found.phi == pytest.approx(phi, rel=1e-14)
        assert found.h == pytest.approx(0.5, rel=1e-14)
        assert found.rv == sl.OK

    def test_nan_is_not_ok(self) -> None:
        Q = np.stack([position(rotation(1.0, [1, 0, 0]), [1.0, 2.0, 3.0])] * 3)
        Q[0, 0, 0], Q[2, 1, 3] = NAN, NAN
        found = sl.mtoscrew(Q)
        assert found.rv.tolist() == [sl.NOTOK, sl.OK, sl.NOTOK]
        assert np.isnan(found.phi).tolist() == [True, False, False]
        assert np.isnan(found.h).tolist() == [True, False, True]
        assert np.isnan(found.P[:, :3]).all(axis=1).tolist() == [True, False, True]

    def test_length_of_the_vector_of_traslat_does_not_count(self) -> None:
        np.testing.assert_allclose(sl.traslat([0, 30, 40], 10.0)[:3, 3], [0.0, 6.0, 8.0], rtol=1e-15)
        np.testing.assert_array_equal(sl.traslat([0, 0, 0], 10.0), np.eye(4))

    def test_arguments_are_examined_on_request(self) -> None:
        with pytest.raises(ArgumentError, match="rotation"):
            sl.extract(2.0 * np.eye(3), check=True)
        with pytest.raises(ArgumentError, match=r"\(1,\)"):
            sl.rtocardan3([np.eye(3), np.ones((3, 3))], 0, 1, 2, check=True)
        with pytest.raises(ArgumentError, match="unit vector"):
            sl.screwtom([1, 1, 0], 0.1, 0.2, POINT, check=True)
        with pytest.raises(ArgumentError, match=r"rotat24: O is not a point \[x, y, z, 1\]: it is 1 away"):
            sl.rotat24(sl.Z, 0.1, [1, 2, 3, 0], check=True)
        np.testing.assert_array_equal(sl.extract(np.eye(4), 4, check=True).u, np.zeros(3))


class TestVelocities:
    def test_null_velocity(self) -> None:
        np.testing.assert_array_equal(sl.WtoL(sl.NULL4), sl.NULL4)
        u, omega, vel, P = sl.Wtovel(sl.NULL4)
        assert (omega, vel) == (0.0, 0.0)
        np.testing.assert_array_equal(u, np.zeros(3))
        np.testing.assert_array_equal(P, sl.ORIGIN)

    def test_pitch_stays_in_l(self) -> None:
        W = sl.rmolt4(sl.makeL(sl.Rev, [0.0, 0.6, 0.8], 0.25, POINT), 3.0)
        np.testing.assert_allclose(sl.WtoL(W), sl.makeL(sl.Rev, [0.0, 0.6, 0.8], 0.25, POINT), **EXACT)

    def test_rotation_of_rounding_errors_is_none(self) -> None:
        W = sl.vtom4([3e-16, -1e-16, 0.0])
        W[:3, 3] = [0.0, 3.0, 4.0]
        np.testing.assert_allclose(sl.WtoL(W), sl.makeL(sl.Pri, [0.0, 0.6, 0.8], 0.0, sl.ORIGIN), **EXACT)
        u, omega, vel, P = sl.Wtovel(W)
        assert (omega, vel) == (0.0, 5.0)
        np.testing.assert_allclose(u, [0.0, 0.6, 0.8], **EXACT)
        np.testing.assert_array_equal(P, sl.ORIGIN)

    def test_slow_rotation_about_a_near_axis_is_one(self) -> None:
        W = sl.rmolt4(sl.makeL(sl.Rev, [0.0, 0.6, 0.8], 0.25, POINT), 1e-30)
        np.testing.assert_allclose(sl.WtoL(W), sl.makeL(sl.Rev, [0.0, 0.6, 0.8], 0.25, POINT), rtol=0.0, atol=2e-15)

    @pytest.mark.parametrize("place", [(2, 1), (1, 2), (0, 3)])
    def test_nan_goes_through(self, place: tuple[int, int]) -> None:
        W = np.stack([sl.velacctoWH3(sl.Rev, sl.X, 1.0, 0.0, POINT).W] * 2)
        W[(0, *place)] = NAN
        assert np.isnan(sl.WtoL(W)).any(axis=(1, 2)).tolist() == [True, False]
        assert np.isnan(sl.Wtovel(W).vel).tolist() == [True, False]
        assert np.isnan(sl.Wtovel(W).P[:, :3]).any(axis=1).tolist() == [True, False]

    def test_point_of_a_prismatic_joint_is_ignored(self) -> None:
        nowhere = [NAN, NAN, NAN, 1.0]
        np.testing.assert_array_equal(sl.makeL(sl.Pri, sl.Zaxis, NAN, nowhere)[:, 3], [0, 0, 1, 0])
        W, H = sl.velacctoWH3(sl.Pri, sl.Z, 2.0, 3.0, nowhere)
        assert (W[2, 3], H[2, 3]) == (2.0, 3.0)
        assert np.count_nonzero(W) == np.count_nonzero(H) == 1


class TestNormalization:
    @staticmethod
    def limit(R: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Eq. (3.7), iterated as the manual says."""
        for _ in range(100):
            root = np.cbrt(np.linalg.det(R))
            R = 0.5 * (R / root + root * np.linalg.inv(R).T)
        return R

    @pytest.mark.parametrize("seed", range(8))
    def test_normal_is_the_limit_of_the_manual_s_iteration(self, seed: int) -> None:
        A = np.random.default_rng(seed).normal(size=(3, 3))
        A[0] *= -1.0 if (np.linalg.det(A) < 0) != (seed % 2 == 1) else 1.0  # both signs of the determinant
        R, rv = sl.normal(A)
        assert rv == sl.OK
        np.testing.assert_allclose(R, self.limit(A), rtol=0.0, atol=1e-12)

    def test_rotations_stay(self) -> None:
        R = rotation(1.0, [1.0, 2.0, 3.0])
        np.testing.assert_allclose(sl.normal3(R).R, R, rtol=0.0, atol=1e-15)
        m = position(R * (1 + 1e-9), [1.0, 2.0, 3.0])
        m4, rv = sl.normal4(m)
        assert rv == sl.OK
        np.testing.assert_allclose(m4, position(R, [1.0, 2.0, 3.0]), rtol=0.0, atol=1e-15)

    @pytest.mark.parametrize("A", [np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0]), np.ones((3, 3))])
    def test_singular_matrices(self, A: np.ndarray[Any, Any]) -> None:
        R, rv = sl.normal(A, 3)
        assert rv == sl.NOTOK
        np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0.0, atol=1e-12)
        assert np.linalg.det(R) == pytest.approx(1.0, abs=1e-12)

    def test_nan_is_not_ok(self) -> None:
        A = np.stack([np.eye(3), np.full((3, 3), NAN)])
        R, rv = sl.normal(A)
        assert rv.tolist() == [sl.OK, sl.NOTOK]
        assert np.isnan(R).any(axis=(1, 2)).tolist() == [False, True]

    def test_other_sizes(self) -> None:
        with pytest.raises(ArgumentError, match="must be 3 or 4, not 5"):
            sl.normal(np.eye(5))


class TestCardanSingularities:
    @staticmethod
    def singular_angles(axes: tuple[int, int, int], offset: float = 0.0) -> list[np.ndarray[Any, Any]]:
        middles = (0.0, math.pi) if axes[0] == axes[2] else (math.pi / 2, -math.pi / 2)
        return [np.array([0.3, middle + offset, -0.8]) for middle in middles]

    @pytest.mark.parametrize("axes", SEQUENCES)
    def test_singular_positions_are_not_ok_and_have_angles_all_the_same(self, axes: tuple[int, int, int]) -> None:
        """The original finds them for Euler angles of 0 only: it compares with exact 0."""
        for q in self.singular_angles(axes):
            m = sl.cardantoM(q, *axes, POINT)
            q1, q2, rv = sl.Mtocardan(m, *axes)
            assert rv == sl.NOTOK
            for found in (q1, q2, *sl.rtocardan(m, 4, *axes)):
                np.testing.assert_allclose(sl.cardantor(found, *axes), m[:3, :3], rtol=0.0, atol=1e-14)

    @pytest.mark.parametrize("axes", thinned(SEQUENCES, keep=5))
    def test_singular_positions_have_no_rates(self, axes: tuple[int, int, int]) -> None:
        for q in self.singular_angles(axes):
            m = sl.cardantoM(q, *axes, POINT)
            found = sl.Htocardan(m, sl.vtom4([1, 2, 3]), sl.vtom4([4, 5, 6]), *axes)
            assert found.rv == sl.NOTOK
            assert np.isnan(found[2:6]).all()
            assert np.isfinite(found[:2]).all()
            velocity = sl.Wtocardan(m, sl.vtom4([1, 2, 3]), *axes)
            assert velocity.rv == sl.NOTOK
            assert np.isnan(velocity[2:4]).all()

    @pytest.mark.parametrize("axes", thinned(SEQUENCES, keep=5))
    def test_positions_beside_singular_ones_have_rates(self, axes: tuple[int, int, int]) -> None:
        qp, qpp = np.array([0.5, -0.4, 0.7]), np.array([0.2, 0.6, -0.9])
        for q in self.singular_angles(axes, offset=-1e-5):
            m = sl.cardantoM(q, *axes, sl.ORIGIN)
            W, H = sl.cardantoW(q, qp, *axes, sl.ORIGIN), sl.cardantoH(q, qp, qpp, *axes, sl.ORIGIN)
            found = sl.Htocardan(m, W, H, *axes)
            assert found.rv == sl.OK
            # Rounding errors of the matrices are divided by the sine or cosine of the middle angle, three times.
            one = min(range(2), key=lambda solution: np.abs(found[solution] - q).max())
            np.testing.assert_allclose(found[one], q, rtol=0.0, atol=1e-10)
            np.testing.assert_allclose(found[2 + one], qp, rtol=0.0, atol=1e-9)
            np.testing.assert_allclose(found[4 + one], qpp, rtol=0.0, atol=1e-4)

    def test_samples_with_nan_are_not_ok(self) -> None:
        m = np.stack([np.eye(4), np.eye(4)])
        m[1, :3, :3] = NAN
        assert sl.Mtocard(m).rv.tolist() == [sl.OK, sl.NOTOK]
        assert sl.Wtocard(m, sl.vtom4([1, 2, 3])).rv.tolist() == [sl.OK, sl.NOTOK]

    @pytest.mark.parametrize("axes", thinned(SEQUENCES, keep=5))
    def test_inverse_of_a(self, axes: tuple[int, int, int]) -> None:
        sig = 1 if (axes[1] - axes[0]) % 3 == 1 else -1
        for q in self.singular_angles(axes):
            assert sl.invA(q[0], q[1], sig, *axes).rv == sl.NOTOK
        Ai, rv = sl.invA(0.4, 1.1, sig, *axes)
        assert rv == sl.OK
        np.testing.assert_allclose(Ai @ sl.cardantol([0.4, 1.1, 9.0], *axes), np.eye(3), rtol=0.0, atol=1e-14)
