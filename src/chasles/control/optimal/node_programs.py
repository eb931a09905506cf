"""All that one iteration computes at a node, as compiled programs: the linear model, the step, a trial, and the move.

The node's constraints are eliminated inside (see `elastic`): what leaves the first program is a linear step and the
weights of one more state that is always 1 (see `backward_pass`), ready for the recursion. The nodes of a problem are
the batch. The last node, at which no torque acts, has programs of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import Spares, cached_property
from chasles.base.sealed import Sealed
from chasles.control.optimal.elastic import PRICE_FACTOR, Elastic, Kinds, first_elastic, largest
from chasles.control.optimal.expansion import StepExpansion
from chasles.control.optimal.step import HeldStep
from chasles.control.optimal.terms import Terms
from chasles.engine import Function, trace
from chasles.engine.function import inlined
from chasles.engine.program.scalar import Array

Floats = NDArray[np.float64]
Shapes = dict[str, tuple[int, ...]]


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
    limited
        Whether each element of w has limits, (w,): others have no rows.
    is_last
        Whether it is the last node.
    held
        Number of the distances, the last ones, that must be zero.
    zero
        Number of the own rows of a node that is not the last, the last ones, that must be zero.
    """

    def __init__(
        self,
        step: HeldStep,
        costs: Terms,
        distances: Terms,
        limited: NDArray[np.bool_],
        *,
        is_last: bool,
        held: int = 0,
        zero: int = 0,
    ) -> None:
        self.step, self.costs, self.distances, self.is_last = step, costs, distances, is_last
        self.held = held
        self.states, self.inputs = step.states, 0 if is_last else step.inputs
        self.size = self.inputs + self.states
        self.limited, self.limits = np.flatnonzero(limited), 2 * int(limited.sum())
        self.own = costs.count
        self.general = distances.count + self.own
        self.rows = self.limits + self.general
        can_be_kept = (self.limited < self.inputs) | self._is_stretch(self.limited)
        before_own = self.rows - self.own
        ends = np.arange(self.rows) >= before_own - held
        if not is_last:
            ends &= np.arange(self.rows) < before_own
            ends |= np.arange(self.rows) >= self.rows - zero
        self.kinds = Kinds(ends, np.concatenate([can_be_kept, can_be_kept, np.zeros(self.general, dtype=bool)]))

    @property
    def _turning(self) -> NDArray[np.intp]:
        """Elements of the state that are angles."""
        return np.flatnonzero([unit == "rad" for unit in self.step.robot.description.displacement_units])

    def _is_stretch(self, elements: NDArray[np.int_]) -> NDArray[np.bool_]:
        """Whether elements of w are the stretch of time, the only constant with limits."""
        return np.asarray(elements >= self.inputs + self.step.moving_states)

    def present(self, limits: tuple[NDArray[np.bool_], NDArray[np.bool_]], begins: bool) -> NDArray[np.bool_]:
        """Whether each row counts (rows,): limits that are finite, and at the first node none of the given state.

        The stretch of time is a constant, whose limits count at the first node; where the start is free, all do.
        """
        general = np.ones(self.general, dtype=bool)
        counts = ~self._is_stretch(self.limited)
        if begins and self.step.free_start:
            counts[:] = True
        elif begins:
            counts = (self.limited < self.inputs) | ~counts
            general &= np.arange(self.general) >= self.distances.count
        low, high = (each[self.limited] & counts for each in limits)
        return np.concatenate([low, high, general])

    @cached_property
    def workspaces(self) -> Spares[Any]:
        """Arrays of problems that are solved by these programs, of nodes but the last."""
        return Spares()

    @cached_property
    def begin(self) -> Function[Any]:
        """Slacks, excesses and multipliers to begin with."""

        def rows(price: Any, mu: Any, r: Array) -> Elastic:
            return first_elastic(r, self.kinds, mu, price)

        return self._rows("begin", {"price": (), "mu": ()}, rows)

    @cached_property
    def restore(self) -> Function[Any]:
        """Slacks and excesses that fit the motion, and multipliers that fit these."""

        def rows(a: Array, b: Array, z: Array, price: Any, mu: Any, r: Array) -> Elastic:
            return Elastic(a, b, z, self.kinds, price).restored(r, mu)

        return self._rows("restore", dict.fromkeys("abz", (self.rows,)) | {"price": (), "mu": ()}, rows)

    @cached_property
    def press(self) -> Function[Any]:
        """Slacks, excesses and multipliers for a price that has been raised by `PRICE_FACTOR`."""

        def rows(a: Array, b: Array, z: Array, price: Any, mu: Any, r: Array) -> Elastic:
            return Elastic(a, b, z, self.kinds, price / PRICE_FACTOR).raised(PRICE_FACTOR, r, mu)

        return self._rows("press", dict.fromkeys("abz", (self.rows,)) | {"price": (), "mu": ()}, rows)

    def _rows(self, name: str, shapes: Mapping[str, tuple[int, ...]], rows: Callable[..., Elastic]) -> Function[Any]:
        """Return (a, b, z) by a function of what is known of rows and of their values; rest where they do not count."""

        def counting(w: Array, present: Array, bounds: Array, *more: Any) -> tuple[Array, Array, Array]:
            known, given = more[: len(shapes)], more[len(shapes) :]
            elastic = rows(*known, self._values(w, present, bounds, given)[1]).counting(present > 0.0)
            return elastic.a, elastic.b, elastic.z

        here = {"w": (self.size,), "present": (self.rows,), "bounds": (3, self.size)}
        return self._compiled(counting, {**here, **shapes, **self._given}, name, ["a", "b", "z"])

    @cached_property
    def model(self) -> Function[Any]:
        """Linear-quadratic model of a node, with the constraints eliminated.

        transition, gap: the linear step as `Chain` takes it; not of the last node.
        weights: second derivatives and gradient in (w, 1); the upper triangle, of the last node all.
        pull: what the gradient grows by with the barrier, (w,).
        gradient: that of the cost, (w,).
        jacobian: derivatives of distances and own rows to w, (rows, w), or a row of zeros.
        rows: constraints, scaled.
        errors: quantities that are summed over the nodes, and then those whose largest counts; see `errors`.
        """
        results = ["weights", "pull", "gradient", "jacobian", "rows", "errors"]
        shapes: Shapes = {"w": (self.size,), "costate": (self.states,)}
        if not self.is_last:
            results = ["transition", *(["gap"] if self.step.drift_times else []), *results]
            shapes |= {"following": (self.states,), "costate_ahead": (self.states,), "free": ()}
        shapes |= {**self._elastic_shapes, "mu": (), **self._given}
        return self._compiled(self._model, shapes, "node_model", results)

    @cached_property
    def gauss_newton(self) -> Function[Any]:
        """Second derivatives without the curvature of residuals, rows and steps, and what costs add of positions."""

        def second(
            w: Array, a: Array, b: Array, z: Array, price: Any, present: Array, bounds: Array, *given: Any
        ) -> Any:
            elastic = Elastic(a, b, z, self.kinds, price)
            G = self._jacobian(w, given)
            cost = inlined(self.costs.gauss_newton, w, *given)
            positions = slice(self.inputs, self.inputs + self.step.robot.n)
            return cost + self._squared(G, present * elastic.stiffness(), bounds), cost[positions, positions]

        shapes = {"w": (self.size,), **self._elastic_shapes, **self._given}
        return self._compiled(second, shapes, "gauss_newton", ["hessian", "positions"])

    @cached_property
    def move(self) -> Function[Any]:
        """Changes of slacks, excesses and multipliers that belong to a change of w.

        progress: derivative of the cost with barriers along the step, largest shares of the way to a bound, of slacks
        and excesses and of multipliers, and largest rotation of a joint, rad, (4,).
        """

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
        ) -> tuple[Array, ...]:
            elastic = Elastic(a, b, z, self.kinds, price)
            change = self._times(jacobian[: self.general], dw, present, bounds)
            dz = present * elastic.stiffness() * (elastic.pull(rows, mu) - change)
            da, db = (present * each for each in elastic.step(dz, mu))
            slope = gradient @ dw + (present * elastic.barrier_slope(da, db, mu)).sum()
            ratios = [largest(np.concatenate(parts)) for parts in elastic.shares(da, db, dz)]
            turn = largest(np.abs(dw[self.inputs :][self._turning]))
            return da, db, dz, np.array([slope, *ratios, turn])

        shapes = {"dw": (self.size,), "rows": (self.rows,), "jacobian": (max(1, self.general), self.size)}
        shapes |= {"gradient": (self.size,), **self._elastic_shapes, "mu": ()}
        return self._compiled(moved, shapes, "move", ["da", "db", "dz", "progress"])

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
                following = self.step(w[self.inputs :], w[: self.inputs], *self.step.context(given[0]))
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
    def follow(self) -> Function[Any]:
        """What a node is after shares of a step, those of multipliers of rows apart from the others."""

        def place(
            w: Array, costate: Array, a: Array, b: Array, z: Array, dw: Array, aim: Array, da: Array, db: Array,
            dz: Array, price: Any, mu: Any, share: Any, share_of_multipliers: Any,
        ) -> tuple[Array, ...]:  # fmt: skip
            rows = Elastic(a + share * da, b + share * db, z, self.kinds, price)
            rows = rows.with_multipliers(z + share_of_multipliers * dz, mu)
            return w + share * dw, costate + share * (aim - costate), rows.a, rows.b, rows.z

        shapes: Shapes = {"w": (self.size,), "costate": (self.states,)}
        shapes |= dict.fromkeys(("a", "b", "z"), (self.rows,)) | {"dw": (self.size,), "aim": (self.states,)}
        shapes |= dict.fromkeys(("da", "db", "dz"), (self.rows,))
        shapes |= dict.fromkeys(("price", "mu", "share", "share_of_multipliers"), ())
        return self._compiled(place, shapes, "follow", ["w", "costate", "a", "b", "z"])

    @cached_property
    def lower(self) -> Function[Floats]:
        """Gradient with a lower barrier: (gradient, pull, change of the barrier)."""

        def lowered(slopes: Array, pull: Array, change: Any) -> Array:
            return np.asarray(slopes + change * pull)

        shapes: Shapes = {"slopes": (self.size,), "pull": (self.size,), "change": ()}
        return self._compiled(lowered, shapes, "lower", ["slopes"])

    @cached_property
    def shift(self) -> Function[Floats]:
        """Diagonal of second derivatives with more curvature."""

        def shifted(diagonal: Array, added: Any) -> Array:
            return np.asarray(diagonal + added)

        return self._compiled(shifted, {"diagonal": (self.size,), "added": ()}, "shift", ["diagonal"])

    def _compiled(self, function: Callable[..., Any], shapes: Shapes, name: str, outputs: list[str]) -> Function[Any]:
        return Function(trace(function, shapes, name=name, outputs=outputs), wide=not self.is_last)

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
            step = StepExpansion(self.step)(x, u, ahead, *self.step.context(given[0]))
            H = H + step.curvature
            defect = step.following - following
            of_w = of_w + np.concatenate([step.B.T @ ahead, step.A.T @ ahead])
            of_w = np.concatenate([of_w[:m], self._of_free(of_w[m:], free)])
            model = self._linear_step(np.concatenate([step.B, step.A, defect[:, None]], axis=1))
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
        most = [largest(np.abs(of_w)), largest(np.abs(misses)), largest(violation), product, lowest, pressure]
        some = G if self.general else np.zeros((1, self.size))  # kernels are quicker without empty arrays
        return (*model, weights, pull, gradient, some, r, np.array(sums + most))

    def _of_free(self, of_x: Array, free: Any) -> Array:
        """What must vanish of the derivatives to a state; at the first node, where `free` is 0, of those to a choice.

        Both copies of a free start move together, so that the sum of their derivatives vanishes.
        """
        moving, n = self.step.moving_states, self.step.robot.n
        states, constants = of_x[:moving], of_x[moving:]
        if not self.step.free_start:
            return np.concatenate([free * states, constants])
        copies, stretch = constants[: 2 * n], constants[2 * n :]
        return np.concatenate([states + (1.0 - free) * copies, free * copies, stretch])

    def _linear_step(self, transition: Array) -> tuple[Array, ...]:
        """What of the rows [B A d] of a step the recursion takes."""
        if self.step.drift_times is None:
            return (transition,)
        of_positions, V = np.split(transition, 2)
        gap = of_positions[:, -1:] - self.step.drift_times[1] * V[:, -1:]
        return V, gap

    def _values(self, w: Array, present: Array, bounds: Array, given: Sequence[Any]) -> tuple[Any, Array]:
        """Cost and rows."""
        cost, own = inlined(self.costs.values, w, *given)
        general = [own] if self.own else []
        if self.distances.count:
            general.insert(0, inlined(self.distances.values, w[self.inputs :], *given)[1])
        low, high, scale = bounds[:, self.limited]
        w = w[self.limited]
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
        of_distances = z[self.limits : self.limits + self.distances.count]
        m, inner = self.inputs, inlined(self.distances.curvature, w[self.inputs :], *given, of_distances)
        return np.concatenate([H[:m], np.concatenate([H[m:, :m], H[m:, m:] + inner], axis=1)])

    def _times(self, G: Array, dw: Array, present: Array, bounds: Array) -> Array:
        """J dw."""
        scaled = (bounds[2] * dw)[self.limited]
        return np.asarray(present * np.concatenate([scaled, -scaled, G @ dw]))

    def _transposed(self, G: Array, v: Array, bounds: Array) -> Array:
        """Jᵀ v, for v that vanishes where a row does not count."""
        low, high, general = self._parts(v)
        return np.asarray(bounds[2] * ((low - high) @ self._elements) + general @ G)

    def _squared(self, G: Array, D: Array, bounds: Array) -> Array:
        """Jᵀ D J for a diagonal D."""
        low, high, general = self._parts(D)
        return np.asarray(np.diag(bounds[2] ** 2 * ((low + high) @ self._elements)) + G.T @ (general[:, None] * G))

    def _parts(self, v: Array) -> tuple[Array, Array, Array]:
        """Parts of rows: lower limits, upper limits, and distances with own rows."""
        low, high, general = np.split(v, [len(self.limited), self.limits])
        return low, high, general

    @property
    def _elements(self) -> Floats:
        """Which element of w each limit is of, (limits, w)."""
        return np.eye(self.size)[self.limited]
