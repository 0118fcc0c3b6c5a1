//! The header of a workload file: properties that apply to all ranks, as JSON in the file's
//! metadata.

use super::columns::MOST_BYTES;
use crate::keys::MAX_HOSTS;
use crate::problem::nearest;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use traffic::collectives::Algorithm;
use traffic::operations::{
    CollectiveKind, Composed, Group, Instances, Matching, Options, PerByte, QueuePairs, ReadyOrder,
    ReceiveEnd, SendEnd, Trigger, TriggerKind, Workload,
};

/// Key in the file's metadata whose value is the header.
pub(super) const KEY: &str = "backwater.workload";

const VERSION: u64 = 1;

/// Properties that apply to all ranks of a workload file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Ranks, groups, options, triggers and collectives.
    pub workload: Workload,
    /// Information about the origin of the file.
    pub source: Map<String, Value>,
}

impl Header {
    /// Parses the JSON of the header.
    ///
    /// # Errors
    /// The header is invalid. The error contains the key and the problem.
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
        Some(key) => Err(format!("{what} has no key \"{key}\"{}", hint(key, keys))),
    }
}

/// Formats a hint with the known name that is most similar to `name`. Returns an empty text if no
/// name is similar.
fn hint(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied());
    near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"))
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

/// Parses a collective that consists of individual operations. // OPS-38
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

/// Returns a function that parses an option whose value is one of several words.
fn one_of<T: Copy>(words: &[(&str, T)]) -> impl Fn(&str, &Value) -> Result<T, String> {
    |key, value| {
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        found.map(|&(_, meaning)| meaning).ok_or_else(|| {
            let words = words.iter().map(|(word, _)| format!("\"{word}\""));
            let expected = words.collect::<Vec<_>>().join(" or ");
            format!("option \"{key}\" is {value}; expected {expected}")
        })
    }
}

fn flag(key: &str, value: &Value) -> Result<bool, String> {
    let flag = value.as_bool();
    flag.ok_or_else(|| format!("option \"{key}\" is {value}; expected true or false"))
}

fn per_byte(key: &str, value: &Value) -> Result<PerByte, String> {
    let number = value.as_f64().and_then(PerByte::from_ps);
    number.ok_or_else(|| format!("option \"{key}\" is {value}; expected ps per byte, from 0 on"))
}

/// Maximum of a time option: one hour, in ps.
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

/// Parses a number of bytes. `null` is `None`.
fn optional_bytes(key: &str, value: &Value) -> Result<Option<u64>, String> {
    let bytes = (!value.is_null()).then(|| whole(key, value));
    bytes.transpose()
}

/// Maximum size of a control message of a rendezvous: 1 MiB.
const MOST_RENDEZVOUS_BYTES: u64 = 1 << 20;

fn rendezvous_bytes(key: &str, value: &Value) -> Result<u64, String> {
    let bytes = whole(key, value)?;
    if bytes > MOST_RENDEZVOUS_BYTES {
        return Err(format!(
            "option \"{key}\" is {bytes}; at most {MOST_RENDEZVOUS_BYTES} are possible"
        ));
    }
    Ok(bytes)
}

fn ranks(key: &str, value: &Value) -> Result<u32, String> {
    let ranks = whole(key, value)?;
    u32::try_from(ranks).map_err(|_| format!("option \"{key}\" is {ranks}, more than there can be"))
}

/// Parses the default algorithms, by kind of collective.
fn algorithms(_: &str, value: &Value) -> Result<BTreeMap<CollectiveKind, Box<str>>, String> {
    let mut algorithms = BTreeMap::new();
    for (kind, algorithm) in object("option \"algorithms\"", value)? {
        let kind = CollectiveKind::of_word(kind).ok_or_else(|| {
            let kinds = CollectiveKind::WORDS.join(", ");
            format!("option \"algorithms\" has no kind \"{kind}\"; expected {kinds}")
        })?;
        let text = algorithm.as_str();
        let text = text.ok_or_else(|| format!("the algorithm of {kind} must be a string"))?;
        Algorithm::parse(text)?;
        algorithms.insert(kind, text.into());
    }
    Ok(algorithms)
}

/// Declares the options of a workload: the name in the file, the field of [`Options`], and the
/// function that parses the value.
macro_rules! options {
    ($($name:literal: $field:ident = $read:expr;)*) => {
        /// Names of all options.
        const OPTIONS: &[&str] = &[$($name),*];

        /// Sets one option.
        ///
        /// # Errors
        /// The option does not exist, or the value is invalid.
        fn set_option(options: &mut Options, key: &str, value: &Value) -> Result<(), String> {
            match key {
                $($name => options.$field = $read(key, value)?,)*
                _ => return Err(format!("there is no option \"{key}\"{}", hint(key, OPTIONS))),
            }
            Ok(())
        }
    };
}

// docs/workloads.md describes the options.
options! {
    "matching": matching = one_of(&[
        ("tag-and-source", Matching::TagAndSource),
        ("bytes", Matching::Bytes),
        ("none", Matching::None),
    ]);
    "send_end": send_end = one_of(&[
        ("eager", SendEnd::Eager),
        ("acknowledged", SendEnd::Acknowledged),
        ("received", SendEnd::Received),
    ]);
    "receive_end": receive_end = one_of(&[
        ("received", ReceiveEnd::Received),
        ("acknowledged", ReceiveEnd::Acknowledged),
    ]);
    "rendezvous_above_bytes": rendezvous_above_bytes = optional_bytes;
    "rendezvous_message_bytes": rendezvous_message_bytes = rendezvous_bytes;
    "queue_pairs": queue_pairs = one_of(&[
        ("per-channel", QueuePairs::PerChannel),
        ("per-message", QueuePairs::PerMessage),
    ]);
    "ready_order": ready_order = one_of(&[
        ("index", ReadyOrder::Index),
        ("first-ready", ReadyOrder::FirstReady),
        ("last-ready", ReadyOrder::LastReady),
    ]);
    "instances": instances = one_of(&[
        ("index", Instances::Index),
        ("start", Instances::Start),
    ]);
    "send_holds_to_end": send_holds_to_end = flag;
    "receive_holds_while_waiting": receive_holds_while_waiting = flag;
    "overhead_ps": overhead_ps = time;
    "overhead_per_byte_ps": overhead_per_byte = per_byte;
    "gap_ps": gap_ps = time;
    "gap_per_byte_ps": gap_per_byte = per_byte;
    "reduction_ps": reduction_ps = time;
    "reduction_per_byte_ps": reduction_per_byte = per_byte;
    "reduction_grain_ps": reduction_grain_ps = time;
    "copy_ps": copy_ps = time;
    "server_ranks": server_ranks = ranks;
    "latency_across_ps": latency_across_ps = time;
    "algorithms": algorithms = algorithms;
}
