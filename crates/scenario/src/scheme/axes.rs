//! Keys of `[scheme]`: its axes (independent choices) and single values, and the list of tables
//! with declared parameters.

use std::iter;
use std::sync::LazyLock;

use super::{nic, signal};
use crate::help::help;
use crate::presets::{PARAMETER_SETS, PRESET_NAMES, PROFILE_NAMES};
use dataplane::cc;
use dataplane::config::{Admission, BaseRtt, Classify, PathChoice, Schedule};
use dataplane::hop;
use dataplane::hop::pfc::{VICTIM_ABOUT, VICTIM_WORD, VictimParams};
use dataplane::link::{ALSO_BACKPRESSURE, LinkConfig};
use dataplane::param::{Field, Kind, MAX_TIME_PS, Param, Params, Value, Word};
use dataplane::paths::POLICIES;
use dataplane::reliability::RECOVERIES;
use dataplane::signal::NOTIFIERS;
use dataplane::transport::TRANSPORTS;
use dataplane::units::NS;
use dataplane::watchdog::WatchdogConfig;

/// Name and parameters of a table in `[scheme]`.
pub type Declared = (&'static str, &'static [Param]);

/// Returns each table of `[scheme]` with its parameters. Every preset starts from their defaults.
pub fn tables() -> impl Iterator<Item = Declared> {
    let (pfc, other_admissions) = Admission::WORDS.split_at(1);
    let hops = hop::words().iter().map(|word| (word.name, word.params));
    of(PathChoice::WORDS)
        .chain([("ack", nic::Ack::PARAMS)])
        .chain(of(Classify::WORDS))
        .chain(of(Schedule::WORDS))
        .chain(of(pfc))
        .chain([(VICTIM_WORD, VictimParams::PARAMS)])
        .chain(of(other_admissions))
        .chain([("ecn", signal::Ecn::PARAMS), ("int", signal::Int::PARAMS)])
        .chain(hops)
        .chain(of(LinkConfig::WORDS))
        .chain(of(WatchdogConfig::WORDS))
        .chain(of(NOTIFIERS))
        .chain(of(cc::all()))
        .chain(of(TRANSPORTS))
        .chain(of(POLICIES))
        .chain(of(RECOVERIES))
        .chain([("nic", nic::Nic::PARAMS)])
        .filter(|(_, params)| !params.is_empty())
}

/// Returns the table of each word of a key.
fn of<C>(words: &'static [Word<C>]) -> impl Iterator<Item = Declared> {
    words.iter().map(|word| (word.table, word.params))
}

dataplane::words! {
    /// Resolution of times in the simulation.
    pub(super) enum Clock {
        /// Times are exact to the picosecond.
        Exact = "exact",
        /// Times are truncated to nanoseconds.
        Ns = "ns",
    }
}

dataplane::words! {
    /// Order of the events at the same time.
    pub(super) enum Ties {
        /// A fixed order by kind of event (phases).
        Phases = "phases",
        /// The order in which the events were scheduled.
        Scheduling = "scheduling",
        /// First flow starts, then the order in which the events were scheduled.
        StartsFirst = "scheduling, starts first",
    }
}

dataplane::words! {
    /// Scope of the key `queues`.
    pub enum QueuesPer {
        /// `queues` is per port. The traffic classes in use share the queues evenly.
        Port = "port",
        /// `queues` is per traffic class.
        Class = "class",
    }
}

/// One word, or a list of words.
#[derive(Debug)]
pub(super) struct Words(pub Vec<&'static str>);

impl Field for Words {
    fn of(value: Option<&Value>) -> Self {
        Self(match value {
            Some(Value::List(_)) => Field::of(value),
            word => vec![Field::of(word)],
        })
    }
}

/// Words of `classify` with which a port has a configurable number of queues.
const SEVERAL_QUEUES: &[&str] = &["hash", "dynamic"];
const ONE_QUEUE: &str = "`classify` is neither \"hash\" nor \"dynamic\"";

dataplane::params! {
    /// The keys of `[scheme]` that are not tables.
    #[derive(Debug)]
    pub(super) struct Axes {
        /// Set of choices for all keys that the scenario does not set (`backwater list schemes`).
        pub preset: &'static str = Param::word("preset", &PRESET_NAMES)
            .default("\"bfc\"", "PRE-44", "our choice"),
        /// Paper or simulator from which the values are taken; `"none"`: the defaults of each scheme.
        pub parameters: &'static str = Param::word("parameters", PARAMETER_SETS)
            .default("\"none\"", "PRE-44", "the defaults of each scheme"),
        /// Behaviour of another simulator where it differs from the papers (see below).
        pub profile: &'static str = Param::word("profile", &PROFILE_NAMES)
            .default("\"none\"", "PRE-80", "as the papers have it"),
        /// Times are exact; or transmission, link delays, pacing and starts are truncated to
        /// nanoseconds as in ns-3.
        pub clock: Clock = Param::word("clock", Clock::WORDS)
            .default("\"exact\"", "PRE-80", "to the picosecond, our choice"),
        /// Order of events of one instant; `"phases"`: fixed; `"scheduling"`: in the order of
        /// scheduling (needs `clock = "ns"`); `"scheduling, starts first"`: the same, after flows
        /// that start.
        pub ties: Ties = Param::word("ties", Ties::WORDS)
            .default("\"phases\"", "PRE-80", "what happens at one instant has a fixed order (specs/engine.md)"),
        /// Selection of paths; [`axes`] adds the words and their description.
        pub path: &'static str = Param::word("path", &[])
            .default("\"flow\"", "PRE-01", "flow-level ECMP (BFC paper 6.2.1)"),
        /// Payload of a full packet.
        pub mtu: u16 = Param::size("mtu", 64, 16_000)
            .default("\"1000B\"", "PRE-02", "payload of a full packet (BFC paper 6.2.1)"),
        /// Header of a data packet.
        pub header: u16 = Param::size("header", 1, 1_000)
            .default("\"48B\"", "PRE-03", "Ethernet, IP, UDP and sequence number (authors' code of HPCC)"),
        /// Round trip T of windows and BDP: that of each pair of hosts, the largest of the network,
        /// or a time.
        pub base_rtt: BaseRtt = Param::new("base_rtt", Kind::Time { min: NS, max: MAX_TIME_PS })
            .or(&["pair", "network", "ns3-pair", "ns3-network"])
            .default("\"network\"", "PRE-04", "one T for all flows, the largest base RTT (HPCC paper 5.1)"),
        /// Queue of the egress port that a packet joins; `"hash"`: by a hash of the flow,
        /// `"dynamic"`: BFC's assignment, `"per-flow"`: a queue for each flow, `"priority"`: a queue
        /// for each level (Homa).
        pub classify: &'static str = Param::word("classify", &[])
            .default("\"fifo\"", "PRE-05", "one queue per class"),
        /// Queues of a port, one of them for control; for `"hash"` and `"dynamic"`.
        pub queues: u16 = Param::count("queues", 2, 4_096)
            .default("32", "PRE-06", "queues of a port, of which one is for control (BFC paper 6.2.1)")
            .with("classify", SEVERAL_QUEUES, ONE_QUEUE),
        /// `queues` is the number of queues of a port, which its traffic classes share evenly, or of
        /// each class.
        pub queues_per: QueuesPer = Param::word("queues_per", QueuesPer::WORDS)
            .default("\"port\"", "PRE-50", "split evenly among the traffic classes (BFC paper A.3)")
            .with("classify", SEVERAL_QUEUES, ONE_QUEUE),
        /// Queue that sends next; `"srf"`: that of the flow with the fewest remaining bytes,
        /// `"cyclic"`: a packet of each queue by number, `"strict"`: the lowest number first (Homa).
        pub schedule: &'static str = Param::word("schedule", &[])
            .default("\"fifo\"", "PRE-05", "one queue per class needs no choice"),
        /// Limits of the buffer; `"per-port"`: each port has a memory of its own instead of
        /// `switch.buffer`.
        pub admission: &'static str = Param::word("admission", &[])
            .default("\"pfc\"", "PRE-07", "lossless by PFC"),
        /// Ports with other thresholds of PFC; [`axes`] adds the description.
        pub victims: &'static str = Param::word("victims", &["none", VICTIM_WORD])
            .default("\"none\"", "PRE-120", "all ports have the same PFC threshold"),
        /// Hop control besides PFC; `"pfc-tag"`: pauses that name a destination.
        pub backpressure: &'static str = Param::word("backpressure", &[])
            .default("\"none\"", "PRE-07", "no hop control besides PFC"),
        /// Schemes of links, one or a list: `"cbfc"`: credits, as with `backpressure = "cbfc"`;
        /// `"llr"`: frames that a link loses are sent again.
        pub link: Words = Param::list("link", &Kind::Word(LinkConfig::NAMES)).or(LinkConfig::ALONE)
            .default("\"none\"", "PRE-07", "links without credits and replay"),
        /// Marks and telemetry that switches write on packets.
        pub signal: &'static str = Param::word("signal", &["none", "ecn", "int", "ecn+int"])
            .default("\"none\"", "PRE-05", "nothing is written on packets"),
        /// Mechanism that ends PFC pauses that last too long; `"watchdog"`: as in SONiC.
        pub guard: &'static str = Param::word("guard", &["none", WatchdogConfig::NAME])
            .default("\"none\"", "PRE-07", "a pause lasts until the neighbour ends it"),
        /// Packets that switches create and send to senders.
        pub notices: &'static str = Param::word("notices", &[])
            .default("\"none\"", "PRE-05", "switches send nothing to senders"),
        /// Recovery of lost packets (see below); `"own"`: that of a receiver-driven transport.
        pub recovery: &'static str = Param::word("recovery", &[])
            .default("\"go-back-n\"", "PRE-08", "go-back-N (BFC paper 6.2.1)"),
    }
}

/// Returns the keys of `[scheme]` that are not tables. The defaults of the first two keys apply to
/// a scenario; the defaults of the other keys are the base of every preset.
pub fn axes() -> &'static [Param] {
    static AXES: LazyLock<Vec<Param>> = LazyLock::new(|| {
        let mut axes: Vec<_> = Axes::PARAMS.iter().map(|axis| complete(*axis)).collect();
        axes.insert(axes.len() - 1, control());
        let keys = axes.iter().map(|axis| axis.key);
        let mut names: Vec<_> = keys.chain(tables().map(|(name, _)| name)).collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert!(
            twice.is_none(),
            "`scheme` has two keys of this name: {twice:?}"
        );
        axes
    });
    &AXES
}

/// Completes an axis with its words from the lists of the dataplane, to which a program can add
/// schemes.
fn complete(axis: Param) -> Param {
    let names = match axis.key {
        "classify" => names(Classify::WORDS),
        "schedule" => names(Schedule::WORDS),
        "admission" => names(Admission::WORDS),
        "notices" => iter::once("none").chain(names(NOTIFIERS)).collect(),
        "recovery" => names(RECOVERIES),
        "path" => [names(PathChoice::WORDS), names(POLICIES)].concat(),
        "backpressure" => {
            let hops = hop::words().iter().map(|word| word.name);
            let also = ALSO_BACKPRESSURE.iter().copied();
            iter::once("none").chain(hops).chain(also).collect()
        }
        "victims" => return axis.about(VICTIM_ABOUT),
        _ => return axis,
    };
    let kind = Kind::Word(names.leak());
    let about = match axis.key {
        "path" => {
            let switches = PathChoice::WORDS.iter().map(|word| (word.name, word.about));
            let senders = POLICIES.iter().map(|policy| (policy.name, policy.about));
            help(switches.chain(senders)).leak()
        }
        _ => axis.about,
    };
    Param {
        kind,
        about,
        ..axis
    }
}

/// Returns the key `control`: one word, or a list of words for the traffic classes.
fn control() -> Param {
    let in_list: &Kind = Box::leak(Box::new(Kind::Word(names(cc::all()).leak())));
    Param::list("control", in_list)
        .or([names(cc::all()), names(TRANSPORTS)].concat().leak())
        .default("\"line-rate\"", "PRE-05", "no congestion control")
        .about(
            "Congestion control of the senders, or a receiver-driven transport (see below); a list: the control of \
             each traffic class.",
        )
}

fn names<C>(words: &[Word<C>]) -> Vec<&'static str> {
    words.iter().map(|word| word.name).collect()
}
