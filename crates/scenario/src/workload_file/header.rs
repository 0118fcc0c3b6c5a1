//! The header of a workload file: the properties of all ranks, as JSON in the file's metadata.

use super::columns::MOST_BYTES;
use crate::keys::MAX_HOSTS;
use crate::problem::nearest;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use traffic::collectives::Algorithm;
use traffic::operations::{
    CollectiveKind, Composed, Group, Instances, Matching, Options, PerByte, QueuePairs, ReadyOrder,
    ReceiveEnd, SendEnd, Trigger, TriggerKind, Workload,
};

/// Key of the header in the file's metadata.
pub(super) const KEY: &str = "backwater.workload";

const VERSION: u64 = 1;

/// The properties of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Ranks, groups, options, triggers and collectives.
    pub workload: Workload,
    /// Facts about the origin of the file.
    pub source: Map<String, Value>,
}

impl Header {
    /// Parses the JSON of the header.
    ///
    /// # Errors
    /// The header is invalid. The error has the key and the problem.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("the metadata \"{KEY}\" is no JSON: {error}"))?;
        let keys = [
            "version",
            "ranks",
            "groups",
            "options",
            "triggers",
            "collectives",
            "source",
        ];
        let all = object("the metadata", &value)?;
        known("the metadata", all, &keys)?;
        let version = all.get("version").map_or(Ok(0), |v| whole("version", v))?;
        if version != VERSION {
            return Err(format!(
                "its format has version {version}; this program reads version {VERSION}"
            ));
        }
        let ranks = whole("ranks", all.get("ranks").unwrap_or(&Value::Null))?;
        if !(1..=MAX_HOSTS).contains(&ranks) {
            return Err(format!(
                "\"ranks\" must be a number of 1 to {MAX_HOSTS}, not {ranks}"
            ));
        }
        let ranks = ranks as u32;
        let mut workload = Workload {
            ranks,
            ..Workload::default()
        };
        for (name, members) in part(all, "groups")? {
            workload.groups.push(group(name, members, ranks)?);
        }
        for (key, value) in part(all, "options")? {
            set_option(&mut workload.options, key, value)?;
        }
        let options = &workload.options;
        if options.rendezvous_above_bytes.is_some() && options.matching != Matching::TagAndSource {
            return Err("rendezvous_above_bytes needs matching \"tag-and-source\"".to_owned());
        }
        if options.latency_across_ps != 0 && options.server_ranks == 0 {
            return Err(
                "latency_across_ps needs server_ranks: all ranks are in one server".to_owned(),
            );
        }
        for value in list(all, "triggers")? {
            workload.triggers.push(trigger(value)?);
        }
        for (number, value) in list(all, "collectives")?.iter().enumerate() {
            let composed = composed(value, &workload.groups);
            let composed = composed.map_err(|why| format!("collective {number}: {why}"))?;
            workload.collectives.push(composed);
        }
        Ok(Self {
            workload,
            source: part(all, "source")?
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        })
    }
}

fn object<'a>(what: &str, value: &'a Value) -> Result<&'a Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("{what} must be an object, not {value}"))
}

fn known(what: &str, all: &Map<String, Value>, keys: &[&str]) -> Result<(), String> {
    match all.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let hint = nearest(key, keys.iter().copied());
            let hint = hint.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
            Err(format!("{what} has no key \"{key}\"{hint}"))
        }
    }
}

fn part<'a>(
    all: &'a Map<String, Value>,
    key: &str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)> + use<'a>, String> {
    let value = all.get(key).filter(|value| !value.is_null());
    let part = value.map(|value| object(&format!("\"{key}\""), value));
    Ok(part.transpose()?.into_iter().flatten())
}

fn list<'a>(all: &'a Map<String, Value>, key: &str) -> Result<&'a [Value], String> {
    match all.get(key).filter(|value| !value.is_null()) {
        None => Ok(&[]),
        Some(value) => {
            (value.as_array().map(Vec::as_slice)).ok_or_else(|| format!("\"{key}\" must be a list"))
        }
    }
}

fn whole(key: &str, value: &Value) -> Result<u64, String> {
    value
        .as_u64()
        .ok_or_else(|| format!("\"{key}\" must be a whole number from 0 on, not {value}"))
}

fn group(name: &str, members: &Value, ranks: u32) -> Result<Group, String> {
    let list = members.as_array();
    let list = list.ok_or_else(|| format!("group \"{name}\" must be a list of ranks"))?;
    let mut members = Vec::with_capacity(list.len());
    for value in list {
        let rank = whole(&format!("a rank of group {name}"), value)?;
        if rank >= u64::from(ranks) {
            let last = ranks - 1;
            return Err(format!(
                "group \"{name}\" has rank {rank}; ranks are 0 to {last}"
            ));
        }
        members.push(rank as u32);
    }
    let different: BTreeSet<_> = members.iter().collect();
    if members.is_empty() || different.len() < members.len() {
        return Err(format!(
            "group \"{name}\" must have at least one rank, and none twice"
        ));
    }
    Ok(Group {
        name: name.to_owned(),
        ranks: members.into(),
    })
}

fn trigger(value: &Value) -> Result<Trigger, String> {
    let all = object("a trigger", value)?;
    known("a trigger", all, &["kind", "count"])?;
    let count = all
        .get("count")
        .map(|count| whole("count", count))
        .transpose()?;
    let kind = match (all.get("kind").and_then(Value::as_str), count) {
        (Some("one-shot"), None) => TriggerKind::OneShot,
        (Some("multi-shot"), None) => TriggerKind::MultiShot,
        (Some("barrier"), Some(count)) if (1..1 << 32).contains(&count) => TriggerKind::Barrier {
            count: count as u32,
        },
        _ => {
            return Err(format!(
                "a trigger is of kind one-shot or multi-shot, or a barrier with a count from 1 on, not {value}"
            ));
        }
    };
    Ok(Trigger { kind })
}

/// Parses a collective that consists of operations. // OPS-38
fn composed(value: &Value, groups: &[Group]) -> Result<Composed, String> {
    let all = object("it", value)?;
    known("it", all, &["kind", "bytes", "group"])?;
    let word = all.get("kind").and_then(Value::as_str);
    let kind = word
        .and_then(CollectiveKind::of_word)
        .filter(|&kind| kind != CollectiveKind::AllToAllV);
    let kind = kind.ok_or_else(|| {
        let kinds = CollectiveKind::ALL
            .into_iter()
            .filter(|&kind| kind != CollectiveKind::AllToAllV);
        let kinds: Vec<_> = kinds.map(CollectiveKind::word).collect();
        let given = all.get("kind").unwrap_or(&Value::Null);
        format!("\"kind\" is {given}; expected {}", kinds.join(", "))
    })?;
    let bytes = all.get("bytes").map_or(Ok(0), |v| whole("bytes", v))?;
    if bytes > MOST_BYTES {
        return Err(format!(
            "{bytes} bytes; at most {MOST_BYTES} (256 TiB) are possible"
        ));
    }
    if (bytes == 0) != (kind == CollectiveKind::Barrier) {
        return Err("\"bytes\" is more than 0, but for a barrier".to_owned());
    }
    let group = match all.get("group").filter(|value| !value.is_null()) {
        None => None,
        Some(name) => {
            let at = (groups.iter()).position(|group| name.as_str() == Some(&group.name));
            Some(at.ok_or_else(|| format!("there is no group {name}"))? as u32)
        }
    };
    Ok(Composed {
        kind,
        group,
        bytes,
        parts: 0,
    })
}

/// Returns the value of an option that is one of several words.
fn word<T: Copy>(key: &str, value: &Value, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
    found.map(|&(_, meaning)| meaning).ok_or_else(|| {
        let words: Vec<_> = words
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        format!(
            "option \"{key}\" is {value}; expected {}",
            words.join(" or ")
        )
    })
}

fn per_byte(key: &str, value: &Value) -> Result<PerByte, String> {
    let number = value.as_f64().and_then(PerByte::from_ps);
    number.ok_or_else(|| format!("option \"{key}\" is {value}; expected ps per byte, from 0 on"))
}

/// Longest time of an option in ps: one hour.
const MOST_PS: u64 = 3_600_000_000_000_000;

fn time(key: &str, value: &Value) -> Result<u64, String> {
    let ps = whole(key, value)?;
    if ps > MOST_PS {
        return Err(format!(
            "option \"{key}\" is {ps} ps; at most {MOST_PS} (an hour) is possible"
        ));
    }
    Ok(ps)
}

/// Largest rendezvous request or reply: 1 MiB.
const MOST_RENDEZVOUS_BYTES: u64 = 1 << 20;

/// Sets one option from its value. The second argument is the name of the option.
type Set = fn(&mut Options, &str, &Value) -> Result<(), String>;

/// All options: their names and their setters. docs/workloads.md describes them.
const OPTIONS: [(&str, Set); 21] = [
    ("matching", |options, key, value| {
        let words = [
            ("tag-and-source", Matching::TagAndSource),
            ("bytes", Matching::Bytes),
            ("none", Matching::None),
        ];
        word(key, value, &words).map(|matching| options.matching = matching)
    }),
    ("send_end", |options, key, value| {
        let words = [
            ("eager", SendEnd::Eager),
            ("acknowledged", SendEnd::Acknowledged),
            ("received", SendEnd::Received),
        ];
        word(key, value, &words).map(|end| options.send_end = end)
    }),
    ("receive_end", |options, key, value| {
        let words = [
            ("received", ReceiveEnd::Received),
            ("acknowledged", ReceiveEnd::Acknowledged),
        ];
        word(key, value, &words).map(|end| options.receive_end = end)
    }),
    ("rendezvous_above_bytes", |options, key, value| {
        let bytes = (!value.is_null()).then(|| whole(key, value));
        bytes
            .transpose()
            .map(|bytes| options.rendezvous_above_bytes = bytes)
    }),
    ("rendezvous_message_bytes", |options, key, value| {
        let bytes = whole(key, value)?;
        if bytes > MOST_RENDEZVOUS_BYTES {
            return Err(format!(
                "option \"{key}\" is {bytes}; at most {MOST_RENDEZVOUS_BYTES} are possible"
            ));
        }
        options.rendezvous_message_bytes = bytes;
        Ok(())
    }),
    ("queue_pairs", |options, key, value| {
        let words = [
            ("per-channel", QueuePairs::PerChannel),
            ("per-message", QueuePairs::PerMessage),
        ];
        word(key, value, &words).map(|pairs| options.queue_pairs = pairs)
    }),
    ("ready_order", |options, key, value| {
        let words = [
            ("index", ReadyOrder::Index),
            ("first-ready", ReadyOrder::FirstReady),
            ("last-ready", ReadyOrder::LastReady),
        ];
        word(key, value, &words).map(|order| options.ready_order = order)
    }),
    ("instances", |options, key, value| {
        let words = [("index", Instances::Index), ("start", Instances::Start)];
        word(key, value, &words).map(|instances| options.instances = instances)
    }),
    ("send_holds_to_end", |options, key, value| {
        flag(key, value).map(|holds| options.send_holds_to_end = holds)
    }),
    ("receive_holds_while_waiting", |options, key, value| {
        flag(key, value).map(|holds| options.receive_holds_while_waiting = holds)
    }),
    ("overhead_ps", |options, key, value| {
        time(key, value).map(|ps| options.overhead_ps = ps)
    }),
    ("overhead_per_byte_ps", |options, key, value| {
        per_byte(key, value).map(|rate| options.overhead_per_byte = rate)
    }),
    ("gap_ps", |options, key, value| {
        time(key, value).map(|ps| options.gap_ps = ps)
    }),
    ("gap_per_byte_ps", |options, key, value| {
        per_byte(key, value).map(|rate| options.gap_per_byte = rate)
    }),
    ("reduction_ps", |options, key, value| {
        time(key, value).map(|ps| options.reduction_ps = ps)
    }),
    ("reduction_per_byte_ps", |options, key, value| {
        per_byte(key, value).map(|rate| options.reduction_per_byte = rate)
    }),
    ("reduction_grain_ps", |options, key, value| {
        time(key, value).map(|ps| options.reduction_grain_ps = ps)
    }),
    ("copy_ps", |options, key, value| {
        time(key, value).map(|ps| options.copy_ps = ps)
    }),
    ("server_ranks", |options, key, value| {
        let ranks = whole(key, value)?;
        let fits = u32::try_from(ranks);
        let fits = fits.map_err(|_| format!("option \"{key}\" is {ranks}, more than there can be"));
        fits.map(|ranks| options.server_ranks = ranks)
    }),
    ("latency_across_ps", |options, key, value| {
        time(key, value).map(|ps| options.latency_across_ps = ps)
    }),
    ("algorithms", |options, _, value| {
        set_algorithms(options, value)
    }),
];

fn flag(key: &str, value: &Value) -> Result<bool, String> {
    let flag = value.as_bool();
    flag.ok_or_else(|| format!("option \"{key}\" is {value}; expected true or false"))
}

/// Sets the algorithms of kinds of collectives.
fn set_algorithms(options: &mut Options, value: &Value) -> Result<(), String> {
    for (kind, algorithm) in object("option \"algorithms\"", value)? {
        let kind = CollectiveKind::of_word(kind).ok_or_else(|| {
            let kinds = CollectiveKind::WORDS.join(", ");
            format!("option \"algorithms\" has no kind \"{kind}\"; expected {kinds}")
        })?;
        let text = algorithm.as_str();
        let text = text.ok_or_else(|| format!("the algorithm of {kind} must be a string"))?;
        Algorithm::parse(text)?;
        options.algorithms.insert(kind, text.into());
    }
    Ok(())
}

/// Sets one option.
///
/// # Errors
/// The option does not exist, or the value is invalid.
fn set_option(options: &mut Options, key: &str, value: &Value) -> Result<(), String> {
    if let Some((_, set)) = OPTIONS.iter().find(|(name, _)| *name == key) {
        return set(options, key, value);
    }
    let hint = nearest(key, OPTIONS.iter().map(|(name, _)| *name));
    let hint = hint.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
    Err(format!("there is no option \"{key}\"{hint}"))
}
