"""What can go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backwater.results import Comparison, Run
    from backwater.results.dataset import Campaign
    from backwater.running.runner import Outcome


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
    """What a command or a function reads is not there, is damaged, or lacks what is requested.

    Of results and of files of other simulators; of scenarios and sweeps it is a
    :class:`ScenarioError`. The command line ends with 2 after either, and after any other
    :class:`RunError` with 1.
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. What was computed is kept and can be read from ``result``."""

    def __init__(self, result: Run | Comparison | Campaign | Outcome | None) -> None:
        super().__init__("interrupted")
        self.result = result
