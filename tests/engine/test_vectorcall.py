"""Functions are called like built-in ones, and as any instance where they cannot be."""

from __future__ import annotations

import copy
import ctypes
import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from tests.engine.direct_calls import needs_direct_calls

import chasles as ch
from chasles.engine import Function, trace
from chasles.engine.cpython import vectorcall


def code_of(function: object) -> int | None:
    """Address that CPython calls for an instance."""
    find = ctypes.pythonapi.PyVectorcall_Function
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.py_object]
    return find(function)


def product() -> Function:
    return Function(trace(lambda x, k: k * x, {"x": (2,), "k": ()}, name="product"))


@needs_direct_calls
def test_calls_go_to_machine_code_once_it_is_there() -> None:
    function = product()
    assert code_of(function) is None
    function(np.ones(2), 2.0)
    assert code_of(function) is not None
    arm = ch.load("planar2r")
    arm.jacobian(arm.home, frame="body")
    assert code_of(arm.jacobian) is not None


def test_every_way_of_calling_gives_the_same() -> None:
    function, x = product(), np.array([1.0, 3.0])
    for _ in range(3):
        for result in (
            function(x, 2.0),
            function(x, k=2.0),
            function(k=2.0, x=x),
            function(*[x, 2.0]),
            function(**dict(zip(("x", "k"), (x, 2.0), strict=True))),
            function.__call__(x, 2.0),
            functools.partial(function, k=2.0)(x),
            next(map(function, [x], [2.0])),
            function([1, 3], 2),
            function(np.array([x, x]), 2.0)[1],
            function(x, 2.0, out=np.empty(2)),
        ):
            np.testing.assert_array_equal(result, [2.0, 6.0])
    with pytest.raises(TypeError, match="product"):
        function(x)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="product"):
        function(x, 2.0, 3.0)


def test_a_subclass_with_a_call_of_its_own_is_called_by_it() -> None:
    class Doubled(Function):
        def __call__(self, *arguments: Any, **named: Any) -> Any:
            return 2.0 * self.general_call(*arguments, **named)

    function = Doubled.__new__(Doubled)
    vectorcall.DirectlyCalled.call_directly(function, 0, print)
    assert code_of(function) is None
    function.general_call = lambda x: x  # type: ignore[method-assign]
    assert function(3.0) == 6.0


def test_functions_step_aside_where_objects_are_laid_out_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectorcall, "_IS_KNOWN", False)
    function = product()
    for _ in range(2):
        np.testing.assert_array_equal(function(np.ones(2), 2.0), [2.0, 2.0])
    assert code_of(function) is None


def test_copies_have_their_own_code_and_all_are_freed() -> None:
    function = product()
    function(np.ones(2), 2.0)
    other = copy.copy(function)
    np.testing.assert_array_equal(other(np.ones(2), 3.0), [3.0, 3.0])
    seen = weakref.ref(function)
    del function
    gc.collect()
    assert seen() is None
    np.testing.assert_array_equal(other(np.ones(2), 4.0), [4.0, 4.0])
