//! The window of a rank's operations: those that have been read and have not ended. // OPS-03

use crate::operation::{Operation, Work};
use kernel::Time;
use std::collections::VecDeque;

/// Index of an operation in `Window::slots`.
pub(super) type SlotNumber = u32;

const NONE: u32 = u32::MAX;

/// State of an operation in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Some dependencies of the operation are not met.
    Waiting,
    /// The operation waits for its resource or NIC.
    Ready,
    /// The operation has started.
    Started,
    /// A receive whose message has arrived, and which waits for its resource or NIC.
    Arrived,
    /// A receive whose message is being processed by the host.
    Processing,
}

/// An operation that has been read and has not ended. // OPS-03
#[derive(Debug)]
pub(super) struct Slot {
    pub work: Work,
    pub priority: u64,
    pub ready_ps: Time,
    pub start_ps: Time,
    /// For a receive: bytes of the matched message.
    pub arrived_bytes: u64,
    /// For a receive: rank and index of the send of the matched message.
    pub arrived_from: (u32, u32),
    pub arrived_part: u64,
    pub index: u32,
    /// Number of dependencies that are not met.
    pub pending: u32,
    /// Index of the operation of this rank for which this operation waited last (as a dependency,
    /// or for its resource), or `u32::MAX`.
    pub released_by: u32,
    /// Index of the collective (list of the workload) that contains the operation, or `u32::MAX`.
    part_of: u32,
    first_edge: u32,
    pub resource: Option<u16>,
    pub nic: u16,
    pub phase: Phase,
    pub holds_resource: bool,
    /// For a send: true if the host overhead has ended and the NIC has the message.
    pub handed_over: bool,
    /// For a send: true if the last ACK of the message has arrived.
    pub acknowledged: bool,
    pub has_message: bool,
    pub waits_for_trigger: bool,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: SlotNumber,
    after_start: bool,
    next: u32,
}

/// The operations of a rank that have been read and have not ended, accessed by index or slot.
#[derive(Debug, Default)]
pub(super) struct Window {
    slots: Vec<Option<Slot>>,
    free: Vec<SlotNumber>,
    /// Slot of each operation with an index of at least `base`; `NONE` for operations that have
    /// ended.
    of_index: VecDeque<u32>,
    base: u32,
    edges: Vec<Edge>,
    free_edge: Option<u32>,
    live: u32,
}

impl Window {
    /// Returns the index of the operation that will be added next.
    pub fn frontier(&self) -> u32 {
        self.base + self.of_index.len() as u32
    }

    pub fn live(&self) -> u32 {
        self.live
    }

    pub fn slot_of(&self, index: u32) -> Option<SlotNumber> {
        let at = index.checked_sub(self.base)?;
        let slot = *self.of_index.get(at as usize)?;
        (slot != NONE).then_some(slot)
    }

    pub fn get(&self, slot: SlotNumber) -> &Slot {
        self.slots[slot as usize].as_ref().expect("a live slot")
    }

    pub fn get_mut(&mut self, slot: SlotNumber) -> &mut Slot {
        self.slots[slot as usize].as_mut().expect("a live slot")
    }

    /// Adds the next operation of the rank. Dependencies that are not in the window count as met.
    // OPS-02
    pub fn add(&mut self, operation: Operation) -> SlotNumber {
        let index = self.frontier();
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        let mut pending = u32::from(operation.trigger.is_some());
        for (before, after_start) in operation
            .after_end
            .iter()
            .map(|&before| (before, false))
            .chain(operation.after_start.iter().map(|&before| (before, true)))
        {
            if let Some(slot) = self.slot_of(before)
                && !(after_start && self.get(slot).has_started())
            {
                self.add_edge(slot, number, after_start);
                pending += 1;
            }
        }
        self.slots[number as usize] = Some(Slot {
            work: operation.work,
            priority: operation.priority,
            ready_ps: 0,
            start_ps: 0,
            arrived_bytes: 0,
            arrived_from: (0, 0),
            arrived_part: 0,
            index,
            pending,
            released_by: NONE,
            part_of: operation.part_of.unwrap_or(NONE),
            first_edge: NONE,
            resource: operation.resource,
            nic: operation.nic,
            phase: Phase::Waiting,
            holds_resource: false,
            handed_over: false,
            acknowledged: false,
            has_message: false,
            waits_for_trigger: operation.trigger.is_some(),
        });
        self.of_index.push_back(number);
        self.live += 1;
        number
    }

    fn add_edge(&mut self, from: SlotNumber, to: SlotNumber, after_start: bool) {
        let next = self.get(from).first_edge;
        let edge = Edge {
            to,
            after_start,
            next,
        };
        let at = match self.free_edge {
            Some(at) => {
                let next = self.edges[at as usize].next;
                self.free_edge = (next != NONE).then_some(next);
                self.edges[at as usize] = edge;
                at
            }
            None => {
                self.edges.push(edge);
                self.edges.len() as u32 - 1
            }
        };
        self.get_mut(from).first_edge = at;
    }

    /// Removes the dependencies on the start of an operation, or all dependencies on it. Appends
    /// the operations without further dependencies to `ready`, in the order of their indices.
    pub fn release(
        &mut self,
        slot: SlotNumber,
        started_only: bool,
        ready: &mut VecDeque<SlotNumber>,
    ) {
        let index = self.get(slot).index;
        let mut at = std::mem::replace(&mut self.get_mut(slot).first_edge, NONE);
        let mut kept = Vec::new();
        let from = ready.len();
        while at != NONE {
            let edge = self.edges[at as usize];
            if started_only && !edge.after_start {
                kept.push(edge);
            } else {
                let next = self.get_mut(edge.to);
                next.pending -= 1;
                if next.pending == 0 {
                    next.released_by = index;
                    ready.push_back(edge.to);
                }
            }
            self.edges[at as usize].next = self.free_edge.unwrap_or(NONE);
            self.free_edge = Some(at);
            at = edge.next;
        }
        for edge in kept.iter().rev() {
            self.add_edge(slot, edge.to, edge.after_start);
        }
        ready.make_contiguous()[from..].reverse();
    }

    /// Removes an operation that has ended, and returns it.
    pub fn end(&mut self, slot: SlotNumber) -> Slot {
        let ended = self.slots[slot as usize].take().expect("a live slot");
        debug_assert_eq!(ended.first_edge, NONE, "its dependents are released");
        self.free.push(slot);
        self.of_index[(ended.index - self.base) as usize] = NONE;
        while self.of_index.front() == Some(&NONE) {
            self.of_index.pop_front();
            self.base += 1;
        }
        self.live -= 1;
        ended
    }

    /// Returns all operations in the window, in the order of their indices.
    pub fn all(&self) -> impl Iterator<Item = &Slot> {
        let slots = self.of_index.iter().filter(|&&slot| slot != NONE);
        slots.map(|&slot| self.get(slot))
    }

    /// Returns the indices of the operations in the window on which operation `index` depends.
    pub fn waits_for(&self, index: u32) -> Vec<u32> {
        let waits = |slot: &&Slot| {
            let mut at = slot.first_edge;
            while at != NONE {
                let edge = self.edges[at as usize];
                if self.get(edge.to).index == index {
                    return true;
                }
                at = edge.next;
            }
            false
        };
        self.all().filter(waits).map(|slot| slot.index).collect()
    }
}

impl Slot {
    pub fn has_started(&self) -> bool {
        !matches!(self.phase, Phase::Waiting | Phase::Ready)
    }

    pub fn released_by(&self) -> Option<u32> {
        (self.released_by != NONE).then_some(self.released_by)
    }

    pub fn part_of(&self) -> Option<u32> {
        (self.part_of != NONE).then_some(self.part_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OPS-03: an operation with an index entry and two dependencies takes less than 200 bytes.
    #[test]
    fn a_live_operation_is_small() {
        let bytes = size_of::<Option<Slot>>() + 4 + 2 * size_of::<Edge>();
        assert!(bytes < 200, "{bytes} bytes");
    }

    fn operation(after_end: &[u32], after_start: &[u32]) -> Operation {
        Operation {
            after_end: after_end.to_vec(),
            after_start: after_start.to_vec(),
            ..Operation::default()
        }
    }

    /// OPS-02: an operation becomes ready when its last dependency is met. Dependencies that ended
    /// before the operation is read count as met.
    #[test]
    fn dependencies_are_met_once() {
        let mut window = Window::default();
        let mut ready = VecDeque::new();
        let zero = window.add(operation(&[], &[]));
        let one = window.add(operation(&[0], &[]));
        let two = window.add(operation(&[0, 1], &[0]));
        assert_eq!([zero, one, two].map(|s| window.get(s).pending), [0, 1, 3]);
        window.get_mut(zero).phase = Phase::Started;
        window.release(zero, true, &mut ready);
        assert!(ready.is_empty());
        assert_eq!(window.get(two).pending, 2);
        let three = window.add(operation(&[], &[0]));
        assert_eq!(window.get(three).pending, 0);
        window.release(zero, false, &mut ready);
        assert_eq!(ready.pop_front(), Some(one));
        window.end(zero);
        assert_eq!(window.waits_for(2), [1]);
        let four = window.add(operation(&[0, 2], &[]));
        assert_eq!(window.get(four).pending, 1);
        assert_eq!(window.slot_of(0), None);
        assert_eq!((window.frontier(), window.live()), (5, 4));
    }

    /// OPS-03: memory depends on the number of operations in the window, not on the number of ended
    /// ones.
    #[test]
    fn slots_and_edges_are_used_again() {
        let mut window = Window::default();
        let mut ready = VecDeque::new();
        window.add(operation(&[], &[]));
        for index in 1..10_000 {
            window.add(operation(&[index - 1], &[index - 1]));
            let slot = window.slot_of(index - 1).unwrap();
            window.release(slot, false, &mut ready);
            assert_eq!(ready.len(), 1);
            ready.clear();
            window.end(slot);
        }
        assert!(window.slots.len() <= 2 && window.edges.len() <= 2 && window.of_index.len() <= 2);
    }
}
