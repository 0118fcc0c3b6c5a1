//! Receiver-driven transports: sender and receiver of one kind in the place of `sender.rs` and
//! `receiver.rs`. Here is what they share; each has a file of its own.

use super::control::PathInfo;
use super::expresspass::ExpressPass;
use super::homa::Homa;
use super::ndp::Ndp;
use super::{Fifo, FlowStart, NicCounters};
use crate::config::{ControlConfig, NicConfig};
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use crate::sink::Sink;
use crate::units::{Rate, Time};

/// What receiver-driven transports did at one NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrivenCounters {
    /// Requests for credits, and for packets that are missing.
    pub requests: u64,
    /// Wishes that no more credits be sent.
    pub stops: u64,
    /// Credits made by receivers.
    pub credits: u64,
    /// Of them those that let a packet go.
    pub credits_used: u64,
    /// Of them those that found nothing to send.
    pub credits_wasted: u64,
    /// Of them those that found the receiver's own queue of credits full.
    pub credits_dropped: u64,
    /// Pulls sent.
    pub pulls: u64,
    /// Grants sent.
    pub grants: u64,
    /// Headers of trimmed packets that arrived at their receiver.
    pub headers: u64,
    /// Headers that came back to their sender.
    pub returned: u64,
}

impl DrivenCounters {
    /// Adds what another NIC did.
    pub const fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.stops += other.stops;
        self.credits += other.credits;
        self.credits_used += other.credits_used;
        self.credits_wasted += other.credits_wasted;
        self.credits_dropped += other.credits_dropped;
        self.pulls += other.pulls;
        self.grants += other.grants;
        self.headers += other.headers;
        self.returned += other.returned;
    }
}

/// What every step of a transport may reach.
pub(super) struct Context<'a, S> {
    pub now: Time,
    pub config: &'a NicConfig,
    pub counters: &'a mut NicCounters,
    pub sink: &'a mut S,
}

/// Both halves of a transport at one NIC.
pub(super) trait Transport {
    /// A flow begins.
    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S>, flow: &FlowStart);
    /// A frame that is no affair of neighbours arrived by `port`.
    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    );
    /// Classes of which something may leave by `port` now, as bits.
    fn ready(&self, config: &NicConfig, now: Time, port: u16) -> u8;
    /// What of a class leaves by `port`.
    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId>;
    /// A time has come that it asked for.
    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S>, arena: &mut Arena);
    /// The link at `port` has failed, or is back. Answers that wait there go to `lost`.
    fn link<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16, arena: &Arena)
    -> Vec<PacketId>;
    /// The run is over: what was put off until somebody looks is done.
    fn settle<S: Sink>(&mut self, _: &mut Context<'_, S>) {}
    /// Packets that wait to be sent as answers.
    fn queued(&self, arena: &Arena) -> u64;
    /// Calls `visit` with every flow that is sent, bytes known to have arrived, and why it waits.
    fn for_each_flow(
        &self,
        config: &NicConfig,
        visit: &mut dyn FnMut(&FlowStart, u64, &'static str),
    );
}

/// The transport that a configuration asks for.
#[derive(Debug)]
pub(super) enum Driven {
    ExpressPass(ExpressPass),
    Ndp(Ndp),
    Homa(Homa),
}

macro_rules! each {
    ($self:expr, $t:ident => $call:expr) => {
        match $self {
            Driven::ExpressPass($t) => $call,
            Driven::Ndp($t) => $call,
            Driven::Homa($t) => $call,
        }
    };
}

impl Driven {
    /// `None`: the control is one of senders.
    pub fn new(config: &NicConfig, classes: usize, ports: &[Rate]) -> Option<Box<Self>> {
        let transport = match &config.control {
            ControlConfig::ExpressPass(c) => Self::ExpressPass(ExpressPass::new(c, classes, ports)),
            ControlConfig::Ndp(_) => Self::Ndp(Ndp::new(config, classes, ports)),
            ControlConfig::Homa(_) => Self::Homa(Homa::new(classes, ports)),
            _ => return None,
        };
        Some(Box::new(transport))
    }

    pub fn start<S: Sink>(&mut self, cx: &mut Context<'_, S>, flow: &FlowStart) {
        each!(self, t => t.start(cx, flow));
    }

    pub fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        each!(self, t => t.receive(cx, port, id, arena));
    }

    pub fn ready(&self, config: &NicConfig, now: Time, port: u16) -> u8 {
        each!(self, t => t.ready(config, now, port))
    }

    pub fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        each!(self, t => t.send(cx, port, class, arena))
    }

    pub fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S>, arena: &mut Arena) {
        each!(self, t => t.timer(cx, arena));
    }

    pub fn link<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        arena: &Arena,
    ) -> Vec<PacketId> {
        each!(self, t => t.link(cx, port, arena))
    }

    pub fn settle<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        each!(self, t => t.settle(cx));
    }

    pub fn waiting_credits(&self) -> u64 {
        match self {
            Self::ExpressPass(t) => t.waiting_credits(),
            Self::Ndp(_) | Self::Homa(_) => 0,
        }
    }

    pub fn queued(&self, arena: &Arena) -> u64 {
        each!(self, t => t.queued(arena))
    }

    pub fn for_each_flow(
        &self,
        config: &NicConfig,
        mut visit: impl FnMut(&FlowStart, u64, &'static str),
    ) {
        each!(self, t => t.for_each_flow(config, &mut visit));
    }
}

/// Flows by the number of a place that is used again when they are gone.
#[derive(Debug)]
pub(super) struct Slots<T> {
    places: Vec<Option<(u32, T)>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub const fn new() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Puts a flow in and returns its place.
    pub fn insert(&mut self, flow: u32, value: T) -> u32 {
        let place = Some((flow, value));
        match self.free.pop() {
            Some(slot) => {
                self.places[slot as usize] = place;
                slot
            }
            None => {
                self.places.push(place);
                self.places.len() as u32 - 1
            }
        }
    }

    /// The flow at a place, if it is still this one.
    pub fn get_mut(&mut self, slot: u32, flow: u32) -> Option<&mut T> {
        match self.places.get_mut(slot as usize) {
            Some(Some((number, value))) if *number == flow => Some(value),
            _ => None,
        }
    }

    pub fn remove(&mut self, slot: u32, flow: u32) -> Option<T> {
        self.get_mut(slot, flow)?;
        self.free.push(slot);
        self.places[slot as usize].take().map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|(_, value)| value)
    }
}

/// Answers that wait, per port and class.
#[derive(Debug)]
pub(super) struct Answers {
    queues: Vec<Fifo>,
    classes: usize,
    /// Per port: classes with answers.
    ready: Vec<u8>,
}

impl Answers {
    pub fn new(ports: usize, classes: usize) -> Self {
        Self {
            queues: vec![Fifo::EMPTY; ports * classes],
            classes,
            ready: vec![0; ports],
        }
    }

    pub fn ready(&self, port: u16) -> u8 {
        self.ready[port as usize]
    }

    pub fn push(&mut self, port: u16, id: PacketId, arena: &mut Arena) {
        let class = arena.hot(id).class();
        self.queues[port as usize * self.classes + class as usize].push(id, arena);
        self.ready[port as usize] |= 1 << class;
    }

    pub fn pop(&mut self, port: u16, class: u8, arena: &Arena) -> Option<PacketId> {
        let queue = &mut self.queues[port as usize * self.classes + class as usize];
        let id = queue.pop(arena)?;
        if queue.is_empty() {
            self.ready[port as usize] &= !(1 << class);
        }
        Some(id)
    }

    /// Takes out everything that waits at a port.
    // LNK-23
    pub fn take_all(&mut self, port: u16, arena: &Arena) -> Vec<PacketId> {
        let mut taken = Vec::new();
        for class in 0..self.classes as u8 {
            while let Some(id) = self.pop(port, class, arena) {
                taken.push(id);
            }
        }
        taken
    }

    pub fn len(&self, arena: &Arena) -> u64 {
        self.queues.iter().map(|queue| queue.len(arena)).sum()
    }
}

/// Turns a packet that arrived into an answer for whoever sent it. Its hash stays, and with it,
/// where paths are symmetric, the path.
pub(super) fn turn(id: PacketId, kind: Kind, class: u8, size: u16, arena: &mut Arena) {
    let hot = arena.hot_mut(id);
    let to = hot.dst;
    hot.become_kind(kind, class);
    hot.size = size;
    hot.flags &= flag::INCAST;
    hot.upstream_queue = 0;
    let back = std::mem::replace(&mut arena.cold_mut(id).src, to);
    arena.hot_mut(id).dst = back;
}

/// A data packet of a flow, with what goes into its cold part.
pub(super) fn data_packet(
    now: Time,
    config: &NicConfig,
    start: &FlowStart,
    slot: u32,
    psn: u32,
) -> (Packet, Cold) {
    let before = u64::from(psn) * u64::from(config.mtu);
    let payload = (start.bytes - before).min(u64::from(config.mtu)) as u16;
    let class = config.data_class + start.class;
    let hot = Packet {
        flow: start.flow,
        psn,
        hash: start.hash,
        dst: start.dst,
        flags: if start.incast { flag::INCAST } else { 0 },
        ..Packet::new(Kind::Data, class, config.data_bytes(payload))
    };
    let cold = Cold {
        sent_ps: now,
        src: start.src,
        slot,
        remaining: start.bytes - before,
        payload,
        ..Cold::default()
    };
    (hot, cold)
}

/// Counts a data packet that a NIC sends; of a repeated one also marks it.
pub(super) fn count_sent(counters: &mut NicCounters, hot: &mut Packet, payload: u16, again: bool) {
    counters.data_packets += 1;
    if again {
        hot.flags |= flag::RETRANSMITTED;
        counters.retransmissions += 1;
    } else {
        counters.payload_bytes += u64::from(payload);
    }
}

/// Payload bytes of the packets below a number, of a flow of so many bytes.
pub(super) fn bytes_below(psn: u32, mtu: u16, bytes: u64) -> u64 {
    (u64::from(psn) * u64::from(mtu)).min(bytes)
}

/// Packets of a flow of so many bytes.
// NIC-01
pub(super) fn packets_of(bytes: u64, mtu: u16) -> u32 {
    bytes.div_ceil(u64::from(mtu)) as u32
}

/// Packets of a window: of so many payload bytes, or of one BDP on the wire; at least one.
// NDP-12, HOM-01
pub(super) fn window_packets(bytes: Option<u64>, path: &PathInfo, config: &NicConfig) -> u32 {
    let frame = config.data_bytes(config.mtu);
    let packets = match bytes {
        Some(bytes) => bytes.div_ceil(config.mtu.into()),
        None => (path.bdp_bytes as u64).div_ceil(frame.into()),
    };
    packets.clamp(1, u32::MAX.into()) as u32
}
