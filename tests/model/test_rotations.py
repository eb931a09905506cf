"""Rotation matrices against SciPy, and their exact entries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from chasles.geometry.elementary import (
    cosine_sine,
    rotation_from_roll_pitch_yaw,
    rotation_taking_z_to,
    rotation_x,
    rotation_y,
    rotation_z,
)

angles = st.floats(-20.0, 20.0)
directions = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3)


@pytest.mark.parametrize("quarters", range(-9, 10))
def test_multiples_of_a_quarter_turn_are_exact(quarters: int) -> None:
    expected = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][quarters % 4]
    assert cosine_sine(quarters * math.pi / 2) == expected


@pytest.mark.parametrize("angle", [1e-300, 1e-16, math.pi / 2 + 1e-14, math.pi * (1 + 1e-14)])
def test_angles_beside_a_quarter_turn_are_not_rounded(angle: float) -> None:
    assert cosine_sine(angle) == (math.cos(angle), math.sin(angle))


@pytest.mark.parametrize("angle", [math.inf, -math.inf, math.nan])
def test_no_number_gives_no_number(angle: float) -> None:
    assert np.isnan(cosine_sine(angle)).all()


@given(angles)
def test_coordinate_axes_agree_with_scipy(angle: float) -> None:
    for rotation, axis in ((rotation_x, "x"), (rotation_y, "y"), (rotation_z, "z")):
        assert np.abs(rotation(angle) - Rotation.from_euler(axis, angle).as_matrix()).max() < 1e-14


@given(angles, angles, angles)
def test_roll_pitch_yaw_agrees_with_scipy(roll: float, pitch: float, yaw: float) -> None:
    expected = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    assert np.abs(rotation_from_roll_pitch_yaw([roll, pitch, yaw]) - expected).max() < 1e-14


@given(directions)
def test_taking_z_to_an_axis_is_a_rotation(direction: tuple[float, ...]) -> None:
    axis = np.array(direction) / np.linalg.norm(direction)
    R = rotation_taking_z_to(axis)
    assert np.abs(R[:, 2] - axis).max() < 1e-15
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-15 * 4
    assert np.linalg.det(R) > 0.0


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3)])
def test_taking_z_to_a_coordinate_axis_is_a_signed_permutation(axis: np.ndarray) -> None:
    R = rotation_taking_z_to(axis)
    assert set(np.abs(R).ravel()) == {0.0, 1.0}
    assert (axis == R @ [0.0, 0.0, 1.0]).all()


@pytest.mark.parametrize("tilt", [1e-3, 1e-8, 1e-12, 1e-16])
def test_taking_z_to_an_axis_is_well_conditioned_near_minus_z(tilt: float) -> None:
    axis = np.array([math.sin(tilt), 0.0, -math.cos(tilt)])
    R = rotation_taking_z_to(axis)
    assert np.abs(R.T @ R - np.eye(3)).max() < 1e-15
    assert (R[:, 2] == axis).all()
