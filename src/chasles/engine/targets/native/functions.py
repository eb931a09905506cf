"""From a program to an LLVM function on vectors: one lane a sample, one vector a scalar of the program.

Every program becomes ``void (ptr in, ptr out, ptr work)``: arrays of vectors, one for each input and output scalar, and
memory for what waits between its parts and for the programs that it calls. Kernels and other programs call it the same
way. The caller brings the memory because long programs need more of it than a thread's stack has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.program import Program
from chasles.engine.targets.native.allocation import Action, allocate, fused_products, stored_arguments, with_claims
from chasles.engine.targets.native.machine import has_fma, registers
from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.writer import LlvmWriter

_SHORT_RUN = 8
_NAME = 16  # digits of a program's digest in its name, which is the same in all kernels that call it

_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_PREDICATES = {"less": "olt", "less_equal": "ole", "equal": "oeq"}
_CONDITIONS = {"both": "and", "either": "or"}
_INTRINSICS = {"abs": "fabs", "sqrt": "sqrt", "floor": "floor"}


def add_program(
    module: LlvmModule,
    program: Program,
    positions: Mapping[int, int] | None = None,
    claims: Sequence[tuple[int, int]] = (),
) -> str:
    """Write a program and those it calls, once each; return the name of its function.

    Parameters
    ----------
    module
        The module to which they are added.
    program
        The program.
    positions
        Positions of the values that its function stores; default all results, one after the other.
    claims
        Lines of the cache that it claims while it computes, as output and offset in bytes. If there are any, its
        function takes an address for each output as well.
    """
    name = module.names.get(program.digest)
    if name is None:
        for called in program.programs:
            add_program(module, called)
        name = module.names[program.digest] = f"chasles.program.{program.digest[:_NAME]}"
        if positions is None:
            stores = [(value, position) for position, value in enumerate(program.results)]
        else:
            stores = list(positions.items())
        module.programs.append(write_program(module, program, name, stores, claims))
    return name


_MEMORY = ("%in", "%out", "%work")


def write_program(
    module: LlvmModule,
    program: Program,
    name: str,
    stores: Sequence[tuple[int, int]],
    claims: Sequence[tuple[int, int]],
) -> list[str]:
    """Return the LLVM function of a program, after the functions of its segments if it is long.

    Its working memory begins with the frame in which values wait, then the arguments and results of the programs that
    it calls, then their own working memory. It stores values as pairs of value and position say.
    """
    positions = {value: position for value, position in reversed(stores) if not _is_known(program, value)}
    fused = fused_products(program)
    allocation = allocate(program, fused, positions, registers())
    buffers, size = _call_buffers(program, allocation.size)
    module.workspaces[program.digest] = size + max(map(module.workspace, program.programs), default=0)
    segments = with_claims(allocation.segments, claims)
    count = len(segments)
    names = [name] if count == 1 else [f"{name}.{number}" for number in range(count)]
    runs: dict[int, list[tuple[int, int]]] = {}
    for start, length in _runs(stores):
        runs.setdefault(stores[start][0], []).append((stores[start][1], length))
    stored = stored_arguments(program)
    known = [(value, run) for value in runs if _is_known(program, value) for run in runs[value]]
    claimed = [f"%result{output}" for output in range(len(program.outputs))] if claims else []
    parameters = ", ".join([*(f"ptr noalias {base}" for base in _MEMORY), *(f"ptr {base}" for base in claimed)])
    texts = []
    for number, (segment_name, actions) in enumerate(zip(names, segments, strict=True)):
        w = _SegmentWriter(module, program, f"{segment_name}({parameters})", fused, runs, buffers, stored, size)
        # A result that needs no computing can be stored by any segment: evenly by all, as stores compile slowly.
        texts.append(w.write(actions, known[number * len(known) // count : (number + 1) * len(known) // count]))
    return texts if count == 1 else [*texts, _calls_in_order(name, names, parameters, claimed)]


def _call_buffers(program: Program, start: int) -> tuple[dict[str, tuple[int, int]], int]:
    """Return where the arguments and the results of called programs lie from `start` on, by digest, and their end."""
    buffers: dict[str, tuple[int, int]] = {}
    end = start
    for called in program.programs:
        if called.digest not in buffers:
            results = end + sum(argument.size for argument in called.inputs)
            buffers[called.digest] = end, results
            end = results + len(called.results)
    return buffers, end


def _calls_in_order(name: str, segments: Sequence[str], parameters: str, claimed: Sequence[str]) -> str:
    """Return the function that calls the segments of a program one after the other."""
    writer = LlvmWriter(f"internal void @{name}({parameters})")
    arguments = ", ".join(f"ptr {base}" for base in (*_MEMORY, *claimed))
    for segment in segments:
        writer.emit(f"call void @{segment}({arguments})")
    writer.emit("ret void")
    return writer.text()


def _is_known(program: Program, value: int) -> bool:
    """Whether a value needs no computing."""
    return program.instructions[value][0] in ("constant", "input")


def _runs(stores: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Start and length of the stretches of equal results; matrices of trees hold many zeros."""
    start = 0
    for _, stretch in groupby(value for value, _ in stores):
        count = sum(1 for _ in stretch)
        yield start, count
        start += count


class _SegmentWriter(LlvmWriter):
    """Writer of a whole program, or of one segment of it."""

    def __init__(
        self,
        module: LlvmModule,
        program: Program,
        signature: str,
        fused: Mapping[int, int],
        runs: Mapping[int, Sequence[tuple[int, int]]],
        buffers: Mapping[str, tuple[int, int]],
        stored: Mapping[int, Sequence[tuple[int, int]]],
        called_workspace: int,
    ) -> None:
        super().__init__(f"internal void @{signature}")
        self._module = module
        self._program = program
        self._fused = fused
        self._stored = stored
        self._runs = runs
        self._buffers = buffers
        self._called_workspace = called_workspace
        self._values: dict[int, str] = {}
        self._sincos: dict[int, str] = {}

    def write(self, actions: Sequence[Action], known: Sequence[tuple[int, tuple[int, int]]]) -> str:
        """Return the function of a segment, which also stores some values that need no computing."""
        for kind, index, place in actions:
            if kind == "compute":
                self._values[index] = self._computed(index)
                for start, count in self._runs.get(index, ()):
                    self._store_run(self._values[index], start, count)
            elif kind == "keep":
                self._store(self._values[index], "%work", place, self._type(index))
            elif kind == "claim":
                self.claim(self.value(f"getelementptr i8, ptr %result{index}, i64 {place}"))
            else:
                self._values[index] = self._fetched(index, place)
        for index, (start, count) in known:
            operation, number = self._program.instructions[index]
            value = self._module.constant(self, number) if operation == "constant" else self._load("%in", number)
            self._store_run(value, start, count)
        self.emit("ret void")
        return self.text()

    def _computed(self, index: int) -> str:
        operation, *rest = self._program.instructions[index]
        if operation == "call":
            return self._call(rest[0], self._stored[index])
        if operation == "item":
            return self._load(self._values[rest[0]], rest[1])
        if index in self._fused:
            return self._fused_sum(operation, rest, self._fused[index])
        if operation in ("sin", "cos"):
            return self._sine_or_cosine(operation, rest[0])
        return self._operation(operation, [self._value(k) for k in rest])

    def _fused_sum(self, operation: str, terms: Sequence[int], product: int) -> str:
        """Write a sum or difference with a product, rounded once where the processor can."""
        v = self._module.real
        a, b = (self._value(k) for k in self._program.instructions[product][1:])
        if not has_fma():
            self._values[product] = self.value(f"fmul {v} {a}, {b}")
            x, y = (self._value(k) for k in terms)
            return self.value(f"{_ARITHMETIC[operation]} {v} {x}, {y}")
        is_first = terms[0] == product
        other = self._value(terms[1] if is_first else terms[0])
        if operation == "sub" and is_first:
            other = self.value(f"fneg {v} {other}")
        elif operation == "sub":
            a = self.value(f"fneg {v} {a}")
        suffix = f"v{self._module.lanes}f{8 * self._module.item_size}"
        return self.value(f"call {v} @llvm.fma.{suffix}({v} {a}, {v} {b}, {v} {other})")

    def _fetched(self, index: int, place: int) -> str:
        operation, *rest = self._program.instructions[index]
        if operation == "input":
            return self._load("%in", rest[0])
        if place < 0:
            return self._load("%out", self._runs[index][0][0])
        return self._load("%work", place, self._type(index))

    def _value(self, index: int) -> str:
        """Name of a value that is present."""
        operation, *rest = self._program.instructions[index]
        return self._module.constant(self, rest[0]) if operation == "constant" else self._values[index]

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

    def _call(self, number: int, stored: Sequence[tuple[int, int]]) -> str:
        called = self._program.programs[number]
        # Items stand right behind their call, so that the next call of the same program may use the same memory.
        given, results = (self._place(position) for position in self._buffers[called.digest])
        for position, operand in stored:
            self._store(self._value(operand), given, position)
        work = self._place(self._called_workspace)
        self.emit(f"call void @{self._module.names[called.digest]}(ptr {given}, ptr {results}, ptr {work})")
        return results

    def _place(self, position: int) -> str:
        """Address of a vector of the working memory."""
        return self.value(f"getelementptr i8, ptr %work, i64 {position * self._module.vector_size}")

    def _operation(self, operation: str, x: list[str]) -> str:
        v, lanes = self._module.real, self._module.lanes
        if operation in _ARITHMETIC:
            return self.value(f"{_ARITHMETIC[operation]} {v} {x[0]}, {x[1]}")
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
            result = self.value(f"select {truth} {condition}, {v} {self._module.constant(self, value)}, {v} {result}")
        return result

    def _extreme(self, predicate: str, a: str, b: str) -> str:
        v, truth = self._module.real, f"<{self._module.lanes} x i1>"
        better = self.value(f"fcmp {predicate} {v} {a}, {b}")
        is_nan = self.value(f"fcmp uno {v} {a}, {a}")
        return self.value(f"select {truth} {self.value(f'or {truth} {better}, {is_nan}')}, {v} {a}, {v} {b}")

    def _sine_or_cosine(self, operation: str, argument: int) -> str:
        """Both come from one call."""
        v, function = self._module.real, "sincos" if self._module.element == "double" else "sincos_single"
        if argument not in self._sincos:
            self._module.need(function)
            call = f"call {{{v}, {v}}} @chasles.{function}({v} {self._value(argument)})"
            self._sincos[argument] = self.value(call)
        part = ("sin", "cos").index(operation)
        return self.value(f"extractvalue {{{v}, {v}}} {self._sincos[argument]}, {part}")

    def _library(self, operation: str, x: list[str]) -> str:
        """Call a function of the library, which works in doubles whatever the kernel's type."""
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
