"""Shapes of links: read from every format, moved with their links, written back, and meshes found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ModelError
from chasles.model import (
    Box,
    Capsule,
    Cylinder,
    Description,
    Ellipsoid,
    Inertia,
    Joint,
    Link,
    Mesh,
    ModelWarning,
    Shape,
    Sphere,
    load,
    mesh_path,
    missing_meshes,
    parse_mjcf,
    parse_sdf,
    parse_toml,
    parse_urdf,
    simplified,
    to_mjcf,
    to_toml,
    to_urdf,
)

URDF = """<robot name="r"><material name="steel"><color rgba="0.5 0.5 0.6 1"/></material>
<link name="base"><visual name="foot"><origin xyz="0 0 0.1" rpy="0 1.5707963267949 0"/>
<geometry><box size="0.2 0.3 0.4"/></geometry><material name="steel"/></visual>
<collision><geometry><sphere radius="0.2"/></geometry></collision></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="package://r_description/meshes/arm.stl" scale="0.001 0.001 0.001"/></geometry>
<material name="own"><color rgba="1 0 0 0.5"/></material></visual>
<collision><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision>
<collision><geometry><capsule radius="0.05" length="0.4"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/></joint></robot>"""

SDF = """<sdf version="1.7"><model name="r"><link name="a"><pose>0 0 1 0 0 0</pose>
<visual name="v"><pose relative_to="__model__">0.5 0 0 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>
<material><diffuse>0.1 0.2 0.3</diffuse></material></visual>
<collision name="c"><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></collision>
<collision name="d"><geometry><capsule><radius>0.1</radius><length>0.5</length></capsule></geometry></collision>
<collision name="m"><geometry><mesh><uri>model://r/arm.dae</uri><scale>1 1 2</scale></mesh></geometry></collision>
</link></model></sdf>"""

MJCF = """<mujoco><default><mesh scale="2 2 2"/><default class="small"><mesh scale="0.5 0.5 0.5"/></default></default>
<asset><mesh name="m" file="m.stl"/><mesh file="sub/n.obj" class="small"/><material name="red" rgba="1 0 0 1"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><body name="b"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom type="mesh" mesh="m" pos="1 2 3" euler="10 20 30" material="red" contype="0" conaffinity="0"/>
<geom type="mesh" mesh="n" group="3"/><geom name="bone" type="capsule" fromto="0 0 0 0 0 1" size="0.1" rgba="0 1 0 1"/>
<geom type="box" mesh="m"/></body></worldbody></mujoco>"""


def turned() -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = ch.geometry.rotation_from_axis_angle(np.array([0.6, 0.0, 0.8]), 0.5)
    T[:3, 3] = 0.1, -0.2, 0.3
    return T


def robot() -> Description:
    T = turned()
    shapes = (
        Shape(Box(np.array([0.1, 0.2, 0.3])), T, (1.0, 0.5, 0.25, 1.0), "crate"),
        Shape(Sphere(0.1), T),
        Shape(Cylinder(0.1, 0.4), T, name="crate"),
        Shape(Capsule(0.1, 0.4), T),
        Shape(Ellipsoid(np.array([0.1, 0.2, 0.3]))),
    )
    arm = Link("arm", Inertia(1.0, matrix=np.eye(3)), visuals=shapes, collisions=shapes[1:3])
    hand = Link("hand", Inertia(0.5, matrix=np.eye(3)), collisions=(Shape(Mesh("hand.stl")), shapes[3]))
    joints = (Joint("j", "continuous", "base", "arm"), Joint("f", "fixed", "arm", "hand", T_parent_joint=T))
    return Description("r", links=(Link("base"), arm, hand), joints=joints)


def test_urdf_shapes_are_what_the_file_says() -> None:
    base, arm = parse_urdf(URDF).links
    (foot,) = base.visuals
    assert foot.name == "foot"
    assert foot.rgba == (0.5, 0.5, 0.6, 1.0)
    np.testing.assert_array_equal(foot.geometry.size, [0.2, 0.3, 0.4])  # type: ignore[union-attr]
    np.testing.assert_array_equal(foot.T_link_shape @ [1.0, 0.0, 0.0, 1.0], [0.0, 0.0, -0.9, 1.0])
    assert base.collisions == (Shape(Sphere(0.2)),)
    assert arm.visuals[0].geometry == Mesh("package://r_description/meshes/arm.stl", np.full(3, 0.001))
    assert arm.visuals[0].rgba == (1.0, 0.0, 0.0, 0.5)
    assert [shape.geometry for shape in arm.collisions] == [Cylinder(0.05, 0.4), Capsule(0.05, 0.4)]


def test_sdf_shapes_are_what_the_file_says() -> None:
    (link,) = parse_sdf(SDF).links
    (visual,) = link.visuals
    np.testing.assert_array_equal(visual.T_link_shape[:3, 3], [0.5, 0.0, -1.0])
    assert visual.rgba == (0.1, 0.2, 0.3, 1.0)
    assert visual.name == "v"
    assert [shape.geometry for shape in link.collisions] == [
        Ellipsoid(np.array([1.0, 2.0, 3.0])),
        Capsule(0.1, 0.5),
        Mesh("model://r/arm.dae", np.array([1.0, 1.0, 2.0])),
    ]


def test_mjcf_shapes_are_where_the_file_puts_them() -> None:
    link = parse_mjcf(MJCF).link("b")
    mesh, bone = link.visuals
    assert mesh.geometry == Mesh("m.stl", np.full(3, 2.0))
    assert mesh.rgba == (1.0, 0.0, 0.0, 1.0)
    R = np.eye(3)
    for axis, angle in zip(np.eye(3), np.radians([10.0, 20.0, 30.0]), strict=True):
        R = R @ ch.geometry.rotation_from_axis_angle(axis, angle)
    np.testing.assert_allclose(mesh.T_link_shape[:3, 3], [1.0, 2.0, 3.0], atol=1e-6)  # MuJoCo's mesh frame is float32
    np.testing.assert_allclose(mesh.T_link_shape[:3, :3], R, atol=1e-6)
    assert (bone.geometry, bone.name, bone.rgba) == (Capsule(0.1, 1.0), "bone", (0.0, 1.0, 0.0, 1.0))
    np.testing.assert_allclose(bone.T_link_shape[:3, 3], [0.0, 0.0, 0.5])
    assert [shape.geometry for shape in link.collisions] == [Mesh("sub/n.obj", np.full(3, 0.5)), Capsule(0.1, 1.0)]


@pytest.mark.parametrize(
    ("geom", "drawn"),
    [
        ('group="0"', False),  # grey beside a body's geoms for drawing: its collision body
        ('group="0" rgba="0 1 0 1"', True),
        ('group="0" material="red"', True),
        ('group="1"', True),  # in their group
        ('group="4" rgba="0 1 0 1"', False),  # hidden by MuJoCo's viewer
    ],
)
def test_geoms_that_touch_are_drawn_unless_others_are_there_for_it(geom: str, drawn: bool) -> None:
    text = (
        '<mujoco><asset><material name="red" rgba="1 0 0 1"/></asset><worldbody><body name="b">'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>{}'
        '<geom type="sphere" size="0.2" {}/></body></worldbody></mujoco>'
    )
    ball = '<geom type="capsule" size="0.1 0.2" contype="0" conaffinity="0" group="1"/>'
    link = parse_mjcf(text.format(ball, geom)).link("b")
    assert [shape.geometry for shape in link.visuals] == [Capsule(0.1, 0.4), Sphere(0.2)][: 1 + drawn]
    assert [shape.geometry for shape in link.collisions] == [Sphere(0.2)]
    alone = parse_mjcf(text.format("", geom)).link("b")
    assert len(alone.visuals) == (0 if "4" in geom else 1)


def test_every_shape_survives_toml_and_urdf_all_but_two() -> None:
    description = robot()
    assert parse_toml(to_toml(description)) == description
    with pytest.warns(ModelWarning, match="ellipsoid is left out: URDF has none"):
        read = parse_urdf(to_urdf(description))
    for link, same in zip(description.links, read.links, strict=True):
        for shapes, others in ((link.visuals, same.visuals), (link.collisions, same.collisions)):
            plain = [shape for shape in shapes if isinstance(shape.geometry, Box | Sphere | Cylinder | Mesh)]
            kept = [shape for shape in others if shape.geometry in [one.geometry for one in plain]]
            for one, other in zip(plain, kept, strict=False):
                np.testing.assert_allclose(one.T_link_shape, other.T_link_shape, atol=1e-15)
    capsule = read.link("hand").collisions[1:]  # a cylinder and its two caps
    assert [shape.geometry for shape in capsule] == [Cylinder(0.1, 0.4), Sphere(0.1), Sphere(0.1)]
    T = turned()
    for cap, z in zip(capsule[1:], (-0.2, 0.2), strict=True):
        np.testing.assert_allclose(cap.T_link_shape[:3, 3], T[:3, 3] + z * T[:3, 2], atol=1e-15)


def test_toml_names_the_folders_of_meshes_on_request(tmp_path: Path) -> None:
    def folders(description: Description) -> list[str]:
        return [
            s.geometry.folder for link in description.links for s in link.collisions if isinstance(s.geometry, Mesh)
        ]

    description = robot()
    (tmp_path / "r.toml").write_text(to_toml(description))
    (tmp_path / "elsewhere").mkdir()
    own = load(tmp_path / "r.toml")
    assert folders(own) == [str(tmp_path)]
    (tmp_path / "elsewhere" / "r.toml").write_text(to_toml(own, mesh_folders=True))
    again = load(tmp_path / "elsewhere" / "r.toml")
    assert folders(again) == folders(own)
    assert again == own
    assert str(tmp_path) not in to_toml(own)
    (tmp_path / "r.toml").write_text(to_toml(own, mesh_folders=True).replace(json.dumps(str(tmp_path)), "3"))
    with pytest.raises(ModelError, match="'folder' of a mesh must be text, not 3"):
        load(tmp_path / "r.toml")


def test_mujoco_has_the_shapes_written_for_it(tmp_path: Path) -> None:
    description = robot()
    model: Any = mujoco.MjModel.from_xml_string(to_mjcf(description))
    assert model.ngeom == 6  # five of the arm, one of them a collision too, and the capsule of the hand
    assert sorted(model.geom_contype) == [0, 0, 0, 1, 1, 1]
    read = parse_mjcf(to_mjcf(description)).link("arm")
    assert {type(shape.geometry) for shape in read.visuals} == {Box, Sphere, Cylinder, Capsule, Ellipsoid}
    assert [type(shape.geometry) for shape in read.collisions] == [Sphere, Cylinder]
    np.testing.assert_allclose(read.collisions[0].T_link_shape, turned(), atol=1e-15)
    solid = "".join(
        f"facet normal 0 0 0 outer loop {' '.join(f'vertex {v}' for v in face)} endloop endfacet "
        for face in (("0 0 0", "0 1 0", "1 0 0"),)
    )
    (tmp_path / "hand.stl").write_text(f"solid s {solid} endsolid s")
    (tmp_path / "r.toml").write_text(to_toml(description))
    text = to_mjcf(load(tmp_path / "r.toml"), meshes=True)
    assert f'file="{tmp_path / "hand.stl"}"' in text
    assert 'type="mesh"' in text
    with pytest.warns(ModelWarning, match="1 meshes are left out: mesh 'hand.stl' is not there"):
        to_mjcf(description, meshes=True)


def test_shapes_move_with_their_links() -> None:
    (_, arm), moved = simplified(robot()).links, turned()
    assert len(arm.visuals) == 5
    assert len(arm.collisions) == 4
    np.testing.assert_allclose(arm.collisions[2].T_link_shape, moved, atol=1e-15)
    np.testing.assert_allclose(arm.collisions[3].T_link_shape, moved @ moved, atol=1e-15)


def test_meshes_are_found_by_the_rules_and_missing_ones_named(tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "ws" / "r_description"
    (folder / "urdf").mkdir(parents=True)
    (folder / "meshes").mkdir()
    (folder / "urdf" / "r.urdf").write_text(URDF)
    description = load(folder / "urdf" / "r.urdf")
    assert description == parse_urdf(URDF)  # where a file is makes no other robot
    (name,) = missing_meshes(description)
    assert name == "package://r_description/meshes/arm.stl"
    (folder / "meshes" / "arm.stl").touch()
    assert missing_meshes(description) == {}
    mesh = Mesh(name)
    with pytest.raises(ModelError, match=r"say where its package is: packages=\{'r_description': …\}"):
        mesh_path(mesh)
    assert mesh_path(mesh, {"r_description": folder}) == folder / "meshes" / "arm.stl"
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'ws'}")
    assert mesh_path(mesh) == folder / "meshes" / "arm.stl"
    assert mesh_path(Mesh("../meshes/arm.stl", folder=str(folder / "urdf"))).samefile(folder / "meshes" / "arm.stl")
    assert mesh_path(Mesh(f"file://{folder}/meshes/arm.stl")).is_file()
    with pytest.raises(ModelError, match="is not there"):
        mesh_path(Mesh("package://../../etc/passwd", folder=str(folder)))


@pytest.mark.parametrize(
    "inside",
    [
        "<visual/>",
        "<collision><geometry><box size='1 2'/></geometry></collision>",
        "<collision><geometry><sphere radius='-1'/></geometry></collision>",
        "<collision><geometry><cylinder radius='nan' length='1'/></geometry></collision>",
        "<visual><geometry><mesh filename=''/></geometry></visual>",
        "<visual><geometry><torus/></geometry></visual>",
        "<visual><origin xyz='1e99 0 0'/><geometry><sphere radius='1'/></geometry></visual>",
    ],
)
def test_a_shape_that_cannot_be_read_is_named_and_the_robot_still_loads(inside: str) -> None:
    with pytest.warns(ModelWarning, match="left out of its shapes: .*in line 1 of <link> 'a' in line 1"):
        description = parse_urdf(f"<robot name='r'><link name='a'>{inside}</link></robot>")
    assert description.link("a") == Link("a")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('link = "b"\nsphere = 1', "the link 'b', which does not exist"),
        ('link = "a"', "exactly one of box"),
        ('link = "a"\nsphere = 1\nbox = [1, 1, 1]', "exactly one of box"),
        ('link = "a"\ncylinder = { radius = 1 }', "needs radius and length"),
        ('link = "a"\nmesh = { file = 3 }', "must be a path"),
        ('link = "a"\nsphere = 1\nrgba = [1, 1]', "rgba must have shape"),
        ("sphere = 1", "'link' is missing"),
    ],
)
def test_wrong_tables_of_shapes_are_refused(table: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse_toml(f'[[link]]\nname = "a"\n[[collision]]\n{table}\n')
