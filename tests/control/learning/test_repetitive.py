"""Repetitive control: poles of a mass with oscillators, decay at the designed rate, unknown loads, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.control import LearningError, RepetitiveTorque

PERIOD = 0.01


def test_the_growth_is_that_of_the_poles_of_a_mass_with_oscillators() -> None:
    """An own model of mass, held forces, PD and oscillators, written as one matrix; the mass is 30 % too heavy."""
    mass, kp, kd, lap, count, slow = 2.0, 400.0, 50.0, 0.5, 3, 0.8
    arm = ch.Robot.from_dh([{"kind": "prismatic", "mass": mass}], gravity=(0.0, 0.0, 0.0), check=False)
    heavy = arm.with_payload(0.6)
    motion = ch.CubicSpline(np.linspace(0.0, lap, 5), [[0.0], [0.1], [0.0], [-0.1], [0.0]])
    law = RepetitiveTorque(
        arm,
        ch.control.NominalTorque(arm, kp=kp, kd=kd),
        motion,
        period=PERIOD,
        harmonics=count,
        learning_time=slow,
        plants=[heavy],
    )

    def radius(m: float) -> float:
        A, B = np.array([[1.0, PERIOD], [0.0, 1.0]]), np.array([0.5 * PERIOD**2, PERIOD])
        loop = np.zeros((2 + 2 * (count + 1),) * 2)
        loop[:2, :2] = A - np.outer(B / m, [kp, kd])
        for h in range(count + 1):
            angle, row = 2.0 * np.pi * h * PERIOD / lap, 2 + 2 * h
            z = np.exp(1j * angle)
            response = np.linalg.solve(z * np.eye(2) - A + np.outer(B / mass, [kp, kd]), B / mass)[0]
            turn = np.array([[z.real, -z.imag], [z.imag, z.real]])
            inverse = (1.0 if h == 0 else 2.0) * PERIOD / slow / response
            loop[row : row + 2, row : row + 2] = turn
            loop[row : row + 2, 0] = -turn @ [inverse.real, inverse.imag]
            loop[:2, row] = B / m
        values = np.abs(np.linalg.eigvals(loop[np.ix_(keep, keep)]))
        return float(np.log(values.max()) / PERIOD)

    keep = np.delete(np.arange(2 + 2 * (count + 1)), 3)  # the mean has no imaginary part
    assert law.growth == pytest.approx(max(radius(mass), radius(mass + 0.6)), rel=1e-6)
    assert radius(mass) == pytest.approx(-1.0 / slow, rel=0.35)


def test_an_arm_learns_payload_and_friction_while_it_goes_round() -> None:
    arm = ch.load("planar2r")
    loaded, laps = arm.with_payload(0.7), 11
    t = np.linspace(0.0, laps, 8 * laps + 1)
    motion = ch.CubicSpline(t, np.stack([0.4 * np.sin(2.0 * np.pi * t), 0.3 * np.cos(2.0 * np.pi * t)], axis=-1))
    feedback = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    law = RepetitiveTorque(
        arm, feedback, motion, period=PERIOD, lap=1.0, harmonics=5, learning_time=2.0, plants=[loaded]
    )
    plant = ch.Plant(loaded, friction=ch.Friction(arm, viscous=0.2, coulomb=0.2))
    errors = [
        np.abs(ch.simulate(plant, each, motion, period=PERIOD).error.values[900:1000]).max() for each in (law, feedback)
    ]
    assert errors[0] < 0.05 * errors[1]


def test_oscillators_that_learn_too_fast_are_refused() -> None:
    arm = ch.load("planar2r")
    lap = ch.CubicSpline([0.0, 0.5, 1.0], [[0.0, 0.0], [0.5, 0.3], [0.0, 0.0]])
    feedback = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    with pytest.raises(LearningError, match=r"errors of the loop with 8 harmonics grow at .*raise learning_time"):
        RepetitiveTorque(arm, feedback, lap, period=PERIOD, harmonics=8, learning_time=0.1)


def test_what_was_learned_goes_on_in_another_run() -> None:
    """A law that begins with the oscillators of an earlier run asks for the torques that this run went on with."""
    arm = ch.Robot.from_dh([{"kind": "prismatic", "mass": 2.0}], check=False)
    lap = ch.CubicSpline([0.0, 0.5, 1.0], [[0.0], [0.5], [0.0]])
    design = {"period": PERIOD, "lap": 0.5, "harmonics": 1, "learning_time": 2.0}
    feedback = ch.control.PD(arm, kp=800.0, kd=80.0)
    law = RepetitiveTorque(arm, feedback, lap, **design)
    run = ch.simulate(arm, law, lap, period=PERIOD, record=ch.Recording(memory=True))
    learned = law.memory_layout.split(run.memory.values[50]).oscillators
    again = RepetitiveTorque(arm, feedback, lap, learned=learned, **design)
    tau = again.evaluate(run.q.values[50], run.qd.values[50], lap, t=0.5, period=PERIOD).tau
    np.testing.assert_allclose(tau, run.tau.values[50], rtol=1e-12)
    assert np.abs(learned).max() > 0.0
