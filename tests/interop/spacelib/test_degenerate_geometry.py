"""Degenerate frames, points, lines and planes: what the manual defines, and what is defined here where it is silent."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import chasles.interop.spacelib as sl

NAN = math.nan
POINT = [1.0, 2.0, 3.0, 1.0]
EXACT: dict[str, Any] = {"rtol": 0.0, "atol": 1e-15}


class TestFrames:
    def test_collinear_points_have_one_axis(self) -> None:
        P1, P2, P3 = [1.0, 1.0, 1.0, 1.0], [1.0, 3.0, 1.0, 1.0], [1.0, -2.0, 1.0, 1.0]
        R = sl.frameP(P1, P2, P3, sl.Z, sl.X)
        np.testing.assert_array_equal(R, [[NAN, NAN, 0], [NAN, NAN, 1], [NAN, NAN, 0]])
        np.testing.assert_array_equal(sl.frame4P(P1, P2, P3, sl.Z, sl.X)[:, 3], P1)
        assert np.isnan(sl.frameP3(P1, P1, P3, sl.Z, sl.X)).all()

    @pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
    def test_frames_of_collinear_points_have_no_inverse(self, scale: float) -> None:
        """The original makes a singular matrix of them, of which `invers` makes numbers without meaning."""
        rng = np.random.default_rng(1)
        P1, along = scale * rng.normal(size=(2, 200, 3))
        P3 = P1 + rng.normal(size=(200, 1)) * along
        P3[::4] = P1[::4]
        points = [np.concatenate([P, np.ones((200, 1))], axis=1) for P in (P1, P1 + along, P3)]
        m = sl.frame4P(*points, sl.X, sl.Y)
        assert np.isnan(m[:, :3, 1:3]).all()
        assert np.isnan(sl.invers(m)[:, :3]).all()
        assert np.isnan(sl.frame4V(points[0], along, -3.0 * along, sl.X, sl.Y)[:, :3, 1:3]).all()

    @pytest.mark.parametrize("angle", [1e-6, 1e-9, 1e-10])
    def test_nearly_collinear_points_have_a_frame_or_none(self, angle: float) -> None:
        """Where there is a frame it is one: its inverse undoes it."""
        m = sl.frame4P([0, 0, 0, 1], [1, 2, 2, 1], [2, 4, 4 + angle, 1], sl.Y, sl.Z)
        np.testing.assert_allclose(sl.invers(m) @ m, np.eye(4), atol=1e-14)
        assert np.isnan(sl.frame4P([1e6, 0, 0, 1], [1e6 + 1, 0, 0, 1], [1e6 + 2, 1e-7, 0, 1], sl.Y, sl.Z)[:3, :3]).any()

    def test_parallel_vectors_have_one_axis(self) -> None:
        R = sl.frameV([0.1, 0.2, 0.3], [-0.3, -0.6, -0.9], sl.X, sl.Y)
        np.testing.assert_allclose(R[:, 0], np.array([1, 2, 3]) / math.sqrt(14), rtol=1e-15)
        assert np.isnan(R[:, 1:]).all()
        assert np.isnan(sl.frameV([0, 0, 0], [1, 0, 0], sl.X, sl.Y)).all()

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
        O, P = [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]
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
        l, rv = sl.inters2pl([0.0, 0.6, 0.8, -5.0], [1.0, 0.0, 0.0, -2.0])
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
