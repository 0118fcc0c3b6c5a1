//! Compares two ways to create credits: only when they are needed, and each at its due time.

use crate::classes::{ClassSet, classes_of};
use crate::packet::{Cold, Stamp};
use crate::replies::Replies;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::counters::NicCounters;
use crate::flow::FlowEnd;
use crate::sets;
use crate::sink::DropCause;
use crate::transport::{Frames, Transport};

const MTU: u16 = 1460;

#[derive(Default)]
struct Ears {
    wake: Option<Time>,
    kicked: [bool; 2],
    draws: u64,
}

impl Sink for Ears {
    fn kick(&mut self, port: u16) {
        self.kicked[port as usize] = true;
    }
    fn wake(&mut self, at: Time) {
        self.wake = Some(self.wake.map_or(at, |before| before.min(at)));
    }
    fn call(&mut self, _: Time, _: u32) {}
    fn dropped(&mut self, _: &Packet, _: Option<u16>, _: DropCause) {}
    fn draw(&mut self) -> u64 {
        self.draws += 1;
        let mixed = self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
    fn pfc_received(&mut self, _: u16, _: ClassSet, _: ClassSet) {}
    fn finished(&mut self, _: FlowEnd) {}
}

const CONFIG: ExpressPassConfig = sets::expresspass(1538);

const FRAMES: Frames = Frames {
    mtu: MTU,
    header: 78,
    ack: 84,
    ack_class: 2,
    data_class: 2,
};

/// A sender of a flow to this host, and the losses of its credits in the network.
#[derive(Clone, Copy, Debug)]
struct Peer {
    start_ps: Time,
    packets: u32,
    rtt_ps: Time,
    /// Number of credits, out of 16, that are lost.
    lost: u8,
    port: u16,
}

fn peer() -> impl Strategy<Value = Peer> {
    let start = prop_oneof![Just(0), 0..40_000_000u64];
    (start, 1u32..60, 2_000_000u64..9_000_000, 0u8..12, 0u16..2).prop_map(
        |(start_ps, packets, rtt_ps, lost, port)| Peer {
            start_ps,
            packets,
            rtt_ps,
            lost,
            port,
        },
    )
}

/// All observable results of a run.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Frames sent: time, port, flow ID, kind and packet number.
    sent: Vec<(Time, u16, u32, Kind, u32)>,
    counters: NicCounters,
    draws: u64,
    /// Credit rates of the flows that are not complete, as bits of the floating-point number.
    rates: Vec<(u32, u64)>,
    waiting: u64,
}

struct Bench {
    ep: ExpressPass,
    counters: NicCounters,
    replies: Replies,
    ears: Ears,
    arena: Arena,
    now: Time,
    free_ps: [Time; 2],
    /// Other traffic occupies each port at the start of each period: (occupied time, period) in ps.
    held: (Time, Time),
    calls: u64,
    sent: Vec<(Time, u16, u32, Kind, u32)>,
}

impl Bench {
    fn act<R>(
        &mut self,
        what: impl FnOnce(&mut ExpressPass, &mut Context<'_, Ears>, &mut Arena) -> R,
    ) -> R {
        let mut cx = Context {
            now: self.now,
            config: &CONFIG,
            frames: &FRAMES,
            counters: &mut self.counters,
            replies: &mut self.replies,
            sink: &mut self.ears,
        };
        what(&mut self.ep, &mut cx, &mut self.arena)
    }

    /// Returns the earliest time at which a port can send.
    fn port_ps(&self, port: usize) -> Time {
        let (part, whole) = self.held;
        let at = self.now.max(self.free_ps[port]);
        at.max(at / whole * whole + part)
    }

    /// Returns the time at which the next credit is due.
    fn next_credit_ps(&self) -> Option<Time> {
        let ports = self.ep.ports.iter();
        ports
            .filter_map(|port| port.due.first())
            .map(|(at, _)| at)
            .min()
    }

    fn transmit(&mut self, port: u16) {
        let ready = self.ep.ready(&FRAMES, self.now, port) | self.replies.ready(port);
        let Some(class) = classes_of(ready).next() else {
            self.ears.kicked[port as usize] = false;
            return;
        };
        let reply = self.replies.pop(port, class, &self.arena);
        let sent = reply.or_else(|| self.act(|ep, cx, arena| ep.send(cx, port, class, arena)));
        let Some(id) = sent else { return };
        let hot = *self.arena.hot(id);
        self.arena.free(id);
        self.free_ps[port as usize] = self.now + u64::from(hot.size) * 80;
        self.sent
            .push((self.now, port, hot.flow, hot.kind(), hot.psn));
    }
}

/// The senders of all flows to this NIC: the frames that will arrive here, by time. The credits of
/// a flow return as data in their order.
#[derive(Default)]
struct Network {
    coming: BTreeMap<(Time, u64), (u16, Packet, Cold)>,
    number: u64,
}

impl Network {
    fn add(&mut self, at: Time, port: u16, hot: Packet, cold: Cold) {
        self.number += 1;
        self.coming.insert((at, self.number), (port, hot, cold));
    }

    fn request(&mut self, at: Time, flow: u32, peer: &Peer, asks: bool) {
        let hot = Packet {
            flow,
            psn: u32::from(asks),
            dst: 1,
            ..Packet::new(Kind::Request, 2, 84)
        };
        let cold = Cold {
            src: 0,
            remaining: u64::from(peer.packets) * u64::from(MTU),
            ..Cold::default()
        };
        self.add(at, peer.port, hot, cold);
    }
}

/// Runs the NIC until `until`. `naive`: true if the NIC is called at the due time of each credit.
fn run(peers: &[Peer], held: (Time, Time), until: Time, naive: bool) -> (Seen, u64) {
    let mut bench = Bench {
        ep: ExpressPass::new(&CONFIG, &FRAMES, 4, &[Rate::from_gbps(100); 2]),
        counters: NicCounters::default(),
        replies: Replies::new(2, 4),
        ears: Ears::default(),
        arena: Arena::new(),
        now: 0,
        free_ps: [0; 2],
        held,
        calls: 0,
        sent: Vec::new(),
    };
    let mut network = Network::default();
    let mut next = vec![0u32; peers.len()];
    for (flow, peer) in (0..).zip(peers) {
        network.request(peer.start_ps, flow, peer, true);
    }
    loop {
        let arrival = network.coming.keys().next().map(|&(at, _)| at);
        let single = bench.next_credit_ps().filter(|_| naive);
        let ports = (0..2).filter(|&p| bench.ears.kicked[p]);
        let free = ports.map(|p| bench.port_ps(p)).min();
        let times = [arrival, bench.ears.wake, single, free];
        let Some(now) = times.into_iter().flatten().min() else {
            break;
        };
        if now > until {
            break;
        }
        bench.now = now;
        // ENG-03: first arrivals, then timers, then what to send.
        while let Some(entry) = network.coming.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let (port, hot, cold) = entry.remove();
            let id = bench.arena.alloc(hot, cold);
            bench.act(|ep, cx, arena| ep.receive(cx, port, id, arena));
        }
        let called = naive && bench.next_credit_ps() == Some(now);
        if called || bench.ears.wake.is_some_and(|at| at <= now) {
            bench.ears.wake = None;
            bench.calls += 1;
            bench.act(|ep, cx, arena| ep.timer(cx, arena));
        }
        for port in 0..2 {
            if !bench.ears.kicked[port as usize] || bench.port_ps(port as usize) > now {
                continue;
            }
            let before = bench.sent.len();
            bench.transmit(port);
            let Some(&(_, _, flow, Kind::Grant, credit)) = bench.sent[before..].first() else {
                continue;
            };
            let (peer, psn) = (&peers[flow as usize], &mut next[flow as usize]);
            let fate =
                (u64::from(credit) << 8 | u64::from(flow)).wrapping_mul(0x2545_f491_4f6c_dd1d);
            if (fate >> 60) < u64::from(peer.lost) || *psn >= peer.packets {
                continue;
            }
            let hot = Packet {
                flow,
                psn: *psn,
                dst: 1,
                ..Packet::new(Kind::Data, 2, 1538)
            };
            let cold = Cold {
                credit,
                stamp: Stamp::credit(now),
                payload: MTU,
                remaining: u64::from(peer.packets - *psn) * u64::from(MTU),
                ..Cold::default()
            };
            network.add(now + peer.rtt_ps, peer.port, hot, cold);
            *psn += 1;
            if *psn == peer.packets {
                network.request(now + peer.rtt_ps + 1, flow, peer, false);
            }
        }
    }
    bench.now = until;
    bench.act(|ep, cx, _| ep.settle(cx));
    let left = (0..peers.len() as u32).filter_map(|flow| {
        let state = bench.ep.incoming.open.get_mut(flow)?;
        Some((flow, state.feedback.rate.to_bits()))
    });
    let rates = left.collect();
    let seen = Seen {
        sent: bench.sent,
        counters: bench.counters,
        draws: bench.ears.draws,
        rates,
        waiting: bench.ep.waiting_credits(),
    };
    (seen, bench.calls)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    // XP-19: late creation of credits gives the same results
    #[test]
    fn credits_looked_up_late_are_those_made_one_at_a_time(
        peers in prop::collection::vec(peer(), 1..40),
        held in (prop_oneof![Just(0u64), 0..4_000_000u64], 4_000_001u64..9_000_000),
        until in 1_000_000u64..120_000_000,
    ) {
        let (naive, each) = run(&peers, held, until, true);
        let (late, calls) = run(&peers, held, until, false);
        prop_assert_eq!(late, naive);
        prop_assert!(calls <= each);
    }
}

// XP-19: if all flows together request far more credits than the link can carry, the number of
// calls depends only on the frames that are sent.
#[test]
fn credits_that_find_no_room_cost_no_call() {
    let peer = Peer {
        start_ps: 0,
        packets: 1_000_000,
        rtt_ps: 8_000_000,
        lost: 15,
        port: 0,
    };
    let until = 200_000_000;
    let (naive, each) = run(&[peer; 60], (0, 1), until, true);
    let (late, calls) = run(&[peer; 60], (0, 1), until, false);
    assert_eq!(late, naive);
    let sent = late.sent.len() as u64;
    let dropped = late.counters.driven.credits_dropped;
    assert!(dropped > sent, "{dropped} of {:?}", late.counters.driven);
    assert!(
        calls <= 2 * sent && each > dropped,
        "{calls} calls, {each} one by one"
    );
}
