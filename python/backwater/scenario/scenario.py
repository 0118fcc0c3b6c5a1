"""A scenario with its changes, and the key under which its result is stored."""

from __future__ import annotations

import copy
import hashlib
import json
import operator
import re
import shlex
import shutil
import tempfile
import tomllib
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from backwater import _core
from backwater._base import positions, toml
from backwater._base.files import readable
from backwater.errors import ScenarioError

_LAYOUT = 1
"""Version of the files of a run. A new version invalidates stored runs."""

_MAX_SEED = 2**64 - 1


SYSTEMS = {
    "bfc": "bfc",
    "floodgate": "dcqcn+floodgate",
    "spfc": "dcqcn+spfc",
    "hpcc": "hpcc",
}
"""Systems whose switch state can be computed, each with a preset that uses it."""


@dataclass(frozen=True)
class InputFile:
    """A file that a resolved scenario reads."""

    where: positions.Path
    """Keys and indices that lead to the name of the file in the resolved scenario."""

    path: Path
    digest: str
    """Hash of its contents."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A scenario with a given scheme, without the changes that do not apply to this scheme."""

    scenario: Scenario
    left_out: list[str]
    """A sentence for each change that does not apply to the scheme."""


class Scenario:
    """A scenario, with the changes that were made to it. It is immutable.

    Parameters
    ----------
    source
        The path of a TOML file, TOML text (it has more than one line), or a dict with the same
        keys. Relative file names in text and dicts start from the working directory.
    changes
        As in :meth:`set`.
    scheme, seed, profile
        As in :meth:`set`.

    Examples
    --------
    >>> s = Scenario("scenarios/first.toml").set({"switch.buffer": "8MB"}, seed=2)
    >>> s.values["seed"]
    2

    """

    def __init__(
        self,
        source: str | PathLike[str] | Mapping[str, Any] | Scenario,
        changes: Mapping[str, Any] | Iterable[str] = (),
        *,
        scheme: str | None = None,
        seed: int | None = None,
        profile: str | None = None,
    ) -> None:
        self.scheme: str | None = None
        """Name of the preset that replaces the scheme of the file. None: the file's scheme is used.
        """

        self.overrides: tuple[str, ...] = ()
        """Changed values, each as ``KEY=VALUE``."""

        self.seed: int | None = None
        """Seed that replaces the one of the file."""

        self.profile: str | None = None
        """Simulator that is imitated, such as ``"ns3"``."""

        self._folder: _Folder | None = None
        if isinstance(source, Scenario):
            self.__dict__.update(source._given())
        elif isinstance(source, Mapping):
            self._write(_document(source))
        elif isinstance(source, str) and "\n" in source:
            self._write(source)
        elif isinstance(source, str | PathLike):
            self.path = Path(fspath(source))
            if not self.path.exists():
                problems = self.check()
                raise ScenarioError("\n\n".join(one["text"] for one in problems), problems)
        else:
            raise ScenarioError(
                f"a {type(source).__name__} is not a scenario; expected the path of a TOML file, "
                "TOML text, or a dict"
            )
        self.__dict__.update(self.set(changes, scheme=scheme, seed=seed, profile=profile)._given())

    def __repr__(self) -> str:
        changes = [*self.overrides]
        changes += [f"scheme={self.scheme}"] if self.scheme is not None else []
        changes += [f"seed={self.seed}"] if self.seed is not None else []
        changes += [f"profile={self.profile}"] if self.profile is not None else []
        return f"Scenario({self.source!r}{''.join(f', {one}' for one in changes)})"

    def _given(self) -> dict[str, Any]:
        """Return the given arguments, without the values that were computed from them."""
        names = ("path", "scheme", "overrides", "seed", "profile", "_folder")
        return {name: self.__dict__[name] for name in names}

    def _write(self, text: str) -> None:
        """Write a text to a temporary file, which is deleted with the last copy of the scenario."""
        self._folder = _Folder()
        self.path = self._folder.path / "scenario.toml"
        self.path.write_text(_absolute(text), encoding="utf-8")

    @property
    def source(self) -> str:
        """Path of the scenario's file; ``<scenario>`` if it was given as text or as a dict."""
        return str(self.path) if self._folder is None else "<scenario>"

    def set(
        self,
        changes: Mapping[str, Any] | Iterable[str] = (),
        *,
        scheme: str | None = None,
        seed: int | None = None,
        profile: str | None = None,
    ) -> Scenario:
        """Return a scenario with changed values. The scenario itself stays as it is.

        Parameters
        ----------
        changes
            Values by dotted key, such as ``{"switch.buffer": "8MB", "scheme": "bfc"}``. A value is
            a number, a text with a unit, a list, or a dict. A list of texts such as
            ``["switch.buffer=8MB"]`` is accepted, too.
        scheme
            Name of a preset.
        seed
            A whole number from 0 to 2⁶⁴ - 1.
        profile
            A simulator to imitate, such as ``"ns3"``.

        Raises
        ------
        ScenarioError
            If an argument has the wrong type. Keys and values are checked by :meth:`check` and
            before a run.

        """
        new = copy.copy(self)
        new.__dict__ = self._given()
        if isinstance(changes, str) or not isinstance(changes, Mapping | Iterable):
            raise ScenarioError(
                f'changes={changes!r}: expected a dict such as {{"switch.buffer": "8MB"}}'
            )
        if isinstance(changes, Mapping):
            changes = dict(changes)
            named = [
                key for key in ("scheme", "scheme.preset") if isinstance(changes.get(key), str)
            ]
            for key in named:
                scheme = changes.pop(key) if scheme is None else scheme
            if "seed" in changes:
                seed = changes.pop("seed")
            changes = [f"{key}={_value(key, value)}" for key, value in changes.items()]
        changes = list(changes)
        for change in changes:
            if not isinstance(change, str):
                raise ScenarioError(
                    f'changes: {change!r} is not a text such as "switch.buffer=8MB"'
                )
        # These changes replace earlier ones of the same key. If a key is repeated here, the last
        # one wins.
        keys = {change.partition("=")[0].strip() for change in changes}
        kept = [one for one in self.overrides if one.partition("=")[0].strip() not in keys]
        new.overrides = (*kept, *changes)
        if scheme is not None:
            new.scheme = _text("scheme", scheme, "bfc")
        if seed is not None:
            new.seed = whole_seed(seed)
        if profile is not None:
            new.profile = _text("profile", profile, "ns3")
        return new

    # --- What is in it -----------------------------------------------------------------------

    def check(self) -> list[dict[str, Any]]:
        """Return all errors, or all warnings and notes; an empty list if there are none.

        A note is about a valid value that real networks do not have. Runs do not report notes.

        Returns
        -------
        list of dict
            Each has the keys ``severity`` (``"error"``, ``"warning"`` or ``"note"``), ``code``,
            ``key``, ``message``, ``hint``, ``source``, ``line``, ``column`` and ``text``.

        """
        return [self._renamed(one) for one in _core.check(*self._inputs())]

    @cached_property
    def resolved(self) -> str:
        """The scenario as TOML with every value filled in.

        It is read once, when it is first needed. Raises ``ScenarioError`` if there is an error.
        """
        return self.loaded().resolved()

    @cached_property
    def values(self) -> dict[str, Any]:
        """The resolved scenario as nested dicts and lists."""
        return tomllib.loads(self.resolved)

    def to_toml(self) -> str:
        """Return the scenario as TOML text that needs no other scenario file.

        The text is that of the file if nothing was changed, else :attr:`resolved`. File names in it
        are absolute.
        """
        if self.overrides or (self.scheme, self.seed, self.profile) != (None, None, None):
            return self.resolved
        return _absolute(self.text, self.path.parent)

    @property
    def text(self) -> str:
        """Text of the scenario's file, without changes."""
        try:
            return self.path.read_text(encoding="utf-8")
        except OSError as error:
            raise ScenarioError(f"{self.path}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ScenarioError(f"{self.path}: is not valid UTF-8 at byte {error.start}") from error

    @property
    def name(self) -> str:
        """The name that the file gives in the key ``name``, or the stem of the file.

        Changes do not alter it.
        """
        try:
            return str(tomllib.loads(self.text)["name"])
        except (ScenarioError, tomllib.TOMLDecodeError, KeyError):
            return self.path.stem

    @property
    def stem(self) -> str:
        """Name of the scenario's file without ``.toml``, or :attr:`name` if there is no file."""
        return self.path.stem if self._folder is None else self.name

    # --- What it means in its network --------------------------------------------------------

    def thresholds(self) -> dict[str, Any]:
        """Return the thresholds of the switches in this network.

        Each kind of switch has the division of its buffer and the bytes at which one ingress is
        paused. The latter is given for one ingress alone and for all ingresses together. Each kind
        of port has its headroom and ECN thresholds. Sizes are in bytes, times in ps, rates in bits
        per second. A value that the scheme does not use is None.
        """
        found: dict[str, Any] = json.loads(self.loaded().thresholds())
        return found

    def backpressure(self, edges: bool = False) -> dict[str, Any]:
        """Return which egress ports can pause which others, and the cycles among them.

        With ``edges`` all edges are listed. Otherwise only those edges are listed whose removal
        leaves no cycle.
        """
        graph: dict[str, Any] = json.loads(self.loaded().backpressure_graph(edges))
        return graph

    def links(self) -> list[dict[str, Any]]:
        """Return the states of the links during the run, in order of time.

        Each state has ``at_ps``, the time at which links fail or come back, and ``routes_ps``, the
        time at which routes follow (later by ``reconvergence``). It lists the links that are
        ``down``, and the hosts that are ``cut_off`` from the largest part of the network. If ports
        can wait for each other in a cycle with these routes, ``circle`` has the ports of one such
        cycle.
        """
        epochs: list[dict[str, Any]] = json.loads(self.loaded().link_epochs())
        return epochs

    def resources(
        self, *, packet_bytes: float | None = None, destinations: int | None = None
    ) -> dict[str, Any]:
        """Return the state that BFC, Floodgate, SPFC and HPCC need in the switches.

        Parameters
        ----------
        packet_bytes
            Mean size of packets. Default: the mean of the scenario's traffic, or the size of full
            packets if it has only workloads.
        destinations
            Number of hosts for which Floodgate has memory. Default: all hosts of the network.

        Returns
        -------
        dict
            ``systems`` has one entry per system. Its ``scheme`` is the preset whose configuration
            is used, or None if the scenario itself uses the system. Its ``switches`` have the
            counters, registers and bits of each kind of switch, in total and per port. HPCC also
            has the state of a ``nic``, or None with another control that has INT. If a preset
            cannot be combined with the scenario, the system has a ``problem`` and no switches.

        """
        fits = self.with_schemes([self.scheme, *SYSTEMS.values()])

        def load(chosen: str | None) -> dict[str, Any]:
            one = fits[chosen].scenario
            answer = one.loaded().resources(packet_bytes, destinations)
            loaded: dict[str, Any] = json.loads(answer)
            return loaded

        costs = load(self.scheme)
        own, own_nic = costs["systems"], costs.pop("nic")
        costs["systems"] = {}
        for system, preset in SYSTEMS.items():
            scheme = None if system in own else preset
            found: dict[str, Any] = {"scheme": scheme, "switches": []}
            nic = own_nic
            try:
                if system in own:
                    found["switches"] = own[system]
                else:
                    of_preset = load(preset)
                    found["switches"], nic = of_preset["systems"][system], of_preset["nic"]
            except ScenarioError as error:
                found["problem"] = str(error)
            if system == "hpcc":
                found["nic"] = nic
            for switch in found["switches"]:
                for what in ("counters", "registers", "bits"):
                    switch[f"{what}_per_port"] = switch[what] / switch["ports"]
            costs["systems"][system] = found
        return costs

    # --- Several schemes ---------------------------------------------------------------------

    def with_schemes(self, schemes: Sequence[str | None]) -> dict[str | None, Fit]:
        """Return the scenario with each scheme, without the changes that do not apply to it.

        If a scheme lacks a parameter that another scheme has, the parameter is left out for this
        scheme. If no scheme has it, the change stays, and :meth:`check` refuses the scenario. The
        scheme None is the scheme of the scenario.
        """
        bare = copy.copy(self)
        bare.__dict__ = self._given() | {"scheme": None}
        each = {name: bare if name is None else bare.set(scheme=name) for name in schemes}
        if len(schemes) == 1 or not any(one.startswith("scheme.") for one in self.overrides):
            return {name: Fit(one, []) for name, one in each.items()}
        idle: dict[str | None, dict[str, str]] = {}
        for name, one in each.items():
            useless = {p["key"]: p["message"] for p in one.check() if p["code"] == "useless-key"}
            idle[name] = {
                override: why
                for override in self.overrides
                for key, why in useless.items()
                if f"{override.partition('=')[0].strip()}.".startswith(f"{key}.")
            }
        nowhere = set.intersection(*(set(found) for found in idle.values()))
        fits: dict[str | None, Fit] = {}
        for name, found in idle.items():
            left_out = {override: why for override, why in found.items() if override not in nowhere}
            sentences = [
                f"`{override}` does not apply to {name or 'the scheme of the scenario'}: {why}"
                for override, why in left_out.items()
            ]
            one = copy.copy(each[name])
            one.overrides = tuple(o for o in self.overrides if o not in left_out)
            fits[name] = Fit(one, sentences)
        return fits

    # --- Identity ----------------------------------------------------------------------------

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

        It covers the resolved scenario with its seed, the contents of the files that it reads, and
        the version of the product. Comments and the paths of files do not count.
        """
        contents = {file.where: file.digest for file in self.files}
        about = {
            "layout": _LAYOUT,
            "version": version(),
            "profile": self.profile,
            "scenario": _with_contents(self.values, (), contents),
        }
        text = json.dumps(about, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hash_bytes(text.encode())

    @property
    def command(self) -> str:
        """The command line that repeats the run."""
        return self.command_of("run")

    def command_of(self, name: str, *more: str) -> str:
        """Return the command line of another command with this scenario."""
        source = str(self.path) if self._folder is None else f"{self.stem}.toml"
        words = ["backwater", name, source, *more]
        if self.scheme is not None:
            words += ["--scheme", self.scheme]
        if self.profile is not None:
            words += ["--profile", self.profile]
        for override in self.overrides:
            words += ["--set", override]
        if self.seed is not None:
            words += ["--seed", str(self.seed)]
        return shlex.join(words)

    # --- The core ----------------------------------------------------------------------------

    def _inputs(self) -> tuple[str, list[str], int | None, str | None, str | None]:
        return str(self.path), list(self.overrides), self.seed, self.scheme, self.profile

    def loaded(self) -> _core.Scenario:
        """Read the scenario. Errors have the user's name of the scenario."""
        try:
            found = _core.Scenario(*self._inputs())
        except ScenarioError as error:
            raise self.named(error) from error.__cause__
        self.__dict__.setdefault("resolved", found.resolved())  # It need not be read again.
        return found

    def named(self, error: ScenarioError) -> ScenarioError:
        """Return the error with the user's name of the scenario in its message."""
        if self._folder is None:
            return error
        text = str(error).replace(str(self.path), self.source)
        return ScenarioError(text, [self._renamed(one) for one in error.problems])

    def _renamed(self, problem: dict[str, Any]) -> dict[str, Any]:
        if self._folder is None:
            return problem
        return {
            key: value.replace(str(self.path), self.source) if isinstance(value, str) else value
            for key, value in problem.items()
        }


class _Folder:
    """A temporary folder that is removed with the last scenario that uses it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="backwater-"))
        weakref.finalize(self, shutil.rmtree, self.path, True)


def _document(values: Mapping[str, Any]) -> str:
    for key, value in values.items():
        _value(str(key), value)
    try:
        return toml.document(values)
    except TypeError as error:
        raise ScenarioError(f"a scenario cannot hold {error}") from error


def _value(key: str, value: Any) -> str:
    try:
        return toml.toml(value)
    except TypeError as error:
        raise ScenarioError(
            f'`{key}`: {error} is not a value; expected a number, a text such as "8MB", a list or '
            "a dict"
        ) from error


def _text(name: str, value: Any, example: str) -> str:
    if not isinstance(value, str):
        raise ScenarioError(
            f"{name}={value!r}: a {type(value).__name__} is not a name; expected a text such as "
            f'"{example}"'
        )
    return value


def whole_seed(seed: Any) -> int:
    """Return a seed as an int; raise ``ScenarioError`` if it cannot be one."""
    try:
        whole = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        whole = -1
    if not 0 <= whole <= _MAX_SEED:
        several = "; several seeds are an argument of run" if isinstance(seed, Iterable) else ""
        raise ScenarioError(f"seed={seed!r}: expected a whole number from 0 to 2⁶⁴ - 1{several}")
    return whole


def scheme_name(name: Any) -> str:
    """Return the name of a scheme; raise ``ScenarioError`` if it cannot be one."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9+._-]*", name):
        raise ScenarioError(f"`{name}` cannot be the name of a scheme")
    return name


def _absolute(text: str, base: Path | None = None) -> str:
    """Return a TOML text with absolute file names. Invalid TOML is returned unchanged."""
    try:
        found = list(_file_names(tomllib.loads(text), ()))
    except tomllib.TOMLDecodeError:
        return text
    names = {where: str((base or Path()).absolute() / name) for where, name in found}
    return with_names(text, names)


def with_names(text: str, names: Mapping[positions.Path, str]) -> str:
    """Return a TOML text with new values at some places, such as file names."""
    if not names:
        return text
    spans = positions.locate(text)
    parts, at = [], 0
    for span, name in sorted(((spans[w], n) for w, n in names.items()), key=lambda e: e[0].start):
        parts += [text[at : span.start], json.dumps(name, ensure_ascii=False)]
        at = span.end
    return "".join(parts) + text[at:]


@cache
def version() -> str:
    """Return the version of the product, as far as results depend on it.

    The release alone is not sufficient, because the model changes between releases. Therefore the
    version includes the hash of the extension's sources, which is computed when it is built.
    """
    made_from = getattr(_core, "__sources__", None) or hash_file(Path(_core.__file__))
    return f"{_core.__version__}+{made_from[:16]}"


def hash_file(path: Path) -> str:
    """Hash the contents of a file."""
    with readable(path), path.open("rb") as file:
        return hashlib.file_digest(file, _hasher).hexdigest()


def hash_bytes(content: bytes) -> str:
    """Hash bytes, as :func:`hash_file` does."""
    return str(_hasher(content).hexdigest())


def _hasher(content: bytes = b"") -> Any:
    return hashlib.blake2b(content, digest_size=20)


def _file_names(value: Any, where: positions.Path) -> Iterator[tuple[positions.Path, str]]:
    """Yield the place and the value of each key ``file`` in a scenario."""
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
    """Replace the name of each file by the hash of its contents."""
    if not contents:
        return value
    if where in contents:
        return {"contents": contents[where]}
    if isinstance(value, dict):
        return {k: _with_contents(v, (*where, k), contents) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_contents(v, (*where, i), contents) for i, v in enumerate(value)]
    return value
