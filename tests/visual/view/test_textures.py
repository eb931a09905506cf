"""Textures of meshes: read from files, kept few and small, on the right side in pages and pictures."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from tests.visual.browser import Tab

import chasles as ch
from chasles.model import Description, Joint, Link, Mesh, Shape
from chasles.model.formats import mesh_surfaces
from chasles.model.formats.mesh_surfaces import Texture, surfaces
from chasles.visual.bodies import packed, robot_bodies
from chasles.visual.textures import Images, SurfaceTexture, packed_coat

trimesh = pytest.importorskip("trimesh")
PIL = pytest.importorskip("PIL.Image")

#: A board in the plane y = 0, whose image covers it once; the image's left half is red, the upper right quarter green,
#: the rest blue.
BOARD = """mtllib board.mtl
usemtl board
v -0.5 0 0\nv 0.5 0 0\nv 0.5 0 1\nv -0.5 0 1
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
f 1/1 2/2 3/3\nf 1/1 3/3 4/4
"""

BOARD_DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="1"/></asset>
<library_images><image id="i"><init_from>board.png</init_from></image></library_images>
<library_effects><effect id="e"><profile_COMMON>
<newparam sid="s"><surface type="2D"><init_from>i</init_from></surface></newparam>
<newparam sid="t"><sampler2D><source>s</source></sampler2D></newparam>
<technique sid="c"><lambert><diffuse><texture texture="t" texcoord="uv"/></diffuse></lambert></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">-0.5 0 0 0.5 0 0 0.5 0 1 -0.5 0 1</float_array><technique_common>
<accessor source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<source id="u"><float_array id="ua" count="8">0 0 1 0 1 1 0 1</float_array><technique_common>
<accessor source="#ua" count="4" stride="2"><param name="S" type="float"/><param name="T" type="float"/></accessor>
</technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="2" material="m"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="TEXCOORD" source="#u" offset="1" set="0"/><p>0 0 1 1 2 2 0 0 2 2 3 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="m" target="#m"><bind_vertex_input semantic="uv" input_semantic="TEXCOORD" input_set="0"/>
</instance_material></technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>"""

#: Number and mean place of the pixels that are red, green and blue.
COUNT = """(() => {
  page.gizmo.shown = false;
  const own = painted(), { width } = page.scene.canvas, places = [[], [], []];
  for (let k = 0; k < own.length; k += 4) for (let c = 0; c < 3; c++) {
    const [a, b] = [own[k + (c + 1) % 3], own[k + (c + 2) % 3]];
    if (own[k + c] > 120 && a < 70 && b < 70) places[c].push([k / 4 % width, -k / 4 / width]);
  }
  return places.map(all => [all.length, ...[0, 1].map(j => all.reduce((sum, p) => sum + p[j], 0) / all.length)]);
})()"""


def _board(folder: Path, suffix: str = "obj") -> Path:
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    image[:, :32, 0] = image[:32, 32:, 1] = image[32:, 32:, 2] = 255
    PIL.fromarray(image).save(folder / "board.png")
    (folder / "board.mtl").write_text("newmtl board\nKd 1 1 1\nmap_Kd board.png\n")
    (folder / "board.obj").write_text(BOARD)
    if suffix == "glb":
        trimesh.load(folder / "board.obj").export(folder / "board.glb")
    (folder / "board.dae").write_text(BOARD_DAE)
    return folder / f"board.{suffix}"


def _robot(path: Path, rgba: tuple[float, ...] | None = None) -> Description:
    shape = Shape(Mesh(path.name, folder=str(path.parent)), rgba=rgba)  # type: ignore[arg-type]
    links = (Link("ground"), Link("board", visuals=(shape,)))
    return Description("board", links, (Joint("turn", "revolute", "ground", "board"),))


@pytest.mark.parametrize("suffix", ["obj", "glb", "dae"])
def test_images_are_read_with_their_place_on_the_surface(tmp_path: Path, suffix: str) -> None:
    (board,) = surfaces(Mesh(_board(tmp_path, suffix).name, folder=str(tmp_path)))
    assert board.texture is not None
    middles = board.vertices[board.faces].mean(axis=1)
    colors = board.texture.colors(board.texture.uv.mean(axis=1))
    for (x, _, z), color in zip(middles, colors, strict=True):
        expected = [1.0, 0.0, 0.0] if x < 0.0 else [0.0, 1.0, 0.0] if z > 0.5 else [0.0, 0.0, 1.0]
        np.testing.assert_allclose(color, expected, atol=0.02)
    mirrored = surfaces(Mesh(f"board.{suffix}", scale=[-1.0, 1.0, 1.0], folder=str(tmp_path)))[0]
    assert mirrored.texture is not None
    np.testing.assert_array_equal(mirrored.texture.uv[:, ::-1], board.texture.uv)


def test_places_beyond_the_image_repeat_it() -> None:
    texture = Texture(np.zeros((0, 3, 2)), np.array([[[255, 0, 0], [0, 255, 0]]], dtype=np.uint8))
    u = np.array([0.25, 0.75, 1.25, -0.25, -7.75, 1.0, 0.999999999])
    np.testing.assert_array_equal(texture.colors(np.stack([u, u], axis=-1))[:, 1], [0, 1, 0, 1, 0, 0, 1])


def test_the_color_of_a_link_replaces_textures_unless_it_is_white(tmp_path: Path) -> None:
    path = _board(tmp_path)
    for rgba, textured, opacity in ((None, True, 1.0), ((1.0, 1.0, 1.0, 0.5), True, 0.5), ((1, 0, 0, 1), False, 1.0)):
        bodies = robot_bodies(_robot(path, rgba))
        (board,) = bodies.placed
        assert (board.textured, board.rgba[3], len(bodies.images.pixels)) == (textured, opacity, int(textured))
    assert not robot_bodies(_robot(path), "collision").images.pixels


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"-0.5 0": "0 0", "0.5 0": "0 0", "0 1": "0 0"}, False),  # all corners at one point
        ({"-0.5 0": "0 0", "0.5 0": "0 0"}, False),  # two points: each triangle is a line between them
        ({"vt 1 0": "vt 0 0", "vt 1 1": "vt 0 0", "vt 0 1": "vt 0 0"}, True),  # one place of the image
        ({"vt 1 1": "vt nan 1"}, True),
        ({"vt 1 1": "vt 1e300 1"}, True),
        ({"vt 0 1\n": ""}, True),  # a corner without its place
    ],
)
def test_meshes_without_area_or_place_in_their_image(tmp_path: Path, changes: dict[str, str], shown: bool) -> None:
    path = _board(tmp_path)
    text = BOARD
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    bodies = robot_bodies(_robot(path))
    assert bodies.links == ({"board"} if shown else set())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        packed(bodies)
        ch.picture(ch.Robot(_robot(path)), tmp_path / "board.png", size=(160, 120))


def test_packed_places_are_those_given() -> None:
    uv = np.random.default_rng(0).uniform(-3.0, 2.0, (500, 3, 2))
    (image, count, low, step), (places, corners) = packed_coat(SurfaceTexture(uv, 4))
    assert image == 4
    table = np.frombuffer(places, "<u2").reshape(2, count).T
    found = (np.array(low) + table * step)[np.frombuffer(corners, "<u2")].reshape(uv.shape)
    np.testing.assert_allclose((found - uv) % 1.0 % (1.0 - 1e-4), 0.0, atol=1e-4)


def test_large_images_are_scaled_down_and_equal_ones_kept_once() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (300, 300, 3), dtype=np.uint8)
    images, uv = Images(), np.zeros((1, 3, 2))
    for image in (noise, noise.copy(), noise[::-1]):
        images.coat(Texture(uv, image))
    assert images.coat(Texture(uv, None)) is images.coat(None) is None
    data = [base64.b64decode(text) for text in images.encoded(most=40_000)]
    assert len(data) == 2
    assert sum(map(len, data)) <= 40_000
    assert PIL.open(BytesIO(data[0])).size == (128, 128)
    assert PIL.open(BytesIO(base64.b64decode(images.encoded()[0]))).size[0] > 128
    assert images.encoded(most=4_000) == Images().encoded() == []


def test_what_cannot_be_shown_leaves_one_color_and_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _board(tmp_path)
    bodies = robot_bodies(_robot(path))
    monkeypatch.setattr(Images, "encoded", lambda _: [])
    data = packed(bodies)
    assert data["surfaces"][0][5] is None
    assert bodies.notes == ["the textures are too large for a page; the meshes have one color each"]
    np.testing.assert_allclose(bodies.placed[0].rgba, [2 / 3, 0.0, 1 / 3, 1.0], atol=0.4)
    content = (tmp_path / "board.png").read_bytes()
    (tmp_path / "board.png").write_bytes(content[: len(content) // 2])
    damaged = robot_bodies(_robot(path))
    assert damaged.links == {"board"}
    assert not damaged.placed[0].textured
    (note,) = damaged.notes
    assert note == "the texture of mesh 'board.obj' cannot be read; the mesh has one color"
    (tmp_path / "board.png").unlink()
    assert robot_bodies(_robot(path)).notes == [note]
    for module in (mesh_surfaces, ch.visual.bodies):
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    (note,) = robot_bodies(_robot(path)).notes
    assert note.startswith("textures are read by Pillow; type pip install")


def test_pages_and_pictures_show_the_image(tmp_path: Path, opened: Callable[..., Tab]) -> None:
    robot = ch.Robot(_robot(_board(tmp_path)))
    pixels = np.asarray(PIL.open(ch.picture(robot, tmp_path / "x.png", size=(160, 120)))).astype(int)
    tab = opened(robot)
    tab.ask("page.scene.unpacked")
    seen = tab.ask(COUNT)
    drawn = []
    for c in range(3):
        rows, columns = np.nonzero((pixels[..., c] > 120) & (np.delete(pixels, c, axis=-1) < 70).all(axis=-1))
        drawn.append([len(rows), columns.mean(), rows.mean()])
    for (red, red_x, _), (green, green_x, green_y), (blue, blue_x, blue_y) in (seen, drawn):
        assert min(red, green, blue) > 100
        assert red > green
        assert red_x < min(green_x, blue_x)
        assert green_y < blue_y  # rows count from above
    tab.ask("page.scene.prepare()")  # as on a graphics card that comes back
    assert tab.ask("painted().filter((x, k) => k % 4 === 1 && x > 120).length") > 100
    assert tab.complaints() == []
