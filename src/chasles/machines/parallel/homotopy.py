"""Paths of the poses of a Stewart-Gough platform while its geometry and leg lengths change, all at once.

The parameters of the equations move along a straight line in complex space, t from 0 to 1. A path x(t) is followed by
Hermite's cubic prediction from its last two points and by Newton's correction; the size of the first correction
controls the step. One iteration of a *solve* kernel evaluates and solves the linear equations once, so lanes work on
different paths and none waits for another. Projective coordinates stay bounded where a pose goes to infinity. Source:
Sommese & Wampler, The Numerical Solution of Systems of Polynomials (2005), chapters 2, 3 and 7.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function, Layout, maximum, minimum, sqrt, trace, where
from chasles.engine.linear.complex_numbers import Complex, join, parts
from chasles.engine.linear.pivoted_elimination import solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.machines.parallel.study_equations import SHAPES, Parameters, dot, gradients, rates

#: Size of Newton's first correction, relative to x, that the step length aims at; more than `LARGEST` rejects the step.
AIM, LARGEST = 1e-4, 2e-3
#: A correction below this ends Newton's iteration; each must be smaller than the one before by `CONTRACTION`.
CORRECTED, CONTRACTION = 1e-6, 0.1
#: First and smallest step, largest growth and least shrinkage of a step.
FIRST_STEP, SMALLEST_STEP, GROWTH, SHRINKAGE = 1e-3, 1e-13, 2.5, 0.2
#: Most iterations of a path.
MAX_ITERATIONS = 4000
_TINY = 1e-300


class PathPoint(NamedTuple):
    """Point of a path: real and imaginary parts of x and of dx/dt, (2, 8), and t; t is negative for none."""

    x: Any
    rate: Any
    t: Any


class Track(NamedTuple):
    """State of a path between two iterations of Newton's method.

    Attributes
    ----------
    x
        Point that is being corrected, (2, 8), with the parameters at t.
    last, before
        The two points reached last.
    step
        Length of the current step.
    correction
        Size of the last correction of the current step; 0 before the first.
    first
        Size of the first correction of the current step.
    """

    x: Any
    t: Any
    last: Any
    before: Any
    step: Any
    correction: Any
    first: Any


_POINT = PathPoint((2, 8), (2, 8), ())
LAYOUT = Layout(Track((2, 8), (), _POINT, _POINT, (), (), ()))
_PARAMETERS = Layout({"re": SHAPES, "im": SHAPES})

#: Coefficients of the equation that fixes the scale of x.
PATCH: NDArray[np.complex128] = np.exp(1j * np.array([0.3, 2.9, 1.7, 5.1, 4.0, 0.9, 3.4, 2.2]))


def start(x: NDArray[np.complex128]) -> NDArray[np.float64]:
    """States (..., s) of paths that begin at x (..., 8)."""
    scaled = x / np.sum(PATCH * x, axis=-1, keepdims=True)
    pairs = np.stack([scaled.real, scaled.imag], axis=-2)
    none = PathPoint(pairs, np.zeros_like(pairs), -1.0)
    return LAYOUT.join(Track(pairs, 0.0, none, none, 0.0, 0.0, 0.0))


def parameter_vector(parameters: Parameters) -> NDArray[np.float64]:
    """Parameters (..., of complex numbers) as a vector (..., 72) of real and imaginary parts."""
    re, im = (Parameters(*(part(value) for value in parameters)) for part in (np.real, np.imag))
    return _PARAMETERS.join({"re": re, "im": im})


class Ends(NamedTuple):
    """Ends of paths: x (..., 8), the t that was reached (...), and whether that is 1."""

    x: NDArray[np.complex128]
    t: NDArray[np.float64]
    arrived: NDArray[np.bool_]


def ends(states: NDArray[np.float64]) -> Ends:
    """Ends of paths in states (..., s): of one that did not arrive its last point."""
    track = LAYOUT.split(states)
    arrived = track.last.t >= 1.0
    x = track.last.x[..., 0, :] + 1j * track.last.x[..., 1, :]
    return Ends(x, track.last.t, arrived)


@cache
def tracker() -> Function:
    """Return the solve kernel: (state, parameters at t = 0, parameters at t = 1) -> (state, done)."""

    def step(packed: Array, at_start: Array, at_end: Array) -> tuple[Array, Any]:
        track: Track = LAYOUT.split(packed)
        x = join(track.x[0], track.x[1])
        first, final = _parameters(at_start), _parameters(at_end)
        changes = Parameters(*(late - early for early, late in zip(first, final, strict=True)))
        t = Complex(track.t)
        now = Parameters(*(early + t * change for early, change in zip(first, changes, strict=True)))
        J = np.concatenate([gradients(now, x), [[*join(PATCH.real, PATCH.imag)]]])
        quadrics = J[:7] @ x * 0.5
        patch = dot(J[7], x) - 1.0
        right = np.array([[-value, -rate] for value, rate in zip(quadrics, rates(now, changes, x), strict=True)])
        solved = solve(J, np.concatenate([right, [[-patch, 0.0 * patch]]]))
        correction, rate = (np.array(parts(column)) for column in solved.T)
        size = sqrt(_square(correction) / (_square(track.x) + _TINY))
        return _advanced(track, track.x + correction, rate, size)

    inputs = {"state": (LAYOUT.size,), "at_start": (_PARAMETERS.size,), "at_end": (_PARAMETERS.size,)}
    return Function(trace(step, inputs, name="pose_paths", outputs=["state_next", "done"]), shape="solve")


def _advanced(track: Track, x: Array, rate: Array, size: Real) -> tuple[Array, Any]:
    """State after a correction of a relative size to x, and whether the path has ended."""
    begins = track.correction <= 0.0
    fits = size <= where(begins, LARGEST, CONTRACTION * track.correction)
    accepted = fits & (size <= CORRECTED)
    rejected = ~fits
    first = where(begins, size, track.first)
    arrived = accepted & (track.t >= 1.0)
    last = _chosen(accepted, PathPoint(x, rate, track.t), track.last)
    before = _chosen(accepted, track.last, track.before)
    growth = sqrt(sqrt(AIM / (first + _TINY)))
    longer = where(track.t <= 0.0, FIRST_STEP, track.step * maximum(minimum(growth, GROWTH), SHRINKAGE))
    length = where(accepted, longer, track.step * SHRINKAGE)
    t = minimum(last.t + length, 1.0)
    predicted = _prediction(before, last, t)
    renewed = accepted | rejected
    stuck = rejected & (length < SMALLEST_STEP)
    following = Track(
        where(renewed & ~arrived, predicted, x),
        where(renewed & ~arrived, t, track.t),
        last,
        before,
        where(renewed, t - last.t, track.step),
        where(renewed, 0.0, size),
        first,
    )
    return LAYOUT.join(following), where(arrived | stuck, 1.0, 0.0)


def _prediction(before: PathPoint, last: PathPoint, t: Real) -> Array:
    """Predict x at t by Hermite's cubic through two points and their rates, or along the rate of the only one."""
    h = t - last.t
    d = last.t - before.t
    s = h / d
    u = 1.0 + s
    cubic = (
        (s * s * (3.0 + 2.0 * s)) * before.x
        + (d * u * s * s) * before.rate
        + (u * u * (1.0 - 2.0 * s)) * last.x
        + (d * u * u * s) * last.rate
    )
    return np.asarray(where(before.t < 0.0, last.x + h * last.rate, cubic))


def _chosen(condition: Any, first: PathPoint, second: PathPoint) -> PathPoint:
    return PathPoint(*(where(condition, a, b) for a, b in zip(first, second, strict=True)))


def _parameters(vector: Array) -> Parameters:
    split = _PARAMETERS.split(vector)
    values = [join(np.asarray(re), np.asarray(im)) for re, im in zip(split.re, split.im, strict=True)]
    return Parameters(values[0], values[1], values[2], values[3].item())


def _square(pairs: Array) -> Any:
    """Squared length of a complex vector, given as real and imaginary parts (2, n)."""
    flat = pairs.ravel()
    return flat @ flat
