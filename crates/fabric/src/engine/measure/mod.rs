//! What a run can record besides flows, buffers, ports and pauses, where its scenario says so. It observes
//! and counts; it changes no result. The rules are in `specs/record.md`.
//!
//! A measure is one file and one line of the list below. To add one:
//! 1. a file with what a scenario says of it (`Spec`), its rows with their columns
//!    ([`Row`](crate::record::Row)), and its state with the hooks that it needs (`Measure`, which also declares
//!    its key and the keys of its table under `[record]`); `rtt.rs` is a short one;
//! 2. its module and its line in the list.
//!
//! From these follow the reading of scenarios, the merging of rows of several threads, files, percentiles in
//! `summary.json`, the tables of docs/scenario.md and the JSON Schema, and what Python knows of tables.

mod bins;
mod blame;
mod capture;
mod delay_histogram;
mod ingress;
mod pause_tree;
mod pauses;
mod port_queues;
mod queue_histogram;
mod rtt;
mod throughput;
mod utilisation;
mod view;
mod waiting;
mod watch;

use dataplane::classes::ClassSet;
use dataplane::config::NicConfig;
use dataplane::ids::IndexVec;
use dataplane::nic::{Nic, Wait};
use dataplane::packet::{Arena, Cold, Kind, Packet, PacketId};
use dataplane::param::{self, Param, Values};
use dataplane::switch::Switch;
use dataplane::units::{NS, Time};
use traffic::Flow;

use super::flow_state::FlowAt;
use super::heard::Heard;
use super::link_ends::Near;
use super::merge::Merged;
use super::node::PauseSent;
use crate::ids::{LinkId, LocalNode, NodeId};
use crate::record::Table;
use crate::topology::Graph;
pub(super) use blame::Journey;
pub use blame::{BlameHopRecord, BlameLossRecord, BlameRecord, Part, Parts, Spec as Blame};
pub use capture::{CapturedFrame, Spec as CaptureSpec};
pub use delay_histogram::{DelayBin, Spec as DelayHistogram};
pub use ingress::{Held as IngressHeld, IngressSample, Spec as IngressSeries};
pub use pauses::{CauseRecord, HeldFlowRecord, Spec as PauseRecording};
pub use port_queues::{QueueSample, RecordedPorts, Spec as QueueSeries};
pub use queue_histogram::{QueueBin, Spec as QueueHistogram};
pub use rtt::{RttBin, Spec as RttHistogram};
pub use throughput::{Spec as Throughput, ThroughputRecord};
pub use utilisation::{Spec as Utilisation, UtilisationRecord};
pub(super) use view::View;
pub use waiting::{Spec as Waiting, WaitingRecord};

/// What a measure is made from.
pub(super) struct Setup<'a> {
    pub graph: &'a Graph,
    /// Switches of the partition, by their numbers among nodes.
    pub switches: &'a [NodeId],
    pub nic: &'a NicConfig,
    /// All packets of a flow take one path.
    pub one_path: bool,
    /// Links fail or come back during the run.
    pub links_fail: bool,
    /// What frames of this network look like.
    pub network: wire::Network,
}

/// A port of a switch begins to send a packet.
pub(super) struct Departure<'a> {
    pub now: Time,
    /// The link on which it sends.
    pub link: LinkId,
    pub packet: &'a Packet,
    pub cold: &'a Cold,
    /// Time since the packet came, whole, to the switch, ps.
    pub waited_ps: Time,
}

/// A port of a host or switch begins to send a frame.
#[derive(Clone, Copy)]
pub(super) struct Passing<'a> {
    pub now: Time,
    /// The link on which it sends.
    pub link: LinkId,
    pub from_host: bool,
    pub id: PacketId,
    pub packet: &'a Packet,
    /// Its transmission takes so long.
    pub takes_ps: Time,
}

/// The same, for measures that want to know more of the frame.
pub(super) struct Sending<'a> {
    pub passing: Passing<'a>,
    pub cold: &'a Cold,
    pub arena: &'a Arena,
    /// The first bit is so long on the link.
    pub delay_ps: Time,
}

/// Something that can be recorded. The engine calls the hooks; those that a measure leaves out cost nothing.
pub(super) trait Measure: Sized {
    /// What a scenario says of it.
    type Spec;
    /// Its key under `[record]`.
    const KEY: &'static str;
    /// How a scenario requests it, as TOML below `[record]`.
    const EXAMPLE: &'static str;
    /// What it records, in one sentence.
    const ABOUT: &'static str;
    /// The keys of its table under `[record]`.
    const PARAMS: &'static [Param];
    /// It wants to know how long each packet was in its switch.
    const TIMES_WAITING: bool = false;
    /// It wants to see every port whose queue may have changed.
    const WATCHES_QUEUES: bool = false;
    /// It wants to see what comes to switches.
    const SEES_SWITCHES: bool = false;
    /// It wants to see what comes to hosts.
    const SEES_HOSTS: bool = false;
    /// It wants to see each pause and resume of PFC.
    const FOLLOWS_PAUSES: bool = false;
    /// It wants to know what each flow and each of its packets does and waits for.
    const FOLLOWS_FLOWS: bool = false;
    /// Why a run with it has one thread; `None`: it may have several.
    const ONE_THREAD: Option<&'static str> = None;

    /// The tables that it may make.
    fn tables() -> Vec<Table>;
    /// Whether it makes one of these tables.
    fn fills(_spec: &Self::Spec, _table: &Table) -> bool {
        true
    }
    /// What the values of its keys say.
    fn configure(values: &Values) -> Self::Spec;
    /// At time 0 of a partition.
    fn new(spec: &Self::Spec, setup: &Setup<'_>) -> Self;

    /// A port of a switch begins to send a packet. Called where some measure [times](Self::TIMES_WAITING) that.
    fn packet_leaves(&mut self, _departure: &Departure<'_>) {}
    /// An ACK came to its NIC `rtt_ps` after the transmission of its packet began. Called where some measure
    /// [sees](Self::SEES_HOSTS) hosts.
    fn ack_arrived(&mut self, _now: Time, _rtt_ps: Time) {}
    /// A receiver got payload of a flow in order, at least one byte. Called where some measure
    /// [sees](Self::SEES_HOSTS) hosts.
    fn data_delivered(&mut self, _now: Time, _flow: u32, _bytes: u64) {}
    /// A frame comes to a switch by this port, or rather its other direction. Called where some measure
    /// [sees](Self::SEES_SWITCHES) switches.
    fn packet_came(&mut self, _link: LinkId) {}
    /// The queue of this port may have changed. Called where some measure [watches](Self::WATCHES_QUEUES) that.
    fn queue_touched(&mut self, _link: LinkId) {}
    /// Nothing more happens at this instant. Called where some measure [watches](Self::WATCHES_QUEUES) queues.
    fn instant_over(&mut self, _now: Time, _switches: &[Switch]) {}
    /// A switch has queued a pause or resume; the frame has not left yet. Returns what it shall carry.
    fn pfc_sent(&mut self, _now: Time, _sent: &PauseSent, _view: &View<'_>) -> Option<Cold> {
        None
    }
    /// A pause or resume arrives at a port, which has not read it yet. Returns the number of the pause.
    fn pfc_arrives(
        &mut self,
        _now: Time,
        _at: (LocalNode, u16),
        _frame: PacketId,
        _view: &View<'_>,
    ) -> Option<u32> {
        None
    }
    /// The pause of a port and class has run out.
    fn pause_expires(&mut self, _now: Time, _at: (LinkId, u8), _view: &View<'_>) {}
    /// A flow starts, in this place of the live flows. It leaves by the first of these ports, and comes to its receiver
    /// by the second.
    fn flow_started(&mut self, _now: Time, _flow: &Flow, _at: u32, _links: (LinkId, LinkId)) {}
    /// A state machine said something. Returns what the frame shall carry that it is about, if any.
    fn heard(&mut self, _now: Time, _heard: Heard, _view: &View<'_>) -> Option<Cold> {
        None
    }
    /// A port begins to send a frame. Returns whether this or another measure has to know [more](Self::sends) of it.
    #[inline]
    fn passes(&mut self, _passing: Passing<'_>) -> bool {
        false
    }
    /// A port begins to send a frame of which some measure has to know more.
    fn sends(&mut self, _sending: &Sending<'_>) {}
    /// A switch has admitted a packet, or made another of it.
    fn came_to_switch(&mut self, _now: Time, _node: LocalNode, _id: PacketId, _view: &View<'_>) {}
    /// A switch has dropped a packet that came to it.
    fn packet_gone(&mut self, _id: PacketId) {}
    /// A data packet comes to its host, which has not looked at it yet.
    fn came_to_host(&mut self, _now: Time, _id: PacketId) {}
    /// A packet leaves for another partition. Returns what goes with it.
    fn hand_over(&mut self, _id: PacketId) -> Option<Journey> {
        None
    }
    /// A packet comes from another partition, with this.
    fn take_over(&mut self, _id: PacketId, _journey: Option<Journey>) {}
    /// A flow waits for something else than before.
    fn flow_waits(&mut self, _now: Time, _flow: FlowAt, _wait: Wait) {}
    /// What is known of a packet may be needed soon.
    fn prefetch(&self, _id: PacketId) {}
    /// Whether it wants to know more of a packet.
    fn follows(&self, _id: PacketId) -> bool {
        false
    }
    /// From now on these classes of a port are paused, and for these there is no room.
    fn holds_change(&mut self, _now: Time, _link: LinkId, _classes: (ClassSet, ClassSet)) {}
    /// What holds the packets that wait at a port may have changed.
    fn look_again(&mut self, _now: Time, _link: LinkId, _view: &View<'_>) {}
    /// The last byte of a flow is at its receiver. Returns what is wrong with its account.
    fn flow_delivered(&mut self, _now: Time, _flow: u32, _graph: &Graph) -> Option<String> {
        None
    }
    /// Everything up to and with `at_ps` has happened: hands over the rows that are complete.
    fn probe(&mut self, _at_ps: Time, _out: &mut Merged) {}
    /// The run ended at `end_ps`: hands over the other rows.
    fn finish(&mut self, _end_ps: Time, _view: &View<'_>, _out: &mut Merged) {}
}

/// A measure as the documents list it.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Its key under `[record]`.
    pub key: &'static str,
    /// How a scenario requests it, as TOML below `[record]`.
    pub example: &'static str,
    /// The keys of its table under `[record]`.
    pub params: &'static [Param],
    /// The tables that it may make.
    pub tables: fn() -> Vec<Table>,
    /// Puts what the values of its keys say into the specification of what is recorded.
    pub configure: fn(&mut RecordSpec, &Values),
}

/// Longest time that a scenario may name, ps: a million seconds.
const LONGEST_PS: Time = 1_000_000_000_000_000_000;
/// Largest size that a scenario may name, bytes.
const LARGEST_BYTES: u64 = 1_000_000_000_000_000_000;

const fn time(key: &'static str, min: Time) -> Param {
    let max = LONGEST_PS;
    Param::new(key, param::Kind::Time { min, max })
}

/// Time between two samples: at least a nanosecond.
const EVERY: Param = time("every", NS).about("Time between two samples.");
/// Width of a bin of times.
const BIN_TIME: Param = time("bin", 1).needed("\"100ns\"").about("Width of a bin.");
/// When it is recorded. A scenario that leaves it out means the measured time (RCD-08).
const WINDOW: Param = Param::new("window", param::Kind::Window { max: LONGEST_PS })
    .absent("the measured time: from the warm-up to the end of the last window of arrivals")
    .about("When it is recorded.");

macro_rules! measures {
    ($($key:ident: $module:ident::$measure:ident;)*) => {
        /// What is recorded besides what every run records; nothing by default. Changes no result.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct RecordSpec {$(
            #[doc = concat!("`", stringify!($key), "` of `[record]`.")]
            pub $key: Option<$module::Spec>,
        )*}

        /// All measures, in the order of the list.
        pub const MEASURES: &[Declaration] = &[$(Declaration {
            key: $module::$measure::KEY,
            example: $module::$measure::EXAMPLE,
            params: $module::$measure::PARAMS,
            tables: $module::$measure::tables,
            configure: |spec, values| spec.$key = Some($module::$measure::configure(values)),
        },)*];

        /// The keys of `[record]`: a table for each measure.
        pub const PARAMS: &[Param] = &[$(
            Param::table($module::$measure::KEY, $module::$measure::PARAMS)
                .absent("not recorded")
                .about($module::$measure::ABOUT),
        )*];

        impl RecordSpec {
            /// The tables that are recorded.
            #[must_use]
            pub fn tables(&self) -> Vec<Table> {
                let mut tables = Vec::new();
                $(if let Some(spec) = &self.$key {
                    let made = $module::$measure::tables().into_iter();
                    tables.extend(made.filter(|table| $module::$measure::fills(spec, table)));
                })*
                tables
            }

            /// Why a run that records this has one thread; `None`: it may have several.
            #[must_use]
            pub fn one_thread(&self) -> Option<&'static str> {
                let mut why = None;
                $(why = why.or($module::$measure::ONE_THREAD.filter(|_| self.$key.is_some()));)*
                why
            }

            /// Some measure sees every port whose queue may have changed.
            pub(super) fn watches_queues(&self) -> bool {
                false $(|| $module::$measure::WATCHES_QUEUES && self.$key.is_some())*
            }

            /// Some measure sees each pause and resume of PFC.
            pub(super) fn follows_pauses(&self) -> bool {
                false $(|| $module::$measure::FOLLOWS_PAUSES && self.$key.is_some())*
            }

            /// Some measure sees what each flow and each of its packets does and waits for.
            pub(super) fn follows_flows(&self) -> bool {
                false $(|| $module::$measure::FOLLOWS_FLOWS && self.$key.is_some())*
            }

            fn times_waiting(&self) -> bool {
                false $(|| $module::$measure::TIMES_WAITING && self.$key.is_some())*
            }

            fn sees_switches(&self) -> bool {
                false $(|| $module::$measure::SEES_SWITCHES && self.$key.is_some())*
            }

            fn sees_hosts(&self) -> bool {
                false $(|| $module::$measure::SEES_HOSTS && self.$key.is_some())*
            }
        }

        /// The measures of a run.
        #[derive(Debug)]
        struct Measures {$(
            $key: Option<$module::$measure>,
        )*}

        impl Measures {
            fn new(spec: &RecordSpec, setup: &Setup<'_>) -> Self {
                Self {$(
                    $key: spec.$key.as_ref().map(|spec| $module::$measure::new(spec, setup)),
                )*}
            }

            fn packet_leaves(&mut self, departure: &Departure<'_>) {
                $(if let Some(m) = &mut self.$key { m.packet_leaves(departure); })*
            }

            fn ack_arrived(&mut self, now: Time, rtt_ps: Time) {
                $(if let Some(m) = &mut self.$key { m.ack_arrived(now, rtt_ps); })*
            }

            fn data_delivered(&mut self, now: Time, flow: u32, bytes: u64) {
                $(if let Some(m) = &mut self.$key { m.data_delivered(now, flow, bytes); })*
            }

            fn packet_came(&mut self, link: LinkId) {
                $(if let Some(m) = &mut self.$key { m.packet_came(link); })*
            }

            #[inline]
            fn queue_touched(&mut self, link: LinkId) {
                $(if let Some(m) = &mut self.$key { m.queue_touched(link); })*
            }

            #[inline]
            fn instant_over(&mut self, now: Time, switches: &[Switch]) {
                $(if let Some(m) = &mut self.$key { m.instant_over(now, switches); })*
            }

            fn pfc_sent(&mut self, now: Time, sent: &PauseSent, view: &View<'_>) -> Option<Cold> {
                let mut carried = None;
                $(if let Some(m) = &mut self.$key { carried = m.pfc_sent(now, sent, view).or(carried); })*
                carried
            }

            fn pfc_arrives(
                &mut self,
                now: Time,
                at: (LocalNode, u16),
                frame: PacketId,
                view: &View<'_>,
            ) -> Option<u32> {
                let mut number = None;
                $(if let Some(m) = &mut self.$key {
                    number = m.pfc_arrives(now, at, frame, view).or(number);
                })*
                number
            }

            fn pause_expires(&mut self, now: Time, at: (LinkId, u8), view: &View<'_>) {
                $(if let Some(m) = &mut self.$key { m.pause_expires(now, at, view); })*
            }

            fn flow_started(&mut self, now: Time, flow: &Flow, at: u32, links: (LinkId, LinkId)) {
                $(if let Some(m) = &mut self.$key { m.flow_started(now, flow, at, links); })*
            }

            fn heard(&mut self, now: Time, heard: Heard, view: &View<'_>) -> Option<Cold> {
                let mut carried = None;
                $(if let Some(m) = &mut self.$key { carried = m.heard(now, heard, view).or(carried); })*
                carried
            }

            #[inline]
            fn passes(&mut self, passing: Passing<'_>) -> bool {
                let mut more = false;
                $(if let Some(m) = &mut self.$key { more |= m.passes(passing); })*
                more
            }

            fn sends(&mut self, sending: &Sending<'_>) {
                $(if let Some(m) = &mut self.$key { m.sends(sending); })*
            }

            fn came_to_switch(&mut self, now: Time, node: LocalNode, id: PacketId, view: &View<'_>) {
                $(if let Some(m) = &mut self.$key { m.came_to_switch(now, node, id, view); })*
            }

            fn packet_gone(&mut self, id: PacketId) {
                $(if let Some(m) = &mut self.$key { m.packet_gone(id); })*
            }

            fn came_to_host(&mut self, now: Time, id: PacketId) {
                $(if let Some(m) = &mut self.$key { m.came_to_host(now, id); })*
            }

            fn hand_over(&mut self, id: PacketId) -> Option<Journey> {
                let mut journey = None;
                $(if let Some(m) = &mut self.$key { journey = m.hand_over(id).or(journey); })*
                journey
            }

            fn take_over(&mut self, id: PacketId, mut journey: Option<Journey>) {
                $(if let Some(m) = &mut self.$key && $module::$measure::FOLLOWS_FLOWS {
                    m.take_over(id, journey.take());
                })*
            }

            fn flow_waits(&mut self, now: Time, flow: FlowAt, wait: Wait) {
                $(if let Some(m) = &mut self.$key { m.flow_waits(now, flow, wait); })*
            }

            #[inline]
            fn prefetch(&self, id: PacketId) {
                $(if let Some(m) = &self.$key { m.prefetch(id); })*
            }

            #[inline]
            fn follows(&self, id: PacketId) -> bool {
                false $(|| self.$key.as_ref().is_some_and(|m| m.follows(id)))*
            }

            fn holds_change(&mut self, now: Time, link: LinkId, classes: (ClassSet, ClassSet)) {
                $(if let Some(m) = &mut self.$key { m.holds_change(now, link, classes); })*
            }

            fn look_again(&mut self, now: Time, link: LinkId, view: &View<'_>) {
                $(if let Some(m) = &mut self.$key { m.look_again(now, link, view); })*
            }

            fn flow_delivered(&mut self, now: Time, flow: u32, graph: &Graph) -> Option<String> {
                let mut wrong = None;
                $(if let Some(m) = &mut self.$key { wrong = m.flow_delivered(now, flow, graph).or(wrong); })*
                wrong
            }

            fn probe(&mut self, at_ps: Time, out: &mut Merged) {
                $(if let Some(m) = &mut self.$key { m.probe(at_ps, out); })*
            }

            fn finish(&mut self, end_ps: Time, view: &View<'_>, out: &mut Merged) {
                $(if let Some(m) = &mut self.$key { m.finish(end_ps, view, out); })*
            }
        }
    };
}

// The list: the key under `[record]`, and where the measure is.
measures! {
    throughput: throughput::Throughput;
    utilisation: utilisation::Utilisation;
    queues: port_queues::QueueSeries;
    ingress: ingress::IngressSeries;
    histogram: queue_histogram::QueueHistogram;
    rtt: rtt::RoundTrips;
    delay: delay_histogram::Delays;
    waiting: waiting::Waiting;
    pauses: pauses::PauseCauses;
    blame: blame::Blame;
    capture: capture::Capture;
}

/// A data packet that a NIC is about to receive: its flow, and what the NIC had delivered before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    flow: u32,
    delivered_bytes: u64,
}

/// The measures of a partition, and what several of them need.
// RCD-01
#[derive(Debug)]
pub(super) struct Recording {
    measures: Measures,
    /// Of each packet that is in a switch, when it came; `None`: no measure wants to know.
    arrived_ps: Option<Vec<Time>>,
    /// Some measure wants to see all that arrives at switches, or at hosts.
    sees_all: bool,
    /// Per port: classes that are paused, and those that the neighbour has no room for, when this was last looked
    /// at. Empty where no measure follows flows.
    held_classes: IndexVec<LinkId, (ClassSet, ClassSet)>,
}

impl Recording {
    /// `None` where nothing is recorded.
    pub fn new(spec: &RecordSpec, setup: &Setup<'_>) -> Option<Box<Self>> {
        (*spec != RecordSpec::default()).then(|| {
            Box::new(Self {
                measures: Measures::new(spec, setup),
                arrived_ps: spec.times_waiting().then(Vec::new),
                sees_all: spec.times_waiting() || spec.sees_switches() || spec.sees_hosts(),
                held_classes: match spec.follows_flows() {
                    true => vec![(0, 0); setup.graph.port_count() as usize].into(),
                    false => Vec::new().into(),
                },
            })
        })
    }

    /// A packet comes, whole, to a switch, by the port that begins this link.
    pub fn packet_arrived(&mut self, now: Time, link: LinkId, id: PacketId) {
        self.measures.packet_came(link);
        if let Some(arrived_ps) = &mut self.arrived_ps {
            let at = id as usize;
            if at >= arrived_ps.len() {
                arrived_ps.resize(at + 1, 0);
            }
            arrived_ps[at] = now;
        }
    }

    /// Whether a measure wants to know more of a frame that arrives, which is none between neighbours.
    #[inline]
    pub fn sees_arrival(&self, id: PacketId) -> bool {
        self.sees_all || self.measures.follows(id)
    }

    /// A port has begun to send a frame.
    #[inline]
    pub fn sends(
        &mut self,
        now: Time,
        (link, near): (LinkId, &Near),
        from_host: bool,
        id: PacketId,
        arena: &Arena,
    ) {
        let passing = Passing {
            now,
            link,
            from_host,
            id,
            packet: arena.hot(id),
            takes_ps: near.busy_ps - now,
        };
        if self.measures.passes(passing) | self.arrived_ps.is_some() {
            self.tell_sending(now, (link, near), from_host, id, arena);
        }
    }

    #[inline(never)]
    fn tell_sending(
        &mut self,
        now: Time,
        (link, near): (LinkId, &Near),
        from_host: bool,
        id: PacketId,
        arena: &Arena,
    ) {
        let sending = Sending {
            passing: Passing {
                now,
                link,
                from_host,
                id,
                packet: arena.hot(id),
                takes_ps: near.busy_ps - now,
            },
            cold: arena.cold(id),
            arena,
            delay_ps: near.delay_ps,
        };
        self.measures.sends(&sending);
        if self.arrived_ps.is_some() && !from_host {
            self.packet_leaves(&sending);
        }
    }

    /// A port of a switch begins to send a packet.
    fn packet_leaves(&mut self, sending: &Sending<'_>) {
        let passing = &sending.passing;
        // A frame that the switch made itself never came to it.
        let arrived_ps = self
            .arrived_ps
            .as_ref()
            .and_then(|all| all.get(passing.id as usize));
        self.measures.packet_leaves(&Departure {
            now: passing.now,
            link: passing.link,
            packet: passing.packet,
            cold: sending.cold,
            waited_ps: arrived_ps.map_or(0, |at_ps| passing.now - at_ps),
        });
    }

    /// A NIC is about to receive a packet.
    pub fn before_receive(
        &mut self,
        now: Time,
        id: PacketId,
        arena: &Arena,
        nic: &Nic,
    ) -> Option<Received> {
        match arena.hot(id).kind() {
            Kind::Ack => {
                self.measures.ack_arrived(now, now - arena.cold(id).sent_ps);
                None
            }
            Kind::Data => {
                let flow = arena.hot(id).flow;
                self.measures.came_to_host(now, id);
                Some(Received {
                    flow,
                    delivered_bytes: nic.counters().delivered_bytes,
                })
            }
            _ => None,
        }
    }

    /// The NIC has received it.
    pub fn after_receive(&mut self, now: Time, received: Received, nic: &Nic) {
        let bytes = nic.counters().delivered_bytes - received.delivered_bytes;
        if bytes > 0 {
            self.measures.data_delivered(now, received.flow, bytes);
        }
    }

    /// The queue of this port may have changed.
    #[inline]
    pub fn queue_touched(&mut self, link: LinkId) {
        self.measures.queue_touched(link);
    }

    /// Nothing more happens at this instant.
    #[inline]
    pub fn instant_over(&mut self, now: Time, switches: &[Switch]) {
        self.measures.instant_over(now, switches);
    }

    /// A switch has queued a pause or resume. Returns what the frame shall carry.
    pub fn pfc_sent(&mut self, now: Time, sent: &PauseSent, view: &View<'_>) -> Option<Cold> {
        self.measures.pfc_sent(now, sent, view)
    }

    /// A pause or resume arrives at a port of a node. Returns the number of the pause.
    pub fn pfc_arrives(
        &mut self,
        now: Time,
        at: (LocalNode, u16),
        frame: PacketId,
        view: &View<'_>,
    ) -> Option<u32> {
        self.measures.pfc_arrives(now, at, frame, view)
    }

    /// The pause of a port and class has run out.
    pub fn pause_expires(&mut self, now: Time, at: (LinkId, u8), view: &View<'_>) {
        self.measures.pause_expires(now, at, view);
    }

    /// A flow starts, in this place of the live flows. It leaves by the first of these ports, and comes to its receiver
    /// by the second.
    pub fn flow_started(&mut self, now: Time, flow: &Flow, at: u32, links: (LinkId, LinkId)) {
        self.measures.flow_started(now, flow, at, links);
    }

    /// A state machine said something. Returns what the frame shall carry that it is about, if any.
    pub fn heard(&mut self, now: Time, heard: Heard, view: &View<'_>) -> Option<Cold> {
        self.measures.heard(now, heard, view)
    }

    /// A switch has admitted a packet, or made another of it.
    pub fn came_to_switch(&mut self, now: Time, node: LocalNode, id: PacketId, view: &View<'_>) {
        self.measures.came_to_switch(now, node, id, view);
    }

    /// A switch has dropped a packet that came to it.
    pub fn packet_gone(&mut self, id: PacketId) {
        self.measures.packet_gone(id);
    }

    /// A flow waits for something else than before.
    pub fn flow_waits(&mut self, now: Time, flow: FlowAt, wait: Wait) {
        self.measures.flow_waits(now, flow, wait);
    }

    /// What is known of a packet may be needed soon.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        self.measures.prefetch(id);
    }

    /// Whether a measure wants to know more of a packet.
    #[inline]
    pub fn follows(&self, id: PacketId) -> bool {
        self.measures.follows(id)
    }

    /// These classes of a port are paused, and for these there is no room. Returns whether that is new.
    #[inline]
    pub fn holds_change(&mut self, now: Time, link: LinkId, classes: (ClassSet, ClassSet)) -> bool {
        let of = &mut self.held_classes[link];
        let changes = *of != classes;
        if changes {
            *of = classes;
            self.measures.holds_change(now, link, classes);
        }
        changes
    }

    /// What holds the packets that wait at a port may have changed.
    pub fn look_again(&mut self, now: Time, link: LinkId, view: &View<'_>) {
        self.measures.look_again(now, link, view);
    }

    /// A packet leaves for another partition. Returns what goes with it.
    #[inline]
    pub fn hand_over(&mut self, id: PacketId) -> Option<Journey> {
        self.measures.hand_over(id)
    }

    /// A packet comes from another partition, with this.
    #[inline]
    pub fn take_over(&mut self, id: PacketId, journey: Option<Journey>) {
        self.measures.take_over(id, journey);
    }

    /// The last byte of a flow is at its receiver. Returns what is wrong with its account.
    pub fn flow_delivered(&mut self, now: Time, flow: u32, graph: &Graph) -> Option<String> {
        self.measures.flow_delivered(now, flow, graph)
    }

    /// Everything up to and with `at_ps` has happened: hands over the rows that are complete.
    pub fn probe(&mut self, at_ps: Time, out: &mut Merged) {
        self.measures.probe(at_ps, out);
    }

    /// The run ended at `end_ps`: hands over the other rows.
    pub fn finish(&mut self, end_ps: Time, view: &View<'_>, out: &mut Merged) {
        self.measures.finish(end_ps, view, out);
    }
}
