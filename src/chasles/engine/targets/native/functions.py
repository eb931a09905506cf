"""From a program to an LLVM function on vectors: one lane a sample, one vector a scalar of the program.

Every program becomes ``void (ptr in, ptr out, ptr work)``: arrays of vectors, one for each input and output scalar, and
memory for what waits between its parts and for the programs that it calls. Kernels and other programs call it the same
way. The caller brings the memory because long programs need more of it than a thread's stack has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from chasles.engine.operations import OPERATIONS
from chasles.engine.program import Program
from chasles.engine.targets.native.mathematics import LIBRARY
from chasles.engine.targets.native.writer import Writer, literal
from chasles.engine.targets.segments import Frame, cut

#: A function of more instructions is cut: what the compiler's register allocation takes grows faster than the length.
LONGEST_FUNCTION = 1_000

#: Characters of assembly in one module. Its code is generated in a fraction of a second, even on a busy machine.
LONGEST_MODULE = 100_000

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
    workspaces: dict[str, int] = field(default_factory=dict)
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
            self.texts += write_program(self, program, name)
        return name

    def workspace(self, program: Program) -> int:
        """Return how many vectors of working memory a program that was added needs."""
        return self.workspaces[program.digest]

    def need(self, function: str) -> None:
        """Add a function of the library and what it calls."""
        if function not in self.library:
            self.library.add(function)
            for other in LIBRARY[function][1]:
                self.need(other)

    def parts(self, kernel: Sequence[str]) -> list[str]:
        """Return the assembly with the texts of a kernel as modules of bounded length that refer to each other.

        Generating the code of a module cannot be interrupted; that of a long program as a whole would take minutes.
        """
        library = [LIBRARY[name][0](self.lanes) for name in LIBRARY if name in self.library]
        texts = [*library, *self.texts]
        if sum(map(len, texts)) <= LONGEST_MODULE:
            return ["\n".join([*self._intrinsics(), *texts, *kernel])]
        groups: list[list[str]] = [[]]
        for text in texts:
            if sum(map(len, groups[-1])) + len(text) > LONGEST_MODULE:
                groups.append([])
            groups[-1].append(text)
        bodies = ["\n".join(group) for group in [*groups, kernel]]
        heads = {name: head for body in bodies for head, name in _HEAD.findall(body)}
        return ["\n".join([*self._intrinsics(), *_declared(heads, body), _visible(body)]) for body in bodies]

    def _intrinsics(self) -> list[str]:
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
        return [f"declare {text}" for text in sorted(declared)]


_HEAD = re.compile(r"^define internal (.*@([\w.]+)\(.*) \{$", re.MULTILINE)
_CALL = re.compile(r"call .*?@([\w.]+)\(")


def _declared(heads: Mapping[str, str], body: str) -> list[str]:
    """Declarations of what a module calls of other modules."""
    own = {name for _, name in _HEAD.findall(body)}
    return [f"declare {heads[name]}" for name in sorted(set(_CALL.findall(body)) & heads.keys() - own)]


def _visible(body: str) -> str:
    """Return a module whose functions other modules may call."""
    return body.replace("define internal ", "define ")


_PARAMETERS = "ptr noalias %in, ptr noalias %out, ptr noalias %work"


def write_program(module: Module, program: Program, name: str) -> list[str]:
    """Return the LLVM function of a program, after the functions of its segments if it is long.

    Its working memory begins with the frame of values that segments leave for later ones, then the arguments and
    results of the programs that it calls, then their own working memory.
    """
    segments = cut(program, LONGEST_FUNCTION)
    frame = Frame(program, segments) if len(segments) > 1 else None
    size = frame.size if frame else 0
    buffers: dict[str, tuple[int, int]] = {}
    for called in program.programs:
        if called.digest not in buffers:
            given = sum(argument.size for argument in called.inputs)
            buffers[called.digest] = size, size + given
            size += given + len(called.results)
    module.workspaces[program.digest] = size + max(map(module.workspace, program.programs), default=0)

    def write(segment: range, own: str) -> str:
        return _SegmentWriter(module, program, f"{own}({_PARAMETERS})", frame, buffers, size).write(segment)

    if frame is None:
        return [write(segments[0], name)]
    main = Writer(f"internal void @{name}({_PARAMETERS})")
    texts = []
    for number, segment in enumerate(segments):
        texts.append(write(segment, f"{name}.{number}"))
        main.emit(f"call void @{name}.{number}(ptr %in, ptr %out, ptr %work)")
    main.emit("ret void")
    return [*texts, main.text()]


def _runs(results: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Start and length of the stretches of equal results; matrices of trees hold many zeros."""
    start = 0
    for _, stretch in groupby(results):
        count = sum(1 for _ in stretch)
        yield start, count
        start += count


class _SegmentWriter(Writer):
    """Writer of a whole program, or of one segment of it."""

    def __init__(
        self,
        module: Module,
        program: Program,
        signature: str,
        frame: Frame | None,
        buffers: Mapping[str, tuple[int, int]],
        called_workspace: int,
    ) -> None:
        super().__init__(f"internal void @{signature}")
        self._module = module
        self._program = program
        self._frame = frame
        self._buffers = buffers
        self._called_workspace = called_workspace
        self._values: dict[int, str] = {}
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
                self._store(self._values[index], "%work", self._frame.slot[index], self._type(index))
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
                self._values[index] = self._load("%work", self._frame.slot[index], self._type(index))
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
        given, results = (self._place(position) for position in self._buffers[called.digest])
        for position, operand in enumerate(operands):
            self._store(operand, given, position)
        work = self._place(self._called_workspace)
        self.emit(f"call void @{self._module.names[called.digest]}(ptr {given}, ptr {results}, ptr {work})")
        return results

    def _place(self, position: int) -> str:
        """Address of a vector of the working memory."""
        return self.value(f"getelementptr i8, ptr %work, i64 {position * self._module.vector_size}")

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
