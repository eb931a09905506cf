"""Frequency responses of plant and loop, estimated from logs of a loop that is excited at its torques.

A known excitation r is added to the law's torques c, and the joints get u = r + c. Noise of the sensors goes round the
loop and is correlated with u, so that quotients of spectra of u and y would be biased. Correlation with r is not:

    plant P = S_yr S_ur⁻¹        loop L = -S_cr S_ur⁻¹ = S_rr S_ur⁻¹ - 1

Sources: Pintelon and Schoukens, System Identification: A Frequency Domain Approach (2012), sections 2.6 and 2.7 (closed
loops, several inputs) and 5.2 (orthogonal multisines); Ljung, System Identification (1999), section 13.5 (joint
input-output method).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import f as f_distribution

from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice, real, reals, whole_number

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

_EXCITED = 1e-9  # power of a line's weakest direction, relative to the mean power, below which it is not excited


class MeasuredResponse(NamedTuple):
    """Estimated frequency responses at the excited frequencies.

    Attributes
    ----------
    frequency
        Shape (k,), rad/s.
    loop
        L of the loop cut open at the torques, as of `LoopResponse`, complex (k, n, n).
    plant
        Positions for torques, complex (k, n, n), rad/(N·m).
    loop_deviation, plant_deviation
        Standard deviations of these complex numbers, (k, n, n).
    coherence
        Share of each joint's position that the excitation explains, (k, n), from 0 to 1.
    degrees_of_freedom
        Number of segments less the number of joints.
    """

    frequency: Floats
    loop: Complex
    plant: Complex
    loop_deviation: Floats
    plant_deviation: Floats
    coherence: Floats
    degrees_of_freedom: int

    def radius(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the radii of circles about loop and plant that hold the true values at a level, each (k, n, n).

        They count what differs from segment to segment. Friction distorts a periodic experiment in the same way in each
        period: what it does shows in the difference of experiments with other seeds and amplitudes. Segments of noise
        and chirps that are shorter than the loop remembers err by leakage besides.
        """
        factor = np.sqrt(
            f_distribution.ppf(real(level, "level", above=0.0, at_most=1.0), 2, 2 * self.degrees_of_freedom)
        )
        return factor * self.loop_deviation, factor * self.plant_deviation


def orthogonal_multisines(
    joints: int, samples: int, lines: ArrayLike, amplitude: ArrayLike = 1.0, *, seed: int = 0
) -> Floats:
    """Return periods of excitations for so many experiments as joints, (joints, samples, joints).

    Every joint has all lines, sines of equal size and random phase. From experiment to experiment their phases turn by
    multiples of 2π / joints, so that the joints are orthogonal over all experiments.

    Parameters
    ----------
    joints, samples
        Number of joints, and of samples in a period.
    lines
        Numbers of periods of the sines in `samples`, whole, from 1 to below samples / 2.
    amplitude
        Root mean square of each joint's torques, N·m, a scalar or one value per joint.
    seed
        Seed of the phases.

    Examples
    --------
    >>> r = orthogonal_multisines(2, 100, [1, 2, 5], amplitude=3.0)
    >>> r.shape, (r**2).mean(axis=1).round(9).tolist()
    ((2, 100, 2), [[9.0, 9.0], [9.0, 9.0]])
    """
    chosen = reals(lines, "lines", ("k",), at_least=1.0)
    if not len(chosen) or (chosen % 1.0).any() or chosen.max() >= 0.5 * samples:
        raise ArgumentError(f"lines must be whole numbers from 1 to below samples / 2 = {0.5 * samples:g}")
    size = reals(amplitude, "amplitude", (joints,), broadcast=True, above=0.0)
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, (len(chosen), joints))
    turns = 2.0 * np.pi * np.outer(np.arange(joints), np.arange(joints)) / joints
    angles = 2.0 * np.pi * np.outer(np.arange(samples), chosen) / samples
    sines = np.sin(angles[None, :, :, None] + phases + turns[:, None, None, :])
    return np.asarray(size * np.sqrt(2.0 / len(chosen)) * sines.sum(axis=2))


def measured_response(
    excitation: ArrayLike,
    torque: ArrayLike,
    position: ArrayLike,
    *,
    period: float,
    segment: int,
    skip: int = 0,
    window: Literal["periodic", "hann"] = "periodic",
) -> MeasuredResponse:
    """Estimate responses of plant and loop from logs of excited loops at rest, or slow against the excitation.

    Parameters
    ----------
    excitation, torque, position
        Excitation r, the sum u of the law's torques and r, and measured positions y, (experiments, samples, n) or of
        one experiment (samples, n). Multisines need as many experiments as joints, see `orthogonal_multisines`.
    period
        Sample period, s.
    segment
        Samples of a segment: a period of the multisine, or of a length that resolves noise or chirps.
    skip
        First samples that are left out: the transient.
    window
        ``"periodic"``: none, for whole periods of multisines; ``"hann"`` for noise and chirps, without the lowest line,
        into which a segment's mean leaks.

    Returns
    -------
    MeasuredResponse
        Responses at frequencies that the excitation has in all directions, with deviations and coherence.

    Raises
    ------
    ArgumentError
        The shapes differ; there are no more segments than joints; or no frequency is excited in all directions.

    Examples
    --------
    A mass of 2 kg under PD, excited at two frequencies:

    >>> import chasles as ch
    >>> sledge = ch.Robot.from_dh([{"kind": "prismatic", "mass": 2.0}], gravity=(0.0, 0.0, 0.0), check=False)
    >>> rest, h = ch.PointToPoint([0.0], [0.0], 8.0), 0.01
    >>> r = np.tile(orthogonal_multisines(1, 200, [3, 10])[0], (4, 1))
    >>> law = ch.control.PD(sledge, kp=200.0, kd=40.0)
    >>> excited = ch.control.LearnedTorque(sledge, law, times=h * np.arange(800), torques=r)
    >>> run = ch.simulate(sledge, excited, rest, period=h)
    >>> response = measured_response(r, run.tau[:-1], run.q[:-1], period=h, segment=200, skip=400)
    >>> z = np.exp(1j * response.frequency * h)
    >>> bool(np.allclose(response.plant[:, 0, 0], 0.5 * h**2 / 2.0 * (z + 1.0) / (z - 1.0) ** 2, rtol=1e-4))
    True
    """
    r = reals(excitation, "excitation")
    n = r.shape[-1] if r.ndim in (2, 3) else 0
    if not n:
        raise ArgumentError(f"excitation has shape {r.shape}; expected (experiments, samples, n) or (samples, n)")
    signals = [r, reals(torque, "torque", r.shape), reals(position, "position", r.shape)]
    choice(window, "window", ("periodic", "hann"))
    size = whole_number(segment, "segment", 4, 10**9)
    first = whole_number(skip, "skip", 0, 10**9)
    count = (r.shape[-2] - first) // size
    total = max(count, 0) * (r.size // (r.shape[-2] * n))
    if total <= n:
        raise ArgumentError(
            f"{total} segments of {size} samples do not tell {n} joints from noise: give {n + 1} or more"
        )
    taper = np.ones(size) if window == "periodic" else 0.5 - 0.5 * np.cos(2.0 * np.pi * (np.arange(size) + 0.5) / size)
    R, U, Y = (_segments(signal, first, count, size, taper) for signal in signals)
    power = _mean(R, R)
    weakest = np.linalg.eigvalsh(power)[:, 0]
    inner, lowest = np.arange(len(weakest)), 0 if window == "periodic" else 1
    excited = (weakest > _EXCITED * np.trace(power, axis1=1, axis2=2).max() / n) & (inner > lowest) & (inner < size / 2)
    if not excited.any():
        raise ArgumentError(
            "no frequency is excited in all joints' directions: let experiments differ, one for each joint"
        )
    R, U, Y = R[excited], U[excited], Y[excited]
    loop, loop_deviation = _quotient(R - U, U, R)
    plant, plant_deviation = _quotient(Y, U, R)
    S_yr, S_rr = _mean(Y, R), power[excited]
    explained = np.einsum("kij,kji->ki", S_yr, np.linalg.solve(S_rr, _adjoint(S_yr))).real
    coherence = explained / np.maximum((np.abs(Y) ** 2).mean(axis=-1), np.finfo(np.float64).tiny)
    lines = np.flatnonzero(excited).astype(np.float64)
    frequency: Floats = lines * (2.0 * math.pi / (size * real(period, "period", above=0.0)))
    shares: Floats = np.clip(coherence, 0.0, 1.0).astype(np.float64)
    return MeasuredResponse(frequency, loop, plant, loop_deviation, plant_deviation, shares, total - n)


def _segments(signal: Floats, first: int, count: int, size: int, taper: Floats) -> Complex:
    """Spectra (lines, n, segments) of signals (..., samples, n)."""
    n = signal.shape[-1]
    parts = signal[..., first : first + count * size, :].reshape(-1, size, n)
    parts = parts - parts.mean(axis=1, keepdims=True)
    return np.moveaxis(np.fft.rfft(taper[:, None] * parts, axis=1), 0, -1)


def _quotient(Y: Complex, U: Complex, R: Complex) -> tuple[Complex, Floats]:
    """Return G = S_yr S_ur⁻¹ and the standard deviations of its elements, from the residuals Y - G U."""
    S_ur = _mean(U, R)
    inverse = np.linalg.inv(S_ur)
    G = _mean(Y, R) @ inverse
    segments, n = Y.shape[-1], Y.shape[-2]
    variance = (np.abs(Y - G @ U) ** 2).sum(axis=-1) / (segments - n)
    spread = np.einsum("kji,kjl,kli->ki", inverse.conj(), _mean(R, R), inverse).real / segments
    return G, np.sqrt(variance[:, :, None] * np.maximum(spread, 0.0)[:, None, :])


def _mean(A: Complex, B: Complex) -> Complex:
    """Cross spectra (lines, n, n), averaged over segments."""
    return np.asarray(A @ _adjoint(B) / A.shape[-1])


def _adjoint(A: Complex) -> Complex:
    return np.asarray(np.swapaxes(A, -1, -2).conj())
