//! Execution of the operations of one rank: a state machine that receives events and requests
//! actions. It accesses only the state of its own rank. // OPS-05

mod collective;
mod messages;

use super::actions::{Actions, Record};
use super::lanes::Running;
use super::matching::{Arrived, ByBytes, ByTag};
use super::message::{Message, MessageId, Role, Scope};
use super::options::{Instances, Options};
use super::resources::{Nics, Resources, Turn, Turns};
use super::source::Source;
use super::stragglers::Stragglers;
use super::window::{Phase, Slot, SlotNumber, Window};
use super::workload::Workload;
use crate::operation::{CollectiveKind, Operation, Send, Work};
use collective::{count_instance, scope_of};
use kernel::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// A scheduled event of a rank. A slot number identifies the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A computation ends.
    Computed(SlotNumber),
    /// The message of a send enters the network.
    Depart(SlotNumber),
    /// The host overhead of a send ends.
    HandedOver(SlotNumber),
    /// The host overhead of a receive ends.
    Processed(SlotNumber),
    /// A direction of a NIC may be free: index of the NIC, and true for the receive direction.
    Nic(u16, bool),
    /// A delayed message enters the network. The number is its key in `Rank::leaving`.
    Emit(u64),
    /// After a receive, a lane (sequence of steps) of a collective continues: slot and index of the
    /// lane.
    Lane(SlotNumber, u32),
}

/// A message of a collective that has arrived at this rank.
#[derive(Clone, Copy, Debug)]
struct Came {
    /// Identity of the message: rank and index of the sending operation, and number of the message
    /// in the operation.
    from: (u32, u32, u64),
    bytes: u64,
    at: Time,
}

/// State of one rank. It decides when the operations of the rank start and end.
#[derive(Debug)]
pub struct Rank {
    number: u32,
    workload: Arc<Workload>,
    source: Arc<dyn Source>,
    stragglers: Arc<Stragglers>,
    /// Factor on the duration of each computation of this rank. It is 1 unless the rank is slow.
    factor: f64,
    window: Window,
    count: u32,
    ended: u32,
    /// Condition under which the next block of operations is read; see [`super::Block::next_at`].
    next_at: Option<u32>,
    /// Maximum of (index + 1) over all started operations.
    started: u32,
    by_tag: ByTag,
    by_bytes: ByBytes,
    turns: Turns,
    resources: Resources,
    nics: Nics,
    timers: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    timers_made: u64,
    /// Operations that have become ready, but have not been processed.
    ready: VecDeque<SlotNumber>,
    /// Operations that end at the current time.
    ending: VecDeque<SlotNumber>,
    lanes: VecDeque<(SlotNumber, u32)>,
    running: BTreeMap<SlotNumber, Running>,
    /// Messages of collectives that arrived before this rank needed them, by scope, sender and tag.
    early: BTreeMap<(Scope, u32, u64), Came>,
    /// Active collectives, by scope (group and instance number).
    of_scope: BTreeMap<Scope, SlotNumber>,
    /// For each group, the number of collectives so far without an explicit instance number.
    counted: BTreeMap<Option<u32>, u64>,
    /// Receives that have requested the data of a rendezvous, by rank and index of the matched
    /// send.
    cleared: BTreeMap<(u32, u32), SlotNumber>,
    leaving: BTreeMap<u64, Message>,
    woken_for: Option<Time>,
    /// Operations whose trigger fired before the operations were read.
    released_early: Vec<u32>,
}

impl Rank {
    /// Creates a rank that has not started.
    #[must_use]
    pub fn new(
        number: u32,
        workload: &Arc<Workload>,
        source: &Arc<dyn Source>,
        stragglers: &Arc<Stragglers>,
    ) -> Self {
        let options = &workload.options;
        Self {
            number,
            factor: stragglers.factor(number),
            window: Window::default(),
            count: source.count(number),
            ended: 0,
            next_at: Some(0),
            started: 0,
            by_tag: ByTag::default(),
            by_bytes: ByBytes::default(),
            turns: Turns::new(options.ready_order),
            resources: Resources::default(),
            nics: Nics::new(options),
            timers: BinaryHeap::new(),
            timers_made: 0,
            ready: VecDeque::new(),
            ending: VecDeque::new(),
            lanes: VecDeque::new(),
            running: BTreeMap::new(),
            early: BTreeMap::new(),
            of_scope: BTreeMap::new(),
            counted: BTreeMap::new(),
            cleared: BTreeMap::new(),
            leaving: BTreeMap::new(),
            woken_for: None,
            released_early: Vec::new(),
            workload: Arc::clone(workload),
            source: Arc::clone(source),
            stragglers: Arc::clone(stragglers),
        }
    }

    /// Starts the operations of the rank at time `now`.
    pub fn start(&mut self, now: Time, actions: &mut impl Actions) {
        if self.count == 0 {
            self.next_at = None;
        }
        self.read(actions);
        self.settle(now, actions);
    }

    /// Handles the end of the send of a message: its last ACK has returned, or another event that
    /// the workload's options select. // OPS-14
    pub fn on_sent(&mut self, id: &MessageId, now: Time, actions: &mut impl Actions) {
        if id.role != Role::Data || id.rank != self.number {
            return;
        }
        let Some(slot) = self.window.slot_of(id.index) else {
            return;
        };
        match &self.window.get(slot).work {
            Work::Send(_) => {
                self.window.get_mut(slot).acknowledged = true;
                self.end_send_if_over(slot);
            }
            Work::Collective(_) => {
                if let Some(running) = self.running.get_mut(&slot) {
                    running.sends_open -= 1;
                }
                self.end_collective_if_over(slot);
            }
            _ => {}
        }
        self.settle(now, actions);
    }

    /// Handles the arrival of a message: its last byte has arrived, or another event that the
    /// workload's options select.
    // OPS-14: end of a receive
    pub fn on_received(&mut self, message: &Message, now: Time, actions: &mut impl Actions) {
        debug_assert_eq!(message.to, self.number, "a message for this rank");
        match message.scope {
            Scope::Collective { .. } => self.collective_message(message, now),
            Scope::Program => self.program_message(message, now, actions),
        }
        if let Some(trigger) = message.on_received
            && message.id.role == Role::Data
        {
            actions.activate(trigger); // OPS-40: arrival activates a trigger
        }
        self.settle(now, actions);
    }

    /// Handles the time for which [`Actions::wake`] requested this call.
    pub fn on_wake(&mut self, now: Time, actions: &mut impl Actions) {
        while let Some(&Reverse((at, _, timer))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            self.on_timer(timer, now, actions);
        }
        self.settle(now, actions);
    }

    /// Meets the trigger dependency of an operation of this rank, because the trigger has fired.
    // OPS-40
    pub fn release(&mut self, index: u32, now: Time, actions: &mut impl Actions) {
        match self.window.slot_of(index) {
            Some(slot) => self.trigger_fired(slot),
            None => self.released_early.push(index),
        }
        self.settle(now, actions);
    }

    fn trigger_fired(&mut self, slot: SlotNumber) {
        let operation = self.window.get_mut(slot);
        if std::mem::take(&mut operation.waits_for_trigger) {
            operation.pending -= 1;
            if operation.pending == 0 {
                self.ready.push_back(slot);
            }
        }
    }

    /// True if all operations have ended. // OPS-07
    #[must_use]
    pub fn finished(&self) -> bool {
        self.ended == self.count
    }

    /// Number of operations that have ended, and total number of operations of the rank.
    #[must_use]
    pub const fn progress(&self) -> (u32, u32) {
        (self.ended, self.count)
    }

    /// Returns the number of operations that have ended, plus the completed fraction of each active
    /// collective.
    #[must_use]
    pub fn done(&self) -> f64 {
        let under_way: f64 = self.running.values().map(Running::part_done).sum();
        f64::from(self.ended) + under_way
    }

    /// Number of operations that have been read and have not ended.
    #[must_use]
    pub fn live(&self) -> u32 {
        self.window.live()
    }

    /// Number of this rank.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    pub(super) const fn window(&self) -> &Window {
        &self.window
    }

    /// Returns the index of the operation that occupies a resource. `None`: the resource is free.
    pub(super) fn holder(&self, resource: u16) -> Option<u32> {
        self.resources.holder(resource)
    }

    /// Returns the send (rank, index) whose data the receive `index` has requested in a rendezvous.
    /// `None`: the receive has not requested data.
    pub(super) fn cleared_for(&self, index: u32) -> Option<(u32, u32)> {
        let slot = self.window.slot_of(index)?;
        let mut cleared = self.cleared.iter();
        cleared
            .find(|(_, receive)| **receive == slot)
            .map(|(&send, _)| send)
    }

    /// Returns the ranks from which the collective operation `index` waits for messages.
    pub(super) fn awaited_by(&self, index: u32) -> Vec<u32> {
        let running = self
            .window
            .slot_of(index)
            .and_then(|slot| self.running.get(&slot));
        let mut ranks: Vec<u32> = running
            .into_iter()
            .flat_map(|running| running.awaited.keys().map(|&(rank, _)| rank))
            .collect();
        ranks.dedup();
        ranks
    }

    /// Describes each arrived message that no receive matched, for warnings.
    pub(super) fn unreceived(&self, workload: &Workload) -> Vec<String> {
        let number = self.number;
        let mut told: Vec<_> = self
            .by_tag
            .left()
            .map(|(from, tag, Arrived { bytes, index, .. })| {
                format!(
                    "rank {number} never received {bytes} bytes from rank {from} with tag {tag} (its operation {index})"
                )
            })
            .collect();
        told.extend(self.by_bytes.left().map(|(from, tag, bytes)| {
            format!("rank {number} never received {bytes} bytes from rank {from} with tag {tag}")
        }));
        let mut scopes: Vec<_> = self.early.keys().map(|&(scope, ..)| scope).collect();
        scopes.dedup();
        told.extend(scopes.into_iter().map(|scope| match scope {
            Scope::Program => String::new(),
            Scope::Collective { group, instance } => format!(
                "rank {number} took no part in collective {instance} of group \"{}\", in which others sent to it",
                workload.group_name(group)
            ),
        }));
        told
    }

    fn options(&self) -> &Options {
        &self.workload.options
    }

    /// Reads blocks of operations until no unread operation can start. // OPS-04
    fn read(&mut self, actions: &mut impl Actions) {
        while self.next_at.is_some_and(|at| self.started >= at) {
            let from = self.window.frontier();
            let block = match self.source.read(self.number, from) {
                Ok(block) => block,
                Err(error) => {
                    self.next_at = None;
                    actions.failed(error);
                    return;
                }
            };
            self.next_at = block.next_at;
            for operation in block.operations {
                self.add(operation);
            }
        }
    }

    fn add(&mut self, mut operation: Operation) {
        if let Work::Collective(collective) = &mut operation.work
            && self.workload.options.instances == Instances::Index
        {
            count_instance(&mut self.counted, collective);
        }
        let index = self.window.frontier();
        let slot = self.window.add(operation);
        if let Some(at) = self.released_early.iter().position(|&early| early == index) {
            self.released_early.swap_remove(at);
            self.trigger_fired(slot);
        } else if self.window.get(slot).pending == 0 {
            self.ready.push_back(slot);
        }
    }

    fn set_timer(&mut self, at: Time, timer: Timer) {
        self.timers_made += 1;
        self.timers.push(Reverse((at, self.timers_made, timer)));
    }

    /// Processes all work that is possible at the current time, then requests the next call.
    fn settle(&mut self, now: Time, actions: &mut impl Actions) {
        loop {
            if let Some(slot) = self.ending.pop_front() {
                self.end(slot, now, actions);
            } else if let Some((slot, lane)) = self.lanes.pop_front() {
                self.advance(slot, lane, now, actions);
            } else if let Some(slot) = self.ready.pop_front() {
                self.make_ready(slot, now, actions);
            } else if let Some(turn) = self.resources.next() {
                // OPS-23: an operation is chosen only after all operations that are ready at the
                // current time are known
                self.go_on(turn, now, actions);
            } else {
                break;
            }
        }
        if let Some(&Reverse((at, ..))) = self.timers.peek()
            && (self
                .woken_for
                .is_none_or(|earlier| at < earlier || earlier <= now))
        {
            self.woken_for = Some(at);
            actions.wake(at);
        }
    }

    /// Marks an operation as ready after its dependencies are met.
    fn make_ready(&mut self, slot: SlotNumber, now: Time, actions: &mut impl Actions) {
        let starts_without = self.starts_without_resource(slot);
        let operation = self.window.get_mut(slot);
        operation.phase = Phase::Ready;
        operation.ready_ps = now;
        let turn = self.turns.give(slot, operation);
        match operation.resource {
            Some(resource) if !starts_without => self.resources.enter(resource, turn),
            _ => self.begin(turn, now, actions),
        }
    }

    /// True if an operation starts before it occupies its resource: a receive, if the options allow
    /// it.
    // OPS-22: resource of a receive
    fn starts_without_resource(&self, slot: SlotNumber) -> bool {
        let waits = matches!(self.window.get(slot).work, Work::Receive(_));
        waits && !self.options().receive_holds_while_waiting
    }

    /// Continues an operation whose resource is free, or that needs no resource.
    fn go_on(&mut self, turn: Turn, now: Time, actions: &mut impl Actions) {
        if self.window.get(turn.2).phase == Phase::Arrived {
            self.process(turn, now);
        } else {
            self.begin(turn, now, actions);
        }
    }

    /// Occupies the free resource of an operation.
    fn take_resource(&mut self, slot: SlotNumber, now: Time) {
        let operation = self.window.get_mut(slot);
        if let Some(resource) = operation.resource
            && !operation.holds_resource
        {
            let last = self.resources.take(resource, operation.index);
            operation.holds_resource = true;
            // OPS-06: if the operation was ready earlier, it waited for the operation that used the
            // resource last
            if let (Some(last), true) = (last, operation.ready_ps < now) {
                operation.released_by = last;
            }
        }
    }

    fn free_resource(&mut self, slot: SlotNumber) {
        let operation = self.window.get_mut(slot);
        if let Some(resource) = operation.resource
            && std::mem::take(&mut operation.holds_resource)
        {
            self.resources.free(resource);
        }
    }

    /// Starts an operation, or parks it if it needs a NIC that is busy.
    fn begin(&mut self, turn: Turn, now: Time, actions: &mut impl Actions) {
        let slot = turn.2;
        let operation = self.window.get(slot);
        let is_send = matches!(operation.work, Work::Send(_));
        if is_send && self.nics.free_at(operation.nic, false) > now {
            return self.park(turn, false);
        }
        if !self.starts_without_resource(slot) {
            self.take_resource(slot, now);
        }
        let operation = self.window.get_mut(slot);
        operation.phase = Phase::Started;
        operation.start_ps = now;
        self.started = self.started.max(operation.index + 1);
        self.window.release(slot, true, &mut self.ready);
        self.read(actions);
        match &self.window.get(slot).work {
            Work::Calc { duration_ps } => {
                let index = self.window.get(slot).index;
                let duration_ps =
                    self.stragglers
                        .duration_ps(self.factor, self.number, index, *duration_ps);
                if duration_ps == 0 {
                    self.ending.push_back(slot);
                } else {
                    self.set_timer(now.saturating_add(duration_ps), Timer::Computed(slot));
                }
            }
            Work::Send(send) => {
                let send = *send;
                self.begin_send(slot, &send, now, actions);
            }
            Work::Receive(receive) => {
                let receive = *receive;
                self.begin_receive(slot, &receive, now, actions);
            }
            Work::Collective(_) => self.begin_collective(slot, actions),
        }
    }

    /// Parks an operation until a direction of its NIC is free (`inwards`: receive direction).
    // OPS-21
    fn park(&mut self, turn: Turn, inwards: bool) {
        let nic = self.window.get(turn.2).nic;
        let first = self.nics.awaited_at(nic, inwards).is_none();
        let free_at = self.nics.park(nic, inwards, turn);
        if first {
            self.set_timer(free_at, Timer::Nic(nic, inwards));
        }
    }

    /// Continues operations that wait only for this direction of a NIC, in their order, while the
    /// direction is free.
    fn unpark(&mut self, nic: u16, inwards: bool, now: Time, actions: &mut impl Actions) {
        while let Some(turn) = self.nics.unpark(nic, inwards, now) {
            let operation = self.window.get(turn.2);
            match operation.resource {
                Some(resource) if !operation.holds_resource && self.resources.is_held(resource) => {
                    self.resources.enter(resource, turn);
                }
                _ => self.go_on(turn, now, actions),
            }
        }
        if let Some(free_at) = self.nics.awaited_at(nic, inwards) {
            self.set_timer(free_at, Timer::Nic(nic, inwards));
        }
    }

    fn on_timer(&mut self, timer: Timer, now: Time, actions: &mut impl Actions) {
        match timer {
            Timer::Computed(slot) | Timer::Processed(slot) => self.ending.push_back(slot),
            Timer::Depart(slot) => self.depart(slot, now, actions),
            Timer::HandedOver(slot) => self.handed_over(slot),
            Timer::Nic(nic, inwards) => self.unpark(nic, inwards, now, actions),
            Timer::Lane(slot, lane) => self.lane_received(slot, lane),
            Timer::Emit(number) => {
                if let Some(message) = self.leaving.remove(&number) {
                    actions.send(message);
                    if message.scope != Scope::Program
                        && let Some(slot) = self.window.slot_of(message.id.index)
                    {
                        self.end_collective_if_over(slot);
                    }
                }
            }
        }
    }

    fn end(&mut self, slot: SlotNumber, now: Time, actions: &mut impl Actions) {
        self.free_resource(slot);
        self.window.release(slot, false, &mut self.ready);
        let operation = self.window.end(slot);
        self.ended += 1;
        actions.ended(&self.record(&operation, now));
        match operation.work {
            Work::Send(Send {
                on_sent: Some(trigger),
                ..
            }) => actions.activate(trigger), // OPS-40: the end of a send activates a trigger
            Work::Collective(collective) => {
                self.of_scope.remove(&scope_of(&collective));
            }
            _ => {}
        }
    }

    fn record(&self, operation: &Slot, now: Time) -> Record {
        let (rank, index) = operation.arrived_from;
        let ended_by = (operation.has_message && index != u32::MAX).then_some((
            rank,
            index,
            operation.arrived_part,
        ));
        let (peer, bytes, collective) = match &operation.work {
            Work::Calc { .. } => (None, 0, None),
            Work::Send(send) => (Some(send.to), send.bytes, None),
            Work::Receive(_) => (Some(rank), operation.arrived_bytes, None),
            Work::Collective(collective) => {
                let which = (collective.group, collective.instance.unwrap_or(0));
                (None, collective.vector_bytes(), Some(which))
            }
        };
        Record {
            rank: self.number,
            index: operation.index,
            kind: operation.work.word(),
            peer,
            collective,
            part_of: operation.part_of(),
            bytes,
            moved_bytes: self.moved_bytes(&operation.work),
            resource: operation.resource,
            ready_ps: operation.ready_ps,
            start_ps: operation.start_ps,
            end_ps: now,
            released_by: operation.released_by(),
            ended_by,
        }
    }

    /// Returns the larger of two sums for an all-to-allv: bytes that this rank sends to other
    /// members, and bytes that it receives from other members. Returns 0 for all other operations.
    fn moved_bytes(&self, work: &Work) -> u64 {
        let Work::Collective(collective) = work else {
            return 0;
        };
        if collective.kind != CollectiveKind::AllToAllV {
            return 0;
        }
        let members = self.workload.members(collective.group);
        let position = members.position(self.number);
        position.map_or(0, |position| collective.moved_bytes(position))
    }
}
