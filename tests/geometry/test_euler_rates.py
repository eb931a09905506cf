"""Rates of Euler angles against derivatives of the rotation at 60 digits, and against the manual of SpaceLib."""

import mpmath
import numpy as np
import pytest
import sympy
from tests.thinning import paired, thinned

from chasles.base.errors import UnknownNameError
from chasles.geometry import (
    EULER_SEQUENCES,
    angular_acceleration_from_euler_accelerations,
    angular_velocity_from_euler_rates,
    euler_accelerations_from_angular_acceleration,
    euler_product_matrix,
    euler_rate_matrix,
    euler_rates_from_angular_velocity,
    inverse_euler_rate_matrix,
    rotation_from_euler_angles,
)

EPS = np.finfo(float).eps
FRAMES = ("space", "body")
INTRINSIC = [name for name in EULER_SEQUENCES if name.isupper()]


def exact_rotation(angles, sequence):
    R = mpmath.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        axis = "xyz".index(letter.lower())
        a, b = (axis + 1) % 3, (axis + 2) % 3
        c, s = mpmath.cos(angle), mpmath.sin(angle)
        turn = mpmath.eye(3)
        turn[a, a], turn[a, b], turn[b, a], turn[b, b] = c, -s, s, c
        R = R * turn if sequence.isupper() else turn * R
    return R


def exact_motion(q, rates, accelerations, sequence, frame):
    """Angular velocity and acceleration, by central differences of the rotation at 60 digits (errors below 1e-25)."""
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -15
        q, rates, accelerations = ([mpmath.mpf(float(x)) for x in v] for v in (q, rates, accelerations))

        def R(t):
            return exact_rotation(
                [a + t * b + t * t * c / 2 for a, b, c in zip(q, rates, accelerations, strict=True)], sequence
            )

        before, now, after = R(-h), R(0), R(h)
        first, second = (after - before) / (2 * h), (after - 2 * now + before) / (h * h)
        # R'' R^T = skew(alpha) + skew(omega)^2, whose second part is symmetric; the same in the body's axes
        omega, alpha = (first * now.T, second * now.T) if frame == "space" else (now.T * first, now.T * second)
        return [
            np.array([float(S[2, 1] - S[1, 2]), float(S[0, 2] - S[2, 0]), float(S[1, 0] - S[0, 1])]) / 2
            for S in (omega, alpha)
        ]


def samples(count, seed):
    rng = np.random.default_rng(seed)
    q, rates, accelerations = rng.uniform(-3.0, 3.0, (3, count, 3))
    return q, rates, accelerations


def singular_middle_angles(sequence):
    return (0.0, np.pi) if sequence[0] == sequence[2] else (-np.pi / 2, np.pi / 2)


@pytest.mark.parametrize("sequence", thinned(EULER_SEQUENCES, keep=5))
@pytest.mark.parametrize("frame", FRAMES)
def test_velocity_and_acceleration_are_the_derivatives_of_the_rotation(sequence, frame):
    for q, rates, accelerations in zip(*samples(4, 1), strict=True):
        omega, alpha = exact_motion(q, rates, accelerations, sequence, frame)
        ours = angular_velocity_from_euler_rates(q, rates, sequence, frame=frame)
        np.testing.assert_allclose(ours, omega, rtol=0, atol=8 * EPS * np.abs(rates).sum())
        ours = angular_acceleration_from_euler_accelerations(q, rates, accelerations, sequence, frame)
        size = np.abs(accelerations).sum() + np.abs(rates).sum() ** 2
        np.testing.assert_allclose(ours, alpha, rtol=0, atol=8 * EPS * size)


@pytest.mark.parametrize("sequence", thinned(EULER_SEQUENCES, keep=5))
@pytest.mark.parametrize(("frame", "shape"), paired(FRAMES, [(), (1,), (3, 1, 2)]))
def test_rates_and_accelerations_come_back(sequence, frame, shape):
    q, rates, accelerations = np.random.default_rng(2).uniform(-3.0, 3.0, (3, *shape, 3))
    low, high = singular_middle_angles(sequence)
    q[..., 1] = np.random.default_rng(3).uniform(low + 0.5, high - 0.5, shape)
    omega = angular_velocity_from_euler_rates(q, rates, sequence, frame)
    alpha = angular_acceleration_from_euler_accelerations(q, rates, accelerations, sequence, frame)
    found = euler_rates_from_angular_velocity(q, omega, sequence, frame)
    assert found.singular.shape == shape
    assert not found.singular.any()
    np.testing.assert_allclose(found.rates, rates, rtol=0, atol=2e-14)
    found = euler_accelerations_from_angular_acceleration(q, rates, alpha, sequence, frame)
    assert not found.singular.any()
    np.testing.assert_allclose(found.accelerations, accelerations, rtol=0, atol=2e-13)


@pytest.mark.parametrize("sequence", thinned(EULER_SEQUENCES, keep=5))
@pytest.mark.parametrize("frame", FRAMES)
def test_matrices_are_those_of_the_functions(sequence, frame):
    q, rates, accelerations = samples(5, 4)
    A = euler_rate_matrix(q, sequence, frame)
    B = euler_product_matrix(q, sequence, frame)
    inverse = inverse_euler_rate_matrix(q, sequence, frame)
    products = rates[:, [1, 0, 0]] * rates[:, [2, 2, 1]]
    omega = np.einsum("nij,nj->ni", A, rates)
    alpha = np.einsum("nij,nj->ni", A, accelerations) + np.einsum("nij,nj->ni", B, products)
    np.testing.assert_allclose(angular_velocity_from_euler_rates(q, rates, sequence, frame), omega, rtol=0, atol=1e-14)
    ours = angular_acceleration_from_euler_accelerations(q, rates, accelerations, sequence, frame)
    np.testing.assert_allclose(ours, alpha, rtol=0, atol=1e-14)
    np.testing.assert_allclose(inverse, np.linalg.inv(A), rtol=1e-12, atol=1e-13)
    expected = np.einsum("nij,nj->ni", inverse, omega)
    np.testing.assert_allclose(euler_rates_from_angular_velocity(q, omega, sequence, frame).rates, expected, atol=1e-13)


@pytest.mark.parametrize("sequence", thinned(EULER_SEQUENCES, keep=5))
def test_body_and_space_differ_by_the_rotation(sequence):
    q, rates, accelerations = samples(5, 5)
    R = rotation_from_euler_angles(q, sequence)
    for function, arguments in (
        (angular_velocity_from_euler_rates, (q, rates)),
        (angular_acceleration_from_euler_accelerations, (q, rates, accelerations)),
    ):
        body = function(*arguments, sequence, frame="body")
        np.testing.assert_allclose(np.einsum("nij,nj->ni", R, body), function(*arguments, sequence), atol=1e-13)


@pytest.mark.parametrize("sequence", INTRINSIC)
def test_matrices_are_those_of_the_manual_of_spacelib(sequence):
    """The closed forms for sequences of moving axes, rows in the order of the axes."""
    i, j = ("XYZ".index(letter) for letter in sequence[:2])
    rows = [i, j, 3 - i - j]
    g = 1.0 if j == (i + 1) % 3 else -1.0
    a, b, _ = q = np.array([0.7, -0.4, 1.9])
    ca, sa, cb, sb = np.cos(a), np.sin(a), np.cos(b), np.sin(b)
    if sequence[0] != sequence[2]:
        A = [[1, 0, g * sb], [0, ca, -g * sa * cb], [0, g * sa, ca * cb]]
        B = [[g * cb, 0, 0], [g * sa * sb, -g * ca * cb, -sa], [-ca * sb, -sa * cb, g * ca]]
    else:
        A = [[1, 0, cb], [0, ca, sa * sb], [0, g * sa, -g * ca * sb]]
        B = [[-sb, 0, 0], [sa * cb, ca * sb, -sa], [-g * ca * cb, g * sa * sb, g * ca]]
    np.testing.assert_allclose(euler_rate_matrix(q, sequence)[rows], A, rtol=0, atol=2 * EPS)
    np.testing.assert_allclose(euler_product_matrix(q, sequence)[rows], B, rtol=0, atol=2 * EPS)


def test_examples_of_the_manual_of_spacelib():
    """Examples 3.18, 3.19 and 3.23 (p. 54-63), printed to three digits."""
    omega = angular_velocity_from_euler_rates([0.1, 0.5, 0.9], [0.2, 0.4, 0.1], "XZY")
    np.testing.assert_allclose(omega, [0.152, 0.047, 0.407], rtol=0, atol=5e-4)
    omega = angular_velocity_from_euler_rates([10, 5, 12], [0, 2, 1], "ZYX")
    np.testing.assert_allclose(omega, [0.85, -1.832, 0.959], rtol=0, atol=5e-4)
    alpha = angular_acceleration_from_euler_accelerations([1, 1.2, 3], [0, 1, 0], [3, 2.5, 4.01], "YXZ")
    np.testing.assert_allclose(alpha, [2.573, -0.737, -1.319], rtol=0, atol=5e-4)


@pytest.mark.parametrize("sequence", ["ZXZ", "ZYZ", "xyx"])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("middle", [1e-300, 1e-100, 1e-12, 1e-3])
def test_rates_near_the_singularity_keep_their_digits(sequence, frame, middle):
    """The sine of a small middle angle has all its digits, and so have the rates."""
    q = np.array([0.7, middle, -0.3])
    omega = np.array([0.3, -0.5, 0.8])
    with mpmath.workdps(400):
        columns = []
        for k in range(3):
            rates = [mpmath.mpf(int(k == n)) for n in range(3)]
            columns.append(_exact_velocity(q, rates, sequence, frame))
        A = mpmath.matrix(columns).T
        expected = [float(x) for x in mpmath.lu_solve(A, mpmath.matrix([mpmath.mpf(x) for x in omega.tolist()]))]
    found = euler_rates_from_angular_velocity(q, omega, sequence, frame)
    np.testing.assert_allclose(found.rates, expected, rtol=1e-14)
    assert found.singular == (middle < 1e-7)


def _exact_velocity(q, rates, sequence, frame):
    """Sum of the axes, each turned by the turns that carry it."""
    angles = [mpmath.mpf(x) for x in q.tolist()]
    total = mpmath.matrix(3, 1)
    for k in range(3):
        axis = mpmath.matrix([int(letter == sequence[k].lower()) for letter in "xyz"])
        still = [mpmath.mpf(0)] * 3
        carried = angles[:k] + still[k:] if sequence.isupper() else still[: k + 1] + angles[k + 1 :]
        total += exact_rotation(carried, sequence) * axis * rates[k]
    return list(exact_rotation(angles, sequence).T * total if frame == "body" else total)


@pytest.mark.parametrize("sequence", thinned(EULER_SEQUENCES, keep=5))
@pytest.mark.parametrize("frame", FRAMES)
def test_singular_samples_are_flagged_and_leave_the_others_alone(sequence, frame):
    middle = singular_middle_angles(sequence)[1]
    q = np.array([[0.3, middle - d, 0.2] for d in (0.0, 1e-9, 1e-5, 0.7)])
    omega = np.tile([1.0, 2.0, 3.0], (4, 1))
    found = euler_rates_from_angular_velocity(q, omega, sequence, frame)
    assert found.singular.tolist() == [True, True, False, False]
    assert found.singular.dtype == bool
    np.testing.assert_allclose(
        angular_velocity_from_euler_rates(q[2:], found.rates[2:], sequence, frame), omega[2:], rtol=1e-9
    )
    strict = euler_rates_from_angular_velocity(q, omega, sequence, frame, tolerance=1e-4)
    assert strict.singular.tolist() == [True, True, True, False]
    flags = euler_accelerations_from_angular_acceleration(q, omega, omega, sequence, frame).singular
    assert flags.tolist() == [True, True, False, False]


def test_rates_at_the_singularity_are_not_finite():
    found = euler_rates_from_angular_velocity([0.3, 0.0, 0.2], [1.0, 2.0, 3.0], "ZXZ")
    assert not np.isfinite(found.rates[[0, 2]]).any()
    assert found.singular


def test_samples_with_nan_stay_alone():
    q, rates, accelerations = samples(3, 6)
    rates[1, 0] = np.nan
    omega = angular_velocity_from_euler_rates(q, rates, "YXZ")
    assert np.isfinite(omega[[0, 2]]).all()
    assert np.isnan(omega[1]).any()
    q[1, 1] = np.nan
    result = euler_accelerations_from_angular_acceleration(q, rates, accelerations, "YXZ")
    assert np.isnan(result.accelerations[1]).all()
    assert np.isfinite(result.accelerations[[0, 2]]).all()


def test_derivative_by_the_rates_is_the_rate_matrix():
    q, rates, _ = samples(3, 7)
    derivative = angular_velocity_from_euler_rates.jacobian(wrt="rates", sequence="XZX", frame="body")
    np.testing.assert_allclose(derivative(q, rates), euler_rate_matrix(q, "XZX", "body"), rtol=0, atol=2 * EPS)


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match=r"there is no frame 'world'.*space, body"):
        angular_velocity_from_euler_rates([0.1] * 3, [0.1] * 3, "XYZ", "world")
    with pytest.raises(UnknownNameError, match="there is no frame 'base'"):
        euler_rates_from_angular_velocity([0.1] * 3, [0.1] * 3, "XYZ", frame="base")
    with pytest.raises(UnknownNameError, match="there is no sequence of axes 'XXZ'"):
        euler_rate_matrix([0.1] * 3, "XXZ")


def test_formulas_of_sympy():
    a, b, c, rate = sympy.symbols("alpha beta gamma omega")
    A = euler_rate_matrix(np.array([a, b, c]), "ZXZ")
    inverse = inverse_euler_rate_matrix(np.array([a, b, c]), "ZXZ")
    difference = sympy.simplify(sympy.Matrix(A) * sympy.Matrix(inverse) - sympy.eye(3))
    assert all(float(entry) == 0.0 for entry in difference)
    found = euler_rates_from_angular_velocity(np.array([a, b, c]), np.array([0, 0, rate]), "ZXZ")
    assert sympy.simplify(found.rates[0] - rate) == 0
