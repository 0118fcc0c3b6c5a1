//! Pauses of queues. A pause frame identifies the queue, a flow or a class.

use super::Queueing;
use crate::classes::DATA_CLASS;
use crate::ids::QueueId;
use crate::packet::{Arena, NO_PACKET};

impl Queueing {
    /// Blocks or unblocks a class of a port, because its rate shaper requires it.
    // XP-02
    #[inline]
    pub fn shape(&mut self, port: u16, class: u8, on: bool) {
        self.ports[port as usize].closed = self.gate.block(port, 1 << class, on);
    }

    /// Pauses or resumes a queue. Returns true if the queue may send now and could not before.
    pub fn set_paused(&mut self, queue: QueueId, paused: bool, arena: &Arena) -> bool {
        if self.queues[queue.index()].paused == paused || self.single {
            return false;
        }
        self.mark_paused(queue, paused);
        if self.queues[queue.index()].is_empty() {
            return false;
        }
        match paused {
            true => self.close(queue),
            false => self.enter_round(queue, arena),
        }
        !paused
    }

    /// Sets the pause flag of a queue and updates the number of paused queues of its port.
    fn mark_paused(&mut self, queue: QueueId, paused: bool) {
        let q = &mut self.queues[queue.index()];
        q.paused = paused;
        let count = &mut self.ports[q.port as usize].paused_queues;
        debug_assert!(
            paused || *count > 0,
            "{queue:?} resumes, and its port has no paused queue"
        );
        *count = if paused { *count + 1 } else { *count - 1 };
    }

    /// Pauses the queues of a port whose numbers are in `paused` (ascending), and resumes all other
    /// queues. Returns true if a queue may send now and could not before.
    // BFC-30, BFC-31
    pub fn replace_paused(&mut self, port: u16, paused: &[u32], arena: &Arena) -> bool {
        if paused.is_empty() && self.ports[port as usize].paused_queues == 0 {
            return false;
        }
        let mut named = paused.iter().copied().peekable();
        let mut freed = false;
        for number in 0..u32::from(self.stride) {
            let on = named.next_if_eq(&number).is_some();
            let queue = QueueId::new(self.base(port) + number as usize);
            freed |= self.set_paused(queue, on, arena);
        }
        freed
    }

    /// Resumes every queue of a port.
    // LNK-21
    pub fn resume_queues(&mut self, port: u16, arena: &Arena) {
        if self.ports[port as usize].paused_queues == 0 {
            return;
        }
        let standing = self.standing();
        for queue in self.own(port).chain(standing..self.queues.len()) {
            if self.queues[queue].port == port {
                self.set_paused(QueueId::new(queue), false, arena);
            }
        }
    }

    /// BFC-37: if pause frames identify flows, pauses a data queue while the flow of its first
    /// packet is paused. Does not pause queues of control frames and of ACKs (BFC-14).
    pub(super) fn check_head(&mut self, queue: QueueId, arena: &Arena) {
        let q = &self.queues[queue.index()];
        if q.class < DATA_CLASS {
            return;
        }
        let paused = !q.is_empty() && self.gate.is_flow_paused(q.port, arena.hot(q.head).flow);
        if q.paused != paused {
            self.mark_paused(queue, paused);
        }
    }

    /// BFC-37: pauses or resumes all queues of a port whose first packet belongs to `flow`. `own`
    /// is the dedicated queue of the flow, if it has one.
    pub fn pause_flow(
        &mut self,
        port: u16,
        flow: u32,
        on: bool,
        own: Option<QueueId>,
        arena: &Arena,
    ) {
        if !self.by_flow {
            return;
        }
        if let Some(queue) = own {
            return self.pause_head(queue, flow, on, arena);
        }
        for number in self.offsets[DATA_CLASS as usize]..self.stride {
            let queue = QueueId::new(self.base(port) + usize::from(number));
            self.pause_head(queue, flow, on, arena);
        }
    }

    /// Pauses or resumes a queue if its first packet belongs to the flow.
    fn pause_head(&mut self, queue: QueueId, flow: u32, on: bool, arena: &Arena) {
        let head = self.queues[queue.index()].head;
        if head != NO_PACKET && arena.hot(head).flow == flow {
            self.set_paused(queue, on, arena);
        }
    }
}
