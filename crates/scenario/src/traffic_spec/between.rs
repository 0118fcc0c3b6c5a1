//! Traffic between chosen hosts: its senders and receivers.

use std::ops::RangeInclusive;

use traffic::Between;

use super::{Around, host};
use crate::document::{Node, Value};
use crate::reader::{Read, Section, boolean, count, refuse};

const EXAMPLE: &str = "a list of hosts such as [0, \"h3\"], or { first = 1, count = 24 }";

/// Reads `senders`, `receivers` and `together`.
// TRA-22
pub(super) fn read(s: &Section<'_>, around: &Around<'_>) -> Option<Between> {
    let senders = hosts(s, "senders", around);
    let receivers = hosts(s, "receivers", around);
    let together = if s.table.get("together").is_none() {
        s.has("together");
        let why = "default: each arrival is one flow";
        s.context.compute(&s.path, "together", "false".into(), why);
        Some(false)
    } else {
        s.optional("together", boolean)
    };
    Some(Between {
        senders: senders?,
        receivers: receivers?,
        together: together?,
    })
}

/// Reads a list of hosts, or a first host and a number of hosts.
fn hosts(s: &Section<'_>, key: &'static str, around: &Around<'_>) -> Option<Vec<u32>> {
    let is_range = s
        .table
        .get(key)
        .is_some_and(|entry| matches!(entry.node.value, Value::Table(_)));
    if is_range {
        let inner = s.section(key)?;
        let range = range(&inner, around);
        inner.finish();
        return range.map(Iterator::collect);
    }
    s.required(key, EXAMPLE, |node| listed(node, around))
}

fn range(s: &Section<'_>, around: &Around<'_>) -> Option<RangeInclusive<u32>> {
    let first = s.required("first", "1", |n| host(n, around));
    let hosts = around.graph.map_or(u32::MAX, |graph| graph.hosts());
    let left = first.map_or(hosts, |first| hosts.saturating_sub(first));
    let number = s.required("count", "24", |n| count(n, 1, u64::from(left)));
    let (first, number) = (first?, number? as u32);
    Some(first..=first + (number - 1))
}

fn listed(node: &Node, around: &Around<'_>) -> Read<Vec<u32>> {
    let Value::Array(items) = &node.value else {
        return refuse(format!("expected hosts, found {}", node.kind()), EXAMPLE);
    };
    if items.is_empty() {
        return refuse("no host is named", EXAMPLE);
    }
    items.iter().map(|item| host(item, around)).collect()
}
