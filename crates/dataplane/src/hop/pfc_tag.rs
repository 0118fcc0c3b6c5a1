//! PFC with destination tag (Liu et al., CoNEXT 2021, Appendix B; rules in `specs/floodgate.md`):
//! pause frames that contain a destination. Paused packets are parked in Floodgate's VOQs. Pauses
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
        /// Bytes above which a destination is paused: bytes of the egress queue at the last hop,
        /// parked bytes of the destination at other switches.
        threshold: Amount = Param::either("threshold", Amount::KINDS)
            .default("1.0", "PRE-103", "hop BDPs, not in the paper, our choice"),
        /// The destination is resumed when it has this many bytes less than `threshold`.
        resume_below: u64 = Param::size("resume_below", 0, MAX_SIZE_BYTES)
            .default("\"0B\"", "PRE-103", "resumed below the same threshold, our choice"),
        /// Hosts are paused too, not only switches.
        hosts: bool = Param::flag("hosts")
            .default("false", "PRE-103", "switches only (Floodgate paper B)"),
        /// Number of VOQs of a switch.
        voqs: Option<u16> = VOQS,
        /// A switch that forwards up and down uses half of the VOQs for destinations below it.
        groups: bool = GROUPS,
        /// Egress queue of released packets: the ordinary one, or a separate low-priority queue.
        /// The separate queue requires at most four traffic classes.
        release: Release = RELEASE,
        /// The ingress pipeline receives the list of empty VOQs only at multiples of this time.
        vup_ps: Option<Time> = VUP,
        /// Queue length for ECN: bytes in the egress queue, or also the bytes parked for its port.
        ecn: SeenByEcn = SEEN_BY_ECN,
        /// Queue length in the INT of a packet that was parked: the bytes of all VOQs, or of the
        /// egress queue.
        int: SeenByInt = SEEN_BY_INT,
        /// Size of a pause or resume frame.
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
