"""The engine: from a Python function to machine code. It knows no robots.

In reading order: `program`, how tracing makes programs; `derivatives` of programs and `linear` equations inside them;
`kernels`, which run programs over many samples; `targets`, one lowering each; `cpython`, calls by the memory layout of
CPython's and NumPy's objects; `running`, which compiles and calls; `matrices`, steps on whole matrices, whose
recursions `matrix_calls` runs.
`function` is the one kind of callable and `family` one whose options choose programs; `functions` are those that
algorithms call; `schedule` repeats calls without Python in between, which `schedule_in_c` writes as C code; `arguments`
and `validators` check what callers give. `identity` says what a computation is, as a digest of its content, by which
`trace_cache` finds programs that an earlier process traced.
"""

from chasles.base import lazy
from chasles.engine.linear import of_numpy
from chasles.engine.program.operators import attach_operators

attach_operators()
of_numpy.attach()

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
