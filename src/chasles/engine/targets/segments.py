"""Long programs in segments: compilers want short functions, and values wait in memory from one to a later one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from chasles.engine.program.program import Program, operands


class SegmentMemory:
    """Where values wait in memory that one segment of a long program computes and a later one uses."""

    def __init__(self, program: Program, segments: Sequence[range]) -> None:
        segment_of = [number for number, segment in enumerate(segments) for _ in segment]
        last_use = list(segment_of)
        for index, instruction in enumerate(program.instructions):
            for operand in operands(instruction):
                last_use[operand] = segment_of[index]
        self.slot: dict[int, int] = {}
        self.size = 0
        free: list[int] = []
        leaving: list[list[int]] = [[] for _ in segments]
        for number, segment in enumerate(segments):
            for index in segment:
                if last_use[index] > number and program.instructions[index][0] not in ("constant", "input"):
                    if not free:
                        free.append(self.size)
                        self.size += 1
                    self.slot[index] = free.pop()
                    leaving[last_use[index]].append(self.slot[index])
            free += leaving[number]


def cut(program: Program, longest: int) -> list[range]:
    """Cut a program into stretches of similar length, about ``longest`` at most; an item stays with its call."""
    instructions = program.instructions
    count = -(-len(instructions) // longest) or 1
    cuts = [0]
    for k in range(1, count):
        place = k * len(instructions) // count
        while place < len(instructions) and instructions[place][0] == "item":
            place += 1
        cuts.append(place)
    return [range(start, stop) for start, stop in pairwise([*cuts, len(instructions)])]
