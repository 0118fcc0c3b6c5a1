//! Parameters of ExpressPass, and its requirements on the other parts of a scenario's scheme.

use super::ExpressPass;
use crate::declaration::Around;
use crate::param::{Conflict, Param};
use crate::properties::Rule;
use crate::requirements::CreditQueue;
use crate::scheme::Scheme;
use crate::transport::timeout;
use crate::units::Time;

/// Configuration of ExpressPass (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressPassConfig {
    /// Initial credit rate of a flow, relative to the credit rate of its link.
    pub alpha: f64,
    /// Initial weight of the maximum rate in an increase.
    pub w_init: f64,
    /// Largest weight of the maximum rate.
    pub w_max: f64,
    /// Smallest weight of the maximum rate.
    pub w_min: f64,
    /// Share of lost credits up to which the rate increases.
    pub target_loss: f64,
    /// Largest random change of the gap between two credits, relative to the gap.
    pub jitter: f64,
    /// The credit queue of the NIC.
    pub queue: CreditQueue,
    /// Time without a received frame after which a sender requests credits again, in ps.
    pub timeout_ps: Time,
}

crate::params! {
    /// Table `[scheme.expresspass]` of a scenario.
    #[derive(Debug)]
    pub struct ExpressPassParams {
        /// Initial credit rate of a flow, relative to the credit rate of its link.
        alpha: f64 = Param::number("alpha", 0.001, 1.0)
            .default("0.5", "PRE-143", "first rate, of the link's credits (BFC paper 6.2.1)"),
        /// Initial weight of the maximum rate in an increase.
        w_init: f64 = Param::number("w_init", 0.0001, 1.0)
            .default("0.0625", "PRE-143", "first weight of an increase (BFC paper 6.2.1)"),
        /// Largest weight of the maximum rate.
        w_max: f64 = Param::number("w_max", 0.001, 1.0)
            .default("0.5", "PRE-143", "(ExpressPass paper 3.2)"),
        /// Smallest weight of the maximum rate.
        w_min: f64 = Param::number("w_min", 0.0001, 1.0)
            .default("0.01", "PRE-143", "(ExpressPass paper 3.2)"),
        /// Share of lost credits up to which the rate increases.
        target_loss: f64 = Param::number("target_loss", 0.0, 0.9)
            .default("0.1", "PRE-143", "share of credits that may be lost (ExpressPass paper 3.2)"),
        /// Largest random change of the gap between two credits, relative to the gap.
        jitter: f64 = Param::number("jitter", 0.0, 0.9)
            .default("0.1", "PRE-144", "of the gap between two credits, either way, our choice"),
        /// Size of a credit. Credits use credit / (credit + frame) of the rate of each link.
        credit_bytes: u16 = Param::size("credit", 1, 1_518)
            .default("\"84B\"", "PRE-141", "smallest frame with preamble and gap (ExpressPass paper 3.1)"),
        /// Size of the frame that a credit permits; `"full"`: the largest frame.
        frame_bytes: Option<u16> = Param::size("frame", 64, 17_000).or(&["full"])
            .default("\"full\"", "PRE-141", "what a credit lets go, 1538 bytes here (ExpressPass paper 3.1)"),
        /// Number of credits that may wait at a port.
        limit: u16 = Param::count("buffer", 1, 10_000)
            .default("16", "PRE-142", "credits that may wait at a port (BFC paper 6.2.1)"),
        /// Number of credits that a port may send without a gap after an idle time.
        burst: u16 = Param::count("burst", 1, 1_000)
            .default("2", "PRE-144", "credits that may leave at once (ExpressPass paper 3.1)"),
        /// Time without a received frame after which a frame or request is sent again.
        timeout_ps: Time = timeout("\"10ms\"", "PRE-145", "a sender that hears nothing asks again, our choice"),
    }
}

impl Scheme for ExpressPass {
    const NAME: &'static str = "expresspass";
    const TITLE: &'static str = "ExpressPass";
    const ABOUT: &'static str =
        "Receivers send credits, which switches shape and drop, and each lets one packet go.";
    // XP-03, XP-10
    type Params = ExpressPassParams;
    type Config = ExpressPassConfig;

    // XP-01, XP-05
    fn rules(_config: &ExpressPassConfig) -> Vec<Rule> {
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
}
