"""The disk cache: used, private, proof against damage and against other processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from chasles.engine import Function, trace
from chasles.engine.kernels import cache
from chasles.engine.targets.native import machine


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def call() -> float:
    return float(Function(trace(lambda x: 3.0 * x + 1.0, {"x": ()}, name="line"))(2.0))


def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    compile_to_objects = machine.compile_to_objects

    def spy(modules: Sequence[str]) -> list[bytes]:
        seen.extend(modules)
        return compile_to_objects(modules)

    monkeypatch.setattr(machine, "compile_to_objects", spy)
    return seen


def test_a_second_function_is_loaded_and_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = compilations(monkeypatch)
    assert [call(), call()] == [7.0, 7.0]
    assert len(seen) == 1
    assert cache.info().entries == 1
    assert cache.info().size > 0


def test_other_processors_and_versions_have_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = compilations(monkeypatch)
    call()
    monkeypatch.setattr(machine, "host", lambda: "another processor")
    call()
    monkeypatch.setattr(machine._version, "__version__", "99")
    call()
    assert len(seen) == 3


@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped", "foreign"])
def test_damaged_entries_are_compiled_anew(damage: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call()
    (entry,) = directory.iterdir()
    content = bytearray(entry.read_bytes())
    middle = len(content) // 2
    changed = {
        "empty": b"",
        "truncated": bytes(content[:middle]),
        "flipped": bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]),
        "foreign": b"\x7fELF something else",
    }
    entry.write_bytes(changed[damage])
    seen = compilations(monkeypatch)
    assert call() == 7.0
    assert len(seen) == 1
    assert bytes(content) == entry.read_bytes()


def test_the_directory_is_closed_to_others(directory: Path) -> None:
    call()
    assert directory.stat().st_mode & 0o777 == 0o700
    (entry,) = directory.iterdir()
    assert entry.stat().st_mode & 0o077 == 0


def test_a_directory_open_to_others_is_not_used(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call()
    directory.chmod(0o777)
    seen = compilations(monkeypatch)
    assert call() == 7.0
    assert len(seen) == 1
    assert not cache.info().usable


def test_a_directory_that_cannot_be_made_costs_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert call() == 7.0
    assert cache.info().entries == 0


def test_it_can_be_switched_off(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_CACHE_DIR", "none")
    assert call() == 7.0
    assert not directory.exists() or not list(directory.iterdir())


def test_clear_removes_kernels_and_nothing_else(directory: Path) -> None:
    call()
    (directory / "notes.txt").write_text("mine")
    assert cache.clear() == 1
    assert [path.name for path in directory.iterdir()] == ["notes.txt"]


def test_threads_and_processes_may_share_it(directory: Path) -> None:
    script = (
        "import chasles as ch\n"
        "f = ch.Function(ch.trace(lambda x: 5.0 * x, {'x': ()}, name='f'))\n"
        "assert f(2.0) == 10.0\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script], env=dict(os.environ)) for _ in range(3)]
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: call(), range(8))) == {7.0}
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert cache.info().entries == 2
    assert not [path for path in directory.iterdir() if path.suffix != ".kernel"]


def test_a_cached_kernel_gives_the_same_numbers_in_another_process(directory: Path) -> None:
    script = (
        "import numpy as np, chasles as ch\n"
        "arm = ch.load('puma560')\n"
        "q = np.linspace(-1, 1, 6)\n"
        "print(arm.inverse_dynamics(q, q, q).tobytes().hex())\n"
    )
    outputs = [
        subprocess.run([sys.executable, "-c", script], env=dict(os.environ), capture_output=True, check=True).stdout
        for _ in range(2)
    ]
    assert outputs[0] == outputs[1]
    assert np.isfinite(np.frombuffer(bytes.fromhex(outputs[0].decode()))).all()


def line(slope: float) -> float:
    return float(Function(trace(lambda x: slope * x + 1.0, {"x": ()}, name="line"))(2.0))


def test_an_entry_under_anothers_name_is_compiled_anew(directory: Path) -> None:
    assert line(3.0) == 7.0
    (three,) = directory.iterdir()
    assert line(5.0) == 11.0
    (five,) = (path for path in directory.iterdir() if path != three)
    one, other = three.read_bytes(), five.read_bytes()
    three.write_bytes(other)
    five.write_bytes(one)
    assert [line(3.0), line(5.0)] == [7.0, 11.0]
    assert [three.read_bytes(), five.read_bytes()] == [one, other]


def _to_link(entry: Path) -> None:
    elsewhere = entry.parent.parent / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)


def _to_directory(entry: Path) -> None:
    entry.unlink()
    entry.mkdir()


def _to_pipe(entry: Path) -> None:
    entry.unlink()
    os.mkfifo(entry, 0o600)


def _to_anothers(entry: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only the superuser gives files away")
    os.chown(entry, 65534, -1)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no owners and modes of this kind")
@pytest.mark.parametrize(
    "change",
    [
        lambda entry: entry.chmod(0o666),
        lambda entry: entry.chmod(0o620),
        _to_link,
        _to_directory,
        _to_pipe,
        _to_anothers,
    ],
    ids=["writable by all", "writable by the group", "link", "directory", "pipe", "of another user"],
)
def test_entries_that_others_may_have_written_are_not_run(
    change: Callable[[Path], None], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call()
    (entry,) = directory.iterdir()
    change(entry)
    seen = compilations(monkeypatch)
    assert call() == 7.0
    assert len(seen) == 1


@pytest.mark.parametrize("junk", [b"", b"junk" * 100, b"\x7fELF" + bytes(200), os.urandom(1000)])
def test_junk_with_a_valid_seal_is_compiled_anew(junk: bytes, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call()
    (entry,) = directory.iterdir()
    for content in (junk, machine._packed([junk]), machine._packed([])):
        cache.store(entry.stem, content)
        seen = compilations(monkeypatch)
        assert call() == 7.0
        assert len(seen) >= 1


def test_what_killed_processes_left_behind_goes(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    old, new = directory / "a.unfinished", directory / "b.unfinished"
    for path in (old, new):
        path.write_bytes(b"half an entry")
    os.utime(old, (0, 0))
    call()
    assert not old.exists()
    assert new.exists()  # another process may be writing it now
    cache.clear()
    assert not new.exists()


def test_entries_not_used_for_longest_go_first(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for slope in (1.0, 2.0, 3.0):
        line(slope)
    entries = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for age, path in zip((300, 200, 100), entries, strict=True):
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    line(1.0)  # now the one that was used last
    size = entries[0].stat().st_size
    monkeypatch.setenv("CHASLES_CACHE_LIMIT", str(2.5 * size / 1e6))
    cache._tidy_once.cache_clear()
    line(4.0)
    left = set(directory.iterdir())
    assert entries[0] in left
    assert entries[1] not in left
    assert cache.info().limit == int(2.5 * size)


def test_an_interrupted_entry_leaves_nothing(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call()
    assert not list(directory.iterdir())
