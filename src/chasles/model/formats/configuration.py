r"""Configuration files of ROBOOP: sections of ``key: value`` lines.

A line ``[section]`` starts a section, what follows the bracket is ignored; a line ``key: value`` belongs to the last
section; ``#`` starts a comment. A key may be given again: the first value counts.

>>> parse_configuration("# an arm\n[arm]\ndof: 2\n  Name: two links # long ones")
{'arm': {'dof': '2', 'Name': 'two links'}}
"""

from __future__ import annotations

from collections.abc import Mapping

from chasles.base.errors import ModelError
from chasles.model.record import shortened

MAX_LINES = 200_000


def parse_configuration(text: str, *, file: str = "configuration") -> dict[str, dict[str, str]]:
    r"""Read the sections of a configuration file, keys and values as text; `file` is its name in messages.

    Blanks around keys, colons and values do not matter, and the last line needs no end.

    Raises
    ------
    ModelError
        A line is neither a section, a comment nor ``key: value``. The message names the file and the line.

    Examples
    --------
    >>> parse_configuration("[arm]\ndof = 2")
    Traceback (most recent call last):
        ...
    chasles.base.errors.ModelError: configuration: line 2: expected [section] or key: value, found 'dof = 2'
    """
    sections: dict[str, dict[str, str]] = {}
    section: dict[str, str] | None = None
    lines = text.removeprefix("\ufeff").splitlines()
    if len(lines) > MAX_LINES:
        raise ModelError(f"{file}: {len(lines)} lines; at most {MAX_LINES} are read")
    for number, written in enumerate(lines, start=1):
        line = written.partition("#")[0].strip()
        if not line:
            continue
        if line.startswith("["):
            name, bracket, _ = line[1:].partition("]")
            if not bracket or not name.strip():
                raise ModelError(f"{file}: line {number}: expected [section], found {shortened(line)}")
            section = sections.setdefault(name.strip(), {})
            continue
        key, colon, value = line.partition(":")
        if not colon or not key.strip():
            raise ModelError(f"{file}: line {number}: expected [section] or key: value, found {shortened(line)}")
        if section is None:
            raise ModelError(f"{file}: line {number}: {shortened(line)} comes before the first [section]")
        section.setdefault(key.strip(), value.strip())
    return sections


def configuration_text(sections: Mapping[str, Mapping[str, str]], title: str = "", space: int = 14) -> str:
    r"""Return the text of a configuration file, laid out as ROBOOP writes it: keys end in one column.

    Parameters
    ----------
    sections
        Values by section and key.
    title
        Title in the comment at the top.
    space
        Width of the column of keys.

    Raises
    ------
    ModelError
        A name or value could not be read back: it is empty, or has a bracket, colon, line break or ``#`` where
        these end it.

    Examples
    --------
    >>> print(configuration_text({"arm": {"dof": "2"}}, "Two links", 5))
    # ---------------------------------------------------
    # Two links
    # ---------------------------------------------------
    <BLANKLINE>
    [arm]
      dof: 2
    <BLANKLINE>
    """
    rule = "# " + "-" * 51
    lines = [rule, *(f"# {line}" for line in title.splitlines() or [""]), rule]
    for section, values in sections.items():
        lines += ["", f"[{_writable(section, '[]#', 'section')}]"]
        for key, value in values.items():
            written = _writable(key, "[:#", "key").rjust(space)
            lines.append(f"{written}: {_writable(value, '#', f'value of {key}') if value else ''}".rstrip())
    return "\n".join([*lines, ""])


def _writable(text: str, forbidden: str, what: str) -> str:
    ends_early = any(character in text for character in forbidden)
    if not text or text != text.strip() or len(text.splitlines()) > 1 or ends_early:
        raise ModelError(f"the {what} {shortened(text)} cannot be written to a configuration file")
    return text
