"""Where the ``backwater`` command begins; ``python -m backwater`` is the same.

Hardly anything is imported here, so that Ctrl-C is heard while the rest is read.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130
"""That of `declare`, which is read too late for this."""


def main() -> None:
    """Run the command line and exit."""
    try:
        from backwater.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    command_line()


if __name__ == "__main__":
    main()
