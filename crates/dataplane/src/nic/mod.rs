//! The NIC: which flow sends next, how fast, and what happens when something is lost.
//!
//! `sender.rs` holds the flows that send and their schedule, `receiver.rs` what arrives; control
//! schemes have one file each. The rules are in `specs/nic.md`. `scan.rs` and `integer/` are another
//! sending half, that of the ns-3 simulator (`specs/ns3.md`).

pub mod control;
pub mod dcqcn;
pub mod dctcp;
pub mod delay_window;
mod destinations;
mod driven;
mod expresspass;
mod homa;
pub mod hpcc;
mod integer;
mod link;
mod ndp;
mod obey;
mod receiver;
mod recovery;
mod scan;
mod sender;
pub mod timely;

use std::sync::Arc;

use crate::config::{Arbiter, NicConfig};
use crate::packet::{Arena, Kind, NO_PACKET, PacketId};
use crate::prefetch::{prefetch, prefetch_whole};
use crate::sink::Sink;
use crate::units::{Rate, Time};
use control::PathInfo;
use driven::{Context, Driven};
pub use link::CUT_OFF;
use receiver::Receiver;
use scan::Scan;
pub use sender::OUT_OF_REACH;
use sender::Sender;

pub use driven::DrivenCounters;

/// What a sender's NIC says when the last acknowledgement of a flow is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// Number of the flow in its run.
    pub flow: u32,
    /// What [`FlowStart::cookie`] said.
    pub cookie: u32,
    /// When the receiver had the last byte, in ps.
    pub received_ps: Time,
    /// When the sender had the last acknowledgement, in ps.
    pub acked_ps: Time,
    /// Data packets that were sent again.
    pub retransmitted: u32,
}

/// A flow that begins.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart {
    /// Number of the flow in its run.
    pub flow: u32,
    /// Comes back with [`FlowEnd`].
    pub cookie: u32,
    /// Port of this NIC that the flow uses.
    pub port: u16,
    /// Endpoint of that port.
    pub src: u32,
    /// Endpoint of the receiver.
    pub dst: u32,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// Hash of the flow's identity.
    pub hash: u32,
    /// Traffic class; the frames have class `data_class + class`.
    pub class: u8,
    /// Belongs to an incast.
    pub incast: bool,
    /// What the control knows of the path.
    pub path: PathInfo,
    /// Equal-cost ways to the receiver, among which the sender chooses; 0: the network chooses.
    pub ways: u32,
}

/// What the mechanisms of one NIC did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Data packets sent, repeated ones included.
    pub data_packets: u64,
    /// Payload bytes sent for the first time.
    pub payload_bytes: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// ACKs sent.
    pub acks: u64,
    /// NAKs sent.
    pub naks: u64,
    /// CNPs sent.
    pub cnps: u64,
    /// Data packets received.
    pub received: u64,
    /// Of them discarded: out of order, or had before.
    pub discarded: u64,
    /// Data packets that came, for the first time, after one that was sent later.
    pub overtaken: u64,
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
    /// Pauses of what was paused already and resumes of what was not: must stay 0.
    pub repeated_pauses: u64,
    /// Of receiver-driven transports.
    pub driven: DrivenCounters,
}

/// First in, first out, linked through the arena.
#[derive(Clone, Copy, Debug)]
struct Fifo {
    head: PacketId,
    tail: PacketId,
}

impl Fifo {
    const EMPTY: Self = Self {
        head: NO_PACKET,
        tail: NO_PACKET,
    };

    fn push(&mut self, id: PacketId, arena: &mut Arena) {
        arena.hot_mut(id).next = NO_PACKET;
        if self.head == NO_PACKET {
            self.head = id;
        } else {
            arena.hot_mut(self.tail).next = id;
        }
        self.tail = id;
    }

    fn pop(&mut self, arena: &Arena) -> Option<PacketId> {
        let id = self.head;
        if id == NO_PACKET {
            return None;
        }
        self.head = arena.hot(id).next;
        Some(id)
    }

    const fn is_empty(&self) -> bool {
        self.head == NO_PACKET
    }

    fn len(&self, arena: &Arena) -> u64 {
        let (mut n, mut id) = (0, self.head);
        while id != NO_PACKET {
            n += 1;
            id = arena.hot(id).next;
        }
        n
    }
}

/// A NIC with one or several ports. Give it flows, packets and the time.
#[derive(Debug)]
pub struct Nic {
    config: Arc<NicConfig>,
    sender: Sender,
    /// The sending half with [`Arbiter::Scan`], in the place of `sender`.
    scan: Option<Box<Scan>>,
    /// A receiver-driven transport, in the place of `sender` and `receiver`.
    driven: Option<Box<Driven>>,
    receiver: Receiver,
    /// Per (port, class): ACKs, NAKs and CNPs that wait.
    replies: Vec<Fifo>,
    classes: usize,
    counters: NicCounters,
}

impl Nic {
    /// A NIC whose ports have these rates, for frames of `classes` classes.
    #[must_use]
    pub fn new(config: &Arc<NicConfig>, classes: usize, ports: &[Rate]) -> Self {
        Self {
            config: Arc::clone(config),
            sender: Sender::new(config, classes, ports),
            scan: (config.host.arbiter == Arbiter::Scan).then(|| Box::new(Scan::new())),
            driven: Driven::new(config, classes, ports),
            receiver: Receiver::new(),
            replies: vec![Fifo::EMPTY; ports.len() * classes],
            classes,
            counters: NicCounters::default(),
        }
    }

    /// A flow begins.
    pub fn start<S: Sink>(&mut self, now: Time, flow: &FlowStart, sink: &mut S) {
        if self.driven.is_some() {
            return self.drive(now, sink, |driven, cx| driven.start(cx, flow));
        }
        match &mut self.scan {
            Some(scan) => scan.start(now, &self.config, flow, sink),
            None => self.sender.start(now, &self.config, flow, sink),
        }
    }

    /// Lets a receiver-driven transport act, and notes what it has to send then.
    fn drive<S: Sink, R: Default>(
        &mut self,
        now: Time,
        sink: &mut S,
        act: impl FnOnce(&mut Driven, &mut Context<'_, S>) -> R,
    ) -> R {
        let Some(driven) = &mut self.driven else {
            return R::default();
        };
        let mut cx = Context {
            now,
            config: &self.config,
            counters: &mut self.counters,
            sink,
        };
        let result = act(driven, &mut cx);
        for port in 0..self.sender.ports() {
            let ready = driven.ready(&self.config, now, port);
            self.sender.set_ready(port, ready);
        }
        result
    }

    /// Asks for the NIC's own record. Changes nothing.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_whole(self);
    }

    /// Asks for what a port that will send, or an alarm, looks at first.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.sender.prefetch_port(port);
    }

    /// Asks for what they look at then.
    #[inline]
    pub fn prefetch_rings(&self, port: u16) {
        self.sender.prefetch_rings(port);
    }

    /// Asks for what a frame that arrives soon by `port` will touch: the flow that an ACK is for, or where
    /// the reply to other frames waits. Changes nothing.
    #[inline]
    pub fn prefetch_arrival(&self, port: u16, id: PacketId, arena: &Arena) {
        if arena.hot(id).kind() == Kind::Ack {
            let slot = arena.cold(id).slot;
            match &self.scan {
                Some(scan) => scan.prefetch(slot),
                None => self.sender.prefetch(slot),
            }
        } else {
            prefetch(&self.replies, port as usize * self.classes);
            self.sender.prefetch_sending(port);
        }
    }

    /// A frame arrived, whole, by `port`.
    #[inline]
    pub fn receive<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if self.driven.is_some() && !arena.hot(id).is_frame() {
            return self.drive(now, sink, |driven, cx| driven.receive(cx, port, id, arena));
        }
        match arena.hot(id).kind() {
            Kind::Data => self.receive_data(now, port, id, arena, sink),
            // Only transports that have such frames get them.
            Kind::Header | Kind::Returned | Kind::Grant | Kind::Request => arena.free(id),
            Kind::Ack | Kind::Nak => {
                match &mut self.scan {
                    Some(scan) => scan.acknowledged(now, &self.config, id, arena, sink),
                    None => self.sender.acknowledged(now, &self.config, id, arena, sink),
                }
                arena.free(id);
            }
            Kind::Cnp => {
                let (flow, slot) = (arena.hot(id).flow, arena.cold(id).slot);
                self.sender.notified(now, &self.config, flow, slot);
                arena.free(id);
            }
            Kind::Hop => self.obey(port, id, arena, sink),
            Kind::Unknown => arena.free(id),
        }
    }

    fn receive_data<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let replies = self
            .receiver
            .data(now, &self.config, id, arena, &mut self.counters);
        for reply in replies.into_iter().flatten() {
            self.reply(port, reply, arena, sink);
        }
    }

    /// A frame that left this NIC by `port` was dropped on its way, and here is its record: data is
    /// sent again in its turn, a reply at once.
    // REC-30, REC-33
    pub fn returned<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if arena.hot(id).kind() == Kind::Data {
            let (packet, cold) = (*arena.hot(id), *arena.cold(id));
            arena.free(id);
            self.sender.told(now, &self.config, &packet, &cold, sink);
            return;
        }
        let hot = arena.hot_mut(id);
        hot.upstream_queue = 0;
        match hot.kind() {
            Kind::Ack => self.counters.acks += 1,
            Kind::Nak => self.counters.naks += 1,
            _ => self.counters.cnps += 1,
        }
        self.reply(port, id, arena, sink);
    }

    /// Puts an ACK, NAK or CNP in its queue.
    fn reply<S: Sink>(&mut self, port: u16, id: PacketId, arena: &mut Arena, sink: &mut S) {
        if let Some(scan) = &mut self.scan {
            scan.reply(id, arena);
        } else {
            let class = arena.hot(id).class();
            self.replies[port as usize * self.classes + class as usize].push(id, arena);
            self.sender.set_replies(port, class, true);
        }
        sink.kick(port);
    }

    /// The port's link is free: what leaves now?
    #[inline]
    pub fn transmit<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        if let Some(scan) = &mut self.scan {
            return scan.transmit(now, &self.config, arena, &mut self.counters, sink);
        }
        // NIC-02: lower classes strictly first; in a class replies before data.
        while let Some(class) = self.sender.next_class(&self.config, port) {
            if self.driven.is_some() {
                let sent = self.drive(now, sink, |driven, cx| driven.send(cx, port, class, arena));
                if sent.is_some() {
                    return sent;
                }
                continue;
            }
            let replies = &mut self.replies[port as usize * self.classes + class as usize];
            if let Some(id) = replies.pop(arena) {
                if replies.is_empty() {
                    self.sender.set_replies(port, class, false);
                }
                return Some(id);
            }
            let sent = self.sender.send(
                now,
                &self.config,
                port,
                class,
                arena,
                &mut self.counters,
                sink,
            );
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    /// The time that the NIC asked for has come.
    pub fn timer<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        if self.driven.is_some() {
            return self.drive(now, sink, |driven, cx| driven.timer(cx, arena));
        }
        self.sender
            .timer(now, &self.config, &mut self.counters, sink);
    }

    /// The run ends after everything of `now`: what was put off until somebody looks is counted.
    // XP-19
    pub fn settle<S: Sink>(&mut self, now: Time, sink: &mut S) {
        self.drive(now, sink, |driven, cx| driven.settle(cx));
    }

    /// A time has come that the NIC asked for with [`Sink::call`].
    pub fn called<S: Sink>(&mut self, now: Time, what: u32, sink: &mut S) {
        if let Some(scan) = &mut self.scan {
            scan.called(now, &self.config, what, sink);
        }
    }

    /// Whether `transmit` may find something for this port.
    #[inline]
    #[must_use]
    pub fn waiting(&self, port: u16) -> bool {
        // A scan has effects even if it finds nothing.
        self.sender.next_class(&self.config, port).is_some() || self.scan.is_some()
    }

    /// Whether a flow waits for its pace, which lets it send at some time.
    #[must_use]
    pub fn is_pacing(&self) -> bool {
        self.sender.is_pacing()
    }

    /// What the mechanisms did.
    #[must_use]
    pub const fn counters(&self) -> &NicCounters {
        &self.counters
    }

    /// Payload bytes that the flow with this cookie has had acknowledged, and why it does not
    /// send; for the report of a stalled or interrupted run.
    pub fn for_each_flow(&self, mut visit: impl FnMut(u32, u64, &'static str)) {
        if let Some(driven) = &self.driven {
            return driven.for_each_flow(&self.config, |start, acked, why| {
                let cut = self.sender.cuts(start); // LNK-13
                visit(start.cookie, acked, if cut { OUT_OF_REACH } else { why });
            });
        }
        match &self.scan {
            Some(scan) => scan.for_each_flow(&self.config, visit),
            None => self.sender.for_each_flow(self.config.mtu, visit),
        }
    }

    /// Credits that a receiver-driven transport has made and not sent.
    #[must_use]
    pub fn waiting_credits(&self) -> u64 {
        self.driven.as_ref().map_or(0, |d| d.waiting_credits())
    }

    /// Calls `visit` with every flow of a port and class that has something left to send.
    // SPFC-44
    pub fn for_each_unsent(&self, port: u16, class: u8, visit: impl FnMut(&FlowStart)) {
        match &self.scan {
            Some(scan) => scan.for_each_unsent(class, visit),
            None => self.sender.for_each_unsent(port, class, visit),
        }
    }

    /// Packets that wait to be sent as replies, for the books of the network.
    #[must_use]
    pub fn queued_replies(&self, arena: &Arena) -> u64 {
        let of_scan = self.scan.iter().map(|scan| scan.replies());
        let waiting = self.replies.iter().chain(of_scan);
        let of_driven = self.driven.iter().map(|driven| driven.queued(arena));
        waiting.map(|fifo| fifo.len(arena)).sum::<u64>() + of_driven.sum::<u64>()
    }
}
