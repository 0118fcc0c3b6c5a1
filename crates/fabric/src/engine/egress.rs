//! Ports choose what to send, in rounds, and put it on their links.

use dataplane::packet::{Kind, PacketId};
use dataplane::units::Time;
use kernel::calendar::{Calendar, Event, phase};
use kernel::small_sort::{FEW, order_few};

use super::node::NodeSink;
use super::outbox::Leaving;
use super::partition::Partition;
use crate::ids::{LinkId, LocalNode};

impl<C: Calendar> Partition<C> {
    /// One round of decisions: the ports that were kicked before it began, in order of links.
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

    /// The ports of a round that several were kicked for.
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

    /// Returns true if a kicked port takes part in the round: it has packets to send and its link is free. If the link
    /// is busy, the port is called when the link becomes free.
    #[inline]
    fn admit_to_round<const MORE: bool>(&mut self, link: LinkId) -> bool {
        let near = &mut self.core.links.near[link];
        near.kicked = false;
        let (node, port, busy_ps) = (near.node, near.port, near.busy_ps);
        if MORE
            && self.core.watched
            && let Some(recording) = &mut self.recording
        {
            recording.queue_touched(link);
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

    /// A free port chooses a frame, if it has one, and starts to send it.
    // ENG-02, ENG-05
    #[inline(always)]
    fn decide<const MORE: bool>(&mut self, link: LinkId) {
        let now = self.core.now;
        let near = &self.core.links.near[link];
        let (node, port) = (near.node, near.port);
        let arena = &mut self.arena;
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
            base: link.first_link(port),
        };
        let (sent, more) = match node.switch(self.nics.len()) {
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
        if MORE && !self.core.pauses_sent.is_empty() {
            self.follow_pauses_sent();
        }
        if MORE && self.core.listens {
            self.follow_choice(link);
        }
        let Some(id) = sent else { return };
        self.put_on_link::<MORE>(link, id);
        if more || !self.settings.elide {
            self.arm(link);
        }
    }

    /// Counts a frame that a port begins to send, and schedules its arrival.
    #[inline]
    pub(super) fn put_on_link<const MORE: bool>(&mut self, link: LinkId, id: PacketId) {
        let now = self.core.now;
        let packet = self.arena.hot(id);
        let (size, data) = (u64::from(packet.size), packet.kind() == Kind::Data);
        let links = &mut self.core.links;
        let (arrival, near) = links.send(now, link, size, data);
        if MORE && let Some(recording) = &mut self.recording {
            let from_host = near.node.switch(self.nics.len()).is_none();
            recording.sends(now, (link, near), from_host, id, &self.arena);
        }
        if near.leaves {
            return self.leave::<MORE>(link, arrival, id);
        }
        let lane = near.lane;
        if !MORE || !self.prefetching.on {
            self.arena.prefetch_if(near.to_host, id);
        }
        if C::IN_ORDER_OF_SCHEDULING {
            self.arm(link); // NS3-04: the end of sending is scheduled before the arrival.
        }
        self.core
            .calendar
            .push_to(lane, Event::new(arrival, phase::ARRIVAL, link.bits(), id));
    }

    /// Sends a frame to another partition. It is a separate function to keep the common case fast.
    #[inline(never)]
    fn leave<const MORE: bool>(&mut self, link: LinkId, at: Time, id: PacketId) {
        let to = self.core.links.far[link].part;
        if MORE
            && let Some(recording) = &mut self.recording
            && let Some(journey) = recording.hand_over(id)
            && self.arena.hot(id).kind() == Kind::Data
        {
            self.outbox.to[to as usize].follow(at, link, journey);
        }
        let leaving = Leaving { to, link, at, id };
        self.outbox.put(leaving, &mut self.arena);
    }
}
