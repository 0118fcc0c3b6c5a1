//! Prefetches the memory that the next events will access. It changes the speed but not the
//! results.

use dataplane::packet::Kind;
use dataplane::prefetch::{prefetch, prefetch_whole};
use kernel::calendar::{Calendar, Event, phase};

use super::partition::{NextAccess, Partition};
use crate::ids::LinkId;

/// Number of remaining events of a calendar bucket at which the events of the next bucket are
/// prefetched.
const EVENTS_BEFORE: usize = 24;
/// Number of remaining events of a calendar bucket at which the packets and links of the next
/// events are prefetched.
const LINKS_BEFORE: usize = 16;
/// Number of remaining events of a calendar bucket at which the nodes of the next events are
/// prefetched. An event takes about as long as one or two cache misses.
const NODES_BEFORE: usize = 8;

impl<C: Calendar> Partition<C> {
    /// Prefetches the memory that the next events will touch. It has several steps, because the
    /// address of each step is read from the memory of the previous step:
    ///
    /// 1. the packet and the link,
    /// 2. the NIC, or the route of the packet in a switch,
    /// 3. the queues of the port.
    ///
    /// The first steps run for a whole bucket of the calendar, shortly before its turn. The last
    /// step runs for each event, because the nearest cache is too small for a whole bucket. If a
    /// port has several queues, the queue of the packet is found in one more step, one event later.
    #[inline]
    pub(super) fn prefetch(&mut self) {
        let calendar = &self.core.calendar.here;
        prefetch_whole(calendar.following(EVENTS_BEFORE));
        for &event in calendar.following(LINKS_BEFORE) {
            self.prefetch_link(event);
        }
        for &event in calendar.following(NODES_BEFORE) {
            self.prefetch_node(event);
        }
        if self.prefetching.queues {
            self.prefetch_queue();
        }
        if let &[.., first, _] = self.core.calendar.here.upcoming() {
            self.prefetching.next = self.prefetch_port(first);
        }
    }

    #[inline(always)]
    fn prefetch_link(&self, event: Event) {
        match event.phase() {
            phase::ARRIVAL => {
                self.arena.prefetch(event.arg());
                prefetch(&self.core.links.far, event.id() as usize);
            }
            phase::EGRESS => prefetch(&self.core.links.near, event.id() as usize),
            phase::TIMER => prefetch(&self.core.nodes, event.id() as usize),
            _ => {}
        }
    }

    #[inline(always)]
    fn prefetch_node(&self, event: Event) {
        match event.phase() {
            phase::ARRIVAL => {
                let node = self.core.links.far[LinkId::from_bits(event.id())]
                    .node
                    .index();
                if let Some(nic) = self.nics.get(node) {
                    nic.prefetch();
                    self.arena.prefetch_cold(event.arg());
                    self.arena.prefetch_stack_of(event.arg(), Kind::Ack);
                } else if let Some(switch) = self.switches.get(node - self.nics.len()) {
                    switch.prefetch_route(event.arg(), &self.arena);
                    self.arena.prefetch_stack_of(event.arg(), Kind::Data);
                }
            }
            phase::EGRESS => {
                let near = &self.core.links.near[LinkId::from_bits(event.id())];
                let node = near.node.index();
                if let Some(nic) = self.nics.get(node) {
                    nic.prefetch();
                    nic.prefetch_port(near.port);
                } else if let Some(switch) = self.switches.get(node - self.nics.len()) {
                    switch.prefetch_port(near.port);
                }
            }
            phase::TIMER => {
                if let Some(nic) = self.nics.get(event.id() as usize) {
                    nic.prefetch();
                    nic.prefetch_port(0);
                }
            }
            _ => {}
        }
    }

    /// Returns the memory at a switch port that should be prefetched one event later.
    #[inline(always)]
    fn prefetch_port(&self, event: Event) -> NextAccess {
        match event.phase() {
            phase::ARRIVAL => {
                let far = &self.core.links.far[LinkId::from_bits(event.id())];
                match far.node.switch(self.nics.len()) {
                    Some(at) => {
                        let (switch, id) = (at as u32, event.arg());
                        if let Some(port) =
                            self.switches[at].prefetch_way(far.port, id, &self.arena)
                        {
                            let link = far.base.at_port(port);
                            prefetch(&self.core.links.near, link.index());
                            return NextAccess::Enqueue { switch, port, id };
                        }
                    }
                    None => self.nics[far.node.index()].prefetch_arrival(
                        far.port,
                        event.arg(),
                        &self.arena,
                    ),
                }
            }
            phase::EGRESS => {
                let near = &self.core.links.near[LinkId::from_bits(event.id())];
                match near.node.switch(self.nics.len()) {
                    Some(at) => {
                        let (switch, port) = (at as u32, near.port);
                        self.switches[at].prefetch_first(port, &self.arena);
                        return NextAccess::Dequeue { switch, port };
                    }
                    None => self.nics[near.node.index()].prefetch_rings(near.port),
                }
            }
            phase::TIMER => {
                if let Some(nic) = self.nics.get(event.id() as usize) {
                    nic.prefetch_rings(0);
                }
            }
            _ => {}
        }
        NextAccess::Nothing
    }

    #[inline(always)]
    fn prefetch_queue(&self) {
        match self.prefetching.next {
            NextAccess::Nothing => {}
            NextAccess::Enqueue { switch, port, id } => {
                self.switches[switch as usize].prefetch_queue(port, id, &self.arena);
            }
            NextAccess::Dequeue { switch, port } => {
                self.switches[switch as usize].prefetch_first_packet(port, &self.arena);
            }
        }
    }
}
