//! Tests of loss recovery by IRN and ideal retransmission, one per rule.

use super::*;
use crate::sets::{DcqcnSets, DctcpSets};
use dataplane::cc::Limit;

fn irn() -> IrnConfig {
    IrnConfig {
        window: IrnWindow::Off,
        ..IrnConfig::paper()
    }
}

fn with_irn(irn: IrnConfig) -> NicConfig {
    NicConfig {
        recovery: Recovery::Irn(irn),
        ..config()
    }
}

fn ideal() -> NicConfig {
    NicConfig {
        recovery: Recovery::ideal(None),
        ..config()
    }
}

/// Returns data packet `psn` of a flow of `packets` full packets.
fn data(psn: u32, packets: u32) -> (Packet, Cold) {
    let hot = Packet {
        psn,
        dst: 5,
        flow: 0,
        ..Packet::new(Kind::Data, 2, 1048)
    };
    let cold = Cold {
        src: 3,
        remaining: 1000 * u64::from(packets - psn),
        payload: 1000,
        ..Cold::default()
    };
    (hot, cold)
}

fn arrive(b: &mut Bench, psn: u32, packets: u32) -> Option<(Kind, u32)> {
    let (hot, cold) = data(psn, packets);
    b.receive(hot, cold);
    b.send().map(|p| (p.kind(), p.psn))
}

impl Bench {
    /// Delivers a NAK with `psn` as the next expected packet. Packet `cause`, which was sent at
    /// `sent_ps`, caused the NAK. The flow has `packets` full packets.
    fn nak(&mut self, psn: u32, cause: u32, packets: u32, sent_ps: Time) {
        self.tell(Kind::Nak, psn, cause, packets, sent_ps);
    }

    fn tell(&mut self, kind: Kind, psn: u32, cause: u32, packets: u32, sent_ps: Time) {
        let hot = Packet {
            flow: 0,
            psn,
            ..Packet::new(kind, 1, 60)
        };
        let (_, cold) = data(cause, packets);
        self.receive(
            hot,
            Cold {
                sent_ps,
                stamp: Stamp::INCOMPLETE,
                ..cold
            },
        );
    }

    fn sent(&mut self) -> Vec<u32> {
        self.send_all().iter().map(|p| p.psn).collect()
    }
}

// REC-10, REC-11: a NAK for each packet after a gap
#[test]
fn the_receiver_takes_each_packet_once_and_names_it_beyond_a_gap() {
    let mut b = Bench::new(&NicConfig {
        ack_every: 2,
        ..with_irn(irn())
    });
    let mut replies = Vec::new();
    for psn in [0, 1, 2, 4, 5, 4, 2, 3, 6, 7, 7, 8, 8] {
        replies.push(arrive(&mut b, psn, 9));
    }
    let (ack, nak) = (|n| Some((Kind::Ack, n)), |n| Some((Kind::Nak, n)));
    assert_eq!(
        replies,
        [
            None,
            ack(2),
            None,
            nak(3),
            nak(3),
            nak(3),
            ack(3),
            ack(6),
            None,
            ack(8),
            ack(8),
            ack(9),
            ack(9),
        ]
    );
    let c = b.nic.counters();
    assert_eq!((c.delivered_bytes, c.discarded), (9000, 4));
    assert_eq!((c.naks, c.acks), (3, 7));
}

/// The remaining bytes of the flow in a NAK identify the packet that caused the NAK.
// REC-11
#[test]
fn a_nak_says_which_packet_caused_it() {
    let mut b = Bench::new(&with_irn(irn()));
    let (hot, cold) = data(7, 9);
    b.receive(hot, cold);
    let id = b.send_id().unwrap();
    assert_eq!(b.arena.hot(id).kind(), Kind::Nak);
    assert_eq!((b.arena.hot(id).psn, b.arena.hot(id).size), (0, 60));
    assert_eq!(b.arena.cold(id).remaining, 2000);
}

// REC-12, REC-13, REC-14: selective retransmission, once per packet
#[test]
fn only_what_is_missing_is_sent_again_and_once() {
    let mut b = Bench::new(&with_irn(irn()));
    b.start(0, 12_000);
    for _ in 0..8 {
        b.send();
    }
    // Packet 0 has arrived. Packets 1, 2 and 5 are lost.
    b.answer(Kind::Ack, 0, 0, 1);
    b.nak(1, 3, 12, 0);
    assert_eq!(
        b.send().map(|p| p.psn),
        Some(1),
        "lost ones before new ones"
    );
    b.nak(1, 4, 12, 0);
    b.nak(1, 6, 12, 0);
    b.nak(1, 6, 12, 0);
    assert_eq!(b.sent(), [2, 5, 8, 9, 10, 11]);
    b.nak(1, 7, 12, 0);
    assert_eq!(b.sent(), [0; 0], "each of them is on its way");
    b.answer(Kind::Ack, 0, 0, 2);
    b.answer(Kind::Ack, 0, 0, 5);
    assert_eq!(b.sent(), [0; 0]);
    let c = b.nic.counters();
    assert_eq!((c.retransmissions, c.timeouts), (3, 0));
    b.answer(Kind::Ack, 0, 0, 12);
    assert_eq!(b.ears.ends[0].retransmitted, 3);
}

// REC-13, REC-20: reordering up to `lost_after`
#[test]
fn a_packet_may_be_overtaken_by_less_than_lost_after() {
    let mut b = Bench::new(&with_irn(IrnConfig {
        lost_after: 3,
        ..irn()
    }));
    b.start(0, 8000);
    b.send_all();
    b.nak(0, 1, 8, 0);
    b.nak(0, 2, 8, 0);
    assert_eq!(b.sent(), [0; 0]);
    b.nak(0, 4, 8, 0);
    assert_eq!(b.sent(), [0], "1 has arrived; 3 is overtaken by 4 alone");
}

// REC-14, REC-15: BDP limit of new packets only
#[test]
fn the_bdp_holds_back_new_packets_and_no_lost_ones() {
    for window in [IrnWindow::Bytes(5000), IrnWindow::Bdp] {
        let mut b = Bench::new(&with_irn(IrnConfig { window, ..irn() }));
        b.start_with(FlowStart {
            path: PathInfo {
                bdp_bytes: 4001.0,
                ..start(0, 0).path
            },
            ..start(0, 20_000)
        });
        assert_eq!(b.sent(), [0, 1, 2, 3, 4], "{window:?}");
        b.nak(0, 2, 20, 0);
        assert_eq!(b.sent(), [0, 1], "the gap keeps its place in the window");
        b.answer(Kind::Ack, 0, 0, 3);
        assert_eq!(b.sent(), [5, 6, 7]);
    }
}

// REC-16: short and long timeout
#[test]
fn few_packets_in_flight_wait_for_a_shorter_time() {
    for (packets, after) in [(2, 100 * US), (3, 320 * US)] {
        let mut b = Bench::new(&with_irn(irn()));
        b.start(0, 1000 * packets);
        b.send_all();
        let began = b.now;
        loop {
            let at = *b.ears.wakes.last().unwrap();
            assert!(at > b.now);
            b.now = at;
            b.timer();
            if b.nic.counters().timeouts == 1 {
                break;
            }
        }
        let waited = b.now - began;
        assert!(waited <= after && waited + US > after, "{waited}");
        assert_eq!(b.sent(), [0]);
    }
}

/// After ten packets in flight, eight are acknowledged, so the short timeout applies.
// REC-16
#[test]
fn the_time_shortens_as_the_flight_does() {
    let mut b = Bench::new(&with_irn(irn()));
    b.start(0, 10_000);
    b.send_all();
    b.now = 150 * US;
    b.timer();
    b.answer(Kind::Ack, 0, 0, 8);
    while b.nic.counters().timeouts == 0 {
        b.now = *b.ears.wakes.iter().filter(|&&at| at > b.now).min().unwrap();
        b.timer();
    }
    assert_eq!(b.now, 250 * US);
}

// REC-17, REC-18: retransmission after a timeout
#[test]
fn a_timeout_sends_one_packet_and_its_answer_condemns_the_rest() {
    let mut b = Bench::new(&with_irn(irn()));
    b.start(0, 6000);
    b.send_all();
    b.now = 400 * US;
    b.timer();
    b.now = 800 * US;
    b.timer();
    assert_eq!(
        b.nic.counters().timeouts,
        2,
        "the first at 400 µs, then 320 more"
    );
    let probed_ps = b.now;
    assert_eq!(b.sent(), [0]);
    // The ACK of the first copy arrives late. It does not show which other packets are lost.
    b.tell(Kind::Ack, 1, 0, 6, 7);
    assert_eq!(b.sent(), [0; 0]);
    // The second copy is acknowledged: missing packets that were sent before this copy are lost.
    b.tell(Kind::Ack, 1, 0, 6, probed_ps);
    assert_eq!(b.sent(), [1, 2, 3, 4, 5]);
    b.tell(Kind::Ack, 1, 0, 6, probed_ps);
    assert_eq!(b.sent(), [0; 0], "once");
}

/// If a retransmitted packet is lost, it needs a timeout, and is then sent before all others.
// REC-14, REC-17
#[test]
fn a_loss_of_the_second_copy_needs_a_timeout() {
    let mut b = Bench::new(&with_irn(irn()));
    b.start(0, 9000);
    for _ in 0..5 {
        b.send();
    }
    b.nak(0, 1, 9, 0);
    b.nak(0, 3, 9, 0);
    assert_eq!(b.sent(), [0, 2, 5, 6, 7, 8]);
    b.nak(0, 8, 9, 0);
    assert_eq!(b.sent(), [4, 5, 6, 7]);
    b.now = 500 * US;
    b.timer();
    assert_eq!(
        b.sent(),
        [0, 2, 4, 5, 6, 7],
        "0 first, then all known losses"
    );
}

/// While packets are missing, NAKs give the congestion control the same information as ACKs. Each
/// byte counts once.
// REC-12, REC-19, DCTCP-12
#[test]
fn naks_acknowledge_to_the_control() {
    let slow = DctcpConfig::paper();
    let mut b = Bench::new(&NicConfig {
        control: Sending::Control(ControlConfig::Dctcp(slow)),
        ..with_irn(irn())
    });
    b.start(0, 100_000);
    // Slow start with ten packets: each acknowledged byte adds one byte to the window.
    b.now = MS / 20;
    for _ in 0..10 {
        while b.send().is_none() {
            b.now += US;
            b.timer();
        }
    }
    b.nak(0, 1, 100, b.now);
    // The NAK adds 1000 B for the acknowledged packet and halves the window for the loss. The loss
    // is applied first. Then slow start has ended and the window is constant.
    let flight = |b: &mut Bench| {
        let mut n = 0;
        for _ in 0..200 {
            n += usize::from(b.send().is_some());
            b.now += US / 10;
            b.timer();
        }
        n
    };
    assert_eq!(
        flight(&mut b),
        1,
        "packet 0 again, nothing new beyond 5000 B"
    );
    b.answer(Kind::Ack, 0, 0, 10);
    assert_eq!(flight(&mut b), 5, "half of ten, one loss");
}

// REC-30, REC-32: retransmission after drop notices
#[test]
fn the_ideal_sender_repeats_what_it_is_told_of() {
    let mut b = Bench::new(&NicConfig {
        control: Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
            window: Some(4000),
        })),
        ..ideal()
    });
    b.start(0, 9000);
    let mut sent = Vec::new();
    while let Some(id) = b.send_id() {
        sent.push(id);
        b.now += FRAME_PS;
    }
    assert_eq!(sent.len(), 4);
    let told = |b: &mut Bench, id: PacketId| {
        b.nic.returned(b.now, 0, id, &mut b.arena, &mut b.ears);
    };
    b.ears.kicks.clear();
    told(&mut b, sent[3]);
    told(&mut b, sent[1]);
    assert_eq!(
        b.ears.kicks,
        [0],
        "a flow that waited for its window goes on"
    );
    assert_eq!(
        b.sent(),
        [3, 1],
        "in the order of the news, and nothing new"
    );
    b.answer(Kind::Ack, 0, 0, 2);
    assert_eq!(b.sent(), [4, 5], "two of four have arrived, whichever");
    assert_eq!(b.nic.counters().retransmissions, 2);
    assert!(b.ears.wakes.is_empty(), "there is no timeout");
}

// REC-33: dropped replies
#[test]
fn a_dropped_reply_is_sent_again_as_it_was() {
    let mut b = Bench::new(&ideal());
    let (hot, cold) = data(2, 9);
    b.receive(hot, cold);
    let id = b.send_id().unwrap();
    let (before, also) = (*b.arena.hot(id), *b.arena.cold(id));
    assert_eq!(
        (before.kind(), before.psn),
        (Kind::Ack, 1),
        "packets are counted"
    );
    b.arena.hot_mut(id).upstream_queue = 9;
    b.nic.returned(b.now, 0, id, &mut b.arena, &mut b.ears);
    let again = b.send_id().unwrap();
    let (after, too) = (*b.arena.hot(again), *b.arena.cold(again));
    assert_eq!(
        (after.kind(), after.psn, after.size, after.dst),
        (before.kind(), before.psn, before.size, before.dst)
    );
    assert_eq!(
        (too.slot, too.sent_ps, too.stamp),
        (also.slot, also.sent_ps, also.stamp)
    );
    assert_eq!(after.upstream_queue, 0);
    assert_eq!(b.nic.counters().acks, 2);
}

// REC-21: IRN parameters of the paper
#[test]
fn the_published_values() {
    let paper = IrnConfig::paper();
    assert_eq!((paper.rto_low_ps, paper.rto_high_ps), (100 * US, 320 * US));
    assert_eq!((paper.few, paper.lost_after), (3, 1));
    assert_eq!(paper.window, IrnWindow::Bdp);
}

/// Creates a NIC whose flows use DCQCN with a window that follows the rate.
fn with_window(dcqcn: DcqcnConfig) -> Bench {
    Bench::new(&NicConfig {
        control: Sending::Control(ControlConfig::Dcqcn(DcqcnConfig {
            window: Limit::Rate,
            ..dcqcn
        })),
        ..config()
    })
}

/// The window blocks the flow until a tick of the increase timer raises the window, without an ACK.
// NIC-08, DCQCN-24
#[test]
fn a_timer_that_opens_the_window_wakes_the_flow() {
    let mut b = with_window(DcqcnConfig::paper());
    // One BDP is 100 000 B at 100 Gb/s.
    b.start(0, 500_000);
    assert_eq!(b.send_all().len(), 100);
    b.answer(Kind::Cnp, 0, 0, 0);
    let cut_ps = b.now;
    b.ears.wakes.clear();
    b.answer(Kind::Ack, 0, 0, 40);
    assert!(b.send().is_none(), "60 000 B in flight, 50 000 allowed");
    assert_eq!(b.ears.wakes, [cut_ps + 55 * US], "one wish");
    b.answer(Kind::Ack, 0, 0, 41);
    assert_eq!(b.ears.wakes.len(), 1, "and no second");
    b.now = cut_ps + 55 * US;
    b.ears.kicks.clear();
    b.timer();
    assert_eq!(b.ears.kicks, [0], "75 000 B are allowed now");
    assert_eq!(b.send().map(|p| p.psn), Some(100));
}

/// A flow with a fixed window of one BDP is unblocked only by ACKs, never by a timer.
// NIC-08, DCQCN-24
#[test]
fn no_timer_opens_a_window_that_stays() {
    let mut b = with_window(DcqcnConfig {
        window: Limit::Bdp,
        ..DcqcnConfig::paper()
    });
    b.start(0, 500_000);
    assert_eq!(b.send_all().len(), 100);
    b.answer(Kind::Cnp, 0, 0, 0);
    b.ears.wakes.clear();
    b.now += 300 * US;
    assert!(b.send().is_none(), "a BDP is in flight");
    assert!(b.ears.wakes.is_empty());
    b.answer(Kind::Ack, 0, 0, 40);
    assert_eq!(b.send().map(|p| p.psn), Some(100));
}

/// If the window is below one packet, or below one byte, one packet may be sent while none is in
/// flight.
// NIC-04, DCQCN-20, DCQCN-24
#[test]
fn a_tiny_window_never_closes_for_good() {
    let mut b = Bench::new(&NicConfig {
        control: Sending::Control(ControlConfig::Dcqcn(DcqcnConfig {
            window: Limit::Rate,
            min_rate_bps: 1.0,
            ai_bps: 0.0,
            hai_bps: 0.0,
            ..DcqcnConfig::paper()
        })),
        recovery: Recovery::NONE,
        ..config()
    });
    b.start(0, 5_000);
    assert_eq!(b.send_all().len(), 5);
    let mut b = with_window(DcqcnConfig {
        min_rate_bps: 1.0,
        clamp_target: true,
        ..DcqcnConfig::paper()
    });
    b.start(0, 300_000);
    b.send();
    for _ in 0..200 {
        b.answer(Kind::Cnp, 0, 0, 0);
    }
    // The rate is almost 0. Each ACK permits the next packet, at the pace of this rate.
    b.answer(Kind::Ack, 0, 0, 1);
    let mut sent = 1;
    for _ in 0..4000 {
        if let Some(&at) = b.ears.wakes.iter().filter(|&&at| at > b.now).min() {
            b.now = at;
            b.timer();
        }
        while b.send().is_some() {
            sent += 1;
            b.answer(Kind::Ack, 0, 0, sent);
        }
    }
    assert_eq!(b.ears.ends.len(), 1, "{sent} of 300 sent");
}
