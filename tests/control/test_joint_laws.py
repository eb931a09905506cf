"""PD, PID, computed and nominal torque: the equations of their errors, their energy, their limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tests.control.calls import called
from tests.control.sampled_loop import simulate
from tests.thinning import paired

import chasles as ch
from chasles import control
from chasles.base.errors import ArgumentError
from chasles.model import Description, Inertia, Joint, Link
from chasles.trajectories.motion import Motion

MASS = 2.0


def slider() -> ch.Robot:
    """A mass on a horizontal rail, m a = tau."""
    joint = Joint("rail", "prismatic", "base", "cart", axis=[1.0, 0.0, 0.0])
    return ch.Robot(Description("slider", links=(Link("base"), Link("cart", Inertia(mass=MASS))), joints=(joint,)))


def frictionless(name: str) -> ch.Robot:
    return ch.load(name).with_friction(coulomb=0.0, viscous=0.0)


def hold(q: Any) -> Callable[[Any], Motion]:
    q = np.asarray(q, dtype=float)
    return lambda t: Motion(q, 0.0 * q, 0.0 * q)


def follow(motion: ch.PointToPoint) -> Callable[[Any], Motion]:
    return lambda t: motion.motion(t, motion.parameters)


def linear_error(coefficients: list[float], start: list[float], times: np.ndarray) -> np.ndarray:
    """Exact solution of e⁽ᵏ⁾ + … + c₁ e' + c₀ e = 0 from (e, e', …), by the exponential of its companion matrix."""
    companion = np.eye(len(start), k=1)
    companion[-1] = -np.array(coefficients)
    return np.array([(scipy.linalg.expm(companion * t) @ start)[0] for t in times])


def test_pd_obeys_its_equation() -> None:
    """On a mass: e'' + (kd/m) e' + (kp/m) e = 0; the sampling of 10 µs is the only difference."""
    controller = control.PD(slider(), kp=50.0, kd=8.0)
    run = simulate(slider(), controller, hold([0.0]), duration=2.0, period=1e-5, q0=[0.3], save_every=2000)
    expected = linear_error([50.0 / MASS, 8.0 / MASS], [0.3, 0.0], run.t)
    np.testing.assert_allclose(run.q[:, 0], expected, atol=3e-5)


def test_pd_sags_under_gravity_where_the_springs_hold_the_weight() -> None:
    arm, kp, goal = frictionless("puma560"), np.array([900.0, 900.0, 500.0, 50.0, 50.0, 50.0]), np.full(6, 0.3)
    run = simulate(
        arm, control.PD(arm, kp=kp, kd=0.2 * kp), hold(goal), duration=8.0, period=1e-3, q0=goal, save_every=50
    )
    np.testing.assert_allclose(kp * (goal - run.q[-1]), arm.gravity_torque(run.q[-1]), atol=1e-6)
    assert np.abs(goal - run.q[-1]).max() > 0.01


@pytest.mark.parametrize(("name", "law"), paired(["planar2r", "puma560", "panda"], ["PD", "PDGravity"]))
def test_the_energy_of_pd_never_grows(name: str, law: str) -> None:
    """V = T + e·Kp e/2, without gravity or with gravity compensated: V' = -qd·Kd qd."""
    arm = frictionless(name)
    plant = arm.with_gravity([0.0, 0.0, 0.0]) if law == "PD" else arm
    kp, kd = np.linspace(60.0, 20.0, arm.n), np.linspace(4.0, 1.0, arm.n)
    rng = np.random.default_rng(1)
    goal, start = arm.home, arm.home + rng.uniform(-1.0, 1.0, (5, arm.n))
    controller = getattr(control, law)(arm, kp=kp, kd=kd)
    run = simulate(plant, controller, hold(goal), duration=1.0, period=2e-5, q0=start, qd0=start, save_every=100)
    V = plant.kinetic_energy(run.q, run.qd) + 0.5 * np.sum(kp * (goal - run.q) ** 2, axis=-1)
    assert np.diff(V, axis=-1).max() < 1e-9
    dissipated = np.trapezoid(np.sum(kd * run.qd**2, axis=-1), run.t, axis=-1)
    np.testing.assert_allclose(V[:, 0] - V[:, -1], dissipated, rtol=5e-3)


def test_pid_obeys_its_equation() -> None:
    controller = control.PID(slider(), kp=50.0, ki=40.0, kd=12.0)
    run = simulate(slider(), controller, hold([0.0]), duration=3.0, period=1e-5, q0=[0.3], save_every=2000)
    # the integral starts at zero: m e'' = -kp e - kd e' - ki ∫e, differentiated once
    expected = linear_error([40.0 / MASS, 50.0 / MASS, 12.0 / MASS], [0.3, 0.0, -50.0 / MASS * 0.3], run.t)
    np.testing.assert_allclose(run.q[:, 0], expected, atol=3e-5)


def test_the_integral_of_pid_holds_the_weight() -> None:
    arm, goal = frictionless("planar2r"), np.array([0.4, 0.6])
    gains = {"kp": [900.0, 300.0], "kd": [200.0, 40.0]}
    run = simulate(
        arm,
        control.PID(arm, ki=[900.0, 300.0], **gains),
        hold(goal),
        duration=20.0,
        period=1e-3,
        q0=goal,
        save_every=100,
    )
    np.testing.assert_allclose(run.q[-1], goal, atol=1e-6)
    np.testing.assert_allclose(np.array([900.0, 300.0]) * run.memory[-1], arm.gravity_torque(goal), rtol=1e-4)


def test_pid_keeps_its_limits_and_does_not_wind_up() -> None:
    """A step of 3 m with 2 N for 2 kg: the same law with an integral that does not wait overshoots many times more."""
    limit, gains = 2.0, {"kp": 20.0, "ki": 5.0, "kd": 14.0}

    def naive(now: ch.control.Now) -> Any:
        now.memory.integral += 1e-3 * (now.reference.q - now.q)
        tau = gains["kp"] * (now.reference.q - now.q) + gains["ki"] * now.memory.integral - gains["kd"] * now.qd
        return ch.engine.clip(tau, -limit, limit)

    overshoot = {}
    for name, law in (
        ("waiting", control.PID(slider(), **gains, torque_limits=limit)),
        ("naive", ch.PythonLaw(naive, memory={"integral": [0.0]})),
    ):
        run = simulate(slider(), law, hold([3.0]), duration=30.0, period=1e-3, q0=[0.0], save_every=10)
        assert np.abs(run.tau).max() <= limit
        overshoot[name] = run.q.max() - 3.0
        assert np.abs(run.q[-1] - 3.0).max() < 0.3
    assert overshoot["waiting"] < 0.25 * overshoot["naive"], overshoot


def test_pid_takes_the_robots_own_limits() -> None:
    arm = ch.load("panda")
    controller = control.PID(arm, kp=1e5, ki=0.0, kd=0.0)
    far = Motion(np.full(7, 100.0), np.zeros(7), np.zeros(7))
    tau, _ = called(controller, arm.home, np.zeros(7), far)
    np.testing.assert_array_equal(tau, arm.effort_limits)


def test_an_integral_waits_in_its_own_joint_only_and_lets_go_when_the_error_turns() -> None:
    arm = ch.load("planar2r")
    controller = control.PID(arm, kp=10.0, ki=10.0, kd=0.0, torque_limits=5.0)

    def memory_after(error: list[float], before: list[float]) -> np.ndarray:
        reference = Motion(np.array(error), np.zeros(2), np.zeros(2))
        memory = {"integral": np.array(before)}
        return called(controller, np.zeros(2), np.zeros(2), reference, memory, period=0.1)[1].integral

    np.testing.assert_allclose(memory_after([1.0, 0.1], [0.3, 0.0]), [0.3, 0.01])
    np.testing.assert_allclose(memory_after([-1.0, -0.1], [-0.3, 2.0]), [-0.3, 1.99])  # wound up, and unwinding


def constant_force(force: float) -> Callable[[Any, Any, Any], Any]:
    """A force along the rail."""
    return lambda t, T, twist: np.array([0.0, 0.0, 0.0, force, 0.0, 0.0])


@pytest.mark.parametrize("period", [0.02, 1e-3])
@pytest.mark.parametrize("law", ["PD", "PID", "ComputedTorque", "LinearQuadraticRegulator"])
def test_sampled_laws_obey_their_equations_exactly(law: str, period: float) -> None:
    """A mass under held forces: x[k+1] = x[k] + h v[k] + h² f[k] / 2 m, v[k+1] = v[k] + h f[k] / m.

    The integral of the rectangle rule includes the error of this call in PID and computed torque, and only those before
    it in regulators. No sign and no share of a period can be wrong.
    """
    kp, kd, ki, push, h = 60.0, 11.0, 90.0, 3.0, period
    controllers: dict[str, Any] = {
        "PD": control.PD(slider(), kp=kp, kd=kd),
        "PID": control.PID(slider(), kp=kp, kd=kd, ki=ki),
        "ComputedTorque": control.ComputedTorque(slider(), kp=kp / MASS, kd=kd / MASS, ki=ki / MASS),
        "LinearQuadraticRegulator": control.LinearQuadraticRegulator(slider(), integral_error=0.1),
    }
    controller = controllers[law]
    if law == "LinearQuadraticRegulator":
        kp, kd, ki = controller.K[0]
    run = simulate(
        slider(),
        controller,
        hold([0.5]),
        duration=50 * h,
        period=h,
        q0=[0.1],
        qd0=[-0.4],
        wrench=constant_force(push),
    )
    x, v, integral = 0.1, -0.4, 0.0
    for k in range(51):
        np.testing.assert_allclose([run.q[k, 0], run.qd[k, 0]], [x, v], rtol=1e-11, atol=1e-11)
        error = 0.5 - x
        before, integral = integral, integral + h * error
        force = kp * error - kd * v
        if law != "PD":
            force += ki * (before if law == "LinearQuadraticRegulator" else integral)
        np.testing.assert_allclose(run.tau[k, 0], force, rtol=1e-11, atol=1e-11)
        x, v = x + h * v + h**2 * (force + push) / (2.0 * MASS), v + h * (force + push) / MASS


@pytest.mark.parametrize("ki", [0.0, 300.0])
def test_the_integral_of_computed_torque_finds_a_constant_disturbance(ki: float) -> None:
    """e''' + kd e'' + kp e' + ki e = 0 from e'' = -F/m: no error is left, and the integral holds the force.

    Without the integral, kp e = -F/m is left.
    """
    kp, kd, force = 100.0, 20.0, 6.0
    controller = control.ComputedTorque(slider(), kp=kp, kd=kd, ki=ki)
    run = simulate(
        slider(),
        controller,
        hold([0.0]),
        duration=8.0,
        period=1e-4,
        q0=[0.0],
        wrench=constant_force(force),
        save_every=200,
    )
    expected = -linear_error([ki, kp, kd], [0.0, 0.0, -force / MASS], run.t)
    np.testing.assert_allclose(run.q[:, 0], expected, atol=2e-5)
    assert run.q[-1, 0] == pytest.approx(0.0 if ki else force / MASS / kp, abs=1e-6)
    if ki:
        assert ki * run.memory[-1, 0] == pytest.approx(-force / MASS, rel=1e-5)


@pytest.mark.parametrize("name", ["planar2r", "puma560"])
def test_an_unknown_payload_leaves_no_error_where_there_is_an_integral(name: str) -> None:
    """At rest M(q) ki ∫e is the payload's weight that the model lacks; without it M(q) kp e is."""
    arm = frictionless(name)
    plant, goal, gains = arm.with_payload(1.5), arm.home + 0.4, {"kp": 100.0, "kd": 20.0}
    lacking = plant.gravity_torque(goal) - arm.gravity_torque(goal)
    with_integral = control.ComputedTorque(arm, **gains, ki=250.0)
    run = simulate(plant, with_integral, hold(goal), duration=30.0, period=1e-3, q0=goal, save_every=100)
    np.testing.assert_allclose(run.q[-1], goal, atol=1e-6)
    np.testing.assert_allclose(arm.mass_matrix(goal) @ (250.0 * run.memory[-1]), lacking, atol=1e-4)
    run = simulate(
        plant, control.ComputedTorque(arm, **gains), hold(goal), duration=15.0, period=1e-3, q0=goal, save_every=100
    )
    q = run.q[-1]
    lacking = plant.gravity_torque(q) - arm.gravity_torque(q)
    np.testing.assert_allclose(arm.mass_matrix(q) @ (100.0 * (goal - q)), lacking, atol=1e-5)
    assert np.abs(goal - q).max() > 0.01


@pytest.mark.parametrize("name", ["planar2r", "puma560", "panda"])
def test_computed_torque_with_integral_obeys_its_equation(name: str) -> None:
    """e''' + kd e'' + kp e' + ki e = 0 along a fast motion."""
    arm = frictionless(name)
    kp, kd, ki = 100.0, 20.0, 300.0
    motion = ch.PointToPoint(arm.home, arm.home + 0.7, 0.8)
    offset = np.linspace(-0.1, 0.1, arm.n)
    controller = control.ComputedTorque(arm, kp=kp, kd=kd, ki=ki)
    run = simulate(arm, controller, follow(motion), duration=0.8, period=2e-5, q0=motion.start - offset, save_every=400)
    unit = linear_error([ki, kp, kd], [1.0, 0.0, -kp], run.t)
    np.testing.assert_allclose(motion(run.t).q - run.q, unit[:, None] * offset, atol=3e-5)


def test_the_feed_forward_variant_computes_at_the_planned_motion() -> None:
    arm, rng = ch.load("puma560"), np.random.default_rng(2)
    controller = control.ComputedTorque(arm, kp=100.0, kd=20.0, feedforward=True)
    reference = Motion(*rng.normal(size=(3, 6)))
    q, qd = rng.normal(size=(2, 6))
    tau, _ = called(controller, q, qd, reference)
    feedback = arm.mass_matrix(reference.q) @ (100.0 * (reference.q - q) + 20.0 * (reference.qd - qd))
    np.testing.assert_allclose(tau, arm.inverse_dynamics(*reference) + feedback, rtol=1e-12)


def test_the_feed_forward_variant_obeys_the_equation_for_small_errors() -> None:
    """Its error's deviation from the linear equation falls with the square of the error."""
    arm = frictionless("planar2r")
    motion = ch.PointToPoint(arm.home, arm.home, 1.0)
    controller = control.ComputedTorque(arm.with_gravity([0.0, 0.0, 0.0]), kp=100.0, kd=20.0, feedforward=True)
    deviations = []
    for size in (0.1, 0.05):
        run = simulate(
            arm.with_gravity([0.0, 0.0, 0.0]),
            controller,
            follow(motion),
            duration=0.5,
            period=1e-5,
            q0=motion.start - [size, size],
            save_every=1000,
        )
        exact = size * linear_error([100.0, 20.0], [1.0, 0.0], run.t)[:, None]
        deviations.append(np.abs(motion(run.t).q - run.q - exact).max())
    assert 3.0 < deviations[0] / deviations[1] < 9.0


def test_nominal_torque_depends_on_the_plan_alone() -> None:
    arm, rng = ch.load("panda"), np.random.default_rng(3)
    reference = Motion(*rng.normal(size=(3, 7)))
    controller = control.NominalTorque(arm)
    for q, qd in rng.normal(size=(3, 2, 7)):
        tau, _ = called(controller, q, qd, reference)
        np.testing.assert_array_equal(tau, arm.inverse_dynamics(*reference))


def test_nominal_torque_alone_follows_better_at_shorter_periods() -> None:
    """An exact model and start: only the held torque leaves the plan, by an error of first order in the period."""
    arm = frictionless("planar2r")
    motion = ch.PointToPoint([-1.5, 0.2], [-0.8, 0.6], 0.5)
    errors = []
    for period in (2e-3, 1e-3, 5e-4):
        run = simulate(arm, control.NominalTorque(arm), follow(motion), duration=0.5, period=period, q0=motion.start)
        errors.append(np.abs(motion(run.t).q - run.q).max())
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0, rtol=0.05)
    assert errors[-1] < 1e-3


def test_pd_makes_nominal_torque_forget_a_wrong_start() -> None:
    arm = frictionless("puma560")
    motion = ch.PointToPoint(arm.home, arm.home + 0.5, 1.0)
    start = motion.start + 0.1
    final = {}
    for gain in (0.0, 200.0):
        controller = control.NominalTorque(arm, kp=gain, kd=0.3 * gain)
        run = simulate(arm, controller, follow(motion), duration=3.0, period=1e-3, q0=start, save_every=10)
        final[gain] = np.abs(run.q[-1] - motion.goal).max()
    assert final[200.0] < 1e-3 < 0.1 < final[0.0]


@pytest.mark.parametrize("payload", [1.0, 5.0])
def test_a_wrong_model_degrades_computed_torque_but_leaves_it_stable(payload: float) -> None:
    arm = frictionless("panda")
    motion = ch.PointToPoint(arm.home, arm.home + 0.4, 1.0)
    inertia, rest = arm.mass_matrix(arm.home).diagonal(), {}
    for plant in (arm, arm.with_payload(payload)):
        for controller in (
            control.ComputedTorque(arm, kp=400.0, kd=40.0),
            control.NominalTorque(arm, kp=400.0 * inertia, kd=40.0 * inertia),
            control.PDGravity(arm, kp=400.0 * inertia, kd=40.0 * inertia),
        ):
            run = simulate(plant, controller, follow(motion), duration=4.0, period=1e-3, q0=motion.start, save_every=10)
            assert np.abs(run.qd[-1]).max() < 1e-2
            rest[controller.name, plant is arm] = np.abs(motion.goal - run.q[-1]).max()
            assert rest[controller.name, plant is arm] < 0.5
    for name in {name for name, _ in rest}:
        assert rest[name, True] < 0.01 * rest[name, False]


def test_computed_torque_does_not_wind_up() -> None:
    """The integral of a joint waits while its motor can do no more, and only then; it comes back at once."""
    arm = ch.load("panda")
    law = control.ComputedTorque(arm, kp=400.0, kd=40.0, ki=2000.0)
    rest, period = np.zeros(7), 1e-3
    error = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.001, -2.0])
    wanted = Motion(arm.home + error, rest, rest)
    tau, following = called(law, arm.home, rest, wanted, period=period)
    beyond = np.abs(tau) > arm.effort_limits
    assert beyond[0]
    assert not beyond[5]
    np.testing.assert_allclose(
        following.integral, np.where(beyond & (tau * error > 0.0), 0.0, period * error), rtol=1e-12
    )
    wound = np.full(7, 0.1)
    back = Motion(arm.home - error, rest, rest)
    _, unwound = called(law, arm.home, rest, back, {"integral": wound}, period=period)
    assert unwound.integral[5] < wound[5]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("much", "must be an array of real numbers"),
        ([1.0, 2.0], r"has shape \(2,\); expected \(7,\) or one number"),
        (0.0, r"\[0\] is 0.0; it must be positive"),
        ([1, 1, 1, -1, 1, 1, 1], r"\[3\] is -1.0; it must be positive"),
    ],
)
def test_wrong_torque_limits_of_pid_are_refused(limits: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"torque_limits ?{message}"):
        control.PID(ch.load("panda"), kp=1.0, ki=0.0, kd=0.0, torque_limits=limits)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda t, q, qd, reference: q, {}, "takes 4 positional arguments; a law takes one, now"),
        (lambda now, *, kp: now.q, {}, "the gain 'kp' of <lambda> needs a value"),
        (lambda now, *, memory=1.0: now.q, {}, "'memory' cannot be the name of a gain"),
        (lambda now, *, kp="much": now.q, {}, "kp must be an array of real numbers"),
        (lambda now: now.q, {"memory": np.zeros(2)}, "a memory has named parts"),
        (lambda now: now.q, {"memory": {"integral": [np.nan]}}, "integral"),
    ],
)
def test_functions_that_are_no_laws_are_refused(function: Any, options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        control.PythonLaw(function, **options)


def test_a_law_that_returns_its_memory_is_told_to_assign_it() -> None:
    arm = ch.load("planar2r")
    with pytest.raises(ArgumentError, match="returns the torques alone"):
        ch.simulate(arm, lambda now: (0.0 * now.q, now.memory), ch.PointToPoint([0.0, 0.0], [0.0, 0.0], 0.1))
