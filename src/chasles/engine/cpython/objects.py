"""Python's and NumPy's objects in machine code: their layout, and what functions with CPython's calling convention do.

The layouts are part of the binary interfaces of CPython and NumPy 2: the head of an object, the fields of an array, the
value of a float.
"""

from __future__ import annotations

import ctypes
import logging
import math
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any
from weakref import ref

import numpy as np

from chasles.engine.cpython import switch
from chasles.engine.cpython.immortal import immortal
from chasles.engine.cpython.vectorcall import GENERAL
from chasles.engine.kernels.shapes import CoreArray, Kernel
from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.writer import LlvmWriter

TABLE = "chasles_table"

# Places in the table that Python fills with addresses after loading: they differ from process to process.
PLACES = (
    "array type", "float type", "float64 type", "dtype", "general call", "increment", "new array", "scalar",
    "call", "large array", "format",
    "new tuple", "set item", "release", "acquire", "out of memory",
    "tuple type", "plain tuple type", "tuple size", "tuple item", "out", "error", "other code",
    "list item", "set list item", "earlier results", "turn",
)  # fmt: skip
REFERENCES, TYPE, DATA, RANK, DIMENSIONS, DTYPE, FLAGS, WEAK_REFERENCES, FLOAT_VALUE = 0, 8, 16, 24, 32, 56, 64, 72, 16
CONTIGUOUS_AND_ALIGNED, AND_WRITABLE = 0x101, 0x501
FORMAT = immortal(ctypes.create_string_buffer(b"inO"))  # of the arguments of `empty_at`
OUT = immortal(sys.intern("out"))  # as the names of keywords in compiled code are


@cache
def supported() -> bool:
    """Whether this interpreter's objects have the layout that the direct call knows; looked at once a process."""
    if not switch.is_on():
        return False
    differences = _layout_differences()
    if differences:
        logging.getLogger(__name__).debug("no direct calls, objects differ in: %s", ", ".join(differences))
    return not differences


def _layout_differences() -> list[str]:
    """Compare what the direct call would read of an array and of a float with what NumPy and Python say."""

    def at(kind: Any, thing: object, offset: int) -> Any:
        return kind.from_address(id(thing) + offset).value

    pointer, integer = ctypes.c_void_p, ctypes.c_int
    plain, turned = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T
    checks = {"float": at(ctypes.c_double, 1.5, FLOAT_VALUE) == 1.5 and at(pointer, 1.5, TYPE) == id(float)}
    alone = [np.arange(3.0)]
    address = id(alone[0])
    checks["the only reference"] = integer.from_address(address + REFERENCES).value == 1
    checks["NumPy's float"] = at(ctypes.c_double, np.float64(2.5), FLOAT_VALUE) == 2.5
    for name, array in (("array", plain), ("transposed array", turned)):
        same_head = at(pointer, array, TYPE) == id(np.ndarray) and at(pointer, array, DATA) == array.ctypes.data
        checks[f"head of an {name}"] = same_head and at(integer, array, RANK) == array.ndim
        dimensions, strides = (at(pointer, array, DIMENSIONS + k) or 0 for k in (0, 8))
        # NumPy keeps strides right behind dimensions; where it does not, the pointer may be none.
        is_pointer = strides == dimensions + 8 * array.ndim
        sizes = (ctypes.c_ssize_t * array.ndim).from_address(dimensions) if is_pointer else ()
        checks[f"dimensions of an {name}"] = tuple(sizes) == array.shape
        checks[f"type of an {name}"] = at(pointer, array, DTYPE) == id(array.dtype)
        checks[f"flags of an {name}"] = at(integer, array, FLAGS) == array.flags.num
        weak = [at(pointer, array, WEAK_REFERENCES), ref(array), at(pointer, array, WEAK_REFERENCES)]
        checks[f"weak references to an {name}"] = weak[0] is None and weak[2] == id(weak[1])
        counts = [at(integer, array, REFERENCES), [array, array], at(integer, array, REFERENCES)]
        checks[f"references to an {name}"] = counts[2] == counts[0] + 2
    return [name for name, holds in checks.items() if not holds]


def core_size(core: CoreArray) -> int:
    """Return the number of values in a sample of an array."""
    return math.prod(dim for dim in core.dims if isinstance(dim, int))


#: Parameters of functions with CPython's calling convention.
PARAMETERS = "ptr %self, ptr %args, i64 %count, ptr %names"


def instance_call(name: str, function: str) -> str:
    """Return the function that calls of an instance go to (CPython's ``vectorcallfunc``).

    It calls a function with what the instance holds for unusual calls (see `chasles.engine.cpython.vectorcall`),
    without the flag that callers may add to the number of arguments.
    """
    w = LlvmWriter(f"ptr @{name}({PARAMETERS})")
    general = w.value(f"load ptr, ptr {w.value(f'getelementptr i8, ptr %self, i64 {GENERAL}')}")
    count = w.value(f"and i64 %count, {sys.maxsize}")
    result = w.value(f"tail call ptr @{function}(ptr {general}, ptr %args, i64 {count}, ptr %names)")
    w.emit(f"ret ptr {result}")
    return w.text()


class ObjectWriter(LlvmWriter):
    """Writer of a function with CPython's calling convention that leaves calls it does not know to another."""

    def __init__(self, name: str, kernel: Kernel, module: LlvmModule) -> None:
        super().__init__(f"ptr @{name}({PARAMETERS})")
        self.kernel, self.module = kernel, module

    def end(self, function: str = "") -> str:
        """Return the text, with the block that hands a call on to a function, or to the general call."""
        self.block("otherwise")
        another = f"@{function}" if function else self.table("general call")
        self.emit(f"ret ptr {self.value(f'call ptr {another}({PARAMETERS})')}")
        return self.text()

    def require(self, condition: str) -> None:
        """Go on if the condition holds, else leave the call to another way."""
        self.go_on_if(condition, "otherwise")

    def field(self, kind: str, pointer: str, offset: int) -> str:
        """Return what stands at some bytes from an address."""
        return self.value(f"load {kind}, ptr {self.value(f'getelementptr i8, ptr {pointer}, i64 {offset}')}")

    def table(self, name: str) -> str:
        """Return an entry of the table of addresses."""
        return self.value(f"load ptr, ptr {self.table_entry(name)}")

    def table_entry(self, name: str) -> str:
        """Return the address of an entry of the table."""
        return self.value(f"getelementptr i8, ptr @{TABLE}, i64 {8 * PLACES.index(name)}")

    def require_plain_array(self, argument: str, flags: int) -> None:
        """Check that an argument is an array of the kernel's type with certain flags."""
        self.require(self.value(f"icmp eq ptr {self.field('ptr', argument, TYPE)}, {self.table('array type')}"))
        self.require(self.value(f"icmp eq ptr {self.field('ptr', argument, DTYPE)}, {self.table('dtype')}"))
        present = self.value(f"and i32 {self.field('i32', argument, FLAGS)}, {flags}")
        self.require(self.value(f"icmp eq i32 {present}, {flags}"))

    def is_number(self, argument: str) -> str:
        """Whether an argument is a float, Python's or NumPy's."""
        kind = self.field("ptr", argument, TYPE)
        python = self.value(f"icmp eq ptr {kind}, {self.table('float type')}")
        numpy = self.value(f"icmp eq ptr {kind}, {self.table('float64 type')}")
        return self.value(f"or i1 {python}, {numpy}")

    def new_array(self, rank: str, dimensions: str) -> str:
        """Return a new array of the kernel's type."""
        dtype = self.table("dtype")
        self.emit(f"call void {self.table('increment')}(ptr {dtype})")
        array = self.value(f"call ptr {self.table('new array')}(i32 {rank}, ptr {dimensions}, ptr {dtype}, i32 0)")
        self.require_memory(array)
        return array

    def new_large_array(self, rank: str, dimensions: str) -> str:
        """Return a new array that may have the memory of an earlier one."""
        function = [self.table(name) for name in ("call", "large array", "format", "dtype")]
        address = self.value(f"ptrtoint ptr {dimensions} to i64")
        given = f"ptr {function[1]}, ptr {function[2]}, i32 {rank}, i64 {address}, ptr {function[3]}"
        array = self.value(f"call ptr (ptr, ptr, ...) {function[0]}({given})")
        self.require_memory(array)
        return array

    def give(self, arrays: Sequence[str]) -> None:
        """Return one array, or several in a tuple."""
        result = self.joined(arrays)
        self.release()
        self.emit(f"ret ptr {result}")

    def joined(self, arrays: Sequence[str]) -> str:
        """Return the only one of some new arrays, or a new tuple of several."""
        if len(arrays) == 1:
            return arrays[0]
        kind = self.table("tuple type")
        result = self.value(f"call ptr {self.table('new tuple')}(ptr {kind}, i64 {len(arrays)})")
        self.require_memory(result)
        for k, array in enumerate(arrays):
            self.value(f"call i32 {self.table('set item')}(ptr {result}, i64 {k}, ptr {array})")
        return result

    def require_memory(self, created: str) -> None:
        """Return to Python, which has raised `MemoryError`, if an object could not be created."""
        with self.when(self.value(f"icmp eq ptr {created}, null"), returns=True):
            self.release()
            self.emit("ret ptr null")
