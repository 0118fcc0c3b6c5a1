//! Bolt in whole networks, compared with the published results of its authors.

use super::*;
use crate::common::*;
use dataplane::config::Admission;
use dataplane::signal::NotifierConfig;
use dataplane::switch::SwitchConfig;
use dataplane::units::US;
use fabric::record::FlowRecord;

/// Measured values at the port to the receiver of an incast.
struct Incast {
    /// 99th percentile of the bytes in the queue, sampled every µs until the last byte has arrived.
    queue_p99: u64,
    /// Payload rate in Gbit/s.
    gbps: f64,
}

/// A star at 100 Gb/s, in which each of `senders` hosts has `each` flows of `bytes`. As in the
/// authors' experiment, the buffer has room for the first windows of all flows.
fn incast(preset: Preset, senders: u32, each: u32, bytes: u64) -> Incast {
    let flows = (0..senders * each).map(|i| flow(i, 0, i % senders, senders, bytes));
    let mut s = preset(star(senders + 1), flows.collect());
    s.switch.mmu.buffer_bytes = 320_000_000;
    s.switch.mmu.admission = Admission::SharedPool;
    s.probe_ps = US;
    let (outcome, keep) = s.run();
    assert_eq!(outcome.counters.drops.iter().sum::<u64>(), 0);
    let received = |flow: &FlowRecord| flow.received_ps.expect("the flow is complete");
    let end_ps = keep.flows.iter().map(received).max().expect("flows");
    let samples = keep.buffers.iter().take((end_ps / US) as usize);
    let mut queues: Vec<u64> = samples.map(|sample| sample.max_port_bytes).collect();
    queues.sort_unstable();
    Incast {
        queue_p99: queues[queues.len() * 99 / 100],
        gbps: (u64::from(senders * each) * bytes) as f64 * 8e3 / end_ps as f64,
    }
}

/// BOLT-30: the order that the authors published for 50 senders with 100 flows each: the queue of
/// Bolt is shorter than that of HPCC, and that one shorter than Swift's. Bolt uses at least as much
/// of the link as HPCC.
#[test]
fn in_an_incast_bolt_has_shorter_queues_than_hpcc_and_swift() {
    for (senders, each, bytes) in [(16, 25, 250_000), (16, 4, 1_000_000), (8, 1, 4_000_000)] {
        let of = |preset: Preset| incast(preset, senders, each, bytes);
        let (bolt, hpcc, swift) = (of(bolt), of(hpcc), of(swift));
        let queues = [bolt.queue_p99, hpcc.queue_p99, swift.queue_p99];
        assert!(
            queues.is_sorted_by(|a, b| a < b),
            "{senders} × {each}: {queues:?}"
        );
        let used = [bolt.gbps, hpcc.gbps];
        assert!(used[0] >= used[1], "{senders} × {each}: {used:?}");
    }
}

/// Returns the use of a link of 100 Gbit/s from 20 to 100 µs after the end of the shorter one of
/// two flows. The base RTT is 8 µs. The switch before the link runs Bolt. If `everywhere` is true,
/// the switch after the link runs Bolt too.
fn use_after_a_flow(ramp_up_tokens: u16, everywhere: bool) -> f64 {
    let (host, shared) = (link(102, 1_272_000), link(100, 1_272_000));
    let hosts = [(0, 4, host), (1, 4, host), (2, 5, host), (3, 5, host)];
    let links = hosts.into_iter().chain([(4, 5, shared)]).collect();
    let flows = vec![flow(0, 0, 0, 2, 5_000_000), flow(1, 0, 1, 3, 20_000_000)];
    let mut s = bolt(named(4, 2, links), flows);
    if !everywhere {
        let plain = SwitchConfig {
            notifier: None,
            ..s.switch.clone()
        };
        s.switch_at.add([NodeId::new(5)], plain);
    }
    let Some(NotifierConfig::Bolt(config)) = &mut s.switch.notifier else {
        panic!("Bolt has notices");
    };
    config.ramp_up_tokens = ramp_up_tokens;
    let end_ps = s.clone().run().1.flows[0].received_ps.expect("complete");
    let sent_by = |until_ps| {
        let run = Setup {
            until_ps,
            ..s.clone()
        };
        port(&run.run().0, 4, 5).tx_bytes
    };
    let (from_ps, until_ps) = (end_ps + 20 * US, end_ps + 100 * US);
    (sent_by(until_ps) - sent_by(from_ps)) as f64 * 80.0 / (until_ps - from_ps) as f64
}

/// BOLT-03, BOLT-31, BOLT-32: when one flow ends, the tokens of its last window let the other flow
/// fill the link. Without them, or if the next switch clears *increase*, the load grows from one
/// half by some packets per round trip.
#[test]
fn the_link_is_full_soon_after_a_flow_ends() {
    let with = use_after_a_flow(256, false);
    assert!(with > 0.99, "{with}");
    for (tokens, everywhere) in [(0, false), (256, true)] {
        let part = use_after_a_flow(tokens, everywhere);
        assert!(part < 0.75, "{tokens} {everywhere}: {part}");
    }
}
