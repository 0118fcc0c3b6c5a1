//! Receiver-driven transports: sender and receiver of one kind, in the place of a control of senders. One
//! file for each transport; here is what they share, the trait that they implement, and the list of all.

pub mod assist;
pub(crate) mod bucket;
pub mod expresspass;
pub mod homa;
pub mod ndp;

use std::fmt::Debug;

use crate::cc::PathInfo;
use crate::nic::counters::NicCounters;
use crate::nic::fifo::Fifo;
use crate::nic::flow::FlowStart;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use crate::sink::Sink;
use crate::units::{Rate, Time};

/// The list of all transports, handed to the macro `$then` behind what that macro already has: the name
/// of the type, and its module. A new transport is a module and a line here.
macro_rules! transports {
    ($then:ident $($before:tt)*) => {
        $then! {
            $($before)*
            ExpressPass(expresspass),
            Ndp(ndp),
            Homa(homa),
        }
    };
}
pub(crate) use transports;

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// The configuration of one of the transports.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum TransportConfig {
            $(
                #[doc = concat!("Of [`", stringify!($module), "`].")]
                $name(<$module::$name as Declared>::Config),
            )*
        }

        impl TransportConfig {
            /// [`Declared::SAYS_UNGRANTED`] of this transport.
            #[must_use]
            pub const fn says_ungranted(&self) -> bool {
                match self {
                    $(Self::$name(_) => <$module::$name as Declared>::SAYS_UNGRANTED,)*
                }
            }
        }
    };
}
transports!(define);

/// The frames of a NIC, as far as transports make them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Header bytes of a data packet, INT included.
    pub header: u16,
    /// Bytes of an answer.
    pub ack: u16,
    /// Class of answers.
    pub ack_class: u8,
    /// Class of data whose traffic class is 0.
    pub data_class: u8,
}

impl Frames {
    /// Bytes on the wire of a data packet with this payload.
    #[inline]
    pub const fn data_bytes(&self, payload: u16) -> u16 {
        self.header + payload
    }
}

/// What every step of a transport may reach; `P` are the transport's own parameters.
pub(crate) struct Context<'a, S, P> {
    pub now: Time,
    pub config: &'a P,
    pub frames: &'a Frames,
    pub counters: &'a mut NicCounters,
    pub sink: &'a mut S,
}

/// What a transport declares.
pub trait Declared {
    /// Its parameters.
    type Config: Copy + Debug + PartialEq;
    /// The record of a data packet says how many packets of its message need no grant ([`Cold::credit`]).
    const SAYS_UNGRANTED: bool = false;
}

/// Both halves of a transport at one NIC.
pub(crate) trait Transport: Declared + Debug + Sized {
    /// For ports of these rates, and frames of `classes` classes.
    fn new(config: &Self::Config, frames: &Frames, classes: usize, ports: &[Rate]) -> Self;

    /// A flow begins.
    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S, Self::Config>, flow: &FlowStart);

    /// A frame that does not concern neighbours arrived by `port`.
    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, Self::Config>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    );

    /// Classes of which something may leave by `port` now, as bits.
    fn ready(&self, frames: &Frames, now: Time, port: u16) -> u8;

    /// What of a class leaves by `port`.
    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, Self::Config>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId>;

    /// The time that was given to [`Sink::wake`] has come.
    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S, Self::Config>, arena: &mut Arena);

    /// The link at `port` has failed, or is back. Returns the answers that waited there.
    fn link<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, Self::Config>,
        port: u16,
        arena: &Arena,
    ) -> Vec<PacketId>;

    /// The run is over: counts what was put off. Most transports put nothing off.
    fn settle<S: Sink>(&mut self, _: &mut Context<'_, S, Self::Config>) {}

    /// Packets that wait to be sent as answers.
    fn queued(&self, arena: &Arena) -> u64;

    /// Credits that were made and not sent, where the transport has credits.
    fn waiting_credits(&self) -> u64 {
        0
    }

    /// Calls `visit` with every flow that is sent, bytes known to have arrived, and why it waits.
    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, u64, &'static str));
}

/// Flows by the number of a place that is used again when they are gone.
#[derive(Debug)]
pub(crate) struct Slots<T> {
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
pub(crate) struct Answers {
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
pub(crate) fn turn(id: PacketId, kind: Kind, class: u8, size: u16, arena: &mut Arena) {
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
pub(crate) fn data_packet(
    now: Time,
    frames: &Frames,
    start: &FlowStart,
    slot: u32,
    psn: u32,
) -> (Packet, Cold) {
    let before = u64::from(psn) * u64::from(frames.mtu);
    let payload = (start.bytes - before).min(u64::from(frames.mtu)) as u16;
    let class = frames.data_class + start.class;
    let hot = Packet {
        flow: start.flow,
        psn,
        hash: start.hash,
        dst: start.dst,
        flags: if start.incast { flag::INCAST } else { 0 },
        ..Packet::new(Kind::Data, class, frames.data_bytes(payload))
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
pub(crate) fn count_sent(counters: &mut NicCounters, hot: &mut Packet, payload: u16, again: bool) {
    counters.data_packets += 1;
    if again {
        hot.flags |= flag::RETRANSMITTED;
        counters.retransmissions += 1;
    } else {
        counters.payload_bytes += u64::from(payload);
    }
}

/// Payload bytes of the packets below a number, of a flow of so many bytes.
pub(crate) fn bytes_below(psn: u32, mtu: u16, bytes: u64) -> u64 {
    (u64::from(psn) * u64::from(mtu)).min(bytes)
}

/// Packets of a flow of so many bytes.
// NIC-01
pub(crate) fn packets_of(bytes: u64, mtu: u16) -> u32 {
    bytes.div_ceil(u64::from(mtu)) as u32
}

/// Packets of a window: of so many payload bytes, or of one BDP on the wire; at least one.
// NDP-12, HOM-01
pub(crate) fn window_packets(bytes: Option<u64>, path: &PathInfo, frames: &Frames) -> u32 {
    let frame = frames.data_bytes(frames.mtu);
    let packets = match bytes {
        Some(bytes) => bytes.div_ceil(frames.mtu.into()),
        None => (path.bdp_bytes as u64).div_ceil(frame.into()),
    };
    packets.clamp(1, u32::MAX.into()) as u32
}
