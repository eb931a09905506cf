"""Bodies of robots as triangles: read, placed, thinned, packed, drawn; what is missing leaves the drawn shape."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ModelError, UnknownNameError
from chasles.model import Box, Capsule, Cylinder, Description, Ellipsoid, Joint, Link, Mesh, Shape, Sphere
from chasles.model.formats.mesh_surfaces import surfaces
from chasles.visual.bodies import packed, robot_bodies
from chasles.visual.textures import SurfaceTexture, packed_coat

trimesh = pytest.importorskip("trimesh")


def _volume(vertices: np.ndarray[Any, Any], faces: np.ndarray[Any, Any]) -> float:
    """Volume by the divergence theorem: positive where faces turn outward."""
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(
    ("geometry", "volume", "tolerance"),
    [
        (Box([1.0, 2.0, 3.0]), 6.0, 1e-12),
        (Sphere(0.5), np.pi / 6.0, 0.02),
        (Ellipsoid([1.0, 2.0, 3.0]), 8.0 * np.pi, 0.02),
        (Cylinder(0.5, 2.0), np.pi / 2.0, 0.01),
        (Capsule(0.5, 2.0), np.pi / 2.0 + np.pi / 6.0, 0.02),
    ],
)
def test_solids_have_their_volume_and_face_outward(geometry: Any, volume: float, tolerance: float) -> None:
    (surface,) = surfaces(geometry)
    assert _volume(surface.vertices, surface.faces) == pytest.approx(volume, rel=tolerance)


@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "glb", "ply"])
def test_formats_of_files(tmp_path: Path, suffix: str) -> None:
    body = trimesh.creation.box([0.2, 0.4, 0.6])
    body.visual.face_colors = [255, 0, 51, 255]
    body.export(tmp_path / f"body.{suffix}")
    (surface,) = surfaces(Mesh(f"body.{suffix}", scale=[1.0, -2.0, 0.5], folder=str(tmp_path)))
    assert _volume(surface.vertices, surface.faces) == pytest.approx(0.048, rel=1e-6)  # mirrored, yet outward
    np.testing.assert_allclose(np.ptp(surface.vertices, axis=0), [0.2, 0.8, 0.3], rtol=1e-6)
    if suffix != "stl":
        np.testing.assert_allclose(surface.rgba or (), [1.0, 0.0, 0.2, 1.0], atol=0.01)


def test_the_unit_of_a_dae_file_counts(tmp_path: Path) -> None:
    trimesh.creation.box([100.0, 100.0, 100.0]).export(tmp_path / "body.dae")
    text = (tmp_path / "body.dae").read_text()
    unit = '<unit meter="0.01" name="centimeter"/>'

    changed = re.sub(r"<unit [^>]*/>", unit, text) if "<unit" in text else text.replace("<asset>", f"<asset>{unit}")
    (tmp_path / "body.dae").write_text(changed)
    (surface,) = surfaces(Mesh("body.dae", folder=str(tmp_path)))
    np.testing.assert_allclose(np.ptp(surface.vertices, axis=0), 1.0, rtol=1e-6)


@pytest.mark.parametrize("content", [b"", b"solid", b"\0" * 200, b"<COLLADA/>", b"v 1 2 nan\nf 1 1 1\n"])
@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "glb", "xyz?"])
def test_damaged_files_are_refused_with_their_name(tmp_path: Path, content: bytes, suffix: str) -> None:
    (tmp_path / f"bad.{suffix}").write_bytes(content)
    with pytest.raises(ModelError, match=r"mesh 'bad\..*' cannot be read: "):
        surfaces(Mesh(f"bad.{suffix}", folder=str(tmp_path)))


def _arm(*shapes: Shape, **other: Any) -> Description:
    links = (Link("base", visuals=shapes, **other), Link("arm", visuals=(Shape(Box([0.4, 0.05, 0.05])),)))
    return Description("arm", links, (Joint("turn", "revolute", "base", "arm"),))


def test_missing_files_leave_the_drawn_shape_and_one_sentence() -> None:
    bodies = robot_bodies(_arm(Shape(Mesh("package://nowhere/x.stl")), Shape(Sphere(0.1))))
    assert bodies.links == {"arm"}
    assert bodies.incomplete == {"base"}
    assert len(bodies.notes) == 1
    assert "package://nowhere/x.stl' is not there; say where its package is" in bodies.notes[0]


def test_packages_say_where_meshes_are(tmp_path: Path) -> None:
    trimesh.creation.box([0.2, 0.4, 0.6]).export(tmp_path / "x.stl")
    description = _arm(Shape(Mesh("package://nowhere/x.stl")))
    assert robot_bodies(description, packages={"nowhere": tmp_path}).links == {"base", "arm"}


def test_many_triangles_become_fewer_and_stay_where_they_are(tmp_path: Path) -> None:
    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.3)
    ball.export(tmp_path / "ball.stl")
    bodies = robot_bodies(_arm(Shape(Mesh("ball.stl", folder=str(tmp_path)))), most=3000)
    vertices, faces = bodies.triangles[bodies.placed[0].surface]
    assert 1000 < len(faces) <= 3000 < len(ball.faces)
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), 0.3, rtol=0.02)
    assert _volume(vertices, faces) == pytest.approx(4.0 / 3.0 * np.pi * 0.3**3, rel=0.02)


def test_packed_vertices_are_near_the_given_ones(tmp_path: Path) -> None:
    bodies = robot_bodies(_arm(Shape(Ellipsoid([0.1, 0.2, 0.7]))))
    data = packed(bodies)
    content = gzip.decompress(base64.b64decode(data["data"]))
    count, faces, wide, low, step, coat = data["surfaces"][0]
    steps = np.frombuffer(content, "<u2", 3 * count).reshape(3, count).T
    vertices, given = bodies.triangles[0]
    np.testing.assert_allclose(np.array(low) + steps * step, vertices, atol=1.2e-5)
    start = 4 * -(-6 * count // 4)
    np.testing.assert_array_equal(np.frombuffer(content, "<u2", 3 * faces, start).reshape(-1, 3), given)
    assert not wide
    assert coat is None
    assert data["images"] == []


def test_pictures_show_bodies_in_their_colors(tmp_path: Path) -> None:
    from PIL import Image

    red = Shape(Box([0.3, 0.3, 0.3]), rgba=(1.0, 0.0, 0.0, 1.0))
    robot = ch.Robot(_arm(red, collisions=(Shape(Sphere(0.2)),)))
    seen = {}
    for shown in ("visual", "collision", "drawn"):
        file = ch.picture(robot, tmp_path / f"{shown}.png", size=(160, 120), shown=shown)
        pixels = np.asarray(Image.open(file)) / 255.0
        seen[shown] = int(np.sum((pixels[..., 0] > 0.4) & (pixels[..., 1] < 0.2)))
    assert seen["visual"] > 500
    assert seen["collision"] == seen["drawn"] == 0
    with pytest.raises(UnknownNameError, match="both"):
        ch.picture(robot, tmp_path / "x.png", shown="both")


def test_a_picture_warns_of_missing_meshes(tmp_path: Path) -> None:
    robot = ch.Robot(_arm(Shape(Mesh("no.stl"))))
    with pytest.warns(ch.model.ModelWarning, match=r"mesh 'no.stl' is not there.*drawn by kinematics"):
        ch.picture(robot, tmp_path / "x.png", size=(64, 48))


@pytest.mark.parametrize("ending", [".zip", ".tar.gz", ".bz2", ".zae", ".3mf"])
def test_archives_are_not_unpacked(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"bomb{ending}").write_bytes(b"\0" * 100)
    with pytest.raises(ModelError, match=r"cannot be read: meshes end in \.stl"):
        surfaces(Mesh(f"bomb{ending}", folder=str(tmp_path)))


def test_a_coat_without_corners_is_packed() -> None:
    described, pieces = packed_coat(SurfaceTexture(np.empty((0, 3, 2)), 0))
    assert described == [0, 0, [0.0, 0.0], [0.0, 0.0]]
    assert pieces == [b"", b""]
