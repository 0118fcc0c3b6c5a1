//! Configuration of ECN marking in a switch.

use crate::properties::{Choice, Properties, Property, Rule};
use crate::units::Rate;

/// RED profile: probability of an ECN mark by queue length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Queue length in bytes up to which no packet is marked.
    pub kmin_bytes: u64,
    /// Queue length in bytes above which every packet is marked.
    pub kmax_bytes: u64,
    /// Marking probability at `kmax_bytes`.
    pub pmax: f64,
}

crate::words! {
    /// Queued bytes that ECN compares with its thresholds.
    pub enum Scope {
        /// Bytes of the packet's queue.
        Queue = "queue",
        /// Bytes of all classes of the port for which ECN is enabled.
        Port = "port",
    }
}

/// ECN configuration of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct EcnConfig {
    /// RED profiles by ascending link rate. [`Self::at`] returns the profile of a port.
    pub profiles: Vec<(Rate, Red)>,
    /// Queue length that is compared with the thresholds: that of the queue or of the port.
    pub scope: Scope,
    /// True to mark when the packet leaves the queue (default), false to mark when it joins.
    pub at_dequeue: bool,
    /// True to draw random numbers as the ns-3 simulator does: also for ACKs, which are not marked,
    /// and once for each pause frame. All switches then share one sequence of numbers.
    pub replay: bool,
}

impl EcnConfig {
    /// Returns the RED profile of a port with this rate. Scales the profile of the next lower (or
    /// same) rate, or else that of the lowest rate, by the ratio of the rates. Without profiles no
    /// packet is marked.
    // SW-31, PRE-15
    #[must_use]
    pub fn at(&self, rate: Rate) -> Red {
        let at_most = |(of, _): &&(Rate, Red)| of.bps() <= rate.bps();
        let below = self.profiles.iter().rfind(at_most);
        let Some((of, red)) = below.or(self.profiles.first()) else {
            return Red {
                kmin_bytes: u64::MAX,
                kmax_bytes: u64::MAX,
                pmax: 0.0,
            };
        };
        let scale =
            |bytes: u64| (u128::from(bytes) * u128::from(rate.bps()) / u128::from(of.bps())) as u64;
        Red {
            kmin_bytes: scale(red.kmin_bytes),
            kmax_bytes: scale(red.kmax_bytes),
            pmax: red.pmax,
        }
    }
}

impl Choice for EcnConfig {
    fn provides(&self) -> Properties {
        Properties::of(&[Property::MarksEcn])
    }

    fn rules(&self) -> Vec<Rule> {
        crate::rules! {
            doubtful ["signal", "control"] without [ReadsEcn]:
                "ECN marks are set, but `control` does not look at them", "leave ECN out of `signal`";
        }
    }
}
