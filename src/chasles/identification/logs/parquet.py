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

INFO = Path("meta") / "info.json"
ORDER = ("episode_index", "frame_index")


def is_dataset(path: Path) -> bool:
    """Whether a path is the folder of a LeRobot data set."""
    return (path / INFO).is_file()


def read_parquet(path: Path) -> dict[str, NDArray[Any]]:
    """Columns of a Parquet file or of a LeRobot data set, by name; lists become a column for each component.

    Parameters
    ----------
    path
        File, or folder with ``meta/info.json``.

    Raises
    ------
    ArgumentError
        If a file cannot be read, or rows of a column differ in length.
    MissingExtraError
        If pyarrow is not installed.
    """
    datasets = import_extra("pyarrow.dataset", "parquet", "reading Parquet files")
    names: Mapping[str, Sequence[str]] = {}
    files = [path]
    if path.is_dir():
        names = _component_names(path / INFO)
        files = sorted((path / "data").rglob("*.parquet"))
        if not files:
            raise ArgumentError(f"the data set '{path}' has no file data/**/*.parquet")
    try:
        data = datasets.dataset(files, format="parquet")
        rows = data.to_table(columns=[field.name for field in data.schema if _is_numeric(field.type)])
    except (OSError, ValueError) as error:  # errors of Arrow are ValueErrors
        raise ArgumentError(f"the log '{path}' is not a Parquet file: {str(error).splitlines()[0]}") from None
    order = [(name, "ascending") for name in ORDER if name in rows.column_names]
    rows = rows.sort_by(order) if order else rows
    table: dict[str, NDArray[Any]] = {}
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        values = _values(column, name, path)
        if values.ndim == 1 or values.shape[1] == 1:
            table[name] = values.reshape(-1)
            continue
        told = list(names.get(name, ()))
        labels = told if len(set(told)) == values.shape[1] else [str(k + 1) for k in range(values.shape[1])]
        table |= {f"{name} {label}": values[:, k] for k, label in enumerate(labels)}
    if not table:
        raise ArgumentError(f"the log '{path}' has no columns of numbers")
    return table


def _values(column: pyarrow.ChunkedArray, name: str, path: Path) -> NDArray[Any]:
    """Values of a column, shape (rows,), or (rows, components) of lists."""
    if not hasattr(column.type, "value_type"):
        return np.asarray(column.to_numpy())
    try:
        return np.stack(column.to_numpy()).astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"the rows of '{name}' in the log '{path}' differ in length") from None


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


def _is_numeric(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    kind = getattr(kind, "value_type", kind)  # of lists
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_temporal(kind))
