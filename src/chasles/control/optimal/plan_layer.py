"""Plans as a layer of other libraries: from the numbers of a problem to its best motion, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.parameters import Parameters
from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.targets.host import HostFunction

if TYPE_CHECKING:
    from chasles.control.optimal.plan import Plan
    from chasles.control.optimal.step import HeldStep
    from chasles.robot.robot import Robot

Arrays = Sequence[NDArray[Any]]
#: Plans that are kept from a solve to its derivative.
_KEPT = 8


class PlanArrays(NamedTuple):
    """What a layer gives, in arrays of its library; see `Plan`. Success is 1 where the plan is optimal, 0 elsewhere."""

    states: Any
    torques: Any
    forces: Any
    cost: Any
    duration: Any
    success: Any


class _Number(NamedTuple):
    """An array as the key of a plan."""

    memory: bytes
    shape: tuple[int, ...]


class PlanExports:
    """The layers of a problem of optimal control."""

    if TYPE_CHECKING:
        robot: Robot
        step: HeldStep
        nodes: int
        values: dict[str, tuple[int, ...]]
        solve: Callable[..., Plan]

    def to_jax(self, vary: Sequence[str] = (), **options: Any) -> Callable[..., PlanArrays]:
        """Return `solve` as a function of JAX's arrays, for ``jit``, ``vmap`` and ``grad``.

        A search has decisions that Python takes, so XLA calls Python. The gradient is that of `Plan.vjp`, in reverse
        mode and of first order; NaN where a plan is not optimal.

        Parameters
        ----------
        vary
            Names of parameters of the robot that are further arguments.
        **options
            Options of `solve` that stay: guess, reference, iterations.

        Returns
        -------
        Callable
            Function of start, velocity (default rest), the values of residuals and the parameters, with leading batch
            axes, that returns a named tuple of states, torques, forces, cost, duration and success.

        Raises
        ------
        MissingExtraError
            JAX is not installed.

        Examples
        --------
        >>> import chasles as ch
        >>> import jax
        >>> from chasles.control.optimal import residuals
        >>> arm = ch.load("planar2r")
        >>> swing = ch.OptimalControl(
        ...     arm, duration=1.0, nodes=10, running=[residuals.torque()], final=[1e4 * residuals.position("goal")]
        ... )
        >>> plan = swing.to_jax()
        >>> cost = jax.jit(jax.grad(lambda goal: plan(jax.numpy.zeros(2), goal=goal).cost))
        >>> cost(jax.numpy.array([0.5, 0.2])).shape
        (2,)
        """
        from chasles.engine.targets.jax.host import lower

        return _named(lower(self._layer(vary, options)))

    def to_torch(self, vary: Sequence[str] = (), **options: Any) -> Callable[..., PlanArrays]:
        """Return `solve` as a function of PyTorch's tensors, for ``autograd``, ``torch.func.grad`` and ``vmap``.

        Parameters and result are those of `to_jax`.

        Raises
        ------
        MissingExtraError
            PyTorch is not installed.
        """
        from chasles.engine.targets.torch.host import lower

        return _named(lower(self._layer(vary, options)))

    def _layer(self, vary: Sequence[str], options: Mapping[str, Any]) -> HostFunction:
        robot, names = self.robot, tuple(vary)
        numbers = {"start": (robot.nq,), "velocity": (robot.n,), **self.values, **Parameters(robot, names).shapes}
        contacts = 0 if self.step.contacts is None else len(self.step.contacts.points)
        results = dict.fromkeys(PlanArrays._fields, ()) | {
            "states": (self.nodes + 1, robot.nq + robot.n),
            "torques": (self.nodes, robot.n),
            "forces": (self.nodes, contacts, 3),
        }

        @lru_cache(maxsize=_KEPT)
        def solved(*given: _Number) -> Plan:
            arrays = (np.frombuffer(each.memory).reshape(each.shape) for each in given)
            values = dict(zip(numbers, arrays, strict=True))
            varied = {name: values.pop(name) for name in names}
            return self.solve(values.pop("start"), values.pop("velocity"), vary=varied, **options, **values)

        def plan_of(arrays: Arrays) -> Plan:
            return solved(*(_Number(each.tobytes(), each.shape) for each in arrays))

        def run(arrays: Arrays) -> list[NDArray[Any]]:
            plan = plan_of(arrays)
            return [np.broadcast_to(getattr(plan, name), (*np.shape(plan.cost), *results[name])) for name in results]

        def adjoints(arrays: Arrays, of_results: Arrays) -> list[NDArray[Any]]:
            given = dict(zip(results, of_results, strict=True))
            del given["success"]
            leads = [each.shape[: each.ndim - len(results[name])] for name, each in given.items()]
            plan = plan_of(arrays)
            batch = np.broadcast_shapes(np.shape(plan.cost), *leads)
            if batch != np.shape(plan.cost):  # several adjoints of one plan
                plan = plan_of([np.broadcast_to(arrays[0], (*batch, robot.nq)), *arrays[1:]])
            given = {name: np.broadcast_to(each, (*batch, *results[name])) for name, each in given.items()}
            finite = [np.isfinite(each).all(axis=tuple(range(len(batch), each.ndim))) for each in given.values()]
            known = np.logical_and.reduce(finite)
            pulled = plan.vjp(list(numbers), **{name: np.nan_to_num(each) for name, each in given.items()})
            return [np.where(_like(known, pulled[name]), pulled[name], np.nan) for name in numbers]

        inputs = tuple(CoreArray(name, shape) for name, shape in numbers.items())
        outputs = tuple(CoreArray(name, shape) for name, shape in results.items())
        return HostFunction("plan", inputs, outputs, {"velocity": np.zeros(robot.n)}, run, adjoints)


def _like(flags: NDArray[np.bool_], array: NDArray[Any]) -> NDArray[np.bool_]:
    """Return flags (...) with the axes of an array (..., *shape)."""
    return flags.reshape(flags.shape + (1,) * (array.ndim - flags.ndim))


def _named(function: Callable[..., tuple[Any, ...]]) -> Callable[..., PlanArrays]:
    @wraps(function)
    def named(*arguments: Any, **values: Any) -> PlanArrays:
        return PlanArrays(*function(*arguments, **values))

    return named
