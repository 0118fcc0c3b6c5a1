//! Notices of switches to senders, in whole networks.

use crate::common::{bfc, flows, leaf_spine, line_rate};
use dataplane::signal::{Amount, BoltConfig, NotifierConfig};

fn notices(threshold_bytes: u64) -> Option<NotifierConfig> {
    Some(NotifierConfig::Bolt(BoltConfig {
        threshold: Amount::Bytes(threshold_bytes),
        ramp_up_tokens: 256,
        supply: Amount::Bytes(30_000),
        notice_bytes: 64,
    }))
}

// SW-60, SW-62, BOLT-02
#[test]
fn each_packet_causes_one_notice_even_if_it_meets_several_queues() {
    let mut setup = line_rate(leaf_spine(2, 2, 4), flows(3, 8, 60));
    setup.switch.notifier = notices(0);
    let (outcome, _) = setup.run();
    let counters = &outcome.counters;
    assert!(counters.data_packets > 100 && counters.retransmissions == 0);
    assert_eq!(counters.notices, counters.data_packets);
}

// SW-61
#[test]
fn notices_pass_a_switch_with_backpressure_and_no_counter_is_wrong() {
    let mut setup = bfc(leaf_spine(2, 2, 4), flows(4, 8, 60));
    setup.switch.notifier = notices(0);
    let (outcome, _) = setup.run();
    assert_eq!(outcome.counters.notices, outcome.counters.data_packets);
}

// BOLT-02
#[test]
fn without_congestion_a_network_with_notices_is_the_same_as_without() {
    let run = |notifier| {
        let mut setup = line_rate(leaf_spine(2, 2, 4), flows(3, 8, 60));
        setup.switch.notifier = notifier;
        setup.run().0
    };
    let (with, without) = (run(notices(u64::MAX)), run(None));
    assert_eq!((with.counters.notices, with.digest), (0, without.digest));
}
