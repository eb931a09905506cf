"""The runs are drawn as they should be, simulated like any other, and measured by the book."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.closed_machines import five_bar
from tests.studies.tiny_studies import own, tiny

import chasles as ch
from chasles import studies
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control.delayed_hold import delayed_hold
from chasles.control.linear_law import closed_loops, linear_law
from chasles.control.linear_quadratic import linear_model
from chasles.simulation import SaturationWarning
from chasles.studies.bench import bench
from chasles.studies.controllers import attained_poles, make_controller
from chasles.studies.design import draw
from chasles.studies.experiment import beyond_motors, controller_of, parts, perform, plant_values
from chasles.studies.unknown_plants import plant_of, values_of


@pytest.mark.parametrize("method", ["latin-hypercube", "sobol", "random"])
def test_drawn_runs(method: str) -> None:
    study = tiny(method=method, runs=32, payload=(1.0, 4.0), friction=(0.1, 0.4))
    runs = draw(study)
    assert len(runs) == 32
    assert (runs["payload"] >= 1.0).all()
    assert (runs["payload"] <= 4.0).all()
    assert (runs["friction"] >= 0.1).all()
    assert (runs["friction"] <= 0.4).all()
    again, other = draw(study), draw(study.replace(seed=4))
    np.testing.assert_array_equal(runs["payload"], again["payload"])
    assert (runs["payload"] != other["payload"]).all()
    slow, fast = runs.at(125.0, 0.0), runs.at(250.0, 0.0)
    assert runs.distinct == 32
    assert not set(runs["payload"][slow]) & set(runs["payload"][fast])  # no run repeats another's unknowns
    if method == "latin-hypercube":  # one in each of 16 strata at each rate, and one in each of 32 in all
        for chosen, count in ((slow, 16), (fast, 16), (np.arange(32), 32)):
            strata = np.floor((runs["payload"][chosen] - 1.0) / 3.0 * count)
            np.testing.assert_array_equal(np.sort(strata), np.arange(count))


def test_runs_that_the_rates_cannot_share_evenly() -> None:
    runs = draw(tiny(runs=13))
    assert (len(runs.at(125.0, 0.0)), len(runs.at(250.0, 0.0))) == (7, 6)
    assert runs.distinct == 13


def test_delays_and_rates_are_crossed() -> None:
    runs = draw(tiny(runs=40, delays=(0.0, 1.0)))
    assert [len(runs.at(rate, delay)) for rate in (125.0, 250.0) for delay in (0.0, 1.0)] == [10] * 4
    assert runs.distinct == 40
    assert {(part.rate, part.delay) for part in parts(tiny(delays=(0.0, 1.0)))} == {
        (rate, delay) for rate in (125.0, 250.0) for delay in (0.0, 1.0)
    }


def test_a_delay_makes_a_loop_worse() -> None:
    """A period of delay at 60 Hz turns a stable loop of 20 rad/s, double pole, into one that overshoots more."""
    study = tiny(payload=0.0, friction=0.0, model_error=0.0, rates=(60.0,), delays=(0.0, 1.0), runs=4)
    cells = study.run().cells("arm", "computed torque")
    assert cells[1].rms_error.value > 1.5 * cells[0].rms_error.value
    on_time, late = (cell.poles for cell in cells)
    assert on_time is not None
    assert late is not None
    assert on_time.frequency == late.frequency == 20.0
    assert cells[1].disk_margin < 0.5 * cells[0].disk_margin


def test_a_grid_has_all_combinations() -> None:
    runs = draw(tiny(method="grid", levels=3, friction=0.2))
    combinations = set(zip(runs["payload"], runs["friction"], runs["model_error"], runs.rate, strict=True))
    assert len(runs) == len(combinations) == 3 * 1 * 3 * 2
    assert set(runs["payload"]) == {0.0, 2.5, 5.0}


def test_the_plant_differs_as_much_as_the_run_says() -> None:
    study = tiny(runs=200)
    runs, made = draw(study), bench(study, study.robots[0])
    chosen = runs.at(250.0, 0.0)
    values = plant_values(study, made, runs, chosen)
    error = np.abs(values["links.link1.mass"] / 10.0 - 1.0)
    assert (error <= runs["model_error"][chosen] * (1.0 + 1e-12)).all()
    assert error.max() > 0.1
    np.testing.assert_array_equal(values["payload.mass"], runs["payload"][chosen])
    ball = 0.4 * runs["payload"][chosen] * 0.05**2
    np.testing.assert_allclose(values["payload.inertia"], ball[:, None, None] * np.eye(3))
    friction = values["joints.joint1.coulomb_friction"] + values["joints.joint1.viscous_friction"] * made.top_speed[0]
    np.testing.assert_allclose(friction, runs["friction"][chosen] * made.peak_torque[0])
    planned = made.motion(np.linspace(0.0, 0.3, 4001))
    peak = np.abs(ch.load("planar2r").inverse_dynamics(planned.q, planned.qd, planned.qdd)).max(axis=0)
    np.testing.assert_allclose(made.peak_torque, peak, rtol=1e-4)


def test_a_run_is_what_simulate_gives() -> None:
    """One run again by itself: the plant made by hand, its errors by the formulas."""
    study = tiny(torque_limits=False)
    part = parts(study)[1]
    numbers = perform(study, part, controller_of(study, part))
    runs, made = draw(study), bench(study, study.robots[0])
    assert part.rate == 250.0
    chosen = runs.at(250.0, 0.0)[4:5]
    values = {name: value[0] for name, value in plant_values(study, made, runs, chosen).items()}
    plant = ch.load("planar2r").with_friction(coulomb_velocity=0.05).with_values(values)
    gone = 1.0 - np.exp(-20.0 / 250.0)  # of the error in a period: z² - (2 - h² kp/2 - h kd) z + … = (z - 1 + gone)²
    kp, kd = (250.0 * gone) ** 2, 250.0 * (2.0 * gone - 0.5 * gone**2)
    run = ch.simulate(
        plant,
        ch.ComputedTorque(ch.load("planar2r"), kp=kp, kd=kd),
        ch.PointToPoint([0.0, 0.0], [0.6, -0.4], 0.3),
        duration=0.35,
        period=1 / 250,
        integrator=ch.integrators.Steps("rk4", 4),
    )
    time, error = run["time"].values, run["error"].values
    mean = np.trapezoid((error**2).mean(axis=1), time) / time[-1]
    assert numbers["rms_error"][4] == pytest.approx(np.sqrt(mean), rel=1e-4)
    assert numbers["peak_error"][4] == pytest.approx(np.abs(error).max(), rel=1e-4)
    assert numbers["final_error"][4] == pytest.approx(np.abs(error[-1]).max(), rel=1e-4)
    tool = [ch.load("planar2r").forward_kinematics(run[name].values)[:, :3, 3] for name in ("q", "q_reference")]
    distance = np.linalg.norm(tool[0] - tool[1], axis=1)
    assert numbers["peak_tool_error"][4] == pytest.approx(distance.max(), rel=1e-4)
    power = np.abs(run["tau"].values * run["qd"].values).sum(axis=1)
    assert numbers["work"][4] == pytest.approx(np.trapezoid(power, time), rel=1e-4)
    assert np.isnan(numbers["lost_at"][4])


def test_without_unknowns_computed_torque_errs_little_and_takes_the_planned_effort() -> None:
    study = tiny(payload=0.0, friction=0.0, model_error=0.0, rates=(1000.0,), runs=2)
    row = study.run().summaries()[0]
    assert row.peak_error.high < 2e-3
    assert row.effort.median == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
def test_runs_do_not_depend_on_how_they_are_cut() -> None:
    whole, cut = tiny(), tiny(chunk=2)
    assert len(parts(cut)) == 3 * len(parts(whole))
    for name, values in whole.run().values[0, 0].items():
        np.testing.assert_allclose(cut.run().values[0, 0][name], values, rtol=1e-12, err_msg=name)


def test_lost_runs_count_as_infinite() -> None:
    """Gains far too high for 125 Hz."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = tiny(controllers=(own(2e5),)).run()
    row = results.summaries()[0]
    assert row.lost == 1.0
    assert row.rms_error.low == np.inf
    lost = results.of_pair("arm", "own")["lost_at"]
    assert ((lost > 0.0) & (lost < 0.35)).all()
    assert any("lost" in finding.rule.code for finding in results.findings())


def test_torques_stay_within_the_motors_limits() -> None:
    arm = ch.load("panda")
    stiff = ch.PDGravity(arm, kp=5000.0, kd=100.0)
    motion = ch.PointToPoint(arm.home, arm.home + 0.2, 0.1)
    with pytest.warns(SaturationWarning, match=r"kd·T/M"):
        run = ch.simulate(arm, stiff, motion, duration=0.05)
    share = np.abs(run["tau"].values) / arm.effort_limits
    assert share.max() == 1.0
    assert np.abs(run["tau_demanded"].values / arm.effort_limits).max() > 1.0


@pytest.mark.parametrize("kind", studies.kinds())
def test_every_kind_is_made_with_gains_of_its_rule_or_asks_for_them(kind: str) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.8], [0.6, 0.4], 0.3)
    needed = {
        "operational-space": {"components": ("x", "y")},
        "resolved-acceleration": {"components": ("x", "y")},
        "impedance": {"stiffness": 500.0, "damping": 60.0, "components": ("x", "y")},
    }
    springs = ch.ElasticJoints(arm, stiffness=[4000.0, 500.0], rotor_inertia=[0.3, 0.05])
    controller = make_controller(kind, needed.get(kind, {}), arm, motion, 1 / 250, elastic_joints=springs)
    plant = ch.Plant(arm, elastic_joints=springs) if controller.reads_motors else arm
    run = ch.simulate(plant, controller, motion, period=1 / 250)
    assert np.isfinite(run["error"].values).all()
    knows_the_motion = kind not in ("pd", "pd-gravity", "pid", "pid-gravity", "model-reference-adaptive")
    begins_with_its_jerk = kind != "elastic-computed-torque"  # from which motors at rest are away
    assert np.abs(run["error"].values).max() < (0.05 if knows_the_motion and begins_with_its_jerk else 2.0)


def test_the_same_bandwidth_for_a_decoupled_arm() -> None:
    """Kinds whose gains act on the plain error have the stiffness M w² and the damping 2 z w M."""
    arm, period = ch.load("planar2r"), 1e-3
    motion = ch.PointToPoint([0.0, 0.0], [0.6, -0.4], 0.3)
    computed = make_controller("computed-torque", {"frequency": 10.0, "damping": 0.8}, arm, motion, period)
    np.testing.assert_allclose(computed.parameters["kp"], 100.0, rtol=0.02)
    np.testing.assert_allclose(computed.parameters["kd"], 16.0, rtol=0.02)
    regulator = make_controller("time-varying-regulator", {"frequency": 10.0, "damping": 0.8}, arm, motion, period)
    times = np.arange(0.0, 0.3, period)
    K = regulator.horizon(times, motion(times)).K[0]
    M = arm.mass_matrix([0.0, 0.0])
    mean = arm.mass_matrix(motion(np.linspace(0.0, 0.3, 50)).q).mean(axis=0)
    np.testing.assert_allclose(K[:, :2], 100.0 * mean, atol=0.15 * 100.0 * np.abs(M).max())
    np.testing.assert_allclose(K[:, 2:], 16.0 * mean, atol=0.15 * 16.0 * np.abs(M).max())
    with pytest.raises(UnknownNameError, match="integral"):
        studies.StudyController("PD", "pd", {"integral": 0.5})


LINEAR = {
    "pd": {},
    "pid": {"integral": 1.0},
    "computed-torque": {"integral": 0.5},
    "disturbance-observer": {"observer": 1.5},
    "gain-scheduled-regulator": {},
    "time-varying-regulator": {"integral": 1.0},
    "linear-quadratic-regulator": {"integral": 1.0},
    "linear-quadratic-gaussian": {"integral": 1.0},
    "knows the delay": {"integral": 1.0, "knows_delay": True},
    "LQG that knows the delay": {"knows_delay": True},
}


@pytest.fixture(scope="module")
def mass() -> ch.Robot:
    """A mass of 2 kg on a rail."""
    axis = {"kind": "prismatic", "alpha": 0.0, "mass": 2.0}
    return ch.Robot.from_dh([axis], gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("kind", LINEAR)
def test_all_linear_laws_attain_the_same_sampled_poles(kind: str, mass: ch.Robot) -> None:
    """The laws themselves on a plant of one mass at 60 Hz: exp(s h) without delay, or with one that they know."""
    motion, period = ch.PointToPoint([0.0], [0.2], 1.0), 1 / 60
    settings = {"frequency": 15.0, "damping": 0.8} | LINEAR[kind]
    kind = {"knows the delay": "time-varying-regulator", "LQG that knows the delay": "linear-quadratic-gaussian"}.get(
        kind, kind
    )
    times = period * np.arange(61)
    planned = motion(times)
    s = [*np.roots([1.0, 24.0, 225.0]), *([-15.0 * settings["integral"]] if "integral" in settings else [])]
    for delay in (0.0, 1.0) if "knows_delay" in settings else (0.0,):
        law = make_controller(kind, settings, mass, motion, period, delay)
        held = delayed_hold(*linear_model(mass, planned), period, delay)
        loop = closed_loops(linear_law(mass, law, times, planned, period, 1), held.A, held.B_late)[-2]
        z = np.linalg.eigvals(loop)
        assert np.abs(np.exp(period * np.array(s))[:, None] - z).min(axis=1).max() < 1e-5
        poles = attained_poles(kind, settings, mass, motion, period)
        assert poles is not None
        if delay == 0.0 and kind not in ("disturbance-observer", "linear-quadratic-gaussian"):  # which filter the error
            D = linear_law(mass, law, times, planned, period, 1).D[-2]
            assert poles.stiffness == pytest.approx(-D[0, 0] / 2.0, rel=1e-3)


def test_poles_of_whole_body_torques_are_those_of_their_gains(mass: ch.Robot) -> None:
    """Error e'' + 2 w e' + w² e = 0."""
    poles = attained_poles(
        "whole-body-torque", {"frequency": 15.0, "damping": 0.8}, mass, ch.PointToPoint([0.0], [0.2], 1.0), 1 / 60
    )
    assert poles is not None
    assert (poles.damping, poles.stiffness) == (1.0, 225.0)


def test_the_regulator_does_better_than_pd_and_loses_no_run_under_payloads() -> None:
    """On the arm on which plainer weights lose most."""
    study = studies.load("mazure").only(["Panda"]).replace(runs=24, rates=(500.0,), delays=(0.0,))
    wanted = ("PD + gravity", "regulator", "regulator with integral")
    chosen = [choice for choice in study.controllers if choice.title in wanted]
    rows = {row.controller: row for row in study.replace(controllers=chosen, payload=(0.0, 1.5)).run().summaries()}
    pd, plain, integral = (rows[title] for title in wanted)
    assert plain.lost == integral.lost == 0.0
    assert plain.rms_error.median < 0.7 * pd.rms_error.median
    assert integral.rms_error.median < 0.3 * plain.rms_error.median


FACTORS = {
    "picked_payload": (1.0, 2.0),
    "static_friction": 0.5,
    "position_friction": (0.1, 0.3),
    "motor_lag": (0.001, 0.004),
    "motor_torque": (0.7, 0.8),
    "motor_speed": (0.7, 0.8),
    "encoder_step": 1e-4,
    "resonance": 10.0,
    "tip_force": (20.0, 40.0),
    "jitter": 0.9,
    "lost_samples": 0.9,
    "plant": {"joints.joint1.motor_inertia": (0.5, 1.0)},
}


@pytest.mark.parametrize("name", FACTORS)
def test_every_factor_acts_on_the_plant(name: str) -> None:
    """Alone, each changes the motion, and its values are those that were drawn."""
    quiet = tiny(payload=0.0, friction=0.3, model_error=0.0, rates=(250.0,), runs=4)
    acting = quiet.replace(**{name: FACTORS[name]})
    part, controller = parts(quiet)[0], controller_of(quiet, parts(quiet)[0])
    made = bench(quiet, quiet.robots[0])
    runs = draw(acting)
    values = plant_values(acting, made, runs, np.arange(4))
    plant = plant_of(acting.factors, made)
    assert set(values) <= set(plant.parameters)
    before, after = perform(quiet, part, controller), perform(acting, part, controller_of(acting, part))
    assert np.isfinite(after["rms_error"]).all()
    assert not np.allclose(before["rms_error"], after["rms_error"], rtol=1e-3)
    if name == "tip_force":
        np.testing.assert_allclose(np.linalg.norm(values["wrenches.tip.force"], axis=-1), runs["tip_force"])
    if (
        name == "motor_speed"
    ):  # voltage and resistance leave no torque at that speed, and four times the loaded peak at rest
        stall = values["motors.max_voltage"] / values["motors.resistance"]
        most = 0.3 * made.peak_torque
        rough = made.model.with_friction(viscous=0.5 * most / made.top_speed, coulomb=0.5 * most)
        moving = made.motion(np.linspace(0.0, 0.3, 101))
        needed = np.abs(rough.inverse_dynamics(moving.q, moving.qd, moving.qdd)).max(axis=0)
        np.testing.assert_allclose(stall, np.tile(4.0 * needed, (4, 1)))
        np.testing.assert_allclose(values["motors.max_voltage"], runs["motor_speed"][:, None] * made.top_speed)
    if name == "resonance":
        worn = acting.replace(plant={"elastic_joints.backlash": (0.01, 0.02)})
        drawn = draw(worn)
        play = plant_values(worn, made, drawn, np.arange(4))["elastic_joints.backlash"]
        np.testing.assert_array_equal(play, np.tile(drawn["elastic_joints.backlash"][:, None], (1, made.model.n)))
        loose = perform(worn, part, controller)
        assert not np.allclose(loose["rms_error"], after["rms_error"], rtol=1e-3)
        stiffness = values["elastic_joints.stiffness"]
        np.testing.assert_allclose(np.sqrt(stiffness / made.inertia) / (2.0 * np.pi), 10.0, rtol=1e-12)


def test_runs_beyond_the_motors_are_counted_apart(tmp_path: Path) -> None:
    """One rod: τ = J q̈ + (m l / 2 + M l) g cos q and friction, with J = J₀ + M (l² + 2 r² / 5)."""
    link = {"a": 0.5, "mass": 2.0, "center_of_mass": [-0.25, 0, 0], "inertia": [0.0, 0.05, 0.05]}
    rod = ch.Robot.from_dh([{**link, "limits": {"effort": 12.0}}], gravity=(0.0, -9.81, 0.0))
    robot = studies.StudyRobot.of(rod, start=[0.0], goal=[0.5], duration=1.0, title="rod", rated_payload=2.0)
    law = studies.StudyController("PD", "pd-gravity", {"frequency": 10.0})
    study = tiny(
        robots=(robot,), controllers=(law,), payload=(0.0, 1.0), friction=0.1, model_error=0.0, rates=(250.0,), runs=40
    )
    made, runs = bench(study, robot), draw(study)
    moving = made.motion(np.linspace(0.0, 1.0, 101))

    def torque(load: float) -> float:
        inertia = 0.05 + 2.0 * 0.25**2 + load * (0.5**2 + 0.4 * 0.05**2)
        needed = inertia * moving.qdd[:, 0] + (0.5 + 0.5 * load) * 9.81 * np.cos(moving.q[:, 0])
        most = 0.1 * made.peak_torque[0]
        friction = 0.5 * most * (moving.qd[:, 0] / made.top_speed[0] + np.tanh(moving.qd[:, 0] / 0.05))
        return float(np.abs(needed + friction).max())

    expected = np.array([torque(2.0 * share) > 12.0 for share in runs["payload"]])
    assert 0.2 < expected.mean() < 0.8
    np.testing.assert_array_equal(beyond_motors(study, robot, runs), expected)
    results = study.run()
    (row,) = results.summaries()
    assert row.runs == 40 - expected.sum() == len(results.of_pair("rod", "PD")["rms_error"])
    (finding,) = (each for each in results.findings() if each.rule.code == "beyond-motors")
    assert finding.value == expected.sum()
    with pytest.raises(ArgumentError, match=r"'rod': in each run the motion takes more torque"):
        study.replace(payload=(0.9, 1.0)).run()
    relative = study.replace(torque_limits=1.5)
    np.testing.assert_allclose(bench(relative, robot).model.effort_limits, 1.5 * torque(2.0), rtol=1e-9)
    assert not beyond_motors(relative, robot, runs).any()
    strong = study.replace(motor_torque=(2.0, 3.0))
    drawn = draw(strong)
    limits = plant_values(strong, made, drawn, np.arange(40))["motors.max_current"][:, 0]
    loaded = [torque(2.0 * share) for share in drawn["payload"]]
    np.testing.assert_allclose(limits, drawn["motor_torque"] * loaded, rtol=1e-9)


def test_a_link_swings_at_the_resonance() -> None:
    """One rod on its spring with a clamped rotor: the period is that of 10 Hz."""
    rod = ch.Robot.from_dh([{"a": 0.5, "mass": 2.0, "inertia": [0.0, 0.1, 0.1]}], gravity=(0.0, 0.0, 0.0))
    robot = studies.StudyRobot.of(rod, start=[0.0], goal=[0.3], duration=0.5, title="rod")
    made = bench(tiny(robots=(robot,), controllers=(studies.StudyController("PD", "pd"),)), robot)
    none = {"payload": 0.0, "friction": 0.0, "model_error": 0.0}
    factors = studies.Factors(**none, resonance=10.0, tip_force=50.0, tip_direction=(0.0, 1.0, 0.0), rates=(1000.0,))
    drawn = {"payload": 0.0, "friction": 0.0, "resonance": 10.0, "tip_force": 50.0}
    plant = plant_of(factors, made)
    vary = values_of(factors, made, {name: np.array([value]) for name, value in drawn.items()}, 1e-3, 1e-3)
    vary |= {"elastic_joints.rotor_inertia": np.full((1, 1), 1e6), "elastic_joints.damping": np.zeros((1, 1))}
    still = ch.PointToPoint([0.0], [0.0], 1.0)
    run = ch.simulate(
        plant, ch.control.PD(rod, kp=0.0, kd=0.0), still, vary=vary, integrator=ch.integrators.Steps("rk4", 4)
    )
    q = run["q"].values[0, :, 0]
    # It swings between 0 and twice the deflection 50 N · 0.5 m / K, at 10 Hz.
    middle = 50.0 * 0.5 / vary["elastic_joints.stiffness"].item()
    assert q.max() == pytest.approx(2.0 * middle, rel=1e-3)
    crossings = np.flatnonzero((q[:-1] < middle) & (q[1:] >= middle))
    assert np.diff(crossings).mean() * 1e-3 == pytest.approx(0.1, rel=0.005)


def test_unknown_parameters_of_the_plant_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"there is no parameter of the plant 'friction.static'"):
        tiny(plant={"friction.static": 1.0}).run()


def test_a_study_of_a_closed_chain_moves_its_motors(tmp_path: Path) -> None:
    robot = ch.Robot(five_bar())
    goal = robot.home[[0, 2]] + [0.2, -0.1]
    study = tiny(
        robots=(studies.StudyRobot.of(robot, goal=goal, duration=0.3, title="five-bar"),),
        controllers=(studies.StudyController("computed torque", "computed-torque", {"frequency": 20.0}),),
        factors=studies.Factors(rates=(1000.0,), payload=(0.0, 0.0), friction=(0.0, 0.0), model_error=(0.0, 0.0)),
        design=studies.Design(runs=4, seed=3),
    )
    found = study.run(tmp_path).of_pair("five-bar", "computed torque")
    errors = found["rms_error"]
    assert errors.shape == (4,)
    assert (errors < 2e-3).all()  # the model is exact, and only sampling is left
