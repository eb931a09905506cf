"""From a call with keywords to the machine code for them, without a detour through Python.

``arm.jacobian(q, frame="body")`` chooses one of several programs by its keywords. Looking that up in Python takes
longer than the Jacobian. A dispatcher compares the keywords of a call, by identity, with those of the calls it has
seen, and goes straight to the direct call that belongs to them; it leaves everything it does not know to the general
call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from chasles.engine.targets.native import calls, machine
from chasles.engine.targets.native.writer import Writer

_ENTRY = "chasles_dispatch"
_TABLE = "chasles_choices"
_MOST_KEYWORDS = 2
_MOST_CHOICES = 16
_HEAD = 4  # number of choices, then three functions of CPython
_CHOICE = 2 * _MOST_KEYWORDS + 2  # names and values, then the direct call and its general call


def _assembly() -> str:
    w = Writer(f"ptr @{_ENTRY}(ptr %self, ptr %args, i64 %count, ptr %names)")

    def word(kind: str, base: str, position: int) -> str:
        return w.value(f"load {kind}, ptr {w.value(f'getelementptr i8, ptr {base}, i64 {8 * position}')}")

    given = w.value("alloca i64")
    places = [w.value("alloca ptr") for _ in range(2 * _MOST_KEYWORDS)]
    w.emit(f"store i64 0, ptr {given}")
    for place in places:
        w.emit(f"store ptr null, ptr {place}")
    with w.when(w.value("icmp ne ptr %names, null")):
        size = w.value(f"call i64 {word('ptr', f'@{_TABLE}', 1)}(ptr %names)")
        w.emit(f"store i64 {size}, ptr {given}")
        for k in range(_MOST_KEYWORDS):
            with w.when(w.value(f"icmp slt i64 {k}, {size}")):
                name = w.value(f"call ptr {word('ptr', f'@{_TABLE}', 2)}(ptr %names, i64 {k})")
                w.emit(f"store ptr {name}, ptr {places[2 * k]}")
                value = w.address("%args", (w.value(f"add i64 %count, {k}"), 8))
                w.emit(f"store ptr {w.value(f'load ptr, ptr {value}')}, ptr {places[2 * k + 1]}")
    w.go_on_if(w.value(f"icmp sle i64 {w.value(f'load i64, ptr {given}')}, {_MOST_KEYWORDS}"), "general")
    seen = [w.value(f"load ptr, ptr {place}") for place in places]
    with w.loop(word("i64", f"@{_TABLE}", 0)) as i:
        first = w.value(f"getelementptr i8, ptr @{_TABLE}, i64 {8 * _HEAD}")
        choice = w.address(first, (i, 8 * _CHOICE))
        same = "true"
        for k, value in enumerate(seen):
            equal = w.value(f"icmp eq ptr {value}, {word('ptr', choice, k)}")
            same = w.value(f"and i1 {same}, {equal}")
        with w.when(same):
            function, general = (word("ptr", choice, 2 * _MOST_KEYWORDS + k) for k in (0, 1))
            result = w.value(f"call ptr {function}(ptr {general}, ptr %args, i64 %count, ptr null)")
            w.return_if("true", f"ptr {result}")
    w.emit("br label %general")
    w.block("general")
    result = w.value(f"call ptr {word('ptr', f'@{_TABLE}', 3)}(ptr %self, ptr %args, i64 %count, ptr %names)")
    w.emit(f"ret ptr {result}")
    words = _HEAD + _CHOICE * _MOST_CHOICES
    return f"@{_TABLE} = global [{words} x ptr] zeroinitializer\n{w.text()}"


supported = calls.supported


class Dispatcher:
    """A callable that chooses among direct calls by keywords.

    Attributes
    ----------
    call
        The callable.
    """

    def __init__(self, general: Callable[..., Any], name: str) -> None:
        self._code = machine.loaded("dispatch", [_ENTRY], lambda: [_assembly()])
        words = _HEAD + _CHOICE * _MOST_CHOICES
        self._table = (ctypes.c_void_p * words).from_address(self._code.address_of_data(_TABLE))
        api = ctypes.pythonapi
        for position, function in enumerate((api.PyTuple_Size, api.PyTuple_GetItem, api.PyObject_Vectorcall), 1):
            self._table[position] = ctypes.cast(function, ctypes.c_void_p).value
        self._kept: list[object] = [self._code]
        self.call = calls.python_function(self._code.address(_ENTRY), general, name, self._kept)

    def add(self, keywords: Mapping[str, object], address: int, general: Callable[..., Any], code: object) -> None:
        """Let calls with exactly these keywords go to the direct call at an address, and from there to ``general``.

        Parameters
        ----------
        keywords
            Names and values, compared by identity.
        address
            Where the direct call is.
        general
            What it hands other arguments to.
        code
            The machine code at the address: it lives as long as `call`.
        """
        count = self._table[0] or 0
        if len(keywords) > _MOST_KEYWORDS or count == _MOST_CHOICES:
            return
        compared = [item for pair in keywords.items() for item in pair]
        self._kept += [*compared, general, code]
        start = _HEAD + _CHOICE * count
        for k, item in enumerate(compared):
            self._table[start + k] = id(item)
        self._table[start + 2 * _MOST_KEYWORDS] = address
        self._table[start + 2 * _MOST_KEYWORDS + 1] = id(general)
        self._table[0] = count + 1
