//! Receiver-driven transports: sender and receiver of one kind, in the place of a control of senders. One
//! file for each transport; here is what they share, the trait that they implement, and the list of all.

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
use crate::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param, Values};
use crate::replies::Replies;
use crate::requirements::SwitchRequirements;
use crate::sink::Sink;
use crate::units::{Rate, Time, US};
pub(crate) use flows::{Incomings, Peer, Slots, Turns};

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

        /// All transports, in the order of the list.
        pub const TRANSPORTS: &[Declaration] = &[$(
            Declaration {
                name: $module::$name::NAME,
                title: $module::$name::TITLE,
                about: $module::$name::ABOUT,
                params: $module::$name::PARAMS,
                needs: $module::$name::NEEDS,
                configure: |values| $module::$name::configure(values).map(TransportConfig::$name),
            },
        )*];

        impl TransportConfig {
            /// The word of the transport in scenarios.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $module::$name::NAME,)*
                }
            }

            /// The name of the transport in sentences.
            #[must_use]
            pub const fn title(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $module::$name::TITLE,)*
                }
            }

            /// What the transport needs of the other axes of a scheme.
            #[must_use]
            pub const fn needs(&self) -> Needs {
                match self {
                    $(Self::$name(_) => $module::$name::NEEDS,)*
                }
            }

            /// The same where what is around it is known.
            #[must_use]
            pub fn complete(self, around: &Around) -> Self {
                match self {
                    $(Self::$name(config) => Self::$name($module::$name::complete(config, around)),)*
                }
            }

            /// Returns the answers of switches that the transport requires.
            #[must_use]
            pub fn requires(&self) -> SwitchRequirements {
                match self {
                    $(Self::$name(config) => $module::$name::requires(config),)*
                }
            }

            /// Priority levels of a class that its packets name.
            #[must_use]
            pub fn levels(&self) -> u16 {
                match self {
                    $(Self::$name(config) => $module::$name::levels(config),)*
                }
            }

            /// What the transport never did in a run, if that is strange.
            #[must_use]
            pub fn idle(&self, acted: &Acted) -> Option<&'static str> {
                match self {
                    $(Self::$name(_) => $module::$name::idle(acted),)*
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
    /// Answers that wait at the ports of the NIC.
    pub replies: &'a mut Replies,
    pub sink: &'a mut S,
}

impl<S: Sink, P> Context<'_, S, P> {
    /// Sends a packet that arrived by a port back as an ACK: its flow is complete, since `done_ps`.
    fn acknowledge(&mut self, port: u16, id: PacketId, done_ps: Time, arena: &mut Arena) {
        self.counters.acks += 1;
        let frames = self.frames;
        turn(id, Kind::Ack, frames.ack_class, frames.ack, arena);
        arena.cold_mut(id).stamp = Stamp::completion(done_ps);
        self.replies.send(port, id, arena, self.sink);
    }

    /// Reports a flow that the last ACK, `cold`, completes.
    fn finish(&mut self, start: &FlowStart, cold: &Cold, retransmitted: u32) {
        let end = start.end(cold.stamp.completion_ps(), self.now, retransmitted);
        self.sink.finished(end);
    }
}

/// What a transport declares beside its mechanics: reading and checking of scenarios and their documents
/// follow from it.
pub trait Declared {
    /// Its configuration.
    type Config: Copy + Debug + PartialEq;
    /// Its word in scenarios, and the name of the table of its parameters.
    const NAME: &'static str;
    /// Its name in sentences.
    const TITLE: &'static str;
    /// What it does, in one sentence.
    const ABOUT: &'static str;
    /// Its parameters.
    const PARAMS: &'static [Param];
    /// What it needs of the other axes of a scheme.
    const NEEDS: Needs;

    /// The configuration that values of [`Self::PARAMS`] make.
    ///
    /// # Errors
    /// Values that cannot go together.
    fn configure(values: &Values) -> Result<Self::Config, Conflict>;

    /// Its configuration where what is around it is known.
    fn complete(config: Self::Config, _around: &Around) -> Self::Config {
        config
    }

    /// Returns the answers of switches that it requires.
    fn requires(_config: &Self::Config) -> SwitchRequirements {
        SwitchRequirements::default()
    }

    /// Priority levels of a class that its packets name.
    fn levels(_config: &Self::Config) -> u16 {
        1
    }

    /// What it never did in a run, if that is strange.
    fn idle(acted: &Acted) -> Option<&'static str>;
}

/// What a transport needs of the other axes of a scheme. A sentence says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Its own frames take the control class, which answers must leave to them; else answers belong there.
    pub owns_control_class: Option<&'static str>,
    /// What goes back must take the links that what came took.
    pub symmetric_paths: Option<&'static str>,
    /// Each data class has one queue at a port.
    pub one_queue: Option<&'static str>,
    /// Its packets name queues by priority, which are served strictly in order.
    pub levels: bool,
    /// Its senders choose the path of each packet.
    pub chooses_paths: bool,
    /// Its parameters follow from the sizes of flows.
    pub flow_sizes: bool,
    /// Its packets say whether their receiver granted them.
    pub grants: bool,
    /// Its switches cut packets to headers, which leave in another class than they came in.
    pub trims: bool,
}

impl Needs {
    /// Nothing but that its answers have the control class.
    pub const NOTHING: Self = Self {
        owns_control_class: None,
        symmetric_paths: None,
        one_queue: None,
        levels: false,
        chooses_paths: false,
        flow_sizes: false,
        grants: false,
        trims: false,
    };
}

/// What is around a transport in its network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Around {
    /// Bytes of the largest frame.
    pub max_frame: u16,
    /// Sizes of flows in bytes, ascending, and how many of each are expected; for those that need them.
    pub flow_sizes: Vec<(f64, f64)>,
    /// Payload of the packets that one BDP takes, in bytes; for those that need flow sizes.
    pub bdp_bytes: f64,
}

/// What was done in a run, as far as transports care.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acted {
    /// Credits that switches dropped.
    pub credits_dropped: u64,
    /// Packets that switches trimmed.
    pub trims: u64,
    /// What NICs did.
    pub nics: DrivenCounters,
}

/// The declaration of a transport of the list, as data.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Its word in scenarios, and the name of the table of its parameters.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What it needs of the other axes of a scheme.
    pub needs: Needs,
    /// Makes its configuration from values.
    pub configure: fn(&Values) -> Result<TransportConfig, Conflict>,
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

    /// Classes of which something besides answers may leave by `port` now, as bits.
    fn ready(&self, frames: &Frames, now: Time, port: u16) -> ClassSet;

    /// What of a class leaves by `port`. No answer of the class waits.
    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S, Self::Config>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId>;

    /// The time that was given to [`Sink::wake`] has come.
    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S, Self::Config>, arena: &mut Arena);

    /// The link at `port` has failed, or is back. Most transports have only answers there.
    // LNK-23
    fn link<S: Sink>(&mut self, _: &mut Context<'_, S, Self::Config>, _port: u16) {}

    /// The run is over: counts what was put off. Most transports put nothing off.
    fn settle<S: Sink>(&mut self, _: &mut Context<'_, S, Self::Config>) {}

    /// Credits that were made and not sent, where the transport has credits.
    fn waiting_credits(&self) -> u64 {
        0
    }

    /// Calls `visit` with every flow that is sent and has not ended.
    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, Unfinished));
}

/// Turns a packet that arrived into an answer for its sender. Its hash stays, and with it,
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

/// Counts a data packet that a NIC sends; of a repeated one also marks it.
pub(crate) fn count_sent(counters: &mut NicCounters, hot: &mut Packet, payload: u16, again: bool) {
    if again {
        hot.flags |= flag::RETRANSMITTED;
    }
    counters.count_sent(hot, payload);
}

/// Packets of a flow of this many bytes.
// NIC-01
pub(crate) fn packets_of(bytes: u64, mtu: u16) -> u32 {
    bytes.div_ceil(u64::from(mtu)) as u32
}

/// The first window of a transport, as a parameter.
pub(crate) const fn window(rule: &'static str, source: &'static str) -> Param {
    Param::size("window", 1, MAX_SIZE_BYTES)
        .or(&["bdp"])
        .default("\"bdp\"", rule, source)
        .about("Payload bytes that a flow sends before it hears anything; `\"bdp\"`: one BDP.")
}

/// A silence after which something is sent again, as a parameter.
pub(crate) const fn timeout(
    default: &'static str,
    rule: &'static str,
    source: &'static str,
) -> Param {
    Param::time("timeout", US)
        .default(default, rule, source)
        .about("Silence after which something is sent or requested again.")
        .in_network(InNetwork::Timeout)
}

/// Packets of a window: of this many payload bytes, or of one BDP on the wire; at least one.
// NDP-12, HOM-01
pub(crate) fn window_packets(bytes: Option<u64>, path: &PathInfo, frames: &Frames) -> u32 {
    let frame = frames.data_bytes(frames.mtu);
    let packets = match bytes {
        Some(bytes) => bytes.div_ceil(frames.mtu.into()),
        None => (path.bdp_bytes as u64).div_ceil(frame.into()),
    };
    packets.clamp(1, u32::MAX.into()) as u32
}
