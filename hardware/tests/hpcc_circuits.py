"""Tests of the circuits of HPCC inside the logic simulator; `test_hpcc.py` starts them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as Path_
from typing import Any

from hypothesis import strategies as st

from bench import Bench, circuit_test, values
from hpcc_models import (
    RATES_MBPS,
    SPEEDS,
    WORD,
    Ack,
    Constants,
    Egress,
    Flow,
    Scheduler,
    entries,
    reciprocal,
)
from stimuli import EVENTS, check, follow_long

LATENCY = 14
"""Cycles from the last record of an ACK to its window and rate."""


@circuit_test
async def table(dut: Any) -> None:
    """Check both ports at each entry, before and after it, and at random, three cycles later."""
    [ppm] = values(dut, "EPSILON_PPM")
    keys, top = entries(ppm), (1 << 22) - 1
    rng = random.Random(3)
    numbers = [n for key in keys for n in (key - 1, key, key + 1) if 0 < n <= top]
    numbers += [1 << bit for bit in range(22)] + [top, top, top]
    numbers += [rng.randint(1, top) >> rng.randint(0, 21) or 1 for _ in range(EVENTS)]
    others = numbers[::-1]
    bench = Bench(dut)
    for nth in range(len(numbers) + 3):
        index = min(nth, len(numbers) - 1)
        await bench.advance({"a_number": numbers[index], "b_number": others[index]})
        if nth >= 3:
            for port, asked in (("a", numbers[nth - 3]), ("b", others[nth - 3])):
                found = bench.output(f"{port}_reciprocal")
                assert found == reciprocal(asked, ppm), f"1/{asked} at port {port}"


@circuit_test
async def egress(dut: Any) -> None:
    """Check fields for random packets: wrap-around, full queues, full fields, other packets."""
    names = ("HOPS", "QLEN_BITS", "UNIT_SHIFT")
    hops, qlen_bits, shift = values(dut, *names)
    bench = Bench(dut, ["field_out", "stamped", "full"])
    unit = 80 << shift
    most = unit << qlen_bits
    queue = st.one_of(
        st.sampled_from([0, unit - 1, unit, most - unit, most - 1, most, (1 << 32) - 1]),
        st.integers(0, 200_000),
    )
    now = st.one_of(st.sampled_from([0, 1, (1 << 24) - 1]), st.integers(0, (1 << 24) - 1))
    size = st.one_of(st.sampled_from([0, 60, 127, 128, 1048, (1 << 14) - 1]), st.integers(0, 9000))
    step = st.tuples(
        st.booleans(), size, st.booleans(), queue, now, st.integers(0, 15), st.integers(0)
    )

    async def follow(example: Any) -> None:
        switch_id, speed, offset, steps = example
        model = Egress(switch_id, speed, hops, qlen_bits, shift)
        await bench.reset({"packet": 0, "switch_id": switch_id, "speed": speed})
        # Large packets bring the counter near its maximum. The reset has defined its bits.
        for _ in range(offset):
            await bench.cycle({"packet": 1, "size": (1 << 14) - 1, "has_int": 0, "qlen_bytes": 0})
            model.packet(0, (1 << 14) - 1, 0, None)
        for nth, (packet, bytes_, has_int, qlen, now_ns, had, content) in enumerate(steps):
            field_ = had << 64 * hops + 12 | content % (1 << 64 * hops + 12)
            inputs = {"packet": int(packet), "size": bytes_, "has_int": int(has_int)}
            inputs |= {"qlen_bytes": qlen, "now_ns": now_ns, "field": field_}
            seen = await bench.cycle(inputs)
            wanted = None
            if packet:
                wanted = model.packet(now_ns, bytes_, qlen, field_ if has_int else None)
            at = ("cycle", nth, inputs)
            assert seen["field_out"] == (field_ if wanted is None else wanted), at
            assert seen["stamped"] == (wanted is not None), at
            assert seen["full"] == (packet and has_int and wanted is None), at
        assert int(dut.sent_bytes.value) == model.sent_bytes % (1 << 27 + shift)

    def drawn(rng: random.Random, count: int) -> Any:
        steps = [
            (
                rng.random() < 0.9,
                rng.choice((60, 1048, rng.randint(0, (1 << 14) - 1))),
                rng.random() < 0.8,
                rng.choice((0, rng.randint(0, 100_000), rng.randint(0, (1 << 32) - 1))),
                rng.randint(0, (1 << 24) - 1),
                rng.randint(0, hops + 1),
                rng.getrandbits(64 * hops + 12),
            )
            for _ in range(count)
        ]
        return rng.getrandbits(12), rng.getrandbits(20 - qlen_bits), 0, steps

    identifier = st.integers(0, (1 << 12) - 1)
    speed = st.integers(0, (1 << 20 - qlen_bits) - 1)
    short = st.lists(step, min_size=1, max_size=60)
    await follow_long(follow, drawn)
    await check(st.tuples(identifier, speed, st.just(0), short), follow)
    # 2^27 bytes: the counter wraps.
    steps = [(True, 16_383, True, 80 * nth, nth, nth % 5, 7) for nth in range(40)]
    await follow((1, 2, (1 << 27 + shift) // 16_383 - 20, steps))


@dataclass
class Cycle:
    """Inputs of the sender in one cycle, and the start or the ACK that is complete with them."""

    inputs: dict[str, int]
    starts: int | None = None
    ends: Ack | None = None


UPDATE = ("update_flow", "update_window", "update_rate")
HEADER = ("flow", "hops", "path", "seq", "snd_nxt")


def cycles_of(ack: Ack, gap: int = 0) -> Iterator[Cycle]:
    """Return the cycles in which the records of an ACK enter, with idle cycles between them."""
    hops = len(ack.records)
    header = {"flow": ack.flow, "hops": hops, "path": ack.path}
    header |= {"seq": ack.seq, "snd_nxt": ack.snd_nxt, "start": 0, "valid": 1}
    for hop, record in enumerate(ack.records):
        ends = ack if hop + 1 == hops else None
        yield Cycle({**header, "hop": hop, "record": record}, ends=ends)
        for _ in range(gap):
            yield Cycle({"valid": 0, "start": 0, "flow": 0})


def start_of(flow: int) -> Cycle:
    """Return the cycle in which a flow starts."""
    return Cycle({"start": 1, "valid": 1, "flow": flow, "hop": 0, "hops": 1}, starts=flow)


async def follow_sender(dut: Any, constants: Constants, cycles: Sequence[Cycle]) -> None:
    """Feed the sender, and compare each window and rate, their cycles, and the final state."""
    bench = Bench(dut, ["update"])
    flows: dict[int, Flow] = {}
    await bench.reset({**constants.inputs(), "start": 0, "valid": 0})
    wanted: dict[int, tuple[int, int, int]] = {}
    idle = [Cycle({"valid": 0, "start": 0})] * (LATENCY + 1)
    for nth, cycle in enumerate((*cycles, *idle)):
        seen = None
        if (await bench.cycle(cycle.inputs))["update"]:
            seen = tuple(map(bench.output, UPDATE))
        assert seen == wanted.pop(nth, None), f"cycle {nth}"
        if cycle.starts is not None:
            flows[cycle.starts] = Flow(constants)
            wanted[nth + LATENCY] = (cycle.starts, constants.most, constants.line)
        elif cycle.ends is not None:
            changed = flows[cycle.ends.flow].ack(cycle.ends)
            if changed is not None:
                wanted[nth + LATENCY] = (cycle.ends.flow, *changed)
    assert not wanted
    for number, flow in flows.items():
        found = {
            "U": int(dut.measure_inflight.utilisations[number].value),
            "W^c": int(dut.compute_wind.references[number].value),
            "incStage": int(dut.compute_wind.stages[number].value),
            "lastUpdateSeq": int(dut.compute_wind.last_updates[number].value),
            "path": int(dut.link_records.paths[number].value),
        }
        state = (flow.utilisation, flow.reference, flow.stage, flow.last_update)
        path = flow.path[0] << 12 | flow.path[1]
        assert tuple(found.values()) == (*state, path), f"flow {number}: {found}"
        for hop in range(flow.path[0]):
            link = int(dut.link_records.links[hop * int(dut.FLOWS.value) + number].value)
            assert link == flow.links[hop], f"flow {number}, link {hop}"


def constants_of(
    rate_mbps: int, base_rtt_ns: int, epsilon_ppm: int, qlen_bits: int, **others: int
) -> Constants:
    """Return the constants of a NIC of this rate: eta 0.95, maxStage 5, W_AI 80 bytes."""
    held = rate_mbps * base_rtt_ns
    rates = RATES_MBPS[: SPEEDS[qlen_bits]]
    rates += (1_000,) * (16 - len(rates))
    constants = Constants(
        base_rtt_ns=base_rtt_ns,
        eta=996_147,
        per_eta=1_103_764,
        max_stage=5,
        wai=80 << 6,
        least=max(held * 64 // 8_000_000, 64),
        most=min(max(held * 64 // 8_000, 64), WORD),
        line=rate_mbps * (1 << 20) // 8_000,
        queue_factors=tuple(min((640_000 << 32) // (rate * base_rtt_ns), WORD) for rate in rates),
        sent_factors=tuple(min((1_024_000 << 16) // rate, WORD) for rate in rates),
        epsilon_ppm=epsilon_ppm,
        qlen_bits=qlen_bits,
    )
    return replace(constants, **others)


@dataclass
class Path:
    """The counters of the links that a flow crosses, for stimuli."""

    stamps: list[int] = field(default_factory=lambda: [0] * 5)
    sent: list[int] = field(default_factory=lambda: [0] * 5)

    def record(self, hop: int, step: Sequence[int], qlen_bits: int) -> int:
        """Advance a link by (ns, units, queue, speed) and return its record."""
        elapsed, units, queue, speed = step
        self.stamps[hop] = (self.stamps[hop] + elapsed) % (1 << 24)
        self.sent[hop] = (self.sent[hop] + units) % (1 << 20)
        speed %= 1 << 20 - qlen_bits
        head = (speed << 24 | self.stamps[hop]) << 20 | self.sent[hop]
        return head << qlen_bits | min(queue, (1 << qlen_bits) - 1)


@circuit_test
async def sender(dut: Any) -> None:
    """Check windows and rates for random ACKs: corners of each field, new paths, gaps, restarts."""
    flows, qlen_bits, hops, ppm = values(dut, "FLOWS", "QLEN_BITS", "HOPS", "EPSILON_PPM")
    ends = (1 << 24) - 1
    nanoseconds = st.one_of(
        st.sampled_from([0, 0, 1, 80, (1 << 22) - 1, 1 << 22, (1 << 22) + 4, ends]),
        # T of the settings below.
        st.sampled_from([16, 500, 9_000, 13_000, 100_000]),
        st.integers(0, 30_000),
    )
    units = st.one_of(st.sampled_from([0, 1, (1 << 20) - 1]), st.integers(0, 3_000))
    queue = st.one_of(st.sampled_from([0, 1, (1 << qlen_bits) - 1]), st.integers(0, 4_000))
    speed = st.one_of(st.just(2), st.integers(0, 15))
    link = st.tuples(nanoseconds, units, queue, speed)
    step = st.tuples(
        st.integers(0, flows - 1),
        st.lists(link, min_size=1, max_size=hops),
        # Most ACKs have the path of the last one, and a sequence number around lastUpdateSeq.
        st.sampled_from([0, 0, 0, 0, 0, 0, 1, (1 << 12) - 1]),
        st.sampled_from([0, 1, 2, -1, 1000, 1 << 31, (1 << 31) - 1]),
        st.sampled_from([0, 0, 0, 1, 3]),
        st.sampled_from([False] * 9 + [True]),
        st.booleans(),
    )
    setting = st.sampled_from(
        [
            constants_of(100_000, 13_000, ppm, qlen_bits),
            constants_of(25_000, 9_000, ppm, qlen_bits, max_stage=0),
            constants_of(100_000, 16, ppm, qlen_bits, max_stage=1),
            constants_of(1_600_000, ends, ppm, qlen_bits, wai=0, least=64),
            constants_of(1_000, 500, ppm, qlen_bits, wai=WORD, per_eta=(1 << 27) - 1, eta=0),
            constants_of(400_000, 100_000, ppm, qlen_bits, max_stage=1000, eta=1 << 20, wai=1),
            constants_of(100_000, 13_000, ppm, qlen_bits, least=6_400, most=6_400),
        ]
    )
    # If the last element of a step is true, the ACK has as many links as the last ACK of its flow.
    example = st.tuples(setting, st.lists(step, min_size=1, max_size=40))

    async def follow(example: Any) -> None:
        constants, steps = example
        cycles = [start_of(flow) for flow in range(flows)]
        paths = [Path() for _ in range(flows)]
        counts = [1] * flows
        update = [0] * flows
        for number, links, path, ahead, gap, restarts, keeps in steps:
            if restarts:
                cycles.append(start_of(number))
            used = links if not keeps else [links[n % len(links)] for n in range(counts[number])]
            counts[number] = len(used)
            records = [paths[number].record(hop, of, qlen_bits) for hop, of in enumerate(used)]
            seq = (update[number] + ahead) % (1 << 32)
            update[number] = (seq + 3_000) % (1 << 32) if ahead > 1 else update[number]
            ack = Ack(number, path, tuple(records), seq, update[number])
            cycles += cycles_of(ack, gap)
        await follow_sender(dut, constants, cycles)

    def drawn(rng: random.Random, count: int) -> Any:
        gbps, base_rtt = rng.choice(((100, 13_000), (25, 9_000), (400, 6_000), (100, 2_000)))
        constants = constants_of(gbps * 1_000, base_rtt, ppm, qlen_bits)
        if rng.random() < 0.3:
            constants = replace(constants, wai=rng.randint(0, 1 << 14), max_stage=rng.randint(0, 3))
        code = RATES_MBPS.index(gbps * 1_000)
        cycles = 0
        steps: list[Any] = []
        size = rng.randint(1, hops)
        load = rng.choice((0.3, 0.9, 1.0))
        while cycles < count:
            number = rng.choice((0, 0, rng.randrange(flows)))
            links = []
            for _ in range(size):
                elapsed = rng.randint(0, 3_000)
                sent = int(elapsed * gbps / 8 * rng.uniform(load * 0.8, load) / 128)
                queued = rng.choice((0, 0, rng.randint(0, 300), rng.randint(0, 3_000)))
                links.append((elapsed, sent, queued, code))
            path = 5 if rng.random() < 0.97 else rng.getrandbits(12)
            ahead = rng.choice((0, 0, 1_000, 1_000, 5_000))
            steps.append((number, links, path, ahead, 0, rng.random() < 0.005, False))
            cycles += size
        return constants, steps

    await follow_long(follow, drawn)
    await check(example, follow)


@circuit_test
async def records_that_do_not_count(dut: Any) -> None:
    """Check that telemetry without records, or with more than fit, changes nothing."""
    constants = constants_of(100_000, 13_000, int(dut.EPSILON_PPM.value), 16)
    ack = Ack(1, 3, tuple(5 << 60 | nth for nth in range(5)), 1_000, 4_000)
    cycles = [start_of(0), start_of(1), *cycles_of(ack)]
    for hops in (0, 6, 15):
        wrong = {"start": 0, "valid": 1, "flow": 1, "hops": hops, "path": 3, "record": 1 << 60}
        cycles += [Cycle({**wrong, "hop": hop}) for hop in range(5)]
    cycles += [*cycles_of(ack), start_of(1)]
    await follow_sender(dut, constants, cycles)


@circuit_test
async def utilisation_at_the_target(dut: Any) -> None:
    """Check that the window is multiplied if U equals eta (incStage 0), and not if U is lower."""
    [ppm] = values(dut, "EPSILON_PPM")
    for eta in (1 << 20, (1 << 20) + 1):
        constants = constants_of(100_000, 100_000, ppm, 16, eta=eta, per_eta=1 << 20)
        path, cycles = Path(), [start_of(0)]
        for nth in range(2):
            # A queue of B*T, and a time that is too short to change U, which starts at 1.
            record = path.record(0, (1, 0, 15_630, 2), 16)
            cycles += cycles_of(Ack(0, 3, (record,), 1_000 * nth + 1_000, 1_000))
        await follow_sender(dut, constants, cycles)
        assert int(dut.measure_inflight.utilisations[0].value) == 1 << 20
        assert int(dut.compute_wind.stages[0].value) == (eta > 1 << 20)


@circuit_test
async def sender_trace(dut: Any) -> None:
    """Check every window and rate of a trace of the dataplane, in order, and the final state."""
    config: dict[str, list[int]] = {}
    cycles: list[Cycle] = []
    wanted: list[tuple[int, int, int]] = []
    state: dict[int, tuple[int, int]] = {}
    slots: dict[int, int] = {}
    last: dict[int, tuple[int, int]] = {}
    for line in Path_(os.environ["HARDWARE_TRACE"]).read_text(encoding="utf-8").splitlines():
        kind, *words = line.split()
        if kind == "config":
            config[words[0]] = [int(word) for word in words[1:]]
        elif kind == "start":
            slot = slots[int(words[0])] = len(slots)
            cycles.append(start_of(slot))
            wanted.append((slot, config["most"][0], config["line"][0]))
            last[slot] = wanted[-1][1:]
        elif kind == "ack":
            flow, seq, snd_nxt, window, rate = (int(word) for word in words[1:6])
            telemetry = bytes.fromhex(words[7])
            header = int.from_bytes(telemetry[:2], "big")
            records = [telemetry[n : n + 8] for n in range(2, len(telemetry), 8)]
            numbers = tuple(int.from_bytes(record, "big") for record in records)
            assert header >> 12 == len(numbers)
            ack = Ack(slots[flow], header & 0xFFF, numbers, seq, snd_nxt)
            cycles += cycles_of(ack)
            wanted.append((ack.flow, window, rate))
        elif kind == "flow":
            state[int(words[0])] = (int(words[1]), int(words[2]))
    assert len(slots) <= int(dut.FLOWS.value)
    bench = Bench(dut, ["update"])
    names = ("base_rtt_ns", "per_base_rtt", "eta", "per_eta", "max_stage", "wai", "least", "most")
    inputs = {name: config[name][0] for name in (*names, "line")}
    for name in ("queue_factors", "sent_factors"):
        inputs[name] = sum(factor << 32 * code for code, factor in enumerate(config[name]))
    assert config["epsilon_ppm"][0] == int(dut.EPSILON_PPM.value)
    assert config["entries"][0] == int(dut.table_.ENTRIES.value)
    await bench.reset({**inputs, "start": 0, "valid": 0})
    found: list[tuple[int, int, int]] = []
    for cycle in (*cycles, *[Cycle({"valid": 0, "start": 0})] * (LATENCY + 1)):
        if (await bench.cycle(cycle.inputs))["update"]:
            flow, window, rate = map(bench.output, UPDATE)
            found.append((flow, window, rate))
    # The circuit sends no update for an ACK that changes nothing; the dataplane keeps its values.
    nth = 0
    for flow, window, rate in wanted:
        if nth < len(found) and found[nth] == (flow, window, rate):
            last[flow] = (window, rate)
            nth += 1
        else:
            assert last.get(flow) == (window, rate), f"event {nth} of flow {flow}"
    assert nth == len(found)
    for number, (utilisation, reference) in state.items():
        slot = slots[number]
        assert int(dut.measure_inflight.utilisations[slot].value) == utilisation
        assert int(dut.compute_wind.references[slot].value) == reference


@circuit_test
async def egress_trace(dut: Any) -> None:
    """Check the telemetry that the busiest port of a trace of the dataplane writes."""
    lines = Path_(os.environ["HARDWARE_TRACE"]).read_text(encoding="utf-8").splitlines()
    packets = [line.split()[1:] for line in lines if line.startswith("leave ")]
    ports: dict[tuple[str, str], list[list[str]]] = {}
    for switch, port, *packet in packets:
        ports.setdefault((switch, port), []).append(packet)
    hosts = int(os.environ["HARDWARE_HOSTS"])
    bench = Bench(dut, ["field_out", "stamped", "full"])
    for (switch, port), sent in sorted(ports.items(), key=lambda item: -len(item[1])):
        identifier = hosts + int(switch)
        await bench.reset({"packet": 0, "switch_id": identifier, "speed": 2})
        for now, size, qlen, before, after in sent:
            has_int = before != "-"
            inputs = {"packet": 1, "size": int(size), "qlen_bytes": int(qlen)}
            inputs |= {"now_ns": int(now) % (1 << 24), "has_int": int(has_int)}
            if has_int:
                inputs["field"] = int(before, 16)
            else:
                inputs["field"] = 0
            seen = await bench.cycle(inputs)
            assert seen["stamped"] == has_int
            if has_int:
                at = ("switch", switch, port, now)
                assert seen["field_out"] == int(after, 16), at


@circuit_test
async def scheduler(dut: Any) -> None:
    """Check each packet for random starts, windows, rates, ACKs and NAKs, also in one cycle."""
    flows, overhead, mtu, cycle_ns = values(dut, "FLOWS", "OVERHEAD", "MTU", "CYCLE_NS")
    bench = Bench(dut, ["send", "start_ready"])
    flow = st.integers(0, flows - 1)
    starts = st.tuples(flow, st.sampled_from([1, mtu - 1, mtu, mtu + 1, 20 * mtu, WORD]))
    window = st.sampled_from([64, mtu << 6, (mtu << 6) + 64, (mtu << 6) - 1, 5 * mtu << 6, WORD])
    rate = st.sampled_from([0, 1, 1 << 14, 1 << 20, 25 << 17, 25 << 19, WORD])
    updates = st.tuples(flow, window, rate)
    # Flow, quarters of the data in flight that are acknowledged, and true for a NAK.
    acks = st.tuples(flow, st.integers(0, 4), st.sampled_from([False, False, True]))
    none = st.none()
    step = st.tuples(
        st.one_of(none, none, starts),
        st.one_of(none, none, updates),
        st.one_of(none, acks),
        st.booleans(),
    )

    async def follow(steps: Any) -> None:
        model = Scheduler(flows, cycle_ns, mtu, overhead)
        await bench.reset({"start": 0, "update": 0, "ack": 0, "nak": 0, "tx_ready": 0})
        # The furthest byte that was sent of each flow: an ACK may be of a packet before a NAK.
        furthest = [0] * flows
        first = [(None, (number, 5 * mtu << 6, 25 << 19), None, False) for number in range(flows)]
        for nth, (start, update, acked, ready) in enumerate((*first, *steps)):
            ack = None
            if acked is not None:
                number, quarters, nak = acked
                of = model.turns[number]
                if of.started and not of.fresh:
                    more = (furthest[number] - of.acked) * quarters // 4
                    ack = (number, of.acked + max(more, 0), nak)
            inputs = {"start": int(start is not None), "update": int(update is not None)}
            inputs |= {"ack": int(ack is not None), "tx_ready": int(ready), "nak": 0}
            if start is not None:
                inputs |= {"start_flow": start[0], "start_bytes": start[1]}
            if update is not None:
                inputs |= dict(zip(UPDATE, update, strict=True))
            if ack is not None:
                inputs |= {"ack_flow": ack[0], "ack_seq": ack[1], "nak": int(ack[2])}
            found = await bench.cycle(inputs)
            assert found["start_ready"] == (ack is None)
            seen = None
            if found["send"]:
                seen = tuple(map(bench.output, ("send_flow", "send_seq", "send_bytes")))
            wanted = model.step(start, update, ack, ready)
            assert seen == wanted, f"cycle {nth}: {inputs}"
            if wanted is not None:
                furthest[wanted[0]] = max(furthest[wanted[0]], wanted[1] + wanted[2])
            if start is not None and ack is None:
                furthest[start[0]] = 0
        for number, turn in enumerate(model.turns):
            if turn.started and not turn.fresh:
                assert int(dut.sent[number].value) == turn.sent
                assert int(dut.credits[number].value) == turn.credit

    def drawn(rng: random.Random, count: int) -> Any:
        def some(chance: float, value: Any) -> Any:
            return value if rng.random() < chance else None

        def number() -> int:
            return rng.randrange(flows)

        windows = (mtu << 6, 3 * mtu << 6, 20 * mtu << 6, rng.randint(64, 1 << 22))
        rates = (1 << 17, 25 << 17, 25 << 19, rng.randint(0, 25 << 19))
        sizes = (1, mtu - 1, mtu, 10 * mtu, WORD)
        return [
            (
                some(0.05, (number(), rng.choice(sizes))),
                some(0.1, (number(), rng.choice(windows), rng.choice(rates))),
                some(0.2, (number(), rng.randint(0, 4), rng.random() < 0.1)),
                rng.random() < 0.9,
            )
            for _ in range(count)
        ]

    await follow_long(follow, drawn)
    await check(st.lists(step, min_size=1, max_size=120), follow)


@circuit_test
async def rates_of_fifty_flows(dut: Any) -> None:
    """Check that each of 50 flows sends at its rate, to within a packet and a round.

    A flow alone reaches 25 Gbps.
    """
    flows, overhead, mtu, cycle_ns = values(dut, "FLOWS", "OVERHEAD", "MTU", "CYCLE_NS")
    bench = Bench(dut, ["send"])
    rng = random.Random(11)
    line = 25 * (1 << 20) // 8
    shares = [rng.randint(1, 1_000) for _ in range(flows)]
    many = [line * share // sum(shares) for share in shares]
    for rates in (many, [line] + [0] * (flows - 1)):
        await bench.reset({"start": 0, "update": 0, "ack": 0, "nak": 0, "tx_ready": 0})
        for number, rate in enumerate(rates):
            inputs = {"start_flow": number, "start_bytes": WORD, "start": 1, "update": 1}
            inputs |= {"update_flow": number, "update_window": WORD, "update_rate": rate}
            await bench.cycle(inputs)
        sent = [0] * flows
        count = max(EVENTS, 2_000)
        for _ in range(count):
            if (await bench.cycle({"start": 0, "update": 0, "tx_ready": 1}))["send"]:
                sent[bench.output("send_flow")] += bench.output("send_bytes") + overhead
        for number, rate in enumerate(rates):
            due = rate * count * cycle_ns / (1 << 20)
            round_ = rate * flows * cycle_ns / (1 << 20)
            slack = mtu + overhead + round_
            assert due - slack <= sent[number] <= due + slack, (number, due, sent[number])
