"""Closed-loop simulation of the Panda."""

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
REPEATS = 5


def tables() -> Iterator[Table]:
    """The one table of this section."""
    mujoco_run = mujoco_steps(30 * STEPS)
    times: dict[str, list[float]] = {"sparse": [], "full": [], "peer": []}
    for warm_up in (True, *[False] * REPEATS):
        for name, call in {
            "sparse": lambda: closed_loop(save_every=10),
            "full": lambda: closed_loop(save_every=1),
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
    yield table


def closed_loop(*, save_every: int) -> Any:
    """Our simulation of all runs."""
    arm = panda.chasles_arm()
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    motion = ch.PointToPoint(arm.home, arm.home + 0.2, duration=DURATION)
    start = arm.home + np.linspace(-0.05, 0.05, RUNS)[:, None]
    return ch.simulate(arm, controller, motion, period=PERIOD, q0=start, save_every=save_every, progress=False)


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
    run = ch.simulate(arm, lambda t, q, qd, reference: 0.0 * q, rest, period=PERIOD, progress=False)
    return float(np.abs(run["q"].values[-1] - data.qpos).max())
