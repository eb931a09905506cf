"""A strict, bounded XML reader for model files: no document types, no entities, nothing external."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from chasles.base.errors import ModelError
from chasles.model.numbers import LARGEST_NUMBER, WITHIN_BOUND, written_number
from chasles.model.record import shortened

MAX_BYTES = 8_000_000
START_BYTES = 200_000
MAX_DEPTH = 64
MAX_ELEMENTS = 20_000


@dataclass
class Element:
    """An XML element: tag, attributes, child elements, the line where it starts, and the text in it."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    content: str = ""

    def __str__(self) -> str:
        """Return the element as a message names it: ``<joint name="elbow"> in line 12``."""
        name = self.attributes.get("name")
        return f"<{self.tag}>" + ("" if name is None else f" {shortened(name)}") + f" in line {self.line}"

    def all(self, tag: str) -> list[Element]:
        """Return the child elements with this tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """Return the child element with this tag, or None; more than one is an error."""
        only = None
        for child in self.children:
            if child.tag == tag:
                if only is not None:
                    raise ModelError(f"{self} has {len(self.all(tag))} <{tag}> elements; at most one is allowed")
                only = child
        return only

    def text(self, attribute: str) -> str:
        """Return a required attribute."""
        try:
            return self.attributes[attribute]
        except KeyError:
            raise ModelError(f"{self} lacks the attribute '{attribute}'") from None

    def number(self, attribute: str, default: float | None = None, *, largest: float = LARGEST_NUMBER) -> float:
        """Return an attribute as one number, at most `largest` in size; without a default it is required."""
        if default is not None and attribute not in self.attributes:
            return default
        return self.numbers(attribute, 1, largest=largest)[0]

    def numbers(
        self,
        attribute: str,
        count: int,
        default: tuple[float, ...] | None = None,
        *,
        largest: float = LARGEST_NUMBER,
    ) -> tuple[float, ...]:
        """Return an attribute as this many numbers, at most `largest` in size; without a default it is required."""
        if default is not None and attribute not in self.attributes:
            return default
        text = self.text(attribute)
        return _numbers(text, count, lambda: f"{self}: attribute {attribute}={shortened(text)}", largest)

    def content_numbers(self, count: int, *, largest: float = LARGEST_NUMBER) -> tuple[float, ...]:
        """Return the text in the element as this many numbers, at most `largest` in size."""
        text = self.content.strip()
        return _numbers(text, count, lambda: f"{self}: {shortened(text)}", largest)


def _numbers(text: str, count: int, where: Callable[[], str], largest: float) -> tuple[float, ...]:
    words = text.split(maxsplit=count) if text.isascii() else [text]  # Python's split knows spaces that XML does not
    if len(words) != count:
        raise ModelError(f"{where()} must hold {count} number{'s' if count > 1 else ''}")
    values = tuple([value for value in map(written_number, words) if value is not None])
    if len(values) != count:
        raise ModelError(f"{where()} must hold {'numbers' if count > 1 else 'a number'}")
    if not all(abs(value) <= largest for value in values):
        raise ModelError(f"{where()} {WITHIN_BOUND if largest == LARGEST_NUMBER else 'must not be NaN'}")
    return values


def parse_xml(data: bytes) -> Element:
    """Return the root element of an XML document.

    Raises
    ------
    ModelError
        Not XML, a document type or entity declaration, or too large, too deep or too many elements.

    Examples
    --------
    >>> parse_xml(b'<robot name="r"><link name="a"/></robot>').children[0].text("name")
    'a'
    """
    if len(data) > MAX_BYTES:
        raise ModelError(f"the file has {len(data)} bytes; at most {MAX_BYTES} are read")
    builder = _Builder()
    _parse(builder, data)
    return builder.roots[0]


def root_tag(data: bytes) -> str:
    """Return the tag of the first element, which must stand in the first 200,000 bytes.

    Raises
    ------
    ModelError
        Not XML, or a document type or entity declaration.

    Examples
    --------
    >>> root_tag(b"<?xml version='1.0'?><!-- a stone --><robot><link")
    'robot'
    """
    builder = _Builder()

    def stop(tag: str, attributes: dict[str, str]) -> None:
        raise _RootFound(tag)

    builder.parser.StartElementHandler = stop
    try:
        _parse(builder, data[:START_BYTES], complete=len(data) <= START_BYTES)
    except _RootFound as root:
        return str(root)
    raise ModelError(f"no element found in the first {START_BYTES} bytes")


class _RootFound(Exception):  # noqa: N818  (no error: it ends the reading)
    """The first element has started."""


def _parse(builder: _Builder, data: bytes, complete: bool = True) -> None:
    try:
        builder.parser.Parse(data, complete)
    except expat.ExpatError as error:
        raise ModelError(f"not well-formed XML: {error}") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"the XML declaration is wrong: {error}") from None


class _Builder:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.roots: list[Element] = []
        self._open: list[Element] = []
        self._count = 0
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._forbid
        self.parser.EntityDeclHandler = self._forbid

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise ModelError(f"line {line}: more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_DEPTH:
            raise ModelError(f"line {line}: elements are nested more than {MAX_DEPTH} deep")
        element = Element(tag, attributes, line)
        (self._open[-1].children if self._open else self.roots).append(element)
        self._open.append(element)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        element = self._open[-1]
        if not element.children:  # mixed content has no meaning in any of the formats
            element.content += text

    def _forbid(self, *declaration: object) -> None:
        line = self.parser.CurrentLineNumber
        raise ModelError(f"line {line}: document type and entity declarations are not allowed in a robot file")


def quoted(text: str) -> str:
    r"""Return a text as an attribute's value, with its quotation marks.

    Examples
    --------
    >>> print(quoted("a < b\n"))
    "a &lt; b&#10;"
    """
    from xml.sax.saxutils import quoteattr  # brings much of the standard library along

    return quoteattr(text, {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})


#: What XML cannot hold.
_UNSAYABLE = "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def element_text(tag: str, attributes: Mapping[str, str]) -> str:
    """Return an element without content.

    >>> element_text("mass", {"value": number_text(2)})
    '<mass value="2.0"/>'
    """
    return f"<{tag}{attributes_text(attributes)}/>"


def attributes_text(attributes: Mapping[str, str]) -> str:
    """Return attributes as they stand behind a tag; a ModelError names a text that XML cannot hold."""
    for text in attributes.values():
        if re.search(_UNSAYABLE, text):
            raise ModelError(f"XML cannot hold the text {shortened(text)}")
    return "".join(f" {name}={quoted(text)}" for name, text in attributes.items())


def numbers_text(values: Iterable[float]) -> str:
    """Return numbers with a space between, each exact to the last bit."""
    return " ".join(map(number_text, values))


def number_text(value: float) -> str:
    """Return a number, exact to the last bit."""
    return repr(float(value) + 0.0)
