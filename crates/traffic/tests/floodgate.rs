//! Tests of the traffic patterns of Floodgate experiments: receivers in turn, excluded hosts, and
//! the flow sizes of incasts.

use std::sync::Arc;

use traffic::sizes::find;
use traffic::{
    ArrivalKind, Arrivals, Feed, Flow, Hosts, Incast, Pattern, Receiver, Scope, Sizes, SourceSpec,
};

const US: u64 = 1_000_000;

/// Returns the rack of each host, with four hosts per rack.
fn racks(hosts: u32) -> Vec<u32> {
    (0..hosts).map(|host| host / 4).collect()
}

fn source(pattern: Pattern, kind: ArrivalKind, mean_gap_ps: f64) -> SourceSpec {
    SourceSpec {
        name: "test".to_owned(),
        pattern,
        sizes: Some(Sizes::Fixed(1000)),
        arrivals: Some(Arrivals { kind, mean_gap_ps }),
        window_from_ps: 0,
        window_to_ps: 1000 * US,
        class: 0,
        limit: None,
    }
}

fn flows(spec: SourceSpec, hosts: u32) -> Result<Vec<Flow>, String> {
    let feed = Feed::new(1, &[spec], hosts, &racks(hosts)).map_err(|e| e.to_string())?;
    Ok(feed.collect())
}

fn incast(receivers: &[u32]) -> SourceSpec {
    let incast = Incast {
        degree: 20,
        total_bytes: None,
        receiver: Receiver::InTurn(receivers.into()),
        with_replacement: true,
        scope: Scope::InterRack,
    };
    let kind = ArrivalKind::Fixed { first_ps: None };
    source(Pattern::Incast(incast), kind, (100 * US) as f64)
}

// TRA-24: receivers in turn
#[test]
fn receivers_take_turns() {
    let all = flows(incast(&[4, 0, 13]), 16).unwrap();
    let receivers: Vec<u32> = all.chunks(20).map(|event| event[0].dst).collect();
    assert_eq!(receivers, [4, 0, 13, 4, 0, 13, 4, 0, 13, 4]);
    for event in all.chunks(20) {
        let same = |flow: &Flow| flow.dst == event[0].dst && flow.start_ps == event[0].start_ps;
        assert!(event.iter().all(same));
        assert!(event.iter().all(|f| f.src / 4 != f.dst / 4 && f.incast));
    }
    let wrong = flows(incast(&[4, 16]), 16).unwrap_err();
    assert!(wrong.contains("receiver 16 does not exist"), "{wrong}");
    let none = flows(incast(&[]), 16).unwrap_err();
    assert!(none.contains("no receiver is named"), "{none}");
}

fn among(scope: Scope, excluded: &[u32]) -> SourceSpec {
    let excluded: Arc<[u32]> = excluded.into();
    let pattern = Pattern::Among { scope, excluded };
    source(pattern, ArrivalKind::Poisson, 1e5)
}

// TRA-23: excluded hosts
#[test]
fn hosts_that_are_left_out_take_no_part_and_all_other_pairs_are_as_likely() {
    let excluded = [0, 1, 2, 9];
    for scope in [Scope::Any, Scope::InterRack] {
        let all = flows(among(scope, &excluded), 12).unwrap();
        let mut counts = [[0u32; 12]; 12];
        for flow in &all {
            counts[flow.src as usize][flow.dst as usize] += 1;
        }
        let allowed = |a: u32, b: u32| {
            let out = |host| excluded.contains(&host);
            a != b && !out(a) && !out(b) && (scope == Scope::Any || a / 4 != b / 4)
        };
        let hosts = Hosts::new(&racks(12)).unwrap();
        let pairs = hosts.pairs_without(scope, &excluded);
        let mean = all.len() as f64 / pairs as f64;
        let mut seen = 0;
        for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
            let count = f64::from(counts[a as usize][b as usize]);
            if allowed(a, b) {
                seen += 1;
                assert!(
                    (count - mean).abs() < 5.0 * mean.sqrt(),
                    "{a}, {b}: {count}"
                );
            } else {
                assert!(count == 0.0, "{a} sent to {b}");
            }
        }
        assert_eq!(seen, pairs);
    }
}

// TRA-23: fraction of crossing pairs
#[test]
fn the_share_that_crosses_is_that_of_the_pairs_that_are_left() {
    let hosts = Hosts::new(&racks(12)).unwrap();
    // After the exclusion, the racks have one, four and three hosts. These form 8 · 7 ordered
    // pairs, of which 4 · 3 and 3 · 2 are within a rack.
    let excluded = [0, 1, 2, 9];
    let share = hosts.crossing_fraction_without(Scope::Any, &excluded);
    assert!((share - 38.0 / 56.0).abs() < 1e-12, "{share}");
    let across = hosts.crossing_fraction_without(Scope::InterRack, &excluded);
    assert!((across - 1.0).abs() < 1e-12);
    let wrong = flows(among(Scope::Any, &[12]), 12).unwrap_err();
    assert!(wrong.contains("excluded host 12 does not exist"), "{wrong}");
    let empty = flows(among(Scope::InterRack, &[4, 5, 6, 7, 8, 9, 10, 11]), 12).unwrap_err();
    assert!(empty.contains("no pair is left"), "{empty}");
}

/// The distribution contains the sizes of 30 to 40 full packets, all with the same probability.
#[test]
fn incasts_have_30_to_40_packets() {
    let sizes = find("incast-30-40@floodgate").unwrap();
    assert!(
        (sizes.mean() - 35.0 * 1460.0).abs() < 1e-6,
        "{}",
        sizes.mean()
    );
    let drawn: Vec<u64> = (0..1100)
        .map(|i| sizes.sample((f64::from(i) + 0.5) / 1100.0))
        .collect();
    for packets in 30..=40 {
        let count = drawn
            .iter()
            .filter(|&&bytes| bytes == packets * 1460)
            .count();
        assert_eq!(count, 100, "{packets}");
    }
}
