"""What a command does not need is not imported: a shell waits for the completion of each word."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from chasles.cli.options import law_names
from chasles.studies.controllers import KINDS

#: Packages that cost half of a second and more.
HEAVY = (
    "scipy.optimize", "scipy.signal", "scipy.stats", "xarray", "pandas", "plotly", "chasles.control", "chasles.studies",
    "chasles.algorithms", "chasles.identification", "chasles.inverse_kinematics", "chasles.simulation",
)  # fmt: skip
SCRIPT = f"""
import json, sys
from contextlib import redirect_stdout
from io import StringIO
from chasles.cli import main
with redirect_stdout(StringIO()) as said:
    for words in json.loads(sys.argv[1]):
        sys.argv = ["chasles", *words]
        try:
            main()
        except SystemExit as left:
            if left.code:
                raise
print(json.dumps([[name for name in {HEAVY!r} if name in sys.modules], said.getvalue()]))
"""
HELP = [
    [*words, "--help"]
    for words in (
        [], ["demo"], ["robots"], ["info"], ["view"], ["convert"], ["excite"], ["identify"], ["ik"], ["optimize"],
        ["plot"], ["payload"], ["simulate"], ["laws"], ["parameters"], ["study"], ["cache"], ["cache", "info"],
    )
]  # fmt: skip


def process(*commands: list[str], **environment: str) -> tuple[list[str], str]:
    """Heavy packages that commands import in a fresh process, and what they say."""
    call = [sys.executable, "-c", SCRIPT, json.dumps(commands)]
    done = subprocess.run(call, capture_output=True, text=True, env=os.environ | environment, timeout=60, check=True)
    imported, said = json.loads(done.stdout)
    return imported, said


@pytest.mark.parametrize("commands", [[["--version"]], HELP, [["robots"]]], ids=["version", "help", "robots"])
def test_commands_import_what_they_need(commands):
    imported, said = process(*commands)
    assert imported == []
    assert said


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("chasles si", "simulate"),
        ("chasles simulate --wa", "--waypoint"),
        ("chasles simulate ur5 --law pid-", "pid-gravity"),
        ("chasles view ur5 --law slo", "slotine-li"),
        ("chasles convert panda a.toml --to modified-d", "modified-dh"),
        ("chasles info pand", "panda"),
    ],
)
def test_completion_imports_nothing_heavy(words, completed):
    place = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    imported, said = process([], _CHASLES_COMPLETE="complete_bash", **place)
    assert imported == []
    assert said.split() == [completed]


def test_the_command_line_names_the_controllers_of_studies():
    assert sorted(law_names()) == sorted(KINDS)
