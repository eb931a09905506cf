"""Ctrl-C and kill -9: the work ends at once with all its processes, and what was stored is whole and taken up again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.studies.tiny_studies import stored, tiny

from chasles.studies.experiment import controller_of, parts, perform
from chasles.studies.store import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

#: Seconds that a loaded machine may take for what takes an idle one a fraction of one.
PATIENCE = 300.0

STUDY = """
import sys
from tests.studies.tiny_studies import tiny

if __name__ == "__main__":
    folder, workers, runs = sys.argv[1:]
    tiny(runs=int(runs), chunk=1).run(folder, workers=int(workers), progress=False)
"""
SIMULATION = """
import warnings
import chasles as ch

arm = ch.load("planar2r")
motion = ch.PointToPoint([0.0, 0.0], [0.6, -0.4], 1000.0)
ch.set_threads(1)
controller = {controller}
warnings.simplefilter("ignore")
ch.simulate(arm, controller, motion, duration=0.01, progress=False, {options})  # imports and compiles
print("ready", flush=True)
ch.simulate(arm, controller, motion, record=ch.Recording(every=1000), progress=False, {options})
"""


@contextmanager
def started(folder: Path, text: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A script in a session of its own, as in a terminal."""
    (folder / "script.py").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "script.py", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def alive(session: int) -> list[int]:
    """Processes of a session that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(its_session) == session and state != "Z":
            found.append(int(entry.name))
    return found


def gone(session: int) -> bool:
    return not alive(session)


def wait_until(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupted_study_ends_at_once_and_says_how_to_go_on(workers: int, tmp_path: Path) -> None:
    study, results = tiny(runs=400, chunk=1), tmp_path / "results"
    with started(tmp_path, STUDY, str(results), str(workers), "400") as process:
        wait_until(lambda: process.poll() is not None or len(stored(results)) > 2, "no part was stored")
        kept = len(stored(results))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, message = process.communicate(timeout=PATIENCE)
        wait_until(partial(gone, process.pid), "a process goes on")
    assert process.returncode not in (0, None)
    assert message.count("Traceback") == 1
    assert f"of 800 parts of the study are done and kept in {results}: run it again with this folder" in message
    finished = len(stored(results))
    assert kept <= finished < kept + 100
    assert not list(results.glob(".*"))
    store = Store(results, study)
    whole = [part for part in parts(study) if store.load(part) is not None]
    assert (len(whole), store.damaged) == (finished, [])
    arrays = perform(study, whole[-1], controller_of(study, whole[-1]))
    kept_arrays = store.load(whole[-1])
    assert isinstance(kept_arrays, dict)
    for name, array in arrays.items():
        np.testing.assert_array_equal(kept_arrays[name], array)


SIMULATIONS = {
    "plain Python": ("lambda now: [float(-x) for x in now.q]", ""),
    "variable step": ("ch.control.PD(arm, kp=1.0, kd=1.0)", "integrator='RK45'"),
    "compiled": ("ch.control.PD(arm, kp=1.0, kd=1.0)", "vary={'payload.mass': [0.1] * 2000}"),
}


@pytest.mark.slow  # in the default run tests/abuse/test_threads_and_processes.py interrupts scans
def test_interrupted_simulations_end_at_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        running = {}
        for number, (name, (controller, options)) in enumerate(SIMULATIONS.items()):
            folder = tmp_path / str(number)
            folder.mkdir()
            text = SIMULATION.format(controller=controller, options=options)
            running[name] = stack.enter_context(started(folder, text))
        for name, process in running.items():
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", name
        time.sleep(0.5)
        for name, process in running.items():
            assert process.poll() is None, name
            os.kill(process.pid, signal.SIGINT)
        begin = time.monotonic()
        for name, process in running.items():
            _, message = process.communicate(timeout=PATIENCE)
            assert message.rstrip().endswith("KeyboardInterrupt"), name
        assert time.monotonic() - begin < PATIENCE / 2


CLUSTER_STUDY = (
    STUDY.replace("workers, runs", "scheduler")
    .replace("int(runs)", "400")
    .replace("workers=int(workers)", "scheduler=scheduler")
)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["interrupted", "scheduler killed"])
def test_a_study_on_a_cluster_ends_at_once(what: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-show"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard"]
    where, results = tmp_path / "scheduler.json", tmp_path / "results"
    place = ["--scheduler-file", str(where)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment, "cwd": tmp_path}
    scheduler = subprocess.Popen([*dask, *place, "--no-dashboard"], **quiet)
    wait_until(where.exists, "no scheduler")
    helper = subprocess.Popen([*worker, *place], **quiet)
    address = json.loads(where.read_text())["address"]
    try:
        with started(tmp_path, CLUSTER_STUDY, str(results), address) as process:
            wait_until(lambda: len(stored(results)) > 2, "no part was stored")
            if what == "interrupted":
                os.kill(process.pid, signal.SIGINT)
            else:
                scheduler.kill()
            _, message = process.communicate(timeout=PATIENCE)
    finally:
        for each in (helper, scheduler):
            each.kill()
            each.wait()
    words = "of 800 parts of the study are done" if what == "interrupted" else "connection to the scheduler was lost"
    assert words in message.splitlines()[-1] or (what == "scheduler killed" and words in message)


@pytest.mark.slow
def test_a_study_that_is_killed_at_any_moment_goes_on(tmp_path: Path) -> None:
    """Seed by ``CHASLES_ATTACK_SEED``."""
    chance = random.Random(int(os.environ.get("CHASLES_ATTACK_SEED", "1")))
    study, results = tiny(runs=150, chunk=1), tmp_path / "results"

    for _ in range(4):
        if len(stored(results)) > 180:  # of 300: there must be some work left
            for path in chance.sample(stored(results), 150):
                path.unlink()
        before = len(stored(results))
        with started(tmp_path, STUDY, str(results), str(chance.choice([1, 2, 3])), "150") as process:
            if chance.random() < 0.7:  # at work, or else while it starts

                def works(process: subprocess.Popen[str] = process, before: int = before) -> bool:
                    return process.poll() is not None or len(stored(results)) > before

                wait_until(works, "no part was stored")
            time.sleep(chance.uniform(0.0, 1.0))
            how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
            os.kill(process.pid, how)
            process.wait(PATIENCE)
            wait_until(partial(gone, process.pid), f"a process goes on after signal {how}")
        store = Store(results, study)
        assert sum(store.load(part) is not None for part in parts(study)) == len(stored(results))
        assert not store.damaged
    resumed = study.run(results)
    for pair, values in study.run().values.items():
        for name, array in values.items():
            np.testing.assert_array_equal(array, resumed.values[pair][name], err_msg=f"{pair} {name}")
