"""Mixed sensitivity: a mass against a grid of its own formulas, filters as parameters, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import Uncertainty, bandwidth_weight, mixed_sensitivity
from chasles.control.disk_margin import scaled, singular_value_slopes
from chasles.control.frozen_law import LawFunction
from chasles.control.frozen_loops import FrozenLoops
from chasles.control.sensitivity_bound import SensitivityLoop, sensitivity_bound
from chasles.control.vertex_plants import frozen_plants

PERIOD, MASS = 0.01, 2.0
EXACT = Uncertainty(model_error=0.0, unknown_friction=0.0, jitter=0.0)


def weight(w: np.ndarray, corner: float) -> np.ndarray:
    """Second order, with a peak of 2."""
    return np.asarray((np.hypot(w / np.sqrt(2.0), corner) / w) ** 2)


def full_order_bound(corner: float, kp: float, kd: float) -> float:
    """The least γ of all stable loops of the mass, without margin: Youla's parameter as 100 taps, by linear programs.

    S = S₀ (1 - P S₀ Q) for the loop of a stable PD law. Moduli are polygons of 16 sides: γ comes out at most 2 % low.
    """
    w = np.logspace(-0.5, np.log10(np.pi / PERIOD), 160)
    z = np.exp(1j * w * PERIOD)
    P = 0.5 * PERIOD**2 / MASS * (z + 1.0) / (z - 1.0) ** 2
    S = 1.0 / (1.0 + P * (kp + kd / PERIOD * (1.0 - 1.0 / z)))
    fixed = weight(w, corner) * S
    taps = (fixed * P * S)[:, None] * z[:, None] ** -np.arange(100)
    size = np.abs(taps).max()
    sides = np.exp(2j * np.pi * np.arange(16) / 16)
    rows = np.concatenate([np.column_stack([np.real(-side * taps / size), -np.ones(len(w))]) for side in sides])
    limits = -np.concatenate([np.real(side * fixed) for side in sides])
    bounds = [*[(None, None)] * 100, (0.0, None)]
    return float(scipy.optimize.linprog(np.eye(101)[100], A_ub=rows, b_ub=limits, bounds=bounds).fun)


def judged(kp: float, kd: float, corner: float) -> tuple[float, float]:
    """γ and disk margin of a mass under PD with differenced velocity and held force, on a fine grid of frequencies."""
    poles = np.roots([1.0, -2.0, 1.0, 0.0])  # z (z - 1)²
    forward = 0.5 * PERIOD**2 / MASS * np.polymul([1.0, 1.0], [kp + kd / PERIOD, -kd / PERIOD])
    closed = np.polyadd(np.poly(poles), forward)
    if np.abs(np.roots(closed)).max() >= 1.0:
        return np.inf, 0.0
    w = np.logspace(-0.5, np.log10(np.pi / PERIOD), 2000)
    z = np.exp(1j * w * PERIOD)
    S = 1.0 / (1.0 + np.polyval(forward, z) / np.polyval(np.poly(poles), z))
    return float((weight(w, corner) * np.abs(S)).max()), float(1.0 / np.abs(S - 0.5).max())


@pytest.mark.slow
def test_a_mass_gets_the_gains_that_a_grid_finds() -> None:
    """No gains of a fine grid with the margin have a lower γ, and γ and margin are those of own formulas."""
    arm = ch.Robot.from_dh([{"kind": "prismatic", "mass": MASS}], gravity=(0.0, 0.0, 0.0), check=False)
    shaped = mixed_sensitivity(
        arm,
        ch.control.PD(arm, kp=200.0, kd=40.0),
        ch.PointToPoint([0.0], [0.1], 1.0),
        period=PERIOD,
        sensitivity=bandwidth_weight(20.0, order=2),
        margin=0.8,
        unknown=EXACT,
        starts=2,
    )
    gamma, disk = judged(*(float(shaped.parameters[name][0]) for name in ("kp", "kd")), 20.0)
    assert shaped.value == pytest.approx(gamma, rel=0.03)
    assert shaped.margin == pytest.approx(disk, rel=0.02)
    assert shaped.margin >= 0.8
    assert 0.999 * gamma < shaped.bound < 1.03 * gamma  # also between the points at which it was minimised
    grid = [judged(kp, kd, 20.0) for kp in np.geomspace(20.0, 1e4, 60) for kd in np.geomspace(5.0, 300.0, 60)]
    assert shaped.value < 1.03 * min(value for value, margin in grid if margin >= 0.8)
    bound = full_order_bound(20.0, 800.0, 60.0)
    assert bound < shaped.value < 2.5 * bound  # what the structure and the margin cost
    assert shaped.attained.max() < 1.1 * shaped.attained.min()


@pytest.mark.slow
def test_filters_are_parameters_and_margins_hold_on_unknown_plants() -> None:
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)

    law = ch.control.LeadLagFilter(arm, ch.ComputedTorque(arm, kp=100.0, kd=20.0), zero=40.0, pole=60.0)
    common: dict[str, Any] = {
        "period": PERIOD,
        "sensitivity": bandwidth_weight(5.0),
        "unknown": Uncertainty(payload=0.3),
    }
    plain = mixed_sensitivity(arm, law, motion, starts=1, iterations=1, **common)
    shaped = mixed_sensitivity(arm, law, motion, starts=2, **common)
    assert shaped.attained.max() < 1.01 * shaped.attained.min()
    assert shaped.value < 0.1 * plain.value
    assert shaped.value <= shaped.bound < 1.02 * shaped.value
    assert ch.control.loop_margins(arm, shaped.law, motion, period=PERIOD).disk.min() > 0.29


def test_margins_that_cannot_be_had_and_gains_that_are_not_positive() -> None:
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)

    options: dict[str, Any] = {"period": PERIOD, "sensitivity": bandwidth_weight(5.0), "starts": 1, "iterations": 3}
    fast, law = ch.ComputedTorque(arm, kp=900.0, kd=90.0), ch.ComputedTorque(arm, kp=9.0, kd=9.0)
    with pytest.raises(ArgumentError, match=r"no law with a disk margin of 1.9 was found from 1 starts"):
        mixed_sensitivity(arm, fast, motion, margin=1.9, **options)
    with pytest.raises(ArgumentError, match=r"'ki' is \[0.0, 0.0\]; give bounds"):
        mixed_sensitivity(arm, law, motion, by=["ki"], **options)
    with pytest.raises(ArgumentError, match=r"the weights are 0 at all frequencies"):
        mixed_sensitivity(arm, law, motion, **options | {"sensitivity": lambda w: 0.0 * w})


def test_singular_values_of_scaled_matrices_have_exact_slopes() -> None:
    """Matrices of all sizes, nearly diagonal ones too, whose scaling has not converged: against central differences."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 5):
        M, dM = (rng.normal(size=(2, 4, n, n)) + 1j * rng.normal(size=(2, 4, n, n)) for _ in range(2))
        M, dM = (part * np.where(np.eye(n) > 0.0, 1.0, np.array([1.0, 1e-3])[:, None, None, None]) for part in (M, dM))
        sizes, X = singular_value_slopes(M)
        ends = [np.linalg.svd(scaled(M + h * dM), compute_uv=False) for h in (1e-6, -1e-6)]
        np.testing.assert_allclose(sizes, np.linalg.svd(scaled(M), compute_uv=False), rtol=1e-12)
        slopes = (np.conj(X) * dM[..., None, :, :]).sum(axis=(-2, -1)).real
        np.testing.assert_allclose(slopes, (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-7)


def test_loops_have_exact_slopes() -> None:
    """A lead filter around computed torque: its linear system by its parameters, against central differences."""
    arm, motion, times = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0), np.array([0.2, 0.7])
    law = ch.control.LeadLagFilter(arm, ch.ComputedTorque(arm, kp=100.0, kd=20.0), zero=40.0, pole=60.0)
    function, names = LawFunction(law), ("inner.kd", "pole")
    slopes = function.slopes(names, law, motion, times, PERIOD)[1]
    assert len(slopes) == 4
    for k, slope in enumerate(slopes):
        name, element = names[k // 2], 1e-3 * np.eye(2)[k % 2]
        moved = [law.with_values({name: law.parameters[name] + change}) for change in (element, -element)]
        ends = [function.slopes(names, other, motion, times, PERIOD)[0] for other in moved]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-3, rtol=1e-6, atol=1e-8)


def peak(loop: SensitivityLoop) -> float:
    """The H∞ norm of S of one loop with one torque, on 40,000 angles and around the angle of every pole."""
    poles = np.linalg.eigvals(loop.A[0])
    around = np.abs(np.angle(poles))[:, None] + np.linspace(-1.0, 1.0, 2001) * (1.0 - np.abs(poles))[:, None]
    angles = np.clip(np.concatenate([np.linspace(0.01, np.pi, 40_000), around.ravel()]), 0.01, np.pi)
    z = np.exp(1j * angles)[:, None, None]
    R = np.linalg.solve(z * np.eye(len(poles)) - loop.A[0], np.broadcast_to(loop.B[0] + 0j, (len(z), *loop.B[0].shape)))
    return float(np.abs(1.0 + loop.C[0] @ R).max())


def test_no_peak_hides_between_the_points_of_a_grid() -> None:
    """Lightly damped poles between two points of a coarse grid, drawn: the bound is above the peak, and close to it."""
    rng, angles = np.random.default_rng(4), np.pi * np.logspace(-2.5, 0.0, 20)

    def ones(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.ones_like(w), np.zeros_like(w)

    for radius in (0.9, 0.99, 0.999):
        for _ in range(4):
            turn = rng.uniform(0.05, 2.5)
            rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
            A = np.zeros((3, 3))
            A[:2, :2], A[2, 2] = radius * rotation, rng.uniform(-0.5, 0.8)
            A[0, 2] = rng.normal()
            loop = SensitivityLoop(A[None], rng.normal(size=(1, 3, 1)), rng.normal(size=(1, 1, 3)))
            bound, largest = sensitivity_bound([loop], angles, ones), peak(loop)
            assert largest <= bound * (1.0 + 1e-9)
            assert bound < 1.02 * largest


def test_sensitivities_follow_the_law_by_its_adjoint() -> None:
    """-Re tr(Y dF) against central differences of Re tr(Xᴴ S), for a change of the law's stiffness at all places."""
    arm, motion, times = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0), np.array([0.2, 0.7])
    law = ch.ComputedTorque(arm, kp=100.0, kd=20.0)
    loops = FrozenLoops(frozen_plants(arm, motion(times), Uncertainty(payload=1.0)), PERIOD, 1.0, 1.0)
    frozen = LawFunction(law).frozen(law, motion, times, PERIOD)
    rng, chosen = np.random.default_rng(0), (np.array([3, 9, 20]), np.array([0, 1, 1]), np.array([2, 0, 1]))
    X, change = rng.normal(size=(3, 2, 2)) + 1j * rng.normal(size=(3, 2, 2)), rng.normal(size=(2, 2))
    step = np.concatenate([1e-3 * change, np.zeros((2, 2))], axis=1)
    ends = [
        loops.sensitivities(frozen._replace(linear=frozen.linear._replace(D=frozen.linear.D + sign * step)))[chosen]
        for sign in (1.0, -1.0)
    ]
    slopes = (np.conj(X) * (ends[0] - ends[1])).sum(axis=(1, 2)).real / 2e-3
    Y = loops.law_adjoints(loops.sensitivities(frozen)[chosen], X, chosen)
    np.testing.assert_allclose(np.trace(Y @ change, axis1=1, axis2=2).real, slopes, rtol=1e-6)


def test_the_loops_of_the_bound_have_the_sensitivities_of_the_grid() -> None:
    """State-space loops with late torques and filters, and the products of law and plant, are one function."""
    arm, motion, h = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0), 0.01
    times = np.linspace(0.0, 1.0, 3)
    law = ch.control.LowPassFilter(arm, ch.ComputedTorque(arm, kp=200.0, kd=20.0, ki=300.0), frequency=100.0)
    loops = FrozenLoops(frozen_plants(arm, motion(times), Uncertainty(payload=1.0)), h, 1.3, 1.0)
    frozen = LawFunction(law).frozen(law, motion, times, h)
    expected = loops.sensitivities(frozen)
    for vertex, loop in enumerate(loops.sensitivity_loops(frozen)):
        z = np.exp(1j * loops.frequency * h)[:, None, None, None]
        S = np.eye(2) + loop.C @ np.linalg.solve(z * np.eye(loop.A.shape[-1]) - loop.A, loop.B + 0j)
        np.testing.assert_allclose(S, expected[:, :, vertex], rtol=1e-4, atol=1e-5)
