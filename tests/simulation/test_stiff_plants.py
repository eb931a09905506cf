"""Plants in which something acts fast: nobody counts substeps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link, parse_urdf
from chasles.simulation import DivergenceWarning, StickingWarning, StiffnessWarning, UncompiledWarning
from chasles.simulation.closed_loop import REST_VELOCITY

ARM = ch.load("planar2r")
HOLD = ch.PDGravity(ARM, kp=[300.0, 60.0], kd=[30.0, 6.0])
MOTION = ch.PointToPoint([0.0, 0.0], [0.5, -0.3], 0.1)
STAY = ch.PointToPoint([0.0], [0.0], 1.0)


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def light_wrist_arm(damping: float, friction: float) -> ch.Robot:
    """An arm as exporters of CAD write it: no rotor inertia, so that the last joint feels 8e-5 kg m²."""
    masses = (2.2, 2.0, 1.7, 1.2, 1.2, 0.17)
    inertias = ((5e-3, 5e-3, 2e-3), (1e-2, 1e-2, 2e-3), (1e-2, 1e-2, 2e-3), (5e-3, 5e-3, 1e-3), (2e-3, 2e-3, 9e-4))
    origins = (
        ("0 0 0.267", "0 0 0"),
        ("0 0 0", "-1.5708 0 0"),
        ("0.053 -0.2845 0", "0 0 0"),
        ("0.0775 0.3425 0", "-1.5708 0 0"),
        ("0 0 0", "1.5708 0 0"),
        ("0.076 0.097 0", "-1.5708 0 0"),
    )
    parts, parent = ['<robot name="light wrist"><link name="base"/>'], "base"
    for k, (mass, (xyz, rpy)) in enumerate(zip(masses, origins, strict=True), start=1):
        ixx, iyy, izz = (*inertias, (5e-5, 5e-5, 8e-5))[k - 1]
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="0 0 {-0.01 if k == 6 else 0.05}"/><mass value="{mass}"/>'
            f'<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial></link>'
            f'<joint name="joint{k}" type="revolute"><parent link="{parent}"/><child link="link{k}"/>'
            f'<origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="0 0 1"/>'
            '<limit lower="-6" upper="6" effort="50" velocity="3"/>'
            f'<dynamics damping="{damping}" friction="{friction}"/></joint>'
        )
        parent = f"link{k}"
    return ch.Robot(parse_urdf("".join([*parts, "</robot>"])))


def by_radau(robot: ch.Robot, torque: Any, q0: Any, qd0: Any, duration: float) -> np.ndarray:
    """A robot under a constant torque by another integrator, tightly."""
    n = robot.n

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], robot.forward_dynamics(x[:n], x[n:], torque)])

    def jacobian(t: float, x: np.ndarray) -> np.ndarray:
        return np.asarray(robot.linearize(x[:n], x[n:], torque)[0])

    start = np.concatenate([q0, qd0])
    options: dict[str, Any] = {"method": "Radau", "jac": jacobian, "rtol": 1e-9, "atol": 1e-12}
    return np.asarray(solve_ivp(rates, (0.0, duration), start, **options).y[:, -1])


def test_an_arm_with_a_light_wrist_follows_by_default() -> None:
    """Damping of 1 N m s/rad on 8e-5 kg m² acts at 12,700 1/s, dry friction of 1 N m at once."""
    arm, model = light_wrist_arm(1.0, 1.0), light_wrist_arm(0.0, 0.0)
    assert float(arm.mass_matrix(np.zeros(6))[5, 5]) == pytest.approx(8e-5)
    goal = np.array([0.5, -0.4, -0.3, 0.8, 0.6, 0.7])
    control = ch.ComputedTorque(model, kp=400.0, kd=40.0)
    with pytest.warns(StickingWarning, match="friction of joint6"):
        run = ch.simulate(arm, control, ch.PointToPoint(np.zeros(6), goal, 1.0), duration=1.1)
    assert run.attrs["integrator"] == "rodas5p"
    assert np.isnan(run.diverged_at)
    # The wrist's gains ask for less than its friction: it stays where it is. The heavy joints follow.
    np.testing.assert_allclose(run.q[-1, 5], 0.0, atol=1e-4)
    assert float(np.abs(run.error[:, :2]).max()) < 0.1
    with pytest.warns(StickingWarning):
        tight = ch.simulate(
            arm,
            control,
            ch.PointToPoint(np.zeros(6), goal, 1.0),
            duration=1.1,
            integrator=ch.integrators.Within("automatic", rtol=1e-9, atol=1e-11),
        )
    np.testing.assert_allclose(run.q, tight.q, atol=2e-6)
    np.testing.assert_allclose(run.qd, tight.qd, atol=2e-5)
    with pytest.warns(DivergenceWarning), pytest.warns(Warning, match="too fast for steps of 0.001 s"):
        ch.simulate(arm, control, ch.PointToPoint(np.zeros(6), goal, 1.0), duration=0.1, integrator="rk4")


@pytest.mark.slow
@pytest.mark.parametrize("smooth", [1e-1, 1e-3])
def test_the_light_wrist_moves_as_by_radau(smooth: float) -> None:
    """Smooth friction, one torque for 20 ms, which throws the joints."""
    arm = light_wrist_arm(1.0, 1.0).with_friction(coulomb_velocity=smooth)
    torque = np.array([3.0, -6.0, 4.0, 1.5, -1.2, 1.3])
    q0, qd0 = np.array([0.1, -0.5, -0.4, 0.3, 0.6, -0.2]), np.array([0.5, -0.2, 0.3, 0.0, 1.0, -2.0])
    rest = ch.PointToPoint(q0, q0, 0.02)
    exact = by_radau(arm, torque, q0, qd0, 0.02)
    run = ch.simulate(arm, lambda now: 0.0 * now.q + torque, rest, period=0.01, start=ch.State(qd=qd0))
    assert run.attrs["integrator"] == "rodas5p"
    np.testing.assert_allclose(run.q[-1], exact[:6], atol=1e-6)
    np.testing.assert_allclose(run.qd[-1], exact[6:], atol=1e-5)


@pytest.mark.slow
def test_damping_alone_takes_no_more_than_a_step_a_period() -> None:
    """Of linear damping an implicit step of fixed length makes what it is, at 12 times the rate that rk4 bears."""
    arm, q0 = light_wrist_arm(1.0, 0.0), np.array([0.1, -0.5, -0.4, 0.3, 0.6, -0.2])
    torque = np.array([3.0, -6.0, 4.0, 1.5, -1.2, 1.3])
    exact = by_radau(arm, torque, q0, np.zeros(6), 0.05)
    errors = []
    for method in ("rodas5p", "linearly-implicit-euler"):
        options: dict[str, Any] = {"integrator": ch.integrators.Steps(method), "period": 2e-3}
        run = ch.simulate(arm, lambda now: 0.0 * now.q + torque, ch.PointToPoint(q0, q0, 0.05), **options)
        errors.append(float(np.abs(run.q[-1] - exact[:6]).max()))
    assert errors[0] < 1e-6, errors
    assert errors[1] < 1e-2, errors


def block(mass: float = 2.0, **friction: float) -> ch.Robot:
    """A block on a level rail."""
    rail = Joint("rail", "prismatic", "base", "block", axis=[1.0, 0.0, 0.0], **friction)
    return ch.Robot(Description("block", links=(Link("base"), Link("block", Inertia(mass=mass))), joints=(rail,)))


def test_dry_friction_stops_a_block_where_and_when_it_should() -> None:
    """From v under F/m it stops after v m / F and (v²/2) m / F, and stays."""
    robot = block(coulomb_friction=4.0)
    run = ch.simulate(
        robot, lambda now: 0.0 * now.q, STAY, duration=1.0, start=ch.State(qd=[1.0])
    )  # 2 m/s²: 0.5 s, 0.25 m
    t = run.time.values
    np.testing.assert_allclose(run.q[:, 0], np.where(t < 0.5, t - t * t, 0.25), atol=2e-6)
    np.testing.assert_allclose(run.qd[:, 0], np.maximum(1.0 - 2.0 * t, 0.0), atol=5e-6)
    assert run.attrs["integrator"] == "rodas5p"


@pytest.mark.parametrize("effect", [False, True])
def test_a_block_that_sticks_stays_and_slips_when_pushed_harder(effect: bool) -> None:
    """Of the robot's own friction and of the plant's. At rest it creeps by what the smoothing allows, atanh(load)."""
    robot = block() if effect else block(coulomb_friction=4.0)
    plant = ch.Plant(robot, friction=ch.Friction(robot, coulomb=4.0)) if effect else robot
    push = np.array([[0.0], [2.0], [3.9], [5.0], [-6.0]])
    law = ch.PythonLaw(lambda now, *, push=(0.0,): 0.0 * now.q + push)
    run = ch.simulate(plant, law, STAY, duration=1.0, vary={"controller.push": push})
    slides = np.sign(push[:, 0]) * np.maximum(np.abs(push[:, 0]) - 4.0, 0.0) / 2.0  # m/s²
    np.testing.assert_allclose(run.q[:, -1, 0], 0.5 * slides, atol=3.0 * REST_VELOCITY)
    for k in (0, 3):
        single = ch.simulate(plant, law, STAY, duration=1.0, vary={"controller.push": push[k]})
        np.testing.assert_array_equal(single.q, run.q[k])


PLANTS = {
    "motors": ch.Plant(
        ARM,
        motors=ch.Motors(
            ARM,
            resistance=1.0,
            inductance=1e-5,
            torque_constant=0.1,
            gear_ratio=50.0,
            rotor_inertia=1e-4,
            mode="voltage",
        ),
    ),
    "springs": ch.Plant(ARM, elastic_joints=ch.ElasticJoints(ARM, stiffness=1e6, damping=200.0, rotor_inertia=1e-3)),
    "contact": ch.Plant(
        ARM,
        contacts=[
            ch.ContactPlane(
                "wall",
                "tool",
                point=[0.0, 0.1, 0.0],
                normal=[0, -1, 0],
                stiffness=1e8,
                damping=1e4,
                friction_coefficient=0.3,
            )
        ],
    ),
    "friction": ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=2.0, viscous=1.0, smoothing_velocity=1e-4)),
}


@pytest.mark.parametrize("name", PLANTS)
def test_what_acts_fast_is_integrated_implicitly_by_default(name: str) -> None:
    """Beside SciPy's Radau, which takes its Jacobians by differences and its runs one by one."""
    options: dict[str, Any] = {"period": 5e-3, "duration": 0.1, "start": [0.05, 0.1]}
    options["record"] = ch.Recording(energies=True)
    own = ch.simulate(PLANTS[name], HOLD, MOTION, **options)
    assert own.attrs["integrator"] == "rodas5p"
    peer = ch.simulate(
        PLANTS[name], HOLD, MOTION, integrator=ch.integrators.Within("Radau", rtol=1e-8, atol=1e-9), **options
    )
    for variable in ("q", "qd", "tau"):
        scale = float(np.abs(peer[variable]).max())
        np.testing.assert_allclose(own[variable], peer[variable], atol=2e-5 * scale, err_msg=variable)
    assert float(own.energy_audit().relative_residual) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_random_stiff_plants_move_as_by_radau(seed: int) -> None:
    """Effects, parameters over decades, delays, and contacts at the start are drawn."""
    rng = np.random.default_rng(seed)
    arm = ch.load("puma560" if seed % 2 else "planar2r").with_friction(coulomb=0.0)
    n, place = arm.n, arm.forward_kinematics(arm.home)[:3, 3]
    effects: dict[str, Any] = {}

    def power(low: float, high: float) -> float:
        return float(10.0 ** rng.uniform(low, high))

    if rng.random() < 0.6:
        dry, viscous = rng.uniform(0.0, 3.0, n), rng.uniform(0.0, 5.0, n)
        effects["friction"] = ch.Friction(arm, coulomb=dry, viscous=viscous, smoothing_velocity=power(-4, -1))
    if rng.random() < 0.5:
        springs = {"stiffness": power(3, 6), "damping": power(0, 2), "rotor_inertia": power(-3, -1)}
        effects["elastic_joints"] = ch.ElasticJoints(arm, **springs)
    if rng.random() < 0.5:
        winding: dict[str, Any] = {"resistance": 1.0, "inductance": power(-5, -2), "mode": "voltage"}
        effects["motors"] = ch.Motors(arm, torque_constant=0.1, gear_ratio=100.0, rotor_inertia=1e-4, **winding)
    if rng.random() < 0.5 or not effects:
        surface: dict[str, Any] = {"stiffness": power(4, 7), "damping": power(1, 3), "slip_velocity": 1e-2}
        surface |= {"normal": rng.normal(size=3), "friction_coefficient": 0.3}
        effects["contacts"] = [ch.ContactPlane("touched", "tool", point=place, **surface)]
    goal = ch.PointToPoint(arm.home, arm.home + rng.uniform(-0.3, 0.3, n), 0.1)
    options: dict[str, Any] = {"period": 4e-3, "duration": 0.06, "start": arm.home + 0.01}
    delay = float(rng.choice([0.0, 3e-3]))
    plant, law = ch.Plant(arm, **effects, delay=delay, effort_limits=False), ch.PDGravity(arm, kp=200.0, kd=30.0)
    own = ch.simulate(plant, law, goal, integrator="rodas5p", **options)
    peer = ch.simulate(plant, law, goal, integrator=ch.integrators.Within("Radau", rtol=1e-7, atol=1e-9), **options)
    np.testing.assert_allclose(own.q, peer.q, atol=2e-6)
    np.testing.assert_allclose(own.qd, peer.qd, atol=2e-5 * float(np.abs(peer.qd).max()))


def test_what_does_not_act_fast_goes_on_by_runge_and_kutta() -> None:
    run = ch.simulate(ARM.with_friction(viscous=1.0), HOLD, MOTION)
    assert (run.attrs["integrator"], run.attrs["substeps"]) == ("rk4", 1)
    chosen = ch.simulate(PLANTS["springs"], HOLD, MOTION, integrator=ch.integrators.Steps("rk4", 300))
    assert (chosen.attrs["integrator"], chosen.attrs["substeps"]) == ("rk4", 300)
    np.testing.assert_allclose(chosen.q, ch.simulate(PLANTS["springs"], HOLD, MOTION).q, atol=1e-7)


def test_explicit_steps_are_no_choice_for_dry_friction_and_say_so() -> None:
    with pytest.warns(StiffnessWarning, match=r"dry friction of robot 'block' jumps at rest, .* choose 'rodas5p'"):
        run = ch.simulate(
            block(coulomb_friction=4.0),
            lambda now: 0.0 * now.q,
            STAY,
            duration=0.01,
            integrator="dormand-prince",
            start=ch.State(qd=[1.0]),
        )
    assert [finding.rule.code for finding in run.findings] == ["dry-friction-jumps"]


@pytest.mark.parametrize("delay", [0.0, 0.7e-3, 1.5e-3])
def test_delays_and_events_are_met_exactly(delay: float) -> None:
    """A payload that comes and goes in mid period and a push that jumps, as by SciPy, which is restarted there."""
    plant = ch.Plant(
        ARM.with_friction(viscous=[60.0, 20.0]),
        payloads=[ch.PickedPayload("box", 1.0, pick_time=0.0123, put_time=0.0456)],
        wrenches=[push_between(0.02, 0.0317)],
        delay=delay,
    )
    options: dict[str, Any] = {"period": 2e-3, "duration": 0.06, "start": [0.1, 0.2]}
    options["record"] = ch.Recording(energies=True)
    own = ch.simulate(
        plant, HOLD, MOTION, integrator=ch.integrators.Within("rodas5p", rtol=1e-9, atol=1e-11), **options
    )
    peer = ch.simulate(
        plant, HOLD, MOTION, integrator=ch.integrators.Within("DOP853", rtol=1e-10, atol=1e-12), **options
    )
    for name in peer.data_vars:
        if peer[name].dtype.kind == "f":
            np.testing.assert_allclose(own[name], peer[name], rtol=1e-6, atol=1e-6, err_msg=name)


def push_between(begin: float, end: float) -> ch.ExternalWrench:
    from chasles.engine import where

    def push(t: Any, parameters: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, where((t >= begin) & (t < end), 50.0, 0.0), 0.0, 0.0])

    return ch.ExternalWrench("push", push, axes="world", switch_times=[begin, end])


def test_runs_of_a_batch_are_single_runs_and_what_diverges_touches_no_other() -> None:
    plant = ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=1.0, viscous=0.5), sensors=ch.Sensors(ARM))
    gains = np.array([[30.0, 6.0], [30.0, 6e7], [6e7, 6.0], [20.0, 4.0]])
    with pytest.warns(DivergenceWarning, match="2 of 4 runs diverged"):
        run = ch.simulate(plant, HOLD, MOTION, vary={"controller.kd": gains}, start=[0.05, 0.0])
    assert run.attrs["integrator"] == "rodas5p"
    assert list(np.isnan(run.diverged_at.values)) == [True, False, False, True]
    for k in (0, 3):
        single = ch.simulate(plant, HOLD, MOTION, vary={"controller.kd": gains[k]}, start=[0.05, 0.0])
        np.testing.assert_array_equal(run.q[k], single.q)
        np.testing.assert_array_equal(run.tau[k], single.tau)


def test_plain_python_laws_go_with_implicit_methods_too() -> None:
    def plain(now: ch.control.Now) -> Any:
        return np.array([float(a) for a in 300.0 * (now.reference.q - now.q) - 30.0 * now.qd])

    def traced(now: ch.control.Now) -> Any:
        return 300.0 * (now.reference.q - now.q) - 30.0 * now.qd

    options: dict[str, Any] = {"duration": 0.02, "start": [[0.0, 0.1], [0.2, 0.0]]}
    plant = ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=2.0), delay=0.4e-3)
    compiled = ch.simulate(plant, traced, MOTION, **options)
    assert compiled.attrs["integrator"] == "rodas5p"
    with pytest.warns(UncompiledWarning):
        slow = ch.simulate(plant, plain, MOTION, **options)
    np.testing.assert_allclose(slow.q, compiled.q, atol=1e-9)


def test_a_users_method_drives_a_loop() -> None:
    method = ch.integrators.StepDoubling(ch.integrators.RK4)
    run = ch.simulate(ARM, HOLD, MOTION, integrator=method)
    assert run.attrs["integrator"] == "rk4 with step doubling"
    np.testing.assert_allclose(
        run.q, ch.simulate(ARM, HOLD, MOTION, integrator=ch.integrators.Steps("rk4", 10)).q, atol=1e-8
    )


@pytest.mark.parametrize("wrong", [{"rtol": 0.0}, {"atol": -1.0}, {"rtol": "fine"}, {"atol": 1.0}])
def test_impossible_tolerances_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ch.ChaslesError, match=f"{next(iter(wrong))}.* must be"):
        ch.simulate(ARM, HOLD, MOTION, integrator=ch.integrators.Within("rodas5p", **wrong))
