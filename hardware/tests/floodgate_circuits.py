"""Tests of the circuits of Floodgate that run inside the logic simulator."""

from __future__ import annotations

import os
import random
from collections import defaultdict, deque
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bench import QUIET_CYCLES, Bench, circuit_test, values
from floodgate_models import Credit, Emitter, Packet, Pipeline, mixed
from stimuli import EVENTS, check, follow_long
from traces import Trace, read

IDLE = {"packet": 0, "credit": 0, "vup_tick": 0, "head": 0}
UNUSED = {"dst": 0, "below": 0, "last_hop": 0, "size": 0, "units": 0}
HEAD = {"head_dst": 0, "head_below": 0, "head_size": 0}
OUTPUTS = ["passes", "joins", "hashed", "releases", "voq", "changes", "changed", "changed_bytes"]
RETURNED = ["return_port", "return_dst", "return_units", "starts_frame"]


def inputs_of(external: Packet | Credit | None) -> dict[str, int]:
    """Return the inputs of an operation."""
    if isinstance(external, Packet):
        inputs = {"packet": 1, "dst": external.dst, "below": int(external.below)}
        return inputs | {"last_hop": int(external.last_hop), "size": external.size}
    if isinstance(external, Credit):
        inputs = {"credit": 1, "dst": external.dst, "below": int(external.below)}
        return inputs | {"units": external.units}
    return {}


@circuit_test
async def pipeline(dut: Any) -> None:
    """Check windows, VOQs and the order of released packets for random packets and credits."""
    destinations, voqs, split, unit_bits = values(dut, "DESTINATIONS", "VOQS", "SPLIT", "UNITS")
    in_bytes, with_vup, both_ways = map(bool, values(dut, "IN_BYTES", "WITH_VUP", "BOTH_WAYS"))
    [hashed] = values(dut, "HASHED")
    options = (in_bytes, with_vup, hashed, both_ways)
    bench = Bench(dut, [*OUTPUTS, "turn", "idle"])

    async def follow(example: Any) -> None:
        initial_below, initial_above, steps = example
        model = Pipeline(voqs, split, initial_below, initial_above, *options)
        initial = {"initial_below": initial_below, "initial_above": initial_above}
        await bench.reset({**IDLE, **UNUSED, **HEAD, **initial})
        nothing = ("passes", "joins", "hashed", "releases", "changes")
        await bench.quiet(IDLE, nothing, high=("idle",))
        assert await bench.clear(IDLE) == destinations - QUIET_CYCLES
        for _ in range(2):
            await bench.advance(IDLE)
        for nth, (external, vup_tick) in enumerate(steps):
            is_due = vup_tick and with_vup
            inputs = {**IDLE, **inputs_of(external), "vup_tick": int(is_due)}
            turn = model.turn()
            queue = model.queue(turn) if turn is not None else ()
            if queue:
                head = queue[0]
                inputs |= {"head": 1, "head_dst": head.dst, "head_below": int(head.below)}
                inputs |= {"head_size": head.size}
            seen = await bench.cycle(inputs)
            result = model.step(external, is_due)
            at = ("cycle", nth, external, result, seen)
            if turn is not None:
                assert seen["turn"] == turn, at
            for name in ("passes", "joins", "hashed", "releases", "idle"):
                assert seen[name] == getattr(result, name), at
            if result.voq is not None:
                assert seen["voq"] == result.voq, at
            assert seen["changes"] == (result.changed is not None), at
            if result.changed is not None:
                assert (seen["changed"], seen["changed_bytes"]) == result.changed, at
        await bench.advance(IDLE)
        model.step(None, False)
        for dst in range(destinations):
            held = int(dut.held_table.memory.entries[dst].value) >> len(dut.held_table.next) - 1
            assert held == (dst in model.voq_of)
        for key in range(hashed * (1 + both_ways) or destinations):
            assert int(dut.windows.memory.entries[key].value) == model.in_flight.get(key, 0)
        if model.second is None:
            assert values(dut.scheduler, "last_served") == [model.last_served]

    sizes = st.sampled_from([1, 64, 1000, 1048])
    dst = st.integers(0, destinations - 1)
    # The direction of a destination does not change while the switch runs.
    packet = st.builds(
        lambda d, size, last: Packet(d, d % 2 == 0, size, last and d < 2), dst, sizes, st.booleans()
    )
    most = (1 << unit_bits) - 1
    credit = st.builds(
        lambda d, units: Credit(d, units, d % 2 == 0),
        dst,
        st.sampled_from([0, 1, 1, 2, 1000, 3000, most]),
    )
    step = st.tuples(st.one_of(st.none(), packet, packet, credit), st.booleans())
    window = st.sampled_from([0, 1, 2, 5, 1000, 3000, most])

    def drawn(rng: random.Random, count: int) -> Any:
        windows = (1000, 2500) if in_bytes else (1, 3)
        back = (64, 1000, 2500) if in_bytes else (1, 1, 2)

        def one(nth: int) -> Packet | Credit | None:
            draw = rng.random()
            dst = rng.randrange(destinations)
            arriving = 0.5 if nth // 100 % 2 == 0 else 0.1
            if draw < arriving:
                size = rng.choice((64, 1000))
                return Packet(dst, dst % 2 == 0, size, dst == 0 and rng.random() < 0.3)
            if draw < arriving + 0.25:
                return Credit(dst, rng.choice(back), dst % 2 == 0)
            return None

        # With few VUPs a VOQ drains several times before the next VUP.
        vups = rng.choice((0.2, 0.02))
        steps = [(one(nth), rng.random() < vups) for nth in range(count)]
        return rng.choice(windows), rng.choice(windows), steps

    await follow_long(follow, drawn)
    await check(st.tuples(window, window, st.lists(step, min_size=1, max_size=100)), follow)


@circuit_test
async def hash_of_words(dut: Any) -> None:
    """Check the hash of random words. Large values of `count` reveal most bits of the hash."""
    width, index = values(dut, "WIDTH", "INDEX")
    rng = random.Random(7)
    bench = Bench(dut, ["number"])
    for nth in range(EVENTS):
        word = nth if nth < 100 else rng.randrange(1 << width)
        count = rng.choice((1, 3, (1 << index) - 1, rng.randrange(1, 1 << index)))
        seen = await bench.cycle({"word": word, "count": count})
        assert seen["number"] == mixed(word) * count >> 32, (word, count)


@circuit_test
async def emitter(dut: Any) -> None:
    """Check that all credits return in order at ticks of the generator, except withheld ones."""
    ports, destinations, ticks, most = values(dut, "PORTS", "DESTINATIONS", "TICKS", "MOST")
    outputs = ["busy", "credit", "withheld", "credit_port", "credit_dst", "credit_units"]
    bench = Bench(dut, [*outputs, "starts_frame"])
    idle = {"earn": 0, "changes": 0, "tick": 0}

    async def follow(example: Any) -> None:
        limit, steps = example
        model = Emitter(ports, ticks)
        unused = {"port": 0, "dst": 0, "units": 0, "changed": 0, "changed_bytes": 0}
        await bench.reset({**idle, **unused, "delay_bytes": limit})
        assert await bench.clear(idle) == ports * destinations
        for _ in range(2):
            await bench.advance(idle)
        withheld = dict.fromkeys(range(destinations), False)
        withheld_before = dict(withheld)
        # Destinations that this tick has to visit, those that it has visited, and credits by port.
        missing: set[tuple[int, int]] = set()
        visited: set[tuple[int, int]] = set()
        in_frame: dict[int, int] = defaultdict(int)
        busy = False
        # The circuit finishes the last tick: it takes three cycles for each credit.
        rest = [(None, None, False)] * (ports * (2 + 3 * destinations))
        for nth, (earn, change, tick) in enumerate([*steps, *rest]):
            inputs = dict(idle)
            if earn is not None:
                inputs |= {"earn": 1, "port": earn[0], "dst": earn[1], "units": earn[2]}
            if change is not None:
                inputs |= {"changes": 1, "changed": change[0], "changed_bytes": change[1]}
            starts = tick and not busy
            seen = await bench.cycle({**inputs, "tick": int(starts)})
            at = ("cycle", nth, earn, change, starts, seen)
            if busy and not seen["busy"]:
                assert not missing, at
                model.age |= dict.fromkeys(in_frame, 0)
            busy = bool(seen["busy"])
            if seen["credit"] or seen["withheld"]:
                port, dst = seen["credit_port"], seen["credit_dst"]
                assert model.age[port] == ticks, at
                assert (port, dst) not in visited, at
                visited.add((port, dst))
                missing.discard((port, dst))
                assert model.line(port).popleft() == dst, at
                # The state of a destination counts that it had two cycles before.
                assert seen["withheld"] == withheld_before[dst], at
                assert seen["credit"] != seen["withheld"], at
                if seen["credit"]:
                    assert seen["credit_units"] == model.counts.pop((port, dst)), at
                    assert seen["starts_frame"] == (in_frame[port] % most == 0), at
                    in_frame[port] += 1
                else:
                    model.line(port).append(dst)
            withheld_before = dict(withheld)
            if change is not None:
                withheld[change[0]] = change[1] > limit
            if starts:
                model.tick()
                busy = True
                in_frame, visited = defaultdict(int), set()
                sending = filter(model.may_send, range(ports))
                missing = {(port, dst) for port in sending for dst in model.line(port)}
            if earn is not None:
                model.earn(*earn)
        await bench.advance(idle)
        assert not busy
        for port in range(ports):
            assert int(dut.length[port].value) == len(model.line(port))
            assert int(dut.age[port].value) == model.age.get(port, 0)
            for dst in range(destinations):
                counter = int(dut.counters.entries[port * destinations + dst].value)
                assert counter == model.counts.get((port, dst), 0)

    earn = st.tuples(
        st.integers(0, ports - 1), st.integers(0, destinations - 1), st.sampled_from([1, 1000])
    )
    change = st.tuples(st.integers(0, destinations - 1), st.sampled_from([0, 99, 100, 101]))
    step = st.tuples(st.one_of(st.none(), earn), st.one_of(st.none(), change), st.booleans())

    def drawn(rng: random.Random, count: int) -> Any:
        def one() -> Any:
            earns = (rng.randrange(ports), rng.randrange(destinations), rng.choice((1, 2)))
            changes = (rng.randrange(destinations), rng.choice((0, 150)))
            return (
                earns if rng.random() < 0.3 else None,
                changes if rng.random() < 0.1 else None,
                rng.random() < 0.2,
            )

        return 100, [one() for _ in range(count)]

    await follow_long(follow, drawn)
    await check(st.tuples(st.just(100), st.lists(step, min_size=1, max_size=150)), follow)


class Switch:
    """The circuit of a switch with the packet buffer around it."""

    def __init__(self, dut: Any, trace: Trace) -> None:
        """Take the configuration of a trace."""
        self.dut = dut
        self.config = trace.config
        self.bench = Bench(dut, [*OUTPUTS[:5], "turn", "idle", "busy", "returns", *RETURNED])
        self.idle = {**IDLE, "earn": 0, "tick": 0}
        self.queues: dict[int, deque[tuple[int, int, int]]] = defaultdict(deque)
        # The packet of the last cycle, and the packets and credits that have left.
        self.packet: tuple[int, int, int] | None = None
        self.released: list[int] = []
        self.returned: dict[int, list[list[int]]] = defaultdict(list)
        self.passed = False
        self.next_tick = self.config["generator_ps"]

    async def cycle(self, inputs: dict[str, int], packet: tuple[int, int, int] | None) -> bool:
        """Do one cycle and return true if the circuit is idle."""
        queue = self.queues[int(self.dut.turn.value)]
        head = {"head": 1, **dict(zip(HEAD, queue[0], strict=True))} if queue else {}
        seen = await self.bench.cycle({**self.idle, **head, **inputs})
        if seen["joins"]:
            assert self.packet is not None
            self.queues[seen["voq"]].append(self.packet)
        if seen["passes"]:
            self.passed = True
        if seen["releases"]:
            self.released.append(self.queues[seen["voq"]].popleft()[0])
        if seen["returns"]:
            if seen["starts_frame"]:
                self.returned[seen["return_port"]].append([])
            pair = [seen["return_dst"], seen["return_units"]]
            self.returned[seen["return_port"]][-1] += pair
        self.packet = packet
        return bool(seen["idle"]) and not seen["busy"]

    async def settle(self) -> list[int]:
        """Wait until the circuit is idle, and return the destinations of released packets."""
        for _ in range(100_000):
            if await self.cycle({}, None) and await self.cycle({}, None):
                break
        else:
            raise AssertionError("the switch does not come to rest")
        released, self.released = self.released, []
        return released

    async def ticks(self, until_ps: int, is_inclusive: bool) -> None:
        """Apply the ticks of packet generator and VUPs up to a time. No packet may be released."""
        vup_ps = self.config["vup_ps"]
        while self.next_tick < until_ps or (is_inclusive and self.next_tick == until_ps):
            await self.cycle({"tick": 1}, None)
            assert await self.settle() == []
            if vup_ps and self.next_tick % vup_ps == 0:
                await self.cycle({"vup_tick": 1}, None)
                assert await self.settle() == []
            self.next_tick += self.config["generator_ps"]


@circuit_test
async def switch_trace(dut: Any) -> None:
    """Check that the switch decides as the dataplane for every packet and credit of a trace."""
    trace = read(Path(os.environ["HARDWARE_TRACE"]))
    config, switch = trace.config, Switch(dut, trace)
    most = (1 << int(dut.BYTES.value)) - 1
    constant = dict.fromkeys(("initial_below", "initial_above"), config["initial"])
    constant["delay_bytes"] = config["delay_bytes"] or most
    unused = dict.fromkeys(("earn_port", "earn_dst", "earn_size"), 0)
    await switch.bench.reset({**switch.idle, **UNUSED, **HEAD, **unused, **constant})
    await switch.bench.clear(switch.idle)
    for _ in range(2):
        await switch.bench.advance(switch.idle)
    events = [event for event in trace.events if event[0] not in ("timer", "sent")]
    # The direction of each destination, as its packets have it.
    below_of: dict[int, int] = {}
    nth = 0
    while nth < len(events):
        kind, (now, *numbers) = events[nth]
        at = ("event", nth, now, kind, numbers)
        nth += 1
        # Order within one instant: arrivals, timers, departures.
        await switch.ticks(now, is_inclusive=kind == "earn")
        is_held = True
        if kind == "packet":
            dst, below, last_hop, size, held = numbers
            below_of[dst] = below
            inputs = {"packet": 1, "dst": dst, "below": below, "last_hop": last_hop, "size": size}
            switch.passed, is_held = False, bool(held)
            await switch.cycle(inputs, (dst, below, size))
        elif kind == "credit":
            for dst, units in zip(numbers[1::2], numbers[2::2], strict=True):
                inputs = {"credit": 1, "dst": dst, "below": below_of[dst], "units": units}
                await switch.cycle(inputs, None)
        elif kind == "earn":
            port, dst, size = numbers
            inputs = {"earn": 1, "earn_port": port, "earn_dst": dst, "earn_size": size}
            await switch.cycle(inputs, None)
        released = await switch.settle()
        assert switch.passed == (not is_held), at
        switch.passed = False
        expected = []
        while nth < len(events) and events[nth][0] == "released":
            expected.append(events[nth][1][1])
            nth += 1
        assert released == expected, at
    await switch.ticks(trace.state["end"][0][0], is_inclusive=False)
    # All frames of a port in order. In the dataplane the last one may still be in a queue.
    for port in range(config["ports"]):
        sent = [numbers[2:] for numbers in trace.all("sent") if numbers[1] == port]
        frames = switch.returned[port]
        assert frames[: len(sent)] == sent, f"frames of port {port}"
        assert len(frames) - len(sent) <= 1, f"frames of port {port}"
    destinations = range(config["destinations"])
    windows = dut.pipeline.windows.memory
    entries = range(int(windows.ENTRIES.value))
    in_flight = sum(int(windows.entries[entry].value) for entry in entries)
    assert [in_flight] == trace.state["window"][0]
    packets, bytes_, voq = values(dut, "PACKETS", "BYTES", "VOQ")
    held = []
    for dst in destinations:
        entry = int(dut.pipeline.held_table.memory.entries[dst].value) >> bytes_
        if entry >> len(dut.pipeline.held_table.next) - bytes_ - 1:
            number = entry >> packets & (1 << voq) - 1
            held.append([dst, number, entry & (1 << packets) - 1])
    assert held == trace.state["voq"]
