//! Resources of a rank, and the order in which operations occupy them.

use super::options::{Options, ReadyOrder};
use super::window::{Slot, SlotNumber};
use kernel::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Sort key of a ready operation: the operation with the smallest key is first. // OPS-23
pub(super) type Turn = (u64, u64, SlotNumber);

/// Assigns sort keys to ready operations.
#[derive(Debug)]
pub(super) struct Turns {
    order: ReadyOrder,
    given: u64,
}

impl Turns {
    pub fn new(order: ReadyOrder) -> Self {
        Self { order, given: 0 }
    }

    /// Returns the sort key of an operation that becomes ready now. // OPS-23
    pub fn give(&mut self, slot: SlotNumber, operation: &Slot) -> Turn {
        self.given += 1;
        match self.order {
            ReadyOrder::Index => (operation.priority, u64::from(operation.index), slot),
            ReadyOrder::FirstReady => (self.given, 0, slot),
            ReadyOrder::LastReady => (u64::MAX - self.given, 0, slot),
        }
    }
}

/// A resource of a rank. One operation at a time can occupy it. // OPS-20
#[derive(Debug, Default)]
pub(super) struct Resource {
    held: bool,
    /// Index of the operation that occupies the resource or occupied it last. `None`: it was never
    /// used.
    last: Option<u32>,
    ready: BTreeSet<Turn>,
}

/// The resources of a rank.
#[derive(Debug, Default)]
pub(super) struct Resources {
    all: BTreeMap<u16, Resource>,
    /// Resources that became free or got a waiting operation since the last call of `next`.
    changed: BTreeSet<u16>,
}

impl Resources {
    pub fn enter(&mut self, resource: u16, turn: Turn) {
        self.all.entry(resource).or_default().ready.insert(turn);
        self.changed.insert(resource);
    }

    /// Frees a resource.
    pub fn free(&mut self, resource: u16) {
        let state = self.all.entry(resource).or_default();
        debug_assert!(state.held, "an operation had it");
        state.held = false;
        self.changed.insert(resource);
    }

    pub fn is_held(&self, resource: u16) -> bool {
        self.all.get(&resource).is_some_and(|state| state.held)
    }

    /// Returns the index of the operation that occupies a resource. `None`: the resource is free.
    pub fn holder(&self, resource: u16) -> Option<u32> {
        let state = self.all.get(&resource)?;
        state.held.then_some(state.last).flatten()
    }

    /// Removes the first waiting operation whose resource is free, and returns its sort key.
    pub fn next(&mut self) -> Option<Turn> {
        while let Some(&number) = self.changed.first() {
            let state = self.all.get_mut(&number).expect("it has changed");
            if !state.held
                && let Some(turn) = state.ready.pop_first()
            {
                return Some(turn);
            }
            self.changed.remove(&number);
        }
        None
    }

    /// Occupies a free resource. Returns the index of the operation that used it before.
    pub fn take(&mut self, resource: u16, index: u32) -> Option<u32> {
        let state = self.all.entry(resource).or_default();
        debug_assert!(!state.held, "it is free");
        state.held = true;
        state.last.replace(index)
    }
}

/// One direction of a NIC, which carries one message at a time. // OPS-21
#[derive(Debug, Default)]
pub(super) struct Direction {
    pub free_at: Time,
    /// Operations that wait only for this direction of the NIC.
    pub parked: BTreeSet<Turn>,
}

/// The NICs of a rank. They cost no time if the network model simulates NICs. // OPS-21
#[derive(Debug)]
pub(super) struct Nics {
    /// Number of NICs. 0: the NIC index is used unchanged.
    count: u16,
    gap_ps: u64,
    gap_per_byte: super::options::PerByte,
    /// State of each direction, by index of the NIC and direction (true: receive).
    directions: BTreeMap<(u16, bool), Direction>,
}

impl Nics {
    pub fn new(options: &Options) -> Self {
        Self {
            count: options.nics,
            gap_ps: options.gap_ps,
            gap_per_byte: options.gap_per_byte,
            directions: BTreeMap::new(),
        }
    }

    /// Returns the key of the direction that a message uses. // OPS-21: NIC index modulo number of
    /// NICs
    fn key(&self, nic: u16, inwards: bool) -> (u16, bool) {
        (nic.checked_rem(self.count).unwrap_or(nic), inwards)
    }

    /// True if messages occupy NICs for a time. False if the network model simulates the NICs.
    pub fn count(&self) -> bool {
        self.gap_ps > 0 || self.gap_per_byte > super::options::PerByte::ZERO
    }

    /// Returns the time at which a direction of a NIC is free.
    pub fn free_at(&self, nic: u16, inwards: bool) -> Time {
        let direction = self.directions.get(&self.key(nic, inwards));
        direction.map_or(0, |direction| direction.free_at)
    }

    /// Occupies a direction of a NIC for a message of `bytes` bytes that starts at `now`.
    pub fn occupy(&mut self, nic: u16, inwards: bool, now: Time, bytes: u64) {
        if self.count() {
            let rest = self.gap_per_byte.times(bytes.saturating_sub(1));
            let busy_ps = self.gap_ps.saturating_add(rest);
            let key = self.key(nic, inwards);
            let direction = self.directions.entry(key).or_default();
            direction.free_at = now.saturating_add(busy_ps);
        }
    }

    /// Parks an operation that waits only for this direction of a NIC. Returns the time at which
    /// the direction is free.
    pub fn park(&mut self, nic: u16, inwards: bool, turn: Turn) -> Time {
        let key = self.key(nic, inwards);
        let direction = self.directions.entry(key).or_default();
        direction.parked.insert(turn);
        direction.free_at
    }

    /// Removes the first operation that waits for a direction of a NIC, and returns its sort key.
    /// Returns `None` if the direction is busy.
    pub fn unpark(&mut self, nic: u16, inwards: bool, now: Time) -> Option<Turn> {
        let key = self.key(nic, inwards);
        let direction = self.directions.get_mut(&key)?;
        (direction.free_at <= now)
            .then(|| direction.parked.pop_first())
            .flatten()
    }

    /// Returns the time at which a direction of a NIC will be free. `None`: no operation waits for
    /// it.
    pub fn awaited_at(&self, nic: u16, inwards: bool) -> Option<Time> {
        let direction = self.directions.get(&self.key(nic, inwards))?;
        (!direction.parked.is_empty()).then_some(direction.free_at)
    }
}
