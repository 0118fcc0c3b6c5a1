//! PFC with destination tag (Liu et al., CoNEXT 2021, Appendix B; rules in `specs/floodgate.md`):
//! pause frames that name a destination. Paused packets are parked in Floodgate's VOQs. Pauses
//! replace windows.

use super::floodgate::params::{
    AMOUNT, GROUPS, RELEASE, SEEN_BY_ECN, SEEN_BY_INT, VOQS, VUP, checked, holds, thresholds,
};
use super::floodgate::{FloodgateConfig, HoldBy};
use crate::declaration::{Around, Spec};
use crate::param::{Conflict, MAX_SIZE_BYTES, Param, Params, Values};

const PARAMS: &[Param] = &[
    Param::either("threshold", AMOUNT)
        .default("1.0", "PRE-103", "hop BDPs, not in the paper, our choice")
        .about(
            "Pause threshold of the egress queue at the last hop, and of what is held elsewhere.",
        ),
    Param::size("resume_below", 0, MAX_SIZE_BYTES)
        .default(
            "\"0B\"",
            "PRE-103",
            "resumed below the same threshold, our choice",
        )
        .about("Resumed this many bytes below."),
    Param::flag("hosts")
        .default("false", "PRE-103", "switches only (Floodgate paper B)")
        .about("Pauses reach hosts, too."),
    VOQS,
    GROUPS,
    RELEASE,
    VUP,
    SEEN_BY_ECN,
    SEEN_BY_INT,
    Param::size("frame", 1, 1_518)
        .default("\"64B\"", "PRE-108", "smallest Ethernet frame, our choice")
        .about("Bytes of a pause and a resume."),
];

/// The scheme `pfc-tag` of scenarios, which is a configuration of Floodgate.
#[derive(Clone, Copy, Debug)]
pub struct PfcTag(FloodgateConfig);

impl Params for PfcTag {
    const PARAMS: &'static [Param] = PARAMS;

    fn read(values: &Values) -> Self {
        let thresholds =
            thresholds(values, "threshold", "resume_below").expect("it has no other words");
        Self(FloodgateConfig {
            host_pause: values.flag("hosts").then_some(thresholds),
            ..holds(values, HoldBy::Tags(thresholds))
        })
    }
}

impl Spec for PfcTag {
    const NAME: &'static str = "pfc-tag";
    type Params = Self;
    type Config = FloodgateConfig;

    fn configure(params: Self, _around: &Around) -> Result<FloodgateConfig, Conflict> {
        checked(params.0)
    }
}
