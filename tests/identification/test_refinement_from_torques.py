"""Refinement by measured torques: what drove the robot is not told, and noise of the positions biases nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.base.findings import codes
from chasles.identification import FourierMotion, refine_from_torques

FloatArray = NDArray[np.float64]
ARM = ch.load("planar2r")
FRICTION = {"coulomb_velocity": 0.05}
PERIOD = 0.004
NAMES = [
    *(f"links.link{k}.mass" for k in (1, 2)),
    *(f"joints.joint{k}.{kind}_friction" for kind in ("viscous", "coulomb") for k in (1, 2)),
]
TRUTH = [12.0, 4.0, 1.0, 0.5, 2.0, 1.0]


def real(arm: ch.Robot = ARM) -> ch.Robot:
    masses = {"links.link1.mass": TRUTH[0], "links.link2.mass": TRUTH[1]}
    return arm.with_values(masses).with_friction(viscous=TRUTH[2:4], coulomb=TRUTH[4:], **FRICTION)


def logged(robot: ch.Robot, motion: FourierMotion, duration: float, noise: float, seed: int) -> dict[str, FloatArray]:
    """A log of a robot under a law that is not told, with noise of the positions."""
    run = ch.simulate(
        robot, ch.PDGravity(ARM, kp=[900.0, 60.0], kd=[60.0, 3.0]), motion, duration=duration, period=PERIOD
    )
    rng = np.random.default_rng(seed)
    q = run.q.values + noise * rng.normal(size=run.q.shape)
    tau = run.tau.values + 0.02 * rng.normal(size=q.shape)
    return {"t": run.time.values, "q": q, "tau": tau}


@pytest.mark.slow
def test_masses_and_friction_are_found_without_the_law() -> None:
    sines, cosines = [[0.3, 0.2, -0.1], [-0.2, 0.3, 0.1]], [[-0.1, 0.05, 0.05], [0.1, -0.05, -0.05]]
    motion = FourierMotion([0.0, 0.0], sines, cosines, period=4.0, repetitions=2)
    log = logged(real(), motion, 8.0, 1e-4, seed=0)
    guess = ARM.with_friction(viscous=[0.5, 1.0], coulomb=[1.0, 2.0], **FRICTION)
    found = refine_from_torques(guess, log, NAMES, commanded=True)
    for parameter, truth in zip(found.parameters, TRUTH, strict=True):
        assert abs(parameter.value - truth) < 4.0 * parameter.error
        assert parameter.determined
    assert [parameter.value for parameter in found.parameters] == pytest.approx(TRUTH, rel=0.02)
    assert (found.unseen < 0.1 * found.before).all()
    assert not found.findings  # derivatives are exact


def fast_motion(seed: int, repetitions: int = 4) -> FourierMotion:
    """Small motion of 1 to 2.5 Hz, whose accelerations cannot be freed from noise by a filter."""
    sines, cosines = np.zeros((2, 2, 10))
    sines[:, 3:], cosines[:, 3:] = 0.02 * np.random.default_rng(seed).normal(size=(2, 2, 7))
    return FourierMotion([0.3, 0.5], sines, cosines, period=4.0, repetitions=repetitions)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::chasles.identification.IdentificationWarning")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_of_positions_biases_least_squares_and_not_the_refinement(seed: int) -> None:
    level = ARM.with_gravity([0.0, 0.0, 0.0])  # accelerations alone tell its inertia
    robot = real(level).with_friction(viscous=[3.0, 1.5], coulomb=[1.0, 0.5], **FRICTION)
    noisy = logged(robot, fast_motion(seed), 16.0, 4e-3, seed)
    guess = level.with_friction(viscous=1.0, coulomb=0.5, **FRICTION)
    model = ch.identify(guess, noisy, cutoff=12.0, check=False).model
    found = refine_from_torques(model, noisy, NAMES, cutoff=12.0, commanded=True)
    other = ch.simulate(
        robot, ch.PDGravity(ARM, kp=[900.0, 60.0], kd=[60.0, 3.0]), fast_motion(seed + 10, 1), period=PERIOD
    )
    state = other.q.values, other.qd.values
    acceleration = np.asarray(robot.forward_dynamics(*state, other.tau.values))

    def error(one: ch.Robot) -> FloatArray:
        missed = np.asarray(one.inverse_dynamics(*state, acceleration)) - other.tau.values
        return np.asarray(np.sqrt(np.mean(missed**2, axis=0) / np.mean(other.tau.values**2, axis=0)))

    before, after = error(model), error(model.with_values(found.values))
    assert before.max() > 0.05
    assert (after < 0.85 * before).all()
    assert np.exp(np.mean(np.log(after / before))) < 0.7


def test_values_that_predict_the_unseen_part_worse_are_not_taken() -> None:
    """In the second half the robot has dropped what made it rough: what the first half says is wrong there."""
    sines, cosines = [[0.3, 0.2], [-0.2, 0.3]], [[-0.1, 0.05], [0.1, -0.05]]
    motion = FourierMotion([0.0, 0.0], sines, cosines, period=4.0)
    smooth = ARM.with_friction(viscous=0.1)
    parts = [logged(robot, motion, 4.0, 1e-4, seed=1) for robot in (ARM.with_friction(viscous=3.0), smooth)]
    times = np.concatenate([parts[0]["t"][:-1], parts[1]["t"] + 4.0])
    log: dict[str, Any] = {"t": times} | {k: np.concatenate([parts[0][k][:-1], parts[1][k]]) for k in ("q", "tau")}
    names = [name for name in NAMES if "viscous" in name]
    found = refine_from_torques(smooth, log, names, commanded=True)
    assert "first-values-kept" in codes(found.findings)
    assert [parameter.value for parameter in found.parameters] == pytest.approx([0.1, 0.1])


def test_gaps_and_currents_are_refused_in_a_sentence() -> None:
    t = np.arange(0.0, 4.0, 0.01)
    wave = np.sin(np.outer(t, [1.0, 2.3]))
    gap = np.where(t > 2.0, t + 1.0, t)
    with pytest.raises(ArgumentError, match="1 gaps in time"):
        refine_from_torques(ARM, {"t": gap, "q": wave, "tau": wave}, NAMES[:1])
    with pytest.raises(ArgumentError, match="declare drive_gains"):
        refine_from_torques(ARM, ch.Log(ARM, {"t": t, "q": wave, "current": wave}), NAMES[:1])
