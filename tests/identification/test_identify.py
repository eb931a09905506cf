"""Identification: what is found in synthetic logs, how sure it is, and what is refused."""

from __future__ import annotations

import re
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from tests.identification.synthetic_logs import (
    Motion,
    coloured_noise,
    coverage,
    everyday_log,
    everyday_motion,
    fourier_motion,
    real_planar,
    table,
)

import chasles as ch
from chasles.base.errors import ArgumentError, IdentificationError, UnknownNameError
from chasles.base.findings import codes, of_weight
from chasles.identification import Identification, choose_cutoff, filtered_signals, gains_from_payload, shipped_log
from chasles.identification.judgement import DOUBTS

FloatArray = NDArray[np.float64]

ARM = ch.load("planar2r")
REAL = real_planar()
MOTION = fourier_motion(2, 20.0, seed=1)
TAU = np.asarray(REAL.inverse_dynamics(MOTION.q, MOTION.qd, MOTION.qdd))
HALVES = slice(0, 1000), slice(1000, 2000)


@pytest.fixture(scope="module")
def result() -> Identification:
    return ch.identify(ARM, table(MOTION, TAU + coloured_noise(TAU.shape, 0.2, 0.9, 0)))


def test_parameters_lie_in_their_intervals(result: Identification) -> None:
    base = REAL.inertial.base()
    for name, value in zip(base.names, base.values, strict=True):
        joint, _, quantity = name.rpartition(".")
        own = {"viscous_friction": "viscous", "coulomb_friction": "coulomb"}.get(quantity, quantity)
        found = result[f"{joint}.{own}"]
        assert abs(found.value - value) < 4.0 * found.error


def test_unseen_motion_is_predicted(result: Identification) -> None:
    other = fourier_motion(2, 12.0, seed=5, size=0.5)
    truth = np.asarray(REAL.inverse_dynamics(other.q, other.qd, other.qdd))
    size = np.sqrt(np.mean(truth**2, axis=0))
    error = np.asarray(result.model.inverse_dynamics(other.q, other.qd, other.qdd)) - truth
    assert (np.sqrt(np.mean(error**2, axis=0)) < 0.05 * size).all()
    assert np.abs(error).max() < 0.03 * size.max()
    assert (result.predictions["model", "unseen"].relative() < result.predictions["prior", "unseen"].relative()).all()


def test_unseen_errors_are_as_large_as_the_fit_lets_expect(result: Identification) -> None:
    """With the true structure of the model, errors are those of the noise and of the estimates."""
    errors = result.predictions["model", "unseen"].rms()
    assert (np.abs(np.log(errors / result.expected)) < np.log(2.0)).all()


def test_the_summary_has_a_line_for_each_joint(result: Identification) -> None:
    head, *joints, units, masses = result.summary().splitlines()[:5]
    assert head.split() == ["unseen", "data", "measured", "prior", "model", "expected", "noise", "largest", "resting"]
    assert [line.split()[0] for line in joints] == list(ARM.velocity_names)
    prediction = result.predictions["model", "unseen"]
    for k, line in enumerate(joints):
        assert line.split()[3] == f"{prediction.relative()[k]:.1%}"
    assert f"(below {result.band:.3g} Hz: RMS effort while moving" in units
    before, now = (sum(column) for column in zip(*result.masses.values(), strict=True))
    assert masses == f"moving mass {now:.3g} kg (prior {before:.3g} kg)"
    assert before == sum(link.inertia.mass for link in ARM.description.links)
    assert repr(result).startswith("<Identification of 'planar2r': ")


def clipped(level: float) -> dict[str, FloatArray]:
    """Log whose first joint's effort is cut off at a share of its largest value."""
    limit = level * np.abs(TAU[:, 0]).max()
    tau = TAU + coloured_noise(TAU.shape, 0.05, 0.5, 0)
    return table(MOTION, np.clip(tau, [-limit, -np.inf], [limit, np.inf]))


def test_saturated_samples_are_left_out_of_the_fit_and_of_its_judgement() -> None:
    """With them the error would be 0.86 N·m at 90 %, and the fit would be refused at 85 %."""
    for level, largest in ((0.9, 0.1), (0.85, 0.1)):
        found = ch.identify(ARM, clipped(level))
        error = np.asarray(found.model.inverse_dynamics(MOTION.q, MOTION.qd, MOTION.qdd)) - TAU
        assert error.std(axis=0).max() < largest
        own = {finding.facts["joint"] for finding in found.findings if finding.rule.code == "saturated-effort"}
        assert own == {"joint1"}


def test_a_log_that_saturates_most_of_the_time_is_refused() -> None:
    with pytest.raises(IdentificationError, match=r"effort of 'joint1' saturates in or near \d+% of the samples"):
        ch.identify(ARM, clipped(0.6), check=False)


def test_measured_velocities_are_used_if_they_carry_less_noise_than_differences() -> None:
    rng, data = np.random.default_rng(3), table(MOTION, TAU)
    rough = MOTION.q + 1e-4 * rng.normal(size=MOTION.q.shape)
    quiet = MOTION.qd + 1e-4 * rng.normal(size=MOTION.qd.shape)
    loud = MOTION.qd + 0.1 * rng.normal(size=MOTION.qd.shape)
    for qd, derivative in ((quiet, "measured velocities"), (loud, "positions")):
        log = ch.Log(ARM, {**data, "q": rough, "qd": qd})
        assert log.qd is not None
        assert filtered_signals(log).derivative == derivative


def test_bodies_can_exist_in_exact_arithmetic(result: Identification) -> None:
    """Leading minors of each pseudo-inertia are positive, computed without rounding from the stored numbers."""
    assert result.model.inertial.inconsistencies() == {}
    for m, mx, my, mz, xx, xy, xz, yy, yz, zz in result.model.inertial.values[:20].reshape(2, 10).tolist():
        I = [[Fraction(v) for v in row] for row in ([xx, xy, xz], [xy, yy, yz], [xz, yz, zz])]
        half = sum(I[i][i] for i in range(3)) / 2
        S = [[(half if i == j else 0) - I[i][j] for j in range(3)] for i in range(3)]
        h = [Fraction(v) for v in (mx, my, mz)]
        J = [[*S[i], h[i]] for i in range(3)] + [[*h, Fraction(m)]]
        for size in range(1, 5):
            assert determinant([row[:size] for row in J[:size]]) > 0


def determinant(M: list[list[Fraction]]) -> Fraction:
    if len(M) == 1:
        return M[0][0]
    minors = ([row[:k] + row[k + 1 :] for row in M[1:]] for k in range(len(M)))
    return sum(((-1) ** k * M[0][k] * determinant(minor) for k, minor in enumerate(minors)), Fraction(0))


def rich(robot: ch.Robot, seed: int) -> ch.Robot:
    """Robot with friction of all kinds, drawn at random, and rotors that its description does not have."""
    rng, n = np.random.default_rng(seed), robot.n
    torque = np.asarray(robot.inverse_dynamics(*fourier_motion(n, seed=seed)[1:])).std(axis=0) + 0.2
    rotors = robot.inertial.values
    rotors[-3 * n + 2 :: 3] += rng.uniform(0.2, 0.6, n) * torque
    share = rng.uniform(0.2, 0.8, (n, 1))
    return robot.inertial.with_values(rotors).with_friction(
        viscous=rng.uniform(0.05, 0.2, n) * torque, coulomb=rng.uniform(0.05, 0.2, n) * torque,
        coulomb_velocity=np.array([0.03, 0.3]) * rng.uniform(0.7, 1.4, (n, 1)),
        coulomb_shares=np.hstack([share, 1.0 - share]),
        load=rng.uniform(0.05, 0.2, n), load_velocity=0.08, torque_offset=0.05 * rng.normal(size=n) * torque,
        torque_sine=0.1 * rng.normal(size=n) * torque, torque_cosine=0.1 * rng.normal(size=n) * torque,
    )  # fmt: skip


@pytest.mark.parametrize(("name", "seed"), [("planar2r", 4), pytest.param("xarm6", 7, marks=pytest.mark.slow)])
def test_friction_of_all_kinds_and_rotors_are_found(name: str, seed: int) -> None:
    arm = ch.load(name)
    real, motion = rich(arm, seed), everyday_motion(arm, seed)
    tau = np.asarray(real.inverse_dynamics(*motion[1:]))
    found = ch.identify(arm, table(motion, tau + 0.02 * tau.std(axis=0) * coloured_noise(tau.shape, 1.0, 0.9, seed)))
    other = everyday_motion(arm, seed + 1)
    truth = np.asarray(real.inverse_dynamics(*other[1:]))
    error = np.asarray(found.model.inverse_dynamics(*other[1:])) - truth
    assert (error.std(axis=0) < 0.08 * truth.std(axis=0)).all()
    for joint, wanted in zip(found.model.description.joints, real.description.joints, strict=True):
        if joint.moves:
            assert abs(joint.load_friction - wanted.load_friction) < 0.03
    before, now = (sum(column) for column in zip(*found.masses.values(), strict=True))
    assert abs(now / before - 1.0) < 0.15


@pytest.mark.parametrize("friction", ["all", "urdf"])
def test_the_file_is_the_model_that_was_judged(tmp_path: Path, friction: Literal["all", "urdf"]) -> None:
    """Errors of the robot in the file, computed here with the filter alone, are those of the result."""
    arm, motion = ch.load("planar2r"), fourier_motion(2, 20.0, seed=3)
    tau = np.asarray(rich(arm, 5).inverse_dynamics(*motion[1:])) + coloured_noise((2000, 2), 0.2, 0.9, 0)
    first, second = ({name: values[rows] for name, values in table(motion, tau).items()} for rows in HALVES)
    found = ch.identify(arm, first, unseen=second, friction=friction)
    path = tmp_path / ("robot.urdf" if friction == "urdf" else "robot.toml")
    found.model.save(path)
    robot = ch.load(path)
    for part, source in (("training", first), ("unseen", second)):
        signals = filtered_signals(ch.Log(arm, source), found.band)
        torque = signals.filter(np.asarray(robot.inverse_dynamics(signals.q, signals.qd, signals.qdd)))[signals.kept()]
        told = found.predictions["model", part].predicted
        np.testing.assert_allclose(torque, told, atol=1e-5 * np.abs(told).max() if friction == "urdf" else 1e-9)
    errors = found.predictions["model", "unseen"].rms()
    np.testing.assert_allclose(found.predict(second).rms(), errors, rtol=1e-9)
    assert abs(found.score(second) - (1.0 - np.mean(found.predictions["model", "unseen"].relative() ** 2))) < 1e-9


def test_errors_are_judged_below_the_bandwidth_of_the_use() -> None:
    """Squared errors grow with the power of white noise in the band, 0.5² in 50 Hz; the fit stays where it was."""
    noisy = table(MOTION, TAU + coloured_noise(TAU.shape, 0.5, 0.0, 0))
    low, high = (ch.identify(ARM, noisy, cutoff=3.0, bandwidth=bandwidth) for bandwidth in (None, 12.0))
    assert (low.band, high.band) == (3.0, 12.0)
    np.testing.assert_array_equal(low.values, high.values)
    before, after = (one.predictions["model", "unseen"].rms() ** 2 for one in (low, high))
    np.testing.assert_allclose(after - before, 0.25 * (12.0 - 3.0) / 50.0, rtol=0.25)


def test_joints_that_moved_one_by_one_are_identified_from_several_logs() -> None:
    """Each log moves one joint; the other rests at some angle, where its friction holds it with any torque."""
    rng = np.random.default_rng(0)
    logs = []
    for moving, angles in ((0, (0.3, -1.0, 1.4)), (1, (-0.5, 0.2, 1.9))):
        for seed, angle in enumerate(angles):
            motion, mask = fourier_motion(2, 12.0, seed=10 * moving + seed), np.eye(2)[moving]
            q, qd, qdd = mask * motion.q + (1.0 - mask) * angle, mask * motion.qd, mask * motion.qdd
            tau = np.asarray(REAL.inverse_dynamics(q, qd, qdd)) + 0.05 * rng.normal(size=q.shape)
            tau += (1.0 - mask) * rng.uniform(-3.0, 3.0)  # stiction
            logs.append({"t": motion.t, "q": q + 1e-6 * rng.normal(size=q.shape), "tau": tau})
    found = ch.identify(ARM, logs)
    errors = found.predictions["model", "unseen"].relative()
    assert (errors < 0.03).all()
    error = np.asarray(found.model.inverse_dynamics(*MOTION[1:])) - TAU
    assert (error.std(axis=0) < 0.05 * TAU.std(axis=0)).all()
    assert len(found.log.recordings) == 6
    with pytest.raises(IdentificationError, match="joint 'joint2' rests throughout"):
        ch.identify(ARM, logs[:3])
    currents = ch.Log(ARM, {"t": logs[0]["t"], "q": logs[0]["q"], "current": logs[0]["tau"]})
    with pytest.raises(ArgumentError, match="differ in joints, motors, units of effort or delay"):
        ch.identify(ARM, [currents, logs[1]])


def test_masses_that_no_arm_carries_are_told() -> None:
    heavy = ARM.inertial.with_values(np.concatenate([4.0 * ARM.inertial.values[:20], ARM.inertial.values[20:]]))
    tau = np.asarray(heavy.inverse_dynamics(*MOTION[1:])) + coloured_noise(TAU.shape, 0.2, 0.9, 0)
    with pytest.warns(ch.identification.IdentificationWarning):
        found = ch.identify(ARM, table(MOTION, tau))
    (told,) = (finding for finding in found.findings if finding.rule.code == "other-mass")
    assert told.rule.weight == "caution"
    assert 2.0 < told.value < 6.0


@pytest.mark.slow
def test_intervals_cover() -> None:
    """Of 95 % intervals of 19 parameters in logs of 20 drawn arms with coloured noise, most hold the truth."""
    assert 0.90 < coverage(ARM, 20) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5", "xarm6", "z1", "iiwa14"])
def test_intervals_cover_93_to_97_percent(name: str) -> None:
    assert 0.93 < coverage(ch.load(name), 50) < 0.97


def test_what_the_motion_does_not_excite_stays_near_the_prior_and_is_said() -> None:
    arm = ch.load("scara")
    q = arm.home + 0.4 * np.sin(np.outer(np.arange(0.0, 20.0, 0.01), [0.9, 1.3, 0.0, 0.0]))
    q[:, 2] += 0.005 * np.sin(0.3 * np.arange(len(q)) * 0.01)
    q[:, 3] += 0.01 * np.sin(0.5 * np.arange(len(q)) * 0.01)
    t = 0.01 * np.arange(len(q))
    qd = np.gradient(q, 0.01, axis=0)
    tau = np.asarray(arm.inverse_dynamics(q, qd, np.gradient(qd, 0.01, axis=0)))
    tau += coloured_noise(tau.shape, 0.02, 0.5, 1)
    found = ch.identify(arm, {"t": t, "q": q, "tau": tau}, check=False)
    (open_ones,) = (finding for finding in found.findings if finding.rule.code == "undetermined-parameters")
    assert open_ones.value == sum(not parameter.determined for parameter in found.parameters) > 0
    assert found.model.inertial.inconsistencies() == {}


def test_currents_give_relative_gains_and_say_so() -> None:
    gains = np.array([7.0, -3.0])
    data = {"t": MOTION.t, "q": MOTION.q, "current": (TAU + coloured_noise(TAU.shape, 0.05, 0.0, 0)) / gains}
    found = ch.identify(REAL.with_friction(viscous=0.0, coulomb=0.0), data)
    assert found.drive_gains is not None
    assert np.abs(found.drive_gains.values - gains).max() < 0.4
    (told,) = (finding for finding in found.findings if finding.rule.code == "drive-gains")
    assert told.value == 2


def test_coupled_drives_are_identified_and_the_file_has_them(tmp_path: Path) -> None:
    """Motor 2 moves with both joints: its rotor and friction act on both, written out here."""
    G, rotors = np.array([[50.0, 0.0], [-40.0, 80.0]]), np.array([1.5, 0.8])
    C = np.array([[1.0, 0.0], [-0.5, 1.0]])
    smooth = REAL.with_friction(viscous=0.0, coulomb=0.0)

    def torques(motion: Motion) -> FloatArray:
        rates = motion.qd @ C.T
        dry = np.array([3.0, 2.5]) * np.tanh(rates / 0.08)
        of_motors = np.array([2.0, 1.5]) * rates + dry + rotors * (motion.qdd @ C.T)
        return np.asarray(smooth.inverse_dynamics(motion.q, motion.qd, motion.qdd)) + of_motors @ C

    tau = torques(MOTION)
    motors = {"t": MOTION.t, "q": MOTION.q @ G.T, "tau": np.linalg.solve(G.T, tau.T).T}
    found = ch.identify(ARM, ch.Log(ARM, motors, motor_from_joint=G))
    assert abs(found["joint2.coulomb"].value - 2.5) < 0.1
    assert abs(found["joint2.viscous"].value - 1.5) < 0.1
    found.model.save(tmp_path / "robot.toml")
    robot, other = ch.load(tmp_path / "robot.toml"), fourier_motion(2, 12.0, seed=5, size=0.5)
    assert np.array_equal(robot.description.drive_coupling, C)
    expected, uncoupled = torques(other), robot.with_drive_coupling(np.eye(2))
    errors = [np.asarray(one.inverse_dynamics(*other[1:])) - expected for one in (robot, uncoupled)]
    sizes = [np.sqrt(np.mean(error**2, axis=0)) for error in errors]
    assert (sizes[0] < 0.03 * np.sqrt(np.mean(expected**2, axis=0))).all()
    assert (sizes[1] > 5.0 * sizes[0]).all()
    # A log at the joints is read with the drives of the robot.
    again = ch.identify(robot, table(MOTION, tau))
    assert np.array_equal(again.log.coupling, C)
    assert abs(again["joint2.coulomb"].value - 2.5) < 0.1


def test_outliers_hardly_matter() -> None:
    rng = np.random.default_rng(0)
    tau = TAU + 0.05 * rng.normal(size=TAU.shape)
    spoiled = tau.copy()
    spoiled[rng.integers(0, len(tau), 12)] += 60.0
    clean, robust = (ch.identify(ARM, table(MOTION, own), cutoff=20.0) for own in (tau, spoiled))
    for a, b in zip(clean.parameters, robust.parameters, strict=True):
        assert abs(a.value - b.value) < 6.0 * max(a.error, b.error)
    assert robust.outliers.max() > 0.0


def changed(**changes: np.ndarray) -> dict[str, np.ndarray]:
    return {"t": MOTION.t, "q": MOTION.q, "tau": TAU} | changes


@pytest.mark.parametrize(
    ("data", "code", "joints"),
    [
        (changed(q=MOTION.q * [1.0, 0.0]), "joint-rests", {"joint2"}),
        (changed(tau=-TAU), "friction-drives", {"joint1", "joint2"}),
        (changed(tau=TAU * [1.0, -1.0]), "friction-drives", {"joint2"}),
        (changed(tau=0.0 * TAU), "no-effort", {None}),
        (changed(qd=-MOTION.qd), "velocity-opposite", {"joint1", "joint2"}),
        (changed(tau=np.random.default_rng(0).normal(size=TAU.shape)), "nothing-predicted", {None}),
    ],
)
def test_logs_without_rank_and_robots_that_cannot_exist_are_refused(
    data: dict[str, np.ndarray], code: str, joints: set[str | None]
) -> None:
    with pytest.raises(IdentificationError) as refused:
        ch.identify(ARM, data)
    refusals = of_weight(refused.value.findings, "refusal")
    assert {(f.rule.code, f.facts.get("joint")) for f in refusals} == {(code, joint) for joint in joints}
    assert all(str(finding) in str(refused.value) for finding in refused.value.findings)


def test_motion_is_needed() -> None:
    with pytest.raises(IdentificationError, match="no joint moves"):
        ch.identify(ARM, changed(q=np.zeros_like(MOTION.q)))


@pytest.mark.parametrize(
    ("data", "reading"),
    [
        (changed(tau=TAU[:, ::-1]), "the efforts of 'joint1' and 'joint2' exchanged"),
        (changed(q=MOTION.q + np.array([0.5 * np.pi, 0.0])), "-90° added to the position of 'joint1'"),
    ],
)
def test_another_reading_that_fits_far_better_is_offered(data: dict[str, np.ndarray], reading: str) -> None:
    with pytest.warns(ch.identification.IdentificationWarning, match=re.escape(reading)):
        found = ch.identify(ARM, data, check=False)
    (offer,) = (finding for finding in found.findings if finding.rule.code == "other-reading")
    assert offer.facts["reading"] == reading
    assert offer.value > offer.rule.limit


@pytest.mark.parametrize("gravity", [[0.0, 0.0, 9.81], [6.94, 6.94, 0.0]])  # on the ceiling, and on a wall
def test_the_mounting_is_told_with_its_direction(gravity: list[float]) -> None:
    arm = ch.load("ur5")
    t, q, qd, qdd = everyday_motion(arm, 3)
    tau = np.asarray(arm.with_gravity(gravity).inverse_dynamics(q, qd, qdd))
    tau += 0.02 * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ch.identification.IdentificationWarning)
        found = ch.identify(arm, {"t": t, "q": q, "tau": tau}, check=False)
    (offer,) = (finding for finding in found.findings if finding.rule.code == "other-mounting")
    told = [offer.facts[axis] for axis in "xyz"]
    assert np.allclose(told, np.array(gravity) / np.linalg.norm(gravity), atol=0.1)


def bare(robot: ch.Robot) -> ch.Robot:
    """Robot of which only the geometry is known."""
    rows = [{"theta": 0.0, "d": 0.0, "a": a, "alpha": 0.0} for a in (0.5, 0.25)]
    arm = ch.Robot.from_dh(rows, name="bare").with_gravity(robot.description.gravity)
    assert np.allclose(arm.forward_kinematics([0.3, 0.4]), robot.forward_kinematics([0.3, 0.4]))
    return arm


def test_a_robot_without_masses_is_identified(result: Identification) -> None:
    arm = bare(ARM)
    found = ch.identify(arm, table(MOTION, TAU + coloured_noise(TAU.shape, 0.2, 0.9, 0)))
    assert "guessed-masses" in codes(found.findings)
    assert codes(of_weight(found.findings, "caution")) == codes(of_weight(result.findings, "caution"))
    ratio = found.predictions["model", "unseen"].rms() / found.predictions["least squares", "unseen"].rms()
    assert float(np.exp(np.log(ratio).mean())) < 1.1
    assert arm.description.mass == 0.0
    with pytest.raises(IdentificationError, match=r"nothing tells newtons from amperes.*drive_gains"):
        ch.identify(arm, ch.Log(arm, table(MOTION, TAU), units={"effort": "A"}))


def misalignments_told(
    data: dict[str, np.ndarray], arm: ch.Robot = ARM, delay: ArrayLike = 0.0
) -> list[tuple[str, float, float]]:
    """Codes, sizes and half intervals of findings about delays (s) and zeros (°)."""
    found = ch.identify(arm, ch.Log(arm, data, delay=delay)).findings
    sizes = {"effort-delay": "delay", "joint-effort-delay": "delay", "zero-offset": "degrees"}
    told = ((f.rule.code, f.record) for f in found if f.rule.code in sizes)
    return [(code, float(str(own[sizes[code]])), float(str(own["half"]))) for code, own in told]


def test_a_delay_of_the_efforts_is_told_with_its_size() -> None:
    noise = coloured_noise(TAU.shape, 0.2, 0.9, 0)
    assert misalignments_told(changed(tau=TAU + noise)) == []
    late = np.stack([np.interp(MOTION.t - 0.03, MOTION.t, own) for own in TAU.T], axis=1)
    ((code, delay, half),) = misalignments_told(changed(tau=late + noise))
    assert code == "effort-delay"
    assert abs(delay - 0.03) < 2.0 * half < 0.01
    assert misalignments_told(changed(tau=late + noise), delay=0.03) == []
    ((_, rest, half),) = misalignments_told(changed(tau=late + noise), delay=0.06)
    assert abs(rest + 0.03) < 2.0 * half


@pytest.mark.slow
def test_the_delay_of_one_joint_is_told_by_its_name() -> None:
    arm = ch.load("ur5")
    log = everyday_log(arm, 4)
    late = log["tau"].copy()
    late[:, 2] = np.interp(log["t"] - 0.04, log["t"], late[:, 2])
    found = ch.identify(arm, log | {"tau": late}).findings
    (alone,) = (finding for finding in found if finding.rule.code == "joint-effort-delay")
    assert alone.facts["joint"] == arm.joint_names[2]
    ((_, delay, half),) = misalignments_told(log | {"tau": late}, arm)
    assert abs(delay - 0.04) < 2.0 * half < 0.02
    declared = [float(one) for one in str(alone.facts["declared"]).split(",")]
    assert misalignments_told(log | {"tau": late}, arm, declared) == []


@pytest.mark.slow
def test_a_small_offset_of_a_zero_is_told_with_its_size() -> None:
    arm = ch.load("panda")
    log = everyday_log(arm, 2)
    assert misalignments_told(log, arm) == []
    ((code, offset, half),) = misalignments_told(log | {"q": log["q"] + np.radians(3.0) * np.eye(7)[1]}, arm)
    assert code == "zero-offset"
    assert abs(offset + 3.0) < 2.0 * half < 3.0


def test_units_that_cannot_be_right_are_told_or_refused() -> None:
    limits = [
        joint.replace(limits=joint.limits.replace(lower=-4.0, upper=4.0, velocity=4.0))
        for joint in ARM.description.joints
    ]
    arm = ch.Robot(ARM.description.replace(joints=tuple(limits)))
    with pytest.warns(ch.identification.IdentificationWarning, match=r"in another unit than N·m"):
        found = ch.identify(arm, changed(tau=1e3 * TAU))
    (weight,) = (finding for finding in found.findings if finding.rule.code == "other-weight")
    assert 500.0 < weight.value < 2000.0
    at_motors = changed(q=101.0 * MOTION.q, tau=TAU)
    with pytest.raises(ArgumentError, match=r"declare units=\{'q': 'deg'\}"):
        ch.identify(arm, at_motors)
    with pytest.raises(IdentificationError) as refused:
        ch.identify(arm, ch.Log(arm, at_motors, units={"q": "rad"}))
    assert {"beyond-limits", "too-fast"} == set(codes(refused.value.findings))
    read = ch.Log(arm, {**at_motors, "tau": TAU / 101.0}, motor_from_joint=[101.0, 101.0])
    assert ch.identify(arm, read).predictions["model", "unseen"].relative().max() < 0.01
    with pytest.raises(IdentificationError) as refused:
        ch.identify(arm, ch.Log(arm, changed(), units={"time": "ms"}))
    assert codes(refused.value.findings) == ["too-fast"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "panda", "ur5", "xarm6"])
def test_one_column_turned_or_two_exchanged_are_detected_and_right_logs_pass(name: str) -> None:
    arm = ch.load(name)
    log = everyday_log(arm, 1)
    assert not DOUBTS & set(codes(ch.identify(arm, log).findings))
    rng = np.random.default_rng(0)
    for column in ("q", "tau"):
        a, b = (int(joint) for joint in rng.permutation(arm.n)[:2])
        turned, exchanged = log[column].copy(), log[column].copy()
        turned[:, a] *= -1.0
        exchanged[:, [a, b]] = exchanged[:, [b, a]]
        for values in (turned, exchanged):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ch.identification.IdentificationWarning)
                found = ch.identify(arm, log | {column: values}, check=False).findings
            assert of_weight(found, "refusal") or DOUBTS & set(codes(found))


def ur10_log_as(name: str) -> Identification:
    """The log of a UR10, read as if another robot of six joints had moved so."""
    names = {"q": [f"q{k}_rad" for k in range(1, 7)], "effort": [f"effort{k}" for k in range(1, 7)]}
    arm = ch.load(name)
    return ch.identify(arm, ch.Log(arm, shipped_log("ur10"), columns=names))


def test_a_log_of_another_robot_is_refused() -> None:
    with pytest.raises(IdentificationError) as refused:
        ur10_log_as("puma560")
    assert "beyond-limits" in codes(refused.value.findings)


def test_a_log_of_a_similar_robot_is_doubted() -> None:
    """A UR5 has the same axes: its regressor explains the log, with twice the weight."""
    with pytest.warns(ch.identification.IdentificationWarning, match="another robot than 'ur5'"):
        found = ur10_log_as("ur5")
    (weight,) = (finding for finding in found.findings if finding.rule.code == "other-weight")
    assert 2.0 < weight.value < 3.0  # by their data sheets 33 kg and 21 kg, and reaches of 1.3 and 0.85 m


def test_two_samples_are_refused() -> None:
    with pytest.raises(ArgumentError, match="2 complete samples; at least 8"):
        ch.identify(ARM, {name: column[:2] for name, column in table(MOTION, TAU).items()})


def test_short_logs_are_refused() -> None:
    few = slice(0, 60)
    with pytest.raises(IdentificationError, match=r"times as long|no segment longer|no joint moves"):
        ch.identify(ARM, {"t": MOTION.t[few], "q": MOTION.q[few], "tau": TAU[few]})


def test_wrong_arguments() -> None:
    with pytest.raises(UnknownNameError, match="there is no friction 'stribeck'"):
        ch.identify(ARM, table(MOTION, TAU), friction="stribeck")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the list is empty"):
        ch.identify(ARM, [])
    with pytest.raises(IdentificationError, match="has 2 joints"):
        ch.identify(ch.load("puma560"), ch.Log(ARM, table(MOTION, TAU)))


def test_the_cutoff_follows_the_motion() -> None:
    slow, fast = (
        choose_cutoff(ch.Log(ARM, table(Motion(k * MOTION.t, *MOTION[1:]), TAU))).frequency for k in (1.0, 0.5)
    )
    assert abs(fast / slow - 2.0) < 0.01
    assert 0.5 < slow < 3.0


def test_filtered_signals_have_no_lag() -> None:
    noisy = MOTION.q + 1e-4 * np.random.default_rng(0).normal(size=MOTION.q.shape)
    signals = filtered_signals(ch.Log(ARM, {"t": MOTION.t, "q": noisy, "tau": TAU}))
    inner = signals.kept()
    exact = [np.stack([np.interp(signals.time, MOTION.t, x) for x in part.T], axis=1) for part in MOTION[2:]]
    for found, wanted, share in ((signals.qd, exact[0], 0.005), (signals.qdd, exact[1], 0.05)):
        assert np.abs(found - wanted)[inner].max() < share * np.abs(wanted).max()


def test_a_prismatic_joint_has_no_torques_of_a_revolution() -> None:
    rail = ch.Robot.from_dh(
        [{"kind": "prismatic", "alpha": 0.5 * np.pi, "mass": 1.0}, {"a": 0.5, "mass": 1.0}], check=False
    )
    tau = np.asarray(rail.inverse_dynamics(*MOTION[1:])) + coloured_noise(TAU.shape, 0.02, 0.9, 0)
    found = ch.identify(rail, table(MOTION, tau))
    joint = found.model.description.joint("joint1")
    assert joint.torque_sine == joint.torque_cosine == found["joint1.sine"].value == 0.0


def test_weight_and_offset_of_a_vertical_prismatic_joint_are_said_to_be_inseparable() -> None:
    arm, motion = ch.load("scara"), fourier_motion(4, 10.0, size=0.1)
    tau = np.asarray(arm.inverse_dynamics(motion.q, motion.qd, motion.qdd)) * (1.0 + 0.01 * np.sin(motion.t))[:, None]
    found = ch.identify(arm, table(motion, tau))
    (together,) = (finding for finding in found.findings if finding.rule.code == "inseparable")
    assert "joint3.offset" in str(together.facts["names"])
    assert not found["joint3.offset"].determined
    assert found.condition < 1e4
    assert "poorly-separated" not in codes(found.findings)


def test_masses_stay_with_the_bodies_where_rotors_could_carry_them() -> None:
    """Along a prismatic axis a rotor and a mass do the same; nothing says that there is a rotor."""
    links = [
        {"kind": "prismatic", "alpha": 0.5 * np.pi, "mass": 5.0, "inertia": 0.1 * np.eye(3)},
        {"a": 0.4, "mass": 2.0},
    ]
    arm = ch.Robot.from_dh([links[0], {**links[1], "inertia": 0.05 * np.eye(3)}], check=False)
    assert arm.description.coordinate_units == ("m", "rad")
    motion = fourier_motion(2, 10.0, size=0.2)
    real = arm.with_payload(1.0)
    tau = np.asarray(real.inverse_dynamics(motion.q, motion.qd, motion.qdd))
    found = ch.identify(arm, table(motion, tau + 0.1 * coloured_noise(tau.shape, 1.0, 0.0, 0)))
    rotor = found.model.description.joints[0].motor_inertia
    assert rotor < 1.5
    assert sum(link.inertia.mass for link in found.model.description.links) > 6.0


def test_a_known_payload_gives_absolute_gains_whatever_the_masses_are() -> None:
    gains, noise = np.array([7.0, -3.0]), coloured_noise(TAU.shape, 0.02, 0.9, 0)
    carrying = (ARM.with_payload(mass, [0.0, 0.1, 0.0]) for mass in (4.0, 0.0))
    with_it, without_it = (np.asarray(robot.inverse_dynamics(*MOTION[1:])) for robot in carrying)
    torques = TAU, TAU + with_it - without_it
    logs = [{"t": MOTION.t, "q": MOTION.q, "current": tau / gains + noise} for tau in torques]
    wrong = ARM.inertial.perturbed({"mass": 0.5, "inertia": 0.5}, seed=1)
    found = gains_from_payload(wrong, *logs, mass=4.0, center_of_mass=[0.0, 0.1, 0.0])
    assert found.known.all()
    assert (np.abs(found.values - gains) < 4.0 * found.errors).all()
    assert (found.errors < 0.05 * np.abs(gains)).all()
    assert found.center_of_mass is None
    unknown = gains_from_payload(wrong, *logs, mass=4.0)  # the centre is found, too
    assert unknown.known.all()
    assert (np.abs(unknown.values - gains) < 4.0 * unknown.errors).all()
    assert (unknown.errors < 0.1 * np.abs(gains)).all()
    assert unknown.center_of_mass is not None
    assert unknown.center_error is not None
    assert (np.abs(unknown.center_of_mass - [0.0, 0.1, 0.0]) < 4.0 * unknown.center_error + 1e-9)[:2].all()
    assert not ch.Log(ARM, logs[0], drive_gains=found.values).currents
    with pytest.raises(ArgumentError, match="positive mass"):
        gains_from_payload(wrong, *logs, mass=0.0)
    with pytest.raises(IdentificationError, match="heavier payload"):
        gains_from_payload(wrong, logs[0], logs[0], mass=1e-3)
