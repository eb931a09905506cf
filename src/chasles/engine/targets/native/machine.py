"""The host's processor: its vector width, compilation of LLVM assembly and loading of the result."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from chasles import _version
from chasles.engine import cache
from chasles.errors import CompileError

#: Functions of the C library that kernels may call for single lanes.
_C_LIBRARY = ("sin", "cos", "pow", "floor", "fma", "feclearexcept")

#: Characters of assembly from which code is generated the quick way: about 100,000 operations.
QUICKLY_FROM = 10_000_000


@functools.cache
def host() -> str:
    """Return a text that identifies the processor and the compiler: code for another host is never run here."""
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features} llvmlite {llvmlite.__version__}"


@functools.cache
def is_x86() -> bool:
    """Whether the host is an x86 processor."""
    triple: str = llvm.get_process_triple()
    return triple.startswith(("x86_64", "i686"))


@functools.cache
def lanes(dtype: str) -> int:
    """Return how many numbers of a type the widest vector register holds."""
    features = llvm.get_host_cpu_features()
    width = 64 if features.get("avx512f") and features.get("avx512dq") else 32 if features.get("avx") else 16
    return width // np.dtype(dtype).itemsize


def _target_machine(level: int = 2) -> llvm.TargetMachine:
    """Return a new description of the host; the engine that loads code takes ownership of its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level, jit=True
    )


def compile_to_object(assembly: str) -> bytes:
    """Return the machine code of LLVM assembly as an object file.

    No optimisation pass is run: tracing has folded constants and shared subexpressions already, and passes would take
    two thirds of the time for code that is no faster. Code for very long programs, which wait for memory more than for
    arithmetic, is generated the quick way: a quarter of the time for code that is a tenth slower.
    """
    machine = _target_machine(0 if len(assembly) > QUICKLY_FROM else 2)
    try:
        module = llvm.parse_assembly(assembly)
        module.verify()
        code: bytes = machine.emit_object(module)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused a kernel: {error}") from error
    return code


class LoadedCode:
    """Machine code in memory, kept as long as this object lives."""

    def __init__(self, code: bytes) -> None:
        _register_c_library()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
        try:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
        except RuntimeError as error:
            raise CompileError(f"machine code could not be loaded: {error}") from error

    def address_of_data(self, name: str) -> int:
        """Return the address of a global variable."""
        address: int = self._engine.get_global_value_address(name)
        return address

    def address(self, name: str) -> int:
        """Return the address of a function."""
        address: int = self._engine.get_function_address(name)
        if not address:
            raise CompileError(f"machine code holds no function '{name}'")
        return address


@functools.cache
def _register_c_library() -> None:
    library = _c_library()
    for name in _C_LIBRARY:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


def _c_library() -> ctypes.CDLL:
    if sys.platform == "win32":
        return ctypes.CDLL("ucrtbase")
    library = ctypes.CDLL(None)  # what the process has loaded already: nearly always the mathematical functions too
    if hasattr(library, "pow"):
        return library
    from ctypes.util import find_library  # rarely needed, and slow to import

    return ctypes.CDLL(find_library("m"))


@functools.cache
def _fingerprint() -> str:
    """Return a hash of the text of this package: other code may write other machine code for the same program."""
    texts = [file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()


def loaded(content: str, write: Callable[[], str]) -> LoadedCode:
    """Return machine code in memory, from the disk cache or compiled now.

    Parameters
    ----------
    content
        What the code computes, as a text; equal texts stand for equal code.
    write
        Gives its LLVM assembly.
    """
    parts = (_version.__version__, _fingerprint(), host(), content)
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    code = cache.load(key)
    if code is not None:
        try:
            return LoadedCode(code)
        except CompileError:
            pass  # intact but of no use here: compiled anew
    code = compile_to_object(write())
    cache.store(key, code)
    return LoadedCode(code)
