//! Parameters and declaration of CBFC.

use crate::classes::DATA_CLASS;
use crate::declaration::{Around, Declaration, NetworkFacts, Spec};
use crate::link::cyclic::CYCLE;
use crate::param::{Conflict, Field, Kind, Param, Value};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::units::{Rate, Time, US};

crate::params! {
    /// Parameters of CBFC (`specs/cbfc.md`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CbfcConfig {
        /// Bytes of the buffer that one credit represents.
        pub credit_bytes: u32 = Param::size("credit", 1, 65_535)
            .default("\"256B\"", "PRE-208", "the example of the SAI proposal"),
        /// Bytes that a frame occupies in the buffer in addition to its own size.
        pub overhead_bytes: i32 = Param::new("overhead", Kind::Number { min: -16.0, max: 127.0 })
            .default("0", "PRE-208", "frames take their own bytes, our choice"),
        /// Number of credits of each class of a port; `"link"`: the credits that one class needs to
        /// fill its link, plus one frame.
        pub limit: Limit = Param::count("limit", 1, (CYCLE - 1) as u64).or(&["link"])
            .default("\"link\"", "PRE-209", "what fills the link, and a frame, our choice"),
        /// Minimum distance between two CF_Updates of a class, as bytes at the rate of the link.
        pub cf_min_bytes: u32 = Param::size("cf_min", 800, 1_048_576)
            .default("\"6400B\"", "PRE-208", "(Ultra Ethernet 1.0, SAI proposal)"),
        /// Time after which the last CF_Update is repeated, as bytes at the rate of the link.
        pub cf_max_bytes: u32 = Param::size("cf_max", 16_384, 1_048_576)
            .default("\"262144B\"", "PRE-208", "(Ultra Ethernet 1.0, SAI proposal)"),
        /// Time between two CC_Updates of a class that has credits in use.
        pub cc_every_ps: Time = Param::time("cc_every", US)
            .default("\"256us\"", "PRE-208", "(Ultra Ethernet 1.0, SAI proposal)"),
    } + {
        /// Size of a CF_Update.
        pub cf_bytes: u16 = Self::STANDARD.cf_bytes,
        /// Size of a CC_Update.
        pub cc_bytes: u16 = Self::STANDARD.cc_bytes,
    }
}

/// Number of credits of each class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The credits with which one class of largest frames fills the link, plus one frame.
    Link,
    /// This number of credits.
    Credits(u32),
}

impl Field for Limit {
    fn of(value: Option<&Value>) -> Self {
        Option::of(value).map_or(Self::Link, Self::Credits)
    }
}

impl CbfcConfig {
    /// Values of the standard, with credits of 256 bytes and no overhead.
    pub const STANDARD: Self = Self {
        credit_bytes: 256,
        overhead_bytes: 0,
        limit: Limit::Link,
        cf_min_bytes: 6_400,
        cf_max_bytes: 262_144,
        cf_bytes: 8,
        cc_every_ps: 256 * US,
        cc_bytes: 64,
    };

    /// Returns the number of credits that a frame consumes.
    // CBFC-02
    #[inline]
    #[must_use]
    pub fn credits(&self, frame_bytes: u16) -> u32 {
        let bytes = (i32::from(frame_bytes) + self.overhead_bytes).max(1) as u32;
        bytes.div_ceil(self.credit_bytes)
    }

    /// Returns the number of credits with which one class of largest frames fills a link, while
    /// largest frames arrive from the other direction.
    // CBFC-22
    #[must_use]
    pub fn full_rate(&self, rate: Rate, delay_ps: Time, max_frame: u16) -> u32 {
        let frame = u64::from(max_frame);
        let updates = u64::from(self.cf_min_bytes) + u64::from(self.cf_bytes);
        let bytes = rate.bytes_in(2 * delay_ps) + 2 * frame + updates;
        bytes.div_ceil(frame) as u32 * self.credits(max_frame)
    }

    /// Returns the credit limit of each class of a link.
    // CBFC-20
    #[must_use]
    pub fn limit_of(&self, rate: Rate, delay_ps: Time, max_frame: u16) -> u32 {
        let credits = match self.limit {
            Limit::Link => self.full_rate(rate, delay_ps, max_frame) + self.credits(max_frame),
            Limit::Credits(credits) => credits,
        };
        credits.min(CYCLE - 1)
    }
}

impl Spec for CbfcConfig {
    const NAME: &'static str = "cbfc";
    type Params = Self;
    type Config = Self;

    fn configure(config: Self, _around: &Around) -> Result<Self, Conflict> {
        if config.cf_min_bytes > config.cf_max_bytes {
            return Err(Conflict::new(
                &["cf_min", "cf_max"],
                "cf_min is above cf_max",
                "a CF_Update comes between the two after the last one",
            ));
        }
        Ok(config)
    }
}

impl Choice for CbfcConfig {
    // CBFC-30, CBFC-34
    fn provides(&self) -> Properties {
        Properties::of(&[
            Property::NoOverflow,
            Property::CanDeadlock,
            Property::BlocksBySending,
        ])
    }

    fn rules(&self) -> Vec<Rule> {
        crate::rules! {
            wrong ["nic", "link", "backpressure"] with [ScanArbiter]:
                "nic.arbiter = \"scan\" has no credits",
                "set nic.arbiter = \"ring\", or leave \"cbfc\" out of `link` and `backpressure`";
            doubtful ["admission", "link", "backpressure"] with [Pfc]:
                "credits and PFC are both on: whichever acts first hides the other",
                "credits need no PFC: admission = \"shared-pool\"";
        }
    }
}

impl Declaration for CbfcConfig {
    fn name(&self) -> &'static str {
        "CBFC"
    }

    fn smallest_frame_bytes(&self) -> u16 {
        self.cf_bytes.min(self.cc_bytes)
    }

    // CBFC-23: refuse limits below a largest frame
    fn network(&self, facts: &NetworkFacts, say: &mut dyn FnMut(Finding)) {
        let largest = self.credits(facts.max_frame);
        if let Limit::Credits(limit) = self.limit
            && limit < largest
        {
            say(Finding::wrong(
                &["scheme.cbfc.limit"],
                format!(
                    "`limit` is {limit} credits, and a largest frame of {} B takes {largest}",
                    facts.max_frame
                ),
                format!(
                    "a class sends only with credits for a largest frame: set cbfc.limit to {largest} or more"
                ),
            ));
        }
    }

    // CBFC-21
    fn promised_bytes(&self, ports: &[(Rate, Time)], max_frame: u16, classes: usize) -> u64 {
        let of_port = |&(rate, delay_ps): &(Rate, Time)| {
            u64::from(self.limit_of(rate, delay_ps, max_frame)) * u64::from(self.credit_bytes)
        };
        let of_class: u64 = ports.iter().map(of_port).sum();
        of_class * classes.saturating_sub(DATA_CLASS.into()) as u64
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("cbfc_waits") == 0 {
            say("no class of a switch ever waited for credits");
        }
    }
}
