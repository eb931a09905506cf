"""Equations of motion: power balances, symmetric mass matrices, free bodies, and forward against inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines.parallel.platforms import moved, random_poses, roboop
from tests.thinning import thinned

import chasles as ch

ARCHITECTURES = ("UPS", "SPU", "SPS")


@pytest.mark.parametrize("architecture", thinned(ARCHITECTURES))
def test_power_of_the_wrench_is_the_rate_of_the_energy(architecture: str) -> None:
    rng = np.random.default_rng(1)
    stewart = roboop(architecture=architecture, axes=rng.normal(size=(6, 3)))
    T = random_poses(rng, 20)
    twist, acceleration = rng.normal(size=(2, 20, 6))

    def energy(t: float) -> np.ndarray:
        pose, velocity = moved(T, twist, acceleration, t), twist + t * acceleration
        return stewart.kinetic_energy(pose, velocity) + stewart.potential_energy(pose)

    h = 1e-4
    power = np.sum(stewart.required_wrench(T, twist, acceleration) * twist, axis=-1)
    rate = (energy(h) - energy(-h)) / (2 * h)
    np.testing.assert_allclose(power, rate, rtol=1e-5, atol=1e-5 * np.abs(power).max())
    forces = stewart.inverse_dynamics(T, twist, acceleration)
    np.testing.assert_allclose(np.sum(forces * stewart.leg_rates(T, twist), -1), power, rtol=1e-8)


@pytest.mark.parametrize("architecture", thinned(ARCHITECTURES))
def test_mass_matrix_is_symmetric_and_positive(architecture: str) -> None:
    rng = np.random.default_rng(2)
    stewart = roboop(architecture=architecture, gravity=(0.0, 0.0, 0.0))
    T = random_poses(rng, 20)
    M = stewart.mass_matrix(T)
    columns = [stewart.required_wrench(T, np.zeros(6), unit) for unit in np.eye(6)]
    np.testing.assert_allclose(M, np.stack(columns, axis=-1), atol=1e-11)
    assert np.linalg.eigvalsh(M).min() > 0.0


@pytest.mark.parametrize("architecture", thinned(ARCHITECTURES))
def test_forward_dynamics_inverts_inverse_dynamics(architecture: str) -> None:
    rng = np.random.default_rng(3)
    stewart = roboop(architecture=architecture)
    T = random_poses(rng, 50)
    twist, acceleration = rng.normal(size=(2, 50, 6))
    forces = stewart.inverse_dynamics(T, twist, acceleration)
    well = np.linalg.cond(stewart.jacobian(T)) < 1e4
    np.testing.assert_allclose(stewart.forward_dynamics(T, twist, forces)[well], acceleration[well], atol=1e-8)


def test_platform_on_massless_legs_is_a_free_body() -> None:
    rng = np.random.default_rng(4)
    stewart = roboop(legs=ch.machines.Leg())
    T = random_poses(rng, 20)
    twist, acceleration = rng.normal(size=(2, 20, 6))
    R, omega = T[:, :3, :3], twist[:, :3]
    center = R @ stewart.center_of_mass
    inertia = R @ stewart.inertia @ np.swapaxes(R, -1, -2)
    a = acceleration[:, 3:] + np.cross(acceleration[:, :3], center) + np.cross(omega, np.cross(omega, center))
    force = stewart.mass * (a - stewart.gravity)
    spin = np.einsum("nij,nj->ni", inertia, omega)
    moment = np.einsum("nij,nj->ni", inertia, acceleration[:, :3]) + np.cross(omega, spin) + np.cross(center, force)
    expected = np.concatenate([moment, force], axis=-1)
    np.testing.assert_allclose(stewart.required_wrench(T, twist, acceleration), expected, atol=1e-11)


def test_legs_of_point_masses() -> None:
    """The kinetic energy of legs that are point masses on their axes follows from the positions of these points."""
    rng = np.random.default_rng(5)
    point = ch.machines.Leg(ch.machines.LegBody(3.0, 0.4), ch.machines.LegBody(2.0, 0.3))
    stewart = roboop(legs=point, mass=0.0, inertia=np.zeros(3), architecture="SPS")
    T, twist = random_poses(rng, 20), rng.normal(size=(20, 6))

    def points(t: float) -> np.ndarray:
        ends = ch.geometry.transform_points(moved(T, twist, np.zeros(6), t), stewart.platform)
        vectors = ends - stewart.base
        n = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        return np.stack([stewart.base + 0.4 * n, ends - 0.3 * n])

    h = 1e-5
    squares = np.sum(((points(h) - points(-h)) / (2 * h)) ** 2, axis=-1).sum(axis=-1)
    np.testing.assert_allclose(stewart.kinetic_energy(T, twist), 0.5 * (3.0 * squares[0] + 2.0 * squares[1]), rtol=1e-7)


def test_leg_without_spin_has_no_axial_moment() -> None:
    """The axial inertia of legs between spherical joints has no effect (Tsai)."""
    rng = np.random.default_rng(6)
    T = random_poses(rng, 5)
    motion = rng.normal(size=(2, 5, 6))
    thin = ch.machines.Leg(ch.machines.LegBody(12.5, 0.35, 0.0, 0.1406), ch.machines.LegBody(10.0, 0.5, 0.0, 0.05))
    wrenches = [roboop(architecture="SPS", legs=leg).required_wrench(T, *motion) for leg in (thin, roboop().legs[0])]
    np.testing.assert_allclose(*wrenches, atol=1e-10)
    spinning = [roboop(architecture="UPS", legs=leg).required_wrench(T, *motion) for leg in (thin, roboop().legs[0])]
    assert np.abs(spinning[0] - spinning[1]).max() > 1e-3


def test_motion_without_mass_is_refused() -> None:
    stewart = roboop(legs=ch.machines.Leg(), inertia=np.zeros(3))
    with pytest.raises(ch.ChaslesError, match="mass matrix is singular"):
        stewart.forward_dynamics(np.eye(4), np.zeros(6), np.zeros(6))


def test_legs_with_impossible_values_are_refused() -> None:
    with pytest.raises(ch.ChaslesError, match="mass is -1"):
        ch.machines.LegBody(mass=-1.0)
    with pytest.raises(ch.ChaslesError, match="never changes"):
        ch.machines.LegBody().mass = 1.0
