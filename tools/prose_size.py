"""Count the words of hand-written prose per document, and compare the total with its limit.

Tables, code blocks, comments and images do not count. Neither do whole documents that are not
read as prose: the rules in specs/, the claims of figures, and the changelog.
"""

from __future__ import annotations

import re
import sys

from sources import ROOT, name_of, tracked

LIMIT = 28_000
APART = ("specs/", "docs/figures/", "CHANGELOG.md")

_GENERATED = re.compile(r"<!-- table: .*?<!-- end of table -->", re.DOTALL)
_CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def count_words(markdown: str) -> int:
    """Return the number of words of a document that a person wrote as prose."""
    for pattern in (_GENERATED, _CODE, _COMMENT, _IMAGE):
        markdown = pattern.sub("", markdown)
    markdown = _LINK.sub(r"\1", markdown)
    lines = [line for line in markdown.splitlines() if not line.lstrip().startswith("|")]
    return sum(bool(re.search(r"\w", word)) for line in lines for word in line.split())


def documents() -> list[str]:
    """Return the documents of the repository that count."""
    return [name_of(path) for path in tracked("*.md") if not name_of(path).startswith(APART)]


def main() -> None:
    """Print the words of each document, and fail if the total is above the limit."""
    words = {name: count_words((ROOT / name).read_text(encoding="utf-8")) for name in documents()}
    for name, count in sorted(words.items(), key=lambda entry: entry[1]):
        print(f"{count:>7,}  {name}")
    total = sum(words.values())
    print(f"{total:>7,}  words of prose; the limit is {LIMIT:,}")
    sys.exit(total > LIMIT)


if __name__ == "__main__":
    main()
