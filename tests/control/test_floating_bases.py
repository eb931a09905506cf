"""Controllers of robots with free bases: error equations, momentum, and the forces on which such robots stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.control.calls import called

import chasles as ch
from chasles import control
from chasles.base.errors import ArgumentError
from chasles.control.floating_base import ReducedDynamics, has_motors, tracking_error
from chasles.geometry import exp_rotation, quaternion_from_rotation
from chasles.trajectories.motion import Motion

FLYING = ch.load("panda").with_gravity([0.0, 0.0, 0.0]).with_free_base()
HEAVY = (
    ch.load("panda").with_gravity([0.0, 0.0, 0.0]).with_payload(200.0, inertia=40.0 * np.eye(3), frame="panda_link0")
)
SATELLITE = HEAVY.with_free_base()
FALLING = ch.load("panda").with_free_base()


def moving_joints(duration: float = 0.5) -> ch.PointToPoint:
    goal = FLYING.home.copy()
    goal[7:] += [0.3, -0.2, 0.4, 0.3, -0.3, 0.2, 0.5]
    return ch.PointToPoint(FLYING.home, goal, duration)


def test_joint_errors_obey_their_equation_while_the_base_moves_freely() -> None:
    """e'' + 40 e' + 400 e = 0 in all joints, and no momentum is made."""
    start = FLYING.home.copy()
    start[7:] += 0.1
    rest = ch.PointToPoint(FLYING.home, FLYING.home, 0.3)
    run = ch.simulate(
        FLYING,
        ch.ComputedTorque(FLYING, kp=400.0, kd=40.0),
        rest,
        start=start,
        period=1e-4,
        record=ch.Recording(every=100),
    )
    t = run.time.values
    expected = 0.1 * (1.0 + 20.0 * t) * np.exp(-20.0 * t)
    np.testing.assert_allclose(run.q.values[:, 7:] - FLYING.home[7:], expected[:, None] + np.zeros(7), atol=2e-4)
    assert np.abs(run.tau.values[:, :6]).max() == 0.0
    assert np.abs(FLYING.centroidal.momentum(run.q.values, run.qd.values)).max() < 1e-6
    assert np.abs(run.q.values[-1, :7] - FLYING.home[:7]).max() > 1e-3  # the base answers


@pytest.mark.parametrize("law", ["PD", "PDGravity"])
def test_springs_in_the_joints_bring_them_to_the_goal(law: str) -> None:
    robot = SATELLITE.with_gravity([0.0, 0.0, -9.81])
    kp = np.r_[np.zeros(6), 600.0, 600.0, 300.0, 300.0, 20.0, 20.0, 5.0]
    controller = getattr(control, law)(robot, kp=kp, kd=0.1 * kp)
    run = ch.simulate(robot, controller, moving_joints(), duration=1.5, record=ch.Recording(every=10))
    np.testing.assert_allclose(run.q.values[-1, 7:], moving_joints()(0.5).q[7:], atol=2e-3)
    assert np.abs(run.tau.values[:, :6]).max() == 0.0
    centre = robot.center_of_mass(run.q.values)  # nothing but gravity moves it
    fallen = -0.5 * 9.81 * run.time.values**2
    np.testing.assert_allclose(centre[:, 2] - centre[0, 2], fallen, atol=1e-6)


@pytest.mark.parametrize("kind", ["OperationalSpace", "ResolvedAcceleration"])
def test_a_frame_is_moved_from_a_floating_base(kind: str) -> None:
    """Both laws give the tool's position the equation e'' + 40 e' + 400 e = 0, as on a fixed base."""
    law = getattr(control, kind)(SATELLITE, kp=400.0, kd=40.0, kp_orientation=400.0, orientation_error="logarithm")
    T = SATELLITE.forward_kinematics(SATELLITE.home)
    goal = T.copy()
    goal[:3, 3] += [0.05, 0.03, -0.04]
    hold = ch.StraightLine(goal, goal, duration=0.2)
    run = ch.simulate(
        ch.Plant(SATELLITE, effort_limits=False),
        law,
        hold,
        start=SATELLITE.home,
        period=5e-4,
        record=ch.Recording(every=20),
    )
    t = run.time.values
    error = goal[:3, 3] - SATELLITE.forward_kinematics(run.q.values)[:, :3, 3]
    expected = ((1.0 + 20.0 * t) * np.exp(-20.0 * t))[:, None] * [0.05, 0.03, -0.04]
    np.testing.assert_allclose(error, expected, atol=3e-4)
    assert np.abs(run.tau.values[:, :6]).max() == 0.0
    assert np.abs(SATELLITE.centroidal.momentum(run.q.values, run.qd.values)).max() < 1e-5


def test_reduced_dynamics_are_the_forward_dynamics_without_torques_at_the_base() -> None:
    rng = np.random.default_rng(0)
    q, qd = FALLING.random_configuration(1), rng.normal(size=13)
    tau = np.concatenate([np.zeros(6), rng.normal(size=7)])
    reduced = ReducedDynamics.at(FALLING, q, qd)
    qdd = FALLING.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(reduced.M @ qdd[6:] + reduced.h, tau[6:], atol=1e-9)
    np.testing.assert_allclose(reduced.base_response[0] @ qdd[6:] + reduced.base_response[1], qdd[:6], atol=1e-9)
    J = FALLING.jacobian(q, frame="world-aligned")
    np.testing.assert_allclose(reduced.jacobian(J) @ qdd[6:] + reduced.drift(J), J @ qdd, atol=1e-9)


def test_errors_of_quaternion_joints_are_taken_in_the_axes_of_the_body() -> None:
    """Equal motions of a body, seen from another orientation of itself: the velocity error is that of the same body."""
    rng = np.random.default_rng(2)
    q, qd = FLYING.random_configuration(3), rng.normal(size=13)
    error = tracking_error(FLYING, q, qd, Motion(q, qd, qd))
    np.testing.assert_allclose(error.position, 0.0, atol=1e-12)
    np.testing.assert_allclose(error.velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(error.acceleration, qd, atol=1e-12)
    h, other, v = 1e-6, FLYING.random_configuration(4), rng.normal(size=13)
    e0 = FLYING.difference(q, other)
    moved = tracking_error(FLYING, q, np.zeros(13), Motion(other, v, v))
    rate = (FLYING.difference(q, FLYING.integrate(other, h * v)) - e0) / h
    small = tracking_error(FLYING, q, np.zeros(13), Motion(FLYING.integrate(q, 1e-7 * e0), v, v))
    np.testing.assert_allclose(small.velocity, v, atol=1e-5)
    np.testing.assert_allclose(moved.velocity[6:], rate[6:], atol=1e-6)
    # The rotation rate along the error's own axis is the same in both.
    axis = e0[:3] / np.linalg.norm(e0[:3])
    np.testing.assert_allclose(axis @ moved.velocity[:3], axis @ rate[:3], atol=1e-5)


def table() -> ch.Robot:
    """A square top of 20 kg on four legs of one prismatic joint each."""
    from chasles.model import Description, Inertia, Joint, Link

    links = [Link("ground"), Link("top", Inertia(20.0, np.zeros(3), np.diag([1.0, 1.0, 2.0])))]
    joints = [Joint("base", "free", "ground", "top")]
    for k, (x, y) in enumerate([(0.5, 0.5), (0.5, -0.5), (-0.5, -0.5), (-0.5, 0.5)]):
        corner = np.eye(4)
        corner[:3, 3] = [x, y, -0.5]
        links.append(Link(f"leg{k}", Inertia(1.0, [0.0, 0.0, 0.1], 1e-3 * np.eye(3))))
        joints.append(Joint(f"slide{k}", "prismatic", "top", f"leg{k}", corner, axis=[0.0, 0.0, 1.0]))
    return ch.Robot(Description("table", tuple(links), tuple(joints)))


def test_supports_carry_the_weight_of_a_standing_robot() -> None:
    """Each leg presses with a quarter of the top's weight."""
    robot = table()
    law = ch.PDGravity(robot, kp=0.0, kd=0.0, supports=[f"leg{k}" for k in range(4)])
    motion = Motion(robot.neutral, np.zeros(10), np.zeros(10))
    tau, _ = called(law, robot.neutral, np.zeros(10), motion)
    np.testing.assert_allclose(tau, np.r_[np.zeros(6), np.full(4, -20.0 * 9.81 / 4.0)], atol=1e-6)


def test_a_standing_robot_lifts_its_base() -> None:
    """Against the plant: supports that are springs of the ground; the top follows 5 cm up and a tilt."""
    robot = table()
    feet = [f"leg{k}" for k in range(4)]
    ground = [
        ch.ContactPlane(f"ground{k}", foot, point=[0, 0, -0.5], normal=[0, 0, 1], stiffness=1e5, damping=2e3,
                        friction_coefficient=0.8)
        for k, foot in enumerate(feet)
    ]  # fmt: skip
    goal = robot.neutral.copy()
    goal[:4] = quaternion_from_rotation(exp_rotation([0.05, 0.0, 0.0]))
    goal[5:7] = -0.55 * np.sin(0.05), 0.05  # the feet stay where they are
    goal[7:] = -0.05 - np.sin(0.05) * 0.5 * np.array([1, -1, -1, 1])
    law = ch.ComputedTorque(robot, kp=400.0, kd=40.0, supports=feet)
    motion = ch.PointToPoint(robot.neutral, goal, 0.5)
    run = ch.simulate(
        ch.Plant(robot, contacts=ground), law, motion, duration=0.7, period=2e-3, record=ch.Recording(every=10)
    )
    assert float(np.abs(run.tau.values[:, :6]).max()) == 0.0
    np.testing.assert_allclose(run.q.values[-1, 6], 0.05, atol=2e-3)
    np.testing.assert_allclose(run.q.values[-1, 1], goal[1], atol=2e-3)


def test_what_no_motor_can_do_is_refused() -> None:
    for call, text in (
        (lambda: ch.ComputedTorque(FLYING, kp=np.full(13, 100.0), kd=1.0), r"kp asks for a torque at base\.wx"),
        (lambda: control.PD(FLYING, kp=-1.0, kd=1.0), r"kp\[0\] is -1.0"),
        (lambda: ch.PDGravity(ch.load("panda"), kp=1.0, kd=1.0, supports=["panda_hand"]), "needs no supports"),
        (lambda: control.PID(FLYING, kp=np.ones(13), ki=1.0, kd=1.0), "no motor moves a free joint"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
    with pytest.raises(LookupError, match="frame"):
        ch.PDGravity(FLYING, kp=1.0, kd=1.0, supports=["foot"])
    assert has_motors(ch.load("panda")).all()


@pytest.mark.parametrize("kind", ["ComputedTorque", "SlotineLi", "ModelReferenceAdaptive"])
def test_a_spherical_joint_is_driven_to_an_orientation(kind: str) -> None:
    from chasles.model import Description, Inertia, Joint, Link

    link = Link("ball", Inertia(2.0, [0.0, 0.0, -0.2], np.diag([0.05, 0.06, 0.02])))
    robot = ch.Robot(Description("pendulum", (Link("world"), link), (Joint("hook", "spherical", "world", "ball"),)))
    goal: Any = quaternion_from_rotation(exp_rotation([1.0, -0.5, 0.7]))
    motion = ch.PointToPoint(robot.neutral, goal, 0.5)
    law = getattr(control, kind).tuned(robot, motion, 1e-3, frequency=20.0)
    run = ch.simulate(robot, law, motion, duration=0.7)
    np.testing.assert_allclose(np.abs(run.q.values[-1] @ goal), 1.0, atol=1e-6)
    assert float(np.abs(run.error).max()) < 5e-3
