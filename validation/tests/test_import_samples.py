"""The samples of the reference: each imported, run with the audit, and finished."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from backwater.importers import importing
from backwater.importers.importing import Imported, Wishes
from backwater.results.columns import audit
from tools import simulated

REFERENCE = Path(__file__).parents[3] / "shared/reference/collectives"
NONE = Wishes()
LARGEST = 10**7
"""Layers with larger collectives are left out, so that a sample takes a second."""

SCHEDULES = ("binary_tree_32", "comp", "comp1", "incast_8_1_2MiB")
MATRICES = (
    *("one", "bidir", "incast", "incast_2to1_size4194304B", "outcast_incast", "incast_128"),
    *("perm_16n_16c_2MB", "perm_32n_32c_2MB", "perm_128n_128c_2MB", "alltoall_serial_16n"),
)
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
LAYERS = ("all_reduce", "all_gather", "all_to_all", "muti_all_reduce", "microAllReduce")
CUSTOM = "chakra/custom_ring_allreduce_8npus_1MB"


def schedule(path: Path, folder: Path) -> Imported:
    return importing.import_goal(path, NONE)


def matrix(path: Path, folder: Path) -> Imported:
    return importing.import_htsim(path, NONE)


def traces(path: Path, folder: Path) -> Imported:
    """Import traces with the network file for their number of ranks."""
    ranks = len(list(path.glob("*.et")))
    chakra = REFERENCE / "chakra"
    network = chakra / f"Ring_{ranks}npus.yml"
    return importing.import_chakra(path, NONE, chakra / "Ring_4chunks.json", network)


def traces_on_a_switch(path: Path, folder: Path) -> Imported:
    files = (path.parents[1] / f"HGX-H100-validated.{end}" for end in ("json", "yml"))
    return importing.import_chakra(path, NONE, *files)


def traces_by_custom_ring(path: Path, folder: Path) -> Imported:
    """Import traces whose all-reduces use the algorithm that other traces define."""
    prefix = REFERENCE / CUSTOM / "custom_allreduce"
    system = folder / "system.json"
    system.write_text(json.dumps({"all-reduce-implementation-custom": [str(prefix)]}))
    return importing.import_chakra(path, NONE, system)


def algorithm(path: Path, folder: Path) -> Imported:
    return importing.import_msccl(path, NONE)


def layers(path: Path, folder: Path) -> Imported:
    """Import only the layers with small collectives, or all layers if there are none."""
    header, _, *lines = path.read_text().splitlines()
    small = [x for x in lines if x.strip() and max(map(int, x.split()[4::3])) <= LARGEST]
    kept = small or [x for x in lines if x.strip()]
    (folder / path.name).write_text("\n".join([header, str(len(kept)), *kept]) + "\n")
    return importing.import_simai(folder / path.name, NONE, 8)


SAMPLES: list[tuple[str, Callable[[Path, Path], Imported]]] = [
    *((f"goal/{name}.goal", schedule) for name in SCHEDULES),
    *((f"htsim/{name}.cm", matrix) for name in MATRICES),
    *((f"chakra/{kind}/{n}npus_1MB", traces) for kind in COLLECTIVES for n in (4, 8)),
    ("chakra/all_reduce/8npus_1MB", traces_on_a_switch),
    ("chakra/all_reduce/8npus_1MB", traces_by_custom_ring),
    (CUSTOM, traces),
    (f"{CUSTOM}/custom_allreduce.xml", algorithm),
    *((f"simai/{name}.txt", layers) for name in LAYERS),
]


@pytest.mark.parametrize(
    ("name", "read"), SAMPLES, ids=[f"{read.__name__}-{name}" for name, read in SAMPLES]
)
def test_a_sample_is_imported_run_and_finished(
    tmp_path: Path, name: str, read: Callable[[Path, Path], Imported]
) -> None:
    if not (REFERENCE / name).exists():
        pytest.skip(f"{name} is not here")
    imported = read(REFERENCE / name, tmp_path)
    importing.write(imported, tmp_path / "x.toml")
    run = simulated(tmp_path / "x.toml", ["scheme.mtu=9000B"], out=tmp_path / "out")
    assert run.ok
    assert audit(run.summary) == "ok"
    assert run.summary["ending"] == "drained"
    if imported.operations is not None:
        assert run.table("operations").height == len(imported.operations)
    assert run.summary["flows"]["unfinished"] == 0
    if read in (algorithm, traces_by_custom_ring):
        # OPS-38: its messages are one collective, with the bandwidths of a native one.
        [whole] = run.table("collectives").to_dicts()
        assert (whole["kind"], whole["bytes"], whole["ranks"]) == ("all-reduce", 2**20, 8)
        assert whole["composed"]
        assert whole["bus_bps"] == pytest.approx(whole["algorithm_bps"] * 14 / 8)
        assert whole["bus_bps"] <= whole["bound_bps"]
