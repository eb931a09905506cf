"""The frame of a kernel's loop: NumPy's arguments, flags, working memory, and samples between arrays and vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chasles.engine.kernels.shapes import CoreArray, Kernel
from chasles.engine.targets.native import transposition
from chasles.engine.targets.native.machine import is_x86
from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.writer import LlvmWriter

#: Name of the function with the loop.
ENTRY = "chasles_kernel"
_FLAG_FUNCTIONS = {
    True: [f"declare void @llvm.x86.sse.{name}" for name in ("stmxcsr(ptr)", "ldmxcsr(ptr)", "sfence()")],
    False: ["declare i32 @feclearexcept(i32)"],
}
_FUNCTIONS = [
    "declare i64 @llvm.smin.i64(i64, i64)",
    "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    "declare ptr @malloc(i64)",
    "declare void @free(ptr)",
    "declare i32 @PyGILState_Ensure()",
    "declare ptr @PyErr_NoMemory()",
    "declare void @PyGILState_Release(i32)",
]
_AARCH64_ALL_EXCEPTIONS = 0x1F


def declarations(module: LlvmModule) -> list[str]:
    """Return what loops call that is not written here."""
    return [*_FUNCTIONS, *_FLAG_FUNCTIONS[is_x86()], *transposition.declarations(module)]


class KernelWriter(LlvmWriter):
    """What the loops of map, scan and solve share."""

    def __init__(self, kernel: Kernel, module: LlvmModule, results: int, scratch: int = 0) -> None:
        super().__init__(f"void @{ENTRY}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
        self.kernel = kernel
        self.module = module
        self.lanes = module.lanes
        self.inputs = kernel.inputs
        self.outputs = kernel.outputs
        arrays = (*self.inputs, *self.outputs)
        self._keep_flags()
        self._position = {id(array): k for k, array in enumerate(arrays)}
        self._base = [self._argument("ptr", "%args", k) for k in range(len(arrays))]
        self._stride = [self._argument("i64", "%steps", k) for k in range(len(arrays))]
        self._core: list[list[str]] = []
        position = len(arrays)
        for array in arrays:
            self._core.append([self._argument("i64", "%steps", position + k) for k in range(len(array.dims))])
            position += len(array.dims)
        self.count = self._argument("i64", "%dims", 0)
        self._sizes: dict[int | str, str | int] = {
            dim: dim if isinstance(dim, int) else self._argument("i64", "%dims", 1 + k)
            for k, dim in enumerate(kernel.symbols)
        }
        given, work = sum(a.size for a in kernel.program.inputs), module.workspace(kernel.program)
        vectors = given + results + work + scratch
        self.input_buffer = self.reserve(vectors * module.vector_size, self._leave_without_memory)
        self.output_buffer = self.vector_at(self.input_buffer, given)
        self._work = self.vector_at(self.input_buffer, given + results)
        self.scratch = self.vector_at(self.input_buffer, given + results + work)

    def _argument(self, kind: str, array: str, index: int) -> str:
        return self.value(f"load {kind}, ptr {self.value(f'getelementptr i8, ptr {array}, i64 {8 * index}')}")

    def _leave_without_memory(self) -> None:
        """Raise `MemoryError`, for which Python's global lock must be taken first."""
        lock = self.value("call i32 @PyGILState_Ensure()")
        self.value("call ptr @PyErr_NoMemory()")
        self.emit(f"call void @PyGILState_Release(i32 {lock})")
        self.emit("ret void")

    def _keep_flags(self) -> None:
        """Lanes that compute what is not selected may raise floating-point flags; NumPy must not warn of those."""
        if is_x86():
            self._flags = self.value("alloca i32")
            self.emit(f"call void @llvm.x86.sse.stmxcsr(ptr {self._flags})")

    def complete_streams(self) -> None:
        """Complete stores past the caches before others learn of the results."""
        if is_x86():
            self.emit("call void @llvm.x86.sse.sfence()")

    def finish(self) -> str:
        """Close the function and return its text."""
        self.release()
        if is_x86():
            self.emit(f"call void @llvm.x86.sse.ldmxcsr(ptr {self._flags})")
        else:
            self.value(f"call i32 @feclearexcept(i32 {_AARCH64_ALL_EXCEPTIONS})")
        self.emit("ret void")
        return self.text()

    def size(self, dim: int | str) -> str | int:
        """Return the size of a core dimension."""
        return self._sizes[dim]

    def run(self, function: str, *claimed: str) -> None:
        """Run a program from the input buffer to the output buffer; see `functions.add_program` for what it claims."""
        arguments = (self.input_buffer, self.output_buffer, self._work, *claimed)
        self.emit(f"call void @{function}({', '.join(f'ptr {a}' for a in arguments)})")

    def vector_at(self, buffer: str, position: str | int) -> str:
        """Return the address of a vector of a buffer."""
        return self.address(buffer, (position, self.module.vector_size))

    def number_at(self, buffer: str, position: str | int, lane: str) -> str:
        """Return the address of one lane of a vector of a buffer."""
        return self.address(buffer, (position, self.module.vector_size), (lane, self.module.item_size))

    def row(self, array: CoreArray, sample: str) -> str:
        """Return the address of a sample of an array."""
        position = self._position[id(array)]
        return self.address(self._base[position], (sample, self._stride[position]))

    def lane_samples(self, first: str) -> list[str]:
        """Return the sample of each lane: first, first + 1, …, repeating the last."""
        last = self.value(f"sub i64 {self.count}, 1")
        samples = []
        for lane in range(self.lanes):
            sample = self.value(f"add i64 {first}, {lane}")
            inside = self.value(f"icmp slt i64 {sample}, {last}")
            samples.append(self.value(f"select i1 {inside}, i64 {sample}, i64 {last}"))
        return samples

    def each_element(
        self, array: CoreArray, rows: Sequence[str], visit: Callable[[list[str], str | int], None], skip: int = 0
    ) -> None:
        """Call ``visit(addresses, flat position)`` inside loops over the core dimensions after the first ``skip``."""
        strides = self._core[self._position[id(array)]][skip:]
        dims = array.dims[skip:]

        def descend(level: int, offset: str | int, position: str | int) -> None:
            if level == len(dims):
                visit([self.value(f"getelementptr i8, ptr {row}, i64 {offset}") for row in rows], position)
                return
            size = self.size(dims[level])
            with self.loop(size) as i:
                inner = self.value(f"add i64 {offset}, {self.value(f'mul i64 {i}, {strides[level]}')}")
                flat = self.value(f"add i64 {self.value(f'mul i64 {position}, {size}')}, {i}")
                descend(level + 1, inner, flat)

        descend(0, 0, 0)

    def offset_rows(self, array: CoreArray, rows: Sequence[str], *indices: str) -> list[str]:
        """Return the addresses of the parts of the rows at the given indices of the leading core dimensions."""
        strides = self._core[self._position[id(array)]]
        return [self.address(row, *zip(indices, strides, strict=False)) for row in rows]

    def load(self, array: CoreArray, rows: Sequence[str], position: int, skip: int = 0) -> None:
        """Read one sample a lane into the input buffer from ``position`` on."""

        def one_by_one(addresses: list[str], element: str | int) -> None:
            vector = "undef"
            for lane, address in enumerate(addresses):
                number = self.value(f"load {self.module.element}, ptr {address}, align 1")
                vector = self.value(
                    f"insertelement {self.module.real} {vector}, {self.module.element} {number}, i32 {lane}"
                )
            place = self.vector_at(self.input_buffer, self.value(f"add i64 {element}, {position}"))
            self.emit(f"store {self.module.real} {vector}, ptr {place}")

        size, dense = self.density(array, skip)
        with self.when(dense):
            transposition.load(self, self.module, rows, size, self.input_buffer, position)
        if not array.dims[skip:]:  # a number is always dense
            return
        with self.unless(dense):
            self.each_element(array, rows, one_by_one, skip)

    def store(self, array: CoreArray, rows: Sequence[str], buffer: str, position: int, skip: int = 0) -> None:
        """Write vectors of a buffer from ``position`` on to one sample a lane."""

        def one_by_one(addresses: list[str], element: str | int) -> None:
            place = self.vector_at(buffer, self.value(f"add i64 {element}, {position}"))
            vector = self.value(f"load {self.module.real}, ptr {place}")
            for lane, address in enumerate(addresses):
                number = self.value(f"extractelement {self.module.real} {vector}, i32 {lane}")
                self.emit(f"store {self.module.element} {number}, ptr {address}, align 1")

        size, dense = self.density(array, skip)
        with self.when(dense):
            transposition.store(self, self.module, rows, size, buffer, position)
        if not array.dims[skip:]:
            return
        with self.unless(dense):
            self.each_element(array, rows, one_by_one, skip)

    def density(self, array: CoreArray, skip: int = 0) -> tuple[int, str]:
        """Number of elements after the first ``skip`` dimensions, and whether they are neighbours in memory."""
        size, dense = 1, self.value("or i1 true, true")
        strides = self._core[self._position[id(array)]]
        for dim, stride in reversed(list(zip(array.dims[skip:], strides[skip:], strict=True))):
            if not isinstance(dim, int):
                raise TypeError(f"the size of '{array.name}' is not known")
            expected = self.value(f"icmp eq i64 {stride}, {size * self.module.item_size}")
            dense = self.value(f"and i1 {dense}, {expected}")
            size *= dim
        return size, dense

    def positive_lanes(self, position: int) -> str:
        """Return a whole number with a bit for each lane in which a number of the output buffer is positive."""
        vector = self.value(f"load {self.module.real}, ptr {self.vector_at(self.output_buffer, position)}")
        positive = self.value(f"fcmp ogt {self.module.real} {vector}, zeroinitializer")
        bits = self.value(f"bitcast <{self.lanes} x i1> {positive} to i{self.lanes}")
        return self.value(f"zext i{self.lanes} {bits} to i64")

    def copy_state(self, size: int) -> None:
        """Make the next state the state."""
        with self.loop(size) as k:
            vector = self.value(f"load {self.module.real}, ptr {self.vector_at(self.output_buffer, k)}")
            self.emit(f"store {self.module.real} {vector}, ptr {self.vector_at(self.input_buffer, k)}")
