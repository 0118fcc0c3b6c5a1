//! Design options of Floodgate: when credits are returned, how credit frames are built, window
//! tables, groups of VOQs.

use super::*;
use dataplane::config::{Classify, Recovery, Schedule};
use dataplane::hop::floodgate::{Aggregation, Amount, CreditAt, Release, Voqs};
use dataplane::units::MS;
use fabric::NodeId;
use fabric::record::Ending;

fn some_incast(config: FloodgateConfig) -> Setup {
    with(
        dcqcn(fabric(4, 2, 8), incast(0, 24, 8, US, 200_000)),
        config,
    )
}

// FG-21, FG-24, FG-26, FG-60
#[test]
fn every_option_keeps_the_books_and_lets_everything_through() {
    // Windows are small, so that spines park packets too.
    let practical = windows(FloodgateConfig::PRACTICAL, |w| {
        w.initial = Amount::Bytes(60_000)
    });
    let timer = |change: fn(&mut Aggregation)| {
        windows(practical, |w| {
            change(w.credit.aggregation.as_mut().expect("a timer"));
        })
    };
    let ideal = FloodgateConfig::IDEAL;
    let options = [
        practical,
        timer(|a| a.byte_counter = Some(10_240)),
        timer(|a| a.generator_ps = Some(3 * US)),
        ideal,
        windows(ideal, |w| w.credit.at = CreditAt::Forwarding),
        windows(ideal, |w| w.credit.at = CreditAt::Voq),
        windows(ideal, |w| w.credit.delay = Some(Amount::Bytes(20_000))),
    ];
    let mut digests = Vec::new();
    for (nth, config) in options.into_iter().enumerate() {
        let (outcome, _) = some_incast(config).run();
        assert_eq!(outcome.finished, 24, "option {nth}");
        let f = outcome.counters.hop;
        assert!(
            f["floodgate_held"] > 0 && f["floodgate_held"] == f["floodgate_released"],
            "option {nth}: {f:?}"
        );
        digests.push(outcome.digest);
    }
    let all = digests.len();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(
        digests.len(),
        all,
        "each option changes something, and none is another"
    );
}

// FG-07
#[test]
fn cleared_windows_change_memory_only() {
    let mut flows: Vec<_> = (0..30)
        .map(|i| flow(i, u64::from(i) * 40 * US, i % 8, 8 + i % 24, 5_000))
        .collect();
    flows.sort_by_key(|f| f.start_ps);
    let run = |clear_ps| {
        let config = windows(FloodgateConfig::PRACTICAL, |w| w.clear_ps = clear_ps);
        let (outcome, _) = with(line_rate(fabric(4, 2, 8), flows.clone()), config).run();
        (outcome.digest, outcome.counters.hop)
    };
    let (kept, cleared) = (run(None), run(Some(50 * US)));
    assert_eq!(kept.0, cleared.0);
    assert_eq!(kept.1["floodgate_cleared_windows"], 0);
    assert!(cleared.1["floodgate_cleared_windows"] > 20);
    assert!(cleared.1["floodgate_max_windows"] < kept.1["floodgate_max_windows"] / 2);
}

// FG-25, FG-63
#[test]
fn credits_take_the_share_of_the_links_that_can_be_computed() {
    let share = |config| {
        let (outcome, _) = with(
            line_rate(fabric(2, 1, 1), vec![flow(0, 0, 0, 1, 3_000_000)]),
            config,
        )
        .run();
        let (host, leaf, spine) = (2, 2, 4);
        let data = outcome
            .ports
            .iter()
            .find(|p| p.node == NodeId::new(leaf) && p.peer == NodeId::new(spine))
            .unwrap();
        let back = outcome
            .ports
            .iter()
            .find(|p| p.node == NodeId::new(spine) && p.peer == NodeId::new(leaf))
            .unwrap();
        assert_eq!(data.tx_data_packets, 3000);
        assert!(
            outcome
                .ports
                .iter()
                .filter(|p| p.node < NodeId::new(host))
                .all(|p| p.tx_credit_bytes == 0)
        );
        assert_eq!(back.tx_reply_bytes, 3000 * 60, "ACKs go the same way");
        back.tx_credit_bytes
    };
    assert_eq!(share(FloodgateConfig::IDEAL), 3000 * 56);
    // 3000 frames take 252 µs: one credit frame every 10 µs, and one more at the end.
    let practical = share(FloodgateConfig::PRACTICAL);
    assert!((25 * 56..=27 * 56).contains(&practical), "{practical}");
}

/// Two pods, in which all hosts send to one host of the other pod, through one aggregation switch
/// per pod.
fn two_pods(voqs: Voqs) -> Setup {
    // Hosts 0-3 are in pod A, hosts 4-7 in pod B. Each pod has two ToRs and one leaf (aggregation
    // switch). There is one core.
    let (t, l, c) = (8, 12, 14);
    let mut links: Vec<_> = (0..8).map(|h| (h, t + h / 2, HOST)).collect();
    links.extend((0..4).map(|tor| (t + tor, l + tor / 2, UP)));
    links.extend([(l, c, UP), (l + 1, c, UP)]);
    let topology = TopologySpec::Links {
        hosts: (0..8).map(|i| format!("h{i}")).collect(),
        switches: (0..7).map(|i| format!("s{i}")).collect(),
        links,
    };
    let mut flows: Vec<_> = (1..4u32)
        .map(|src| flow(src, US, src, 4, 400_000))
        .collect();
    flows.extend(
        (4..8u32)
            .filter(|src| *src != 4)
            .map(|src| flow(src, US, src, 0, 400_000)),
    );
    // Hosts also send within each pod, so that more data arrives for the receivers than their links
    // carry.
    flows.extend([(2, 0), (3, 0), (6, 4), (7, 4)].map(|(src, dst)| flow(0, US, src, dst, 400_000)));
    let flows = renumbered(flows);
    let config = FloodgateConfig {
        voqs,
        ..windows(FloodgateConfig::PRACTICAL, |w| {
            w.initial = Amount::Bytes(20_000);
            w.numbers_timeout_ps = None;
        })
    };
    let mut setup = with(line_rate(topology, flows), config);
    setup.switch.mmu.buffer_bytes = 100_000_000;
    setup.nic.recovery = Recovery::NONE;
    setup.until_ps = 100 * MS;
    setup
}

// FG-11, FG-14, AUD-08: Fig. 4 of the paper.
#[test]
fn two_leaves_wait_for_each_other_without_groups_of_voqs_and_not_with_them() {
    let (outcome, _) = two_pods(Voqs::Pool {
        count: 1,
        groups: false,
    })
    .run_raw();
    assert_eq!(
        outcome.ending,
        Ending::Stalled,
        "{:?}",
        outcome.counters.hop
    );
    assert!(outcome.finished < outcome.started);
    let said = outcome.stall.join("\n");
    assert!(said.contains("VOQ 0"), "{said}");
    for voqs in [
        Voqs::Pool {
            count: 2,
            groups: true,
        },
        Voqs::PerDestination,
    ] {
        let (outcome, _) = two_pods(voqs).run();
        assert_eq!(outcome.ending, Ending::Drained);
        assert_eq!(outcome.finished, outcome.started);
    }
}

// FG-61
#[test]
fn the_ingress_pipeline_hears_of_the_voqs_later() {
    // Two bursts to one receiver. Between them the VOQs become empty, but the ingress pipeline
    // learns of it later.
    let mut flows = incast(0, 24, 8, US, 100_000);
    flows.extend((24..100).map(|i| flow(i, u64::from(i) * 8 * US, 8 + i % 24, 0, 30_000)));
    let run = |vup_ps| {
        let config = FloodgateConfig {
            vup_ps,
            ..windows(FloodgateConfig::PRACTICAL, |w| {
                w.initial = Amount::Bytes(40_000)
            })
        };
        let (outcome, _) = with(line_rate(fabric(4, 2, 8), flows.clone()), config).run();
        assert_eq!(outcome.finished, 100);
        outcome.counters.hop["floodgate_held"]
    };
    let (at_once, later) = (run(None), run(Some(20 * US)));
    assert!(later > at_once, "more packets take the way through a VOQ");
}

// FG-06
#[test]
fn hashed_windows_are_shared_and_nothing_stands_still() {
    let config = windows(FloodgateConfig::PRACTICAL, |w| w.entries = Some(1));
    let mut flows = incast(0, 24, 8, US, 100_000);
    flows.push(flow(24, 40 * US, 8, 1, 1000));
    let (outcome, _) = with(line_rate(fabric(4, 2, 8), flows), config).run();
    let f = outcome.counters.hop;
    assert_eq!(outcome.finished, 25);
    assert!(f["floodgate_max_windows"] <= 2);
    assert!(
        f["floodgate_held_not_incast"] > 0,
        "the flow to the neighbour shares the window of the incast"
    );
}

// FG-13, FG-15
#[test]
fn floodgate_goes_with_several_queues() {
    for release in [Release::Shared, Release::Behind] {
        let mut setup = some_incast(FloodgateConfig {
            release,
            ..FloodgateConfig::PRACTICAL
        });
        setup.switch.classify = Classify::Hash { queues: 8 };
        setup.switch.schedule = Schedule::RoundRobin;
        let (outcome, _) = setup.run();
        assert_eq!(outcome.finished, 24);
        assert!(outcome.counters.hop["floodgate_held"] > 0);
    }
}
