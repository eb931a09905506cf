"""Instances of Python classes that are called like built-in functions: CPython's vectorcall (PEP 590).

Python calls an instance through the ``__call__`` of its class: it packs the arguments into a tuple and the keywords
into a dictionary, looks the method up and unpacks both again, which takes as long as a robot's Jacobian. Built-in
functions instead hold the address of the code that takes their arguments as they are. A base class made through the C
API gives each instance room for such an address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from inspect import getattr_static
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

from chasles.engine.cpython import switch
from chasles.engine.cpython.immortal import immortal

#: Places in an instance: the address of its code, and what that code hands unusual calls to.
CODE, GENERAL = 16, 24
_SIZE = 32
_DEFAULT, _IS_BASE, _HAS_VECTORCALL = 1 << 18, 1 << 10, 1 << 11  # flags of types
_FLAGS = 168  # place of the flags in a type
_TP_CALL, _TP_MEMBERS = 50, 72
_T_PYSSIZET, _READONLY = 19, 1


class _Member(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("pointer", ctypes.c_void_p))


class _Specification(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


def _has_known_layout() -> bool:
    """Whether types and instances are laid out as this file knows it."""
    return switch.is_on() and object.__basicsize__ == CODE and _flags_of(object).value == object.__flags__


def _flags_of(kind: type) -> ctypes.c_ulong:
    return ctypes.c_ulong.from_address(id(kind) + _FLAGS)


def _base_with_room() -> type:
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _T_PYSSIZET, CODE, _READONLY, None))
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p)
    slots = (_Slot * 3)(_Slot(_TP_MEMBERS, ctypes.addressof(members)), _Slot(_TP_CALL, call.value))
    name = f"{__name__}.Room".encode()
    specification = _Specification(name, _SIZE, 0, _DEFAULT | _IS_BASE | _HAS_VECTORCALL, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    immortal((members, slots, specification))  # the type refers to them
    room: type = make(ctypes.addressof(specification))
    return room


_IS_KNOWN = _has_known_layout()
if TYPE_CHECKING:
    _Room = object
else:
    _Room = _base_with_room() if _IS_KNOWN else object


class DirectlyCalled(_Room):
    """Base of classes whose instances can be called through the address of machine code.

    ``__call__`` is a slot of the instances. Until an instance has machine code, and where objects have another layout
    than this file knows, calls take Python's way through it; it must do the same. A class that defines ``__call__`` as
    a method is called by that alone.
    """

    __slots__ = ("_general",)

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        # Python gives the flag to no class with a `__call__` that is written in Python, be it a slot of instances.
        is_slot = isinstance(getattr_static(cls, "__call__", None), MemberDescriptorType)
        if _IS_KNOWN and is_slot and (flags := _flags_of(cls)).value == cls.__flags__:
            flags.value |= _HAS_VECTORCALL

    def call_directly(self, address: int, general: Callable[..., Any]) -> None:
        """Let calls go to the machine code at an address, which must live as long as this object.

        Its signature is CPython's ``vectorcallfunc``; what it leaves to Python it hands to ``general``.
        """
        if not _IS_KNOWN:
            return
        words = (ctypes.c_void_p * 2).from_address(id(self) + CODE)
        words[1], words[0] = id(general), address
        self._general = general  # the words own nothing
