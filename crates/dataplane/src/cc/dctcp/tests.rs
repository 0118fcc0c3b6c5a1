use crate::sets::DctcpSets;
use crate::sets::controls::{ack, close, loss, path};
use dataplane::cc::dctcp::Dctcp;
use dataplane::cc::dctcp::DctcpConfig;
use dataplane::cc::{Ack, Control, Feedback};

/// A flow at 100 Gb/s with a BDP of 100 000 bytes and packets of 1 000 bytes.
struct Flow {
    config: DctcpConfig,
    dctcp: Dctcp,
    seq: u64,
}

impl Flow {
    fn new(config: DctcpConfig) -> Self {
        Self {
            config,
            dctcp: Dctcp::new(&config, &path(100.0), 0),
            seq: 0,
        }
    }

    fn at_line_rate() -> Self {
        Self::new(DctcpConfig::line_rate_start())
    }

    fn window(&self) -> u64 {
        self.dctcp.clone().window(&self.config, &path(100.0), 0)
    }

    fn rate_bps(&self) -> f64 {
        self.dctcp.clone().rate_bps(&self.config, &path(100.0), 0)
    }

    /// Acknowledges one packet while `snd_nxt` is the first byte not yet sent. Returns the window.
    fn ack(&mut self, marked: bool, snd_nxt: u64) -> u64 {
        self.seq += 1_000;
        let ack = Feedback::Ack(Ack {
            marked,
            ..ack(self.seq, snd_nxt)
        });
        self.dctcp.on_feedback(&self.config, &path(100.0), 0, &ack);
        self.window()
    }
}

/// DCTCP-01, DCTCP-02, DCTCP-11: first window and first rate of a flow.
#[test]
fn starts_with_a_bdp_or_with_ten_packets() {
    let flow = Flow::at_line_rate();
    assert_eq!(flow.window(), 100_000);
    close(flow.rate_bps(), 1e11);
    let flow = Flow::new(DctcpConfig::paper());
    assert_eq!(flow.window(), 10_000);
    close(flow.rate_bps(), 1e10);
    let many = DctcpConfig {
        initial_packets: 1_000,
        ..DctcpConfig::paper()
    };
    assert_eq!(Flow::new(many).window(), 100_000);
}

/// DCTCP-03, DCTCP-04, DCTCP-05: α averages the share of marked bytes per observation window. The
/// expected values are computed by hand.
#[test]
fn recursion_of_alpha() {
    let mut flow = Flow::at_line_rate();
    assert_eq!(flow.dctcp.alpha, 1.0);
    // The first ACK starts an observation window that ends with an ACK beyond byte 4 000, so it
    // covers packets 1 to 5.
    for (marked, alpha) in [(true, 1.0), (true, 1.0), (false, 1.0), (false, 1.0)] {
        flow.ack(marked, 4_000);
        assert_eq!(flow.dctcp.alpha, alpha);
    }
    flow.ack(false, 7_000);
    let first = 15.0 / 16.0 + 2.0 / 5.0 / 16.0;
    close(flow.dctcp.alpha, first);
    // Packets 6 to 8, none marked.
    flow.ack(false, 9_000);
    flow.ack(false, 9_000);
    close(flow.dctcp.alpha, first);
    flow.ack(false, 9_000);
    close(flow.dctcp.alpha, first * 15.0 / 16.0);
    // Packets 9 and 10, both marked.
    flow.ack(true, 20_000);
    flow.ack(true, 20_000);
    close(flow.dctcp.alpha, first * 225.0 / 256.0 + 1.0 / 16.0);
}

/// DCTCP-06, DCTCP-07, DCTCP-08: one cut by α/2 per window, then growth by a packet per round trip.
#[test]
fn one_cut_per_window_then_a_packet_per_round_trip() {
    let mut flow = Flow::at_line_rate();
    // α = 1: the window is halved once, with no second cut until byte 3 000 is acknowledged.
    assert_eq!(flow.ack(true, 3_000), 50_000);
    assert_eq!(flow.ack(true, 4_000), 50_000);
    assert_eq!(flow.ack(true, 5_000), 50_000);
    // An unmarked ACK beyond byte 3 000 ends an observation window in which three of four packets
    // had marks.
    assert_eq!(flow.ack(false, 6_000), 51_000);
    let alpha = 15.0 / 16.0 + 0.75 / 16.0;
    close(flow.dctcp.alpha, alpha);
    assert_eq!(flow.ack(false, 7_000), 51_000);
    assert_eq!(flow.ack(false, 8_000), 51_000);
    assert_eq!(flow.ack(false, 9_000), 52_000);
    // A marked ACK beyond byte 9 000: α falls after an observation window without marks, then the
    // window is cut.
    let now = alpha * 15.0 / 16.0;
    assert_eq!(
        flow.ack(true, 10_000),
        (52_000.0 * (1.0 - now / 2.0)) as u64
    );
}

/// DCTCP-08: at the end of an observation window, the window does not grow after a reduction in it.
#[test]
fn no_increase_while_a_reduction_holds() {
    let mut flow = Flow::at_line_rate();
    flow.ack(false, 2_000);
    flow.ack(false, 9_000);
    // α decays after an observation window of three unmarked packets. The cut blocks growth up to
    // byte 20 000.
    flow.ack(true, 20_000);
    let window = flow.window();
    for _ in 4..=20 {
        assert_eq!(flow.ack(false, 20_000), window);
    }
    assert_eq!(flow.ack(false, 22_000), window + 1_000);
}

/// DCTCP-10: the window is at least one packet and at most one BDP; one packet if the BDP is
/// smaller.
#[test]
fn bounds_of_the_window() {
    let mut flow = Flow::at_line_rate();
    for _ in 0..10 {
        let beyond = flow.seq;
        flow.ack(true, beyond);
    }
    assert_eq!(flow.window(), 1_000);
    for _ in 0..300 {
        let beyond = flow.seq;
        flow.ack(false, beyond);
    }
    assert_eq!(flow.window(), 100_000);
    let config = DctcpConfig::line_rate_start();
    let mut short = Dctcp::new(&config, &path(0.1), 0);
    assert_eq!(short.window(&config, &path(0.1), 0), 1_000);
    close(short.rate_bps(&config, &path(0.1), 0), 1e8);
}

/// DCTCP-09: slow start adds the acknowledged bytes to the window, up to one BDP or the first mark.
#[test]
fn slow_start() {
    let mut flow = Flow::new(DctcpConfig::paper());
    for packets in 1..=90 {
        assert_eq!(flow.ack(false, 1 << 40), 10_000 + 1_000 * packets);
    }
    assert_eq!(flow.ack(false, 1 << 40), 100_000);
    let mut flow = Flow::new(DctcpConfig::paper());
    flow.ack(false, 2_000);
    assert_eq!(flow.ack(true, 3_000), 5_500);
    // Slow start is over: one packet more per observation window.
    for window in [5_500, 5_500, 6_500, 6_500] {
        assert_eq!(flow.ack(false, flow.seq + 2_000), window);
    }
}

/// DCTCP-12, DCTCP-07: a loss halves the window, once per observation window.
#[test]
fn a_loss_halves_once() {
    let mut flow = Flow::at_line_rate();
    flow.ack(false, 5_000);
    for _ in 0..3 {
        flow.dctcp
            .on_feedback(&flow.config, &path(100.0), 0, &loss(5_000));
        assert_eq!(flow.window(), 50_000);
    }
    // A mark does not cut the window again before byte 5 000 is acknowledged.
    assert_eq!(flow.ack(true, 5_000), 50_000);
    flow.seq = 5_000;
    flow.ack(false, 20_000);
    let window = flow.window();
    flow.dctcp
        .on_feedback(&flow.config, &path(100.0), 0, &loss(20_000));
    assert_eq!(flow.window(), window / 2);
}

/// DCTCP-13, DCTCP-14: values of the parameter sets.
#[test]
fn parameter_sets() {
    let paper = DctcpConfig::paper();
    assert_eq!((paper.g, paper.initial_packets), (1.0 / 16.0, 10));
    assert!(paper.slow_start && !DctcpConfig::line_rate_start().slow_start);
}

/// DCTCP-15: with `window = false` the rate is the same, and the bytes in flight are not limited.
#[test]
fn a_rate_without_a_window() {
    let rate_only = DctcpConfig {
        window: false,
        ..DctcpConfig::line_rate_start()
    };
    let (mut with, mut without) = (Flow::at_line_rate(), Flow::new(rate_only));
    for marked in [false, true, false, true, true, false, false, true] {
        with.ack(marked, with.seq + 3_000);
        assert_eq!(without.ack(marked, without.seq + 3_000), u64::MAX);
        let rate = |flow: &Flow| flow.rate_bps();
        close(rate(&without), rate(&with));
    }
    assert!(with.window() < 100_000);
}
