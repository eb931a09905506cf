"""Orders of convergence, and integrators against closed forms and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.model import Description, Inertia, Joint, Link

ORDERS = {"euler": 1, "semi-implicit-euler": 1, "implicit-friction-euler": 1, "rk4": 4}
ADAPTIVE = ("RK45", "DOP853", "Radau", "LSODA")
ARM = ch.load("planar2r")
REST = ch.PointToPoint([0.0, 0.0], [0.0, 0.0], 1.0)
START = {"start": [-1.0, 0.4], "duration": 1.0}


def free(now: ch.control.Now) -> Any:
    return 0.0 * now.q


def observed_orders(errors: list[float]) -> np.ndarray:
    return np.log2(np.divide(errors[:-1], errors[1:]))


def falling_arm(t_end: float) -> np.ndarray:
    """The falling arm by another integrator to 1e-12, from the dynamics alone."""

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[2:], ARM.forward_dynamics(x[:2], x[2:], np.zeros(2))])

    found = solve_ivp(rates, (0.0, t_end), [-1.0, 0.4, 0.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-13)
    return found.y[:, -1]


@pytest.mark.filterwarnings("ignore::chasles.simulation.StiffnessWarning")
@pytest.mark.parametrize(("integrator", "order"), ORDERS.items())
def test_halving_the_step_shows_the_order(integrator: str, order: int) -> None:
    exact = falling_arm(1.0)
    errors = []
    for substeps in (8, 16, 32):
        run = ch.simulate(ARM, free, REST, period=0.05, integrator=ch.integrators.Steps(integrator, substeps), **START)
        errors.append(float(np.linalg.norm(np.concatenate([run.q[-1], run.qd[-1]]) - exact)))
    orders = observed_orders(errors)
    assert np.all(np.abs(orders - order) < 0.3), (orders, errors)
    assert run.attrs["integrator"] == integrator


def stiff_plant() -> ch.Plant:
    """Everything that has a state of its own, smooth."""
    return ch.Plant(
        ARM,
        friction=ch.Friction(ARM, coulomb=1.0, viscous=0.5, smoothing_velocity=0.5),
        motors=ch.Motors(
            ARM,
            resistance=1.0,
            inductance=0.05,
            torque_constant=0.1,
            gear_ratio=50.0,
            rotor_inertia=1e-4,
            mode="voltage",
        ),
        elastic_joints=ch.ElasticJoints(ARM, stiffness=2000.0, damping=5.0, rotor_inertia=0.3),
    )


@pytest.mark.parametrize(("integrator", "order"), ORDERS.items())
def test_plants_with_states_of_their_own_have_the_same_orders(integrator: str, order: int) -> None:
    """The audit's integrals too."""
    hold = ch.PDGravity(ARM, kp=[300.0, 60.0], kd=[30.0, 6.0])
    options: dict[str, Any] = {"start": [0.3, -0.2], "duration": 0.2, "period": 0.02}
    options["record"] = ch.Recording(energies=True)
    exact = ch.simulate(stiff_plant(), hold, REST, integrator=ch.integrators.Steps("rk4", 1024), **options)
    names = ("q", "qd", "current", "motor_position", "motor_velocity", "work.motors", "loss.friction")
    errors = []
    for substeps in (32, 64, 128):
        run = ch.simulate(stiff_plant(), hold, REST, integrator=ch.integrators.Steps(integrator, substeps), **options)
        errors.append([float(np.abs(run[name] - exact[name]).max()) for name in names])
    orders = observed_orders(np.array(errors))
    assert np.all(np.abs(orders - order) < 0.4), dict(zip(names, orders.T, strict=True))


def test_free_fall_is_exact() -> None:
    """A mass on a vertical rail falls by g t²/2; RK4 is exact for parabolas."""
    joint = Joint("rail", "prismatic", "base", "weight", axis=[0.0, 0.0, 1.0])
    weight = ch.Robot(Description("weight", links=(Link("base"), Link("weight", Inertia(mass=3.0))), joints=(joint,)))
    run = ch.simulate(weight, free, ch.PointToPoint([0.0], [0.0], 1.0), duration=1.0, period=0.1)
    np.testing.assert_allclose(run.q[:, 0], -9.81 / 2.0 * run.time**2, atol=1e-13)
    late = ch.simulate(
        weight, free, ch.PointToPoint([0.0], [0.0], 1.0), duration=1.0, period=0.1, integrator="semi-implicit-euler"
    )
    # The sum of the new velocities: q_k = -g h² k (k + 1) / 2.
    k = np.arange(11)
    np.testing.assert_allclose(late.q[:, 0], -9.81 * 0.01 * k * (k + 1) / 2.0, atol=1e-13)


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_variable_steps_agree_with_small_fixed_ones(integrator: str) -> None:
    hold = ch.PDGravity(ARM, kp=[300.0, 60.0], kd=[30.0, 6.0])
    options: dict[str, Any] = {"start": [0.3, -0.2], "duration": 0.1, "period": 0.02}
    options["record"] = ch.Recording(energies=True)
    late = stiff_plant().with_drives(delay=0.007)
    exact = ch.simulate(late, hold, REST, integrator=ch.integrators.Steps("rk4", 400), **options)
    run = ch.simulate(late, hold, REST, integrator=ch.integrators.Within(integrator, rtol=1e-9, atol=1e-10), **options)
    for name in exact.data_vars:
        if exact[name].dtype.kind == "f":
            np.testing.assert_allclose(run[name], exact[name], rtol=2e-6, atol=2e-6, err_msg=name)
    assert run.attrs["integrator"] == integrator


def test_batches_under_a_variable_step_are_single_runs() -> None:
    motion = ch.PointToPoint([0.0, 0.0], [0.3, -0.2], 0.1)
    control = ch.ComputedTorque(ARM, kp=100.0, kd=20.0, ki=50.0)
    masses = np.array([0.0, 1.0, 2.0])
    options: dict[str, Any] = {"period": 0.02, "integrator": "DOP853"}
    batch = ch.simulate(ARM, control, motion, vary={"payload.mass": masses}, **options)
    for k, mass in enumerate(masses):
        single = ch.simulate(ARM, control, motion, vary={"payload.mass": mass}, **options)
        np.testing.assert_array_equal(batch.q[k], single.q)


def test_a_run_that_is_too_stiff_leaves_the_others_of_its_batch_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chasles.simulation.stepping._MOST_EVALUATIONS", 500)
    options: dict[str, Any] = {"period": 0.05, "duration": 0.1, "start": [-1.0, 0.4], "integrator": "RK45"}
    arm = ARM.with_friction(viscous=1.0)
    stiff = {"joints.joint2.viscous_friction": 1e7}
    with pytest.raises(ch.simulation.IntegrationError, match="too stiff"):
        ch.simulate(arm, free, REST, vary=stiff, **options)
    with pytest.warns(ch.simulation.DivergenceWarning):
        both = ch.simulate(arm, free, REST, vary={name: [1.0, value] for name, value in stiff.items()}, **options)
    np.testing.assert_array_equal(both.q[0], ch.simulate(arm, free, REST, **options).q)
    assert np.isnan(both.q[1, 1:]).all()
    assert np.isnan(both.diverged_at.values).tolist() == [True, False]


def test_implicit_friction_of_any_strength_makes_an_arm_creep() -> None:
    """Steps a million times too long for an explicit method; dry friction turns round within a ten-thousandth."""
    arm = ARM.with_friction(viscous=1e7, coulomb=5.0, coulomb_velocity=1e-4)
    run = ch.simulate(
        arm, duration=0.05, period=1e-3, start=ch.State([-1.0, 0.4], [1.0, -2.0]), integrator="implicit-friction-euler"
    )
    weight = arm.gravity_torque(run.q[-1])
    np.testing.assert_allclose(arm.friction_torque(run.q[-1], run.qd[-1]), -weight, rtol=1e-6)


def test_implicit_friction_belongs_to_robots_at_rest_in_the_world() -> None:
    with pytest.raises(ArgumentError, match="is for simulations of robots"):
        ch.integrate(lambda t, y: -y, [1.0], [0.0, 1.0], integrator="implicit-friction-euler")
    T = np.eye(4)
    rolling = ch.Plant(ARM, base=ch.BaseMotion(ch.StraightLine(T, T, duration=1.0)))
    with pytest.raises(ArgumentError, match="simulates no moving base"):
        ch.simulate(rolling, free, REST, period=0.1, integrator="implicit-friction-euler", **START)
