"""Plant and adaptation integrated together in continuous time, as theorems on adaptive control suppose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.control import Now
from chasles.engine import Function, cos, sin, trace
from chasles.trajectories import Motion

Wanted = Callable[[Any], Motion]


class Course(NamedTuple):
    """Times (k,), positions, velocities (k, n), the controller's memory (k, m), and the planned motion."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    memory: np.ndarray
    wanted: Motion


def waves(amplitudes: Any, frequencies: Any, centres: Any = 0.0) -> Wanted:
    """Sums of waves that begin at rest: a row of amplitudes (rad) and frequencies (rad/s) for each of them, (k, n)."""
    a, w = np.atleast_2d(np.asarray(amplitudes, dtype=float)), np.atleast_2d(np.asarray(frequencies, dtype=float))

    def wanted(t: Any) -> Motion:
        q: Any = np.zeros(a.shape[1]) + centres
        qd: Any = np.zeros(a.shape[1])
        qdd: Any = np.zeros(a.shape[1])
        for row, rates in zip(a, w, strict=True):
            c, s = np.array([cos(x * t) for x in rates]), np.array([sin(x * t) for x in rates])
            q, qd, qdd = q + row * (1.0 - c), qd + row * rates * s, qdd + row * rates**2 * c
        return Motion(q, qd, qdd)

    return wanted


def follow(
    plant: ch.Robot,
    controller: Any,
    wanted: Wanted,
    duration: float,
    *,
    q0: Any = None,
    qd0: Any = None,
    memory0: Any = None,
    disturbance: Any = 0.0,
    samples: int = 400,
    rtol: float = 1e-10,
) -> Course:
    """Solve the closed loop: M qdd = tau(q, qd, memory) + disturbance - ..., memory' = flow."""
    n, layout = plant.n, controller.memory_layout
    m = layout.size
    names = list(controller.parameters)

    def rates(x: Any, t: Any, *values: Any) -> Any:
        q, qd, memory = x[:n], x[n : 2 * n], x[2 * n :]
        law = controller.with_values(dict(zip(names, values, strict=True)))
        tau, change = law.flow(Now(t, q, qd, wanted(t), layout.split(memory), 0.0))
        return np.concatenate([qd, plant.forward_dynamics(q, qd, tau + disturbance), layout.join(change)])

    shapes = {"x": (2 * n + m,), "t": (), **{name: np.shape(value) for name, value in controller.parameters.items()}}
    compiled = Function(trace(rates, shapes, name="rates", outputs=["rates"]))
    start = wanted(0.0)
    given = zip((q0, qd0, memory0), (start.q, start.qd, layout.join(controller.memory)), strict=True)
    x0 = np.concatenate([np.asarray(default if value is None else value, dtype=float) for value, default in given])
    t = np.linspace(0.0, duration, samples)
    values = list(controller.parameters.values())
    solution = solve_ivp(
        lambda time, x: compiled(x, time, *values), (0.0, duration), x0, "DOP853", t, rtol=rtol, atol=1e-3 * rtol
    )
    assert solution.success, solution.message
    x = solution.y.T
    planned = [wanted(time) for time in t]
    return Course(
        t, x[:, :n], x[:, n : 2 * n], x[:, 2 * n :], Motion(*(np.array(part) for part in zip(*planned, strict=True)))
    )


def kinetic_part(plant: ch.Robot, q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """s^T M(q) s / 2 along a course."""
    return 0.5 * np.einsum("ki,kij,kj->k", s, plant.mass_matrix(q), s)
