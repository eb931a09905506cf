"""Memory of large results, used again once nobody holds it.

Fresh memory comes from the operating system page by page, cleared; that takes several times as long as computing what
is written to it, and the allocator hands large arrays back as soon as they are freed. Some of them are kept here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.cpython import switch

#: Bytes of an array from which memory is kept, and of all that is kept.
SMALLEST, MOST = 1 << 18, 1 << 27
_MOST_BLOCKS = 64  # looking through more would take longer than fresh memory saves
_ALIGNMENT = 64  # a line of the cache

#: Bytes, and the first of them that begins a line.
Block = tuple[NDArray[np.uint8], int]

_kept: list[Block] = []
_lock = Lock()


def empty(shape: Sequence[int], dtype: str) -> NDArray[Any]:
    """Return an array as `numpy.empty` does.

    A large one begins where a line of the cache does, and may have the memory of an earlier result that is gone.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < SMALLEST or not switch.is_on():
        return np.empty(shape, dtype)
    if size <= MOST and _lock.acquire(blocking=False):
        try:
            block, start = _taken(size + _ALIGNMENT)
        finally:
            _lock.release()
    else:
        block, start = _new(size + _ALIGNMENT)
    return np.ndarray(shape, dtype, block, start)


def _new(size: int) -> Block:
    block = np.empty(size, np.uint8)
    return block, -block.__array_interface__["data"][0] % _ALIGNMENT


def _taken(size: int) -> Block:
    """Return a block that nobody holds, of at most twice the size, or a new one.

    The caches are likely to hold what was used last.
    """
    for k in reversed(range(len(_kept))):
        if size <= _kept[k][0].size <= 2 * size and _references(_kept, k) == _UNUSED:
            _kept.append(_kept.pop(k))
            return _kept[-1]
    _kept.append(_new(size))
    while len(_kept) > _MOST_BLOCKS or sum(block.size for block, _ in _kept) > MOST + _ALIGNMENT:
        del _kept[0]  # the one whose last use is longest ago; whoever holds it keeps it
    return _kept[-1]


def _references(blocks: Sequence[Block], k: int) -> int:
    return sys.getrefcount(blocks[k][0])


#: What counts as nobody: found out, as interpreters differ; with the switch off nothing is used again.
_UNUSED = _references([_new(1)], 0) if switch.is_on() else -1
