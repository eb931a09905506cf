"""Matrices in machine code: rows in vectors, products that stay in registers, and memory for what is needed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chasles.engine.targets.native.transposition import transposed
from chasles.engine.targets.native.writer import ALIGNMENT, LlvmWriter

ITEM = 8
_ACCUMULATORS = {8: 24}  # by lanes: vectors that a product keeps in registers, of 32; else of 16
_FEWER_ACCUMULATORS = 12
#: Blocks of rows that are written one after another; of more there is a loop.
_MOST_BLOCKS_WRITTEN_OUT = 3
#: Rows of matrices whose elements are moved one by one without a loop.
_LARGEST_WRITTEN_OUT = 32


class Columns(NamedTuple):
    """Columns of a matrix that a vector holds."""

    first: int
    size: int


class View(NamedTuple):
    """A matrix in memory.

    Attributes
    ----------
    address
        Address of its first element.
    row, column
        Bytes from row to row and from column to column.
    is_own
        Whether vectors may be read and written past the end of a row: rows are then written from the first to the last.
    """

    address: str
    row: int
    column: int
    is_own: bool

    @property
    def mT(self) -> View:
        """The transpose."""
        return View(self.address, self.column, self.row, self.is_own and self.row == self.column)


class MatrixWriter(LlvmWriter):
    """Writer of operations on rows of vectors."""

    def __init__(self, signature: str, lanes: int) -> None:
        super().__init__(signature)
        self.lanes = lanes
        self.real = f"<{lanes} x double>"
        self.accumulators = _ACCUMULATORS.get(lanes, _FEWER_ACCUMULATORS)
        self.scratch_size = 0

    def declared(self) -> list[str]:
        """Return declarations of the functions that are called."""
        v, suffix, mask = self.real, f"v{self.lanes}f64", f"<{self.lanes} x i1>"
        return [
            f"declare {v} @llvm.fma.{suffix}({v}, {v}, {v})",
            "declare double @llvm.fma.f64(double, double, double)",
            f"declare {v} @llvm.masked.load.{suffix}.p0(ptr, i32, {mask}, {v})",
            f"declare void @llvm.masked.store.{suffix}.p0({v}, ptr, i32, {mask})",
        ]

    def new_matrix(self, rows: int, columns: int) -> View:
        """Reserve memory of a matrix; a single column lies without gaps."""
        width = 1 if columns == 1 else -(-columns // self.lanes) * self.lanes
        address = self.value(f"getelementptr i8, ptr %scratch, i64 {self.scratch_size}")
        self.scratch_size += -(-(rows * width + self.lanes) * ITEM // ALIGNMENT) * ALIGNMENT
        return View(address, width * ITEM, ITEM, True)

    def part(self, view: View, top: str | int, left: int) -> View:
        """Return the part of a matrix from an element on."""
        return view._replace(address=self.at(view, top, left)) if top or left else view

    def partition(self, columns: int) -> list[Columns]:
        """Return columns cut into vectors."""
        return [Columns(k, min(self.lanes, columns - k)) for k in range(0, columns, self.lanes)]

    def blocks(self, rows: int, vectors: int) -> list[range]:
        """Return rows in blocks that registers hold, of a number of vectors each."""
        size = max(1, self.accumulators // vectors)
        return [range(rows)[k : k + size] for k in range(0, rows, size)]

    def each_block(self, rows: int, size: int, *, written_out: bool = False) -> Iterator[tuple[str | int, int]]:
        """Write blocks of rows, in a loop if they are many; yields the first row of each and how many they are."""
        whole = rows // size
        if whole > _MOST_BLOCKS_WRITTEN_OUT and not written_out:
            with self.loop(whole * size, size) as row:
                yield row, size
        else:
            yield from ((k * size, size) for k in range(whole))
        if rows % size:
            yield whole * size, rows % size

    def load(self, view: View, row: int, columns: Sequence[Columns]) -> list[str]:
        """Load vectors of a row."""
        return [
            self._load(self.at(view, row, part.first), range(self.lanes if view.is_own else part.size))
            for part in columns
        ]

    def _load(self, address: str, lanes: range, others: str = "zeroinitializer") -> str:
        """Load lanes of a vector that would begin at an address; the others are those of another one."""
        if len(lanes) == self.lanes:
            return self.value(f"load {self.real}, ptr {address}, align 8")
        if lanes == range(1):
            number = self.value(f"load double, ptr {address}")
            return self.value(f"insertelement {self.real} {others}, double {number}, i32 0")
        v, intrinsic = self.real, f"@llvm.masked.load.v{self.lanes}f64.p0"
        return self.value(f"call {v} {intrinsic}(ptr {address}, i32 8, {self._mask(lanes)}, {v} {others})")

    def store(self, vectors: Sequence[str], view: View, row: str | int, columns: Sequence[Columns]) -> None:
        """Store vectors of a row, from the left to the right: what lies past the end of one is the next one's."""
        for vector, part in zip(vectors, columns, strict=True):
            address = self.at(view, row, part.first)
            if part.size >= self.lanes or (view.is_own and view.row != ITEM):  # in one piece, as it will be loaded
                self.emit(f"store {self.real} {vector}, ptr {address}, align 8")
            elif part.size == 1:
                self.emit(f"store double {self.entry(vector, 0)}, ptr {address}")
            else:
                intrinsic = f"@llvm.masked.store.v{self.lanes}f64.p0"
                mask = self._mask(range(part.size))
                self.emit(f"call void {intrinsic}({self.real} {vector}, ptr {address}, i32 8, {mask})")

    def load_column(self, view: View, first: str | int, count: int) -> str:
        """Load elements of a column below one another into one vector."""
        if view.row == ITEM:
            return self._load(self.at(view, first, 0), range(count))
        vector = "zeroinitializer"
        for lane in range(count):
            number = self.value(f"load double, ptr {self.at(self.part(view, first, 0), lane, 0)}")
            vector = self.value(f"insertelement {self.real} {vector}, double {number}, i32 {lane}")
        return vector

    def joined_lanes(self, first: str, second: str, count: int) -> str:
        """Return the first lanes of a vector, and after them those of another one."""
        picks = ", ".join(f"i32 {k if k < count else self.lanes + k - count}" for k in range(self.lanes))
        return self.value(f"shufflevector {self.real} {first}, {self.real} {second}, <{self.lanes} x i32> <{picks}>")

    def copy(self, source: View, target: View, rows: int, columns: int) -> None:
        """Copy a matrix."""
        if columns == 1 and source.row == target.row == ITEM:
            source, target, rows, columns = source.mT, target.mT, 1, rows
        self.join([(source, columns)], target, rows)

    def join(self, sources: Sequence[tuple[View | None, int]], target: View, rows: int) -> None:
        """Copy matrices, or zeros, each with its number of columns, side by side."""
        parts = self.partition(sum(columns for _, columns in sources))
        for first, count in self.each_block(rows, max(1, self.lanes // len(parts))):
            places = [(source and self.part(source, first, 0), columns) for source, columns in sources]
            into = self.part(target, first, 0)
            for k in range(count):
                self.store([self._joined(places, k, part) for part in parts], into, k, parts)

    def _joined(self, sources: Sequence[tuple[View | None, int]], row: int, part: Columns) -> str:
        """Load a vector of a row of matrices side by side."""
        vector, left = "zeroinitializer", 0
        for source, columns in sources:
            first, last = max(part.first, left), min(part.first + part.size, left + columns)
            if source is not None and first < last:
                address = self.at(source, row, part.first - left)
                vector = self._load(address, range(first - part.first, last - part.first), vector)
            left += columns
        return vector

    def transpose(self, source: View, target: View, rows: int, columns: int) -> None:
        """Copy the transpose of a matrix, of so many rows and columns of the target."""
        with self.loop(rows) as i:
            for j in range(columns):
                self._copy_number(self.at(source, j, i), self.at(target, i, j))

    def mirror(self, view: View, size: int) -> None:
        """Copy the upper triangle of a matrix to the lower one."""
        if size > _LARGEST_WRITTEN_OUT:
            with self.loop(size) as at_row, self.loop(at_row) as at_column:
                self._copy_number(self.at(view, at_column, at_row), self.at(view, at_row, at_column))
            return
        if size <= self.lanes // 2:
            for row, column in ((i, j) for i in range(size) for j in range(i)):
                self._copy_number(self.at(view, column, row), self.at(view, row, column))
            return
        parts = self.partition(size)
        for k, columns in enumerate(parts):
            top, count = columns
            rows = [self.load(view, top + i, parts[k:]) for i in range(count)]
            for q, part in enumerate(parts[k:]):
                block = [vectors[q] for vectors in rows] + ["zeroinitializer"] * (self.lanes - count)
                turned = transposed(self, self.lanes, self.real, block)[: part.size]
                if not q:
                    turned = [self._below(i, turned[i], vectors[0]) for i, vectors in enumerate(rows)]
                for i, vector in enumerate(turned):
                    self.store([vector], view, part.first + i, [columns])

    def _below(self, count: int, vector: str, other: str) -> str:
        """Return the first lanes of a vector, and those after them of another one."""
        v = self.real
        return self.value(f"select <{self.lanes} x i1> {self._bits(range(count))}, {v} {vector}, {v} {other}")

    def _copy_number(self, source: str, target: str) -> None:
        number = self.value(f"load double, ptr {source}")
        self.emit(f"store double {number}, ptr {target}")

    def add_product(
        self, sums: list[str], left: View, right: View, count: int, columns: Sequence[Columns], factor: float = 1.0
    ) -> list[str]:
        """Add factor · Σ_j left[i, j] right[j] to rows of vectors, those of i = 0, 1, …; kept in registers."""
        if not count:
            return sums
        self._count += 1
        k, index, following = self._count, f"%i{self._count}", f"%next{self._count}"
        scale = "" if factor in (1.0, -1.0) else self.repeated("double", self.lanes, factor)
        before = self._block
        self.emit(f"br label %head{k}")
        self.block(f"head{k}")
        start = len(self._lines)
        names = [f"%sum{k}.{i}" for i in range(len(sums))]
        row = self.part(right, index, 0)
        terms = [self._scaled(term, factor, scale) for term in self.load(row, 0, columns)]
        results = []
        first = self.part(left, 0, 0)._replace(address=self.at(left, 0, index))
        for i in range(len(sums) // len(columns)):
            number = self.splat("double", self.lanes, self.value(f"load double, ptr {self.at(first, i, 0)}"))
            totals = names[i * len(terms) : (i + 1) * len(terms)]
            results += [self.fma(number, term, total) for term, total in zip(terms, totals, strict=True)]
        self.emit(f"{following} = add i64 {index}, 1")
        goes_on = self.value(f"icmp slt i64 {following}, {count}")
        self._lines[start:start] = [
            f"  {index} = phi i64 [0, %{before}], [{following}, %head{k}]",
            *(
                f"  {name} = phi {self.real} [{initial}, %{before}], [{result}, %head{k}]"
                for name, initial, result in zip(names, sums, results, strict=True)
            ),
        ]
        self.emit(f"br i1 {goes_on}, label %head{k}, label %exit{k}")
        self.block(f"exit{k}")
        return results

    def dots(self, left: View, right: View, rows: int, count: int) -> str:
        """Return Σ_j left[i, j] right[j] of some rows i in one vector; right is a column without gaps."""
        parts = self.partition(count)
        x = [self._load(self.at(right, part.first, 0), range(part.size)) for part in parts]
        sums = []
        for i in range(rows):
            total = "zeroinitializer"
            for part, vector in zip(parts, x, strict=True):
                total = self.fma(self._load(self.at(left, i, part.first), range(part.size)), vector, total)
            sums.append(total)
        sums = transposed(self, self.lanes, self.real, sums + ["zeroinitializer"] * (self.lanes - rows))
        while len(sums) > 1:
            sums = [self.sum(a, b) for a, b in zip(sums[::2], sums[1::2], strict=True)]
        return sums[0]

    def scaled(self, vectors: Sequence[str], factor: float) -> list[str]:
        """Multiply vectors by a known number."""
        scale = "" if factor == -1.0 else self.repeated("double", self.lanes, factor)
        return [self._scaled(vector, factor, scale) for vector in vectors]

    def _scaled(self, vector: str, factor: float, scale: str) -> str:
        if factor == 1.0:
            return vector
        return self.value(f"fneg {self.real} {vector}" if factor == -1.0 else f"fmul {self.real} {vector}, {scale}")

    def address(self, base: str, *terms: tuple[str | int, str | int]) -> str:
        """Return base + Σ index · stride, in bytes; what is known is added up here."""
        known = sum(a * b for a, b in terms if isinstance(a, int) and isinstance(b, int))
        unknown = [(a, b) for a, b in terms if not (isinstance(a, int) and isinstance(b, int))]
        base = super().address(base, *unknown)
        return self.value(f"getelementptr i8, ptr {base}, i64 {known}") if known else base

    def at(self, view: View, row: str | int, column: str | int) -> str:
        """Return the address of an element."""
        return self.address(view.address, (row, view.row), (column, view.column))

    def repeated_lane(self, row: Sequence[str], column: int) -> str:
        """Return one number of a row of whole vectors in all lanes."""
        vector, picks = row[column // self.lanes], ", ".join([f"i32 {column % self.lanes}"] * self.lanes)
        return self.value(f"shufflevector {self.real} {vector}, {self.real} undef, <{self.lanes} x i32> <{picks}>")

    def shifted(self, row: Sequence[str], column: int) -> str:
        """Return the vector of a row of whole vectors that begins at a column."""
        first, lane = divmod(column, self.lanes)
        if not lane:
            return row[first]
        following = row[first + 1] if first + 1 < len(row) else row[first]
        picks = ", ".join(f"i32 {lane + k}" for k in range(self.lanes))
        vectors = f"{self.real} {row[first]}, {self.real} {following}"
        return self.value(f"shufflevector {vectors}, <{self.lanes} x i32> <{picks}>")

    def entry(self, vector: str, lane: int) -> str:
        """Return one number of a vector."""
        return self.value(f"extractelement {self.real} {vector}, i32 {lane}")

    def sum(self, a: str, b: str) -> str:
        """Return a + b."""
        return a if b == "zeroinitializer" else self.value(f"fadd {self.real} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a · b + c."""
        v = self.real
        return self.value(f"call {v} @llvm.fma.v{self.lanes}f64({v} {a}, {v} {b}, {v} {c})")

    def _mask(self, lanes: range) -> str:
        return f"<{self.lanes} x i1> {self._bits(lanes)}"

    def _bits(self, lanes: range) -> str:
        return f"<{', '.join(f'i1 {str(k in lanes).lower()}' for k in range(self.lanes))}>"
