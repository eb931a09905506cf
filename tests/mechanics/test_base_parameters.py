"""Base parameters of robots: names and matrices, robots that have other values, and ROBOOP's minimal parameters."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.thinning import paired

import chasles as ch
from chasles.base.errors import ArgumentError, ModelError, UnknownNameError

#: PUMA 560 in modified DH: ROBOOP 1.31, reference manual, section 5.13 (inertias about the centre of mass).
ROWS: list[dict[str, Any]] = [
    {"alpha": 0.0, "a": 0.0, "d": 0.0, "inertia": [0.0, 0.0, 0.35]},
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.0, "mass": 17.4, "center_of_mass": [0.068, 0.006, -0.016],
     "inertia": [0.13, 0.524, 0.539]},
    {"alpha": 0.0, "a": 0.4318, "d": -0.15005, "mass": 4.8, "center_of_mass": [0.0, -0.070, 0.014],
     "inertia": [0.066, 0.0125, 0.066]},
    {"alpha": -np.pi / 2, "a": 0.0203, "d": -0.4318, "mass": 0.82, "center_of_mass": [0.0, 0.0, -0.019],
     "inertia": [0.0018, 0.0018, 0.0013]},
    {"alpha": np.pi / 2, "a": 0.0, "d": 0.0, "mass": 0.34, "inertia": [0.0003, 0.0003, 0.0004]},
    {"alpha": -np.pi / 2, "a": 0.0, "d": 0.0, "mass": 0.09, "center_of_mass": [0.0, 0.0, 0.032],
     "inertia": [0.00015, 0.00015, 0.00004]},
]  # fmt: skip


def puma(**changes: Any) -> ch.Robot:
    rows = [{key: value for key, value in row.items() if key not in changes.get("without", ())} for row in ROWS]
    return ch.Robot.from_dh(rows, convention="modified", check=False)


def torques(robot: ch.Robot, count: int = 20) -> Any:
    states = np.random.default_rng(0).normal(size=(3, count, robot.n))
    return robot.inverse_dynamics(*states)


def close(actual: Any, expected: Any, tolerance: float) -> bool:
    return bool(np.abs(actual - expected).max() <= tolerance * np.abs(expected).max())


def test_matrices_and_names(mixed: ch.Robot, panda: ch.Robot) -> None:
    for robot in (mixed, panda):
        base = robot.inertial.base()
        pi = robot.inertial.values
        count = len(base.parameter_names)
        assert base.parameter_names == robot.inertial.names
        assert base.to_base.shape == (len(base), count)
        assert np.array_equal(base.values, base.to_base @ pi)
        assert np.array_equal(base.to_base @ base.to_inertial, np.eye(len(base)))
        assert base.null_space.shape == (count, count - len(base))
        assert np.abs(base.to_base @ base.null_space).max() < 1e-14
        assert np.linalg.matrix_rank(base.null_space) == count - len(base)
        states = np.random.default_rng(1).normal(size=(3, 8, robot.n))
        Y = robot.regressors.torque(*states)
        assert np.abs(Y @ base.null_space).max() < 1e-12 * np.abs(Y).max()
        assert close(base.columns(Y) @ base.values, robot.inverse_dynamics(*states), 1e-13)
        assert base.names == tuple(base.parameter_names[k] for k in base.independent)


def bent(robot: ch.Robot, change: Callable[[Any], Any]) -> ch.Robot:
    """Robot whose joint frames have other roll, pitch and yaw angles, as a URDF has them."""

    def other(T: Any) -> Any:
        angles = Rotation.from_matrix(T[:3, :3]).as_euler("xyz")
        return np.block([[Rotation.from_euler("xyz", change(angles)).as_matrix(), T[:3, 3:]], [T[3:]]])

    joints = [
        j.replace(T_parent_joint=other(j.T_parent_joint), T_joint_child=other(j.T_joint_child))
        for j in robot.description.joints
    ]
    return ch.Robot(robot.description.replace(joints=tuple(joints)))


@pytest.mark.filterwarnings("ignore:Gimbal lock")
@pytest.mark.parametrize(  # 1.571 and 1.5708, 3.142 and 3.1416, 0.785 and 0.7854
    ("digits", "name"), paired([3, 4], ["scara", "puma560", "gen3", "kr16", "jaco", "ur3e", "mimic"])
)
def test_rounded_angles_change_no_base_parameter(name: str, digits: int, mixed: ch.Robot) -> None:
    robot = mixed if name == "mimic" else ch.load(name)
    robot = robot if robot.description.mass else robot.edit.nominal_bodies()
    rounded = bent(robot, lambda angles: np.round(angles, digits))
    base, exact = rounded.inertial.base(), robot.inertial.base(tolerance=1e-9)
    assert base.names == exact.names
    states = np.random.default_rng(0).normal(size=(3, 50, robot.n))
    tau = np.asarray(rounded.inverse_dynamics(*states))
    own = base.columns(rounded.regressors.torque(*states)) @ base.values
    assert (np.linalg.norm(own - tau, axis=0) < 2e-3 * np.linalg.norm(tau, axis=0).max()).all()


def test_axes_that_are_not_perpendicular_show_more_parameters() -> None:
    """Half a degree is seen: the second axis of the PUMA then feels the moment of inertia about the first."""
    tilted = bent(ch.load("puma560"), lambda angles: angles + np.deg2rad(0.5) * (np.abs(angles) > 1.0))
    assert len(tilted.inertial.base()) > 52


def test_the_methods_agree(panda: ch.Robot, mixed: ch.Robot) -> None:
    closed, found = panda.inertial.base("regrouping"), panda.inertial.base("numerical")
    assert closed.names == found.names
    assert closed.expressions == found.expressions
    assert closed.condition is None
    assert found.condition is not None
    assert 1.0 < found.condition < 20.0
    assert mixed.inertial.base().condition is not None  # it has a mimic joint
    with pytest.raises(ArgumentError, match="mimic joints"):
        mixed.inertial.base("regrouping")
    with pytest.raises(UnknownNameError, match="no method for base parameters 'qr'"):
        panda.inertial.base("qr")  # type: ignore[arg-type]


def test_expressions_say_what_the_matrix_says() -> None:
    base = puma().inertial.base()
    pi = dict(zip(base.parameter_names, puma().inertial.values, strict=True))
    for text, value in zip(base.expressions, base.values, strict=True):
        total, sign = 0.0, 1.0
        for term in text.replace(" - ", " + -").split(" + "):
            sign, term = (-1.0, term[1:]) if term.startswith("-") else (1.0, term)
            factor, _, name = term.rpartition(" ")
            total += sign * float(factor or 1.0) * pi[name]
        assert total == pytest.approx(value, abs=1e-5)
    assert base.expressions[1].startswith("link2.mx + 0.4318 link3.m")


def test_a_robot_of_other_base_parameters(panda: ch.Robot, mixed: ch.Robot) -> None:
    for robot in (panda, mixed, ch.load("stanford")):
        base = robot.inertial.base()
        same = robot.inertial.with_base(base.values)
        assert close(torques(same), torques(robot), 1e-12)
        rng = np.random.default_rng(2)
        values = base.values * (1.0 + 0.05 * rng.uniform(-1.0, 1.0, len(base)))
        other = robot.inertial.with_base(values)
        assert np.abs(other.inertial.base().values - values).max() < 1e-12 * np.abs(values).max()
        states = rng.normal(size=(3, 8, robot.n))
        expected = base.columns(robot.regressors.torque(*states)) @ values
        assert close(other.inverse_dynamics(*states), expected, 1e-11)
        assert close(np.einsum("...ij,...j->...i", other.mass_matrix(states[0]), states[2])
                     + other.bias(states[0], states[1]), expected, 1e-11)  # fmt: skip


def test_possible_bodies(panda: ch.Robot) -> None:
    base = panda.inertial.base()
    values = base.values * (1.0 + 1e-3 * np.random.default_rng(3).uniform(-1.0, 1.0, len(base)))
    other = panda.inertial.with_base(values, consistent=True)
    assert other.inertial.inconsistencies() == {}
    assert np.abs(other.inertial.base().values - values).max() < 1e-9
    wild = base.values * (1.0 + 0.3 * np.random.default_rng(4).uniform(-1.0, 1.0, len(base)))
    with pytest.raises(ModelError, match="no physically consistent bodies"):
        panda.inertial.with_base(wild, consistent=True)
    tamed = panda.inertial.with_base(wild, consistent=True, covariance=np.diag((0.3 * base.values) ** 2 + 1e-9))
    assert tamed.inertial.inconsistencies() == {}


def test_roboops_minimal_parameters() -> None:
    """A robot of modified DH with Khalil's minimal parameters has the torques of the robot that they come from.

    The minimal parameters are computed here with Gautier and Khalil's relations: first moments in place of centres of
    mass, moments of inertia about the link's origin, and no masses.
    """
    full = puma()
    minimal = full.inertial.values.copy()
    for j in range(5, -1, -1):
        m, _, _, mz, _, _, _, yy, _, _ = minimal[10 * j : 10 * j + 10]
        minimal[10 * j + 4] -= yy
        minimal[[10 * j, 10 * j + 3, 10 * j + 7]] = 0.0
        if j == 0:
            minimal[:9] = 0.0  # before the first joint nothing but ZZ acts
            break
        alpha, d, r = ROWS[j]["alpha"], ROWS[j]["a"], ROWS[j]["d"]
        c, s = np.cos(alpha), np.sin(alpha)
        moments = yy + 2 * r * mz + r * r * m
        minimal[10 * j - 10 : 10 * j] += [
            m, d * m, -s * (mz + r * m), c * (mz + r * m),
            moments, d * s * (mz + r * m), -d * c * (mz + r * m),
            c * c * moments + d * d * m, c * s * moments, s * s * moments + d * d * m,
        ]  # fmt: skip
    base = full.inertial.base()
    assert np.abs(base.to_inertial @ base.values - minimal).max() < 1e-12
    bare = puma(without=("mass", "center_of_mass", "inertia"))
    robot = bare.inertial.with_base(base.to_base @ minimal)
    assert close(torques(robot), torques(full), 1e-12)
    q = np.random.default_rng(1).normal(size=(5, 6))
    assert close(robot.gravity_torque(q), full.gravity_torque(q), 1e-12)
    assert close(robot.mass_matrix(q), full.mass_matrix(q), 1e-12)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(3), r"values has shape \(3,\); expected \(62,\)"),
        (["a"] * 62, "values .*number"),
        (np.full(62, np.nan), r"values\[0\] is nan; it must be finite"),
    ],
)
def test_malformed_values(panda: ch.Robot, values: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        panda.inertial.with_base(values)


def test_what_cannot_be(panda: ch.Robot) -> None:
    base = panda.inertial.base()
    values = base.values.copy()
    values[base.names.index("panda_joint3.viscous_friction")] = -1.0
    with pytest.raises(ModelError, match="viscous_friction of joint 'panda_joint3' must not be negative"):
        panda.inertial.with_base(values)
    with pytest.raises(ArgumentError, match=r"covariance has shape \(3, 3\); expected \(62, 62\)"):
        panda.inertial.with_base(base.values, consistent=True, covariance=np.eye(3))
    with pytest.raises(TypeError, match="covariance is for consistent=True"):
        panda.inertial.with_base(base.values, covariance=np.eye(62))
    with pytest.raises(ArgumentError, match=r"has 91 columns, not the shape \(7, 90\)"):
        base.columns(np.zeros((7, 90)))


def test_inertial_parameters_of_robots(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    pi = panda.inertial.values
    changed = panda.inertial.with_values(1.1 * pi)
    assert changed.inertial.values == pytest.approx(1.1 * pi)
    states = helpers.states(7, 4)
    assert close(changed.inverse_dynamics(*states.of("inverse_dynamics")),
                 1.1 * panda.inverse_dynamics(*states.of("inverse_dynamics")), 1e-12)  # fmt: skip
    heavier = panda.with_payload(2.0, frame="panda_link4")
    assert (heavier.inertial.values - pi)[30] == pytest.approx(2.0)


def test_perturbed_robots(panda: ch.Robot) -> None:
    wrong = panda.inertial.perturbed(0.1, seed=3)
    assert wrong == panda.inertial.perturbed(0.1, seed=3)
    assert wrong != panda.inertial.perturbed(0.1, seed=4)
    assert wrong.inertial.inconsistencies() == {}
    values = panda.inertial.perturbed_values(0.1, seed=3, shape=(4,))
    q = np.zeros(7)
    varied = panda.gravity_torque(q, vary=values)
    for k in range(4):
        one = panda.with_values({name: value[k] for name, value in values.items()})
        assert close(varied[k], one.gravity_torque(q), 1e-12)
    assert ch.load("puma560").inertial.nearest_consistent().inertial.inconsistencies().keys() == {
        "link1"
    }  # it has no mass


def test_one_number_that_is_not_finite_is_named() -> None:
    arm = ch.load("planar2r")
    base = arm.inertial.base()
    values, covariance = base.values.copy(), np.eye(len(base))
    values[1] = np.inf
    with pytest.raises(ArgumentError, match=r"values\[1\] is inf; it must be finite"):
        arm.inertial.with_base(values)
    covariance[0, 1] = np.nan
    with pytest.raises(ArgumentError, match=r"covariance\[0, 1\] is nan; it must be finite"):
        arm.inertial.with_base(base.values, consistent=True, covariance=covariance)


def test_impossible_inertial_parameters_are_refused_unless_asked_for() -> None:
    arm = ch.load("planar2r")
    negative = -arm.inertial.values
    with pytest.raises(ModelError, match="check=False skips this check"):
        arm.inertial.with_values(negative)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 2))
    opposite = arm.inertial.with_values(negative, check=False).inverse_dynamics(q, qd, qdd)
    assert close(opposite, -arm.inverse_dynamics(q, qd, qdd), 1e-12)  # torques are linear in the parameters
