"""Entry point of the ``backwater`` command and of ``python -m backwater``.

This module imports very little, so that Ctrl-C is handled while the other modules are loaded.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130
"""Equal to `declare.INTERRUPTED`, which is not loaded yet when it is needed."""


def main() -> None:
    """Run the command line and exit."""
    try:
        from backwater.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    command_line()


if __name__ == "__main__":
    main()
