//! PFC with destination tag (Liu et al., CoNEXT 2021, Appendix B; rules in `specs/floodgate.md`):
//! pause frames that name a destination. Paused packets are parked in Floodgate's VOQs. Pauses
//! replace windows.

use super::floodgate::params::{
    GROUPS, RELEASE, SEEN_BY_ECN, SEEN_BY_INT, SeenByEcn, SeenByInt, VOQS, VUP, checked, voqs,
};
use super::floodgate::{Amount, FloodgateConfig, HoldBy, HostPauseBy, PauseThresholds, Release};
use crate::declaration::{Around, Spec};
use crate::param::{Conflict, MAX_SIZE_BYTES, Param};
use crate::units::Time;

crate::params! {
    /// Parameters of PFC with tag.
    #[derive(Clone, Copy, Debug)]
    pub struct PfcTag {
        /// A destination is paused above this: at the last hop by the bytes of the egress queue,
        /// elsewhere by the parked bytes of the destination.
        threshold: Amount = Param::either("threshold", Amount::KINDS)
            .default("1.0", "PRE-103", "hop BDPs, not in the paper, our choice"),
        /// It is resumed this many bytes below that threshold.
        resume_below: u64 = Param::size("resume_below", 0, MAX_SIZE_BYTES)
            .default("\"0B\"", "PRE-103", "resumed below the same threshold, our choice"),
        /// Switches also pause hosts.
        hosts: bool = Param::flag("hosts")
            .default("false", "PRE-103", "switches only (Floodgate paper B)"),
        /// VOQs of a switch.
        voqs: Option<u16> = VOQS,
        /// A switch that forwards up and down keeps half of the VOQs for destinations below it.
        groups: bool = GROUPS,
        /// Released packets join the egress queue, or a separate queue that sends only when no
        /// other packet waits (at most four traffic classes).
        release: Release = RELEASE,
        /// The ingress pipeline learns of empty VOQs only at multiples of this time.
        vup_ps: Option<Time> = VUP,
        /// Bytes that ECN counts: those in the egress queue, or also those parked for its port.
        ecn: SeenByEcn = SEEN_BY_ECN,
        /// Bytes that the INT of a packet that was parked reports: those of all VOQs, or those of
        /// the egress queue.
        int: SeenByInt = SEEN_BY_INT,
        /// Bytes of a pause and a resume.
        frame_bytes: u16 = Param::size("frame", 1, 1_518)
            .default("\"64B\"", "PRE-108", "smallest Ethernet frame, our choice"),
    }
}

impl Spec for PfcTag {
    const NAME: &'static str = "pfc-tag";
    type Params = Self;
    type Config = FloodgateConfig;

    fn configure(of: Self, _around: &Around) -> Result<FloodgateConfig, Conflict> {
        let thresholds = PauseThresholds {
            off: of.threshold,
            on_below_bytes: of.resume_below,
        };
        checked(FloodgateConfig {
            by: HoldBy::Tags(thresholds),
            voqs: voqs(of.voqs, of.groups),
            release: of.release,
            ecn_sees_held: of.ecn == SeenByEcn::EgressAndVoqs,
            int_sees_held: of.int == SeenByInt::Voqs,
            host_pause: of.hosts.then_some(thresholds),
            host_pause_by: HostPauseBy::Held,
            vup_ps: of.vup_ps,
            frame_bytes: of.frame_bytes,
        })
    }
}
