"""One run that is wanted, and the key under which its result is kept."""

from __future__ import annotations

import hashlib
import json
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from backwater._base import positions
from backwater.errors import InputError

_LAYOUT = 1
"""Changes when what is kept of a run changes, so that older ones are made again."""


@dataclass(frozen=True)
class InputFile:
    """A file that a resolved scenario reads."""

    where: positions.Path
    """Keys that lead to its name in the resolved scenario."""

    path: Path
    digest: str
    """Hash of its contents."""


@dataclass(frozen=True)
class Task:
    """A run that is wanted: a scenario, and what is changed in it.

    What it says is read once, when it is first needed: a scenario that is edited afterwards
    does not change the task.
    """

    scenario: Path
    scheme: str | None = None
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    profile: str | None = None

    @cached_property
    def resolved(self) -> str:
        """The scenario with every value filled in; raises ``ScenarioError`` where it is wrong."""
        from backwater.running import simulate

        extra = {} if self.profile is None else {"profile": self.profile}
        return simulate.resolve(
            self.scenario,
            scheme=self.scheme,
            overrides=self.overrides,
            seed=self.seed,
            **extra,
        )

    @cached_property
    def values(self) -> dict[str, Any]:
        """The resolved scenario as nested dictionaries and lists."""
        return tomllib.loads(self.resolved)

    @cached_property
    def files(self) -> tuple[InputFile, ...]:
        """The files that the resolved scenario reads."""
        return tuple(
            InputFile(where, Path(name), hash_file(Path(name)))
            for where, name in _file_names(self.values, ())
        )

    @cached_property
    def key(self) -> str:
        """Hash of everything that the result depends on.

        That is the resolved scenario with its seed, the contents of the files that it reads, and
        the version of the product. The comments of the resolved scenario and the places of its
        files do not count.
        """
        contents = {file.where: file.digest for file in self.files}
        about = {
            "layout": _LAYOUT,
            "version": version(),
            "profile": self.profile,
            "scenario": _with_contents(self.values, (), contents),
        }
        text = json.dumps(about, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()

    @property
    def command(self) -> str:
        """The command line that repeats the run by itself."""
        words = ["backwater", "run", str(self.scenario)]
        if self.scheme is not None:
            words += ["--scheme", self.scheme]
        if self.profile is not None:
            words += ["--profile", self.profile]
        for override in self.overrides:
            words += ["--set", override]
        if self.seed is not None:
            words += ["--seed", str(self.seed)]
        return shlex.join(words)


@cache
def version() -> str:
    """Return the version of the product, as far as results depend on it.

    The release is not enough: between two releases the physics change with every other commit. So
    the sources that the extension was made from count too; they are hashed when it is built.
    """
    from backwater import _core

    made_from = getattr(_core, "__sources__", None) or hash_file(Path(_core.__file__))
    return f"{_core.__version__}+{made_from[:16]}"


def hash_file(path: Path) -> str:
    """Hash the contents of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, _hasher).hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", error.errno) from error


def hash_bytes(content: bytes) -> str:
    """Hash a text of bytes, as :func:`hash_file` does."""
    return str(_hasher(content).hexdigest())


def _hasher(content: bytes = b"") -> Any:
    return hashlib.blake2b(content, digest_size=20)


def _file_names(value: Any, where: positions.Path) -> Iterator[tuple[positions.Path, str]]:
    """Yield where a scenario names files: the values of the keys ``file``."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "file" and isinstance(inner, str):
                yield (*where, key), inner
            else:
                yield from _file_names(inner, (*where, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            if isinstance(inner, dict | list):
                yield from _file_names(inner, (*where, index))


def _with_contents(value: Any, where: positions.Path, contents: dict[positions.Path, str]) -> Any:
    """Put the hash of a file's contents in the place of its name."""
    if not contents:
        return value
    if where in contents:
        return {"contents": contents[where]}
    if isinstance(value, dict):
        return {k: _with_contents(v, (*where, k), contents) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_contents(v, (*where, i), contents) for i, v in enumerate(value)]
    return value
