"""A package's public names, listed once, in a stub beside it, and imported when they are first used.

A package says ``__getattr__, __dir__, __all__ = lazy.front_door(__name__)``. Its ``__init__.pyi`` holds lines of the
form ``from chasles.control.pd import PD as PD``: type checkers, editors and documentation read them, and so does this.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

from chasles.base.errors import nearest


def front_door(
    package: str, hint: Callable[[str, list[str]], str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package
        The package's name.
    hint
        End of the message on a name that is not there, given it and the names. Default: the nearest of these.
    """
    module = sys.modules[package]
    homes = {name: home for home, name in _lines(module)}
    names = sorted(homes)

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in homes:
            # Importing a file asks its package for the name first, and takes no hint.
            meant = "" if name.startswith("_") or _is_file(module, name) else (hint or _near)(name, names)
            raise AttributeError(f"module '{package}' has no attribute '{name}'{meant}")
        home = homes[name]
        # A line `from chasles import control as control` is of a package, all others are of what a file defines.
        value = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(module, name, value)
        return value

    for name, home in homes.items():  # a file that is called as what it holds would hide it, so it comes at once
        if home == f"{package}.{name}":
            __getattr__(name)
    return __getattr__, lambda: names, names


def _lines(module: Any) -> list[tuple[str, str]]:
    """Return (home, name) of each line of a package's stub, from a folder or a zip file."""
    stub = module.__spec__.loader.get_data(os.path.join(module.__path__[0], "__init__.pyi")).decode()
    return re.findall(r"^from (\S+) import \(?\s*(\w+) as \2", stub, re.MULTILINE)


def _is_file(module: Any, name: str) -> bool:
    """Whether a package has a file or folder of this name."""
    return PathFinder.find_spec(f"{module.__name__}.{name}", module.__path__) is not None


def _near(name: str, names: list[str]) -> str:
    near = nearest(name, names)
    return f"; did you mean '{near[0]}'?" if near else ""
