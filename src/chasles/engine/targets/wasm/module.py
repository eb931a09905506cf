"""A WebAssembly module in binary form: functions, one memory, data in it, and a section that describes it.

Source: WebAssembly Core Specification 2.0, section 5.5 (Modules).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from chasles.engine.targets.wasm.writer import TYPES, Kind, WasmWriter, signed, unsigned

PAGE = 65_536  # bytes; the unit of a memory's size
_TYPE, _FUNCTION, _MEMORY, _EXPORT, _CODE, _DATA = 1, 3, 5, 7, 10, 11
_Signature = tuple[tuple[Kind, ...], tuple[Kind, ...]]


class WasmModule:
    """A module under construction: functions are numbered, and memory is allotted, as they are added."""

    def __init__(self) -> None:
        self._types: dict[_Signature, int] = {}
        self._functions: list[tuple[int, bytes]] = []
        self._exports: dict[str, int] = {}
        self._data: list[tuple[int, bytes]] = []
        self._known: dict[str, int] = {}
        self.memory_size = 0

    def add(self, function: WasmWriter, export: str | None = None) -> int:
        """Add a function and return its number."""
        kind = self._types.setdefault(function.signature, len(self._types))
        self._functions.append((kind, function.body()))
        number = len(self._functions) - 1
        if export is not None:
            self._exports[export] = number
        return number

    def once(self, key: str, make: Callable[[], int]) -> int:
        """Return the number of a function, or an address, that is made when it is first needed."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def allot(self, size: int) -> int:
        """Return the address of some bytes of memory, a multiple of 16."""
        address = self.memory_size
        self.memory_size += -(-size // 16) * 16
        return address

    def data(self, content: bytes) -> int:
        """Place known bytes in the memory and return their address."""
        address = self.allot(len(content))
        self._data.append((address, content))
        return address

    def binary(self, description: str) -> bytes:
        """Return the module, with a custom section ``chasles`` that holds a description.

        Its exports are ``memory`` and the functions that were added with a name.
        """
        types = [b"\x60" + _kinds(parameters) + _kinds(results) for parameters, results in self._types]
        exports = [_name("memory") + b"\x02\x00"]
        exports += [_name(name) + b"\x00" + unsigned(number) for name, number in self._exports.items()]
        data = [b"\x00\x41" + signed(a) + b"\x0b" + unsigned(len(d)) + d for a, d in self._data]
        pages = -(-self.memory_size // PAGE) or 1
        described = _name("chasles") + description.encode("utf-8", "replace")
        return b"".join(
            (
                b"\0asm\1\0\0\0",
                _section(_TYPE, _vector(types)),
                _section(_FUNCTION, _vector([unsigned(kind) for kind, _ in self._functions])),
                _section(_MEMORY, _vector([b"\x00" + unsigned(pages)])),
                _section(_EXPORT, _vector(exports)),
                _section(_CODE, _vector([body for _, body in self._functions])),
                _section(_DATA, _vector(data)),
                _section(0, described),
            )
        )


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + unsigned(len(content)) + content


def _vector(items: Iterable[bytes]) -> bytes:
    listed = list(items)
    return unsigned(len(listed)) + b"".join(listed)


def _kinds(kinds: Iterable[Kind]) -> bytes:
    return _vector(bytes([TYPES[kind]]) for kind in kinds)


def _name(text: str) -> bytes:
    encoded = text.encode("utf-8", "replace")
    return unsigned(len(encoded)) + encoded
