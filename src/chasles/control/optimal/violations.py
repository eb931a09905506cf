"""Violated constraints in words, with numbers in the problem's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.errors import FEASIBLE
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.rows import DISTANCE_SCALE, ConstraintRows
from chasles.control.optimal.step import HeldStep
from chasles.distances import Clearance
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]

_BECAUSE = "the rows of constraints are scaled to be of the order of one, and hold to this error"
_LIMIT = Rule(
    "limit",
    FEASIBLE,
    _BECAUSE,
    "{quantity} of joint '{joint}' exceeds its limit by {value:.3g} {unit} at {at}",
    "refusal",
)
_CLEARANCE = Rule(
    "clearance",
    FEASIBLE,
    _BECAUSE,
    "the distance of '{first}' and '{second}' is {value:.3g} mm short of the margin at {at}",
    "refusal",
)
_KEPT = Rule(
    "kept", FEASIBLE, _BECAUSE, "element {index} of what is to be kept is {value:.3g} below 0 at {at}", "refusal"
)
_HELD = Rule(
    "held", FEASIBLE, _BECAUSE, "element {index} of what is to be held is {value:.3g} instead of 0 at {at}", "refusal"
)
_CONTACT = Rule("contact", FEASIBLE, _BECAUSE, "{sentence} at {at}", "refusal")
_BETWEEN = Rule(
    "between-nodes",
    0.0,
    "constraints hold at nodes, and bodies that touch between them collide all the same",
    "between nodes {node} and {next} the distance of '{first}' and '{second}' falls to {value:.3g} mm; use more nodes",
    "caution",
)
_STIFF = Rule(
    "stiff-friction",
    1.01,
    "errors that grow from step to step by more than the motion itself grows are the method's; a hundredth is left to "
    "its order",
    "friction, or what else acts fastest at rest, is too stiff for steps of this length: errors grow {value:.3g} times "
    "at each, which makes motions hard to find and to believe; choose integrator='implicit-friction-leapfrog', use "
    "more than {nodes} nodes, or smooth the friction over a higher coulomb_velocity",
    "caution",
)
#: Difference of states by which a step is differentiated, and length of a short step, as shares.
_DIFFERENCE, _SHORT = 1e-6, 1e-6
#: Places of a step at which distances are looked at besides its ends.
_PLACES = (0.25, 0.5, 0.75)
_END = Rule("exact-end", FEASIBLE, _BECAUSE, "element {index} of the exact ends is {value:.3g} instead of 0", "refusal")

_NOT_FINITE = Rule("not-finite", 0.0, "values must be numbers", "a value is not finite at node {value:.0f}", "refusal")
_SINGULAR = Rule(
    "singular-mass-matrix",
    1e-14,
    "rounding leaves this share of the largest eigenvalue, with the diagonal scaled to one",
    "the mass matrix is singular at the start: '{joint}', alone or with others, moves no mass; give its links mass or "
    "the joint rotor inertia",
    "refusal",
)


def not_finite(nodes: Nodes, W: Floats) -> tuple[Finding, ...]:
    """Return the first node at which a motion or its values are not finite, and why, if there is no acceleration."""
    with np.errstate(all="ignore"):
        values = nodes.values(W)
        costs = nodes.running.values(W[:-1], nodes.instants[..., :-1, :], *nodes.given)[0]
    broken: NDArray[np.bool_] = np.asarray(~np.isfinite(W).all(axis=1))
    broken[:-1] |= ~np.isfinite(values.defects).all(axis=1) | ~np.isfinite(costs)
    first = _NOT_FINITE.told(int(np.argmax(broken)) if broken.any() else nodes.rows.nodes)
    return first + _singular(nodes.step.robot, nodes.start)


def _singular(robot: Robot, q: Floats) -> tuple[Finding, ...]:
    """Return the finding of a mass matrix that is singular: the joint that accelerates most without effort."""
    M = np.asarray(robot.mass_matrix(q))
    diagonal = np.sqrt(np.diagonal(M))
    scale = np.where(diagonal > 0.0, diagonal, 1.0)
    if not np.isfinite(M).all():
        return ()
    values, vectors = np.linalg.eigh(M / np.outer(scale, scale))
    joint = robot.velocity_names[int(np.abs(vectors[:, 0]).argmax())]
    return _SINGULAR.below(float(values[0] / values[-1]), joint=joint)


def between_nodes(clearance: Clearance, states: Floats, h: float) -> tuple[Finding, ...]:
    """Return the nodes between which bodies touch or pass through each other, if a motion does that.

    Parameters
    ----------
    clearance
        Distances of the problem.
    states
        Positions and velocities at the nodes, (N + 1, nq + n).
    h
        Time between two nodes, s.
    """
    robot = clearance.robot
    q, qd = np.split(states, [robot.nq], axis=1)
    s = np.array(_PLACES)[:, None, None]
    within = robot.integrate(q[:-1], s * h * qd[:-1] + 0.5 * s**2 * h * np.diff(qd, axis=0))
    distances = np.asarray(clearance.distances(within))
    if not (np.isfinite(distances).all() and distances.size):
        return ()
    _, node, pair = np.unravel_index(int(np.argmin(distances)), distances.shape)
    first, second = clearance.pairs[int(pair)]
    facts = {"node": int(node), "next": int(node) + 1, "first": first, "second": second}
    return _BETWEEN.below(1e3 * float(distances.min()), **facts)


def outside_at_start(rows: ConstraintRows, x0: Floats) -> tuple[Finding, ...]:
    """Return the limits that the given start (states,) exceeds, which do not count there, but from the next node on."""
    m, given = rows.inputs, rows.stage.step.moving_states
    states = slice(m, m + given)
    excess = np.maximum(x0[:given] - rows.upper[states], rows.lower[states] - x0[:given])
    found: list[Finding] = []
    for index in np.flatnonzero(excess * rows.scale[states] > FEASIBLE):
        quantity, joint, unit = element_of(rows.stage.step, m + int(index))
        found += _LIMIT.told(excess[index], quantity=quantity, joint=joint, unit=unit, at="node 0, the given start")
    return tuple(found)


def too_stiff(nodes: Nodes) -> tuple[Finding, ...]:
    """Return that what acts at rest is too stiff for the steps of one problem, if so.

    Errors are those of a step from the start at rest, and grow more than with the rates that a very short step shows.
    """
    step = nodes.step
    has_friction = any(joint.coulomb_friction or joint.viscous_friction for joint in step.robot.description.joints)
    if not (has_friction or step.drives.count) or not step.coordinates.is_plain or step.contacts is not None:
        return ()
    n, rest = step.robot.n, nodes.x0.copy()
    rest[n : 2 * n] = 0.0
    u = np.zeros(step.inputs)
    if not step.by_rates:
        u = np.asarray(step.parameters.robot_with(nodes.parameters).gravity_torque(nodes.start))[step.motors]
    stretch = float(rest[-1]) if step.stretches else 1.0
    amplified, short = (
        _amplifications(each, rest, u, nodes.instants[0]) for each in (step, replace(step, h=_SHORT * step.h))
    )
    rates = (short - 1.0) / (_SHORT * step.h * stretch)
    growth = float(np.abs(amplified).max() / np.exp(max(0.0, rates.real.max()) * step.h * stretch))
    duration = step.h * stretch * nodes.rows.nodes
    return _STIFF.above(growth, nodes=int(np.ceil(0.5 * np.abs(rates).max() * duration)))


def _amplifications(step: HeldStep, x: Floats, u: Floats, instant: Floats) -> NDArray[np.complex128]:
    """Eigenvalues of the derivatives of the next state to the given states."""
    count = step.moving_states
    moves = _DIFFERENCE * np.eye(len(x))[:count]
    given = step.context(np.tile(instant, (2 * count, 1)))
    high, low = np.split(step(x + np.concatenate([moves, -moves]), np.tile(u, (2 * count, 1)), *given), 2)
    return np.asarray(np.linalg.eigvals((high - low)[:, :count].T / (2.0 * _DIFFERENCE)), dtype=complex)


def violations(pairs: Sequence[tuple[str, str]], rows: ConstraintRows, values: Floats) -> tuple[Finding, ...]:
    """Return what a motion violates, the worst first.

    Parameters
    ----------
    pairs
        Names of the bodies of each distance.
    rows, values
        The constraints, and their scaled values along the motion.
    """
    excess = rows.violations(values)
    worst: dict[tuple[str, int], tuple[float, list[int]]] = {}
    for row in np.flatnonzero(excess > FEASIBLE):
        place = rows.place(int(row))
        most, nodes = worst.get((place.kind, place.element), (0.0, []))
        worst[place.kind, place.element] = max(most, float(excess[row])), [*nodes, place.node]
    found: list[Finding] = []
    for (kind, index), (most, nodes) in sorted(worst.items(), key=lambda item: -item[1][0]):
        at = f"node {nodes[0]}" if len(nodes) == 1 else f"{len(nodes)} nodes from {min(nodes)} to {max(nodes)}"
        if kind == "end":
            found += _END.told(most, index=index)
        elif kind == "held":
            found += _HELD.told(most, index=index, at=at)
        elif kind == "contact" and rows.contacts is not None:
            found += _CONTACT.told(most, sentence=rows.contacts.sentence(index, most), at=at)
        elif kind == "distance" and index >= len(pairs):
            found += _KEPT.told(most, index=index - len(pairs), at=at)
        elif kind == "distance":
            first, second = pairs[index]
            found += _CLEARANCE.told(1e3 * DISTANCE_SCALE * most, first=first, second=second, at=at)
        else:
            quantity, joint, unit = element_of(rows.stage.step, index)
            value = most / float(rows.scale[index])
            found += _LIMIT.told(value, quantity=quantity, joint=joint, unit=unit, at=at)
    return tuple(found)


def element_of(step: HeldStep, index: int) -> tuple[str, str, str]:
    """Quantity, joint and unit of an element of w = (u, x)."""
    robot, driven = step.robot, np.flatnonzero(step.motors)
    description, names = robot.description, robot.velocity_names
    torque = index - step.torque_places.start
    if 0 <= torque < len(driven):
        joint = int(driven[torque])
        return "torque", names[joint], description.effort_units[joint]
    if index < len(driven):
        joint = int(driven[index])
        return "torque rate", names[joint], f"{description.effort_units[joint]}/s"
    is_velocity, joint = divmod(index - step.inputs, robot.n)
    if is_velocity:
        return "velocity", names[joint], description.velocity_units[joint]
    return "position", names[joint], description.coordinate_units[Coordinates(robot).places[joint]]
