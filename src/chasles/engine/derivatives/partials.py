"""Partial derivatives of the operations, and how they are multiplied and added without leaking NaN.

Conventions where an operation is not smooth:

- ``abs`` has derivative ``sign``, so 0 at 0; ``sign`` and ``floor`` have derivative 0 everywhere; comparisons have
  none.
- ``minimum(a, b)`` takes the derivative of a where a <= b, ``maximum(a, b)`` that of a where b <= a, else that of b.
- ``where(c, a, b)`` takes the derivative of the selected branch, and only that: what the other branch would give, be it
  infinite or NaN, is never multiplied by zero.
- ``sqrt`` at 0 has derivative infinity, ``asin`` and ``acos`` at ±1 likewise; ``atan2`` at the origin has NaN.
- ``power(x, e)`` with a known exponent has e * x ** (e - 1). With a computed exponent, the derivative to x is 0 where
  e is 0; that to e is 0 where x is 0, and NaN where x is negative.

A derivative that is zero by structure (no path of non-zero partials) is the constant 0, even where others are infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from chasles.engine.program.folding import (
    add,
    cos,
    cosh,
    div,
    either,
    equal,
    less_equal,
    log,
    mul,
    neg,
    negated,
    power,
    sign,
    sin,
    sinh,
    sqrt,
    sub,
    where,
)
from chasles.engine.program.graph import Graph
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.scalar import Condition, Number, Scalar

# Given the result and the operands of an operation, its derivative to one operand.
Partial = Callable[..., Number]


def _sum_of_squares(a: Number, b: Number) -> Number:
    return add(mul(a, a), mul(b, b))


def _cosine_of_asin(x: Number) -> Number:
    root: Number = sqrt(mul(sub(1.0, x), add(1.0, x)))
    return root


def _power_to_base(y: Number, x: Number, e: Number) -> Number:
    return where(equal(e, 0.0), 0.0, mul(e, power(x, sub(e, 1.0))))


def _power_to_exponent(y: Number, x: Number, e: Number) -> Number:
    return where(equal(x, 0.0), 0.0, mul(y, log(x)))


#: One partial for each operand; None where the derivative is zero everywhere.
PARTIALS: dict[str, tuple[Partial | None, ...]] = {
    "add": (lambda y, a, b: 1.0, lambda y, a, b: 1.0),
    "sub": (lambda y, a, b: 1.0, lambda y, a, b: -1.0),
    "mul": (lambda y, a, b: b, lambda y, a, b: a),
    "div": (lambda y, a, b: div(1.0, b), lambda y, a, b: neg(mul(y, div(1.0, b)))),
    "neg": (lambda y, x: -1.0,),
    "power": (_power_to_base, _power_to_exponent),
    "abs": (lambda y, x: sign(x),),
    "sqrt": (lambda y, x: div(0.5, y),),
    "exp": (lambda y, x: y,),
    "log": (lambda y, x: div(1.0, x),),
    "sin": (lambda y, x: cos(x),),
    "cos": (lambda y, x: neg(sin(x)),),
    "tan": (lambda y, x: add(1.0, mul(y, y)),),
    "asin": (lambda y, x: div(1.0, _cosine_of_asin(x)),),
    "acos": (lambda y, x: div(-1.0, _cosine_of_asin(x)),),
    "atan": (lambda y, x: div(1.0, add(1.0, mul(x, x))),),
    "atan2": (
        lambda angle, y, x: div(x, _sum_of_squares(x, y)),
        lambda angle, y, x: neg(div(y, _sum_of_squares(x, y))),
    ),
    "sinh": (lambda y, x: cosh(x),),
    "cosh": (lambda y, x: sinh(x),),
    "tanh": (lambda y, x: sub(1.0, mul(y, y)),),
}

#: Operations that give one of two operands: under which condition the first, and at which positions the two stand.
SELECTIONS: dict[str, tuple[Callable[..., bool | Condition], int, int]] = {
    "where": (lambda c, a, b: c, 1, 2),
    "minimum": (lambda a, b: less_equal(a, b), 0, 1),
    "maximum": (lambda a, b: less_equal(b, a), 0, 1),
}


def smooth_operands(instruction: Sequence[Any]) -> tuple[int, ...]:
    """Return the operands of an operation to which its derivative is not zero everywhere."""
    operation, *rest = instruction
    if operation in SELECTIONS:
        _, first, second = SELECTIONS[operation]
        return rest[first], rest[second]
    return tuple(k for k, partial in zip(rest, PARTIALS.get(operation, ()), strict=False) if partial is not None)


def chain(derivative: Number, partial: Number) -> Number:
    """Multiply a derivative by a partial; where the derivative is zero by selection, the product is zero too.

    The product goes inside: ``where(c, g, 0) * p`` becomes ``where(c, g * p, 0)``, so that p may be infinite where c
    fails.
    """
    selected = _selected(derivative)
    if selected is not None:
        condition, a, b = selected
        return where(condition, chain(a, partial), chain(b, partial))
    if not isinstance(derivative, Scalar) and derivative == 0.0:
        return 0.0  # also times a constant that is infinite
    if isinstance(partial, Scalar) and (support := _support(derivative)) is not None:
        return where(support, mul(derivative, partial), 0.0)
    return mul(derivative, partial)


def total(terms: Iterable[Number]) -> Number:
    """Add derivatives; selections under one condition become one selection."""
    plain: Number = 0.0
    selections: dict[int, tuple[Condition, list[Number], list[Number]]] = {}
    for term in terms:
        selected = _selected(term)
        if selected is None:
            plain = add(plain, term)
        else:
            condition, a, b = selected
            _, if_true, if_false = selections.setdefault(condition.index, (condition, [], []))
            if_true.append(a)
            if_false.append(b)
    for condition, if_true, if_false in selections.values():
        plain = add(plain, where(condition, total(if_true), total(if_false)))
    return plain


def guard(derivative: Number, sources: Iterable[Number]) -> Number:
    """Make a derivative that is linear in the sources zero where all of these are zero by selection."""
    support: bool | Condition = False
    for source in sources:
        condition = _support(source)
        if condition is None:
            return derivative
        support = either(support, condition)
    return where(support, derivative, 0.0)


def _value(graph: Graph, index: int) -> Any:
    operation, *rest = graph.instructions[index]
    if operation == "constant":
        return rest[0]
    gives_condition = operation in OPERATIONS and OPERATIONS[operation].gives == "c"
    return Condition(graph, index) if gives_condition else Scalar(graph, index)


def _selected(x: Number) -> tuple[Condition, Number, Number] | None:
    """Return (c, a, b) if x is ``where(c, a, b)`` with one branch 0."""
    if not isinstance(x, Scalar):
        return None
    operation, *rest = x.graph.instructions[x.index]
    if operation != "where":
        return None
    condition, a, b = (_value(x.graph, k) for k in rest)
    a_is_zero, b_is_zero = (not isinstance(branch, Scalar) and branch == 0.0 for branch in (a, b))
    return (condition, a, b) if a_is_zero or b_is_zero else None


def _support(x: Number, depth: int = 8) -> bool | Condition | None:
    """Return a condition outside of which x is zero by selection, None if none is known."""
    if not isinstance(x, Scalar):
        return False if x == 0.0 else None
    if depth == 0:
        return None
    operation, *rest = x.graph.instructions[x.index]
    if operation == "where":
        if (selected := _selected(x)) is None:
            return None
        condition, _, b = selected
        return condition if not isinstance(b, Scalar) and b == 0.0 else negated(condition)
    if operation not in ("neg", "add", "sub"):
        return None
    support: bool | Condition = False
    for k in rest:
        condition_k = _support(_value(x.graph, k), depth - 1)
        if condition_k is None:
            return None
        support = either(support, condition_k)
    return support
