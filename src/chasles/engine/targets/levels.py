"""Long programs as few operations on long arrays, for libraries that compile, or start, each operation by itself.

Every value of a program gets a row of one array. Sums, differences, products and changes of sign are all x y + z w,
with ones where a factor is missing; those that do not wait for one another are a step, computed together. All other
operations end a stage, those of one kind together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine.program.program import Program

Rows = NDArray[np.int32]
#: Operations from which on a program runs in levels: XLA compiles 1,000 operations one by one within three seconds,
#: 3,000 within ten, and levels within one. A Panda's forward dynamics then takes 0.7 times as long, its derivatives,
#: whose rows leave the caches, up to 3 times (``python -m benchmarks exports``).
_LONG = 1000


class Stage(NamedTuple):
    """What a stage computes, into rows that follow those of the stage before.

    Attributes
    ----------
    products
        Rows of x, y, z and w in each step, (steps, 4, lanes); a step fills as many rows as there are lanes.
    others
        Operations, and the rows of their operands, (operands, results).
    """

    products: Rows
    others: list[tuple[str, Rows]]


class Levels(NamedTuple):
    """A program in stages.

    Attributes
    ----------
    constants
        Values of the rows behind those of the inputs.
    stages
        Stages, one after another.
    results
        Rows of the results.
    rows
        Number of rows.
    """

    constants: NDArray[np.float64]
    stages: list[Stage]
    results: Rows
    rows: int


def is_long(program: Program) -> bool:
    """Whether a program is to be run in levels."""
    return program.operation_count > _LONG


@cache
def levels(program: Program) -> Levels:
    """Return a program, and all that it calls, in stages."""
    schedule = _Schedule(sum(a.size for a in program.inputs))
    inputs = [_Value(-1, row=k) for k in range(schedule.inputs)]
    return schedule.in_rows(schedule.results(program, inputs))


@dataclass(eq=False, slots=True)
class _Value:
    """A value: its stage, the step there before which it cannot be computed, and its row once that is known."""

    stage: int
    operands: tuple[_Value, ...] = ()
    step: int = -1
    row: int = -1


class _Schedule:
    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self._constants: dict[str, _Value] = {}
        self._products: list[list[_Value]] = []
        self._others: list[dict[str, list[_Value]]] = []

    def results(self, program: Program, inputs: Sequence[_Value]) -> list[_Value]:
        """Put the operations of a program into stages, and return its results."""
        values: list[Any] = []
        for operation, *rest in program.instructions:
            if operation == "constant":
                values.append(self._constant(rest[0]))
            elif operation == "input":
                values.append(inputs[rest[0]])
            elif operation == "item":
                values.append(values[rest[0]][rest[1]])
            elif operation == "call":
                values.append(self.results(program.programs[rest[0]], [values[k] for k in rest[1:]]))
            else:
                values.append(self._computed(operation, [values[k] for k in rest]))
        return [values[k] for k in program.results]

    def _constant(self, value: float) -> _Value:
        return self._constants.setdefault(float(value).hex(), _Value(-1, row=self.inputs + len(self._constants)))

    def _computed(self, operation: str, of: Sequence[_Value]) -> _Value:
        stage = max([0, *(x.stage + (x.step < 0) for x in of)])
        while len(self._products) <= stage:
            self._products.append([])
            self._others.append({})
        one, minus_one, nothing = map(self._constant, (1.0, -1.0, -0.0))  # x y + -0 is x y, also where that is -0
        if operation in ("add", "sub"):
            operands = (of[0], one, of[1], one if operation == "add" else minus_one)
        elif operation in ("mul", "neg"):
            operands = (of[0], of[1] if operation == "mul" else minus_one, nothing, one)
        else:
            value = _Value(stage, tuple(of))
            self._others[stage].setdefault(operation, []).append(value)
            return value
        value = _Value(stage, operands, 1 + max([-1, *(x.step for x in of if x.stage == stage)]))
        self._products[stage].append(value)
        return value

    def in_rows(self, results: Sequence[_Value]) -> Levels:
        """Give each value its row."""
        row, stages = self.inputs + len(self._constants), []
        for products, others in zip(self._products, self._others, strict=True):
            steps = _packed(products, row)
            row += steps.shape[0] * steps.shape[2]
            kinds = []
            for operation, values in others.items():
                for value in values:
                    value.row, row = row, row + 1
                kinds.append((operation, np.array([[x.row for x in v.operands] for v in values], np.int32).T))
            stages.append(Stage(steps, kinds))
        constants = np.array([float.fromhex(text) for text in self._constants])
        return Levels(constants, stages, np.array([x.row for x in results], np.int32), row)


def _packed(products: Sequence[_Value], first: int) -> Rows:
    """Give the products of a stage steps of as many lanes as fill the least number of steps, and rows from the first.

    Each takes the first step behind its operands that has a lane left.
    """
    products = sorted(products, key=lambda x: x.step)
    if not products:
        return np.zeros((0, 4, 0), np.int32)
    lanes = -(-len(products) // (1 + products[-1].step))
    steps: list[list[_Value]] = []
    for value in products:
        step = 1 + max([-1, *(x.step for x in value.operands if x.stage == value.stage)])
        while step < len(steps) and len(steps[step]) == lanes:
            step += 1
        while len(steps) <= step:
            steps.append([])
        value.step, value.row = step, first + step * lanes + len(steps[step])
        steps[step].append(value)
    packed = np.zeros((len(steps), 4, lanes), np.int32)
    for step, values in enumerate(steps):
        packed[step, :, : len(values)] = np.transpose([[x.row for x in value.operands] for value in values])
    return packed
