"""Builds the bench example or the extension module with profile-guided optimisation.

    python benches/guided.py              the bench example; prints its path
    python benches/guided.py --extension  the extension module of the package

The results of a run stay the same, and a run takes about 5 % less time. A build that counts
branches runs the small workloads of speed.py and a permutation. The counts are kept until the code
changes. Needs the compiler's own tools: rustup component add llvm-tools.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from runner import ROOT, Cell, build, surroundings

FOLDER = ROOT / "target" / "guided"
SCHEMES = ("hpcc", "dcqcn", "bfc", "dcqcn+floodgate")
LESSONS = [
    *(Cell(name, scheme) for name in ("hadoop-128", "incast-128") for scheme in SCHEMES),
    Cell("permutation-1024", "hpcc"),
]


def said(*command: str) -> str:
    """Run a command and return its output."""
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return told.stdout.strip()


def merger() -> Path:
    """Return the path of llvm-profdata of the compiler's version, which merges branch counts."""
    version = said("rustc", "-vV").splitlines()
    host = next(line.removeprefix("host: ") for line in version if line.startswith("host: "))
    bin_folder = Path(said("rustc", "--print", "sysroot"), "lib", "rustlib", host, "bin")
    found = shutil.which("llvm-profdata", path=str(bin_folder))
    if found is None:
        sys.exit(
            f"llvm-profdata is not in {bin_folder}\n"
            "a guided build needs it: run `rustup component add llvm-tools`"
        )
    return Path(found)


def learn() -> Path:
    """Return the file with the branch counts; count them if the code has changed."""
    tool = merger()
    counts = FOLDER / "counts"
    counting = build(f"-Cprofile-generate={counts}", FOLDER / "learn")
    name = hashlib.sha256(counting.read_bytes()).hexdigest()[:16]
    profile = FOLDER / f"{name}.profdata"
    if not profile.exists():
        shutil.rmtree(counts, ignore_errors=True)
        for at, cell in enumerate(LESSONS):
            print(f"\rlesson {at + 1} of {len(LESSONS)}: {cell.scenario} {cell.scheme}    ", end="")
            cell.run(counting)
        print()
        partial = profile.with_suffix(".partial")
        subprocess.run([tool, "merge", "-o", partial, counts], check=True)
        partial.rename(profile)
        shutil.rmtree(counts)
    return profile


def guided() -> Path:
    """Build the bench example with the branch counts, and return its path."""
    return build(f"-Cprofile-use={learn()}", FOLDER / "use")


def extension() -> None:
    """Build the extension module with the branch counts, and install it."""
    environment = surroundings(f"-Cprofile-use={learn()}", FOLDER / "use")
    environment["VIRTUAL_ENV"] = sys.prefix
    maturin = Path(sys.prefix, "bin", "maturin")
    command = [str(maturin), "develop", "--release", "--locked", "--quiet"]
    subprocess.run(command, cwd=ROOT, check=True, env=environment)


def main() -> None:
    """Build the example, or the extension module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extension", action="store_true", help="the extension module")
    options = parser.parse_args()
    if options.extension:
        extension()
        print("the package is guided now; `make setup` after a change of the code undoes it")
    else:
        print(guided())


if __name__ == "__main__":
    main()
