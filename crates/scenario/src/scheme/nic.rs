//! Recovery from losses, acknowledgements, and the NIC itself.

use super::values::{SECOND, bytes, frame_class, parameters, some_time, word_or};
use super::{BfcSpec, FrameClass, MAX_BUFFER_BYTES};
use crate::document::Node;
use crate::params;
use crate::reader::{Read, Section, array, boolean, choice, count, quantity};
use crate::units::TIME;
use dataplane::config::{Arbiter, IrnConfig, IrnWindow, Recovery};
use dataplane::param::{Conflict, Kind, Param, Value, Values};
use dataplane::units::{NEVER, Time, US};

#[derive(Clone, Copy, PartialEq)]
enum RecoveryWord {
    GoBackN,
    Irn,
    Ideal,
    None,
    Own,
}

/// How often a missing packet is complained about, and whether repeated ones are acknowledged.
type Naks = (Option<Time>, bool);

pub(super) fn read_recovery(s: &Section<'_>) -> (Option<Recovery>, Option<Naks>) {
    let words = [
        ("go-back-n", RecoveryWord::GoBackN),
        ("irn", RecoveryWord::Irn),
        ("ideal", RecoveryWord::Ideal),
        ("none", RecoveryWord::None),
        ("own", RecoveryWord::Own),
    ];
    let word = s.required("recovery", "\"go-back-n\"", |n| choice(n, &words));
    let chosen = |w: RecoveryWord| word == Some(w);
    let why = |w: &str| format!("`recovery` is not \"{w}\"");
    let go_back = parameters(
        s,
        "go-back-n",
        chosen(RecoveryWord::GoBackN),
        &why("go-back-n"),
        |t| {
            let timeout = t.required("timeout", "\"10ms\"", |n| {
                word_or(n, "off", NEVER, |n| quantity(n, &TIME, 1_000_000, SECOND))
            });
            // NS3-22
            let interval = t.required("nak_interval", "\"off\"", |n| {
                word_or(n, "off", None, some_time)
            });
            let words = [("acknowledge", true), ("ignore", false)];
            let repeats = t.required("repeats", "\"acknowledge\"", |n| choice(n, &words));
            Some((timeout?, (interval?, repeats?)))
        },
    );
    let useless = (!chosen(RecoveryWord::Irn)).then_some("`recovery` is not \"irn\"");
    let irn = params::table(s, "irn", IRN, useless, irn);
    let ideal = parameters(
        s,
        "ideal",
        chosen(RecoveryWord::Ideal),
        &why("ideal"),
        |t| {
            t.required("delay", "\"path\"", |n| {
                word_or(n, "path", None, |n| quantity(n, &TIME, 0, SECOND).map(Some))
            })
        },
    );
    let naks = match (word, go_back) {
        (Some(RecoveryWord::GoBackN), go_back) => go_back.map(|(_, naks)| naks),
        _ => Some((None, true)),
    };
    let recovery = match word {
        None => None,
        Some(RecoveryWord::GoBackN) => {
            go_back.map(|(timeout_ps, _)| Recovery::GoBackN { timeout_ps })
        }
        Some(RecoveryWord::Irn) => irn.map(Recovery::Irn),
        Some(RecoveryWord::Ideal) => ideal.map(|delay_ps| Recovery::Ideal { delay_ps }),
        Some(RecoveryWord::None) => Some(Recovery::None),
        Some(RecoveryWord::Own) => Some(Recovery::Own),
    };
    (recovery, naks)
}

/// Parameters of IRN.
pub(super) const IRN: &[Param] = &[
    Param::either(
        "window",
        &[
            Kind::Word(&["bdp", "off"]),
            Kind::Size {
                min: 1,
                max: MAX_BUFFER_BYTES,
            },
        ],
    )
    .default(
        "\"bdp\"",
        "PRE-60",
        "of the longest path, in flight (IRN paper 3.2)",
    )
    .about("Most bytes in flight; `\"bdp\"`: one BDP of the path, `\"off\"`: no limit of its own."),
    Param::time("rto_low", US)
        .default(
            "\"100us\"",
            "PRE-60",
            "with few packets in flight (IRN paper 4.1)",
        )
        .about("Timeout while fewer than `few` packets are in flight."),
    Param::time("rto_high", US)
        .default("\"320us\"", "PRE-60", "else (IRN paper 4.1)")
        .about("Timeout otherwise."),
    Param::count("few", 0, 1_000_000)
        .default("3", "PRE-60", "packets, fewer are few (IRN paper 3.1)")
        .about("With fewer packets in flight than this, `rto_low` holds."),
    Param::count("lost_after", 1, 1_000_000)
        .default(
            "1",
            "PRE-60",
            "a packet is lost once a later one is there (IRN paper 3.1)",
        )
        .about("A packet counts as lost once one that is this many later has arrived."),
];

fn irn(values: &Values) -> Result<IrnConfig, Conflict> {
    let (low, high) = (values.time("rto_low"), values.time("rto_high"));
    if low > high {
        return Err(Conflict::new(
            &["rto_low"],
            format!(
                "rto_low {} is above rto_high {}",
                TIME.show(low),
                TIME.show(high)
            ),
            "rto_low is for flows with few packets in flight, whose queues are short",
        ));
    }
    Ok(IrnConfig {
        window: match values.get("window") {
            Some(&Value::Size(bytes)) => IrnWindow::Bytes(bytes),
            _ if values.is("window", "bdp") => IrnWindow::Bdp,
            _ => IrnWindow::Off,
        },
        rto_low_ps: low,
        rto_high_ps: high,
        few: values.count("few") as u32,
        lost_after: values.count("lost_after") as u32,
    })
}

/// Bytes, class, packets per ACK; whether PFC holds it at the host, and whether it goes back the
/// way on which its packet came.
type Ack = (u16, FrameClass, u32, (bool, bool));

pub(super) fn read_ack(s: &Section<'_>) -> Option<Ack> {
    parameters(s, "ack", true, "", |t| {
        let size = t.required("bytes", "\"60B\"", |n| bytes(n, 1, 1_518));
        let class = t.required("class", "\"data\"", frame_class);
        let every = t.required("every", "1", |n| count(n, 1, 100_000));
        let pausable = t.required("pausable", "true", boolean);
        // FGC-32
        let paths = [("own", false), ("reverse", true)];
        let path = t.required("path", "\"own\"", |n| choice(n, &paths));
        Some((size?, class?, every? as u32, (pausable?, path?)))
    })
}

type Nic = (u16, bool, bool, (Arbiter, bool));

pub(super) fn read_nic(s: &Section<'_>, bfc: &Option<Option<BfcSpec>>) -> Option<Nic> {
    parameters(s, "nic", true, "", |t| {
        let schedules = [("round-robin", false), ("srf", true)];
        let srf = t.required("schedule", "\"round-robin\"", |n| choice(n, &schedules));
        let arbiters = [("ring", Arbiter::Ring), ("scan", Arbiter::Scan)];
        let arbiter = t.required("arbiter", "\"ring\"", |n| choice(n, &arbiters));
        let obeys = t.required("obeys", "[\"pfc\", \"bfc\"]", obeys);
        let listens = matches!(bfc, Some(Some(_))) && obeys.is_some_and(|(_, b)| b);
        let queues = if listens || bfc.is_none() {
            t.required("queues", "1024", |n| count(n, 1, 32_768))
                .map(|q| q as u16)
        } else {
            t.refuse_useless("queues", "no BFC pause tells the NIC's queues apart");
            Some(1)
        };
        let (obeys_pfc, obeys_bfc) = obeys?;
        if arbiter == Some(Arbiter::Scan) && srf == Some(true) {
            t.complain(
                "schedule",
                "a NIC that scans its list of flows takes them in turn",
                "set nic.arbiter = \"ring\", or nic.schedule = \"round-robin\"",
            );
        }
        Some((queues?, obeys_pfc, obeys_bfc, (arbiter?, srf?)))
    })
}

/// What a NIC obeys, as a list of words.
fn obeys(node: &Node) -> Read<(bool, bool)> {
    let (mut pfc, mut bfc) = (false, false);
    for item in array(node, "a list such as [\"pfc\", \"bfc\"]")? {
        match choice(item, &[("pfc", true), ("bfc", false)])? {
            true => pfc = true,
            false => bfc = true,
        }
    }
    Ok((pfc, bfc))
}
