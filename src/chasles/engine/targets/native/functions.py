"""From a program to an LLVM function on vectors: one lane a sample, one vector a scalar of the program.

Every program becomes ``void (ptr in, ptr out)``: arrays of vectors, one for each input and output scalar. Kernels and
other programs call it the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from chasles.engine.program import Program
from chasles.engine.targets.native.mathematics import LIBRARY
from chasles.engine.targets.native.writer import Writer, literal

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
            self.texts.append(_ProgramWriter(self, program, name).write())
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


class _ProgramWriter(Writer):
    def __init__(self, module: Module, program: Program, name: str) -> None:
        super().__init__(f"internal void @{name}(ptr noalias %in, ptr noalias %out)")
        self._module = module
        self._program = program
        self._sincos: dict[str, str] = {}

    def write(self) -> str:
        values: list[str] = []
        for index, (operation, *rest) in enumerate(self._program.instructions):
            if operation == "constant":
                values.append(self._module.constant(rest[0]))
            elif operation == "input":
                values.append(self._load("%in", rest[0]))
            elif operation == "call":
                values.append(self._call(index, rest[0], [values[k] for k in rest[1:]]))
            elif operation == "item":
                values.append(self._load(values[rest[0]], rest[1]))
            else:
                values.append(self._operation(operation, [values[k] for k in rest]))
        for position, index in enumerate(self._program.results):
            self._store(values[index], "%out", position)
        self.emit("ret void")
        return self.text()

    def _load(self, base: str, position: int) -> str:
        address = self.value(f"getelementptr i8, ptr {base}, i64 {position * self._module.vector_size}")
        return self.value(f"load {self._module.real}, ptr {address}")

    def _store(self, value: str, base: str, position: int) -> None:
        address = self.value(f"getelementptr i8, ptr {base}, i64 {position * self._module.vector_size}")
        self.emit(f"store {self._module.real} {value}, ptr {address}")

    def _call(self, index: int, number: int, operands: list[str]) -> str:
        called = self._program.programs[number]
        places = [
            self.value(f"alloca [{max(count, 1)} x {self._module.real}], align 64")
            for count in (len(operands), len(called.results))
        ]
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
