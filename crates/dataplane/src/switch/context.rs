//! The context in which a packet takes its steps through a switch.

use super::pipeline::Pipeline;
use super::steps::Steps;
use crate::packet::{Arena, Cold, Packet, PacketId};
use crate::sink::{DropCause, Sink};
use crate::units::Time;

/// The time, the parts of the switch, the packets, and the driver.
pub(crate) struct Cx<'a, S> {
    pub now: Time,
    /// Optional steps of the switch.
    pub steps: Steps,
    pub core: &'a mut Pipeline,
    pub arena: &'a mut Arena,
    pub sink: &'a mut S,
}

impl<S: Sink> Cx<'_, S> {
    /// Copies the context for a call that is rarely made. The original can then stay in registers.
    #[inline(always)]
    pub const fn reborrow(&mut self) -> Cx<'_, S> {
        Cx {
            now: self.now,
            steps: self.steps,
            core: self.core,
            arena: self.arena,
            sink: self.sink,
        }
    }

    /// Copies the context for a switch without optional steps, so that the compiler removes them.
    #[inline(always)]
    pub const fn without_steps(&mut self) -> Cx<'_, S> {
        Cx {
            steps: Steps::NONE,
            ..self.reborrow()
        }
    }

    /// Queues a frame for the neighbour at a port, before all other packets.
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

    /// Drops a packet that is neither in a queue nor in the buffer.
    pub fn drop(&mut self, port: Option<u16>, id: PacketId, cause: DropCause) {
        self.core.counters.dropped += 1;
        if let Some(port) = port {
            self.core.port_counters[port as usize].dropped[cause as usize] += 1;
        }
        self.sink.dropped(self.arena.hot(id), port, cause);
        // SW-52: the driver may keep the record to inform the sender
        if !self.sink.keep(id, cause) {
            self.arena.free(id);
        }
    }
}
