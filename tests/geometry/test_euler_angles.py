"""Euler and Cardan angles against SciPy, products of elementary rotations at 60 digits, and the manual of SpaceLib."""

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.thinning import paired, thinned

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import (
    EULER_SEQUENCES,
    euler_angle_solutions,
    euler_angles_from_rotation,
    other_euler_angles,
    rotation_from_euler_angles,
)

EPS = np.finfo(float).eps
#: Distances of the middle angle from its singular values.
DISTANCES = [0.0, 1e-300, 1e-170, 1e-20, 1e-16, 3e-16, 1e-15, 1e-13, 1e-10, 1e-8, 1e-6, 1e-3, 0.1, 0.3, 0.32, 0.5, 1.5]


def repeats(sequence):
    return sequence[0] == sequence[2]


def singular_middle_angles(sequence):
    return (0.0, np.pi) if repeats(sequence) else (-np.pi / 2, np.pi / 2)


def exact_rotation(angles, sequence):
    """The rotation at 60 digits."""
    with mpmath.workdps(60):
        R = mpmath.eye(3)
        for letter, angle in zip(sequence, angles, strict=True):
            axis = "xyz".index(letter.lower())
            a, b = (axis + 1) % 3, (axis + 2) % 3
            turn = mpmath.eye(3)
            c, s = mpmath.cos(mpmath.mpf(float(angle))), mpmath.sin(mpmath.mpf(float(angle)))
            turn[a, a], turn[a, b], turn[b, a], turn[b, b] = c, -s, s, c
            R = R * turn if sequence.isupper() else turn * R
        return R


def rounded(matrix):
    return np.array(matrix.tolist(), dtype=float)


def angles_near_the_singularity(sequence, rng):
    """Angles at every distance on both sides of both singular values."""
    angles = [
        [*rng.uniform(-np.pi, np.pi, 3)[[0]], middle + side * distance, *rng.uniform(-np.pi, np.pi, 1)]
        for middle in singular_middle_angles(sequence)
        for distance in DISTANCES
        for side in (-1, 1)
    ]
    return np.array(angles)


def test_there_are_twelve_intrinsic_and_twelve_extrinsic_sequences():
    assert len(set(EULER_SEQUENCES)) == 24
    assert sum(name.isupper() for name in EULER_SEQUENCES) == 12


@pytest.mark.parametrize(("sequence", "shape"), paired(EULER_SEQUENCES, [(), (1,), (3, 1, 2)]))
def test_rotations_are_those_of_scipy(sequence, shape):
    angles = np.random.default_rng(1).uniform(-7.0, 7.0, (*shape, 3))
    expected = Rotation.from_euler(sequence, angles.reshape(-1, 3)).as_matrix().reshape(*shape, 3, 3)
    R = rotation_from_euler_angles(angles, sequence)
    assert R.shape == (*shape, 3, 3)
    np.testing.assert_allclose(R, expected, rtol=0, atol=4 * EPS)


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
def test_rotations_are_exact_to_rounding(sequence):
    angles = np.random.default_rng(2).uniform(-np.pi, np.pi, (20, 3))
    for q, R in zip(angles, rotation_from_euler_angles(angles, sequence), strict=True):
        np.testing.assert_allclose(R, rounded(exact_rotation(q, sequence)), rtol=0, atol=3 * EPS)


@pytest.mark.parametrize(("sequence", "shape"), paired(EULER_SEQUENCES, [(), (1,), (3, 1, 2)]))
def test_first_solution_is_that_of_scipy_away_from_the_singularity(sequence, shape):
    angles = np.random.default_rng(3).uniform(-3.0, 3.0, (*shape, 3))
    angles[..., 1] = np.random.default_rng(4).uniform(0.2, 1.2, shape)
    R = rotation_from_euler_angles(angles, sequence)
    expected = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_euler(sequence).reshape(*shape, 3)
    np.testing.assert_allclose(euler_angles_from_rotation(R, sequence), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(euler_angles_from_rotation(R, sequence), angles, rtol=0, atol=1e-14)


@pytest.mark.parametrize("sequence", thinned(EULER_SEQUENCES, keep=5))
def test_both_solutions_give_the_rotation_again_however_near_the_singularity(sequence):
    """The matrix is the exact one, rounded; what the angles give is computed at 60 digits."""
    for q in angles_near_the_singularity(sequence, np.random.default_rng(5)):
        R = rounded(exact_rotation(q, sequence))
        first, second, _ = euler_angle_solutions(R, sequence)
        np.testing.assert_allclose(rounded(exact_rotation(first, sequence)), R, rtol=0, atol=1e-15)
        np.testing.assert_allclose(rounded(exact_rotation(second, sequence)), R, rtol=0, atol=1.3e-15)


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
def test_matrices_with_rounding_errors_are_given_again_to_these_errors(sequence):
    rng = np.random.default_rng(6)
    Q = Rotation.random(68, random_state=1).as_matrix()
    R = Q @ (np.swapaxes(Q, 1, 2) @ rotation_from_euler_angles(angles_near_the_singularity(sequence, rng), sequence))
    error = np.abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max()
    assert error > EPS
    for solution in euler_angle_solutions(R, sequence)[:2]:
        assert np.abs(rotation_from_euler_angles(solution, sequence) - R).max() < error + 2 * EPS


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
def test_angles_are_in_their_intervals(sequence):
    rng = np.random.default_rng(7)
    angles = np.vstack([angles_near_the_singularity(sequence, rng), rng.integers(-4, 5, (500, 3)) * (np.pi / 2)])
    first, second, _ = euler_angle_solutions(rotation_from_euler_angles(angles, sequence), sequence)
    low, high = singular_middle_angles(sequence)
    assert ((first[:, 1] >= low) & (first[:, 1] <= high)).all()
    for solution in (first, second):
        assert ((solution > -np.pi) & (solution <= np.pi)).all()


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
def test_first_solution_alone_and_second_from_the_first(sequence):
    R = Rotation.random(50, random_state=2).as_matrix()
    first, second, singular = euler_angle_solutions(R, sequence)
    np.testing.assert_array_equal(euler_angles_from_rotation(R, sequence), first)
    np.testing.assert_array_equal(other_euler_angles(first, sequence), second)
    np.testing.assert_allclose(other_euler_angles(second, sequence), first, rtol=0, atol=2 * EPS)
    assert not singular.any()


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
def test_at_the_singularity_the_third_angle_is_zero_and_the_flag_says_so(sequence):
    for middle in singular_middle_angles(sequence):
        R = rotation_from_euler_angles([0.4, middle, -1.1], sequence)
        first, second, singular = euler_angle_solutions(R, sequence)
        assert first[2] == 0.0
        assert second[2] == np.pi
        assert singular is np.True_
        np.testing.assert_allclose(first[1], middle, rtol=0, atol=2e-16)
        # The middle turn takes the third axis to the first one, or to its opposite.
        same = rotation_from_euler_angles([0.0, middle, 0.0], sequence)
        third_axis = np.eye(3)["xyz".index(sequence[2].lower())]
        first_axis = np.eye(3)["xyz".index(sequence[0].lower())]
        turned = same @ third_axis if sequence.isupper() else same.T @ third_axis
        np.testing.assert_allclose(first[0], 0.4 - 1.1 * np.sign(turned @ first_axis), rtol=0, atol=4e-16)


@pytest.mark.parametrize("sequence", ["XYZ", "zyx", "ZXZ", "xyx"])
def test_the_flag_tells_where_the_first_and_third_angle_mean_little(sequence):
    middle = singular_middle_angles(sequence)[1]
    angles = np.array([[0.4, middle - distance, -1.1] for distance in (1e-9, 0.99e-7, 1.01e-7, 1e-3)])
    R = rotation_from_euler_angles(angles, sequence)
    assert euler_angle_solutions(R, sequence).singular.tolist() == [True, True, False, False]
    assert euler_angle_solutions(R, sequence, 1e-8).singular.tolist() == [True, False, False, False]
    assert euler_angle_solutions(R, sequence, tolerance=0.01).singular.all()
    # What the flag announces: here R gives the angles to its own rounding over the distance.
    error = np.abs(euler_angles_from_rotation(R, sequence) - angles).max(axis=1)
    assert (error < 4 * EPS / np.array([1e-9, 1e-7, 1e-7, 1e-3])).all()


@settings(max_examples=150)
@given(
    sequence=st.sampled_from(EULER_SEQUENCES),
    quarters=st.tuples(*[st.integers(-2, 2)] * 3),
    offsets=st.tuples(*[st.sampled_from([0.0, 1e-300, 1e-17, 1e-16, 1e-12, 1e-8, 1e-3]) | st.floats(-0.8, 0.8)] * 3),
)
def test_angles_near_whole_quarter_turns_give_their_rotation(sequence, quarters, offsets):
    angles = np.array(quarters) * (np.pi / 2) + np.array(offsets)
    R = rotation_from_euler_angles(angles, sequence)
    for solution in euler_angle_solutions(R, sequence)[:2]:
        np.testing.assert_allclose(rotation_from_euler_angles(solution, sequence), R, rtol=0, atol=2e-15)


@pytest.mark.parametrize("sequence", thinned(EULER_SEQUENCES, keep=5))
def test_derivatives_of_both_ways_are_inverse_to_each_other(sequence):
    """To rounding, which the derivative of the first and third angle amplifies near the singularity."""
    middle = singular_middle_angles(sequence)[1]
    dR = rotation_from_euler_angles.jacobian(wrt="angles", sequence=sequence)
    dq = euler_angles_from_rotation.jacobian(wrt="R", sequence=sequence)
    for distance in (1.0, 0.1, 1e-3, 1e-6):
        q = np.array([0.4, middle - distance, -1.1])
        product = np.einsum("iab,abj->ij", dq(rotation_from_euler_angles(q, sequence)), dR(q))
        np.testing.assert_allclose(product, np.eye(3), rtol=0, atol=10 * EPS / distance)


def test_derivatives_of_rotations_are_those_of_60_digits():
    q, h = np.array([0.3, 1e-9, -2.0]), mpmath.mpf(10) ** -25
    for sequence in ("XYZ", "zxz"):
        dR = rotation_from_euler_angles.jacobian(wrt="angles", sequence=sequence)(q)
        with mpmath.workdps(60):
            x = [mpmath.mpf(float(value)) for value in q]
        for k in range(3):
            with mpmath.workdps(60):
                plus, minus = list(x), list(x)
                plus[k] += h
                minus[k] -= h
                slope = (_product(plus, sequence) - _product(minus, sequence)) / (2 * h)
            np.testing.assert_allclose(dR[..., k], rounded(slope), rtol=0, atol=3 * EPS)


def _product(angles, sequence):
    R = mpmath.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        axis = "xyz".index(letter.lower())
        a, b = (axis + 1) % 3, (axis + 2) % 3
        turn = mpmath.eye(3)
        turn[a, a], turn[a, b], turn[b, a], turn[b, b] = (
            mpmath.cos(angle),
            -mpmath.sin(angle),
            mpmath.sin(angle),
            mpmath.cos(angle),
        )
        R = R * turn if sequence.isupper() else turn * R
    return R


def test_spacelib_example_3_16():
    """Manual of SpaceLib, p. 51: a matrix of three digits, which is a rotation only to 1e-3."""
    R = [[0.84, -0.395, -0.371], [-0.415, -0.029, -0.909], [0.348, 0.918, -0.189]]
    first, second, singular = euler_angle_solutions(R, "YXZ")
    np.testing.assert_allclose(first, [-2.042, 1.141, -1.641], rtol=0, atol=5e-4)
    np.testing.assert_allclose(second, [1.1, 2.001, 1.501], rtol=0, atol=5e-4)
    # atan2(R02, R22), asin(-R12), atan2(R10, R11) of the matrix as it is
    by_entries = [np.arctan2(-0.371, -0.189), np.arcsin(0.909), np.arctan2(-0.415, -0.029)]
    np.testing.assert_allclose(first, by_entries, rtol=0, atol=1e-15)
    assert not singular


def test_spacelib_example_3_17():
    """Manual of SpaceLib, p. 52, as printed to three digits."""
    R = rotation_from_euler_angles([1, 2, 1.5], "XZY")
    printed = [[-0.029, -0.909, -0.415], [0.874, -0.225, 0.431], [-0.485, -0.35, 0.801]]
    np.testing.assert_allclose(R, printed, rtol=0, atol=5e-4)


@pytest.mark.parametrize("function", [rotation_from_euler_angles, other_euler_angles])
@pytest.mark.parametrize("name", ["XXY", "XYy", "ABC", "", "XY", "xYz", 3])
def test_unknown_sequences_are_refused_with_the_list_of_all(function, name):
    with pytest.raises(UnknownNameError, match=r"XYZ, YZX, .*zxz, .*yxy"):
        function([0.1, 0.2, 0.3], name)


@pytest.mark.parametrize("sequence", ["XYZ", "zyx", "ZXZ", "xyx"])
@pytest.mark.parametrize("entry", list(np.ndindex(3, 3)))
def test_a_nan_anywhere_in_a_matrix_makes_its_angles_nan_and_no_others(sequence, entry):
    R = Rotation.random(4, random_state=3).as_matrix()
    R[1][entry] = np.nan
    first, second, singular = euler_angle_solutions(R, sequence)
    for angles in (euler_angles_from_rotation(R, sequence), first, second):
        assert np.isnan(angles).all(axis=1).tolist() == [False, True, False, False]
        assert np.isfinite(angles[[0, 2, 3]]).all()
    assert not singular.any()


def test_a_nan_among_angles():
    R = rotation_from_euler_angles([[np.nan, 0.1, 0.2], [0.3, 0.1, 0.2]], "XYZ")
    assert np.isnan(R[0, 1:]).all()
    assert np.isfinite(R[1]).all()


def test_a_matrix_that_is_no_rotation_is_refused_when_checked():
    R = np.eye(3) + np.diag([0.0, 0.0, 0.1])
    with pytest.raises(ArgumentError, match="not a rotation matrix"):
        euler_angles_from_rotation(R, "XYZ", check=True)
    np.testing.assert_array_equal(euler_angles_from_rotation(np.eye(3), "XYZ", check=True), np.zeros(3))


def test_formulas_of_sympy():
    """The closed form of table 3.2 in the manual of SpaceLib for Z, X, Z."""
    a, b, c = sympy.symbols("alpha beta gamma", real=True)
    R = rotation_from_euler_angles(np.array([a, b, c]), "ZXZ")
    expected = sympy.rot_ccw_axis3(a) * sympy.rot_ccw_axis1(b) * sympy.rot_ccw_axis3(c)
    assert sympy.simplify(sympy.Matrix(R) - expected) == sympy.zeros(3, 3)
    symbols = np.array(sympy.symbols("r:3:3")).reshape(3, 3)
    numbers = Rotation.from_euler("YXZ", [0.2, 0.3, 0.4]).as_matrix()
    formula = euler_angles_from_rotation(symbols, "YXZ")
    values = [float(f.subs(dict(zip(symbols.flat, numbers.flat, strict=True)))) for f in formula]
    np.testing.assert_allclose(values, [0.2, 0.3, 0.4], rtol=0, atol=1e-14)
