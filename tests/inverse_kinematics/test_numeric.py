"""The iteration: real and random robots, limits, tasks, choices; every claim is checked by forward kinematics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.inverse_kinematics.arms import QUARTER, dh_robot, within
from tests.thinning import thinned

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.inverse_kinematics import Status
from chasles.model import parse_urdf


def numeric(robot: ch.Robot, T, *arguments, **keywords):
    return robot.inverse_kinematics(T, *arguments, method="numeric", **keywords)


@pytest.mark.parametrize("name", ["panda", "iiwa14", "ur5", "puma560", "stanford", "scara"])
def test_reachable_targets_are_reached_within_the_limits(name: str, rng, confirm) -> None:
    robot = ch.load(name)
    T = robot.forward_kinematics(within(robot, rng, 1000))
    solution = numeric(robot, T, max_iterations=3000)
    confirm(robot, solution, T)
    assert solution.success.mean() >= 0.999
    assert (solution.limit_margin[solution.success] >= 0.0).all()


def test_targets_do_not_influence_each_other(rng) -> None:
    robot = ch.load("panda")
    T = robot.forward_kinematics(within(robot, rng, 50)).reshape(5, 10, 4, 4)
    together = numeric(robot, T)
    assert together.q.shape == (5, 10, 7)
    for index in [(0, 0), (2, 3), (4, 9)]:
        alone = numeric(robot, T[index])
        np.testing.assert_array_equal(alone.q, together.q[index])
        assert alone.iterations == together.iterations[index]
        np.testing.assert_array_equal(together[index].q, alone.q)
    np.testing.assert_array_equal(numeric(robot, T, seed=3).q, numeric(robot, T, seed=3).q)
    assert (numeric(robot, T, seed=3).restarts != together.restarts).any()


@pytest.mark.parametrize("n", thinned([1, 2, 3, 5, 7, 9, 6, 12], keep=4))
def test_random_robots_of_any_length(n: int, rng, confirm) -> None:
    for _ in range(3):
        kinds = ["prismatic" if n > 2 and k == 1 else "revolute" for k in range(n)]
        robot = dh_robot(
            rng.uniform(-np.pi, np.pi, n), rng.uniform(0.1, 0.5, n), rng.uniform(0.0, 0.5, n), kinds=kinds,
            limits=(-2.0, 2.0),
        )  # fmt: skip
        T = robot.forward_kinematics(rng.uniform(-2.0, 2.0, (50, n)))
        solution = numeric(robot, T, max_iterations=4000)
        confirm(robot, solution, T)
        assert solution.success.mean() >= 0.98


def test_a_start_close_to_the_solution_leads_to_it(rng) -> None:
    robot = ch.load("ur5")
    q = rng.uniform(-2.5, 2.5, (200, 6))
    solution = numeric(robot, robot.forward_kinematics(q), q + rng.uniform(-1e-3, 1e-3, q.shape))
    singular = np.abs(np.sin(q[:, [2, 4]])).min(axis=1) < 0.1
    assert solution.success.all()
    np.testing.assert_allclose(solution.q[~singular], q[~singular], atol=1e-3)


def test_joints_that_turn_freely_end_near_the_start(rng) -> None:
    robot = dh_robot(
        [QUARTER, -QUARTER, QUARTER] * 2, [0.3] * 6, [0.2] * 6, kinds=["continuous"] * 6, limits=(-np.inf, np.inf)
    )
    q0 = rng.uniform(-20.0, 20.0, (100, 6))
    T = robot.forward_kinematics(rng.uniform(-np.pi, np.pi, (100, 6)))
    solution = numeric(robot, T, q0)
    assert solution.success.all()
    assert np.isinf(solution.limit_margin).all()
    assert np.abs(solution.q - q0).max() <= np.pi + 1e-9
    assert np.abs(numeric(robot, T).q).max() <= np.pi + 1e-9


def test_limits_wider_than_a_turn_are_used(rng) -> None:
    robot = ch.load("ur5")  # all joints turn by 2 π either way
    q = rng.uniform(3.5, 6.0, (100, 6))
    q[:, 2] = rng.uniform(1.0, 3.0, 100)
    T = robot.forward_kinematics(q)
    solution = numeric(robot, T, q)
    assert solution.success.all()
    np.testing.assert_allclose(solution.q, q, atol=1e-6)


@pytest.mark.parametrize("limit", [(-np.inf, 0.5), (-0.5, np.inf), (-np.inf, np.inf)])
def test_infinite_limits_of_sliding_joints(limit, rng, confirm) -> None:
    robot = dh_robot([QUARTER, QUARTER, 0.0, QUARTER], [0.0, 0.0, 0.2, 0.2], [0.1, 0.1, 0.0, 0.1],
                     kinds=["prismatic", "prismatic", "revolute", "revolute"], limits=limit)  # fmt: skip
    T = robot.forward_kinematics(rng.uniform(-0.4, 0.4, (100, 4)))
    solution = numeric(robot, T)
    confirm(robot, solution, T)
    assert solution.success.all()


def test_limits_can_be_left_out() -> None:
    robot = dh_robot([0.0, 0.0], [1.0, 1.0], [0.0, 0.0], limits=(-0.1, 0.1))
    T = robot.forward_kinematics([1.0, 0.5])
    assert not numeric(robot, T).success
    assert numeric(robot, T, limits=False).success
    assert numeric(robot, T).status == Status.NOT_FOUND


def test_mimicking_joints_narrow_the_limits() -> None:
    urdf = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
      <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
    <joint name="k" type="revolute"><parent link="b"/><child link="c"/><origin xyz="1 0 0"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/>
      <mimic joint="j" multiplier="2" offset="0.2"/></joint></robot>"""
    robot = ch.Robot(parse_urdf(urdf))
    inside = numeric(robot, robot.forward_kinematics([0.3], target="c"), target="c")
    assert inside.success
    np.testing.assert_allclose(inside.limit_margin, 0.1, atol=1e-6)  # 2 q + 0.2 <= 1
    assert not numeric(robot, robot.forward_kinematics([0.5], target="c"), target="c").success


@pytest.mark.parametrize(
    ("mask", "axes", "displacements"),
    [
        ("position", [], [0, 1, 2]),
        ("orientation", [0, 1, 2], []),
        ("direction", "z", []),
        ("position and direction", "z", [0, 1, 2]),
        ([1, 1, 1, 2, 2, 2], [0, 1, 2], [0, 1, 2]),
        ([0, 0, 0, 0, 0, 1], [], [2]),
    ],
)
def test_tasks_that_leave_something_free(mask, axes, displacements, rng) -> None:
    robot = ch.load("panda")
    T = robot.forward_kinematics(within(robot, rng, 100))
    solution = numeric(robot, T, mask=mask, max_iterations=3000)
    assert solution.success.mean() >= 0.99
    reached = robot.forward_kinematics(solution.q)[solution.success]
    T = T[solution.success]
    seen = np.einsum("kji,kj->ki", T[:, :3, :3], reached[:, :3, 3] - T[:, :3, 3])
    assert np.abs(seen[:, displacements]).max(initial=0.0) < 1e-6
    relative = np.swapaxes(T[:, :3, :3], -1, -2) @ reached[:, :3, :3]
    if axes == "z":
        assert np.abs(relative[:, :2, 2]).max() < 1e-6
        assert (relative[:, 2, 2] > 0.0).all()
    elif axes:
        assert Rotation.from_matrix(relative).magnitude().max() < 1e-6


def test_half_a_turn_away_is_no_solution() -> None:
    robot = dh_robot([0.0], [1.0], [0.0], limits=(-0.5, 0.5))
    T = np.eye(4)
    T[0, 3] = 1.0
    T[:3, :3] = np.diag([1.0, -1.0, -1.0])  # half a turn about the link: out of the joint's power
    for mask in ("pose", "orientation", [1, 1, 1, 1, 0, 0]):
        solution = numeric(robot, T, mask=mask)
        assert not solution.success
        np.testing.assert_allclose(solution.residual.angle, np.pi, atol=1e-6)
    T[:3, :3] = np.diag([-1.0, -1.0, 1.0])
    assert not numeric(robot, T, mask="orientation").success
    assert numeric(robot, T, mask=[1, 1, 0, 1, 1, 1]).success  # a turn about z does not count


def test_unreachable_targets_get_the_closest_pose(rng) -> None:
    robot = ch.load("planar2r")  # links of 0.5 m and 0.25 m
    T = np.tile(np.eye(4), (20, 1, 1))
    angle = rng.uniform(-np.pi, np.pi, 20)
    T[:, 0, 3], T[:, 1, 3] = 2.0 * np.cos(angle), 2.0 * np.sin(angle)
    solution = numeric(robot, T, mask="position", limits=False)
    assert not solution.success.any()
    assert (solution.status == Status.OUT_OF_REACH).all()
    np.testing.assert_allclose(solution.residual.distance, 1.25, atol=1e-4)  # stretched towards the target
    T[:, :3, 3] *= 0.1 / 2.0  # inside the hole of 0.25 m
    near = numeric(robot, T, mask="position", limits=False)
    assert (near.status == Status.NOT_FOUND).all()
    np.testing.assert_allclose(near.residual.distance, 0.15, atol=1e-4)
    assert "closest" in str(near)


def test_objectives_use_what_is_left_free(rng, confirm) -> None:
    robot = ch.load("panda")
    q = within(robot, rng, 100)
    T = robot.forward_kinematics(q)
    plain = numeric(robot, T)
    middle = 0.5 * (robot.lower_limits + robot.upper_limits)
    for objective in ("center", "manipulability", "posture"):
        solution = numeric(robot, T, objective=objective, posture=q if objective == "posture" else None)
        confirm(robot, solution, T)
        assert solution.success.mean() >= 0.99
        if objective == "posture":
            assert np.median(np.abs(solution.q - q).max(axis=1)) < np.median(np.abs(plain.q - q).max(axis=1))
        if objective == "center":
            assert np.linalg.norm(solution.q - middle, axis=1).mean() < np.linalg.norm(plain.q - middle, axis=1).mean()
        if objective == "manipulability":
            gain = [np.linalg.svd(robot.jacobian(s.q, frame="body"))[1].prod(axis=-1).mean() for s in (solution, plain)]
            assert gain[0] > gain[1]


def test_selections(rng, confirm) -> None:
    robot = ch.load("panda")
    q = within(robot, rng, 50)
    T = robot.forward_kinematics(q)
    q0 = within(robot, rng, 50)
    every = numeric(robot, T, q0, select="all", starts=6)
    assert every.q.shape == (50, 6, 7)
    nearest, best = (numeric(robot, T, q0, select=select, starts=6) for select in ("nearest", "best"))
    distance = np.where(every.success, np.linalg.norm(every.q - q0[:, None], axis=-1), np.inf)
    # Of solutions that several starts found, to the tolerance of a search, "all" keeps the first.
    np.testing.assert_allclose(np.linalg.norm(nearest.q - q0, axis=-1), distance.min(axis=1), rtol=1e-5)
    margins = np.where(every.success, every.limit_margin, -np.inf).max(axis=1)
    np.testing.assert_allclose(best.limit_margin, margins, atol=1e-5)
    for solution in (nearest, best):
        confirm(robot, solution, T)


def test_tolerances_and_iterations_are_kept() -> None:
    robot = ch.load("panda")
    T = robot.forward_kinematics(robot.home + 0.3)
    tight, loose = (numeric(robot, T, tolerance=t) for t in (1e-12, (1e-2, 1e-3)))
    assert tight.success
    assert tight.residual.distance < 1e-12
    assert loose.success
    assert 1e-9 < loose.residual.distance < 1e-3
    assert loose.iterations < tight.iterations
    assert numeric(robot, T, max_iterations=1).iterations == 1


def test_invalid_targets_are_told_apart_from_valid_ones(rng) -> None:
    robot = ch.load("panda")
    T = robot.forward_kinematics(within(robot, rng, 8))
    good = numeric(robot, T)
    bad = T.copy()
    bad[0, 0, 0] = np.nan
    bad[1, 0, 3] = np.inf
    bad[2, :3, :3] *= 1.01
    bad[3, :3, :3] = np.diag([1.0, 1.0, -1.0])
    bad[4, 3, 3] = 2.0
    solution = numeric(robot, bad)
    assert (solution.status[:5] == Status.INVALID_TARGET).all()
    assert np.isnan(solution.q[:5]).all()
    assert not solution.success[:5].any()
    np.testing.assert_array_equal(solution.q[5:], good.q[5:])
    assert "not a pose" in str(solution)


def test_singular_and_limit_targets(confirm) -> None:
    robot = ch.load("panda")
    q = np.array([np.zeros(7) + 1e-12, robot.lower_limits, robot.upper_limits])
    q = np.clip(q, robot.lower_limits, robot.upper_limits)
    T = robot.forward_kinematics(q)
    solution = numeric(robot, T, tolerance=1e-5, max_iterations=5000)
    confirm(robot, solution, T, tolerance=1e-5)
    assert solution.success.all()


def test_wrong_arguments_say_what_is_wrong() -> None:
    robot = ch.load("panda")
    T = robot.forward_kinematics(robot.home)
    ik = robot.inverse_kinematics
    wrong = [
        ((np.eye(3),), {}, r"T_world_target has shape \(3, 3\); expected \(\.\.\., 4, 4\)"),
        ((T, np.zeros(3)), {}, "q0 has shape"),
        ((T, np.full(7, np.nan)), {}, "finite"),
        ((["x"],), {}, "T_world_target must be an array of real numbers"),
        ((T,), {"tolerance": -1.0}, "tolerance"),
        ((T,), {"tolerance": (1.0, 2.0, 3.0)}, "tolerance"),
        ((T,), {"max_iterations": 0}, "max_iterations"),
        ((T,), {"max_iterations": np.inf}, "max_iterations"),
        ((T,), {"seed": -1}, "seed"),
        ((T,), {"seed": "lucky"}, "seed"),
        ((np.stack([T, T, T]), np.zeros((2, 7))), {}, r"\(2,\) of q0 do not broadcast against \(3,\)"),
        ((T,), {"objective": "posture", "posture": np.full(7, np.inf)}, r"posture\[0\] is inf; it must be finite"),
        ((T,), {"select": "nearest", "starts": 0}, "starts"),
        ((T,), {"mask": [1, 2]}, "six weights"),
        ((T,), {"mask": np.zeros(6)}, "six weights"),
        ((T,), {"mask": object()}, "six weights"),
        ((T,), {"posture": np.zeros(7)}, "only with objective='posture'"),
        ((T,), {"method": "closed form"}, "no closed form"),
        ((T,), {"elbow_angle": 0.1}, "elbow angle"),
        ((T,), {"method": "closed form", "objective": "center"}, "no objective"),
    ]
    for arguments, keywords, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            ik(*arguments, **keywords)
    for keywords in (
        {"target": "nose"},
        {"target": None},
        {"mask": "smell"},
        {"select": "worst"},
        {"objective": "joy"},
        {"method": "luck"},
    ):
        with pytest.raises(UnknownNameError):
            ik(T, **keywords)


WRONG_OPTIONS = [
    ({"max_iterations": 0}, "max_iterations must be a whole number from 1 to 1,000,000,000, not 0"),
    ({"max_iterations": 10**18}, "max_iterations must be a whole number from 1 to 1,000,000,000, not 10"),
    ({"max_iterations": np.inf}, "max_iterations must be .* not inf"),
    ({"max_iterations": np.nan}, "max_iterations must be .* not nan"),
    ({"max_iterations": 2.5}, "max_iterations must be .* not 2.5"),
    ({"max_iterations": True}, "max_iterations must be .* not True"),
    ({"max_iterations": [5]}, r"max_iterations must be .* not \[5\]"),
    ({"seed": -1}, "seed must be a whole number from 0 to 18,446,744,073,709,551,615, not -1"),
    ({"seed": "x"}, "seed must be .* not 'x'"),
    ({"seed": 1e300}, r"seed must be .* not 1e\+300"),
    ({"seed": None}, "seed must be .* not None"),
    ({"starts": 0}, "starts must be a whole number from 1 to 100,000, not 0"),
    ({"starts": 10**12}, "starts must be .* not 1000000000000"),
    ({"tolerance": 0.0}, r"tolerance\[\d\] is .*; it must be (positive|finite); to leave out"),
    ({"tolerance": np.nan}, r"tolerance\[\d\] is nan; it must be finite; to leave out"),
    ({"tolerance": np.inf}, r"tolerance\[\d\] is inf; it must be finite; to leave out"),
    ({"tolerance": (1e-6, -1.0)}, r"tolerance\[1\] is -1\.0; it must be positive; to leave out"),
    ({"tolerance": "small"}, "tolerance must be an array of real numbers, not 'small'"),
    ({"limits": "no"}, "limits must be True or False, not 'no'"),
    ({"limits": np.ones(2)}, "limits must be True or False"),
    ({"posture": [0.0, np.nan], "objective": "posture"}, r"posture"),
    ({"elbow_angle": np.nan}, "elbow_angle is nan; it must be finite"),
]


@pytest.mark.parametrize("robot_name", ["panda", "ur5", "planar2r", "iiwa14"])
def test_options_are_checked_whatever_solver_answers(robot_name: str) -> None:
    robot = ch.load(robot_name)
    T = robot.forward_kinematics(robot.home)
    for keywords, message in WRONG_OPTIONS:
        for select in ("first", "nearest"):
            with pytest.raises(ArgumentError, match=message):
                robot.inverse_kinematics(T, robot.home, select=select, **keywords)


@pytest.mark.parametrize("robot_name", ["panda", "ur5"])
def test_names_of_any_type_are_unknown_names(robot_name: str) -> None:
    robot = ch.load(robot_name)
    T = robot.forward_kinematics(robot.home)
    for option in ("select", "method", "objective", "target"):
        for value in ("", 5, ["first"], np.zeros(2)):
            with pytest.raises(UnknownNameError):
                robot.inverse_kinematics(T, **{option: value})


def test_joints_that_do_not_move_the_frame_stay(rng) -> None:
    """A robot with two arms: each call moves one of them."""
    rows = "".join(
        f"""<link name="{side}{k}"/><joint name="{side}_joint{k}" type="revolute">
        <parent link="{side + str(k - 1) if k else "body"}"/><child link="{side}{k}"/><origin xyz="0.3 0 {0.1 * k}"/>
        <axis xyz="{"0 1 0" if k % 2 else "0 0 1"}"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>"""
        for side in ("left", "right")
        for k in range(4)
    )
    robot = ch.Robot(parse_urdf(f'<robot name="twin"><link name="body"/>{rows}</robot>'))
    q0, q = rng.uniform(-2.0, 2.0, (2, 50, 8))
    T = robot.forward_kinematics(q, target="left3")
    others = [name.startswith("right") for name in robot.joint_names]
    for keywords in ({}, {"select": "nearest"}, {"select": "all", "starts": 3}, {"objective": "center"}):
        solution = numeric(robot, T, q0, target="left3", mask="position", **keywords)
        assert solution.success.any()
        start = q0[:, None] if solution.q.ndim == 3 else q0
        np.testing.assert_array_equal((solution.q - start)[..., others], 0.0)
    assert (numeric(robot, T, target="left3").q[:, others] == 0.0).all()  # the middle of the limits


def test_a_robot_without_joints_says_so() -> None:
    block = ch.Robot(parse_urdf('<robot name="block"><link name="block"/></robot>'))
    with pytest.raises(ArgumentError, match="'block' has no joints"):
        block.inverse_kinematics(np.eye(4))


def test_no_targets_and_another_frame(rng) -> None:
    robot = ch.load("panda")
    empty = numeric(robot, np.zeros((0, 4, 4)))
    assert empty.q.shape == (0, 7)
    assert str(empty).startswith("0 of 0")
    frame = robot.frame_names[5]
    T = robot.forward_kinematics(within(robot, rng, 20), target=frame)
    solution = numeric(robot, T, target=frame)
    assert solution.success.all()
    np.testing.assert_allclose(robot.forward_kinematics(solution.q, target=frame), T, atol=3e-6)


def test_all_solutions_of_a_search_are_different_ones(rng, confirm) -> None:
    """The planar arm has two; what a search finds are the two of its closed form."""
    arm = ch.load("planar2r")
    T = arm.forward_kinematics([[0.3, 1.0], [0.3, 0.0], [0.3, -0.5]])
    T[1, 0, 3] += 9.0
    found = numeric(arm, T, mask="position", select="all", starts=12)
    assert found.q.shape == (3, 2, 2)
    assert found.success.tolist() == [[True, True], [False, False], [True, True]]
    assert found.status[1].tolist() == [Status.OUT_OF_REACH, Status.NO_FURTHER]
    assert np.isnan(found.q[1, 1]).all()
    exact = arm.inverse_kinematics(T, mask="position", select="all")
    for row in (0, 2):
        np.testing.assert_allclose(sorted(found.q[row].tolist()), sorted(exact.q[row].tolist()), atol=1e-5)
    assert str(found).startswith("4 solutions of 2 of 3 targets, after ")
    assert "1: rows without a solution, because others of the batch have more" in str(found)
    single = numeric(arm, T[0], mask="position", select="all", starts=12)
    assert single.q.shape == (2, 2)
    assert str(single).startswith("2 solutions, after ")
    T[0, 0, 0] = np.nan
    assert numeric(arm, T[0], mask="position", select="all").status.tolist() == [Status.INVALID_TARGET]


def test_positions_alone_are_targets_if_only_they_count(rng) -> None:
    arm = ch.load("panda")
    T = arm.forward_kinematics(within(arm, rng, 6)).reshape(2, 3, 4, 4)
    for mask in ("position", [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]):
        solution = arm.inverse_kinematics(T[..., :3, 3], mask=mask)
        assert solution.success.all()
        p = arm.forward_kinematics(solution.q)[..., :3, 3]
        np.testing.assert_allclose(p, T[..., :3, 3], atol=2e-6)
    assert arm.inverse_kinematics([0.4, 0.1, 0.5], mask="position").q.shape == (7,)
    assert arm.inverse_kinematics([np.nan, 0.1, 0.5], mask="position").status == Status.INVALID_TARGET
    with pytest.raises(ArgumentError, match=r"or with mask='position' positions \(\.\.\., 3\)"):
        arm.inverse_kinematics([0.4, 0.1, 0.5])
