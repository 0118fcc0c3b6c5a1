//! Hosts that need time to process arriving frames.

use super::*;

fn slow(delay_ps: Time, gbps: Option<u64>) -> NicConfig {
    NicConfig {
        host: HostConfig {
            processing: Some(Processing {
                delay_ps,
                rate: gbps.map(Rate::from_gbps),
            }),
            ..HostConfig::default()
        },
        ..config()
    }
}

fn data(psn: u32) -> (Packet, Cold) {
    let hot = Packet {
        flow: 4,
        psn,
        dst: 5,
        ..Packet::new(Kind::Data, 2, 1048)
    };
    let cold = Cold {
        src: 3,
        remaining: 1000 * u64::from(9 - psn),
        payload: 1000,
        ..Cold::default()
    };
    (hot, cold)
}

/// NIC-40, NIC-41, NIC-42: at 50 Gb/s a frame of 1048 bytes takes 167 680 ps. Two frames that
/// arrive together are processed one after the other, and each is delayed by 1 µs more. Each ACK
/// contains the delay of its packet in the host.
#[test]
fn frames_are_processed_one_after_another_and_then_acted_on() {
    let mut b = Bench::new(&slow(US, Some(50)));
    let took_ps = 2 * FRAME_PS;
    for psn in 0..2 {
        let (hot, cold) = data(psn);
        b.receive(hot, cold);
    }
    assert_eq!(b.ears.wakes, [took_ps + US]);
    assert!(b.send().is_none() && b.nic.counters().delivered_bytes == 0);
    assert_eq!(b.nic.queued_replies(&b.arena), 2);
    b.now = took_ps + US;
    b.timer();
    assert_eq!(*b.ears.wakes.last().unwrap(), 2 * took_ps + US);
    let reply = b.send_id().unwrap();
    let held = |b: &Bench, reply| {
        let cold = b.arena.cold(reply);
        (cold.local_host_ps, cold.remote_host_ps)
    };
    assert_eq!(held(&b, reply), (took_ps + US, 0));
    assert!(b.send().is_none());
    b.now = 2 * took_ps + US;
    b.timer();
    let reply = b.send_id().unwrap();
    assert_eq!(held(&b, reply), (2 * took_ps + US, 0));
    assert_eq!(b.nic.counters().delivered_bytes, 2000);
}

/// NIC-40: without a processing rate, frames are only delayed by the fixed time, in parallel.
#[test]
fn without_a_rate_frames_are_processed_side_by_side() {
    let mut b = Bench::new(&slow(US, None));
    for psn in 0..2 {
        let (hot, cold) = data(psn);
        b.receive(hot, cold);
    }
    b.now = US;
    b.timer();
    assert_eq!(b.send_all().len(), 2);
}

/// NIC-41, NIC-42: an ACK is delayed in the sender's host. The sender measures this delay and the
/// delay in the receiver's host separately. Both change Swift's windows.
#[test]
fn a_sender_knows_the_time_of_both_hosts() {
    let swift = dataplane::cc::swift::SwiftConfig {
        endpoint_target_ps: 5 * US,
        initial_cwnd: Some(8.0),
        ..Default::default()
    };
    // The endpoint delay is 2 + 2 µs, which is below the target, or 2 + 4 µs, which is above the
    // target.
    for (remote_ps, packets) in [(2 * US, 8), (4 * US, 7)] {
        let mut b = Bench::new(&NicConfig {
            control: Sending::Control(ControlConfig::Swift(swift)),
            ..slow(2 * US, None)
        });
        b.start(0, 100_000);
        assert_eq!(b.send_all().len(), 8);
        b.now = 20 * US;
        let ack = Packet {
            flow: 0,
            psn: 1,
            ..Packet::new(Kind::Ack, 1, 60)
        };
        let cold = Cold {
            local_host_ps: remote_ps,
            stamp: Stamp::INCOMPLETE,
            ..Cold::default()
        };
        b.receive(ack, cold);
        assert!(b.send().is_none(), "not before it is processed");
        b.now = 22 * US;
        b.timer();
        // One packet was acknowledged.
        assert_eq!(b.send_all().len(), packets - 7, "{remote_ps}");
    }
}

/// NIC-40: the NIC processes a pause frame without delay.
#[test]
fn frames_between_neighbours_pass_the_host_by() {
    let mut b = Bench::new(&slow(US, None));
    b.start(0, 10_000);
    b.pause_classes(true, 1 << 2);
    assert!(b.send().is_none());
}
