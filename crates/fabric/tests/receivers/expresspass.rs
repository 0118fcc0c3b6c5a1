//! Tests of ExpressPass (`specs/expresspass.md`).

use super::*;
use dataplane::config::{Admission, PathChoice, Sending, TransportConfig};
use dataplane::sink::DropCause;
use dataplane::transport::expresspass::ExpressPassConfig;
use dataplane::units::US;
use fabric::routing::{asymmetry, routes};

fn with(s: Setup, change: impl FnOnce(&mut ExpressPassConfig)) -> Setup {
    let mut s = s;
    if let Sending::Transport(TransportConfig::ExpressPass(c)) = &mut s.nic.control {
        change(c);
        s.switch.shaped = Some(c.queue);
    }
    s
}

// XP-02, XP-14
#[test]
fn one_flow_gets_the_share_that_credits_leave() {
    let goodput = goodput(|flows| expresspass(star(2), flows), 20_000_000, 40_000_000);
    // Payload is 1460 of every 84 + 1538 bytes (credit and data frame).
    let share = goodput / 1e11 * 1622.0 / 1460.0;
    assert!(
        (share - 1.0).abs() < 0.003,
        "{share} of the credit-limited share"
    );
}

/// Long flows to one receiver share its link and leave little of the link unused. If a loss
/// decreased the rate twice, the use would be 91 % with two flows, 81 % with four and 76 % with
/// eight.
// XP-11, XP-12
#[test]
fn flows_that_share_a_link_use_nearly_all_of_it() {
    for senders in [2, 4, 8] {
        let bytes = 16_000_000 / u64::from(senders);
        let (_, keep) = finish(expresspass(star(senders + 1), incast(senders, bytes)));
        let last = (0..senders).map(|i| keep.fct(i)).max().unwrap();
        let ideal_ps = 16e6 * 8e12 / (1e11 * 1460.0 / 1622.0);
        let share = ideal_ps / last as f64;
        assert!(share > 0.95 && share < 1.0, "{senders} senders: {share}");
    }
}

// XP-03, XP-12
#[test]
fn an_incast_drops_credits_and_no_data() {
    for senders in [8, 32, 100] {
        let (outcome, _) = finish(expresspass(star(senders + 1), incast(senders, 300_000)));
        let c = outcome.counters;
        let data_drops: u64 =
            c.drops.iter().sum::<u64>() - c.drops[DropCause::CreditLimit as usize];
        assert_eq!(data_drops, 0);
        let lost = c.drops[DropCause::CreditLimit as usize] + c.driven.credits_dropped;
        assert!(lost > 0, "more credits are made than the link takes");
        assert_eq!((c.retransmissions, c.discarded, c.naks), (0, 0, 0));
        let queue = outcome.ports.iter().map(|p| p.max_queue_bytes).max();
        // Data packets only meet in a queue if their credits belong to the same burst, or if their
        // senders are at different distances.
        assert!(queue.unwrap() < 20 * 1538, "{queue:?} B queued");
    }
}

/// Four senders send over one link to one receiver each, so credits are dropped in the network. The
/// flows are long, because their rates become equal only after several milliseconds.
// XP-03, XP-05, XP-11, XP-12
#[test]
fn credits_of_two_receivers_share_a_link_in_the_core() {
    let core = TopologySpec::Dumbbell {
        left: 4,
        right: 4,
        link: LINK,
        core: LINK,
    };
    let flows = (0..4).map(|i| flow(i, 0, i, 4 + i, 12_000_000)).collect();
    let (outcome, keep) = finish(expresspass(core, flows));
    let c = outcome.counters;
    assert!(c.drops[DropCause::CreditLimit as usize] > 0);
    assert_eq!(
        c.drops.iter().sum::<u64>(),
        c.drops[DropCause::CreditLimit as usize]
    );
    let fcts: Vec<f64> = (0..4).map(|i| keep.fct(i) as f64).collect();
    let least = fcts.iter().copied().fold(f64::INFINITY, f64::min);
    let most = fcts.iter().copied().fold(0.0, f64::max);
    // 48 MB over one link take 4.27 ms at the rate that credits allow.
    let all = 48e6 * 8e12 / (1e11 * 1460.0 / 1622.0);
    assert!(most < 1.05 * all, "{most} ps, {all} at best");
    assert!(least > 0.6 * most, "fair: {fcts:?}");
}

/// Two receivers with flows that start together. With jitter, the credits of both receivers share
/// the core. Without jitter, the credits of one receiver can be dropped again and again.
// XP-18
#[test]
fn gaps_between_credits_vary() {
    let fcts = |jitter: f64, seed| -> Vec<Time> {
        let mut s = expresspass(
            star(3),
            vec![flow(0, 0, 0, 2, 600_000), flow(1, 0, 1, 2, 600_000)],
        );
        s.seed = seed;
        let (_, keep) = finish(with(s, |c| c.jitter = jitter));
        (0..2).map(|i| keep.fct(i)).collect()
    };
    assert_ne!(fcts(0.1, 1), fcts(0.1, 2), "chance has a part in it");
    assert_eq!(fcts(0.0, 1), fcts(0.0, 2), "without jitter it has none");
}

// XP-15, XP-16, XP-17
#[test]
fn credits_of_the_last_round_trip_are_wasted() {
    let (outcome, _) = finish(expresspass(star(2), vec![flow(0, 0, 0, 1, 1_460)]));
    let c = outcome.counters.driven;
    assert_eq!((c.requests, c.stops, c.credits_used), (1, 1, 1));
    // From the first credit to the stop message, one RTT of 4 µs and two frames pass. Credits use
    // half of the link's credit rate, so about 16 are sent.
    assert!((12..=20).contains(&c.credits_wasted), "{c:?}");
    assert_eq!(c.credits, c.credits_used + c.credits_wasted);
}

// XP-20, XP-21
#[test]
fn losses_of_data_and_of_control_are_survived() {
    for seed in 1..=4 {
        let mut s = expresspass(lossy(9, 0.01), incast(8, 500_000));
        s.seed = seed;
        let s = with(s, |c| c.timeout_ps = 100 * US);
        let (outcome, _) = finish(s);
        let c = outcome.counters;
        assert!(c.drops[DropCause::Link as usize] > 20);
        assert!(c.naks > 0 && c.retransmissions > 0);
    }
}

// XP-06
#[test]
fn each_port_has_memory_of_its_own() {
    // Credits are shaped, so data can only fill a port if many senders send bursts at different
    // rates. Buffer for five frames per port is too little for some of them.
    let mut s = expresspass(star(33), incast(32, 100_000));
    s.switch.mmu.admission = Admission::PerPort { bytes: 5 * 1538 };
    let s = with(s, |c| c.timeout_ps = 100 * US);
    let (outcome, _) = s.run();
    let most = outcome.ports.iter().map(|p| p.max_queue_bytes).max();
    assert!(most.unwrap() <= 5 * 1538 + 16 * 84, "{most:?}");
    assert_eq!(outcome.finished, 32);
}

// XP-05
#[test]
fn the_way_back_is_the_way_there() {
    let shapes = [
        leaf_spine(4, 8, 2),
        TopologySpec::FatTree {
            k: 4,
            link: LINK,
            fabric_link: LINK,
        },
    ];
    for shape in shapes {
        let graph = shape.build().unwrap();
        let symmetric = routes(&graph, 7, PathChoice::Symmetric).unwrap();
        assert_eq!(asymmetry(&graph, &symmetric), None);
        let plain = routes(&graph, 7, PathChoice::Flow).unwrap();
        assert!(asymmetry(&graph, &plain).is_some());
    }
}

// XP-10, XP-12: a smaller initial rate wastes fewer credits.
#[test]
fn a_smaller_first_rate_wastes_fewer_credits() {
    let wasted = |alpha: f64| {
        let flows = (0..64)
            .map(|i| flow(i, u64::from(i) * 20 * US, i % 4, 4 + i % 4, 10_000))
            .collect();
        let s = with(expresspass(star(8), flows), |c| c.alpha = alpha);
        finish(s).0.counters.driven.credits_wasted
    };
    let (half, little) = (wasted(0.5), wasted(0.0625));
    assert!(little * 3 < half, "{little} and {half}");
}
