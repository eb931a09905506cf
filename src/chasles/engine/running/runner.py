"""Running one program: compiled on its first call, or made part of the program that is being traced.

Machine code comes in two widths that compute the same, bit for bit. What fills the widest vectors with samples would,
of a single sample, move and divide lanes that nobody looks at: a simulation of one run takes half as long again in it.
So there is code of the narrowest vectors besides, compiled first; the wide one follows once there is work for it.
Only the first call waits for a compiler: whatever code is there serves all calls until the other has been made aside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array, explained
from chasles.engine.kernels.empty_arrays import BesideEmpty, without_empty
from chasles.engine.kernels.foreign import foreign_call
from chasles.engine.kernels.shapes import (
    UNINTERRUPTED_WORK,
    CoreArray,
    Kernel,
    Shape,
    Width,
    few_samples,
    work_of_a_sample,
)
from chasles.engine.kernels.threads import get_threads
from chasles.engine.program.program import Program
from chasles.engine.program.records import is_record, parts_of
from chasles.engine.program.scalar import Traced
from chasles.engine.program.tracing import call_traced
from chasles.engine.running import aside
from chasles.engine.running.compiling import COMPILING, native, native_available
from chasles.engine.running.pieces import WORTH_PIECES, call_in_pieces

if TYPE_CHECKING:
    from chasles.engine.running.machine_code import CompiledKernel

#: A function of more operations than this stays one call in a caller's program; a shorter one joins it.
INLINE_LIMIT = 300
#: Largest number of iterations that a solve counts exactly.
_MOST_ITERATIONS = 2.0**53
#: Runs of a program in batches from which code for many samples is compiled.
WORTH_WIDE = 10_000


class Runner:
    """A program with the way to run it, in one type of numbers.

    Parameters
    ----------
    source
        The program, or a function without arguments that gives it when it is first needed.
    shape, dtype
        See `chasles.engine.Function`.
    doc
        Documentation of the ufunc.
    result
        Named tuple in which several results are returned; default a plain tuple.
    wide
        Whether code for many samples is worth compiling from the first call on.
    """

    def __init__(
        self,
        source: Program | Callable[[], Program],
        shape: Shape,
        dtype: str,
        doc: str,
        result: type | None,
        wide: bool = False,
    ) -> None:
        self._source = source
        self.shape = shape
        self._dtype = np.dtype(dtype)
        if self._dtype not in (np.float64, np.float32):
            raise ArgumentError(f"dtype must be 'float64' or 'float32', not {dtype!r}")
        self.dtype = self._dtype.name
        self._doc = doc
        self.result = result
        self._compiled: dict[Width, CompiledKernel] = {}
        self._few: Callable[..., Any] | None = None
        self._many: Callable[..., Any] | None = None
        self._few_samples = few_samples(self.dtype)
        self._runs = WORTH_WIDE if wide else 0

    @cached_property
    def program(self) -> Program:
        """The program that it runs."""
        return self._source if isinstance(self._source, Program) else self._source()

    @cached_property
    def kernel(self) -> Kernel:
        """The program with the way to run it."""
        return Kernel(self.program, self.shape)

    @cached_property
    def usage(self) -> str:
        """How it is called, for messages."""
        return f"{self.program.name}({', '.join(a.name for a in self.kernel.inputs)})"

    def call(self, arguments: Sequence[Any], out: Any = None) -> Any:
        """Compute the outputs for each sample, whatever the arguments are."""
        if not self.is_compiled and holds_traced(arguments):  # no need to compile it
            return self._inside_trace(arguments)
        if len(arguments) != len(self._ranks):  # NumPy would take further arguments for outputs and overwrite them
            raise TypeError(f"{self.usage} takes {len(self._ranks)} arguments, not {len(arguments)}")
        given, foreign, samples = self._arrays(arguments)
        if foreign and out is None and (call := foreign_call(given)) is not None:
            return self._in_result(call(self.call, self.kernel, self.dtype, given))
        if isinstance(out, tuple):
            out = tuple(out)  # NumPy takes no named tuple, which is what an earlier call returned
            self._check_apart(out)
        runs = samples if self.shape == "map" else samples * self._repetitions(given)
        ufunc = self._few if samples <= self._few_samples else self._many
        if ufunc is None:
            ufunc = self._chosen(samples, runs)
        try:
            if runs * self._work > WORTH_PIECES:
                result = self._long_call(ufunc, given, out, runs * self._work, samples)
            else:
                result = ufunc(*given) if out is None else ufunc(*given, out=out)
        except (TypeError, ValueError, SystemError) as error:
            return self._answer_to(error, arguments, given, out)
        return self._in_result(result)

    def _arrays(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], bool, int]:
        """Return arrays and floats to compute with, whether some are of another library, and the number of samples."""
        given, foreign = arguments, False
        batch: tuple[int, ...] = ()
        for k, (argument, rank) in enumerate(zip(arguments, self._ranks)):  # noqa: B905  (they are as many)
            kind = argument.__class__
            if kind is float:
                continue
            if kind is not np.ndarray or argument.dtype is not self._dtype:
                given = list(given)
                argument = given[k] = self._cast(argument, self._cores[k])
                if argument.__class__ is not np.ndarray:
                    foreign = True
                    continue
            if argument.ndim > rank and (axes := argument.shape[: argument.ndim - rank]) != batch:
                batch = _broadcast(batch, axes)
        return given, foreign, math.prod(batch)

    def _long_call(self, ufunc: Callable[..., Any], given: Sequence[Any], out: Any, work: int, samples: int) -> Any:
        """Compute in pieces where several threads share them, interrupts are to be answered or memory is recycled."""
        if work > UNINTERRUPTED_WORK or out is None or get_threads() > 1:
            latest = ufunc if samples <= self._few_samples else self._call_latest
            return call_in_pieces(latest, self.kernel, given, out, self.dtype, work, self)
        return ufunc(*given, out=out)

    def _answer_to(self, error: Exception, arguments: Sequence[Any], given: Sequence[Any], out: Any) -> Any:
        """Join the trace if arguments are traced scalars; else explain why NumPy refused the call."""
        if isinstance(error, SystemError):  # how NumPy passes on that a kernel found no memory
            raise error.__cause__ or error from None
        if holds_traced(arguments):
            return self._inside_trace(arguments)
        raise explained(error, self.usage, self._cores, given, self.kernel.outputs, out) from None

    def _in_result(self, result: Any) -> Any:
        if self._gives_records:
            arrays = result if result.__class__ is tuple else (result,)
            each = [a if core.layout is None else core.layout.split(a) for core, a in zip(self.kernel.outputs, arrays)]  # noqa: B905
            result = each[0] if len(each) == 1 else tuple(each)
        return result if self.result is None or result.__class__ is not tuple else self.result(*result)

    @cached_property
    def _gives_records(self) -> bool:
        return any(core.layout is not None for core in self.kernel.outputs)

    def direct_call(self, general: Callable[..., Any]) -> Callable[..., Any]:
        """Return a callable that computes single samples at once and hands every other call to ``general``."""
        code = self.direct_code
        return general if code is None else code.direct_call(general)

    @property
    def direct_code(self) -> CompiledKernel | None:
        """The machine code that direct calls go to, if there can be such calls."""
        code = None if self._gives_records else self._first_code
        return None if code is None or code.direct_address is None else code

    @property
    def direct_address(self) -> int | None:
        """Address of the machine code of the direct call for single samples, if there is one."""
        compiled = self._first_code
        return None if compiled is None else compiled.direct_address

    @property
    def _first_code(self) -> CompiledKernel | None:
        """The machine code that calls go to first, compiled now if there is none; None where there is no machine code.

        Other code that it hands calls to may be compiled later.
        """
        if not self.is_compiled:
            self._compile("few")
        known = self._compiled
        return known.get("few") or known.get("any") or known.get("many")

    @property
    def is_compiled(self) -> bool:
        """Whether it has been called, or made ready to be."""
        return self._few is not None or self._many is not None

    def _cast(self, argument: Any, core: CoreArray) -> Any:
        """Turn an argument into an array, in float32 if that is what is computed: NumPy would not by itself."""
        if core.layout is not None and is_record(argument):
            argument = core.layout.join(argument)
        array = as_array(argument, self.usage, core.name)
        if self.dtype == "float32" and array.__class__ is np.ndarray and array.dtype.kind != "O":
            return array.astype(np.float32)
        return array

    def _check_apart(self, out: tuple[Any, ...]) -> None:
        arrays = [array for array in out if isinstance(array, np.ndarray)]
        for k, array in enumerate(arrays):
            if any(np.may_share_memory(array, other) for other in arrays[:k]):
                raise ArgumentError(f"{self.usage}: the arrays of out share memory; one would overwrite another")

    def _repetitions(self, arguments: Sequence[Any]) -> int:
        """Return the largest number of runs of a scan's or solve's program, at least 1."""
        if self.shape == "scan":
            shape = np.shape(arguments[1])
            steps = shape[: len(shape) - len(self.program.inputs[1].shape)][-2:]
            if steps[-1:] == (0,):
                name = self.program.inputs[1].name
                raise ArgumentError(f"{self.usage}: each row of {name} must have at least one step, not 0")
            return math.prod(steps)
        limit = np.asarray(arguments[-1])
        if not ((limit >= 1) & (limit <= _MOST_ITERATIONS)).all():
            raise ArgumentError(f"{self.usage}: max_iterations must be at least 1 and at most 2**53")
        return int(limit.max(initial=1))

    @cached_property
    def _cores(self) -> tuple[CoreArray, ...]:
        return self.kernel.inputs

    @cached_property
    def _ranks(self) -> list[int]:
        return [len(core.dims) for core in self._cores]

    @cached_property
    def _work(self) -> int:
        return max(1, work_of_a_sample(self.kernel))

    def _chosen(self, samples: int, runs: int) -> Callable[..., Any]:
        """Return the code for a call of so many samples and runs of the program; its first call compiles it."""
        width: Width = "few"
        if samples > self._few_samples:
            self._runs += runs
            width = "many" if self._runs >= WORTH_WIDE else "few"
        there = self._few if width == "few" else self._many
        if there is not None:
            return there
        there = self._few or self._many
        if there is None:
            return self._compile(width)
        aside.ask(self, width)
        return there

    def _call_latest(self, *arguments: Any, **out: Any) -> Any:
        """Call the code for many samples if it is there by now: a long call need not end with what it began with."""
        code = self._many or self._few
        assert code is not None
        return code(*arguments, **out)

    def _compile(self, width: Width) -> Callable[..., Any]:
        """Return code for a first call, compiled now if there is none of any width."""
        with COMPILING:
            if not self.is_compiled:  # by another thread
                self.compile(width)
        there = (self._few if width == "few" else self._many) or self._few or self._many
        assert there is not None
        return there

    def compile(self, width: Width) -> None:
        """Compile code of a width and let calls go to it from then on."""
        kernel = self.kernel
        filled = without_empty(kernel) if native_available() else None
        if filled is None:
            from chasles.engine.targets.numpy import compile_kernel as compile_numpy

            self._few = self._many = compile_numpy(kernel, self.dtype)
            return
        if not native.has_widths(self.dtype):
            width = "any"
        compiled = native.compile_kernel(filled, self.dtype, self._doc, self.result, width=width)
        ufunc: Callable[..., Any] = compiled.ufunc
        with COMPILING:
            if filled is kernel:
                self._compiled[width] = compiled
                if len(self._compiled) == 2:
                    native.link(self._compiled["few"], self._compiled["many"])
            else:
                ufunc = BesideEmpty(kernel, self.dtype, ufunc)
            if width != "many":
                self._few = ufunc
            if width != "few":
                self._many = ufunc

    def loop(self, samples: int) -> tuple[int, object] | None:
        """Address of the loop in machine code for so many samples and the owner of that code; None where there is none.

        It takes all arrays of the kernel that are not empty, as NumPy passes them to the loops of its ufuncs.
        """
        filled = without_empty(self.kernel) if native_available() else None
        if filled is None:
            return None
        width: Width = "few" if samples <= self._few_samples else "many"
        compiled = self._compiled.get(width if native.has_widths(self.dtype) else "any")
        if compiled is not None:
            return compiled.loop_address, compiled.code
        with COMPILING:
            address, code = native.loop_of(filled, self.dtype, samples)
        return address, code

    def give_up(self, width: Width) -> None:
        """Let the code that is there serve all calls."""
        if width == "few":
            self._few = self._few or self._many
        else:
            self._many = self._many or self._few

    def _inside_trace(self, arguments: Sequence[Any]) -> Any:
        if self.shape != "map":
            raise ArgumentError(f"{self.program.name} is a {self.shape} and cannot be part of another program")
        if len(arguments) != len(self.program.inputs):
            raise TypeError(f"{self.usage} takes {len(self.program.inputs)} arguments, not {len(arguments)}")
        known = any(not holds_traced([argument]) for argument in arguments)
        inline = known or self.program.operation_count <= INLINE_LIMIT
        return self._in_result(call_traced(self.program, arguments, inline=inline))


@cache
def compiled(kernel: Kernel, dtype: str) -> Callable[[Sequence[Any]], Any]:
    """Return the function of a list of arrays that runs a kernel."""
    return Runner(kernel.program, kernel.shape, dtype, "", None).call


def _broadcast(batch: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the broadcast shape of two that fit; NumPy refuses others later."""
    count = max(len(batch), len(axes))
    batch, axes = (1,) * (count - len(batch)) + batch, (1,) * (count - len(axes)) + axes
    return tuple(b if a == 1 else a for a, b in zip(axes, batch, strict=True))


def holds_traced(arguments: Sequence[Any]) -> bool:
    """Whether one of the arguments is a traced scalar or holds one."""
    return any(_holds_traced(argument) for argument in arguments)


def _holds_traced(argument: object) -> bool:
    if isinstance(argument, np.ndarray):
        return argument.dtype == object and any(isinstance(item, Traced) for item in argument.ravel())
    if isinstance(argument, list | tuple):
        return any(map(_holds_traced, argument))
    if is_record(argument):
        return any(_holds_traced(value) for _, value in parts_of(argument))
    return isinstance(argument, Traced)
