"""Platforms that the tests share: the published ones, and random ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import chasles as ch
from chasles.machines import Leg, LegBody, StewartPlatform

#: ROBOOP Reference Manual 1.31, class Stewart: joints of base and platform, pose (x, y, z, ZXZ angles), leg lengths.
ROBOOP_BASE = np.array(
    [
        [1.758, 2.8, -1.015],
        [1.6021, 3.07, -0.925],
        [-1.758, 2.8, -1.015],
        [-1.6021, 3.07, -0.925],
        [0.0, 2.8, 2.03],
        [0.0, 3.07, 1.85],
    ]
)
ROBOOP_PLATFORM = np.array(
    [
        [0.225, 0.0, -0.228],
        [0.1125, 0.1949, -0.228],
        [-0.1125, 0.1949, -0.228],
        [-0.225, 0.0, -0.228],
        [-0.1125, -0.1949, -0.228],
        [0.1125, -0.1949, -0.228],
    ]
)
ROBOOP_POSE = np.array([0.2, 0.3, -0.4, 0.1, -1.4, 0.1])
ROBOOP_LENGTHS = np.array([3.0508, 3.2324, 3.2997, 3.4560, 3.5797, 3.6935])
ROBOOP_LEG = Leg(LegBody(12.5, 0.35, 4.237, 0.1406), LegBody(10.0, 0.5, 3.358, 0.05))


def roboop(**options: object) -> StewartPlatform:
    """The platform of ROBOOP's manual; its gravity acts along -y."""
    home = np.eye(4)
    home[:3, :3] = ch.geometry.rotation_from_euler_angles([0.0, np.pi / 2, 0.0], "ZXZ")
    home[:3, 3] = (0.0, 0.0, 1.0)
    settings: dict[str, object] = {
        "legs": ROBOOP_LEG,
        "mass": 10.0,
        "center_of_mass": (0.0, 0.0, -0.114),
        "inertia": (1.001, 0.59, 0.843),
        "home": home,
        "gravity": (0.0, -9.81, 0.0),
    }
    return StewartPlatform(ROBOOP_BASE, ROBOOP_PLATFORM, **{**settings, **options})  # type: ignore[arg-type]


def random_platform(rng: np.random.Generator, **options: object) -> StewartPlatform:
    """Platform whose joints lie anywhere."""
    return StewartPlatform(rng.normal(size=(6, 3)), 0.6 * rng.normal(size=(6, 3)), **options)  # type: ignore[arg-type]


def random_poses(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Poses with any orientation near the base."""
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, :3, :3] = ch.geometry.exp_rotation(rng.normal(size=(count, 3)))
    T[:, :3, 3] = rng.normal(size=(count, 3))
    return T


def moved(T: NDArray[np.float64], twist: NDArray[np.float64], acceleration: NDArray[np.float64], t: float) -> object:
    """Pose after a short time t of a motion that begins with a world-aligned twist and its rate: exact to t³."""
    rotation = ch.geometry.exp_rotation(twist[..., :3] * t + 0.5 * acceleration[..., :3] * t * t)
    result = T.copy()
    result[..., :3, :3] = rotation @ T[..., :3, :3]
    result[..., :3, 3] += twist[..., 3:] * t + 0.5 * acceleration[..., 3:] * t * t
    return result
