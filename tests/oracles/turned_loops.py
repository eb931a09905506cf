"""Loops frozen at a place of a motion, by differences, matrix exponentials and eigenvalues of NumPy and SciPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

import chasles as ch

_STEP = 1e-5


def drawn_arm(seed: int, n: int) -> ch.Robot:
    """Return an arm with random geometry, links of 0.5 to 6 kg, and rotors of a tenth of the links' inertia."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "a": rng.uniform(0.1, 0.4),
            "d": rng.uniform(0.0, 0.2),
            "alpha": rng.choice([0.0, np.pi / 2, -np.pi / 2]),
            "mass": mass,
            "center_of_mass": [-0.15, 0.0, 0.02],
            "inertia": (mass * rng.uniform(0.003, 0.01, 3) + mass * 0.003).tolist(),
        }
        for mass in np.geomspace(6.0, 0.5, n)
    ]
    arm = ch.Robot.from_dh(rows, check=False)
    return arm.with_motor_inertia(0.1 * np.diagonal(arm.mass_matrix(np.full(n, 0.4))))


def law_matrices(
    law: Any, motion: Any, time: float, period: float, row: Any = None, memory: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return derivatives of torques (n, 2n + m) and of the memory (m, 2n + m) by q, q̇ and the memory.

    The memory is that at the start, or the given one.
    """
    place, layout = motion(time), law.memory_layout
    n = len(place.q)
    point = np.concatenate([place.q, place.qd, layout.join(law.memory if memory is None else memory)])

    def call(x: np.ndarray) -> np.ndarray:
        memory = layout.split(x[2 * n :])
        said = law.evaluate(x[:n], x[n : 2 * n], place, t=time, memory=memory, period=period, schedule=row)
        return np.concatenate([said.tau, layout.join(said.memory)])

    ends = [(call(point + _STEP * unit), call(point - _STEP * unit)) for unit in np.eye(len(point))]
    slopes = np.stack([(high - low) / (2.0 * _STEP) for high, low in ends], axis=-1)
    return slopes[:n], slopes[n:]


def plant_matrices(
    plant: ch.Robot, place: Any, period: float, share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, B of the last torque and B of this one, for a torque that comes a share of the period late."""
    n, tau = plant.n, plant.inverse_dynamics(*place)

    def flow(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n : 2 * n], plant.forward_dynamics(x[:n], x[n : 2 * n], x[2 * n :])])

    point = np.concatenate([place.q, place.qd, tau])
    slopes = [(flow(point + _STEP * unit) - flow(point - _STEP * unit)) / (2.0 * _STEP) for unit in np.eye(3 * n)]
    generator = np.zeros((3 * n, 3 * n))
    generator[: 2 * n] = np.stack(slopes, axis=-1)
    before, after = (scipy.linalg.expm(generator * part)[: 2 * n] for part in (share * period, (1.0 - share) * period))
    A, B = np.split(before, [2 * n], axis=1)
    return after[:, : 2 * n] @ A, after[:, : 2 * n] @ B, after[:, 2 * n :]


def radius(law: Any, plant: Any, factors: np.ndarray, period: float, late: int) -> float:
    """Return the spectral radius of the loop of `law_matrices` and `plant_matrices`, its torques times `factors`.

    Velocities are differences of positions. The state is x, the last q, the memory, and the torques on their way.
    """
    (tau, following), (A, old, new) = law, plant
    n, m = len(tau), len(following)
    size = 3 * n + m
    sees = np.zeros((2 * n + m, size))
    sees[:n, :n] = np.eye(n)
    sees[n : 2 * n, :n], sees[n : 2 * n, 2 * n : 3 * n] = np.eye(n) / period, -np.eye(n) / period
    sees[2 * n :, 3 * n :] = np.eye(m)
    feedback, memory = factors[:, None] * (tau @ sees), following @ sees
    loop = np.zeros((size + (late + 1) * n,) * 2)
    states = slice(0, 2 * n)
    loop[states, states] = A
    loop[2 * n : 3 * n, :n] = np.eye(n)
    loop[3 * n : size, :size] = memory
    sent = [slice(size + k * n, size + (k + 1) * n) for k in range(late + 1)]  # u[-1], u[-2], …
    loop[sent[0], :size] = feedback
    for k in range(late):
        loop[sent[k + 1], sent[k]] = np.eye(n)
    loop[states, sent[late]] += old
    if late:
        loop[states, sent[late - 1]] += new
    else:
        loop[states, :size] += new @ feedback
    return float(np.abs(np.linalg.eigvals(loop)).max())
