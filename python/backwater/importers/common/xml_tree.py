"""Reads XML into elements with their places in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from backwater._base.positions import Place
from backwater.importers.common.source import Findings, bounded, known_are, shown, whole


@dataclass(slots=True)
class Element:
    """An element with its attributes and child elements."""

    name: str
    attributes: dict[str, str]
    place: Place
    findings: Findings
    children: list[Element] = field(default_factory=list)

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise an error at this element."""
        self.findings.fail(message, self.place, hint)

    def warning(self, message: str, hint: str | None = None, kind: str | None = None) -> None:
        """Add a warning about this element. Only the first of one ``kind`` are shown in full."""
        self.findings.warning(message, hint, kind, self.place)

    def integer(self, key: str, low: int, high: int, default: int | None = None) -> int:
        """Read an attribute that is a whole number."""
        if default is not None and key not in self.attributes:
            return default
        word = self._word(key)
        return bounded(whole(word), word, f"{key} of <{self.name}>", (low, high), self.fail)

    def choice(self, key: str, known: tuple[str, ...]) -> str:
        """Read an attribute whose value is one of several words."""
        word = self._word(key)
        if word not in known:
            self.fail(f"{key} of <{self.name}> is {shown(word)}", known_are(word, known))
        return word

    def _word(self, key: str) -> str:
        if key not in self.attributes:
            self.fail(f"<{self.name}> has no {key}")
        return self.attributes[key]


def parse(name: str, text: str, findings: Findings) -> Element:
    """Parse a text and return its outermost element."""
    lines = text.splitlines()
    parser = expat.ParserCreate()
    top: list[Element] = []
    open_elements: list[Element] = []

    def place(line: int, column: int) -> Place:
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        return Place(name, line, column + 1, text, 1)

    def start(tag: str, attributes: dict[str, str]) -> None:
        here = place(parser.CurrentLineNumber, parser.CurrentColumnNumber)
        element = Element(tag, attributes, here, findings)
        (open_elements[-1].children if open_elements else top).append(element)
        open_elements.append(element)

    def entity(*_: object) -> None:
        here = place(parser.CurrentLineNumber, parser.CurrentColumnNumber)
        findings.fail("entities are not read", here, "write out what they stand for")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        message = expat.errors.messages[error.code]
        findings.fail(f"this is no XML: {message}", place(error.lineno, error.offset))
    return top[0]
