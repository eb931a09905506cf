"""Memory of large results, used again once nobody holds it.

Fresh memory comes from the operating system page by page, cleared; that takes several times as long as computing what
is written to it, and the allocator hands large arrays back as soon as they are freed. Some of them are kept here.
"""

from __future__ import annotations

import ctypes
import math
import sys
import sysconfig
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Bytes of an array from which memory is kept, and of all that is kept.
SMALLEST, MOST = 1 << 20, 1 << 27
_ALIGNMENT = 64  # a line of the cache

_kept: list[NDArray[np.uint8]] = []
_lock = Lock()


def empty(shape: Sequence[int], dtype: str) -> NDArray[Any]:
    """Return an array as `numpy.empty` does.

    A large one begins where a line of the cache does, and may have the memory of an earlier result that is gone.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < SMALLEST:
        return np.empty(shape, dtype)
    if size <= MOST and _lock.acquire(blocking=False):
        try:
            block = _taken(size + _ALIGNMENT)
        finally:
            _lock.release()
    else:
        block = np.empty(size + _ALIGNMENT, np.uint8)
    start = -block.__array_interface__["data"][0] % _ALIGNMENT
    return np.ndarray(shape, dtype, block, start)


def empty_at(rank: int, address: int, dtype: str) -> NDArray[Any]:
    """Return an array as `empty` does, of a shape that stands in memory: machine code calls it."""
    return empty(tuple((ctypes.c_ssize_t * rank).from_address(address)), dtype)


def _taken(size: int) -> NDArray[np.uint8]:
    """Return a block of bytes that nobody holds, of at most twice the size, or a new one.

    The caches are likely to hold what was used last.
    """
    for k in reversed(range(len(_kept))):
        if size <= _kept[k].size <= 2 * size and _references(_kept, k) == _UNUSED:
            _kept.append(_kept.pop(k))
            return _kept[-1]
    block = np.empty(size, np.uint8)
    _kept.append(block)
    while sum(other.size for other in _kept) > MOST + _ALIGNMENT:
        del _kept[0]  # the one whose last use is longest ago; whoever holds it keeps it
    return block


def _references(blocks: Sequence[object], k: int) -> int:
    return sys.getrefcount(blocks[k])


#: What counts as nobody: found out, as interpreters differ; where threads run at once, counts say nothing.
_UNUSED = -1 if sysconfig.get_config_var("Py_GIL_DISABLED") else _references([np.empty(1)], 0)
