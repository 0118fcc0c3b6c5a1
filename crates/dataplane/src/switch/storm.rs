//! Effects of a storm of pauses, which the watchdog of a switch detects. The rules are in `specs/pfc-watchdog.md`.

use super::Switch;
use super::context::Cx;
use super::link::{give_up, withdraw};
use crate::hop::Hop;
use crate::packet::{Arena, PacketId};
use crate::ports::Ports;
use crate::sink::{DropCause, Sink};
use crate::units::Time;
use crate::watchdog::{StormCounters, Watchdog};

impl<S: Sink> Cx<'_, S> {
    /// Returns the watchdog if a class of a port is in a storm and its packets are dropped.
    fn dropping_watchdog(&mut self, port: u16, class: u8) -> Option<&mut Watchdog> {
        let watchdog = self.core.queueing.gate.watchdog_in_storm(port, class);
        watchdog.filter(|watchdog| watchdog.drops())
    }

    /// True if the watchdog drops packets of a class at a port. Counts the packet.
    #[inline(never)]
    pub(super) fn is_dropped_in_storm(&mut self, port: u16, class: u8) -> bool {
        let watchdog = self.dropping_watchdog(port, class);
        watchdog.is_some_and(|watchdog| {
            watchdog.counters(port, class).drops += 1;
            true
        })
    }

    /// Counts a packet that leaves by a port if its class is in a storm.
    #[inline(never)]
    pub(super) fn count_sent_in_storm(&mut self, port: u16, id: PacketId) {
        let class = self.arena.hot(id).class();
        if let Some(watchdog) = self.core.queueing.gate.watchdog_in_storm(port, class) {
            watchdog.counters(port, class).sent += 1;
        }
    }

    /// Begins or ends the next storm that is due. Returns its port and class. Schedules the next call of the
    /// watchdog if no storm is due.
    fn next_storm_change(&mut self) -> Option<(u16, u8)> {
        let queueing = &mut self.core.queueing;
        let ports = &queueing.ports;
        let is_waiting = |port: u16, class: u8| ports[usize::from(port)].ready >> class & 1 != 0;
        let change = queueing.gate.next_storm_change(self.now, is_waiting);
        if change.is_none()
            && let Some(next) = queueing.gate.next_watchdog_call()
        {
            self.sink.wake(next);
        }
        change
    }
}

impl Switch {
    /// Begins and ends the storms that are due.
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

    /// Returns the counters of each class of a port that had a storm.
    // PFCWD-08
    pub fn storms(&self) -> impl Iterator<Item = (u16, u8, &StormCounters)> {
        let watchdog = self.core.queueing.gate.watchdog.iter();
        watchdog.flat_map(|watchdog| watchdog.queues())
    }
}

/// Drops the packets of a class that wait at a port.
fn drop_class<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16, class: u8) {
    while let Some(taken) = cx.core.queueing.pop_class(port, class, cx.arena) {
        if let Some(watchdog) = &mut cx.core.queueing.gate.watchdog {
            watchdog.counters(port, class).drops += 1;
        }
        withdraw(hop, cx, port, taken);
        give_up(hop, cx, port, taken.id, DropCause::Link);
    }
}
