"""Wherever a law holds a number, results of another number are never taken for its own."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from tests.studies.tiny_studies import tiny

import chasles as ch
from chasles import studies
from chasles.control.python_law import as_controller
from chasles.engine.identity import UnidentifiedError
from chasles.studies.experiment import parts
from chasles.studies.origin import origin_of

#: Laws with the stiffness <K>: texts of modules that are run in a folder of their own.
WAYS = {
    "constant": "def law(now): return <K> * (now.reference.q - now.q) - 20.0 * now.qd",
    "closure": """
        def outer(k):
            def law(now): return k * (now.reference.q - now.q) - 20.0 * now.qd
            return law
        law = outer(<K>)""",
    "global": "K = <K>\ndef law(now): return K * (now.reference.q - now.q)",
    "default": "def law(now, *, k=<K>): return k * (now.reference.q - now.q)",
    "partial": """
        from functools import partial
        def plain(k, now): return k * (now.reference.q - now.q)
        law = partial(plain, <K>)""",
    "namespace": """
        from types import SimpleNamespace
        gains = SimpleNamespace(k=<K>)
        def law(now): return gains.k * (now.reference.q - now.q)""",
    "attribute of a callable": """
        class Law:
            def __init__(self, k): self.k = k
            def __call__(self, now): return self.k * (now.reference.q - now.q)
        law = Law(<K>)""",
    "attribute of the function": """
        def law(now): return law.k * (now.reference.q - now.q)
        law.k = <K>""",
    "slots that are not pickled": """
        class Gains:
            __slots__ = ("k",)
            def __init__(self, k): self.k = k
            def __getstate__(self): return ()
        gains = Gains(<K>)
        def law(now): return gains.k * (now.reference.q - now.q)""",
    "descriptor": """
        class Gain:
            def __get__(self, instance, owner): return <K>
        class Gains: k = Gain()
        def law(now): return Gains().k * (now.reference.q - now.q)""",
    "metaclass": """
        class Meta(type): k = <K>
        class Gains(metaclass=Meta): pass
        def law(now): return Gains.k * (now.reference.q - now.q)""",
    "attributes made on demand": """
        class Gains:
            def __getattr__(self, name): return <K>
        gains = Gains()
        def law(now): return gains.k * (now.reference.q - now.q)""",
    "module with attributes made on demand": """
        import types
        module = types.ModuleType("module")
        module.__getattr__ = lambda name: <K>
        def law(now): return getattr(module, "gain") * (now.reference.q - now.q)""",
    "array of its own kind": """
        class Gains(np.ndarray): pass
        gains = np.ones(2).view(Gains)
        gains.k = <K>
        def law(now): return gains.k * (now.reference.q - now.q)""",
    "view of an array": """
        whole = np.array([1.0, <K>])
        gains = whole[1:]
        def law(now): return gains[0] * (now.reference.q - now.q)""",
    "array that is changed": """
        gains = np.ones(2)
        gains[:] = <K>
        def law(now): return gains * (now.reference.q - now.q)""",
    "C number": """
        import ctypes
        gain = ctypes.c_double(<K>)
        def law(now): return gain.value * (now.reference.q - now.q)""",
    "C pointer": """
        import ctypes
        gain = ctypes.pointer(ctypes.c_double(<K>))
        def law(now): return gain.contents.value * (now.reference.q - now.q)""",
    "globals of another function": """
        K = <K>
        def other(): pass
        def law(now): return other.__globals__["K"] * (now.reference.q - now.q)""",
    "globals()": "K = <K>\ndef law(now): return globals()['K'] * (now.reference.q - now.q)",
    "frame": """
        import sys
        K = <K>
        def law(now): return sys._getframe().f_globals["K"] * (now.reference.q - now.q)""",
    "text that is run": "def law(now): return eval('<K>') * (now.reference.q - now.q)",
    "code that is replaced": """
        def law(now): return 1.0 * (now.reference.q - now.q)
        law.__code__ = (lambda now: <K> * (now.reference.q - now.q)).__code__""",
    "cached function": """
        from functools import lru_cache
        @lru_cache
        def gain(): return <K>
        def law(now): return gain() * (now.reference.q - now.q)""",
    "context": """
        from contextvars import ContextVar
        gain = ContextVar("gain", default=<K>)
        def law(now): return gain.get() * (now.reference.q - now.q)""",
    "weak reference": """
        import weakref
        class Gains: k = <K>
        gains = Gains()
        seen = weakref.ref(gains)
        def law(now): return seen().k * (now.reference.q - now.q)""",
    "environment": """
        import os
        os.environ["LAW_GAIN"] = "<K>"
        def law(now): return float(os.environ["LAW_GAIN"]) * (now.reference.q - now.q)""",
    "generator with a seed": """
        def law(now): return np.random.default_rng(int(<K>)).uniform(50.0, 90.0) * (now.reference.q - now.q)""",
    "compiled function": """
        stiff = ch.function(x=(2,))(lambda x: <K> * x)
        def law(now): return stiff(now.reference.q - now.q)""",
    "law of the library inside": """
        inner = ch.PDGravity(ch.load("planar2r"), kp=<K>, kd=20.0)
        class Own(ch.Controller):
            def law(self, now): return inner.law(now)
        law = Own()""",
    "inner law": """
        class Own(ch.Controller):
            def __init__(self, inner): self.inner = inner
            def law(self, now): return 2.0 * self.inner.law(now)
        law = Own(ch.PDGravity(ch.load("planar2r"), kp=<K>, kd=20.0))""",
    "robot inside": """
        arm = ch.load("planar2r").with_payload(<K> / 100.0)
        def law(now): return arm.gravity_torque(now.q) - 5.0 * now.qd""",
    "memory at the start": """
        class Own(ch.Controller):
            memory = {"k": np.array(<K>)}
            def law(self, now): return now.memory.k * (now.reference.q - now.q)
        law = Own()""",
    "gain that can vary": """
        class Own(ch.Controller):
            varies = ("k",)
            k = <K>
            def law(self, now): return self.k * (now.reference.q - now.q)
        law = Own()""",
    "schedule": """
        class Own(ch.Controller):
            def schedule(self, times, motion): return np.full((len(times), 1), <K>)
            def law(self, now): return now.schedule[0] * (now.reference.q - now.q)
        law = Own()""",
    "wrench": """
        class Own(ch.Controller):
            measured_wrench = "tool"
            def law(self, now): return now.wrench[:2] + <K> * (now.reference.q - now.q)
        law = Own()""",
}

#: Ways to read a number from a file, as expressions; ``gain.*`` are files that hold it.
FILES = {
    "open": "float(open('gain.txt').read())",
    "Path.open": "float(Path('gain.txt').open().read())",
    "read_text": "float(Path('gain.txt').read_text())",
    "os.open": "float(os.read(os.open('gain.txt', os.O_RDONLY), 99))",
    "codecs": "float(__import__('codecs').open('gain.txt').read())",
    "linecache": "float((linecache.clearcache(), linecache.getline('gain.txt', 1))[1])",
    "fileinput": "float(next(__import__('fileinput').FileInput('gain.txt')))",
    "runpy": "__import__('runpy').run_path('gain.py')['K']",
    "gzip": "float(__import__('gzip').open('gain.gz').read())",
    "json": "__import__('json').load(open('gain.txt'))",
    "np.loadtxt": "np.loadtxt('gain.txt')",
    "np.load": "np.load('gain.npy')[()]",
    "np.memmap": "np.memmap('gain.raw', dtype=float, mode='r')[0]",
    "pandas": "float(__import__('pandas').read_csv('gain.csv').k[0])",
    "scipy.io": "float(scipy.io.loadmat('gain.mat')['k'][0, 0])",
    "sqlite": "sqlite3.connect('gain.db').execute('select k from gains').fetchone()[0]",
    "chasles.load": "float(ch.load('arm.toml').description.mass)",
    "a robot's computation": "ch.load('arm.toml').gravity_torque([0.0, 0.0])",
}


def write_files(folder: Path, k: float) -> None:
    (folder / "gain.txt").write_text(f"{k}")
    (folder / "gain.csv").write_text(f"k\n{k}\n")
    (folder / "gain.py").write_text(f"K = {k}\n")
    (folder / "gain.gz").write_bytes(gzip.compress(f"{k}".encode()))
    np.save(folder / "gain.npy", k)
    np.array([k]).tofile(folder / "gain.raw")
    scipy.io.savemat(folder / "gain.mat", {"k": k})
    with sqlite3.connect(folder / "gain.db") as table:
        table.execute("drop table if exists gains")
        table.execute("create table gains (k real)")
        table.execute("insert into gains values (?)", [k])
    table.close()
    ch.load("planar2r").with_values({"links.link2.mass": k}).save(folder / "arm.toml")


def law_of(text: str) -> Any:
    module: Any = types.ModuleType("module_of_a_test")
    vars(module).update(ch=ch, np=np)
    exec(textwrap.dedent(text), vars(module))
    return module.law


def digest(text: str) -> str:
    """Digest of the origin of a result of a law."""
    law = law_of(text)
    study = tiny(controllers=(studies.StudyController("own", lambda model, motion, period: law),), rest=0.0)
    return origin_of(study, parts(study)[0], as_controller(law)).digest


@pytest.mark.parametrize("way", WAYS)
def test_a_number_counts_wherever_it_is_held(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAW_GAIN", "")
    first, again, other = (digest(WAYS[way].replace("<K>", k)) for k in ("200.0", "200.0", "90.0"))
    assert first == again != other


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("way", FILES)
def test_a_number_counts_however_it_is_read(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if way == "pandas":
        pytest.importorskip("pandas")
    text = "import linecache, os, sqlite3\nimport scipy.io\nfrom pathlib import Path\n"
    text += f"def law(now): return {FILES[way]} * (now.reference.q - now.q)"
    digests = []
    for k in (200.0, 200.0, 90.0):
        write_files(tmp_path, k)
        digests.append(digest(text))
    assert digests[0] == digests[1] != digests[2]


#: Laws of which nothing tells what they compute, and a word of the message.
UNIDENTIFIED = {
    "clock": ("import time\ndef law(now): return (time.time() % 2.0) * now.q", "reads the clock"),
    "chance": ("def law(now): return np.random.uniform() * now.q", "draws random numbers"),
    "shared generator": (
        "chance = np.random.default_rng(1)\ndef law(now): return chance.uniform() * now.q",
        "draws random numbers",
    ),
    "counter": (
        "calls = [0]\ndef law(now):\n    calls[0] += 1\n    return calls[0] * now.q",
        "or counts",
    ),
    "iterator": ("numbers = iter(range(99))\ndef law(now): return next(numbers) * now.q", "or counts"),
    "branch": (
        "def law(now): return now.q if now.q[0] > 0.0 else -now.q",
        "law is not part of Chasles.* it cannot be traced .a traced value has no truth value.* version = ",
    ),
    "numbers alone": ("def law(now): return [float(x) for x in now.q]", "cannot be traced"),
    "sorted": ("def law(now): return np.sort(now.q)", "cannot be traced"),
    "solver": (
        "import scipy.optimize\ndef law(now): return scipy.optimize.root(lambda x: x - now.q, np.zeros(2)).x",
        "cannot be traced",
    ),
    "plan of the library's law": (
        "def plan(t, reference): return ch.control.Stance([])\n"
        "law = ch.control.WholeBodyTorque(ch.load('planar2r'), plan)",
        "plan is not part of Chasles.*; give it version = ",
    ),
}


@pytest.mark.parametrize("case", UNIDENTIFIED)
def test_what_computes_who_knows_what_has_no_origin(case: str) -> None:
    text, words = UNIDENTIFIED[case]
    with pytest.raises(UnidentifiedError, match=words):
        digest(text)


def test_a_version_stands_for_what_cannot_be_traced_and_what_it_holds_counts() -> None:
    text = """
        class Law:
            version = "<V>"
            def __init__(self, k): self.k = k
            def __call__(self, now): return [self.k if x > 0.0 else -self.k for x in now.q]
        law = Law(<K>)
    """
    of = [
        digest(text.replace("<V>", v).replace("<K>", k))
        for v, k in (("1", "2.0"), ("1", "2.0"), ("2", "2.0"), ("1", "3.0"))
    ]
    assert of[0] == of[1]
    assert len(set(of)) == 3


def test_a_version_does_not_hide_what_a_trace_shows() -> None:
    text = "def law(now): return <K> * (now.reference.q - now.q)\nlaw.version = '1'"
    assert digest(text.replace("<K>", "2.0")) != digest(text.replace("<K>", "3.0"))


#: A study in a folder with own modules and data, in which every law takes its stiffness from elsewhere.
MODULES = {
    "pkg/__init__.py": "gain = {k}",
    "pkg/sub.py": "",
    "profile.py": "def gain(): return {k}",
    "tabnanny.py": "gain = {k}",
    "lazy.py": "def __getattr__(name): return {k}",
    "script.py": """
        import gzip, sys, linecache, warnings
        from functools import partial
        from pathlib import Path
        import lazy, profile
        import chasles as ch
        from chasles import studies
        from tests.studies.tiny_studies import tiny

        K = {k}

        def submodule(now):
            import pkg.sub
            return pkg.gain * (now.reference.q - now.q) - 20.0 * now.qd

        def standard_name(now):
            import tabnanny
            return 0.5 * (tabnanny.gain + profile.gain()) * (now.reference.q - now.q) - 20.0 * now.qd

        def on_demand(now): return getattr(lazy, "gain") * (now.reference.q - now.q) - 20.0 * now.qd
        def table(now):
            import pandas
            return float(pandas.read_csv("gain.csv").k[0]) * (now.reference.q - now.q) - 20.0 * now.qd
        def packed(now): return float(gzip.open("gain.gz").read()) * (now.reference.q - now.q) - 20.0 * now.qd
        def opened(now): return float(Path("gain.txt").open().read()) * (now.reference.q - now.q) - 20.0 * now.qd
        def loaded(now): return ch.load("arm.toml").description.mass * (now.reference.q - now.q) - 20.0 * now.qd
        def frame(now): return sys._getframe().f_globals["K"] * (now.reference.q - now.q) - 20.0 * now.qd

        def branches(now):
            sign = 1.0 if now.q[0] > 1e9 else -1.0
            return -sign * K * (now.reference.q - now.q) - 20.0 * now.qd

        def versioned(now, *, k=K):
            sign = 1.0 if now.q[0] > 1e9 else -1.0
            return -sign * k * (now.reference.q - now.q) - 20.0 * now.qd
        versioned.version = "1"

        def make(law, model, motion, period): return law

        laws = (submodule, standard_name, on_demand, table, packed, opened, loaded, frame, branches, versioned)
        study = lambda laws: tiny(
            controllers=[studies.StudyController(law.__name__, partial(make, law)) for law in laws],
            rates=(250.0,), runs=2, payload=1.0, rest=0.0,
        )
        warnings.simplefilter("ignore", ch.simulation.UncompiledWarning)
        warnings.simplefilter("ignore", ResourceWarning)
        laws = [law for law in laws if law.__name__ in sys.argv[1].split(",")]
        found = []
        for folder in sys.argv[2:]:
            results = study(laws).run(folder, progress=False)
            errors = {{law.__name__: results.of_pair("arm", law.__name__)["rms_error"].tolist() for law in laws}}
            found.append((results.computed, errors))
        import json
        print(json.dumps(found))
    """,
}


#: Names of these laws; "branches" alone cannot be identified.
LAWS = "submodule,standard_name,on_demand,table,packed,opened,loaded,frame,branches,versioned"


@pytest.mark.slow
@pytest.mark.parametrize("laws", ["submodule,opened,branches", LAWS])
def test_a_study_that_goes_on_in_a_new_process_takes_up_no_stale_result(laws: str, tmp_path: Path) -> None:
    if "table" in laws:
        pytest.importorskip("pandas")
    path, count = os.pathsep.join(filter(None, sys.path)), len(laws.split(","))

    def results(k: float, *folders: str) -> tuple[Any, str]:
        for name, text in MODULES.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(textwrap.dedent(text).format(k=k))
        write_files(tmp_path, k)
        command = [sys.executable, "-B", "script.py", laws, *folders]
        environment = os.environ | {"PYTHONPATH": path}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    ((computed, first), (computed_again, again)), said = results(200.0, "kept", "kept")
    ((computed_other, other), (computed_fresh, fresh)), _ = results(90.0, "kept", "fresh")
    assert "results of controller 'branches' are not kept in" in said
    assert said.count("are not kept in") == 2
    assert (computed, computed_again, computed_other, computed_fresh) == (count, 1, count, count)
    assert first == again
    assert other == fresh
    for name, errors in other.items():
        assert errors != first[name], name
