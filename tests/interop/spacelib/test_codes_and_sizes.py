"""Illegal codes and sizes raise `ArgumentError`; what the axis U and the argument dim mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chasles.interop.spacelib as sl
from chasles.base.errors import ArgumentError

POINT = [1.0, 2.0, 3.0, 1.0]


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
