"""Gradients of whole simulations: backward and forward beside the simulation itself, and beside JAX on a pendulum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import process_time
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.tables import Table, ratio, seconds
from chasles.simulation import sensitivities
from chasles.simulation.loss_gradients import RunLoss
from chasles.simulation.preparation import Setup

DURATION, PERIOD = 10.0, 1e-3
REPEATS = 5
BAR = 3.0
RK4 = ch.integrators.Steps("rk4", 1)
PENDULUM = {"kp": 30.0, "kd": 5.0, "start": 0.5}


def tables() -> Iterator[Table]:
    """The tables of this section."""
    with ch.threads(1):
        yield arm()
        yield pendulum()


def arm() -> Table:
    """A Panda under computed torque."""
    robot = ch.load("panda")
    law = ch.ComputedTorque(robot, kp=400.0, kd=40.0)
    motion = ch.PointToPoint(robot.home, robot.home + 0.2, duration=DURATION)
    plant = ch.Plant(robot, friction=ch.Friction(robot, viscous=0.1))
    names = [f"controller.{name}" for name in ("kp", "kd", "ki")] + ["reference.goal", "friction.viscous"]
    names += [f"links.panda_link{k}.{p}" for k in range(1, 8) for p in ("mass", "center_of_mass")]
    names += [
        f"joints.panda_joint{k}.{p}"
        for k in range(1, 8)
        for p in ("motor_inertia", "viscous_friction", "torque_sine", "torque_cosine", "torque_offset")
    ]
    names += ["gravity"]
    setup = Setup(plant, law, motion, DURATION, PERIOD, None, RK4)
    loss = RunLoss.of(setup, squared_error, names)
    values = {name: loss.ready.values[name] for name in names}
    of_plant = {name: values[name] for name in names if name in plant.parameters}
    count = sum(np.size(value) for value in values.values())
    times = interleaved(
        {
            "simulate": lambda: ch.simulate(plant, law, motion, vary=of_plant, integrator=RK4),
            "backward": loss.evaluate,
            "forward": lambda: sensitivities(plant, law, motion, values, integrator=RK4),
        }
    )
    table = Table(
        f"Panda, closed loop of {DURATION:g} s at 1 kHz: the gradient of its error by {count} parameters, one thread",
        ("", "time", "beside the simulation"),
        notes=[f"The gradient is to cost at most {BAR:g} simulations, `ch.simulate` with the same parameters varied."],
    )
    once = times["simulate"]
    table.add("simulation", seconds(once), "1x")
    table.add("gradient, one pass backward", seconds(times["backward"]), ratio(times["backward"] / once))
    table.add("all slopes of all samples, forward", seconds(times["forward"]), ratio(times["forward"] / once))
    return table


def pendulum() -> Table:
    """A pendulum under a PD law, the same formulas in JAX."""
    robot = pendulum_robot()
    rest = ch.PointToPoint([0.0], [0.0], duration=DURATION)
    law = ch.control.PD(robot, kp=PENDULUM["kp"], kd=PENDULUM["kd"])
    names = ["controller.kp", "controller.kd", "start.q"]
    setup = Setup(robot, law, rest, DURATION, PERIOD, [PENDULUM["start"]], RK4)
    loss = RunLoss.of(setup, squared_error, names)
    peer = jax_gradient()
    ours, theirs = loss.evaluate(), peer()
    gradient = [float(ours.gradient[name][0]) for name in names]
    difference = float(np.max(np.abs(np.array(gradient) - theirs) / np.abs(theirs)))
    times = interleaved({"ours": loss.evaluate, "jax": peer})
    table = Table(
        f"Pendulum under a PD law, {DURATION:g} s at 1 kHz, RK4: the gradient of its error by gains and start, one run",
        ("", "time", "ratio"),
        notes=[
            "JAX: the pendulum's equation by hand, `jax.lax.scan` under `jax.jit(jax.grad(…))`, double precision; "
            "numbers, not arrays, are carried, which takes it least time. Engines built on it compute a general "
            "robot: `python -m benchmarks gradients-mjx`.",
            "A step has four sines, one after another: of ours, that also serve vectors and are free of branches, each "
            "takes as long as three of JAX's at the small angles here.",
            f"The gradients agree to {difference:.0e}.",
        ],
    )
    table.add("JAX", seconds(times["jax"]), "1x")
    table.add("Chasles", seconds(times["ours"]), ratio(times["jax"] / times["ours"]))
    return table


def pendulum_robot() -> ch.Robot:
    """A point mass of 1 kg at 1 m."""
    rod = {"a": 1.0, "mass": 1.0, "inertia": np.zeros((3, 3)), "center_of_mass": [0.0, 0.0, 0.0]}
    return ch.Robot.from_dh([rod], gravity=[9.81, 0.0, 0.0])


def squared_error(now: Any) -> Any:
    """Squared tracking error of a sample."""
    return now.error @ now.error


def jax_gradient() -> Callable[[], np.ndarray]:
    """Return the gradient of the same loss in JAX."""
    import jax
    import jax.numpy as jnp

    samples = round(DURATION / PERIOD) + 1

    def step(x: Any, gains: Any) -> Any:
        (q, qd), h = x, PERIOD
        tau = -gains[0] * q - gains[1] * qd

        def acceleration(q: Any) -> Any:
            return tau - 9.81 * jnp.sin(q)

        v1, a1 = qd, acceleration(q)
        v2, a2 = qd + 0.5 * h * a1, acceleration(q + 0.5 * h * v1)
        v3, a3 = qd + 0.5 * h * a2, acceleration(q + 0.5 * h * v2)
        v4, a4 = qd + h * a3, acceleration(q + h * v3)
        after = q + h / 6.0 * (v1 + 2.0 * (v2 + v3) + v4), qd + h / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)
        return after, q**2

    def loss(values: Any) -> Any:
        start = values[2], jnp.zeros(())
        _, errors = jax.lax.scan(lambda x, _: step(x, values), start, None, length=samples)
        return errors.mean()

    gradient = jax.jit(jax.grad(loss))
    at = jnp.array([PENDULUM["kp"], PENDULUM["kd"], PENDULUM["start"]])
    return lambda: np.asarray(gradient(at))


def interleaved(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median processor time of each call, s, after a first round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for warm_up in (True, *[False] * REPEATS):
        for name, call in calls.items():
            start = process_time()
            call()
            if not warm_up:
                times[name].append(process_time() - start)
    return {name: median(values) for name, values in times.items()}
