"""Piecewise polynomials against NumPy's, over times and batches of any shape."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.base.sealed import SealedError
from chasles.engine import Function
from chasles.trajectories import PiecewisePolynomial

KNOTS = np.array([-1.0, 0.0, 1.5, 2.0])
COEFFICIENTS = np.random.default_rng(0).normal(size=(4, 3, 3, 6, 2))


def expected(t: float, coefficients: np.ndarray) -> np.ndarray:
    """The position and its first three derivatives, (4, n)."""
    inside = min(max(t, KNOTS[0]), KNOTS[-1])
    piece = min(int(np.searchsorted(KNOTS, inside, side="right")) - 1, 2)
    rows = []
    for joint in range(2):
        p = np.polynomial.Polynomial(coefficients[piece, :, joint])
        rows.append(
            [p.deriv(order)(inside - KNOTS[piece]) if order else p(inside - KNOTS[piece]) for order in range(4)]
        )
    values = np.transpose(rows)
    values[1:] *= KNOTS[0] <= t <= KNOTS[-1]
    return values


@pytest.mark.parametrize(
    "shape", [(), (1,), (50,), (3,), (4, 1), (4, 3), (5, 1, 1), (5, 1, 3), (5, 4, 3), (7, 5, 4, 1), (0, 1, 1)], ids=str
)
def test_values_and_derivatives_at_times_in_any_order(shape: tuple[int, ...]) -> None:
    t = np.random.default_rng(1).uniform(-1.5, 2.5, shape)
    one = PiecewisePolynomial(KNOTS, COEFFICIENTS[0, 0])
    for k, part in enumerate(one.derivatives(t)):
        assert part.shape == (*shape, 2)
        for index in np.ndindex(shape):
            np.testing.assert_allclose(part[index], expected(t[index], COEFFICIENTS[0, 0])[k], rtol=1e-13, atol=1e-13)
    if shape == (50,):
        return
    many = PiecewisePolynomial(KNOTS, COEFFICIENTS)
    common = np.broadcast_shapes(shape, (4, 3))
    times = np.broadcast_to(t, common)
    for k, part in enumerate(many.derivatives(t)):
        assert part.shape == (*common, 2)
        for index in np.ndindex(common):
            wanted = expected(times[index], COEFFICIENTS[index[-2:]])[k]
            np.testing.assert_allclose(part[index], wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("shape", [(), (3,), (4, 1), (4, 3), (5, 1, 1), (5, 4, 3), (0, 1, 1)], ids=str)
def test_each_trajectory_of_a_batch_may_have_knots_of_its_own(shape: tuple[int, ...]) -> None:
    """They are those of one alone, bit for bit; on the knots too."""
    rng = np.random.default_rng(2)
    knots = np.cumsum(rng.uniform(0.1, 1.0, (4, 3, 4)), axis=-1)
    t = rng.uniform(0.0, 4.0, shape)
    many = PiecewisePolynomial(knots, COEFFICIENTS)
    common = np.broadcast_shapes(shape, (4, 3))
    times = np.broadcast_to(t, common)
    for index in np.ndindex(common):
        one = PiecewisePolynomial(knots[index[-2:]], COEFFICIENTS[index[-2:]])
        for part, wanted in zip(many.derivatives(t), one.derivatives(times[index]), strict=True):
            np.testing.assert_array_equal(part[index], wanted)
    at_knots = many(np.moveaxis(knots, -1, 0)).qd
    for index in np.ndindex(4, 3):
        one = PiecewisePolynomial(knots[index], COEFFICIENTS[index])
        np.testing.assert_array_equal(at_knots[(slice(None), *index)], one(knots[index]).qd)
    assert many.duration.shape == many.batch == (4, 3)
    for batch in [(3,), (4, 1), (1, 4, 3)]:
        with pytest.raises(ArgumentError, match="batch of coefficients is"):
            PiecewisePolynomial(np.broadcast_to(KNOTS, (*batch, 4)), COEFFICIENTS)


def test_knots_belong_to_the_piece_that_begins_there_and_the_end_to_the_last() -> None:
    steps = PiecewisePolynomial([0.0, 1.0, 2.0], [[[0.0], [1.0]], [[1.0], [3.0]]])
    np.testing.assert_array_equal(steps([0.0, 1.0, 2.0]).qd[:, 0], [1.0, 3.0, 3.0])
    np.testing.assert_array_equal(steps([np.nextafter(0.0, -1.0), np.nextafter(2.0, 3.0)]).qd[:, 0], 0.0)
    assert np.isnan(steps([0.5, np.nan]).q).tolist() == [[False], [True]]


def test_bad_input_is_named() -> None:
    with pytest.raises(ArgumentError, match="knots must be two or more increasing times"):
        PiecewisePolynomial([0.0, 1.0, 1.0], np.zeros((2, 2, 1)))
    with pytest.raises(ArgumentError, match="knots must be two or more increasing times"):
        PiecewisePolynomial([0.0], np.zeros((0, 2, 1)))
    with pytest.raises(
        ArgumentError, match=r"coefficients has shape \(1, 2, 1\); expected \(\.\.\., 2, order \+ 1, n\)"
    ):
        PiecewisePolynomial([0.0, 1.0, 2.0], np.zeros((1, 2, 1)))
    with pytest.raises(ArgumentError, match=r"coefficients\[0, 0, 0\] is nan; it must be finite"):
        PiecewisePolynomial([0.0, 1.0], np.full((1, 2, 1), np.nan))


def test_trajectories_offer_their_programs() -> None:
    T = np.eye(4)
    goal = np.array([[1.0, 0.0, 0.0, 0.3], [0.0, 0.0, -1.0, 0.1], [0.0, 1.0, 0.0, 0.2], [0.0, 0.0, 0.0, 1.0]])
    motion = ch.PointToPoint([0.0, 1.0], [1.0, -1.0], duration=2.0, scaling="trapezoid")
    for own, values in (
        (motion, motion.parameters.values()),
        (line := ch.StraightLine(T, goal, duration=2.0), line.parameters.values()),
        (spline := ch.CubicSpline([0.0, 3.0], [[0.0, 1.0], [1.0, -1.0]]), [spline.coefficients[0]]),
        (poses := ch.PoseSpline([0.0, 3.0], [T, goal]), [part[0] for part in poses.pieces]),
    ):
        results = Function(own.program)(0.7, *values)
        for expected, found in zip(own(0.7), results, strict=False):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert "double" in Function(own.program).to_c()[0]


def test_trajectories_never_change() -> None:
    spline = ch.CubicSpline([0.0, 3.0], [[0.0, 1.0], [1.0, -1.0]])
    for motion, name in ((spline, "knots"), (ch.PointToPoint([0.0], [1.0], duration=1.0), "goal")):
        with pytest.raises(SealedError, match=f"its {name} cannot be assigned"):
            setattr(motion, name, 0.0)
        assert pickle.loads(pickle.dumps(motion))(0.5).q.tolist() == motion(0.5).q.tolist()
