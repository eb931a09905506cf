"""Forward and reverse accumulation: one walk along a program that carries sparse derivatives with it.

A derivative is kept as a mapping from a direction (forward) or a seeded output (reverse) to a number or traced scalar;
what is zero by structure has no entry, so it is never computed. Calls stay calls: of the called program's linearisation
where there are several directions, of its directional derivative or its adjoint where there is one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from chasles.engine.derivatives.partials import PARTIALS, SELECTIONS, chain, guard, total
from chasles.engine.derivatives.sparsity import active_values, prefers_reverse
from chasles.engine.program.folding import FOLDING, call, where
from chasles.engine.program.graph import Graph, Instruction
from chasles.engine.program.program import Argument, Program, operands
from chasles.engine.program.scalar import Number, Scalar, Traced

# From a direction or a seeded output to a derivative.
Sparse = dict[int, Number]
_ZERO: Sparse = {}


@dataclass(frozen=True)
class Linearised:
    """A called program that gives values and derivatives together.

    Attributes
    ----------
    program
        The program to call. Its results are the values, then the derivatives that are not known in advance.
    values
        Position among the results of each wanted output scalar.
    derivatives
        Position among the results, or the known number, of each derivative that is not zero by structure.
    """

    program: Program
    values: Mapping[int, int]
    derivatives: Mapping[Any, int | float]


def forward(
    program: Program, inputs: Sequence[Any], seeds: Sequence[Sparse], outputs: Sequence[int]
) -> tuple[list[Any], list[Sparse]]:
    """Return values and tangents of some output scalars, given values and tangents of the input scalars."""
    needed, used = _needed(program, outputs)
    values: list[Any] = []
    tangents: list[Any] = []
    for index, instruction in enumerate(program.instructions):
        operation, *rest = instruction
        value: Any = None
        tangent: Any = _ZERO
        if index not in needed:
            pass
        elif operation == "constant":
            value = rest[0]
        elif operation == "input":
            value, tangent = inputs[rest[0]], seeds[rest[0]]
        elif operation == "item":
            value, tangent = values[rest[0]][rest[1]], tangents[rest[0]].get(rest[1], _ZERO)
        elif operation == "call":
            called = program.programs[rest[0]]
            value, tangent = _forward_call(
                called, [values[k] for k in rest[1:]], [tangents[k] for k in rest[1:]], used[index]
            )
        else:
            arguments = [values[k] for k in rest]
            value = FOLDING[operation](*arguments)
            tangent = _forward_operation(instruction, value, arguments, [tangents[k] for k in rest])
        values.append(value)
        tangents.append(tangent)
    results = [program.results[k] for k in outputs]
    return [values[k] for k in results], [tangents[k] for k in results]


def reverse(
    program: Program,
    inputs: Sequence[Any],
    seeds: Mapping[int, Sparse],
    wrt: Sequence[int],
    known: Mapping[int, Any] | None = None,
) -> tuple[dict[int, Any], list[Sparse]]:
    """Return the values of the seeded output scalars and the adjoints of some input scalars.

    Values of items that are known from a run forward need not be computed again.
    """
    active = active_values(program, wrt)
    several = len({key for seed in seeds.values() for key in seed}) > 1
    values, linear = _values(program, inputs, list(seeds), active, linearises=several, known=known or {})
    terms: _Terms = {}
    _add_terms(terms, [(program.results[k], seed) for k, seed in seeds.items()], active)
    item_adjoints: dict[int, dict[int, Sparse]] = {}
    adjoints: list[Sparse] = [{} for _ in inputs]
    for index in range(len(program.instructions) - 1, -1, -1):
        operation, *rest = program.instructions[index]
        adjoint = _totals(terms.pop(index, {}))
        if operation == "call":
            contributions = _reverse_items(program, index, values, active, linear, item_adjoints.pop(index, {}))
            _add_terms(terms, contributions, active)
        elif not adjoint:
            continue
        elif operation == "input":
            adjoints[rest[0]] = adjoint
        elif operation == "item":
            item_adjoints.setdefault(rest[0], {})[rest[1]] = adjoint
        else:
            _add_terms(terms, _reverse_operation(program.instructions[index], values, adjoint), active)
    return {k: values[program.results[k]] for k in seeds}, [adjoints[k] for k in wrt]


#: From a value and a seed to the contributions to its adjoint.
_Terms = dict[int, dict[int, list[Number]]]
#: From a call to its derivatives, by output and argument.
_Linear = dict[int, dict[tuple[int, int], Number]]


def _add_terms(terms: _Terms, contributions: Sequence[tuple[int, Sparse]], active: Sequence[bool]) -> None:
    """Add contributions to the adjoints of the values that depend on an input of interest."""
    for value, contribution in contributions:
        if active[value]:
            for key, term in contribution.items():
                terms.setdefault(value, {}).setdefault(key, []).append(term)


def program_values(program: Program, inputs: Sequence[Any]) -> list[Any]:
    """Return the values of all instructions that outputs need."""
    return _values(program, inputs, range(len(program.results)), [], linearises=False, known={})[0]


def _values(
    program: Program,
    inputs: Sequence[Any],
    outputs: Sequence[int],
    active: Sequence[bool],
    *,
    linearises: bool,
    known: Mapping[int, Any],
) -> tuple[list[Any], _Linear]:
    """Return all values that some outputs need, and, where calls are linearised, the derivatives of those that move."""
    needed, used = _needed(program, outputs)
    values: list[Any] = []
    linear: _Linear = {}
    for index, (operation, *rest) in enumerate(program.instructions):
        value: Any = None
        if index not in needed:
            pass
        elif operation == "constant":
            value = rest[0]
        elif operation == "input":
            value = inputs[rest[0]]
        elif operation == "item":
            value = known[index] if index in known else values[rest[0]][rest[1]]
        elif operation == "call":
            called, arguments = program.programs[rest[0]], [values[k] for k in rest[1:]]
            if linearises and (moving := _moving(rest[1:], active)):
                value, linear[index] = _linearise(called, arguments, moving, used[index])
            else:
                value = _apply(called, arguments)
        else:
            value = FOLDING[operation](*[values[k] for k in rest])
        values.append(value)
    return values, linear


def _moving(arguments: Sequence[int], active: Sequence[bool]) -> tuple[int, ...]:
    """Return the positions of the arguments that depend on what moves."""
    return tuple(position for position, k in enumerate(arguments) if active[k])


def _reverse_items(
    program: Program,
    index: int,
    values: Sequence[Any],
    active: Sequence[bool],
    linear: _Linear,
    item_adjoint: dict[int, Sparse],
) -> list[tuple[int, Sparse]]:
    """Return what the adjoints of a call's items contribute to the adjoints of its arguments."""
    if not item_adjoint:
        return []
    _, number, *arguments = program.instructions[index]
    if index in linear:
        by_position = _reverse_linear(linear[index], item_adjoint)
    else:
        inputs = [values[k] for k in arguments]
        by_position = _reverse_call(program.programs[number], inputs, item_adjoint, _moving(arguments, active))
    return [(arguments[position], sparse) for position, sparse in by_position]


def jacobian_entries(
    program: Program, inputs: Sequence[Any], wrt: Sequence[int], outputs: Sequence[int], mode: str = "auto"
) -> tuple[dict[int, Any], dict[tuple[int, int], Number]]:
    """Return the values of some output scalars and their non-zero derivatives by (output, input)."""
    if mode == "reverse" or (mode == "auto" and prefers_reverse(program, tuple(wrt), tuple(outputs))):
        by_value, adjoints = reverse(program, inputs, {k: {k: 1.0} for k in outputs}, wrt)
        pairs = {(key, i): x for i, adjoint in zip(wrt, adjoints, strict=True) for key, x in adjoint.items()}
        return by_value, pairs
    seeds: list[Sparse] = [{} for _ in inputs]
    for i in wrt:
        seeds[i] = {i: 1.0}
    values, tangents = forward(program, inputs, seeds, outputs)
    pairs = {(k, i): x for k, tangent in zip(outputs, tangents, strict=True) for i, x in tangent.items()}
    return dict(zip(outputs, values, strict=True)), pairs


def input_scalars(graph: Graph, arguments: Sequence[Argument], start: int = 0) -> list[Scalar]:
    """Return the scalars of arguments whose first is input number ``start``."""
    return [Scalar(graph, graph.add(("input", start + k))) for k in range(sum(a.size for a in arguments))]


def _needed(program: Program, outputs: Sequence[int]) -> tuple[set[int], dict[int, tuple[int, ...]]]:
    """Return the values that some outputs need, and which items of each call are among them."""
    needed = {program.results[k] for k in outputs}
    items: dict[int, list[int]] = {}
    for index in range(len(program.instructions) - 1, -1, -1):
        if index in needed:
            instruction = program.instructions[index]
            needed.update(operands(instruction))
            if instruction[0] == "item":
                items.setdefault(instruction[1], []).append(instruction[2])
    return needed, {index: tuple(sorted(positions)) for index, positions in items.items()}


def _totals(terms: Mapping[int, list[Number]]) -> Sparse:
    sums = {key: total(parts) for key, parts in terms.items()}
    return {key: x for key, x in sums.items() if isinstance(x, Scalar) or x != 0.0}


def _apply(program: Program, arguments: Sequence[Any]) -> list[Any]:
    if any(isinstance(x, Traced) for x in arguments):
        return list(call(program, arguments))
    return program.replay(arguments)


def _smooth_positions(instruction: Instruction) -> dict[int, list[int]]:
    """Return the positions at which each operand with a derivative stands: x * x has one operand at two positions."""
    positions: dict[int, list[int]] = {}
    for position, (k, partial) in enumerate(zip(instruction[1:], PARTIALS.get(instruction[0], ()), strict=False)):
        if partial is not None:
            positions.setdefault(k, []).append(position)
    return positions


def _partial(operation: str, positions: Sequence[int], result: Number, arguments: Sequence[Any]) -> Number:
    parts = [PARTIALS[operation][position] for position in positions]
    return total(part(result, *arguments) for part in parts if part is not None)


def _forward_operation(
    instruction: Instruction, result: Number, arguments: Sequence[Any], tangents: Sequence[Sparse]
) -> Sparse:
    operation = instruction[0]
    if operation in SELECTIONS:
        choose, first, second = SELECTIONS[operation]
        a, b = tangents[first], tangents[second]
        if not a and not b:
            return _ZERO
        condition = choose(*arguments)
        return _totals({j: [where(condition, a.get(j, 0.0), b.get(j, 0.0))] for j in {**a, **b}})
    terms: dict[int, list[Number]] = {}
    for positions in _smooth_positions(instruction).values():
        tangent = tangents[positions[0]]
        if tangent:
            partial = _partial(operation, positions, result, arguments)
            for j, x in tangent.items():
                terms.setdefault(j, []).append(chain(x, partial))
    return _totals(terms)


def _reverse_operation(instruction: Instruction, values: Sequence[Any], adjoint: Sparse) -> list[tuple[int, Sparse]]:
    operation, *rest = instruction
    arguments = [values[k] for k in rest]
    if operation in SELECTIONS:
        choose, first, second = SELECTIONS[operation]
        condition = choose(*arguments)
        return [
            (rest[first], {key: where(condition, x, 0.0) for key, x in adjoint.items()}),
            (rest[second], {key: where(condition, 0.0, x) for key, x in adjoint.items()}),
        ]
    result = FOLDING[operation](*arguments)
    contributions = []
    for k, positions in _smooth_positions(instruction).items():
        partial = _partial(operation, positions, result, arguments)
        contributions.append((k, {key: chain(x, partial) for key, x in adjoint.items()}))
    return contributions


def _linearise(
    called: Program, arguments: Sequence[Any], moving: tuple[int, ...], used: tuple[int, ...]
) -> tuple[dict[int, Any], dict[tuple[int, int], Number]]:
    linearised = _linearised(called, moving, used)
    results = _apply(linearised.program, arguments)
    values = {k: results[position] for k, position in linearised.values.items()}
    derivatives = {
        pair: results[derivative] if isinstance(derivative, int) else derivative
        for pair, derivative in linearised.derivatives.items()
    }
    return values, derivatives


def _forward_call(
    called: Program, arguments: Sequence[Any], tangents: Sequence[Sparse], used: tuple[int, ...]
) -> tuple[Any, dict[int, Sparse]]:
    directions = {j for tangent in tangents for j in tangent}
    moving = tuple(position for position, tangent in enumerate(tangents) if tangent)
    if not directions:
        return _apply(called, arguments), {}
    if len(directions) == 1:
        (direction,) = directions
        linearised = _directional(called, moving, used)
        sources = [tangents[position][direction] for position in moving]
        results = _apply(linearised.program, [*arguments, *sources])
        values = {k: results[position] for k, position in linearised.values.items()}
        slopes = {
            k: {direction: guard(results[p], sources) if isinstance(p, int) else p}
            for k, p in linearised.derivatives.items()
        }
        return values, slopes
    values, linear = _linearise(called, arguments, moving, used)
    terms: dict[int, dict[int, list[Number]]] = {}
    for (output, position), partial in linear.items():
        for j, x in tangents[position].items():
            terms.setdefault(output, {}).setdefault(j, []).append(chain(x, partial))
    return values, {output: _totals(by_direction) for output, by_direction in terms.items()}


def _reverse_linear(
    linear: Mapping[tuple[int, int], Number], adjoints: Mapping[int, Sparse]
) -> list[tuple[int, Sparse]]:
    return [
        (position, {key: chain(x, partial) for key, x in adjoints[output].items()})
        for (output, position), partial in linear.items()
        if output in adjoints
    ]


def _reverse_call(
    called: Program, arguments: Sequence[Any], adjoints: Mapping[int, Sparse], moving: tuple[int, ...]
) -> list[tuple[int, Sparse]]:
    seeded = tuple(sorted(adjoints))
    ((key, _),) = adjoints[seeded[0]].items()
    sources = [adjoints[k][key] for k in seeded]
    pulled = _pulled_back(called, moving, seeded)
    results = _apply(pulled.program, [*arguments, *sources])
    return [
        (position, {key: guard(results[p], sources) if isinstance(p, int) else p})
        for position, p in pulled.derivatives.items()
    ]


@lru_cache(maxsize=512)
def _linearised(called: Program, moving: tuple[int, ...], used: tuple[int, ...]) -> Linearised:
    """Values and all non-zero partial derivatives."""
    graph = Graph()
    values, pairs = jacobian_entries(called, input_scalars(graph, called.inputs), moving, used)
    return _frozen(f"{called.name}_linearised", called.inputs, graph, values, pairs)


@lru_cache(maxsize=512)
def _directional(called: Program, moving: tuple[int, ...], used: tuple[int, ...]) -> Linearised:
    """Values and the derivative in one direction, whose components follow the inputs."""
    graph = Graph()
    inputs = input_scalars(graph, called.inputs)
    tangent = Argument(_unused("direction", called), (len(moving),))
    seeds: list[Sparse] = [{} for _ in inputs]
    for i, x in zip(moving, input_scalars(graph, [tangent], len(inputs)), strict=True):
        seeds[i] = {0: x}
    values, tangents = forward(called, inputs, seeds, used)
    slopes = {k: t[0] for k, t in zip(used, tangents, strict=True) if t}
    by_output = dict(zip(used, values, strict=True))
    return _frozen(f"{called.name}_jvp", [*called.inputs, tangent], graph, by_output, slopes)


@lru_cache(maxsize=512)
def _pulled_back(called: Program, moving: tuple[int, ...], seeded: tuple[int, ...]) -> Linearised:
    """Adjoints of the moving inputs; the adjoints of the seeded outputs follow the inputs."""
    graph = Graph()
    inputs = input_scalars(graph, called.inputs)
    adjoint = Argument(_unused("adjoint", called), (len(seeded),))
    seeds: dict[int, Sparse] = {
        k: {0: x} for k, x in zip(seeded, input_scalars(graph, [adjoint], len(inputs)), strict=True)
    }
    _, adjoints = reverse(called, inputs, seeds, moving)
    slopes = {i: a[0] for i, a in zip(moving, adjoints, strict=True) if a}
    return _frozen(f"{called.name}_vjp", [*called.inputs, adjoint], graph, {}, slopes)


def _unused(name: str, called: Program) -> str:
    """Name of a further input of a program that may be a derivative itself."""
    taken = {argument.name for argument in called.inputs}
    names = itertools.chain([name], (f"{name}_{count}" for count in itertools.count(2)))
    return next(candidate for candidate in names if candidate not in taken)


def _frozen(
    name: str, inputs: Sequence[Argument], graph: Graph, values: Mapping[int, Number], derivatives: Mapping[Any, Number]
) -> Linearised:
    positions: dict[Any, int | float] = {}
    results = list(values.values())
    for key, x in derivatives.items():
        positions[key] = len(results) if isinstance(x, Scalar) else float(x)
        if isinstance(x, Scalar):
            results.append(x)
    outputs = [Argument("values", (len(values),)), Argument("derivatives", (len(results) - len(values),))]
    program = Program.from_graph(name, inputs, outputs, graph, results)
    return Linearised(program, {k: position for position, k in enumerate(values)}, positions)
