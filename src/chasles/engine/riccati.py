"""The Riccati recursion of many steps as one call into machine code."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from chasles.engine.cpython.gufunc import make_gufunc
from chasles.engine.targets.native import machine
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
        A generalized ufunc of float64 arrays A (S, n, n), B (S, n, m), weights (S, m + n, m + n) of the inputs and then
        the states, of which the upper triangle is read, and terminal (n, n), all dense in memory but for the axis S.
        Gains (S, m, n) are such that u = -K x. A pivot that is not positive makes all that follows NaN.
    """
    lanes = machine.lanes("float64")
    content = f"riccati {states} {inputs} {keep} {lanes}"
    code = machine.loaded(content, [ENTRY], lambda: [write_riccati(states, inputs, keep, lanes)])
    n, m, w = states, inputs, states + inputs
    cost = f"(s,{n},{n})" if keep else f"({n},{n})"
    return make_gufunc(
        code.address(ENTRY),
        inputs=4,
        outputs=2,
        signature=f"(s,{n},{n}),(s,{n},{m}),(s,{w},{w}),({n},{n})->(s,{m},{n}),{cost}",
        dtype="float64",
        name="riccati",
        doc="",
        code=code,
    )
