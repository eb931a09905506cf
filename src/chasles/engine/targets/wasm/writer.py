"""WebAssembly functions written from expressions.

A `Value` is the machine code that leaves one number on WebAssembly's operand stack. Values combine by Python's
operators, so that a formula of this target reads like a formula; `WasmWriter.let` keeps a value in a local variable
when it is used more than once. Opcodes: WebAssembly Core Specification 2.0, section 5.4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

Kind = Literal["f64", "i64", "i32"]

TYPES: dict[Kind, int] = {"f64": 0x7C, "i64": 0x7E, "i32": 0x7F}
_END, _BLOCK, _LOOP, _IF, _ELSE = b"\x0b", b"\x02\x40", b"\x03\x40", b"\x04\x40", b"\x05"
_OPCODES: dict[Kind, dict[str, int]] = {
    "f64": {
        "equal": 0x61, "differs": 0x62, "less": 0x63, "greater": 0x64, "less_equal": 0x65, "greater_equal": 0x66,
        "abs": 0x99, "neg": 0x9A, "floor": 0x9C, "sqrt": 0x9F, "add": 0xA0, "sub": 0xA1, "mul": 0xA2, "div": 0xA3,
        "minimum": 0xA4, "maximum": 0xA5, "copysign": 0xA6,
    },
    "i64": {
        "zero": 0x50, "equal": 0x51, "less": 0x53, "less_unsigned": 0x54, "add": 0x7C, "sub": 0x7D, "mul": 0x7E,
        "and": 0x83, "xor": 0x85, "or": 0x84, "shift_left": 0x86, "shift_right": 0x87, "shift_right_unsigned": 0x88,
    },
    "i32": {
        "zero": 0x45, "equal": 0x46, "less": 0x48, "add": 0x6A, "sub": 0x6B, "mul": 0x6C, "and": 0x71, "or": 0x72,
    },
}  # fmt: skip
_CONVERSIONS: dict[str, tuple[int, Kind]] = {
    "bits": (0xBD, "i64"),
    "from_bits": (0xBF, "f64"),
    "wrapped": (0xA7, "i32"),
    "widened": (0xAD, "i64"),
    "from_i32": (0xB7, "f64"),
    "from_i64": (0xB9, "f64"),
    "from_unsigned_i64": (0xBA, "f64"),
}
_CONDITIONS = {"equal", "differs", "less", "greater", "less_equal", "greater_equal", "less_unsigned", "zero"}
_LOAD: dict[Kind, int] = {"i32": 0x28, "i64": 0x29, "f64": 0x2B}
_STORE: dict[Kind, int] = {"i32": 0x36, "i64": 0x37, "f64": 0x39}


def unsigned(value: int) -> bytes:
    """Return a number in WebAssembly's variable-length form (unsigned LEB128)."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> bytes:
    """Return a signed number in WebAssembly's variable-length form (signed LEB128)."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value & 0x7F)
    return bytes(out)


class Value:
    """Machine code that computes one number, and the type of that number.

    Conditions are ``i32`` values, 1 where they hold.
    """

    __slots__ = ("code", "kind")

    def __init__(self, kind: Kind, code: bytes) -> None:
        self.kind = kind
        self.code = code

    def operation(self, name: str, *operands: Value | float) -> Value:
        """Apply an operation of this value's type; Python numbers become constants of it."""
        codes = b"".join(x.code if isinstance(x, Value) else constant(self.kind, x).code for x in operands)
        kind: Kind = "i32" if name in _CONDITIONS else self.kind
        return Value(kind, self.code + codes + bytes([_OPCODES[self.kind][name]]))

    def converted(self, how: str) -> Value:
        """Convert to another type: ``"bits"``, ``"from_bits"``, ``"wrapped"``, ``"from_i32"``, ``"from_i64"``, …."""
        opcode, kind = _CONVERSIONS[how]
        return Value(kind, self.code + bytes([opcode]))

    def __add__(self, other: Value | float) -> Value:
        return self.operation("add", other)

    def __sub__(self, other: Value | float) -> Value:
        return self.operation("sub", other)

    def __mul__(self, other: Value | float) -> Value:
        return self.operation("mul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self.operation("div", other)

    def __neg__(self) -> Value:
        return self.operation("neg")

    def __abs__(self) -> Value:
        return self.operation("abs")

    def __and__(self, other: Value | int) -> Value:
        return self.operation("and", other)

    def __or__(self, other: Value | int) -> Value:
        return self.operation("or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self.operation("xor", other)

    def __lshift__(self, other: Value | int) -> Value:
        return self.operation("shift_left", other)

    def __rshift__(self, other: Value | int) -> Value:
        return self.operation("shift_right", other)

    def __lt__(self, other: Value | float) -> Value:
        return self.operation("less", other)

    def __gt__(self, other: Value | float) -> Value:
        return self.operation("greater", other)

    def __le__(self, other: Value | float) -> Value:
        return self.operation("less_equal", other)

    def equals(self, other: Value | float) -> Value:
        """Whether two numbers are equal, as a condition."""
        return self.operation("equal", other)

    def differs(self, other: Value | float) -> Value:
        """Whether two numbers differ; it also holds where either is NaN."""
        return self.operation("differs", other)

    def opposite(self) -> Value:
        """Whether a condition does not hold, or a whole number is zero."""
        return self.operation("zero")


def constant(kind: Kind, number: float) -> Value:
    """Return a known number; whole numbers wrap around to the width of their type.

    Examples
    --------
    >>> constant("i32", 2**31).code == constant("i32", -(2**31)).code
    True
    """
    if kind == "f64":
        return Value(kind, b"\x44" + struct.pack("<d", number))
    width = 64 if kind == "i64" else 32
    wrapped = int(number) & ((1 << width) - 1)
    if wrapped >> (width - 1):
        wrapped -= 1 << width
    return Value(kind, (b"\x42" if kind == "i64" else b"\x41") + signed(wrapped))


def real(number: float) -> Value:
    """Return a known double."""
    return constant("f64", number)


def choose(condition: Value, a: Value, b: Value) -> Value:
    """Return a where a condition holds, else b; both are computed."""
    return Value(a.kind, a.code + b.code + condition.code + b"\x1b")


def load(kind: Kind, base: Value, offset: int = 0) -> Value:
    """Return the number at an address of the memory and a known offset in bytes."""
    align = b"\x02" if kind == "i32" else b"\x03"
    return Value(kind, base.code + bytes([_LOAD[kind]]) + align + unsigned(offset))


class WasmWriter:
    """Writer of one function.

    Parameters
    ----------
    parameters, results
        Types of what it takes and gives.
    """

    def __init__(self, parameters: Sequence[Kind], results: Sequence[Kind] = ()) -> None:
        self.signature = (tuple(parameters), tuple(results))
        self.parameters = tuple(Value(kind, b"\x20" + unsigned(k)) for k, kind in enumerate(parameters))
        self._locals: list[Kind] = []
        self._code = bytearray()

    def variable(self, kind: Kind) -> Value:
        """Return a new local variable, for `set`; it begins at zero."""
        self._locals.append(kind)
        return Value(kind, b"\x20" + unsigned(len(self.parameters) + len(self._locals) - 1))

    def set(self, variable: Value, value: Value) -> None:
        """Give a local variable a value."""
        self._code += value.code + b"\x21" + variable.code[1:]

    def let(self, value: Value) -> Value:
        """Compute a value now and keep it in a local variable of its own."""
        variable = self.variable(value.kind)
        self.set(variable, value)
        return variable

    def call(self, function: int, arguments: Sequence[Value], results: Sequence[Kind]) -> list[Value]:
        """Call a function now and keep its results."""
        variables = [self.variable(kind) for kind in results]
        self._code += b"".join(x.code for x in arguments) + b"\x10" + unsigned(function)
        for variable in reversed(variables):
            self._code += b"\x21" + variable.code[1:]
        return variables

    def store(self, base: Value, offset: int, value: Value) -> None:
        """Write a value to an address of the memory and a known offset in bytes."""
        align = b"\x02" if value.kind == "i32" else b"\x03"
        self._code += base.code + value.code + bytes([_STORE[value.kind]]) + align + unsigned(offset)

    def copy(self, target: Value, source: Value, size: int) -> None:
        """Copy some bytes of the memory."""
        self._code += target.code + source.code + constant("i32", size).code + b"\xfc\x0a\x00\x00"

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Run what is written inside only where a condition holds."""
        self._code += condition.code + _IF
        yield
        self._code += _END

    def otherwise(self) -> None:
        """Inside `when`: what follows runs where the condition does not hold."""
        self._code += _ELSE

    @contextmanager
    def loop(self, condition: Value) -> Iterator[None]:
        """Repeat what is written inside while a condition holds."""
        self._code += _BLOCK + _LOOP + condition.opposite().code + b"\x0d\x01"
        yield
        self._code += b"\x0c\x00" + _END + _END

    def give(self, *results: Value) -> None:
        """Return values from the function."""
        self._code += b"".join(x.code for x in results) + b"\x0f"

    def body(self) -> bytes:
        """Return the function's entry in the code section."""
        groups: list[tuple[int, Kind]] = []
        for kind in self._locals:
            if groups and groups[-1][1] == kind:
                groups[-1] = (groups[-1][0] + 1, kind)
            else:
                groups.append((1, kind))
        declared = b"".join(unsigned(count) + bytes([TYPES[kind]]) for count, kind in groups)
        # What ends in a return cannot be left otherwise; "unreachable" says so to the validator.
        ending = b"\x00" if self.signature[1] else b""
        content = unsigned(len(groups)) + declared + bytes(self._code) + ending + _END
        return unsigned(len(content)) + content


def call(function: int, kind: Kind, *arguments: Value) -> Value:
    """Return the result of a function without side effects."""
    return Value(kind, b"".join(x.code for x in arguments) + b"\x10" + unsigned(function))
