//! `[scheme.bfc]`.

use super::config::{BfcConfig, BitmapConfig, PauseBy};
use crate::config::Alpha;
use crate::declaration::{Around, Spec};
use crate::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param, Values};
use crate::units::NS;

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

impl Spec for BfcConfig {
    const NAME: &'static str = "bfc";
    const PARAMS: &'static [Param] = PARAMS;
    type Config = Self;

    fn configure(values: &Values, around: &Around) -> Result<Self, Conflict> {
        // BFC-30: a bit per queue, and 28 bytes of headers.
        let fit = (around.upstream_queues.div_ceil(8) + 28).max(64);
        Ok(Self {
            threshold_factor: Alpha::new(values.number("threshold")).0,
            floor_bytes: values.some_size("floor").unwrap_or(around.max_frame.into()),
            tau_ps: values.time("tau"),
            count_arriving: values.flag("count_arriving"),
            first_exempt: values.flag("first_exempt"),
            hrtt_ps: values.some_time("hrtt"),
            frame_bytes: values.size("frame") as u16,
            upstream_queues: around.upstream_queues,
            by: match values.word("pause") {
                "queue" => PauseBy::Queue,
                _ => PauseBy::Flow,
            },
            bitmap: values.some_time("bitmap").map(|period_ps| BitmapConfig {
                period_ps,
                frame_bytes: values
                    .some_size("bitmap_frame")
                    .map_or(fit, |bytes| bytes as u16),
                edges: values.is("tell", "edges+bitmap"),
            }),
            sampling: Alpha::new(values.number("sampling")).0,
            elide: values.is("elide", "auto"),
        })
    }
}
