"""Elementary functions as WebAssembly functions of doubles.

Argument reductions and polynomials are those of the native target, without its fused multiplication: reductions use
constants whose products with whole numbers are exact (Cody and Waite, Software Manual for the Elementary Functions,
1980), and where a rounding error counts it is computed (`error_free`). Angles beyond 1e6 are reduced with 192 bits of
2/π (Payne and Hanek, Radian reduction for trigonometric functions, 1983). Errors, measured by the tests: sine and
cosine at most 1.5 units in the last place (ulp) for every argument, all other functions at most 4.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from chasles.engine.targets import coefficients
from chasles.engine.targets.wasm.error_free import polynomial, product_and_error, renormalized, sum_and_error
from chasles.engine.targets.wasm.module import WasmModule
from chasles.engine.targets.wasm.writer import Kind, Value, WasmWriter, call, choose, constant, load, real

_SHIFT = 1.5 * 2.0**52  # x + shift - shift rounds x to a whole number, which then stands in the low bits of x + shift
_SHIFT_BITS = 0x4338000000000000
#: π/2 in four parts; the products of the first three with whole numbers below 2²⁰ are exact.
_PI_2 = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624871116645580e-21, 8.47842766036889956997e-32)
#: π/2 in two parts, each rounded to nearest.
_HALF_TURN = (1.5707963267948966, 6.123233995736766e-17)
_LARGEST_REDUCED = 1.0e6


def _two_over_pi() -> bytes:
    """Return 64 zero bits and the first 1,216 bits of 2/π, in words of 64 bits.

    1/π comes from Machin's formula π = 16 arctan(1/5) - 4 arctan(1/239) in whole numbers.
    """
    bits = 1216
    unit = 1 << (bits + 64)

    def arctan_of_inverse(x: int) -> int:
        total, term, k = 0, unit // x, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= x * x
            k += 2
        return total

    pi = 16 * arctan_of_inverse(5) - 4 * arctan_of_inverse(239)
    fraction = (2 * unit << bits) // pi
    words = [(fraction >> shift) & (2**64 - 1) for shift in range(bits - 64, -1, -64)]
    return struct.pack(f"<{len(words) + 1}Q", 0, *words)


class Mathematics:
    """The elementary functions in a module; each is written when it is first needed."""

    def __init__(self, module: WasmModule) -> None:
        self._module = module

    def sincos(self, f: WasmWriter, x: Value) -> list[Value]:
        """Compute sine and cosine inside a function."""
        return f.call(self._number("sincos"), [x], ["f64", "f64"])

    def apply(self, name: str, *arguments: Value) -> Value:
        """Return a function of the library at its arguments."""
        return call(self._number(name), "f64", *arguments)

    def _number(self, name: str) -> int:
        write, parameters, results = _LIBRARY[name]

        def make() -> int:
            f = WasmWriter(parameters, results)
            write(self, f, *f.parameters)
            return self._module.add(f)

        return self._module.once(f"function {name}", make)

    def high_product(self, a: Value, b: Value) -> Value:
        """Return the upper half of the product of two unsigned whole numbers."""
        return call(self._number("high_product"), "i64", a, b)

    def huge_angle(self, f: WasmWriter, x: Value) -> list[Value]:
        """Reduce a huge angle inside a function; see `_huge_angle`."""
        return f.call(self._number("huge_angle"), [x], ["f64", "f64", "i64"])

    def two_over_pi(self) -> int:
        """Return the address of the bits of 2/π."""
        return self._module.once("2/π", lambda: self._module.data(_two_over_pi()))


def _high_product(library: Mathematics, f: WasmWriter, a: Value, b: Value) -> None:
    low = 0xFFFFFFFF

    def upper(x: Value) -> Value:
        return x.operation("shift_right_unsigned", 32)

    a1, a0 = f.let(upper(a)), f.let(a & low)
    b1, b0 = f.let(upper(b)), f.let(b & low)
    middle = f.let(a1 * b0 + upper(a0 * b0))
    other = f.let(a0 * b1 + (middle & low))
    f.give(a1 * b1 + upper(middle) + upper(other))


def _huge_angle(library: Mathematics, f: WasmWriter, x: Value) -> None:
    """Give r, tail and n with x = n π/2 + r + tail modulo 2π and |r| ≤ π/4, for finite x with |x| ≥ 2²⁰ / 2.

    With |x| = m 2ᵉ and whole m, only the bits of 2/π from number e - 1 on count for the angle modulo 2π, as all before
    them give whole turns. The first 192 of these bits leave an error below 2⁻¹³⁷ quarter turns, while no double comes
    closer than 2⁻⁶² to a multiple of π/2.
    """
    bits = f.let(x.converted("bits") & (2**63 - 1))
    exponent = f.let((bits.operation("shift_right_unsigned", 52)) - 1075)
    m = f.let((bits & (2**52 - 1)) | 2**52)
    first = f.let(exponent + 62)  # the table begins with 64 zeros, and its next bit is number 1
    shift = f.let(first & 63)
    address = f.let((first.operation("shift_right_unsigned", 6) << 3).converted("wrapped"))
    table = library.two_over_pi()
    words = [f.let(load("i64", address, table + 8 * k)) for k in range(4)]

    def aligned(k: int) -> Value:
        following = words[k + 1].operation("shift_right_unsigned", 1)
        rest = constant("i64", 63) - shift
        return f.let((words[k] << shift) | following.operation("shift_right_unsigned", rest))

    high, middle, low = (aligned(k) for k in range(3))
    middle_product = f.let(m * middle)
    middle_sum = f.let(middle_product + library.high_product(m, low))
    carry = middle_sum.operation("less_unsigned", middle_product).converted("widened")
    top = f.let(m * high + library.high_product(m, middle) + carry)
    # top and middle_sum hold the angle in quarter turns, modulo 4, in units of 2⁻⁶² and 2⁻¹²⁶.
    quadrant = f.let((top.operation("shift_right_unsigned", 61) + 1).operation("shift_right_unsigned", 1))
    fraction = f.let(top - (quadrant << 62))
    leading = (fraction >> 32).converted("from_i64") * 2.0**-30
    following = (fraction & 0xFFFFFFFF).converted("from_i64") * 2.0**-62
    turns, error = renormalized(f, f.let(leading), f.let(following))
    turns, error = renormalized(f, turns, f.let(error + middle_sum.converted("from_unsigned_i64") * 2.0**-126))
    angle, rounding = product_and_error(f, turns, real(_HALF_TURN[0]))
    tail = f.let(rounding + (turns * _HALF_TURN[1] + error * _HALF_TURN[0]))
    negative = f.let(x < 0.0)
    sign = f.let(choose(negative, real(-1.0), real(1.0)))
    f.give(angle * sign, tail * sign, choose(negative, constant("i64", 0) - quadrant, quadrant))


def _sincos(library: Mathematics, f: WasmWriter, x: Value) -> None:
    r, tail, quadrant = f.variable("f64"), f.variable("f64"), f.variable("i64")
    with f.when(abs(x) <= _LARGEST_REDUCED):
        shifted = f.let(x * (2.0 / math.pi) + _SHIFT)
        f.set(quadrant, shifted.converted("bits"))
        n = f.let(shifted - _SHIFT)
        first = f.let(x - n * _PI_2[0])
        second, error = sum_and_error(f, first, f.let(-(n * _PI_2[1])))
        third, another = sum_and_error(f, second, f.let(-(n * _PI_2[2])))
        correction = f.let((error + another) - n * _PI_2[3])
        f.set(r, third + correction)
        f.set(tail, (third - r) + correction)
        f.otherwise()
        with f.when((x - x).differs(0.0)):  # infinite or NaN
            f.give(x - x, x - x)
        for variable, value in zip((r, tail, quadrant), library.huge_angle(f, x), strict=True):
            f.set(variable, value)
    z = f.let(r * r)
    sine = f.let(r + (z * r * polynomial(z, coefficients.SIN) + tail))
    sine = f.let(choose(abs(r) <= 2.0**-27, r + tail, sine))
    half = f.let(z * 0.5)
    leading = f.let(real(1.0) - half)
    rest = ((real(1.0) - leading) - half) - r * tail
    cosine = f.let(leading + (z * z * polynomial(z, coefficients.COS) + rest))
    odd = f.let((quadrant & 1).converted("wrapped"))
    negate_sine = (quadrant & 2) << 62
    negate_cosine = ((quadrant + 1) & 2) << 62
    sine, cosine = f.let(choose(odd, cosine, sine)), f.let(choose(odd, sine, cosine))
    signed = (sine.converted("bits") ^ negate_sine).converted("from_bits")
    f.give(
        choose(abs(x) <= 2.0**-27, x, signed),  # -0.0 stays what it is
        (cosine.converted("bits") ^ negate_cosine).converted("from_bits"),
    )


def _single(position: int) -> Callable[[Mathematics, WasmWriter, Value], None]:
    def write(library: Mathematics, f: WasmWriter, x: Value) -> None:
        f.give(library.sincos(f, x)[position])

    return write


def _tan(library: Mathematics, f: WasmWriter, x: Value) -> None:
    sine, cosine = library.sincos(f, x)
    f.give(sine / cosine)


def _power_of_two(n: Value) -> Value:
    """Return 2ⁿ for -1022 ≤ n ≤ 1023."""
    return ((n + 1023) << 52).converted("from_bits")


def _reduced_exponential(f: WasmWriter, x: Value, correction: Value) -> tuple[Value, Value]:
    """Return n and exp(r) - 1 for x + correction = n ln 2 + r."""
    shifted = f.let(x * (1.0 / math.log(2.0)) + _SHIFT)
    n = f.let(shifted - _SHIFT)
    high = f.let(x - n * coefficients.LN2[0])
    low = f.let(correction - n * coefficients.LN2[1])
    r = f.let(high + low)
    tail = f.let((high - r) + low)
    series = polynomial(r, [1.0 / math.factorial(k) for k in range(2, 15)])
    return f.let(shifted.converted("bits") - _SHIFT_BITS), f.let(r + (r * r * series + tail))


def _exponential_of_sum(library: Mathematics, f: WasmWriter, x: Value, correction: Value) -> None:
    """Write exp(x + correction) for a correction below the last place of x."""
    above = f.let(choose(x > 710.0, real(710.0), x))
    clipped = f.let(choose(above < -746.0, real(-746.0), above))
    small = f.let(choose(clipped.equals(x), correction, real(0.0)))
    n, growth = _reduced_exponential(f, clipped, small)
    half = f.let(n >> 1)  # in two steps, so that subnormal results come out right
    f.give((growth + 1.0) * _power_of_two(half) * _power_of_two(n - half))


def _exp(library: Mathematics, f: WasmWriter, x: Value) -> None:
    f.give(library.apply("exponential_of_sum", x, real(0.0)))


def _expm1(library: Mathematics, f: WasmWriter, x: Value) -> None:
    """Write exp(x) - 1 for 0 ≤ x ≤ 50, exact near 0."""
    n, growth = _reduced_exponential(f, x, real(0.0))
    scale = f.let(_power_of_two(n))
    f.give(scale * growth + (scale - 1.0))


def _clipped_magnitude(f: WasmWriter, x: Value) -> tuple[Value, Value, Value]:
    """Return |x|, |x| clipped to 22, and whether it was beyond; NaN stays NaN."""
    size = f.let(abs(x))
    beyond = f.let(size > 22.0)
    return size, f.let(choose(beyond, real(22.0), size)), beyond


def _half_squared_exponential(library: Mathematics, f: WasmWriter, size: Value) -> Value:
    """Return exp(size) / 2 without overflow before its time."""
    root = f.let(library.apply("exp", size * 0.5))
    return root * 0.5 * root


def _sinh(library: Mathematics, f: WasmWriter, x: Value) -> None:
    size, clipped, beyond = _clipped_magnitude(f, x)
    e = f.let(library.apply("expm1", clipped))
    near = (e + e / (e + 1.0)) * 0.5
    f.give(choose(beyond, _half_squared_exponential(library, f, size), near).operation("copysign", x))


def _cosh(library: Mathematics, f: WasmWriter, x: Value) -> None:
    size, clipped, beyond = _clipped_magnitude(f, x)
    half = f.let(library.apply("exp", clipped) * 0.5)
    f.give(choose(beyond, _half_squared_exponential(library, f, size), half + real(0.25) / half))


def _tanh(library: Mathematics, f: WasmWriter, x: Value) -> None:
    _, clipped, _ = _clipped_magnitude(f, x)
    e = f.let(library.apply("expm1", clipped + clipped))
    f.give((e / (e + 2.0)).operation("copysign", x))


def _parts_of_logarithm(f: WasmWriter, x: Value) -> tuple[Value, Value]:
    """Return k as a double and m with x = 2ᵏ m and √½ ≤ m < √2, for positive finite x."""
    subnormal = f.let(x < 2.2250738585072014e-308)
    scaled = f.let(choose(subnormal, x * 2.0**54, x))
    # The offset makes the exponent field step at √½ in place of 1.
    offset = f.let(scaled.converted("bits") + (0x3FF0000000000000 - 0x3FE6A09E667F3BCD))
    k = (offset.operation("shift_right_unsigned", 52) - 1023).converted("from_i64")
    m = ((offset & 0x000FFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).converted("from_bits")
    return f.let(k - choose(subnormal, real(54.0), real(0.0))), f.let(m)


def _log(library: Mathematics, f: WasmWriter, x: Value) -> None:
    k, m = _parts_of_logarithm(f, x)
    difference = f.let(m - 1.0)
    s = f.let(difference / (difference + 2.0))
    z = f.let(s * s)
    half_square = f.let(difference * difference * 0.5)
    series = half_square + z * polynomial(z, coefficients.LOG)
    low = s * series + k * coefficients.LN2[1]
    result = f.let(k * coefficients.LN2[0] - ((half_square - low) - difference))
    result = choose(x.equals(math.inf), x, result)
    result = choose(x.equals(0.0), real(-math.inf), result)
    f.give(choose((x < 0.0) | x.differs(x), real(math.nan), result))


def _atan2(library: Mathematics, f: WasmWriter, y: Value, x: Value) -> None:
    a, b = f.let(abs(y)), f.let(abs(x))
    steep = f.let(a > b)
    smaller, larger = f.let(choose(steep, b, a)), f.let(choose(steep, a, b))
    equal = smaller.equals(larger)  # also for two infinities, whose quotient is NaN
    t = choose(equal, real(1.0), smaller / larger)
    t = f.let(choose(larger.equals(0.0), real(0.0), t))
    upper = f.let(t > 0.66)
    u = f.let(choose(upper, (t - 1.0) / (t + 1.0), t))
    z = f.let(u * u)
    ratio = polynomial(z, coefficients.ATAN_P) / polynomial(z, coefficients.ATAN_Q)
    small = f.let(u * z * ratio + u)
    high, low = _HALF_TURN
    angle = f.let(choose(upper, real(0.5 * high) + (small + 0.5 * low), small))
    angle = f.let(choose(steep, real(high) - (angle - low), angle))
    leftward = x.converted("bits") < 0
    angle = choose(leftward, real(2.0 * high) - (angle - 2.0 * low), angle)
    unordered = x.differs(x) | y.differs(y)
    f.give(choose(unordered, real(math.nan), angle.operation("copysign", y)))


def _atan(library: Mathematics, f: WasmWriter, x: Value) -> None:
    f.give(library.apply("atan2", x, real(1.0)))


def _complement(x: Value) -> Value:
    return ((real(1.0) - x) * (x + 1.0)).operation("sqrt")


def _asin(library: Mathematics, f: WasmWriter, x: Value) -> None:
    f.give(library.apply("atan2", x, _complement(x)))


def _acos(library: Mathematics, f: WasmWriter, x: Value) -> None:
    f.give(library.apply("atan2", _complement(x), x))


def _sign(library: Mathematics, f: WasmWriter, x: Value) -> None:
    one_or_zero = (x > 0.0).converted("from_i32") - (x < 0.0).converted("from_i32")
    f.give(choose(x.differs(x), x, one_or_zero))


def _power(library: Mathematics, f: WasmWriter, x: Value, y: Value) -> None:
    """Write xʸ with the exceptions of C99: exp(y log |x|) with a logarithm of 65 bits, and its sign.

    log m = 2 s + 2 s³ / 3 + … with s = (m - 1) / (m + 1); the first two terms are sums of two doubles.
    """
    with f.when(y.equals(0.0) | x.equals(1.0)):
        f.give(real(1.0))
    size = f.let(abs(x))
    even_or_huge = f.let(y.operation("floor").equals(y))
    half = f.let(y * 0.5)
    odd = f.let(even_or_huge & half.operation("floor").differs(half))
    sign = f.let(choose((x.converted("bits") < 0) & odd, real(-1.0), real(1.0)))
    with f.when(size.equals(1.0) & abs(y).equals(math.inf)):
        f.give(real(1.0))
    with f.when(size.equals(0.0) | size.equals(math.inf) | (y - y).differs(0.0) | x.differs(x)):
        plain = choose(size.equals(0.0), real(-math.inf), size - 1.0)
        f.give(library.apply("exp", y * plain) * sign)
    with f.when((x < 0.0) & even_or_huge.opposite()):
        f.give(real(math.nan))
    k, m = _parts_of_logarithm(f, size)
    numerator, denominator = f.let(m - 1.0), f.let(m + 1.0)
    lost = f.let(m - (denominator - 1.0))
    s = f.let(numerator / denominator)
    product, error = product_and_error(f, s, denominator)
    s_low = f.let(((numerator - product) - error - s * lost) / denominator)
    square, square_error = product_and_error(f, s, s)
    square_error = f.let(square_error + s * s_low * 2.0)
    third, third_error = product_and_error(f, square, real(1.0 / 3.0))
    series = square * square * polynomial(square, [1.0 / n for n in range(5, 24, 2)])
    third_error = f.let(third_error + square * _THIRD_ERROR + square_error * (1.0 / 3.0) + series)
    factor, factor_error = renormalized(f, third, third_error)
    cubic, cubic_error = product_and_error(f, s, factor)
    cubic_error = f.let(cubic_error + (s * factor_error + s_low * factor))
    whole = f.let(k * coefficients.LN2[0])
    high, high_error = sum_and_error(f, whole, f.let(s * 2.0))
    high, middle_error = sum_and_error(f, high, f.let(cubic * 2.0))
    low = f.let(high_error + middle_error + (s_low + cubic_error) * 2.0 + k * coefficients.LN2[1])
    logarithm, low = renormalized(f, high, low)
    # Beyond 2⁶³ every power but that of 1 overflows or vanishes; clipping keeps the halves of the product finite.
    exponent = f.let(y.operation("minimum", 2.0**63).operation("maximum", -(2.0**63)))
    power, power_error = product_and_error(f, exponent, logarithm)
    f.give(library.apply("exponential_of_sum", power, power_error + exponent * low) * sign)


#: 1/3 minus the double nearest to it.
_THIRD_ERROR = 1.850371707708594e-17
_Write = Callable[..., None]
#: For each function: how to write it, and the types that it takes and gives.
_LIBRARY: dict[str, tuple[_Write, tuple[Kind, ...], tuple[Kind, ...]]] = {
    "high_product": (_high_product, ("i64", "i64"), ("i64",)),
    "huge_angle": (_huge_angle, ("f64",), ("f64", "f64", "i64")),
    "sincos": (_sincos, ("f64",), ("f64", "f64")),
    "exponential_of_sum": (_exponential_of_sum, ("f64", "f64"), ("f64",)),
    "atan2": (_atan2, ("f64", "f64"), ("f64",)),
    "power": (_power, ("f64", "f64"), ("f64",)),
    **{
        name: (write, ("f64",), ("f64",))
        for name, write in {
            "sin": _single(0), "cos": _single(1), "tan": _tan, "exp": _exp, "expm1": _expm1, "sinh": _sinh,
            "cosh": _cosh, "tanh": _tanh, "log": _log, "atan": _atan, "asin": _asin, "acos": _acos, "sign": _sign,
        }.items()
    },
}  # fmt: skip
