"""The C target: one header and one C99 source that need nothing but <math.h>.

The function is ``void NAME(const double *input, …, double *output, …)`` with arrays flattened in C order. It allocates
nothing, keeps no state, and reads all inputs before it writes the first output, so outputs may overlap inputs. Called
programs become static functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.program.graph import Instruction
from chasles.engine.program.program import Argument, Program

_FUNCTIONS = {
    "power": "pow", "abs": "fabs", "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "asin", "acos": "acos", "atan": "atan", "atan2": "atan2", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "floor": "floor",
}  # fmt: skip
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "less": "<", "less_equal": "<=", "equal": "==", "both": "&&",
    "either": "||",
}  # fmt: skip
_CONDITIONS = {"less", "less_equal", "equal", "both", "either", "negated"}
# Unlike fmin and fmax, the engine's minimum and maximum give NaN if either operand is NaN.
_HELPERS = {
    "sign": "static {real} {name}({real} x) {{ return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; }}",
    "minimum": "static {real} {name}({real} a, {real} b) {{ return a < b || a != a ? a : b; }}",
    "maximum": "static {real} {name}({real} a, {real} b) {{ return a > b || a != a ? a : b; }}",
}
# Keywords of C and C++, and names of the standard library that a program could plausibly have. Every name of <math.h>
# is reserved with its suffixes f and l.
_WORDS = """
    alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class co_await co_return co_yield
    compl complex concept const const_cast consteval constexpr constinit continue decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if imaginary import inline int long module
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual
    void volatile wchar_t while xor xor_eq main abort abs atexit atof atoi atol bsearch calloc clock div errno exit
    fclose fopen fprintf fread free fseek fwrite getenv gets index labs linux malloc memchr memcmp memcpy memmove memset
    unix perror printf puts qsort raise rand read realloc remove rename rindex scanf setjmp signal sprintf srand sscanf
    stderr stdin stdout strcat strcmp strcpy strlen strtod system time tmpfile tolower toupper write math stdio stdlib
    string double_t float_t INFINITY NAN NULL EOF I DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS HUGE MAXFLOAT
"""
_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fabs
    fdim finite floor fma fmax fmin fmod frexp fpclassify gamma hypot ilogb isfinite isgreater isinf isless isnan
    isnormal j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
    nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn signbit significand signgam sin sincos sinh
    sqrt tan tanh tgamma trunc y0 y1 yn
"""
_RESERVED = {*_WORDS.split(), *(name + suffix for name in _MATHEMATICS.split() for suffix in ("", "f", "l"))}


def lower(program: Program, precision: str = "double") -> tuple[str, str]:
    """Return C source and header of a program.

    Parameters
    ----------
    program
        Program to translate.
    precision
        ``"double"`` or ``"float"``: the type of every number.

    Returns
    -------
    source, header : str
        The source includes ``"NAME.h"``, where NAME is the program's name made a C identifier; save the header under
        it.

    Raises
    ------
    ArgumentError
        If the precision is another.

    Examples
    --------
    >>> from chasles.engine import trace
    >>> source, header = lower(trace(lambda x, k: -k * x, {"x": (), "k": ()}, name="spring"))
    >>> print(source[source.index("void") :])
    void spring(const double *x, const double *k, double *result)
    {
        const double v2 = x[0] * k[0];
        const double v3 = -v2;
        result[0] = v3;
    }
    <BLANKLINE>
    """
    if precision not in ("double", "float"):
        raise ArgumentError(f"precision must be 'double' or 'float', not {precision!r}")
    names = Names()
    name = names.take(program.name, "function")
    macro = names.take(f"{name.upper()}_H", "HEADER")
    inputs = [names.take(a.name, "input") for a in program.inputs]
    outputs = [names.take(a.name, "output") for a in program.outputs]
    writer = Writer(precision, names, name)
    prototype = writer.prototype(name, inputs, outputs)
    body = writer.function(program, prototype, _places(inputs, program.inputs), _places(outputs, program.outputs))
    body[2:2] = _unused(body, [*inputs, *outputs])
    comment = _comment(program, inputs, outputs)
    source = [comment, f'#include "{name}.h"', "", "#include <math.h>", "", *writer.definitions, *body, ""]
    header = [
        comment, f"#ifndef {macro}", f"#define {macro}", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
        f"{prototype};", "", "#ifdef __cplusplus", "}", "#endif", "", "#endif", "",
    ]  # fmt: skip
    return "\n".join(source), "\n".join(header)


def identifier(name: str) -> str:
    """Return a name as `lower` writes it: made a C identifier that nothing else has.

    >>> identifier("inverse dynamics (arm)"), identifier("double")
    ('inverse_dynamics_arm', 'double_')
    """
    return Names().take(name, "function")


class Names:
    """Gives each thing a C identifier of its own."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str, otherwise: str) -> str:
        """Return a C identifier like a name, or like another one where no letter of that can be kept."""
        name = re.sub(r"[^A-Za-z0-9_]+", "_", wanted).strip("_")[:100].rstrip("_") or otherwise
        if not name[0].isalpha():
            name = f"{otherwise}_{name}"
        # v1, a1, r1 are the names of values and of the arrays of calls.
        if name in _RESERVED or re.fullmatch(r"[var]\d+|(M|FP|MATH|HUGE)_\w+", name):
            name += "_"
        base, count = name, 1
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name


@dataclass
class Writer:
    """Writes functions; what they need stands in ``definitions``, in order."""

    real: str
    names: Names
    prefix: str

    def __post_init__(self) -> None:
        self.definitions: list[str] = []
        self._helpers: dict[str, str] = {}
        self._called: dict[str, str] = {}
        self._added: dict[str, str] = {}

    def add(self, program: Program) -> str:
        """Write a program as a static function of its arrays, once; return the function's name."""
        if program.digest not in self._added:
            name = self.names.take(f"{self.prefix}_{program.name}", "function")
            inputs = [f"x{k}" for k in range(len(program.inputs))]
            outputs = [f"y{k}" for k in range(len(program.outputs))]
            prototype = f"static {self.prototype(name, inputs, outputs)}"
            body = self.function(program, prototype, _places(inputs, program.inputs), _places(outputs, program.outputs))
            body[2:2] = _unused(body, [*inputs, *outputs])
            self.definitions += [*body, ""]
            self._added[program.digest] = name
        return self._added[program.digest]

    def prototype(self, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """Return the prototype of a function of arrays."""
        parameters = [f"const {self.real} *{x}" for x in inputs] + [f"{self.real} *{y}" for y in outputs]
        return f"void {name}({', '.join(parameters) or 'void'})"

    def function(self, program: Program, prototype: str, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
        """Return the lines of a function that computes a program from elements of arrays to others."""
        lines = [prototype, "{"]
        values: list[str] = []
        for index, instruction in enumerate(program.instructions):
            operation, *rest = instruction
            if operation == "constant":
                values.append(self._constant(rest[0]))
            elif operation == "input":
                values.append(inputs[rest[0]])
            elif operation == "item":
                values.append(f"r{rest[0]}[{rest[1]}]")
            elif operation == "call":
                called = program.programs[rest[0]]
                arguments = ", ".join(values[k] for k in rest[1:]) or "0"
                lines.append(f"    const {self.real} a{index}[] = {{{arguments}}};")
                lines.append(f"    {self.real} r{index}[{max(len(called.results), 1)}];")
                lines.append(f"    {self._function_name(called)}(a{index}, r{index});")
                values.append(f"r{index}")
            else:
                kind = "int" if operation in _CONDITIONS else self.real
                lines.append(f"    const {kind} v{index} = {self._formula(instruction, values)};")
                values.append(f"v{index}")
        # An output may overlap an input, so inputs that are results are read before any output is written.
        results: list[str] = []
        for position, k in enumerate(program.results):
            direct = program.instructions[k][0] != "input"
            if not direct:
                lines.append(f"    const {self.real} v{len(values) + position} = {values[k]};")
            results.append(values[k] if direct else f"v{len(values) + position}")
        lines += [f"    {place} = {value};" for place, value in zip(outputs, results, strict=True)]
        return [*lines, "}"]

    def _formula(self, instruction: Instruction, values: Sequence[str]) -> str:
        operation, *rest = instruction
        operands = [values[k] for k in rest]
        if operation in _INFIX:
            return f"{operands[0]} {_INFIX[operation]} {operands[1]}"
        if operation == "neg":
            return f"-{operands[0]}"
        if operation == "negated":
            return f"!{operands[0]}"
        if operation == "where":
            return f"{operands[0]} ? {operands[1]} : {operands[2]}"
        if operation in _HELPERS:
            return f"{self._helper(operation)}({', '.join(operands)})"
        suffix = "f" if self.real == "float" else ""
        return f"{_FUNCTIONS[operation]}{suffix}({', '.join(operands)})"

    def _helper(self, operation: str) -> str:
        if operation not in self._helpers:
            name = self._helpers[operation] = self.names.take(f"{self.prefix}_{operation}", operation)
            self.definitions += [_HELPERS[operation].format(real=self.real, name=name), ""]
        return self._helpers[operation]

    def _function_name(self, called: Program) -> str:
        if called.digest not in self._called:
            name = self.names.take(f"{self.prefix}_{called.name}", "function")
            inputs = [f"x[{k}]" for k in range(sum(a.size for a in called.inputs))]
            outputs = [f"y[{k}]" for k in range(len(called.results))]
            prototype = f"static void {name}(const {self.real} *x, {self.real} *y)"
            lines = self.function(called, prototype, inputs, outputs)
            lines[2:2] = _unused(lines, ["x", "y"])
            self.definitions += [*lines, ""]
            self._called[called.digest] = name
        return self._called[called.digest]

    def _constant(self, value: float) -> str:
        if self.real == "float":
            with np.errstate(over="ignore"):
                value = float(np.float32(value))
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "(-INFINITY)"
        digits = str(np.float32(value)) + "f" if self.real == "float" else repr(value)
        return f"({digits})" if digits.startswith("-") else digits


def _places(names: Sequence[str], arguments: Sequence[Argument]) -> list[str]:
    return [f"{name}[{k}]" for name, a in zip(names, arguments, strict=True) for k in range(a.size)]


def _unused(body: Sequence[str], parameters: Iterable[str]) -> list[str]:
    return [f"    (void){parameter};" for parameter in parameters if not _mentions(body, parameter)]


def _mentions(lines: Iterable[str], parameter: str) -> bool:
    pattern = re.compile(rf"\b{parameter}\[")
    return any(pattern.search(line) for line in list(lines)[2:])


def _comment(program: Program, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    def listing(title: str, names: Sequence[str], arguments: Sequence[Argument]) -> Iterator[str]:
        if arguments:
            yield f" * {title}:"
        for name, a in zip(names, arguments, strict=True):
            yield f" *   {name}: {_printable(a.name)}, shape {'x'.join(map(str, a.shape)) or 'of one number'}"

    lines = [f"/* {_printable(program.name)}: {program.operation_count} operations, written by Chasles."]
    lines += listing("Inputs", inputs, program.inputs)
    lines += listing("Outputs", outputs, program.outputs)
    return "\n".join([*lines, " * Arrays are flattened in C order. Outputs may overlap inputs.", " */"])


def _printable(name: str) -> str:
    """Return a name in which nothing can end a comment or a line."""
    return re.sub(r"[^A-Za-z0-9_ .,()<>-]", "_", name)[:100]
