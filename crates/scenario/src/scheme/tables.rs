//! Keys of `[scheme]`: its axes and single values, and the list of tables with declared parameters.

use std::iter;
use std::sync::LazyLock;

use super::{nic, signal, switch};
use crate::help::help;
use crate::presets::{PARAMETER_SETS, PRESET_NAMES, PROFILE_NAMES};
use dataplane::cc;
use dataplane::config::PathChoice;
use dataplane::hop;
use dataplane::hop::pfc::{self, VICTIM_ABOUT, VICTIM_WORD, VictimSpec};
use dataplane::link::{ALSO_BACKPRESSURE, LinkConfig};
use dataplane::param::{Kind, MAX_TIME_PS, Param, Params};
use dataplane::paths::POLICIES;
use dataplane::reliability::{RECOVERIES, Recovery};
use dataplane::signal::NotifierConfig;
use dataplane::transport::TRANSPORTS;
use dataplane::units::NS;
use dataplane::watchdog::WatchdogConfig;

/// A table and its parameters.
pub type Declared = (&'static str, &'static [Param]);

/// Each table and its parameters. Their defaults are a layer below every preset.
pub fn tables() -> impl Iterator<Item = Declared> {
    let first = PathChoice::tables().chain(BEFORE_HOP.iter().copied());
    let switch = first.chain(hop::words().iter().map(|word| (word.name, word.params)));
    let switch = switch.chain(LinkConfig::WORDS.iter().copied());
    let switch = switch.chain([(WatchdogConfig::NAME, WatchdogConfig::PARAMS)]);
    let switch = switch.chain(NotifierConfig::WORDS.iter().map(|(_, table)| *table));
    switch.chain(of_lists()).chain(AFTER_HOP.iter().copied())
}

/// The tables of the values of `control`, `path` and `recovery` that have parameters.
fn of_lists() -> impl Iterator<Item = Declared> {
    let controls = cc::all()
        .iter()
        .map(|control| (control.name, control.params));
    let transports = TRANSPORTS
        .iter()
        .map(|transport| (transport.name, transport.params));
    let policies = POLICIES.iter().map(|policy| (policy.name, policy.params));
    let recoveries = RECOVERIES.iter().map(|scheme| (scheme.name, scheme.params));
    let all = controls.chain(transports).chain(policies).chain(recoveries);
    all.filter(|(_, params)| !params.is_empty())
}

/// Tables of switches before those of hop schemes.
const BEFORE_HOP: &[Declared] = &[
    ("ack", nic::ACK),
    ("dynamic", switch::DYNAMIC),
    ("drr", switch::DRR),
    ("pfc", pfc::PARAMS),
    (VICTIM_WORD, VictimSpec::PARAMS),
    ("egress-dynamic", switch::EGRESS_DYNAMIC),
    ("per-port", switch::PER_PORT),
    ("ecn", signal::ECN),
    ("int", signal::INT),
];

/// Tables of parameters of senders and receivers.
const AFTER_HOP: &[Declared] = &[("nic", nic::NIC)];

/// Words of `classify` with which a port has queues that are counted.
const SEVERAL_QUEUES: &[&str] = &["hash", "dynamic"];
const ONE_QUEUE: &str = "`classify` is neither \"hash\" nor \"dynamic\"";

/// The keys of `[scheme]` that are not tables. The defaults of the first two apply to a scenario.
/// Every preset starts from the defaults of the others.
pub fn axes() -> &'static [Param] {
    static AXES: LazyLock<Vec<Param>> = LazyLock::new(|| {
        let axes = [first_axes(), switch_axes(), sender_axes()].concat();
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

/// Keeps a list of words for as long as the program runs.
fn words(words: impl Iterator<Item = &'static str>) -> &'static [&'static str] {
    words.collect::<Vec<_>>().leak()
}

/// All values of `path`, each with what it does.
fn paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    let policies = POLICIES.iter().map(|policy| (policy.name, policy.about));
    PathChoice::WORDS.iter().copied().chain(policies)
}

/// The axes of the whole scheme.
fn first_axes() -> Vec<Param> {
    vec![
    Param::word("preset", &PRESET_NAMES)
        .default("\"bfc\"", "PRE-44", "our choice")
        .about("Set of choices for all keys that the scenario does not set (`backwater list schemes`)."),
    Param::word("parameters", PARAMETER_SETS)
        .default("\"none\"", "PRE-44", "the defaults of each scheme")
        .about("Publication that the values are from; `\"none\"`: the defaults of each scheme."),
    Param::word("profile", &PROFILE_NAMES)
        .default("\"none\"", "PRE-80", "as the papers have it")
        .about("Behaviour of another simulator where it differs from the papers (see below)."),
    Param::word("clock", &["exact", "ns"])
        .default("\"exact\"", "PRE-80", "to the picosecond, our choice")
        .about(
            "Times are exact; or transmission, link delays, pacing and starts are truncated to nanoseconds as in ns-3.",
        ),
    Param::word("ties", &["phases", "scheduling", "scheduling, starts first"])
        .default(
            "\"phases\"",
            "PRE-80",
            "what happens at one instant has a fixed order (specs/engine.md)",
        )
        .about(
            "Order of events of one instant; `\"phases\"`: fixed; `\"scheduling\"`: in the order of scheduling (needs \
             `clock = \"ns\"`); `\"scheduling, starts first\"`: the same, after flows that start.",
        ),
    Param::word("path", words(paths().map(|(word, _)| word)))
        .default("\"flow\"", "PRE-01", "flow-level ECMP (BFC paper 6.2.1)")
        .about(help(paths()).leak()),
    Param::size("mtu", 64, 16_000)
        .default("\"1000B\"", "PRE-02", "payload of a full packet (BFC paper 6.2.1)")
        .about("Payload of a full packet."),
    Param::size("header", 1, 1_000)
        .default(
            "\"48B\"",
            "PRE-03",
            "Ethernet, IP, UDP and sequence number (authors' code of HPCC)",
        )
        .about("Header of a data packet."),
    Param::new(
        "base_rtt",
        Kind::Time {
            min: NS,
            max: MAX_TIME_PS,
        },
    )
    .or(&["pair", "network", "ns3-pair", "ns3-network"])
    .default("\"network\"", "PRE-04", "one T for all flows, the largest base RTT (HPCC paper 5.1)")
    .about("Round trip T of windows and BDP: that of each pair of hosts, the largest of the network, or a time."),
    ]
}

/// The axes of a switch.
fn switch_axes() -> Vec<Param> {
    let hops = hop::words().iter().map(|word| word.name);
    let backpressure = iter::once("none")
        .chain(hops)
        .chain(ALSO_BACKPRESSURE.iter().copied());
    vec![    Param::word("classify", &["fifo", "hash", "dynamic", "per-flow", "priority"])
        .default("\"fifo\"", "PRE-05", "one queue per class")
        .about(
            "Queue of the egress port that a packet joins; `\"hash\"`: by a hash of the flow, `\"dynamic\"`: BFC's \
             assignment, `\"per-flow\"`: a queue for each flow, `\"priority\"`: a queue for each level (Homa).",
        ),
    Param::count("queues", 2, 4_096)
        .default(
            "32",
            "PRE-06",
            "queues of a port, of which one is for control (BFC paper 6.2.1)",
        )
        .about("Queues of a port, one of them for control; for `\"hash\"` and `\"dynamic\"`.")
        .with("classify", SEVERAL_QUEUES, ONE_QUEUE),
    Param::word("queues_per", &["port", "class"])
        .default("\"port\"", "PRE-50", "split evenly among the traffic classes (BFC paper A.3)")
        .about(
            "`queues` is the number of queues of a port, which its traffic classes share evenly, or of each class.",
        )
        .with("classify", SEVERAL_QUEUES, ONE_QUEUE),
    Param::word("schedule", &["fifo", "drr", "round-robin", "srf", "cyclic", "strict"])
        .default("\"fifo\"", "PRE-05", "one queue per class needs no choice")
        .about(
            "Queue that sends next; `\"srf\"`: that of the flow with the fewest remaining bytes, `\"cyclic\"`: a packet of each \
             queue by number, `\"strict\"`: the lowest number first (Homa).",
        ),
    Param::word(
        "admission",
        &["pfc", "egress-dynamic", "shared-pool", "per-port", "unlimited"],
    )
    .default("\"pfc\"", "PRE-07", "lossless by PFC")
    .about(
        "Limits of the buffer; `\"per-port\"`: each port has a memory of its own instead of `switch.buffer`.",
    ),
    Param::word("victims", &["none", VICTIM_WORD])
        .default("\"none\"", "PRE-120", "all ports have the same PFC threshold")
        .about(VICTIM_ABOUT),
    Param::word("backpressure", words(backpressure))
        .default("\"none\"", "PRE-07", "no hop control besides PFC")
        .about("Hop control besides PFC; `\"pfc-tag\"`: pauses that name a destination."),
    Param::list("link", &Kind::Word(LinkConfig::NAMES))
        .or(LinkConfig::ALONE)
        .default("\"none\"", "PRE-07", "links without credits and replay")
        .about(
            "Schemes of links, one or a list: `\"cbfc\"`: credits, as with `backpressure = \"cbfc\"`; `\"llr\"`: frames \
             that a link loses are sent again.",
        ),
    ]
}

/// The axes of signals, senders and receivers.
fn sender_axes() -> Vec<Param> {
    let controls = || cc::all().iter().map(|control| control.name);
    let in_lists: &Kind = Box::leak(Box::new(Kind::Word(words(controls()))));
    let all = controls().chain(TRANSPORTS.iter().map(|transport| transport.name));
    vec![    Param::word("signal", &["none", "ecn", "int", "ecn+int"])
        .default("\"none\"", "PRE-05", "nothing is written on packets")
        .about("Marks and telemetry that switches write on packets."),
    Param::word("guard", &["none", WatchdogConfig::NAME])
        .default("\"none\"", "PRE-07", "a pause lasts until the neighbour ends it")
        .about("Mechanism that ends PFC pauses that last too long; `\"watchdog\"`: as in SONiC."),
    Param::word("notices", NotifierConfig::NAMES)
        .default("\"none\"", "PRE-05", "switches send nothing to senders")
        .about("Packets that switches create and send to senders."),
    Param::list("control", in_lists)
        .or(words(all))
        .default("\"line-rate\"", "PRE-05", "no congestion control")
        .about(
            "Congestion control of the senders, or a receiver-driven transport (see below); a list: the control of \
             each traffic class.",
        ),
    Param::word("recovery", Recovery::NAMES)
        .default("\"go-back-n\"", "PRE-08", "go-back-N (BFC paper 6.2.1)")
        .about(
            "Recovery of lost packets (see below); `\"own\"`: that of a receiver-driven transport.",
        ),
    ]
}
