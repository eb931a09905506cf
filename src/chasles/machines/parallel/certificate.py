"""Proof that a pose exists near a computed one, and that it is the only one there.

Let A be an approximate inverse of the Jacobian J of the equations F at x. The equations are quadratic, so J changes by
at most L |dx|. With

    Y = |A| |F(x)|,    Z = |1 - A J(x)|,    K = |A| L,    |·| Euclidean and Frobenius norms,

x - A F(x) maps the ball of radius r around x into itself and contracts it if K r² / 2 - (1 - Z) r + Y <= 0. Then
exactly one zero lies within the smaller root r, and no other within the larger one. All norms include bounds on the
rounding errors of their computation. A ball around a real x holds a real zero, for the conjugate of the zero lies in it
too.
Sources: Kantorovich's theorem for quadratic maps; Rump, Verification methods: Rigorous results using floating-point
arithmetic, Acta Numerica 19 (2010), section 13.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function, Layout, sqrt, trace
from chasles.engine.linear.complex_numbers import join, parts
from chasles.engine.linear.pivoted_elimination import solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array
from chasles.machines.parallel.study_equations import SHAPES, Parameters, dot, gradients

#: Rounding errors of an element of J, of F and of products with A: this many units, times bounds on what is summed.
_ROUNDING = 64 * 2.0**-53
_PARAMETERS = Layout(SHAPES)


class NewtonStep(NamedTuple):
    """Newton's step from x (..., 2, 8), real and imaginary parts, and the norms of the proof at x, (...)."""

    next_x: Array
    residual: Real
    inverse: Real
    defect: Real
    jacobian: Real


class Proof(NamedTuple):
    """Proof for points x: `exists`, and the radii of existence and of uniqueness, (...); NaN without proof."""

    exists: NDArray[np.bool_]
    radius: NDArray[np.float64]
    unique_radius: NDArray[np.float64]


@cache
def newton() -> Function:
    """Return the function (x (2, 8), patch (2, 8), real parameters (36,)) -> NewtonStep.

    The equations are the seven quadrics and patch · x = 1, which fixes the scale of x.
    """

    def step(x: Array, patch: Array, vector: Array) -> NewtonStep:
        split = [join(np.asarray(value), np.zeros(np.shape(value))) for value in _PARAMETERS.split(vector)]
        parameters = Parameters(split[0], split[1], split[2], split[3].item())
        z = join(x[0], x[1])
        J = np.concatenate([gradients(parameters, z), [join(patch[0], patch[1])]])
        F = np.concatenate([0.5 * (J[:7] @ z), [dot(J[7], z) - 1.0]])
        A = solve(J, join(np.eye(8), np.zeros((8, 8))))
        defect = A @ J - np.eye(8)
        next_x = z - A @ F
        return NewtonStep(np.array(parts(next_x)), _norm(F), _norm(A), _norm(defect), _norm(J))

    return Function(
        trace(step, {"x": (2, 8), "patch": (2, 8), "parameters": (_PARAMETERS.size,)}, name="newton_bounds"),
        result=NewtonStep,
    )


def parameter_vector(parameters: Parameters) -> NDArray[np.float64]:
    """Real parameters as a vector (..., 36)."""
    return _PARAMETERS.join(parameters)


def lipschitz(parameters: Parameters) -> NDArray[np.float64]:
    """Bound on the change of the Jacobian per change of x, (...), with room for the rounding of the parameters."""
    a, b = (np.linalg.norm(vectors, axis=-1) for vectors in (parameters.a, parameters.b))
    of_legs = a + b + 2.0 * a * b + 2.0 * np.abs(parameters.k) + (a + b) ** 2 + 2.0 * parameters.square[..., None]
    of_first = 2.0 * np.maximum(1.0, parameters.square)
    return np.asarray(np.sqrt(np.sum(of_legs**2, axis=-1) + of_first**2 + 1.0))


def proof(bounds: NewtonStep, x: NDArray[np.float64], L: NDArray[np.float64]) -> Proof:
    """Return what the norms at points x (..., 2, 8) prove for equations with the bound L (...)."""
    size = np.sqrt(np.sum(x * x, axis=(-2, -1)))
    with np.errstate(all="ignore"):
        Y = bounds.inverse * (bounds.residual + _ROUNDING * L * size * size)
        Z = bounds.defect + bounds.inverse * _ROUNDING * (L * size + bounds.jacobian)
        K = bounds.inverse * L
        half = 1.0 - Z
        discriminant = half * half - 2.0 * K * Y
        exists = (half > 0.0) & (discriminant > 0.0)
        root = np.sqrt(discriminant)
        radius = 2.0 * Y / (half + root) * (1.0 + 1e-9)
        unique = (half + root) / K * (1.0 - 1e-9)
    return Proof(exists, np.where(exists, radius, np.nan), np.where(exists, unique, np.nan))


def _norm(values: Array) -> Real:
    """Square root of the sum of squared moduli."""
    re, im = parts(values)
    return sqrt(np.sum(re * re) + np.sum(im * im))
