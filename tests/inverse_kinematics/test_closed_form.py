"""Closed forms: the drawn configuration is among the branches, every claimed branch reaches the target."""

from __future__ import annotations

import numpy as np
import pytest
from tests.inverse_kinematics.arms import QUARTER, dh_robot, within
from tests.thinning import paired, thinned

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.inverse_kinematics import Status

Q = QUARTER
TURN = 2.0 * np.pi


def robots() -> dict[str, ch.Robot]:
    """Robots by family; the DH families are ROBOOP's, in both notations."""
    rng = np.random.default_rng(5)
    found = {name: ch.load(name) for name in ("puma560", "ur5", "scara")}
    for signs in range(8):
        s = [1.0 if signs >> k & 1 else -1.0 for k in range(3)]
        twists, lengths = [s[0] * Q, 0, s[1] * Q, s[2] * Q, -s[2] * Q, 0], [0, 0.43, 0.02, 0, 0, 0]
        found[f"puma, twists {s}"] = dh_robot(twists, lengths, [0.1, 0.05, 0.1, 0.43, 0, 0.07])
        twists, lengths = [0, s[0] * Q, 0, s[1] * Q, s[2] * Q, -s[2] * Q], [0, 0, 0.43, 0.02, 0, 0]
        found[f"modified puma, twists {s}"] = dh_robot(twists, lengths, [0, 0.1, 0.05, 0.43, 0, 0.1], "modified")
    found["rhino"] = dh_robot([-Q, 0, 0, -Q, 0], [0, 0.2286, 0.2286, 0.0095, 0], [0.2604, 0, 0, 0, 0.135])
    found["modified rhino"] = dh_robot(
        [0, -Q, 0, 0, -Q], [0, 0, 0.2286, 0.2286, 0.0095], [0.2604, 0, 0, 0, 0.135], "modified"
    )
    found["schilling"] = dh_robot([Q, 0, 0, -Q, Q, 0], [0.05, 0.8, 0.5, 0.1, 0, 0], [0.2, 0, 0, 0, 0, 0.3])
    found["modified schilling"] = dh_robot(
        [0, Q, 0, 0, -Q, Q], [0, 0.05, 0.8, 0.5, 0.1, 0], [0.2, 0, 0, 0, 0, 0.3], "modified"
    )
    # Axes 1 and 2 meet under an angle, 2 and 3 are not parallel: an arm with a spherical shoulder and a skew elbow.
    found["skew elbow"] = dh_robot([1.1, 0.7, Q, Q, -Q, 0], [0, 0.3, 0.1, 0, 0, 0], [0.3, 0.1, 0.05, 0.4, 0, 0.1])
    found["stanford"] = ch.load("stanford")
    sliding = ["revolute", "revolute", "prismatic", *["revolute"] * 3]
    found["oblique slide"] = dh_robot(
        [1.1, 0.7, 0.4, Q, -Q, 0], [0, 0.1, 0.2, 0, 0, 0], [0.3, 0.1, 0.05, 0.4, 0, 0.1], kinds=sliding
    )
    found["offset slide"] = dh_robot(
        [-Q, Q, 0, -Q, Q, 0], [0.2, 0.05, 0, 0, 0, 0], [0.4, 0.15, 0, 0.1, 0, 0.26], kinds=sliding
    )
    found["planar 3R"] = dh_robot(
        [0, 0, 0], [0.5, 0.4, 0.2], [0.1, 0.2, 0.3], base=ch.geometry.exp_pose(rng.normal(size=6))
    )
    found["lift below"] = dh_robot(
        [0, 0, 0, 0], [0.1, 0.5, 0.4, 0.2], [0, 0.1, 0, 0], kinds=["prismatic", *["revolute"] * 3]
    )
    found["antiparallel"] = dh_robot([np.pi, 0, np.pi], [0.5, 0.4, 0.2], [0.1, 0.2, 0.3])
    for signs, (second, third) in {"-+": (np.pi, 0), "+-": (0, np.pi), "--": (np.pi, np.pi)}.items():
        found[f"ur, axes {signs}"] = dh_robot(
            [Q, second, third, Q, -Q, 0], [0, 0.4, 0.35, 0, 0, 0], [0.1, 0.05, 0, 0.1, 0.09, 0.08]
        )
        found[f"rhino, axes {signs}"] = dh_robot(
            [-Q, second, third, -Q, 0], [0, 0.23, 0.2, 0.01, 0], [0.3, 0, 0, 0, 0.1]
        )
    return found


ROBOTS = robots()
#: Half of the eight signs of the twists in each notation, with every pair of signs in both; the rest is slow.
SLOW = {
    f"{notation}, twists {[a, b, c]}"
    for a in (-1.0, 1.0)
    for b in (-1.0, 1.0)
    for c in (-1.0, 1.0)
    for notation, product in (("puma", 1.0), ("modified puma", -1.0))
    if a * b * c == product
}


def closest(branches: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Distance of the nearest branch to a configuration, up to whole turns."""
    apart = np.abs((branches - q[:, None] + np.pi) % TURN - np.pi)
    return apart.max(axis=-1).min(axis=-1)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in ROBOTS]
)
def test_all_branches(name: str, rng, confirm) -> None:
    robot = ROBOTS[name]
    ik = robot.inverse_kinematics
    assert ik.family() is not None
    q = within(robot, rng, 300)
    T = robot.forward_kinematics(q)
    every = ik(T, select="all", method="closed form", tolerance=1e-9)
    assert every.q.shape == (300, len(ik.branches()), robot.n)
    confirm(robot, every, np.broadcast_to(T[:, None], (*every.q.shape[:2], 4, 4)), 1e-9)
    assert (closest(np.where(every.success[..., None], every.q, 1e3), q) < 1e-7).all()
    assert max(every.residual.distance[every.success].max(), every.residual.angle[every.success].max()) < 1e-10
    nearest = ik(T, q)
    assert nearest.success.all()
    assert np.abs(nearest.q - q).max() < 1e-7
    assert (nearest.iterations == 0).all()
    assert {ik.branches()[number] for number in nearest.branch} <= set(ik.branches())
    different = np.unique(np.round(every.q[0][every.success[0]], 6), axis=0)
    assert len(different) == every.success[0].sum()  # no branch counts twice


def test_general_poses_of_a_puma_have_eight_solutions(rng) -> None:
    robot = ch.load("puma560")
    T = robot.forward_kinematics(within(robot, rng, 100))
    assert robot.inverse_kinematics(T, select="all", limits=False).success.all()
    assert len(set(robot.inverse_kinematics.branches())) == 8


def test_seven_joints_with_an_elbow_angle(rng, confirm) -> None:
    robot = ch.load("iiwa14")
    ik = robot.inverse_kinematics
    q = within(robot, rng, 300)
    T = robot.forward_kinematics(q)
    angle = ik.elbow_angle(q)
    every = ik(T, select="all", elbow_angle=angle)
    confirm(robot, every, np.broadcast_to(T[:, None], (300, 8, 4, 4)))
    assert (closest(np.where(every.success[..., None], every.q, 1e3), q) < 1e-7).all()
    for other in (-2.0, 0.0, 1.0, np.pi):
        turned = ik(T, elbow_angle=other, limits=False)
        assert turned.success.all()
        np.testing.assert_allclose(np.cos(ik.elbow_angle(turned.q) - other), 1.0, atol=1e-12)
    kept = ik(T, q, method="closed form")  # the elbow angle of q0
    np.testing.assert_allclose(kept.q, q, atol=1e-7)
    assert (ik(T[:5]).iterations > 0).all()  # without an angle the search chooses


def test_other_robots_have_none() -> None:
    robot = ch.load("panda")
    assert robot.inverse_kinematics.family() is None
    assert robot.inverse_kinematics.branches() == ()
    with pytest.raises(ArgumentError, match="no closed form"):
        robot.inverse_kinematics(robot.forward_kinematics(robot.home), method="closed form")


def test_singular_poses_are_reported_as_such(confirm) -> None:
    robot = ch.load("puma560")
    q = np.array([[0.3, -0.5, 0.7, 0.2, 0.0, 0.4], [0.3, -0.5, 0.7, 0.2, 0.6, 0.4]])  # the wrist stretched, or not
    T = robot.forward_kinematics(q)
    solution = robot.inverse_kinematics(T, q)
    confirm(robot, solution, T)
    assert solution.success.all()
    assert solution.infinite.tolist() == [True, False]
    np.testing.assert_allclose(solution.q[0, 3] + solution.q[0, 5], 0.6, atol=1e-6)
    # Above the shoulder the first joint may be turned at will.
    arm = dh_robot([-Q, 0, Q, -Q, Q, 0], [0, 0.4, 0, 0, 0, 0], [0, 0, 0, 0.4, 0, 0])
    up = arm.forward_kinematics([0.4, -Q - 0.3, Q + 0.6, 0.2, 0.5, 0.1])
    assert abs(up[:2, 3]).max() < 1e-12
    above = arm.inverse_kinematics(up, select="all")
    assert above.success.any()
    assert above.infinite[above.success].all()


@pytest.mark.parametrize(("name", "joint"), [("puma560", 4), ("ur5", 4), ("iiwa14", 1), ("iiwa14", 5)])
@pytest.mark.parametrize("angle", thinned([0.0, 1e-10, 1e-8, 1e-7, 1e-5]))
def test_no_digits_are_lost_near_singular_poses(name: str, joint: int, angle: float, rng, confirm) -> None:
    robot = ch.load(name)
    q = within(robot, rng, 200)
    q[:, joint] = angle
    T = robot.forward_kinematics(q)
    solution = robot.inverse_kinematics(T, q, method="closed form", tolerance=1e-10)
    confirm(robot, solution, T, 1e-10)
    assert solution.success.all()
    if angle == 0.0:
        assert solution.infinite.all()
        near = np.abs(solution.q - q).max(axis=1) < 1e-9  # what is free stays where it was
        assert near.mean() > 0.99
    if angle == 1e-5:
        assert not solution.infinite.any()


def test_targets_out_of_reach_get_the_closest_configuration(rng) -> None:
    robot = ch.load("ur5")
    T = robot.forward_kinematics(within(robot, rng, 20))
    T[::2, :3, 3] *= 10.0
    T[1] = np.nan
    solution = robot.inverse_kinematics(T)
    assert solution.success.tolist() == [k % 2 == 1 and k != 1 for k in range(20)]
    assert (solution.status[::2] == Status.OUT_OF_REACH).all()
    assert solution.status[1] == Status.INVALID_TARGET
    assert (solution.branch[::2] == -1).all()
    numeric = robot.inverse_kinematics(T, method="numeric")
    np.testing.assert_allclose(solution.residual.distance[::2], numeric.residual.distance[::2])


def test_limits_choose_among_branches(rng) -> None:
    robot = dh_robot([-Q, 0, Q, -Q, Q, 0], [0, 0.43, 0.02, 0, 0, 0], [0.1, 0.05, 0.1, 0.43, 0, 0.07], limits=(0.2, 1.4))
    q = rng.uniform(0.2, 1.4, (200, 6))
    T = robot.forward_kinematics(q)
    every = robot.inverse_kinematics(T, select="all")
    assert (every.success.sum(axis=1) >= 1).all()
    assert every.success.mean() < 0.5
    assert robot.inverse_kinematics(T).success.all()
    best = robot.inverse_kinematics(T, select="best")
    np.testing.assert_allclose(best.limit_margin, np.where(every.success, every.limit_margin, -np.inf).max(axis=1))


def test_a_given_elbow_angle_is_kept_or_there_is_no_success(rng) -> None:
    robot = ch.load("iiwa14")
    T = robot.forward_kinematics(within(robot, rng, 200))
    solution = robot.inverse_kinematics(T, elbow_angle=0.5)
    angle = robot.inverse_kinematics.elbow_angle(solution.q[solution.success])
    np.testing.assert_allclose(angle, 0.5, atol=1e-9)
    assert 0 < solution.success.sum() < 200  # the limits rule it out for some targets
    for wrong, message in ((np.nan, "finite"), ("up", "numbers"), (np.zeros(3), "broadcast")):
        with pytest.raises(ArgumentError, match=message):
            robot.inverse_kinematics(T, elbow_angle=wrong)
    with pytest.raises(ArgumentError, match="no objective"):
        robot.inverse_kinematics(T, elbow_angle=0.5, objective="center")


def test_joints_beyond_the_frame_stay_within_their_limits(rng) -> None:
    robot = dh_robot(
        [-Q, 0, Q, -Q, Q, 0, 0], [0, 0.43, 0.02, 0, 0, 0, 0.1], [0.1, 0.05, 0.1, 0.43, 0, 0.07, 0],
        limits=(0.1, 3.0),
    )  # fmt: skip
    q = rng.uniform(0.1, 3.0, (50, 7))
    T = robot.forward_kinematics(q, target="link6")
    solution = robot.inverse_kinematics(T, target="link6", method="closed form")
    assert solution.success.all()
    np.testing.assert_allclose(solution.q[:, 6], 1.55)  # the middle, as there is no q0
    moved = robot.inverse_kinematics(T, q + 9.0 * np.eye(7)[6], target="link6", method="closed form")
    assert moved.success.all()
    assert (moved.q[:, 6] == 3.0).all()


def test_coinciding_axes_are_no_planar_arm(rng) -> None:
    robot = ch.load("planar2r")
    q = rng.uniform(-1.0, 1.0, (20, 2))
    hinge = ch.Robot.from_dh([{"a": 0.5, "limits": (-2.0, 2.0)}, {"a": 0.0, "limits": (-2.0, 2.0)}])
    assert hinge.inverse_kinematics.family() is None  # positions do not tell the second joint's angle
    np.testing.assert_allclose(hinge.inverse_kinematics(hinge.forward_kinematics(q)).q, q, atol=1e-5)
    assert robot.inverse_kinematics.family() is not None


def test_planar_arm_with_two_joints_reaches_positions() -> None:
    robot = ch.load("planar2r")
    T = np.eye(4)
    T[:2, 3] = 0.5, 0.25
    both = robot.inverse_kinematics(T, mask="position", select="all")
    np.testing.assert_allclose(sorted(both.q.tolist()), [[0.0, Q], [2.0 * np.arctan2(0.25, 0.5), -Q]], atol=1e-12)


def test_branches_work_on_the_numpy_target_too(monkeypatch: pytest.MonkeyPatch, rng) -> None:
    monkeypatch.setenv("CHASLES_JIT", "0")
    robot = ch.Robot(ch.load("puma560").description)
    q = within(robot, rng, 5)
    solution = robot.inverse_kinematics(robot.forward_kinematics(q), q)
    np.testing.assert_allclose(solution.q, q, atol=1e-7)


@pytest.mark.parametrize("name", ["ur5", "puma560", "scara"])
def test_a_guess_far_away_does_not_make_a_branch_that_fails_the_nearest(name: str) -> None:
    """However far q0 is, a branch within the limits is nearer than one that fails."""
    robot = ch.load(name)
    T = robot.forward_kinematics(within(robot, np.random.default_rng(5), 40))
    for far in (1e3, 1e5, 1e8):
        for sign in (1.0, -1.0):
            assert robot.inverse_kinematics(T, np.full(robot.n, sign * far), method="closed form").success.all()
    limited = np.isfinite(robot.upper_limits - robot.lower_limits)
    far = np.where(limited, 1e155, 1.0)
    for select in ("first", "nearest", "best"):
        assert robot.inverse_kinematics(T, far, method="closed form", select=select).success.all()
        assert robot.inverse_kinematics(T[:3], far, method="numeric", select=select).success.any()


@pytest.mark.parametrize(("select", "name"), paired(["nearest", "all"], ["ur5", "puma560", "scara", "iiwa14"]))
def test_a_single_target_gives_the_bits_that_it_gives_in_a_batch(name: str, select: str) -> None:
    arm = ch.load(name)
    q = np.random.default_rng(5).uniform(-1.5, 1.5, (20, arm.n))
    targets, options = arm.forward_kinematics(q), {"select": select, "method": "closed form", "limits": False}
    batch = arm.inverse_kinematics(targets, **options)
    for k, target in enumerate(targets):
        np.testing.assert_array_equal(arm.inverse_kinematics(target, **options).rows, batch.rows[k])


def test_the_core_of_a_call_is_a_function_with_a_program() -> None:
    arm = ch.load("ur5")
    target = arm.forward_kinematics([0.3, -1.0, 1.5, -0.8, 0.5, 0.2])
    function = arm.inverse_kinematics.specialize(select="all", limits=False)
    rows = function(target, np.zeros(6), np.full(2, 1e-6))
    np.testing.assert_array_equal(rows, arm.inverse_kinematics(target, select="all", limits=False, q0=np.zeros(6)).rows)
    assert [argument.name for argument in arm.inverse_kinematics.program.inputs] == [
        "T_world_goal",
        "near",
        "tolerance",
    ]
    assert [output.name for output in ch.load("panda").inverse_kinematics.program.outputs] == ["state_next", "done"]


def test_solutions_are_indexed_by_their_batch_axes() -> None:
    arm = ch.load("ur5")
    targets = arm.forward_kinematics(np.random.default_rng(1).uniform(-1.0, 1.0, (3, 6)))
    solutions = arm.inverse_kinematics(targets, select="all", limits=False)
    assert solutions[1].q.shape == (8, 6)
    assert solutions[..., 0].q.shape == (3, 6)
    np.testing.assert_array_equal(solutions[solutions.success].q, solutions.q[solutions.success])
    with pytest.raises(IndexError):
        solutions[0, 0, 0]


def test_options_that_equal_each_other_are_told_apart() -> None:
    ik = ch.load("ur5").inverse_kinematics
    target = ch.load("ur5").forward_kinematics(np.full(6, 0.3))
    ik(target, limits=True, starts=1)
    for wrong in ({"limits": 1}, {"starts": True}, {"target": ["tool"]}, {"select": ["all"]}):
        with pytest.raises(ch.ChaslesError):
            ik(target, **wrong)


@pytest.mark.parametrize("q5", [0.0, np.pi])
def test_where_two_wrist_axes_are_parallel_all_families_of_solutions_are_found(q5: float, rng, confirm) -> None:
    """The UR5 with q5 = 0 or π: axes 2, 3, 4 and 6 are parallel, and q6 is free, as near to q0 as may be."""
    arm = ch.load("ur5")
    q = rng.uniform(-3.0, 3.0, (40, 6))
    q[:, 4] = q5
    T = arm.forward_kinematics(q)
    every = arm.inverse_kinematics(T, q, select="all", limits=False, method="closed form")
    confirm(arm, arm.inverse_kinematics(T, q), T)
    apart = np.abs(np.remainder(every.q - q[:, None] + np.pi, 2.0 * np.pi) - np.pi).max(axis=-1)
    member = np.where(every.success, apart, np.inf)
    assert member.min(axis=1).max() < 1e-6  # the family that each configuration belongs to, at its own q6
    own = member.argmin(axis=1)
    assert every.infinite[np.arange(40), own].all()
    # The other elbow and, where it reaches, the other shoulder are found as well.
    elbow = np.abs(np.remainder(every.q[..., 2] + q[:, None, 2] + np.pi, 2.0 * np.pi) - np.pi)
    assert (np.where(every.success & every.infinite, elbow, np.inf).min(axis=1) < 1e-6).all()
