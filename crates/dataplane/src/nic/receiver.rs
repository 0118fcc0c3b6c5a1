//! What a NIC does with data that arrives: deliver, acknowledge, complain, notify.

use crate::config::{NicConfig, Recovery};
use crate::nic::NicCounters;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use crate::route::mix32;
use crate::switch::MixedMap;
use crate::units::{NEVER, Time};

/// One flow at its receiver.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    /// Next packet number in order (or packets had, where order does not matter).
    expected: u32,
    /// Packets since the last ACK.
    unacknowledged: u32,
    /// Packet number of the last NAK; `u32::MAX`: none.
    complained: u32,
    /// A marked packet came since the last ACK.
    marked: bool,
    /// Last CNP; [`NEVER`]: none yet.
    notified_ps: Time,
    /// When the last byte was there; [`NEVER`]: not yet.
    done_ps: Time,
}

/// The receiving half of a NIC.
#[derive(Debug)]
pub(super) struct Receiver {
    flows: MixedMap<u32, Incoming>,
}

/// Frames that one data packet causes: an ACK or NAK, and a CNP.
type Replies = [Option<PacketId>; 2];

impl Receiver {
    pub fn new() -> Self {
        Self {
            flows: MixedMap::default(),
        }
    }

    /// Takes a data packet. Its record becomes the ACK where one is due.
    pub fn data(
        &mut self,
        now: Time,
        config: &NicConfig,
        id: PacketId,
        arena: &mut Arena,
        counters: &mut NicCounters,
    ) -> Replies {
        let packet = *arena.hot(id);
        counters.received += 1;
        let flow = self.flows.entry(packet.flow).or_insert(Incoming {
            expected: 0,
            unacknowledged: 0,
            complained: u32::MAX,
            marked: false,
            notified_ps: NEVER,
            done_ps: NEVER,
        });
        let marked = packet.has(flag::CE);
        let cnp = match config.cnp_interval_ps {
            // NIC-11, DCQCN-23
            Some(interval)
                if marked && (flow.notified_ps == NEVER || now - flow.notified_ps >= interval) =>
            {
                flow.notified_ps = now;
                counters.cnps += 1;
                Some(notification(config, &packet, arena.cold(id)))
            }
            _ => None,
        };
        let cnp = cnp.map(|(hot, cold)| arena.alloc(hot, cold));

        flow.marked |= marked; // NIC-16
        // NIC-12: where nothing is lost, packets may overtake each other and are counted.
        let in_order = packet.psn == flow.expected || config.recovery == Recovery::None;
        let reply = if in_order && flow.done_ps == NEVER {
            flow.expected += 1;
            flow.unacknowledged += 1;
            let cold = arena.cold(id);
            counters.delivered_bytes += u64::from(cold.payload);
            // Packet numbers and remaining bytes say where the flow ends, also out of order.
            let last = flow.expected == packets_in_all(&packet, cold, config.mtu);
            if last {
                flow.done_ps = now; // NIC-17
            }
            if last || flow.unacknowledged >= config.ack_every {
                flow.unacknowledged = 0;
                counters.acks += 1;
                Some(Kind::Ack)
            } else {
                None
            }
        } else if packet.psn > flow.expected {
            // NIC-13: one complaint for each packet that is missing.
            counters.discarded += 1;
            if flow.complained == flow.expected {
                None
            } else {
                flow.complained = flow.expected;
                counters.naks += 1;
                Some(Kind::Nak)
            }
        } else {
            // NIC-14: had before; the ACK may have been lost, so say it again.
            counters.discarded += 1;
            counters.acks += 1;
            Some(Kind::Ack)
        };
        let Some(kind) = reply else {
            arena.free(id);
            return [None, cnp];
        };
        let (expected, done_ps) = (flow.expected, flow.done_ps);
        let echo = std::mem::take(&mut flow.marked);
        if done_ps != NEVER && config.recovery == Recovery::None {
            self.flows.remove(&packet.flow);
        }
        become_reply(config, kind, id, expected, echo, done_ps, arena);
        [Some(id), cnp]
    }
}

/// Packets of the whole flow that this one belongs to.
fn packets_in_all(packet: &Packet, cold: &Cold, mtu: u16) -> u32 {
    packet.psn + cold.remaining.div_ceil(u64::from(mtu)) as u32
}

/// The hash of the way back, which may take other links than the way there.
// NIC-15
const fn backward(hash: u32) -> u32 {
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
    hot.hash = backward(hot.hash);
    hot.flags = (hot.flags & (flag::INCAST | flag::INT)) | if echo { flag::CE } else { 0 };
    hot.upstream_queue = 0;
    let cold = arena.cold_mut(id);
    let back = std::mem::replace(&mut cold.src, to);
    cold.done_ps = done_ps;
    arena.hot_mut(id).dst = back;
}

fn notification(config: &NicConfig, packet: &Packet, cold: &Cold) -> (Packet, Cold) {
    let hot = Packet {
        flow: packet.flow,
        dst: cold.src,
        hash: backward(packet.hash),
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
