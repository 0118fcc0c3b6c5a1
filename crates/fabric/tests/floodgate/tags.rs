//! PFC with tag: switches pause single destinations of their neighbours.

use super::*;
use fabric::engine::Clock;

// FG-45, FG-46
#[test]
fn tags_stop_one_destination_and_let_others_pass() {
    let mut flows = incast(0, 24, 8, US, 400_000);
    flows.push(flow(24, 60 * US, 8, 1, 1_000));
    let run = |config: Option<FloodgateConfig>| {
        let mut s = line_rate(fabric(4, 2, 8), flows.clone());
        s.switch.mmu.buffer_bytes = 100_000_000;
        s.switch.hop = config.map_or(HopConfig::None, HopConfig::Floodgate);
        s.run()
    };
    let (plain, slow) = run(None);
    let (tagged, keep) = run(Some(FloodgateConfig::TAGS));
    let f = &tagged.counters.hop;
    assert_eq!(tagged.finished, 25);
    assert!(
        f["floodgate_dst_pauses"] > 0 && f["floodgate_dst_pauses"] == f["floodgate_dst_resumes"]
    );
    assert_eq!(f["floodgate_credit_frames"], 0);
    assert!(f["floodgate_held"] > 0 && f["floodgate_held"] == f["floodgate_released"]);
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
    // The bottleneck link stays busy nevertheless.
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
        outcome.counters.hop
    };
    let (far, near) = (run(config), run(FloodgateConfig::TAGS));
    assert!(far["floodgate_max_held_bytes"] * 2 < near["floodgate_max_held_bytes"]);
    assert!(far["floodgate_dst_pauses"] > near["floodgate_dst_pauses"]);
}

// FG-47: packets stay in order even if a switch chooses a packet immediately, as in the order of
// scheduling.
#[test]
fn nothing_is_overtaken_where_ports_choose_at_once() {
    for config in [
        FloodgateConfig::TAGS,
        FloodgateConfig::PRACTICAL,
        FloodgateConfig::IDEAL,
    ] {
        let mut setup = with(
            line_rate(fabric(4, 2, 8), incast(0, 24, 8, US, 200_000)),
            config,
        );
        setup.clock = Clock::Nanoseconds { epoch_ps: 0 };
        setup.in_order = true;
        let mut keep = Keep::default();
        let outcome = fabric::engine::run(setup.plan(), &mut keep, &mut |_| true);
        assert_eq!(outcome.violations, []);
        let c = outcome.counters;
        assert_eq!((outcome.finished, c.naks, c.retransmissions), (24, 0, 0));
        assert!(c.hop["floodgate_held"] > 0);
    }
}
