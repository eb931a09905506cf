"""What is known by name and version: libraries, and all that computes here; other modules are the user's own."""

from __future__ import annotations

import functools
import hashlib
import platform
import sys
from importlib import metadata
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any

import numpy as np

from chasles._version import __version__
from chasles.engine.compiling import native_available

_INSTALLED = ("site-packages", "dist-packages")


@functools.cache
def library_of(module: str | None) -> str | None:
    """Name and version of the library that a module belongs to; None for a module of the user's own.

    An editable installation is the user's own: its version says nothing of its content.

    Examples
    --------
    >>> library_of("math").split()[0], library_of("chasles.control.pd"), library_of("my_controllers")
    ('Python', 'Chasles', None)
    """
    if module is None:
        return None
    top = module.partition(".")[0]
    if top == "chasles":
        return "Chasles"  # its version and source are part of the environment
    file = getattr(sys.modules.get(module) or sys.modules.get(top), "__file__", None)
    if file is not None and any(part in _INSTALLED for part in PurePath(file).parts):
        return _distribution(top)
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return f"Python {platform.python_version()}"
    return None


def exported(value: object, module: str | None, qualname: str | None) -> str | None:
    """Full name under which a library exports an object; None if it does not."""
    if module is None or qualname is None or library_of(module) is None:
        return None
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return f"{library_of(module)}: {module}.{qualname}" if found is value else None


def exported_module(module: ModuleType) -> str | None:
    """Full name of a library's module; None for a module of the user's own."""
    name = module.__name__
    return f"{library_of(name)}: {name}" if library_of(name) and sys.modules.get(name) is module else None


def _distribution(top: str) -> str:
    """Name and version of the distribution that installed a package, with its list of checksums if there is one."""
    try:
        found = metadata.distribution(top)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(top)
        if not names:
            return top
        found = metadata.distribution(names[0])
    lines = (found.read_text("RECORD") or "").splitlines()
    files = [line for line in lines if ",sha256=" in line and not line.startswith("..") and ".dist-info/" not in line]
    checksum = hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()[:16]
    return f"{top} {found.version} {checksum}"


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
