"""Draws random scenarios: small networks, all traffic patterns, and keys that change the model.

They are for comparisons of two versions. Each lasts a fraction of a millisecond. Each key occurs so
often that 200 of them cover the keys of a scenario.
"""

from __future__ import annotations

import random

SIZES = ("web-search@hpcc", "fb-hadoop@hpcc", "google-allrpc@bfc")
RATES = ("10Gbps", "25Gbps", "100Gbps", "400Gbps")
DELAYS = ("100ns", "600ns", "1us", "1.5us", "5us")

CHOICES = (
    "scheme.path = 'packet'",
    "scheme.mtu = '4096B'",
    "scheme.mtu = '500B'",
    "scheme.queues = 4",
    "scheme.queues = 32",
    "scheme.pfc.pause = 'quanta'",
    "scheme.pfc.xoff = 0.5",
    "scheme.go-back-n.timeout = '200us'",
    "scheme.nic.host_delay = '1us'",
    "switch.buffer = '2MB'",
    "switch.buffer = '20MB'",
    "run.fct = 'acked'",
    "run.probe = '1us'",
    "run.warmup = '5us'",
)


def _link(draw: random.Random, loss: bool = False) -> str:
    lost = ", loss = 0.002" if loss else ""
    return f'{{ rate = "{draw.choice(RATES[1:])}", delay = "{draw.choice(DELAYS)}"{lost} }}'


def _topology(draw: random.Random) -> tuple[list[str], int]:
    """Return the lines of a random topology, and its number of hosts."""
    link, uplink = _link(draw, draw.random() < 0.15), _link(draw)
    kind = draw.choice(
        ("star", "dumbbell", "leaf-spine", "clos", "fat-tree", "dual-homed", "rail-optimised")
    )
    lines = ["[topology]", f'kind = "{kind}"', f"link = {link}"]
    if kind == "star":
        hosts = draw.randint(3, 12)
        lines += [f"hosts = {hosts}"]
    elif kind == "dumbbell":
        left, right = draw.randint(1, 6), draw.randint(1, 6)
        hosts = left + right
        lines += [f"left = {left}", f"right = {right}", f"core = {uplink}"]
    elif kind == "leaf-spine":
        leaves, each = draw.randint(2, 4), draw.randint(1, 4)
        hosts = leaves * each
        lines += [f"leaves = {leaves}", f"hosts_per_leaf = {each}"]
        lines += [f"spines = {draw.randint(1, 3)}", f"uplink = {uplink}"]
    elif kind == "clos":
        hosts = 2 * 2 * 2
        lines += ["pods = 2", "tors_per_pod = 2", "aggs_per_pod = 2", "cores = 4"]
        lines += ["hosts_per_tor = 2", f"agg_link = {uplink}", f"core_link = {uplink}"]
    elif kind == "fat-tree":
        hosts = 16
        lines += ["k = 4", f"fabric_link = {uplink}"]
    elif kind == "dual-homed":
        hosts = 8
        lines += ["pairs = 2", f"hosts = {hosts}", "aggs = 2", f"uplink = {uplink}"]
    else:
        hosts = 8
        lines += ["servers = 2", "gpus_per_server = 4", "spines = 1", f"uplink = {uplink}"]
        lines += ['scale_up = { rate = "800Gbps", delay = "500ns" }']
    return lines, hosts


def _traffic(draw: random.Random, name: str, hosts: int) -> list[str]:
    """Return the lines of a random table ``[[traffic]]``."""
    pattern = draw.choice(("uniform", "incast", "permutation", "all-to-all", "between", "list"))
    lines = ["", "[[traffic]]", f'name = "{name}"', f'pattern = "{pattern}"']
    if draw.random() < 0.3:
        lines += [f"class = {draw.randint(0, 2)}"]
    window = 'window = ["0us", "150us"]'
    if pattern == "uniform":
        load = f'load = {{ fraction = {draw.choice((0.2, 0.5, 0.9))}, of = "hosts" }}'
        lines += [f'sizes = "{draw.choice(SIZES)}"', load, window]
    elif pattern == "incast":
        lines += [f"degree = {draw.randint(1, 2 * hosts)}", "with_replacement = true"]
        lines += [f'total = "{draw.choice(("20KB", "200KB", "1MB"))}"']
        lines += ['every = "50us"', window] if draw.random() < 0.7 else ['start = "10us"']
    elif pattern == "between":
        lines += ["senders = [0, 1]", f"receivers = [{hosts - 1}]", 'size = "100KB"']
        lines += [f"together = {str(draw.random() < 0.5).lower()}", 'every = "20us"', window]
    elif pattern == "list":
        flows = [
            f'{{ src = {src}, dst = {dst}, bytes = "{draw.choice(("1B", "3KB", "400KB"))}", '
            f'start = "{draw.randint(0, 90)}us" }}'
            for src, dst in (draw.sample(range(hosts), 2) for _ in range(draw.randint(1, 6)))
        ]
        lines += ["flows = [", *(f"    {flow}," for flow in flows), "]"]
    else:
        lines += [f'size = "{draw.choice(("2KB", "80KB"))}"']
    return lines


def _workload(draw: random.Random) -> list[str]:
    """Return the lines of a random table ``[[workload]]``."""
    collective = draw.choice(("all-reduce", "all-gather", "reduce-scatter", "all-to-all"))
    lines = ["", "[[workload]]", 'name = "job"', f'collective = "{collective}"']
    lines += [f'size = "{draw.choice(("64KB", "400KB"))}"', f"repeats = {draw.randint(1, 2)}"]
    if draw.random() < 0.3:
        lines += ['queue_pairs = "per-channel"']
    return lines


def scenario(draw: random.Random, name: str) -> str:
    """Draw a scenario and return its TOML text."""
    topology, hosts = _topology(draw)
    chosen = draw.sample(CHOICES, draw.randint(0, 3))
    head = [f'name = "{name}"', f"seed = {draw.randint(1, 1 << 30)}"]
    dotted = {choice.partition(" = ")[0]: choice for choice in chosen}
    body = [*topology]
    if draw.random() < 0.15:
        body += [
            "",
            "[[topology.failures]]",
            "random = 1",
            'among = "all"',
            'at = "40us"',
            'until = "120us"',
        ]
    sources = draw.randint(1, 3)
    for number in range(sources):
        body += _traffic(draw, f"source{number}", hosts)
    if draw.random() < 0.2:
        body += _workload(draw)
    text = "\n".join([*head, "run.until = '2ms'", *dotted.values(), "", *body])
    return text.replace("'", '"') + "\n"
