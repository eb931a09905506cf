"""Kinematic calibration against simulated robots whose errors are known, and against mistakes in the measurements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, IdentificationError, UnknownNameError
from chasles.geometry import exp_pose
from chasles.identification.geometric_errors import COMPONENTS

NOISE = 1e-4


def with_errors(arm: ch.Robot, twists: dict[str, Any]) -> ch.Robot:
    """Robot whose joints are displaced by error twists in their own frames."""
    joints = tuple(
        joint.replace(T_parent_joint=joint.T_parent_joint @ exp_pose(twists[joint.name]))
        if joint.name in twists
        else joint
        for joint in arm.description.joints
    )
    return ch.Robot(arm.description.replace(joints=joints))


def random_errors(arm: ch.Robot, rng: np.random.Generator) -> ch.Robot:
    """Robot with errors of 1 mm and 0.1° in all joints."""
    scale = [np.radians(0.1)] * 3 + [1e-3] * 3
    return with_errors(arm, {name: scale * rng.normal(size=6) for name in arm.joint_names})


def noisy(T: np.ndarray, rng: np.random.Generator, noise: float = NOISE) -> np.ndarray:
    return np.asarray(T @ exp_pose(noise * rng.normal(size=(len(T), 6))))


def measurements(kind: str, poses: np.ndarray) -> np.ndarray:
    positions = poses[:, :3, 3]
    return {"pose": poses, "position": positions, "distance": np.linalg.norm(positions, axis=1)}[kind]


@pytest.mark.parametrize(
    ("name", "kind"), [("panda", "pose"), ("puma560", "distance"), ("ur5", "position"), ("scara", "pose")]
)  # all rotations of a SCARA robot have one axis
def test_measurements_that_were_not_used_are_predicted_to_the_noise(name: str, kind: str) -> None:
    arm, rng = ch.load(name), np.random.default_rng(1)
    real, device, marker = random_errors(arm, rng), exp_pose(rng.normal(size=6)), exp_pose(0.1 * rng.normal(size=6))
    q, unseen = arm.random_configuration(rng, (60,)), arm.random_configuration(rng, (300,))
    found = ch.calibrate(arm, q, measurements(kind, noisy(device @ real.forward_kinematics(q) @ marker, rng)))
    truth = measurements(kind, device @ real.forward_kinematics(unseen) @ marker)
    model = found.T_device_world @ found.robot.forward_kinematics(unseen) @ found.T_frame_marker
    errors = measurements(kind, model) - truth
    assert found.before[1] > 5.0 * NOISE
    assert np.sqrt(np.mean(errors**2)) < 1.5 * NOISE
    assert found.noise[1] == pytest.approx(NOISE, rel=0.25)
    assert found.left_out[1] < 2.0 * NOISE
    assert not found.outliers
    assert found.findings == ()


@pytest.mark.parametrize("kind", ["pose", "position", "distance"])
def test_exact_measurements_give_the_exact_robot(kind: str) -> None:
    arm, rng = ch.load("puma560"), np.random.default_rng(2)
    real = random_errors(arm, rng)
    q, unseen = arm.random_configuration(rng, (60,)), arm.random_configuration(rng, (50,))
    place = exp_pose([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    marker = exp_pose([0.0, 0.0, 0.0, 0.03, 0.05, 0.08])
    found = ch.calibrate(arm, q, measurements(kind, place @ real.forward_kinematics(q) @ marker))
    model = found.T_device_world @ found.robot.forward_kinematics(unseen) @ found.T_frame_marker
    truth = measurements(kind, place @ real.forward_kinematics(unseen) @ marker)
    assert np.abs(measurements(kind, model) - truth).max() < 1e-8


@pytest.mark.slow
def test_errors_reach_the_cramer_rao_bound_and_intervals_cover() -> None:
    """Errors divided by the bound have a mean square of 1; 95 % of the intervals hold the truth."""
    arm, rng = ch.load("puma560"), np.random.default_rng(3)
    start = ch.calibrate(arm, q := arm.random_configuration(rng, (50,)), arm.forward_kinematics(q))
    names = [parameter.name for parameter in start.parameters if parameter.name.split(".")[0] in arm.joint_names]
    ratios = []
    for _ in range(40):
        truth = {name: rng.normal() * (np.radians(0.1) if ".r" in name else 1e-3) for name in names}
        twists: dict[str, np.ndarray] = {}
        for name, value in truth.items():
            joint, component = name.split(".")
            twists.setdefault(joint, np.zeros(6))[COMPONENTS.index(component)] = value
        q = arm.random_configuration(rng, (50,))
        found = ch.calibrate(arm, q, noisy(with_errors(arm, twists).forward_kinematics(q), rng))
        ratios.append([(p.value - truth[p.name]) / p.error for p in found.parameters if p.name in truth])
    assert len(names) == 18
    assert np.sqrt(np.mean(np.square(ratios))) == pytest.approx(1.0, rel=0.2)
    assert 0.92 < np.mean(np.abs(ratios) < 1.96) < 0.98


def test_as_many_errors_act_as_everett_counts() -> None:
    """Four for each revolute joint, two for each prismatic one, six for the marker (Everett, Driels & Mooring 1987)."""
    rows = [
        {"a": 0.4, "alpha": 0.3},
        {"a": 0.3, "d": 0.1},
        {"kind": "prismatic", "alpha": 1.0},
        {"a": 0.1, "alpha": -1.2},
    ]
    arm = ch.Robot.from_dh([*rows, {"a": 0.05, "alpha": 0.7}])
    for robot, expected in ((ch.load("panda"), 34), (ch.load("puma560"), 30), (arm, 4 * 4 + 2 + 6)):
        q = robot.random_configuration(0, (60,))
        assert len(ch.calibrate(robot, q, robot.forward_kinematics(q)).parameters) == expected


def test_known_device_and_marker_stay_where_they_are() -> None:
    arm, rng = ch.load("ur5"), np.random.default_rng(4)
    real, device, marker = random_errors(arm, rng), exp_pose(rng.normal(size=6)), exp_pose(0.1 * rng.normal(size=6))
    q = arm.random_configuration(rng, (40,))
    T = device @ real.forward_kinematics(q) @ marker
    for known in ({"device": device}, {"marker": marker}, {"device": device, "marker": marker}):
        found = ch.calibrate(arm, q, noisy(T, rng), **known)
        given = {"device": found.T_device_world, "marker": found.T_frame_marker}
        for name, value in known.items():
            assert np.abs(given[name] - value).max() < 1e-12
        model = found.T_device_world @ found.robot.forward_kinematics(q) @ found.T_frame_marker
        assert np.sqrt(np.mean((model - T)[:, :3, 3] ** 2)) < NOISE


def test_outliers_are_named_and_do_no_harm() -> None:
    arm, rng = ch.load("puma560"), np.random.default_rng(5)
    q = arm.random_configuration(rng, (60,))
    T = noisy(random_errors(arm, rng).forward_kinematics(q), rng)
    T[[7, 31], :3, 3] += [[0.02, 0.0, 0.0], [0.0, -0.05, 0.01]]
    found = ch.calibrate(arm, q, T)
    assert found.outliers == (7, 31)
    assert found.after[1] < 1.5 * NOISE
    (left_out,) = (own for own in found.findings if own.rule.code == "outlying-measurements")
    assert (left_out.value, left_out.facts["measurements"]) == (2, "7, 31")
    assert np.isnan(found.residuals[7]).all()


def test_a_joint_that_rests_is_said_to_be_undetermined_and_keeps_its_place() -> None:
    arm, rng = ch.load("puma560"), np.random.default_rng(6)
    q = arm.random_configuration(rng, (60,))
    q[:, 3:] = [0.3, 0.5, 0.2]
    found = ch.calibrate(arm, q, noisy(arm.forward_kinematics(q), rng))
    assert any(not parameter.determined for parameter in found.parameters)
    assert "not determined" in found.summary()
    assert all(abs(parameter.value) < 1e-2 for parameter in found.parameters if parameter.name.startswith("joint"))


def mistaken(mistake: str, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q, T = q.copy(), T.copy()
    if mistake == "degrees":
        q = np.degrees(q)
    elif mistake == "opposite sign":
        q[:, 2] *= -1.0
    elif mistake == "swapped":
        q[:, [1, 2]] = q[:, [2, 1]]
    elif mistake == "seen from the marker":
        T = np.linalg.inv(T)
    elif mistake == "in mm":
        T[:, :3, 3] *= 1000.0
    elif mistake == "another robot":
        q = q[::-1]
    return q, T


@pytest.mark.parametrize(
    "mistake", ["degrees", "opposite sign", "swapped", "seen from the marker", "in mm", "another robot"]
)
def test_mistakes_are_named(mistake: str) -> None:
    arm, rng = ch.load("puma560"), np.random.default_rng(7)
    q = arm.random_configuration(rng, (40,))
    T = exp_pose([0.1, 0.2, 0.3, 1.0, 2.0, 3.0]) @ noisy(random_errors(arm, rng).forward_kinematics(q), rng)
    with pytest.raises(IdentificationError, match=mistake):
        ch.calibrate(arm, *mistaken(mistake, q, T))


def test_bad_input_is_answered() -> None:
    arm = ch.load("puma560")
    q = arm.random_configuration(0, (20,))
    T = arm.forward_kinematics(q)
    with pytest.raises(
        IdentificationError, match=r"3 measurements are 18 numbers for 30 unknowns: measure at least 10"
    ):
        ch.calibrate(arm, q[:3], T[:3])
    with pytest.raises(ArgumentError, match=r"measured has shape \(19, 4, 4\)"):
        ch.calibrate(arm, q, T[:19])
    with pytest.raises(ArgumentError, match=r"measured\[4\] is not a rigid motion"):
        ch.calibrate(arm, q, np.where(np.arange(20)[:, None, None] == 4, 2.0 * T, T))
    with pytest.raises(ArgumentError, match="q"):
        ch.calibrate(arm, np.full_like(q, np.nan), T)
    with pytest.raises(ArgumentError, match="no joint moves the frame"):
        ch.calibrate(arm, q, T, frame=arm.description.link_names[0])
    with pytest.raises(UnknownNameError, match="kind of measurement 'poses'"):
        ch.calibrate(arm, q, T, kind="poses")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="noise"):
        ch.calibrate(arm, q, T, noise=(1e-4, -1.0))


def bent(arm: ch.Robot, q: np.ndarray, compliance: np.ndarray, wave: np.ndarray) -> np.ndarray:
    """Where the joints stand: springs give way to the weight, and encoders sit off their axes."""
    return np.asarray(q - compliance * np.asarray(arm.gravity_torque(q)) + wave * np.sin(q + 0.4))


def test_springs_and_eccentric_encoders_are_found_and_their_poses_predicted() -> None:
    arm, rng = ch.load("ur5"), np.random.default_rng(4)
    real = random_errors(arm, rng)
    springs, wave = 1e-5 * np.array([0.0, 1.0, 1.5, 2.0, 3.0, 0.0]), 1e-3 * rng.uniform(0.5, 1.0, arm.n)
    q, unseen = arm.random_configuration(rng, (90,)), arm.random_configuration(rng, (200,))
    noise = 5e-5

    def where(at: np.ndarray) -> np.ndarray:
        return np.asarray(real.forward_kinematics(bent(real, at, springs, wave)))[:, :3, 3]

    measured = where(q) + noise * rng.normal(size=(90, 3))
    plain = ch.calibrate(arm, q, measured)
    found = ch.calibrate(arm, q, measured, terms=["compliance", "eccentricity"])
    assert found.left_out[1] < 2.0 * noise < 0.5 * plain.left_out[1]
    assert "terms-without-gain" not in {finding.rule.code for finding in found.findings}
    marker = found.T_device_world @ found.robot.forward_kinematics(found.configuration(unseen)) @ found.T_frame_marker
    assert np.sqrt(np.mean((marker[:, :3, 3] - where(unseen)) ** 2)) < 1.5 * noise
    assert found.compliance[arm.joint_names[1]] == pytest.approx(springs[1], rel=0.2)
    assert found.compliance[arm.joint_names[2]] == pytest.approx(springs[2], rel=0.2)
    by_name = {parameter.name: parameter for parameter in found.parameters}
    for k in (1, 2, 3):
        sine = by_name[f"{arm.joint_names[k]}.sine"]
        assert abs(sine.value - wave[k] * np.cos(0.4)) < 4.0 * sine.error


def test_what_gains_nothing_is_said() -> None:
    arm, rng = ch.load("planar2r"), np.random.default_rng(5)
    q = arm.random_configuration(rng, (60,))
    p = np.asarray(arm.forward_kinematics(q))[:, :3, 3] + 1e-4 * rng.normal(size=(60, 3))
    known = {"device": np.eye(4), "marker": np.eye(4)}
    right = ch.calibrate(arm, q, p, **known)
    assert "calibration-without-gain" in {finding.rule.code for finding in right.findings}
    real = with_errors(arm, {"joint2": np.array([0.0, 0.0, 0.0, 0.002, 0.0, 0.0])})
    p = np.asarray(real.forward_kinematics(q))[:, :3, 3] + 1e-4 * rng.normal(size=(60, 3))
    codes = {finding.rule.code for finding in ch.calibrate(arm, q, p, terms=["eccentricity"], **known).findings}
    assert "terms-without-gain" in codes
    assert "calibration-without-gain" not in codes
    with pytest.raises(UnknownNameError, match="no term of a calibration 'springs'"):
        ch.calibrate(arm, q, p, terms=["springs"])  # type: ignore[list-item]
    bare = ch.Robot.from_dh([{"a": 0.5}, {"a": 0.25}])
    with pytest.raises(ArgumentError, match="has no masses"):
        ch.calibrate(bare, q, p, terms=["compliance"])
