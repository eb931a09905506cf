"""Kernels in machine code: the loops of map, scan and solve around a program, in the form that NumPy's ufuncs call.

Samples lie along the lanes of vectors. A lane past the last sample repeats that sample and stores the same values once
more, so that one body serves single calls, full vectors and remainders, and results do not depend on the size of the
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from chasles.engine.kernels import CoreArray, Kernel, Width
from chasles.engine.targets.native import batches, calls, objects, transposition
from chasles.engine.targets.native.delivery import Delivery
from chasles.engine.targets.native.functions import Module
from chasles.engine.targets.native.machine import is_x86
from chasles.engine.targets.native.writer import Writer

ENTRY = batches.KERNEL
#: Bytes of results from which they are written past the caches, which do not hold them until somebody reads them.
_STREAMED = 1 << 25


def write_kernel(kernel: Kernel, dtype: str, lanes: int, width: Width = "any") -> list[str]:
    """Return the LLVM modules of a kernel whose loop is `ENTRY`, and of its direct call."""
    module = Module(dtype, lanes)
    tables: list[str] = []
    if kernel.shape == "map":
        delivery = Delivery(kernel, module)
        function = module.add_program(kernel.program, delivery.position)
        loop = _MapWriter(kernel, module, delivery).write(function)
        tables = delivery.tables()
    else:
        delivery = None
        function = module.add_program(kernel.program)
        loop = {"scan": _write_scan, "solve": _write_solve}[kernel.shape](kernel, module, function)
    direct = calls.write_call(kernel, module, function, delivery, width) if has_direct_call(kernel, width) else ""
    declared = [*_DECLARATIONS, *_FLAG_FUNCTIONS[is_x86()], *transposition.declarations(module)]
    return module.parts([*declared, *tables, loop, direct])


def has_direct_call(kernel: Kernel, width: Width) -> bool:
    """Whether a kernel comes with a direct call; see `chasles.engine.targets.native.calls`. Solves have single ones."""
    return (kernel.shape == "map" or (kernel.shape == "solve" and width != "many")) and objects.supported()


_FLAG_FUNCTIONS = {
    True: [f"declare void @llvm.x86.sse.{name}" for name in ("stmxcsr(ptr)", "ldmxcsr(ptr)", "sfence()")],
    False: ["declare i32 @feclearexcept(i32)"],
}
_DECLARATIONS = [
    "declare i64 @llvm.smin.i64(i64, i64)",
    "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
    "declare ptr @malloc(i64)",
    "declare void @free(ptr)",
    "declare i32 @PyGILState_Ensure()",
    "declare ptr @PyErr_NoMemory()",
    "declare void @PyGILState_Release(i32)",
]
_AARCH64_ALL_EXCEPTIONS = 0x1F


class _KernelWriter(Writer):
    """What the three loops share: NumPy's arguments, and moving samples between its arrays and vectors."""

    def __init__(self, kernel: Kernel, module: Module, results: int, scratch: int = 0) -> None:
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

    def run(self, function: str) -> None:
        """Run a program, or a segment of it, from the input buffer to the output buffer."""
        arguments = (self.input_buffer, self.output_buffer, self._work)
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


class _MapWriter(_KernelWriter):
    """Writer of the loop of a map."""

    def __init__(self, kernel: Kernel, module: Module, delivery: Delivery) -> None:
        results = sum(argument.size for argument in kernel.program.outputs)
        super().__init__(kernel, module, delivery.vectors, scratch=results)
        self._delivery = delivery
        self._rows = self.value(f"alloca [{max(1, len(self.outputs) * self.lanes)} x ptr]")
        self._dense = [self.density(array)[1] for array in self.outputs]
        self._whole = [self._follow_one_another(arrays) for arrays in (self.inputs, self.outputs)]

    def _follow_one_another(self, arrays: Sequence[CoreArray]) -> str:
        """Whether the samples of all arrays are dense and neighbours."""
        result = self.value("or i1 true, true")
        for array in arrays:
            size, dense = self.density(array)
            stride = self._stride[self._position[id(array)]]
            neighbours = self.value(f"icmp eq i64 {stride}, {size * self.module.item_size}")
            result = self.value(f"and i1 {result}, {self.value(f'and i1 {dense}, {neighbours}')}")
        return result

    def write(self, function: str) -> str:
        """Return the text of the kernel with the function of its program."""
        self._delivery.prepare(self, self.input_buffer)
        streams = self._are_streams()
        with self.loop(self.count, self.lanes) as first:
            end = self.value(f"add i64 {first}, {self.lanes}")
            is_full = self.value(f"icmp sle i64 {end}, {self.count}")
            reads_lines, writes_lines = (self.value(f"and i1 {is_full}, {whole}") for whole in self._whole)
            sizes = [argument.size for argument in self.kernel.program.inputs]
            given = list(zip(self.inputs, sizes, accumulate(sizes, initial=0), strict=False))
            with self.when(reads_lines):
                for array, size, position in given:
                    rows = self._rows_that_follow(self.row(array, first), size)
                    transposition.load(self, self.module, rows, size, self.input_buffer, position)
            with self.unless(reads_lines):
                samples = self.lane_samples(first)
                for array, _, position in given:
                    self.load(array, [self.row(array, sample) for sample in samples], position)
            self.run(function)
            with self.when(writes_lines):
                addresses = [self.row(array, first) for array in self.outputs]
                self._delivery.deliver_lines(self, self.input_buffer, addresses, streams)
            with self.unless(writes_lines):
                samples = self.lane_samples(first)
                self._choose_rows(samples)
                self._delivery.deliver(self, self.input_buffer, self._rows)
                self._scatter(samples)
        if is_x86():
            self.emit("call void @llvm.x86.sse.sfence()")  # before others learn that streams have been written
        return self.finish()

    def _are_streams(self) -> str:
        """Whether results are more than caches hold and begin at multiples of a vector's size."""
        size = sum(argument.size for argument in self.kernel.program.outputs) * self.module.item_size
        result = self.value(f"icmp sge i64 {self.count}, {-(-_STREAMED // max(1, size))}")
        for array in self.outputs:
            address = self.value(f"ptrtoint ptr {self.row(array, '0')} to i64")
            beyond = self.value(f"and i64 {address}, {self.module.vector_size - 1}")
            result = self.value(f"and i1 {result}, {self.value(f'icmp eq i64 {beyond}, 0')}")
        return result

    def _rows_that_follow(self, address: str, size: int) -> list[str]:
        offsets = [lane * size * self.module.item_size for lane in range(self.lanes)]
        return [self.value(f"getelementptr i8, ptr {address}, i64 {offset}") for offset in offsets]

    def _places_in_scratch(self, output: int) -> list[str]:
        """Addresses of dense rows of an output, one a lane."""
        before = sum(argument.size for argument in self.kernel.program.outputs[:output])
        start = self.value(f"getelementptr i8, ptr {self.scratch}, i64 {before * self.lanes * self.module.item_size}")
        return self._rows_that_follow(start, self.kernel.program.outputs[output].size)

    def _choose_rows(self, samples: Sequence[str]) -> None:
        """Let results go to the rows of their arrays, or to scratch where numbers of a row are no neighbours."""
        for output, (array, dense) in enumerate(zip(self.outputs, self._dense, strict=True)):
            for lane, (sample, scratch) in enumerate(zip(samples, self._places_in_scratch(output), strict=True)):
                chosen = self.value(f"select i1 {dense}, ptr {self.row(array, sample)}, ptr {scratch}")
                place = self.value(f"getelementptr i8, ptr {self._rows}, i64 {8 * (output * self.lanes + lane)}")
                self.emit(f"store ptr {chosen}, ptr {place}")

    def _scatter(self, samples: Sequence[str]) -> None:
        """Move results from scratch to their places."""
        element = self.module.element
        for output, (array, dense) in enumerate(zip(self.outputs, self._dense, strict=True)):
            with self.unless(dense):
                rows = self._places_in_scratch(output)

                def visit(addresses: list[str], flat: str | int, rows: Sequence[str] = rows) -> None:
                    for address, row in zip(addresses, rows, strict=True):
                        number = self.value(
                            f"load {element}, ptr {self.address(row, (flat, self.module.item_size))}, align 1"
                        )
                        self.emit(f"store {element} {number}, ptr {address}, align 1")

                self.each_element(array, [self.row(array, sample) for sample in samples], visit)


def _write_scan(kernel: Kernel, module: Module, function: str) -> str:
    program = kernel.program
    w = _KernelWriter(kernel, module, len(program.results))
    state, given, *parameters = w.inputs
    final_state, *recorded = w.outputs
    size = program.inputs[0].size
    again = w.value("alloca i64") if w.kernel.repeats else None
    with w.loop(w.count, w.lanes) as first:
        samples = w.lane_samples(first)
        w.load(state, [w.row(state, sample) for sample in samples], 0)
        position = size + program.inputs[1].size
        for array, argument in zip(parameters, program.inputs[2:], strict=True):
            w.load(array, [w.row(array, sample) for sample in samples], position)
            position += argument.size
        rows_given = [w.row(given, sample) for sample in samples]
        with w.loop(w.size("S")) as i, w.loop(w.size("k")) as j:
            w.load(given, w.offset_rows(given, rows_given, i, j), size, skip=2)
            w.run(function)
            w.copy_state(size)
            with w.when(w.value(f"icmp eq i64 {j}, 0")):
                position = size
                for array, argument in zip(recorded, program.outputs[1:], strict=True):
                    rows = [w.row(array, sample) for sample in samples]
                    w.store(array, w.offset_rows(array, rows, i), w.output_buffer, position, skip=1)
                    position += argument.size
            if again is not None:
                w.emit(f"store i64 {w.positive_lanes(size)}, ptr {again}")
                with w.loop_while_positive(again):
                    w.run(function)
                    w.copy_state(size)
                    w.emit(f"store i64 {w.positive_lanes(size)}, ptr {again}")
        w.store(final_state, [w.row(final_state, sample) for sample in samples], w.input_buffer, 0)
    return w.finish()


def _write_solve(kernel: Kernel, module: Module, function: str) -> str:
    """Repeat a step in every lane; a lane that is done takes the next waiting sample, so none waits for another."""
    program = kernel.program
    w = _KernelWriter(kernel, module, len(program.results))
    state = program.inputs[0].size
    *arrays, max_iterations = w.inputs
    final_state, iterations, done = w.outputs
    sample_of, steps_of, limit_of = (w.value(f"alloca [{w.lanes} x i64]") for _ in range(3))
    waiting, remaining = w.value("alloca i64"), w.value("alloca i64")
    element = w.module.element

    def fill(lane: str, sample: str) -> None:
        position = 0
        for array, argument in zip(arrays, program.inputs, strict=True):

            def visit(addresses: list[str], flat: str | int, position: int = position) -> None:
                number = w.value(f"load {element}, ptr {addresses[0]}, align 1")
                place = w.number_at(w.input_buffer, w.value(f"add i64 {flat}, {position}"), lane)
                w.emit(f"store {element} {number}, ptr {place}")

            w.each_element(array, [w.row(array, sample)], visit)
            position += argument.size
        limit = w.value(f"load {element}, ptr {w.row(max_iterations, sample)}, align 1")
        w.emit(f"store i64 {w.value(f'fptosi {element} {limit} to i64')}, ptr {w.address(limit_of, (lane, 8))}")
        w.emit(f"store i64 {sample}, ptr {w.address(sample_of, (lane, 8))}")
        w.emit(f"store i64 0, ptr {w.address(steps_of, (lane, 8))}")

    def give(lane: str, sample: str, steps: str, is_done: str) -> None:
        def visit(addresses: list[str], flat: str | int) -> None:
            number = w.value(f"load {element}, ptr {w.number_at(w.input_buffer, flat, lane)}")
            w.emit(f"store {element} {number}, ptr {addresses[0]}, align 1")

        w.each_element(final_state, [w.row(final_state, sample)], visit)
        count = w.value(f"sitofp i64 {steps} to {element}")
        w.emit(f"store {element} {count}, ptr {w.row(iterations, sample)}, align 1")
        w.emit(f"store {element} {is_done}, ptr {w.row(done, sample)}, align 1")

    w.emit(f"store i64 {w.count}, ptr {remaining}")
    first_waiting = w.value(f"call i64 @llvm.smin.i64(i64 {w.count}, i64 {w.lanes})")
    w.emit(f"store i64 {first_waiting}, ptr {waiting}")
    with w.when(w.value(f"icmp sgt i64 {w.count}, 0")), w.loop(w.lanes) as lane:
        last = w.value(f"sub i64 {w.count}, 1")
        fill(lane, w.value(f"call i64 @llvm.smin.i64(i64 {lane}, i64 {last})"))
        idle = w.value(f"icmp sge i64 {lane}, {w.count}")
        with w.when(idle):  # an idle lane steps along with the others, and nobody looks at it
            w.emit(f"store i64 -1, ptr {w.address(sample_of, (lane, 8))}")
    with w.loop_while_positive(remaining):
        w.run(function)
        w.copy_state(state)
        with w.loop(w.lanes) as lane:
            sample = w.value(f"load i64, ptr {w.address(sample_of, (lane, 8))}")
            with w.when(w.value(f"icmp sge i64 {sample}, 0")):
                steps_address = w.address(steps_of, (lane, 8))
                steps = w.value(f"add i64 {w.value(f'load i64, ptr {steps_address}')}, 1")
                w.emit(f"store i64 {steps}, ptr {steps_address}")
                is_done = w.value(f"load {element}, ptr {w.number_at(w.output_buffer, state, lane)}")
                finished = w.value(f"fcmp ogt {element} {is_done}, 0.0")
                limit = w.value(f"load i64, ptr {w.address(limit_of, (lane, 8))}")
                spent = w.value(f"icmp sge i64 {steps}, {limit}")
                with w.when(w.value(f"or i1 {finished}, {spent}")):
                    give(lane, sample, steps, is_done)
                    left = w.value(f"sub i64 {w.value(f'load i64, ptr {remaining}')}, 1")
                    w.emit(f"store i64 {left}, ptr {remaining}")
                    w.emit(f"store i64 -1, ptr {w.address(sample_of, (lane, 8))}")
                    following = w.value(f"load i64, ptr {waiting}")
                    with w.when(w.value(f"icmp slt i64 {following}, {w.count}")):
                        fill(lane, following)
                        w.emit(f"store i64 {w.value(f'add i64 {following}, 1')}, ptr {waiting}")
    return w.finish()
