"""Effort limits act, and what they and velocity limits did is reported, against closed forms."""

import warnings
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.model import Description, Inertia, Joint, Limits, Link, Mimic
from chasles.simulation import DivergenceWarning, LimitError, SamplingWarning, SaturationWarning

MASS, LIMIT = 2.0, 4.0
REST = ch.PointToPoint([0.0], [0.0], duration=1.0)


def slider(effort: float = LIMIT, velocity: float = np.inf) -> ch.Robot:
    """A mass that slides horizontally."""
    limits = Limits(effort=effort, velocity=velocity)
    joint = Joint("slide", "prismatic", "base", "block", axis=np.array([1.0, 0.0, 0.0]), limits=limits)
    return ch.Robot(Description("slider", (Link("base"), Link("block", Inertia(MASS))), (joint,)))


def push(now: ch.control.Now) -> Any:
    """Three times the limit until 0.5 s, half of it afterwards."""
    from chasles.engine import where

    return np.array([where(now.t < 0.4995, 3.0 * LIMIT, 0.5 * LIMIT)])


def expected(t: Any, force: float) -> Any:
    """Path under a force until 0.5 s, and half the limit afterwards."""
    a, b = force / MASS, 0.5 * LIMIT / MASS
    later = np.maximum(t - 0.5, 0.0)
    early = np.minimum(t, 0.5)
    return 0.5 * a * early**2 + a * early * later + 0.5 * b * later**2


@pytest.mark.parametrize("integrator", ["automatic", "rodas5p", "RK45"])
def test_torques_stop_at_the_limit_and_the_result_says_how_long_and_how_far(integrator: str) -> None:
    run = ch.simulate(slider(), push, REST, integrator=integrator)
    np.testing.assert_allclose(run.q[:, 0], expected(run.time, LIMIT), atol=1e-7)
    assert run.tau.max() == LIMIT
    assert run.tau_demanded.max() == 3.0 * LIMIT
    np.testing.assert_allclose(run.saturation_time, 0.5, atol=1e-9)
    np.testing.assert_allclose(run.saturation_excess, 2.0 * LIMIT)
    assert run.saturation_excess.attrs["units"] == "N"


def test_plain_python_laws_and_delayed_torques_are_limited_too() -> None:
    def law(now: ch.control.Now) -> Any:
        float(now.t)
        return push(now)

    with pytest.warns(UserWarning, match="cannot be compiled"):
        plain = ch.simulate(slider(), law, REST)
    np.testing.assert_allclose(plain.q[:, 0], expected(plain.time, LIMIT), atol=1e-9)
    late = ch.simulate(ch.Plant(slider(), delay=0.0015), push, REST)
    assert late.tau_applied.max() == LIMIT
    np.testing.assert_allclose(late.q[-1, 0], expected(1.0, LIMIT), atol=0.01)


def test_limits_can_be_switched_off_and_zero_or_infinity_is_none() -> None:
    free = ch.simulate(ch.Plant(slider(), effort_limits=False), push, REST)
    np.testing.assert_allclose(free.q[:, 0], expected(free.time, 3.0 * LIMIT), atol=1e-9)
    for robot in (slider(effort=np.inf), slider(effort=0.0)):
        same = ch.simulate(robot, push, REST)
        np.testing.assert_allclose(same.q, free.q, atol=1e-12)
        assert not same.saturation_time.any()
        assert not same.saturation_excess.any()
        assert "tau_demanded" not in same
    assert not free.saturation_time.any()
    with pytest.raises(ArgumentError, match="effort_limits must be True or False"):
        ch.simulate(ch.Plant(slider(), effort_limits=1), push, REST)


def test_overspeed_is_reported_for_each_run() -> None:
    run = ch.simulate(slider(velocity=0.5), lambda now: 2.0 + 0.0 * now.q, REST, start=ch.State(qd=[[0.0], [-0.25]]))
    np.testing.assert_allclose(run.overspeed_time[:, 0], [0.5, 0.25], atol=1.1e-3)  # faster than 0.5 m/s at 1 m/s²
    np.testing.assert_allclose(run.overspeed_excess[:, 0], [0.5, 0.25], atol=1e-9)


def test_a_drive_at_its_velocity_limit_speeds_nothing_up() -> None:
    """2 N on 2 kg until 0.5 m/s, constant velocity from then on: 0.125 m in 0.5 s and 0.25 m in the rest."""
    run = ch.simulate(ch.Plant(slider(velocity=0.5), velocity_limits=True), lambda now: 2.0 + 0.0 * now.q, REST)
    np.testing.assert_allclose(run.qd[-1, 0], 0.5, atol=1.1e-3)  # the period in which the limit is met goes on
    np.testing.assert_allclose(run.q[-1, 0], 0.375, atol=1e-3)
    np.testing.assert_array_equal(run.tau[510:, 0], 0.0)
    np.testing.assert_array_equal(run.tau_demanded, 2.0)
    assert 0.0 < float(run.overspeed_time[0]) <= 0.5
    assert float(run.overspeed_excess[0]) < 1.1e-3
    braking = ch.simulate(
        ch.Plant(slider(velocity=0.5), velocity_limits=True),
        lambda now: -2.0 + 0.0 * now.q,
        REST,
        start=ch.State(qd=[1.0]),
    )
    np.testing.assert_allclose(braking.qd[400, 0], 0.6, atol=1e-9)  # it may always slow down


def test_a_run_beyond_velocity_limits_is_refused_on_demand() -> None:
    def law(now: ch.control.Now) -> Any:
        return 2.0 + 0.0 * now.q

    message = r"slide of run 1 moves at 0.501 m/s at t = 0.251 s, beyond its velocity limit of 0.5 m/s: plan a slower"
    with pytest.raises(LimitError, match=message):
        ch.simulate(slider(velocity=0.5), law, REST, start=ch.State(qd=[[0.0], [0.25]])).require_limits()
    slow = ch.simulate(slider(velocity=2.0), law, REST)
    assert slow.require_limits() is slow
    assert slow.overspeed_time == 0.0
    assert ch.simulate(slider(velocity=0.0), law, REST).overspeed_time == 0.0
    with pytest.raises(ArgumentError, match="velocity_limits must be True or False, not 'stop'"):
        ch.Plant(slider(), velocity_limits="stop")  # type: ignore[arg-type]


def test_positions_and_efforts_beyond_limits_are_refused_on_demand() -> None:
    """2 N on 2 kg: 0.125 m after 0.5 s, the other way at -1 m/s: -0.375 m."""

    def law(now: ch.control.Now) -> Any:
        return 2.0 + 0.0 * now.q

    def limited(lower: float, upper: float) -> ch.Robot:
        description = slider().description
        joint = description.joints[0].replace(limits=Limits(lower=lower, upper=upper, effort=LIMIT, velocity=0.9))
        return ch.Robot(description.replace(joints=(joint,)))

    run = ch.simulate(limited(-1.0, 0.125), law, REST)
    with pytest.raises(LimitError, match=r"slide stands at 0.1255 m at t = 0.501 s, beyond its position limit of 0.1"):
        run.require_limits()
    away = ch.simulate(limited(-0.1, 1.0), law, REST, start=ch.State(qd=[-0.8]))
    with pytest.raises(LimitError, match=r"stands at -0\.\d+ m at t = 0.137 s, beyond its position limit of -0.1 m"):
        away.require_limits()  # 0.8 t - t² / 2 = 0.1
    with pytest.raises(LimitError, match=r"moves at 0.901 m/s at t = 0.901 s"):
        ch.simulate(limited(-1.0, 1.0), law, REST).require_limits()
    for limits_act in (True, False):
        pushed = ch.simulate(ch.Plant(limited(-1.0, 1.0), effort_limits=limits_act), push, REST)
        with pytest.raises(LimitError, match=r"slide needs 12 N at t = 0 s, beyond its effort limit of 4 N: plan a"):
            pushed.require_limits()


def test_limits_of_joints_that_mimic_others_and_of_quaternions() -> None:
    arm = ch.load("panda").with_free_base()
    q = arm.neutral.copy()
    q[7:] = ch.load("panda").home
    held = ch.simulate(arm, duration=0.01, start=q)
    assert held.require_limits() is held
    q[8] = 1.8
    with pytest.raises(LimitError, match=r"panda_joint2 stands at 1.8 rad at t = 0 s, .* limit of 1.7628 rad"):
        ch.simulate(arm, duration=0.01, start=q).require_limits()
    stone = slider().description
    follower = stone.joints[0].replace(
        name="follower", child="rider", mimic=Mimic("slide", ratio=2.0), limits=Limits(upper=0.5)
    )
    both = ch.Robot(Description("pair", (*stone.links, Link("rider", Inertia(1.0))), (*stone.joints, follower)))
    with pytest.raises(LimitError, match=r"slide stands at 0.3 m at t = 0 s, beyond its position limit of 0.25 m"):
        ch.simulate(both, duration=0.01, start=[0.3]).require_limits()


def test_without_controller_and_reference_a_robot_falls() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    stone = slider(effort=np.inf).description
    falling = ch.Robot(stone.replace(joints=(stone.joints[0].replace(axis=axis),)))
    run = ch.simulate(falling, duration=0.5)
    np.testing.assert_allclose(run.q[:, 0], -0.5 * 9.81 * run.time**2, atol=1e-12)
    batch = ch.simulate(falling, start=ch.State([[0.0], [1.0]], [[0.0], [2.0]]), duration=0.5)
    np.testing.assert_allclose(batch.q[1, :, 0], 1.0 + 2.0 * run.time - 0.5 * 9.81 * run.time**2, atol=1e-12)
    np.testing.assert_allclose(batch.error, batch.q.values[:, :1] - batch.q.values, atol=1e-12)
    free = ch.Robot(Description("rock", (Link("rock", Inertia(1.0, matrix=np.eye(3))),))).with_free_base()
    np.testing.assert_allclose(ch.simulate(free, duration=0.2).q[-1, 6], -0.5 * 9.81 * 0.04, atol=1e-12)
    held = ch.simulate(falling, ch.PDGravity(falling, kp=100.0, kd=20.0), start=[0.3], duration=0.1)
    np.testing.assert_allclose(held.q, 0.3, atol=1e-12)
    with pytest.raises(ArgumentError, match=r"needs a duration, such as duration=1\.0"):
        ch.simulate(falling)


def test_within_the_limits_nothing_changes() -> None:
    arm = ch.load("panda")
    motion = ch.PointToPoint(arm.home, arm.home + 0.2, 1.0)
    law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    run, free = ch.simulate(arm, law, motion), ch.simulate(ch.Plant(arm, effort_limits=False), law, motion)
    np.testing.assert_array_equal(run.tau, free.tau)
    assert set(run.data_vars) == set(free.data_vars)


def test_an_integral_does_not_wind_up_at_the_limits() -> None:
    """A step that saturates: with the integral held the overshoot is far smaller than with an integral that goes on."""
    robot = slider(effort=1.0)
    step = ch.PointToPoint([1.0], [1.0], duration=8.0)
    held = ch.ComputedTorque(robot, kp=25.0, kd=10.0, ki=20.0)
    wound = ch.ComputedTorque(slider(effort=np.inf), kp=25.0, kd=10.0, ki=20.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SaturationWarning)
        runs = [ch.simulate(robot, law, step, start=[0.0]) for law in (held, wound)]
    overshoots = [float(run.q.max()) - 1.0 for run in runs]
    assert overshoots[0] < 0.5 * overshoots[1]


@pytest.mark.parametrize("period", [1e-3, 4e-3])
def test_computed_torque_compensates_friction_at_the_reference_velocity(period: float) -> None:
    """Viscous friction D that acts far faster than the period: D h / M = 50 and 200. The default follows the motion."""
    robot = slider(effort=np.inf).with_friction(viscous=50_000.0 * MASS)
    motion = ch.PointToPoint([0.0], [1.0], duration=1.0)
    run = ch.simulate(robot, ch.ComputedTorque(robot, kp=400.0, kd=40.0), motion, period=period)
    peak = float(np.abs(run.error).max())
    assert peak == pytest.approx(0.5 * period * 1.875, rel=0.1)  # half a period behind the peak velocity: held torques
    with pytest.warns(SamplingWarning, match=rf"positive feedback of gain {50_000 * period:g} .* friction='reference'"):
        ch.simulate(
            robot,
            ch.ComputedTorque(robot, kp=400.0, kd=40.0, friction="measured"),
            motion,
            period=period,
            duration=0.02,
        )


def test_the_error_of_computed_torque_obeys_its_equation_with_the_friction_as_damper() -> None:
    """M e'' + (M kd + D) e' + M kp e = 0, here with a double root; at short periods."""
    kp, D = 100.0, 8.0 * MASS
    robot = slider(effort=np.inf).with_friction(viscous=D)
    law = ch.ComputedTorque(robot, kp=kp, kd=2.0 * np.sqrt(kp) - D / MASS)
    run = ch.simulate(robot, law, REST, start=[0.01], period=1e-4)
    w = np.sqrt(kp)
    np.testing.assert_allclose(run.q[:, 0], 0.01 * (1.0 + w * run.time) * np.exp(-w * run.time), atol=2e-5)


def wrist() -> tuple[ch.Robot, float]:
    """An arm with a wrist so light that gains for its shoulder are far too high for it, and the wrist's inertia."""
    arm = ch.load("panda")
    mobility = np.asarray(arm.inverse_mass_matrix(arm.home))[6, 6]
    return arm, float(1.0 / mobility)


def test_a_run_that_diverges_says_why_in_terms_of_the_robot() -> None:
    arm, inertia = wrist()
    kd = 31.0 * inertia / 1e-3
    law = ch.PDGravity(arm, kp=0.0, kd=kd * np.eye(7)[6])
    motion = ch.PointToPoint(arm.home, arm.home + 0.1, 0.5)
    with pytest.warns(
        DivergenceWarning, match=rf"panda_joint7 moves {inertia:.2g} kg·m² without rotor .*, and kd·T/M = 31"
    ):
        ch.simulate(ch.Plant(arm, effort_limits=False), law, motion)
    with pytest.warns(SaturationWarning, match=r"panda_joint7 was at its effort limit for \d+%.* kd·T/M = 31"):
        run = ch.simulate(arm, law, motion)
    assert np.isfinite(run.q).all()
    assert float(run.saturation_time[6]) > 0.4
    law = ch.PDGravity(arm, kp=9.0 * inertia / 1e-6 * np.eye(7)[6], kd=0.0)
    with pytest.warns(DivergenceWarning, match=r"kp·T²/M = 9 must be below 4"):
        ch.simulate(ch.Plant(arm, effort_limits=False), law, motion)


def test_of_a_batch_the_run_that_diverged_first_is_explained() -> None:
    arm, inertia = wrist()
    gains = np.array([1.0, 5.0, 31.0])[:, None] * (inertia / 1e-3) * np.eye(7)[6]
    motion = ch.PointToPoint(arm.home, arm.home + 0.1, 0.5)
    law = ch.PDGravity(arm, kp=0.0, kd=0.0)
    with pytest.warns(DivergenceWarning, match=r"2 of 3 runs diverged.*panda_joint7 .*kd·T/M = 31"):
        ch.simulate(ch.Plant(arm, effort_limits=False), law, motion, vary={"controller.kd": gains})
