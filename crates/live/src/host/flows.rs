//! The flows of a host: those to come, those under way, and what became of each.

use dataplane::ids::FlowSlot;
use dataplane::nic::{FlowEnd, FlowStart};
use dataplane::packet::{Cold, Packet};
use dataplane::units::Time;
use traffic::Flow;

/// A flow that has started.
#[derive(Clone, Copy, Debug)]
pub struct OwnFlow {
    /// As the traffic has it.
    pub flow: Flow,
    /// Endpoint of its receiver.
    pub to: u32,
    /// How long it takes alone in the network until the last acknowledgement, ps.
    pub ideal_ps: Time,
    /// Index of the flow at the NIC, known after the first packet was sent.
    slot: Option<FlowSlot>,
    /// Packets that have left.
    sent: u32,
    /// When the last acknowledgement came.
    pub acked_ps: Option<Time>,
    /// Data packets sent again.
    pub retransmitted: u32,
}

impl OwnFlow {
    /// From its start to its last acknowledgement, ps.
    #[must_use]
    pub fn fct_ps(&self) -> Option<Time> {
        Some(self.acked_ps?.saturating_sub(self.flow.start_ps))
    }
}

/// Numbers of a host's flows on links, and what they stand for.
// HST-04
#[derive(Clone, Copy, Debug)]
struct Numbers {
    /// Bits that are the same for all of them.
    high: u32,
    mask: u32,
    first: u32,
}

impl Numbers {
    /// Of the host with this endpoint, among this number of endpoints; `first` tells this start of the program
    /// from others.
    fn new(endpoint: u32, endpoints: u32, first: u32) -> Self {
        // One value more than there are endpoints, so that no flow has the number that means none.
        let bits = endpoints.ilog2() + 1;
        let mask = u32::MAX.checked_shr(bits).unwrap_or(0);
        Self {
            high: endpoint.checked_shl(32 - bits).unwrap_or(0),
            mask,
            first,
        }
    }

    const fn of(&self, nth: u32) -> u32 {
        self.high | (self.first.wrapping_add(nth) & self.mask)
    }

    /// Which flow of this host has a number, if one may.
    const fn nth(&self, number: u32) -> Option<u32> {
        if number & !self.mask != self.high {
            return None;
        }
        Some(number.wrapping_sub(self.first) & self.mask)
    }
}

/// The flows of one host.
pub struct Flows {
    to_come: Box<dyn Iterator<Item = Flow> + Send>,
    next: Option<Flow>,
    numbers: Numbers,
    begun: Vec<OwnFlow>,
    finished: u32,
}

impl std::fmt::Debug for Flows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Flows({} of {} finished)",
            self.finished,
            self.begun.len()
        )
    }
}

impl Flows {
    /// Those of `host`, one of whose endpoints is `endpoint`, among those of all hosts.
    pub fn new(
        feed: Box<dyn Iterator<Item = Flow> + Send>,
        host: u32,
        (endpoint, endpoints): (u32, u32),
        first: u32,
    ) -> Self {
        let mut to_come = feed.filter(move |flow| flow.src == host);
        Self {
            next: to_come.next(),
            to_come: Box::new(to_come),
            numbers: Numbers::new(endpoint, endpoints, first),
            begun: Vec::new(),
            finished: 0,
        }
    }

    /// When the next begins.
    #[must_use]
    pub fn next_ps(&self) -> Option<Time> {
        self.next.map(|flow| flow.start_ps)
    }

    /// The next begins: the flow, and its place among those of this host.
    pub fn take_next(&mut self) -> Option<(Flow, u32)> {
        let nth = self.begun.len() as u32;
        let flow = std::mem::replace(&mut self.next, self.to_come.next())?;
        // HST-04: with all numbers in use nothing more begins.
        self.next = self.next.filter(|_| nth < self.numbers.mask);
        Some((flow, nth))
    }

    /// It has begun. Gives it its number on links.
    pub fn begin(&mut self, flow: Flow, start: &mut FlowStart, ideal_ps: Time) {
        start.flow = self.numbers.of(self.begun.len() as u32);
        self.begun.push(OwnFlow {
            flow,
            to: start.dst,
            ideal_ps,
            slot: None,
            sent: 0,
            acked_ps: None,
            retransmitted: 0,
        });
    }

    /// A packet of one leaves.
    pub fn sent(&mut self, packet: &Packet, cold: &Cold) {
        let nth = self.numbers.nth(packet.flow);
        if let Some(flow) = nth.and_then(|nth| self.begun.get_mut(nth as usize)) {
            flow.slot = Some(cold.slot);
            flow.retransmitted += u32::from(packet.psn < flow.sent);
            flow.sent = flow.sent.max(packet.psn.saturating_add(1));
        }
    }

    /// Whether an answer can be one to what has left: of a flow that is under way, from its receiver, and to
    /// nothing that has not been sent. // HST-11
    #[must_use]
    pub fn expects(&self, now: Time, packet: &Packet, cold: &Cold) -> bool {
        let nth = self.numbers.nth(packet.flow);
        let Some(flow) = nth.and_then(|nth| self.begun.get(nth as usize)) else {
            return false;
        };
        let waited = now.checked_sub(cold.sent_ps);
        flow.slot == Some(cold.slot)
            && flow.to == cold.src
            && packet.psn <= flow.sent
            && waited.is_some_and(|waited| cold.local_host_ps <= waited)
    }

    /// One has ended.
    pub fn end(&mut self, end: &FlowEnd) {
        let flow = &mut self.begun[end.cookie as usize];
        flow.acked_ps = Some(end.acked_ps);
        self.finished += 1;
    }

    /// Those that have begun, in the order of their starts.
    #[must_use]
    pub fn begun(&self) -> &[OwnFlow] {
        &self.begun
    }

    /// How many of them have finished.
    #[must_use]
    pub const fn finished(&self) -> u32 {
        self.finished
    }

    /// Nothing is left to begin or to finish.
    #[must_use]
    pub fn are_done(&self) -> bool {
        self.finished as usize == self.begun.len() && self.next_ps().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // HST-04
    #[test]
    fn numbers_of_hosts_and_starts_differ_and_none_means_no_flow() {
        for endpoints in [1, 2, 3, 4, 100, 1 << 24] {
            let last = endpoints - 1;
            let numbers = Numbers::new(last, endpoints, u32::MAX - 1);
            for nth in [0, 1, 2, numbers.mask] {
                let number = numbers.of(nth);
                assert_ne!(number, u32::MAX, "{endpoints} endpoints, flow {nth}");
                assert_eq!(numbers.nth(number), Some(nth));
            }
            if endpoints > 1 {
                let other = Numbers::new(0, endpoints, 7);
                assert_eq!(numbers.nth(other.of(0)), None);
            }
        }
        let (one, two) = (Numbers::new(0, 2, 5), Numbers::new(0, 2, 5000));
        assert_ne!(one.of(0), two.of(0), "a host that starts anew");
    }
}
