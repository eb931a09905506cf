"""References of the closed loop: traced into its program, or sampled in advance; and on manifolds of configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import Bound
from chasles.robot.robot import Robot
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.joint.tangent import tangent_motion
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.motion import Motion, PoseMotion, Reference
from chasles.trajectories.trajectory import Trajectory


class LoopReference(Protocol):
    """Reference as the closed loop knows it.

    At every call of the controller the loop is handed what the reference gives: the time, and, of a motion that is
    evaluated beforehand, the motion at it.
    """

    @property
    def n(self) -> int | None:
        """Number of joints that it moves; None for the motion of a frame."""
        ...

    @property
    def start_time(self) -> float:
        """Time at which it starts, s; of a batch the first."""
        ...

    @property
    def duration(self) -> float:
        """Time from start to end, s; of a batch from the first start to the last end."""
        ...

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of references, one per run."""
        ...

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Names and numbers that may be varied."""
        ...

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """Names and shapes of what is given at one call; the time is ``"t"``."""
        ...

    def at(self, given: Any, parameters: Mapping[str, Any]) -> Motion | PoseMotion:
        """Motion at one call of the controller; on numbers or traced scalars."""
        ...

    def given(self, times: NDArray[np.float64]) -> Mapping[str, Any]:
        """What is given at times (S, k), each part (*batch, S, k, ...)."""
        ...

    def along(self, times: NDArray[np.float64], parameters: Mapping[str, Any]) -> Motion | PoseMotion:
        """Motion at times (k,), each part (*batch, k, ...), for parameters with leading batch axes."""
        ...

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion | PoseMotion:
        """Motion at its start for parameters with leading batch axes, if they are varied."""
        ...


@dataclass(frozen=True)
class TracedReference:
    """A reference whose formula becomes part of the loop's program."""

    reference: Reference
    batch = ()

    @cached_property
    def n(self) -> int:
        """Number of joints."""
        return int(np.size(self._first.q))

    @property
    def start_time(self) -> float:
        """Time at which it starts, s."""
        return float(getattr(self.reference, "start_time", 0.0))

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return float(self.reference.duration)

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Names and numbers that may be varied."""
        return self.reference.parameters

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """Bounds of the parameters by name; default finite."""
        return getattr(self.reference, "bounds", {})

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """The time alone."""
        return {"t": ()}

    def at(self, given: Any, parameters: Mapping[str, Any]) -> Motion:
        """Motion at the time that is given."""
        return self.reference.motion(given.t, parameters)

    def given(self, times: NDArray[np.float64]) -> Mapping[str, Any]:
        """Return the times."""
        return {"t": times}

    def along(self, times: NDArray[np.float64], parameters: Mapping[str, Any]) -> Motion:
        """Motion at times (k,)."""
        unvaried = all(np.array_equal(parameters[name], nominal) for name, nominal in self.parameters.items())
        if unvaried and isinstance(self.reference, JointTrajectory):
            return self.reference(times)  # which is compiled already, once for all of its kind
        each = []
        for name, nominal in self.parameters.items():
            value, rank = np.asarray(parameters[name]), np.ndim(nominal)
            each.append(np.expand_dims(value, value.ndim - rank) if value.ndim > rank else value)
        return Motion(*self._function(times, *each))

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Motion at its start."""
        if not varied:
            return self._first
        return Motion(*self._function(self.start_time, *(parameters[name] for name in self.parameters)))

    @cached_property
    def _function(self) -> Function:
        names = list(self.parameters)

        def motion(t: Real, *values: Array) -> tuple[Any, ...]:
            return tuple(self.reference.motion(t, dict(zip(names, values, strict=True))))

        shapes = {"t": (), **{name: np.shape(value) for name, value in self.parameters.items()}}
        return Function(trace(motion, shapes, name="reference_motion", outputs=Motion._fields))

    @cached_property
    def _first(self) -> Motion:
        return self.reference.motion(self.start_time, self.parameters)


@dataclass(frozen=True)
class _SampledTrajectory:
    """A trajectory that is evaluated before the loop runs; at each call the loop is handed the time and the motion."""

    trajectory: Trajectory[Any]

    @property
    def start_time(self) -> float:
        """Time at which the first of a batch starts, s."""
        return float(np.min(self.trajectory.start_time))

    @property
    def duration(self) -> float:
        """Time from the first start to the last end, s."""
        return float(np.max(self.trajectory.end_time)) - self.start_time

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of trajectories."""
        return self.trajectory.batch

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """None: the trajectory's numbers are worked into the samples."""
        return {}

    def along(self, times: NDArray[np.float64], parameters: Mapping[str, Any]) -> Any:
        """Motion at times of any shape, whose axes stand behind those of the batch."""
        motion = self.trajectory(times.reshape(*times.shape, *(1,) * len(self.batch)))
        behind = [len(self.batch) + axis for axis in range(times.ndim)]
        return type(motion)(*(np.moveaxis(part, range(times.ndim), behind) for part in motion))

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Any:
        """Motion at the start of the simulation, at rest for those of a batch that start later."""
        return self.trajectory(self.start_time)


@dataclass(frozen=True)
class SampledReference(_SampledTrajectory):
    """A sampled motion of the joints: the loop is handed q, qd and qdd."""

    trajectory: JointTrajectory

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.trajectory.n

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """Time and motion."""
        return {"t": (), "motion": Motion._make([(self.n,), (self.trajectory.nv,), (self.trajectory.nv,)])}

    def at(self, given: Any, parameters: Mapping[str, Any]) -> Motion:
        """Motion that is given."""
        motion: Motion = given.motion
        return motion

    def given(self, times: NDArray[np.float64]) -> Mapping[str, Any]:
        """Times, and motion at them."""
        return {"t": times, "motion": self.along(times, {})}


@dataclass(frozen=True)
class PoseReference(_SampledTrajectory):
    """A sampled motion of a frame, for controllers that take one."""

    trajectory: CartesianTrajectory
    n = None

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """Time, the upper three rows of the pose, twist and acceleration."""
        return {"t": (), "motion": {"upper": (3, 4), "twist": (6,), "acceleration": (6,)}}

    def at(self, given: Any, parameters: Mapping[str, Any]) -> PoseMotion:
        """Motion that is given, with the last row of the pose."""
        now = given.motion
        pose = np.concatenate([now.upper, np.array([[0.0, 0.0, 0.0, 1.0]])])
        return PoseMotion(pose, now.twist, now.acceleration)

    def given(self, times: NDArray[np.float64]) -> Mapping[str, Any]:
        """Times, and motion at them."""
        pose, twist, acceleration = self.along(times, {})
        return {"t": times, "motion": {"upper": pose[..., :3, :], "twist": twist, "acceleration": acceleration}}


def loop_reference(reference: Any, *, takes_poses: bool = False) -> LoopReference:
    """Return a reference in the form that suits it.

    Parameters
    ----------
    reference
        A motion of joints, or of a frame.
    takes_poses
        Whether the controller can follow a frame.

    Raises
    ------
    ArgumentError
        If it is no motion that the controller can follow.
    """
    if isinstance(reference, CartesianTrajectory):
        if takes_poses:
            return PoseReference(reference)
        raise ArgumentError(
            f"{type(reference).__name__} moves a frame in space, but this controller moves joints: "
            "chasles.follow(robot, trajectory) gives the joint motion that makes the robot follow it"
        )
    if hasattr(reference, "motion") and not getattr(reference, "batch", ()):
        return TracedReference(reference)
    if isinstance(reference, JointTrajectory):
        return SampledReference(reference)
    if isinstance(reference, np.ndarray | list | tuple):
        raise ArgumentError(
            "a reference is a motion; to hold a configuration q for t seconds, give chasles.PointToPoint(q, q, t)"
        )
    raise ArgumentError(f"a reference is a motion such as chasles.PointToPoint(...), not {reference!r}")


@dataclass(frozen=True, eq=False)
class TangentReference:
    """Reference given as a curve c of all coordinates (nq,), as the loop takes it: q (nq,), qd (n,), qdd (n,).

    q is c with unit quaternions, qd the velocity v with q' = G(q) v, and qdd its derivative. A curve that is straight
    in the four numbers of a quaternion so becomes the shortest rotation. A reference whose rates have n elements is
    in the tangent space already. With loops, the curve's independent coordinates are kept and the others close the
    loops.

    Attributes
    ----------
    robot
        Robot with spherical or free joints, or with loops.
    curve
        Reference of the coordinates.
    """

    robot: Robot
    curve: LoopReference

    @property
    def n(self) -> int | None:
        """Number of coordinates."""
        return self.curve.n

    @property
    def start_time(self) -> float:
        """Time at which it starts, s."""
        return self.curve.start_time

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return self.curve.duration

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of references."""
        return self.curve.batch

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """Bounds of the curve's parameters."""
        return getattr(self.curve, "bounds", {})

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Names and values that may be varied."""
        return self.curve.parameters

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """Names and shapes of what is given at one call."""
        return self.curve.shapes

    def at(self, given: Any, parameters: Mapping[str, Any]) -> Motion:
        """Motion at one call of the controller; on numbers or traced scalars."""
        return self._motion(self.curve.at(given, parameters))

    def given(self, times: NDArray[np.float64]) -> Mapping[str, Any]:
        """What is given at times (S, k)."""
        return self.curve.given(times)

    def along(self, times: NDArray[np.float64], parameters: Mapping[str, Any]) -> Motion:
        """Motion at times (k,)."""
        return self._motion(self.curve.along(times, parameters))

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Motion at its start."""
        return self._motion(self.curve.start(parameters, varied=varied))

    def _motion(self, curve: Any) -> Motion:
        """Motion of a curve; one whose velocities are in the tangent space already stays what it is."""
        given = Motion(*curve)
        return given if np.shape(given.qd)[-1] == self.robot.n else Motion(*tangent_motion(self.robot)(*given))
