"""Right-hand sides as programs, which have exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine import Program
from chasles.engine.derivatives.accumulation import jacobian_entries
from chasles.engine.program.scalar import Array, Real, Traced
from chasles.engine.program.tracing import call_traced, flatten, unflatten
from chasles.engine.running.runner import INLINE_LIMIT
from chasles.integrators.integrator import LinearizedRates


@dataclass(frozen=True)
class ProgramRightHandSide:
    """Right-hand side that a program computes; on numbers or inside a trace.

    Attributes
    ----------
    program
        Program of (t, y, *parameters) with the rates as its one output.
    parameters
        Values of the further arguments, in order.

    Examples
    --------
    >>> from chasles.engine import sin, trace
    >>> pendulum = trace(lambda t, y: np.array([y[1], -9.81 * sin(y[0])]), {"t": (), "y": (2,)}, name="pendulum")
    >>> ProgramRightHandSide(pendulum).linearize(0.0, np.zeros(2)).jacobian
    array([[ 0.  ,  1.  ],
           [-9.81,  0.  ]])
    """

    program: Program
    parameters: Sequence[Any] = ()

    def __call__(self, t: Real, y: Array) -> Any:
        """Rates of the state, shape (n,)."""
        arguments = (t, y, *self.parameters)
        scalars = self._scalars(t, y)
        if any(isinstance(x, Traced) for x in scalars):
            return call_traced(self.program, arguments, inline=len(self.program.instructions) <= INLINE_LIMIT)
        return unflatten(self.program.replay(scalars), self.program.outputs[0].shape).astype(float)

    def linearize(self, t: Real, y: Array) -> LinearizedRates:
        """Rates and their exact partial derivatives."""
        n = self.program.outputs[0].size
        values, entries = jacobian_entries(self.program, self._scalars(t, y), range(1 + n), range(n))
        derivatives = [[entries.get((i, j), 0.0) for j in range(1 + n)] for i in range(n)]
        by_both = _array(derivatives)
        return LinearizedRates(_array([values[i] for i in range(n)]), by_both[:, 1:], by_both[:, 0])

    def with_new_velocities(self, rates: Array, t: Real, y: Array, y_next: Array) -> Array:
        """Rates of the positions, the first half of the state, at the velocities of ``y_next``."""
        half = len(y) // 2
        moved = self(t, np.concatenate([y[:half], y_next[half:]]))
        return np.concatenate([moved[:half], rates[half:]])

    def with_implicit_friction(self, t: Real, y: Array, h: Real) -> Array:
        """Raise an error: only simulations of robots separate friction from other forces."""
        raise ArgumentError(
            "'implicit-friction-euler' is for simulations of robots, whose friction is known; for other equations "
            "choose 'linearly-implicit-euler' or 'rodas5p'"
        )

    def _scalars(self, t: Real, y: Array) -> list[Any]:
        return [x for argument in (t, y, *self.parameters) for x in flatten(argument)[0]]


def _array(values: Sequence[object]) -> Array:
    """Array of numbers where all are, else of objects."""
    array = np.array(values, dtype=object)
    return array if any(isinstance(x, Traced) for x in array.ravel()) else array.astype(float)
