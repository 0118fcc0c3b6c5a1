//! Reads the congestion control of senders, or a receiver-driven transport, with its parameters.
//! Names, tables and parameters come from the lists of the dataplane.

use crate::document::{Node, Value};
use crate::params;
use crate::problem::Code;
use crate::reader::{Read, Section, choice, refuse, refuse_as};
use dataplane::cc;
use dataplane::classes::TRAFFIC_CLASSES;
use dataplane::config::{PerClass, Sending};
use dataplane::transport::TRANSPORTS;

/// Reads the key `control` and the tables of its words.
pub(super) fn read_control(s: &Section<'_>) -> Option<Sending> {
    let words = s.required("control", "\"line-rate\"", words);
    let is_chosen = |name: &str| words.iter().flatten().any(|word| *word == name);
    let mut controls = Vec::new();
    for word in cc::all() {
        let read = params::word(s, "control", word, is_chosen(word.name));
        controls.extend(read.map(|control| (word.name, control)));
    }
    let mut transport = None;
    for word in TRANSPORTS {
        let read = params::word(s, "control", word, is_chosen(word.name));
        transport = transport.or(read);
    }
    if let Some(transport) = transport {
        return Some(transport.into());
    }
    let find = |word: &&str| controls.iter().find(|(name, _)| name == word);
    let words = words?;
    let each = words
        .iter()
        .map(|word| find(word).map(|(_, control)| control.clone()));
    let controls: Vec<_> = each.collect::<Option<_>>()?;
    Some(match &controls[..] {
        [control] => control.clone().into(),
        _ => Sending::PerClass(PerClass::new(&controls)),
    })
}

/// Reads one word, or a list with the word of each traffic class.
fn words(node: &Node) -> Read<Vec<&'static str>> {
    let named = |name: &'static str| (name, name);
    let controls: Vec<_> = cc::all().iter().map(|c| named(c.name)).collect();
    let transports = TRANSPORTS.iter().map(|t| named(t.name));
    let Value::Array(items) = &node.value else {
        let all: Vec<_> = controls.into_iter().chain(transports).collect();
        return choice(node, &all).map(|word| vec![word]);
    };
    if items.is_empty() || items.len() > TRAFFIC_CLASSES {
        return refuse_as(
            Code::OutOfRange,
            format!("{} controls, one for each traffic class", items.len()),
            format!("there are 1 to {TRAFFIC_CLASSES} traffic classes"),
        );
    }
    let transports: Vec<_> = transports.collect();
    let one = |item: &Node| match choice(item, &transports) {
        Ok(name) => refuse(
            format!("\"{name}\" serves all traffic classes of a NIC"),
            "give it alone, not in a list",
        ),
        Err(_) => choice(item, &controls),
    };
    items.iter().map(one).collect()
}
