"""One compilation: the type of its vectors, its functions, and the modules of LLVM assembly that hold them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from chasles.engine.program.program import Program
from chasles.engine.targets.native.mathematics import LIBRARY
from chasles.engine.targets.native.writer import LlvmWriter

#: Characters of assembly in one module. Its code is generated in a fraction of a second, even on a busy machine.
LONGEST_MODULE = 100_000
#: Characters of a program's assembly from which it has modules of its own: kernels that call it share their code.
_SHARED_FROM = 20_000


@dataclass
class LlvmModule:
    """One compilation: the functions of the programs written so far and the vector type they use."""

    dtype: str
    lanes: int
    programs: list[list[str]] = field(default_factory=list)
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

    def constant(self, w: LlvmWriter, value: float) -> str:
        """Return a vector with the same known number in every lane."""
        return w.repeated(self.element, self.lanes, self.rounded(value))

    def rounded(self, value: float) -> float:
        """Return the number of the kernel's type that is nearest to a value."""
        return float(np.dtype(self.dtype).type(value))

    def splat(self, w: LlvmWriter, number: str) -> str:
        """Return a vector with a number that is only known when the code runs in every lane."""
        return w.splat(self.element, self.lanes, number)

    def workspace(self, program: Program) -> int:
        """Return the number of vectors of working memory of a program that was added."""
        return self.workspaces[program.digest]

    def need(self, function: str) -> None:
        """Add a function of the library and what it calls."""
        if function not in self.library:
            self.library.add(function)
            for other in LIBRARY[function][1]:
                self.need(other)

    def parts(self, kernel: Sequence[str]) -> list[str]:
        """Return the assembly with the texts of a kernel as modules of bounded length that refer to each other.

        Generating the code of a module cannot be interrupted; that of a long program as a whole would take minutes. The
        library's functions come first, as a module that other kernels have as well, whose code is there already; so do
        long programs, such as the dynamics of a robot in all loops that simulate it.
        """
        library = [_library_function(name, self.lanes) for name in LIBRARY if name in self.library]
        groups = [library] if library else []
        texts = [text for functions in self.programs for text in functions]
        if _length(texts) <= LONGEST_MODULE:
            groups.append([*texts, *kernel])
        else:
            for functions in self.programs:
                groups += _of_bounded_length(functions) if _length(functions) >= _SHARED_FROM else []
            short = [text for functions in self.programs if _length(functions) < _SHARED_FROM for text in functions]
            groups += [*_of_bounded_length(short), list(kernel)]
        bodies = ["\n".join(group) for group in groups]
        heads = {name: head for body in bodies for head, name in _HEAD.findall(body)}
        return ["\n".join([*self._intrinsics(), *_declared(heads, body), _visible(body)]) for body in bodies]

    def _intrinsics(self) -> list[str]:
        v, d = self.real, f"<{self.lanes} x double>"
        suffix = f"v{self.lanes}f{8 * np.dtype(self.dtype).itemsize}"
        declared = {f"{d} @llvm.{name}.v{self.lanes}f64({d})" for name in ("fabs", "sqrt", "floor")}
        declared |= {f"{v} @llvm.{name}.{suffix}({v})" for name in ("fabs", "sqrt", "floor")}
        declared |= {
            f"{d} @llvm.fma.v{self.lanes}f64({d}, {d}, {d})",
            f"{v} @llvm.fma.{suffix}({v}, {v}, {v})",
            f"{d} @llvm.copysign.v{self.lanes}f64({d}, {d})",
            "double @llvm.fabs.f64(double)",
            "double @sin(double)",
            "double @cos(double)",
            "double @pow(double, double)",
        }
        return [f"declare {text}" for text in sorted(declared)]


@cache
def _library_function(name: str, lanes: int) -> str:
    return LIBRARY[name][0](lanes)


def _length(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


def _of_bounded_length(texts: Sequence[str]) -> list[list[str]]:
    groups: list[list[str]] = []
    for text in texts:
        if not groups or _length(groups[-1]) + len(text) > LONGEST_MODULE:
            groups.append([])
        groups[-1].append(text)
    return groups


_HEAD = re.compile(r"^define internal (.*@([\w.]+)\(.*) \{$", re.MULTILINE)
_CALL = re.compile(r"call .*?@([\w.]+)\(")


def _declared(heads: Mapping[str, str], body: str) -> list[str]:
    """Declarations of what a module calls of other modules."""
    defined = {name for _, name in _HEAD.findall(body)}
    return [f"declare {heads[name]}" for name in sorted(set(_CALL.findall(body)) & heads.keys() - defined)]


def _visible(body: str) -> str:
    """Return a module whose functions other modules may call."""
    return body.replace("define internal ", "define ")
