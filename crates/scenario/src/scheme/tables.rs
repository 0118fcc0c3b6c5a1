//! Keys of `[scheme]`: its axes and single values, and the list of tables with declared parameters.

use super::{nic, signal, switch};
use crate::help::{help, help_bytes};
use crate::presets::{PARAMETER_SETS, PRESET_NAMES, PROFILE_NAMES};
use dataplane::cc::CONTROLS;
use dataplane::config::PathChoice;
use dataplane::guard::GuardConfig;
use dataplane::hop::HopSpec;
use dataplane::hop::pfc::{self, VICTIM_ABOUT, VICTIM_WORD, VictimSpec};
use dataplane::link::{ALSO_BACKPRESSURE, LinkConfig};
use dataplane::param::{Kind, MAX_TIME_PS, Param};
use dataplane::paths::POLICIES;
use dataplane::reliability::{RECOVERIES, Recovery};
use dataplane::signal::NotifierConfig;
use dataplane::transport::TRANSPORTS;
use dataplane::units::NS;

/// A table and its parameters.
pub type Declared = (&'static str, &'static [Param]);

/// Each table and its parameters. Their defaults are a layer below every preset.
pub fn tables() -> impl Iterator<Item = Declared> {
    let first = PathChoice::tables().chain(BEFORE_HOP.iter().copied());
    let switch = first.chain(HopSpec::WORDS.iter().copied());
    let switch = switch.chain(LinkConfig::WORDS.iter().copied());
    let switch = switch.chain(GuardConfig::WORDS.iter().copied());
    let switch = switch.chain(NotifierConfig::WORDS.iter().map(|(_, table)| *table));
    switch.chain(of_lists()).chain(AFTER_HOP.iter().copied())
}

/// The tables of the values of `control`, `path` and `recovery` that have parameters.
fn of_lists() -> impl Iterator<Item = Declared> {
    let policies = POLICIES.iter().map(|policy| (policy.name, policy.params));
    let recoveries = RECOVERIES.iter().map(|scheme| (scheme.name, scheme.params));
    let all = CONTROLS_AND_TRANSPORTS
        .iter()
        .copied()
        .chain(policies)
        .chain(recoveries);
    all.filter(|(_, params)| !params.is_empty())
}

const SCHEMES: usize = CONTROLS.len() + TRANSPORTS.len();

/// The controls of senders and the receiver-driven transports, each with its parameters.
const CONTROLS_AND_TRANSPORTS: [Declared; SCHEMES] = {
    let mut all: [Declared; SCHEMES] = [("", &[]); SCHEMES];
    let mut i = 0;
    while i < SCHEMES {
        all[i] = match i.checked_sub(CONTROLS.len()) {
            None => (CONTROLS[i].name, CONTROLS[i].params),
            Some(nth) => (TRANSPORTS[nth].name, TRANSPORTS[nth].params),
        };
        i += 1;
    }
    all
};

/// The words of `control`.
const WORDS: [&str; SCHEMES] = {
    let mut words = [""; SCHEMES];
    let mut i = 0;
    while i < SCHEMES {
        words[i] = CONTROLS_AND_TRANSPORTS[i].0;
        i += 1;
    }
    words
};

const ALL_BACKPRESSURE: usize = 1 + HopSpec::WORDS.len() + ALSO_BACKPRESSURE.len();

/// All values of `backpressure`.
const BACKPRESSURE: [&str; ALL_BACKPRESSURE] = {
    let mut words = ["none"; ALL_BACKPRESSURE];
    let hops = HopSpec::WORDS.len();
    let mut i = 1;
    while i < ALL_BACKPRESSURE {
        words[i] = match i.checked_sub(1 + hops) {
            None => HopSpec::WORDS[i - 1].0,
            Some(nth) => ALSO_BACKPRESSURE[nth],
        };
        i += 1;
    }
    words
};

const ALL_PATHS: usize = PathChoice::WORDS.len() + POLICIES.len();

/// All values of `path`, each with what it does.
const PATHS: [(&str, &str); ALL_PATHS] = {
    let mut paths = [("", ""); ALL_PATHS];
    let mut i = 0;
    while i < ALL_PATHS {
        paths[i] = match i.checked_sub(PathChoice::WORDS.len()) {
            None => PathChoice::WORDS[i],
            Some(nth) => (POLICIES[nth].name, POLICIES[nth].about),
        };
        i += 1;
    }
    paths
};

/// The values of `path` alone.
const PATH_WORDS: [&str; ALL_PATHS] = {
    let mut words = [""; ALL_PATHS];
    let mut i = 0;
    while i < ALL_PATHS {
        words[i] = PATHS[i].0;
        i += 1;
    }
    words
};

/// Help of the key `path`: what each of its values does.
const PATH_HELP: &str = {
    const BYTES: [u8; help_bytes(&PATHS)] = help(&PATHS);
    match std::str::from_utf8(&BYTES) {
        Ok(help) => help,
        Err(_) => panic!("texts consist of whole characters"),
    }
};

/// The words of `control` that a list may contain.
const IN_LISTS: &[&str] = WORDS.split_at(CONTROLS.len()).0;

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
pub const AXES: &[Param] = &[
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
    Param::word("path", &PATH_WORDS)
        .default("\"flow\"", "PRE-01", "flow-level ECMP (BFC paper 6.2.1)")
        .about(PATH_HELP),
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
    Param::word("classify", &["fifo", "hash", "dynamic", "per-flow", "priority"])
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
    Param::word("backpressure", &BACKPRESSURE)
        .default("\"none\"", "PRE-07", "no hop control besides PFC")
        .about("Hop control besides PFC; `\"pfc-tag\"`: pauses that name a destination."),
    Param::list("link", &Kind::Word(LinkConfig::NAMES))
        .or(LinkConfig::ALONE)
        .default("\"none\"", "PRE-07", "links without credits and replay")
        .about(
            "Schemes of links, one or a list: `\"cbfc\"`: credits, as with `backpressure = \"cbfc\"`; `\"llr\"`: frames \
             that a link loses are sent again.",
        ),
    Param::word("signal", &["none", "ecn", "int", "ecn+int"])
        .default("\"none\"", "PRE-05", "nothing is written on packets")
        .about("Marks and telemetry that switches write on packets."),
    Param::word("guard", GuardConfig::NAMES)
        .default("\"none\"", "PRE-07", "a pause lasts until the neighbour ends it")
        .about("Mechanism that ends PFC pauses that last too long; `\"watchdog\"`: as in SONiC."),
    Param::word("notices", NotifierConfig::NAMES)
        .default("\"none\"", "PRE-05", "switches send nothing to senders")
        .about("Packets that switches create and send to senders."),
    Param::list("control", &Kind::Word(IN_LISTS))
        .or(&WORDS)
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
];
