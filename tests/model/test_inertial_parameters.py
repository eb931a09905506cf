"""The vector of inertial parameters: order, folded links and payloads, the way back, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.algorithms import assembled
from chasles.base.errors import ModelError
from chasles.model import (
    Description,
    Inertia,
    Joint,
    Link,
    build_tree,
    from_dh,
    inconsistencies,
    inertial_parameter_names,
    inertial_parameters,
    load,
    lock_joints,
    nearest_consistent,
    parse_toml,
    shipped,
    to_mjcf,
    to_modified_dh,
    to_screws,
    to_toml,
    to_urdf,
    with_inertial_parameters,
    with_payload,
    with_values,
)


def placed(x: float, y: float, z: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def point(mass: float, *position: float) -> Inertia:
    return Inertia(mass, position)


def lamp() -> Description:
    """A base, an arm that turns about y and carries a shade, fixed 0.5 m out along x, and a bulb at the shade."""
    links = (
        Link("base", point(9.0, 1, 1, 1)),
        Link("arm", point(2.0, 0.1, 0, 0)),
        Link("shade", point(1.0, 0, 0, 0.2)),
    )
    joints = (
        Joint("turn", "revolute", "base", "arm", axis=[0, 1, 0], T_parent_joint=placed(0, 0.3, 1), gear_ratio=10.0,
              motor_inertia=2e-3, viscous_friction=0.4, coulomb_friction=0.7),
        Joint("weld", "fixed", "arm", "shade", T_parent_joint=placed(0.5, 0, 0)),
    )  # fmt: skip
    return with_payload(Description("lamp", links=links, joints=joints, tool="shade"), 0.5, [0, 0.1, 0])


def moments(parts: list[tuple[float, list[float]]]) -> list[float]:
    """Ten parameters of point masses."""
    total = np.zeros(10)
    for m, p in parts:
        I = m * (np.dot(p, p) * np.eye(3) - np.outer(p, p))
        total += [m, *(m * np.array(p)), *I[np.triu_indices(3)]]
    return total.tolist()


def parameters(description: Description) -> Any:
    return inertial_parameters(build_tree(description))


def test_names_and_values() -> None:
    assert inertial_parameter_names(build_tree(lamp())) == (
        "arm.m", "arm.mx", "arm.my", "arm.mz", "arm.Ixx", "arm.Ixy", "arm.Ixz", "arm.Iyy", "arm.Iyz", "arm.Izz",
        "turn.viscous_friction", "turn.coulomb_friction", "turn.armature",
    )  # fmt: skip
    of_arm = moments([(2.0, [0.1, 0.0, 0.0]), (1.0, [0.5, 0.0, 0.2]), (0.5, [0.5, 0.1, 0.0])])
    assert parameters(lamp()) == pytest.approx([*of_arm, 0.4, 0.7, 0.2], abs=1e-15)


@pytest.mark.parametrize("name", shipped())
def test_the_way_back(name: str) -> None:
    description = assembled(load(name))
    pi = parameters(description)
    again = with_inertial_parameters(description, pi, check=False)
    assert parameters(again) == pytest.approx(pi, rel=1e-13, abs=1e-14)
    changed = pi * np.random.default_rng(0).uniform(0.5, 1.5, pi.shape)
    assert parameters(with_inertial_parameters(description, changed, check=False)) == pytest.approx(
        changed, rel=1e-12, abs=1e-13
    )


def test_the_moving_link_takes_all() -> None:
    pi = parameters(lamp())
    pi[0] = 4.0
    changed = with_inertial_parameters(lamp(), pi)
    assert changed.link("arm").inertia.mass == 4.0
    assert changed.link("shade").inertia.is_massless
    assert changed.payload.is_massless
    assert changed.link("base") == lamp().link("base")
    assert changed.joint("turn").gear_ratio == 10.0


def test_armature_becomes_the_motor() -> None:
    pi = parameters(lamp())
    pi[10:] = 0.5, 0.6, 0.7
    joint = with_inertial_parameters(lamp(), pi).joint("turn")
    assert (joint.viscous_friction, joint.coulomb_friction, joint.gear_ratio) == (0.5, 0.6, 10.0)
    assert joint.motor_inertia == pytest.approx(0.007)
    direct = with_values(lamp(), {"joints.turn.gear_ratio": 0.0})
    pi = parameters(direct)
    pi[12] = 0.7
    joint = with_inertial_parameters(direct, pi).joint("turn")
    assert (joint.motor_inertia, joint.gear_ratio) == (0.7, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pi: pi[:-1], r"must be 13 numbers, ten for each of 1 moving bodies .*, not shape \(12,\)"),
        (lambda pi: np.where(np.arange(13) == 3, np.nan, pi), "arm.mz must be finite, not nan"),
        (lambda pi: np.where(np.arange(13) == 0, -1.0, pi), r"link 'arm': its mass is negative \(-1.0 kg\)"),
        (
            lambda pi: np.where(np.arange(13) == 0, 0.0, pi),
            "link 'arm': it has the first moment .* beside that of its mass",
        ),
        (lambda pi: np.where(np.arange(13) == 7, 0.0, pi), "link 'arm': a principal moment of inertia is negative"),
        (lambda pi: np.where(np.arange(13) == 10, -0.1, pi), "viscous_friction of joint 'turn' must not be negative"),
        (lambda pi: np.where(np.arange(13) == 12, -0.1, pi), "motor_inertia of joint 'turn' must not be negative"),
    ],
)
def test_malformed_parameters(change: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        with_inertial_parameters(lamp(), change(parameters(lamp())))


def minimal(name: str) -> Description:
    """The robot with its minimal inertial parameters: first moments without masses."""
    base = ch.load(name).inertial.base()
    return with_inertial_parameters(load(name), base.to_inertial @ base.values, check=False)


@pytest.mark.parametrize("name", ["puma560", "stanford", "ur5"])
def test_robots_of_minimal_parameters_move_as_the_robot_does(name: str) -> None:
    few, rng = minimal(name), np.random.default_rng(0)
    assert any(link.inertia.mass == 0.0 and link.inertia.first_moment.any() for link in few.links)
    arm, minimal_arm = ch.load(name), ch.Robot(few)
    q, qd, qdd = rng.normal(size=(3, 20, arm.n))
    np.testing.assert_allclose(
        minimal_arm.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd), rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(minimal_arm.mass_matrix(q), arm.mass_matrix(q), rtol=1e-9, atol=1e-11)
    for other in (parse_toml(to_toml(few), check=False), from_dh(**to_modified_dh(few), check=False)):
        np.testing.assert_allclose(
            ch.Robot(other).inverse_dynamics(q, qd, qdd),
            minimal_arm.inverse_dynamics(q, qd, qdd),
            rtol=1e-9,
            atol=1e-10,
        )
    locked = lock_joints(few, {arm.joint_names[4]: 0.7, arm.joint_names[5]: -0.4})  # two bodies merge with another
    moving = np.concatenate([q[:, :4], np.tile([0.7, -0.4], (20, 1))], axis=1)
    zero = np.zeros((20, 2))
    whole = arm.inverse_dynamics(moving, np.c_[qd[:, :4], zero], np.c_[qdd[:, :4], zero])
    for other in (locked, from_dh(**to_modified_dh(locked), check=False)):
        tau = ch.Robot(other).inverse_dynamics(q[:, :4], qd[:, :4], qdd[:, :4])
        np.testing.assert_allclose(tau, whole[:, :4], rtol=1e-9, atol=1e-10)


def test_a_first_moment_without_a_mass_is_refused_where_no_body_can_have_it() -> None:
    few = minimal("puma560")
    assert "as no body has" in inconsistencies(few)["link2"]
    with pytest.raises(ModelError, match="beside that of its mass, as no body has"):
        nearest_consistent(few)
    for write, what in ((to_urdf, "URDF file"), (to_mjcf, "MJCF file"), (to_screws, "table of screws")):
        with pytest.raises(ModelError, match=f"has no {what}: link 'link2' has a first moment without a mass"):
            write(few)


def test_without_check_unreal_bodies_are_made() -> None:
    pi = parameters(lamp())
    pi[7] = -0.5
    assert parameters(with_inertial_parameters(lamp(), pi, check=False)) == pytest.approx(pi, abs=1e-14)
