//! Compares waiting times and numbers of active flows with results of queueing theory.

use super::*;
use crate::common::*;
use dataplane::config::{Admission, Classify, Schedule};
use dataplane::units::{MS, US};
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// Sender links so fast that the packets of a flow arrive at the switch at the same time.
const FEED: LinkSpec = link(100_000, US);

/// Poisson flows of the given sizes from random senders to the last host, with a mean distance of
/// `mean_gap_ps`.
fn poisson(
    seed: u64,
    senders: u32,
    mean_gap_ps: f64,
    until_ps: u64,
    mut size: impl FnMut(&mut Stream) -> u64,
) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut at = 0.0;
    let mut flows = Vec::new();
    loop {
        at += random.exponential() * mean_gap_ps;
        if at >= until_ps as f64 {
            return flows;
        }
        let src = random.below(u64::from(senders)) as u32;
        let bytes = size(&mut random);
        flows.push(flow(flows.len() as u32, at as u64, src, senders, bytes));
    }
}

/// Returns the mean, and half of its confidence interval of 99.9 %, computed from the means of 40
/// batches.
fn batch_means(values: &[f64]) -> (f64, f64) {
    let batches: Vec<f64> = values
        .chunks(values.len() / 40)
        .take(40)
        .map(|b| b.iter().sum::<f64>() / b.len() as f64)
        .collect();
    let mean = batches.iter().sum::<f64>() / 40.0;
    let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 39.0;
    (mean, 3.56 * (variance / 40.0).sqrt())
}

/// M/D/1: single packets at Poisson times wait ρ·S / (2·(1 − ρ)) on average.
// ENG-02
#[test]
fn single_packets_wait_as_long_as_m_d_1_says() {
    for (seed, load) in [(1, 0.3), (2, 0.6), (3, 0.8)] {
        let gap = FRAME_PS as f64 / load;
        let flows = poisson(seed, 50, gap, (gap * 120_000.0) as u64, |_| 1000);
        let mut s = line_rate(funnel(50, FEED), flows);
        s.switch.mmu.admission = Admission::Unlimited;
        let (_, keep) = s.run();
        let mut records = keep.flows;
        records.sort_unstable_by_key(|r| r.flow.id);
        let waits: Vec<f64> = records
            .iter()
            .skip(2000)
            .map(|r| (r.received_ps.unwrap() - r.flow.start_ps - r.ideal_received_ps) as f64)
            .collect();
        let (mean, half) = batch_means(&waits);
        let theory = load * FRAME_PS as f64 / (2.0 * (1.0 - load));
        assert!(half < 0.1 * theory, "load {load}: ± {half} says nothing");
        assert!(
            (mean - theory).abs() < half,
            "load {load}: mean wait {mean:.0} ± {half:.0} ps, M/D/1 says {theory:.0}"
        );
    }
}

/// Returns the distribution of the number of active flows at the port to the last host, as
/// fractions of all probes.
fn active_flows(load: f64, seed: u64, fair: bool) -> Vec<f64> {
    // Nine tenths of the flows have 100 packets and one tenth has 1000 packets: 190 on average.
    let gap = 190.0 * FRAME_PS as f64 / load;
    let until = 250 * MS;
    let flows = poisson(seed, 50, gap, until, |r| {
        if r.below(10) == 0 { 1_000_000 } else { 100_000 }
    });
    let mut s = line_rate(funnel(50, FEED), flows);
    s.switch.mmu.admission = Admission::Unlimited;
    if fair {
        s.switch.classify = Classify::PerFlow;
        s.switch.schedule = Schedule::Drr { quantum: 1048 };
    }
    s.nic.ack_every = 1 << 20;
    s.nic.recovery = dataplane::config::Recovery::go_back_n(900 * MS);
    s.until_ps = until;
    // The active flows of a port are counted at every eighth probe.
    s.probe_ps = 10 * US / 8;
    let (outcome, _) = s.run();
    let counts = &port(&outcome, 51, 50).active_flows;
    let all: u64 = counts.iter().sum();
    assert!(all > until / (10 * US) - 100, "a probe each 10 us: {all}");
    counts.iter().map(|&n| n as f64 / all as f64).collect()
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().enumerate().map(|(n, p)| n as f64 * p).sum()
}

/// Returns the largest distance between the distribution function and that of the geometric
/// distribution.
fn distance(shares: &[f64], load: f64) -> f64 {
    let (mut ours, mut theirs, mut most) = (0.0, 0.0, 0.0f64);
    let mut p = 1.0 - load;
    for &share in shares {
        ours += share;
        theirs += p;
        p *= load;
        most = most.max((ours - theirs).abs());
    }
    most
}

/// Under fair queueing, the number of active flows has a geometric distribution for any flow sizes.
/// FIFO does not have this property.
// BFC-22, SW-25, ENG-30, ENG-31
#[test]
fn active_flows_under_fair_queueing_are_geometric() {
    for (load, seed) in [(0.5, 11), (0.7, 12)] {
        let shares = active_flows(load, seed, true);
        let theory = load / (1.0 - load);
        assert!(
            (mean(&shares) / theory - 1.0).abs() < 0.08,
            "load {load}: {:.3} active flows, theory says {theory:.3}",
            mean(&shares)
        );
        assert!(
            distance(&shares, load) < 0.02,
            "load {load}: distance {}",
            distance(&shares, load)
        );
    }
    let fifo = active_flows(0.7, 12, false);
    // Pollaczek-Khinchine formula: ρ + ρ²·(1 + cv²) / (2·(1 − ρ)), here 3.18, compared with 2.33
    // for the geometric distribution.
    assert!(
        distance(&fifo, 0.7) > 0.05,
        "FIFO: {}",
        distance(&fifo, 0.7)
    );
}
