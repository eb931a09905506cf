"""Subproblems of closed forms: angles against SciPy's rotations, the closest ones, and vectors on the axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from chasles.inverse_kinematics.closed_form.subproblems import (
    Turn,
    orientations,
    perpendicular,
    turn_taking,
    turns_at_distance,
    turns_meeting,
    turns_reaching,
)

ANGLES = np.linspace(-np.pi, np.pi, 721)


def unit(rng: np.random.Generator) -> np.ndarray:
    v = rng.normal(size=3)
    return np.asarray(v / np.linalg.norm(v))


def turned(axis: Any, angle: Any, p: Any) -> np.ndarray:
    return np.asarray(Rotation.from_rotvec(np.multiply.outer(angle, axis)).apply(p))


def is_rotation(turn: Turn) -> bool:
    return abs(turn.cosine**2 + turn.sine**2 - 1.0) < 1e-14


@pytest.mark.parametrize("seed", range(20))
def test_a_turn_takes_a_vector_as_far_as_it_can(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axis, p, other, angle = unit(rng), rng.normal(size=3), rng.normal(size=3), rng.uniform(-np.pi, np.pi)
    turn = turn_taking(p, turned(axis, angle, p), axis)
    assert turn.angle == pytest.approx(angle, abs=1e-13)
    assert not turn.free
    assert not turn.lost
    np.testing.assert_allclose(turn.forth(other), turned(axis, angle, other), atol=1e-14)
    np.testing.assert_allclose(turn.back(turn.forth(other)), other, atol=1e-14)
    np.testing.assert_allclose(turn.along(-axis).forth(other), turned(axis, angle, other), atol=1e-14)
    np.testing.assert_allclose(turn.along(axis).forth(other), turned(axis, angle, other), atol=1e-14)
    np.testing.assert_allclose(turn.about(-axis).forth(other), turned(axis, -angle, other), atol=1e-14)
    closest = turn_taking(p, other, axis)
    assert is_rotation(closest)
    assert np.linalg.norm(closest.forth(p) - other) <= np.linalg.norm(turned(axis, ANGLES, p) - other, axis=1).min()


@pytest.mark.parametrize("seed", range(20))
def test_both_turns_reach_a_height_and_a_distance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axis, plane, p, other, angle = unit(rng), unit(rng), *rng.normal(size=(2, 3)), rng.uniform(-np.pi, np.pi)
    reached = turned(axis, angle, p)
    for turns, value in (
        (turns_reaching(plane, p, axis, plane @ reached), lambda x: plane @ x - plane @ reached),
        (
            turns_at_distance(p, other, axis, np.sum((reached - other) ** 2)),
            lambda x: np.linalg.norm(x - other) - np.linalg.norm(reached - other),
        ),
    ):
        assert all(map(is_rotation, turns))
        assert min(abs(np.sin((turn.angle - angle) / 2.0)) for turn in turns) < 1e-6
        assert max(abs(value(turn.forth(p))) for turn in turns) < 1e-13
        assert turns[0].angle != turns[1].angle
    heights = turned(axis, ANGLES, p) @ plane
    for height, closest in ((10.0, heights.max()), (-10.0, heights.min())):
        for turn in turns_reaching(plane, p, axis, height):
            assert is_rotation(turn)
            assert plane @ turn.forth(p) == pytest.approx(closest, abs=1e-4)
            assert abs(height - plane @ turn.forth(p)) <= abs(height - closest)


def test_vectors_on_the_axis_are_left_where_they_are() -> None:
    """Any angle would do, so the turn says that its own means nothing, and is by none."""
    axis, plane, other = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([0.3, -0.2, 0.7])
    for turn in (turn_taking(2.0 * axis, other, axis), *turns_reaching(plane, 2.0 * axis, axis, 0.5)):
        assert turn.free
        assert turn.lost
        assert turn.forth(other).tolist() == other.tolist()
        np.testing.assert_allclose(turn.or_near(0.4).forth(other), turned(axis, 0.4, other), atol=1e-15)
    near = np.array([1e-9, 0.0, 1.0])
    for turn in (turn_taking(near, near, axis), *turns_reaching(plane, near, axis, 0.0)):
        assert turn.free
        assert not turn.lost
        assert is_rotation(turn)
        assert turn.or_near(0.4).angle == turn.angle


@pytest.mark.parametrize("seed", range(20))
def test_two_turns_make_vectors_meet_and_three_make_a_rotation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, p = unit(rng), unit(rng), rng.normal(size=3)
    a, b = rng.uniform(-np.pi, np.pi, 2)
    other = turned(second, -b, turned(first, a, p))
    pairs = turns_meeting(p, first, other, second)
    assert min(abs(np.sin((one.angle - a) / 2.0)) + abs(np.sin((two.angle - b) / 2.0)) for one, two in pairs) < 1e-6
    for one, two in pairs:
        np.testing.assert_allclose(one.forth(p), two.forth(other), atol=1e-13)
    across = perpendicular(first)
    third = first if seed % 2 else unit(rng)
    for middle in (across, second) if seed % 2 else (second,):
        angles = rng.uniform(-np.pi, np.pi, 3)
        R = np.eye(3)
        for axis, angle in zip((first, middle, third), angles, strict=True):
            R = R @ Rotation.from_rotvec(angle * axis).as_matrix()
        triples = orientations(R, first, middle, third, 0.0)
        found = [[turn.angle for turn in triple] for triple in triples]
        assert np.abs(np.sin((np.array(found) - angles) / 2.0)).sum(axis=1).min() < 1e-6
        for one, two, three in triples:
            product = np.array([one.forth(two.forth(three.forth(e))) for e in np.eye(3)]).T
            np.testing.assert_allclose(product, R, atol=1e-12)


@pytest.mark.parametrize(
    "axis", [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, -0.8], [0.48, 0.6, 0.64]]
)
def test_a_unit_vector_across_an_axis(axis: list[float]) -> None:
    across = perpendicular(np.array(axis))
    assert across @ axis == pytest.approx(0.0, abs=1e-15)
    assert np.linalg.norm(across) == pytest.approx(1.0, abs=1e-15)
