//! `[scheme.bfc]`.

use super::config::{BfcConfig, BitmapConfig, PauseBy};
use crate::config::Alpha;
use crate::declaration::{Around, Beside, Finding, Fit, Queues, Spec};
use crate::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param, Values};
use crate::units::{NS, Time};

/// A threshold's floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floor {
    /// One largest frame.
    Frame,
    /// Bytes.
    Bytes(u64),
}

/// How a switch tells what is to be paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tell {
    /// A frame for each change.
    Edges,
    /// That, and all of it at intervals.
    EdgesAndBitmap,
    /// All of it at intervals, and for each resume.
    Bitmap,
}

/// BFC as a scenario says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BfcSpec {
    /// Pause threshold in hop BDP / active queues.
    pub threshold: f64,
    /// 1-hop round trip; `None`: from the links.
    pub hrtt_ps: Option<Time>,
    /// Bytes of a pause frame.
    pub frame_bytes: u16,
    /// The arriving packet counts in the queue length.
    pub count_arriving: bool,
    /// A flow's only packet never pauses.
    pub first_exempt: bool,
    /// Least threshold.
    pub floor: Floor,
    /// Added to the 1-hop round trip in the threshold, ps.
    pub tau_ps: Time,
    /// What a pause names.
    pub by: PauseBy,
    /// How it is told.
    pub tell: Tell,
    /// Bitmaps: period in ps, and bytes of the frame (`None`: a bit per queue upstream).
    pub bitmap: Option<(Time, Option<u16>)>,
    /// Share of the packets that are counted.
    pub sampling: f64,
    /// Pairs of ports whose backpressure could close a circle hold nobody.
    pub elide: bool,
}

/// `"edges"` sends no bitmaps.
const BITMAPS: &[&str] = &["edges+bitmap", "bitmap"];
const NO_BITMAPS: &str = "`tell` = \"edges\" sends no bitmaps";

/// The queues of a NIC that pauses can name.
pub const NIC_QUEUES: Param = Param::count("queues", 1, 32_768)
    .default(
        "1024",
        "PRE-39",
        "that BFC can pause one by one (authors' code of BFC)",
    )
    .about("Queues that BFC can pause one by one.");
/// Why they would do nothing.
pub const NO_NIC_QUEUES: &str = "no BFC pause tells the NIC's queues apart";

const PARAMS: &[Param] = &[
    Param::number("threshold", 0.001, 1000.0)
        .default("1.0", "PRE-22", "in hop BDP / active queues (BFC paper 3.3.2)")
        .about("Pause threshold of a queue, in hop BDP / active queues."),
    Param::time("hrtt", 1)
        .or(&["links"])
        .default("\"links\"", "PRE-22", "propagation to the upstream and back (BFC paper 6.2.1)")
        .about("The 1-hop round trip; `\"links\"`: the propagation to the upstream and back."),
    Param::size("frame", 1, 1_518)
        .default("\"64B\"", "PRE-23", "smallest Ethernet frame, our choice")
        .about("Bytes of a pause frame."),
    Param::flag("count_arriving")
        .default("false", "PRE-45", "a packet is compared with what it finds, our choice")
        .about("The arriving packet counts in the queue length that is compared."),
    Param::flag("first_exempt")
        .default("true", "PRE-45", "a flow's only packet pauses nobody (authors' code of BFC)")
        .about("A flow's only packet pauses nobody."),
    Param::size("floor", 0, MAX_SIZE_BYTES)
        .or(&["frame"])
        .default("\"0B\"", "PRE-52", "the threshold may fall below a frame (BFC paper 3.3.2)")
        .about("Least threshold; `\"frame\"`: one largest frame."),
    Param::time("tau", 0)
        .default("\"0us\"", "PRE-52", "nothing is added to the 1-hop RTT (BFC paper 3.3.2)")
        .about("Added to the 1-hop round trip in the threshold."),
    Param::word("pause", &["queue", "flow"])
        .default("\"queue\"", "PRE-53", "a pause names a queue upstream (BFC paper 3.3.2)")
        .about("What a pause names."),
    Param::word("tell", &["edges", "edges+bitmap", "bitmap"])
        .default("\"edges\"", "PRE-23", "a frame for each change")
        .about(
            "`\"edges\"`: a frame for each change, `\"edges+bitmap\"`: that and a bitmap of all queues at intervals, \
             `\"bitmap\"`: a bitmap at intervals and for each resume.",
        )
        .in_network(InNetwork::RepairsLosses { word: "edges+bitmap", unless: ("pause", "flow") }),
    Param::time("bitmap", 10 * NS)
        .default("\"10us\"", "PRE-53", "between two bitmaps where they are sent, our choice")
        .about("Time between two bitmaps.")
        .with("tell", BITMAPS, NO_BITMAPS),
    Param::size("bitmap_frame", 1, 9_000)
        .or(&["fit"])
        .default("\"fit\"", "PRE-53", "a bit per queue and headers (authors' code of BFC)")
        .about("Bytes of a bitmap; `\"fit\"`: a bit per queue, and headers.")
        .with("tell", BITMAPS, NO_BITMAPS),
    Param::fraction("sampling", 0.001, 1.0)
        .default("1.0", "PRE-56", "every packet is counted (BFC paper 3.3)")
        .about("Share of the packets that are counted."),
    Param::word("elide", &["auto", "off"])
        .default("\"auto\"", "PRE-53", "pairs that could close a circle hold nobody (BFC paper B)")
        .about("Whether pairs of ports whose backpressure could close a circle hold nobody."),
];

impl Spec for BfcSpec {
    const PARAMS: &'static [Param] = PARAMS;
    type Config = BfcConfig;

    fn from_values(values: &Values) -> Result<Self, Conflict> {
        Ok(Self {
            threshold: values.number("threshold"),
            hrtt_ps: values.some_time("hrtt"),
            frame_bytes: values.size("frame") as u16,
            count_arriving: values.flag("count_arriving"),
            first_exempt: values.flag("first_exempt"),
            floor: values.some_size("floor").map_or(Floor::Frame, Floor::Bytes),
            tau_ps: values.time("tau"),
            by: match values.word("pause") {
                "queue" => PauseBy::Queue,
                _ => PauseBy::Flow,
            },
            tell: match values.word("tell") {
                "edges" => Tell::Edges,
                "edges+bitmap" => Tell::EdgesAndBitmap,
                _ => Tell::Bitmap,
            },
            bitmap: values.some_time("bitmap").map(|period_ps| {
                let frame = values.some_size("bitmap_frame");
                (period_ps, frame.map(|bytes| bytes as u16))
            }),
            sampling: values.number("sampling"),
            elide: values.is("elide", "auto"),
        })
    }

    fn configure(&self, around: &Around) -> BfcConfig {
        // BFC-30: a bit per queue, and 28 bytes of headers.
        let fit = (around.upstream_queues.div_ceil(8) + 28).max(64);
        let bitmap = self.bitmap.map(|(period_ps, frame)| BitmapConfig {
            period_ps,
            frame_bytes: frame.unwrap_or(fit),
            edges: self.tell == Tell::EdgesAndBitmap,
        });
        BfcConfig {
            threshold_factor: Alpha::new(self.threshold).0,
            floor_bytes: match self.floor {
                Floor::Frame => u64::from(around.max_frame),
                Floor::Bytes(bytes) => bytes,
            },
            tau_ps: self.tau_ps,
            count_arriving: self.count_arriving,
            first_exempt: self.first_exempt,
            hrtt_ps: self.hrtt_ps,
            frame_bytes: self.frame_bytes,
            upstream_queues: around.upstream_queues,
            by: self.by,
            bitmap,
            sampling: Alpha::new(self.sampling).0,
        }
    }
}

impl Fit for BfcSpec {
    fn beside(&self, others: &Beside, say: &mut dyn FnMut(Finding)) {
        if others.scans && others.is_obeyed {
            say(Finding::wrong(
                &["nic", "backpressure"],
                "nic.arbiter = \"scan\" has no queues that BFC could pause",
                "set nic.arbiter = \"ring\", or nic.obeys = [\"pfc\"]",
            ));
        }
        if others.queues == Queues::One {
            say(Finding::wrong(
                &["backpressure", "classify"],
                "BFC pauses single queues, and `classify` = \"fifo\" has but one for all flows of a class",
                "set classify to \"dynamic\" or \"hash\"",
            ));
        }
        if self.by == PauseBy::Queue && others.queues == Queues::PerFlow {
            say(Finding::wrong(
                &["backpressure", "classify"],
                "BFC pauses queues by their number, and the queues of `classify` = \"per-flow\" come and go",
                "set bfc.pause = \"flow\", or classify to \"dynamic\" or \"hash\"",
            ));
        }
        if self.by == PauseBy::Flow && self.tell != Tell::Edges {
            say(Finding::wrong(
                &["bfc", "backpressure"],
                "a bitmap names queues, and `bfc.pause` = \"flow\" pauses flows",
                "set bfc.tell = \"edges\", or bfc.pause = \"queue\"",
            ));
        }
        if others.acks_with_data {
            say(Finding::wrong(
                &["ack", "backpressure"],
                "BFC cannot pause ACKs: a NIC sends them from no queue that a pause could name",
                "set ack.class = \"control\"",
            ));
        }
        if others.pfc {
            say(Finding::doubtful(
                &["admission", "backpressure"],
                "BFC and PFC are both on: whichever acts first hides the other",
                "BFC's paper has PFC off: admission = \"shared-pool\"",
            ));
        }
        if !others.is_obeyed && others.unlimited_senders {
            say(Finding::doubtful(
                &["nic", "control"],
                "NICs neither obey BFC nor limit what is in flight: the first switch fills and drops",
                "set control = \"fixed-window\", as the BFC paper does",
            ));
        }
    }

    fn against_transport(&self, name: &str) -> Option<String> {
        Some(format!("BFC pauses queues of the NIC, and {name} has none"))
    }

    fn elides(&self) -> bool {
        self.elide
    }

    // BFC paper, section 5: partial deployment.
    fn works_beside_others(&self) -> bool {
        true
    }

    fn names_nic_queues(&self) -> bool {
        true
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("bfc_pauses") == 0 {
            say("BFC paused no queue");
        }
    }
}
