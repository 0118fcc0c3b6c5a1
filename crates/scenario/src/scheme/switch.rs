//! The axes of a switch: which queue, which next, what when the buffer is full, backpressure.

use super::floodgate::Backpressure;
use super::values::{SECOND, bytes, parameters, some_time, time, word_or};
use super::{
    BfcSpec, ClassifySpec, Floor, MAX_BUFFER_BYTES, QueuesPer, ScheduleSpec, Sticky, Tell,
};
use crate::document::{Node, Value};
use crate::params;
use crate::reader::{Read, Section, boolean, choice, count, fraction, number, quantity};
use crate::units::{SIZE, TIME, parse_fraction};
use dataplane::config::{
    Accounting, Admission, Alpha, AssignConfig, PauseBy, Pfc, PfcThreshold, SearchStart, WhenFull,
};
use dataplane::param::Param;
use dataplane::units::Time;

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
    let dynamic = parameters(
        s,
        "dynamic",
        word == Some(ClassifyWord::Dynamic),
        "`classify` is not \"dynamic\"",
        |t| {
            let table = t.required("table", "100", |n| count(n, 1, 1_000_000));
            let sticky = t.required("sticky", "2.0", sticky);
            let assign = read_assign(t);
            Some(ClassifySpec::Dynamic {
                table: table? as u32,
                sticky: sticky?,
                assign: assign?,
            })
        },
    );
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

fn read_assign(t: &Section<'_>) -> Option<AssignConfig> {
    let bitmap = t.required("bitmap", "\"immediate\"", |n| {
        word_or(n, "immediate", None, |n| {
            quantity(n, &TIME, 1_000, SECOND).map(Some)
        })
    });
    let paused = t.required("paused_eligible", "false", boolean);
    let starts = [
        ("rotating", SearchStart::Rotating),
        ("random", SearchStart::Random),
    ];
    let start = t.required("start", "\"rotating\"", |n| choice(n, &starts));
    let full = [
        ("random", WhenFull::Random),
        ("by-entry", WhenFull::ByEntry),
    ];
    let when_full = t.required("when_full", "\"random\"", |n| choice(n, &full));
    let incast_queue = t.required("incast_queue", "false", boolean);
    let pipelines = t.required("pipelines", "1", |n| count(n, 1, 64));
    Some(AssignConfig {
        sticky_hrtts: None,
        bitmap_ps: bitmap?,
        paused_eligible: paused?,
        start: start?,
        when_full: when_full?,
        incast_queue: incast_queue?,
        pipelines: pipelines? as u16,
    })
}

/// A number of hop round trips, or a time.
pub(super) fn sticky(node: &Node) -> Read<Sticky> {
    let result = match &node.value {
        Value::String(_) => quantity(node, &TIME, 0, SECOND).map(Sticky::Fixed),
        _ => number(node, 0.0, 1e6).map(Sticky::HopRtts),
    };
    result.map_err(|mut r| {
        r.hint =
            Some("a number of 1-hop round trips such as 2.0, or a time such as \"4us\"".into());
        r
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
pub(super) const PER_PORT: &[Param] = &[Param::size("limit", 64, MAX_BUFFER_BYTES)
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
    let pfc = parameters(
        s,
        "pfc",
        word == Some(AdmissionWord::Pfc),
        "`admission` is not \"pfc\"",
        read_pfc,
    );
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

fn read_pfc(t: &Section<'_>) -> Option<Pfc> {
    let threshold = t.required("xoff", "\"11%\"", xoff);
    let xon_offset = t.required("xon_offset", "\"3KB\"", |n| {
        quantity(n, &SIZE, 0, MAX_BUFFER_BYTES)
    });
    let headroom = t.required("headroom", "\"formula\"", |n| {
        word_or(n, "formula", None, |n| {
            quantity(n, &SIZE, 0, MAX_BUFFER_BYTES).map(Some)
        })
    });
    let places = [("buffer", false), ("beside", true)];
    let beside = t.required("headroom_from", "\"buffer\"", |n| choice(n, &places));
    let response = time(t, "response", 0);
    let frame = t.required("frame", "\"64B\"", |n| bytes(n, 1, 1_518));
    let accounts = [("pool", false), ("ns3", true)];
    let ns3 = t.required("accounting", "\"pool\"", |n| choice(n, &accounts));
    // FGC-07
    let delays = if ns3 == Some(true) {
        t.required("headroom_delays", "3", |n| count(n, 0, 1_000))
    } else {
        t.refuse_useless("headroom_delays", "`accounting` is not \"ns3\"");
        Some(0)
    };
    let accounting = match (ns3?, threshold) {
        (false, _) => Accounting::Pool,
        (true, threshold) => Accounting::Ns3 {
            shift: threshold.and_then(halvings).unwrap_or_else(|| {
                t.complain_of(
                    &["accounting", "xoff"],
                    "the books of \"ns3\" find thresholds by halving the free buffer",
                    "set pfc.xoff to 1, 0.5, 0.25, 0.125 or a smaller half",
                );
                0
            }),
            nic_bps: 0, // filled in when the network is known
            headroom_delays: delays? as u32,
        },
    };
    Some(Pfc {
        accounting,
        threshold: threshold?,
        victims: None, // filled in when the network is known
        xon_offset: xon_offset?,
        frame_bytes: frame?,
        headroom: headroom?,
        headroom_beside: beside?,
        response_ps: response?,
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

/// A share of the free buffer, a size, or equal shares of the whole buffer.
// SPFC-06
fn xoff(node: &Node) -> Read<PfcThreshold> {
    let hint = "a share of the free buffer such as \"11%\" or 2.0 (dynamic), a size such as \
                \"500KB\" (static), or \"equal\" (the buffer over the number of ports)";
    let result = match &node.value {
        Value::String(text) if text == "equal" => Ok(PfcThreshold::Equal),
        Value::String(text) if parse_fraction(text).is_err() => {
            quantity(node, &SIZE, 1, MAX_BUFFER_BYTES).map(PfcThreshold::Static)
        }
        _ => fraction(node, 0.001, 1000.0).map(|f| PfcThreshold::Dynamic(Alpha::new(f))),
    };
    result.map_err(|mut r| {
        r.hint = Some(hint.to_owned());
        r
    })
}

pub(super) fn read_backpressure(
    s: &Section<'_>,
    word: Option<Backpressure>,
) -> Option<Option<BfcSpec>> {
    let chosen = word == Some(Backpressure::Bfc);
    let why = "`backpressure` is not \"bfc\"";
    let bfc = parameters(s, "bfc", chosen, why, |t| {
        let threshold = t.required("threshold", "1.0", |n| number(n, 0.001, 1000.0));
        let hrtt = t.required("hrtt", "\"links\"", |n| {
            word_or(n, "links", None, some_time)
        });
        let frame = t.required("frame", "\"64B\"", |n| bytes(n, 1, 1_518));
        let count_arriving = t.required("count_arriving", "false", boolean);
        let first_exempt = t.required("first_exempt", "true", boolean);
        let floor = t.required("floor", "\"0B\"", |n| {
            word_or(n, "frame", Floor::Frame, |n| {
                quantity(n, &SIZE, 0, MAX_BUFFER_BYTES).map(Floor::Bytes)
            })
        });
        let tau = time(t, "tau", 0);
        let by = [("queue", PauseBy::Queue), ("flow", PauseBy::Flow)];
        let by = t.required("pause", "\"queue\"", |n| choice(n, &by));
        let (tell, bitmap) = read_tell(t);
        let sampling = t.required("sampling", "1.0", |n| fraction(n, 0.001, 1.0));
        let elide = [("auto", true), ("off", false)];
        let elide = t.required("elide", "\"auto\"", |n| choice(n, &elide));
        Some(BfcSpec {
            threshold: threshold?,
            hrtt_ps: hrtt?,
            frame_bytes: frame?,
            count_arriving: count_arriving?,
            first_exempt: first_exempt?,
            floor: floor?,
            tau_ps: tau?,
            by: by?,
            tell: tell?,
            bitmap: bitmap?,
            sampling: sampling?,
            elide: elide?,
        })
    });
    match word? {
        Backpressure::Bfc => bfc.map(Some),
        _ => Some(None),
    }
}

pub(super) type Bitmap = Option<(Time, Option<u16>)>;

/// How pauses are told, and the bitmaps where they are used.
fn read_tell(t: &Section<'_>) -> (Option<Tell>, Option<Bitmap>) {
    let words = [
        ("edges", Tell::Edges),
        ("edges+bitmap", Tell::EdgesAndBitmap),
        ("bitmap", Tell::Bitmap),
    ];
    let tell = t.required("tell", "\"edges\"", |n| choice(n, &words));
    if tell == Some(Tell::Edges) {
        let why = "`tell` = \"edges\" sends no bitmaps";
        t.refuse_useless("bitmap", why);
        t.refuse_useless("bitmap_frame", why);
        return (tell, Some(None));
    }
    let period = time(t, "bitmap", 10_000);
    let frame = t.required("bitmap_frame", "\"fit\"", |n| {
        word_or(n, "fit", None, |n| bytes(n, 1, 9_000).map(Some))
    });
    (tell, period.zip(frame).map(Some))
}
