"""Legs of a Stewart-Gough platform as two bodies that slide along each other, and their Newton-Euler equations.

The lower body turns about the base joint, the upper one slides out of it and ends at the platform joint. A leg with a
universal joint rotates with the angular velocity that this joint allows; one with two spherical joints does not spin
about its own axis. Sources: Harib & Srinivasan, Kinematic and dynamic analysis of Stewart platform-based machine tool
structures, Robotica 21 (2003); Tsai, Robot Analysis (1999), section 10.4, for legs that do not spin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from chasles.base.sealed import Sealed
from chasles.engine import sqrt
from chasles.engine.validators import real
from chasles.geometry.elementary import Array, cross
from chasles.machines.parallel.kinematics import LegMotion
from chasles.model.numbers import LARGEST_NUMBER


@dataclass(unsafe_hash=True)
class LegBody(Sealed):
    """Half of a leg: a rigid body symmetric about the leg's axis.

    Attributes
    ----------
    mass
        kg.
    center
        Distance of the centre of mass from the joint at which this half ends, along the leg, m.
    axial_inertia, transverse_inertia
        Moments of inertia about the leg's axis and about any axis perpendicular to it through the centre of mass,
        kg·m².

    Raises
    ------
    ArgumentError
        If a mass or an inertia is negative, or a value is not finite.
    """

    mass: float = 0.0
    center: float = 0.0
    axial_inertia: float = 0.0
    transverse_inertia: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mass", "axial_inertia", "transverse_inertia"):
            setattr(self, name, real(getattr(self, name), name, at_least=0.0, at_most=LARGEST_NUMBER))
        self.center = real(self.center, "center", at_least=-LARGEST_NUMBER, at_most=LARGEST_NUMBER)


MASSLESS = LegBody()


@dataclass(unsafe_hash=True)
class Leg(Sealed):
    """A leg: the lower body at the base joint and the upper body at the platform joint; default without mass.

    Examples
    --------
    >>> leg = Leg(LegBody(mass=12.5, center=0.35), LegBody(mass=10.0, center=0.5))
    >>> leg.upper.mass
    10.0
    """

    lower: LegBody = MASSLESS
    upper: LegBody = MASSLESS


class LegRotation(NamedTuple):
    """Rotation of a leg, in base axes."""

    omega: Array
    """Angular velocity (3,)."""
    omega_dot: Array
    """Angular acceleration (3,)."""
    moment_axis: Array
    """Unit vector (3,) of the moment that the leg's joints can transmit: perpendicular to both universal axes."""


def without_spin(leg: LegMotion) -> LegRotation:
    """Rotation of a leg between spherical joints: n' = omega x n with omega perpendicular to n."""
    n, length = leg.direction, leg.length
    n_dot = (leg.joint_velocity - leg.rate * n) / length
    n_ddot = (leg.joint_acceleration - leg.acceleration * n - 2.0 * leg.rate * n_dot) / length
    return LegRotation(cross(n, n_dot), cross(n, n_ddot), n)


def by_universal_joint(
    leg: LegMotion, fixed_axis: Array, body_omega: Array | None = None, body_omega_dot: Array | None = None
) -> LegRotation:
    """Rotation of a leg with a universal joint: omega = omega_body + s u + w v.

    Its first axis u is fixed in the base, or in the platform, which rotates with `body_omega`. The second axis v is
    perpendicular to u and to the leg. The component of omega along c = u x v is that of the body.

    Parameters
    ----------
    leg
        Motion of the leg.
    fixed_axis
        Unit vector u, (3,), in base axes.
    body_omega, body_omega_dot
        Angular velocity and acceleration of the body in which u is fixed, (3,), in base axes; None for the base.
    """
    n = leg.direction
    free = without_spin(leg)
    v = cross(fixed_axis, n)
    v = v / sqrt(v @ v)
    c = cross(fixed_axis, v)
    along = c @ n
    carried = np.zeros(3) if body_omega is None else body_omega
    carried_dot = np.zeros(3) if body_omega_dot is None else body_omega_dot
    spin = (carried - free.omega) @ c / along
    omega = free.omega + spin * n
    # c is fixed in the joint's cross, which turns about u against the body: c' = omega_cross x c.
    relative = omega - carried
    c_dot = cross(carried + (relative @ fixed_axis) * fixed_axis, c)
    n_dot = cross(free.omega, n)
    known = free.omega_dot + spin * n_dot
    spin_rate = ((carried_dot - known) @ c + (carried - omega) @ c_dot) / along
    return LegRotation(omega, known + spin_rate * n, c)


class LegForces(NamedTuple):
    """Forces and moments of a moving leg on the bodies at its ends, in base axes, without the force along its axis."""

    transverse: Array
    """Force (3,) of the platform on the leg, perpendicular to the leg."""
    moment: Array
    """Moment (3,) that the universal joint transmits to the leg; zero without one."""
    axial: Array
    """Force along the leg that moves the upper body alone: m (a - g) · n."""


def leg_forces(body: Leg, leg: LegMotion, rotation: LegRotation, gravity: Array) -> LegForces:
    """Newton's and Euler's equations of a leg about its base joint.

    The platform's force F at distance l, the universal joint's moment M along its axis c, the weight and the inertial
    forces of both bodies balance: N = l n x F + M. The component along n gives M, the others the transverse part of F.
    """
    n, length = leg.direction, leg.length
    omega, omega_dot, c = rotation
    n_dot = cross(omega, n)
    n_ddot = cross(omega_dot, n) + cross(omega, n_dot)
    to_upper = length - body.upper.center
    upper = leg.acceleration * n + 2.0 * leg.rate * n_dot + to_upper * n_ddot - gravity
    lower = body.lower.center * n_ddot - gravity
    axial_inertia = body.lower.axial_inertia + body.upper.axial_inertia
    transverse_inertia = body.lower.transverse_inertia + body.upper.transverse_inertia

    def inertia(vector: Array) -> Array:
        along = n @ vector
        return transverse_inertia * vector + (axial_inertia - transverse_inertia) * along * n

    N = inertia(omega_dot) + cross(omega, inertia(omega))
    N = N + body.upper.mass * to_upper * cross(n, upper) + body.lower.mass * body.lower.center * cross(n, lower)
    M = (N @ n) / (c @ n) * c
    return LegForces(cross(N - M, n) / length, M, body.upper.mass * (upper @ n))
