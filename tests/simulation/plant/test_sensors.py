"""Sensors: statistics of noise, seeds, quantisation, delay, velocities by differentiation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.model import Description, Inertia, Joint, Link
from chasles.simulation import UncompiledWarning, call_inputs

PERIOD = 0.01
STAY = ch.PointToPoint([0.0, 0.0], [0.0, 0.0], 1.0)
NOISE = np.array([1e-3, 5e-3])


def sliders() -> ch.Robot:
    """Two carts on crossed rails: without forces each keeps its speed."""
    joints = (
        Joint("x", "prismatic", "base", "carriage", axis=[1.0, 0.0, 0.0]),
        Joint("y", "prismatic", "carriage", "cart", axis=[0.0, 1.0, 0.0]),
    )
    links = (Link("base"), Link("carriage", Inertia(mass=1.0)), Link("cart", Inertia(mass=2.0)))
    return ch.Robot(Description("sliders", links=links, joints=joints))


ROBOT = sliders()
HOLD = ch.PDGravity(ROBOT, kp=50.0, kd=10.0)


def free(now: ch.control.Now) -> Any:
    return 0.0 * now.q


def measured(sensors: ch.Sensors, law: Any = free, **options: Any) -> Any:
    return ch.simulate(ch.Plant(ROBOT, sensors=sensors), law, STAY, **{"period": PERIOD, **options})


def test_noise_is_normal_and_independent() -> None:
    sensors = ch.Sensors(ROBOT, position_noise=NOISE, velocity_noise=10.0 * NOISE, seed=7)
    count = 20_000
    run = measured(sensors, duration=count * PERIOD)
    noise = np.concatenate([run.q_measured - run.q, (run.qd_measured - run.qd) / 10.0], axis=-1) / np.tile(NOISE, 2)
    bound = 4.5 / np.sqrt(noise.shape[0])  # 4.5 standard deviations of the mean
    assert np.abs(noise.mean(axis=0)).max() < bound
    assert np.abs(noise.var(axis=0) - 1.0).max() < bound * np.sqrt(2.0)
    assert np.abs((noise**4).mean(axis=0) - 3.0).max() < bound * np.sqrt(96.0)
    correlation = np.corrcoef(np.concatenate([noise[1:], noise[:-1]], axis=-1).T) - np.eye(8)
    assert np.abs(correlation).max() < bound


def test_the_controller_sees_what_was_measured_and_the_plant_goes_its_way() -> None:
    run = measured(ch.Sensors(ROBOT, position_noise=NOISE, velocity_noise=NOISE), HOLD)
    wanted = -50.0 * run.q_measured.values - 10.0 * run.qd_measured.values
    np.testing.assert_allclose(run.tau, wanted, atol=1e-12)
    assert float(np.abs(run.q_measured - run.q).min()) > 0.0


def test_seeds_make_runs_reproducible_and_independent() -> None:
    sensors = ch.Sensors(ROBOT, position_noise=NOISE, velocity_noise=NOISE, seed=3)
    one, again = measured(sensors, HOLD), measured(sensors, HOLD)
    np.testing.assert_array_equal(one.q, again.q)
    seeds = np.array([[3, 4, 5], [6, 7, 3]])
    batch = measured(sensors, HOLD, vary={"sensors.seed": seeds})
    assert batch.q.dims == ("run_0", "run_1", "time", "joint")
    np.testing.assert_array_equal(batch["sensors.seed"], seeds)
    np.testing.assert_array_equal(batch.q[0, 0], one.q)
    np.testing.assert_array_equal(batch.q[1, 2], one.q)
    other = measured(ch.Sensors(ROBOT, position_noise=NOISE, velocity_noise=NOISE, seed=6), HOLD)
    np.testing.assert_array_equal(batch.q[1, 0], other.q)
    noise = (batch.q_measured - batch.q).values.reshape(6, -1)[[0, 1, 2, 3, 4]]
    assert np.abs(np.corrcoef(noise) - np.eye(5)).max() < 5.0 / np.sqrt(noise.shape[1])


def test_without_a_varied_seed_all_runs_of_a_batch_have_the_same_noise() -> None:
    sensors = ch.Sensors(ROBOT, position_noise=NOISE)
    run = measured(sensors, vary={"payload.mass": [0.0, 1.0]})
    np.testing.assert_allclose(run.q_measured[0], run.q_measured[1], atol=1e-15)


@pytest.mark.parametrize("held", [1, 37, 4_000_000])
def test_noise_does_not_depend_on_how_it_is_handed_over(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sensors = ch.Sensors(ROBOT, position_noise=NOISE, velocity_noise=NOISE)
    vary = {"sensors.seed": [1, 2, 3]}
    whole = measured(sensors, HOLD, vary=vary)
    monkeypatch.setattr(call_inputs, "_HELD", held)
    for every, progress in ((4, None), (2, True)):
        parts = measured(sensors, HOLD, vary=vary, record=ch.Recording(every=every), progress=progress)
        np.testing.assert_array_equal(parts.q, whole.q[:, ::every])


def test_step_by_step_gives_the_same() -> None:
    def plain(now: ch.control.Now) -> Any:
        float(now.t)
        return -50.0 * now.q - 10.0 * now.qd

    sensors = ch.Sensors(ROBOT, position_noise=NOISE, velocity="differentiated", filter_time=0.02, delay=2 * PERIOD)
    options: dict[str, Any] = {"vary": {"sensors.seed": [1, 2]}, "start": [0.1, 0.0]}
    with pytest.warns(UncompiledWarning):
        slow = measured(sensors, plain, **options)
    fast = measured(sensors, HOLD, **options)
    for name in ("q", "q_measured", "qd_measured"):
        np.testing.assert_allclose(slow[name], fast[name], atol=1e-11)


def test_encoders_round_to_whole_steps() -> None:
    step = np.array([1e-2, 3e-3])
    run = measured(
        ch.Sensors(ROBOT, position_resolution=step, velocity_resolution=0.3),
        start=ch.State([0.02, -0.01], [0.37, -0.21]),
    )
    steps = run.q_measured.values / step
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert np.all(np.abs(run.q_measured - run.q) <= step / 2.0 + 1e-12)
    assert np.ptp(run.q_measured.values[:, 0]) > 0.3
    np.testing.assert_allclose(run.qd_measured, np.tile([0.3, -0.3], (101, 1)), atol=1e-12)


@pytest.mark.parametrize("velocity", ["measured", "differentiated"])
def test_readings_arrive_late_by_whole_periods(velocity: Any) -> None:
    late = 3
    run = measured(
        ch.Sensors(ROBOT, delay=late * PERIOD, velocity=velocity), HOLD, start=ch.State([0.1, 0.2], [1.0, -1.0])
    )
    np.testing.assert_allclose(run.q_measured[late:], run.q[:-late], atol=1e-15)
    if velocity == "measured":
        np.testing.assert_allclose(run.qd_measured[late:], run.qd[:-late], atol=1e-15)
    backwards = np.array([0.1, 0.2]) - PERIOD * np.arange(late, 0, -1)[:, None] * [1.0, -1.0]
    np.testing.assert_allclose(run.q_measured[:late], backwards, atol=1e-15)
    np.testing.assert_allclose(run.qd_measured[:late], np.tile([1.0, -1.0], (late, 1)), atol=1e-12)


def test_differentiated_velocities_are_differences() -> None:
    run = measured(
        ch.Sensors(ROBOT, velocity="differentiated", position_noise=NOISE), HOLD, start=ch.State(qd=[1.0, -1.0])
    )
    differences = np.diff(run.q_measured.values, axis=0) / PERIOD
    np.testing.assert_allclose(run.qd_measured[1:], differences, atol=1e-10)


def test_the_filter_is_of_first_order() -> None:
    """The velocity jumps by a kick of 1 N s: what is seen of it rises as 1 - (T_f / (T + T_f))^k."""
    time = 0.05

    def kick(now: ch.control.Now) -> Any:
        from chasles.engine import where

        return np.array([1.0, 1.0]) * where(now.t < 0.5 * PERIOD, 1.0 / PERIOD, 0.0)

    run = measured(ch.Sensors(ROBOT, velocity="differentiated", filter_time=time), kick)
    final = run.qd.values[-1]
    k = np.arange(run.sizes["time"])
    share = PERIOD / (PERIOD + time)
    # The first difference sees half of the jump, as the cart moves half as far while it is pushed.
    expected = np.zeros(k.size)
    for i in k[1:]:
        expected[i] = expected[i - 1] + share * ((0.5 if i == 1 else 1.0) - expected[i - 1])
    np.testing.assert_allclose(run.qd_measured, expected[:, None] * final, atol=1e-11)


def test_sensors_on_the_side_of_the_motor() -> None:
    joints = ch.ElasticJoints(ROBOT, stiffness=[100.0, 200.0], rotor_inertia=[0.5, 1.0], damping=1.0)
    options: dict[str, Any] = {"start": [0.1, -0.1]}
    for side, names in (("motor", ("motor_position", "motor_velocity")), ("link", ("q", "qd"))):
        plant = ch.Plant(ROBOT, elastic_joints=joints, sensors=ch.Sensors(ROBOT, side=side))
        run = ch.simulate(plant, HOLD, STAY, **options)
        np.testing.assert_array_equal(run.q_measured, run[names[0]])
        np.testing.assert_array_equal(run.qd_measured, run[names[1]])
        assert float(np.abs(run.motor_position - run.q).max()) > 1e-3
    with pytest.raises(ArgumentError, match="sensors with side='motor' need elastic_joints"):
        ch.Plant(ROBOT, sensors=ch.Sensors(ROBOT, side="motor"))


def test_numbers_of_sensors_vary() -> None:
    sensors = ch.Sensors(ROBOT)
    vary = {"sensors.position_noise": [[0.0], [1e-3]], "sensors.position_resolution": [[0.01], [0.0]]}
    run = measured(sensors, HOLD, vary=vary, start=[0.1, 0.2])
    rounded = measured(ch.Sensors(ROBOT, position_resolution=0.01), HOLD, start=[0.1, 0.2])
    noisy = measured(ch.Sensors(ROBOT, position_noise=1e-3), HOLD, start=[0.1, 0.2])
    np.testing.assert_allclose(run.q[0], rounded.q, atol=1e-12)
    np.testing.assert_allclose(run.q[1], noisy.q, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"position_noise": -1.0}, ArgumentError, r"position_noise\[0\] is -1.0; it must be at least 0"),
        ({"position_resolution": [1.0, 2.0, 3.0]}, ArgumentError, r"position_resolution has shape \(3,\); expected"),
        ({"velocity": "guessed"}, UnknownNameError, "kind of velocity 'guessed'"),
        ({"side": "left"}, UnknownNameError, "side of a joint 'left'"),
        ({"filter_time": 0.1}, ArgumentError, "filter_time is for velocity='differentiated'"),
        ({"velocity": "differentiated", "velocity_noise": 0.1}, ArgumentError, "are for velocity='measured'"),
        ({"seed": -1}, ArgumentError, "seed of sensors is -1.0; it must be at least 0"),
        ({"seed": 0.5}, ArgumentError, "seed of sensors is 0.5; it must be a whole number"),
        ({"delay": np.inf}, ArgumentError, "delay is inf; it must be finite"),
    ],
)
def test_bad_sensors_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ch.Sensors(ROBOT, **arguments)


def test_what_does_not_fit_the_simulation_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"is not a whole number of periods of 0\.01 s"):
        measured(ch.Sensors(ROBOT, delay=0.015))
    with pytest.raises(ArgumentError, match=r"seed of sensors is 0\.5; it must be a whole number"):
        measured(ch.Sensors(ROBOT, position_noise=1.0), vary={"sensors.seed": [0.5]})
    with pytest.raises(ArgumentError, match="sensors is made for 3 joints, but robot 'sliders' has 2"):
        ch.Plant(ROBOT, sensors=ch.Sensors(3))
