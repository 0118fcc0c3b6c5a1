//! Parameters of ExpressPass, and what it needs of the other axes of a scheme.

use super::ExpressPass;
use crate::declaration::Around;
use crate::param::{Conflict, Param};
use crate::properties::Rule;
use crate::requirements::{CreditQueue, SwitchRequirements};
use crate::transport::{Acted, Declared, timeout};
use crate::units::Time;

/// ExpressPass (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressPassConfig {
    /// First rate of a flow's credits, as a share of the link's.
    pub alpha: f64,
    /// First weight of the highest rate in an increase.
    pub w_init: f64,
    /// Largest weight.
    pub w_max: f64,
    /// Smallest weight.
    pub w_min: f64,
    /// Share of credits that may be lost.
    pub target_loss: f64,
    /// Largest random change of the gap between two credits, as a share of the gap.
    pub jitter: f64,
    /// The NIC's own queue of credits.
    pub queue: CreditQueue,
    /// Time without a frame after which a sender requests credits again, in ps.
    pub timeout_ps: Time,
}

crate::params! {
    /// The table of a scenario.
    #[derive(Debug)]
    pub struct ExpressPassParams {
        /// First rate of a flow's credits, as a share of the link's.
        alpha: f64 = Param::number("alpha", 0.001, 1.0)
            .default("0.5", "PRE-143", "first rate, of the link's credits (BFC paper 6.2.1)"),
        /// First weight of the highest rate in an increase.
        w_init: f64 = Param::number("w_init", 0.0001, 1.0)
            .default("0.0625", "PRE-143", "first weight of an increase (BFC paper 6.2.1)"),
        /// Largest weight.
        w_max: f64 = Param::number("w_max", 0.001, 1.0)
            .default("0.5", "PRE-143", "(ExpressPass paper 3.2)"),
        /// Smallest weight.
        w_min: f64 = Param::number("w_min", 0.0001, 1.0)
            .default("0.01", "PRE-143", "(ExpressPass paper 3.2)"),
        /// Share of credits that may be lost.
        target_loss: f64 = Param::number("target_loss", 0.0, 0.9)
            .default("0.1", "PRE-143", "share of credits that may be lost (ExpressPass paper 3.2)"),
        /// Each gap between two credits is this share of it longer or shorter at most.
        jitter: f64 = Param::number("jitter", 0.0, 0.9)
            .default("0.1", "PRE-144", "of the gap between two credits, either way, our choice"),
        /// Bytes of a credit; credits get credit / (credit + frame) of each link.
        credit_bytes: u16 = Param::size("credit", 1, 1_518)
            .default("\"84B\"", "PRE-141", "smallest frame with preamble and gap (ExpressPass paper 3.1)"),
        /// Bytes of the frame that a credit lets go; `"full"`: the largest.
        frame_bytes: Option<u16> = Param::size("frame", 64, 17_000).or(&["full"])
            .default("\"full\"", "PRE-141", "what a credit lets go, 1538 bytes here (ExpressPass paper 3.1)"),
        /// Credits that may wait at a port.
        limit: u16 = Param::count("buffer", 1, 10_000)
            .default("16", "PRE-142", "credits that may wait at a port (BFC paper 6.2.1)"),
        /// Credits that may leave at once after a silence.
        burst: u16 = Param::count("burst", 1, 1_000)
            .default("2", "PRE-144", "credits that may leave at once (ExpressPass paper 3.1)"),
        /// Silence after which something is sent or requested again.
        timeout_ps: Time = timeout("\"10ms\"", "PRE-145", "a sender that hears nothing asks again, our choice"),
    }
}

impl Declared for ExpressPass {
    type Config = ExpressPassConfig;

    const NAME: &'static str = "expresspass";
    const TITLE: &'static str = "ExpressPass";
    const ABOUT: &'static str =
        "Receivers send credits, which switches shape and drop, and each lets one packet go.";
    // XP-03, XP-10
    type Params = ExpressPassParams;

    // XP-01, XP-05
    fn rules() -> Vec<Rule> {
        crate::rules! {
            wrong ["ack", "control"] without [AcksWithData]:
                "expresspass: the control class belongs to ExpressPass' credits, which are shaped and dropped",
                "set ack.class = \"data\"";
            wrong ["path", "control"] without [SymmetricPaths]:
                "ExpressPass' credits keep room for data on the links that they cross, so data must take the same",
                "set path = \"symmetric\"";
        }
    }

    fn configure(of: ExpressPassParams) -> Result<ExpressPassConfig, Conflict> {
        let (init, most, least) = (of.w_init, of.w_max, of.w_min);
        if least > most || !(least..=most).contains(&init) {
            return Err(Conflict::new(
                &["w_init", "w_min", "w_max"],
                format!(
                    "w_init is {init}, w_min {least} and w_max {most}; expected w_min <= w_init <= w_max"
                ),
                "w_min <= w_init <= w_max",
            ));
        }
        Ok(ExpressPassConfig {
            alpha: of.alpha,
            w_init: init,
            w_max: most,
            w_min: least,
            target_loss: of.target_loss,
            jitter: of.jitter,
            queue: CreditQueue {
                credit_bytes: of.credit_bytes,
                frame_bytes: of.frame_bytes.unwrap_or(0),
                limit: of.limit,
                burst: of.burst,
            },
            timeout_ps: of.timeout_ps,
        })
    }

    /// Credits let full frames go where the scenario does not say how large they are.
    fn complete(mut config: ExpressPassConfig, around: &Around) -> ExpressPassConfig {
        if config.queue.frame_bytes == 0 {
            config.queue.frame_bytes = around.max_frame;
        }
        config
    }

    fn requires(config: &ExpressPassConfig) -> SwitchRequirements {
        SwitchRequirements {
            shaped: Some(config.queue),
            ..SwitchRequirements::default()
        }
    }

    fn idle(acted: &Acted) -> Option<&'static str> {
        let dropped = acted.credits_dropped + acted.nics.credits_dropped;
        (dropped == 0).then_some("ExpressPass dropped no credit")
    }
}
