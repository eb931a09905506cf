"""Whole-body torques: closed forms of standing, inverse dynamics, friction, and a quadruped in the simulated world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.thinning import paired

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import Contact, ContactWarning, Stance, WholeBodyTorque
from chasles.inverse_kinematics import CenterOfMassTask, FrameTask, PositionTask, PostureTask
from chasles.model import Description, Inertia, Joint, Limits, Link

LEGS = {"lf": (0.2, 0.15), "rf": (0.2, -0.15), "lh": (-0.2, 0.15), "rh": (-0.2, -0.15)}
BENT = np.array([0.0, 0.7, -1.4])


def quadruped() -> ch.Robot:
    """A trunk of 8 kg and four legs of 1 kg with three joints each; feet are points."""
    links = [Link("ground"), Link("trunk", Inertia(8.0, np.zeros(3), np.diag([0.08, 0.15, 0.2])))]
    joints = [Joint("base", "free", "ground", "trunk")]
    for leg, (x, y) in LEGS.items():
        parent, place = "trunk", np.array([x, y, 0.0])
        for part, axis, length in (
            ("hip", (1.0, 0.0, 0.0), 0.0),
            ("thigh", (0.0, 1.0, 0.0), 0.2),
            ("shank", (0.0, 1.0, 0.0), 0.2),
        ):
            at = np.eye(4)
            at[:3, 3] = place
            name = f"{leg}_{part}"
            links.append(Link(name, Inertia(0.3, [0.0, 0.0, -0.5 * length], 1e-3 * np.eye(3))))
            limits = Limits(-3.0, 3.0, 20.0, 60.0)
            joints.append(Joint(name, "revolute", parent, name, at, axis=axis, limits=limits))
            parent, place = name, np.array([0.0, 0.0, -length])
        foot = np.eye(4)
        foot[:3, 3] = place
        links.append(Link(f"{leg}_foot"))
        joints.append(Joint(f"{leg}_end", "fixed", parent, f"{leg}_foot", foot))
    return ch.Robot(Description("quadruped", tuple(links), tuple(joints), tool="trunk"))


ROBOT = quadruped()
FEET = [f"{leg}_foot" for leg in LEGS]
STANDING = np.concatenate([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4 * np.cos(0.7)], np.tile(BENT, 4)])
MASS = 8.0 + 12 * 0.3
CONTACTS = [Contact(foot, friction=0.6) for foot in FEET]


def stance(height: float = 0.0, contacts: list[Contact] = CONTACTS) -> Stance:
    T = ROBOT.forward_kinematics(STANDING, target="trunk")
    T[2, 3] += height
    posture = PostureTask(STANDING, cost=1e-2, gain=10.0)
    return Stance([FrameTask(T, "trunk", gain=15.0), posture], contacts)


def test_standing_still_is_statics() -> None:
    """Forces carry the weight; torques are those of inverse dynamics with the forces as wrenches."""
    found = WholeBodyTorque(ROBOT, stance()).solve(STANDING, np.zeros(18), stance())
    np.testing.assert_allclose(found.qdd, 0.0, atol=1e-3)
    np.testing.assert_allclose(found.contact_forces.sum(axis=0), [0.0, 0.0, 9.81 * MASS], atol=1e-3)
    wrenches = {}
    for foot, force in zip(FEET, found.contact_forces, strict=True):
        R = ROBOT.forward_kinematics(STANDING, target=foot)[:3, :3]
        wrenches[foot] = np.concatenate([np.zeros(3), R.T @ force])
    needed = ROBOT.inverse_dynamics(STANDING, np.zeros(18), found.qdd, wrenches=wrenches)
    np.testing.assert_allclose(found.tau, needed, atol=1e-5)
    assert np.abs(found.tau[:6]).max() == 0.0


def test_moving_states_obey_the_equation_of_motion() -> None:
    rng = np.random.default_rng(0)
    q = ROBOT.integrate(STANDING, 0.05 * rng.normal(size=18))
    qd = 0.3 * rng.normal(size=18)
    law = WholeBodyTorque(ROBOT, stance())
    found = law.solve(q, qd, stance())
    wrenches = {}
    for foot, force in zip(FEET, found.contact_forces, strict=True):
        R = ROBOT.forward_kinematics(q, target=foot)[:3, :3]
        wrenches[foot] = np.concatenate([np.zeros(3), R.T @ force])
    np.testing.assert_allclose(ROBOT.forward_dynamics(q, qd, found.tau, wrenches=wrenches), found.qdd, atol=1e-4)
    horizontal = np.abs(found.contact_forces[:, :2]).max(axis=1)
    assert (horizontal <= 0.6 / np.sqrt(2.0) * found.contact_forces[:, 2] + 1e-5).all()
    assert (found.contact_forces[:, 2] >= -1e-6).all()
    np.testing.assert_allclose(foot_accelerations(q, qd, found.qdd), 0.0, atol=1e-6)
    np.testing.assert_allclose(found.contact_slip, 0.0, atol=1e-6)


def foot_accelerations(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Accelerations of the feet beside those that the damping of contacts asks for, (feet, 3)."""
    return np.array(
        [
            ROBOT.jacobian(q, frame="world-aligned", target=foot)[3:] @ (qdd + 20.0 * qd)
            + ROBOT.jacobian_derivative(q, qd, frame="world-aligned", target=foot)[3:] @ qd
            for foot in FEET
        ]
    )


@pytest.mark.parametrize(("seed", "gain"), paired(range(3), [15.0, 100.0]))
def test_contacts_are_kept_whatever_the_tasks_cost(gain: float, seed: int) -> None:
    """A trunk that is called away as hard as friction and motors allow leaves all feet where they are."""
    rng = np.random.default_rng(seed)
    q = ROBOT.integrate(STANDING, 0.05 * rng.normal(size=18))
    qd = 0.2 * rng.normal(size=18)
    T = ROBOT.forward_kinematics(q, target="trunk")
    T[:3, 3] += rng.uniform(-0.2, 0.2, 3)
    called_away = Stance(
        [FrameTask(T, "trunk", position_cost=30.0, gain=gain), PostureTask(STANDING, cost=1e-2)], CONTACTS
    )
    found = WholeBodyTorque(ROBOT, called_away).solve(q, qd, called_away)
    np.testing.assert_allclose(foot_accelerations(q, qd, found.qdd), 0.0, atol=1e-6)


def test_a_sole_does_not_rotate_on_its_corners() -> None:
    """Twelve rows of four points at one link, of which six are independent: at rest all points stay exactly."""
    arm = ch.load("panda").with_payload(200.0, inertia=20.0 * np.eye(3), frame="panda_link0").with_free_base()
    sole = Contact("panda_link0", points=[[x, y, 0.0] for x in (-0.3, 0.3) for y in (-0.3, 0.3)], friction=0.5)
    goal = arm.forward_kinematics(arm.home)
    goal[:3, 3] += [0.1, 0.1, 0.1]
    reaching = Stance([FrameTask(goal, gain=30.0), PostureTask(arm.home, cost=0.1)], [sole])
    found = WholeBodyTorque(arm, reaching).solve(arm.home, np.zeros(13), reaching)
    np.testing.assert_allclose(found.qdd[:6], 0.0, atol=1e-6)
    assert np.abs(found.qdd[6:]).max() > 1.0


def test_contacts_that_cannot_be_kept_slip_with_a_warning() -> None:
    """A box on an icy slope slides down with g sin α, by Galileo, and on a rough one it stays."""
    links = (Link("ground"), Link("box", Inertia(2.0, np.zeros(3), 0.01 * np.eye(3))))
    box = ch.Robot(Description("box", links, (Joint("base", "free", "ground", "box"),), tool="box"))
    slope, at = np.radians(20.0), np.r_[1.0, np.zeros(6)]
    normal, downhill = np.array([np.sin(slope), 0.0, np.cos(slope)]), np.array([np.cos(slope), 0.0, -np.sin(slope)])
    corners = [[x, y, 0.0] for x in (-0.1, 0.1) for y in (-0.1, 0.1)]

    def on(friction: float) -> Any:
        sole = Contact("box", points=corners, friction=friction, normal=normal)
        resting = Stance([PostureTask(at, cost=1e-3)], [sole])
        return WholeBodyTorque(box, resting).solve(at, np.zeros(6), resting)

    np.testing.assert_allclose(on(1.0).contact_slip, 0.0, atol=1e-6)
    with pytest.warns(ContactWarning, match="cannot all be kept within friction and the motors' limits"):
        slip = on(1e-9).contact_slip
    np.testing.assert_allclose(slip, 4 * [9.81 * np.sin(slope) * downhill], atol=0.01)


def test_errors_of_tasks_obey_their_equation() -> None:
    """J q̈ + J̇ q̇ = g² e - 2 g ė for one task alone that nothing hinders: a leg in the air, moved by its joints."""
    q, qd = STANDING, np.concatenate([np.zeros(6), 0.2 * np.ones(12)])
    goal = ROBOT.forward_kinematics(q, target="lf_foot")[:3, 3] + [0.0, 0.0, 0.05]
    lifted = Stance([PositionTask(goal, "lf_foot", gain=10.0)], CONTACTS[1:])
    found = WholeBodyTorque(ROBOT, lifted).solve(q, qd, lifted)
    J = ROBOT.jacobian(q, frame="world-aligned", target="lf_foot")[3:]
    Jdot = ROBOT.jacobian_derivative(q, qd, frame="world-aligned", target="lf_foot")[3:]
    wanted = 100.0 * np.array([0.0, 0.0, 0.05]) - 20.0 * J @ qd
    np.testing.assert_allclose(J @ found.qdd + Jdot @ qd, wanted, atol=1e-2)


def test_goals_that_move_are_followed_without_lag() -> None:
    """On the motion that the goals come from its accelerations are found; beside it, errors obey their equation.

    Two tasks of one motion do not contradict each other, so that the result is exact.
    """
    arm, gain = ch.load("planar2r"), 15.0
    q, qd, qdd = np.array([0.1, 0.6]), np.array([0.5, -0.3]), np.array([2.0, 1.0])

    def following(at: np.ndarray, rates: np.ndarray) -> np.ndarray:
        tasks = [FrameTask(arm.forward_kinematics(q), gain=gain), PostureTask(q, gain=gain)]
        plan = Stance(tasks, (), ch.trajectories.Motion(q, qd, qdd))
        return WholeBodyTorque(arm, plan).solve(at, rates, plan).qdd

    np.testing.assert_allclose(following(q, qd), qdd, atol=1e-3)
    slow, near = np.array([1e-4, -2e-4]), np.array([2e-4, 1e-4])
    expected = qdd + 2.0 * gain * slow + gain**2 * near
    np.testing.assert_allclose(following(q - near, qd - slow), expected, atol=5e-3)


def test_slippery_ground_and_weak_motors_are_respected() -> None:
    far = ROBOT.center_of_mass(STANDING) + np.array([0.5, 0.0, 0.0])
    slippery = [Contact(foot, friction=0.1) for foot in FEET]
    pushed = Stance([CenterOfMassTask(far, gain=10.0), PostureTask(STANDING, cost=1e-2)], slippery)
    law = WholeBodyTorque(ROBOT, pushed)
    found = law.solve(STANDING, np.zeros(18), pushed)
    ratio = np.abs(found.contact_forces[:, :2]).max(axis=1) / found.contact_forces[:, 2]
    assert ratio.max() <= 0.1 / np.sqrt(2.0) + 1e-4
    assert np.abs(found.tau).max() <= 60.0 + 1e-6
    grippy = Stance(pushed.tasks, [Contact(foot, friction=5.0) for foot in FEET])
    free = law.solve(STANDING, np.zeros(18), grippy)
    assert free.contact_forces[:, 0].sum() > 2.0 * found.contact_forces[:, 0].sum() > 0.0


@pytest.mark.slow
def test_a_quadruped_stands_and_squats_on_springy_ground() -> None:
    ground = [
        ch.ContactPlane(f"ground_{foot}", foot, point=[0, 0, 0], normal=[0, 0, 1], stiffness=3e4, damping=300.0,
                        friction_coefficient=0.8)
        for foot in FEET
    ]  # fmt: skip

    def plan(t: float, reference: object) -> Stance:
        return stance(-0.05 * min(t / 0.25, 1.0))

    law = WholeBodyTorque(ROBOT, plan)
    rest = ch.PointToPoint(STANDING, STANDING, 0.6)
    run = ch.simulate(ch.Plant(ROBOT, contacts=ground), law, rest, period=4e-3)
    height = run.q.values[:, 6] - STANDING[6]
    np.testing.assert_allclose(height[-1], -0.05, atol=4e-3)
    np.testing.assert_allclose(run.q.values[-1, :4], [1.0, 0.0, 0.0, 0.0], atol=5e-3)
    feet = np.stack([ROBOT.forward_kinematics(run.q.values, target=foot)[:, :3, 3] for foot in FEET])
    assert np.abs(feet[..., :2] - feet[:, :1, :2]).max() < 3e-3
    forces = sum(run[f"contacts.{plane.name}"].values[-1, 5] for plane in ground)
    np.testing.assert_allclose(forces, 9.81 * MASS, rtol=0.03)


def test_bad_plans_are_refused() -> None:
    for call, text in (
        (lambda: Contact("lf_foot", points=[1.0, 2.0, 3.0]), "points has shape"),
        (lambda: Contact("lf_foot", friction=0.0), "friction"),
        (lambda: Contact("lf_foot", normal=[0.0, 0.0, 0.0]), "normal"),
        (lambda: WholeBodyTorque(ROBOT, 3.0), "plan"),  # type: ignore[arg-type]
        (lambda: WholeBodyTorque(ROBOT, stance()).solve(STANDING, np.zeros(17), stance()), "qd has shape"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
    with pytest.raises(LookupError, match="frame"):
        WholeBodyTorque(ROBOT, stance()).solve(STANDING, np.zeros(18), Stance([], [Contact("hoof")]))


def test_summaries_judge_laws_by_the_reference_only_if_they_follow_it() -> None:
    arm = ch.load("planar2r")
    rest = ch.PointToPoint([0.0, 0.0], [0.0, 0.0], 0.05)
    lifted = WholeBodyTorque(arm, Stance([PostureTask([0.5, 0.0], cost=1.0, gain=20.0)]))
    assert "pursues tasks of its own" in ch.simulate(arm, lifted, rest, period=0.01).summary()
    following = ch.control.WholeBodyFollowing(arm, gain=20.0)
    assert "stayed within" in ch.simulate(arm, following, rest, period=0.01).summary()
