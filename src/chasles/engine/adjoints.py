"""Adjoints of loops: of scans by a scan backward with checkpoints, of solves by the implicit-function rule.

A scan that repeats steps is first run to count the repetitions; then each is a step of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.derivatives.kernels import HELD, ArrayLibrary, adjoints, scan_adjoints
from chasles.engine.derivatives.scans import counting_scan
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
    still
        Numbers at the beginning of a scan's state that count as constant, such as times and lengths of steps.
    """

    def __init__(self, kernel: Kernel, wrt: Sequence[str], dtype: str, held: int = HELD, still: int = 0) -> None:
        self.kernel, self.wrt, self.dtype, self._held, self._still = kernel, tuple(wrt), dtype, held, still

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
        if self.kernel.shape == "scan":
            results, _ = self._scan(given, of_results, samples=False)
        else:
            results = adjoints(self.kernel, self.wrt, given, of_results, self._library)
        return results[0] if len(results) == 1 else tuple(results)

    def with_samples(self, *arguments: Any) -> tuple[list[Array], list[Array]]:
        """Return the adjoints of a scan, and its samples, one for each step, at no further run."""
        given, of_results = self._arrays(arguments)
        return self._scan(given, of_results, samples=True)

    def _scan(
        self, given: Sequence[Array], of_results: Sequence[Array], *, samples: bool
    ) -> tuple[list[Array], list[Array]]:
        options: dict[str, Any] = {"held": self._held, "samples": samples, "still": self._still}
        if not self.kernel.repeats:
            return scan_adjoints(self.kernel, self.wrt, given, of_results, self._library, **options)
        counts = self._repetitions(given)
        first, argument = np.cumsum(counts) - counts, self.kernel.program.inputs[1]
        rows, lead = given[1], given[1].ndim - len(argument.shape) - 2
        flat = rows.reshape((*rows.shape[:lead], -1, 1, *argument.shape))
        repeated = [given[0], np.repeat(flat, counts, axis=lead), *given[2:]]
        shown = first[:: rows.shape[lead + 1]]
        outputs = self.kernel.program.outputs[1:]
        spread = [
            _spread(x, x.ndim - 1 - len(a.shape), shown, int(counts.sum()))
            for x, a in zip(of_results[1:], outputs, strict=True)
        ]
        found, recorded = scan_adjoints(
            self.kernel, self.wrt, repeated, [of_results[0], *spread], self._library, **options
        )
        for k, name in enumerate(self.wrt):
            if name == argument.name:
                axis = found[k].ndim - len(argument.shape) - 2
                summed = np.add.reduceat(found[k], first, axis=axis)
                found[k] = summed.reshape((*summed.shape[:axis], *rows.shape[lead:]))
        ranks = [1 + len(a.shape) for a in outputs]
        return found, [np.take(x, first, x.ndim - rank) for x, rank in zip(recorded, ranks, strict=False)]

    def _repetitions(self, given: Sequence[Array]) -> NDArray[np.intp]:
        """Return how often each step is run, at most among the samples of the batch, which run as many."""
        state, rows, *parameters = given
        lead, size = rows.ndim - len(self.kernel.inputs[1].dims), self.kernel.program.inputs[1].size
        flat = rows.reshape((*rows.shape[:lead], -1, 1, size))
        counted = np.concatenate([state, np.zeros_like(state[..., :1])], axis=-1)
        final, _, before = self._run(Kernel(counting_scan(self.kernel.program), "scan"), [counted, flat, *parameters])
        counts = np.diff(np.concatenate([before, final[..., -1:]], axis=-1), axis=-1)
        return np.asarray(counts.reshape(-1, counts.shape[-1]).max(axis=0), np.intp)

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


def _spread(array: Array, axis: int, places: NDArray[np.intp], count: int) -> Array:
    """Return an array with rows at some places of so many along an axis, and zeros at the others."""
    spread = np.zeros((*array.shape[:axis], count, *array.shape[axis + 1 :]), array.dtype)
    spread[(slice(None),) * axis + (places,)] = array
    return spread
