"""All that one iteration computes at a node, as compiled programs: the linear model, the step, a trial, and the move.

The node's constraints are eliminated inside (see `elastic`): what leaves the first program is a linear step and the
weights of one more state that is always 1 (see `backward_pass`), ready for the recursion. The nodes of a problem are
the batch. The last node, at which no torque acts, has programs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.sealed import Sealed
from chasles.control.optimal.elastic import Elastic, Kinds
from chasles.control.optimal.step import HeldStep, inlined
from chasles.control.optimal.terms import Terms
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array

Floats = NDArray[np.float64]
Shapes = dict[str, tuple[int, ...]]


class NodeModel(NamedTuple):
    """Linear-quadratic model of a node, with the constraints eliminated.

    Attributes
    ----------
    A, B
        Step of (x, 1), with its defect in the last column, (..., s + 1, s + 1), (..., s + 1, m).
    weights
        Second derivatives and gradient in (w, 1); the upper triangle.
    pull
        What the gradient grows by with the barrier, (..., w).
    gradient
        Gradient of the cost, (..., w).
    jacobian
        Derivatives of distances and own rows to w, (..., rows, w), or a row of zeros.
    rows
        Constraints, scaled.
    errors
        Quantities that are summed over the nodes, and then those whose largest counts; see
        `chasles.control.optimal.errors`.
    """

    A: Floats
    B: Floats
    weights: Floats
    pull: Floats
    gradient: Floats
    jacobian: Floats
    rows: Floats
    errors: Floats


class LastModel(NamedTuple):
    """The same of the last node, from which no step leads."""

    weights: Floats
    pull: Floats
    gradient: Floats
    jacobian: Floats
    rows: Floats
    errors: Floats


class Moved(NamedTuple):
    """Changes of slacks, excesses and multipliers that belong to a change of w.

    Attributes
    ----------
    da, db, dz
        Changes, (..., rows).
    progress
        Derivative of the cost with barriers along the step, and largest shares of the way to a bound, of slacks and
        excesses and of multipliers, (..., 3).
    """

    da: Floats
    db: Floats
    dz: Floats
    progress: Floats


class Place(NamedTuple):
    """Torques and state, costates, and rows of a node."""

    w: Floats
    costate: Floats
    a: Floats
    b: Floats
    z: Floats


class NodePrograms(Sealed):
    """The programs of one kind of node.

    Parameters
    ----------
    step
        The dynamics.
    costs
        Costs of the node, and its own rows: what is to be kept with torques, or at the last node the ends.
    distances
        Distances to keep.
    is_last
        Whether it is the last node.
    """

    def __init__(self, step: HeldStep, costs: Terms, distances: Terms, *, is_last: bool) -> None:
        self.step, self.costs, self.distances, self.is_last = step, costs, distances, is_last
        self.states, self.inputs = step.states, 0 if is_last else int(step.motors.sum())
        self.size = self.inputs + self.states
        self.own = costs.count
        self.general = distances.count + self.own
        self.rows = 2 * self.size + self.general
        element = np.arange(self.rows) % self.size
        limits = np.arange(self.rows) < 2 * self.size
        can_be_kept = (element < self.inputs) | self._is_stretch(element)
        ends = is_last & (np.arange(self.rows) >= self.rows - self.own)
        self.kinds = Kinds(ends, can_be_kept & limits)

    def _is_stretch(self, elements: NDArray[np.int_]) -> NDArray[np.bool_]:
        """Whether elements of w are the stretch of time."""
        return np.asarray(elements >= self.inputs + 2 * self.step.robot.n)

    def present(self, limits: tuple[NDArray[np.bool_], NDArray[np.bool_]], begins: bool) -> NDArray[np.bool_]:
        """Whether each row counts (rows,): limits that are finite, and at the first node none of the given state.

        The stretch of time is a constant, whose limits count at the first node.
        """
        general = np.ones(self.general, dtype=bool)
        element = np.arange(self.size)
        counts = ~self._is_stretch(element)
        if begins:
            counts = (element < self.inputs) | ~counts
            general &= np.arange(self.general) >= self.distances.count
        low, high = (each & counts for each in limits)
        return np.concatenate([low, high, general])

    @cached_property
    def model(self) -> Function[Any]:
        """Linear-quadratic model: (w, …, a, b, z, price, present, bounds, mu, instant, given)."""
        names = list((LastModel if self.is_last else NodeModel)._fields)
        ahead = {} if self.is_last else {"following": (self.states,), "costate_ahead": (self.states,), "free": ()}
        shapes = {
            "w": (self.size,),
            "costate": (self.states,),
            **ahead,
            **self._elastic_shapes,
            "mu": (),
            **self._given,
        }
        return self._compiled(self._model, shapes, "node_model", names, LastModel if self.is_last else NodeModel)

    @cached_property
    def gauss_newton(self) -> Function[Any]:
        """Second derivatives of the cost without the curvature of its residuals, and those of constraints."""

        def second(
            w: Array, a: Array, b: Array, z: Array, price: Any, present: Array, bounds: Array, *given: Any
        ) -> Any:
            elastic = Elastic(a, b, z, self.kinds, price)
            G = self._jacobian(w, given)
            cost = inlined(self.costs.gauss_newton, w, *given)
            return cost, self._squared(G, present * elastic.stiffness(), bounds)

        shapes = {"w": (self.size,), **self._elastic_shapes, **self._given}
        return self._compiled(second, shapes, "gauss_newton", ["cost", "constraints"])

    @cached_property
    def move(self) -> Function[Moved]:
        """Changes of the rows that belong to a change of w, and how far these may go."""

        def moved(
            dw: Array,
            rows: Array,
            jacobian: Array,
            gradient: Array,
            a: Array,
            b: Array,
            z: Array,
            price: Any,
            present: Array,
            bounds: Array,
            mu: Any,
        ) -> Moved:
            elastic = Elastic(a, b, z, self.kinds, price)
            change = self._times(jacobian[: self.general], dw, present, bounds)
            dz = present * elastic.stiffness() * (elastic.pull(rows, mu) - change)
            da, db = (present * each for each in elastic.step(dz, mu))
            slope = gradient @ dw + (present * elastic.barrier_slope(da, db, mu)).sum()
            ratios = [_largest(np.concatenate(parts)) for parts in elastic.shares(da, db, dz)]
            return Moved(da, db, dz, np.array([slope, *ratios]))

        shapes = {"dw": (self.size,), "rows": (self.rows,), "jacobian": (max(1, self.general), self.size)}
        shapes |= {"gradient": (self.size,), **self._elastic_shapes, "mu": ()}
        return self._compiled(moved, shapes, "move", list(Moved._fields), Moved)

    @cached_property
    def trial(self) -> Function[Floats]:
        """Violation and cost with barriers after a share of a step, (2,)."""

        def merit(
            w: Array, dw: Array, a: Array, b: Array, da: Array, db: Array, price: Any, present: Array, *more: Any
        ) -> Array:
            ahead, (bounds, share, mu, *given) = (None, more) if self.is_last else (more[:2], more[2:])
            w, a, b = w + share * dw, a + share * da, b + share * db
            elastic = Elastic(a, b, b, self.kinds, price)
            cost, r = self._values(w, present, bounds, given)
            violation = np.abs(elastic.missed(r)).sum()
            if ahead is not None:
                following = self.step(w[self.inputs :], w[: self.inputs], *self._centres(given))
                defect = following - (ahead[0] + share * ahead[1])
                violation = violation + np.abs(defect).sum()
            priced, logs = elastic.barrier(present)
            return np.array([violation, cost + price * priced - mu * logs])

        shapes: Shapes = {"w": (self.size,), "dw": (self.size,)}
        shapes |= dict.fromkeys(("a", "b", "da", "db"), (self.rows,))
        shapes |= {"price": (), "present": (self.rows,)}
        if not self.is_last:
            shapes |= {"following": (self.states,), "moves": (self.states,)}
        shapes |= {"bounds": (3, self.size), "share": (), "mu": (), **self._given}
        return self._compiled(merit, shapes, "trial", ["merit"])

    @cached_property
    def follow(self) -> Function[Place]:
        """What a node is after shares of a step, those of multipliers of rows apart from the others."""

        def place(
            w: Array, costate: Array, a: Array, b: Array, z: Array, dw: Array, aim: Array, da: Array, db: Array,
            dz: Array, price: Any, mu: Any, share: Any, share_of_multipliers: Any,
        ) -> Place:  # fmt: skip
            rows = Elastic(a + share * da, b + share * db, z, self.kinds, price)
            rows = rows.with_multipliers(z + share_of_multipliers * dz, mu)
            return Place(w + share * dw, costate + share * (aim - costate), rows.a, rows.b, rows.z)

        shapes: Shapes = {"w": (self.size,), "costate": (self.states,)}
        shapes |= dict.fromkeys(("a", "b", "z"), (self.rows,)) | {"dw": (self.size,), "aim": (self.states,)}
        shapes |= dict.fromkeys(("da", "db", "dz"), (self.rows,))
        shapes |= dict.fromkeys(("price", "mu", "share", "share_of_multipliers"), ())
        return self._compiled(place, shapes, "follow", list(Place._fields), Place)

    @cached_property
    def lower(self) -> Function[Floats]:
        """Gradient with a lower barrier: (gradient, pull, change of the barrier)."""

        def lowered(gradient: Array, pull: Array, change: Any) -> Array:
            return np.asarray(gradient + change * pull)

        shapes: Shapes = {"gradient": (self.size,), "pull": (self.size,), "change": ()}
        return self._compiled(lowered, shapes, "lower", ["gradient"])

    def _compiled(
        self,
        function: Callable[..., Any],
        shapes: Shapes,
        name: str,
        outputs: list[str],
        result: type | None = None,
    ) -> Function[Any]:
        return Function(trace(function, shapes, name=name, outputs=outputs), result=result, wide=not self.is_last)

    @property
    def _elastic_shapes(self) -> Shapes:
        rows = (self.rows,)
        return {"a": rows, "b": rows, "z": rows, "price": (), "present": rows, "bounds": (3, self.size)}

    @property
    def _given(self) -> Shapes:
        """Shapes of the time and of what the problem is given, under names that are none of the others here."""
        return {f"given_{name}": shape for name, shape in list(self.costs.shapes.items())[1:]}

    def _model(self, w: Array, costate: Array, *more: Any) -> tuple[Any, ...]:
        m = self.inputs
        following, ahead, free, *rest = (None, None, 1.0, *more) if self.is_last else more
        a, b, z, price, present, bounds, mu, *given = rest
        elastic = Elastic(a, b, z, self.kinds, price)
        z = present * z
        cost, r = self._values(w, present, bounds, given)
        G, gradient = self._jacobian(w, given), inlined(self.costs.gradient, w, *given)
        D = present * elastic.stiffness()
        of_rows = self._transposed(G, z, bounds)
        pull = -self._transposed(G, D * elastic.pull_of_barrier(), bounds)
        H = self._curvature(w, z, given) + self._squared(G, D, bounds)
        of_w = gradient - of_rows - np.concatenate([np.zeros(m), costate])
        missed, defect = elastic.missed(r), np.zeros(0)
        model: tuple[Any, ...] = ()
        if following is not None:
            x, u = w[m:], w[:m]
            step = self.step.expansion(x, u, ahead, *self._centres(given))
            H = H + step.curvature
            defect = step.following - following
            of_w = of_w + np.concatenate([step.B.T @ ahead, step.A.T @ ahead])
            given_ends = m + 2 * self.step.robot.n  # the stretch of time is free at the first node too
            of_w = np.concatenate([of_w[:m], free * of_w[m:given_ends], of_w[given_ends:]])
            A = np.concatenate([np.concatenate([step.A, defect[:, None]], axis=1), np.eye(self.states + 1)[-1:]])
            model = (A, np.concatenate([step.B, np.zeros((1, m))]))
        g = gradient - of_rows + self._transposed(G, D * r, bounds) + mu * pull
        weights = np.concatenate([np.concatenate([H, g[:, None]], axis=1), np.concatenate([g, np.zeros(1)])[None]])
        below = np.tri(self.size + 1, k=-1) > 0.0  # of the nodes but the last, the recursion reads no more
        weights = np.where(below, weights.T if self.is_last else 0.0, weights)
        priced, logs = elastic.barrier(present)
        misses = np.concatenate([defect, missed])
        theta = np.abs(misses).sum()
        sums = [np.abs(costate).sum(), np.abs(z).sum(), np.abs(of_w).sum() + theta, theta, cost, priced, logs]
        product, lowest, pressure = elastic.products(present)
        violation = np.where(self.kinds.ends, np.abs(r), -r)
        largest = [_largest(np.abs(of_w)), _largest(np.abs(misses)), _largest(violation), product, lowest, pressure]
        some = G if self.general else np.zeros((1, self.size))  # kernels are quicker without empty arrays
        return (*model, weights, pull, gradient, some, r, np.array(sums + largest))

    def _centres(self, given: Sequence[Any]) -> tuple[Array, ...]:
        """Centres of the step's coordinates, from the data of the node."""
        return self.step.coordinates.centres(given[0])

    def _values(self, w: Array, present: Array, bounds: Array, given: Sequence[Any]) -> tuple[Any, Array]:
        """Cost and rows."""
        cost, own = inlined(self.costs.values, w, *given)
        general = [own] if self.own else []
        if self.distances.count:
            general.insert(0, inlined(self.distances.values, w[self.inputs :], *given)[1])
        low, high, scale = bounds
        return cost, present * np.concatenate([(w - low) * scale, (high - w) * scale, *general])

    def _jacobian(self, w: Array, given: Sequence[Any]) -> Array:
        """Derivatives of distances and the node's own rows to w."""
        general = [inlined(self.costs.jacobian, w, *given)] if self.own else []
        if self.distances.count:
            of_state = inlined(self.distances.jacobian, w[self.inputs :], *given)
            general.insert(0, np.concatenate([np.zeros((len(of_state), self.inputs)), of_state], axis=1))
        return np.concatenate([np.zeros((0, self.size)), *general])

    def _curvature(self, w: Array, z: Array, given: Sequence[Any]) -> Array:
        """Second derivatives of the cost and the rows."""
        H = inlined(self.costs.curvature, w, *given, z[len(z) - self.own :])
        if not self.distances.count:
            return np.asarray(H)
        of_distances = z[2 * self.size : 2 * self.size + self.distances.count]
        m, inner = self.inputs, inlined(self.distances.curvature, w[self.inputs :], *given, of_distances)
        return np.concatenate([H[:m], np.concatenate([H[m:, :m], H[m:, m:] + inner], axis=1)])

    def _times(self, G: Array, dw: Array, present: Array, bounds: Array) -> Array:
        """J dw."""
        scaled = bounds[2] * dw
        return np.asarray(present * np.concatenate([scaled, -scaled, G @ dw]))

    def _transposed(self, G: Array, v: Array, bounds: Array) -> Array:
        """Jᵀ v, for v that vanishes where a row does not count."""
        w = self.size
        return np.asarray(bounds[2] * (v[:w] - v[w : 2 * w]) + v[2 * w :] @ G)

    def _squared(self, G: Array, D: Array, bounds: Array) -> Array:
        """Jᵀ D J for a diagonal D."""
        w = self.size
        return np.asarray(np.diag(bounds[2] ** 2 * (D[:w] + D[w : 2 * w])) + G.T @ (D[2 * w :, None] * G))


def _largest(v: Array) -> Any:
    """Largest of numbers, at least 0."""
    return reduce(np.maximum, v, 0.0)
