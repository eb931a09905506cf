"""Derivatives of plans by the numbers of their problems: Riccati's equation, differences of solved problems, kinks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are, solve_discrete_lyapunov
from tests.control.optimal.robots import ball, four_bar, gantry, hopper, pendulum

import chasles as ch
from chasles.base.errors import ChaslesError
from chasles.control.optimal import PhasedContact, Residual, residuals

EFFORT = Residual(lambda tau, share: share * tau, share=())


def test_the_first_torque_of_a_long_horizon_has_the_derivatives_of_riccatis_gains() -> None:
    """u = -K x, K of S K = Bᵀ P A; by a weight, dP = Aᶜᵀ dP Aᶜ + dQ and dK = S⁻¹ Bᵀ dP Aᶜ."""
    h, stiffness, mass, nodes = 0.1, 3.0, np.diag([5.0, 2.0]), 200
    costs = [Residual(lambda q, spring: spring * q, spring=()), residuals.velocity(), 0.1 * residuals.torque()]
    problem = ch.OptimalControl(gantry(), duration=nodes * h, nodes=nodes, running=costs, limits=[])
    start, velocity = np.array([0.3, -0.2]), np.array([0.1, 0.4])
    plan = problem.solve(start, velocity, spring=np.sqrt(stiffness))
    inverse = np.linalg.inv(mass)
    A = np.block([[np.eye(2), h * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])
    B = np.concatenate([0.5 * h**2 * inverse, h * inverse])
    Q, R = h * np.diag([stiffness, stiffness, 1.0, 1.0]), 0.1 * h * np.eye(2)
    P = solve_discrete_are(A, B, Q, R)
    S = R + B.T @ P @ B
    K = np.linalg.solve(S, B.T @ P @ A)
    closed = A - B @ K
    dP = solve_discrete_lyapunov(closed.T, h * np.diag([1.0, 1.0, 0.0, 0.0]))
    dK = np.linalg.solve(S, B.T @ dP @ closed)
    x = np.concatenate([start, velocity])
    np.testing.assert_allclose(plan.torques[0], -K @ x, rtol=1e-8)
    for joint, weights in enumerate(np.eye(2)):
        result = plan.gradient(lambda plan, weights=weights: plan.torques[0] @ weights, ["start", "velocity", "spring"])
        np.testing.assert_allclose(
            np.concatenate([result.gradient["start"], result.gradient["velocity"]]), -K[joint], rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(result.gradient["spring"], -2.0 * np.sqrt(stiffness) * dK[joint] @ x, rtol=1e-9)
        assert result.is_smooth
    least = plan.vjp(["start", "velocity"], cost=1.0)  # ½ xᵀ P x has the gradient P x
    np.testing.assert_allclose(np.concatenate([least["start"], least["velocity"]]), P @ x, rtol=1e-9)


def _reach(robot: ch.Robot | ch.Plant, **options: Any) -> ch.OptimalControl:
    return ch.OptimalControl(
        robot,
        nodes=12,
        **{
            "duration": 1.0,
            "running": [EFFORT, residuals.velocity()],
            "exact_end": [residuals.position("goal"), residuals.velocity()],
            "limits": [],
            **options,
        },
    )


def _require_derivatives(
    problem: ch.OptimalControl,
    numbers: dict[str, Any],
    vary: tuple[str, ...] = (),
    step: float = 1e-3,
    by: list[str] | None = None,
) -> None:
    """Compare the derivatives of a drawn loss along drawn directions with differences of fourth order."""
    rng, robot = np.random.default_rng(7), problem.robot

    def solved(guess: ch.Plan | None = None, **changed: Any) -> ch.Plan:
        given = {**numbers, **changed}
        varied = {name: given.pop(name) for name in vary}
        plan = problem.solve(given.pop("start"), guess=guess, vary=varied or None, **given)
        assert plan.success
        return plan

    plan = solved()
    weights = {name: rng.normal(size=np.shape(getattr(plan, name))) for name in ("states", "torques", "forces")}

    def loss(plan: Any) -> Any:
        parts = [(weight * getattr(plan, name)).sum() for name, weight in weights.items() if weight.size]
        return sum(parts, 2.0 * plan.cost + 3.0 * plan.duration)

    result = plan.gradient(loss, by or list(numbers))
    assert result.is_smooth
    np.testing.assert_allclose(result.loss, loss(plan), rtol=1e-12)
    for name in result.gradient:
        along = _curve(robot, name, np.asarray(numbers[name], dtype=float), rng)
        at = partial(_value, along=along, name=name, solved=partial(solved, plan), loss=loss)
        expected = _difference(at, step)
        parts = result.gradient[name] * _difference(along, 1e-3)
        np.testing.assert_allclose(parts.sum(), expected, rtol=1e-6, atol=1e-8 * np.abs(parts).sum() + 1e-8)


def _value(s: float, *, along: Any, name: str, solved: Any, loss: Any) -> float:
    return float(loss(solved(**{name: along(s)})))


def _curve(robot: ch.Robot, name: str, value: np.ndarray, rng: np.random.Generator) -> Callable[[float], Any]:
    """Return a curve of values of a number; of poses or configurations where it is one."""
    if value.shape == (4, 4):
        turn, shift = rng.normal(size=(3, 3)), rng.normal(size=(3, 1))
        twist = np.concatenate([np.concatenate([turn - turn.T, shift], axis=1), np.zeros((1, 4))])
        return lambda s: value @ expm(s * twist)
    if name in ("start", "goal") and robot.nq != robot.n:
        displacement = rng.normal(size=robot.n)
        return lambda s: np.asarray(robot.integrate(value, s * displacement))
    direction = rng.normal(size=value.shape)
    return lambda s: value + s * direction


def _difference(f: Callable[[float], Any], h: float) -> Any:
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


PAYLOAD = ("payload.mass",)


@pytest.mark.slow
def test_a_pendulum_with_a_weak_motor() -> None:
    numbers = {"start": [0.1], "velocity": [0.2], "goal": [0.9], "share": 1.2, "payload.mass": 0.2}
    _require_derivatives(_reach(pendulum(), limits={"torque": 9.0}), numbers, PAYLOAD)


@pytest.mark.slow
def test_durations_that_are_chosen() -> None:
    problem = _reach(
        ch.load("planar2r"), duration=(0.3, 3.0), running=[EFFORT, 5.0 * residuals.time()], limits={"torque": 60.0}
    )
    numbers = {"start": [0.1, 0.2], "velocity": [0.0, 0.1], "goal": [0.8, 0.4], "share": 0.1, "payload.mass": 0.2}
    _require_derivatives(problem, numbers, PAYLOAD, step=2e-4)


@pytest.mark.slow
def test_torques_that_are_states_begin_with_those_of_the_start() -> None:
    running = [residuals.torque(), 1e-3 * residuals.torque_rate()]
    numbers = {"start": [0.1], "velocity": [0.1], "goal": [0.8], "payload.mass": 0.2}
    _require_derivatives(_reach(pendulum(), running=running, limits={"torque_rate": 40.0}), numbers, PAYLOAD)


@pytest.mark.slow
def test_currents_of_motors_that_are_states() -> None:
    robot = pendulum()
    plant = ch.Plant(robot, motors=ch.Motors(robot, time_constant=0.02))
    numbers = {"start": [0.1], "velocity": [0.2], "goal": [0.9], "share": 1.2, "payload.mass": 0.2}
    _require_derivatives(_reach(plant, integrator="rk4"), numbers, PAYLOAD)


@pytest.mark.slow
def test_quaternions() -> None:
    robot = ball()
    start, goal = (robot.integrate(robot.home, v) for v in ([0.1, 0.2, 0.3, 0.1], [0.3, -0.2, 0.1, 0.4]))
    numbers = {"start": start, "velocity": np.zeros(4), "goal": goal, "share": 1.0, "payload.mass": 0.2}
    _require_derivatives(_reach(robot, running=[EFFORT, residuals.position()]), numbers, PAYLOAD)


@pytest.mark.slow
def test_closed_loops() -> None:
    robot = four_bar()
    numbers = {"start": robot.home, "velocity": [0.0], "goal": robot.integrate(robot.home, [0.4]), "share": 1.0}
    _require_derivatives(_reach(robot), numbers)


@pytest.mark.slow
def test_forces_of_contacts() -> None:
    problem = ch.OptimalControl(
        hopper(),
        duration=0.3,
        nodes=18,
        running=[1e-3 * residuals.torque(), lambda forces: 1e-2 * forces.ravel()],
        exact_end=[residuals.position("goal"), lambda qd: qd[1]],
        keep=[PhasedContact("foot", phases=[(0, 12)])],
        limits=[],
    )
    plan = problem.solve([0.0, 0.5], goal=[0.05, 0.6], vary={"payload.mass": 0.2})
    weights = np.random.default_rng(3).normal(size=plan.forces.shape)
    result = plan.gradient(lambda plan: (weights * plan.forces).sum(), ["goal", "payload.mass"])

    def loss(goal: Any, mass: Any) -> float:
        return float((weights * problem.solve([0.0, 0.5], goal=goal, vary={"payload.mass": mass}).forces).sum())

    by_height = _difference(lambda s: loss([0.05, 0.6 + s], 0.2), 1e-3)
    by_mass = _difference(lambda s: loss([0.05, 0.6], 0.2 + s), 1e-3)
    np.testing.assert_allclose(result.gradient["goal"][1], by_height, rtol=1e-6)
    np.testing.assert_allclose(result.gradient["payload.mass"], by_mass, rtol=1e-6)


@pytest.mark.slow
def test_poses_that_are_reached_exactly() -> None:
    """Rest at the pose costs nothing: the rotation's logarithm is differentiated twice at zero."""
    robot = ch.load("planar2r")
    running = [Residual(lambda robot, q, tau: tau - robot.gravity_torque(q)), residuals.velocity()]
    problem = ch.OptimalControl(
        robot, duration=1.0, nodes=8, running=running, final=[1e3 * residuals.pose("goal")], limits=[]
    )
    start = np.array([0.3, -0.5])
    _require_derivatives(problem, {"start": start, "goal": robot.forward_kinematics(start)})


def test_a_batch_is_its_problems_and_gradients_are_those_of_an_own_loss() -> None:
    problem = _reach(pendulum())
    goals = np.array([[[0.3], [0.5]], [[0.7], [0.9]]])
    plans, alone = (problem.solve([0.0], goal=goal, share=1.0) for goal in (goals, goals[1, 0]))
    result = plans.gradient(lambda plan: plan.torques[0] @ plan.torques[0], ["goal", "share"])
    assert result.loss.shape == result.is_smooth.shape == result.gradient["share"].shape == (2, 2)
    by_torques = np.zeros(plans.torques.shape)
    by_torques[..., 0, :] = 2.0 * plans.torques[..., 0, :]
    by_goal = plans.vjp(["goal"], torques=by_torques)["goal"]
    np.testing.assert_allclose(by_goal, result.gradient["goal"], rtol=1e-12)
    of_one = alone.vjp(["goal"], torques=by_torques[1, 0])["goal"]
    np.testing.assert_allclose(of_one, by_goal[1, 0], rtol=1e-9)


def test_kinks_are_said() -> None:
    """A limit that equals the largest torque is touched without a multiplier, where the plan has two derivatives."""
    problem = ch.OptimalControl(
        gantry(),
        duration=1.0,
        nodes=8,
        running=[residuals.torque()],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits=[],
    )
    free = problem.solve([0.0, 0.0], goal=[1.0, 0.0])
    touching = problem.with_limits({"torque": [float(np.abs(free.torques).max()), 1e3]})
    plan = touching.solve([0.0, 0.0], goal=[1.0, 0.0])
    first = plan.gradient(lambda plan: plan.torques[0, 0], ["goal"])
    assert plan.success
    assert first.barrier_effect > 1e-2
    assert not first.is_smooth
    assert plan.gradient(lambda plan: plan.torques[0, 1], ["goal"]).is_smooth  # does not depend on that limit


@pytest.mark.slow
def test_what_is_not_optimal_has_no_derivative() -> None:
    problem = _reach(pendulum(), limits={"velocity": 0.5})
    plans = problem.solve([0.0], goal=[[0.3], [2.0]], share=1.0)
    assert list(plans.success) == [True, False]
    result = plans.gradient(lambda plan: plan.cost, ["goal"])
    assert np.isfinite(result.gradient["goal"]).ravel().tolist() == result.is_smooth.tolist() == [True, False]


@pytest.mark.slow
def test_a_maximum_leaves_the_plan_undetermined() -> None:
    """The torques of a reward for speed at rest, which no search has left: no minimum, so no function of the start."""
    problem = ch.OptimalControl(
        gantry(),
        duration=1.0,
        nodes=4,
        running=[lambda tau: 1e-3 * tau],
        final=[lambda q: np.array([1.0 - q[0] ** 2])],
        limits=[],
    )
    plan = problem.solve([0.0, 0.0], iterations=0)
    assert (plan.success, plan.is_minimum) == (True, False)
    assert abs(plan.torques[:, 0]).max() < 1e-6
    result = plan.gradient(lambda plan: plan.torques[0, 0], ["start"])
    assert np.isnan(result.gradient["start"]).all()
    assert not result.is_smooth


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda plan: plan.vjp("goal", cost=1.0),
            r"by must be a list of names such as \['start'\], not the text 'goal'",
        ),
        (lambda plan: plan.vjp(["gaol"], cost=1.0), "Did you mean 'goal'"),
        (lambda plan: plan.vjp(["payload.mass"], cost=1.0), "give its value in solve"),
        (lambda plan: plan.vjp(["goal"], torque=1.0), "Did you mean 'torques'"),
        (lambda plan: plan.vjp(["goal"], torques=np.ones(5)), r"torques has shape \(5,\); expected \(12, 1\)"),
        (lambda plan: plan.vjp(["goal"], cost=np.nan), "cost is nan"),
        (lambda plan: plan.gradient(lambda plan: plan.torques, ["goal"]), "one number for a plan"),
        (lambda plan: plan.gradient(lambda plan: plan.torque.sum(), ["goal"]), "Did you mean 'torques'"),
        (lambda plan: plan.gradient(lambda plan: plan.cost, []), "by is empty"),
        (lambda plan: pickle.loads(pickle.dumps(plan)).vjp(["goal"], cost=1.0), "solve it again"),
    ],
)
def test_bad_input_is_refused(call: Callable[[ch.Plan], Any], message: str) -> None:
    with pytest.raises(ChaslesError, match=message):
        call(_reach(pendulum()).solve([0.0], goal=[0.5], share=1.0))


@pytest.mark.slow
def test_periodic_motions_by_a_payload() -> None:
    """A pendulum swings once a second at least effort; heavier, it needs other torques."""
    running = [residuals.torque(), Residual(lambda qd: 0.3 * (qd - 1.0))]
    problem = _reach(
        pendulum(), running=running, exact_end=[residuals.periodic(), residuals.at_start(lambda q: q - 0.4)]
    )
    _require_derivatives(problem, {"start": [0.3], "payload.mass": 0.2}, PAYLOAD, by=["payload.mass"])
    plan = problem.solve([0.3])
    with pytest.raises(ChaslesError, match="the start of this problem is free"):
        plan.vjp(["start"], cost=1.0)


def test_torques_of_a_reference_that_depend_on_parameters_are_refused() -> None:
    motion = ch.PointToPoint([0.0], [0.5], duration=1.0)
    along = ch.OptimalControl(pendulum(), duration=1.0, nodes=4, running=[residuals.torque("reference")], limits=[])
    plan = along.solve([0.0], reference=motion, vary={"payload.mass": 0.2})
    with pytest.raises(ChaslesError, match=r"torques of the reference depend on 'payload\.mass'"):
        plan.vjp(["payload.mass"], cost=1.0)
    assert np.isfinite(plan.vjp(["velocity"], torques=1.0)["velocity"]).all()
