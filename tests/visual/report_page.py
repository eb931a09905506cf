"""Reading a report back, as a browser does."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np


class Page(HTMLParser):
    """Elements, texts and embedded data of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.data: list[dict[str, Any]] = []
        self.scripts: list[str] = []
        self._open: list[str] = []
        self._attributes: dict[str, str | None] = {}
        self.feed(path.read_text(encoding="utf-8").replace("<wbr>", ""))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)
        self._attributes = dict(attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        tag = self._open[-1] if self._open else ""
        if tag == "script" and self._attributes.get("type") == "application/json":
            self.data.append(json.loads(data))
        elif tag == "script":
            self.scripts.append(data)
        elif tag != "style" and data.strip():
            self.texts.append((tag, data.strip()))

    def of(self, tag: str) -> list[str]:
        return [text for own, text in self.texts if own == tag]


def decoded(array: dict[str, str]) -> np.ndarray:
    """Numbers of one of plotly's typed arrays."""
    values = np.frombuffer(base64.b64decode(array["bdata"]), dtype="<" + array["dtype"])
    return values.reshape([int(size) for size in array["shape"].split(",")]) if "shape" in array else values
