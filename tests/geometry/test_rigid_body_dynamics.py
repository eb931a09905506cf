from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import known_motion, random_body

from chasles.geometry import kinetic_energy, momentum, newton_euler_wrench, power, spatial_inertia

SEEDS = st.integers(0, 2**32 - 1)


def rate(function: Callable[[float], np.ndarray], step: float = 5e-3) -> np.ndarray:
    """Central difference of order 8."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(w * (function(n * step) - function(-n * step)) for n, w in enumerate(weights, 1)) / step


@given(SEEDS)
def test_momentum_and_energy_are_those_of_the_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body, twist = random_body(rng), rng.normal(size=6)
    inertia = spatial_inertia(*body.properties)
    scale = np.abs(inertia).max()
    assert_allclose(momentum(inertia, twist), body.momentum(twist), atol=1e-13 * scale)
    assert_allclose(kinetic_energy(inertia, twist), body.kinetic_energy(twist), rtol=1e-12)


@given(SEEDS)
def test_the_wrench_is_the_rate_of_the_momentum_of_the_points_and_its_power_that_of_their_energy(seed: int) -> None:
    body, jet = random_body(np.random.default_rng(seed)), known_motion(seed)

    def points(t: float) -> tuple[np.ndarray, float]:
        now = known_motion(seed, t)
        moved = body.moved(now.T)
        return moved.momentum(now.twist), moved.kinetic_energy(now.twist)

    inertia = spatial_inertia(*body.moved(jet.T).properties)
    wrench = newton_euler_wrench(inertia, jet.spatial_acceleration, jet.twist)
    scale = 1 + np.abs(wrench).max()
    assert_allclose(wrench, rate(lambda t: points(t)[0]), atol=1e-9 * scale)
    assert_allclose(
        power(jet.twist, wrench), rate(lambda t: points(t)[1]), atol=1e-9 * scale * (1 + abs(jet.twist).max())
    )


@given(SEEDS)
def test_equation_of_motion_agrees_with_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = random_body(rng)
    acceleration, twist = rng.normal(size=(2, 6))
    peer, v = pinocchio.Inertia(*body.properties), pinocchio.Motion(twist[3:], twist[:3])
    expected = peer * pinocchio.Motion(acceleration[3:], acceleration[:3]) + peer.vxiv(v)
    found = newton_euler_wrench(spatial_inertia(*body.properties), acceleration, twist)
    assert_allclose(found, np.concatenate([expected.angular, expected.linear]), atol=1e-12 * (1 + np.abs(found).max()))
    assert_allclose(kinetic_energy(spatial_inertia(*body.properties), twist), 0.5 * peer.vtiv(v), rtol=1e-12)


def test_free_symmetric_top_precesses_without_a_wrench() -> None:
    """Euler: in body axes the angular velocity goes round at (I3 - I1) / I1 times its part along the axis."""
    I1, I3, mass = 2.0, 3.0, 5.0
    omega = np.array([0.4, 0.0, 7.0])
    alpha = np.cross([0.0, 0.0, (I3 - I1) / I1 * omega[2]], omega)
    inertia = spatial_inertia(mass, np.zeros(3), np.diag([I1, I1, I3]))
    wrench = newton_euler_wrench(inertia, [*alpha, 0.0, 0.0, 0.0], [*omega, 0.0, 0.0, 0.0])
    assert_allclose(wrench, np.zeros(6), atol=1e-14)
