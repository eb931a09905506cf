"""Six coordinates with Euler angles, and motors on ball screws: ROBOOP's numbers and formulas, and physics."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines.parallel.platforms import ROBOOP_LENGTHS, ROBOOP_POSE, roboop

import chasles as ch
from chasles.machines import DrivenPlatform, ScrewDrive

#: ROBOOP Reference Manual 1.31, class Stewart.
DRIVE = ScrewDrive(
    lead=0.5, gear_ratio=1.5, screw_inertia=0.12, motor_inertia=0.04, screw_damping=0.5, motor_damping=0.5,
    torque_constant=0.443, back_emf=0.5, resistance=5.44, inductance=0.005,
)  # fmt: skip


def motion(count: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x, xd, xdd = rng.uniform(-1.0, 1.0, (3, count, 6))
    x[:, 4] = rng.uniform(0.5, 2.5, count)  # away from the singular angles
    return x, xd, xdd


def test_lengths_and_jacobian_of_the_manual() -> None:
    coordinates = roboop().coordinates()
    np.testing.assert_allclose(coordinates.leg_lengths(ROBOOP_POSE), ROBOOP_LENGTHS, atol=6e-5)
    differences = coordinates.leg_lengths.jacobian()(ROBOOP_POSE)
    np.testing.assert_allclose(coordinates.jacobian(ROBOOP_POSE), differences, atol=1e-13)


def test_newton_iteration_of_the_manual_converges() -> None:
    """ROBOOP's ForwardKine: q - J(l(q) - l) from the manual's guess."""
    coordinates, q = roboop().coordinates(), np.array([0.25, 0.25, -0.45, 0.07, -1.7, 0.07])
    for _ in range(20):
        q = q - np.linalg.solve(coordinates.jacobian(q), coordinates.leg_lengths(q) - ROBOOP_LENGTHS)
    np.testing.assert_allclose(q, ROBOOP_POSE, atol=1e-3)


@pytest.mark.parametrize("sequence", ["ZXZ", "ZYX", "xyz"])
def test_rates_and_accelerations_agree_with_exact_derivatives(sequence: str) -> None:
    coordinates = roboop().coordinates(sequence)
    x, xd, xdd = motion()
    rates = np.einsum("nij,nj->ni", coordinates.leg_lengths.jacobian()(x), xd)
    np.testing.assert_allclose(coordinates.leg_rates(x, xd), rates, atol=1e-12)
    by_x, by_xd = coordinates.leg_rates.jacobian(wrt="x")(x, xd), coordinates.leg_rates.jacobian(wrt="xd")(x, xd)
    accelerations = np.einsum("nij,nj->ni", by_x, xd) + np.einsum("nij,nj->ni", by_xd, xdd)
    np.testing.assert_allclose(coordinates.leg_accelerations(x, xd, xdd), accelerations, atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["UPS", "SPU"])
def test_equations_of_motion_are_lagranges(architecture: str) -> None:
    """d/dt (dL/dẋ) - dL/dx = τ, with exact derivatives of the energies."""
    stewart = roboop(architecture=architecture)
    coordinates = stewart.coordinates()

    @ch.function(x=(6,), xd=(6,))
    def lagrangian(x: np.ndarray, xd: np.ndarray) -> object:
        T, twist = coordinates.pose(x), coordinates.twist(x, xd)
        return stewart.kinetic_energy(T, twist) - stewart.potential_energy(T)

    x, xd, xdd = motion(5)
    momentum = lagrangian.jacobian(wrt="xd")
    name = momentum.program.outputs[0].name
    rate = np.einsum("nij,nj->ni", momentum.jacobian(name, "x")(x, xd), xd)
    rate += np.einsum("nij,nj->ni", momentum.jacobian(name, "xd")(x, xd), xdd)
    tau = coordinates.generalized_forces(x, xd, xdd)
    np.testing.assert_allclose(tau, rate - lagrangian.jacobian(wrt="x")(x, xd), atol=1e-9 * np.abs(tau).max())


def test_forces_and_dynamics_are_consistent() -> None:
    coordinates = roboop().coordinates()
    x, xd, xdd = motion()
    tau = coordinates.generalized_forces(x, xd, xdd)
    forces = coordinates.inverse_dynamics(x, xd, xdd)
    np.testing.assert_allclose(coordinates.generalized_from_leg_forces(x, forces), tau, atol=1e-7)
    np.testing.assert_allclose(coordinates.forward_dynamics(x, xd, tau), xdd, atol=1e-8)
    inertial = np.einsum("nij,nj->ni", coordinates.mass_matrix(x), xdd)
    np.testing.assert_allclose(inertial + coordinates.bias_forces(x, xd), tau, atol=1e-9)


def test_drives_are_the_manuals_matrices() -> None:
    """Mc ẍ + Nc + Gc = τ with Mc = Ka Jᵀ M + Ma J⁻¹ and so on, J being the derivative of the coordinates by lengths."""
    stewart = roboop()
    driven, coordinates = DrivenPlatform(stewart, DRIVE), stewart.coordinates()
    x, xd, xdd = motion(5)
    p, n = DRIVE.lead, DRIVE.gear_ratio
    Ka = p / (2 * np.pi * n)
    Ma = 2 * np.pi / (n * p) * (0.12 + n**2 * 0.04)
    Va = 2 * np.pi / (n * p) * (0.5 + n**2 * 0.5)
    J = np.linalg.inv(coordinates.jacobian(x))
    tau = coordinates.generalized_forces(x, xd, xdd)
    rates, accelerations = coordinates.leg_rates(x, xd), coordinates.leg_accelerations(x, xd, xdd)
    expected = Ka * np.einsum("nji,nj->ni", J, tau) + Ma * accelerations + Va * rates
    T, twist = coordinates.pose(x), coordinates.twist(x, xd)
    acceleration = coordinates.acceleration(x, xd, xdd)
    torques = driven.motor_torques(T, twist, acceleration)
    np.testing.assert_allclose(torques, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(driven.forward_dynamics(T, twist, torques), acceleration, atol=1e-8)


def test_motors_pass_power_on() -> None:
    """Electrical power is the power of the shafts plus heat plus the change of the magnetic energy, if Kb = Kt."""
    drive = ScrewDrive(lead=0.02, gear_ratio=3.0, torque_constant=0.4, back_emf=0.4, resistance=2.0, inductance=0.01)
    driven = DrivenPlatform(roboop(), drive)
    currents, voltages, rates = np.random.default_rng(2).normal(size=(3, 10, 6))
    stored = drive.inductance * currents * driven.current_rates(currents, voltages, rates)
    shafts = drive.torque_constant * currents * driven.motor_rates(rates)
    np.testing.assert_allclose(voltages * currents, shafts + drive.resistance * currents**2 + stored, atol=1e-9)
    torques = drive.torque_constant * currents
    steady = driven.steady_voltages(torques, rates)
    np.testing.assert_allclose(driven.current_rates(currents, steady, rates), 0.0, atol=1e-9)


def test_current_of_roboop_to_the_letter() -> None:
    driven = DrivenPlatform(roboop(), DRIVE)
    V, rates, t = np.array([1.0, 0.0, 0.0, -10.0, 0.0, 0.0]), np.arange(6.0), 0.002
    remaining = V - rates * (2 * np.pi / 0.5) * 0.5
    expected = 0.443 * (1 / 0.005) * np.exp(-5.44 * t / 0.005) * remaining
    np.testing.assert_allclose(driven.roboop_torques(V, rates, t), expected, rtol=1e-13)


def test_wrong_arguments() -> None:
    with pytest.raises(ch.ChaslesError, match="no sequence of axes 'ZZZ'"):
        roboop().coordinates("ZZZ")
    with pytest.raises(ch.ChaslesError, match="lead is 0"):
        ScrewDrive(lead=0.0)
    with pytest.raises(ch.ChaslesError, match="motor_inertia"):
        ScrewDrive(lead=0.1, motor_inertia=-1.0)
    massless = roboop(legs=ch.machines.Leg(), mass=0.0, inertia=np.zeros(3))
    with pytest.raises(ch.ChaslesError, match="mass matrix is singular"):
        massless.coordinates().forward_dynamics(np.ones(6), np.zeros(6), np.zeros(6))
    assert "ZXZ" in repr(massless.coordinates())
