//! The axes of a switch: which queue, which next, what when the buffer is full, backpressure.

use super::floodgate::Backpressure;
use super::{BfcSpec, ClassifySpec, Floor, QueuesPer, ScheduleSpec, Sticky, Tell};
use crate::params;
use crate::reader::{Section, choice, count};
use dataplane::config::{
    Accounting, Admission, Alpha, AssignConfig, Pfc, PfcThreshold, SearchStart, WhenFull,
};
use dataplane::hop::bfc::PauseBy;
use dataplane::param::{Conflict, Kind, MAX_SIZE_BYTES, MAX_TIME_PS, Param, Value, Values};
use dataplane::units::NS;

#[derive(Clone, Copy, PartialEq)]
enum ClassifyWord {
    Fifo,
    Hash,
    Dynamic,
    PerFlow,
    Priority,
}

#[derive(Clone, Copy, PartialEq)]
enum AdmissionWord {
    Pfc,
    EgressDynamic,
    SharedPool,
    PerPort,
    Unlimited,
}

type Queues = (Option<ClassifySpec>, Option<u16>, Option<QueuesPer>);

pub(super) fn read_classify(s: &Section<'_>) -> Queues {
    let words = [
        ("fifo", ClassifyWord::Fifo),
        ("hash", ClassifyWord::Hash),
        ("dynamic", ClassifyWord::Dynamic),
        ("per-flow", ClassifyWord::PerFlow),
        ("priority", ClassifyWord::Priority),
    ];
    let word = s.required("classify", "\"dynamic\"", |n| choice(n, &words));
    let useless = (word != Some(ClassifyWord::Dynamic)).then_some("`classify` is not \"dynamic\"");
    let dynamic = params::table(s, "dynamic", DYNAMIC, useless, dynamic);
    let other = match word {
        Some(ClassifyWord::Fifo) => Some(ClassifySpec::Fifo),
        Some(ClassifyWord::PerFlow) => Some(ClassifySpec::PerFlow),
        Some(ClassifyWord::Priority) => Some(ClassifySpec::Priority),
        _ => None,
    };
    if other.is_some() {
        let why = "`classify` is neither \"hash\" nor \"dynamic\"";
        s.refuse_useless("queues", why);
        s.refuse_useless("queues_per", why);
        return (other, Some(0), Some(QueuesPer::Class));
    }
    let queues = s
        .required("queues", "32", |n| count(n, 2, 4_096))
        .map(|q| q as u16);
    let per = [("port", QueuesPer::Port), ("class", QueuesPer::Class)];
    let per = s.required("queues_per", "\"port\"", |n| choice(n, &per));
    let spec = match word {
        Some(ClassifyWord::Hash) => Some(ClassifySpec::Hash),
        Some(ClassifyWord::Dynamic) => dynamic,
        _ => None,
    };
    (spec, queues, per)
}

/// Parameters of BFC's assignment of flows to queues.
pub(super) const DYNAMIC: &[Param] = &[
    Param::count("table", 1, 1_000_000)
        .default(
            "100",
            "PRE-20",
            "flow-table entries per queue (BFC paper 3.3.1)",
        )
        .about("Flow-table entries per queue."),
    Param::either(
        "sticky",
        &[
            Kind::Time {
                min: 0,
                max: MAX_TIME_PS,
            },
            Kind::Multiple {
                of: "1-hop round trips",
                min: 0.0,
                max: 1e6,
            },
        ],
    )
    .default("2.0", "PRE-21", "in 1-hop RTTs (BFC paper 3.3.2)")
    .about("How long a flow keeps its queue after its last packet has left."),
    Param::time("bitmap", NS)
        .or(&["immediate"])
        .default(
            "\"immediate\"",
            "PRE-51",
            "the map of empty queues is always up to date (BFC paper 3.3.1)",
        )
        .about("The map of empty queues is always up to date, or is read at this interval."),
    Param::flag("paused_eligible")
        .default(
            "false",
            "PRE-51",
            "a paused queue is not taken (authors' code of BFC)",
        )
        .about("An empty queue that is paused may be taken."),
    Param::word("start", &["rotating", "random"])
        .default(
            "\"rotating\"",
            "PRE-51",
            "the search goes on where it stopped (BFC paper 4)",
        )
        .about("Where the search for an empty queue starts."),
    Param::word("when_full", &["random", "by-entry"])
        .default(
            "\"random\"",
            "PRE-51",
            "any queue by chance (BFC paper 3.3.1)",
        )
        .about("Which queue a flow takes where none is empty."),
    Param::flag("incast_queue")
        .default(
            "false",
            "PRE-54",
            "the variant BFC + IncastLabel sets it (BFC paper A.7)",
        )
        .about("Incast flows share a queue of their own."),
    Param::count("pipelines", 1, 64)
        .default("1", "PRE-51", "one flow table (BFC paper 3.3.1)")
        .about("Pipelines of the switch, each with a flow table of its own."),
];

fn dynamic(values: &Values) -> Result<ClassifySpec, Conflict> {
    Ok(ClassifySpec::Dynamic {
        table: values.count("table") as u32,
        sticky: match values.some_time("sticky") {
            Some(ps) => Sticky::Fixed(ps),
            None => Sticky::HopRtts(values.number("sticky")),
        },
        assign: AssignConfig {
            sticky_hrtts: None,
            bitmap_ps: values.some_time("bitmap"),
            paused_eligible: values.flag("paused_eligible"),
            start: match values.word("start") {
                "rotating" => SearchStart::Rotating,
                _ => SearchStart::Random,
            },
            when_full: match values.word("when_full") {
                "random" => WhenFull::Random,
                _ => WhenFull::ByEntry,
            },
            incast_queue: values.flag("incast_queue"),
            pipelines: values.count("pipelines") as u16,
        },
    })
}

/// Parameters of deficit round robin.
pub(super) const DRR: &[Param] = &[Param::size("quantum", 64, 1_000_000)
    .or(&["frame"])
    .default(
        "\"frame\"",
        "PRE-10",
        "one largest frame a round, our choice",
    )
    .about("Bytes that a queue may send in a round; `\"frame\"`: one largest frame.")];

/// Parameters of the dynamic threshold of an egress.
pub(super) const EGRESS_DYNAMIC: &[Param] = &[
    Param::fraction("alpha", 0.001, 1000.0)
        .default(
            "1.0",
            "PRE-14",
            "of the free shared buffer (HPCC paper 5.3)",
        )
        .about("Share of the free shared buffer that an egress may take."),
    Param::word("per", &["port", "queue"])
        .default(
            "\"port\"",
            "PRE-14",
            "the port's queues together (HPCC paper 5.3)",
        )
        .about("What the threshold is for."),
];

/// Parameters of a memory of each port.
pub(super) const PER_PORT: &[Param] = &[Param::size("limit", 64, MAX_SIZE_BYTES)
    .default(
        "\"75MB\"",
        "PRE-142",
        "of memory for each port, more than it needs (BFC paper 6.2.1)",
    )
    .about("Memory of each port, in the place of `switch.buffer`.")];

pub(super) fn read_schedule(
    s: &Section<'_>,
    classify: Option<ClassifySpec>,
) -> Option<ScheduleSpec> {
    let words = [
        ("fifo", 0u8),
        ("drr", 1),
        ("round-robin", 2),
        ("srf", 3),
        ("cyclic", 4),
        ("strict", 5),
    ];
    let word = s.required("schedule", "\"round-robin\"", |n| choice(n, &words));
    let useless = (word != Some(1)).then_some("`schedule` is not \"drr\"");
    let drr = params::table(s, "drr", DRR, useless, |v| {
        Ok(v.some_size("quantum").map(|bytes| bytes as u32))
    });
    let spec = match word? {
        0 => ScheduleSpec::Fifo,
        1 => ScheduleSpec::Drr(drr?),
        3 => ScheduleSpec::ShortestRemaining,
        4 => ScheduleSpec::Cyclic,
        5 => ScheduleSpec::Strict,
        _ => ScheduleSpec::RoundRobin,
    };
    let one_queue = matches!(classify?, ClassifySpec::Fifo);
    if one_queue && spec != ScheduleSpec::Fifo {
        s.complain_of(
            &["schedule"],
            "with `classify` = \"fifo\" a class has a single queue, so there is nothing to schedule",
            "set schedule = \"fifo\", or classify to \"hash\", \"dynamic\" or \"per-flow\"",
        );
    }
    if !one_queue && spec == ScheduleSpec::Fifo {
        s.complain_of(
            &["schedule"],
            "\"fifo\" is the order of a single queue, and `classify` makes several",
            "set schedule = \"round-robin\", \"drr\" or \"srf\", or classify = \"fifo\"",
        );
    }
    Some(spec)
}

pub(super) fn read_admission(s: &Section<'_>) -> Option<Admission> {
    let words = [
        ("pfc", AdmissionWord::Pfc),
        ("egress-dynamic", AdmissionWord::EgressDynamic),
        ("shared-pool", AdmissionWord::SharedPool),
        ("per-port", AdmissionWord::PerPort),
        ("unlimited", AdmissionWord::Unlimited),
    ];
    let word = s.required("admission", "\"pfc\"", |n| choice(n, &words));
    let useless = (word != Some(AdmissionWord::Pfc)).then_some("`admission` is not \"pfc\"");
    let pfc = params::table(s, "pfc", PFC, useless, pfc);
    let chosen = word == Some(AdmissionWord::EgressDynamic);
    let useless = (!chosen).then_some("`admission` is not \"egress-dynamic\"");
    let egress = params::table(s, "egress-dynamic", EGRESS_DYNAMIC, useless, |v| {
        Ok(Admission::EgressDynamic {
            alpha: Alpha::new(v.number("alpha")),
            per_queue: v.is("per", "queue"),
        })
    });
    let chosen = word == Some(AdmissionWord::PerPort);
    let useless = (!chosen).then_some("`admission` is not \"per-port\"");
    let per_port = params::table(s, "per-port", PER_PORT, useless, |v| {
        Ok(Admission::PerPort {
            bytes: v.size("limit"),
        })
    });
    match word? {
        AdmissionWord::PerPort => per_port,
        AdmissionWord::Pfc => pfc.map(Admission::Pfc),
        AdmissionWord::EgressDynamic => egress,
        AdmissionWord::SharedPool => Some(Admission::SharedPool),
        AdmissionWord::Unlimited => Some(Admission::Unlimited),
    }
}

/// Parameters of PFC.
pub(super) const PFC: &[Param] = &[
    Param::either(
        "xoff",
        &[
            Kind::Size { min: 1, max: MAX_SIZE_BYTES },
            Kind::Fraction { min: 0.001, max: 1000.0 },
        ],
    )
    .or(&["equal"])
    .default("\"11%\"", "PRE-11", "of the free shared buffer (BFC paper 6.2.1, HPCC paper 5.1)")
    .about(
        "An ingress is paused above a share of the free buffer (dynamic), a size (static), or the buffer over the number \
         of ports (`\"equal\"`).",
    ),
    Param::size("xon_offset", 0, MAX_SIZE_BYTES)
        .default("\"3072B\"", "PRE-12", "below XOFF (authors' code of HPCC)")
        .about("It is resumed this far below."),
    Param::size("headroom", 0, MAX_SIZE_BYTES)
        .or(&["formula"])
        .default("\"formula\"", "PRE-13", "from each link's rate and delay, our choice")
        .about("Headroom of each port and class; `\"formula\"`: from the rate and delay of its link."),
    Param::word("headroom_from", &["buffer", "beside"])
        .default("\"buffer\"", "PRE-121", "headroom is a part of the switch's memory, our choice")
        .about("Whether headroom is a part of `switch.buffer`, or beside it."),
    Param::time("response", 0)
        .default("\"0us\"", "PRE-13", "the upstream obeys at once, our choice")
        .about("The upstream obeys a pause this long after it arrives."),
    Param::size("frame", 1, 1_518)
        .default("\"64B\"", "PRE-13", "smallest Ethernet frame (IEEE 802.1Qbb)")
        .about("Bytes of a pause frame."),
    Param::word("accounting", &["pool", "ns3"])
        .default("\"pool\"", "PRE-82", "the pool until XOFF, then headroom (specs/switch.md)")
        .about("Which bytes count where; `\"ns3\"`: as in ns-3, with `xoff` a power of 1/2."),
    Param::count("headroom_delays", 0, 1_000)
        .default(
            "3",
            "PRE-82",
            "of \"ns3\" books, times what a link holds one way (authors' code of HPCC)",
        )
        .about("Headroom in times of what a link holds one way.")
        .with("accounting", &["ns3"], "`accounting` is not \"ns3\""),
];

fn pfc(values: &Values) -> Result<Pfc, Conflict> {
    let threshold = match values.get("xoff") {
        Some(&Value::Size(bytes)) => PfcThreshold::Static(bytes),
        Some(&Value::Number(share)) => PfcThreshold::Dynamic(Alpha::new(share)),
        // SPFC-06
        _ => PfcThreshold::Equal,
    };
    let accounting = match values.word("accounting") {
        "pool" => Accounting::Pool,
        _ => Accounting::Ns3 {
            shift: halvings(threshold).ok_or_else(|| {
                Conflict::new(
                    &["accounting", "xoff"],
                    "the books of \"ns3\" find thresholds by halving the free buffer",
                    "set pfc.xoff to 1, 0.5, 0.25, 0.125 or a smaller half",
                )
            })?,
            nic_bps: 0, // filled in when the network is known
            headroom_delays: values.count("headroom_delays") as u32, // FGC-07
        },
    };
    Ok(Pfc {
        accounting,
        threshold,
        victims: None, // filled in when the network is known
        xon_offset: values.size("xon_offset"),
        frame_bytes: values.size("frame") as u16,
        headroom: values.some_size("headroom"),
        headroom_beside: values.is("headroom_from", "beside"),
        response_ps: values.time("response"),
    })
}

/// How many times the free buffer is halved, where a threshold is that.
// NS3-11
fn halvings(threshold: PfcThreshold) -> Option<u32> {
    let PfcThreshold::Dynamic(alpha) = threshold else {
        return None;
    };
    (0..=10).find(|shift| Alpha::new(1.0 / f64::from(1u32 << shift)) == alpha)
}

/// `"edges"` sends no bitmaps.
const BITMAPS: &[&str] = &["edges+bitmap", "bitmap"];
const NO_BITMAPS: &str = "`tell` = \"edges\" sends no bitmaps";

/// Parameters of BFC's backpressure.
pub(super) const BFC: &[Param] = &[
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
        ),
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

pub(super) fn read_backpressure(
    s: &Section<'_>,
    word: Option<Backpressure>,
) -> Option<Option<BfcSpec>> {
    let useless = (word != Some(Backpressure::Bfc)).then_some("`backpressure` is not \"bfc\"");
    let bfc = params::table(s, "bfc", BFC, useless, bfc);
    match word? {
        Backpressure::Bfc => bfc.map(Some),
        _ => Some(None),
    }
}

fn bfc(values: &Values) -> Result<BfcSpec, Conflict> {
    Ok(BfcSpec {
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
