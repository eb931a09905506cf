"""What a function's code refers to: globals, builtins, imports, and what it reaches through modules."""

from __future__ import annotations

import dis
import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

from chasles.studies.identity.libraries import library_of


class Missing:
    """What a name stands for that does not exist."""


#: Names of a module that say where it is, not what it computes.
_PLACES = ("__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__path__", "__cached__")

_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_SKIPPED = ("CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOT_TAKEN")


def references(code: CodeType, namespace: Mapping[str, Any], builtins: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and values that code and the functions inside it take from outside, in the order of the code.

    An attribute of a module, or of a class of a library, is followed: ``settings.gain`` gives the gain, and not the
    module ``settings``.

    Parameters
    ----------
    code
        The code.
    namespace, builtins
        Where it looks for names.
    """
    steps = [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]
    for k, step in enumerate(steps):
        if step.opname in _GLOBALS and step.argval not in _PLACES:
            name = str(step.argval)
            value = namespace.get(name, builtins.get(name, Missing))
            yield _followed(name, value, steps[k + 1 :])
        elif step.opname == "IMPORT_NAME":
            yield from _imported(steps, k, namespace)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from references(constant, namespace, builtins)


def attribute_names(code: CodeType) -> set[str]:
    """Names of the attributes that code and the functions inside it read."""
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname in _ATTRIBUTES}
    return names.union(*(attribute_names(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def contents(module: ModuleType) -> dict[str, Any]:
    """What a module holds, by name, but for what says where it is."""
    return {name: value for name, value in sorted(vars(module).items()) if not name.startswith("__")}


def _followed(name: str, value: object, steps: Sequence[dis.Instruction]) -> tuple[str, Any]:
    """The value at the end of a chain of attributes that leads through modules and libraries' classes."""
    for step in steps:
        if step.opname not in _ATTRIBUTES or not _leads_on(value):
            break
        name, value = f"{name}.{step.argval}", getattr(value, step.argval, Missing)
    return name, value


def _leads_on(value: object) -> bool:
    return isinstance(value, ModuleType) or (isinstance(value, type) and library_of(value.__module__) is not None)


def _imported(steps: Sequence[dis.Instruction], k: int, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What the import at step k gives; the two steps before it load its level and the names that it takes."""
    level, taken, name = steps[k - 2].argval or 0, steps[k - 1].argval, str(steps[k].argval)
    full = importlib.util.resolve_name("." * level + name, namespace.get("__package__")) if level else name
    try:
        module = importlib.import_module(full)
    except ImportError:
        yield full, Missing
        return
    if taken:
        for item in taken:
            yield f"{full}.{item}", getattr(module, item, Missing)
    else:
        yield full, module
