//! The flows of a host: pending, active and finished ones.

use dataplane::ids::FlowSlot;
use dataplane::nic::{FlowEnd, FlowStart};
use dataplane::packet::{Cold, Packet};
use dataplane::units::Time;
use traffic::Flow;

/// A flow that this host has started.
#[derive(Clone, Copy, Debug)]
pub struct OwnFlow {
    /// Sizes, hosts and start time of the flow in the scenario.
    pub flow: Flow,
    /// Endpoint (port) of the receiving host.
    pub to: u32,
    /// Ideal FCT: time from the start to the last acknowledgement, alone in the network, ps.
    pub ideal_ps: Time,
    /// Slot of the flow in the NIC. It is known after the first packet was sent.
    slot: Option<FlowSlot>,
    /// Number of different packets that were sent.
    sent: u32,
    /// Time of the last acknowledgement, ps.
    pub acked_ps: Option<Time>,
    /// Number of retransmitted data packets.
    pub retransmitted: u32,
}

impl OwnFlow {
    /// FCT: time from the start to the last acknowledgement, ps. `None` for an unfinished flow.
    #[must_use]
    pub fn fct_ps(&self) -> Option<Time> {
        Some(self.acked_ps?.saturating_sub(self.flow.start_ps))
    }
}

/// Converts between the index of a flow at its host and the flow ID in frames.
// HST-04: flow IDs differ between hosts and between starts of the program
#[derive(Clone, Copy, Debug)]
struct Numbers {
    /// The upper bits of flow IDs, which identify the host.
    high: u32,
    mask: u32,
    first: u32,
}

impl Numbers {
    /// Creates the flow IDs of the host with this endpoint, in a network of `endpoints` endpoints.
    /// `first` must differ between two starts of the program.
    fn new(endpoint: u32, endpoints: u32, first: u32) -> Self {
        // One more value than the number of endpoints is reserved, so that no flow has the ID
        // `u32::MAX`.
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

    /// Returns the index of the flow with this flow ID, or `None` if the ID belongs to another
    /// host.
    const fn nth(&self, number: u32) -> Option<u32> {
        if number & !self.mask != self.high {
            return None;
        }
        Some(number.wrapping_sub(self.first) & self.mask)
    }
}

/// The flows of one host.
pub struct Flows {
    pending: Box<dyn Iterator<Item = Flow> + Send>,
    next: Option<Flow>,
    numbers: Numbers,
    started: Vec<OwnFlow>,
    finished: u32,
}

impl std::fmt::Debug for Flows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Flows({} of {} finished)",
            self.finished,
            self.started.len()
        )
    }
}

impl Flows {
    /// Selects the flows of `host` from the flows of all hosts. `endpoint` is one of the endpoints
    /// of `host`.
    pub fn new(
        feed: Box<dyn Iterator<Item = Flow> + Send>,
        host: u32,
        (endpoint, endpoints): (u32, u32),
        first: u32,
    ) -> Self {
        let mut pending = feed.filter(move |flow| flow.src == host);
        Self {
            next: pending.next(),
            pending: Box::new(pending),
            numbers: Numbers::new(endpoint, endpoints, first),
            started: Vec::new(),
            finished: 0,
        }
    }

    /// Start time of the next pending flow, ps.
    #[must_use]
    pub fn next_ps(&self) -> Option<Time> {
        self.next.map(|flow| flow.start_ps)
    }

    /// Removes the next pending flow. Returns it with its index among the flows of this host.
    pub fn take_next(&mut self) -> Option<(Flow, u32)> {
        let nth = self.started.len() as u32;
        let flow = std::mem::replace(&mut self.next, self.pending.next())?;
        // HST-04: no further flow starts if all flow IDs are in use
        self.next = self.next.filter(|_| nth < self.numbers.mask);
        Some((flow, nth))
    }

    /// Records that a flow starts, and sets its flow ID in `start`.
    pub fn begin(&mut self, flow: Flow, start: &mut FlowStart, ideal_ps: Time) {
        start.flow = self.numbers.of(self.started.len() as u32);
        self.started.push(OwnFlow {
            flow,
            to: start.dst,
            ideal_ps,
            slot: None,
            sent: 0,
            acked_ps: None,
            retransmitted: 0,
        });
    }

    /// Records that a data packet was sent.
    pub fn sent(&mut self, packet: &Packet, cold: &Cold) {
        let nth = self.numbers.nth(packet.flow);
        if let Some(flow) = nth.and_then(|nth| self.started.get_mut(nth as usize)) {
            flow.slot = Some(cold.slot);
            flow.retransmitted += u32::from(packet.psn < flow.sent);
            flow.sent = flow.sent.max(packet.psn.saturating_add(1));
        }
    }

    /// True if a reply can be an answer to a packet of this host. The reply must belong to an
    /// active flow, come from the receiver of the flow, and not refer to an unsent packet.
    // HST-11
    #[must_use]
    pub fn expects(&self, now: Time, packet: &Packet, cold: &Cold) -> bool {
        let nth = self.numbers.nth(packet.flow);
        let Some(flow) = nth.and_then(|nth| self.started.get(nth as usize)) else {
            return false;
        };
        let waited = now.checked_sub(cold.sent_ps);
        flow.slot == Some(cold.slot)
            && flow.to == cold.src
            && packet.psn <= flow.sent
            && waited.is_some_and(|waited| cold.local_host_ps <= waited)
    }

    /// Records that a flow has finished.
    pub fn end(&mut self, end: &FlowEnd) {
        let flow = &mut self.started[end.cookie as usize];
        flow.acked_ps = Some(end.acked_ps);
        self.finished += 1;
    }

    /// Flows that have started, in the order of their starts.
    #[must_use]
    pub fn started(&self) -> &[OwnFlow] {
        &self.started
    }

    /// Number of flows that have finished.
    #[must_use]
    pub const fn finished(&self) -> u32 {
        self.finished
    }

    /// True if no flow is pending or active.
    #[must_use]
    pub fn are_done(&self) -> bool {
        self.finished as usize == self.started.len() && self.next_ps().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // HST-04: flow IDs
    #[test]
    fn numbers_of_hosts_and_starts_differ_and_the_reserved_number_is_unused() {
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
        assert_ne!(one.of(0), two.of(0), "a host that restarts");
    }
}
