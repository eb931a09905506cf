"""Families of programs: functions whose keywords choose what is computed.

``arm.jacobian(q, frame="body")`` and ``rotation_from_euler_angles(angles, sequence="xyz")`` are calls of families. Each
choice of options is a program of its own, traced and compiled when it is first called; from then on such calls go
straight to its machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chasles.base.errors import ArgumentError
from chasles.engine.function import Function
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.program import Program
from chasles.engine.running.compiling import COMPILING, native_available
from chasles.engine.running.runner import Runner

if TYPE_CHECKING:
    from chasles.engine.cpython.dispatch import Dispatcher


class Family(Function, ABC):
    """A function of arrays and of options, which are plain values.

    Derivatives, exports and `program` are those of the call without options; `specialize` gives those of any other.

    Parameters
    ----------
    name
        Name of the function.
    inputs
        Names of the array arguments, in the order of the programs' inputs.
    parameters
        Names of the positional arguments, in order; default the inputs.
    reference, doc
        See `Function`.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[str],
        *,
        parameters: Sequence[str] | None = None,
        reference: Callable[..., Any] | None = None,
        doc: str | None = None,
    ) -> None:
        super().__init__(self._plain_program, reference=reference, doc=doc)
        self._name = name
        self._inputs = dict.fromkeys(inputs)
        self._parameters = tuple(inputs if parameters is None else parameters)
        self._functions: dict[Any, Function] = {}
        self._by_call: dict[Any, Function] = {}
        self._plain: Runner | None = None
        self._dispatcher: Dispatcher | None = None

    @abstractmethod
    def make(self, options: Mapping[str, Any]) -> Function:
        """Return the function for one complete choice of options; called once for each."""

    @abstractmethod
    def completed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options with the defaults of those that are missing, or say what is wrong with them."""

    @abstractmethod
    def option_names(self) -> Sequence[str]:
        """Names of the options."""

    def general_of(self, function: Function, options: Mapping[str, Any]) -> Callable[..., Any]:
        """Return what calls with these options are left to that are not of single samples."""
        return function.general_call

    def specialize(self, **options: Any) -> Function:
        """Return the function for one choice of options: its program, derivatives and exports."""
        chosen = self.completed(options)
        key = _with_types(chosen)
        try:
            known = self._functions.get(key)
        except TypeError:
            raise ArgumentError(
                f"{self.usage}: options must be plain values, such as tuples in place of lists, not {dict(options)}"
            ) from None
        if known is None:
            with COMPILING:
                known = self._functions.get(key) or self.make(chosen)
                self._functions[key] = known
        return known

    def general_call(self, *arguments: Any, out: Any = None, **keywords: Any) -> Any:
        """Compute, whatever the arguments are; all but single samples come here."""
        if not keywords and self._plain is not None and len(arguments) == len(self._inputs):
            return self._plain.call(arguments, out)
        arrays, options = self._sorted(arguments, keywords)
        function = self._chosen(options)
        result = function._runner.call(arrays, out)
        if arrays is arguments and function._runner.is_compiled:  # not where a trace takes the program alone
            self._choose_directly(function, options)
        return result

    def _sorted(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return the arrays in order, and the options: the arguments themselves where nothing must be moved."""
        if len(arguments) == len(self._inputs) and self._inputs.keys().isdisjoint(keywords):
            return arguments, keywords
        if len(arguments) > len(self._parameters):
            most = "at most " if len(self._parameters) > len(self._inputs) else ""
            raise TypeError(f"{self.usage} takes {most}{len(self._parameters)} arguments, not {len(arguments)}")
        given = dict(zip(self._parameters, arguments, strict=False))
        if not given.keys().isdisjoint(keywords):
            twice = next(name for name in keywords if name in given)
            raise TypeError(f"{self.usage} is given {twice} twice, by place and by name")
        given |= keywords
        missing = [name for name in self._inputs if name not in given]
        if missing:
            self.completed({name: value for name, value in given.items() if name not in self._inputs})  # any misspelt?
            raise TypeError(f"{self.usage} misses {', '.join(missing)}")
        return [given.pop(name) for name in self._inputs], given

    def _chosen(self, options: dict[str, Any]) -> Function:
        """Return the function for the options of a call, remembered by the call's own words."""
        key = _with_types(options)
        try:
            known = self._by_call.get(key)
        except TypeError:  # an option that is no plain value: refused below
            known = None
        if known is None:
            known = self.specialize(**options)
            self._by_call[key] = known
        return known

    def _choose_directly(self, function: Function, options: Mapping[str, Any]) -> None:
        """From now on let calls with these options go straight to machine code."""
        key = ("directly", *options.items())
        if key in self._by_call:
            return
        with COMPILING:
            if key in self._by_call:
                return
            if not options:
                self._plain = function._runner
            if not self.option_names():
                self._go_directly(function)
            elif native_available() and (address := function.direct_address) is not None:
                from chasles.engine.cpython.dispatch import Dispatcher

                self._dispatcher = self._dispatcher or Dispatcher(self.general_call, self._name)
                self._dispatcher.add(options, address, self.general_of(function, options), function)
                self.__call__ = self._dispatcher.call  # type: ignore[method-assign]
                self.call_directly(self._dispatcher.instance_address, self.general_call)
            self._by_call[key] = function

    def jacobian(self, output: str | None = None, wrt: str | None = None, **options: Any) -> Function:
        """Return the function of the exact partial derivatives for one choice of options; see `Function.jacobian`."""
        return self.specialize(**options).jacobian(output, wrt)

    def _without_options(self) -> Function:
        """Return the function of the call without options, or say how to choose those that it needs."""
        try:
            return self.specialize()
        except TypeError as error:
            if type(error) is not TypeError:
                raise
            raise TypeError(f"{error}. {self._name}.specialize(...) takes it and has all exports") from None

    def _plain_program(self) -> Program:
        return self._without_options().program

    @property
    def program(self) -> Program:
        """The program of the call without options."""
        return self._without_options().program

    @property
    def kernel(self) -> Kernel:
        """The program of the call without options with the way to run it."""
        return self._without_options().kernel

    @property
    def __name__(self) -> str:
        return self._name

    @property
    def usage(self) -> str:
        """How it is called, for messages."""
        return f"{self._name}({', '.join(self._parameters)})"


def _with_types(options: Mapping[str, Any]) -> tuple[tuple[str, type, Any], ...]:
    """Options as a key that tells 3 from 3.0 and True from 1, which equal each other."""
    return tuple((name, value.__class__, value) for name, value in options.items())
