"""Time of batches against a roofline: the time that arithmetic and memory traffic alone would take, in the same run.

The roofline of a program is the sum of two products: its operations times the time of one operation in a long
synthetic program, and its inputs and outputs times the time in which NumPy fills one number of a large array. A share
of 1 means that computing and moving take what they must where neither hides behind the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import panda
from benchmarks.tables import Table, at_least, seconds
from benchmarks.timing import fastest
from chasles.engine import Function, Program, trace

BATCH = 4096
BAR = 0.75
#: Independent chains of the synthetic program: enough to hide the latency of the processor's adders and multipliers.
CHAINS = 16
SYNTHETIC = (1_000, 5_000)
TRIVIAL_OUTPUTS = 147


@dataclass(frozen=True)
class Case:
    """Function under test with its arguments and options."""

    function: Any
    arguments: tuple[np.ndarray, ...]
    options: dict[str, str] = field(default_factory=dict)

    @property
    def program(self) -> Program:
        """Program that is run."""
        program: Program = self.function.specialize(**self.options).program
        return program

    def call(self) -> Callable[[], object]:
        """A call into arrays that exist already."""
        out = self.function(*self.arguments, **self.options)
        out = tuple(out) if isinstance(out, tuple) else out
        return lambda: self.function(*self.arguments, out=out, **self.options)


def cases() -> dict[str, Case]:
    """The computations of the table."""
    arm, s = panda.chasles_arm(), panda.states(BATCH)
    return {
        panda.INVERSE: Case(arm.inverse_dynamics, (s.q, s.qd, s.qdd)),
        panda.FORWARD: Case(arm.forward_dynamics, (s.q, s.qd, s.tau)),
        panda.MASS: Case(arm.mass_matrix, (s.q,)),
        "Jacobian": Case(arm.jacobian, (s.q,), {"frame": "body"}),
        panda.POSE: Case(arm.pose_and_jacobian, (s.q,), {"frame": "body"}),
        panda.DERIVATIVES: Case(arm.inverse_dynamics_derivatives, (s.q, s.qd, s.qdd)),
        panda.LINEAR: Case(arm.linearize, (s.q, s.qd, s.tau)),
        panda.REGRESSOR: Case(arm.regressors.torque, (s.q, s.qd, s.qdd)),
        "Coriolis matrix": Case(arm.coriolis_matrix, (s.q, s.qd)),
    }


def synthetic(operations: int) -> Function:
    """A program of independent chains of additions and multiplications, none of which could be fused."""

    def chains(x: np.ndarray, small: np.ndarray) -> np.ndarray:
        values = list(x)
        for k in range(operations):
            chain = k % CHAINS
            if chain % 2:
                values[chain] = values[chain] + small[chain // 2]
            else:
                values[chain] = values[chain] * small[chain // 2]
        return np.array(values, dtype=object)

    return Function(trace(chains, {"x": (CHAINS,), "small": (CHAINS // 2,)}, name=f"synthetic_{operations}"))


def trivial() -> Function:
    """A program that negates one number into many results."""
    return Function(trace(lambda x: np.array([-x] * TRIVIAL_OUTPUTS, dtype=object), {"x": ()}, name="trivial"))


def tables() -> Iterator[Table]:
    """The one table of this section."""
    rng = np.random.default_rng(0)
    given = cases()
    x, small = rng.uniform(0.5, 1.0, (BATCH, CHAINS)), rng.uniform(0.99, 1.01, (BATCH, CHAINS // 2))
    short, long = map(synthetic, SYNTHETIC)
    same, number = trivial(), rng.normal(size=BATCH)
    filled, chained = np.empty((BATCH, TRIVIAL_OUTPUTS)), np.empty((BATCH, CHAINS))
    calls: dict[str, Callable[[], object]] = {
        "short": lambda: short(x, small, out=chained),
        "long": lambda: long(x, small, out=chained),
        "fill": lambda: filled.fill(1.0),
        "trivial": lambda: same(number, out=filled),
        **{name: case.call() for name, case in given.items()},
    }
    times = {name: time / BATCH for name, time in fastest(calls).items()}
    operation = (times["long"] - times["short"]) / (SYNTHETIC[1] - SYNTHETIC[0])
    moved = times["fill"] / TRIVIAL_OUTPUTS
    table = Table(
        f"Panda, batch of {BATCH:,} states, float64, one thread, with out=: time for one state and its roofline",
        ("", "operations", "numbers in", "numbers out", "time", "roofline", "share"),
        notes=[
            f"Roofline of this run: {1e12 * operation:.1f} ps an operation (slope of synthetic programs of "
            f"{SYNTHETIC[0]:,} and {SYNTHETIC[1]:,}), {1e9 * moved:.2f} ns a number (ndarray.fill).",
            f"A trivial program with {TRIVIAL_OUTPUTS} equal results takes "
            f"{1e9 * times['trivial'] / TRIVIAL_OUTPUTS:.2f} ns a number.",
            "Least time of a call.",
        ],
    )
    for name, case in given.items():
        add_row(table, name, case.program, times[name], operation, moved)
    yield table


def add_row(table: Table, name: str, program: Program, time: float, operation: float, moved: float) -> None:
    """One computation: what it must do, its time, and its share of the roofline."""
    inputs, outputs = sum(argument.size for argument in program.inputs), len(program.results)
    roofline = operation * program.operation_count + moved * (inputs + outputs)
    table.add(
        name,
        f"{program.operation_count:,}",
        str(inputs),
        str(outputs),
        seconds(time),
        seconds(roofline),
        at_least(BAR, roofline / time, lambda share: f"{share:.2f}"),
    )
