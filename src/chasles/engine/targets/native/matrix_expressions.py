"""Expressions of matrices in machine code: what is needed again goes to memory, the rest stays in registers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from chasles.engine.matrices.steps import (
    Eliminated,
    Elimination,
    Given,
    Joined,
    Matrix,
    Multiple,
    Part,
    Product,
    Stacked,
    Sum,
    Transposed,
    operands,
)
from chasles.engine.targets.native.matrix_elimination import Factors, eliminate_block, solve_block
from chasles.engine.targets.native.matrix_writer import ITEM, Columns, MatrixWriter, View


class ExpressionWriter:
    """Writer of the expressions of a step.

    Parameters
    ----------
    writer
        Writer of the code around them.
    given
        Where given matrices lie in memory.
    roots
        The expressions that are wanted, as often as they are.
    """

    def __init__(self, writer: MatrixWriter, given: Mapping[Matrix, View], roots: Sequence[Matrix]) -> None:
        self.writer = writer
        self._places: dict[Matrix, View] = {**given}
        self._factors: dict[Elimination, Factors] = {}
        self._uses = Counter(roots)
        seen: set[Matrix] = set()
        ahead = [*roots]
        while ahead:
            value = ahead.pop()
            if value not in seen:
                seen.add(value)
                self._uses.update(operands(value))
                ahead += operands(value)

    def write(self, value: Matrix, target: View) -> None:
        """Write an expression to a place in memory."""
        rows, columns = value.shape
        if value not in self._places and isinstance(value, Eliminated) and value.gives == "solution":
            self._places[value] = target
            self._write_solution(value.by, target)
            return
        self._prepare(value)
        if value in self._places or isinstance(value, Part | Transposed):
            self.writer.copy(self._rows_in_memory(value), target, rows, columns)
        elif isinstance(value, Joined):
            sources = [(None if _is_zero(part) else self._rows_in_memory(part), part) for part in self._joined(value)]
            self.writer.join([(view, part.shape[1]) for view, part in sources], target, rows)
        elif isinstance(value, Eliminated):
            self._write_rest(value, target)
            self._places[value] = target
        else:
            self._write_rows(value, target)
            self._places[value] = target

    def _joined(self, value: Matrix) -> list[Matrix]:
        """Return what is joined, with the parts of those that are needed only here."""
        parts: list[Matrix] = []
        for part in operands(value):
            parts += self._joined(part) if isinstance(part, Joined) and self._uses[part] == 1 else [part]
        return parts

    def reads(self, value: Matrix, given: Given) -> bool:
        """Whether computing an expression would still read a given matrix."""
        if value is given:
            return True
        if value in self._places:
            return False
        return any(self.reads(part, given) for part in operands(value))

    def _place(self, value: Matrix) -> View:
        """Return where an expression lies in memory, written there if it does not."""
        if value not in self._places:
            if isinstance(value, Part):
                self._places[value] = self.writer.part(self._place(value.of), value.top, value.left)
            elif isinstance(value, Transposed):
                self._places[value] = self._place(value.of).mT
            else:
                target = self.writer.new_matrix(*value.shape)
                self.write(value, target)
                self._places[value] = target
        return self._places[value]

    def _rows_in_memory(self, value: Matrix) -> View:
        """Return where an expression lies with the elements of a row side by side."""
        place = self._place(value)
        if place.column != ITEM:
            copied = self.writer.new_matrix(*value.shape)
            self.writer.transpose(place.mT, copied, *value.shape)
            self._places[value] = place = copied
        elif value.shape[1] == 1 and place.row != ITEM:  # a column lies without gaps
            copied = self.writer.new_matrix(*value.shape)
            self.writer.copy(place, copied, *value.shape)
            self._places[value] = place = copied
        return place

    def _prepare(self, value: Matrix) -> None:
        """Write to memory what the rows of an expression are computed from."""
        if value in self._places:
            return
        if isinstance(value, Product):
            self._place(value.left)
            self._rows_in_memory(value.right)
        elif isinstance(value, Elimination):
            self._eliminate(value)
        elif isinstance(value, Eliminated):
            self._prepare(value.by)
        elif isinstance(value, Sum | Multiple | Part | Stacked):
            for part in operands(value):
                if value.shape[1] == 1 < part.shape[1]:  # a column of a matrix
                    self._rows_in_memory(part)
                else:
                    self._make_ready(part)

    def _make_ready(self, value: Matrix) -> None:
        """Write an expression to memory if it is needed there or more than once, else what it is computed from."""
        if isinstance(value, Joined | Transposed | Eliminated) or self._uses[value] > 1:
            self._rows_in_memory(value)
        else:
            self._prepare(value)

    def _write_rows(self, value: Matrix, target: View) -> None:
        rows, columns = value.shape
        parts, written_out = self.writer.partition(columns), self._is_stacked(value)
        if columns == 1:
            for first, count in self.writer.each_block(rows, self.writer.lanes, written_out=written_out):
                column = self._column(value, first, count)
                self.writer.store([column], self.writer.part(target, first, 0).mT, 0, [Columns(0, count)])
            return
        size = max(1, self.writer.accumulators // len(parts))
        for first, count in self.writer.each_block(rows, size, written_out=written_out):
            vectors = self._rows(value, first, count, parts)
            place = self.writer.part(target, first, 0)
            for k in range(count):
                self.writer.store(vectors[k * len(parts) : (k + 1) * len(parts)], place, k, parts)

    def _rows(self, value: Matrix, first: str | int, count: int, columns: Sequence[Columns]) -> list[str]:
        """Return rows of an expression in registers."""
        writer = self.writer
        if value in self._places:
            place = writer.part(self._places[value], first, 0)
            return [vector for k in range(count) for vector in writer.load(place, k, columns)]
        if isinstance(value, Part):
            columns = [Columns(value.left + k, size) for k, size in columns]
            return self._rows(value.of, self._moved(first, value.top), count, columns)
        if isinstance(value, Stacked):
            return self._stacked_rows(value, first, count, columns)
        if _is_zero(value):
            return ["zeroinitializer"] * (count * len(columns))
        if isinstance(value, Multiple):
            if isinstance(value.of, Product) and value.of not in self._places:
                return self._added(["zeroinitializer"] * (count * len(columns)), value, first, columns)
            return writer.scaled(self._rows(value.of, first, count, columns), value.factor)
        if isinstance(value, Sum):
            return self._added(self._rows(value.first, first, count, columns), value.second, first, columns)
        return self._added(["zeroinitializer"] * (count * len(columns)), value, first, columns)

    def _moved(self, first: str | int, by: int) -> str | int:
        return first + by if isinstance(first, int) else self.writer.value(f"add i64 {first}, {by}")

    def _column(self, value: Matrix, first: str | int, count: int) -> str:
        """Return elements of a column in one vector; the lanes after them may hold anything."""
        writer = self.writer
        if value in self._places:
            return writer.load_column(self._places[value], first, count)
        if isinstance(value, Part):
            if value.of in self._places:
                place = writer.part(self._places[value.of], value.top, value.left)
                return writer.load_column(place, first, count)
            return self._column(value.of, self._moved(first, value.top), count)
        if _is_zero(value):
            return "zeroinitializer"
        if isinstance(value, Multiple):
            return writer.scaled([self._column(value.of, first, count)], value.factor)[0]
        if isinstance(value, Sum):
            return writer.sum(self._column(value.first, first, count), self._column(value.second, first, count))
        if isinstance(value, Stacked):
            assert isinstance(first, int)
            height = value.first.shape[0]
            upper = min(count, max(0, height - first))
            if upper == count:
                return self._column(value.first, first, count)
            lower = self._column(value.second, first + upper - height, count - upper)
            return writer.joined_lanes(self._column(value.first, first, upper), lower, upper) if upper else lower
        assert isinstance(value, Product)  # the rest lies in memory
        left, right, inner = (
            writer.part(self._places[value.left], first, 0),
            self._places[value.right],
            value.left.shape[1],
        )
        if left.column == ITEM:
            return writer.dots(left, right, count, inner)
        return writer.add_product(["zeroinitializer"], right.mT, left.mT, inner, [Columns(0, count)])[0]

    def _stacked_rows(self, value: Stacked, first: str | int, count: int, columns: Sequence[Columns]) -> list[str]:
        """Return rows of matrices above one another, of which the first is known."""
        assert isinstance(first, int)
        height = value.first.shape[0]
        upper = min(count, max(0, height - first))
        vectors = self._rows(value.first, first, upper, columns) if upper else []
        if upper < count:
            vectors += self._rows(value.second, first + upper - height, count - upper, columns)
        return vectors

    def _is_stacked(self, value: Matrix) -> bool:
        """Whether rows of an expression come from matrices above one another."""
        if value in self._places:
            return False
        return isinstance(value, Stacked) or any(self._is_stacked(part) for part in operands(value))

    def _added(self, sums: list[str], value: Matrix, first: str | int, columns: Sequence[Columns]) -> list[str]:
        """Add rows of an expression to others."""
        writer = self.writer
        of, factor = (value.of, value.factor) if isinstance(value, Multiple) else (value, 1.0)
        if isinstance(of, Product) and of not in self._places and value not in self._places:
            left = writer.part(self._places[of.left], first, 0)
            right = self._places[of.right]
            inner = of.left.shape[1]
            return writer.add_product(sums, left, right, inner, columns, factor)
        others = self._rows(value, first, len(sums) // len(columns), columns)
        return [writer.sum(a, b) for a, b in zip(sums, others, strict=True)]

    def _eliminate(self, by: Elimination) -> Factors:
        if by in self._factors:
            return self._factors[by]
        writer, columns = self.writer, self.writer.partition(by.shape[1])
        self._make_ready(by.of)
        widths = by.shape[1], by.shape[1], by.shape[1] - by.count
        factors = Factors(*(writer.new_matrix(by.count, width) for width in widths))
        for rows in writer.blocks(by.count, len(columns)):
            vectors = self._rows(by.of, rows.start, len(rows), columns)
            above = writer.part(factors.rows, 0, rows.start)
            vectors = writer.add_product(vectors, above.mT, factors.multiples, rows.start, columns)
            eliminate_block(writer, vectors, rows, columns, by.count, factors)
        self._factors[by] = factors
        return factors

    def _write_solution(self, by: Elimination, target: View) -> None:
        factors, writer = self._eliminate(by), self.writer
        columns = writer.partition(by.shape[1] - by.count)
        for rows in reversed(writer.blocks(by.count, len(writer.partition(by.shape[1])))):
            vectors = [vector for row in rows for vector in writer.load(factors.right, row, columns)]
            after = writer.part(factors.multiples, rows.start, rows.stop)
            solved = writer.part(target, rows.stop, 0)
            vectors = writer.add_product(vectors, after, solved, by.count - rows.stop, columns, -1.0)
            solve_block(writer, vectors, rows, factors.multiples, target, columns)

    def _write_rest(self, value: Eliminated, target: View) -> None:
        """Write the Schur complement: of each row the vectors from the diagonal on, and then their mirror image."""
        by, writer, size = value.by, self.writer, value.shape[0]
        factors, count, lanes = self._eliminate(by), by.count, self.writer.lanes
        all_columns = writer.partition(size)
        for k in range(len(all_columns)):
            columns = all_columns[k:]
            top = columns[0].first
            of_matrix = [Columns(count + first, number) for first, number in columns]
            for block in writer.blocks(min(lanes, size - top), len(columns)):
                rows = range(top + block.start, top + block.stop)
                vectors = self._rows(by.of, count + rows.start, len(rows), of_matrix)
                left = writer.part(factors.rows, 0, count + rows.start).mT
                vectors = writer.add_product(vectors, left, factors.right, count, columns)
                for i, row in enumerate(rows):
                    writer.store(vectors[i * len(columns) : (i + 1) * len(columns)], target, row, columns)
        writer.mirror(target, size)


def _is_zero(value: Matrix) -> bool:
    return isinstance(value, Multiple) and value.factor == 0.0
