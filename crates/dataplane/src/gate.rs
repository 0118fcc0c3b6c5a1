//! The gate of a node (switch or NIC): the pause state of its ports.
//!
//! For each port the gate stores the classes that the neighbour pauses and the ends of timed
//! pauses, the classes whose pauses the PFC watchdog ignores (classes in a PFC storm), and the
//! *blocked* classes (no credit, or delayed by a shaper). A *closed* class is paused or blocked: it
//! may not send. The gate also stores the flows and destinations that the neighbour pauses.
//!
//! Control frames and link schemes change the gate only through the default methods of
//! [`Ports`](crate::ports::Ports), which also count and report the changes. The scheduler of a port
//! reads a copy of the closed classes ([`Gate::closed`]), and each queue has a flag that is set
//! while it is paused. A NIC looks up a flow and its destination here when the flow is next to
//! send. A switch looks up the flow of a queue's new first packet. So a switch pauses the queue of
//! a paused flow, and a NIC parks the flow.

use crate::classes::{CONTROL_CLASS, ClassSet};
use crate::ids::FlowSlot;
use crate::mixed::MixedMap;
use crate::pause_time::{TimedPauses, pause_ps};
use crate::units::{Rate, Time};
use crate::watchdog::{Watchdog, WatchdogConfig};

/// The classes of one port that may not send, by reason.
#[derive(Clone, Copy, Debug)]
struct PortGate {
    rate: Rate,
    /// Classes that the neighbour pauses.
    paused: ClassSet,
    /// Classes in a PFC storm: the PFC watchdog ignores their pauses.
    storms: ClassSet,
    /// Paused classes without those in a PFC storm, as last reported.
    obeyed: ClassSet,
    /// Classes without credit, and classes that a shaper delays.
    blocked: ClassSet,
}

/// The gate of a switch or of a NIC.
#[derive(Debug)]
pub struct Gate {
    ports: Box<[PortGate]>,
    /// Class c + `behind` is the low-priority class for packets of class c from VOQs (FG-15), and
    /// is paused with class c. 0 if there are no such classes.
    behind: u8,
    /// Expiry times of pauses with a duration. `None` until the first such pause.
    times: Option<Box<TimedPauses>>,
    pub(crate) watchdog: Option<Box<Watchdog>>,
    /// Paused flows, by port and flow ID (BFC-37).
    flows: MixedMap<u64, ()>,
    /// Paused destinations, by port and endpoint (FG-42). The value is the slot of the first flow
    /// that waits for this destination. The NIC links further waiting flows to it.
    destinations: MixedMap<u64, FlowSlot>,
}

/// Returns the map key of a flow or a destination at a port.
#[inline]
const fn at(port: u16, number: u32) -> u64 {
    (port as u64) << 32 | number as u64
}

/// Returns a set with some classes added (`on`) or removed.
const fn with(set: ClassSet, classes: ClassSet, on: bool) -> ClassSet {
    match on {
        true => set | classes,
        false => set & !classes,
    }
}

impl Gate {
    /// Creates a gate for ports with these rates, without pauses.
    pub(crate) fn new(rates: impl Iterator<Item = Rate>) -> Self {
        let port = |rate| PortGate {
            rate,
            paused: 0,
            storms: 0,
            obeyed: 0,
            blocked: 0,
        };
        Self {
            ports: rates.map(port).collect(),
            behind: 0,
            times: None,
            watchdog: None,
            flows: MixedMap::default(),
            destinations: MixedMap::default(),
        }
    }

    /// Adds the state that only switches have: low-priority classes for packets from VOQs, and the
    /// PFC watchdog.
    pub(crate) fn with_switch(mut self, behind: u8, watchdog: Option<WatchdogConfig>) -> Self {
        self.behind = behind;
        let ports = self.ports.len();
        self.watchdog = watchdog.map(|config| Box::new(Watchdog::new(config, ports)));
        self
    }

    /// Returns the classes of a port that may not send (paused or blocked), as a bit set.
    #[inline]
    pub(crate) fn closed(&self, port: u16) -> ClassSet {
        self.closed_by_pauses(port) | self.blocked(port)
    }

    /// Returns the classes of a port that the neighbour pauses, without those in a PFC storm.
    #[inline]
    pub(crate) fn paused(&self, port: u16) -> ClassSet {
        self.ports[usize::from(port)].obeyed
    }

    /// Returns the classes of a port that have no credit or that a shaper delays.
    #[inline]
    pub(crate) fn blocked(&self, port: u16) -> ClassSet {
        self.ports[usize::from(port)].blocked
    }

    /// Returns the classes of a port that wait for the neighbour: paused, or without credit.
    #[inline]
    pub(crate) fn waits_for_neighbour(&self, port: u16) -> ClassSet {
        self.closed_by_pauses(port) | self.blocked(port) & !(1 << CONTROL_CLASS)
    }

    /// Returns the classes of a port that may not send because of pauses.
    // FG-15: includes the low-priority classes of paused classes
    #[inline]
    pub(crate) fn closed_by_pauses(&self, port: u16) -> ClassSet {
        let paused = self.paused(port);
        paused | paused << self.behind
    }

    /// Pauses or resumes classes of a port. Returns true if the set of classes paused by the
    /// neighbour has changed.
    pub(crate) fn pause_classes(
        &mut self,
        now: Time,
        port: u16,
        classes: ClassSet,
        on: bool,
    ) -> bool {
        let p = &mut self.ports[usize::from(port)];
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.pause_changed(now, port, (classes, on), p.storms);
        }
        let before = p.paused;
        p.paused = with(before, classes, on);
        p.paused != before
    }

    /// Makes changed pauses effective, except those of classes in a PFC storm. Returns the
    /// effectively paused classes before and after.
    pub(crate) fn obey(&mut self, port: u16) -> (ClassSet, ClassSet) {
        let p = &mut self.ports[usize::from(port)];
        let before = std::mem::replace(&mut p.obeyed, p.paused & !p.storms);
        (before, p.obeyed)
    }

    /// Blocks or unblocks classes of a port. Returns the classes of the port that may not send.
    // CBFC-36, XP-02
    #[inline]
    pub(crate) fn block(&mut self, port: u16, classes: ClassSet, on: bool) -> ClassSet {
        let blocked = &mut self.ports[usize::from(port)].blocked;
        *blocked = with(*blocked, classes, on);
        self.closed(port)
    }

    /// Blocks or unblocks a class of a port and its low-priority class for packets from VOQs.
    /// Returns the classes of the port that may not send.
    pub(crate) fn block_class(&mut self, port: u16, class: u8, on: bool) -> ClassSet {
        self.block(port, 1 << class | 1 << (class + self.behind), on)
    }

    /// Sets the end of the pause of some classes of a port: `quanta` pause quanta (512 bit times)
    /// after `now`. Returns this time.
    // QNT-02
    pub(crate) fn set_end(&mut self, now: Time, port: u16, classes: ClassSet, quanta: u16) -> Time {
        let end = now + pause_ps(self.ports[usize::from(port)].rate, quanta);
        self.times.get_or_insert_default().pause(end, port, classes);
        end
    }

    /// Removes the expiry times of the pauses of some classes of a port.
    // QNT-04
    pub(crate) fn forget_ends(&mut self, port: u16, classes: ClassSet) {
        if let Some(times) = &mut self.times {
            times.forget(port, classes);
        }
    }

    /// Returns true if the node has ever received a pause with a duration.
    #[inline]
    pub(crate) const fn has_timed_pauses(&self) -> bool {
        self.times.is_some()
    }

    /// Returns a port and a class whose pause time has expired, and removes this time.
    // QNT-03
    pub(crate) fn expired(&mut self, now: Time) -> Option<(u16, u8)> {
        self.times.as_mut()?.expired(now)
    }

    /// Returns the time at which the next pause expires.
    pub(crate) fn next_end(&mut self) -> Option<Time> {
        self.times.as_mut()?.next()
    }

    /// Returns the number of pauses that have expired.
    // QNT-09
    pub(crate) fn expired_pauses(&self) -> u64 {
        self.times.as_ref().map_or(0, |times| times.count())
    }

    /// Begins or ends the next PFC storm that is due, and returns its port and class. `is_waiting`
    /// returns true if packets of a class wait at a port.
    // PFCWD-01, PFCWD-03, PFCWD-05
    pub(crate) fn next_storm_change(
        &mut self,
        now: Time,
        is_waiting: impl Fn(u16, u8) -> bool,
    ) -> Option<(u16, u8)> {
        let watchdog = self.watchdog.as_deref_mut()?;
        while let Some((port, class)) = watchdog.due(now) {
            let (p, bit) = (&mut self.ports[usize::from(port)], 1 << class);
            let ends = p.storms & bit != 0;
            let begins = !ends && is_waiting(port, class);
            p.storms = with(p.storms, bit, begins);
            let counters = watchdog.counters(port, class);
            counters.storms += u64::from(begins);
            counters.restorations += u64::from(ends);
            if p.paused & bit != 0 {
                watchdog.start_timer(now, port, class, begins);
            }
            if begins || ends {
                return Some((port, class));
            }
        }
        None
    }

    /// Returns the time at which the PFC watchdog must be called next.
    pub(crate) fn next_watchdog_call(&mut self) -> Option<Time> {
        self.watchdog.as_mut()?.next()
    }

    /// Returns the PFC watchdog if a class of a port is in a PFC storm.
    pub(crate) fn watchdog_in_storm(&mut self, port: u16, class: u8) -> Option<&mut Watchdog> {
        let in_storm = self.ports[usize::from(port)].storms >> class & 1 != 0;
        self.watchdog.as_deref_mut().filter(|_| in_storm)
    }

    /// Pauses or resumes a flow at a port. Returns true if its state changed.
    // BFC-37
    pub(crate) fn pause_flow(&mut self, port: u16, flow: u32, on: bool) -> bool {
        match on {
            true => self.flows.insert(at(port, flow), ()).is_none(),
            false => self.flows.remove(&at(port, flow)).is_some(),
        }
    }

    /// Returns true if a flow is paused at a port.
    #[inline]
    pub(crate) fn is_flow_paused(&self, port: u16, flow: u32) -> bool {
        !self.flows.is_empty() && self.flows.contains_key(&at(port, flow))
    }

    /// Pauses a destination at a port. Returns true if it was not paused before.
    // FG-42
    pub(crate) fn pause_destination(&mut self, port: u16, dst: u32) -> bool {
        let paused = self.destinations.len();
        self.destinations
            .entry(at(port, dst))
            .or_insert(FlowSlot::NONE);
        self.destinations.len() > paused
    }

    /// Resumes a destination at a port. Returns the slot of the first flow that waits for this
    /// destination, or `None` if the destination was not paused.
    pub(crate) fn resume_destination(&mut self, port: u16, dst: u32) -> Option<FlowSlot> {
        self.destinations.remove(&at(port, dst))
    }

    /// Returns true if a destination is paused at a port.
    #[inline]
    pub(crate) fn is_destination_paused(&self, port: u16, dst: u32) -> bool {
        !self.destinations.is_empty() && self.destinations.contains_key(&at(port, dst))
    }

    /// Inserts a flow at the front of the list of flows that wait for a paused destination. Returns
    /// the slot of the next flow in this list.
    pub(crate) fn wait_for_destination(&mut self, port: u16, dst: u32, slot: FlowSlot) -> FlowSlot {
        let first = self.destinations.insert(at(port, dst), slot);
        first.unwrap_or(FlowSlot::NONE)
    }

    /// Returns the slot of the first flow that waits for a destination, for writing.
    pub(crate) fn first_waiting(&mut self, port: u16, dst: u32) -> Option<&mut FlowSlot> {
        self.destinations.get_mut(&at(port, dst))
    }

    /// Removes all pauses of classes and flows by the neighbour at a port. Pauses of queues and
    /// destinations, and blocked classes, do not change.
    // LNK-21, PFCWD-06
    pub(crate) fn forget_pauses(&mut self, port: u16) {
        let p = &mut self.ports[usize::from(port)];
        (p.paused, p.storms) = (0, 0);
        self.forget_ends(port, ClassSet::MAX);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.forget(port);
        }
        self.flows.retain(|&key, ()| (key >> 32) as u16 != port);
    }

    /// Resumes all destinations at a port. Returns, for each destination in ascending order, the
    /// slot of the first flow that waits.
    // LNK-27
    pub(crate) fn resume_all_destinations(&mut self, port: u16) -> Vec<FlowSlot> {
        let mut all: Vec<(u64, FlowSlot)> = self
            .destinations
            .extract_if(|&key, _| (key >> 32) as u16 == port)
            .collect();
        all.sort_unstable_by_key(|&(key, _)| key);
        all.into_iter().map(|(_, first)| first).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: ClassSet = 1 << 2;

    fn gate() -> Gate {
        Gate::new([Rate::from_gbps(100), Rate::from_gbps(10)].into_iter())
    }

    // SW-40, CBFC-36, FG-15
    #[test]
    fn a_class_is_closed_until_it_is_neither_paused_nor_blocked() {
        let mut gate = gate().with_switch(1, None);
        assert!(gate.pause_classes(0, 0, DATA, true) && !gate.pause_classes(0, 0, DATA, true));
        assert_eq!(gate.obey(0), (0, DATA));
        assert_eq!(gate.closed(0), DATA | DATA << 1, "and the class behind it");
        assert_eq!(gate.waits_for_neighbour(0), DATA | DATA << 1);
        assert_eq!(gate.block_class(0, 2, true), DATA | DATA << 1);
        assert!(gate.pause_classes(0, 0, DATA, false));
        assert_eq!(gate.obey(0), (DATA, 0));
        assert_eq!(gate.closed(0), DATA | DATA << 1);
        assert_eq!(gate.waits_for_neighbour(0), DATA | DATA << 1);
        assert_eq!(gate.block_class(0, 2, false), 0);
        assert_eq!(gate.closed(1), 0, "the other port is open all the time");
    }

    // QNT-01, QNT-02, QNT-03
    #[test]
    fn the_end_of_a_timed_pause_depends_on_the_rate_of_the_port() {
        let mut gate = gate();
        assert_eq!(gate.set_end(1_000, 0, DATA, 10), 52_200);
        assert_eq!(gate.set_end(1_000, 1, DATA, 10), 513_000);
        assert_eq!(gate.expired(52_199), None);
        assert_eq!(gate.expired(52_200), Some((0, 2)));
        gate.forget_ends(1, DATA);
        assert_eq!((gate.next_end(), gate.expired_pauses()), (None, 1));
    }

    // BFC-37, LNK-21
    #[test]
    fn flows_are_paused_at_their_port_until_its_link_changes() {
        let mut gate = gate();
        assert!(gate.pause_flow(0, 7, true) && !gate.pause_flow(0, 7, true));
        assert!(gate.pause_flow(1, 8, true));
        assert!(gate.is_flow_paused(0, 7) && !gate.is_flow_paused(1, 7));
        gate.forget_pauses(0);
        assert!(!gate.pause_flow(0, 7, false) && gate.pause_flow(1, 8, false));
    }

    // FG-42, LNK-27
    #[test]
    fn flows_wait_for_their_own_destination_and_port() {
        let (mut gate, slot) = (gate(), FlowSlot::new);
        assert!(gate.pause_destination(0, 7) && !gate.pause_destination(0, 7));
        assert!(gate.is_destination_paused(0, 7));
        assert!(!gate.is_destination_paused(1, 7) && !gate.is_destination_paused(0, 8));
        assert_eq!(gate.wait_for_destination(0, 7, slot(3)), FlowSlot::NONE);
        assert_eq!(gate.wait_for_destination(0, 7, slot(5)), slot(3));
        assert_eq!(gate.resume_destination(0, 7), Some(slot(5)));
        assert_eq!(gate.resume_destination(0, 7), None);
        for (port, dst, waits) in [(0, 9, 1), (1, 6, 2), (0, 8, 3)] {
            gate.pause_destination(port, dst);
            gate.wait_for_destination(port, dst, slot(waits));
        }
        assert_eq!(gate.resume_all_destinations(0), [slot(3), slot(1)]);
        assert!(gate.is_destination_paused(1, 6));
    }
}
