"""Closed chains: forward dynamics against Pinocchio's constrained dynamics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tests.oracles.closed_machines import delta, four_bar, stewart

import chasles as ch
from benchmarks.robots import MissingPeerError
from benchmarks.tables import Table, at_least, seconds
from benchmarks.timing import interleaved

try:
    from tests.oracles.pinocchio_models import ClosedModel
except ImportError:
    raise MissingPeerError("pin (Pinocchio)") from None

BATCH = 4096
MACHINES = {"four-bar linkage": four_bar, "Delta robot": delta, "Stewart platform, 6-UPS": stewart}
BARS = {"four-bar linkage": 20.0, "Delta robot": 10.0, "Stewart platform, 6-UPS": 10.0}


def tables() -> Iterator[Table]:
    """The table of this section."""
    table = Table(
        f"Closed chains, forward dynamics: batch of {BATCH:,} states, time for one state; and one call from Python",
        ("", "operations", "Chasles", "Pinocchio", "largest difference", "ratio", "one call", "ratio of one call"),
        notes=[
            "Pinocchio: one call of constraintDynamics for one state, with point constraints and one proximal step; it "
            "has no loop over batches. It is given velocities and torques of all joints, and the torques of friction.",
            "Chasles finds the velocities of all joints and the friction itself.",
            "Largest difference: of the accelerations, relative to the largest, over 16 states.",
        ],
    )
    for name, make in MACHINES.items():
        robot, rng = ch.Robot(make()), np.random.default_rng(0)
        q = robot.integrate(robot.home, 0.05 * rng.normal(size=(BATCH, robot.n)))
        qd, tau = rng.normal(size=(2, BATCH, robot.n))
        peer, free = ClosedModel(robot.description), list(robot.description.independent_indices)
        open_robot = robot.edit.without_loops()
        velocities = np.einsum("kij,kj->ki", robot.loops.velocity_map(q), qd)
        torques = -open_robot.friction_torque(q, velocities)
        torques[:, free] += tau
        out = robot.forward_dynamics(q, qd, tau)
        peer.fast()
        theirs = np.array([peer.accelerations(q[k], velocities[k], torques[k])[free] for k in range(16)])
        difference = np.abs(out[:16] - theirs).max() / np.abs(theirs).max()
        first = (q[0].copy(), qd[0].copy(), tau[0].copy())
        state = peer.state(q[0], velocities[0], torques[0])
        times = interleaved(
            {
                "batch": lambda: robot.forward_dynamics(q, qd, tau, out=out),  # noqa: B023
                "one": lambda: robot.forward_dynamics(*first),  # noqa: B023
                "peer": lambda: peer.call(state),  # noqa: B023
            }
        )
        table.add(
            name,
            f"{robot.forward_dynamics.program.operation_count:,}",
            seconds(times["batch"] / BATCH),
            seconds(times["peer"]),
            f"{difference:.0e}",
            at_least(BARS[name], times["peer"] * BATCH / times["batch"]),
            seconds(times["one"]),
            at_least(1.0, times["peer"] / times["one"]),
        )
    yield table
