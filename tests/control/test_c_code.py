"""C code of whole controllers: compiled without a warning, and step by step what Python does."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.control import (
    DisturbanceObserver,
    LinearQuadraticGaussian,
    SlotineLi,
    TimeVaryingRegulator,
    controller_to_c,
    law_cost,
    law_program,
)
from chasles.control.linear_quadratic import frequency_weights

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.2)
PERIOD = 0.01
_FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-pedantic", "-Wall", "-Wextra", "-Werror"]
Q, R = frequency_weights(ARM.mass_matrix([0.5, 0.25]), 10.0, integral=1.0)
LAWS: dict[str, Callable[[], ch.Controller]] = {
    "PD": lambda: ch.PDGravity(ARM, kp=[400.0, 20.0], kd=[40.0, 2.0]),
    "computed torque": lambda: ch.ComputedTorque(ARM, kp=400.0, kd=40.0, ki=2000.0),
    "regulator": lambda: TimeVaryingRegulator(ARM, Q=Q, R=R, delay=1.5),
    "LQG": lambda: LinearQuadraticGaussian(ARM, integral_error=0.01),
    "adaptive": lambda: SlotineLi(ARM, rate=10.0, damping=[10.0, 0.5], adaptation=1e-3),
    "observer": lambda: DisturbanceObserver(ARM, ch.ComputedTorque(ARM, kp=400.0, kd=40.0), bandwidth=30.0),
}


def compiled(folder: Path, law: ch.Controller, precision: str = "double") -> ctypes.CDLL:
    source, header = controller_to_c(law, MOTION, period=PERIOD, name="arm", precision=precision)
    (folder / "arm.c").write_text(source)
    (folder / "arm.h").write_text(header)
    command = ["cc", *_FLAGS, "-shared", "-fPIC", "-o", "arm.so", "arm.c", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "arm.so"))


@pytest.mark.parametrize("title", LAWS)
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-9), ("float", 2e-3)])
def test_c_does_step_by_step_what_the_simulation_does(
    tmp_path: Path, title: str, precision: str, tolerance: float
) -> None:
    """The measured states of a simulated loop with a payload, fed to the C code, give the loop's torques."""
    law = LAWS[title]()
    run = ch.simulate(ARM.with_payload(1.0), law, MOTION, period=PERIOD)
    library = compiled(tmp_path, law, precision)
    real = np.float64 if precision == "double" else np.float32
    state, tau = np.full(1000, np.nan, dtype=real), np.zeros(2, dtype=real)
    pointer = ctypes.c_void_p(state.ctypes.data)
    library.arm_init(pointer)
    scale = np.abs(run["tau"].values).max()
    for q, qd, expected in zip(run["q"].values, run["qd"].values, run["tau"].values, strict=True):
        measured = [np.ascontiguousarray(part, dtype=real) for part in (q, qd)]
        library.arm_step(pointer, *(ctypes.c_void_p(part.ctypes.data) for part in (*measured, tau)))
        np.testing.assert_allclose(tau, expected, rtol=0, atol=tolerance * scale)


def test_behind_the_end_the_last_reference_is_held(tmp_path: Path) -> None:
    library = compiled(tmp_path, LAWS["PD"]())
    state, tau = np.zeros(100), np.zeros(2)
    library.arm_init(ctypes.c_void_p(state.ctypes.data))
    q, qd = np.array([1.0, 0.5]), np.zeros(2)
    for _ in range(100):
        library.arm_step(*(ctypes.c_void_p(part.ctypes.data) for part in (state, q, qd, tau)))
    np.testing.assert_allclose(tau, ARM.gravity_torque(q), rtol=1e-12)


@pytest.mark.parametrize("title", ["PD", "computed torque", "adaptive"])
def test_the_program_of_a_law_gives_its_torques(title: str) -> None:
    law = LAWS[title]()
    memory = law.memory_layout.join(law.memory)
    q, qd, reference = np.array([0.1, -0.2]), np.array([0.3, 0.1]), np.concatenate(MOTION(0.05))
    compute = ch.Function(law_program(law, MOTION, period=PERIOD))
    tau, following = compute(0.05, q, qd, reference, memory, np.zeros(0))
    expected, parts = law.evaluate(q, qd, MOTION, t=0.05, period=PERIOD)
    np.testing.assert_allclose(tau, expected, rtol=1e-12)
    np.testing.assert_allclose(following, law.memory_layout.join(parts), rtol=1e-12)


def test_costs_are_those_of_the_program() -> None:
    cheap = law_cost(LAWS["PD"](), MOTION, period=1e-3)
    dear = law_cost(LAWS["LQG"](), MOTION, period=1e-3)
    assert sum(cheap.operations.values()) < sum(dear.operations.values())
    assert law_cost(LAWS["PD"](), MOTION, period=5e-4).share == pytest.approx(2.0 * cheap.share)
    slow = law_cost(LAWS["LQG"](), MOTION, period=1e-3, clock=1e4)
    assert "does not fit" in str(slow)
    assert "fits" in str(cheap)
    tripled = law_cost(LAWS["PD"](), MOTION, period=1e-3, simple=9.0, division=42.0, function=240.0)
    assert tripled.cycles == pytest.approx(3.0 * cheap.cycles)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ArgumentError, match="C identifier"):
        controller_to_c(LAWS["PD"](), MOTION, period=PERIOD, name="a b")
    with pytest.raises(ChaslesError, match="precision"):
        controller_to_c(LAWS["PD"](), MOTION, period=PERIOD, precision="half")
    with pytest.raises(ArgumentError, match="cannot be traced"):
        controller_to_c(ch.PythonLaw(lambda now: now.q if now.q[0] > 0 else now.qd), MOTION, period=PERIOD)
    with pytest.raises(ArgumentError, match="period"):
        law_cost(LAWS["PD"](), MOTION, period=-1.0)
