"""Results on their way out: from vectors of lanes to rows of samples, a square block at a time.

A program's results wait as vectors, each distinct one once: what occurs in several places, and what is constant, is
written to all its places from one vector. A table says which vector belongs to each place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.native import transposition
from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.writer import LlvmWriter, literal

_PLACES, _CONSTANTS = "chasles.places", "chasles.constants"
_ROWS, _LINES, _STREAMS = "chasles.deliver_rows", "chasles.deliver_lines", "chasles.stream_lines"
_INDEX_SIZE = 4  # bytes of an entry of the table
_LINE = 64  # bytes of a line of the cache
#: Operations for each line that a program claims: lines that are claimed faster than they arrive hold the program up.
_OPERATIONS_OF_A_LINE = 5
#: Lines of a block up to which programs claim them: more push each other, and the inputs, out of the nearest caches.
_MOST_LINES = 4096
#: Bytes by which lines that no program has claimed are claimed before they are written.
_AHEAD = 256


class Delivery:
    """Where the results of a map kernel's program wait, and how they leave.

    Positions are numbers of vectors in one buffer that holds the inputs, the results that are computed, and those that
    are constant.

    Attributes
    ----------
    position
        The position of each result that is computed, from the first such result on.
    vectors
        Number of vectors behind the inputs.
    claims
        Lines of the cache that the program claims while it computes, as output and offset from its first result.
        Stores wait for lines that the nearest cache does not hold, arithmetic does not.
    """

    def __init__(self, kernel: Kernel, module: LlvmModule, *, claims: bool) -> None:
        program = kernel.program
        self._kernel, self._module = kernel, module
        given = sum(argument.size for argument in program.inputs)
        kinds = {value: program.instructions[value] for value in dict.fromkeys(program.results)}
        computed = [value for value, (kind, *_) in kinds.items() if kind not in ("constant", "input")]
        constant = [value for value, (kind, *_) in kinds.items() if kind == "constant"]
        self.position = {value: k for k, value in enumerate(computed)}
        self.vectors = len(computed) + len(constant)
        self._constants = [float(kinds[value][1]) for value in constant]
        self._first_constant = given + len(computed)
        positions = {value: given + k for k, value in enumerate((*computed, *constant))}
        positions |= {value: rest[0] for value, (kind, *rest) in kinds.items() if kind == "input"}
        self._places = [positions[value] for value in program.results]
        self._outputs = list(pairwise(accumulate((array.size for array in program.outputs), initial=0)))
        lines = [
            (output, offset)
            for output, array in enumerate(program.outputs)
            for offset in range(0, module.vector_size * array.size, _LINE)
        ]
        many = len(lines) > _MOST_LINES
        self.claims = lines[: program.operation_count // _OPERATIONS_OF_A_LINE] if claims and not many else []
        self._claims_all = self.claims == lines

    def tables(self) -> list[str]:
        """Return the tables as LLVM constants, and the functions that deliver blocks."""
        module = self._module
        offsets = [f"i32 {module.vector_size * place}" for place in self._places]
        numbers = [f"{module.element} {literal(module.rounded(x))}" for x in self._constants]
        sizes = {stop - start for start, stop in self._outputs if stop - start >= module.lanes}
        return [
            f"@{_PLACES} = internal constant [{len(offsets)} x i32] [{', '.join(offsets)}]",
            f"@{_CONSTANTS} = internal constant [{len(numbers)} x {module.element}] [{', '.join(numbers)}]",
            *([self._function_of_rows()] if sizes else []),
            *(self._function_of_lines(size, streams) for size in sorted(sizes) for streams in (False, True)),
        ]

    def _function_of_rows(self) -> str:
        """Write the delivery of an output, from the vectors at a base to a row a lane; its last blocks may overlap."""
        lanes, item = self._module.lanes, self._module.item_size
        w = LlvmWriter(f"internal void @{_ROWS}(ptr %base, ptr %places, i64 %size, ptr %rows)")
        rows = self._rows(w, "%rows")
        last = w.value(f"sub i64 %size, {lanes}")
        with w.loop("%size", lanes) as start:
            first = w.value(f"call i64 @llvm.smin.i64(i64 {start}, i64 {last})")
            for row, numbers in zip(rows, self._gathered(w, first, lanes), strict=True):
                address = w.address(row, (first, item))
                w.emit(f"store {self._module.real} {numbers}, ptr {address}, align 1")
        w.emit("ret void")
        return w.text()

    def _function_of_lines(self, size: int, streams: bool) -> str:
        """Write the delivery of an output whose rows follow one another from an address on, in vectors of neighbours.

        If the address is a multiple of a vector's size, so are those of all stores: none reaches over two lines of the
        cache, which takes half as long again. A row begins within a vector; those that hold the end of a row and the
        beginning of the next are written last. Streams go past the caches.
        """
        lanes, v = self._module.lanes, self._module.real
        blocks, rest = divmod(size, lanes)
        begins = [-lane * size % lanes for lane in range(lanes)]  # numbers of a row before its first own vector
        w = LlvmWriter(f"internal void @{_STREAMS if streams else _LINES}{size}(ptr %base, ptr %places, ptr %address)")

        def joined(left: str, right: str, start: int) -> str:
            """Numbers of two vectors in a row, from a position on."""
            order = ", ".join(f"i32 {start + k}" for k in range(lanes))
            return w.value(f"shufflevector {v} {left}, {v} {right}, <{lanes} x i32> <{order}>") if start else left

        def store(numbers: str, lane: int, column: str | int, offset: int) -> None:
            offset = (lane * size + offset) * self._module.item_size
            start = w.address("%address", (column, self._module.item_size))
            address = w.value(f"getelementptr i8, ptr {start}, i64 {offset}")
            if streams:
                w.emit(f"store {v} {numbers}, ptr {address}, align {self._module.vector_size}, !nontemporal !{{i32 1}}")
                return
            w.emit(f"store {v} {numbers}, ptr {address}, align 1")
            if not self._claims_all:
                w.claim(w.value(f"getelementptr i8, ptr {start}, i64 {offset + _AHEAD}"))

        heads = self._gathered(w, 0, lanes)
        with w.fold((blocks - 1) * lanes, lanes, v, heads) as (column, rows):
            following = self._gathered(w, w.value(f"add i64 {column}, {lanes}"), lanes)
            for lane, begin in enumerate(begins):
                store(joined(rows[lane], following[lane], begin), lane, column, begin)
            rows[:] = following
        ends = self._gathered(w, blocks * lanes, rest) if rest else rows
        for lane, begin in enumerate(begins):
            if begin <= rest:
                store(joined(rows[lane], ends[lane], begin), lane, (blocks - 1) * lanes, begin)
        for lane, begin in enumerate(begins):
            if begin:
                tail = joined(rows[lane - 1], ends[lane - 1], rest)
                store(joined(tail, heads[lane], begin), lane, 0, begin - lanes)
        w.emit("ret void")
        return w.text()

    def _gathered(self, w: LlvmWriter, first: str | int, count: int) -> list[str]:
        """Numbers of ``count`` results from the first on, one vector a lane; less than a vector's are repeated."""
        entries = w.address("%places", (first, _INDEX_SIZE))
        vectors = []
        for k in range(count):
            entry = w.value(f"getelementptr i8, ptr {entries}, i64 {_INDEX_SIZE * k}")
            offset = w.value(f"sext i32 {w.value(f'load i32, ptr {entry}')} to i64")
            vectors.append(w.value(f"getelementptr i8, ptr %base, i64 {offset}"))
        vectors += vectors[-1:] * (self._module.lanes - count)
        return transposition.gathered(w, self._module, vectors)

    def _rows(self, w: LlvmWriter, table: str) -> list[str]:
        """Addresses of an output's rows, one a lane, from a table of them."""
        addresses = [w.value(f"getelementptr i8, ptr {table}, i64 {8 * lane}") for lane in range(self._module.lanes)]
        return [w.value(f"load ptr, ptr {place}") for place in addresses]

    def prepare(self, w: LlvmWriter, base: str) -> None:
        """Write the constants to their vectors."""
        if not self._constants:
            return
        module = self._module
        with w.loop(len(self._constants)) as k:
            address = w.address(f"@{_CONSTANTS}", (k, module.item_size))
            vector = module.splat(w, w.value(f"load {module.element}, ptr {address}"))
            place = w.address(base, (w.value(f"add i64 {k}, {self._first_constant}"), module.vector_size))
            w.emit(f"store {module.real} {vector}, ptr {place}")

    def deliver(self, w: LlvmWriter, base: str, table: str) -> None:
        """Deliver all results from the vectors at a base to the rows in a table of addresses: by output and lane."""
        for output, (start, stop) in enumerate(self._outputs):
            rows = w.value(f"getelementptr i8, ptr {table}, i64 {8 * self._module.lanes * output}")
            if stop - start < self._module.lanes:
                self._deliver_few(w, base, output, self._rows(w, rows))
                continue
            w.emit(f"call void @{_ROWS}(ptr {base}, ptr {self._entries(w, start)}, i64 {stop - start}, ptr {rows})")

    def deliver_lines(self, w: LlvmWriter, base: str, addresses: Sequence[str], streams: str) -> None:
        """Deliver all results from the vectors at a base to rows that follow one another from an address a output.

        They go past the caches where the i1 ``streams`` holds; the addresses must be multiples of a vector's size then.
        """
        module = self._module
        for output, ((start, stop), address) in enumerate(zip(self._outputs, addresses, strict=True)):
            size = stop - start
            if size < module.lanes:
                offsets = [lane * size * module.item_size for lane in range(module.lanes)]
                rows = [w.value(f"getelementptr i8, ptr {address}, i64 {offset}") for offset in offsets]
                self._deliver_few(w, base, output, rows)
                continue
            function = w.value(f"select i1 {streams}, ptr @{_STREAMS}{size}, ptr @{_LINES}{size}")
            w.emit(f"call void {function}(ptr {base}, ptr {self._entries(w, start)}, ptr {address})")

    def _entries(self, w: LlvmWriter, start: int) -> str:
        return w.value(f"getelementptr i8, ptr @{_PLACES}, i64 {_INDEX_SIZE * start}")

    def _deliver_few(self, w: LlvmWriter, base: str, output: int, rows: Sequence[str]) -> None:
        """Deliver an output of fewer numbers than there are lanes."""
        start, stop = self._outputs[output]
        offsets = [self._module.vector_size * place for place in self._places[start:stop]]
        vectors = [w.value(f"getelementptr i8, ptr {base}, i64 {offset}") for offset in offsets]
        transposition.store_few(w, self._module, rows, vectors)

    def place(self, w: LlvmWriter, base: str, output: int, element: str | int) -> str:
        """Return the address of the vector with an element of an output."""
        index = w.value(f"add i64 {element}, {self._outputs[output][0]}")
        offset = w.value(f"load i32, ptr {w.address(f'@{_PLACES}', (index, _INDEX_SIZE))}")
        return w.value(f"getelementptr i8, ptr {base}, i64 {w.value(f'sext i32 {offset} to i64')}")
