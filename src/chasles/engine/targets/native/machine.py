"""The host's processor: its vector width, compilation of LLVM assembly and loading of the result."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import struct
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from chasles import _version
from chasles.base.cached import LastUsed
from chasles.base.errors import CompileError
from chasles.base.packaged_files import folder_of
from chasles.engine.kernels import cache

#: Functions of the C library that kernels may call for single lanes.
_C_LIBRARY = ("sin", "cos", "pow", "floor", "fma", "fmaf", "feclearexcept", "malloc", "free")
#: Functions of CPython that kernels may call.
_PYTHON = ("PyGILState_Ensure", "PyErr_NoMemory", "PyGILState_Release")

#: Characters of assembly from which code is generated the quick way: about 50,000 operations.
QUICKLY_FROM = 5_000_000
#: LLVM's level of code generation, of 3.
_LEVEL = 1


@functools.cache
def features() -> Any:
    """Return the processor's features, by LLVM's names."""
    return llvm.get_host_cpu_features()


@functools.cache
def host() -> str:
    """Return a text that identifies the processor and the compiler: code for another host is never run here."""
    processor = f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features().flatten()}"
    return f"{processor} llvmlite {llvmlite.__version__}"


@functools.cache
def is_x86() -> bool:
    """Whether the host is an x86 processor."""
    triple: str = llvm.get_process_triple()
    return triple.startswith(("x86_64", "i686"))


@functools.cache
def lanes(dtype: str) -> int:
    """Return the number of values of a type in the widest vector register."""
    width = 64 if _has_avx512() else 32 if features().get("avx") else 16
    return width // np.dtype(dtype).itemsize


@functools.cache
def has_fma() -> bool:
    """Whether the host multiplies and adds with one rounding."""
    return not is_x86() or bool(features().get("fma"))


@functools.cache
def registers() -> int:
    """Return the number of vectors that a program may hold in registers; the compiler needs the others."""
    return 26 if not is_x86() or _has_avx512() else 12


def _has_avx512() -> bool:
    return bool(features().get("avx512f") and features().get("avx512dq"))


def compiler_lock() -> contextlib.AbstractContextManager[object]:
    """Return the lock that llvmlite holds during each call of LLVM."""
    lock: contextlib.AbstractContextManager[object] = getattr(llvm.ffi.lib, "_lock", contextlib.nullcontext())
    return lock


def _target_machine(level: int = _LEVEL) -> llvm.TargetMachine:
    """Return a new description of the host; the engine that loads code takes ownership of its own."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features().flatten(), opt=level, jit=True
    )


def compile_to_objects(modules: Sequence[str]) -> list[bytes]:
    """Return the machine code of modules of LLVM assembly as object files.

    No optimisation pass is run: tracing has folded constants and shared subexpressions already, and passes would take
    two thirds of the time for code that is no faster; nor is code of LLVM's level 2, which takes half as long again as
    level 1. Code for very long programs, which wait for memory more than for arithmetic, is generated the quick way: a
    third of that time for code that is a tenth slower. With
    ``CHASLES_QUICK_CODE=1`` all code is; that of short programs takes up to two thirds longer then.
    """
    quickly = _always_quickly() or sum(map(len, modules)) > QUICKLY_FROM
    return [_object(module, 0 if quickly else _LEVEL) for module in modules]


def _always_quickly() -> bool:
    return os.environ.get("CHASLES_QUICK_CODE") == "1"


#: Machine code of the last modules: kernels have functions of the library and long programs in common.
_objects: LastUsed[list[bytes]] = LastUsed(128)


def _object(assembly: str, level: int) -> bytes:
    kept = _objects.setdefault(hashlib.sha256(f"{level} {assembly}".encode()).hexdigest(), [])
    if not kept:
        kept.append(_generated(assembly, level))
    return kept[0]


def _generated(assembly: str, level: int) -> bytes:
    try:
        with llvm.parse_assembly(assembly) as module, _target_machine(level) as machine:
            module.verify()
            code: bytes = machine.emit_object(module)
    except RuntimeError as error:
        raise CompileError(f"LLVM refused a kernel: {error}") from error
    return code


#: LLVM's engines, each under a reference to the `LoadedCode` that needs it, and the references of those that ended.
#: `LoadedCode` has no destructor, and llvmlite's engines come to theirs closed: an interrupt (Ctrl-C) during a
#: destructor in Python would be lost.
_engines: dict[weakref.ref[LoadedCode], llvm.ExecutionEngine] = {}
_unneeded: list[weakref.ref[LoadedCode]] = []


def _close_unneeded() -> None:
    while _unneeded:
        _engines.pop(_unneeded.pop()).close()


class LoadedCode:
    """Machine code in memory, kept as long as this object lives, and with it the objects that it uses."""

    def __init__(self, objects: Sequence[bytes]) -> None:
        self.needs: list[object] = []
        if not objects or not all(map(_is_object_file, objects)):
            raise CompileError("machine code could not be loaded: it is not in the form of an object file")
        _register_functions()
        _close_unneeded()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        loader = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
        with llvm.parse_assembly("") as module:
            self._engine = llvm.create_mcjit_compiler(module, loader)
            _engines[weakref.ref(self, _unneeded.append)] = self._engine
            self._engine.remove_module(module)  # code for nothing would be generated, which takes longer than loading
        try:
            for code in objects:
                with llvm.ObjectFileRef.from_data(code) as file:
                    self._engine.add_object_file(file)
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


_ELF_HEADER = struct.Struct("<2HI3QI6H")  # behind 16 bytes of identification
_ELF_RELOCATABLE, _ELF_SECTION_SIZE = 1, 64


def _is_object_file(code: bytes) -> bool:
    """Whether bytes have the outer form of an object file: LLVM does not check it before it reads on."""
    if code[:4] == b"\x7fELF":
        if len(code) < 16 + _ELF_HEADER.size:
            return False
        fields: tuple[int, ...] = _ELF_HEADER.unpack_from(code, 16)
        kind, sections, size, count = fields[0], fields[5], fields[10], fields[11]
        complete = count > 0 and sections + size * count <= len(code)
        return kind == _ELF_RELOCATABLE and size == _ELF_SECTION_SIZE and complete
    return code[:4] == b"\xcf\xfa\xed\xfe" or code[:2] in (b"\x64\x86", b"\x64\xaa")  # Mach-O; COFF


@functools.cache
def _register_functions() -> None:
    for library, names in ((_c_library(), _C_LIBRARY), (ctypes.pythonapi, _PYTHON)):
        for name in names:
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
def fingerprint(package: str) -> str:
    """Return a hash of the text of a package: other code may write other machine code for the same program."""
    texts = hashlib.sha256()
    for file in sorted(folder_of(package).glob("*.py")):
        texts.update(file.read_bytes())
    return texts.hexdigest()


def loaded(content: str, functions: Sequence[str], write: Callable[[], Sequence[str]]) -> LoadedCode:
    """Return machine code in memory, from the disk cache or compiled now.

    Parameters
    ----------
    content
        Text that identifies the code: equal texts stand for equal code. Code written by another package than this one
        is identified by that package's `fingerprint` too.
    functions
        Names of the functions that it must hold.
    write
        Gives its modules of LLVM assembly.
    """
    parts = (_version.__version__, fingerprint(__package__), host(), "quick" if _always_quickly() else "", content)
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    kept = cache.load(key)
    if kept is not None:
        with contextlib.suppress(CompileError):  # intact but of no use here: compiled anew
            code = LoadedCode(_unpacked(kept))
            for name in functions:
                code.address(name)
            return code
    objects = compile_to_objects(write())
    cache.store(key, _packed(objects))
    return LoadedCode(objects)


_LENGTH = struct.Struct("<Q")


def _packed(objects: Sequence[bytes]) -> bytes:
    """Join object files, each behind its length."""
    return b"".join(_LENGTH.pack(len(code)) + code for code in objects)


def _unpacked(kept: bytes) -> list[bytes]:
    """Return the object files that were joined; one that is cut short does not load."""
    objects = []
    position = 0
    while position + _LENGTH.size <= len(kept):
        (length,) = _LENGTH.unpack_from(kept, position)
        position += _LENGTH.size
        objects.append(kept[position : position + length])
        position += length
    return objects
