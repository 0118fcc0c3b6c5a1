//! The sending half of a NIC: flows, their windows and pace, and the order in which they send.
//!
//! A flow is in one of six states: in the ring of its (port, class), waiting for its pace,
//! waiting for an acknowledgement, waiting for BFC to resume its queue, waiting for links that
//! would lead to its receiver, or finished.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::config::NicConfig;
use crate::hop::bfc::PauseFlow;
use crate::nic::control::{AckInfo, Control};
use crate::nic::destinations::Destinations;
use crate::nic::link::Reach;
use crate::nic::recovery::{Progress, Repair, Reply};
use crate::nic::{FlowEnd, FlowStart, NicCounters};
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use crate::prefetch::{prefetch, prefetch_whole};
use crate::sink::Sink;
use crate::switch::MixedMap;
use crate::units::{NEVER, Rate, Time};

const NO_SLOT: u32 = u32::MAX;

/// Why a flow does not send whose receiver no way leads to.
pub const OUT_OF_REACH: &str = "its receiver cannot be reached";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Stands in the ring.
    Ready,
    /// Must not send before `next_ps`.
    Paced,
    /// Has nothing that it may send until an acknowledgement comes.
    Blocked,
    /// Its queue is paused by BFC.
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
    control: Control,
    pub state: State,
    /// Next slot in the ring, among the parked flows of its queue, or among the free slots.
    link: u32,
    /// Class of its frames.
    class: u8,
    /// Queue of the NIC that it uses.
    queue: u16,
    /// Packets in all.
    packets: u32,
    /// Next packet number to send.
    next: u32,
    /// Everything below is acknowledged.
    acked: u32,
    /// Everything below has been sent at least once.
    reached: u32,
    retransmitted: u32,
    /// Earliest start of the next packet.
    next_ps: Time,
    /// Last time that anything moved: an ACK, or a first packet in flight.
    progress_ps: Time,
    /// When the packet was sent that asks for an acknowledgement which has not come; [`NEVER`]: none
    /// does.
    asked_ps: Time,
    /// An [`AlarmKind::Rise`] is set.
    rising: bool,
    /// What is known of single packets, where the recovery wants to know.
    repair: Option<Box<Repair>>,
}

impl Flow {
    const fn bytes_below(&self, psn: u32, mtu: u16) -> u64 {
        let bytes = psn as u64 * mtu as u64;
        if bytes < self.start.bytes {
            bytes
        } else {
            self.start.bytes
        }
    }

    /// NIC-30: payload bytes that it has not sent yet, or must send again.
    const fn remaining(&self) -> u64 {
        let sent = self.next as u64 * self.start.path.mtu as u64;
        self.start.bytes.saturating_sub(sent)
    }

    /// NIC-04, NIC-09: its window lets it send, or no acknowledgement would come that could open it.
    fn may_send(&mut self, now: Time, config: &NicConfig) -> bool {
        self.fits(now, config) || config.ack_every > 1 && self.must_ask()
    }

    /// Something is in flight, and more to be sent, but nothing that was sent asks for an
    /// acknowledgement: the window has shrunk since.
    // NIC-09
    const fn must_ask(&self) -> bool {
        self.asked_ps == NEVER && self.next < self.packets && self.next > self.acked
    }

    /// NIC-04: something unsent, and less in flight than the window.
    fn fits(&mut self, now: Time, config: &NicConfig) -> bool {
        // REC-14, REC-31: a lost packet has its place in the window already.
        if let Some(repair) = &self.repair
            && repair.lost(self.acked).is_some()
        {
            return true;
        }
        if self.next >= self.packets {
            return false;
        }
        let mut in_flight =
            self.bytes_below(self.next, config.mtu) - self.bytes_below(self.acked, config.mtu);
        let mut window = self.control.window(&config.control, &self.start.path, now);
        if let Some(repair) = &self.repair {
            (in_flight, window) =
                repair.flight(&config.recovery, &self.start.path, in_flight, window);
        }
        in_flight < window
    }

    /// The number of the next packet, which is now sent: a lost one, or a new one.
    fn take_number(&mut self, now: Time) -> u32 {
        if let Some(repair) = &mut self.repair
            && let Some(psn) = repair.lost(self.acked)
        {
            repair.sent_again(now, psn);
            return psn;
        }
        self.next += 1;
        self.next - 1
    }

    const fn progress(&self, mtu: u16) -> Progress {
        Progress {
            acked: self.acked,
            next: self.next,
            mtu,
        }
    }

    /// What an ACK or NAK says of single packets. Returns the bytes that are newly known to have
    /// arrived, `newly` of them by the cumulative acknowledgement.
    fn read_reply(&mut self, config: &NicConfig, nak: bool, cold: &Cold, newly: u64) -> u64 {
        let at = self.progress(config.mtu);
        // REC-11: the bytes left in the flow name the packet that is answered.
        let left = cold.remaining.div_ceil(u64::from(config.mtu)) as u32;
        let reply = Reply {
            beyond_gap: nak.then_some(self.packets - left),
            sent_ps: cold.sent_ps,
            newly,
        };
        let Some(repair) = &mut self.repair else {
            return newly;
        };
        let news = repair.replied(&at, &reply);
        if news.loss {
            self.lost_something(config);
        }
        news.newly
    }

    /// The control hears of a loss.
    fn lost_something(&mut self, config: &NicConfig) {
        self.asked_ps = NEVER; // NIC-09: what asked may be what was lost.
        let snd_nxt = self.bytes_below(self.next, config.mtu);
        self.control
            .on_loss(&config.control, &self.start.path, snd_nxt);
    }
}

/// Why the NIC wants to be called. Equal times are served by flow, then kind.
// NIC-06
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Time,
    flow: u32,
    kind: AlarmKind,
    slot: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AlarmKind {
    Pace,
    Timeout,
    /// The control's rate, and its window with it, may grow without an acknowledgement.
    Rise,
}

/// A circular list of flows, served one packet at a time.
#[derive(Clone, Copy, Debug)]
struct Ring {
    head: u32,
    tail: u32,
}

#[derive(Clone, Debug)]
struct Port {
    rate: Rate,
    /// Classes with flows in the ring.
    ring_mask: u8,
    /// Classes with replies.
    reply_mask: u8,
    /// Classes that PFC holds.
    paused: u8,
    rings: Vec<Ring>,
    /// In the place of the rings, where the flow with the least left goes first.
    shortest: Vec<BinaryHeap<Reverse<Next>>>,
    queues: Vec<NicQueue>,
}

/// A flow that is ready, by what it had left when it got so; of equals the one that started first.
// NIC-30
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    remaining: u64,
    flow: u32,
    slot: u32,
}

/// What BFC can pause: one flow, or several where there are more flows than queues.
#[derive(Clone, Copy, Debug)]
struct NicQueue {
    users: u32,
    /// First parked flow.
    parked: u32,
    paused: bool,
}

impl NicQueue {
    const NEW: Self = Self {
        users: 0,
        parked: NO_SLOT,
        paused: false,
    };
}

/// The sending half of a NIC.
#[derive(Debug)]
pub(super) struct Sender {
    pub flows: Vec<Flow>,
    free: u32,
    ports: Vec<Port>,
    alarms: BinaryHeap<Reverse<Alarm>>,
    /// First timeouts of flows: they come in order of time, and most flows are gone by then.
    timeouts: VecDeque<Alarm>,
    /// Flows that are held by their number (BFC-37).
    pub held: MixedMap<u32, ()>,
    /// Destinations that are paused (FG-42).
    pub destinations: Destinations,
    /// Who can be reached; `None`: everybody.
    pub reach: Option<Reach>,
}

impl Sender {
    pub fn new(config: &NicConfig, classes: usize, rates: &[Rate]) -> Self {
        let ring = Ring {
            head: NO_SLOT,
            tail: NO_SLOT,
        };
        let port = |&rate: &Rate| Port {
            rate,
            ring_mask: 0,
            reply_mask: 0,
            paused: 0,
            rings: vec![ring; classes],
            shortest: vec![BinaryHeap::new(); if config.shortest_first { classes } else { 0 }],
            queues: Vec::new(),
        };
        let ports = rates.iter().map(port).collect();
        Self {
            flows: Vec::new(),
            free: NO_SLOT,
            ports,
            alarms: BinaryHeap::new(),
            timeouts: VecDeque::new(),
            held: MixedMap::default(),
            destinations: Destinations::default(),
            reach: None,
        }
    }

    /// Lowest class that has something and is not paused; of paused ones, where PFC does not hold
    /// replies at the host, those with replies.
    #[inline]
    pub fn next_class(&self, config: &NicConfig, port: u16) -> Option<u8> {
        let p = &self.ports[port as usize];
        let free = if config.host.ack_pausable {
            0
        } else {
            p.reply_mask
        }; // NS3-21
        let ready = (p.ring_mask | p.reply_mask) & !p.paused | free;
        (ready != 0).then(|| ready.trailing_zeros() as u8)
    }

    pub fn set_replies(&mut self, port: u16, class: u8, some: bool) {
        let mask = &mut self.ports[port as usize].reply_mask;
        *mask = if some {
            *mask | 1 << class
        } else {
            *mask & !(1 << class)
        };
    }

    pub const fn ports(&self) -> u16 {
        self.ports.len() as u16
    }

    /// In the place of flows: classes of which a transport of its own has something to send.
    pub fn set_ready(&mut self, port: u16, classes: u8) {
        self.ports[port as usize].ring_mask = classes;
    }

    pub fn start<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        start: &FlowStart,
        sink: &mut S,
    ) {
        let flow = Flow {
            start: *start,
            control: Control::new(&config.control, &start.path, now),
            state: State::Blocked,
            link: NO_SLOT,
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
            repair: Repair::new(&config.recovery),
        };
        let slot = if self.free == NO_SLOT {
            self.flows.push(flow);
            self.flows.len() as u32 - 1
        } else {
            let slot = self.free;
            self.free = self.flows[slot as usize].link;
            self.flows[slot as usize] = flow;
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
        self.revive(now, config, slot, sink);
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

    fn alarm<S: Sink>(&mut self, at: Time, kind: AlarmKind, slot: u32, sink: &mut S) {
        let flow = self.flows[slot as usize].start.flow;
        let alarm = Alarm {
            at,
            flow,
            kind,
            slot,
        };
        if self.alarms.peek().is_none_or(|top| alarm < top.0) {
            sink.wake(at);
        }
        self.alarms.push(Reverse(alarm));
    }

    /// Puts a blocked flow where it belongs, if it may send again.
    pub fn revive<S: Sink>(&mut self, now: Time, config: &NicConfig, slot: u32, sink: &mut S) {
        let flow = &mut self.flows[slot as usize];
        if flow.state != State::Blocked {
            return;
        }
        if !flow.may_send(now, config) {
            self.await_rise(config, slot, sink);
            return;
        }
        if flow.next_ps > now {
            flow.state = State::Paced;
            let at = flow.next_ps;
            self.alarm(at, AlarmKind::Pace, slot, sink);
        } else {
            self.enter_ring(slot);
            sink.kick(self.flows[slot as usize].start.port);
        }
    }

    /// A flow that its window holds back looks again when its control's timer may have opened it.
    // NIC-08
    fn await_rise<S: Sink>(&mut self, config: &NicConfig, slot: u32, sink: &mut S) {
        let flow = &mut self.flows[slot as usize];
        let at = flow.control.rises_ps(&config.control, &flow.start.path);
        if at == NEVER || flow.rising || flow.next >= flow.packets {
            return;
        }
        flow.rising = true;
        self.alarm(at, AlarmKind::Rise, slot, sink);
    }

    fn enter_ring(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        flow.state = State::Ready;
        flow.link = NO_SLOT;
        let class = flow.class;
        let port = &mut self.ports[flow.start.port as usize];
        if let Some(shortest) = port.shortest.get_mut(class as usize) {
            shortest.push(Reverse(Next {
                remaining: flow.remaining(),
                flow: flow.start.flow,
                slot,
            }));
            port.ring_mask |= 1 << class;
            return;
        }
        let ring = &mut port.rings[class as usize];
        let tail = ring.tail;
        ring.tail = slot;
        if tail == NO_SLOT {
            ring.head = slot;
            port.ring_mask |= 1 << class;
        } else {
            self.flows[tail as usize].link = slot;
        }
    }

    fn leave_ring(&mut self, port: u16, class: u8) -> Option<u32> {
        let p = &mut self.ports[port as usize];
        if let Some(shortest) = p.shortest.get_mut(class as usize) {
            let next = shortest.pop();
            if shortest.is_empty() {
                p.ring_mask &= !(1 << class);
            }
            return next.map(|next| next.0.slot);
        }
        let ring = &mut p.rings[class as usize];
        let slot = ring.head;
        if slot == NO_SLOT {
            return None;
        }
        ring.head = self.flows[slot as usize].link;
        if ring.head == NO_SLOT {
            ring.tail = NO_SLOT;
            p.ring_mask &= !(1 << class);
        }
        Some(slot)
    }

    /// NIC-03: the next packet of the first flow in the ring that may send.
    #[allow(clippy::too_many_arguments)]
    pub fn send<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        port: u16,
        class: u8,
        arena: &mut Arena,
        counters: &mut NicCounters,
        sink: &mut S,
    ) -> Option<PacketId> {
        while let Some(slot) = self.leave_ring(port, class) {
            let cut = self.reach.is_some() && self.is_cut(slot);
            let flow = &mut self.flows[slot as usize];
            let queue = &mut self.ports[port as usize].queues[flow.queue as usize];
            if flow.state == State::Leaving {
                self.release(slot);
            } else if cut {
                flow.state = State::Cut; // LNK-13
            } else if self.destinations.is_paused(port, flow.start.dst) {
                flow.state = State::Waiting;
                flow.link = self.destinations.wait(port, flow.start.dst, slot);
            } else if queue.paused
                || !self.held.is_empty() && self.held.contains_key(&flow.start.flow)
            {
                flow.state = State::Parked;
                flow.link = queue.parked;
                queue.parked = slot;
            } else if !flow.may_send(now, config) {
                flow.state = State::Blocked;
                self.await_rise(config, slot, sink);
            } else {
                return Some(self.send_one(now, config, port, slot, arena, counters, sink));
            }
        }
        None
    }

    #[allow(clippy::too_many_arguments)]
    fn send_one<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        port: u16,
        slot: u32,
        arena: &mut Arena,
        counters: &mut NicCounters,
        sink: &mut S,
    ) -> PacketId {
        let rate = self.ports[port as usize].rate;
        let flow = &mut self.flows[slot as usize];
        if flow.next == flow.acked {
            flow.progress_ps = now;
        }
        let psn = flow.take_number(now);
        let before = flow.bytes_below(psn, config.mtu);
        let payload = (flow.start.bytes - before).min(u64::from(config.mtu)) as u16;
        let size = config.data_bytes(payload);
        let mut flags = if flow.start.incast { flag::INCAST } else { 0 };
        counters.data_packets += 1;
        if psn < flow.reached {
            flags |= flag::RETRANSMITTED;
            flow.retransmitted += 1;
            counters.retransmissions += 1;
        } else {
            flow.reached = flow.next;
            counters.payload_bytes += u64::from(payload);
        }
        let mut hot = Packet {
            flow: flow.start.flow,
            psn,
            hash: flow.start.hash,
            dst: flow.start.dst,
            upstream_queue: flow.queue,
            flags,
            ..Packet::new(Kind::Data, flow.class, size)
        };
        let cold = Cold {
            sent_ps: now,
            done_ps: 0,
            src: flow.start.src,
            slot,
            remaining: flow.start.bytes - before,
            payload,
            ..Cold::default()
        };
        flow.control
            .on_send(&config.control, &flow.start.path, now, u64::from(payload));
        // NIC-05: the rate of this moment sets the earliest start of the next packet.
        let on_wire = rate.serialisation_ps(u64::from(size));
        let paced = flow
            .control
            .rate_bps(&config.control, &flow.start.path, now);
        flow.next_ps = now + on_wire.max((f64::from(size) * 8e12 / paced) as Time);
        if !flow.fits(now, config) {
            if config.ack_every > 1 {
                // NIC-09
                hot.flags |= flag::ASKS;
                flow.asked_ps = now;
            }
            flow.state = State::Blocked;
            self.await_rise(config, slot, sink);
        } else if flow.next_ps <= now + on_wire {
            self.enter_ring(slot);
        } else {
            flow.state = State::Paced;
            let at = flow.next_ps;
            self.alarm(at, AlarmKind::Pace, slot, sink);
        }
        let id = arena.alloc(hot, cold);
        if config.int > 0 {
            arena.attach_stack(id);
        }
        id
    }

    /// Asks for what a port that sends, or an alarm, looks at first.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.prefetch_sending(port);
        prefetch(self.alarms.as_slice(), 0);
        prefetch(self.timeouts.as_slices().0, 0);
    }

    /// Asks for what a port that sends looks at first.
    #[inline]
    pub fn prefetch_sending(&self, port: u16) {
        prefetch(&self.ports, port as usize);
    }

    /// Asks for what they look at then: the rings of the port, and the flow of the next alarm.
    #[inline]
    pub fn prefetch_rings(&self, port: u16) {
        if let Some(port) = self.ports.get(port as usize) {
            prefetch(&port.rings, 0);
            prefetch(&port.queues, 0);
        }
        let next = self.alarms.peek().map(|alarm| &alarm.0);
        if let Some(alarm) = next.or_else(|| self.timeouts.front()) {
            self.prefetch(alarm.slot);
        }
    }

    /// Asks for a flow.
    pub fn prefetch(&self, slot: u32) {
        if let Some(flow) = self.flows.get(slot as usize) {
            prefetch_whole(flow);
        }
    }

    /// An ACK or NAK came back.
    pub fn acknowledged<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        id: PacketId,
        arena: &Arena,
        sink: &mut S,
    ) {
        let (packet, cold) = (arena.hot(id), arena.cold(id));
        let slot = cold.slot;
        let flow = &mut self.flows[slot as usize];
        if flow.start.flow != packet.flow || matches!(flow.state, State::Free | State::Leaving) {
            return; // NIC-22: the flow has finished; this is an echo of a packet that was sent twice.
        }
        let had = flow.bytes_below(flow.acked, config.mtu);
        if cold.sent_ps >= flow.asked_ps {
            flow.asked_ps = NEVER; // NIC-09: this answers the packet that asked, or a later one.
        }
        if packet.psn > flow.acked {
            flow.acked = packet.psn;
            flow.next = flow.next.max(flow.acked);
            flow.progress_ps = now;
        }
        let seq = flow.bytes_below(flow.acked, config.mtu);
        let nak = packet.kind() == Kind::Nak;
        let newly = match flow.repair {
            None => seq - had,
            Some(_) => flow.read_reply(config, nak, cold, seq - had),
        };
        if nak && flow.repair.is_none() {
            // NIC-20
            if packet.psn >= flow.acked && flow.next > flow.acked {
                self.go_back(slot, config);
            }
        } else {
            // REC-19
            let stack = arena.stack(id);
            let ack = AckInfo {
                now,
                seq,
                newly,
                snd_nxt: flow.bytes_below(flow.next, config.mtu),
                marked: packet.has(flag::CE),
                rtt_ps: now - cold.sent_ps,
                int: stack.as_ref(),
            };
            flow.control.on_ack(&config.control, &flow.start.path, &ack);
        }
        if config.host.cnp_on_ack && packet.has(flag::CE) {
            // NS3-23
            let flow = &mut self.flows[slot as usize];
            flow.control.on_cnp(&config.control, &flow.start.path, now);
        }
        let flow = &self.flows[slot as usize];
        if flow.acked == flow.packets {
            sink.finished(FlowEnd {
                flow: packet.flow,
                cookie: flow.start.cookie,
                received_ps: cold.done_ps,
                acked_ps: now,
                retransmitted: flow.retransmitted,
            });
            self.finish(slot);
        } else {
            self.revive(now, config, slot, sink);
        }
    }

    /// NIC-20, NIC-21: send again from the first packet that is not acknowledged.
    fn go_back(&mut self, slot: u32, config: &NicConfig) {
        let flow = &mut self.flows[slot as usize];
        flow.lost_something(config);
        flow.next = flow.acked;
    }

    /// REC-30: a data packet of a flow of this NIC was dropped.
    pub fn told<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        packet: &Packet,
        cold: &Cold,
        sink: &mut S,
    ) {
        let flow = &mut self.flows[cold.slot as usize];
        if flow.start.flow != packet.flow || matches!(flow.state, State::Free | State::Leaving) {
            return;
        }
        if let Some(repair) = &mut flow.repair {
            repair.told(packet.psn, u64::from(cold.payload));
            flow.lost_something(config);
            self.revive(now, config, cold.slot, sink);
        }
    }

    /// A CNP came back.
    pub fn notified(&mut self, now: Time, config: &NicConfig, flow_number: u32, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        if flow.start.flow == flow_number && !matches!(flow.state, State::Free | State::Leaving) {
            flow.control.on_cnp(&config.control, &flow.start.path, now);
        }
    }

    fn finish(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        let port = &mut self.ports[flow.start.port as usize];
        let queue = &mut port.queues[flow.queue as usize];
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
                    while self.flows[at as usize].link != slot {
                        at = self.flows[at as usize].link;
                    }
                    self.flows[at as usize].link = link;
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
                        while self.flows[at as usize].link != slot {
                            at = self.flows[at as usize].link;
                        }
                        self.flows[at as usize].link = link;
                    }
                }
                self.release(slot);
            }
            _ => self.release(slot),
        }
    }

    fn release(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        flow.state = State::Free;
        flow.link = self.free;
        self.free = slot;
    }

    /// PFC. Returns the paused classes before and after.
    pub fn pause_classes(&mut self, port: u16, mask: u8, on: bool) -> (u8, u8) {
        let paused = &mut self.ports[port as usize].paused;
        let before = *paused;
        *paused = if on { before | mask } else { before & !mask };
        (before, *paused)
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

    /// BFC-37: holds a flow by its number, or lets it go. False where that changed nothing.
    pub fn pause_flow<S: Sink>(&mut self, port: u16, frame: PauseFlow, sink: &mut S) -> bool {
        if frame.on {
            return self.held.insert(frame.flow, ()).is_none();
        }
        if self.held.remove(&frame.flow).is_none() {
            return false;
        }
        // The flow stands parked at its queue, if its turn came meanwhile.
        let queues = &mut self.ports[port as usize].queues;
        let Some(queue) = queues.get_mut(usize::from(frame.queue)) else {
            return true;
        };
        let mut slot = std::mem::replace(&mut queue.parked, NO_SLOT);
        while slot != NO_SLOT {
            let flow = &mut self.flows[slot as usize];
            let next = flow.link;
            if flow.start.flow == frame.flow {
                self.enter_ring(slot);
            } else {
                let queue = &mut self.ports[port as usize].queues[usize::from(frame.queue)];
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
    pub fn pause_destination(&mut self, port: u16, dst: u32, on: bool) -> bool {
        if on {
            return self.destinations.pause(port, dst);
        }
        let Some(mut slot) = self.destinations.resume(port, dst) else {
            return false;
        };
        while slot != NO_SLOT {
            let next = self.flows[slot as usize].link;
            self.enter_ring(slot);
            slot = next;
        }
        true
    }

    /// All parked flows of a port stand in the ring again; those that are still held are parked
    /// when their turn comes.
    // LNK-21
    pub fn unpark(&mut self, port: u16) {
        for queue in 0..self.ports[port as usize].queues.len() {
            let queue = &mut self.ports[port as usize].queues[queue];
            let mut slot = std::mem::replace(&mut queue.parked, NO_SLOT);
            while slot != NO_SLOT {
                let next = self.flows[slot as usize].link;
                self.enter_ring(slot);
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
        if !on {
            let mut slot = std::mem::replace(&mut q.parked, NO_SLOT);
            while slot != NO_SLOT {
                let next = self.flows[slot as usize].link;
                self.enter_ring(slot);
                slot = next;
            }
            sink.kick(port);
        }
        true
    }

    /// Serves every alarm that is due and asks for the next.
    pub fn timer<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        counters: &mut NicCounters,
        sink: &mut S,
    ) {
        while let Some(alarm) = self.next_alarm() {
            if alarm.at > now {
                sink.wake(alarm.at);
                break;
            }
            if self.timeouts.front() == Some(&alarm) {
                self.timeouts.pop_front();
            } else {
                self.alarms.pop();
            }
            if self.is_gone(&alarm) {
                continue;
            }
            let flow = &self.flows[alarm.slot as usize];
            match alarm.kind {
                AlarmKind::Pace => {
                    if flow.state == State::Paced && flow.next_ps <= now {
                        let port = flow.start.port;
                        self.enter_ring(alarm.slot);
                        sink.kick(port);
                    }
                }
                AlarmKind::Timeout => self.timeout(now, config, alarm.slot, counters, sink),
                AlarmKind::Rise => {
                    self.flows[alarm.slot as usize].rising = false;
                    self.revive(now, config, alarm.slot, sink);
                }
            }
        }
    }

    /// Whether the flow of an alarm has finished.
    fn is_gone(&self, alarm: &Alarm) -> bool {
        let flow = &self.flows[alarm.slot as usize];
        flow.start.flow != alarm.flow || matches!(flow.state, State::Free | State::Leaving)
    }

    /// The earliest alarm; forgets first timeouts of flows that have finished.
    fn next_alarm(&mut self) -> Option<Alarm> {
        while self
            .timeouts
            .front()
            .is_some_and(|alarm| self.is_gone(alarm))
        {
            self.timeouts.pop_front();
        }
        let timeout = self.timeouts.front().copied();
        let alarm = self.alarms.peek().map(|alarm| alarm.0);
        match (timeout, alarm) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// NIC-21: nothing moved for the whole timeout though something is in flight.
    fn timeout<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        slot: u32,
        counters: &mut NicCounters,
        sink: &mut S,
    ) {
        let flow = &mut self.flows[slot as usize];
        let recovery = &config.recovery;
        let (Some(timeout_ps), Some(shortest_ps)) = (
            recovery.timeout_ps(flow.next - flow.acked),
            recovery.shortest_timeout_ps(),
        ) else {
            return;
        };
        let in_flight = flow.next > flow.acked;
        let deadline = flow.progress_ps + timeout_ps;
        if !in_flight || now < deadline {
            // REC-16: with fewer packets in flight the deadline may come nearer meanwhile.
            let again = if in_flight {
                deadline.min(now + shortest_ps)
            } else {
                now + shortest_ps
            };
            self.alarm(again, AlarmKind::Timeout, slot, sink);
            return;
        }
        counters.timeouts += 1;
        flow.progress_ps = now;
        let at = flow.progress(config.mtu);
        match &mut flow.repair {
            Some(repair) => {
                repair.timed_out(&at);
                flow.lost_something(config);
            }
            None => self.go_back(slot, config),
        }
        self.alarm(now + shortest_ps, AlarmKind::Timeout, slot, sink);
        self.revive(now, config, slot, sink);
    }

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

    /// Calls `visit` with cookie, acknowledged bytes and the state of every unfinished flow.
    pub fn for_each_flow(&self, mtu: u16, mut visit: impl FnMut(u32, u64, &'static str)) {
        for (slot, flow) in (0..).zip(&self.flows) {
            let why = match flow.state {
                State::Leaving | State::Free => continue,
                State::Cut => OUT_OF_REACH,
                _ if self.is_cut(slot) => OUT_OF_REACH,
                State::Ready => "ready to send",
                State::Paced => "waits for its pace",
                State::Blocked => "waits for an acknowledgement",
                State::Parked => "it is paused by BFC",
                State::Waiting => "its destination is paused",
            };
            visit(flow.start.cookie, flow.bytes_below(flow.acked, mtu), why);
        }
    }
}
