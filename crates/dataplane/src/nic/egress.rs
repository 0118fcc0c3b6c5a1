//! The sending side of a NIC without its congestion control: flows, and the order in which they
//! send. `flow.rs` has the states of a flow, `pauses.rs` pauses and resumes flows, `timers.rs`
//! has their timers.

use super::flow::{Flow, State};
use super::order::Ordered;
use super::reach::{OUT_OF_REACH, Reach};
use super::timers::{FlowTimer, FlowTimers, TimerKind};
use crate::classes::ClassSet;
use crate::config::NicConfig;
use crate::flow::{FlowStart, Unfinished, packets_of};
use crate::gate::Gate;
use crate::ids::FlowSlot;
use crate::paths::Spray;
use crate::prefetch::{prefetch, prefetch_whole};
use crate::reliability::Repair;
use crate::replies::Replies;
use crate::sink::Sink;
use crate::units::{NEVER, Rate, Time};
use crate::wait::Wait;

/// Flows of a port and class that may send, linked by [`Flow::link`]. They are served in round
/// robin, one packet at a time.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: FlowSlot,
    tail: FlowSlot,
}

#[derive(Clone, Debug)]
pub(super) struct Port {
    pub rate: Rate,
    /// Classes with flows that may send.
    ring_mask: ClassSet,
    /// Classes that may not send: a copy of [`Gate::closed`].
    pub closed: ClassSet,
    rings: Vec<Ring>,
    /// Used instead of the rings if flows are not served in round robin.
    ordered: Vec<Ordered>,
    pub queues: Vec<NicQueue>,
}

/// A queue that the neighbour can pause. It has one flow, or several if there are more flows than
/// queues.
#[derive(Clone, Copy, Debug)]
pub(super) struct NicQueue {
    users: u32,
    /// First flow that waits because the queue or the flow is paused.
    pub parked: FlowSlot,
    pub paused: bool,
}

impl NicQueue {
    pub const NEW: Self = Self {
        users: 0,
        parked: FlowSlot::NONE,
        paused: false,
    };
}

/// The sending side of a NIC: its ports, and its flows unless the sending half stores the flows.
#[derive(Debug)]
pub(crate) struct Egress {
    pub(super) flows: Vec<Flow>,
    free: FlowSlot,
    pub(super) ports: Vec<Port>,
    timers: FlowTimers,
    /// Pauses and missing credits, for which ports do not send.
    pub gate: Gate,
    /// Receivers that can be reached over working links, or `None` if all can be reached.
    pub(super) reach: Option<Reach>,
    /// Queued ACKs, NAKs and CNPs.
    pub replies: Replies,
}

impl Egress {
    /// Creates the sending side of ports with these rates, for frames of `classes` traffic classes.
    pub fn new(config: &NicConfig, classes: usize, rates: &[Rate]) -> Self {
        let ring = Ring {
            head: FlowSlot::NONE,
            tail: FlowSlot::NONE,
        };
        let port = |&rate: &Rate| Port {
            rate,
            ring_mask: 0,
            closed: 0,
            rings: vec![ring; classes],
            ordered: Ordered::new(config.order).map_or_else(Vec::new, |order| vec![order; classes]),
            queues: Vec::new(),
        };
        let ports = rates.iter().map(port).collect();
        Self {
            flows: Vec::new(),
            free: FlowSlot::NONE,
            ports,
            timers: FlowTimers::default(),
            gate: Gate::new(rates.iter().copied()),
            reach: None,
            replies: Replies::new(rates.len(), classes),
        }
    }

    /// Returns the lowest class that has packets and may send. Replies of a paused class may be
    /// sent if the host does not pause replies.
    #[inline]
    pub fn next_class(&self, config: &NicConfig, port: u16) -> Option<u8> {
        let p = &self.ports[port as usize];
        let replies = self.replies.ready(port);
        let free = if config.host.ack_pausable { 0 } else { replies }; // NS3-21: ACKs not paused
        let ready = (p.ring_mask | replies) & !p.closed | free;
        (ready != 0).then(|| ready.trailing_zeros() as u8)
    }

    /// Returns the number of ports.
    pub const fn port_count(&self) -> u16 {
        self.ports.len() as u16
    }

    /// Sets the classes in which a receiver-driven transport has packets to send. Such a transport
    /// does not use the send rings.
    pub fn set_ready(&mut self, port: u16, classes: ClassSet) {
        self.ports[port as usize].ring_mask = classes;
    }

    /// Starts a flow and returns its slot. The flow is blocked until the sending half finds that it
    /// may send.
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
            pair: 0,
            packets: packets_of(start.bytes, config.mtu),
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
            let timer = FlowTimer {
                flow: start.flow,
                kind: TimerKind::Timeout,
                slot,
            };
            (self.timers).set_first_timeout(now + timeout_ps, timer, sink);
        }
        slot
    }

    /// Selects the queue of a new flow and counts the flow there. Prefers an unused queue that is
    /// not paused, then any unused queue. Otherwise the hash of the flow selects the queue.
    // BFC-11
    fn take_queue(&mut self, config: &NicConfig, start: &FlowStart) -> u16 {
        let queues = &mut self.ports[start.port as usize].queues;
        let unused = |queues: &[NicQueue], open: bool| {
            queues
                .iter()
                .position(|q| q.users == 0 && !(open && q.paused))
        };
        let queue = unused(queues, true)
            .or_else(|| {
                // Queues are created when they are first needed.
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

    /// Removes and returns the first timer if it has expired. Otherwise schedules a call of the NIC
    /// at the time of that timer.
    #[inline]
    pub fn due_timer<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<FlowTimer> {
        self.timers.due(now, &self.flows, sink)
    }

    /// Sets a timer of a flow.
    pub fn set_timer<S: Sink>(&mut self, at: Time, kind: TimerKind, slot: FlowSlot, sink: &mut S) {
        let flow = self.flows[slot.index()].start.flow;
        self.timers.set(at, FlowTimer { flow, kind, slot }, sink);
    }

    /// Adds a flow that may send to the end of its send ring, or to the ordered list if the port
    /// uses no rings.
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

    /// Adds a flow to its send ring if it waited for its pacing time and that time has come.
    pub fn pace<S: Sink>(&mut self, now: Time, slot: FlowSlot, sink: &mut S) {
        let flow = &self.flows[slot.index()];
        if flow.state == State::Paced && flow.next_ps <= now {
            let port = flow.start.port;
            self.enter_ring(slot, sink);
            sink.kick(port);
        }
    }

    /// Returns true if the receiver of a flow was unreachable and can be reached again. Then sets
    /// the flow to `Blocked`.
    // LNK-13
    pub fn rejoin(&mut self, slot: FlowSlot) -> bool {
        let back = self.flows[slot.index()].state == State::Cut && !self.is_cut(slot);
        if back {
            self.flows[slot.index()].state = State::Blocked;
        }
        back
    }

    /// Removes the flow that sends next in a class of a port, and returns its slot.
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

    /// Prefetches the memory that a sending port, or a timer, reads first.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.prefetch_sending(port);
        self.timers.prefetch();
    }

    /// Prefetches the reply queues of a port, and the state of the port. Changes no state.
    #[inline]
    pub fn prefetch_replies(&self, port: u16) {
        self.replies.prefetch(port);
        self.prefetch_sending(port);
    }

    /// Prefetches the state of a port.
    #[inline]
    pub fn prefetch_sending(&self, port: u16) {
        prefetch(&self.ports, port as usize);
    }

    /// Prefetches the send rings and queues of a port. Returns the flow of the next timer.
    #[inline]
    pub fn prefetch_rings(&self, port: u16) -> Option<FlowSlot> {
        if let Some(port) = self.ports.get(port as usize) {
            prefetch(&port.rings, 0);
            prefetch(&port.queues, 0);
        }
        self.timers.next()
    }

    /// Prefetches a flow.
    #[inline]
    pub fn prefetch(&self, slot: FlowSlot) {
        if let Some(flow) = self.flows.get(slot.index()) {
            prefetch_whole(flow);
        }
    }

    /// Removes a flow whose bytes are all acknowledged.
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
                // Unlink the flow from the parked flows of its queue.
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
                if let Some(first) = self.gate.first_waiting(start.port, start.dst) {
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

    /// Frees the slot of a flow that is in no ring and in no list of waiting flows.
    pub fn release(&mut self, slot: FlowSlot) {
        let flow = &mut self.flows[slot.index()];
        flow.state = State::Free;
        flow.link = self.free;
        self.free = slot;
    }

    /// Returns true if a flow waits because of its pacing rate.
    pub fn is_pacing(&self) -> bool {
        self.flows.iter().any(|flow| flow.state == State::Paced)
    }

    /// Calls `visit` with every flow of a port and class that has bytes left to send.
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

    /// Returns true if no path leads to the receiver of the flow in `slot`.
    pub fn is_cut(&self, slot: FlowSlot) -> bool {
        self.cuts(&self.flows[slot.index()].start)
    }

    /// Returns true if no path leads to the receiver of a flow.
    pub fn cuts(&self, start: &FlowStart) -> bool {
        let reach = self.reach.as_ref();
        reach.is_some_and(|reach| reach.cuts(start.src, start.dst))
    }
}
