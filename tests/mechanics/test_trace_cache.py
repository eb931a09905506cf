"""Programs that an earlier process traced are used only where tracing would give the same."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from types import FrameType

import pytest

import chasles as ch
from chasles.base.errors import CompileError
from chasles.engine import Program, trace_cache
from chasles.engine.family import Family
from chasles.engine.kernels import cache
from chasles.engine.trace_cache import RememberedProgram
from chasles.mechanics import computations
from chasles.mechanics.computation import TRACED_PACKAGES
from chasles.model import Description


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(trace_cache, "_BEGAN", 2**62)  # the files of a checkout may have been changed a moment ago
    trace_cache.environment.cache_clear()
    yield
    trace_cache.environment.cache_clear()


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


def test_the_directory_none_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program()
    monkeypatch.setenv("CHASLES_CACHE_DIR", "none")
    assert type(program()) is Program
    monkeypatch.chdir(tmp_path)
    assert not Path("none").exists()


@pytest.mark.parametrize("which", ["algorithm", "closed"])
def test_an_algorithm_that_was_replaced_is_not_remembered(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = ch.load("planar2r")
    monkeypatch.setattr(type(arm).gravity_torque, which, lambda tree, q: q)
    assert type(arm.gravity_torque.program) is Program
    assert not list(cache.directory().iterdir())


def test_an_algorithm_that_was_replaced_in_its_module_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    program()
    algorithm = ch.Robot.gravity_torque.algorithm
    monkeypatch.setattr(sys.modules[algorithm.__module__], algorithm.__name__, lambda tree, q: q)
    assert type(program()) is Program


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


def test_every_computation_is_remembered_and_runs_only_files_that_count() -> None:
    """Nothing that decides a program escapes the key."""
    home = str(Path(ch.__file__).parent)
    ran: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(home):
            ran.add(frame.f_code.co_filename)

    pendulum = ch.Robot.from_dh([{"a": 0.5, "mass": 2.0}], check=False)
    for arm in (pendulum, pendulum.with_free_base()):
        for name, function in computations().items():
            options = {"frame": "body"} if "frame" in function.options else {}
            family: Family = attrgetter(name)(arm)
            try:
                chosen = family.completed(options)
                chosen.pop("vary"), chosen.pop("wrenches")
                sys.setprofile(note)
                try:
                    family._trace((), (), chosen)
                finally:
                    sys.setprofile(None)
                kept = len(list(cache.directory().iterdir()))
                assert type(family.specialize(**options).program) is Program
            except ch.ChaslesError:  # no such computation of this robot
                continue
            assert len(list(cache.directory().iterdir())) == kept + 1, name
    assert ran
    assert ran <= {path for path, _ in trace_cache._files(TRACED_PACKAGES)}


def test_files_that_change_after_the_start_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory may hold either text."""
    assert trace_cache.environment(TRACED_PACKAGES)
    monkeypatch.setattr(trace_cache, "_BEGAN", 0)
    trace_cache.environment.cache_clear()
    assert trace_cache.environment(TRACED_PACKAGES) is None
    assert type(program()) is type(program()) is Program


def test_a_file_that_changes_between_start_and_trace_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trace_cache.environment(TRACED_PACKAGES)
    monkeypatch.setattr(trace_cache, "_files", lambda packages: iter([(__file__, os.stat(__file__))]))
    assert type(program()) is Program
    assert not list(cache.directory().iterdir())


def test_a_library_without_source_files_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for place in (tmp_path / "lib.zip", Path(__file__)):
        monkeypatch.setattr(trace_cache, "_ROOT", place)
        trace_cache.environment.cache_clear()
        assert trace_cache.environment(TRACED_PACKAGES) is None


def test_another_process_finds_what_this_one_kept(tmp_path: Path) -> None:
    code = (
        "from chasles.engine import trace_cache; trace_cache._BEGAN = 2**62\n"
        "from tests.mechanics.test_trace_cache import program; print(type(program()).__name__)"
    )
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "CHASLES_CACHE_DIR": str(tmp_path)}
    names = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**environment, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    assert names == ["Program", "RememberedProgram"]
