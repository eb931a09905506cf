"""Functions: programs that are called like NumPy's ufuncs, with positional or keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

from chasles.base.errors import ArgumentError
from chasles.engine.adjoints import LoopAdjoint
from chasles.engine.arguments import defaults_of, in_order, undeclared_shapes
from chasles.engine.cpython.vectorcall import DirectlyCalled
from chasles.engine.derivatives import hessian_vector, jacobian, jvp, vjp
from chasles.engine.derivatives.programs import chosen_arguments
from chasles.engine.exports import Exports
from chasles.engine.kernels.shapes import Kernel, Shape
from chasles.engine.program.program import Program
from chasles.engine.program.records import Shapes
from chasles.engine.program.tracing import call_traced, trace
from chasles.engine.running.runner import Runner, holds_traced

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Result = TypeVar("Result", covariant=True, default=Any)
else:
    from typing import TypeVar

    Result = TypeVar("Result", covariant=True)

_BY_PLACE_OR_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD


class _OfInstances:
    """A signature for tools such as `inspect.signature`: each function has its own, the class has Python's."""

    def __get__(self, function: Function | None, owner: type) -> inspect.Signature | None:
        return None if function is None else function.signature_of_call()


class Function(DirectlyCalled, Exports, Generic[Result]):
    """A program that is called on arrays, over any leading batch axes.

    Arguments are positional or keywords. The first call compiles the program: to machine code, or, where llvmlite is
    missing or ``CHASLES_JIT=0``, to calls of NumPy. Called with traced scalars it becomes part of the program that is
    being traced.

    Parameters
    ----------
    program
        Program to run, or a function without arguments that returns it on first use.
    shape
        Kernel shape: ``"map"``, ``"scan"`` or ``"solve"`` (see `chasles.engine.kernels.shapes.Kernel`).
    dtype
        Floating-point type of the computation, ``"float64"`` or ``"float32"``; arguments are cast to it.
    reference
        The plain Python function, kept as the attribute of the same name.
    doc
        Documentation.
    result
        Named tuple type for several results; default a plain tuple.
    defaults
        Default values of the last arguments, by name.
    wide
        Whether it is for many samples: code for these is then compiled at once, not after code for few.

    Examples
    --------
    >>> from chasles.engine import Function, trace
    >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (3,)}, name="energy"))
    >>> energy(2.0, [[1.0, 0.0, 0.0], [0.0, 3.0, 4.0]])
    array([ 1., 25.])
    >>> energy(2.0, v=[1.0, 0.0, 0.0])
    np.float64(1.0)
    """

    if TYPE_CHECKING:

        def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Result:
            """Compute the outputs for each sample."""

    else:  # The call is an attribute of the instance, so that it can be machine code.
        __slots__ = ("__call__", "__dict__", "__weakref__")

    __signature__ = _OfInstances()

    def __init__(
        self,
        program: Program | Callable[[], Program],
        *,
        shape: Shape = "map",
        dtype: str = "float64",
        reference: Callable[..., Any] | None = None,
        doc: str | None = None,
        result: type | None = None,
        defaults: Mapping[str, object] | None = None,
        wide: bool = False,
    ) -> None:
        self.reference = reference
        self._defaults = dict(defaults or {})
        self.__doc__ = doc or (reference.__doc__ if reference else None)
        self._result = result
        self._runner = Runner(program, shape, dtype, self.__doc__ or "", result, wide)
        self.__call__ = self.general_call  # type: ignore[method-assign]

    def general_call(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """Compute the outputs for each sample, whatever the arguments are.

        Once compiled, ``function(...)`` itself computes single samples at once and comes here for everything else.
        """
        if named or (self._defaults and len(arguments) < len(self.kernel.inputs)):
            arguments = tuple(self._in_order(arguments, named))
        result = self._runner.call(arguments, out)
        if self.__call__ == self.general_call and self._runner.is_compiled:
            self._go_directly(self)
        return result

    def _go_directly(self, function: Function) -> None:
        """From now on let calls go straight to the machine code of a function."""
        self.__call__ = function.direct_call(self.general_call)  # type: ignore[method-assign]
        if (code := function._runner.direct_code) is not None:
            self.call_directly(code.instance_address, self.general_call)

    def _in_order(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return positional and keyword arguments in their order, with the defaults of those left out."""
        names = [a.name for a in self.kernel.inputs]
        return in_order(self._runner.usage, names, arguments, named, self._defaults)

    def direct_call(self, general: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callable that computes single samples at once and hands every other call to ``general``."""
        return self._runner.direct_call(general)

    @property
    def direct_address(self) -> int | None:
        """Address of the machine code of the direct call for single samples, if there is one."""
        return self._runner.direct_address

    def loop(self, samples: int) -> tuple[int, object] | None:
        """Return the address of the loop in machine code for so many samples, and its owner, if there is one."""
        return self._runner.loop(samples)

    @property
    def program(self) -> Program:
        """The function's program."""
        return self._runner.program

    @property
    def kernel(self) -> Kernel:
        """The program together with its kernel shape."""
        return self._runner.kernel

    @property
    def __name__(self) -> str:
        return self.program.name

    @property
    def dtype(self) -> str:
        """Type in which it computes."""
        return self._runner.dtype

    @property
    def signature(self) -> str:
        """Core dimensions of arguments and results, in NumPy's notation."""
        return self.kernel.signature

    def signature_of_call(self) -> inspect.Signature:
        """Return the names of its arguments, as `inspect.signature` gives them."""
        defaults = self._defaults
        parameters = [
            inspect.Parameter(array.name, _BY_PLACE_OR_NAME, default=defaults.get(array.name, inspect.Parameter.empty))
            for array in self.kernel.inputs
        ]
        return inspect.Signature([*parameters, OUT])

    def astype(self, dtype: str) -> Function:
        """Return the same function in another floating-point type.

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
        return Function(
            self.program,
            shape=self._runner.shape,
            dtype=dtype,
            reference=self.reference,
            doc=self.__doc__,
            result=self._result,
            defaults=self._defaults,
        )

    def jacobian(self, output: str | None = None, wrt: str | None = None) -> Function:
        """Return the function of its exact partial derivatives; see `chasles.engine.jacobian`.

        Parameters
        ----------
        output, wrt
            Names of an output and an input; default all.

        Returns
        -------
        Function
            Function of the same arguments; its results have the shapes ``output.shape + input.shape``.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.jacobian(wrt="v")(2.0, [3.0, 4.0])  # m v
        array([6., 8.])
        """
        return Function(jacobian(self._map("jacobian"), output, wrt), dtype=self.dtype, defaults=self._defaults)

    def jvp(self, wrt: str | Sequence[str] | None = None) -> Function:
        """Return the function of directional derivatives; see `chasles.engine.jvp`.

        Parameters
        ----------
        wrt
            Name or names of the arguments that move; default all.

        Returns
        -------
        Function
            Function of its arguments and a direction for each that moves.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.jvp("v")(2.0, [3.0, 4.0], [1.0, 0.0])  # m v along x
        np.float64(6.0)
        """
        return Function(jvp(self._map("jvp"), wrt), dtype=self.dtype)

    def vjp(self, wrt: str | Sequence[str] | None = None) -> Function | LoopAdjoint:
        """Return the function of adjoint derivatives; see `chasles.engine.vjp`.

        The adjoint of a scan runs back along its states, which it computes again from checkpoints where there are many.
        Repetitions of its steps, as error estimates demand, are steps like others. The adjoint of a solve is that of
        its solution, by the implicit-function rule; it is NaN where the solve is not done, and zero for its start.

        Parameters
        ----------
        wrt
            Name or names of the arguments to compute adjoints for; default all.

        Returns
        -------
        Function or LoopAdjoint
            Function of its arguments and a vector for each of its results; for a solve, of the solution alone.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.vjp("v")(2.0, [3.0, 4.0], 10.0)  # 10 m v
        array([60., 80.])

        Growth by a rate r over three steps, with nothing recorded: the final x is (1 + r)³ x.

        >>> import numpy as np
        >>> growth = trace(lambda x, t, r: x + r * x, {"x": (1,), "t": (), "r": ()}, name="growth", outputs=["x_next"])
        >>> scan = Function(growth, shape="scan")
        >>> scan.vjp("r")([2.0], np.zeros((3, 1)), 0.5, [1.0])  # 3 (1 + r)² x
        array(13.5)
        """
        if self._runner.shape != "map":
            chosen = chosen_arguments("input", self.program.inputs, wrt)
            return LoopAdjoint(self.kernel, [a.name for a in chosen], self.dtype)
        return Function(vjp(self.program, wrt), dtype=self.dtype)

    def hessian_vector(self, wrt: str | Sequence[str] | None = None) -> Function:
        """Return the function of products with second derivatives; see `chasles.engine.hessian_vector`.

        Parameters
        ----------
        wrt
            Name or names of the arguments that move; default all.

        Raises
        ------
        ArgumentError
            If the result is not a single number.

        Examples
        --------
        >>> from chasles.engine import Function, trace
        >>> energy = Function(trace(lambda m, v: 0.5 * m * (v @ v), {"m": (), "v": (2,)}, name="energy"))
        >>> energy.hessian_vector("v")(2.0, [3.0, 4.0], [1.0, 0.5])  # the Hessian is m times the identity
        array([2., 1.])
        """
        return Function(hessian_vector(self._map("hessian_vector"), wrt), dtype=self.dtype)

    def _map(self, derivative: str) -> Program:
        """Return the program of a map; that of a loop is one step, whose derivative is not the loop's."""
        if self._runner.shape != "map":
            raise ArgumentError(f"{self.program.name} is a {self._runner.shape}: it has no {derivative}; use its vjp")
        return self.program

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _BETWEEN_PARTS]

    def __reduce__(self) -> Any:
        return _restore, (self.program, self._runner.shape, self.dtype, self.__doc__, self._result, self._defaults)

    def __repr__(self) -> str:
        return f"<Function {self.program.name}{self.signature} in {self.dtype}>"


#: Members by which the parts of this package work together, which users need not see.
_BETWEEN_PARTS = {
    "call_directly", "completed", "direct_address", "direct_call", "general_call", "general_of", "loop", "make",
    "option_names", "signature_of_call", "usage",
}  # fmt: skip
#: The argument that all functions take beside their own.
OUT = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)


def _restore(
    program: Program, shape: Shape, dtype: str, doc: str | None, result: type | None, defaults: Mapping[str, object]
) -> Function:
    return Function(program, shape=shape, dtype=dtype, doc=doc, result=result, defaults=defaults)


def function(
    undeclared: None = None,
    /,
    *,
    outputs: Sequence[str] | None = None,
    dtype: str = "float64",
    **inputs: Shapes,
) -> Callable[[Callable[..., Result]], Function[Result]]:
    """Make a compiled function from a plain Python function.

    Parameters
    ----------
    undeclared
        Not used: a bare ``@ch.function`` without shapes raises an error.
    outputs
        Names of the outputs; see `chasles.engine.trace`.
    dtype
        Type in which it computes, ``"float64"`` or ``"float32"``.
    **inputs
        Shape of each argument without batch axes, in order; ``()`` for a number, a mapping of shapes for a record of
        named parts (see `chasles.engine.Layout`).

    Returns
    -------
    Callable
        A decorator that gives a `Function`. The plain function remains as its attribute ``reference``, and its defaults
        hold for calls, too.

    Raises
    ------
    ArgumentError
        If the names are those of the function's parameters in another order, or shapes are missing.

    Examples
    --------
    >>> import chasles as ch
    >>> @ch.function(x=(3,), k=())
    ... def spring(x, k=10.0):
    ...     return -k * x
    >>> spring([1.0, 2.0, 3.0])
    array([-10., -20., -30.])
    >>> spring([1.0, 2.0, 3.0], [1.0, 2.0]).shape  # a batch of two stiffnesses
    (2, 3)
    """
    if undeclared is not None:
        raise undeclared_shapes(undeclared)

    def decorate(plain: Callable[..., Result]) -> Function[Result]:
        def program() -> Program:
            return trace(plain, inputs, name=getattr(plain, "__name__", "function"), outputs=outputs)

        return Function(program, dtype=dtype, reference=plain, defaults=defaults_of(plain, list(inputs)))

    return decorate


def called(function: Function[Any], *arguments: Any) -> Any:
    """Value of a function; inside a trace one call of its program, even if some of its arguments are numbers.

    For long functions that are used several times.
    """
    if holds_traced(arguments):
        return call_traced(function.program, arguments, inline=False)
    return function(*arguments)


def inlined(function: Function[Any], *arguments: Any) -> Any:
    """Value of a function; inside a trace its operations join the caller's, and fold with them, however many they are.

    For functions that are used once there, share much with others, or whose zeros are to be kept.
    """
    if holds_traced(arguments):
        return call_traced(function.program, arguments, inline=True)
    return function(*arguments)
