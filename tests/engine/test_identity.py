"""Digests of content: equal in every process for what computes the same, different for all else."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.engine import Function, Layout, Program, cos, trace
from chasles.engine.identity import UnidentifiedError, identity, traced
from chasles.engine.program.tracing import call_traced
from chasles.geometry import rotation_from_euler_angles
from chasles.integrators import RK4
from chasles.simulation import limits

#: Values, each unlike all others.
VALUES: list[Any] = [
    *(None, True, 1, 1.0, 1 + 0j, "1", b"1", (1,), [1], {1}, {1: 1}, (), [], {}, "", 0, -0.0, 0.0, (1, 1), ((1,), 1)),
    *(np.float64(1.0), np.float32(1.0), np.ones(1), np.ones((1, 1)), np.ones(1, dtype=int), np.ones(2), range(1)),
    *(np.sin, np.cos, len, cos, ch.Robot, ch.PDGravity, slice(1), slice(1, 2), "a\udce9", ("ab", "c"), ("a", "bc")),
    *(float("nan"), float("inf"), {"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}, RK4, limits.__name__),
    trace(lambda x: 2.0 * x, {"x": ()}),
    trace(lambda x: 3.0 * x, {"x": ()}),
    Function(trace(lambda x: 2.0 * x, {"x": ()})),
    Function(trace(lambda x: 2.0 * x, {"x": ()}), dtype="float32"),
    rotation_from_euler_angles,
    Layout({"a": (2,)}),
    Layout({"b": (2,)}),
    *(ch.load("planar2r"), ch.load("planar2r").description, ch.load("planar2r").mass_matrix),
    ch.load("planar2r").with_payload(1.0),
    ch.PDGravity(ch.load("planar2r"), kp=1.0, kd=1.0),
    ch.PDGravity(ch.load("planar2r"), kp=2.0, kd=1.0),
    ch.PDGravity(ch.load("planar2r").with_payload(1.0), kp=1.0, kd=1.0),
    ch.PointToPoint([0.0, 0.0], [1.0, 1.0], 1.0),
    ch.Friction(2, coulomb=1.0),
]


def test_every_value_has_a_digest_of_its_own() -> None:
    digests = [identity(value) for value in VALUES]
    assert len(set(digests)) == len(VALUES)
    assert digests == [identity(value) for value in VALUES]


def test_equal_content_has_equal_digests() -> None:
    assert identity({"a": np.arange(4.0)[::2]}) == identity({"a": np.array([0.0, 2.0])})
    assert identity(OrderedDict(a=1)) == identity({"a": 1}) == identity(types.MappingProxyType({"a": 1}))
    assert identity({"x", "y", "z"}) == identity({"z", "y", "x"})
    arm, other = ch.load("planar2r"), ch.load("planar2r")
    arm.inverse_dynamics(arm.home, arm.home, arm.home)  # what was computed is no content
    hash(arm)
    assert identity(arm) == identity(other)
    law = ch.ComputedTorque(arm, kp=1.0, kd=1.0)
    ch.simulate(arm, law, ch.PointToPoint([0.0, 0.0], [0.1, 0.1], 0.01), progress=False)
    assert identity(law) == identity(ch.ComputedTorque(other, kp=1.0, kd=1.0))


def test_other_processes_agree() -> None:
    code = "from tests.engine.test_identity import *; print(*map(identity, VALUES))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "7"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.split() == [identity(value) for value in VALUES]


class Thing:
    """An object of a user's."""


class Versioned:
    version = "1"

    def __init__(self, gain: Any = 1.0) -> None:
        self.gain = gain


class Slotted:
    version = "1"
    __slots__ = ("__gain",)

    def __init__(self, gain: float) -> None:
        self.__gain = gain

    def __getstate__(self) -> tuple[()]:
        return ()


class Computing(Mapping[str, float]):
    def __getitem__(self, name: str) -> float:
        return 1.0

    def __iter__(self) -> Iterator[str]:
        return iter("a")

    def __len__(self) -> int:
        return 1


class Claiming:
    digest = "0"


class OwnRobot(ch.Robot):
    """A robot whose methods are a user's."""


OWN: dict[str, Any] = {
    "function": lambda x: x,
    "object": Thing(),
    "class": Thing,
    "mapping that computes": Computing(),
    "array of a user's kind": np.ones(2).view(type("Mine", (np.ndarray,), {})),
    "array of objects": np.array([Thing()]),
    "number of a user's kind": type("Mine", (float,), {})(1.0),
    "text of a user's kind": type("Mine", (str,), {})("1"),
    "list of a user's kind": type("Mine", (list,), {})([1]),
    "enumeration": Enum("Mine", {"A": 1}).A,  # type: ignore[attr-defined]
    "digest that a user claims": Claiming(),
    "robot of a user's kind": OwnRobot(ch.load("planar2r").description),
    "partial": functools.partial(np.sin, 1.0),
    "bound method": [].append,
    "ufunc of a user's": np.frompyfunc(lambda x: x, 1, 1),
    "generator of random numbers": np.random.default_rng(1),
    "function of the library's that is nowhere": ch.function(x=())(lambda x: x).general_call,
    "clock": __import__("time").time,
    "iterator": iter(()),
    "module": np,
    "C number": ctypes.c_double(1.0),
    "part of an object of the library": ch.PythonLaw(lambda now: now.q),
}


@pytest.mark.parametrize("value", OWN.values(), ids=OWN)
def test_what_is_a_users_has_none(value: Any) -> None:
    with pytest.raises(UnidentifiedError, match=r"not part of Chasles|not what the module"):
        identity(value)
    with pytest.raises(UnidentifiedError):
        identity([{"a": value}])


def test_a_replaced_function_or_class_of_the_library_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    original = limits.limited_torques
    before = identity(original)
    monkeypatch.setattr(limits, "limited_torques", lambda *_: 0.0)
    with pytest.raises(UnidentifiedError, match=r"limited_torques is not what the module chasles\.simulation\.limits"):
        identity(original)
    monkeypatch.undo()
    assert identity(original) == before


def test_an_object_whose_class_was_patched_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    law = ch.PDGravity(ch.load("planar2r"), kp=1.0, kd=1.0)
    monkeypatch.setattr(ch.PDGravity, "law", lambda self, now: now.q)
    with pytest.raises(UnidentifiedError, match="PDGravity has a method <lambda> that is not part of Chasles"):
        identity(law)


def test_what_refers_to_itself_has_none() -> None:
    around: list[Any] = []
    around.append(around)
    with pytest.raises(UnidentifiedError, match="refers to itself"):
        identity(around)


def test_a_version_stands_for_the_text_and_values_count_as_well() -> None:
    def law(gain: Any, version: str = "1") -> Callable[[float], float]:
        def inner(x: float, offset: float = 0.0) -> float:
            return float(gain * x)

        inner.version = version  # type: ignore[attr-defined]
        return inner

    assert identity(law(1.0)) == identity(law(1.0))
    assert len({identity(law(1.0)), identity(law(2.0)), identity(law(1.0, "2"))}) == 3
    assert identity(law(Thing())) == identity(law(Thing()))  # the version stands for it
    assert identity(Versioned(1.0)) == identity(Versioned(1.0)) != identity(Versioned(2.0))
    assert identity(Versioned(np.zeros(2))) != identity(Versioned(np.ones(2)))
    assert identity(Slotted(1.0)) == identity(Slotted(1.0)) != identity(Slotted(2.0))
    constants = [type("Own", (), {"version": "1", "gain": gain}) for gain in (1.0, 2.0)]
    assert identity(constants[0]()) != identity(constants[1]())
    with pytest.raises(UnidentifiedError, match="version alone"):
        identity(Versioned(), by_version=False)


def test_the_script_has_one_name_in_workers() -> None:
    here, there = (type("Own", (), {"version": "1", "__module__": name}) for name in ("__main__", "__mp_main__"))
    assert identity(here()) == identity(there())


def test_a_traced_function_is_what_it_does() -> None:
    def closed_over(k: float) -> Callable[[Any], Any]:
        return lambda x: k * cos(x)

    def of(function: Callable[..., Any]) -> str:
        return traced(function, {"x": (3,)})

    assert of(closed_over(3.0)) == of(closed_over(3.0)) != of(closed_over(4.0))
    assert of(lambda x: 2.0 * x) == of(lambda y: (1.0 + 1.0) * y)
    assert traced(lambda x: 2.0 * x, {"x": (2,)}) != of(lambda x: 2.0 * x)


CALLS = iter(range(9))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x if x[0] > 0.0 else -x, "cannot be traced .a traced value has no truth value"),
        (lambda x: float(x[0]), "cannot be traced"),
        (lambda x: 1 / 0, "cannot be traced .division by zero"),
        (lambda x: np.random.uniform() * x, "something else each time"),
        (lambda x: next(CALLS) * x, "something else each time"),
        (lambda x: __import__("time").perf_counter() * x, "something else each time"),
    ],
)
def test_what_cannot_be_traced_or_changes_has_none(function: Callable[[Any], Any], reason: str) -> None:
    with pytest.raises(UnidentifiedError, match=f"it (computes )?{reason}"):
        traced(function, {"x": (2,)})


def test_remembered_programs_are_programs() -> None:
    from chasles.engine.trace_cache import RememberedProgram, _record

    program = trace(lambda x: 2.0 * x, {"x": ()})
    again = RememberedProgram(_record(program), lambda: program)
    assert isinstance(again, Program)
    assert identity(again) == identity(program)


def test_remembered_programs_are_called_without_their_instructions() -> None:
    """What is constant, an input or the same as another result folds around the call all the same."""
    from chasles.engine.trace_cache import RememberedProgram, _record

    def results(x: Any, y: Any) -> tuple[Any, ...]:
        return x * y, 3.0, y, x * y

    def trace_again() -> Program:
        raise AssertionError("it was traced")

    program = trace(results, {"x": (), "y": ()})
    again = RememberedProgram(_record(program), trace_again)
    texts = set()
    for each in (program, again):

        def caller(a: Any, b: Any, each: Program = each) -> Any:
            product, three, same, twin = call_traced(each, [a, b], inline=False)
            assert three == 3.0
            return product - twin + three * same

        outer = trace(caller, {"a": (), "b": ()}, name="outer")
        assert [instruction[0] for instruction in outer.instructions] == ["input", "constant", "mul"]
        nested = trace(lambda a, b: call_traced(each, [a, b], inline=False)[0], {"a": (), "b": ()})  # noqa: B023
        texts |= {outer.digest, nested.digest}
    assert len(texts) == 2
