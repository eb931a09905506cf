"""Standard streams that are closed or full end a command in a line, not in a traceback."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

CHASLES = f"{shlex.quote(sys.executable)} -c 'from chasles.cli import main; main()'"
FULL = Path("/dev/full")


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("words", ["--version", "cache info", "cache --help"])
def test_a_closed_output_takes_what_is_written(words):
    done = shell(f"{CHASLES} {words} >&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_closed_errors_do_not_stop_a_command():
    assert shell(f"{CHASLES} info nix 2>&-").returncode == 2
    assert shell(f"{CHASLES} --version 2>&-").stdout.startswith("chasles ")


@pytest.mark.parametrize("words", ["--version", "cache info --json", "cache --help"] if FULL.exists() else [])
def test_a_full_output_is_named(words):
    done = shell(f"{CHASLES} {words} > {FULL}")
    assert done.returncode == 1
    assert done.stderr == "Error: the standard output cannot be written: No space left on device\n"


def test_a_reader_that_leaves_is_no_error():
    done = shell(f"{CHASLES} robots --json | head -1")
    assert done.stdout.strip() == "["
    assert done.stderr == ""
