"""A closed loop of its own for tests of laws: a sampled controller, an arm, and an environment that pushes its tool.

It shares no code with `chasles.simulation`, and takes any function of time and of the tool's state for the wrench.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.control.calls import called

import chasles as ch
from chasles.engine import Function, trace
from chasles.trajectories.motion import PoseMotion

Wrench = Callable[[Any, Any, Any], Any]


@dataclass
class Record:
    """Samples at the controller's calls: times (k,), states (..., k, n), torques and the controller's memory."""

    t: NDArray[np.float64]
    q: NDArray[np.float64]
    qd: NDArray[np.float64]
    tau: NDArray[np.float64]
    memory: NDArray[np.float64]


def simulate(
    plant: ch.Robot,
    controller: Any,
    reference: Callable[[Any], Any],
    *,
    duration: float,
    period: float,
    q0: Any,
    qd0: Any = None,
    wrench: Wrench | None = None,
    save_every: int = 1,
    parameters: Mapping[str, Any] | None = None,
) -> Record:
    """Run a law with a plant by one Runge–Kutta step of order 4 a period.

    The wrench is ``wrench(t, T, twist)``, (6,) in world axes about the tool's origin; a controller that measures it
    gets it in the tool's axes.
    """
    n, layout = plant.n, controller.memory_layout
    m = layout.size
    law = controller.with_values(parameters or {})

    def push(t: Any, q: Any, qd: Any) -> Any:
        T, J = plant.pose_and_jacobian(q, frame="world-aligned")
        world = np.asarray(wrench(t, T, J @ qd))
        return np.concatenate([T[:3, :3].T @ world[:3], T[:3, :3].T @ world[3:]])

    def accelerations(t: Any, q: Any, qd: Any, tau: Any) -> Any:
        if wrench is None:
            return plant.forward_dynamics(q, qd, tau)
        return plant.forward_dynamics(q, qd, tau, wrenches={"tool": push(t, q, qd)})

    def step(state: Any, t: Any) -> tuple[Any, ...]:
        q, qd, memory = state[:n], state[n : 2 * n], state[2 * n :]
        felt = None if controller.measured_wrench is None else np.zeros(6) if wrench is None else push(t, q, qd)
        tau, following = called(law, q, qd, reference(t), layout.split(memory), t=t, period=period, wrench=felt)

        def derivative(time: Any, x: Any) -> Any:
            return np.concatenate([x[n:], accelerations(time, x[:n], x[n:], tau)])

        x, h = np.concatenate([q, qd]), period
        k1 = derivative(t, x)
        k2 = derivative(t + h / 2, x + h / 2 * k1)
        k3 = derivative(t + h / 2, x + h / 2 * k2)
        k4 = derivative(t + h, x + h * k3)
        return (
            np.concatenate([x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), layout.join(following)]),
            q,
            qd,
            tau,
            np.append(memory, 0.0),
        )

    outputs = ["next", "q", "qd", "tau", "memory"]
    program = trace(step, {"state": (2 * n + m,), "t": ()}, name="sampled_loop", outputs=outputs)
    loop = Function(program, shape="scan")
    samples = round(duration / period / save_every) + 1
    times = period * np.arange(samples * save_every, dtype=float).reshape(samples, save_every)
    q, qd = np.broadcast_arrays(
        np.asarray(q0, dtype=float), np.zeros(n) if qd0 is None else np.asarray(qd0, dtype=float)
    )
    memory = np.broadcast_to(layout.join(controller.memory), (*q.shape[:-1], m))
    _, *recorded = loop(np.concatenate([q, qd, memory], axis=-1), times)
    return Record(times[:, 0], *recorded[:3], recorded[3][..., :m])


def at_rest(T: Any) -> Callable[[Any], PoseMotion]:
    """Reference that holds a pose."""
    return lambda t: PoseMotion(np.asarray(T), np.zeros(6), np.zeros(6))


def constant_wrench(wrench: Any) -> Wrench:
    """Wrench that is always the same in world axes."""
    return lambda t, T, twist: np.asarray(wrench, dtype=float)
