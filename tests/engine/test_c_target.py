"""The C target: compiled by the system's compiler, without a warning, and called through ctypes."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engine.random_programs import folded, random_program, safe_inputs

from chasles.base.errors import ArgumentError
from chasles.engine import Argument, Function, Program, atan2, floor, maximum, minimum, sign, sin, trace, where
from chasles.engine.derivatives import jacobian
from chasles.engine.program.tracing import call_traced
from chasles.engine.targets.c import lower
from chasles.engine.targets.numpy import NumpyKernel

_FLAGS = ["-std=c99", "-O1", "-ffp-contract=off", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def _library(folder: Path, programs: list[Program], precision: str = "double") -> Any:
    """Compile programs into one library. A machine without the compiler `cc` fails the test."""
    sources = []
    for program in programs:
        source, header = lower(program, precision)
        name = _function_name(header)
        (folder / f"{name}.h").write_text(header)
        (folder / f"{name}.c").write_text(source)
        sources.append(f"{name}.c")
    command = ["cc", *_FLAGS, "-shared", "-fPIC", "-o", "library.so", *sources, "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "library.so"))


def _function_name(header: str) -> str:
    found = re.search(r"^void (\w+)\(", header, re.MULTILINE)
    assert found is not None
    return found.group(1)


def _call(function: Any, program: Program, arguments: list[Any], dtype: Any = np.float64) -> list[Any]:
    inputs = [np.ascontiguousarray(x, dtype) for x in arguments]
    outputs = [np.full(a.shape, np.nan, dtype) for a in program.outputs]
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *outputs)))
    return outputs


def _named(program: Program, name: str) -> Program:
    return Program(name, program.inputs, program.outputs, program.instructions, program.results, program.programs)


@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-11), ("float", 2e-3)])
def test_random_programs_agree_with_numpy(tmp_path: Path, precision: str, tolerance: float) -> None:
    dtype = np.float64 if precision == "double" else np.float32
    programs = []
    for seed in range(24):
        program = random_program(seed)
        programs.append(_named(folded(program) if seed % 2 else program, f"p{seed}"))
    programs += [_named(jacobian(program), f"j{program.name}") for program in programs[:6]]
    library = _library(tmp_path, programs, precision)
    for program in programs:
        arguments = safe_inputs(program, 5, seed=9, dtype=dtype)
        expected = NumpyKernel(program)(*arguments)
        for k in range(5):
            outputs = _call(library[program.name], program, [x[k] for x in arguments], dtype)
            for ours, theirs in zip(outputs, expected, strict=True):
                scale = 1.0 if precision == "double" else 1.0 + np.abs(theirs[k]).max(initial=0.0)
                np.testing.assert_allclose(ours, theirs[k], rtol=tolerance, atol=tolerance * scale)


def _special(x: Any) -> Any:
    pairs = [(x[0], x[1]), (x[1], x[0])]
    rows = [f(a, b) for f in (minimum, maximum, atan2) for a, b in pairs]
    tests = [where((a < b) & ~(a == b) | (b <= a), 1.0, 2.0) for a, b in pairs]
    powers = [x[0] ** x[1], x[0] ** 3, x[0] ** -2.5, x[0] / 0]
    return np.array([*rows, *tests, *powers, sign(x[0]), floor(x[0]), -x[0], np.inf * x[0], where(x[0] < 0, np.nan, 1)])


@pytest.mark.parametrize("precision", ["double", "float"])
def test_special_numbers(tmp_path: Path, precision: str) -> None:
    dtype = np.float64 if precision == "double" else np.float32
    program = trace(_special, {"x": (2,)}, name="special")
    function = _library(tmp_path, [program], precision)["special"]
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    kernel = NumpyKernel(program, dtype)
    for a in numbers:
        for b in numbers:
            (ours,) = _call(function, program, [[a, b]], dtype)
            np.testing.assert_allclose(ours, kernel([a, b]), rtol=1e-6, err_msg=str((a, b)))


def test_constants_are_exact(tmp_path: Path) -> None:
    constants = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 1e22, 123456789.0, -2.5e-17, np.pi]
    program = trace(lambda x: np.array([where(x > 0, c, 0.0) for c in constants]), {"x": ()}, name="constants")
    (values,) = _call(_library(tmp_path, [program])["constants"], program, [1.0])
    assert values.tolist() == constants


def test_outputs_may_overlap_inputs(tmp_path: Path) -> None:
    program = trace(lambda x: np.array([x[1], x[0], x[0] + x[2]]), {"x": (3,)}, name="swap")
    function = _library(tmp_path, [program])["swap"]
    x = np.array([1.0, 2.0, 3.0])
    function(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(x.ctypes.data))
    assert x.tolist() == [2.0, 1.0, 4.0]


HOSTILE_NAMES = [
    "double", "sin", "sinf", "main", "y0", "v1", "r3", "a2", "x y", "*/ int evil; /*", "\n#error", "0", "", "θ", "__x",
    "M_PI", "INFINITY", "class", "F_H", "f", "f_sign", "f_inner", "printf", "a\\", "??/", '"', "x" * 5000, "NULL",
]  # fmt: skip


def test_hostile_names_become_distinct_identifiers(tmp_path: Path) -> None:
    inner = trace(lambda x: sin(x) + minimum(x, 1.0), {"x": ()}, name="inner")
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(HOSTILE_NAMES, ())
    wide = trace(
        lambda *x: call_traced(inner, [sign(sum(k * xk for k, xk in enumerate(x)))], inline=False),
        shapes,
        name="f",
        outputs=["*/"],
    )
    programs = [wide, *(trace(lambda x: 2 * x, {name: ()}, name=name, outputs=[name]) for name in HOSTILE_NAMES)]
    for number, program in enumerate(programs):
        folder = tmp_path / str(number)
        folder.mkdir()
        function = _library(folder, [program])[_function_name(lower(program)[1])]
        ones = [1.0] * len(program.inputs)
        np.testing.assert_allclose(_call(function, program, ones), NumpyKernel(program)(*ones)[None], rtol=1e-15)


def test_the_header_serves_cplusplus_and_the_comment_names_shapes() -> None:
    program = trace(lambda T, q: (T @ q, q[0]), {"T": (2, 3), "q": (3,)}, name="turn", outputs=["y", "first"])
    source, header = lower(program)
    assert 'extern "C"' in header
    assert "#ifndef TURN_H" in header
    assert "void turn(const double *T, const double *q, double *y, double *first);" in header
    for text in (source, header):
        assert " *   T: T, shape 2x3" in text
        assert " *   first: first, shape of one number" in text
    assert source.isascii()
    assert header.isascii()
    assert re.findall(r"#include (.*)", source) == ['"turn.h"', "<math.h>"]


def test_unused_and_empty_arguments(tmp_path: Path) -> None:
    program = trace(lambda q, x: (q, 2.0), {"q": (0,), "x": ()}, name="unused", outputs=["none", "two"])
    constant = Program("nothing", (), (Argument("one", ()),), (("constant", 1.0),), (0,))
    library = _library(tmp_path, [program, constant])
    assert _call(library["unused"], program, [[], 1.0])[1] == 2.0
    assert _call(library["nothing"], constant, [])[0] == 1.0


@pytest.mark.slow
def test_long_programs_compile(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        for k in range(5000):
            x = sin(x) + 0.001 * k
        return x

    program = trace(function, {"x": ()}, name="long_chain")
    (value,) = _call(_library(tmp_path, [program])["long_chain"], program, [0.3])
    np.testing.assert_allclose(value, NumpyKernel(program)(0.3), rtol=1e-12)


def test_only_two_precisions() -> None:
    with pytest.raises(ArgumentError, match="'double' or 'float', not 'half'"):
        Function(trace(lambda x: x, {"x": ()})).to_c("half")
