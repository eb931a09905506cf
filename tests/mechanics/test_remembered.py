"""Programs that an earlier process traced are used only where tracing would give the same."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import chasles as ch
from chasles.engine import Program, cache, sources
from chasles.engine.family import Family
from chasles.engine.remembered import RememberedProgram
from chasles.errors import CompileError
from chasles.mechanics import computation
from chasles.model import Description

newton_euler = import_module("chasles.algorithms.newton_euler")
folding = import_module("chasles.engine.folding")
placement = import_module("chasles.model.placement")
tree = import_module("chasles.model.tree")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("CHASLES_CACHE", raising=False)
    # The files of a checkout may have been changed a moment ago, and other tests in this process replace functions.
    now = {name: sources._content(sys.modules[name]) for name in sources._watched if name != sources.__name__}
    monkeypatch.setattr(sources, "_watched", now)
    monkeypatch.setattr(sources, "fingerprint", lambda: "files")


def program(length: float = 0.5) -> Program:
    """The program of gravity's torque of a new robot, as a new process has it."""
    rod = {"a": length, "mass": 2.0, "center_of_mass": [0.0, 0.1, 0.0]}
    arm = ch.Robot.from_dh([rod], gravity=[0.0, -10.0, 0.0], check=False)
    return arm.gravity_torque.program


def test_a_second_process_traces_nothing_until_the_text_is_needed() -> None:
    first, second = program(), program()
    assert type(first) is Program
    assert isinstance(second, RememberedProgram)
    assert (second.name, second.inputs, second.outputs) == (first.name, first.inputs, first.outputs)
    assert (second.digest, second.operations) == (first.digest, first.operations)
    assert "_traced" not in vars(second)
    copy = pickle.loads(pickle.dumps(second))
    assert type(copy) is Program
    assert (copy.instructions, copy.results) == (first.instructions, first.results)
    assert second.instructions == first.instructions
    assert ch.engine.jacobian(second) == ch.engine.jacobian(first)
    assert type(program(0.6)) is Program  # another robot


def replaced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **keywords: function(*arguments, **keywords)


REPLACEMENTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "function of a module": lambda m: m.setattr(newton_euler, "net_wrenches", replaced(newton_euler.net_wrenches)),
    "method": lambda m: m.setattr(tree.Tree, "carriers", property(lambda self: [])),
    "code of a function": lambda m: m.setattr(placement.inverse, "__code__", (lambda T: T).__code__),
    "default of a function": lambda m: m.setattr(placement.homogeneous, "__defaults__", (None, [1.0, 2.0, 3.0])),
    "entry of a table": lambda m: m.setitem(folding.FOLDING, "add", replaced(folding.FOLDING["add"])),
    "name that hides a builtin one": lambda m: m.setattr(newton_euler, "zip", replaced(zip), raising=False),
    "code that traces": lambda m: m.setattr(computation, "trace", replaced(computation.trace)),
    "class that is attached": lambda m: m.setattr(tree, "Body", type("Body", (tree.Body,), {})),
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_replaced_code_neither_reads_nor_writes(
    replace: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    program()
    kept = len(list(cache.directory().iterdir()))
    with monkeypatch.context() as patch:
        replace(patch)
        assert not sources.intact()
        assert type(program()) is Program
        assert type(program(0.7)) is Program
        assert len(list(cache.directory().iterdir())) == kept
    assert isinstance(program(), RememberedProgram)  # as it was


def test_a_function_of_somebody_else_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = ch.load("planar2r")
    monkeypatch.setattr(type(arm).gravity_torque, "algorithm", lambda tree, q: q)
    assert type(arm.gravity_torque.program) is Program
    assert not list(cache.directory().iterdir())


class HeavierDescription(Description):
    """A robot whose description is somebody's own code, which may change while its data stay the same."""


def test_a_description_of_somebody_else_is_not_remembered() -> None:
    own = ch.load("planar2r").description
    theirs = HeavierDescription(**{name: getattr(own, name) for name in own.field_names()})
    for _ in range(2):
        assert type(ch.Robot(theirs).gravity_torque.program) is Program
    assert not list(cache.directory().iterdir())


def test_a_record_of_another_program_is_found_out() -> None:
    program()
    other = program(0.6)
    (mine, *_) = [path for path in cache.directory().iterdir() if other.digest.encode() not in path.read_bytes()]
    theirs = next(path for path in cache.directory().iterdir() if path != mine)
    cache.store(mine.stem, cache.load(theirs.stem) or b"")
    with pytest.raises(CompileError, match="another program; empty it with `chasles cache clear`"):
        _ = program().instructions


def test_what_is_imported_first_does_not_matter() -> None:
    """A file that another package imported before robots came is watched all the same."""

    def watched(module: str) -> set[str]:
        code = (
            f"import {module}, chasles as ch; ch.load('planar2r')\n"
            "from chasles.engine import sources; print(*sources._watched)"
        )
        names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split()
        return {name for name in names if name.count(".") > 1}  # no trace runs the files beside the packages

    robots = watched("chasles.model")
    assert "chasles.geometry.rotations" in robots
    for first in ("chasles.interop.spacelib", "chasles.parallel"):
        assert robots <= watched(first)


def test_every_function_that_a_trace_runs_is_watched() -> None:
    """Nothing that decides a program escapes the comparison."""
    files = {getattr(sys.modules[name], "__file__", "") for name in sources._watched}
    home = str(Path(ch.__file__).parent)
    ran: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(home):
            ran.add(frame.f_code.co_filename)

    pendulum = ch.Robot.from_dh([{"a": 0.5, "mass": 2.0}], check=False)
    for arm in (pendulum, pendulum.with_free_base()):
        for name in dir(type(arm)):
            function = getattr(type(arm), name)
            if not isinstance(function, computation.Computation):
                continue
            options = {"frame": "body"} if "frame" in function.options else {}
            family: Family = getattr(arm, name)
            try:
                chosen = family.completed(options)
                chosen.pop("vary"), chosen.pop("wrenches")
                sys.setprofile(note)
                try:
                    family._trace((), (), chosen)
                finally:
                    sys.setprofile(None)
            except ch.ChaslesError:  # no such computation of this robot
                continue
    ran -= {sources.__file__}
    assert ran
    assert ran <= files


def test_files_that_change_after_the_start_are_not_told(tmp_path: Path) -> None:
    """Memory may hold either text."""
    code = (
        "import chasles as ch\n"
        "arm = ch.load('planar2r')\n"
        "from chasles.engine import sources\n"
        "ch.geometry.exp_pose([0.0] * 6), arm.jacobian(arm.home, frame='body'), hash(arm), ch.load('scara').to_urdf()\n"
        "assert sources.intact()  # what a user does changes nothing\n"
        "sources._BEGAN = 2**62\n"
        "assert sources.fingerprint()\n"
        "sources.fingerprint.cache_clear(); sources._BEGAN = 0\n"
        "assert sources.fingerprint() is None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "CHASLES_CACHE_DIR": str(tmp_path)})
