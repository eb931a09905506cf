"""The line search: how far a step may go, and the filter, which takes motions that cost less or violate less.

A step goes a share of the way to the nearest bound of a slack or multiplier. Half of it is tried, and half of that, and
so on, until the filter accepts: a motion may be worse than an earlier one in its violation or in its cost, not in both.

The filter alone takes a first step that turns joints by several radians, far beyond the linear model: the cost falls,
and of violations there were none before. Where the search ends is chance then. So the first steps turn no joint further
than a bound, which grows from iteration to iteration.

Source: Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming (2006), section 2, with the constants proposed there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.control.optimal.errors import Errors, Merit
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array

_MARGIN = 1e-5
_ARMIJO = 1e-4
_SWITCH_SLOPE, _SWITCH_VIOLATION = 2.3, 1.1
_LARGEST, _SMALLEST = 1e4, 1e-4
#: Growth of the largest rotation from iteration to iteration: from half a radian to ten full turns in 18.
_WIDER = 1.25
_ROUNDING = 10.0 * np.finfo(np.float64).eps
_FINITE = np.finfo(np.float64).max
#: Pairs of violation and cost that a filter remembers; the oldest are forgotten. A barrier rarely lasts that long.
PAIRS = 48
_TRIALS = 12


def _shares(progress: Array, mu: Any, turn: Any) -> tuple[Any, ...]:
    """Return the largest shares of a step, of the motion and of multipliers of rows; no trials yet; the next turn."""
    keep = np.maximum(0.99, 1.0 - mu)  # of the way to a bound
    shares = np.minimum(1.0, keep / np.maximum(progress[1:3], 1e-300))
    of_turn = turn / np.maximum(progress[3], 1e-300)
    return np.minimum(shares[0], of_turn), shares[1], 0.0 * mu, _WIDER * turn


def _sum_and_largest(before: Array, at_node: Array) -> Array:
    return np.concatenate([before[:1] + at_node[:1], np.maximum(before[1:], at_node[1:])])


def _accept(
    totals: Array,
    sizes: Array,
    mu: Any,
    price: Any,
    trial: Array,
    progress: Array,
    share: Any,
    trials: Any,
    left: Any,
    first: Any,
    pairs: Array,
) -> tuple[Any, ...]:
    """Whether a trial is to be repeated with half the share, or no share is good; iterations left, and the filter."""
    here, there, slope = Errors(totals, sizes).merit(price, mu), Merit(*trial), progress[0]
    is_empty = first < 0.0
    first = np.where(is_empty, np.maximum(1.0, here.violation), first)
    earlier = np.where(is_empty, np.inf, pairs)
    allowed = (np.abs(there.cost) <= _FINITE) & (there.violation <= _LARGEST * first)
    for violation, cost in earlier:
        allowed = allowed & ~((there.violation >= violation) & (there.cost >= cost))
    rounding = _ROUNDING * np.abs(here.cost)
    descends = (slope < 0.0) & (share * np.abs(slope) ** _SWITCH_SLOPE > here.violation**_SWITCH_VIOLATION)
    by_cost = descends & (here.violation <= _SMALLEST * first)
    lower = Merit((1.0 - _MARGIN) * here.violation, here.cost - _MARGIN * here.violation)
    is_cheaper = there.cost <= here.cost + _ARMIJO * share * slope + rounding
    progresses = (there.violation <= lower.violation) | (there.cost <= lower.cost + rounding)
    good = allowed & ((by_cost & is_cheaper) | (~by_cost & progresses))
    remembers = good & ~by_cost
    pairs = np.where(remembers, np.concatenate([np.array([lower]), earlier[:-1]]), earlier)
    trials = trials + 1.0
    refused = ~good & (trials >= _TRIALS)
    again = ~good & ~refused
    flags = (np.where(flag, 1.0, 0.0) for flag in (again, refused))
    return *flags, np.where(good, share, 0.5 * share), trials, np.where(good, left - 1.0, left), first, pairs


_PROGRESS = {"before": (4,), "at_node": (4,)}
#: Scan over nodes: what is summed, and then what the largest counts of.
sum_and_largest = Function(
    lambda: trace(_sum_and_largest, _PROGRESS, name="sum_and_largest", outputs=["progress"]), shape="scan"
)
sums = Function(
    lambda: trace(
        lambda before, at_node: before + at_node, {"before": (2,), "at_node": (2,)}, name="sums", outputs=["sums"]
    ),
    shape="scan",
)
shares = Function(
    lambda: trace(
        _shares,
        {"progress": (4,), "mu": (), "turn": ()},
        name="shares",
        outputs=["share", "share_of_multipliers", "trials", "turn"],
    )
)
accept = Function(
    lambda: trace(
        _accept,
        {
            "totals": (Errors.SUMS + Errors.LARGEST,),
            "sizes": (2,),
            "mu": (),
            "price": (),
            "trial": (2,),
            "progress": (4,),
        }
        | dict.fromkeys(("share", "trials", "left", "first"), ())
        | {"pairs": (PAIRS, 2)},
        name="accept",
        outputs=["again", "refused", "share", "trials", "left", "first", "pairs"],
    )
)
