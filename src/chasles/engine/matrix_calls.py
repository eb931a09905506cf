"""Scans over matrices as one call: machine code where there is a compiler, else NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.running.compiling import native_available
from chasles.engine.running.loop_calls import loop_call
from chasles.engine.targets.arguments import Signature

#: Rows and columns up to which machine code is written; longer code would take seconds to compile.
LARGEST = 128


def matrix_call(
    name: str, scans: Sequence[MatrixScan], inputs: Sequence[str], outputs: Sequence[str]
) -> Callable[..., Any]:
    """Return a callable of arrays that runs scans one after another.

    Parameters
    ----------
    name
        Name that error messages show.
    scans
        Scans; they may be given what those before sampled.
    inputs, outputs
        Names of the arrays that the callable takes, the first one of steps, and gives. What scans hand to one another
        may be an input: an array that is written to, which a batch may share.

    Returns
    -------
    Callable
        A callable that broadcasts as ufuncs do, of float64 arrays that are dense in memory but for the axis of steps.
    """
    shapes: dict[str, tuple[int | str, ...]] = {}
    for scan in scans:
        shapes |= {each: ("s", *shape) for each, shape in scan.at_each_step.items()}
        shapes |= {each: scan.state for each in (scan.start, scan.end) if each}
    taken, given = ([CoreArray(each, shapes[each]) for each in names] for names in (inputs, outputs))
    sizes = [size for dims in shapes.values() for size in dims if isinstance(size, int)]
    if not native_available() or min(sizes) < 1 or max(sizes) > LARGEST:
        return _PlainCall(tuple(scans), Signature(name, tuple(taken), tuple(given), np.dtype("float64")))
    from chasles.engine.targets.native import machine
    from chasles.engine.targets.native.matrix_scans import ENTRY, write_matrix_scans

    axes, lanes = {each: len(shapes[each]) for each in (*inputs, *outputs)}, machine.lanes("float64")
    content = f"{axes} {lanes} {[scan.text() for scan in scans]}"
    code = machine.loaded(content, [ENTRY], lambda: [write_matrix_scans(scans, axes, lanes)])
    return loop_call(code.address(ENTRY), name, taken, given, "float64", "", code)


@dataclass(frozen=True)
class _PlainCall:
    """Scans in NumPy, step by step."""

    scans: tuple[MatrixScan, ...]
    signature: Signature

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """Compute the outputs of each sample."""
        bound = self.signature.bind(arguments)
        arrays = dict(zip((core.name for core in self.signature.inputs), bound.arrays, strict=True))
        for scan in self.scans:
            shapes: dict[str, tuple[int, ...]] = {scan.end: scan.state} if scan.end else {}
            for name, sample in scan.written.samples.items():
                shapes[name] = (bound.sizes["s"], *sample.shape)
            arrays |= {name: np.empty(bound.batch + shape) for name, shape in shapes.items()}
            scan.run(arrays)
        return self.signature.deliver([arrays[core.name] for core in self.signature.outputs], out)
