"""Robots of all kinds of joints for the tests, and the published package without its plots."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.spatial.transform import Rotation

published: ModuleType = importlib.import_module("modern_robotics")


class Lists(NamedTuple):
    """A robot as the book describes it."""

    Mlist: np.ndarray
    Glist: np.ndarray
    Slist: np.ndarray


@contextlib.contextmanager
def no_plots() -> Iterator[None]:
    """Keep the published package from opening a window and from saying that it could not."""
    hidden: dict[str, Any] = {"matplotlib": None, "matplotlib.pyplot": None}
    with mock.patch.dict(sys.modules, hidden), contextlib.redirect_stdout(io.StringIO()):
        yield


def random_pose(rng: np.random.Generator, size: float = 0.5) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(rng=rng).as_matrix()
    T[:3, 3] = size * rng.normal(size=3)
    return T


def random_axis(rng: np.random.Generator, kind: str) -> np.ndarray:
    """A screw axis; those of the book have unit length, its examples also others."""
    direction, point = rng.normal(size=3), 0.5 * rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    if kind == "prismatic":
        return np.concatenate([np.zeros(3), direction])
    pitch = 0.2 * rng.normal() if kind == "helical" else 0.0
    axis = np.concatenate([direction, np.cross(point, direction) + pitch * direction])
    return axis * rng.uniform(0.5, 2.0) if kind == "long" else axis


def random_inertia(rng: np.random.Generator, *, offset: bool) -> np.ndarray:
    """Spatial inertia of a cloud of masses, about its centre or about another point."""
    points, masses = 0.1 * rng.normal(size=(6, 3)), rng.uniform(0.1, 1.0, 6)
    points -= masses @ points / masses.sum()
    if offset:
        points += 0.2 * rng.normal(size=3)
    G = np.zeros((6, 6))
    for m, p in zip(masses, points, strict=True):
        P = published.VecToso3(p)
        G += m * np.block([[P.T @ P, P], [P.T, np.eye(3)]])
    return G


def random_robot(seed: int, n: int, *kinds: str, offset: bool = False) -> Lists:
    rng = np.random.default_rng(seed)
    chosen = kinds or tuple(rng.choice(["revolute", "prismatic", "helical", "long"], n))
    return Lists(
        np.array([random_pose(rng) for _ in range(n + 1)]),
        np.array([random_inertia(rng, offset=offset) for _ in range(n)]),
        np.array([random_axis(rng, kind) for kind in chosen]).T,
    )


def close(ours: Any, theirs: Any, tolerance: float = 1e-10) -> bool:
    """Whether all results agree to a tolerance, relative to the largest value of each, or absolute for small ones."""
    if isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(close(a, b, tolerance) for a, b in zip(ours, theirs, strict=True))
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if ours.shape != theirs.shape:
        return False
    return bool(np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max()))
