"""No call after the first compiles: what makes later calls faster is compiled in a thread beside them."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.engine import Function, sin, trace
from chasles.engine.kernels.shapes import few_samples
from chasles.engine.running import aside, runner
from chasles.engine.running import machine_code as native
from chasles.engine.running.compiling import native_available
from chasles.engine.targets.native import machine

pytestmark = pytest.mark.skipif(not native_available(), reason="there is only one kind of code without a compiler")


@pytest.fixture(autouse=True)
def two_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile two widths of code on every processor, the wide one after 1,000 runs."""
    monkeypatch.setattr(runner, "WORTH_WIDE", 1000)
    if not native.has_widths("float64"):
        monkeypatch.setattr(machine, "lanes", lambda dtype: 2 * few_samples(dtype))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """Width and thread of each compilation."""
    aside.wait()  # what earlier tests asked for
    found: list[tuple[str, str]] = []
    compile_kernel = native.compile_kernel

    def noted(*arguments: Any, width: str, **named: Any) -> Any:
        found.append((width, threading.current_thread().name))
        return compile_kernel(*arguments, width=width, **named)

    monkeypatch.setattr(native, "compile_kernel", noted)
    yield found
    aside.wait()


def pendulum(k: float) -> Function:
    def step(state: Any, t: Any) -> Any:
        following = state + 0.01 * np.array([state[1], -k * sin(state[0]) - t])
        return following, state[0]

    return Function(trace(step, {"state": (2,), "t": ()}, name="pendulum", outputs=["next", "angle"]), shape="scan")


def wave(k: float) -> Function:
    return Function(trace(lambda x: sin(k * x) * x, {"x": ()}, name="wave"))


HERE, ASIDE = "MainThread", "chasles-compiler"


def test_long_scans_do_not_stop_for_the_compiler(compiled: list[tuple[str, str]]) -> None:
    scan, start = pendulum(9.81), np.random.default_rng(0).normal(size=(5, 2))
    times = 0.01 * np.arange(100.0)[:, None]
    results = [scan(start, times) for _ in range(12)]
    aside.wait()
    results += [scan(start, times) for _ in range(3)]
    assert compiled == [("few", HERE), ("many", ASIDE)]
    for result in results:
        for part, first in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(part, first)


@pytest.mark.parametrize("first", ["one", "many"])
def test_only_the_first_call_compiles(first: str, compiled: list[tuple[str, str]]) -> None:
    function, x = wave(1.5), np.linspace(0.0, 9.0, 5000)
    calls = [lambda: function(float(x[7])), lambda: function(x)[7]]
    order = calls if first == "one" else calls[::-1]
    values = {float(call()) for _ in range(4) for call in order}
    aside.wait()
    values |= {float(call()) for _ in range(2) for call in order}
    assert len(values) == 1
    widths = ["few", "many"] if first == "one" else ["many", "few"]
    assert compiled == list(zip(widths, [HERE, ASIDE], strict=True))


def test_a_long_call_ends_with_the_wide_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cut into pieces, each computed by what is there when it begins."""
    from chasles.engine.running import pieces

    function, x = wave(2.5), np.linspace(0.0, 9.0, 4000)
    function(0.5)
    monkeypatch.setattr(aside, "ask", lambda owner, width: None)
    monkeypatch.setattr(pieces, "UNINTERRUPTED_WORK", 1)
    monkeypatch.setattr(runner, "WORTH_PIECES", 0)
    used = []
    run_map = pieces._run_map

    def compiles_half_way(call: Any, samples: int) -> Iterator[None]:
        if len(used) == 5:
            function._runner.compile("many")
        used.append(function._runner._many is not None)
        return run_map(call, samples)

    monkeypatch.setattr(pieces, "_run_map", compiles_half_way)
    with ch.threads(1):
        np.testing.assert_array_equal(function(x), [function(float(value)) for value in x])
    assert used[0] is False
    assert used[-1] is True


def test_programs_that_are_gone_are_not_compiled(compiled: list[tuple[str, str]]) -> None:
    x = np.linspace(0.0, 1.0, 2000)
    with runner.COMPILING:  # so that the thread cannot begin
        function = wave(7.5)
        function(0.5)
        temporary = wave(8.5)
        temporary(0.5)
        temporary(x)
        del temporary
        gc.collect()
        function(x)
    aside.wait()
    assert compiled == 2 * [("few", HERE)] + [("many", ASIDE)]


def test_what_cannot_be_compiled_is_computed_as_before(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    function, x = wave(9.5), np.linspace(0.0, 1.0, 2000)
    function(0.5)

    def fails(*arguments: Any, **named: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(native, "compile_kernel", fails)
    for _ in range(3):
        np.testing.assert_array_equal(function(x), [function(float(value)) for value in x])
        aside.wait()
    assert [record.getMessage() for record in caplog.records] == ["wave(x) is not compiled for many samples"]


def test_without_threads_the_code_that_is_there_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThread(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(aside, "Thread", NoThread)
    function, x = wave(10.5), np.linspace(0.0, 1.0, 2000)
    function(0.5)
    for _ in range(2):
        np.testing.assert_array_equal(function(x), [function(float(value)) for value in x])


PROCESS = """
import os, time
import numpy as np
import chasles as ch
from chasles.engine.running import aside, runner

runner.WORTH_WIDE = 100
arm = ch.load("planar2r")
q = np.random.default_rng(0).normal(size=(500, 2))
for function in (arm.mass_matrix.jacobian(), arm.inverse_dynamics.jacobian()):
    given = [q] * len(function.kernel.inputs)
    function(*(a[0] for a in given))
    before = function(*given)
"""
FORK = PROCESS + (
    """
child = os.fork()
after = function(*given)
aside.wait()
after_all = function(*given)
same = all(np.array_equal(a, b) and np.array_equal(a, c) for a, b, c in zip(before, after, after_all))
assert same and function._runner._many is not function._runner._few
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
)
INTERRUPTED = PROCESS + (
    """
os.kill(os.getpid(), 2)
time.sleep(10)
"""
)


@pytest.mark.parametrize(
    ("code", "status", "printed"),
    [
        (PROCESS, 0, ""),
        pytest.param(FORK, 0, "0\n", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")),
        (INTERRUPTED, -signal.SIGINT, ""),
    ],
    ids=["exit", "fork", "interrupt"],
)
def test_processes_that_end_or_fork_meanwhile(code: str, status: int, printed: str) -> None:
    environment = os.environ | {"CHASLES_CACHE": "0", "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "255"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (status, printed), done.stderr
