"""A law's torques at one state: those that the compiled loop applies, with memory handed from call to call."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [0.8, -0.5], duration=0.2)
SPATIAL = {"stiffness": 400.0, "damping": 80.0, "components": ("x", "y")}


def laws() -> dict[str, ch.Controller]:
    pd = {"kp": 100.0, "kd": 20.0}
    return {
        "PD": ch.control.PD(ARM, **pd),
        "PID": ch.control.PID(ARM, **pd, ki=50.0),
        "integral": ch.ComputedTorque(ARM, **pd, ki=30.0),
        "impedance": ch.control.Impedance(ARM, **SPATIAL, axes="world"),
        "closed-loop kinematics": ch.control.ClosedLoopKinematics(
            ARM, ch.ComputedTorque(ARM, **pd), gain=20.0, components=("x", "y")
        ),
    }


@pytest.mark.parametrize("name", laws())
def test_calls_one_after_the_other_are_those_of_the_loop(name: str) -> None:
    law = laws()[name]
    run = ch.simulate(ARM, law, MOTION, duration=0.05, period=0.005, start=[0.1, 0.2])
    q, qd, tau, memory = run["q"].values, run["qd"].values, run["tau"].values, None
    for k, t in enumerate(run["time"].values[:-1]):
        command = law.evaluate(q[k], qd[k], MOTION, t=t, memory=memory, period=0.005)
        np.testing.assert_allclose(command.tau, tau[k], rtol=1e-8, atol=1e-8)
        memory = command.memory


def test_a_measured_wrench_reaches_the_law() -> None:
    law = ch.control.Impedance(ARM, **SPATIAL, inertia=4.0, axes="world")
    q, qd, push = [0.3, 0.4], [0.0, 0.0], [0.0, 0.0, 0.0, 2.0, -1.0, 0.0]
    at_rest = ch.trajectories.Motion(np.array(q), np.zeros(2), np.zeros(2))
    free, pushed = (law.evaluate(q, qd, at_rest, measured_wrench=w).tau for w in (None, push))
    J = ARM.jacobian(q, frame="body")
    a = J[3:5] @ ARM.forward_dynamics(q, qd, pushed + J.T @ push)
    R = ARM.forward_kinematics(q)[:2, :2]
    np.testing.assert_allclose(R @ a, R @ np.array([2.0, -1.0]) / 4.0, atol=1e-6)  # the wanted inertia, at rest
    assert np.abs(pushed - free).max() > 0.1


def test_a_scheduled_law_is_driven_from_python_by_its_rows() -> None:
    """A loop of one's own around Mazure's law: each call's row of the schedule gives the simulation's torques."""
    law, period = ch.control.TimeVaryingRegulator(ARM, integral_error=0.01, delay=0.5), 0.01
    run = ch.simulate(ARM.with_payload(1.0), law, MOTION, period=period)
    times = run.time.values
    rows, memory = law.schedule(times, MOTION(times)), None
    for k in range(len(times)):
        tau, memory = law.evaluate(
            run.q.values[k], run.qd.values[k], MOTION, t=times[k], memory=memory, period=period, schedule=rows[k]
        )
        np.testing.assert_allclose(tau, run.tau_demanded.values[k] if "tau_demanded" in run else run.tau.values[k])


def test_what_has_no_torque_at_one_state_says_so() -> None:
    with pytest.raises(ArgumentError, match="takes no measured_wrench"):
        ch.control.PD(ARM, kp=1.0, kd=1.0).evaluate([0.0, 0.0], [0.0, 0.0], MOTION, measured_wrench=np.zeros(6))
    law = ch.ComputedTorque(ARM, kp=100.0, kd=20.0)
    for q, qd, message in (([0.0], [0.0, 0.0], "q has shape"), ([0.0, np.nan], [0.0, 0.0], "q"), ([0, 0], [0], "qd")):
        with pytest.raises(ArgumentError, match=message):
            law.evaluate(q, qd, MOTION)
    with pytest.raises(ArgumentError, match="period"):
        law.evaluate([0.0, 0.0], [0.0, 0.0], MOTION, period=0.0)
    with pytest.raises(ArgumentError, match="computes a schedule along a whole motion"):
        ch.control.TimeVaryingRegulator(ARM).evaluate([0.0, 0.0], [0.0, 0.0], MOTION)
