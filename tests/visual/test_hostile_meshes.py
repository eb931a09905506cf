"""A mesh reaches no file outside its folder, and a comment in Latin-1 is no obstacle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import chasles as ch

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl skin\nf 1/1 2/2 3/3\n"


def _page(folder: Path, mesh: str) -> str:
    """Write the page of a robot with one mesh and return its text."""
    visual = f'<visual><geometry><mesh filename="{mesh}"/></geometry></visual>'
    (folder / "robot.urdf").write_text(f'<robot name="r"><link name="base">{visual}</link></robot>')
    ch.load(folder / "robot.urdf").view(path=folder / "page.html")
    return (folder / "page.html").read_text()


def _gltf(uri: str) -> str:
    """Write a mesh whose thirty vertices are the first bytes of another file."""
    document: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "buffers": [{"uri": uri, "byteLength": 360}],
        "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": 360}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 30, "type": "VEC3"}],
    }
    return json.dumps(document)


@pytest.mark.parametrize("uri", ["../secret.bin", "{outside}/secret.bin"])
def test_a_mesh_takes_no_bytes_from_outside_its_folder(uri: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(b"\x00\x00\x80\x3f" * 90)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "part.gltf").write_text(_gltf(uri.format(outside=tmp_path)))
    assert "mesh 'part.gltf' cannot be read" in _page(folder, "part.gltf")


@pytest.mark.parametrize("texture", ["../secret.png", "{outside}/secret.png", "link.png"])
def test_a_texture_comes_from_the_folder_of_its_mesh(texture: str, tmp_path: Path) -> None:
    Image.effect_noise((64, 64), 90.0).save(tmp_path / "secret.png")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "part.obj").write_text("mtllib part.mtl\n" + TRIANGLE)
    (folder / "own.png").write_bytes((tmp_path / "secret.png").read_bytes())

    def size(texture: str) -> int:
        (folder / "part.mtl").write_text(f"newmtl skin\nKd 0.5 0.5 0.5\n{texture}\n")
        return len(_page(folder, "part.obj"))

    plain = size("")
    assert size("map_Kd own.png") > plain + 1000
    said = "the texture of mesh 'part.obj' cannot be read"
    assert said not in (folder / "page.html").read_text()
    assert size(f"map_Kd {texture.format(outside=tmp_path)}") < plain + 500
    assert said in (folder / "page.html").read_text()


def test_a_missing_texture_is_said_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "part.obj").write_text("mtllib part.mtl\n" + TRIANGLE)
    (tmp_path / "part.mtl").write_text("newmtl skin\nmap_Kd nothere.png\n")
    assert "the texture of mesh 'part.obj' cannot be read; the mesh has one color" in _page(tmp_path, "part.obj")


def test_pages_do_not_name_the_folders_of_the_machine(tmp_path: Path) -> None:
    page = _page(tmp_path, "parts/nothere.stl")
    assert "mesh 'parts/nothere.stl' is not there" in page
    assert str(tmp_path) not in page
    assert str(tmp_path) not in _page(tmp_path, f"{tmp_path}/nothere.stl")


def test_comments_in_latin_1_are_read(tmp_path: Path) -> None:
    (tmp_path / "part.obj").write_bytes("# pièce\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n".encode("latin-1"))
    assert "cannot be read" not in _page(tmp_path, "part.obj")
