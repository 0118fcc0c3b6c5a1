//! Selection of the frames that ports send, in rounds within one instant, and the start of their
//! transmission.

use dataplane::packet::{Kind, PacketId};
use dataplane::units::Time;
use kernel::calendar::{Calendar, Event, phase};
use kernel::small_sort::{FEW, order_few};

use super::measure::{self, Sending};
use super::node::NodeSink;
use super::outbox::Leaving;
use super::partition::Partition;
use crate::ids::{LinkId, LocalNode};

impl<C: Calendar> Partition<C> {
    /// Runs one round: each port that had requested to send (was kicked) before the round chooses a
    /// frame, in the order of links.
    // ENG-03, ENG-04
    pub(super) fn serve_round<const MORE: bool>(&mut self) {
        let (one, mut several);
        let ports = if let [link] = self.core.links.kicks[..] {
            self.core.links.kicks.clear();
            one = [link];
            let takes_part = self.admit_to_round::<MORE>(link);
            several = Vec::new();
            &one[..usize::from(takes_part)]
        } else {
            several = self.round_of_several::<MORE>();
            &several[..]
        };
        for &link in ports {
            self.decide::<MORE>(link);
        }
        if several.capacity() > 0 {
            several.clear();
            self.round = several;
        }
    }

    /// Returns the ports that take part in a round with several kicked ports.
    #[inline(never)]
    fn round_of_several<const MORE: bool>(&mut self) -> Vec<LinkId> {
        let mut round = std::mem::take(&mut self.round);
        std::mem::swap(&mut round, &mut self.core.links.kicks);
        match round.len() {
            ..=FEW => order_few(&mut round, |link| link),
            _ => round.sort_unstable(),
        }
        round.retain(|&link| self.admit_to_round::<MORE>(link));
        round
    }

    /// Returns true if a kicked port takes part in the round, because its link is free. If the link
    /// is busy and packets wait, schedules the port for the time at which the link becomes free.
    #[inline]
    fn admit_to_round<const MORE: bool>(&mut self, link: LinkId) -> bool {
        let near = &mut self.core.links.near[link];
        near.kicked = false;
        let (node, port, busy_ps) = (near.node, near.port, near.busy_ps);
        if MORE {
            self.emit(measure::Event::QueueTouched { link });
        }
        if busy_ps <= self.core.now {
            return true;
        }
        if self.waiting(node, port) {
            self.arm(link);
        }
        false
    }

    #[inline]
    fn waiting(&self, node: LocalNode, port: u16) -> bool {
        match node.switch(self.nics.len()) {
            Some(switch) => self.switches[switch].waiting(port),
            None => self.nics[node.index()].waiting(port),
        }
    }

    #[inline]
    pub(super) fn arm(&mut self, link: LinkId) {
        self.core.links.arm(link, &mut self.core.calendar.here);
    }

    /// Lets a free port choose a frame, if one may be sent, and starts its transmission.
    // ENG-02, ENG-05
    #[inline(always)]
    fn decide<const MORE: bool>(&mut self, link: LinkId) {
        let (sent, more) = self.choose::<MORE>(link);
        let Some(id) = sent else { return };
        self.put_on_link::<MORE>(link, id);
        if more || !self.settings.elide {
            self.arm(link);
        }
    }

    /// Lets a free port choose a frame. Returns the frame, and true if more packets wait at the
    /// port.
    #[inline(always)]
    pub(super) fn choose<const MORE: bool>(&mut self, link: LinkId) -> (Option<PacketId>, bool) {
        let now = self.core.now;
        let near = &self.core.links.near[link];
        let (node, port) = (near.node, near.port);
        let arena = &mut self.arena;
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
            base: link.first_link(port),
        };
        let chosen = match node.switch(self.nics.len()) {
            Some(switch) => {
                let switch = &mut self.switches[switch];
                let sent = switch.transmit(now, port, arena, sink);
                (sent, switch.waiting(port))
            }
            None => {
                let nic = &mut self.nics[node.index()];
                let sent = nic.transmit(now, port, arena, sink);
                (sent, nic.waiting(port))
            }
        };
        if MORE && self.core.wants.intersects(measure::Event::CHOICE) {
            if !self.core.reported.is_empty() {
                self.emit_reported();
            }
            self.emit(measure::Event::Chosen { link });
        }
        chosen
    }

    /// Counts a frame that a port begins to send, and schedules its arrival.
    #[inline]
    pub(super) fn put_on_link<const MORE: bool>(&mut self, link: LinkId, id: PacketId) {
        let now = self.core.now;
        let packet = self.arena.hot(id);
        let (size, data) = (u64::from(packet.size), packet.kind() == Kind::Data);
        let links = &mut self.core.links;
        let (arrival, near) = links.send(now, link, size, data);
        let (leaves, lane, to_host) = (near.leaves, near.lane, near.to_host);
        if MORE && self.core.wants.intersects(measure::Event::SENDING) {
            let sending = Sending {
                link,
                from_host: near.node.switch(self.nics.len()).is_none(),
                id,
                takes_ps: near.busy_ps - now,
                delay_ps: near.delay_ps,
            };
            self.emit(measure::Event::Sending(sending));
        }
        if leaves {
            return self.leave::<MORE>(link, arrival, id);
        }
        if !MORE || !self.prefetching.on {
            self.arena.prefetch_if(to_host, id);
        }
        if C::IN_ORDER_OF_SCHEDULING {
            self.arm(link); // NS3-04: the end of sending is scheduled before the arrival.
        }
        self.core
            .calendar
            .push_to(lane, Event::new(arrival, phase::ARRIVAL, link.bits(), id));
    }

    /// Sends a frame to another partition. The function is separate to keep the common case fast.
    #[inline(never)]
    fn leave<const MORE: bool>(&mut self, link: LinkId, at: Time, id: PacketId) {
        let to = self.core.links.far[link].part;
        if MORE && let Some(journey) = self.emit_leaving(id) {
            self.outbox.to[to as usize].follow(at, link, journey);
        }
        let leaving = Leaving { to, link, at, id };
        self.outbox.put(leaving, &mut self.arena);
    }
}
