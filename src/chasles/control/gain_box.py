"""Bounds within which gains are searched, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.controller import Controller
from chasles.engine import Layout

Floats = NDArray[np.float64]
#: Without bounds of its own a gain stays within this factor of its start, either way.
WIDEST = 100.0
#: Logarithmic distance from a bound below which a gain counts as being at it.
_AT_BOUND = 1e-6


@dataclass(frozen=True, eq=False)
class GainBox:
    """Logarithms of some of a law's gains, and their bounds.

    Attributes
    ----------
    law
        Law whose gains are searched.
    layout
        Names and shapes of the gains.
    limits
        Logarithms of lowest and highest values, shape (size, 2).
    first
        Logarithms of the law's own gains, within the bounds, shape (size,).
    """

    law: Controller
    layout: Layout
    limits: Floats
    first: Floats

    @classmethod
    def of(cls, law: Controller, by: Sequence[str] | None, bounds: Mapping[str, tuple[float, float]]) -> GainBox:
        """Return the box of the parameters and design values named by `by`, or of all that are positive and finite."""
        known = _known(law)
        gains = {name: np.asarray(known[name], dtype=float) for name in _names(law, by)}
        for name in bounds:
            if name not in gains:
                raise UnknownNameError("gain with bounds", name, gains)
        layout = Layout.of(gains)
        sides = [_sides(name, value, bounds.get(name)) for name, value in gains.items()]
        ends = [layout.join(dict(zip(gains, end, strict=True))) for end in zip(*sides, strict=True)]
        limits = np.log(np.stack([np.asarray(end, dtype=float) for end in ends], axis=-1))
        first = np.log(np.clip(layout.join(gains), np.exp(limits[:, 0]), np.exp(limits[:, 1])))
        return cls(law, layout, limits, first)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the gains."""
        return tuple(self.layout.leaves)

    def gains(self, x: Floats) -> dict[str, Floats]:
        """Gains by the law's names."""
        return dict(self.layout.split(np.exp(x)))

    def law_at(self, x: Floats) -> Controller:
        """The law with some gains."""
        return self.law.with_values(self.gains(x))

    @property
    def together(self) -> Floats:
        """Directions in which all elements of a parameter change by the same factor, shape (size, parameters)."""
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.layout.leaves.values()]
        return np.repeat(np.eye(len(sizes)), sizes, axis=0)

    def starting_points(self, count: int, seed: int) -> list[Floats]:
        """The first start, and the same times factors drawn for each gain, within the bounds."""
        rng = np.random.default_rng(seed)
        points = [self.first]
        for _ in range(count - 1):
            shift = self.together @ rng.uniform(-1.0, 1.0, len(self.names))
            points.append(np.clip(self.first + shift, self.limits[:, 0], self.limits[:, 1]))
        return points

    def around(self, x: Floats, distance: float) -> Floats:
        """Limits of the part of the box within a distance of a point along each axis, shape (size, 2)."""
        return np.clip(np.stack([x - distance, x + distance], axis=-1), self.limits[:, :1], self.limits[:, 1:])

    def at_bounds(self, x: Floats) -> list[str]:
        """Gains at a bound, such as ``"kp[1] at its upper bound"``."""
        return [
            f"{name} at its {side} bound"
            for side, limits in (("lower", self.limits[:, 0]), ("upper", self.limits[:, 1]))
            for name, value, limit in zip(self.layout.names, x, limits, strict=True)
            if abs(value - limit) < _AT_BOUND
        ]


def _known(law: Controller) -> dict[str, Any]:
    """A law's parameters, and the values that its gains are designed from."""
    return law.parameters | law.design_values


def _names(law: Controller, by: Sequence[str] | None) -> tuple[str, ...]:
    known = _known(law)
    if isinstance(by, str):
        raise ArgumentError(f"by must be a list of names such as ['kp', 'kd'], not the text {by!r}")
    for name in by or ():
        if name not in known:
            raise UnknownNameError(f"parameter of {type(law).__name__}", name, known)
    free = {name: np.asarray(x) for name, x in known.items() if name not in law.designed_parameters}
    gains = tuple(name for name, x in free.items() if np.all((x > 0.0) & np.isfinite(x)))
    names = gains if by is None else tuple(by)
    if not names:
        raise ArgumentError(f"{type(law).__name__} has no positive parameters to find; name them in by=, with bounds=")
    return names


def _sides(name: str, value: Floats, bounds: tuple[float, float] | None) -> tuple[Floats, Floats]:
    """Return lowest and highest values of a gain, each in its shape."""
    if bounds is None and np.any(value <= 0.0):
        raise ArgumentError(f"'{name}' is {value.tolist()}; give bounds={{'{name}': (lowest, highest)}}, positive")
    low, high = (value / WIDEST, value * WIDEST) if bounds is None else bounds
    if np.any(np.asarray(low) <= 0.0) or np.any(np.asarray(high) <= np.asarray(low)):
        raise ArgumentError(f"bounds['{name}'] must be two positive numbers, the lower first, not {low}, {high}")
    lowest, highest, _ = np.broadcast_arrays(low, high, value)
    return lowest, highest
