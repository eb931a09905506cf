"""All poses for given leg lengths: published ones, general and special platforms, proofs and their limits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.machines.parallel.platforms import ROBOOP_LENGTHS, random_platform, random_poses, roboop

import chasles as ch
from chasles.machines import PoseStatus, StewartPlatform
from chasles.machines.parallel import certificate, homotopy
from chasles.machines.parallel.start_system import start_system
from chasles.machines.parallel.study_equations import Parameters, gradients, rates

#: P. Dietmaier, The Stewart-Gough platform of general geometry can have 40 real postures, ARK (1998).
DIETMAIER = StewartPlatform(
    [
        [0.0, 0.0, 0.0],
        [1.107915, 0.0, 0.0],
        [0.549094, 0.756063, 0.0],
        [0.735077, -0.223935, 0.525991],
        [0.514188, -0.526063, -0.368418],
        [0.590473, 0.094733, -0.205018],
    ],
    [
        [0.0, 0.0, 0.0],
        [0.542805, 0.0, 0.0],
        [0.956919, -0.528915, 0.0],
        [0.665885, -0.353482, 1.402538],
        [0.478359, 1.158742, 0.107672],
        [-0.137087, -0.235121, 0.353913],
    ],
)
DIETMAIER_LENGTHS = np.array([1.0, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071])


def smallest_distance(T: NDArray[np.float64]) -> float:
    """Smallest distance between two of several poses, over their elements."""
    apart = np.abs(T[:, None] - T).max(axis=(-2, -1)) + 1e9 * np.eye(len(T))
    return float(apart.min())


def ring(degrees: list[float], radius: float = 1.0) -> NDArray[np.float64]:
    angles = np.deg2rad(degrees)
    return radius * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)


@pytest.mark.slow
def test_forty_real_poses_of_dietmaier() -> None:
    poses = DIETMAIER.forward_kinematics(DIETMAIER_LENGTHS, select="all")
    assert poses.count == 40
    assert poses.complete
    assert poses.certified.all()
    assert poses.residual.max() < 1e-13
    assert poses.error_bound.max() < 1e-6
    assert smallest_distance(poses.T) > 1e-3
    np.testing.assert_allclose(np.linalg.det(poses.T[:, :3, :3]), 1.0, atol=1e-14)
    lengths = DIETMAIER.leg_lengths(poses.T)
    np.testing.assert_allclose(lengths, np.broadcast_to(DIETMAIER_LENGTHS, (40, 6)), atol=1e-13)


def assert_all_found(stewart: StewartPlatform, T: NDArray[np.float64]) -> None:
    """The poses of the lengths at T are proven, none is missing, and T is among them."""
    poses = stewart.forward_kinematics(stewart.leg_lengths(T), select="all")
    assert poses.complete.all()
    assert np.nanmax(poses.residual) < 1e-11
    np.testing.assert_array_equal(poses.regular + poses.infinite, 40)
    for k in range(len(T)):
        own = poses.of(k)
        assert len(own) % 2 == 0  # complex poses come in pairs
        nearest = np.abs(own - T[k]).max(axis=(-2, -1)).argmin()
        joints = ch.geometry.transform_points(np.stack([own[nearest], T[k]]), stewart.platform)
        assert np.linalg.norm(joints[0] - joints[1], axis=-1).max() <= poses.error_bound[k, nearest]
        assert len(own) == 1 or smallest_distance(own) > 1e-8


@pytest.mark.slow
def test_random_general_platforms_have_forty_proven_poses() -> None:
    rng = np.random.default_rng(1)
    for _ in range(15):
        assert_all_found(random_platform(rng), random_poses(rng, 4))


@pytest.mark.slow
def test_thousand_random_general_platforms() -> None:
    """Forty different proven poses are all that there can be, so none is missed.

    Where complex ones lie too near to infinity for a proof, frames turned at random lead along other paths.
    """
    rng = np.random.default_rng(2)
    forty = 0
    for _ in range(1000):
        stewart, T = random_platform(rng), random_poses(rng, 1)[0]
        lengths = np.linalg.norm(stewart.platform @ T[:3, :3].T + T[:3, 3] - stewart.base, axis=1)
        poses = stewart.forward_kinematics(lengths, select="all")
        assert poses.complete
        assert np.all(poses.certified)
        assert np.abs(poses.T - T).max(axis=(-2, -1)).min() < 1e-6
        forty += poses.regular == 40
        if poses.regular != 40:
            turns = ch.geometry.exp_rotation(rng.normal(size=(2, 3)))
            turned = StewartPlatform(stewart.base @ turns[0], stewart.platform @ turns[1])
            assert turned.forward_kinematics(lengths, select="all").count == poses.count
    assert forty >= 990


@pytest.mark.parametrize(
    ("kind", "regular", "infinite"),
    [("6-3", 16, 24), ("3-3", 16, 24), ("6-5", 40, 0), ("planar", 40, 0), ("planar base", 40, 0)],
)
def test_special_platforms(kind: str, regular: int, infinite: int) -> None:
    """Numbers of complex poses: Faugère & Lazard, Combinatorial classes of parallel manipulators (1995)."""
    rng = np.random.default_rng(30)
    base, platform = rng.normal(size=(2, 6, 3))
    if kind in ("6-3", "3-3"):
        platform[1::2] = platform[::2]
    if kind == "3-3":
        base[[2, 4, 0]] = base[[1, 3, 5]]
    if kind == "6-5":
        platform[1] = platform[0]
    if kind.startswith("planar"):
        base[:, 2] = 0.0
    if kind == "planar":
        platform[:, 2] = 0.0
    stewart, T = StewartPlatform(base, platform), random_poses(rng, 20)
    assert_all_found(stewart, T)
    poses = stewart.forward_kinematics(stewart.leg_lengths(T), select="all")
    np.testing.assert_array_equal(poses.regular, regular)
    np.testing.assert_array_equal(poses.infinite, infinite)
    if kind == "planar":  # the mirror image in the plane of the base, turned half around, is a pose, too
        assert np.all(poses.count % 4 == 0)


@pytest.mark.parametrize("factor", [0.5, 1.0])
def test_similar_base_and_platform(factor: float) -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(size=(6, 3))
    assert_all_found(StewartPlatform(base, factor * base), random_poses(rng, 10))


def test_machine_with_all_legs_equal() -> None:
    """Symmetry neither merges poses nor invents any: platform parallel to the base above and below is among them."""
    stewart = StewartPlatform(ring([-60, 60, 60, 180, 180, 300]), ring([0, 0, 120, 120, 240, 240], 0.6))
    poses = stewart.forward_kinematics(np.full(6, 1.2), select="all")
    assert poses.count == 8
    assert poses.complete
    parallel = np.abs(np.abs(poses.T[:, 2, 2]) - 1.0) < 1e-12
    assert sorted(np.sign(poses.T[parallel, 2, 3])) == [-1.0, 1.0]


def test_architecturally_singular_platform_is_refused() -> None:
    hexagon = ring([0, 60, 120, 180, 240, 300])
    stewart = StewartPlatform(hexagon, 0.6 * hexagon)
    assert stewart.is_architecturally_singular
    assert not roboop().is_architecturally_singular
    with pytest.raises(ch.ChaslesError, match="architecturally singular: its legs' axes are dependent in every pose"):
        stewart.forward_kinematics(np.ones(6), select="all")


def test_singular_pose_is_found_but_not_proven() -> None:
    """Leg lengths at which two poses meet: the pose between them has a singular Jacobian."""
    rng = np.random.default_rng(5)
    stewart = random_platform(rng)
    first, second = random_poses(rng, 2)

    def pose(s: float) -> NDArray[np.float64]:
        T = first.copy()
        T[:3, :3] = first[:3, :3] @ ch.geometry.exp_rotation(
            s * ch.geometry.log_rotation(first[:3, :3].T @ second[:3, :3])
        )
        T[:3, 3] += s * (second[:3, 3] - first[:3, 3])
        return T

    samples = np.linspace(-2.0, 3.0, 400)
    signs = np.sign([np.linalg.det(stewart.jacobian(pose(s))) for s in samples])
    crossing = int(np.flatnonzero(signs[1:] != signs[:-1])[0])
    low, high = samples[crossing], samples[crossing + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high)
            if np.sign(np.linalg.det(stewart.jacobian(pose(middle)))) == signs[crossing]
            else (low, middle)
        )
    T = pose(low)
    poses = stewart.forward_kinematics(stewart.leg_lengths(T), select="all")
    found = poses.T[~poses.certified]
    assert np.abs(found - T).max(axis=(-2, -1)).min(initial=np.inf) < 1e-4
    assert np.all(poses.certified | (poses.residual < 1e-8))


def test_a_sphere_of_poses_is_not_complete() -> None:
    """Base and platform are the same and all legs equal: every translation by a leg's length is a pose."""
    joints = np.random.default_rng(0).normal(size=(6, 3))
    poses = StewartPlatform(joints, joints).forward_kinematics(np.ones(6), select="all")
    assert not poses.complete
    assert "on a curve of poses" in str(poses)


def test_legs_much_longer_than_the_platform() -> None:
    """Of legs of 1,000 m on a platform of 1 m poses are proven; of 1,000 km nothing is, and nothing is claimed."""
    rng = np.random.default_rng(11)
    stewart, T = random_platform(rng), random_poses(rng, 6)
    T[:, :3, 3] *= 1e3 / np.linalg.norm(T[:, :3, 3], axis=1)[:, None]
    poses = stewart.forward_kinematics(stewart.leg_lengths(T), select="all")
    assert np.all(poses.count % 2 == 0)
    for k in range(6):
        assert np.abs(poses.of(k)[:, :3, :3] - T[k, :3, :3]).max(axis=(-2, -1)).min() < 1e-6
    T[:, :3, 3] *= 1e3
    assert not np.any(stewart.forward_kinematics(stewart.leg_lengths(T), select="all").complete)


def test_nearly_architecturally_singular_platforms_claim_nothing() -> None:
    rng = np.random.default_rng(12)
    base, platform = (ring([0, 60, 120, 180, 240, 300]) * size + 1e-6 * rng.normal(size=(6, 3)) for size in (1.0, 0.6))
    stewart, T = StewartPlatform(base, platform), random_poses(rng, 3)
    poses = stewart.forward_kinematics(stewart.leg_lengths(T), select="all")
    assert not stewart.is_architecturally_singular
    assert not np.any(poses.complete | poses.certified.any(axis=-1))
    assert "nothing is proven" in str(poses)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("length", [1e308, 2e9, -1.0])
def test_lengths_out_of_bounds_have_no_poses(length: float) -> None:
    stewart = roboop()
    for lengths in (np.full(6, length), np.array([ROBOOP_LENGTHS, np.full(6, length)])):
        status = np.atleast_1d(stewart.forward_kinematics(lengths).status)
        assert status[-1] == PoseStatus.INVALID_LENGTHS
        assert np.atleast_1d(stewart.forward_kinematics(lengths, select="all").status)[-1] == PoseStatus.INVALID_LENGTHS


def test_lengths_without_poses() -> None:
    stewart = roboop()
    lengths = np.tile(ROBOOP_LENGTHS, (4, 1))
    lengths[1, 2] = np.nan
    lengths[2, 4] = 9.0
    lengths[3] = np.full(6, 2.0)
    poses = stewart.forward_kinematics(lengths, select="all")
    np.testing.assert_array_equal(
        poses.status, [PoseStatus.SOLVED, PoseStatus.INVALID_LENGTHS, PoseStatus.OUT_OF_REACH, PoseStatus.SOLVED]
    )
    np.testing.assert_array_equal(poses.count[1:3], 0)
    assert poses.complete.all()
    assert "finite and not negative" in str(poses)
    empty = stewart.forward_kinematics(np.zeros((0, 6)), select="all")
    assert empty.T.shape == (0, 0, 4, 4)
    assert empty.count.shape == (0,)


def test_rotated_and_scaled_platforms_have_the_same_poses() -> None:
    rng = np.random.default_rng(6)
    turn = ch.geometry.exp_rotation([0.3, -1.0, 0.7])
    lengths = DIETMAIER_LENGTHS
    expected = DIETMAIER.forward_kinematics(lengths, select="all").T
    scale, shift = 1000.0, rng.normal(size=3)
    moved = StewartPlatform(scale * DIETMAIER.base @ turn.T + shift, scale * DIETMAIER.platform)
    found = moved.forward_kinematics(scale * lengths, select="all")
    assert found.count == 40
    back = found.T.copy()
    back[:, :3, :3] = turn.T @ back[:, :3, :3]
    back[:, :3, 3] = (back[:, :3, 3] - shift) @ turn / scale
    apart = np.abs(back[:, None] - expected).max(axis=(-2, -1))
    assert apart.min(axis=1).max() < 1e-6


def test_start_system_solves_its_equations() -> None:
    system = start_system()
    assert system.solutions.shape == (40, 8)
    re, im = system.parameters[:36], system.parameters[36:]
    values = re + 1j * im
    parameters = Parameters(values[:15].reshape(5, 3), values[15:30].reshape(5, 3), values[30:35], values[35])
    residuals = [np.abs(gradients(parameters, x) @ x).max() for x in system.solutions]
    assert max(residuals) < 1e-9
    np.testing.assert_allclose(system.solutions @ homotopy.PATCH, 1.0, atol=1e-9)
    apart = np.abs(system.solutions[:, None] - system.solutions).max(axis=-1) + np.eye(40)
    assert apart.min() > 1e-3


def test_equations_hold_at_poses_and_their_derivatives_are_right() -> None:
    rng = np.random.default_rng(7)
    T = random_poses(rng, 1)[0]
    a, b = rng.normal(size=(2, 5, 3))
    p = T[:3, 3]
    squares = np.sum((p + b @ T[:3, :3].T - a) ** 2, axis=1)
    k = 0.5 * (np.sum(a * a, 1) + np.sum(b * b, 1) - squares + p @ p)
    e = ch.geometry.quaternion_from_rotation(T[:3, :3])
    x = np.concatenate([e, ch.geometry.multiply_quaternions(np.concatenate([[0.0], p]), e)])
    parameters = Parameters(a, b, k, p @ p)
    np.testing.assert_allclose(gradients(parameters, x) @ x, 0.0, atol=1e-13)
    changes = Parameters(*(rng.normal(size=np.shape(value)) for value in parameters))
    direction, h = rng.normal(size=8), 1e-6

    def values(t: float, point: NDArray[np.float64]) -> NDArray[np.float64]:
        at = Parameters(*(value + t * change for value, change in zip(parameters, changes, strict=True)))
        return 0.5 * gradients(at, point) @ point

    difference = (values(h, x) - values(-h, x)) / (2 * h)
    np.testing.assert_allclose(rates(parameters, changes, x), difference, atol=1e-8)
    difference = (values(0.0, x + h * direction) - values(0.0, x - h * direction)) / (2 * h)
    np.testing.assert_allclose(gradients(parameters, x) @ direction, difference, atol=1e-8)


def test_certificate_bounds_the_distance_of_the_exact_pose_and_refuses_others() -> None:
    rng = np.random.default_rng(8)
    T = random_poses(rng, 1)[0]
    a, b = rng.normal(size=(2, 5, 3))
    p = T[:3, 3]
    squares = np.sum((p + b @ T[:3, :3].T - a) ** 2, axis=1)
    parameters = Parameters(a, b, 0.5 * (np.sum(a * a, 1) + np.sum(b * b, 1) - squares + p @ p), p @ p)
    e = ch.geometry.quaternion_from_rotation(T[:3, :3])
    exact = np.concatenate([e, ch.geometry.multiply_quaternions(np.concatenate([[0.0], p]), e)])
    L, vector = certificate.lipschitz(parameters), certificate.parameter_vector(parameters)
    distances = 10.0 ** np.arange(-14.0, 1.0)
    directions = rng.normal(size=(15, 8))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    exact /= np.linalg.norm(exact)
    directions -= (directions @ exact)[:, None] * exact
    x = np.stack([exact + distances[:, None] * directions, np.zeros((15, 8))], axis=-2)
    patch = np.stack([exact, np.zeros(8)])
    proof = certificate.proof(certificate.newton()(x, patch, vector), x, L)
    assert proof.exists[0]
    assert not proof.exists[-1]
    sizes = np.linalg.norm(x[:, 0] - exact, axis=-1)
    assert np.all(proof.radius[proof.exists] >= sizes[proof.exists] - 1e-15)
    assert np.all(proof.unique_radius[proof.exists] > proof.radius[proof.exists])
