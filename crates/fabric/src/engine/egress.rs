//! Ports choose what to send, in rounds, and put it on their links.

use dataplane::packet::{Kind, PacketId};
use dataplane::units::NEVER;
use kernel::calendar::{Calendar, Event, phase};

use super::Partition;
use super::node::NodeSink;

impl<C: Calendar> Partition<C> {
    /// One round of decisions: the ports that were kicked before it began, in order of links.
    // ENG-03, ENG-04
    pub(super) fn serve_round(&mut self) {
        if let [link] = self.core.links.kicks[..] {
            self.core.links.kicks.clear();
            if self.admit_to_round(link) {
                self.decide(link);
            }
            return;
        }
        let mut round = std::mem::take(&mut self.round);
        std::mem::swap(&mut round, &mut self.core.links.kicks);
        round.sort_unstable();
        round.retain(|&link| self.admit_to_round(link));
        for &link in &round {
            self.decide(link);
        }
        round.clear();
        self.round = round;
    }

    /// Whether a kicked port takes part: it has something to send and its link is free. If the link
    /// is not free, the port is called when it is.
    fn admit_to_round(&mut self, link: u32) -> bool {
        let l = &mut self.core.links.hot[link as usize];
        l.kicked = false;
        let (node, port, busy_ps) = (l.node, l.port, l.busy_ps);
        if let Some(recording) = &mut self.recording {
            recording.touch(link);
        }
        if !self.waiting(node, port) {
            return false;
        }
        if busy_ps > self.core.now {
            self.arm(link);
            return false;
        }
        true
    }

    #[inline]
    fn waiting(&self, node: u32, port: u16) -> bool {
        match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => self.switches[switch].waiting(port),
            None => self.nics[node as usize].waiting(port),
        }
    }

    /// Calls the port when its link is free.
    // ENG-06
    pub(super) fn arm(&mut self, link: u32) {
        let l = &mut self.core.links.hot[link as usize];
        // LNK-01: a link that is down is never free.
        if !l.armed && l.busy_ps != NEVER {
            l.armed = true;
            self.core
                .calendar
                .push(Event::new(l.busy_ps, phase::EGRESS, link, 0));
        }
    }

    /// A free port chooses a frame and starts to send it.
    // ENG-02, ENG-05
    #[inline]
    fn decide(&mut self, link: u32) {
        let now = self.core.now;
        let l = &self.core.links.hot[link as usize];
        let (node, port) = (l.node, l.port);
        let sink = &mut NodeSink {
            core: &mut self.core,
            node,
        };
        let sent = match (node as usize).checked_sub(self.nics.len()) {
            Some(switch) => self.switches[switch].transmit(now, port, &mut self.arena, sink),
            None => self.nics[node as usize].transmit(now, port, &mut self.arena, sink),
        };
        let Some(id) = sent else { return };
        self.put_on_link(link, id);
        if !self.elide || self.waiting(node, port) {
            self.arm(link);
        }
    }

    /// Counts a frame that a port begins to send, and schedules its arrival.
    #[inline]
    pub(super) fn put_on_link(&mut self, link: u32, id: PacketId) {
        let now = self.core.now;
        let packet = self.arena.hot(id);
        let size = u64::from(packet.size);
        let stats = &mut self.core.links.stats[link as usize];
        stats.packets += 1;
        stats.bytes += size;
        if packet.kind() == Kind::Data {
            stats.data_packets += 1;
            stats.data_bytes += size;
        }
        let l = &mut self.core.links.hot[link as usize];
        l.busy_ps = now + l.rate.serialisation_ps(size);
        let arrival = l.busy_ps + l.delay_ps;
        if C::IN_ORDER_OF_SCHEDULING {
            self.arm(link); // NS3-04: the end of sending is scheduled before the arrival.
        }
        self.core
            .calendar
            .push(Event::new(arrival, phase::ARRIVAL, link, id));
    }
}
