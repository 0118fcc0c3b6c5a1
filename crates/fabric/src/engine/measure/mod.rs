//! Optional records of a run, in addition to flows, buffers, ports and pauses. A scenario enables
//! them. They do not change results. The rules are in `specs/record.md`.
//!
//! A measure observes the events of a run. It is one file and one line of the list below. To add
//! one:
//! 1. Write a file with three types: its configuration (`Spec`), its rows with their columns
//!    ([`Row`](crate::record::Row)), and its state.
//! 2. Implement `Measure` for the state: its key and the keys of its table under `[record]`, the
//!    events that it wants, `on` for each of these events, and `finish` to output its rows. In
//!    `on`, a `match` selects the events; a `View` gives read access to links, switches, NICs and
//!    packets. `rtt.rs` is a short example.
//! 3. Add its module and its line in the list.
//!
//! The rest is derived from these: reading of scenarios, merging of rows of several threads, files,
//! percentiles in `summary.json`, tables of docs/scenario.md, the JSON Schema, and the tables in
//! Python.
//!
//! The engine emits an event only if a measure of the run wants it. `on` is inlined where the
//! engine emits an event, so that only the code for this event remains. Code that few events need
//! belongs in a separate function.

mod bins;
mod blame;
mod capture;
mod delay_histogram;
mod event;
mod ingress;
mod pause_tree;
mod pauses;
mod port_queues;
mod queue_histogram;
mod rtt;
mod stays;
mod throughput;
mod utilisation;
mod view;
mod waiting;
mod watch;

use dataplane::config::NicConfig;
use dataplane::event::EventSet;
use dataplane::packet::PacketId;
use dataplane::param::{self, Param, Values};
use dataplane::units::{NS, Time};

use super::merge::Merged;
use crate::ids::NodeId;
use crate::record::Table;
use crate::topology::Graph;
pub(super) use blame::Journey;
pub use blame::{BlameHopRecord, BlameLossRecord, BlameRecord, Part, Parts, Spec as Blame};
pub use capture::{CapturedFrame, Spec as CaptureSpec};
pub use delay_histogram::{DelayBin, Spec as DelayHistogram};
pub(super) use event::{Dropped, Event, Sending};
pub use ingress::{Held as IngressHeld, IngressSample, Spec as IngressSeries};
pub use pauses::{CauseRecord, HeldFlowRecord, Spec as PauseRecording};
pub use port_queues::{QueueSample, RecordedPorts, Spec as QueueSeries};
pub use queue_histogram::{QueueBin, Spec as QueueHistogram};
pub use rtt::{RttBin, Spec as RttHistogram};
pub use throughput::{Spec as Throughput, ThroughputRecord};
pub use utilisation::{Spec as Utilisation, UtilisationRecord};
pub(super) use view::{Reply, View};
pub use waiting::{Spec as Waiting, WaitingRecord};

/// Inputs for the creation of a measure.
pub(super) struct Setup<'a> {
    pub graph: &'a Graph,
    /// Switches of the partition, as node IDs.
    pub switches: &'a [NodeId],
    pub nic: &'a NicConfig,
    /// True if all packets of a flow take one path.
    pub one_path: bool,
    /// True if links fail or recover during the run.
    pub links_fail: bool,
    /// True if a port can be paused or resumed without receiving a frame (pause timers, spent
    /// credits, link failures).
    pub pauses_without_frames: bool,
    /// Frame format of this network.
    pub network: wire::Network,
}

/// A measure: records one kind of data of a run (time series, histograms, delay breakdown).
pub(super) trait Measure: Sized {
    /// Configuration of the measure in a scenario.
    type Spec;
    /// Key of the measure under `[record]`.
    const KEY: &'static str;
    /// Example of a scenario that enables the measure, as TOML below `[record]`.
    const EXAMPLE: &'static str;
    /// Description of the measure in one sentence.
    const ABOUT: &'static str;
    /// Keys of the measure's table under `[record]`.
    const PARAMS: &'static [Param];
    /// Kinds of events that the measure handles.
    const WANTS: EventSet;
    /// Reason why a run with this measure has one thread; `None`: it can have several.
    const ONE_THREAD: Option<&'static str> = None;

    /// Tables that the measure can write.
    fn tables() -> Vec<Table>;
    /// Returns true if the measure writes this table.
    fn fills(_spec: &Self::Spec, _table: &Table) -> bool {
        true
    }
    /// Returns the tables that the measure writes with this configuration.
    fn written(spec: &Self::Spec) -> Vec<Table> {
        let tables = Self::tables().into_iter();
        tables.filter(|table| Self::fills(spec, table)).collect()
    }
    /// Converts the values of the measure's keys to a configuration.
    fn configure(values: &Values) -> Self::Spec;
    /// Creates the measure of a partition at time 0.
    fn new(spec: &Self::Spec, setup: &Setup<'_>) -> Self;

    /// Returns true if the measure needs the arrivals of this packet. The engine omits arrivals
    /// that no measure needs, to save time. Frames between neighbours are always reported.
    #[inline(always)]
    fn follows(&self, _id: PacketId) -> bool {
        true
    }
    /// Handles an event of a kind in [`WANTS`](Self::WANTS).
    fn on(&mut self, event: &Event<'_>, view: &View<'_>);
    /// Outputs the rows that are complete after all events up to and including `at_ps`.
    fn probe(&mut self, _at_ps: Time, _out: &mut Merged) {}
    /// Outputs the remaining rows at the end of the run, `end_ps`.
    fn finish(&mut self, end_ps: Time, view: &View<'_>, out: &mut Merged);
}

/// Declaration of a measure, for scenarios and documents.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Key under `[record]`.
    pub key: &'static str,
    /// Example of a scenario that enables the measure, as TOML below `[record]`.
    pub example: &'static str,
    /// Keys of the measure's table under `[record]`.
    pub params: &'static [Param],
    /// Tables that the measure can write.
    pub tables: fn() -> Vec<Table>,
    /// Converts the values of the measure's keys to a configuration and stores it in a
    /// [`RecordSpec`].
    pub configure: fn(&mut RecordSpec, &Values),
}

/// Longest time that a scenario may set, in ps: a million seconds.
const LONGEST_PS: Time = 1_000_000_000_000_000_000;
/// Largest size that a scenario may set, in bytes.
const LARGEST_BYTES: u64 = 1_000_000_000_000_000_000;

const fn time(key: &'static str, min: Time) -> Param {
    let max = LONGEST_PS;
    Param::new(key, param::Kind::Time { min, max })
}

/// Reads a port from a value of a scenario: the node and the index of its port.
fn given_port(value: &param::Value) -> Option<(NodeId, u16)> {
    match *value {
        param::Value::Port(node, port) => Some((NodeId::from_bits(node), port)),
        _ => None,
    }
}

/// Time between two samples: at least a nanosecond.
const EVERY: Param = time("every", NS).about("Time between two samples.");
/// Width of a bin of times.
const BIN_TIME: Param = time("bin", 1).needed("\"100ns\"").about("Width of a bin.");
/// Parameter of the time window of a measure. The default is the measured time of the scenario
/// (RCD-08).
const WINDOW: Param = Param::new("window", param::Kind::Window { max: LONGEST_PS })
    .absent("the measured time: from the warm-up to the end of the last window of arrivals")
    .about("When it is recorded.");

/// Creates the configuration, the declarations and the dispatch of all measures.
macro_rules! measures {
    ($($list:tt)*) => {
        specification! { $($list)* }
        dispatch! { $($list)* }
    };
}

macro_rules! specification {
    ($($key:ident: $module:ident::$measure:ident;)*) => {
        /// Measures that a scenario enables, in addition to the records of every run. By default
        /// none is enabled.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct RecordSpec {$(
            #[doc = concat!("`", stringify!($key), "` of `[record]`.")]
            pub $key: Option<$module::Spec>,
        )*}

        /// All measures, in the order of the list.
        pub const MEASURES: &[Declaration] = &[$(Declaration {
            key: $module::$measure::KEY,
            example: $module::$measure::EXAMPLE, params: $module::$measure::PARAMS,
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
                let tables = [$(self.$key.as_ref().map($module::$measure::written),)*];
                tables.into_iter().flatten().flatten().collect()
            }

            /// Reason why a run with these measures needs a single thread; `None`: it can have
            /// several.
            #[must_use]
            pub fn one_thread(&self) -> Option<&'static str> {
                let why = [$(self.$key.as_ref().and($module::$measure::ONE_THREAD),)*];
                why.into_iter().flatten().next()
            }

            /// Kinds of events that the enabled measures handle.
            pub(super) fn wants(&self) -> EventSet {
                let wanted = [$(self.$key.as_ref().map(|_| $module::$measure::WANTS),)*];
                EventSet::of(&wanted.map(Option::unwrap_or_default))
            }
        }
    };
}

macro_rules! dispatch {
    ($($key:ident: $module:ident::$measure:ident;)*) => {
        /// The measures of a partition.
        // RCD-01
        #[derive(Debug)]
        pub(super) struct Measures { $($key: Option<$module::$measure>,)* }

        impl Measures {
            /// Creates the enabled measures; `None`: no measure is enabled.
            pub fn new(spec: &RecordSpec, setup: &Setup<'_>) -> Option<Box<Self>> {
                (*spec != RecordSpec::default()).then(|| Box::new(Self {$(
                    $key: spec.$key.as_ref().map(|spec| $module::$measure::new(spec, setup)),
                )*}))
            }

            /// Returns true if a measure needs the arrivals of a packet.
            #[inline(always)]
            pub fn follow(&self, id: PacketId) -> bool {
                false $(|| $module::$measure::WANTS.intersects(Event::ARRIVALS)
                    && self.$key.as_ref().is_some_and(|measure| measure.follows(id)))*
            }

            /// Passes an event to the measures that handle its kind. `kinds`, a constant, contains
            /// the kind.
            #[inline(always)]
            pub fn emit(&mut self, kinds: EventSet, event: &Event<'_>, view: &View<'_>) {
                $(if $module::$measure::WANTS.intersects(kinds)
                    && $module::$measure::WANTS.intersects(event.kind())
                    && let Some(measure) = &mut self.$key
                {
                    measure.on(event, view);
                })*
            }

            pub fn probe(&mut self, at_ps: Time, out: &mut Merged) {
                $(if let Some(measure) = &mut self.$key { measure.probe(at_ps, out); })*
            }

            pub fn finish(&mut self, end_ps: Time, view: &View<'_>, out: &mut Merged) {
                $(if let Some(measure) = &mut self.$key { measure.finish(end_ps, view, out); })*
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
