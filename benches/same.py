"""Compares the results of this version with those of an earlier one, run by run.

    python benches/same.py REVISION [--minutes N] [--seed N] [--only TEXT] [-o FOLDER]

The earlier version is built in release mode. This version is built in release and in debug mode.
Each comparison draws a scenario (one of the repository or a generated one), a preset, recorders on
or off, 1 or 2 threads, and release or debug. The earlier version runs it on one thread. Digest,
summary and tables must be equal. If they differ, the first difference is printed with the scenario,
the key, the time and the node, and the exit status is 1.

Every scenario of the repository and every preset is drawn before one is drawn again. Runs that both
versions refuse are counted. REVISION is any revision of git. Its build is kept in target/against.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import random
import shutil
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from against import FOLDER, build_of, commit
from drawn import scenario as drawn_scenario
from runner import PRESETS, ROOT, build

Thing = TypeVar("Thing")

GENERATED = 200
LIMIT_S = 120
"""A run that takes longer is counted as too slow and not compared."""

SHORTER = ("run.until=300us",)
"""Scenarios of the repository stop at this time. Those of papers last for seconds."""

RECORDERS = {
    "throughput": ("record.throughput.every=5us",),
    "utilisation": ("record.utilisation.every=5us",),
    "queues": ("record.queues.every=2us", "record.queues.ports=switches"),
    "ingress": ("record.ingress.every=2us", "record.ingress.ports=switches"),
    "histogram": ("record.histogram.every=1us", "record.histogram.bin=1KB"),
    "rtt": ("record.rtt.bin=1us",),
    "delay": ("record.delay.bin=1us",),
    "waiting": ("record.waiting={}",),
    "pauses": ("record.pauses.flows=true",),
    "blame": ("record.blame.hops=true",),
    "capture": ('record.capture.links=["*:*"]',),
}
TIMES = ("at_ps", "from_ps", "start_ps", "ready_ps")
NODES = ("name", "node", "src", "rank", "host", "source")
VARYING = ("performance", "version", "host")
"""Parts of summary.json that are not results: speed and the program."""


TICK_PS = 100
"""Unit of the times in a capture."""

INTERFACE, PACKET, NAME = 1, 6, 2
"""Kinds of blocks of a pcapng file, and the option of an interface with its name."""


@dataclass(frozen=True)
class Case:
    """One run that both versions make."""

    scenario: Path
    scheme: str
    set: tuple[str, ...]
    profile: str | None
    threads: int
    debug: bool

    @property
    def arguments(self) -> list[str]:
        """Arguments of the bench example, except for threads and the folder of results."""
        profile = [f"--profile={self.profile}"] if self.profile else []
        return [str(self.scenario), self.scheme, *profile, *self.set]

    def __str__(self) -> str:
        """Return the arguments for a shell, and the threads and mode of this version."""
        words = " ".join(f"'{word}'" if " " in word or "{" in word else word for word in self.set)
        profile = f" --profile={self.profile}" if self.profile else ""
        mode = "debug" if self.debug else "release"
        return f"{self.scenario} {self.scheme}{profile} {words} ({self.threads} threads, {mode})"


@dataclass
class Made:
    """Result of a case with one version. ``status`` is None if the run took too long."""

    folder: Path
    status: int | None
    told: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def run(binary: Path, case: Case, threads: int, folder: Path) -> Made:
    """Run a case with one build, and store its results in a folder. Stop it after `LIMIT_S`."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [str(binary), *case.arguments, f"--out={folder}"]
    if threads > 1:
        command += [f"--threads={threads}", "--forced"]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return Made(folder, None)
    lines = ended.stdout.splitlines()
    told = json.loads(lines[-1]) if lines else {}
    return Made(folder, ended.returncode, told, ended.stderr.strip())


def flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested dictionaries and lists, each with its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from flat(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from flat(inner, f"{key}[{place}]")
    else:
        yield key, value


def summary_difference(then: Path, now: Path) -> str | None:
    """Return the first key of summary.json whose values differ, with both values, or None."""
    sides = []
    for folder in (then, now):
        text = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        sides.append(dict(flat({k: v for k, v in text.items() if k not in VARYING})))
    before, after = sides
    for key in [*before, *(key for key in after if key not in before)]:
        if before.get(key, "absent") != after.get(key, "absent"):
            return f"summary.json: {key}: {before.get(key, 'absent')} -> {after.get(key, 'absent')}"
    return None


@dataclass(order=True)
class Row:
    """A row that only one of two tables has."""

    at_ps: int
    table: str
    node: str
    text: str


def first_row(name: str, then: pl.DataFrame, now: pl.DataFrame) -> Row | str | None:
    """Return the earliest difference of two versions of a table; None if they are equal.

    It is a row, or a text if the columns differ.
    """
    if then.schema != now.schema:
        changed = sorted(set(then.schema.items()) ^ set(now.schema.items()), key=str)
        return f"{name}: columns differ: {', '.join(f'{c} ({t})' for c, t in changed)}"
    if then.equals(now):
        return None
    for place, (before, after) in enumerate(
        zip(then.iter_rows(named=True), now.iter_rows(named=True), strict=False)
    ):
        if before != after:
            keys = [key for key in before if before[key] != after[key]]
            text = ", ".join(f"{key} {before[key]} -> {after[key]}" for key in keys)
            return row_of(name, after, f"row {place}: {text}")
    longer, which = (then, "earlier") if then.height > now.height else (now, "this")
    shorter = min(then.height, now.height)
    extra = f"row {shorter}: {which} version has {abs(then.height - now.height)} rows more"
    return row_of(name, longer.row(shorter, named=True), extra)


def row_of(table: str, row: dict[str, Any], text: str) -> Row:
    """Return the difference ``text`` with the time and the node of a row of a table."""
    at_ps = next((row[key] for key in TIMES if row.get(key) is not None), 0)
    node = next((str(row[key]) for key in NODES if row.get(key) is not None), "-")
    return Row(int(at_ps), table, node, text)


def frames(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Yield the frames of a pcapng file: time in units of the file, link, and bytes."""
    data = path.read_bytes()
    links: list[str] = []
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == INTERFACE:
            code, size = struct.unpack_from("<HH", data, at + 16)
            links.append(data[at + 20 : at + 20 + size].decode() if code == NAME else "?")
        elif kind == PACKET:
            link, high, low, kept = struct.unpack_from("<IIII", data, at + 8)
            yield high << 32 | low, links[link], data[at + 28 : at + 28 + kept]
        at += length


def capture_difference(then: Path, now: Path) -> str | None:
    """Return the time and the link of the first frame in which two captures differ."""
    paths = [folder / "capture.pcapng" for folder in (then, now)]
    if not all(path.exists() for path in paths) or filecmp.cmp(paths[0], paths[1], shallow=False):
        return None
    for pair in zip_longest(*map(frames, paths)):
        if pair[0] != pair[1]:
            at, link, _ = min(frame for frame in pair if frame)
            return f"{at * TICK_PS} ps, link {link}: the first frame that differs"
    return "capture.pcapng: only comments or interfaces differ"


def difference(then: Made, now: Made) -> str | None:
    """Return the first differences of two runs as text, or None if they are equal."""
    # The first line of an error names its cause. The lines after it show the place, and what to do.
    causes = {made.error.partition("\\n")[0] for made in (then, now)}
    if then.status != now.status or len(causes) > 1:
        return f"earlier: status {then.status} {then.error}\n  now: status {now.status} {now.error}"
    if not then.told:
        return None
    found: list[Row] = []
    words: list[str] = []
    tables = {path.name for made in (then, now) for path in made.folder.glob("*.parquet")}
    for name in sorted(tables):
        pair = [made.folder / name for made in (then, now)]
        if not all(path.exists() for path in pair):
            words.append(f"{name}: only one version writes it")
            continue
        row = first_row(name, *(pl.read_parquet(path) for path in pair))
        if isinstance(row, Row):
            found.append(row)
        elif row:
            words.append(row)
    if found:
        row = min(found)
        words.append(f"{row.at_ps} ps, node {row.node}, {row.table}: {row.text}")
    words += filter(None, [capture_difference(then.folder, now.folder)])
    words += filter(None, [summary_difference(then.folder, now.folder)])
    if then.told["digest"] != now.told["digest"]:
        words.append(f"digest: {then.told['digest']} -> {now.told['digest']}")
    return "\n  ".join(words) or None


def repository() -> list[Path]:
    """Return all scenario files of the repository."""
    folders = ("scenarios", "benches/scenarios", "papers/backwater_papers/figures")
    files = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.toml"))
    return [path for path in files if "topology" in path.read_text(encoding="utf-8")]


def presets(earlier: Path) -> tuple[list[str], list[str]]:
    """Return the names of the presets and profiles that both versions have."""
    folders = (PRESETS, earlier / PRESETS.relative_to(ROOT))
    names = sorted(set.intersection(*({p.stem for p in f.glob("*.toml")} for f in folders)))
    profiles = [name.removeprefix("profile-") for name in names if name.startswith("profile-")]
    return [n for n in names if n != "common" and not n.startswith("profile-")], profiles


def cases(random_: random.Random, folder: Path, only: str, earlier: Path) -> Iterator[Case]:
    """Yield random cases without end, with presets that the version in `earlier` has, too."""
    schemes, profiles = presets(earlier)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number in range(GENERATED):
        path = folder / f"drawn-{number:03}.toml"
        path.write_text(drawn_scenario(random_, path.stem), encoding="utf-8")
        made.append(path)
    shipped = set(repository())
    files = rounds(random_, [*shipped, *made])
    names = rounds(random_, schemes)
    while True:
        path, scheme = next(files), next(names)
        recorders = random_.sample(sorted(RECORDERS), random_.randint(1, len(RECORDERS)))
        recorded = [key for name in recorders for key in RECORDERS[name]]
        case = Case(
            scenario=path,
            scheme=scheme,
            set=(
                *(SHORTER if path in shipped else ()),
                *(recorded if random_.random() < 0.5 else ()),
            ),
            profile=random_.choice(profiles) if random_.random() < 0.15 else None,
            threads=random_.choice((1, 2)),
            debug=random_.random() < 0.3,
        )
        if only in f"{case.scenario} {case.scheme}":
            yield case


def rounds(random_: random.Random, things: list[Thing]) -> Iterator[Thing]:
    """Yield all elements of a list in a random order, then again in another order, without end."""
    while True:
        yield from random_.sample(things, len(things))


def compare(case: Case, then: Path, now: dict[bool, Path], folder: Path) -> tuple[str, str | None]:
    """Run a case with both versions; return the outcome, such as ``equal``, and the difference."""
    before = run(then, case, 1, folder / "then")
    after = run(now[case.debug], case, case.threads, folder / "now")
    if before.status is None or after.status is None:
        return "too slow", None
    found = difference(before, after)
    if found is None:
        shutil.rmtree(folder, ignore_errors=True)
        return ("equal" if before.told else "refused by both"), None
    if before.told and after.told and " ps, " not in found:
        # No table has the time and the node: record all frames and look for the first one.
        followed = replace(case, set=(*case.set, *RECORDERS["capture"]))
        frames_then = run(then, followed, 1, folder / "frames-then")
        frames_now = run(now[case.debug], followed, case.threads, folder / "frames-now")
        place = capture_difference(frames_then.folder, frames_now.folder)
        found = f"{place}\n  {found}" if place else found
    return "different", found


def main() -> None:
    """Build both versions, compare runs until the time is over, and print the differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("revision", help="an earlier version: a commit, a branch or a tag")
    parser.add_argument("--minutes", type=float, default=10, help="time for comparisons (10)")
    parser.add_argument("--seed", type=int, help="seed of the draw (a new one)")
    parser.add_argument("--only", default="", help="part of 'scenario scheme' that must match")
    parser.add_argument("--most", type=int, default=10, help="stop after as many differences (10)")
    parser.add_argument("-o", "--out", type=Path, default=Path("out/same"), help="folder")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    name = commit(options.revision)
    then = build_of(name)
    now = {debug: build(debug=debug) for debug in (False, True)}
    out = options.out.resolve()
    drawn = cases(random.Random(seed), out / "scenarios", options.only, FOLDER / name[:12])
    print(f"seed {seed}; earlier version {name[:12]}; {options.minutes:g} minutes", flush=True)
    counts: Counter[str] = Counter()
    ends = time.monotonic() + 60 * options.minutes
    with ThreadPoolExecutor(max_workers=2) as pool:
        pending: dict[Future[tuple[str, str | None]], Case] = {}
        number = 0
        while pending or time.monotonic() < ends:
            while len(pending) < 2 and time.monotonic() < ends:
                if counts["different"] >= options.most:
                    ends = 0
                    break
                case = next(drawn)
                job = pool.submit(compare, case, then, now, out / f"case-{number:05}")
                pending[job] = case
                number += 1
            if not pending:
                break
            for done in wait(pending, return_when=FIRST_COMPLETED).done:
                case = pending.pop(done)
                word, found = done.result()
                counts[word] += 1
                if found:
                    print(f"{case}\n  {found}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in sorted(counts.items())))
    if counts["different"] or not counts["equal"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
