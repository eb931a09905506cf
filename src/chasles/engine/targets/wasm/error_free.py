"""Polynomials, and sums and products of doubles together with their rounding errors.

Sources: Knuth, The Art of Computer Programming, volume 2 (two-sum); Dekker, A floating-point technique for extending
the available precision, 1971 (product, by Veltkamp's splitting).
"""

from __future__ import annotations

from collections.abc import Sequence

from chasles.engine.targets.wasm.writer import Value, WasmWriter, real

#: Veltkamp's constant: it splits a double into two halves of 26 bits.
_SPLITTER = 2.0**27 + 1.0


def polynomial(x: Value, numbers: Sequence[float]) -> Value:
    """Evaluate c0 + c1 x + c2 x² + … by Horner's rule."""
    result = real(numbers[-1])
    for number in reversed(numbers[:-1]):
        result = result * x + number
    return result


def sum_and_error(f: WasmWriter, a: Value, b: Value) -> tuple[Value, Value]:
    """Return a + b and its rounding error (Knuth's two-sum)."""
    total = f.let(a + b)
    moved = f.let(total - a)
    return total, f.let((a - (total - moved)) + (b - moved))


def product_and_error(f: WasmWriter, a: Value, b: Value) -> tuple[Value, Value]:
    """Return a b and its rounding error, for factors below 1e300 (Dekker's product)."""
    product = f.let(a * b)

    def halves(x: Value) -> tuple[Value, Value]:
        scaled = f.let(x * _SPLITTER)
        high = f.let(scaled - (scaled - x))
        return high, f.let(x - high)

    (a1, a2), (b1, b2) = halves(a), halves(b)
    return product, f.let(((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2)


def renormalized(f: WasmWriter, high: Value, low: Value) -> tuple[Value, Value]:
    """Return the same sum with a low part below the last place of the high one, for |high| ≥ |low|."""
    total = f.let(high + low)
    return total, f.let(low - (total - high))
