"""Scans over matrices as one call: machine code where there is a compiler, else NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chasles.base.cached import cached_property
from chasles.engine.kernels.shapes import CoreArray
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.running.compiling import native_available
from chasles.engine.running.loop_calls import loop_call
from chasles.engine.targets.arguments import Signature

#: Rows and columns up to which machine code is written; longer code would take seconds to compile.
LARGEST = 128


class MatrixCall:
    """Scans that run one after another; a callable that broadcasts as ufuncs do, compiled when it is called first.

    Its arguments are float64 arrays that are dense in memory but for the axis of steps.

    Parameters
    ----------
    name
        Name that error messages show.
    scans
        Scans; they may be given what those before sampled.
    inputs, outputs
        Names of the arrays that the call takes, the first one of steps, and gives. What scans hand to one another
        may be an input: an array that is written to, which a batch may share.

    Attributes
    ----------
    signature
        Names and dimensions of the arrays.
    scans
        The scans.
    """

    def __init__(self, name: str, scans: Sequence[MatrixScan], inputs: Sequence[str], outputs: Sequence[str]) -> None:
        shapes: dict[str, tuple[int | str, ...]] = {}
        for scan in scans:
            shapes |= {each: ("s", *shape) for each, shape in scan.at_each_step.items()}
            shapes |= {each: scan.state for each in (scan.start, scan.end) if each}
        taken, given = (tuple(CoreArray(each, shapes[each]) for each in names) for names in (inputs, outputs))
        self.signature = Signature(name, taken, given, np.dtype("float64"))
        self.scans = tuple(scans)
        sizes = [size for dims in shapes.values() for size in dims if isinstance(size, int)]
        self._can_be_compiled = min(sizes) >= 1 and max(sizes) <= LARGEST

    def __call__(self, *arguments: Any, **out: Any) -> Any:
        """Compute the outputs of each sample, into arrays ``out`` if they are given."""
        if self._can_be_compiled and native_available():
            return self._compiled(*arguments, **out)
        return self.general_call(*arguments, **out)

    def general_call(self, *arguments: Any, out: Any = None) -> Any:
        """Compute the outputs of each sample in NumPy, step by step."""
        bound = self.signature.bind(arguments)
        arrays = dict(zip((core.name for core in self.signature.inputs), bound.arrays, strict=True))
        for scan in self.scans:
            shapes: dict[str, tuple[int, ...]] = {scan.end: scan.state} if scan.end else {}
            for name, sample in scan.written.samples.items():
                shapes[name] = (bound.sizes["s"], *sample.shape)
            arrays |= {name: np.empty(bound.batch + shape) for name, shape in shapes.items()}
            scan.run(arrays)
        return self.signature.deliver([arrays[core.name] for core in self.signature.outputs], out)

    def loop(self, samples: int) -> tuple[int, object] | None:
        """Return the address of the loop in machine code, and its owner, if there is one."""
        return self._loop if self._can_be_compiled and native_available() else None

    @cached_property
    def _loop(self) -> tuple[int, object]:
        from chasles.engine.targets.native import machine
        from chasles.engine.targets.native.matrix_scans import ENTRY, write_matrix_scans

        arrays = (*self.signature.inputs, *self.signature.outputs)
        axes, lanes = {core.name: len(core.dims) for core in arrays}, machine.lanes("float64")
        content = f"{axes} {lanes} {[scan.text() for scan in self.scans]}"
        code = machine.loaded(content, [ENTRY], lambda: [write_matrix_scans(self.scans, axes, lanes)])
        return code.address(ENTRY), code

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        (address, code), of = self._loop, self.signature
        return loop_call(address, of.name, of.inputs, of.outputs, "float64", "", code)
