"""Robots that follow motions in space: confirmed by forward kinematics, and honest where they cannot."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.linear.pseudo_inverse import PseudoInverse
from chasles.geometry import exp_pose, pose
from chasles.trajectories import JointTrajectory
from chasles.trajectories.following.follow import follow
from chasles.trajectories.joint.following_report import runs

PANDA, UR5, SCARA, PLANAR, PUMA = map(ch.load, ("panda", "ur5", "scara", "planar2r", "puma560"))
Q_PANDA = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.7, 0.5])
Q_UR5 = np.array([0.3, -1.2, 1.5, -0.8, 1.2, 0.2])
rng = np.random.default_rng(5)


def at(x: float, y: float) -> Any:
    return pose(np.eye(3), [x, y, 0.0])


def deviations(robot: Any, motion: Any, joints: Any, count: int = 2003) -> tuple[float, float]:
    """Largest distance and angle between the frame and its path, at times that are no samples."""
    t = np.linspace(motion.start_time, motion.end_time, count)
    T, goal = robot.forward_kinematics(joints(t).q), motion(t).pose
    angles = np.linalg.norm(T[:, :3, :3] - goal[:, :3, :3], axis=(1, 2)) / np.sqrt(2.0)
    return float(np.linalg.norm(T[:, :3, 3] - goal[:, :3, 3], axis=1).max()), float(angles.max())


def panda_circle(**timing: Any) -> Any:
    T = PANDA.forward_kinematics(Q_PANDA)
    return ch.Circle(T, T[:3, 3] - [0.1, 0.0, 0.0], [0.0, 0.0, 1.0], **(timing or {"duration": 3.0}))


def cases() -> dict[str, Any]:
    T_away = PANDA.forward_kinematics(Q_PANDA) @ exp_pose([0.0, 0.0, 0.5, 0.1, 0.1, 0.0])
    T_panda, T_ur5 = PANDA.forward_kinematics(Q_PANDA), UR5.forward_kinematics(Q_UR5)
    aside = T_ur5 @ exp_pose([0.3, -0.2, 0.4, 0.1, 0.1, -0.05])
    q_scara = np.array([0.3, 0.8, 0.1, 0.2])
    T_scara = SCARA.forward_kinematics(q_scara)
    T_lower = T_scara.copy()
    T_lower[:3, 3] += [-0.1, 0.1, 0.02]
    return {
        "panda circle": (PANDA, panda_circle(), Q_PANDA),
        "panda line": (PANDA, ch.StraightLine(T_panda, T_away, duration=2.0), Q_PANDA),
        "ur5 line": (UR5, ch.StraightLine(T_ur5, aside, duration=1.0), Q_UR5),
        "ur5 screw": (UR5, ch.ScrewMotion(T_ur5, aside, duration=1.0, scaling="trapezoid"), Q_UR5),
        "ur5 blends": (UR5, ch.BlendedWaypoints([T_ur5, aside, T_ur5], [0.0, 1.0, 2.0], blend_time=0.2), Q_UR5),
        "ur5 spline": (UR5, ch.PoseSpline([0.0, 1.0, 2.5], [T_ur5, aside, T_ur5]), Q_UR5),
        "scara line": (SCARA, ch.StraightLine(T_scara, T_lower, duration=1.0), q_scara),
    }  # fmt: skip


CASES = cases()


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Any:
    return CASES[request.param]


def test_the_frame_stays_on_its_path_within_the_tolerance(case: Any) -> None:
    robot, motion, q0 = case
    joints = follow(robot, motion, q0)
    assert isinstance(joints, JointTrajectory)
    assert joints.success, str(joints.report)
    assert not joints.report.findings
    distance, angle = deviations(robot, motion, joints)
    assert max(distance, angle) < 1e-6
    assert distance <= 1.1 * joints.report.distance + 1e-12  # the report had seen it
    assert angle <= 1.1 * joints.report.angle + 1e-12
    np.testing.assert_allclose(joints(motion.start_time).q, q0, atol=1e-6)


def test_velocities_and_accelerations_are_those_of_the_path(case: Any) -> None:
    robot, motion, q0 = case
    joints = follow(robot, motion, q0)
    t = np.setdiff1d(joints.knots, motion.knots)
    q, qd, qdd = joints(t)
    J = robot.jacobian(q, frame="world-aligned")
    Jdot = robot.jacobian_derivative(q, qd, frame="world-aligned")
    x = motion(t)
    np.testing.assert_allclose((J @ qd[..., None])[..., 0], x.twist, atol=1e-10)
    np.testing.assert_allclose((J @ qdd[..., None] + Jdot @ qd[..., None])[..., 0], x.acceleration, atol=1e-9)


def test_it_is_smooth_where_the_path_is() -> None:
    joints = follow(PANDA, panda_circle(), Q_PANDA)
    inner = joints.knots[1:-1]
    for before, after in zip(joints(np.nextafter(inner, -np.inf)), joints(inner), strict=True):
        np.testing.assert_allclose(before, after, atol=1e-10)


def test_jumps_of_the_acceleration_do_not_blur() -> None:
    """Parabolic blends: samples on both sides of a knot have accelerations of their own."""
    robot, motion, q0 = CASES["ur5 blends"]
    joints = follow(robot, motion, q0)
    for knot in motion.knots[1:-1]:
        for t in (np.nextafter(knot, -np.inf), knot):
            q, qd, qdd = joints(t)
            V = robot.jacobian_derivative(q, qd, frame="world-aligned") @ qd
            A = robot.jacobian(q, frame="world-aligned") @ qdd + V
            np.testing.assert_allclose(A, motion(t).acceleration, atol=1e-8)


def test_redundant_robots_move_with_the_smallest_velocities() -> None:
    motion = panda_circle()
    joints = follow(PANDA, motion, Q_PANDA, dt=0.01)
    t = np.linspace(0.3, 2.7, 37)
    q, qd, qdd = joints(t)
    inverse = np.linalg.pinv(PANDA.jacobian(q, frame="world-aligned"))
    np.testing.assert_allclose(qd, (inverse @ motion(t).twist[..., None])[..., 0], atol=1e-8)
    # the accelerations belong to these velocities, in the null space too
    h = 1e-4
    np.testing.assert_allclose(qdd, (joints(t + h).qd - joints(t - h).qd) / (2 * h), atol=1e-4)


@pytest.mark.slow
def test_only_what_counts_is_followed() -> None:
    motion = panda_circle()
    for mask in ("position", "position and direction", "orientation", "direction", [1, 0, 0, 1, 1, 0]):
        joints = follow(PANDA, motion, Q_PANDA, mask=mask)
        assert joints.success, str(joints.report)
        t = np.linspace(0.0, 3.0, 500)
        T, goal = PANDA.forward_kinematics(joints(t).q), motion(t).pose
        if "position" in mask:
            np.testing.assert_allclose(T[:, :3, 3], goal[:, :3, 3], atol=1e-6)
        if "direction" in mask:
            np.testing.assert_allclose(T[:, :3, 2], goal[:, :3, 2], atol=1e-6)


def test_other_frames_and_closed_forms() -> None:
    name = UR5.frame_names[-2]
    T = UR5.forward_kinematics(Q_UR5, target=name)
    motion = ch.Circle(T, T[:3, 3] + [0.0, 0.1, 0.0], [1.0, 0.0, 0.0], 1.0, duration=1.0)
    joints = motion.follow(UR5, Q_UR5, target=name)
    assert joints.success
    np.testing.assert_allclose(UR5.forward_kinematics(joints(0.6).q, target=name), motion(0.6).pose, atol=1e-6)


STRETCHED = ch.Circle(at(0.35, 0.0), [0.55, 0.0, 0.0], [0.0, 0.0, 1.0], duration=2.0)


@pytest.mark.parametrize("q0", [[-1.0, 2.0], [1.0, -2.0]])
def test_a_singularity_on_the_way_is_passed_and_reported(q0: Any) -> None:
    """The circle touches the edge of the workspace, 0.75 m away, after half of its time: the elbow swings through."""
    joints = follow(PLANAR, STRETCHED, q0, mask="position")
    assert joints.success, str(joints.report)
    (finding,) = joints.report.findings
    assert finding.rule.code == "singularity"
    assert finding.facts["time"] == pytest.approx(1.0, abs=1e-4)
    assert finding.value < 1e-4
    assert joints.report.conditioning == finding.value
    assert deviations(PLANAR, STRETCHED, joints)[0] < 1e-6
    elbow = joints([0.8, 1.2]).q[:, 1]
    assert elbow[0] * elbow[1] < 0.0


@pytest.mark.parametrize(
    ("robot", "q0"), [(UR5, [0.3, -1.2, 1.5, -0.8, 0.6, 0.2]), (PUMA, [0.3, -0.2, 0.3, 0.3, 0.5, 0.2])]
)
def test_a_wrist_that_straightens_goes_straight_on(robot: Any, q0: Any) -> None:
    """A turn about the fifth axis that takes the fifth joint through zero, where the fourth and sixth are parallel."""
    omega, v = np.split(robot.jacobian(q0, frame="space")[:, 4], 2)
    T = robot.forward_kinematics(q0)
    motion = ch.Circle(T, np.cross(omega, v), omega, -1.2, orientation="turning", duration=2.0)
    joints = motion.follow(robot, q0)
    assert joints.success, str(joints.report)
    np.testing.assert_allclose(joints(2.0).q - q0, [0.0, 0.0, 0.0, 0.0, -1.2, 0.0], atol=1e-9)
    (finding,) = joints.report.findings
    assert finding.rule.code == "singularity"
    assert finding.facts["start"] < finding.facts["time"] < finding.facts["end"]
    assert joints(finding.facts["time"]).q[4] == pytest.approx(0.0, abs=1e-4)


def test_turning_back_between_few_samples_is_no_jump() -> None:
    T = UR5.forward_kinematics(Q_UR5)
    there = T @ exp_pose([0.0, 0.0, 0.0, 0.3, 0.0, 0.0])
    motion = ch.BlendedWaypoints([T, there, T, there], [0.0, 0.5, 1.0, 1.5], blend_time=0.02)
    assert not motion.follow(UR5, Q_UR5, dt=0.25).report.of("jump")
    assert not motion.follow(UR5, Q_UR5).report.of("jump")


def test_what_is_out_of_reach_is_reported_with_its_time() -> None:
    motion = ch.StraightLine(at(0.35, 0.0), at(0.9, 0.0), duration=1.0)
    joints = motion.follow(PLANAR, [-1.0, 2.0], mask="position")
    assert not joints.success
    assert "NOT followed" in str(joints.report)
    (finding,) = joints.report.of("unreachable")
    leaves = finding.facts["start"]  # the quintic scaling at the edge of the workspace
    assert motion(leaves).pose[0, 3] == pytest.approx(0.75, abs=1e-4)
    assert (finding.facts["end"], finding.facts["time"]) == (1.0, 1.0)
    assert finding.value == pytest.approx(0.15, abs=1e-6)
    assert joints.report.distance == pytest.approx(0.15, abs=1e-6)
    assert joints.report.of("singularity")  # the edge itself
    inside = np.linspace(0.0, leaves - 1e-3, 300)
    np.testing.assert_allclose(
        PLANAR.forward_kinematics(joints(inside).q)[:, :3, 3], motion(inside).pose[:, :3, 3], atol=1e-6
    )
    beyond = np.linspace(leaves + 1e-3, 1.0, 300)  # there it points at the target, stretched
    np.testing.assert_allclose(PLANAR.forward_kinematics(joints(beyond).q)[:, 0, 3], 0.75, atol=1e-4)


def test_a_hole_in_the_workspace_is_left_again() -> None:
    """Targets nearer than 0.25 m cannot be reached by rods of 0.5 m and 0.25 m."""
    motion = ch.StraightLine(at(0.35, 0.02), at(-0.35, 0.02), duration=1.0)
    joints = motion.follow(PLANAR, [-1.0, 2.0], mask="position")
    (finding,) = joints.report.of("unreachable")
    for t in (finding.facts["start"], finding.facts["end"]):
        assert np.hypot(*motion(t).pose[:2, 3]) == pytest.approx(0.25, abs=1e-4)
    assert not joints.success
    np.testing.assert_allclose(PLANAR.forward_kinematics(joints(1.0).q)[:3, 3], motion(1.0).pose[:3, 3], atol=1e-9)


def test_six_joints_out_of_reach() -> None:
    T = UR5.forward_kinematics(Q_UR5)
    far = T.copy()
    far[:3, 3] *= 3.0
    joints = ch.StraightLine(T, far, duration=1.0).follow(UR5, Q_UR5)
    assert not joints.success
    (finding,) = joints.report.of("unreachable")
    assert 0.0 < finding.facts["start"] < finding.facts["end"] == 1.0
    assert joints.report.of("velocity-limit")  # near the edge
    assert np.isfinite(joints(np.linspace(0, 1, 99)).q).all()


PUMA_Q = np.clip([2.5, -1.0, 1.0, 0.3, 0.8, 0.2], PUMA.lower_limits + 0.1, PUMA.upper_limits - 0.1)
T_PUMA = PUMA.forward_kinematics(PUMA_Q)
TURN = ch.Circle(T_PUMA, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], 0.8, orientation="turning", duration=3.0)


def test_a_jump_to_another_branch_is_no_success() -> None:
    """The first joint alone would turn beyond its limit: the arm has to change sides."""
    joints = TURN.follow(PUMA, PUMA_Q)
    assert not joints.success
    (finding,) = joints.report.of("jump")
    s = (PUMA.upper_limits[0] - PUMA_Q[0]) / 0.8
    progress = ch.PointToPoint([0.0], [1.0], 3.0)(finding.facts["start"]).q[0]
    assert progress == pytest.approx(s, abs=1e-3)
    assert finding.value > 1.0
    assert finding.facts["joint"] in PUMA.joint_names


def test_another_start_avoids_the_jump_and_limits_can_be_ignored() -> None:
    assert TURN.follow(PUMA).success
    free = TURN.follow(PUMA, PUMA_Q, limits=False)
    assert free.success
    np.testing.assert_allclose(free(3.0).q - free(0.0).q, [0.8, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-9)


def test_redundant_robots_stop_joints_at_their_limits() -> None:
    q0 = np.array([2.6, -0.5, 0.0, -2.0, 0.0, 1.7, 0.5])
    T = PANDA.forward_kinematics(q0)
    motion = ch.Circle(T, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], 1.5, orientation="turning", duration=3.0)
    joints = motion.follow(PANDA, q0)
    assert joints.success, str(joints.report)
    q = joints(np.linspace(0.0, 3.0, 1000)).q
    assert (q <= PANDA.upper_limits + 1e-6).all()
    assert (q >= PANDA.lower_limits - 1e-6).all()
    assert q[-1, 0] == pytest.approx(PANDA.upper_limits[0], abs=1e-9)
    assert max(deviations(PANDA, motion, joints)) < 1e-6


def test_too_fast_is_reported() -> None:
    slow = panda_circle(duration=3.0).follow(PANDA, Q_PANDA)
    fast = panda_circle(duration=0.3).follow(PANDA, Q_PANDA)
    assert slow.success
    assert not fast.success
    findings = fast.report.of("velocity-limit")
    t = np.linspace(0.0, 0.3, 3001)
    shares = np.abs(fast(t).qd) / PANDA.velocity_limits
    assert {f.facts["joint"] for f in findings} == {
        n for n, s in zip(PANDA.joint_names, shares.max(axis=0), strict=True) if s > 1
    }
    worst = max(findings, key=lambda f: f.value)
    assert worst.value == pytest.approx(shares.max(), rel=1e-3)
    assert worst.facts["time"] == pytest.approx(t[shares.max(axis=1).argmax()], abs=2e-3)
    assert "times as fast as it may" in str(worst)


def test_given_steps_are_kept_and_their_deviation_told() -> None:
    motion = panda_circle()
    joints = motion.follow(PANDA, Q_PANDA, dt=0.5)
    np.testing.assert_allclose(joints.knots, np.arange(7) * 0.5)
    assert joints.report.samples == 7
    assert not joints.success
    worst = max(finding.value for finding in joints.report.of("deviation"))
    assert worst == pytest.approx(max(joints.report.distance, joints.report.angle))
    assert worst == pytest.approx(max(deviations(PANDA, motion, joints)), rel=0.1)
    assert motion.follow(PANDA, Q_PANDA, dt=0.5, tolerance=(1.0, 1.0)).success
    errors = [float(motion.follow(PANDA, Q_PANDA, dt=dt).report.distance) for dt in (0.3, 0.15, 0.075)]
    assert errors[0] / errors[1] > 25.0  # sixth order
    assert errors[1] / errors[2] > 25.0


def test_tighter_tolerances_take_more_samples() -> None:
    motion = panda_circle()
    coarse, fine = (motion.follow(PANDA, Q_PANDA, tolerance=tolerance) for tolerance in (1e-6, 1e-11))
    assert fine.success
    assert fine.report.samples > coarse.report.samples
    assert max(deviations(PANDA, motion, fine)) < 3e-11


def test_batches_are_their_members() -> None:
    T = PANDA.forward_kinematics(Q_PANDA)
    ends = T @ exp_pose(0.05 * rng.normal(size=(3, 2, 6)))
    batch = ch.StraightLine(T, ends, duration=1.0).follow(PANDA, Q_PANDA)
    assert batch.batch == (3, 2)
    assert batch.success.all()
    t = np.linspace(0.0, 1.0, 11)
    q = batch(t[:, None, None]).q
    own = ch.StraightLine(T, ends[2, 1], duration=1.0).follow(PANDA, Q_PANDA)(t).q
    np.testing.assert_allclose(q[:, 2, 1], own, atol=1e-8)
    some = ch.StraightLine(T, [ends[0, 0], at(5.0, 0.0)], duration=1.0).follow(PANDA, Q_PANDA)
    np.testing.assert_array_equal(some.success, [True, False])
    assert {f.facts["trajectory"] for f in some.report.findings} == {(1,)}
    assert "1 of 2 motions are followed" in str(some.report)


def test_a_start_that_cannot_be_reached() -> None:
    joints = ch.StraightLine(at(0.9, 0.0), at(0.4, 0.0), duration=1.0).follow(PLANAR, [0.1, -0.2], mask="position")
    (finding,) = joints.report.of("unreachable")
    assert finding.facts["start"] == 0.0
    assert finding.value == pytest.approx(0.15, abs=1e-6)
    nothing = ch.StraightLine(at(0.9, 0.0), at(0.8, 0.0), duration=1.0).follow(PLANAR, mask="position")
    assert not nothing.success
    assert nothing.report.of("unreachable")[0].facts["end"] == 1.0


def test_a_motion_that_rests() -> None:
    T = UR5.forward_kinematics(Q_UR5)
    joints = ch.StraightLine(T, T, duration=1.0).follow(UR5, Q_UR5)
    assert joints.success
    np.testing.assert_allclose(joints([0.0, 0.4]).q, [Q_UR5, Q_UR5], atol=1e-9)
    assert np.abs(joints(0.4).qd).max() < 1e-9


def test_it_is_a_joint_trajectory_like_others() -> None:
    joints = panda_circle().follow(PANDA, Q_PANDA)
    assert joints.n == 7
    copy = pickle.loads(pickle.dumps(joints))
    np.testing.assert_array_equal(copy(1.1).q, joints(1.1).q)
    assert copy.report == joints.report


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q0": [0.0, 1.0]}, "q0 has shape"),
        ({"q0": np.zeros((2, 7))}, "q0 has shape"),
        ({"q0": np.full(7, np.nan)}, r"q0\[0\] is nan; it must be finite"),
        ({"dt": 0.0}, r"dt is 0.0; it must be positive"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": (1.0, 2.0, 3.0)}, "tolerance"),
        ({"mask": np.zeros(6)}, "mask must be"),
    ],
)
def test_refusals_say_why(options: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        panda_circle().follow(PANDA, **options)


def test_no_time_and_unknown_names() -> None:
    T = UR5.forward_kinematics(Q_UR5)
    still = ch.StraightLine(T, T, limits=ch.CartesianLimits(linear_velocity=1.0, linear_acceleration=1.0))
    with pytest.raises(ArgumentError, match="takes no time"):
        still.follow(UR5)
    with pytest.raises(UnknownNameError, match="gripper"):
        panda_circle().follow(PANDA, target="gripper")
    with pytest.raises(UnknownNameError, match="position and direction"):
        panda_circle().follow(PANDA, mask="positions")


def test_small_inverse_is_the_pseudo_inverse() -> None:
    for m, n in ((6, 7), (6, 6), (6, 4), (3, 2), (1, 5)):
        J, b, x = rng.normal(size=(m, n)), rng.normal(size=m), rng.normal(size=n)
        inverse = PseudoInverse.of(J)
        np.testing.assert_allclose(inverse.solve(b), np.linalg.pinv(J) @ b, atol=1e-10)
        if m <= n:
            np.testing.assert_allclose(inverse.transposed(x), np.linalg.pinv(J).T @ x, atol=1e-9)
        sigma = np.linalg.svd(J, compute_uv=False)
        expected = len(sigma) / np.sqrt((sigma**2).sum() * (sigma**-2.0).sum())
        assert inverse.conditioning == pytest.approx(expected, rel=1e-6)
    assert PseudoInverse.of(np.ones((2, 3))).conditioning < 1e-6


def test_runs() -> None:
    assert runs([]) == []
    assert runs([True]) == [(0, 0)]
    assert runs([True, True, False, True, False]) == [(0, 1), (3, 3)]
