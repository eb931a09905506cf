"""The Panda's dynamics in code that is generated: C by CasADi from adam and from us, our own C, and XLA from frax."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import panda
from benchmarks.panda import DERIVATIVES, FORWARD, INVERSE, MASS, Calls
from benchmarks.robots import PANDA, MissingPeerError
from benchmarks.tables import Table, seconds
from benchmarks.timing import medians

BATCH = 4096
FUNCTIONS = (INVERSE, FORWARD, MASS, DERIVATIVES)
#: Names of the inputs of each function.
INPUTS = {INVERSE: ("q", "qd", "qdd"), FORWARD: ("q", "qd", "tau"), MASS: ("q",), DERIVATIVES: ("q", "qd", "qdd")}
FLAGS = ("-O3", "-march=native", "-ffast-math")
#: Relative difference from Pinocchio's values up to which a program computes the same.
SAME = 1e-9
GRAVITY = 9.81


def tables() -> Iterator[Table]:
    """The one table of this section."""
    s = panda.states(BATCH)
    table = Table(
        f"Panda, batch of {BATCH:,} states, float64, one thread: time for one state, by the way its code is made",
        ("", *FUNCTIONS, "all four ready after"),
        notes=[
            f"Processor time, median and its 95 % interval; the same {BATCH:,} states again and again, so that they "
            f"lie in the caches; results into given arrays but for JAX. Before, all values agree with Pinocchio's to "
            f"{SAME:g}. XLA's threads wait actively after a call: programs under JAX take their turns apart.",
            f"C: a loop over the states, gcc {' '.join(FLAGS)}. JAX: jitted, over the whole batch, 64 bits, with the "
            "flags that frax recommends.",
            "adam computes a free base; of its results, the rows and columns of the joints are generated alone. It has "
            "no inverse dynamics and no forward dynamics of a fixed base: they are M q̈ + c and an LDLᵀ of M.",
            "Ready: from the robot's file to the first results, nothing cached.",
        ],
    )
    expected = _values_of_pinocchio(s)
    calls: dict[str, Calls] = {}
    ready: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for way, make in WAYS.items():
            start = perf_counter()
            try:
                calls[way] = make(s, Path(folder))
            except MissingPeerError as error:
                table.notes.append(f"{way}: {error}")
                continue
            results = {name: call() for name, call in calls[way].items()}
            ready[way] = perf_counter() - start
            for name, result in results.items():
                _check(way, name, result, expected[name])
        calls["Pinocchio, C++ loop or one call from Python"] = _pinocchio(s)
        cells: dict[str, list[str]] = {way: [] for way in calls}
        for together in [[way for way in calls if way not in UNDER_XLA], *([way] for way in UNDER_XLA if way in calls)]:
            for name in FUNCTIONS:
                timings = medians({way: calls[way][name] for way in together}, repeats=15)
                for way, timing in timings.items():
                    cells[way].append(f"{seconds(timing.median / BATCH)} ({timing.over(BATCH)})")
    for way, row in cells.items():
        table.add(way, *row, seconds(ready[way]) if way in ready else "-")
    if importlib.util.find_spec("pinocchio.casadi") is None:
        table.notes.append("pinocchio.casadi: Pinocchio's wheel is built without it.")
    yield table


def _values_of_pinocchio(s: panda.States) -> dict[str, tuple[np.ndarray, ...]]:
    """Pinocchio's values, symmetric matrices full; of them the benchmark of dynamics compares ours."""
    values: dict[str, list[tuple[Any, ...]]] = {name: [] for name in FUNCTIONS}
    for state in zip(*s, strict=True):
        one = panda.pinocchio_calls(*state)
        values[INVERSE].append((one[INVERSE](),))
        values[FORWARD].append((one[FORWARD](),))
        M = np.triu(one[MASS]())
        M += np.triu(M, 1).T
        values[MASS].append((M,))
        by_q, by_qd, _ = one[DERIVATIVES]()
        values[DERIVATIVES].append((by_q.copy(), by_qd.copy(), M))
    return {name: tuple(map(np.array, zip(*parts, strict=True))) for name, parts in values.items()}


def _check(way: str, name: str, result: Any, expected: tuple[np.ndarray, ...]) -> None:
    parts = result if isinstance(result, tuple | list) else (result,)
    for part, value in zip(parts, expected, strict=True):
        difference = np.abs(np.asarray(part) - value).max() / np.abs(value).max()
        if not difference < SAME:
            raise RuntimeError(f"{way} computes another {name}: they differ by {difference:.1e}")


def _pinocchio(s: panda.States) -> Calls:
    """Loops in C++ where there are some; else one call for each state, as fast as one for the first."""
    single = panda.pinocchio_calls(*(array[0].copy() for array in s))

    def for_each(call: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> None:
            for _ in range(BATCH):
                call()

        return run

    return {name: for_each(single[name]) for name in FUNCTIONS} | panda.pinocchio_batches(s)


def _ours(s: panda.States, folder: Path) -> Calls:
    """Machine code by our own compiler, nothing of it from the disk."""
    before = os.environ.get("CHASLES_CACHE_DIR")
    os.environ["CHASLES_CACHE_DIR"] = "none"
    try:
        calls = {}
        for name, function in _our_functions().items():
            arguments = [getattr(s, key) for key in INPUTS[name]]
            out = function(*arguments)
            calls[name] = lambda function=function, arguments=arguments, out=out: function(*arguments, out=out)
        return calls
    finally:
        del os.environ["CHASLES_CACHE_DIR"]
        if before is not None:
            os.environ["CHASLES_CACHE_DIR"] = before


def _our_functions() -> dict[str, Any]:
    arm = ch.load("panda")
    return {
        INVERSE: arm.inverse_dynamics,
        FORWARD: arm.forward_dynamics,
        MASS: arm.mass_matrix,
        DERIVATIVES: arm.inverse_dynamics_derivatives,
    }


def _our_c(s: panda.States, folder: Path) -> Calls:
    """C of ``to_c``."""
    sources, loops = [], {}
    for name, function in _our_functions().items():
        source, header = function.to_c()
        (folder / f"{function.program.name}.h").write_text(header, encoding="utf-8")
        sources.append(source)
        sizes = [a.size for a in function.program.outputs]
        pointers = [f"x{k} + 7 * i" for k in range(len(INPUTS[name]))]
        pointers += [f"y{k} + {size} * i" for k, size in enumerate(sizes)]
        loops[name] = _Loop(function.program.name, sizes, f"{function.program.name}({', '.join(pointers)});")
    return _compiled(s, folder, "ours", sources, loops)


def _our_casadi(s: panda.States, folder: Path) -> Calls:
    """C by CasADi of ``to_casadi``."""
    _casadi()
    functions = {name: function.to_casadi() for name, function in _our_functions().items()}
    graphs = {name: (function.sx_in(), function.call(function.sx_in())) for name, function in functions.items()}
    return _c_by_casadi(s, folder, "chasles_casadi", graphs)


def _adam(s: panda.States, folder: Path) -> Calls:
    """C by CasADi of adam's graphs, common parts of which are computed once."""
    casadi = _casadi()
    try:
        from adam.casadi import KinDynComputations
    except ImportError:
        raise MissingPeerError("adam-robotics") from None
    joints = list(ch.load("panda").joint_names)
    adam = KinDynComputations(str(PANDA), joints, gravity=np.array([0.0, 0.0, -GRAVITY, 0.0, 0.0, 0.0]))
    q, qd, qdd, tau = (casadi.SX.sym(name, len(joints)) for name in ("q", "qd", "qdd", "tau"))
    at_origin = casadi.SX.eye(4)
    M = adam.mass_matrix(at_origin, q)[6:, 6:]
    bias = adam.bias_force(at_origin, q, casadi.SX.zeros(6), qd)[6:]
    torque = M @ qdd + bias
    acceleration = casadi.ldl_solve(tau - bias, *casadi.ldl(casadi.densify(M)))
    slopes = [casadi.jacobian(torque, q), casadi.jacobian(torque, qd), M]
    graphs = {
        INVERSE: ([q, qd, qdd], [torque]),
        FORWARD: ([q, qd, tau], [acceleration]),
        MASS: ([q], [M]),
        DERIVATIVES: ([q, qd, qdd], slopes),
    }
    return _c_by_casadi(s, folder, "adam", graphs)


def _casadi() -> Any:
    try:
        import casadi
    except ImportError:
        raise MissingPeerError("casadi") from None
    return casadi


def _c_by_casadi(s: panda.States, folder: Path, library: str, graphs: dict[str, tuple[Any, Any]]) -> Calls:
    """C of graphs, common parts of which are computed once, zeros stored, matrices in rows."""
    casadi = _casadi()
    generator = casadi.CodeGenerator(f"{library}_functions.c")
    loops = {}
    for k, (name, (inputs, outputs)) in enumerate(graphs.items()):
        by_rows = [casadi.densify(x).T for x in outputs] if name == DERIVATIVES else list(map(casadi.densify, outputs))
        function = casadi.Function(f"{library}{k}", inputs, by_rows, {"cse": True})
        generator.add(function)
        sizes = [x.numel() for x in by_rows]
        body = f"const double *arg[{function.sz_arg()}]; double *res[{function.sz_res()}], w[{function.sz_w() + 1}]; "
        body += "".join(f"arg[{k}] = x{k} + 7 * i; " for k in range(len(inputs)))
        body += "".join(f"res[{k}] = y{k} + {size} * i; " for k, size in enumerate(sizes))
        loops[name] = _Loop(function.name(), sizes, f"{body}{function.name()}(arg, res, 0, w, 0);")
    return _compiled(s, folder, library, [generator.dump()], loops)


class _Loop:
    """A loop in C over states: name, sizes of the outputs, and what is done for state ``i``."""

    def __init__(self, name: str, sizes: Sequence[int], body: str) -> None:
        self.name, self.sizes, self.body = f"loop_{name}", sizes, body

    def source(self, inputs: int) -> str:
        pointers = [f"const double *x{k}" for k in range(inputs)] + [f"double *y{k}" for k in range(len(self.sizes))]
        return (
            f"void {self.name}({', '.join(pointers)}) {{\n  for (long i = 0; i < {BATCH}; ++i) {{ {self.body} }}\n}}\n"
        )


def _compiled(s: panda.States, folder: Path, library: str, sources: list[str], loops: dict[str, _Loop]) -> Calls:
    """Compile with gcc and return calls over all states."""
    text = "\n".join([*sources, *(loop.source(len(INPUTS[name])) for name, loop in loops.items())])
    (folder / f"{library}.c").write_text(text, encoding="utf-8")
    try:
        # Linked with -ffast-math, a library would make the whole process flush small numbers to zero.
        for command in (
            ["-c", "-fPIC", *FLAGS, f"{library}.c"],
            ["-shared", f"{library}.o", "-o", f"{library}.so", "-lm"],
        ):
            subprocess.run(["gcc", *command], cwd=folder, check=True)
    except FileNotFoundError:
        raise MissingPeerError("gcc") from None
    code = ctypes.CDLL(str(folder / f"{library}.so"))
    calls: Calls = {}
    for name, loop in loops.items():
        arrays = [getattr(s, key) for key in INPUTS[name]]
        results = tuple(np.empty((BATCH, 7) if size == 7 else (BATCH, 7, 7)) for size in loop.sizes)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, *results)]
        run = getattr(code, loop.name)
        calls[name] = partial(_call, run, pointers, results)
    return calls


def _call(run: Callable[..., object], pointers: list[ctypes.c_void_p], results: tuple[np.ndarray, ...]) -> Any:
    run(*pointers)
    return results


def _frax(s: panda.States, folder: Path) -> Calls:
    """frax under JAX's ``jit`` and ``vmap``."""
    jax = _jax()
    try:
        import frax
    except ImportError:
        raise MissingPeerError("frax") from None
    robot = frax.Manipulator(str(PANDA))
    upwards = np.array([0.0, 0.0, GRAVITY, 0.0, 0.0, 0.0])

    def torque(q: Any, qd: Any, qdd: Any) -> Any:
        return robot.rnea(q, qd, qdd, upwards, None)

    def slopes(q: Any, qd: Any, qdd: Any) -> Any:
        return *jax.jacfwd(torque, (0, 1))(q, qd, qdd), robot.mass_matrix(q)

    def acceleration(q: Any, qd: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, qd, tau, None)

    functions = {INVERSE: torque, FORWARD: acceleration, MASS: robot.mass_matrix, DERIVATIVES: slopes}
    return _jitted(s, {name: jax.vmap(function) for name, function in functions.items()})


def _our_jax(s: panda.States, folder: Path) -> Calls:
    """``to_jax`` under JAX's ``jit``: our machine code."""
    _jax()
    return _jitted(s, {name: function.to_jax() for name, function in _our_functions().items()})


def _jax() -> Any:
    try:
        import jax
    except ImportError:
        raise MissingPeerError("jax") from None
    jax.config.update("jax_enable_x64", True)
    return jax


def _jitted(s: panda.States, functions: dict[str, Any]) -> Calls:
    jax = _jax()
    calls = {}
    for name, function in functions.items():
        arrays = [jax.numpy.asarray(getattr(s, key)) for key in INPUTS[name]]
        jitted = jax.jit(function)
        calls[name] = lambda jitted=jitted, arrays=arrays: jax.block_until_ready(jitted(*arrays))
    return calls


#: The ways to make code, ours first.
WAYS: dict[str, Callable[[panda.States, Path], Calls]] = {
    "Chasles": _ours,
    "Chasles, to_jax": _our_jax,
    "Chasles, to_c, gcc": _our_c,
    "Chasles, to_casadi, C by CasADi, gcc": _our_casadi,
    "adam, C by CasADi, gcc": _adam,
    "frax, JAX": _frax,
}

#: The ways whose calls leave busy threads behind.
UNDER_XLA = ("Chasles, to_jax", "frax, JAX")
