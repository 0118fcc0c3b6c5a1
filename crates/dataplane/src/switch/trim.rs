//! Trimming (NDP): a data packet that finds its queue full loses its payload; its header goes on,
//! before the data, or back to its sender (`specs/ndp.md`).

use super::mmu::Tell;
use super::queueing::CONTROL_CLASS;
use super::{DATA_CLASS, Switch};
use crate::config::TrimConfig;
use crate::packet::{Arena, Kind, PacketId, flag};
use crate::sink::{DropCause, Sink};
use crate::units::Time;

/// The state of trimming at a switch.
#[derive(Debug)]
pub(super) struct Trimmer {
    pub config: TrimConfig,
    classes: usize,
    /// Data packets that wait, per (port, class).
    waiting: Vec<u16>,
}

impl Trimmer {
    pub fn new(config: TrimConfig, ports: usize, classes: usize) -> Self {
        Self {
            config,
            classes,
            waiting: vec![0; ports * classes],
        }
    }

    fn at(&self, port: u16, class: u8) -> usize {
        port as usize * self.classes + class as usize
    }

    // NDP-01
    pub fn is_full(&self, port: u16, class: u8) -> bool {
        self.waiting[self.at(port, class)] >= self.config.packets
    }

    pub fn joined(&mut self, port: u16, class: u8) {
        let at = self.at(port, class);
        self.waiting[at] += u16::from(class >= DATA_CLASS);
    }

    /// How many are counted at a port and class, if there is such a class.
    pub fn waiting(&self, port: u16, class: u8) -> Option<u16> {
        (usize::from(class) < self.classes).then(|| self.waiting[self.at(port, class)])
    }

    pub fn left(&mut self, port: u16, class: u8) {
        let at = self.at(port, class);
        self.waiting[at] -= u16::from(class >= DATA_CLASS);
    }
}

impl Switch {
    /// Looks at a packet that is to leave by `port`. Returns the packet that is to join a queue
    /// there in the usual way: it, or it trimmed; nothing where it took the place of another one,
    /// or was sent elsewhere.
    // NDP-01, NDP-02
    pub(super) fn trim<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> bool {
        let Some(trimmer) = &self.trimmer else {
            return true;
        };
        let config = trimmer.config;
        let packet = *arena.hot(id);
        let class = packet.class();
        if class == CONTROL_CLASS {
            return self.admit_control(port, id, arena, sink);
        }
        if packet.kind() != Kind::Data || !trimmer.is_full(port, class) {
            return true;
        }
        self.counters.trims += 1;
        if config.either && sink.draw() & 1 == 1 {
            let queue = self.queueing.queue_of(port, class, 0);
            if let Some(last) = self.queueing.take_last(queue, arena) {
                self.leave_untaken(now, port, last, arena, sink);
                self.cut(port, last, config, arena, sink);
                return true;
            }
        }
        self.cut(port, id, config, arena, sink);
        false
    }

    /// Takes the payload off a packet that stands in no queue; its header joins the control queue.
    fn cut<S: Sink>(
        &mut self,
        port: u16,
        id: PacketId,
        config: TrimConfig,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let hot = arena.hot_mut(id);
        hot.become_kind(Kind::Header, CONTROL_CLASS);
        hot.size = config.header_bytes;
        hot.flags &= !flag::BUFFERED;
        if self.admit_control(port, id, arena, sink) {
            self.enqueue_control(port, id, arena, sink);
        }
    }

    fn enqueue_control<S: Sink>(
        &mut self,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let queue = self.queueing.queue_of(port, CONTROL_CLASS, 0);
        let packet = *arena.hot(id);
        self.enqueue::<false, S>(port, queue, false, (id, &packet), arena, sink);
        sink.kick(port);
    }

    fn has_room(&self, port: u16, config: TrimConfig, size: u16) -> bool {
        let queue = self.queueing.queue_of(port, CONTROL_CLASS, 0);
        self.queueing.get(queue).bytes() + u64::from(size) <= config.control_bytes
    }

    /// Whether a control packet fits the queue of its port. A header that does not goes back to its
    /// sender; what cannot do that is dropped.
    // NDP-03
    fn admit_control<S: Sink>(
        &mut self,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> bool {
        let Some(config) = self.trimmer.as_ref().map(|t| t.config) else {
            return true;
        };
        let packet = *arena.hot(id);
        if self.has_room(port, config, packet.size) {
            return true;
        }
        if packet.kind() == Kind::Header && config.returns {
            let to = arena.cold(id).src;
            arena.cold_mut(id).src = packet.dst;
            let hot = arena.hot_mut(id);
            hot.become_kind(Kind::Returned, CONTROL_CLASS);
            hot.dst = to;
            let back = self.routes.port(arena.hot(id), || packet.dst);
            if let Some(back) = back
                && self.is_lost_at(back)
            {
                self.drop(Some(back), id, DropCause::Link, arena, sink); // LNK-23
                return false;
            }
            if let Some(back) = back
                && self.has_room(back, config, packet.size)
            {
                self.counters.returned += 1;
                self.enqueue_control(back, id, arena, sink);
                return false;
            }
        }
        self.drop(Some(port), id, DropCause::Buffer, arena, sink);
        false
    }

    /// A packet goes out of its queue without leaving the switch: the books forget it.
    fn leave_untaken<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        let (class, size) = (packet.class(), u64::from(packet.size));
        let bit = 1u8 << class;
        let telemetry = &mut self.queueing.ports[port as usize].telemetry;
        if self.class.ecn & bit != 0 {
            telemetry.ecn_bytes -= size;
        }
        if self.class.int & bit != 0 {
            telemetry.int_bytes -= size;
        }
        if let Some(trimmer) = &mut self.trimmer {
            trimmer.left(port, class);
        }
        if packet.has(flag::BUFFERED)
            && self.mmu.leave::<false>(now, packet.ingress, class, size) == Tell::Xon
        {
            self.tell_pfc(packet.ingress, class, false, arena, sink);
        }
        let counted = self.counted(&packet);
        let queue = packet.queue;
        self.classifier
            .departed(now, port, &packet, queue, counted, &mut self.queueing);
    }
}
