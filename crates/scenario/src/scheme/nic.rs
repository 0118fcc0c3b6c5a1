//! Recovery from losses, acknowledgements, and the NIC itself.

use super::FrameClass;
use crate::params;
use crate::reader::Section;
use crate::units::TIME;
use dataplane::config::{Arbiter, FlowOrder, IrnConfig, IrnWindow, Processing, Recovery};
use dataplane::hop::{HopSpec, IGNORABLE, NIC_QUEUES, NO_NIC_QUEUES, OBEYS};
use dataplane::packet::SchemeSet;
use dataplane::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param, Value, Values};
use dataplane::units::{NEVER, Rate, Time, US};

/// How often a missing packet is complained about, and whether repeated ones are acknowledged.
type Naks = (Option<Time>, bool);

pub(super) fn read_recovery(s: &Section<'_>, axes: &Values) -> (Option<Recovery>, Option<Naks>) {
    let axis = "recovery";
    let go_back = params::of_word(s, axes, axis, "go-back-n", GO_BACK_N, go_back_n);
    let irn = params::of_word(s, axes, axis, "irn", IRN, irn);
    let ideal = params::of_word(s, axes, axis, "ideal", IDEAL, |v| Ok(v.some_time("delay")));
    let plain = Some((None, true));
    match axes.some_word(axis) {
        None => (None, plain),
        Some("go-back-n") => (
            go_back.map(|(timeout_ps, _)| Recovery::GoBackN { timeout_ps }),
            go_back.map(|(_, naks)| naks),
        ),
        Some("irn") => (irn.map(Recovery::Irn), plain),
        Some("ideal") => (ideal.map(|delay_ps| Recovery::Ideal { delay_ps }), plain),
        Some("none") => (Some(Recovery::None), plain),
        Some(_) => (Some(Recovery::Own), plain),
    }
}

/// Parameters of go-back-N.
pub(super) const GO_BACK_N: &[Param] = &[
    Param::time("timeout", US)
        .or(&["off"])
        .default(
            "\"10ms\"",
            "PRE-08",
            "longer than any queue of these networks, our choice",
        )
        .about("Silence after which everything that is not acknowledged is sent again.")
        .in_network(InNetwork::Timeout),
    Param::time("nak_interval", 1)
        .or(&["off"])
        .default(
            "\"off\"",
            "PRE-85",
            "one NAK per missing packet, the timeout does the rest, our choice",
        )
        .about("After this time the receiver may complain about the same packet again.")
        .in_network(InNetwork::Timeout),
    Param::word("repeats", &["acknowledge", "ignore"])
        .default(
            "\"acknowledge\"",
            "PRE-85",
            "a packet had before is acknowledged again, our choice",
        )
        .about("What the receiver does with packets that it had before."),
];

/// Parameters of the ideal recovery.
pub(super) const IDEAL: &[Param] = &[Param::time("delay", 0)
    .or(&["path"])
    .default(
        "\"path\"",
        "PRE-61",
        "the news comes back at the speed of light, our choice",
    )
    .about("Delay of the news of a drop; `\"path\"`: the propagation of the path back.")];

// NS3-22
fn go_back_n(values: &Values) -> Result<(Time, Naks), Conflict> {
    let naks = (
        values.some_time("nak_interval"),
        values.is("repeats", "acknowledge"),
    );
    Ok((values.some_time("timeout").unwrap_or(NEVER), naks))
}

/// Parameters of IRN.
pub(super) const IRN: &[Param] = &[
    Param::size("window", 1, MAX_SIZE_BYTES)
        .or(&["bdp", "off"])
        .default(
            "\"bdp\"",
            "PRE-60",
            "of the longest path, in flight (IRN paper 3.2)",
        )
        .about(
            "Most bytes in flight; `\"bdp\"`: one BDP of the path, `\"off\"`: no limit of its own.",
        ),
    Param::time("rto_low", US)
        .default(
            "\"100us\"",
            "PRE-60",
            "with few packets in flight (IRN paper 4.1)",
        )
        .about("Timeout while fewer than `few` packets are in flight.")
        .in_network(InNetwork::Timeout),
    Param::time("rto_high", US)
        .default("\"320us\"", "PRE-60", "else (IRN paper 4.1)")
        .about("Timeout otherwise.")
        .in_network(InNetwork::Timeout),
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

/// Parameters of acknowledgements.
pub(super) const ACK: &[Param] = &[
    Param::size("bytes", 1, 1_518)
        .default("\"60B\"", "PRE-03", "smallest frame of the authors' code of HPCC")
        .about("Bytes of an ACK."),
    Param::word("class", &["data", "control"])
        .default("\"data\"", "PRE-09", "as data, in its queue (authors' code of HPCC)")
        .about("Class of ACKs; `\"data\"`: as data, `\"control\"`: strictly first and never paused."),
    Param::count("every", 1, 100_000)
        .default("1", "PRE-09", "an ACK per packet (HPCC paper 3)")
        .about("Packets that one ACK answers."),
    Param::word("path", &["own", "reverse"])
        .default("\"own\"", "PRE-160", "by its own hash, our choice")
        .about(
            "How ACKs go back; `\"own\"`: by their own hash, `\"reverse\"`: by the ports by which their packets came.",
        ),
    Param::flag("pausable")
        .default("true", "PRE-81", "PFC holds ACKs of the data class at the host as well")
        .about("PFC holds ACKs of class `\"data\"` at the host, too."),
];

pub(super) fn read_ack(s: &Section<'_>) -> Option<Ack> {
    params::table(s, "ack", ACK, None, |values| {
        let class = if values.is("class", "data") {
            FrameClass::Data
        } else {
            FrameClass::Control
        };
        // FGC-32
        let back = (values.flag("pausable"), values.is("path", "reverse"));
        Ok((
            values.size("bytes") as u16,
            class,
            values.count("every") as u32,
            back,
        ))
    })
}

type Nic = (u16, SchemeSet, (Arbiter, FlowOrder), Option<Processing>);

/// Parameters of the NIC.
pub(super) const NIC: &[Param] = &[
    Param::word("schedule", &["round-robin", "srf", "cyclic"])
        .default("\"round-robin\"", "PRE-39", "a packet of each flow in turn (authors' code of BFC)")
        .about(
            "Which flow sends next; `\"srf\"`: the one with the least left, `\"cyclic\"`: a packet of each in the \
             order of numbers that they have by chance.",
        ),
    OBEYS,
    NIC_QUEUES,
    Param::word("arbiter", &["ring", "scan"])
        .default("\"ring\"", "PRE-81", "flows that may send stand in a ring, our choice")
        .about(
            "How the next flow is found; `\"scan\"`: ns-3's round over its list of queue pairs, which needs a control \
             with `arithmetic = \"integer\"`.",
        ),
    Param::time("host_delay", 0)
        .default("\"0us\"", "PRE-201", "hosts take no time, our choice")
        .about("Time that a host takes for each frame of a flow before it acts on it."),
    Param::rate("host_rate")
        .or(&["off"])
        .default("\"off\"", "PRE-201", "hosts take no time, our choice")
        .about("Rate at which a host processes frames of flows, one after another."),
];

pub(super) fn read_nic(s: &Section<'_>, hop: Option<&HopSpec>) -> Option<Nic> {
    let inner = params::inner(s, "nic")?;
    let obeys = |values: &Values, word| {
        let words = values.some_list("obeys").unwrap_or_default();
        words.contains(&Value::Word(word))
    };
    let own = hop.map(HopSpec::word);
    let deaf = hop.is_some_and(|hop| !hop.names_nic_queues());
    let values = params::read_where(&inner, NIC, |key, values| {
        let idle = key == "queues" && (deaf || own.is_some_and(|word| !obeys(values, word)));
        idle.then_some(NO_NIC_QUEUES)
    });
    inner.finish();
    let values = values?;
    let order = match values.word("schedule") {
        "srf" => FlowOrder::ShortestFirst,
        "cyclic" => FlowOrder::Cyclic,
        _ => FlowOrder::Ring,
    };
    let arbiter = if values.is("arbiter", "scan") {
        Arbiter::Scan
    } else {
        Arbiter::Ring
    };
    if arbiter == Arbiter::Scan && order != FlowOrder::Ring {
        inner.complain_of(
            &["schedule"],
            "a NIC that scans its list of flows takes them in turn",
            "set nic.arbiter = \"ring\", or nic.schedule = \"round-robin\"",
        );
    }
    let queues = values.some_count("queues").unwrap_or(1) as u16;
    let ignored = IGNORABLE.iter().filter(|(word, _)| !obeys(&values, word));
    let obeyed = ignored.fold(SchemeSet::ALL, |set, (_, scheme)| {
        set.without(scheme.number())
    });
    let processing = processing(&values);
    if arbiter == Arbiter::Scan && processing.is_some() {
        inner.complain_of(
            &["host_delay", "host_rate"],
            "hosts of a NIC that scans its list of flows take no time",
            "set nic.arbiter = \"ring\"",
        );
    }
    Some((queues, obeyed, (arbiter, order), processing))
}

/// The time that a host takes for frames, if it takes any.
// NIC-40
fn processing(values: &Values) -> Option<Processing> {
    let delay_ps = values.time("host_delay");
    let rate = values.some_rate("host_rate").map(Rate::from_bps);
    (delay_ps > 0 || rate.is_some()).then_some(Processing { delay_ps, rate })
}
