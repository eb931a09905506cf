"""Contacts of known sequence: derivatives, a hopper's flight in closed form, a biped's step, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.control.optimal.robots import acrobot, biped, hopper, satellite

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.optimal import PhasedContact, residuals
from chasles.control.optimal.contact_rows import Contacts
from chasles.control.optimal.drives import Drives
from chasles.control.optimal.expansion import Expansion, StepExpansion
from chasles.control.optimal.step import HeldStep
from chasles.engine import Function, trace


@pytest.mark.parametrize(
    ("robot", "count"), [(acrobot(), 2), pytest.param(satellite(), 3, marks=pytest.mark.slow)], ids=["planar", "free"]
)
def test_derivatives_with_contact_forces_are_those_of_the_step(robot: ch.Robot, count: int) -> None:
    n, h, is_free = robot.n, 0.05, robot.nq > robot.n
    contacts = Contacts([PhasedContact("tool", phases=[(0, 1)], normal=[1.0, 2.0, 0.0])], robot, 1, h)
    assert contacts.count == count  # forces across the plane of a planar robot move nothing
    step = HeldStep(robot, Drives(np.arange(n) == n - 1), h, "leapfrog", contacts=contacts)
    rng = np.random.default_rng(5)
    m, s = step.inputs, step.states
    centres = [robot.integrate(robot.home, 0.4 * rng.normal(size=n)) for _ in range(2)] if is_free else []
    x, u, costate = 0.5 * rng.normal(size=s), rng.normal(size=m), rng.normal(size=s)
    if is_free:
        x[:n] += step.coordinates.of_centre(centres[0])
    shapes = {"x": (s,), "u": (m,), "costate": (s,)} | {f"centre{i}": (robot.nq,) for i in range(len(centres))}
    program = trace(StepExpansion(step), shapes, name="expansion", outputs=[*Expansion._fields])
    following, A, B, curvature = Function(program)(x, u, costate, *centres)
    np.testing.assert_allclose(following, step(x, u, *centres), atol=1e-12)
    w, e = np.concatenate([u, x]), 1e-5
    by_w = np.concatenate([B, A], axis=1)
    for i, unit in enumerate(np.eye(m + s)):
        high, low = w + e * unit, w - e * unit
        change = (step(high[m:], high[:m], *centres) - step(low[m:], low[:m], *centres)) / (2.0 * e)
        np.testing.assert_allclose(by_w[:, i], change, atol=1e-8)
        ahead, behind = (np.concatenate(step.adjoint(v[:m], v[m:], *centres, costate)) for v in (high, low))
        np.testing.assert_allclose(curvature[:, i], (ahead - behind) / (2.0 * e), atol=1e-6)


@pytest.mark.slow
def test_a_hopper_pushes_off_and_flies() -> None:
    """The least force that lifts the centre of mass to a height at the end is linear in the time that is left.

    Each force F_k raises the end by w_k F_k / m with w_k = h (T - t_k - h/2), also in flight after it. So Σ ½ h F_k² is
    least for F = λ w, and is ½ h (m C)² / Σ w², where C is the height that gravity would miss.
    """
    nodes, stance, duration, high = 40, 20, 0.8, 0.8
    problem = ch.OptimalControl(
        hopper(),
        duration=duration,
        nodes=nodes,
        running=[lambda forces: forces[0, 2], 1e-8 * residuals.torque()],
        exact_end=[lambda robot, q: robot.center_of_mass(q)[2:] - high],
        keep=[PhasedContact("foot", phases=[(0, stance)])],
        limits=[],
    )
    plan = problem.solve([0.0, 0.5])
    assert plan.success
    h, gravity = duration / nodes, 9.81
    w = h * (duration - h * (np.arange(stance) + 0.5))
    missing = high - (0.4 - 0.5 * gravity * duration**2)
    assert plan.cost == pytest.approx(0.5 * h * (10.0 * missing) ** 2 / (w @ w), rel=1e-5)
    np.testing.assert_allclose(plan.forces[:stance, 0, 2], 10.0 * missing * w / (w @ w), rtol=1e-4)
    np.testing.assert_array_equal(plan.forces[stance:], 0.0)
    foot, _, foot_speed, _ = plan.states.T
    np.testing.assert_allclose([foot[: stance + 1], foot_speed[: stance + 1]], 0.0, atol=1e-6)
    assert foot.min() > -1e-6
    center = plan.states @ [1.0, 0.8, 0.0, 0.0]
    t = h * np.arange(nodes - stance + 1)
    rises = (plan.states @ [0.0, 0.0, 1.0, 0.8])[stance]
    np.testing.assert_allclose(center[stance:], center[stance] + rises * t - 0.5 * gravity * t**2, atol=1e-9)


@pytest.mark.slow
def test_a_biped_steps() -> None:
    """Forward dynamics with these forces as wrenches give the motion; feet hold within the cones, and do not slip."""
    robot, nodes, h, friction = biped(), 20, 0.035, 0.6
    phases = [(0, nodes)], [(0, 5), (15, nodes)]
    right = PhasedContact("right_foot", phases=phases[1], friction=friction, footholds=[None, [0.3, 0.0, 0.0]])
    knees = np.array([4, 6])
    start = [-0.15, 0.74, 0.0, *_legs([-0.15, 0.74], 0.0, -0.3)]
    problem = ch.OptimalControl(
        robot,
        duration=h * nodes,
        nodes=nodes,
        running=[residuals.torque(), 10.0 * residuals.velocity()],
        exact_end=[lambda q: q[:3] - np.array([0.15, 0.74, 0.0]), lambda qd: qd[:3]],
        keep=[
            PhasedContact("left_foot", phases=phases[0], friction=friction),
            right,
            lambda q: np.concatenate([q[knees] - 0.02, 1.2 - q[knees]]),
        ],
        limits={"torque": 100.0},
    )
    plan = problem.solve(start)
    assert plan.success
    q, qd = plan.states[:, :7], plan.states[:, 7:]
    between = q[:-1] + 0.5 * h * qd[:-1]
    wrenches = {}
    for k, foot in enumerate(["left_foot", "right_foot"]):
        rotation = robot.forward_kinematics(between, target=foot)[:, :3, :3]
        force = np.einsum("kji,kj->ki", rotation, plan.forces[:, k])
        wrenches[foot] = np.concatenate([np.zeros_like(force), force], axis=1)
        assert (np.abs(plan.forces[:, k, 0]) <= friction * plan.forces[:, k, 2] + 1e-3).all()
        place = robot.forward_kinematics(q, target=foot)[:, :3, 3]
        assert place[6:15, 2].min() > -1e-6 or not k
        for first, last in phases[k]:
            expected = [0.3 if first else place[0, 0], 0.0, 0.0]
            np.testing.assert_allclose(
                place[first : last + 1], np.tile(expected, (last - first + 1, 1)), atol=0.003
            )  # steps of 35 ms
            if first:
                J = robot.jacobian(q[first], target=foot, frame="world-aligned")[3:]
                np.testing.assert_allclose(J @ qd[first], 0.0, atol=1e-4)
    np.testing.assert_array_equal(plan.forces[5:15, 1], 0.0)
    qdd = robot.forward_dynamics(between, qd[:-1], plan.torques, wrenches=wrenches)
    np.testing.assert_allclose(np.diff(qd, axis=0) / h, qdd, rtol=1e-7, atol=1e-6)


def _legs(hip: list[float], left: float, right: float) -> list[float]:
    """Angles of hips and knees with feet at these places on the ground, knees forward."""
    angles: list[float] = []
    for foot in (left, right):
        away, down = foot - hip[0], hip[1]
        knee = 2.0 * np.arccos(np.hypot(away, down) / 0.8)
        angles += [np.arctan2(-away, down) - 0.5 * knee, knee]
    return angles


@pytest.mark.slow
def test_a_contact_that_cannot_be_is_named() -> None:
    """The foot is to move upwards at the end, while it is on the ground."""
    problem = ch.OptimalControl(
        hopper(),
        duration=0.2,
        nodes=4,
        running=[residuals.torque(), residuals.velocity()],
        exact_end=[lambda qd: 3.0 * (qd[:1] - 1.0)],
        keep=[PhasedContact("foot", phases=[(0, 4)])],
        limits=[],
    )
    plan = problem.solve([0.0, 0.5])
    assert plan.status == "locally infeasible"
    assert "'foot' moves at " in str(plan)
    assert "m/s in contact" in str(plan)


def test_bad_contacts_are_refused() -> None:
    def refused(match: str, phases: object, error: type[Exception] = ArgumentError, **more: Any) -> None:
        def problem() -> ch.OptimalControl:
            contact = PhasedContact(**{"frame": "foot", "phases": phases} | more)
            return ch.OptimalControl(hopper(), duration=1.0, nodes=10, running=[residuals.torque()], keep=[contact])

        with pytest.raises(error, match=match):
            problem()

    refused("begins before or where phase", [(0, 5), (5, 8)])
    refused("has no step", [(3, 3)])
    refused("must be a first and a last node", [3])
    refused("has no phases", [])
    refused("1 footholds for 2 phases", [(0, 2), (4, 5)], footholds=[None])
    refused("is 0.1 m above its plane", [(0, 2)], footholds=[[0.0, 0.0, 0.1]])
    refused("cannot move along the normal", [(0, 2)], normal=[1.0, 0.0, 0.0])
    refused("normal is zero", [(0, 2)], normal=[0.0, 0.0, 0.0])
    refused("no frame 'hand'", [(0, 2)], UnknownNameError, frame="hand")
    both = [PhasedContact("foot", phases=[(0, 5)]), PhasedContact("foot", phases=[(4, 8)], height=0.1)]
    with pytest.raises(ArgumentError, match="two contacts hold 'foot' at the same nodes"):
        ch.OptimalControl(hopper(), duration=1.0, nodes=10, running=[residuals.torque()], keep=both)
    problem = ch.OptimalControl(hopper(), duration=1.0, nodes=10, running=[residuals.torque()], keep=both[:1])
    with pytest.raises(ArgumentError, match=r"at the start it is 0\.2 m away from its place"):
        problem.solve([0.2, 0.5])
    with pytest.raises(ArgumentError, match="at the start it moves at 1 m/s"):
        problem.solve([0.0, 0.5], [1.0, 0.0])
    long = [PhasedContact("foot", phases=[(0, 11)])]
    with pytest.raises(ArgumentError, match="ends after the last node, 10"):
        ch.OptimalControl(hopper(), duration=1.0, nodes=10, running=[residuals.torque()], keep=long).solve([0.0, 0.5])
    with pytest.raises(ArgumentError, match="keep must be a list of residuals and contacts"):
        ch.OptimalControl(hopper(), duration=1.0, nodes=10, running=[residuals.torque()], keep=both[0])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="with contacts neither delay nor observer"):
        ch.ModelPredictive(problem, delay=1.0)
