"""Payloads: found within their intervals, at the Cramér-Rao bound, from motion, poses and sample by sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.identification.synthetic_logs import coloured_noise
from typer.testing import CliRunner

import chasles as ch
from chasles.base.errors import IdentificationError
from chasles.base.findings import codes
from chasles.cli.application import application
from chasles.identification import (
    FourierMotion,
    gains_from_payload,
    identify_payload,
    payload_from_poses,
)
from chasles.identification.identification import student_quantile
from chasles.identification.payload import weighted_by_joint
from chasles.identification.payload_columns import payload_regressor

ARM = ch.load("panda").with_friction(viscous=1.0, coulomb=0.5, coulomb_velocity=0.05)
MASS, CENTER = 1.8, np.array([0.02, -0.01, 0.08])
INERTIA = np.array([[0.02, 0.002, 0.0], [0.002, 0.025, -0.001], [0.0, -0.001, 0.015]])
LOADED = ARM.with_payload(MASS, CENTER, INERTIA)


def motion() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    planned = FourierMotion(ARM.home, 0.12 * rng.normal(size=(7, 4)), 0.12 * rng.normal(size=(7, 4)), period=10.0)
    t = np.arange(0.0, 10.0, 0.005)
    return t, *planned(t)


T, Q, QD, QDD = motion()
TAU = np.asarray(LOADED.inverse_dynamics(Q, QD, QDD))


def log(seed: int, memory: float = 0.8) -> dict[str, np.ndarray]:
    return {"t": T, "q": Q, "tau": TAU + coloured_noise(TAU.shape, 0.3, memory, seed)}


def test_regressor_of_a_payload_is_what_it_adds() -> None:
    about = INERTIA + MASS * ((CENTER @ CENTER) * np.eye(3) - np.outer(CENTER, CENTER))
    parameters = np.array([MASS, *(MASS * CENTER), *about[np.triu_indices(3)]])
    W = payload_regressor(ARM, "tool", Q[:20], QD[:20], QDD[:20])
    added = TAU[:20] - np.asarray(ARM.inverse_dynamics(Q[:20], QD[:20], QDD[:20]))
    assert np.allclose(W @ parameters, added, atol=1e-9)


def test_payload_from_motion_lies_in_its_intervals_and_near_the_bound() -> None:
    errors, shares = [], []
    for seed in range(12):
        found = identify_payload(ARM, log(seed), cutoff=5.0)
        error = np.concatenate([[found.mass - MASS], found.center_of_mass - CENTER])
        deviation = np.concatenate([[np.sqrt(found.covariance[0, 0])], found.center_error])
        errors.append(error / deviation)
        shares.append(np.sqrt(found.bound[0, 0] / found.covariance[0, 0]))
    assert 0.6 < np.std(errors) < 1.4
    assert (np.array(shares) < 1.05).all()
    assert np.median(shares) > 0.6
    assert np.abs(found.inertia - INERTIA).max() < 0.06
    assert np.linalg.eigvalsh(found.inertia).min() > 0.0
    again = np.asarray(found.attached(ARM).inverse_dynamics(Q, QD, QDD))
    assert np.sqrt(np.mean((again - TAU) ** 2)) < 0.1


def test_payload_from_poses() -> None:
    poses = ARM.home + np.random.default_rng(1).uniform(-0.6, 0.6, (8, 7))
    noise = 0.05 * np.random.default_rng(2).normal(size=poses.shape)
    found = payload_from_poses(ARM, poses, np.asarray(LOADED.gravity_torque(poses)) + noise)
    assert abs(found.mass - MASS) < 4.0 * np.sqrt(found.covariance[0, 0])
    assert (np.abs(found.center_of_mass - CENTER) < 4.0 * found.center_error).all()
    wrong = ARM.inertial.perturbed(0.3, seed=0)
    both = [np.asarray(robot.gravity_torque(poses)) for robot in (LOADED, ARM)]
    assert abs(payload_from_poses(wrong, poses, both[0], without=both[1]).mass - MASS) < 1e-6
    with pytest.raises(IdentificationError, match="same orientation"):
        payload_from_poses(ARM, np.tile(ARM.home, (5, 1)), np.tile(LOADED.gravity_torque(ARM.home), (5, 1)))
    with pytest.raises(IdentificationError, match="2 poses"):
        payload_from_poses(ARM, poses[:2], both[0][:2])


def test_stiction_of_the_model_bounds_what_poses_approached_from_one_side_may_shift() -> None:
    dry = np.array([2.0, 3.0, 2.0, 1.5, 0.5, 0.5, 0.2])
    arm = ARM.with_friction(viscous=1.0, coulomb=dry, coulomb_velocity=0.01)
    poses = ARM.home + np.random.default_rng(1).uniform(-0.6, 0.6, (12, 7))
    weight = np.asarray(LOADED.gravity_torque(poses)) + 0.02 * np.random.default_rng(2).normal(size=poses.shape)
    (told,) = payload_from_poses(arm, poses, weight).findings
    assert told.rule.code == "stiction"
    shifts = [
        abs(payload_from_poses(arm, poses, weight + signs * dry).mass - MASS)
        for signs in np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).T.reshape(-1, 3) @ np.eye(3, 7, 1)  # joints 2, 3, 4
    ]
    assert 0.2 * told.facts["shift"] < max(shifts) < 1.5 * told.facts["shift"]
    assert payload_from_poses(ARM.with_friction(coulomb=0.0), poses, weight).findings == ()


def test_intervals_from_poses_hold_with_noise_that_differs_by_joint() -> None:
    """600 draws; with equal weights of all joints 72 % held the truth."""
    poses = ARM.home + np.random.default_rng(3).uniform(-0.8, 0.8, (6, 7))
    torques = np.asarray(LOADED.gravity_torque(poses))
    size = 0.02 * np.sqrt(np.mean(torques**2, axis=0))
    W = payload_regressor(ARM, "tool", poses, 0.0 * poses, 0.0 * poses)[:, :, :4].reshape(-1, 4)
    added = (torques - np.asarray(ARM.gravity_torque(poses))).ravel()
    rng, held = np.random.default_rng(0), 0
    for _ in range(600):
        y = added + (size * rng.normal(size=poses.shape)).ravel()
        x, covariance, freedom = weighted_by_joint(W, y, poses.shape)
        held += abs(x[0] - MASS) < student_quantile(freedom) * np.sqrt(covariance[0, 0])
    assert 0.92 < held / 600 < 0.985


def test_inertia_has_intervals_and_what_no_torque_tells_is_said() -> None:
    found = identify_payload(ARM, log(1), cutoff=5.0)
    assert (np.abs(found.inertia - INERTIA) < 4.0 * found.inertia_error).all()
    assert found.findings == ()
    assert " ± " in found.summary().splitlines()[2]
    scara = ch.load("scara")
    motion = FourierMotion(scara.home, np.full((4, 2), 0.1) * [1.0, 2.0], np.full((4, 2), 0.1), period=4.0)
    t = np.arange(0.0, 8.0, 0.01)
    q, qd, qdd = motion(t)
    tau = np.asarray(scara.with_payload(2.0, [0.0, 0.0, 0.05], 0.01 * np.eye(3)).inverse_dynamics(q, qd, qdd))
    noise = 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    assert identify_payload(scara, {"t": t, "q": q, "tau": tau + noise}).summary().count("not determined") == 3


def test_torques_that_no_payload_explains_are_refused_or_doubted() -> None:
    own = log(0)
    with pytest.raises(IdentificationError, match=r"swapped columns or signs|does not determine"):
        identify_payload(ARM, {**own, "tau": own["tau"][:, [0, 3, 2, 1, 4, 5, 6]]})
    lighter = identify_payload(ARM, {**own, "tau": own["tau"] + 4.0 * np.tanh(QD / 0.1)})
    (doubt,) = lighter.findings
    assert (doubt.rule.code, doubt.rule.weight) == ("unexplained-torques", "caution")


def test_logs_that_contradict_themselves_are_refused() -> None:
    against = {**log(0), "qd": -np.gradient(log(0)["q"], T, axis=0)}
    with pytest.raises(IdentificationError, match="opposite sign of its position's slope") as refused:
        identify_payload(ARM, against)
    assert set(codes(refused.value.findings)) == {"velocity-opposite"}
    loads = {"mass": MASS, "center_of_mass": CENTER}
    for logs in ((against, log(1)), (log(1), against)):
        with pytest.raises(IdentificationError, match="opposite sign"):
            gains_from_payload(ARM, *logs, **loads)
    with pytest.raises(IdentificationError, match="no effort varies"):
        identify_payload(ARM, {**log(0), "tau": 0.0 * Q})
    with pytest.raises(IdentificationError, match="has 7 joints, robot 'planar2r' has 2"):
        identify_payload(ch.load("planar2r"), ch.Log(ARM, log(0)))


def test_nothing_carried_is_said() -> None:
    empty = np.asarray(ARM.inverse_dynamics(Q, QD, QDD)) + coloured_noise(TAU.shape, 0.3, 0.5, 0)
    with pytest.raises(IdentificationError, match="does not determine a payload"):
        identify_payload(ARM, {"t": T, "q": Q, "tau": empty})


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chasles.cli.commands.payload.is_watched", lambda: True)
    data, model, out = tmp_path / "log.csv", tmp_path / "arm.toml", tmp_path / "loaded.toml"
    noisy = log(0)
    names = ",".join(["t", *(f"q{k}" for k in range(1, 8)), *(f"tau{k}" for k in range(1, 8))])
    np.savetxt(data, np.column_stack([T, Q, noisy["tau"]]), delimiter=",", header=names, comments="")
    ARM.save(model)
    answer = CliRunner().invoke(application, ["payload", str(data), "--robot", str(model), "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    assert "identifying" in answer.stderr
    assert "mass 1." in answer.stdout
    assert abs(ch.load(out).description.payload.mass - MASS) < 0.1
