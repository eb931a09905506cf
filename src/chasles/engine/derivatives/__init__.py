"""Derivatives of programs, as programs: rules in `partials`, the two sweeps in `accumulation`, choice in `sparsity`."""

from chasles.engine.derivatives.programs import hessian_vector, jacobian, jvp, vjp

__all__ = ["hessian_vector", "jacobian", "jvp", "vjp"]
