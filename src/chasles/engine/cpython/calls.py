"""The way from Python into machine code for one sample, without NumPy's dispatch.

A generalized ufunc takes most of a microsecond to find out what it was given, several times what a robot's dynamics
take. Beside each map and solve kernel stands a function with CPython's calling convention that looks only for the
common case, contiguous arrays of the core shapes and plain numbers, computes it directly, and leaves everything else
(batches, lists, keywords, casts, errors) to the call of short batches and to the general call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.cpython import batches, objects
from chasles.engine.cpython.gufunc import c_api
from chasles.engine.cpython.immortal import immortal
from chasles.engine.cpython.memory import empty
from chasles.engine.cpython.objects import (
    CONTIGUOUS_AND_ALIGNED,
    DATA,
    DIMENSIONS,
    DTYPE,
    FLAGS,
    FLOAT_VALUE,
    FORMAT,
    OUT,
    PLACES,
    RANK,
    REFERENCES,
    TABLE,
    TYPE,
    WEAK_REFERENCES,
    ObjectWriter,
    core_size,
    instance_call,
)
from chasles.engine.kernels.shapes import UNINTERRUPTED_WORK, CoreArray, Kernel, Width
from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.result_layout import Delivery
from chasles.engine.targets.native.writer import literal

ENTRY, INSTANCE_ENTRY = "chasles_call", "chasles_instance_call"
_PY_ARRAY_EMPTY, _PY_ARRAY_SCALAR = 184, 60
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002


def has_direct_call(kernel: Kernel, width: Width) -> bool:
    """Whether a kernel comes with a direct call. Solves have single ones."""
    return (kernel.shape == "map" or (kernel.shape == "solve" and width != "many")) and objects.supported()


def write_call(kernel: Kernel, width: Width, module: LlvmModule, function: str, delivery: Delivery | None) -> str:
    """Return the LLVM assembly of the direct call of a map or solve kernel's program.

    Parameters
    ----------
    kernel
        The kernel.
    width
        Samples that the code is for. Code for many has no call of its own for single ones.
    module
        The module that holds its program.
    function
        The function of the program.
    delivery
        Place where it leaves the results of a map.
    """
    w = _CallWriter(ENTRY, kernel, module, delivery)
    texts = [f"@{TABLE} = global [{len(PLACES)} x ptr] zeroinitializer", *w.shapes()]
    if width != "many":
        texts.append(w.write(function))
    if kernel.shape == "map":
        texts.append(batches.write_batch_call(kernel, module, ENTRY if width == "many" else batches.ENTRY, width))
    return "\n".join([*texts, instance_call(INSTANCE_ENTRY, ENTRY)])


#: Gives the address of the vector with an element of an output.
Place = Callable[[str], str]


class _CallWriter(ObjectWriter):
    def __init__(self, name: str, kernel: Kernel, module: LlvmModule, delivery: Delivery | None) -> None:
        super().__init__(name, kernel, module)
        self._delivery = delivery

    def shapes(self) -> list[str]:
        """Return constants with the dimensions of each output."""
        lines = []
        for k, array in enumerate(self.kernel.outputs):
            dims = ", ".join(f"i64 {dim}" for dim in array.dims)
            lines.append(f"@chasles.shape{k} = internal constant [{len(array.dims)} x i64] [{dims}]")
        return lines

    def write(self, function: str) -> str:
        inputs, program = self.kernel.inputs, self.kernel.program
        self.require(self.value("icmp eq ptr %names, null"))
        self.require(self.value(f"icmp eq i64 %count, {len(inputs)}"))
        data = []
        for k, array in enumerate(inputs):
            argument = self.field("ptr", "%args", 8 * k)
            data.append(self._array_data(argument, array) if array.dims else self._number(argument))
        if self.kernel.shape == "solve":
            self._require_few_iterations(data[-1])
        given, size = sum(a.size for a in program.inputs), self.module.vector_size
        results = self._delivery.vectors if self._delivery else len(program.results)
        vectors = given + results + self.module.workspace(program)
        source = self.reserve(vectors * size, lambda: self.emit(f"ret ptr {self._out_of_memory()}"))
        target, work = self._vector(source, given), self._vector(source, given + results)
        self._spread(data[: len(program.inputs)], source)
        run = f"call void @{function}(ptr {source}, ptr {target}, ptr {work})"
        if self._delivery:
            self._deliver(self._mapped(run, source, self._delivery))
        else:
            self._deliver(self._solved(run, source, target, data[-1]))
        return self.end(batches.ENTRY if self.kernel.shape == "map" else "")

    def _buffer(self, vectors: int) -> str:
        return self.value(f"alloca [{max(vectors, 1)} x {self.module.real}], align 64")

    def _out_of_memory(self) -> str:
        """Raise `MemoryError` and return the null pointer that tells Python of it."""
        return self.value(f"call ptr {self.table('out of memory')}()")

    def _require_few_iterations(self, limit_address: str) -> None:
        """Leave to the general way what would not answer an interrupt for long, and limits that are none."""
        limit = self.value(f"load double, ptr {limit_address}")
        most = max(1, UNINTERRUPTED_WORK // max(1, self.kernel.program.operation_count))
        self.require(self.value(f"fcmp oge double {limit}, 1.0"))
        self.require(self.value(f"fcmp ole double {limit}, {literal(float(most))}"))

    def _array_data(self, argument: str, array: CoreArray) -> str:
        """Check that an argument is a plain array of the core shape and return the address of its numbers."""
        self.require_plain_array(argument, CONTIGUOUS_AND_ALIGNED)
        self.require(self.value(f"icmp eq i32 {self.field('i32', argument, RANK)}, {len(array.dims)}"))
        dimensions = self.field("ptr", argument, DIMENSIONS)
        for k, dim in enumerate(array.dims):
            self.require(self.value(f"icmp eq i64 {self.field('i64', dimensions, 8 * k)}, {dim}"))
        return self.field("ptr", argument, DATA)

    def _number(self, argument: str) -> str:
        """Check that an argument is a float and return the address of its value."""
        self.require(self.is_number(argument))
        return self.value(f"getelementptr i8, ptr {argument}, i64 {FLOAT_VALUE}")

    def _spread(self, data: list[str], target: str) -> None:
        """Put every number into all lanes of its vector."""
        element, real = self.module.element, self.module.real
        position = 0
        for address, array, argument in zip(data, self.kernel.inputs, self.kernel.program.inputs, strict=False):
            stored = element if array.dims else "double"
            width = np.dtype(self.module.dtype).itemsize
            with self.loop(argument.size) as k:
                number = self.value(f"load {stored}, ptr {self.address(address, (k, width))}")
                if stored != element:
                    number = self.value(f"fptrunc double {number} to float")
                vector = self.module.splat(self, number)
                place = self.address(target, (self.value(f"add i64 {k}, {position}"), self.module.vector_size))
                self.emit(f"store {real} {vector}, ptr {place}")
            position += argument.size

    def _mapped(self, run: str, source: str, delivery: Delivery) -> list[Place]:
        """Run the program once and return where the outputs are."""
        delivery.prepare(self, source)
        self.emit(run)
        return [partial(delivery.place, self, source, output) for output in range(len(self.kernel.outputs))]

    def _solved(self, run: str, source: str, target: str, limit_address: str) -> list[Place]:
        """Repeat the step until it is done, without holding the interpreter; return where the outputs are."""
        element, real = self.module.element, self.module.real
        state = self.kernel.program.inputs[0].size
        limit = self.value(f"load double, ptr {limit_address}")
        steps, count, going = self.value("alloca double"), self._buffer(1), self.value("alloca i64")
        self.emit(f"store double 0.0, ptr {steps}")
        self.emit(f"store i64 1, ptr {going}")
        thread = self.value(f"call ptr {self.table('release')}()")
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
        self.emit(f"call void {self.table('acquire')}(ptr {thread})")
        number = self.value(f"load double, ptr {steps}")
        if element != "double":
            number = self.value(f"fptrunc double {number} to {element}")
        self.emit(f"store {element} {number}, ptr {count}")
        done = self._vector(target, state)
        return [partial(self._vector, first) for first in (source, count, done)]

    def _vector(self, buffer: str, position: str | int) -> str:
        return self.address(buffer, (position, self.module.vector_size))

    def _deliver(self, places: Sequence[Place]) -> None:
        """Make the outputs' arrays, fill them from the first lane of the vectors of results and return them."""
        outputs = self.kernel.outputs
        if all(core.dims for core in outputs):
            result, arrays = self._recycled_or_new()
            for array, core, place in zip(arrays, outputs, places, strict=True):
                self._fill(self.field("ptr", array, DATA), core, place)
            self.release()
            self.emit(f"ret ptr {result}")
            return
        given = []
        for k, (core, place) in enumerate(zip(outputs, places, strict=True)):
            if core.dims:
                given.append(self._new(k))
                self._fill(self.field("ptr", given[k], DATA), core, place)
            else:
                number = f"call ptr {self.table('scalar')}(ptr {place('0')}, ptr {self.table('dtype')}, ptr null)"
                given.append(self.value(number))
                self.require_memory(given[k])
        self.give(given)

    def _new(self, output: int) -> str:
        return self.new_array(str(len(self.kernel.outputs[output].dims)), f"@chasles.shape{output}")

    def _fill(self, data: str, core: CoreArray, place: Place) -> None:
        element, width = self.module.element, self.module.item_size
        with self.loop(core_size(core)) as i:
            number = self.value(f"load {element}, ptr {place(i)}")
            self.emit(f"store {element} {number}, ptr {self.address(data, (i, width))}")

    def _recycled_or_new(self) -> tuple[str, list[str]]:
        """Return the object to give and its arrays: those given two calls ago if nobody has them any more.

        Making and freeing arrays takes longer than computing what they hold. The last two results are kept; one to
        which this is the only reference is given once more. In ``T, J = f(q)`` that of the call before is still held
        by the names.
        """
        outputs = self.kernel.outputs
        result, arrays = self.value("alloca ptr"), self.value(f"alloca [{len(outputs)} x ptr]")
        earlier, turn = self.table("earlier results"), self.value(f"ptrtoint ptr {self.table('turn')} to i64")
        kept = self.value(f"call ptr {self.table('list item')}(ptr {earlier}, i64 {turn})")
        kind = "tuple type" if len(outputs) > 1 else "array type"
        self.go_on_if(self.value(f"icmp eq ptr {self.field('ptr', kept, TYPE)}, {self.table(kind)}"), "make")
        self._require_only_reference(kept, "make")
        for k, core in enumerate(outputs):
            array = kept
            if len(outputs) > 1:
                array = self.value(f"call ptr {self.table('tuple item')}(ptr {kept}, i64 {k})")
                self._require_only_reference(array, "make")
            self._require_as_made(array, core, "make")
            self.emit(f"store ptr {array}, ptr {self.address(arrays, (k, 8))}")
        self.emit(f"store ptr {kept}, ptr {result}")
        self.emit(f"call void {self.table('increment')}(ptr {kept})")
        self.emit("br label %fill")

        self.block("make")
        new_arrays = [self._new(k) for k in range(len(outputs))]
        for k, array in enumerate(new_arrays):
            self.emit(f"store ptr {array}, ptr {self.address(arrays, (k, 8))}")
        new = self.joined(new_arrays)
        self.emit(f"store ptr {new}, ptr {result}")
        # The list takes one reference and frees what it held: code that runs then finds two.
        self.emit(f"call void {self.table('increment')}(ptr {new})")
        self.value(f"call i32 {self.table('set list item')}(ptr {earlier}, i64 {turn}, ptr {new})")
        self.emit("br label %fill")

        self.block("fill")
        other = self.value(f"inttoptr i64 {self.value(f'sub i64 1, {turn}')} to ptr")
        self.emit(f"store ptr {other}, ptr {self.table_entry('turn')}")
        return self.value(f"load ptr, ptr {result}"), [self.field("ptr", arrays, 8 * k) for k in range(len(outputs))]

    def _require_only_reference(self, thing: str, otherwise: str) -> None:
        self.go_on_if(self.value(f"icmp eq i32 {self.field('i32', thing, REFERENCES)}, 1"), otherwise)

    def _require_as_made(self, array: str, core: CoreArray, otherwise: str) -> None:
        """Check that nobody has changed an array's shape, type or flags, or holds a weak reference to it."""
        dims = [dim for dim in core.dims if isinstance(dim, int)]
        flags = np.empty(dims, self.module.dtype).flags.num
        dimensions = self.field("ptr", array, DIMENSIONS)
        for condition in (
            f"icmp eq i32 {self.field('i32', array, RANK)}, {len(dims)}",
            f"icmp eq i32 {self.field('i32', array, FLAGS)}, {flags}",
            f"icmp eq ptr {self.field('ptr', array, DTYPE)}, {self.table('dtype')}",
            f"icmp eq ptr {self.field('ptr', array, WEAK_REFERENCES)}, null",
        ):
            self.go_on_if(self.value(condition), otherwise)
        for k, dim in enumerate(dims):
            self.go_on_if(self.value(f"icmp eq i64 {self.field('i64', dimensions, 8 * k)}, {dim}"), otherwise)


class _MethodDefinition(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@immortal
def empty_at(rank: int, address: int, dtype: str) -> NDArray[Any]:
    """Return an array as `empty` does, of a shape that stands in memory: machine code calls it."""
    return empty((ctypes.c_ssize_t * rank).from_address(address)[:], dtype)


def fill_table(table: int, dtype: str, result: type | None, earlier: list[object]) -> None:
    """Write the addresses that a direct call needs into its table.

    ``result`` is the type of several results, ``earlier`` a list of two objects in which it keeps its last results.
    Calls for other code go to the general call until `link` says where that code is.
    """
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
        "scalar": numpy_api[_PY_ARRAY_SCALAR],
        "call": place(api.PyObject_CallFunction),
        "large array": id(empty_at),
        "format": ctypes.addressof(FORMAT),
        "new tuple": place(api.PyType_GenericAlloc),
        "tuple type": id(result or tuple),
        "plain tuple type": id(tuple),
        "tuple size": place(api.PyTuple_Size),
        "tuple item": place(api.PyTuple_GetItem),
        "out": id(OUT),
        "error": place(api.PyErr_Occurred),
        "set item": place(api.PyTuple_SetItem),
        "release": place(api.PyEval_SaveThread),
        "acquire": place(api.PyEval_RestoreThread),
        "out of memory": place(api.PyErr_NoMemory),
        "other code": place(api.PyObject_Vectorcall),
        "list item": place(api.PyList_GetItem),
        "set list item": place(api.PyList_SetItem),
        "earlier results": id(earlier),
        "turn": 0,
    }
    entries = (ctypes.c_void_p * len(PLACES)).from_address(table)
    for k, key in enumerate(PLACES):
        entries[k] = addresses[key]


def link(table: int, other: int) -> None:
    """Let a direct call hand what its code is not for to another direct call."""
    (ctypes.c_void_p * len(PLACES)).from_address(table)[PLACES.index("other code")] = other


def python_function(address: int, general: Callable[..., Any], name: str, code: object) -> Any:
    """Return machine code with CPython's calling convention as a Python object.

    Parameters
    ----------
    address
        Address of the function.
    general
        Handed to the function as its first argument, for the calls that it leaves to Python.
    name
        Name of the object.
    code
        Object that must live as long as this one; it stands where CPython keeps a function's module.
    """
    # CPython reads a definition even while it frees the function, in no sure order with what else goes then.
    definition = immortal(_MethodDefinition(name.encode(), address, _METH_FASTCALL_KEYWORDS, None))
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    return create(ctypes.addressof(definition), general, code)


@cache
def _numpy_api() -> Any:
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get_pointer(c_api("_ARRAY_API"), None), ctypes.POINTER(ctypes.c_void_p))
