"""The WebAssembly target: functions that run in every browser, written as binary without a compiler.

A module has one exported function for each kernel, ``name(count, inputs, outputs)``, and its exported ``memory``. The
two addresses are those of records of doubles, one record behind the other, one for each of ``count`` samples: in
``inputs`` the arguments of the kernel in order, flattened in C order, in ``outputs`` its results in the same way. The
records must not overlap and must stand at or behind the address ``free`` of the module's description: what lies before
it belongs to the module. The function of a scan takes the sizes ``S`` and ``k`` behind the addresses: its record holds
the inputs of ``S * k`` steps and the results of ``S`` samples. The description is JSON text in the custom section
``chasles``, with the names and shapes of all arguments and results.

``program.js`` holds the JavaScript that does all this; `WasmProgram.javascript` is that text together with the module.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from chasles.base.errors import ArgumentError
from chasles.base.writing import write
from chasles.engine.kernels.shapes import CoreArray, Kernel
from chasles.engine.targets.wasm.lowering import Lowering

_FORMAT = "chasles-wasm-1"
_NODE = 'if (typeof module === "object") module.exports = { ChaslesProgram, chasles };\n'


@dataclass(frozen=True)
class WasmProgram:
    """A WebAssembly module with one function for each kernel.

    Attributes
    ----------
    binary
        The module, as a ``.wasm`` file holds it.
    kernels
        The kernels by the names under which it exports them.
    """

    binary: bytes
    kernels: Mapping[str, Kernel]

    @property
    def javascript(self) -> str:
        """JavaScript that holds the module, for a script element or Node.js.

        It defines ``ChaslesProgram`` and ``chasles``, a promise of the loaded program, whose functions take and return
        objects of numbers and arrays: ``const { tau } = (await chasles).run("inverse_dynamics", { q, qd, qdd })``. In
        Node.js ``require`` returns both.
        """
        encoded = base64.b64encode(self.binary).decode("ascii")
        return f'{program_script()}\nconst chasles = ChaslesProgram.fromBase64("{encoded}");\n{_NODE}'

    def save(self, path: str | Path) -> Path:
        """Write the module to a ``.wasm`` file, or, if the name ends in ``.js``, the JavaScript that holds it.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ArgumentError
            If the name ends otherwise, or the file cannot be written.
        """
        content = self.javascript if Path(path).suffix.lower() == ".js" else self.binary
        return write(path, content, (".wasm", ".js"))

    def __repr__(self) -> str:
        return f"<WasmProgram {', '.join(self.kernels)}: {len(self.binary):,} bytes>"


def lower(kernels: Mapping[str, Kernel]) -> WasmProgram:
    r"""Return a WebAssembly module with the functions of some kernels.

    Parameters
    ----------
    kernels
        Kernels of any shape, by the names under which they are exported.

    Raises
    ------
    ArgumentError
        If a kernel has the name ``memory``.

    Examples
    --------
    >>> from chasles.engine import trace
    >>> spring = lower({"spring": Kernel(trace(lambda x, k: -k * x, {"x": (), "k": ()}))})
    >>> spring.binary[:4], len(spring.binary) < 400
    (b'\x00asm', True)
    """
    lowering = Lowering()
    for name, kernel in kernels.items():
        if name == "memory":
            raise ArgumentError("a WebAssembly function cannot be called 'memory': the module exports its memory so")
        lowering.add_kernel(name, kernel)
    described = [
        {
            "name": name,
            "shape": kernel.shape,
            "inputs": [_described(array) for array in kernel.inputs],
            "outputs": [_described(array) for array in kernel.outputs],
        }
        for name, kernel in kernels.items()
    ]
    description = {"format": _FORMAT, "free": lowering.module.memory_size, "kernels": described}
    return WasmProgram(lowering.module.binary(json.dumps(description)), dict(kernels))


def program_script() -> str:
    """Return the JavaScript that loads and calls modules."""
    return (files("chasles.engine.targets.wasm") / "program.js").read_text(encoding="utf-8")


def _described(array: CoreArray) -> dict[str, object]:
    return {"name": array.name, "shape": array.dims}
