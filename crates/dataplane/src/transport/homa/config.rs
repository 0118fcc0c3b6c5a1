//! Parameters of Homa, and its requirements on the other parts of a scenario's scheme.

use super::Homa;
use crate::declaration::Around;
use crate::param::{self, Conflict, Param};
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;
use crate::transport::{prompt_replies, timeout, window};
use crate::units::Time;

/// Maximum number of priority levels of Homa.
pub const MAX_LEVELS: usize = 32;

/// Configuration of Homa (`specs/homa.md`). Priority level 0 is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomaConfig {
    /// Total number of priority levels, 2 to [`MAX_LEVELS`].
    pub levels: u8,
    /// Number of priority levels for unscheduled packets, from level 0 on. The other levels are for
    /// scheduled packets.
    pub unscheduled: u8,
    /// Largest message, in bytes, of each unscheduled level. All larger messages use the last
    /// level.
    pub cutoffs: [u32; MAX_LEVELS],
    /// Number of messages that a receiver grants at the same time.
    pub overcommitment: u8,
    /// Payload bytes that a message sends before it receives a grant, and that a receiver grants
    /// ahead of the received bytes; `None`: one BDP.
    pub window: Option<u64>,
    /// Time without packets after which a receiver requests the missing packets and a sender
    /// repeats its first packet, in ps.
    pub timeout_ps: Time,
}

impl HomaConfig {
    /// Returns the priority level of the unscheduled packets of a message.
    // HOM-04
    #[must_use]
    pub fn level_of(&self, message_bytes: u64) -> u16 {
        let last = usize::from(self.unscheduled.max(1)) - 1;
        let above = |&&cut: &&u32| u64::from(cut) < message_bytes;
        self.cutoffs[..last].iter().take_while(above).count() as u16
    }
}

const LEVELS: u64 = MAX_LEVELS as u64;

crate::params! {
    /// Table `[scheme.homa]` of a scenario.
    #[derive(Debug)]
    pub struct HomaParams {
        /// Total number of priority levels.
        levels: u64 = Param::count("levels", 2, LEVELS)
            .default("32", "PRE-150", "priority levels (BFC paper A.2)"),
        /// Number of priority levels for unscheduled packets; `"auto"`: computed from the message
        /// sizes of the traffic.
        unscheduled: Option<u64> = Param::count("unscheduled", 1, LEVELS - 1).or(&["auto"])
            .default("\"auto\"", "PRE-150", "by the share of unscheduled bytes (BFC paper A.2, Homa paper 3.4)"),
        /// Largest message of each unscheduled priority level except the last.
        cutoffs: Option<Vec<u32>> = Param::list("cutoffs", &param::Kind::Size { min: 1, max: u32::MAX as u64, })
            .or(&["auto"])
            .default("\"auto\"", "PRE-150", "equally many unscheduled bytes in each level (Homa paper 3.4)"),
        /// Number of messages that a receiver grants at the same time; `"auto"`: the number of
        /// scheduled levels.
        overcommitment: Option<u64> = Param::count("overcommitment", 1, LEVELS).or(&["auto"])
            .default("\"auto\"", "PRE-150", "as many messages as scheduled levels (BFC paper A.2)"),
        /// Payload bytes that a message sends before it receives a grant; `"bdp"`: one BDP.
        window: Option<u64> = window("PRE-150", "unasked, and granted ahead (Homa paper 3.2)"),
        /// Time without packets after which a packet is sent or requested again.
        timeout_ps: Time = timeout("\"10ms\"", "PRE-151", "of silence before a packet is requested again, our choice"),
    }
}

impl Scheme for Homa {
    const NAME: &'static str = "homa";
    const TITLE: &'static str = "Homa";
    const ABOUT: &'static str = "Receivers grant packets to the messages with the least left, at priorities of their choice.";
    type Params = HomaParams;
    type Config = HomaConfig;
    const PROVIDES: Properties = Properties::of(&[
        Property::SetsPriority,
        Property::ReadsFlowSizes,
        Property::Grants,
    ]);

    // HOM-05
    fn rules(_config: &HomaConfig) -> Vec<Rule> {
        prompt_replies(Self::NAME)
    }

    /// 0 stands for what the traffic decides ([`Homa::complete`]).
    fn configure(of: HomaParams) -> Result<HomaConfig, Conflict> {
        let levels = of.levels;
        let mut unscheduled = of.unscheduled.unwrap_or(0);
        if unscheduled >= levels {
            return Err(Conflict::new(
                &["unscheduled", "levels"],
                format!("{unscheduled} of {levels} levels are for unscheduled packets"),
                format!(
                    "leave a level for scheduled packets: at most {}",
                    levels - 1
                ),
            ));
        }
        let mut cutoffs = [0; MAX_LEVELS];
        if let Some(sizes) = of.cutoffs {
            if !sizes.is_sorted_by(|a, b| a < b) {
                return Err(Conflict::new(
                    &["cutoffs"],
                    "the sizes must grow",
                    "each is the largest message of its level",
                ));
            }
            let needed = sizes.len() as u64 + 1;
            if unscheduled != 0 && unscheduled != needed || needed > levels - 1 {
                return Err(Conflict::new(
                    &["cutoffs", "unscheduled"],
                    format!(
                        "{} sizes part messages into {needed} unscheduled levels",
                        sizes.len()
                    ),
                    "give one size less than there are unscheduled levels, and leave a level for scheduled packets",
                ));
            }
            unscheduled = needed;
            cutoffs = [u32::MAX; MAX_LEVELS];
            cutoffs[..sizes.len()].copy_from_slice(&sizes);
        }
        let granted = of.overcommitment.unwrap_or(0);
        if granted > levels - unscheduled.max(1) {
            return Err(Conflict::new(
                &["overcommitment", "levels"],
                format!(
                    "overcommitment {granted} is more than there are levels for scheduled packets"
                ),
                "each message that is granted has a level of its own; raise levels, or take \"auto\"",
            ));
        }
        Ok(HomaConfig {
            levels: levels as u8,
            unscheduled: unscheduled as u8,
            cutoffs,
            overcommitment: granted as u8,
            window: of.window,
            timeout_ps: of.timeout_ps,
        })
    }

    /// Fills in what of the levels was left to the traffic.
    // HOM-04, HOM-06
    fn complete(mut config: HomaConfig, around: &Around) -> HomaConfig {
        let window_bytes = match config.window {
            Some(bytes) => bytes as f64,
            None => around.bdp_bytes,
        };
        let unscheduled = |bytes: f64| bytes.min(window_bytes);
        let sizes = &around.flow_sizes;
        if config.unscheduled == 0 {
            let all: f64 = sizes.iter().map(|&(size, n)| size * n).sum();
            let first: f64 = sizes.iter().map(|&(size, n)| unscheduled(size) * n).sum();
            let share = if all > 0.0 { first / all } else { 0.5 };
            let levels = (f64::from(config.levels) * share + 0.5) as u8;
            config.unscheduled = levels.clamp(1, config.levels - 1);
        }
        if config.cutoffs[0] == 0 {
            config.cutoffs = cutoffs(sizes, unscheduled, config.unscheduled);
        }
        if config.overcommitment == 0 {
            config.overcommitment = config.levels - config.unscheduled;
        }
        config
    }
}

/// Returns the message sizes between levels, so that all unscheduled levels have equally many
/// unscheduled bytes.
// HOM-04
fn cutoffs(
    sizes: &[(f64, f64)],
    unscheduled: impl Fn(f64) -> f64,
    levels: u8,
) -> [u32; MAX_LEVELS] {
    let mut cutoffs = [u32::MAX; MAX_LEVELS];
    let all: f64 = sizes.iter().map(|&(size, n)| unscheduled(size) * n).sum();
    let (mut level, mut below) = (1u8, 0.0);
    for &(size, n) in sizes {
        below += unscheduled(size) * n;
        while level < levels && below >= all * f64::from(level) / f64::from(levels) {
            cutoffs[usize::from(level) - 1] = size.min(f64::from(u32::MAX)) as u32;
            level += 1;
        }
    }
    cutoffs
}
