"""Tests of the circuits of BFC that run inside the logic simulator; `test_bfc.py` starts them."""

from __future__ import annotations

import os
import random
from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bench import QUIET_CYCLES, Bench, circuit_test, values
from bfc_models import EgressPort, Header, PauseFrames, Pipeline, Status, Widths
from stimuli import check, follow_long
from traces import Trace, read


def packed(numbers: list[int], width: int) -> int:
    """Pack numbers into a flat port, the first one into the lowest bits."""
    return sum(number << nth * width for nth, number in enumerate(numbers))


def widths_of(dut: Any) -> Widths:
    """Return the parameters of a pipeline."""
    numbers = values(
        dut, "PORTS", "QUEUES", "PER_PORT", "UPSTREAM", "TABLE_SIZE", "TABLE_QUEUE", "TIME"
    )
    counter, start = values(dut, "COUNTER", "START")
    flags = values(dut, "SAMPLED_MAP", "PAUSED_ELIGIBLE", "FIRST_EXEMPT", "STOCHASTIC")
    return Widths(*numbers, counter, start, *map(bool, flags))


IDLE = {"enqueue": 0, "dequeue": 0, "refresh": 0, "fill": 0}
HEADER = ("egress", "hash", "row", "ingress", "upstream", "size", "random", "allowed", "sampled")
UNUSED = dict.fromkeys((*HEADER, "was_over", "lengths", "empty", "paused", "active"), 0)
PIPELINE_OUTPUTS = [
    *("ready", "joins", "join_port", "join_queue", "join_size", "stale", "shared", "counted"),
    *("over", "pause", "resume", "pause_ingress", "pause_queue"),
]


@circuit_test
async def pipeline(dut: Any) -> None:
    """Check queues, pauses and resumes of a pipeline for random headers and queue states."""
    widths = widths_of(dut)
    ingresses, rows, byte_bits, count_bits = values(dut, "INGRESSES", "ROWS", "BYTES", "COUNT")
    bench = Bench(dut, PIPELINE_OUTPUTS)

    async def start(model: Pipeline) -> None:
        flags = {"was_over": 1, "allowed": 1, "sampled": 1}
        await bench.reset({**IDLE, **UNUSED, **flags, "sticky": model.sticky, "now": 0})
        await bench.quiet(IDLE, ("joins", "counted", "over", "pause", "resume"))
        cycles = widths.ports * widths.per_port
        assert await bench.clear(IDLE) == cycles - QUIET_CYCLES
        for row, thresholds in enumerate(model.thresholds):
            for active, threshold in enumerate(thresholds, 1):
                fill = {"fill": 1, "fill_row": row, "fill_active": active, "fill_bytes": threshold}
                await bench.advance({**IDLE, **fill})
        # Run two cycles without a header, so that the outputs of the memories are defined.
        for _ in range(2):
            await bench.advance(IDLE)

    def queue_inputs(status: Status) -> dict[str, int]:
        """Return the state of all queues as inputs."""
        flat = [length for port in status.lengths for length in port]
        paused = [int(flag) for port in status.paused for flag in port]
        active = [status.active(port) for port in range(widths.ports)]
        inputs = {"lengths": packed(flat, byte_bits), "paused": packed(paused, 1)}
        inputs |= {"empty": packed([int(length == 0) for length in flat], 1)}
        return inputs | {"active": packed(active, count_bits)}

    async def follow(example: Any) -> None:
        sticky, thresholds, steps, seed = example
        rng = random.Random(seed)
        model = Pipeline(widths, sticky, thresholds)
        await start(model)
        lengths = [[0] * widths.queues for _ in range(widths.ports)]
        paused = [[False] * widths.queues for _ in range(widths.ports)]
        now = 0
        inside: list[Header] = []
        second: Header | None = None
        third: tuple[Header, bool] | None = None
        for nth, (arrival, leaves, wait, refresh, pauses, size) in enumerate(steps):
            now = (now + wait) % (1 << widths.time)
            header = None
            if arrival is not None:
                egress, hash_, ingress, upstream, flags = arrival
                header = Header(
                    *(True, egress % widths.ports, hash_, ingress % ingresses),
                    *(upstream % widths.upstream, size, rng.randrange(1 << 16)),
                    *(rng.randrange(rows), flags & 3 != 3, flags & 12 != 12),
                )
            elif leaves and inside:
                header = inside.pop(rng.randrange(len(inside)))
            if pauses is not None:
                port, queue = pauses % widths.ports, pauses // widths.ports % widths.queues
                paused[port][queue] = not paused[port][queue]
            status = Status([list(port) for port in lengths], [list(port) for port in paused])
            inputs = {**IDLE, "now": now, "refresh": int(refresh)}
            if header is not None:
                inputs |= {"enqueue" if header.arrives else "dequeue": 1}
                inputs |= {"egress": header.egress, "hash": header.hash, "row": header.row}
                inputs |= {"ingress": header.ingress, "upstream": header.upstream}
                inputs |= {"size": header.size, "random": header.random}
                inputs |= {"allowed": int(header.allowed), "sampled": int(header.sampled)}
                inputs |= {"was_over": int(header.was_over)}
            seen = await bench.cycle({**inputs, **queue_inputs(status)})
            expected = model.step(header, now, status, refresh)
            at = ("cycle", nth, header, expected, seen)
            joins = second is not None and second.arrives
            assert seen["joins"] == joins, at
            if joins:
                assert second is not None
                assert expected.queue is not None
                assert seen["join_queue"] == expected.queue, at
                assert seen["join_port"] == second.egress, at
                assert seen["join_size"] == second.size, at
            for name in ("stale", "shared", "counted", "over", "pause", "resume"):
                assert seen[name] == getattr(expected, name), f"{name}, {at}"
            if expected.pause or expected.resume:
                assert (seen["pause_ingress"], seen["pause_queue"]) == expected.key, at
            if third is not None and third[1]:
                left = third[0]
                inside.append(
                    Header(
                        *(False, left.egress, left.hash, left.ingress, left.upstream, left.size),
                        *(0, left.row, left.allowed, left.sampled, expected.over),
                    )
                )
            third = None
            if joins:
                assert second is not None
                third = (second, expected.counted)
                lengths[second.egress][expected.queue or 0] += second.size
            if rng.random() < 0.4:
                port, queue = rng.randrange(widths.ports), rng.randrange(widths.queues)
                lengths[port][queue] = max(lengths[port][queue] - 300, 0)
            second = header
        # The tables at the end.
        status = Status(lengths, paused)
        for _ in range(2):
            await bench.cycle({**IDLE, **queue_inputs(status)})
            model.step(None, now, status, False)
        table = dut.flow_table.memory.entries
        none = (1 << widths.table_queue) - 1
        for port in range(widths.ports):
            for slot in range(widths.per_port):
                entry = model.table.get((port, slot))
                word = int(table[port * widths.per_port + slot].value)
                last = word & (1 << widths.time) - 1
                packets = word >> widths.time & (1 << widths.table_size) - 1
                queue = word >> widths.time + widths.table_size
                if entry is None or entry.queue is None:
                    assert (queue, packets) == (none, 0)
                else:
                    assert (queue, packets, last) == (entry.queue, entry.packets, entry.last)
        for ingress in range(ingresses):
            for upstream in range(widths.upstream):
                counter = int(
                    dut.counters.memory.entries[ingress * widths.upstream + upstream].value
                )
                assert counter == model.counters.get((ingress, upstream), 0)

    sizes = st.sampled_from([64, 100, 300, 1500])
    flows = st.sampled_from([0, 1, 1 << 29, (1 << 29) - 1, 0xDEAD_BEEF, (1 << 32) - 1])
    arrival = st.tuples(
        st.integers(0, 3), flows, st.integers(0, 1), st.integers(0, 3), st.integers(0, 15)
    )
    step = st.tuples(
        st.one_of(st.none(), arrival, arrival),
        st.booleans(),
        st.sampled_from([0, 1, 1, 2, 5, 16, 31]),
        st.booleans(),
        st.one_of(st.none(), st.none(), st.integers(0, 15)),
        sizes,
    )
    limit = st.sampled_from([0, 64, 200, 400, 1500])
    table = st.lists(
        st.lists(limit, min_size=widths.queues, max_size=widths.queues),
        min_size=rows,
        max_size=rows,
    )
    sticky = st.sampled_from([0, 1, 4, (1 << widths.time) - 1])

    def drawn(rng: random.Random, count: int) -> Any:
        thresholds = [
            [rng.choice((0, 200, 400)) for _ in range(widths.queues)] for _ in range(rows)
        ]
        hashes = [rng.randrange(1 << 32) for _ in range(10)]

        def one() -> Any:
            packet = (
                rng.randrange(widths.ports),
                rng.choice(hashes),
                rng.randrange(ingresses),
                rng.randrange(widths.upstream),
                rng.randrange(16),
            )
            return (
                packet if rng.random() < 0.55 else None,
                True,
                rng.choice((0, 1, 1, 3)),
                rng.random() < 0.2,
                rng.randrange(64) if rng.random() < 0.2 else None,
                rng.choice((64, 300, 1500)),
            )

        return rng.choice((0, 2, 6)), thresholds, [one() for _ in range(count)], rng.random()

    await follow_long(follow, drawn)
    await check(
        st.tuples(sticky, table, st.lists(step, min_size=1, max_size=60), st.integers(0, 99)),
        follow,
    )


@circuit_test
async def egress(dut: Any) -> None:
    """Check which queue of an egress port sends, for random packets, pauses and bitmaps."""
    queues, pipelines, quantum = values(dut, "QUEUES", "PIPELINES", "QUANTUM")
    queue_bits, size_bits, byte_bits = values(dut, "QUEUE", "SIZE", "BYTES")
    bench = Bench(dut, ["send", "turn", "lengths", "empty", "paused", "active", "joining"])
    idle = {"join_": 0, "frame": 0, "bitmap": 0, "take": 0}

    async def follow(steps: Any) -> None:
        model = EgressPort(queues, quantum)
        await bench.reset(idle)
        for nth, (joins, frame, bitmap, take) in enumerate(steps):
            inputs = {**idle, "take": int(take)}
            inputs |= {"join_": packed([int(join is not None) for join in joins], 1)}
            packets = [join or (0, 0) for join in joins]
            inputs |= {"join_queue": packed([queue for queue, _ in packets], queue_bits)}
            inputs |= {"join_size": packed([size for _, size in packets], size_bits)}
            if bitmap is not None:
                inputs |= {"bitmap": 1, "bitmap_bits": packed([int(on) for on in bitmap], 1)}
            elif frame is not None:
                inputs |= {"frame": 1, "frame_on": int(frame[0]), "frame_queue": frame[1]}
            # The packet buffer answers for the queue whose turn it is.
            turn = model.round[0] if model.round else None
            head = model.packets[turn][0] if turn is not None and model.packets[turn] else 0
            bench.set({"head_size": head})
            lengths = [sum(packets) for packets in model.packets]
            paused, active = list(model.paused), model.active()
            open_ = {queue for queue in range(queues) if model.is_open(queue)}
            joining = bool(open_ - set(model.round))
            seen = await bench.cycle(inputs)
            sent = model.step([join for join in joins if join], frame, bitmap, take)
            at = ("cycle", nth, steps[nth])
            assert seen["lengths"] == packed(lengths, byte_bits), at
            assert seen["empty"] == packed([int(length == 0) for length in lengths], 1), at
            assert seen["paused"] == packed([int(flag) for flag in paused], 1), at
            assert (seen["active"], seen["joining"]) == (active, joining), at
            assert seen["send"] == (sent is not None), at
            if sent is not None:
                assert seen["turn"] == sent, at
        assert values(dut.scheduler, "length", "served") == [len(model.round), model.served]
        deficits = [int(dut.scheduler.deficits[queue].value) for queue in range(queues)]
        assert deficits == model.deficits

    queue = st.integers(0, queues - 1)
    sizes = st.sampled_from([1, 64, 500, quantum, quantum + 1, 3 * quantum])
    join = st.one_of(st.none(), st.tuples(queue, sizes))
    frame = st.one_of(st.none(), st.none(), st.tuples(st.booleans(), st.integers(0, queues + 1)))
    some = st.lists(st.booleans(), min_size=queues, max_size=queues)
    bitmap = st.one_of(st.none(), st.none(), st.none(), some)
    joins = st.lists(join, min_size=pipelines, max_size=pipelines)

    def drawn(rng: random.Random, count: int) -> Any:
        def maybe(share: float, value: Any) -> Any:
            return value if rng.random() < share else None

        def packet() -> tuple[int, int]:
            return rng.randrange(queues), rng.choice((64, 500, quantum, 2 * quantum))

        steps = []
        for nth in range(count):
            share = 0.35 if nth // 50 % 2 == 0 else 0.05
            arriving = [maybe(share, packet()) for _ in range(pipelines)]
            frame = maybe(0.2, (rng.random() < 0.4, rng.randrange(queues)))
            bitmap = maybe(0.03, [rng.random() < 0.4 for _ in range(queues)])
            steps.append((arriving, frame, bitmap, rng.random() < 0.8))
        return steps

    await follow_long(follow, drawn)
    step = st.tuples(joins, frame, bitmap, st.booleans())
    await check(st.lists(step, min_size=1, max_size=120), follow)


@circuit_test
async def frames(dut: Any) -> None:
    """Check the order of pause, resume and bitmap frames, also if more are due than can wait."""
    ports, upstream, depth = values(dut, "PORTS", "UPSTREAM", "DEPTH")
    names = ("frame", "frame_port", "frame_is_bitmap", "frame_on", "frame_queue", "frame_bits")
    bench = Bench(dut, names)

    async def follow(steps: Any) -> None:
        model = PauseFrames(ports, upstream, 1 << depth)
        await bench.reset({"pause": 0, "resume": 0, "tick": 0, "ready": 0})
        for nth, (change, tick, ready) in enumerate(steps):
            port, queue = change or (0, 0)
            on = (port, queue) not in model.paused
            inputs = {"pause": int(change is not None and on), "port": port, "queue_id": queue}
            inputs |= {"resume": int(change is not None and not on)}
            seen = await bench.cycle({**inputs, "tick": int(tick), "ready": int(ready)})
            frame = model.first()
            at = ("cycle", nth, steps[nth], frame)
            assert seen["frame"] == (frame is not None), at
            if frame is not None:
                is_bitmap = len(frame) == 2
                assert (seen["frame_port"], seen["frame_is_bitmap"]) == (frame[0], is_bitmap), at
                if len(frame) == 2:
                    assert seen["frame_bits"] == frame[1], at
                else:
                    assert (seen["frame_on"], seen["frame_queue"]) == frame[1:], at
            model.step(None if change is None else (on, port, queue), tick, ready)
        paused = sum(1 << port * upstream + queue for port, queue in model.paused)
        state = [paused, len(model.changes), model.sent]
        assert values(dut, "paused", "waiting", "head") == state
        assert values(dut, "pending") == [sum(1 << port for port in model.pending)]

    change = st.tuples(st.integers(0, ports - 1), st.integers(0, upstream - 1))
    step = st.tuples(st.one_of(st.none(), change), st.booleans(), st.booleans())

    def drawn(rng: random.Random, count: int) -> Any:
        return [
            (
                (rng.randrange(ports), rng.randrange(upstream)) if rng.random() < 0.4 else None,
                rng.random() < 0.05,
                rng.random() < (0.2 if nth // 40 % 2 == 0 else 0.8),
            )
            for nth in range(count)
        ]

    await follow_long(follow, drawn)
    await check(st.lists(step, min_size=1, max_size=120), follow)


Fields = tuple[dict[str, int], int]


@dataclass(frozen=True)
class Buffered:
    """A packet in a queue: its size, its header, and whether it was over the threshold."""

    size: int
    pipeline: int
    inputs: dict[str, int]
    over: bool


class Switch:
    """The circuit of a switch with the packet buffer around it."""

    def __init__(self, dut: Any, trace: Trace) -> None:
        """Take the parameters of a circuit."""
        self.dut = dut
        self.config = trace.config
        names = ("PORTS", "PIPELINES", "QUEUES", "PER_PORT", "UPSTREAM", "TABLE_SIZE", "TIME")
        self.parameters = dict(zip(names, values(dut, *names), strict=True))
        bits = ("PORT", "INGRESS", "QUEUE", "NAMED", "ROW", "SIZE")
        self.bits = dict(zip(bits, values(dut, *bits), strict=True))
        for name in ("ports", "pipelines", "queues", "per_port"):
            assert self.config[name] == self.parameters[name.upper()], name
        self.ingresses = self.config["ports"] // self.config["pipelines"]
        self.bench = Bench(dut)
        self.idle = dict.fromkeys(
            ("enqueue", "dequeue", "refresh", "tick", "fill", "arrived", "arrived_bitmap", "take"),
            0,
        )
        self.queues: dict[tuple[int, int], deque[Buffered]] = defaultdict(deque)
        self.frames: dict[int, list[tuple[int, ...]]] = defaultdict(list)

    async def cycle(self, inputs: dict[str, int]) -> None:
        """Apply inputs for one cycle and keep the frames that leave."""
        await self.bench.advance({**self.idle, **inputs})
        frames = self.bench.output("frame")
        if not frames:
            return
        for pipeline in range(self.config["pipelines"]):
            if not frames >> pipeline & 1:
                continue
            ingress = self.part("frame_ingress", pipeline, self.bits["INGRESS"])
            port = pipeline * self.ingresses + ingress
            if self.part("frame_is_bitmap", pipeline, 1):
                upstream = self.parameters["UPSTREAM"]
                bits = self.part("frame_bits", pipeline, upstream)
                paused = [queue for queue in range(upstream) if bits >> queue & 1]
                self.frames[port].append((-1, *paused))
            else:
                queue = self.part("frame_queue", pipeline, self.bits["NAMED"])
                self.frames[port].append((queue, self.part("frame_on", pipeline, 1)))

    def part(self, name: str, nth: int, width: int) -> int:
        """Return entry `nth` of an output that packs entries of `width` bits."""
        return self.bench.output(name) >> nth * width & (1 << width) - 1

    def header(self, ingress: int, egress: int, hash_: int, upstream: int, size: int) -> Fields:
        """Return the inputs for a header, and its pipeline."""
        pipeline, local = divmod(ingress, self.ingresses)
        upstream %= self.config["upstream"]
        assert upstream < self.parameters["UPSTREAM"], "a wider circuit is needed"
        fields = {"egress": (egress, "PORT"), "ingress": (local, "INGRESS")}
        fields |= {"upstream": (upstream, "NAMED"), "size": (size, "SIZE")}
        inputs = {
            name: value << pipeline * self.bits[bits] for name, (value, bits) in fields.items()
        }
        return inputs | {"hash": hash_ << pipeline * 32}, pipeline

    async def start(self, thresholds: list[int]) -> None:
        """Reset the switch and fill in its thresholds."""
        unused = ("egress", "ingress", "upstream", "size", "hash", "was_over", "random")
        rows = sorted(set(thresholds))
        of_ports = [rows.index(threshold) for threshold in thresholds]
        all_pipelines = (1 << self.config["pipelines"]) - 1
        masks = dict.fromkeys(("allowed", "sampled", "frame_ready"), all_pipelines)
        inputs = {**self.idle, **dict.fromkeys(unused, 0), **masks, "head_size": 0, "now": 0}
        inputs |= {"arrived_on": 0, "arrived_queue": 0, "arrived_bits": 0}
        inputs |= {"rows": packed(of_ports, self.bits["ROW"]), "sticky": self.config["sticky_ps"]}
        await self.bench.reset(inputs)
        await self.bench.clear(self.idle)
        for row, threshold in enumerate(rows):
            for active in range(1, self.config["queues"] + 1):
                bytes_ = max(threshold // active, self.config["floor"])
                fill = {"fill": 1, "fill_row": row, "fill_active": active, "fill_bytes": bytes_}
                await self.bench.advance({**self.idle, **fill})
        for _ in range(3):
            await self.bench.advance(self.idle)

    async def enqueue(self, now: int, numbers: list[int]) -> tuple[int, bool, bool]:
        """Let a packet arrive; return its queue, and flags: over the threshold, causes a pause."""
        ingress, egress, hash_, upstream, size, random_ = numbers
        inputs, pipeline = self.header(ingress, egress, hash_, upstream, size)
        bit = 1 << pipeline
        random_input = {"random": random_ << pipeline * 16, "now": now}
        await self.cycle({**inputs, **random_input, "enqueue": bit})
        await self.cycle({})
        assert self.bench.output("joins") == bit
        assert self.bench.output("counted") == bit
        queue = self.part("join_queue", pipeline, self.bits["QUEUE"])
        await self.cycle({})
        over, pause = self.bench.output("over") == bit, self.bench.output("pause") == bit
        self.queues[egress, queue].append(Buffered(size, pipeline, inputs, over))
        return queue, over, pause

    async def dequeue(self, now: int, port: int) -> tuple[int, bool, bool]:
        """Let a port send; return the queue, and flags: was over the threshold, causes a resume."""
        width = self.bits["SIZE"]
        for _ in range(4 * self.config["queues"] + 4):
            # The packet buffer answers for the queue whose turn it is, in the same cycle.
            turns = int(self.dut.turn.value) >> port * self.bits["QUEUE"]
            turn = turns & (1 << self.bits["QUEUE"]) - 1
            queue = self.queues[port, turn]
            head = queue[0].size if queue else 0
            await self.cycle({"take": 1 << port, "head_size": head << port * width})
            if self.bench.output("send"):
                break
        else:
            raise AssertionError(f"port {port} sends nothing at {now} ps")
        packet = queue.popleft()
        recirculated = {"dequeue": 1 << packet.pipeline, "now": now}
        was_over = {"was_over": int(packet.over) << packet.pipeline}
        await self.cycle({**packet.inputs, **recirculated, **was_over})
        await self.cycle({})
        await self.cycle({})
        return turn, packet.over, bool(self.bench.output("resume"))

    async def obey(self, port: int, inputs: dict[str, int]) -> None:
        """Let a frame of the downstream neighbour arrive; wait until resumed queues can send."""
        await self.cycle(inputs)
        for _ in range(self.config["queues"] + 1):
            await self.cycle({})
            if not self.bench.output("joining"):
                return
        raise AssertionError(f"queues of port {port} wait for ever")


@circuit_test
async def switch_trace(dut: Any) -> None:
    """Check that the switch decides as the dataplane for every packet and frame of a trace."""
    trace = read(Path(os.environ["HARDWARE_TRACE"]))
    switch = Switch(dut, trace)
    config = trace.config
    first, ports, named = config["first_queue"], config["ports"], switch.bits["NAMED"]
    await switch.start(trace.of_ports("threshold"))
    for nth, (kind, (now, *numbers)) in enumerate(trace.events):
        at = ("event", nth, now, kind, numbers)
        if kind == "enqueue":
            seen = await switch.enqueue(now, numbers[:6])
            assert seen == (numbers[6], bool(numbers[7]), bool(numbers[8])), at
        elif kind == "dequeue":
            seen = await switch.dequeue(now, numbers[1])
            assert seen == (numbers[5], bool(numbers[6]), bool(numbers[7])), at
        elif kind == "pause":
            port, queue, on = numbers
            frame = {"arrived": 1 << port, "arrived_on": on << port}
            if queue >= first:
                await switch.obey(port, {**frame, "arrived_queue": queue - first << port * named})
        elif kind == "bitmap":
            port, *paused = numbers
            bits = sum(1 << queue - first for queue in paused if queue >= first)
            inputs = {"arrived_bitmap": 1 << port}
            await switch.obey(port, {**inputs, "arrived_bits": bits << port * config["queues"]})
        elif kind == "timer":
            refresh = config["map_ps"] > 0 and now % config["map_ps"] == 0
            await switch.cycle({"refresh": int(refresh), "tick": numbers[0]})
            # The bitmaps of all ports leave.
            for _ in range((ports + 1) * numbers[0]):
                await switch.cycle({})
    await switch.cycle({})
    # Compare the frames of a port in order. In the dataplane a few may still be in a queue.
    for port in range(ports):
        sent = [
            (-1, *numbers[2:]) if kind == "bits" else tuple(numbers[2:])
            for kind, numbers in trace.events
            if kind in ("sent", "bits") and numbers[1] == port
        ]
        frames = switch.frames[port]
        assert frames[: len(sent)] == sent, f"frames of port {port}"
        assert len(frames) - len(sent) <= 4, f"frames of port {port}"
    check_state(dut, trace, switch)


def check_state(dut: Any, trace: Trace, switch: Switch) -> None:
    """Compare queues, pause counters and flow tables at the end."""
    config = trace.config
    lengths = {(port, queue): bytes_ for port, queue, bytes_ in trace.state["bytes"]}
    for port in range(config["ports"]):
        for queue in range(config["queues"]):
            length = int(dut.ports[port].port.state.queues[queue].length.value)
            assert length == lengths.get((port, queue), 0), f"queue {queue} of port {port}"
    counters = {(at, queue): count for at, queue, count in trace.state["counter"]}
    upstream = switch.parameters["UPSTREAM"]
    for ingress in range(config["ports"]):
        pipeline, local = divmod(ingress, switch.ingresses)
        memory = dut.pipelines[pipeline].pipeline.counters.memory.entries
        for queue in range(upstream):
            count = int(memory[local * upstream + queue].value)
            assert count == counters.get((ingress, queue), 0), f"counter {ingress}, {queue}"
    per_port, time = config["per_port"], switch.parameters["TIME"]
    packets: dict[tuple[int, int], int] = defaultdict(int)
    for ingress, egress, hash_ in trace.state["inside"]:
        slot = egress * per_port + (hash_ * per_port >> 32)
        packets[ingress // switch.ingresses, slot] += 1
    for pipeline in range(config["pipelines"]):
        memory = dut.pipelines[pipeline].pipeline.flow_table.memory.entries
        for slot in range(config["ports"] * per_port):
            size = int(memory[slot].value) >> time & (1 << switch.parameters["TABLE_SIZE"]) - 1
            assert size == packets[pipeline, slot], f"entry {slot} of pipeline {pipeline}"
