"""Recursions over matrices in C: loops over rows and columns, with what a step computes in arrays of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from chasles.engine.matrices.scan import MatrixScan
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
)

#: An element of a matrix in C, from its row and column.
Element = Callable[[str, str], str]
#: An element of an array in C, from its indices.
Place = Callable[..., str]

_ELIMINATE = """static void {name}(int n, int m, double *E, double *X)
{{
    /* Rows 0 to m - 1 of the symmetric E (n, n), whose upper triangle is read, are eliminated; X becomes S^-1 F. */
    for (int p = 0; p < m; p++) {{
        const double d = E[p * n + p] > 0.0 ? E[p * n + p] : NAN;
        for (int i = p + 1; i < n; i++) {{
            const double factor = E[p * n + i] / d;
            for (int j = i; j < n; j++)
                E[i * n + j] -= factor * E[p * n + j];
        }}
        for (int j = p + 1; j < n; j++)
            E[p * n + j] /= d;
    }}
    for (int p = m - 1; p >= 0; p--)
        for (int j = m; j < n; j++) {{
            double x = E[p * n + j];
            for (int q = p + 1; q < m; q++)
                x -= E[p * n + q] * X[q * (n - m) + j - m];
            X[p * (n - m) + j - m] = x;
        }}
}}
"""


def elimination(name: str) -> str:
    """Return the C function of eliminations, which `matrix_scan` calls by its name."""
    return _ELIMINATE.format(name=name)


def matrix_scan(scan: MatrixScan, steps: int, places: Mapping[str, Place], eliminate: str) -> list[str]:
    """Return a scan as lines of C.

    Parameters
    ----------
    scan
        The scan.
    steps
        Number of steps.
    places
        Elements of the arrays by name: those of each step take its number first.
    eliminate
        Name of the function of `elimination`.
    """
    rows, columns = scan.state
    forward = f"for (int k = 0; k < {steps}; k++) {{"
    writer = _Step(scan, places, eliminate)
    step = list(writer.lines())
    lines = ["{", f"    double P[{rows * columns}], Q[{rows * columns}];"]
    lines += _indented(_copied(scan.state, f"P[i * {columns} + j]", places[scan.start]("i", "j")))
    lines.append("    " + (f"for (int k = {steps - 1}; k >= 0; k--) {{" if scan.backward else forward))
    lines += _indented(_indented(step))
    lines.append("    }")
    if scan.end:
        lines += _indented(_copied(scan.state, places[scan.end]("i", "j"), f"P[i * {columns} + j]"))
    return [*lines, "}"]


class _Step:
    """One step: matrices in the order in which they are needed."""

    def __init__(self, scan: MatrixScan, places: Mapping[str, Place], eliminate: str) -> None:
        self.scan, self.places, self.eliminate = scan, places, eliminate
        self._elements: dict[Matrix, Element] = {}
        self._eliminations: dict[Matrix, tuple[str, str]] = {}
        self._lines: list[str] = []

    def lines(self) -> Iterator[str]:
        """Lines that compute the next state and the samples."""
        written, (rows, columns) = self.scan.written, self.scan.state
        samples = {name: self._element(value) for name, value in written.samples.items()}
        following = self._element(written.following)
        yield from self._lines
        yield from _copied(self.scan.state, f"Q[i * {columns} + j]", following("i", "j"))
        for name, element in samples.items():
            yield from _copied(written.samples[name].shape, self.places[name]("k", "i", "j"), element("i", "j"))
        yield from _copied((rows, columns), f"P[i * {columns} + j]", f"Q[i * {columns} + j]")

    def _element(self, value: Matrix) -> Element:
        if value not in self._elements:
            self._elements[value] = self._written(value)
        return self._elements[value]

    def _written(self, value: Matrix) -> Element:
        match value:
            case Given():
                if value is self.scan.written.state:
                    columns = self.scan.state[1]
                    return lambda i, j: f"P[({i}) * {columns} + ({j})]"
                place = self.places[value.name]
                return lambda i, j: place("k", i, j)
            case Transposed():
                of = self._element(value.of)
                return lambda i, j: of(j, i)
            case Multiple():
                of, factor = self._element(value.of), repr(value.factor)
                return lambda i, j: f"({factor}) * {of(i, j)}"
            case Part():
                of, top, left = self._element(value.of), value.top, value.left
                return lambda i, j: of(f"{i} + {top}" if top else i, f"{j} + {left}" if left else j)
            case Sum():
                first, second = self._element(value.first), self._element(value.second)
                return self._stored(value, f"{first('i', 'j')} + {second('i', 'j')}")
            case Joined():
                first, second, width = self._element(value.first), self._element(value.second), value.first.shape[1]
                return self._stored(value, f"j < {width} ? {first('i', 'j')} : {second('i', f'j - {width}')}")
            case Stacked():
                first, second, height = self._element(value.first), self._element(value.second), value.first.shape[0]
                return self._stored(value, f"i < {height} ? {first('i', 'j')} : {second(f'i - {height}', 'j')}")
            case Product():
                return self._product(value)
            case Eliminated():
                return self._eliminated(value)
            case _:
                raise TypeError(value)

    def _array(self, size: int) -> str:
        name = f"t{len(self._lines)}"
        self._lines.append(f"double {name}[{max(size, 1)}];")
        return name

    def _stored(self, value: Matrix, formula: str) -> Element:
        rows, columns = value.shape
        name = self._array(rows * columns)
        self._lines += _copied(value.shape, f"{name}[i * {columns} + j]", formula)
        return lambda i, j: f"{name}[({i}) * {columns} + ({j})]"

    def _product(self, value: Product) -> Element:
        left, right, (rows, columns) = self._element(value.left), self._element(value.right), value.shape
        name = self._array(rows * columns)
        self._lines += [
            f"for (int i = 0; i < {rows}; i++)",
            f"    for (int j = 0; j < {columns}; j++) {{",
            "        double sum = 0.0;",
            f"        for (int l = 0; l < {value.left.shape[1]}; l++)",
            f"            sum += {left('i', 'l')} * {right('l', 'j')};",
            f"        {name}[i * {columns} + j] = sum;",
            "    }",
        ]
        return lambda i, j: f"{name}[({i}) * {columns} + ({j})]"

    def _eliminated(self, value: Eliminated) -> Element:
        E, X = self._factors(value.by)
        (n, columns), m = value.by.shape, value.by.count
        if value.gives == "solution":
            return lambda i, j: f"{X}[({i}) * {columns - m} + ({j})]"
        least, most = "(({i}) < ({j}) ? ({i}) : ({j}))", "(({i}) < ({j}) ? ({j}) : ({i}))"
        return lambda i, j: f"{E}[({m} + {least.format(i=i, j=j)}) * {n} + {m} + {most.format(i=i, j=j)}]"

    def _factors(self, value: Elimination) -> tuple[str, str]:
        """Return the names of the arrays of an elimination, computed once for what is left and for the solution."""
        if value not in self._eliminations:
            n, m = value.shape[1], value.count
            of = self._element(value.of)
            E, X = self._array(n * n), self._array(m * (n - m))
            self._lines += _copied(value.shape, f"{E}[i * {n} + j]", of("i", "j"))
            self._lines.append(f"{self.eliminate}({n}, {m}, {E}, {X});")
            self._eliminations[value] = E, X
        return self._eliminations[value]


def _copied(shape: tuple[int, int], target: str, source: str) -> list[str]:
    return [
        f"for (int i = 0; i < {shape[0]}; i++)",
        f"    for (int j = 0; j < {shape[1]}; j++)",
        f"        {target} = {source};",
    ]


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
