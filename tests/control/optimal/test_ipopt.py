"""The same problems solved by IPOPT, whose derivatives are CasADi's."""

from __future__ import annotations

from typing import Any

import casadi
import numpy as np
import pytest
from tests.control.optimal.robots import cart_pole
from tests.oracles.ipopt_motions import IpoptProblem, Motion

import chasles as ch
from chasles.control.optimal import OptimalControl, Plan, residuals
from chasles.control.optimal.numbers import Numbers
from chasles.distances import Body

pytestmark = pytest.mark.slow


def both(problem: OptimalControl, peer: IpoptProblem, start: np.ndarray, **values: np.ndarray) -> tuple[Plan, Motion]:
    """Solve from the same first motion by both."""
    plan = problem.solve(start, **values)
    given = [values[name] for name in problem.values]
    nodes, W = problem.posed(Numbers(start, 0.0 * start, given))
    return plan, peer.solve(nodes.x0, W, given)


@pytest.mark.parametrize("kind", ["exact ends", "costs", "obstacle"])
def test_drawn_reaches(kind: str) -> None:
    """Where IPOPT finds a motion so do we, and the costs agree unless the optima are different ones."""
    arm = ch.load("planar2r")
    options: dict[str, Any] = {"exact_end": [residuals.position("goal"), residuals.velocity()]}
    if kind == "costs":
        options = {"final": [1e4 * residuals.pose("pose"), 10.0 * residuals.velocity()]}
    if kind == "obstacle":
        rod = Body("link2", end=[-0.25, 0.0, 0.0], radius=0.03)
        options["clearance"] = ch.clearance(arm, bodies=[rod], obstacles=[Body(None, [0.45, 0.3, 0.0], radius=0.05)])
    problem = OptimalControl(
        arm,
        duration=1.0,
        nodes=30,
        running=[residuals.torque(), 10.0 * residuals.velocity()],
        limits={"torque": [100.0, 25.0], "velocity": 4.0},
        **options,
    )
    peer, rng = IpoptProblem(problem), np.random.default_rng(7)
    same = solved = 0
    for _ in range(15):
        q = rng.uniform([-1.0, -1.5], [1.0, 1.5])
        goal = q + rng.normal(size=2)
        values = {"pose": arm.forward_kinematics(goal)} if kind == "costs" else {"goal": goal}
        plan, other = both(problem, peer, q, **values)
        if not other.solved:
            continue
        solved += 1
        assert plan.success, plan
        same += plan.cost == pytest.approx(other.cost, rel=1e-7)
        if plan.cost == pytest.approx(other.cost, rel=1e-7) and kind != "obstacle":
            np.testing.assert_allclose(plan.torques, other.torques, atol=1e-3)
    assert solved >= 5
    assert same >= 0.8 * solved


def test_swing_up_with_the_equations_of_a_paper() -> None:
    """Kelly (2017), equations of section 6.1: cart m1, pole m2 of length l, angle from hanging."""
    m1, m2, length, g = 1.0, 0.3, 0.5, 9.81
    q, qd, tau = (casadi.SX.sym(name, 2) for name in ("q", "qd", "tau"))
    s, c = casadi.sin(q[1]), casadi.cos(q[1])
    inertia = m1 + m2 * (1 - c**2)
    cart = (length * m2 * s * qd[1] ** 2 + tau[0] + m2 * g * c * s) / inertia
    pole = -(length * m2 * c * s * qd[1] ** 2 + tau[0] * c + (m1 + m2) * g * s) / (length * inertia)
    dynamics = casadi.Function("cart_pole", [q, qd, tau], [casadi.vertcat(cart, pole)])
    problem = OptimalControl(
        cart_pole(),
        duration=2.0,
        nodes=60,
        running=[residuals.torque()],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        limits={"torque": 20.0, "position": None},
    )
    plan, other = both(problem, IpoptProblem(problem, dynamics), np.zeros(2), goal=np.array([0.0, np.pi]))
    assert plan.success
    again = IpoptProblem(problem, dynamics).solve(
        np.zeros(4),
        np.concatenate([np.r_[plan.torques[:, :1], [[0.0]]], plan.states], axis=1),
        [np.array([0.0, np.pi])],
    )
    assert again.solved  # from our optimum IPOPT does not move
    assert again.cost == pytest.approx(plan.cost, rel=1e-8)
    np.testing.assert_allclose(again.torques[:, 0], plan.torques[:, 0], atol=1e-4)
    assert plan.cost <= other.cost * (1.0 + 1e-6) or not other.solved
