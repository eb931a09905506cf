from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp

import chasles as ch
from chasles.simulation.plant.elastic_joints import ElasticJoints

INERTIA, ROTOR = 2.0, 0.5


def motion(joints: ElasticJoints, x0: Any, tau: float, times: Any, longest_step: float = np.inf) -> np.ndarray:
    """(q, qd, theta, thetad) over time of one link of inertia 2 kg m² in weightlessness behind a spring.

    Springs with backlash have kinks, which short steps do not skip.
    """
    tolerance = 1e-11 if longest_step == np.inf else 1e-8

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        link = joints.torque(x[:1], x[1:2], x[2:]) / INERTIA
        return np.concatenate([x[1:2], link, joints.derivative(x[2:], x[:1], x[1:2], np.array([tau]))])

    solution = solve_ivp(
        rate, (0.0, times[-1]), x0, t_eval=times, method="DOP853", rtol=tolerance, atol=tolerance, max_step=longest_step
    )
    return np.asarray(solution.y)


def test_two_inertias_on_a_spring_swing_at_their_frequency() -> None:
    """The difference θ - q swings at sqrt(K (1/I + 1/B)); the common centre stays."""
    joints = ElasticJoints(1, stiffness=800.0, rotor_inertia=ROTOR)
    times = np.linspace(0.0, 0.5, 40)
    q, _, theta, _ = motion(joints, [0.0, 0.0, 0.1, 0.0], 0.0, times)
    frequency = np.sqrt(800.0 * (1.0 / INERTIA + 1.0 / ROTOR))
    np.testing.assert_allclose(theta - q, 0.1 * np.cos(frequency * times), atol=1e-9)
    np.testing.assert_allclose(INERTIA * q + ROTOR * theta, 0.1 * ROTOR, atol=1e-10)


def test_damping_takes_what_the_swing_loses() -> None:
    joints = ElasticJoints(1, stiffness=800.0, rotor_inertia=ROTOR, damping=3.0)
    times = np.linspace(0.0, 0.5, 2001)
    q, qd, theta, thetad = motion(joints, [0.0, 0.3, 0.1, -1.0], 0.0, times)
    state = np.stack([theta, thetad], axis=-1)
    energy = 0.5 * INERTIA * qd**2
    energy += (joints.elastic_energy(q[:, None], state) + joints.rotor_energy(state))[:, 0]
    loss = joints.loss(q[:, None], qd[:, None], state)[:, 0]
    lost = cumulative_simpson(loss, x=times, initial=0.0)
    np.testing.assert_allclose(energy + lost, energy[0], rtol=1e-8)
    assert (loss >= 0.0).all()
    assert energy[-1] < 0.5 * energy[0]


def test_stiff_joints_move_as_rigid_ones() -> None:
    """From rest under a constant torque the link comes to within O(1/K) of τ t² / (2 (I + B))."""
    times = np.linspace(0.0, 0.2, 401)
    rigid = 4.0 * times**2 / (2.0 * (INERTIA + ROTOR))
    errors = []
    for stiffness in (1e3, 1e4, 1e5):
        joints = ElasticJoints(1, stiffness=stiffness, rotor_inertia=ROTOR)
        x0 = np.concatenate([[0.0, 0.0], joints.initial_state([0.0], [0.0], [0.0])])
        errors.append(np.abs(motion(joints, x0, 4.0, times)[0] - rigid).max())
    assert errors[0] < 1e-2
    np.testing.assert_array_less(np.array(errors[1:]), 0.2 * np.array(errors[:-1]) + 1e-9)


def test_a_free_pair_bounces_in_its_gap_with_the_closed_forms_period() -> None:
    """Without damping: flight over the gap at constant speed, and half a swing on the spring at each of its ends."""
    joints = ElasticJoints(1, stiffness=800.0, rotor_inertia=ROTOR, backlash=0.02)
    speed = 0.5
    frequency = np.sqrt(800.0 * (1.0 / INERTIA + 1.0 / ROTOR))
    period = 2.0 * (0.02 / speed) + 2.0 * np.pi / frequency
    q, _, theta, _ = motion(joints, [0.0, 0.0, 0.0, speed], 0.0, period * np.array([0.0, 0.25, 0.5, 1.0]), 2e-3)
    centre = ROTOR / (INERTIA + ROTOR) * speed * period * np.array([0.25, 0.5, 1.0])
    np.testing.assert_allclose((theta - q)[[2, 3]], 0.0, atol=1e-6)
    np.testing.assert_allclose((theta - q)[1], 0.01 + speed / frequency, atol=1e-6)
    np.testing.assert_allclose((INERTIA * q + ROTOR * theta)[1:] / (INERTIA + ROTOR), centre, atol=1e-7)


def test_teeth_push_and_never_pull_and_their_power_is_stored_or_lost() -> None:
    joints = ElasticJoints(1, stiffness=800.0, rotor_inertia=ROTOR, damping=8.0, backlash=0.02)
    theta, thetad = np.random.default_rng(0).uniform([-0.03, -3.0], [0.03, 3.0], (2000, 2)).T
    state, rest = np.stack([theta, thetad], axis=-1), np.zeros((2000, 1))
    torque, loss = (formula(rest, rest, state)[:, 0] for formula in (joints.torque, joints.loss))
    excess = np.sign(theta) * np.maximum(np.abs(theta) - 0.01, 0.0)
    assert (torque[np.abs(theta) < 0.01] == 0.0).all()
    assert (torque * theta >= 0.0).all()
    assert (loss >= 0.0).all()
    parting = (excess != 0.0) & (torque == 0.0)
    assert parting.any()
    assert (loss[parting] > 0.0).all()
    np.testing.assert_allclose(joints.elastic_energy(rest, state)[:, 0], 400.0 * excess**2, rtol=1e-12)
    np.testing.assert_allclose(torque * thetad, 800.0 * excess * thetad + loss, atol=1e-11)


def test_a_link_with_friction_lags_by_gap_and_windup() -> None:
    """Slow motor strokes: the link stays behind by β/2 + Fc / K each way, the width of the hysteresis is twice that."""
    arm = ch.Robot.from_dh([{"mass": 1.0, "inertia": [1.0, 1.0, 1.0]}], gravity=[0.0, 0.0, 0.0])
    dry = arm.with_friction(viscous=2.0, coulomb=3.0, coulomb_velocity=1e-3)
    joints = ElasticJoints(1, stiffness=2000.0, damping=5.0, rotor_inertia=0.5, backlash=0.01)
    plant = ch.Plant(dry, elastic_joints=joints, sensors=ch.Sensors(1, side="motor"))
    strokes = ch.CubicSpline([0.0, 2.0, 4.0], [[0.0], [0.4], [0.0]])
    law = ch.PDGravity(arm, kp=[4000.0], kd=[100.0])
    run = ch.simulate(
        plant,
        law,
        strokes,
        duration=4.0,
        record=ch.Recording(energies=True),
        vary={"elastic_joints.backlash": [[0.01], [0.0]]},
    )
    lag = (run.motor_position - run.q).sel(time=[1.0, 3.0]).values[..., 0]
    speed = np.abs(run.qd.sel(time=[1.0, 3.0]).values[..., 0])
    expected = np.array([[0.005], [0.0]]) + (3.0 + 2.0 * speed) / 2000.0
    np.testing.assert_allclose(lag, expected * [1.0, -1.0], atol=2e-5)
    assert float(run.energy_audit().residual.max()) < 1e-2


def test_a_compiled_arm_with_play_moves_as_radau_says() -> None:
    arm = ch.load("planar2r").with_friction(viscous=1.0)
    joints = ElasticJoints(2, stiffness=[3000.0, 1200.0], damping=2.0, rotor_inertia=[1.0, 0.3], backlash=[0.01, 0.02])
    hold = ch.PointToPoint([0.3, -0.2], [0.3, -0.2], duration=1.0)
    start = {"start": ch.State([0.3, -0.2], [1.0, -2.0]), "duration": 0.3, "period": 0.3}
    weightless = arm.with_values({"gravity": [0.0, 0.0, 0.0]})
    plant = ch.Plant(weightless, elastic_joints=joints)
    run = ch.simulate(
        plant,
        ch.PDGravity(weightless, kp=0.0, kd=0.0),
        hold,
        integrator=ch.integrators.Within("automatic", rtol=1e-9, atol=1e-11),
        **start,
    )

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        q, qd, theta, speed = x.reshape(4, 2)
        ahead = theta - q
        excess = np.sign(ahead) * np.maximum(np.abs(ahead) - np.array([0.005, 0.01]), 0.0)
        push = np.array([3000.0, 1200.0]) * excess + 2.0 * (speed - qd)
        torque = np.where(push * excess > 0.0, push, 0.0)
        return np.concatenate([qd, weightless.forward_dynamics(q, qd, torque), speed, -torque / np.array([1.0, 0.3])])

    x0 = np.concatenate([[0.3, -0.2], [1.0, -2.0], [0.3, -0.2], [1.0, -2.0]])
    x = solve_ivp(rates, (0.0, 0.3), x0, method="Radau", rtol=1e-8, atol=1e-10, max_step=1e-3).y[:, -1]
    np.testing.assert_allclose(run.q.values[-1], x[:2], atol=2e-6)
    np.testing.assert_allclose(run.motor_position.values[-1], x[4:6], atol=2e-6)


def test_forces_of_the_spring_are_equal_and_opposite() -> None:
    joints = ElasticJoints(2, stiffness=[100.0, 200.0], damping=[1.0, 2.0], rotor_inertia=[0.5, 0.25])
    q, qd, state = np.array([0.1, 0.2]), np.array([1.0, -1.0]), np.array([0.3, 0.1, 0.0, 0.5])
    tau = joints.torque(q, qd, state)
    np.testing.assert_allclose(tau, [100.0 * 0.2 - 1.0, -200.0 * 0.1 + 2.0 * 1.5], rtol=1e-14)
    rate = joints.derivative(state, q, qd, np.array([7.0, 8.0]))
    np.testing.assert_allclose(rate, [0.0, 0.5, (7.0 - tau[0]) / 0.5, (8.0 - tau[1]) / 0.25], rtol=1e-14)


def test_the_start_carries_the_load_and_stretches_no_further() -> None:
    joints = ElasticJoints(2, stiffness=[100.0, 200.0], damping=1.0, rotor_inertia=0.1)
    q, qd = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[1.0, -1.0], [0.0, 2.0]])
    state = joints.initial_state(q, qd, [5.0, -4.0])
    assert state.shape == (2, 4)
    np.testing.assert_allclose(joints.torque(q, qd, state), [[5.0, -4.0]] * 2, rtol=1e-12)
    worn = ElasticJoints(2, stiffness=[100.0, 200.0], damping=1.0, rotor_inertia=0.1, backlash=0.02)
    state = worn.initial_state(q, qd, [5.0, -4.0])
    np.testing.assert_allclose(worn.torque(q, qd, state), [[5.0, -4.0]] * 2, rtol=1e-12)


def test_motors_move_to_the_other_side_of_the_springs() -> None:
    puma = ch.load("puma560")
    links, joints = ElasticJoints.of_robot(puma, stiffness=1e4, damping=1.0)
    q = np.linspace(0.1, 0.6, 6)
    np.testing.assert_allclose(
        links.mass_matrix(q) + np.diag(joints.parameters["rotor_inertia"]), puma.mass_matrix(q), rtol=1e-12, atol=1e-15
    )


def test_without_motor_inertia_there_is_nothing_to_move() -> None:
    with pytest.raises(ch.ChaslesError, match="without: joint1, joint2"):
        ElasticJoints.of_robot(ch.load("planar2r"), stiffness=1e4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stiffness": 0.0}, r"stiffness\[0\] is 0.0; it must be positive"),
        ({"stiffness": np.inf}, r"stiffness\[0\] is inf; it must be finite"),
        ({"rotor_inertia": 0.0}, r"rotor_inertia\[0\] is 0.0; it must be positive"),
        ({"damping": -1.0}, r"damping\[0\] is -1.0; it must be at least 0"),
        ({"backlash": [0.0, -0.01]}, r"backlash\[1\] is -0.01; it must be at least 0"),
    ],
)
def test_bad_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ch.ChaslesError, match=message):
        ElasticJoints(2, **({"stiffness": 1e3, "rotor_inertia": 0.1} | options))
