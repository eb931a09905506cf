"""From a program to an LLVM function on vectors: one lane a sample, one vector a scalar of the program.

Every program becomes ``void (ptr in, ptr out)``: arrays of vectors, one for each input and output scalar. Kernels and
other programs call it the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import numpy as np

from chasles.engine.operations import OPERATIONS
from chasles.engine.program import Program, operands
from chasles.engine.targets.native.mathematics import LIBRARY
from chasles.engine.targets.native.writer import Writer, literal

#: A function of more instructions is cut: what the compiler's register allocation takes grows faster than the length.
LONGEST_FUNCTION = 1_000

_SHORT_RUN = 8

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_PREDICATES = {"less": "olt", "less_equal": "ole", "equal": "oeq"}
_CONDITIONS = {"both": "and", "either": "or"}
_INTRINSICS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor"}


@dataclass
class Module:
    """One compilation: the functions written so far and the vector type they use."""

    dtype: str
    lanes: int
    texts: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    library: set[str] = field(default_factory=set)

    @property
    def element(self) -> str:
        """LLVM's name of the type of one number."""
        return "double" if self.dtype == "float64" else "float"

    @property
    def real(self) -> str:
        """LLVM's name of a vector of numbers."""
        return f"<{self.lanes} x {self.element}>"

    @property
    def item_size(self) -> int:
        """Bytes of one number."""
        return np.dtype(self.dtype).itemsize

    @property
    def vector_size(self) -> int:
        """Bytes of a vector."""
        return self.lanes * self.item_size

    def constant(self, value: float) -> str:
        """Return a vector with the same number in every lane."""
        return f"splat ({self.element} {literal(float(np.dtype(self.dtype).type(value)))})"

    def add_program(self, program: Program) -> str:
        """Write a program and those it calls, once each; return the name of its function."""
        name = self.names.get(program.digest)
        if name is None:
            for called in program.programs:
                self.add_program(called)
            name = self.names[program.digest] = f"chasles.program{len(self.names)}"
            self.texts.append(write_program(self, program, name))
        return name

    def need(self, function: str) -> None:
        """Add a function of the library and what it calls."""
        if function not in self.library:
            self.library.add(function)
            for other in LIBRARY[function][1]:
                self.need(other)

    def text(self) -> str:
        """Return the whole module as LLVM assembly."""
        v, d = self.real, f"<{self.lanes} x double>"
        suffix = f"v{self.lanes}f{8 * np.dtype(self.dtype).itemsize}"
        declared = {f"{d} @llvm.{name}.v{self.lanes}f64({d})" for name in ("fabs", "sqrt", "floor")}
        declared |= {f"{v} @llvm.{name}.{suffix}({v})" for name in ("fabs", "sqrt", "floor")}
        declared |= {
            f"{d} @llvm.fma.v{self.lanes}f64({d}, {d}, {d})",
            f"{d} @llvm.copysign.v{self.lanes}f64({d}, {d})",
            "double @llvm.fabs.f64(double)",
            "double @sin(double)",
            "double @cos(double)",
            "double @pow(double, double)",
        }
        library = [LIBRARY[name][0](self.lanes) for name in LIBRARY if name in self.library]
        return "\n".join([*(f"declare {text}" for text in sorted(declared)), *library, *self.texts])


class _Frame:
    """Where values wait in memory that one segment of a long program computes and a later one uses."""

    def __init__(self, program: Program, segments: Sequence[range]) -> None:
        segment_of = [number for number, segment in enumerate(segments) for _ in segment]
        last_use = list(segment_of)
        for index, instruction in enumerate(program.instructions):
            for operand in operands(instruction):
                last_use[operand] = segment_of[index]
        self.slot: dict[int, int] = {}
        self.size = 0
        free: list[int] = []
        leaving: list[list[int]] = [[] for _ in segments]
        for number, segment in enumerate(segments):
            for index in segment:
                if last_use[index] > number and program.instructions[index][0] not in ("constant", "input"):
                    if not free:
                        free.append(self.size)
                        self.size += 1
                    self.slot[index] = free.pop()
                    leaving[last_use[index]].append(self.slot[index])
            free += leaving[number]


def _segments(program: Program) -> list[range]:
    """Cut a program into stretches of similar length; an item stays with its call."""
    instructions = program.instructions
    count = -(-len(instructions) // LONGEST_FUNCTION) or 1
    cuts = [0]
    for k in range(1, count):
        cut = k * len(instructions) // count
        while cut < len(instructions) and instructions[cut][0] == "item":
            cut += 1
        cuts.append(cut)
    return [range(start, stop) for start, stop in pairwise([*cuts, len(instructions)])]


def write_program(module: Module, program: Program, name: str) -> str:
    """Return the LLVM function of a program, with others that it calls in turn if it is long."""
    segments = _segments(program)
    if len(segments) == 1:
        return _SegmentWriter(module, program, f"{name}(ptr noalias %in, ptr noalias %out)", None).write(segments[0])
    frame = _Frame(program, segments)
    texts = []
    main = Writer(f"internal void @{name}(ptr noalias %in, ptr noalias %out)")
    place = main.value(f"alloca [{max(frame.size, 1)} x {module.real}], align 64")
    for number, segment in enumerate(segments):
        own = f"{name}.{number}"
        writer = _SegmentWriter(module, program, f"{own}(ptr noalias %in, ptr noalias %out, ptr noalias %frame)", frame)
        texts.append(writer.write(segment))
        main.emit(f"call void @{own}(ptr %in, ptr %out, ptr {place})")
    main.emit("ret void")
    return "\n".join([*texts, main.text()])


def _runs(results: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Start and length of the stretches of equal results; matrices of trees hold many zeros."""
    start = 0
    for _, stretch in groupby(results):
        count = sum(1 for _ in stretch)
        yield start, count
        start += count


class _SegmentWriter(Writer):
    """Writer of a whole program, or of one segment of it."""

    def __init__(self, module: Module, program: Program, signature: str, frame: _Frame | None) -> None:
        super().__init__(f"internal void @{signature}")
        self._module = module
        self._program = program
        self._frame = frame
        self._values: dict[int, str] = {}
        self._buffers: dict[str, list[str]] = {}
        self._sincos: dict[str, str] = {}

    def write(self, segment: range) -> str:
        instructions, results = self._program.instructions, self._program.results
        for index in segment:
            operation, *rest = instructions[index]
            if operation in ("constant", "input"):
                continue  # written where it is used
            if operation == "call":
                self._values[index] = self._call(rest[0], [self._value(k) for k in rest[1:]])
            elif operation == "item":
                self._values[index] = self._load(self._values[rest[0]], rest[1])
            else:
                self._values[index] = self._operation(operation, [self._value(k) for k in rest])
            if self._frame and index in self._frame.slot:
                self._store(self._values[index], "%frame", self._frame.slot[index], self._type(index))
        for start, count in _runs(results):
            # A result that needs no computing can be stored by any segment: evenly by all, as stores compile slowly.
            free = instructions[results[start]][0] in ("constant", "input")
            if (start * len(instructions) // len(results) if free else results[start]) in segment:
                self._store_run(self._value(results[start]), start, count)
        self.emit("ret void")
        return self.text()

    def _value(self, index: int) -> str:
        """Name of a value, fetched on its first use here if this segment does not compute it."""
        if index not in self._values:
            operation, *rest = self._program.instructions[index]
            if operation == "constant":
                self._values[index] = self._module.constant(rest[0])
            elif operation == "input":
                self._values[index] = self._load("%in", rest[0])
            elif self._frame:
                self._values[index] = self._load("%frame", self._frame.slot[index], self._type(index))
        return self._values[index]

    def _type(self, index: int) -> str:
        operation = OPERATIONS.get(self._program.instructions[index][0])
        return f"<{self._module.lanes} x i1>" if operation and operation.gives == "c" else self._module.real

    def _load(self, base: str, position: int, kind: str = "") -> str:
        address = self.value(f"getelementptr i8, ptr {base}, i64 {position * self._module.vector_size}")
        return self.value(f"load {kind or self._module.real}, ptr {address}")

    def _store(self, value: str, base: str, position: int, kind: str = "") -> None:
        address = self.value(f"getelementptr i8, ptr {base}, i64 {position * self._module.vector_size}")
        self.emit(f"store {kind or self._module.real} {value}, ptr {address}")

    def _store_run(self, value: str, start: int, count: int) -> None:
        """Store one value as several results in a row."""
        if count < _SHORT_RUN:
            for position in range(start, start + count):
                self._store(value, "%out", position)
            return
        with self.loop(count) as k:
            place = self.address("%out", (self.value(f"add i64 {k}, {start}"), self._module.vector_size))
            self.emit(f"store {self._module.real} {value}, ptr {place}")

    def _call(self, number: int, operands: list[str]) -> str:
        called = self._program.programs[number]
        # Items stand right behind their call, so that the next call of the same program may use the same memory.
        if called.digest not in self._buffers:
            self._buffers[called.digest] = [
                self.value(f"alloca [{max(count, 1)} x {self._module.real}], align 64")
                for count in (len(operands), len(called.results))
            ]
        places = self._buffers[called.digest]
        for position, operand in enumerate(operands):
            self._store(operand, places[0], position)
        self.emit(f"call void @{self._module.names[called.digest]}(ptr {places[0]}, ptr {places[1]})")
        return places[1]

    def _operation(self, operation: str, x: list[str]) -> str:
        v, lanes = self._module.real, self._module.lanes
        if operation in _ARITHMETIC:
            return self.value(f"{_ARITHMETIC[operation]} contract {v} {x[0]}, {x[1]}")
        if operation == "neg":
            return self.value(f"fneg {v} {x[0]}")
        if operation in _PREDICATES:
            return self.value(f"fcmp {_PREDICATES[operation]} {v} {x[0]}, {x[1]}")
        if operation in _CONDITIONS:
            return self.value(f"{_CONDITIONS[operation]} <{lanes} x i1> {x[0]}, {x[1]}")
        if operation == "negated":
            return self.value(f"xor <{lanes} x i1> {x[0]}, splat (i1 true)")
        if operation == "where":
            return self.value(f"select <{lanes} x i1> {x[0]}, {v} {x[1]}, {v} {x[2]}")
        if operation in _INTRINSICS:
            suffix = f"v{lanes}f{8 * np.dtype(self._module.dtype).itemsize}"
            return self.value(f"call {v} @llvm.{_INTRINSICS[operation]}.{suffix}({v} {x[0]})")
        if operation == "sign":
            return self._sign(x[0])
        if operation in ("minimum", "maximum"):
            return self._extreme("olt" if operation == "minimum" else "ogt", x[0], x[1])
        return self._library(operation, x)

    def _sign(self, x: str) -> str:
        v, truth = self._module.real, f"<{self._module.lanes} x i1>"
        result = x  # 0 and NaN keep their own value
        for predicate, value in (("olt", -1.0), ("ogt", 1.0)):
            condition = self.value(f"fcmp {predicate} {v} {x}, zeroinitializer")
            result = self.value(f"select {truth} {condition}, {v} {self._module.constant(value)}, {v} {result}")
        return result

    def _extreme(self, predicate: str, a: str, b: str) -> str:
        v, truth = self._module.real, f"<{self._module.lanes} x i1>"
        better = self.value(f"fcmp {predicate} {v} {a}, {b}")
        is_nan = self.value(f"fcmp uno {v} {a}, {a}")
        return self.value(f"select {truth} {self.value(f'or {truth} {better}, {is_nan}')}, {v} {a}, {v} {b}")

    def _library(self, operation: str, x: list[str]) -> str:
        """Call a function of the library, which works in doubles whatever the kernel's type."""
        if operation in ("sin", "cos"):
            part = ("sin", "cos").index(operation)
            wide = f"<{self._module.lanes} x double>"
            if x[0] not in self._sincos:
                self._module.need("sincos")
                argument = self._widened(x[0])
                self._sincos[x[0]] = self.value(f"call {{{wide}, {wide}}} @chasles.sincos({wide} {argument})")
            return self._narrowed(self.value(f"extractvalue {{{wide}, {wide}}} {self._sincos[x[0]]}, {part}"))
        self._module.need(operation)
        wide = f"<{self._module.lanes} x double>"
        arguments = ", ".join(f"{wide} {self._widened(operand)}" for operand in x)
        return self._narrowed(self.value(f"call {wide} @chasles.{operation}({arguments})"))

    def _widened(self, x: str) -> str:
        if self._module.element == "double":
            return x
        return self.value(f"fpext {self._module.real} {x} to <{self._module.lanes} x double>")

    def _narrowed(self, x: str) -> str:
        if self._module.element == "double":
            return x
        return self.value(f"fptrunc <{self._module.lanes} x double> {x} to {self._module.real}")
