"""Joints of every kind: names, units, limits, files, what is refused, and the tree that they make."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ModelError
from chasles.model import Description, Inertia, Joint, Limits, Link, Mimic, build_tree, parse_toml, parse_urdf, to_toml
from chasles.model.freedoms import JOINT_KINDS, coordinate_labels, displacement_units, velocity_labels

#: Number of coordinates and of velocities.
SIZES = {
    "revolute": (1, 1),
    "continuous": (1, 1),
    "prismatic": (1, 1),
    "helical": (1, 1),
    "universal": (2, 2),
    "cylindrical": (2, 2),
    "planar": (3, 3),
    "spherical": (4, 3),
    "free": (7, 6),
    "fixed": (0, 0),
}
#: Limits that each kind can have: of every freedom, where there are several.
LIMITS = {
    "revolute": Limits(-1.0, 2.0, 3.0, 4.0),
    "continuous": Limits(velocity=3.0, effort=4.0),
    "prismatic": Limits(-1.0, math.inf, 3.0, 4.0),
    "helical": Limits(-1.0, 2.0, 3.0, 4.0),
    "universal": Limits((-1.0, -math.inf), (1.0, 0.5), (2.0, 3.0), (4.0, 5.0)),
    "cylindrical": Limits((-1.0, 0.1), (1.0, 0.5), 2.0, (4.0, math.inf)),
    "planar": Limits((-1.0, -2.0, -3.0), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 7.0),
    "spherical": Limits(velocity=(1.0, 2.0, 3.0), effort=4.0),
    "free": Limits(velocity=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), effort=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)),
    "fixed": Limits(),
}


def joint(kind: Any, name: str = "j", parent: str = "base", child: str = "link", **fields: Any) -> Joint:
    return Joint(name, kind, parent, child, **fields)


def robot(kind: Any, **fields: Any) -> Description:
    axes = {"axis": [0.0, 0.6, 0.8], "second_axis": [1.0, 0.0, 0.0]}
    pitch = {"pitch": 0.2} if kind == "helical" else {}
    moved = joint(kind, limits=LIMITS[kind], viscous_friction=0.5, motor_inertia=0.1, **axes, **pitch)
    return Description("r", (Link("base"), Link("link", Inertia(1.0))), (moved,), **fields)


def test_the_kinds_are_these() -> None:
    assert tuple(SIZES) == JOINT_KINDS


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_sizes_names_and_units_agree(kind: Any) -> None:
    moved = joint(kind)
    assert (len(coordinate_labels(kind)), len(velocity_labels(kind))) == SIZES[kind]
    assert len(moved.coordinate_names) == len(moved.coordinate_units) == SIZES[kind][0]
    assert len(moved.velocity_names) == len(moved.displacement_units) == len(moved.freedoms) == SIZES[kind][1]
    assert len(set(moved.coordinate_names)) == SIZES[kind][0]
    for freedom in moved.freedoms:
        assert displacement_units(kind)[freedom.velocity] == ("rad" if freedom.angular else "m")
    assert sorted(freedom.velocity for freedom in moved.freedoms) == list(range(SIZES[kind][1]))


def test_names_and_units_of_a_robot() -> None:
    joints = (joint("cylindrical", "a"), joint("free", "b", "link", "c"), joint("prismatic", "d", "c", "d"))
    both = Description("r", tuple(map(Link, ("base", "link", "c", "d"))), joints)
    assert both.coordinate_names == (
        *("a.angle", "a.distance"),
        *("b.qw", "b.qx", "b.qy", "b.qz", "b.x", "b.y", "b.z"),
        "d",
    )
    assert both.coordinate_units == ("rad", "m", "", "", "", "", "m", "m", "m", "m")
    assert both.velocity_names[2:8] == ("b.wx", "b.wy", "b.wz", "b.vx", "b.vy", "b.vz")
    assert both.velocity_units == ("rad/s", "m/s", *("rad/s",) * 3, *("m/s",) * 3, "m/s")
    assert both.effort_units == ("N m", "N", *("N m",) * 3, *("N",) * 3, "N")
    assert (both.nq, both.nv, both.n) == (10, 9, 9)
    assert both.starts == {"a": (0, 0), "b": (2, 2), "d": (9, 8)}
    assert both.home.tolist() == [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_files_and_pickles_keep_every_kind(kind: Any) -> None:
    nq = SIZES[kind][0]
    described = robot(kind, home=np.linspace(0.25, 0.4, nq))
    assert parse_toml(to_toml(described)) == described
    copy = pickle.loads(pickle.dumps(described))
    assert copy == described
    assert copy.digest == described.digest
    assert np.array_equal(copy.home, described.home)
    assert len(build_tree(copy).bodies) == SIZES[kind][1]


def test_kinds_axes_and_limits_enter_the_digest() -> None:
    universal = robot("universal")
    changed = universal.joints[0].replace(second_axis=[-1.0, 0.0, 0.0])
    narrow = universal.joints[0].replace(limits=Limits((-1.0, -math.inf), (1.0, 0.4), (2.0, 3.0), (4.0, 5.0)))
    digests = {robot(kind).digest for kind in JOINT_KINDS}
    digests |= {universal.replace(joints=(other,)).digest for other in (changed, narrow)}
    assert len(digests) == len(JOINT_KINDS) + 2


def test_limits_of_each_freedom_stand_where_their_coordinates_do() -> None:
    joints = (
        joint("planar", "a", limits=LIMITS["planar"]),
        joint("spherical", "b", "link", "c", limits=LIMITS["spherical"]),
        joint("universal", "u", "c", "d", limits=LIMITS["universal"]),
    )
    described = Description("r", tuple(map(Link, ("base", "link", "c", "d"))), joints)
    inf = math.inf
    assert described.lower_limits.tolist() == [-1.0, -2.0, -3.0, -inf, -inf, -inf, -inf, -1.0, -inf]
    assert described.upper_limits.tolist() == [1.0, 2.0, 3.0, inf, inf, inf, inf, 1.0, 0.5]
    assert described.velocity_limits.tolist() == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 2.0, 3.0]
    assert described.effort_limits.tolist() == [7.0, 7.0, 7.0, 4.0, 4.0, 4.0, 4.0, 5.0]


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (
            "universal",
            {"limits": Limits((0, 0, 0), (1, 1, 1))},
            "lower limits of joint 'j' are 3 numbers, but it has 2 degrees",
        ),
        ("revolute", {"limits": Limits((0.0,), (1.0,))}, "the lower limits of joint 'j' are 1 numbers"),
        (
            "free",
            {"limits": Limits(velocity=(1.0,) * 7)},
            "the velocity limits of joint 'j' are 7 numbers, but it has 6 degrees",
        ),
        ("spherical", {"limits": Limits(-1.0, 1.0)}, "position limits of joint 'j' must be infinite, .* spherical"),
        ("free", {"limits": Limits(upper=1.0)}, "position limits of joint 'j' must be infinite, because it is free"),
        ("universal", {"second_axis": [0.0, 1.0, 1e-3]}, "second_axis of joint 'j' must be at a right angle"),
        ("universal", {"second_axis": [0.0, 0.0, 0.0]}, "second_axis of joint 'j' must be at least 1e-09 long"),
        ("universal", {"axis": [0.0, 1.0, 0.0]}, "second_axis of joint 'j' must be at a right angle"),
        ("planar", {"mimic": Mimic("k")}, "joint 'j' is planar and cannot mimic another joint"),
        ("spherical", {"mimic": Mimic("k")}, "joint 'j' is spherical and cannot mimic another joint"),
        ("cylindrical", {"pitch": 0.1}, "only a helical joint has a pitch"),
        ("floating", {}, "kind of joint 'j' is 'floating'; it must be one of revolute, .* free, fixed"),
    ],
)
def test_joints_that_cannot_be(kind: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        joint(kind, **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lower": (0.0, 0.0), "upper": (1.0, 1.0, 1.0)}, "limits for 2 and 3 degrees of freedom do not go together"),
        ({"lower": (0.0, 2.0), "upper": 1.0}, "the lower limit 2.0 is not below the upper limit 1.0"),
        ({"velocity": (1.0, -2.0)}, "the velocity limit -2.0 must not be negative"),
        ({"effort": ("a", "b")}, "limit 'effort' must be a number, not 'a'"),
        ({"effort": [[1.0]]}, "limit 'effort' must be a number"),
    ],
)
def test_limits_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Limits(**fields)


@pytest.mark.parametrize("kind", ["universal", "cylindrical", "planar", "spherical", "free"])
def test_joints_with_several_freedoms_cannot_be_followed(kind: str) -> None:
    joints = (joint(kind), joint("revolute", "k", "link", "c", mimic=Mimic("j")))
    with pytest.raises(
        ModelError, match=f"'k' mimics the joint 'j', which is {kind}: only a joint with one degree of freedom"
    ):
        Description("r", tuple(map(Link, ("base", "link", "c"))), joints)


def test_home_has_unit_quaternions() -> None:
    assert robot("spherical", home=[0.0, 3.0, 0.0, 4.0]).home.tolist() == [0.0, 0.6, 0.0, 0.8]
    kept = np.array([0.5, 0.5, 0.5, -0.5])
    assert np.array_equal(robot("spherical", home=kept).home, kept)
    with pytest.raises(ModelError, match="the quaternion of joint 'j' in home must be at least 1e-09 long"):
        robot("free", home=[0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    with pytest.raises(ModelError, match=r"home .one number for each coordinate. must have shape \(7,\), not \(6,\)"):
        robot("free", home=np.ones(6))
    with pytest.raises(ModelError, match=r"home .* must be finite .*, but element \[2\] is nan"):
        robot("spherical", home=[1.0, 0.0, math.nan, 0.0])


FLOATING = """
<robot name="craft">
  <link name="world"/>
  <link name="hull"/>
  <link name="sledge"/>
  <joint name="base" type="floating">
    <parent link="world"/> <child link="hull"/> <origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>
  </joint>
  <joint name="deck" type="planar"><parent link="hull"/> <child link="sledge"/> <axis xyz="0 1 0"/></joint>
</robot>
"""


def test_urdf_has_floating_and_planar_joints() -> None:
    described = parse_urdf(FLOATING)
    assert [(each.name, each.kind) for each in described.joints] == [("base", "free"), ("deck", "planar")]
    assert described.joint("deck").axis.tolist() == [0.0, 1.0, 0.0]
    assert (described.nq, described.nv) == (10, 9)
    assert described.home.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    tree = build_tree(described)
    assert tree.frames["hull"].body == 5
    assert parse_toml(to_toml(described)) == described


@pytest.mark.parametrize(
    ("axis", "x", "y"),
    [
        ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
        ([1.0, 0.0, 0.0], None, None),
        ([0.3, -0.5, 0.8], None, None),
    ],
)
def test_a_planar_joint_slides_across_its_axis(axis: list[float], x: Any, y: Any) -> None:
    first, second, turn = joint("planar", axis=axis).freedoms
    normal = np.array(axis) / np.linalg.norm(axis)
    assert np.allclose(np.cross(first.direction, second.direction), normal, rtol=0.0, atol=1e-15)
    assert np.allclose(turn.direction, normal, rtol=0.0, atol=1e-15)
    assert (first.angular, second.angular, turn.angular) == (0.0, 0.0, 1.0)
    if x is not None:
        assert first.direction.tolist() == x
        assert second.direction.tolist() == y
