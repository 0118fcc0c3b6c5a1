//! `[scheme.floodgate]` and `[scheme.pfc-tag]`: hop control that names destinations.

use super::values::{SECOND, bytes, parameters, time, word_or};
use super::{ClassifySpec, MAX_BUFFER_BYTES, SchemeSpec};
use crate::document::{Node, Value};
use crate::reader::{Read, Section, boolean, choice, count, number, quantity};
use crate::units::{SIZE, TIME};
use dataplane::config::{
    Aggregation, Alpha, Amount, CreditAt, CreditConfig, FloodgateConfig, HoldBy, HostPauseBy,
    PauseThresholds, Release, Voqs, WindowConfig, WindowUnit,
};
use dataplane::units::Time;

/// The answer to the axis of hop control besides PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backpressure {
    None,
    Bfc,
    Floodgate,
    PfcTag,
}

/// Reads the table of the word that was chosen.
pub(super) fn read_floodgate(
    s: &Section<'_>,
    word: Option<Backpressure>,
) -> Option<Option<FloodgateConfig>> {
    let windows = word == Some(Backpressure::Floodgate);
    let why = "`backpressure` is not \"floodgate\"";
    let by_windows = parameters(s, "floodgate", windows, why, |t| {
        let by = read_windows(t);
        let host_pause = read_host_pause(t);
        let (host_pause, pause_by) = (host_pause.map(|(at, _)| at), host_pause.map(|(_, by)| by));
        read_holds(t, by.map(HoldBy::Windows), host_pause).map(|config| FloodgateConfig {
            host_pause_by: pause_by.unwrap_or(HostPauseBy::Held),
            ..config
        })
    });
    let tags = word == Some(Backpressure::PfcTag);
    let why = "`backpressure` is not \"pfc-tag\"";
    let by_tags = parameters(s, "pfc-tag", tags, why, |t| {
        let thresholds = read_thresholds(t, "threshold", "resume_below");
        let hosts = t.required("hosts", "false", boolean);
        let host_pause = hosts.zip(thresholds).map(|(on, t)| on.then_some(t));
        read_holds(t, thresholds.map(HoldBy::Tags), host_pause)
    });
    match word? {
        Backpressure::Floodgate => by_windows.map(Some),
        Backpressure::PfcTag => by_tags.map(Some),
        Backpressure::None | Backpressure::Bfc => Some(None),
    }
}

/// A number of hop BDPs, or a size.
fn amount(node: &Node) -> Read<Amount> {
    let result = match &node.value {
        Value::String(_) => quantity(node, &SIZE, 1, MAX_BUFFER_BYTES).map(Amount::Bytes),
        _ => number(node, 0.01, 10_000.0).map(|n| Amount::HopBdps(Alpha::new(n))),
    };
    result.map_err(|mut refusal| {
        refusal.hint = Some("a number of hop BDPs such as 1.5, or a size such as \"90KB\"".into());
        refusal
    })
}

/// The same, or "off".
fn some_amount(node: &Node) -> Read<Option<Amount>> {
    word_or(node, "off", None, |n| amount(n).map(Some))
}

/// A time, or "off".
fn period(node: &Node) -> Read<Option<Time>> {
    word_or(node, "off", None, |n| {
        quantity(n, &TIME, 1_000, SECOND).map(Some)
    })
}

fn read_windows(t: &Section<'_>) -> Option<WindowConfig> {
    let units = [
        ("packets", WindowUnit::Packets),
        ("bytes", WindowUnit::Bytes),
    ];
    let unit = t.required("unit", "\"packets\"", |n| choice(n, &units));
    let initial = t.required("window", "1.0", amount);
    let credit = read_credit(t);
    let numbers = read_loss(t);
    let entries = t.required("table", "\"exact\"", |n| {
        word_or(n, "exact", None, |n| {
            count(n, 1, 1 << 24).map(|n| Some(n as u32))
        })
    });
    let clear = t.required("clear", "\"off\"", period);
    Some(WindowConfig {
        unit: unit?,
        initial: initial?,
        entries: entries?,
        clear_ps: clear?,
        credit: credit?,
        numbers_timeout_ps: numbers?,
    })
}

fn read_credit(t: &Section<'_>) -> Option<CreditConfig> {
    let words = [("timer", true), ("per-packet", false)];
    let timer = t.required("credit", "\"timer\"", |n| choice(n, &words));
    let aggregation = if timer == Some(false) {
        let why = "`credit` = \"per-packet\" sends each credit at once";
        for key in ["interval", "byte_counter", "generator"] {
            t.refuse_useless(key, why);
        }
        Some(None)
    } else {
        let interval = time(t, "interval", 10_000);
        let counter = t.required("byte_counter", "\"off\"", |n| {
            word_or(n, "off", None, |n| {
                quantity(n, &SIZE, 1, MAX_BUFFER_BYTES).map(Some)
            })
        });
        let generator = t.required("generator", "\"off\"", period);
        interval
            .zip(counter)
            .zip(generator)
            .map(|((interval_ps, byte_counter), generator_ps)| {
                Some(Aggregation {
                    interval_ps,
                    byte_counter,
                    generator_ps,
                })
            })
    };
    let places = [
        ("departure", CreditAt::Departure),
        ("forwarding", CreditAt::Forwarding),
        ("voq", CreditAt::Voq),
    ];
    let at = t.required("credit_at", "\"departure\"", |n| choice(n, &places));
    let delay = t.required("delay_credit", "10.0", some_amount);
    let frame = t.required("credit_frame", "\"22B\"", |n| bytes(n, 1, 100));
    let entry = t.required("credit_entry", "\"22B\"", |n| bytes(n, 0, 100));
    timer?;
    Some(CreditConfig {
        aggregation: aggregation?,
        at: at?,
        delay: delay?,
        frame_bytes: frame?,
        entry_bytes: entry?,
    })
}

fn read_loss(t: &Section<'_>) -> Option<Option<Time>> {
    let words = [("numbers", true), ("off", false)];
    let numbers = t.required("loss", "\"numbers\"", |n| choice(n, &words));
    if numbers == Some(false) {
        t.refuse_useless("timeout", "`loss` = \"off\" asks for no credits");
        return Some(None);
    }
    let timeout = time(t, "timeout", 1_000_000);
    numbers?;
    timeout.map(Some)
}

/// When hosts are paused, and by what.
fn read_host_pause(t: &Section<'_>) -> Option<(Option<PauseThresholds>, HostPauseBy)> {
    let off = t.required("dst_pause", "\"off\"", some_amount);
    if off == Some(None) {
        for key in ["dst_resume_below", "dst_pause_by"] {
            t.refuse_useless(key, "`dst_pause` is off");
        }
        return Some((None, HostPauseBy::Held));
    }
    let below = t.required("dst_resume_below", "\"0B\"", |n| {
        quantity(n, &SIZE, 0, MAX_BUFFER_BYTES)
    });
    let words = [
        ("held", HostPauseBy::Held),
        ("ingress", HostPauseBy::Ingress),
    ];
    let by = t.required("dst_pause_by", "\"held\"", |n| choice(n, &words));
    let thresholds = PauseThresholds {
        off: off??,
        on_below_bytes: below?,
    };
    Some((Some(thresholds), by?))
}

fn read_thresholds(
    t: &Section<'_>,
    off: &'static str,
    below: &'static str,
) -> Option<PauseThresholds> {
    let off = t.required(off, "1.0", amount);
    let below = t.required(below, "\"0B\"", |n| quantity(n, &SIZE, 0, MAX_BUFFER_BYTES));
    Some(PauseThresholds {
        off: off?,
        on_below_bytes: below?,
    })
}

/// What both have: VOQs, what becomes of released packets, what signals see.
fn read_holds(
    t: &Section<'_>,
    by: Option<HoldBy>,
    host_pause: Option<Option<PauseThresholds>>,
) -> Option<FloodgateConfig> {
    let pool = t.required("voqs", "100", |n| {
        word_or(n, "per-destination", None, |n| {
            count(n, 1, 16_384).map(|n| Some(n as u16))
        })
    });
    let voqs = match pool {
        Some(None) => {
            t.refuse_useless("groups", "every destination has a VOQ of its own");
            Some(Voqs::PerDestination)
        }
        Some(Some(count)) => {
            let groups = t.required("groups", "true", boolean);
            if groups == Some(true) && count < 2 {
                t.complain_of(
                    &["voqs", "groups"],
                    "two groups of VOQs need two VOQs",
                    "raise voqs, or set groups = false",
                );
            }
            groups.map(|groups| Voqs::Pool { count, groups })
        }
        None => None,
    };
    let releases = [("shared", Release::Shared), ("behind", Release::Behind)];
    let release = t.required("release", "\"shared\"", |n| choice(n, &releases));
    let sights = [("egress+held", true), ("egress", false)];
    let ecn = t.required("ecn", "\"egress+held\"", |n| choice(n, &sights));
    let sights = [("held", true), ("egress", false)];
    let int = t.required("int", "\"held\"", |n| choice(n, &sights));
    let vup = t.required("vup", "\"off\"", period);
    let frame = t.required("frame", "\"64B\"", |n| bytes(n, 1, 1_518));
    Some(FloodgateConfig {
        by: by?,
        voqs: voqs?,
        release: release?,
        ecn_sees_held: ecn?,
        int_sees_held: int?,
        host_pause: host_pause?,
        host_pause_by: HostPauseBy::Held,
        vup_ps: vup?,
        frame_bytes: frame?,
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
