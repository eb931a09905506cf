"""What computes: versions, and the source text of Chasles."""

from __future__ import annotations

import functools
import hashlib
import platform
from importlib import metadata
from pathlib import Path

import numpy as np

from chasles._version import __version__
from chasles.engine.compiling import native_available

#: What of Chasles has no part in the numbers.
_NOT_COMPUTING = ("cli", "visual", "interop")


def environment() -> dict[str, str]:
    """Versions and settings that take part in every result, by name.

    Examples
    --------
    >>> sorted(environment())
    ['Chasles', 'Chasles source', 'NumPy', 'Python', 'SciPy', 'kernels']
    """
    return {
        "Chasles": __version__,
        "Chasles source": source_digest(),
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "SciPy": _version("scipy"),
        "kernels": f"llvmlite {_version('llvmlite')}" if native_available() else "NumPy",
    }


_version = functools.cache(metadata.version)


@functools.cache
def source_digest() -> str:
    """Digest of the source text that takes part in simulations."""
    root = Path(__file__).parents[2]
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in _NOT_COMPUTING:
            total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()
