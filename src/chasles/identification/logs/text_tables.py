"""Columns of text, in the dialects that recorders and spreadsheets write.

Cells are separated by semicolons, tabs, bars, commas or blanks; decimals follow a point or a comma. Lines before the
header, a header behind ``#`` or ``%``, a line of units below it, and calendar or clock times are recognised.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.model.placement import FloatArray

DELIMITERS = (";", "\t", "|", ",")
SAMPLE = 200
"""Lines that the number of cells in a row is judged by."""
_MISSING = {"", "nan", "na", "n/a", "null", "none", "-", "inf", "-inf", "+inf"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?)\s*(Z|[+-]\d\d:?\d\d|UTC)?")
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d(?:[.,]\d+)?)")
_UNIT = re.compile(
    r"[\[(]?\s*(s|ms|us|µs|ns|rad|deg|°|m|mm|(rad|deg|°|m|mm)/s\S*|nm|n·m|n\*m|n|a|ma|-|)\s*[\])]?", re.I
)


class _Line(NamedTuple):
    number: int
    text: str


def read_text(data: bytes, name: str) -> dict[str, FloatArray]:
    r"""Read columns of text.

    Parameters
    ----------
    data
        Content of a file: UTF-8, UTF-16 with its mark, or Windows-1252.
    name
        Name of the file, for messages.

    Returns
    -------
    dict
        Columns by name (``"column 1"``, … without a header); missing values are NaN, calendar and clock times are
        seconds after the first one.

    Raises
    ------
    ArgumentError
        If there are no rows, or a cell is not a number; the message names the line.

    Examples
    --------
    >>> table = read_text(b"Recorder 2.1\ntime;q1\ns;deg\n0,00;1,5\n0,01;1,6\n", "log.csv")
    >>> {column: values.tolist() for column, values in table.items()}
    {'time [s]': [0.0, 0.01], 'q1 [deg]': [1.5, 1.6]}
    """
    lines = [_Line(k, text) for k, text in enumerate(_decoded(data, name).splitlines(), 1) if text.strip()]
    body = [line for line in lines if not line.text.lstrip().startswith("#")]
    if not body:
        raise ArgumentError(f"the log '{name}' has no rows")
    delimiter = _delimiter(body[len(body) // 2].text)
    width = Counter(len(_cells(line.text, delimiter)) for line in body[-SAMPLE:]).most_common(1)[0][0]
    names, rows = _header(lines, delimiter, width, name)
    if not rows:
        raise ArgumentError(
            f"the log '{name}' has no rows of numbers; its first line is '{lines[0].text.strip()[:60]}'"
        )
    if len(set(names)) < len(names):
        twice = next(cell for cell in names if names.count(cell) > 1)
        raise ArgumentError(f"the log '{name}' has two columns named '{twice}'")
    values = _values(rows, delimiter, len(names), name)
    if values.size and values.shape[1] != len(names):
        raise ArgumentError(f"the log '{name}' has {len(names)} column names but {values.shape[1]} values in a row")
    values = np.where(np.isfinite(values), values, np.nan).reshape(-1, len(names))
    return {column: values[:, k] for k, column in enumerate(names)}


def _decoded(data: bytes, name: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    if b"\0" in data[:4096]:
        raise ArgumentError(f"the log '{name}' is not text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _delimiter(row: str) -> str | None:
    """Mark between cells; None for blanks."""
    found = next((mark for mark in DELIMITERS if mark in row), None)
    blank = row.split()
    if found == "," and len(blank) > 1 and all(_DECIMAL_COMMA.fullmatch(cell) for cell in blank):
        return None
    return found


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is not None and '"' in line:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
    return [cell.strip() for cell in line.strip("\r\n" if delimiter == "\t" else None).split(delimiter)]


def _header(lines: list[_Line], delimiter: str | None, width: int, name: str) -> tuple[list[str], list[_Line]]:
    """Names of the columns, and the lines below them that are no comments."""
    heads, first = _heads(lines, delimiter, width)
    if heads:
        names, start = _names_with_units([cells for _, cells in heads]), heads[-1][0] + 1
    else:
        _require_no_other_header(lines, first, delimiter, width, name)
        names, start = [f"column {k + 1}" for k in range(width)], first
    return names, [line for line in lines[start:] if not line.text.lstrip().startswith("#")]


def _heads(lines: list[_Line], delimiter: str | None, width: int) -> tuple[list[tuple[int, list[str]]], int]:
    """Lines that may be headers, as places and cells, and the place of the first row of values."""
    heads: list[tuple[int, list[str]]] = []
    for place, line in enumerate(lines):
        text = line.text.strip()
        cells = _cells(text.lstrip("#%").strip() if text[0] in "#%" else line.text, delimiter)
        if len(cells) != width:
            continue
        if not text.startswith("#") and _is_row(cells):
            return heads, place
        if not all(_is_number(cell) for cell in cells):
            heads.append((place, cells))
    return heads, len(lines)


def _names_with_units(heads: list[list[str]]) -> list[str]:
    """Names of the columns from the last line that may be a header, or from the one before it if it has units."""
    last = heads[-1]
    if len(heads) == 1 or not any(last) or not all(_UNIT.fullmatch(cell) for cell in last):
        return last
    return [f"{head} [{unit.strip('[]()')}]" if unit else head for head, unit in zip(heads[-2], last, strict=True)]


def _require_no_other_header(lines: list[_Line], first: int, delimiter: str | None, width: int, name: str) -> None:
    """Raise `ArgumentError` if the line above the first row of values has names, but not one for each column."""
    if not 0 < first < len(lines) or lines[first - 1].text.lstrip().startswith("#"):
        return
    above = _cells(lines[first - 1].text, delimiter)
    if len(above) > 1:
        raise ArgumentError(f"the log '{name}' has {len(above)} column names but {width} values in a row")


def _is_row(cells: list[str]) -> bool:
    """Tell a row of values, some of which may be damaged, from a header."""
    good = sum(_is_number(cell) or _is_time(cell) for cell in cells)
    return (
        good > 0 and 2 * good >= len(cells) and any(cell.lower() not in _MISSING for cell in cells if _is_number(cell))
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return cell.lower() in _MISSING
    return True


def _is_time(cell: str) -> bool:
    return _DATE.fullmatch(cell) is not None or _CLOCK.fullmatch(cell) is not None


def _values(rows: list[_Line], delimiter: str | None, width: int, name: str) -> FloatArray:
    """Values of rows, at one go if all cells are plain numbers."""
    texts = [line.text for line in rows]
    if delimiter != "," and any("," in text for text in texts[:SAMPLE]):
        texts = _with_decimal_points(texts, delimiter, name)
    try:
        return np.loadtxt(texts, delimiter=delimiter, ndmin=2)
    except ValueError:
        return _cell_by_cell(texts, [line.number for line in rows], delimiter, width, name)


def _with_decimal_points(texts: list[str], delimiter: str | None, name: str) -> list[str]:
    """Rows with decimal points for decimal commas, of which no cell may have both."""
    both = next((c for text in texts[:SAMPLE] for c in _cells(text, delimiter) if "," in c and "." in c), None)
    if both is not None:
        raise ArgumentError(f"the log '{name}' has '{both}': is ',' or '.' the decimal mark? Write only one of them")
    return [text.replace(",", ".") for text in texts]


def _cell_by_cell(texts: list[str], numbers: list[int], delimiter: str | None, width: int, name: str) -> FloatArray:
    values = np.full((len(texts), width), np.nan)
    for k, (line, text) in enumerate(zip(numbers, texts, strict=True)):
        cells = _cells(text, delimiter)
        if len(cells) != width:
            if k == len(texts) - 1:  # the recorder was stopped within its last line
                values = values[:-1]
                break
            raise ArgumentError(f"'{name}', line {line}: expected {width} values, found {len(cells)}")
        for column, cell in enumerate(cells):
            values[k, column] = number(cell, f"'{name}', line {line}")
    dated = [column for column, cell in enumerate(_cells(texts[0], delimiter)) if _DATE.fullmatch(cell)]
    values[:, dated] -= np.nanmin(values[:, dated], axis=0) if dated and len(values) else 0.0
    return values


def number(cell: str, place: str) -> float:
    """Read a number or a time in s; words are missing values.

    >>> number("1,5", "line 1"), number("00:01:02.5", "line 1")
    (1.5, 62.5)
    """
    try:
        return float(cell if "." in cell else cell.replace(",", "."))
    except ValueError:
        if cell.lower() in _MISSING or re.fullmatch(r"[A-Za-z_ ]+|\d{4}-\d\d-\d\d", cell):
            return np.nan
    if match := _CLOCK.fullmatch(cell):
        return 3600.0 * int(match[1]) + 60.0 * int(match[2]) + float(match[3].replace(",", "."))
    if match := _DATE.fullmatch(cell):
        return float((np.datetime64(match[1]) - np.datetime64("2000-01-01")) / np.timedelta64(1, "ns")) * 1e-9
    raise ArgumentError(f"{place}: '{cell}' is not a number")
