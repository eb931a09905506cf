"""Sensitivities of closed loops: the limit of differences of simulations, and what cannot be differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.simulation.sensitivities import sensitivities

ARM = ch.load("planar2r")
LAW = ch.PDGravity(ARM, kp=[300.0, 100.0], kd=[30.0, 10.0])
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, -0.5], duration=0.5)
VALUES = {"elastic_joints.stiffness": np.array([3000.0, 1200.0]), "friction.coulomb": np.array([2.0, 1.0])}
DURATION, PERIOD, DELAY = 0.6, 0.002, 0.003


def plant() -> ch.Plant:
    springs = ch.ElasticJoints(ARM, stiffness=[3000.0, 1200.0], rotor_inertia=[1.0, 0.3], damping=1.0)
    friction = ch.Friction(ARM, coulomb=[2.0, 1.0], smoothing_velocity=0.05)
    return ch.Plant(ARM, elastic_joints=springs, friction=friction, sensors=ch.Sensors(ARM, side="motor"))


def simulated(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    run = ch.simulate(
        plant().with_drives(delay=DELAY), LAW, MOTION, duration=DURATION, period=PERIOD, start=[0.1, 0.0], vary=values
    )
    return {name: run[name].values for name in ("q_measured", "tau")}


def test_differences_of_simulations_approach_them_with_the_square_of_the_step() -> None:
    found = sensitivities(
        plant().with_drives(delay=DELAY), LAW, MOTION, VALUES, duration=DURATION, period=PERIOD, start=[0.1, 0.0]
    )
    assert all(np.array_equal(found.values[name], value) for name, value in simulated(VALUES).items())
    names = [(name, k) for name in VALUES for k in range(2)]
    for direction, (name, k) in enumerate(names):
        errors = []
        for h in (2e-3, 1e-3):
            step = np.where(np.arange(2) == k, h * VALUES[name], 0.0)
            ahead, behind = (simulated({**VALUES, name: VALUES[name] + sign * step}) for sign in (1.0, -1.0))
            for output in ("q_measured", "tau"):
                slope = (ahead[output] - behind[output]) / (2.0 * step[k])
                exact = found.slopes[output][direction]
                errors.append(np.abs(slope - exact).max() / np.abs(exact).max())
        assert max(errors) < 1e-3
        assert (np.array(errors[2:]) < 0.27 * np.array(errors[:2]) + 1e-8).all()


def test_the_start_moves_with_the_parameters() -> None:
    """A start that moves by its slopes moves all that follows: compared with differences of the start."""
    slopes = np.array([[0.3, 0.0], [0.0, -0.2], [0.0, 0.0], [0.1, 0.1]])
    own = {"duration": 0.1, "period": PERIOD}
    found = sensitivities(plant(), LAW, MOTION, VALUES, start=[0.1, 0.0], start_slopes=slopes, **own)
    still = sensitivities(plant(), LAW, MOTION, VALUES, start=[0.1, 0.0], **own)
    h = 1e-5
    ahead, behind = (
        ch.simulate(
            plant(),
            LAW,
            MOTION,
            start=np.array([0.1, 0.0]) + sign * h * slopes[3],
            integrator=ch.integrators.Steps("rk4", 1),
            **own,
        ).tau.values
        for sign in (1.0, -1.0)
    )
    assert np.allclose((found.slopes["tau"] - still.slopes["tau"])[3], (ahead - behind) / (2.0 * h), atol=1e-4)


@pytest.mark.parametrize("method", ["dormand-prince", "rodas5p"])
def test_steps_that_the_error_controls_are_constant_in_the_derivatives(method: str) -> None:
    """Differences of runs within a tolerance far below them approach the derivatives with the square of their step."""
    within = ch.integrators.Within(method, rtol=1e-11, atol=1e-13)
    own = {"duration": 0.1, "period": 0.01, "integrator": within}
    values = {"payload.mass": 1.0, "links.link1.mass": 4.0}
    late = ch.Plant(ARM).with_drives(delay=0.004)
    found = sensitivities(late, LAW, MOTION, values, start=[0.1, 0.0], **own)
    for direction, name in enumerate(values):
        errors = []
        for h in (4e-2, 2e-2):
            ahead, behind = (
                ch.simulate(late, LAW, MOTION, start=[0.1, 0.0], vary={**values, name: values[name] + sign * h}, **own)
                for sign in (1.0, -1.0)
            )
            slope = (ahead.q.values - behind.q.values) / (2.0 * h)
            errors.append(np.abs(slope - found.slopes["q"][direction]).max() / np.abs(slope).max())
        assert errors[1] < 0.26 * errors[0]
        assert errors[1] < 1e-2


def test_what_does_not_run_compiled_is_refused() -> None:
    with pytest.raises(ArgumentError, match="sensitivities need a loop that runs compiled"):
        sensitivities(ARM, LAW, MOTION, {"payload.mass": 1.0}, duration=0.1, period=0.01, integrator="RK45")


def test_values_must_be_whole() -> None:
    with pytest.raises(ArgumentError, match=r"must have shape \(2,\), not \(1,\)"):
        sensitivities(plant(), LAW, MOTION, {"elastic_joints.stiffness": [2000.0]}, duration=0.1, period=PERIOD)
