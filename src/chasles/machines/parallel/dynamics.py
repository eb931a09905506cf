"""Dynamics of a Stewart-Gough platform from the Newton-Euler equations of its platform and legs.

All results are about the platform's origin in base axes: a wrench (m, f) is what the actuators together must exert on
the platform. Leg forces follow from Jᵀ f = wrench. Source: Harib & Srinivasan, Kinematic and dynamic analysis of
Stewart platform-based machine tool structures, Robotica 21 (2003), with the moments about the platform's origin.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.linear import symmetric
from chasles.engine.linear.pivoted_elimination import solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross, rotation_of, translation_of
from chasles.machines.parallel.kinematics import JointCenters, LegMotion, jacobian, leg_motions
from chasles.machines.parallel.legs import Leg, LegRotation, by_universal_joint, leg_forces, without_spin

#: Joints of a leg from the base to the platform: universal U, prismatic P, spherical S.
Architecture = Literal["UPS", "SPU", "SPS"]


class Mechanism(NamedTuple):
    """Everything that the equations of motion need to know of a platform."""

    geometry: JointCenters
    architecture: str
    """One of `Architecture`."""
    axes: Array
    """First axes (6, 3) of the universal joints, in base axes (UPS) or platform axes (SPU)."""
    legs: tuple[Leg, ...]
    mass: float
    center_of_mass: Array
    """Centre of mass (3,) of the platform in its axes."""
    inertia: Array
    """Rotational inertia (3, 3) of the platform about its centre of mass in its axes."""
    gravity: Array
    home: Array
    """Reference pose (4, 4)."""


def leg_rotation(
    mechanism: Mechanism, number: int, leg: LegMotion, T: Array, twist: Array, acceleration: Array
) -> LegRotation:
    """Rotation of a leg as its joints allow it."""
    axis = mechanism.axes[number]
    if mechanism.architecture == "UPS":
        return by_universal_joint(leg, axis)
    if mechanism.architecture == "SPU":
        return by_universal_joint(leg, rotation_of(T) @ axis, twist[:3], acceleration[:3])
    return without_spin(leg)


def required_wrench(mechanism: Mechanism, T: Array, twist: Array, acceleration: Array) -> Array:
    """Wrench (6,) of the actuators on the platform for a motion."""
    omega, omega_dot, v_dot = twist[:3], acceleration[:3], acceleration[3:]
    R = rotation_of(T)
    center = R @ mechanism.center_of_mass
    inertia = R @ mechanism.inertia @ R.T
    force = mechanism.mass * (v_dot + cross(omega_dot, center) + cross(omega, cross(omega, center)) - mechanism.gravity)
    moment = inertia @ omega_dot + cross(omega, inertia @ omega) + cross(center, force)
    motions = leg_motions(mechanism.geometry, T, twist, acceleration)
    for number, (body, leg) in enumerate(zip(mechanism.legs, motions, strict=True)):
        rotation = leg_rotation(mechanism, number, leg, T, twist, acceleration)
        of_leg = leg_forces(body, leg, rotation, mechanism.gravity)
        on_leg = of_leg.transverse + of_leg.axial * leg.direction
        force = force + on_leg
        moment = moment + cross(leg.arm, on_leg)
        if mechanism.architecture == "SPU":
            moment = moment + of_leg.moment
    return np.concatenate([moment, force])


def leg_forces_for_wrench(geometry: JointCenters, T: Array, wrench: Array) -> Array:
    """Forces (6,) of the actuators that together exert a wrench (6,) on the platform: Jᵀ f = wrench."""
    return solve(jacobian(geometry, T).T, wrench)


def inverse_dynamics(mechanism: Mechanism, T: Array, twist: Array, acceleration: Array) -> Array:
    """Actuator forces (6,) for a motion."""
    return leg_forces_for_wrench(mechanism.geometry, T, required_wrench(mechanism, T, twist, acceleration))


def mass_matrix(mechanism: Mechanism, T: Array) -> Array:
    """Mass matrix (6, 6) of platform and legs: its columns are the wrenches for unit accelerations from rest."""
    weightless = mechanism._replace(gravity=np.zeros(3))
    columns = [required_wrench(weightless, T, np.zeros(6), unit) for unit in np.eye(6)]
    return np.array([[columns[max(i, j)][min(i, j)] for j in range(6)] for i in range(6)])


def bias_wrench(mechanism: Mechanism, T: Array, twist: Array) -> Array:
    """Wrench (6,) of centrifugal, Coriolis and gravity forces: the required wrench without acceleration."""
    return required_wrench(mechanism, T, twist, np.zeros(6))


def require_mass(mechanism: Mechanism) -> None:
    """Raise `ArgumentError` if some motion of the platform moves no mass, so that forward dynamics is undefined."""
    arms = mechanism.geometry.platform - mechanism.geometry.platform.mean(axis=0)
    scale = np.array([np.sqrt(np.mean(arms * arms))] * 3 + [1.0] * 3)
    values = np.linalg.eigvalsh(mass_matrix(mechanism, mechanism.home) / np.outer(scale, scale))
    if not values[0] > 1e-12 * values[-1]:
        raise ArgumentError(
            "the mass matrix is singular, so forward dynamics is undefined; give the platform mass= and inertia=, or "
            "its legs masses"
        )


def forward_dynamics(mechanism: Mechanism, T: Array, twist: Array, forces: Array) -> Array:
    """Rate (6,) of the twist under actuator forces (6,)."""
    driving = jacobian(mechanism.geometry, T).T @ forces - bias_wrench(mechanism, T, twist)
    return symmetric.solve(symmetric.factor(mass_matrix(mechanism, T)), driving)


def kinetic_energy(mechanism: Mechanism, T: Array, twist: Array) -> Real:
    """Kinetic energy of platform and legs, J."""
    return 0.5 * (twist @ (mass_matrix(mechanism, T) @ twist))


def potential_energy(mechanism: Mechanism, T: Array) -> Real:
    """Potential energy of platform and legs in the field of gravity, J; zero at the base's origin."""
    R, p = rotation_of(T), translation_of(T)
    first_moment = mechanism.mass * (p + R @ mechanism.center_of_mass)
    legs = leg_motions(mechanism.geometry, T, np.zeros(6), np.zeros(6))
    for a, body, leg in zip(mechanism.geometry.base, mechanism.legs, legs, strict=True):
        first_moment = first_moment + body.lower.mass * (a + body.lower.center * leg.direction)
        first_moment = first_moment + body.upper.mass * (a + (leg.length - body.upper.center) * leg.direction)
    return -(first_moment @ mechanism.gravity)
