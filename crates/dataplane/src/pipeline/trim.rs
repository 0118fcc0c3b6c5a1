//! Trimming: if the queue of a data packet is full, the switch removes the payload. The header is
//! forwarded with priority over data, or returned to its sender (`specs/ndp.md`).

use super::context::Cx;
use super::path::Verdict;
use super::place::Place;
use crate::classes::CONTROL_CLASS;
use crate::config::TrimConfig;
use crate::packet::{Kind, PacketId, flag};
use crate::sink::{DropCause, Sink};

impl<S: Sink> Cx<'_, S> {
    /// If the queue of an arriving data packet is full, trims this packet or the last packet of the
    /// queue. Checks for a control packet that the control queue has room.
    // NDP-01, NDP-02
    pub(crate) fn trim_or_accept(&mut self, port: u16, id: PacketId) -> Verdict {
        let packet = *self.arena.hot(id);
        let class = packet.class();
        let Some(trimmer) = &self.core.trimmer else {
            return Verdict::Accept;
        };
        let config = trimmer.config;
        if class == CONTROL_CLASS {
            return self.admit_control(&config, port, id);
        }
        if packet.kind() != Kind::Data || !trimmer.is_full(port, class) {
            return Verdict::Accept;
        }
        self.core.counters.trims += 1;
        if config.either && self.sink.draw() & 1 == 1 {
            let queue = self.core.queueing.queue_of(port, class, 0);
            if let Some(last) = self.core.queueing.take_last(queue, self.arena) {
                let packet = *self.arena.hot(last);
                self.withdraw(port, queue, &packet);
                self.release_buffer(last);
                self.trim(&config, port, last);
                return Verdict::Accept;
            }
        }
        self.trim(&config, port, id);
        Verdict::Trimmed
    }

    /// Removes the payload of a packet that is in no queue. The header joins the control queue.
    fn trim(&mut self, config: &TrimConfig, port: u16, id: PacketId) {
        let hot = self.arena.hot_mut(id);
        hot.become_kind(Kind::Header, CONTROL_CLASS);
        hot.size = config.header_bytes;
        hot.flags &= !flag::BUFFERED;
        match self.admit_control(config, port, id) {
            Verdict::Accept => self.enqueue_control(port, id),
            Verdict::Trimmed => {}
            Verdict::Drop(cause) => self.drop(Some(port), id, cause),
        }
    }

    fn enqueue_control(&mut self, port: u16, id: PacketId) {
        let place = Place::at(self.core.queueing.queue_of(port, CONTROL_CLASS, 0));
        let packet = *self.arena.hot(id);
        self.enqueue(port, place, id, &packet);
        self.sink.kick(port);
    }

    fn has_control_room(&self, config: &TrimConfig, port: u16, size: u16) -> bool {
        let queueing = &self.core.queueing;
        let queue = queueing.get(queueing.queue_of(port, CONTROL_CLASS, 0));
        queue.bytes() + u64::from(size) <= config.control_bytes
    }

    /// Checks that a control packet fits the control queue of its port. A trimmed header that does
    /// not fit is returned to its sender if configured. Other packets that do not fit are dropped.
    // NDP-03
    fn admit_control(&mut self, config: &TrimConfig, port: u16, id: PacketId) -> Verdict {
        let packet = *self.arena.hot(id);
        if self.has_control_room(config, port, packet.size) {
            return Verdict::Accept;
        }
        if packet.kind() != Kind::Header || !config.returns {
            return Verdict::Drop(DropCause::Buffer);
        }
        let sender = self.arena.cold(id).src;
        self.arena.cold_mut(id).src = packet.dst;
        let hot = self.arena.hot_mut(id);
        hot.become_kind(Kind::Returned, CONTROL_CLASS);
        hot.dst = sender;
        let Some(back) = self.core.routes.port(hot, || packet.dst) else {
            return Verdict::Drop(DropCause::Buffer);
        };
        if self.core.is_lost_at(back) {
            self.drop(Some(back), id, DropCause::Link); // LNK-23: link down
            return Verdict::Trimmed;
        }
        if !self.has_control_room(config, back, packet.size) {
            return Verdict::Drop(DropCause::Buffer);
        }
        self.core.counters.returned += 1;
        self.enqueue_control(back, id);
        Verdict::Trimmed
    }
}
