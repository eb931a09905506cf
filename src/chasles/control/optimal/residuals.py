"""Residuals: what a motion should make small, or zero at its end.

A residual r is a formula of the state, the torques, the time and named values that are given when the problem is
solved. As a cost it counts ½ Σ w r², with a weight w; in the list of exact ends it must be zero.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.base.sealed import Sealed
from chasles.control.optimal.drives import STATES
from chasles.control.optimal.pose_residual import PoseResidual
from chasles.engine.program.scalar import Array
from chasles.engine.validators import reals
from chasles.robot.robot import Robot

#: Names of what every residual may take; all others are values given to `OptimalControl.solve`.
REFERENCE = ("q_reference", "qd_reference", "tau_reference")
FIRST = ("first_q", "first_qd")
KNOWN = ("robot", "q", "qd", "tau", "tau_rate", "forces", "t", "start", *FIRST, *REFERENCE, *STATES)
#: Of these, what acts over a step.
_ACTING = {"tau", "tau_rate", "forces"}
#: Names of arguments, which no value can have.
_TAKEN = (*KNOWN, "w", "scale", "multiplier", "velocity", "guess", "reference", "vary", "iterations", "watch")
_JOINTS = ("n",)
#: Target that stands for the motion to follow.
_MOTION = "reference"


class Residual(Sealed):
    """A formula that should be small, with its weight.

    Parameters
    ----------
    function
        Function that returns the residual, a number or an array (m,), in operations that `chasles.function` traces. It
        takes what it needs by name: ``q`` (nq,), ``qd``, ``tau`` (n,), ``tau_rate`` (the rates of torques, (n,)),
        ``t`` (s), ``start`` (the initial positions, (nq,)), ``first_q``, ``first_qd`` (the state at the first node,
        which then is free), ``robot``, ``forces`` (of the contacts in `keep`, in world axes, (contacts, 3)),
        ``current``, ``motor_position`` and ``motor_velocity`` (of a plant that has these as states, (n,)),
        ``q_reference``, ``qd_reference``, ``tau_reference`` (the motion to follow and the torques that it needs in the
        middle of a step), and the values named below.
    weight
        Weight w of ½ w r², one number or (m,), not negative. In running costs it is a rate, per second.
    arguments
        Names of the function's arguments in order; default those in its signature.
    is_held
        Whether it must be zero in `keep`; see `held`.
    **values
        Shape of each named value that the function takes and `OptimalControl.solve` is given, such as ``()`` or
        ``(3,)``; ``"n"`` stands for the number of velocities, ``"nq"`` for that of coordinates.

    Raises
    ------
    UnknownNameError
        The function takes an argument that is not known.

    Examples
    --------
    The end effector should keep a height that is chosen later:

    >>> height = Residual(lambda robot, q, z: robot.forward_kinematics(q)[2, 3] - z, weight=100.0, z=())
    >>> 3.0 * height
    <Residual of robot, q, z, weight 300>
    """

    #: Lets NumPy leave ``weights * residual`` to the residual.
    __array_ufunc__ = None

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        weight: ArrayLike = 1.0,
        arguments: Sequence[str] | None = None,
        is_held: bool = False,
        **values: tuple[int | str, ...],
    ) -> None:
        if not callable(function):
            raise ArgumentError(f"a residual is a function of {', '.join(KNOWN)} and named values, not {function!r}")
        self.function = function
        self.weight = reals(weight, "weight", at_least=0.0)
        if self.weight.ndim > 1:
            raise ArgumentError(f"weight has shape {self.weight.shape}; expected one number or (m,)")
        self.values, self.is_held = values, is_held
        self.arguments = tuple(inspect.signature(function).parameters if arguments is None else arguments)
        for name in self.arguments:
            if name not in (*KNOWN, *values):
                of = f"a residual (a value of your own needs its shape: Residual(function, {name}=(3,)))"
                raise UnknownNameError("argument", name, [*KNOWN, *values], of=of)

    def __rmul__(self, factor: ArrayLike) -> Residual:
        weight = np.multiply(factor, self.weight)
        return Residual(self.function, weight=weight, arguments=self.arguments, is_held=self.is_held, **self.values)

    @property
    def takes_torques(self) -> bool:
        """Whether it depends on torques, those of a motion to follow included."""
        return not {*_ACTING, "tau_reference"}.isdisjoint(self.arguments)

    def weighted(self, known: Mapping[str, Any]) -> Array:
        """Return √w r (m,), for numbers or traced scalars by name."""
        if any(name in _ACTING and name not in known for name in self.arguments):
            raise ArgumentError(f"{self!r} depends on torques, but no torque acts at the end of a motion")
        missing = [name for name in self.arguments if name in STATES and name not in known]
        if missing:
            raise ArgumentError(f"{self!r} takes {missing[0]}, but the problem has no plant with {STATES[missing[0]]}")
        if isinstance(self.function, PoseResidual) and "twists" in known:
            value = known["twists"].value(self.function, self.arguments, known)
        else:
            value = self.function(*(known[name] for name in self.arguments))
        r = np.atleast_1d(np.asarray(value))
        if r.ndim > 1 or (self.weight.ndim and self.weight.shape != r.shape):
            raise ArgumentError(f"{self!r} has shape {r.shape}, its weight {self.weight.shape}; expected (m,) for both")
        return np.asarray(np.sqrt(self.weight) * r)

    def __repr__(self) -> str:
        weight = f"{self.weight:g}" if not self.weight.ndim else str(self.weight.tolist())
        return f"<Residual of {', '.join(self.arguments) or 'nothing'}, weight {weight}>"


def as_residuals(given: Sequence[Residual | Callable[..., Any]], name: str) -> tuple[Residual, ...]:
    """Return a list of residuals, with functions among them as residuals of weight 1.

    >>> as_residuals([lambda q: q - 1.0], "running")
    (<Residual of q, weight 1>,)
    """
    if isinstance(given, Residual) or callable(given):
        raise ArgumentError(f"{name} must be a list of residuals, not {given!r}; put it in brackets")
    return tuple(each if isinstance(each, Residual) else Residual(each) for each in given)


def stacked(residuals: Sequence[Residual], known: Mapping[str, Any]) -> Array:
    """Return all weighted residuals, one after the other."""
    return np.concatenate([np.zeros(0), *(each.weighted(known) for each in residuals)])


def shapes_of_values(residuals: Sequence[Residual], robot: Robot) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the values that residuals of a robot name.

    >>> import chasles as ch
    >>> shapes_of_values([position("goal")], ch.load("planar2r"))
    {'goal': (2,)}
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for residual in residuals:
        for name, given in residual.values.items():
            sizes = {"n": robot.n, "nq": robot.nq}
            shape = tuple(sizes[size] if isinstance(size, str) else size for size in given)
            if name in _TAKEN:
                raise ArgumentError(
                    f"a value cannot be called '{name}': that is an argument of all residuals or of solve"
                )
            if shapes.setdefault(name, shape) != shape:
                raise ArgumentError(f"two residuals take '{name}', of shapes {shapes[name]} and {shape}")
    return shapes


def pose(target: str | ArrayLike, *, frame: str = "") -> Residual:
    """Twist from a target pose to that of a frame, (6,): rotation first, in rad and m, in the axes of the target.

    Parameters
    ----------
    target
        Pose (4, 4), the name under which `OptimalControl.solve` is given it, or ``"reference"``, where the motion to
        follow has the frame.
    frame
        Frame or link of the robot; default its tool.

    Examples
    --------
    >>> 1e3 * pose("goal")
    <Residual of robot, q, goal, weight 1000>
    """
    if isinstance(target, str) and target == _MOTION:
        return Residual(PoseResidual(frame, follows=True), arguments=("robot", "q", "q_reference"))
    if isinstance(target, str):
        return _from_target(PoseResidual(frame), "q", target, (4, 4))
    constant = PoseResidual(frame, tuple(reals(target, "target", (4, 4)).ravel().tolist()))
    return Residual(constant, arguments=("robot", "q"))


def position(target: str | ArrayLike = "start") -> Residual:
    """Joint positions less a target, (n,), rad (m for prismatic joints); displacements from it, `Robot.difference`.

    Parameters
    ----------
    target
        Positions (nq,), the name under which `OptimalControl.solve` is given them, ``"start"``, the initial ones, or
        ``"reference"``, those of the motion to follow.

    Examples
    --------
    >>> position([0.0, 1.0])
    <Residual of robot, q, weight 1>
    """
    return _from_target(_displacement, "q", target, ("nq",))


def velocity(target: str | ArrayLike = 0.0) -> Residual:
    """Joint velocities less a target, (n,), rad/s (m/s for prismatic joints).

    Parameters
    ----------
    target
        Velocities (n,), the name under which `OptimalControl.solve` is given them, or ``"reference"``, those of the
        motion to follow; default rest.
    """
    return _from_target(_difference, "qd", target, _JOINTS)


def torque(target: str | ArrayLike = 0.0) -> Residual:
    """Joint torques less a target, (n,), N·m (N for prismatic joints); zero at joints without a motor.

    Parameters
    ----------
    target
        Torques (n,), the name under which `OptimalControl.solve` is given them, or ``"reference"``, those that the
        motion to follow needs; default none.
    """
    return _from_target(_difference, "tau", target, _JOINTS)


def torque_rate() -> Residual:
    """Rates of the joint torques, (n,), N·m/s (N/s for prismatic joints): torques then are states.

    They begin as those that hold the start without acceleration, and ends may name ``tau``.

    Examples
    --------
    >>> 1e-4 * torque_rate()
    <Residual of tau_rate, weight 0.0001>
    """
    return Residual(lambda tau_rate: tau_rate)


def power_reserve(limit: ArrayLike, *, total: bool = False) -> Residual:
    """What is left of a limit of the power τ q̇, as a share of it: for `keep`, where it must not be negative.

    A torque is held over a step; its power is that at the node where it begins.

    Parameters
    ----------
    limit
        Largest power that each joint may give or take, W, one number or (n,); infinite for none. Or, if `total`, the
        largest sum that the joints may draw.
    total
        Whether the limit is of the sum over all joints.

    Examples
    --------
    >>> power_reserve(50.0)
    <Residual of qd, tau, weight 1>
    """
    most = reals(limit, "limit", above=0.0, infinite=True)
    if total and most.ndim:
        raise ArgumentError(f"limit has shape {most.shape}; a limit of the total power is one number")
    if total:
        return Residual(lambda qd, tau: 1.0 - (tau @ qd) / most)

    def reserve(qd: Array, tau: Array) -> Array:
        largest = np.broadcast_to(most, (len(qd),))
        share = (tau * qd / largest)[np.isfinite(largest)]
        return np.concatenate([1.0 - share, 1.0 + share])

    return Residual(reserve)


def held(residual: Residual | Callable[..., Any]) -> Residual:
    """The same residual for `keep`, where it must then be zero at all nodes but the first: an equality.

    Parameters
    ----------
    residual
        Residual or function of q and qd. Hold velocities, which torques change at once, rather than positions: where
        positions alone are held, velocities may alternate from node to node.

    Examples
    --------
    The tool keeps its height:

    >>> held(lambda robot, q, qd: (robot.jacobian(q, frame="world-aligned") @ qd)[5:])
    <Residual of robot, q, qd, weight 1>
    """
    (same,) = as_residuals([residual], "residual")
    if same.takes_torques:
        raise ArgumentError(f"{same!r} depends on torques; only residuals of q and qd can be held")
    return Residual(same.function, weight=same.weight, arguments=same.arguments, is_held=True, **same.values)


def at_start(residual: Residual | Callable[..., Any]) -> Residual:
    """The same residual of the state at the first node, which then is free: for `exact_end` and `final`.

    Parameters
    ----------
    residual
        Residual or function of q and qd.

    Examples
    --------
    The motion begins at rest, wherever that is best:

    >>> at_start(velocity())
    <Residual of robot, first_qd, weight 1>
    """
    (same,) = as_residuals([residual], "residual")
    if same.takes_torques:
        raise ArgumentError(f"{same!r} depends on torques; only residuals of q and qd can be of the start")
    arguments = [{"q": FIRST[0], "qd": FIRST[1]}.get(name, name) for name in same.arguments]
    return Residual(
        lambda *known: same.function(*known), weight=same.weight, arguments=arguments, is_held=False, **same.values
    )


def periodic(image: Callable[[Array, Array], tuple[Array, Array]] | None = None) -> Residual:
    """State at the end less that at the first node, which then is free, (2n,): for `exact_end`.

    Parameters
    ----------
    image
        Function (q, qd) of the first state that returns what the last one is to be, such as that with left and right
        exchanged, moved on by a step; default the first state itself.

    Examples
    --------
    An array as weight tells which elements return, here all but the first position, which advances as far as is best:

    >>> np.array([0.0, 1.0, 1.0, 1.0]) * periodic()
    <Residual of robot, q, qd, first_q, first_qd, weight [0.0, 1.0, 1.0, 1.0]>
    """

    def missed(robot: Robot, q: Array, qd: Array, first_q: Array, first_qd: Array) -> Array:
        aim_q, aim_qd = (first_q, first_qd) if image is None else image(first_q, first_qd)
        return np.concatenate([np.asarray(robot.difference(aim_q, q)), np.asarray(qd - aim_qd)])

    return Residual(missed)


def time() -> Residual:
    """The time that passes, for running costs: of weight w it adds w times the duration, s, to the cost.

    It counts where the duration is free: the fastest motion within the limits is that of least time.

    Examples
    --------
    >>> 2.0 * time()
    <Residual of nothing, weight 2>
    """
    return Residual(lambda: np.sqrt(2.0), arguments=())


def _displacement(robot: Robot, q: Array, target: Array) -> Array:
    return np.asarray(robot.difference(target, q))


def _difference(robot: Robot, value: Array, target: Array) -> Array:
    return np.asarray(value - target)


def _from_target(
    function: Callable[[Robot, Array, Array], Array], of: str, target: str | ArrayLike, shape: tuple[int | str, ...]
) -> Residual:
    """Residual of the robot, a part of the state, and a target that is constant or named."""
    if isinstance(target, str):
        target = f"{of}_{_MOTION}" if target == _MOTION else target
        named = {} if target in KNOWN else {target: shape}
        return Residual(function, arguments=("robot", of, target), is_held=False, **named)
    constant = reals(target, "target")
    return Residual(lambda robot, value: function(robot, value, constant), arguments=("robot", of))
