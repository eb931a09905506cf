"""What a function can be written as: code and formulas for other programs, functions of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.program import Program
from chasles.engine.program.scalar import Symbol

if TYPE_CHECKING:
    from chasles.engine.targets.wasm import WasmProgram


class Exports:
    """The exports of a function, each a target of `chasles.engine.targets`, which is imported when it is asked for."""

    __slots__ = ()

    @property
    def program(self) -> Program:
        """The function's program."""
        raise NotImplementedError

    @property
    def kernel(self) -> Kernel:
        """The program together with its kernel shape."""
        raise NotImplementedError

    def to_c(self, precision: str = "double") -> tuple[str, str]:
        """Return C source and header of the function for one sample; see `chasles.engine.targets.c.lower`.

        Parameters
        ----------
        precision
            ``"double"`` or ``"float"``.

        Examples
        --------
        >>> import chasles as ch
        >>> source, header = ch.load("planar2r").gravity_torque.to_c()
        >>> "gravity_torque" in header
        True
        """
        from chasles.engine.targets.c import lower

        return lower(self.program, precision)

    def to_wasm(self) -> WasmProgram:
        """Return a WebAssembly module with the function, for browsers; see `chasles.engine.targets.wasm`.

        Examples
        --------
        >>> import chasles as ch
        >>> ch.load("planar2r").gravity_torque.to_wasm()
        <WasmProgram gravity_torque: ... bytes>
        """
        from chasles.engine.targets.wasm import lower

        return lower({self.program.name: self.kernel})

    def to_casadi(
        self, symbols: Literal["SX", "MX"] | None = None, *, steps: int | None = None, substeps: int = 1
    ) -> Any:
        """Return the function as a ``casadi.Function``; see `chasles.engine.targets.casadi.lower`.

        A number is a matrix 1×1, an array (n,) a column, an array (..., m) a matrix of m columns.

        Parameters
        ----------
        symbols
            ``"SX"`` for a graph of numbers, ``"MX"`` for one of matrices; default SX, and MX for loops and iterations.
        steps, substeps
            Steps of a loop (S) and steps for each sample (k), or the largest number of iterations.

        Raises
        ------
        MissingExtraError
            If CasADi is not installed.
        ArgumentError
            If `steps` is missing for a loop, or given for another function.

        Examples
        --------
        >>> import casadi, chasles as ch
        >>> dynamics = ch.load("planar2r").forward_dynamics.to_casadi()
        >>> q, qd, tau = (casadi.SX.sym(name, 2) for name in ("q", "qd", "tau"))
        >>> casadi.jacobian(dynamics(q, qd, tau), tau).shape
        (2, 2)
        """
        from chasles.engine.targets.casadi import lower

        return lower(self.kernel, symbols, steps=steps, substeps=substeps)

    def to_jax(self, *, machine_code: bool = True) -> Callable[..., Any]:
        """Return the function for JAX's arrays, ``jit``, ``vmap`` and ``grad``; see `chasles.engine.targets.jax.lower`.

        It takes leading batch axes as this function does; a record is a vector. A loop over time is one call, and so is
        its gradient, which runs backward through it.

        Parameters
        ----------
        machine_code
            Whether processors run the machine code of this function; else, and on accelerators, XLA compiles the same
            operations.

        Raises
        ------
        MissingExtraError
            If JAX is not installed.

        Examples
        --------
        >>> import chasles as ch, jax
        >>> arm = ch.load("planar2r")
        >>> energy = arm.potential_energy.to_jax()
        >>> jax.grad(energy)(jax.numpy.array([0.0, 0.5])).tolist()  # the gravity torque
        [54.40..., 5.37...]
        """
        from chasles.engine.adjoints import LoopAdjoint
        from chasles.engine.running.compiling import native_available
        from chasles.engine.targets.jax import lower

        if not (machine_code and native_available()):
            return lower(self.kernel, LoopAdjoint)
        from chasles.engine.running.machine_code import loop_of

        return lower(self.kernel, LoopAdjoint, loop_of)

    def to_torch(self) -> Callable[..., Any]:
        """Return the function for PyTorch's tensors, its ``autograd`` and ``torch.func``.

        It takes leading batch axes as this function does, and computes tensors in main memory without a copy, with
        exact derivatives of any order, those of loops included; see `chasles.engine.targets.torch.lower`.

        Raises
        ------
        MissingExtraError
            If PyTorch is not installed.
        """
        from chasles.engine.adjoints import LoopAdjoint
        from chasles.engine.running.runner import compiled
        from chasles.engine.targets.torch import lower
        from chasles.engine.targets.torch.function import MachineCode

        return lower(self.kernel, MachineCode(compiled, LoopAdjoint))

    def to_sympy(self, values: Mapping[str, Any] | None = None, *, simplify: bool = False) -> Symbol:
        """Return the outputs as SymPy expressions: one, or a tuple for several outputs.

        A number is an expression, an array (n,) a column, an array (n, m) a matrix.

        Parameters
        ----------
        values
            Expressions or numbers in place of the symbols of inputs, by the names of the inputs.
        simplify
            Whether to simplify the formulas; see `chasles.engine.targets.sympy.lower`.

        Raises
        ------
        MissingExtraError
            If SymPy is not installed.

        Examples
        --------
        >>> from chasles.engine import Function, cos, sin, trace
        >>> work = Function(trace(lambda q, f: f * (cos(q) ** 2 + sin(q) ** 2), {"q": (), "f": ()}))
        >>> work.to_sympy(simplify=True)
        f
        """
        from chasles.engine.targets.sympy import lower

        outputs = lower(self.program, values, simplify=simplify)
        return outputs[0] if len(outputs) == 1 else outputs
