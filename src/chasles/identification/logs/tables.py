"""Named columns of numbers from files and tables of other libraries."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, import_extra
from chasles.identification.logs.parquet import is_dataset, read_parquet
from chasles.identification.logs.ros_bags import is_bag, read_bag
from chasles.identification.logs.text_tables import number, read_text

if TYPE_CHECKING:
    import pandas
    import xarray

Table = dict[str, NDArray[np.float64]]
"""Columns of one length by their names, in order."""

TELLING_UNITS = ("deg", "degree", "degrees", "°", "deg/s", "°/s", "mm", "mm/s", "ms", "us", "ns", "a", "ma")
"""Units of an xarray Dataset's variables that become part of the columns' names."""
Source = "str | Path | Mapping[str, Any] | pandas.DataFrame | xarray.Dataset | Iterable[Any]"

LARGEST_FILE = 2_000_000_000
SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".log", ".nc", ".db3", ".mcap", ".bag", ".parquet")


def read_table(source: Any) -> Table:
    """Read the columns of a source, whatever it is.

    Parameters
    ----------
    source
        File (text with columns, also gzipped; NetCDF; ROS bag or its folder; Parquet or the folder of a LeRobot data
        set), mapping from names to arrays of shape
        (samples,) or (samples, joints), pandas DataFrame, xarray Dataset, or a list of such sources with equally many
        rows. A mapping may also give a source for each quantity: ``{"q": "positions.csv", "effort": "currents.csv"}``.

    Returns
    -------
    dict
        Columns by name; missing values are NaN.

    Raises
    ------
    ArgumentError
        If the source cannot be read; the message names the file and the line.

    Examples
    --------
    >>> read_table({"t": [0.0, 0.1], "q": [[1.0, 2.0], [1.5, 2.5]]}).keys()
    dict_keys(['t', 'q 1', 'q 2'])
    """
    if isinstance(source, str | Path):
        return _read_file(Path(source))
    if hasattr(source, "data_vars"):
        return _from_dataset(source)
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        return _from_frame(source)
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if isinstance(source, list | tuple) and source:
        return _joined([read_table(part) for part in source])
    raise ArgumentError(
        "a log is read from a file, a mapping of arrays, a pandas DataFrame, an xarray Dataset or a list of these, "
        f"not from {type(source).__name__}"
    )


def _read_file(path: Path) -> Table:
    if not path.exists():
        raise ArgumentError(f"the log '{path}' does not exist")
    suffix = Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()
    if is_dataset(path) or suffix == ".parquet":
        return {name: _numbers(column, name) for name, column in read_parquet(path).items()}
    if is_bag(path):
        return read_bag(path)
    if path.stat().st_size > LARGEST_FILE:
        raise ArgumentError(f"the log '{path}' has more than {LARGEST_FILE:,} bytes")
    if suffix == ".nc":
        xarray = import_extra("xarray", "data", "reading NetCDF")
        try:
            with xarray.open_dataset(path) as dataset:
                return _from_dataset(dataset.load())
        except (OSError, ValueError) as error:
            raise ArgumentError(f"the log '{path}' is not a NetCDF file: {error}") from None
    if suffix and suffix not in SUFFIXES:
        raise ArgumentError(
            f"logs of type '{suffix}' cannot be read; known: {', '.join(SUFFIXES)}, folders of ROS bags and of "
            "LeRobot data sets"
        )
    try:
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise ArgumentError(f"the log '{path}' cannot be read: {error}") from None
    return read_text(data, str(path))


def _from_dataset(dataset: xarray.Dataset) -> Table:
    table: Table = {}
    rows = next((str(d) for d in dataset.dims if str(d) in ("time", "t", "stamp")), None)
    if rows is None:
        rows = str(max(dataset.sizes, key=lambda d: dataset.sizes[d]))
    if rows in dataset.coords:
        table["time"] = _numbers(dataset[rows].values, str(rows))
    for key, variable in dataset.data_vars.items():
        if rows not in variable.dims or variable.ndim > 2 or variable.dtype.kind not in "fiub":
            continue
        values = np.asarray(variable.transpose(rows, ...).values, dtype=np.float64)
        unit = str(variable.attrs.get("units", ""))
        unit = f" [{unit}]" if unit.lower() in TELLING_UNITS else ""
        if variable.ndim == 1:
            table[f"{key}{unit}"] = values
            continue
        labels = variable.coords.get(next(d for d in variable.dims if d != rows))
        texts = [str(k + 1) for k in range(values.shape[1])] if labels is None else [str(x) for x in labels.values]
        table |= {f"{key} {text}{unit}": values[:, k] for k, text in enumerate(texts)}
    return table


def _from_frame(frame: pandas.DataFrame) -> Table:
    names = [column_name(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ArgumentError(f"two columns are named '{next(name for name in names if names.count(name) > 1)}'")
    columns = {name: _series_values(frame.iloc[:, k]) for k, name in enumerate(names)}
    index = frame.index
    if getattr(index, "name", None) is not None or index.dtype.kind in "Mmf":
        columns = {column_name(index.name or "time"): _series_values(index)} | columns
    return {name: column for name, column in columns.items() if column is not None}


def _series_values(series: pandas.Series[Any] | pandas.Index[Any]) -> NDArray[np.float64] | None:
    """Numbers of a column or an index; calendar times are seconds after the first. None for other text."""
    kind = getattr(series.dtype, "kind", "O")
    if kind in "fiubMm":
        stored = {"M": "datetime64[ns]", "m": "timedelta64[ns]"}.get(kind, "float64")  # without a time zone
        return _numbers(series.to_numpy(dtype=stored), str(series.name))
    try:
        values = np.array([number("" if cell is None else str(cell), "a cell") for cell in series])
    except ArgumentError:
        return None
    return None if np.isnan(values).all() else _finite_or_nan(values)


def column_name(name: Any) -> str:
    """Name of a column as text; the levels of a MultiIndex have blanks between them.

    >>> column_name(("position", "joint1")), column_name(3)
    ('position joint1', '3')
    """
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _from_mapping(source: Mapping[str, Any]) -> Table:
    table: Table = {}
    for key, values in source.items():
        if isinstance(values, str | Path) or hasattr(values, "columns") or hasattr(values, "data_vars"):
            table |= {f"{key} {name}": column for name, column in read_table(values).items()}
            continue
        array = _numbers(values, str(key))
        if array.ndim == 1:
            table[str(key)] = array
        elif array.ndim == 2:
            table |= {f"{key} {k + 1}": array[:, k] for k in range(array.shape[1])}
        else:
            raise ArgumentError(f"'{key}' has shape {array.shape}; expected (samples,) or (samples, joints)")
    return _of_one_length(table)


def _joined(parts: list[Table]) -> Table:
    table: Table = {}
    for part in parts:
        for name, column in part.items():
            if name in table and not np.array_equal(table[name], column, equal_nan=True):
                raise ArgumentError(
                    f"two sources have a column '{name}' with different values; say which is which: "
                    "{'q': first, 'effort': second}"
                )
            table[name] = column
    return _of_one_length(table)


def _of_one_length(table: Table) -> Table:
    lengths = {len(column): name for name, column in table.items()}
    if len(lengths) > 1:
        texts = ", ".join(f"'{name}' has {length}" for length, name in lengths.items())
        raise ArgumentError(f"the columns must have equally many samples: {texts}")
    return table


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Convert to doubles; calendar times become seconds after the first."""
    array = np.asarray(values)
    if array.dtype.kind in "Mm":
        return np.asarray((array - array[0]) / np.timedelta64(1, "ns"), dtype=np.float64) * 1e-9
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"'{name}' does not hold real numbers")
    return _finite_or_nan(np.asarray(array, dtype=np.float64))


def _finite_or_nan(column: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(column), column, np.nan)
