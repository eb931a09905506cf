from __future__ import annotations

import math

import modern_robotics
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import RigidTransform
from tests.geometry.exact_poses import ANGLES, exact_pose, exact_pose_derivatives, hard_twists
from tests.thinning import thinned

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import Function, trace
from chasles.geometry import (
    adjoint,
    compose_poses,
    exp_pose,
    inverse_pose,
    log_pose,
    pose,
    pose_distance,
    project_pose,
    relative_pose,
    relative_twist,
    rotation_of,
    skew,
    transform_point,
    transform_points,
    translation_of,
)

EPS = np.finfo(float).eps
HARD = hard_twists()
SHAPES = ((), (1,), (3, 1, 2))


def random_twists(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(*shape, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    return np.concatenate([rng.uniform(0.0, 3.1, (*shape, 1)) * axes, rng.normal(size=(*shape, 3))], axis=-1)


def hat(twist: np.ndarray) -> np.ndarray:
    X = np.zeros((*twist.shape[:-1], 4, 4))
    X[..., :3, :3], X[..., :3, 3] = skew(twist[..., :3]), twist[..., 3:]
    return X


@st.composite
def twists(draw: st.DrawFn) -> np.ndarray:
    """Batches of twists, most of them next to a place where formulas break."""
    shape = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    angles = np.array(
        [draw(st.sampled_from(ANGLES) | st.floats(0.0, math.pi - 1e-12)) for _ in range(math.prod(shape))]
    )
    axes = rng.normal(size=(*shape, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    scale = 10.0 ** draw(st.integers(-3, 3))
    return np.concatenate([angles.reshape(*shape, 1) * axes, scale * rng.normal(size=(*shape, 3))], axis=-1)


def close(actual: np.ndarray, expected: np.ndarray, tolerance: float, axes: tuple[int, ...] = (-1,)) -> None:
    """Compare with an error relative to the length of each vector or matrix."""
    error = np.linalg.norm(np.asarray(actual) - expected, axis=axes)
    size = np.linalg.norm(expected, axis=axes)
    assert np.all(error <= tolerance * size), float(np.max(error / np.where(size > 0.0, size, 1.0)))


# exponential and logarithm


@pytest.mark.parametrize("twist", HARD, ids=[f"{angle:.4g}" for angle in ANGLES])
def test_exponential_is_that_of_60_digits(twist: np.ndarray) -> None:
    T, exact = exp_pose(twist), exact_pose(twist)
    np.testing.assert_allclose(T, exact, rtol=0.0, atol=4 * EPS * max(1.0, np.abs(exact).max()))


@pytest.mark.parametrize("angle", [a for a in ANGLES if a <= 1e-3])
def test_small_rotations_keep_their_relative_digits(angle: float) -> None:
    twist = np.array([2.0, -1.0, 2.0, 0.3, 0.2, 0.1])
    twist[:3] *= angle / 3.0
    T, exact = exp_pose(twist), exact_pose(twist)
    off_diagonal = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(T[off_diagonal], exact[off_diagonal], rtol=4 * EPS, atol=0.0)


def test_exponential_is_scipys_matrix_exponential() -> None:
    xi = random_twists((50,))
    for twist, T in zip(xi, exp_pose(xi), strict=True):
        np.testing.assert_allclose(T, scipy.linalg.expm(hat(twist)), rtol=0.0, atol=1e-13)


def test_exponential_and_logarithm_are_those_of_rigid_transform_and_of_modern_robotics() -> None:
    xi = random_twists((50,))
    T = exp_pose(xi)
    theirs = RigidTransform.from_exp_coords(xi)  # (rotation, translation): the order is the same
    np.testing.assert_allclose(T, theirs.as_matrix(), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(log_pose(T), theirs.as_exp_coords(), rtol=0.0, atol=1e-12)
    for twist, T_one in zip(xi, T, strict=True):
        np.testing.assert_allclose(T_one, modern_robotics.MatrixExp6(hat(twist)), rtol=0.0, atol=1e-13)
        np.testing.assert_allclose(hat(log_pose(T_one)), modern_robotics.MatrixLog6(T_one), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("translation", [0.0, 1e-6, 1.0, 1e6])
def test_logarithm_undoes_the_exponential_to_1e_14(translation: float) -> None:
    xi = hard_twists(seed=1, translation=translation)
    back = log_pose(exp_pose(xi))
    close(back[:, :3], xi[:, :3], 1e-14)
    close(back[:, 3:], xi[:, 3:], 1e-14)


def test_exponential_undoes_the_logarithm_to_1e_14() -> None:
    T = exp_pose(hard_twists(seed=2))
    np.testing.assert_allclose(exp_pose(log_pose(T)), T, rtol=0.0, atol=1e-14 * np.abs(T).max())


def test_half_turns_come_back_exactly_whatever_the_axis() -> None:
    rng = np.random.default_rng(3)
    axes = np.concatenate([np.eye(3), -np.eye(3), rng.normal(size=(200, 3)), [[1.0, 1e-9, 0.0], [0.0, -1e-200, 1.0]]])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    R = 2.0 * axes[:, :, None] * axes[:, None, :] - np.eye(3)
    T = pose(R, rng.normal(size=(len(R), 3)))
    xi = log_pose(T)
    np.testing.assert_allclose(np.linalg.norm(xi[:, :3], axis=1), math.pi, rtol=4 * EPS)
    np.testing.assert_allclose(exp_pose(xi), T, rtol=0.0, atol=1e-14)


@settings(max_examples=60)
@given(twists())
def test_round_trips_of_hard_batches(xi: np.ndarray) -> None:
    T = exp_pose(xi)
    assert T.shape == (*xi.shape[:-1], 4, 4)
    back = log_pose(T)
    close(back[..., :3], xi[..., :3], 1e-14)
    close(back[..., 3:], xi[..., 3:], 1e-14)
    close(exp_pose(back), T, 1e-14, axes=(-2, -1))


# derivatives


@pytest.mark.parametrize("twist", thinned(HARD, keep=4, ids=[f"{angle:.4g}" for angle in ANGLES]))
def test_derivatives_of_exponential_and_logarithm_are_those_of_60_digits(twist: np.ndarray) -> None:
    exact = exact_pose_derivatives(twist)
    T = exp_pose(twist)
    forward = exp_pose.jacobian()(twist)
    np.testing.assert_allclose(forward, exact, rtol=0.0, atol=1e-14 * max(1.0, np.abs(exact).max()))
    adjoints = np.random.default_rng(4).normal(size=(5, 4, 4))
    pulled = exp_pose.specialize().vjp()(twist, adjoints)
    np.testing.assert_allclose(pulled, np.einsum("nij,ijk->nk", adjoints, exact), rtol=0.0, atol=1e-13)
    # The logarithm of what the twist gives is the twist: along the motions of the pose its derivative is the inverse.
    logarithm = log_pose.jacobian()(T)
    np.testing.assert_allclose(np.einsum("kij,ijl->kl", logarithm, exact), np.eye(6), rtol=0.0, atol=1e-14)
    pulled = log_pose.specialize().vjp()(T, np.eye(6))
    np.testing.assert_allclose(np.einsum("kij,ijl->kl", pulled, exact), np.eye(6), rtol=0.0, atol=1e-14)


# group


@settings(max_examples=60)
@given(twists(), st.integers(0, 1000))
def test_group_axioms(xi: np.ndarray, seed: int) -> None:
    A, B, C = exp_pose(xi), exp_pose(random_twists(xi.shape[:-1], seed)), exp_pose(random_twists((), seed + 1))
    identity = np.broadcast_to(np.eye(4), A.shape)
    size = 1.0 + np.abs(A).max()
    AB = compose_poses(A, B)
    np.testing.assert_allclose(compose_poses(AB, C), compose_poses(A, compose_poses(B, C)), rtol=0.0, atol=1e-14 * size)
    np.testing.assert_allclose(compose_poses(A, inverse_pose(A)), identity, rtol=0.0, atol=1e-14 * size)
    np.testing.assert_allclose(compose_poses(inverse_pose(A), A), identity, rtol=0.0, atol=1e-14 * size)
    np.testing.assert_array_equal(compose_poses(A, identity), A)
    np.testing.assert_allclose(AB, A @ B, rtol=0.0, atol=1e-14 * size)
    np.testing.assert_allclose(relative_pose(A, AB), B, rtol=0.0, atol=1e-13 * size)
    np.testing.assert_allclose(adjoint(AB), adjoint(A) @ adjoint(B), rtol=0.0, atol=1e-13 * size)
    assert np.all(pose_distance(AB) < 1e-14)


def test_relative_pose_keeps_the_digits_of_near_frames_far_away() -> None:
    R = rotation_of(exp_pose(random_twists(())))
    far = np.array([1e9, -2e9, 3e9])
    T_ab, T_ac = pose(R, far), pose(R, far + np.array([0.5, 0.25, -0.125]))
    np.testing.assert_allclose(translation_of(relative_pose(T_ab, T_ac)), R.T @ [0.5, 0.25, -0.125], rtol=1e-15)


def test_parts_and_points() -> None:
    T = exp_pose(random_twists((3, 1, 2)))
    R, p = rotation_of(T), translation_of(T)
    np.testing.assert_array_equal(R, T[..., :3, :3])
    np.testing.assert_array_equal(p, T[..., :3, 3])
    np.testing.assert_array_equal(pose(R, p), T)
    points = np.random.default_rng(5).normal(size=(7, 3))
    moved = transform_points(T, points)
    assert moved.shape == (3, 1, 2, 7, 3)
    homogeneous = np.concatenate([points, np.ones((7, 1))], axis=1)
    np.testing.assert_allclose(moved, (T[..., None, :, :] @ homogeneous[..., None])[..., :3, 0], rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(transform_point(T, points[0]), moved[..., 0, :])


# relative twists


@pytest.mark.parametrize("angle", ANGLES)
def test_relative_twists_take_one_pose_to_the_other(angle: float) -> None:
    T_world_a = exp_pose(random_twists((20,), 11))
    xi = random_twists((20,), 12)
    xi[:, :3] *= angle / np.linalg.norm(xi[:, :3], axis=1, keepdims=True)
    T_world_b = compose_poses(T_world_a, exp_pose(xi))
    body, space, aligned = (relative_twist(T_world_a, T_world_b, frame=f) for f in ("body", "space", "world-aligned"))
    np.testing.assert_allclose(T_world_a @ exp_pose(body), T_world_b, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(exp_pose(space) @ T_world_a, T_world_b, rtol=0.0, atol=4e-14)
    at_origin_of_a = pose(np.eye(3), translation_of(T_world_a))
    np.testing.assert_allclose(adjoint(at_origin_of_a) @ aligned[..., None], space[..., None], rtol=0.0, atol=1e-14)


def test_clouds_of_points_take_the_usual_keywords_and_refuse_single_points() -> None:
    T, points = exp_pose(random_twists((2,), 5)), np.random.default_rng(5).normal(size=(7, 3))
    out = np.empty((2, 7, 3))
    assert transform_points(T, points, out=out, check=True) is out
    np.testing.assert_allclose(out[1], points @ T[1, :3, :3].T + T[1, :3, 3], rtol=1e-14)
    with pytest.raises(ArgumentError, match="T_ab is not a pose"):
        transform_points(2.0 * T, points, check=True)
    for wrong in ((T, points[0]), (T[0, 0], points)):
        with pytest.raises(ArgumentError, match=r"`transform_point` takes one point"):
            transform_points(*wrong)


def test_relative_twist_names_the_frames_that_exist() -> None:
    with pytest.raises(UnknownNameError, match="world-aligned"):
        relative_twist(np.eye(4), np.eye(4), frame="tool")


# projection and distance


def test_projection_is_the_nearest_pose() -> None:
    rng = np.random.default_rng(13)
    A = exp_pose(random_twists((30,), 14)) + 0.1 * rng.normal(size=(30, 4, 4))
    nearest = project_pose(A)
    distance = pose_distance(A)
    np.testing.assert_allclose(distance, np.linalg.norm(A - nearest, axis=(1, 2)), rtol=1e-13)
    np.testing.assert_allclose(np.linalg.inv(nearest), inverse_pose(nearest), rtol=0.0, atol=1e-14)
    for _ in range(20):  # no pose around it is nearer
        step = 0.05 * rng.normal(size=(30, 6))
        assert np.all(np.linalg.norm(A - nearest @ exp_pose(step), axis=(1, 2)) > distance)


def test_poses_are_at_distance_zero_and_stay() -> None:
    T = exp_pose(HARD)
    np.testing.assert_allclose(project_pose(T), T, rtol=0.0, atol=4 * EPS)
    assert np.all(pose_distance(T) < 8 * EPS)
    np.testing.assert_allclose(pose_distance(np.diag([1.0, 1.0, 1.0, 4.0])), 3.0, rtol=1e-15)
    np.testing.assert_allclose(pose_distance(np.diag([3.0, 1.0, 1.0, 1.0])), 2.0, rtol=1e-15)
    bent = np.eye(4)
    bent[3, 1] = 1e-7
    np.testing.assert_allclose(pose_distance(bent), 1e-7, rtol=1e-8)
    np.testing.assert_allclose(pose_distance.jacobian()(np.eye(4)), np.zeros((4, 4)), rtol=0.0, atol=EPS)
    for entry in np.ndindex(4, 4):
        infinite = np.eye(4)
        infinite[entry] = -np.inf
        assert pose_distance(infinite) == np.inf


@pytest.mark.parametrize("compute", [inverse_pose, log_pose, adjoint, rotation_of, translation_of])
def test_check_finds_the_matrix_that_is_no_pose(compute) -> None:
    T = exp_pose(random_twists((2, 3)))
    compute(T, check=True)
    T[1, 2, 0, 0] += 1e-3
    with pytest.raises(ArgumentError, match=r"sample \(1, 2\).*project_pose"):
        compute(T, check=True)
    compute(project_pose(T), check=True)
    T[1, 2] = np.nan
    assert np.isnan(np.asarray(compute(T, check=True))[1, 2]).any()


# abuse


def test_nan_stays_in_its_sample() -> None:
    xi = random_twists((6,))
    T = exp_pose(xi)
    for k in range(6):
        spoilt = xi.copy()
        spoilt[2, k] = np.nan
        result = exp_pose(spoilt)
        np.testing.assert_array_equal(np.delete(result, 2, axis=0), np.delete(T, 2, axis=0))
        assert np.isnan(result[2, :3, 3]).any()
        assert np.isnan(result[2, :3, :3]).all() == (k < 3)
    whole = log_pose(T)
    for i, j in np.ndindex(3, 4):
        spoilt = T.copy()
        spoilt[2, i, j] = np.nan
        result = log_pose(spoilt)
        np.testing.assert_array_equal(np.delete(result, 2, axis=0), np.delete(whole, 2, axis=0))
        assert np.isnan(result[2, 3:]).all()
        assert np.isnan(result[2, :3]).all() == (j < 3)


def test_results_go_where_they_are_wanted() -> None:
    xi = random_twists((4,))
    out = np.empty((4, 4, 4))
    assert exp_pose(xi, out=out) is out
    np.testing.assert_array_equal(out, exp_pose(xi))


def test_traced_calls_join_the_program() -> None:
    program = trace(lambda xi: log_pose(exp_pose(xi)), {"xi": (6,)})
    xi = random_twists((5,))
    np.testing.assert_allclose(Function(program)(xi), xi, rtol=0.0, atol=1e-14)


def test_symbols_give_formulas() -> None:
    sympy = pytest.importorskip("sympy")
    x, y, z, phi = sympy.symbols("x y z phi", positive=True)
    T = exp_pose([0, 0, phi, x, y, z])
    a, b = sympy.sin(phi) / phi, (1 - sympy.cos(phi)) / phi
    c, s = sympy.cos(phi), sympy.sin(phi)
    expected = sympy.Matrix([[c, -s, 0, a * x - b * y], [s, c, 0, b * x + a * y], [0, 0, 1, z], [0, 0, 0, 1]])
    assert sympy.simplify(sympy.Matrix(T) - expected) == sympy.zeros(4)
    T_back = compose_poses(inverse_pose(pose(np.eye(3), [x, y, z])), pose(np.eye(3), [x, y, z]))
    np.testing.assert_array_equal(T_back.astype(float), np.eye(4))
    entries = np.array(sympy.symbols("t0:16", real=True)).reshape(4, 4)
    xi = np.array([0.3, -0.2, 0.9, 1.0, -2.0, 0.5])
    values = dict(zip(entries.ravel(), exp_pose(xi).ravel(), strict=True))
    np.testing.assert_allclose([float(e.subs(values)) for e in log_pose(entries)], xi, rtol=0.0, atol=1e-15)
