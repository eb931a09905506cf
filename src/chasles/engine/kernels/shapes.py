"""Kernel shapes: the three ways to run a program over many samples, as NumPy sees them.

**map** computes the outputs of each sample. **scan** runs a loop over time: state in, state out. **solve** repeats a
step until it says that it is done. All three run over leading batch axes; a `Kernel` says which arrays they take and
give.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.program.program import Argument, Program
from chasles.engine.program.records import Layout

Shape = Literal["map", "scan", "solve"]
#: Samples that machine code is for: few fill the narrowest vectors, many the widest.
Width = Literal["few", "many", "any"]

#: Scalar operations that machine code performs at a stretch. Python answers an interrupt only between stretches: this
#: many take about a hundredth of a second.
UNINTERRUPTED_WORK = 200_000_000
#: Repetitions of a step for which the work of scans that repeat steps is counted.
_REPETITIONS = 16
#: Scalar operations that moving a number into or out of a kernel takes the time of.
_WORK_OF_A_NUMBER = 15
#: Work, in scalar operations, from which several threads are worth their start, which takes some 100 µs.
WORTH_THREADS = 8_000_000
_NARROWEST_VECTOR = 16  # bytes; every processor has it


def few_samples(dtype: str) -> int:
    """Return the number of samples in the narrowest vectors."""
    return _NARROWEST_VECTOR // np.dtype(dtype).itemsize


@dataclass(frozen=True)
class CoreArray:
    """Name and core dimensions of one array; a dimension that the call decides is a letter.

    Where the array holds records, `layout` names their parts.
    """

    name: str
    dims: tuple[int | str, ...]
    layout: Layout | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """The dimensions as a gufunc signature writes them."""
        return f"({','.join(map(str, self.dims))})"


@dataclass(frozen=True)
class Kernel:
    """A program together with the way to run it.

    Attributes
    ----------
    program
        Program to run.
    shape
        ``"map"``; ``"scan"``, for programs of ``(state, given, *parameters) -> (next state, *samples)``,
        where ``given`` is what changes from step to step: the time, or an array; or ``"solve"``,
        for programs of ``(state, *parameters) -> (next state, done)``.

        A scan whose first sample is a number named ``again`` repeats each step on the state that it gave while that
        number is positive, as steps need whose length an error estimate controls. Samples are those of the first
        repetition. The samples of a batch may be repeated together: where ``again`` is not positive the program must
        leave the state as it is.
    """

    program: Program
    shape: Shape = "map"

    def __post_init__(self) -> None:
        inputs, outputs = self.program.inputs, self.program.outputs
        if self.shape == "map":
            return
        if not inputs or not outputs or inputs[0].shape != outputs[0].shape or len(inputs[0].shape) != 1:
            raise ArgumentError(
                f"{self.program.name}: the first input and the first output of a {self.shape} must be the state, "
                "of the same shape (s,)"
            )
        before, after = inputs[0].layout, outputs[0].layout
        if before is not None and after is not None and list(before.leaves) != list(after.leaves):
            raise ArgumentError(
                f"{self.program.name}: the next state must have the parts of the state in their order, "
                f"{', '.join(before.leaves)}; it has {', '.join(after.leaves)}"
            )
        if self.shape == "scan" and len(inputs) < 2:
            raise ArgumentError(
                f"{self.program.name}: the second input of a scan must be what changes from step to step, as the time"
            )
        if self.shape == "solve" and (len(outputs) != 2 or outputs[1].shape != ()):
            raise ArgumentError(f"{self.program.name}: a solve has two outputs, the state and `done` of shape ()")

    @property
    def repeats(self) -> bool:
        """Whether it is a scan that repeats steps."""
        return self.shape == "scan" and self.program.outputs[1:2] == (Argument("again", ()),)

    @cached_property
    def inputs(self) -> tuple[CoreArray, ...]:
        """The arrays that a call takes."""
        arrays = [_core(argument) for argument in self.program.inputs]
        if self.shape == "scan":
            arrays[1] = replace(arrays[1], dims=("S", "k", *arrays[1].dims))
        elif self.shape == "solve":
            arrays.append(CoreArray("max_iterations", ()))
        return tuple(arrays)

    @cached_property
    def outputs(self) -> tuple[CoreArray, ...]:
        """The arrays that a call gives."""
        arrays = [_core(argument) for argument in self.program.outputs]
        if self.shape == "scan":
            return (arrays[0], *(replace(array, dims=("S", *array.dims)) for array in arrays[1:]))
        if self.shape == "solve":
            return (arrays[0], CoreArray("iterations", ()), arrays[1])
        return tuple(arrays)

    @property
    def signature(self) -> str:
        """The signature of the generalized ufunc."""
        return f"{','.join(a.text for a in self.inputs)}->{','.join(a.text for a in self.outputs)}"

    @property
    def symbols(self) -> list[int | str]:
        """The distinct core dimensions in the order in which NumPy passes their sizes."""
        return list(dict.fromkeys(dim for array in (*self.inputs, *self.outputs) for dim in array.dims))


def _core(argument: Argument) -> CoreArray:
    return CoreArray(argument.name, argument.shape, argument.layout)


def work_of_a_sample(kernel: Kernel) -> int:
    """Return the work of running a kernel's program once, in scalar operations."""
    program = kernel.program
    moved = sum(a.size for a in (*program.inputs, *program.outputs))
    work = program.operation_count + _WORK_OF_A_NUMBER * moved
    return _REPETITIONS * work if kernel.repeats else work
