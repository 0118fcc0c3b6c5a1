//! Values that several axes read: sizes, times, rates, and tables that belong to a word.

use super::FrameClass;
use crate::document::{Node, Value};
use crate::reader::{Read, Section, choice, number, quantity, refuse};
use crate::units::{MAX_RATE_BPS, RATE, SIZE, TIME};
use dataplane::config::BaseRtt;
use dataplane::units::Time;

/// Longest time that is taken, in ps.
pub(super) const SECOND: u64 = 1_000_000_000_000;

pub(super) fn bytes(node: &Node, min: u64, max: u64) -> Read<u16> {
    quantity(node, &SIZE, min, max).map(|v| v as u16)
}

/// A word, or something else that `read` takes.
pub(super) fn word_or<T>(
    node: &Node,
    word: &str,
    default: T,
    read: impl FnOnce(&Node) -> Read<T>,
) -> Read<T> {
    match &node.value {
        Value::String(text) if text == word => Ok(default),
        _ => read(node).map_err(|mut refusal| {
            refusal.hint = refusal.hint.map(|h| format!("\"{word}\", or {h}"));
            refusal
        }),
    }
}

pub(super) fn time(s: &Section<'_>, key: &'static str, min: u64) -> Option<Time> {
    s.required(key, "\"10us\"", |n| quantity(n, &TIME, min, SECOND))
}

pub(super) fn rate(s: &Section<'_>, key: &'static str) -> Option<f64> {
    s.required(key, "\"100Mbps\"", |n| quantity(n, &RATE, 1, MAX_RATE_BPS))
        .map(|v| v as f64)
}

pub(super) fn real(s: &Section<'_>, key: &'static str, min: f64, max: f64) -> Option<f64> {
    s.required(key, "0.5", |n| number(n, min, max))
}

pub(super) fn base_rtt(node: &Node) -> Read<BaseRtt> {
    if let Value::String(text) = &node.value {
        match text.as_str() {
            "pair" => return Ok(BaseRtt::Pair),
            "network" => return Ok(BaseRtt::Network),
            "ns3-pair" => return Ok(BaseRtt::Ns3Pair),
            "ns3-network" => return Ok(BaseRtt::Ns3Network),
            _ => {}
        }
    }
    match quantity(node, &TIME, 1_000, SECOND) {
        Ok(ps) => Ok(BaseRtt::Fixed(ps)),
        Err(r) => refuse(
            r.message,
            "\"pair\", \"network\", \"ns3-pair\", \"ns3-network\", or a time such as \"13us\"",
        ),
    }
}

/// Reads the table of a word where the word was chosen, and refuses it elsewhere.
pub(super) fn parameters<'a, T>(
    s: &Section<'a>,
    table: &'static str,
    chosen: bool,
    why: &str,
    read: impl FnOnce(&Section<'a>) -> Option<T>,
) -> Option<T> {
    if !chosen {
        s.refuse_useless(table, why);
        return None;
    }
    let Some(inner) = s.section(table) else {
        if s.table.get(table).is_none() {
            s.missing(table, "{ ... }");
        }
        return None;
    };
    let value = read(&inner);
    inner.finish();
    value
}

pub(super) fn frame_class(node: &Node) -> Read<FrameClass> {
    choice(
        node,
        &[("data", FrameClass::Data), ("control", FrameClass::Control)],
    )
}
