"""Exceptions of the package."""

from __future__ import annotations

from typing import Any


class ScenarioError(ValueError):
    """A scenario that cannot be run, or a workload that cannot be estimated.

    The message describes each error, its place and a solution. ``problems`` has the same data as a
    list of dictionaries with the keys ``severity``, ``code``, ``key``, ``message``, ``hint``,
    ``source``, ``line`` and ``column``. Codes are stable, so programs can depend on them.
    docs/scenario.md lists all codes.
    """

    def __init__(self, message: str, problems: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


class RunError(RuntimeError):
    """A run that failed, or whose results cannot be written or read (:class:`InputError`).

    ``errno`` is the number of the system's error, if there was one.
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
    """Ctrl-C during a run. ``result`` has the computed part, a :class:`~backwater.Results`."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result
