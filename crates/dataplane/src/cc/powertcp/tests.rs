use crate::sets::controls::{ack, close, path};
use dataplane::cc::Increase;
use dataplane::cc::powertcp::{PowerConfig, PowerTcp, PowerTcpConfig, Reference};
use dataplane::cc::{Ack, Control, Feedback, Loss};
use dataplane::int::{IntHop, IntStack};

/// A sender at 100 Gb/s with a base round trip of 8 µs: BDP 100 000 bytes, β 1000 bytes, no floor.
fn config() -> PowerTcpConfig {
    PowerTcpConfig {
        power: PowerConfig {
            beta: Increase::Bytes(1000.0),
            floor: 0.0,
            ..PowerConfig::paper(1e11)
        },
        ..PowerTcpConfig::paper(1e11)
    }
}

/// A flow whose ACKs carry telemetry of two links.
struct Flow {
    config: PowerTcpConfig,
    power: PowerTcp,
    seq: u64,
    now: u64,
    hops: Vec<IntHop>,
}

impl Flow {
    fn new() -> Self {
        let hop = IntHop {
            rate_mbps: 100_000,
            ..IntHop::default()
        };
        Self {
            config: config(),
            power: PowerTcp::new(&config(), &path(100.0), 0),
            seq: 0,
            now: 0,
            hops: vec![hop; 2],
        }
    }

    fn window(&mut self) -> f64 {
        self.power.rate_bps(&self.config, &path(100.0), 0) * 8e-6 / 8.0
    }

    /// Returns the window after an ACK, `after_ns` later. `links` contains the bytes sent since the
    /// last ACK and the queue length of each link.
    fn ack(&mut self, after_ns: u64, links: [(u64, u32); 2]) -> f64 {
        self.now += after_ns * 1000;
        let mut stack = IntStack::default();
        for (at, (sent, queue)) in links.into_iter().enumerate() {
            let hop = &mut self.hops[at];
            hop.ts_ps += after_ns * 1000;
            hop.tx_bytes += sent;
            hop.qlen_bytes = queue;
            stack.push(at as u32, *hop);
        }
        self.ack_with(Some(&stack))
    }

    /// Sends an ACK for the next packet of 1000 bytes, which is the last packet sent so far.
    /// Returns the window.
    fn ack_with(&mut self, int: Option<&IntStack>) -> f64 {
        self.seq += 1000;
        let ack = Feedback::Ack(Ack {
            int: int.map(IntStack::telemetry),
            ..ack(self.seq, self.seq)
        });
        self.power
            .on_feedback(&self.config, &path(100.0), self.now, &ack);
        self.window()
    }
}

/// POWER-01, POWER-03, POWER-04, POWER-10, POWER-11, POWER-12: values by hand. Measurements last a
/// whole base round trip, so the smoothed power equals the newest one.
#[test]
fn power_of_the_fullest_link() {
    let mut flow = Flow::new();
    close(flow.window(), 100_000.0);
    close(flow.ack(0, [(0, 0), (0, 0)]), 100_000.0);
    // 8 µs of a full second link whose queue grew by 50 000 bytes: current 1.5, voltage 1.5. The
    // window becomes γ·(100 000/2.25 + 1000) + (1 − γ)·100 000.
    let window = flow.ack(8_000, [(50_000, 0), (100_000, 50_000)]);
    let wanted = 0.9 * (100_000.0 / 2.25 + 1_000.0) + 10_000.0;
    close(window, wanted);
    close(flow.power.window.power, 2.25);
    close(flow.power.reference_bytes, 100_000.0);
    // Current 0.5, voltage 1: this packet was sent under the window after the last ACK.
    let then = flow.ack(8_000, [(40_000, 0), (100_000, 0)]);
    close(then, 0.9 * (wanted / 0.5 + 1_000.0) + 0.1 * wanted);
    close(flow.power.reference_bytes, wanted);
}

/// POWER-12: the reference window is the window at the time of sending, or one per round trip.
#[test]
fn the_reference_is_the_window_of_the_packet() {
    let reference = |of| {
        let mut flow = Flow::new();
        flow.config.reference = of;
        flow.ack(0, [(0, 0), (0, 0)]);
        let first = flow.ack(8_000, [(0, 0), (100_000, 100_000)]);
        // Each packet was sent just before the previous ACK arrived.
        let mut references = vec![];
        for _ in 0..3 {
            flow.ack(8_000, [(0, 0), (100_000, 100_000)]);
            references.push(flow.power.reference_bytes);
        }
        (first, references)
    };
    // `first` is the window of bytes from 2000 on. The three ACKs after it end at bytes 3000, 4000
    // and 5000.
    let (first, of_packet) = reference(Reference::Packet);
    close(of_packet[0], first);
    assert!(of_packet[1] < of_packet[0] && of_packet[2] < of_packet[1]);
    // One reference per round trip: the window after the last ACK.
    let (_, of_round_trip) = reference(Reference::RoundTrip);
    assert!(of_round_trip[0] < first);
}

/// POWER-02, POWER-04: a measurement over half a base round trip has the weight 1/2.
#[test]
fn power_is_smoothed_by_the_time_that_it_was_measured_over() {
    let mut flow = Flow::new();
    flow.ack(0, [(0, 0), (0, 0)]);
    // Current 2 (half a BDP sent and half a BDP more queued in half the time), voltage 1.5.
    flow.ack(4_000, [(0, 0), (50_000, 50_000)]);
    close(flow.power.window.power, 0.5 + 0.5 * 3.0);
    // A measurement longer than a base round trip replaces the smoothed power.
    flow.ack(80_000, [(0, 0), (1_000_000, 50_000)]);
    close(flow.power.window.power, 1.5);
}

/// POWER-11: a stamp that is not later, another path, or an ACK without telemetry does not change
/// the window.
#[test]
fn what_says_nothing_changes_nothing() {
    let mut flow = Flow::new();
    flow.ack(0, [(0, 0), (0, 0)]);
    close(flow.ack(0, [(1_000, 90_000), (0, 0)]), 100_000.0);
    close(flow.ack_with(None), 100_000.0);
    let mut other = IntStack::default();
    other.push(7, flow.hops[0]);
    close(flow.ack_with(Some(&other)), 100_000.0);
    close(flow.power.window.power, 1.0);
}

/// POWER-05: the window is at least what the lowest rate sends in a base round trip, at most one
/// BDP.
#[test]
fn windows_stay_between_their_bounds() {
    let mut flow = Flow::new();
    flow.ack(0, [(0, 0), (0, 0)]);
    close(flow.ack(8_000, [(0, 0), (0, 0)]), 100_000.0);
    flow.config.power.beta = Increase::Bytes(0.0);
    for _ in 0..40 {
        flow.ack(8_000, [(0, 0), (100_000, 4_000_000)]);
    }
    close(flow.window(), 100.0);
}

/// POWER-06: β is a size, a rate · base round trip, or BDP / number of flows.
#[test]
fn additive_increase() {
    let path = path(100.0);
    close(Increase::Bytes(80.0).bytes(&path), 80.0);
    close(Increase::Rate(600e6).bytes(&path), 600.0);
    close(Increase::Flows(10).bytes(&path), 10_000.0);
}

/// POWER-07, POWER-08: values of the authors' code: Γ / η, and a current of at least half the link.
#[test]
fn target_and_floor() {
    let mut flow = Flow::new();
    flow.config.power.eta = 0.95;
    flow.config.power.floor = 0.5;
    flow.ack(0, [(0, 0), (0, 0)]);
    let window = flow.ack(8_000, [(0, 0), (100_000, 100_000)]);
    close(flow.power.window.power, 4.0);
    let wanted = 0.9 * (95_000.0 / 4.0 + 1_000.0) + 10_000.0;
    close(window, wanted);
    flow.ack(8_000, [(0, 0), (10_000, 0)]);
    close(flow.power.window.power, 0.5);
}

/// POWER-09: a loss, a mark or a notice does not change the window.
#[test]
fn losses_change_nothing() {
    let mut flow = Flow::new();
    let loss = Feedback::Loss(Loss {
        snd_nxt: 0,
        timeout: true,
    });
    flow.power.on_feedback(&flow.config, &path(100.0), 0, &loss);
    flow.power
        .on_feedback(&flow.config, &path(100.0), 0, &Feedback::Cnp);
    close(flow.window(), 100_000.0);
}

/// POWER-30, POWER-31: values of γ, η, β and the floor.
#[test]
fn constants() {
    let paper = PowerTcpConfig::paper(1e11).power;
    assert_eq!((paper.gamma, paper.eta, paper.floor), (0.9, 1.0, 0.5));
    assert_eq!(paper.beta, Increase::Rate(600e6));
    assert_eq!(paper.min_rate_bps, 1e8);
}
