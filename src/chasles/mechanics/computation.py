"""Computations of a robot: an algorithm traced for one description and compiled once for each call signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, ArgumentTypeError, ModelError, UnknownArgumentError, UnknownNameError
from chasles.engine import Function, Program, trace
from chasles.engine.arguments import as_array
from chasles.engine.family import Family
from chasles.engine.program.scalar import Traced
from chasles.engine.trace_cache import remembered
from chasles.geometry.elementary import REFERENCE_FRAMES
from chasles.mechanics.contract import contract
from chasles.mechanics.regular_masses import require_regular_masses
from chasles.model import Description, Tree, build_tree, has_masses, parameter_shapes
from chasles.model.parameters import VariedParameter, varied_parameters

P = ParamSpec("P")
Result = TypeVar("Result", covariant=True)

#: Results of computations.
Array: TypeAlias = NDArray[np.float64]
#: Array, or tuple of arrays, that the results are written into.
Out: TypeAlias = NDArray[Any] | tuple[NDArray[Any], ...] | None
#: Values of the robot's parameters that replace those of the description, by name.
Vary: TypeAlias = Mapping[str, ArrayLike] | None
#: Wrenches (m, f) of the environment on the robot, by frame.
Wrenches: TypeAlias = Mapping[str, ArrayLike] | None

#: Arguments that are configurations; all others are velocities, accelerations or torques.
CONFIGURATIONS = ("q", "q0", "q1")
#: Arguments that belong to the velocities of all joints, with loops too.
OF_ALL_JOINTS = ("joint_velocities", "joint_forces")
#: Keywords that do not choose among programs by their value.
_ARRAYS_BY_NAME = ("vary", "wrenches")
#: Options without a default, with the values that a call must choose from.
_CHOICES = {"frame": REFERENCE_FRAMES}
#: Packages that a trace runs: those below this one.
TRACED_PACKAGES = ("algorithms", "base", "engine", "geometry", "integrators", "mechanics", "model")


class HasDescription(Protocol):
    """Anything that describes a robot."""

    @property
    def description(self) -> Description:
        """The robot as data."""
        ...


def computes(
    algorithm: Callable[..., Any],
    *,
    closed: Callable[..., Any],
    outputs: Sequence[str] | type[tuple[Any, ...]],
    needs_masses: bool = False,
    inverts_masses: bool = False,
) -> Callable[[Callable[Concatenate[Any, P], Result]], Computation[P, Result]]:
    """Make a computation of the robot from a function of its kinematic tree.

    It decorates a method without body that declares how the computation is called: its arguments by place are the
    arrays, of shape (nq,) if they are called q, q0 or q1 and else of shape (n,); its keywords are handed to the
    algorithm, but for ``vary`` and ``out``, which concern the call. Its documentation is the algorithm's (`contract`),
    with the method's own docstring as a remark after the first paragraph.

    Parameters
    ----------
    algorithm
        Function of the tree, the arrays and the keywords.
    closed
        Function with the same arguments for robots with loops: a projection in `chasles.algorithms.closed_chain`, or
        `algorithm` itself where loops change nothing. There is no default: a forgotten projection would look right.
    outputs
        Names of the results, or the named tuple in which several are returned.
    needs_masses
        Whether the computation has no answer for a robot without any mass, and raises a ModelError.
    inverts_masses
        Whether it has none either where joints move no mass.
    """
    return lambda declaration: Computation(algorithm, closed, outputs, declaration, needs_masses, inverts_masses)


class Computation(Generic[P, Result]):
    """Descriptor that gives each robot its own `RobotFunction`."""

    def __init__(
        self,
        algorithm: Callable[..., Any],
        closed: Callable[..., Any],
        outputs: Sequence[str] | type[tuple[Any, ...]],
        declaration: Callable[..., Any],
        needs_masses: bool = False,
        inverts_masses: bool = False,
    ) -> None:
        self.algorithm = algorithm
        self.closed = closed
        self.needs_masses, self.inverts_masses = needs_masses, inverts_masses
        self.result = outputs if isinstance(outputs, type) else None
        self.outputs: Sequence[str] = outputs._fields if isinstance(outputs, type) else outputs  # type: ignore[attr-defined]
        update_wrapper(self, declaration, updated=())  # name, types and signature, for `help` and editors on the class
        self.declaration = declaration
        self.name = self.path = declaration.__name__
        _robot, *parameters = inspect.signature(declaration).parameters.values()
        self.signature = inspect.signature(declaration).replace(parameters=parameters)
        by_place = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.inputs = tuple(parameter.name for parameter in parameters if parameter.kind is by_place)
        self.takes_wrenches = "wrenches" in self.signature.parameters
        self.options = {
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.kind is not by_place and parameter.name not in (*_ARRAYS_BY_NAME, "out")
        }

    def __set_name__(self, owner: type, name: str) -> None:
        """Note where the computation is found: directly on robots, or in a `Part` of them."""
        self.owner = owner
        place: str = getattr(owner, "place", "")
        self.path = f"{place}.{name}" if place else name
        self.__doc__ = contract(self.algorithm, self.path, inspect.getdoc(self.declaration) or "")

    def __call__(self, robot: HasDescription, *args: P.args, **kwargs: P.kwargs) -> Result:
        """Compute for a robot, which a call on the class gives first: ``Robot.mass_matrix(arm, q)``."""
        if not isinstance(robot, self.owner):
            raise ArgumentTypeError(f"call {self.path} of a robot, arm.{self.path}(…), or give the robot first")
        return self.__get__(robot, type(robot))(*args, **kwargs)

    @overload
    def __get__(self, robot: None, owner: type) -> Computation[P, Result]: ...
    @overload
    def __get__(self, robot: HasDescription, owner: type) -> RobotFunction[P, Result]: ...
    def __get__(self, robot: HasDescription | None, owner: type) -> Computation[P, Result] | RobotFunction[P, Result]:
        if robot is None:
            return self
        # Found there from now on, before this descriptor: the first thread's, if there are several.
        function: RobotFunction[P, Result] = robot.__dict__.setdefault(self.name, RobotFunction(self, robot))
        return function


class RobotFunction(Family, Generic[P, Result]):
    """A computation of one robot.

    Called with arrays of shape (..., n), it broadcasts over the leading axes, as NumPy's ufuncs do, with an optional
    ``out=``. Arguments are positional or keywords. Two further keywords apply to every computation:

    ``vary``
        Mapping from parameters of the robot (see `Robot.parameters`) to values that replace those of the description:
        numbers or arrays, whose leading axes broadcast with the other arguments. Each set of names is compiled once.
        Impossible values, such as a negative mass, raise an error; functions from `specialize` accept all values.
    ``wrenches``
        Only for computations with forces of the environment: mapping from frames to wrenches (m, f) on the robot, shape
        (..., 6), about the frame's origin and in its axes, in N·m and N.

    Attributes
    ----------
    program
        Program of the plain call.
    reference
        The readable algorithm, a function of a kinematic tree and arrays; see `chasles.algorithms`.
    """

    __slots__ = ()
    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result:
            """Compute for each sample."""

    def __init__(self, computation: Computation[P, Result], robot: HasDescription) -> None:
        super().__init__(computation.path, computation.inputs, reference=computation.algorithm, doc=computation.__doc__)
        self._computation = computation
        self._robot = robot
        self._description = robot.description
        self._varied: dict[tuple[str, ...], list[VariedParameter]] = {}

    def general_call(
        self,
        *arguments: Any,
        out: Any = None,
        vary: Mapping[str, Any] | None = None,
        wrenches: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        """Compute for any arguments; all calls except single samples without keywords come here."""
        if "targets" in options:  # of a list programs cannot be looked up
            options["targets"] = _frames(self._description, options["targets"])
        if not (vary or wrenches):
            if not options and self._plain is not None and len(arguments) == len(self._inputs):
                return self._plain.call(arguments, out)
            return super().general_call(*arguments, out=out, **options)
        vary, wrenches = vary or {}, wrenches or {}
        arrays, options = self._sorted(arguments, options)
        self._check_varied(vary)
        function = self._chosen({**options, "vary": tuple(vary), "wrenches": tuple(wrenches)})
        return function.general_call(*arrays, *vary.values(), *wrenches.values(), out=out)

    def _check_varied(self, values: Mapping[str, Any]) -> None:
        """Refuse values of parameters that no robot can have, except those that are traced or that Dask computes."""
        names = tuple(values)
        parameters = self._varied.get(names)
        if parameters is None:
            parameters = self._varied[names] = varied_parameters(self._description, names)
        for parameter, given in zip(parameters, values.values(), strict=True):
            array = as_array(given, "", parameter.name)
            if isinstance(array, Traced) or getattr(array, "chunks", None) is not None:
                continue
            array = np.asarray(array)
            if array.dtype.kind != "O" and array.ndim >= parameter.ndim:  # the call itself says which shape is due
                parameter.check(array)

    def specialize(self, *, vary: Sequence[str] = (), wrenches: Sequence[str] = (), **options: Any) -> Function:
        """Return the compiled function for one call signature.

        Parameters
        ----------
        vary
            Names of parameters that become arguments, after the computation's own.
        wrenches
            Names of frames whose wrenches become arguments, after the parameters.
        **options
            The computation's own keywords.

        Returns
        -------
        Function
            Compiled function, with its ``program``, derivatives and exports.

        Examples
        --------
        >>> import chasles as ch
        >>> arm = ch.load("planar2r")
        >>> arm.inverse_dynamics.specialize(vary=["payload.mass"]).signature
        '(2),(2),(2),()->(2)'
        """
        return super().specialize(vary=tuple(vary), wrenches=tuple(wrenches), **options)

    def option_names(self) -> Sequence[str]:
        """Names of the options of this computation."""
        return tuple(self._computation.options)

    def completed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options completed by defaults; raise an error if any is invalid."""
        declared = self._computation.options
        for name in options:
            if name not in declared and name not in _ARRAYS_BY_NAME:
                known = [*self._inputs, *declared, "out", *_ARRAYS_BY_NAME]
                raise UnknownArgumentError(f"argument of {self.usage}", name, known)
        chosen: dict[str, Any] = {name: tuple(options.get(name, ())) for name in _ARRAYS_BY_NAME}
        for name, default in declared.items():
            value = options.get(name, None if default is inspect.Parameter.empty else default)
            if default is inspect.Parameter.empty:
                if value is None:
                    choice = ", ".join(map(repr, _CHOICES[name]))
                    raise TypeError(f"{self.__name__} needs a keyword: {name}=…, one of {choice}")
                if value not in _CHOICES[name]:
                    raise UnknownNameError(f"value of {name}", str(value), _CHOICES[name])
            if name == "target":
                value = _frame(self._description, value or "tool")
            elif name == "targets":
                value = _frames(self._description, value)
            chosen[name] = value
        return chosen

    def make(self, options: Mapping[str, Any]) -> Function:
        """Return the function for one complete choice of options."""
        computation, vary, wrenches = self._computation, options["vary"], options["wrenches"]
        if wrenches and not computation.takes_wrenches:
            raise ArgumentError(f"{self.__name__} takes no wrenches: forces of the environment do not enter it")
        if computation.needs_masses and not vary and not has_masses(self._description):
            raise ModelError(
                f"robot '{self._description.name}' has no masses: none of its links has a mass or an inertia, so "
                f"{self.__name__} has no answer. Give the links masses in its file, or solid rods as a guess by "
                "edit.nominal_bodies(), or identified values by inertial.with_values(…); kinematics works without "
                "them"
            )
        vary_masses = any("mass" in name or "inertia" in name for name in vary)
        if computation.inverts_masses and not (vary_masses or options.get("step")):  # friction stands in for mass there
            require_regular_masses(self._description, self.__name__)
        chosen = {name: value for name, value in options.items() if name not in _ARRAYS_BY_NAME}
        program = remembered(
            lambda: self._trace(vary, wrenches, chosen),
            TRACED_PACKAGES,
            (
                *(self.__name__, computation.algorithm, computation.closed),
                *(computation.inputs, computation.outputs, self._description, vary, wrenches, chosen),
            ),
        )
        return Function(program, reference=self.reference, doc=self.__doc__, result=computation.result)

    def signature_of_call(self) -> inspect.Signature:
        """Return the declared signature, as `inspect.signature` gives it."""
        return self._computation.signature

    def __reduce__(self) -> Any:
        return getattr, (self._robot, self._computation.name)

    def __repr__(self) -> str:
        return f"<{self.usage} of robot '{self._description.name}'>"

    @property
    def _algorithm(self) -> Callable[..., Any]:
        """What is traced: the projection to the independent velocities for a robot with loops."""
        return self._computation.closed if self._description.loops else self._computation.algorithm

    def _trace(self, vary: tuple[str, ...], wrenches: tuple[str, ...], options: Mapping[str, Any]) -> Program:
        computation, description = self._computation, self._description
        lengths = dict.fromkeys(CONFIGURATIONS, description.nq)
        lengths |= dict.fromkeys(OF_ALL_JOINTS, len(description.joint_velocity_names))
        lengths["actuator_forces"] = len(description.actuated_indices)
        shapes: dict[str, tuple[int, ...]] = {name: (lengths.get(name, description.nv),) for name in computation.inputs}
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
        count = len(computation.inputs)

        def compute(*arrays: Any) -> Any:
            varied = dict(zip(vary, arrays[count : count + len(vary)], strict=True))
            tree: Tree = build_tree(description, varied)
            keywords = dict(options)
            if computation.takes_wrenches:
                keywords["wrenches"] = dict(zip(frames, arrays[count + len(vary) :], strict=True))
            return self._algorithm(tree, *arrays[:count], **keywords)

        return trace(compute, shapes, name=self.__name__, outputs=computation.outputs)


def _frames(description: Description, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the frames that names mean, all of the robot if none are given."""
    if names is None:
        return description.frame_names
    if isinstance(names, str) or not names or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"targets must be names of frames, such as ['tool'], not {names!r}")
    return tuple(_frame(description, name) for name in names)


def _frame(description: Description, name: str) -> str:
    """Return the frame that a name means: ``"tool"`` is the default frame of every robot."""
    if not isinstance(name, str):
        raise ArgumentTypeError(
            f"target must be the name of one frame, such as 'tool', not {name!r}; "
            "frame_poses(q) and frame_jacobians(q, frame=…, targets=[…]) give those of several"
        )
    return description.tool if name == "tool" and name not in description.frame_names else name
