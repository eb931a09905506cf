"""The Riccati recursion in machine code, with the rows of its matrices along the lanes of vectors.

A scan has one run a lane; a recursion along one motion would leave all lanes but one idle. Here the lanes are the
columns of matrices instead, and a single recursion keeps them busy: it takes a seventh of the time of a traced scan (14
states, 7 inputs). Regulators, Gaussian regulators and Kalman filters use it.

With the joined matrix [B A], the weights W of (u, x) and the cost-to-go P, one step backward is one symmetric matrix

    G = W + [B A]ᵀ P [B A] = [[S, F], [Fᵀ, H]],

of which the inputs' rows [S F] are eliminated, S = L D Lᵀ: the Schur complement that is left of H is the cost-to-go of
the step before, and the eliminated rows, solved backward, are the gains.
"""

from __future__ import annotations

from collections.abc import Iterator

from chasles.engine.targets.native import machine
from chasles.engine.targets.native.writer import ALIGNMENT, LlvmWriter, literal

ENTRY = "chasles_riccati"
_ITEM = 8
_AARCH64_ALL_EXCEPTIONS = 0x1F
_ACCUMULATORS = {8: 24}  # by lanes: vectors that a product keeps in registers, of 32; else of 16
_FEWER_ACCUMULATORS = 12
_TERMINAL, _COST = 3, 5  # places of arrays
#: States and inputs up to which this code is written; longer code would take long to compile.
LARGEST_STATES, LARGEST_INPUTS = 64, 32


def write_riccati(states: int, inputs: int, keep: bool, lanes: int) -> str:
    """Return the LLVM assembly of the recursion for numbers of states and inputs; see `chasles.engine.riccati`."""
    return RiccatiWriter(states, inputs, keep, lanes).module()


class Matrix:
    """Rows of padded vectors in memory: where they begin and how many vectors a row has."""

    def __init__(self, address: str, vectors: int) -> None:
        self.address = address
        self.vectors = vectors


class RiccatiWriter(LlvmWriter):
    """Writer of the recursion, and with `_follow` of what makes use of it."""

    def __init__(self, states: int, inputs: int, keep: bool, lanes: int) -> None:
        super().__init__(f"void @{ENTRY}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
        self.n, self.m, self.keep, self.lanes = states, inputs, keep, lanes
        self.real = f"<{lanes} x double>"
        self.size = lanes * _ITEM
        self.input_vectors = -(-inputs // lanes)
        self.state_vectors = -(-states // lanes)
        self.vectors = self.input_vectors + self.state_vectors
        self.accumulators = _ACCUMULATORS.get(lanes, _FEWER_ACCUMULATORS)
        self.ranks = [3, 3, 3, 2, 3, 3 if keep else 2]  # of A, B, weights, terminal, gains, cost

    def module(self) -> str:
        """Return the whole module as LLVM assembly."""
        self._write()
        suffix, mask = f"v{self.lanes}f64.p0", f"<{self.lanes} x i1>"
        declared = [
            f"declare {self.real} @llvm.fma.v{self.lanes}f64({self.real}, {self.real}, {self.real})",
            "declare double @llvm.fma.f64(double, double, double)",
            f"declare {self.real} @llvm.masked.load.{suffix}(ptr, i32, {mask}, {self.real})",
            "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)",
            f"declare void @llvm.masked.store.{suffix}({self.real}, ptr, i32, {mask})",
        ]
        if machine.is_x86():
            declared += ["declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"]
        else:
            declared.append("declare i32 @feclearexcept(i32)")
        return "\n".join([*declared, *self.declared(), self.text()])

    def declared(self) -> list[str]:
        """Return declarations of what else is called."""
        return []

    def _write(self) -> None:
        """Write the loop, after which floating-point flags are as before: NumPy must not warn of what NaN raises."""
        flags = self.value("alloca i32")
        if machine.is_x86():
            self.emit(f"call void @llvm.x86.sse.stmxcsr(ptr {flags})")
        count = len(self.ranks)
        bases = [self._word("ptr", "%args", k) for k in range(count)]
        strides = [self._word("i64", "%steps", k) for k in range(count)]
        samples, steps = self._word("i64", "%dims", 0), self._word("i64", "%dims", 1)
        # Core strides follow in the order of the arrays' axes; only those of the steps are not known.
        first_axes = [count + sum(self.ranks[:k]) for k in range(count)]
        by_step = [self._word("i64", "%steps", axis) for axis in first_axes]
        n = self.n
        joined, product = self._matrix(n, self.vectors), self._matrix(n, self.vectors)
        F, scaled = self._matrix(self.m, self.state_vectors), self._matrix(self.m, self.state_vectors)
        cost = self._matrix(n, self.state_vectors)
        self._prepare()
        with self.loop(samples) as sample:
            first = [self.address(base, (sample, stride)) for base, stride in zip(bases, strides, strict=True)]
            self._read(first[_TERMINAL], cost, 0, rows=n, columns=n)
            with self.loop(steps) as i:
                k = self.value(f"sub i64 {self.value(f'sub i64 {steps}, 1')}, {i}")
                self._write_step(first, by_step, k, joined, product, F, scaled, cost)
            if not self.keep:
                self._store_rows(cost, first[_COST], rows=n, columns=n)
            self._follow(first, by_step, steps)
        if machine.is_x86():
            self.emit(f"call void @llvm.x86.sse.ldmxcsr(ptr {flags})")
        else:
            self.value(f"call i32 @feclearexcept(i32 {_AARCH64_ALL_EXCEPTIONS})")
        self.emit("ret void")

    def _write_step(
        self,
        first: list[str],
        by_step: list[str],
        k: str,
        joined: Matrix,
        product: Matrix,
        F: Matrix,
        scaled: Matrix,
        cost: Matrix,
    ) -> None:
        """One step backward, k, of a sample whose arrays begin at the addresses `first`."""
        n, m = self.n, self.m
        A, B, weights, _, gains, costs = (self.address(first[j], (k, by_step[j])) for j in range(_COST + 1))
        self._fetch_before(B, by_step[1], n * m)
        self._fetch_before(A, by_step[0], n * n)
        self._read(B, joined, 0, rows=n, columns=m)
        self._read(A, joined, self.input_vectors, rows=n, columns=n)
        self._write_product(cost, joined, product)
        rows = self._input_rows(joined, product, weights)
        self._give(self._eliminate(rows, F, scaled), gains)
        self._write_cost(joined, product, F, scaled, weights, cost)
        if self.keep:
            self._store_rows(cost, costs, rows=n, columns=n)

    def _prepare(self) -> None:
        """Reserve what `_follow` needs."""

    def _follow(self, first: list[str], by_step: list[str], steps: str) -> None:
        """Write what follows the recursion of a sample."""

    def _write_product(self, cost: Matrix, joined: Matrix, product: Matrix) -> None:
        """P [B A]; P is symmetric, so that its rows serve as its columns."""
        for rows in _blocks(range(self.n), self.accumulators // self.vectors):
            sums = ["zeroinitializer"] * (len(rows) * self.vectors)
            self._store_block(self._add_product(cost, 0, joined, 0, self.n, rows, sums), product, rows, 0)

    def _input_rows(self, joined: Matrix, product: Matrix, weights: str) -> list[list[str]]:
        """The rows [S F] of G."""
        result: list[list[str]] = []
        for rows in _blocks(range(self.m), self.accumulators // self.vectors):
            sums = [vector for row in rows for vector in self._weights(weights, row)]
            sums = self._add_product(joined, 0, product, 0, self.n, rows, sums)
            result += [sums[k : k + self.vectors] for k in range(0, len(sums), self.vectors)]
        return result

    def _eliminate(self, rows: list[list[str]], F: Matrix, scaled: Matrix) -> list[list[str]]:
        """Eliminate the inputs' rows in registers; return them times -1/pivot, and leave both forms of F in memory."""
        nan = literal(float("nan"))
        eliminated: list[list[str]] = []
        pivot = self._entry(rows[0], 0)
        for p, row in enumerate(rows):
            positive = self.value(f"fcmp ogt double {pivot}, 0.0")
            factor = self.value(f"fdiv double {literal(-1.0)}, {pivot}")
            factor = self.value(f"select i1 {positive}, double {factor}, double {nan}")
            if p + 1 < self.m:  # alone and at once: the next division waits for nothing else
                square = self.value(f"fmul double {self._entry(row, p + 1)}, {self._entry(row, p + 1)}")
                terms = f"double {square}, double {factor}, double {self._entry(rows[p + 1], p + 1)}"
                pivot = self.value(f"call double @llvm.fma.f64({terms})")
            factor = self._splat(factor)
            multiples = [self.value(f"fmul {self.real} {vector}, {factor}") for vector in row]
            for other in rows[p + 1 :]:
                share = self._lane(row, rows.index(other))
                for k in range((p + 1) // self.lanes, self.vectors):
                    other[k] = self._fma(share, multiples[k], other[k])
            for k in range(self.state_vectors):
                self._store(row[self.input_vectors + k], self._at(F, p, k))
                self._store(multiples[self.input_vectors + k], self._at(scaled, p, k))
            eliminated.append(multiples)
        return eliminated

    def _give(self, rows: list[list[str]], gains: str) -> None:
        """Solve the eliminated rows -Lᵀ and -D⁻¹ L⁻¹ F backward for the gains, Lᵀ K = D⁻¹ L⁻¹ F, and store these."""
        negative = [row[self.input_vectors :] for row in rows]
        for p in reversed(range(self.m)):
            for q in range(p):
                share = self._lane(rows[q], p)
                negative[q] = [self._fma(share, x, total) for x, total in zip(negative[p], negative[q], strict=True)]
            for k, vector in enumerate(negative[p]):
                place = self.address(gains, (p * self.n + k * self.lanes, _ITEM))
                self._masked_store(self.value(f"fneg {self.real} {vector}"), place, self.n - k * self.lanes)

    def _write_cost(
        self, joined: Matrix, product: Matrix, F: Matrix, scaled: Matrix, weights: str, cost: Matrix
    ) -> None:
        """Write the Schur complement: of each row the vectors from the diagonal on, and then their mirror image."""
        for rows in self._cost_blocks():
            first = rows.start // self.lanes
            sums = [vector for i in rows for vector in self._weights(weights, self.m + i)[self.input_vectors + first :]]
            column, vector = self.input_vectors * self.lanes, self.input_vectors + first
            sums = self._add_product(joined, column, product, vector, self.n, rows, sums)
            sums = self._add_product(F, 0, scaled, first, self.m, rows, sums)
            self._store_block(sums, cost, rows, first)
        for i in range(1, self.n):
            for j in range(i):
                number = self._number(cost, j, i)
                self.emit(f"store double {number}, ptr {self.address(self._at(cost, i, 0), (j, _ITEM))}")

    def _cost_blocks(self) -> Iterator[range]:
        """Rows of the cost-to-go whose diagonal lies in the same vector, in blocks for which there are registers."""
        for first in range(self.state_vectors):
            rows = range(first * self.lanes, min((first + 1) * self.lanes, self.n))
            yield from _blocks(rows, self.accumulators // (self.state_vectors - first))

    def _add_product(
        self, left: Matrix, column: int, right: Matrix, vector: int, count: int, rows: range, sums: list[str]
    ) -> list[str]:
        """Add Σ_j left[j, column + i] · right[j], from a vector of it on, for each i of the rows; kept in registers."""
        self._count += 1
        k, before = self._count, self._block
        index, following = f"%i{k}", f"%next{k}"
        self.emit(f"br label %head{k}")
        self.block(f"head{k}")
        start = len(self._lines)
        names = [f"%sum{k}.{i}" for i in range(len(sums))]
        terms = [self._load(self._at(right, index, v)) for v in range(vector, right.vectors)]
        results = []
        for position, row in enumerate(rows):
            factor = self._splat(self._number(left, index, column + row))
            totals = names[position * len(terms) : (position + 1) * len(terms)]
            results += [self._fma(factor, term, total) for term, total in zip(terms, totals, strict=True)]
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

    def _weights(self, weights: str, row: int) -> list[str]:
        """A row of the weights, inputs and states each padded."""
        first = self.address(weights, (row * (self.m + self.n), _ITEM))
        return [
            self._masked_load(self.address(first, (offset + k, _ITEM)), columns - k)
            for columns, offset in ((self.m, 0), (self.n, self.m))
            for k in range(0, columns, self.lanes)
        ]

    def _read(self, source: str, target: Matrix, vector: int, *, rows: int, columns: int) -> None:
        """Copy a dense matrix into padded rows."""
        with self.loop(rows) as row:
            first = self.address(source, (row, columns * _ITEM))
            for k in range(-(-columns // self.lanes)):
                part = self._masked_load(self.address(first, (k, self.size)), columns - k * self.lanes)
                self._store(part, self._at(target, row, vector + k))

    def _fetch_before(self, matrix: str, stride: str | int, size: int) -> None:
        """Have the matrix of the step before fetched into the cache; an address outside of an array does no harm."""
        before = self.value(f"sub i64 0, {stride}")
        first = self.value(f"getelementptr i8, ptr {matrix}, i64 {before}")
        for offset in range(0, size * _ITEM, ALIGNMENT):
            self.emit(f"call void @llvm.prefetch.p0(ptr {self.address(first, (offset, 1))}, i32 0, i32 3, i32 1)")

    def _store_rows(self, source: Matrix, target: str, *, rows: int, columns: int) -> None:
        """Copy padded rows into a dense matrix."""
        with self.loop(rows) as row:
            first = self.address(target, (row, columns * _ITEM))
            for k in range(-(-columns // self.lanes)):
                place = self.address(first, (k, self.size))
                self._masked_store(self._load(self._at(source, row, k)), place, columns - k * self.lanes)

    def _store_block(self, vectors: list[str], target: Matrix, rows: range, first: int) -> None:
        """Store vectors as rows, from the vector ``first`` of each on."""
        width = target.vectors - first
        for k, vector in enumerate(vectors):
            self._store(vector, self._at(target, rows[k // width], first + k % width))

    def address(self, base: str, *terms: tuple[str | int, str | int]) -> str:
        """Return base + Σ index · stride, in bytes; what is known is added up here."""
        known = sum(a * b for a, b in terms if isinstance(a, int) and isinstance(b, int))
        unknown = [(a, b) for a, b in terms if not (isinstance(a, int) and isinstance(b, int))]
        base = super().address(base, *unknown)
        return self.value(f"getelementptr i8, ptr {base}, i64 {known}") if known else base

    def _word(self, kind: str, base: str, position: int) -> str:
        return self.value(f"load {kind}, ptr {self.address(base, (position, 8))}")

    def _matrix(self, rows: int, vectors: int) -> Matrix:
        return Matrix(self.value(f"alloca [{rows * vectors} x {self.real}], align 64"), vectors)

    def _at(self, matrix: Matrix, row: str | int, vector: int) -> str:
        return self.address(matrix.address, (row, matrix.vectors * self.size), (vector, self.size))

    def _number(self, matrix: Matrix, row: str | int, column: int) -> str:
        return self.value(f"load double, ptr {self.address(self._at(matrix, row, 0), (column, _ITEM))}")

    def _load(self, address: str) -> str:
        return self.value(f"load {self.real}, ptr {address}")

    def _store(self, vector: str, address: str) -> None:
        self.emit(f"store {self.real} {vector}, ptr {address}")

    def _splat(self, number: str) -> str:
        return self._repeated(self.value(f"insertelement {self.real} undef, double {number}, i32 0"), 0)

    def _lane(self, row: list[str], column: int) -> str:
        """One number of a row of vectors in all lanes."""
        return self._repeated(row[column // self.lanes], column % self.lanes)

    def _entry(self, row: list[str], column: int) -> str:
        """One number of a row of vectors."""
        return self.value(f"extractelement {self.real} {row[column // self.lanes]}, i32 {column % self.lanes}")

    def _repeated(self, vector: str, lane: int) -> str:
        picks = ", ".join([f"i32 {lane}"] * self.lanes)
        return self.value(f"shufflevector {self.real} {vector}, {self.real} undef, <{self.lanes} x i32> <{picks}>")

    def _fma(self, a: str, b: str, c: str) -> str:
        v = self.real
        return self.value(f"call {v} @llvm.fma.v{self.lanes}f64({v} {a}, {v} {b}, {v} {c})")

    def _mask(self, count: int) -> str:
        return f"<{self.lanes} x i1> <{', '.join('i1 true' if k < count else 'i1 false' for k in range(self.lanes))}>"

    def _masked_load(self, address: str, count: int) -> str:
        if count >= self.lanes:
            return self.value(f"load {self.real}, ptr {address}, align 8")
        intrinsic = f"@llvm.masked.load.v{self.lanes}f64.p0"
        mask = self._mask(count)
        return self.value(f"call {self.real} {intrinsic}(ptr {address}, i32 8, {mask}, {self.real} zeroinitializer)")

    def _masked_store(self, vector: str, address: str, count: int) -> None:
        if count >= self.lanes:
            self.emit(f"store {self.real} {vector}, ptr {address}, align 8")
            return
        intrinsic = f"@llvm.masked.store.v{self.lanes}f64.p0"
        self.emit(f"call void {intrinsic}({self.real} {vector}, ptr {address}, i32 8, {self._mask(count)})")


def _blocks(rows: range, size: int) -> list[range]:
    """Cut rows into blocks of a size, at least 1."""
    return [rows[k : k + max(1, size)] for k in range(0, len(rows), max(1, size))]
