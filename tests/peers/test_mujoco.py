"""The shipped arms against MuJoCo: dynamics and a motion step by step."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.model import shipped_path

mujoco = importlib.import_module("mujoco")

STATES = 20
TOLERANCE = 1e-10


def compiled(name: str) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_path(str(shipped_path(name)))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model, mujoco.MjData(model)


def relative(ours: Any, theirs: Any) -> float:
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs))


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_dynamics(name: str) -> None:
    arm = ch.load(name).with_friction(viscous=0.0, coulomb=0.0)
    model, data = compiled(name)
    model.dof_damping[:] = 0.0
    rng = np.random.default_rng(5)
    for q, qd, tau in zip(rng.uniform(-2, 2, (STATES, arm.n)), *rng.normal(size=(2, STATES, arm.n)), strict=True):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, tau
        mujoco.mj_forward(model, data)
        M = np.empty((arm.n, arm.n))
        mujoco.mj_fullM(model, data, M)
        assert relative(arm.mass_matrix(q), M) < TOLERANCE
        assert relative(arm.bias(q, qd), data.qfrc_bias) < TOLERANCE
        assert relative(arm.forward_dynamics(q, qd, tau), data.qacc) < TOLERANCE
        mujoco.mj_inverse(model, data)
        assert relative(arm.inverse_dynamics(q, qd, data.qacc), data.qfrc_inverse) < TOLERANCE


def test_free_motion_under_rk4() -> None:
    arm = ch.load("panda")
    model, data = compiled("panda")
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = 1e-3
    data.qpos[:] = arm.home
    rest = ch.PointToPoint(arm.home, arm.home, duration=0.3)
    run = ch.simulate(arm, lambda now: 0.0 * now.q, rest, period=1e-3)
    for expected_row in range(1, 301):
        mujoco.mj_step(model, data)
        assert np.abs(run["q"].values[expected_row] - data.qpos).max() < 1e-11
    assert np.abs(data.qpos - arm.home).max() > 0.1


def test_implicit_friction_steps_as_mujocos_implicitfast() -> None:
    """Damping up to a hundred times faster than the period; MuJoCo takes it implicitly as well."""
    arm = ch.load("panda").with_friction(viscous=[30.0, 20.0, 10.0, 10.0, 5.0, 5.0, 3.0], coulomb=0.0)
    model = mujoco.MjModel.from_xml_string(ch.model.write(arm.description, "mjcf"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 1e-3
    data = mujoco.MjData(model)
    data.qpos[:] = arm.home
    run = ch.simulate(arm, duration=0.3, period=1e-3, integrator="implicit-friction-euler")
    for row in range(1, 301):
        mujoco.mj_step(model, data)
        assert np.abs(run.q[row] - data.qpos).max() < 1e-10
    assert np.abs(data.qpos - arm.home).max() > 0.1
