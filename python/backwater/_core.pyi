"""The compiled part. Private: use the functions of :mod:`backwater`."""

from collections.abc import Callable
from typing import Any, Self, TypeAlias, final

__all__ = [
    "Interrupt",
    "Scenario",
    "__sources__",
    "__version__",
    "catalogue",
    "check",
    "enter_user_namespace",
    "estimate",
    "locate_values",
    "parse_quantity",
    "run_host",
    "run_lockstep",
    "run_switch",
    "schema",
]

__version__: str
__sources__: str
"""Hash of the sources that this was made from."""

@final
class Interrupt:
    """A flag that stops running simulations, on any thread. They keep the results so far."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...

_Progress: TypeAlias = Callable[
    [
        int,
        int | None,
        int,
        int,
        int | None,
        int,
        int,
        tuple[str, int] | None,
        tuple[float, int] | None,
    ],
    None,
]
"""Receives the progress of a run: the fields of `backwater.running.single.Progress`, in order."""

@final
class Scenario:
    """A scenario without errors."""

    def __new__(
        cls,
        path: str,
        overrides: list[str],
        seed: int | None = None,
        scheme: str | None = None,
        profile: str | None = None,
    ) -> Self: ...
    def resolved(self) -> str: ...
    def run(
        self,
        output: tuple[str, bool, str],
        progress: _Progress | None,
        interrupt: Interrupt,
        threads: int,
    ) -> str: ...
    def backpressure_graph(self, edges: bool) -> str: ...
    def link_epochs(self) -> str: ...
    def resources(
        self, packet_bytes: float | None = None, destinations: int | None = None
    ) -> str: ...
    def thresholds(self) -> str: ...
    def flow_paths(self) -> tuple[bytes, bytes, bytes] | None: ...

def check(
    path: str,
    overrides: list[str],
    seed: int | None = None,
    scheme: str | None = None,
    profile: str | None = None,
) -> list[dict[str, Any]]: ...
def estimate(
    given: Scenario | str, networks: list[str], record: bool = False
) -> tuple[str, dict[str, Any]]: ...
def schema() -> str: ...
def run_lockstep(
    scenario: Scenario,
    output: tuple[str, bool, str],
    progress: _Progress | None,
    interrupt: Interrupt,
    compare: bool,
) -> tuple[str, str]: ...
def enter_user_namespace() -> None: ...
def run_host(
    scenario: Scenario,
    setup: dict[str, Any],
    ready: Callable[[str, list[str]], None],
    interrupt: Interrupt,
) -> tuple[str, str | None]: ...
def run_switch(
    scenario: Scenario,
    setup: dict[str, Any],
    ready: Callable[[str, list[str], str | None], None],
    interrupt: Interrupt,
) -> str: ...
def locate_values(text: str) -> list[tuple[tuple[str | int, ...], int, int, int]]: ...
def parse_quantity(text: str) -> tuple[str, int, str, int] | None: ...
def catalogue(what: str) -> str: ...
