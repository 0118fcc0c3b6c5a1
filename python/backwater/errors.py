"""What can go wrong."""

from __future__ import annotations

from typing import Any


class ScenarioError(ValueError):
    """A scenario that cannot be run, or a workload that cannot be estimated.

    The message says what is wrong, where, and what to do. ``problems`` has the same as a list of
    dictionaries with the keys ``severity``, ``code``, ``key``, ``message``, ``hint``, ``source``,
    ``line`` and ``column``. Programs go by the code, which stays; docs/scenario.md lists all codes.
    """

    def __init__(self, message: str, problems: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


class RunError(RuntimeError):
    """A run that failed, or whose results cannot be written or read (:class:`InputError`).

    ``errno`` is the number of the system's error, where it was one.
    """

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class InputError(RunError):
    """An input cannot be read: it is missing, damaged, or lacks the requested table.

    Invalid scenarios and sweeps raise :class:`ScenarioError`. The command line exits with 2 after
    either, and with 1 after any other :class:`RunError`.
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. ``result`` has what was computed: a :class:`~backwater.Results`."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result
