//! The receiving side of a NIC: it delivers data and sends the replies (ACK, NAK, CNP).

use super::half::Common;
use super::incoming::Incoming;
use crate::config::NicConfig;
use crate::counters::NicCounters;
use crate::flow::packets_of;
use crate::hash::mix32;
use crate::packet::{Arena, Kind, Packet, PacketId, Stamp, flag};
use crate::properties::Property;
use crate::reliability::{Answer, Data};
use crate::replies::{Peer, turn};
use crate::sink::Sink;
use crate::units::{NEVER, Time};

/// Frames that one data packet causes: an ACK or NAK, and a CNP.
type Replies = [Option<PacketId>; 2];

impl Common {
    /// Handles a data packet. If it must be answered, its memory is reused for the ACK or NAK.
    pub fn data<S: Sink>(
        &mut self,
        now: Time,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Replies {
        let (config, flows, counters) = (&*self.config, &mut self.incoming, &mut self.counters);
        let packet = *arena.hot(id);
        counters.received += 1;
        let mut fresh = Incoming::NEW;
        let (flow, is_new) = match flows.open.get_mut(packet.flow) {
            Some(flow) => (flow, false),
            None => {
                if let Some(done_ps) = flows.done_ps(packet.flow) {
                    return self.repeated(&packet, done_ps, id, arena);
                }
                (&mut fresh, true)
            }
        };
        flow.marked |= packet.has(flag::CE); // NIC-16: echo all marks since the last ACK
        let notify = flow.notify(now, config, &packet);
        let cold = arena.cold(id);
        let data = Data {
            now,
            packet: &packet,
            remaining: cold.remaining,
            mtu: config.mtu,
            ack_every: config.ack_every,
        };
        let answer = (config.recovery).on_data(&mut flow.received, &mut flows.arrivals, &data);
        if config.reorders && answer.fresh {
            let late = packet.psn < flow.highest && !packet.has(flag::RETRANSMITTED);
            counters.overtaken += u64::from(late); // SPR-06: out of order, not a retransmission
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
                flows.open.remove(packet.flow);
            }
            if config.recovery.properties().has(Property::RepeatsPackets) {
                flows.complete(packet.flow, now);
            }
        } else if is_new {
            flows.open.get_or_insert_with(packet.flow, || fresh);
        }
        let cnp = notify.then(|| {
            let mut sender = Peer::of(&packet, arena.cold(id));
            sender.hash = backward(config, packet.hash);
            let (hot, cold) = sender.address(Packet::new(Kind::Cnp, config.cnp_class, config.cnp));
            arena.alloc(hot, cold)
        });
        let Some(kind) = answer.reply else {
            arena.free(id);
            return [None, cnp];
        };
        let reply = Reply {
            kind,
            expected,
            echo,
            done_ps: if answer.last { now } else { NEVER },
        };
        become_reply(config, id, &reply, arena);
        [Some(id), cnp]
    }

    /// Handles a packet of a flow that was complete at `done_ps`. Repeats the last ACK, because it
    /// may have been lost.
    // NIC-14
    fn repeated(
        &mut self,
        packet: &Packet,
        done_ps: Time,
        id: PacketId,
        arena: &mut Arena,
    ) -> Replies {
        let (config, counters) = (&*self.config, &mut self.counters);
        counters.discarded += 1;
        if !config.recovery.acknowledges_repeats() {
            arena.free(id);
            return [None, None]; // NS3-22: no ACK for a repeated packet
        }
        counters.acks += 1;
        let reply = Reply {
            kind: Kind::Ack,
            expected: packet.psn + packets_of(arena.cold(id).remaining, config.mtu),
            echo: packet.has(flag::CE),
            done_ps,
        };
        become_reply(config, id, &reply, arena);
        [Some(id), None]
    }
}

/// Counts a data packet (new, duplicate, out of order) and its reply.
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

/// Returns the ECMP hash of replies. The reverse path may use other links than the data path.
// NIC-15
const fn backward(config: &NicConfig, hash: u32) -> u32 {
    if config.spray.is_some() {
        return hash; // SPR-03: the path of the data
    }
    if config.host.ports_in_hash {
        return hash.rotate_left(16); // NS3-41: swaps the UDP ports
    }
    mix32(hash ^ 0x0ac0_ffee)
}

/// Contents of an ACK or NAK.
struct Reply {
    kind: Kind,
    /// Next expected packet number: the receiver has all packets below it.
    expected: u32,
    /// True if the reply echoes an ECN mark.
    echo: bool,
    /// Time at which the flow was complete, or [`NEVER`].
    done_ps: Time,
}

/// Turns a data packet into its ACK or NAK.
// NIC-10
#[inline]
fn become_reply(config: &NicConfig, id: PacketId, reply: &Reply, arena: &mut Arena) {
    turn(id, reply.kind, config.ack_class, config.ack_bytes(), arena);
    let hot = arena.hot_mut(id);
    hot.psn = reply.expected;
    hot.hash = backward(config, hot.hash);
    hot.flags |= if reply.echo { flag::CE } else { 0 };
    arena.cold_mut(id).stamp = Stamp::completion(reply.done_ps);
}
