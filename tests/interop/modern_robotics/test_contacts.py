"""Contacts of chapter 12: the book's linear programs, and grasps whose closure is known."""

from __future__ import annotations

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.interop.modern_robotics.contacts import contact_wrench, force_closure, form_closure, friction_cone


def test_the_books_fingers() -> None:
    """Section 12.1.7: k = (2, 1, 2, 1) balances them; with the finger in the other hole nothing does."""
    found = form_closure([[0, 0, -1, 2], [-1, 0, 1, 0], [0, -1, 0, 1]])
    assert found.closed
    assert found.coefficients is not None
    np.testing.assert_allclose(found.coefficients, [2.0, 1.0, 2.0, 1.0], rtol=1e-9)
    assert not form_closure([[0, 0, 0, -2], [-1, 0, 1, 0], [0, -1, 0, 1]]).closed


def test_a_triangle_needs_four_frictionless_contacts() -> None:
    """Midpoints of the sides let it turn, to second order only held; one contact more, off the midpoint, closes it."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])
    sides = [(corners[k], corners[(k + 1) % 3]) for k in range(3)]

    def contact(side: int, share: float) -> np.ndarray:
        a, b = sides[side]
        along = b - a
        return contact_wrench(a + share * along, [-along[1], along[0]])

    middle = [contact(k, 0.5) for k in range(3)]
    assert not form_closure(np.stack(middle, axis=-1)).closed
    turning = [contact(k, 0.4) for k in range(3)]
    assert not form_closure(np.stack(turning, axis=-1)).closed
    F = np.stack([*turning, contact(0, 0.9)], axis=-1)
    found = form_closure(F)
    assert found.closed
    assert found.coefficients is not None
    np.testing.assert_allclose(F @ found.coefficients, 0.0, atol=1e-9)
    assert found.coefficients.min() == pytest.approx(1.0)


@pytest.mark.parametrize(("angle", "closed"), [(0.2, True), (0.45, False)])
def test_nguyens_theorem_of_two_fingers(angle: float, closed: bool) -> None:
    """Two fingers hold a planar body if the line between them lies inside both friction cones."""
    tilted = [np.cos(angle), np.sin(angle)]
    cones = np.hstack([friction_cone([-1.0, 0.0], tilted, 0.4), friction_cone([1.0, 0.0], [-1.0, 0.0], 0.4)])
    assert (np.tan(angle) < 0.4) == closed
    assert force_closure(cones).closed is closed


@pytest.mark.parametrize(("mu", "fingers", "closed"), [(0.5, 3, True), (0.0, 3, False), (0.5, 2, False)])
def test_fingers_around_a_ball(mu: float, fingers: int, closed: bool) -> None:
    """Hard fingers with friction: three around the equator hold a ball; two cannot keep it from turning about them."""
    turns = 2.0 * np.pi * np.arange(fingers) / fingers
    places = np.stack([np.cos(turns), np.sin(turns), 0.0 * turns], axis=-1)
    cones = np.hstack([friction_cone(p, -p, mu, edges=8) for p in places])
    assert force_closure(cones).closed is closed


def test_edges_lie_on_the_cone() -> None:
    edges = friction_cone([0.1, 0.2, 0.3], [1.0, 2.0, 2.0], 0.7, edges=5)
    normal = np.array([1.0, 2.0, 2.0]) / 3.0
    across = edges[3:] - np.outer(normal, normal @ edges[3:])
    np.testing.assert_allclose(np.linalg.norm(across, axis=0), 0.7 * (normal @ edges[3:]), rtol=1e-12)
    np.testing.assert_allclose(edges[:3], np.cross([0.1, 0.2, 0.3], edges[3:].T).T, rtol=1e-12)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a contact needs a normal"):
        contact_wrench([0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ArgumentError, match=r"both must be \(2,\) or both \(3,\)"):
        contact_wrench([0.0, 0.0], [0.0, 0.0, 1.0])
    with pytest.raises(ArgumentError, match="mu"):
        friction_cone([0.0, 0.0], [0.0, 1.0], -0.1)
    with pytest.raises(ArgumentError, match="edges"):
        friction_cone([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], 0.1, edges=2)
    with pytest.raises(ArgumentError, match=r"F has shape \(4, 2\)"):
        form_closure(np.zeros((4, 2)))
    with pytest.raises(ArgumentError, match="must be finite"):
        form_closure([[np.nan] * 4] * 3)
