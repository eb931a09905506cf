"""Who does the work: this process, processes on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, MissingExtraError
from chasles.control.controller import Controller
from chasles.control.margin_design import DesignError
from chasles.engine import set_threads
from chasles.engine.identity import UnidentifiedError
from chasles.engine.validators import whole_number
from chasles.simulation import DivergenceWarning, SaturationWarning, StickingWarning, StiffnessWarning
from chasles.studies.definition import Definition
from chasles.studies.experiment import RunBatch, controller_of, loop_of, perform
from chasles.studies.origin import Origin, WorkerError, origin_of, origin_of_refused
from chasles.studies.store import PartResult
from chasles.studies.tuning import tune, tuned_law

#: A part is tried again when its worker died, this often.
RETRIES = 3
#: Processes that a study may ask for.
MOST_WORKERS = 10_000
#: Seconds to wait for a scheduler.
PATIENCE = 10.0


class Performed(NamedTuple):
    """Result of a part, its origin, None if nothing tells what the controller computes, and its processor time, s."""

    part: RunBatch
    result: PartResult
    origin: Origin | None
    processor_time: float = 0.0


def timed_part(study: Definition, part: RunBatch) -> Performed:
    """Perform a part, and measure the processor time that this process takes for it, compiling included."""
    begin = time.process_time()
    return perform_part(study, part)._replace(processor_time=time.process_time() - begin)


def perform_part(study: Definition, part: RunBatch) -> Performed:
    """Make the controller of a part, tune it if the study does, and simulate and measure its runs."""
    try:
        controller = controller_of(study, part)
    except DesignError as error:
        return Performed(part, str(error), origin_of_refused(study, part, str(error)))
    try:
        choice = study.controllers[part.controller]
        origin = origin_of(study, part, controller if callable(choice.kind) else None)
    except UnidentifiedError:
        origin = None
    with warnings.catch_warnings():
        _quiet()
        if study.tuning is None:
            return Performed(part, _measured(study, part, controller), origin)
        found = tune(study, part)
        measured = _measured(study, part, tuned_law(study, part, found))
        return Performed(part, measured | found._asdict(), origin)


def _measured(study: Definition, part: RunBatch, controller: Controller) -> dict[str, NDArray[np.float64]]:
    """Return measures of the runs of a part, and its loop's numbers."""
    return perform(study, part, controller) | {"loop": loop_of(study, part, controller)}


def on_this_machine(study: Definition, missing: list[RunBatch], workers: int | None) -> Generator[Performed]:
    """Results of parts as they come, from processes of this machine or from this one."""
    count = min(1 if workers is None else whole_number(workers, "workers", 1, MOST_WORKERS), len(missing))
    if count == 1:
        for part in missing:
            yield timed_part(study, part)
    else:
        _require_sendable(study)
        yield from _in_processes(study, missing, count)


def _require_sendable(study: Definition) -> None:
    try:
        pickle.dumps(study)
    except Exception as error:  # what cannot be pickled says so in many ways
        raise ArgumentError(
            f"a controller's function cannot be sent to other processes ({error}): define it at the top level of a "
            "module and bind values to it with functools.partial, or let one process do the work, with workers=1"
        ) from None


def _in_processes(study: Definition, missing: list[RunBatch], count: int) -> Generator[Performed]:
    remaining = list(missing)
    for _ in range(1 + RETRIES):
        context: Any = _Recorder(get_context("spawn"))  # a fork would copy this process's threads in an unknown state
        lifeline, held = context.Pipe(duplex=False)
        pool = ProcessPoolExecutor(count, mp_context=context, initializer=_prepare_worker, initargs=(study, lifeline))
        came = False
        try:
            waiting: dict[Future[Performed], RunBatch] = {}
            while remaining or waiting:
                # Few at a time, so that an interrupted study does not have to finish them all.
                while remaining and len(waiting) < 2 * count:
                    with _without_interrupts():
                        waiting[pool.submit(_work, remaining[0])] = remaining[0]
                    del remaining[0]  # only now: a pool whose process has just died takes nothing
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    performed = future.result()
                    del waiting[future]
                    came = True
                    yield performed
            pool.shutdown()
            return
        except BrokenProcessPool:
            remaining = [*waiting.values(), *remaining]
            if not came:
                raise WorkerError(
                    "the processes died before they had done anything; the first was to do "
                    f"{_named(study, remaining[0])}. "
                    'A script that starts processes must do so under: if __name__ == "__main__"'
                ) from None
        finally:
            for process in context.processes:
                if process.is_alive():  # whatever it is doing
                    process.kill()
            pool.shutdown(cancel_futures=True)
            held.close()
            lifeline.close()
    raise WorkerError(f"processes died {1 + RETRIES} times, the last time during {_named(study, remaining[0])}")


class _Recorder:
    """A context of multiprocessing that remembers the processes it made: a pool does not end those that are at work."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.processes: list[Any] = []

    def Process(self, *arguments: Any, **keywords: Any) -> Any:
        """Make a process."""
        self.processes.append(self._context.Process(*arguments, **keywords))
        return self.processes[-1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back, where the system can, while processes start, which inherit this.

    A terminal sends it to all processes at once; here, the first one receives it alone and ends the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def on_cluster(study: Definition, missing: list[RunBatch], scheduler: Any) -> Generator[Performed]:
    """Results of parts as they come, from the workers of a Dask cluster, which need Chasles, too."""
    try:
        from distributed import CancelledError, Client, KilledWorker, as_completed
        from distributed.comm.core import CommClosedError
    except ImportError as error:
        raise MissingExtraError("distributed", "cluster", "a Dask cluster") from error
    client: Any = scheduler if isinstance(scheduler, Client) else None
    if client is None:
        client = _connected(scheduler, Client)
    futures: dict[Any, RunBatch] = {}
    try:
        # Each task carries the study: data held for all by one worker would be lost with it.
        futures = {client.submit(_work_on_cluster, study, part, pure=False, retries=RETRIES): part for part in missing}
        completed: Any = as_completed
        for future in completed(list(futures), loop=client.loop):
            try:
                performed = future.result()
            except KilledWorker as error:
                raise WorkerError(f"workers died repeatedly during {_named(study, futures[future])}: {error}") from None
            except (CancelledError, CommClosedError, OSError) as error:
                if future.status == "error":  # the part's own, and not that of fetching its result
                    raise
                raise WorkerError(
                    f"the connection to the scheduler was lost during {_named(study, futures[future])}: {error}; start "
                    "the scheduler and the study again"
                ) from None
            del futures[future]
            yield performed
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


def _named(study: Definition, part: RunBatch) -> str:
    robot, controller = study.robots[part.robot].title, study.controllers[part.controller].title
    return f"'{controller}' on '{robot}' at {part.rate:g} Hz, delay {part.delay:g} periods"


def _quiet() -> None:
    """Ignore warnings of what a study counts, as lost runs, or has seen to, as steps that are short enough."""
    for category in (DivergenceWarning, SaturationWarning, StickingWarning, StiffnessWarning):
        warnings.simplefilter("ignore", category)


_study: Definition | None = None


def _prepare_worker(study: Definition, lifeline: Connection) -> None:
    global _study
    _study = study
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process is interrupted, and ends this one
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    _use_one_core()


def _end_with(lifeline: Connection) -> None:
    """End this process, whatever it is doing, when the main process dies."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _work(part: RunBatch) -> Performed:
    assert _study is not None
    return timed_part(_study, part)


def _work_on_cluster(study: Definition, part: RunBatch) -> Performed:
    _use_one_core()
    return timed_part(study, part)


def _use_one_core() -> None:
    """Workers are as many as cores: none needs more than one."""
    set_threads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
