"""Configurations: integrate and difference as a group's, rates, random ones, batches, bad input, Pinocchio."""

from __future__ import annotations

import importlib
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.model import Description, Joint, Limits, Link

#: A ball joint, a hinge and a free joint, one after the other.
ROBOT = ch.Robot(
    Description(
        "mixed",
        tuple(map(Link, ("base", "a", "b", "c"))),
        (
            Joint("ball", "spherical", "base", "a"),
            Joint("hinge", "revolute", "a", "b", axis=[0.0, 0.6, 0.8]),
            Joint("flight", "free", "b", "c"),
        ),
    )
)
BALL, FLIGHT, POSITION = slice(0, 4), slice(5, 9), slice(9, 12)
TURNS = (slice(0, 3), slice(4, 7))
SHAPES = [(), (1,), (3, 1, 2)]

lengths = st.one_of(
    st.sampled_from([0.0, 1e-300, 1e-160, 1e-9, 1e-4, np.pi - 1e-4, np.pi - 1e-7]), st.floats(0.0, np.pi - 1e-7)
)


def displacement(rng: np.random.Generator, *angles: float) -> np.ndarray:
    """A displacement whose turns have these angles."""
    v = rng.normal(size=10)
    for part, angle in zip(TURNS, angles, strict=True):
        v[part] *= angle / np.linalg.norm(v[part])
    return v


def rotations(q: Any) -> list[np.ndarray]:
    return [Rotation.from_quat(q[..., part], scalar_first=True).as_matrix() for part in (BALL, FLIGHT)]


def same(q0: np.ndarray, q1: np.ndarray, tolerance: float) -> bool:
    """Whether two configurations are alike but for signs of quaternions."""
    q1 = np.array(q1)
    for part in (BALL, FLIGHT):
        q1[..., part] *= np.sign(np.sum(q0[..., part] * q1[..., part], axis=-1, keepdims=True))
    return bool(np.abs(q0 - q1).max() <= tolerance)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**31), ball=lengths, flight=lengths)
def test_difference_undoes_integrate(seed: int, ball: float, flight: float) -> None:
    rng = np.random.default_rng(seed)
    q, v = ROBOT.random_configuration(rng), displacement(rng, ball, flight)
    q1 = ROBOT.integrate(q, v)
    back = ROBOT.difference(q, q1)
    assert np.abs(back - v).max() <= 1e-12
    assert same(q1, ROBOT.integrate(q, back), 1e-13)


def test_the_displacement_there_and_back() -> None:
    rng = np.random.default_rng(0)
    q0, q1 = ROBOT.random_configuration(rng, (2, 500))
    v = ROBOT.difference(q0, q1)
    assert np.allclose(ROBOT.difference(q1, q0), -v, rtol=0.0, atol=1e-12)
    assert max(np.linalg.norm(v[:, part], axis=-1).max() for part in TURNS) <= np.pi
    assert same(q1, ROBOT.integrate(q0, v), 1e-13)
    assert np.abs(ROBOT.difference(q0, q0)).max() <= 2e-16


def test_a_motion_at_constant_velocity_goes_on() -> None:
    rng = np.random.default_rng(1)
    q, v = ROBOT.random_configuration(rng, (50,)), rng.normal(size=(50, 10))
    halfway = ROBOT.integrate(q, 0.5 * v)
    assert same(ROBOT.integrate(q, v), ROBOT.integrate(halfway, 0.5 * v), 1e-14)
    assert same(q, ROBOT.integrate(ROBOT.integrate(q, v), -v), 1e-14)


def test_integrate_moves_along_screws() -> None:
    rng = np.random.default_rng(2)
    q, v = ROBOT.random_configuration(rng, (50,)), rng.normal(size=(50, 10))
    q1 = ROBOT.integrate(q, v)
    T, T1 = (ch.geometry.pose(rotations(x)[1], x[:, POSITION]) for x in (q, q1))
    expected = T @ ch.geometry.exp_pose(v[:, 4:])
    assert np.allclose(T1, expected, rtol=0.0, atol=1e-14)
    ball = rotations(q)[0] @ Rotation.from_rotvec(v[:, :3]).as_matrix()
    assert np.allclose(rotations(q1)[0], ball, rtol=0.0, atol=1e-14)
    assert np.array_equal(q1[:, 4], q[:, 4] + v[:, 3])


def test_small_steps_follow_the_rate() -> None:
    rng = np.random.default_rng(3)
    q, v = ROBOT.random_configuration(rng), rng.normal(size=10)
    h = 1e-3
    steps = {k: ROBOT.integrate(q, k * h * v) for k in (-2, -1, 1, 2)}
    slope = (8.0 * (steps[1] - steps[-1]) - (steps[2] - steps[-2])) / (12.0 * h)
    assert np.allclose(ROBOT.configuration_rate(q, v), slope, rtol=0.0, atol=1e-11)


def test_quaternions_of_both_signs_and_any_length_are_one_configuration() -> None:
    rng = np.random.default_rng(4)
    q, v = ROBOT.random_configuration(rng), rng.normal(size=10)
    for factor in (-1.0, 3.0, -0.2, 1e-80, 1e80):
        other = q.copy()
        other[BALL] *= factor
        other[FLIGHT] *= -factor
        assert np.allclose(ROBOT.difference(q, ROBOT.integrate(other, v)), v, rtol=0.0, atol=1e-13)
        assert same(q, ROBOT.normalize(other), 1e-15)
    unit = np.linalg.norm(ROBOT.integrate(q, v)[BALL])
    assert unit == pytest.approx(1.0, rel=0.0, abs=3e-16)


def test_a_quaternion_stays_unit_over_many_steps() -> None:
    rng = np.random.default_rng(5)
    q, v = ROBOT.random_configuration(rng), 0.1 * rng.normal(size=10)
    for _ in range(2000):
        q = ROBOT.integrate(q, v)
    for part in (BALL, FLIGHT):
        assert np.linalg.norm(q[part]) == pytest.approx(1.0, rel=0.0, abs=5e-16)


@pytest.mark.parametrize("shape", SHAPES)
def test_batches(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    q, q1 = ROBOT.random_configuration(rng, shape), ROBOT.random_configuration(rng, shape)
    v = rng.normal(size=(*shape, 10))
    for call, inputs, size in (
        (ROBOT.integrate, (q, v), 12),
        (ROBOT.difference, (q, q1), 10),
        (ROBOT.configuration_rate, (q, v), 12),
        (ROBOT.normalize, (q,), 12),
    ):
        result = call(*inputs)
        assert result.shape == (*shape, size)
        for index in np.ndindex(shape):
            assert np.allclose(result[index], call(*(x[index] for x in inputs)), rtol=0.0, atol=1e-15)
    assert ROBOT.integrate(q, np.zeros(10)).shape == (*shape, 12)


def test_nan_and_zero_quaternions_spoil_their_sample_alone() -> None:
    rng = np.random.default_rng(7)
    q, v = ROBOT.random_configuration(rng, (5,)), rng.normal(size=(5, 10))
    good = ROBOT.integrate(q, v), ROBOT.difference(q, q[::-1])
    q[1, BALL] = 0.0
    q[2, 7] = np.nan
    for spoiled in (ROBOT.integrate(q, v), ROBOT.configuration_rate(q, v), ROBOT.difference(q, q[::-1])):
        assert np.isfinite(spoiled[[0, 4]]).all()
    integrated = ROBOT.integrate(q, v)
    assert np.isnan(integrated[1, BALL]).all()
    assert np.isfinite(integrated[1, 4:]).all()
    assert np.isnan(integrated[2, 5:]).all()
    assert np.isfinite(integrated[2, :5]).all()
    assert np.array_equal(integrated[[0, 3, 4]], good[0][[0, 3, 4]])
    assert np.isnan(ROBOT.normalize(q)[1, BALL]).all()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("integrate", (np.zeros(10), np.zeros(10))),
        ("integrate", (np.zeros(12), np.zeros(12))),
        ("difference", (np.zeros(12), np.zeros(10))),
        ("configuration_rate", (np.zeros(12), np.zeros(11))),
        ("normalize", (np.zeros((12, 1)),)),
        ("integrate", (np.zeros((2, 12)), np.zeros((3, 10)))),
        ("regressors.torque", (np.zeros(10), np.zeros(10), np.zeros(10))),
        ("forward_kinematics", (np.zeros(10),)),
    ],
)
def test_wrong_shapes_are_refused(name: str, arguments: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(ValueError, match=r"has shape .*; expected \(\.\.\., 1[02]\)|do not broadcast"):
        attrgetter(name)(ROBOT)(*arguments)


def test_neutral_and_random_configurations() -> None:
    assert ROBOT.neutral.tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    q = ROBOT.random_configuration(0, (4, 3), reach=0.2)
    assert q.shape == (4, 3, 12)
    assert np.abs(q[..., POSITION]).max() <= 0.2
    assert np.abs(q[..., 4]).max() <= np.pi
    assert np.array_equal(q, ROBOT.random_configuration(np.random.default_rng(0), (4, 3), reach=0.2))
    assert ROBOT.random_configuration(0).shape == (12,)
    for reach in (-1.0, np.nan, np.inf):
        with pytest.raises(ArgumentError, match="reach is"):
            ROBOT.random_configuration(0, reach=reach)


def test_random_configurations_keep_the_limits_that_there_are() -> None:
    joints = (
        Joint("a", "universal", "base", "a", limits=Limits((-0.1, 0.5), (0.2, np.inf))),
        Joint("b", "planar", "a", "b", limits=Limits((-np.inf, 1.0, -np.inf), (2.0, 1.0, np.inf))),
    )
    robot = ch.Robot(Description("r", tuple(map(Link, ("base", "a", "b"))), joints))
    q = robot.random_configuration(1, (4000,), reach=0.3)
    lowest, highest = [-0.1, 0.5, 1.4, 1.0, -np.pi], [0.2, 0.5 + 2 * np.pi, 2.0, 1.0, np.pi]
    assert (q >= lowest).all()
    assert (q <= highest).all()
    for column, low, high in zip(q.T, lowest, highest, strict=True):
        if high > low:
            assert stats.kstest(column, stats.uniform(low, high - low).cdf).pvalue > 1e-3


def test_random_orientations_are_uniform() -> None:
    """Each element of a uniform rotation matrix is uniform in [-1, 1]; its angle has the density (1 - cos) / pi."""
    q = ROBOT.random_configuration(2, (20000,))
    for R in rotations(q):
        for element in R.reshape(-1, 9).T:
            assert stats.kstest(element, stats.uniform(-1.0, 2.0).cdf).pvalue > 1e-4
        angle = Rotation.from_matrix(R).magnitude()
        assert stats.kstest(angle, lambda a: (a - np.sin(a)) / np.pi).pvalue > 1e-3


def test_integrate_and_difference_agree_with_pinocchio() -> None:
    pin = importlib.import_module("pinocchio")
    model = pin.Model()
    ball = model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    hinge = model.addJoint(ball, pin.JointModelRZ(), pin.SE3.Identity(), "hinge")
    model.addJoint(hinge, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "flight")

    def theirs(q: np.ndarray) -> np.ndarray:
        return q[[1, 2, 3, 0, 4, 9, 10, 11, 6, 7, 8, 5]]

    order = [0, 1, 2, 3, 7, 8, 9, 4, 5, 6]  # theirs: linear before angular
    rng = np.random.default_rng(8)
    for _ in range(50):
        q, q1 = ROBOT.random_configuration(rng, (2,))
        v = displacement(rng, *rng.uniform(0.0, 6.0, 2))
        expected = pin.integrate(model, theirs(q), v[order])
        ours = theirs(ROBOT.integrate(q, v))
        for part in (slice(0, 4), slice(8, 12)):
            ours[part] *= np.sign(ours[part] @ expected[part])
        assert np.allclose(ours, expected, rtol=0.0, atol=1e-13)
        assert np.allclose(ROBOT.difference(q, q1)[order], pin.difference(model, theirs(q), theirs(q1)), atol=1e-12)


def test_joints_without_quaternions_add_and_subtract(every_kind: Description) -> None:
    names = [joint.name for joint in every_kind.coordinates if joint.has_quaternion]
    robot = ch.Robot(every_kind).edit.lock(names)
    rng = np.random.default_rng(9)
    q, v = rng.normal(size=(2, robot.n)) * 5.0
    assert robot.nq == robot.n
    assert np.array_equal(robot.integrate(q, v), q + v)
    assert np.array_equal(robot.difference(q, v), v - q)
    assert np.array_equal(robot.configuration_rate(q, v), v)
    assert np.array_equal(robot.normalize(q), q)
