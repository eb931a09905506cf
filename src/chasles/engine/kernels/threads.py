"""Threads: their number, and running pieces of work on them so that an interrupt is answered soon."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Event
from typing import TYPE_CHECKING

from chasles.base.errors import ArgumentError

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

#: Number of threads chosen for the process, and in ``with threads(n)`` for the caller alone.
_default: int | None = None
_chosen: ContextVar[int | None] = ContextVar("chasles_threads", default=None)
_MOST = 1024


def get_threads() -> int:
    """Return the number of threads for large batches: as set, ``CHASLES_THREADS``, or the available cores."""
    chosen = _chosen.get() or _default
    if chosen is not None:
        return chosen
    try:
        return min(max(1, int(os.environ["CHASLES_THREADS"])), _MOST)
    except (KeyError, ValueError):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int | None) -> None:
    """Set the number of threads for large batches in this process; None restores the default."""
    global _default
    _default = None if count is None else _checked(count)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use a number of threads inside a ``with`` block, for calls from this thread (or asynchronous task) alone.

    Examples
    --------
    >>> import chasles as ch
    >>> with ch.threads(1):
    ...     ch.get_threads()
    1
    """
    token = _chosen.set(_checked(count))
    try:
        yield
    finally:
        _chosen.reset(token)


def _checked(count: int) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= _MOST:
        raise ArgumentError(f"the number of threads must be a positive whole number, {_MOST} at most, not {count!r}")
    return count


def run_all(tasks: Iterable[Iterator[None]], count: int) -> None:
    """Run tasks in any order on a number of threads, of which the caller's is one.

    A task works a short while for each ``next``. An exception, such as `KeyboardInterrupt`, ends all of them at their
    next ``yield`` and comes through when none is running any more: nothing is written to the caller's arrays behind its
    back.
    """
    waiting = iter(list(tasks))
    stopped = Event()

    def work() -> None:
        try:
            for task in waiting:  # a list's iterator hands each task to one thread only
                for _ in task:
                    if stopped.is_set():
                        return
        except BaseException:
            stopped.set()
            raise

    helpers: list[Future[None]] = []
    try:
        _start(work, count - 1, helpers)
        work()
    except BaseException:
        stopped.set()
        raise
    finally:
        _end(helpers, stopped)


def _start(work: Callable[[], None], count: int, helpers: list[Future[None]]) -> None:
    """Have other threads help, as far as threads can be had: not while the interpreter shuts down, for one."""
    try:
        for _ in range(count):
            helpers.append(_pool().submit(work))
    except RuntimeError:
        pass


def _end(helpers: Iterable[Future[None]], stopped: Event) -> None:
    """Wait for the threads that began to help, whatever happens meanwhile, and raise what went wrong there."""
    begun = [helper for helper in helpers if not helper.cancel()]
    interrupt: BaseException | None = None
    for helper in begun:
        while not helper.done():
            try:
                helper.exception()
            except BaseException as error:  # an interrupt of this thread
                stopped.set()
                interrupt = error
    if interrupt is not None:
        raise interrupt
    for helper in begun:
        helper.result()


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # imported for large batches only

    return ThreadPoolExecutor(_MOST, thread_name_prefix="chasles")


if hasattr(os, "register_at_fork"):  # a child process has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
