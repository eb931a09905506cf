from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.engine import Function, trace
from chasles.simulation.plant.contacts import ContactPlane

FLOOR = {"point": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}
WALL = {"point": [1.0, 2.0, 3.0], "normal": [1.0, -2.0, 2.0]}
depths = st.floats(-0.05, 0.05)
velocities = st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6)


def pose(p: Any) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = p
    return T


@pytest.fixture(params=["spring-damper", "hunt-crossley"])
def law(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"law": request.param} | ({"exponent": 1.5} if request.param == "hunt-crossley" else {})


@given(depths, velocities)
@pytest.mark.parametrize("model", [{}, {"law": "hunt-crossley", "exponent": 1.5}])
def test_it_never_pulls_and_never_creates_energy(model: dict[str, Any], depth: float, twist: list[float]) -> None:
    normal = np.array(WALL["normal"]) / 3.0
    wall = ContactPlane(
        "wall", "tool", stiffness=1e4, damping=300.0, friction_coefficient=0.7, radius=0.02, **WALL, **model
    )
    T = pose(np.array(WALL["point"]) + (0.02 - depth) * normal)
    wrench = wall.wrench(T, np.array(twist))
    assert normal @ wrench[3:] >= 0.0
    if depth < -1e-12:
        assert not wrench.any()
    assert wall.loss(T, np.array(twist)) >= -1e-9


def test_power_is_stored_energy_and_loss(law: dict[str, Any]) -> None:
    """The rate of the stored energy, by central differences of the depth along the motion."""
    floor = ContactPlane("floor", "tool", stiffness=1e4, damping=50.0, friction_coefficient=0.4, **FLOOR, **law)
    twist, height, h = np.array([0.3, -0.2, 0.5, 0.4, -0.3, -0.1]), -0.004, 1e-7
    rate = (
        floor.elastic_energy(pose([0, 0, height + h * twist[5]]))
        - floor.elastic_energy(pose([0, 0, height - h * twist[5]]))
    ) / (2.0 * h)
    given_power = -(floor.wrench(pose([0, 0, height]), twist) @ twist)
    assert given_power == pytest.approx(rate + floor.loss(pose([0, 0, height]), twist), rel=1e-7)


def test_rest_on_a_spring_in_closed_form() -> None:
    """A mass m on the floor rests at m g / k below it."""
    floor = ContactPlane("floor", "ball", stiffness=2e3, damping=80.0, radius=0.1, **FLOOR)
    m, g = 3.0, 9.81

    def rate(_: float, x: np.ndarray) -> list[float]:
        force = floor.wrench(pose([0, 0, x[0]]), np.array([0, 0, 0, 0, 0, x[1]]))[5]
        return [x[1], force / m - g]

    x = solve_ivp(rate, (0.0, 4.0), [0.3, 0.0], rtol=1e-9, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(x, [0.1 - m * g / 2e3, 0.0], atol=1e-7)


def test_a_bounce_without_damping_comes_back_up(law: dict[str, Any]) -> None:
    floor = ContactPlane("floor", "ball", stiffness=1e4, **FLOOR, **law)
    times, speeds = bounce(floor, -1.5)
    assert speeds[-1] == pytest.approx(1.5, rel=1e-8)
    if law["law"] == "spring-damper":  # half a swing of the mass of 1 kg on the spring
        assert times[-1] == pytest.approx(np.pi / np.sqrt(1e4), rel=1e-6)


def test_restitution_of_hunt_and_crossley_falls_with_speed() -> None:
    """For small damping e = 1 - (2/3) (d/k) v, Hunt and Crossley 1975."""
    floor = ContactPlane("floor", "ball", stiffness=1e5, damping=2e3, exponent=1.5, law="hunt-crossley", **FLOOR)
    for speed in (0.1, 0.2):
        _, speeds = bounce(floor, -speed)
        alpha = 2e3 / 1e5
        assert speeds[-1] / speed == pytest.approx(1.0 - 2.0 / 3.0 * alpha * speed, abs=(alpha * speed) ** 2)


def test_the_spring_damper_lets_go_before_it_would_pull() -> None:
    """The damped half swing ends where k δ + d δ̇ = 0, at atan-phase of the swing, not where δ = 0."""
    floor = ContactPlane("floor", "ball", stiffness=1e4, damping=40.0, **FLOOR)
    rate, frequency = 20.0, np.sqrt(1e4 - 20.0**2)  # of a mass of 1 kg
    release = (np.pi - np.arctan2(frequency * 2.0 * rate, 1e4 - 2.0 * rate**2)) / frequency
    swing = -np.exp(-rate * release) * (np.cos(frequency * release) - rate / frequency * np.sin(frequency * release))
    _, speeds = bounce(floor, -1.0)
    assert speeds[-1] == pytest.approx(swing, rel=1e-6)


def bounce(floor: ContactPlane, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and velocities of a mass of 1 kg that strikes the floor, until it leaves."""

    def rate(_: float, x: np.ndarray) -> list[float]:
        return [x[1], float(floor.wrench(pose([0, 0, x[0]]), np.array([0, 0, 0, 0, 0, x[1]]))[5])]

    def leaves(t: float, x: np.ndarray) -> float:
        return float(x[0]) if t > 1e-6 else -1.0

    leaves.terminal, leaves.direction = True, 1.0  # type: ignore[attr-defined]
    solution = solve_ivp(
        rate, (0.0, 1.0), [0.0, speed], events=leaves, method="DOP853", rtol=1e-11, atol=1e-14, max_step=1e-4
    )
    return solution.t, solution.y[1]


def test_friction_is_coulombs_above_the_slip_velocity_and_opposes_sliding() -> None:
    floor = ContactPlane(
        "floor", "tool", stiffness=1e4, friction_coefficient=0.5, slip_velocity=1e-3, radius=0.05, **FLOOR
    )
    T = pose([0.3, 0.2, 0.05 - 2e-3])
    wrench = floor.wrench(T, np.array([0, 0, 0, 3.0, 4.0, 0]))
    np.testing.assert_allclose(wrench[3:], [-0.5 * 20 * 0.6, -0.5 * 20 * 0.8, 20.0], rtol=1e-6)
    np.testing.assert_allclose(wrench[:3], np.cross([0, 0, -0.05], wrench[3:]), rtol=1e-12)
    rolling = floor.wrench(T, np.array([0, 3.0 / 0.05, 0, 3.0, 0, 0]))  # the lowest point is at rest
    np.testing.assert_allclose(rolling, [0, 0, 0, 0, 0, 20.0], atol=1e-12)


def test_gap_and_the_length_of_the_normal() -> None:
    short = ContactPlane("a", "tool", stiffness=1e3, radius=0.1, **WALL)
    long = ContactPlane("a", "tool", stiffness=1e3, radius=0.1, point=WALL["point"], normal=[10.0, -20.0, 20.0])
    T = pose([2.0, 2.0, 3.0])
    assert short.gap(T) == pytest.approx(1.0 / 3.0 - 0.1)
    assert long.gap(T) == pytest.approx(short.gap(T), rel=1e-14)


def test_traced_numbers_agree_with_floats(law: dict[str, Any]) -> None:
    wall = ContactPlane(
        "wall", "tool", stiffness=1e4, damping=50.0, friction_coefficient=0.4, radius=0.01, **WALL, **law
    )
    names = list(wall.parameters)

    def wrench(p: Any, twist: Any, *values: Any) -> Any:
        T = np.array([[1, 0, 0, p[0]], [0, 1, 0, p[1]], [0, 0, 1, p[2]], [0, 0, 0, 1]])
        return wall.wrench(T, twist, dict(zip(names, values, strict=True)))

    inputs = {"p": (3,), "twist": (6,)} | {name: value.shape for name, value in wall.parameters.items()}
    compiled = Function(trace(wrench, inputs, name="contact"))
    slopes = compiled.jacobian(wrt="p")
    rng = np.random.default_rng(2)
    for _ in range(20):
        p, twist = WALL["point"] + rng.normal(size=3) * 0.02, rng.normal(size=6)
        values = [np.asarray(value) for value in wall.parameters.values()]
        np.testing.assert_allclose(compiled(p, twist, *values), wall.wrench(pose(p), twist), rtol=1e-11, atol=1e-10)
        assert np.isfinite(slopes(p, twist, *values)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normal": [0.0, 0.0, 0.0]}, "normal is zero"),
        ({"normal": [0.0, 1.0]}, r"normal has shape \(2,\); expected \(3,\)"),
        ({"point": [np.nan, 0.0, 0.0]}, r"point\[0\] is nan; it must be finite"),
        ({"stiffness": -1.0}, "stiffness is -1.0; it must be at least 0"),
        ({"slip_velocity": 0.0}, "slip_velocity is 0.0; it must be positive"),
        ({"exponent": 1.5}, "exponent is 1.5, but the law 'spring-damper' is linear"),
        ({"exponent": 0.5, "law": "hunt-crossley"}, "exponent is 0.5; it must be at least 1"),
        ({"law": "glue"}, "there is no law of contact 'glue'"),
        ({"name": ""}, "the name of a contact must be text"),
        ({"frame": 3}, "the frame of a contact must be text"),
    ],
)
def test_bad_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ch.ChaslesError, match=message):
        ContactPlane(**({"name": "floor", "frame": "tool", "stiffness": 1e4, **FLOOR} | options))
