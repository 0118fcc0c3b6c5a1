//! `[scheme.floodgate]` and `[scheme.pfc-tag]`: hop control that names destinations.

use super::{ClassifySpec, SchemeSpec};
use crate::params;
use crate::reader::{Section, choice};
use dataplane::config::Alpha;
use dataplane::hop::floodgate::{
    Aggregation, Amount, CreditAt, CreditConfig, FloodgateConfig, HoldBy, HostPauseBy,
    PauseThresholds, Release, Voqs, WindowConfig, WindowUnit,
};
use dataplane::param::{Conflict, Kind, MAX_SIZE_BYTES, Param, Value, Values};
use dataplane::units::{NS, US};

/// The answer to the axis of hop control besides PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backpressure {
    None,
    Bfc,
    Floodgate,
    PfcTag,
}

/// A number of hop BDPs, or a size.
const AMOUNT: &[Kind] = &[
    Kind::Size {
        min: 1,
        max: MAX_SIZE_BYTES,
    },
    Kind::Multiple {
        of: "hop BDPs",
        min: 0.01,
        max: 10_000.0,
    },
];

const fn period(key: &'static str) -> Param {
    Param::time(key, NS).or(&["off"])
}

const TIMER: &[&str] = &["timer"];
const PER_PACKET: &str = "`credit` = \"per-packet\" sends each credit at once";
const NO_HOSTS: &str = "`dst_pause` is off";

// What both have: VOQs, what becomes of released packets, what signals see.
const VOQS: Param = Param::count("voqs", 1, 16_384)
    .or(&["per-destination"])
    .default("100", "PRE-111", "a pool (Floodgate paper 6)")
    .about("VOQs of a switch.");
const GROUPS: Param = Param::flag("groups")
    .default("true", "PRE-111", "up and down apart (Floodgate paper 4.2)")
    .about("A switch that forwards up and down keeps half of the VOQs for destinations below it.")
    .without(
        "voqs",
        &["per-destination"],
        "every destination has a VOQ of its own",
    );
const RELEASE: Param = Param::word("release", &["shared", "behind"])
    .default("\"shared\"", "PRE-112", "to the ordinary egress queue (Floodgate paper 4.2)")
    .about(
        "Released packets join the egress queue, or one behind it, which sends when no other packet waits (at most three \
         traffic classes).",
    );
const VUP: Param = period("vup")
    .default(
        "\"off\"",
        "PRE-112",
        "the ingress knows the VOQs, our choice",
    )
    .about("The ingress pipeline hears of empty VOQs at multiples of this time.");
const SEEN_BY_ECN: Param = Param::word("ecn", &["egress+held", "egress"])
    .default(
        "\"egress+held\"",
        "PRE-113",
        "the egress counter (Floodgate paper 8)",
    )
    .about("Whether ECN counts what is held for the egress, too.");
const SEEN_BY_INT: Param = Param::word("int", &["held", "egress"])
    .default("\"held\"", "PRE-113", "VOQs for packets that were held (Floodgate paper 8)")
    .about("Whether INT of a packet that was held tells the bytes of all VOQs, or always those of the egress queue.");

/// Parameters of Floodgate.
pub(super) const FLOODGATE: &[Param] = &[
    Param::word("unit", &["packets", "bytes"])
        .default("\"packets\"", "PRE-104", "of windows and credits (Floodgate paper 4.2)")
        .about("Unit of windows."),
    Param::either("window", AMOUNT)
        .default("1.0", "PRE-104", "hop BDPs, and C x T on top (Floodgate paper 4.2)")
        .about(
            "Initial window: a number of hop BDPs of the next hop (with a timer C·T comes on top), or a size that is taken \
             as it is.",
        ),
    Param::word("credit", &["timer", "per-packet"])
        .default("\"timer\"", "PRE-105", "aggregated (Floodgate paper 4.1)")
        .about("Whether credits are aggregated."),
    Param::time("interval", 10 * NS)
        .default("\"10us\"", "PRE-105", "T (Floodgate paper 6)")
        .about("T, of each ingress port.")
        .with("credit", TIMER, PER_PACKET),
    Param::size("byte_counter", 1, MAX_SIZE_BYTES)
        .or(&["off"])
        .default("\"off\"", "PRE-105", "only the timer sends credits (Floodgate paper 4.1)")
        .about("Credits for this many bytes are sent at once.")
        .with("credit", TIMER, PER_PACKET),
    period("generator")
        .default("\"off\"", "PRE-105", "at the very end of T, our choice")
        .about("Credit frames are made at multiples of this time only.")
        .with("credit", TIMER, PER_PACKET),
    Param::word("credit_at", &["departure", "forwarding", "voq"])
        .default(
            "\"departure\"",
            "PRE-106",
            "when a packet leaves its port (Floodgate paper 7.2, authors' code)",
        )
        .about(
            "When a credit is earned: at departure from the port, on the way to the egress queue, or on leaving a VOQ, if \
             held.",
        ),
    Param::either("delay_credit", AMOUNT)
        .or(&["off"])
        .default("10.0", "PRE-107", "withheld while more hop BDPs are held (Floodgate paper 6)")
        .about("Credits wait while more of the destination is held: hop BDPs of the fastest port, or a size."),
    Param::size("credit_frame", 1, 100)
        .default("\"34B\"", "PRE-108", "Ethernet-like 14, IP 20 (authors' code of Floodgate)")
        .about("Bytes of a credit frame."),
    Param::size("credit_entry", 0, 100)
        .default("\"22B\"", "PRE-108", "for each destination (authors' code of Floodgate)")
        .about("Bytes of each destination in it."),
    Param::word("loss", &["numbers", "off"])
        .default("\"numbers\"", "PRE-109", "data and credits are numbered (Floodgate paper 4.3)")
        .about("Data and credits are numbered, so that windows outlive losses."),
    Param::time("timeout", US)
        .default("\"1ms\"", "PRE-109", "of silence before a switchSYN (authors' code of Floodgate)")
        .about("Silence before a switch asks (switchSYN).")
        .with("loss", &["numbers"], "`loss` = \"off\" asks for no credits"),
    Param::count("table", 1, 1 << 24)
        .or(&["exact"])
        .default("\"exact\"", "PRE-110", "a window for each destination (Floodgate paper 4.2)")
        .about("A window for each destination, or a number of entries that destinations are hashed to."),
    period("clear")
        .default("\"off\"", "PRE-110", "full windows stay in the table, our choice")
        .about("Full windows are cleared from the table at this interval."),
    VOQS,
    GROUPS,
    RELEASE,
    VUP,
    SEEN_BY_ECN,
    SEEN_BY_INT,
    Param::either("dst_pause", AMOUNT)
        .or(&["off"])
        .default("\"off\"", "PRE-114", "the practical design needs no hosts (Floodgate paper 4.3)")
        .about("Hosts are paused by destination above this much held: hop BDPs of their link, or a size."),
    Param::size("dst_resume_below", 0, MAX_SIZE_BYTES)
        .default("\"0B\"", "PRE-114", "resumed below the same threshold (Floodgate paper 4.3)")
        .about("They are resumed this many bytes below.")
        .without("dst_pause", &["off"], NO_HOSTS),
    Param::word("dst_pause_by", &["held", "ingress"])
        .default("\"held\"", "PRE-114", "by what VOQs hold (Floodgate paper 4.3)")
        .about(
            "Which bytes count for that: all that are held of the destination, or what this very host sent to it and is \
             still here, queued or held, above its first 4096 bytes.",
        )
        .without("dst_pause", &["off"], NO_HOSTS),
    Param::size("frame", 1, 1_518)
        .default("\"64B\"", "PRE-108", "of a pause or question, smallest Ethernet frame, our choice")
        .about("Bytes of a pause, a resume and a question."),
];

/// Parameters of PFC with destination tag.
pub(super) const PFC_TAG: &[Param] = &[
    Param::either("threshold", AMOUNT)
        .default("1.0", "PRE-103", "hop BDPs, not in the paper, our choice")
        .about(
            "Pause threshold of the egress queue at the last hop, and of what is held elsewhere.",
        ),
    Param::size("resume_below", 0, MAX_SIZE_BYTES)
        .default(
            "\"0B\"",
            "PRE-103",
            "resumed below the same threshold, our choice",
        )
        .about("Resumed this many bytes below."),
    Param::flag("hosts")
        .default("false", "PRE-103", "switches only (Floodgate paper B)")
        .about("Pauses reach hosts, too."),
    VOQS,
    GROUPS,
    RELEASE,
    VUP,
    SEEN_BY_ECN,
    SEEN_BY_INT,
    Param::size("frame", 1, 1_518)
        .default("\"64B\"", "PRE-108", "smallest Ethernet frame, our choice")
        .about("Bytes of a pause and a resume."),
];

/// Reads the table of the word that was chosen.
pub(super) fn read_floodgate(
    s: &Section<'_>,
    word: Option<Backpressure>,
) -> Option<Option<FloodgateConfig>> {
    let windows = word == Some(Backpressure::Floodgate);
    let useless = (!windows).then_some("`backpressure` is not \"floodgate\"");
    let by_windows = params::table(s, "floodgate", FLOODGATE, useless, |v| {
        let config = holds(v, HoldBy::Windows(windows_of(v)))?;
        Ok(FloodgateConfig {
            host_pause: thresholds(v, "dst_pause", "dst_resume_below"),
            host_pause_by: match v.some_word("dst_pause_by") {
                Some("ingress") => HostPauseBy::Ingress,
                _ => HostPauseBy::Held,
            },
            ..config
        })
    });
    let tags = word == Some(Backpressure::PfcTag);
    let useless = (!tags).then_some("`backpressure` is not \"pfc-tag\"");
    let by_tags = params::table(s, "pfc-tag", PFC_TAG, useless, |v| {
        let thresholds = thresholds(v, "threshold", "resume_below").expect("it has no other words");
        let config = holds(v, HoldBy::Tags(thresholds))?;
        Ok(FloodgateConfig {
            host_pause: v.flag("hosts").then_some(thresholds),
            ..config
        })
    });
    match word? {
        Backpressure::Floodgate => by_windows.map(Some),
        Backpressure::PfcTag => by_tags.map(Some),
        Backpressure::None | Backpressure::Bfc => Some(None),
    }
}

/// An amount; `None`: off.
fn amount(values: &Values, key: &str) -> Option<Amount> {
    match values.get(key) {
        Some(&Value::Size(bytes)) => Some(Amount::Bytes(bytes)),
        Some(&Value::Number(bdps)) => Some(Amount::HopBdps(Alpha::new(bdps))),
        _ => None,
    }
}

fn thresholds(values: &Values, off: &str, below: &str) -> Option<PauseThresholds> {
    Some(PauseThresholds {
        off: amount(values, off)?,
        on_below_bytes: values.size(below),
    })
}

fn windows_of(values: &Values) -> WindowConfig {
    let aggregation = values.some_time("interval").map(|interval_ps| Aggregation {
        interval_ps,
        byte_counter: values.some_size("byte_counter"),
        generator_ps: values.some_time("generator"),
    });
    WindowConfig {
        unit: match values.word("unit") {
            "packets" => WindowUnit::Packets,
            _ => WindowUnit::Bytes,
        },
        initial: amount(values, "window").expect("it has no other words"),
        entries: values.some_count("table").map(|n| n as u32),
        clear_ps: values.some_time("clear"),
        credit: CreditConfig {
            aggregation,
            at: match values.word("credit_at") {
                "departure" => CreditAt::Departure,
                "forwarding" => CreditAt::Forwarding,
                _ => CreditAt::Voq,
            },
            delay: amount(values, "delay_credit"),
            frame_bytes: values.size("credit_frame") as u16,
            entry_bytes: values.size("credit_entry") as u16,
        },
        numbers_timeout_ps: values.some_time("timeout"),
    }
}

/// What both have; hosts are not paused.
fn holds(values: &Values, by: HoldBy) -> Result<FloodgateConfig, Conflict> {
    let voqs = match values.some_count("voqs") {
        None => Voqs::PerDestination,
        Some(count) => Voqs::Pool {
            count: count as u16,
            groups: values.flag("groups"),
        },
    };
    if voqs
        == (Voqs::Pool {
            count: 1,
            groups: true,
        })
    {
        return Err(Conflict::new(
            &["voqs", "groups"],
            "two groups of VOQs need two VOQs",
            "raise voqs, or set groups = false",
        ));
    }
    Ok(FloodgateConfig {
        by,
        voqs,
        release: match values.word("release") {
            "shared" => Release::Shared,
            _ => Release::Behind,
        },
        ecn_sees_held: values.is("ecn", "egress+held"),
        int_sees_held: values.is("int", "held"),
        host_pause: None,
        host_pause_by: HostPauseBy::Held,
        vup_ps: values.some_time("vup"),
        frame_bytes: values.size("frame") as u16,
    })
}

/// The word of the axis.
pub(super) fn read_word(s: &Section<'_>) -> Option<Backpressure> {
    let words = [
        ("none", Backpressure::None),
        ("bfc", Backpressure::Bfc),
        ("floodgate", Backpressure::Floodgate),
        ("pfc-tag", Backpressure::PfcTag),
    ];
    s.required("backpressure", "\"bfc\"", |n| choice(n, &words))
}

/// What holds of destinations cannot go with.
pub(super) fn combinations(s: &Section<'_>, x: &SchemeSpec) {
    let Some(f) = &x.floodgate else { return };
    let plain = matches!(x.classify, ClassifySpec::Fifo | ClassifySpec::Hash);
    if f.release == Release::Behind && !plain {
        s.complain_of(
            &["floodgate", "pfc-tag", "classify"],
            "`release` = \"behind\" has one queue for all released packets, and `classify` gives queues to flows",
            "set release = \"shared\", or classify to \"fifo\" or \"hash\"",
        );
    }
}
