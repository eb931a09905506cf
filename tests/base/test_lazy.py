"""Front doors: a stub a package, of lines that type checkers and the import itself read alike."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import chasles as ch

ROOT = Path(ch.__file__).parent
STUBS = sorted(ROOT.rglob("__init__.pyi"))


def package_of(stub: Path) -> str:
    return ".".join(("chasles", *stub.parent.relative_to(ROOT).parts))


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_every_line_of_a_stub_is_one_public_name(stub: Path) -> None:
    package = import_module(package_of(stub))
    *imports, listed = ast.parse(stub.read_text(encoding="utf-8")).body
    assert ast.unparse(listed) == "__all__: list[str]"
    names = []
    for line in imports:
        assert isinstance(line, ast.ImportFrom)
        assert [name.asname for name in line.names] == [name.name for name in line.names]
        names += [name.name for name in line.names]
    assert sorted(names) == package.__all__ == dir(package)
    for name in names:
        assert getattr(package, name) is not None


def test_packages_that_list_names_have_a_stub() -> None:
    listing = [file for file in ROOT.rglob("__init__.py") if "lazy.front_door" in file.read_text(encoding="utf-8")]
    assert sorted(file.with_suffix(".pyi") for file in listing) == STUBS


def test_a_name_brings_its_file_and_not_its_package() -> None:
    script = (
        "import sys\nfrom chasles.control import PD\nprint(PD.__module__, 'chasles.control.whole_body' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["chasles.control.pd", "False"]


def test_a_file_called_as_its_function_does_not_hide_it() -> None:
    script = (
        "import chasles.simulation.simulate, chasles.distances.clearance\n"
        "from chasles import distances, simulation\n"
        "print(callable(simulation.simulate), callable(distances.clearance))"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["True", "True"]


def test_a_misspelt_name_is_answered_with_the_one_that_is_meant() -> None:
    with pytest.raises(
        AttributeError, match=re.escape("has no attribute 'ComputedTorqe'; did you mean 'ComputedTorque'?")
    ):
        ch.control.ComputedTorqe  # noqa: B018
    with pytest.raises(AttributeError, match=re.escape("module 'chasles.control' has no attribute '_nothing'")):
        ch.control._nothing  # noqa: B018


DOOR = "from chasles.base import lazy\n__getattr__, __dir__, __all__ = lazy.front_door(__name__)\n"
LINES = "from rooms.hall import (\n    table as table,\n)\n\n__all__: list[str]\n"


def test_front_doors_open_in_a_zip_file(tmp_path: Path) -> None:
    archive = tmp_path / "rooms.zip"
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("rooms/__init__.py", DOOR)
        files.writestr("rooms/__init__.pyi", LINES)
        files.writestr("rooms/hall.py", "table = 4\n")
    script = f"import sys; sys.path.insert(0, {str(archive)!r}); import rooms; print(rooms.__all__, rooms.table)"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "['table'] 4"
