from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.engine import Function, trace
from chasles.simulation.plant.motors import Motors

DATA = {"resistance": 1.2, "torque_constant": 0.05, "gear_ratio": 100.0}
numbers = st.floats(-50.0, 50.0)


def settled(motors: Motors, state: Any, speed: Any, command: Any, duration: float) -> np.ndarray:
    """Currents after some time at constant speed and command."""
    solution = solve_ivp(
        lambda _, i: motors.derivative(i, speed, command), (0.0, duration), state, rtol=1e-11, atol=1e-13
    )
    return np.asarray(solution.y[:, -1])


@given(st.floats(-8.0, 8.0), st.floats(-300.0, 300.0))
def test_the_line_of_speed_and_torque(speed: float, command: float) -> None:
    """At most (±u - ke N v) N kt / R, by the motor's data sheet; inside it, what is asked for."""
    motors = Motors(1, max_voltage=24.0, **DATA)
    lowest, highest = (100.0 * 0.05 * (u - 0.05 * 100.0 * speed) / 1.2 for u in (-24.0, 24.0))
    tau = motors.torque(np.zeros(0), np.array([speed]), np.array([command]))[0]
    assert tau == pytest.approx(min(max(command, lowest), highest), rel=1e-13, abs=1e-12)


@pytest.mark.parametrize("mode", ["torque", "voltage"])
def test_stall_torque_and_no_load_speed(mode: str) -> None:
    motors = Motors(1, max_voltage=24.0, mode=mode, **DATA)
    assert motors.torque(np.zeros(0), np.zeros(1), np.array([1e6]))[0] == pytest.approx(5.0 * 24.0 / 1.2)
    no_load = 24.0 / (0.05 * 100.0)
    assert motors.torque(np.zeros(0), np.array([no_load]), np.array([1e6]))[0] == pytest.approx(0.0, abs=1e-12)


def test_voltage_mode_loses_the_back_emf_unless_it_is_compensated() -> None:
    speed, command = np.array([2.0]), np.array([10.0])
    plain = Motors(1, mode="voltage", **DATA)
    helped = Motors(1, mode="voltage", compensate_back_emf=True, **DATA)
    assert plain.torque(np.zeros(0), speed, command)[0] == pytest.approx(10.0 - 5.0 * 5.0 * 2.0 / 1.2)
    assert helped.torque(np.zeros(0), speed, command)[0] == pytest.approx(10.0)


def test_the_current_follows_with_the_electrical_time_constant() -> None:
    motors = Motors(1, mode="voltage", inductance=0.6e-3, **DATA)
    final, constant = 10.0 / 5.0, 0.6e-3 / 1.2
    for t in (0.2 * constant, constant, 5.0 * constant):
        current = settled(motors, np.zeros(1), np.zeros(1), np.array([10.0]), t)
        assert current[0] == pytest.approx(final * (1.0 - np.exp(-t / constant)), rel=1e-9)
    assert motors.fastest_rate() == pytest.approx(1.0 / constant)


@pytest.mark.parametrize("inductance", [0.0, 1e-3])
def test_the_current_loop_follows_with_its_time_constant(inductance: float) -> None:
    motors = Motors(1, time_constant=2e-3, inductance=inductance, max_voltage=1e3, **DATA)
    current = settled(motors, np.zeros(1), np.array([1.0]), np.array([10.0]), 3e-3)
    assert current[0] == pytest.approx(2.0 * (1.0 - np.exp(-1.5)), rel=1e-9)
    assert motors.fastest_rate() == pytest.approx(500.0)


def test_the_current_loop_has_no_more_voltage_than_there_is() -> None:
    """Far from its goal the loop drives L di/dt = u_max - R i - ke N v, however short its time constant is."""
    motors = Motors(1, time_constant=1e-6, inductance=1e-3, max_voltage=24.0, **DATA)
    speed = np.array([1.0])
    rate = motors.derivative(np.array([3.0]), speed, np.array([1e3]))[0]
    assert rate == pytest.approx((24.0 - 1.2 * 3.0 - 5.0) / 1e-3)
    assert motors.voltage(np.array([3.0]), speed, np.array([1e3]))[0] == 24.0
    current = settled(motors, np.zeros(1), speed, np.array([1e3]), 20e-3)[0]
    assert current == pytest.approx((24.0 - 5.0) / 1.2, rel=1e-6)


def test_a_lag_without_inductance_keeps_within_the_line_too() -> None:
    motors = Motors(1, time_constant=1e-3, max_voltage=24.0, **DATA)
    tau = motors.torque(np.array([100.0]), np.array([2.4]), np.array([500.0]))
    assert tau[0] == pytest.approx(50.0)


def test_limits_of_torque_and_current() -> None:
    motors = Motors(2, max_torque=[8.0, np.inf], max_current=[np.inf, 0.5], **DATA)
    command = np.array([[100.0, 100.0], [-100.0, -100.0], [1.0, 1.0]])
    expected = [[8.0, 2.5], [-8.0, -2.5], [1.0, 1.0]]
    np.testing.assert_allclose(motors.torque(np.zeros((3, 0)), np.zeros((3, 2)), command), expected, rtol=1e-15)


@given(numbers, numbers, st.floats(-30.0, 30.0), st.sampled_from([-80.0, 0.5, 120.0]))
def test_electrical_power_is_mechanical_power_heat_and_magnetic_energy(
    speed: float, command: float, current: float, gear_ratio: float
) -> None:
    data = DATA | {"gear_ratio": gear_ratio, "inductance": 2e-3, "max_voltage": 24.0, "back_emf_constant": 0.06}
    for motors in (Motors(1, mode="voltage", **data), Motors(1, time_constant=1e-3, **data)):
        arguments = np.array([current]), np.array([speed]), np.array([command])
        mechanical = motors.torque(*arguments) * speed
        magnetic = 2e-3 * current * motors.derivative(*arguments)
        given = motors.electrical_power(*arguments)
        scale = abs(mechanical) + abs(magnetic) + abs(given) + 1.0
        assert abs(given - mechanical - motors.loss(*arguments) - magnetic) <= 1e-12 * scale
    assert motors.magnetic_energy(np.array([current]))[0] == pytest.approx(0.5 * 2e-3 * current**2)


@given(numbers, numbers)
def test_without_a_state_the_powers_balance_as_well(speed: float, command: float) -> None:
    motors = Motors(1, max_voltage=24.0, **DATA)
    arguments = np.zeros(0), np.array([speed]), np.array([command])
    given, lost = motors.electrical_power(*arguments)[0], motors.loss(*arguments)[0]
    assert lost >= 0.0
    assert given == pytest.approx(motors.torque(*arguments)[0] * speed + lost, rel=1e-12, abs=1e-9)


def test_motors_with_and_without_lag_stand_side_by_side() -> None:
    motors = Motors(2, mode="voltage", inductance=[0.0, 1e-3], **DATA)
    assert motors.state_size == 2
    state, speed, command = np.array([7.0, 7.0]), np.array([0.0, 0.0]), np.array([10.0, 10.0])
    np.testing.assert_allclose(motors.torque(state, speed, command), [10.0, 35.0], rtol=1e-14)
    np.testing.assert_allclose(motors.derivative(state, speed, command), [0.0, (2.4 - 8.4) / 1e-3], rtol=1e-13)


def test_the_drive_does_not_know_of_varied_numbers() -> None:
    """A torque constant that has fallen by 10 % gives 10 % less torque."""
    motors = Motors(1, **DATA)
    weak = {**motors.parameters, "torque_constant": np.array([0.045])}
    assert motors.torque(np.zeros(0), np.zeros(1), np.array([10.0]), weak)[0] == pytest.approx(9.0)
    hot = Motors(1, mode="voltage", **DATA)
    warm = {**hot.parameters, "resistance": np.array([2.4])}
    assert hot.torque(np.zeros(0), np.zeros(1), np.array([10.0]), warm)[0] == pytest.approx(5.0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "voltage"},
        {"mode": "voltage", "inductance": [1e-3, 0.0], "compensate_back_emf": True},
        {"time_constant": [1e-3, 0.0], "inductance": [1e-3, 2e-3]},
        {"time_constant": 1e-3},
    ],
)
def test_traced_numbers_agree_with_arrays(options: dict[str, Any]) -> None:
    motors = Motors(2, max_voltage=[24.0, 48.0], max_torque=[np.inf, 20.0], **DATA, **options)
    names = list(motors.parameters)

    def both(state: Any, speed: Any, command: Any, *values: Any) -> tuple[Any, Any]:
        own = dict(zip(names, values, strict=True))
        state = state[: motors.state_size]
        rate = motors.derivative(state, speed, command, own)
        return motors.torque(state, speed, command, own), np.concatenate([rate, [0.0, 0.0]])[:2]

    inputs = {"state": (2,), "speed": (2,), "command": (2,)}
    inputs |= {name: value.shape for name, value in motors.parameters.items()}
    compiled = Function(trace(both, inputs, name="motors"))
    rng = np.random.default_rng(1)
    state, speed, command = rng.normal(size=(3, 50, 2)) * np.array([5.0, 5.0, 60.0])[:, None, None]
    tau, rate = compiled(state, speed, command, *motors.parameters.values())
    own = state[:, : motors.state_size]
    np.testing.assert_allclose(tau, motors.torque(own, speed, command), rtol=1e-12, atol=1e-12)
    expected = motors.derivative(own, speed, command)
    np.testing.assert_allclose(rate[:, : motors.state_size], expected, rtol=1e-12, atol=1e-9)


def test_currents_at_the_start() -> None:
    motors = Motors(2, mode="voltage", inductance=1e-3, **DATA)
    np.testing.assert_array_equal(motors.initial_state(), np.zeros(2))
    np.testing.assert_allclose(motors.initial_state([10.0, -5.0]), [2.0, -1.0])
    assert Motors(2, **DATA).initial_state([10.0, -5.0]).shape == (0,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resistance": -1.0}, r"resistance\[0\] is -1.0; it must be at least 0"),
        ({"torque_constant": 0.0}, r"torque_constant\[0\] is 0.0; it must be positive"),
        ({"gear_ratio": 0.0}, "gear_ratio must not be zero"),
        ({"mode": "voltage"}, "resistance is zero"),
        ({"max_voltage": 24.0}, "resistance is zero"),
        ({"max_voltage": 0.0, "resistance": 1.0}, r"max_voltage\[0\] is 0.0; it must be positive"),
        ({"max_torque": np.nan}, r"max_torque\[0\] is nan; it must be a number"),
        ({"mode": "speed"}, "there is no mode of motors 'speed'"),
        ({"mode": "voltage", "resistance": 1.0, "time_constant": 1e-3}, "time_constant is of the current loop"),
        ({"compensate_back_emf": True}, "leave compensate_back_emf out"),
        ({"inductance": [1.0, 2.0, 3.0]}, r"inductance has shape \(3,\); expected \(2,\) or one number"),
    ],
)
def test_bad_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ch.ChaslesError, match=message):
        Motors(2, **options)


def test_the_fastest_rate_is_that_of_currents_which_take_time() -> None:
    """1/T of the shortest time constant, R/L of the smallest inductance; currents that follow at once have none."""
    torque = Motors(3, time_constant=[0.05, 0.0, 0.02], **DATA)
    assert torque.fastest_rate() == pytest.approx(1.0 / 0.02)
    voltage = Motors(3, mode="voltage", inductance=[0.0, 0.03, 0.06], **DATA)
    assert voltage.fastest_rate() == pytest.approx(1.2 / 0.03)
