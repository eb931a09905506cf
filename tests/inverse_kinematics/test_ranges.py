"""Ranges of coordinates: limits, whole turns towards a configuration, and the reach, against plain counting."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.inverse_kinematics.ranges import TURN, Ranges, position_limits, reach
from chasles.model import build_tree
from chasles.model.formats.urdf import parse_urdf


def one_joint(lower: float, upper: float, *, turning: bool = True) -> Ranges:
    one = np.ones(1)
    return Ranges(lower * one, upper * one, 0.0 * one, one, np.array([turning]), np.array([True]))


def by_counting(position: float, near: float, lower: float, upper: float) -> list[float]:
    """All places within the limits that whole turns lead to, the nearest first; a rounding error beyond counts."""
    places = position + TURN * np.arange(-40, 41)
    inside = places[(places >= lower - 1e-12) & (places <= upper + 1e-12)]
    return sorted(np.clip(inside, lower, upper), key=lambda place: abs(place - near))


def test_whole_turns_lead_to_the_nearest_place_within_the_limits() -> None:
    rng = np.random.default_rng(3)
    for _ in range(1500):
        lower, width = rng.uniform(-20.0, 15.0), rng.choice([0.5, TURN, rng.uniform(0.0, 30.0)])
        upper = lower + width
        lower, upper = rng.choice([lower, -np.inf], p=[0.8, 0.2]), rng.choice([upper, np.inf], p=[0.8, 0.2])
        position, near = rng.uniform(-np.pi, np.pi), rng.uniform(-30.0, 30.0)
        found = float(one_joint(lower, upper).nearest_turn(np.array([position]), np.array([near]))[0])
        np.testing.assert_allclose(np.remainder(found - position + 1.0, TURN), 1.0, atol=1e-12)
        possible = by_counting(position, near, lower, upper)
        if possible:
            assert lower <= found <= upper
            assert abs(found - near) <= abs(possible[0] - near) + 1e-12


@pytest.mark.parametrize("beyond", [-1e-13, 0.0, 1e-13, 5e-12])
@pytest.mark.parametrize("limit", [0.4, 3.0, 200.0, 1.0e6 + 1.0 / 3.0])
@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_joint_turned_onto_its_limit_stands_at_it(turns: int, limit: float, beyond: float) -> None:
    """Rounding may put a place at a limit beyond it by some ulps: it is the limit then, above and below."""
    for sign in (1.0, -1.0):
        start = sign * (limit - turns * TURN + beyond)
        lower, upper = sorted((sign * limit, sign * (limit - 10.0 * TURN)))
        found = float(one_joint(lower, upper).nearest_turn(np.array([start]), np.array([sign * (limit + 1.0)]))[0])
        np.testing.assert_allclose(found, sign * limit, rtol=1e-12, atol=1e-11)
        assert lower <= found <= upper


@pytest.mark.parametrize("beyond", [2e-11, 4e-11, 6e-11, 1e-9])
def test_a_place_beyond_the_limit_is_one_turn_back(beyond: float) -> None:
    """It must not count as reached and then fail: a turn before there is one within the limits."""
    for sign in (1.0, -1.0):
        start = sign * (0.4 - TURN + beyond)
        lower, upper = sorted((sign * 0.4, -sign * 10.0))
        found = float(one_joint(lower, upper).nearest_turn(np.array([start]), np.array([sign * 0.4]))[0])
        assert found == start


def test_joints_that_whole_turns_change_stay() -> None:
    assert one_joint(-9.0, 9.0, turning=False).nearest_turn(np.array([-4.0]), np.array([4.0])) == -4.0


def test_a_robot_ends_near_its_guess_within_the_limits() -> None:
    """The ur5 may turn by two turns: the guess decides, and where it is outside, the limit does."""
    robot = ch.load("ur5")
    rng = np.random.default_rng(4)
    q = rng.uniform(-np.pi, np.pi, (200, 6))
    T = robot.forward_kinematics(q)
    for near in (q + TURN, q - TURN, q + 3.0 * TURN, q - 3.0 * TURN):
        solution = robot.inverse_kinematics(T, near)
        assert solution.success.all()
        assert ((solution.q >= robot.lower_limits) & (solution.q <= robot.upper_limits)).all()
        others = np.stack([solution.q + TURN, solution.q - TURN])
        possible = (others >= robot.lower_limits) & (others <= robot.upper_limits)
        farther = np.abs(others - near) >= np.abs(solution.q - near) - 1e-9
        assert (farther | ~possible).all()


RACK = """<robot name="rack"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
<joint name="turn" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="2"/></joint>
<joint name="slide" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0.5 0 0"/><axis xyz="1 0 0"/>
<limit lower="-0.25" upper="0.5" effort="1" velocity="1"/>
<mimic joint="turn" multiplier="{ratio}" offset="0.1"/></joint>
<joint name="last" type="revolute"><parent link="c"/><child link="d"/><origin xyz="0.5 0 0"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


@pytest.mark.parametrize(
    ("kind", "ratio", "lower", "upper"),
    [
        ("revolute", 0.2, -1.75, 2.0),
        ("revolute", -0.2, -2.0, 1.75),
        ("revolute", 0.01, -3.0, 3.0),
        ("revolute", 0.0, -3.0, 3.0),
        ("continuous", 0.2, -1.75, 2.0),
        ("continuous", 0.0, -np.inf, np.inf),
    ],
)
def test_joints_that_mimic_narrow_the_limits(kind: str, ratio: float, lower: float, upper: float) -> None:
    robot = ch.Robot(parse_urdf(RACK.format(kind=kind, ratio=ratio)))
    np.testing.assert_allclose(position_limits(robot), [[lower, -1.0], [upper, 1.0]])
    ranges = Ranges.of(robot, "d", True, 1.0)
    centre, radius = reach(build_tree(robot.description), "d", ranges)
    np.testing.assert_array_equal(centre, 0.0)
    slide = max(abs(ratio * end + 0.1) for end in (lower, upper)) if ratio else 0.1
    assert radius == pytest.approx(0.5 + 0.5 + slide)
    q = np.array([0.5, -0.4])
    solution = robot.inverse_kinematics(robot.forward_kinematics(q), mask="position")
    assert solution.success
