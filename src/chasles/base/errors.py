"""The one family of exceptions that Chasles raises on purpose, and warnings at the line of the user's program."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any


class ChaslesError(Exception):
    """Base class of every error that Chasles raises on purpose."""


class ModelError(ChaslesError, ValueError):
    """A robot's description is wrong: the message names the source, the element and the reason."""


class ArgumentError(ChaslesError, ValueError):
    """An argument has a wrong value or shape: the message says which, what came and what is expected."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of a type that holds no real numbers, such as text or complex numbers."""


class IdentificationError(ChaslesError, ValueError):
    """Measurements do not determine a model: the message says why and what would help.

    Attributes
    ----------
    findings
        Findings by which the measurements were refused, as `chasles.base.findings.Finding`; programs read their codes.
    """

    def __init__(self, message: str, findings: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class TraceError(ChaslesError, TypeError):
    """A traced scalar was used where a number is needed; the message says what to write instead."""


class CompileError(ChaslesError, RuntimeError):
    """A program could not be lowered to the requested target."""


class MissingExtraError(ChaslesError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package '{package}'; {how_to_install(extra)}")


def import_extra(package: str, extra: str, purpose: str) -> Any:
    """Import an optional package, or raise a `MissingExtraError` that says what to type.

    >>> import_extra("xarray", "data", "a table").__name__
    'xarray'
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(package.partition(".")[0], extra, purpose) from error


def how_to_install(extra: str) -> str:
    """Return the command that installs one of the extras of `pyproject.toml`.

    Chasles has no release yet, so the name on a package index could be another project: the command is that of a
    checkout.
    """
    return f'type pip install ".[{extra}]" in a checkout of Chasles'


#: More names than this help nobody in a message.
_LIBRARY = __name__.partition(".")[0]
_LISTED = 60
_SHORTEST_PART = 3


def _similar(name: str, known: Iterable[str]) -> list[str]:
    """Return names that may be meant: ``controller.kp`` for kp, spellings nearly the same, world-aligned for world."""
    names = list(known)
    last = [other for other in names if other.rpartition(".")[2] == name]
    spelled = nearest(name, names, 5)
    longer = [other for other in names if len(name) >= _SHORTEST_PART and name in other]
    return list(dict.fromkeys([*last, *spelled, *longer]))[:5]


def nearest(name: str, names: Iterable[str], count: int = 1, similarity: float = 0.6) -> list[str]:
    """Return the names that are spelled most like one, the nearest first; `similarity` is from 0 to 1."""
    from difflib import get_close_matches  # when a name is wrong: importing it takes as long as all of this file

    return get_close_matches(name, list(names), count, similarity)


class UnknownNameError(ChaslesError, LookupError):
    """A name does not exist; the message lists the names that do, and says of what they are the names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, of: str = "") -> None:
        names = list(known)
        by_lower_case = {known_name.lower(): known_name for known_name in names}
        close = [by_lower_case[c] for c in _similar(str(name).lower(), by_lower_case)]
        hint = f" Did you mean '{close[0]}'?" if close else ""
        listing = ", ".join(names) if names else "none"
        if len(names) > _LISTED:
            shown = [*close, *(other for other in names if other not in close)][:_LISTED]
            listing = f"{', '.join(shown)}, … ({len(names)} in all)"
        super().__init__(f"there is no {kind} '{name}'{' of ' if of else ''}{of}.{hint} Existing: {listing}")


class UnknownArgumentError(UnknownNameError, TypeError):
    """A function has no argument of this name; the message lists those that it has."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's program that called Chasles, however deep inside the reason is found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == _LIBRARY:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
