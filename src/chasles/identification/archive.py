"""Files of results: arrays in a NumPy archive, and what they belong to in JSON.

Nothing in a file is executed: it names classes that its reader knows, and robots are TOML.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
from numpy.typing import NDArray

from chasles import model
from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding
from chasles.base.writing import write
from chasles.robot.robot import Robot

ENDINGS = (".npz",)
NAMES = "names"


def save(value: object, path: str | PathLike[str]) -> Path:
    """Write a value, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    tree = json.dumps(_plain(value, arrays))
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, array in {NAMES: np.array(tree), **arrays}.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", member.getvalue())
    return write(path, file.getvalue(), ENDINGS)


def load(path: str | PathLike[str], kinds: Iterable[type]) -> object:
    """Read a value that `save` wrote.

    Parameters
    ----------
    path
        File that ends in ``.npz``.
    kinds
        Classes whose values the file may hold.

    Raises
    ------
    ArgumentError
        If the file does not exist or cannot be read.

    Examples
    --------
    >>> load("nowhere.npz", ())
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: the file 'nowhere.npz' does not exist
    """
    if not Path(path).exists():
        raise ArgumentError(f"the file '{path}' does not exist")
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return _restored(json.loads(str(arrays[NAMES])), arrays, {kind.__name__: kind for kind in kinds})
    except Exception as error:  # a damaged archive can fail in any way
        raise ArgumentError(f"the file '{path}' cannot be read: {error}") from None


def _plain(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """What JSON can hold; arrays go into `arrays` under names of their own."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.ndarray():
            arrays[name := f"array{len(arrays)}"] = value
            return {"array": name}
        case slice():
            return {"slice": [value.start, value.stop]}
        case list() | tuple():
            return {type(value).__name__: [_plain(own, arrays) for own in value]}
        case Mapping():
            return {"items": [[_plain(key, arrays), _plain(own, arrays)] for key, own in value.items()]}
        case np.generic():
            return value.item()
        case Robot():
            return {"robot": model.to_toml(value.description)}
        case Finding():
            return {"finding": _plain(value.record, arrays)}
        case _:
            return {type(value).__name__: _plain(vars(value), arrays)}


def _restored(plain: Any, arrays: Mapping[str, NDArray[Any]], kinds: Mapping[str, type]) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((kind, own),) = plain.items()
    match kind:
        case "array":
            return arrays[own]
        case "slice":
            return slice(*own)
        case "list":
            return [_restored(one, arrays, kinds) for one in own]
        case "tuple":
            return tuple(_restored(one, arrays, kinds) for one in own)
        case "items":
            return {_restored(key, arrays, kinds): _restored(one, arrays, kinds) for key, one in own}
        case "robot":
            return Robot(model.parse_toml(own, check=False))
        case "finding":
            return Finding.of_record(_restored(own, arrays, kinds))
        case _:
            record: Any = object.__new__(kinds[kind])
            vars(record).update(_restored(own, arrays, kinds))
            return record
