"""Gains found by gradients: against optima in closed form and on a grid, with margins, bounds and lost runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import PD, LinearQuadraticRegulator
from chasles.control.loop_margins import loop_margins
from chasles.model import Description, Inertia, Joint, Limits, Link

ROD = {"a": 1.0, "mass": 1.0, "center_of_mass": [0.0, 0.0, 0.0], "inertia": np.zeros((3, 3))}


def mass() -> tuple[ch.Robot, ch.PointToPoint]:
    """A point mass, 1 kg m^2 about its joint without gravity, and rest at 0."""
    return ch.Robot.from_dh([ROD], gravity=[0.0, 0.0, 0.0]), ch.PointToPoint([0.0], [0.0], duration=8.0)


def square(now: Any) -> Any:
    return now.error @ now.error


def test_the_damping_of_least_squared_error_of_a_mass_on_a_spring() -> None:
    """From q = 1, q" + d q' + k q = 0 has a squared error of (d / k + 1 / d) / 2 in all, least at d = sqrt k."""
    robot, rest = mass()
    law = PD(robot, kp=4.0, kd=0.9)
    found = ch.tune(robot, law, rest, by=["kd"], start=[1.0], period=0.002, starts=1)
    assert found.values["kd"][0] == pytest.approx(2.0, rel=2e-3)
    assert found.after * 8.0 == pytest.approx(0.5 * (2.0 / 4.0 + 1.0 / 2.0), rel=2e-3)
    assert found.held_out is None
    assert found.active == ()


def test_drawn_plants_share_their_gains_and_others_judge() -> None:
    """The best damping of drawn inertias minimises the mean of (d/k + m/d) / 2: sqrt(k mean m)."""
    robot, rest = mass()
    inertias = np.random.default_rng(0).uniform(0.5, 2.0, 40)
    law = PD(robot, kp=4.0, kd=1.0)
    drawn = {"joints.joint1.motor_inertia": inertias}
    name = next(name for name in robot.parameters if name.endswith("motor_inertia"))
    found = ch.tune(robot, law, rest, by=["kd"], over={name: drawn.popitem()[1]}, start=[1.0], period=0.004, starts=2)
    assert found.values["kd"][0] == pytest.approx(np.sqrt(4.0 * (1.0 + inertias[:30]).mean()), rel=0.01)
    judged = found.held_out
    assert judged is not None
    assert judged.runs == 10
    assert judged.after < judged.before
    assert judged.change[0] + judged.change[1] < 0.0
    assert "held out, 10 runs" in str(found)


def test_the_geometric_mean_counts_each_draw_by_its_factor() -> None:
    """The best damping of drawn inertias minimises the mean of log(d/k + m/d): sum (d^2 - k m) / (d^2 + k m) = 0."""
    robot, _ = mass()
    name = next(name for name in robot.parameters if name.endswith("motor_inertia"))
    inertias = np.array([0.0, 0.1, 8.0])
    wanted = brentq(lambda d: float(((d * d - 4.0 * (1.0 + inertias)) / (d * d + 4.0 * (1.0 + inertias))).sum()), 1, 20)
    law = PD(robot, kp=4.0, kd=1.5)
    long = ch.PointToPoint([0.0], [0.0], duration=30.0)
    setup: dict[str, Any] = {"by": ["kd"], "over": {name: inertias}, "start": [1.0], "period": 0.005, "starts": 1}
    found = ch.tune(robot, law, long, exponent=0.0, **setup)
    assert found.values["kd"][0] == pytest.approx(wanted, rel=0.01)
    with pytest.raises(ArgumentError, match=r"positive losses, but the loss of a run is -1; use 1"):
        ch.tune(robot, law, long, lambda now: 0.0 * now.t - 1.0, exponent=0.0, **setup)


def test_weights_of_a_regulator_become_those_of_the_loss() -> None:
    """Among all gains those of the quadratic loss itself are optimal, from whatever start."""
    robot, rest = mass()
    Q, R = np.array([16.0, 1.0]), 0.25
    law = LinearQuadraticRegulator(robot, Q=[4.0, 4.0], R=1.0, period=0.02)

    def quadratic(now: Any) -> Any:
        return Q[0] * (now.error @ now.error) + Q[1] * (now.qd @ now.qd) + R * (now.tau @ now.tau)

    found = ch.tune(robot, law, rest, quadratic, by=["Q"], start=[1.0], period=0.02, starts=1)
    best = LinearQuadraticRegulator(robot, Q=Q, R=R, period=0.02)
    np.testing.assert_allclose(found.law.K, best.K, rtol=5e-3)
    np.testing.assert_allclose(found.values["Q"], Q / R, rtol=0.02)
    assert set(ch.tune(robot, law, rest, start=[1.0], period=0.02, starts=1, iterations=1).values) == {"Q", "R"}
    with pytest.raises(ArgumentError, match="give K, or Q and R"):
        ch.tune(robot, law, rest, by=["K", "Q"], start=[1.0], period=0.02)


def test_a_loss_below_zero_is_minimised() -> None:
    robot, rest = mass()
    law = PD(robot, kp=4.0, kd=0.9)
    setup: dict[str, Any] = {"by": ["kd"], "start": [1.0], "period": 0.004, "starts": 1}
    found = ch.tune(robot, law, rest, lambda now: square(now) - 1.0, **setup)
    assert found.values["kd"][0] == pytest.approx(2.0, rel=5e-3)


def test_bounds_stop_the_search_and_are_named() -> None:
    robot, rest = mass()
    found = ch.tune(
        robot,
        PD(robot, kp=4.0, kd=1.0),
        rest,
        by=["kd"],
        bounds={"kd": (0.5, 1.5)},
        start=[1.0],
        period=0.004,
        starts=1,
    )
    assert found.values["kd"][0] == pytest.approx(1.5)
    assert found.active == ("kd[0] at its upper bound",)


def test_a_start_at_which_some_runs_are_lost() -> None:
    """At 50 Hz the damping is unstable where the inertia is below kd T / 2; the search leaves it."""
    robot, rest = mass()
    name = next(name for name in robot.parameters if name.endswith("motor_inertia"))
    inertias = {name: np.linspace(0.0, 60.0, 12)}
    law = PD(robot, kp=4.0, kd=110.0)
    found = ch.tune(robot, law, rest, by=["kd"], over=inertias, start=[1.0], period=0.02, starts=1)
    assert found.values["kd"][0] < 100.0
    assert found.after < found.before
    assert found.held_out is not None
    assert found.held_out.lost == 0


@pytest.mark.slow
def test_a_margin_is_kept() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    law = ch.ComputedTorque(arm, kp=100.0, kd=20.0)
    setup: dict[str, Any] = {"period": 0.01, "over": {"payload.mass": [0.0, 0.5, 1.0]}, "starts": 1, "iterations": 12}
    free, kept = ch.tune(arm, law, motion, **setup), ch.tune(arm, law, motion, margin=0.6, **setup)
    at = [float(loop_margins(arm, f.law, motion, period=0.01, velocity="measured").disk.min()) for f in (free, kept)]
    assert at[0] < 0.58 < at[1]
    assert kept.margin is not None
    assert kept.margin >= 0.6
    assert free.after < kept.after < kept.before
    with pytest.raises(ArgumentError, match=r"disk margin of .* less than the 1\.9 asked for"):
        ch.tune(arm, law, motion, margin=1.9, **setup)


def test_torques_stay_near_their_share() -> None:
    _, rest = mass()
    bob, joint = (
        Link("bob", Inertia(1.0, [1.0, 0.0, 0.0])),
        Joint("joint1", "continuous", "base", "bob", limits=Limits(effort=10.0)),
    )
    limited = ch.Robot(Description("mass", (Link("base"), bob), (joint,), gravity=[0.0, 0.0, 0.0]))
    law = PD(limited, kp=2.0, kd=2.0)
    setup: dict[str, Any] = {"by": ["kp", "kd"], "start": [1.0], "period": 0.004, "starts": 1}
    free = ch.tune(limited, law, rest, **setup)
    kept = ch.tune(limited, law, rest, torque=0.5, **setup)
    assert free.values["kp"][0] > 9.0
    assert 4.0 < kept.values["kp"][0] < 6.0  # the torque at the start, of which 5 N m are free


def test_what_cannot_be_tuned_is_refused() -> None:
    robot, rest = mass()
    law = PD(robot, kp=4.0, kd=0.0)
    with pytest.raises(UnknownNameError, match="kq"):
        ch.tune(robot, law, rest, by=["kq"])
    with pytest.raises(ArgumentError, match=r"'kd' is \[0\.0\]; give bounds="):
        ch.tune(robot, law, rest, by=["kd"])
    with pytest.raises(ArgumentError, match="two positive numbers, the lower first"):
        ch.tune(robot, law, rest, by=["kd"], bounds={"kd": (2.0, 1.0)})
    with pytest.raises(UnknownNameError, match="gain with bounds"):
        ch.tune(robot, law, rest, by=["kp"], bounds={"kd": (2.0, 3.0)})
    with pytest.raises(ArgumentError, match="as many draws"):
        ch.tune(robot, law, rest, by=["kp"], over={"payload.mass": [1.0, 2.0], "gravity": np.zeros((3, 3))})
    with pytest.raises(ArgumentError, match="list of names"):
        ch.tune(robot, law, rest, by="kp")
