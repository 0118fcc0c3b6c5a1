//! Queue pairs. Several messages can use a queue pair one after the other, and share its congestion
//! control.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::flow::Flow;
use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::mixed::MixedMap;
use crate::units::Time;

/// Text for reports: the reason why a message that has not begun sends no packet.
const BEHIND: &str = "waits for an earlier message of its queue pair";

/// State of the messages of a queue pair other than a given one. All bytes are payload.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Bytes in flight of the other messages.
    pub in_flight: u64,
    /// Total size of all messages before the given one.
    pub before: u64,
    /// Bytes sent of messages after the given one.
    pub after: u64,
    /// Highest acknowledged byte of the queue pair, counted over all its messages.
    pub acknowledged: u64,
}

/// The queue pairs of a NIC. [`Flow::pair`] is the index of the queue pair of a flow. If queue
/// pairs are not shared, each flow has its own.
#[derive(Debug)]
pub(super) struct Pairs {
    shared: Option<Box<Shared>>,
}

impl Pairs {
    /// Creates an empty set of queue pairs. `shared` is true if messages can share a queue pair.
    pub fn new(shared: bool) -> Self {
        Self {
            shared: shared.then(Box::default),
        }
    }

    /// Returns true if several messages can share a queue pair.
    #[inline]
    pub const fn are_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns true if the flow can begin now. Otherwise stores it until [`Self::next`] returns it.
    pub fn admit(&mut self, flows: &[Flow], flow: &FlowStart, pair: Option<u32>) -> bool {
        (self.shared.as_mut()).is_none_or(|shared| shared.admit(flows, flow, pair))
    }

    /// Starts a flow in `slot`, on the queue pair with the ID `number` or on its own queue pair.
    /// Returns true if the queue pair is new.
    pub fn begin(&mut self, flow: &mut Flow, slot: FlowSlot, number: Option<u32>) -> bool {
        flow.pair = slot.bits();
        (self.shared.as_mut()).is_none_or(|shared| shared.begin(flow, slot, number))
    }

    /// Returns the state of the other messages of the queue pair of the flow in `slot`.
    #[inline(always)]
    pub fn beside(&self, flows: &[Flow], slot: FlowSlot, mtu: u16) -> Beside {
        match &self.shared {
            None => Beside::default(),
            Some(shared) => shared.beside(flows, slot, mtu),
        }
    }

    /// Records that all bytes of the queue pair of a flow below `seq` are acknowledged.
    #[inline]
    pub fn acknowledged(&mut self, flow: &Flow, seq: u64) {
        if let Some(shared) = &mut self.shared {
            let pair = shared.of_mut(flow);
            pair.acknowledged = pair.acknowledged.max(seq);
        }
    }

    /// Sets the time from which the queue pair of a flow may send again.
    #[inline]
    pub fn sent(&mut self, flow: &Flow, next_ps: Time) {
        if let Some(shared) = &mut self.shared {
            shared.of_mut(flow).next_ps = next_ps;
        }
    }

    /// Returns the earliest time at which the pacing rate of a shared queue pair lets it send again
    /// after its last packet. Returns 0 if queue pairs are not shared.
    #[inline]
    pub fn next_ps(&self, flow: &Flow) -> Time {
        (self.shared.as_ref()).map_or(0, |shared| shared.of(flow).next_ps)
    }

    /// Returns the slot of the `nth` unfinished flow on the shared queue pair of a flow, if any.
    #[inline]
    pub fn nth(&self, flow: &Flow, nth: usize) -> Option<FlowSlot> {
        let open = &self.shared.as_ref()?.of(flow).open;
        open.get(nth).map(|open| open.0)
    }

    /// Returns the flow that can begin after the flow in `slot` has sent all packets or has
    /// finished, and the ID of their queue pair.
    #[inline]
    pub fn next(&mut self, flows: &[Flow], slot: FlowSlot) -> Option<(FlowStart, u32)> {
        self.shared.as_mut()?.next(flows, slot)
    }

    /// Removes a flow that has finished from its queue pair.
    #[inline]
    pub fn end(&mut self, flow: &Flow, slot: FlowSlot) {
        if let Some(shared) = &mut self.shared {
            shared.end(flow, slot);
        }
    }

    /// Calls `visit` with every flow that has not begun, and the reason why it waits.
    pub fn for_each_waiting(&self, mut visit: impl FnMut(&FlowStart, &'static str)) {
        let pairs = self.shared.iter().flat_map(|shared| &shared.pairs);
        for flow in pairs.flat_map(|pair| &pair.waiting) {
            visit(flow, BEHIND);
        }
    }
}

/// A queue pair. Its congestion control has the same index.
#[derive(Debug, Default)]
struct Pair {
    /// Messages that have begun and not finished, in the order of their start: the slot, and the
    /// total size of all earlier messages.
    open: Vec<(FlowSlot, u64)>,
    /// Messages that have not begun.
    waiting: VecDeque<FlowStart>,
    /// Total size of all messages that have begun.
    bytes: u64,
    /// Highest acknowledged byte, counted over all messages.
    acknowledged: u64,
    /// Earliest start of the next packet of the queue pair.
    next_ps: Time,
    /// ID of the queue pair in the workload. `None`: it belongs to one flow, and ends with it.
    number: Option<u32>,
}

impl Pair {
    /// Returns true if the message that began last has sent all its packets.
    fn is_free(&self, flows: &[Flow]) -> bool {
        let last = self.open.last();
        last.is_none_or(|open| flows[open.0.index()].has_sent_all())
    }
}

/// Queue pairs that messages share.
#[derive(Debug, Default)]
struct Shared {
    pairs: Vec<Pair>,
    /// Index in `pairs` of each queue pair, by its ID in the workload.
    known: MixedMap<u32, u32>,
    /// Indices in `pairs` of queue pairs that have ended.
    free: Vec<u32>,
}

impl Shared {
    fn of(&self, flow: &Flow) -> &Pair {
        &self.pairs[flow.pair as usize]
    }

    fn of_mut(&mut self, flow: &Flow) -> &mut Pair {
        &mut self.pairs[flow.pair as usize]
    }

    /// Returns the index of the queue pair with this ID, and true if it was created now.
    fn of_number(&mut self, number: Option<u32>) -> (u32, bool) {
        if let Some(&known) = number.and_then(|number| self.known.get(&number)) {
            return (known, false);
        }
        let pair = Pair {
            number,
            ..Pair::default()
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.pairs[at as usize] = pair;
                at
            }
            None => {
                self.pairs.push(pair);
                self.pairs.len() as u32 - 1
            }
        };
        if let Some(number) = number {
            self.known.insert(number, at);
        }
        (at, true)
    }

    // NIC-50
    fn admit(&mut self, flows: &[Flow], flow: &FlowStart, pair: Option<u32>) -> bool {
        let Some(&at) = pair.and_then(|pair| self.known.get(&pair)) else {
            return true;
        };
        let pair = &mut self.pairs[at as usize];
        let waits = !pair.waiting.is_empty() || !pair.is_free(flows);
        if waits {
            pair.waiting.push_back(*flow);
        }
        !waits
    }

    fn begin(&mut self, flow: &mut Flow, slot: FlowSlot, number: Option<u32>) -> bool {
        let (at, new) = self.of_number(number);
        flow.pair = at;
        let pair = &mut self.pairs[at as usize];
        pair.open.push((slot, pair.bytes));
        pair.bytes += flow.start.bytes;
        flow.next_ps = flow.next_ps.max(pair.next_ps);
        new
    }

    // NIC-51, NIC-52
    fn beside(&self, flows: &[Flow], slot: FlowSlot, mtu: u16) -> Beside {
        let pair = self.of(&flows[slot.index()]);
        let mut beside = Beside {
            acknowledged: pair.acknowledged,
            ..Beside::default()
        };
        let mut later = false;
        for &(other, before) in &pair.open {
            if other == slot {
                beside.before = before;
                later = true;
                continue;
            }
            let flow = &flows[other.index()];
            let sent = flow.start.bytes_below(flow.next, mtu);
            beside.in_flight += sent - flow.start.bytes_below(flow.acked, mtu);
            beside.after += if later { sent } else { 0 };
        }
        beside
    }

    fn next(&mut self, flows: &[Flow], slot: FlowSlot) -> Option<(FlowStart, u32)> {
        let pair = self.of_mut(&flows[slot.index()]);
        let number = pair.number?;
        let next = pair.is_free(flows).then(|| pair.waiting.pop_front());
        Some((next.flatten()?, number))
    }

    fn end(&mut self, flow: &Flow, slot: FlowSlot) {
        let pair = self.of_mut(flow);
        pair.open.retain(|open| open.0 != slot);
        if pair.number.is_none() {
            self.free.push(flow.pair);
        }
    }
}
