"""Nominal torques with matrix PID, gravity with PID, and the preview: poles, orders of errors, identities."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import NominalTorque, NominalTorquePID, PIDGravity, Previewed

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.5)
STILL = ch.PointToPoint([0.3, 0.7], [0.3, 0.7], 0.5)


@pytest.mark.parametrize("integral", [0.0, 0.5])
def test_matrix_gains_place_the_poles_of_a_coupled_arm(integral: float) -> None:
    """Without gravity, at rest in the pose of the design, each joint is a unit mass: poles exp(s h)."""
    floating = ARM.with_gravity([0.0, 0.0, 0.0])
    law = NominalTorquePID.tuned(floating, STILL, 0.01, frequency=20.0, damping=1.0, integral=integral)
    margins = ch.control.loop_margins(floating, law, STILL, period=0.01, velocity="measured")
    np.testing.assert_allclose(margins.radius, np.exp(-20.0 * (integral or 1.0) * 0.01), rtol=1e-5)


def test_matrix_gains_of_joints_alone_are_those_of_nominal_torque_with_pd() -> None:
    plain, matrix = (
        NominalTorque(ARM, kp=[300.0, 40.0], kd=[30.0, 4.0]),
        NominalTorquePID(ARM, kp=[300.0, 40.0], kd=[30.0, 4.0]),
    )
    runs = [ch.simulate(ARM.with_payload(1.0), law, MOTION).q for law in (plain, matrix)]
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-12)


def test_pid_with_gravity_is_pid_with_gravity_within_the_limits() -> None:
    gains = {"kp": [300.0, 40.0], "ki": [100.0, 10.0], "kd": [30.0, 4.0]}
    state = ([0.2, -0.4], [0.5, 0.3], MOTION(0.2))
    pid, both = ch.control.PID(ARM, **gains), PIDGravity(ARM, **gains)  # type: ignore[arg-type]
    difference = both.evaluate(*state).tau - pid.evaluate(*state).tau
    np.testing.assert_allclose(difference, ARM.gravity_torque(state[0]), rtol=1e-12)
    limited = PIDGravity(ARM, **gains, torque_limits=[5.0, 2.0])  # type: ignore[arg-type]
    assert (np.abs(limited.evaluate(*state).tau) <= [5.0, 2.0]).all()


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_previewed_torques_leave_the_motion_by_the_square_of_the_period(delay: float) -> None:
    """Without feedback nothing else moves the arm: halved periods halve the error, and quarter it with preview."""
    free = ARM.with_gravity([0.0, 0.0, 0.0])
    law = NominalTorque(free)
    growth = []
    for controller in (law, Previewed(free, law, delay=delay)):
        errors = [
            float(abs(ch.simulate(ch.Plant(free, delay=delay * h), controller, MOTION, period=h).error).max())
            for h in (0.02, 0.01)
        ]
        growth.append(errors[0] / errors[1])
    assert growth[0] == pytest.approx(2.0, abs=0.3)
    assert growth[1] == pytest.approx(4.0, abs=0.6)


def test_preview_of_the_regulators_and_of_frames_is_refused() -> None:
    with pytest.raises(ArgumentError, match="leave out its preview"):
        Previewed(ARM, ch.control.TimeVaryingRegulator(ARM))
    with pytest.raises(ArgumentError, match="follows a frame"):
        Previewed(ARM, ch.control.OperationalSpace(ch.load("panda"), kp=100.0, kd=20.0))
    with pytest.raises(ArgumentError, match="kp"):
        NominalTorquePID(ARM, kp=np.eye(3), kd=1.0)
