"""Joint friction of the load and of several transitions, and torques that depend on the joint position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.algorithms import articulated_body_accelerations, forward_dynamics, power_balance
from chasles.model import build_tree

SHARES, VELOCITIES = (0.5, 0.3, 0.2), (0.02, 0.1, 0.5)
TERMS = {
    "viscous": 0.7,
    "coulomb": 1.5,
    "coulomb_velocity": [VELOCITIES],
    "coulomb_shares": SHARES,
    "load": 0.15,
    "load_velocity": 0.05,
    "torque_offset": 0.8,
}


def rough(arm: ch.Robot) -> ch.Robot:
    names = [joint.name for joint in arm.description.coordinates if joint.kind in ("revolute", "continuous")]
    sines = {name: 0.3 + 0.2 * k for k, name in enumerate(names)}
    cosines = {name: 0.4 - 0.3 * k for k, name in enumerate(names)}
    return arm.with_friction(**TERMS, torque_sine=sines, torque_cosine=cosines)


def smooth(arm: ch.Robot) -> ch.Robot:
    """The same robot without any friction and position torques."""
    nothing = dict.fromkeys(("viscous", "coulomb", "load", "torque_offset", "torque_sine", "torque_cosine"), 0.0)
    return arm.with_friction(**nothing, coulomb_velocity=0.0)


ARMS = {name: rough(ch.load(name).with_motor_inertia(0.2)) for name in ("panda", "stanford")}
#: Two arms in a row: deep enough for the articulated-body algorithm.
ROW = {"a": 0.2, "mass": 1.0, "center_of_mass": [-0.1, 0.02, 0.01], "inertia": [0.01, 0.01, 0.01]}
DEEP = rough(ch.Robot.from_dh([{**ROW, "alpha": (-1.0) ** k} for k in range(13)]))
ARMS["thirteen joints"] = DEEP


def states(arm: ch.Robot, count: int = 8) -> Any:
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-2.0, 2.0, (count, arm.n)), rng.normal(scale=0.3, size=(count, arm.n))
    return q, qd, rng.normal(size=(count, arm.n))


def by_hand(arm: ch.Robot, q: Any, qd: Any, load: Any) -> tuple[Any, Any]:
    """Friction under a load and position torques, written out."""
    coulomb = 1.5 * sum(share * np.tanh(qd / velocity) for share, velocity in zip(SHARES, VELOCITIES, strict=True))
    friction = 0.7 * qd + coulomb + 0.15 * np.abs(load) * np.tanh(qd / 0.05)
    joints = arm.description.coordinates
    sine, cosine = (np.array([getattr(j, name) for j in joints]) for name in ("torque_sine", "torque_cosine"))
    return friction, 0.8 + sine * np.sin(q) + cosine * np.cos(q)


@pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS)
def test_inverse_and_forward_dynamics(arm: ch.Robot) -> None:
    q, qd, qdd = states(arm)
    load = smooth(arm).inverse_dynamics(q, qd, qdd)
    friction, position = by_hand(arm, q, qd, load)
    tau = load + friction + position
    assert arm.inverse_dynamics(q, qd, qdd) == pytest.approx(tau, rel=1e-12, abs=1e-12)
    assert arm.position_torque(q) == pytest.approx(position, rel=1e-12)
    assert arm.loaded_friction_torque(q, qd, load) == pytest.approx(friction, rel=1e-12)
    assert arm.transmitted_torque(q, qd, tau) == pytest.approx(load, rel=1e-11, abs=1e-11)
    assert arm.forward_dynamics(q, qd, tau) == pytest.approx(qdd, rel=1e-7, abs=1e-7)
    weight = smooth(arm).gravity_torque(q)
    assert arm.gravity_torque(q) == pytest.approx(weight + position, rel=1e-12, abs=1e-12)
    assert arm.friction_torque(q, qd) == pytest.approx(by_hand(arm, q, qd, weight)[0], rel=1e-12)
    assert arm.regressors.passivity_torque(q, qd, qd, qdd) == pytest.approx(tau, rel=1e-11, abs=1e-11)


def test_articulated_bodies_and_the_mass_matrix_agree() -> None:
    q, qd, tau = (samples[0] for samples in states(DEEP))
    wrenches = {"tool": np.array([0.3, -0.2, 0.1, 5.0, -4.0, 2.0])}
    tree = build_tree(DEEP.description)
    by_bodies = articulated_body_accelerations(tree, q, qd, tau, wrenches)
    back = DEEP.inverse_dynamics(q, qd, by_bodies, wrenches=wrenches)
    assert back == pytest.approx(tau, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("arm", [ARMS["panda"], ARMS["stanford"]], ids=["panda", "stanford"])
def test_regressors_and_the_terms_beside_them(arm: ch.Robot) -> None:
    q, qd, qdd = states(arm)
    parameters = arm.inertial.values
    load = smooth(arm).inverse_dynamics(q, qd, qdd)
    linear = arm.regressors.torque(q, qd, qdd) @ parameters
    beside = arm.position_torque(q) + arm.loaded_friction_torque(q, qd, load) - arm.loaded_friction_torque(q, qd, 0 * q)
    assert linear + beside == pytest.approx(arm.inverse_dynamics(q, qd, qdd), rel=1e-9, abs=1e-9)
    P, D = arm.regressors.momentum(q, qd), arm.regressors.momentum_drift(q, qd)
    momentum, drift = arm.regressors.momentum_and_drift(q, qd)
    assert P @ parameters == pytest.approx(momentum, rel=1e-9, abs=1e-9)
    assert D @ parameters - arm.position_torque(q) == pytest.approx(drift, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("arm", [ARMS["panda"], ARMS["stanford"]], ids=["panda", "stanford"])
def test_derivatives_are_those_of_differences(arm: ch.Robot) -> None:
    q, qd, qdd = (samples[0] for samples in states(arm))
    tau, h = arm.inverse_dynamics(q, qd, qdd), 1e-6
    exact = arm.inverse_dynamics_derivatives(q, qd, qdd)
    A, B = arm.linearize(q, qd, tau)
    n = arm.n
    for k, unit in enumerate(h * np.eye(n)):
        by_q = arm.inverse_dynamics(q + unit, qd, qdd) - arm.inverse_dynamics(q - unit, qd, qdd)
        by_qd = arm.inverse_dynamics(q, qd + unit, qdd) - arm.inverse_dynamics(q, qd - unit, qdd)
        by_qdd = arm.inverse_dynamics(q, qd, qdd + unit) - arm.inverse_dynamics(q, qd, qdd - unit)
        for column, difference in zip(exact, (by_q, by_qd, by_qdd), strict=True):
            assert column[:, k] == pytest.approx(difference / (2.0 * h), rel=1e-5, abs=1e-5)
        by_q = arm.forward_dynamics(q + unit, qd, tau) - arm.forward_dynamics(q - unit, qd, tau)
        by_qd = arm.forward_dynamics(q, qd + unit, tau) - arm.forward_dynamics(q, qd - unit, tau)
        by_tau = arm.forward_dynamics(q, qd, tau + unit) - arm.forward_dynamics(q, qd, tau - unit)
        assert A[n:, k] == pytest.approx(by_q / (2.0 * h), rel=1e-4, abs=1e-4)
        assert A[n:, n + k] == pytest.approx(by_qd / (2.0 * h), rel=1e-4, abs=1e-4)
        assert B[n:, k] == pytest.approx(by_tau / (2.0 * h), rel=1e-4, abs=1e-4)


def test_friction_of_the_load_dissipates_and_position_torques_store() -> None:
    arm = ARMS["panda"]
    q, qd, tau = states(arm, 12)
    wrench = {"panda_hand_tcp": np.array([0.3, -0.2, 0.1, 5.0, -4.0, 2.0])}
    tree, h = build_tree(arm.description), 1e-6
    for position, rate, torque in zip(q, qd, 20.0 * tau, strict=True):
        powers = power_balance(tree, position, rate, torque, wrench)
        assert powers.friction > 0.0
        used = powers.kinetic + powers.potential + powers.friction
        assert powers.motors + powers.environment == pytest.approx(used, rel=1e-9, abs=1e-9)
        slope = (arm.potential_energy(position + h * rate) - arm.potential_energy(position - h * rate)) / (2.0 * h)
        assert slope == pytest.approx(powers.potential, rel=1e-6, abs=1e-6)
        assert slope == pytest.approx(arm.gravity_torque(position) @ rate, rel=1e-6, abs=1e-6)


def test_a_gear_lifts_with_more_and_lowers_with_less_than_the_load() -> None:
    # A load of 10 N·m, a gear that takes 20 %: fast motion is the limit of tanh, and of the sign.
    for velocity in (0.0, 1e-3):
        arm = ch.load("planar2r").with_gravity([0.0, 0.0, 0.0]).with_friction(load=0.2, load_velocity=velocity)
        qdd = np.linalg.solve(arm.mass_matrix([0.3, 0.4]), [10.0, -10.0])  # the rates are too slow for other forces
        fast, still = np.array([1e-1, 1e-1]), np.zeros(2)
        c = arm.coriolis_vector([0.3, 0.4], fast)
        load = np.array([10.0, -10.0]) + c
        assert arm.inverse_dynamics([0.3, 0.4], fast, qdd) == pytest.approx(load + 0.2 * np.abs(load), rel=1e-12)
        assert arm.inverse_dynamics([0.3, 0.4], still, qdd) == pytest.approx(load - c, rel=1e-12)


def test_a_single_transition_with_the_share_one_is_the_plain_law() -> None:
    plain = ch.load("z1").with_friction(coulomb=2.0, coulomb_velocity=0.1)
    twice = plain.with_friction(coulomb_velocity=[[0.1, 0.1]], coulomb_shares=[0.25, 0.75])
    q, qd, qdd = states(plain)
    assert twice.inverse_dynamics(q, qd, qdd) == pytest.approx(plain.inverse_dynamics(q, qd, qdd), rel=1e-13)
    assert plain.with_friction(load_velocity=0.3).inverse_dynamics.program == plain.inverse_dynamics.program


def test_implicit_friction_of_the_load() -> None:
    # To first order in the step the friction at its end: the differences shrink with the square of the step.
    arm = ARMS["panda"]
    q, qd, tau = (samples[0] for samples in states(arm))
    tau = 20.0 * tau
    errors = []
    for step in (1e-4, 5e-5):
        qdd = arm.forward_dynamics(q, qd, tau, step=step)
        at_end = arm.inverse_dynamics(q, qd + step * qdd, qdd)  # friction at the end, other terms at the start
        start = smooth(arm)
        other = start.inverse_dynamics(q, qd + step * qdd, qdd) - start.inverse_dynamics(q, qd, qdd)
        errors.append(np.abs(at_end - other - tau).max())
    assert errors[1] == pytest.approx(errors[0] / 4.0, rel=0.1)


def test_values_vary_and_eager_is_traced() -> None:
    arm = ARMS["panda"]
    q, qd, tau = (samples[0] for samples in states(arm))
    names = ("load_friction", "load_velocity", "torque_offset", "torque_sine", "torque_cosine")
    values: dict[str, Any] = {f"joints.panda_joint2.{name}": 0.1 + 0.05 * k for k, name in enumerate(names)}
    values["joints.panda_joint2.coulomb_velocity"] = np.array([0.03, 0.2, 0.7])
    bare = ch.load("panda")
    changed = arm.with_values(values)
    assert arm.parameters["joints.panda_joint2.coulomb_velocity"] == (3,)
    assert arm.forward_dynamics(q, qd, tau, vary=values) == pytest.approx(changed.forward_dynamics(q, qd, tau))
    assert changed.forward_dynamics(q, qd, tau) == pytest.approx(
        forward_dynamics(build_tree(changed.description), q, qd, tau), rel=1e-10
    )
    only = {"joints.panda_joint2.load_friction": 0.2}
    expected = bare.with_values(only).inverse_dynamics(q, qd, tau)
    assert bare.inverse_dynamics(q, qd, tau, vary=only) == pytest.approx(expected)


@pytest.mark.parametrize("end", [".toml", ".urdf"])
def test_files_hold_all_terms(end: str, tmp_path: Path) -> None:
    arm = ARMS["panda"]
    arm.save(tmp_path / f"arm{end}")
    read = ch.load(tmp_path / f"arm{end}")
    q, qd, qdd = states(arm)
    np.testing.assert_allclose(read.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), atol=1e-9)


def test_a_simulation_is_the_solution_of_the_formulas() -> None:
    """M q̈ = x - h, where x + s |x| is what other friction and position torques leave of the motor torque."""
    arm = ARMS["stanford"]
    bare, torque = smooth(arm), np.array([4.0, -3.0, 60.0, 0.5, 0.4, -0.2])

    def rates(_: float, state: Any) -> Any:
        q, qd = np.split(state, 2)
        unloaded, position = by_hand(arm, q, qd, np.zeros(6))
        left, share = torque - unloaded - position, 0.15 * np.tanh(qd / 0.05)
        transmitted = left / (1.0 + share * np.sign(left))
        return np.concatenate([qd, np.linalg.solve(bare.mass_matrix(q), transmitted - bare.bias(q, qd))])

    start = np.concatenate([arm.home, np.zeros(6)])
    end = solve_ivp(rates, (0.0, 0.2), start, method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]
    motion = ch.PointToPoint(arm.home, arm.home, 0.2)
    precise = ch.integrators.Within("DOP853", rtol=1e-10, atol=1e-12)
    run = ch.simulate(arm, lambda now: torque + 0.0 * now.q, motion, period=0.01, integrator=precise)
    np.testing.assert_allclose(np.concatenate([run.q[-1], run.qd[-1]]), end, atol=1e-6)
