//! Sets of answers that cannot work together, or hardly.

use super::receivers::receivers;
use super::{ClassifySpec, ScheduleSpec, SchemeSpec};
use crate::reader::Section;
use dataplane::config::{Accounting, Admission, Arbiter, PathChoice, Sending};
use dataplane::declaration::{Beside, Finding, Queues};
use dataplane::hop::Scheme;
use dataplane::ns3;
use dataplane::param::Conflict;
use dataplane::reliability::Surroundings;
use dataplane::switch::DATA_CLASS;

/// Refuses combinations that the modes of the ns-3 simulator do not support.
// NS3-60
fn simulator(s: &Section<'_>, x: &SchemeSpec) {
    let scan = x.host.arbiter == Arbiter::Scan;
    let known = matches!(&x.control, Sending::Control(control) if ns3::has(control));
    let integer = x.whole_rates.unwrap_or(known && scan);
    if integer != scan || scan && !known {
        s.complain_of(
            &["nic", "control"],
            "nic.arbiter = \"scan\" works with whole rates, and only it does",
            "set both: nic.arbiter = \"scan\" and arithmetic = \"integer\" of the control, or neither",
        );
    }
    if x.in_order && !x.cut_times {
        s.complain_of(
            &["ties", "clock"],
            "events stand in the order of scheduling only where times are whole nanoseconds",
            "set clock = \"ns\", or ties = \"phases\"",
        );
    }
    if scan && x.recovery.properties().selective && !x.recovery.is_own() {
        s.complain_of(
            &["nic", "recovery"],
            "nic.arbiter = \"scan\" goes back to the first missing packet, or loses none",
            "set nic.arbiter = \"ring\", or recovery = \"go-back-n\"",
        );
    }
    if scan && x.cnp.is_some() {
        s.complain_of(
            &["nic", "control"],
            "nic.arbiter = \"scan\" takes a mark on an ACK for a CNP, and here CNPs are frames of their own: it would \
             ignore them",
            "set cnp = \"on-ack\" in the table of the control, or nic.arbiter = \"ring\"",
        );
    }
    if scan {
        for conflict in x.control.controls().iter().filter_map(ns3::conflict) {
            s.complain_of(conflict.keys, conflict.message, conflict.hint);
        }
    }
    let by_hash = !matches!(x.classify, ClassifySpec::Fifo | ClassifySpec::PerFlow);
    if x.path == PathChoice::Tuple && by_hash {
        s.complain_of(
            &["path", "classify"],
            "path = \"tuple\" puts ports in the place of the hash that `classify` goes by",
            "set path = \"flow\", or classify = \"fifo\"",
        );
    }
}

/// Replies that hosts send though their class is paused: as long as a pause lasts they arrive, so
/// that no headroom is large enough for certain.
// SW-55
fn unpaused_replies(s: &Section<'_>, x: &SchemeSpec) {
    let Admission::Pfc(pfc) = x.admission else {
        return;
    };
    let acks = x.ack_class.number() >= DATA_CLASS;
    let cnps = x
        .cnp
        .is_some_and(|(_, _, class)| class.number() >= DATA_CLASS);
    if x.host.ack_pausable || pfc.accounting != Accounting::Pool || !(acks || cnps) {
        return;
    }
    let hint = "set ack.pausable = true, or send replies in a class of their own (ack.class = \"control\"); \
                profile = \"ns3\" does as the simulator of HPCC, which promises nothing";
    match pfc.headroom {
        None => s.complain_of(
            &["ack", "admission"],
            "`admission` = \"pfc\" promises no loss, but with ack.pausable = false hosts send replies in a class \
             that is paused, for as long as the pause lasts: they can overrun the headroom",
            hint,
        ),
        Some(_) => s.warn_of(
            &["ack", "pfc"],
            "with ack.pausable = false hosts send replies in a class that is paused, for as long as the pause \
             lasts: no headroom is large enough for certain",
            hint,
        ),
    }
}

/// A guard ends pauses of PFC.
// PFCWD-09
fn guards(s: &Section<'_>, x: &SchemeSpec) {
    if x.guard.is_some() && !matches!(x.admission, Admission::Pfc(_)) {
        s.complain_of(
            &["guard", "admission"],
            "a guard needs PFC, and with this `admission` switches send no PFC pauses",
            "set admission = \"pfc\", or guard = \"none\"",
        );
    }
}

/// Notices need senders that read them, and such senders need notices.
// BOLT-07, BOLT-22
fn notices(s: &Section<'_>, x: &SchemeSpec) {
    let keys = &["notices", "control"];
    let mut readers = x.control.controls().iter().filter(|c| c.needs().notices);
    let reader = readers.next().map(|control| control.title());
    if let Some(title) = reader
        && x.ack_every > 1
    {
        s.warn_of(
            &["ack"],
            format!(
                "{title} reads the marks of each packet, and only every n-th packet gets an ACK"
            ),
            "set ack.every = 1",
        );
    }
    if x.notifier.is_none() {
        if let Some(title) = reader {
            let message = format!("{title} reacts to notices, and switches send none");
            s.complain_of(keys, message, "set notices = \"bolt\"");
        }
        return;
    }
    if let Some(transport) = x.control.transport() {
        let message = format!(
            "{} controls its senders from the receiver, so they ignore notices of switches",
            transport.name()
        );
        s.complain_of(keys, message, "set notices = \"none\"");
    } else if reader.is_none() {
        let message = "switches send notices, but `control` does not read them";
        s.warn_of(keys, message, "set notices = \"none\"");
    }
}

/// Checks that ECN, INT and ACKs meet the needs of the senders' congestion controls.
fn signals(s: &Section<'_>, x: &SchemeSpec) {
    let needs = x.control.needs();
    if needs.ecn && x.ecn.is_none() {
        s.complain_of(
            &["control", "signal"],
            "this control reacts to ECN marks, and `signal` sets none",
            "set signal = \"ecn\"",
        );
    }
    if !needs.ecn && x.ecn.is_some() {
        s.warn_of(
            &["signal", "control"],
            "ECN marks are set, but `control` does not look at them",
            "leave ECN out of `signal`",
        );
    }
    let mut readers = x.control.controls().iter().filter(|c| c.needs().int);
    let Some(reader) = readers.next() else {
        if x.int.is_some() {
            s.warn_of(
                &["signal", "control"],
                "INT takes its bytes on every packet, but `control` does not read it",
                "leave INT out of `signal`",
            );
        }
        return;
    };
    let title = reader.title();
    if x.int.is_none() {
        s.complain_of(
            &["control", "signal"],
            format!("{title} reads INT, and `signal` writes none"),
            "set signal = \"int\"",
        );
    }
    if readers.any(|other| other.counter() != reader.counter()) {
        s.complain_of(
            &["control"],
            "the controls of two classes read telemetry of different bytes, and switches write one",
            "set the same `rate` for both",
        );
    }
    if let Some(int) = &x.int {
        let controls = x.control.controls().iter();
        for conflict in controls.filter_map(|control| control.telemetry_conflict(int.format)) {
            s.complain_of(conflict.keys, conflict.message, conflict.hint);
        }
    }
    if x.ack_every > 1 {
        s.warn_of(
            &["ack"],
            format!("{title} reacts per ACK, and only every n-th packet gets one"),
            "set ack.every = 1",
        );
    }
}

/// Refuses combinations that cannot work, and warns about others. Each axis declares its
/// requirements.
pub(super) fn combinations(s: &Section<'_>, x: &SchemeSpec) {
    if x.schedule == ScheduleSpec::Cyclic && x.classify == ClassifySpec::PerFlow {
        s.complain_of(
            &["schedule", "classify"],
            "\"cyclic\" serves queues by their numbers, and those of `classify` = \"per-flow\" have none",
            "set schedule = \"round-robin\", or classify to \"dynamic\" or \"hash\"",
        );
    }
    simulator(s, x);
    receivers(s, x);
    policies(s, x);
    hop(s, x);
    if let ClassifySpec::Dynamic { assign, .. } = x.classify
        && assign.incast_queue
        && x.queues < 3
    {
        s.complain_of(
            &["dynamic", "queues", "classify"],
            "`dynamic.incast_queue` sets a queue apart, and there is one queue for data in all",
            "raise queues to 3 or more",
        );
    }
    signals(s, x);
    notices(s, x);
    guards(s, x);
    unpaused_replies(s, x);
    let drops = matches!(
        x.admission,
        Admission::SharedPool | Admission::EgressDynamic { .. } | Admission::PerPort { .. }
    );
    let lossy = drops && !x.declarations().any(|scheme| scheme.is_lossless());
    if !x.recovery.properties().repairs && lossy {
        s.complain_of(
            &["recovery", "admission"],
            "packets can be dropped under this `admission`, and nothing would send them again",
            "set recovery = \"go-back-n\", \"irn\" or \"ideal\", or admission to \"pfc\" or \"unlimited\"",
        );
    }
    if !x.recovery.properties().repairs && x.guard.is_some() {
        s.complain_of(
            &["guard", "recovery"],
            "a guard can drop packets, and nothing would send them again",
            "set recovery = \"go-back-n\" or \"irn\", or guard = \"none\"",
        );
    }
    let around = Surroundings {
        sprays: x.path.reorders(),
        drops: lossy || x.guard.is_some(),
        pfc: matches!(x.admission, Admission::Pfc(_)),
    };
    if let Some(warning) = x.recovery.warning(around) {
        s.warn_of(warning.keys, warning.message, warning.hint);
    }
    if matches!(x.admission, Admission::Pfc(_)) && !x.obeys.contains(Scheme::Pfc.number()) {
        s.complain_of(
            &["nic", "admission"],
            "`admission` = \"pfc\" promises no loss, but NICs that do not obey PFC overrun their switch",
            "put \"pfc\" into nic.obeys, or choose a lossy admission",
        );
    }
    let frame = u32::from(x.max_frame());
    if let ScheduleSpec::Drr(Some(quantum)) = x.schedule
        && quantum < frame
    {
        let message = format!("a DRR quantum of {quantum} B is below the largest frame, {frame} B");
        s.warn_of(
            &["drr"],
            message,
            "a queue then waits several rounds for one packet",
        );
    }
}

/// Checks the needs of a path policy of senders.
// SPR-07
fn policies(s: &Section<'_>, x: &SchemeSpec) {
    let Some(policy) = x.spray else {
        return;
    };
    let name = policy.name();
    let transport = x.control.transport();
    if let Some(transport) = transport
        && !(policy.has_labels() && transport.needs().chooses_paths)
    {
        let message = format!(
            "path = \"{name}\" is for the congestion controls of senders, and {} sends packets by itself",
            transport.name()
        );
        s.complain_of(
            &["path", "control"],
            message,
            "set path = \"packet\" to spray by chance",
        );
    }
    if transport.is_none() && !x.recovery.properties().any_order {
        let message = format!(
            "path = \"{name}\" makes packets overtake each other, and go-back-N takes each overtaken one for a loss"
        );
        let hint = "set recovery = \"irn\" or \"ideal\", or \"none\" on a lossless network";
        s.complain_of(&["path", "recovery"], message, hint);
    }
    if x.host.arbiter == Arbiter::Scan {
        s.complain_of(
            &["path", "nic"],
            format!(
                "nic.arbiter = \"scan\" sends a flow on one path, and path = \"{name}\" on several"
            ),
            "set nic.arbiter = \"ring\", or path = \"flow\"",
        );
    }
    let by_hash = !matches!(x.classify, ClassifySpec::Fifo | ClassifySpec::PerFlow);
    if policy.has_labels() && by_hash && transport.is_none() {
        s.complain_of(
            &["path", "classify"],
            format!(
                "path = \"{name}\" puts labels in the place of the hash that `classify` goes by"
            ),
            "set path = \"oblivious\", or classify = \"fifo\"",
        );
    }
}

/// Reports the findings of the hop scheme about the other axes.
fn hop(s: &Section<'_>, x: &SchemeSpec) {
    let number = x.hop.number();
    let beside = Beside {
        queues: match x.classify {
            ClassifySpec::Fifo => Queues::One,
            ClassifySpec::Hash => Queues::Hashed,
            ClassifySpec::PerFlow => Queues::PerFlow,
            ClassifySpec::Dynamic { .. } | ClassifySpec::Priority => Queues::Numbered,
        },
        acks_with_data: x.ack_class.number() >= DATA_CLASS,
        pfc: matches!(x.admission, Admission::Pfc(_)),
        is_obeyed: number.is_none_or(|number| x.obeys.contains(number)),
        unlimited_senders: !x.control.needs().limits,
        scans: x.host.arbiter == Arbiter::Scan,
        announced_drops: x.recovery.notices().is_some(),
        late_pauses: matches!(x.admission, Admission::Pfc(pfc) if pfc.response_ps > 0),
    };
    let mut say = |finding| match finding {
        Finding::Wrong(Conflict {
            keys,
            message,
            hint,
            ..
        }) => s.complain_of(keys, message, hint),
        Finding::Doubtful(Conflict {
            keys,
            message,
            hint,
            ..
        }) => s.warn_of(keys, message, hint),
    };
    for declared in x.declarations() {
        declared.beside(&beside, &mut say);
    }
    let pfc = match &x.admission {
        Admission::Pfc(pfc) => Some(pfc),
        _ => None,
    };
    let victims = x.victims.and_then(|victims| victims.beside(pfc));
    victims.into_iter().for_each(say);
}
