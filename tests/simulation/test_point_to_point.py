"""Point-to-point motion: ends, derivatives, and refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import chasles as ch
from chasles.errors import ArgumentError, UnknownNameError

START, GOAL = np.array([0.1, -2.0, 0.0]), np.array([1.0, 3.0, 0.0])


@pytest.mark.parametrize("scaling", ["cubic", "quintic"])
def test_it_starts_and_ends_at_rest(scaling: str) -> None:
    motion = ch.PointToPoint(START, GOAL, 1.5, scaling=scaling)
    for t, q in ((-1.0, START), (0.0, START), (1.5, GOAL), (9.0, GOAL)):
        np.testing.assert_allclose(motion(t).q, q, atol=1e-15)
        np.testing.assert_allclose(motion(t).qd, 0.0, atol=1e-15)
    np.testing.assert_array_equal(motion([-0.1, 1.6]).qdd, 0.0)


@pytest.mark.parametrize("scaling", ["cubic", "quintic"])
def test_velocity_and_acceleration_are_derivatives(scaling: str) -> None:
    motion = ch.PointToPoint(START, GOAL, 1.5, scaling=scaling)
    t = np.linspace(0.05, 1.45, 57)
    h = 1e-4
    before, here, after = motion(t - h), motion(t), motion(t + h)
    np.testing.assert_allclose(here.qd, (after.q - before.q) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(here.qdd, (after.qd - before.qd) / (2 * h), atol=1e-5)


def test_the_quintic_has_the_coefficients_of_the_book() -> None:
    """Modern Robotics 9.2.2.2: s = 10 x³ - 15 x⁴ + 6 x⁵."""
    x = np.linspace(0, 1, 11)
    expected = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])(x)
    np.testing.assert_allclose(ch.PointToPoint([0.0], [1.0], 1.0)(x).q[:, 0], expected, atol=1e-15)


def test_times_of_any_shape() -> None:
    assert ch.PointToPoint(START, GOAL, 1.0)(np.zeros((2, 3))).qdd.shape == (2, 3, 3)


def test_start_equal_to_goal_rests() -> None:
    motion = ch.PointToPoint(START, START, 1.0)(np.linspace(0, 1, 5))
    np.testing.assert_array_equal(motion.q, np.tile(START, (5, 1)))
    np.testing.assert_array_equal(motion.qd, 0.0)


def test_it_pickles() -> None:
    motion = ch.PointToPoint(START, GOAL, 1.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(motion))(0.3).q, motion(0.3).q)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], [0.0, 1.0], 1.0), "start has 1 joints, goal 2"),
        (([np.nan], [0.0], 1.0), "start must be finite"),
        (([0.0], [np.inf], 1.0), "goal must be finite"),
        (([[0.0]], [0.0], 1.0), r"start must have shape \(n,\)"),
        ((["a"], [0.0], 1.0), "start must be an array of numbers"),
        (([0.0], [1.0], 0.0), "duration must be a positive"),
        (([0.0], [1.0], -1.0), "duration must be a positive"),
        (([0.0], [1.0], np.nan), "duration must be a positive"),
    ],
)
def test_bad_input_is_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ch.PointToPoint(*arguments)


def test_unknown_scalings_list_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match="cubic, quintic"):
        ch.PointToPoint([0.0], [1.0], 1.0, scaling="septic")
