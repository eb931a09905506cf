"""The engine: graph, program, derivatives, targets. It knows no robots."""

from chasles.engine.derivatives import hessian_vector, jacobian, jvp, vjp
from chasles.engine.function import Function, function
from chasles.engine.functions import (
    absolute,
    acos,
    asin,
    atan,
    atan2,
    clip,
    cos,
    cosh,
    exp,
    floor,
    generally,
    log,
    maximum,
    minimum,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    where,
)
from chasles.engine.kernels.threads import get_threads, set_threads, threads
from chasles.engine.linear import of_numpy
from chasles.engine.program.operators import attach_operators
from chasles.engine.program.program import Argument, Program
from chasles.engine.program.records import Layout, Record
from chasles.engine.program.scalar import Condition, Scalar
from chasles.engine.program.tracing import trace

attach_operators()
of_numpy.attach()

__all__ = [
    "Argument",
    "Condition",
    "Function",
    "Layout",
    "Program",
    "Record",
    "Scalar",
    "absolute",
    "acos",
    "asin",
    "atan",
    "atan2",
    "clip",
    "cos",
    "cosh",
    "exp",
    "floor",
    "function",
    "generally",
    "get_threads",
    "hessian_vector",
    "jacobian",
    "jvp",
    "log",
    "maximum",
    "minimum",
    "set_threads",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "threads",
    "trace",
    "vjp",
    "where",
]
