"""Bodies of robots with a free base from force plates: wrenches are the rates of the bodies' momenta, by splines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from tests.control.test_whole_body import quadruped
from tests.identification.synthetic_logs import coloured_noise, fourier_motion
from typer.testing import CliRunner

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError, IdentificationError
from chasles.cli.application import application
from chasles.identification import IdentificationWarning, WrenchIdentification, WrenchLog, identify_from_wrenches
from chasles.identification.estimation import reference_bodies
from chasles.model import Description, Inertia, Joint, Link

FloatArray = NDArray[np.float64]
PLATE, OTHER = (0.3, -0.2, 0.05), (-0.4, 0.1, 0.0)


class Recorded(NamedTuple):
    t: FloatArray
    q: FloatArray
    on_robot: FloatArray

    def split(self, *, seed: int = 0, noise: float = 0.0, moved: Any = (0.0, 0.0, 0.0)) -> dict[Any, FloatArray]:
        """The wrench on two plates that share it at random; the first is said to stand where it does not."""
        rng = np.random.default_rng(seed)
        waves = np.sin(self.t[:, None] * rng.uniform(1.0, 5.0, 6) + rng.uniform(0.0, 6.0, 6))
        first = waves * [2.0, 2.0, 2.0, 10.0, 10.0, 10.0] + [0.0, 0.0, 0.0, 0.0, 0.0, 30.0]
        about_origin = first.copy()
        about_origin[:, :3] += np.cross(PLATE, first[:, 3:])
        second = self.on_robot - about_origin
        second[:, :3] -= np.cross(OTHER, second[:, 3:])
        sizes = noise * self.on_robot.std(axis=0)
        first, second = (w + sizes * coloured_noise(w.shape, 1.0, 0.8, seed + k) for k, w in enumerate((first, second)))
        return {tuple(np.add(PLATE, moved)): first, OTHER: second}


def recorded(robot: ch.Robot, *, seed: int = 1, duration: float = 12.0, rate: float = 100.0) -> Recorded:
    """A motion, and the external wrench about the world's origin: what changes the momentum besides the weight.

    Momenta of the bodies are those of points of mass and of turning ellipsoids, differentiated along fine splines.
    """
    motion = fourier_motion(robot.n, duration, rate, seed=seed, size=0.2, harmonics=8)
    q = np.asarray(robot.integrate(robot.home, motion.q))
    momentum, weight = np.zeros((len(q), 6)), np.zeros((len(q), 6))
    gravity = robot.description.gravity
    for link in robot.description.links:
        body = link.inertia
        if body is None or body.mass == 0.0:
            continue
        T = np.asarray(robot.forward_kinematics(q, target=link.name))
        center = T[:, :3, :3] @ body.center_of_mass + T[:, :3, 3]
        velocity = make_interp_spline(motion.t, center, k=9)(motion.t, 1)
        turning = make_interp_spline(motion.t, T[:, :3, :3], k=9)(motion.t, 1) @ np.swapaxes(T[:, :3, :3], 1, 2)
        spin = np.stack([turning[:, 2, 1], turning[:, 0, 2], turning[:, 1, 0]], axis=1)
        inertia = T[:, :3, :3] @ body.matrix @ np.swapaxes(T[:, :3, :3], 1, 2)
        momentum[:, :3] += np.cross(center, body.mass * velocity) + np.einsum("kij,kj->ki", inertia, spin)
        momentum[:, 3:] += body.mass * velocity
        weight[:, :3] += np.cross(center, body.mass * gravity)
        weight[:, 3:] += body.mass * gravity
    rate_of_momentum = make_interp_spline(motion.t, momentum, k=9)(motion.t, 1)
    return Recorded(motion.t, q, rate_of_momentum - weight)


def legs_of_one_side() -> ch.Robot:
    """A trunk and its two right legs; the left ones are locked."""
    robot = quadruped()
    return robot.edit.lock([name for name in robot.joint_names if name.startswith("l")])


ROBOT = legs_of_one_side()
REAL = ROBOT.inertial.perturbed({"mass": 0.25, "inertia": 0.25}, seed=2)
RECORDED, OTHER_RUN = recorded(REAL), recorded(REAL, seed=7, duration=6.0)


def log(**changes: Any) -> WrenchLog:
    run = RECORDED
    return WrenchLog(ROBOT, run.t, run.q, run.split(**changes))


def truth(found: WrenchIdentification, real: ch.Robot) -> FloatArray:
    return np.asarray(found.unknowns.to_base @ found.unknowns.of(real))


def test_without_noise_all_base_parameters_are_recovered() -> None:
    found = identify_from_wrenches(ROBOT, log(), cutoff=1000.0)
    base = ROBOT.inertial.base(columns=np.arange(10 * found.unknowns.bodies))
    assert len(found.parameters) == np.count_nonzero(base.independent < 10 * found.unknowns.bodies) == 52
    values = np.array([parameter.value for parameter in found.parameters])
    np.testing.assert_allclose(values, truth(found, REAL), rtol=0.0, atol=1e-6)
    assert all(parameter.determined for parameter in found.parameters)
    assert not found.findings


def test_wrenches_at_moving_frames_and_measured_velocities_serve_as_well() -> None:
    run, foot = RECORDED, "rf_foot"
    place = np.asarray(ROBOT.forward_kinematics(run.q, target=foot))[:, :3, 3]
    at_foot = run.on_robot.copy()
    at_foot[:, :3] -= np.cross(place, at_foot[:, 3:])
    step = 1e-6
    spline = make_interp_spline(run.t, run.q, k=7)
    qd = np.asarray(ROBOT.difference(spline(run.t - step), spline(run.t + step))) / (2.0 * step)
    found = identify_from_wrenches(ROBOT, WrenchLog(ROBOT, run.t, run.q, {foot: at_foot}, qd=qd))
    assert found.mass[0] == pytest.approx(REAL.description.mass, abs=1e-3)


@pytest.mark.parametrize("seed", [0, 1])
def test_with_noise_the_truth_is_inside_the_intervals_and_other_logs_are_predicted(seed: int) -> None:
    found = identify_from_wrenches(ROBOT, log(seed=seed, noise=0.003))
    intervals = np.array([parameter.interval for parameter in found.parameters])
    true = truth(found, REAL)
    assert np.mean((intervals[:, 0] < true) & (true < intervals[:, 1])) > 0.9
    mass, error = found.mass
    assert abs(mass - REAL.description.mass) < 3.0 * error < 0.02
    unseen = WrenchLog(ROBOT, OTHER_RUN.t, OTHER_RUN.q, OTHER_RUN.split(seed=5))
    of_prior = replace(found, values=ROBOT.inertial.values[: len(found.values)])
    assert 1.0 - found.score(unseen) < 0.1 * (1.0 - of_prior.score(unseen))
    assert "mass 10.5" in found.summary()
    assert not found.findings


def test_bodies_exist_and_the_rest_of_the_model_is_that_of_the_prior() -> None:
    found = identify_from_wrenches(ROBOT.with_friction(viscous={"rf_hip": 0.3}), log(noise=0.05))
    bodies = found.values.reshape(-1, 10)
    J = np.asarray(ch.geometry.pseudo_inertia_from_inertial_parameters(bodies))
    assert np.linalg.eigvalsh(J).min() > 0.0
    assert found.model.description.joint("rf_hip").viscous_friction == 0.3
    np.testing.assert_allclose(found.model.inertial.values[: bodies.size], found.values, rtol=1e-9, atol=1e-12)


def test_two_recordings_with_a_gap_are_two_logs() -> None:
    run, wrenches = RECORDED, RECORDED.split(noise=0.01)
    parts = (slice(0, 500), slice(600, 1200))
    logs = [
        WrenchLog(ROBOT, run.t[part], run.q[part], {place: wrench[part] for place, wrench in wrenches.items()})
        for part in parts
    ]
    mass, error = identify_from_wrenches(ROBOT, logs).mass
    assert abs(mass - REAL.description.mass) < 3.0 * error < 0.02
    both = np.r_[parts]
    with pytest.raises(ArgumentError, match=r"time has a gap of 1.01 s at 4.99 s: make a WrenchLog of each part"):
        WrenchLog(ROBOT, run.t[both], run.q[both], {place: wrench[both] for place, wrench in wrenches.items()})


@pytest.mark.parametrize("moved", [(0.03, 0.0, 0.0), (0.0, 0.0, -0.03)])
def test_a_plate_that_stands_elsewhere_is_named_with_its_place(moved: tuple[float, float, float]) -> None:
    with pytest.warns(IdentificationWarning, match="check the origin of the plate"):
        found = identify_from_wrenches(ROBOT, log(noise=0.003, moved=moved))
    (finding,) = found.findings
    said, better = (np.array(eval(finding.facts[name])) for name in ("place", "better"))
    np.testing.assert_allclose(said, np.add(PLATE, moved), atol=1e-3)
    np.testing.assert_allclose(better, PLATE, atol=5e-3)


def test_references_are_heavy_enough_for_a_gripper_at_the_ends_of_the_tree_alone() -> None:
    """Of slender links each: of 1 kg, 0.3 m long and 1 cm thick."""
    rod = Inertia(1.0, [0.15, 0.0, 0.0], np.diag([5e-5, 7.5e-3, 7.5e-3]))
    links = [Link("link0"), *(Link(f"link{k}", rod) for k in (1, 2, 3))]
    joints = [Joint(f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", axis=[0.0, 0.0, 1.0]) for k in (1, 2, 3)]
    arm = ch.Robot(Description("rods", tuple(links), tuple(joints)))
    known = np.asarray(ch.geometry.pseudo_inertia_from_inertial_parameters(arm.inertial.values[:30].reshape(3, 10)))
    J = reference_bodies(arm, 3, only_ends=True)
    thickness = np.linalg.eigvalsh(J[:, :3, :3])[:, 0] / np.linalg.eigvalsh(known[:, :3, :3])[:, 0]
    assert (thickness[:2] < 10.0).all()
    assert thickness[2] > 25.0


@pytest.mark.slow
def test_intervals_of_determined_parameters_hold_the_truth_on_an_arm_of_slender_links() -> None:
    """The links' gyration radii are a quarter of a gripper's, and the base is heavy; each log has another truth."""
    arm = ch.load("z1").with_payload(5.0, inertia=0.05 * np.eye(3), frame="link0").with_free_base()
    held = []
    for seed in range(4):
        real = arm.inertial.perturbed({"mass": 0.25, "inertia": 0.25}, seed=seed)
        run = recorded(real, seed=seed)
        noise = coloured_noise(run.on_robot.shape, 1.0, 0.8, seed)
        measured = run.on_robot + 0.01 * run.on_robot.std(axis=0) * noise
        found = identify_from_wrenches(arm, WrenchLog(arm, run.t, run.q, {(0.0, 0.0, 0.0): measured}))
        for parameter, value in zip(found.parameters, truth(found, real), strict=True):
            if parameter.determined:
                held.append(parameter.interval[0] < value < parameter.interval[1])
    assert len(held) > 80
    assert np.mean(held) > 0.9


def test_what_is_saved_is_what_was_identified(tmp_path: Path) -> None:
    found = identify_from_wrenches(ROBOT, log(noise=0.003))
    again = ch.identification.load(found.save(tmp_path / "found.npz"))
    assert isinstance(again, WrenchIdentification)
    assert again.model == found.model
    assert again.summary() == found.summary()
    np.testing.assert_array_equal(again.covariance, found.covariance)
    unseen = WrenchLog(ROBOT, OTHER_RUN.t, OTHER_RUN.q, OTHER_RUN.split(seed=5))
    assert again.score(unseen) == found.score(unseen)
    assert sum(now for _, now in found.masses.values()) == pytest.approx(found.mass[0])
    page = found.report(tmp_path / "page.html").read_text()
    assert "rms" in page.lower()
    assert "rf_foot" not in found.masses
    assert all(name in page for name in found.masses)


def test_command_identifies_from_a_table_with_wrenches(tmp_path: Path) -> None:
    run, wrenches = RECORDED, RECORDED.split(noise=0.003)
    heads = ["t", *(f"q_{name}" for name in ROBOT.description.coordinate_names)]
    heads += [f"{plate}_{axis}" for plate in ("one", "two") for axis in ("mx", "my", "mz", "fx", "fy", "fz")]
    file, robot, out = tmp_path / "gait.csv", tmp_path / "legs.toml", tmp_path / "real.toml"
    rows = np.column_stack([run.t, run.q, *wrenches.values()])
    np.savetxt(file, rows, delimiter=",", header=",".join(heads), comments="", fmt="%.9g")
    ROBOT.save(robot)
    words = ["identify", str(file), "--robot", str(robot), "--out", str(out), "--report", str(tmp_path / "page.html")]
    words += ["--wrench", "0.3,-0.2,0.05=one_{axis}", "--wrench", "-0.4,0.1,0=two_{axis}"]
    answer = CliRunner().invoke(application, words)
    assert answer.exit_code == 0, answer.output
    assert "mass 10.5" in answer.stdout
    assert ch.load(out).description.mass == pytest.approx(REAL.description.mass, abs=0.02)
    assert (tmp_path / "page.html").exists()
    answer = CliRunner().invoke(application, [*words[:4], "--wrench", "0.3,0=one_{axis}"])
    assert "expected a frame of the robot or 3 numbers, not '0.3,0'" in " ".join(answer.output.split())
    answer = CliRunner().invoke(application, [*words[:4], "--wrench", "0,0,0=three_{axis}"])
    assert "three_mx" in answer.output


def _broken(what: str) -> dict[str, Any]:
    run = RECORDED
    arguments: dict[str, Any] = {"time": run.t, "q": run.q.copy(), "wrenches": run.split()}
    if what == "quaternion":
        arguments["q"][17, :4] *= 1.3
    elif what == "order":
        arguments["q"] = np.roll(arguments["q"], 3, axis=1)
    elif what == "columns":
        arguments["wrenches"] = {PLATE: run.on_robot[:, :3]}
    elif what == "nothing":
        arguments["wrenches"] = {}
    elif what == "frame":
        arguments["wrenches"] = {"left plate": run.on_robot}
    elif what == "sign":
        arguments["wrenches"] = {place: -wrench for place, wrench in run.split().items()}
    elif what == "time":
        arguments["time"] = run.t[::-1]
    elif what == "missing":
        arguments["wrenches"][PLATE][40] = np.nan
    return arguments


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("quaternion", "the quaternion of 'base' has length 1.3 at sample 17, not 1"),
        ("order", "the quaternion of 'base' has length"),
        ("columns", r"wrenches\[\(0.3, -0.2, 0.05\)\] .*shape"),
        ("nothing", "wrenches must be a mapping from at least one place"),
        ("frame", "left plate"),
        ("sign", "pull the robot down.*change the sign"),
        ("time", "time must increase"),
        ("missing", "wrenches.*finite"),
    ],
)
def test_what_a_log_cannot_be_is_said(what: str, said: str) -> None:
    with pytest.raises(ChaslesError, match=said):
        WrenchLog(ROBOT, **_broken(what))


def refused(wrenches: dict[Any, FloatArray], samples: int = 1200, **options: Any) -> str:
    """What is said of a log with the recorded motion."""
    run = RECORDED
    shorter = {place: wrench[:samples] for place, wrench in wrenches.items()}
    recording = WrenchLog(ROBOT, run.t[:samples], run.q[:samples], shorter)
    with pytest.raises(IdentificationError) as error:
        identify_from_wrenches(ROBOT, recording, **options)
    return str(error.value)


def test_logs_that_tell_nothing_are_refused() -> None:
    run = RECORDED
    assert "zero or constant" in refused({"trunk": np.zeros((1200, 6))})
    assert "times as long" in refused(run.split(), samples=60, cutoff=2.0)
    turned = {place: wrench[:, [2, 1, 0, 4, 3, 5]] for place, wrench in run.split().items()}
    assert "bodies do not explain the measured forces" in refused(turned)
    ten_samples = {place: wrench[:10] for place, wrench in run.split().items()}
    with pytest.raises(ArgumentError, match="has 10 samples; identification needs at least 30"):
        identify_from_wrenches(ROBOT, WrenchLog(ROBOT, run.t[:10], run.q[:10], ten_samples))
    still = WrenchLog(ROBOT, run.t, np.tile(ROBOT.home, (1200, 1)), run.split())
    with pytest.raises(ArgumentError, match="no joint moves"):
        identify_from_wrenches(ROBOT, still)


def test_a_prior_without_masses_is_enough() -> None:
    weightless = ROBOT.inertial.with_values(0.0 * ROBOT.inertial.values, check=False)
    mass, error = identify_from_wrenches(weightless, log(noise=0.003)).mass
    assert abs(mass - REAL.description.mass) < 3.0 * error < 0.02


def test_logs_of_other_robots_are_refused() -> None:
    arm = ch.load("planar2r")
    with pytest.raises(ArgumentError, match="needs a free joint before all others"):
        identify_from_wrenches(arm, log())
    with pytest.raises(ArgumentError, match="whose joints are not those of 'planar2r'"):
        identify_from_wrenches(arm.with_free_base(), log())
    with pytest.raises(ArgumentError, match="takes a WrenchLog"):
        identify_from_wrenches(ROBOT, {"t": RECORDED.t})  # type: ignore[arg-type]
