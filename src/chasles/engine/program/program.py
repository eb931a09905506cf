"""Programs: straight-line lists of scalar operations with named inputs and outputs."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.base.writing import write
from chasles.engine.program.folding import FOLDING, call
from chasles.engine.program.graph import Graph, Instruction
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.records import Layout, is_record
from chasles.engine.program.scalar import Real, Scalar, Traced

_FORMAT = "chasles-program-1"
_BOOKKEEPING = {"constant", "input", "item", "call"}


@dataclass(frozen=True)
class Argument:
    """Name and shape of an input or an output.

    Attributes
    ----------
    name, shape
        Name, and shape of one sample.
    layout
        Names of the vector's parts if it is a record; they do not affect the computation.
    """

    name: str
    shape: tuple[int, ...]
    layout: Layout | None = field(default=None, compare=False)

    @property
    def size(self) -> int:
        """Number of scalars."""
        return math.prod(self.shape)

    def vector(self, value: Any) -> Any:
        """Return a value as the program takes it: a record as its vector."""
        return value if self.layout is None or not is_record(value) else self.layout.join(value)


@dataclass(frozen=True, eq=False)
class Program:
    """A straight-line list of scalar operations, immutable, equal to another when its content is.

    Attributes
    ----------
    name
        Name of the function that it computes.
    inputs, outputs
        Names and shapes. Arrays are flattened in C order and follow one another.
    instructions
        ``instructions[k]`` defines value k from earlier values: ``("constant", x)``, ``("input", position)``,
        ``("call", number, *operands)``, ``("item", call, position)`` or ``(operation, *operands)`` with an operation of
        `chasles.engine.program.operations.OPERATIONS`.
    results
        The value of each output scalar.
    programs
        The programs that ``call`` instructions refer to by number.
    is_frozen_graph
        Whether the instructions come from a graph: these are well formed and are not checked.

    Examples
    --------
    >>> from chasles.engine import trace
    >>> spring = trace(lambda x, k: -k * x, {"x": (), "k": ()}, name="spring")
    >>> print(spring)
    spring(x, k) -> (result)
      %0 = x
      %1 = k
      %2 = %0 * %1
      %3 = neg(%2)
      result = %3
    >>> spring.operation_count
    2
    """

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]
    programs: tuple[Program, ...] = ()
    is_frozen_graph: InitVar[bool] = False

    def __post_init__(self, is_frozen_graph: bool) -> None:
        _check_arguments(self)
        if not is_frozen_graph:
            _check_instructions(self)

    @classmethod
    def from_graph(
        cls, name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], graph: Graph, results: Sequence[Real]
    ) -> Program:
        """Freeze the part of a graph that the results depend on, with values renumbered."""
        roots = [x.index if isinstance(x, Scalar) else graph.add(("constant", float(x) + 0.0)) for x in results]
        needed = _needed(graph, roots)
        number: list[int] = [-1] * len(needed)
        instructions: list[Instruction] = []
        programs: list[Program] = []
        program_number: dict[int, int] = {}
        for index, instruction in enumerate(graph.instructions):
            if not needed[index]:
                continue
            number[index] = len(instructions)
            operation = instruction[0]
            if operation == "call":
                called = instruction[1]
                if called not in program_number:
                    program_number[called] = len(programs)
                    programs.append(graph.programs[called])
                instruction = ("call", program_number[called], *[number[k] for k in instruction[2:]])
            elif operation == "item":
                instruction = ("item", number[instruction[1]], instruction[2])
            elif operation not in ("constant", "input"):
                instruction = (operation, *[number[k] for k in instruction[1:]])
            instructions.append(instruction)
        numbered = tuple([number[k] for k in roots])
        return cls(name, tuple(inputs), tuple(outputs), tuple(instructions), numbered, tuple(programs), True)

    def renamed(self, name: str) -> Program:
        """Return the program under another name."""
        return Program(name, self.inputs, self.outputs, self.instructions, self.results, self.programs, True)

    @cached_property
    def digest(self) -> str:
        """Content hash: equal programs, and only they, have equal digests."""
        return hashlib.sha256(_as_text(self._as_data([called.digest for called in self.programs]))).hexdigest()

    @cached_property
    def folded_results(self) -> tuple[Instruction, ...]:
        """What each result is to a caller: a constant, an input, or an item of the call, the first of equal ones."""
        first: dict[int, int] = {}
        kinds = []
        for k, value in enumerate(self.results):
            operation, *rest = self.instructions[value]
            is_known = operation in ("constant", "input")
            kinds.append((operation, rest[0]) if is_known else ("item", first.setdefault(value, k)))
        return tuple(kinds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def operations(self) -> dict[str, int]:
        """Number of occurrences of each operation, including those in called programs."""
        count: Counter[str] = Counter()
        for operation, *rest in self.instructions:
            if operation == "call":
                count.update(self.programs[rest[0]].operations)
            elif operation not in _BOOKKEEPING:
                count[operation] += 1
        return dict(count)

    @property
    def operation_count(self) -> int:
        """Number of scalar operations of one evaluation."""
        return sum(self.operations.values())

    def reads(self, results: Sequence[int]) -> set[int]:
        """Return the positions of the input scalars that some of the result scalars are computed from.

        >>> from chasles.engine import trace
        >>> program = trace(lambda x, y: [y * y, 2.0 + x], {"x": (), "y": ()}, name="both")
        >>> program.reads([0])
        {1}
        """
        needed = _needed(self, [self.results[k] for k in results])
        return {
            each[1]
            for each, is_needed in zip(self.instructions, needed, strict=True)
            if is_needed and each[0] == "input"
        }

    def replay(self, values: Sequence[Any]) -> list[Any]:
        """Run the program on one number or traced scalar for each input scalar, folding constants.

        Parameters
        ----------
        values
            One for each input scalar, in order; arrays flattened in C order.

        Returns
        -------
        list
            One value for each output scalar.

        Examples
        --------
        >>> from chasles.engine import trace
        >>> spring = trace(lambda x, k: -k * x, {"x": (), "k": ()}, name="spring")
        >>> spring.replay([0.5, 8.0])
        [-4.0]
        """
        computed: list[Any] = []
        for operation, *rest in self.instructions:
            if operation == "constant":
                computed.append(rest[0])
            elif operation == "input":
                computed.append(values[rest[0]])
            elif operation == "item":
                computed.append(computed[rest[0]][rest[1]])
            elif operation == "call":
                called, arguments = self.programs[rest[0]], [computed[k] for k in rest[1:]]
                traced = any(isinstance(x, Traced) for x in arguments)
                computed.append(call(called, arguments) if traced else called.replay(arguments))
            else:
                computed.append(FOLDING[operation](*(computed[k] for k in rest)))
        return [computed[k] for k in self.results]

    def __str__(self) -> str:
        names = [f"{a.name}{list(i) if i else ''}" for a in self.inputs for i in _elements(a.shape)]
        lines = [f"{self.name}({_signature(self.inputs)}) -> ({_signature(self.outputs)})"]
        for index, instruction in enumerate(self.instructions):
            lines.append(f"  %{index} = {self._formula(instruction, names)}")
        outputs = [f"{a.name}{list(i) if i else ''}" for a in self.outputs for i in _elements(a.shape)]
        lines += [f"  {name} = %{value}" for name, value in zip(outputs, self.results, strict=True)]
        for called in self.programs:
            lines += ["", str(called)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Program {self.name}({_signature(self.inputs)}): {self.operation_count} operations>"

    def _formula(self, instruction: Instruction, input_names: Sequence[str]) -> str:
        operation, *rest = instruction
        if operation == "constant":
            return repr(rest[0])
        if operation == "input":
            return input_names[rest[0]]
        if operation == "item":
            return f"%{rest[0]}[{rest[1]}]"
        if operation == "call":
            return f"{self.programs[rest[0]].name}({', '.join(f'%{k}' for k in rest[1:])})"
        infix = OPERATIONS[operation].infix
        if infix:
            return f"%{rest[0]} {infix} %{rest[1]}"
        return f"{operation}({', '.join(f'%{k}' for k in rest)})"

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the program as JSON text, and write it to a file if a path is given.

        Parameters
        ----------
        path
            Path of the file; default: no file.

        Examples
        --------
        >>> from chasles.engine import Program, trace
        >>> spring = trace(lambda x, k: -k * x, {"x": (), "k": ()}, name="spring")
        >>> Program.from_json(spring.to_json()) == spring
        True
        """
        text = _as_text(self._as_nested_data()).decode()
        if path is not None:
            write(path, text)
        return text

    def _as_nested_data(self) -> dict[str, Any]:
        return self._as_data([called._as_nested_data() for called in self.programs])

    def _as_data(self, programs: Sequence[Any]) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "name": self.name,
            "inputs": [[a.name, list(a.shape)] for a in self.inputs],
            "outputs": [[a.name, list(a.shape)] for a in self.outputs],
            "instructions": [
                (i[0], repr(i[1])) if i[0] == "constant" and not math.isfinite(i[1]) else i for i in self.instructions
            ],
            "results": self.results,
            "programs": programs,
        }

    @classmethod
    def from_json(cls, source: str | Path) -> Program:
        """Read a program from JSON text or from the file at a path.

        Parameters
        ----------
        source
            The text, as a str, or the file, as a `pathlib.Path`.

        Raises
        ------
        ArgumentError
            If the text is not a well-formed program; the message says what is wrong.

        Examples
        --------
        >>> from chasles.engine import Program, trace
        >>> spring = trace(lambda x, k: -k * x, {"x": (), "k": ()}, name="spring")
        >>> Program.from_json(spring.to_json())
        <Program spring(x, k): 2 operations>
        """
        text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"not a program: the text is not JSON ({error})") from error
        return cls._from_data(data)

    @classmethod
    def _from_data(cls, data: Any) -> Program:
        if not isinstance(data, Mapping) or data.get("format") != _FORMAT:
            raise ArgumentError(f"not a program: its 'format' must be '{_FORMAT}'")
        try:
            return cls(
                str(data["name"]),
                tuple(Argument(str(name), tuple(shape)) for name, shape in data["inputs"]),
                tuple(Argument(str(name), tuple(shape)) for name, shape in data["outputs"]),
                tuple((i[0], float(i[1])) if i[0] == "constant" else tuple(i) for i in data["instructions"]),
                tuple(data["results"]),
                tuple(cls._from_data(called) for called in data["programs"]),
            )
        except (KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ArgumentError(f"not a program: {type(error).__name__}: {error}") from error


def _as_text(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


def operands(instruction: Instruction) -> tuple[int, ...]:
    """Return the indices of the values that an instruction reads."""
    operation = instruction[0]
    if operation in ("constant", "input"):
        return ()
    if operation == "item":
        return (instruction[1],)
    return instruction[2:] if operation == "call" else instruction[1:]


def _needed(graph: Graph | Program, roots: Sequence[int]) -> bytearray:
    """Whether the roots depend on each instruction of a graph."""
    needed = bytearray(len(graph.instructions))
    for index in roots:
        needed[index] = True
    for index in range(len(needed) - 1, -1, -1):
        if needed[index]:
            for operand in operands(graph.instructions[index]):
                needed[operand] = True
    return needed


def _elements(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for head in range(shape[0]):
        for tail in _elements(shape[1:]):
            yield (head, *tail)


def _signature(arguments: Sequence[Argument]) -> str:
    return ", ".join(a.name + (str(list(a.shape)) if a.shape else "") for a in arguments)


def _check_arguments(program: Program) -> None:
    """Refuse impossible shapes and names that occur twice."""
    for arguments in (program.inputs, program.outputs):
        for a in arguments:
            if not all(type(size) is int and size >= 0 for size in a.shape):
                raise ArgumentError(f"program '{program.name}': '{a.name}' has the impossible shape {a.shape}")
        names = [a.name for a in arguments]
        if len(set(names)) != len(names):
            raise ArgumentError(f"program '{program.name}': two inputs or two outputs have one name: {names}")


def _check_instructions(program: Program) -> None:
    """Refuse what no target could translate; programs also come from files."""
    check = _InstructionCheck(program)
    for operation, *rest in program.instructions:
        known = {"constant": check.constant, "input": check.input, "item": check.item, "call": check.call}
        check.types.append(known[operation](rest) if operation in known else check.operation(operation, rest))
    expected = sum(a.size for a in program.outputs)
    if len(program.results) != expected:
        raise ArgumentError(
            f"program '{program.name}' has {len(program.results)} results for {expected} output scalars"
        )
    for value in program.results:
        if not check.is_number(value):
            raise ArgumentError(f"program '{program.name}': result {value!r} is no number")


class _InstructionCheck:
    """Check of one instruction after another: each method returns the type of the instruction's value.

    Attributes
    ----------
    types
        Types of the values so far: "r" for a number, "c" for a condition, or the number of items of a call.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inputs = sum(a.size for a in program.inputs)
        self.types: list[Any] = []

    def require(self, condition: bool, reason: str) -> None:
        if not condition:
            raise ArgumentError(f"program '{self.program.name}', instruction {len(self.types)}: {reason}")

    def is_number(self, operand: object) -> bool:
        return _is_index(operand, len(self.types)) and self.types[operand] == "r"

    def constant(self, rest: Sequence[Any]) -> str:
        self.require(len(rest) == 1 and type(rest[0]) is float, "a constant must be a float")
        return "r"

    def input(self, rest: Sequence[Any]) -> str:
        self.require(len(rest) == 1 and _is_index(rest[0], self.inputs), f"there are {self.inputs} input scalars")
        return "r"

    def item(self, rest: Sequence[Any]) -> str:
        index = len(self.types)
        items = self.types[rest[0]] if len(rest) == 2 and _is_index(rest[0], index) else None
        self.require(type(items) is int and _is_index(rest[1], items), "no such item of a call")
        behind = rest[0] == index - 1 or self.program.instructions[index - 1][:2] == ("item", rest[0])
        self.require(behind, "an item must stand right behind its call or another item of it")
        return "r"

    def call(self, rest: Sequence[Any]) -> int:
        programs = self.program.programs
        self.require(bool(rest) and _is_index(rest[0], len(programs)), "no such program to call")
        called = programs[rest[0]]
        expected = sum(a.size for a in called.inputs)
        self.require(len(rest) - 1 == expected, f"'{called.name}' takes {expected} scalars, not {len(rest) - 1}")
        self.require(all(map(self.is_number, rest[1:])), "an operand is no number")
        return len(called.results)

    def operation(self, name: Any, rest: Sequence[Any]) -> str:
        self.require(name in OPERATIONS, f"unknown operation {name!r}")
        table = OPERATIONS[name]
        self.require(len(rest) == table.arity, f"'{name}' takes {table.arity} operands, not {len(rest)}")
        for operand, kind in zip(rest, table.takes, strict=True):
            fits = _is_index(operand, len(self.types)) and self.types[operand] == kind
            self.require(fits, f"wrong operand {operand!r}")
        return table.gives


def _is_index(operand: object, count: int) -> TypeGuard[int]:
    return type(operand) is int and 0 <= operand < count
