"""Schedules as C code: one function that goes through the calls and jumps, on one struct of all arrays.

Arrays that no call writes are constants. Nothing is allocated. What is computed is the same as in Python, but sums over
rows and columns of matrices are rounded in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.function import Function
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.schedule import Callee, Entry, Schedule, signature_of
from chasles.engine.targets.c import Names, Writer
from chasles.engine.targets.c_matrices import elimination, matrix_scan

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScheduleInC:
    """A schedule as parts of a C file.

    Attributes
    ----------
    members
        Members of the struct of all arrays that calls write or that have names.
    definitions
        Constants and functions; they are static, and need ``<math.h>``.
    init, run
        Names of the functions that fill the struct and go through the schedule; they take a pointer to it.
    views
        The named arrays, in the struct to which ``s`` points.
    """

    members: list[str]
    definitions: list[str]
    init: str
    run: str
    views: dict[str, View]


def lower_schedule(schedule: Schedule, label: str, named: Mapping[str, Floats], prefix: str) -> ScheduleInC:
    """Return what a run of a schedule from a label on does, in C.

    Parameters
    ----------
    schedule
        The schedule; as it is now, its arrays are those to begin with.
    label
        Where a run begins.
    named
        Arrays that are given to a run or read after it, by name.
    prefix
        Beginning of all names, and of the struct's, ``PREFIX_state``.

    Raises
    ------
    ArgumentError
        The schedule calls Python.
    """
    return _Lowering(schedule, label, named, prefix).lowered()


@dataclass(frozen=True)
class View:
    """An array in C: where its first element is, and steps of its indices, in elements."""

    first: str
    steps: tuple[int, ...]
    shape: tuple[int, ...]

    def at(self, *indices: str) -> str:
        """Return the element at indices, of which the last axes may be left out."""
        terms = [f"({i}) * {step}" for i, step in zip(indices, self.steps, strict=False) if step]
        return f"({' + '.join([self.first, *terms])})"

    def element(self, *indices: str) -> str:
        """Return the number at indices."""
        return f"*{self.at(*indices)}"

    def is_dense(self, lead: int) -> bool:
        """Whether the axes after the first ones are dense in memory."""
        wanted = 1
        for size, step in reversed(list(zip(self.shape[lead:], self.steps[lead:], strict=True))):
            if size > 1 and step != wanted:
                return False
            wanted *= size
        return True


class _Lowering:
    """Memory, functions and lines of one schedule."""

    def __init__(self, schedule: Schedule, label: str, named: Mapping[str, Floats], prefix: str) -> None:
        self.schedule, self.named, self.prefix = schedule, named, prefix
        self.first = schedule.place(label)
        self.entries = schedule.reached(label)
        self.writer = Writer("double", Names(), prefix)
        self.eliminate = ""
        self._used: set[int] = set()
        bases: dict[int, Floats] = {}
        written: set[int] = set()
        for entry in self.entries.values():
            for array in (*entry.inputs, *entry.outputs, *([] if entry.flag is None else [entry.flag])):
                bases[id(_base(array))] = _base(array)
            written.update(id(_base(array)) for array in entry.outputs)
            if isinstance(entry.function, MatrixCall):  # scans may hand what they compute on in arrays that are given
                written.update(id(_base(array)) for array in entry.inputs)
        for array in named.values():
            bases[id(_base(array))] = _base(array)
            written.add(id(_base(array)))
        self.bases = {key: base for key, base in bases.items() if base.size}
        self.members: dict[int, str] = {}
        self.constants: dict[int, str] = {}
        for name, array in named.items():
            self.members.setdefault(id(_base(array)), self.writer.names.take(name, "array"))
        for key in self.bases:
            names = self.members if key in written else self.constants
            names.setdefault(
                key, self.writer.names.take(f"{prefix}_array_{len(self.members) + len(self.constants)}", "")
            )

    def lowered(self) -> ScheduleInC:
        """Write everything down."""
        lines: list[str] = [f"    goto at_{self.first};"]
        for place, entry in self.entries.items():
            lines += [f"at_{place}:;", *("    " + line for line in self._entry(entry))]
        targets = {line.split("goto ")[1] for line in lines if "goto " in line}
        lines = [line for line in lines if not line.startswith("at_") or line.replace(":", "") in targets]
        run, init = (self.writer.names.take(f"{self.prefix}_{verb}", verb) for verb in ("run", "fill"))
        used = [(name, self.bases[key]) for key, name in self.constants.items() if key in self._used]
        tables, fill = self._fill()
        definitions = [
            *(line for name, base in used for line in _table(name, base)),
            *self.writer.definitions,
            *tables,
            *_function(init, self.prefix, fill),
            *_function(run, self.prefix, lines),
        ]
        members = [f"double {name}[{self.bases[key].size}];" for key, name in self.members.items() if key in self.bases]
        views = {name: self._view(array) for name, array in self.named.items() if array.size}
        return ScheduleInC(members, definitions, init, run, views)

    def _fill(self) -> tuple[list[str], list[str]]:
        """Tables and lines that give all arrays their first values."""
        tables: list[str] = []
        lines: list[str] = []
        for key, name in self.members.items():
            if key not in self.bases:
                continue
            base = self.bases[key]
            value = "0.0"
            if base.any():
                tables += _table(f"{self.prefix}_first_{name}", base)
                value = f"{self.prefix}_first_{name}[k]"
            lines += [f"    for (int k = 0; k < {base.size}; k++)", f"        s->{name}[k] = {value};"]
        return tables, lines

    def _view(self, array: Floats) -> View:
        base = _base(array)
        self._used.add(id(base))
        offset = (_address(array) - _address(base)) // 8
        name = f"s->{self.members[id(base)]}" if id(base) in self.members else self.constants.get(id(base), "0")
        return View(f"{name} + {offset}" if offset else name, tuple(step // 8 for step in array.strides), array.shape)

    def _entry(self, entry: Entry) -> list[str]:
        if entry.flag is not None:
            target = f"goto at_{self.schedule.place(entry.label)};"
            base = _base(entry.flag)
            if id(base) in self.constants:
                return [target] if entry.flag > 0.0 else []
            return [f"if ({self._view(entry.flag).element()} > 0.0)", f"    {target}"]
        if entry.label:
            return ["return;"]
        if entry.function is None:
            raise ArgumentError("a step of the schedule is plain Python, which is not C code")
        if isinstance(entry.function, MatrixCall):
            return self._matrices(entry.function, entry)
        shape = entry.function.kernel.shape
        if shape == "map":
            return self._map(entry.function, entry)
        if shape == "scan" and len(entry.outputs) == 1:
            return self._scan(entry.function, entry)
        raise ArgumentError(f"{entry.function.program.name} is a {shape}, which schedules do not write as C code yet")

    def _map(self, function: Function[Any], entry: Entry) -> list[str]:
        ranks = _ranks(function)
        views = [self._view(array) for array in (*entry.inputs, *entry.outputs)]
        leads = [array.ndim - rank for array, rank in zip((*entry.inputs, *entry.outputs), ranks, strict=True)]
        arguments: list[str] = []
        before: list[str] = []
        after: list[str] = []
        for k, (view, lead) in enumerate(zip(views, leads, strict=True)):
            index = ["i"] * lead
            if 0 in view.shape:
                arguments.append("0")
            elif view.is_dense(lead):
                arguments.append(view.at(*index))
            else:
                size = int(np.prod(view.shape[lead:]))
                before.append(f"double g{k}[{size}];")
                moves = _moves(
                    view.shape[lead:], f"g{k}", lambda *inner, v=view, lead_index=index: v.element(*lead_index, *inner)
                )
                if k < len(entry.inputs):
                    before += moves[0]
                else:
                    after += moves[1]
                arguments.append(f"g{k}")
        call = [*before, f"{self.writer.add(function.program)}({', '.join(arguments)});", *after]
        counts = [view.shape[0] for view, lead in zip(views, leads, strict=True) if lead]
        if not counts:
            return ["{", *("    " + line for line in call), "}"]
        return [f"for (int i = 0; i < {counts[0]}; i++) {{", *("    " + line for line in call), "}"]

    def _scan(self, function: Function[Any], entry: Entry) -> list[str]:
        """A scan that gives its last state alone."""
        state, given, *rest = (self._view(array) for array in entry.inputs)
        (result,), size = (self._view(array) for array in entry.outputs), function.program.inputs[0].size
        steps, substeps = given.shape[:2]
        arguments = ["x", given.at("i", "k"), *(view.at() for view in rest), "x"]
        return [
            "{",
            f"    double x[{size}];",
            f"    for (int j = 0; j < {size}; j++)",
            f"        x[j] = {state.element('j')};",
            f"    for (int i = 0; i < {steps}; i++)",
            f"        for (int k = 0; k < {substeps}; k++)",
            f"            {self.writer.add(function.program)}({', '.join(arguments)});",
            f"    for (int j = 0; j < {size}; j++)",
            f"        {result.element('j')} = x[j];",
            "}",
        ]

    def _matrices(self, call: MatrixCall, entry: Entry) -> list[str]:
        if not self.eliminate:
            self.eliminate = self.writer.names.take(f"{self.prefix}_eliminate", "eliminate")
            self.writer.definitions.append(elimination(self.eliminate))
        cores = (*call.signature.inputs, *call.signature.outputs)
        views = {core.name: self._view(a) for core, a in zip(cores, (*entry.inputs, *entry.outputs), strict=True)}
        places = {name: view.element for name, view in views.items()}
        steps = views[cores[0].name].shape[0]
        return [line for scan in call.scans for line in matrix_scan(scan, steps, places, self.eliminate)]


def _function(name: str, prefix: str, body: Sequence[str]) -> list[str]:
    return [f"static void {name}({prefix}_state *s)", "{", *body, "}", ""]


def _moves(shape: Sequence[int], dense: str, element: Any) -> tuple[list[str], list[str]]:
    """Lines that copy from elements of an array that is not dense into one that is, and back."""
    indices = [f"j{k}" for k in range(len(shape))]
    loops = [
        f"{'    ' * k}for (int {j} = 0; {j} < {n}; {j}++)" for k, (j, n) in enumerate(zip(indices, shape, strict=True))
    ]
    place = "0"
    for j, n in zip(indices, shape, strict=True):
        place = f"({place}) * {n} + {j}"
    end, pad = element(*indices), "    " * len(shape)
    return [*loops, f"{pad}{dense}[{place}] = {end};"], [*loops, f"{pad}{end} = {dense}[{place}];"]


def _ranks(function: Callee) -> list[int]:
    signature = signature_of(function)
    return [len(core.dims) for core in (*signature.inputs, *signature.outputs)]


def _base(array: Floats) -> Floats:
    """The array that owns an array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _address(array: Floats) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _table(name: str, array: Floats) -> list[str]:
    """A constant array."""
    numbers = [_number(float(value)) for value in array.ravel()]
    rows = [", ".join(numbers[k : k + 8]) for k in range(0, len(numbers), 8)]
    return [f"static const double {name}[{array.size}] = {{", *(f"    {row}," for row in rows), "};", ""]


def _number(value: float) -> str:
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    return repr(value)
