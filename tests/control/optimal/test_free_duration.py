"""Motions whose duration is free: least times in closed form, and the fixed duration that costs least."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.control.optimal.robots import cart_pole, gantry

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import OptimalControl, Residual, residuals
from chasles.engine import sqrt
from chasles.model import Description, Inertia, Link

INERTIA, FORCE = 5.0, 10.0  # of the gantry's bridge
REST_AT_GOAL = [residuals.position("goal"), residuals.velocity()]


def fastest(nodes: int, duration: tuple[float, float] = (0.2, 6.0), **limits: float) -> OptimalControl:
    return OptimalControl(
        gantry(),
        duration=duration,
        nodes=nodes,
        running=[residuals.time()],
        exact_end=REST_AT_GOAL,
        limits={"torque": FORCE, **limits},
    )


@pytest.mark.parametrize("nodes", [10, 11])
def test_the_least_time_under_a_force_limit(nodes: int) -> None:
    """Full force forward, then backward: T = 2 √(m d / F). With an odd N one step is idle: d = F h² (N² - 1) / 4m."""
    problem, idle = fastest(nodes), nodes % 2
    for distance in (0.05, 0.7, 3.0):
        plan = problem.solve([0.0, 0.0], goal=[distance, 0.01])
        least = 2.0 * np.sqrt(INERTIA * distance / FORCE) * nodes / np.sqrt(nodes**2 - idle)
        assert plan.success
        assert plan.duration == pytest.approx(least, rel=1e-7)
        assert plan.cost == pytest.approx(plan.duration, rel=1e-12)
        half = nodes // 2
        expected = FORCE * np.r_[np.ones(half), np.zeros(idle), -np.ones(half)]
        np.testing.assert_allclose(plan.torques[:, 0], expected, atol=1e-4)
        np.testing.assert_allclose(plan(plan.duration).q, [distance, 0.01], atol=1e-6)


def test_the_least_time_under_limits_of_force_and_velocity_is_a_trapezoid() -> None:
    """T = d / v + v m / F; with steps of 1/33 s that divide ramps and cruise the same also on nodes."""
    distance, v = 1.0, 0.8
    least = distance / v + v * INERTIA / FORCE
    plan = fastest(33, velocity=v).solve([0.0, 0.0], goal=[distance, 0.0])
    assert plan.success
    assert plan.duration == pytest.approx(least, rel=1e-7)
    coarse = fastest(20, velocity=v).solve([0.0, 0.0], goal=[distance, 0.0])
    assert least <= coarse.duration * (1.0 + 1e-7) < least * 1.01


def test_each_problem_of_a_batch_has_its_own_duration() -> None:
    """T = 2 √(m d / F) for each distance d, over the leading axes of goals; each plan ends at its goal and stays."""
    distances = np.array([[0.05, 0.7, 3.0], [0.2, 0.4, 1.0]])
    goals = np.stack([distances, np.full_like(distances, 0.01)], axis=-1)
    plans = fastest(10).solve([0.0, 0.0], goal=goals)
    assert plans.success.all()
    np.testing.assert_allclose(plans.duration, 2.0 * np.sqrt(INERTIA * distances / FORCE), rtol=1e-7)
    np.testing.assert_allclose(plans.cost, plans.duration, rtol=1e-12)
    assert plans.knots.shape == (2, 3, 11)
    np.testing.assert_allclose(plans(plans.duration).q, goals, atol=1e-6)
    np.testing.assert_allclose(plans(0.5 * plans.duration).q[..., 0], 0.5 * distances, atol=1e-6)
    late = plans(10.0)
    np.testing.assert_allclose(late.q, goals, atol=1e-6)
    np.testing.assert_array_equal(late.qd, 0.0)
    assert repr(plans).startswith("<Plan of 2 joints over 0.31")
    alone = fastest(10).solve([0.0, 0.0], goal=goals[1, 2])
    assert plans.torques[1, 2].tobytes() == alone.torques.tobytes()
    peaks = np.sqrt(FORCE / INERTIA * distances)  # halfway, after √(m d / F)
    report = plans.check(gantry(), velocity=[float(np.median(peaks)), 1.0], acceleration=np.inf, torque=np.inf)
    np.testing.assert_array_equal(report.passed, peaks < np.median(peaks))


@pytest.mark.slow
def test_batches_of_free_bodies_of_free_duration() -> None:
    """A body with a thruster and a torque about one axis: the rotation by an angle takes 2 √(I θ / τ) at least."""
    hull = Inertia(2.0, [0.0, 0.0, 0.0], np.diag([0.3, 0.4, 0.5]))
    body = ch.Robot(Description("hull", gravity=[0.0, 0.0, 0.0], links=(Link("hull", hull),))).with_free_base()
    names = body.velocity_names
    problem = OptimalControl(
        body,
        duration=(0.1, 5.0),
        nodes=10,
        running=[residuals.time()],
        exact_end=[REST_AT_GOAL[0], residuals.velocity()],
        limits={"torque": 2.0},
        motors=[names[2]],
    )
    angles = np.array([0.2, 1.0])
    goals = body.integrate(body.home, angles[:, None] * np.eye(6)[2])
    plans = problem.solve(body.home, goal=goals)
    assert plans.success.all()
    np.testing.assert_allclose(plans.duration, 2.0 * np.sqrt(0.5 * angles / 2.0), rtol=1e-6)
    halfway = plans(0.5 * plans.duration)
    np.testing.assert_allclose(body.difference(body.home, halfway.q)[:, 2], 0.5 * angles, atol=1e-6)
    np.testing.assert_allclose(plans(plans.duration).q, goals, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["leapfrog", "semi-implicit-euler"])
def test_no_fixed_duration_nearby_costs_less(integrator: str) -> None:
    """Costs and ends that depend on time among them."""
    options: dict[str, Any] = {
        "nodes": 20,
        "running": [
            1e-4 * residuals.torque(),
            residuals.velocity(),
            2.0 * residuals.time(),
            Residual(lambda q, t: q[0] - 0.5 * t),
        ],
        "final": [Residual(lambda qd, t: qd[0] - t)],
        "exact_end": [residuals.position("goal")],
        "limits": {"torque": [120.0, 60.0]},
        "integrator": integrator,
    }
    arm, goal = ch.load("planar2r"), np.array([1.5, 0.5])
    free = OptimalControl(arm, duration=(0.1, 5.0), **options)
    plan = free.solve([0.0, 0.0], goal=goal)
    assert plan.success
    costs = []
    for share in (0.99, 1.0, 1.01):
        problem = OptimalControl(arm, duration=share * plan.duration, **options)
        fixed = problem.solve([0.0, 0.0], goal=goal, guess=plan)
        assert fixed.success
        costs.append(fixed.cost)
    assert costs[1] == pytest.approx(plan.cost, rel=1e-8)
    slope, bend = 0.5 * (costs[2] - costs[0]), costs[2] - 2.0 * costs[1] + costs[0]
    assert bend > 0.0
    assert abs(slope) < 0.02 * bend


@pytest.mark.slow
def test_a_free_path_is_faster_than_a_given_one() -> None:
    arm, goal, limits = ch.load("planar2r"), np.array([1.5, 0.5]), {"torque": np.array([120.0, 60.0]), "velocity": 4.0}
    along = ch.time_optimal(arm, ch.PointToPoint([0.0, 0.0], goal, duration=1.0), points=200, **limits)
    problem = OptimalControl(
        arm, duration=(0.1, 5.0), nodes=40, running=[residuals.time()], exact_end=REST_AT_GOAL, limits=limits
    )
    plan = problem.solve([0.0, 0.0], goal=goal)
    assert plan.success
    assert plan.duration < along.duration


def test_limits_of_the_duration_hold() -> None:
    """Least effort takes the longest duration; too short a longest one has no motion."""
    gentle = OptimalControl(
        gantry(), duration=(0.5, 2.5), nodes=10, running=[residuals.torque()], exact_end=REST_AT_GOAL, limits=()
    )
    slow = gentle.solve([0.0, 0.0], goal=[1.0, 0.2])
    assert slow.success
    assert slow.duration == pytest.approx(2.5, rel=1e-6)
    shortest = fastest(10, duration=(3.0, 4.0)).solve([0.0, 0.0], goal=[0.1, 0.0])
    assert shortest.success
    assert shortest.duration == pytest.approx(3.0, rel=1e-6)
    hurried = fastest(10, duration=(0.1, 0.9 * 2.0 * np.sqrt(INERTIA / FORCE))).solve([0.0, 0.0], goal=[1.0, 0.0])
    assert hurried.status == "locally infeasible"
    assert {finding.rule.code for finding in hurried.findings} == {"exact-end"}


@pytest.mark.slow
def test_a_swing_up_in_least_time() -> None:
    """Of two joints with one motor: the force is at its limit most of the time; 3 % less has no motion nearby."""
    robot, upright = cart_pole(), np.array([0.0, np.pi])

    def swing_up(duration: float | tuple[float, float]) -> OptimalControl:
        return OptimalControl(
            robot,
            duration=duration,
            nodes=40,
            running=[residuals.time()],
            exact_end=[residuals.position(upright), residuals.velocity()],
            limits={"torque": 20.0, "position": None},
        )

    plan = swing_up((0.5, 5.0)).solve([0.0, 0.0], guess=ch.PointToPoint([0.0, 0.0], upright, duration=2.0))
    assert plan.success
    assert plan.gains.shape == (40, 2, 4)
    assert np.mean(np.abs(plan.torques[:, 0]) > 0.999 * 20.0) > 0.5
    assert swing_up(0.97 * plan.duration).solve([0.0, 0.0], guess=plan).status == "locally infeasible"


@pytest.mark.parametrize("duration", [(2.0, 1.0), (1.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), (1.0, np.inf)])
def test_durations_that_are_none_are_refused(duration: tuple[float, float]) -> None:
    with pytest.raises(ArgumentError, match="duration"):
        fastest(10, duration=duration)


def test_what_a_free_duration_cannot_have_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"no cost depends on it; add one to running, such as residuals\.time"):
        OptimalControl(gantry(), duration=(1.0, 2.0), nodes=5, final=[residuals.velocity()])
    with pytest.raises(ArgumentError, match="guess"):
        fastest(5).solve([0.0, 0.0], goal=[1.0, 0.0], guess=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="free"):
        ch.ModelPredictive(fastest(5), goal=[1.0, 0.0])
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.0], duration=1.0)
    follows = OptimalControl(gantry(), duration=(1.0, 2.0), nodes=5, running=[residuals.position("reference")])
    with pytest.raises(ArgumentError, match="follow a motion"):
        follows.solve([0.0, 0.0], reference=motion)


def test_values_that_are_not_finite_are_said_so() -> None:
    broken = OptimalControl(gantry(), duration=(1.0, 2.0), nodes=5, running=[Residual(lambda q: sqrt(q[0] - 1.0))])
    assert broken.solve([0.0, 0.0]).status == "not finite"
