"""ROBOOP's files of matrices, `IO_matrix_file` (gnugraph.h): titled matrices, recorded again and again.

The text begins with the number of records, the number of matrices, and a line with size and title for each of these;
after a dashed line come the records, each with the numbers of all matrices, row by row, and an empty line:

    nb_iterations 2
    nb_vector 1
    nb_rows 2  nb_cols 1  positions
    ---------------------------------
    0.5 1

    0.75 1.5


Mended: numbers are written with all their digits, and records added to a file go on counting.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, ModelError
from chasles.base.writing import add, write
from chasles.engine.validators import reals
from chasles.model.formats.files import read_bytes
from chasles.model.formats.free_format import line_text
from chasles.model.numbers import is_bounded, written_number
from chasles.model.record import shortened

Matrix = NDArray[np.float64]
MAX_BYTES = 64_000_000
_HEADER = re.compile(r"nb_rows\s+(\d{1,6})\s+nb_cols\s+(\d{1,6})\s*(.*)")
_COUNT_WIDTH = 8


class IO_matrix_file:
    """A file of records of matrices.

    Parameters
    ----------
    filename
        Its path.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = IO_matrix_file(Path(folder, "run.dat"))
    ...     for time in (0.0, 0.5):
    ...         file.write([[time], [1.0, 2.0 * time]], ["time", "positions"])
    ...     data, titles = file.read_all()
    >>> titles, data[1]
    (['time', 'positions'], array([[1., 1.],
           [0., 1.]]))
    """

    def __init__(self, filename: str | Path) -> None:
        self.filename = Path(filename)
        self._taken = 0
        self._shapes: list[tuple[int, int]] | None = None
        self._records = 0

    def write(self, data: Sequence[ArrayLike], titles: Sequence[str] | None = None) -> None:
        """Add a record: the first call of a new file writes titles too; a vector is a column.

        Raises
        ------
        ArgumentError
            There is nothing to write, the number of titles or the shapes differ, or a title has several lines.
        ModelError
            The file exists and is none of this kind.
        """
        matrices = [_as_matrix(values, index) for index, values in enumerate(data)]
        if not matrices:
            raise ArgumentError("a record has at least one matrix")
        if self._shapes is None:
            self._begin(matrices, titles)
        if [matrix.shape for matrix in matrices] != self._shapes:
            raise ArgumentError(
                f"the matrices have shapes {[matrix.shape for matrix in matrices]}; expected {self._shapes} as before"
            )
        record = "".join(f"{line_text(row)}\n" for matrix in matrices for row in matrix)
        add(self.filename, f"{record}\n", head=_count_line(self._records + 1))
        self._records += 1

    def _begin(self, matrices: list[Matrix], titles: Sequence[str] | None) -> None:
        if self.filename.exists() and self.filename.stat().st_size:
            records, shapes, _ = self._parsed()
            self._records, self._shapes = len(records), shapes
            return
        names = [""] * len(matrices) if titles is None else list(titles)
        if len(names) != len(matrices):
            raise ArgumentError(f"{len(matrices)} matrices have {len(names)} titles")
        if any(len(name.splitlines()) > 1 or name != name.strip() for name in names):
            raise ArgumentError(f"a title is one line without blanks around it, not {names}")
        self._shapes = [(matrix.shape[0], matrix.shape[1]) for matrix in matrices]
        header = [_count_line(0).rstrip("\n"), f"nb_vector {len(matrices)}"]
        header += [
            f"nb_rows {r}  nb_cols {c}  {name}".rstrip() for (r, c), name in zip(self._shapes, names, strict=True)
        ]
        write(self.filename, "\n".join([*header, "-" * 33, ""]))

    def read(self) -> tuple[list[Matrix], list[str]]:
        """Return the matrices of the next record, and the titles.

        Raises
        ------
        ModelError
            No record is left, or the file cannot be read; the message says what is wrong and where.
        """
        records, _, titles = self._parsed()
        if self._taken >= len(records):
            raise ModelError(f"{self.filename}: all {len(records)} records have been read")
        self._taken += 1
        return records[self._taken - 1], titles

    def read_all(self) -> tuple[list[Matrix], list[str]]:
        """Return for each matrix its numbers in all records, a record a column, and the titles.

        A matrix of several columns is written out row by row in a column.
        """
        records, _, titles = self._parsed()
        count = len(titles)
        return [np.array([record[k].ravel() for record in records]).T for k in range(count)], titles

    def _parsed(self) -> tuple[list[list[Matrix]], list[tuple[int, int]], list[str]]:
        text = read_bytes(self.filename, MAX_BYTES).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        iterations = self._count(lines, 0, "nb_iterations")
        vectors = self._count(lines, 1, "nb_vector")
        if not vectors or len(lines) < vectors + 3:
            self._fail(f"expected {vectors} lines with sizes and titles and a dashed line, found the end of the file")
        headers = [self._header(line) for line in lines[2 : 2 + vectors]]
        shapes = [(rows, columns) for rows, columns, _ in headers]
        if set(lines[2 + vectors]) != {"-"}:
            self._fail(f"expected a dashed line, found {shortened(lines[2 + vectors])}")
        records = self._divided(" ".join(lines[3 + vectors :]).split(), iterations, shapes)
        return records, shapes, [title for _, _, title in headers]

    def _divided(self, words: list[str], count: int, shapes: list[tuple[int, int]]) -> list[list[Matrix]]:
        """Matrices of each record."""
        size = sum(rows * columns for rows, columns in shapes)
        if not size or len(words) != count * size:
            self._fail(f"expected {count} records of {size} numbers, found {len(words)} numbers")
        values = np.array([self._number(word) for word in words]).reshape(count, size)
        ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]
        return [
            [part.reshape(shape) for part, shape in zip(np.split(row, ends), shapes, strict=True)] for row in values
        ]

    def _header(self, line: str) -> tuple[int, int, str]:
        """Rows, columns and title of a matrix."""
        header = _HEADER.fullmatch(line)
        if header is None:
            self._fail(f"expected nb_rows, nb_cols and a title, found {shortened(line)}")
        return int(header[1]), int(header[2]), header[3]

    def _count(self, lines: list[str], index: int, key: str) -> int:
        words = lines[index].split() if index < len(lines) else []
        if len(words) != 2 or words[0] != key or not re.fullmatch(r"\d{1,8}", words[1]):
            self._fail(f"expected {key} and a whole number, found {shortened(' '.join(words)) if words else 'nothing'}")
        return int(words[1])

    def _number(self, word: str) -> float:
        value = written_number(word)
        if value is None or not is_bounded(value):
            self._fail(f"expected a number of at most 1e9, found {shortened(word)}")
        return value

    def _fail(self, message: str) -> NoReturn:
        raise ModelError(f"{self.filename}: {message}")


def _count_line(records: int) -> str:
    return f"nb_iterations {str(records).ljust(_COUNT_WIDTH)}\n"


def _as_matrix(values: ArrayLike, index: int) -> Matrix:
    matrix = reals(values, f"matrix {index + 1}")
    if matrix.ndim > 2 or not matrix.size:
        raise ArgumentError(f"matrix {index + 1} has shape {matrix.shape}; expected rows and columns, or a vector")
    return matrix.reshape(-1, 1) if matrix.ndim < 2 else matrix
