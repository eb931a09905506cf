"""A saved run finds the meshes of its robot again, and does not name the folders of the machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import chasles as ch
from chasles.model import missing_meshes
from chasles.simulation.metrics import run_robot
from chasles.simulation.results import Run, _seen_from

ARM = """<robot name="arm"><link name="base">
<visual><geometry><mesh filename="parts/base.stl"/></geometry></visual></link>
<link name="bob"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="bob"/></joint></robot>"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    parts = tmp_path / "work" / "models" / "parts"
    parts.mkdir(parents=True)
    (parts / "base.stl").touch()
    (parts.parent / "arm.urdf").write_text(ARM)
    return ch.simulate(ch.load(parts.parent / "arm.urdf"), duration=0.01)


def test_the_file_names_meshes_from_its_place(run: Run, tmp_path: Path) -> None:
    (tmp_path / "work" / "runs").mkdir()
    run.to_netcdf(tmp_path / "work" / "runs" / "run.nc")
    assert str(tmp_path).encode() not in (tmp_path / "work" / "runs" / "run.nc").read_bytes()
    assert str(tmp_path) in run.attrs["robot_toml"]  # the run in memory knows its meshes
    shutil.move(tmp_path / "work", tmp_path / "moved")
    opened = Run.open(tmp_path / "moved" / "runs" / "run.nc")
    assert missing_meshes(run_robot(opened).description) == {}
    assert run_robot(opened) == run_robot(run)


def test_folders_are_seen_from_others_below_the_same_one() -> None:
    assert _seen_from(Path("/data/runs"), "/home/ada/arm") == ""
    assert _seen_from(Path("/home/ada/runs"), "/home/ada/arm") == "../arm"
