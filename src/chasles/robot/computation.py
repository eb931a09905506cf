"""Computations of a robot: an algorithm traced for one description, compiled once for each way of calling it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from chasles.engine import Function, Program, trace
from chasles.engine.function import COMPILING, new_dispatcher
from chasles.errors import ArgumentError, UnknownNameError
from chasles.model import Description, Tree, build_tree, parameter_shapes

if TYPE_CHECKING:
    from chasles.engine.targets.native.dispatch import Dispatcher

#: Default of an option: a value, or a function of the description that gives it.
Default = Any


#: Arguments that are configurations; all others are velocities, accelerations or torques.
CONFIGURATIONS = ("q", "q0", "q1")


class OneOf(tuple[str, ...]):
    """The values of an option that a call must choose from."""


class HasDescription(Protocol):
    """Anything that describes a robot."""

    @property
    def description(self) -> Description:
        """The robot as data."""
        ...


class computes:  # noqa: N801  (a decorator, and read as a verb)
    """Make a computation of the robot from a function of its kinematic tree.

    Parameters
    ----------
    *inputs
        Names of the arguments after the tree: configurations, of shape (nq,), are called q, q0 or q1; all others have
        the shape (n,).
    outputs
        Names of the results.
    wrenches
        Whether the function takes a keyword ``wrenches`` with forces of the environment.
    **options
        Keywords of the function that select what is computed, with their defaults.
    """

    def __init__(
        self, *inputs: str, outputs: Sequence[str] | None = None, wrenches: bool = False, **options: Default
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.wrenches = wrenches
        self.options = options

    def __call__(self, algorithm: Callable[..., Any]) -> Computation:
        """Return the descriptor."""
        return Computation(self, algorithm)


class Computation:
    """Descriptor that gives each robot its own `RobotFunction`."""

    def __init__(self, declared: computes, algorithm: Callable[..., Any]) -> None:
        self.declared = declared
        self.algorithm = algorithm
        self.__doc__ = inspect.getdoc(algorithm)
        self.__module__ = algorithm.__module__  # where doctest looks for the examples

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.__name__ = name

    @overload
    def __get__(self, robot: None, owner: type) -> Computation: ...
    @overload
    def __get__(self, robot: HasDescription, owner: type) -> RobotFunction: ...
    def __get__(self, robot: HasDescription | None, owner: type) -> Computation | RobotFunction:
        if robot is None:
            return self
        function = RobotFunction(self, robot)
        robot.__dict__[self.name] = function  # found there from now on, before this descriptor
        return function


class RobotFunction:
    """One computation of one robot.

    Called with arrays of shape (..., n) it broadcasts over the leading axes, as NumPy's ufuncs do, with ``out=`` if
    wanted. Two further keywords hold for every computation:

    ``vary``
        A mapping from parameters of the robot (see `Robot.parameters`) to values that replace those of the description:
        numbers or arrays, whose leading axes broadcast with the other arguments. Each set of names is compiled once.
    ``wrenches``
        For computations in which forces of the environment take part: a mapping from frames to wrenches (m, f), shape
        (..., 6), that act on the robot, about the frame's origin and in its axes, in N m and N.

    Attributes
    ----------
    program
        The program of the plain call.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(self, computation: Computation, robot: HasDescription) -> None:
        self._computation = computation
        self._robot = robot
        self._description = robot.description
        self._functions: dict[tuple[Any, ...], Function] = {}
        self._by_call: dict[tuple[Any, ...], Function] = {}
        self._dispatcher: Dispatcher | None = None
        self.__doc__ = computation.__doc__
        self.__name__ = computation.name
        self.__call__ = self.general_call

    def general_call(
        self,
        *arguments: Any,
        out: Any = None,
        vary: Mapping[str, Any] | None = None,
        wrenches: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """Compute, whatever the arguments are; all but single samples without keywords come here."""
        key = (*options.items(), *(vary or ()), None, *(wrenches or ()))
        try:
            function = self._by_call.get(key)
        except TypeError:  # an array under a keyword that there is not
            function = None
        if function is None:
            function = self.specialize(vary=tuple(vary or ()), wrenches=tuple(wrenches or ()), **options)
            with COMPILING:
                if key not in self._by_call and not (vary or wrenches):
                    self._choose_directly(options, function)
                self._by_call[key] = function
        if not (vary or wrenches):
            return function.general_call(*arguments, out=out)
        expected = len(self._computation.declared.inputs)
        if len(arguments) != expected:
            names = ", ".join(self._computation.declared.inputs)
            raise TypeError(f"{self.__name__}({names}) takes {expected} arguments, not {len(arguments)}")
        return function.general_call(*arguments, *(vary or {}).values(), *(wrenches or {}).values(), out=out)

    def _choose_directly(self, options: Mapping[str, Any], function: Function) -> None:
        """From now on let calls with these options go straight to the machine code of a function."""
        if not self._computation.declared.options:
            self.__call__ = function.direct_call(self.general_call)
            return
        if self._dispatcher is None:
            self._dispatcher = new_dispatcher(self.general_call, self.__name__)
        if self._dispatcher is not None and function.direct_address is not None:
            self._dispatcher.add(options, function.direct_address, function.general_call, function)
            self.__call__ = self._dispatcher.call

    def specialize(self, *, vary: Sequence[str] = (), wrenches: Sequence[str] = (), **options: Any) -> Function:
        """Return the compiled function for one way of calling.

        Parameters
        ----------
        vary
            Names of parameters that become arguments, after the usual ones.
        wrenches
            Names of frames whose wrenches become arguments, after the parameters.
        **options
            The computation's own keywords.

        Returns
        -------
        Function
            With its ``program``, derivatives and exports.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> arm.inverse_dynamics.specialize(vary=["payload.mass"]).signature
        '(2),(2),(2),()->(2)'
        """
        chosen = self._complete(options)
        key = (tuple(vary), tuple(wrenches), tuple(sorted(chosen.items())))
        with COMPILING:
            if key not in self._functions:
                if wrenches and not self._computation.declared.wrenches:
                    raise ArgumentError(f"{self.__name__} takes no wrenches: forces of the environment do not enter it")
                self._functions[key] = Function(self._trace(tuple(vary), tuple(wrenches), chosen), doc=self.__doc__)
            return self._functions[key]

    @property
    def program(self) -> Program:
        """The program of the plain call."""
        return self.specialize().program

    def jacobian(self, output: str | None = None, wrt: str | None = None) -> Function:
        """Return the function of the exact partial derivatives of the plain call.

        Parameters
        ----------
        output, wrt
            Names of a result and an argument; default all.

        Examples
        --------
        >>> import chasles as ch
        >>> slopes = ch.load("planar2r").gravity_torque.jacobian(wrt="q")
        >>> slopes([-1.5707963267948966, 0.0]).round(5)  # hanging: 5.625 and 0.625 times 9.80621
        array([[55.15993,  6.12888],
               [ 6.12888,  6.12888]])
        """
        return self.specialize().jacobian(output, wrt)

    def astype(self, dtype: str) -> Function:
        """Return the plain call computing in ``"float32"`` or ``"float64"``.

        >>> import chasles as ch
        >>> ch.load("planar2r").center_of_mass.astype("float32")([0.0, 0.0]).dtype
        dtype('float32')
        """
        return self.specialize().astype(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._robot, self.__name__)

    def __repr__(self) -> str:
        inputs = ", ".join(self._computation.declared.inputs)
        return f"<{self.__name__}({inputs}) of robot '{self._description.name}'>"

    def _complete(self, options: Mapping[str, Any]) -> dict[str, Any]:
        declared = self._computation.declared.options
        inputs = self._computation.declared.inputs
        for name in options:
            if name in inputs:
                raise TypeError(
                    f"the arguments of {self.__name__}({', '.join(inputs)}) are given by place, not by name"
                )
            if name not in declared:
                raise UnknownNameError(f"keyword of {self.__name__}", name, [*declared, "out", "vary", "wrenches"])
        chosen = {}
        for name, default in declared.items():
            value = options.get(name)
            if isinstance(default, OneOf):
                if value is None:
                    choice = ", ".join(map(repr, default))
                    raise TypeError(f"{self.__name__} needs a keyword: {name}=…, one of {choice}")
                if value not in default:
                    raise UnknownNameError(f"value of {name}", str(value), default)
            elif value is None:
                value = default(self._description) if callable(default) else default
            chosen[name] = _frame(self._description, value) if name == "target" else value
        return chosen

    def _trace(self, vary: tuple[str, ...], wrenches: tuple[str, ...], options: Mapping[str, Any]) -> Program:
        computation, description = self._computation, self._description
        shapes: dict[str, tuple[int, ...]] = {
            name: (description.nq if name in CONFIGURATIONS else description.nv,)
            for name in computation.declared.inputs
        }
        known = parameter_shapes(description) if vary else {}
        for name in vary:
            if name not in known:
                raise UnknownNameError("parameter", name, known)
            shapes[name] = known[name]
        frames = [_frame(description, name) for name in wrenches]
        for frame in frames:
            if frames.count(frame) > 1:
                raise ArgumentError(f"wrenches name the frame '{frame}' twice; add them up")
            shapes[f"wrench.{frame}"] = (6,)
        count = len(computation.declared.inputs)

        def compute(*arrays: Any) -> Any:
            varied = dict(zip(vary, arrays[count : count + len(vary)], strict=True))
            tree: Tree = build_tree(description, varied)
            keywords = dict(options)
            if computation.declared.wrenches:
                keywords["wrenches"] = dict(zip(frames, arrays[count + len(vary) :], strict=True))
            return computation.algorithm(tree, *arrays[:count], **keywords)

        return trace(compute, shapes, name=self.__name__, outputs=computation.declared.outputs)


def _frame(description: Description, name: str) -> str:
    """Return the frame that a name means: ``"tool"`` is the default frame of every robot."""
    return description.tool if name == "tool" and name not in description.frame_names else name
