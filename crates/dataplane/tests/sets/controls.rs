//! Inputs of congestion controls for tests.

use dataplane::cc::{Ack, Feedback, Loss, PathInfo};

/// Returns a path with a base RTT of 8 µs at `gbps`. Its BDP is 100 000 bytes at 100 Gb/s.
pub fn path(gbps: f64) -> PathInfo {
    PathInfo {
        base_rtt_ps: 8_000_000,
        line_bps: gbps * 1e9,
        frame_bytes: 1048,
        hops: 1,
        bdp_bytes: gbps * 1000.0,
        mtu: 1000,
        class: 0,
    }
}

/// Returns an ACK with sequence numbers only: no mark, no telemetry, no round-trip time.
pub fn ack(seq: u64, snd_nxt: u64) -> Ack<'static> {
    Ack {
        seq,
        newly: 1000,
        snd_nxt,
        marked: false,
        rtt_ps: 8_000_000,
        remote_host_ps: 0,
        local_host_ps: 0,
        int: None,
        marks: 0,
    }
}

/// Returns a NAK. `snd_nxt` is the next byte that the sender would send.
pub fn loss(snd_nxt: u64) -> Feedback<'static> {
    Feedback::Loss(Loss {
        snd_nxt,
        timeout: false,
    })
}

/// Asserts that two values are equal except for rounding.
#[track_caller]
pub fn close(got: f64, wanted: f64) {
    assert!(
        (got - wanted).abs() <= 1e-9 * wanted.abs().max(1e-300),
        "got {got}, wanted {wanted}"
    );
}
