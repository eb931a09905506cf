"""What exports to CasADi, JAX and PyTorch cost: operations of graphs, time to make them, time around a call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np

import chasles as ch
from benchmarks.robots import PANDA, MissingPeerError
from benchmarks.tables import Table, at_most, seconds
from benchmarks.timing import interleaved
from chasles import geometry
from chasles.base.errors import ChaslesError
from chasles.engine import Function
from chasles.model.robots import shipped

BATCH = 64
#: Keywords without which some functions have no program.
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"frame": "space"}, {"sequence": "xyz"})
#: Largest share of a graph's operations to the program's, wherever CasADi has the operation.
MOST = 1.02


def tables() -> Iterator[Table]:
    """Operations in CasADi, times of exports, times around calls, and times of XLA."""
    casadi = _library("casadi")
    yield operations(casadi)
    yield graphs(casadi)
    yield calls()
    yield compilation()


def operations(casadi: Any) -> Table:
    """Count the operations of every public function that is a program."""
    table = Table(
        "Operations of functions in CasADi (SX) beside the program's",
        ("", "programs", "program", "CasADi", "largest ratio"),
        notes=[
            "Every function of every shipped robot and of chasles.geometry, each with its default options, except "
            "programs that call others (the Stewart platform's), whose calls stay calls.",
            "CasADi has no choice between two values: where(c, a, b) is a sum of two values of which one is 0, two "
            "operations more and one for each negated condition. Its fmin and fmax ignore NaN: a minimum that does not "
            "takes up to five more. Programs above the bar are listed one by one.",
        ],
    )
    above = []
    for title, programs in (("shipped robots", _of_robots()), ("geometry", _of_geometry())):
        counts = {name: (f.program.operation_count, count(casadi, f.to_casadi())) for name, f in programs}
        above += [(name, *of) for name, of in counts.items() if of[1] > MOST * of[0]]
        within = [of for of in counts.values() if of[1] <= MOST * of[0]]
        for kind, of in (("", counts.values()), (f", at most {MOST}", within)):
            ours, theirs = (sum(x) for x in zip(*of, strict=True))
            most = max(b / a for a, b in of if a)
            table.add(f"{title}{kind}", f"{len(of)}", f"{ours:,}", f"{theirs:,}", f"{most:.2f}")
    for name, ours, theirs in sorted(above, key=lambda row: -row[2] / row[1]):
        table.add(name, "1", f"{ours:,}", f"{theirs:,}", f"{theirs / ours:.2f}")
    return table


def count(casadi: Any, function: Any) -> int:
    """Count the instructions of a graph but those that move values."""
    moves = (casadi.OP_INPUT, casadi.OP_OUTPUT, casadi.OP_CONST)
    return sum(function.instruction_id(k) not in moves for k in range(function.n_instructions()))


def _of_robots() -> Iterator[tuple[str, Function]]:
    for name in shipped():
        yield from _programs(name, ch.load(name))


def _of_geometry() -> Iterator[tuple[str, Function]]:
    yield from _programs("geometry", geometry)


def _programs(owner: str, place: Any) -> Iterator[tuple[str, Function]]:
    """Return the functions of an object that are programs without calls."""
    for name in dir(place):
        function = getattr(place, name, None)
        if not isinstance(function, Function):
            continue
        for options in OPTIONS:
            try:
                chosen = function.specialize(**options) if options else function
                has_calls = bool(chosen.program.programs)
            except (ChaslesError, TypeError):  # a robot without masses, or other options are needed
                continue
            if not has_calls:
                yield f"{owner}.{name}", chosen
            break


def graphs(casadi: Any) -> Table:
    """Time and count the Panda's graphs beside adam's."""
    table = Table("The Panda's graphs in CasADi (SX)", ("", "operations", "written in"))
    arm = ch.load("panda")
    functions = {"mass matrix": arm.mass_matrix, "forward dynamics": arm.forward_dynamics}
    times = interleaved({name: function.to_casadi for name, function in functions.items()})
    for name, function in functions.items():
        table.add(f"Chasles, {name}", f"{count(casadi, function.to_casadi()):,}", seconds(times[name]))
    table.notes.append("forward dynamics: " + at_most(0.1, times["forward dynamics"]))
    try:
        from adam.casadi import KinDynComputations
    except ImportError:
        table.notes.append(str(MissingPeerError("adam-robotics")))
        return table

    def adam() -> Any:
        graph = KinDynComputations(str(PANDA), list(arm.joint_names)).mass_matrix_fun()
        T, q = casadi.SX.eye(4), casadi.SX.sym("q", arm.n)
        return casadi.Function("M", [q], [casadi.densify(graph(T, q)[6:, 6:])])

    time = interleaved({"adam": adam}, repeats=5)["adam"]
    table.add("adam, mass matrix of the joints alone", f"{count(casadi, adam()):,}", f"{seconds(time)}, file read")
    return table


def calls() -> Table:
    """Time single calls under ``jit`` beside one that does nothing, and of PyTorch's function."""
    table = Table("The Panda's mass matrix, one call from Python", ("", "a call", "more than without us"))
    jax, M = _library("jax"), ch.load("panda").mass_matrix
    q = np.linspace(-1.0, 1.0, 7)
    of_jax = jax.numpy.asarray(q)
    ours, nothing = jax.jit(M.to_jax()), jax.jit(lambda q: jax.numpy.zeros((7, 7)) + q[0])
    candidates: dict[str, Callable[[], object]] = {
        "directly": lambda: M(q),
        "jitted": lambda: jax.block_until_ready(ours(of_jax)),
        "nothing": lambda: jax.block_until_ready(nothing(of_jax)),
    }
    try:
        torch = _library("torch")
        with_torch, tensor = M.to_torch(), torch.from_numpy(q)
        candidates |= {"torch": lambda: with_torch(tensor), "clone": tensor.clone}
    except MissingPeerError:
        table.notes.append("torch is not installed")
    times = interleaved(candidates)
    table.add("Chasles, NumPy", seconds(times["directly"]), "-")
    for title, name, empty in (("to_jax, jitted", "jitted", "nothing"), ("to_torch", "torch", "clone")):
        if name in times:
            table.add(title, seconds(times[name]), seconds(max(times[name] - times[empty], 0.0)))
    table.notes.append("jitted: " + at_most(3e-6, times["jitted"] - times["nothing"]))
    return table


def compilation() -> Table:
    """Time XLA, and what it makes of programs as operations of its own."""
    jax = _library("jax")
    table = Table(
        f"Programs as XLA's own operations, batches of {BATCH}, processor time",
        ("", "operations", "compiled in", "a state"),
        notes=["Accelerators run these operations; processors do if asked for, in place of machine code."],
    )
    panda, stewart = ch.load("panda"), ch.load("stewart")
    never, always = math.inf, 0
    for title, function, longest in (
        ("Panda, forward dynamics, one by one", panda.forward_dynamics, never),
        ("the same, in levels", panda.forward_dynamics, always),
        ("Panda, ∂τ/∂(q, q̇, q̈), one by one", panda.inverse_dynamics_derivatives, never),
        ("the same, in levels", panda.inverse_dynamics_derivatives, always),
        ("Stewart platform, forward dynamics, in levels", stewart.forward_dynamics, always),
    ):
        source = np.random.default_rng(0)
        states = [source.normal(size=(BATCH, a.size)) for a in function.program.inputs]
        with patch("chasles.engine.targets.levels._LONG", longest):
            graph = jax.jit(function.to_jax(machine_code=False)).lower(*states)
        start = process_time()
        run = graph.compile()
        compiling = process_time() - start
        time = interleaved({"": lambda run=run, states=states: jax.block_until_ready(run(*states))}, repeats=5)[""]
        table.add(title, f"{function.program.operation_count:,}", seconds(compiling), seconds(time / BATCH))
    return table


def _library(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise MissingPeerError(name) from None
