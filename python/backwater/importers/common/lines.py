"""Reads lines of a text file word by word, with the positions of words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from backwater.importers.common.limits import LONGEST_PS
from backwater.importers.common.source import Findings, Place, decimal, read_text, shown

WORD = re.compile(r"\S+")


class Line:
    """The words of one line, which are taken one after the other."""

    def __init__(
        self, name: str, number: int, text: str, findings: Findings, word: re.Pattern[str] = WORD
    ) -> None:
        self.name = name
        self.number = number
        self.text = text
        self.findings = findings
        self.words: list[str] = word.findall(text)
        self.at = 0
        self._word = word

    def __bool__(self) -> bool:
        """Return true if words are left."""
        return self.at < len(self.words)

    def place(self, index: int) -> Place:
        """Return the place of a word, or of the line's end for an index after the last word."""
        for count, match in enumerate(self._word.finditer(self.text)):
            if count == index:
                return Place(
                    self.name, self.number, match.start() + 1, self.text, len(match.group())
                )
        return Place(self.name, self.number, len(self.text.rstrip()) + 1, self.text, 1)

    def fail(self, message: str, index: int | None = None, hint: str | None = None) -> NoReturn:
        """Raise an error at a word; by default at the word that was taken last."""
        self.findings.fail(message, self.place(self.at - 1 if index is None else index), hint)

    def warning(
        self, message: str, index: int | None = None, hint: str | None = None, kind: str = ""
    ) -> None:
        """Add a warning about a word. Only the first warnings of one ``kind`` are shown in full."""
        if self.findings.wanted("warning", kind or message):
            place = self.place(self.at - 1 if index is None else index)
            self.findings.add("warning", message, place, hint)

    def peek(self) -> str:
        """Return the next word without taking it; empty at the end of the line."""
        return self.words[self.at] if self.at < len(self.words) else ""

    def next(self, what: str) -> str:
        """Take the next word; ``what`` describes it in errors."""
        if self.at >= len(self.words):
            self.fail(f"the line ends where {what} should come", self.at)
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, *words: str) -> str:
        """Take the next word, which must be one of ``words``."""
        word = self.peek()
        if word not in words:
            wanted = " or ".join(f"`{word}`" for word in words)
            word = self.next(wanted)
            self.fail(f"expected {wanted}, found {shown(word)}")
        self.at += 1
        return word

    def integer(self, what: str, low: int = 0, high: int = 2**32 - 1) -> int:
        """Take a whole number."""
        word = self.next(what)
        digits = word[1:] if word.startswith("-") else word
        if not (digits.isascii() and digits.isdigit()) or len(word) > 25:
            self.fail(f"{what} should be a whole number, found {shown(word)}")
        value = int(word)
        if not low <= value <= high:
            self.fail(f"{what} is {word}; expected {low} to {high}")
        return value

    def cut(self) -> None:
        """Remove the decimals of the next word, as programs do that read only a whole number."""
        whole, point, rest = self.peek().partition(".")
        if point and whole.isdigit() and (rest.isdigit() or not rest):
            self.words[self.at] = whole

    def picoseconds(self, what: str) -> int:
        """Take a time in picoseconds.

        Decimals such as `1e6` or `0.5` are allowed and rounded down.
        """
        word = self.next(what)
        value = decimal(word)
        if value is None:
            self.fail(f"{what} should be a number of picoseconds, found {shown(word)}")
        if value > LONGEST_PS:
            self.fail(f"{what} is {shown(word)} ps, more than 20 hours")
        return int(value)

    def end(self) -> None:
        """Raise an error if words are left."""
        if self:
            self.fail(f"expected the end of the line, found {shown(self.peek())}", self.at)


def read_lines(path: Path, findings: Findings, what: str) -> list[str]:
    """Read the lines of a text file; ``what`` describes the file in errors."""
    return read_text(path, findings, what).splitlines()
