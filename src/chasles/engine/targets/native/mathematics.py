"""Elementary functions on vectors of doubles, and sine and cosine of floats of 32 bits, as LLVM functions.

Argument reductions and polynomials are those of the C libraries fdlibm (Sun Microsystems, 1993: sine, cosine,
logarithm) and Cephes (Moshier, 1989: arc tangent); the exponential is a Taylor series on the reduced interval. Errors,
measured by the tests: sine and cosine at most 1.5 units in the last place (ulp) for arguments up to 1e6 and the C
library's beyond, every other function at most 4; of floats of 32 bits sine and cosine at most 1, others at most 0.75.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from chasles.engine.targets import coefficients
from chasles.engine.targets.native.writer import LlvmWriter, literal

_SHIFT = 1.5 * 2.0**52  # x + shift - shift rounds x to a whole number, which then stands in the low bits of x + shift
_SINGLE_SHIFT = 1.5 * 2.0**23
_SHIFT_BITS = 0x4338000000000000
#: Arguments of sine and cosine up to which π/2 is subtracted here, by the width of their type.
_LARGEST_REDUCED = {64: 1.0e6, 32: 2.5e4}


class VectorMath(LlvmWriter):
    """Writer of one function of vectors of doubles, or of floats of 32 bits, with arithmetic on whole vectors."""

    def __init__(self, name: str, lanes: int, arguments: Sequence[str], results: int = 1, *, width: int = 64) -> None:
        self.lanes = lanes
        self.width = width
        self.element = "double" if width == 64 else "float"
        self.real = f"<{lanes} x {self.element}>"
        self.whole = f"<{lanes} x i{width}>"
        self.truth = f"<{lanes} x i1>"
        returned = self.real if results == 1 else f"{{{', '.join([self.real] * results)}}}"
        self._returned = returned
        super().__init__(f"internal {returned} @{name}({', '.join(f'{self.real} {a}' for a in arguments)})")

    def constant(self, value: float) -> str:
        """Return a vector with the same number in every lane."""
        rounded = value if self.width == 64 else float(np.float32(value))
        return self.repeated(self.element, self.lanes, rounded)

    def add(self, a: str, b: str) -> str:
        """Sum."""
        return self.value(f"fadd {self.real} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        """Difference."""
        return self.value(f"fsub {self.real} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        """Product."""
        return self.value(f"fmul {self.real} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        """Quotient."""
        return self.value(f"fdiv {self.real} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a b + c, rounded once."""
        v = self.real
        return self.value(f"call {v} @llvm.fma.v{self.lanes}f{self.width}({v} {a}, {v} {b}, {v} {c})")

    def sqrt(self, x: str) -> str:
        """Square root."""
        return self.value(f"call {self.real} @llvm.sqrt.v{self.lanes}f{self.width}({self.real} {x})")

    def abs(self, x: str) -> str:
        """Absolute value."""
        return self.value(f"call {self.real} @llvm.fabs.v{self.lanes}f{self.width}({self.real} {x})")

    def copysign(self, x: str, s: str) -> str:
        """Magnitude of x with the sign of s."""
        return self.value(
            f"call {self.real} @llvm.copysign.v{self.lanes}f{self.width}({self.real} {x}, {self.real} {s})"
        )

    def compare(self, how: str, a: str, b: str) -> str:
        """Compare with an LLVM predicate."""
        return self.value(f"fcmp {how} {self.real} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        """Return a where the condition holds, else b."""
        return self.value(f"select {self.truth} {condition}, {self.real} {a}, {self.real} {b}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Evaluate c0 + c1 x + c2 x² + … by Horner's rule."""
        result = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.constant(coefficient))
        return result

    def bits(self, x: str) -> str:
        """Reinterpret a vector of doubles as whole numbers."""
        return self.value(f"bitcast {self.real} {x} to {self.whole}")

    def from_bits(self, bits: str) -> str:
        """Reinterpret whole numbers as a vector of doubles."""
        return self.value(f"bitcast {self.whole} {bits} to {self.real}")

    def integer(self, operation: str, a: str, b: int | str) -> str:
        """Perform a whole-number operation with a known or computed second operand."""
        operand = f"splat (i{self.width} {b})" if isinstance(b, int) else b
        return self.value(f"{operation} {self.whole} {a}, {operand}")

    def call(self, name: str, *arguments: str) -> str:
        """Call another function of vectors."""
        return self.value(f"call {self.real} @{name}({', '.join(f'{self.real} {a}' for a in arguments)})")

    def give(self, *results: str) -> str:
        """Return from the function and give its text."""
        returned = results[0]
        if len(results) > 1:
            returned = "undef"
            for k, result in enumerate(results):
                returned = self.value(f"insertvalue {self._returned} {returned}, {self.real} {result}, {k}")
        self.emit(f"ret {self._returned} {returned}")
        return self.text()

    def with_sign_of(self, x: str, bits: str) -> str:
        """Return x with its sign turned where the first of some bits is set."""
        sign = self.integer("and", bits, -(2 ** (self.width - 1)))
        return self.from_bits(self.integer("xor", self.bits(x), sign))

    def corrected(self, condition: str, function: str, given: Sequence[str], results: Sequence[str]) -> list[str]:
        """Return results, or where the condition holds those that a function makes of them and of what was given."""
        arguments = ", ".join(f"{self.real} {value}" for value in (*given, *results))
        self.emit(f"br i1 {condition}, label %correct, label %done")
        before = self._block
        self.block("correct")
        called = self.value(f"call {self._returned} @{function}({arguments})")
        others = [self.value(f"extractvalue {self._returned} {called}, {k}") for k in range(len(results))]
        self.emit("br label %done")
        self.block("done")
        return [
            self.value(f"phi {self.real} [{result}, %{before}], [{other}, %correct]")
            for result, other in zip(results, others, strict=True)
        ]

    def nearest(self, x: str, factor: float) -> tuple[str, str]:
        """Return the whole number nearest to factor · x, as a real number and in the low bits of a whole one."""
        shift = self.constant(_SHIFT if self.width == 64 else _SINGLE_SHIFT)
        shifted = self.fma(x, self.constant(factor), shift)
        return self.sub(shifted, shift), self.bits(shifted)

    def power_of_two(self, bits: str) -> str:
        """Return 2ⁿ for n in the low bits, -1022 ≤ n ≤ 1023."""
        return self.from_bits(self.integer("shl", self.integer("add", bits, 1023), 52))


def _reduced(w: VectorMath, pi_2: Sequence[float]) -> tuple[str, str, str]:
    """Return r = x - n π/2 as a number and a tail, and the quadrant n.

    π/2 comes in three parts (Cody and Waite, Software Manual for the Elementary Functions, 1980): the first difference
    is exact, and the rounding error of the second goes on as the tail.
    """
    n, quadrant = w.nearest("%x", 2.0 / math.pi)
    minus_n = w.value(f"fneg {w.real} {n}")
    parts = [w.constant(part) for part in pi_2]
    first = w.fma(minus_n, parts[0], "%x")
    r = w.fma(minus_n, parts[1], first)
    tail = w.fma(minus_n, parts[2], w.fma(minus_n, parts[1], w.sub(first, r)))
    return r, tail, quadrant


def sincos(lanes: int) -> str:
    """Write sine and cosine of doubles from one argument reduction.

    The cosine of its tail is left out.
    """
    w = VectorMath("chasles.sincos", lanes, ["%x"], results=2)
    r, tail, quadrant = _reduced(w, coefficients.PI_2)
    z = w.mul(r, r)
    sine = w.add(r, w.fma(w.mul(z, r), w.polynomial(z, coefficients.SIN), tail))
    cosine = w.polynomial(z, (1.0, -0.5, *coefficients.COS))
    return _in_quadrant(w, "chasles.sincos", quadrant, sine, cosine)


def sincos_single(lanes: int) -> str:
    """Write sine and cosine of floats of 32 bits, of which the sums are off by hardly more than one rounding.

    The reduction is that of doubles; what the cosine's first sum lost by rounding counts too.
    """
    w = VectorMath("chasles.sincos_single", lanes, ["%x"], results=2, width=32)
    r, tail, quadrant = _reduced(w, coefficients.SINGLE_PI_2)
    z = w.mul(r, r)
    half = w.mul(r, w.constant(-0.5))
    leading = w.fma(half, r, w.constant(1.0))
    lost = w.fma(half, r, w.sub(w.constant(1.0), leading))
    rest = w.fma(w.value(f"fneg {w.real} {r}"), tail, lost)
    sine = w.add(r, w.fma(w.mul(z, r), w.polynomial(z, coefficients.SINGLE_SIN), w.mul(tail, leading)))
    cosine = w.add(leading, w.fma(w.mul(z, z), w.polynomial(z, coefficients.SINGLE_COS), rest))
    return _in_quadrant(w, "chasles.sincos_single", quadrant, sine, cosine)


def _in_quadrant(w: VectorMath, name: str, quadrant: str, sine: str, cosine: str) -> str:
    """Give sine and cosine of the argument x from those of x less its quadrants."""
    is_odd = w.value(f"icmp ne {w.whole} {w.integer('and', quadrant, 1)}, zeroinitializer")
    results = [
        w.with_sign_of(w.select(is_odd, cosine, sine), w.integer("shl", quadrant, w.width - 2)),
        w.with_sign_of(w.select(is_odd, sine, cosine), w.integer("shl", w.integer("add", quadrant, 1), w.width - 2)),
    ]
    beyond = w.compare("ugt", w.abs("%x"), w.constant(_LARGEST_REDUCED[w.width]))
    mask = w.value(f"bitcast {w.truth} {beyond} to i{w.lanes}")
    return w.give(*w.corrected(w.value(f"icmp ne i{w.lanes} {mask}, 0"), f"{name}_beyond", ["%x"], results))


def _sincos_beyond(name: str, lanes: int, width: int) -> str:
    """Let the C library compute the lanes whose argument is too large to reduce here, infinite or NaN."""
    w = VectorMath(name, lanes, ["%x", "%sine", "%cosine"], results=2, width=width)
    item = width // 8
    argument, *results = (w.value(f"alloca {w.real}, align 64") for _ in range(3))
    for place, given in zip((argument, *results), ("%x", "%sine", "%cosine"), strict=True):
        w.emit(f"store {w.real} {given}, ptr {place}")
    with w.loop(w.lanes) as lane:
        x = w.value(f"load {w.element}, ptr {w.address(argument, (lane, item))}")
        if width == 32:
            x = w.value(f"fpext float {x} to double")
        size = w.value(f"call double @llvm.fabs.f64(double {x})")
        with w.when(w.value(f"fcmp ugt double {size}, {literal(_LARGEST_REDUCED[width])}")):
            for place, function in zip(results, ("sin", "cos"), strict=True):
                exact = w.value(f"call double @{function}(double {x})")
                if width == 32:
                    exact = w.value(f"fptrunc double {exact} to float")
                w.emit(f"store {w.element} {exact}, ptr {w.address(place, (lane, item))}")
    return w.give(*(w.value(f"load {w.real}, ptr {place}") for place in results))


def tan(lanes: int) -> str:
    """Write the tangent as sine over cosine."""
    w = VectorMath("chasles.tan", lanes, ["%x"])
    both = w.value(f"call {{{w.real}, {w.real}}} @chasles.sincos({w.real} %x)")
    parts = [w.value(f"extractvalue {{{w.real}, {w.real}}} {both}, {k}") for k in (0, 1)]
    return w.give(w.div(*parts))


def _reduced_exponential(w: VectorMath, x: str) -> tuple[str, str]:
    """Return n and exp(r) - 1 for x = n ln 2 + r."""
    n, bits = w.nearest(x, 1.0 / math.log(2.0))
    minus_n = w.value(f"fneg {w.real} {n}")
    r = w.fma(minus_n, w.constant(coefficients.LN2[1]), w.fma(minus_n, w.constant(coefficients.LN2[0]), x))
    tail = w.polynomial(r, [1.0 / math.factorial(k) for k in range(2, 15)])
    return w.integer("sub", bits, _SHIFT_BITS), w.fma(w.mul(r, r), tail, r)


def exp(lanes: int) -> str:
    """Write the exponential."""
    w = VectorMath("chasles.exp", lanes, ["%x"])
    above = w.select(w.compare("ogt", "%x", w.constant(710.0)), w.constant(710.0), "%x")
    x = w.select(w.compare("olt", above, w.constant(-746.0)), w.constant(-746.0), above)
    n, growth = _reduced_exponential(w, x)
    half = w.integer("ashr", n, 1)  # in two steps, so that subnormal results come out right
    value = w.mul(w.add(growth, w.constant(1.0)), w.power_of_two(half))
    return w.give(w.mul(value, w.power_of_two(w.integer("sub", n, half))))


def expm1(lanes: int) -> str:
    """Write exp(x) - 1 for 0 ≤ x ≤ 50, exact near 0."""
    w = VectorMath("chasles.expm1", lanes, ["%x"])
    n, growth = _reduced_exponential(w, "%x")
    scale = w.power_of_two(n)
    return w.give(w.fma(scale, growth, w.sub(scale, w.constant(1.0))))


def _clipped_magnitude(w: VectorMath, x: str) -> tuple[str, str, str]:
    """Return |x|, |x| clipped to 22, and whether it was beyond; NaN stays NaN."""
    size = w.abs(x)
    beyond = w.compare("ogt", size, w.constant(22.0))
    return size, w.select(beyond, w.constant(22.0), size), beyond


def _half_squared_exponential(w: VectorMath, size: str) -> str:
    """Return exp(size) / 2 without overflow before its time."""
    root = w.call("chasles.exp", w.mul(size, w.constant(0.5)))
    return w.mul(w.mul(root, w.constant(0.5)), root)


def sinh(lanes: int) -> str:
    """Write the hyperbolic sine."""
    w = VectorMath("chasles.sinh", lanes, ["%x"])
    size, clipped, beyond = _clipped_magnitude(w, "%x")
    e = w.call("chasles.expm1", clipped)
    near = w.mul(w.constant(0.5), w.add(e, w.div(e, w.add(e, w.constant(1.0)))))
    return w.give(w.copysign(w.select(beyond, _half_squared_exponential(w, size), near), "%x"))


def cosh(lanes: int) -> str:
    """Write the hyperbolic cosine."""
    w = VectorMath("chasles.cosh", lanes, ["%x"])
    size, clipped, beyond = _clipped_magnitude(w, "%x")
    half = w.mul(w.constant(0.5), w.call("chasles.exp", clipped))
    near = w.add(half, w.div(w.constant(0.25), half))
    return w.give(w.select(beyond, _half_squared_exponential(w, size), near))


def tanh(lanes: int) -> str:
    """Write the hyperbolic tangent."""
    w = VectorMath("chasles.tanh", lanes, ["%x"])
    _, clipped, _ = _clipped_magnitude(w, "%x")
    e = w.call("chasles.expm1", w.add(clipped, clipped))
    return w.give(w.copysign(w.div(e, w.add(e, w.constant(2.0))), "%x"))


def log(lanes: int) -> str:
    """Write the natural logarithm."""
    w = VectorMath("chasles.log", lanes, ["%x"])
    subnormal = w.compare("olt", "%x", w.constant(2.2250738585072014e-308))
    x = w.select(subnormal, w.mul("%x", w.constant(2.0**54)), "%x")
    # Split x = 2ᵏ m with √½ ≤ m < √2: the offset makes the exponent field step at √½ in place of 1.
    offset = w.integer("add", w.bits(x), 0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
    k = w.integer("sub", w.integer("lshr", offset, 52), 1023)
    m = w.from_bits(w.integer("add", w.integer("and", offset, 0x000FFFFFFFFFFFFF), 0x3FE6A09E667F3BCD))
    exponent = w.sub(w.from_bits(w.integer("add", k, _SHIFT_BITS)), w.constant(_SHIFT))
    exponent = w.select(subnormal, w.sub(exponent, w.constant(54.0)), exponent)
    f = w.sub(m, w.constant(1.0))
    s = w.div(f, w.add(f, w.constant(2.0)))
    z = w.mul(s, s)
    half_square = w.mul(w.mul(f, f), w.constant(0.5))
    series = w.add(half_square, w.mul(z, w.polynomial(z, coefficients.LOG)))
    low = w.fma(exponent, w.constant(coefficients.LN2[1]), w.mul(s, series))
    result = w.fma(exponent, w.constant(coefficients.LN2[0]), w.sub(f, w.sub(half_square, low)))
    infinite = w.compare("oeq", "%x", w.constant(math.inf))
    result = w.select(infinite, "%x", result)
    result = w.select(w.compare("oeq", "%x", w.constant(0.0)), w.constant(-math.inf), result)
    return w.give(w.select(w.compare("ult", "%x", w.constant(0.0)), w.constant(math.nan), result))


def atan2(lanes: int) -> str:
    """Write the angle of the point (x, y)."""
    w = VectorMath("chasles.atan2", lanes, ["%y", "%x"])
    a, b = w.abs("%y"), w.abs("%x")
    steep = w.compare("ogt", a, b)
    smaller, larger = w.select(steep, b, a), w.select(steep, a, b)
    equal = w.compare("oeq", smaller, larger)  # also for two infinities, whose quotient is NaN
    t = w.select(equal, w.constant(1.0), w.div(smaller, larger))
    t = w.select(w.compare("oeq", larger, w.constant(0.0)), w.constant(0.0), t)
    upper = w.compare("ogt", t, w.constant(0.66))
    shifted = w.div(w.sub(t, w.constant(1.0)), w.add(t, w.constant(1.0)))
    u = w.select(upper, shifted, t)
    z = w.mul(u, u)
    ratio = w.div(w.polynomial(z, coefficients.ATAN_P), w.polynomial(z, coefficients.ATAN_Q))
    small = w.fma(w.mul(u, z), ratio, u)
    low = w.add(small, w.constant(0.5 * coefficients.PI_2[1]))
    angle = w.select(upper, w.add(w.constant(0.5 * coefficients.PI_2[0]), low), small)
    complement = w.sub(w.constant(coefficients.PI_2[0]), w.sub(angle, w.constant(coefficients.PI_2[1])))
    angle = w.select(steep, complement, angle)
    supplement = w.sub(w.constant(2 * coefficients.PI_2[0]), w.sub(angle, w.constant(2 * coefficients.PI_2[1])))
    leftward = w.value(f"icmp slt {w.whole} {w.bits('%x')}, splat (i64 0)")
    angle = w.copysign(w.select(leftward, supplement, angle), "%y")
    unordered = w.compare("uno", "%x", "%y")
    return w.give(w.select(unordered, w.constant(math.nan), angle))


def _arc(name: str) -> Callable[[int], str]:
    def write(lanes: int) -> str:
        w = VectorMath(f"chasles.{name}", lanes, ["%x"])
        if name == "atan":
            return w.give(w.call("chasles.atan2", "%x", w.constant(1.0)))
        other = w.sqrt(w.mul(w.sub(w.constant(1.0), "%x"), w.add(w.constant(1.0), "%x")))
        pair = ("%x", other) if name == "asin" else (other, "%x")
        return w.give(w.call("chasles.atan2", *pair))

    return write


def power(lanes: int) -> str:
    """Write the general power: the C library's, lane by lane."""
    w = VectorMath("chasles.power", lanes, ["%x", "%y"])
    result = "undef"
    for lane in range(lanes):
        x, y = (w.value(f"extractelement {w.real} {v}, i32 {lane}") for v in ("%x", "%y"))
        single = w.value(f"call double @pow(double {x}, double {y})")
        result = w.value(f"insertelement {w.real} {result}, double {single}, i32 {lane}")
    return w.give(result)


#: For each function: how to write it and which others it calls.
LIBRARY: dict[str, tuple[Callable[[int], str], tuple[str, ...]]] = {
    "sincos_beyond": (lambda lanes: _sincos_beyond("chasles.sincos_beyond", lanes, 64), ()),
    "sincos": (sincos, ("sincos_beyond",)),
    "sincos_single_beyond": (lambda lanes: _sincos_beyond("chasles.sincos_single_beyond", lanes, 32), ()),
    "sincos_single": (sincos_single, ("sincos_single_beyond",)),
    "tan": (tan, ("sincos",)),
    "exp": (exp, ()),
    "expm1": (expm1, ()),
    "sinh": (sinh, ("exp", "expm1")),
    "cosh": (cosh, ("exp",)),
    "tanh": (tanh, ("expm1",)),
    "log": (log, ()),
    "atan2": (atan2, ()),
    "atan": (_arc("atan"), ("atan2",)),
    "asin": (_arc("asin"), ("atan2",)),
    "acos": (_arc("acos"), ("atan2",)),
    "power": (power, ()),
}
