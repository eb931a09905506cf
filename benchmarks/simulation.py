"""Closed-loop simulation of the Panda, and of the Panda with stiff friction."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import panda
from benchmarks.tables import Table, at_least, seconds

RUNS, DURATION, PERIOD = 1024, 0.2, 1e-3
STEPS = round(DURATION / PERIOD)
BAR = 20.0
IMPLICIT_BAR = 15.0
VISCOUS, COULOMB = 10.0, 1.0
REPEATS = 5


def tables() -> Iterator[Table]:
    """The tables of this section."""
    yield explicit_steps()
    yield implicit_steps()


def explicit_steps() -> Table:
    """A rigid arm, whose dynamics are slow beside the period."""
    mujoco_run = mujoco_steps(30 * STEPS)
    times: dict[str, list[float]] = {"sparse": [], "full": [], "peer": []}
    for warm_up in (True, *[False] * REPEATS):
        for name, call in {
            "sparse": lambda: closed_loop(every=10),
            "full": lambda: closed_loop(every=1),
            "peer": mujoco_run,
        }.items():
            start = perf_counter()
            call()
            if not warm_up:
                times[name].append(perf_counter() - start)
    # A recorded sample is one control period more than the motion needs: the last row closes the interval.
    per_step = {
        "sparse": median(times["sparse"]) / (RUNS * (STEPS + 10)),
        "full": median(times["full"]) / (RUNS * (STEPS + 1)),
        "peer": median(times["peer"]) / (30 * STEPS),
    }
    table = Table(
        f"Panda, closed loop at 1 kHz, RK4, {RUNS:,} runs of {DURATION:g} s, one thread",
        ("", "a step", "steps a second", "ratio"),
        notes=[
            "Chasles: chasles.simulate with the computed-torque controller, a quintic reference and another start for "
            "every run; its whole call is timed, with the labelled result of q, qd, tau, reference and error.",
            "MuJoCo: mj_step with its RK4 integrator on the same arm, all steps in one call of its C++ loop; contacts, "
            "constraints and sensors off; no controller and no recording, whose cost would come on top.",
            f"The same motion without control ends within {free_motion_difference():.0e} rad of MuJoCo's.",
        ],
    )
    peer = per_step["peer"]
    table.add("MuJoCo", seconds(peer), f"{1 / peer:,.0f}", "1x")
    for label, name in (("Chasles, every tenth period recorded", "sparse"), ("Chasles, every period recorded", "full")):
        ours = per_step[name]
        table.add(label, seconds(ours), f"{1 / ours:,.0f}", at_least(BAR, peer / ours))
    return table


def implicit_steps() -> Table:
    """Viscous and Coulomb friction that act faster than a period at the wrist."""
    arm = ch.Robot(panda.chasles_arm().description).with_friction(
        viscous=VISCOUS, coulomb=COULOMB, coulomb_velocity=0.01
    )
    mj, _ = panda.mujoco()
    jumping = arm.with_friction(coulomb_velocity=0.0)  # MuJoCo's friction has no transition
    model = mj.MjModel.from_xml_string(ch.model.write(jumping.description, "mjcf"))
    model.opt.timestep, model.opt.integrator = PERIOD, mj.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.disableflags |= mj.mjtDisableBit.mjDSBL_CONTACT | mj.mjtDisableBit.mjDSBL_LIMIT
    data = mj.MjData(model)
    start = arm.home + np.linspace(-0.05, 0.05, RUNS)[:, None]

    def peer() -> None:
        mj.mj_resetData(model, data)
        data.qpos[:] = arm.home
        mj.mj_step(model, data, 30 * STEPS)

    def ours(integrator: str) -> Any:
        return ch.simulate(
            arm,
            start=start,
            duration=DURATION,
            period=PERIOD,
            integrator=integrator,
            record=ch.Recording(every=10),
            progress=False,
        )

    calls = {
        "peer": (peer, 30 * STEPS),
        "implicit-friction-euler": (lambda: ours("implicit-friction-euler"), RUNS * (STEPS + 10)),
        "linearly-implicit-euler": (lambda: ours("linearly-implicit-euler"), RUNS * (STEPS + 10)),
        "automatic": (lambda: ours("automatic"), RUNS * (STEPS + 10)),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for warm_up in (True, *[False] * REPEATS):
        for name, (call, steps) in calls.items():
            begin = perf_counter()
            call()
            if not warm_up:
                times[name].append((perf_counter() - begin) / steps)
    per_step = {name: median(values) for name, values in times.items()}
    table = Table(
        f"Panda with friction, falling, implicit steps of 1 ms, {RUNS:,} runs of {DURATION:g} s, one thread",
        ("", "a step", "steps a second", "ratio"),
        notes=[
            f"Viscous friction {VISCOUS:g} N·m·s/rad, Coulomb friction {COULOMB:g} N·m (Chasles: over 0.01 rad/s; "
            "MuJoCo: a constraint).",
            "MuJoCo: mj_step with its implicitfast integrator, of order 1, all steps in one call. Chasles: the method "
            "of the same kind (order 1, friction implicit), one of order 1 with the Jacobian of all that acts, and the "
            "default, of order 5 with steps that the error controls, for a period of 1 ms.",
        ],
    )
    table.add("MuJoCo, implicitfast", seconds(per_step["peer"]), f"{1 / per_step['peer']:,.0f}", "1x")
    for label, name in (
        ("Chasles, implicit friction", "implicit-friction-euler"),
        ("Chasles, linearly implicit Euler", "linearly-implicit-euler"),
        ("Chasles, default", "automatic"),
    ):
        mean = per_step[name]
        ratio = per_step["peer"] / mean
        shown = at_least(IMPLICIT_BAR, ratio) if name == "implicit-friction-euler" else f"{ratio:.1f}x"
        table.add(label, seconds(mean), f"{1 / mean:,.0f}", shown)
    return table


def closed_loop(*, every: int) -> Any:
    """Our simulation of all runs."""
    arm = panda.chasles_arm()
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    motion = ch.PointToPoint(arm.home, arm.home + 0.2, duration=DURATION)
    start = arm.home + np.linspace(-0.05, 0.05, RUNS)[:, None]
    return ch.simulate(
        arm, controller, motion, period=PERIOD, start=start, record=ch.Recording(every=every), progress=False
    )


def mujoco_steps(count: int) -> Any:
    """A call that makes that many steps of MuJoCo."""
    mj, model = panda.mujoco()
    data = mj.MjData(model)

    def run() -> None:
        mj.mj_resetData(model, data)
        data.qpos[:] = panda.chasles_arm().home
        mj.mj_step(model, data, count)

    return run


def free_motion_difference() -> float:
    """How far the arm that falls freely for the duration ends from MuJoCo's."""
    arm = panda.chasles_arm()
    mj, model = panda.mujoco()
    data = mj.MjData(model)
    data.qpos[:] = arm.home
    mj.mj_step(model, data, STEPS)
    rest = ch.PointToPoint(arm.home, arm.home, duration=DURATION)
    run = ch.simulate(arm, lambda now: 0.0 * now.q, rest, period=PERIOD, progress=False)
    return float(np.abs(run["q"].values[-1] - data.qpos).max())
