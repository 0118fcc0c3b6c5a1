//! Queue pairs. Several messages can use one after the other; its congestion control goes on from message
//! to message.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::flow::Flow;
use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::mixed::MixedMap;
use crate::units::Time;

/// Why a message that has not begun does not send, for reports.
const BEHIND: &str = "waits for an earlier message of its queue pair";

/// What the queue pair of a flow has beside the flow itself. Bytes are payload.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Of its other messages, what is in flight.
    pub in_flight: u64,
    /// Bytes of all messages before this one.
    pub before: u64,
    /// Bytes of later messages that have been sent.
    pub after: u64,
    /// Highest acknowledged byte of all messages.
    pub acknowledged: u64,
}

/// The queue pairs of a NIC. Where none is shared, each flow has its own, with the index of its slot.
#[derive(Debug)]
pub(super) struct Pairs {
    shared: Option<Box<Shared>>,
}

impl Pairs {
    /// Without flows. `shared`: several messages can have the same queue pair.
    pub fn new(shared: bool) -> Self {
        Self {
            shared: shared.then(Box::default),
        }
    }

    /// True if several messages can have the same queue pair.
    #[inline]
    pub const fn are_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// True if the flow can begin now. Otherwise it is kept until [`Self::next`].
    pub fn admit(&mut self, flows: &[Flow], flow: &FlowStart, pair: Option<u32>) -> bool {
        (self.shared.as_mut()).is_none_or(|shared| shared.admit(flows, flow, pair))
    }

    /// A flow begins in this slot, on the queue pair `pair`, or on its own. Returns true if the queue pair
    /// is new.
    pub fn begin(&mut self, flow: &mut Flow, slot: FlowSlot, pair: Option<u32>) -> bool {
        (self.shared.as_mut()).is_none_or(|shared| shared.begin(flow, slot, pair))
    }

    /// Index of the queue pair of a slot, and of its control.
    #[inline]
    pub fn place(&self, slot: FlowSlot) -> usize {
        (self.shared.as_ref()).map_or(slot.index(), |shared| shared.place(slot))
    }

    /// Index of the queue pair of a slot, and what it has beside the flow in the slot.
    #[inline(always)]
    pub fn find(&self, flows: &[Flow], slot: FlowSlot, mtu: u16) -> (usize, Beside) {
        match &self.shared {
            None => (slot.index(), Beside::default()),
            Some(shared) => (shared.place(slot), shared.beside(flows, slot, mtu)),
        }
    }

    /// All bytes of the queue pair below `seq` are acknowledged.
    #[inline]
    pub fn acknowledged(&mut self, slot: FlowSlot, seq: u64) {
        if let Some(shared) = &mut self.shared {
            shared.acknowledged(slot, seq);
        }
    }

    /// The queue pair may send again at this time.
    #[inline]
    pub fn sent(&mut self, slot: FlowSlot, next_ps: Time) {
        if let Some(shared) = &mut self.shared {
            shared.of_mut(slot).next_ps = next_ps;
        }
    }

    /// The time at which the other messages of the queue pair let it send.
    #[inline]
    pub fn next_ps(&self, slot: FlowSlot) -> Time {
        (self.shared.as_ref()).map_or(0, |shared| shared.of(slot).next_ps)
    }

    /// The nth of the flows that have begun on the queue pair of a slot.
    #[inline]
    pub fn nth(&self, slot: FlowSlot, nth: usize) -> Option<FlowSlot> {
        match &self.shared {
            None => (nth == 0).then_some(slot),
            Some(shared) => shared.of(slot).open.get(nth).map(|open| open.0),
        }
    }

    /// The flow in a slot has sent everything, or has finished. Returns the flow that can begin now, and the
    /// number of its queue pair.
    #[inline]
    pub fn next(&mut self, flows: &[Flow], slot: FlowSlot) -> Option<(FlowStart, u32)> {
        self.shared.as_mut()?.next(flows, slot)
    }

    /// The flow in a slot has finished.
    #[inline]
    pub fn end(&mut self, slot: FlowSlot) {
        if let Some(shared) = &mut self.shared {
            shared.end(slot);
        }
    }

    /// Calls `visit` with every flow that has not begun.
    pub fn for_each_waiting(&self, mut visit: impl FnMut(&FlowStart, &'static str)) {
        let pairs = self.shared.iter().flat_map(|shared| &shared.pairs);
        for flow in pairs.flat_map(|pair| &pair.waiting) {
            visit(flow, BEHIND);
        }
    }
}

/// A queue pair. Its control is in the place of the same number.
#[derive(Debug, Default)]
struct Pair {
    /// Messages that have begun and not finished, in this order: slots, and the bytes before them.
    open: Vec<(FlowSlot, u64)>,
    /// Messages that have not begun.
    waiting: VecDeque<FlowStart>,
    /// Bytes of all messages that have begun.
    bytes: u64,
    /// Highest acknowledged byte.
    acknowledged: u64,
    /// When it may send next.
    next_ps: Time,
    /// Its number outside; `None`: it is one flow's own, and ends with it.
    number: Option<u32>,
}

impl Pair {
    /// The message that began last has sent everything.
    fn is_free(&self, flows: &[Flow]) -> bool {
        let last = self.open.last();
        last.is_none_or(|open| flows[open.0.index()].has_sent_all())
    }
}

/// Queue pairs that messages share.
#[derive(Debug, Default)]
struct Shared {
    pairs: Vec<Pair>,
    /// The queue pair of each slot.
    of_slot: Vec<u32>,
    /// By their numbers outside.
    known: MixedMap<u32, u32>,
    /// Places of those that have ended.
    free: Vec<u32>,
}

impl Shared {
    fn of(&self, slot: FlowSlot) -> &Pair {
        &self.pairs[self.place(slot)]
    }

    fn of_mut(&mut self, slot: FlowSlot) -> &mut Pair {
        &mut self.pairs[self.of_slot[slot.index()] as usize]
    }

    /// The queue pair with this number, or a new one; and whether it is new.
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

    fn begin(&mut self, flow: &mut Flow, slot: FlowSlot, pair: Option<u32>) -> bool {
        let (at, new) = self.of_number(pair);
        if self.of_slot.len() <= slot.index() {
            self.of_slot.resize(slot.index() + 1, at);
        }
        self.of_slot[slot.index()] = at;
        let pair = &mut self.pairs[at as usize];
        pair.open.push((slot, pair.bytes));
        pair.bytes += flow.start.bytes;
        flow.next_ps = flow.next_ps.max(pair.next_ps);
        new
    }

    #[inline]
    fn place(&self, slot: FlowSlot) -> usize {
        self.of_slot[slot.index()] as usize
    }

    // NIC-51, NIC-52
    fn beside(&self, flows: &[Flow], slot: FlowSlot, mtu: u16) -> Beside {
        let mut beside = Beside {
            acknowledged: self.of(slot).acknowledged,
            ..Beside::default()
        };
        let mut later = false;
        for &(other, before) in &self.of(slot).open {
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

    fn acknowledged(&mut self, slot: FlowSlot, seq: u64) {
        let pair = self.of_mut(slot);
        pair.acknowledged = pair.acknowledged.max(seq);
    }

    fn next(&mut self, flows: &[Flow], slot: FlowSlot) -> Option<(FlowStart, u32)> {
        let pair = self.of_mut(slot);
        let number = pair.number?;
        let next = pair.is_free(flows).then(|| pair.waiting.pop_front());
        Some((next.flatten()?, number))
    }

    fn end(&mut self, slot: FlowSlot) {
        let at = self.of_slot[slot.index()];
        let pair = &mut self.pairs[at as usize];
        pair.open.retain(|open| open.0 != slot);
        if pair.number.is_none() {
            self.free.push(at);
        }
    }
}
