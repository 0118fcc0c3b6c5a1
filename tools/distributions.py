#!/usr/bin/env python3
"""Re-express published flow-size distributions in Backwater's own format.

    python3 tools/distributions.py POINTS_DIR OUT_DIR

POINTS_DIR holds one `NAME.csv` per distribution with the columns `bytes,cdf`. A short distribution
is written with its own points. A long one is approximated by at most 64 points, which dynamic
programming chooses. The mean differs by at most 0.1 %. Every percentile (1 to 99, and 99.9) differs
by at most 1 % or one byte. There are two kinds of approximation:

- *steps*, if few sizes determine the percentiles. Neighbouring sizes are merged into one size with
  the same mean.
- *lines*, if the distribution has hundreds of small steps, which 64 steps cannot approximate.

The script checks the result and fails if it exceeds a bound.
"""

from __future__ import annotations

import bisect
import csv
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

Points = list[tuple[int, float]]
"""Sizes in bytes, rising, each with the share of flows of at most that size."""

PERCENTILES = [*(i / 100 for i in range(1, 100)), 0.999]
MAX_POINTS = 64
HOMA = "PlatformLab/HomaSimulation, sizeDistributions"
HPCC = "alibaba-edu/High-Precision-Congestion-Control, traffic_gen"
ABM = "inet-tub/ns3-datacenter, examples/ABM"
CONWEAVE = "conweave-project/conweave-ns3"
PARSIMON = "uw-polestar/parsimon-eval, workload/distributions/facebook"
PFABRIC = "NetSys/simulator, py"
HKUST = "HKUST-SING/TrafficGenerator, conf"
BFC = "prateshg/BFC_NS3_NSDI2022, ns3-backpressure/mix"


@dataclass
class Entry:
    """A distribution to write: the file with its points, its name, and facts about its origin."""

    points: str
    name: str
    origin: str
    mode: str
    source: str
    note: str = ""
    unit: int = 1
    draw: str = "points"  # "points" as they are, or re-expressed as "steps" or "lines"


ENTRIES = [
    Entry(
        "WebSearch",
        "web-search",
        "hpcc",
        "linear",
        f"{HPCC}/WebSearch_distribution.txt",
        "the web search of DCTCP as HPCC's simulator and its heirs use it",
    ),
    Entry(
        "WebSearch_ABM",
        "web-search",
        "abm",
        "linear",
        f"{ABM}/websearch.csv",
        "flows of at least 2 kB; mass moved below 10 kB",
    ),
    Entry(
        "WebSearch_conweave_search",
        "web-search",
        "conweave",
        "linear",
        f"{CONWEAVE}/workloads/search.txt",
        "15 % of the flows have exactly 9000 bytes",
    ),
    Entry(
        "WebSearch_Homa_W5",
        "web-search",
        "homa",
        "step",
        f"{HOMA}/DCTCP_MsgSizeDist.txt",
        "W5 of Homa, counted in full packets of 1460 bytes",
        draw="lines",
    ),
    Entry(
        "WebSearch_pFabric",
        "web-search",
        "pfabric",
        "step",
        f"{PFABRIC}/CDF_dctcp.txt",
        "counted in full packets",
        unit=1460,
    ),
    Entry("FB_Hadoop", "fb-hadoop", "hpcc", "linear", f"{HPCC}/FbHdp_distribution.txt"),
    Entry(
        "FB_Hadoop_Homa_W4",
        "fb-hadoop",
        "homa",
        "step",
        f"{HOMA}/Facebook_HadoopDist_All.txt",
        "W4 of Homa",
        draw="lines",
    ),
    Entry(
        "BFC_W4_FB_Hadoop",
        "fb-hadoop",
        "bfc",
        "linear",
        f"{BFC}/w4.txt",
        "W4 of Homa with the sizes up to 100 bytes removed",
        draw="lines",
    ),
    Entry(
        "FB_Hadoop_ABM",
        "fb-hadoop",
        "abm",
        "linear",
        f"{ABM}/hadoop.csv",
        "tail up to 223 MB: a mean far from that of the other origins",
    ),
    Entry(
        "FB_Hadoop_all_parsimon",
        "fb-hadoop",
        "parsimon",
        "linear",
        f"{PARSIMON}/hadoop-all.txt",
        "read off figure 6 of Roy et al. (2015), all localities",
    ),
    Entry(
        "FB_Hadoop_intracluster_parsimon",
        "fb-hadoop-intracluster",
        "parsimon",
        "linear",
        f"{PARSIMON}/hadoop-intracluster.txt",
        "read off figure 6 of Roy et al. (2015)",
    ),
    Entry(
        "FB_Hadoop_intrarack_parsimon",
        "fb-hadoop-intrarack",
        "parsimon",
        "linear",
        f"{PARSIMON}/hadoop-intrarack.txt",
        "read off figure 6 of Roy et al. (2015)",
    ),
    Entry(
        "Google_AllRPC",
        "google-allrpc",
        "homa",
        "step",
        f"{HOMA}/Google_AllRPC.txt",
        "W3 of Homa",
        draw="steps",
    ),
    Entry(
        "BFC_W3_Google",
        "google-allrpc",
        "bfc",
        "linear",
        f"{BFC}/W3.txt",
        "W3 of Homa with the sizes up to 100 bytes removed: "
        "their mass lies between 101 and 110 bytes",
        draw="lines",
    ),
    Entry(
        "GoogleRPC2008",
        "google-rpc2008",
        "hpcc",
        "linear",
        f"{HPCC}/GoogleRPC2008.txt",
        "the sizes of W3 of Homa, joined by lines from zero",
        draw="lines",
    ),
    Entry(
        "Google_SearchRPC",
        "google-searchrpc",
        "homa",
        "step",
        f"{HOMA}/Google_SearchRPC.txt",
        "W2 of Homa",
        draw="steps",
    ),
    Entry(
        "Memcached",
        "memcached",
        "homa",
        "step",
        f"{HOMA}/FacebookKeyValue_Sampled.txt",
        "W1 of Homa: sizes to 15 bytes, then a generalised Pareto tail",
        draw="steps",
    ),
    Entry("FB_KV_HKUST", "fb-keyvalue", "hkust", "linear", f"{HKUST}/FB_CDF.txt"),
    Entry(
        "WebServer",
        "web-server",
        "homa",
        "step",
        f"{HOMA}/Facebook_WebServerDist_IntraCluster.txt",
        "within a cluster (Roy et al. 2015); the Web Server of Floodgate",
        draw="lines",
    ),
    Entry(
        "WebServer_all_parsimon",
        "web-server",
        "parsimon",
        "linear",
        f"{PARSIMON}/webserver-all.txt",
        "read off figure 6 of Roy et al. (2015), all localities",
    ),
    Entry(
        "WebServer_conweave",
        "web-server",
        "conweave",
        "linear",
        f"{CONWEAVE}/workloads/webserver.txt",
    ),
    Entry(
        "CacheFollower",
        "cache-follower",
        "homa",
        "step",
        f"{HOMA}/Facebook_CacheFollowerDist_IntraCluster.txt",
        "within a cluster (Roy et al. 2015)",
        draw="lines",
    ),
    Entry(
        "CacheFollower_all_parsimon",
        "cache-follower",
        "parsimon",
        "linear",
        f"{PARSIMON}/cachefollower-all.txt",
        "read off figure 6 of Roy et al. (2015), all localities",
    ),
    Entry(
        "CacheFollower_conweave",
        "cache-follower",
        "conweave",
        "linear",
        f"{CONWEAVE}/workloads/cachefollower.txt",
    ),
    Entry(
        "AliStorage2019",
        "alistorage",
        "hpcc",
        "linear",
        f"{HPCC}/AliStorage2019.txt",
        "distributed storage of Alibaba, 2019",
    ),
    Entry(
        "Solar2022",
        "solar",
        "alibaba",
        "linear",
        f"{CONWEAVE}/traffic_gen/Solar2022.txt",
        "storage RPCs of Alibaba, 2022",
    ),
    Entry(
        "DataMining",
        "data-mining",
        "vl2",
        "linear",
        f"{HKUST}/VL2_CDF.txt",
        "the data mining of VL2",
    ),
    Entry("DataMining_ABM", "data-mining", "abm", "linear", f"{ABM}/datamining.csv"),
    Entry(
        "DataMining_conweave",
        "data-mining",
        "conweave",
        "linear",
        f"{CONWEAVE}/workloads/mining.txt",
    ),
    Entry(
        "DataMining_pFabric",
        "data-mining",
        "pfabric",
        "step",
        f"{PFABRIC}/CDF_datamining.txt",
        "counted in full packets",
        unit=1460,
    ),
]


def read_points(path: Path) -> Points:
    """Read the points of a file in their order, without the heading."""
    with path.open() as file:
        rows = list(csv.reader(file))[1:]
    return [(int(float(size)), float(cdf)) for size, cdf in rows]


def tidy(points: Points, mode: str) -> Points:
    """Remove points that do not change the distribution.

    These are steps without flows, and all but the last of the points with the share 0.
    """
    if mode == "step":
        return [p for i, p in enumerate(points) if p[1] > (points[i - 1][1] if i else 0.0)]
    start = max((i for i, p in enumerate(points) if p[1] == 0.0), default=0)
    return points[start:]


def mean(points: Points, mode: str) -> float:
    """Return the exact mean in bytes. ``mode`` is ``step`` or ``linear``."""
    total = points[0][0] * points[0][1]
    for (s0, c0), (s1, c1) in pairwise(points):
        total += (c1 - c0) * (s1 if mode == "step" else (s0 + s1) / 2)
    return total


def quantile(points: Points, mode: str, u: float) -> float:
    """Return the size in bytes below which a share `u` of the flows lies."""
    i = bisect.bisect_left([c for _, c in points], u)
    if mode == "step" or i == 0:
        return points[i][0]
    (s0, c0), (s1, c1) = points[i - 1], points[i]
    return s0 + (s1 - s0) * (u - c0) / (c1 - c0)


def tolerance(size: float, share: float, byte: float = 0.9) -> float:
    """Return by how many bytes a percentile may differ: a share of the size, at least ``byte``."""
    return max(share * size, byte)


def cheapest_path(
    nodes: int, edges_into: Callable[[int], Iterable[tuple[int, float]]], limit: int
) -> list[int] | None:
    """Return the cheapest path from the first to the last node with at most ``limit`` nodes.

    ``edges_into(j)`` yields each edge to node j as its start and its cost. None is returned if
    there is no such path.
    """
    best: list[dict[int, tuple[float, int | None]]] = [{0: (0.0, None)}]
    best += [{} for _ in range(nodes - 1)]
    for j in range(1, nodes):
        for i, cost in edges_into(j):
            for count, (before, _) in best[i].items():
                known = best[j].get(count + 1)
                if count + 1 < limit and (known is None or before + cost < known[0]):
                    best[j][count + 1] = (before + cost, i)
    if not best[-1]:
        return None
    count = min(best[-1], key=lambda k: best[-1][k][0])
    path: list[int] = []
    node: int | None = nodes - 1
    while node is not None:
        path.append(node)
        node, count = best[node][count][1], count - 1
    return path[::-1]


def draw_steps(points: Points, share: float) -> Points | None:
    """Approximate a distribution by at most MAX_POINTS steps; return None if this is impossible.

    Each step replaces consecutive steps of the original and has their mean size. ``share`` is the
    relative tolerance of percentiles.
    """
    sizes, cdf = [p[0] for p in points], [0.0] + [p[1] for p in points]
    moment, square = [0.0], [0.0]
    for k, size in enumerate(sizes):
        mass = cdf[k + 1] - cdf[k]
        moment.append(moment[-1] + mass * size)
        square.append(square[-1] + mass * size * size)
    at = [(bisect.bisect_left(cdf, p, 1) - 1, p) for p in PERCENTILES]

    def size_of(i: int, j: int) -> int:
        return max(1, int((moment[j] - moment[i]) / (cdf[j] - cdf[i]) + 0.5))

    chosen: dict[tuple[int, int], int] = {}
    average = moment[-1]

    def edges_into(j: int) -> Iterable[tuple[int, float]]:
        bounds: tuple[int, int] | None = None
        for i in range(j - 1, -1, -1):
            for k, _ in at:
                if k == i:
                    room = tolerance(sizes[i], share, byte=1)
                    lo, hi = math.ceil(sizes[i] - room), math.floor(sizes[i] + room)
                    bounds = (max(bounds[0], lo), min(bounds[1], hi)) if bounds else (lo, hi)
            size = size_of(i, j)
            if bounds and bounds[0] > bounds[1]:
                return
            if bounds:
                size = min(max(size, bounds[0]), bounds[1])
            chosen[i, j] = size
            if sizes[i] * 4 < sizes[j - 1]:
                return
            if j == len(sizes) and size != sizes[-1]:
                continue  # Keep the largest size.
            mass = cdf[j] - cdf[i]
            spread = square[j] - square[i] - 2 * size * (moment[j] - moment[i]) + size * size * mass
            yield i, spread / (size * size) + (size - size_of(i, j)) ** 2 * mass / average**2

    path = cheapest_path(len(sizes) + 1, edges_into, MAX_POINTS + 1)
    if not path:
        return None
    drawn = [(chosen[i, j], cdf[j]) for i, j in pairwise(path)]
    # Rounding and tolerances changed the mean. Correct it by scaling the sizes in the tail, because
    # no percentile restricts them.
    tail = [k for k in range(1, len(drawn) - 1) if drawn[k - 1][1] >= 0.999]
    weight = sum(drawn[k][0] * (drawn[k][1] - drawn[k - 1][1]) for k in tail)
    scale = 1 + (average - mean(drawn, "step")) / weight
    for k in tail:
        drawn[k] = (round(drawn[k][0] * scale), drawn[k][1])
    return drawn


TAIL = [
    0.992,
    0.994,
    0.996,
    0.997,
    0.998,
    0.9985,
    0.999,
    0.9993,
    0.9995,
    0.9997,
    0.9998,
    0.9999,
    0.99993,
    0.99995,
    0.99997,
    0.99998,
    0.99999,
    0.999993,
    0.999995,
]
SHIFTS = [0.0, -0.004, 0.004, -0.008, 0.008]
BESIDE = [-0.01, 0.0, 0.01, 0.02]
FAR = [-0.1, -0.06, -0.03, -0.01, 0.0, 0.01, 0.03]


def bytes_below(points: Points, mode: str) -> Callable[[float], float]:
    """Return a function of p: the integral of the quantile function from 0 to p, in bytes."""
    cdf = [c for _, c in points]
    sums = [points[0][0] * cdf[0]]
    for (s0, c0), (s1, c1) in pairwise(points):
        sums.append(sums[-1] + (c1 - c0) * (s1 if mode == "step" else (s0 + s1) / 2))

    def below(p: float) -> float:
        i = bisect.bisect_left(cdf, p)
        if i == 0:
            return points[0][0] * p
        top = quantile(points, mode, p)
        base = top if mode == "step" else points[i - 1][0]
        return sums[i - 1] + (p - cdf[i - 1]) * (base + top) / 2

    return below


def line_nodes(points: Points, mode: str, share: float) -> list[tuple[float, int]]:
    """Return candidates (share, size) for the knots of an approximation by lines.

    They are at and between the percentiles. Their sizes are equal or close to the quantile.
    """
    finest = points[-1][1] - points[-2][1]
    extra = [p + d for p in PERCENTILES[:-1] for d in (0.001, 0.005, 0.008)]
    cuts = sorted(set(PERCENTILES + extra + [t for t in TAIL if 1 - t > finest]))
    lowest, highest = points[0][0], points[-1][0]
    nodes = [(0.0, lowest)]
    for cut in cuts:
        size = quantile(points, mode, cut)
        bounds = tolerance(size, share) if cut in PERCENTILES else 0.12 * size
        shifts = SHIFTS if cut in PERCENTILES else BESIDE if cut < 0.999 else FAR
        options = {max(lowest, min(highest, round(size * (1 + s)))) for s in shifts}
        nodes += [(cut, s) for s in sorted(options) if abs(s - size) <= bounds]
    return [*nodes, (1.0, highest)]


def draw_lines(points: Points, mode: str, share: float) -> Points | None:
    """Approximate a distribution by lines between at most MAX_POINTS knots; None if impossible.

    ``share`` is the relative tolerance of percentiles.
    """
    nodes = line_nodes(points, mode, share)
    shares = sorted(
        {i / 500 for i in range(1, 500)} | {1 - 10 ** (-k / 20) for k in range(40, 110)}
    )
    grid = [(p, quantile(points, mode, p)) for p in shares]
    places = [p for p, _ in grid]
    wanted = [(p, quantile(points, mode, p)) for p in PERCENTILES]
    below, average = bytes_below(points, mode), mean(points, mode)
    area = [below(c) for c, _ in nodes]
    edges: list[list[tuple[int, float, float]]] = [[] for _ in nodes]
    for j, (c1, s1) in enumerate(nodes):
        for i in range(j - 1, -1, -1):
            c0, s0 = nodes[i]
            if c1 - c0 > 0.1:
                break
            if s0 > s1 or c0 == c1:
                continue
            slope = (s1 - s0) / (c1 - c0)
            inside = wanted[
                bisect.bisect_right(PERCENTILES, c0) : bisect.bisect_left(PERCENTILES, c1)
            ]
            if any(
                abs(s0 + slope * (p - c0) - want) > tolerance(want, share) for p, want in inside
            ):
                continue
            cost, last = 0.0, c0
            for g in range(bisect.bisect_right(places, c0), bisect.bisect_right(places, c1)):
                p, size = grid[g]
                off = s0 + slope * (p - c0) - size
                cost += (p - last) * ((off / max(size, 20)) ** 2 + (off / average) ** 2)
                last = p
            bias = ((c1 - c0) * (s0 + s1) / 2 - (area[j] - area[i])) / average
            edges[j].append((i, cost, bias))
    best: tuple[Points, float] | None = None
    low: float | None = None
    high: float | None = None
    weight = 0.0

    def weighted(weight: float, j: int) -> Iterable[tuple[int, float]]:
        return ((i, cost + weight * bias) for i, cost, bias in edges[j])

    for _ in range(12):
        path = cheapest_path(len(nodes), partial(weighted, weight), MAX_POINTS)
        if not path:
            return None
        drawn = [(nodes[n][1], nodes[n][0]) for n in path]
        bias = mean(drawn, "linear") / average - 1
        if best is None or abs(bias) < abs(best[1]):
            best = (drawn, bias)
        if abs(bias) < 0.0007:
            break
        low, high = (weight, high) if bias > 0 else (low, weight)
        if low is None or high is None:
            weight = weight * 4 if weight else (1e-4 if bias > 0 else -1e-4)
        else:
            weight = (low + high) / 2
    assert best is not None
    return keep_mean(best[0], points, mode)


def keep_mean(drawn: Points, points: Points, mode: str) -> Points:
    """Move inner knots until the mean equals that of the original, as far as percentiles allow."""
    goal = mean(points, mode)
    wanted = [(p, quantile(points, mode, p)) for p in PERCENTILES]

    def fits(k: int) -> bool:
        (c0, s0), (c1, s1), (c2, s2) = ((drawn[n][1], drawn[n][0]) for n in (k - 1, k, k + 1))
        for p, want in wanted:
            if c0 < p < c2:
                if p <= c1:
                    got = s0 + (s1 - s0) * (p - c0) / (c1 - c0)
                else:
                    got = s1 + (s2 - s1) * (p - c1) / (c2 - c1)
                if abs(got - want) > tolerance(want, 0.0097):
                    return False
        room = max(1, (0.03 if c1 < 0.999 else 0.1) * s1)
        return s0 <= s1 <= s2 and abs(s1 - quantile(points, mode, c1)) <= room

    for step in (0.002, 0.001, 0.0005, 0.0002, 0.0001) * 8:
        for k in range(len(drawn) - 2, 0, -1):
            error = goal - mean(drawn, "linear")
            if abs(error) < 2e-5 * goal:
                return drawn
            weight = (drawn[k + 1][1] - drawn[k - 1][1]) / 2
            size, cut = drawn[k]
            move = min(abs(error) / weight, max(1, step * size))
            drawn[k] = (size + (1 if error > 0 else -1) * int(move + 0.5), cut)
            if not fits(k):
                drawn[k] = (size, cut)
    return drawn


def failures(drawn: Points, drawn_mode: str, points: Points, mode: str) -> list[str]:
    """Return the errors of an approximation: its mean, the order of sizes, and percentiles."""
    wrong = []
    off = mean(drawn, drawn_mode) / mean(points, mode) - 1
    if abs(off) > 0.001:
        wrong.append(f"mean off by {100 * off:.3f} %")
    if sorted(drawn) != drawn or drawn[-1] != points[-1]:
        wrong.append("sizes fall, or the largest is not kept")
    for p in PERCENTILES:
        want, got = quantile(points, mode, p), quantile(drawn, drawn_mode, p)
        if abs(got - want) > max(1.0, 0.01 * want):
            wrong.append(f"p{100 * p:g} is {got:.1f} instead of {want:.1f}")
    return wrong


def draw(entry: Entry, points: Points) -> tuple[Points, str]:
    """Return the points to write for an entry, and their mode. Exit if no approximation fits."""
    if entry.draw == "points":
        return points, entry.mode
    mode = "step" if entry.draw == "steps" else "linear"
    wrong = ["no points are near enough"]
    for share in (0.004, 0.006, 0.008, 0.0095):
        drawn = (
            draw_steps(points, share) if mode == "step" else draw_lines(points, entry.mode, share)
        )
        if not drawn:
            continue
        wrong = failures(drawn, mode, points, entry.mode)
        if not wrong:
            return drawn, mode
    raise SystemExit(f"{entry.name}@{entry.origin}: {'; '.join(wrong)}")


def write(entry: Entry, points: Points, original: Points, mode: str, out: Path) -> None:
    """Write one file in Backwater's format."""
    lines = [f"name = {entry.name}", f"origin = {entry.origin}"]
    lines.append("unit = bytes" if entry.unit == 1 else f"unit = {entry.unit} bytes")
    lines.append(f"interpolation = {mode}")
    if mode != entry.mode:
        lines.append(f"origin-interpolation = {entry.mode}")
    lines.append(f"mean = {mean(original, entry.mode):.1f}")
    lines.append(f"source = {entry.source}")
    if entry.note:
        lines.append(f"note = {entry.note}")
    if entry.draw != "points":
        lines.append(f"redrawn = from {len(original)} points")
    lines.append("")
    lines.append("# size cdf")
    lines += [f"{size // entry.unit} {cdf:.12g}" for size, cdf in points]
    (out / f"{entry.name}@{entry.origin}.dist").write_text("\n".join(lines) + "\n")


def main(points_dir: str, out_dir: str) -> None:
    """Write every distribution."""
    for entry in ENTRIES:
        original = tidy(read_points(Path(points_dir) / f"{entry.points}.csv"), entry.mode)
        points, mode = draw(entry, original)
        write(entry, points, original, mode, Path(out_dir))
        sys.stderr.write(f"{entry.name}@{entry.origin}: {len(original)} -> {len(points)} {mode}, ")
        sys.stderr.write(f"mean {mean(original, entry.mode):.1f} -> {mean(points, mode):.1f}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2])
