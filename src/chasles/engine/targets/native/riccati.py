"""The Riccati recursion in machine code, with the rows of its matrices along the lanes of vectors.

A scan has one run a lane; a recursion along one motion would leave all lanes but one idle. Here the lanes are the
columns of matrices instead, and a single recursion keeps them busy.

With the joined matrix [B A], the weights W of (u, x) and the cost-to-go P, one step backward is one symmetric matrix

    G = W + [B A]ᵀ P [B A],

of which the inputs' rows are eliminated: what is left of the states' block is the cost-to-go of the step before, and
the eliminated rows, solved backward, are the gains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np

from chasles.engine.gufunc import make_gufunc
from chasles.engine.targets.native import machine
from chasles.engine.targets.native.writer import Writer, literal

ENTRY = "chasles_riccati"
_ITEM = 8
_AARCH64_ALL_EXCEPTIONS = 0x1F
_ACCUMULATORS = {8: 24}  # by lanes: vectors that a product keeps in registers, of 32; else of 16
_FEWER_ACCUMULATORS = 12
#: Sizes up to which this code is written; longer code would take long to compile.
LARGEST = 64
_UNROLLED = 32  # states and inputs, up to which steps of the elimination are written one after another


@cache
def compile_riccati(states: int, inputs: int, *, keep: bool) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return the recursion ``(A, B, weights, terminal) -> (gains, cost)`` for given numbers of states and inputs.

    Parameters
    ----------
    states, inputs
        n and m.
    keep
        Whether the cost-to-go is wanted of every step, shape (S, n, n), or of the first alone, shape (n, n).

    Returns
    -------
    Callable
        A generalized ufunc of float64 arrays A (S, n, n), B (S, n, m), weights (S, m + n, m + n) of the inputs and then
        the states, of which the upper triangle is read, and terminal (n, n), all dense in memory but for the axis S.
        Gains (S, m, n) are such that u = -K x. A pivot that is not positive makes all that follows NaN.
    """
    lanes = machine.lanes("float64")
    content = f"riccati {states} {inputs} {keep} {lanes}"
    code = machine.loaded(content, lambda: _RiccatiWriter(states, inputs, keep, lanes).module())
    n, m, w = states, inputs, states + inputs
    cost = f"(s,{n},{n})" if keep else f"({n},{n})"
    ufunc, kept = make_gufunc(
        code.address(ENTRY),
        inputs=4,
        outputs=2,
        signature=f"(s,{n},{n}),(s,{n},{m}),(s,{w},{w}),({n},{n})->(s,{m},{n}),{cost}",
        dtype="float64",
        name="riccati",
        doc="",
    )
    _alive.append((code, kept))
    return ufunc


_alive: list[object] = []  # machine code and what its ufuncs point to, as long as the cache above


class _Matrix:
    """Rows of padded vectors in memory: address, number of vectors in a row."""

    def __init__(self, address: str, vectors: int, lanes: int) -> None:
        self.address = address
        self.vectors = vectors
        self.stride = vectors * lanes * _ITEM


class _RiccatiWriter(Writer):
    def __init__(self, states: int, inputs: int, keep: bool, lanes: int) -> None:
        super().__init__(f"void @{ENTRY}(ptr %args, ptr %dims, ptr %steps, ptr %data)")
        self.n, self.m, self.keep, self.lanes = states, inputs, keep, lanes
        self.real = f"<{lanes} x double>"
        self.size = lanes * _ITEM
        self.input_vectors = -(-inputs // lanes)
        self.state_vectors = -(-states // lanes)
        self.vectors = self.input_vectors + self.state_vectors
        self.accumulators = _ACCUMULATORS.get(lanes, _FEWER_ACCUMULATORS)

    def module(self) -> str:
        """Return the whole module as LLVM assembly."""
        self._write()
        suffix, mask = f"v{self.lanes}f64.p0", f"<{self.lanes} x i1>"
        declared = [
            f"declare {self.real} @llvm.fma.v{self.lanes}f64({self.real}, {self.real}, {self.real})",
            f"declare {self.real} @llvm.masked.load.{suffix}(ptr, i32, {mask}, {self.real})",
            f"declare void @llvm.masked.store.{suffix}({self.real}, ptr, i32, {mask})",
        ]
        declared += (
            [
                "declare void @llvm.x86.sse.stmxcsr(ptr)",
                "declare void @llvm.x86.sse.ldmxcsr(ptr)",
            ]
            if machine.is_x86()
            else ["declare i32 @feclearexcept(i32)"]
        )
        return "\n".join([*declared, self.text()])

    def _write(self) -> None:
        """Write the loop, after which floating-point flags are as before: NumPy must not warn of what NaN raises."""
        n, m = self.n, self.m
        flags = self.value("alloca i32")
        if machine.is_x86():
            self.emit(f"call void @llvm.x86.sse.stmxcsr(ptr {flags})")
        bases = [self._word("ptr", "%args", k) for k in range(6)]
        strides = [self._word("i64", "%steps", k) for k in range(6)]
        samples, steps = self._word("i64", "%dims", 0), self._word("i64", "%dims", 1)
        # Core strides follow in the order of the arrays' axes; only those of the steps are not known.
        places = [6, 9, 12, None, 17, 20 if self.keep else None]
        by_step = [self._word("i64", "%steps", place) if place is not None else "0" for place in places]
        joined, product, eliminated = (self._matrix(rows) for rows in (n, n, m + n))
        cost = self._matrix(n, self.state_vectors)
        with self.loop(samples) as sample:
            A, B, weights, terminal, gains, costs = (
                self.address(base, (sample, stride)) for base, stride in zip(bases, strides, strict=True)
            )
            self._read(terminal, cost, 0, rows=n, columns=n)
            with self.loop(steps) as i:
                k = self.value(f"sub i64 {self.value(f'sub i64 {steps}, 1')}, {i}")
                A_k, B_k, weights_k, gains_k, costs_k = (
                    self.address(base, (k, stride))
                    for base, stride in zip((A, B, weights, gains, costs), (*by_step[:3], *by_step[4:]), strict=True)
                )
                self._read(B_k, joined, 0, rows=n, columns=m)
                self._read(A_k, joined, self.input_vectors, rows=n, columns=n)
                self._product(cost, 0, n, joined, product, lambda row: [None] * self.vectors)
                self._add_products(joined, product, weights_k, eliminated)
                self._eliminate(eliminated)
                self._give(eliminated, gains_k)
                self._mirror(eliminated, cost)
                if self.keep:
                    self._store_rows(cost, 0, costs_k, rows=n, columns=n)
            if not self.keep:
                self._store_rows(cost, 0, costs, rows=n, columns=n)
        if machine.is_x86():
            self.emit(f"call void @llvm.x86.sse.ldmxcsr(ptr {flags})")
        else:
            self.value(f"call i32 @feclearexcept(i32 {_AARCH64_ALL_EXCEPTIONS})")
        self.emit("ret void")

    def _word(self, kind: str, base: str, position: int) -> str:
        return self.value(f"load {kind}, ptr {self.address(base, (position, 8))}")

    def _matrix(self, rows: int, vectors: int | None = None) -> _Matrix:
        vectors = self.vectors if vectors is None else vectors
        address = self.value(f"alloca [{rows * vectors} x {self.real}], align 64")
        return _Matrix(address, vectors, self.lanes)

    def address(self, base: str, *terms: tuple[str | int, str | int]) -> str:
        """Return base + Σ index · stride, in bytes; what is known is added up here."""
        known = sum(a * b for a, b in terms if isinstance(a, int) and isinstance(b, int))
        unknown = [(a, b) for a, b in terms if not (isinstance(a, int) and isinstance(b, int))]
        base = super().address(base, *unknown)
        return self.value(f"getelementptr i8, ptr {base}, i64 {known}") if known else base

    def _at(self, matrix: _Matrix, row: str | int, vector: int) -> str:
        return self.address(matrix.address, (row, matrix.stride), (vector, self.size))

    def _load(self, address: str) -> str:
        return self.value(f"load {self.real}, ptr {address}")

    def _store(self, vector: str, address: str) -> None:
        self.emit(f"store {self.real} {vector}, ptr {address}")

    def _splat(self, number: str) -> str:
        single = self.value(f"insertelement {self.real} undef, double {number}, i32 0")
        return self.value(
            f"shufflevector {self.real} {single}, {self.real} undef, <{self.lanes} x i32> zeroinitializer"
        )

    def _number(self, matrix: _Matrix, row: int | str, column: int | str, vector: int = 0) -> str:
        """One number of a row, counted from the start of a vector."""
        place = self.address(self._at(matrix, row, vector), (column, _ITEM))
        return self.value(f"load double, ptr {place}")

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

    def _read(self, source: str, target: _Matrix, vector: int, *, rows: int, columns: int) -> None:
        """Copy a dense matrix into padded rows."""
        with self.loop(rows) as row:
            first = self.address(source, (row, columns * _ITEM))
            for k in range(-(-columns // self.lanes)):
                place = self.address(first, (k, self.size))
                self._store(self._masked_load(place, columns - k * self.lanes), self._at(target, row, vector + k))

    def _store_rows(self, source: _Matrix, vector: int, target: str, *, rows: int, columns: int) -> None:
        """Copy padded rows into a dense matrix."""
        with self.loop(rows) as row:
            first = self.address(target, (row, columns * _ITEM))
            for k in range(-(-columns // self.lanes)):
                place = self.address(first, (k, self.size))
                self._masked_store(self._load(self._at(source, row, vector + k)), place, columns - k * self.lanes)

    def _product(
        self,
        left: _Matrix,
        first_column: int,
        columns: int,
        right: _Matrix,
        target: _Matrix,
        start: Callable[[int], Sequence[str | None]],
        first_row: int = 0,
        first_vector: Callable[[int], int] = lambda row: 0,
    ) -> None:
        """Rows ``first_row + i`` of the target: start + Σ_j left[j, first_column + i] · right[j], for all columns i."""
        row = 0
        while row < columns:
            vector = first_vector(row)
            count = max(1, self.accumulators // (right.vectors - vector))
            block = range(row, min(row + count, columns))
            self._block_of_rows(left, first_column, block, right, target, start, first_row, vector)
            row = block.stop

    def _block_of_rows(
        self,
        left: _Matrix,
        first_column: int,
        rows: range,
        right: _Matrix,
        target: _Matrix,
        start: Callable[[int], Sequence[str | None]],
        first_row: int,
        vector: int,
    ) -> None:
        width = right.vectors - vector
        sums = [initial or "zeroinitializer" for row in rows for initial in start(row)[vector:]]

        def add(j: str, sums: list[str]) -> list[str]:
            factors = [self._splat(self._number(left, j, first_column + row)) for row in rows]
            terms = [self._load(self._at(right, j, vector + k)) for k in range(width)]
            return [self._fma(factors[k // width], terms[k % width], total) for k, total in enumerate(sums)]

        for k, total in enumerate(self._accumulated(self.n, sums, add)):
            place = self._at(target, first_row + rows[k // width], vector + k % width)
            self._store(total, place)

    def _accumulated(self, count: int, initial: list[str], add: Callable[[str, list[str]], list[str]]) -> list[str]:
        """Sums that a loop keeps in registers."""
        self._count += 1
        k, before = self._count, self._block
        self.emit(f"br label %head{k}")
        self.block(f"head{k}")
        position = len(self._lines)
        sums = [f"%sum{k}.{i}" for i in range(len(initial))]
        index, following = f"%i{k}", f"%next{k}"
        results = add(index, sums)
        self.emit(f"{following} = add i64 {index}, 1")
        goes_on = self.value(f"icmp slt i64 {following}, {count}")
        phis = [f"  {index} = phi i64 [0, %{before}], [{following}, %head{k}]"]
        phis += [
            f"  {name} = phi {self.real} [{start}, %{before}], [{result}, %head{k}]"
            for name, start, result in zip(sums, initial, results, strict=True)
        ]
        self._lines[position:position] = phis
        self.emit(f"br i1 {goes_on}, label %head{k}, label %exit{k}")
        self.block(f"exit{k}")
        return results

    def _add_products(self, joined: _Matrix, product: _Matrix, weights: str, target: _Matrix) -> None:
        """G = weights + joinedᵀ product; of the states' rows only the vectors that reach the diagonal."""
        n, m, w = self.n, self.m, self.n + self.m

        def weight(row: int) -> list[str]:
            first = self.address(weights, (row * w, _ITEM))
            vectors = []
            for columns, offset in ((m, 0), (n, m)):
                for k in range(0, columns, self.lanes):
                    place = self.address(first, (offset + k, _ITEM))
                    vectors.append(self._masked_load(place, columns - k))
            return vectors

        self._product(joined, 0, m, product, target, weight)
        self._product(
            joined,
            self.input_vectors * self.lanes,
            n,
            product,
            target,
            lambda row: weight(m + row),
            first_row=m,
            first_vector=lambda row: self.input_vectors + row // self.lanes,
        )

    def _each(self, rows: range, visit: Callable[[int | str], None]) -> None:
        """Visit rows, one after another in the code, or in a loop where there are many."""
        if self.n + self.m <= _UNROLLED:
            for row in rows:
                visit(row)
        elif rows:
            with self.loop(len(rows)) as i:
                visit(self.value(f"add i64 {i}, {rows.start}"))

    def _eliminate(self, G: _Matrix) -> None:
        """Eliminate the inputs' rows, which keep -1/pivot times themselves; states' rows only where they are kept."""
        one, nan = literal(1.0), literal(float("nan"))
        for p in range(self.m):
            pivot = self._number(G, p, p)
            positive = self.value(f"fcmp ogt double {pivot}, 0.0")
            pivot = self.value(f"select i1 {positive}, double {pivot}, double {nan}")
            factor = self._splat(self.value(f"fdiv double {self.value(f'fneg double {one}')}, {pivot}"))
            first = (p + 1) // self.lanes if p + 1 < self.m else self.input_vectors
            scaled = {
                k: self.value(f"fmul {self.real} {self._load(self._at(G, p, k))}, {factor}")
                for k in range(first, self.vectors)
            }

            def eliminate(i: int | str, p: int = p, scaled: Mapping[int, str] = scaled) -> None:
                self._add_multiple(G, i, self._number(G, p, i), scaled)

            self._each(range(p + 1, self.m), eliminate)
            for begin in range(0, self.n, self.lanes):
                kept = {k: x for k, x in scaled.items() if k >= self.input_vectors + begin // self.lanes}

                def reduce(i: int | str, p: int = p, kept: Mapping[int, str] = kept) -> None:
                    row = self.m + i if isinstance(i, int) else self.value(f"add i64 {i}, {self.m}")
                    self._add_multiple(G, row, self._number(G, p, i, self.input_vectors), kept)

                self._each(range(begin, min(begin + self.lanes, self.n)), reduce)
            for k, vector in scaled.items():
                self._store(vector, self._at(G, p, k))

    def _add_multiple(self, G: _Matrix, row: int | str, number: str, vectors: Mapping[int, str]) -> None:
        """Add a multiple of vectors to those of a row."""
        factor = self._splat(number)
        for k, vector in vectors.items():
            place = self._at(G, row, k)
            self._store(self._fma(factor, vector, self._load(place)), place)

    def _give(self, G: _Matrix, gains: str) -> None:
        """Solve the inputs' rows backward and store them: they hold -U and -D⁻¹ L⁻¹ F, and U K = D⁻¹ L⁻¹ F."""
        for p in reversed(range(self.m)):
            negative = {k: self._load(self._at(G, p, k)) for k in range(self.input_vectors, self.vectors)}

            def substitute(q: int | str, p: int = p, negative: Mapping[int, str] = negative) -> None:
                self._add_multiple(G, q, self._number(G, q, p), negative)

            self._each(range(p), substitute)
            for k, vector in enumerate(negative.values()):
                place = self.address(gains, (p * self.n + k * self.lanes, _ITEM))
                self._masked_store(self.value(f"fneg {self.real} {vector}"), place, self.n - k * self.lanes)

    def _mirror(self, G: _Matrix, cost: _Matrix) -> None:
        """Copy the Schur complement: the upper triangle by vectors, and its mirror image number by number."""
        for i in range(self.n):
            for k in range(i // self.lanes, self.state_vectors):
                vector = self._load(self._at(G, self.m + i, self.input_vectors + k))
                self._store(vector, self._at(cost, i, k))
        for i in range(1, self.n):

            def mirror(j: int | str, i: int = i) -> None:
                row = self.m + j if isinstance(j, int) else self.value(f"add i64 {j}, {self.m}")
                number = self._number(G, row, i, self.input_vectors)
                self.emit(f"store double {number}, ptr {self.address(self._at(cost, i, 0), (j, _ITEM))}")

            self._each(range(i), mirror)
