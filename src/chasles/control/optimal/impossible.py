"""Proofs that no motion keeps the constraints of a problem, whatever the search.

A search that ends proves nothing of motions far from its own. Some conditions hold for all of them:

- Torques act linearly in the first step, so that what they can make of the next state is an interval.
- Exact ends that are linear in the state fix elements of it, as positions and velocities do. These must be within
  their limits, have the distances that depend on no other element, and be so near to the start that velocity limits
  allow the way.

What is not proven here may be impossible all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule
from chasles.control.optimal.errors import FEASIBLE
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.violations import element_of, violations

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: Scaled violation that proves: a thousand times what counts as one, which tolerances of other rows cannot make up.
_CLEARLY = 1e-3
_SURE = "far beyond the tolerance of constraints, for all motions"
#: Rounding of the share of an element of the state that the ends fix, and what their tolerance may leave to it.
_FIXED, _LEFT = 1e-9, 1e-2 * _CLEARLY

_FIRST_STEP = Rule(
    "impossible-first-step",
    _CLEARLY,
    _SURE,
    "whatever the torques of the first step, {quantity} of joint '{joint}' exceeds its limit by at least {value:.3g} "
    "{unit} after it; start slower, or allow more torque",
    "refusal",
)
_ENDS = Rule(
    "impossible-ends",
    _CLEARLY,
    _SURE,
    "the exact ends contradict each other: one of them is off by {value:.3g} at least; leave some out",
    "refusal",
)
_AT_END = Rule(
    "impossible-end",
    _CLEARLY,
    _SURE,
    "the exact ends allow no other state than one where {sentence}; choose another end",
    "refusal",
)
_WAY = Rule(
    "impossible-way",
    _CLEARLY,
    _SURE,
    "joint '{joint}' has {value:.3g} {unit} to go, of which its velocity limit allows {allowed:.3g}; allow more time",
    "refusal",
)


def impossible(nodes: Nodes, pairs: Sequence[tuple[str, str]] = ()) -> tuple[Finding, ...]:
    """Return why no motion keeps the constraints of one problem, if that is proven.

    Parameters
    ----------
    nodes
        One problem.
    pairs
        Names of the bodies of each distance.
    """
    if nodes.step.free_start or nodes.step.contacts is not None or not nodes.step.coordinates.is_plain:
        return ()
    return _of_first_step(nodes) + _of_ends(nodes, pairs)


def _of_first_step(nodes: Nodes) -> tuple[Finding, ...]:
    """Limits of positions and velocities that no torques keep at node 1."""
    step, rows, m = nodes.step, nodes.rows, nodes.inputs
    if step.stretches:
        return ()
    x0, instants = (np.tile(each, (m + 1, 1)) for each in (nodes.x0, nodes.instants[0]))
    middle, *by_input = step(x0, np.vstack([np.zeros(m), np.eye(m)]), *step.context(instants))
    slopes = np.abs(np.array(by_input) - middle)
    largest = np.multiply(rows.upper[:m, None], slopes, out=np.zeros_like(slopes), where=slopes > 0.0).sum(axis=0)
    excess = np.maximum(middle - rows.upper[m:], rows.lower[m:] - middle) - largest
    found: list[Finding] = []
    for k in np.flatnonzero(excess * rows.scale[m:] > _CLEARLY):
        quantity, joint, unit = element_of(step, m + int(k))
        found += _FIRST_STEP.told(excess[k], quantity=quantity, joint=joint, unit=unit)
    return tuple(found)


def _of_ends(nodes: Nodes, pairs: Sequence[tuple[str, str]]) -> tuple[Finding, ...]:
    """What contradicts exact ends that are linear in the state."""
    linear = _linear_ends(nodes)
    if not linear.any():
        return ()
    instant = nodes.instants[-1]
    E = np.asarray(nodes.final.jacobian(nodes.x0, instant, *nodes.given))[linear]
    inverse = np.linalg.pinv(E)
    end = nodes.x0 - inverse @ np.asarray(nodes.final.values(nodes.x0, instant, *nodes.given)[1])[linear]
    missed = np.asarray(nodes.final.values(end, instant, *nodes.given)[1])[linear]
    least = np.linalg.norm(missed) / np.sqrt(len(missed))  # of all states: the largest of some errors is no smaller
    if least > _CLEARLY:
        return _ENDS.told(float(least))
    left = FEASIBLE * np.abs(inverse).sum(axis=1)
    fixed = (np.diagonal(inverse @ E) > 1.0 - _FIXED) & (left <= _LEFT)
    return _of_way(nodes, end, fixed) + _of_end_state(nodes, end, fixed, pairs)


def _linear_ends(nodes: Nodes) -> Flags:
    """Whether each exact end is linear in the state, by its derivatives' program, (ends,)."""
    program, size = nodes.final.jacobian.program, nodes.rows.last.size
    rows = [program.reads(range(k * size, (k + 1) * size)) for k in range(nodes.final.count)]
    return np.array([all(k >= size for k in row) for row in rows], dtype=bool)


def _of_way(nodes: Nodes, end: Floats, fixed: Flags) -> tuple[Finding, ...]:
    """Joints whose end is farther from the start than they can move."""
    step, m, n = nodes.step, nodes.inputs, nodes.step.robot.n
    longest = step.h * nodes.rows.nodes * (nodes.rows.upper[-1] if step.stretches else 1.0)
    fastest = np.maximum(nodes.rows.upper[m + n : m + 2 * n], np.abs(nodes.x0[n : 2 * n]))
    way, allowed = np.abs(end - nodes.x0)[:n], longest * fastest
    found: list[Finding] = []
    for k in np.flatnonzero(fixed[:n] & (way - allowed > _CLEARLY)):
        _, joint, unit = element_of(step, m + int(k))
        found += _WAY.told(way[k], joint=joint, unit=unit, allowed=allowed[k])
    return tuple(found)


def _of_end_state(nodes: Nodes, end: Floats, fixed: Flags, pairs: Sequence[tuple[str, str]]) -> tuple[Finding, ...]:
    """The worst violation of limits and distances by elements of the state that are fixed."""
    rows, program = nodes.rows, nodes.distances.values.program
    W = np.concatenate([np.zeros((rows.nodes + 1, nodes.inputs)), np.tile(end, (rows.nodes + 1, 1))], axis=1)
    others = set(np.flatnonzero(~fixed).tolist())
    known = [others.isdisjoint(program.reads([1 + k])) for k in range(nodes.distances.count)]
    limits = fixed[rows.last.limited]
    counts = np.concatenate([limits, limits, known, np.zeros(rows.last.own, dtype=bool)]).astype(bool)
    last = np.where(counts, rows.by_node(nodes.values(W).rows)[1], 0.0)
    at_end = rows.joined(np.zeros((rows.nodes, rows.stage.rows)), last)
    worst = rows.violations(at_end).max(initial=0.0)
    if not worst > _CLEARLY:
        return ()
    return _AT_END.told(float(worst), sentence=violations(pairs, rows, at_end)[0])
