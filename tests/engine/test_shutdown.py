"""Processes end in order, whatever compiled functions they still hold in cycles of references.

Python empties modules before it frees such cycles. The C library is told to overwrite what is freed with ones, so that
whoever reads it afterwards fails every time, not now and then: CPython would take a function's flags for those of
another kind of function.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROLOGUE = """
import sys
import numpy as np
import chasles as ch
"""
EXCITATION = """
from chasles.identification.excitation_problem import ExcitationProblem

problem = ExcitationProblem(ch.load(sys.argv[1]), 5.0, 2)
W = problem.observation(problem.random_start(np.random.default_rng(0)))
"""
CALLS_AT_THE_END = """
class Late:
    def __init__(self, arm):
        self.itself, self.call, self.q = self, arm.mass_matrix, np.zeros((20_000, arm.n))
        self.call(arm.home), self.call(self.q)

    def __del__(self):
        print("at the end", self.call(self.q).shape)

held = Late(ch.load(sys.argv[1]))
"""
ERROR = """
arm = ch.load(sys.argv[1])
arm.forward_kinematics(arm.home), arm.jacobian(arm.home, frame="body")
arm.forward_kinematics(arm.home, target="nowhere")
"""


def run(code: str, robot: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROLOGUE + code, robot],
        env=os.environ | {"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "255"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_a_process_ends_in_order_while_it_holds_compiled_functions() -> None:
    done = run(EXCITATION, "planar2r")
    assert (done.returncode, done.stderr) == (0, "")


def test_compiled_functions_can_be_called_until_the_end() -> None:
    done = run(CALLS_AT_THE_END, "planar2r")
    assert (done.returncode, done.stdout, done.stderr) == (0, "at the end (20000, 2, 2)\n", "")


def test_a_process_that_an_error_ends_shows_the_error() -> None:
    done = run(ERROR, "delta")
    assert done.returncode == 1
    assert "nowhere" in done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["xarm7", "puma560", "scara"])
def test_processes_with_other_robots_end_in_order(robot: str) -> None:
    done = run(EXCITATION, robot)
    assert (done.returncode, done.stderr) == (0, "")
