"""Impossible is what no motion can do, by closed forms; what searches do not find is another status."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.control.optimal.robots import gantry

import chasles as ch
from chasles.control.optimal import OptimalControl, PlanStatus, residuals

FORCE, H = 10.0, 0.1
#: What 10 N brake of the bridge's 5 kg in a step of 0.1 s, m/s.
BRAKED = FORCE / 5.0 * H
AT_GOAL = [residuals.position("goal"), residuals.velocity()]


def crossing(**changes: Any) -> OptimalControl:
    options: dict[str, Any] = {"exact_end": AT_GOAL, "limits": {"torque": FORCE}, **changes}
    return OptimalControl(gantry(), duration=1.0, nodes=10, running=[residuals.torque()], **options)


def test_more_than_the_first_step_can_brake() -> None:
    limited = crossing(limits={"torque": FORCE, "velocity": 1.0}, exact_end=[])
    too_fast = limited.solve([0.0, 0.0], [1.5, 0.0])
    first = too_fast.findings[0]
    assert too_fast.status is PlanStatus.IMPOSSIBLE
    assert (first.rule.code, first.facts["joint"]) == ("impossible-first-step", "joint1")
    assert first.value == pytest.approx(1.5 - BRAKED - 1.0)
    assert limited.solve([0.0, 0.0], [0.999 + BRAKED, 0.0]).success


@pytest.mark.parametrize("end", [0.5, 0.1])
def test_farther_than_velocities_allow(end: float) -> None:
    """Over 1 s at 0.3 m/s: 0.5 m is too far whatever the force, 0.1 m is not."""
    plan = crossing(limits={"velocity": 0.3}).solve([0.0, 0.0], goal=[end, 0.0])
    assert plan.status is (PlanStatus.IMPOSSIBLE if end > 0.3 else PlanStatus.OPTIMAL)
    if end > 0.3:
        assert "Joint 'joint1' has 0.5 m to go, of which its velocity limit allows 0.3; allow more time" in str(plan)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"limits": {"position": 0.4}}, "position of joint 'joint1' exceeds its limit by 0.1 m at node 10"),
        ({"keep": [lambda q: 0.3 - q[0]]}, "element 0 of what is to be kept is 0.2 below 0 at node 10"),
    ],
)
def test_ends_outside_limits(options: dict[str, Any], sentence: str) -> None:
    plan = crossing(**options).solve([0.0, 0.0], goal=[0.5, 0.0])
    assert plan.status is PlanStatus.IMPOSSIBLE
    assert f"The exact ends allow no other state than one where {sentence}" in str(plan)


def test_ends_that_contradict_each_other() -> None:
    both = [residuals.position("goal"), residuals.position("other")]
    plan = crossing(exact_end=both).solve([0.0, 0.0], goal=[0.5, 0.0], other=[0.3, 0.0])
    (code, *_) = [finding.rule.code for finding in plan.findings]
    assert (plan.status, code) == (PlanStatus.IMPOSSIBLE, "impossible-ends")


@pytest.mark.parametrize("free", [lambda q: q[0] ** 2 - 0.25, lambda q: 1e-6 * (q - 0.5)])
def test_ends_that_leave_a_choice_prove_nothing(free: Any) -> None:
    """Of two places, or of all that the tolerance of a small residual allows, one is within the limits."""
    plan = crossing(exact_end=[free], keep=[lambda q: 0.3 - q[0]]).solve([0.0, 0.0])
    assert plan.status is not PlanStatus.IMPOSSIBLE


def test_what_no_force_reaches_is_not_proven() -> None:
    """The longest way of 1 s is F T² / 4 m, 0.5 m; proofs know of velocities and of the first step only."""
    plan = crossing().solve([0.0, 0.0], goal=[0.6, 0.0])
    assert plan.status is PlanStatus.LOCALLY_INFEASIBLE
    assert "says nothing of motions far from it" in str(plan)


@pytest.mark.slow
def test_a_detour_finds_what_searches_from_the_start_do_not() -> None:
    """The tip of an arm has to pass a ball of 0.1 m; IPOPT finds a motion from some first motions, from rest none."""
    arm, start, goal = ch.load("planar2r"), [1.156044, 0.069795], [1.6635, 0.106093]
    ball = np.array([0.163982, 0.815959, 0.0])
    torque, velocity = np.array([62.036287, 7.524479]), np.array([1.282485, 4.018075])
    small = [0.1 * residuals.position(), 0.1 * residuals.velocity()]

    def clear(robot: ch.Robot, q: Any) -> Any:
        places = [robot.forward_kinematics(q, target=frame)[:3, 3] - ball for frame in ("tool", "link1")]
        return np.array([(p @ p - 0.01) / 0.02 for p in places])

    problem = OptimalControl(
        arm,
        duration=1.0,
        nodes=25,
        running=[residuals.pose("pose"), *small, 0.1 * residuals.torque()],
        final=small,
        exact_end=AT_GOAL,
        keep=[clear],
        limits={"torque": torque, "velocity": velocity, "position": None},
    )
    plan = problem.solve(start, goal=goal, pose=arm.forward_kinematics(goal))
    assert plan.success
    q, qd = np.array(start), np.zeros(2)
    for tau in plan.torques:  # leapfrog steps of 1/25 s
        half = q + 0.02 * qd
        qd = qd + 0.04 * np.asarray(arm.forward_dynamics(half, qd, tau))
        q = half + 0.02 * qd
        tips = (arm.forward_kinematics(q, target=frame)[:3, 3] for frame in ("tool", "link1"))
        assert min(np.linalg.norm(tip - ball) for tip in tips) > 0.1 - 1e-5
        assert (np.abs(qd) <= velocity + 1e-5).all()
    assert (np.abs(plan.torques) <= torque + 1e-5).all()
    np.testing.assert_allclose(np.concatenate([q, qd]), [*goal, 0.0, 0.0], atol=1e-5)
