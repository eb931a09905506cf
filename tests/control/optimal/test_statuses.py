"""What cannot be solved is said in a sentence; nothing that is wrong is called solved."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from tests.control.optimal.robots import gantry, pendulum

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.control.optimal import OptimalControl, PlanStatus, Residual, residuals
from chasles.control.optimal.certificate import certify
from chasles.control.optimal.numbers import Numbers
from chasles.engine import sign, sqrt
from chasles.model import Description, Inertia, Joint, Link

TORQUE = residuals.torque()
AT_GOAL = [residuals.position("goal"), residuals.velocity()]


def problem(**changes: Any) -> OptimalControl:
    options: dict[str, Any] = {"duration": 1.0, "nodes": 20, "running": [TORQUE], "exact_end": AT_GOAL}
    options["limits"] = {"torque": 10.0}
    return OptimalControl(changes.pop("robot", gantry()), **(options | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": 0}, "nodes must be a whole number from 1"),
        ({"duration": 0.0}, "duration is 0.0"),
        ({"duration": np.nan}, "duration"),
        ({"limits": "torque"}, "list of names"),
        ({"limits": ["power"]}, "there is no limit 'power'"),
        ({"limits": {"torque": -1.0}}, "the torque limit of joint 'joint1' is -1"),
        ({"limits": {"velocity": np.nan}}, "velocity"),
        ({"motors": ["elbow"]}, "there is no joint 'elbow'"),
        ({"motors": []}, "no motors"),
        ({"integrator": "rk5"}, "there is no integrator of optimal control 'rk5'"),
        ({"integrator": "rodas5p"}, "is linearised"),
        ({"integrator": "dormand-prince"}, "chooses its steps"),
        ({"running": TORQUE}, "put it in brackets"),
        ({"running": [lambda q, mass: q]}, r"there is no argument 'mass' .*Residual\(function, mass="),
        ({"robot": "panda"}, "a chasles.Robot or a chasles.Plant"),
        ({"running": [3.0]}, "a residual is a function"),
        ({"running": [Residual(lambda tau: tau, weight=[1.0, 2.0, 3.0])]}, r"weight \(3,\)"),
        ({"running": [Residual(lambda q, goal: q, goal=(3,))]}, "of shapes"),
        ({"running": [lambda q: sign(q)]}, "uses 'sign', which jumps"),
        ({"running": [Residual(lambda q, scale: q - scale, scale=())]}, "cannot be called 'scale'"),
        ({"final": [TORQUE]}, "no torque acts at the end"),
    ],
)
def test_what_is_no_problem(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ChaslesError, match=message):
        problem(**changes).solve([0.0, 0.0], goal=[0.1, 0.1])


@pytest.mark.slow
def test_friction_that_jumps_is_refused() -> None:
    rough = ch.load("planar2r").with_friction(coulomb=1.0)
    with pytest.raises(ArgumentError, match=r"friction of joint 'joint1' .* jumps at rest"):
        problem(robot=rough)
    smooth = ch.load("planar2r").with_friction(coulomb=1.0, coulomb_velocity=0.1)
    assert problem(robot=smooth, limits=()).solve([0.0, 0.0], goal=[0.1, 0.1]).success


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": [0.0]}, r"start has shape \(1,\)"),
        ({"start": [np.nan, 0.0]}, r"start\[0\] is nan"),
        ({"velocity": [np.inf, 0.0]}, "velocity"),
        ({"goal": None}, "give goal="),
        ({"goal": [0.0, np.nan]}, "goal"),
        ({"target": 1.0}, "there is no value 'target'"),
        ({"iterations": -1}, "iterations"),
        ({"guess": ch.PointToPoint([0.0], [1.0], duration=1.0)}, "one motion of 2 coordinates"),
        ({"start": np.zeros((3, 2)), "goal": np.zeros((2, 2))}, "do not broadcast"),
        ({"start": np.zeros((0, 2))}, "no problems"),
    ],
)
def test_what_is_no_call(arguments: dict[str, Any], message: str) -> None:
    values = {"start": [0.0, 0.0], "goal": [0.1, 0.1]} | arguments
    values = {name: value for name, value in values.items() if value is not None}
    with pytest.raises(ChaslesError, match=message):
        problem().solve(**values)


def test_limits_without_a_motion_are_named_with_their_units() -> None:
    plan = problem(limits={"torque": 10.0, "velocity": 0.1}).solve([0.0, 0.0], goal=[0.5, 0.0])
    assert plan.status is PlanStatus.IMPOSSIBLE
    assert not plan.success
    assert re.search(r"(velocity of joint 'joint1' exceeds its limit by \S+ m/s|exact ends)", str(plan))


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.1, 1e-3])
def test_ends_that_contradict_each_other_have_no_motion(apart: float) -> None:
    """Their multipliers cancel at any motion between them, however high the price."""
    both = [residuals.position("goal"), residuals.position("other"), residuals.velocity()]
    for robot in (gantry(), ch.load("planar2r")):
        for limits in ((), {"torque": 100.0}):
            plan = problem(robot=robot, exact_end=both, limits=limits).solve(
                [0.0, 0.0], goal=[0.3, 0.1], other=[0.3, 0.1 + apart]
            )
            # the tolerance of six rows, 1e-6 each, is clear of 0.1 only
            assert plan.status is (PlanStatus.IMPOSSIBLE if apart > 0.01 else PlanStatus.LOCALLY_INFEASIBLE)


def test_a_start_beyond_its_limits_that_cannot_brake() -> None:
    """At 3 m/s the bridge, M = 5 kg, needs 22.5 N to stop within 1 m."""
    plan = problem(limits={"torque": 10.0, "position": 1.0}, exact_end=[]).solve([0.0, 0.0], [3.0, 0.0])
    assert plan.status is PlanStatus.LOCALLY_INFEASIBLE
    assert "osition of joint 'joint1' exceeds its limit by" in str(plan)
    assert problem(limits={"torque": 30.0, "position": 1.0}, exact_end=[]).solve([0.0, 0.0], [3.0, 0.0]).success


def test_too_few_iterations_are_no_success() -> None:
    plan = problem().solve([0.0, 0.0], goal=[0.3, 0.0], iterations=1)
    assert plan.status in (PlanStatus.STOPPED, PlanStatus.FEASIBLE)
    assert plan.iterations == 1


def test_values_that_are_not_finite() -> None:
    plan = problem(running=[TORQUE, lambda q: sqrt(q - 1.0)]).solve([0.0, 0.0], goal=[0.3, 0.0])
    assert plan.status is PlanStatus.NOT_FINITE
    assert "A value is not finite at node 0." in str(plan)
    late = problem(running=[TORQUE, lambda t: sqrt(0.5 - t)]).solve([0.0, 0.0], goal=[0.3, 0.0])
    assert "not finite at node 11" in str(late)  # of 20, over 1 s


@pytest.mark.slow
def test_a_singular_mass_matrix_is_named_where_the_motion_begins() -> None:
    """A mass at the tip alone: straight, the arm's joints have no acceleration along it."""
    one_metre = np.eye(4)
    one_metre[0, 3] = 1.0
    links = Link("base"), Link("upper"), Link("lower", Inertia(1.0, [1.0, 0.0, 0.0]))
    joints = (
        Joint("shoulder", "revolute", "base", "upper", axis=[0.0, 0.0, 1.0]),
        Joint("elbow", "revolute", "upper", "lower", T_parent_joint=one_metre, axis=[0.0, 0.0, 1.0]),
    )
    arm = ch.Robot(Description("light", links=links, joints=joints))
    reach = OptimalControl(arm, duration=1.0, nodes=5, running=[TORQUE], exact_end=[residuals.position([0.5, 0.7])])
    straight = reach.solve([0.3, 0.0])
    assert straight.status is PlanStatus.NOT_FINITE
    assert [finding.rule.code for finding in straight.findings] == ["not-finite", "singular-mass-matrix"]
    assert reach.solve([0.3, 0.5]).success


def test_one_node_is_a_problem() -> None:
    """One force over one step can reach a position or a velocity: the position of least cost of both."""
    plan = problem(nodes=1, exact_end=[], final=[residuals.position("goal")], limits=()).solve(
        [0.0, 0.0], goal=[1.0, 0.0]
    )
    assert plan.success
    reach = 1.0 / (2.0 * 5.0)  # q = u h² / 2m, which minimises ½ u² + ½ (q - 1)²
    assert plan.torques[0, 0] == pytest.approx(reach / (1.0 + reach**2), rel=1e-8)


def test_the_certificate_refutes_what_is_not_optimal() -> None:
    control = problem()
    plan = control.solve([0.0, 0.0], goal=[0.3, 0.0])
    nodes, _ = control.posed(Numbers(np.zeros(2), np.zeros(2), [np.array([0.3, 0.0])]))
    W = np.zeros((21, 6))
    W[:-1, :2], W[:, 2:] = plan.torques, plan.states
    assert not certify(nodes, W, np.zeros(nodes.rows.count)).is_optimal  # without the ends' multipliers
    K = plan.gains
    assert not certify(nodes, W, np.zeros(nodes.rows.count), K).is_optimal
    W[:-1, 0] *= 1.01
    assert not certify(nodes, nodes.rolled_out(W), np.zeros(nodes.rows.count)).is_feasible


def test_a_long_motion_along_an_unstable_pose_is_known_to_be_optimal() -> None:
    """Of a pendulum that stands upright for 10 s, in which a rounding error grows by e³¹ if nothing holds it."""
    stands = OptimalControl(
        pendulum(),
        duration=10.0,
        nodes=200,
        running=[residuals.torque(), 1e-3 * residuals.velocity()],
        exact_end=AT_GOAL,
        limits={"torque": 3.0},
    )
    plan = stands.solve([np.pi], goal=[np.pi + 0.1])
    assert plan.success
    assert abs(plan.states[-1, 0] - np.pi - 0.1) < 1e-6


def test_an_interrupt_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    control = problem()
    monkeypatch.setattr("chasles.control.optimal.workspace.Workspace.run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        control.solve([0.0, 0.0], goal=[0.3, 0.0])


def test_bodies_that_pass_through_each_other_between_nodes_are_a_finding() -> None:
    """Nodes 0.1 m apart, and a thin post of which none comes near."""
    carriage = ch.distances.Body(gantry().frame_names[-1], radius=0.01, name="carriage")
    place = gantry().forward_kinematics([0.15, 0.0])[:3, 3]
    post = ch.distances.Body(None, place, radius=0.01, name="post")
    apart = ch.clearance(gantry(), bodies=[carriage], obstacles=[post])
    rough = problem(nodes=5, clearance=apart, margin=0.02)
    plan = rough.solve([0.0, 0.0], goal=[0.3, 0.0], guess=ch.PointToPoint([0.0, 0.0], [0.3, 0.0], duration=1.0))
    codes = [finding.rule.code for finding in plan.findings]
    assert plan.success
    assert codes == ["between-nodes"]
    assert "the distance of 'carriage' and 'post' falls to -20 mm" in str(plan)  # half way, both centres meet
    assert not problem(clearance=apart, margin=0.02).solve([0.0, 0.0], goal=[0.05, 0.0]).findings


@pytest.mark.slow
def test_a_motion_is_found_where_two_first_barriers_lead_to_none() -> None:
    """A fast turn back of an arm whose shoulder is weak; IPOPT finds a motion too, from some first motions."""
    arm, start, goal = ch.load("planar2r"), [-0.26669, -0.93691], [-0.84775, -1.17589]
    torque, velocity = np.array([6.4194, 20.4536]), np.array([10.6715, 56.287])
    small = [0.1 * residuals.position(), 0.1 * residuals.velocity()]
    running = [residuals.pose("pose"), *small, 0.1 * TORQUE]
    limits = {"torque": torque, "velocity": velocity}
    weak = problem(robot=arm, nodes=25, running=running, final=small, limits=limits)
    plan = weak.solve(start, goal=goal, pose=arm.forward_kinematics(goal))
    assert plan.success
    q, qd = np.array(start), np.zeros(2)
    for tau in plan.torques:  # leapfrog steps of 1/25 s
        half = q + 0.02 * qd
        qd = qd + 0.04 * np.asarray(arm.forward_dynamics(half, qd, tau))
        q = half + 0.02 * qd
        assert (np.abs(qd) <= velocity + 1e-5).all()
    assert (np.abs(plan.torques) <= torque + 1e-5).all()
    np.testing.assert_allclose(np.concatenate([q, qd]), [*goal, 0.0, 0.0], atol=1e-5)


def test_friction_too_stiff_for_the_steps_is_a_finding() -> None:
    """Friction of 0.2 N·m over 0.01 rad/s stops a wheel of 0.1 kg·m² at a rate of 0.2 / (0.01 · 0.1) = 200 1/s."""
    wheel = ch.Robot.from_dh([{"motor_inertia": 0.1}], check=False).with_friction(coulomb=0.2, coulomb_velocity=0.01)
    codes = []
    for nodes in (98, 102):  # 0.0102 s and 0.0098 s at a limit of 2 / 200 s
        problem = OptimalControl(wheel, duration=1.0, nodes=nodes, running=[residuals.torque()], limits=())
        codes.append([finding.rule.code for finding in problem.solve([0.0], iterations=0).findings])
    assert codes == [["stiff-friction"], []]
