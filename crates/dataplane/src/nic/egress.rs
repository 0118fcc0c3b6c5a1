//! The sending side of a NIC without its congestion control: flows, the order in which they send,
//! what pauses them, and alarms.
//!
//! A flow is in one of six states: in the ring of its (port, class), waiting for its pace,
//! waiting for an acknowledgement, waiting for its queue to be resumed, waiting for links that
//! would lead to its receiver, or finished.

use crate::classes::ClassSet;
use crate::ids::FlowSlot;
use std::collections::VecDeque;

use super::destinations::Destinations;
use super::order::Ordered;
use super::reach::{OUT_OF_REACH, Reach};
use crate::alarms::{Alarms, Timed};
use crate::config::NicConfig;
use crate::flow::{FlowStart, Unfinished};
use crate::mixed::MixedMap;

use crate::paths::Spray;
use crate::pause_time::TimedPauses;
use crate::prefetch::{prefetch, prefetch_whole};
use crate::reliability::{Progress, Repair};
use crate::replies::Replies;
use crate::sink::Sink;
use crate::units::{NEVER, Rate, Time};
use crate::wait::Wait;

/// No flow.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Stands in the ring.
    Ready,
    /// Must not send before `next_ps`.
    Paced,
    /// Has nothing that it may send until an acknowledgement comes.
    Blocked,
    /// Its queue is paused.
    Parked,
    /// Its destination is paused.
    Waiting,
    /// Its receiver is out of reach.
    Cut,
    /// Finished, but still linked in a ring.
    Leaving,
    /// The slot is free.
    Free,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub start: FlowStart,
    pub state: State,
    /// Next slot in the ring, among the parked flows of its queue, or among the free slots.
    pub link: FlowSlot,
    /// Class of its frames.
    pub class: u8,
    /// Queue of the NIC that it uses.
    pub queue: u16,
    /// Packets in all.
    pub packets: u32,
    /// Next packet number to send.
    pub next: u32,
    /// Everything below is acknowledged.
    pub acked: u32,
    /// Everything below has been sent at least once.
    pub reached: u32,
    pub retransmitted: u32,
    /// Earliest start of the next packet.
    pub next_ps: Time,
    /// Last time that anything moved: an ACK, or a first packet in flight.
    pub progress_ps: Time,
    /// When the packet was sent that requests an acknowledgement which has not come; [`NEVER`]: none
    /// does.
    pub asked_ps: Time,
    /// An [`AlarmKind::Rise`] is set.
    pub rising: bool,
    /// State of the loss recovery.
    pub repair: Repair,
    /// Paths of the packets, if the sender chooses them.
    pub spray: Option<Box<Spray>>,
}

impl Flow {
    /// NIC-30: payload bytes that it has not sent yet, or must send again.
    pub const fn remaining(&self) -> u64 {
        let sent = self.next as u64 * self.start.path.mtu as u64;
        self.start.bytes.saturating_sub(sent)
    }

    /// Whether this is the flow with this number, and it has not finished.
    #[inline]
    pub const fn is_open(&self, number: u32) -> bool {
        self.start.flow == number && !matches!(self.state, State::Free | State::Leaving)
    }

    /// Something is in flight, and more to be sent, but nothing that was sent requests an
    /// acknowledgement: the window has shrunk since.
    // NIC-09
    pub const fn must_ask(&self) -> bool {
        self.asked_ps == NEVER && self.next < self.packets && self.next > self.acked
    }

    /// No packet is left that was not sent at least once.
    pub const fn has_sent_all(&self) -> bool {
        self.next >= self.packets
    }

    /// The number of the next packet, which is now sent: a lost one, or a new one.
    pub fn take_number(&mut self, now: Time) -> u32 {
        if let Some(psn) = self.repair.next_lost(self.acked) {
            self.repair.sent_again(now, psn);
            return psn;
        }
        self.next += 1;
        self.next - 1
    }

    /// What it waits for that has nothing it may send.
    pub const fn blocked_by(&self) -> Wait {
        if self.next < self.packets {
            Wait::Window
        } else {
            Wait::Answers
        }
    }

    pub const fn progress(&self, mtu: u16) -> Progress {
        Progress {
            acked: self.acked,
            next: self.next,
            packets: self.packets,
            mtu,
        }
    }
}

/// Why the NIC wants to be called. Equal times are served by flow, then kind.
// NIC-06
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alarm {
    pub at: Time,
    pub flow: u32,
    pub kind: AlarmKind,
    pub slot: FlowSlot,
}

impl Timed for Alarm {
    fn at(&self) -> Time {
        self.at
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AlarmKind {
    Pace,
    Timeout,
    /// The control's rate, and its window with it, may grow without an acknowledgement.
    Rise,
}

/// A circular list of flows, served one packet at a time.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: FlowSlot,
    tail: FlowSlot,
}

#[derive(Clone, Debug)]
pub(super) struct Port {
    pub rate: Rate,
    /// Classes with flows in the ring.
    ring_mask: ClassSet,
    /// Classes that the neighbour has paused or given no credit: both of the following sets.
    paused: ClassSet,
    /// Classes that the neighbour has paused.
    paused_by_frames: ClassSet,
    /// Classes for which the neighbour has given no credit.
    held_classes: ClassSet,
    rings: Vec<Ring>,
    /// In the place of the rings, where flows have another order.
    ordered: Vec<Ordered>,
    pub queues: Vec<NicQueue>,
}

/// What a neighbour can pause: one flow, or several where there are more flows than queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct NicQueue {
    users: u32,
    /// First parked flow.
    pub parked: FlowSlot,
    pub paused: bool,
}

impl NicQueue {
    const NEW: Self = Self {
        users: 0,
        parked: FlowSlot::NONE,
        paused: false,
    };
}

/// The sending side of a NIC: its ports, and the flows where the NIC has them.
#[derive(Debug)]
pub(crate) struct Egress {
    pub(super) flows: Vec<Flow>,
    free: FlowSlot,
    pub(super) ports: Vec<Port>,
    alarms: Alarms<Alarm>,
    /// First timeouts of flows: they come in order of time, and most flows are gone by then.
    timeouts: VecDeque<Alarm>,
    /// Flows that are held by their number (BFC-37).
    pub(super) held: MixedMap<u32, ()>,
    /// Destinations that are paused (FG-42).
    pub destinations: Destinations,
    /// Which receivers can be reached; `None`: all.
    pub(super) reach: Option<Reach>,
    /// ACKs, NAKs and CNPs that wait.
    pub replies: Replies,
    /// Pauses of neighbours that run out, once there are any.
    timed: Option<Box<TimedPauses>>,
}

impl Egress {
    /// The ports have these rates, for frames of `classes` classes.
    pub fn new(config: &NicConfig, classes: usize, rates: &[Rate]) -> Self {
        let ring = Ring {
            head: FlowSlot::NONE,
            tail: FlowSlot::NONE,
        };
        let port = |&rate: &Rate| Port {
            rate,
            ring_mask: 0,
            paused: 0,
            paused_by_frames: 0,
            held_classes: 0,
            rings: vec![ring; classes],
            ordered: Ordered::new(config.order).map_or_else(Vec::new, |order| vec![order; classes]),
            queues: Vec::new(),
        };
        let ports = rates.iter().map(port).collect();
        Self {
            flows: Vec::new(),
            free: FlowSlot::NONE,
            ports,
            alarms: Alarms::new(),
            timeouts: VecDeque::new(),
            held: MixedMap::default(),
            destinations: Destinations::default(),
            reach: None,
            replies: Replies::new(rates.len(), classes),
            timed: None,
        }
    }

    /// Lowest class that has something and is not paused; of paused ones, where a pause does not hold
    /// replies at the host, those with replies.
    #[inline]
    pub fn next_class(&self, config: &NicConfig, port: u16) -> Option<u8> {
        let p = &self.ports[port as usize];
        let replies = self.replies.ready(port);
        let free = if config.host.ack_pausable { 0 } else { replies }; // NS3-21
        let ready = (p.ring_mask | replies) & !p.paused | free;
        (ready != 0).then(|| ready.trailing_zeros() as u8)
    }

    /// Number of ports.
    pub const fn port_count(&self) -> u16 {
        self.ports.len() as u16
    }

    /// In the place of rings: classes of which a receiver-driven transport has something to send.
    pub fn set_ready(&mut self, port: u16, classes: ClassSet) {
        self.ports[port as usize].ring_mask = classes;
    }

    /// A flow begins. Returns its slot; it is blocked until it is revived.
    pub fn start<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        start: &FlowStart,
        sink: &mut S,
    ) -> FlowSlot {
        let flow = Flow {
            start: *start,
            state: State::Blocked,
            link: FlowSlot::NONE,
            class: config.data_class + start.class,
            queue: self.take_queue(config, start),
            packets: start.bytes.div_ceil(u64::from(config.mtu)) as u32, // NIC-01
            next: 0,
            acked: 0,
            reached: 0,
            retransmitted: 0,
            next_ps: now,
            progress_ps: now,
            asked_ps: NEVER,
            rising: false,
            repair: Repair::new(&config.recovery, &start.path),
            spray: (config.spray.as_ref())
                .map(|spray| Box::new(Spray::new(spray, start.hash, start.ways))),
        };
        let slot = if self.free == FlowSlot::NONE {
            self.flows.push(flow);
            FlowSlot::new(self.flows.len() - 1)
        } else {
            let slot = self.free;
            self.free = self.flows[slot.index()].link;
            self.flows[slot.index()] = flow;
            slot
        };
        if let Some(timeout_ps) = config.recovery.shortest_timeout_ps() {
            let at = now + timeout_ps;
            if self.timeouts.is_empty() {
                sink.wake(at);
            }
            self.timeouts.push_back(Alarm {
                at,
                flow: start.flow,
                kind: AlarmKind::Timeout,
                slot,
            });
        }
        slot
    }

    /// BFC-11: a queue that no flow uses and that is not paused, else one that no flow uses, else
    /// one by hash.
    fn take_queue(&mut self, config: &NicConfig, start: &FlowStart) -> u16 {
        let queues = &mut self.ports[start.port as usize].queues;
        let unused = |queues: &[NicQueue], open: bool| {
            queues
                .iter()
                .position(|q| q.users == 0 && !(open && q.paused))
        };
        let queue = unused(queues, true)
            .or_else(|| {
                // Queues come into being when they are first needed.
                let more = queues.len() < config.queues as usize;
                more.then(|| {
                    queues.push(NicQueue::NEW);
                    queues.len() - 1
                })
            })
            .or_else(|| unused(queues, false))
            .unwrap_or_else(|| start.hash as usize % queues.len());
        queues[queue].users += 1;
        queue as u16
    }

    /// Asks to be called for a flow.
    pub fn alarm<S: Sink>(&mut self, at: Time, kind: AlarmKind, slot: FlowSlot, sink: &mut S) {
        let flow = self.flows[slot.index()].start.flow;
        let alarm = Alarm {
            at,
            flow,
            kind,
            slot,
        };
        self.alarms.set(alarm, sink);
    }

    /// A flow that may send joins the end of its ring, or takes its place in the order that there is instead.
    pub fn enter_ring<S: Sink>(&mut self, slot: FlowSlot, sink: &mut S) {
        let flow = &mut self.flows[slot.index()];
        flow.state = State::Ready;
        sink.flow_waits(&flow.start, Wait::Turn);
        flow.link = FlowSlot::NONE;
        let class = flow.class;
        let port = &mut self.ports[flow.start.port as usize];
        if let Some(ordered) = port.ordered.get_mut(class as usize) {
            ordered.push(&flow.start, flow.remaining(), slot);
            port.ring_mask |= 1 << class;
            return;
        }
        let ring = &mut port.rings[class as usize];
        let tail = ring.tail;
        ring.tail = slot;
        if tail == FlowSlot::NONE {
            ring.head = slot;
            port.ring_mask |= 1 << class;
        } else {
            self.flows[tail.index()].link = slot;
        }
    }

    /// The time of a flow that waited for its pace may have come.
    pub fn pace<S: Sink>(&mut self, now: Time, slot: FlowSlot, sink: &mut S) {
        let flow = &self.flows[slot.index()];
        if flow.state == State::Paced && flow.next_ps <= now {
            let port = flow.start.port;
            self.enter_ring(slot, sink);
            sink.kick(port);
        }
    }

    /// Whether a flow whose receiver was out of reach can be sent again; it is blocked then.
    // LNK-13
    pub fn rejoin(&mut self, slot: FlowSlot) -> bool {
        let back = self.flows[slot.index()].state == State::Cut && !self.is_cut(slot);
        if back {
            self.flows[slot.index()].state = State::Blocked;
        }
        back
    }

    /// Takes the flow whose turn it is out of its ring.
    pub fn leave_ring(&mut self, port: u16, class: u8) -> Option<FlowSlot> {
        let p = &mut self.ports[port as usize];
        if let Some(ordered) = p.ordered.get_mut(class as usize) {
            let next = ordered.pop();
            if ordered.is_empty() {
                p.ring_mask &= !(1 << class);
            }
            return next;
        }
        let ring = &mut p.rings[class as usize];
        let slot = ring.head;
        if slot == FlowSlot::NONE {
            return None;
        }
        ring.head = self.flows[slot.index()].link;
        if ring.head == FlowSlot::NONE {
            ring.tail = FlowSlot::NONE;
            p.ring_mask &= !(1 << class);
        }
        Some(slot)
    }

    /// Fetches what a port that sends, or an alarm, looks at first.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.prefetch_sending(port);
        self.alarms.prefetch();
        prefetch(self.timeouts.as_slices().0, 0);
    }

    /// Fetches the queues of replies of a port, and what the port needs to send. Changes nothing.
    #[inline]
    pub fn prefetch_replies(&self, port: u16) {
        self.replies.prefetch(port);
        self.prefetch_sending(port);
    }

    /// Fetches what a port that sends looks at first.
    #[inline]
    pub fn prefetch_sending(&self, port: u16) {
        prefetch(&self.ports, port as usize);
    }

    /// Fetches what they look at then, the rings of the port, and returns the flow of the next alarm.
    #[inline]
    pub fn prefetch_rings(&self, port: u16) -> Option<FlowSlot> {
        if let Some(port) = self.ports.get(port as usize) {
            prefetch(&port.rings, 0);
            prefetch(&port.queues, 0);
        }
        let next = self.alarms.first();
        next.or_else(|| self.timeouts.front().copied())
            .map(|alarm| alarm.slot)
    }

    /// Fetches a flow.
    #[inline]
    pub fn prefetch(&self, slot: FlowSlot) {
        if let Some(flow) = self.flows.get(slot.index()) {
            prefetch_whole(flow);
        }
    }

    /// A flow of which everything is acknowledged gives its place back.
    pub fn finish(&mut self, slot: FlowSlot) {
        let flow = &mut self.flows[slot.index()];
        let port = &mut self.ports[flow.start.port as usize];
        let queue = &mut port.queues[flow.queue as usize];
        debug_assert!(
            queue.users > 0,
            "flow {slot:?} ends on a queue without flows"
        );
        queue.users -= 1;
        match flow.state {
            State::Ready => flow.state = State::Leaving,
            State::Parked => {
                // Unlink it from the parked flows of its queue.
                let link = flow.link;
                if queue.parked == slot {
                    queue.parked = link;
                } else {
                    let mut at = queue.parked;
                    while self.flows[at.index()].link != slot {
                        at = self.flows[at.index()].link;
                    }
                    self.flows[at.index()].link = link;
                }
                self.release(slot);
            }
            State::Waiting => {
                let (link, start) = (flow.link, flow.start);
                if let Some(first) = self.destinations.first_mut(start.port, start.dst) {
                    if *first == slot {
                        *first = link;
                    } else {
                        let mut at = *first;
                        while self.flows[at.index()].link != slot {
                            at = self.flows[at.index()].link;
                        }
                        self.flows[at.index()].link = link;
                    }
                }
                self.release(slot);
            }
            _ => self.release(slot),
        }
    }

    /// Frees a slot that nothing links to any more.
    pub fn release(&mut self, slot: FlowSlot) {
        let flow = &mut self.flows[slot.index()];
        flow.state = State::Free;
        flow.link = self.free;
        self.free = slot;
    }

    /// Pauses or resumes classes of a port. Returns the paused ones before and after.
    pub fn pause_classes(&mut self, port: u16, mask: ClassSet, on: bool) -> (ClassSet, ClassSet) {
        let p = &mut self.ports[port as usize];
        let before = p.paused_by_frames;
        p.paused_by_frames = if on { before | mask } else { before & !mask };
        p.paused = p.paused_by_frames | p.held_classes;
        (before, p.paused_by_frames)
    }

    /// Pauses classes of a port for a time. Returns the paused ones before and after, and until when.
    // QNT-02
    pub fn pause_classes_for(
        &mut self,
        now: Time,
        port: u16,
        mask: ClassSet,
        quanta: u16,
    ) -> (ClassSet, ClassSet, Time) {
        let rates = self.ports.iter().map(|port| port.rate);
        let timed = (self.timed).get_or_insert_with(|| Box::new(TimedPauses::new(rates)));
        let until = timed.pause(now, port, mask, quanta);
        let (before, after) = self.pause_classes(port, mask, true);
        (before, after, until)
    }

    /// Pauses of these classes of a port do not run out any more.
    // QNT-04
    pub fn forget_times(&mut self, port: u16, mask: ClassSet) {
        if let Some(timed) = &mut self.timed {
            timed.forget(port, mask);
        }
    }

    /// Lets go what is held by pauses that have run out, and asks to be called for the next.
    #[inline]
    pub fn end_pauses<S: Sink>(&mut self, now: Time, sink: &mut S) {
        if self.timed.is_some() {
            self.end_timed_pauses(now, sink);
        }
    }

    // QNT-03
    #[inline(never)]
    fn end_timed_pauses<S: Sink>(&mut self, now: Time, sink: &mut S) {
        while let Some((port, class)) = self.timed.as_mut().and_then(|t| t.expired(now)) {
            let (before, after) = self.pause_classes(port, 1 << class, false);
            sink.pfc_received(port, before, after);
            sink.kick(port);
        }
        if let Some(next) = self.timed.as_mut().and_then(|timed| timed.next()) {
            sink.wake(next);
        }
    }

    /// Pauses of neighbours that ran out.
    // QNT-09
    pub fn expired_pauses(&self) -> u64 {
        self.timed.as_ref().map_or(0, |timed| timed.count())
    }

    /// The neighbour has no room for a class, or has some again.
    pub fn hold_class(&mut self, port: u16, class: u8, on: bool) {
        let p = &mut self.ports[port as usize];
        p.held_classes = p.held_classes & !(1 << class) | ClassSet::from(on) << class;
        p.paused = p.paused_by_frames | p.held_classes;
    }

    /// BFC-30: exactly these queues of a port are to be paused; the list is in order.
    pub fn pause_exactly<S: Sink>(
        &mut self,
        config: &NicConfig,
        port: u16,
        paused: &[u32],
        sink: &mut S,
    ) {
        let known = self.ports[port as usize].queues.len() as u32;
        let mut named = paused.iter().copied().peekable();
        for queue in 0..known {
            let on = named.next_if_eq(&queue).is_some();
            self.pause_queue(config, port, queue as u16, on, sink);
        }
        for queue in named {
            self.pause_queue(config, port, queue as u16, true, sink);
        }
    }

    /// BFC-37: holds a flow by its number, or lets it go; it stands at the queue `queue`. False where that
    /// changed nothing.
    pub fn pause_flow<S: Sink>(
        &mut self,
        port: u16,
        (number, queue): (u32, u16),
        on: bool,
        sink: &mut S,
    ) -> bool {
        let nth = usize::from(queue);
        sink.hold_received(port, number, on);
        if on {
            return self.held.insert(number, ()).is_none();
        }
        if self.held.remove(&number).is_none() {
            return false;
        }
        // The flow stands parked at its queue, if its turn came meanwhile.
        let queues = &mut self.ports[port as usize].queues;
        let Some(queue) = queues.get_mut(nth) else {
            return true;
        };
        let mut slot = std::mem::replace(&mut queue.parked, FlowSlot::NONE);
        while slot != FlowSlot::NONE {
            let flow = &mut self.flows[slot.index()];
            let next = flow.link;
            if flow.start.flow == number {
                self.enter_ring(slot, sink);
            } else {
                let queue = &mut self.ports[port as usize].queues[nth];
                flow.link = queue.parked;
                queue.parked = slot;
            }
            slot = next;
        }
        sink.kick(port);
        true
    }

    /// FG-42: pauses or resumes a destination. False where that changed nothing. Flows wait from
    /// their next turn on.
    pub fn pause_destination<S: Sink>(
        &mut self,
        port: u16,
        dst: u32,
        on: bool,
        sink: &mut S,
    ) -> bool {
        if on {
            return self.destinations.pause(port, dst);
        }
        let Some(mut slot) = self.destinations.resume(port, dst) else {
            return false;
        };
        while slot != FlowSlot::NONE {
            let next = self.flows[slot.index()].link;
            self.enter_ring(slot, sink);
            slot = next;
        }
        true
    }

    /// All parked flows of a port stand in the ring again; those that are still held are parked
    /// when their turn comes.
    // LNK-21
    pub fn unpark<S: Sink>(&mut self, port: u16, sink: &mut S) {
        for queue in 0..self.ports[port as usize].queues.len() {
            let queue = &mut self.ports[port as usize].queues[queue];
            let mut slot = std::mem::replace(&mut queue.parked, FlowSlot::NONE);
            while slot != FlowSlot::NONE {
                let next = self.flows[slot.index()].link;
                self.enter_ring(slot, sink);
                slot = next;
            }
        }
    }

    /// BFC-10, BFC-11: pauses or resumes a queue of the NIC. False where that changed nothing.
    pub fn pause_queue<S: Sink>(
        &mut self,
        config: &NicConfig,
        port: u16,
        queue: u16,
        on: bool,
        sink: &mut S,
    ) -> bool {
        let queues = &mut self.ports[port as usize].queues;
        if queues.len() <= queue as usize && queue < config.queues {
            queues.resize(queue as usize + 1, NicQueue::NEW);
        }
        let Some(q) = queues.get_mut(queue as usize) else {
            return false;
        };
        if q.paused == on {
            return false;
        }
        q.paused = on;
        sink.hold_received(port, queue.into(), on);
        if !on {
            let mut slot = std::mem::replace(&mut q.parked, FlowSlot::NONE);
            while slot != FlowSlot::NONE {
                let next = self.flows[slot.index()].link;
                self.enter_ring(slot, sink);
                slot = next;
            }
            sink.kick(port);
        }
        true
    }

    /// Whether the flow of an alarm has finished.
    fn is_gone(&self, alarm: &Alarm) -> bool {
        !self.flows[alarm.slot.index()].is_open(alarm.flow)
    }

    /// Takes the earliest alarm if it is due, else asks to be called at its time. Forgets first timeouts of flows that have finished.
    pub fn due_alarm<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<Alarm> {
        loop {
            while self
                .timeouts
                .front()
                .is_some_and(|alarm| self.is_gone(alarm))
            {
                self.timeouts.pop_front();
            }
            let timeout = self.timeouts.front().copied();
            let next = self.alarms.first();
            let alarm = match (timeout, next) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b)?,
            };
            if alarm.at > now {
                sink.wake(alarm.at);
                return None;
            }
            if timeout == Some(alarm) {
                self.timeouts.pop_front();
            } else {
                self.alarms.pop();
            }
            if !self.is_gone(&alarm) {
                return Some(alarm);
            }
        }
    }

    /// Whether a flow waits for its pace.
    pub fn is_pacing(&self) -> bool {
        self.flows.iter().any(|flow| flow.state == State::Paced)
    }

    /// Calls `visit` with every flow of a port and class that has something left to send.
    // SPFC-44
    pub fn for_each_unsent(&self, port: u16, class: u8, mut visit: impl FnMut(&FlowStart)) {
        for flow in &self.flows {
            let there = !matches!(flow.state, State::Leaving | State::Free);
            if there && flow.start.port == port && flow.class == class && flow.remaining() > 0 {
                visit(&flow.start);
            }
        }
    }

    /// Calls `visit` with every unfinished flow.
    pub fn for_each_flow(&self, mtu: u16, mut visit: impl FnMut(&Unfinished)) {
        for flow in &self.flows {
            let why = match flow.state {
                State::Leaving | State::Free => continue,
                State::Cut => OUT_OF_REACH,
                _ if self.cuts(&flow.start) => OUT_OF_REACH,
                State::Ready => "ready to send",
                State::Paced => "waits for its pace",
                State::Blocked => "waits for an acknowledgement",
                State::Parked => "its queue is paused",
                State::Waiting => "its destination is paused",
            };
            let acked_bytes = flow.start.bytes_below(flow.acked, mtu);
            visit(&flow.start.unfinished(acked_bytes, flow.retransmitted, why));
        }
    }

    /// Classes of a port that wait for the neighbour: that it pauses, and that it has no room for.
    pub fn held_classes(&self, port: u16) -> (ClassSet, ClassSet) {
        let p = &self.ports[port as usize];
        (p.paused_by_frames, p.held_classes)
    }

    /// Classes of a port that are paused.
    #[inline]
    pub fn paused_classes(&self, port: u16) -> ClassSet {
        self.ports[port as usize].paused
    }

    /// Whether the receiver of a flow is out of reach.
    pub fn is_cut(&self, slot: FlowSlot) -> bool {
        self.cuts(&self.flows[slot.index()].start)
    }

    /// Whether the receiver of a flow is out of reach, whatever sends the flow.
    pub fn cuts(&self, start: &FlowStart) -> bool {
        let reach = self.reach.as_ref();
        reach.is_some_and(|reach| reach.cuts(start.src, start.dst))
    }
}
