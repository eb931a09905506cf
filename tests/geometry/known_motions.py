"""Motions whose poses are known with their derivatives, and bodies that are clouds of point masses: oracles that share
nothing with the library."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation


class Jet(NamedTuple):
    """A pose (4, 4) with its first and second derivative in time."""

    T: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __matmul__(self, other: Jet) -> Jet:
        a, b = self, other
        return Jet(a.T @ b.T, a.first @ b.T + a.T @ b.first, a.second @ b.T + 2 * a.first @ b.first + a.T @ b.second)

    @property
    def velocity_matrix(self) -> np.ndarray:
        return self.first @ np.linalg.inv(self.T)

    @property
    def acceleration_matrix(self) -> np.ndarray:
        return self.second @ np.linalg.inv(self.T)

    @property
    def twist(self) -> np.ndarray:
        return twist_of(self.velocity_matrix)

    @property
    def spatial_acceleration(self) -> np.ndarray:
        """The derivative of first @ inverse(T)."""
        W = self.velocity_matrix
        return twist_of(self.acceleration_matrix - W @ W)

    @property
    def classical_acceleration(self) -> np.ndarray:
        """Angular acceleration, and the second derivative of the body's point that is passing through the origin."""
        point_b = np.linalg.inv(self.T) @ [0.0, 0.0, 0.0, 1.0]
        return np.concatenate([self.spatial_acceleration[:3], (self.second @ point_b)[:3]])


def twist_of(W: np.ndarray) -> np.ndarray:
    assert np.allclose(W[:3, :3], -W[:3, :3].T, atol=1e-12 * (1 + np.abs(W).max()))
    return np.array([W[2, 1], W[0, 2], W[1, 0], *W[:3, 3]])


def known_motion(seed: int, t: float = 0.0) -> Jet:
    """Three turns about x, y and z and a translation, each a cubic polynomial of time."""
    coefficients = np.random.default_rng(seed).uniform(-1.5, 1.5, size=(4, 6))
    polynomials = [np.polynomial.Polynomial(c) for c in coefficients.T]
    values = np.array([[p.deriv(n)(t) if n else p(t) for p in polynomials] for n in range(3)])
    translation = [np.zeros((4, 4)) for _ in range(3)]
    translation[0] += np.eye(4)
    for matrix, value in zip(translation, values, strict=True):
        matrix[:3, 3] = value[3:]
    jet = Jet(*translation)
    for axis in range(3):
        generator = np.zeros((4, 4))
        generator[(axis + 1) % 3, (axis + 2) % 3], generator[(axis + 2) % 3, (axis + 1) % 3] = -1.0, 1.0
        q, qd, qdd = values[:, axis]
        R = np.eye(4) + np.sin(q) * generator + (1.0 - np.cos(q)) * generator @ generator
        jet = jet @ Jet(R, qd * generator @ R, (qdd * generator + qd**2 * generator @ generator) @ R)
    return jet


def random_pose(rng: np.random.Generator, lead: tuple[int, ...] = ()) -> np.ndarray:
    T = np.zeros((*lead, 4, 4))
    count = int(np.prod(lead, dtype=int))
    T[..., :3, :3] = Rotation.random(count, rng).as_matrix().reshape(*lead, 3, 3)
    T[..., :3, 3] = rng.normal(size=(*lead, 3))
    T[..., 3, 3] = 1.0
    return T


class PointMasses(NamedTuple):
    """A rigid body made of points: every property of it is a sum."""

    masses: np.ndarray
    points: np.ndarray

    @property
    def mass(self) -> float:
        return float(self.masses.sum())

    @property
    def center(self) -> np.ndarray:
        return self.masses @ self.points / self.mass

    def rotational_inertia(self, about: np.ndarray) -> np.ndarray:
        arms = self.points - about
        return sum(m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(self.masses, arms, strict=True))

    @property
    def properties(self) -> tuple[float, np.ndarray, np.ndarray]:
        return self.mass, self.center, self.rotational_inertia(self.center)

    @property
    def pseudo_inertia(self) -> np.ndarray:
        homogeneous = np.column_stack([self.points, np.ones(len(self.points))])
        return homogeneous.T @ (self.masses[:, None] * homogeneous)

    def velocities(self, twist: np.ndarray) -> np.ndarray:
        return twist[3:] + np.cross(twist[:3], self.points)

    def momentum(self, twist: np.ndarray) -> np.ndarray:
        each = self.masses[:, None] * self.velocities(twist)
        return np.concatenate([np.cross(self.points, each).sum(axis=0), each.sum(axis=0)])

    def kinetic_energy(self, twist: np.ndarray) -> float:
        return 0.5 * float(self.masses @ (self.velocities(twist) ** 2).sum(axis=1))

    def moved(self, T: np.ndarray) -> PointMasses:
        return PointMasses(self.masses, self.points @ T[:3, :3].T + T[:3, 3])

    def with_points_of(self, other: PointMasses) -> PointMasses:
        return PointMasses(np.append(self.masses, other.masses), np.concatenate([self.points, other.points]))


def random_body(rng: np.random.Generator, count: int = 7) -> PointMasses:
    return PointMasses(rng.uniform(0.2, 2.0, size=count), rng.normal(size=(count, 3)) + rng.normal(size=3))
