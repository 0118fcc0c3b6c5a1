//! Parameters that Floodgate and PFC with tag share, without their descriptions.

use super::config::{FloodgateConfig, Release, Voqs};
use crate::param::{Conflict, Param};
use crate::units::NS;

crate::words! {
    /// Bytes that count as the queue length for ECN.
    pub enum SeenByEcn {
        /// The queued bytes and the bytes parked for the egress port.
        EgressAndVoqs = "egress+held",
        /// The queued bytes.
        Egress = "egress",
    }
}

crate::words! {
    /// Bytes that a parked packet reports in INT.
    pub enum SeenByInt {
        /// The bytes of all VOQs.
        Voqs = "held",
        /// The bytes of the egress queue.
        Egress = "egress",
    }
}

/// Returns a parameter whose value is a period or `"off"`.
pub const fn period(key: &'static str) -> Param {
    Param::time(key, NS).or(&["off"])
}

pub const VOQS: Param = Param::count("voqs", 1, 16_384)
    .or(&["per-destination"])
    .default("100", "PRE-111", "a pool (Floodgate paper 6)");
pub const GROUPS: Param = Param::flag("groups")
    .default("true", "PRE-111", "up and down apart (Floodgate paper 4.2)")
    .without(
        "voqs",
        &["per-destination"],
        "every destination has a VOQ of its own",
    );
pub const RELEASE: Param = Param::word("release", Release::WORDS).default(
    "\"shared\"",
    "PRE-112",
    "to the ordinary egress queue (Floodgate paper 4.2)",
);
pub const VUP: Param = period("vup").default(
    "\"off\"",
    "PRE-112",
    "the ingress knows the VOQs, our choice",
);
pub const SEEN_BY_ECN: Param = Param::word("ecn", SeenByEcn::WORDS).default(
    "\"egress+held\"",
    "PRE-113",
    "the egress counter (Floodgate paper 8)",
);
pub const SEEN_BY_INT: Param = Param::word("int", SeenByInt::WORDS).default(
    "\"held\"",
    "PRE-113",
    "VOQs for packets that were held (Floodgate paper 8)",
);

/// Returns the VOQs of a switch. `count` is `None` for one VOQ per destination.
pub fn voqs(count: Option<u16>, groups: bool) -> Voqs {
    count.map_or(Voqs::PerDestination, |count| Voqs::Pool { count, groups })
}

/// Returns the configuration, or an error for two groups with only one VOQ.
pub fn checked(config: FloodgateConfig) -> Result<FloodgateConfig, Conflict> {
    if config.voqs == voqs(Some(1), true) {
        return Err(Conflict::new(
            &["voqs", "groups"],
            "two groups of VOQs need two VOQs",
            "raise voqs, or set groups = false",
        ));
    }
    Ok(config)
}
