"""Whether there is machine code here, and the lock under which it is made."""

from __future__ import annotations

import os
from importlib.util import find_spec
from threading import RLock
from typing import Any

native: Any = None
if find_spec("llvmlite"):  # loaded with the package, so that the first call need not wait for it
    from chasles.engine.running import machine_code as native

#: Held while a function is compiled and published: two threads at once would do the work twice.
COMPILING = RLock()
#: What no other thread may hold while a process forks: the child would wait for a thread that it does not have.
_HELD_AT_FORK = [COMPILING] if native is None else [COMPILING, native.machine.compiler_lock()]


def native_available() -> bool:
    """Whether kernels are compiled to machine code: llvmlite is installed and ``CHASLES_JIT`` is not 0."""
    return native is not None and os.environ.get("CHASLES_JIT") != "0"


def _before_fork() -> None:
    for lock in _HELD_AT_FORK:
        lock.__enter__()


def _after_fork() -> None:
    for lock in reversed(_HELD_AT_FORK):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
