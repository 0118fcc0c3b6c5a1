//! Queue pairs that several messages share.

use super::*;
use crate::sets::DctcpSets;
use dataplane::transport::ndp::NdpConfig;

fn shared(config: NicConfig) -> NicConfig {
    NicConfig {
        control: config.control.paired().expect("a control of senders"),
        ..config
    }
}

impl Bench {
    /// Starts a message of `bytes` on queue pair 7.
    fn message(&mut self, flow: u32, bytes: u64) {
        (self.nic).start_on(self.now, &start(flow, bytes), Some(7), &mut self.ears);
    }
}

// NIC-50: messages of a queue pair are sent in order
#[test]
fn messages_of_a_queue_pair_follow_each_other_and_take_the_turns_of_one_flow() {
    let mut b = Bench::new(&shared(config()));
    for flow in 0..3 {
        b.message(flow, 2000);
    }
    b.start(9, 3000);
    let mut seen = Vec::new();
    b.nic
        .for_each_flow(|flow| seen.push((flow.cookie, flow.why)));
    let behind = "waits for an earlier message of its queue pair";
    assert_eq!(seen[2..], [(1001, behind), (1002, behind)]);
    let order: Vec<u32> = b.send_all().iter().map(|p| p.flow).collect();
    assert_eq!(order, [0, 9, 0, 9, 1, 9, 1, 2, 2]);
    // The next message starts although the sender has received no ACK.
    b.message(3, 1000);
    assert_eq!(numbers(&b.send_all()), [(3, 0)]);
}

// NIC-51: one window per queue pair
#[test]
fn messages_of_a_queue_pair_share_a_window() {
    let both = |config: NicConfig| {
        let mut b = Bench::new(&config);
        b.message(0, 2000);
        b.message(1, 2000);
        let first = numbers(&b.send_all());
        b.answer(Kind::Ack, 0, 0, 1);
        (first, numbers(&b.send_all()))
    };
    let (first, then) = both(shared(window(2500)));
    assert_eq!(first, [(0, 0), (0, 1), (1, 0)]);
    assert_eq!(then, [(1, 1)]);
    let (first, then) = both(window(2500));
    assert_eq!(first, [(0, 0), (1, 0), (0, 1), (1, 1)]);
    assert_eq!(then, []);
}

// NIC-51: the congestion-control state after one message continues with the next message.
#[test]
fn the_control_of_a_queue_pair_outlives_its_messages() {
    let gap = |config: NicConfig| {
        let mut b = Bench::new(&config);
        b.message(0, 10_000);
        for _ in 0..10 {
            assert!(b.send().is_some());
            b.now += FRAME_PS;
        }
        // A loss halves the window and the rate.
        b.answer(Kind::Nak, 0, 0, 9);
        b.now += FRAME_PS;
        assert_eq!(b.send().map(|p| p.psn), Some(9));
        b.now += 8 * FRAME_PS;
        b.answer(Kind::Ack, 0, 0, 10);
        assert_eq!(b.ears.ends.len(), 1, "the first message is over");
        b.message(1, 10_000);
        assert!(b.send().is_some());
        let sent_at = b.now;
        loop {
            b.now += FRAME_PS;
            b.timer();
            if b.send().is_some() {
                return (b.now - sent_at) / FRAME_PS;
            }
        }
    };
    let dctcp = NicConfig {
        control: Sending::Control(ControlConfig::Dctcp(DctcpConfig::line_rate_start())),
        ..config()
    };
    assert_eq!(
        gap(dctcp.clone()),
        1,
        "a new queue pair begins at line rate"
    );
    assert_eq!(gap(shared(dctcp)), 2);
}

// NIC-52: a loss in one message does not delay the next
#[test]
fn a_message_that_lost_packets_does_not_hold_up_the_next() {
    let mut b = Bench::new(&shared(window(10_000)));
    b.message(0, 2000);
    b.message(1, 2000);
    b.message(2, 1000);
    assert_eq!(b.send_all().len(), 5);
    b.answer(Kind::Ack, 1, 1, 2);
    b.answer(Kind::Nak, 0, 0, 1);
    assert_eq!(numbers(&b.send_all()), [(0, 1)]);
    b.answer(Kind::Ack, 2, 2, 1);
    b.answer(Kind::Ack, 0, 0, 2);
    let ends: Vec<u32> = b.ears.ends.iter().map(|end| end.flow).collect();
    assert_eq!(ends, [1, 2, 0]);
    // The slots and the queue pair can be reused.
    b.message(3, 1000);
    assert_eq!(numbers(&b.send_all()), [(3, 0)]);
}

// NIC-53: receiver-driven transports share no queue pairs
#[test]
fn transports_of_receivers_have_nothing_to_share() {
    let ndp = Sending::Transport(TransportConfig::Ndp(NdpConfig {
        window: None,
        timeout_ps: MS,
        trim: TrimConfig {
            packets: 8,
            header_bytes: 64,
            control_bytes: 8000,
            weight: 10,
            either: true,
            returns: true,
        },
    }));
    assert_eq!(ndp.paired(), None);
    let line = Sending::Control(ControlConfig::LineRate(LineRateConfig));
    assert!(matches!(line.paired(), Some(Sending::Paired(_))));
}
