"""Check the rules, the architecture and the documents of the repository, and print all faults.

python tools/lint.py
"""

from __future__ import annotations

import doctest
import sys

import lint_architecture
import lint_cycles
import lint_documents
import lint_guides
import lint_specs
import sources


def main() -> None:
    """Run the doctests of the checks, then the checks; exit with status 1 if there are faults."""
    failed = False
    for module in (
        sources,
        lint_specs,
        lint_architecture,
        lint_cycles,
        lint_documents,
        lint_guides,
    ):
        failed |= doctest.testmod(module).failed > 0
        for check in getattr(module, "CHECKS", ()):
            if found := list(check()):
                failed = True
                print(f"{(check.__doc__ or '').partition('.')[0]}:", *found, sep="\n  ")
    sys.exit(failed)


if __name__ == "__main__":
    main()
