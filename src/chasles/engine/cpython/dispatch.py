"""From a call with keywords to the machine code for them, without a detour through Python.

``arm.jacobian(q, frame="body")`` chooses one of several programs by its keywords. Looking that up in Python takes
longer than the Jacobian. A dispatcher compares the keywords of a call, by identity, with those of the calls it has
seen, and goes straight to the direct call that belongs to them, with ``out`` if it is given; it leaves everything it
does not know to the general call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from chasles.engine.cpython import calls
from chasles.engine.cpython.objects import OUT, PARAMETERS, instance_call
from chasles.engine.targets.native import machine
from chasles.engine.targets.native.writer import LlvmWriter

_ENTRY, _INSTANCE_ENTRY = "chasles_dispatch", "chasles_instance_dispatch"
_TABLE = "chasles_choices"
_MOST_KEYWORDS = 2  # beside `out`
_MOST_ARGUMENTS = 16  # beside keywords
_MOST_CHOICES = 16
_HEAD = ("choices", "tuple size", "tuple item", "general call", "out", "only out")
_CHOICE = 2 * _MOST_KEYWORDS + 2  # names and values, then the direct call and its general call


def _assembly() -> str:
    w = LlvmWriter(f"ptr @{_ENTRY}({PARAMETERS})")

    def word(kind: str, base: str, position: int | str) -> str:
        return w.value(f"load {kind}, ptr {w.address(base, (position, 8))}")

    def head(name: str, kind: str = "ptr") -> str:
        return word(kind, f"@{_TABLE}", _HEAD.index(name))

    seen = w.value(f"alloca [{2 * _MOST_KEYWORDS} x ptr]")
    out, options = w.value("alloca ptr"), w.value("alloca i64")
    for k in range(2 * _MOST_KEYWORDS):
        w.emit(f"store ptr null, ptr {w.address(seen, (k, 8))}")
    w.emit(f"store ptr null, ptr {out}")
    w.emit(f"store i64 0, ptr {options}")
    with w.when(w.value("icmp ne ptr %names, null")):
        size = w.value(f"call i64 {head('tuple size')}(ptr %names)")
        w.go_on_if(w.value(f"icmp sle i64 {size}, {_MOST_KEYWORDS + 1}"), "general")
        with w.loop(size) as keyword:
            name = w.value(f"call ptr {head('tuple item')}(ptr %names, i64 {keyword})")
            value = word("ptr", "%args", w.value(f"add i64 %count, {keyword}"))
            is_out = w.value(f"icmp eq ptr {name}, {head('out')}")
            with w.when(is_out):
                w.emit(f"store ptr {value}, ptr {out}")
            with w.unless(is_out):
                count = w.value(f"load i64, ptr {options}")
                w.go_on_if(w.value(f"icmp slt i64 {count}, {_MOST_KEYWORDS}"), "general")
                pair = w.address(seen, (count, 16))
                w.emit(f"store ptr {name}, ptr {pair}")
                w.emit(f"store ptr {value}, ptr {w.value(f'getelementptr i8, ptr {pair}, i64 8')}")
                w.emit(f"store i64 {w.value(f'add i64 {count}, 1')}, ptr {options}")
    given = [word("ptr", seen, k) for k in range(2 * _MOST_KEYWORDS)]
    result_array = w.value(f"load ptr, ptr {out}")
    with w.loop(head("choices", "i64")) as i:
        first = w.value(f"getelementptr i8, ptr @{_TABLE}, i64 {8 * len(_HEAD)}")
        choice = w.address(first, (i, 8 * _CHOICE))
        same = "true"
        for k, value in enumerate(given):
            equal = w.value(f"icmp eq ptr {value}, {word('ptr', choice, k)}")
            same = w.value(f"and i1 {same}, {equal}")
        with w.when(same):
            function, general = (word("ptr", choice, 2 * _MOST_KEYWORDS + k) for k in (0, 1))
            with w.when(w.value(f"icmp eq ptr {result_array}, null"), returns=True):
                w.emit(f"ret ptr {w.value(f'call ptr {function}(ptr {general}, ptr %args, i64 %count, ptr null)')}")
            # The direct call knows no keyword but this, which stands right behind the arguments.
            w.go_on_if(w.value(f"icmp sle i64 %count, {_MOST_ARGUMENTS}"), "general")
            arguments = w.value(f"alloca [{_MOST_ARGUMENTS + 1} x ptr]")
            with w.loop("%count") as place:
                w.emit(f"store ptr {word('ptr', '%args', place)}, ptr {w.address(arguments, (place, 8))}")
            w.emit(f"store ptr {result_array}, ptr {w.address(arguments, ('%count', 8))}")
            call = f"call ptr {function}(ptr {general}, ptr {arguments}, i64 %count, ptr {head('only out')})"
            w.return_if("true", f"ptr {w.value(call)}")
    w.emit("br label %general")
    w.block("general")
    result = w.value(f"call ptr {head('general call')}({PARAMETERS})")
    w.emit(f"ret ptr {result}")
    words = len(_HEAD) + _CHOICE * _MOST_CHOICES
    table = f"@{_TABLE} = global [{words} x ptr] zeroinitializer"
    return "\n".join([table, w.text(), instance_call(_INSTANCE_ENTRY, _ENTRY)])


class Dispatcher:
    """A callable that chooses among direct calls by keywords.

    Attributes
    ----------
    call
        The callable.
    instance_address
        Address of the code for calls of an instance of `chasles.engine.cpython.vectorcall.DirectlyCalled`.
    """

    def __init__(self, general: Callable[..., Any], name: str) -> None:
        self._code = machine.loaded(f"dispatch {machine.fingerprint(__package__)}", [_ENTRY], lambda: [_assembly()])
        words = len(_HEAD) + _CHOICE * _MOST_CHOICES
        self._table = (ctypes.c_void_p * words).from_address(self._code.address_of_data(_TABLE))
        api = ctypes.pythonapi
        for position, function in enumerate((api.PyTuple_Size, api.PyTuple_GetItem, api.PyObject_Vectorcall), 1):
            self._table[position] = ctypes.cast(function, ctypes.c_void_p).value
        only_out = (OUT,)
        self._table[_HEAD.index("out")], self._table[_HEAD.index("only out")] = id(OUT), id(only_out)
        self._kept: list[object] = [self._code, only_out]
        self.instance_address = self._code.address(_INSTANCE_ENTRY)
        self.call = calls.python_function(self._code.address(_ENTRY), general, name, self._kept)

    def add(self, keywords: Mapping[str, object], address: int, general: Callable[..., Any], code: object) -> None:
        """Let calls with exactly these keywords go to the direct call at an address, and from there to ``general``.

        Parameters
        ----------
        keywords
            Names and values, compared by identity.
        address
            Address of the direct call.
        general
            Function for all other arguments.
        code
            The machine code at the address: it lives as long as `call`.
        """
        count = self._table[0] or 0
        if len(keywords) > _MOST_KEYWORDS or count == _MOST_CHOICES:
            return
        compared = [item for pair in keywords.items() for item in pair]
        self._kept += [*compared, general, code]
        start = len(_HEAD) + _CHOICE * count
        for k, item in enumerate(compared):
            self._table[start + k] = id(item)
        self._table[start + 2 * _MOST_KEYWORDS] = address
        self._table[start + 2 * _MOST_KEYWORDS + 1] = id(general)
        self._table[0] = count + 1
