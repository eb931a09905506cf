"""Rosenbrock methods: linearly implicit, with the exact Jacobian, for stiff equations.

A stiff equation has motions that die out far faster than those that are wanted: friction on a light link, a motor's
current, a hard contact. An explicit method must follow the fastest of them with its steps. Of the implicit methods this
family is taken because a step is a straight line of arithmetic, which is what the engine compiles and batches: one
Jacobian, which the engine derives exactly, one factorization, and one solution for each stage. Newton's iterations,
with their starting values, stopping rules and failures, are not needed; a nonlinearity that the linearization misses
shows in the error estimate, and shortens the step.

Both methods here are L-stable, R(∞) = 0, so that what is infinitely fast is gone after one step. The pair is stiffly
accurate too: its last stage is its result, so that what follows a slow motion at once (a speed at which friction and
torque balance) is as accurate as an algebraic equation solved in each step.

Sources: Hairer and Wanner, Solving Ordinary Differential Equations II, second edition, sections IV.3 and IV.7;
Rosenbrock, "Some general implicit processes for the numerical solution of differential equations", The Computer Journal
5(4), 1963.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.engine.identity import identity
from chasles.engine.linear.sparse_elimination import factor, solve
from chasles.engine.program.scalar import Array, Real
from chasles.integrators.integrator import RightHandSide, Step, combination

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Rosenbrock:
    """Rosenbrock method in the form of Hairer and Wanner's equation (IV.7.25), which multiplies no matrices.

    With the Jacobian J and the time derivative ∂f/∂t at the step's start, the stages solve

        (I - h γ J) uᵢ = h γ f(t + αᵢ h, y + Σⱼ aᵢⱼ uⱼ) + γ Σⱼ cᵢⱼ uⱼ + h² γ γᵢ ∂f/∂t,

    and the step gives y + Σᵢ mᵢ uᵢ.

    Attributes
    ----------
    name, order, embedded_order
        See `Integrator`.
    gamma
        γ.
    nodes, slopes
        αᵢ and γᵢ, one for each stage.
    rows, couplings
        aᵢⱼ and cᵢⱼ with j < i, a row for each stage.
    weights
        mᵢ.
    error_weights
        mᵢ less the weights of the embedded method; None without one.
    interpolation
        Rows (d, stages): the coefficient of θʲ inside a step is Σᵢ rowⱼᵢ uᵢ; None for Hermite's cubic.

    Examples
    --------
    A motion with a time constant of 1 ns, in a step of 1 s:

    >>> import chasles as ch
    >>> fast = ch.integrate(lambda t, y: -1e9 * y, [1.0], [0.0, 1.0], integrator=ch.integrators.Steps("rodas5p", 1))
    >>> bool(abs(fast.y[-1, 0]) < 1e-6)
    True
    """

    name: str
    order: int
    embedded_order: int | None
    gamma: float
    nodes: tuple[float, ...]
    slopes: tuple[float, ...]
    rows: Rows
    couplings: Rows
    weights: tuple[float, ...]
    error_weights: tuple[float, ...] | None = None
    interpolation: Rows | None = None

    @property
    def stages(self) -> int:
        """Evaluations of the right-hand side in a step."""
        return len(self.nodes)

    @property
    def implicit(self) -> bool:
        """Whether a step needs the Jacobian: yes."""
        return True

    @cached_property
    def digest(self) -> str:
        """Identity of the method: its coefficients."""
        return identity({field.name: getattr(self, field.name) for field in fields(self)})

    def step(self, f: RightHandSide, t: Real, y: Array, h: Real) -> Step:
        """Advance the state from t to t + h; on numbers or traced scalars."""
        start = f.linearize(t, y)
        scale = h * self.gamma
        factored = factor(np.eye(len(y)) - scale * start.jacobian)
        u: list[Any] = []
        for node, slope, row, coupling in zip(self.nodes, self.slopes, self.rows, self.couplings, strict=True):
            at_start = node == 0.0 and not any(row)
            rates = start.rates if at_start else f(t + node * h, y + combination(row, u))
            right = scale * rates + self.gamma * combination(coupling, u)
            u.append(solve(factored, right + (slope * h * scale) * start.by_time))
        error = None if self.error_weights is None else combination(self.error_weights, u)
        end = y + combination(self.weights, u)
        if self.interpolation is None:
            return Step(end, error)
        interpolant = np.array([combination(row, u) for row in self.interpolation])
        # What the equation misses in the middle, as an error of y: divided by the Jacobian where this is large. A fast
        # variable that follows a slow one may be accurate at the end alone, and the other estimate sees no more.
        powers = range(1, len(interpolant) + 1)
        middle = y + combination([0.5**k for k in powers], interpolant)
        slope = combination([k * 0.5 ** (k - 1) for k in powers], interpolant)
        defect = self.gamma * (h * f(t + 0.5 * h, middle) - slope)
        return Step(end, error, interpolant, solve(factored, defect))


def _in_powers(weights: tuple[float, ...], *inner: tuple[float, ...]) -> Rows:
    """Rows of θ, θ², … of the interpolant θ Σ mᵢ uᵢ + θ (1 - θ) (Σ Dᵢ¹ uᵢ + θ Σ Dᵢ² uᵢ + …)."""
    D = np.array(inner)
    rows = np.zeros((len(D) + 1, len(weights)))
    rows[0] = weights
    rows[:-1] += D
    rows[1:] -= D
    return tuple(tuple(row) for row in rows.tolist())


#: The linearly implicit Euler method, of order 1: the linear part of the step is that of the implicit Euler method.
LINEARLY_IMPLICIT_EULER = Rosenbrock(
    "linearly-implicit-euler", 1, None, 1.0, (0.0,), (1.0,), ((),), ((),), (1.0,), interpolation=((1.0,),)
)

_RODAS5P = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)

#: Rodas5P, of orders 5 and 4, made to lose little of its order on problems like Prothero and Robinson's: for tight
#: tolerances. Steinebach, "Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia
#: Differential Equations package", BIT Numerical Mathematics 63, 2023, with its interpolant of order 4.
RODAS5P = Rosenbrock(
    "rodas5p",
    5,
    4,
    0.21193756319429014,
    (0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0),
    (
        0.21193756319429014,
        -0.42387512638858027,
        -0.3384627126235924,
        1.8046452872882734,
        2.325825639765069,
        0.0,
        0.0,
        0.0,
    ),
    (
        (),
        (3.0,),
        (2.849394379747939, 0.45842242204463923),
        (-6.954028509809101, 2.489845061869568, -10.358996098473584),
        (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
        _RODAS5P,
        (*_RODAS5P, 1.0),
        (*_RODAS5P, 1.0, 1.0),
    ),
    (
        (),
        (-14.155112264123755,),
        (-17.97296035885952, -2.859693295451294),
        (147.12150275711716, -1.41221402718213, 71.68940251302358),
        (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
        (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
        (
            30.91273214028599,
            -3.1208243349937974,
            77.79954646070892,
            34.28646028294783,
            -19.097331116725623,
            -28.087943162872662,
        ),
        (
            37.80277123390563,
            -3.2571969029072276,
            112.26918849496327,
            66.9347231244047,
            -40.06618937091002,
            -54.66780262877968,
            -9.48861652309627,
        ),
    ),
    (*_RODAS5P, 1.0, 1.0, 1.0),
    error_weights=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
    interpolation=_in_powers(
        (*_RODAS5P, 1.0, 1.0, 1.0),
        (
            25.948786856663858,
            -2.5579724845846235,
            10.433815404888879,
            -2.3679251022685204,
            0.524948541321073,
            1.1241088310450404,
            0.4272876194431874,
            -0.17202221070155493,
        ),
        (
            -9.91568850695171,
            -0.9689944594115154,
            3.0438037242978453,
            -24.495224566215796,
            20.176138334709044,
            15.98066361424651,
            -6.789040303419874,
            -6.710236069923372,
        ),
        (
            11.419903575922262,
            2.8879645146136994,
            72.92137995996029,
            80.12511834622643,
            -52.072871366152654,
            -59.78993625266729,
            -0.15582684282751913,
            4.883087185713722,
        ),
    ),
)
