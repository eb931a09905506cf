"""Handlers of XLA's foreign function interface, by which JAX calls the loop of a kernel.

A handler is ``XLA_FFI_Error *(XLA_FFI_CallFrame *)`` of XLA's stable C interface (``xla/ffi/api/c_api.h`` in jaxlib),
version 0. It finds the buffers in the frame and calls the loop as NumPy would: neither Python nor copies are between
JAX and the machine code.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chasles.engine.kernels.shapes import CoreArray, Kernel
from chasles.engine.targets.native import machine

_HANDLER, _LOOP = "chasles_xla_handler", "chasles_loop"
# Offsets in bytes of the fields that are read, on machines of 64 bits.
_EXTENSION, _API, _STAGE, _ARGUMENTS, _RESULTS = 8, 16, 32, 72, 112  # in XLA_FFI_CallFrame
_DATA, _RANK, _DIMS = 24, 32, 40  # in XLA_FFI_Buffer
_METADATA, _VERSION_IN_METADATA, _VERSION_IN_API = 24, 24, 32  # both numbers of a version are one i64
_EXECUTE = 3  # XLA_FFI_ExecutionStage


@dataclass(eq=False)
class Handler:
    """A handler in machine code with what it calls, which must live as long as XLA knows the address."""

    address: int
    needs: tuple[object, ...]


def xla_handler(kernel: Kernel, sizes: Mapping[str, int], dtype: str, loop: int, needs: object) -> Handler:
    """Return the handler of a kernel.

    Its buffers have the core axes of the kernel's arrays behind the axes of the batch, which are those of the results,
    or none: an argument without them serves all samples.

    Parameters
    ----------
    kernel, sizes, dtype
        Kernel, without empty arrays, the sizes that the call decides by their letters, and the type of numbers.
    loop
        Address of its loop; see `chasles.engine.running.loop_calls`.
    needs
        Owner of the loop.
    """
    content = f"xla {dtype} {kernel.signature} {sorted(sizes.items())}"
    code = machine.loaded(content, [_HANDLER], lambda: [_write(kernel, sizes, 8 if dtype == "float64" else 4)])
    ctypes.c_void_p.from_address(code.address_of_data(_LOOP)).value = loop
    return Handler(code.address(_HANDLER), (code, needs))


def _write(kernel: Kernel, chosen: Mapping[str, int], item_size: int) -> str:
    """Return the LLVM assembly of a handler."""
    arrays = [_shape(array, chosen) for array in (*kernel.inputs, *kernel.outputs)]
    sizes = [chosen[dim] if isinstance(dim, str) else dim for dim in kernel.symbols]
    strides = [step for array in arrays for step in _strides(array, item_size)]
    lines = [
        f"@{_LOOP} = global ptr null",
        f"define ptr @{_HANDLER}(ptr %frame) {{",
        "entry:",
        f"  %args = alloca [{len(arrays)} x ptr]",
        f"  %dims = alloca [{1 + len(sizes)} x i64]",
        f"  %steps = alloca [{len(arrays) + len(strides)} x i64]",
        *_read("extension", "ptr", "%frame", _EXTENSION),
        "  %asks = icmp ne ptr %extension, null",
        "  br i1 %asks, label %metadata, label %stages",
        "metadata:",  # XLA asks which version of the interface the handler is for
        *_read("api", "ptr", "%frame", _API),
        *_read("version", "i64", "%api", _VERSION_IN_API),
        *_read("answer", "ptr", "%extension", _METADATA),
        *_write_to("%answer", _VERSION_IN_METADATA, "i64 %version"),
        "  ret ptr null",
        "stages:",
        *_read("stage", "i32", "%frame", _STAGE),
        f"  %executes = icmp eq i32 %stage, {_EXECUTE}",
        "  br i1 %executes, label %buffers, label %end",
        "buffers:",
        *_read("given", "ptr", "%frame", _ARGUMENTS),
        *_read("wanted", "ptr", "%frame", _RESULTS),
    ]
    for k, array in enumerate(arrays):
        place, position = ("%given", k) if k < len(kernel.inputs) else ("%wanted", k - len(kernel.inputs))
        lines += [
            *_read(f"buffer{k}", "ptr", place, 8 * position),
            *_read(f"data{k}", "ptr", f"%buffer{k}", _DATA),
            *_read(f"rank{k}", "i64", f"%buffer{k}", _RANK),
            *_write_to("%args", 8 * k, f"ptr %data{k}"),
            f"  %batched{k} = icmp sgt i64 %rank{k}, {len(array)}",
            f"  %step{k} = select i1 %batched{k}, i64 {item_size * math.prod(array)}, i64 0",
            *_write_to("%steps", 8 * k, f"i64 %step{k}"),
        ]
    first = len(kernel.inputs)
    lines += [line for k, size in enumerate(sizes) for line in _write_to("%dims", 8 * (k + 1), f"i64 {size}")]
    lines += [
        line for k, step in enumerate(strides) for line in _write_to("%steps", 8 * (len(arrays) + k), f"i64 {step}")
    ]
    lines += [
        *_read("shape", "ptr", f"%buffer{first}", _DIMS),
        f"  %axes = sub i64 %rank{first}, {len(arrays[first])}",
        "  br label %counting",
        "counting:",  # the samples: the product of the batch axes of the first result
        "  %axis = phi i64 [ 0, %buffers ], [ %next_axis, %multiplying ]",
        "  %count = phi i64 [ 1, %buffers ], [ %product, %multiplying ]",
        "  %more = icmp slt i64 %axis, %axes",
        "  br i1 %more, label %multiplying, label %computing",
        "multiplying:",
        "  %place = getelementptr i64, ptr %shape, i64 %axis",
        "  %length = load i64, ptr %place",
        "  %product = mul i64 %count, %length",
        "  %next_axis = add i64 %axis, 1",
        "  br label %counting",
        "computing:",
        "  store i64 %count, ptr %dims",
        f"  %loop = load ptr, ptr @{_LOOP}",
        "  call void %loop(ptr %args, ptr %dims, ptr %steps, ptr null)",
        "  br label %end",
        "end:",
        "  ret ptr null",
        "}",
    ]
    return "\n".join(lines)


def _read(name: str, kind: str, address: str, offset: int) -> list[str]:
    return [
        f"  %{name}_place = getelementptr i8, ptr {address}, i64 {offset}",
        f"  %{name} = load {kind}, ptr %{name}_place",
    ]


def _write_to(address: str, offset: int, value: str) -> list[str]:
    name = f"{address}_{offset}_place"
    return [f"  {name} = getelementptr i8, ptr {address}, i64 {offset}", f"  store {value}, ptr {name}"]


def _shape(array: CoreArray, chosen: Mapping[str, int]) -> list[int]:
    return [chosen[dim] if isinstance(dim, str) else dim for dim in array.dims]


def _strides(shape: Sequence[int], item_size: int) -> list[int]:
    """Return the steps of the core axes of an array in C order, in bytes."""
    return [item_size * math.prod(shape[k + 1 :]) for k in range(len(shape))]
