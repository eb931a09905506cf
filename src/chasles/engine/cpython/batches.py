"""The way from Python into machine code for short batches, without NumPy's dispatch.

A generalized ufunc and what the general call does before it take some microseconds, as much as a hundred states of a
robot. Here dense arrays with the same batch axes or none, and floats, go straight to the kernel, with or without
``out``, as long as there is too little work for several threads. Everything else is left to the general call.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from chasles.engine.cpython.memory import SMALLEST
from chasles.engine.cpython.objects import (
    AND_WRITABLE,
    CONTIGUOUS_AND_ALIGNED,
    DATA,
    DIMENSIONS,
    FLOAT_VALUE,
    PARAMETERS,
    RANK,
    TYPE,
    ObjectWriter,
    core_size,
)
from chasles.engine.kernels.shapes import WORTH_THREADS, CoreArray, Kernel, Width, few_samples, work_of_a_sample
from chasles.engine.targets.native import kernel_writer
from chasles.engine.targets.native.module import LlvmModule
from chasles.engine.targets.native.writer import LlvmWriter

ENTRY = "chasles.call_batch"
_MOST_AXES = 8  # of a batch


def write_batch_call(kernel: Kernel, module: LlvmModule, name: str, width: Width) -> str:
    """Return the LLVM assembly of the call of a map kernel for short batches; ``width`` as for `calls.write_call`."""
    return _BatchWriter(name, kernel, module).write(width)


class _Batch(NamedTuple):
    """Addresses of the number of batch axes, of their sizes' address, and of the number of samples."""

    rank: str
    dimensions: str
    samples: str


def _word(w: LlvmWriter, base: str, position: int) -> str:
    """Return the address of a word behind another."""
    return w.value(f"getelementptr i8, ptr {base}, i64 {8 * position}")


class _BatchWriter(ObjectWriter):
    def write(self, width: Width) -> str:
        """Return the function."""
        kernel, item = self.kernel, self.module.item_size
        arrays = (*kernel.inputs, *kernel.outputs)
        cores = sum(len(array.dims) for array in arrays)
        args, steps = (self.value(f"alloca [{len(arrays) + cores} x i64]") for _ in range(2))
        dims = self.value(f"alloca [{1 + len(kernel.symbols)} x i64]")
        self.require(self.value(f"icmp eq i64 %count, {len(kernel.inputs)}"))
        out = self._given_out()
        batch = _Batch(*(self.value(f"alloca {kind}") for kind in ("i64", "ptr", "i64")))
        self.emit(f"store i64 0, ptr {batch.rank}")
        for k, array in enumerate(kernel.inputs):
            self._take(self.field("ptr", "%args", 8 * k), array, batch, _word(self, args, k), _word(self, steps, k))
        rank = self.value(f"load i64, ptr {batch.rank}")
        self.require(self.value(f"icmp sle i64 {rank}, {_MOST_AXES}"))
        self._count_samples(rank, batch)
        count = self.value(f"load i64, ptr {batch.samples}")
        self.require(self.value(f"icmp sge i64 {count}, 1"))
        if width != "any":
            comparison = "sgt" if width == "few" else "sle"
            is_of_other = self.value(f"icmp {comparison} i64 {count}, {few_samples(self.module.dtype)}")
            with self.when(is_of_other, returns=True):
                answer = self.value(f"call ptr {self.table('other code')}({PARAMETERS})")
                self.emit(f"ret ptr {answer}")
        self.require(self.value(f"icmp sle i64 {count}, {WORTH_THREADS // work_of_a_sample(kernel)}"))
        is_given = self.value(f"icmp ne ptr {out}, null")
        is_batch = self.value(f"icmp sgt i64 {rank}, 0")
        self.require(self.value(f"or i1 {is_given}, {is_batch}"))

        results = self.value(f"alloca [{len(kernel.outputs)} x ptr]")
        with self.when(is_given):
            self._take_out(out, rank, batch, results)
            self._require_apart(count, args, steps, results)
        with self.unless(is_given):
            self._make_results(rank, count, batch, results)
        self.emit(f"store i64 {count}, ptr {dims}")
        for k, dim in enumerate(kernel.symbols):
            self.emit(f"store i64 {dim}, ptr {_word(self, dims, 1 + k)}")
        result_arrays = [self.field("ptr", results, 8 * k) for k in range(len(kernel.outputs))]
        for k, (array, result) in enumerate(zip(kernel.outputs, result_arrays, strict=True), len(kernel.inputs)):
            self.emit(f"store ptr {self.field('ptr', result, DATA)}, ptr {_word(self, args, k)}")
            self.emit(f"store i64 {core_size(array) * item}, ptr {_word(self, steps, k)}")
        position = len(arrays)
        for array in arrays:
            for k in range(len(array.dims)):
                stride = item * math.prod(dim for dim in array.dims[k + 1 :] if isinstance(dim, int))
                self.emit(f"store i64 {stride}, ptr {_word(self, steps, position)}")
                position += 1
        self.emit(f"call void @{kernel_writer.ENTRY}(ptr {args}, ptr {dims}, ptr {steps}, ptr null)")
        error = self.value(f"call ptr {self.table('error')}()")
        self.return_if(self.value(f"icmp ne ptr {error}, null"), "ptr null")
        with self.when(is_given):
            for result in result_arrays:
                self.emit(f"call void {self.table('increment')}(ptr {result})")
        self.give(result_arrays)
        return self.end()

    def _given_out(self) -> str:
        """Return what is given as ``out``, the only keyword that there may be, or null."""
        place = self.value("alloca ptr")
        self.emit(f"store ptr null, ptr {place}")
        with self.when(self.value("icmp ne ptr %names, null")):
            size = self.value(f"call i64 {self.table('tuple size')}(ptr %names)")
            self.require(self.value(f"icmp eq i64 {size}, 1"))
            name = self.value(f"call ptr {self.table('tuple item')}(ptr %names, i64 0)")
            self.require(self.value(f"icmp eq ptr {name}, {self.table('out')}"))
            given = self.field("ptr", self.address("%args", ("%count", 8)), 0)
            self.emit(f"store ptr {given}, ptr {place}")
        return self.value(f"load ptr, ptr {place}")

    def _take(self, argument: str, core: CoreArray, batch: _Batch, address: str, stride: str) -> None:
        """Check an argument, and note where its numbers begin and how far samples are apart."""
        if not core.dims and self.module.element == "double":
            is_number = self.is_number(argument)
            with self.when(is_number):
                value = self.value(f"getelementptr i8, ptr {argument}, i64 {FLOAT_VALUE}")
                self.emit(f"store ptr {value}, ptr {address}")
                self.emit(f"store i64 0, ptr {stride}")
            with self.unless(is_number):
                self._take_array(argument, core, batch, address, stride)
        else:
            self._take_array(argument, core, batch, address, stride)

    def _take_array(self, argument: str, core: CoreArray, batch: _Batch, address: str, stride: str) -> None:
        self.require_plain_array(argument, CONTIGUOUS_AND_ALIGNED)
        rank, dimensions = self._batch_axes(argument, core)
        is_batch = self.value(f"icmp sgt i64 {rank}, 0")
        with self.when(is_batch):
            known = self.value(f"load i64, ptr {batch.rank}")
            with self.when(self.value(f"icmp eq i64 {known}, 0")):
                self.emit(f"store i64 {rank}, ptr {batch.rank}")
                self.emit(f"store ptr {dimensions}, ptr {batch.dimensions}")
            self._require_same_axes(rank, dimensions, batch)
        self.emit(f"store ptr {self.field('ptr', argument, DATA)}, ptr {address}")
        step = self.value(f"select i1 {is_batch}, i64 {core_size(core) * self.module.item_size}, i64 0")
        self.emit(f"store i64 {step}, ptr {stride}")

    def _batch_axes(self, argument: str, core: CoreArray) -> tuple[str, str]:
        """Check an array's core dimensions; return the number of axes before them, and the address of their sizes."""
        dimensions = self.field("ptr", argument, DIMENSIONS)
        dimension_count = self.value(f"sext i32 {self.field('i32', argument, RANK)} to i64")
        rank = self.value(f"sub i64 {dimension_count}, {len(core.dims)}")
        self.require(self.value(f"icmp sge i64 {rank}, 0"))
        inner = self.address(dimensions, (rank, 8))
        for k, dim in enumerate(core.dims):
            self.require(self.value(f"icmp eq i64 {self.field('i64', inner, 8 * k)}, {dim}"))
        return rank, dimensions

    def _require_same_axes(self, rank: str, dimensions: str, batch: _Batch) -> None:
        self.require(self.value(f"icmp eq i64 {rank}, {self.value(f'load i64, ptr {batch.rank}')}"))
        known = self.value(f"load ptr, ptr {batch.dimensions}")
        with self.loop(rank) as k:
            sizes = [self.field("i64", self.address(table, (k, 8)), 0) for table in (dimensions, known)]
            self.require(self.value(f"icmp eq i64 {sizes[0]}, {sizes[1]}"))

    def _count_samples(self, rank: str, batch: _Batch) -> None:
        """Multiply the sizes of the batch axes; a batch too long for this way is not counted to its end."""
        self.emit(f"store i64 1, ptr {batch.samples}")
        dimensions = self.value(f"load ptr, ptr {batch.dimensions}")
        with self.loop(rank) as k:
            before = self.value(f"load i64, ptr {batch.samples}")
            self.require(self.value(f"icmp sle i64 {before}, {WORTH_THREADS}"))
            size = self.field("i64", self.address(dimensions, (k, 8)), 0)
            self.require(self.value(f"icmp sle i64 {size}, {WORTH_THREADS}"))
            self.emit(f"store i64 {self.value(f'mul i64 {before}, {size}')}, ptr {batch.samples}")

    def _take_out(self, out: str, rank: str, batch: _Batch, results: str) -> None:
        """Check the arrays for the results and note them."""
        outputs = self.kernel.outputs
        if len(outputs) > 1:
            kind = self.field("ptr", out, TYPE)
            kinds = [self.value(f"icmp eq ptr {kind}, {self.table(k)}") for k in ("tuple type", "plain tuple type")]
            self.require(self.value(f"or i1 {kinds[0]}, {kinds[1]}"))
            size = self.value(f"call i64 {self.table('tuple size')}(ptr {out})")
            self.require(self.value(f"icmp eq i64 {size}, {len(outputs)}"))
        for k, core in enumerate(outputs):
            array = out
            if len(outputs) > 1:
                array = self.value(f"call ptr {self.table('tuple item')}(ptr {out}, i64 {k})")
            self.require_plain_array(array, AND_WRITABLE)
            batch_rank, dimensions = self._batch_axes(array, core)
            self.require(self.value(f"icmp eq i64 {batch_rank}, {rank}"))
            with self.when(self.value(f"icmp sgt i64 {batch_rank}, 0")):
                self._require_same_axes(batch_rank, dimensions, batch)
            self.emit(f"store ptr {array}, ptr {_word(self, results, k)}")

    def _require_apart(self, count: str, args: str, steps: str, results: str) -> None:
        """Check that no result is written over an argument or another result."""
        item = self.module.item_size
        regions = []
        for k, core in enumerate(self.kernel.inputs):
            start = self.field("i64", args, 8 * k)
            before = self.value(f"sub i64 {count}, 1")
            length = self.value(f"mul i64 {before}, {self.field('i64', steps, 8 * k)}")
            length = self.value(f"add i64 {length}, {core_size(core) * item}")
            regions.append((start, self.value(f"add i64 {start}, {length}")))
        for k, core in enumerate(self.kernel.outputs):
            start = self.field("i64", self.field("ptr", results, 8 * k), DATA)
            length = self.value(f"mul i64 {count}, {core_size(core) * item}")
            end = self.value(f"add i64 {start}, {length}")
            for other_start, other_end in regions:
                before = self.value(f"icmp ule i64 {end}, {other_start}")
                behind = self.value(f"icmp ule i64 {other_end}, {start}")
                self.require(self.value(f"or i1 {before}, {behind}"))
            regions.append((start, end))

    def _make_results(self, rank: str, count: str, batch: _Batch, results: str) -> None:
        longest = max(len(core.dims) for core in self.kernel.outputs)
        shape = self.value(f"alloca [{_MOST_AXES + longest} x i64]")
        dimensions = self.value(f"load ptr, ptr {batch.dimensions}")
        with self.loop(rank) as axis:
            size = self.field("i64", self.address(dimensions, (axis, 8)), 0)
            self.emit(f"store i64 {size}, ptr {self.address(shape, (axis, 8))}")
        for k, core in enumerate(self.kernel.outputs):
            inner = self.address(shape, (rank, 8))
            for position, dim in enumerate(core.dims):
                self.emit(f"store i64 {dim}, ptr {_word(self, inner, position)}")
            axes = self.value(f"trunc i64 {self.value(f'add i64 {rank}, {len(core.dims)}')} to i32")
            size = self.value(f"mul i64 {count}, {core_size(core) * self.module.item_size}")
            is_large = self.value(f"icmp sge i64 {size}, {SMALLEST}")
            with self.when(is_large):
                self.emit(f"store ptr {self.new_large_array(axes, shape)}, ptr {_word(self, results, k)}")
            with self.unless(is_large):
                self.emit(f"store ptr {self.new_array(axes, shape)}, ptr {_word(self, results, k)}")
