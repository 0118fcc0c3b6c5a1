//! What a switch does when its guard detects a storm of pauses. The rules are in `specs/pfc-watchdog.md`.

use super::Switch;
use super::context::Cx;
use super::link::{give_up, withdraw};
use crate::guard::{Event, GuardCounters};
use crate::hop::Hop;
use crate::packet::{Arena, PacketId};
use crate::ports::Ports;
use crate::sink::{DropCause, Sink};
use crate::units::Time;

impl<S: Sink> Cx<'_, S> {
    /// True if the guard drops packets of a class at a port. Counts the packet.
    #[inline(never)]
    pub(super) fn guard_drops(&mut self, port: u16, class: u8) -> bool {
        let guard = self.core.queueing.gate.guard_ignoring(port, class);
        guard.is_some_and(|guard| guard.drops_packet(port, class))
    }

    /// Counts a packet that leaves by a port if its class is in a storm.
    #[inline(never)]
    pub(super) fn guard_sent(&mut self, port: u16, id: PacketId) {
        let class = self.arena.hot(id).class();
        if let Some(guard) = self.core.queueing.gate.guard_ignoring(port, class) {
            guard.counts(port, class).sent += 1;
        }
    }

    /// Returns the next event of the guard that is due, and plans the next call.
    fn next_guard_event(&mut self) -> Option<Event> {
        let queueing = &mut self.core.queueing;
        let ports = &queueing.ports;
        let is_waiting = |port: u16, class: u8| ports[usize::from(port)].ready >> class & 1 != 0;
        let event = queueing.gate.guard_event(self.now, is_waiting);
        if event.is_none()
            && let Some(next) = queueing.gate.guard_call()
        {
            self.sink.wake(next);
        }
        event
    }
}

impl Switch {
    /// Storms of pauses begin and end.
    // PFCWD-02, PFCWD-03, PFCWD-05
    pub(super) fn serve_guard<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        loop {
            let cx = super::cx!(self, now, arena, sink);
            let Some(event) = cx.next_guard_event() else {
                return;
            };
            let (Event::Storm { port, class } | Event::Restored { port, class }) = event;
            cx.obey(port);
            let guard = cx.core.queueing.gate.guard_ignoring(port, class);
            if guard.is_some_and(|guard| guard.drops()) {
                drop_class(&mut self.hop, cx, port, class);
            }
            sink.kick(port);
        }
    }

    /// Returns what the guard counted at each class of a port that had a storm.
    // PFCWD-08
    pub fn storms(&self) -> impl Iterator<Item = (u16, u8, &GuardCounters)> {
        let guard = self.core.queueing.gate.guard.iter();
        guard.flat_map(|guard| guard.queues())
    }
}

/// Drops the packets of a class that wait at a port.
fn drop_class<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16, class: u8) {
    while let Some(taken) = cx.core.queueing.pop_class(port, class, cx.arena) {
        if let Some(guard) = &mut cx.core.queueing.gate.guard {
            guard.counts(port, class).drops += 1;
        }
        withdraw(hop, cx, port, taken);
        give_up(hop, cx, port, taken.id, DropCause::Link);
    }
}
