"""Degenerate data and illegal codes: what the manual defines, and what is defined here where it is silent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chasles.interop.spacelib as sl
from chasles.errors import ArgumentError

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


class TestCodes:
    @pytest.mark.parametrize(
        "call",
        [
            lambda jtype: sl.dhtom(jtype, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            lambda jtype: sl.makeL(jtype, sl.Zaxis, 0.0, POINT),
            lambda jtype: sl.makeL2(jtype, sl.Z, 0.0, POINT),
            lambda jtype: sl.velacctoWH(jtype, 1.0, 1.0),
            lambda jtype: sl.velacctoWH2(jtype, sl.Z, 1.0, 1.0),
            lambda jtype: sl.velacctoWH3(jtype, sl.Z, 1.0, 1.0, POINT),
        ],
    )
    @pytest.mark.parametrize("jtype", [2, -1, "Rev", 0.5, None])
    def test_types_of_joints(self, call: Callable[[Any], Any], jtype: Any) -> None:
        with pytest.raises(ArgumentError, match=r"jtype must be one of Rev \(0\), Pri \(1\)"):
            call(jtype)

    @pytest.mark.parametrize(
        "call",
        [
            lambda a: sl.rotat2(a, 0.1),
            lambda a: sl.rotat23(a, 0.1),
            lambda a: sl.rotat24(a, 0.1, POINT),
            lambda a: sl.rotat34(a, 0.1, POINT),
            lambda a: sl.traslat2(a, 0.1),
            lambda a: sl.traslat24(a, 0.1, POINT),
            lambda a: sl.makeL2(sl.Rev, a, 0.0, POINT),
            lambda a: sl.velacctoWH2(sl.Rev, a, 1.0, 1.0),
            lambda a: sl.velacctoWH3(sl.Rev, a, 1.0, 1.0, POINT),
            sl.axis,
        ],
    )
    @pytest.mark.parametrize("a", [4, -1, "X", 1.5])
    def test_axes(self, call: Callable[[Any], Any], a: Any) -> None:
        with pytest.raises(ArgumentError, match=r"must be one of X \(0\), Y \(1\), Z \(2\)"):
            call(a)

    @pytest.mark.parametrize(
        "call",
        [
            lambda a: sl.makeL2(sl.Rev, a, 0.0, POINT),
            lambda a: sl.velacctoWH2(sl.Rev, a, 1.0, 1.0),
            lambda a: sl.velacctoWH3(sl.Rev, a, 1.0, 1.0, POINT),
            sl.axis,
        ],
    )
    def test_u_is_no_axis_of_motion(self, call: Callable[[Any], Any]) -> None:
        with pytest.raises(ArgumentError, match="not 3"):
            call(sl.U)

    def test_u_means_no_rotation_and_no_translation(self) -> None:
        np.testing.assert_array_equal(sl.rotat2(sl.U, 0.7), np.eye(3))
        np.testing.assert_array_equal(sl.rotat23(sl.U, 0.7), np.eye(3))
        translation = position(np.eye(3), POINT[:3])
        np.testing.assert_array_equal(sl.rotat24(sl.U, 0.7, POINT), translation)
        np.testing.assert_array_equal(sl.rotat34(sl.U, 0.7, POINT), translation)
        np.testing.assert_array_equal(sl.traslat2(sl.U, 0.7), np.eye(4))
        np.testing.assert_array_equal(sl.traslat24(sl.U, 0.7, POINT), translation)
        assert sl.rotat2(sl.U, [0.1, 0.2]).shape == (2, 3, 3)

    @pytest.mark.parametrize("axes", [(0, 0, 1), (0, 1, 1), (2, 2, 2)])
    @pytest.mark.parametrize(
        "call",
        [
            lambda *axes: sl.cardantor([0.0] * 3, *axes),
            lambda *axes: sl.rtocardan(np.eye(3), 3, *axes),
            lambda *axes: sl.cardantoM([0.0] * 3, *axes, POINT),
            lambda *axes: sl.Mtocardan(np.eye(4), *axes),
            lambda *axes: sl.cardantoW([0.0] * 3, [0.0] * 3, *axes, POINT),
            lambda *axes: sl.Htocardan(np.eye(4), sl.NULL4, sl.NULL4, *axes),
            lambda *axes: sl.cardantol([0.0] * 3, *axes),
            lambda *axes: sl.invA(0.1, 0.2, 1, *axes),
        ],
    )
    def test_sequences_with_equal_neighbours(self, call: Callable[..., Any], axes: tuple[int, int, int]) -> None:
        with pytest.raises(ArgumentError, match="the axis j must differ from i and from k; the sequence is"):
            call(*axes)

    def test_sequences_with_u(self) -> None:
        with pytest.raises(
            ArgumentError, match=r"cardantor: the axis k must be one of X \(0\), Y \(1\), Z \(2\), not 3"
        ):
            sl.cardantor([0.0] * 3, sl.X, sl.Y, sl.U)

    @pytest.mark.parametrize("sig", [0, 2, -1])
    def test_sign_of_a_sequence(self, sig: int) -> None:
        for routine in (sl.invA, sl.WPRODtocardan):
            with pytest.raises(ArgumentError, match="sig"):
                routine(0.1, 0.2, sig, sl.X, sl.Y, sl.Z)

    def test_axes_of_frames(self) -> None:
        points = ([0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0])
        for call in (sl.frameP, sl.frameP3, sl.frameP4, sl.frame4P):
            with pytest.raises(ArgumentError, match="a1 and a2 must differ; both are Y"):
                call(*points, sl.Y, sl.Y)
            with pytest.raises(ArgumentError, match="the axis a2 must be one of"):
                call(*points, sl.Y, sl.U)

    @pytest.mark.parametrize("sign", [0, 2, "SYMM"])
    def test_sign_of_norm_simm_skew(self, sign: Any) -> None:
        with pytest.raises(ArgumentError, match=r"sign must be one of SYMM \(1\), SKEW \(-1\)"):
            sl.norm_simm_skew(np.eye(3), 3, 3, sign)


class TestSizes:
    @pytest.mark.parametrize("dim", [2, 0, -3, 3.5, True, "3"])
    def test_dim_from_3_on(self, dim: Any) -> None:
        for call in (
            lambda: sl.rotat(sl.Xaxis, 0.1, dim),
            lambda: sl.vtom([1, 2, 3], dim),
            lambda: sl.mtov(np.eye(3), dim),
            lambda: sl.extract(np.eye(3), dim),
            lambda: sl.cardantor([0.1] * 3, 0, 1, 2, dim),
        ):
            with pytest.raises(ArgumentError, match="dim must be a whole number from 3"):
                call()

    @pytest.mark.parametrize("A", [np.eye(3), np.ones((4, 3)), np.ones(4), 1.0, np.ones((4, 4, 3))])
    def test_matrices_are_of_the_size_that_is_told(self, A: Any) -> None:
        for call in (lambda: sl.extract(A, 4), lambda: sl.mtov4(A), lambda: sl.rtocardan4(A, 0, 1, 2)):
            with pytest.raises(ArgumentError, match="has shape"):
                call()

    def test_any_size_goes_where_it_is_not_told(self) -> None:
        np.testing.assert_array_equal(sl.mtov(sl.vtom([1, 2, 3], 7)), [1, 2, 3])
        assert sl.extract(sl.rotat(sl.Yaxis, 0.5, 5)).phi == pytest.approx(0.5, rel=1e-15)
        with pytest.raises(ArgumentError, match="square, from 3×3 on"):
            sl.mtov(np.eye(2))

    def test_larger_results_are_embedded(self) -> None:
        R = sl.rotat(sl.Zaxis, 0.3, 6)
        np.testing.assert_array_equal(R[:3, :3], sl.rotat(sl.Zaxis, 0.3))
        np.testing.assert_array_equal(R[3:], np.eye(6)[3:])
        W = sl.vtom([1, 2, 3], 5)
        assert not W[3:].any()
        assert not W[:, 3:].any()

    def test_parts_of_matrices(self) -> None:
        A = np.arange(25.0).reshape(5, 5)
        kept = A.copy()
        found = sl.norm_simm_skew(A, 2, 5, sl.SKEW)
        np.testing.assert_array_equal(found[:2, :2], [[0.0, -2.0], [2.0, 0.0]])
        np.testing.assert_array_equal(found[2:], A[2:])
        np.testing.assert_array_equal(found[:, 2:], A[:, 2:])
        np.testing.assert_array_equal(A, kept)
        with pytest.raises(ArgumentError, match="n is 6, more than the size 5 of A"):
            sl.norm_simm_skew(A, 6, 5, sl.SKEW)
        with pytest.raises(ArgumentError, match="n must be a whole number from 1"):
            sl.norm_simm_skew(A, 0, 5, sl.SKEW)


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

    @pytest.mark.parametrize("axes", SEQUENCES)
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

    @pytest.mark.parametrize("axes", SEQUENCES)
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

    @pytest.mark.parametrize("axes", SEQUENCES)
    def test_inverse_of_a(self, axes: tuple[int, int, int]) -> None:
        sig = 1 if (axes[1] - axes[0]) % 3 == 1 else -1
        for q in self.singular_angles(axes):
            assert sl.invA(q[0], q[1], sig, *axes).rv == sl.NOTOK
        Ai, rv = sl.invA(0.4, 1.1, sig, *axes)
        assert rv == sl.OK
        np.testing.assert_allclose(Ai @ sl.cardantol([0.4, 1.1, 9.0], *axes), np.eye(3), rtol=0.0, atol=1e-14)


class TestFrames:
    def test_collinear_points_leave_null_columns(self) -> None:
        P1, P2, P3 = [1.0, 1.0, 1.0, 1.0], [1.0, 3.0, 1.0, 1.0], [1.0, -2.0, 1.0, 1.0]
        R = sl.frameP(P1, P2, P3, sl.Z, sl.X)
        np.testing.assert_array_equal(R, [[0, 0, 0], [0, 0, 1], [0, 0, 0]])
        np.testing.assert_array_equal(sl.frame4P(P1, P2, P3, sl.Z, sl.X)[:, 3], P1)
        np.testing.assert_array_equal(sl.frameP3(P1, P1, P3, sl.Z, sl.X), np.zeros((3, 3)))

    def test_parallel_vectors_leave_null_columns(self) -> None:
        R = sl.frameV([0.1, 0.2, 0.3], [-0.3, -0.6, -0.9], sl.X, sl.Y)
        np.testing.assert_allclose(R[:, 0], np.array([1, 2, 3]) / math.sqrt(14), rtol=1e-15)
        np.testing.assert_array_equal(R[:, 1:], np.zeros((3, 2)))
        np.testing.assert_array_equal(sl.frameV([0, 0, 0], [1, 0, 0], sl.X, sl.Y), np.zeros((3, 3)))

    def test_nan_is_not_null(self) -> None:
        assert np.isnan(sl.frameV([1.0, 0.0, 0.0], [0.0, NAN, 0.0], sl.X, sl.Y)[:, 1:]).any()
        assert np.isnan(sl.frameP3([0, 0, NAN, 1], [1, 0, 0, 1], [0, 1, 0, 1], sl.X, sl.Y)).any()

    @pytest.mark.parametrize(("a1", "a2"), [p for p in itertools.product(range(3), repeat=2) if p[0] != p[1]])
    def test_frames_are_right_handed(self, a1: int, a2: int) -> None:
        """The manual's "third axis = v1 x v2" holds for cyclic pairs; for others it is v2 x v1."""
        v1, v2 = np.array([1.0, 2.0, -0.5]), np.array([0.3, -1.0, 2.0])
        R = sl.frameV3(v1, v2, a1, a2)
        third = np.cross(v1, v2) if (a2 - a1) % 3 == 1 else np.cross(v2, v1)
        np.testing.assert_allclose(R[:, a1], v1 / np.linalg.norm(v1), **EXACT)
        np.testing.assert_allclose(R[:, 3 - a1 - a2], third / np.linalg.norm(third), **EXACT)
        assert R[:, a2] @ v2 > 0
        assert np.linalg.det(R) == pytest.approx(1.0, rel=1e-14)


class TestPoints:
    def test_angle_keeps_its_digits(self) -> None:
        O, P = [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]  # noqa: E741
        assert sl.angle(P, O, [1.0, 1e-11, 0.0, 1.0]) == pytest.approx(1e-11, rel=1e-14)
        assert sl.angle(P, O, [-1.0, 1e-11, 0.0, 1.0]) == pytest.approx(math.pi - 1e-11, rel=1e-15)
        assert sl.angle(P, O, [-2.0, 0.0, 0.0, 1.0]) == math.pi
        assert sl.angle(P, P, O) == 0.0

    @pytest.mark.parametrize(("a", "b"), [(1.0, -1.0), (0.0, 0.0), (0.1 + 0.2, -0.3)])
    def test_weights_whose_sum_is_null_are_not_divided(self, a: float, b: float) -> None:
        P1, P2 = np.array([1.0, 2.0, 3.0, 1.0]), np.array([3.0, 2.0, 1.0, 1.0])
        expected = [*(a * P1 + b * P2)[:3], 1.0]
        np.testing.assert_allclose(sl.intermediate(P1, a, P2, b), expected, **EXACT)

    def test_small_weights_are_weights(self) -> None:
        P = sl.intermediate([0, 0, 0, 1], 3e-20, [4, 0, 0, 1], 1e-20)
        np.testing.assert_allclose(P, [1.0, 0.0, 0.0, 1.0], **EXACT)
        assert np.isnan(sl.intermediate([0, 0, 0, 1], NAN, [4, 0, 0, 1], 1.0)[:3]).all()

    def test_vector_of_two_points_goes_to_the_first(self) -> None:
        np.testing.assert_array_equal(sl.vect([1, 2, 3, 1], [0, 0, 1, 1]), [1, 2, 2])


class TestLinesAndPlanes:
    def test_lines_without_direction(self) -> None:
        assert np.isnan(sl.line2p(POINT, POINT).dir).all()
        assert np.isnan(sl.linepvect(POINT, [0, 0, 0]).dir).all()
        np.testing.assert_array_equal(sl.line2p(POINT, POINT).P, POINT)

    def test_skew_lines(self) -> None:
        found = sl.intersection(([1, 0, 0, 1], [0, 0, 1]), ([0, 3, 0, 1], [1, 0, 0]))
        assert found.inttype == 1
        assert found.mindist == pytest.approx(3.0, rel=1e-15)
        np.testing.assert_allclose(found.I, [1.0, 1.5, 0.0, 1.0], **EXACT)
        np.testing.assert_allclose(found.lmindist.P, found.I, **EXACT)
        np.testing.assert_allclose(found.lmindist.dir, [0.0, 1.0, 0.0], **EXACT)  # u1 x u2
        np.testing.assert_allclose(found.pl, [0.0, 1.0, 0.0, -1.5], **EXACT)

    def test_lines_with_one_intersection(self) -> None:
        meeting = np.array([0.1, 0.7, -0.3])
        u1, u2 = np.array([0.48, -0.6, 0.64]), np.array([0.6, 0.0, 0.8])
        found = sl.intersection(([*(meeting + 2 * u1), 1.0], u1), ([*(meeting - 3 * u2), 1.0], 5 * u2))
        assert (found.inttype, found.mindist) == (0, 0.0)
        np.testing.assert_allclose(found.I, [*meeting, 1.0], rtol=0.0, atol=1e-14)
        for direction in (u1, u2):
            assert found.pl[:3] @ direction == pytest.approx(0.0, abs=1e-15)
        assert sl.distpp(found.pl, found.I) == pytest.approx(0.0, abs=1e-15)

    @pytest.mark.parametrize("side", [1.0, -1.0])
    def test_parallel_lines(self, side: float) -> None:
        found = sl.intersection(([1, 0, 0, 1], [0, 0, 1]), ([1, 2, 7, 1], [0, 0, side]))
        assert (found.inttype, found.mindist) == (2, 2.0)
        assert np.isnan(found.I[:3]).all()
        np.testing.assert_allclose(found.pl, [1.0, 0.0, 0.0, -1.0], **EXACT)  # along (P2 - P1) x u1
        np.testing.assert_array_equal(found.lmindist.P, [1, 0, 0, 1])
        np.testing.assert_allclose(found.lmindist.dir, [0.0, -1.0, 0.0], **EXACT)  # away from the second line

    def test_the_same_line(self) -> None:
        u = np.array([0.48, -0.6, 0.64])
        found = sl.intersection((POINT, u), ([*(np.array(POINT[:3]) + 0.7 * u), 1.0], -u))
        assert (found.inttype, found.mindist) == (-1, 0.0)
        assert np.isnan(found.pl).all()
        assert np.isnan(found.I[:3]).all()

    def test_nearly_parallel_lines_meet_where_they_do(self) -> None:
        angle = 1e-7
        u2 = [math.cos(angle), math.sin(angle), 0.0]
        found = sl.intersection(([0, 0, 0, 1], [1, 0, 0]), ([0, -1e-6, 0, 1], u2))
        assert found.inttype == 0
        assert found.I[0] == pytest.approx(1e-6 / math.tan(angle), rel=1e-8)

    def test_signs_of_distances(self) -> None:
        pl = [0.0, 0.0, 1.0, -5.0]
        assert sl.distpp(pl, [0, 0, 7, 1]) == 2.0
        assert sl.distpp(pl, [0, 0, 1, 1]) == -4.0
        assert sl.project([0, 0, 1, 1], pl).d == -4.0
        assert sl.projponl([0, -2, 9, 1], sl.Line(sl.ORIGIN, sl.Zaxis)).d == 2.0
        assert sl.plane2([0, 0, 5, 1], [0, 0, 3]).tolist() == pl
        assert sl.distpp(pl, sl.ORIGIN) == pl[3]  # d is the distance of the origin

    def test_planes_of_collinear_points_do_not_exist(self) -> None:
        assert np.isnan(sl.plane([0, 0, 0, 1], [1, 1, 1, 1], [3, 3, 3, 1])).all()
        assert np.isnan(sl.plane2(POINT, [0, 0, 0])).all()

    def test_two_planes(self) -> None:
        l, rv = sl.inters2pl([0.0, 0.6, 0.8, -5.0], [1.0, 0.0, 0.0, -2.0])  # noqa: E741
        assert rv == sl.OK
        np.testing.assert_allclose(l.P, [2.0, 3.0, 4.0, 1.0], **EXACT)
        np.testing.assert_allclose(l.dir, [0.0, 0.8, -0.6], **EXACT)
        for side in (1.0, -1.0):
            parallel = sl.inters2pl([0.0, 0.6, 0.8, -5.0], [0.0, 0.6 * side, 0.8 * side, 1.0])
            assert parallel.rv == sl.NOTOK
            assert np.isnan(parallel.l.P[:3]).all()
            assert np.isnan(parallel.l.dir).all()

    def test_line_and_plane(self) -> None:
        pl = [0.0, 0.0, 1.0, -5.0]
        assert sl.interslpl(([1, 2, 9, 1], [1, 0, 0]), pl).inttype == -1
        # The original takes the sign of the distance for a size, and gives 1 below the plane.
        below = sl.interslpl(([1, 2, -9, 1], [1, 0, 0]), pl)
        assert below.inttype == -1
        assert np.isnan(below.I[:3]).all()
        on_plane = sl.interslpl(([1, 2, 5, 1], [1, 0, 0]), pl)
        assert on_plane.inttype == 1
        np.testing.assert_array_equal(on_plane.I, [1, 2, 5, 1])
        through = sl.interslpl(([1, 2, 9, 1], [1, 0, 2]), pl)
        assert through.inttype == 0
        np.testing.assert_allclose(through.I, [-1.0, 2.0, 5.0, 1.0], rtol=0.0, atol=1e-14)
