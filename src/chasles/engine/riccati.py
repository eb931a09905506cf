"""The Riccati recursion of many steps, and the linear-quadratic problem around it, as one call into machine code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.running.loop_calls import loop_call
from chasles.engine.targets.native import machine
from chasles.engine.targets.native.linear_quadratic import write_linear_quadratic
from chasles.engine.targets.native.riccati import ENTRY, write_riccati


@cache
def compile_riccati(states: int, inputs: int, *, keep: bool) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return the recursion ``(A, B, weights, terminal) -> (gains, cost)`` for given numbers of states and inputs.

    Parameters
    ----------
    states, inputs
        n and m.
    keep
        Whether the cost-to-go is wanted of every step, shape (S, n, n), or of the first alone, shape (n, n).

    Returns
    -------
    Callable
        A callable that broadcasts as ufuncs do, of float64 arrays A (S, n, n), B (S, n, m), weights (S, m + n, m + n)
        of the inputs and then the states, of which the upper triangle is read, and terminal (n, n), all dense in memory
        but for the axis S.
        Gains (S, m, n) are such that u = -K x. A pivot that is not positive makes all that follows NaN.
    """
    lanes = machine.lanes("float64")
    content = f"riccati {states} {inputs} {keep} {lanes}"
    code = machine.loaded(content, [ENTRY], lambda: [write_riccati(states, inputs, keep, lanes)])
    n, m, w = states, inputs, states + inputs
    cost = ("s", n, n) if keep else (n, n)
    given = {"A": ("s", n, n), "B": ("s", n, m), "weights": ("s", w, w), "terminal": (n, n)}
    outputs = {"gains": ("s", m, n), "cost": cost}
    taken, computed = ([CoreArray(name, dims) for name, dims in arrays.items()] for arrays in (given, outputs))
    return loop_call(code.address(ENTRY), "riccati", taken, computed, "float64", "", code)


@cache
def compile_linear_quadratic(states: int, inputs: int) -> Callable[..., tuple[np.ndarray, ...]]:
    """Return ``(A, B, weights, terminal) -> (gains, cost, motion, last, costates, last costate)``.

    Arrays are those of `compile_riccati`, the cost of every step; the last state is always 1, the others begin at 0.

    Parameters
    ----------
    states, inputs
        n, with the state that is 1, and m.

    Returns
    -------
    Callable
        A callable that broadcasts as ufuncs do. Motion (S, m + n - 1) is (u, x) of each step and last (n - 1,) the
        state after them; costates (S, n - 1) and (n - 1,) are those of the states.
    """
    lanes = machine.lanes("float64")
    content = f"linear-quadratic {states} {inputs} {lanes}"
    code = machine.loaded(content, [ENTRY], lambda: [write_linear_quadratic(states, inputs, lanes)])
    n, m, w = states, inputs, states + inputs
    given = {"A": ("s", n, n), "B": ("s", n, m), "weights": ("s", w, w), "terminal": (n, n)}
    outputs = {"gains": ("s", m, n), "cost": ("s", n, n), "motion": ("s", w - 1), "last": (n - 1,)}
    outputs |= {"costates": ("s", n - 1), "last_costate": (n - 1,)}
    taken, computed = ([CoreArray(name, dims) for name, dims in arrays.items()] for arrays in (given, outputs))
    return loop_call(code.address(ENTRY), "linear_quadratic", taken, computed, "float64", "", code)
