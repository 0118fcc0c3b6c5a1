//! Asking in time for the memory that events to come will touch. Decides nothing: without it the results are
//! the same, later.

use dataplane::packet::{Kind, PacketId};
use dataplane::prefetch::{prefetch, prefetch_whole};
use kernel::calendar::{Calendar, Event, phase};

use super::partition::Partition;

/// What an event soon to come will touch at a switch, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Soon {
    Nothing,
    /// A packet joins a queue of this port.
    Joins {
        switch: u32,
        port: u16,
        id: PacketId,
    },
    /// This port sends.
    Sends {
        switch: u32,
        port: u16,
    },
}

/// When so many events of a bucket are left, those of the next are asked for, ...
const EVENTS_BEFORE: usize = 24;
/// ... then their packets and links, ...
const LINKS_BEFORE: usize = 16;
/// ... and then their nodes. An event takes about as long as a miss or two.
const NODES_BEFORE: usize = 8;

impl<C: Calendar> Partition<C> {
    /// Asks for the memory that events ahead will touch, in steps, since each can only be found by what the
    /// one before it brings: the packet and the link; the NIC, or what tells where the packet goes in a switch;
    /// what stands there. The first steps are taken for a whole bucket of the calendar in one go, a little
    /// before it has its turn; the last for each event, since what it asks for would be more than the
    /// nearest cache holds. Which one of several queues it is, is found by one step more, an event later.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        let calendar = &self.core.calendar.here;
        prefetch_whole(calendar.following(EVENTS_BEFORE));
        for &event in calendar.following(LINKS_BEFORE) {
            self.ask_for_link(event);
        }
        for &event in calendar.following(NODES_BEFORE) {
            self.ask_for_node(event);
        }
        if self.looks_for_queues {
            self.ask_for_queue();
        }
        if let &[.., first, _] = self.core.calendar.here.upcoming() {
            self.soon = self.ask_for_port(first);
        }
    }

    #[inline(always)]
    fn ask_for_link(&self, event: Event) {
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
    fn ask_for_node(&self, event: Event) {
        match event.phase() {
            phase::ARRIVAL => {
                let node = self.core.links.far[event.id() as usize].node as usize;
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
                let near = &self.core.links.near[event.id() as usize];
                let node = near.node as usize;
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

    /// Returns what is to be asked for next.
    #[inline(always)]
    fn ask_for_port(&self, event: Event) -> Soon {
        match event.phase() {
            phase::ARRIVAL => {
                let far = &self.core.links.far[event.id() as usize];
                match (far.node as usize).checked_sub(self.nics.len()) {
                    Some(at) => {
                        let (switch, id) = (at as u32, event.arg());
                        if let Some(port) =
                            self.switches[at].prefetch_way(far.port, id, &self.arena)
                        {
                            let link = far.base + u32::from(port);
                            prefetch(&self.core.links.near, link as usize);
                            return Soon::Joins { switch, port, id };
                        }
                    }
                    None => self.nics[far.node as usize].prefetch_arrival(
                        far.port,
                        event.arg(),
                        &self.arena,
                    ),
                }
            }
            phase::EGRESS => {
                let near = &self.core.links.near[event.id() as usize];
                match (near.node as usize).checked_sub(self.nics.len()) {
                    Some(at) => {
                        let (switch, port) = (at as u32, near.port);
                        self.switches[at].prefetch_first(port, &self.arena);
                        return Soon::Sends { switch, port };
                    }
                    None => self.nics[near.node as usize].prefetch_rings(near.port),
                }
            }
            phase::TIMER => {
                if let Some(nic) = self.nics.get(event.id() as usize) {
                    nic.prefetch_rings(0);
                }
            }
            _ => {}
        }
        Soon::Nothing
    }

    #[inline(always)]
    fn ask_for_queue(&self) {
        match self.soon {
            Soon::Nothing => {}
            Soon::Joins { switch, port, id } => {
                self.switches[switch as usize].prefetch_queue(port, id, &self.arena);
            }
            Soon::Sends { switch, port } => {
                self.switches[switch as usize].prefetch_first_packet(port, &self.arena);
            }
        }
    }
}
