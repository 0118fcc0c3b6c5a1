//! What a NIC does with data that arrives: deliver, acknowledge, complain, notify.

use super::counters::NicCounters;
use super::recovery::arrivals::Arrivals;
use crate::config::{NicConfig, Recovery};
use crate::mixed::MixedMap;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp, flag};
use crate::route::mix32;
use crate::sink::Sink;
use crate::units::{NEVER, Time};

/// One flow at its receiver, until its last byte is there.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    /// Next packet number in order (or packets had, where order does not matter).
    expected: u32,
    /// Packets since the last ACK.
    unacknowledged: u32,
    /// Packet number of the last NAK; `u32::MAX`: none.
    complained: u32,
    /// When that was, in ps.
    complained_ps: Time,
    /// A marked packet came since the last ACK.
    marked: bool,
    /// A marked packet came in the interval of CNPs that runs (DCQCN-32).
    noted: bool,
    /// Last CNP, or where intervals run from the first packet on, when the one that runs began;
    /// [`NEVER`]: none yet.
    notified_ps: Time,
}

impl Incoming {
    const NEW: Self = Self {
        expected: 0,
        unacknowledged: 0,
        complained: u32::MAX,
        complained_ps: 0,
        marked: false,
        noted: false,
        notified_ps: NEVER,
    };

    /// Whether a packet calls for a CNP.
    // NIC-11, DCQCN-23
    #[inline]
    fn notify(&mut self, now: Time, config: &NicConfig, packet: &Packet) -> bool {
        let marked = packet.has(flag::CE);
        if !(marked || config.host.cnp_cycle) || config.cnp_classes >> packet.class() & 1 == 0 {
            return false;
        }
        let Some(interval_ps) = config.cnp_interval_ps else {
            return false;
        };
        if config.host.cnp_cycle {
            return self.notify_in_cycle(now, interval_ps, marked);
        }
        let due = self.notified_ps == NEVER || now - self.notified_ps >= interval_ps;
        if due {
            self.notified_ps = now;
        }
        due
    }

    /// The same where intervals run from the flow's first packet on: that packet's mark counts at
    /// once, later ones when the interval is over.
    // DCQCN-32
    #[cold]
    #[inline(never)]
    fn notify_in_cycle(&mut self, now: Time, interval_ps: Time, marked: bool) -> bool {
        if self.notified_ps == NEVER {
            self.notified_ps = now;
            return marked;
        }
        let mut due = false;
        let over_ps = now - self.notified_ps;
        if over_ps >= interval_ps {
            self.notified_ps = now - over_ps % interval_ps.max(1);
            due = std::mem::take(&mut self.noted);
        }
        self.noted |= marked;
        due
    }

    /// What a data packet calls for: an answer, and whether the flow is complete with it.
    fn take(
        &mut self,
        now: Time,
        config: &NicConfig,
        packet: &Packet,
        cold: &Cold,
        counters: &mut NicCounters,
    ) -> (Option<Kind>, bool) {
        // NIC-12: where nothing is lost, packets may overtake each other and are counted.
        let in_order = packet.psn == self.expected || config.recovery.counts();
        if in_order {
            // NIC-18: a later packet came before this one, which was not lost.
            let overtaken = self.complained == packet.psn && !packet.has(flag::RETRANSMITTED);
            counters.overtaken += u64::from(overtaken);
            self.expected += 1;
            self.unacknowledged += 1;
            counters.delivered_bytes += u64::from(cold.payload);
            // NIC-17: packet number and remaining bytes say where the flow ends, also out of order.
            let last = self.expected == packets_in_all(packet, cold, config.mtu);
            if !last && !packet.has(flag::ASKS) && self.unacknowledged < config.ack_every {
                return (None, false);
            }
            self.unacknowledged = 0;
            counters.acks += 1;
            return (Some(Kind::Ack), last);
        }
        counters.discarded += 1;
        if packet.psn < self.expected {
            if !config.host.ack_repeats {
                return (None, false); // NS3-22
            }
            // NIC-14: had before; the ACK may have been lost, so say it again.
            counters.acks += 1;
            (Some(Kind::Ack), false)
        } else if self.complained == self.expected && !self.complains_again(now, config) {
            (None, false)
        } else {
            // NIC-13: one complaint for each packet that is missing.
            self.complained = self.expected;
            self.complained_ps = now;
            counters.naks += 1;
            (Some(Kind::Nak), false)
        }
    }

    /// NS3-22: whether the last complaint about the same packet is so old that it may be lost.
    fn complains_again(&self, now: Time, config: &NicConfig) -> bool {
        config
            .host
            .nak_interval_ps
            .is_some_and(|interval| now - self.complained_ps >= interval)
    }

    /// The same where packets are taken in any order and told apart (IRN).
    fn take_any(
        &mut self,
        config: &NicConfig,
        packet: &Packet,
        cold: &Cold,
        arrivals: &mut Arrivals,
        counters: &mut NicCounters,
    ) -> (Option<Kind>, bool) {
        let before = self.expected;
        let (fresh, expected) = arrivals.take(packet.flow, packet.psn, before);
        self.expected = expected;
        if fresh {
            counters.delivered_bytes += u64::from(cold.payload);
        } else {
            counters.discarded += 1;
        }
        if packet.psn > before {
            // REC-11
            counters.naks += 1;
            return (Some(Kind::Nak), false);
        }
        let last = fresh && expected == packets_in_all(packet, cold, config.mtu);
        self.unacknowledged += expected - before;
        // REC-11: where something is or was missing, the sender waits for the news.
        let awaited = last || packet.has(flag::ASKS);
        let urgent = awaited || expected != before + 1 || arrivals.has_gap(packet.flow);
        if !urgent && self.unacknowledged < config.ack_every {
            return (None, false);
        }
        self.unacknowledged = 0;
        counters.acks += 1;
        (Some(Kind::Ack), last)
    }
}

/// No flow: frames between neighbours have this number.
const NO_FLOW: u32 = u32::MAX;

/// Flows under way at their receiver. Many a host receives one at a time, which lies in the NIC's own
/// record: nothing is to be looked for.
#[derive(Debug)]
struct Flows {
    first: (u32, Incoming),
    others: MixedMap<u32, Incoming>,
}

impl Flows {
    #[inline]
    fn get_mut(&mut self, flow: u32) -> Option<&mut Incoming> {
        if self.first.0 == flow {
            return Some(&mut self.first.1);
        }
        self.others.get_mut(&flow)
    }

    fn insert(&mut self, flow: u32, incoming: Incoming) {
        if self.first.0 == NO_FLOW {
            self.first = (flow, incoming);
        } else {
            self.others.insert(flow, incoming);
        }
    }

    fn remove(&mut self, flow: u32) {
        if self.first.0 == flow {
            self.first.0 = NO_FLOW;
        } else {
            self.others.remove(&flow);
        }
    }
}

/// The receiving half of a NIC.
#[derive(Debug)]
pub(crate) struct Receiver {
    flows: Flows,
    /// NIC-32: flows that are complete, and since when. A repetition may still come for them, but
    /// most never appear again, so they lie apart from those that every packet looks for.
    complete: MixedMap<u32, Time>,
    /// IRN: what came too early.
    arrivals: Arrivals,
}

/// Frames that one data packet causes: an ACK or NAK, and a CNP.
type Replies = [Option<PacketId>; 2];

impl Receiver {
    pub fn new() -> Self {
        Self {
            flows: Flows {
                first: (NO_FLOW, Incoming::NEW),
                others: MixedMap::default(),
            },
            complete: MixedMap::default(),
            arrivals: Arrivals::default(),
        }
    }

    /// Takes a data packet. Its record becomes the ACK where one is due.
    pub fn data<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        id: PacketId,
        arena: &mut Arena,
        counters: &mut NicCounters,
        sink: &mut S,
    ) -> Replies {
        let packet = *arena.hot(id);
        counters.received += 1;
        let mut fresh = Incoming::NEW;
        let (flow, is_new) = match self.flows.get_mut(packet.flow) {
            Some(flow) => (flow, false),
            None => {
                if let Some(&done_ps) = self.complete.get(&packet.flow) {
                    return Self::repeated(config, &packet, done_ps, id, arena, counters);
                }
                (&mut fresh, true)
            }
        };
        flow.marked |= packet.has(flag::CE); // NIC-16
        let notify = flow.notify(now, config, &packet);
        let selective = matches!(config.recovery, Recovery::Irn(_))
            && (packet.psn != flow.expected || !self.arrivals.is_empty());
        let cold = arena.cold(id);
        let (reply, last) = if selective {
            flow.take_any(config, &packet, cold, &mut self.arrivals, counters)
        } else {
            flow.take(now, config, &packet, cold, counters)
        };
        counters.cnps += u64::from(notify);
        let expected = flow.expected;
        let echo = flow.marked;
        flow.marked &= reply.is_none();
        if last {
            sink.delivered(packet.flow);
            if !is_new {
                self.flows.remove(packet.flow);
            }
            if !config.recovery.counts() {
                self.complete.insert(packet.flow, now);
            }
        } else if is_new {
            self.flows.insert(packet.flow, fresh);
        }
        let cnp = notify.then(|| {
            let (hot, cold) = notification(config, &packet, arena.cold(id));
            arena.alloc(hot, cold)
        });
        let Some(kind) = reply else {
            arena.free(id);
            return [None, cnp];
        };
        let done_ps = if last { now } else { NEVER };
        become_reply(config, kind, id, expected, echo, done_ps, arena);
        [Some(id), cnp]
    }

    /// NIC-14: a packet of a flow that is complete. The last ACK may have been lost, so it is said
    /// again.
    fn repeated(
        config: &NicConfig,
        packet: &Packet,
        done_ps: Time,
        id: PacketId,
        arena: &mut Arena,
        counters: &mut NicCounters,
    ) -> Replies {
        counters.discarded += 1;
        if !config.host.ack_repeats {
            arena.free(id);
            return [None, None]; // NS3-22
        }
        counters.acks += 1;
        let all = packets_in_all(packet, arena.cold(id), config.mtu);
        let echo = packet.has(flag::CE);
        become_reply(config, Kind::Ack, id, all, echo, done_ps, arena);
        [Some(id), None]
    }
}

/// Packets of the whole flow that this one belongs to.
fn packets_in_all(packet: &Packet, cold: &Cold, mtu: u16) -> u32 {
    packet.psn + cold.remaining.div_ceil(u64::from(mtu)) as u32
}

/// The hash of the way back, which may take other links than the way there.
// NIC-15
const fn backward(config: &NicConfig, hash: u32) -> u32 {
    if config.host.ports_in_hash {
        return hash.rotate_left(16); // NS3-41
    }
    mix32(hash ^ 0x0ac0_ffee)
}

/// NIC-10: turns a data packet into its ACK or NAK; telemetry and time of sending stay on it.
fn become_reply(
    config: &NicConfig,
    kind: Kind,
    id: PacketId,
    expected: u32,
    echo: bool,
    done_ps: Time,
    arena: &mut Arena,
) {
    let hot = arena.hot_mut(id);
    let to = hot.dst;
    hot.become_kind(kind, config.ack_class);
    hot.size = config.ack_bytes();
    hot.psn = expected;
    hot.hash = backward(config, hot.hash);
    hot.flags = (hot.flags & (flag::INCAST | flag::INT)) | if echo { flag::CE } else { 0 };
    hot.upstream_queue = 0;
    let cold = arena.cold_mut(id);
    let back = std::mem::replace(&mut cold.src, to);
    cold.stamp = Stamp::completion(done_ps);
    arena.hot_mut(id).dst = back;
}

fn notification(config: &NicConfig, packet: &Packet, cold: &Cold) -> (Packet, Cold) {
    let hot = Packet {
        flow: packet.flow,
        dst: cold.src,
        hash: backward(config, packet.hash),
        ..Packet::new(Kind::Cnp, config.cnp_class, config.cnp)
    };
    (
        hot,
        Cold {
            src: packet.dst,
            slot: cold.slot,
            ..Cold::default()
        },
    )
}
