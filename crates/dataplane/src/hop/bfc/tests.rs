use super::*;
use crate::packet::Kind;
use crate::units::US;

fn packet(flow: u32) -> Packet {
    Packet {
        flow,
        hash: flow.wrapping_mul(0x9e37_79b9),
        ..Packet::new(Kind::Data, 2, 1048)
    }
}

fn found(bytes: u64) -> Found {
    Found {
        bytes,
        alone: false,
    }
}

fn backpressure() -> Bfc {
    let config = BfcConfig {
        upstream_queues: 32,
        ..BfcConfig::PAPER
    };
    let ports = [(Rate::from_gbps(100), US), (Rate::from_gbps(400), US / 2)];
    Bfc::with_ports(config, &ports)
}

// BFC-07, BFC-08: pause threshold
#[test]
fn the_threshold_is_one_hop_bdp_over_active_queues_at_each_egress_speed() {
    let b = backpressure();
    assert_eq!(b.threshold(0, 1), 25_000, "2 us at 100 Gbps");
    assert_eq!(
        b.threshold(1, 1),
        100_000,
        "the longest hop counts at every egress"
    );
    assert_eq!(b.threshold(0, 10), 2_500);
    assert_eq!(b.threshold(0, 0), 25_000);
}

// BFC-07, BFC-42, BFC-44: pause threshold with τ and a floor
#[test]
fn a_floor_and_the_period_of_bitmaps_raise_the_threshold() {
    let ports = [(Rate::from_gbps(100), US)];
    let config = BfcConfig {
        floor_bytes: 1048,
        tau_ps: US,
        ..BfcConfig::PAPER
    };
    let b = Bfc::with_ports(config, &ports);
    assert_eq!(b.threshold(0, 1), 37_500, "3 us instead of 2");
    assert_eq!(b.threshold(0, 30), 1_250);
    assert_eq!(b.threshold(0, 36), 1_048, "not 1041");
    assert_eq!(b.threshold(0, 4_000), 1_048);
    // Beyond the stored thresholds, the formula continues.
    let plain = Bfc::with_ports(BfcConfig::PAPER, &ports);
    assert!((1..1000).all(|n| plain.threshold(0, n) == 25_000 / u64::from(n)));
}

// BFC-35: port pairs without pauses
#[test]
fn pairs_that_are_not_allowed_hold_nobody() {
    let mut b = backpressure();
    let from = |ingress| Packet {
        ingress,
        ..packet(1)
    };
    let mut pairs = Pairs::none(2);
    pairs.insert(1, 0);
    assert_eq!((pairs.len(), pairs.is_empty()), (1, false));
    b.allowed = Some(pairs);
    assert!(b.is_over(0, 1, found(1 << 20), &from(1)));
    assert!(!b.is_over(0, 1, found(1 << 20), &from(0)));
    assert!(!b.is_over(1, 1, found(1 << 20), &from(0)));
}

// BFC-37: pauses of single flows
#[test]
fn counters_may_be_kept_for_flows_instead_of_queues() {
    let config = BfcConfig {
        by: PauseBy::Flow,
        ..BfcConfig::PAPER
    };
    let mut b = Bfc::with_ports(config, &[(Rate::from_gbps(100), US)]);
    let of = |flow| Packet {
        upstream_queue: 3,
        ..packet(flow)
    };
    assert!(b.over(&of(1)) && b.over(&of(2)), "same queue, other flow");
    assert!(b.under(&of(1)) && b.under(&of(2)));
}

// BFC-09: which packets count as over the threshold
#[test]
fn a_packet_is_over_by_what_it_finds_and_a_lone_one_never() {
    let mut b = backpressure();
    assert!(!b.is_over(0, 1, found(25_000), &packet(1)));
    assert!(b.is_over(0, 1, found(25_001), &packet(1)));
    let lone = Found {
        alone: true,
        ..found(25_001)
    };
    assert!(!b.is_over(0, 1, lone, &packet(1)), "alone");
    b.config.first_exempt = false;
    assert!(b.is_over(0, 1, lone, &packet(1)));
    b.config.count_arriving = true;
    assert!(b.is_over(0, 1, found(23_953), &packet(1)));
    assert!(!b.is_over(0, 1, found(23_952), &packet(1)));
}

// BFC-05, BFC-06: first and last packet over the threshold
#[test]
fn pause_on_the_first_and_resume_on_the_last_packet_over() {
    let mut b = backpressure();
    let p = Packet {
        ingress: 1,
        upstream_queue: 7,
        ..packet(1)
    };
    let other = Packet {
        ingress: 1,
        upstream_queue: 8,
        ..packet(1)
    };
    assert!(b.over(&p));
    assert!(!b.over(&p));
    assert!(b.over(&other), "another queue has a counter of its own");
    let mut listed = Vec::new();
    b.list(0..2, &mut listed);
    assert_eq!(
        listed,
        [
            Held {
                ingress: 1,
                what: 7
            },
            Held {
                ingress: 1,
                what: 8
            }
        ]
    );
    assert!(!b.under(&p));
    assert!(b.under(&p));
    assert!(b.under(&other));
    assert!(!b.pauses_upstream());
}
