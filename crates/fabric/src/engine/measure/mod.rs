//! Optional records of a run, in addition to flows, buffers, ports and pauses. A scenario enables them. They do not
//! change results. The rules are in `specs/record.md`.
//!
//! A measure is one file and one line of the list below. To add one:
//! 1. Write a file with its configuration (`Spec`), its rows with their columns ([`Row`](crate::record::Row)), and its
//!    state with the hooks that it needs (`Measure`). `Measure` also declares its key and the keys of its table under
//!    `[record]`. `rtt.rs` is a short example.
//! 2. Add its module and its line in the list.
//!
//! The rest is derived from these: reading of scenarios, merging of rows of several threads, files, percentiles in
//! `summary.json`, tables of docs/scenario.md, the JSON Schema, and the tables in Python.

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

/// Inputs to create a measure.
pub(super) struct Setup<'a> {
    pub graph: &'a Graph,
    /// Switches of the partition, by their numbers among nodes.
    pub switches: &'a [NodeId],
    pub nic: &'a NicConfig,
    /// All packets of a flow take one path.
    pub one_path: bool,
    /// Links fail or come back during the run.
    pub links_fail: bool,
    /// Frame format of this network.
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
    /// Transmission time of the frame.
    pub takes_ps: Time,
}

/// Like [`Passing`], with more data of the frame.
pub(super) struct Sending<'a> {
    pub passing: Passing<'a>,
    pub cold: &'a Cold,
    pub arena: &'a Arena,
    /// Propagation delay of the link, in ps.
    pub delay_ps: Time,
}

/// A measure. The engine calls the hooks; a hook that a measure does not implement costs nothing.
pub(super) trait Measure: Sized {
    /// Configuration in a scenario.
    type Spec;
    /// Key under `[record]`.
    const KEY: &'static str;
    /// Example of a scenario that enables the measure, as TOML below `[record]`.
    const EXAMPLE: &'static str;
    /// Description in one sentence.
    const ABOUT: &'static str;
    /// The keys of its table under `[record]`.
    const PARAMS: &'static [Param];
    /// Needs the time that each packet was in its switch.
    const TIMES_WAITING: bool = false;
    /// Needs every port whose queue may have changed.
    const WATCHES_QUEUES: bool = false;
    /// Needs all frames that arrive at switches.
    const SEES_SWITCHES: bool = false;
    /// Needs all frames that arrive at hosts.
    const SEES_HOSTS: bool = false;
    /// Needs each pause and resume of PFC.
    const FOLLOWS_PAUSES: bool = false;
    /// Needs the events and wait reasons of each flow and each of its packets.
    const FOLLOWS_FLOWS: bool = false;
    /// Reason why a run with this measure has one thread; `None`: it can have several.
    const ONE_THREAD: Option<&'static str> = None;

    /// Tables that the measure can write.
    fn tables() -> Vec<Table>;
    /// Returns true if the measure writes this table.
    fn fills(_spec: &Self::Spec, _table: &Table) -> bool {
        true
    }
    /// Converts the values of its keys to a configuration.
    fn configure(values: &Values) -> Self::Spec;
    /// Creates the measure of a partition at time 0.
    fn new(spec: &Self::Spec, setup: &Setup<'_>) -> Self;

    /// A port of a switch starts to send a packet. Called if a measure sets [`TIMES_WAITING`](Self::TIMES_WAITING).
    fn packet_leaves(&mut self, _departure: &Departure<'_>) {}
    /// An ACK arrived at its NIC `rtt_ps` after the start of the transmission of its packet. Called if a measure sets
    /// [`SEES_HOSTS`](Self::SEES_HOSTS).
    fn ack_arrived(&mut self, _now: Time, _rtt_ps: Time) {}
    /// A receiver got at least one byte of payload of a flow in order. Called if a measure sets
    /// [`SEES_HOSTS`](Self::SEES_HOSTS).
    fn data_delivered(&mut self, _now: Time, _flow: u32, _bytes: u64) {}
    /// A frame arrives at a switch; `_link` is the direction on which it was sent. Called if a measure sets
    /// [`SEES_SWITCHES`](Self::SEES_SWITCHES).
    fn packet_came(&mut self, _link: LinkId) {}
    /// The queue of this port may have changed. Called if a measure sets [`WATCHES_QUEUES`](Self::WATCHES_QUEUES).
    fn queue_touched(&mut self, _link: LinkId) {}
    /// All events of this instant are done. Called if a measure sets [`WATCHES_QUEUES`](Self::WATCHES_QUEUES).
    fn instant_over(&mut self, _now: Time, _switches: &[Switch]) {}
    /// A switch has queued a pause or resume frame, which has not left yet. Returns the cold part for the frame.
    fn pfc_sent(&mut self, _now: Time, _sent: &PauseSent, _view: &View<'_>) -> Option<Cold> {
        None
    }
    /// A pause or resume frame arrives at a port. The node has not processed it yet. Returns the number of the pause.
    fn pfc_arrives(
        &mut self,
        _now: Time,
        _at: (LocalNode, u16),
        _frame: PacketId,
        _view: &View<'_>,
    ) -> Option<u32> {
        None
    }
    /// The pause timer of a port and class has expired.
    fn pause_expires(&mut self, _now: Time, _at: (LinkId, u8), _view: &View<'_>) {}
    /// A flow starts, with index `_at` among the live flows. `_links` are its NIC port and the port that leads to its
    /// receiver.
    fn flow_started(&mut self, _now: Time, _flow: &Flow, _at: u32, _links: (LinkId, LinkId)) {}
    /// A state machine reported an event. Returns the cold part for the frame of the event, if there is one.
    fn heard(&mut self, _now: Time, _heard: Heard, _view: &View<'_>) -> Option<Cold> {
        None
    }
    /// A port starts to send a frame. Returns true if the measure needs a call of [`sends`](Self::sends) for it.
    #[inline]
    fn passes(&mut self, _passing: Passing<'_>) -> bool {
        false
    }
    /// A port starts to send a frame for which a measure returned true from [`passes`](Self::passes).
    fn sends(&mut self, _sending: &Sending<'_>) {}
    /// A switch has admitted a packet, or has converted it to another kind.
    fn came_to_switch(&mut self, _now: Time, _node: LocalNode, _id: PacketId, _view: &View<'_>) {}
    /// A switch has dropped an arriving packet.
    fn packet_gone(&mut self, _id: PacketId) {}
    /// A data packet arrives at its host. The host has not processed it yet.
    fn came_to_host(&mut self, _now: Time, _id: PacketId) {}
    /// A packet leaves for another partition. Returns the journey that goes with it.
    fn hand_over(&mut self, _id: PacketId) -> Option<Journey> {
        None
    }
    /// A packet arrives from another partition, with its journey.
    fn take_over(&mut self, _id: PacketId, _journey: Option<Journey>) {}
    /// The reason for which a flow waits has changed.
    fn flow_waits(&mut self, _now: Time, _flow: FlowAt, _wait: Wait) {}
    /// Prefetches the state of a packet.
    fn prefetch(&self, _id: PacketId) {}
    /// Returns true if the measure follows a packet.
    fn follows(&self, _id: PacketId) -> bool {
        false
    }
    /// The paused classes of a port, or the classes for which the neighbour has no room, have changed.
    fn holds_change(&mut self, _now: Time, _link: LinkId, _classes: (ClassSet, ClassSet)) {}
    /// The reason why packets wait at a port may have changed.
    fn look_again(&mut self, _now: Time, _link: LinkId, _view: &View<'_>) {}
    /// The receiver has the last byte of a flow. Returns a description of an error in its delay breakdown, if any.
    fn flow_delivered(&mut self, _now: Time, _flow: u32, _graph: &Graph) -> Option<String> {
        None
    }
    /// All events up to and including `at_ps` are done: outputs the complete rows.
    fn probe(&mut self, _at_ps: Time, _out: &mut Merged) {}
    /// The run ended at `end_ps`: outputs the other rows.
    fn finish(&mut self, _end_ps: Time, _view: &View<'_>, _out: &mut Merged) {}
}

/// Declaration of a measure, for scenarios and documents.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Key under `[record]`.
    pub key: &'static str,
    /// Example of a scenario that enables the measure, as TOML below `[record]`.
    pub example: &'static str,
    /// The keys of its table under `[record]`.
    pub params: &'static [Param],
    /// Tables that the measure can write.
    pub tables: fn() -> Vec<Table>,
    /// Converts the values of its keys to a configuration and stores it in the specification.
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
        /// Measures that a scenario enables, in addition to the records of every run. By default none is enabled. They
        /// do not change results.
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
            /// Tables that the run writes.
            #[must_use]
            pub fn tables(&self) -> Vec<Table> {
                let mut tables = Vec::new();
                $(if let Some(spec) = &self.$key {
                    let made = $module::$measure::tables().into_iter();
                    tables.extend(made.filter(|table| $module::$measure::fills(spec, table)));
                })*
                tables
            }

            /// Reason why a run with these measures has one thread; `None`: it can have several.
            #[must_use]
            pub fn one_thread(&self) -> Option<&'static str> {
                let mut why = None;
                $(why = why.or($module::$measure::ONE_THREAD.filter(|_| self.$key.is_some()));)*
                why
            }

            /// True if a measure needs every port whose queue may have changed.
            pub(super) fn watches_queues(&self) -> bool {
                false $(|| $module::$measure::WATCHES_QUEUES && self.$key.is_some())*
            }

            /// True if a measure needs each pause and resume of PFC.
            pub(super) fn follows_pauses(&self) -> bool {
                false $(|| $module::$measure::FOLLOWS_PAUSES && self.$key.is_some())*
            }

            /// True if a measure needs the events and wait reasons of each flow and each of its packets.
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

// List of measures: the key under `[record]`, and the type.
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

/// A data packet that a NIC is about to receive: its flow, and the bytes that the NIC had delivered before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    flow: u32,
    delivered_bytes: u64,
}

/// The measures of a partition, with their shared state.
// RCD-01
#[derive(Debug)]
pub(super) struct Recording {
    measures: Measures,
    /// Time of arrival of each packet in a switch; `None`: no measure needs it.
    arrived_ps: Option<Vec<Time>>,
    /// True if a measure needs all arrivals at switches or at hosts.
    sees_all: bool,
    /// Per port, at the last check: paused classes, and classes for which the neighbour has no room. Empty if no
    /// measure follows flows.
    held_classes: IndexVec<LinkId, (ClassSet, ClassSet)>,
}

impl Recording {
    /// Returns `None` if no measure is enabled.
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

    /// A packet has fully arrived at a switch on this link.
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

    /// Returns true if a measure needs the arrival of a frame. The frame is not a control frame between neighbours.
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

    /// All events of this instant are done.
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

    /// The pause timer of a port and class has expired.
    pub fn pause_expires(&mut self, now: Time, at: (LinkId, u8), view: &View<'_>) {
        self.measures.pause_expires(now, at, view);
    }

    /// A flow starts, with index `at` among the live flows. `links` are its NIC port and the port that leads to its
    /// receiver.
    pub fn flow_started(&mut self, now: Time, flow: &Flow, at: u32, links: (LinkId, LinkId)) {
        self.measures.flow_started(now, flow, at, links);
    }

    /// A state machine reported an event. Returns the cold part for the frame of the event, if there is one.
    pub fn heard(&mut self, now: Time, heard: Heard, view: &View<'_>) -> Option<Cold> {
        self.measures.heard(now, heard, view)
    }

    /// A switch has admitted a packet, or has converted it to another kind.
    pub fn came_to_switch(&mut self, now: Time, node: LocalNode, id: PacketId, view: &View<'_>) {
        self.measures.came_to_switch(now, node, id, view);
    }

    /// A switch has dropped an arriving packet.
    pub fn packet_gone(&mut self, id: PacketId) {
        self.measures.packet_gone(id);
    }

    /// A flow waits for something else than before.
    pub fn flow_waits(&mut self, now: Time, flow: FlowAt, wait: Wait) {
        self.measures.flow_waits(now, flow, wait);
    }

    /// Prefetches the state of a packet.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        self.measures.prefetch(id);
    }

    /// Returns true if a measure follows a packet.
    #[inline]
    pub fn follows(&self, id: PacketId) -> bool {
        self.measures.follows(id)
    }

    /// Sets the paused classes of a port and the classes for which the neighbour has no room. Returns true if they have
    /// changed.
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

    /// The reason why packets wait at a port may have changed.
    pub fn look_again(&mut self, now: Time, link: LinkId, view: &View<'_>) {
        self.measures.look_again(now, link, view);
    }

    /// A packet leaves for another partition. Returns the journey that goes with it.
    #[inline]
    pub fn hand_over(&mut self, id: PacketId) -> Option<Journey> {
        self.measures.hand_over(id)
    }

    /// A packet arrives from another partition, with its journey.
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
