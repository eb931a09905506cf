"""Compiling aside: code that makes later calls faster is made in a thread; calls go on with the code that is there.

The thread lives as long as there is something to compile. Nobody waits for it but a fork, another program's first call
and the end of the process, and these no longer than LLVM takes for a part of a program, some tenths of a second.
"""

from __future__ import annotations

import atexit
import logging
from threading import Thread
from typing import Protocol
from weakref import ref

from chasles.engine.kernels.shapes import Width
from chasles.engine.running.compiling import COMPILING, native


class Compilable(Protocol):
    """A program that has code of one width and gets that of another."""

    @property
    def usage(self) -> str:
        """How it is called, for messages."""

    def compile(self, width: Width) -> None:
        """Compile code of a width and let calls go to it from then on."""

    def give_up(self, width: Width) -> None:
        """Let the code that is there serve all calls."""


#: What is to be compiled, in order. A program that nobody holds any more is left out; `COMPILING` guards it.
_waiting: dict[tuple[ref[Compilable], Width], None] = {}
_worker: Thread | None = None
_is_closed = False


def ask(runner: Compilable, width: Width) -> None:
    """Have code compiled for a program, once: callers ask again and again while there is none.

    A forked process has its parent's list, but not the thread: its next question starts another.
    """
    global _worker
    if not COMPILING.acquire(blocking=False):  # whoever asks is not to wait
        return
    try:
        if _is_closed:
            runner.give_up(width)
            return
        _waiting.setdefault((ref(runner), width))
        if _worker is None or not _worker.is_alive():
            _worker = Thread(target=_compile_all, name="chasles-compiler", daemon=True)
            _worker.start()
    except RuntimeError:  # no more threads can be had
        _waiting.clear()
        runner.give_up(width)
    finally:
        COMPILING.release()


def wait() -> None:
    """Return when everything that was asked for is compiled."""
    while (worker := _worker) is not None and worker.is_alive():
        worker.join()


def _compile_all() -> None:
    global _worker
    while True:
        with COMPILING:
            if not _waiting:
                _worker = None
                return
            key = next(iter(_waiting))
        _compile(*key)
        with COMPILING:
            _waiting.pop(key, None)


def _compile(reference: ref[Compilable], width: Width) -> None:
    runner = reference()
    if runner is None:
        return
    try:
        runner.compile(width)
    except Exception:
        logging.getLogger(__name__).warning("%s is not compiled for %s samples", runner.usage, width, exc_info=True)
        runner.give_up(width)


@atexit.register
def _close() -> None:
    """Let the process end only while the thread is not inside LLVM, whose memory goes then."""
    global _is_closed
    _is_closed = True
    if _worker is not None and _worker.is_alive():
        for lock in (COMPILING, native.machine.compiler_lock()):
            lock.__enter__()  # for ever; the thread that ends the process may enter again
