//! Optional records: equal to values that were computed by hand, or to a naive count, and without
//! any effect on the run.

use fabric::NodeId;
use std::collections::BTreeMap;

use crate::common::*;
use dataplane::config::Admission;
use dataplane::hop::HopConfig;
use dataplane::hop::floodgate::FloodgateConfig;
use dataplane::units::{NS, Time, US};
use fabric::measure::{
    Blame, CaptureSpec, DelayBin, DelayHistogram, IngressSeries, PauseRecording, QueueHistogram,
    QueueSeries, RecordSpec, RecordedPorts, RttHistogram, Throughput, Utilisation,
    UtilisationRecord, Waiting, WaitingRecord,
};
use fabric::record::{Counters, PauseRecord};
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// Transmission time of a frame of 1048 B at 100 Gbit/s, ps.
const FRAME_PS: Time = 83_840;

/// Enables all measures, with sample intervals that are not multiples of each other.
fn everything() -> RecordSpec {
    RecordSpec {
        throughput: Some(Throughput { every_ps: 7 * US }),
        utilisation: Some(Utilisation { every_ps: 3 * US }),
        queues: Some(QueueSeries {
            every_ps: US,
            ports: RecordedPorts::Switches,
        }),
        ingress: Some(IngressSeries {
            every_ps: 700 * NS,
            ports: RecordedPorts::Switches,
        }),
        histogram: Some(QueueHistogram {
            every_ps: 130 * NS,
            bin_bytes: 1000,
            window_ps: (5 * US, 50 * US),
        }),
        rtt: Some(RttHistogram {
            bin_ps: 100 * NS,
            window_ps: (0, 1000 * US),
        }),
        delay: Some(DelayHistogram {
            bin_ps: 100 * NS,
            window_ps: (0, 1000 * US),
        }),
        pauses: Some(PauseRecording { flows: true }),
        blame: Some(Blame { hops: true }),
        capture: Some(CaptureSpec {
            links: vec![(NodeId::new(0), 0), (NodeId::new(1), 0)],
            from_ps: 3 * US,
            until_ps: 60 * US,
            snaplen: 64,
            limit_bytes: 100_000,
            files: 1,
        }),
        waiting: Some(Waiting {
            window_ps: (2 * US, 90 * US),
        }),
    }
}

fn busy() -> Vec<Flow> {
    let mut random = Stream::new(11, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..200)
        .map(|id| {
            let src = random.below(8) as u32;
            let dst = (src + 1 + random.below(7) as u32) % 8;
            flow(
                id,
                random.below(40) * US,
                src,
                dst,
                1 + random.below(60_000),
            )
        })
        .collect();
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in flows.iter_mut().enumerate() {
        f.id = id as u32;
    }
    flows
}

// RCD-01
#[test]
fn recording_changes_no_result_and_neither_does_elision_change_what_is_recorded() {
    for (name, preset) in PRESETS {
        let plain = preset(leaf_spine(2, 2, 4), busy());
        let (without, nothing) = plain.clone().run();
        let recorded = Setup {
            record: everything(),
            ..plain
        };
        let (with, a) = recorded.clone().run();
        assert_eq!(without.digest, with.digest, "{name}");
        // The number of engine events may depend on the recording, so it is not compared.
        let counted = |counters: &Counters| Counters {
            events: 0,
            ..counters.clone()
        };
        assert_eq!(
            counted(&without.counters),
            counted(&with.counters),
            "{name}"
        );
        assert_eq!(nothing.flows, a.flows, "{name}");
        assert!(nothing.throughput.is_empty() && nothing.port_queues.is_empty());
        assert!(nothing.ingress.is_empty());
        assert!(nothing.histogram.is_empty() && nothing.rtt.is_empty());
        assert!(nothing.waiting.is_empty());
        let full = Setup {
            elide: false,
            ..recorded.clone()
        };
        let other_probe = Setup {
            probe_ps: 3 * US,
            ..recorded
        };
        for (what, setup) in [("all events", full), ("other probes", other_probe)] {
            let b = setup.run().1;
            assert_eq!(a.throughput, b.throughput, "{name}, {what}");
            assert_eq!(a.utilisation, b.utilisation, "{name}, {what}");
            assert_eq!(a.port_queues, b.port_queues, "{name}, {what}");
            assert_eq!(a.ingress, b.ingress, "{name}, {what}");
            assert_eq!(a.histogram, b.histogram, "{name}, {what}");
            assert_eq!(a.rtt, b.rtt, "{name}, {what}");
            assert_eq!(a.waiting, b.waiting, "{name}, {what}");
            assert_eq!(a.blame, b.blame, "{name}, {what}");
            assert_eq!(a.hops, b.hops, "{name}, {what}");
        }
    }
}

// RCD-02
#[test]
fn the_throughput_of_a_lone_flow_is_what_its_frames_say() {
    let mut s = line_rate(star(2), vec![flow(0, 0, 0, 1, 500_000)]);
    s.record.throughput = Some(Throughput { every_ps: 10 * US });
    let (_, keep) = s.run();
    // Frame n (counted from 0) arrives after n + 2 frame times and two link delays. An arrival at
    // the end of an interval belongs to the next interval.
    let arrived_before = |t: Time| ((t - 1 - 2 * US - FRAME_PS) / FRAME_PS).min(500) * 1000;
    for record in &keep.throughput {
        let before = match record.at_ps {
            10_000_000 => 0,
            at => arrived_before(at - 10 * US),
        };
        assert_eq!(record.bytes, arrived_before(record.at_ps) - before);
    }
    assert_eq!(keep.throughput.len(), 5, "44 us in steps of 10 us");
    let total: u64 = keep.throughput.iter().map(|r| r.bytes).sum();
    assert_eq!(total, 500_000);
}

// RCD-02
#[test]
fn throughput_adds_up_to_the_flows_also_after_losses() {
    let mut s = bfc(leaf_spine(2, 2, 4), busy());
    s.switch.mmu.buffer_bytes = 40_000;
    s.record = everything();
    let (outcome, keep) = s.run();
    assert!(outcome.counters.retransmissions > 0, "something was lost");
    let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
    for record in &keep.throughput {
        assert!(record.bytes > 0 && record.at_ps.is_multiple_of(7 * US));
        *bytes.entry(record.flow).or_default() += record.bytes;
    }
    for record in &keep.flows {
        assert_eq!(bytes[&record.flow.id], record.flow.bytes);
    }
    let order = |r: &&[fabric::measure::ThroughputRecord]| {
        (r[0].at_ps, r[0].flow) < (r[1].at_ps, r[1].flow)
    };
    assert!(keep.throughput.windows(2).all(|w| order(&w)));
}

// RCD-12
#[test]
fn what_ports_sent_by_interval_adds_up_and_frames_under_way_are_divided() {
    // Intervals of a tenth of a frame (a frame spans several intervals), and intervals of several
    // frames.
    for every_ps in [FRAME_PS / 10, 7 * US] {
        let mut s = line_rate(star(2), vec![flow(0, 0, 0, 1, 500_000)]);
        s.record.utilisation = Some(Utilisation { every_ps });
        let (_, keep) = s.run();
        let of_sender = keep.utilisation.iter().filter(|r| r.node == NodeId::new(0));
        let mut left_ps = 500 * FRAME_PS;
        for (nth, row) in (1..).zip(of_sender) {
            assert_eq!(
                (row.at_ps, row.port, row.peer.bits()),
                (nth * every_ps, 0, 2)
            );
            assert_eq!(row.busy_ps, left_ps.min(every_ps), "it sends without a gap");
            let (from, to) = (row.at_ps - every_ps, row.at_ps);
            let began = to.div_ceil(FRAME_PS).min(500) - from.div_ceil(FRAME_PS).min(500);
            assert_eq!(row.bytes, began * 1048);
            left_ps -= row.busy_ps;
        }
        assert_eq!(left_ps, 0);
    }
}

// RCD-12
#[test]
fn what_all_ports_sent_adds_up_to_the_counts_of_the_run() {
    for (name, preset) in PRESETS {
        let mut s = preset(leaf_spine(2, 2, 4), busy());
        s.record = everything();
        let (outcome, keep) = s.run();
        let place = |r: &UtilisationRecord| (r.at_ps, r.node, r.port);
        assert!(keep.utilisation.is_sorted_by_key(place), "{name}");
        let mut bytes: BTreeMap<(u32, u16), u64> = BTreeMap::new();
        for row in &keep.utilisation {
            assert!((1..=3 * US).contains(&row.busy_ps), "{name}: {row:?}");
            *bytes.entry((row.node.bits(), row.port)).or_default() += row.bytes;
        }
        for port in &outcome.ports {
            let sent = bytes.get(&(port.node.bits(), port.port)).copied();
            assert_eq!(sent.unwrap_or(0), port.tx_bytes, "{name}: {port:?}");
        }
    }
}

/// Returns the queued bytes of every switch port at the times `k * every_ps` up to `end_ps`,
/// reconstructed from the time series.
fn unfolded(keep: &Keep, every_ps: Time, end_ps: Time) -> BTreeMap<(u32, u16), Vec<u64>> {
    let mut ports: BTreeMap<(u32, u16), Vec<u64>> = BTreeMap::new();
    for s in &keep.port_queues {
        let values = ports.entry((s.node.bits(), s.port)).or_default();
        let at = (s.at_ps / every_ps) as usize;
        assert!(s.at_ps.is_multiple_of(every_ps));
        let last = values.last().copied();
        assert_ne!(last, Some(s.bytes), "only changes are told");
        assert_eq!(values.is_empty(), at == 0, "the first sample is at 0");
        values.resize(at, last.unwrap_or(0));
        values.push(s.bytes);
    }
    let samples = (end_ps / every_ps + 1) as usize;
    for values in ports.values_mut() {
        let last = values[values.len() - 1];
        values.resize(samples, last);
    }
    ports
}

// RCD-03, RCD-04
#[test]
fn series_agree_with_probes_at_every_instant() {
    for (name, preset) in PRESETS {
        let mut s = preset(leaf_spine(2, 2, 4), busy());
        s.probe_ps = US;
        s.record = everything();
        let (outcome, keep) = s.run();
        let ports = unfolded(&keep, US, outcome.end_ps);
        assert_eq!(ports.len(), 2 * (4 + 2) + 2 * 2, "{name}: all switch ports");
        let mut busiest = 0;
        for sample in keep.buffers.iter().filter(|b| b.at_ps <= outcome.end_ps) {
            let at = (sample.at_ps / US) as usize;
            let of = ports
                .iter()
                .filter(|(port, _)| port.0 == sample.node.bits());
            let most = of.map(|(_, values)| values[at]).max().unwrap();
            assert_eq!(most, sample.max_port_bytes, "{name} at {}", sample.at_ps);
            busiest = busiest.max(most);
        }
        assert!(busiest > 50_000, "{name}: something queued");
    }
}

// RCD-05, RCD-06
#[test]
fn histograms_count_what_series_on_the_same_grid_show() {
    for (name, preset) in PRESETS {
        let mut s = preset(leaf_spine(2, 2, 4), busy());
        s.record = everything();
        let every_ps = 130 * NS;
        s.record.queues.as_mut().unwrap().every_ps = every_ps;
        // The window starts at a sample time of the series (step 40) and ends between two sample
        // times.
        let (from, to) = (40, 300);
        s.record.histogram.as_mut().unwrap().window_ps = (from * every_ps, to * every_ps - 50 * NS);
        let (outcome, keep) = s.run();
        assert!(outcome.end_ps > to * every_ps);
        let mut expected: BTreeMap<(NodeId, u16, u64), u64> = BTreeMap::new();
        for ((node, port), values) in unfolded(&keep, every_ps, outcome.end_ps) {
            for bytes in &values[from as usize..to as usize] {
                *expected
                    .entry((NodeId::from_bits(node), port, bytes / 1000 * 1000))
                    .or_default() += 1;
            }
        }
        let counted: BTreeMap<(NodeId, u16, u64), u64> = keep
            .histogram
            .iter()
            .map(|b| ((b.node, b.port, b.bin_bytes), b.samples))
            .collect();
        assert_eq!(counted, expected, "{name}");
        assert_eq!(counted.len(), keep.histogram.len(), "each bin once");
    }
}

// RCD-03, RCD-06
#[test]
fn a_sample_sees_its_own_instant_when_it_is_over() {
    // Two hosts send one frame each at the same time. The second frame waits at the switch, from
    // the arrival of both frames until the end of the first transmission.
    let flows = vec![flow(0, 0, 0, 2, 1000), flow(1, 0, 1, 2, 1000)];
    let arrival = FRAME_PS + US;
    let mut s = line_rate(star(3), flows);
    s.switch.mmu.admission = Admission::Unlimited;
    s.record.histogram = Some(QueueHistogram {
        every_ps: FRAME_PS,
        bin_bytes: 1,
        window_ps: (arrival - FRAME_PS, arrival + 2 * FRAME_PS),
    });
    let (_, keep) = s.run();
    let of: Vec<(u64, u64)> = keep
        .histogram
        .iter()
        .filter(|b| b.peer == NodeId::new(2))
        .map(|b| (b.bin_bytes, b.samples))
        .collect();
    // Before the arrival the queue is empty. At the arrival one frame is in transmission, and one
    // waits. One frame time later the queue is empty.
    assert_eq!(of, [(0, 2), (1048, 1)]);
}

// RCD-07
#[test]
fn round_trips_are_from_first_bit_to_acknowledgement() {
    let flows = vec![flow(0, 0, 0, 1, 100_000), flow(1, 100 * US, 0, 1, 1)];
    let mut s = line_rate(star(2), flows);
    s.record.rtt = Some(RttHistogram {
        bin_ps: 1,
        window_ps: (0, 50 * US),
    });
    let (_, keep) = s.clone().run();
    let rtt = 2 * (FRAME_PS + US) + 2 * (60 * 80 + US);
    let bins = |keep: &Keep| -> Vec<(u64, u64)> {
        keep.rtt.iter().map(|b| (b.bin_ps, b.samples)).collect()
    };
    assert_eq!(bins(&keep), [(rtt, 100)], "the second flow is outside");
    s.record.rtt = Some(RttHistogram {
        bin_ps: US,
        window_ps: (0, 500 * US),
    });
    let (_, keep) = s.run();
    assert_eq!(bins(&keep), [(4 * US, 101)], "lower edges");
}

#[test]
fn only_the_ports_that_are_named_are_in_the_series() {
    let mut s = line_rate(leaf_spine(2, 1, 2), vec![flow(0, 0, 0, 3, 100_000)]);
    s.record.queues = Some(QueueSeries {
        every_ps: US,
        ports: RecordedPorts::Listed(vec![(NodeId::new(5), 1)]),
    });
    let (_, keep) = s.run();
    assert!(!keep.port_queues.is_empty());
    assert!(
        keep.port_queues
            .iter()
            .all(|q| (q.node, q.port, q.peer) == (NodeId::new(5), 1, NodeId::new(3)))
    );
}

// RCD-13
#[test]
fn an_ingress_holds_what_came_in_by_it_and_the_threshold_falls_as_the_pool_fills() {
    let flows = (0..7).map(|src| flow(src, 0, src, 7, 400_000)).collect();
    let mut s = line_rate(star(8), flows);
    s.switch.mmu.buffer_bytes = 600_000;
    s.record.ingress = Some(IngressSeries {
        every_ps: US,
        ports: RecordedPorts::Listed(vec![(NodeId::new(8), 0), (NodeId::new(8), 3)]),
    });
    s.record.pauses = Some(PauseRecording { flows: false });
    let (_, keep) = s.run();
    let of = |port| keep.ingress.iter().filter(move |s| s.port == port);
    assert_eq!(of(0).count() + of(3).count(), keep.ingress.len());
    for port in [0, 3] {
        let levels: Vec<_> = of(port).map(|s| s.level).collect();
        // Frames of a busy ingress are in the buffer for some time, and none of them at the end.
        let most = levels.iter().map(|l| l.bytes).max().unwrap();
        assert!(most > 20_000 && levels.last().unwrap().bytes == 0);
        let limits = levels.iter().map(|l| l.threshold_bytes);
        let (low, high) = (limits.clone().min().unwrap(), limits.max().unwrap());
        assert!(low * 3 < high * 2, "{low} {high}");
        assert!(levels.iter().all(|l| !l.victim));
    }
    // Buffered bytes and threshold at the time of a pause agree with the rows of the samples around
    // it.
    let cause = keep.causes.iter().find(|c| c.port == 3).unwrap();
    let before = of(3).rfind(|s| s.at_ps <= cause.at_ps).unwrap();
    let after = of(3).find(|s| s.at_ps > cause.at_ps).unwrap();
    let (least, most) = (before.level.bytes, after.level.bytes);
    assert!((least..=most).contains(&cause.held_bytes));
}

// RCD-13
#[test]
fn ingresses_hold_together_what_is_in_the_buffer_also_what_a_hop_scheme_keeps_from_queues() {
    let mut s = line_rate(leaf_spine(2, 2, 4), flows(3, 8, 60));
    s.switch.hop = HopConfig::Floodgate(FloodgateConfig::PRACTICAL);
    s.probe_ps = 100 * NS;
    s.record.ingress = Some(IngressSeries {
        every_ps: 100 * NS,
        ports: RecordedPorts::Switches,
    });
    let (outcome, keep) = s.run();
    assert!(outcome.counters.hop["floodgate_held"] > 0);
    let mut rows = keep.ingress.iter().peekable();
    let mut levels = BTreeMap::new();
    let mut looked_at = 0;
    for at_ps in (0..outcome.end_ps).step_by(100_000) {
        while let Some(row) = rows.next_if(|row| row.at_ps <= at_ps) {
            levels.insert((row.node, row.port, row.class), row.level.bytes);
        }
        let probes = keep.buffers.iter();
        for probe in probes.filter(|probe| (probe.from_ps..=probe.at_ps).contains(&at_ps)) {
            let of_node = levels.iter().filter(|((node, ..), _)| *node == probe.node);
            let held: u64 = of_node.map(|(_, bytes)| bytes).sum();
            assert_eq!(
                held, probe.used_bytes,
                "switch {} at {at_ps} ps",
                probe.node
            );
            looked_at += u32::from(held > 0);
        }
    }
    assert!(looked_at > 500, "{looked_at}");
}

// RCD-10
#[test]
fn pauses_that_are_open_at_the_end_say_so() {
    let flows = (0..7).map(|src| flow(src, 0, src, 7, 400_000)).collect();
    let mut s = line_rate(star(8), flows);
    s.switch.mmu.buffer_bytes = 600_000;
    s.switch.mmu.reserved_bytes = 0;
    let (outcome, whole) = s.clone().run();
    assert!(!whole.pauses.is_empty() && whole.pauses.iter().all(|p| !p.open));
    // The run ends in the middle of a pause.
    let middle = whole.pauses[0];
    s.until_ps = middle.from_ps + (middle.to_ps - middle.from_ps) / 2;
    let (cut, keep) = s.run();
    assert!(cut.end_ps < outcome.end_ps);
    let (open, closed): (Vec<PauseRecord>, Vec<PauseRecord>) =
        keep.pauses.iter().partition(|p| p.open);
    assert!(open.iter().all(|p| p.to_ps == cut.end_ps));
    let same = |p: &&PauseRecord| {
        (p.node, p.port, p.class, p.from_ps)
            == (middle.node, middle.port, middle.class, middle.from_ps)
    };
    assert_eq!(open.iter().filter(same).count(), 1);
    assert!(closed.iter().all(|p| p.to_ps <= cut.end_ps));
    let paused: u64 = keep.pauses.iter().map(|p| p.to_ps - p.from_ps).sum();
    let counted: u64 = cut.ports.iter().map(|p| p.paused_ps).sum();
    assert_eq!(paused, counted, "one class, so the intervals add up");
}

// ENG-33
#[test]
fn idle_probes_are_told_together_and_count_one_by_one() {
    // Two bursts without packets in between; the second burst starts at a probe. A long idle time
    // precedes them.
    for second in [3000 * US, 3000 * US + 1, 3010 * US - 1, 140 * US] {
        let flows = vec![
            flow(0, 105 * US, 0, 3, 50_000),
            flow(1, second, 3, 0, 50_000),
        ];
        let (outcome, keep) = line_rate(leaf_spine(2, 1, 2), flows).run();
        let mut expanded = Vec::new();
        for b in keep.buffers.iter().filter(|b| b.node == NodeId::new(4)) {
            let every = (b.at_ps - b.from_ps) / (b.probes - 1).max(1);
            assert!(b.probes == 1 || (every == 10 * US && b.used_bytes == 0));
            expanded.extend((0..b.probes).map(|k| (b.from_ps + k * every, b.max_port_bytes)));
        }
        // Every probe time occurs exactly once.
        let times: Vec<Time> = expanded.iter().map(|e| e.0).collect();
        let all: Vec<Time> = (1..=times.len() as u64).map(|k| k * 10 * US).collect();
        assert_eq!(times, all, "second flow at {second}");
        let rows = keep
            .buffers
            .iter()
            .filter(|b| b.node == NodeId::new(4))
            .count();
        assert!(rows < 20 && outcome.end_ps > second, "{rows} rows");
        // The active flows of every port were counted as often as without idle time.
        for port in outcome.ports.iter().filter(|p| p.node >= NodeId::new(4)) {
            let turns: u64 = port.active_flows.iter().sum();
            assert!(turns.abs_diff(times.len() as u64 / 8) <= 1, "{turns} turns");
        }
    }
}

// ENG-31, ENG-33
#[test]
fn turns_of_ports_are_the_same_whether_probes_are_told_together_or_not() {
    let starts = [7 * US, 1234 * US, 2222 * US];
    let flows: Vec<Flow> = (0..)
        .zip(starts)
        .map(|(id, at)| flow(id, at, id % 3, 3, 400_000))
        .collect();
    let s = line_rate(star(6), flows.clone());
    let (idle, _) = s.clone().run();
    // The same run with small flows between two other hosts, so that the network is not empty at
    // any probe.
    let mut busy = s;
    let mut with_trickle = flows;
    with_trickle.extend((0..230).map(|k| flow(0, k * 10 * US + 9 * US, 4, 5, 10_000)));
    with_trickle.sort_by_key(|f| f.start_ps);
    for (id, f) in with_trickle.iter_mut().enumerate() {
        f.id = id as u32;
    }
    busy.flows = with_trickle;
    let (awake, keep) = busy.run();
    assert!(
        keep.buffers.iter().all(|b| b.probes == 1),
        "no probe was idle"
    );
    let probes = |outcome: &fabric::record::Outcome| outcome.end_ps / (10 * US);
    assert!(probes(&awake) >= probes(&idle));
    let of = |o: &fabric::record::Outcome, peer| {
        let ports = o
            .ports
            .iter()
            .filter(|p| p.node == NodeId::new(6) && p.peer == peer);
        let counts: Vec<u64> = ports.flat_map(|p| p.active_flows.clone()).collect();
        counts
    };
    // Port 3 has at most one active flow at a time, so its counts above 0 are the same in both
    // runs.
    assert_eq!(
        of(&idle, NodeId::new(3))[1..],
        of(&awake, NodeId::new(3))[1..]
    );
}

/// Three hosts send one frame each at the same time to a fourth host: the second frame waits for
/// one frame, the third for two.
// RCD-20
#[test]
fn packets_wait_for_those_before_them() {
    let flows = (0..3).map(|i| flow(i, 0, i, 3, 1_000)).collect();
    let mut s = line_rate(star(4), flows);
    s.record.delay = Some(DelayHistogram {
        bin_ps: FRAME_PS,
        window_ps: (0, 1000 * US),
    });
    let (_, keep) = s.run();
    let bin = |frames| DelayBin {
        node: NodeId::new(4),
        port: 3,
        peer: NodeId::new(3),
        scheduled: true,
        bin_ps: frames * FRAME_PS,
        samples: 1,
    };
    assert_eq!(keep.delays, [bin(0), bin(1), bin(2)]);
}

/// The first window of a message of 200 packets is sent without grants.
// RCD-20
#[test]
fn packets_of_homa_that_were_granted_are_told_apart() {
    let mut s = homa(star(2), vec![flow(0, 0, 0, 1, 200_000)]);
    s.record.delay = Some(DelayHistogram {
        bin_ps: US,
        window_ps: (0, 1000 * US),
    });
    let (outcome, keep) = s.run();
    let of = |scheduled| -> u64 {
        let bins = keep.delays.iter().filter(|b| b.scheduled == scheduled);
        bins.map(|b| b.samples).sum()
    };
    assert_eq!(of(true), outcome.counters.driven.grants);
    assert_eq!(of(false) + of(true), 200);
    assert!(of(false) > 40);
}

// RCD-11
#[test]
fn data_waits_for_what_came_before_it() {
    let mut flows = vec![flow(0, 0, 0, 2, 2000), flow(1, 0, 1, 2, 2000)];
    flows[1].incast = true;
    let mut s = line_rate(star(3), flows);
    s.record.waiting = Some(Waiting {
        window_ps: (0, 1000 * US),
    });
    let waiting = |s: &Setup| -> Vec<_> {
        let records = s.clone().run().1.waiting;
        let told = |r: &WaitingRecord| {
            assert_eq!(
                (r.node.bits(), r.port, r.peer.bits()),
                (3, 2, 2),
                "the switch's port to host 2"
            );
            (r.incast, r.packets, r.total_ps, r.max_ps)
        };
        records.iter().map(told).collect()
    };
    // Order of departures: flow 0 (immediately), flow 1 (one frame later), flow 0 (arrived with the
    // packet before it), flow 1 (two frames).
    let frame = u128::from(FRAME_PS);
    assert_eq!(
        waiting(&s),
        [
            (false, 2, frame, FRAME_PS),
            (true, 2, 3 * frame, 2 * FRAME_PS)
        ]
    );
    // Only packets that leave within the window are counted.
    let first = US + FRAME_PS;
    s.record.waiting = Some(Waiting {
        window_ps: (first, first + FRAME_PS),
    });
    assert_eq!(waiting(&s), [(false, 1, 0, 0)]);
    s.record.waiting = Some(Waiting {
        window_ps: (first + 1, first + FRAME_PS + 1),
    });
    assert_eq!(waiting(&s), [(true, 1, frame, FRAME_PS)]);
}
