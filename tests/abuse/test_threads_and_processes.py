"""Threads that make the first calls together, forks, small stacks, long results and interrupts.

What could end the process runs in a process of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

HEADER = """
import gc, operator, os, signal, sys, threading, time
import numpy as np
import chasles as ch
from chasles.geometry.batched import batched

def together(*calls):
    barrier = threading.Barrier(len(calls))
    failed = []
    def run(call):
        barrier.wait()
        try:
            call()
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads: thread.start()
    gc.collect()
    for thread in threads: thread.join()
    assert not failed, failed[0]
"""


def run(script: str, *, timeout: float = 300.0, **environment: str) -> str:
    """Run a script in a new process, which must end well, and return what it prints."""
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", HEADER + textwrap.dedent(script)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert ended.returncode == 0, f"exit {ended.returncode}\n{ended.stderr[-3000:]}"
    return ended.stdout.strip()


FIRST_CALLS = """
    sys.setswitchinterval(1e-5)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    q = np.linspace(-1.0, 1.0, 7)

    def often(call, expected):
        def repeat():
            for _ in range(100):
                np.testing.assert_array_equal(call(), expected)
        return repeat

    known = ch.load("panda")
    J = {frame: known.jacobian(q, frame=frame) for frame in ("body", "space", "world-aligned")}
    tau = known.inverse_dynamics(q, q, q)
    for k in range(rounds):
        arm = ch.load("panda")
        together(*[often(lambda f=f: arm.jacobian(q, frame=f), J[f]) for f in J] * 3)
        arm = ch.load("panda")
        together(*[often(lambda: arm.inverse_dynamics(q, q, q), tau)] * 8)

        @batched(v=(3,))
        def scaled(v, factor=2.0):
            return factor * v + k

        @batched(v=(3,))
        def doubled(v):
            return 2.0 * v + k

        ones = np.ones(3)
        together(*[often(lambda f=f: scaled(ones, factor=f), f * ones + k) for f in (1.0, 2.0, 3.0)] * 3)
        together(*[often(lambda: doubled(ones), 2.0 * ones + k)] * 8)
        del arm, scaled, doubled
        gc.collect()
"""


def test_first_calls_at_the_same_time() -> None:
    """Each round made 2 of 3 processes crash while machine code could go before its last caller."""
    run(FIRST_CALLS.replace("ROUNDS", "4"))


@pytest.mark.slow
@pytest.mark.parametrize("allocator", ["default", "debug"])
def test_first_calls_at_the_same_time_again_and_again(allocator: str) -> None:
    run(FIRST_CALLS.replace("ROUNDS", "16"), PYTHONMALLOC=allocator, PYTHONDEVMODE="1", timeout=1200.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_computes_after_its_parent_used_threads() -> None:
    printed = run("""
        import multiprocessing, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        ch.set_threads(2)
        arm, puma = ch.load("planar2r"), ch.load("puma560")
        q = np.ones((100_000, 2))
        targets = puma.forward_kinematics(np.random.default_rng(0).uniform(-1, 1, (100, 6)))

        def work(_):
            return float(arm.inverse_dynamics(q, q, q).sum()), int(puma.inverse_kinematics(targets).success.sum())

        expected = work(0)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(work, range(4)).get(60) == [expected] * 4
        print("done")
    """)
    assert printed == "done"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_may_fork_while_another_thread_compiles() -> None:
    run(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        stop = threading.Event()

        def compile_on():
            k = 0
            while not stop.is_set():
                k += 1
                ch.Function(ch.trace(lambda x: np.cumsum(np.outer(x, x) + k), {"x": (8,)}, name=f"f{k}"))(np.ones(8))

        thread = threading.Thread(target=compile_on)
        thread.start()
        for k in range(10):
            time.sleep(0.02)
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                f = ch.Function(ch.trace(lambda x: x @ x + k, {"x": (3,)}, name=f"own{k}"))
                os._exit(0 if f(np.ones(3)) == 3 + k else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        thread.join()
    """,
        CHASLES_CACHE_DIR="none",
    )


def test_results_of_any_length() -> None:
    run("""
        many = ch.Function(ch.trace(lambda x: np.array([x] * 200_000), {"x": ()}, name="many"))
        assert (many(2.0) == 2.0).all() and (many([2.0, 3.0])[1] == 3.0).all()
    """)


@pytest.mark.slow
def test_long_programs_of_long_results() -> None:
    run("""
        outer = ch.Function(ch.trace(np.outer, {"x": (380,), "y": (380,)}, name="outer"))
        x, y = np.random.default_rng(0).normal(size=(2, 380))
        np.testing.assert_array_equal(outer(x, y), np.outer(x, y))
        n = 100
        arm = ch.Robot.from_dh([{"a": 0.1, "alpha": 0.3, "d": 0.05, "mass": 1.0}] * n)
        assert np.isfinite(arm.gravity_torque(np.ones(n))).all()
    """)


def test_small_stacks() -> None:
    run("""
        panda = ch.load("panda")
        q = np.linspace(-1.0, 1.0, 7)
        calls = {
            name: (lambda f, count: lambda: f(*[q] * count))(operator.attrgetter(name)(panda), count)
            for name, count in {
                "regressors.torque": 3, "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "linearize": 3
            }.items()
        }
        expected = {name: call() for name, call in calls.items()}
        threading.stack_size(64 * 1024)
        for name, call in calls.items():
            found = []
            thread = threading.Thread(target=lambda: found.append(call()))
            thread.start()
            thread.join()
            for a, b in zip(found[0], expected[name]):
                np.testing.assert_array_equal(a, b)
    """)


def test_two_threads_choose_their_own_number_of_threads() -> None:
    """Each context ends while the other lasts, and nothing of either remains."""
    run("""
        before = ch.get_threads()
        seen = {}

        def use(count, begin, end):
            time.sleep(begin)
            with ch.threads(count):
                time.sleep(end - begin)
                seen[count] = ch.get_threads()

        threads = [threading.Thread(target=use, args=args) for args in ((1, 0.0, 0.2), (3, 0.1, 0.4))]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert seen == {1: 1, 3: 3} and ch.get_threads() == before, (seen, ch.get_threads())
    """)


LONG_CALLS = {
    "linearize": "arm.linearize(*np.random.default_rng(0).normal(size=(3, 100_000, 7)))",
    "inverse_kinematics": "arm.inverse_kinematics(far_away, max_iterations=1_000_000)",
    "one inverse_kinematics": "arm.inverse_kinematics(far[0], max_iterations=1_000_000_000)",
    "scan": "ch.Function(drift, shape='scan')(np.zeros(2), np.ones((10, 100_000_000 // 64, 1)) * 1e-9)",
    "scans": "ch.Function(drift, shape='scan')(np.zeros((64, 2)), np.ones((10_000_000, 1, 1)) * 1e-9)",
    "compilation": "ch.Function(long)(np.ones(200))",
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, marks=[pytest.mark.slow] if call not in ("scan", "scans", "compilation") else [])
        for call in LONG_CALLS
    ],
)
def test_an_interrupt_is_answered_within_half_a_second(call: str, threads: int) -> None:
    script = f"""
    ch.set_threads({threads})
    arm = ch.load("panda")
    far = np.tile(np.eye(4), (50_000, 1, 1))
    far[:, :3, 3] = 5.0 + np.random.default_rng(0).normal(size=(50_000, 3))
    far_away = np.tile(far[:25_000], (8, 1, 1))
    drift = ch.trace(lambda x, t: (x + t[0], x[0]), {{"x": (2,), "t": (1,)}}, name="drift")
    long = ch.trace(lambda x: np.outer(np.cumsum(x), x), {{"x": (200,)}}, name="long")
    arm.linearize(np.zeros(7), np.zeros(7), np.zeros(7))
    print("ready", flush=True)
    try:
        while True:
            {LONG_CALLS[call]}
    except KeyboardInterrupt:
        print(time.process_time(), flush=True)
    """
    with subprocess.Popen(
        [sys.executable, "-c", HEADER + textwrap.dedent(script)],
        env={**os.environ, "CHASLES_CACHE_DIR": "none"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        time.sleep(0.5)
        spent = _processor_time(process.pid)
        process.send_signal(signal.SIGINT)
        answered = float(process.stdout.readline())
    assert process.returncode == 0
    # Processor time of both threads: what else runs on the machine does not count.
    assert answered - spent < 0.5 * threads


def _processor_time(pid: int) -> float:
    """Seconds of processor time that a process has used, of all its threads."""
    if not os.path.exists(f"/proc/{pid}/stat"):
        return float("inf")
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
