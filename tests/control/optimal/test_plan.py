"""A plan is a motion that can be checked, plotted and followed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.optimal.robots import acrobot, gantry

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import TimeVaryingRegulator
from chasles.control.optimal import OptimalControl, PlanFollowing, Residual, residuals
from chasles.engine import sqrt, threads


def planar_reach(nodes: int = 50) -> OptimalControl:
    return OptimalControl(
        ch.load("planar2r"),
        duration=1.0,
        nodes=nodes,
        running=[residuals.torque(), 100.0 * residuals.velocity()],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits={"torque": 150.0},
    )


def test_the_motion_passes_through_the_nodes() -> None:
    plan = planar_reach().solve([0.0, 0.0], goal=[1.0, 0.5])
    motion = plan(plan.knots)
    np.testing.assert_allclose(motion.q, plan.states[:, :2], atol=1e-12)
    np.testing.assert_allclose(motion.qd[:-1], plan.states[:-1, 2:], atol=1e-12)
    middle = plan(plan.knots[:-1] + 0.01)
    needed = ch.load("planar2r").inverse_dynamics(*middle)
    assert np.abs(needed - plan.torques).max() < 0.02 * np.abs(plan.torques).max()


def test_it_is_checked_and_plotted() -> None:
    arm = ch.load("planar2r")
    plan = planar_reach().solve([0.0, 0.0], goal=[1.0, 0.5])
    assert "no limits" in str(ch.check(arm, plan))
    assert plan.plot(arm).data
    assert plan.to_dataset(0.01).sizes["time"] == 101


@pytest.mark.parametrize("law", ["plan", "time-varying", "computed-torque"])
def test_laws_follow_it(law: str) -> None:
    arm = ch.load("planar2r")
    plan = planar_reach(200).solve([0.0, 0.0], goal=[1.0, 0.5])
    controller = {
        "plan": lambda: PlanFollowing(arm, plan),
        "time-varying": lambda: TimeVaryingRegulator(arm),
        "computed-torque": lambda: ch.ComputedTorque(arm, kp=400.0, kd=40.0),
    }[law]()
    run = ch.simulate(arm, controller, plan, period=0.005)
    assert float(abs(run.error).max()) < 5e-3


@pytest.mark.slow
def test_its_regulator_swings_up_an_acrobot_that_is_heavier_than_planned() -> None:
    """With fewer motors than joints only the plan's own regulator can follow; its torques alone do not."""
    robot = acrobot()
    control = OptimalControl(
        robot,
        duration=4.0,
        nodes=400,
        running=[residuals.torque(), 3.0 * residuals.velocity()],  # slow enough for torques that are held for 10 ms
        final=[100.0 * residuals.position([np.pi, 0.0]), 10.0 * residuals.velocity()],
        limits={"torque": 15.0},
    )
    plan = control.solve([0.0, 0.0], guess=ch.PointToPoint([0.0, 0.0], [np.pi, 0.0], 4.0))
    assert plan.success
    run = ch.simulate(robot.with_values({"links.link2.mass": 1.01}), PlanFollowing(robot, plan), plan, period=0.01)
    assert float(abs(run.error).max()) < 0.3


def test_a_batch_is_its_problems_one_by_one() -> None:
    goals = np.array([[[1.0, 0.5], [0.2, -0.4]], [[0.5, 0.1], [-0.3, 0.6]]])
    reach = planar_reach(20)
    plans = reach.solve([0.0, 0.0], goal=goals)
    assert plans.batch == (2, 2)
    assert plans.states.shape == (2, 2, 21, 4)
    assert plans.gains.shape == (2, 2, 20, 2, 4)
    assert plans.success.all()
    for index in np.ndindex(2, 2):
        alone = reach.solve([0.0, 0.0], goal=goals[index])
        assert plans.cost[index] == alone.cost
        np.testing.assert_array_equal(plans.torques[index], alone.torques)
    np.testing.assert_allclose(plans(1.0).q, goals, atol=1e-7)
    assert "4 optimal" in str(plans)
    with pytest.raises(ArgumentError, match="a law follows one"):
        PlanFollowing(ch.load("planar2r"), plans)


@pytest.mark.parametrize("count", [1, 2])
def test_problems_of_a_batch_end_each_on_their_own(count: int) -> None:
    """Goals within the limits, one beyond, one not finite; by one thread and by two."""
    problem = OptimalControl(
        gantry(),
        duration=1.0,
        nodes=15,
        running=[residuals.torque(), Residual(lambda q, a: 0.1 * sqrt(a) * q, a=())],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits={"torque": 20.0, "velocity": 1.0},
    )
    goals = np.array([[0.1, 0.1], [2.0, 0.0], [0.3, 0.2], [0.5, -0.4], [-0.2, 0.3]])
    shares = np.array([1.0, 1.0, -1.0, 1.0, 1.0])
    with threads(count):
        plans = problem.solve([0.0, 0.0], goal=goals, a=shares)
    alone = [problem.solve([0.0, 0.0], goal=goal, a=a) for goal, a in zip(goals, shares, strict=True)]
    expected = ["optimal", "impossible", "not finite", "optimal", "optimal"]
    assert plans.status.tolist() == [plan.status for plan in alone] == expected
    assert plans.iterations.tolist() == [plan.iterations for plan in alone]
    np.testing.assert_array_equal(plans.states[3:], [plan.states for plan in alone[3:]])
    assert len(set(plans.iterations.tolist())) > 2


@pytest.mark.slow
def test_scaling_all_costs_changes_nothing() -> None:
    """Price and barrier are relative: units of the cost are free."""
    plans = []
    for scale in (4.0**-10, 1.0, 4.0**10):  # whose roots are powers of two: rounding is the same
        reach = OptimalControl(
            ch.load("planar2r"),
            duration=1.0,
            nodes=20,
            running=[scale * residuals.torque()],
            exact_end=[residuals.position([1.0, 0.5]), residuals.velocity()],
            limits={"torque": [100.0, 20.0]},
        )
        plans.append(reach.solve([0.0, 0.0]))
    assert all(plan.success for plan in plans)
    for plan in plans:
        np.testing.assert_allclose(plan.torques, plans[1].torques, atol=1e-5)


def test_a_law_of_another_robot_is_refused() -> None:
    plan = planar_reach(5).solve([0.0, 0.0], goal=[0.1, 0.1])
    with pytest.raises(ArgumentError, match="plan is of 2 coordinates"):
        PlanFollowing(ch.load("panda"), plan)
    assert PlanFollowing(gantry(), plan).plan is plan


def test_costs_follow_a_reference() -> None:
    """The torques that a motion needs cost nothing if it is the reference, so that the motion itself is the optimum."""
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.2, -0.1], [1.0, 0.5], duration=1.0)
    following = [residuals.position("reference"), residuals.velocity("reference"), residuals.torque("reference")]
    problem = OptimalControl(
        arm, duration=1.0, nodes=50, running=[1e3 * following[0], *following[1:]], final=[residuals.pose("reference")]
    )
    plan = problem.solve([0.2, -0.1], reference=motion)
    assert plan.success
    assert np.abs(plan.states[:, :2] - motion(plan.knots).q).max() < 2e-3  # torques are held over 20 ms
    with pytest.raises(ArgumentError, match="the residuals follow a motion; give reference="):
        problem.solve([0.2, -0.1])
    with pytest.raises(ArgumentError, match="reference must be one motion of 2 coordinates"):
        problem.solve([0.2, -0.1], reference=ch.PointToPoint([0.0], [1.0], duration=1.0))
    with pytest.raises(ArgumentError, match="no residual follows the reference"):
        planar_reach(5).solve([0.0, 0.0], reference=motion, goal=[1.0, 0.0])
