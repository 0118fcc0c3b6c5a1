//! The context with which a switch executes the steps of a packet.

use super::Pipeline;
use super::steps::Steps;
use crate::link::{Links, Turn};
use crate::packet::{Arena, Cold, Packet, PacketId};
use crate::sink::{DropCause, Sink};
use crate::units::Time;

/// Data that each step of a packet uses: the time, the components of the switch, the packets, and
/// the sink of events.
#[derive(Debug)]
pub struct Cx<'a, S> {
    /// Current time, in ps.
    pub now: Time,
    /// Optional steps that this switch executes.
    pub(crate) steps: Steps,
    pub(crate) core: &'a mut Pipeline,
    /// All packets of the simulation or program.
    pub arena: &'a mut Arena,
    pub(crate) sink: &'a mut S,
}

impl<S: Sink> Cx<'_, S> {
    /// Copies the context for a rare call, so that the original can stay in registers.
    #[inline(always)]
    pub(crate) const fn reborrow(&mut self) -> Cx<'_, S> {
        Cx {
            now: self.now,
            steps: self.steps,
            core: self.core,
            arena: self.arena,
            sink: self.sink,
        }
    }

    /// Copies the context for a switch without optional steps. The compiler then removes the code
    /// of these steps.
    #[inline(always)]
    pub(crate) const fn without_steps(&mut self) -> Cx<'_, S> {
        Cx {
            steps: Steps::NONE,
            ..self.reborrow()
        }
    }

    /// Queues a control frame for the neighbour at a port, with priority over all other packets.
    // SW-42
    pub fn emit(&mut self, port: u16, frame: Packet) -> PacketId {
        let queueing = &mut self.core.queueing;
        if self.core.class.int & 1 != 0 {
            queueing.ports[port as usize].telemetry.int_bytes += u64::from(frame.size);
        }
        let id = self.arena.alloc(frame, Cold::default());
        queueing.push(queueing.queue_of(port, 0, 0), id, self.arena);
        self.sink.kick(port);
        id
    }

    /// Returns the number of ports.
    #[must_use]
    pub const fn ports(&self) -> u16 {
        self.core.ports()
    }

    /// Returns true if the link at a port is down.
    #[must_use]
    pub fn is_dead(&self, port: u16) -> bool {
        self.core.is_dead(port)
    }

    /// Returns the number of bytes in all queues of a port.
    #[must_use]
    pub fn queued_bytes(&self, port: u16) -> u64 {
        self.core.queueing.ports[usize::from(port)].bytes
    }

    /// Returns the number of queues of a class and port that have packets and are not paused.
    #[must_use]
    pub fn active_queues(&self, port: u16, class: u8) -> u32 {
        self.core.queueing.open(port, class)
    }

    /// Calls the link schemes, if there are any.
    pub(crate) fn with_links<R>(
        &mut self,
        call: impl FnOnce(&mut Links, &mut Self) -> R,
    ) -> Option<R> {
        let mut links = self.core.links.take()?;
        let result = call(&mut links, self);
        self.core.links = Some(links);
        Some(result)
    }

    /// Reports an arrived frame to the link schemes. Returns true if the switch must handle the
    /// frame.
    #[inline(never)]
    pub(crate) fn link_accepts(&mut self, port: u16, id: PacketId, is_damaged: bool) -> bool {
        let accepts = self.with_links(|links, cx| links.arrived(cx, port, id, is_damaged));
        accepts.unwrap_or(true)
    }

    /// Returns the decision of the link schemes on the next transmission of a port: any packet, a
    /// frame of the link scheme, or none.
    #[inline(never)]
    pub(crate) fn link_turn(&mut self, port: u16) -> Turn {
        let turn = self.with_links(|links, cx| links.turn(cx, port));
        if let Some(Turn::Own(id)) = turn
            && self.arena.hot(id).is_frame()
        {
            let size = u64::from(self.arena.hot(id).size);
            self.core.port_counters[usize::from(port)].frame_bytes += size;
        }
        turn.unwrap_or(Turn::Free)
    }

    /// Reports to the link schemes that a packet leaves the buffer, so that its credits can return.
    #[inline(never)]
    pub(crate) fn link_left(&mut self, id: PacketId) {
        let packet = *self.arena.hot(id);
        self.with_links(|links, cx| links.left(cx, packet.ingress, &packet));
    }

    /// Drops a packet that is neither in a queue nor in the buffer.
    pub(crate) fn drop(&mut self, port: Option<u16>, id: PacketId, cause: DropCause) {
        if self.steps.has(Steps::LINK_SCHEMES) {
            self.link_left(id);
        }
        self.core.counters.dropped += 1;
        if let Some(port) = port {
            self.core.port_counters[port as usize].dropped[cause as usize] += 1;
        }
        self.sink.dropped(self.arena.hot(id), port, cause);
        // SW-52: the simulator may keep the dropped packet to notify its sender
        if !self.sink.keep(id, cause) {
            self.arena.free(id);
        }
    }
}
