"""Complex numbers inside a program, as pairs of real ones.

Programs compute with real scalars. Formulas of polynomial geometry are written once, for elements that add and
multiply; given these pairs they run on complex numbers. What is known, such as an imaginary part of zero, folds away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine.functions import where
from chasles.engine.program.scalar import Array, Real


class Complex:
    """Complex number re + i im, of floats or traced scalars.

    Examples
    --------
    >>> z = Complex(1.0, 2.0) * Complex(3.0, -1.0)
    >>> z.re, z.im
    (5.0, 5.0)
    """

    __slots__ = ("im", "re")

    def __init__(self, re: Any, im: Real = 0.0) -> None:
        self.re = re
        self.im = im

    @staticmethod
    def of(value: Any) -> Complex:
        """Return a number as a complex one."""
        return value if isinstance(value, Complex) else Complex(value)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # which lets the array do it, element by element
        other = Complex.of(other)
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # which lets the array do it, element by element
        other = Complex.of(other)
        return Complex(self.re - other.re, self.im - other.im)

    def __rsub__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # which lets the array do it, element by element
        return Complex.of(other) - self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented  # which lets the array do it, element by element
        if not isinstance(other, Complex):
            return Complex(self.re * other, self.im * other)
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rtruediv__(self, numerator: Any) -> Complex:
        scale = numerator / self.squared_modulus()
        return Complex(self.re * scale, -self.im * scale)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def squared_modulus(self) -> Any:
        """Return re² + im²."""
        return self.re * self.re + self.im * self.im

    def chosen(self, condition: Any, other: Complex) -> Complex:
        """Return this number where a condition holds, else the other."""
        return Complex(where(condition, self.re, other.re), where(condition, self.im, other.im))


def join(re: Array, im: Array) -> Array:
    """Array of complex numbers with given real and imaginary parts."""
    flat = np.empty(re.size, dtype=object)
    flat[:] = [Complex(x, y) for x, y in zip(re.ravel(), im.ravel(), strict=True)]
    return flat.reshape(re.shape)


def parts(values: Array) -> tuple[Array, Array]:
    """Real and imaginary parts of an array of complex numbers."""
    numbers = [Complex.of(value) for value in values.ravel()]
    return (
        np.array([z.re for z in numbers]).reshape(values.shape),
        np.array([z.im for z in numbers]).reshape(values.shape),
    )
