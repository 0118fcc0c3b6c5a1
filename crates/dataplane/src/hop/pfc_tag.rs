//! PFC with destination tag (Liu et al., CoNEXT 2021, Appendix B; rules in `specs/floodgate.md`): pauses that name
//! a destination. What they pause is held in the VOQs of Floodgate, which decide by pauses instead of windows.

use super::floodgate::params::{
    self, AMOUNT, GROUPS, RELEASE, SEEN_BY_ECN, SEEN_BY_INT, VOQS, VUP, holds, thresholds,
};
use super::floodgate::{FloodgateConfig, HoldBy};
use crate::declaration::{Around, Beside, Finding, Fit, Spec};
use crate::param::{Conflict, MAX_SIZE_BYTES, Param, Values};

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

/// PFC with tag as a scenario says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcTagSpec(pub FloodgateConfig);

impl Spec for PfcTagSpec {
    const PARAMS: &'static [Param] = PARAMS;
    type Config = FloodgateConfig;

    fn from_values(values: &Values) -> Result<Self, Conflict> {
        let thresholds =
            thresholds(values, "threshold", "resume_below").expect("it has no other words");
        let config = holds(values, HoldBy::Tags(thresholds))?;
        Ok(Self(FloodgateConfig {
            host_pause: values.flag("hosts").then_some(thresholds),
            ..config
        }))
    }

    fn configure(&self, _around: &Around) -> FloodgateConfig {
        self.0
    }
}

impl Fit for PfcTagSpec {
    fn beside(&self, others: &Beside, say: &mut dyn FnMut(Finding)) {
        params::beside(self.0.release, others, say);
    }

    fn against_transport(&self, name: &str) -> Option<String> {
        params::against_transport(name)
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        params::idle(&self.0, counted, say);
    }
}
