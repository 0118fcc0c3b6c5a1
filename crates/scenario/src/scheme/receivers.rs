//! Receiver-driven transports: their parameters, and what they need of the other axes.

use super::values::{SECOND, bytes, real, word_or};
use super::{ClassifySpec, FrameClass, MAX_BUFFER_BYTES, ScheduleSpec, SchemeSpec};
use crate::document::Node;
use crate::reader::{Read, Section, array, boolean, count, quantity, refuse};
use crate::units::{SIZE, TIME};
use dataplane::config::{
    Arbiter, CreditQueue, ExpressPassConfig, HomaConfig, MAX_LEVELS, NdpConfig, PathChoice,
    Recovery, Sending, TransportConfig, TrimConfig,
};
use dataplane::units::Time;

/// A time after which something is sent again.
fn timeout(t: &Section<'_>) -> Option<Time> {
    t.required("timeout", "\"10ms\"", |n| {
        quantity(n, &TIME, 1_000_000, SECOND)
    })
}

/// "bdp", or a size.
fn window(t: &Section<'_>) -> Option<Option<u64>> {
    t.required("window", "\"bdp\"", |n| {
        word_or(n, "bdp", None, |n| {
            quantity(n, &SIZE, 1, MAX_BUFFER_BYTES).map(Some)
        })
    })
}

/// Frames of 0 bytes are full ones; what that is is known when the scheme is whole.
pub(super) fn read_expresspass(t: &Section<'_>) -> Option<ExpressPassConfig> {
    let alpha = real(t, "alpha", 0.001, 1.0);
    let w_max = real(t, "w_max", 0.001, 1.0);
    let w_min = real(t, "w_min", 0.0001, 1.0);
    let w_init = real(t, "w_init", 0.0001, 1.0);
    let target_loss = real(t, "target_loss", 0.0, 0.9);
    let jitter = real(t, "jitter", 0.0, 0.9);
    let credit = t.required("credit", "\"84B\"", |n| bytes(n, 1, 1_518));
    let frame = t.required("frame", "\"full\"", |n| {
        word_or(n, "full", 0, |n| bytes(n, 64, 17_000))
    });
    let limit = t.required("buffer", "16", |n| count(n, 1, 10_000));
    let burst = t.required("burst", "2", |n| count(n, 1, 1_000));
    let timeout = timeout(t);
    let config = ExpressPassConfig {
        alpha: alpha?,
        w_init: w_init?,
        w_max: w_max?,
        w_min: w_min?,
        target_loss: target_loss?,
        jitter: jitter?,
        queue: CreditQueue {
            credit_bytes: credit?,
            frame_bytes: frame?,
            limit: limit? as u16,
            burst: burst? as u16,
        },
        timeout_ps: timeout?,
    };
    if let Err(message) = config.check() {
        t.complain_of(
            &["w_init", "w_min", "w_max"],
            message,
            "w_min <= w_init <= w_max",
        );
    }
    Some(config)
}

/// A control queue of 0 bytes is one as large as the data's.
pub(super) fn read_ndp(t: &Section<'_>) -> Option<NdpConfig> {
    let packets = t.required("queue", "8", |n| count(n, 2, 10_000));
    let header = t.required("header", "\"64B\"", |n| bytes(n, 1, 1_000));
    let control = t.required("control_queue", "\"data\"", |n| {
        word_or(n, "data", 0, |n| quantity(n, &SIZE, 64, MAX_BUFFER_BYTES))
    });
    let weight = t.required("weight", "10", |n| count(n, 1, 60_000));
    let either = t.required("trim_either", "true", boolean);
    let returns = t.required("return_to_sender", "true", boolean);
    let window = window(t);
    let timeout = timeout(t);
    Some(NdpConfig {
        window: window?,
        timeout_ps: timeout?,
        trim: TrimConfig {
            packets: packets? as u16,
            header_bytes: header?,
            control_bytes: control?,
            weight: weight? as u16,
            either: either?,
            returns: returns?,
        },
    })
}

/// 0 stands for what the traffic decides ([`crate::messages`]).
pub(super) fn read_homa(t: &Section<'_>) -> Option<HomaConfig> {
    let most = MAX_LEVELS as u64;
    let levels = t.required("levels", "32", |n| count(n, 2, most));
    let below = levels.unwrap_or(most) - 1;
    let unscheduled = t.required("unscheduled", "\"auto\"", |n| {
        word_or(n, "auto", 0, |n| count(n, 1, below))
    });
    let cutoffs = t.required("cutoffs", "\"auto\"", |n| {
        word_or(n, "auto", None, |n| sizes(n).map(Some))
    });
    let overcommitment = t.required("overcommitment", "\"auto\"", |n| {
        word_or(n, "auto", 0, |n| count(n, 1, most))
    });
    let window = window(t);
    let timeout = timeout(t);
    let (mut unscheduled, levels) = (unscheduled?, levels?);
    let mut filled = [0; MAX_LEVELS];
    if let Some(sizes) = cutoffs? {
        let needed = sizes.len() as u64 + 1;
        if unscheduled != 0 && unscheduled != needed || needed > levels - 1 {
            t.complain_of(
                &["cutoffs", "unscheduled"],
                format!(
                    "{} sizes part messages into {needed} unscheduled levels",
                    sizes.len()
                ),
                "give one size less than there are unscheduled levels, and leave a level for scheduled packets",
            );
            return None;
        }
        unscheduled = needed;
        filled = [u32::MAX; MAX_LEVELS];
        filled[..sizes.len()].copy_from_slice(&sizes);
    }
    let granted = overcommitment?;
    if granted > levels - unscheduled.max(1) {
        t.complain_of(
            &["overcommitment", "levels"],
            format!("overcommitment {granted} is more than there are levels for scheduled packets"),
            "each message that is granted has a level of its own; raise levels, or take \"auto\"",
        );
    }
    Some(HomaConfig {
        levels: levels as u8,
        unscheduled: unscheduled as u8,
        cutoffs: filled,
        overcommitment: granted as u8,
        window: window?,
        timeout_ps: timeout?,
    })
}

/// Ascending sizes.
fn sizes(node: &Node) -> Read<Vec<u32>> {
    let items = array(node, "a list of sizes such as [\"1KB\", \"10KB\"]")?;
    let mut sizes: Vec<u32> = Vec::new();
    for item in items {
        let size = quantity(item, &SIZE, 1, u32::MAX.into())? as u32;
        if sizes.last().is_some_and(|&last| last >= size) {
            return refuse(
                "the sizes must grow",
                "each is the largest message of its level",
            );
        }
        sizes.push(size);
    }
    Ok(sizes)
}

/// Refuses what cannot work with, or without, a receiver-driven transport.
pub(super) fn receivers(s: &Section<'_>, x: &SchemeSpec) {
    let name = match x.control {
        Sending::Transport(TransportConfig::ExpressPass(_)) => Some("expresspass"),
        Sending::Transport(TransportConfig::Ndp(_)) => Some("ndp"),
        Sending::Transport(TransportConfig::Homa(_)) => Some("homa"),
        _ => None,
    };
    let homa = matches!(x.control, Sending::Transport(TransportConfig::Homa(_)));
    let priority = (
        x.classify == ClassifySpec::Priority,
        x.schedule == ScheduleSpec::Strict,
    );
    if priority != (homa, homa) {
        s.complain_of(
            &["classify", "schedule", "control"],
            "Homa's packets ask for queues by priority, which are served strictly in order, and no others do",
            "set classify = \"priority\", schedule = \"strict\" and control = \"homa\", or none of them",
        );
    }
    if x.path == PathChoice::Label
        && !matches!(x.control, Sending::Transport(TransportConfig::Ndp(_)))
    {
        s.complain_of(
            &["path", "control"],
            "path = \"permutation\" leaves the path to the sender, and only NDP's senders choose one",
            "set path = \"packet\" to spray by chance",
        );
    }
    let Some(name) = name else {
        if x.recovery == Recovery::Own {
            s.complain_of(
                &["recovery", "control"],
                "recovery = \"own\" is that of expresspass, ndp and homa, and `control` is another",
                "set recovery = \"go-back-n\"",
            );
        }
        return;
    };
    whole(s, x, name);
    needs(s, x, name);
}

/// What none of them can be combined with.
fn whole(s: &Section<'_>, x: &SchemeSpec, name: &str) {
    let refuse = |wrong: bool, keys: &[&str], message: String, hint: &str| {
        if wrong {
            s.complain_of(keys, message, hint);
        }
    };
    refuse(
        x.recovery != Recovery::Own,
        &["recovery", "control"],
        format!("{name} repeats what is lost in its own way"),
        "set recovery = \"own\"",
    );
    if let Some(why) = x.hop.against_transport(name) {
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
        x.nic_shortest_first,
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

/// What each of them asks of the others.
fn needs(s: &Section<'_>, x: &SchemeSpec, name: &str) {
    let credits = matches!(
        x.control,
        Sending::Transport(TransportConfig::ExpressPass(_))
    );
    // XP-01, NDP-02, HOM-05
    let class = if credits {
        FrameClass::Data
    } else {
        FrameClass::Control
    };
    if x.ack_class != class {
        let (message, hint) = if credits {
            (
                "the control class belongs to ExpressPass' credits, which are shaped and dropped",
                "set ack.class = \"data\"",
            )
        } else {
            (
                "the answers of receivers must not wait behind data",
                "set ack.class = \"control\"",
            )
        };
        s.complain_of(&["ack", "control"], format!("{name}: {message}"), hint);
    }
    // XP-05
    if credits && x.path != PathChoice::Symmetric {
        s.complain_of(
            &["path", "control"],
            "ExpressPass' credits keep room for data on the links that they cross, so data must take the same",
            "set path = \"symmetric\"",
        );
    }
    if matches!(x.control, Sending::Transport(TransportConfig::Ndp(_)))
        && x.classify != ClassifySpec::Fifo
    {
        s.complain_of(
            &["classify", "control"],
            "NDP trims what finds the one data queue of its port full",
            "set classify = \"fifo\" and schedule = \"fifo\"",
        );
    }
}
