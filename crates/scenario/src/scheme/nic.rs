//! Recovery from losses, acknowledgements, and the NIC itself.

use super::FrameClass;
use crate::params;
use crate::reader::Section;
use dataplane::config::{Arbiter, FlowOrder, PathChoice, Processing, Recovery, SprayConfig};
use dataplane::hop::{HopSpec, IGNORABLE, NIC_QUEUES, NO_NIC_QUEUES, OBEYS};
use dataplane::packet::SchemeSet;
use dataplane::param::{Param, Value, Values};
use dataplane::paths::{self, POLICIES};
use dataplane::reliability::{self, RECOVERIES};
use dataplane::units::Rate;

/// Reads the scheme of loss recovery and its parameters.
pub(super) fn read_recovery(s: &Section<'_>, axes: &Values) -> Option<Recovery> {
    let axis = "recovery";
    let read = |scheme: &reliability::Declaration| {
        if scheme.params.is_empty() {
            return (scheme.configure)(axes)
                .ok()
                .filter(|_| axes.is(axis, scheme.name));
        }
        params::of_word(s, axes, axis, scheme.name, scheme.params, scheme.configure)
    };
    // Each is read, so that the table of a scheme that was not chosen is refused.
    let chosen = RECOVERIES.iter().filter_map(read).last();
    chosen.or_else(|| axes.is(axis, "own").then_some(Recovery::Own))
}

/// Reads how paths are chosen: by switches, or by a policy of senders with its parameters.
pub(super) fn read_path(
    s: &Section<'_>,
    axes: &Values,
) -> Option<(PathChoice, Option<SprayConfig>)> {
    let axis = "path";
    let read = |policy: &paths::Declaration| {
        if policy.params.is_empty() {
            return (policy.configure)(axes)
                .ok()
                .filter(|_| axes.is(axis, policy.name));
        }
        params::of_word(s, axes, axis, policy.name, policy.params, policy.configure)
    };
    // Each is read, so that the table of a policy that was not chosen is refused.
    let chosen = POLICIES.iter().filter_map(read).last();
    let by_switches = super::switch::read_path_of_switches(s, axes);
    if PathChoice::has_word(axes.some_word(axis)?) {
        return Some((by_switches?, None));
    }
    chosen.map(|policy| match policy.has_labels() {
        true => (PathChoice::Label, chosen),
        false => (PathChoice::Entropy, chosen),
    })
}

/// Parameters of ACKs: bytes, class, packets per ACK, true if PFC pauses ACKs at the host, and true
/// if ACKs use the reverse path of their packets.
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
    let ignorable = |word: &&str| IGNORABLE.iter().any(|(other, _)| other == word);
    let own = hop.map(HopSpec::word).filter(ignorable);
    let deaf = hop.is_some_and(|hop| !hop.declaration().is_some_and(|hop| hop.names_nic_queues()));
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
