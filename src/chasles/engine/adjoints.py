"""Adjoints of loops: of scans by a scan backward with checkpoints, of solves by the implicit-function rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.derivatives.kernels import HELD, ArrayLibrary, adjoints, check_differentiable, scan_adjoints
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.running.runner import compiled

Array = NDArray[Any]


class LoopAdjoint:
    """Vector times Jacobian of a scan or a solve, over any leading batch axes.

    Parameters
    ----------
    kernel
        A scan or a solve.
    wrt
        Names of the inputs whose adjoints are wanted.
    dtype
        Type of numbers.
    held
        Numbers that records of a scan may take; see `chasles.engine.derivatives.kernels.adjoints`.
    """

    def __init__(self, kernel: Kernel, wrt: Sequence[str], dtype: str, held: int = HELD) -> None:
        check_differentiable(kernel)
        self.kernel, self.wrt, self.dtype, self._held = kernel, tuple(wrt), dtype, held

    def __call__(self, *arguments: Any) -> Any:
        """Return the adjoint of each wanted input, one alone without a tuple around it.

        Parameters
        ----------
        *arguments
            Arguments of the function, then an array for each of its results: for a scan the adjoints of the final state
            and of each recorded sample, for a solve that of the solution.
        """
        program = self.kernel.program
        taken = len(self.kernel.inputs)
        expected = taken + (len(program.outputs) if self.kernel.shape == "scan" else 1)
        if len(arguments) != expected:
            raise TypeError(f"the adjoint of {program.name} takes {expected} arguments, not {len(arguments)}")
        given, of_results = self._arrays(arguments)
        results = adjoints(self.kernel, self.wrt, given, of_results, self._library, self._held)
        return results[0] if len(results) == 1 else tuple(results)

    def with_samples(self, *arguments: Any) -> tuple[list[Array], list[Array]]:
        """Return the adjoints of a scan, and its samples, one for each run of its step, at no further run."""
        given, of_results = self._arrays(arguments)
        return scan_adjoints(self.kernel, self.wrt, given, of_results, self._library, self._held, samples=True)

    def _arrays(self, arguments: Sequence[Any]) -> tuple[list[Array], list[Array]]:
        """Return arguments and adjoints of the results as arrays, records as vectors."""
        program, taken = self.kernel.program, len(self.kernel.inputs)
        limit = [None] * (taken - len(program.inputs))
        of_record = [*program.inputs, *limit, *program.outputs]
        vectors = [x if a is None else a.vector(x) for x, a in zip(arguments, of_record, strict=False)]
        arrays = [np.asarray(x, self.dtype) for x in vectors]
        return arrays[:taken], arrays[taken:]

    @property
    def _library(self) -> ArrayLibrary:
        return ArrayLibrary(np, self._run)

    def _run(self, kernel: Kernel, arrays: Sequence[Array]) -> Sequence[Array]:
        called = compiled(kernel, self.dtype)(arrays)
        results = called if isinstance(called, tuple) else (called,)
        layouts = [core.layout for core in kernel.outputs]
        return [x if layout is None else layout.join(x) for x, layout in zip(results, layouts, strict=True)]
