"""Motions whose start is free: closed forms, dense solutions by other programs, and a walk of mirrored steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ellipk
from tests.control.optimal.robots import biped, gantry, hanging_body, pendulum

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import PhasedContact, Residual, residuals
from chasles.engine import cos

GRAVITY = 9.81


def test_a_pendulum_that_swings_without_torque_has_its_period() -> None:
    """T = 4 K(sin² θ/2) / √g; the steps' error falls with their square, so that two of them give the limit."""
    amplitude = 0.8
    durations = []
    for nodes in (20, 40):
        swing = ch.OptimalControl(
            pendulum(),
            duration=(1.5, 3.0),
            nodes=nodes,
            running=[residuals.torque()],
            exact_end=[residuals.periodic(), residuals.at_start(lambda q, qd: np.concatenate([q - amplitude, qd]))],
            limits=(),
        )
        plan = swing.solve([0.1])
        assert plan.success
        np.testing.assert_allclose(plan.torques, 0.0, atol=1e-7)
        np.testing.assert_allclose(plan.states[[0, -1]], [[amplitude, 0.0]] * 2, atol=1e-6)
        durations.append(plan.duration)
    exact = 4.0 * ellipk(np.sin(0.5 * amplitude) ** 2) / np.sqrt(GRAVITY)
    assert durations[1] == pytest.approx(exact, rel=5e-3)
    assert (4.0 * durations[1] - durations[0]) / 3.0 == pytest.approx(exact, rel=2e-5)


def test_a_driven_pendulum_has_the_periodic_motion_of_a_dense_solution() -> None:
    """SciPy's SLSQP on torques and the start, with a limit of torque that holds, and the motion by its own steps."""
    nodes, duration, most, weight = 10, 1.6, 0.8, 0.1
    h = duration / nodes

    def motion(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd = v[nodes:]
        states = [(q, qd)]
        for tau in v[:nodes]:
            q = q + 0.5 * h * qd
            qd = qd + h * (tau - GRAVITY * np.sin(q))
            q = q + 0.5 * h * qd
            states.append((q, qd))
        return np.array(states).T

    wanted = 0.8 * np.cos(2.0 * np.pi * np.arange(nodes) / nodes)

    def cost(v: np.ndarray) -> float:
        return float(0.5 * h * (weight * v[:nodes] @ v[:nodes] + np.sum((motion(v)[0][:-1] - wanted) ** 2)))

    dense = minimize(
        cost,
        np.zeros(nodes + 2),
        method="SLSQP",
        bounds=[(-most, most)] * nodes + [(None, None)] * 2,
        constraints={"type": "eq", "fun": lambda v: motion(v)[:, -1] - v[nodes:]},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    driven = ch.OptimalControl(
        pendulum(),
        duration=duration,
        nodes=nodes,
        running=[weight * residuals.torque(), Residual(lambda q, t: q[0] - 0.8 * cos(2.0 * np.pi / duration * t))],
        exact_end=[residuals.periodic()],
        limits={"torque": most},
    )
    plan = driven.solve([0.3])
    assert plan.success
    assert plan.torques.max() == pytest.approx(most, rel=1e-5)
    assert plan.cost == pytest.approx(dense.fun, rel=1e-7)
    np.testing.assert_allclose(plan.states.T, motion(dense.x), atol=2e-4)
    np.testing.assert_allclose(plan.states[0], plan.states[-1], atol=1e-6)
    half = ch.OptimalControl(
        pendulum(),
        duration=0.5 * duration,
        nodes=nodes // 2,
        running=driven.running,
        exact_end=[residuals.periodic(lambda q, qd: (-q, -qd))],
        limits={"torque": most},
    )
    mirrored = half.solve([0.0])  # the second half of the motion is the first one mirrored
    assert mirrored.success
    assert 2.0 * mirrored.cost == pytest.approx(dense.fun, rel=1e-6)


def test_the_start_that_is_best_within_limits() -> None:
    """A reach from rest is the cheaper the nearer it begins: at the limit. Cost ½ ∫ τ² = 6 m² d² / T³ of d metres."""
    limit, goal, duration, nodes = 0.5, 1.2, 2.0, 40
    reach = ch.OptimalControl(
        gantry(),
        duration=duration,
        nodes=nodes,
        running=[residuals.torque()],
        exact_end=[
            lambda q, qd: np.concatenate([q - np.array([goal, 0.1]), qd]),
            residuals.at_start(residuals.velocity()),
            residuals.at_start(lambda q: q[1:] - 0.1),
        ],
        keep=[lambda q, t: (limit - q[:1]) + 10.0 * t],
        limits=(),
    )
    plan = reach.solve([0.0, 0.0])
    assert plan.success
    np.testing.assert_allclose(plan.states[0], [limit, 0.1, 0.0, 0.0], atol=1e-5)
    least = 6.0 * (5.0 * (goal - limit)) ** 2 / duration**3
    assert plan.cost == pytest.approx(least / (1.0 - 1.0 / nodes**2), rel=1e-5)  # torques are held over the steps


def test_where_nothing_tells_the_start_it_stays() -> None:
    """A carriage that is to move to and fro costs the same anywhere."""
    to_and_fro = ch.OptimalControl(
        gantry(),
        duration=2.0,
        nodes=20,
        running=[0.1 * residuals.torque(), Residual(lambda qd, t: qd[0] - cos(np.pi * t))],
        exact_end=[residuals.periodic()],
        limits=(),
    )
    plan = to_and_fro.solve([0.3, 0.1])
    assert plan.success
    np.testing.assert_allclose(plan.states[0, :2], [0.3, 0.1], atol=1e-5)


def test_where_there_is_no_periodic_motion_the_status_says_so() -> None:
    advance = np.array([9.0, 0.0])
    too_far = ch.OptimalControl(
        gantry(),
        duration=1.0,
        nodes=10,
        running=[residuals.torque()],
        exact_end=[residuals.periodic(lambda q, qd: (q + advance, qd))],
        limits={"velocity": 1.0},
    )
    plan = too_far.solve([0.3, 0.1])
    assert plan.status == "locally infeasible"
    assert plan.findings[0].rule.code == "exact-end"
    assert plan.findings[0].value == pytest.approx(8.0, abs=1e-3)


@pytest.mark.slow
def test_a_body_on_a_ball_swings_round() -> None:
    """The periodic motion costs less than those from starts beside it, each to where it began."""
    body = hanging_body("spherical")
    swing = ch.OptimalControl(
        body,
        duration=1.0,
        nodes=20,
        running=[residuals.torque(), Residual(lambda qd, t: qd[0] - 2.0 * cos(2.0 * np.pi * t))],
        exact_end=[residuals.periodic()],
        limits=(),
    )
    plan = swing.solve(body.home)
    assert plan.success
    first, last = plan.states[0], plan.states[-1]
    np.testing.assert_allclose(body.difference(first[:4], last[:4]), 0.0, atol=1e-6)
    np.testing.assert_allclose(first[4:], last[4:], atol=1e-6)
    from_there = ch.OptimalControl(
        body,
        duration=1.0,
        nodes=20,
        running=swing.running,
        exact_end=[residuals.position("aim"), residuals.velocity("speed")],
        limits=(),
    )
    rng = np.random.default_rng(3)
    moves = np.concatenate([np.zeros((1, 6)), 0.02 * rng.normal(size=(6, 6))])
    starts, speeds = body.integrate(first[:4], moves[:, :3]), first[4:] + moves[:, 3:]
    others = from_there.solve(starts, speeds, aim=starts, speed=speeds)
    assert others.success.all()
    assert others.cost[0] == pytest.approx(plan.cost, rel=1e-6)
    assert (others.cost[1:] > plan.cost).all()


@pytest.mark.slow
def test_a_biped_walks_in_mirrored_steps() -> None:
    """The next step begins as this one, with left and right exchanged; it costs less than steps from rest to rest."""
    robot, nodes, step, height = biped(), 20, 0.3, 0.74
    advance = step * np.eye(7)[0]
    other_side = [0, 1, 2, 5, 6, 3, 4]
    start = np.array([-0.15, height, 0.0, *_legs([-0.15, height], 0.0, -step)])
    feet = [
        PhasedContact("left_foot", phases=[(0, nodes)], footholds=[[0.0, 0.0, 0.0]]),
        PhasedContact("right_foot", phases=[(0, 3), (17, nodes)], footholds=[[-step, 0.0, 0.0], [step, 0.0, 0.0]]),
    ]
    trunk = np.tile(np.arange(7) < 3, 2).astype(float)  # where both feet stand, the legs follow from it

    def walk(*ends: Any) -> ch.OptimalControl:
        return ch.OptimalControl(
            robot,
            duration=0.6,
            nodes=nodes,
            running=[residuals.torque(), 10.0 * residuals.velocity()],
            exact_end=ends,
            keep=[*feet, lambda q: np.concatenate([q[[4, 6]] - 0.02, 1.2 - q[[4, 6]], 0.3 - q[2:3], 0.3 + q[2:3]])],
            limits={"torque": 100.0},
        )

    gait = walk(trunk * residuals.periodic(lambda q, qd: (q[other_side] + advance, qd[other_side]))).solve(start)
    assert gait.success
    first, last = gait.states[0], gait.states[-1]
    mirrored = np.concatenate([first[other_side] + advance, first[7:][other_side]])
    np.testing.assert_allclose(last[[0, 1, 2, 7, 8, 9]], mirrored[[0, 1, 2, 7, 8, 9]], atol=1e-6)
    np.testing.assert_allclose(last, mirrored, atol=0.05)
    assert first[7] > 0.1  # it is on its way
    from_rest = walk(lambda q: q[:3] - (start + advance)[:3], lambda qd: qd[:3]).solve(start)
    assert from_rest.success
    assert gait.cost < 0.5 * from_rest.cost


def _legs(hip: list[float], left: float, right: float) -> list[float]:
    """Angles of hips and knees with feet at these places on the ground, knees forward."""
    angles: list[float] = []
    for foot in (left, right):
        away, down = foot - hip[0], hip[1]
        knee = 2.0 * np.arccos(np.hypot(away, down) / 0.8)
        angles += [np.arctan2(-away, down) - 0.5 * knee, knee]
    return angles


def test_what_a_free_start_cannot_have_is_refused() -> None:
    with pytest.raises(ArgumentError, match="depends on torques"):
        residuals.at_start(residuals.torque())
    with pytest.raises(ArgumentError, match="or the residuals of the first state"):
        ch.OptimalControl(
            gantry(),
            duration=1.0,
            nodes=5,
            running=[residuals.torque_rate()],
            exact_end=[residuals.periodic()],
        )
    to_and_fro = ch.OptimalControl(
        gantry(), duration=1.0, nodes=5, running=[residuals.torque()], exact_end=[residuals.periodic()]
    )
    with pytest.raises(ArgumentError, match="start is free"):
        ch.ModelPredictive(to_and_fro)
