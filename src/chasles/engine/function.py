"""Functions: programs that are called like NumPy's ufuncs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.engine.arguments import as_array, explained
from chasles.engine.derivatives import hessian_vector, jvp, vjp
from chasles.engine.kernels import UNINTERRUPTED_WORK, CoreArray, Kernel, Shape
from chasles.engine.pieces import WORTH_THREADS, call_in_pieces, work_of_a_sample
from chasles.engine.program import Program
from chasles.engine.scalar import Traced
from chasles.engine.threads import get_threads
from chasles.engine.tracing import call_traced, trace
from chasles.errors import ArgumentError

native: Any = None
if find_spec("llvmlite"):  # loaded with the package, so that the first call need not wait for it
    from chasles.engine.targets.native import compiler as native

if TYPE_CHECKING:
    from chasles.engine.targets.native.compiler import CompiledKernel
    from chasles.engine.targets.native.dispatch import Dispatcher

#: A function of more operations than this stays one call in a caller's program; a shorter one joins it.
INLINE_LIMIT = 300
#: Largest number of iterations that a solve counts exactly.
_MOST_ITERATIONS = 2.0**53
#: Held while a function is compiled and published: two threads at once would do the work twice.
COMPILING = RLock()
#: What no other thread may hold while a process forks: the child would wait for a thread that it does not have.
_HELD_AT_FORK = [COMPILING] if native is None else [COMPILING, native.machine.compiler_lock()]


def _before_fork() -> None:
    for lock in _HELD_AT_FORK:
        lock.__enter__()


def _after_fork() -> None:
    for lock in reversed(_HELD_AT_FORK):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def native_available() -> bool:
    """Whether kernels are compiled to machine code: llvmlite is installed and ``CHASLES_JIT`` is not 0."""
    return native is not None and os.environ.get("CHASLES_JIT") != "0"


def new_dispatcher(general: Callable[..., Any], name: str) -> Dispatcher | None:
    """Return a choice among direct calls by keywords, where there is machine code; see its class."""
    if not native_available():
        return None
    from chasles.engine.targets.native.dispatch import Dispatcher, supported

    return Dispatcher(general, name) if supported() else None


class Function:
    """A program that is called on arrays, over any leading batch axes.

    The first call compiles it: to machine code, or, where llvmlite is missing or ``CHASLES_JIT=0``, to calls of NumPy.
    Called with traced scalars it becomes part of the program that is being traced.

    Parameters
    ----------
    program
        What to compute, or a function without arguments that gives it when it is first needed.
    shape
        How to run it: ``"map"``, ``"scan"`` or ``"solve"`` (see `chasles.engine.kernels.Kernel`).
    dtype
        Type in which it computes, ``"float64"`` or ``"float32"``; arguments are cast to it.
    reference
        The plain Python function behind it, kept as the attribute of the same name.
    doc
        Documentation.

    Examples
    --------
    >>> from chasles.engine import Function, trace
    >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (3,)}, name="energy"))
    >>> energy(2.0, [[1.0, 0.0, 0.0], [0.0, 3.0, 4.0]])
    array([ 1., 25.])
    """

    # The call is an attribute of the instance, so that it can be machine code.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(
        self,
        program: Program | Callable[[], Program],
        *,
        shape: Shape = "map",
        dtype: str = "float64",
        reference: Callable[..., Any] | None = None,
        doc: str | None = None,
    ) -> None:
        self._source = program
        self._shape: Shape = shape
        if np.dtype(dtype).name not in ("float64", "float32"):
            raise ArgumentError(f"dtype must be 'float64' or 'float32', not {dtype!r}")
        self._own_dtype = np.dtype(dtype)
        self._dtype = self._own_dtype.name
        self.reference = reference
        self.__doc__ = doc or (reference.__doc__ if reference else None)
        self._ufunc: Callable[..., Any] | None = None
        self._compiled: CompiledKernel | None = None
        self._cores: tuple[CoreArray, ...] = ()
        self._work = 0
        self.__call__ = self.general_call

    @cached_property
    def program(self) -> Program:
        """The program that it runs."""
        return self._source if isinstance(self._source, Program) else self._source()

    @cached_property
    def kernel(self) -> Kernel:
        """The program with the way to run it."""
        return Kernel(self.program, self._shape)

    @property
    def __name__(self) -> str:
        return self.program.name

    @property
    def dtype(self) -> str:
        """Type in which it computes."""
        return self._dtype

    @property
    def signature(self) -> str:
        """Core dimensions of its arguments and results, as NumPy writes them."""
        return self.kernel.signature

    def general_call(self, *arguments: Any, out: Any = None) -> Any:
        """Compute the outputs for each sample, whatever the arguments are.

        Once compiled, ``function(...)`` itself computes single samples at once and comes here for everything else.
        """
        if self._ufunc is None and _holds_traced(arguments):  # no need to compile it
            return self._inside_trace(arguments)
        ufunc = self._ufunc or self._compile()
        if len(arguments) != len(self._cores):  # NumPy would take further arguments for outputs and overwrite them
            raise TypeError(f"{self._usage()} takes {len(self._cores)} arguments, not {len(arguments)}")
        work, batch = self._work, ()
        given = list(arguments)
        for k, (argument, core) in enumerate(zip(arguments, self._cores, strict=True)):
            if argument.__class__ is float:
                continue
            if argument.__class__ is not np.ndarray or argument.dtype is not self._own_dtype:
                argument = given[k] = self._cast(argument, core)
                if argument.__class__ is not np.ndarray:
                    continue
            rank = len(core.dims)
            if argument.ndim > rank and (own := argument.shape[: argument.ndim - rank]) != batch:
                work *= math.prod(own)
                batch = own
        if out.__class__ is tuple and len(out) > 1:
            self._check_apart(out)
        if self._shape != "map":
            work *= self._repetitions(given)
        try:
            if work > UNINTERRUPTED_WORK or (work > WORTH_THREADS and get_threads() > 1):
                return call_in_pieces(ufunc, self.kernel, given, out, self._dtype, self)
            return ufunc(*given) if out is None else ufunc(*given, out=out)
        except (TypeError, ValueError) as error:
            if _holds_traced(arguments):
                return self._inside_trace(arguments)
            raise explained(error, self._usage(), self._cores, given) from None
        except SystemError as error:  # how NumPy passes on that a kernel found no memory
            raise error.__cause__ or error from None

    def _cast(self, argument: Any, core: CoreArray) -> Any:
        """Turn an argument into an array, in float32 if that is what is computed: NumPy would not by itself."""
        array = as_array(argument, self._usage(), core.name)
        if self._dtype == "float32" and array.__class__ is np.ndarray and array.dtype.kind != "O":
            return array.astype(np.float32)
        return array

    def _check_apart(self, out: tuple[Any, ...]) -> None:
        for k, array in enumerate(out):
            for other in out[:k]:
                if (
                    isinstance(array, np.ndarray)
                    and isinstance(other, np.ndarray)
                    and np.may_share_memory(array, other)
                ):
                    raise ArgumentError(f"{self._usage()}: the arrays of out share memory; one would overwrite another")

    def _repetitions(self, arguments: Sequence[Any]) -> int:
        """Return how often a scan or solve runs its program at most, which must be once at least."""
        if self._shape == "scan":
            shape = np.shape(arguments[1])
            steps = shape[: len(shape) - len(self.program.inputs[1].shape)][-2:]
            if steps[-1:] == (0,):
                name = self.program.inputs[1].name
                raise ArgumentError(f"{self._usage()}: each row of {name} must have at least one step, not 0")
            return math.prod(steps)
        limit = np.asarray(arguments[-1])
        if not ((limit >= 1) & (limit <= _MOST_ITERATIONS)).all():
            raise ArgumentError(f"{self._usage()}: max_iterations must be at least 1 and at most 2**53")
        return int(limit.max(initial=1))

    def direct_call(self, general: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callable that computes single samples at once and hands every other call to ``general``."""
        if self._ufunc is None and self._compiled is None:
            self._compile()
        return general if self._compiled is None else self._compiled.direct_call(general)

    @property
    def direct_address(self) -> int | None:
        """Address of the machine code of the direct call for single samples, if there is one."""
        if self._ufunc is None:
            self._compile()
        return None if self._compiled is None else self._compiled.direct_address

    def _usage(self) -> str:
        return f"{self.program.name}({', '.join(a.name for a in self.kernel.inputs)})"

    def _compile(self) -> Callable[..., Any]:
        with COMPILING:
            return self._ufunc or self._compile_now()

    def _compile_now(self) -> Callable[..., Any]:
        kernel = self.kernel
        ufunc: Callable[..., Any]
        empty = any(dim == 0 for array in (*kernel.inputs, *kernel.outputs) for dim in array.dims)
        if native_available() and not empty:  # NumPy's ufuncs know no core dimension of size 0
            self._compiled = native.compile_kernel(kernel, self._dtype, self.__doc__ or "")
            ufunc = self._compiled.ufunc
            self.__call__ = self.direct_call(self.general_call)
        else:
            from chasles.engine.targets.numpy import compile_kernel as compile_numpy

            ufunc = compile_numpy(kernel, self._dtype)
        self._work = work_of_a_sample(kernel)
        self._cores = kernel.inputs
        self._ufunc = ufunc
        return ufunc

    def _inside_trace(self, arguments: Sequence[Any]) -> Any:
        if self._shape != "map":
            raise ArgumentError(f"{self.program.name} is a {self._shape} and cannot be part of another program")
        known = any(not _holds_traced([argument]) for argument in arguments)
        return call_traced(self.program, arguments, inline=known or self.program.operation_count <= INLINE_LIMIT)

    def astype(self, dtype: str) -> Function:
        """Return the same function computing in another type.

        Parameters
        ----------
        dtype
            ``"float64"`` or ``"float32"``.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.astype("float32")(2.0, [3.0, 4.0])
        np.float32(25.0)
        """
        return Function(self._source, shape=self._shape, dtype=dtype, reference=self.reference, doc=self.__doc__)

    def jacobian(self, output: str | None = None, wrt: str | None = None) -> Function:
        """Return the function of its exact partial derivatives; see `chasles.engine.jacobian`.

        Parameters
        ----------
        output, wrt
            Names of an output and an input; default all.

        Returns
        -------
        Function
            Of the same arguments; its results have the shapes ``output.shape + input.shape``.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.jacobian(wrt="v")(2.0, [3.0, 4.0])  # m v
        array([6., 8.])
        """
        return Function(self.program.jacobian(output, wrt), dtype=self._dtype)

    def jvp(self, wrt: str | Sequence[str] | None = None) -> Function:
        """Return the function of directional derivatives; see `chasles.engine.jvp`.

        Parameters
        ----------
        wrt
            Name or names of the arguments that move; default all.

        Returns
        -------
        Function
            Of its arguments and a direction for each that moves.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.jvp("v")(2.0, [3.0, 4.0], [1.0, 0.0])  # m v along x
        np.float64(6.0)
        """
        return Function(jvp(self.program, wrt), dtype=self._dtype)

    def vjp(self, wrt: str | Sequence[str] | None = None) -> Function:
        """Return the function of adjoint derivatives; see `chasles.engine.vjp`.

        Parameters
        ----------
        wrt
            Name or names of the arguments whose adjoints are wanted; default all.

        Returns
        -------
        Function
            Of its arguments and a vector for each of its results.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.vjp("v")(2.0, [3.0, 4.0], 10.0)  # 10 m v
        array([60., 80.])
        """
        return Function(vjp(self.program, wrt), dtype=self._dtype)

    def hessian_vector(self, wrt: str | Sequence[str] | None = None) -> Function:
        """Return the function of products with second derivatives; see `chasles.engine.hessian_vector`.

        Parameters
        ----------
        wrt
            Name or names of the arguments that move; default all.

        Raises
        ------
        ArgumentError
            If its result is not a single number.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.hessian_vector("v")(2.0, [3.0, 4.0], [1.0, 0.5])  # the Hessian is m times the identity
        array([2., 1.])
        """
        return Function(hessian_vector(self.program, wrt), dtype=self._dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.program, self._shape, self._dtype, self.__doc__)

    def __repr__(self) -> str:
        return f"<Function {self.program.name}{self.signature} in {self._dtype}>"


def _restore(program: Program, shape: Shape, dtype: str, doc: str | None) -> Function:
    return Function(program, shape=shape, dtype=dtype, doc=doc)


def _holds_traced(arguments: Sequence[Any]) -> bool:
    for argument in arguments:
        if isinstance(argument, Traced):
            return True
        if isinstance(argument, np.ndarray | list | tuple):
            array = np.asarray(argument)
            if array.dtype == object and any(isinstance(x, Traced) for x in array.ravel()):
                return True
    return False


def function(
    *, outputs: Sequence[str] | None = None, dtype: str = "float64", **inputs: tuple[int, ...]
) -> Callable[[Callable[..., Any]], Function]:
    """Make a compiled function of a plain Python function.

    Parameters
    ----------
    outputs
        Names of the outputs; see `chasles.engine.trace`.
    dtype
        Type in which it computes, ``"float64"`` or ``"float32"``.
    **inputs
        Shape of each argument without batch axes, in order; ``()`` for a number.

    Returns
    -------
    Callable
        A decorator that gives a `Function`. The plain function remains as its attribute ``reference``.

    Examples
    --------
    >>> import chasles as ch
    >>> @ch.function(x=(3,), k=())
    ... def spring(x, k):
    ...     return -k * x
    >>> spring([1.0, 2.0, 3.0], 10.0)
    array([-10., -20., -30.])
    >>> spring([1.0, 2.0, 3.0], [1.0, 2.0]).shape  # a batch of two stiffnesses
    (2, 3)
    """

    def decorate(plain: Callable[..., Any]) -> Function:
        def program() -> Program:
            return trace(plain, inputs, name=getattr(plain, "__name__", "function"), outputs=outputs)

        return Function(program, dtype=dtype, reference=plain)

    return decorate
