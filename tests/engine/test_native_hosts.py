"""Machine code for other processors: narrower vector units, none with fused multiplication, and ARM."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import chasles as ch
from chasles.control.linear_quadratic.riccati import _recursion, backward_scan, riccati_step
from chasles.engine import trace_cache
from chasles.engine.cpython import calls
from chasles.engine.kernels import cache
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.running import aside, machine_code
from chasles.engine.targets.native import kernel_writer, kernels, machine, matrix_scans
from chasles.engine.targets.numpy import compile_kernel as compile_numpy

Q = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 11, 6))
WITHOUT = {
    "haswell": ("avx512", "avx10"),
    "x86-64": ("avx", "fma", "sse3", "sse4", "ssse3", "f16c", "xop"),
}
OF_THE_HOST = (machine.host, machine.lanes, machine.registers, machine.has_fma, trace_cache.environment)


class Features(dict[str, bool]):
    def flatten(self) -> str:
        return ",".join(("+" if present else "-") + name for name, present in self.items())


@pytest.fixture(params=WITHOUT if machine.is_x86() else [])
def older_host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    present = machine.features()
    reduced = Features({name: has and not name.startswith(WITHOUT[request.param]) for name, has in present.items()})
    monkeypatch.setattr(machine, "features", lambda: reduced)
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: request.param)
    monkeypatch.setattr(cache, "load", lambda key: None)
    for cached in OF_THE_HOST:
        cached.cache_clear()
    yield request.param
    for cached in OF_THE_HOST:
        cached.cache_clear()


def test_older_processors_compute_the_same(older_host: str) -> None:
    assert machine.lanes("float64") == {"haswell": 4, "x86-64": 2}[older_host]
    arm = ch.load("puma560")
    torque = arm.inverse_dynamics(*Q)
    M = arm.mass_matrix(Q[0])
    single = arm.inverse_dynamics.astype("float32")
    expected = compile_numpy(Kernel(arm.inverse_dynamics.program), "float64")(*Q)
    np.testing.assert_allclose(torque, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(single(*Q), expected, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(M, np.array([arm.mass_matrix(q) for q in Q[0]]))


def test_older_processors_take_the_same_steps_on_matrices(older_host: str) -> None:
    rng = np.random.default_rng(3)
    A, B = np.eye(9) + 0.1 * rng.normal(size=(4, 9, 9)), rng.normal(size=(4, 9, 4))
    given = A, B, np.broadcast_to(np.eye(13), (4, 13, 13)), np.eye(9)
    call = _recursion.__wrapped__(9, 4, True)
    for ours, plain in zip(call(*given), call.general_call(*given), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=0.0, atol=1e-11)


def test_quick_code_computes_the_same_bit_for_bit_and_is_kept_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    aside.wait()  # what other tests left to be compiled is not to come into this cache
    monkeypatch.setenv("CHASLES_CACHE_DIR", str(tmp_path))
    entries = []
    results = []
    for quick in ("0", "1"):
        monkeypatch.setenv("CHASLES_QUICK_CODE", quick)
        arm = ch.load("puma560")
        results.append([arm.inverse_dynamics(*Q), *(arm.inverse_dynamics(*q) for q in np.swapaxes(Q, 0, 1))])
        aside.wait()
        entries.append(cache.info().entries)
    for ours, quickly in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, quickly)
    widths = 1 + machine_code.has_widths("float64")
    assert entries[0] >= widths
    assert entries[1] - entries[0] == widths  # the record of the program, which is the same, is not written again


def test_the_quick_way_of_long_programs_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "load", lambda key: None)
    monkeypatch.setattr(machine, "QUICKLY_FROM", 0)
    arm = ch.load("puma560")
    torque = compile_numpy(Kernel(arm.inverse_dynamics.program), "float64")(*Q)
    np.testing.assert_allclose(arm.inverse_dynamics(*Q), torque, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(arm.inverse_dynamics.astype("float32")(*Q), torque, rtol=1e-3, atol=1e-3)
    expected = compile_numpy(Kernel(arm.linearize.program), "float64")(*Q)
    for ours, theirs in zip(arm.linearize(*Q), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_kernels_compile_for_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    monkeypatch.setattr(kernel_writer, "is_x86", lambda: False)
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(cpu="generic", opt=2)
    programs = {"map": ch.load("panda").inverse_dynamics.program, "scan": _counter(), "solve": _halving()}
    for shape, program in programs.items():
        kernel = Kernel(program, shape)
        beside = partial(calls.write_call, kernel, "any") if calls.has_direct_call(kernel, "any") else None
        modules = kernels.write_kernel(kernel, "float64", 2, "any", beside)
        assert len(modules) == (2 if shape == "map" else 1)  # sines and cosines stand apart
        for assembly in modules:
            module = llvm.parse_assembly(assembly)
            module.verify()
            assert "v0.2d" in target.emit_assembly(module)


def test_steps_on_matrices_compile_for_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    monkeypatch.setattr(matrix_scans, "is_x86", lambda: False)
    target = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(cpu="generic", opt=2)
    arrays = {"A": 3, "B": 3, "weights": 3, "terminal": 2, "K": 3, "P": 2}
    scan = backward_scan(riccati_step, 5, 2, end="P")
    module = llvm.parse_assembly(matrix_scans.write_matrix_scans([scan], arrays, 2))
    module.verify()
    assert "fmla\tv" in target.emit_assembly(module)


def _counter() -> ch.Program:
    return ch.trace(
        lambda state, t: (state + t, state * t), {"state": (2,), "t": ()}, name="counter", outputs=["next", "record"]
    )


def _halving() -> ch.Program:
    return ch.trace(
        lambda state: (0.5 * state, 2.0 - state[0]), {"state": (2,)}, name="halving", outputs=["next", "done"]
    )
