use crate::sets::controls::{ack, close, path};
use dataplane::cc::Increase;
use dataplane::cc::powertcp::PowerConfig;
use dataplane::cc::theta_powertcp::ThetaPowerTcp;
use dataplane::cc::{Ack, Control, Feedback};
use dataplane::units::US;

/// POWER-13, POWER-14, POWER-15: power and window, with expected values by hand.
#[test]
fn power_of_round_trips() {
    let config = PowerConfig {
        beta: Increase::Bytes(1000.0),
        floor: 0.0,
        ..PowerConfig::paper(1e11)
    };
    let mut theta = ThetaPowerTcp::new(&config, &path(100.0), 0);
    let (mut now, mut seq) = (0, 0);
    // `newer`: true if the acknowledged packet was sent after the last change of the window.
    let mut round_trip = |newer: bool, after_ns: u64, rtt_us: u64| {
        now += after_ns * 1000;
        seq += 1000;
        let ack = Feedback::Ack(Ack {
            rtt_ps: rtt_us * US,
            ..ack(if newer { seq } else { 0 }, seq)
        });
        theta.on_feedback(&config, &path(100.0), now, &ack);
        let window = theta.rate_bps(&config, &path(100.0), 0) * 8e-6 / 8.0;
        (window, theta.window.power)
    };
    close(round_trip(true, 0, 8).0, 100_000.0);
    // In 8 µs the round trip grew from 8 µs to 12 µs: power = (1 + 0.5)·12/8 = 2.25.
    let wanted = 0.9 * (100_000.0 / 2.25 + 1_000.0) + 10_000.0;
    close(round_trip(true, 8_000, 12).0, wanted);
    // An ACK within the same round trip changes only the power. An ACK at the same time as the last
    // one changes nothing.
    let (window, power) = round_trip(false, 4_000, 10);
    close(window, wanted);
    close(power, 0.5 * 2.25 + 0.5 * (1.0 - 0.5) * 10.0 / 8.0);
    let (window, same) = round_trip(true, 0, 20);
    close(window, wanted);
    close(same, power);
    // If a path has a shorter round trip than the base round trip, the shorter one is used as τ.
    round_trip(false, 8_000, 4);
    close(round_trip(false, 8_000, 4).1, 1.0);
}
