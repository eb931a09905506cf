"""Which outputs of a program depend on which inputs, and what each mode of accumulation would cost.

Sets of scalars are whole numbers used as bit sets, so that a walk along a long program stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from chasles.engine.derivatives.partials import smooth_operands
from chasles.engine.program.program import Program

# Operations whose partials are 1 or -1.
_TRIVIAL = {"add", "sub", "neg"}


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

    Counted are, in each mode, the products of derivatives with partials that are neither 1 nor -1, and the sums where
    several derivatives to one direction (or of one output) meet. Products with the seeds, which are 1, are free.
    """
    seeds = [0] * sum(a.size for a in program.inputs)
    for k in wrt:
        seeds[k] = 1 << k
    directions = _forward_sets(program, seeds)
    edges = _edges(program, directions, outputs)

    return _reverse_cost(program, outputs, edges) < _forward_cost(program, directions, edges)


def _forward_cost(program: Program, directions: Sequence[int], edges: Sequence[Sequence[tuple[int, bool]]]) -> int:
    """Return the products and sums of forward accumulation."""
    cost = 0
    unit = [i[0] == "input" for i in program.instructions]
    arriving = [0] * len(edges)
    for index, below in enumerate(edges):
        counts = [(directions[k].bit_count(), trivial and unit[k], trivial or unit[k]) for k, trivial in below]
        cost += sum(count for count, _, free in counts if not free)
        arriving[index] = sum(count for count, _, _ in counts)
        cost += max(arriving[index] - directions[index].bit_count(), 0) if below else 0
        if below:
            unit[index] = all(u for _, u, _ in counts) and arriving[index] == directions[index].bit_count()
    return cost


def _reverse_cost(program: Program, outputs: Sequence[int], edges: Sequence[Sequence[tuple[int, bool]]]) -> int:
    """Return the products and sums of reverse accumulation."""
    cost = 0
    reached = [0] * len(edges)
    arriving = [0] * len(edges)
    unit = [True] * len(edges)
    for k in outputs:
        reached[program.results[k]] |= 1 << k
        arriving[program.results[k]] += 1
    for index in range(len(edges) - 1, -1, -1):
        count = reached[index].bit_count()
        cost += arriving[index] - count
        unit[index] = unit[index] and arriving[index] == count
        for k, trivial in edges[index]:
            reached[k] |= reached[index]
            arriving[k] += count
            cost += 0 if trivial or unit[index] else count
            unit[k] = unit[k] and trivial and unit[index]
    return cost


def _edges(program: Program, directions: Sequence[int], outputs: Sequence[int]) -> list[list[tuple[int, bool]]]:
    """Return for each value that outputs need the operands that move, and whether the partial is 1 or -1."""
    edges: list[list[tuple[int, bool]]] = [[] for _ in program.instructions]
    needed = {program.results[k] for k in outputs}
    for index in range(len(program.instructions) - 1, -1, -1):
        instruction = program.instructions[index]
        if index not in needed or not directions[index]:
            continue
        if instruction[0] == "item":
            _, number, *arguments = program.instructions[instruction[1]]
            row = dependence(program.programs[number])[instruction[2]]
            below = {k: False for position, k in enumerate(arguments) if row >> position & 1}
        else:
            below = dict.fromkeys(smooth_operands(instruction), instruction[0] in _TRIVIAL)
        edges[index] = [(k, trivial) for k, trivial in below.items() if directions[k]]
        needed.update(k for k, _ in edges[index])
    return edges


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
