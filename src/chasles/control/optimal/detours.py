"""Further first motions, for where searches from the given one end without a motion within the constraints.

A motion that violates its constraints least is often on the wrong side of an obstacle. Further searches begin on either
side of the straight way from the start to a state that meets the ends, far from it and near.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from chasles.control.optimal.first_motion import inside
from chasles.control.optimal.nodes import Nodes

Floats = NDArray[np.float64]
#: Weight of ends and distances at the end of the way, beside final costs of the order of 10 (see `usual_scale`).
_FIRM = 1e4
#: How far aside detours lead, as shares of the straight way's length: as far as it is long, and along half circles.
_ASIDE = (-1.0, 1.0, -0.5, 0.5)


def detours(nodes: Nodes, W: Floats) -> Iterator[Floats]:
    """Yield first motions (N + 1, m + 2n) of one problem beside the straight way from its start to its end.

    There are none where no end or start is known, in contact, or where velocities are not the rates of coordinates.

    Parameters
    ----------
    nodes
        One problem.
    W
        Its first motion, of which torques and the stretch of time are kept.
    """
    m, n = nodes.inputs, nodes.step.robot.n
    if nodes.step.free_start or nodes.step.contacts is not None or not nodes.step.coordinates.is_plain:
        return
    way = end_state(nodes)[:n] - nodes.x0[:n]
    length = np.linalg.norm(way)
    if not 0.0 < length < np.inf:
        return
    aside = _sideways(nodes, W, way)
    for share in _ASIDE:
        q, qd = _along(nodes, way, share * length * aside)
        detour = W.copy()
        detour[:, m : m + 2 * n] = np.concatenate([q, qd / W[0, -1] if nodes.step.stretches else qd], axis=1)
        yield inside(nodes, detour)


def end_state(nodes: Nodes) -> Floats:
    """Return a state within the limits that meets the ends, and the final costs as far as these allow, (2n,).

    Distances count as far as they are too small.
    """
    m, x0, instant = nodes.inputs, nodes.x0, nodes.instants[-1]
    lower, upper = nodes.rows.lower[m:], nodes.rows.upper[m:]

    def missed(x: Floats) -> tuple[float, Floats]:
        cost, ends = nodes.final.values(x, instant, *nodes.given)
        slope = nodes.final.lagrangian_gradient(x, instant, *nodes.given, -_FIRM * ends)
        short = np.minimum(nodes.distances.values(x, instant, *nodes.given)[1], 0.0)
        slope = slope + nodes.distances.lagrangian_gradient(x, instant, *nodes.given, -_FIRM * short)
        return float(cost + 0.5 * _FIRM * (ends @ ends + short @ short)), slope

    limits = list(zip(lower, upper, strict=True))
    return np.asarray(minimize(missed, np.clip(x0, lower, upper), jac=True, method="L-BFGS-B", bounds=limits).x)


def _along(nodes: Nodes, way: Floats, aside: Floats) -> tuple[Floats, Floats]:
    """Positions and velocities at the nodes from rest to rest, with the largest deviation half way."""
    duration = nodes.rows.nodes * nodes.step.h
    s = np.linspace(0.0, 1.0, nodes.rows.nodes + 1)[:, None]
    q = nodes.x0[: len(way)] + s**2 * (3.0 - 2.0 * s) * way + 16.0 * s**2 * (1.0 - s) ** 2 * aside
    qd = 6.0 * s * (1.0 - s) * way + 32.0 * s * (1.0 - s) * (1.0 - 2.0 * s) * aside
    return q, qd / duration


def _sideways(nodes: Nodes, W: Floats, way: Floats) -> Floats:
    """Unit vector across the straight way, away from what comes nearest to it; else that of the joint that moves least.

    The vector of an arm with one joint is along the way.
    """
    n = len(way)
    ahead = way / np.linalg.norm(way)
    q, qd = _along(nodes, way, 0.0 * way)
    x = np.concatenate([q, qd, W[:, nodes.inputs + 2 * n :]], axis=1)
    distances = np.asarray(nodes.distances.values(x, nodes.instants, *nodes.given_by_node)[1])
    slopes = [np.eye(n)[np.abs(way).argmin()]]
    if distances.size:
        k, nearest = np.unravel_index(distances.argmin(), distances.shape)
        chosen = -np.eye(distances.shape[1])[nearest]
        slopes.insert(0, nodes.distances.lagrangian_gradient(x[k], nodes.instants[k], *nodes.given, chosen)[:n])
    for slope in slopes:
        across = slope - (slope @ ahead) * ahead
        if np.linalg.norm(across) > 1e-6 * np.linalg.norm(slope):
            return np.asarray(across / np.linalg.norm(across))
    return ahead
