from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link
from chasles.simulation.metrics import joint_metrics, overshoots, run_robot, settling_times, tool_metrics
from chasles.trajectories.motion import Motion

ARM = ch.load("planar2r")
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)


def step_response(damping: float, frequency: float, times: np.ndarray) -> np.ndarray:
    """Response (k, 1) of x'' + 2 z w x' + w² x = w² to a unit step, in closed form."""
    damped = frequency * np.sqrt(1.0 - damping**2)
    phase = damped * times
    swing = np.cos(phase) + damping * frequency / damped * np.sin(phase)
    return (1.0 - np.exp(-damping * frequency * times) * swing)[:, None]


def test_overshoot_of_a_second_order_system() -> None:
    """exp(-pi z / sqrt(1 - z²)), as every textbook on control has it."""
    times = np.linspace(0.0, 5.0, 50_001)
    q = step_response(0.4, 6.0, times)
    expected = np.exp(-np.pi * 0.4 / np.sqrt(1.0 - 0.16))
    assert overshoots(q, np.ones_like(q))[0] == pytest.approx(expected, rel=1e-6)
    assert overshoots(-3.0 * q, -3.0 * np.ones_like(q))[0] == pytest.approx(3.0 * expected, rel=1e-6)


def test_settling_of_a_second_order_system() -> None:
    """The last of the times at which the response crosses the band, found by a root finder."""
    times = np.linspace(0.0, 5.0, 50_001)
    q = step_response(0.4, 6.0, times)

    def leaves(t: float, _: np.ndarray) -> float:
        return abs(float(step_response(0.4, 6.0, np.array([t]))[0, 0]) - 1.0) - 0.02

    crossings = solve_ivp(lambda t, x: [0.0], (0.0, 5.0), [0.0], events=leaves, max_step=0.01, rtol=1e-9).t_events[0]
    found = settling_times(times, q, np.ones_like(q))
    assert found[0] == pytest.approx(crossings[-1], abs=1.1e-4)
    wide = settling_times(times, q, np.ones_like(q), np.array([0.5]))
    assert 0.0 < wide[0] < found[0]


def test_settling_counts_from_the_arrival_of_the_reference() -> None:
    times = np.linspace(0.0, 2.0, 201)
    reference = np.minimum(times, 1.0)[:, None] * [1.0, 2.0]
    late = np.minimum(np.maximum(times - 0.25, 0.0), 1.0)[:, None] * [1.0, 2.0]
    found = settling_times(times, np.stack([reference, late]), np.stack([reference, reference]))
    np.testing.assert_allclose(found[0], 0.0)
    np.testing.assert_allclose(found[1], 0.25 - 0.02, atol=0.0101)


@pytest.mark.parametrize("case", ["still moving", "outside at the end", "no way to go"])
def test_settling_that_is_not_seen(case: str) -> None:
    times = np.linspace(0.0, 1.0, 101)
    way = times[:, None] if case == "still moving" else np.ones((101, 1))
    q = {"still moving": way, "outside at the end": 0.9 * times[:, None], "no way to go": way}[case]
    assert np.isnan(settling_times(times, q, way)).all()
    if case == "no way to go":
        assert settling_times(times, q, way, np.array([0.1]))[0] == 0.0
        assert np.isnan(overshoots(q, way)).all()


def test_a_reference_that_goes_beyond_its_goal_is_no_overshoot() -> None:
    times = np.linspace(0.0, 1.0, 101)[:, None]
    reference = times + np.sin(np.pi * times)
    assert overshoots(reference, reference)[0] == 0.0
    assert overshoots(1.05 * reference, reference)[0] == pytest.approx(0.05 * reference.max())


def test_errors_effort_and_work_of_a_known_motion() -> None:
    """Sine error: RMS A/sqrt 2; torque of a spring k q on a way to 1: work k/2, effort k² / 3."""
    times = np.linspace(0.0, 1.0, 20_001)
    t = times[:, None]
    error = 0.01 * np.sin(2.0 * np.pi * t)
    found = joint_metrics(times, q=t, tau=3.0 * t, q_reference=t + error, error=error)
    assert found["rms_error"][0] == pytest.approx(0.01 / np.sqrt(2.0), rel=1e-4)
    assert found["peak_error"][0] == pytest.approx(0.01, rel=1e-6)
    assert found["effort"][0] == pytest.approx(3.0, rel=1e-3)
    assert found["mean_torque"][0] == pytest.approx(1.5, rel=1e-3)
    assert found["peak_torque"][0] == 3.0
    assert found["work"][0] == pytest.approx(1.5, rel=1e-3)
    back = np.concatenate([t, t[::-1]])
    there = joint_metrics(np.linspace(0, 2, 40_002), q=back, tau=3.0 * back, q_reference=back, error=0.0 * back)
    assert there["work"][0] == pytest.approx(0.0, abs=1e-3)
    assert there["absolute_work"][0] == pytest.approx(3.0, rel=1e-3)


def test_work_of_held_torques_is_exact() -> None:
    """Without friction the work is the change of energy, to the accuracy of the integrator."""
    free = ch.load("planar2r").with_friction(viscous=0.0, coulomb=0.0)
    run = ch.simulate(free, ch.PDGravity(free, kp=100.0, kd=20.0), MOTION, integrator=ch.integrators.Steps("rk4", 4))
    q, qd = run.q.values, run.qd.values
    energy = free.kinetic_energy(q, qd) + free.potential_energy(q)
    assert float(run.metrics().work.sum()) == pytest.approx(energy[-1] - energy[0], rel=1e-8)


def test_tool_errors_of_the_planar_arm() -> None:
    """Both links turned by a about the first joint: the tool at 0.75 m moves by 2 · 0.75 sin(a/2) and turns by a."""
    q = np.zeros((2, 3, 2))
    turned = q + np.array([0.2, 0.0])
    found = tool_metrics(ARM, turned, q)
    np.testing.assert_allclose(found["peak_position_error"], 1.5 * np.sin(0.1), rtol=1e-12)
    np.testing.assert_allclose(found["rms_rotation_error"], 0.2, rtol=1e-12)
    elbow = tool_metrics(ARM, turned, q, frame="link1")
    np.testing.assert_allclose(elbow["rms_position_error"], 1.0 * np.sin(0.1), rtol=1e-12)


def test_many_runs_go_in_bounded_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    masses = np.linspace(0.0, 2.0, 6).reshape(2, 3)
    run = ch.simulate(ARM, ch.PDGravity(ARM, kp=400.0, kd=40.0), MOTION, vary={"payload.mass": masses})
    whole = run.metrics()
    for held in (1, 2 * run.sizes["time"]):
        monkeypatch.setattr("chasles.simulation.metrics._HELD", held)
        assert run.metrics().identical(whole)
    single = run.isel(run_0=1, run_1=2).metrics()
    np.testing.assert_array_equal(whole.rms_error[1, 2], single.rms_error)
    np.testing.assert_array_equal(whole.peak_rotation_error[1, 2], single.peak_rotation_error)


def test_a_dataset_with_units_and_what_varies() -> None:
    grid = {"payload.mass": np.array([0.0, 1.0, 2.0])[:, None], "controller.kp": np.full((2, 2), 400.0)}
    run = ch.simulate(ARM, ch.ComputedTorque(ARM, kp=400.0, kd=40.0), MOTION, vary=grid)
    numbers = run.metrics()
    assert numbers.rms_error.dims == ("run_0", "run_1", "joint")
    assert numbers.rms_position_error.dims == ("run_0", "run_1")
    assert numbers["payload.mass"].values.tolist() == [0.0, 1.0, 2.0]
    assert {name: numbers[name].attrs["units"] for name in ("rms_error", "effort", "work", "rms_position_error")} == {
        "rms_error": "rad",
        "effort": "N² m² s",
        "work": "J",
        "rms_position_error": "m",
    }
    assert all(numbers[name].attrs["long_name"] for name in numbers.data_vars)
    np.testing.assert_allclose(numbers.rms_error, np.sqrt((run.error**2).mean("time")), rtol=1e-12)


def test_units_of_sliding_joints() -> None:
    scara = ch.load("scara")
    motion = ch.PointToPoint(scara.home, scara.home + 0.01, duration=0.01)
    numbers = ch.simulate(scara, ch.ComputedTorque(scara, kp=400.0, kd=40.0), motion).metrics()
    assert numbers.rms_error.attrs["units"] == "rad, m by joint"
    assert numbers.effort.attrs["units"] == "N² m² s, N² s by joint"


def test_runs_that_diverged_have_no_metrics() -> None:
    gains = {"controller.kd": [[40.0, 40.0], [1e5, 1e5]]}
    with pytest.warns(UserWarning, match="1 of 2 runs diverged"):
        run = ch.simulate(ARM, ch.PDGravity(ARM, kp=100.0, kd=1.0), MOTION, vary=gains)
    numbers = run.metrics()
    for name in numbers.data_vars:
        assert np.isnan(numbers[name].values[1]).all(), name
    assert np.isfinite(numbers.rms_error.values[0]).all()
    assert "1 of 2 runs diverged, the first at t = " in run.summary()


@pytest.mark.parametrize("band", [0.0, -1.0, np.nan, [0.1, 0.2, 0.3], "wide"])
def test_bad_bands(band: object) -> None:
    run = ch.simulate(ARM, ch.ComputedTorque(ARM, kp=400.0, kd=40.0), MOTION)
    with pytest.raises(ch.ChaslesError, match="settling_band"):
        run.metrics(settling_band=band)


def test_a_single_sample_has_no_metrics() -> None:
    run = ch.simulate(ARM, ch.ComputedTorque(ARM, kp=400.0, kd=40.0), MOTION)
    with pytest.raises(ch.ChaslesError, match="at least two samples"):
        run.isel(time=[0]).metrics()


def test_a_run_and_its_metrics_are_the_same_after_a_file(tmp_path) -> None:
    vary = {"payload.mass": [0.0, 1.0], "controller.kp": [[300.0, 400.0]]}
    run = ch.simulate(ARM, ch.ComputedTorque(ARM, kp=400.0, kd=40.0), MOTION, vary=vary)
    run.to_netcdf(tmp_path / "run.nc")
    again = type(run).open(tmp_path / "run.nc")
    assert isinstance(again, type(run))
    assert again.identical(run)
    numbers = run.metrics()
    assert again.metrics().identical(numbers)
    numbers.to_netcdf(tmp_path / "metrics.nc")
    import xarray

    with xarray.open_dataset(tmp_path / "metrics.nc") as saved:
        assert saved.load().identical(numbers)
    assert run_robot(again) == ARM


def test_a_run_in_words() -> None:
    run = ch.simulate(ARM.with_payload(1.0), ch.PDGravity(ARM, kp=400.0, kd=60.0), MOTION, duration=2.0)
    text = run.summary()
    numbers = run.metrics()
    assert text.startswith("Robot 'planar2r' under PD + gravity for 2 s, called every 1 ms.")
    assert f"within {float(numbers.peak_position_error):.3g} m and" in text
    assert f"{1e3 * float(numbers.rms_position_error):.3g} mm RMS" in text
    assert f"The joints settled {float(numbers.settling_time.max()):.3g} s after" in text
    batch = ch.simulate(ARM, ch.PDGravity(ARM, kp=400.0, kd=60.0), MOTION, vary={"payload.mass": [0.0, 1.0, 3.0]})
    assert "3 runs over payload.mass." in batch.summary()
    assert "(payload.mass = 3)" in batch.summary()


def test_torques_are_those_of_the_motors() -> None:
    """Motors with nine tenths of the torque that their drives expect do 0.81 of the effort of what was asked for."""
    motors = ch.Motors(2, torque_constant=0.05, gear_ratio=100.0)
    weak = {"motors.torque_constant": [0.045, 0.045]}
    run = ch.simulate(ch.Plant(ARM, motors=motors), ch.PDGravity(ARM, kp=400.0, kd=40.0), MOTION, vary=weak)
    numbers = run.metrics()
    asked = (run.tau**2).isel(time=slice(0, -1)).sum("time") * 1e-3
    np.testing.assert_allclose(numbers.effort, 0.81 * asked, rtol=1e-9)
    np.testing.assert_allclose(numbers.peak_torque, 0.9 * np.abs(run.tau).max("time"), rtol=1e-9)


def test_a_motion_in_space_has_errors_of_the_tool_alone(tmp_path) -> None:
    arm = ch.load("panda")
    start = np.asarray(arm.forward_kinematics(arm.home))
    goal = start.copy()
    goal[:3, 3] += [0.05, 0.05, -0.05]
    line = ch.StraightLine(start, goal, duration=0.2)
    run = ch.simulate(arm.with_payload(1.0), ch.control.ResolvedAcceleration(arm, kp=400.0, kd=40.0), line)
    numbers = run.metrics()
    assert "rms_error" not in numbers
    assert "settling_time" not in numbers
    T = np.asarray(arm.forward_kinematics(run.q.values))
    distance = np.linalg.norm(T[:, :3, 3] - run.pose_reference.values[:, :3, 3], axis=-1)
    assert float(numbers.peak_position_error) == pytest.approx(distance.max(), rel=1e-12)
    assert float(numbers.rms_position_error) == pytest.approx(np.sqrt(np.mean(distance**2)), rel=1e-12)
    assert "The tool stayed within" in run.summary()
    assert "joints stayed" not in run.summary()
    assert len(run.plot().data) == 2 * arm.n + 2
    assert run.report(tmp_path / "run.html").exists()
    run.to_netcdf(tmp_path / "run.nc")
    assert type(run).open(tmp_path / "run.nc").identical(run)


def test_four_samples_of_four_joints_are_no_poses() -> None:
    scara = ch.load("scara")
    way = np.zeros((4, 4)) + scara.home
    assert tool_metrics(scara, way, way)["peak_position_error"] == 0.0


class Floating:
    """A reference of a free body and a ball joint that stay where they are."""

    duration, parameters, n = 0.1, {}, 11

    def motion(self, t, parameters):
        rest = np.zeros(9) + 0.0 * t
        return Motion(np.array([1.0, 0, 0, 0, 0, 0, 0, 1.0, 0, 0, 0]) + 0.0 * t, rest, rest)


def test_joints_with_several_freedoms(tmp_path) -> None:
    """A free body that falls is g t² / 2 away; its potential energy becomes kinetic."""
    inertia = Inertia(1.0, [0.0, 0.0, 0.1], np.diag([0.1, 0.1, 0.1]))
    links = tuple(Link(name, inertia) for name in ("ground", "body", "head"))
    joints = (Joint("fly", "free", "ground", "body"), Joint("neck", "spherical", "body", "head"))
    home = [1.0, 0, 0, 0, 0, 0, 0, 1.0, 0, 0, 0]
    robot = ch.Robot(Description("falling", links, joints, home=home))
    run = ch.simulate(robot, lambda now: 0.0 * now.qd, Floating(), record=ch.Recording(energies=True))
    numbers = run.metrics()
    assert numbers.rms_error.sizes == {"joint": 9}
    assert "settling_time" not in numbers
    assert float(numbers.peak_position_error) == pytest.approx(0.5 * 9.81 * 0.1**2, rel=1e-9)
    assert float(numbers.peak_error.sel(joint="fly.vz")) == pytest.approx(0.5 * 9.81 * 0.1**2, rel=1e-9)
    assert float(run.energy_audit().relative_residual) < 1e-12
    assert "The prismatic joints stayed within" in run.summary()
    names = {trace.name for trace in run.plot().data}
    assert set(run.coordinate.values) | set(run.joint.values) <= names
    assert run.report(tmp_path / "run.html").exists()


def test_motors_behind_springs_do_their_work_at_their_own_position() -> None:
    joints = ch.ElasticJoints(2, stiffness=500.0, damping=2.0, rotor_inertia=0.1)
    run = ch.simulate(
        ch.Plant(ARM, elastic_joints=joints),
        ch.PDGravity(ARM, kp=40.0, kd=8.0),
        MOTION,
        integrator=ch.integrators.Steps("rk4", 4),
        record=ch.Recording(energies=True),
    )
    worked = run.energy_audit().balance.work.isel(time=-1).sel(source="motors")
    assert float(run.metrics().work.sum()) == pytest.approx(float(worked), rel=1e-8)


def test_settling_at_the_last_sample_is_seen() -> None:
    times = np.array([0.0, 0.1, 0.2, 0.3])
    q = np.array([[0.0, 0.0], [0.5, 0.5], [0.9, 0.9], [1.0, 0.9]])
    found = settling_times(times, q, np.ones_like(q), np.array([0.05, 0.05]))
    assert found[0] == pytest.approx(0.3)
    assert np.isnan(found[1])


def test_overshoot_counts_from_the_start_though_the_next_sample_is_past_the_goal() -> None:
    for side in (1.0, -1.0):
        q = side * np.array([[0.0], [1.4], [1.1], [1.0]])
        assert overshoots(q, side * np.ones_like(q)) == pytest.approx(0.4)
