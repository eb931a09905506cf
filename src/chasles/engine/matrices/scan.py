"""A recursion over matrices: what a step makes of a state, over what is given at each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.engine.matrices.steps import Given, Matrix, operands

Floats = NDArray[np.float64]
Shapes = Mapping[str, tuple[int, int]]


class WrittenStep(NamedTuple):
    """A step as expressions.

    Attributes
    ----------
    state, given
        What the expressions are made of.
    following, samples
        The next state and the samples.
    """

    state: Given
    given: dict[str, Given]
    following: Matrix
    samples: dict[str, Matrix]


@dataclass(frozen=True)
class MatrixScan:
    """A recursion over matrices.

    A step must make NaN of NaN: machine code does not compute what follows a state whose first element is NaN.

    Attributes
    ----------
    step
        Function ``(state, **given) -> (next state, samples)`` of operations in `chasles.engine.matrices.steps`, samples
        by name.
    start, end
        Names of the arrays with the first state and for the last; no name for the end leaves it out.
    state
        Shape of the state.
    given
        Names and shapes of what is given at each step.
    backward
        Whether it runs from the last step to the first.
    """

    step: Callable[..., tuple[Any, dict[str, Any]]]
    start: str
    end: str
    state: tuple[int, int]
    given: Shapes
    backward: bool = False

    @cached_property
    def written(self) -> WrittenStep:
        """The step, written down."""
        state = Given(self.state, "state")
        given = {name: Given(shape, name) for name, shape in self.given.items()}
        return WrittenStep(state, given, *self.step(state, **given))

    @property
    def at_each_step(self) -> dict[str, tuple[int, int]]:
        """Names and shapes of what is given and of the samples."""
        return {**self.given, **{name: sample.shape for name, sample in self.written.samples.items()}}

    def text(self) -> str:
        """Return what the scan computes as text: equal texts, equal code."""
        lines: dict[Matrix, str] = {}
        roots = {name: _write(value, lines) for name, value in self.written.samples.items()}
        end = _write(self.written.following, lines)
        return f"{self.start} {self.end} {self.state} {self.given} {self.backward} {[*lines.values()]} {roots} {end}"

    def run(self, arrays: dict[str, Floats]) -> None:
        """Compute the scan in NumPy, from arrays by name into arrays by name; batches are their leading axes."""
        state = arrays[self.start]
        count = arrays[next(iter(self.given))].shape[-3]
        for k in reversed(range(count)) if self.backward else range(count):
            state, samples = self.step(state, **{name: arrays[name][..., k, :, :] for name in self.given})
            for name, sample in samples.items():
                arrays[name][..., k, :, :] = sample
        if self.end:
            arrays[self.end][...] = state


def _write(value: Matrix, lines: dict[Matrix, str]) -> int:
    """Write an expression, those that it is made of before it, and return its line."""
    parts = [_write(part, lines) for part in operands(value)]
    if value not in lines:
        known = [field for field in vars(value).values() if not isinstance(field, Matrix)]
        lines[value] = f"{type(value).__name__}{known}{parts}"
    return list(lines).index(value)
