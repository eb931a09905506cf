"""Which values of a program are in registers and which wait in memory: what the compiler would have to find out.

A program of thousands of operations has hundreds of values in use at a time, a processor some dozens of registers. A
compiler that must find out what waits where takes longer than for everything else, stores twice as much as is needed,
and spreads it over more memory than the nearest cache has. Here the order of operations is known, so that the rule of
Belady (A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5, 1966) can be applied:
the value that is used again latest makes room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.program import Program, operands

#: A function of more operations is cut: what compiling it takes grows faster than its length.
LONGEST_FUNCTION = 1_000

#: Operations that are calls of functions, during which no value stays in a register.
CALLS = frozenset(
    ("call", "power", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh")
)


class Action(NamedTuple):
    """A step of a function: compute a value, keep it in a place of the frame, or fetch it from where it waits.

    A step may also claim a line of the cache: at an offset in bytes, its place, from the first result of an output, its
    value.
    """

    kind: Literal["compute", "keep", "fetch", "claim"]
    value: int
    place: int = -1


@dataclass
class Allocation:
    """The functions into which a program is cut.

    Attributes
    ----------
    segments
        The actions of each.
    size
        Number of places in the frame, the memory in which values wait.
    """

    segments: list[list[Action]] = field(default_factory=list)
    size: int = 0


def fused_products(program: Program) -> dict[int, int]:
    """Return the products that sums and differences are rounded together with, by sum.

    A product is computed with every sum that uses it, or with none: where it is needed by itself, nothing is gained.
    """
    instructions = program.instructions
    users: list[list[int]] = [[] for _ in instructions]
    for index, instruction in enumerate(instructions):
        for operand in operands(instruction):
            users[operand].append(index)
    results = set(program.results)
    products = [
        index for index, (operation, *_) in enumerate(instructions) if operation == "mul" and index not in results
    ]
    fused: dict[int, int] = {}
    for product in sorted(products, key=lambda index: len(users[index])):
        sums = users[product]
        are_sums = all(instructions[user][0] in ("add", "sub") for user in sums)
        if are_sums and len(set(sums)) == len(sums) and fused.keys().isdisjoint(sums):
            fused |= dict.fromkeys(sums, product)
    return fused


def stored_arguments(program: Program) -> dict[int, list[tuple[int, int]]]:
    """Return what each call stores: positions and values of the arguments that are not there from the call before.

    Each called program has memory of its own for its arguments, which it only reads. The steps of an integrator, for
    one, call the same program with the same hundreds of parameters.
    """
    before: dict[str, tuple[int, ...]] = {}
    stored = {}
    for index, (operation, *rest) in enumerate(program.instructions):
        if operation == "call":
            digest, arguments = program.programs[rest[0]].digest, tuple(rest[1:])
            last = before.get(digest, (-1,) * len(arguments))
            changed = zip(arguments, last, strict=True)
            stored[index] = [(k, value) for k, (value, other) in enumerate(changed) if value != other]
            before[digest] = arguments
    return stored


def with_claims(segments: Sequence[Sequence[Action]], claims: Sequence[tuple[int, int]]) -> list[list[Action]]:
    """Spread claims of lines, as outputs and offsets, evenly over the computations of a program."""
    count = sum(action.kind == "compute" for actions in segments for action in actions)
    spread, computed, claimed = [], 0, 0
    for actions in segments:
        spread.append(list[Action]())
        for action in actions:
            spread[-1].append(action)
            computed += action.kind == "compute"
            due = len(claims) * computed // max(1, count)
            spread[-1] += [Action("claim", *line) for line in claims[claimed:due]]
            claimed = due
    return spread


def allocate(program: Program, fused: Mapping[int, int], results: Mapping[int, int], registers: int) -> Allocation:
    """Decide what waits in memory, and when.

    Parameters
    ----------
    program
        The program.
    fused
        Products that are computed together with the sum that uses them; see `fused_products`.
    results
        Computed values that are stored as results, from where they can be fetched again.
    registers
        Number of vectors that may be in registers.
    """
    return _Allocator(program, fused, results, registers).run()


class _Allocator:
    def __init__(self, program: Program, fused: Mapping[int, int], results: Mapping[int, int], registers: int) -> None:
        self._instructions = program.instructions
        self._fused, self._results, self._registers = fused, results, registers
        self._stored = stored_arguments(program)
        products = set(fused.values())
        self._order = [
            index
            for index, (operation, *_) in enumerate(self._instructions)
            if operation not in ("constant", "input") and index not in products
        ]
        self._sources = {index: dict.fromkeys(self._read(index)) for index in self._order}
        self._uses: dict[int, list[int]] = {}
        for time, index in reversed(list(enumerate(self._order))):
            for source in self._sources[index]:
                self._uses.setdefault(source, []).append(time)
        self._present: dict[int, int] = {}  # with the time of the next use
        self._conditions: dict[int, None] = {}
        self._place: dict[int, int] = {}
        self._free: list[int] = []
        self._allocation = Allocation()
        self._actions: list[Action] = []

    def run(self) -> Allocation:
        count = -(-len(self._order) // LONGEST_FUNCTION) or 1
        length = -(-len(self._order) // count) or 1
        since = 0
        halves: set[int] = set()  # arguments whose sine and cosine have been computed
        for index in self._order:
            operation = self._instructions[index][0]
            if since >= length and operation != "item":
                self._leave([*self._present, *self._conditions])
                self._present.clear()
                self._conditions.clear()
                halves.clear()
                self._end_segment()
                since = 0
            since += 1
            self._compute(index, operation, halves)
        self._end_segment()
        return self._allocation

    def _end_segment(self) -> None:
        self._allocation.segments.append(self._actions)
        self._actions = []

    def _read(self, index: int) -> list[int]:
        """The values that computing one reads from registers."""
        instruction = self._instructions[index]
        if instruction[0] == "item":
            return []
        read = [value for _, value in self._stored[index]] if index in self._stored else list(operands(instruction))
        if index in self._fused:
            product = self._fused[index]
            read.remove(product)
            read += operands(self._instructions[product])
        return [operand for operand in read if self._instructions[operand][0] != "constant"]

    def _compute(self, index: int, operation: str, halves: set[int]) -> None:
        sources = self._sources[index]
        for source in sources:
            if source not in self._present and source not in self._conditions:
                self._actions.append(Action("fetch", source, self._place.get(source, -1)))
                self._hold(source)
        is_call = operation in CALLS and not (operation in ("sin", "cos") and not halves.isdisjoint(sources))
        if is_call:
            self._leave([value for value in self._present if value not in sources or len(self._uses[value]) > 1])
        self._actions.append(Action("compute", index))
        if operation in ("sin", "cos"):
            halves.update(sources)
        self._use(sources)
        if is_call:
            self._present = {}
        if self._uses.get(index) and operation != "call":
            self._hold(index)
        while len(self._present) > self._registers:
            latest = max(self._present, key=self._present.__getitem__)
            self._leave([latest])
            del self._present[latest]

    def _use(self, sources: Iterable[int]) -> None:
        """Count a use of values, and forget those without a further one."""
        for source in sources:
            uses = self._uses[source]
            uses.pop()
            if not uses:
                self._forget(source)
            elif source in self._present:
                self._present[source] = uses[-1]

    def _hold(self, value: int) -> None:
        operation = OPERATIONS.get(self._instructions[value][0])
        if operation and operation.gives == "c":
            self._conditions[value] = None
        else:
            self._present[value] = self._uses[value][-1]

    def _forget(self, value: int) -> None:
        self._present.pop(value, None)
        self._conditions.pop(value, None)
        if value in self._place:
            self._free.append(self._place.pop(value))

    def _leave(self, values: Iterable[int]) -> None:
        """Keep values that are used again and cannot be fetched from elsewhere."""
        for value in values:
            fetchable = value in self._place or value in self._results or self._instructions[value][0] == "input"
            if not self._uses[value] or fetchable:
                continue
            if not self._free:
                self._free.append(self._allocation.size)
                self._allocation.size += 1
            self._place[value] = self._free.pop()
            self._actions.append(Action("keep", value, self._place[value]))
