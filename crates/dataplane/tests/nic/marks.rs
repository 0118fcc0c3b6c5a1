//! Marks of packets: the congestion control sets them, and the receiver returns them.

use super::*;
use dataplane::cc::bolt::SenderConfig;
use dataplane::packet::ramp::{ADDITIVE, FIRST, INCREASE, LAST};

fn bolt() -> NicConfig {
    NicConfig {
        control: Sending::Control(ControlConfig::Bolt(SenderConfig::default())),
        ..config()
    }
}

/// Returns a flow whose initial window is this number of packets.
fn with_window(flow: u32, bytes: u64, packets: u32) -> FlowStart {
    let mut start = start(flow, bytes);
    start.path.bdp_bytes = f64::from(packets) * 1000.0;
    start
}

impl Bench {
    /// Returns the marks of all packets that port 0 sends now.
    fn marks(&mut self) -> Vec<u8> {
        let mut marks = Vec::new();
        while let Some(id) = self.send_id() {
            marks.push(self.arena.marks(id));
            self.arena.free(id);
            self.now += FRAME_PS;
        }
        marks
    }

    /// Delivers an ACK with these marks for all packets below `psn` of the flow in slot `slot`.
    fn ack_with(&mut self, (flow, slot): (u32, u32), psn: u32, marks: u8) {
        let packet = Packet {
            flow,
            psn,
            ..Packet::new(Kind::Ack, 1, 60)
        };
        let cold = Cold {
            slot: FlowSlot::from_bits(slot),
            stamp: Stamp::INCOMPLETE,
            ..Cold::default()
        };
        let id = self.arena.alloc(packet, cold);
        self.arena.set_marks(id, marks);
        self.nic
            .receive(self.now, 0, id, &mut self.arena, &mut self.ears);
    }
}

// NIC-55, BOLT-01, BOLT-11, BOLT-12, BOLT-14: marks of packets and ACKs
#[test]
fn a_control_marks_packets_and_reads_the_marks_of_acks() {
    let mut b = Bench::new(&bolt());
    b.start_with(with_window(1, 6000, 2));
    assert_eq!(b.marks(), [FIRST | ADDITIVE, FIRST]);
    // The window permits one packet for the acknowledged one, and one more for the mark.
    b.ack_with((1, 0), 1, INCREASE);
    assert_eq!(b.marks(), [INCREASE | ADDITIVE, LAST]);
    b.ack_with((1, 0), 2, 0);
    assert_eq!(b.marks(), [LAST]);
}

// NIC-55: ACKs return marks
#[test]
fn an_ack_returns_the_marks_of_its_packet() {
    let mut b = Bench::new(&config());
    for (psn, marks) in [(0, INCREASE), (1, 0)] {
        let packet = Packet {
            flow: 4,
            psn,
            ..Packet::new(Kind::Data, 2, 1048)
        };
        let cold = Cold {
            remaining: 5000 - 1000 * u64::from(psn),
            payload: 1000,
            ..Cold::default()
        };
        let id = b.arena.alloc(packet, cold);
        b.arena.set_marks(id, marks);
        b.nic.receive(b.now, 0, id, &mut b.arena, &mut b.ears);
        assert_eq!(b.marks(), [marks]);
    }
}

// NIC-52, NIC-55, BOLT-13: marks of several messages
#[test]
fn bytes_of_marked_packets_count_over_all_messages_of_a_queue_pair() {
    let mut b = Bench::new(&NicConfig {
        control: bolt().control.paired().expect("a control of senders"),
        ..bolt()
    });
    for flow in [1, 2] {
        let start = with_window(flow, 4000, 4);
        b.nic.start_on(b.now, &start, Some(7), &mut b.ears);
    }
    assert_eq!(b.marks().len(), 4);
    b.ack_with((1, 0), 1, 0);
    let is_additive = |b: &mut Bench| b.marks()[0] & ADDITIVE != 0;
    assert!(is_additive(&mut b), "the first packet is acknowledged");
    b.ack_with((1, 0), 2, 0);
    assert!(
        !is_additive(&mut b),
        "2000 bytes of the pair, and the packet ends at 5000"
    );
}
