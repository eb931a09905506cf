"""Result of an integration: states at the requested times, and statistics of the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Layout
from chasles.engine.program.records import Record
from chasles.engine.program.scalar import Count, Quantity, Verdict

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials of all steps, run after run.

    Attributes
    ----------
    first
        Number of the first step of each run, and the number of all steps, (R + 1,).
    begin, end
        Times of each step, (M,).
    y
        States where they begin, (M, n).
    interpolant
        See `chasles.integrators.Step`, (M, d, n).
    """

    first: NDArray[np.int64]
    begin: Floats
    end: Floats
    y: Floats
    interpolant: Floats

    def at(self, steps: NDArray[np.int64], t: Floats) -> Floats:
        """States (k, n) at times (k,), each inside one of the steps."""
        return evaluate(self.y, self.interpolant, self.begin, self.end, steps, t)


def evaluate(y: Floats, interpolant: Floats, begin: Floats, end: Floats, steps: NDArray[np.int64], t: Floats) -> Floats:
    """States (k, n) at times (k,) by the polynomials of the steps (k,); arrays as in `Pieces`."""
    theta = ((t - begin[steps]) / (end[steps] - begin[steps]))[:, None]
    value = np.zeros((len(steps), y.shape[-1]))
    for degree in reversed(range(interpolant.shape[1])):
        value = (value + interpolant[steps, degree]) * theta
    return y[steps] + value


@dataclass(frozen=True, eq=False)
class Integration:
    """Solution of an initial value problem, for one run or a batch.

    Attributes
    ----------
    t
        Times, (K,).
    y
        States at these times, (*batch, K, n); of a state with named parts a mapping of arrays. NaN after a run failed.
    success
        Whether each run reached the last time, (*batch).
    failed_at
        Time at which each run that failed did so; NaN for the others.
    message
        Sentence for each run: a string, or for a batch an array of strings.
    steps, rejections
        Number of accepted steps of each run, and of steps repeated because their error was too large.
    evaluations
        Number of evaluations of the right-hand side in each run.
    integrator
        Name of the method.
    pieces
        Interpolating polynomials inside the steps, with ``dense=True``.
    adjoint
        What `vjp` calls.
    """

    t: Floats
    y: Floats | Record
    success: Verdict
    failed_at: Quantity
    message: str | NDArray[np.str_]
    steps: Count
    rejections: Count
    evaluations: Count
    integrator: str
    layout: Layout
    pieces: Pieces | None = None
    adjoint: Callable[[Floats], tuple[Any, ...]] | None = None

    def vjp(self, y: ArrayLike | Mapping[str, ArrayLike]) -> Any:
        """Return the derivatives of a number by initial state and parameters, from those by the states.

        One integration back along the steps, whose lengths count as constant, gives them all.

        Parameters
        ----------
        y
            Derivatives of the number by ``self.y``, of its shape or broadcasting to it; a mapping where the state is.

        Returns
        -------
        InitialValueGradient
            ``y0`` and ``parameters`` of each run; NaN for runs that failed.

        Raises
        ------
        ArgumentError
            A shape is wrong, or the integration does not know its function any more, as after pickling.

        Examples
        --------
        How far a pendulum swings in a second depends on its length:

        >>> import chasles as ch
        >>> from chasles.engine import sin
        >>> def pendulum(t, y, length):
        ...     return [y[1], -9.81 / length * sin(y[0])]
        >>> swing = ch.integrate(pendulum, [0.5, 0.0], [0.0, 1.0], parameters={"length": 1.0})
        >>> by = swing.vjp([[0.0, 0.0], [1.0, 0.0]])  # of the last angle
        >>> by.y0.round(3), by.parameters["length"].round(3)
        (array([-0.993,  0.019]), np.float64(0.045))
        """
        if self.adjoint is None:
            raise ArgumentError(
                "this integration does not know its function any more, as after pickling; integrate again"
            )
        expected = self.layout.join(self.y).shape
        joined = self.layout.join(y)
        try:
            full = np.broadcast_to(np.asarray(joined, dtype=float), expected)
        except ValueError:
            raise ArgumentError(f"y has shape {np.shape(joined)}; expected {expected}, that of the states") from None
        return self.adjoint(full)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the function, which may be none that can be stored."""
        return {name: part for name, part in self.__dict__.items() if name != "adjoint"}

    def __call__(self, t: ArrayLike) -> Any:
        """States between the times that were asked for, by the method's interpolant.

        Parameters
        ----------
        t
            One time, or an array of them, within the range of ``self.t``.

        Returns
        -------
        ndarray
            Shape (*batch, *t.shape, n), or a mapping of parts. NaN where a run had failed.

        Raises
        ------
        ArgumentError
            The integration was made without ``dense=True``, or a time is outside of the range.

        Examples
        --------
        >>> import chasles as ch
        >>> fall = ch.integrate(lambda t, y: [y[1], -9.81], [0.0, 0.0], [0.0, 1.0], dense=True)
        >>> fall([0.25, 0.5])[:, 0].round(4)
        array([-0.3066, -1.2263])
        """
        if self.pieces is None:
            raise ArgumentError("states between the times were not kept: integrate with dense=True")
        times = np.asarray(t, dtype=float)
        low, high = min(self.t[0], self.t[-1]), max(self.t[0], self.t[-1])
        outside = ~((times >= low) & (times <= high))
        if outside.any():
            raise ArgumentError(f"t = {times[outside].flat[0]:g} is outside of the integration, {low:g} to {high:g}")
        flat, direction = times.ravel(), np.sign(self.t[-1] - self.t[0])
        batch = np.shape(self.success)
        runs = len(self.pieces.first) - 1
        values = np.full((runs, flat.size, self.layout.size), np.nan)
        for run in range(runs):
            first, stop = self.pieces.first[run], self.pieces.first[run + 1]
            if stop > first:
                ends = direction * self.pieces.end[first:stop]
                number = np.searchsorted(ends, direction * flat)
                reached = number < stop - first
                values[run, reached] = self.pieces.at(first + number[reached], flat[reached])
        return self.layout.split(values.reshape(*batch, *times.shape, self.layout.size))

    def __repr__(self) -> str:
        runs = int(np.size(self.success))
        failed = runs - int(np.sum(self.success))
        what = f"{runs} runs" if np.ndim(self.success) else "1 run"
        steps = f"{np.min(self.steps):.0f} to {np.max(self.steps):.0f}" if runs > 1 else f"{np.max(self.steps):.0f}"
        size = f"{what}, {self.layout.size} states, {len(self.t)} times, {steps} steps"
        return f"<Integration by {self.integrator}: {size}{f', {failed} failed' if failed else ''}>"
