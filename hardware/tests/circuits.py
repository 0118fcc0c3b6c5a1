"""Tests that run inside the logic simulator; `test_hardware.py` starts them."""

from __future__ import annotations

import os
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bench import Bench, circuit_test
from models import Buffer, Generator, Ingress, PauseTimers, PortState
from stimuli import check, follow_long, mask
from traces import Trace, read

PRIORITIES = st.sets(st.integers(0, 7), max_size=3)


@circuit_test
async def port_state(dut: Any) -> None:
    """Check the state of a port for random pulses, departures, pauses and resumes."""
    parameters = {
        name.lower(): bool(int(getattr(dut, name).value))
        for name in ("VICTIM_AT_COUNT", "RESUME_AT_ONCE", "WAITS_FOR_RESUME")
    }
    pulses, most = int(dut.PULSES.value), (1 << int(dut.WIDTH.value)) - 1
    bench = Bench(dut, ["victim"])
    step = st.tuples(
        st.booleans(),
        st.one_of(st.just(0), st.just(1), st.integers(0, most)),
        st.one_of(st.just(set()), PRIORITIES),
        st.one_of(st.just(set()), PRIORITIES),
    )
    number = st.one_of(st.integers(1, 5), st.just(most), st.integers(1, most))

    async def follow(example: Any) -> None:
        counting_number, steps = example
        model = PortState(pulses, counting_number, **parameters)
        await bench.reset({"counting_number": counting_number})
        for nth, (pulse, amount, pause, resumed) in enumerate(steps):
            inputs = {"pulse": pulse, "dequeue": amount > 0, "amount": amount}
            inputs |= {"pause": mask(pause), "resume": mask(resumed)}
            seen = await bench.cycle({name: int(value) for name, value in inputs.items()})
            expected = model.step(pulse, amount, pause, resumed)
            assert seen["victim"] == expected, f"cycle {nth}: {inputs}"
        holder = dut.state_holder
        assert int(dut.rate_counter.count.value) == min(model.count, counting_number)
        assert int(dut.timeout_clock.left.value) == model.left
        assert int(holder.state.value) == model.victim
        assert int(holder.paused.value) == mask(model.paused)

    def drawn(rng: random.Random, count: int) -> Any:
        steps = [
            (
                rng.random() < 0.1,
                rng.choice((0, 0, 1, 1, rng.randint(0, most))),
                set(rng.sample(range(8), rng.choice((0, 0, 0, 0, 0, 0, 1, 2)))),
                set(rng.sample(range(8), rng.choice((0, 0, 0, 1, 4)))),
            )
            for _ in range(count)
        ]
        return rng.choice((1, 2, 5, 20, most)), steps

    await check(st.tuples(number, st.lists(step, min_size=1, max_size=120)), follow)
    await follow_long(follow, drawn)


@st.composite
def buffers(draw: st.DrawFn) -> Buffer:
    """Draw a division of a buffer in which all thresholds can be reached."""
    pool = draw(st.sampled_from([0, 3000, 20_000, 60_000]))
    return Buffer(
        reserve=draw(st.sampled_from([0, 1500, 4096])),
        headroom_limit=draw(st.sampled_from([0, 1500, 6000])),
        xon_offset=draw(st.sampled_from([0, 1500, 3072])),
        buffer_bytes=draw(st.sampled_from([9000, 60_000, (1 << 32) - 1])),
        pool_bytes=pool,
        room_bytes=pool + draw(st.sampled_from([0, 3000, 40_000])),
        last_frames=draw(st.sampled_from([0, 1500, 6000])),
        is_dynamic=draw(st.booleans()),
        alpha=draw(st.sampled_from([0, 7209, 32_768, 131_072, (1 << 20) - 1])),
        fixed_threshold=draw(st.sampled_from([0, 3000, 30_000, (1 << 32) - 1])),
    )


CONFIGURATION = [each.name for each in fields(Buffer)]
SIZES = st.one_of(st.just(0), st.sampled_from([1, 64, 1048, 1500, 1501, 9000]))


@circuit_test
async def ingress(dut: Any) -> None:
    """Check the decisions of an ingress for random packets, levels of the pool, and victims."""
    outputs = ["accept", "drop", "send_xon", "send_xoff", "spared", "pool_add", "pool_free"]
    bench = Bench(dut, outputs)
    step = st.tuples(SIZES, st.booleans(), st.integers(0, 3), st.booleans())

    async def follow(example: Any) -> None:
        buffer, steps = example
        model = Ingress(buffer)
        packets: list[int] = []
        used = others = 0
        await bench.reset({name: int(getattr(buffer, name)) for name in CONFIGURATION})
        for nth, (entering, leaves, pressure, victim) in enumerate(steps):
            # Other ports occupy none, one third, two thirds or all of the rest of the pool.
            own = used - others
            others = max(buffer.room_bytes - own, 0) * pressure // 3
            used = own + others
            leaving = packets.pop(0) if leaves and packets else 0
            inputs = {"enqueue": entering > 0, "enqueue_size": entering, "victim": victim}
            inputs |= {"dequeue": leaving > 0, "dequeue_size": leaving, "pool_used": used}
            seen = await bench.cycle({name: int(value) for name, value in inputs.items()})
            expected = model.step(entering, leaving, used, victim)
            used = used + seen["pool_add"] - seen["pool_free"]
            assert used == expected.pool_used, f"cycle {nth}: pool after {inputs}"
            for name in ("accept", "drop", "spared", "xon", "xoff"):
                output = f"send_{name}" if name in ("xon", "xoff") else name
                assert seen[output] == getattr(expected, name), f"cycle {nth}: {name} of {inputs}"
            if expected.accept:
                packets.append(entering)
        assert int(dut.bytes.value) == model.held
        assert int(dut.headroom.value) == model.headroom
        assert int(dut.paused.value) == model.paused

    def drawn(rng: random.Random, count: int) -> Any:
        pool = rng.choice((3000, 20_000, 60_000))
        buffer = Buffer(
            reserve=rng.choice((0, 1500, 4096)),
            headroom_limit=rng.choice((0, 3000, 6000)),
            xon_offset=rng.choice((0, 1500, 3072)),
            buffer_bytes=rng.choice((9000, 30_000, (1 << 32) - 1)),
            pool_bytes=pool,
            room_bytes=pool + rng.choice((0, 3000, 40_000)),
            last_frames=rng.choice((0, 1500, 6000)),
            is_dynamic=rng.random() < 0.7,
            alpha=rng.choice((7209, 32_768, 131_072, (1 << 20) - 1)),
            fixed_threshold=rng.choice((0, 3000, 9000)),
        )
        sizes = rng.choice(((0, 64, 1048, 1500), (0, 1500), (0, 500, 1000, 1500, 9000)))
        # Few packets leave at first and many later, so that the buffer fills and drains.
        steps = [
            (
                rng.choice(sizes),
                rng.random() < (0.3 if nth // 60 % 2 == 0 else 0.9),
                rng.choice((0, 0, 1, 2, 3)),
                rng.random() < 0.3,
            )
            for nth in range(count)
        ]
        return buffer, steps

    await follow_long(follow, drawn)
    await check(st.tuples(buffers(), st.lists(step, min_size=1, max_size=120)), follow)


@circuit_test
async def pause_timer(dut: Any) -> None:
    """Check that pauses last exactly the quanta of the last frame, for random frames."""
    cycles = int(dut.CYCLES.value)
    bench = Bench(dut, ["paused", "expired"])
    quanta = st.one_of(st.integers(0, 4), st.just(100))
    step = st.one_of(st.just({}), st.dictionaries(st.integers(0, 7), quanta, max_size=4))

    async def follow(steps: Any) -> None:
        model = PauseTimers(cycles)
        await bench.reset({"frame": 0})
        shown = 0
        for nth, frame in enumerate(steps):
            times = sum(time << 16 * priority for priority, time in frame.items())
            inputs = {"frame": int(bool(frame)), "enable": mask(set(frame)), "quanta": times}
            seen = await bench.cycle(inputs)
            paused, expires = model.step(frame)
            assert seen == {"paused": paused, "expired": shown}, f"cycle {nth}"
            shown = expires
        left = [int(dut.timers[priority].left.value) for priority in range(8)]
        assert left == model.left

    def drawn(rng: random.Random, count: int) -> Any:
        return [
            {p: rng.randint(0, 6) for p in rng.sample(range(8), rng.choice((0, 0, 0, 1, 3)))}
            for _ in range(count)
        ]

    await follow_long(follow, drawn)
    await check(st.lists(step, min_size=1, max_size=200), follow)


@circuit_test
async def a_pause_lasts_its_quanta(dut: Any) -> None:
    """Check that pauses of 100 and of 65535 quanta last as many times 512 bit times."""
    cycles = int(dut.CYCLES.value)
    bench = Bench(dut, ["paused", "expired"])
    for quanta in (100, 65_535):
        await bench.reset({"frame": 0})
        await bench.cycle({"frame": 1, "enable": 1 << 3, "quanta": quanta << 48})
        lasted = 0
        while (await bench.cycle({"frame": 0}))["paused"]:
            lasted += 1
        assert lasted == quanta * cycles


@circuit_test
async def generator(dut: Any) -> None:
    """Check frames and repetitions for random requests, and a port that cannot always send."""
    quanta, period = int(dut.QUANTA.value), int(dut.REFRESH.value) * int(dut.CYCLES.value)
    bench = Bench(dut, ["frame", "enable", "quanta", "repeats"])
    asked = st.one_of(st.just(set()), PRIORITIES)
    step = st.tuples(asked, asked, st.booleans())

    async def follow(steps: Any) -> None:
        model = Generator(quanta, period)
        await bench.reset({"send_xon": 0, "send_xoff": 0, "ready": 0})
        for nth, (xon, xoff, ready) in enumerate(steps):
            inputs = {"send_xon": mask(xon), "send_xoff": mask(xoff), "ready": int(ready)}
            seen = await bench.cycle(inputs)
            frame, repeats = model.step(xon, xoff, ready)
            assert seen["repeats"] == mask(repeats), f"cycle {nth}: {inputs}"
            assert seen["frame"] == (frame is not None), f"cycle {nth}: {inputs}"
            if frame is not None:
                assert seen["enable"] == mask(set(frame)), f"cycle {nth}: {inputs}"
                times = {p: seen["quanta"] >> 16 * p & 0xFFFF for p in frame}
                assert times == frame, f"cycle {nth}: {inputs}"
        for priority in range(8):
            circuit = dut.queues[priority]
            assert int(circuit.left.value) == model.left.get(priority, 0)
            assert int(circuit.waits_xoff.value) == (priority in model.waits_xoff)
            assert int(circuit.waits_xon.value) == (priority in model.waits_xon)

    def drawn(rng: random.Random, count: int) -> Any:
        def some() -> set[int]:
            return set(rng.sample(range(8), rng.choice((0, 0, 0, 0, 1, 2))))

        return [(some(), some(), rng.random() < 0.5) for _ in range(count)]

    await follow_long(follow, drawn)
    await check(st.lists(step, min_size=1, max_size=150), follow)


def configuration(trace: Trace) -> dict[str, int]:
    """Return the inputs that configure the circuit like the buffer of a trace."""
    config = trace.config
    pool = config["pool_bytes"]
    limits = trace.of_ports("headroom")
    values = {name: config[name] for name in ("reserve", "xon_offset", "buffer_bytes")}
    values |= {"pool_bytes": pool, "room_bytes": pool + config.get("beside", 0)}
    values |= {"last_frames": config["last_frames"], "has_victims": int("beside" in config)}
    values |= {"counts_bytes": config.get("counts_bytes", 0), "alpha": config.get("alpha", 0)}
    values |= {"is_dynamic": int("alpha" in config), "pulse": 0, "enqueue": 0, "dequeue": 0}
    values |= {"fixed_threshold": config.get("fixed_threshold", 0)}
    values |= {"counting_number": config.get("counting_number.0", 1)}
    values |= {"headroom_limit": sum(bytes_ << 32 * port for port, bytes_ in enumerate(limits))}
    return values


@circuit_test
async def buffer_trace(dut: Any) -> None:
    """Check that the buffer of a switch decides as the dataplane for every packet of a trace."""
    trace = read(Path(os.environ["HARDWARE_TRACE"]))
    ports = trace.config["ports"]
    assert ports == int(dut.PORTS.value)
    numbers = {value for key, value in trace.config.items() if key.startswith("counting_number")}
    assert len(numbers) <= 1, "the circuit has one counting number for all ports"
    pulses = int(dut.PULSES.value)
    period = trace.config.get("interval_ps", 1 << 62) // pulses
    assert period * pulses == trace.config.get("interval_ps", period * pulses)
    bench = Bench(dut, ["accept", "drop", "send_xon", "send_xoff", "victim", "pool_used"])
    await bench.reset(configuration(trace))
    pulse_ps = period
    idle = {"pulse": 0, "enqueue": 0, "dequeue": 0}
    for nth, (side, numbers) in enumerate(trace.events):
        if side not in ("enqueue", "dequeue"):
            continue
        now, port, size, *decided = numbers
        while pulse_ps <= now:  # SPFC-10: the clock runs out before an event of the same time.
            await bench.cycle({**idle, "pulse": 1})
            pulse_ps += period
        seen = await bench.cycle({**idle, side: 1, f"{side}_port": port, f"{side}_size": size})
        enters = side == "enqueue"
        dropped, xoff, xon = (*decided, 0) if enters else (0, 0, *decided)
        at = ("event", nth, side, numbers)
        assert seen["accept"] == (enters and not dropped), at
        assert seen["drop"] == dropped, at
        assert seen["send_xoff"] == xoff << port, at
        assert seen["send_xon"] == xon << port, at
    while pulse_ps <= trace.state["end"][0][0]:
        await bench.cycle({**idle, "pulse": 1})
        pulse_ps += period
    seen = await bench.cycle(idle)
    assert [[seen["pool_used"]]] == trace.state["pool"]
    victims = sum(victim << port for port, _, victim in trace.state["level"])
    assert seen["victim"] == (victims if "beside" in trace.config else 0)
    for port, held, _ in trace.state["level"]:
        circuit = dut.ports[port].ingress
        assert int(circuit.bytes.value) + int(circuit.headroom.value) == held, f"port {port}"


@circuit_test
async def pause_trace(dut: Any) -> None:
    """Check that a host is paused and resumed in the same cycles as in the dataplane."""
    trace = read(Path(os.environ["HARDWARE_TRACE"]))
    cycles = int(dut.CYCLES.value)
    host = random.Random(1).choice(sorted({host for _, host, _ in trace.all("frame")}))
    # One cycle sends as many bits as the data path is wide.
    rate = trace.config["rate_bps.0"]
    cycle_ps = 512 * 10**12 // rate // cycles
    assert cycle_ps * cycles * rate == 512 * 10**12
    bench = Bench(dut, ["paused"])
    changes = {at: bool(paused) for at, of, paused in trace.all("paused") if of == host}
    assert changes, "the trace pauses this host"
    await bench.reset({"frame": 0, "enable": 1, "quanta": 0})
    now, paused = 0, 0
    frames = sorted((at, quanta) for at, of, quanta in trace.all("frame") if of == host)
    found: dict[int, bool] = {}

    async def until(at_ps: int) -> None:
        nonlocal now, paused
        while now < at_ps:
            seen = (await bench.cycle({"frame": 0}))["paused"]
            if seen != paused:
                found[now] = bool(seen)
                paused = seen
            now += cycle_ps

    for at_ps, quanta in frames:
        assert at_ps % cycle_ps == 0, "every time of the trace is a multiple of a cycle"
        # The frame has arrived at this instant: the port is paused from this cycle on.
        await until(at_ps - cycle_ps)
        seen = (await bench.cycle({"frame": 1, "quanta": quanta}))["paused"]
        if seen != paused:
            found[now] = bool(seen)
            paused = seen
        now += cycle_ps
    await until(trace.state["end"][0][0])
    assert found == {at: paused for at, paused in changes.items() if at < now}
