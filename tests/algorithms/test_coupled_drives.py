"""Coupled drives: rotors, friction and position torques of motors that turn with several joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.thinning import thinned

import chasles as ch
from chasles.algorithms import articulated_body_accelerations, forward_dynamics, power_balance
from chasles.base.errors import ArgumentError, ModelError
from chasles.model import build_tree

SHARES, VELOCITIES = (0.5, 0.3, 0.2), (0.02, 0.1, 0.5)
DRIVES = {
    "viscous": 0.7,
    "coulomb": 1.5,
    "coulomb_velocity": [VELOCITIES],
    "coulomb_shares": SHARES,
    "torque_offset": 0.8,
    "load_velocity": 0.05,
}
NOTHING = {**dict.fromkeys(("viscous", "coulomb", "load", "torque_offset", "torque_sine", "torque_cosine"), 0.0)}


def wrist(n: int) -> Any:
    """Motors of the last joints that turn with those before them, one pair also the other way round."""
    C = np.eye(n)
    C[n - 1, n - 2], C[n - 2, n - 3], C[n - 1, n - 3], C[n - 3, n - 2] = -0.7, 0.4, 0.25, 0.3
    return C


def driven(name: str, load: float = 0.15) -> ch.Robot:
    arm = ch.load(name)
    rotors = np.linspace(0.1, 0.5, arm.n)
    revolute = [joint.name for joint in arm.description.coordinates if joint.kind in ("revolute", "continuous")]
    waves = {"torque_sine": dict.fromkeys(revolute, 0.4), "torque_cosine": dict.fromkeys(revolute, -0.3)}
    return arm.with_motor_inertia(rotors).with_friction(**DRIVES, load=load, **waves).with_drive_coupling(wrist(arm.n))


ARMS = {name: driven(name) for name in ("puma560", "stanford", "panda")}
BARE = {
    name: arm.with_friction(**NOTHING, coulomb_velocity=0.0).with_motor_inertia(0.0).with_drive_coupling(np.eye(arm.n))
    for name, arm in ARMS.items()
}


def states(arm: ch.Robot, count: int = 5) -> Any:
    rng = np.random.default_rng(1)
    return rng.uniform(-2.0, 2.0, (count, arm.n)), *rng.normal(scale=0.4, size=(2, count, arm.n))


def motor_torques(arm: ch.Robot, q: Any, qd: Any, qdd: Any, bare: Any) -> Any:
    """Torques of the motors for those that the bodies need, written out."""
    C, rotors = wrist(arm.n), np.linspace(0.1, 0.5, arm.n)
    position, rate = q @ C.T, qd @ C.T
    load = np.linalg.solve(C.T, bare[..., None])[..., 0] + rotors * (qdd @ C.T)
    coulomb = 1.5 * sum(share * np.tanh(rate / velocity) for share, velocity in zip(SHARES, VELOCITIES, strict=True))
    waves = np.array([joint.torque_sine != 0.0 for joint in arm.description.coordinates])
    at_position = 0.8 + waves * (0.4 * np.sin(position) - 0.3 * np.cos(position))
    friction = 0.7 * rate + coulomb + arm.description.coordinates[0].load_friction * np.abs(load) * np.tanh(rate / 0.05)
    return load + friction + at_position


@pytest.mark.parametrize("name", thinned(ARMS))
def test_motors_overcome_what_is_written_out(name: str) -> None:
    arm, C = ARMS[name], wrist(ARMS[name].n)
    q, qd, qdd = states(arm)
    bare = BARE[name].inverse_dynamics(q, qd, qdd)
    expected = motor_torques(arm, q, qd, qdd, bare) @ C
    assert np.allclose(arm.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(arm.forward_dynamics(q, qd, expected), qdd, rtol=1e-8, atol=1e-8)
    rotors = C.T @ np.diag(np.linspace(0.1, 0.5, arm.n)) @ C
    M = arm.mass_matrix(q)
    assert np.allclose(M, BARE[name].mass_matrix(q) + rotors, rtol=1e-13, atol=1e-13)
    assert np.array_equal(M, np.swapaxes(M, -1, -2))
    assert np.allclose(arm.inverse_mass_matrix(q) @ M, np.eye(arm.n), atol=1e-9)
    energy = 0.5 * np.einsum("ki,kij,kj->k", qd, M, qd)
    assert np.allclose(arm.kinetic_energy(q, qd), energy, rtol=1e-12)
    assert np.allclose(arm.regressors.passivity_torque(q, qd, qd, qdd), expected, atol=1e-10)
    momentum, drift = arm.regressors.momentum_and_drift(q, qd)
    assert np.allclose(momentum, np.einsum("kij,kj->ki", M, qd), rtol=1e-12, atol=1e-12)
    still = 0.0 * q  # without acceleration the momentum changes as the mass matrix does
    unloaded = motor_torques(arm, q, qd, still, still) @ C + BARE[name].bias(q, qd)
    h = 1e-6
    rate = np.einsum("kij,kj->ki", (arm.mass_matrix(q + h * qd) - arm.mass_matrix(q - h * qd)) / (2.0 * h), qd)
    assert np.allclose(drift, rate - unloaded, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", thinned(ARMS))
def test_derivatives_are_those_of_differences(name: str) -> None:
    arm, h = ARMS[name], 1e-6
    (q,), (qd,), (qdd,) = states(arm, 1)
    tau = arm.inverse_dynamics(q, qd, qdd)
    steps = h * np.eye(3 * arm.n)

    def differences(function: Any, *given: Any) -> Any:
        x = np.concatenate(given)
        ends = (function(*np.split(x + step, 3)) - function(*np.split(x - step, 3)) for step in steps)
        return np.array(list(ends)).T / (2.0 * h)

    torques = np.concatenate(arm.inverse_dynamics_derivatives(q, qd, qdd), axis=1)
    assert np.allclose(torques, differences(arm.inverse_dynamics, q, qd, qdd), atol=2e-6)
    A, B = arm.linearize(q, qd, tau)
    motion = differences(arm.forward_dynamics, q, qd, tau)
    assert np.allclose(np.concatenate([A[arm.n :], B[arm.n :]], axis=1), motion, rtol=1e-6, atol=2e-5)
    slopes = [(arm.potential_energy(q + e) - arm.potential_energy(q - e)) / (2.0 * h) for e in h * np.eye(arm.n)]
    assert np.allclose(arm.gravity_torque(q), slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", thinned(ARMS))
def test_powers_balance_and_regressors_have_the_motors_parameters(name: str) -> None:
    arm = ARMS[name]
    (q,), (qd,), (qdd,) = states(arm, 1)
    tau = arm.inverse_dynamics(q, qd, qdd)
    balance = power_balance(build_tree(arm.description), q, qd, tau)
    assert balance.motors == pytest.approx(tau @ qd)
    assert balance.motors + balance.environment == pytest.approx(balance.kinetic + balance.potential + balance.friction)
    C, M = wrist(arm.n), arm.mass_matrix(q)
    assert balance.kinetic == pytest.approx(qd @ (M @ qdd + arm.coriolis_vector(q, qd)))
    plain = arm.with_friction(load=0.0, torque_offset=0.0, torque_sine=0.0, torque_cosine=0.0)
    values, Y = plain.inertial.values, plain.regressors.torque(q, qd, qdd)
    assert np.allclose(Y @ values, plain.inverse_dynamics(q, qd, qdd), rtol=1e-9, atol=1e-9)
    assert np.allclose(Y[:, -3 * arm.n :: 3], C.T * (C @ qd), atol=1e-12)  # of viscous friction
    assert np.allclose(plain.regressors.momentum(q, qd) @ values, M @ qd, rtol=1e-9, atol=1e-9)
    kinetic, _ = plain.regressors.energy(q, qd)
    assert kinetic @ values == pytest.approx(plain.kinetic_energy(q, qd))
    base = plain.inertial.base()
    assert np.allclose(base.columns(Y) @ base.values, Y @ values, rtol=2e-3, atol=2e-3 * np.abs(Y @ values).max())


def test_a_simulation_is_what_scipy_integrates() -> None:
    arm = driven("puma560")
    C, start = wrist(6), np.array([0.1, -0.8, 0.5, 0.3, -0.4, 0.2])
    bare, tau = BARE["puma560"], np.array([5.0, 20.0, 8.0, 2.0, -2.0, 1.5])
    rotors = C.T @ np.diag(np.linspace(0.1, 0.5, 6)) @ C

    def rates(_: float, x: Any) -> Any:
        """Accelerations from the sums of the motors' torques, without the package's friction."""
        q, qd = x[:6], x[6:]
        M = bare.mass_matrix(q) + rotors
        of_motors = np.linalg.solve(C.T, tau) - motor_torques(arm, q, qd, np.zeros(6), np.zeros(6))
        direction = 0.15 * np.tanh(C @ qd / 0.05)
        transmitted = C.T @ (of_motors / (1.0 + direction * np.sign(of_motors)))
        return np.concatenate([qd, np.linalg.solve(M, transmitted - bare.bias(q, qd))])

    expected = solve_ivp(rates, (0.0, 0.4), [*start, *np.zeros(6)], rtol=1e-9, atol=1e-10, method="LSODA").y[:6, -1]

    def law(now: Any) -> Any:
        return tau

    run = ch.simulate(arm, law, duration=0.4, start=start, integrator="dormand-prince")
    assert np.allclose(run["q"].values[-1], expected, atol=2e-6)
    stepped = ch.simulate(arm, law, duration=0.4, start=start, integrator="implicit-friction-euler", period=2e-4)
    assert np.allclose(stepped["q"].values[-1], expected, atol=2e-3)


def test_energies_of_a_run_balance() -> None:
    arm = driven("puma560")
    law, motion = ch.control.PD(arm, kp=200.0, kd=20.0), ch.PointToPoint(np.zeros(6), np.full(6, 0.4), duration=0.3)
    record, steps = ch.Recording(energies=True), ch.integrators.Within("dormand-prince", 1e-9)
    audit = ch.simulate(arm, law, motion, duration=0.3, record=record, integrator=steps).energy_audit()
    assert audit.residual < 1e-6


def test_shares_vary_from_run_to_run() -> None:
    arm, (q, qd, qdd) = ARMS["puma560"], states(ARMS["puma560"])
    shares = np.array([[0.25, -0.7], [0.0, 0.5]])
    name = "joints.joint6.drive_coupling"
    assert arm.description.joint("joint6").drive_coupling == (("joint4", 0.25), ("joint5", -0.7))
    assert arm.parameters[name] == (2,)
    varied = arm.inverse_dynamics(q[:, None], qd[:, None], qdd[:, None], vary={name: shares})
    for k, given in enumerate(shares):
        one = arm.with_values({name: given})
        assert np.allclose(varied[:, k], one.inverse_dynamics(q, qd, qdd), rtol=1e-12, atol=1e-12)
        back = one.forward_dynamics(q, qd, varied[:, k])
        assert np.allclose(back, qdd, atol=1e-8)
        assert np.allclose(arm.forward_dynamics(q, qd, varied[:, k], vary={name: given}), qdd, atol=1e-8)


def test_deep_trees_and_free_bases_have_coupled_drives() -> None:
    row = {"a": 0.2, "mass": 1.0, "center_of_mass": [-0.1, 0.02, 0.01], "inertia": [0.01, 0.01, 0.01]}
    deep = ch.Robot.from_dh([{**row, "alpha": (-1.0) ** k} for k in range(13)]).with_motor_inertia(0.1)
    C = wrist(13)
    arm = deep.with_drive_coupling(C)
    q, qd, qdd = states(arm, 2)
    tau = arm.inverse_dynamics(q, qd, qdd)
    assert np.allclose(tau, deep.with_motor_inertia(0.0).inverse_dynamics(q, qd, qdd) + 0.1 * qdd @ C.T @ C)
    assert np.allclose(arm.forward_dynamics(q, qd, tau), qdd, atol=1e-8)
    tree = build_tree(arm.description)
    assert np.allclose(forward_dynamics(tree, q[0], qd[0], tau[0]), qdd[0], atol=1e-8)
    with pytest.raises(ArgumentError, match="coupled drives"):
        articulated_body_accelerations(tree, q[0], qd[0], tau[0])

    free = driven("puma560").with_free_base()
    assert np.array_equal(free.description.drive_coupling[:6, :6], np.eye(6))
    q, (qd, qdd) = free.home, np.random.default_rng(2).normal(size=(2, 12))
    assert np.allclose(free.forward_dynamics(q, qd, free.inverse_dynamics(q, qd, qdd)), qdd, atol=1e-8)
    assert np.array_equal(free.description.drive_coupling[6:, 6:], wrist(6))


def test_loops_project_what_coupled_drives_give_the_tree() -> None:
    rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    C = np.array([[1.0, 0.3], [-0.5, 1.0]])
    arm = ch.load("planar2r").with_motor_inertia([0.2, 0.3]).with_friction(viscous=[1.0, 2.0]).with_drive_coupling(C)
    closed = arm.with_loop("rod", "rod", "link0", "tool", **rod)
    q = np.asarray(closed.home)
    G = np.asarray(closed.loops.velocity_map(q))
    assert np.allclose(closed.mass_matrix(q), G.T @ arm.mass_matrix(q) @ G)
    assert np.allclose(closed.friction_torque(q, [2.0]), (C @ G).T @ ([1.0, 2.0] * (C @ G @ [2.0])))
    slow = closed.with_gravity(np.zeros(3)).forward_dynamics(q, [1e-3], [0.0], step=1e3)
    assert slow == pytest.approx([-1e-3 / 1e3], rel=1e-2)  # friction at the end of a long step stops it


def test_files_hold_coupled_drives(tmp_path: Path) -> None:
    for name in ("ur5", "panda"):
        arm = driven(name)
        for file in ("arm.toml", "arm.urdf"):
            arm.save(tmp_path / file)
            again = ch.load(tmp_path / file)
            assert np.array_equal(again.description.drive_coupling, wrist(arm.n)), name
        assert ch.load(tmp_path / "arm.toml") == arm
    odd = ch.load("planar2r").edit.renamed(joints={"joint1": 'shoulder (1) "left"'})
    odd = odd.with_drive_coupling([[1.0, 0.0], [0.5, 1.0]])
    for file in ("odd.toml", "odd.urdf"):
        odd.save(tmp_path / file)
        assert ch.load(tmp_path / file).description.joint("joint2").drive_coupling == (('shoulder (1) "left"', 0.5),)
    with pytest.raises(ModelError, match="it has drive_coupling"):
        ch.model.write(driven("puma560", load=0.0).with_friction(**NOTHING, coulomb_velocity=0.0).description, "roboop")


def test_mujoco_has_the_drives_as_tendons() -> None:
    mujoco = pytest.importorskip("mujoco")
    arm = ch.load("ur5").with_motor_inertia(0.2).with_friction(viscous=0.7, coulomb=0.0)
    arm = arm.with_drive_coupling(wrist(6))
    model = mujoco.MjModel.from_xml_string(ch.model.write(arm.description, "mjcf"))
    data = mujoco.MjData(model)
    for q, qd, qdd in zip(*states(arm), strict=True):
        data.qpos, data.qvel, data.qacc = q, qd, qdd
        mujoco.mj_inverse(model, data)
        assert np.allclose(data.qfrc_inverse, arm.inverse_dynamics(q, qd, qdd), rtol=1e-6, atol=1e-6)


def test_edits_keep_the_coupling_or_refuse() -> None:
    arm = ARMS["puma560"]
    assert arm.edit.renamed(prefix="a_").description.joint("a_joint6").drive_coupling == (
        ("a_joint4", 0.25),
        ("a_joint5", -0.7),
    )
    with pytest.raises(ModelError, match="joint 'joint6' cannot be fixed: its motor turns with 'joint4', 'joint5' too"):
        arm.edit.lock("joint6")
    locked = arm.edit.lock(["joint4", "joint5", "joint6"])
    assert not locked.description.has_coupled_drives
    beyond = ch.Robot(ch.model.sub_tree(arm.description, "link5"))
    assert beyond.joint_names == ("joint6",)
    assert not beyond.description.has_coupled_drives
    plain = ch.load("puma560").with_drive_coupling([*np.eye(6)[:5], [0.0, 0.0, 0.0, 0.0, 0.5, 1.0]])
    assert plain.edit.lock("joint5").joint_names == ("joint1", "joint2", "joint3", "joint4", "joint6")


@pytest.mark.parametrize(
    ("C", "error", "message"),
    [
        (np.eye(3), ArgumentError, r"C has shape \(3, 3\); expected \(2, 2\)"),
        ([[2.0, 0.0], [0.0, 1.0]], ArgumentError, "must be 1: divide each row by its diagonal element"),
        ([[1.0, 1.0], [1.0, 1.0]], ModelError, "leaves torques that no motors give"),
        ([[1.0, np.nan], [0.0, 1.0]], ModelError, "finite"),
    ],
)
def test_wrong_matrices_are_refused(C: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ch.load("planar2r").with_drive_coupling(C)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"elbow": 1.0}, "joint 'elbow' does not exist"),
        ({"joint2": 1.0}, "names the joint itself"),
        ("joint1", "must give a share of the rate for each joint name"),
        ([("joint1", 1.0), ("joint1", 2.0)], "must name each joint once"),
        ({"joint1": np.inf}, "finite"),
    ],
)
def test_wrong_shares_are_refused(shares: Any, message: str) -> None:
    arm = ch.load("planar2r").description
    with pytest.raises(ModelError, match=message):
        arm.replace(joints=(arm.joints[0], arm.joints[1].replace(drive_coupling=shares)))


def test_mimic_joints_and_several_freedoms_are_refused() -> None:
    arm = ch.load("planar2r").description
    first, second = arm.joints[:2]
    follower = second.replace(mimic=ch.model.Mimic("joint1"), drive_coupling={"joint1": 0.5})
    with pytest.raises(ModelError, match="mimics another joint"):
        arm.replace(joints=(first, follower))
    ball = first.replace(kind="spherical", limits=ch.model.Limits())
    with pytest.raises(ModelError, match="joint 'joint1' is spherical"):
        arm.replace(joints=(ball, second.replace(drive_coupling={"joint1": 0.5})), home=None)


def test_effects_of_motors_are_refused() -> None:
    arm = ARMS["puma560"]
    elastic = ch.ElasticJoints(6, stiffness=1e4, rotor_inertia=0.2)
    with pytest.raises(ArgumentError, match="has coupled drives"):
        ch.Plant(arm, elastic_joints=elastic)
