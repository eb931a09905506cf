"""A Stewart platform in six coordinates: position of the platform's origin and three Euler or Cardan angles."""

from __future__ import annotations

import numpy as np

from chasles.base.sealed import Sealed
from chasles.engine.linear.symmetric import factor, solve
from chasles.geometry.elementary import Array, pose, rotation_of, translation_of
from chasles.geometry.euler_angles import (
    euler_angles_from_rotation,
    euler_sequence,
    rotation_from_euler_angles,
)
from chasles.geometry.euler_rates import angular_acceleration_from_euler_accelerations, euler_rate_matrix
from chasles.machines.parallel import dynamics, kinematics
from chasles.machines.parallel.compiled import compiled
from chasles.machines.parallel.dynamics import Mechanism


class PlatformCoordinates(Sealed):
    """Kinematics and dynamics of a Stewart platform in coordinates (x, y, z, α, β, γ).

    The three angles are those of a sequence of `chasles.geometry.EULER_SEQUENCES`; ROBOOP's is ``"ZXZ"``. Generalized
    forces τ do work on the rates of the coordinates: M(x) ẍ + h(x, ẋ) = τ. Each call is a `chasles.engine.Function`
    over any leading batch axes.

    Parameters
    ----------
    mechanism
        Mechanism of the platform; see `StewartPlatform.coordinates`.
    sequence
        Name of the sequence of axes.

    Raises
    ------
    UnknownNameError
        If there is no such sequence.

    Examples
    --------
    >>> import chasles as ch, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> stewart = ch.machines.StewartPlatform(rng.normal(size=(6, 3)), rng.normal(size=(6, 3)))
    >>> coordinates = stewart.coordinates("ZXZ")
    >>> coordinates.from_pose(coordinates.pose([0.2, 0.3, -0.4, 0.1, 1.4, 0.1])).round(12)
    array([ 0.2,  0.3, -0.4,  0.1,  1.4,  0.1])
    """

    def __init__(self, mechanism: Mechanism, sequence: str = "ZXZ") -> None:
        euler_sequence(sequence)
        self.mechanism = mechanism
        self.sequence = sequence

    # Change of coordinates

    @compiled(x=(6,))
    def pose(self, x: Array) -> Array:
        """Pose T (..., 4, 4) at coordinates x (..., 6)."""
        return self._pose(x)

    @compiled(T=(4, 4))
    def from_pose(self, T: Array) -> Array:
        """Coordinates (..., 6) of a pose, with the angles of `chasles.geometry.euler_angles_from_rotation`."""
        return np.concatenate([translation_of(T), euler_angles_from_rotation(rotation_of(T), self.sequence)])

    @compiled(x=(6,))
    def twist_matrix(self, x: Array) -> Array:
        """Matrix B (..., 6, 6) from the rates of the coordinates to the world-aligned twist."""
        return self._twist_matrix(x)

    @compiled(x=(6,), xd=(6,))
    def twist(self, x: Array, xd: Array) -> Array:
        """World-aligned twist (..., 6) for rates of the coordinates."""
        return np.asarray(self._twist_matrix(x) @ xd)

    @compiled(x=(6,), xd=(6,), xdd=(6,))
    def acceleration(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Rate of the world-aligned twist (..., 6) for rates and accelerations of the coordinates."""
        return self._acceleration(x, xd, xdd)

    # Kinematics

    @compiled(x=(6,))
    def leg_lengths(self, x: Array) -> Array:
        """Leg lengths (..., 6), m."""
        return kinematics.leg_lengths(self.mechanism.geometry, self._pose(x))

    @compiled(x=(6,))
    def jacobian(self, x: Array) -> Array:
        """Derivatives of the leg lengths by the coordinates (..., 6, 6)."""
        return self._jacobian(x)

    @compiled(x=(6,), xd=(6,))
    def leg_rates(self, x: Array, xd: Array) -> Array:
        """Rates of the leg lengths (..., 6), m/s."""
        return kinematics.leg_rates(self.mechanism.geometry, self._pose(x), self._twist_matrix(x) @ xd)

    @compiled(x=(6,), xd=(6,), xdd=(6,))
    def leg_accelerations(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Accelerations of the leg lengths (..., 6), m/s²."""
        return kinematics.leg_accelerations(self.mechanism.geometry, *self._motion(x, xd, xdd))

    # Dynamics

    @compiled(x=(6,), xd=(6,), xdd=(6,))
    def inverse_dynamics(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Forces of the actuators (..., 6), N."""
        return dynamics.inverse_dynamics(self.mechanism, *self._motion(x, xd, xdd))

    @compiled(x=(6,), xd=(6,), xdd=(6,))
    def generalized_forces(self, x: Array, xd: Array, xdd: Array) -> Array:
        """Generalized forces τ (..., 6) for a motion, N and N·m."""
        return self._generalized_forces(x, xd, xdd)

    @compiled(x=(6,), forces=(6,))
    def generalized_from_leg_forces(self, x: Array, forces: Array) -> Array:
        """Generalized forces (..., 6) of forces of the actuators."""
        return np.asarray(self._jacobian(x).T @ forces)

    @compiled(x=(6,))
    def mass_matrix(self, x: Array) -> Array:
        """Mass matrix M (..., 6, 6) in these coordinates."""
        return self._mass_matrix(x)

    @compiled(x=(6,), xd=(6,))
    def bias_forces(self, x: Array, xd: Array) -> Array:
        """Generalized forces h (..., 6) of centrifugal, Coriolis and gravity forces."""
        return self._generalized_forces(x, xd, np.zeros(6))

    @compiled(x=(6,), xd=(6,), tau=(6,))
    def forward_dynamics(self, x: Array, xd: Array, tau: Array) -> Array:
        """Accelerations of the coordinates (..., 6) under generalized forces; not finite at singular angles."""
        dynamics.require_mass(self.mechanism)
        return solve(factor(self._mass_matrix(x)), tau - self._generalized_forces(x, xd, np.zeros(6)))

    # The formulas

    def _pose(self, x: Array) -> Array:
        return pose(rotation_from_euler_angles(x[3:], self.sequence), x[:3])

    def _twist_matrix(self, x: Array) -> Array:
        zero = np.zeros((3, 3))
        return np.block([[zero, euler_rate_matrix(x[3:], self.sequence)], [np.eye(3), zero]])

    def _acceleration(self, x: Array, xd: Array, xdd: Array) -> Array:
        alpha = angular_acceleration_from_euler_accelerations(x[3:], xd[3:], xdd[3:], self.sequence)
        return np.concatenate([alpha, xdd[:3]])

    def _motion(self, x: Array, xd: Array, xdd: Array) -> tuple[Array, Array, Array]:
        """Pose, twist and its rate."""
        return self._pose(x), np.asarray(self._twist_matrix(x) @ xd), self._acceleration(x, xd, xdd)

    def _jacobian(self, x: Array) -> Array:
        return np.asarray(kinematics.jacobian(self.mechanism.geometry, self._pose(x)) @ self._twist_matrix(x))

    def _generalized_forces(self, x: Array, xd: Array, xdd: Array) -> Array:
        wrench = dynamics.required_wrench(self.mechanism, *self._motion(x, xd, xdd))
        return np.asarray(self._twist_matrix(x).T @ wrench)

    def _mass_matrix(self, x: Array) -> Array:
        B = self._twist_matrix(x)
        return np.asarray(B.T @ dynamics.mass_matrix(self.mechanism, self._pose(x)) @ B)

    def __repr__(self) -> str:
        return f"<PlatformCoordinates of a Stewart platform, angles {self.sequence}>"
