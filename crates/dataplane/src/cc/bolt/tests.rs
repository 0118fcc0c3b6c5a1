use crate::sets::controls::{ack, close, path};
use dataplane::cc::bolt::{Bolt, SenderConfig};
use dataplane::cc::{Ack, Control, Feedback, Loss, PathInfo, Sent};
use dataplane::packet::{Notice, ramp};
use dataplane::units::{Time, US};

/// A flow at 100 Gb/s with a base round trip of 8 µs, thus a BDP of 100 packets of 1000 B (1048 B
/// on the wire).
struct Flow {
    config: SenderConfig,
    path: PathInfo,
    bolt: Bolt,
    now: Time,
    /// Payload bytes sent so far, all of them acknowledged.
    seq: u64,
}

impl Flow {
    fn new(config: SenderConfig) -> Self {
        let path = path(100.0);
        Self {
            config,
            path,
            bolt: Bolt::new(&config, &path, 0),
            now: 0,
            seq: 0,
        }
    }

    /// Creates a flow with a measured round trip of 8 µs and a window of `bytes`, 1 ms after its
    /// start.
    fn with_window(bytes: u64) -> Self {
        let config = SenderConfig {
            max_window_bytes: bytes,
            ..SenderConfig::default()
        };
        let mut flow = Self::new(config);
        flow.path.bdp_bytes = bytes as f64;
        flow.now = 1000 * US;
        flow.ack(0);
        flow.config = SenderConfig::default();
        flow
    }

    fn window(&self) -> f64 {
        self.bolt.window
    }

    /// Sends a packet. `left` bytes of the message remain, this packet included. Returns its marks.
    fn send(&mut self, left: u64) -> u8 {
        let bytes = left.min(1000);
        let sent = Sent {
            seq: self.seq,
            bytes,
            left,
        };
        self.seq += bytes;
        (self.bolt).mark(&self.config, &self.path, self.now, &sent)
    }

    fn feed(&mut self, feedback: &Feedback<'_>) -> f64 {
        (self.bolt).on_feedback(&self.config, &self.path, self.now, feedback);
        self.window()
    }

    /// Acknowledges everything that was sent, with these marks on the packet, after a round trip of
    /// 8 µs. Returns the window in bytes.
    fn ack(&mut self, marks: u8) -> f64 {
        let ack = Ack {
            marks,
            ..ack(self.seq, self.seq)
        };
        self.feed(&Feedback::Ack(ack))
    }

    /// Delivers a notice, `after_us` after the last event, about a packet that was sent 4 µs ago: a
    /// port of 100 Gb/s has a queue of `packets` full packets. Returns the window in bytes.
    fn notice(&mut self, after_us: u64, packets: u64) -> f64 {
        self.now += after_us * US;
        self.feed(&Feedback::Notice(Notice {
            psn: 0,
            sent_ps: self.now - 4 * US,
            drain_ps: packets * 1048 * 80,
            rate_mbps: 100_000,
        }))
    }

    fn loss(&mut self, after_us: u64) -> f64 {
        self.now += after_us * US;
        self.feed(&Feedback::Loss(Loss {
            snd_nxt: self.seq,
            timeout: false,
        }))
    }
}

/// BOLT-10, BOLT-20: the first window is one BDP, even if the largest window is smaller.
#[test]
fn the_window_starts_with_a_bdp() {
    close(Flow::new(SenderConfig::default()).window(), 100_000.0);
    let small = SenderConfig {
        max_window_bytes: 50_000,
        ..SenderConfig::default()
    };
    close(Flow::new(small).window(), 100_000.0);
}

/// BOLT-11, BOLT-12: *first* until an ACK arrives, *last* if the window reaches the end of the
/// message, *increase* on all other packets.
#[test]
fn packets_between_the_first_and_the_last_window_may_raise_it() {
    let mut flow = Flow::new(SenderConfig::default());
    let marks = |flow: &mut Flow, left| flow.send(left) & !ramp::ADDITIVE;
    assert_eq!(marks(&mut flow, 500_000), ramp::FIRST);
    assert_eq!(marks(&mut flow, 100_000), ramp::FIRST | ramp::LAST);
    flow.ack(0);
    assert_eq!(marks(&mut flow, 100_001), ramp::INCREASE);
    assert_eq!(marks(&mut flow, 100_000), ramp::LAST);
    // A window below one packet: only the last packet of the message is marked *last*.
    let mut flow = Flow::with_window(400);
    assert_eq!(marks(&mut flow, 1_001), ramp::INCREASE);
    assert_eq!(marks(&mut flow, 700), ramp::LAST);
}

/// BOLT-13: one packet per round trip has the mark *additive*. The first packet after its ACK gets
/// the next one.
#[test]
fn one_packet_per_round_trip_asks_for_the_additive_increase() {
    let mut flow = Flow::new(SenderConfig::default());
    let is_additive = |flow: &mut Flow| flow.send(1_000_000) & ramp::ADDITIVE != 0;
    assert!(is_additive(&mut flow));
    assert!(!is_additive(&mut flow));
    let before = Feedback::Ack(ack(999, 2000));
    flow.feed(&before);
    assert!(
        !is_additive(&mut flow),
        "the marked packet ends at byte 1000"
    );
    flow.feed(&Feedback::Ack(ack(1000, 3000)));
    assert!(is_additive(&mut flow));
    assert!(!is_additive(&mut flow));
}

/// BOLT-14: the mark *increase* adds one packet, *additive* adds `ai` packets, up to 373 760 B.
#[test]
fn acks_raise_the_window_by_packets() {
    let mut flow = Flow::with_window(20_000);
    close(flow.ack(0), 20_000.0);
    close(
        flow.ack(ramp::FIRST | ramp::LAST | ramp::DECREASE),
        20_000.0,
    );
    close(flow.ack(ramp::INCREASE), 21_000.0);
    flow.config.ai = 2.5;
    close(flow.ack(ramp::ADDITIVE), 23_500.0);
    close(flow.ack(ramp::ADDITIVE | ramp::INCREASE), 27_000.0);
    for _ in 0..400 {
        flow.ack(ramp::INCREASE);
    }
    close(flow.window(), 373_760.0); // BOLT-20: the largest window
}

/// BOLT-15, BOLT-16: a window of 50 packets per 8 µs is half of the rate of the link. A queue of 8
/// packets drains within the round trip of the notice (4 µs) if this flow removes one packet from
/// its window each 4 µs / (8 · ½) = 1 µs.
#[test]
fn notices_take_a_packet_for_each_share_of_the_queue() {
    let mut flow = Flow::with_window(50_000);
    close(flow.notice(0, 8), 49_000.0);
    close(flow.notice(0, 8), 49_000.0);
    // The flow now has 0.49 of the rate of the link, so the interval is 1.02 µs.
    close(flow.notice(1, 8), 49_000.0);
    close(flow.notice(1, 8), 48_000.0);
    // A longer queue shortens the interval. `target_queue` is subtracted from the queue.
    close(flow.notice(1, 80), 47_000.0);
    flow.config.target_queue_bytes = 80 * 1048;
    close(flow.notice(1000, 80), 47_000.0);
    close(flow.notice(1000, 81), 46_000.0);
}

/// BOLT-16: before the first ACK, a notice uses the rate of the port as the rate of the flow, and
/// the interval since the last decrease starts with the flow.
#[test]
fn before_the_first_ack_the_rate_is_that_of_the_port() {
    let mut flow = Flow::new(SenderConfig::default());
    flow.now = 3 * US;
    // A queue of 4 packets: 4 µs / (4 · 1) = 1 µs after the start. A queue of 1 packet: 4 µs later.
    close(flow.notice(1, 4), 99_000.0);
    close(flow.notice(2, 1), 99_000.0);
    close(flow.notice(2, 1), 98_000.0);
}

/// BOLT-15: at or below one packet each notice halves the window, down to 15 B.
#[test]
fn small_windows_fall_by_half() {
    let mut flow = Flow::with_window(2_000);
    close(flow.notice(1, 8), 1_000.0);
    close(flow.notice(0, 8), 500.0);
    close(flow.notice(0, 0), 250.0);
    for _ in 0..10 {
        flow.notice(0, 8);
    }
    close(flow.window(), 15.0); // BOLT-20: the smallest window
}

/// BOLT-17: a loss halves the window, once per round trip.
#[test]
fn losses_halve_the_window_once_per_round_trip() {
    let mut flow = Flow::with_window(80_000);
    close(flow.loss(1), 40_000.0);
    close(flow.loss(7), 40_000.0);
    close(flow.loss(1), 20_000.0);
    // The decrease by a notice delays the next decrease by a loss.
    close(flow.notice(8, 8), 19_000.0);
    close(flow.loss(1), 19_000.0);
}

/// BOLT-18, BOLT-19: the window permits whole packets, at least one. Below one packet, a packet of
/// 1048 B starts every (round trip / window in packets).
#[test]
fn below_one_packet_the_flow_is_paced() {
    let mut flow = Flow::with_window(3_999);
    let rate = |flow: &mut Flow| flow.bolt.rate_bps(&flow.config, &flow.path, flow.now);
    let window = |flow: &mut Flow| flow.bolt.window(&flow.config, &flow.path, flow.now);
    assert_eq!((rate(&mut flow), window(&mut flow)), (f64::INFINITY, 2_001));
    let mut flow = Flow::with_window(250);
    close(rate(&mut flow), 1048.0 * 8.0 * 0.25 / 8e-6);
    assert_eq!(window(&mut flow), 1);
}

/// BOLT-21: marks of ECN and CNPs change nothing.
#[test]
fn marks_of_ecn_change_nothing() {
    let mut flow = Flow::with_window(20_000);
    close(flow.feed(&Feedback::Cnp), 20_000.0);
    let marked = Ack {
        marked: true,
        ..ack(flow.seq, flow.seq)
    };
    close(flow.feed(&Feedback::Ack(marked)), 20_000.0);
}
