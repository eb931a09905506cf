"""Smoothing of recorded samples: a dense solution, known motions under noise, tolerances, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import interpolate
from scipy.linalg import null_space

import chasles as ch
from chasles.base.errors import ArgumentError

NOISE = 1e-3
T = np.linspace(0.0, 5.0, 401)


def truth(t: Any, order: int) -> Any:
    """A motion of two joints and its derivatives."""
    phase = order * np.pi / 2
    return np.stack([2.0**order * np.sin(2.0 * t + phase), 0.3 * 5.0**order * np.sin(5.0 * t + 1.0 + phase)], axis=-1)


def recording(seed: int, t: Any = T, noise: float = NOISE) -> Any:
    return truth(t, 0) + noise * np.random.default_rng(seed).standard_normal((len(t), 2))


def rms(values: Any) -> Any:
    return np.sqrt(np.mean(np.square(values), axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_velocities_and_accelerations_are_found_under_noise(seed: int) -> None:
    samples = recording(seed)
    motion = ch.SmoothingSpline(T, samples)
    inner = (T > 0.5) & (T < 4.5)
    errors = [rms((motion(T)[order] - truth(T, order))[inner]) for order in range(3)]
    assert (errors[0] < 0.5 * NOISE).all()  # most of the noise is gone
    assert (errors[1] < 0.01).all()
    assert (errors[2] < 0.25).all()
    # differences of the samples, what one would do without, are useless
    naive = np.gradient(np.gradient(samples, T, axis=0), T, axis=0)
    assert (errors[2] < 5e-2 * rms((naive - truth(T, 2))[inner])).all()
    np.testing.assert_allclose(motion.deviation, NOISE, rtol=0.15)
    np.testing.assert_allclose(motion.deviation, rms(motion(T).q - samples), rtol=1e-9)


def test_accelerations_are_better_than_scipys_smoothing_spline() -> None:
    t = np.linspace(0.0, 5.0, 300)
    samples = recording(6, t)
    ours = ch.SmoothingSpline(t, samples)(t).qdd[:, 0]
    theirs = interpolate.make_smoothing_spline(t, samples[:, 0])(t, 2)
    assert rms(ours - truth(t, 2)[:, 0]) < 0.5 * rms(theirs - truth(t, 2)[:, 0])


@pytest.mark.parametrize("tolerance", [1.5 * NOISE, 10.0 * NOISE, [NOISE, 0.1]])
def test_the_tolerance_is_the_distance_from_the_samples(tolerance: Any) -> None:
    samples = recording(7)
    motion = ch.SmoothingSpline(T, samples, tolerance=tolerance)
    np.testing.assert_allclose(rms(motion(T).q - samples), np.broadcast_to(tolerance, 2), rtol=1e-9)
    np.testing.assert_allclose(motion.deviation, np.broadcast_to(tolerance, 2), rtol=1e-9)


def test_it_solves_the_problem_that_it_names() -> None:
    """Against the least deviation under a bound on the jerk, solved densely in a basis of Legendre polynomials."""
    t, samples, pieces = np.linspace(0.0, 2.0, 41), recording(8, np.linspace(0.0, 2.0, 41), 0.1), 1
    motion = ch.SmoothingSpline(t, samples, tolerance=0.4, pieces=pieces)  # one piece: all polynomials of degree 5
    basis = np.polynomial.legendre.legvander(t - 1.0, 5)
    nodes, weights = np.polynomial.legendre.leggauss(6)
    third = np.stack([np.polynomial.legendre.Legendre.basis(k).deriv(3)(nodes) for k in range(6)], axis=1)
    penalty = third.T @ (weights[:, None] * third)
    for joint in range(2):
        low, high = -30.0, 30.0
        for _ in range(100):
            strength = np.exp(0.5 * (low + high))
            solution = np.linalg.solve(basis.T @ basis / 41 + strength * penalty, basis.T @ samples[:, joint] / 41)
            near = rms(basis @ solution - samples[:, joint]) <= 0.4
            low, high = (0.5 * (low + high), high) if near else (low, 0.5 * (low + high))
        np.testing.assert_allclose(motion(t).q[:, joint], basis @ solution, atol=1e-9)


def test_many_pieces_solve_it_too() -> None:
    """The optimality of the result: among all splines on its knots none is as near with less jerk."""
    t = np.sort(np.random.default_rng(9).uniform(0.0, 3.0, 80))
    samples = recording(9, t, 0.02)
    motion = ch.SmoothingSpline(t, samples, tolerance=0.02, pieces=20)
    knots = np.concatenate([[t[0]] * 5, motion.knots, [t[-1]] * 5])
    basis = interpolate.BSpline(knots, np.eye(25), 5)
    fine = np.linspace(t[0], t[-1], 20_001)
    jerk = basis(fine, nu=3)
    control = np.linalg.lstsq(basis(t), motion(t).q, rcond=None)[0]
    np.testing.assert_allclose(basis(fine) @ control, motion(fine).q, atol=1e-10)
    for joint in range(2):
        residual = basis(t).T @ (basis(t) @ control[:, joint] - samples[:, joint])
        curvature = jerk.T @ (np.gradient(fine) * (jerk @ control[:, joint]).T).T
        # both gradients are opposite: no direction lowers one without raising the other
        cosine = residual @ curvature / (np.linalg.norm(residual) * np.linalg.norm(curvature))
        np.testing.assert_allclose(cosine, -1.0, atol=1e-5)


def test_a_parabola_is_the_smoothest() -> None:
    samples = recording(10)
    motion = ch.SmoothingSpline(T, samples, tolerance=100.0)
    expected = np.polynomial.polynomial.polyfit(T, samples, 2)
    np.testing.assert_allclose(motion(T).q, np.polynomial.polynomial.polyval(T, expected).T, atol=1e-9)
    for samples in (np.zeros((50, 1)), np.linspace(0.0, 1.0, 50)[:, None] ** 2):
        motion = ch.SmoothingSpline(np.linspace(0.0, 1.0, 50), samples)
        np.testing.assert_allclose(motion(np.linspace(0.0, 1.0, 50)).q, samples, atol=1e-12)


@pytest.mark.parametrize("count", [6, 7, 8, 12, 30])
def test_few_samples(count: int) -> None:
    t = np.linspace(0.0, 1.0, count)
    motion = ch.SmoothingSpline(t, np.sin(t)[:, None], tolerance=1e-6)
    np.testing.assert_allclose(motion(t).q[:, 0], np.sin(t), atol=1e-5)


@pytest.mark.parametrize("count", [8, 20, 60, 300])
def test_samples_at_very_uneven_times(count: int) -> None:
    t = np.cumsum(np.random.default_rng(count).exponential(1.0, count) ** 3 + 1e-3)
    samples = t[:, None] ** 2 / t[-1] ** 2
    np.testing.assert_allclose(ch.SmoothingSpline(t, samples)(t).q, samples, atol=1e-9)


def test_the_derivatives_are_continuous_up_to_the_fourth() -> None:
    motion = ch.SmoothingSpline(T, recording(11))
    for knot in motion.knots[1:-1:9]:
        before, after = (motion.derivatives(np.array(t)) for t in (np.nextafter(knot, 0.0), knot))
        for order in range(4):
            np.testing.assert_allclose(before[order], after[order], rtol=1e-6, atol=1e-9 * 10**order)


def test_weights_and_the_unit_of_time_do_not_matter_but_in_proportion() -> None:
    samples = recording(12)
    plain = ch.SmoothingSpline(T, samples)
    weighted = ch.SmoothingSpline(T, samples, weights=np.full(len(T), 7.0))
    np.testing.assert_allclose(weighted(T).q, plain(T).q, atol=1e-12)
    slow = ch.SmoothingSpline(1000.0 * T + 5.0, samples)
    np.testing.assert_allclose(slow(1000.0 * T + 5.0).q, plain(T).q, atol=1e-9)
    np.testing.assert_allclose(slow(1000.0 * T + 5.0).qdd, plain(T).qdd * 1e-6, atol=1e-6 * 1e-4)


def test_bad_samples_can_be_given_little_weight() -> None:
    samples = recording(13)
    samples[200:210] += 0.5
    weights = np.ones(len(T))
    weights[200:210] = 1e-8
    np.testing.assert_allclose(ch.SmoothingSpline(T, samples, weights=weights)(T).q, truth(T, 0), atol=5 * NOISE)
    assert np.abs(ch.SmoothingSpline(T, samples)(T).q - truth(T, 0)).max() > 0.1


def test_a_batch_is_each_of_its_recordings() -> None:
    t = np.linspace(0.0, 2.0, 60)
    samples = np.stack([recording(seed, t) for seed in range(6)]).reshape(3, 2, 60, 2)
    tolerance = np.linspace(1.0, 2.0, 12).reshape(3, 2, 2) * NOISE
    for options in ({"pieces": 30}, {"pieces": 30, "tolerance": tolerance}):
        motions = ch.SmoothingSpline(t, samples, **options)
        assert (motions.batch, motions.deviation.shape) == ((3, 2), (3, 2, 2))
        for index in np.ndindex(3, 2):
            own = {name: value[index] if name == "tolerance" else value for name, value in options.items()}
            alone = ch.SmoothingSpline(t, samples[index], **own)
            np.testing.assert_allclose(motions(t[:, None, None]).q[:, *index], alone(t).q, atol=1e-10)


def test_fast_motions_get_more_pieces() -> None:
    t = np.linspace(0.0, 4.0, 801)
    fast = np.sin(60.0 * t)[:, None] + NOISE * np.random.default_rng(14).standard_normal((801, 1))
    motion = ch.SmoothingSpline(t, fast)  # 38 oscillations
    assert len(motion.knots) - 1 >= 200
    assert rms(motion(t).q[:, 0] - np.sin(60.0 * t)) < NOISE
    assert len(ch.SmoothingSpline(t, recording(15, t), tolerance=1.1 * NOISE).knots) - 1 < 200


def test_the_oracles_basis_spans_the_parabolas() -> None:
    """What is not penalised is just the parabolas."""
    third = interpolate.BSpline(np.r_[[0.0] * 5, np.linspace(0, 1, 11), [1.0] * 5], np.eye(15), 5)(
        np.linspace(0, 1, 300), nu=3
    )
    assert null_space(third, rcond=1e-9).shape == (15, 3)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"samples": np.zeros((4, 2)), "times": np.arange(4.0)}, "at least 6 samples are needed, not 4"),
    ({"times": np.r_[T[:100], T[98:199]]}, r"sample 100 .* is before sample 99"),
    ({"samples": np.zeros((10, 2))}, r"samples has shape \(10, 2\); expected \(\.\.\., 201, n\)"),
    ({"tolerance": 0.0}, r"tolerance\[0\] is 0.0; it must be positive"),
    ({"tolerance": [1.0, -1.0]}, r"tolerance\[1\] is -1.0; it must be positive"),
    ({"tolerance": np.nan}, r"tolerance\[0\] is nan; it must be finite"),
    ({"tolerance": [1.0, 1.0, 1.0]}, r"tolerance has shape \(3,\); expected \(2,\) or one number"),
    ({"tolerance": 1e-9}, "the tolerance of joint 0 is too small: .* pieces miss its samples by"),
    ({"tolerance": [0.1, 1e-9], "pieces": 10}, "the tolerance of joint 1 is too small: 10 pieces miss"),
    ({"weights": np.ones(3)}, r"weights has shape \(3,\); expected \(201,\)"),
    ({"weights": np.r_[np.ones(200), 0.0]}, r"weights\[200\] is 0\.0; it must be positive"),
    ({"weights": np.r_[np.ones(200), np.nan]}, r"weights\[200\] is nan; it must be finite"),
    ({"pieces": 0}, "pieces must be a whole number from 1 to 196 for 201 samples, not 0"),
    ({"pieces": 2.5}, "pieces must be a whole number"),
    ({"pieces": 196}, "196 pieces are too many"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_input_is_named(changes: dict[str, Any], message: str) -> None:
    arguments = {"times": T[:201], "samples": recording(16, T[:201])} | changes
    with pytest.raises(ArgumentError, match=message):
        ch.SmoothingSpline(arguments.pop("times"), arguments.pop("samples"), **arguments)


def test_a_sample_that_is_nan_is_named() -> None:
    samples = recording(17)
    samples[7, 1] = np.nan
    with pytest.raises(ArgumentError, match=r"samples\[7, 1\] is nan; it must be finite"):
        ch.SmoothingSpline(T, samples)


def test_text() -> None:
    text = repr(ch.SmoothingSpline(T, recording(18), pieces=30))
    assert text == "<SmoothingSpline of 2 joints, 30 pieces, from 0 to 5 s>"
