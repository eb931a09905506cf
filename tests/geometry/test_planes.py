"""Planes: construction, projections, intersections by construction and at 60 digits, degenerate data."""

import mpmath
import numpy as np
import pytest
import sympy
from scipy.spatial.transform import Rotation

from chasles.geometry import (
    LinePlanePair,
    PlanePair,
    distance_to_plane,
    intersect_line_and_plane,
    intersect_planes,
    plane_from_point_and_normal,
    plane_through_points,
    project_point_on_plane,
)

EPS = np.finfo(float).eps


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_planes_contain_the_points_that_made_them(shape):
    p1, p2, p3, normal = np.random.default_rng(1).normal(size=(4, *shape, 3))
    plane = plane_through_points(p1, p2, p3)
    assert plane.shape == (*shape, 4)
    np.testing.assert_allclose(np.linalg.norm(plane[..., :3], axis=-1), 1.0, rtol=4 * EPS)
    for p in (p1, p2, p3):
        np.testing.assert_allclose(distance_to_plane(p, plane), 0.0, atol=1e-14)
    sense = np.sum(plane[..., :3] * np.cross(p1 - p2, p3 - p2), -1)
    assert (sense > 0).all()

    plane = plane_from_point_and_normal(p1, 1e200 * normal)
    np.testing.assert_allclose(plane[..., :3], normal / np.linalg.norm(normal, axis=-1, keepdims=True), rtol=4 * EPS)
    np.testing.assert_allclose(distance_to_plane(p1, plane), 0.0, atol=1e-15)


@pytest.mark.parametrize("scale", [1.0, -3.0, 1e-170])
def test_projection_is_the_nearest_point_and_distances_have_the_normals_sign(scale):
    rng = np.random.default_rng(2)
    normal, point, p = rng.normal(size=(3, 20, 3))
    unit = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    plane = scale * np.append(normal, -np.sum(normal * point, -1, keepdims=True), axis=-1)
    found = project_point_on_plane(p, plane)
    signed = np.sign(scale) * np.sum(unit * (p - point), -1)
    np.testing.assert_allclose(found.distance, signed, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.point, p - np.sign(scale) * signed[:, np.newaxis] * unit, rtol=0, atol=1e-14)
    np.testing.assert_allclose(distance_to_plane(p, plane), signed, rtol=0, atol=1e-14)


def test_distance_of_the_origin_is_the_last_coefficient():
    """Manual of SpaceLib: positive where the vector from the plane to the origin is along the normal."""
    plane = plane_from_point_and_normal([0.0, 0.0, -5.0], [0.0, 0.0, 1.0])
    assert plane[3] == 5.0
    assert distance_to_plane(np.zeros(3), plane) == 5.0


def test_collinear_points_make_no_plane():
    rng = np.random.default_rng(3)
    for _ in range(50):
        p, v = rng.normal(size=(2, 3))
        assert np.isnan(plane_through_points(p, p + v, p - 0.3 * v)).all()
        assert np.isnan(plane_through_points(p, p, p + v)).all()
        slightly = plane_through_points(p, p + v, p + 2.0 * v + 1e-9 * np.cross(v, [1.0, 0.0, 0.0]))
        np.testing.assert_allclose(slightly[:3] @ v, 0.0, atol=1e-6)
    assert np.isnan(plane_through_points([0.0] * 3, [1.0, 0.0, 0.0], [2.0, 1e-6, 0.0], tolerance=1e-5)).all()


def exact_line_of_planes(plane1, plane2):
    """Point nearest to the origin and direction, at 60 digits."""
    with mpmath.workdps(60):
        a, b = ([mpmath.mpf(x) for x in plane.tolist()] for plane in (plane1, plane2))
        n = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        p = mpmath.lu_solve(mpmath.matrix([a[:3], b[:3], n]), mpmath.matrix([-a[3], -b[3], 0]))
        return np.array(p, dtype=float).ravel(), np.array(mpmath.matrix(n) / mpmath.norm(n), dtype=float).ravel()


@pytest.mark.parametrize("angle", [1.5, 1e-2, 1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_line_of_two_planes_is_exact_also_for_nearly_parallel_ones(angle, sense):
    rng = np.random.default_rng(4)
    for _ in range(20):
        R = Rotation.random(random_state=rng.integers(10**6)).as_matrix()
        d = rng.normal(size=2)
        plane1 = np.append(R[:, 0], d[0])
        plane2 = np.append(R @ [sense * np.cos(angle), np.sin(angle), 0.0], d[1])
        point, direction = exact_line_of_planes(plane1, plane2)
        found = intersect_planes(plane1, plane2)
        assert found.kind == PlanePair.INTERSECTING
        np.testing.assert_allclose(found.direction, direction, rtol=0, atol=4 * EPS)
        np.testing.assert_allclose(found.point, point, rtol=0, atol=4 * EPS * np.abs(d).sum() / angle)


def test_line_of_planes_that_are_not_normalized():
    point, direction = exact_line_of_planes(np.array([3.0, 0.0, 4.0, -5.0]), np.array([0.0, 7.0, 1.0, 2.0]))
    found = intersect_planes([3e200, 0.0, 4e200, -5e200], [0.0, 7e-200, 1e-200, 2e-200])
    np.testing.assert_allclose(found.point, point, rtol=4 * EPS)
    np.testing.assert_allclose(found.direction, direction, rtol=4 * EPS)


@pytest.mark.parametrize("sense", [1.0, -2.0])
def test_parallel_and_same_planes(sense):
    plane, along_normal = np.array([0.36, 0.48, 0.8, -2.0]), np.array([0.0, 0.0, 0.0, 1.0])
    found = intersect_planes(plane, sense * (plane + 0.5 * along_normal))
    assert found.kind == PlanePair.PARALLEL
    assert np.isnan(found.point).all()
    assert np.isnan(found.direction).all()
    assert intersect_planes(plane, sense * plane).kind == PlanePair.SAME
    assert intersect_planes(plane, sense * (plane + 1e-9 * along_normal)).kind == PlanePair.PARALLEL
    assert intersect_planes(plane, sense * (plane + 1e-9 * along_normal), 1e-8).kind == PlanePair.SAME
    near = intersect_planes(plane, sense * (plane + 1e-9 * along_normal), absolute_tolerance=1e-8)
    assert near.kind == PlanePair.SAME


def test_line_and_plane():
    """Manual of SpaceLib, example 3.29, p. 73; then lines in and beside the plane, on both of its sides."""
    plane = [0.0, 0.0, 1.0, -5.0]
    found = intersect_line_and_plane([0.0, 6.0, 10.0], [0.0, 0.0, 1.0], plane)
    assert found.kind == LinePlanePair.INTERSECTING
    np.testing.assert_array_equal(found.point, [0.0, 6.0, 5.0])
    found = intersect_line_and_plane([[1.0, 2.0, 5.0], [1.0, 2.0, 4.0], [1.0, 2.0, 6.0]], [3.0, 4.0, 0.0], plane)
    assert found.kind.dtype == int
    assert found.kind.tolist() == [LinePlanePair.CONTAINED, LinePlanePair.PARALLEL, LinePlanePair.PARALLEL]
    np.testing.assert_array_equal(found.point[0], [1.0, 2.0, 5.0])
    assert np.isnan(found.point[1:]).all()


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_the_common_point_is_on_the_line_and_in_the_plane(shape):
    p, direction, normal = np.random.default_rng(5).normal(size=(3, *shape, 3))
    plane = np.append(normal, np.random.default_rng(6).normal(size=(*shape, 1)), axis=-1)
    found = intersect_line_and_plane(p, 1e-200 * direction, 1e150 * plane)
    assert (found.kind == LinePlanePair.INTERSECTING).all()
    np.testing.assert_allclose(np.cross(found.point - p, direction), 0.0, atol=1e-13)
    np.testing.assert_allclose(np.sum(found.point * normal, -1) + plane[..., 3], 0.0, atol=1e-13)


def test_tolerances_decide_whether_a_line_is_in_a_plane():
    plane = [0.0, 0.0, 1.0, 0.0]
    rising, high = [1.0, 0.0, 1e-7], [1.0, 0.0, 1e-7]
    assert intersect_line_and_plane(np.zeros(3), rising, plane).kind == LinePlanePair.INTERSECTING
    assert intersect_line_and_plane(np.zeros(3), rising, plane, 1e-6).kind == LinePlanePair.CONTAINED
    assert intersect_line_and_plane(high, [1.0, 0.0, 0.0], plane).kind == LinePlanePair.PARALLEL
    assert intersect_line_and_plane(high, [1.0, 0.0, 0.0], plane, 1e-6).kind == LinePlanePair.CONTAINED
    found = intersect_line_and_plane(high, [1.0, 0.0, 0.0], plane, absolute_tolerance=1e-6)
    assert found.kind == LinePlanePair.CONTAINED


def test_nan_and_null_vectors_stay_in_their_sample():
    rng = np.random.default_rng(7)
    p, direction = rng.normal(size=(2, 3, 3))
    plane = rng.normal(size=(3, 4))
    plane[0, :3] = 0.0
    direction[1, 0] = np.nan
    other = rng.normal(size=(3, 4))
    other[1, 3] = np.nan
    for values in (
        intersect_line_and_plane(p, direction, plane).point,
        intersect_planes(plane, other).point,
        plane_from_point_and_normal(direction, plane[:, :3]),
    ):
        assert np.isnan(values).any(axis=1).tolist() == [True, True, False]
    assert np.isnan(distance_to_plane(p, plane)).tolist() == [True, False, False]


def test_planes_that_do_not_exist_are_of_no_kind():
    """A null normal, NaN and overflow: the kind must not claim an intersection."""
    plane1, plane2 = np.random.default_rng(8).normal(size=(2, 5, 4))
    plane1[0, :3], plane2[1, 0], plane1[2, 3], plane2[3] = 0.0, np.nan, np.inf, [1e-300, 0.0, 0.0, 1e300]
    found = intersect_planes(plane1, plane2)
    assert found.kind.tolist() == [PlanePair.UNDEFINED] * 4 + [PlanePair.INTERSECTING]
    assert np.isnan(found.point[:4]).all()
    assert np.isnan(found.direction[:4]).all()
    p, direction = np.random.default_rng(9).normal(size=(2, 5, 3))
    direction[4] = 0.0
    found = intersect_line_and_plane(p, direction, plane1)
    assert found.kind.tolist() == [-2, 0, -2, 0, -2]
    assert np.isnan(found.point[[0, 2, 4]]).all()
    # A line that is parallel to a plane has no point, but a kind.
    assert (
        intersect_line_and_plane([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]).kind == LinePlanePair.PARALLEL
    )


def test_planes_of_symbols_are_parallel_where_they_always_are():
    a, b, d = sympy.symbols("a b d", real=True)
    parallel = intersect_planes(np.array([a, 2, b, 1]), np.array([-2 * a, -4, -2 * b, d]))
    assert parallel.kind == PlanePair.PARALLEL
    assert all(np.isnan(float(x)) for x in (*parallel.point, *parallel.direction))
    assert intersect_planes(np.array([a, 0, 1, 1]), np.array([a, 0, 2, d])).kind == PlanePair.INTERSECTING


def test_distance_formula_of_sympy():
    x, y, z, a, b, c, d = sympy.symbols("x y z a b c d", real=True)
    distance = distance_to_plane(np.array([x, y, z]), np.array([a, b, c, d]))
    expected = (a * x + b * y + c * z + d) / sympy.sqrt(a**2 + b**2 + c**2)
    values = dict(zip((x, y, z, a, b, c, d), (0.3, -1.0, 2.0, 1.5, 0.2, 0.7, 0.1), strict=True))
    assert float(distance.subs(values)) == pytest.approx(float(expected.subs(values)), rel=1e-15)
