"""Unusual environments: no docstrings, no home folder, terminals without Unicode, forked processes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import chasles as ch
from chasles.cli.commands import cache as commands
from chasles.engine.kernels import cache


def output(*command: str, code: int = 0, **environment: str) -> str:
    """Run Python in an environment of its own and return what it prints."""
    ended = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environment},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == code, ended.stderr.decode(errors="replace")[-3000:]
    return ended.stdout.decode(errors="replace")


COMPUTATIONS = """
import importlib, pkgutil
import numpy as np
from typer.testing import CliRunner
import chasles as ch
from chasles.cli.application import application
for module in pkgutil.walk_packages(ch.__path__, "chasles."):
    if not module.name.endswith(("__main__", "xacro_process")):
        importlib.import_module(module.name)
arm = ch.load("ur5")
q = np.linspace(0.3, 1.2, 6)
solution = arm.inverse_kinematics(arm.forward_kinematics(q), q0=q + 0.1)
run = ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), ch.PointToPoint(q, q + 0.2, 0.1), duration=0.1)
made = ch.function(q=(6,))(lambda q: q @ q)
found = [arm.inverse_dynamics(q, q, q), arm.mass_matrix(q), solution.q, run.q.values[-1], made.jacobian()(q)]
print([part.tobytes().hex() for part in found])
# Examples in messages come from docstrings: no command here is used wrongly.
for command in ("info ur5", "simulate planar2r --law pd-gravity", "convert planar2r - --to roboop"):
    said = CliRunner().invoke(application, command.split()).output
    print([line for line in said.splitlines() if " in " not in line])  # without the time that it took
"""


@pytest.mark.slow
def test_robots_and_commands_work_without_docstrings() -> None:
    assert output("-OO", "-c", COMPUTATIONS) == output("-c", COMPUTATIONS)


def test_a_free_threaded_python_is_refused_in_a_sentence() -> None:
    pretended = "import sys; sys.version = '3.13.0 experimental free-threading build'"
    caught = "try:\n    import chasles\nexcept ImportError as error:\n    print(error)"
    said = output("-c", f"{pretended}\n{caught}")
    assert said.startswith("Chasles needs a Python with the global interpreter lock: ")
    assert "Use the standard build" in said


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user whom the system does not know, without a home folder."""

    def unknown(_name: object) -> None:
        raise KeyError

    for variable in ("HOME", "USERPROFILE", "HOMEPATH", "XDG_CACHE_HOME", "LOCALAPPDATA", "CHASLES_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    if sys.platform != "win32":
        monkeypatch.setattr("pwd.getpwuid", unknown)


@pytest.mark.usefixtures("nobody")
def test_users_without_a_home_folder_have_no_cache(capsys: pytest.CaptureFixture[str]) -> None:
    twice = ch.Function(ch.trace(lambda x: 2.0 * x, {"x": ()}, name="twice"))
    assert twice(2.0) == 4.0
    assert ch.load("planar2r").gravity_torque(np.zeros(2)).shape == (2,)
    assert cache.info() == cache.CacheInfo(None, 0, 0, usable=False, limit=cache.info().limit)
    assert cache.clear() == 0
    commands.info()
    commands.clear()
    assert capsys.readouterr().out.splitlines()[1:] == ["0 kernels removed"]
    commands.info(as_json=True)
    assert '"path": null' in capsys.readouterr().out


def test_tables_are_printed_on_terminals_without_unicode() -> None:
    ascii_only = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LANG": "C", "LC_ALL": "C"}
    printed = output("-m", "chasles", "info", "ur5", **ascii_only)
    assert "mass matrix" in printed
    assert printed.isascii()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_live_view_is_closed_in_a_forked_process() -> None:
    script = """
import os, signal, urllib.request, warnings
import chasles as ch
warnings.simplefilter("ignore", DeprecationWarning)
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
with ch.load("planar2r").view(browser=False) as view:
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        view.close()
        os._exit(0)
    print(os.waitpid(child, 0)[1], browser.open(view.url).status)
"""
    assert output("-c", script) == "0 200\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_an_interrupt_while_a_command_imports_ends_it_quietly() -> None:
    script = """
import signal, sys
import chasles.cli
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "chasles.cli.application":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupted())
chasles.cli.main()
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (130, b"")
