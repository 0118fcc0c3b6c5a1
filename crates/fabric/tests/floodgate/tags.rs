//! PFC with tag: pauses between switches that name a destination.

use super::*;

// FG-45, FG-46
#[test]
fn tags_stop_one_destination_and_let_others_pass() {
    let mut flows = incast(0, 24, 8, US, 400_000);
    flows.push(flow(24, 60 * US, 8, 1, 1_000));
    let run = |config: Option<FloodgateConfig>| {
        let mut s = line_rate(fabric(4, 2, 8), flows.clone());
        s.switch.mmu.buffer_bytes = 100_000_000;
        s.switch.floodgate = config;
        s.run()
    };
    let (plain, slow) = run(None);
    let (tagged, keep) = run(Some(FloodgateConfig::TAGS));
    let f = tagged.counters.floodgate;
    assert_eq!(tagged.finished, 25);
    assert!(f.dst_pauses > 0 && f.dst_pauses == f.dst_resumes);
    assert_eq!(f.credit_frames, 0);
    assert!(f.held > 0 && f.held == f.released);
    let last_hop = |o: &Outcome| fullest(o, 32..33);
    assert!(
        last_hop(&tagged) * 3 < last_hop(&plain),
        "{} {}",
        last_hop(&tagged),
        last_hop(&plain)
    );
    assert!(
        keep.fct(24) * 2 < slow.fct(24),
        "{} {}",
        keep.fct(24),
        slow.fct(24)
    );
    // The bottleneck is kept busy all the same.
    let end = |k: &Keep| k.flows.iter().filter_map(|r| r.received_ps).max();
    assert!(end(&keep).unwrap() < end(&slow).unwrap() * 101 / 100);
}

// FG-40, FG-45
#[test]
fn tags_may_reach_the_hosts() {
    let flows = incast(0, 24, 8, US, 400_000);
    let config = FloodgateConfig {
        host_pause: FloodgateConfig::IDEAL.host_pause,
        ..FloodgateConfig::TAGS
    };
    let run = |config| {
        let (outcome, _) = with(line_rate(fabric(4, 2, 8), flows.clone()), config).run();
        outcome.counters.floodgate
    };
    let (far, near) = (run(config), run(FloodgateConfig::TAGS));
    assert!(far.max_held_bytes * 2 < near.max_held_bytes);
    assert!(far.dst_pauses > near.dst_pauses);
}
