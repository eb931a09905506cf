"""Closed-loop simulation against closed forms, other integrators, and itself."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import xarray

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import where
from chasles.model import Description, Inertia, Joint, Link
from chasles.simulation import DivergenceWarning, StiffnessWarning, UncompiledWarning


def slider(mass: float = 2.0, viscous: float = 0.0) -> ch.Robot:
    """A mass on a horizontal rail: m a = tau - b v, with known solutions."""
    joint = Joint("rail", "prismatic", "base", "cart", axis=[1.0, 0.0, 0.0], viscous_friction=viscous)
    return ch.Robot(Description("slider", links=(Link("base"), Link("cart", Inertia(mass=mass))), joints=(joint,)))


def pendulum() -> ch.Robot:
    """A point mass of 1 kg on a rod of 1 m, hanging down at q = 0."""
    bob = Link("bob", Inertia(mass=1.0, center_of_mass=[0.0, 0.0, -1.0]))
    joint = Joint("pivot", "revolute", "base", "bob", axis=[0.0, 1.0, 0.0])
    return ch.Robot(Description("pendulum", links=(Link("base"), bob), joints=(joint,)))


def free(now):
    return 0.0 * now.q


STAY = ch.PointToPoint([0.0], [0.0], 1.0)


def test_sampled_control_of_a_double_integrator_equals_the_exact_discrete_system() -> None:
    """With the torque held, x[k+1] = Φ x[k] + Γ u[k] exactly, and RK4 integrates a double integrator exactly."""
    mass, period, kp, kd = 2.0, 0.05, 30.0, 8.0
    A = np.array([[0.0, 1.0], [0.0, 0.0]])
    B = np.array([[0.0], [1.0 / mass]])
    blocks = scipy.linalg.expm(np.block([[A, B], [np.zeros((1, 3))]]) * period)
    state, expected = np.array([0.3, 0.0]), []
    for _ in range(41):
        expected.append(state)
        state = blocks[:2, :2] @ state + blocks[:2, 2] * (-kp * state[0] - kd * state[1])
    run = ch.simulate(
        slider(mass), ch.PDGravity(slider(mass), kp=kp, kd=kd), STAY, duration=2.0, period=period, start=[0.3]
    )
    np.testing.assert_allclose(run.q.values[:, 0], np.array(expected)[:, 0], atol=1e-13)
    np.testing.assert_allclose(run.qd.values[:, 0], np.array(expected)[:, 1], atol=1e-13)


def test_friction_slows_exponentially() -> None:
    run = ch.simulate(slider(2.0, viscous=3.0), free, STAY, duration=1.0, start=ch.State(qd=[1.0]))
    np.testing.assert_allclose(run.qd.values[:, 0], np.exp(-1.5 * run.time.values), rtol=1e-12)


def test_a_pendulum_keeps_its_energy_and_its_period() -> None:
    """A large swing: period 4 K(sin(q0/2)) sqrt(l/g) with the complete elliptic integral."""
    from scipy.special import ellipk

    robot, q0 = pendulum(), 2.0
    swing = 4.0 * ellipk(np.sin(q0 / 2.0) ** 2) * np.sqrt(1.0 / 9.81)
    run = ch.simulate(robot, free, STAY, duration=swing, period=swing / 4000, start=[q0])
    energy = robot.kinetic_energy(run.q.values, run.qd.values) + robot.potential_energy(run.q.values)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-10)
    np.testing.assert_allclose(run.q.values[-1], q0, atol=1e-9)


def test_computed_torque_with_an_exact_model_obeys_the_linear_error_equation() -> None:
    """e'' + kd e' + kp e = 0, up to the sampling of 0.1 ms."""
    arm = ch.load("puma560")
    motion = ch.PointToPoint(arm.home, arm.home + 0.8, 1.0)
    offset = np.array([0.1, -0.05, 0.08, 0.1, -0.1, 0.05])
    controller = ch.ComputedTorque(arm.with_friction(coulomb=0.0), kp=100.0, kd=20.0, friction="measured")
    plant = arm.with_friction(coulomb=0.0)
    start = motion.start - offset
    run = ch.simulate(
        ch.Plant(plant, effort_limits=False),
        controller,
        motion,
        period=1e-4,
        start=start,
        record=ch.Recording(every=100),
    )
    t = run.time.values[:, None]
    expected = offset * (1.0 + 10.0 * t) * np.exp(-10.0 * t)
    np.testing.assert_allclose(run.error.values, expected, atol=2e-4)


def test_batches_equal_single_runs_bitwise() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.1)
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    masses, kp = np.linspace(0, 3, 11), np.array([[[100.0, 200.0]], [[300.0, 400.0]]])
    vary = {"payload.mass": masses, "controller.kp": kp}
    runs = ch.simulate(arm, controller, motion, vary=vary)
    assert runs.q.dims == ("run_0", "run_1", "time", "joint")
    assert runs.q.shape == (2, 11, 101, 2)
    for i, j in ((0, 0), (1, 10), (0, 7)):
        single = ch.simulate(arm, controller, motion, vary={"payload.mass": masses[j], "controller.kp": kp[i, 0]})
        np.testing.assert_array_equal(runs.q.values[i, j], single.q.values)
        np.testing.assert_array_equal(runs.tau.values[i, j], single.tau.values)


def test_varied_parameters_equal_another_plant() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.1)
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    link = arm.description.links[-1].name
    varied = ch.simulate(arm, controller, motion, vary={f"links.{link}.mass": 7.0})
    other = ch.simulate(arm.with_values({f"links.{link}.mass": 7.0}), controller, motion)
    np.testing.assert_allclose(varied.q, other.q, atol=1e-12)


def test_one_gain_for_all_joints_varies() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.05)
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    run = ch.simulate(arm, controller, motion, vary={"controller.kp": [[100.0], [400.0]]}, start=[0.1, 0.1])
    same = ch.simulate(arm, controller, motion, start=[0.1, 0.1])
    np.testing.assert_array_equal(run.q.values[1], same.q.values)


def test_a_progress_bar_changes_no_number(capfd: pytest.CaptureFixture[str]) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.3)
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0, ki=100.0)
    vary = {"payload.mass": [0.0, 1.0, 2.0]}
    quiet = ch.simulate(arm, controller, motion, vary=vary, progress=False)
    assert capfd.readouterr().err == ""
    shown = ch.simulate(arm, controller, motion, vary=vary, progress=True)
    assert "simulating" in capfd.readouterr().err
    for name in quiet.data_vars:
        np.testing.assert_array_equal(shown[name], quiet[name])


def test_the_reference_varies_too() -> None:
    arm = ch.load("planar2r")
    goals = np.array([[1.0, 0.5], [-1.0, 0.2], [0.0, 0.0]])
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    run = ch.simulate(arm, controller, ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.5), vary={"reference.goal": goals})
    np.testing.assert_allclose(run.q_reference.values[:, -1], goals, atol=1e-12)
    np.testing.assert_allclose(run.q.values[:, -1], goals, atol=2e-3)


def test_a_plain_function_is_compiled_or_else_says_so_and_gives_the_same() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [0.3, 0.2], 0.05)

    def traced(now):
        return where(now.t > 0.02, 200.0, 100.0) * (now.reference.q - now.q) - 20.0 * now.qd

    def untraced(now):
        stiffness = 200.0 if now.t > 0.02 else 100.0
        return stiffness * (now.reference.q - now.q) - 20.0 * now.qd

    fast = ch.simulate(arm, traced, motion, start=[[0.0, 0.0], [0.1, 0.1]])
    with pytest.warns(UncompiledWarning, match="'untraced' cannot be compiled"):
        slow = ch.simulate(arm, untraced, motion, start=[[0.0, 0.0], [0.1, 0.1]])
    np.testing.assert_allclose(slow.q, fast.q, atol=1e-12)
    np.testing.assert_allclose(slow.tau, fast.tau, atol=1e-10)


def test_a_function_with_memory_and_parameters() -> None:
    """A discrete integrator of the position error, once in the law and once by hand."""

    def law(now, *, ki=50.0, kd=5.0):
        now.memory.integral += 0.01 * (now.reference.q - now.q)
        return ki * now.memory.integral - kd * now.qd

    controller = ch.PythonLaw(law, memory={"integral": [0.0]})
    run = ch.simulate(slider(), controller, ch.PointToPoint([0.0], [1.0], 0.5), period=0.01)
    integral = np.cumsum(0.01 * run.error.values[:, 0])
    np.testing.assert_allclose(run.tau.values[:, 0], 50.0 * integral - 5.0 * run.qd.values[:, 0], atol=1e-12)


def test_recording_less_changes_nothing_else() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.2)
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    every = ch.simulate(arm, controller, motion)
    tenth = ch.simulate(arm, controller, motion, record=ch.Recording(every=10))
    np.testing.assert_array_equal(tenth.time, every.time[::10])
    np.testing.assert_array_equal(tenth.tau, every.tau[::10])


def test_the_result_is_a_labelled_dataset(tmp_path) -> None:
    arm = ch.load("stanford")
    motion = ch.PointToPoint(arm.home, arm.home + 0.1, 0.05)
    masses = [0.0, 1.0]
    run = ch.simulate(arm, ch.ComputedTorque(arm, kp=100.0, kd=20.0), motion, vary={"payload.mass": masses})
    assert isinstance(run, xarray.Dataset)
    assert run.q.dims == ("run", "time", "joint")
    np.testing.assert_array_equal(run["payload.mass"], masses)
    assert list(run.joint.values) == list(arm.joint_names)
    assert list(run.unit.values) == ["rad", "rad", "m", "rad", "rad", "rad"]
    assert run.time.attrs["units"] == "s"
    np.testing.assert_allclose(run.error, run.q_reference - run.q)
    run.to_netcdf(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc") as again:
        plain = xarray.Dataset(run.data_vars, run.coords, run.attrs)
        xarray.testing.assert_identical(again.load(), plain)


def test_friction_too_fast_for_the_step_is_announced_with_the_remedy() -> None:
    """m v' = -b v with b/m = 5000 1/s: RK4 at 1 ms amplifies (a h = 5 > 2.785); with the substeps asked for not."""
    robot = slider(mass=2.0, viscous=10_000.0)
    with pytest.warns(
        StiffnessWarning,
        match=r"acts at 5e\+03 1/s, too fast for steps of 0.001 s: use integrator=.*Steps\(.rk4., 3\)",
    ):
        wrong = ch.simulate(robot, free, STAY, duration=0.01, start=ch.State(qd=[1.0]), integrator="rk4")
    assert np.abs(wrong.qd.values[-1]) > 1.0
    right = ch.simulate(
        robot, free, STAY, duration=0.01, start=ch.State(qd=[1.0]), integrator=ch.integrators.Steps("rk4", 3)
    )
    assert np.abs(right.qd.values[-1]) < 1e-3
    friction = {"joints.rail.viscous_friction": [0.0, 10_000.0]}
    with pytest.warns(StiffnessWarning):
        ch.simulate(slider(), free, STAY, duration=0.01, integrator="rk4", vary=friction)


def test_divergence_is_reported_and_other_runs_go_on() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.5)
    controller = ch.PDGravity(arm, kp=100.0, kd=10.0)
    with pytest.warns(DivergenceWarning, match="1 of 2 runs diverged, the first at t = "):
        run = ch.simulate(arm, controller, motion, vary={"controller.kd": [[10.0, 10.0], [1e7, 1e7]]})
    assert np.isnan(run.diverged_at.values[0])
    assert np.isfinite(run.q.values[0]).all()
    assert 0.0 < run.diverged_at.values[1] < 0.5


GOOD = {"duration": 0.01, "period": 1e-3}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"duration": -1.0}, ArgumentError, "duration is -1.0; it must be positive"),
        ({"duration": np.inf}, ArgumentError, "duration is inf; it must be finite"),
        ({"period": 0.0}, ArgumentError, "period is 0.0; it must be positive"),
        ({"duration": 1e-4}, ArgumentError, "shorter than half a period"),
        ({"integrator": ch.integrators.Steps("rk4", 0)}, ArgumentError, "count"),
        ({"record": ch.Recording(every=0)}, ArgumentError, "every"),
        ({"record": 10}, ArgumentError, r"record must be a chasles.Recording, such as Recording\(every=10\), not 10"),
        ({"integrator": ch.integrators.Within("rk4")}, ArgumentError, "has no error estimate"),
        ({"integrator": ch.integrators.Steps("RK45")}, ArgumentError, "chooses its steps itself"),
        ({"integrator": "midpoint"}, UnknownNameError, "Existing: automatic, euler, .*, rk4, .*, rodas5p, RK45"),
        ({"start": [0.0]}, ArgumentError, r"the start's q has shape .*; expected \(..., 2\)"),
        ({"start": ch.State(qd=[[0.0, 0.0, 0.0]])}, ArgumentError, "the start's qd has shape"),
        ({"start": ([0.0, 0.0], [1.0, 0.0])}, ArgumentError, r"give start=chasles.State\(q, qd\)"),
        ({"vary": {"payload.maas": 1.0}}, UnknownNameError, "Did you mean 'payload.mass'"),
        ({"vary": {"gravity": [0.0, 1.0]}}, ArgumentError, r"vary\['gravity'\] must have shape \(..., 3\)"),
        ({"vary": {"payload.mass": [1.0, 2.0]}, "start": np.zeros((3, 2))}, ArgumentError, "do not broadcast"),
        (
            {"vary": {"payload.mass": "heavy"}},
            ArgumentError,
            r"vary\['payload.mass'\] must be an array of real numbers",
        ),
        ({"vary": {"sensors.seed": 1}}, UnknownNameError, "sensors.seed"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, object], error: type, message: str) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.5)
    with pytest.raises(error, match=message):
        ch.simulate(arm, ch.PDGravity(arm, kp=1.0, kd=1.0), motion, **{**GOOD, **change})


def test_wide_tables_have_a_row_for_each_time_and_run(tmp_path):
    import pandas

    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.05)
    law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    run = ch.simulate(arm, law, motion, vary={"payload.mass": [0.0, 1.0, 2.0]})
    table = run.to_table()
    assert table.index.names == ["run", "time"]
    assert len(table) == 3 * run.sizes["time"]
    np.testing.assert_array_equal(table["tau.joint2"].to_numpy(), run.tau.values[..., 1].ravel())
    np.testing.assert_array_equal(table.loc[2, "error.joint1"].to_numpy(), run.error.values[2, :, 0])
    single = ch.simulate(arm, law, motion, record=ch.Recording(every=10))
    read = pandas.read_csv(single.to_csv(tmp_path / "run.csv"), index_col="time")
    np.testing.assert_array_equal(read["q.joint1"].to_numpy(), single.q.values[:, 0])
    assert list(read.index) == list(single.time.values)
    with pytest.raises(ArgumentError, match=r"run\.csv cannot be written"):
        single.to_csv(tmp_path / "no" / "run.csv")


def test_wrong_partners_are_named() -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.5)
    with pytest.raises(ArgumentError, match=r"a controller is an instance of chasles\.Controller"):
        ch.simulate(arm, 3.0, motion)
    with pytest.raises(ArgumentError, match="a reference is a motion"):
        ch.simulate(arm, ch.PDGravity(arm, kp=1.0, kd=1.0), 3.0)
    with pytest.raises(
        ArgumentError, match=r"hold a configuration q for t seconds, give chasles\.PointToPoint\(q, q, t\)"
    ):
        ch.simulate(arm, ch.PDGravity(arm, kp=1.0, kd=1.0), [1.0, 1.0])
    with pytest.raises(UnknownNameError, match=r"'kp'\. Did you mean 'controller\.kp'"):
        ch.simulate(arm, ch.PDGravity(arm, kp=1.0, kd=1.0), motion, vary={"kp": [[1.0], [2.0]]})
    with pytest.raises(ArgumentError, match="the controller's model has 6 joints"):
        ch.simulate(arm, ch.PDGravity(ch.load("puma560"), kp=1.0, kd=1.0), ch.PointToPoint([0, 0], [1, 1], 1.0))
    with pytest.raises(ArgumentError, match=r"kp has shape \(3,\); expected \(2,\) or one number"):
        ch.PDGravity(arm, kp=[1.0, 2.0, 3.0], kd=1.0)
    with pytest.raises(ArgumentError, match="takes 2 positional arguments"):
        ch.PythonLaw(lambda t, q: q)
    with pytest.raises(ArgumentError, match="torques of shape"):
        ch.simulate(slider(), lambda now: 0.0, STAY)
