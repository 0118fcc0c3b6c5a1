//! The release of the operations of one rank: a state machine that receives events and requests
//! actions. It accesses only the state of its rank. // OPS-05

use super::lanes::Running;
use super::matching::{Arrived, ByBytes, ByTag};
use super::message::{Message, MessageId, Role, Scope};
use super::options::{Instances, Matching, Options, SendEnd};
use super::resources::{Nics, Resources, Turn, Turns};
use super::source::Source;
use super::stragglers::Stragglers;
use super::window::{Phase, Slot, SlotNumber, Window};
use super::workload::Workload;
use crate::Error;
use crate::collectives::{Algorithm, Part, Step, plan};
use crate::operation::{Collective, CollectiveKind, Operation, Receive, Send, Work};
use kernel::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// Actions that a rank requests from its driver.
pub trait Actions {
    /// Sends this message now. The driver calls [`Rank::on_sent`] when its last ACK has returned,
    /// and [`Rank::on_received`] of the receiver when its last byte has arrived. Options can change
    /// these times. // OPS-14
    fn send(&mut self, message: Message);

    /// Requests a call of [`Rank::on_wake`] at this time. Earlier requests stay valid. Additional
    /// calls have no effect.
    fn wake(&mut self, at_ps: Time);

    /// Reports that an operation has ended.
    fn ended(&mut self, record: &Record);

    /// Activates a trigger; see [`super::Triggers`].
    fn activate(&mut self, trigger: u32);

    /// Reports that the operations cannot be read, so the run must end.
    fn failed(&mut self, error: Error);
}

/// An operation that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Rank of the operation.
    pub rank: u32,
    /// Index of the operation.
    pub index: u32,
    /// Name of the kind.
    pub kind: &'static str,
    /// The other rank of a send or a receive, if it is known.
    pub peer: Option<u32>,
    /// Group and instance of a collective.
    pub collective: Option<(Option<u32>, u64)>,
    /// The collective of which the operation is a part, as an index in the workload's list. //
    /// OPS-38
    pub part_of: Option<u32>,
    /// Bytes. For a receive, those that arrived. For an all-to-allv, those to all members.
    pub bytes: u64,
    /// For an all-to-allv, the larger of the bytes that this rank sends to others and receives from
    /// others. // OPS-61
    pub moved_bytes: u64,
    /// Resource that it occupied.
    pub resource: Option<u16>,
    /// Time at which its dependencies were met, ps.
    pub ready_ps: Time,
    /// Start time, ps.
    pub start_ps: Time,
    /// End time, ps.
    pub end_ps: Time,
    /// Last cause of waiting before its start: an operation of this rank that was a dependency or
    /// used the resource. `None`: no such operation, or a trigger.
    pub released_by: Option<u32>,
    /// The message whose arrival ended it: rank, index and part. // OPS-06
    pub ended_by: Option<(u32, u32, u64)>,
}

/// A scheduled event of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A computation ends.
    Computed(SlotNumber),
    /// A send's message enters the network.
    Depart(SlotNumber),
    /// The host's time of a send ends.
    HandedOver(SlotNumber),
    /// The host's time of a receive ends.
    Processed(SlotNumber),
    /// A direction of a NIC may be free.
    Nic(u16, bool),
    /// A message leaves. The number is its key in `leaving`.
    Emit(u64),
    /// A lane of the collective in a slot continues after a receive.
    Lane(SlotNumber, u32),
}

/// An arrived message of a collective.
#[derive(Clone, Copy, Debug)]
struct Came {
    /// Rank, index and part of the sending operation.
    from: (u32, u32, u64),
    bytes: u64,
    at: Time,
}

/// Releases the operations of one rank.
#[derive(Debug)]
pub struct Rank {
    number: u32,
    workload: Arc<Workload>,
    source: Arc<dyn Source>,
    stragglers: Arc<Stragglers>,
    /// Factor by which computations take longer than stated.
    factor: f64,
    window: Window,
    count: u32,
    ended: u32,
    /// Condition for reading the next block of operations, see [`super::Block::next_at`].
    next_at: Option<u32>,
    /// The largest started index, plus 1.
    started: u32,
    by_tag: ByTag,
    by_bytes: ByBytes,
    turns: Turns,
    resources: Resources,
    nics: Nics,
    timers: BinaryHeap<Reverse<(Time, u64, Timer)>>,
    timers_made: u64,
    /// Operations that have become ready and are not handled yet.
    ready: VecDeque<SlotNumber>,
    /// Operations that end at this instant.
    ending: VecDeque<SlotNumber>,
    lanes: VecDeque<(SlotNumber, u32)>,
    running: BTreeMap<SlotNumber, Running>,
    /// Messages of collectives that arrived before this rank needed them.
    early: BTreeMap<(Scope, u32, u64), Came>,
    /// Active collectives, by scope.
    of_scope: BTreeMap<Scope, SlotNumber>,
    /// Number of collectives without an instance number so far, by group.
    counted: BTreeMap<Option<u32>, u64>,
    /// Receives that wait for the data of a rendezvous, by rank and index of the send.
    cleared: BTreeMap<(u32, u32), SlotNumber>,
    leaving: BTreeMap<u64, Message>,
    woken_for: Option<Time>,
    /// Operations that a trigger released before they were read.
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

    /// Starts the rank.
    pub fn start(&mut self, now: Time, actions: &mut impl Actions) {
        if self.count == 0 {
            self.next_at = None;
        }
        self.read(actions);
        self.settle(now, actions);
    }

    /// Handles the end of a sent message: its last ACK has returned, or the event that the options
    /// select. // OPS-14
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

    /// Handles an arrived message: its last byte has arrived, or the event that the options select.
    /// // OPS-14
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

    /// Handles a time that was requested by [`Actions::wake`].
    pub fn on_wake(&mut self, now: Time, actions: &mut impl Actions) {
        while let Some(&Reverse((at, _, timer))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            self.on_timer(timer, now, actions);
        }
        self.settle(now, actions);
    }

    /// Releases an operation of this rank because its trigger has fired. // OPS-40
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

    /// Number of operations that have ended, and number of all operations.
    #[must_use]
    pub const fn progress(&self) -> (u32, u32) {
        (self.ended, self.count)
    }

    /// Number of operations that have ended, plus the completed fraction of each active collective.
    #[must_use]
    pub fn done(&self) -> f64 {
        let under_way: f64 = self.running.values().map(Running::part_done).sum();
        f64::from(self.ended) + under_way
    }

    /// Number of operations in memory.
    #[must_use]
    pub fn live(&self) -> u32 {
        self.window.live()
    }

    /// Number of the rank.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    pub(super) const fn window(&self) -> &Window {
        &self.window
    }

    /// Returns the index of the operation that uses a resource.
    pub(super) fn holder(&self, resource: u16) -> Option<u32> {
        self.resources.holder(resource)
    }

    /// Returns the send (rank, index) whose data were requested for a receive.
    pub(super) fn cleared_for(&self, index: u32) -> Option<(u32, u32)> {
        let slot = self.window.slot_of(index)?;
        let mut cleared = self.cleared.iter();
        cleared
            .find(|(_, receive)| **receive == slot)
            .map(|(&send, _)| send)
    }

    /// Returns the ranks from which a collective waits for messages.
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

    /// Describes messages that no receive took.
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

    /// Reads all operations that could start now. // OPS-04
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

    /// Handles everything that is possible at this instant, then requests the next call.
    fn settle(&mut self, now: Time, actions: &mut impl Actions) {
        loop {
            if let Some(slot) = self.ending.pop_front() {
                self.end(slot, now, actions);
            } else if let Some((slot, lane)) = self.lanes.pop_front() {
                self.advance(slot, lane, now, actions);
            } else if let Some(slot) = self.ready.pop_front() {
                self.make_ready(slot, now, actions);
            } else if let Some(turn) = self.resources.next() {
                // OPS-23: all operations that are ready at this instant are considered before one
                // is chosen
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

    /// Marks an operation as ready, because its dependencies are met.
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

    /// True if an operation needs its resource only later: a receive that may wait without it. //
    /// OPS-22
    fn starts_without_resource(&self, slot: SlotNumber) -> bool {
        let waits = matches!(self.window.get(slot).work, Work::Receive(_));
        waits && !self.options().receive_holds_while_waiting
    }

    /// Continues an operation whose resource is free, or which needs none.
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
            // OPS-06: the operation waited for the previous user if it was ready earlier
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

    /// Starts an operation, unless it needs a NIC that is busy.
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

    /// Parks an operation that only waits for a direction of its NIC. // OPS-21
    fn park(&mut self, turn: Turn, inwards: bool) {
        let nic = self.window.get(turn.2).nic;
        let first = self.nics.awaited_at(nic, inwards).is_none();
        let free_at = self.nics.park(nic, inwards, turn);
        if first {
            self.set_timer(free_at, Timer::Nic(nic, inwards));
        }
    }

    /// Continues the first operation that only waits for this direction of a NIC, if the direction
    /// is free.
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

    // --- Sends --------------------------------------------------------------------------------

    /// Returns the bytes that a send first puts on its NIC, and true if they are the request of a
    /// rendezvous instead of its payload.
    fn first_bytes(&self, send: &Send) -> (u64, bool) {
        let limit = self.options().rendezvous_above_bytes;
        if limit.is_some_and(|limit| send.bytes > limit) {
            (self.options().rendezvous_message_bytes, true)
        } else {
            (send.bytes, false)
        }
    }

    fn begin_send(&mut self, slot: SlotNumber, send: &Send, now: Time, actions: &mut impl Actions) {
        let (bytes, _) = self.first_bytes(send);
        let options = &self.workload.options;
        let rest_ps = options.overhead_per_byte.times(bytes.saturating_sub(1));
        // OPS-16, OPS-17: host overhead and latency before the departure
        let depart = now + send.latency_ps + options.overhead_ps;
        let nic = self.window.get(slot).nic;
        self.nics.occupy(nic, false, now + send.latency_ps, bytes);
        if depart == now {
            self.depart(slot, now, actions);
        } else {
            self.set_timer(depart, Timer::Depart(slot));
        }
        if depart + rest_ps == now {
            self.handed_over(slot);
        } else {
            self.set_timer(depart + rest_ps, Timer::HandedOver(slot));
        }
    }

    /// Sends the message of a send, or the request of its rendezvous. // OPS-13
    fn depart(&mut self, slot: SlotNumber, _: Time, actions: &mut impl Actions) {
        let Work::Send(send) = self.window.get(slot).work else {
            return;
        };
        let (bytes, request) = self.first_bytes(&send);
        let role = if request {
            Role::Request { bytes: send.bytes }
        } else {
            Role::Data
        };
        actions.send(self.message(slot, &send, bytes, role));
    }

    fn message(&self, slot: SlotNumber, send: &Send, bytes: u64, role: Role) -> Message {
        let operation = self.window.get(slot);
        Message {
            id: MessageId {
                rank: self.number,
                index: operation.index,
                part: 0,
                role,
            },
            from: self.number,
            to: send.to,
            bytes,
            scope: Scope::Program,
            tag: send.tag,
            channel: send.channel,
            nic: operation.nic,
            class: send.class,
            on_received: send.on_received,
        }
    }

    fn handed_over(&mut self, slot: SlotNumber) {
        self.window.get_mut(slot).handed_over = true;
        if !self.options().send_holds_to_end {
            self.free_resource(slot); // OPS-22: the send occupies it only during the overhead
        }
        self.end_send_if_over(slot);
    }

    /// Ends a send if all conditions of OPS-14 are met.
    fn end_send_if_over(&mut self, slot: SlotNumber) {
        let operation = self.window.get(slot);
        let Work::Send(send) = &operation.work else {
            return;
        };
        let eager = self.options().send_end == SendEnd::Eager && !self.first_bytes(send).1;
        if operation.handed_over && (eager || operation.acknowledged) {
            self.ending.push_back(slot);
        }
    }

    /// Sends the data of a rendezvous when the NIC is free, because the receiver has a receive for
    /// it. // OPS-13
    fn cleared_to_send(&mut self, index: u32, now: Time, actions: &mut impl Actions) {
        let Some(slot) = self.window.slot_of(index) else {
            return;
        };
        let Work::Send(send) = self.window.get(slot).work else {
            return;
        };
        let message = self.message(slot, &send, send.bytes, Role::Data);
        self.emit(message, now, now, actions);
    }

    /// Sends a message at `earliest`, or when its NIC is free.
    fn emit(&mut self, message: Message, earliest: Time, now: Time, actions: &mut impl Actions) {
        let at = earliest.max(self.nics.free_at(message.nic, false));
        self.nics.occupy(message.nic, false, at, message.bytes);
        if at == now {
            actions.send(message);
        } else {
            self.timers_made += 1;
            let number = self.timers_made;
            self.leaving.insert(number, message);
            self.timers.push(Reverse((at, number, Timer::Emit(number))));
        }
    }

    // --- Receives -----------------------------------------------------------------------------

    fn begin_receive(
        &mut self,
        slot: SlotNumber,
        receive: &Receive,
        now: Time,
        actions: &mut impl Actions,
    ) {
        match self.options().matching {
            Matching::TagAndSource => {
                if let Some(found) = self.by_tag.post(receive.from, receive.tag, slot) {
                    self.matched(slot, &found, now, actions);
                }
            }
            Matching::Bytes => {
                let (from, tag) = (receive.from.unwrap_or(0), receive.tag.unwrap_or(0));
                if self.by_bytes.post(from, tag, receive.bytes, slot) {
                    self.arrived(slot, (from, u32::MAX, 0), receive.bytes, now);
                }
            }
            Matching::None => {}
        }
    }

    fn program_message(&mut self, message: &Message, now: Time, actions: &mut impl Actions) {
        let (rank, index) = (message.id.rank, message.id.index);
        let bytes = match message.id.role {
            Role::Clear => return self.cleared_to_send(index, now, actions),
            Role::Request { bytes } => bytes,
            Role::Data => message.bytes,
        };
        if let Some(slot) = self.cleared.remove(&(rank, index)) {
            return self.arrived(slot, (rank, index, 0), bytes, now);
        }
        match self.options().matching {
            Matching::TagAndSource => {
                let arrived = Arrived {
                    rank,
                    index,
                    bytes,
                    request: message.id.role != Role::Data,
                };
                if let Some(slot) = self.by_tag.arrive(rank, message.tag, arrived) {
                    self.matched(slot, &arrived, now, actions);
                }
            }
            Matching::Bytes => {
                for (slot, met) in self.by_bytes.arrive(rank, message.tag, bytes) {
                    self.arrived(slot, (rank, index, 0), met, now);
                }
            }
            Matching::None => {}
        }
    }

    /// Handles a receive that was matched with a message, or with the request for it.
    fn matched(
        &mut self,
        slot: SlotNumber,
        found: &Arrived,
        now: Time,
        actions: &mut impl Actions,
    ) {
        if !found.request {
            return self.arrived(slot, (found.rank, found.index, 0), found.bytes, now);
        }
        // OPS-13: request the data
        self.cleared.insert((found.rank, found.index), slot);
        let operation = self.window.get(slot);
        let answer = Message {
            id: MessageId {
                rank: found.rank,
                index: found.index,
                part: 0,
                role: Role::Clear,
            },
            from: self.number,
            to: found.rank,
            bytes: self.options().rendezvous_message_bytes,
            scope: Scope::Program,
            tag: 0,
            channel: 0,
            nic: operation.nic,
            class: 0,
            on_received: None,
        };
        self.emit(answer, now, now, actions);
    }

    /// Handles the arrival of a receive's message. Only the host's time remains.
    fn arrived(&mut self, slot: SlotNumber, from: (u32, u32, u64), bytes: u64, now: Time) {
        let operation = self.window.get_mut(slot);
        operation.phase = Phase::Arrived;
        operation.has_message = true;
        operation.arrived_from = (from.0, from.1);
        operation.arrived_part = from.2;
        operation.arrived_bytes = bytes;
        let turn = self.turns.give(slot, operation);
        match operation.resource {
            Some(resource) if !operation.holds_resource => self.resources.enter(resource, turn),
            _ => self.process(turn, now),
        }
    }

    /// Starts the host's processing of a message. // OPS-16
    fn process(&mut self, turn: Turn, now: Time) {
        let slot = turn.2;
        let operation = self.window.get(slot);
        let (nic, bytes) = (operation.nic, operation.arrived_bytes);
        if self.nics.free_at(nic, true) > now {
            return self.park(turn, true);
        }
        self.take_resource(slot, now);
        self.window.get_mut(slot).phase = Phase::Processing;
        self.nics.occupy(nic, true, now, bytes);
        let over = now + self.receive_ps(bytes);
        if over == now {
            self.ending.push_back(slot);
        } else {
            self.set_timer(over, Timer::Processed(slot));
        }
    }

    /// Returns the time from the arrival of a message to the end of its receive: o + (s − 1) max(O,
    /// G). // OPS-16
    fn receive_ps(&self, bytes: u64) -> u64 {
        let options = self.options();
        let per_byte = options.overhead_per_byte.max(options.gap_per_byte);
        options.overhead_ps + per_byte.times(bytes.saturating_sub(1))
    }

    // --- Collectives --------------------------------------------------------------------------

    fn begin_collective(&mut self, slot: SlotNumber, actions: &mut impl Actions) {
        if let Work::Collective(collective) = &mut self.window.get_mut(slot).work {
            count_instance(&mut self.counted, collective);
        }
        let Work::Collective(collective) = &self.window.get(slot).work else {
            return;
        };
        let members = self.workload.members(collective.group);
        let prepared = members
            .position(self.number)
            .ok_or_else(|| "this rank is not in its group".to_owned())
            .and_then(|position| {
                let algorithm = self.workload.algorithm(collective)?;
                algorithm.check(collective.kind, members.count())?;
                Ok((position, algorithm))
            });
        let (position, algorithm): (u32, Algorithm) = match prepared {
            Ok(prepared) => prepared,
            Err(why) => {
                let index = self.window.get(slot).index;
                let what = format!("rank {}, operation {index}: {why}", self.number);
                return actions.failed(Error::new(what));
            }
        };
        let part = Part::of(collective, position, members.count());
        let scope = scope_of(collective);
        let running = Running::new(plan(&part, &algorithm), members, scope);
        let lanes = running.plan.lanes();
        self.of_scope.insert(scope, slot);
        self.running.insert(slot, running);
        self.lanes.extend((0..lanes).map(|lane| (slot, lane)));
        self.end_collective_if_over(slot);
    }

    /// Advances a lane as far as possible. // OPS-33
    fn advance(&mut self, slot: SlotNumber, lane: u32, now: Time, actions: &mut impl Actions) {
        let mut resumed = Vec::new();
        loop {
            let running = self.running.get_mut(&slot).expect("it is under way");
            match running.next(lane, &mut resumed) {
                None => break,
                Some(Step::Send { to, span, tag }) => {
                    self.send_step(slot, lane, (to, span.bytes, tag), now, actions);
                    let running = self.running.get_mut(&slot).expect("it is under way");
                    running.pass(lane, &mut resumed);
                }
                Some(Step::Receive { from, tag, .. }) => {
                    let from = running.members.rank(from);
                    match self.early.remove(&(running.scope, from, tag)) {
                        None => {
                            running.awaited.insert((from, tag), lane);
                            break;
                        }
                        Some(came) => {
                            let over = self.receive_step(slot, lane, came, now);
                            if over > now {
                                self.set_timer(over, Timer::Lane(slot, lane));
                                break;
                            }
                            let running = self.running.get_mut(&slot).expect("it is under way");
                            running.pass(lane, &mut resumed);
                        }
                    }
                }
                Some(Step::Await { .. }) => unreachable!("awaits are passed inside"),
            }
        }
        self.lanes
            .extend(resumed.into_iter().map(|lane| (slot, lane)));
        self.end_collective_if_over(slot);
    }

    /// Executes a send step of a lane. // OPS-16, OPS-17, OPS-37
    fn send_step(
        &mut self,
        slot: SlotNumber,
        lane: u32,
        (to, bytes, tag): (u32, u64, u64),
        now: Time,
        actions: &mut impl Actions,
    ) {
        let (overhead_ps, per_byte, copy_ps) = {
            let options = self.options();
            let copy_ps = options.copy_ps;
            (options.overhead_ps, options.overhead_per_byte, copy_ps)
        };
        let operation = self.window.get(slot);
        let Work::Collective(collective) = &operation.work else {
            return;
        };
        let running = self.running.get_mut(&slot).expect("it is under way");
        running.sends_open += 1;
        let handed_over = running.host_busy_until.max(now) + overhead_ps;
        running.host_busy_until = handed_over + per_byte.times(bytes.saturating_sub(1));
        let channel = running.plan.channel(lane);
        let message = Message {
            id: MessageId {
                rank: self.number,
                index: operation.index,
                part: u64::from(lane) << 32 | u64::from(running.step_of(lane)),
                role: Role::Data,
            },
            from: self.number,
            to: running.members.rank(to),
            bytes,
            scope: running.scope,
            tag,
            channel: collective.channel.wrapping_add(channel),
            nic: operation.nic.wrapping_add(channel),
            class: collective.class,
            on_received: None,
        };
        let copied = handed_over + if running.begins(lane) { copy_ps } else { 0 };
        running.note_send(lane, now);
        let latency_ps =
            self.workload
                .options
                .latency_ps(collective.latency_ps, self.number, message.to);
        self.emit(message, copied + latency_ps, now, actions);
    }

    /// Returns the time at which a lane has processed an arrived message. // OPS-16, OPS-34, OPS-37
    fn receive_step(&mut self, slot: SlotNumber, lane: u32, came: Came, now: Time) -> Time {
        let bytes = came.bytes;
        let receive_ps = self.receive_ps(bytes);
        let options = &self.workload.options;
        let host_ps =
            options.overhead_ps + options.overhead_per_byte.times(bytes.saturating_sub(1));
        let operation = self.window.get_mut(slot);
        operation.has_message = true;
        operation.arrived_from = (came.from.0, came.from.1);
        operation.arrived_part = came.from.2;
        let running = self.running.get_mut(&slot).expect("it is under way");
        running.note_receipt(lane);
        let step = running.plan.step(lane, running.step_of(lane));
        let reduces = matches!(step, Step::Receive { reduce: true, .. });
        let nic = operation.nic.wrapping_add(running.plan.channel(lane));
        let at = now
            .max(self.nics.free_at(nic, true))
            .max(running.host_busy_until);
        running.host_busy_until = at + host_ps;
        self.nics.occupy(nic, true, at, bytes);
        let reduction_ps = if reduces {
            options.reduction_ps_of(bytes)
        } else {
            0
        };
        // Copies of messages that arrived since the lane's last send overlap.
        let copied = came.at.max(running.sent_at(lane)) + options.copy_ps;
        at.max(copied) + receive_ps + reduction_ps
    }

    /// Handles an arriving message of a collective, possibly before this rank takes part in it.
    fn collective_message(&mut self, message: &Message, now: Time) {
        let &Message {
            id,
            scope,
            tag,
            bytes,
            ..
        } = message;
        let came = Came {
            from: (id.rank, id.index, id.part),
            bytes,
            at: now,
        };
        let waiting = self.of_scope.get(&scope).and_then(|&slot| {
            let running = self.running.get_mut(&slot)?;
            Some((slot, running.awaited.remove(&(id.rank, tag))?))
        });
        let Some((slot, lane)) = waiting else {
            self.early.insert((scope, id.rank, tag), came);
            return;
        };
        let over = self.receive_step(slot, lane, came, now);
        if over == now {
            self.lane_received(slot, lane);
        } else {
            self.set_timer(over, Timer::Lane(slot, lane));
        }
    }

    fn lane_received(&mut self, slot: SlotNumber, lane: u32) {
        let mut resumed = Vec::new();
        let running = self.running.get_mut(&slot).expect("it is under way");
        running.pass(lane, &mut resumed);
        self.lanes.push_back((slot, lane));
        self.lanes
            .extend(resumed.into_iter().map(|lane| (slot, lane)));
    }

    fn end_collective_if_over(&mut self, slot: SlotNumber) {
        let eager = self.options().send_end == SendEnd::Eager;
        if let Some(running) = self.running.get(&slot)
            && running.lanes_over()
            && (eager || running.sends_open == 0)
            && !self.leaves_later(slot)
        {
            self.running.remove(&slot);
            self.ending.push_back(slot);
        }
    }

    /// True if messages of a collective have not entered the network yet.
    fn leaves_later(&self, slot: SlotNumber) -> bool {
        let index = self.window.get(slot).index;
        let mut leaving = self.leaving.values();
        leaving.any(|message| {
            message.id.index == index
                && message.id.rank == self.number
                && message.scope != Scope::Program
        })
    }

    // --- Ends ---------------------------------------------------------------------------------

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

    /// Returns the value of [`Record::moved_bytes`].
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

/// Assigns the next instance number of its group to a collective without one. // OPS-30
fn count_instance(counted: &mut BTreeMap<Option<u32>, u64>, collective: &mut Collective) {
    if collective.instance.is_none() {
        let next = counted.entry(collective.group).or_default();
        collective.instance = Some(*next);
        *next += 1;
    }
}

fn scope_of(collective: &Collective) -> Scope {
    Scope::Collective {
        group: collective.group,
        instance: collective.instance.unwrap_or(0),
    }
}
