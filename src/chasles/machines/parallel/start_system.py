"""The forty poses of one general complex platform, from which the poses of every other are reached.

They are found by monodromy when they are first needed, which takes a few hundredths of a second: the equations of a
random pose are solved by it; closed loops in the space of parameters permute the solutions, so each loop takes known
ones to new ones until there are forty, the most there can be. Source: Sommese & Wampler, The Numerical Solution of
Systems of Polynomials (2005), section 15.4; Duff et al., Solving polynomial systems via homotopy continuation and
monodromy, IMA Journal of Numerical Analysis 39 (2019).
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ChaslesError
from chasles.machines.parallel import homotopy
from chasles.machines.parallel.study_equations import POSES, SHAPES, Parameters, gradients

#: Two solutions on the patch closer than this are one.
_SAME = 1e-6
_MOST_LOOPS = 100
_SEED = 40

Complex128 = NDArray[np.complex128]


class StartSystem(NamedTuple):
    """Parameters of a general complex platform, as a vector (72,), and states (40, s) of paths from its poses."""

    parameters: NDArray[np.float64]
    states: NDArray[np.float64]
    solutions: Complex128


@cache
def start_system() -> StartSystem:
    """Return the start system, the same in every process."""
    rng = np.random.default_rng(_SEED)
    parameters, x = _solved_parameters(rng)
    solutions = (x / (homotopy.PATCH @ x))[None]
    for _ in range(_MOST_LOOPS):
        around = [parameters, _random_parameters(rng), _random_parameters(rng), parameters]
        reached = solutions
        for begin, end in pairwise(around):
            reached = _followed(reached, begin, end)
        for solution in reached:
            if np.abs(solutions - solution).max(axis=1).min() > _SAME:
                solutions = np.concatenate([solutions, solution[None]])
        if len(solutions) >= POSES:
            return StartSystem(homotopy.parameter_vector(parameters), homotopy.start(solutions), solutions)
    raise ChaslesError(
        f"monodromy found {len(solutions)} of {POSES} solutions of the start system; the arithmetic of this machine "
        "differs from IEEE 754"
    )


def _followed(x: Complex128, begin: Parameters, end: Parameters) -> Complex128:
    """Ends of the paths from solutions (n, 8) that arrive, (m, 8)."""
    vectors = homotopy.parameter_vector(begin), homotopy.parameter_vector(end)
    ended, _, _ = homotopy.tracker()(homotopy.start(x), *vectors, homotopy.MAX_ITERATIONS)
    paths = homotopy.ends(ended)
    return paths.x[paths.arrived]


def _random(rng: np.random.Generator, shape: tuple[int, ...]) -> Complex128:
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def _random_parameters(rng: np.random.Generator) -> Parameters:
    return Parameters(*(_random(rng, shape) for shape in SHAPES))


def _solved_parameters(rng: np.random.Generator) -> tuple[Parameters, Complex128]:
    """Random parameters together with one solution (8,): the constants k of the legs make it one."""
    e, g = _random(rng, (4,)), _random(rng, (4,))
    g = g - e * (e @ g) / (e @ e)
    x = np.concatenate([e, g])
    without = _random_parameters(rng)._replace(k=np.zeros(5), square=(g @ g) / (e @ e))
    values = 0.5 * (gradients(without, x) @ x)
    return without._replace(k=-values[:5] / (e @ e)), x
