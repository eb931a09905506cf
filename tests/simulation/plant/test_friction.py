from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chasles as ch
from chasles.engine import Function, trace
from chasles.simulation.plant.friction import Friction

sizes = st.floats(0.0, 10.0)
speeds = st.floats(-20.0, 20.0)


def curve(v: float, Fc: float, Fs: float, vs: float, exponent: float, Fv: float) -> float:
    """The Stribeck curve, written out anew in plain Python's arithmetic."""
    return float((Fc + (Fs - Fc) * 2.718281828459045 ** (-((abs(v) / vs) ** exponent))) * np.sign(v) + Fv * v)


@given(speeds, sizes, sizes, st.floats(0.01, 1.0), st.floats(0.5, 4.0), sizes)
def test_the_curve(v: float, Fc: float, excess: float, vs: float, exponent: float, Fv: float) -> None:
    friction = Friction(
        1, coulomb=Fc, breakaway=Fc + excess, stribeck_velocity=vs, stribeck_exponent=exponent, viscous=Fv
    )
    expected = curve(v, Fc, Fc + excess, vs, exponent, Fv)
    assert friction.torque(np.zeros(1), np.array([v]))[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_from_breakaway_over_coulomb_to_viscous() -> None:
    friction = Friction(1, coulomb=2.0, breakaway=5.0, viscous=0.1, stribeck_velocity=0.05)
    at = {v: friction.torque(np.zeros(1), np.array([v]))[0] for v in (1e-9, 1.0, 100.0)}
    assert at[1e-9] == pytest.approx(5.0, abs=1e-8)
    assert at[1.0] == pytest.approx(2.1, abs=1e-12)
    assert at[100.0] == pytest.approx(12.0, abs=1e-12)


@given(
    st.floats(-10.0, 10.0),
    speeds,
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    st.sampled_from([0.0, 1e-6, 0.01, 1.0]),
    st.floats(-3.0, 3.0),
)
def test_friction_never_creates_energy(q: float, v: float, shares: list[float], smoothing: float, phase: float) -> None:
    amplitude = np.array(shares) / max(1.0, 1.000001 * sum(map(abs, shares)))
    friction = Friction(
        1,
        coulomb=2.0,
        breakaway=3.0,
        viscous=0.2,
        smoothing_velocity=smoothing,
        position_amplitude=amplitude[None, :],
        position_harmonic=[1.0, 2.0, 7.0],
        position_phase=phase,
    )
    tau = friction.torque(np.array([q]), np.array([v]))
    assert tau[0] * v >= 0.0
    assert friction.torque(np.array([q]), np.array([-v]))[0] == -tau[0]  # it opposes both directions alike


def test_the_dry_part_follows_the_position_with_its_harmonics() -> None:
    friction = Friction(
        2, coulomb=[2.0, 1.0], viscous=0.5, position_amplitude=[[0.2, 0.1], [0.0, 0.3]], position_phase=0.3
    )
    q, qd = np.array([0.4, -1.1]), np.array([3.0, -2.0])
    first = 2.0 * (1.0 + 0.2 * np.sin(0.4 + 0.3) + 0.1 * np.sin(0.8 + 0.3)) + 1.5
    second = -1.0 * (1.0 + 0.3 * np.sin(-2.2 + 0.3)) - 1.0
    np.testing.assert_allclose(friction.torque(q, qd), [first, second], rtol=1e-14)


def test_one_harmonic_for_each_joint() -> None:
    friction = Friction(2, coulomb=1.0, position_amplitude=[0.5, 0.25], position_harmonic=[3.0, 50.0])
    q = np.array([0.2, 0.7])
    expected = 1.0 + np.array([0.5, 0.25]) * np.sin(np.array([3.0, 50.0]) * q)
    np.testing.assert_allclose(friction.torque(q, np.ones(2)), expected, rtol=1e-15)


def test_smoothing_is_a_tangent_at_rest_and_leaves_high_speeds_alone() -> None:
    smooth = Friction(1, coulomb=2.0, smoothing_velocity=0.01)
    assert smooth.torque(np.zeros(1), np.zeros(1))[0] == 0.0
    assert smooth.torque(np.zeros(1), np.array([1e-7]))[0] == pytest.approx(2.0 * 1e-7 / 0.01, rel=1e-6)
    assert smooth.torque(np.zeros(1), np.array([1.0]))[0] == 2.0


def test_batches_and_traced_numbers_agree() -> None:
    friction = Friction(
        3, coulomb=[1.0, 2.0, 0.0], breakaway=[2.0, 2.5, 0.5], viscous=0.1, position_amplitude=0.3, position_phase=0.2
    )
    names = list(friction.parameters)

    def torque(q: Any, qd: Any, *values: Any) -> Any:
        return friction.torque(q, qd, dict(zip(names, values, strict=True)))

    inputs = {"q": (3,), "qd": (3,)} | {name: value.shape for name, value in friction.parameters.items()}
    compiled = Function(trace(torque, inputs, name="friction"))
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=(2, 4, 5, 3))
    qd[0, 0] = 0.0
    expected = friction.torque(q, qd)
    assert expected.shape == (4, 5, 3)
    np.testing.assert_allclose(compiled(q, qd, *friction.parameters.values()), expected, rtol=1e-13, atol=1e-15)
    smooth = {**friction.parameters, "smoothing_velocity": np.array([0.0, 0.1, 1.0])}
    np.testing.assert_allclose(compiled(q, qd, *smooth.values()), friction.torque(q, qd, smooth), rtol=1e-13)


def test_a_joint_coasts_to_rest_and_loses_exactly_its_energy() -> None:
    """One inertia J under Coulomb friction stops after J v / Fc and J v² / (2 Fc)."""
    friction, inertia, v = Friction(1, coulomb=2.0), 0.5, 4.0
    steps = 20_000
    h = inertia * v / 2.0 / steps
    q, speed, lost = 0.0, v, 0.0
    for _ in range(steps):
        tau = friction.torque(np.array([q]), np.array([speed]))[0]
        middle = speed - 0.5 * h * tau / inertia
        q, lost, speed = q + h * middle, lost + h * tau * middle, speed - h * tau / inertia
    assert speed == pytest.approx(0.0, abs=1e-9)
    assert q == pytest.approx(inertia * v**2 / 4.0, rel=1e-9)
    assert lost == pytest.approx(0.5 * inertia * v**2, rel=1e-9)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"coulomb": -1.0}, r"coulomb\[0\] is -1.0; it must be at least 0"),
        ({"viscous": [1.0, np.nan]}, r"viscous\[1\] is nan; it must be finite"),
        ({"viscous": [1.0, 2.0, 3.0]}, r"viscous has shape \(3,\); expected \(2,\) or one number"),
        ({"coulomb": 2.0, "breakaway": 1.0}, "breakaway must be at least coulomb"),
        ({"stribeck_velocity": 0.0}, r"stribeck_velocity\[0\] is 0.0; it must be positive"),
        ({"position_amplitude": [[0.6, 0.5], [0.0, 0.0]]}, "sum to at most 1"),
        ({"position_amplitude": [[0.1], [0.1], [0.1]]}, r"position_amplitude has shape \(3, 1\); expected \(2, 1\)"),
        ({"smoothing_velocity": np.inf}, r"smoothing_velocity\[0\] is inf; it must be finite"),
        ({"coulomb": "much"}, "coulomb must be"),
    ],
)
def test_bad_numbers(numbers: dict[str, Any], message: str) -> None:
    with pytest.raises(ch.ChaslesError, match=message):
        Friction(2, **numbers)


@pytest.mark.parametrize("robot", [0, -1, True, 2.0, "arm", None])
def test_bad_robots(robot: Any) -> None:
    with pytest.raises(ch.ChaslesError, match="robot must be a Robot or a number of joints"):
        Friction(robot)


def test_it_is_frozen_and_pickles() -> None:
    friction = Friction(ch.load("planar2r"), coulomb=1.0)
    with pytest.raises(ValueError, match="read-only"):
        friction.parameters["coulomb"][0] = 2.0
    again = pickle.loads(pickle.dumps(friction))
    assert repr(again) == repr(friction)
    assert "coulomb=[1.0, 1.0]" in repr(friction)
