"""Where the published package is wrong, judged by closed forms and 60 digits instead of by the package."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from tests.interop.modern_robotics.robots import published, random_robot
from tests.thinning import thinned

import chasles.interop.modern_robotics as mr
from chasles.geometry import log_rotation

SMALL = [1e-300, 1e-16, 1e-12, 1e-9, 1e-7, 9.99e-7, 1.01e-6]


def unit_vectors(count: int) -> np.ndarray:
    axes = np.random.default_rng(0).normal(size=(count, 3))
    return axes / np.linalg.norm(axes, axis=1, keepdims=True)


def exact_exponential(vector: np.ndarray, size: int) -> np.ndarray:
    """Exponential of the matrix of a rotation vector or a twist at 60 digits."""
    with mpmath.workdps(60):
        omega = [mpmath.mpf(float(x)) for x in vector[:3]]
        matrix = mpmath.zeros(size)
        x, y, z = omega
        for i, j, value in ((0, 1, -z), (0, 2, y), (1, 2, -x)):
            matrix[i, j], matrix[j, i] = value, -value
        for i, value in enumerate(vector[3:]):
            matrix[i, 3] = mpmath.mpf(float(value))
        exponential = mpmath.expm(matrix, method="taylor")
        return np.array(exponential.tolist(), dtype=float)


@pytest.mark.parametrize("angle", SMALL)
def test_small_rotations_are_not_left_out(angle: float) -> None:
    for axis in unit_vectors(5):
        expected = exact_exponential(angle * axis, 3)
        np.testing.assert_allclose(mr.MatrixExp3(mr.VecToso3(angle * axis)), expected, rtol=1e-15, atol=1e-300)
        twist = np.concatenate([angle * axis, [1.0, 2.0, 3.0]])
        np.testing.assert_allclose(
            mr.MatrixExp6(mr.VecTose3(twist)), exact_exponential(twist, 4), rtol=1e-15, atol=1e-300
        )


@pytest.mark.parametrize("angle", thinned([*SMALL, *(np.pi - d for d in (1e-3, 1e-5, 1e-7, 1e-9, 1e-12))]))
def test_logarithms_keep_their_digits(angle: float) -> None:
    for axis in unit_vectors(20):
        vector = angle * axis
        R = exact_exponential(vector, 3)
        np.testing.assert_allclose(mr.so3ToVec(mr.MatrixLog3(R)), vector, rtol=4e-15, atol=4e-16 * angle)
        twist = np.concatenate([vector, [1.0, 2.0, 3.0]])
        T = exact_exponential(twist, 4)
        np.testing.assert_allclose(mr.se3ToVec(mr.MatrixLog6(T)), twist, rtol=0, atol=4e-15)


def test_half_turns_have_a_logarithm() -> None:
    axes = unit_vectors(2000)
    R = 2.0 * axes[:, :, None] * axes[:, None, :] - np.eye(3)
    logarithms = mr.so3ToVec(mr.MatrixLog3(R))
    np.testing.assert_allclose(np.linalg.norm(logarithms, axis=1), np.pi, rtol=1e-15)
    np.testing.assert_allclose(mr.MatrixExp3(mr.VecToso3(logarithms)), R, atol=2e-15)
    assert (logarithms[np.abs(axes[:, 2]) > 1e-3, 2] > 0.0).all()
    T = mr.RpToTrans(R, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(mr.MatrixExp6(mr.MatrixLog6(T)), T, atol=1e-14)


def test_half_turns_are_about_the_axis_of_the_original() -> None:
    """Exact half turns about axes of small whole numbers; the original is right about those of its own formula."""
    compared = 0
    for axis in itertools.product(range(-2, 3), repeat=3):
        if not any(axis):
            continue
        a = np.array(axis, dtype=float)
        R = 2.0 * np.outer(a, a) / (a @ a) - np.eye(3)
        with np.errstate(all="ignore"):
            theirs = published.so3ToVec(published.MatrixLog3(R))
        if np.linalg.norm(theirs) < 3.0 or (np.trace(R) - 1.0) / 2.0 > -1.0:
            continue  # one of those that it gets wrong
        compared += 1
        np.testing.assert_allclose(mr.so3ToVec(mr.MatrixLog3(R)), theirs, atol=1e-14)
        np.testing.assert_allclose(mr.se3ToVec(mr.MatrixLog6(mr.RpToTrans(R, [0, 0, 0])))[:3], theirs, atol=1e-14)
    assert compared > 60


@pytest.mark.parametrize("axis", [(1e-5, 0.6, -0.8), (0.6, -0.8, 1e-5), (0.6, -0.8, -1e-3), (-1.0, 1e-4, -1e-4)])
def test_components_near_zero_do_not_choose_the_axis(axis: tuple[float, float, float]) -> None:
    a = np.array(axis) / np.linalg.norm(axis)
    R = 2.0 * np.outer(a, a) - np.eye(3)
    R = R * (1.0 + 4e-16)  # so that the original takes it for half a turn
    np.testing.assert_allclose(mr.so3ToVec(mr.MatrixLog3(R)), published.so3ToVec(published.MatrixLog3(R)), atol=1e-13)


def test_null_vectors() -> None:
    axis, angle = mr.AxisAng3([0, 0, 0])
    assert angle == 0.0
    assert np.linalg.norm(axis) == 1.0
    S, theta = mr.AxisAng6(np.zeros(6))
    assert theta == 0.0
    assert np.linalg.norm(S[:3]) == 1.0
    assert np.isnan(mr.Normalize([0.0, 0.0, 0.0])).all()


def test_axes_of_small_rotations_are_normalized() -> None:
    S, theta = mr.AxisAng6([5e-7, 0, 0, 0, 1, 0])
    assert theta == pytest.approx(5e-7, rel=1e-15)
    np.testing.assert_allclose(S, [1, 0, 0, 0, 2e6, 0], rtol=1e-15)
    S, theta = mr.AxisAng6([1e-16, 0, 0, 0, 2, 0])  # what rounding leaves of a translation
    assert theta == 2.0
    np.testing.assert_allclose(S * theta, [1e-16, 0, 0, 0, 2, 0], rtol=1e-15)


@pytest.mark.parametrize("n", [3, 4])
def test_projections_are_the_nearest(n: int) -> None:
    """No other rotation is nearer to a mirror: random ones, and the original's choice."""
    rng = np.random.default_rng(n)
    project, original = ((mr.ProjectToSO3, published.ProjectToSO3), (mr.ProjectToSE3, published.ProjectToSE3))[n == 4]
    for _ in range(50):
        mat = np.eye(n)
        mat[:3, :3] = rng.normal(size=(3, 3))
        if np.linalg.det(mat) > 0.0:
            mat[:3, 0] *= -1.0
        ours = project(mat)
        assert np.linalg.det(ours) == pytest.approx(1.0, abs=1e-12)
        assert np.linalg.norm(ours - mat) <= np.linalg.norm(original(mat) - mat) + 1e-12


def test_small_joint_angles_move_the_arm() -> None:
    M = np.eye(4)
    M[0, 3] = 1.0
    Slist, h = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]).T, 1e-8
    assert (mr.FKinSpace(M, Slist, [h]) - M)[1, 3] / h == pytest.approx(1.0, rel=1e-15)
    assert (mr.FKinBody(M, mr.Adjoint(mr.TransInv(M)) @ Slist, [h]) - M)[1, 3] / h == pytest.approx(1.0, rel=1e-15)


def test_small_joint_angles_count_in_dynamics() -> None:
    """The slope of gravity's torque through 0, by the original itself at steps large enough for it."""
    robot, g, step, tiny = random_robot(40, 3), np.array([0.0, 0.0, -9.81]), 1e-4, 9e-7
    direction = np.array([1.0, -1.0, 0.5])
    ends = [published.GravityForces(sign * step * direction, g, *robot) for sign in (1.0, -1.0)]
    slope = (ends[0] - ends[1]) / (2.0 * step)
    ours = mr.GravityForces(tiny * direction, g, *robot) - mr.GravityForces(np.zeros(3), g, *robot)
    np.testing.assert_allclose(ours, tiny * slope, rtol=1e-5, atol=1e-12)
    assert not np.array_equal(ours, np.zeros(3))


def test_reflections_have_no_logarithm() -> None:
    half_turns = [np.diag([-1.0, -1.0, 1.0]), np.diag([1.0, -1.0, -1.0])]
    for reflection in (-np.eye(3), np.diag([1.0, 1.0, -1.0]), -mr.MatrixExp3(mr.VecToso3([0.3, -0.2, 0.9]))):
        T = np.eye(4)
        T[:3, :3] = reflection
        assert np.isnan(mr.MatrixLog3(reflection)).sum() >= 6
        assert np.isnan(mr.MatrixLog6(T)).any()
        assert np.isnan(log_rotation(reflection)).all()
        # The others of a batch are not touched.
        np.testing.assert_array_equal(
            mr.MatrixLog3([*half_turns, reflection])[:2], [mr.MatrixLog3(R) for R in half_turns]
        )


def test_what_is_not_skew_is_read_as_the_published_package_reads_it() -> None:
    matrices = np.random.default_rng(3).normal(size=(10, 4, 4))
    for matrix in matrices:
        np.testing.assert_array_equal(mr.so3ToVec(matrix[:3, :3]), published.so3ToVec(matrix[:3, :3]))
        np.testing.assert_array_equal(mr.se3ToVec(matrix), published.se3ToVec(matrix).ravel())


def test_a_motion_of_no_time_has_arrived() -> None:
    for scaling in (mr.CubicTimeScaling, mr.QuinticTimeScaling):
        assert scaling(0, 0) == 1.0
        np.testing.assert_array_equal(scaling([0.0, 0.0, 2.0], [-1.0, 1.0, 2.0]), [0.0, 1.0, 1.0])
