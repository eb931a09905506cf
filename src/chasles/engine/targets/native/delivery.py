"""Results on their way out: from vectors of lanes to rows of samples, a square block at a time.

A program's results wait as vectors, each distinct one once: what occurs in several places, and what is constant, is
written to all its places from one vector. A table says which vector belongs to each place.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from chasles.engine.kernels import Kernel
from chasles.engine.targets.native import transposition
from chasles.engine.targets.native.functions import Module
from chasles.engine.targets.native.writer import Writer, literal

_PLACES, _CONSTANTS = "chasles.places", "chasles.constants"
_LONG_ROWS, _SHORT_ROWS = "chasles.deliver_long", "chasles.deliver_short"
_INDEX_SIZE = 4  # bytes of an entry of the table
_TO_WRITE, _TO_READ = (1, 3), (0, 2)  # kinds of prefetches: into the nearest cache, and into the one behind it
#: Rows begin anywhere in a line of the cache, and a vector that reaches over two lines that are still far away is
#: written slowly: what follows in its row at this distance, in bytes, is fetched meanwhile.
_AHEAD = 256
#: Rows of up to so many bytes end before the processor sees them coming: those of the next samples are fetched as well.
_SHORT_ROW = 2048


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
    """

    def __init__(self, kernel: Kernel, module: Module) -> None:
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
        places = {value: given + k for k, value in enumerate((*computed, *constant))}
        places |= {value: rest[0] for value, (kind, *rest) in kinds.items() if kind == "input"}
        self._places = [places[value] for value in program.results]
        self._outputs = list(pairwise(accumulate((array.size for array in program.outputs), initial=0)))

    def tables(self) -> list[str]:
        """Return the tables as LLVM constants, and the functions that deliver blocks."""
        module = self._module
        places = [f"i32 {module.vector_size * place}" for place in self._places]
        numbers = [f"{module.element} {literal(module.rounded(x))}" for x in self._constants]
        return [
            f"@{_PLACES} = internal constant [{len(places)} x i32] [{', '.join(places)}]",
            f"@{_CONSTANTS} = internal constant [{len(numbers)} x {module.element}] [{', '.join(numbers)}]",
            *(self._function(name) for name in (_LONG_ROWS, _SHORT_ROWS)),
        ]

    def _function(self, name: str) -> str:
        """Write the delivery of an output, from the vectors at a base to a row a lane; its last blocks may overlap."""
        module, lanes, item = self._module, self._module.lanes, self._module.item_size
        w = Writer(f"internal void @{name}(ptr %base, ptr %places, i64 %size, ptr %rows)")
        rows = self._rows(w, "%rows")
        last = w.value(f"sub i64 %size, {lanes}")
        following = w.value(f"mul i64 %size, {lanes * item}")
        with w.loop("%size", lanes) as start:
            first = w.value(f"call i64 @llvm.smin.i64(i64 {start}, i64 {last})")
            entries = w.address("%places", (first, _INDEX_SIZE))
            vectors = []
            for k in range(lanes):
                entry = w.value(f"getelementptr i8, ptr {entries}, i64 {_INDEX_SIZE * k}")
                offset = w.value(f"sext i32 {w.value(f'load i32, ptr {entry}')} to i64")
                vectors.append(w.value(f"getelementptr i8, ptr %base, i64 {offset}"))
            for row, numbers in zip(rows, transposition.gathered(w, module, vectors), strict=True):
                address = w.address(row, (first, item))
                w.emit(f"store {module.real} {numbers}, ptr {address}, align 1")
                _prefetch(w, address, _AHEAD, _TO_WRITE)
                if name == _SHORT_ROWS:
                    _prefetch(w, address, following, _TO_READ)
        w.emit("ret void")
        return w.text()

    def _rows(self, w: Writer, table: str) -> list[str]:
        """Addresses of an output's rows, one a lane, from a table of them."""
        places = [w.value(f"getelementptr i8, ptr {table}, i64 {8 * lane}") for lane in range(self._module.lanes)]
        return [w.value(f"load ptr, ptr {place}") for place in places]

    def prepare(self, w: Writer, base: str) -> None:
        """Write the constants to their vectors."""
        if not self._constants:
            return
        module = self._module
        with w.loop(len(self._constants)) as k:
            address = w.address(f"@{_CONSTANTS}", (k, module.item_size))
            vector = module.splat(w, w.value(f"load {module.element}, ptr {address}"))
            place = w.address(base, (w.value(f"add i64 {k}, {self._first_constant}"), module.vector_size))
            w.emit(f"store {module.real} {vector}, ptr {place}")

    def deliver(self, w: Writer, base: str, table: str) -> None:
        """Deliver all results from the vectors at a base to the rows in a table of addresses: by output and lane."""
        module = self._module
        for output, (start, stop) in enumerate(self._outputs):
            size = stop - start
            rows = w.value(f"getelementptr i8, ptr {table}, i64 {8 * module.lanes * output}")
            if size >= module.lanes:
                name = _SHORT_ROWS if size * module.item_size <= _SHORT_ROW else _LONG_ROWS
                entries = w.value(f"getelementptr i8, ptr @{_PLACES}, i64 {_INDEX_SIZE * start}")
                w.emit(f"call void @{name}(ptr {base}, ptr {entries}, i64 {size}, ptr {rows})")
                continue
            vectors = [
                w.value(f"getelementptr i8, ptr {base}, i64 {module.vector_size * place}")
                for place in self._places[start:stop]
            ]
            addresses = self._rows(w, rows)
            transposition.store_few(w, module, addresses, vectors)
            for address in addresses:
                _prefetch(w, address, module.lanes * size * module.item_size, _TO_WRITE)

    def place(self, w: Writer, base: str, output: int, element: str | int) -> str:
        """Return the address of the vector with an element of an output."""
        index = w.value(f"add i64 {element}, {self._outputs[output][0]}")
        offset = w.value(f"load i32, ptr {w.address(f'@{_PLACES}', (index, _INDEX_SIZE))}")
        return w.value(f"getelementptr i8, ptr {base}, i64 {w.value(f'sext i32 {offset} to i64')}")


def _prefetch(w: Writer, address: str, ahead: str | int, kind: tuple[int, int]) -> None:
    """Have memory fetched; an address beyond an array does no harm."""
    place = w.value(f"getelementptr i8, ptr {address}, i64 {ahead}")
    w.emit(f"call void @llvm.prefetch.p0(ptr {place}, i32 {kind[0]}, i32 {kind[1]}, i32 1)")
