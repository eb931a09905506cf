"""Interface of integrators: one step of a method for dy/dt = f(t, y), as plain arithmetic that can be traced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Array, Real


class LinearizedRates(NamedTuple):
    """Rates f (n,) at a time and a state, the Jacobian ∂f/∂y (n, n), and ∂f/∂t (n,).

    A derivative that is zero for every state is the number 0.
    """

    rates: Array
    jacobian: Real
    by_time: Real


class RightHandSide(Protocol):
    """Right-hand side of dy/dt = f(t, y) as integrators see it.

    Explicit methods only call it, so any plain function ``f(t, y)`` works for them.
    """

    def __call__(self, t: Real, y: Array) -> Array:
        """Rates of the state, shape (n,)."""
        ...

    def linearize(self, t: Real, y: Array) -> LinearizedRates:
        """Rates and their exact partial derivatives."""
        ...

    def with_new_velocities(self, rates: Array, t: Real, y: Array, y_next: Array) -> Array:
        """Rates at (t, y), with those of the positions taken at the velocities of ``y_next``."""
        ...

    def with_implicit_friction(self, t: Real, y: Array, h: Real) -> Array:
        """Mean rates over a step of length h from (t, y), with friction taken at the end of the step."""
        ...


class Step(NamedTuple):
    """Result of one step.

    Attributes
    ----------
    y
        State at the end, (n,).
    error
        Estimate of the error of ``y``, (n,); None for methods without one.
    interpolant
        Coefficients (d, n) of the state inside the step, y(t + θ h) = y₀ + Σⱼ cⱼ θʲ with j from 1 to d; None for
        Hermite's cubic between both ends.
    interpolant_error
        Estimate of the error inside the step, (n,), for methods whose ends may be far better; None for others.
    differences
        Estimates from the stages of the first three derivatives of y times h, h² and h³, the third in two ways, (4, n),
        for methods of order 4 without an estimate of the error; None for others.
    """

    y: Array
    error: Any = None
    interpolant: Any = None
    interpolant_error: Any = None
    differences: Any = None


class Integrator(Protocol):
    """One-step method. Any object with these attributes is an integrator.

    Compiled loops of a custom method are cached by the step that it takes; see `chasles.engine.identity`.

    Attributes
    ----------
    name
        Name for results and messages.
    order
        p: the error of a step is O(hᵖ⁺¹).
    embedded_order
        Order of the embedded solution for the error estimate, which is O(h^(embedded_order + 1)). None for methods
        without an estimate, which take steps of a fixed length.
    stages
        Evaluations of the right-hand side in a step.
    implicit
        Whether a step needs the Jacobian of the right-hand side.

    Examples
    --------
    Heun's method with Euler's as the embedded one:

    >>> from dataclasses import dataclass
    >>> import chasles as ch
    >>> @dataclass(frozen=True)
    ... class Heun:
    ...     name = "heun"
    ...     order, embedded_order, stages, implicit = 2, 1, 2, False
    ...
    ...     def step(self, f, t, y, h):
    ...         k1 = f(t, y)
    ...         k2 = f(t + h, y + h * k1)
    ...         return ch.integrators.Step(y + 0.5 * h * (k1 + k2), error=0.5 * h * (k2 - k1))
    >>> decay = ch.integrate(lambda t, y: -y, [1.0], [0.0, 1.0], integrator=Heun())
    >>> decay.y[-1].round(4)
    array([0.3679])
    """

    @property
    def name(self) -> str:
        """Name for results and messages."""
        ...

    @property
    def order(self) -> int:
        """Order of convergence."""
        ...

    @property
    def embedded_order(self) -> int | None:
        """Order of the embedded solution."""
        ...

    @property
    def stages(self) -> int:
        """Evaluations of the right-hand side in a step."""
        ...

    @property
    def implicit(self) -> bool:
        """Whether a step needs the Jacobian."""
        ...

    def step(self, f: RightHandSide, t: Real, y: Array, h: Real) -> Step:
        """Advance the state from t to t + h; on numbers or traced scalars."""
        ...


def combination(weights: Sequence[float], vectors: Iterable[Array]) -> Any:
    """Sum of weighted vectors without those of weight 0; the number 0 if nothing is left.

    >>> combination((2.0, 0.0, 1.0), [np.ones(2), np.ones(2), np.ones(2)])
    array([3., 3.])
    """
    terms = [
        vector if weight == 1.0 else weight * vector
        for weight, vector in zip(weights, vectors, strict=False)
        if weight != 0.0
    ]
    return sum(terms[1:], terms[0]) if terms else 0.0


def interpolant_of(step: Step, f: RightHandSide, t: Real, y: Array, h: Real) -> Any:
    """Coefficients (d, n) of the state inside a step: the method's own, or those of Hermite's cubic.

    Source: Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.6, equation (6.7).
    """
    if step.interpolant is not None:
        return step.interpolant
    change, begin, end = step.y - y, h * f(t, y), h * f(t + h, step.y)
    return np.array([begin, 3.0 * change - 2.0 * begin - end, begin + end - 2.0 * change])


def checked_integrator(integrator: object) -> Integrator:
    """Return an object that is an integrator as it is.

    Raises
    ------
    ArgumentError
        It has no method ``step``, or one of the attributes is missing.
    """
    needed = ("name", "order", "embedded_order", "stages", "implicit", "step")
    missing = [attribute for attribute in needed if not hasattr(integrator, attribute)]
    if missing:
        raise ArgumentError(
            f"integrator must be a name or an object as chasles.integrators.Integrator describes it; {integrator!r} "
            f"has no {', '.join(missing)}"
        )
    return cast(Integrator, integrator)
