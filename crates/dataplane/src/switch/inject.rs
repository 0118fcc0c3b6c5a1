//! Packets that a switch creates and routes, for example congestion notifications.

use super::join;
use crate::hop::Hop;
use crate::packet::{Cold, Kind, Packet, PacketId};
use crate::pipeline::context::Cx;
use crate::pipeline::steps::Found;
use crate::signal::Joined;
use crate::sink::Sink;

impl<S: Sink> Cx<'_, S> {
    /// Calls the signal scheme for a data packet that joined its queue. Returns the congestion
    /// notification to send to the sender of the packet, if any.
    #[inline(never)]
    pub(super) fn notify(
        &mut self,
        port: u16,
        id: PacketId,
        packet: &Packet,
        found: Found,
    ) -> Option<(Packet, Cold)> {
        let signal = self.core.signal.as_mut()?;
        if packet.kind() != Kind::Data {
            return None;
        }
        let mut marks = self.arena.marks(id);
        let joined = Joined {
            now: self.now,
            port,
            queue_bytes: found.bytes,
            packet,
            cold: self.arena.cold(id),
        };
        let notice = signal.joined(&joined, &mut marks);
        self.arena.set_marks(id, marks);
        notice
    }
}

/// Routes a packet that the switch created and appends it to its queue, like a packet that arrived.
// SW-60, SW-61: its class occupies no buffer; the hop scheme is called for the enqueue
pub(super) fn inject<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, packet: Packet, cold: Cold) {
    debug_assert!(
        cx.core.class.buffered >> packet.class() & 1 == 0,
        "a created packet has no ingress that its bytes could be charged to"
    );
    let id = cx.arena.alloc(packet, cold);
    cx.core.counters.created += 1;
    let port = match cx.route(id, &packet) {
        Ok(port) => port,
        Err((port, cause)) => return cx.drop(port, id, cause),
    };
    let place = cx.classify(port, &packet);
    join(hop, cx, port, place, id, &packet);
}
