"""Step size control from the error estimate of each step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine import absolute, exp, log, maximum, minimum, sqrt, where
from chasles.engine.program.scalar import Array, Real, Truth
from chasles.integrators.integrator import RightHandSide

#: Errors below this share of the tolerance are taken for it: an error of 0 would ask for an endless step.
_LEAST_ERROR = 1e-8


@dataclass(frozen=True)
class StepControl:
    """Proportional–integral control of the step.

    With the errors e of this step and e' of the previous one, relative to the tolerance, and k the embedded order plus
    one, the next step is longer by the factor

        safety · e^(-β₁/k) · e'^(-β₂/k),

    within bounds. The second power damps the ups and downs of the first.

    Attributes
    ----------
    beta
        β₁ and β₂; (1, 0) is the elementary control, the default the controller PI.4.2.
    safety
        Safety factor: ratio of the target error to the tolerance.
    shrink, grow
        Bounds of the factor.

    Raises
    ------
    ArgumentError
        A value is out of its range.

    Notes
    -----
    Söderlind, "Digital filters in adaptive time-stepping", ACM Transactions on Mathematical Software 29(1), 2003;
    Söderlind and Wang, "Evaluating numerical ODE/DAE methods, algorithms and software", Journal of Computational and
    Applied Mathematics 185(2), 2006.
    """

    beta: tuple[float, float] = (3 / 5, -1 / 5)
    safety: float = 0.9
    shrink: float = 0.2
    grow: float = 5.0

    def __post_init__(self) -> None:
        if not (0.0 < self.safety < 1.0 and 0.0 < self.shrink < 1.0 < self.grow):
            raise ArgumentError(
                "step control: safety and shrink must be between 0 and 1, and grow above 1, not "
                f"safety={self.safety}, shrink={self.shrink}, grow={self.grow}"
            )

    def factor(self, error: Real, before: Real, accepted: Truth, calm: Truth, embedded_order: int) -> Real:
        """Ratio of the next step to this one.

        Parameters
        ----------
        error, before
            Errors of this step and of the last accepted one, relative to the tolerance.
        accepted
            Whether this step is accepted.
        calm
            Whether the previous step was accepted; after a rejection steps do not grow.
        embedded_order
            Order of the method that estimates the error.
        """
        k = embedded_order + 1.0
        now, then = maximum(error, _LEAST_ERROR), maximum(before, _LEAST_ERROR)
        wanted = where(
            accepted,
            self.safety * exp(-(self.beta[0] * log(now) + self.beta[1] * log(then)) / k),
            self.safety * exp(-log(now) / k),
        )
        most = where(accepted & calm, self.grow, 1.0)
        # Of an error that is no number nothing is known: the comparison fails, and the step shrinks by what it may.
        return where(error < np.inf, minimum(maximum(wanted, self.shrink), most), self.shrink)


def relative_error(error: Array, y: Array, y_next: Array, rtol: Real, atol: Array) -> Real:
    """Largest component of an error as a share of its tolerance, atol + rtol max(abs(y), abs(y_next)).

    The largest and not the mean, so that a component is as accurate whatever stands beside it in the state.

    >>> float(relative_error(np.array([1e-6, 3e-6]), np.ones(2), np.ones(2), 1e-6, np.full(2, 1e-6)))
    1.5
    """
    largest: Real = 0.0
    for part, a, b, tolerance in zip(error, y, y_next, atol, strict=True):
        share = absolute(part) / (tolerance + rtol * maximum(absolute(a), absolute(b)))
        largest = maximum(largest, share)
    return largest


def first_step(f: RightHandSide, t: Real, y: Array, t_end: Real, rtol: Real, atol: Array, order: int) -> Real:
    """Length of the first step, with its sign, by the sizes of the rates and of their change.

    Notes
    -----
    Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.4, Starting Step Size.
    """
    way = t_end - t
    rates = f(t, y)
    scale = [tolerance + rtol * absolute(value) for tolerance, value in zip(atol, y, strict=True)]
    size, speed = _mean(y, scale), _mean(rates, scale)
    slow = (size < 1e-5) | (speed < 1e-5)
    guess = minimum(where(slow, 1e-6, 0.01 * size / where(slow, 1.0, speed)), absolute(way))
    probe = where(way < 0.0, -guess, guess)
    change = _mean(f(t + probe, y + probe * rates) - rates, scale) / guess
    fastest = maximum(speed, change)
    still = fastest <= 1e-15
    wanted = exp(log(0.01 / where(still, 1.0, fastest)) / (order + 1.0))
    length = minimum(100.0 * guess, where(still, maximum(1e-6, 1e-3 * guess), wanted))
    # Where the rates are no numbers, the integration finds out, from a step that is one.
    length = minimum(where(length < np.inf, length, guess), absolute(way))
    return where(way < 0.0, -length, length)


def _mean(values: Array, scale: Iterable[Real]) -> Real:
    """Root of the mean square of values relative to a scale."""
    shares = [value / unit for value, unit in zip(values, scale, strict=True)]
    return sqrt(sum((share * share for share in shares[1:]), shares[0] * shares[0]) / len(shares))
