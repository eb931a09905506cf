"""A linear-quadratic problem in machine code: the Riccati recursion backward, and the motion of its regulator forward.

The last state is always 1, so that costs may have gradients and steps may miss the next state; see
`chasles.control.optimal.backward_pass`.
"""

from __future__ import annotations

from chasles.engine.targets.native.riccati import Matrix, RiccatiWriter
from chasles.engine.targets.native.writer import literal

_ITEM = 8
_A, _B, _TERMINAL, _GAINS, _COST, _MOTION, _LAST, _COSTATES, _LAST_COSTATE = 0, 1, 3, 4, 5, 6, 7, 8, 9


def write_linear_quadratic(states: int, inputs: int, lanes: int) -> str:
    """Return the LLVM assembly for numbers of states, with the one that is 1, and inputs."""
    return _LinearQuadraticWriter(states, inputs, True, lanes).module()


class _LinearQuadraticWriter(RiccatiWriter):
    def __init__(self, states: int, inputs: int, keep: bool, lanes: int) -> None:
        super().__init__(states, inputs, keep, lanes)
        self.ranks += [2, 1, 2, 1]  # of motion, last state, costates, last costate

    def declared(self) -> list[str]:
        return [f"declare double @llvm.vector.reduce.fadd.v{self.lanes}f64(double, {self.real})"]

    def _prepare(self) -> None:
        self._state, self._next = self._matrix(1, self.state_vectors), self._matrix(1, self.state_vectors)
        self._input = self._matrix(1, self.input_vectors)

    def _follow(self, first: list[str], by_step: list[str], steps: str) -> None:
        """Write the motion (u, x) from x = 0 on and the costates of its states."""
        n, m = self.n, self.m
        for matrix in (self._state, self._next, self._input):
            for vector in range(matrix.vectors):
                self._store("zeroinitializer", self._at(matrix, 0, vector))
        self.emit(f"store double {literal(1.0)}, ptr {self.address(self._state.address, (n - 1, _ITEM))}")
        with self.loop(steps) as k:
            A, B, _, _, gains, cost, motion, _, costates = (
                self.address(first[j], (k, by_step[j])) for j in range(_COSTATES + 1)
            )
            x = self._loaded(self._state)
            with self.loop(m) as i:
                total = self._dot(gains, i, x, n)
                u = self.value(f"fneg double {total}")
                self.emit(f"store double {u}, ptr {self.address(self._input.address, (i, _ITEM))}")
            u_all = self._loaded(self._input)
            self._store_row(u_all, motion, m)
            self._store_row(x, self.address(motion, (m, _ITEM)), n - 1)
            self._store_product(cost, x, costates)
            with self.loop(n) as i:
                following = self.value(f"fadd double {self._dot(A, i, x, n)}, {self._dot(B, i, u_all, m)}")
                self.emit(f"store double {following}, ptr {self.address(self._next.address, (i, _ITEM))}")
            for vector, number in enumerate(self._loaded(self._next)):
                self._store(number, self._at(self._state, 0, vector))
        x = self._loaded(self._state)
        self._store_row(x, first[_LAST], n - 1)
        self._store_product(first[_TERMINAL], x, first[_LAST_COSTATE])

    def _loaded(self, row: Matrix) -> list[str]:
        return [self._load(self._at(row, 0, vector)) for vector in range(row.vectors)]

    def _store_row(self, vectors: list[str], target: str, count: int) -> None:
        """Store the first numbers of a row densely."""
        for k, vector in enumerate(vectors):
            if count > k * self.lanes:
                self._masked_store(vector, self.address(target, (k, self.size)), count - k * self.lanes)

    def _store_product(self, matrix: str, x: list[str], target: str) -> None:
        """Store the product of a dense matrix (n, n) and x, less its last number."""
        with self.loop(self.n - 1) as i:
            total = self._dot(matrix, i, x, self.n)
            self.emit(f"store double {total}, ptr {self.address(target, (i, _ITEM))}")

    def _dot(self, matrix: str, row: str, x: list[str], columns: int) -> str:
        """Product of a row of a dense matrix and x, which is zero beyond its numbers."""
        first = self.address(matrix, (row, columns * _ITEM))
        total = "zeroinitializer"
        for k, vector in enumerate(x):
            part = self._masked_load(self.address(first, (k, self.size)), columns - k * self.lanes)
            total = self._fma(part, vector, total)
        reduce = f"@llvm.vector.reduce.fadd.v{self.lanes}f64"
        return self.value(f"call reassoc double {reduce}(double {literal(-0.0)}, {self.real} {total})")
