"""Values are told apart by what they compute, in every process alike; what cannot be told apart is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.studies.identity import UnidentifiedError, digest_of

#: Ways to hold the gain <K> that `make` gives a law: each is the text of a module.
WAYS = {
    "closure": """
        def make():
            gain = <K>
            def law(x):
                return gain * x
            return law
    """,
    "closure of an inner function": """
        def make():
            gain = <K>
            def law(x):
                def inner():
                    return gain * x
                return inner()
            return law
    """,
    "closure of a lambda": """
        def make():
            gain = <K>
            return lambda x: gain * x
    """,
    "default of a lambda": """
        def make():
            return lambda x, gain=<K>: gain * x
    """,
    "default of a keyword": """
        def make():
            def law(x, *, gain=<K>):
                return gain * x
            return law
    """,
    "constant": """
        def make():
            return lambda x: <K> * x
    """,
    "constant of an inner function": """
        def make():
            return lambda x: [<K> * item for item in (lambda: [x])()]
    """,
    "global": """
        GAIN_OF_MODULE = <K>
        def law(x):
            return GAIN_OF_MODULE * x
        def make():
            return law
    """,
    "global that an inner function reads": """
        GAIN_OF_MODULE = <K>
        def make():
            return lambda x: (lambda: GAIN_OF_MODULE * x)()
    """,
    "global dictionary of lists": """
        SETTINGS = {"gains": [[1.0, <K>]]}
        def make():
            return lambda x: SETTINGS["gains"][0][1] * x
    """,
    "helper": """
        def gain():
            return <K>
        def make():
            return lambda x: gain() * x
    """,
    "helper of a helper": """
        def innermost(): return <K>
        def helper(): return innermost()
        def make():
            return lambda x: helper() * x
    """,
    "helpers that call each other": """
        def even(k): return 1.0 if k == 0 else odd(k - 1)
        def odd(k): return <K> if k == 0 else even(k - 1)
        def make():
            return lambda x: even(3) * x
    """,
    "attribute": """
        class Law:
            def __init__(self, gain): self.gain = gain
            def __call__(self, x): return self.gain * x
        def make():
            return Law(<K>)
    """,
    "attribute of an attribute": """
        class Part: pass
        class Law:
            def __call__(self, x): return self.part.gain * x
        def make():
            law, law_part = Law(), Part()
            law.part, law_part.gain = law_part, <K>
            return law
    """,
    "slot": """
        class Law:
            __slots__ = ("gain",)
            def __call__(self, x): return self.gain * x
        def make():
            law = Law()
            law.gain = <K>
            return law
    """,
    "class attribute": """
        class Law:
            gain = <K>
            def __call__(self, x): return self.gain * x
        def make():
            return Law()
    """,
    "class attribute of a base": """
        class Base:
            gain = <K>
        class Law(Base):
            def __call__(self, x): return self.gain * x
        def make():
            return Law()
    """,
    "attribute of a metaclass": """
        class Meta(type):
            gain = <K>
        class Law(metaclass=Meta):
            def __call__(self, x): return type(self).gain * x
        def make():
            return Law()
    """,
    "property": """
        class Law:
            @property
            def gain(self): return <K>
            def __call__(self, x): return self.gain * x
        def make():
            return Law()
    """,
    "cached property": """
        from functools import cached_property
        class Law:
            @cached_property
            def gain(self): return <K>
            def __call__(self, x): return self.gain * x
        def make():
            return Law()
    """,
    "static method": """
        class Law:
            @staticmethod
            def gain(): return <K>
            def __call__(self, x): return self.gain() * x
        def make():
            return Law()
    """,
    "class method": """
        class Law:
            @classmethod
            def gain(cls): return <K>
            def __call__(self, x): return self.gain() * x
        def make():
            return Law()
    """,
    "constructor of a helper class": """
        class Gain:
            def __init__(self): self.value = <K>
        def make():
            return lambda x: Gain().value * x
    """,
    "dataclass": """
        from dataclasses import dataclass, field
        @dataclass(frozen=True, slots=True)
        class Law:
            gain: float
            others: list = field(default_factory=list)
            def __call__(self, x): return self.gain * x
        def make():
            return Law(<K>)
    """,
    "default of a dataclass": """
        from dataclasses import dataclass
        @dataclass
        class Settings:
            gain: float = <K>
        def make():
            return lambda x: Settings().gain * x
    """,
    "named tuple": """
        from collections import namedtuple
        Law = namedtuple("Law", "gain")
        def make():
            return Law(<K>)
    """,
    "enumeration": """
        from enum import Enum
        class Gains(Enum):
            LOW = 1.0
            HIGH = <K>
        def make():
            return lambda x: Gains.HIGH.value * x
    """,
    "bound method": """
        class Law:
            def __init__(self, gain): self.gain = gain
            def law(self, x): return self.gain * x
        def make():
            return Law(<K>).law
    """,
    "bound method of a list": """
        def make():
            return [1.0, <K>].__getitem__
    """,
    "partial": """
        from functools import partial
        def law(x, gain): return gain * x
        def make():
            return partial(law, gain=<K>)
    """,
    "partial's positional argument": """
        from functools import partial
        def law(gain, x): return gain * x
        def make():
            return partial(partial(law), <K>)
    """,
    "attribute of a function": """
        def law(x):
            return law.gain * x
        law.gain = <K>
        def make():
            return law
    """,
    "decorated": """
        import functools
        def scaled(gain):
            def decorate(function):
                @functools.wraps(function)
                def inner(x): return gain * function(x)
                return inner
            return decorate
        @scaled(<K>)
        def law(x): return x
        def make():
            return law
    """,
    "cached function": """
        import functools
        @functools.lru_cache
        def gain(): return <K>
        def make():
            return lambda x: gain() * x
    """,
    "array": """
        import numpy as np
        GAINS = np.array([[1.0, <K>], [0.0, 1.0]])[:, ::-1]
        def make():
            return lambda x: GAINS @ x
    """,
    "array of objects": """
        import numpy as np
        def make():
            gains = np.array([None, <K>], dtype=object)
            return lambda x: gains[1] * x
    """,
    "array scalar": """
        import numpy as np
        def make():
            gain = np.float64(<K>)
            return lambda x: gain * x
    """,
    "masked array": """
        import numpy as np
        def make():
            gains = np.ma.masked_array([1.0, 2.0], mask=[<K> > 100, False])
            return lambda x: gains * x
    """,
    "set": """
        GAINS = frozenset({1.0, <K>})
        def make():
            return lambda x: max(GAINS) * x
    """,
    "attribute of a module": """
        import types
        settings = types.ModuleType("settings")
        settings.gain = <K>
        def make():
            return lambda x: settings.gain * x
    """,
    "attribute of a module by another name": """
        import types
        settings = types.ModuleType("settings")
        settings.inner = types.ModuleType("inner")
        settings.inner.gain = <K>
        def make():
            def law(x):
                module = settings
                return module.inner.gain * x
            return law
    """,
    "attribute of a module by a text": """
        import types
        settings = types.ModuleType("settings")
        settings.gain = <K>
        def make():
            return lambda x: getattr(settings, "ga" + "in") * x
    """,
    "import inside a function": """
        import sys, types
        sys.modules["gains_of_a_test"] = types.ModuleType("gains_of_a_test")
        sys.modules["gains_of_a_test"].gain = <K>
        def make():
            def law(x):
                from gains_of_a_test import gain
                return gain * x
            return law
    """,
    "import of a module inside a function": """
        import sys, types
        sys.modules["gains_of_a_test"] = types.ModuleType("gains_of_a_test")
        sys.modules["gains_of_a_test"].gain = <K>
        def make():
            def law(x):
                import gains_of_a_test as gains
                return gains.gain * x
            return law
    """,
    "object of a library": """
        from scipy.interpolate import CubicSpline
        def make():
            spline = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, <K>])
            return lambda x: spline(x)
    """,
    "compiled function": """
        import chasles as ch
        gain = ch.Function(ch.trace(lambda x: <K> * x, {"x": ()}, name="gain"))
        def make():
            return lambda x: gain(x)
    """,
    "robot": """
        import chasles as ch
        def make():
            arm = ch.load("planar2r").with_payload(<K>)
            return lambda x: arm.gravity_torque(x)
    """,
    "attribute that pickling leaves out": """
        import chasles as ch
        class Arm(ch.Robot):
            def __init__(self, description, gain=0.0):
                super().__init__(description)
                self.gain = gain
        def make():
            arm = Arm(ch.load("planar2r").description, <K>)
            return lambda x: arm.gain * x
    """,
    "circle of objects": """
        class Node: pass
        def make():
            law, other = Node(), Node()
            law.other, other.other, other.gain = other, law, <K>
            return law
    """,
    "list that holds itself": """
        def make():
            values = [1.0, <K>]
            values.append(values)
            return values
    """,
}


def module(text: str, gain: float = 200.0) -> types.ModuleType:
    """The module of a text."""
    made = sys.modules["module_of_identities"] = types.ModuleType("module_of_identities")
    exec(textwrap.dedent(text).replace("<K>", repr(gain)), vars(made))
    return made


def digest(text: str, gain: float = 200.0) -> str:
    return digest_of(module(text, gain).make(), "law")


@pytest.mark.parametrize("way", WAYS)
def test_a_gain_is_seen_wherever_it_is(way: str) -> None:
    assert digest(WAYS[way], 200.0) != digest(WAYS[way], 90.0)
    assert digest(WAYS[way], 200.0) == digest(WAYS[way], 200.0)


def test_lines_comments_files_and_names_of_functions_do_not_matter() -> None:
    text = """
        def make():
            def law(x):
                return 3.0 * x
            return law
    """
    moved = """
        # a comment


        def make():

            def another_name(x):
                # three times
                return (3.0
                        * x)
            return another_name
    """
    assert digest(text) == digest(moved)


def test_what_writes_a_log_computes_nothing_by_it() -> None:
    text = """
        import logging
        log = logging.getLogger(NAME)
        def make():
            return lambda x: log.debug(x)
    """
    assert digest(text.replace("NAME", "'__main__'")) == digest(text.replace("NAME", "'__mp_main__'"))


def test_equal_parts_may_be_one_object_or_two() -> None:
    shared = {"gain": [1.0, 2.0]}
    assert digest_of([shared, shared], "list") == digest_of([shared, {"gain": [1.0, 2.0]}], "list")
    circle: list[Any] = [1.0]
    circle.append(circle)
    assert digest_of([shared, circle, shared, circle], "") == digest_of(
        [{"gain": [1.0, 2.0]}, circle, shared, circle], ""
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("1", b"1"),
        ((1, 2), [1, 2]),
        (["ab"], ["a", "b"]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),  # a controller may read them in order
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), [0.0, 0.0]),
        (ch.load("planar2r"), ch.load("planar2r").with_friction(viscous=1.0)),
        (np.sin, np.cos),
        (np.linalg.solve, np.linalg.inv),
        (ch.ComputedTorque, ch.PDGravity),
    ],
)
def test_what_computes_something_else_is_something_else(left: Any, right: Any) -> None:
    assert digest_of(left, "value") != digest_of(right, "value")


def test_sets_have_no_order() -> None:
    left: set[int] = set()
    right: set[int] = set()
    left.update((0, 8))
    right.update((8, 0))
    assert list(left) != list(right)  # both fall into the same place of the table
    assert digest_of(left, "set") == digest_of(right, "set") != digest_of({0, 9}, "set")


def test_other_processes_say_the_same(tmp_path: Path) -> None:
    """With other seeds of their hashes, as a script and as a module."""
    text = "WAYS = " + repr({way: textwrap.dedent(text) for way, text in WAYS.items() if "scipy" not in text})
    text += textwrap.dedent("""
        import sys, types
        from chasles.studies.identity import digest_of

        class Law:
            words = {"alpha", "beta", "gamma", "delta"}
            def law(self, x):
                return x if x in {"one", "two", "three"} else Law.words

        def all_digests():
            digests = [digest_of(Law(), "law")]
            for way, text in WAYS.items():
                made = sys.modules["module_of_identities"] = types.ModuleType("module_of_identities")
                exec(text.replace("<K>", "200.0"), vars(made))
                digests.append(digest_of(made.make(), way))
            return digests

        if __name__ == "__main__":
            print(all_digests())
    """)
    (tmp_path / "laws.py").write_text(text)
    answers = set()
    for seed, command in (("0", ["laws.py"]), ("1", ["-c", "import laws; print(laws.all_digests())"])):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        answers.add(done.stdout)
    assert len(answers) == 1
    assert repr(digest(WAYS["closure"])) in answers.pop()


#: Laws whose values come from elsewhere, and a word of the message.
OUTSIDE = {
    "generator": ("def make(): return (k for k in range(3))", "iterator"),
    "iterator": ("def make():\n gains = iter([1.0])\n return lambda x: next(gains)", "gains is an iterator"),
    "open file": ("import sys\ndef make():\n file = sys.__stdin__\n return lambda x: file.read()", "open file"),
    "lock": ("import threading\ndef make():\n lock = threading.Lock()\n return lambda x: lock", "content is not known"),
    "random numbers": ("import random\ndef make(): return lambda x: random.random()", "random"),
    "imported random": ("from random import gauss\ndef make(): return lambda x: gauss(0, 1)", "random"),
    "NumPy's random numbers": ("import numpy as np\ndef make(): return lambda x: np.random.normal()", "random"),
    "their generator": (
        "import numpy as np\nchance = np.random.default_rng(1)\ndef make(): return lambda x: chance.normal()",
        "chance is a generator of random numbers",
    ),
    "clock": ("import time\ndef make(): return lambda x: time.time()", "time"),
    "imported clock": ("from time import perf_counter\ndef make(): return lambda x: perf_counter()", "time"),
    "date": ("from datetime import datetime\ndef make(): return lambda x: datetime.now()", "the clock"),
    "date of a module": ("import datetime\ndef make(): return lambda x: datetime.datetime.now()", "the clock"),
    "file": ("def make(): return lambda x: float(open('gain.txt').read())", "a file"),
    "path": ("from pathlib import Path\ndef make(): return lambda x: Path('gain.txt').read_text()", "reading a file"),
    "array from a file": ("import numpy as np\ndef make(): return lambda x: np.loadtxt('gains.txt')", "a file"),
    "environment": ("import os\ndef make(): return lambda x: float(os.environ['GAIN'])", "environment"),
    "getenv": ("import os\ndef make(): return lambda x: float(os.getenv('GAIN'))", "the system"),
    "eval": ("def make(): return lambda x: eval('x')", "code that is made"),
    "table of modules": ("import sys\ndef make(): return lambda x: sys.modules['settings'].gain", "all modules"),
    "globals": ("gain = 1.0\ndef make(): return lambda x: globals()['gain']", "variables chosen"),
    "in a helper's helper": (
        "import time\ndef a(): return time.time()\ndef b(): return a()\ndef make(): return lambda x: b()",
        "b → function b → a → function a → time.time",
    ),
    "property": (
        "import time\nclass Law:\n @property\n def gain(self): return time.time()\ndef make(): return Law()",
        "class Law, gain",
    ),
    "compiled code": (
        "import numpy as np\ndouble = np.frompyfunc(lambda x: 2 * x, 1, 1)\ndef make(): return lambda x: double(x)",
        "compiled code of type ufunc",
    ),
    "weak reference": (
        "import weakref\nclass A: pass\na = A()\ndef make(): return weakref.ref(a)",
        "content is not known",
    ),
    "depth": (
        "def make():\n values = []\n for _ in range(100_000): values = [values]\n return values",
        "nested too deeply",
    ),
}


@pytest.mark.parametrize("source", OUTSIDE)
def test_what_comes_from_elsewhere_is_refused(source: str) -> None:
    text, words = OUTSIDE[source]
    with pytest.raises(UnidentifiedError, match=words) as caught:
        digest(text)
    assert str(caught.value).startswith("law")


def test_what_made_an_object_may_use_anything() -> None:
    """A constructor's work is done: what it read is in the object."""
    text = """
        import numpy as np, time
        class Law:
            def __init__(self, gain):
                self.gain, made = gain, time.time()
                self.other = np.random.default_rng(int(1e9 * made) % 7 * 0).normal()
            def __repr__(self): return open("somewhere").read()
            def __call__(self, x): return self.gain * x
        def make():
            return Law(<K>)
    """
    assert digest(text) == digest(text) != digest(text, 90.0)


def test_installed_packages_count_with_version_and_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    from chasles.studies.identity import libraries

    assert libraries.library_of("numpy.linalg").startswith(f"numpy {np.__version__} ")
    before = digest_of(np.linalg.solve, "law")
    monkeypatch.setattr(libraries, "library_of", lambda module: "numpy of another version")
    assert digest_of(np.linalg.solve, "law") != before


def controllers() -> list[Callable[[ch.Robot], Any]]:
    control = ch.control
    return [
        lambda arm: control.PD(arm, kp=1.0, kd=1.0),
        lambda arm: control.PID(arm, kp=1.0, ki=1.0, kd=1.0),
        lambda arm: control.ComputedTorque(arm, kp=1.0, kd=1.0),
        lambda arm: control.OperationalSpace(arm, kp=1.0, kd=1.0, components=("x", "y")),
        lambda arm: control.DisturbanceObserver(control.ComputedTorque(arm, kp=1.0, kd=1.0), bandwidth=5.0),
        lambda arm: control.SlotineLi(arm, rate=1.0, damping=1.0, adaptation=1e-3),
        lambda arm: control.LeeChung(arm, rate=1.0, torque_weight=1.0),
        lambda arm: control.TimeVaryingRegulator(arm, Q=np.eye(4), R=np.eye(2)),
    ]


@pytest.mark.parametrize("make", controllers())
def test_use_leaves_no_trace_in_the_library_s_controllers(make: Callable[[ch.Robot], Any]) -> None:
    arm = ch.load("planar2r")
    controller = make(arm)
    before = digest_of(controller, "controller")
    assert before == digest_of(make(ch.load("planar2r")), "controller")
    ch.simulate(arm, controller, ch.PointToPoint([0.0, 0.0], [0.1, 0.1], 0.01))
    assert digest_of(controller, "controller") == before
