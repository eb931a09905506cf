"""Control laws on robots with spherical joints, and laws of a frame on floating bases."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.control.calls import called

import chasles as ch
from chasles import control
from chasles.base.errors import ArgumentError
from chasles.control.floating_base import tracking_error
from chasles.control.linear_model import linear_model
from chasles.control.sliding_variable import sliding
from chasles.geometry import exp_pose, pose
from chasles.model import Description, Inertia, Joint, Link
from chasles.trajectories import GeodesicMotion, Motion, PoseMotion, TangentTrajectory

BODY = Inertia(mass=2.0, center_of_mass=[0.05, 0.0, -0.3], matrix=np.diag([0.1, 0.12, 0.05]))
BALL = ch.Robot(
    Description(
        "ball",
        links=(Link("ground"), Link("upper", BODY), Link("lower", BODY)),
        joints=(
            Joint("shoulder", "spherical", "ground", "upper"),
            Joint(
                "elbow",
                "revolute",
                "upper",
                "lower",
                axis=[0.0, 1.0, 0.0],
                T_parent_joint=pose(np.eye(3), [0, 0, -0.6]),
            ),
        ),
    )
)
GOAL = np.asarray(BALL.integrate(BALL.home, [0.7, -0.5, 0.9, 0.6]))
MOTION = GeodesicMotion(BALL, BALL.home, GOAL, duration=0.5)
START = np.asarray(BALL.integrate(BALL.home, [0.05, -0.04, 0.03, 0.05]))


def curved() -> TangentTrajectory:
    """A motion whose axis of rotation turns."""
    middle = BALL.integrate(BALL.home, [0.2, 0.5, -0.3, 0.4])
    return TangentTrajectory(BALL, ch.CubicSpline([0.0, 0.4, 0.8], np.stack([BALL.home, middle, GOAL])))


def test_the_reference_velocity_has_its_exact_derivative() -> None:
    """The proofs of Slotine and Li need s' = q'' - qd_r' without remainder."""
    reference, actual, h, rate = (
        curved(),
        TangentTrajectory(BALL, ch.PointToPoint(START, GOAL, 0.7)),
        1e-5,
        [5.0, 5.0, 5.0, 9.0],
    )

    def at(t: float) -> Any:
        q, qd, _ = actual(t)
        return sliding(BALL, q, qd, reference(t), np.array(rate))

    t = 0.31
    difference = (at(t + h).qd_reference - at(t - h).qd_reference) / (2.0 * h)
    np.testing.assert_allclose(at(t).qdd_reference, difference, atol=1e-7)


def test_computed_torque_gives_the_error_its_linear_equation_while_the_reference_turns() -> None:
    """To first order, with unequal gains: e'' + Kd e' + Kp e = 0."""
    law, motion, h, t = control.ComputedTorque(BALL, kp=[100.0, 200.0, 50.0, 400.0], kd=20.0), curved(), 1e-4, 0.3
    at, size = motion(t), 1e-4
    q = np.asarray(BALL.integrate(at.q, size * np.array([1.0, -0.5, 0.8, 0.6])))
    turned = tracking_error(BALL, q, np.zeros(4), at).velocity
    qd = turned + size * np.array([2.0, 1.0, -3.0, 1.0])
    qdd = np.asarray(BALL.forward_dynamics(q, qd, law.evaluate(q, qd, motion, t=t).tau))

    def error(s: float) -> np.ndarray:
        moved = BALL.integrate(q, s * qd + 0.5 * s**2 * qdd)
        return np.asarray(tracking_error(BALL, moved, qd + s * qdd, motion(t + s)).velocity)

    now = tracking_error(BALL, q, qd, at)
    expected = -law.kd * now.velocity - law.kp * now.position
    np.testing.assert_allclose((error(h) - error(-h)) / (2.0 * h), expected, atol=1e-3 * np.abs(expected).max())


def test_linear_models_of_regulators_are_those_of_their_deviations() -> None:
    """x = (displacement from the reference, qd - qd_ref) moves as A x + B δτ, along a motion that turns its axis."""
    motion, t, h, size = curved(), 0.3, 1e-6, 1e-5
    planned = motion(t)
    A, B = linear_model(BALL, planned)
    x = size * np.array([0.3, -0.7, 0.5, 0.2, -0.4, 0.6, 0.1, 0.8])
    u = size * np.array([1.0, -2.0, 0.5, 0.7])

    def state(sign: float, later: float) -> Any:
        q, qd = BALL.integrate(planned.q, sign * x[:4]), planned.qd + sign * x[4:]
        tau = BALL.inverse_dynamics(*planned) + sign * u
        qdd = BALL.forward_dynamics(q, qd, tau)
        q, qd = BALL.integrate(q, later * qd + 0.5 * later**2 * qdd), qd + later * qdd
        reference = BALL.integrate(planned.q, later * planned.qd + 0.5 * later**2 * planned.qdd)
        return np.concatenate([BALL.difference(reference, q), qd - planned.qd - later * planned.qdd])

    rate = [(state(sign, h) - state(sign, -h)) / (2.0 * h) for sign in (1.0, -1.0)]
    np.testing.assert_allclose((rate[0] - rate[1]) / (2.0 * size), (A @ x + B @ u) / size, rtol=1e-5, atol=1e-4)


LAWS: dict[str, Callable[[], control.Controller]] = {
    "PID": lambda: control.PID(BALL, kp=400.0, ki=1500.0, kd=20.0),
    "NominalTorque": lambda: control.NominalTorque(BALL, kp=400.0, kd=20.0),
    "SlotineLi": lambda: control.SlotineLi(
        BALL, rate=20.0, damping=20.0, adaptation=0.1, unknown=["lower.m", "lower.mz"]
    ),
    "CompositeAdaptive": lambda: control.CompositeAdaptive(
        BALL, rate=20.0, damping=20.0, adaptation=0.1, bandwidth=20.0, unknown=["lower.m"]
    ),
    "NaturalAdaptive": lambda: control.NaturalAdaptive(
        BALL, rate=20.0, damping=20.0, adaptation=0.01, bodies=["lower"]
    ),
    "ModelReferenceAdaptive": lambda: control.ModelReferenceAdaptive(
        BALL, frequency=20.0, adaptation=20.0, proportional=1.0, initial=[[0.0], [400.0], [40.0], [0.0], [0.0], [0.0]]
    ),
    "LeeChung": lambda: control.LeeChung(BALL, rate=20.0, torque_weight=1e-3),
    "SlidingMode": lambda: control.SlidingMode(BALL, rate=20.0, reaching=20.0, layer=0.3),
    "LinearQuadraticRegulator": lambda: control.LinearQuadraticRegulator(BALL, MOTION(0.25).q),
    "GainScheduledRegulator": lambda: control.GainScheduledRegulator(BALL, update_period=0.1),
    "TimeVaryingRegulator": lambda: control.TimeVaryingRegulator(BALL, integral_error=0.05),
    "LinearQuadraticGaussian": lambda: control.LinearQuadraticGaussian(BALL),
    "DisturbanceObserver": lambda: control.DisturbanceObserver(
        BALL, control.ComputedTorque(BALL, kp=400.0, kd=40.0), bandwidth=50.0
    ),
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(k, marks=[] if k in ("SlotineLi", "TimeVaryingRegulator", "PID") else pytest.mark.slow)
        for k in LAWS
    ],
)
def test_every_law_of_joints_leads_a_ball_joint_back_to_its_reference(kind: str) -> None:
    run = ch.simulate(
        BALL, LAWS[kind](), MOTION, start=START, duration=1.2, period=0.002, record=ch.Recording(every=20)
    )
    q_end, errors = run.q.values[-1], np.asarray(BALL.difference(run.q.values, run.q_reference.values))
    assert np.abs(errors[0]).max() == pytest.approx(0.05, rel=1e-6)
    bound = 0.04 if kind in ("PID", "ModelReferenceAdaptive") else 2e-3  # which know no gravity
    assert np.abs(errors[-1]).max() < bound
    assert np.abs(np.asarray(BALL.difference(q_end, GOAL))).max() < bound


SATELLITE = (
    ch.load("ur5")
    .with_gravity([0.0, 0.0, 0.0])
    .with_payload(400.0, inertia=80.0 * np.eye(3), frame="link0")
    .with_free_base()
)
SOFT: dict[str, Any] = {"stiffness": 400.0, "damping": 80.0, "rotational_stiffness": 40.0, "rotational_damping": 8.0}
UNDAMPED: dict[str, Any] = {"threshold": 1e-6, "largest_damping": 1e-6}
SHAPED: dict[str, Any] = {"inertia": 4.0, "rotational_inertia": 0.4}
POSE = np.asarray(SATELLITE.integrate(SATELLITE.home, np.r_[np.zeros(6), 0.3, -1.2, 1.5, -0.8, 1.2, 0.2]))
FRAMES: dict[str, Callable[[], control.Controller]] = {
    "impedance": lambda: control.Impedance(SATELLITE, **SOFT, **UNDAMPED),
    "impedance with an inertia": lambda: control.Impedance(SATELLITE, **SOFT, **SHAPED, **UNDAMPED),
    "admittance": lambda: control.Admittance(SATELLITE, **SOFT, **SHAPED, kp=400.0, kd=40.0, **UNDAMPED),
    "hybrid": lambda: control.HybridForceMotion(
        SATELLITE, {"z": 0.0}, kp=100.0, kd=20.0, kf=1.0, force_damping=50.0, **UNDAMPED
    ),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_law_of_frames_gives_the_frame_its_acceleration_on_a_floating_base(kind: str) -> None:
    """What the law promises on a fixed base holds: the frame accelerates as its equation says, without base torques."""
    law = FRAMES[kind]()
    rng = np.random.default_rng(1)
    qd, q = 0.1 * rng.normal(size=12), POSE
    T = np.asarray(SATELLITE.forward_kinematics(q))
    wanted = PoseMotion(
        exp_pose([0.02, -0.01, 0.03, 0.04, -0.03, 0.02]) @ T, 0.1 * rng.normal(size=6), rng.normal(size=6)
    )
    pushed = np.zeros(6) if kind in ("hybrid", "impedance") else np.array([0.5, -0.4, 0.3, 4.0, -3.0, 2.0])
    tau, _ = called(law, q, qd, wanted, wrench=pushed)
    np.testing.assert_array_equal(tau[:6], 0.0)
    qdd = SATELLITE.forward_dynamics(q, qd, tau, wrenches={"tool": pushed})
    frame = law.task.motion(q, qd)
    a = frame.J @ qdd + frame.drift
    fixed = _promised(kind, law, q, qd, frame, wanted, pushed)
    np.testing.assert_allclose(a, fixed, rtol=1e-8, atol=1e-8)


def _promised(kind: str, law: Any, q: Any, qd: Any, frame: Any, wanted: PoseMotion, pushed: Any) -> Any:
    from chasles.control.compliance import compliance_wrench, moved, offset, spring_wrench, world_wrench
    from chasles.control.impedance import gains6, measured_in_world
    from chasles.control.pose_feedback import acceleration_feedback

    p = law.parameters
    if kind in ("hybrid", "admittance"):
        a = acceleration_feedback(frame.pose, frame.twist, wanted, p["kp"], p["kd"], "quaternion")
        if kind == "admittance":
            return _of_admittance(law, frame, wanted, pushed)
        a[5], force = 0.0, np.zeros(6)
        force[5] = -p["force_damping"][0] * frame.twist[5]
        return a + _mobility(q, qd, frame) @ force
    away = offset(frame.pose, frame.twist, wanted, "reference")
    push = spring_wrench(away, gains6(p, "stiffness"), "quaternion") - gains6(p, "damping") * away.velocity
    if kind == "impedance":
        return wanted.acceleration + _mobility(q, qd, frame) @ world_wrench(push, wanted, "reference")
    felt = push + compliance_wrench(measured_in_world(frame.pose, SimpleNamespace(wrench=pushed)), wanted, "reference")
    return moved(wanted, away, felt / gains6(p, "inertia"), "reference").acceleration


def _mobility(q: Any, qd: Any, frame: Any) -> Any:
    """What the joints' motors accelerate the frame by per unit of force, with a base that gives way."""
    M = np.asarray(SATELLITE.mass_matrix(q))
    J = np.asarray(frame.J)
    motors = np.linalg.solve(M, np.eye(12))[:, 6:]
    base = np.linalg.solve(M[:6, :6], M[:6, 6:])
    generalized = J[:, 6:] - J[:, :6] @ base  # Umetani and Yoshida
    return J @ motors @ generalized.T


def _of_admittance(law: Any, frame: Any, wanted: PoseMotion, pushed: Any) -> Any:
    from chasles.control.compliance import compliance_wrench, moved
    from chasles.control.compliant_frame import compliant_acceleration, offset_of
    from chasles.control.impedance import measured_in_world
    from chasles.control.pose_feedback import acceleration_feedback

    force = compliance_wrench(measured_in_world(frame.pose, SimpleNamespace(wrench=pushed)), wanted, "reference")
    away = offset_of(law.memory)
    compliant = moved(wanted, away, compliant_acceleration(away, force, law.parameters, "quaternion"), "reference")
    return acceleration_feedback(frame.pose, frame.twist, compliant, law.kp, law.kd, "quaternion")


def test_motors_alone_act_on_a_floating_base() -> None:
    for law in (
        control.PID(SATELLITE, kp=1.0, ki=1.0, kd=1.0),
        control.NominalTorque(SATELLITE, kp=1.0),
        control.ModelReferenceAdaptive(SATELLITE, frequency=5.0, adaptation=1.0, proportional=1.0, initial=2.0),
        control.DisturbanceObserver(SATELLITE, control.ComputedTorque(SATELLITE, kp=1.0, kd=1.0), bandwidth=5.0),
    ):
        moved = Motion(SATELLITE.integrate(POSE, np.full(12, 0.1)), np.full(12, 0.1), np.full(12, 0.3))
        tau = np.asarray(called(law, POSE, np.zeros(12), moved)[0])
        np.testing.assert_array_equal(tau[:6], 0.0)
        assert np.abs(tau[6:]).min() > 0.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: control.SlotineLi(SATELLITE, rate=1.0, damping=1.0, adaptation=1.0),
            "nonlinear in the inertial parameters; use ComputedTorque",
        ),
        (lambda: control.TimeVaryingRegulator(SATELLITE), "no regulator exists; use ComputedTorque, with supports="),
        (
            lambda: control.ClosedLoopKinematics(SATELLITE, control.PD(SATELLITE, kp=1.0, kd=1.0)),
            "use ResolvedAcceleration",
        ),
    ],
)
def test_laws_that_need_motors_everywhere_say_what_to_use(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        build()


def test_margins_and_c_code_take_ball_joints() -> None:
    law = control.ComputedTorque(BALL, kp=400.0, kd=40.0)
    margins = control.loop_margins(BALL, law, MOTION, period=0.01, places=3)
    assert margins.is_stable
    assert margins.disk.min() > 0.9  # each joint is a double integrator, as on every arm
    source, _ = control.controller_to_c(law, MOTION, period=0.01, name="ball")
    assert "ball_step" in source
