"""Results on disk: taken up again, never stale, whole or not there, and who computes them makes no difference."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.tiny_studies import stored, tiny

from chasles import studies
from chasles.base.errors import ArgumentError
from chasles.base.writing import UNFINISHED
from chasles.studies import store, workers
from chasles.studies.experiment import parts, perform
from chasles.studies.results import StudyResults
from chasles.studies.store import Store


def assert_same(left: StudyResults, right: StudyResults) -> None:
    assert left.values.keys() == right.values.keys()
    for pair, values in left.values.items():
        for name, array in values.items():
            np.testing.assert_array_equal(array, right.values[pair][name], err_msg=f"{pair} {name}")


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_results_are_taken_up_again(tmp_path: Path) -> None:
    first = tiny().run(tmp_path)
    assert first.computed == 4
    assert len(stored(tmp_path)) == 4
    second = tiny().run(tmp_path)
    assert second.computed == 0
    assert_same(first, second)


def test_what_a_killed_process_was_writing_is_no_result_and_goes_after_an_hour(tmp_path: Path) -> None:
    fresh, old = tmp_path / f".1{UNFINISHED}.npz", tmp_path / f".2{UNFINISHED}.npz"
    for path in (fresh, old):
        path.write_bytes(b"half of a result")
    os.utime(old, (time.time() - 4000.0,) * 2)
    results = tiny().run(tmp_path)
    assert results.computed == 4
    assert len(stored(tmp_path)) == 4
    assert (fresh.exists(), old.exists()) == (True, False)


@pytest.mark.parametrize("tuning", [None, studies.Tuning(evaluations=8, iterations=0, draws=4)], ids=["", "tuned"])
def test_an_interrupted_study_goes_on(
    tuning: studies.Tuning | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, study = 0, tiny(tuning=tuning)

    def interrupted(*arguments: Any) -> Any:
        nonlocal done
        done += 1
        if done > 2:
            raise KeyboardInterrupt
        return perform(*arguments)

    monkeypatch.setattr(workers, "perform", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path)
    monkeypatch.undo()
    results, whole = study.run(tmp_path), study.run()
    assert results.computed == 2
    assert_same(results, whole)
    assert len(results.tunings) == (0 if tuning is None else 4)
    for key, found in results.tunings.items():
        assert np.array_equal(whole.tunings[key].candidates, found.candidates, equal_nan=True)


@pytest.mark.parametrize(
    "damage", ["cut", "flipped", "empty", "text", "long", "folder", "another part", "pickle", "shape"]
)
def test_damaged_results_are_computed_anew(damage: str, tmp_path: Path) -> None:
    study = tiny()
    whole = study.run(tmp_path)
    first, second = (Store(tmp_path, study).path(part) for part in parts(study)[:2])
    data = bytearray(first.read_bytes())
    if damage == "cut":
        first.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[len(data) // 3] ^= 255
        first.write_bytes(data)
    elif damage == "empty":
        first.write_bytes(b"")
    elif damage == "text":
        first.write_text("these are no results")
    elif damage == "long":
        first.write_bytes(data + bytes(1_000_000))
    elif damage == "folder":
        first.unlink()
        first.mkdir()
        with pytest.raises(ArgumentError, match="cannot be written"):
            study.run(tmp_path)
        return
    elif damage == "another part":
        first.write_bytes(second.read_bytes())
    else:
        with np.load(first) as archive:
            arrays = dict(archive)
        arrays["rms_error"] = np.array([None] * 6, dtype=object) if damage == "pickle" else np.zeros(5)
        np.savez(first, **arrays)
    with pytest.warns(studies.DamagedResultsWarning, match=first.name):
        results = study.run(tmp_path)
    assert results.computed == 1
    assert_same(results, whole)
    assert study.run(tmp_path).computed == 0


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "inside", "bad\0name"):
        with pytest.raises(ArgumentError, match="results cannot be stored in"):
            tiny().run(folder)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(ArgumentError, match="No space left on device"):
        tiny().run(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_processes_give_the_same(tmp_path: Path) -> None:
    """And one that is killed is replaced."""
    study = tiny(chunk=3)
    alone = study.run()
    pids: list[int] = []

    def kill_one() -> None:
        import multiprocessing

        children = multiprocessing.active_children()
        pids.append(children[0].pid or 0)
        os.kill(pids[0], signal.SIGKILL)

    collected = {}
    for count, performed in enumerate(workers.on_this_machine(study, parts(study), 2)):
        collected[performed.part] = performed.result
        if count == 1:
            kill_one()
    assert pids
    assert_same(StudyResults.of(study, {part: collected[part] for part in parts(study)}, 0), alone)


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_wrong_numbers_of_workers(count: Any) -> None:
    with pytest.raises(ArgumentError, match="workers must be a whole number"):
        tiny().run(workers=count)


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "PATIENCE", 0.3)
    with pytest.raises(ArgumentError, match=r"scheduler 'tcp://127\.0\.0\.1:9' cannot be reached"):
        tiny().run(scheduler="tcp://127.0.0.1:9")
    with pytest.raises(ArgumentError, match="cannot be reached"):
        tiny().run(scheduler="magic://nowhere")


def test_a_greeting_that_is_garbled_is_waited_for_again() -> None:
    """News of a worker in the scheduler's greeting makes the client of distributed fail in an assertion."""
    attempts = []

    def connect(address: str, **options: object) -> str:
        attempts.append(address)
        if len(attempts) < 3:
            raise AssertionError
        return "client"

    assert workers._connected("tcp://somewhere", connect) == "client"
    assert len(attempts) == 3
    with pytest.raises(ArgumentError, match="greets in a way"):
        workers._connected("tcp://somewhere", lambda address, **options: (_ for _ in ()).throw(AssertionError))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # the cluster's own, about the worker that is killed
def test_a_killed_worker_of_a_cluster_loses_nothing(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    study = tiny(chunk=1)  # 24 parts
    alone = study.run()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        victim = next(iter(cluster.workers.values())).pid
        came = threading.Event()

        def kill_in_mid_run() -> None:
            came.wait(60)
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill_in_mid_run)
        killer.start()
        collected = {}
        for performed in workers.on_cluster(study, parts(study), client):
            came.set()
            collected[performed.part] = performed.result
        killer.join()
        wait_until(lambda: all(worker.pid != victim for worker in cluster.workers.values()))
        assert_same(StudyResults.of(study, {part: collected[part] for part in parts(study)}, 0), alone)
        kept = study.run(tmp_path / "results", scheduler=cluster.scheduler_address)
    assert_same(kept, alone)
