"""Schedules in C: loops, jumps, strided arrays and recursions over matrices do what they do in Python."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import above, beside, eliminate
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.schedule import Schedule
from chasles.engine.schedule_in_c import lower_schedule

_FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def step(P: Any, A: Any, F: Any) -> tuple[Any, dict[str, Any]]:
    """Each operation on matrices once."""
    joined = above(beside(A @ P @ A.mT + 2.0 * P, F), beside(F.mT, 3.0 * F[..., :2, :].mT @ F[..., :2, :]))
    solution, rest = eliminate(joined, 2)
    return P - 0.5 * (solution @ solution.mT), {"rest": rest, "solution": solution}


def test_a_schedule_in_c_gives_the_numbers_of_python(tmp_path: Path) -> None:
    rng, count = np.random.default_rng(3), 4
    x, out, memory = rng.normal(size=(count, 5)), np.zeros((count, 5)), np.zeros((3, count, 4))
    total, left, goes_on = np.zeros(2), np.array(3.0), np.zeros(())
    A, F, first = rng.normal(size=(6, 2, 2)), 0.1 * rng.normal(size=(6, 2, 3)), np.eye(2)
    last, rests, solutions = np.zeros((2, 2)), np.zeros((6, 3, 3)), np.zeros((6, 2, 3))
    given = {"A": (2, 2), "F": (2, 3)}
    recursion = MatrixScan(step, start="first", end="last", state=(2, 2), given=given, backward=True)
    call = MatrixCall("recursion", [recursion], ["A", "F", "first"], ["rest", "solution", "last"])
    turn = Function(trace(lambda a: np.array([a[1], -a[0]]), {"a": (2,)}, name="turn"))
    add = Function(trace(lambda s, a: s + a, {"s": (2,), "a": (2,)}, name="add", outputs=["sum"]), shape="scan")
    less = Function(trace(lambda n: (n - 1.0, n - 1.5), {"n": ()}, name="less", outputs=["left", "goes_on"]))
    to = Schedule()
    to.label("begin")
    to.call(turn, [x[:, 1:4:2]], [out[:, ::3]])
    to.call(turn, [memory[1, :, 2:]], [memory[2, :, :2]])
    to.call(add, [total, x[:, None, 3:]], [total])
    to.call(less, [left], [left, goes_on])
    to.jump("begin", goes_on)
    to.call(call, [A, F, first], [rests, solutions, last])
    to.stop("done")
    memory[1] = rng.normal(size=(count, 4))
    named = {"out": out, "memory": memory, "total": total, "last": last, "rests": rests, "solutions": solutions}
    code = lower_schedule(to, "begin", named, "all")
    prints = [
        f'for (int k = 0; k < {array.size}; k++) printf("%.17g\\n", *({code.views[name].first} + k));'
        for name, array in named.items()
    ]
    main = f"static all_state state; all_state *s = &state; {code.init}(s); {code.run}(s);"
    source = ["#include <math.h>", "#include <stdio.h>", "typedef struct {", *code.members, "} all_state;"]
    source += [*code.definitions, "int main(void) {", main, *prints, "return 0; }", ""]
    (tmp_path / "all.c").write_text("\n".join(source))
    done = subprocess.run(["cc", *_FLAGS, "-o", "all", "all.c", "-lm"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = subprocess.run([str(tmp_path / "all")], capture_output=True, text=True, check=True).stdout
    assert to.run("begin") == "done"
    expected = np.concatenate([array.ravel() for array in named.values()])
    np.testing.assert_allclose(np.array(printed.split(), dtype=float), expected, rtol=1e-12, atol=1e-13)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(total, 3.0 * x[:, 3:].sum(axis=0))


def test_plain_python_is_refused() -> None:
    to = Schedule()
    to.label("begin")
    to.python(lambda: None)
    to.stop("done")
    with pytest.raises(ArgumentError, match="plain Python, which is not C code"):
        lower_schedule(to, "begin", {}, "all")
