"""Programs as values: listing, content hash, JSON, pickling, refusal of what is malformed."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cpu_time import cpu_time_limit
from tests.engine.random_programs import programs

from chasles.base.errors import ArgumentError
from chasles.engine import Argument, Program, sin, trace, where
from chasles.engine.program.tracing import call_traced


def _nested() -> Program:
    innermost = trace(lambda x: sin(x) + 1, {"x": ()}, name="innermost")
    inner = trace(lambda x, y: (call_traced(innermost, [x], inline=False) * y, y), {"x": (), "y": ()}, name="inner")
    return trace(lambda q: call_traced(inner, [q[0] * 2, q[1]], inline=False)[0] + 0.5, {"q": (2,)}, name="outer")


def test_listing() -> None:
    assert str(_nested()) == "\n".join(
        [
            "outer(q[2]) -> (result)",
            "  %0 = q[0]",
            "  %1 = q[1]",
            "  %2 = 2.0",
            "  %3 = %2 * %0",
            "  %4 = inner(%3, %1)",
            "  %5 = %4[0]",
            "  %6 = 0.5",
            "  %7 = %6 + %5",
            "  result = %7",
            "",
            "inner(x, y) -> (result_0, result_1)",
            "  %0 = x",
            "  %1 = y",
            "  %2 = innermost(%0)",
            "  %3 = %2[0]",
            "  %4 = %1 * %3",
            "  result_0 = %4",
            "  result_1 = %1",
            "",
            "innermost(x) -> (result)",
            "  %0 = x",
            "  %1 = sin(%0)",
            "  %2 = 1.0",
            "  %3 = %2 + %1",
            "  result = %3",
        ]
    )


def test_dead_code_and_dead_calls_are_gone() -> None:
    inner = trace(lambda x: sin(x), {"x": ()}, name="inner")

    def function(x: Any, y: Any) -> Any:
        call_traced(inner, [y], inline=False)
        sin(x) * y
        return x + 1

    program = trace(function, {"x": (), "y": ()})
    assert program.instructions == (("input", 0), ("constant", 1.0), ("add", 1, 0))
    assert program.programs == ()


def test_operation_counts_include_called_programs() -> None:
    assert _nested().operations == {"mul": 2, "sin": 1, "add": 2}
    assert _nested().operation_count == 5


def test_equality_is_by_content() -> None:
    assert _nested() == _nested()
    assert hash(_nested()) == hash(_nested())
    assert _nested().digest == _nested().digest
    base = trace(lambda x: x * 2, {"x": ()}, name="f")
    others = [
        trace(lambda x: x * 3, {"x": ()}, name="f"),
        trace(lambda x: x * 2, {"x": ()}, name="g"),
        trace(lambda y: y * 2, {"y": ()}, name="f"),
        trace(lambda x: x * 2, {"x": (1,)}, name="f"),
        trace(lambda x: x * 2, {"x": ()}, name="f", outputs=["y"]),
        trace(lambda x: x * np.nextafter(2, 3), {"x": ()}, name="f"),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 7
    assert base != "f"


def test_programs_are_immutable() -> None:
    with pytest.raises(AttributeError):
        _nested().name = "other"  # type: ignore[misc]


@given(programs())
@settings(max_examples=30)
def test_json_and_pickle_give_the_program_back(program: Program) -> None:
    for again in (Program.from_json(program.to_json()), pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert again == program
        assert again.instructions == program.instructions
        assert again.programs == program.programs


def test_json_keeps_constants_that_are_not_finite(tmp_path: Path) -> None:
    program = trace(lambda x: where(x > 0, math.inf, math.nan) + where(x > 1, x, -math.inf), {"x": ()})
    path = tmp_path / "program.json"
    text = program.to_json(path)
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    again = Program.from_json(path)
    assert again == program
    assert again.replay([2.0]) == [math.inf]
    assert math.isnan(again.replay([0.0])[0])


def _damage(change: Callable[[dict[str, Any]], object]) -> str:
    data = json.loads(_nested().to_json())
    change(data)
    return json.dumps(data)


HOSTILE = {
    "no JSON": "program",
    "empty": "",
    "a list": "[]",
    "a number": "17",
    "another format": '{"format": "chasles-program-99"}',
    "nothing but the format": '{"format": "chasles-program-1"}',
    "deep nesting": "[" * 100_000,
    "unknown operation": _damage(lambda d: d["instructions"].__setitem__(3, ["system", 0, 1])),
    "operation that is no string": _damage(lambda d: d["instructions"].__setitem__(3, [["add"], 0, 1])),
    "empty instruction": _damage(lambda d: d["instructions"].__setitem__(3, [])),
    "instruction that is null": _damage(lambda d: d["instructions"].__setitem__(3, None)),
    "too few operands": _damage(lambda d: d["instructions"].__setitem__(3, ["mul", 0])),
    "operand ahead": _damage(lambda d: d["instructions"].__setitem__(3, ["mul", 0, 5])),
    "operand itself": _damage(lambda d: d["instructions"].__setitem__(3, ["mul", 0, 3])),
    "negative operand": _damage(lambda d: d["instructions"].__setitem__(3, ["mul", 0, -1])),
    "operand that is a float": _damage(lambda d: d["instructions"].__setitem__(3, ["mul", 0, 1.0])),
    "operand that is true": _damage(lambda d: d["instructions"].__setitem__(3, ["mul", 0, True])),
    "number as condition": _damage(lambda d: d["instructions"].__setitem__(3, ["where", 0, 1, 1])),
    "condition as number": _damage(lambda d: d["instructions"].__setitem__(3, ["less", 0, 1])),
    "input that does not exist": _damage(lambda d: d["instructions"].__setitem__(0, ["input", 2])),
    "constant that is text": _damage(lambda d: d["instructions"].__setitem__(2, ["constant", "two"])),
    "constant beyond doubles": _damage(lambda d: d["instructions"].__setitem__(2, ["constant", 10**400])),
    "call of nothing": _damage(lambda d: d["instructions"].__setitem__(4, ["call", 1, 3, 1])),
    "call with too few operands": _damage(lambda d: d["instructions"].__setitem__(4, ["call", 0, 3])),
    "call as number": _damage(lambda d: d["instructions"].__setitem__(7, ["add", 6, 4])),
    "item of a number": _damage(lambda d: d["instructions"].__setitem__(5, ["item", 3, 0])),
    "item that does not exist": _damage(lambda d: d["instructions"].__setitem__(5, ["item", 4, 2])),
    "result that does not exist": _damage(lambda d: d.__setitem__("results", [99])),
    "result that is a call": _damage(lambda d: d.__setitem__("results", [4])),
    "missing result": _damage(lambda d: d.__setitem__("results", [])),
    "negative shape": _damage(lambda d: d.__setitem__("inputs", [["q", [-1, -2]]])),
    "shape of floats": _damage(lambda d: d.__setitem__("inputs", [["q", [2.0]]])),
    "shape of text": _damage(lambda d: d.__setitem__("inputs", [["q", "2"]])),
    "shape that is a number": _damage(lambda d: d.__setitem__("inputs", [["q", 2]])),
    "one name twice": _damage(lambda d: d.__setitem__("inputs", [["q", [1]], ["q", [1]]])),
    "inputs that are a number": _damage(lambda d: d.__setitem__("inputs", 2)),
    "damaged called program": _damage(lambda d: d["programs"][0].__setitem__("results", [0])),
    "called program that is null": _damage(lambda d: d.__setitem__("programs", [None])),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_malformed_json_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        Program.from_json(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=8))
@settings(max_examples=100)
def test_garbage_in_any_field_is_refused_or_harmless(garbage: object) -> None:
    for field in ("name", "inputs", "outputs", "instructions", "results", "programs"):
        text = _damage(lambda d, field=field: d.__setitem__(field, garbage))  # type: ignore[misc]
        try:
            program = Program.from_json(text)
        except ArgumentError:
            continue
        assert Program.from_json(program.to_json()) == program


def test_a_program_made_by_hand_is_checked() -> None:
    with pytest.raises(ArgumentError, match="program 'f', instruction 1: unknown operation 'sine'"):
        Program("f", (Argument("x", ()),), (Argument("y", ()),), (("input", 0), ("sine", 0)), (1,))
    with pytest.raises(ArgumentError, match="instruction 1: 'sin' takes 1 operands, not 2"):
        Program("f", (Argument("x", ()),), (Argument("y", ()),), (("input", 0), ("sin", 0, 0)), (1,))


def test_counting_operations_of_programs_that_call_and_call_again_takes_no_time() -> None:
    program = trace(lambda x: sin(x), {"x": ()}, name="level0")
    for level in range(1, 40):

        def twice(x: Any, called: Program = program) -> Any:
            return call_traced(called, [call_traced(called, [x], inline=False)], inline=False)

        program = trace(twice, {"x": ()}, name=f"level{level}")
    with cpu_time_limit(1.0):
        assert program.operations == {"sin": 2**39}


def test_items_stand_right_behind_their_call() -> None:
    inner = Program("inner", (Argument("x", ()),), (Argument("y", (2,)),), (("input", 0),), (0, 0))
    call = [("input", 0), ("call", 0, 0), ("item", 1, 1), ("item", 1, 0)]
    outer = ("outer", (Argument("x", ()),), (Argument("y", ()),))
    assert Program(*outer, tuple(call), (3,), (inner,)).replay([2.0]) == [2.0]
    apart = (*call[:3], ("neg", 0), ("item", 1, 0))
    with pytest.raises(ArgumentError, match="instruction 4: an item must stand right behind its call"):
        Program(*outer, apart, (4,), (inner,))
