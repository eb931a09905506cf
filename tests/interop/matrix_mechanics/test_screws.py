from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import twist_from_velocity_matrix, velocity_matrix
from chasles.interop.matrix_mechanics import (
    joint_motion_matrices,
    joint_screw_matrix,
    screw_from_velocity_matrix,
    unit_screw_matrix,
    velocity_matrix_from_screw,
)

SEEDS = st.integers(0, 2**32 - 1)
LEADS = ((), (1,), (3, 1, 2))


def unit_vectors(rng: np.random.Generator, lead: tuple[int, ...] = ()) -> np.ndarray:
    vectors = rng.normal(size=(*lead, 3))
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


@given(SEEDS, st.sampled_from(["revolute", "prismatic"]))
def test_joint_moves_as_its_differentiated_displacement(seed: int, joint: str) -> None:
    rng = np.random.default_rng(seed)
    axis, point, pitch, (q, qd, qdd) = unit_vectors(rng), rng.normal(size=3), rng.normal(), rng.normal(size=3)
    L = joint_screw_matrix(axis, point, pitch, joint=joint)
    if joint == "revolute":
        on_axis = np.append(point + 1.7 * axis, 1.0)
        assert_allclose((L @ on_axis)[:3], pitch * axis, atol=1e-14)
    else:
        assert_allclose((L @ [*point, 1.0])[:3], axis, atol=1e-15)
    W, H = joint_motion_matrices(L, qd, qdd)

    def displacement(t: float) -> np.ndarray:
        return scipy.linalg.expm((q + qd * t + 0.5 * qdd * t * t) * L)

    step = 1e-3
    T, after, before = displacement(0.0), displacement(step), displacement(-step)
    scale = (1 + abs(qd)) ** 3 * (1 + abs(qdd)) ** 2 * (1 + np.abs(L).max()) ** 3
    assert_allclose(W @ T, (after - before) / (2 * step), atol=1e-5 * scale)
    assert_allclose(H @ T, (after - 2 * T + before) / step**2, atol=1e-5 * scale)


def test_joint_about_z_in_the_manual_of_spacelib() -> None:
    """Section 3.2, velacctoWH3 with the numbers of example 3.14 (0.990 where its text has 0.900)."""
    W, H = joint_motion_matrices(joint_screw_matrix([0, 0, 1], [0.4, 0.1, 0], 0.0), 1.5, 0.9)
    assert_allclose(W, [[0, -1.5, 0, 0.15], [1.5, 0, 0, -0.6], [0] * 4, [0] * 4], atol=1e-15)
    assert_allclose(H, [[-2.25, -0.9, 0, 0.99], [0.9, -2.25, 0, -0.135], [0] * 4, [0] * 4], atol=1e-15)


def test_screw_matrices_of_velocities_in_the_manual_of_spacelib() -> None:
    """Examples 3.9 and 3.10."""
    sliding = unit_screw_matrix(velocity_matrix([0.0, 0.0, 0.0, 0.0, 1.4142, 1.4142]))
    assert_allclose(twist_from_velocity_matrix(sliding), [0, 0, 0, 0, math.sqrt(0.5), math.sqrt(0.5)], rtol=1e-15)
    turning = unit_screw_matrix(velocity_matrix([2.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert np.array_equal(twist_from_velocity_matrix(turning), [1, 0, 0, 0, 0, 0])


@given(SEEDS, st.sampled_from(LEADS), st.sampled_from([1e-300, 1e-160, 1e-8, 1.0, 1e150]))
def test_screw_parameters_and_back(seed: int, lead: tuple[int, ...], size: float) -> None:
    rng = np.random.default_rng(seed)
    axis, point = unit_vectors(rng, lead), rng.normal(size=(*lead, 3))
    point -= np.einsum("...i,...i", point, axis)[..., None] * axis
    speed, sliding = size * rng.uniform(0.5, 2.0, size=lead), size * rng.normal(size=lead)
    W = velocity_matrix_from_screw(axis, point, speed, sliding)
    screw = screw_from_velocity_matrix(W)
    assert_allclose(screw.axis, axis, atol=1e-15)
    assert_allclose(screw.point, point, atol=1e-14)
    assert_allclose(screw.angle, speed, rtol=1e-15)
    assert_allclose(screw.translation, sliding, atol=1e-14 * size)
    L = unit_screw_matrix(W)
    assert_allclose(L, joint_screw_matrix(axis, point, sliding / speed), atol=2e-14)


def test_bodies_that_only_slide_or_rest() -> None:
    screw = screw_from_velocity_matrix(velocity_matrix([0.0, 0.0, 0.0, 3.0, 0.0, -4.0]))
    assert_allclose(screw.axis, [0.6, 0.0, -0.8], rtol=1e-15)
    assert (screw.angle, screw.translation, *screw.point) == (0.0, 5.0, 0.0, 0.0, 0.0)
    at_rest = screw_from_velocity_matrix(np.zeros((4, 4)))
    assert [*at_rest.axis, *at_rest.point, at_rest.angle, at_rest.translation] == [0.0] * 8
    assert not unit_screw_matrix(np.zeros((4, 4))).any()


def test_tolerance_takes_rounding_errors_for_no_turning() -> None:
    noisy = velocity_matrix([1e-17, 0.0, -2e-17, 3.0, 0.0, -4.0])
    assert screw_from_velocity_matrix(noisy).translation != 5.0
    assert screw_from_velocity_matrix(noisy, tolerance=1e-12).translation == 5.0
    expected = [0.0, 0.0, 0.0, 0.6, 0.0, -0.8]
    assert_allclose(twist_from_velocity_matrix(unit_screw_matrix(noisy, tolerance=1e-12)), expected, rtol=1e-15)
    slow = velocity_matrix([1e-17, 0.0, -2e-17, 0.0, 0.0, 1e-17])
    assert np.array_equal(unit_screw_matrix(slow, tolerance=1e-12), unit_screw_matrix(slow))


def test_nan_stays_in_its_sample() -> None:
    twists = np.random.default_rng(7).normal(size=(3, 6))
    expected = unit_screw_matrix(velocity_matrix(twists))
    twists[1, 0] = np.nan
    W = velocity_matrix(twists)
    assert np.array_equal(unit_screw_matrix(W)[[0, 2]], expected[[0, 2]])
    assert np.isnan(unit_screw_matrix(W)[1, :3, 3]).all()
    screw = screw_from_velocity_matrix(W, tolerance=1e-12)
    assert np.isnan([*screw.axis[1], *screw.point[1], screw.angle[1], screw.translation[1]]).all()


def test_wrong_arguments() -> None:
    with pytest.raises(UnknownNameError, match=r"joint of this kind 'sliding'.*revolute, prismatic"):
        joint_screw_matrix([0, 0, 1], [0, 0, 0], 0.0, joint="sliding")
    with pytest.raises(ArgumentError, match="axis is not a unit vector: it is 1 away"):
        joint_screw_matrix([0, 0, 2], [0, 0, 0], 0.0, check=True)


def test_symbols_give_the_formula() -> None:
    x, y, z, pitch, qd, qdd = sympy.symbols("x y z p qd qdd", real=True)
    W, H = joint_motion_matrices(joint_screw_matrix([0, 0, 1], [x, y, z], pitch), qd, qdd)
    assert sympy.Matrix(W).equals(
        sympy.Matrix([[0, -qd, 0, qd * y], [qd, 0, 0, -qd * x], [0, 0, 0, pitch * qd], [0] * 4])
    )
    expected = [
        [-(qd**2), -qdd, 0, qdd * y + qd**2 * x],
        [qdd, -(qd**2), 0, -qdd * x + qd**2 * y],
        [0, 0, 0, pitch * qdd],
        [0, 0, 0, 0],
    ]
    assert sympy.simplify(sympy.Matrix(H) - sympy.Matrix(expected)).is_zero_matrix
