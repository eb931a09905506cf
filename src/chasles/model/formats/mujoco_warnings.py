"""MuJoCo's warnings while it compiles a model, kept from the file in which MuJoCo would leave them.

Without a handler MuJoCo appends each warning to ``MUJOCO_LOG.TXT`` in the working directory. The handler is the whole
process's; MuJoCo has none for a thread, and older versions have no switch for the file. So the handler here serves
while a model compiles, keeps what comes from threads that compile one, and hands on what comes from others.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_kept: dict[int, list[str]] = {}  # by threads
_former: Callable[[str], object] | None = None


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """Collect the warnings that MuJoCo gives in this thread, in the list returned."""
    import mujoco

    global _former
    thread, messages = threading.get_ident(), list[str]()
    with _lock:
        if mujoco.get_mju_user_warning() is not _receive:
            _former = mujoco.get_mju_user_warning()
            mujoco.set_mju_user_warning(_receive)
        _kept[thread] = messages
    try:
        yield messages
    finally:
        with _lock:
            _kept.pop(thread, None)
            if not _kept and mujoco.get_mju_user_warning() is _receive:
                mujoco.set_mju_user_warning(_former)


def _receive(message: str) -> None:
    messages = _kept.get(threading.get_ident())
    if messages is not None:
        messages.append(message)
    elif _former is not None:
        _former(message)
    else:
        import mujoco

        mujoco.mju_writeLog("WARNING", message)
        print(f"WARNING: {message}\n", file=sys.stderr)


def _in_child() -> None:
    """Forget the other threads, which a fork does not copy, though one may hold the lock."""
    global _lock
    _lock = threading.Lock()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
