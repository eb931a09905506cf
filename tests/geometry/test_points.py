"""Points: distances, points between points, angles at a point."""

import numpy as np
import pytest

from chasles.geometry import angle_at_point, distance_between_points, midpoint, weighted_point


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_distances_and_points_between(shape):
    p, q = np.random.default_rng(1).normal(size=(2, *shape, 3))
    distance = distance_between_points(p, q)
    assert distance.shape == shape
    np.testing.assert_allclose(distance, np.linalg.norm(p - q, axis=-1), rtol=1e-15)
    np.testing.assert_allclose(distance_between_points(p, midpoint(p, q)), distance / 2, rtol=1e-14)
    third = weighted_point(p, 2.0, q, 1.0)
    np.testing.assert_allclose(distance_between_points(p, third), distance / 3, rtol=1e-14)
    np.testing.assert_allclose(third, p + (q - p) / 3, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(weighted_point(p, 1.0, q, 0.0), p)


def test_coincident_points():
    p = [0.1, 0.2, 0.3]
    assert distance_between_points(p, p) == 0.0
    assert angle_at_point(p, p, [1.0, 2.0, 3.0]) == 0.0
    gradient = distance_between_points.jacobian(wrt="p")(p, p)
    np.testing.assert_array_equal(gradient, np.zeros(3))


@pytest.mark.parametrize("angle", [1e-150, 1e-15, 1e-8, 0.5, 3.0, np.pi - 1e-9, np.pi])
def test_angle_at_a_point_has_all_digits(angle):
    found = angle_at_point([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0 * np.cos(angle), 0.0, 3.0 * np.sin(angle)])
    assert found == pytest.approx(angle, rel=1e-15)


def test_samples_with_nan_stay_alone():
    p, q = np.random.default_rng(2).normal(size=(2, 3, 3))
    p[1, 0] = np.nan
    for values in (distance_between_points(p, q), midpoint(p, q)[:, 0], weighted_point(p, 1.0, q, 2.0)[:, 0]):
        assert np.isnan(values).tolist() == [False, True, False]
    assert np.isnan(angle_at_point(p, q, -q)).tolist() == [False, True, False]


def test_weights_without_a_sum_give_no_point():
    assert not np.isfinite(weighted_point([1.0, 1.0, 1.0], 1.0, [0.0, 0.0, 0.0], -1.0)).any()
