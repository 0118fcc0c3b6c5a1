//! The axes of a switch: which queue, which next, what when the buffer is full, backpressure.

use super::{ClassifySpec, ScheduleSpec, Sticky};
use crate::params;
use crate::reader::Section;
use dataplane::config::{
    Admission, Alpha, AssignBy, AssignConfig, PathChoice, SearchStart, SlotBy, WhenFull,
};
use dataplane::hop::pfc::{self, VICTIM_WORD, VictimSpec};
use dataplane::hop::{self, HopSpec};
use dataplane::link::LinkConfig;
use dataplane::param::{Conflict, Kind, MAX_SIZE_BYTES, MAX_TIME_PS, Param, Value, Values};
use dataplane::units::NS;

/// Reads `path` if switches choose paths on their own, and the tables of these choices.
pub(super) fn read_path_of_switches(s: &Section<'_>, axes: &Values) -> Option<PathChoice> {
    let chosen = axes.some_word("path");
    let mut with_table = None;
    for (word, params) in PathChoice::tables() {
        let read = params::of_word(s, axes, "path", word, params, |values| {
            Ok(PathChoice::of_word(word, values))
        });
        if chosen == Some(word) {
            with_table = Some(read);
        }
    }
    with_table.unwrap_or_else(|| {
        let chosen = chosen.filter(|word| PathChoice::has_word(word))?;
        Some(PathChoice::of_word(chosen, &Values::default()))
    })
}

pub(super) fn read_classify(s: &Section<'_>, axes: &Values) -> Option<ClassifySpec> {
    let dynamic = params::of_word(s, axes, "classify", "dynamic", DYNAMIC, dynamic);
    match axes.some_word("classify")? {
        "fifo" => Some(ClassifySpec::Fifo),
        "hash" => Some(ClassifySpec::Hash),
        "dynamic" => dynamic,
        "per-flow" => Some(ClassifySpec::PerFlow),
        _ => Some(ClassifySpec::Priority),
    }
}

/// Keys of the search for an empty queue, and the reason why they have no effect with hashing.
const SEARCHED: &[&str] = &["empty"];
const HASHED: &str = "`assign` = \"hash\" searches for no queue";

/// Parameters of the assignment of flows to queues.
pub(super) const DYNAMIC: &[Param] = &[
    Param::count("table", 1, 1_000_000)
        .default(
            "100",
            "PRE-20",
            "flow-table entries per queue (BFC paper 3.3.1)",
        )
        .about("Flow-table entries per queue."),
    Param::word("slot", &["flow", "source"])
        .default("\"flow\"", "PRE-20", "a hash of the flow (BFC paper 3.3.1)")
        .about(
            "What names a flow's entry: a hash of it, or its source, source port and length only.",
        ),
    Param::word("assign", &["empty", "hash"])
        .default("\"empty\"", "PRE-20", "an empty queue (BFC paper 3.3.1)")
        .about("Which queue a flow gets: an empty one, or that of its hash, empty or not."),
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
    .about("How long a flow keeps its queue after its last packet has left.")
    .with("assign", SEARCHED, HASHED),
    Param::time("bitmap", NS)
        .or(&["immediate"])
        .default(
            "\"immediate\"",
            "PRE-51",
            "the map of empty queues is always up to date (BFC paper 3.3.1)",
        )
        .about("The map of empty queues is always up to date, or is read at this interval.")
        .with("assign", SEARCHED, HASHED),
    Param::flag("paused_eligible")
        .default(
            "false",
            "PRE-51",
            "a paused queue is not taken (authors' code of BFC)",
        )
        .about("An empty queue that is paused may be taken.")
        .with("assign", SEARCHED, HASHED),
    Param::word("start", &["rotating", "random"])
        .default(
            "\"rotating\"",
            "PRE-51",
            "the search goes on where it stopped (BFC paper 4)",
        )
        .about("Where the search for an empty queue starts.")
        .with("assign", SEARCHED, HASHED),
    Param::count("reserved", 0, 1000)
        .default("0", "PRE-51", "the search starts at queues for data")
        .about(
            "Numbers without a queue for data where a random search may start, to go on with the first queue.",
        )
        .with(
            "start",
            &["random"],
            "only a search that starts by chance starts there",
        ),
    Param::word("when_full", &["random", "by-entry"])
        .default(
            "\"random\"",
            "PRE-51",
            "any queue by chance (BFC paper 3.3.1)",
        )
        .about("Which queue a flow takes where none is empty.")
        .with("assign", SEARCHED, HASHED),
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
        sticky: match (values.some_time("sticky"), values.some_number("sticky")) {
            (Some(ps), _) => Sticky::Fixed(ps),
            (None, Some(hop_rtts)) => Sticky::HopRtts(hop_rtts),
            (None, None) => Sticky::Fixed(0),
        },
        assign: AssignConfig {
            sticky_hrtts: None,
            by: match values.word("assign") {
                "empty" => AssignBy::Empty,
                _ => AssignBy::Hash,
            },
            slot: match values.word("slot") {
                "flow" => SlotBy::Flow,
                _ => SlotBy::Source,
            },
            bitmap_ps: values.some_time("bitmap"),
            paused_eligible: values.some_flag("paused_eligible") == Some(true),
            start: match values.some_word("start") {
                Some("random") => SearchStart::Random {
                    reserved: values.count("reserved") as u16,
                },
                _ => SearchStart::Rotating,
            },
            when_full: match values.some_word("when_full") {
                Some("by-entry") => WhenFull::ByEntry,
                _ => WhenFull::Random,
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
    axes: &Values,
    classify: Option<ClassifySpec>,
) -> Option<ScheduleSpec> {
    let drr = params::of_word(s, axes, "schedule", "drr", DRR, |v| {
        Ok(v.some_size("quantum").map(|bytes| bytes as u32))
    });
    let spec = match axes.some_word("schedule")? {
        "fifo" => ScheduleSpec::Fifo,
        "drr" => ScheduleSpec::Drr(drr?),
        "round-robin" => ScheduleSpec::RoundRobin,
        "srf" => ScheduleSpec::ShortestRemaining,
        "cyclic" => ScheduleSpec::Cyclic,
        _ => ScheduleSpec::Strict,
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

pub(super) fn read_admission(s: &Section<'_>, axes: &Values) -> Option<Admission> {
    let axis = "admission";
    let pfc = params::of_word(s, axes, axis, "pfc", pfc::PARAMS, pfc::from_values);
    let word = "egress-dynamic";
    let egress = params::of_word(s, axes, axis, word, EGRESS_DYNAMIC, |v| {
        Ok(Admission::EgressDynamic {
            alpha: Alpha::new(v.number("alpha")),
            per_queue: v.is("per", "queue"),
        })
    });
    let per_port = params::of_word(s, axes, axis, "per-port", PER_PORT, |v| {
        Ok(Admission::PerPort {
            bytes: v.size("limit"),
        })
    });
    match axes.some_word(axis)? {
        "pfc" => pfc.map(Admission::Pfc),
        "egress-dynamic" => egress,
        "shared-pool" => Some(Admission::SharedPool),
        "per-port" => per_port,
        _ => Some(Admission::Unlimited),
    }
}

/// Reads `backpressure`, the hop scheme in addition to PFC. Each word of the list has a table.
pub(super) fn read_backpressure(s: &Section<'_>, axes: &Values) -> Option<HopSpec> {
    let chosen = axes.some_word("backpressure");
    let mut read = Some(HopSpec::default());
    for word in hop::words() {
        let axis = "backpressure";
        let of = params::of_word(s, axes, axis, word.name, word.params, |values| {
            word.with(values)
        });
        if chosen == Some(word.name) {
            read = of;
        }
    }
    chosen.and(read)
}

/// The schemes of links that `link` and `backpressure` choose, with the tables of their words.
pub(super) fn read_link(s: &Section<'_>, axes: &Values) -> Option<LinkConfig> {
    let listed = axes.some_list("link").unwrap_or_default();
    let mut read = Some(LinkConfig::default());
    for &(word, params) in LinkConfig::WORDS {
        let is_alone = ["link", "backpressure"]
            .iter()
            .any(|axis| axes.is(axis, word));
        let is_chosen = is_alone || listed.contains(&Value::Word(word));
        let why = format!("`link` does not name \"{word}\"");
        let useless = (!is_chosen).then_some(why.as_str());
        let with = params::table(s, word, params, useless, |values| {
            read.unwrap_or_default().with(word, values)
        });
        if is_chosen {
            read = read.and(with);
        }
    }
    read
}

/// `victims` and its table.
pub(super) fn read_victims(s: &Section<'_>, axes: &Values) -> Option<Option<VictimSpec>> {
    let (params, make) = (VictimSpec::PARAMS, VictimSpec::from_values);
    let victims = params::of_word(s, axes, "victims", VICTIM_WORD, params, make);
    match axes.some_word("victims")? {
        "none" => Some(None),
        _ => victims.map(Some),
    }
}
