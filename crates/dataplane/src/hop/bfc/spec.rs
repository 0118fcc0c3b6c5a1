//! Parameters of BFC in scenarios (`[scheme.bfc]`).

use super::config::{BfcConfig, BitmapConfig, PauseBy};
use crate::config::Alpha;
use crate::declaration::{Around, Spec};
use crate::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param};
use crate::units::{NS, Time};

/// Values of `tell` that send bitmaps. `"edges"` sends no bitmaps.
const BITMAPS: &[&str] = &["edges+bitmap", "bitmap"];
const NO_BITMAPS: &str = "`tell` = \"edges\" sends no bitmaps";

/// Number of queues of a NIC that pauses can address.
pub const NIC_QUEUES: Param = Param::count("queues", 1, 32_768)
    .default(
        "1024",
        "PRE-39",
        "that BFC can pause one by one (authors' code of BFC)",
    )
    .about("Queues that BFC can pause one by one.");
/// Reason for which NIC queues have no effect without BFC pauses of queues.
pub const NO_NIC_QUEUES: &str = "no BFC pause tells the NIC's queues apart";

crate::words! {
    /// Frames with which a switch sends pauses and resumes.
    enum Tell {
        /// One frame for each change.
        Edges = "edges",
        /// One frame for each change, and a bitmap at intervals.
        EdgesAndBitmap = "edges+bitmap",
        /// A bitmap at intervals, and one for each resume.
        Bitmap = "bitmap",
    }
}

crate::words! {
    /// Treatment of port pairs that could form a pause cycle.
    enum Elide {
        /// These pairs cause no pauses.
        Auto = "auto",
        /// These pairs cause pauses like other pairs.
        Off = "off",
    }
}

crate::params! {
    /// Table `[scheme.bfc]` of a scenario.
    #[derive(Debug)]
    pub struct BfcParams {
        /// Pause threshold of a queue, as a multiple of (hop BDP / active queues).
        threshold: f64 = Param::number("threshold", 0.001, 1000.0)
            .default("1.0", "PRE-22", "in hop BDP / active queues (BFC paper 3.3.2)"),
        /// The 1-hop round trip; `"links"`: the propagation to the upstream and back.
        hrtt_ps: Option<Time> = Param::time("hrtt", 1).or(&["links"])
            .default("\"links\"", "PRE-22", "propagation to the upstream and back (BFC paper 6.2.1)"),
        /// Size of a pause frame.
        frame_bytes: u16 = Param::size("frame", 1, 1_518)
            .default("\"64B\"", "PRE-23", "smallest Ethernet frame, our choice"),
        /// The queue length that is compared with the threshold includes the arriving packet.
        count_arriving: bool = Param::flag("count_arriving")
            .default("false", "PRE-45", "a packet is compared with what it finds, our choice"),
        /// The only packet of a flow in the switch causes no pause.
        first_exempt: bool = Param::flag("first_exempt")
            .default("true", "PRE-45", "a flow's only packet pauses nobody (authors' code of BFC)"),
        /// Least threshold; `"frame"`: one largest frame.
        floor_bytes: Option<u64> = Param::size("floor", 0, MAX_SIZE_BYTES).or(&["frame"])
            .default("\"0B\"", "PRE-52", "the threshold may fall below a frame (BFC paper 3.3.2)"),
        /// Time added to the 1-hop round trip in the threshold.
        tau_ps: Time = Param::time("tau", 0)
            .default("\"0us\"", "PRE-52", "nothing is added to the 1-hop RTT (BFC paper 3.3.2)"),
        /// Object that a pause stops.
        by: PauseBy = Param::word("pause", PauseBy::WORDS)
            .default("\"queue\"", "PRE-53", "a pause names a queue upstream (BFC paper 3.3.2)"),
        /// `"edges"`: one frame for each change. `"edges+bitmap"`: also a bitmap of all queues at
        /// intervals. `"bitmap"`: a bitmap at intervals and one for each resume.
        tell: Tell = Param::word("tell", Tell::WORDS)
            .default("\"edges\"", "PRE-23", "a frame for each change")
            .in_network(InNetwork::RepairsLosses { word: "edges+bitmap", unless: ("pause", "flow") }),
        /// Time between two bitmaps.
        bitmap_ps: Option<Time> = Param::time("bitmap", 10 * NS)
            .default("\"10us\"", "PRE-53", "between two bitmaps where they are sent, our choice")
            .with("tell", BITMAPS, NO_BITMAPS),
        /// Size of a bitmap frame; `"fit"`: one bit per queue, and headers.
        bitmap_frame_bytes: Option<u16> = Param::size("bitmap_frame", 1, 9_000).or(&["fit"])
            .default("\"fit\"", "PRE-53", "a bit per queue and headers (authors' code of BFC)")
            .with("tell", BITMAPS, NO_BITMAPS),
        /// Share of the packets that flow table and pause counters count.
        sampling: f64 = Param::fraction("sampling", 0.001, 1.0)
            .default("1.0", "PRE-56", "every packet is counted (BFC paper 3.3)"),
        /// Exempts pairs of ports that could form a pause cycle.
        elide: Elide = Param::word("elide", Elide::WORDS)
            .default("\"auto\"", "PRE-53", "exempts pairs that could form a cycle (BFC paper B)"),
    }
}

impl Spec for BfcConfig {
    const NAME: &'static str = "bfc";
    type Params = BfcParams;
    type Config = Self;

    fn configure(of: BfcParams, around: &Around) -> Result<Self, Conflict> {
        // BFC-30: one bit per queue, and 28 bytes of headers.
        let fit = (around.upstream_queues.div_ceil(8) + 28).max(64);
        Ok(Self {
            threshold_factor: Alpha::new(of.threshold).0,
            floor_bytes: of.floor_bytes.unwrap_or(around.max_frame.into()),
            tau_ps: of.tau_ps,
            count_arriving: of.count_arriving,
            first_exempt: of.first_exempt,
            hrtt_ps: of.hrtt_ps,
            frame_bytes: of.frame_bytes,
            upstream_queues: around.upstream_queues,
            by: of.by,
            bitmap: of.bitmap_ps.map(|period_ps| BitmapConfig {
                period_ps,
                frame_bytes: of.bitmap_frame_bytes.unwrap_or(fit),
                edges: of.tell == Tell::EdgesAndBitmap,
            }),
            sampling: Alpha::new(of.sampling).0,
            elide: of.elide == Elide::Auto,
        })
    }
}
