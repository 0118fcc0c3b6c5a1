//! Declarations of the keys of a scenario outside of `[scheme]`. The readers ([`crate::params`]),
//! the JSON Schema and the tables of docs/scenario.md use these declarations.

mod topology;
mod traffic;
mod workload;

pub(crate) use topology::{FAILURE, FAILURES, SERVERS, TOPOLOGY};
pub(crate) use traffic::TRAFFIC;
pub(crate) use workload::WORKLOAD;

use ::traffic::MAX_CLASS;
use dataplane::classes::TRAFFIC_CLASSES;
use dataplane::param::{Kind, Param};
use dataplane::units::NS;

use crate::reader::{Section, choice};
use crate::scheme::MAX_BUFFER_BYTES;
use crate::units::MAX_TIME_PS;

/// Maximum number of hosts of a scenario.
pub const MAX_HOSTS: u64 = 262_144;
/// Maximum number of ports of a switch.
pub const MAX_PORTS: u64 = 65_535;
/// Highest traffic class.
pub(crate) const MAX_TRAFFIC_CLASS: u64 = MAX_CLASS as u64;
const _: () = assert!(MAX_TRAFFIC_CLASS as usize + 1 == TRAFFIC_CLASSES);
/// Latest end of a time window: a thousand seconds of simulated time.
const MAX_WINDOW_PS: u64 = MAX_TIME_PS / 1_000;

/// A table of several kinds. The value of one key selects the kind, such as `kind` in `[topology]`.
#[derive(Debug)]
pub(crate) struct Variants {
    /// Key whose value selects the kind of table.
    pub key: &'static str,
    /// Description of this key.
    pub about: &'static str,
    /// Keys that all kinds have.
    pub common: &'static [Param],
    /// The kinds, each with its additional keys.
    pub each: &'static [Variant],
}

impl Variants {
    /// Reads the key that selects the kind, and returns the kind. If the key is missing or invalid,
    /// reports an error and allows the keys of all kinds.
    pub fn chosen(&'static self, s: &Section<'_>, example: &str) -> Option<&'static Variant> {
        let words: Vec<_> = self.each.iter().map(|v| (v.word, v)).collect();
        let found = s.required(self.key, example, |node| choice(node, &words));
        if found.is_none() {
            for param in self.each.iter().flat_map(|variant| variant.params) {
                s.entry(param.key);
            }
        }
        found
    }
}

/// One kind of a table in [`Variants`].
#[derive(Debug)]
pub(crate) struct Variant {
    /// Value of the key that selects this kind.
    pub word: &'static str,
    /// Description of this kind.
    pub about: &'static str,
    /// Additional keys of this kind.
    pub params: &'static [Param],
}

/// Top-level keys outside of all tables.
pub(crate) const ROOT: &[Param] = &[
    Param::new("name", Kind::Text)
        .needed("\"my-first\"")
        .about("Name of the scenario."),
    Param::count("seed", 0, u64::MAX)
        .default("1", "PRE-41", "our choice")
        .about("Seed of all random numbers; with the same seed every scheme gets the same flows."),
];

/// Keys of `[switch]`.
pub(crate) const SWITCH: &[Param] = &[
    Param::size("buffer", 1, MAX_BUFFER_BYTES)
        .default("\"12MB\"", "PRE-42", "of every switch (BFC paper 6.2.1)")
        .about("Memory of each switch, shared by its ports."),
    Param::size("reserved", 0, MAX_BUFFER_BYTES)
        .default(
            "\"4096B\"",
            "PRE-42",
            "per port and buffered class (authors' code of HPCC)",
        )
        .about("Bytes reserved for each port and buffered class."),
];

/// Keys of `[run]`.
pub(crate) const RUN: &[Param] = &[
    long("until", 1)
        .absent("100 ms after the last flow may start")
        .about("The run ends at this time, or earlier when all flows have finished."),
    long("probe", 10 * NS)
        .default("\"10us\"", "PRE-43", "interval of the BFC paper")
        .about("Time between two samples of buffers and active flows."),
    long("warmup", 0)
        .default("\"0us\"", "PRE-43", "no flow is left out of the statistics")
        .about("Flows that start earlier are left out of the statistics."),
    Param::word("fct", &["received", "acked"])
        .default("\"received\"", "PRE-242", "to the receiver's last byte")
        .about(
            "End of a flow in statistics and plots: its last byte at the receiver, or its last ACK at the sender. \
             `flows.parquet` has both.",
        ),
    long("epoch", 0)
        .default("\"0us\"", "PRE-90", "times begin at 0")
        .about("Time of another simulator's clock at time 0 of this run; exports add it."),
    Param::word("on_deadlock", &["go-on", "end"])
        .default("\"go-on\"", "PRE-86", "other traffic continues")
        .about(
            "If ports form a cycle that can never move again, the run continues for all other traffic, or ends. \
             `deadlocks` in `summary.json` has the times, ports and flows.",
        ),
    Param::word("on_loss", &["error", "warn"])
        .default("\"error\"", "PRE-280", "a lossless scheme must not lose packets")
        .about(
            "Severity of dropped packets if the scheme promises no loss. `\"warn\"` is for experiments with \
             intended losses, such as too little headroom.",
        ),
];

/// Declares a key with a time of up to a million seconds.
const fn long(key: &'static str, min: u64) -> Param {
    let max = MAX_TIME_PS;
    Param::new(key, Kind::Time { min, max })
}

/// A host, identified by number or name.
pub(crate) const HOST: Kind = Kind::Either(&[
    Kind::Count {
        min: 0,
        max: MAX_HOSTS,
    },
    Kind::Text,
]);

/// A time between the start and the end of a run.
const INSTANT: Kind = Kind::Time {
    min: 0,
    max: MAX_WINDOW_PS,
};
