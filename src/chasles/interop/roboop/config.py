"""ROBOOP's `Config` (config.h): configuration files of sections and ``key: value`` lines.

Mended: ``key:value`` without a blank and ``key : value`` are read, the last line needs no end, and `add` of an existing
key replaces its value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.base.writing import write
from chasles.model.formats.configuration import configuration_text, parse_configuration
from chasles.model.formats.files import read_bytes
from chasles.model.formats.roboop import MAX_BYTES
from chasles.model.numbers import written_number


class Config:
    """Contents of a configuration file.

    Examples
    --------
    >>> conf = Config()
    >>> conf.add("CONTROLLER", "dof", 6)
    >>> conf.select("CONTROLLER", "dof", int), conf.parameter_exists("CONTROLLER", "type")
    (6, False)
    """

    def __init__(self, bPrintErrorMessages: bool = True) -> None:
        self._sections: dict[str, dict[str, str]] = {}

    def read_conf(self, file: str | Path | TextIO) -> None:
        """Read a file, by its path or open; what was there before stays.

        Raises
        ------
        ModelError
            It cannot be read, or a line is no ``[section]`` and no ``key: value``.
        """
        if isinstance(file, str | Path):
            text, name = read_bytes(file, MAX_BYTES).decode(errors="replace"), str(file)
        else:
            text, name = file.read(MAX_BYTES), getattr(file, "name", "configuration")
        for section, values in parse_configuration(text, file=name).items():
            self._sections.setdefault(section, {}).update(
                {key: value for key, value in values.items() if key not in self._sections.get(section, {})}
            )

    def clear(self) -> None:
        """Forget everything."""
        self._sections.clear()

    def print(self) -> None:
        """Print everything."""
        for section, values in self._sections.items():
            for key, value in values.items():
                print(section, key, value)

    def section_exists(self, section: str) -> bool:
        """Return whether there is a section."""
        return section in self._sections

    def parameter_exists(self, section: str, parameter: str) -> bool:
        """Return whether a section has a parameter."""
        return parameter in self._sections.get(section, {})

    def select(self, section: str, parameter: str, type: Any = str) -> Any:  # ROBOOP's template argument
        """Return a value as text, `int`, `float` or `bool` (0 or 1).

        Raises
        ------
        UnknownNameError
            There is no such section or parameter.
        ModelError
            The value is not of this type.
        """
        if section not in self._sections:
            raise UnknownNameError("section", section, self._sections)
        if parameter not in self._sections[section]:
            raise UnknownNameError("parameter", parameter, self._sections[section])
        written = self._sections[section][parameter]
        if type is str:
            return written
        number = written_number(written)
        is_whole = number is not None and number == number // 1
        if number is None or (type is not float and not is_whole) or (type is bool and number not in (0.0, 1.0)):
            raise ModelError(f"[{section}] {parameter}: expected {type.__name__}, found {written[:80]!r}")
        return type(number)

    def add(self, section: str, parameter: str, value: object) -> None:
        """Set a value; section and parameter are added if they are missing."""
        if not isinstance(value, str | int | float):
            raise ArgumentError(f"the value of {parameter} must be text or a number, not {value!r}")
        written = str(int(value)) if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
        self._sections.setdefault(section, {})[parameter] = written

    def write_conf(self, file: str | Path | TextIO, file_title: str = "", space_between_column: int = 14) -> None:
        """Write a file, by its path or open, with a title in a comment and keys that end in one column."""
        text = configuration_text(self._sections, file_title, space_between_column)
        if isinstance(file, str | Path):
            write(file, text)
        else:
            file.write(text)
