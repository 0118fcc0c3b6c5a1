use crate::sets::controls::{ack, close, path};
use dataplane::cc::swift::{Swift, SwiftConfig};
use dataplane::cc::{Ack, Control, Feedback, Loss, PathInfo};
use dataplane::units::US;

/// A flow with default parameters on a path of three switches at 100 Gb/s: base round trip 8 µs,
/// target delay 26 µs without flow scaling.
#[derive(Clone)]
struct Flow {
    config: SwiftConfig,
    path: PathInfo,
    swift: Swift,
    now: u64,
    seq: u64,
}

impl Flow {
    fn new(config: SwiftConfig) -> Self {
        let path = PathInfo {
            hops: 3,
            ..path(100.0)
        };
        Self {
            config,
            path,
            swift: Swift::new(&config, &path, 0),
            now: 0,
            seq: 0,
        }
    }

    fn with_cwnd(packets: f64) -> Self {
        Self::new(SwiftConfig {
            initial_cwnd: Some(packets),
            ..unscaled()
        })
    }

    /// Returns the window after an ACK of `packets` packets, `after_us` after the last ACK. The
    /// round trip is `rtt_us`, which includes `hosts_us` in hosts.
    fn ack_of(&mut self, packets: f64, after_us: f64, rtt_us: f64, hosts_us: f64) -> f64 {
        self.now += (after_us * US as f64) as u64;
        let newly = (packets * 1000.0) as u64;
        self.seq += newly;
        let host_ps = (hosts_us * US as f64) as u64;
        let ack = Feedback::Ack(Ack {
            newly,
            rtt_ps: (rtt_us * US as f64) as u64,
            remote_host_ps: host_ps / 2,
            local_host_ps: host_ps - host_ps / 2,
            marked: true,
            ..ack(self.seq, self.seq + 1000)
        });
        self.swift
            .on_feedback(&self.config, &self.path, self.now, &ack);
        self.swift.cwnd()
    }

    /// Returns the window after an ACK of one packet, 100 µs after the last ACK.
    fn ack(&mut self, rtt_us: f64, hosts_us: f64) -> f64 {
        self.ack_of(1.0, 100.0, rtt_us, hosts_us)
    }

    fn lost(&mut self, after_us: u64, timeout: bool) -> f64 {
        self.now += after_us * US;
        let loss = Feedback::Loss(Loss {
            snd_nxt: self.seq,
            timeout,
        });
        self.swift
            .on_feedback(&self.config, &self.path, self.now, &loss);
        self.swift.cwnd()
    }
}

fn unscaled() -> SwiftConfig {
    SwiftConfig {
        fs_range_ps: None,
        ..SwiftConfig::default()
    }
}

/// SWIFT-05, SWIFT-06, SWIFT-13, SWIFT-40: values by hand. Below the target of 26 µs, an
/// acknowledged packet adds 1/W to the window W, or 1 if W is below one packet.
#[test]
fn a_window_grows_by_one_packet_per_round_trip() {
    let mut flow = Flow::with_cwnd(10.0);
    close(flow.ack(25.9, 0.0), 10.1);
    close(flow.ack_of(2.0, 0.0, 8.0, 0.0), 10.1 + 2.0 / 10.1);
    let mut flow = Flow::with_cwnd(0.5);
    close(flow.ack(8.0, 0.0), 1.5);
    // An ACK without newly acknowledged bytes does not change the window.
    close(flow.ack_of(0.0, 1.0, 8.0, 0.0), 1.5);
}

/// SWIFT-07: the window decreases by β · (delay − target) / delay, at most by `max_mdf`.
#[test]
fn a_window_shrinks_with_the_excess() {
    let mut flow = Flow::with_cwnd(20.0);
    // (32.5 − 26)/32.5 = 0.2
    close(flow.ack(32.5, 0.0), 20.0 * (1.0 - 0.8 * 0.2));
    let mut flow = Flow::with_cwnd(20.0);
    // (260 − 26)/260 = 0.9 would give a factor of 0.28, which is below 1 − `max_mdf`.
    close(flow.ack(260.0, 0.0), 10.0);
    // At the target delay the window does not change.
    let mut flow = Flow::with_cwnd(20.0);
    close(flow.ack(26.0, 0.0), 20.0);
}

/// SWIFT-08, SWIFT-09: at most one decrease per round trip. Increases are not limited, and an ACK
/// at the target delay does not count as a decrease.
#[test]
fn one_decrease_per_round_trip() {
    let mut flow = Flow::with_cwnd(16.0);
    close(flow.ack(26.0, 0.0), 16.0);
    close(flow.ack_of(1.0, 1.0, 260.0, 0.0), 8.0);
    close(flow.ack_of(1.0, 259.0, 260.0, 0.0), 8.0);
    close(flow.ack_of(1.0, 1.0, 260.0, 0.0), 4.0);
    close(flow.ack_of(1.0, 1.0, 8.0, 0.0), 4.25);
    // The next round trip is shorter, so the next decrease can follow earlier.
    close(flow.ack_of(1.0, 39.0, 52.0, 0.0), 4.25);
    close(flow.ack_of(1.0, 12.0, 52.0, 0.0), 4.25 * 0.6);
}

/// SWIFT-01, SWIFT-02, SWIFT-04, SWIFT-15: time in hosts does not count as network delay. It
/// reduces the endpoint window if it is above the endpoint target. The flow uses the smaller
/// window.
#[test]
fn hosts_and_network_are_told_apart() {
    let mut flow = Flow::with_cwnd(10.0);
    close(flow.ack(100.0, 80.0), 10.1);
    // 125 µs in hosts with a target of 100 µs: factor 1 − 0.8 · 0.2. The network delay is 10 µs.
    close(flow.ack(135.0, 125.0), 10.1 * 0.84);
    // 40 µs in the network with a target of 26 µs: the fabric window had grown and now falls below
    // the endpoint window.
    let fabric = 10.1 + 1.0 / 10.1;
    let cwnd = flow.ack_of(1.0, 200.0, 50.0, 10.0);
    close(cwnd, fabric * (1.0 - 0.8 * 14.0 / 40.0));
}

/// SWIFT-03: delays are not smoothed, so the first ACK and the last have the same effect.
#[test]
fn delays_are_not_smoothed() {
    let mut flow = Flow::with_cwnd(10.0);
    for _ in 0..50 {
        flow.ack(8.0, 0.0);
    }
    let before = flow.swift.cwnd();
    close(flow.ack(260.0, 0.0), before / 2.0);
}

/// SWIFT-14: flow scaling adds `fs_range` to the target at or below `fs_min_cwnd`, 0 at or above
/// `fs_max_cwnd`, and a/√W + b between them. A window of a quarter packet adds a/√0.25 + b. With
/// the bounds 0.1 and 100, a = 100 µs/(√10 − 0.1).
#[test]
fn small_windows_have_higher_targets() {
    let target_of = |cwnd: f64| {
        let grows = |rtt_us: f64| {
            let mut flow = Flow::new(SwiftConfig {
                initial_cwnd: Some(cwnd),
                fs_range_ps: Some(100 * US),
                ..unscaled()
            });
            flow.ack(rtt_us, 0.0) > cwnd
        };
        let (mut low, mut high) = (0.0, 1000.0);
        while high - low > 1e-3 {
            let middle = (low + high) / 2.0;
            *if grows(middle) { &mut low } else { &mut high } = middle;
        }
        (low + high) / 2.0
    };
    let near = |got: f64, wanted: f64| assert!((got - wanted).abs() < 0.01, "{got}, not {wanted}");
    near(target_of(0.1), 126.0);
    near(target_of(0.02), 126.0);
    near(target_of(100.0), 26.0);
    near(target_of(150.0), 26.0);
    let a = 100.0 / (10f64.sqrt() - 0.1);
    near(target_of(0.25), 26.0 + a * 2.0 - a * 0.1);
    near(target_of(4.0), 26.0 + a * 0.5 - a * 0.1);
}

/// SWIFT-10, SWIFT-11, SWIFT-41: the largest window is 26 µs at 100 Gb/s, or 325 packets of 1000
/// bytes. The smallest window is 0.01 packets.
#[test]
fn windows_stay_between_their_bounds() {
    let mut flow = Flow::with_cwnd(324.5);
    for _ in 0..400 {
        flow.ack(8.0, 0.0);
    }
    close(flow.swift.cwnd(), 325.0);
    for _ in 0..40 {
        flow.ack_of(1.0, 10_000.0, 5_000.0, 0.0);
    }
    close(flow.swift.cwnd(), 0.01);
    let mut flow = Flow::new(SwiftConfig {
        max_cwnd: Some(30.0),
        ..unscaled()
    });
    close(flow.ack(8.0, 0.0), 30.0);
}

/// SWIFT-12: a flow starts with a window of one BDP, here 100 packets.
#[test]
fn a_flow_starts_with_one_bdp() {
    let flow = Flow::new(unscaled());
    close(flow.swift.cwnd(), 100.0);
}

/// SWIFT-16, SWIFT-17: with a window of W < 1 packets, a frame of 1048 bytes starts every RTT / W.
/// Larger windows are not paced.
#[test]
fn below_one_packet_the_flow_is_paced() {
    let mut flow = Flow::with_cwnd(1.0);
    assert!(
        flow.swift
            .rate_bps(&flow.config, &flow.path, 0)
            .is_infinite()
    );
    let cwnd = flow.ack(52.0, 0.0);
    close(cwnd, 0.6);
    let bps = flow.swift.rate_bps(&flow.config, &flow.path, 0);
    close(1048.0 * 8.0 / bps * 1e6, 52.0 / 0.6);
    assert_eq!(flow.swift.window(&flow.config, &flow.path, 0), 1);
    // Pacing uses the round trip of the last ACK, including the time in hosts.
    flow.ack_of(0.0, 1.0, 90.0, 70.0);
    let bps = flow.swift.rate_bps(&flow.config, &flow.path, 0);
    close(1048.0 * 8.0 / bps * 1e6, 90.0 / 0.6);
}

/// SWIFT-17: the NIC starts a packet if fewer bytes than the window are in flight.
#[test]
fn as_many_packets_are_in_flight_as_the_window_has_whole_ones() {
    for (cwnd, packets) in [(0.3, 1), (1.0, 1), (1.9, 1), (2.0, 2), (10.1, 10)] {
        let mut flow = Flow::with_cwnd(cwnd);
        let window = flow.swift.window(&flow.config, &flow.path, 0);
        assert_eq!(window.div_ceil(1000), packets, "{cwnd}");
    }
}

/// SWIFT-18, SWIFT-19: a loss reduces the fabric window by the factor 1 − `max_mdf`, once per round
/// trip. The fifth timeout in a row sets both windows to the smallest window.
#[test]
fn losses_and_timeouts() {
    let mut flow = Flow::with_cwnd(64.0);
    close(flow.lost(1, false), 32.0);
    close(flow.lost(7, false), 32.0);
    close(flow.lost(1, true), 16.0);
    // The endpoint window is still 64 packets: an ACK of 1600 packets adds 25 to it, and 100 to the
    // fabric window.
    close(flow.clone().ack_of(1600.0, 1.0, 8.0, 0.0), 64.0 + 25.0);
    for _ in 0..3 {
        flow.lost(10, true);
    }
    close(flow.swift.cwnd(), 2.0);
    close(flow.lost(1, true), 0.01);
    // Both windows are the smallest ones. If the time in hosts is long, only the fabric window
    // grows.
    close(flow.clone().ack(135.0, 125.0), 0.01);

    let mut flow = Flow::with_cwnd(64.0);
    for _ in 0..4 {
        flow.lost(1, true);
    }
    flow.ack(8.0, 0.0);
    let before = flow.swift.cwnd();
    close(flow.lost(9, true), before / 2.0);
}

/// SWIFT-20: ECN marks have no effect. Every ACK in the tests above has a mark.
#[test]
fn marks_and_notices_change_nothing() {
    let mut flow = Flow::with_cwnd(10.0);
    flow.swift
        .on_feedback(&flow.config, &flow.path, 0, &Feedback::Cnp);
    close(flow.swift.cwnd(), 10.0);
}
