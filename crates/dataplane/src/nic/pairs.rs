//! Queue pairs that several messages use one after the other, whose control goes on from message to
//! message.

use std::collections::VecDeque;
use std::fmt::Debug;

use super::egress::Flow;
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

/// Which flows of a NIC share a queue pair.
pub(super) trait Pairing: Debug {
    /// Some may. Where none does, nothing of this is in the code of a NIC.
    const SHARED: bool;

    /// Without flows.
    fn new() -> Self;

    /// The flow can begin now; else it is kept until [`Self::next`].
    fn admit(&mut self, flows: &[Flow], flow: &FlowStart, pair: Option<u32>) -> bool;

    /// The flow has this slot; `pair` is its queue pair, `None` one of its own. Returns whether its
    /// control is new.
    fn begin(&mut self, flow: &mut Flow, slot: FlowSlot, pair: Option<u32>) -> bool;

    /// Where the control of the flow in a slot is.
    fn place(&self, slot: FlowSlot) -> usize;

    /// What else its queue pair has.
    fn beside(&self, flows: &[Flow], slot: FlowSlot, mtu: u16) -> Beside;

    /// All bytes of the queue pair below `seq` are acknowledged.
    fn acknowledged(&mut self, slot: FlowSlot, seq: u64);

    /// Notes when the queue pair may send next.
    fn sent(&mut self, slot: FlowSlot, next_ps: Time);

    /// When it may.
    fn next_ps(&self, slot: FlowSlot) -> Time;

    /// The nth of the flows under way on the queue pair of a slot.
    fn nth(&self, slot: FlowSlot, nth: usize) -> Option<FlowSlot>;

    /// The flow in a slot has sent everything, or finished: the one that can begin now, and its queue
    /// pair.
    fn next(&mut self, flows: &[Flow], slot: FlowSlot) -> Option<(FlowStart, u32)>;

    /// The flow in a slot has finished.
    fn end(&mut self, slot: FlowSlot);

    /// Calls `visit` with every flow that has not begun.
    fn for_each_waiting(&self, visit: impl FnMut(&FlowStart, &'static str));
}

/// Each flow has a queue pair of its own.
#[derive(Debug)]
pub(super) struct Alone;

impl Pairing for Alone {
    const SHARED: bool = false;

    fn new() -> Self {
        Self
    }

    #[inline]
    fn admit(&mut self, _: &[Flow], _: &FlowStart, _: Option<u32>) -> bool {
        true
    }

    #[inline]
    fn begin(&mut self, _: &mut Flow, _: FlowSlot, _: Option<u32>) -> bool {
        true
    }

    #[inline]
    fn place(&self, slot: FlowSlot) -> usize {
        slot.index()
    }

    #[inline]
    fn beside(&self, _: &[Flow], _: FlowSlot, _: u16) -> Beside {
        Beside::default()
    }

    #[inline]
    fn acknowledged(&mut self, _: FlowSlot, _: u64) {}

    #[inline]
    fn sent(&mut self, _: FlowSlot, _: Time) {}

    #[inline]
    fn next_ps(&self, _: FlowSlot) -> Time {
        0
    }

    #[inline]
    fn nth(&self, slot: FlowSlot, nth: usize) -> Option<FlowSlot> {
        (nth == 0).then_some(slot)
    }

    #[inline]
    fn next(&mut self, _: &[Flow], _: FlowSlot) -> Option<(FlowStart, u32)> {
        None
    }

    #[inline]
    fn end(&mut self, _: FlowSlot) {}

    fn for_each_waiting(&self, _: impl FnMut(&FlowStart, &'static str)) {}
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

/// The queue pairs of a NIC.
#[derive(Debug)]
pub(super) struct Shared {
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
    fn find(&mut self, number: Option<u32>) -> (u32, bool) {
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
}

impl Pairing for Shared {
    const SHARED: bool = true;

    fn new() -> Self {
        Self {
            pairs: Vec::new(),
            of_slot: Vec::new(),
            known: MixedMap::default(),
            free: Vec::new(),
        }
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
        let (at, new) = self.find(pair);
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

    fn sent(&mut self, slot: FlowSlot, next_ps: Time) {
        self.of_mut(slot).next_ps = next_ps;
    }

    fn next_ps(&self, slot: FlowSlot) -> Time {
        self.of(slot).next_ps
    }

    fn nth(&self, slot: FlowSlot, nth: usize) -> Option<FlowSlot> {
        self.of(slot).open.get(nth).map(|open| open.0)
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

    fn for_each_waiting(&self, mut visit: impl FnMut(&FlowStart, &'static str)) {
        for flow in self.pairs.iter().flat_map(|pair| &pair.waiting) {
            visit(flow, BEHIND);
        }
    }
}
