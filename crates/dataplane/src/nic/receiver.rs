//! The receiving side of a NIC: it delivers data and sends the replies (ACK, NAK, CNP).

use crate::config::NicConfig;
use crate::counters::NicCounters;
use crate::hash::mix32;
use crate::mixed::MixedMap;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp, flag};
use crate::reliability::arrivals::Arrivals;
use crate::reliability::{Answer, Data, Received};
use crate::sink::Sink;
use crate::units::{NEVER, Time};

/// One flow at its receiver, until its last byte has arrived.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    received: Received,
    /// One above the highest packet number that arrived, if the sender sprays.
    highest: u32,
    /// A marked packet arrived since the last ACK.
    marked: bool,
    /// A marked packet arrived in the current interval of CNPs (DCQCN-32).
    noted: bool,
    /// Time of the last CNP, or start of the current interval if intervals run from the first packet on;
    /// [`NEVER`]: none yet.
    notified_ps: Time,
}

impl Incoming {
    const NEW: Self = Self {
        received: Received::NEW,
        highest: 0,
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
    /// Packets that arrived beyond a gap.
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
        let cold = arena.cold(id);
        let data = Data {
            now,
            packet: &packet,
            remaining: cold.remaining,
            mtu: config.mtu,
            ack_every: config.ack_every,
        };
        let answer = (config.recovery).on_data(&mut flow.received, &mut self.arrivals, &data);
        if config.reorders && answer.fresh {
            let late = packet.psn < flow.highest && !packet.has(flag::RETRANSMITTED);
            counters.overtaken += u64::from(late); // SPR-06
            flow.highest = flow.highest.max(packet.psn + 1);
        }
        count(counters, &answer, cold.payload);
        counters.cnps += u64::from(notify);
        let expected = flow.received.expected;
        let echo = flow.marked;
        flow.marked &= answer.reply.is_none();
        if answer.last {
            sink.delivered(packet.flow);
            if !is_new {
                self.flows.remove(packet.flow);
            }
            if config.recovery.properties().repeats {
                self.complete.insert(packet.flow, now);
            }
        } else if is_new {
            self.flows.insert(packet.flow, fresh);
        }
        let cnp = notify.then(|| {
            let (hot, cold) = notification(config, &packet, arena.cold(id));
            arena.alloc(hot, cold)
        });
        let Some(kind) = answer.reply else {
            arena.free(id);
            return [None, cnp];
        };
        let done_ps = if answer.last { now } else { NEVER };
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
        if !config.recovery.acknowledges_repeats() {
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

/// Counts a data packet by the decision of the receiver.
#[inline]
fn count(counters: &mut NicCounters, answer: &Answer, payload: u16) {
    if answer.fresh {
        counters.delivered_bytes += u64::from(payload);
    } else {
        counters.discarded += 1;
    }
    counters.overtaken += u64::from(answer.overtaken);
    match answer.reply {
        Some(Kind::Ack) => counters.acks += 1,
        Some(_) => counters.naks += 1,
        None => {}
    }
}

/// Packets of the whole flow that this one belongs to.
fn packets_in_all(packet: &Packet, cold: &Cold, mtu: u16) -> u32 {
    packet.psn + cold.remaining.div_ceil(u64::from(mtu)) as u32
}

/// The hash of the way back, which may take other links than the way there.
// NIC-15
const fn backward(config: &NicConfig, hash: u32) -> u32 {
    if config.spray.is_some() {
        return hash; // SPR-03
    }
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
