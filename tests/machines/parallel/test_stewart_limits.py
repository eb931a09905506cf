"""Limits of poses, singular poses and maps of the workspace, against geometry."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.machines.parallel.platforms import random_platform, random_poses, roboop

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.machines import StewartPlatform, workspace_map
from chasles.visual.workspace import workspace_figure


def ring(degrees: list[float], radius: float) -> np.ndarray:
    angles = np.deg2rad(degrees)
    return radius * np.stack([np.cos(angles), np.sin(angles), 0.0 * angles], axis=-1)


def machine(**options: object) -> StewartPlatform:
    base, platform = ring([-10, 10, 110, 130, 230, 250], 1.0), ring([-50, 50, 70, 170, 190, 290], 0.5)
    return StewartPlatform(base, platform, **options)  # type: ignore[arg-type]


def at(z: float, rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = ch.geometry.exp_rotation(np.array(rotation))
    T[2, 3] = z
    return T


def test_leg_margin_is_the_distance_to_the_nearest_limit() -> None:
    stewart = machine(leg_limits=(0.9, 1.5))
    T = random_poses(np.random.default_rng(1), 30)
    lengths = stewart.leg_lengths(T)
    expected = np.minimum(lengths - 0.9, 1.5 - lengths).min(axis=-1)
    np.testing.assert_allclose(stewart.margins(T).leg, expected, atol=1e-14)
    assert np.all(np.isinf(machine().margins(T).leg) | (machine().margins(T).leg >= 0.0))


def test_joint_angles_are_those_from_home() -> None:
    stewart = machine(joint_limits=(0.4, 0.5))
    assert stewart.margins(stewart.home).base_joint == pytest.approx(0.4, abs=1e-7)
    T = random_poses(np.random.default_rng(2), 30)

    def directions(poses: np.ndarray) -> np.ndarray:
        vectors = ch.geometry.transform_points(poses, stewart.platform) - stewart.base
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)

    n, n_home = directions(T), directions(stewart.home)
    of_base = 0.4 - np.arccos(np.sum(n * n_home, axis=-1)).max(axis=-1)
    np.testing.assert_allclose(stewart.margins(T).base_joint, of_base, atol=1e-9)
    seen, seen_home = n @ T[:, :3, :3], n_home @ stewart.home[:3, :3]
    of_platform = 0.5 - np.arccos(np.sum(seen * seen_home, axis=-1)).max(axis=-1)
    np.testing.assert_allclose(stewart.margins(T).platform_joint, of_platform, atol=1e-9)


def squared(u: np.ndarray, r: np.ndarray, d: np.ndarray, e: np.ndarray) -> float:
    return float(np.sum((r + u[0] * d - u[1] * e) ** 2))


def test_clearance_is_the_smallest_distance_between_legs() -> None:
    rng = np.random.default_rng(3)
    stewart = random_platform(rng, leg_diameter=0.1)
    for T in random_poses(rng, 2):
        ends = ch.geometry.transform_points(T, stewart.platform)
        smallest = np.inf
        for i in range(6):
            for j in range(i):
                r, d, e = stewart.base[i] - stewart.base[j], ends[i] - stewart.base[i], ends[j] - stewart.base[j]
                found = minimize(squared, [0.5, 0.5], (r, d, e), bounds=[(0, 1)] * 2, method="L-BFGS-B", tol=1e-14)
                smallest = min(smallest, np.sqrt(found.fun))
        assert stewart.margins(T).clearance == pytest.approx(smallest - 0.1, abs=1e-6)


def test_parallel_and_adjacent_legs() -> None:
    prism = StewartPlatform(ring([0, 60, 120, 180, 240, 300], 1.0), ring([0, 60, 120, 180, 240, 300], 1.0))
    assert prism.margins(at(1.0)).clearance == pytest.approx(1.0, abs=1e-12)
    octahedron = StewartPlatform(ring([-60, 60, 60, 180, 180, 300], 1.0), ring([0, 0, 120, 120, 240, 240], 0.6))
    assert octahedron.margins(at(1.0)).clearance > 0.1  # legs that share a joint do not count


def test_legs_that_cross_base_or_platform_are_found() -> None:
    stewart = machine()
    assert stewart.check(at(1.0)).ok
    below = stewart.check(at(-1.0))
    assert not below.ok
    assert "a leg passes through the base" in str(below)
    turned = stewart.check(at(1.0, (np.pi, 0.0, 0.0)))
    assert "a leg passes through the platform" in str(turned)
    assert "base" not in str(turned)
    both = stewart.check(np.stack([at(1.0), at(-1.0), np.full((4, 4), np.nan)]))
    np.testing.assert_array_equal(both.ok, [True, False, False])
    assert "keep all limits" in str(stewart.check(at(1.0)))


@pytest.mark.parametrize("method", ["check", "singularity"])
def test_matrices_that_are_no_poses_are_refused(method: str) -> None:
    T = np.stack([at(1.0), at(1.0)])
    T[1, :3, :3] *= 1.001
    with pytest.raises(ArgumentError, match=r"T is not a pose: sample \(1,\) of it is .* away from one"):
        getattr(machine(), method)(T)


def test_singular_pose_of_fichter() -> None:
    """A platform parallel to a similar hexagonal base and turned by 90° about its normal is singular (Fichter 1986)."""
    stewart = machine()
    turned = at(1.0, (0.0, 0.0, np.pi / 2))
    angles = np.linspace(0.2, np.pi / 2 + 0.6, 200)
    determinants = stewart.singularity(np.stack([at(1.0, (0.0, 0.0, angle)) for angle in angles])).determinant
    crossing = np.flatnonzero(np.diff(np.sign(determinants)))
    assert len(crossing) == 1
    assert angles[crossing[0]] == pytest.approx(np.pi / 2, abs=0.02)
    measure = stewart.singularity(turned)
    assert measure.dexterity < 1e-10
    np.testing.assert_allclose(stewart.leg_rates(turned, measure.free_twist), 0.0, atol=1e-10)
    assert stewart.singularity(at(1.0)).dexterity > 0.05


def test_map_marks_what_the_check_says() -> None:
    stewart = machine(leg_limits=(0.8, 1.4), name="<machine>")
    found = workspace_map(stewart, ("x", "rz"), extent=(0.5, 2.0), samples=15)
    np.testing.assert_array_equal(found.check.ok, stewart.check(found.T).ok)
    assert found.T[3, 4, 0, 3] == pytest.approx(found.first[3] + stewart.home[0, 3])
    assert 0.0 < found.share < 1.0
    figure = found.plot()
    assert "&lt;machine&gt;" in figure.layout.title.text
    assert figure.layout.yaxis.title.text == "z rotation, °"
    encoded = workspace_figure(found)["data"][1]["z"]["bdata"]
    shown = np.frombuffer(base64.b64decode(encoded), dtype="<f4").reshape(15, 15)
    np.testing.assert_array_equal(np.isfinite(shown), found.check.ok.T)
    assert "x and rz" in repr(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"directions": ("x", "x")}, "'x' twice"),
        ({"directions": ("x", "up")}, "no direction of a map 'up'"),
        ({"extent": -1.0}, "extent"),
        ({"samples": 1}, "samples must be a whole number"),
        ({"center": np.eye(3)}, "center has shape"),
    ],
)
def test_wrong_maps_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ch.ChaslesError, match=message):
        workspace_map(machine(), **arguments)  # type: ignore[arg-type]


def test_wrong_limits_are_refused() -> None:
    with pytest.raises(ch.ChaslesError, match="joint_limits"):
        roboop(joint_limits=(0.0, 1.0))
    with pytest.raises(ch.ChaslesError, match="leg_diameter"):
        roboop(leg_diameter=-1.0)
