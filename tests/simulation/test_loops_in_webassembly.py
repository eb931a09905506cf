"""Closed loops in a WebAssembly engine: the same motion as in machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.engine.run_wasm import Loaded

import chasles as ch
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.wasm import lower
from chasles.integrators import Steps
from chasles.simulation.preparation import Setup, prepare


def _agree(robot: ch.Robot, law: Any, integrator: Any) -> None:
    motion = ch.PointToPoint(robot.home, robot.home + 0.4, 0.3)
    setup = Setup(robot, law, motion, period=1e-2, integrator=integrator)
    ready = prepare(setup, record=ch.Recording(every=5))
    assert ready.compiled is not None
    loop, (state, further) = ready.loop, ready.start_of_scan
    arguments = [state, loop.inputs.given(ready.times, 0), *further, *loop.packed(ready.values)]
    kernel = Kernel(ready.compiled.program, "scan")
    ours = Loaded(lower({"loop": kernel})).call("loop", *(np.asarray(x)[None] for x in arguments))
    for core, mine, theirs in zip(kernel.outputs, ours, ready.compiled(*arguments), strict=True):
        expected = np.asarray(theirs)
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
        np.testing.assert_allclose(mine[0], expected, rtol=0.0, atol=1e-12 * scale, err_msg=core.name)


@pytest.mark.parametrize("kind", ["computed-torque", "pid", pytest.param("natural-adaptive", marks=pytest.mark.slow)])
def test_laws_in_steps_of_a_fixed_length(kind: str) -> None:
    planar = ch.load("planar2r")
    motion = ch.PointToPoint(planar.home, planar.home + 0.4, 0.3)
    law = ch.control.laws()[kind].tuned(planar, motion, 1e-2, frequency=20.0)
    _agree(planar, law, Steps("rk4", 2))


def test_steps_that_the_error_controls_are_repeated() -> None:
    planar = ch.load("planar2r")
    law = ch.PDGravity.tuned(planar, ch.PointToPoint(planar.home, planar.home + 0.4, 0.3), 1e-2, frequency=20.0)
    _agree(planar, law, "dormand-prince")


@pytest.mark.slow
def test_an_arm_of_seven_joints() -> None:
    panda = ch.load("panda")
    _agree(panda, ch.ComputedTorque(panda, kp=400.0, kd=40.0), "rk4")
