"""The way from Python into machine code for one sample, without NumPy's dispatch.

A generalized ufunc takes most of a microsecond to find out what it was given, several times what a robot's dynamics
take. Beside each map and solve kernel stands a function with CPython's calling convention that looks only for the
common case, contiguous arrays of the core shapes and plain numbers, computes it directly, and leaves everything else
(batches, lists, keywords, casts, errors) to the general call.

It relies on layouts that are part of the binary interfaces of CPython and NumPy 2: the head of an object, the fields of
an array, the value of a float.
"""

from __future__ import annotations

import ctypes
import logging
import math
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from chasles.engine.gufunc import c_api
from chasles.engine.kernels import UNINTERRUPTED_WORK, CoreArray, Kernel
from chasles.engine.targets.native.delivery import Delivery
from chasles.engine.targets.native.functions import Module
from chasles.engine.targets.native.writer import Writer, literal

ENTRY = "chasles_call"
TABLE = "chasles_table"

# Places in the table that Python fills with addresses after loading: they differ from process to process.
_TABLE = (
    "array type", "float type", "float64 type", "dtype", "general call", "increment", "new array", "scalar",
    "new tuple", "set item", "release", "acquire", "out of memory",
    "tuple type",
)  # fmt: skip
_TYPE, _DATA, _RANK, _DIMENSIONS, _DTYPE, _FLAGS, _FLOAT_VALUE = 8, 16, 24, 32, 56, 64, 16
_CONTIGUOUS_AND_ALIGNED = 0x101
_PY_ARRAY_EMPTY, _PY_ARRAY_RETURN = 184, 76
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


@cache
def supported() -> bool:
    """Whether this interpreter's objects have the layout that the direct call knows; looked at once a process."""
    is_64_bit = ctypes.sizeof(ctypes.c_void_p) == 8
    if not is_64_bit or sysconfig.get_config_var("Py_GIL_DISABLED") or sysconfig.get_config_var("Py_TRACE_REFS"):
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
    checks = {"float": at(ctypes.c_double, 1.5, _FLOAT_VALUE) == 1.5 and at(pointer, 1.5, _TYPE) == id(float)}
    checks["NumPy's float"] = at(ctypes.c_double, np.float64(2.5), _FLOAT_VALUE) == 2.5
    for name, array in (("array", plain), ("transposed array", turned)):
        same_head = at(pointer, array, _TYPE) == id(np.ndarray) and at(pointer, array, _DATA) == array.ctypes.data
        checks[f"head of an {name}"] = same_head and at(integer, array, _RANK) == array.ndim
        dimensions, strides = (at(pointer, array, _DIMENSIONS + k) or 0 for k in (0, 8))
        # NumPy keeps strides right behind dimensions; where it does not, the pointer may be none.
        is_pointer = strides == dimensions + 8 * array.ndim
        sizes = (ctypes.c_ssize_t * array.ndim).from_address(dimensions) if is_pointer else ()
        checks[f"dimensions of an {name}"] = tuple(sizes) == array.shape
        checks[f"type of an {name}"] = at(pointer, array, _DTYPE) == id(array.dtype)
        checks[f"flags of an {name}"] = at(integer, array, _FLAGS) == array.flags.num
    return [name for name, holds in checks.items() if not holds]


def write_call(kernel: Kernel, module: Module, function: str, delivery: Delivery | None) -> str:
    """Return the LLVM assembly of the direct call of a map or solve kernel's program.

    Parameters
    ----------
    kernel, module
        The kernel and the module that holds its program.
    function
        The function of the program.
    delivery
        Where it leaves the results of a map.
    """
    w = _CallWriter(kernel, module, delivery)
    return "\n".join([f"@{TABLE} = global [{len(_TABLE)} x ptr] zeroinitializer", *w.shapes(), w.write(function)])


#: Gives the address of the vector with an element of an output.
Place = Callable[[str], str]


class _CallWriter(Writer):
    def __init__(self, kernel: Kernel, module: Module, delivery: Delivery | None) -> None:
        super().__init__(f"ptr @{ENTRY}(ptr %self, ptr %args, i64 %count, ptr %names)")
        self._kernel = kernel
        self._module = module
        self._delivery = delivery

    def shapes(self) -> list[str]:
        """Return constants with the dimensions of each output."""
        lines = []
        for k, array in enumerate(self._kernel.outputs):
            dims = ", ".join(f"i64 {dim}" for dim in array.dims)
            lines.append(f"@chasles.shape{k} = internal constant [{len(array.dims)} x i64] [{dims}]")
        return lines

    def write(self, function: str) -> str:
        inputs, program = self._kernel.inputs, self._kernel.program
        self._require(self.value("icmp eq ptr %names, null"))
        self._require(self.value(f"icmp eq i64 %count, {len(inputs)}"))
        data = []
        for k, array in enumerate(inputs):
            argument = self._field("ptr", "%args", 8 * k)
            data.append(self._array_data(argument, array) if array.dims else self._number(argument))
        if self._kernel.shape == "solve":
            self._require_few_iterations(data[-1])
        given, size = sum(a.size for a in program.inputs), self._module.vector_size
        results = self._delivery.vectors if self._delivery else len(program.results)
        vectors = given + results + self._module.workspace(program)
        source = self.reserve(vectors * size, lambda: self.emit(f"ret ptr {self._out_of_memory()}"))
        target, work = self._vector(source, given), self._vector(source, given + results)
        self._spread(data[: len(program.inputs)], source)
        run = f"call void @{function}(ptr {source}, ptr {target}, ptr {work})"
        if self._delivery:
            self._deliver(self._mapped(run, source, self._delivery))
        else:
            self._deliver(self._solved(run, source, target, data[-1]))
        self.block("general")
        general = self._table("general call")
        result = self.value(f"call ptr {general}(ptr %self, ptr %args, i64 %count, ptr %names)")
        self.emit(f"ret ptr {result}")
        return self.text()

    def _require(self, condition: str) -> None:
        """Go on if the condition holds, else leave the call to the general way."""
        self.go_on_if(condition, "general")

    def _field(self, kind: str, pointer: str, offset: int) -> str:
        return self.value(f"load {kind}, ptr {self.value(f'getelementptr i8, ptr {pointer}, i64 {offset}')}")

    def _table(self, name: str) -> str:
        return self._field("ptr", f"@{TABLE}", 8 * _TABLE.index(name))

    def _buffer(self, vectors: int) -> str:
        return self.value(f"alloca [{max(vectors, 1)} x {self._module.real}], align 64")

    def _out_of_memory(self) -> str:
        """Raise `MemoryError` and return the null pointer that tells Python of it."""
        return self.value(f"call ptr {self._table('out of memory')}()")

    def _require_few_iterations(self, limit_address: str) -> None:
        """Leave to the general way what would not answer an interrupt for long, and limits that are none."""
        limit = self.value(f"load double, ptr {limit_address}")
        most = max(1, UNINTERRUPTED_WORK // max(1, self._kernel.program.operation_count))
        self._require(self.value(f"fcmp oge double {limit}, 1.0"))
        self._require(self.value(f"fcmp ole double {limit}, {literal(float(most))}"))

    def _array_data(self, argument: str, array: CoreArray) -> str:
        """Check that an argument is a plain array of the core shape and return the address of its numbers."""
        self._require(self.value(f"icmp eq ptr {self._field('ptr', argument, _TYPE)}, {self._table('array type')}"))
        self._require(self.value(f"icmp eq ptr {self._field('ptr', argument, _DTYPE)}, {self._table('dtype')}"))
        self._require(self.value(f"icmp eq i32 {self._field('i32', argument, _RANK)}, {len(array.dims)}"))
        flags = self.value(f"and i32 {self._field('i32', argument, _FLAGS)}, {_CONTIGUOUS_AND_ALIGNED}")
        self._require(self.value(f"icmp eq i32 {flags}, {_CONTIGUOUS_AND_ALIGNED}"))
        dimensions = self._field("ptr", argument, _DIMENSIONS)
        for k, dim in enumerate(array.dims):
            self._require(self.value(f"icmp eq i64 {self._field('i64', dimensions, 8 * k)}, {dim}"))
        return self._field("ptr", argument, _DATA)

    def _number(self, argument: str) -> str:
        """Check that an argument is a float, Python's or NumPy's, and return the address of its value."""
        kind = self._field("ptr", argument, _TYPE)
        python = self.value(f"icmp eq ptr {kind}, {self._table('float type')}")
        numpy = self.value(f"icmp eq ptr {kind}, {self._table('float64 type')}")
        self._require(self.value(f"or i1 {python}, {numpy}"))
        return self.value(f"getelementptr i8, ptr {argument}, i64 {_FLOAT_VALUE}")

    def _spread(self, data: list[str], target: str) -> None:
        """Put every number into all lanes of its vector."""
        element, real = self._module.element, self._module.real
        position = 0
        for address, array, argument in zip(data, self._kernel.inputs, self._kernel.program.inputs, strict=False):
            stored = element if array.dims else "double"
            width = np.dtype(self._module.dtype).itemsize
            with self.loop(argument.size) as k:
                number = self.value(f"load {stored}, ptr {self.address(address, (k, width))}")
                if stored != element:
                    number = self.value(f"fptrunc double {number} to float")
                vector = self._module.splat(self, number)
                place = self.address(target, (self.value(f"add i64 {k}, {position}"), self._module.vector_size))
                self.emit(f"store {real} {vector}, ptr {place}")
            position += argument.size

    def _mapped(self, run: str, source: str, delivery: Delivery) -> list[Place]:
        """Run the program once and return where the outputs are."""
        delivery.prepare(self, source)
        self.emit(run)
        return [partial(delivery.place, self, source, output) for output in range(len(self._kernel.outputs))]

    def _solved(self, run: str, source: str, target: str, limit_address: str) -> list[Place]:
        """Repeat the step until it is done, without holding the interpreter; return where the outputs are."""
        element, real = self._module.element, self._module.real
        state = self._kernel.program.inputs[0].size
        limit = self.value(f"load double, ptr {limit_address}")
        steps, count, going = self.value("alloca double"), self._buffer(1), self.value("alloca i64")
        self.emit(f"store double 0.0, ptr {steps}")
        self.emit(f"store i64 1, ptr {going}")
        thread = self.value(f"call ptr {self._table('release')}()")
        with self.loop_while_positive(going):
            self.emit(run)
            with self.loop(state) as k:
                vector = self.value(f"load {real}, ptr {self._vector(target, k)}")
                self.emit(f"store {real} {vector}, ptr {self._vector(source, k)}")
            taken = self.value(f"fadd double {self.value(f'load double, ptr {steps}')}, 1.0")
            self.emit(f"store double {taken}, ptr {steps}")
            is_done = self.value(f"load {element}, ptr {self._vector(target, state)}")
            finished = self.value(f"fcmp ogt {element} {is_done}, 0.0")
            spent = self.value(f"fcmp oge double {taken}, {limit}")
            with self.when(self.value(f"or i1 {finished}, {spent}")):
                self.emit(f"store i64 0, ptr {going}")
        self.emit(f"call void {self._table('acquire')}(ptr {thread})")
        number = self.value(f"load double, ptr {steps}")
        if element != "double":
            number = self.value(f"fptrunc double {number} to {element}")
        self.emit(f"store {element} {number}, ptr {count}")
        done = self._vector(target, state)
        return [partial(self._vector, first) for first in (source, count, done)]

    def _vector(self, buffer: str, position: str | int) -> str:
        return self.address(buffer, (position, self._module.vector_size))

    def _deliver(self, places: Sequence[Place]) -> None:
        """Make the outputs' arrays, fill them from the first lane of the vectors of results and return them."""
        element, width = self._module.element, np.dtype(self._module.dtype).itemsize
        dtype = self._table("dtype")
        arrays = []
        for k, (core, place) in enumerate(zip(self._kernel.outputs, places, strict=True)):
            self.emit(f"call void {self._table('increment')}(ptr {dtype})")
            array = self.value(
                f"call ptr {self._table('new array')}(i32 {len(core.dims)}, ptr @chasles.shape{k}, ptr {dtype}, i32 0)"
            )
            self._require_memory(array)
            data = self._field("ptr", array, _DATA)
            with self.loop(math.prod(dim for dim in core.dims if isinstance(dim, int))) as i:
                number = self.value(f"load {element}, ptr {place(i)}")
                self.emit(f"store {element} {number}, ptr {self.address(data, (i, width))}")
            arrays.append(array if core.dims else self.value(f"call ptr {self._table('scalar')}(ptr {array})"))
        if len(arrays) == 1:
            self.release()
            self.emit(f"ret ptr {arrays[0]}")
            return
        kind = self._table("tuple type")
        result = self.value(f"call ptr {self._table('new tuple')}(ptr {kind}, i64 {len(arrays)})")
        self._require_memory(result)
        for k, array in enumerate(arrays):
            self.value(f"call i32 {self._table('set item')}(ptr {result}, i64 {k}, ptr {array})")
        self.release()
        self.emit(f"ret ptr {result}")

    def _require_memory(self, created: str) -> None:
        """Return to Python, which has raised `MemoryError`, if an object could not be created."""
        with self.when(self.value(f"icmp eq ptr {created}, null"), returns=True):
            self.release()
            self.emit("ret ptr null")


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


# CPython reads a definition even while it frees the function, in no sure order with what else goes then.
_DEFINITIONS: list[_MethodDefinition] = []


def fill_table(table: int, dtype: str, result: type | None) -> None:
    """Write the addresses that a direct call needs into its table; ``result`` is the type of several results."""
    api, numpy_api = ctypes.pythonapi, _numpy_api()

    def place(function: Any) -> int | None:
        return ctypes.cast(function, ctypes.c_void_p).value

    addresses = {
        "array type": id(np.ndarray),
        "float type": id(float),
        "float64 type": id(np.float64),
        "dtype": id(np.dtype(dtype)),
        "general call": place(api.PyObject_Vectorcall),
        "increment": place(api.Py_IncRef),
        "new array": numpy_api[_PY_ARRAY_EMPTY],
        "scalar": numpy_api[_PY_ARRAY_RETURN],
        "new tuple": place(api.PyType_GenericAlloc),
        "tuple type": id(result or tuple),
        "set item": place(api.PyTuple_SetItem),
        "release": place(api.PyEval_SaveThread),
        "acquire": place(api.PyEval_RestoreThread),
        "out of memory": place(api.PyErr_NoMemory),
    }
    entries = (ctypes.c_void_p * len(_TABLE)).from_address(table)
    for k, key in enumerate(_TABLE):
        entries[k] = addresses[key]


def python_function(address: int, general: Callable[..., Any], name: str, code: object) -> Any:
    """Return machine code with CPython's calling convention as a Python object.

    Parameters
    ----------
    address
        Where the function is.
    general
        Handed to the function as its first argument, for the calls that it leaves to Python.
    name
        Name of the object.
    code
        What must live as long as the object: it stands where CPython keeps the module of a function.
    """
    definition = _MethodDefinition(name.encode(), address, _METH_FASTCALL_KEYWORDS, None)
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    _DEFINITIONS.append(definition)
    return create(ctypes.addressof(definition), general, code)


@cache
def _numpy_api() -> Any:
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get_pointer(c_api("_ARRAY_API"), None), ctypes.POINTER(ctypes.c_void_p))
