from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.inverse_kinematics import (
    condition_number,
    damped_inverse,
    manipulability,
    pseudo_inverse,
    selectively_damped_inverse,
    singular_directions,
    velocity_ellipsoid,
)


@pytest.mark.parametrize("shape", [(6, 7), (6, 6), (6, 4), (3, 1)])
@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
def test_inverses_agree_with_numpy(shape, batch) -> None:
    J = np.random.default_rng(0).normal(size=(*batch, *shape))
    np.testing.assert_allclose(pseudo_inverse(J), np.linalg.pinv(J), atol=1e-12)
    unit = np.eye(shape[0])
    JT = np.swapaxes(J, -1, -2)
    np.testing.assert_allclose(damped_inverse(J, 0.3), JT @ np.linalg.inv(J @ JT + 0.09 * unit), atol=1e-12)


def test_selective_damping_begins_at_the_threshold() -> None:
    J = np.diag([1.0, 0.5, 0.02])
    np.testing.assert_allclose(selectively_damped_inverse(np.diag([1.0, 0.5, 0.05])), np.diag([1.0, 2.0, 20.0]))
    damping = (1.0 - (0.02 / 0.04) ** 2) * 0.04**2
    np.testing.assert_allclose(selectively_damped_inverse(J)[2, 2], 0.02 / (0.02**2 + damping))
    singular = selectively_damped_inverse(np.diag([1.0, 0.5, 0.0]))
    assert np.isfinite(singular).all()
    assert singular[2, 2] == 0.0


def test_singular_jacobians() -> None:
    arm = ch.load("planar2r")
    J = arm.jacobian([0.3, 0.0], frame="world-aligned")[3:5]  # stretched out: no motion along the arm
    assert manipulability(J) < 1e-12
    assert condition_number(J) > 1e12
    direction = singular_directions(J)
    assert direction.shape == (2, 1)
    np.testing.assert_allclose(np.abs(direction[:, 0]), [np.cos(0.3), np.sin(0.3)], atol=1e-12)
    assert singular_directions(arm.jacobian([0.3, 0.5], frame="world-aligned")[3:5]).shape == (2, 0)
    assert singular_directions(np.zeros((2, 3))).shape == (2, 2)
    assert condition_number(np.zeros((2, 2))) == np.inf


def test_ellipsoid_holds_the_twists_of_unit_rates() -> None:
    rng = np.random.default_rng(1)
    J = ch.load("panda").jacobian(rng.uniform(-1, 1, (5, 7)), frame="body")[..., 3:, :]
    axes, lengths = velocity_ellipsoid(J)
    rates = rng.normal(size=(5, 7, 1000))
    rates /= np.linalg.norm(rates, axis=1, keepdims=True)
    inside = np.linalg.norm(np.swapaxes(axes, -1, -2) @ (J @ rates) / lengths[..., None], axis=1)
    assert inside.max() <= 1.0 + 1e-12
    np.testing.assert_allclose(manipulability(J), np.sqrt(np.linalg.det(J @ np.swapaxes(J, -1, -2))))


def test_nan_stays_in_its_sample() -> None:
    J = np.random.default_rng(2).normal(size=(3, 6, 7))
    J[1, 2, 3] = np.nan
    for function in (pseudo_inverse, selectively_damped_inverse, lambda J: damped_inverse(J, 0.1), manipulability):
        result = function(J)
        assert np.isnan(result[1]).all()
        np.testing.assert_array_equal(result[[0, 2]], function(J[[0, 2]]))


def test_wrong_arguments() -> None:
    for call in (
        lambda: pseudo_inverse([1.0]),
        lambda: pseudo_inverse(np.zeros((0, 3))),
        lambda: pseudo_inverse("J"),
        lambda: damped_inverse(np.eye(2), 0.0),
        lambda: selectively_damped_inverse(np.eye(2), threshold=-1.0),
        lambda: singular_directions(np.zeros((3, 2, 2))),
        lambda: singular_directions([[np.nan, 1.0], [0.0, 1.0]]),
    ):
        with pytest.raises(ArgumentError):
            call()


@pytest.mark.parametrize("damping", [5e-324, 1e-200, 1e-3, 1e200, 1e308])
def test_damping_of_any_size(damping: float) -> None:
    """Squares of it vanish or overflow, s / (s² + damping²) does not; without rank there is no motion."""
    singular = np.array([[1.0, 0.0], [0.0, 0.0]])
    expected = [[1.0, 0.0], [0.0, 0.0]] if damping < 1.0 else [[1.0 / damping / damping, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(damped_inverse(singular, damping), expected, rtol=2e-6)
    np.testing.assert_array_equal(damped_inverse(np.zeros((2, 3)), damping), np.zeros((3, 2)))
    inverse = selectively_damped_inverse(singular, threshold=0.5, largest_damping=damping)
    assert np.isfinite(inverse).all()
    assert inverse[1, 1] == 0.0


def test_what_is_no_damping_is_refused() -> None:
    for bad in (0.0, -1.0, np.nan, np.inf, "much", None, [1.0, 2.0]):
        for call in (
            lambda bad=bad: damped_inverse(np.eye(2), bad),
            lambda bad=bad: selectively_damped_inverse(np.eye(2), threshold=bad),
            lambda bad=bad: selectively_damped_inverse(np.eye(2), largest_damping=bad),
        ):
            with pytest.raises(ArgumentError, match=r"^(damping|threshold|largest_damping) .*(must|expected|does not)"):
                call()
