"""Rotations through knots with continuous angular velocity and acceleration.

Between two knots the frame turns by a rotation vector that is a cubic polynomial of time (McClung and Bernstein's cubic
spline of attitudes, as in SciPy's RotationSpline); its angular velocities at the knots are those with which the angular
acceleration does not jump.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.exponential_jacobians import (
    inverse_right_jacobian_rotation,
    right_jacobian_rotation,
    right_jacobian_rotation_rate,
)
from chasles.geometry.rotations import log_rotation, relative_rotation
from chasles.trajectories.motion import Floats

Boundary = Literal["clamped", "natural", "periodic"]

_MOST_STEPS = 50
#: Jump of the angular acceleration at a knot, relative to what makes it up.
_CONVERGED = 1e-11


def rotation_spline(
    times: Floats, rotations: Floats, boundary: Boundary, start_velocity: Floats, end_velocity: Floats
) -> Floats:
    """Coefficients of the rotation vectors from each knot to the next.

    Parameters
    ----------
    times
        Increasing, (n,), s.
    rotations
        Shape (*batch, n, 3, 3).
    boundary
        ``"clamped"``: with the given angular velocities at the ends. ``"natural"``: with no angular acceleration there.
        ``"periodic"``: the last rotation is the first, and so are its angular velocity and acceleration.
    start_velocity, end_velocity
        Angular velocities of clamped ends, in the axes of the turning frame, (*batch, 3), rad/s.

    Returns
    -------
    ndarray
        Shape (*batch, n - 1, 4, 3): from knot i on, at the time u after it, the rotation is
        ``rotations[i] @ exp_rotation(sum of coefficients[i, j] u**j)``.

    Raises
    ------
    ArgumentError
        If Newton's method finds no such angular velocities, which may happen where the frame turns by nearly half a
        turn from each knot to the next about ever other axes.
    """
    h = np.diff(times)[:, None]
    turns = np.asarray(log_rotation(relative_rotation(rotations[..., :-1, :, :], rotations[..., 1:, :, :])))
    velocities = _velocities(h, turns, boundary, start_velocity, end_velocity)
    rates = velocities[..., :-1, :]
    rates_end = _apply(inverse_right_jacobian_rotation(turns), velocities[..., 1:, :])
    second = 3.0 * turns / h**2 - (2.0 * rates + rates_end) / h
    third = (rates + rates_end) / h**2 - 2.0 * turns / h**3
    return np.stack([np.zeros_like(turns), rates, second, third], axis=-2)


@batched(turn=(3,), velocity=(3,))
def _bending(turn: Array, velocity: Array) -> Array:
    """Part of the angular acceleration at the end of a turn that is quadratic in the angular velocity there."""
    rate = inverse_right_jacobian_rotation(turn) @ velocity
    bending: Array = right_jacobian_rotation_rate(turn, rate) @ rate
    return bending


@cache
def _bending_slope() -> Function:
    return _bending.jacobian(wrt="velocity")


def _velocities(h: Floats, turns: Floats, boundary: Boundary, start: Floats, end: Floats) -> Floats:
    """Angular velocities at the knots, (*batch, n, 3), in the axes of the turning frame, by Newton's method.

    In each segment the angular acceleration is ``6 turn/h² - (4 v + 2 J⁻¹ v_end)/h`` at its start and
    ``-6 turn/h² + (2 J v + 4 v_end)/h + bending(v_end)`` at its end, with the right Jacobian J of its turn.
    """
    slopes = turns / h
    v = np.concatenate([slopes, slopes[..., -1:, :]], axis=-2)
    lower, diagonal, upper = (np.zeros((*v.shape, 3)) for _ in range(3))
    lower[..., 1:, :, :] = 2.0 * right_jacobian_rotation(turns) / h[..., None]
    upper[..., :-1, :, :] = 2.0 * inverse_right_jacobian_rotation(turns) / h[..., None]
    if boundary == "clamped":
        v[..., 0, :], v[..., -1, :] = start, end
        upper[..., 0, :, :] = lower[..., -1, :, :] = 0.0
    elif boundary == "periodic":
        v[..., -1, :] = v[..., 0, :]
    for _ in range(_MOST_STEPS):
        # acceleration at the end of the segment before a knot, less that at the start of the segment after it
        at_end = [_apply(lower[..., 1:, :, :], v[..., :-1, :]), 4.0 * v[..., 1:, :] / h, -6.0 * slopes / h]
        at_end.append(_bending(turns, v[..., 1:, :]))
        at_start = [_apply(upper[..., :-1, :, :], v[..., 1:, :]), 4.0 * v[..., :-1, :] / h, -6.0 * slopes / h]
        residual, size = np.zeros_like(v), np.zeros(v.shape[:-1])
        for side, terms in ((np.s_[1:], at_end), (np.s_[:-1], at_start)):
            residual[..., side, :] += sum(terms)
            size[..., side] += sum(np.linalg.norm(term, axis=-1) for term in terms)
        if boundary == "clamped":
            residual[..., [0, -1], :] = 0.0
        elif boundary == "periodic":
            residual[..., 0, :] += residual[..., -1, :]
            residual[..., -1, :] = 0.0
        if not np.isfinite(residual).all():
            break
        if (np.linalg.norm(residual, axis=-1) <= _CONVERGED * size).all():
            return v
        diagonal[...] = 0.0
        diagonal[..., 1:, :, :] += 4.0 * np.eye(3) / h[..., None] + _bending_slope()(turns, v[..., 1:, :])
        diagonal[..., :-1, :, :] += 4.0 * np.eye(3) / h[..., None]
        if boundary == "clamped":
            diagonal[..., [0, -1], :, :] = np.eye(3)
        v -= (_solve_periodic if boundary == "periodic" else _solve_banded)(lower, diagonal, upper, residual)
    raise ArgumentError(
        f"no rotation spline with continuous angular acceleration was found; {_widest(turns)}: add some between them"
    )


def _widest(turns: Floats) -> str:
    angles = np.linalg.norm(turns, axis=-1)
    where = np.unravel_index(np.argmax(angles), angles.shape)
    k = int(where[-1])
    return f"the frame turns by {np.degrees(angles[where]):.1f}° between waypoints {k} and {k + 1}"


def _solve_banded(lower: Floats, diagonal: Floats, upper: Floats, right: Floats) -> Floats:
    """Solve block tridiagonal systems; those of a batch stand one after the other on the diagonal of one matrix."""
    blocks = [part.reshape(-1, 3, 3) for part in (lower, diagonal, upper)]
    size = 3 * len(blocks[0])
    bands = np.zeros((11, size + 6))
    for offset, block in zip((-3, 0, 3), blocks, strict=True):
        for i in range(3):
            for j in range(3):
                column = np.arange(len(block)) * 3 + offset + j
                bands[5 + i - j - offset, column[column >= 0]] = block[column >= 0, i, j]
    from scipy.linalg import solve_banded

    solution: Floats = solve_banded((5, 5), bands[:, :size], right.reshape(size), overwrite_ab=True)
    return solution.reshape(right.shape)


def _solve_periodic(lower: Floats, diagonal: Floats, upper: Floats, right: Floats) -> Floats:
    """Solve where the last knot is the first, so that the two have one equation, the sum of theirs."""
    cells = right.shape[-2] - 1
    turns = diagonal[..., :-1, :, :].copy()
    turns[..., 0, :, :] += diagonal[..., -1, :, :]
    total = right[..., :-1, :].copy()
    total[..., 0, :] += right[..., -1, :]
    before = np.concatenate([lower[..., -1:, :, :], lower[..., 1:-1, :, :]], axis=-3)
    blocks = np.stack([before, turns, upper[..., :-1, :, :]], axis=-3).reshape(-1, 3, 3)
    number = np.arange(blocks.shape[0] // 3)
    first, knot = number - number % cells, number % cells
    columns = np.stack([first + (knot - 1) % cells, number, first + (knot + 1) % cells], axis=-1)
    size = 3 * len(number)
    from scipy.sparse import bsr_array
    from scipy.sparse.linalg import spsolve

    matrix = bsr_array((blocks, columns.ravel(), 3 * np.arange(len(number) + 1)), shape=(size, size)).tocoo()
    solution = spsolve(matrix.tocsc(), total.ravel()).reshape(total.shape)
    return np.concatenate([solution, solution[..., :1, :]], axis=-2)


def _apply(A: NDArray[np.float64], x: NDArray[np.float64]) -> Floats:
    product: Floats = (A @ x[..., None])[..., 0]
    return product
