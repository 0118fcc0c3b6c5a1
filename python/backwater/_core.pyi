"""The compiled part. Private: use the functions of :mod:`backwater`."""

from collections.abc import Callable
from typing import Any, TypeAlias, final

__all__ = [
    "Interrupt",
    "__sources__",
    "__version__",
    "backpressure_graph",
    "catalogue",
    "check",
    "enter_user_namespace",
    "estimate",
    "flow_paths",
    "link_epochs",
    "locate_values",
    "parse_quantity",
    "resolve",
    "resources",
    "run",
    "run_host",
    "run_lockstep",
    "run_switch",
    "schema",
    "thresholds",
]

__version__: str
__sources__: str
"""Hash of the sources that this was made from."""

@final
class Interrupt:
    """Asks running simulations, on whichever thread, to stop and to keep what they have."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...

_Told: TypeAlias = Callable[
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
"""Is told how far a run is: what `backwater.running.simulate.Progress` has, in that order."""

def resolve(
    path: str,
    overrides: list[str],
    seed: int | None = None,
    scheme: str | None = None,
    profile: str | None = None,
) -> tuple[str, list[str]]: ...
def check(
    path: str,
    overrides: list[str],
    seed: int | None = None,
    scheme: str | None = None,
    profile: str | None = None,
) -> list[dict[str, Any]]: ...
def estimate(
    path: str, networks: list[str], record: bool = False
) -> tuple[str, dict[str, Any]]: ...
def schema() -> str: ...
def run(
    path: str,
    scheme: str | None,
    overrides: list[str],
    seed: int | None,
    out_dir: str,
    force: bool,
    key: str,
    progress: _Told | None,
    interrupt: Interrupt,
    profile: str | None = None,
    threads: int = 1,
) -> str: ...
def run_lockstep(
    path: str,
    scheme: str | None,
    overrides: list[str],
    seed: int | None,
    out_dir: str,
    force: bool,
    key: str,
    progress: _Told | None,
    interrupt: Interrupt,
    profile: str | None = None,
    compare: bool = False,
) -> tuple[str, str]: ...
def enter_user_namespace() -> None: ...
def run_host(
    path: str,
    scheme: str | None,
    overrides: list[str],
    seed: int | None,
    node: str,
    interfaces: list[str],
    peers: list[tuple[str, bytes]],
    listen: bool,
    seconds: float | None,
    out_dir: str,
    force: bool,
    ready: Callable[[str, list[str]], None],
    interrupt: Interrupt,
) -> tuple[str, str | None]: ...
def run_switch(
    path: str,
    scheme: str | None,
    overrides: list[str],
    seed: int | None,
    node: str | None,
    interfaces: list[str],
    classes: list[int] | None,
    lossless: list[int] | None,
    stations: list[tuple[bytes, int]],
    mtu: int,
    metrics: str | None,
    ready: Callable[[str, list[str], str | None], None],
    interrupt: Interrupt,
) -> str: ...
def backpressure_graph(
    path: str,
    overrides: list[str],
    seed: int | None = None,
    scheme: str | None = None,
    edges: bool = False,
    profile: str | None = None,
) -> str: ...
def link_epochs(
    path: str,
    overrides: list[str],
    seed: int | None = None,
    scheme: str | None = None,
    profile: str | None = None,
) -> str: ...
def resources(
    path: str,
    overrides: list[str],
    seed: int | None = None,
    scheme: str | None = None,
    packet_bytes: float | None = None,
    profile: str | None = None,
    destinations: int | None = None,
) -> str: ...
def thresholds(
    path: str,
    overrides: list[str],
    seed: int | None = None,
    scheme: str | None = None,
    profile: str | None = None,
) -> str: ...
def locate_values(text: str) -> list[tuple[tuple[str | int, ...], int, int, int]]: ...
def parse_quantity(text: str) -> tuple[str, int, str, int] | None: ...
def flow_paths(path: str) -> tuple[bytes, bytes, bytes] | None: ...
def catalogue(what: str) -> str: ...
