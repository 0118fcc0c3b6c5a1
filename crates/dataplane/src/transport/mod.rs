//! Receiver-driven transports: a sender and a receiver that replace the congestion control of
//! senders. Each transport has its own file. This file has their common parts, the trait that they
//! implement, and the list of all transports.

pub mod expresspass;
mod flows;
pub mod homa;
pub mod ndp;

use crate::classes::ClassSet;
use crate::ids::FlowSlot;
use std::fmt::Debug;

use crate::cc::PathInfo;
use crate::counters::{DrivenCounters, NicCounters};
use crate::flow::{FlowStart, Unfinished};
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp, flag};
use crate::param::{InNetwork, MAX_SIZE_BYTES, Param};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::replies::{Replies, turn};
use crate::requirements::SwitchRequirements;
use crate::scheme::{Scheme, axis};
use crate::sink::Sink;
use crate::units::{Rate, Time, US};
pub(crate) use flows::{Paced, Packets, Slots, Turns};

axis! {
    /// Configuration of one of the transports.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum TransportConfig, TRANSPORTS, of!, transports! {
        ExpressPass(expresspass),
        Ndp(ndp),
        Homa(homa),
    }
}
pub(crate) use transports;

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// Returns the names of the transports that have a property.
        pub fn names_with(property: Property) -> impl Iterator<Item = &'static str> {
            let all = [$(($module::$name::NAME, $module::$name::PROVIDES)),*].into_iter();
            all.filter_map(move |(name, of)| of.has(property).then_some(name))
        }
    };
}
transports! { define }

impl TransportConfig {
    /// Returns the name of the transport in scenarios.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        of!(self, Of(_config) => Of::NAME)
    }

    /// Returns the functions that the transport requires of switches.
    #[must_use]
    pub fn requires(&self) -> SwitchRequirements {
        of!(self, Of(config) => Of::requires(config))
    }

    /// Returns the number of priority levels per class that its packets use.
    #[must_use]
    pub fn levels(&self) -> u16 {
        of!(self, Of(config) => Of::levels(config))
    }

    /// Returns a warning if the transport never did something in a run that it usually
    /// does.
    #[must_use]
    pub fn idle(&self, acted: &Acted) -> Option<&'static str> {
        of!(self, Of(_config) => Of::idle(acted))
    }
}

impl Choice for TransportConfig {
    fn provides(&self) -> Properties {
        Properties::of(&[Property::ReceiverDriven]).and(of!(self, Of(_config) => Of::PROVIDES))
    }

    fn rules(&self) -> Vec<Rule> {
        let name = self.name();
        let mut rules = of!(self, Of(config) => Of::rules(config));
        rules.extend(crate::rules! {
            wrong ["recovery", "control"] without [OwnRecovery]:
                format!("{name} repeats what is lost in its own way"), "set recovery = \"own\"";
            wrong ["nic", "control"] with [ScanArbiter]:
                format!("nic.arbiter = \"scan\" has senders of its own, and so has {name}"),
                "set nic.arbiter = \"ring\"";
            wrong ["path", "control"] with [HashedPorts]:
                format!("path = \"tuple\" is that of another simulator, which has no {name}"),
                "set path to \"flow\", \"packet\" or \"symmetric\"";
            wrong ["nic", "control"] with [FlowOrder]:
                format!("{name} has an order of its own among the flows of a NIC"),
                "set nic.schedule = \"round-robin\"";
            wrong ["ack", "control"] with [SparseAcks]:
                format!("{name} says itself what is acknowledged"), "set ack.every = 1";
        });
        let sprays = Finding::wrong(
            &["path", "control"],
            format!(
                "this `path` is for the congestion controls of senders, and {name} sends packets by itself"
            ),
            "set path = \"packet\" to spray by chance",
        );
        let allowed: &[Property] = match self.provides().has(Property::ChoosesPaths) {
            true => &[Property::Labels],
            false => &[],
        };
        rules.push(Rule::new(sprays, &[Property::SenderPaths], allowed));
        rules
    }
}

/// Returns the rules of a transport whose replies need the control class.
pub(crate) fn prompt_replies(name: &str) -> Vec<Rule> {
    crate::rules! {
        wrong ["ack", "control"] with [AcksWithData]:
            format!("{name}: the answers of receivers must not wait behind data"), "set ack.class = \"control\"";
    }
}

/// Frame sizes and classes of a NIC, as transports need them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Size of the header of a data packet in bytes, including INT.
    pub header: u16,
    /// Size of an ACK or other reply in bytes.
    pub ack: u16,
    /// Class of replies.
    pub ack_class: u8,
    /// Class of data packets of traffic class 0.
    pub data_class: u8,
}

impl Frames {
    /// Returns the bytes on the wire of a data packet with this payload.
    #[inline]
    pub const fn data_bytes(&self, payload: u16) -> u16 {
        self.header + payload
    }
}

/// State that each step of a transport can use. `P` is the type of the transport's parameters.
pub(crate) struct Context<'a, S, P> {
    pub now: Time,
    pub config: &'a P,
    pub frames: &'a Frames,
    pub counters: &'a mut NicCounters,
    /// Replies that are queued at the ports of the NIC.
    pub replies: &'a mut Replies,
    pub sink: &'a mut S,
}

impl<S: Sink, P> Context<'_, S, P> {
    /// Sends an arrived packet back as the ACK or NAK of a flow that was complete at `done_ps`
    /// ([`NEVER`]: it is not complete).
    ///
    /// [`NEVER`]: crate::units::NEVER
    fn answer(&mut self, port: u16, id: PacketId, kind: Kind, done_ps: Time, arena: &mut Arena) {
        match kind {
            Kind::Ack => self.counters.acks += 1,
            _ => self.counters.naks += 1,
        }
        turn(id, kind, self.frames.ack_class, self.frames.ack, arena);
        arena.cold_mut(id).stamp = Stamp::completion(done_ps);
        self.replies.send(port, id, arena, self.sink);
    }

    /// Queues a new frame among the replies of a port.
    fn send(&mut self, port: u16, (hot, cold): (Packet, Cold), arena: &mut Arena) {
        let id = arena.alloc(hot, cold);
        self.replies.send(port, id, arena, self.sink);
    }

    /// Reports a flow as complete. `cold` belongs to its last ACK.
    fn finish(&mut self, flow: &Packets, cold: &Cold) {
        let done_ps = cold.stamp.completion_ps();
        let end = flow.start.end(done_ps, self.now, flow.retransmitted);
        self.sink.finished(end);
    }
}

/// Counters of a run that the warnings of transports use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acted {
    /// Credits that switches dropped.
    pub credits_dropped: u64,
    /// Packets that switches trimmed.
    pub trims: u64,
    /// Counters of NICs.
    pub nics: DrivenCounters,
}

/// Sender and receiver half of a transport at one NIC.
pub(crate) trait Transport: Scheme + Debug + Sized {
    /// Returns the functions that the transport requires of switches.
    fn requires(_config: &Self::Config) -> SwitchRequirements {
        SwitchRequirements::default()
    }

    /// Returns the number of priority levels per class that its packets use.
    fn levels(_config: &Self::Config) -> u16 {
        1
    }

    /// Returns a warning if the transport never did something in a run that it usually does.
    fn idle(acted: &Acted) -> Option<&'static str>;

    /// Creates the state for ports with these rates and `classes` classes of frames.
    fn new(config: &Self::Config, frames: &Frames, classes: usize, ports: &[Rate]) -> Self;

    /// Starts a flow.
    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S, Self::Config>, flow: &FlowStart);

    /// Handles a received frame that is not a control frame between neighbours.
    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, Self::Config>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    );

    /// Returns the classes of which a packet other than a reply may leave by `port` now, as a bit
    /// set.
    fn ready(&self, frames: &Frames, now: Time, port: u16) -> ClassSet;

    /// Builds the next packet of a class that leaves by `port`. Called if no reply of the class is
    /// queued.
    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, Self::Config>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId>;

    /// Runs the timers that have expired. The time was scheduled with [`Sink::wake`].
    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S, Self::Config>, arena: &mut Arena);

    /// Handles a link at `port` that failed or recovered. Most transports have only replies queued
    /// there.
    // LNK-23
    fn link<S: Sink>(&mut self, _: &mut Context<'_, S, Self::Config>, _port: u16) {}

    /// Finishes deferred work at the end of a run. Most transports defer nothing.
    fn settle<S: Sink>(&mut self, _: &mut Context<'_, S, Self::Config>) {}

    /// Returns the number of credits that were created but not sent. 0 for transports without
    /// credits.
    fn waiting_credits(&self) -> u64 {
        0
    }

    /// Calls `visit` with every outgoing flow that has not ended.
    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, Unfinished));
}

/// Returns a data packet of a flow and its cold part.
pub(crate) fn data_packet(
    now: Time,
    frames: &Frames,
    start: &FlowStart,
    slot: FlowSlot,
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
        cookie: start.cookie,
        remaining: start.bytes - before,
        payload,
        ..Cold::default()
    };
    (hot, cold)
}

/// Returns the parameter for the first window of a transport.
pub(crate) const fn window(rule: &'static str, source: &'static str) -> Param {
    Param::size("window", 1, MAX_SIZE_BYTES)
        .or(&["bdp"])
        .default("\"bdp\"", rule, source)
}

/// Returns the parameter for a timeout after which packets are sent or requested again.
pub(crate) const fn timeout(
    default: &'static str,
    rule: &'static str,
    source: &'static str,
) -> Param {
    Param::time("timeout", US)
        .default(default, rule, source)
        .in_network(InNetwork::Timeout)
}

/// Returns the packets of a window with this payload, or of one BDP on the wire; at least one.
// NDP-12, HOM-01
pub(crate) fn window_packets(bytes: Option<u64>, path: &PathInfo, frames: &Frames) -> u32 {
    let frame = frames.data_bytes(frames.mtu);
    let packets = match bytes {
        Some(bytes) => bytes.div_ceil(frames.mtu.into()),
        None => (path.bdp_bytes as u64).div_ceil(frame.into()),
    };
    packets.clamp(1, u32::MAX.into()) as u32
}
