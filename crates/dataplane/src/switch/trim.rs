//! Trimming: a data packet that finds its queue full loses its payload; its header goes on,
//! before the data, or back to its sender (`specs/ndp.md`).

use super::pipeline::Pipeline;
use super::{CONTROL_CLASS, DATA_CLASS};
use crate::config::TrimConfig;
use crate::hop::Cx;
use crate::hop::pfc::Pfc;
use crate::packet::{Kind, PacketId, flag};
use crate::sink::{DropCause, Sink};

/// The state of trimming at a switch.
#[derive(Debug)]
pub(super) struct Trimmer {
    config: TrimConfig,
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
        debug_assert!(
            class < DATA_CLASS || self.waiting[at] > 0,
            "port {port}: no packet of class {class} waits"
        );
        self.waiting[at] -= u16::from(class >= DATA_CLASS);
    }
}

impl Trimmer {
    /// Looks at a packet that is to leave by `port`. Returns whether it is to join a queue there in the
    /// usual way; else it was trimmed, or is gone.
    // NDP-01, NDP-02
    pub fn arrives<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, id: PacketId) -> bool {
        let packet = *cx.arena.hot(id);
        let class = packet.class();
        if class == CONTROL_CLASS {
            return self.admit_control(cx, port, id);
        }
        if packet.kind() != Kind::Data || !self.is_full(port, class) {
            return true;
        }
        cx.core.counters.trims += 1;
        if self.config.either && cx.sink.draw() & 1 == 1 {
            let queue = cx.core.queueing.queue_of(port, class, 0);
            if let Some(last) = cx.core.queueing.take_last(queue, cx.arena) {
                self.leave_untaken(cx, port, last);
                self.cut(cx, port, last);
                return true;
            }
        }
        self.cut(cx, port, id);
        false
    }

    /// Takes the payload off a packet that stands in no queue; its header joins the control queue.
    fn cut<S: Sink>(&self, cx: &mut Cx<'_, S>, port: u16, id: PacketId) {
        let hot = cx.arena.hot_mut(id);
        hot.become_kind(Kind::Header, CONTROL_CLASS);
        hot.size = self.config.header_bytes;
        hot.flags &= !flag::BUFFERED;
        if self.admit_control(cx, port, id) {
            Self::enqueue_control(cx, port, id);
        }
    }

    fn enqueue_control<S: Sink>(cx: &mut Cx<'_, S>, port: u16, id: PacketId) {
        let queue = cx.core.queueing.queue_of(port, CONTROL_CLASS, 0);
        let packet = *cx.arena.hot(id);
        cx.core
            .enqueue(port, queue, (id, &packet), cx.arena, cx.sink);
        cx.sink.kick(port);
    }

    fn has_room(&self, core: &Pipeline, port: u16, size: u16) -> bool {
        let queue = core.queueing.queue_of(port, CONTROL_CLASS, 0);
        core.queueing.get(queue).bytes() + u64::from(size) <= self.config.control_bytes
    }

    /// Whether a control packet fits the queue of its port. A header that does not goes back to its
    /// sender; what cannot do that is dropped.
    // NDP-03
    fn admit_control<S: Sink>(&self, cx: &mut Cx<'_, S>, port: u16, id: PacketId) -> bool {
        let packet = *cx.arena.hot(id);
        if self.has_room(cx.core, port, packet.size) {
            return true;
        }
        if packet.kind() == Kind::Header && self.config.returns {
            let to = cx.arena.cold(id).src;
            cx.arena.cold_mut(id).src = packet.dst;
            let hot = cx.arena.hot_mut(id);
            hot.become_kind(Kind::Returned, CONTROL_CLASS);
            hot.dst = to;
            let back = cx.core.routes.port(cx.arena.hot(id), || packet.dst);
            if let Some(back) = back
                && cx.core.is_lost_at(back)
            {
                let cause = DropCause::Link;
                cx.core.drop(Some(back), id, cause, cx.arena, cx.sink); // LNK-23
                return false;
            }
            if let Some(back) = back
                && self.has_room(cx.core, back, packet.size)
            {
                cx.core.counters.returned += 1;
                Self::enqueue_control(cx, back, id);
                return false;
            }
        }
        let cause = DropCause::Buffer;
        cx.core.drop(Some(port), id, cause, cx.arena, cx.sink);
        false
    }

    /// A packet goes out of its queue without leaving the switch: the books forget it.
    fn leave_untaken<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, id: PacketId) {
        let packet = *cx.arena.hot(id);
        cx.core.unsignal(port, &packet);
        self.left(port, packet.class());
        Pfc::release(cx, id);
        cx.core
            .unplace::<false>(cx.now, port, &packet, packet.location.queue());
    }
}
