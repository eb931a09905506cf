"""Which outputs of a program depend on which inputs, and what each mode of accumulation would cost.

Sets of scalars are whole numbers used as bit sets, so that a walk along a long program stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from chasles.engine.partials import smooth_operands
from chasles.engine.program import Program

# A multiplication and an addition, against an addition only where the partial is 1 or -1.
_CHEAP = {"add", "sub", "neg", "where", "minimum", "maximum"}


@lru_cache(maxsize=512)
def dependence(program: Program) -> tuple[int, ...]:
    """Return for each output scalar the set of input scalars to which its derivative is not zero by structure."""
    count = sum(a.size for a in program.inputs)
    sets = _forward_sets(program, [1 << k for k in range(count)])
    return tuple(sets[k] for k in program.results)


def active_values(program: Program, wrt: Sequence[int]) -> list[bool]:
    """Return for each value whether its derivative to some input scalars is not zero by structure."""
    seeds = [0] * sum(a.size for a in program.inputs)
    for k in wrt:
        seeds[k] = 1
    return [bool(s) for s in _forward_sets(program, seeds)]


@lru_cache(maxsize=512)
def prefers_reverse(program: Program, wrt: tuple[int, ...], outputs: tuple[int, ...]) -> bool:
    """Return whether reverse accumulation of a Jacobian takes fewer operations than forward accumulation.

    Each edge of the graph costs one operation or two for each direction that reaches its lower end (forward), or for each
    output that its upper end reaches (reverse).
    """
    seeds = [0] * sum(a.size for a in program.inputs)
    for k in wrt:
        seeds[k] = 1 << k
    directions = _forward_sets(program, seeds)
    reached = [0] * len(program.instructions)
    for k in outputs:
        reached[program.results[k]] |= 1 << k
    forward_cost = reverse_cost = 0
    item_reached: dict[int, dict[int, int]] = {}
    for index in range(len(program.instructions) - 1, -1, -1):
        operation, *rest = program.instructions[index]
        if operation == "call":
            rows = dependence(program.programs[rest[0]])
            for item, outputs_reached in item_reached.pop(index, {}).items():
                for position, k in enumerate(rest[1:]):
                    if directions[k] and rows[item] >> position & 1:
                        reached[k] |= outputs_reached
                        forward_cost += 2 * directions[k].bit_count()
                        reverse_cost += 2 * outputs_reached.bit_count()
        elif not reached[index] or not directions[index]:
            continue
        elif operation == "item":
            item_reached.setdefault(rest[0], {})[rest[1]] = reached[index]
        elif operation in ("constant", "input"):
            continue
        else:
            weight = 1 if operation in _CHEAP else 2
            for k in smooth_operands(program.instructions[index]):
                if directions[k]:
                    reached[k] |= reached[index]
                    forward_cost += weight * directions[k].bit_count()
                    reverse_cost += weight * reached[index].bit_count()
    return reverse_cost < forward_cost


def _forward_sets(program: Program, seeds: Sequence[int]) -> list[int]:
    """Return for each value the union of the seeds of the inputs on which it smoothly depends."""
    sets: list[int] = []
    items: dict[int, list[int]] = {}
    for index, instruction in enumerate(program.instructions):
        operation, *rest = instruction
        union = 0
        if operation == "input":
            union = seeds[rest[0]]
        elif operation == "item":
            union = items[rest[0]][rest[1]]
        elif operation == "call":
            rows = dependence(program.programs[rest[0]])
            operand_sets = [sets[k] for k in rest[1:]]
            items[index] = [_union(row, operand_sets) for row in rows]
            union = _union(-1, operand_sets)
        elif operation != "constant":
            for k in smooth_operands(instruction):
                union |= sets[k]
        sets.append(union)
    return sets


def _union(chosen: int, sets: Sequence[int]) -> int:
    union = 0
    for position, members in enumerate(sets):
        if chosen >> position & 1:
            union |= members
    return union
