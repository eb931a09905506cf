"""What makes a list of instructions a program that every target can translate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chasles.engine.operations import OPERATIONS
from chasles.errors import ArgumentError

if TYPE_CHECKING:
    from chasles.engine.program import Program


def check_program(program: Program) -> None:
    """Refuse what no target could translate; programs also come from files."""
    for arguments in (program.inputs, program.outputs):
        for a in arguments:
            if not all(type(size) is int and size >= 0 for size in a.shape):
                raise ArgumentError(f"program '{program.name}': '{a.name}' has the impossible shape {a.shape}")
        names = [a.name for a in arguments]
        if len(set(names)) != len(names):
            raise ArgumentError(f"program '{program.name}': two inputs or two outputs have one name: {names}")
    inputs = sum(a.size for a in program.inputs)
    types: list[Any] = []  # "r", "c", or the number of items of a call

    def require(condition: bool, index: int, reason: str) -> None:
        if not condition:
            raise ArgumentError(f"program '{program.name}', instruction {index}: {reason}")

    def is_value(operand: Any, index: int) -> bool:
        return type(operand) is int and 0 <= operand < index

    for index, (operation, *rest) in enumerate(program.instructions):
        if operation == "constant":
            require(len(rest) == 1 and type(rest[0]) is float, index, "a constant must be a float")
            types.append("r")
        elif operation == "input":
            require(len(rest) == 1 and is_value(rest[0], inputs), index, f"there are {inputs} input scalars")
            types.append("r")
        elif operation == "item":
            items = types[rest[0]] if len(rest) == 2 and is_value(rest[0], index) else None
            require(type(items) is int and is_value(rest[1], items), index, "no such item of a call")
            behind = rest[0] == index - 1 or program.instructions[index - 1][:2] == ("item", rest[0])
            require(behind, index, "an item must stand right behind its call or another item of it")
            types.append("r")
        elif operation == "call":
            require(bool(rest) and is_value(rest[0], len(program.programs)), index, "no such program to call")
            called = program.programs[rest[0]]
            expected = sum(a.size for a in called.inputs)
            require(len(rest) - 1 == expected, index, f"'{called.name}' takes {expected} scalars, not {len(rest) - 1}")
            require(all(is_value(k, index) and types[k] == "r" for k in rest[1:]), index, "an operand is no number")
            types.append(len(called.results))
        else:
            require(operation in OPERATIONS, index, f"unknown operation {operation!r}")
            table = OPERATIONS[operation]
            require(len(rest) == table.arity, index, f"'{operation}' takes {table.arity} operands, not {len(rest)}")
            for operand, kind in zip(rest, table.takes, strict=True):
                require(is_value(operand, index) and types[operand] == kind, index, f"wrong operand {operand!r}")
            types.append(table.gives)
    expected = sum(a.size for a in program.outputs)
    if len(program.results) != expected:
        raise ArgumentError(
            f"program '{program.name}' has {len(program.results)} results for {expected} output scalars"
        )
    for value in program.results:
        if not (is_value(value, len(types)) and types[value] == "r"):
            raise ArgumentError(f"program '{program.name}': result {value!r} is no number")
