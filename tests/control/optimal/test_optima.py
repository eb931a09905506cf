"""Optima against closed forms, SciPy and other programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from tests.control.optimal.robots import acrobot, cart_pole, gantry, pendulum

import chasles as ch
from chasles.control.optimal import OptimalControl, Plan, Residual, residuals
from chasles.control.optimal.interior_point import first_iterate, solve
from chasles.control.optimal.iterates import Ending
from chasles.control.optimal.numbers import Numbers
from chasles.distances import Body

INERTIA = np.array([5.0, 2.0])  # of the gantry


@pytest.mark.parametrize("integrator", ["leapfrog", "semi-implicit-euler"])
def test_a_linear_problem_gives_the_riccati_equation(integrator: str) -> None:
    """With the stationary cost at the end, a finite horizon has the stationary regulator's cost and gains."""
    h, sigma = 0.1, 0.5 if integrator == "leapfrog" else 0.0
    drift, kick = (
        np.block([[np.eye(2), sigma * h * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]]),
        h * np.diag(1.0 / INERTIA),
    )
    after = np.block([[np.eye(2), (1.0 - sigma) * h * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])
    A, B = after @ drift, after @ np.concatenate([np.zeros((2, 2)), kick])
    Q, R = h * np.diag([3.0, 1.0, 0.5, 0.2]), h * np.diag([0.1, 0.4])
    P = solve_discrete_are(A, B, Q, R)
    K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    root = np.linalg.cholesky(P).T

    def end(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return root @ np.concatenate([q, qd])

    problem = OptimalControl(
        gantry(),
        duration=1.2,
        nodes=12,
        running=[
            Residual(lambda q: q, weight=[3.0, 1.0]),
            Residual(lambda qd: qd, weight=[0.5, 0.2]),
            [0.1, 0.4] * residuals.torque(),
        ],
        final=[end],
        limits=(),
        integrator=integrator,
    )
    x0 = np.array([1.0, -2.0, 0.3, 0.1])
    plan = problem.solve(x0[:2], x0[2:])
    assert plan.success
    assert plan.cost == pytest.approx(0.5 * x0 @ P @ x0, rel=1e-10)
    np.testing.assert_allclose(plan.gains, np.broadcast_to(K, plan.gains.shape), atol=1e-8)
    states = [x0]
    for _ in range(12):
        states.append((A - B @ K) @ states[-1])
    np.testing.assert_allclose(plan.states, states, atol=1e-8)


def test_least_effort_between_rests_is_the_least_norm() -> None:
    N, h, move = 20, 0.05, np.array([0.7, -0.3])
    problem = OptimalControl(
        gantry(),
        duration=N * h,
        nodes=N,
        running=[residuals.torque()],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits=(),
    )
    plan = problem.solve([0.0, 0.0], goal=move)
    lever = np.stack([h**2 * (N - np.arange(N) - 0.5), np.full(N, h)])  # of held accelerations on position and velocity
    for joint in range(2):
        force = INERTIA[joint] * np.linalg.pinv(lever) @ [move[joint], 0.0]
        np.testing.assert_allclose(plan.torques[:, joint], force, atol=1e-7 * np.abs(force).max())
    assert plan.success


def test_the_least_time_under_a_force_limit_is_bang_bang() -> None:
    """A move in the least time for a force leaves no choice: full force forward, then backward; 2 % less has none."""
    duration, force = 1.0, 10.0
    problem = OptimalControl(
        gantry(),
        duration=duration,
        nodes=20,
        running=[residuals.torque()],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits={"torque": force},
    )
    furthest = force / INERTIA * duration**2 / 4.0
    plan = problem.solve([0.0, 0.0], goal=[0.999 * furthest[0], 0.0])
    assert plan.success
    assert np.sort(np.abs(plan.torques[:, 0]))[2:].min() > 0.97 * force
    assert np.abs(plan.torques[:, 1]).max() < 1e-6
    beyond = problem.solve([0.0, 0.0], goal=[1.02 * furthest[0], 0.0])
    assert beyond.status == "locally infeasible"
    assert all(finding.value > 1e-6 for finding in beyond.findings)


def reach(**options: object) -> OptimalControl:
    """Reach of an arm with the costs of a benchmark that Crocoddyl ships."""
    small = [residuals.position(), residuals.velocity(), residuals.torque()]
    return OptimalControl(
        ch.load("planar2r"),
        duration=1.0,
        nodes=50,
        running=[residuals.pose("goal"), *(0.1 * residual for residual in small)],
        final=[1e5 * residuals.pose("goal")],
        integrator="semi-implicit-euler",
        **options,
    )


@pytest.mark.slow
def test_a_reach_costs_more_with_each_constraint_and_keeps_all() -> None:
    arm, start = ch.load("planar2r"), np.array([-1.2, 0.3])
    goal = arm.forward_kinematics(start + np.array([0.9, 0.4]))
    free = reach(limits=()).solve(start, goal=goal)
    torque, velocity = 0.8 * np.abs(free.torques).max(axis=0), 0.8 * np.abs(free.states[:, 2:]).max(axis=0)
    limits = {"torque": torque, "velocity": velocity}
    limited = reach(limits=limits).solve(start, goal=goal)
    rod = Body("link2", end=[-0.25, 0.0, 0.0], radius=0.03)
    half_way = arm.forward_kinematics(limited.states[25, :2])[:3, 3]
    apart = ch.clearance(arm, bodies=[rod], obstacles=[Body(None, 1.12 * half_way, radius=0.04)])
    around = reach(limits=limits, clearance=apart, margin=0.02).solve(start, goal=goal)
    assert free.success
    assert limited.success
    assert around.success
    assert free.cost < limited.cost < around.cost
    assert apart(limited.states[:, :2]).min() < 0.02
    assert apart(around.states[1:, :2]).min() == pytest.approx(0.02, abs=1e-7)
    assert (np.abs(around.states[:, 2:]) <= velocity * (1.0 + 1e-6)).all()
    assert (np.abs(around.torques) <= torque * (1.0 + 1e-6)).all()


@pytest.mark.slow
def test_many_nodes_end_at_the_optimum_of_few() -> None:
    """A reach of the Panda over 4.5 s: Crocoddyl ends at 14.815013 from the robot at rest, after 198 iterations."""
    arm = ch.load("panda")
    small = [0.1 * residual for residual in (residuals.position(), residuals.velocity(), residuals.torque())]
    problem = OptimalControl(
        arm,
        duration=4.5,
        nodes=450,
        running=[residuals.pose("goal"), *small],
        final=[1e3 * residuals.pose("goal")],
        limits=(),
        integrator="semi-implicit-euler",
    )
    plan = problem.solve(arm.home, goal=arm.forward_kinematics(arm.home + 0.3))
    assert plan.success
    assert plan.cost == pytest.approx(14.815013, rel=1e-6)


@pytest.mark.slow
def test_a_saddle_is_left_on_a_side_where_the_cost_goes_down() -> None:
    """A pendulum that hangs between two goals: dense second differences of a simulation of our own say what it is."""
    N, h, pull = 12, 0.1, 0.1

    def cost(torques: np.ndarray, weight: float) -> float:
        q = v = 0.0
        for tau in torques:
            q += 0.5 * h * v
            v += h * (tau - 9.81 * np.sin(q))
            q += 0.5 * h * v
        return float(0.5 * pull * h * (torques**2).sum() + 0.5 * weight * (q**2 - 1.0) ** 2)

    def least_curvature(torques: np.ndarray, weight: float) -> float:
        def mixed(a: np.ndarray, b: np.ndarray) -> float:
            return sum(i * j * cost(torques + i * a + j * b, weight) for i in (1, -1) for j in (1, -1)) / 4e-6

        moves = 1e-3 * np.eye(N)
        return float(np.linalg.eigvalsh([[mixed(a, b) for b in moves] for a in moves])[0])

    problem = OptimalControl(
        pendulum(),
        duration=N * h,
        nodes=N,
        running=[pull * residuals.torque()],
        final=[Residual(lambda q, firm: firm * (q**2 - 1.0), firm=())],
        limits=(),
    )
    rest = np.zeros(N)
    for weight in (0.1, 50.0):
        plan = problem.solve([0.0], firm=weight**0.5)
        is_saddle = least_curvature(rest, weight) < 0.0
        assert is_saddle == (weight == 50.0)
        assert plan.success
        assert plan.is_minimum
        assert least_curvature(plan.torques[:, 0], weight) > 0.0
        assert plan.cost == pytest.approx(cost(plan.torques[:, 0], weight), rel=1e-9)
        assert plan.cost < cost(rest, weight) if is_saddle else plan.cost == pytest.approx(cost(rest, weight))
    nodes, W = problem.posed(Numbers(np.zeros((1, 1)), np.zeros((1, 1)), [np.array([50.0**0.5])]))
    alone = solve(nodes.select(0), first_iterate(nodes.select(0), W[0], 0.1), iterations=50)
    assert (alone.ending, alone.is_minimum) == (Ending.CONVERGED, False)


def swing_up(robot: ch.Robot, limit: float, goal: list[float], duration: float, nodes: int) -> OptimalControl:
    return OptimalControl(
        robot,
        duration=duration,
        nodes=nodes,
        running=[residuals.torque()],
        exact_end=[residuals.position(goal), residuals.velocity()],
        limits={"torque": limit, "position": None},
        integrator="semi-implicit-euler",
    )


def from_many_guesses(problem: OptimalControl, goal: list[float], count: int) -> list[Plan]:
    """Plans from the straight way and from ways with their middle moved aside."""
    rng, plans = np.random.default_rng(0), []
    times = np.linspace(0.0, problem.duration, 5)
    for k in range(count):
        ways = np.linspace(0.0, 1.0, 5)[:, None] * np.array(goal)
        ways[1:-1] += (k > 0) * 0.3 * rng.normal(size=2)
        plans.append(problem.solve([0.0, 0.0], guess=ch.CubicSpline(times, ways), iterations=1000))
    return plans


@pytest.mark.slow
def test_cart_pole_swings_up_from_all_guesses() -> None:
    plans = from_many_guesses(swing_up(cart_pole(), 10.0, [0.0, np.pi], 2.0, 100), [0.0, np.pi], 12)
    assert all(plan.success for plan in plans)
    for plan in plans:
        np.testing.assert_allclose(plan.states[-1], [0.0, np.pi, 0.0, 0.0], atol=1e-6)
        assert np.abs(plan.torques).max() < 10.0 + 1e-5
        assert np.abs(plan.states[:, 0]).max() < 2.0 + 1e-6


@pytest.mark.slow
def test_acrobot_swings_up_from_all_guesses() -> None:
    plans = from_many_guesses(swing_up(acrobot(), 10.0, [np.pi, 0.0], 4.0, 200), [np.pi, 0.0], 12)
    assert all(plan.success for plan in plans)
    for plan in plans:
        np.testing.assert_allclose(plan.states[-1], [np.pi, 0.0, 0.0, 0.0], atol=1e-6)
        assert (plan.torques[:, 0] == 0.0).all()


@pytest.mark.slow
def test_what_is_kept_bounds_the_motion() -> None:
    """A carriage goes around a disk: the shortest way is two tangents and an arc, and slack rows change nothing."""
    centre, radius = np.array([0.5, 0.05]), 0.2

    def outside(q: np.ndarray) -> np.ndarray:
        return ((q - centre) ** 2).sum() / radius**2 - 1.0

    options = {
        "duration": 1.0,
        "nodes": 160,
        "running": [residuals.velocity(), 1e-5 * residuals.torque()],
        "exact_end": [residuals.position("goal")],
        "limits": (),
    }
    start, goal = np.array([0.0, 0.0]), np.array([1.0, 0.0])
    far = np.array([np.linalg.norm(end - centre) for end in (start, goal)])
    between = np.arccos((start - centre) @ (goal - centre) / far.prod())
    length = np.sqrt(far**2 - radius**2).sum() + radius * (between - np.arccos(radius / far).sum())
    angle = np.arctan2(*centre[::-1]) - np.arcsin(radius / far[0])  # of the tangent below the disk
    velocity = length * np.array([np.cos(angle), np.sin(angle)])
    around = OptimalControl(gantry(), keep=[outside], **options)
    motion = around.solve(start, velocity, goal=goal, guess=ch.PointToPoint(start, goal - [0.0, 0.3], 1.0))
    assert motion.success
    assert min(outside(each) for each in motion.states[1:, :2]) > -1e-6
    # ½ ∫ |q̇|² over 1 s of a way of this length at constant speed; the last step is counted from its first node only.
    assert motion.cost == pytest.approx(0.5 * length**2, rel=0.01)
    free = OptimalControl(gantry(), **options).solve(start, goal=goal)
    slack = OptimalControl(gantry(), keep=[lambda q: outside(q) + 10.0], **options).solve(start, goal=goal)
    assert slack.cost == pytest.approx(free.cost, rel=1e-7)
    blocked = OptimalControl(gantry(), keep=[lambda q: -0.5 - q[:1]], **options).solve(start, goal=goal, iterations=200)
    assert not blocked.success
    assert "lement 0 of what is to be kept is" in str(blocked)
