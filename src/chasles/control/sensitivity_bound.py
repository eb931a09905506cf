"""Upper bound on weighted sensitivities at all frequencies, those between the points of a grid included."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import matrix_balance

from chasles.control.disk_margin import perron_scaling
from chasles.control.linear_law import LinearLaw, closed_loops

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]

_REFINEMENTS = 20  # of the grid, each by halves, where the bound is loose
_MOST_POINTS = 5000
_BLOCK = 100  # points that are computed at a time


class SensitivityLoop(NamedTuple):
    """Loops x[k+1] = A x[k] + B d[k], u[k] = C x[k] + d[k], so that S = 1 + C (z - A)⁻¹ B and T = -C (z - A)⁻¹ B.

    Attributes
    ----------
    A, B, C
        Shapes (loops, m, m), (loops, m, n) and (loops, n, m).
    """

    A: Floats
    B: Floats
    C: Floats


def sensitivity_loop(law: LinearLaw, A: Floats, B_late: tuple[Floats, ...]) -> SensitivityLoop:
    """Return the loops of a law and the plants of a `DelayedHold`, with a torque d added to the law's."""
    maps = closed_loops(law, A, B_late)
    count, states, n = B_late[0].shape
    memory, size = law.A.shape[-1], maps.shape[-1]
    B, C = np.zeros((count, size, n)), np.zeros((count, n, size))
    B[:, :states] = B_late[0]
    if len(B_late) > 1:
        B[:, states + memory : states + memory + n] = np.eye(n)
    C[..., :states], C[..., states : states + memory] = law.D, law.C
    return SensitivityLoop(maps, B, C)


def sensitivity_bound(
    loops: list[SensitivityLoop],
    angles: Floats,
    weights: Callable[[Floats], tuple[Floats, Floats]],
    precision: float = 0.01,
) -> float:
    """Return an upper bound on w_S σ(S) and w_T σ(T) at all angles from the first to the last, over all loops.

    About a point z of the unit circle, with R = (z - A)⁻¹ and a distance r up to the next one with r |R| < 1,

        |C (z' - A)⁻¹ B - C R B| ≤ r |C R² B| + r² |C R| |R| |R B| / (1 - r |R|).

    Points are added halfway to their neighbours where the bound exceeds the largest value found by more than
    `precision`, so that it is as tight as that unless poles are next to the unit circle; then it may be infinite. The
    scaling of each point holds up to the next one, which only makes σ larger.

    Source: the resolvent identity, e.g. Kato, Perturbation Theory for Linear Operators (1995), I.4.2.

    Parameters
    ----------
    loops
        Loops of the plants.
    angles
        Angles ω h, increasing, in (0, π].
    weights
        Function of angles to w_S and w_T there, monotone between two neighbours.
    precision
        Excess over the largest value that is accepted.

    Examples
    --------
    S = z / (z - 0.5), of which σ is largest at the lowest frequency, and 2 at zero:

    >>> loop = SensitivityLoop(np.array([[[0.5]]]), np.array([[[1.0]]]), np.array([[[0.5]]]))
    >>> angles = np.array([1e-3, 1.0, np.pi])
    >>> bound = sensitivity_bound([loop], angles, lambda w: (np.ones_like(w), np.zeros_like(w)))
    >>> 2.0 - 1e-5 < bound < 2.03
    True
    """
    balanced = [_balanced(loop) for loop in loops]
    known, table, new = np.zeros(0), np.zeros((0, 5)), angles
    for refinement in range(_REFINEMENTS + 1):
        blocks = [new[k : k + _BLOCK] for k in range(0, len(new), _BLOCK)]
        found = [np.stack([_at(loop, block) for loop in balanced]).max(axis=0) for block in blocks]
        known, table = np.concatenate([known, new]), np.concatenate([table, *found])
        order = np.argsort(known)
        known, table = known[order], table[order]
        of_S, of_T, slope, curve, resolvent = table.T
        gaps = np.diff(known)
        reach = 0.5 * np.maximum(np.concatenate([[0.0], gaps]), np.concatenate([gaps, [0.0]]))
        room = 1.0 - reach * resolvent
        near = reach * slope + np.where(room > 0.0, reach**2 * curve / np.where(room > 0.0, room, 1.0), np.inf)
        w_S, w_T = weights(known)
        largest = [np.maximum.reduce([w, np.append(w[1:], 0.0), np.append(0.0, w[:-1])]) for w in (w_S, w_T)]
        spreads = [np.where(w > 0.0, np.where(w > 0.0, w, 1.0) * near, 0.0) for w in largest]
        bounds = np.maximum(largest[0] * of_S + spreads[0], largest[1] * of_T + spreads[1])
        value = float(np.maximum(w_S * of_S, w_T * of_T).max())
        loose = bounds > (1.0 + precision) * value
        new = (0.5 * (known[:-1] + known[1:]))[loose[:-1] | loose[1:]]
        if refinement == _REFINEMENTS or not loose.any() or len(known) + len(new) > _MOST_POINTS:
            break
    return float(bounds.max())


def _balanced(loop: SensitivityLoop) -> SensitivityLoop:
    """Return loops in units of their states that make the norms of A small, which S and T do not feel."""
    units = np.stack([matrix_balance(A, permute=False, separate=True)[1][0] for A in loop.A])
    return SensitivityLoop(
        loop.A * units[:, None, :] / units[:, :, None], loop.B / units[:, :, None], loop.C * units[:, None, :]
    )


def _at(loop: SensitivityLoop, angles: Floats) -> Floats:
    """Return σ(S), σ(T), |C R² B|, |C R| |R| |R B| and |R|, scaled, each the largest of all loops, (angles, 5)."""
    z = np.exp(1j * angles)[:, None, None, None]
    A, B, C = (part[None] for part in loop)
    size, n = loop.A.shape[-1], loop.B.shape[-1]
    R: Complex = np.linalg.inv(z * np.eye(size) - A)
    inputs, outputs, resolvent = R @ B, C @ R, _sigma(R)
    T, slope = -C @ inputs, outputs @ inputs
    S = np.eye(n) - T
    pairs = [(perron_scaling(M), M) for M in (S, T)]
    slopes = [_sigma(D[..., :, None] * slope / D[..., None, :]) for D, _ in pairs]
    curves = [_sigma(D[..., :, None] * outputs) * resolvent * _sigma(inputs / D[..., None, :]) for D, _ in pairs]
    values = [_sigma(D[..., :, None] * M / D[..., None, :]) for D, M in pairs]
    columns = np.stack([*values, np.maximum(*slopes), np.maximum(*curves), resolvent], axis=-1)
    return np.asarray(columns.max(axis=1), dtype=np.float64)


def _sigma(M: Complex) -> Floats:
    return np.asarray(np.linalg.norm(M, 2, axis=(-2, -1)))
