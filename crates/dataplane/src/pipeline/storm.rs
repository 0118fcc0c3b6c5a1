//! PFC watchdog of a switch: treatment of the packets of a class in a PFC storm (a pause that lasts
//! too long). The rules are in `specs/pfc-watchdog.md`.

use super::context::Cx;
use crate::packet::PacketId;
use crate::sink::Sink;
use crate::watchdog::Watchdog;

impl<S: Sink> Cx<'_, S> {
    /// Returns the PFC watchdog if it drops packets of a class of a port, because the class is in a
    /// PFC storm.
    pub(crate) fn dropping_watchdog(&mut self, port: u16, class: u8) -> Option<&mut Watchdog> {
        let watchdog = self.core.queueing.gate.watchdog_in_storm(port, class);
        watchdog.filter(|watchdog| watchdog.drops())
    }

    /// Returns true if the PFC watchdog drops a packet of a class at a port. Counts such a packet.
    #[inline(never)]
    pub(crate) fn is_dropped_in_storm(&mut self, port: u16, class: u8) -> bool {
        let watchdog = self.dropping_watchdog(port, class);
        watchdog.is_some_and(|watchdog| {
            watchdog.counters(port, class).drops += 1;
            true
        })
    }

    /// Counts a packet that leaves by a port if its class is in a PFC storm.
    #[inline(never)]
    pub(crate) fn count_sent_in_storm(&mut self, port: u16, id: PacketId) {
        let class = self.arena.hot(id).class();
        if let Some(watchdog) = self.core.queueing.gate.watchdog_in_storm(port, class) {
            watchdog.counters(port, class).sent += 1;
        }
    }

    /// Begins or ends the next PFC storm that is due, and returns its port and class. Schedules the
    /// next call of the watchdog if no change is due.
    pub(crate) fn next_storm_change(&mut self) -> Option<(u16, u8)> {
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
