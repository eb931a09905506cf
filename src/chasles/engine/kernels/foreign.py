"""Arrays of other libraries that stay what they are: xarray's names and coordinates, Dask's chunks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from chasles.engine.kernels.shapes import Kernel

#: A function of a sequence of plain arrays.
Call = Callable[[Sequence[Any]], Any]


def library_of(argument: object) -> str:
    """Return the name of the library that an argument's type comes from."""
    return type(argument).__module__.partition(".")[0]


def foreign_call(arguments: Sequence[Any]) -> Callable[[Call, Kernel, str, Sequence[Any]], Any] | None:
    """Return what calls a function on these arguments, if one is an array of xarray or Dask."""
    libraries = {library_of(argument) for argument in arguments if hasattr(argument, "__array_ufunc__")}
    return _with_labels if "xarray" in libraries else _in_chunks if "dask" in libraries else None


def _with_labels(call: Call, kernel: Kernel, dtype: str, arguments: Sequence[Any]) -> Any:
    """Call a function on arguments of which some have named dimensions.

    Dimensions of the batch broadcast by name and keep their coordinates. A result with as many elements as a vector
    argument, such as the torques of joint positions, keeps that argument's dimension; other dimensions of results are
    named after the result, ``M_0`` and ``M_1``.
    """
    import xarray

    inner: list[list[str]] = []
    vectors: dict[Any, str] = {}
    for argument, core in zip(arguments, kernel.inputs, strict=True):
        labels = library_of(argument) == "xarray"
        core_names = [str(dim) for dim in argument.dims[argument.ndim - len(core.dims) :]] if labels else []
        inner.append(core_names)
        if len(core_names) == 1:
            vectors.setdefault(core.dims[0], core_names[0])
    outer = [
        [vectors[core.dims[0]]]
        if len(core.dims) == 1 and core.dims[0] in vectors
        else [f"{core.name}_{k}" for k in range(len(core.dims))]
        for core in kernel.outputs
    ]
    named = [
        pair for core, names in zip(kernel.outputs, outer, strict=True) for pair in zip(names, core.dims, strict=True)
    ]
    return xarray.apply_ufunc(
        lambda *arrays: call(arrays),
        *arguments,
        input_core_dims=inner,
        output_core_dims=outer,
        dask="parallelized",
        output_dtypes=[np.dtype(dtype)] * len(outer),
        dask_gufunc_kwargs={"output_sizes": dict(named)},
    )


def _in_chunks(call: Call, kernel: Kernel, dtype: str, arguments: Sequence[Any]) -> Any:
    """Call a function on arguments of which some are computed later, chunk by chunk."""
    dask_array: Any = import_module("dask.array")
    signature = re.sub(r"(\d+)", r"size\1", kernel.signature)
    sizes = {f"size{dim}": dim for core in kernel.outputs for dim in core.dims if isinstance(dim, int)}
    dtypes = [dtype] * len(kernel.outputs)
    return dask_array.apply_gufunc(
        lambda *arrays: call(arrays),
        signature,
        *arguments,
        output_dtypes=dtypes if len(dtypes) > 1 else dtype,
        output_sizes=sizes,
        allow_rechunk=True,
    )
