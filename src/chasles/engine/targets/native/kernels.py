"""Kernels in machine code: the loops of map, scan and solve around a program, in the form that NumPy's ufuncs call.

Samples lie along the lanes of vectors. A lane past the last sample repeats that sample and stores the same values once
more, so that one body serves single calls, full vectors and remainders, and results do not depend on the size of the
batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from chasles.engine.kernels.shapes import CoreArray, Kernel, Width
from chasles.engine.targets.native import transposition
from chasles.engine.targets.native.functions import add_program
from chasles.engine.targets.native.kernel_writer import KernelWriter, declarations
from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.result_layout import Delivery

#: Bytes of results from which they are written past the caches, which do not hold them until somebody reads them.
_STREAMED = 1 << 25


#: Writes what stands beside a kernel's loop: of its module, its program's function, and where a map's results wait.
WriteBeside = Callable[[LlvmModule, str, Delivery | None], str]


def write_kernel(
    kernel: Kernel, dtype: str, lanes: int, width: Width = "any", write_beside: WriteBeside | None = None
) -> list[str]:
    """Return the LLVM modules of a kernel whose loop is `ENTRY`, and of what is written beside it."""
    module = LlvmModule(dtype, lanes)
    tables: list[str] = []
    if kernel.shape == "map":
        delivery = Delivery(kernel, module, claims=width == "many")
        function = add_program(module, kernel.program, delivery.position, delivery.claims)
        loop = _MapWriter(kernel, module, delivery).write(function)
        tables = delivery.tables()
    else:
        delivery = None
        function = add_program(module, kernel.program)
        loop = {"scan": _write_scan, "solve": _write_solve}[kernel.shape](kernel, module, function)
    batch_entry = write_beside(module, function, delivery) if write_beside else ""
    return module.parts([*declarations(module), *tables, loop, batch_entry])


class _MapWriter(KernelWriter):
    """Writer of the loop of a map."""

    def __init__(self, kernel: Kernel, module: LlvmModule, delivery: Delivery) -> None:
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
            addresses = [self.row(array, first) for array in self.outputs]
            self.run(function, *(self._claimed(addresses, writes_lines, streams) if self._delivery.claims else ()))
            with self.when(writes_lines):
                self._delivery.deliver_lines(self, self.input_buffer, addresses, streams)
            with self.unless(writes_lines):
                samples = self.lane_samples(first)
                self._choose_rows(samples)
                self._delivery.deliver(self, self.input_buffer, self._rows)
                self._scatter(samples)
        self.complete_streams()
        return self.finish()

    def _claimed(self, addresses: Sequence[str], writes_lines: str, streams: str) -> list[str]:
        """Addresses from which the program claims lines: those of results that are not streams.

        Else they are those of its own memory, which is in the nearest cache: claiming that does nothing.
        """
        is_claimed = self.value(f"and i1 {writes_lines}, {self.value(f'xor i1 {streams}, true')}")
        return [self.value(f"select i1 {is_claimed}, ptr {a}, ptr {self.input_buffer}") for a in addresses]

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
            if not array.dims:
                continue
            with self.unless(dense):
                rows = self._places_in_scratch(output)

                def visit(addresses: list[str], flat: str | int, rows: Sequence[str] = rows) -> None:
                    for address, row in zip(addresses, rows, strict=True):
                        number = self.value(
                            f"load {element}, ptr {self.address(row, (flat, self.module.item_size))}, align 1"
                        )
                        self.emit(f"store {element} {number}, ptr {address}, align 1")

                self.each_element(array, [self.row(array, sample) for sample in samples], visit)


def _write_scan(kernel: Kernel, module: LlvmModule, function: str) -> str:
    program = kernel.program
    w = KernelWriter(kernel, module, len(program.results))
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


def _write_solve(kernel: Kernel, module: LlvmModule, function: str) -> str:
    """Repeat a step in every lane; a lane that is done takes the next waiting sample, so none waits for another."""
    program = kernel.program
    w = KernelWriter(kernel, module, len(program.results))
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
