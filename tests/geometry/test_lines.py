"""Lines: cases by construction, nearest points against 60 digits, nearly parallel lines, degenerate data."""

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from chasles.geometry import (
    LinePair,
    intersect_lines,
    line_through_points,
    pose_from_two_vectors,
    project_point_on_line,
)

EPS = np.finfo(float).eps


def exact_nearest_points(p1, u1, p2, u2):
    """Nearest points of two lines at 60 digits, from the conditions that their difference is across both lines."""
    with mpmath.workdps(60):
        p1, u1, p2, u2 = (mpmath.matrix([mpmath.mpf(x) for x in v.tolist()]) for v in (p1, u1, p2, u2))
        d = p2 - p1
        A = mpmath.matrix([[(u1.T * u1)[0], -(u1.T * u2)[0]], [(u1.T * u2)[0], -(u2.T * u2)[0]]])
        t = mpmath.lu_solve(A, mpmath.matrix([(u1.T * d)[0], (u2.T * d)[0]]))
        q1, q2 = p1 + t[0] * u1, p2 + t[1] * u2
        return np.array(q1, dtype=float), np.array(q2, dtype=float), float(mpmath.norm(q1 - q2))


def random_frame(seed):
    rng = np.random.default_rng(seed)
    return Rotation.random(random_state=seed).as_matrix(), rng.normal(size=3)


def test_line_through_points():
    line = line_through_points([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], [[1.0, -2.0, 4.0], [1.0, 1.0, 0.0]])
    np.testing.assert_allclose(line.direction[0], [0.0, -0.6, 0.8], rtol=0, atol=EPS)
    np.testing.assert_array_equal(line.point, [[1.0, 1.0, 0.0]] * 2)
    assert np.isnan(line.direction[1]).all()


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_projection_is_the_nearest_point(shape):
    rng = np.random.default_rng(1)
    p, point, direction = rng.normal(size=(3, *shape, 3))
    found = project_point_on_line(p, point, 10.0 * direction)
    assert found.point.shape == (*shape, 3)
    assert found.distance.shape == shape
    across = p - found.point
    np.testing.assert_allclose(np.sum(across * direction, -1), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.cross(found.point - point, direction), 0.0, atol=1e-14)
    np.testing.assert_allclose(found.distance, np.linalg.norm(across, axis=-1), rtol=1e-13)


def test_projection_of_the_manual_of_spacelib():
    """Example 3.28, p. 71: the direction is not a unit vector."""
    line = [3, 7.2, 2.05], [0.7, 4, 9]
    found = project_point_on_line([5, 1, 3], *line)
    perpendicular = line_through_points([5, 1, 3], found.point)
    np.testing.assert_allclose(perpendicular.direction, [-0.32867, 0.87226, -0.36211], rtol=0, atol=1e-5)


def test_distance_of_a_point_near_a_line_keeps_its_digits():
    direction = np.array([3.0, 4.0, 0.0])
    p = 1e3 * direction + np.array([0.0, 0.0, 1e-9])
    assert project_point_on_line(p, np.zeros(3), direction).distance == pytest.approx(1e-9, rel=1e-15)
    assert project_point_on_line([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], direction).distance == 0.0


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
@pytest.mark.parametrize("lengths", [(1.0, 1.0), (1e-200, 1e150)])
def test_skew_lines_meet_their_common_perpendicular(shape, lengths):
    rng = np.random.default_rng(2)
    p1, u1, p2, u2 = rng.normal(size=(4, *shape, 3))
    found = intersect_lines(p1, lengths[0] * u1, p2, lengths[1] * u2)
    assert found.kind.dtype == int
    assert (found.kind == LinePair.SKEW).all()
    assert found.point1.shape == (*shape, 3)
    np.testing.assert_allclose(np.cross(found.point1 - p1, u1), 0.0, atol=1e-13)
    np.testing.assert_allclose(np.cross(found.point2 - p2, u2), 0.0, atol=1e-13)
    between = found.point2 - found.point1
    for u in (u1, u2):
        np.testing.assert_allclose(np.sum(between * u, -1), 0.0, atol=1e-13)
    np.testing.assert_allclose(found.distance, np.linalg.norm(between, axis=-1), rtol=1e-12)
    normal = np.cross(u1, u2)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    np.testing.assert_allclose(found.normal, normal, rtol=0, atol=1e-14)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    angle=st.sampled_from([1e-11, 1e-9, 1e-6, 1e-3, 1.0, np.pi / 2, 2.0, np.pi - 1e-5]),
    distance=st.sampled_from([0.0, 1e-9, 1e-3, 1.0]),
    along=st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0)),
)
def test_cases_and_points_of_lines_that_are_placed_so(seed, angle, distance, along):
    R, common = random_frame(seed)
    u1 = R[:, 0]
    u2 = R @ [np.cos(angle), np.sin(angle), 0.0]
    p1, p2 = common + along[0] * u1, common + along[1] * u2 + distance * R[:, 2]
    found = intersect_lines(p1, u1, p2, u2)
    assert found.kind == (LinePair.SKEW if distance else LinePair.INTERSECTING)
    # The data are rounded: an error of a direction turns the common perpendicular by itself over the lines' angle.
    error = 60 * EPS / np.sin(angle) * (1.0 + distance / np.sin(angle))
    np.testing.assert_allclose(found.point1, common, rtol=0, atol=error)
    np.testing.assert_allclose(found.point2, common + distance * R[:, 2], rtol=0, atol=error)
    turned = 2 * EPS / np.sin(angle)
    np.testing.assert_allclose(found.distance, distance, rtol=turned**2, atol=60 * EPS)


@pytest.mark.parametrize("angle", [1e-2, 1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_nearly_parallel_lines_are_as_exact_as_their_data(angle, sense):
    """Against 60 digits for these very numbers: the errors are of rounding, not of rounding over the angle."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        R = Rotation.random(random_state=rng.integers(10**6)).as_matrix()
        u1 = R[:, 0]
        u2 = R @ [sense * np.cos(angle), np.sin(angle), 0.0]
        p1, p2 = rng.normal(size=(2, 3))
        q1, q2, distance = exact_nearest_points(p1, u1, p2, u2)
        found = intersect_lines(p1, u1, p2, u2)
        apart = np.abs(p1).max() + np.abs(p2).max()
        np.testing.assert_allclose(found.point1, q1, rtol=0, atol=4 * EPS * apart / angle)
        np.testing.assert_allclose(found.point2, q2, rtol=0, atol=4 * EPS * apart / angle)
        np.testing.assert_allclose(found.distance, distance, rtol=0, atol=4 * EPS * apart)


@pytest.mark.parametrize("sense", [1.0, -2.5])
def test_parallel_and_same_lines(sense):
    for seed in range(20):
        R, p1 = random_frame(seed)
        u = R[:, 0]
        beside = p1 + 3.0 * u + 2.0 * R[:, 1]
        found = intersect_lines(p1, u, beside, sense * u)
        assert found.kind == LinePair.PARALLEL
        assert found.distance == pytest.approx(2.0, rel=4 * EPS)
        np.testing.assert_array_equal(found.point1, p1)
        np.testing.assert_allclose(found.point2, p1 + 2.0 * R[:, 1], rtol=0, atol=1e-14)
        np.testing.assert_allclose(found.normal, R[:, 2], rtol=0, atol=1e-14)

        found = intersect_lines(p1, u, p1 + 3.0 * u, sense * u)
        assert found.kind == LinePair.SAME
        assert found.distance < 1e-14
        np.testing.assert_allclose(found.point2, p1, rtol=0, atol=1e-14)
        assert np.isnan(found.normal).all()


def test_lines_through_one_point():
    found = intersect_lines(np.zeros(3), [1.0, 0.0, 0.0], np.zeros(3), [0.0, 1.0, 0.0])
    assert found.kind == LinePair.INTERSECTING
    assert found.distance == 0.0
    np.testing.assert_array_equal(found.point1, np.zeros(3))


def test_tolerances_decide_the_case():
    x, y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    high = [5.0, 0.0, 1e-6]
    assert intersect_lines(np.zeros(3), x, high, y).kind == LinePair.SKEW
    assert intersect_lines(np.zeros(3), x, high, y, tolerance=1e-6).kind == LinePair.INTERSECTING
    assert intersect_lines(np.zeros(3), x, high, y, absolute_tolerance=1e-5).kind == LinePair.INTERSECTING
    assert intersect_lines(np.zeros(3), x, high, x).kind == LinePair.PARALLEL
    assert intersect_lines(np.zeros(3), x, high, x, absolute_tolerance=1e-5).kind == LinePair.SAME
    slightly = [1.0, 1e-7, 0.0]
    assert intersect_lines(np.zeros(3), x, high, slightly).kind == LinePair.SKEW
    assert intersect_lines(np.zeros(3), x, high, slightly, tolerance=1e-6).kind == LinePair.SAME
    # Relative to the coordinates, so that the unit of length does not matter.
    far = 1e9 * np.array([1.0, 1.0, 1.0])
    assert intersect_lines(far, x, far + np.array([0.0, 0.0, 1e-5]), y).kind == LinePair.INTERSECTING
    assert intersect_lines(np.zeros(3), x, [5e-20, 0.0, 1e-21], y).kind == LinePair.SKEW


def test_nan_and_null_directions_stay_in_their_sample():
    p1, u1, p2, u2 = np.random.default_rng(4).normal(size=(4, 3, 3))
    u1[0] = 0.0
    p2[1, 2] = np.nan
    found = intersect_lines(p1, u1, p2, u2)
    for values in (found.distance[:, np.newaxis], found.point1, found.point2):
        assert np.isnan(values).all(axis=1).tolist() == [True, True, False]
        assert np.isfinite(values[2]).all()
    assert np.isnan(found.normal[0]).all()
    assert np.isfinite(found.normal[2]).all()
    assert np.isnan(project_point_on_line([1.0, 2.0, 3.0], [0.0] * 3, [0.0] * 3).distance)


def test_lines_that_do_not_exist_are_of_no_kind():
    """A null direction, NaN and overflow: the kind must not claim an intersection."""
    p1, u1, p2, u2 = np.random.default_rng(5).normal(size=(4, 6, 3))
    u1[0], u2[1], p1[2, 0], u2[3, 1], p2[4] = 0.0, 0.0, np.nan, np.inf, 1.7e308
    p1[4] = -1.7e308
    found = intersect_lines(p1, u1, p2, u2)
    assert found.kind.tolist() == [LinePair.UNDEFINED] * 5 + [LinePair.SKEW]
    for values in (found.distance[:, np.newaxis], found.point1, found.point2, found.normal):
        assert np.isnan(values[:5]).all()
    assert intersect_lines(p1[5], u1[5], p1[5], np.zeros(3)).kind == LinePair.UNDEFINED


def test_lines_of_symbols_are_parallel_where_they_always_are():
    a, b, c, d = sympy.symbols("a b c d", real=True)
    parallel = intersect_lines(np.zeros(3), np.array([a, b, c]), np.array([0, 0, d]), np.array([2 * a, 2 * b, 2 * c]))
    assert parallel.kind == LinePair.PARALLEL
    values = {a: 0.6, b: 0.8, c: 0.0, d: -3.0}
    assert float(parallel.distance.subs(values)) == pytest.approx(3.0)
    assert (
        intersect_lines(np.zeros(3), np.array([a, 0, 0]), np.array([0, 0, d]), np.array([0, b, 0])).kind
        == LinePair.SKEW
    )


def test_distance_between_skew_lines_has_its_derivative():
    """The distance changes by the normal's component of the second line's motion."""
    rng = np.random.default_rng(5)
    p1, u1, p2, u2 = rng.normal(size=(4, 3))
    found = intersect_lines(p1, u1, p2, u2)
    gradient = intersect_lines.jacobian("distance", "p2")(p1, u1, p2, u2)
    towards = (found.point2 - found.point1) / found.distance
    np.testing.assert_allclose(gradient, towards, rtol=0, atol=1e-13)


def test_the_axes_of_a_frame_intersect():
    T = pose_from_two_vectors([1.0, 2.0, 3.0], [1.0, 1.0, 0.0], [0.0, 1.0, 5.0])
    found = intersect_lines(T[:3, 3] + 7.0 * T[:3, 0], T[:3, 0], T[:3, 3] - 2.0 * T[:3, 1], T[:3, 1])
    assert LinePair(found.kind) is LinePair.INTERSECTING
    np.testing.assert_allclose(found.point1, [1.0, 2.0, 3.0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.normal, T[:3, 2], rtol=0, atol=1e-15)


def test_projection_formula_of_sympy():
    x, y, z, a = sympy.symbols("x y z a", positive=True)
    found = project_point_on_line(np.array([x, y, z]), np.array([0, 0, 0]), np.array([a, 0, 0]))
    assert [sympy.simplify(value) for value in found.point] == [x, 0, 0]
    assert sympy.simplify(found.distance**2 - y**2 - z**2) == 0
