//! Parameters and declaration of LLR.

use crate::declaration::{Around, Declaration, NetworkFacts, Spec};
use crate::param::{Conflict, Param};
use crate::properties::{Choice, Finding, Rule};
use crate::units::{NS, Rate, Time};

/// Size of an acknowledgement: one control ordered set.
// LLR-04
pub(super) const SET_BYTES: u16 = 8;

crate::params! {
    /// Parameters of LLR (`specs/llr.md`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LlrConfig {
        /// Maximum number of frames in the replay buffer of a port; `"link"`: `bytes` / 64.
        pub frames: Option<u32> = Param::count("frames", 1, 100_000).or(&["link"])
            .default("\"link\"", "PRE-295", "as many as its bytes can hold, our choice (SONiC: 61 to 133)"),
        /// Maximum number of bytes in the replay buffer of a port, which does not send while the
        /// buffer is full; `"link"`: the bytes that keep the link full.
        pub bytes: Option<u32> = Param::size("bytes", 64, 100_000_000).or(&["link"])
            .default("\"link\"", "PRE-295", "what keeps the link full, our choice (SONiC: 31184B to 67760B)"),
        /// Minimum distance between two acknowledgements, as bytes at the rate of the link.
        pub spacing_bytes: u32 = Param::size("spacing", 64, 65_535)
            .default("\"2048B\"", "PRE-295", "CTLOS_TARGET_SPACING of SAI"),
        /// Time without progress after which all frames are replayed; `"link"`: two round trips of
        /// the link.
        pub timer_ps: Option<Time> = Param::time("timer", NS).or(&["link"])
            .default("\"link\"", "PRE-295", "two round trips of the link, our choice (SONiC: 5us)"),
        /// Number of replays without progress after which the port empties its replay buffer and
        /// gives up.
        pub replays: u32 = Param::count("replays", 1, 255).default("3", "PRE-295", "(SONiC)"),
        /// Behaviour of a port after its last replay has failed. `"best-effort"`: it sends without
        /// replay; `"block"`: it sends nothing until its link fails and comes back.
        pub flush: Flush = Param::word("flush", Flush::WORDS)
            .default("\"best-effort\"", "PRE-295", "FLUSH_LLR_FRAME_ACTION of SAI"),
    }
}

crate::words! {
    /// Behaviour of a port after too many replays without progress.
    pub enum Flush {
        /// The port sends frames without sequence numbers, so lost frames are not repeated.
        BestEffort = "best-effort",
        /// The port sends nothing until its link fails and recovers.
        Block = "block",
    }
}

impl LlrConfig {
    /// The default values.
    pub const STANDARD: Self = Self {
        frames: None,
        bytes: None,
        spacing_bytes: 2_048,
        timer_ps: None,
        replays: 3,
        flush: Flush::BestEffort,
    };

    /// Returns the size of a link's replay buffer in bytes.
    // LLR-11
    #[must_use]
    pub fn bytes_of(&self, rate: Rate, delay_ps: Time, max_frame: u16) -> u64 {
        let sets = u64::from(self.spacing_bytes) + u64::from(SET_BYTES);
        let full = rate.bytes_in(2 * delay_ps) + 3 * u64::from(max_frame) + sets;
        self.bytes.map_or(full, u64::from)
    }

    /// Returns the size of a link's replay buffer in frames.
    // LLR-10
    pub(super) fn frames_of(&self, bytes: u64) -> usize {
        const SMALLEST_BYTES: u64 = 64;
        let all = bytes.div_ceil(SMALLEST_BYTES) as usize;
        self.frames.map_or(all, |frames| frames as usize)
    }

    /// Returns the timeout after which a link replays all frames, in ps.
    // LLR-12
    #[must_use]
    pub fn timer_of(&self, rate: Rate, delay_ps: Time, max_frame: u16) -> Time {
        let waits = 3 * u64::from(max_frame) + u64::from(self.spacing_bytes) + u64::from(SET_BYTES);
        let round_trip_ps = 2 * delay_ps + rate.serialisation_ps(waits);
        self.timer_ps.unwrap_or(2 * round_trip_ps)
    }
}

impl Spec for LlrConfig {
    const NAME: &'static str = "llr";
    type Params = Self;
    type Config = Self;

    fn configure(config: Self, _around: &Around) -> Result<Self, Conflict> {
        Ok(config)
    }
}

impl Choice for LlrConfig {
    // LLR-30
    fn rules(&self) -> Vec<Rule> {
        crate::rules! {
            wrong ["nic", "link"] with [ScanArbiter]:
                "nic.arbiter = \"scan\" is that of another simulator, which has no LLR",
                "set nic.arbiter = \"ring\", or leave \"llr\" out of `link`";
            wrong ["recovery", "link"] with [AnnouncesDrops]:
                "recovery = \"ideal\" informs senders of each frame that a link loses, and LLR sends these frames again",
                "set another recovery, or leave \"llr\" out of `link`";
            wrong ["pfc", "link"] with [DelayedPauses]:
                "pfc.response delays pause frames behind later frames, and LLR hands frames over in their order",
                "set pfc.response = \"0us\", or leave \"llr\" out of `link`";
        }
    }
}

impl Declaration for LlrConfig {
    fn name(&self) -> &'static str {
        "LLR"
    }

    fn smallest_frame_bytes(&self) -> u16 {
        SET_BYTES
    }

    // LLR-13
    fn network(&self, facts: &NetworkFacts, say: &mut dyn FnMut(Finding)) {
        if self
            .bytes
            .is_some_and(|bytes| bytes < u32::from(facts.max_frame))
        {
            say(Finding::wrong(
                &["scheme.llr.bytes"],
                format!(
                    "a replay buffer of {} B has no room for a largest frame of {} B",
                    self.bytes.unwrap_or_default(),
                    facts.max_frame
                ),
                "a port sends only if its buffer has room for a largest frame: raise llr.bytes",
            ));
        }
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("llr_replays") == 0 {
            say("no port replayed a frame: links without `loss` lose none");
        }
    }
}
