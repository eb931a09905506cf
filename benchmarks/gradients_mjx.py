"""Gradients of whole simulations beside MuJoCo's MJX on JAX: a pendulum and a two-link arm under a PD law."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import chasles as ch
from benchmarks.gradients import DURATION, PERIOD, interleaved, pendulum_robot, squared_error
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, ratio, seconds
from chasles.simulation.loss_gradients import RunLoss
from chasles.simulation.preparation import Setup

try:
    import mujoco
    from mujoco import mjx
except ImportError:
    raise MissingPeerError("mujoco-mjx") from None

#: Largest relative difference of gradients whose times are printed.
AGREE = 1e-8


class Case(NamedTuple):
    """A robot, its gains and start, and the integrator by the names of both libraries."""

    name: str
    robot: ch.Robot
    kp: float
    kd: float
    integrator: str
    of_mujoco: Any


def tables() -> Iterator[Table]:
    """The one table of this section."""
    euler, rk4 = mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtIntegrator.mjINT_RK4
    cases = (
        Case("pendulum, RK4", pendulum_robot(), 30.0, 5.0, "rk4", rk4),
        Case("two-link arm, semi-implicit Euler", ch.load("planar2r"), 400.0, 60.0, "semi-implicit-euler", euler),
    )
    table = Table(
        f"PD law, {DURATION:g} s at 1 kHz: the gradient of the error by gains, start and masses, one run, one thread",
        ("", "program", "made ready in", "gradient", "ratio", "gradients differ by"),
        notes=[
            "MJX: `jax.lax.scan` of `mjx.step` under `jax.jit(jax.grad(…))`, double precision, no constraints, on the "
            "same processor. Made ready: traced and compiled; ours may be machine code of an earlier run. All are "
            "processor times.",
        ],
    )
    for case in cases:
        begin = process_time()
        loss, names = ours(case)
        gradient = loss.evaluate().gradient
        ready = process_time() - begin
        begin = process_time()
        peer = theirs(case)
        expected = peer()
        ready_peer = process_time() - begin
        difference = max(
            float(np.abs(gradient[name] - x).max() / np.abs(x).max()) for name, x in zip(names, expected, strict=True)
        )
        if difference > AGREE:
            raise ValueError(f"{case.name}: the gradients differ by {difference:.1e}")
        times = interleaved({"ours": loss.evaluate, "theirs": peer})
        table.add(case.name, "MJX", seconds(ready_peer), seconds(times["theirs"]), "1x", "")
        faster = ratio(times["theirs"] / times["ours"])
        table.add("", "Chasles", seconds(ready), seconds(times["ours"]), faster, f"{difference:.0e}")
    yield table


def ours(case: Case) -> tuple[RunLoss, list[str]]:
    """The loss and the names of what it is differentiated by: gains, start, masses."""
    robot = case.robot
    law = ch.control.PD(robot, kp=case.kp, kd=case.kd)
    rest = ch.PointToPoint(np.zeros(robot.n), np.zeros(robot.n), duration=DURATION)
    names = ["controller.kp", "controller.kd", "start.q"]
    names += [f"links.{joint.child}.mass" for joint in robot.description.joints if joint.kind == "revolute"]
    plant, steps = ch.Plant(robot, effort_limits=False), ch.integrators.Steps(case.integrator, 1)
    setup = Setup(plant, law, rest, DURATION, PERIOD, np.full(robot.n, 0.5), steps)
    return RunLoss.of(setup, squared_error, names), names


def theirs(case: Case) -> Callable[[], list[np.ndarray]]:
    """The same gradient by MJX, compiled."""
    import jax
    import jax.numpy as jnp

    with tempfile.TemporaryDirectory() as folder:
        case.robot.save(Path(folder) / "robot.xml")
        spec = mujoco.MjSpec.from_file(str(Path(folder) / "robot.xml"))
    spec.option.integrator, spec.option.timestep = case.of_mujoco, PERIOD
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT) | int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)
    model = spec.compile()
    plant, data = mjx.put_model(model), mjx.make_data(model)
    moving = model.jnt_bodyid
    samples = round(DURATION / PERIOD) + 1

    def loss(values: Any) -> Any:
        kp, kd, start, masses = values
        plant_of_run = plant.replace(body_mass=plant.body_mass.at[moving].set(masses))

        def step(x: Any, _: Any) -> Any:
            q, qd = x
            after = mjx.step(plant_of_run, data.replace(qpos=q, qvel=qd, qfrc_applied=-kp * q - kd * qd))
            return (after.qpos, after.qvel), q @ q

        return jax.lax.scan(step, (start, jnp.zeros(model.nv)), None, length=samples)[1].mean()

    ones = np.ones(model.nv)
    at = [jnp.asarray(x) for x in (case.kp * ones, case.kd * ones, 0.5 * ones, model.body_mass[moving])]
    compiled = jax.jit(jax.grad(loss)).lower(at).compile()

    def gradient() -> list[np.ndarray]:
        *of_law, of_masses = (np.asarray(x) for x in compiled(at))
        return [*of_law, *of_masses]

    return gradient
