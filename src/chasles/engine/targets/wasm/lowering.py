"""From programs to a WebAssembly module.

A program becomes a function of two addresses: its input scalars stand one behind the other at the first, in C order,
and it writes its output scalars at the second, which must not overlap. Everything else that it needs of the memory (the
arguments of programs that it calls, and what waits between the segments of a long program) has a place of its own,
which is known when the module is written, as no program calls itself.
"""

from __future__ import annotations

from collections import Counter

from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.graph import Instruction
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.program import Program, operands
from chasles.engine.targets.segments import SegmentMemory, cut
from chasles.engine.targets.wasm.mathematics import Mathematics
from chasles.engine.targets.wasm.module import WasmModule
from chasles.engine.targets.wasm.writer import Kind, Value, WasmWriter, choose, constant, load, real

#: A function of more instructions is cut. Browsers refuse functions of more than 50,000 variables or 7.6 MB, and
#: compile long ones slowly.
LONGEST_FUNCTION = 2_000
_BYTES = 8  # of a number
_DIRECT = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "neg": "neg", "abs": "abs", "sqrt": "sqrt",
    "floor": "floor", "minimum": "minimum", "maximum": "maximum", "less": "less", "less_equal": "less_equal",
    "equal": "equal", "both": "and", "either": "or", "negated": "zero",
}  # fmt: skip


class Lowering:
    """The module while programs and kernels are added to it."""

    def __init__(self) -> None:
        self.module = WasmModule()
        self.library = Mathematics(self.module)

    def add_kernel(self, name: str, kernel: Kernel) -> None:
        """Export the function of a kernel: ``name(count, inputs, outputs)``, and of a scan the sizes S and k."""
        f = WasmWriter(["i32"] * (5 if kernel.shape == "scan" else 3))
        count, inputs, outputs, *steps = f.parameters
        with f.loop(count):
            if kernel.shape == "scan":
                self._scan(f, kernel, (inputs, outputs), *steps)
            else:
                write = {"map": self._map, "solve": self._solve}[kernel.shape]
                write(f, kernel, inputs, outputs)
                f.set(inputs, inputs + _BYTES * input_size(kernel))
                f.set(outputs, outputs + _BYTES * output_size(kernel))
            f.set(count, count - 1)
        self.module.add(f, name)

    def program(self, program: Program) -> int:
        """Return the number of a program's function, which is written when it is first needed."""
        return self.module.once(f"program {program.digest}", lambda: self._written(program))

    def buffers(self, program: Program) -> tuple[int, int]:
        """Return where calls of a program put its arguments and find its results."""
        sizes = sum(argument.size for argument in program.inputs), len(program.results)

        def place(what: str, size: int) -> int:
            return self.module.once(f"{what} {program.digest}", lambda: self.module.allot(_BYTES * size))

        return place("arguments", sizes[0]), place("results", sizes[1])

    def _written(self, program: Program) -> int:
        segments = cut(program, LONGEST_FUNCTION)
        frame = SegmentMemory(program, segments) if len(segments) > 1 else None
        place = self.module.allot(_BYTES * frame.size) if frame else 0
        numbers = [_Segment(self, program, segment, frame, place).write() for segment in segments]
        if len(numbers) == 1:
            return numbers[0]
        main = WasmWriter(["i32", "i32"])
        for number in numbers:
            main.call(number, main.parameters, [])
        return self.module.add(main)

    def _map(self, f: WasmWriter, kernel: Kernel, inputs: Value, outputs: Value) -> None:
        f.call(self.program(kernel.program), [inputs, outputs], [])

    def _solve(self, f: WasmWriter, kernel: Kernel, inputs: Value, outputs: Value) -> None:
        """Repeat the program on its own state until it is done or the iterations are used up."""
        program = kernel.program
        state = _BYTES * program.inputs[0].size
        arguments = _BYTES * sum(argument.size for argument in program.inputs)
        given, results = (constant("i32", place) for place in self.buffers(program))
        f.copy(given, inputs, arguments)
        limit = f.let(load("f64", inputs, arguments))
        iterations, done = f.let(real(0.0)), f.let(real(0.0))
        with f.loop((iterations < limit) & (done > 0.0).opposite()):
            f.call(self.program(program), [given, results], [])
            f.copy(given, results, state)
            f.set(done, load("f64", results, state))
            f.set(iterations, iterations + 1.0)
        f.copy(outputs, given, state)
        f.store(outputs, state, iterations)
        f.store(outputs, state + _BYTES, done)

    def _scan(self, f: WasmWriter, kernel: Kernel, buffers: tuple[Value, Value], samples: Value, calls: Value) -> None:
        """Step through time, ``calls`` steps from one sample to the next; leaves both places behind their records."""
        program, (inputs, outputs) = kernel.program, buffers
        state, given, *parameters = (_BYTES * argument.size for argument in program.inputs)
        arguments, results = (constant("i32", place) for place in self.buffers(program))
        f.copy(arguments, inputs, state)
        now, final = f.let(inputs + state), f.let(outputs)  # inputs of the step; where the state goes at the end
        f.set(inputs, now + samples * calls * given)
        f.copy(arguments + state + given, inputs, sum(parameters))
        f.set(inputs, inputs + sum(parameters))
        f.set(outputs, outputs + state)
        recorded = []  # where the next sample of each result goes, its size, and where a step leaves it
        position = state
        for result in program.outputs[1:]:
            size = _BYTES * result.size
            recorded.append((f.let(outputs), size, position))
            f.set(outputs, outputs + samples * size)
            position += size

        def step() -> None:
            f.call(self.program(program), [arguments, results], [])
            f.copy(arguments, results, state)

        row, column = f.variable("i32"), f.variable("i32")
        f.set(row, samples)
        with f.loop(row):
            f.set(column, calls)
            with f.loop(column):
                f.copy(arguments + state, now, given)
                step()
                with f.when(column.equals(calls)):
                    for place, size, at in recorded:
                        f.copy(place, results + at, size)
                        f.set(place, place + size)
                if kernel.repeats:
                    with f.loop(load("f64", results, state) > 0.0):
                        step()
                f.set(now, now + given)
                f.set(column, column - 1)
            f.set(row, row - 1)
        f.copy(final, arguments, state)


class _Segment:
    """Writer of a whole program, or of one segment of it.

    A value that is used once is written where it is used; others get a local variable.
    """

    def __init__(
        self, lowering: Lowering, program: Program, segment: range, frame: SegmentMemory | None, place: int
    ) -> None:
        self._lowering = lowering
        self._program = program
        self._segment = segment
        self._slots = {} if frame is None else frame.slot
        self._place = place
        self._writer = WasmWriter(["i32", "i32"])
        self._values: dict[int, Value] = {}
        self._sincos: dict[int, list[Value]] = {}
        whole = len(program.instructions)
        self._results = [
            (position, k)
            for position, k in enumerate(program.results)
            # A result that needs no computing can be stored by any segment: evenly by all.
            if (position * whole // len(program.results) if self._is_free(k) else k) in segment
        ]
        self._uses = Counter(k for index in segment for k in operands(program.instructions[index]))
        self._uses.update(k for _, k in self._results)
        self._uses.update(index for index in segment if index in self._slots)

    def write(self) -> int:
        """Add the function to the module and return its number."""
        f, output = self._writer, self._writer.parameters[1]
        for index in self._segment:
            operation, *rest = self._program.instructions[index]
            if self._is_free(index) or not self._uses[index]:
                continue
            if operation == "call":
                self._call(rest[0], rest[1:])
            elif operation == "item":
                called = self._program.programs[self._program.instructions[rest[0]][1]]
                results = self._lowering.buffers(called)[1]
                # The next call of the same program writes to the same place.
                self._values[index] = f.let(load("f64", constant("i32", 0), results + _BYTES * rest[1]))
            else:
                self._keep(index, self._operation(operation, rest))
            if index in self._slots:
                f.store(constant("i32", 0), self._place + _BYTES * self._slots[index], self._value(index))
        for position, k in self._results:
            f.store(output, _BYTES * position, self._value(k))
        return self._lowering.module.add(f)

    def _is_free(self, index: int) -> bool:
        return self._program.instructions[index][0] in ("constant", "input")

    def _keep(self, index: int, value: Value) -> Value:
        self._values[index] = self._writer.let(value) if self._uses[index] > 1 else value
        return self._values[index]

    def _value(self, index: int) -> Value:
        """Return a value, fetched on its first use here if this segment does not compute it."""
        if index in self._values:
            return self._values[index]
        operation, *rest = self._program.instructions[index]
        if operation == "constant":
            return self._keep(index, real(rest[0]))
        if operation == "input":
            return self._keep(index, load("f64", self._writer.parameters[0], _BYTES * rest[0]))
        offset = self._place + _BYTES * self._slots[index]
        return self._keep(index, load(_kind(self._program.instructions[index]), constant("i32", 0), offset))

    def _call(self, number: int, arguments: list[int]) -> None:
        called = self._program.programs[number]
        function = self._lowering.program(called)
        given, results = self._lowering.buffers(called)
        for position, k in enumerate(arguments):
            self._writer.store(constant("i32", 0), given + _BYTES * position, self._value(k))
        self._writer.call(function, [constant("i32", given), constant("i32", results)], [])

    def _operation(self, operation: str, rest: list[int]) -> Value:
        library = self._lowering.library
        if operation in ("sin", "cos"):
            if rest[0] not in self._sincos:
                self._sincos[rest[0]] = library.sincos(self._writer, self._value(rest[0]))
            return self._sincos[rest[0]][operation == "cos"]
        x = [self._value(k) for k in rest]
        if operation in _DIRECT:
            return x[0].operation(_DIRECT[operation], *x[1:])
        if operation == "where":
            return choose(*x)
        return library.apply(operation, *x)


def _kind(instruction: Instruction) -> Kind:
    operation = OPERATIONS.get(instruction[0])
    return "i32" if operation and operation.gives == "c" else "f64"


def input_size(kernel: Kernel) -> int:
    """Return the number of scalars that one sample of a map or a solve takes."""
    return sum(argument.size for argument in kernel.program.inputs) + (kernel.shape == "solve")


def output_size(kernel: Kernel) -> int:
    """Return the number of scalars that one sample of a map or a solve gives."""
    return len(kernel.program.results) + (kernel.shape == "solve")
