"""Electric motors that drive the legs of a Stewart platform through gears and ball screws.

A leg of rate l' turns its screw by 2 π l' / p and its motor n times as fast. The motor's torque carries the force f of
the leg and accelerates screw and motor:

    τ = p / (2 π n) f + 2 π / (n p) ((Js + n² Jm) l'' + (bs + n² bm) l')

Electrically, L i' = V - R i - Kb θ' with τ = Kt i. ROBOOP writes another electrical part (class Stewart,
`ForwardDyn_AD`). Its current is (1 / L) exp(-R t / L) V', which is the derivative of a current, and its back EMF lacks
the gear ratio. Both are here; the mechanical parts agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

from chasles.base.sealed import Sealed
from chasles.engine import exp
from chasles.engine.linear.symmetric import factor, solve
from chasles.engine.validators import real
from chasles.geometry.elementary import Array
from chasles.machines.parallel import dynamics, kinematics
from chasles.machines.parallel.compiled import compiled
from chasles.machines.parallel.stewart import StewartPlatform


@dataclass(unsafe_hash=True)
class ScrewDrive(Sealed):
    """Motor, gear and ball screw of a leg.

    Attributes
    ----------
    lead
        Travel of the leg per revolution of the screw, p, m.
    gear_ratio
        Motor revolutions per revolution of the screw, n.
    screw_inertia, motor_inertia
        Js and Jm, kg·m².
    screw_damping, motor_damping
        Viscous damping bs and bm, N·m·s/rad.
    torque_constant, back_emf
        Kt, N·m/A, and Kb, V·s/rad.
    resistance, inductance
        R, Ω, and L, H.

    Raises
    ------
    ArgumentError
        If a value is not finite, or negative; the lead, the gear ratio, the torque constant, the resistance and the
        inductance must be positive.
    """

    lead: float
    gear_ratio: float = 1.0
    screw_inertia: float = 0.0
    motor_inertia: float = 0.0
    screw_damping: float = 0.0
    motor_damping: float = 0.0
    torque_constant: float = 1.0
    back_emf: float = 0.0
    resistance: float = 1.0
    inductance: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("lead", "gear_ratio", "torque_constant", "resistance", "inductance"):
            setattr(self, name, real(getattr(self, name), name, above=0.0))
        for name in ("screw_inertia", "motor_inertia", "screw_damping", "motor_damping", "back_emf"):
            setattr(self, name, real(getattr(self, name), name, at_least=0.0))

    @property
    def torque_per_force(self) -> float:
        """Motor torque per force of the leg, p / (2 π n), m."""
        return self.lead / (2.0 * pi * self.gear_ratio)

    @property
    def torque_per_acceleration(self) -> float:
        """Motor torque per acceleration of the leg, N·s²."""
        inertia = self.screw_inertia + self.gear_ratio**2 * self.motor_inertia
        return 2.0 * pi / (self.gear_ratio * self.lead) * inertia

    @property
    def torque_per_rate(self) -> float:
        """Motor torque per rate of the leg, N·s."""
        damping = self.screw_damping + self.gear_ratio**2 * self.motor_damping
        return 2.0 * pi / (self.gear_ratio * self.lead) * damping


class DrivenPlatform(Sealed):
    """A Stewart platform with six equal screw drives.

    Each call is a `chasles.engine.Function` over any leading batch axes. Poses, twists and accelerations are those of
    `StewartPlatform`.

    Parameters
    ----------
    platform
        The platform.
    drive
        Motor, gear and screw of each leg.

    Examples
    --------
    >>> import chasles as ch, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> joints = rng.normal(size=(2, 6, 3))
    >>> stewart = ch.machines.StewartPlatform(*joints, mass=2.0, inertia=(1.0, 1.0, 1.0))
    >>> driven = ch.machines.DrivenPlatform(stewart, ch.machines.ScrewDrive(lead=0.01, motor_inertia=1e-4))
    >>> acceleration = np.arange(6.0)
    >>> torques = driven.motor_torques(np.eye(4), np.zeros(6), acceleration)
    >>> driven.forward_dynamics(np.eye(4), np.zeros(6), torques).round(9)
    array([0., 1., 2., 3., 4., 5.])
    """

    def __init__(self, platform: StewartPlatform, drive: ScrewDrive) -> None:
        self.platform = platform
        self.drive = drive

    @compiled(T=(4, 4), twist=(6,), acceleration=(6,))
    def motor_torques(self, T: Array, twist: Array, acceleration: Array) -> Array:
        """Torques of the motors (..., 6), N·m, for a motion."""
        mechanism, drive = self.platform.mechanism, self.drive
        forces = dynamics.inverse_dynamics(mechanism, T, twist, acceleration)
        rates = kinematics.leg_rates(mechanism.geometry, T, twist)
        accelerations = kinematics.leg_accelerations(mechanism.geometry, T, twist, acceleration)
        of_screw = drive.torque_per_acceleration * accelerations + drive.torque_per_rate * rates
        return drive.torque_per_force * forces + of_screw

    @compiled(T=(4, 4), twist=(6,), torques=(6,))
    def forward_dynamics(self, T: Array, twist: Array, torques: Array) -> Array:
        """Rate of the platform's twist (..., 6) under torques of the motors (..., 6), N·m."""
        dynamics.require_mass(self.platform.mechanism)
        mechanism, drive = self.platform.mechanism, self.drive
        J = kinematics.jacobian(mechanism.geometry, T)
        drift = kinematics.leg_accelerations(mechanism.geometry, T, twist, 0.0 * twist)
        of_screw = drive.torque_per_acceleration * drift + drive.torque_per_rate * (J @ twist)
        reflected = drive.torque_per_acceleration / drive.torque_per_force
        M = dynamics.mass_matrix(mechanism, T) + reflected * (J.T @ J)
        driving = J.T @ (torques - of_screw) / drive.torque_per_force - dynamics.bias_wrench(mechanism, T, twist)
        return np.asarray(solve(factor(M), driving))

    @compiled(leg_rates=(6,))
    def motor_rates(self, leg_rates: Array) -> Array:
        """Angular velocities of the motors (..., 6), rad/s."""
        return leg_rates / self.drive.torque_per_force

    @compiled(currents=(6,), voltages=(6,), leg_rates=(6,))
    def current_rates(self, currents: Array, voltages: Array, leg_rates: Array) -> Array:
        """Rates of the motor currents (..., 6), A/s: L i' = V - R i - Kb θ'. The torques are Kt i."""
        drive = self.drive
        induced = drive.back_emf * leg_rates / drive.torque_per_force
        return (voltages - drive.resistance * currents - induced) / drive.inductance

    @compiled(torques=(6,), leg_rates=(6,))
    def steady_voltages(self, torques: Array, leg_rates: Array) -> Array:
        """Voltages (..., 6), V, for given motor torques at constant currents."""
        drive = self.drive
        induced = drive.back_emf * leg_rates / drive.torque_per_force
        return drive.resistance / drive.torque_constant * torques + induced

    @compiled(voltages=(6,), leg_rates=(6,), t=())
    def roboop_torques(self, voltages: Array, leg_rates: Array, t: Array) -> Array:
        """Torques of the motors (..., 6), N·m, at time t after switching on, exactly by ROBOOP's formula.

        τ = Kt / L exp(-R t / L) (V - (2 π / p) Kb l').
        """
        drive = self.drive
        remaining = voltages - leg_rates * (2.0 * pi / drive.lead) * drive.back_emf
        return np.asarray(
            drive.torque_constant / drive.inductance * exp(-drive.resistance * t / drive.inductance) * remaining
        )
