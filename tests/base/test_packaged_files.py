"""Files that come with a package, from a folder and from a zip file."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import chasles
from chasles.base.packaged_files import folder_of


def test_a_folder_is_itself() -> None:
    assert folder_of("chasles") == Path(chasles.__file__).parent


@pytest.mark.slow
def test_the_library_works_from_a_zip_file(tmp_path: Path) -> None:
    archive, source = tmp_path / "chasles.zip", Path(chasles.__file__).parent
    with zipfile.ZipFile(archive, "w") as zipped:
        for file in source.rglob("*"):
            if "__pycache__" not in file.parts:
                zipped.write(file, Path("chasles") / file.relative_to(source))
    program = (
        "import chasles as ch\n"
        "arm = ch.load('panda')\n"
        "print(arm.gravity_torque(arm.home).round(6).tolist())\n"
        "print(ch.studies.load('mazure').title, ch.model.shipped_path('ur10').parent)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(archive), "CHASLES_CACHE": "0"}
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr
    torques, where = ended.stdout.splitlines()
    arm = chasles.load("panda")
    assert torques == str(arm.gravity_torque(arm.home).round(6).tolist())
    assert not Path(where.split()[-1]).exists()  # the copies are removed when the process ends
