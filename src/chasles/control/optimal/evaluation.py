"""What a search has found, evaluated anew: the motion of its torques, its status, and what it violates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding
from chasles.control.optimal.certificate import Certificate, certify
from chasles.control.optimal.impossible import impossible
from chasles.control.optimal.iterates import Ending, SearchResult
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.plan import PlanStatus, Solved
from chasles.control.optimal.violations import between_nodes, not_finite, outside_at_start, too_stiff, violations
from chasles.distances import Clearance
from chasles.engine.kernels.threads import get_threads, run_all

Floats = NDArray[np.float64]
#: Problems that are evaluated together: arrays of many more would come anew from the system for every batch.
_TOGETHER = 16


def evaluated(
    nodes: Nodes, outcomes: Sequence[SearchResult], clearance: Clearance | None
) -> tuple[list[Solved], Floats]:
    """Return the evaluation of each problem of a batch, and their stretches of time (problems,), 1 where fixed."""
    parts: dict[int, tuple[list[Solved], Floats]] = {}

    def evaluate(first: int) -> Iterator[None]:
        part = slice(first, first + _TOGETHER)
        parts[first] = _evaluated(nodes.select(part), outcomes[part], clearance)
        yield

    firsts = range(0, len(outcomes), _TOGETHER)
    run_all(map(evaluate, firsts), min(len(firsts), get_threads()))
    results, stretches = zip(*(parts[first] for first in firsts), strict=True)
    return [each for part in results for each in part], np.concatenate(stretches)


def _evaluated(
    nodes: Nodes, outcomes: Sequence[SearchResult], clearance: Clearance | None
) -> tuple[list[Solved], Floats]:
    step, robot = nodes.step, nodes.step.robot
    m, n = nodes.inputs, robot.n
    found, K, z = (
        np.stack(parts)
        for parts in zip(*((each.iterate.W, each.gains, each.iterate.rows[2]) for each in outcomes), strict=True)
    )
    if step.contacts is not None:  # forces between phases are zero up to the solver's tolerance, and here exactly
        found[:, :-1, step.motor_count : m] *= step.contacts.active
        K[:, :, step.motor_count :] *= step.contacts.active[..., None]
    W = nodes.rolled_out(found, K)
    W = np.where(np.isfinite(W).all(axis=(1, 2), keepdims=True), W, found)
    certificate = certify(nodes, W, z, K)
    torques = step.torques(W[:, :-1])
    p, qd = W[:, :, m : m + n], W[:, :, m + n : m + 2 * n]
    states = np.concatenate([nodes.configurations(p), qd], axis=-1)
    gains = np.zeros((len(W), nodes.rows.nodes, n, 2 * n))
    by_drives = step.drives.measured(K[:, :, : step.motor_count, 2 * n : step.moving_states])
    gains[:, :, step.motors] = nodes.by_displacements(p, K[..., : step.motor_count, : 2 * n] + by_drives)
    forces = np.zeros((*torques.shape[:-1], 0, 3))
    if step.contacts is not None:
        forces = step.contacts.in_world(W[:, :-1, step.motor_count : m])
    stretches = W[:, 0, -1] if step.stretches else np.ones(len(W))
    share = certificate.reduced_gradient / np.maximum(1.0, certificate.size)
    cost = certificate.cost / nodes.scale
    result = []
    for k, outcome in enumerate(outcomes):
        status, findings = _judged(nodes, k, W, states[k], certificate, outcome.ending, clearance)
        is_minimum = outcome.is_minimum and status is PlanStatus.OPTIMAL
        numbers = float(cost[k]), status, float(share[k]), outcome.iterations, is_minimum
        drives = step.drives.named(step.of_drives(W[k, :, m:]))
        result.append(Solved(states[k], torques[k], forces[k], gains[k], *numbers, findings, drives))
    return result, stretches


def _judged(
    nodes: Nodes,
    k: int,
    W: Floats,
    states: Floats,
    certificate: Certificate,
    ending: Ending,
    clearance: Clearance | None,
) -> tuple[PlanStatus, tuple[Finding, ...]]:
    """Return the status of a problem of a batch, and what is found of its motion."""
    is_closed = bool(np.isfinite(states).all())  # coordinates may be beyond what loops allow
    status = _status(certificate, ending, k) if is_closed else PlanStatus.NOT_FINITE
    nodes_k, pairs = nodes.select(k), () if clearance is None else clearance.pairs
    if status is PlanStatus.NOT_FINITE:
        return status, not_finite(nodes_k, W[k])
    findings: tuple[Finding, ...] = ()
    if not certificate.is_feasible[k]:
        findings = impossible(nodes_k, pairs)
        status = PlanStatus.IMPOSSIBLE if findings else status
        findings += () if nodes.step.free_start else outside_at_start(nodes.rows, nodes.x0[k])
        findings += violations(pairs, nodes.rows, certificate.rows[k])
    elif clearance is not None:
        stretch = W[k, 0, -1] if nodes.step.stretches else 1.0
        findings = between_nodes(clearance, states, float(stretch) * nodes.step.h)
    return status, findings + too_stiff(replace(nodes_k, x0=W[k, 0, nodes.inputs :]))


def _status(certificate: Certificate, ending: Ending, k: int) -> PlanStatus:
    """Status of a problem of a batch."""
    if not certificate.is_finite[k] or ending is Ending.NOT_FINITE:
        return PlanStatus.NOT_FINITE
    if certificate.is_optimal[k]:
        return PlanStatus.OPTIMAL
    if certificate.is_feasible[k]:
        return PlanStatus.FEASIBLE
    return PlanStatus.LOCALLY_INFEASIBLE if ending is Ending.INFEASIBLE else PlanStatus.STOPPED
