"""Who does the work: this process, processes on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from chasles.engine import set_threads
from chasles.errors import ArgumentError, ChaslesError, MissingExtraError
from chasles.simulation import DivergenceWarning, StiffnessWarning
from chasles.studies.definition import Study
from chasles.studies.experiment import Part, perform
from chasles.studies.store import Arrays

#: A part is tried again when its worker died, this often.
RETRIES = 3
#: Seconds to wait for a scheduler.
PATIENCE = 10.0


class WorkerError(ChaslesError, RuntimeError):
    """Workers died again and again; the message says during what."""


def on_this_machine(study: Study, missing: list[Part], workers: int | None) -> Iterator[tuple[Part, Arrays]]:
    """Results of parts as they come, from processes of this machine or from this one."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise ArgumentError(f"'workers' must be a positive whole number, not {workers!r}")
    count = workers or 1
    count = min(count, len(missing))
    if count == 1:
        with warnings.catch_warnings():
            _quiet()
            for part in missing:
                yield part, perform(study, part)
    else:
        yield from _in_processes(study, missing, count)


def _in_processes(study: Study, missing: list[Part], count: int) -> Iterator[tuple[Part, Arrays]]:
    left = list(missing)
    for _ in range(1 + RETRIES):
        context = get_context("spawn")  # a fork would copy this process's threads in an unknown state
        pool = ProcessPoolExecutor(count, mp_context=context, initializer=_prepare_worker, initargs=(study,))
        came = False
        try:
            waiting: dict[Future[Arrays], Part] = {}
            while left or waiting:
                # Few at a time, so that an interrupted study does not have to finish them all.
                while left and len(waiting) < 2 * count:
                    waiting[pool.submit(_work, left[0])] = left[0]
                    del left[0]  # only now: a pool whose process has just died takes nothing
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    part = waiting[future]
                    arrays = future.result()
                    del waiting[future]
                    came = True
                    yield part, arrays
            return
        except BrokenProcessPool:
            left = [*waiting.values(), *left]
            if not came:
                raise WorkerError(
                    f"the processes died before they had done anything; the first was to do {_named(study, left[0])}. "
                    'A script that starts processes must do so under: if __name__ == "__main__"'
                ) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    raise WorkerError(f"processes died {1 + RETRIES} times, the last time during {_named(study, left[0])}")


def on_cluster(study: Study, missing: list[Part], scheduler: Any) -> Iterator[tuple[Part, Arrays]]:
    """Results of parts as they come, from the workers of a Dask cluster, which need Chasles, too."""
    try:
        from distributed import Client, KilledWorker, as_completed
    except ImportError as error:
        raise MissingExtraError("distributed", "cluster", "a Dask cluster") from error
    client: Any = scheduler if isinstance(scheduler, Client) else None
    if client is None:
        client = _connected(scheduler, Client)
    futures: dict[Any, Part] = {}
    try:
        # Each task carries the study: data held for all by one worker would be lost with it.
        futures = {client.submit(_work_on_cluster, study, part, pure=False, retries=RETRIES): part for part in missing}
        completed: Any = as_completed
        for future in completed(list(futures), loop=client.loop):
            part = futures[future]
            try:
                arrays = future.result()
            except KilledWorker as error:
                raise WorkerError(f"workers died again and again during {_named(study, part)}: {error}") from None
            del futures[future]
            yield part, arrays
    finally:
        client.cancel(list(futures))
        if client is not scheduler:
            client.close()


def _connected(scheduler: Any, connect: Any) -> Any:
    """Return a client of a scheduler.

    While workers come and go, news of them may reach it together with the scheduler's greeting, which it asserts to
    come alone: it tries again.
    """
    for _ in range(1 + RETRIES):
        try:
            return connect(scheduler, timeout=PATIENCE, set_as_default=False)
        except AssertionError:
            continue
        except (OSError, ValueError, TypeError) as error:
            raise ArgumentError(f"the scheduler {scheduler!r} cannot be reached: {error}") from None
    raise ArgumentError(f"the scheduler {scheduler!r} greets in a way that this version of distributed does not expect")


def _named(study: Study, part: Part) -> str:
    robot, controller = study.robots[part.robot].title, study.controllers[part.controller].title
    return f"'{controller}' on '{robot}' at {part.rate:g} Hz"


def _quiet() -> None:
    """Lost runs are counted, and steps are short enough: nothing to warn of."""
    warnings.simplefilter("ignore", DivergenceWarning)
    warnings.simplefilter("ignore", StiffnessWarning)


_study: Study | None = None


def _prepare_worker(study: Study) -> None:
    global _study
    _study = study
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process is interrupted, and ends this one
    _use_one_core()


def _work(part: Part) -> Arrays:
    assert _study is not None
    return perform(_study, part)


def _work_on_cluster(study: Study, part: Part) -> Arrays:
    _use_one_core()
    return perform(study, part)


def _use_one_core() -> None:
    """Workers are as many as cores: none needs more than one."""
    set_threads(1)
    _quiet()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
