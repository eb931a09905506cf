"""The graph that tracing fills: every distinct operation once, in the order of its first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

# ("constant", value), ("input", position), ("call", program number, operand, ...), ("item", call, position),
# or an operation of the table with its operands. Operands are indices of earlier instructions.
Instruction = tuple[Any, ...]


class Called(Protocol):
    """What a graph must know of a program that it calls."""

    @property
    def digest(self) -> str:
        """Content hash."""

    @property
    def folded_results(self) -> Sequence[Instruction]:
        """What each number that a call gives is: a constant, an input, or an item of the call."""


class Graph:
    """A growing list of instructions in which no two are equal (hash-consing)."""

    __slots__ = ("_index", "_program_number", "instructions", "programs")

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.programs: list[Any] = []  # of `Program`, which is built on graphs
        self._index: dict[Instruction, int] = {}
        self._program_number: dict[str, int] = {}

    def add(self, instruction: Instruction) -> int:
        """Return the index of an instruction, appending it if it is new."""
        new = len(self.instructions)
        index = self._index.setdefault(instruction, new)
        if index == new:
            self.instructions.append(instruction)
        return index

    def program_number(self, program: Called) -> int:
        """Return the number under which a called program is kept, registering it if it is new."""
        number = self._program_number.get(program.digest)
        if number is None:
            number = self._program_number[program.digest] = len(self.programs)
            self.programs.append(program)
        return number
