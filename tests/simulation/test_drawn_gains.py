"""Stiff joint friction under drawn gains and periods: no run diverges that a finer one does not, and peers agree."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tests.oracles.example_robots import example

import chasles as ch

FILES = {
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
}
RUNS = 60


def with_friction(robot: ch.Robot, viscous: float, coulomb: float, velocity: float) -> ch.Robot:
    """The robot with friction that is at least as strong as these in every joint."""
    joints = tuple(
        joint.replace(
            viscous_friction=max(joint.viscous_friction, viscous),
            coulomb_friction=max(joint.coulomb_friction, coulomb),
            coulomb_velocity=velocity,
        )
        if joint.moves
        else joint
        for joint in robot.description.joints
    )
    return ch.Robot(robot.description.replace(joints=joints))


def without_friction(robot: ch.Robot) -> ch.Robot:
    joints = (joint.replace(viscous_friction=0.0, coulomb_friction=0.0) for joint in robot.description.joints)
    return ch.Robot(robot.description.replace(joints=tuple(joints)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::chasles.model.ModelWarning")
@pytest.mark.filterwarnings(
    "ignore::chasles.simulation.DivergenceWarning", "ignore::chasles.simulation.SamplingWarning"
)
@pytest.mark.filterwarnings("ignore::chasles.simulation.SaturationWarning")
@pytest.mark.parametrize("velocity", [0.05, 0.0], ids=["smooth", "stiction"])
@pytest.mark.parametrize("name", FILES)
def test_no_run_diverges_that_a_hundred_times_finer_one_does_not(name: str, velocity: float) -> None:
    """Without effort limits, so that gains too high for the period do diverge: in both."""
    rng = np.random.default_rng([len(name), int(velocity == 0.0)])
    arm = ch.load(example(FILES[name]))
    plant, model = with_friction(arm, 1.0, 1.0, velocity), without_friction(arm)
    period = float(np.exp(rng.uniform(np.log(1e-3), np.log(1e-2))))
    frequency = np.exp(rng.uniform(np.log(2.0), np.log(1.5 / period), (RUNS, 1))) * np.ones(arm.n)
    damping = rng.uniform(0.2, 2.0, (RUNS, 1))
    gains = {"controller.kp": frequency**2, "controller.kd": 2.0 * damping * frequency}
    motion = ch.PointToPoint(arm.home, arm.home + 0.3, 0.2)
    law = ch.ComputedTorque(model, kp=1.0, kd=1.0)
    runs = [
        ch.simulate(plant, law, motion, period=period, vary=gains, effort_limits=False, progress=False, **options)
        for options in ({}, {"integrator": "rodas5p", "rtol": 1e-8, "atol": 1e-10})
    ]
    coarse, fine = (np.isfinite(run.diverged_at.values) for run in runs)
    kept = ~coarse & ~fine
    apart = np.abs(runs[0].q.values - runs[1].q.values)[kept].max(axis=(1, 2))
    print(
        f"\n{name}, {'smooth friction' if velocity else 'stiction'}, period {1e3 * period:.2f} ms: {coarse.sum()} of "
        f"{RUNS} runs diverge, {fine.sum()} of the finer ones, {(coarse & ~fine).sum()} only here; difference of the "
        f"others {np.median(apart):.1e} rad in the median, {apart.max():.1e} at most"
    )
    assert runs[0].attrs["integrator"] == "rodas5p"
    assert not (coarse & ~fine).any()
    assert kept.sum() > 0.8 * RUNS
    assert np.median(apart) < 1e-6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::chasles.model.ModelWarning")
@pytest.mark.parametrize("name", ["xarm7", "kinova"])
def test_radau_at_tight_tolerance_and_mujocos_implicit_integrators_agree(name: str) -> None:
    """A light wrist with viscous friction that acts at 1e4 1/s, falling under its own weight."""
    plant = with_friction(without_friction(ch.load(example(FILES[name]))), 5.0, 0.0, 0.0)
    options = {"duration": 0.05, "effort_limits": False, "progress": False}
    run = ch.simulate(plant, **options)
    assert run.attrs["integrator"] == "rodas5p"
    exact = ch.simulate(plant, integrator="Radau", rtol=1e-9, atol=1e-12, **options)
    np.testing.assert_allclose(run.q, exact.q, atol=1e-7)
    model = mujoco.MjModel.from_xml_string(plant.to_mjcf())
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
