"""Explicit Runge–Kutta methods: a tableau each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.engine.identity import identity
from chasles.engine.program.scalar import Array, Real
from chasles.integrators.integrator import RightHandSide, Step, combination

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class RungeKutta:
    """Explicit Runge–Kutta method.

    With the stages kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ) the step gives y + h Σᵢ bᵢ kᵢ.

    Attributes
    ----------
    name, order, embedded_order
        See `Integrator`.
    nodes
        cᵢ, one for each stage.
    rows
        aᵢⱼ with j < i, a row for each stage.
    weights
        bᵢ.
    error_weights
        bᵢ less the weights of the embedded method; None without one.
    interpolation
        Rows (d, stages): the coefficient of θʲ inside a step is h Σᵢ rowⱼᵢ kᵢ; None for Hermite's cubic.
    differences
        Rows (4, stages) of `Step.differences`, h Σᵢ rowⱼᵢ kᵢ; None without them.

    Notes
    -----
    Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, sections II.1, II.4 and II.6.

    Examples
    --------
    >>> from chasles.integrators import RK4
    >>> RK4.step(lambda t, y: -y, 0.0, np.ones(1), 0.1).y.round(6)  # exp(-0.1)
    array([0.904838])
    """

    name: str
    order: int
    embedded_order: int | None
    nodes: tuple[float, ...]
    rows: Rows
    weights: tuple[float, ...]
    error_weights: tuple[float, ...] | None = None
    interpolation: Rows | None = None
    differences: Rows | None = None

    @property
    def stages(self) -> int:
        """Evaluations of the right-hand side in a step."""
        return len(self.nodes)

    @property
    def implicit(self) -> bool:
        """Whether a step needs the Jacobian: no."""
        return False

    @cached_property
    def digest(self) -> str:
        """Identity of the method: its coefficients."""
        return identity({field.name: getattr(self, field.name) for field in fields(self)})

    def step(self, f: RightHandSide, t: Real, y: Array, h: Real) -> Step:
        """Advance the state from t to t + h; on numbers or traced scalars."""
        k: list[Any] = []
        for node, row in zip(self.nodes, self.rows, strict=True):
            k.append(f(t + node * h, y + h * combination(row, k)))
        error = None if self.error_weights is None else h * combination(self.error_weights, k)
        interpolant = None
        if self.interpolation is not None:
            interpolant = np.array([h * combination(row, k) for row in self.interpolation])
        differences = None
        if self.differences is not None:
            differences = np.array([h * combination(row, k) for row in self.differences])
        return Step(y + h * combination(self.weights, k), error, interpolant, differences=differences)


@dataclass(frozen=True)
class StepDoubling:
    """Error estimate for a method without one: a step is compared with two of half its length.

    The difference also corrects the result, which gains an order. ROBOOP's ``rkqc`` is this of the classical
    Runge–Kutta method.

    Attributes
    ----------
    method
        Explicit method of order p.

    Notes
    -----
    Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.4, theorem 4.1.
    """

    method: RungeKutta

    @property
    def name(self) -> str:
        """Name for results and messages."""
        return f"{self.method.name} with step doubling"

    @property
    def order(self) -> int:
        """Order p + 1 of the corrected result."""
        return self.method.order + 1

    @property
    def embedded_order(self) -> int:
        """The order p of the method."""
        return self.method.order

    @property
    def stages(self) -> int:
        """Evaluations of the right-hand side in a step; the two first steps share their first."""
        return 3 * self.method.stages - 1

    @property
    def implicit(self) -> bool:
        """Whether a step needs the Jacobian: no."""
        return False

    def step(self, f: RightHandSide, t: Real, y: Array, h: Real) -> Step:
        """Advance the state from t to t + h; on numbers or traced scalars."""
        once, half = self.method.step(f, t, y, h).y, 0.5 * h
        twice = self.method.step(f, t + half, self.method.step(f, t, y, half).y, half).y
        error = (twice - once) / (2.0**self.method.order - 1.0)
        return Step(twice + error, error)


#: Euler's method, of order 1.
EULER = RungeKutta("euler", 1, None, (0.0,), ((),), (1.0,), interpolation=((1.0,),))

#: The classical method of order 4, with its continuous extension of order 3 (Hairer, Nørsett and Wanner, section II.6).
RK4 = RungeKutta(
    "rk4",
    4,
    None,
    (0.0, 1 / 2, 1 / 2, 1.0),
    ((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6),
    interpolation=((1.0, 0.0, 0.0, 0.0), (-3 / 2, 1.0, 1.0, -1 / 2), (2 / 3, -2 / 3, -2 / 3, 2 / 3)),
    # Of y' = J y the third is h³ J³ y, of y' = f(t) the fourth is h³ times the second derivative of f.
    differences=((1.0, 0.0, 0.0, 0.0), (-2.0, 2.0, 0.0, 0.0), (0.0, -4.0, 4.0, 0.0), (4.0, 0.0, -8.0, 4.0)),
)

#: Bogacki and Shampine's pair of orders 3 and 2 ("A 3(2) pair of Runge-Kutta formulas", Applied Mathematics Letters
#: 2(4), 1989): for coarse tolerances and right-hand sides that are not smooth.
BOGACKI_SHAMPINE = RungeKutta(
    "bogacki-shampine",
    3,
    2,
    (0.0, 1 / 2, 3 / 4, 1.0),
    ((), (1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)),
    (2 / 9, 1 / 3, 4 / 9, 0.0),
    error_weights=(-5 / 72, 1 / 12, 1 / 9, -1 / 8),
    interpolation=((1.0, 0.0, 0.0, 0.0), (-4 / 3, 1.0, 4 / 3, -1.0), (5 / 9, -2 / 3, -8 / 9, 1.0)),
)

_DORMAND_PRINCE = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)

#: Dormand and Prince's pair of orders 5 and 4 ("A family of embedded Runge-Kutta formulae", Journal of Computational
#: and Applied Mathematics 6(1), 1980), with Shampine's interpolant of order 4 ("Some practical Runge-Kutta formulas",
#: Mathematics of Computation 46, 1986).
DORMAND_PRINCE = RungeKutta(
    "dormand-prince",
    5,
    4,
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        _DORMAND_PRINCE,
    ),
    (*_DORMAND_PRINCE, 0.0),
    error_weights=(71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
    interpolation=(
        (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (
            -8048581381 / 2820520608,
            0.0,
            131558114200 / 32700410799,
            -1754552775 / 470086768,
            127303824393 / 49829197408,
            -282668133 / 205662961,
            40617522 / 29380423,
        ),
        (
            8663915743 / 2820520608,
            0.0,
            -68118460800 / 10900136933,
            14199869525 / 1410260304,
            -318862633887 / 49829197408,
            2019193451 / 616988883,
            -110615467 / 29380423,
        ),
        (
            -12715105075 / 11282082432,
            0.0,
            87487479700 / 32700410799,
            -10690763975 / 1880347072,
            701980252875 / 199316789632,
            -1453857185 / 822651844,
            69997945 / 29380423,
        ),
    ),
)
