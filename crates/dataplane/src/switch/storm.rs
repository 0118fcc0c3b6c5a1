//! PFC storms (pauses that last too long), which the PFC watchdog of a switch detects. The rules
//! are in `specs/pfc-watchdog.md`.

use super::Switch;
use super::link::{give_up, withdraw};
use crate::hop::Hop;
use crate::packet::Arena;
use crate::pipeline::context::Cx;
use crate::ports::Ports;
use crate::sink::{DropCause, Sink};
use crate::units::Time;
use crate::watchdog::StormCounters;

impl Switch {
    /// Begins and ends the PFC storms that are due.
    // PFCWD-02, PFCWD-03, PFCWD-05
    pub(super) fn change_storms<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        let cx = super::cx!(self, now, arena, sink);
        while let Some((port, class)) = cx.next_storm_change() {
            cx.obey(port);
            if cx.dropping_watchdog(port, class).is_some() {
                drop_class(&mut self.hop, cx, port, class);
            }
            cx.sink.kick(port);
        }
    }

    /// Returns (port, class, counters) of each class of a port that had a PFC storm.
    // PFCWD-08
    pub fn storms(&self) -> impl Iterator<Item = (u16, u8, &StormCounters)> {
        let watchdog = self.core.queueing.gate.watchdog.iter();
        watchdog.flat_map(|watchdog| watchdog.queues())
    }
}

/// Drops all queued packets of a class at a port.
fn drop_class<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16, class: u8) {
    while let Some(taken) = cx.core.queueing.pop_class(port, class, cx.arena) {
        if let Some(watchdog) = &mut cx.core.queueing.gate.watchdog {
            watchdog.counters(port, class).drops += 1;
        }
        withdraw(hop, cx, port, taken);
        give_up(hop, cx, port, taken.id, DropCause::Link);
    }
}
