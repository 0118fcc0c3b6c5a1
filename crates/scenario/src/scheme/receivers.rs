//! Receiver-driven transports: what they need of the other axes.

use super::{ClassifySpec, FrameClass, ScheduleSpec, SchemeSpec};
use crate::reader::Section;
use dataplane::config::{Arbiter, FlowOrder, PathChoice};
use dataplane::transport::{Declaration, Needs, TRANSPORTS};

/// The transports with a property, by what `name` takes of them, in a sentence.
fn listed(has: impl Fn(&Declaration) -> bool, name: impl Fn(&Declaration) -> String) -> String {
    let names: Vec<String> = TRANSPORTS.iter().filter(|t| has(t)).map(name).collect();
    match &names[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => names.concat(),
    }
}

/// Refuses what cannot work with, or without, a receiver-driven transport.
pub(super) fn receivers(s: &Section<'_>, x: &SchemeSpec) {
    let transport = x.control.transport();
    let needs = transport.map_or(Needs::NOTHING, |transport| transport.needs());
    let priority = (
        x.classify == ClassifySpec::Priority,
        x.schedule == ScheduleSpec::Strict,
    );
    if priority != (needs.levels, needs.levels) {
        let title = listed(|t| t.needs.levels, |t| t.title.to_owned());
        let word = listed(|t| t.needs.levels, |t| format!("\"{}\"", t.name));
        s.complain_of(
            &["classify", "schedule", "control"],
            format!(
                "{title}'s packets name queues by priority, which are served strictly in order, and no others do"
            ),
            format!(
                "set classify = \"priority\", schedule = \"strict\" and control = {word}, or none of them"
            ),
        );
    }
    let Some(transport) = transport else {
        if x.recovery.is_own() {
            let names = listed(|_| true, |t| t.name.to_owned());
            s.complain_of(
                &["recovery", "control"],
                format!("recovery = \"own\" is that of {names}, and `control` is another"),
                "set recovery = \"go-back-n\"",
            );
        }
        return;
    };
    whole(s, x, transport.name());
    trims(s, x, transport.name(), &needs);
    axes(s, x, transport.name(), &needs);
}

/// Refuses options that no receiver-driven transport supports.
fn whole(s: &Section<'_>, x: &SchemeSpec, name: &str) {
    let refuse = |wrong: bool, keys: &[&str], message: String, hint: &str| {
        if wrong {
            s.complain_of(keys, message, hint);
        }
    };
    refuse(
        !x.recovery.is_own(),
        &["recovery", "control"],
        format!("{name} repeats what is lost in its own way"),
        "set recovery = \"own\"",
    );
    if let Some(why) = x.declarations().find_map(|of| of.against_transport(name)) {
        refuse(
            true,
            &["backpressure", "control"],
            why,
            "set backpressure = \"none\"",
        );
    }
    refuse(
        x.host.arbiter == Arbiter::Scan,
        &["nic", "control"],
        format!("nic.arbiter = \"scan\" has senders of its own, and so has {name}"),
        "set nic.arbiter = \"ring\"",
    );
    refuse(
        x.path == PathChoice::Tuple,
        &["path", "control"],
        format!("path = \"tuple\" is that of another simulator, which has no {name}"),
        "set path to \"flow\", \"packet\" or \"symmetric\"",
    );
    refuse(
        x.nic_order != FlowOrder::Ring,
        &["nic", "control"],
        format!("{name} has an order of its own among the flows of a NIC"),
        "set nic.schedule = \"round-robin\"",
    );
    refuse(
        x.ack_every != 1,
        &["ack", "control"],
        format!("{name} says itself what is acknowledged"),
        "set ack.every = 1",
    );
}

/// Refuses trimming with link credits. These belong to a class; a trimmed packet leaves in another
/// class, so its credits would not be returned.
// CBFC-35
fn trims(s: &Section<'_>, x: &SchemeSpec, name: &str, needs: &Needs) {
    let mut schemes = x.link.declarations();
    if needs.trims && schemes.any(|scheme| scheme.is_lossless()) {
        s.complain_of(
            &["backpressure", "link", "control"],
            format!("{name}'s switches cut packets, and with credits no buffer overflows"),
            "set backpressure = \"none\" and link = \"none\"",
        );
    }
}

/// Checks the needs of a transport on the other axes.
fn axes(s: &Section<'_>, x: &SchemeSpec, name: &str, needs: &Needs) {
    // XP-01, NDP-02, HOM-05
    let (class, why, hint) = match needs.owns_control_class {
        Some(why) => (FrameClass::Data, why, "set ack.class = \"data\""),
        None => (
            FrameClass::Control,
            "the answers of receivers must not wait behind data",
            "set ack.class = \"control\"",
        ),
    };
    if x.ack_class != class {
        s.complain_of(&["ack", "control"], format!("{name}: {why}"), hint);
    }
    // XP-05
    if let Some(why) = needs.symmetric_paths
        && x.path != PathChoice::Symmetric
    {
        s.complain_of(&["path", "control"], why, "set path = \"symmetric\"");
    }
    if let Some(why) = needs.one_queue
        && x.classify != ClassifySpec::Fifo
    {
        s.complain_of(
            &["classify", "control"],
            why,
            "set classify = \"fifo\" and schedule = \"fifo\"",
        );
    }
}
