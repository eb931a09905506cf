"""Running a study: what is on disk already is taken from there, the rest is given to workers."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing
from os import PathLike
from typing import Any

from chasles.base.errors import warn
from chasles.base.progress import is_watched, progress_bar
from chasles.studies.definition import Definition
from chasles.studies.effort import Effort
from chasles.studies.experiment import RunBatch, lowered_frequencies, parts, prepare
from chasles.studies.origin import Origins
from chasles.studies.results import StudyResults
from chasles.studies.store import PartResult, Store
from chasles.studies.workers import Performed, on_cluster, on_this_machine


class DamagedResultsWarning(UserWarning):
    """Result files were damaged; their runs are simulated again."""


class UnidentifiedWarning(UserWarning):
    """A controller's computation cannot be identified, so its results are not stored and every run recomputes them."""


class LoweredFrequencyWarning(UserWarning):
    """Sample periods are too long for the frequency asked for, so that controllers were designed for a lower one."""


def run(
    study: Definition,
    folder: str | PathLike[str] | None,
    *,
    workers: int | None = None,
    scheduler: Any = None,
    progress: bool | None = None,
) -> StudyResults:
    """Simulate all runs of a study that are not yet in the folder.

    Parameters and errors are those of `chasles.studies.Study.run`.
    """
    store = None if folder is None else Store(folder, study)
    batches = parts(study)
    result_of: dict[RunBatch, PartResult] = {}
    begin, processor_time = time.perf_counter(), 0.0
    try:
        if store is not None:
            result_of |= _stored(store, batches)
        missing = [part for part in batches if part not in result_of]
        origins = Origins(study) if store is None else store.origins
        elsewhere = scheduler is not None or workers not in (None, 1)
        with closing(_performed(study, batches, missing, workers, scheduler, progress)) as results:
            for part, result, origin, taken in results:
                processor_time += taken
                if store is not None or (elsewhere and origin is not None):
                    origins.check(part, origin)
                if store is not None:
                    store.save(part, result)
                result_of[part] = result
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_interrupted(store, len(result_of), len(batches))) from None
    results_by_part = {part: result_of[part] for part in batches}
    return StudyResults.of(study, results_by_part, len(missing), Effort(processor_time, time.perf_counter() - begin))


def _stored(store: Store, batches: list[RunBatch]) -> dict[RunBatch, PartResult]:
    """Results that are on disk already."""
    stored = {part: result for part in batches if (result := store.load(part)) is not None}
    if store.damaged:
        names = ", ".join(path.name for path in store.damaged[:3]) + (", …" if len(store.damaged) > 3 else "")
        warn(f"damaged results are computed anew: {names}", DamagedResultsWarning)
    for title, reason in store.unidentified.items():
        warn(
            f"results of controller '{title}' are not kept in {store.folder}, and every run of the study computes them "
            f"again: {reason}",
            UnidentifiedWarning,
        )
    return stored


def _interrupted(store: Store | None, finished: int, total: int) -> str:
    """Return a sentence about what an interruption leaves, and how to go on."""
    if store is None:
        return (
            f"{finished} of {total} parts of the study were done, and none is kept: run it with a folder to keep them"
        )
    return (
        f"{finished} of {total} parts of the study are done and kept in {store.folder}: "
        "run it again with this folder to go on from there"
    )


def _performed(
    study: Definition,
    batches: list[RunBatch],
    missing: list[RunBatch],
    workers: int | None,
    scheduler: Any,
    progress: bool | None,
) -> Generator[Performed]:
    """Results of the missing parts as they come, with a progress bar; closing it ends the workers."""
    if not missing:
        return
    prepare(study)
    lowered = lowered_frequencies(study) if study.tuning is None else []
    if lowered:
        warn(
            f"the frequency was lowered where the sample period is too long for it: {', '.join(lowered)}. Equal poles "
            "are compared only at the other rates; the report lists all poles. Lower the frequency, or sample faster",
            LoweredFrequencyWarning,
        )
    runs = sum(part.runs for part in batches)
    ready = runs - sum(part.runs for part in missing)
    show = is_watched() if progress is None else progress
    results = on_this_machine(study, missing, workers) if scheduler is None else on_cluster(study, missing, scheduler)
    with closing(results), progress_bar(study.title, runs, done=ready, unit="runs", show=show) as advance:
        for performed in results:
            yield performed
            advance(performed.part.runs)
