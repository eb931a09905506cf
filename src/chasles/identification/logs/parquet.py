"""Parquet files as logs, and LeRobot data sets, which are folders of them.

A LeRobot data set (versions 2 and 3 of its format) has ``meta/info.json``, which names the components of each feature,
and ``data/**/*.parquet`` with a row for each frame: lists of numbers such as ``observation.state`` and ``action``,
``timestamp``, which begins anew in each episode, ``episode_index`` and ``frame_index``. Only columns of numbers are
read; pictures and texts stay where they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, import_extra

if TYPE_CHECKING:
    import pyarrow

Columns = dict[str, NDArray[np.float64]]

INFO = Path("meta") / "info.json"
LARGEST_FILES = 2_000_000_000
"""Bytes of all files together."""
ORDER = ("episode_index", "frame_index")


def is_dataset(path: Path) -> bool:
    """Whether a path is the folder of a LeRobot data set."""
    return (path / INFO).is_file()


def read_parquet(path: Path) -> Columns:
    """Columns of a Parquet file or of a LeRobot data set, by name; lists become a column for each component.

    Parameters
    ----------
    path
        File, or folder with ``meta/info.json``.

    Raises
    ------
    ArgumentError
        If a file cannot be read, rows of a column differ in length, or files differ in their columns.
    MissingExtraError
        If pyarrow is not installed.
    """
    import_extra("pyarrow", "parquet", "reading Parquet files")
    names: Mapping[str, Sequence[str]] = {}
    files = [path]
    if path.is_dir():
        names = _component_names(path / INFO)
        files = sorted((path / "data").rglob("*.parquet"))
        if not files:
            raise ArgumentError(f"the data set '{path}' has no file data/**/*.parquet")
    if sum(file.stat().st_size for file in files) > LARGEST_FILES:
        raise ArgumentError(f"the log '{path}' has more than {LARGEST_FILES:,} bytes; give single files of it")
    parts = [_read_file(file, names) for file in files]
    for file, part in zip(files, parts, strict=True):
        if list(part) != list(parts[0]):
            odd = sorted(set(part) ^ set(parts[0])) or list(part)
            raise ArgumentError(f"the files of the log '{path}' differ in their columns: '{odd[0]}' ('{file.name}')")
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    keys = [table[name] for name in reversed(ORDER) if name in table]
    order = np.lexsort(keys) if keys else slice(None)
    return {name: column[order] for name, column in table.items()}


def _component_names(path: Path) -> dict[str, list[str]]:
    """Names of the components of each feature that has some: a list, or lists by kind."""
    try:
        features = json.loads(path.read_text(encoding="utf-8"))["features"]
        items = list(features.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArgumentError(f"'{path}' does not describe the features of a LeRobot data set: {error!r}") from None
    found = {}
    for feature, facts in items:
        told = facts.get("names") if isinstance(facts, dict) else None
        if isinstance(told, dict):
            told = [name for group in told.values() if isinstance(group, list) for name in group]
        if isinstance(told, list):
            found[feature] = [str(name) for name in told]
    return found


def _read_file(path: Path, names: Mapping[str, Sequence[str]]) -> Columns:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        numeric = [field.name for field in file.schema_arrow if _is_numeric(field.type)]
        rows = file.read(columns=numeric)
    except (OSError, pyarrow.ArrowException) as error:
        raise ArgumentError(f"the log '{path}' is not a Parquet file: {str(error).splitlines()[0]}") from None
    table: Columns = {}
    for name in numeric:
        values = _values(rows[name].combine_chunks(), path, name)
        if values.ndim == 1 or values.shape[1] == 1:
            table[name] = values.reshape(-1)
            continue
        told = list(names.get(name, ()))
        labels = told if len(set(told)) == values.shape[1] else [str(k + 1) for k in range(values.shape[1])]
        table |= {f"{name} {label}": values[:, k] for k, label in enumerate(labels)}
    if not table:
        raise ArgumentError(f"the log '{path}' has no columns of numbers")
    return table


def _is_numeric(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
        kind = kind.value_type
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_temporal(kind))


def _values(column: Any, path: Path, name: str) -> NDArray[np.float64]:
    """Numbers of a column, shape (rows,), or (rows, components) of lists; NaN where there is none."""
    from pyarrow import types

    kind = column.type
    if not (types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind)):
        return _numbers(column)
    lengths = column.value_lengths().to_numpy(zero_copy_only=False) if not types.is_fixed_size_list(kind) else None
    if lengths is not None and (column.null_count or len(set(lengths.tolist())) > 1):
        raise ArgumentError(f"the rows of '{name}' in the log '{path}' differ in length")
    return _numbers(column.flatten()).reshape(len(column), -1)


def _numbers(array: Any) -> NDArray[np.float64]:
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind in "Mm":
        return np.asarray((values - values[0]) / np.timedelta64(1, "ns"), dtype=np.float64) * 1e-9
    return np.asarray([np.nan if x is None else x for x in values] if values.dtype == object else values, np.float64)
