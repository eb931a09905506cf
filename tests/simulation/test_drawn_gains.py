"""Stiff joint friction under drawn gains and periods: no run diverges that a finer one does not, and peers agree.

`python -m benchmarks drawn-gains` draws 1,000 for each arm.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tests.oracles.drawn_gains import ARMS, arm, drawn_runs, with_friction, without_friction

import chasles as ch


@pytest.mark.slow
@pytest.mark.parametrize("velocity", [0.05, 0.0], ids=["smooth", "stiction"])
@pytest.mark.parametrize("name", ARMS)
def test_no_run_diverges_that_a_much_finer_one_does_not(name: str, velocity: float) -> None:
    drawn = drawn_runs(name, velocity, periods=1, runs=30)
    assert not (drawn.coarse & ~drawn.fine).any()
    kept = np.isfinite(drawn.apart)
    assert kept.sum() > 0.8 * kept.size
    assert np.median(drawn.apart[kept]) < 1e-6
    assert drawn.apart[kept & (drawn.fastest < 100.0)].max() < 1e-4  # others are on their way to divergence


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_radau_at_tight_tolerance_and_mujocos_implicit_integrators_agree(name: str) -> None:
    """Light wrists with viscous friction that acts at up to 1e4 1/s, falling under their own weight."""
    plant = with_friction(without_friction(arm(name)), 5.0, 0.0, 0.0)
    options = {"duration": 0.05, "progress": False}
    free = ch.Plant(plant, effort_limits=False)
    run = ch.simulate(free, **options)
    assert run.attrs["integrator"] == "rodas5p"
    exact = ch.simulate(free, integrator=ch.integrators.Within("Radau", rtol=1e-9, atol=1e-12), **options)
    np.testing.assert_allclose(run.q, exact.q, atol=1e-7)
    model = mujoco.MjModel.from_xml_string(ch.model.write(plant.description, "mjcf"))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    for integrator in (mujoco.mjtIntegrator.mjINT_IMPLICIT, mujoco.mjtIntegrator.mjINT_IMPLICITFAST):
        errors = []
        for steps in (500, 1000):
            model.opt.timestep, model.opt.integrator = 0.05 / steps, integrator
            data = mujoco.MjData(model)
            data.qpos[:] = plant.home
            mujoco.mj_step(model, data, steps)
            errors.append(np.abs(data.qpos - exact.q.values[-1]).max())
        assert errors[1] < 1e-4
        assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)  # of order 1, towards our motion
