//! Parameters that all have that hold packets by destination.

use super::config::{Amount, FloodgateConfig, HoldBy, HostPauseBy, PauseThresholds, Release, Voqs};
use crate::config::Alpha;
use crate::param::{Conflict, Kind, MAX_SIZE_BYTES, Param, Value, Values};
use crate::units::NS;

/// A number of hop BDPs, or a size.
pub const AMOUNT: &[Kind] = &[
    Kind::Size {
        min: 1,
        max: MAX_SIZE_BYTES,
    },
    Kind::Multiple {
        of: "hop BDPs",
        min: 0.01,
        max: 10_000.0,
    },
];

/// A period, or none.
pub const fn period(key: &'static str) -> Param {
    Param::time(key, NS).or(&["off"])
}

// What both have: VOQs, what becomes of released packets, what signals see.
pub const VOQS: Param = Param::count("voqs", 1, 16_384)
    .or(&["per-destination"])
    .default("100", "PRE-111", "a pool (Floodgate paper 6)")
    .about("VOQs of a switch.");
pub const GROUPS: Param = Param::flag("groups")
    .default("true", "PRE-111", "up and down apart (Floodgate paper 4.2)")
    .about("A switch that forwards up and down keeps half of the VOQs for destinations below it.")
    .without(
        "voqs",
        &["per-destination"],
        "every destination has a VOQ of its own",
    );
pub const RELEASE: Param = Param::word("release", &["shared", "behind"])
    .default("\"shared\"", "PRE-112", "to the ordinary egress queue (Floodgate paper 4.2)")
    .about(
        "Released packets join the egress queue, or one behind it, which sends when no other packet waits (at most four \
         traffic classes).",
    );
pub const VUP: Param = period("vup")
    .default(
        "\"off\"",
        "PRE-112",
        "the ingress knows the VOQs, our choice",
    )
    .about("The ingress pipeline hears of empty VOQs at multiples of this time.");
pub const SEEN_BY_ECN: Param = Param::word("ecn", &["egress+held", "egress"])
    .default(
        "\"egress+held\"",
        "PRE-113",
        "the egress counter (Floodgate paper 8)",
    )
    .about("Whether ECN counts what is held for the egress, too.");
pub const SEEN_BY_INT: Param = Param::word("int", &["held", "egress"])
    .default("\"held\"", "PRE-113", "VOQs for packets that were held (Floodgate paper 8)")
    .about("Whether INT of a packet that was held tells the bytes of all VOQs, or always those of the egress queue.");

/// An amount; `None`: off.
pub fn amount(values: &Values, key: &str) -> Option<Amount> {
    match values.get(key) {
        Some(&Value::Size(bytes)) => Some(Amount::Bytes(bytes)),
        Some(&Value::Number(bdps)) => Some(Amount::HopBdps(Alpha::new(bdps))),
        _ => None,
    }
}

/// Thresholds by the keys of both; `None`: off.
pub fn thresholds(values: &Values, off: &str, below: &str) -> Option<PauseThresholds> {
    Some(PauseThresholds {
        off: amount(values, off)?,
        on_below_bytes: values.size(below),
    })
}

/// Refuses two groups with one VOQ.
pub fn checked(config: FloodgateConfig) -> Result<FloodgateConfig, Conflict> {
    let one = Voqs::Pool {
        count: 1,
        groups: true,
    };
    match config.voqs == one {
        false => Ok(config),
        true => Err(Conflict::new(
            &["voqs", "groups"],
            "two groups of VOQs need two VOQs",
            "raise voqs, or set groups = false",
        )),
    }
}

/// What both have; hosts are not paused.
pub fn holds(values: &Values, by: HoldBy) -> FloodgateConfig {
    let voqs = match values.some_count("voqs") {
        None => Voqs::PerDestination,
        Some(count) => Voqs::Pool {
            count: count as u16,
            groups: values.flag("groups"),
        },
    };
    FloodgateConfig {
        by,
        voqs,
        release: match values.word("release") {
            "shared" => Release::Shared,
            _ => Release::Behind,
        },
        ecn_sees_held: values.is("ecn", "egress+held"),
        int_sees_held: values.is("int", "held"),
        host_pause: None,
        host_pause_by: HostPauseBy::Held,
        vup_ps: values.some_time("vup"),
        frame_bytes: values.size("frame") as u16,
    }
}
